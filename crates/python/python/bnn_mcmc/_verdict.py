"""What is said of a run."""

import json
import math
from dataclasses import dataclass
from typing import Any

from ._native import Fit
from ._sklearn import ConvergenceWarning


class NotConvergedWarning(ConvergenceWarning):
    """The chains have not converged; the message is the verdict's sentence."""


@dataclass(frozen=True)
class Verdict:
    """Whether a run has converged, judged by its predictions; printed, it is a sentence.

    What the sentence advises are parameters of the estimators, such as ``hidden=(100,)``.

    Attributes
    ----------
    sentence : str
        What was found, the reason if it is known, and what to do about it.
    converged : bool
        Whether the run has converged.
    outcome : str
        The finding by its name, such as ``"Converged"`` or ``"ChainsDisagree"``.
    """

    sentence: str
    converged: bool
    outcome: str

    def __str__(self) -> str:
        return self.sentence


def judged(fit: Fit, threads: int) -> tuple[Verdict, dict[str, Any]]:
    """The verdict on a fit, and the numbers that it was passed on."""
    sentence, converged, text = fit.verdict(threads)
    found, run = json.loads(text), json.loads(fit.run())
    outcome = found["outcome"]
    verdict = Verdict(
        sentence, converged, outcome if isinstance(outcome, str) else next(iter(outcome))
    )
    quantities = {
        group["name"]: {
            "quantities": group["quantities"],
            "max_rhat": _number(group["max_rhat"]),
            "min_ess_bulk": _number(group["min_ess_bulk"]),
            "min_ess_tail": _number(group["min_ess_tail"]),
        }
        for group in found["groups"]
    }
    predictions = {k: v for k, v in quantities["predictions"].items() if k != "quantities"}
    apart = _number(found["apart"])
    return verdict, {**predictions, "chains_apart": apart, **run, "groups": quantities}


def _number(value: float | None) -> float:
    """A number of JSON, which has no NaN."""
    return math.nan if value is None else value

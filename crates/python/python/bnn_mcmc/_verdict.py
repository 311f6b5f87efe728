"""What is said of a run."""

import html
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._native import Fit
from ._sklearn import ConvergenceWarning


class NotConvergedWarning(ConvergenceWarning):
    """Predictions have not settled; the message is the verdict's sentence."""


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
    settled : bool
        Whether predictions have settled, so that a longer run would give the same; a run that has
        converged counts.
    outcome : str
        The finding by its name, such as ``"Converged"`` or ``"ChainsDisagree"``.
    """

    sentence: str
    converged: bool
    settled: bool
    outcome: str

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        sign, colour = ("&#10003;", "#00714f") if self.settled else ("&#9888;", "#b13a00")
        return (
            f'<div style="border-left:.4em solid {colour};padding:.3em .8em">'
            f'<strong style="color:{colour}">{sign}</strong> {html.escape(self.sentence)}</div>'
        )


@dataclass(frozen=True)
class Update:
    """What `update` has done; printed, it is a sentence.

    Attributes
    ----------
    sentence : str
        What was done, and whether the new rows are like the others.
    has_drifted : bool
        Whether the new rows are so unlike what was predicted of them that they, or the process that
        they come from, have changed.
    rows : int
        The number of new rows.
    pareto_k : float
        The Pareto shape of the weights for the new rows.
    drift : float or None
        The chance of rows as unlike what was predicted, if the model is right; None of times, and
        of fewer than five rows.
    gradients : int
        The gradients that were needed; 0 where draws were weighted alone.
    """

    sentence: str
    has_drifted: bool
    rows: int
    pareto_k: float
    drift: float | None
    gradients: int

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The uncertainty of new observations in two parts, which add up to the total.

    Of numbers the parts are variances, in squared units of the response; of classes entropies, in
    nats.

    Attributes
    ----------
    total : array of shape (n_samples,) or (n_samples, n_outputs)
        The uncertainty of a new observation.
    of_mean : array of the same shape
        The part on which posterior draws differ, which more rows would reduce.
    noise : array of the same shape
        The part that every draw has, which more rows of the same columns would not.
    """

    total: NDArray[np.float64]
    of_mean: NDArray[np.float64]
    noise: NDArray[np.float64]


@dataclass(frozen=True)
class Search:
    """How the data have chosen the model; printed, it is a table of the models and what was found.

    At most 2,000 training rows are dealt to 5 folds. Each model predicts the rows of a fold by one
    short chain on those of the other folds. The simplest linear or additive model is chosen whose
    mean log predictive density is at most one standard error below that of the best one, else the
    best network.

    Attributes
    ----------
    chosen : str
        The model that was chosen, a name that the parameter `model` takes.
    rows : int
        The number of rows that were predicted.
    tried : dict
        Of each model, from the simplest one on, a dict: `log_density`, the mean log predictive
        density of a row in nats; `difference`, that mean less the one of the chosen model;
        `se_difference`, the standard error of the difference. Of a model that could not be fitted
        it is the reason, a str.
    coverage : dict
        Of the levels 0.5, 0.9 and 0.95, the share of rows that lie within the chosen model's
        predictive interval; empty for classes and times.
    text : str
        The search in words.
    intercept_only : float or None
        The mean log predictive density of a row without any feature; None of times, and of counts
        with an exposure.
    """

    chosen: str
    rows: int
    tried: dict[str, dict[str, float] | str]
    coverage: dict[float, float]
    text: str
    intercept_only: float | None = None

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def searched(fit: Fit) -> Search | None:
    """The search that has chosen the model of a fit, if one has."""
    found = fit.search()
    if found is None:
        return None
    search, text = json.loads(found[0]), found[1]
    tried: dict[str, dict[str, float] | str] = {}
    for one in search["tried"]:
        scores = one.get("scored")
        tried[one["candidate"]] = (
            one["failed"]
            if scores is None
            else {name: _number(value) for name, value in scores.items()}
        )
    coverage, intercept_only = dict(search["coverage"]), search.get("intercept_only")
    return Search(search["chosen"], search["rows"], tried, coverage, text, intercept_only)


def judged(fit: Fit, threads: int) -> tuple[Verdict, dict[str, Any]]:
    """The verdict on a fit, and the numbers that it was passed on."""
    sentence, converged, settled, text = fit.verdict(threads)
    found, run = json.loads(text), json.loads(fit.run())
    outcome = found["outcome"]
    verdict = Verdict(
        sentence, converged, settled, outcome if isinstance(outcome, str) else next(iter(outcome))
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
    own = {"chains_apart": apart, "prior": found["prior"]}
    return verdict, {**predictions, **own, **run, "groups": quantities}


def _number(value: float | None) -> float:
    """A number of JSON, which has no NaN."""
    return math.nan if value is None else value

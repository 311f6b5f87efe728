"""Progress of a fit: a callable of the user, or a bar in a notebook."""

import html
import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Phase: TypeAlias = Literal["choice", "warmup", "sampling"]


@dataclass(frozen=True)
class Progress:
    """How far a fit is, as a callable given as `verbose` hears it; printed, it is a line.

    Attributes
    ----------
    phase : "choice", "warmup" or "sampling"
        Models are tried, chains warm up, or draws are kept.
    done, total : int
        Iterations of each chain so far in this phase, and of the whole phase; 0 while models are
        tried.
    seconds : float
        The time since chains began.
    divergences : int
        Divergent transitions in this phase.
    line : str
        What is said, such as of a model that was tried; empty while chains run.
    """

    phase: Phase
    done: int
    total: int
    seconds: float
    divergences: int
    line: str

    def __str__(self) -> str:
        if self.phase == "choice":
            return self.line
        name = "warm-up" if self.phase == "warmup" else "sampling"
        divergent = f", {self.divergences} divergent" if self.divergences else ""
        return f"{name} {self.done} of {self.total}, {self.seconds:.1f} s{divergent}"


Listener: TypeAlias = Callable[[Progress], Any]


def listener(verbose: bool | Listener) -> Callable[..., Any] | None:
    """What the native half calls; None if it writes to the standard error, or is silent."""
    if callable(verbose):
        return lambda *event: verbose(Progress(*event))
    if not verbose:
        return None
    bar = _bar()
    return None if bar is None else lambda *event: bar(Progress(*event))


def _bar() -> Listener | None:
    """A bar below the cell of a notebook; None elsewhere."""
    try:
        ipython = importlib.import_module("IPython")
        display = importlib.import_module("IPython.display")
    except ImportError:
        return None
    shell = ipython.get_ipython()
    # In a terminal there is a standard error that is seen.
    if shell is None or not hasattr(shell, "kernel"):
        return None
    handle: Any = None
    shown = 0.0

    def update(progress: Progress) -> None:
        nonlocal handle, shown
        now = time.monotonic()
        if progress.done < progress.total and now - shown < 0.2:
            return
        shown = now
        share = progress.done / max(progress.total, 1)
        page = display.HTML(
            f'<progress value="{share:.3f}" max="1" style="width:20em"></progress> '
            f"{html.escape(str(progress))}"
        )
        if handle is None:
            handle = display.display(page, display_id=True)
        else:
            handle.update(page)

    return update

"""Numbers about a fit that are printed as tables: diagnostics, leave-one-out, comparisons."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._figure import Figure, figure_of

if TYPE_CHECKING:
    from ._base import Bnn

# The most rows of a table that are shown.
SHOWN = 40


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """Posterior means and diagnostics of predictions, or of parameters; printed, it is a table.

    Attributes
    ----------
    names : list of str
        The quantities.
    mean, sd : array of shape (n_quantities,)
        Mean and standard deviation over all draws.
    mcse_mean : array of shape (n_quantities,)
        The Monte Carlo standard error of the mean.
    q05, q50, q95 : array of shape (n_quantities,)
        Quantiles of the draws.
    ess_bulk, ess_tail : array of shape (n_quantities,)
        Effective sample sizes in the bulk and in the tails.
    rhat : array of shape (n_quantities,)
        R-hat, split, folded and of ranks: near 1 where chains agree.
    """

    names: list[str]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    mcse_mean: NDArray[np.float64]
    q05: NDArray[np.float64]
    q50: NDArray[np.float64]
    q95: NDArray[np.float64]
    ess_bulk: NDArray[np.float64]
    ess_tail: NDArray[np.float64]
    rhat: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """The columns by their names, as data frames take them: ``pandas.DataFrame(s.to_dict())``.

        Returns
        -------
        dict
            `names`, a list, and an array for each number.
        """
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def _cells(self) -> tuple[list[str], list[list[str]], int]:
        titles = ["", *(one.name for one in fields(self)[1:])]
        digits = [".4g", ".3g", ".2g", ".4g", ".4g", ".4g", ".0f", ".0f", ".3f"]
        columns = [getattr(self, title) for title in titles[1:]]
        rows = [
            [
                name,
                *(f"{column[k]:{how}}" for column, how in zip(columns, digits, strict=True)),
            ]
            for k, name in enumerate(self.names[:SHOWN])
        ]
        return titles, rows, len(self.names) - len(rows)

    def __str__(self) -> str:
        return _text(*self._cells())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _html(*self._cells())


@dataclass(frozen=True, eq=False)
class Loo:
    """How well each training row is predicted from the others, without refits (PSIS-LOO).

    After Vehtari, Gelman and Gabry (2017, doi:10.1007/s11222-016-9696-4).

    Attributes
    ----------
    elpd : float
        The expected log predictive density of as many new rows, in nats: the sum over rows.
    se : float
        Its standard error, as a sum over rows that could have been others.
    p_loo : float
        The effective number of parameters.
    elpd_i : array of shape (n_samples,)
        The contribution of each row.
    pareto_k : array of shape (n_samples,)
        The shape of the Pareto distribution of the largest weights of each row.
    threshold : float
        The largest `pareto_k` of a row that is left out reliably.
    unreliable : list of int
        The rows that are not.
    warnings : list of str
        Reasons not to take the numbers at their word.
    """

    elpd: float
    se: float
    p_loo: float
    elpd_i: NDArray[np.float64] = field(repr=False)
    pareto_k: NDArray[np.float64] = field(repr=False)
    threshold: float
    unreliable: list[int]
    warnings: list[str]
    _found: _native.Loo = field(repr=False)

    def plot(self) -> Figure:
        """The shapes k of all rows, and the largest that is reliable.

        Returns
        -------
        Figure
        """
        return figure_of(self._found.figure())

    def _lines(self) -> list[str]:
        rows = len(self.elpd_i)
        reliable = rows - len(self.unreliable)
        return [
            f"elpd_loo   {self.elpd:.2f} (standard error {self.se:.2f})",
            f"p_loo      {self.p_loo:.2f}",
            f"Pareto k   {reliable} of {rows} rows reliable (k <= {self.threshold:.2f})",
            *(f"warning: {warning}" for warning in self.warnings),
        ]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def loo_of(found: _native.Loo) -> Loo:
    """Leave-one-out as users see it."""
    elpd, se, p_loo, threshold = found.numbers()
    elpd_i, k = (np.asarray(values) for values in found.rows())
    return Loo(elpd, se, p_loo, elpd_i, k, threshold, found.unreliable(), found.warnings(), found)


@dataclass(frozen=True)
class ComparedModel:
    """One model of a `Comparison`.

    Attributes
    ----------
    name : str
        The name that it was given.
    elpd : float
        The expected log predictive density, in nats.
    difference : float
        That less the best model's: 0 of the best, else negative.
    se_difference : float
        The standard error of the difference, from paired rows.
    p_loo : float
        The effective number of parameters.
    unreliable : int
        The number of rows that are not left out reliably.
    """

    name: str
    elpd: float
    difference: float
    se_difference: float
    p_loo: float
    unreliable: int


@dataclass(frozen=True)
class Comparison:
    """Models compared by leave-one-out, the best first; printed, it is a table.

    Attributes
    ----------
    models : list of ComparedModel
        The models, by falling `elpd`.
    warnings : list of str
        Reasons not to take differences and errors at their word.
    """

    models: list[ComparedModel]
    warnings: list[str]

    def _cells(self) -> tuple[list[str], list[list[str]], int]:
        titles = ["", "elpd_loo", "difference", "se", "p_loo", "unreliable"]
        rows = [
            [
                one.name,
                f"{one.elpd:.2f}",
                f"{one.difference:.2f}",
                f"{one.se_difference:.2f}",
                f"{one.p_loo:.2f}",
                str(one.unreliable),
            ]
            for one in self.models
        ]
        return titles, rows, 0

    def __str__(self) -> str:
        table = _text(*self._cells())
        return "\n".join([table, *(f"warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        warnings = "".join(f"<p>{html.escape(warning)}</p>" for warning in self.warnings)
        return _html(*self._cells()) + warnings


def compare(models: "Mapping[str, Bnn | Loo]") -> Comparison:
    """Compares fitted models of the same rows by leave-one-out.

    The standard error is of the difference, from paired rows: it is mostly smaller than the errors
    of both, since the same rows are hard for both.

    Parameters
    ----------
    models : dict
        Of each name a fitted estimator, or what its `loo` has returned. Rows and response must be
        the same, in one order and one unit.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from bnn_mcmc import BnnRegressor, compare
    >>> X = np.random.default_rng(0).normal(size=(60, 1))
    >>> y = 2 * X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=60)
    >>> line = BnnRegressor(hidden=(), chains=2, random_state=0).fit(X, y)
    >>> noise = BnnRegressor(hidden=(), chains=2, random_state=0).fit(np.sign(X), y)
    >>> compare({"line": line, "sign": noise}).models[0].name
    'line'
    """
    if not isinstance(models, Mapping):
        raise ValueError(
            f"`models` is {type(models).__name__}, but must be a dict of names and models"
        )
    loos = []
    for name, model in models.items():
        if not isinstance(name, str):
            raise ValueError(f"a name in `models` is {name!r}, but must be text")
        if not isinstance(model, Loo) and not hasattr(model, "loo"):
            raise ValueError(
                f"the model `{name}` is of the type {type(model).__name__}, but must be a fitted "
                "estimator of this package, or what its `loo` has returned"
            )
        loo = model if isinstance(model, Loo) else model.loo()
        loos.append((name, loo._found))
    found, warnings = _native.compare(loos)
    return Comparison([ComparedModel(*one) for one in found], warnings)


def _text(titles: Sequence[str], rows: Sequence[Sequence[str]], more: int) -> str:
    cells = [list(titles), *rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(titles))]
    lines = [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join([*lines, *([f"and {more} more"] if more else [])])


def _html(titles: Sequence[str], rows: Sequence[Sequence[str]], more: int) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    rest = f"<p>and {more} more</p>" if more else ""
    return f"<table><thead>{line(titles, 'th')}</thead><tbody>{body}</tbody></table>{rest}"

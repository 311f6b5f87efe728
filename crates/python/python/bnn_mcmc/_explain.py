"""Effects of the columns of a table, and their importance."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._figure import Figure, figure_of
from ._native import Fit


class _ByDraws:
    """What is said of draws of an effect, whose last axis are the outputs."""

    draws: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean over draws, without the axis of the outputs if there is one output."""
        return _squeezed(self.draws.mean(axis=0))

    def interval(self, level: float = 0.9) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lower and the upper ends of intervals over draws, in the shape of `mean`.

        They are of the mean function, averaged over rows, without the noise of an observation.
        """
        if not (isinstance(level, Real) and 0 < float(level) < 1):
            raise ValueError(f"`level` is {level!r}, but must be a number between 0 and 1")
        tail = (1 - float(level)) / 2
        lower, upper = np.quantile(self.draws, [tail, 1 - tail], axis=0)
        return _squeezed(lower), _squeezed(upper)


@dataclass(frozen=True, eq=False)
class Effect(_ByDraws):
    """The effect of a column on the prediction, by each draw.

    Attributes
    ----------
    column : str
        The column.
    values : list
        The values of the column: numbers, labels, `numpy.datetime64` of dates, or text of times of
        the day.
    outputs : list of str
        The response's columns, or the classes; of two classes the second.
    draws : array of shape (n_draws, n_values, n_outputs)
        The effect by each draw, in units of the response; of classes of the probability.
    individual : array of shape (n_rows, n_values, n_outputs) or None
        The mean curve of each row; None of accumulated local effects.
    """

    column: str
    values: list[Any]
    outputs: list[str]
    draws: NDArray[np.float64]
    individual: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class PairEffect(_ByDraws):
    """The effect of two columns together, by each draw.

    Attributes
    ----------
    columns : tuple of str
        The columns.
    values : tuple of two lists
        The values of each, as of an `Effect`.
    outputs : list of str
        The response's columns, or the classes; of two classes the second.
    draws : array of shape (n_draws, n_values of the first, n_values of the second, n_outputs)
        The effect by each draw, in units of the response; of classes of the probability.
    """

    columns: tuple[str, str]
    values: tuple[list[Any], list[Any]]
    outputs: list[str]
    draws: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contrast(_ByDraws):
    """The difference that a column makes from one value to another, by each draw.

    Attributes
    ----------
    column : str
        The column.
    outputs : list of str
        The response's columns, or the classes; of two classes the second.
    draws : array of shape (n_draws, n_outputs)
        The difference by each draw, in units of the response; of classes of the probability.
    """

    column: str
    outputs: list[str]
    draws: NDArray[np.float64]

    @property
    def probability_above_zero(self) -> NDArray[np.float64]:
        """The share of the draws whose difference is above 0, in the shape of `mean`."""
        return _squeezed((self.draws > 0).mean(axis=0))


@dataclass(frozen=True)
class Importance:
    """How much worse rows are predicted without what a column says of them.

    Attributes
    ----------
    column : str
        The column.
    loss : float
        The mean loss of log predictive density when the column's cells are exchanged between rows
        that are left out, in nats a row.
    se : float
        Its standard error, as a mean over rows that could have been others.
    """

    column: str
    loss: float
    se: float


@dataclass(frozen=True, eq=False)
class Sobol:
    """The shares of the variance of the mean function that a column has.

    Attributes
    ----------
    column : str
        The column.
    outputs : list of str
        The response's columns, or the classes; of two classes the second.
    first : array of shape (n_draws, n_outputs)
        The share that the column has alone, by each draw.
    total : array of shape (n_draws, n_outputs)
        The share that it has a part in, which is larger where it interacts with others.
    first_error, total_error : array of shape (n_outputs,)
        The standard errors of the means of both, by the number of rows.
    """

    column: str
    outputs: list[str]
    first: NDArray[np.float64]
    total: NDArray[np.float64]
    first_error: NDArray[np.float64]
    total_error: NDArray[np.float64]


class Explanation:
    """What a model says of the columns of its table, from the method `explain` of an estimator.

    An effect is what the model has learnt, all else equal, and need not be a cause.

    Attributes
    ----------
    columns : list of str
        The columns, as other methods take them.
    """

    def __init__(self, fit: Fit, threads: int) -> None:
        self._explainer = fit.explain(threads)
        self._fit = fit
        self._threads = threads

    @property
    def columns(self) -> list[str]:
        """The columns, as other methods take them."""
        return self._explainer.columns()

    def effect(
        self,
        column: str,
        *,
        values: Sequence[Any] | None = None,
        kind: Literal["dependence", "accumulated"] = "dependence",
    ) -> Effect:
        """The effect of a column: how the prediction depends on it.

        Parameters
        ----------
        column : str
            The column; of an array without names `"x1"`, `"x2"`, ...
        values : sequence, optional
            The values of the column, by default all labels, or 20 quantiles of the rows' values.
        kind : "dependence" or "accumulated"
            Partial dependence, the prediction if all rows had this value and kept everything else;
            or accumulated local effects, which ask for changes close to the rows alone: right where
            columns go together. The latter are of numbers, dates and two labels, at values of their
            own choice, and centred at 0.
        """
        _check_kind(kind)
        if kind == "accumulated" and values is not None:
            raise ValueError("`values` are given, but accumulated effects have values of their own")
        texts = None if values is None else [_text(value) for value in values]
        found, outputs, draws, individual = self._explainer.effect(
            _named(column), kind == "accumulated", texts, self._threads
        )
        return Effect(column, _values(*found), outputs, draws, individual)

    def effect_pair(
        self,
        first: str,
        second: str,
        *,
        kind: Literal["dependence", "accumulated"] = "dependence",
    ) -> PairEffect:
        """The effect of two columns together.

        Parameters
        ----------
        first, second : str
            The columns.
        kind : "dependence" or "accumulated"
            Partial dependence, or the second-order accumulated local effect: what both do together
            beyond what each does alone.
        """
        _check_kind(kind)
        of_first, of_second, outputs, draws = self._explainer.pair(
            _named(first), _named(second), kind == "accumulated", self._threads
        )
        values = (_values(*of_first), _values(*of_second))
        return PairEffect((first, second), values, outputs, draws)

    def contrast(self, column: str, start: Any, end: Any) -> Contrast:
        """The difference of the prediction from one value of a column to another.

        Parameters
        ----------
        column : str
            The column.
        start, end : number, label or date
            The two values.
        """
        outputs, draws = self._explainer.contrast(
            _named(column), _text(start), _text(end), self._threads
        )
        return Contrast(column, outputs, draws)

    def importance(self, repeats: int = 5, random_state: int = 0) -> list[Importance]:
        """The importance of each column, in the order of `columns`.

        The cells of a column are exchanged between training rows, each of which is predicted as if
        it had been left out. A column that goes together with another one seems less important than
        it is, since the other stands in for it.

        Parameters
        ----------
        repeats : int
            The number of random exchanges.
        random_state : int
            Their seed.
        """
        found = self._explainer.importance(
            _whole("repeats", repeats), _whole("random_state", random_state), self._threads
        )
        return [Importance(*one) for one in found]

    def relevance(self) -> dict[str, NDArray[np.float64]]:
        """The scale of the weights that leave each column, by each draw.

        A column whose scale is near 0 beside the others hardly takes part in the hidden layer; it
        may still act through the linear part. Scales say less of predictions than importance does.

        Returns
        -------
        dict
            Of each column an array of shape (n_draws,); empty where scales by column are not
            sampled, as with `weight_prior="fan_in"`.
        """
        return {column: np.asarray(scales) for column, scales in self._fit.relevance()}

    def sobol(self, random_state: int = 0) -> list[Sobol]:
        """The Sobol indices of each column, in the order of `columns`.

        Columns are drawn independently of each other from the rows, also where they go together.

        Parameters
        ----------
        random_state : int
            The seed of these draws.
        """
        found = self._explainer.sobol(_whole("random_state", random_state), self._threads)
        return [
            Sobol(column, outputs, first, total, *(np.asarray(error) for error in errors))
            for column, outputs, first, total, errors in found
        ]

    def plot_effect(
        self, column: str, *, kind: Literal["dependence", "accumulated"] = "dependence"
    ) -> Figure:
        """The effect of a column as a figure, with intervals and single rows.

        Parameters
        ----------
        column : str
            The column.
        kind : "dependence" or "accumulated"
            As of `effect`.

        Returns
        -------
        Figure
        """
        _check_kind(kind)
        return figure_of(
            self._explainer.figure(_named(column), kind == "accumulated", self._threads)
        )

    def plot_effect_pair(
        self,
        first: str,
        second: str,
        *,
        kind: Literal["dependence", "accumulated"] = "dependence",
    ) -> Figure:
        """The effect of two columns together as a figure.

        Parameters
        ----------
        first, second : str
            The columns.
        kind : "dependence" or "accumulated"
            As of `effect_pair`.

        Returns
        -------
        Figure
        """
        _check_kind(kind)
        return figure_of(
            self._explainer.figure_of_pair(
                _named(first), _named(second), kind == "accumulated", self._threads
            )
        )

    def plot_importance(self, repeats: int = 5, random_state: int = 0) -> Figure:
        """The importance of the columns as a figure, with intervals of 50 and 90 %.

        Parameters
        ----------
        repeats : int
            The number of random exchanges.
        random_state : int
            Their seed.

        Returns
        -------
        Figure
        """
        return figure_of(
            self._explainer.figure_of_importance(
                _whole("repeats", repeats), _whole("random_state", random_state), self._threads
            )
        )


def _check_kind(kind: str) -> None:
    if kind not in ("dependence", "accumulated"):
        raise ValueError(f'`kind` is {kind!r}, but must be "dependence" or "accumulated"')


def _values(kind: str, numbers: list[float], words: list[str]) -> list[Any]:
    """The values of a column as Python has them."""
    if kind == "number":
        return list(numbers)
    if kind == "date":
        return [np.datetime64(round(1e6 * number), "us") for number in numbers]
    return list(words)


def _text(value: Any) -> str:
    """A value as the native half reads it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    return str(value)


def _named(column: Any) -> str:
    if not isinstance(column, str):
        raise ValueError(f"`column` is {column!r}, but must be the name of a column in text")
    return column


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or not 0 <= int(value) < 2**64:
        raise ValueError(f"`{name}` is {value!r}, but must be a whole number from 0 to 2^64 - 1")
    return int(value)


def _squeezed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The array without the last axis, if there is one output alone."""
    return values[..., 0] if values.shape[-1] == 1 else values

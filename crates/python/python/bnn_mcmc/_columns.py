"""Tables as numbers: pandas, polars, pyarrow and whatever else narwhals reads, by one path.

Columns become numbers as in the CSV files that the command reads: a column of labels is one column
of 0 and 1 for each level, named ``column=level``, and dates are elapsed time, season, weekday and
hour. The type of a column decides what it is: text is never taken for numbers, nor for dates.
"""

import datetime
import itertools
import math
import re
import warnings
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, TypeAlias, TypedDict, cast

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from ._native import Dates

Matrix: TypeAlias = NDArray[np.float64]
Cells: TypeAlias = Literal["numbers", "bools", "labels", "dates"]
Encoding: TypeAlias = Literal["one_hot", "drop_first", "codes"]
# Of narwhals, which is generic in the native type.
Frame: TypeAlias = nw.DataFrame[Any]
Series: TypeAlias = Any


class Column(TypedDict):
    """A column of the training rows."""

    name: str
    cells: Cells
    # In order; of labels alone.
    levels: list[str]
    # Whether it varies over the training rows.
    used: bool
    # What dates become, as text of the native half; of dates alone.
    dates: str | None
    # The number in the place of a missing one: of numbers, and of the years of dates, the median of
    # the training rows. None where missing values are refused.
    fill: float | None
    # Whether one number more, `name is missing`, says so: if some are missing in training.
    marked: bool


# The rules of CSV files, `src/data/csv` of the Rust crate: the tests compare with them.
#
# More levels than this, or more than ten and than half as many as there are rows, are refused in a
# column whose type is not a category: it may be an identifier.
MANY_LEVELS = 50
# Text of more kinds than this is refused.
MOST_KINDS = 1000
# More levels, or classes, than this are refused in any column.
MOST_LEVELS = 1 << 16
# Texts that stand for a missing value, in capitals or small letters.
MISSING = frozenset(["", "na", "n/a", "nan", "null", "?"])
# What counts for nothing at the ends of a text: the white space of Unicode.
BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)

# Errors show so many characters of a value.
LONG = 80
# Errors list so many values.
MANY = 50


def frame_of(X: object) -> Frame | None:
    """X as a table; None if it is none, such as an array. A lazy one is collected."""
    try:
        frame = nw.from_native(cast("Any", X), pass_through=True)
    except DuplicateError as error:
        raise ValueError(f"X has columns of the same name: {error}") from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


class Grouping(TypedDict):
    """A column of the group of each row."""

    name: str
    # The groups of the training rows, in order.
    levels: list[str]


def taken_out(X: object, name: str, what: str) -> tuple[Any, Series]:
    """X without the column of this name, and that column."""
    frame = frame_of(X)
    if frame is None:
        raise ValueError(f"X must be a table with the column `{name}`, {what}")
    names = names_of(frame)
    if name not in names:
        raise ValueError(f"X has no column `{name}`, {what}; there are: {listed(names)}")
    own = frame.columns[names.index(name)]
    return frame.drop(own).to_native(), frame[own]


def logs_of_exposure(series: Series, name: str) -> Matrix:
    """The logarithms of exposures."""
    if _cells(series, name) != "numbers":
        raise ValueError(f"column `{name}` has the type {_type(series)}, but is the exposure")
    exposure = _floats(series)
    wrong = ~(np.isfinite(exposure) & (exposure > 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"row {row}, column `{name}`: `{exposure[row]:g}` is not an exposure, which is a "
            "number above 0"
        )
    # The library's logarithm, which NumPy's may differ from in the last digit.
    return np.array([math.log(value) for value in exposure])[:, None]


def grouping_of(series: Series, name: str) -> Grouping:
    """The groups of the training rows."""
    groups = _groups(series)
    if None in groups:
        raise ValueError(f"row {groups.index(None)}, column `{name}`: the group is missing")
    levels = ordered({group for group in groups if group is not None}, f"column `{name}`")
    if not 2 <= len(levels) < len(groups):
        raise ValueError(
            f"column `{name}` has {len(levels)} groups in {len(groups)} rows: 2 or more, and fewer "
            "than rows, are needed to tell groups from noise"
        )
    return {"name": name, "levels": levels}


def indicators(series: Series, grouping: Grouping) -> Matrix:
    """An indicator of each group and one of a new group, which training did not have."""
    groups, levels = _groups(series), grouping["levels"]
    codes = {level: code for code, level in enumerate(levels)}
    places = [codes.get("" if group is None else group, len(levels)) for group in groups]
    new = [group for group in groups if group not in codes]
    if new:
        named = ["no value" if group is None else group for group in dict.fromkeys(new)]
        warnings.warn(
            f"column `{grouping['name']}` has groups in {_rows(len(new))} that training did not "
            f"have: {listed(named)}; the intercept of a new group stands there",
            stacklevel=4,
        )
    found = np.zeros((len(groups), len(levels) + 1))
    found[np.arange(len(groups)), places] = 1.0
    return found


def _groups(series: Series) -> list[str | None]:
    """The groups of rows as text; of floats that are whole numbers without a decimal point."""

    def text(value: object) -> str | None:
        whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
        return _text(int(cast("float", value)) if whole else value)

    return [text(value) for value in series.to_list()]


def beside(numbers: Matrix, others: list[Matrix]) -> Matrix:
    """The numbers of features with the columns behind them: indicators of groups, and an offset."""
    return np.ascontiguousarray(np.hstack([numbers, *others]))


def columns_of(
    frame: Frame, weights: Matrix | None = None, left_out: Sequence[str] = ()
) -> list[Column]:
    """What the columns of the training rows are, with the levels that occur; medians are by the
    weights of rows. Columns that are left out have no levels.
    """
    names = names_of(frame)
    columns: list[Column] = []
    for name, series in zip(names, frame.iter_columns(), strict=True):
        cells = _cells(series, name)
        missing = _missing(series, cells)
        if len(missing) and missing.all():
            raise ValueError(f"column `{name}` has no value in any row: leave it out")
        levels = _levels(series, name) if cells == "labels" and name not in left_out else []
        if levels:
            _warn_of_blanks(series, name)
        column: Column = {
            "name": name,
            "cells": cells,
            "levels": levels,
            "used": True,
            "dates": None,
            "fill": 0.0,
            "marked": bool(missing.any()) and name not in left_out,
        }
        if cells == "dates":
            times = _times(series, name)
            dates = Dates.of(times, _is_clock(series), _zone(series, name))
            column["dates"] = dates.text()
            years = dates.encoded(times, math.nan)[:, 0]
            column["fill"] = 0.0 if _is_clock(series) else _median(years, weights)
        elif cells != "labels":
            numbers = _encoded_numbers(series, {**column, "fill": math.nan})[:, 0]
            column["fill"] = _median(numbers, weights)
        columns.append(column)
    return columns


def columns_of_array(numbers: Matrix, weights: Matrix | None = None) -> list[Column]:
    """What the columns of an array of training rows are; NaN is a missing value."""
    columns: list[Column] = []
    for j, values in enumerate(numbers.T):
        missing = np.isnan(values)
        if len(missing) and missing.all():
            raise ValueError(f"column {j + 1} of X has no value in any row: leave it out")
        columns.append(
            {
                "name": f"x{j + 1}",
                "cells": "numbers",
                "levels": [],
                "used": True,
                "dates": None,
                "fill": _median(values, weights),
                "marked": bool(missing.any()),
            }
        )
    return columns


def encoded_array(numbers: Matrix, columns: Sequence[Column]) -> Matrix:
    """An array as numbers, by the columns of the training rows, which may be those of a table."""
    parts: list[Matrix] = []
    for values, column in zip(numbers.T, columns, strict=True):
        if column["cells"] in ("labels", "dates"):
            raise ValueError(
                "X must be a table with names, such as one of pandas or polars, as in "
                f"training: column `{column['name']}` has {column['cells']}"
            )
        missing = np.isnan(values)
        if missing.any() and column["used"] and not column["marked"]:
            _warn_of_gaps(column, int(missing.sum()))
        parts.append(_filled(values, missing, column))
        if column["marked"]:
            parts.append(missing[:, None].astype(np.float64))
    return np.hstack(parts)


def names_of(frame: Frame) -> list[str]:
    """The names of the columns, without blanks at their ends; `x1`, ... if they are no texts."""
    names = [cast("object", name) for name in frame.columns]
    if not all(isinstance(name, str) for name in names):
        return [f"x{j + 1}" for j in range(len(names))]
    stripped = [str(name).strip(BLANKS) for name in names]
    seen: dict[str, int] = {}
    for j, name in enumerate(stripped, start=1):
        if not name:
            raise ValueError(f"column {j} of X has no name: name it, or leave it out")
        if seen.setdefault(name, j) != j:
            raise ValueError(f"columns {seen[name]} and {j} of X have the same name, `{name}`")
    return stripped


def encoded(frame: Frame, columns: Sequence[Column], encoding: Encoding = "one_hot") -> Matrix:
    """A table as numbers, by the columns of the training rows."""
    parts: list[Matrix] = []
    for column, series in zip(columns, frame.iter_columns(), strict=True):
        if column["cells"] == "labels":
            parts.append(_encoded_labels(series, column, encoding))
        elif column["cells"] == "dates":
            parts.append(_encoded_dates(series, column))
        else:
            parts.append(_encoded_numbers(series, column))
        if column["marked"]:
            parts.append(_missing(series, column["cells"])[:, None].astype(np.float64))
    return np.hstack(parts)


def warn_of_stand_ins(frame: Frame, columns: Sequence[Column]) -> None:
    """Warns of what training did not have: missing values, and labels that all numbers are 0 of."""
    for column, series in zip(columns, frame.iter_columns(), strict=True):
        name, is_missing = column["name"], _missing(series, column["cells"])
        if is_missing.any() and column["used"] and not column["marked"]:
            _warn_of_gaps(column, int(is_missing.sum()))
        if column["cells"] == "labels" and column["used"]:
            texts = _texts(series, column)
            new = [text for text in texts if text is not None and text not in column["levels"]]
            if new:
                warnings.warn(
                    f"column `{name}` has labels in {_rows(len(new))} that training did not have: "
                    f"{listed(dict.fromkeys(new))}",
                    stacklevel=4,
                )


def _warn_of_blanks(series: Series, name: str) -> None:
    """Warns of labels that have blanks at their ends: ` a` and `a` are one."""
    for row, value in enumerate(series.to_list()):
        if isinstance(value, str) and value.strip(BLANKS) not in (value, ""):
            warnings.warn(
                f"column `{name}` has labels with blanks at their ends, such as `{shown(value)}` "
                f"in row {row}, which do not count",
                stacklevel=5,
            )
            return


def _warn_of_gaps(column: Column, count: int) -> None:
    stands = f"{column['fill']:g}" if column["cells"] != "labels" else "no label"
    warnings.warn(
        f"column `{column['name']}` has no value in {_rows(count)}, and had all in training: "
        f"{stands} stands there",
        stacklevel=5,
    )


def encoded_names(columns: Sequence[Column], encoding: Encoding = "one_hot") -> list[list[str]]:
    """The names of the numbers that each column becomes."""
    first = 1 if encoding == "drop_first" else 0
    names: list[list[str]] = []
    for column in columns:
        name = column["name"]
        own = [name]
        if column["cells"] == "labels" and encoding != "codes":
            own = [f"{name}={level}" for level in column["levels"][first:]]
        elif column["dates"] is not None:
            own = Dates.read(column["dates"]).features(name)
        names.append([*own, f"{name} is missing"] if column["marked"] else own)
    return names


def response_of(y: Any) -> Any:
    """A response as an array, with the type that its values have; an array as it is.

    Columns of nullable types and of text keep their values: whole numbers stay whole.
    """
    try:
        found = nw.from_native(y, allow_series=True, pass_through=True)
    except DuplicateError as error:
        raise ValueError(f"y has columns of the same name: {error}") from error
    if isinstance(found, nw.LazyFrame):
        found = found.collect()
    if isinstance(found, nw.DataFrame):
        columns = [
            _response(series, f"y, column `{series.name}`") for series in found.iter_columns()
        ]
        return np.column_stack(columns) if columns else np.zeros((len(found), 0))
    if isinstance(found, nw.Series):
        return _response(found, "y")
    # A categorical of pandas that is no column.
    return _values(list(y)) if type(y).__name__ == "Categorical" else y


def order_of(y: Any) -> list[str] | None:
    """The categories of a response whose type has them in an order, as text; None of any other."""
    # Of pandas, also where the categories are no texts.
    kind: Any = getattr(y, "dtype", None)
    if getattr(kind, "ordered", None) and hasattr(kind, "categories"):
        return [str(category) for category in kind.categories]
    found = nw.from_native(y, series_only=True, pass_through=True)
    if not isinstance(found, nw.Series) or not isinstance(found.dtype, nw.Enum):
        return None
    return [str(category) for category in found.dtype.categories]


def ordered(labels: Iterable[str], what: str) -> list[str]:
    """Labels by size if all of them are numbers, else as text."""
    found = sorted(labels)
    if not all(_is_number(label) for label in found):
        return found
    found.sort(key=float)
    for one, other in itertools.pairwise(found):
        if float(one) == float(other):
            raise ValueError(
                f"{what} has labels that are the same number, `{one}` and `{other}`: write them in "
                "one way"
            )
    return found


def is_missing_text(text: str) -> bool:
    """Whether a text stands for a missing value, as in CSV files."""
    return text.strip(BLANKS).lower() in MISSING


def shown(value: object) -> str:
    """A value in the words of an error: of a long one the beginning."""
    text = str(value)
    return text if len(text) <= LONG else f"{text[:LONG]} ..."


def listed(values: Iterable[object]) -> str:
    """Values in the words of an error: of many the first."""
    texts = [shown(value) for value in values]
    if len(texts) <= MANY:
        return ", ".join(texts)
    return f"{', '.join(texts[:MANY])} and {len(texts) - MANY} more"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _is_category(series: Series) -> bool:
    return isinstance(series.dtype, (nw.Categorical, nw.Enum))


def _cells(series: Series, name: str) -> Cells:
    """What a column holds, by its type; of Python objects by their types, which must be one."""
    dtype = series.dtype
    if dtype == nw.Boolean:
        return "bools"
    if dtype.is_numeric():
        return "numbers"
    if isinstance(dtype, nw.String) or _is_category(series):
        return "labels"
    if isinstance(dtype, (nw.Date, nw.Datetime, nw.Time)):
        return "dates"
    if dtype == nw.Object:
        return _cells_of_objects(series.to_list(), f"column `{name}`")
    if dtype == nw.Unknown:
        if _pandas_zone(series) is not None:
            return "dates"
        # Such as the sparse columns of pandas.
        kind = series.to_numpy().dtype.kind
        if kind in "iuf":
            return "numbers"
        if kind == "b":
            return "bools"
    raise ValueError(
        f"column `{name}` has the type {_type(series)}: convert it to numbers, to text or to a "
        "category"
    )


def _cells_of_objects(values: list[Any], what: str) -> Cells:
    first: tuple[int, Cells] | None = None
    for row, value in enumerate(values):
        if _is_missing(value):
            continue
        cells: Cells
        if isinstance(value, str):
            cells = "labels"
        elif isinstance(value, (bool, np.bool_)):
            cells = "bools"
        elif isinstance(value, (Real, Decimal)):
            cells = "numbers"
        elif isinstance(value, (datetime.date, datetime.time)):
            cells = "dates"
        else:
            raise ValueError(
                f"row {row}, {what}: `{shown(value)}` has the type {type(value).__name__}, but "
                "must be a number, text, a date, True or False"
            )
        if first is None:
            first = (row, cells)
        elif cells != first[1]:
            raise ValueError(
                f"row {row}, {what}: `{shown(value)}` has the type {type(value).__name__}, and row "
                f"{first[0]} {type(values[first[0]]).__name__}: convert all of the column to text, "
                "or to numbers"
            )
    if first is None:
        raise ValueError(f"{what} has no value in any row: leave it out")
    return first[1]


def _type(series: Series) -> str:
    """The type of a column, as its own library calls it."""
    native = series.to_native()
    found = getattr(native, "dtype", getattr(native, "type", series.dtype))
    return str(found)


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating, Decimal)) and math.isnan(value)


def _missing(series: Series, cells: Cells) -> NDArray[np.bool_]:
    """Whether each value is missing; of labels also a text that stands for a missing value."""
    if cells == "labels":
        return np.array([_text(value) is None for value in series.to_list()], dtype=bool)
    if cells == "dates":
        return np.isnan(_times(series, str(series.name)))
    return np.isnan(_floats(series))


def _refusal(row: int, name: str) -> ValueError:
    return ValueError(f"row {row}, column `{name}`: the value is missing")


def _floats(series: Series) -> Matrix:
    """The numbers of a column; missing ones are NaN."""
    one_by_one = (nw.Decimal, nw.Int128, nw.UInt128, nw.Object)
    if isinstance(series.dtype, one_by_one) or series.is_null().any():
        values = series.to_list()
        numbers = [math.nan if _is_missing(value) else float(value) for value in values]
        return np.array(numbers, dtype=np.float64)
    return np.asarray(series.to_numpy(), dtype=np.float64)


def _encoded_numbers(series: Series, column: Column) -> Matrix:
    """A column of numbers, or of True and False, with what stands in for missing ones."""
    name = column["name"]
    if _cells(series, name) in ("labels", "dates"):
        raise ValueError(
            f"column `{name}` must have numbers, as in training, but has the type {_type(series)}"
        )
    return _filled(_floats(series), _missing(series, column["cells"]), column)


def _filled(numbers: Matrix, missing: NDArray[np.bool_], column: Column) -> Matrix:
    name = column["name"]
    if missing.any() and column["fill"] is None:
        raise _refusal(int(missing.argmax()), name)
    if column["fill"] is not None:
        numbers = np.where(missing, column["fill"], numbers)
    wrong = ~np.isfinite(numbers) & ~missing
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"row {row}, column `{name}`: `{numbers[row]}` is not a finite number")
    others = (numbers != 0) & (numbers != 1) & ~missing
    if column["cells"] == "bools" and others.any():
        row = int(others.argmax())
        raise ValueError(
            f"row {row}, column `{name}`: `{numbers[row]:g}` is neither True (1) nor False (0), as "
            "in training"
        )
    return numbers[:, None]


def _is_clock(series: Series) -> bool:
    """Whether a column of dates holds times of the day."""
    if series.dtype == nw.Object:
        values = (value for value in series.to_list() if not _is_missing(value))
        return isinstance(next(values), datetime.time)
    return isinstance(series.dtype, nw.Time)


def _pandas_zone(series: Series) -> str | None:
    """The time zone of a column of pandas whose type narwhals does not know.

    Its name has a `_`, as that of New York.
    """
    zone = getattr(getattr(series.to_native(), "dtype", None), "tz", None)
    return None if zone is None else str(zone)


def _zone(series: Series, name: str) -> str | None:
    """The time zone of a column of dates, None of one without."""
    dtype = series.dtype
    if dtype == nw.Unknown:
        return _pandas_zone(series)
    if isinstance(dtype, nw.Datetime):
        return dtype.time_zone
    if dtype != nw.Object:
        return None
    zones = {
        str(value.tzinfo) if getattr(value, "tzinfo", None) is not None else None
        for value in series.to_list()
        if not _is_missing(value)
    }
    if len(zones) > 1:
        raise ValueError(
            f"column `{name}` has times of several time zones, or some with and some without one: "
            "convert them to one"
        )
    return zones.pop()


def _in_zone(series: Series, name: str, zone: str | None) -> Series:
    """New times as the clock of the training rows showed them. Times with a time zone are instants,
    and are not compared with times without one.
    """
    own = _zone(series, name)
    if own == zone:
        return series
    if own is None or zone is None:
        has = "no time zone" if own is None else f"the time zone {own}"
        had = "none" if zone is None else zone
        raise ValueError(
            f"column `{name}` has {has}, and had {had} in training: convert it to what training had"
        )
    if series.dtype == nw.Object:
        raise ValueError(
            f"column `{name}` has the time zone {own}, and had {zone} in training: convert it"
        )
    native = series.to_native()
    if hasattr(native, "dt") and hasattr(native.dt, "tz_convert"):
        return nw.from_native(native.dt.tz_convert(zone), series_only=True)
    return series.dt.convert_time_zone(zone)


def _times(series: Series, name: str) -> Matrix:
    """Seconds since 1970 on a clock on the wall, or since midnight; missing ones are NaN."""
    if _cells(series, name) != "dates":
        raise ValueError(
            f"column `{name}` must have dates or times, as in training, but has the type "
            f"{_type(series)}"
        )
    if series.dtype == nw.Unknown:
        series = nw.from_native(series.to_native().dt.tz_localize(None), series_only=True)
    dtype = series.dtype
    if isinstance(dtype, (nw.Date, nw.Datetime)):
        if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
            series = series.dt.replace_time_zone(None)
        microseconds = series.cast(nw.Datetime("us")).dt.timestamp("us")
        return _floats(microseconds) / 1e6
    return np.array([_seconds(value) for value in series.to_list()], dtype=np.float64)


def _seconds(value: Any) -> float:
    if _is_missing(value):
        return math.nan
    if isinstance(value, datetime.time):
        midnight = datetime.datetime(1970, 1, 1)
        return (
            datetime.datetime.combine(midnight, value.replace(tzinfo=None)) - midnight
        ).total_seconds()
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    return (value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)).total_seconds()


def _encoded_dates(series: Series, column: Column) -> Matrix:
    assert column["dates"] is not None and column["fill"] is not None
    dates, name = Dates.read(column["dates"]), column["name"]
    if _cells(series, name) == "dates":
        series = _in_zone(series, name, dates.zone())
    return dates.encoded(_times(series, name), column["fill"])


def _median(numbers: Matrix, weights: Matrix | None = None) -> float:
    """The median of the numbers that are not NaN; of rows with weights that of rows written out."""
    known = ~np.isnan(numbers)
    if weights is not None:
        return _weighted_median(numbers[known], weights[known])
    found = np.sort(numbers[known])
    if len(found) == 0:
        return math.nan  # Of a table without rows, which is refused.
    low, high = found[(len(found) - 1) // 2], found[len(found) // 2]
    return float(0.5 * low + 0.5 * high + 0.0)


def _weighted_median(numbers: Matrix, weights: Matrix) -> float:
    """The mean of the smallest number up to which half the weight or more lies, and of the smallest
    up to which more than half does; 0 if no number has a weight.
    """
    numbers, weights = numbers[weights > 0], weights[weights > 0]
    if len(numbers) == 0:
        return 0.0
    order = np.argsort(numbers, kind="stable")
    found, up_to = numbers[order], np.cumsum(weights[order])
    half, last = 0.5 * up_to[-1], len(found) - 1
    low = min(int(np.searchsorted(up_to, half, side="left")), last)
    high = min(int(np.searchsorted(up_to, half, side="right")), last)
    return float(0.5 * found[low] + 0.5 * found[high] + 0.0)


def _text(value: object) -> str | None:
    """A label, without blanks at its ends; None for a missing value."""
    text = "" if _is_missing(value) else str(value).strip(BLANKS)
    return None if text.lower() in MISSING else text


def _texts(series: Series, column: Column) -> list[str | None]:
    """The labels of a column of new rows, which may hold numbers where training had labels."""
    texts = [_text(value) for value in series.to_list()]
    if _cells(series, column["name"]) == "bools":
        # Written as `True` by pandas, and as `true` by polars.
        written = {level.lower(): level for level in column["levels"]}
        texts = [text if text is None else written.get(text.lower(), text) for text in texts]
    if series.dtype.is_numeric():
        # Whole numbers become floats where a value is missing.
        numbers = {float(level): level for level in column["levels"] if _is_number(level)}
        texts = [text if text is None else numbers.get(float(text), text) for text in texts]
    return texts


def text_of_many_kinds(frame: Frame, known: Sequence[str]) -> tuple[list[str], list[str]]:
    """Of the columns of text of more kinds than are labels those whose kinds have two rows or more
    on average, which have an intercept for each kind, and those that are left out: nearly every row
    has its own, or some rows have none. Says so.
    """
    groups: list[str] = []
    left_out: list[str] = []
    for name, series in zip(names_of(frame), frame.iter_columns(), strict=True):
        if name in known or _is_category(series) or _cells(series, name) != "labels":
            continue
        texts = [_text(value) for value in series.to_list()]
        here = [text for text in texts if text is not None]
        kinds = len(set(here))
        if not _are_many(kinds, len(texts)) or kinds > MOST_KINDS:
            continue
        if len(here) < 2 * kinds:
            done = "is left out, since nearly every row has its own"
        elif len(here) < len(texts):
            done = "is left out, since some rows have none"
        else:
            done = f'has an intercept for each kind, as by `group="{name}"`'
        (groups if "intercept" in done else left_out).append(name)
        warnings.warn(
            f"column `{name}`, text of {kinds} kinds in {_rows(len(here))}, {done}; as a category "
            "its kinds would be labels",
            stacklevel=5,
        )
    return groups, left_out


def _are_many(kinds: int, rows: int) -> bool:
    return kinds > MANY_LEVELS or (kinds > 10 and 2 * kinds > rows)


def _levels(series: Series, name: str) -> list[str]:
    """The levels that occur in a column."""
    texts = {_text(value) for value in series.to_list()} - {None}
    found = ordered(cast("set[str]", texts), f"column `{name}`")
    if _are_many(len(found), len(series)) and not _is_category(series):
        raise ValueError(
            f"column `{name}` has {len(found)} different texts in {_rows(len(series))}, as an "
            "identifier has: leave it out, or convert it to a category"
        )
    if len(found) > MOST_LEVELS:
        raise ValueError(f"column `{name}` has {len(found)} levels, but at most {MOST_LEVELS} fit")
    return found


def _encoded_labels(series: Series, column: Column, encoding: Encoding) -> Matrix:
    name, levels = column["name"], column["levels"]
    places = {level: place for place, level in enumerate(levels)}
    texts = _texts(series, column)
    if column["fill"] is None:
        for row, text in enumerate(texts):
            if text is None:
                raise _refusal(row, name)
            if text not in places:
                raise ValueError(
                    f"row {row}, column `{name}`: `{shown(text)}` is not among the levels of the "
                    f"training rows: {listed(levels)}"
                )
    places_of_rows = [-1 if text is None else places.get(text, -1) for text in texts]
    codes = np.array(places_of_rows, dtype=np.intp)
    if encoding == "codes":
        return np.where(codes < 0, column["fill"] or 0.0, codes)[:, None].astype(np.float64)
    block = np.zeros((len(codes), len(levels)))
    known = np.flatnonzero(codes >= 0)
    block[known, codes[known]] = 1
    return block[:, 1:] if encoding == "drop_first" else block


def _response(series: Series, what: str) -> NDArray[Any]:
    """A column of a response, with the type that its values have."""
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if missing.any():
        raise ValueError(f"{what}, row {int(missing.argmax())}: the value is missing")
    dtype = series.dtype
    if dtype == nw.Boolean:
        return np.array(series.to_list(), dtype=bool)
    if isinstance(dtype, (nw.Decimal, nw.Int128, nw.UInt128)):
        return _floats(series)
    if dtype.is_numeric() or dtype.is_temporal():
        return series.to_numpy()
    return _values(series.to_list())


def _values(values: list[Any]) -> NDArray[Any]:
    """Values as an array: categories of whole numbers, say, keep their type, and text that of
    Python. Other objects are named by their text, as the intervals of ``pandas.cut``.
    """
    kinds = (str, Real, Decimal, np.generic, datetime.date, datetime.time)
    values = [value if isinstance(value, kinds) else str(value) for value in values]
    if not any(isinstance(value, str) for value in values):
        return np.asarray(values)
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def _is_number(text: str) -> bool:
    """Whether a text is a finite number as CSV files write it."""
    return NUMBER.fullmatch(text) is not None and math.isfinite(float(text))

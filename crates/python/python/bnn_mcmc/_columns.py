"""Tables as native ones: pandas, polars, pyarrow and whatever else narwhals reads, by one path.

The type of a column decides what it is: text is never taken for numbers, nor for dates. The native
half makes numbers of the columns, as of the CSV files that the command reads.
"""

import datetime
import json
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from ._native import Columns, Table

Matrix: TypeAlias = NDArray[np.float64]
Cells: TypeAlias = Literal["numbers", "bools", "labels", "dates"]
# What a column of training was taken for.
Kind: TypeAlias = Literal["any", "numbers", "labels", "dates", "group", "exposure", "left_out"]
# Of narwhals, which is generic in the native type.
Frame: TypeAlias = nw.DataFrame[Any]
Series: TypeAlias = Any


# Texts that stand for a missing value, in capitals or small letters.
MISSING = frozenset(["", "na", "n/a", "nan", "null", "?"])
# What counts for nothing at the ends of a text: the white space of Unicode.
BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
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


class Known(NamedTuple):
    """What is known of a column of the training rows."""

    kind: Kind
    # The time zone of dates, if they have one.
    zone: str | None = None


def known_columns(columns: Columns) -> dict[str, Known]:
    """What the columns of the training table were taken for, in their order."""
    known: dict[str, Known] = {}
    for column in json.loads(columns.text())["columns"]:
        name, role, dates = column["name"], column["role"], column.get("dates")
        if role == "Ignored":
            known[name] = Known("left_out")
        elif role == "Exposure":
            known[name] = Known("exposure")
        elif "Group" in role:
            known[name] = Known("group")
        elif role == "Feature" and dates is not None:
            known[name] = Known("dates", dates.get("zone"))
        elif role == "Feature":
            known[name] = Known("numbers" if column["levels"] is None else "labels")
    return known


def named_columns(frame: Frame, groups: Sequence[str], exposure: str | None) -> dict[str, Known]:
    """What is known of the columns of a training table before it is looked at."""
    known = {name: Known("group") for name in groups}
    if exposure is not None:
        known[exposure] = Known("exposure")
    names = names_of(frame)
    for name, (kind, _) in known.items():
        if name not in names:
            what = "a group" if kind == "group" else "the exposure"
            raise ValueError(f"X has no column `{name}`, {what}; there are: {listed(names)}")
    return known


def table_of(
    frame: Frame, names: Sequence[str], known: dict[str, Known], others: Kind = "left_out"
) -> Table:
    """The native table of a frame, whose columns had these names in training."""
    table = Table()
    for name, series in zip(names, frame.iter_columns(), strict=True):
        kind, zone = known.get(name, Known(others))
        if kind == "group":
            table.add_texts(name, _groups(series), True)
        elif kind != "left_out":
            cells = _cells(series, name)
            _check_kind(kind, cells, series, name)
            series = _in_zone(series, name, zone) if kind == "dates" else series
            if cells == "dates":
                table.add_times(name, _times(series), _is_clock(series), _zone(series, name))
            elif cells == "labels":
                texts = [None if _is_missing(value) else str(value) for value in series.to_list()]
                table.add_texts(name, texts, _is_category(series))
            else:
                table.add_numbers(name, _floats(series), cells == "bools")
    return table


def _check_kind(kind: Kind, cells: Cells, series: Series, name: str) -> None:
    """An error if a column does not hold what it held in training."""
    if kind == "exposure" and cells != "numbers":
        raise ValueError(f"column `{name}` has the type {_type(series)}, but is the exposure")
    needed = {"numbers": "numbers", "dates": "dates or times"}.get(kind)
    own = "numbers" if cells == "bools" else cells
    if needed is not None and own != kind:
        raise ValueError(
            f"column `{name}` must have {needed}, as in training, but has the type {_type(series)}"
        )


def table_of_array(numbers: Matrix, names: Sequence[str], known: dict[str, Known]) -> Table:
    """The native table of an array, whose columns had these names in training."""
    table = Table()
    for name, values in zip(names, numbers.T, strict=True):
        kind = known.get(name, Known("numbers")).kind
        if kind not in ("numbers", "left_out"):
            raise ValueError(
                "X must be a table with names, such as one of pandas or polars, as in "
                f"training: column `{name}` has {kind}"
            )
        table.add_numbers(name, values, False)
    return table


def _groups(series: Series) -> list[str | None]:
    """The groups of rows as text; of floats that are whole numbers without a decimal point."""

    def text(value: object) -> str | None:
        if _is_missing(value):
            return None
        is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
        return str(int(cast("float", value)) if is_whole else value)

    return [text(value) for value in series.to_list()]


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


def _floats(series: Series) -> Matrix:
    """The numbers of a column; missing ones are NaN."""
    one_by_one = (nw.Decimal, nw.Int128, nw.UInt128, nw.Object)
    if isinstance(series.dtype, one_by_one) or series.is_null().any():
        values = series.to_list()
        numbers = [math.nan if _is_missing(value) else float(value) for value in values]
        return np.array(numbers, dtype=np.float64)
    return np.asarray(series.to_numpy(), dtype=np.float64)


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


def _times(series: Series) -> Matrix:
    """Seconds since 1970 on a clock on the wall, or since midnight; missing ones are NaN."""
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

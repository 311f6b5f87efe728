"""Tables of pandas with categorical columns, as numbers.

Columns become numbers as in the CSV files of the Rust crate: one column of 0 and 1 for each level,
named ``column=level``.
"""

import math
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# More levels than this are refused in a column whose type is not `category`: it may be an
# identifier. The same number as `MANY_LEVELS` of the Rust crate (`src/data/csv/schema.rs`), which
# CSV files are read by and which is private there; a test compares the two.
MANY_LEVELS = 50
# Errors show so many characters of a value.
LONG = 80
# Errors list so many values.
MANY = 50

# The levels of each column in order, as text; None for a column of numbers.
Levels = list[list[str] | None]


def is_mixed(X: Any) -> bool:
    """Whether X is a table of pandas that has columns which are not numbers."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return False
    return not all(_is_numeric(X.iloc[:, j]) for j in range(X.shape[1]))


def levels_of(X: Any) -> Levels:
    """The levels that occur in each column, by size if all of them are numbers, else as text."""
    levels: Levels = []
    for j, name in enumerate(X.columns):
        column = X.iloc[:, j]
        if _is_numeric(column):
            levels.append(None)
            continue
        found = sorted(set(_text(column, name)))
        if len(found) > MANY_LEVELS and column.dtype.name != "category":
            raise ValueError(
                f"column `{name}` has {len(found)} different texts, as an identifier has: leave it "
                "out, or convert it to the type `category`, which may have more than "
                f"{MANY_LEVELS} levels"
            )
        if all(_is_number(level) for level in found):
            found.sort(key=float)
        levels.append(found)
    return levels


def encoded(X: Any, levels: Levels) -> NDArray[np.float64]:
    """The columns of a table as numbers, by the levels of the training table."""
    columns = []
    for j, (name, known) in enumerate(zip(X.columns, levels, strict=True)):
        column = X.iloc[:, j]
        if known is None:
            columns.append(_numbers(column, name)[:, None])
            continue
        places = {level: place for place, level in enumerate(known)}
        block = np.zeros((len(column), len(known)))
        for row, level in enumerate(_text(column, name)):
            if level not in places:
                raise ValueError(
                    f"row {row}, column `{name}`: `{shown(level)}` is not among the levels of the "
                    f"training rows: {listed(known)}"
                )
            block[row, places[level]] = 1
        columns.append(block)
    return np.hstack(columns)


def encoded_names(names: list[str], levels: Levels) -> list[str]:
    """The names of the columns that `encoded` makes."""
    return [
        encoded_name
        for name, known in zip(names, levels, strict=True)
        for encoded_name in ([name] if known is None else [f"{name}={level}" for level in known])
    ]


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


def _is_numeric(column: Any) -> bool:
    from pandas.api import types

    if types.is_object_dtype(column.dtype):
        kind = types.infer_dtype(column, skipna=True)
        return kind in {"integer", "floating", "mixed-integer-float", "boolean", "decimal"}
    return types.is_numeric_dtype(column.dtype)


def _numbers(column: Any, name: object) -> NDArray[np.float64]:
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column `{name}` must have numbers, as in training: {error}") from error


def _text(column: Any, name: object) -> list[str]:
    """The cells of a categorical column."""
    from pandas.api import types

    is_category = column.dtype.name == "category"
    if not (is_category or types.is_object_dtype(column) or types.is_string_dtype(column)):
        raise ValueError(
            f"column `{name}` has the type {column.dtype}: convert it to numbers, or to the type "
            "`category`"
        )
    missing = column.isna().to_numpy()
    if missing.any():
        raise ValueError(f"row {missing.argmax()}, column `{name}`: the value is missing")
    return [str(value) for value in column]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False

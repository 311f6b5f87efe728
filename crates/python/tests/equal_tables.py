"""Tables at random, as data frames and as CSV: the same model, or the same refusal.

    python tests/equal_tables.py 100000 --seed 1

makes as many tables and compares what becomes of them in pandas, polars, pyarrow and CSV: for each
table the numbers, names and classes that the network is handed, and for one of twenty a fit of a
few draws, bit for bit. It needs the example `read_csv` of this package:

    cargo build --workspace --locked --features bnn-mcmc-python/read_csv --example read_csv
"""

import argparse
import collections
import datetime
import json
import os
import random
import re
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor, _base

ROOT = Path(__file__).parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
READER = TARGET / "debug" / "examples" / "read_csv"
SETTINGS = {"hidden": [], "chains": 1, "warmup": 2, "draws": 3, "seed": 1}
ESTIMATORS = {
    "regression": BnnRegressor,
    "classification": BnnClassifier,
    "counts": BnnCounts,
}
WORDS = [
    "a",
    "b",
    "B",
    "red",
    "blue",
    "é",
    "日本",
    "x y",
    "a,b",
    'say "no"',
    "=1+2",
    "@x",
    "ß",
    "🙂",
]
NUMERALS = ["1", "2", "10", "9", "-3", "01", "1.0", "1e1", ".5", "+4", "3 apples", "2026-01-01"]
ODD = [
    " a",
    "a ",
    "\u00a0b",
    "inf",
    "nan",
    "NaN",
    "NA",
    "null",
    "?",
    "",
    " ",
    "\uff11",
    "1_0",
    "-",
    "∞",
]
NAMES = ["a", "b", "c", "größe", "x 1", "d,e", 'q"', "1", "2.5", "a=b", "class", "y1"]


@dataclass
class Column:
    """A column: its kind, and its values, of which None is missing."""

    name: str
    kind: str
    values: list[Any]


@dataclass
class Table:
    """A table: the columns of the features, and the response."""

    task: str
    columns: list[Column]
    response: Column
    # How each library stores the columns, where it has a choice.
    stored: random.Random = field(default_factory=random.Random)


def texts(rng: random.Random, odd: bool = True) -> list[str]:
    pools = [WORDS, WORDS, NUMERALS, WORDS + NUMERALS]
    if odd:
        pools.append(WORDS + ODD)
    pool = rng.choice(pools)
    return [rng.choice(pool) for _ in range(rng.randint(1, 5))]


def number(rng: random.Random) -> float:
    return rng.choice(
        [
            rng.gauss(0, 1),
            round(rng.gauss(0, 10), 1),
            float(rng.randint(-3, 3)),
            rng.choice([-0.0, 1e-300, 0.1 + 0.2, 1 / 3]),
            rng.gauss(0, 1) * 10.0 ** rng.randint(-20, 20),
        ]
    )


def column(rng: random.Random, name: str, rows: int) -> Column:
    kind = rng.choice(["float"] * 3 + ["int"] * 2 + ["text"] * 3 + ["category", "bool", "date"])
    if kind == "date" and rng.random() < 0.7:
        kind = "float"
    values: list[Any]
    if kind == "float":
        values = [number(rng) for _ in range(rows)]
        if rng.random() < 0.03:
            values[rng.randrange(rows)] = rng.choice([float("inf"), -float("inf"), float("nan")])
    elif kind == "int":
        most = rng.choice([1, 5, 1000, 2**60])
        values = [rng.randint(-most, most) for _ in range(rows)]
    elif kind == "bool":
        values = [rng.random() < 0.5 for _ in range(rows)]
    elif kind == "date":
        first = datetime.date(2026, 1, 1)
        span = rng.choice([9, 300, 3000])
        values = [first + datetime.timedelta(days=rng.randint(0, span)) for _ in range(rows)]
    elif rows > 50 and rng.random() < 0.7:
        values = [f"{rng.choice(WORDS)} {i}" for i in range(rows)]
    else:
        pool = texts(rng)
        values = [rng.choice(pool) for _ in range(rows)]
    if rng.random() < 0.05:
        values = [values[0]] * rows
    if rng.random() < 0.25:
        for _ in range(rng.randint(1, 3)):
            values[rng.randrange(rows)] = None
    return Column(name, kind, values)


def response(rng: random.Random, task: str, name: str, rows: int) -> Column:
    kind = "int"
    values: list[Any]
    if task == "regression":
        kind = rng.choice(["float", "int"])
        values = [number(rng) if kind == "float" else rng.randint(-9, 9) for _ in range(rows)]
    elif task == "counts":
        values = [rng.randint(0, 20) for _ in range(rows)]
        if rng.random() < 0.05:
            values[rng.randrange(rows)] = -1
    else:
        kind = rng.choice(["text", "text", "category", "int", "bool"])
        pool: list[Any] = [rng.randint(-20, 20) for _ in range(3)]
        if kind == "bool":
            pool = [True, False]
        elif kind != "int":
            pool = texts(rng, odd=False)
            if rng.random() < 0.05:
                pool.append(rng.choice(["NA", "?", ""]))
        values = [rng.choice(pool) for _ in range(rows)]
    if rng.random() < 0.03:
        values[rng.randrange(rows)] = None
    return Column(name, kind, values)


def table(rng: random.Random) -> Table:
    """A table, most of them with at most one fault."""
    rows = rng.choice([rng.randint(3, 14)] * 9 + [rng.choice([1, 2, 60])])
    width = rng.randint(1, 4)
    names = rng.sample(NAMES, width)
    if rng.random() < 0.03:
        names[0] = rng.choice(["", " ", " b", "b "])
    task = rng.choice(list(ESTIMATORS))
    columns = [column(rng, name, rows) for name in names]
    stored = random.Random(rng.randrange(2**32))
    return Table(task, columns, response(rng, task, "the response", rows), stored)


def in_pandas(column: Column, rng: random.Random) -> pd.Series:
    missing = None in column.values
    if column.kind == "int":
        dtype = "Int64" if missing else rng.choice(["int64", "Int64", "object"])
    elif column.kind == "bool":
        dtype = "boolean" if missing else rng.choice(["bool", "boolean", "object"])
    elif column.kind == "float":
        dtype = rng.choice(["float64", "Float64"])
    elif column.kind == "date":
        dtype = "datetime64[s]"
    elif column.kind == "category":
        dtype = "category"
    else:
        dtype = rng.choice(["object", "str", "string"])
    return pd.Series(column.values, dtype=dtype, name=column.name)


def in_polars(column: Column, rng: random.Random) -> pl.Series:
    dtype: Any
    if column.kind == "category":
        levels = sorted({value for value in column.values if value is not None})
        dtype = rng.choice([pl.Categorical, pl.Enum(levels)])
    else:
        dtype = {
            "int": pl.Int64,
            "bool": pl.Boolean,
            "float": pl.Float64,
            "date": pl.Date,
            "text": pl.String,
        }[column.kind]
    return pl.Series(column.name, column.values, dtype=dtype)


def in_arrow(column: Column, rng: random.Random) -> pa.ChunkedArray:
    types = {
        "int": pa.int64(),
        "bool": pa.bool_(),
        "float": pa.float64(),
        "date": pa.date32(),
        "text": rng.choice([pa.string(), pa.large_string()]),
        "category": pa.string(),
    }
    array = pa.array(column.values, type=types[column.kind])
    if column.kind == "category":
        array = array.dictionary_encode()
    half = len(array) // 2
    return pa.chunked_array([array[:half], array[half:]])


def frames(table: Table) -> dict[str, tuple[Any, Any]]:
    """The table as each library has it: X and y."""
    rng, columns, y = table.stored, table.columns, table.response
    # A list of series gives those without a name one.
    of_polars = pl.DataFrame({column.name: in_polars(column, rng) for column in columns})
    names = [column.name for column in columns]
    of_pandas = pd.concat([in_pandas(column, rng) for column in columns], axis=1)
    of_arrow = pa.table([in_arrow(column, rng) for column in columns], names=names)
    lazily = rng.random() < 0.2
    return {
        "pandas": (of_pandas, in_pandas(y, rng)),
        "polars": (of_polars.lazy() if lazily else of_polars, in_polars(y, rng)),
        "pyarrow": (of_arrow, in_arrow(y, rng)),
    }


def cell(column: Column, value: Any) -> str:
    if value is None:
        return ""
    if column.kind in ("text", "category"):
        return '"' + value.replace('"', '""') + '"'
    if column.kind == "bool" and column.name != "the response":
        return str(int(value))
    return repr(value) if column.kind == "float" else str(value)


def in_csv(table: Table) -> str:
    columns = [*table.columns, table.response]
    quoted = ['"' + column.name.replace('"', '""') + '"' for column in columns]
    rows = zip(*(column.values for column in columns), strict=True)
    lines = [",".join(cell(c, v) for c, v in zip(columns, row, strict=True)) for row in rows]
    return "\n".join([",".join(quoted), *lines]) + "\n"


def looks_like_a_number(text: str) -> bool:
    """Whether the CSV reader does not take a cell for a label unless it is told so."""
    if re.match(r"[+\-.]*[0-9]", text):
        return True
    return re.fullmatch(r"[+-]?(inf|infinity|nan)", text, re.I) is not None


def categorical(table: Table) -> list[str]:
    """The columns whose cells look like numbers, and are text all the same: CSV has no types."""
    named = []
    for column in table.columns:
        values = [value.strip() for value in column.values if isinstance(value, str)]
        looks = column.kind == "text" and any(looks_like_a_number(value) for value in values)
        if column.kind == "category" or looks:
            named.append(column.name.strip())
    return named


class Handed(Exception):
    """What an estimator hands to the network."""


def record(response, rows, weights, columns, names, settings):
    """Takes the place of the native fit."""
    x, y = rows
    raise Handed(x, np.asarray(y, dtype=float).ravel(), columns, names, response[1])


def estimator(table: Table) -> Any:
    settings = {**SETTINGS, "random_state": SETTINGS["seed"], "n_jobs": 1}
    del settings["seed"]
    return ESTIMATORS[table.task](**settings)


def handed(table: Table, X: Any, y: Any) -> dict[str, Any]:
    """What the network is handed of a data frame, or why it is refused."""
    native = _base.Fit
    try:
        _base.Fit = record  # type: ignore[misc, assignment]
        estimator(table).fit(X, y)
    except Handed as found:
        x, y, columns, _, classes = found.args
        used = [column for column in columns if column["cells"] != "left_out"]
        features: list[str] = []
        for column in used:
            name = column["name"]
            labels = [f"{name}={level}" for level in column["levels"]]
            if column["dates"] is not None:
                features += column["dates"].features(name)
            else:
                features += labels if column["cells"] == "labels" else [name]
            features += [f"{name} is missing"] if column["marked"] else []
        ignored = [column["name"] for column in columns if column["cells"] == "left_out"]
        return {
            "features": features,
            "x": x.ravel(),
            "y": y,
            "classes": classes,
            "ignored": ignored,
        }
    except (TypeError, ValueError) as error:
        return {"error": str(error)}
    finally:
        _base.Fit = native  # type: ignore[misc]
    raise AssertionError("the native fit was not called")


def fitted(table: Table, X: Any, y: Any) -> dict[str, Any]:
    """The numbers of a short fit of a data frame, or why it is refused."""
    try:
        model = estimator(table).fit(X, y)
    except (TypeError, ValueError, RuntimeError) as error:
        return {"error": str(error)}
    if table.task == "classification":
        probabilities = model.predict_proba(X)
        predicted = np.empty_like(probabilities)
        predicted[:, model._places()] = probabilities
        predicted = predicted[:, 1:] if predicted.shape[1] == 2 else predicted
        return {"predicted": predicted.ravel()}
    return {"predicted": model.predict(X).ravel()}


class Reader:
    """The example `read_csv`, which reads CSV as the command does."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def read(self, table: Table, ignored: list[str], fit: bool) -> dict[str, Any]:
        request = {
            "text": in_csv(table),
            "task": table.task,
            "response": [table.response.name],
            "categorical": [name for name in categorical(table) if name not in ignored],
            "ignored": ignored,
            "fit": SETTINGS if fit else None,
        }
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


# What a refusal is about, in the words of data frames and of files.
REASONS = {
    "missing": r"value is missing|missing value",
    "empty": r"has no value in any row",
    "identifier": r"as an identifier has|text of more than",
    "same number": r"same number",
    "not finite": r"not a finite number|contains infinity",
    "type": r"has the type|is not a number",
    "no name": r"has no name",
    "same name": r"same name",
    "constant": r"is constant|constant \(",
    "one class": r"one class",
    "many classes": r"is this a regression",
    "count": r"is not a count",
    "rows": r"minimum of 2 is required|at least 2",
    "names": r"feature names",
}


def reason(answer: dict[str, Any]) -> str | None:
    """What a table is refused for; None if it is not."""
    if "error" not in answer:
        return None
    for name, pattern in REASONS.items():
        if re.search(pattern, answer["error"]):
            return name
    return answer["error"]


def same_numbers(one: Any, other: Any) -> bool:
    return np.asarray(one, dtype=float).tobytes() == np.asarray(other, dtype=float).tobytes()


def compare(table: Table, reader: Reader, fit: bool) -> tuple[str, str]:
    """What became of a table, and for what; an AssertionError where the ways differ."""
    ways = frames(table)
    found = {name: handed(table, X, y) for name, (X, y) in ways.items()}
    first = found["pandas"]
    for name, other in found.items():
        assert reason(other) == reason(first), (name, other, first)
        if "error" not in first:
            for key in ("features", "classes", "ignored"):
                assert other[key] == first[key], (name, key, other, first)
            assert same_numbers(other["x"], first["x"]), (name, other, first)
            assert same_numbers(other["y"], first["y"]), (name, other, first)
    ignored = first.get("ignored", [])
    csv = reader.read(table, ignored, fit=fit or "error" in first)
    refused: dict[str, Any] = first
    if "error" in csv and "error" not in first:
        # What is found out by the library: of files while they are read, else when they are fitted.
        refused = fitted(table, *ways["polars"])
    if reason(refused) == "missing" and reason(csv) is None:
        # Files leave out rows without a response, which estimators refuse.
        assert "y, row" in refused["error"], refused
        return "refused by estimators alone", "missing"
    if reason(refused) is not None or reason(csv) is not None:
        both = reason(refused) is not None and reason(csv) is not None
        assert both, (refused, csv)
        if reason(refused) == reason(csv):
            return "refused", str(reason(csv))
        return "refused for two faults", f"{reason(refused)} and {reason(csv)}"
    assert csv["features"] == first["features"], (csv, first)
    assert csv["classes"] == first["classes"], (csv, first)
    assert same_numbers(csv["x"], first["x"]), (csv, first)
    assert same_numbers(csv["y"], first["y"]), (csv, first)
    if not fit:
        return "the same numbers", table.task
    for name, (X, y) in ways.items():
        predicted = fitted(table, X, y)["predicted"]
        assert same_numbers(predicted, csv["predicted"]), (name, predicted, csv["predicted"])
    return "the same model", table.task


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, help="the number of tables")
    parser.add_argument("--seed", type=int, default=1, help="the first of as many seeds")
    parser.add_argument("--fit", type=int, default=20, help="one of so many is fitted")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    began, reader = time.monotonic(), Reader()
    outcomes: collections.Counter[tuple[str, str]] = collections.Counter()
    failed = 0
    for i in range(arguments.count):
        seed = arguments.seed + i
        try:
            made = table(random.Random(seed))
            outcomes[compare(made, reader, fit=i % arguments.fit == 0)] += 1
        except Exception as error:
            failed += 1
            if failed <= 20:
                print(f"seed {seed}: {type(error).__name__}: {str(error)[:600]}", flush=True)
        if (i + 1) % 5000 == 0:
            print(f"{i + 1} tables, {failed} differ, {time.monotonic() - began:.0f} s", flush=True)
    reader.close()
    for (outcome, what), count in sorted(outcomes.items()):
        print(f"{count:7} {outcome}: {what}")
    print(f"{arguments.count} tables, {failed} differ, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Writes the files beside it: one table of all types, as Parquet and as text.

    pip install pyarrow polars && python make.py

`types.csv` holds what each cell is, written without the libraries that write the other files.
"""

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

HERE = Path(__file__).parent
ROWS = 40


def made(rng, type_, values):
    """A column of a type with some missing values, and its cells as text."""
    cells = [None if rng.random() < 0.1 else rng.choice(values) for _ in range(ROWS)]
    if all(cell is None for cell in cells):
        cells[0] = values[0]
    return pa.array([cell and cell[0] for cell in cells], type_), [
        "" if cell is None else cell[1] for cell in cells
    ]


def same(values):
    return [(value, str(value)) for value in values]


def columns():
    rng = random.Random(1)
    berlin = ZoneInfo("Europe/Berlin")
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=rng.randint(0, 900)) for _ in range(9)]
    times = [
        dt.datetime(2023, 5, 1, 10) + dt.timedelta(seconds=rng.randint(1, 9**8)) for _ in range(9)
    ]
    # What a clock in Berlin shows an hour or two after the time in UTC.
    on_the_wall = [time.replace(tzinfo=dt.UTC).astimezone(berlin) for time in times]
    clocks = [dt.time(hour, 30, hour) for hour in (0, 6, 23)]
    words = ["a", "é, b", 'say "no"', "a text of more than twelve bytes", "1", "NA "]
    yield "i8", *made(rng, pa.int8(), same([-128, -1, 127]))
    yield "u8", *made(rng, pa.uint8(), same([3, 128, 255]))
    yield "i16", *made(rng, pa.int16(), same([-32768, 1, 32767]))
    yield "u16", *made(rng, pa.uint16(), same([1, 65535]))
    yield "i32", *made(rng, pa.int32(), same([-(2**31), 1, 2**31 - 1]))
    yield "u32", *made(rng, pa.uint32(), same([1, 2**32 - 1]))
    yield "i64", *made(rng, pa.int64(), same([-(2**63), 2**53 + 1, 7]))
    yield "u64", *made(rng, pa.uint64(), same([2**64 - 1, 2**53 + 1, 7]))
    yield (
        "f16",
        *made(rng, pa.float16(), [(1.5, "1.5"), (0.1, "0.0999755859375"), (-2.0, "-2")]),
    )
    yield "f32", *made(rng, pa.float32(), [(0.1, "0.10000000149011612"), (3.0, "3")])
    yield "f64", *made(rng, pa.float64(), same([0.1, 1e-300, -1e30, 1 / 3]))
    yield "bool", *made(rng, pa.bool_(), [(True, "1"), (False, "0")])
    yield (
        "decimal",
        *made(rng, pa.decimal128(12, 3), same([Decimal("1.250"), Decimal("-7.001")])),
    )
    # More digits than 128 bits hold.
    large = same([Decimal(7**50), Decimal(-(3**90))])
    yield "large decimal", *made(rng, pa.decimal256(60, 0), large)
    yield "date32", *made(rng, pa.date32(), same(days))
    yield "date64", *made(rng, pa.date64(), same(days))
    yield "time32", *made(rng, pa.time32("s"), same(clocks))
    yield "time64", *made(rng, pa.time64("ns"), same(clocks))
    for unit in ("s", "ms", "us", "ns"):
        yield unit, *made(rng, pa.timestamp(unit), same(times))
    pairs = [(t, f"{wall:%Y-%m-%d %H:%M:%S}") for t, wall in zip(times, on_the_wall, strict=True)]
    yield "zone", *made(rng, pa.timestamp("us", "Europe/Berlin"), pairs)
    offset = [(t, str(t + dt.timedelta(hours=5, minutes=30))) for t in times]
    yield "offset", *made(rng, pa.timestamp("ms", "+05:30"), offset)
    yield "text", *made(rng, pa.string(), same(words))
    yield "large text", *made(rng, pa.large_string(), same(words))
    yield "view", *made(rng, pa.string_view(), same(words))
    array, cells = made(rng, pa.string(), same([*words, "of the second half"]))
    array = pa.array(
        [
            *(None if v == "of the second half" else v for v in array.to_pylist()[:20]),
            *array.to_pylist()[20:],
        ]
    )
    cells = [*(c.replace("of the second half", "") for c in cells[:20]), *cells[20:]]
    # The second half has categories that the first one lacks.
    levels = list(dict.fromkeys(value for value in array.to_pylist() if value is not None))
    half = ROWS // 2
    first = [value for value in levels if value in array[:half].to_pylist()]
    assert len(first) < len(levels)
    parts = [
        pa.DictionaryArray.from_arrays(pa.compute.index_in(part, own), own)
        for part, own in [
            (array[:half], pa.array(first)),
            (array[half:], pa.array(first + [value for value in levels if value not in first])),
        ]
    ]
    yield "category", pa.chunked_array(parts), cells
    array, cells = made(rng, pa.int64(), same([3, 20, 100]))
    yield "number category", array.dictionary_encode(), cells
    levels = pa.array(["low", "high", "none of them"])
    places = [rng.randint(0, 1) for _ in range(ROWS)]
    ordered = pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), levels, ordered=True)
    yield "ordered", ordered, [levels[place].as_py() for place in places]


def others():
    """Columns that are not read."""
    row = range(ROWS)
    yield "list", pa.array([[i, None] if i % 3 else None for i in row])
    yield "struct", pa.array([{"a": i, "b": {"c": [str(i)]}} for i in row])
    yield "map", pa.array([[("k", i)] for i in row], pa.map_(pa.string(), pa.int64()))
    yield "fixed list", pa.array([[i, i] for i in row], pa.list_(pa.int64(), 2))
    yield "binary", pa.array([b"\xff"] * ROWS, pa.binary())
    yield "duration", pa.array([i for i in row], pa.duration("s"))
    category = pa.array([str(i % 3) for i in row]).dictionary_encode()
    yield (
        "list of categories",
        pa.ListArray.from_arrays(pa.array(range(ROWS + 1)), category),
    )


def main():
    rng = random.Random(2)
    own = list(columns())
    y = [rng.gauss(0, 1) for _ in range(ROWS)]
    table = {name: array for name, array, _ in own} | {"y": pa.array(y)}
    # The columns that are not read stand in between.
    for place, (name, array) in enumerate(others()):
        names = list(table)
        names.insert(3 * place, name)
        table = {key: table.get(key, array) for key in names}
    table = pa.table(table)
    quoted = [f'"{name}"' for name, *_ in own] + ["y"]
    rows = zip(*(cells for *_, cells in own), map(repr, y), strict=True)
    lines = [
        ",".join(
            '"{}"'.format(cell.replace('"', '""')) if '"' in cell or "," in cell else cell
            for cell in row
        )
        for row in rows
    ]
    (HERE / "types.csv").write_text("\n".join([",".join(quoted), *lines]) + "\n", "utf-8")

    # Not all types are those of Parquet.
    parquet = table.drop_columns(["fixed list"])
    pq.write_table(parquet, HERE / "types.parquet", compression="zstd", row_group_size=17)
    # Another program, with other types of text and categories.
    frame = pl.DataFrame(
        {
            "text": pl.Series(["a", None, "a text of more than twelve bytes", "b"] * 5),
            "category": pl.Series(["x", "y", None, "x"] * 5, dtype=pl.Categorical),
            "enum": pl.Series(
                ["low", "high", "high", "low"] * 5, dtype=pl.Enum(["none", "low", "high"])
            ),
            "list": pl.Series([[1], [], None, [2, 3]] * 5),
            "size": [0.5, None, float("nan"), 2.0] * 5,
            "y": [float(i * i % 7) for i in range(20)],
        }
    )
    frame.write_parquet(HERE / "polars.parquet")


if __name__ == "__main__":
    main()

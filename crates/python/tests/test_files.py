"""Parquet files in the command `bnn-mcmc`: the fit of the same data frame."""

import decimal
import json
import shutil
import subprocess

import numpy as np
import pytest
from bnn_mcmc import BnnRegressor
from test_command import BUILT, command

pd = pytest.importorskip("pandas", reason="files are written by pandas, which is not installed")
pl = pytest.importorskip("polars", reason="files are written by polars, which is not installed")
pa = pytest.importorskip("pyarrow", reason="files are written by pyarrow, which is not installed")
import pyarrow.parquet as parquet  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::bnn_mcmc.NotConvergedWarning"),
    pytest.mark.skipif(
        BUILT is None and shutil.which("cargo") is None,
        reason="cargo is not installed, which builds the command",
    ),
]
ROWS = 60
SETTINGS = {"target": "y", "hidden": 5, "chains": 2, "warmup": 60, "draws": 50, "seed": 1}
FLAGS = ["--quiet", *(f"--{name}={value}" for name, value in SETTINGS.items())]
CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    start = pd.Timestamp("2024-01-01 10:00")
    days = pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D")
    times = start + pd.to_timedelta(rng.integers(0, 90_000_000, ROWS), unit="s")
    frame = pd.DataFrame(
        {
            "float": rng.normal(size=ROWS),
            "single": rng.normal(size=ROWS).astype("float32"),
            "int": rng.integers(-(2**62), 2**62, ROWS),
            "nullable": pd.array(rng.integers(0, 200, ROWS), dtype="UInt8"),
            "bool": rng.random(ROWS) < 0.5,
            "text": pd.array(rng.choice(["a", "é, x", 'q"', "10"], ROWS), dtype="str"),
            "category": pd.Categorical(rng.choice(["10", "9"], ROWS)),
            "day": start.normalize() + days,
            "time": times,
            "zone": times.tz_localize("UTC").tz_convert("Europe/Berlin"),
            "decimal": [decimal.Decimal(int(n)) / 100 for n in rng.integers(-999, 999, ROWS)],
        }
    )
    frame.loc[3, ["float", "nullable", "time"]] = None
    frame.loc[5, ["text", "category"]] = None
    y = frame["float"].fillna(0) * 2 + rng.normal(size=ROWS)
    return frame.assign(y=y)


def facts(folder):
    """What a fit was made of, and the checksums of its rows and its draws."""
    fit = json.loads((folder / "fit.json").read_text())
    names = ["data_crc32", "draws_crc32", "verdict_crc32", "feature_names", "ranges", "features"]
    return {name: fit.get(name) for name in [*names, "response", "network", "stand_ins"]}


@pytest.fixture(scope="module")
def expected(table, tmp_path_factory):
    """The fit of the command on the same table as text."""
    folder = tmp_path_factory.mktemp("csv")
    # Text has no types: what a column is has to be said.
    text = table.astype({"bool": int, "single": float})
    text.to_csv(folder / "t.csv", index=False)
    run = folder / "run"
    command("fit", folder / "t.csv", "--categorical", "text,category", *FLAGS, "--out", run)
    return facts(run)


def written(table, folder):
    """The table in files of all programs and codecs."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    polars = pl.from_arrow(arrow)
    table.to_parquet(folder / "pandas.parquet", index=False)
    for codec in CODECS:
        for version in ("1.0", "2.0"):
            path = folder / f"pyarrow_{codec}_{version}.parquet"
            settings = {"compression": codec, "data_page_version": version}
            parquet.write_table(arrow, path, row_group_size=17, **settings)
        polars_codec = "uncompressed" if codec == "none" else codec
        polars.write_parquet(folder / f"polars_{codec}.parquet", compression=polars_codec)
    encodings = {"int": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY"}
    encodings |= {"float": "BYTE_STREAM_SPLIT", "nullable": "PLAIN"}
    settings = {"use_dictionary": False, "column_encoding": encodings}
    parquet.write_table(arrow, folder / "encoded.parquet", **settings)
    int96 = {"use_deprecated_int96_timestamps": True}
    parquet.write_table(arrow, folder / "int96.parquet", **int96)
    return sorted(path for path in folder.iterdir() if path.is_file())


def test_files_give_the_fit_of_the_same_text(table, expected, tmp_path):
    files = written(table, tmp_path)
    assert len(files) == 21
    for file in files:
        run = tmp_path / f"{file.name}_run"
        command("fit", file, *FLAGS, "--out", run)
        assert facts(run) == expected, file.name


def test_files_give_the_fit_of_the_same_data_frame(table, short, tmp_path):
    model = BnnRegressor(**short).fit(table.drop(columns="y"), table["y"])
    model.save(tmp_path / "python")
    table.to_parquet(tmp_path / "t.parquet")
    command("fit", tmp_path / "t.parquet", *FLAGS, "--out", tmp_path / "run")
    of_python, of_command = facts(tmp_path / "python"), facts(tmp_path / "run")
    for name in ["data_crc32", "draws_crc32", "feature_names", "network"]:
        assert of_python[name] == of_command[name], name
    # New rows, also by the run of the data frame, and predictions as Parquet.
    out = tmp_path / "p.parquet"
    mean, _, upper = model.predict(table.drop(columns="y"), interval=0.9)
    for run in ("python", "run"):
        command("predict", tmp_path / run, tmp_path / "t.parquet", "--out", out)
        predicted = pd.read_parquet(out)
        assert list(predicted.columns[:4]) == ["row", "table_row", "response", "mean"]
        assert predicted["table_row"].tolist() == list(range(1, ROWS + 1))
        np.testing.assert_allclose(predicted["mean"], mean, rtol=1e-12)
        assert (predicted["new_q95"] == upper).all()


def refusal(*arguments):
    run = subprocess.run([BUILT or "false", *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 1, run
    return run.stderr


@pytest.mark.skipif(BUILT is None, reason="BNN_MCMC_COMMAND names no command that is built")
def test_what_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    numbers = list(range(30))
    for column, name in [
        (pa.array([[1, 2]] * 30), "list"),
        (pa.array([{"a": 1}] * 30), "struct"),
        (pa.array([b"a"] * 30), "binary"),
        (pa.array(numbers, pa.duration("s")), "duration"),
    ]:
        parquet.write_table(pa.table({"x": numbers, "odd": column, "y": numbers}), path)
        said = refusal("fit", path, "--target", "y", "--out", tmp_path / "run")
        assert f"t.parquet: column `odd` has the type {name}, which is neither" in said
    for rows in (pa.table({}), pa.table({"y": pa.array([], pa.float64())})):
        parquet.write_table(rows, path)
        said = refusal("fit", path, "--target", "y", "--out", tmp_path / "run")
        assert "t.parquet" in said
    parquet.write_table(pa.table([numbers, numbers], names=["y", " y"]), path)
    assert "have the same name, `y`" in refusal("check", path)
    beyond = pa.array([10**15] * 30, pa.timestamp("s"))
    parquet.write_table(pa.table({"x": beyond, "y": numbers}), path)
    assert "row 1, column `x`: the date is not within" in refusal("check", path)

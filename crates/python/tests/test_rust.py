"""The Rust program of the same seed has the same numbers, bit for bit, and the same limits."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from bnn_mcmc import BnnRegressor

ROOT = Path(__file__).parents[3]


@pytest.mark.filterwarnings("ignore::bnn_mcmc.NotConvergedWarning")
@pytest.mark.skipif(
    shutil.which("cargo") is None, reason="cargo is not installed, which runs the Rust program"
)
def test_the_example_table_has_the_same_numbers(tmp_path):
    pd = pytest.importorskip("pandas", reason="the table is read by pandas, which is not installed")
    data, run, out = ROOT / "data" / "wine_red.csv", tmp_path / "rust", tmp_path / "new.csv"
    # In its quick mode: 4 chains of 60 + 40, 4 hidden units, seed 1.
    # An example that is built already may be named, so that the library is not built anew for it.
    built = os.environ.get("BNN_MCMC_TABLE")
    cargo = ["cargo", "run", "--release", "--locked", "--quiet", "--example", "table", "--"]
    command = [*([built] if built else cargo), "--quick"]
    arguments = ["--validation", "0", "--data", data, "--folder", run, "--new", data, "--out", out]
    subprocess.run([*command, *arguments], cwd=ROOT, check=True)

    wine = pd.read_csv(data, sep=None, engine="python")
    X, y = wine.drop(columns="quality"), wine["quality"]
    model = BnnRegressor(hidden=(4,), warmup=60, draws=40, random_state=1).fit(X, y)
    mean, lower, upper = model.predict(X, interval=0.9)
    printed = pd.read_csv(out, engine="python")
    assert (upper == printed["new_q95"]).all()
    # (1 - 0.9)/2 is not quite 0.05, and the file has the mean of sorted numbers.
    np.testing.assert_allclose(lower, printed["new_q05"], rtol=1e-12)
    np.testing.assert_allclose(mean, printed["mean"], rtol=1e-12)

    model.save(tmp_path / "python")
    chunks = sorted(
        path.relative_to(run)
        for path in run.glob("draws.zarr/posterior/*/c/**/*")
        if path.is_file()
    )
    assert len(chunks) >= 5
    for chunk in chunks:
        assert (run / chunk).read_bytes() == (tmp_path / "python" / chunk).read_bytes(), chunk

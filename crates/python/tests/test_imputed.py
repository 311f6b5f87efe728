"""Missing values that are drawn, in copies of the table."""

import os
import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
from bnn_mcmc import BnnClassifier, BnnRegressor

RNG = np.random.default_rng(8)
N = 80
A = RNG.normal(size=N)
B = 0.8 * A + 0.6 * RNG.normal(size=N)
Y = A - B + 0.3 * RNG.normal(size=N)
GAPS = RNG.uniform(size=N) < 0.3


@pytest.fixture
def table():
    """Numbers and labels with gaps."""
    colour = np.where(A > 0, "red", "blue").astype(object)
    colour[::9] = None
    return pd.DataFrame({"a": A, "b": np.where(GAPS, np.nan, B), "colour": colour})


def test_predictions_are_of_all_copies_and_those_of_the_command(table, short, tmp_path):
    fitted = BnnRegressor(**short, impute=3).fit(table, Y)
    assert fitted.diagnostics_["tables"] == 3
    assert 0 < fitted.diagnostics_["missing_information"] < 1
    mean, sd = fitted.predict(table, return_std=True)
    assert mean.shape == sd.shape == (N,)
    assert (sd > 0).all()
    assert fitted.score(table, Y) > 0.5
    assert all(map(np.isfinite, fitted.scores(table, Y).values()))
    one = fitted.predict(table.iloc[5:6])
    assert one == fitted.predict(table)[5:6]
    command = os.environ["BNN_MCMC_COMMAND"]
    table.assign(y=Y).to_csv(tmp_path / "t.csv", index=False)
    flags = ["--target", "y", "--impute", "3", "--hidden", "5", "--chains", "2", "--seed", "1"]
    flags += ["--warmup", str(short["warmup"]), "--draws", str(short["draws"])]
    run = [command, "fit", "t.csv", "--out", "run", "--quiet", *flags]
    subprocess.run(run, cwd=tmp_path, check=True)
    loaded = BnnRegressor.load(tmp_path / "run")
    assert loaded.impute == 3
    assert (loaded.predict(table) == mean).all()


def test_fits_are_saved_and_pickled(table, short, tmp_path):
    classes = np.where(Y > 0, "up", "down")
    settings = {**short, "warmup": 30, "draws": 20, "impute": 2}
    fitted = BnnClassifier(**settings, folder=tmp_path / "run").fit(table, classes)
    expected = fitted.predict_proba(table)
    fitted.save(tmp_path / "saved")
    again = BnnClassifier(**settings, folder=tmp_path / "run").fit(table, classes)
    copies = [again, pickle.loads(pickle.dumps(fitted))]
    copies += [BnnClassifier.load(tmp_path / name) for name in ("run", "saved")]
    for copy in copies:
        assert (copy.predict_proba(table) == expected).all()
        assert copy.impute == 2


def test_what_cannot_be_imputed_is_refused(table, short):
    with pytest.raises(ValueError, match="`impute` is 1, but must be a whole number from 2"):
        BnnRegressor(**short, impute=1).fit(table, Y)
    with pytest.raises(ValueError, match="missing values of features"):
        BnnRegressor(**short, impute=2).fit(table[["a"]], Y)
    fitted = BnnRegressor(**{**short, "warmup": 10, "draws": 5}, impute=2).fit(table, Y)
    with pytest.raises(ValueError, match="of the draws of one table"):
        fitted.to_datatree()

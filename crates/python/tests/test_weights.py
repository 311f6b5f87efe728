"""Weights of rows: a row of weight w is w rows that are equal to it."""

import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor, BnnSurvival
from sklearn.metrics import r2_score

RNG = np.random.default_rng(4)
N = 60
X = RNG.normal(size=(N, 2))
W = RNG.integers(0, 4, size=N)
LONG = np.repeat(np.arange(N), W)
REAL = 3 + X[:, 0] + 0.4 * RNG.normal(size=N)
TIME = np.exp(0.3 * REAL)


def responses():
    """Estimators, each with a response."""
    times = np.array(
        list(zip(np.minimum(TIME, 3) < 3, np.minimum(TIME, 3), strict=True)),
        dtype=[("died", bool), ("years", float)],
    )
    return [
        (BnnRegressor(noise="gaussian"), REAL),
        (BnnClassifier(), np.where(REAL > 3, "high", "low")),
        (BnnCounts(), np.round(np.maximum(REAL, 0))),
        (BnnSurvival(), times),
    ]


@pytest.mark.parametrize(("estimator", "y"), responses(), ids=lambda value: type(value).__name__)
def test_a_row_of_weight_w_is_w_rows(estimator, y, short):
    """Chains amplify rounding: runs of a few steps are equal up to digits."""
    estimator.set_params(**{**short, "warmup": 3, "draws": 2})
    weighted = estimator.fit(X, y, sample_weight=W)
    found = weighted.scores(X, y, sample_weight=W)
    predicted = weighted.predict(X) if y.dtype.kind == "f" else None
    score = weighted.score(X, y, sample_weight=W)
    written_out = estimator.fit(X[LONG], y[LONG])
    expected = written_out.scores(X[LONG], y[LONG])
    for name in set(expected) - {"mae_median", "crps", "coverage_95", "width_95"}:
        assert found[name] == pytest.approx(expected[name], rel=1e-5), name
    if predicted is not None:
        assert predicted == pytest.approx(written_out.predict(X), rel=1e-5)
    assert score == pytest.approx(written_out.score(X[LONG], y[LONG]), rel=1e-5)
    plain = estimator.fit(X, y).scores(X, y)
    assert plain["log_predictive_density"] != found["log_predictive_density"]


def test_score_is_that_of_sklearn(short):
    model = BnnRegressor(**short).fit(X, REAL, sample_weight=W)
    assert model.score(X, REAL, W) == r2_score(REAL, model.predict(X), sample_weight=W)


def test_medians_of_columns_are_weighted(short):
    frame = pd.DataFrame({"a": [1.0, 2.0, 9.0, np.nan], "b": [0.0, 1.0, 5.0, 2.0]})
    model = BnnRegressor(**short).fit(frame, [1, 2, 3, 4], sample_weight=[1, 1, 3, 1])
    assert model._new_rows(frame)[3].tolist() == [9.0, 1.0, 2.0]
    with pytest.warns(UserWarning, match="constant over all training rows are left out: `b` "):
        b = pd.DataFrame({"a": [1.0, 2.0, 9.0, 4.0], "b": [0.0, 0.0, 5.0, 0.0]})
        BnnRegressor(**short).fit(b, [1, 2, 3, 4], sample_weight=[1, 1, 0, 1])


def test_numbers_that_are_no_weights_are_refused(short):
    model = BnnRegressor(**short).fit(X, REAL)
    for wrong, message in (
        (np.ones(3), r"sample_weight has the shape \(3,\), but must have the shape \(60,\)"),
        (np.ones((60, 1)), r"sample_weight has the shape \(60, 1\)"),
        (np.where(W == 0, np.nan, 1), r"sample_weight, row \d+: `nan` is not a weight, which is a"),
        (np.where(W == 0, -1, 1), r"sample_weight, row \d+: `-1` is not a weight"),
        (np.where(W == 0, np.inf, 1), r"sample_weight, row \d+: `inf` is not a weight"),
        (np.zeros(60), "sample_weight is zero for all rows, but must be above zero for one"),
        (["many"] * 60, "sample_weight has the type .*, but must be numbers"),
        (np.full(60, 1e300), "`sum of the weights of rows` is .*, but must be at most 1e15"),
    ):
        for call in (
            lambda wrong=wrong: BnnRegressor(**short).fit(X, REAL, sample_weight=wrong),
            lambda wrong=wrong: model.scores(X, REAL, sample_weight=wrong),
        ):
            with pytest.raises(ValueError, match=message):
                call()
    with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
        model.score(X, REAL, sample_weight=np.zeros(60))
    one = model.scores(X, REAL, sample_weight=2.0)
    assert one["rmse"] == pytest.approx(model.scores(X, REAL)["rmse"])


def test_a_run_of_the_command(short, tmp_path):
    """The command and the estimator come to the same model; both load what the other wrote."""
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = BnnRegressor(**short).fit(frame, REAL, sample_weight=W)
    model.save(tmp_path / "saved")
    again = BnnRegressor.load(tmp_path / "saved")
    assert (again.predict(frame) == model.predict(frame)).all()
    table = tmp_path / "rows.csv"
    frame.assign(w=W, y=REAL).to_csv(table, index=False)
    command = os.environ["BNN_MCMC_COMMAND"]
    flags = ["--target", "y", "--row-weights", "w", "--hidden", "5", "--quiet", "--seed", "1"]
    sizes = ["--chains", "2", "--warmup", "60", "--draws", "50", "--out", tmp_path / "run"]
    subprocess.run([command, "fit", table, *flags, *sizes], check=False, capture_output=True)
    loaded = BnnRegressor.load(tmp_path / "run")
    assert (loaded.predict(frame) == model.predict(frame)).all()
    predict = [command, "predict", tmp_path / "run", table, "--scores", "--out", tmp_path / "p.csv"]
    said = subprocess.run(predict, check=True, capture_output=True, text=True).stdout
    assert f"by the weights of the rows, whose sum is {W.sum()}" in said, said

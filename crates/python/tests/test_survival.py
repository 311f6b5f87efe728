"""Survival times."""

import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from bnn_mcmc import BnnSurvival


def patients(n=200, seed=3):
    """Times with the median e^(1 + x_1), followed for 1 to 7 years: X, y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    time = np.exp(1 + X[:, 0] + 0.5 * rng.normal(size=n))
    end = rng.uniform(1, 7, size=n)
    y = np.array(
        list(zip(time <= end, np.minimum(time, end), strict=True)),
        dtype=[("died", bool), ("years", float)],
    )
    return X, y


def test_medians_and_survival_functions(short):
    X, y = patients()
    model = BnnSurvival(**{**short, "hidden": (), "warmup": 300, "draws": 300}).fit(X, y)
    new = np.array([[-0.5, 0.0], [0.5, 0.0]])
    median, lower, upper = model.predict_median(new, interval=0.98)
    truth = np.exp(1 + new[:, 0])
    assert ((lower < truth) & (truth < upper) & (upper / lower < 1.5)).all()
    assert (median == model.predict(new)).all()
    survival = model.predict_survival_function(new, [1.0, median[0], 50.0])
    assert survival.shape == (2, 3)
    assert survival[0, 1] == pytest.approx(0.5, abs=1e-9)
    assert (np.diff(survival, axis=1) < 0).all()
    at, low, high = model.predict_survival_function(new, [2.0], interval=0.9)
    assert ((low < at) & (at < high)).all()
    scores = model.scores(X, y)
    assert set(scores) == {"concordance", "integrated_brier", "log_predictive_density"}
    assert model.score(X, y) == scores["concordance"] > 0.7


def test_bounds_in_two_columns_are_the_same_rows(short, tmp_path):
    X, y = patients(60)
    bounds = np.column_stack([y["years"], np.where(y["died"], y["years"], np.inf)])
    settings = {**short, "noise": "weibull"}
    model = BnnSurvival(**settings).fit(X, y)
    again = BnnSurvival(**settings).fit(X, bounds)
    assert (model.predict(X) == again.predict(X)).all()
    model.save(tmp_path / "run")
    loaded = BnnSurvival.load(tmp_path / "run")
    assert (loaded.predict(X) == model.predict(X)).all()
    # Between bounds concordance and Brier score are not known.
    bounds[0] = [0.0, 2.0]
    scores = BnnSurvival(**settings).fit(X, bounds).scores(X, bounds)
    assert list(scores) == ["log_predictive_density"]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_the_command_fits_the_same(short, tmp_path):
    command = os.environ.get("BNN_MCMC_COMMAND")
    if command is None:
        pytest.skip("BNN_MCMC_COMMAND names no command that is built")
    X, y = patients(60)
    rows = [
        f"{a!r},{b!r},{float(t)!r},{int(d)}" for (a, b), (d, t) in zip(X.tolist(), y, strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["x1,x2,years,died", *rows]) + "\n")
    flags = "--target years --event died --out run --quiet --hidden 5 --chains 2 --warmup 60"
    flags = [*flags.split(), "--draws", "50", "--seed", "1"]
    subprocess.run([command, "fit", "t.csv", *flags], cwd=tmp_path, check=True)
    loaded = BnnSurvival.load(tmp_path / "run")
    assert (loaded.predict(X) == BnnSurvival(**short).fit(X, y).predict(X)).all()


def test_events_in_a_table_are_no_bounds(short):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 1))
    time, event = rng.exponential(0.4, size=50), rng.random(50) < 0.7
    structured = np.array(list(zip(event, time, strict=True)), dtype=[("e", bool), ("t", float)])
    expected = BnnSurvival(**short).fit(x, structured).predict(x)
    for table in (
        pd.DataFrame({"t": time, "died": event}),
        pd.DataFrame({"died": event, "t": time}),
        pd.DataFrame({"E": event.astype(int), "T": time}),
        pd.DataFrame({"duration": time, "observed": event.astype(float)}),
    ):
        assert (BnnSurvival(**short).fit(x, table).predict(x) == expected).all()
    bounds = pd.DataFrame({"from": time, "until": np.where(event, time, np.inf)})
    assert (BnnSurvival(**short).fit(x, bounds).predict(x) == expected).all()
    for wrong in (pd.DataFrame({"a": event, "b": event}), np.column_stack([event, event])):
        with pytest.raises(ValueError, match=r"y has (two columns of events|booleans alone)"):
            BnnSurvival(**short).fit(x, wrong)


def test_wrong_responses_are_named(short):
    X, y = patients(60)
    model = BnnSurvival(**short)
    with pytest.raises(ValueError, match="one boolean field"):
        model.fit(X, y.astype([("died", int), ("years", float)]))
    with pytest.raises(ValueError, match="y has 3 columns, but must have two"):
        model.fit(X, np.ones((60, 3)))
    wrong = y.copy()
    wrong["years"][4] = np.nan
    with pytest.raises(ValueError, match="y, row 4: the time is nan"):
        model.fit(X, wrong)
    never = y.copy()
    never["died"] = False
    with pytest.raises(ValueError, match="every row is right-censored"):
        model.fit(X, never)
    with pytest.raises(ValueError, match="noise"):
        BnnSurvival(**{**short, "noise": "poisson"}).fit(X, y)


def test_groups_of_patients(short, tmp_path):
    """Clinics have intercepts of the log of the time, and a new clinic a wider interval."""
    X, y = patients()
    clinic = np.arange(200) % 5
    y["years"] *= np.exp(0.4 * (clinic - 2))
    table = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "clinic": [f"c{k}" for k in clinic]})
    settings = {**short, "hidden": (), "warmup": 300, "draws": 300}
    model = BnnSurvival(**settings, group="clinic").fit(table, y)
    new = table[:2].assign(x=0.0, z=0.0, clinic=["c2", "c9"])
    with pytest.warns(UserWarning, match="`clinic` has groups in 1 row .*: c9"):
        _, lower, upper = model.predict_median(new, interval=0.9)
    assert upper[1] / lower[1] > 1.5 * upper[0] / lower[0]
    model.save(tmp_path / "run")
    again = BnnSurvival.load(tmp_path / "run")
    assert again.group == "clinic" and (again.predict(table) == model.predict(table)).all()

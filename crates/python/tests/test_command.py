"""Folders of Python in the command `bnn-mcmc`, and folders of the command in Python."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor

pd = pytest.importorskip("pandas", reason="tables are read by pandas, which is not installed")
pl = pytest.importorskip("polars", reason="tables are written by polars, which is not installed")

ROOT = Path(__file__).parents[3]
# A command that is built already may be named, so that it is not built anew.
BUILT = os.environ.get("BNN_MCMC_COMMAND")
CARGO = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "bnn-mcmc-cli", "--"]

pytestmark = [
    pytest.mark.filterwarnings("ignore::bnn_mcmc.NotConvergedWarning", "ignore:columns that are"),
    pytest.mark.skipif(
        BUILT is None and shutil.which("cargo") is None,
        reason="cargo is not installed, which builds the command",
    ),
]


def command(*arguments):
    """What the command prints, and its notes."""
    program = [BUILT] if BUILT else CARGO
    run = subprocess.run([*program, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout, run.stderr


@pytest.fixture
def table():
    n, rng = 60, np.random.default_rng(1)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": ["red", "blue", "green"] * 20,
            "code": pd.Categorical([8, 9, 10, 9] * 15),
            "ripe": rng.random(n) < 0.5,
            "same": 1,
        }
    )


def test_a_folder_of_python_in_the_command(table, short, tmp_path):
    y = (2 * table["size"] + table["ripe"]).rename("weight")
    model = BnnRegressor(**short).fit(table, y)
    run, new, out = tmp_path / "run", tmp_path / "new.csv", tmp_path / "out.csv"
    model.save(run)
    # In another order, without the column that is constant; as pandas and polars write them.
    rows = table[["ripe", "code", "size", "colour"]]
    rows.to_csv(new, index=False)
    written = tmp_path / "polars.csv"
    pl.DataFrame(rows.astype({"code": int}).to_dict("list")).write_csv(written)
    for path in (new, written):
        _, notes = command("predict", run, path, "--out", out)
        assert notes.startswith("60 rows predicted; all lie within")
        printed = pd.read_csv(out)
        mean, _, upper = model.predict(table, interval=0.9)
        np.testing.assert_allclose(printed["mean"], mean, rtol=1e-12)
        assert (printed["new_q95"] == upper).all()
    table.assign(weight=y).to_csv(new, index=False)
    _, notes = command("predict", run, new)
    assert "column `weight`" not in notes
    scores, _ = command("predict", run, new, "--scores", "--out", out)
    assert "RMSE" in scores.upper()
    printed, _ = command("diagnose", run)
    assert str(model.verdict_)[:60] in printed.replace("\n", " ")
    command("report", run)
    assert (run / "report.html").stat().st_size > 10_000
    wrong = tmp_path / "wrong.csv"
    rows.assign(ripe=2).to_csv(wrong, index=False)
    with pytest.raises(AssertionError, match=r"`ripe`: `2` is neither true \(1\) nor false \(0\)"):
        command("predict", run, wrong)


def test_a_folder_of_python_without_names(wave, short, tmp_path):
    X, y = wave
    model = BnnRegressor(**short).fit(X, y)
    model.save(tmp_path / "run")
    pd.DataFrame(X, columns=["x1", "x2"]).to_csv(tmp_path / "new.csv", index=False)
    command("predict", tmp_path / "run", tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    printed = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(printed["mean"], model.predict(X), rtol=1e-12)


def test_a_folder_of_classes_of_python_in_the_command(table, short, tmp_path):
    y = pd.Series([10, 9, 8] * 20, name="kind")
    model = BnnClassifier(**short).fit(table, y.astype(str))
    model.save(tmp_path / "run")
    table.to_csv(tmp_path / "new.csv", index=False)
    command("predict", tmp_path / "run", tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    printed = pd.read_csv(tmp_path / "out.csv")
    # By size there, as text in `classes_`.
    assert printed["class"][:3].tolist() == [8, 9, 10]
    assert model.classes_.tolist() == ["10", "8", "9"]
    probabilities = printed["probability"].to_numpy().reshape(-1, 3)
    np.testing.assert_allclose(probabilities[:, [2, 0, 1]], model.predict_proba(table), rtol=1e-12)


def fitted(tmp_path, table, y, *arguments):
    """The folder of a short run of the command."""
    path, run = tmp_path / "table.csv", tmp_path / "run"
    table.assign(**{y.name: y}).to_csv(path, index=False)
    short = ["--hidden", "5", "--chains", "2", "--warmup", "60", "--draws", "50", "--seed", "1"]
    command("fit", path, "--target", y.name, "--out", run, "--quiet", *short, *arguments)
    return run


def predicted(tmp_path, run, table):
    table.to_csv(tmp_path / "new.csv", index=False)
    command("predict", run, tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    return pd.read_csv(tmp_path / "out.csv")


@pytest.mark.parametrize("encoding", ["one-hot", "drop-first", "codes"])
def test_a_folder_of_the_command_in_python(table, short, tmp_path, encoding):
    y = (2 * table["size"] + table["ripe"]).rename("weight")
    arguments = ["--ignore", "same", "--categorical", "code", "--encoding", encoding]
    run = fitted(tmp_path, table, y, *arguments, "--validation", "0.2")
    model = BnnRegressor.load(run)
    printed = predicted(tmp_path, run, table)
    assert list(model.feature_names_in_) == ["size", "colour", "code", "ripe"]
    X = table[model.feature_names_in_]
    mean, _, upper = model.predict(X, interval=0.9)
    np.testing.assert_allclose(mean, printed["mean"], rtol=1e-12)
    assert (upper == printed["new_q95"]).all()
    # As it comes from the file, with numbers and bools for labels.
    read = pd.read_csv(tmp_path / "new.csv")[model.feature_names_in_]
    assert (model.predict(read) == mean).all()
    settings = {**short, "hidden": (5,)}
    del settings["n_jobs"]
    assert {name: getattr(model, name) for name in settings} == settings
    assert model.diagnostics_["seed"] == 1
    # The same sentences, but for the spelling of settings, which each face has in parentheses.
    spelling = re.compile(r" \((`[^`]*`|[\d.]+)\)")
    text = (run / "verdict.txt").read_text()
    assert spelling.sub("", str(model.verdict_)) in spelling.sub("", text)
    # With its estimator beside it.
    model.save(tmp_path / "again")
    assert (BnnRegressor.load(tmp_path / "again").predict(X) == mean).all()
    with pytest.raises(ValueError, match="of the task `regression`, and a BnnClassifier of `class"):
        BnnClassifier.load(run)


def test_a_folder_with_a_transform_of_the_command_in_python(table, tmp_path):
    y = np.exp(table["size"]).rename("weight")
    run = fitted(tmp_path, table[["size"]], y, "--transform", "box-cox")
    model = BnnRegressor.load(run)
    assert model.response_transform == "box_cox"
    printed = predicted(tmp_path, run, table[["size"]])
    mean, lower, upper = model.predict(table[["size"]], interval=0.9)
    np.testing.assert_allclose(mean, printed["mean"], rtol=1e-12)
    assert (upper == printed["new_q95"]).all() and (lower >= 0).all()
    # (1 - 0.9) / 2 is not the nearest number to 0.05, at which the command interpolates.
    np.testing.assert_allclose(lower, printed["new_q05"], rtol=1e-14)


@pytest.mark.parametrize("classes", [["no", "yes"], [3, 20, 100], [False, True]])
def test_a_folder_of_classes_of_the_command_in_python(table, tmp_path, classes):
    y = pd.Series([classes[i % len(classes)] for i in range(60)], name="kind")
    task = ["--task", "classification", "--categorical", "code", "--ignore", "same"]
    run = fitted(tmp_path, table, y, *task)
    model = BnnClassifier.load(run)
    assert model.classes_.tolist() == classes
    X = table[model.feature_names_in_]
    printed = predicted(tmp_path, run, table)["probability"].to_numpy().reshape(60, -1)
    # Of two classes the command prints the second.
    probabilities = model.predict_proba(X)[:, -printed.shape[1] :]
    np.testing.assert_allclose(probabilities, printed, rtol=1e-12)
    assert model.score(X, y) == model.scores(X, y)["accuracy"]
    model.save(tmp_path / "again")
    assert BnnClassifier.load(tmp_path / "again").predict(X).tolist() == model.predict(X).tolist()


def test_a_folder_of_counts_of_the_command_in_python(table, tmp_path):
    y = pd.Series(np.random.default_rng(2).poisson(3, size=60), name="eggs")
    run = fitted(tmp_path, table[["size"]], y, "--task", "counts", "--noise", "poisson")
    model = BnnCounts.load(run)
    assert model.noise == "poisson"
    printed = predicted(tmp_path, run, table[["size"]])
    mean, lower, upper = model.predict(table[["size"]], interval=0.9)
    np.testing.assert_allclose(mean, printed["mean"], rtol=1e-12)
    assert (lower == printed["new_q05"]).all() and (upper == printed["new_q95"]).all()


def test_groups(short, tmp_path):
    """The command and the estimator come to the same model; new groups have wider intervals."""
    rng = np.random.default_rng(4)
    x, school = rng.normal(size=90), np.tile([3, 10, 7, 3, 5, 12], 15)
    y = pd.Series(x + (school - 7) + 0.3 * rng.normal(size=90), name="score")
    X = pd.DataFrame({"school": school, "x": x, "area": np.repeat(["n", "s", "e"], 30)})
    model = BnnRegressor(**short, group=["school", "area"]).fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns) and model.n_features_in_ == 3
    new = X[:4].assign(school=[3.0, 99.0, np.nan, 12.0])
    with pytest.warns(UserWarning, match="`school` has groups in 2 rows .*: 99, no value; the"):
        mean, lower, upper = model.predict(new, interval=0.9)
    width = upper - lower
    assert width[1] > 1.5 * width[0]
    model.save(tmp_path / "run")
    again = BnnRegressor.load(tmp_path / "run")
    assert again.group == ["school", "area"] and (again.predict(X) == model.predict(X)).all()
    # The command's own fit of the same rows, and its predictions by the estimator.
    X.assign(score=y).to_csv(tmp_path / "table.csv", index=False)
    settings = ["--hidden", "5", "--chains", "2", "--warmup", "60", "--draws", "50", "--seed", "1"]
    flags = ["--target", "score", "--task", "regression", "--group", "school,area", "--quiet"]
    command("fit", tmp_path / "table.csv", "--out", tmp_path / "by_command", *flags, *settings)
    loaded = BnnRegressor.load(tmp_path / "by_command")
    assert loaded.group == ["school", "area"] and (loaded.predict(X) == model.predict(X)).all()
    printed = predicted(tmp_path, tmp_path / "by_command", new.astype({"school": "Int64"}))
    np.testing.assert_allclose(mean, printed["mean"], rtol=1e-12)
    short_of = BnnRegressor(**short, group="school")
    with pytest.raises(ValueError, match="X has no column `school`, a group"):
        short_of.fit(X.drop(columns="school"), y)
    with pytest.raises(ValueError, match="X must be a table with the column `school`"):
        short_of.fit(np.ones((90, 2)), y)
    with pytest.raises(ValueError, match="row 3, column `school`: the value is missing"):
        short_of.fit(X.assign(school=np.where(X.index == 3, np.nan, school)), y)
    for groups in (np.ones(90), np.arange(90)):
        with pytest.raises(ValueError, match=r"column `school` has \d+ groups? in 90 rows"):
            short_of.fit(X.assign(school=groups), y)


def test_counts_with_an_exposure(short, tmp_path):
    """The command and the estimator come to the same model; rates do not depend on the exposure."""
    rng = np.random.default_rng(4)
    x, years = rng.normal(size=80), np.tile([0.1, 0.25, 0.5, 1.0], 20)
    y = pd.Series(rng.poisson(years * np.exp(1 + 0.5 * x)), name="claims")
    X = pd.DataFrame({"x": x, "years": years, "kind": ["a", "b"] * 40})
    model = BnnCounts(**short, exposure="years").fit(X, y)
    assert list(model.feature_names_in_) == ["x", "years", "kind"]
    one, ten = model.predict(X.assign(years=1.0)), model.predict(X.assign(years=10.0))
    np.testing.assert_allclose(ten, 10 * one, rtol=1e-12)
    assert model.scores(X, y)["rmse"] > 0
    model.save(tmp_path / "run")
    again = BnnCounts.load(tmp_path / "run")
    assert again.exposure == "years" and (again.predict(X) == model.predict(X)).all()
    # The command's own fit of the same rows, and its predictions by the estimator.
    X.assign(claims=y).to_csv(tmp_path / "table.csv", index=False)
    settings = ["--hidden", "5", "--chains", "2", "--warmup", "60", "--draws", "50", "--seed", "1"]
    flags = ["--target", "claims", "--task", "counts", "--exposure", "years", "--quiet"]
    command("fit", tmp_path / "table.csv", "--out", tmp_path / "by_command", *flags, *settings)
    loaded = BnnCounts.load(tmp_path / "by_command")
    assert loaded.exposure == "years" and (loaded.predict(X) == model.predict(X)).all()
    printed = predicted(tmp_path, tmp_path / "by_command", X)
    np.testing.assert_allclose(model.predict(X), printed["mean"], rtol=1e-12)
    for wrong, problem in [(0.0, "is not an exposure"), (-1.0, "is not"), (np.nan, "is missing")]:
        with pytest.raises(ValueError, match=rf"row 3, column `years`: .* {problem}"):
            model.predict(X.assign(years=np.where(X.index == 3, wrong, 1.0)))
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- years"):
        model.predict(X.drop(columns="years"))
    with pytest.raises(ValueError, match="X must be a table with the column `years`"):
        BnnCounts(**short, exposure="years").fit(np.ones((80, 2)), y)


def test_the_command_chooses_the_same_model_by_the_same_numbers(wave, short, tmp_path):
    X, y = wave
    settings = {name: value for name, value in short.items() if name != "hidden"}
    model = BnnRegressor(**settings).fit(X, y)
    pd.DataFrame(X, columns=["x1", "x2"]).assign(y1=y).to_csv(tmp_path / "table.csv", index=False)
    flags = ["--chains", "2", "--warmup", "60", "--draws", "50", "--seed", "1", "--quiet"]
    arguments = ["--target", "y1", "--out", tmp_path / "run"]
    command("fit", tmp_path / "table.csv", *arguments, *flags)
    loaded = BnnRegressor.load(tmp_path / "run")
    assert loaded.search_ is not None and loaded.search_ == model.search_
    assert (loaded.predict(X) == model.predict(X)).all()

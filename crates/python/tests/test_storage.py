"""Pickles, copies and folders: the same predictions, bit for bit."""

import copy
import json
import pickle
import shutil
import subprocess
import sys
from fractions import Fraction

import joblib
import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnRegressor


def same(one, other, X):
    """Whether two regressors predict the same bits, noise included."""
    settings = {"return_std": True, "interval": 0.9}
    return all(
        (a == b).all()
        for a, b in zip(one.predict(X, **settings), other.predict(X, **settings), strict=True)
    )


@pytest.fixture
def fitted(wave, short):
    return BnnRegressor(**short).fit(*wave)


def test_pickle(fitted, wave):
    loaded = pickle.loads(pickle.dumps(fitted))
    assert same(loaded, fitted, wave[0])
    assert loaded.diagnostics_ == fitted.diagnostics_ and loaded.verdict_ == fitted.verdict_
    assert pickle.dumps(loaded) == pickle.dumps(fitted)


COPY = """
import pickle, sys
import bnn_mcmc
model = pickle.loads(open(sys.argv[1], "rb").read())
for _ in range(3):
    model = pickle.loads(pickle.dumps(model))
"""


def test_pickles_do_not_wait_for_the_disk(fitted, tmp_path):
    strace = shutil.which("strace")
    if strace is None or subprocess.run([strace, "-f", "true"], capture_output=True).returncode:
        pytest.skip("strace is not installed, or may not be used, which counts the calls")
    pickled, calls = tmp_path / "model.pickle", tmp_path / "calls"
    pickled.write_bytes(pickle.dumps(fitted))
    traced = [strace, "-f", "-o", calls, "-e", "trace=fsync,fdatasync,sync_file_range,openat"]
    subprocess.run([*traced, sys.executable, "-c", COPY, pickled], check=True)
    lines = calls.read_text(errors="replace").splitlines()
    assert sum("zarr.json" in line for line in lines) > 10
    assert [line for line in lines if "sync" in line.partition("(")[0]] == []


def test_joblib(fitted, wave, tmp_path):
    joblib.dump(fitted, tmp_path / "model.joblib")
    assert same(joblib.load(tmp_path / "model.joblib"), fitted, wave[0])


def test_copies(fitted, wave):
    assert same(copy.deepcopy(fitted), fitted, wave[0])
    assert same(copy.copy(fitted), fitted, wave[0])


def test_a_damaged_pickle_is_refused(fitted):
    whole = pickle.dumps(fitted)
    at = whole.index(b"data.csv") + 100
    damaged = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    with pytest.raises(Exception, match=r"CRC|checksum"):
        pickle.loads(damaged)


def test_save_and_load(fitted, wave, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = BnnRegressor.load(tmp_path / "model")
    assert same(loaded, fitted, wave[0])
    assert loaded.get_params() == fitted.get_params()
    assert loaded.diagnostics_ == fitted.diagnostics_ and str(loaded.verdict_) == str(
        fitted.verdict_
    )
    with pytest.raises(ValueError, match="it is not empty"):
        fitted.save(tmp_path / "model")


def test_folders_that_are_none(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    with pytest.raises(
        ValueError, match=r"estimator\.json: it is of a BnnRegressor in .*, not of a BnnClassifier"
    ):
        BnnClassifier.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"there is no `fit\.json`"):
        BnnRegressor.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing"):
        BnnRegressor.load(tmp_path / "nothing")
    data = tmp_path / "model" / "data.csv"
    data.write_bytes(data.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"data\.csv: it is not as it was written"):
        BnnRegressor.load(tmp_path / "model")


@pytest.mark.parametrize(
    "edit",
    [
        lambda saved: saved.pop("n_features_in"),
        lambda saved: saved["parameters"].update(units=3),
        lambda saved: saved.update(response=[]),
    ],
)
def test_a_file_that_was_edited_is_refused(fitted, tmp_path, edit):
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / "estimator.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    edit(saved)
    path.write_text(json.dumps(saved), encoding="utf-8")
    with pytest.raises(ValueError, match=r"estimator\.json: it is not as `save` wrote it"):
        BnnRegressor.load(tmp_path / "model")


def test_the_formats_of_before_are_read(fitted, wave, tmp_path):
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / "estimator.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved["format"] == 4
    for version in (2, 3):
        before = {**saved, "format": version, "columns": [], "groupings": [], "encoding": "one_hot"}
        path.write_text(json.dumps(before), encoding="utf-8")
        assert same(BnnRegressor.load(tmp_path / "model"), fitted, wave[0])
    groupings = [{"name": "school", "levels": ["a", "b"]}]
    for other in ({"format": 1}, {"format": 2, "groupings": groupings}, {"format": 5}):
        path.write_text(json.dumps({**saved, **other}), encoding="utf-8")
        with pytest.raises(ValueError, match=r"in format \d, not of a BnnRegressor in format 4"):
            BnnRegressor.load(tmp_path / "model")


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_classes_that_json_cannot_hold_are_refused_before_the_run(short, tmp_path, unit):
    X = np.linspace(0, 1, 40)[:, None]
    days = np.array(["2026-01-01", "2026-01-02"], dtype=f"M8[{unit}]")
    folder = tmp_path / "run"
    message = "y has the class `2026-01-01.*` of the type datetime64.*must be text, whole numbers"
    with pytest.raises(ValueError, match=message):
        BnnClassifier(**short, folder=folder).fit(X, days[(X[:, 0] > 0.5).astype(int)])
    assert not folder.exists()


def test_settings_of_other_types_are_saved_as_numbers(wave, short, tmp_path):
    settings = {"weight_prior": Fraction(1, 2), "draws": np.int64(40), "verbose": np.bool_(False)}
    BnnRegressor(**{**short, **settings, "folder": tmp_path / "run"}).fit(*wave)
    loaded = BnnRegressor.load(tmp_path / "run")
    assert (loaded.weight_prior, loaded.draws, loaded.verbose) == (0.5, 40, False)


def test_a_file_that_cannot_be_written_is_a_warning(wave, short, tmp_path):
    settings = {**short, "folder": tmp_path / "run"}
    first = BnnRegressor(**settings).fit(*wave)
    (tmp_path / "run" / "estimator.json").unlink()
    (tmp_path / "run" / "estimator.json").mkdir()
    with pytest.warns(UserWarning, match="the fit could not be saved in its folder") as warned:
        model = BnnRegressor(**settings).fit(*wave)
    assert warned[0].filename == __file__
    assert same(model, first, wave[0])


def test_save_and_load_of_columns_and_classes(short, tmp_path):
    pd = pytest.importorskip("pandas", reason="tables are those of pandas, which is not installed")
    X = pd.DataFrame({"size": np.arange(40) % 7, "colour": ["red", "blue"] * 20, "same": 1})
    y = np.array([f"kind {i % 3}" for i in range(40)])
    settings = {**short, "random_state": np.random.RandomState(5), "weight_prior": np.float64(0.5)}
    with pytest.warns(UserWarning, match="constant"):
        fitted = BnnClassifier(**settings).fit(X, y)
    fitted.save(tmp_path / "model")
    loaded = BnnClassifier.load(tmp_path / "model")
    assert (loaded.predict_proba(X) == fitted.predict_proba(X)).all()
    assert (loaded.predict(X) == fitted.predict(X)).all()
    assert loaded.random_state == fitted.diagnostics_["seed"]
    again = BnnClassifier(**loaded.get_params())
    with pytest.warns(UserWarning, match="constant"):
        assert (again.fit(X, y).predict_proba(X) == fitted.predict_proba(X)).all()
    with pytest.warns(UserWarning, match="labels in 40 rows that training did not have: green"):
        loaded.predict(X.assign(colour="green"))


def test_a_run_in_a_folder_is_loaded_by_the_same_call(wave, short, tmp_path):
    settings = {**short, "folder": tmp_path / "run"}
    X, y = wave
    first = BnnRegressor(**settings).fit(X, y)
    assert same(first, BnnRegressor(**short).fit(X, y), X)
    written = (tmp_path / "run" / "fit.json").stat().st_mtime_ns
    assert same(BnnRegressor(**settings).fit(X, y), first, X)
    assert (tmp_path / "run" / "fit.json").stat().st_mtime_ns == written
    assert same(BnnRegressor.load(tmp_path / "run"), first, X)
    with pytest.raises(
        ValueError, match=r"the folder holds another fit, in which `random_state` is 1, not 2"
    ):
        BnnRegressor(**{**settings, "random_state": 2}).fit(X, y)
    with pytest.raises(
        ValueError, match="`random_state` is None, but must be a whole number for a run in a folder"
    ):
        BnnRegressor(**{**settings, "random_state": None}).fit(X, y)

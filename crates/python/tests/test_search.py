"""The choice of the model by the data."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from typing import get_args

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor, BnnSurvival, Search
from bnn_mcmc._base import Model
from bnn_mcmc._verdict import searched

# A run of which nothing but the model is left to the data.
OPEN = {"chains": 2, "warmup": 60, "draws": 50, "random_state": 1, "n_jobs": 1}
REAL = [
    "linear",
    "linear_transformed",
    "additive",
    "network",
    "network_transformed",
    "network_curves",
    "network_heteroscedastic",
]

pytestmark = pytest.mark.filterwarnings("ignore::bnn_mcmc.NotConvergedWarning")


@pytest.fixture(scope="module")
def wave():
    """A line, and a wave along both features, which is no sum of curves: a network is best."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, (150, 2))
    return X, 10 + X[:, 0] + 2 * np.sin(X.sum(axis=1)) + rng.normal(0, 0.5, 150)


@pytest.fixture(scope="module")
def fitted(wave):
    """A fit of the wave, whose model the data chose."""
    return BnnRegressor(**OPEN).fit(*wave)


def test_the_data_choose_a_model_that_predicts_well(wave, fitted):
    search = fitted.search_
    assert isinstance(search, Search)
    assert (search.rows, list(search.tried)) == (150, REAL)
    # The mean is a wave.
    # Six curves of each of the two features.
    inputs = 14 if search.chosen == "network_curves" else 2
    assert search.chosen in REAL[3:] and fitted.diagnostics_["network"] == [inputs, 20, 1]
    chosen, linear = search.tried[search.chosen], search.tried["linear"]
    assert chosen["difference"] == chosen["se_difference"] == 0
    assert linear["difference"] < -3 * linear["se_difference"] < 0
    for scores in search.tried.values():
        difference = scores["log_density"] - chosen["log_density"]
        assert scores["difference"] == pytest.approx(difference, abs=1e-12)
        # None is better by more than a standard error.
        assert scores["difference"] <= scores["se_difference"]
    # Noise of sd 0.5 has the mean log density -0.73 where all else is known.
    assert -0.95 < chosen["log_density"] < -0.65
    assert list(search.coverage) == [0.5, 0.9, 0.95]
    for level, share in search.coverage.items():
        assert share * 150 == pytest.approx(round(share * 150), abs=1e-9)
        assert abs(share - level) < 4 * np.sqrt(level * (1 - level) / 150)


def test_a_search_is_printed_as_a_table_and_sentences(fitted):
    search = fitted.search_
    lines = str(search).splitlines()
    assert [line.split()[0] for line in lines[: len(REAL)]] == REAL
    assert lines[REAL.index(search.chosen)].split() == [
        search.chosen,
        f"{search.tried[search.chosen]['log_density']:.3f}",
        "chosen",
    ]
    linear = search.tried["linear"]["log_density"]
    compared, covers = lines[len(REAL) :]
    assert f", of the linear model {linear:.3f}: " in compared
    assert compared.endswith(f"; without any feature {search.intercept_only:.3f}")
    assert search.intercept_only < linear
    assert covers.startswith("intervals of 50, 90 and 95 % cover ")


def test_a_model_that_could_not_be_fitted_has_the_reason():
    class Native:
        def search(self):
            tried = [
                {"candidate": "linear", "failed": "why"},
                {
                    "candidate": "network",
                    "scored": {"log_density": -1.5, "difference": 0.0, "se_difference": 0.0},
                },
            ]
            search = {"chosen": "network", "rows": 9, "tried": tried, "coverage": [[0.9, 1.0]]}
            return json.dumps(search), "in words"

    scores = {"log_density": -1.5, "difference": 0.0, "se_difference": 0.0}
    tried = {"linear": "why", "network": scores}
    assert searched(Native()) == Search("network", 9, tried, {0.9: 1.0}, "in words")


def test_threads_do_not_matter(wave, fitted):
    assert BnnRegressor(**{**OPEN, "n_jobs": 3}).fit(*wave).search_ == fitted.search_


def test_imputed_tables_share_the_model_of_the_first(wave, tmp_path):
    X, y = wave
    X = np.where(np.arange(300).reshape(150, 2) % 17 == 0, np.nan, X)
    table = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b"])
    settings = {**OPEN, "impute": 2, "folder": tmp_path / "run"}
    model = BnnRegressor(**settings).fit(table, y)
    assert model.search_.rows == 150 and list(model.search_.tried) == REAL
    again = BnnRegressor(**settings).fit(table, y)
    loaded = BnnRegressor.load(tmp_path / "run")
    for other in (again, loaded):
        assert other.search_ == model.search_
        assert (other.predict(table) == model.predict(table)).all()


def test_a_model_that_is_chosen_is_the_one_of_its_name(wave, fitted):
    named = BnnRegressor(model=fitted.search_.chosen, **OPEN).fit(*wave)
    assert named.search_ is None
    assert (named.predict(wave[0]) == fitted.predict(wave[0])).all()
    given = {"hidden": (20,), "skip": True, "weight_prior": "scales", "noise": "student_t"}
    given["power_features"] = True
    by_parts = BnnRegressor(**given, method="mams", **OPEN).fit(*wave)
    assert by_parts.search_ is None
    network = BnnRegressor(model="network", **OPEN).fit(*wave)
    assert (by_parts.predict(wave[0]) == network.predict(wave[0])).all()


@pytest.mark.parametrize(
    "given",
    [{"hidden": (5,)}, {"skip": False}, {"weight_prior": "fan_in"}, {"method": "nuts"}],
    ids=lambda given: next(iter(given)),
)
def test_a_setting_of_the_model_ends_the_choice(wave, given):
    model = BnnRegressor(**{**OPEN, "warmup": 5, "draws": 5}, **given).fit(*wave)
    assert model.search_ is None
    assert model.diagnostics_["network"] == [2, *given.get("hidden", (100,)), 1]


def test_parts_that_are_given_come_before_the_model(wave):
    model = BnnRegressor(model="network", hidden=(3,), **OPEN).fit(*wave)
    assert model.diagnostics_["network"] == [2, 3, 1]
    assert "student" in model.recipe_.lower()


@pytest.mark.parametrize(
    ("estimator", "models"),
    [
        (BnnClassifier, "linear linear_transformed additive network network_curves"),
        (
            BnnCounts,
            "linear linear_transformed linear_hurdle additive network network_curves "
            "network_hurdle",
        ),
        (
            BnnSurvival,
            "linear linear_transformed linear_weibull additive network network_curves "
            "network_weibull",
        ),
    ],
)
def test_each_task_has_models_of_its_own(wave, estimator, models):
    X, y = wave[0][:60], np.round(wave[1][:60])
    if estimator is BnnSurvival:
        y = np.column_stack([y, y])
    elif estimator is BnnClassifier:
        y = y > 10
    search, models = estimator(**OPEN).fit(X, y).search_, models.split()
    assert list(search.tried) == models and search.chosen in models
    assert (search.coverage == {}) == (estimator is not BnnCounts)
    others = set(get_args(Model)) - set(models)
    listed = f"{', '.join(models[:-1])} and {models[-1]}"
    for model in others:
        with pytest.raises(
            ValueError, match=rf"`model` is {model}, but must be one of {listed} for this response$"
        ):
            estimator(model=model).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "forest"}, "there is no model named `forest`; there are: `linear`, `linear_tr"),
        ({"model": 3}, "`model` is 3, but must be a name in text"),
        ({"minutes": -1}, "`minutes` is -1, but must be a finite number from 0 on, or None"),
        ({"minutes": float("inf")}, "`minutes` is inf, but must be"),
        ({"minutes": float("nan")}, "`minutes` is nan, but must be"),
        ({"minutes": "10"}, "`minutes` is '10', but must be"),
        ({"minutes": True}, "`minutes` is True, but must be"),
        ({"skip": "no"}, "`skip` is 'no', but must be True or False"),
        ({"power_features": 1.0}, "`power_features` is 1.0, but must be True or False"),
    ],
)
def test_settings_out_of_range(wave, settings, message):
    with pytest.raises(ValueError, match=message):
        BnnRegressor(**OPEN, **settings).fit(*wave)


def test_time_bounds_what_is_not_given(wave):
    settings = {"chains": 2, "random_state": 1, "n_jobs": 1}
    short = BnnRegressor(**settings, minutes=0).fit(wave[0][:60], wave[1][:60])
    assert (short.diagnostics_["warmup"], short.diagnostics_["draws"]) == (150, 100)
    given = BnnRegressor(**settings, draws=7, minutes=0).fit(wave[0][:60], wave[1][:60])
    assert (given.diagnostics_["warmup"], given.diagnostics_["draws"]) == (150, 7)
    # A model that is given has no clock.
    settings = {**OPEN, "model": "linear", "warmup": None, "draws": None}
    named = BnnRegressor(**settings, minutes=0).fit(wave[0][:60], wave[1][:60])
    assert (named.diagnostics_["warmup"], named.diagnostics_["draws"]) == (1000, 1000)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_search_is_kept_with_its_fit(wave, fitted, tmp_path):
    X = wave[0]
    fitted.save(tmp_path / "saved")
    again = [BnnRegressor.load(tmp_path / "saved"), pickle.loads(pickle.dumps(fitted))]
    (tmp_path / "saved" / "estimator.json").unlink()
    as_of_the_command = BnnRegressor.load(tmp_path / "saved")
    for model in (*again, as_of_the_command):
        assert model.search_ == fitted.search_
        assert (model.predict(X) == fitted.predict(X)).all()
    assert again[0].get_params() == fitted.get_params()
    # Settings that no estimator wrote are those of the model that was chosen.
    assert (as_of_the_command.hidden, as_of_the_command.skip) == ((20,), True)
    assert (as_of_the_command.weight_prior, as_of_the_command.noise) == ("scales", "student_t")


def test_a_run_in_a_folder_is_taken_up_without_a_new_search(wave, fitted, tmp_path, capfd):
    X, y = wave
    settings = {**OPEN, "folder": tmp_path / "run", "verbose": True}
    first = BnnRegressor(**settings).fit(X, y)
    assert "model       chosen among" in capfd.readouterr().err
    assert (first.predict(X) == fitted.predict(X)).all() and first.search_ == fitted.search_
    again = BnnRegressor(**settings).fit(X, y)
    longer = BnnRegressor(**{**settings, "draws": 80}).fit(X, y)
    assert "chosen among" not in capfd.readouterr().err
    assert (again.predict(X) == first.predict(X)).all()
    assert again.search_ == longer.search_ == first.search_
    chosen = fitted.search_.chosen
    whole = BnnRegressor(**{**OPEN, "draws": 80}, model=chosen).fit(X, y)
    assert (longer.predict(X) == whole.predict(X)).all()
    # The model may be named from then on.
    named = BnnRegressor(**{**settings, "draws": 80}, model=chosen).fit(X, y)
    assert (named.predict(X) == whole.predict(X)).all()
    with pytest.raises(ValueError, match="the folder holds another fit, in which `hidden` is"):
        BnnRegressor(**{**settings, "draws": 80}, model="linear").fit(X, y)


def test_defaults_that_are_written_out_are_the_same_fit(wave, short, tmp_path):
    """Earlier versions wrote out some of the defaults of `skip` and `weight_prior`."""
    X, y = wave
    plain = BnnRegressor(**short).fit(X, y)
    defaults = [{}, {"skip": False}, {"weight_prior": "fan_in"}]
    for i, given in enumerate(defaults):
        folder = tmp_path / str(i)
        BnnRegressor(**short, **given, folder=folder).fit(X, y)
        written = (folder / "fit.json").stat().st_mtime_ns
        for settings in defaults:
            again = BnnRegressor(**short, **settings, folder=folder).fit(X, y)
            assert (again.predict(X) == plain.predict(X)).all()
            assert (folder / "fit.json").stat().st_mtime_ns == written
        with pytest.raises(ValueError, match='in which `weight_prior` is "fan_in", not "ard"'):
            BnnRegressor(**short, weight_prior="ard", folder=folder).fit(X, y)
        with pytest.raises(ValueError, match="in which `skip` is false, not true"):
            BnnRegressor(**short, skip=True, folder=folder).fit(X, y)


def test_an_estimator_of_an_earlier_version_has_its_model(wave, short, tmp_path):
    folder = tmp_path / "run"
    first = BnnRegressor(**short, skip=False, weight_prior="fan_in", folder=folder).fit(*wave)
    estimator = json.loads((folder / "estimator.json").read_text())
    for name in ("model", "minutes"):
        del estimator["parameters"][name]
    estimator["parameters"]["hidden"] = None
    (folder / "estimator.json").write_text(json.dumps(estimator))
    loaded = BnnRegressor.load(folder)
    assert (loaded.model, loaded.minutes, loaded.search_) == (None, None, None)
    assert (loaded.predict(wave[0]) == first.predict(wave[0])).all()
    # It was fitted with the defaults of then, which name a model.
    again = loaded.set_params(folder=None, warmup=2, draws=2).fit(*wave)
    assert again.search_ is None and again.diagnostics_["network"] == [2, 100, 1]


# A process in the background may have been started to ignore the signal.
SCRIPT = """
import signal
import numpy as np
from bnn_mcmc import BnnRegressor
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
X = np.linspace(-2, 2, 2000)[:, None]
y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=2000)
model = BnnRegressor(random_state=1, chains=1, warmup=10, draws=10, verbose=True, folder={folder})
try:
    model.fit(X, y)
except BaseException as end:
    print(type(end).__name__, *end.__notes__, hasattr(model, "search_"), sep="|", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
@pytest.mark.parametrize(
    ("number", "name", "folder"),
    [
        (signal.SIGINT, "KeyboardInterrupt", False),
        (signal.SIGINT, "KeyboardInterrupt", True),
        (signal.SIGTERM, "Terminated", True),
    ],
)
def test_a_signal_ends_a_search_and_nothing_is_kept(tmp_path, number, name, folder):
    folder = str(tmp_path / "run") if folder else None
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SCRIPT.format(folder=repr(folder))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        # A run that does not end is a failure, not a test without end.
        limit = threading.Timer(120, run.kill)
        limit.start()
        try:
            assert run.stderr.readline().startswith("model       chosen among")
            time.sleep(0.3)
            run.send_signal(number)
            sent = time.monotonic()
            kept = (
                "the run was ended before a model was chosen, and nothing is kept: the same call "
                "of fit begins anew"
            )
            out, errors = run.communicate()
            assert out == f"{name}|{kept}|False\n", errors
            assert time.monotonic() - sent < 10
            assert (f"bnn-mcmc: {kept}\n" in errors) == (number == signal.SIGTERM)
            assert not (tmp_path / "run").exists()
        finally:
            limit.cancel()
            run.kill()

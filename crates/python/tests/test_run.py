"""Runs: seeds, threads, Ctrl-C, warnings, settings."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor, NotConvergedWarning
from sklearn.exceptions import ConvergenceWarning


def test_seeds(wave, short):
    X, y = wave

    def predicted(random_state):
        return BnnRegressor(**{**short, "random_state": random_state}).fit(X, y).predict(X)

    assert (predicted(1) == predicted(1)).all()
    assert (predicted(1) == predicted(np.int64(1))).all()
    assert (predicted(1) != predicted(2)).any()
    assert (predicted(np.random.RandomState(7)) == predicted(np.random.RandomState(7))).all()
    generator = np.random.default_rng
    assert (predicted(generator(7)) == predicted(generator(7))).all()
    assert (predicted(generator(7)) != predicted(generator(8))).any()
    state = generator(7)
    assert (predicted(state) != predicted(state)).any()
    state = np.random.RandomState(7)
    assert (predicted(state) != predicted(state)).any()
    assert (predicted(None) != predicted(None)).any()


def test_threads_do_not_matter(wave, short):
    X, y = wave
    one = BnnRegressor(**short).fit(X, y).predict(X, interval=0.9)
    for n_jobs in (2, 3, -1, None):
        other = BnnRegressor(**{**short, "n_jobs": n_jobs}).fit(X, y).predict(X, interval=0.9)
        assert all((a == b).all() for a, b in zip(one, other, strict=True))


def test_rows_are_drawn_where_there_may_be_no_more(wave, short, tmp_path):
    X, y = wave
    settings = {**short, "folder": tmp_path / "run"}
    model = BnnRegressor(**settings, most_rows=30).fit(X, y)
    assert f"30 of {len(X)} rows, drawn at random" in model.recipe_
    whole = BnnRegressor(**short).fit(X, y)
    assert (model.predict(X) != whole.predict(X)).any() and "drawn" not in whole.recipe_
    more = BnnRegressor(**short, most_rows=len(X)).fit(X, y)
    assert (more.predict(X) == whole.predict(X)).all()
    again = BnnRegressor(**settings, most_rows=30).fit(X, y)
    loaded = BnnRegressor.load(settings["folder"])
    for other in (again, loaded):
        assert (other.predict(X) == model.predict(X)).all() and other.most_rows == 30
    with pytest.raises(ValueError, match="most_rows"):
        BnnRegressor(**settings, most_rows=20).fit(X, y)


def test_a_run_that_has_not_converged_warns_with_the_verdict(wave, short):
    with pytest.warns(NotConvergedWarning) as warned:
        model = BnnRegressor(**short).fit(*wave)
    assert issubclass(NotConvergedWarning, ConvergenceWarning)
    assert [str(warning.message) for warning in warned] == [str(model.verdict_)]
    assert warned[0].filename == __file__
    assert not model.converged_ and not model.verdict_.converged
    assert str(model.verdict_).startswith("not converged")


def test_a_run_that_has_converged_does_not_warn(wave):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BnnRegressor(hidden=(), warmup=500, draws=1000, random_state=1).fit(*wave)
    assert model.converged_ and model.verdict_.outcome == "Converged"
    found = model.diagnostics_
    assert found["max_rhat"] < 1.01 and found["min_ess_bulk"] > 400 and found["divergences"] == 0
    assert len(found["accept_rate"]) == 4 and found["chains_apart"] < 0.1
    assert set(found["groups"]) == {"predictions", "log likelihood", "log prior"}
    lines = model.recipe_.splitlines()
    assert lines[0].split() == ["response", "`y1`,", "real"]
    run = "4 chains of 500 iterations of warm-up and 1000 draws, seed 1"
    assert lines[-1].split(maxsplit=1) == ["run", run]


def test_an_ensemble_says_that_it_is_no_posterior(wave, tmp_path):
    settings = {"hidden": (4,), "method": "ensemble", "random_state": 1, "folder": tmp_path / "run"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BnnRegressor(chains=3, warmup=60, draws=20, **settings).fit(*wave)
    assert model.verdict_.outcome == "Ensemble" and not model.converged_
    assert "not the posterior" in str(model.verdict_)
    loaded = BnnRegressor.load(tmp_path / "run")
    assert (loaded.method, loaded.chains, loaded.warmup) == ("ensemble", 3, 60)
    assert (loaded.predict(wave[0]) == model.predict(wave[0])).all()
    with pytest.raises(ValueError, match="at least 2 for an ensemble"):
        BnnRegressor(chains=1, method="ensemble").fit(*wave)


def test_a_single_chain_has_no_rhat(wave, short):
    model = BnnRegressor(**{**short, "chains": 1}).fit(*wave)
    assert np.isnan(model.diagnostics_["max_rhat"]) and not model.converged_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"hidden": (5, 0)},
            r"`hidden` is \(5, 0\), but must be a sequence of whole numbers from 1",
        ),
        ({"hidden": 5}, "`hidden` is 5, but must be a sequence"),
        ({"hidden": (2.5,)}, r"`hidden` is \(2\.5,\), but"),
        (
            {"activation": "tan"},
            "there is no activation named `tan`; there are: `identity`, `sigmoid`, `tanh`, `relu`",
        ),
        ({"activation": None}, "`activation` is None, but must be a name in text"),
        (
            {"weight_prior": "ridge"},
            "no weight prior named `ridge`; there are: `fan_in`, `ard`, `horseshoe`, `scales`",
        ),
        ({"weight_prior": -1.0}, "-1, but must be"),
        (
            {"weight_prior": True},
            "`weight_prior` is True, but must be a name, a standard deviation, or None",
        ),
        (
            {"noise": "poisson"},
            "no noise named `poisson`; there are: `gaussian`, `heteroscedastic`, `student_t`, "
            "`heteroscedastic_student_t`, `beta`",
        ),
        (
            {"response_transform": "sqrt"},
            "no transform named `sqrt`; there are: `log`, `box_cox`, `yeo_johnson`",
        ),
        ({"response_transform": 2}, "`response_transform` is 2, but must be"),
        (
            {"method": "gibbs"},
            "no method named `gibbs`; there are: `nuts`, `mams`, `collapsed`, `tempered`",
        ),
        ({"method": "collapsed", "hidden": ()}, "`hidden` is 0, but must be 1 or more"),
        (
            {"target_accept": 1},
            "`target_accept` is 1, but must be a number between 0 and 1, or None",
        ),
        ({"target_accept": float("nan")}, "`target_accept` is nan, but must be"),
        ({"target_accept": "0.9"}, "`target_accept` is '0.9', but must be"),
        ({"hidden": (10**30,)}, "`hidden` is .*, but must be a sequence"),
        ({"verbose": "no"}, "`verbose` is 'no', but must be True or False or a callable"),
        ({"folder": 3}, "`folder` is 3, but must be a path, or None"),
        ({"folder": ""}, "`folder` is '', but must be a path, or None"),
        ({"chains": 0}, "`chains` is 0, but must be a whole number from 1"),
        ({"chains": "4"}, "`chains` is '4', but must be a whole number"),
        ({"warmup": -1}, "`warmup` is -1, but must be a whole number from 0"),
        ({"draws": True}, "`draws` is True, but must be a whole number from 1"),
        ({"draws": 10**12}, "draws"),
        ({"random_state": -1}, "`random_state` is -1, but must be a whole number from 0"),
        ({"random_state": "one"}, "cannot be used to seed"),
        ({"most_rows": 1}, "`most_rows` is 1, but must be a whole number from 2"),
        ({"most_rows": 2.5}, "`most_rows` is 2.5, but must be"),
        ({"n_jobs": 0}, "`n_jobs` is 0, but must be a whole number from 1 to 4096"),
        ({"n_jobs": 10**9}, "`n_jobs` is 1000000000, but must be"),
    ],
)
def test_settings_out_of_range_name_the_setting_the_value_and_what_is_allowed(
    wave, short, settings, message
):
    model = BnnRegressor(**{**short, **settings})
    with pytest.raises(ValueError, match=message):
        model.fit(*wave)
    assert not hasattr(model, "verdict_")


def test_the_step_size_suits_the_acceptance_that_is_asked_for(wave, short):
    X, y = wave

    def fitted(method, target_accept):
        settings = {"method": method, "target_accept": target_accept, "warmup": 300, "draws": 200}
        return BnnRegressor(**{**short, **settings}).fit(X, y)

    for method, default in (("collapsed", 0.9), ("nuts", 0.8)):
        usual, low, high = (fitted(method, target) for target in (None, 0.5, 0.99))
        # Smaller steps: more of them to each trajectory.
        assert high.diagnostics_["gradients"] > 1.3 * low.diagnostics_["gradients"]
        assert "0.99" in high.recipe_ and "0.99" not in usual.recipe_
        assert (fitted(method, default).predict(X) == usual.predict(X)).all()
        if method == "collapsed":  # NUTS rejects nothing.
            assert np.mean(usual.diagnostics_["accept_rate"]) == pytest.approx(default, abs=0.07)
            assert np.mean(high.diagnostics_["accept_rate"]) > 0.94


def test_noises_of_counts_are_others(wave, short):
    with pytest.raises(ValueError, match="there are: `negative_binomial`, `poisson`"):
        BnnCounts(**{**short, "noise": "gaussian"}).fit(wave[0], np.ones(150))


def test_shares_and_classes_in_order(wave, short):
    X, y = wave
    shares = 1 / (1 + np.exp(-(y - y.mean()) / y.std()))
    model = BnnRegressor(**{**short, "noise": "beta"}).fit(X, shares)
    mean, lower, upper = model.predict(X, interval=0.9)
    assert np.corrcoef(mean, shares)[0, 1] > 0.5
    assert lower.min() > 0 and upper.max() < 1
    with pytest.raises(ValueError, match="row 3, column `y1`: 1 is no share"):
        BnnRegressor(**{**short, "noise": "beta"}).fit(X, np.r_[shares[:2], 1, shares[3:]])
    grades = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3])) + 8  # As text, 10 would be before 8.
    model = BnnClassifier(**{**short, "noise": "ordinal"}).fit(X, grades.astype(str))
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (150, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(X, grades.astype(str)) > 0.4
    with pytest.raises(ValueError, match="no noise named `beta`; there are: `ordinal`"):
        BnnClassifier(**{**short, "noise": "beta"}).fit(X, grades)


def test_classes_in_the_order_of_categories(wave, short, tmp_path):
    pd = pytest.importorskip("pandas", reason="categories are those of pandas")
    X, y = wave
    codes = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    names = ["poor", "fair", "good"]
    grades = pd.Series(pd.Categorical.from_codes(codes, names, ordered=True))
    settings = {**short, "noise": "ordinal", "warmup": 200}
    model = BnnClassifier(**settings).fit(X, grades)
    assert model.classes_.tolist() == ["fair", "good", "poor"] and model._inner == names
    # The same numbers as of the codes, whose order is the same.
    of_codes = BnnClassifier(**settings).fit(X, codes).predict_proba(X)
    assert (model.predict_proba(X)[:, [2, 0, 1]] == of_codes).all()
    model.save(tmp_path / "run")
    again = BnnClassifier.load(tmp_path / "run")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    (tmp_path / "run" / "estimator.json").unlink()
    again = BnnClassifier.load(tmp_path / "run")
    assert again._inner == names
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert (again.predict(X) == model.predict(X)).all()


def test_a_response_that_is_constant_is_refused(wave, short):
    with pytest.raises(ValueError, match=r"column `y1`: constant \(1\) over all 150 rows"):
        BnnRegressor(**short).fit(wave[0], np.ones(150))
    with pytest.raises(ValueError, match="y has one class, `a`: at least 2 classes are needed"):
        BnnClassifier(**short).fit(wave[0], ["a"] * 150)


def test_a_fit_that_fails_leaves_none(wave, short):
    X, y = wave
    model = BnnRegressor(**short).fit(X, y)
    with pytest.raises(ValueError, match="constant"):
        model.fit(X, np.ones(150))
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(X)


def test_other_threads_of_python_run_meanwhile(wave, short):
    ticks, done = 0, threading.Event()

    def tick():
        nonlocal ticks
        while not done.wait(0.01):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.perf_counter()
    BnnRegressor(**{**short, "warmup": 4000}).fit(*wave)
    took, counted = time.perf_counter() - began, ticks
    done.set()
    thread.join()
    assert took > 0.2, "the run is too short to tell"
    # A hundred in a second, if the machine has nothing else to do.
    assert counted > 10 * took


# A process in the background may have been started to ignore the signal.
SCRIPT = """
import signal
import sys
import numpy as np
from bnn_mcmc import BnnRegressor
signal.signal(signal.SIGINT, signal.default_int_handler)
X = np.linspace(-2, 2, 200)[:, None]
y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=200)
model = BnnRegressor(hidden=(20,), random_state=1, {settings})
print("begin", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", hasattr(model, "verdict_"), flush=True)
print(model.set_params(warmup=10, draws=10, folder=None).fit(X, y).predict(X).shape)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
def test_ctrl_c_ends_a_run(tmp_path):
    script = SCRIPT.format(settings="warmup=100_000_000")
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script], stdout=subprocess.PIPE, text=True
    ) as run:
        # A run that does not end is a failure, not a test without end.
        limit = threading.Timer(60, run.kill)
        limit.start()
        try:
            assert run.stdout.readline() == "begin\n"
            time.sleep(0.3)
            run.send_signal(signal.SIGINT)
            sent = time.monotonic()
            assert run.stdout.readline() == "interrupted False\n"
            assert time.monotonic() - sent < 5
            assert run.stdout.read() == "(200,)\n"
            assert run.wait() == 0
        finally:
            limit.cancel()
            run.kill()


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
def test_a_run_in_a_folder_goes_on_after_ctrl_c(tmp_path, wave, short):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    X, y = wave
    settings = {**short, "warmup": 5000, "draws": 100}
    whole = BnnRegressor(**settings).fit(X, y)
    folder = tmp_path / "run"

    def interrupt():
        while not folder.exists():
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt) as ended:
        BnnRegressor(**settings, folder=folder).fit(X, y)
    assert ended.value.__notes__ == [
        f"the run was ended in its warm-up, and all of it is kept in the folder `{folder}`: the "
        "same call of fit goes on from there"
    ]
    assert (folder / "checkpoint").exists() and not (folder / "draws.zarr").exists()
    with pytest.raises(ValueError, match="the run is not finished"):
        BnnRegressor.load(folder)
    assert (BnnRegressor(**settings, folder=folder).fit(X, y).predict(X) == whole.predict(X)).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked as on POSIX systems")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_after_a_run_can_predict(wave, short):
    model = BnnRegressor(**{**short, "n_jobs": 2}).fit(*wave)
    expected = model.predict(wave[0])
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, pickle.dumps(float(model.predict(wave[0]).sum())))
        os._exit(0)
    assert pickle.loads(os.read(read, 1000)) == expected.sum()
    assert os.waitpid(child, 0)[1] == 0

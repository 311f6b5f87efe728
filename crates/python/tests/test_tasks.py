"""Chains as tasks of joblib: the draws of one process, whatever becomes of workers."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from bnn_mcmc import BnnClassifier, BnnRegressor, NotConvergedWarning
from joblib import parallel_config

SETTINGS = {"model": "network", "hidden": (8,), "chains": 4, "warmup": 200, "draws": 150}


def table(rows=80):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=rows),
            "b": rng.choice(["x", "y", "z"], size=rows),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(rows), unit="D"),
        }
    )
    return X, np.sin(2 * X["a"]) + 0.3 * (X["b"] == "x") + 0.1 * rng.normal(size=rows)


def draws_of(model):
    posterior = model.to_datatree()["posterior"].to_dataset()
    return {name: values.to_numpy() for name, values in posterior.data_vars.items()}


def same(a, b):
    ours, theirs = draws_of(a), draws_of(b)
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        assert (values == theirs[name]).all(), name


@pytest.fixture(autouse=True)
def unconverged():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        yield


def test_chains_of_loky_are_those_of_one_process(tmp_path):
    X, y = table()
    alone = BnnRegressor(**SETTINGS, random_state=1).fit(X, y)
    with parallel_config("loky"):
        tasks = BnnRegressor(**SETTINGS, random_state=1, n_jobs=2).fit(X, y)
    same(tasks, alone)
    assert (tasks.predict(X, interval=0.9)[1] == alone.predict(X, interval=0.9)[1]).all()
    classes = np.where(y > 0.2, "high", "low")
    alone = BnnClassifier(**SETTINGS, random_state=1).fit(X, classes)
    folder = tmp_path / "run"
    with parallel_config("loky", n_jobs=2):
        tasks = BnnClassifier(**SETTINGS, random_state=1, n_jobs=None, folder=folder).fit(
            X, classes
        )
        same(tasks, alone)
        # It is finished, and loaded.
        begun = time.monotonic()
        again = BnnClassifier(**SETTINGS, random_state=1, n_jobs=None, folder=folder).fit(
            X, classes
        )
        assert time.monotonic() - begun < 5
    same(again, alone)
    same(BnnClassifier.load(folder), alone)


def test_threads_are_no_tasks():
    X, y = table()
    alone = BnnRegressor(**SETTINGS, random_state=1).fit(X, y)
    with parallel_config("threading", n_jobs=2):
        same(BnnRegressor(**SETTINGS, random_state=1, n_jobs=None).fit(X, y), alone)


def test_a_fit_that_tasks_cannot_make_is_made_in_one_process():
    X, y = table(30)
    settings = {**SETTINGS, "model": None, "hidden": (3,), "warmup": 20, "draws": 20}
    with parallel_config("loky"), pytest.warns(UserWarning, match="give `model` and `draws`"):
        BnnRegressor(**settings, random_state=1).fit(X, y)


def test_finished_parts_of_another_fit_are_refused(tmp_path):
    X, y = table()
    folder = tmp_path / "run"
    with parallel_config("loky"):
        BnnRegressor(**SETTINGS, random_state=1, n_jobs=2, folder=folder).fit(X, y)
        for whole in ("fit.json", "draws.zarr"):
            found = folder / whole
            assert found.exists()
        (folder / "fit.json").unlink()
        with pytest.raises(ValueError, match="random_state"):
            BnnRegressor(**SETTINGS, random_state=2, n_jobs=2, folder=folder).fit(X, y)


def test_what_a_chain_refuses_is_said_once():
    X, y = table()
    with parallel_config("loky"), pytest.raises(ValueError, match="poisson"):
        BnnRegressor(**SETTINGS, noise="poisson").fit(X, y)


def kill_soon(pids, after=2.0):
    """Kills one of these processes when they have begun, and tells which."""
    killed = []

    def kill():
        deadline = time.monotonic() + 60
        while not (found := pids()) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(after)
        os.kill(found[0], signal.SIGKILL)
        killed.append(found[0])

    thread = threading.Thread(target=kill)
    thread.start()
    return thread, killed


LONG = {**SETTINGS, "hidden": (20,), "warmup": 400, "draws": 200, "method": "nuts"}


def test_a_worker_of_loky_that_dies_costs_its_chain():
    psutil = pytest.importorskip("psutil")

    def workers():
        children = psutil.Process().children()
        return [one.pid for one in children if "loky.backend.popen" in " ".join(one.cmdline())]

    X, y = table()
    alone = BnnRegressor(**LONG, random_state=2).fit(X, y)
    with parallel_config("loky"):
        thread, killed = kill_soon(workers)
        tasks = BnnRegressor(**LONG, random_state=2, n_jobs=2).fit(X, y)
        thread.join()
    assert killed
    same(tasks, alone)


def test_dask_with_a_worker_that_dies():
    distributed = pytest.importorskip("distributed")
    X, y = table()
    alone = BnnRegressor(**LONG, random_state=2).fit(X, y)
    with (
        distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        parallel_config("dask"),
    ):
        workers = lambda: [w.process.pid for w in cluster.workers.values() if w.process.pid]  # noqa: E731
        thread, killed = kill_soon(workers)
        tasks = BnnRegressor(**LONG, random_state=2, n_jobs=-1).fit(X, y)
        thread.join()
    assert killed
    same(tasks, alone)

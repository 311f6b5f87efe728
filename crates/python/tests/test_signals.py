"""SIGTERM and SIGHUP during a fit; Ctrl-C is in `test_run.py`."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from bnn_mcmc import BnnRegressor

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")

# A process in the background may have been started to ignore the signals.
SCRIPT = """
import signal
import sys
import numpy as np
from bnn_mcmc import BnnRegressor
for name in ("SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
{before}
X = np.linspace(-2, 2, {rows})[:, None]
y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size={rows})
model = BnnRegressor(random_state=1, chains=2, n_jobs=2, {settings})
print("begin", flush=True)
{call}
print("after", flush=True)
"""
CALL = "model.fit(X, y)"
LONG = "hidden=(5,), warmup=5, draws=1_000_000"
SLOW = "hidden=(400, 400), method='nuts', warmup=1000"


def wait_for(pid, number):
    """Waits until a process has a handler for a signal, or ignores it, where the system says so.

    It has none before its fit samples.
    """
    status = Path(f"/proc/{pid}/status")
    for _ in range(1000 if status.exists() else 0):
        masks = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        if any(int(masks[name], 16) >> (number - 1) & 1 for name in ("SigCgt", "SigIgn")):
            return
        time.sleep(0.02)


def run(settings, *signals, before="", call=CALL, delay=0.5, rows=200):
    """The code, output and errors of a program that is sent `signals` in its fit, and the seconds
    that it took to end after the last one. A second one is sent once the first is answered.
    """
    script = SCRIPT.format(before=before, settings=settings, call=call, rows=rows)
    program = [sys.executable, "-W", "ignore", "-c", script]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        # A run that does not end is a failure, not a test without end.
        limit = threading.Timer(120, process.kill)
        limit.start()
        try:
            assert process.stdout.readline() == "begin\n"
            wait_for(process.pid, signal.SIGTERM)
            time.sleep(delay)
            answers = ""
            for i, number in enumerate(signals):
                if i > 0:
                    answers += process.stderr.readline()
                process.send_signal(number)
            sent = time.monotonic()
            out, errors = process.communicate()
            return process.returncode, out, answers + errors, time.monotonic() - sent
        finally:
            limit.cancel()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_fit_with_its_code_and_says_that_nothing_is_kept(number):
    code, out, errors, _ = run(LONG, number)
    assert (code, out) == (128 + number, "")
    lines = errors.splitlines()
    assert lines[0] == (
        f"bnn-mcmc: {number.name}: stopping after the step that each chain is in; once more to end "
        "at once"
    )
    assert lines[1].startswith("bnn-mcmc: the run was ended after ")
    assert lines[1].endswith(
        " of 1000000 draws of each chain, and nothing is kept: with the setting `folder` the same "
        "call of fit would go on from there"
    )
    assert len(lines) == 2


@pytest.mark.parametrize("delay", [0.05, 0.4, 1.2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_run_in_a_folder_goes_on_to_the_same_numbers(tmp_path, number, delay):
    settings = "hidden=(20,), warmup=200, draws={draws}, folder=r'{folder}'"
    folder = tmp_path / "run"
    before = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    long = settings.format(draws=500_000, folder=folder)
    code, out, errors, _ = run(long, number, before=before, delay=delay)
    expected = -number if number == signal.SIGINT else 128 + number
    assert (code, out) == (expected, ""), errors
    kept = f"all of it is kept in the folder `{folder}`: the same call of fit goes on from there"
    assert kept in errors
    # With fewer draws than were made the run ends there.
    X = np.linspace(-2, 2, 200)[:, None]
    y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=200)
    settings = {"hidden": (20,), "warmup": 200, "draws": 300, "chains": 2, "random_state": 1}
    goes_on = BnnRegressor(**settings, folder=folder).fit(X, y)
    assert (goes_on.predict(X) == BnnRegressor(**settings).fit(X, y).predict(X)).all()


def test_a_second_signal_ends_at_once():
    # A gradient takes about a second: the run does not end before the second signal.
    code, out, errors, took = run(SLOW, signal.SIGTERM, signal.SIGTERM, rows=150_000)
    assert (code, out) == (-signal.SIGTERM, "")
    assert "once more to end at once" in errors and "the run was ended" not in errors
    assert took < 2


def test_handlers_of_the_user_are_called_and_kept():
    before = """
def mine(number, frame):
    print("mine", flush=True)
    raise RuntimeError("mine")
signal.signal(signal.SIGTERM, mine)
"""
    call = f"""
try:
    {CALL}
except RuntimeError as error:
    print(error, getattr(error, "__notes__", None) is not None, hasattr(model, "verdict_"))
assert signal.getsignal(signal.SIGTERM) is mine
"""
    code, out, errors, _ = run(LONG, signal.SIGTERM, before=before, call=call)
    assert (code, out) == (0, "mine\nmine True False\nafter\n"), errors


def test_ignored_signals_stay_ignored():
    before = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    settings = "hidden=(20,), warmup=5, draws=20_000"
    call = f"{CALL}\nassert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN"
    code, out, errors, _ = run(settings, signal.SIGHUP, before=before, call=call, delay=0.2)
    assert (code, out) == (0, "after\n"), errors


def test_what_a_signal_does_is_as_before_after_a_fit(wave, short):
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    BnnRegressor(**short).fit(*wave)
    with pytest.raises(ValueError, match="constant"):
        BnnRegressor(**short).fit(wave[0], np.ones(150))
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before


def test_a_fit_on_another_thread_sets_no_handler(wave, short):
    found = []

    def fit():
        found.append(BnnRegressor(**short).fit(*wave).predict(wave[0]))

    thread = threading.Thread(target=fit)
    thread.start()
    thread.join()
    assert (found[0] == BnnRegressor(**short).fit(*wave).predict(wave[0])).all()


def test_the_exception_can_be_caught():
    call = f"""
try:
    {CALL}
except SystemExit as end:
    print(end.code, end.__notes__[0].startswith("the run was ended after "))
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""
    code, out, errors, _ = run(LONG, signal.SIGTERM, call=call)
    assert (code, out) == (0, "143 True\nafter\n"), errors

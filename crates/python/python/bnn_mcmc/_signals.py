"""SIGTERM and SIGHUP during a fit: as Ctrl-C, with the signal's code at the end.

They are what Slurm, Kubernetes, systemd, `docker stop` and `timeout` send.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn


class Terminated(SystemExit):
    """Ends the process with the code of a signal, 128 and its number, unless it is caught."""


@contextmanager
def heard() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP raise `Terminated`, once: a second one ends the process.

    Signals that are ignored, as under `nohup`, or have a handler of the user's, are left alone.
    Python lets its main thread alone set handlers: in others nothing changes.
    """
    ours: list[signal.Signals] = []

    def terminate(number: int, _frame: FrameType | None) -> NoReturn:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)
        name = signal.Signals(number).name
        note(f"{name}: stopping after the step that each chain is in; once more to end at once")
        raise Terminated(128 + number)

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            one = getattr(signal, name, None)
            if one is not None and signal.getsignal(one) is signal.SIG_DFL:
                ours.append(one)
    try:
        for one in ours:
            signal.signal(one, terminate)
        yield
    finally:
        for one in ours:
            if signal.getsignal(one) is terminate:
                signal.signal(one, signal.SIG_DFL)


def note(text: str) -> None:
    """A line to the standard error, if there is one."""
    with suppress(AttributeError, OSError, ValueError):
        print(f"bnn-mcmc: {text}", file=sys.stderr, flush=True)

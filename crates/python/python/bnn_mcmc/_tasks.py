"""Chains as tasks of joblib, on the backend that the caller has chosen."""

import io
import json
import os
import pickle
import shutil
import tarfile
import tempfile
import warnings
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ._native import Fit

if TYPE_CHECKING:
    from ._native import Settings

# The chains of a fit that is asked for no number of them.
CHAINS = 4
# How often chains are begun whose workers die.
ATTEMPTS = 4


def are_asked_for(settings: "Settings") -> bool:
    """Whether chains are to be tasks: in a context that has chosen a backend of other processes,
    unless the fit is in its folder already.
    """
    backend: Any = get_active_backend()[0]
    # Without a context each call makes another one.
    is_chosen = get_active_backend()[0] is backend
    if not is_chosen or getattr(backend, "uses_threads", False) or backend.nesting_level:
        return False
    if settings["folder"] and (Path(settings["folder"]) / "fit.json").exists():
        return False
    if settings["model"] is None or settings["draws"] is None or settings["impute"] is not None:
        warnings.warn(
            "the fit is made in one process, whatever the backend of `joblib.parallel_config`: for "
            "chains as its tasks give `model` and `draws`, which tasks cannot choose together, and "
            "no `impute`",
            stacklevel=5,
        )
        return False
    return True


def of_tasks(rows: tuple[Any, ...], settings: "Settings", n_jobs: int | None) -> Fit:
    """The fit whose chains are tasks."""
    chains = settings["chains"] or CHAINS
    settings = {**settings, "chains": chains}
    of_part: Settings = {
        **settings,
        "folder": None,
        "verbose": False,
        "progress": None,
        "threads": 1,
    }
    with _folder(settings["folder"]) as folder:
        for i in range(chains):
            if _is_finished(_part(folder, i)):
                # Of the same fit, or it is refused before others run.
                own: Settings = {**of_part, "folder": folder, "only_chains": (i, i + 1)}
                Fit(*rows, settings=own)
        for attempt in range(1, ATTEMPTS + 1):
            pending = [i for i in range(chains) if not _is_finished(_part(folder, i))]
            tasks = [delayed(run_chain)(rows, of_part, i) for i in pending]
            with closing(_results(tasks, n_jobs)) as results:
                while True:
                    try:
                        done = next(results, None)
                    except (ValueError, TypeError, pickle.PicklingError):
                        raise
                    except Exception:
                        # Of the backend: a worker is gone. Chains that have arrived are kept.
                        if attempt == ATTEMPTS:
                            raise
                        break
                    if done is None:
                        return Fit.merge(folder, settings["threads"])
                    i, part = done
                    if isinstance(part, Exception):
                        raise part
                    _unpack(part, _part(folder, i))
    raise AssertionError("the last attempt ends in one way or the other")


def _results(tasks: list[Any], n_jobs: int | None) -> Generator[Any, None, None]:
    """What tasks return, as it comes in where the backend allows it; closed, they end."""
    backend, _ = get_active_backend()
    streams = getattr(backend, "supports_return_generator", False)
    results: Any = Parallel(n_jobs=n_jobs, return_as="generator_unordered" if streams else "list")(
        tasks
    )
    try:
        yield from results
    finally:
        if streams:
            with warnings.catch_warnings():
                # That tasks were cancelled, which is what is wanted.
                warnings.simplefilter("ignore", UserWarning)
                results.close()


def run_chain(
    rows: tuple[Any, ...], settings: "Settings", chain: int
) -> tuple[int, bytes | Exception]:
    """A chain in a folder of this machine: its number, and the folder as an archive."""
    with tempfile.TemporaryDirectory() as folder:
        own: Settings = {**settings, "folder": folder, "only_chains": (chain, chain + 1)}
        try:
            Fit(*rows, settings=own)
        except Exception as error:
            return chain, error
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.add(_part(Path(folder), chain), arcname=".")
        return chain, archive.getvalue()


def _part(folder: Path, chain: int) -> Path:
    return folder / f"chains-{chain}..{chain + 1}"


def _is_finished(part: Path) -> bool:
    try:
        saved = json.loads((part / "fit.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(saved.get("finished"))


def _unpack(archive: bytes, part: Path) -> None:
    """Unpacks a part, which then is there as a whole."""
    new = part.with_name(f".{part.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(new, filter="data")
    shutil.rmtree(part, ignore_errors=True)
    os.replace(new, part)


@contextmanager
def _folder(folder: str | PathLike[str] | None) -> Iterator[Path]:
    """The folder of the fit, which is made, or one that is removed."""
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary)
    else:
        Path(folder).mkdir(parents=True, exist_ok=True)
        yield Path(folder)

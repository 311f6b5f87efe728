"""Chains as tasks of joblib, on the backend that the caller has chosen."""

import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ._native import Fit

if TYPE_CHECKING:
    from ._native import Settings

# The rows of a fit, by their response.
Kind: TypeAlias = Literal["numbers", "classes", "times"]

# The chains of a fit that is asked for no number of them.
CHAINS = 4
# How often workers may die before a fit fails.
ATTEMPTS = 4


def begun(kind: Kind, rows: tuple[Any, ...], settings: "Settings") -> Fit:
    """The fit of these rows, in this process."""
    return cast("Fit", getattr(Fit, kind)(*rows, settings))


def are_asked_for(settings: "Settings") -> bool:
    """Whether chains are to be tasks: in a context that has chosen a backend of other processes,
    unless the fit is in its folder already.
    """
    backend, _ = get_active_backend()
    # Without a context each call makes another one.
    is_chosen = get_active_backend()[0] is backend
    if not is_chosen or backend.uses_threads or backend.nesting_level:
        return False
    lacking = [name for name in ("model", "draws") if settings[name] is None]  # type: ignore[literal-required]
    if lacking or settings["impute"] is not None:
        raise ValueError(
            "in a `joblib.parallel_config` with a backend of processes each chain is a task: give "
            "`model` and `draws`, since tasks cannot choose them together, and no `impute`; or "
            'take the backend "threading"'
        )
    return not (settings["folder"] and (Path(settings["folder"]) / "fit.json").exists())


def of_tasks(kind: Kind, rows: tuple[Any, ...], settings: "Settings", n_jobs: int | None) -> Fit:
    """The fit whose chains are tasks."""
    chains = settings["chains"] or CHAINS
    settings = {**settings, "chains": chains}
    of_part = {**settings, "folder": None, "verbose": False, "progress": None, "threads": 1}
    with _folder(settings["folder"]) as folder:
        for attempt in range(1, ATTEMPTS + 1):
            pending = [i for i in range(chains) if not _is_finished(_part(folder, i))]
            try:
                tasks = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
                    delayed(run_chain)(kind, rows, of_part, i) for i in pending
                )
                for i, part in tasks:
                    if isinstance(part, Exception):
                        raise _Refused(part)
                    _unpack(part, _part(folder, i))
                break
            except _Refused as refused:
                raise refused.args[0] from None
            except Exception:
                # Of the backend: a worker is gone. Chains that have arrived are kept.
                if attempt == ATTEMPTS:
                    raise
        return Fit.merge(folder, settings["threads"])


class _Refused(Exception):
    """An error of a chain, which others would have, too."""


def run_chain(
    kind: Kind, rows: tuple[Any, ...], settings: "Settings", chain: int
) -> tuple[int, bytes | Exception]:
    """A chain in a folder of this machine: its number, and the folder as an archive."""
    with tempfile.TemporaryDirectory() as folder:
        own: Settings = {**settings, "folder": folder, "only_chains": (chain, chain + 1)}
        try:
            begun(kind, rows, own)
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

"""Fits as bytes, for pickles, joblib and whatever else copies estimators between processes.

A pickle can hold any program: load only pickles that you trust. `save` and `load` of an estimator
write and read a folder of JSON, CSV and Zarr, which is safe to load from others.
"""

import copyreg
import io
import tempfile
import zipfile
from pathlib import Path

from ._native import Fit


def unpacked(archive: bytes) -> Fit:
    """The fit that `packed` made an archive of."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            files.extractall(folder)
        return Fit.load(folder, 1)


def packed(fit: Fit) -> tuple[object, tuple[bytes]]:
    """The folder that a fit is saved to, as an archive. One fit always has the same bytes.

    Another run with the same seed has others, since the times that it took are kept, too.
    """
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory() as parent, zipfile.ZipFile(buffer, "w") as files:
        folder = Path(parent) / "fit"
        fit.save_unflushed(folder, 1)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                name = zipfile.ZipInfo(path.relative_to(folder).as_posix())
                files.writestr(name, path.read_bytes())
    return unpacked, (buffer.getvalue(),)


copyreg.pickle(Fit, packed)  # type: ignore[arg-type]

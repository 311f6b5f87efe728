"""Opens the Zarr folders that the crate writes with xarray and ArviZ, and compares every number with what Rust wrote
beside them as raw bytes. Warnings are errors.

    ZARR_FOLDER=/tmp/zarr cargo test --release -p bnn-mcmc-tests --test run zarr::folders_for_python -- --ignored
    python tests/golden/zarr_check.py /tmp/zarr

ArviZ 1 reads by `arviz.from_zarr`; 0.23 through `xarray.open_datatree` and `arviz.from_datatree`.
"""

import json
import sys
import warnings
from pathlib import Path

import arviz
import numpy as np
import xarray
import zarr

folder = Path(sys.argv[1])
# What a newer NumPy or Python says of these libraries is no matter of the files.
warnings.simplefilter("error")


def opened(path):
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_zarr(path)
    return xarray.open_datatree(path, engine="zarr")


numbers = arrays = 0
for expected in sorted(folder.glob("*.json")):
    tree = opened(expected.with_suffix(".zarr"))
    root = zarr.open_group(expected.with_suffix(".zarr"), mode="r")
    checked = set()
    for entry in json.loads(expected.read_text()):
        group, name = entry["place"].split("/")
        checked.add(entry["place"])
        array = tree[group][name]
        if "labels" in entry:
            assert list(array.values) == entry["labels"], entry
            arrays += 1
            continue
        kind, shape = np.dtype(entry["kind"]), tuple(entry["shape"])
        want = np.fromfile(folder / entry["file"], kind).reshape(shape)
        for values in (array.values, root[entry["place"]][...]):
            assert values.dtype == kind, (entry["place"], values.dtype)
            assert values.shape == shape, (entry["place"], values.shape)
            assert values.tobytes() == want.tobytes(), entry["place"]
        assert list(array.dims) == entry["dims"], (array.dims, entry["dims"])
        numbers += want.size
        arrays += 1
    every = {f"{group.name}/{name}" for group in tree.children.values() for name in group.data_vars}
    assert all(place.split("/")[0] in tree.children for place in checked)
    left = {place for place in every - checked if not place.startswith("sample_stats/")}
    assert not left, left

# Coordinates by name, and what ArviZ makes of the draws.
tree = opened(folder / "classes.zarr")
w0 = tree["posterior"]["w0"]
assert w0.sel(w0_dim_1="β/γ").shape == (2, 20, 3)
assert (w0.sel(w0_dim_1="β/γ").values == w0.values[..., 1]).all()
assert tree["sample_stats"]["diverging"].dtype == bool
assert tree["observed_data"]["species"].attrs["class_names"] == ["low", "mid", "héigh"]
assert tree["posterior"].attrs["inference_library"] == "bnn-mcmc"
odd = opened(folder / "odd.zarr")
assert odd["posterior"]["%CE%B2"].attrs["long_name"] == "β"
killed = opened(folder / "killed.zarr")["posterior"]["q"].values
assert np.isnan(killed[1, 7:]).all() and np.isnan(killed[2]).all()
assert np.isfinite(killed[0]).all() and np.isfinite(killed[1, :7]).all()
warnings.simplefilter("default")
# A fit, in own units: what ArviZ makes of its log likelihood is what the crate says of leave-one-out.
fit = opened(folder / "fit.zarr")
assert 250 < float(fit["posterior_predictive"]["strength"].mean()) < 350
is_new = int(arviz.__version__.split(".")[0]) >= 1
own = [float(number) for number in (folder / "fit.loo").read_text().split()]
if is_new:
    loo = arviz.loo(fit, reff=1.0)
    theirs, tolerance = (loo.elpd, loo.se, loo.p), 1e-9
else:
    # It rounds the length of the tail up, and divides by n where others divide by n - 1.
    loo = arviz.loo(arviz.from_datatree(fit), reff=1.0)
    n = fit["observed_data"].sizes["row"]
    theirs, tolerance = (loo.elpd_loo, loo.se * np.sqrt(n / (n - 1)), loo.p_loo), 1e-2
for a, b in zip(own, theirs):
    assert abs(a - b) < tolerance * (1 + abs(b)), (own, theirs)
print(f"leave-one-out: {own} here, {[float(number) for number in theirs]} in ArviZ")
# The draws of a run alone: nothing is taken for the log likelihood of single rows.
alone = opened(folder / "run.zarr")
try:
    arviz.loo(alone if is_new else arviz.from_datatree(alone))
except Exception as error:
    print(f"without log likelihoods of rows: {type(error).__name__}: {error}")
else:
    raise AssertionError("leave-one-out of draws without log likelihoods")
summary = arviz.summary(tree if int(arviz.__version__.split(".")[0]) >= 1 else arviz.convert_to_inference_data(tree["posterior"].to_dataset()))
assert len(summary) == 21, len(summary)
print(
    f"{numbers} numbers of {arrays} arrays equal to the bit: arviz {arviz.__version__}, xarray {xarray.__version__}, "
    f"zarr {zarr.__version__}, numpy {np.__version__}, python {sys.version.split()[0]}"
)

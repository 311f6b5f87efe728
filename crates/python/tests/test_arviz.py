"""Draws for ArviZ."""

import numpy as np
import pytest
from bnn_mcmc import BnnRegressor

az = pytest.importorskip("arviz", reason="ArviZ is not installed")
pytest.importorskip("zarr", reason="draws are read by zarr, which is not installed")


@pytest.fixture
def model(wave, short):
    return BnnRegressor(**{**short, "chains": 4}).fit(*wave)


def test_all_groups_are_in_memory(model, wave):
    tree = model.to_datatree()
    groups = {
        "posterior",
        "sample_stats",
        "posterior_predictive",
        "log_likelihood",
        "observed_data",
        "constant_data",
    }
    assert set(tree.children) == groups
    assert all(np.isfinite(values).all() for values in tree["sample_stats"].data_vars.values())
    assert (tree["observed_data"]["y1"] == wave[1]).all()
    assert (tree["constant_data"]["x"] == wave[0]).all()


def test_attributes_are_those_that_netcdf_has(model):
    def is_plain(value):
        several = value if isinstance(value, (list, tuple)) else [value]
        return all(isinstance(one, (str, int, float, np.ndarray)) for one in several)

    for group in model.to_datatree().subtree:
        for one in [group, *group.variables.values()]:
            assert all(is_plain(value) for value in one.attrs.values()), one.attrs


def test_arviz_agrees_about_rhat_and_ess(model):
    """Of the log likelihood, by ArviZ's own code."""
    tree = model.to_datatree()
    own = model.diagnostics_["groups"]["log likelihood"]
    drawn = tree["sample_stats"]["joint_log_likelihood"].values
    assert float(az.rhat(drawn)) == pytest.approx(own["max_rhat"], rel=1e-6)
    assert float(az.ess(drawn, method="bulk")) == pytest.approx(own["min_ess_bulk"], rel=1e-6)


def test_arviz_summarises_and_compares(model):
    tree = model.to_datatree()
    data = az.from_datatree(tree) if hasattr(az, "from_datatree") else tree
    assert "log_noise_variance" in az.summary(data, var_names=["log_noise_variance"]).index
    loo = az.loo(data)
    assert np.isfinite(loo.elpd if hasattr(loo, "elpd") else loo.elpd_loo)

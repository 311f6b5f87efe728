"""Data and settings of the tests."""

import os
import warnings

# Without it scikit-learn leaves out its check of arrays of other libraries.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest
from bnn_mcmc import NotConvergedWarning
from sklearn.datasets import load_diabetes

# A run of a fraction of a second, far too short to converge.
SHORT = {"hidden": (5,), "chains": 2, "warmup": 60, "draws": 50, "random_state": 1, "n_jobs": 1}


@pytest.fixture(scope="session")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture
def short():
    """Short runs, whose warnings are not of interest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        yield SHORT


@pytest.fixture(scope="session")
def wave():
    """A wave with noise of sd 0.5, and a feature that does not matter: X, y."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 2))
    return X, 10 + 3 * np.sin(X[:, 0]) + 0.5 * rng.normal(size=150)

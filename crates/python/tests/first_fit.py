"""What a new user does first, where nothing but the package is installed."""

import sys
import tempfile
from pathlib import Path

import numpy as np
from bnn_mcmc import BnnRegressor, __version__

X = np.random.default_rng(0).normal(size=(60, 2))
y = 3 + 2 * X[:, 0]
model = BnnRegressor(hidden=(), chains=2, draws=200, random_state=0).fit(X, y)
assert abs(model.predict(X) - y).max() < 0.1
assert model.plot_checks()[0].svg.startswith("<svg")
with tempfile.TemporaryDirectory() as folder:
    model.report(Path(folder) / "report.html")
print(f"bnn-mcmc {__version__} in Python {sys.version.split()[0]}")

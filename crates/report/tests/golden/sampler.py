"""Golden numbers of figures of samplers, for tests/figures/sampler.rs.

usage: python3 tests/golden/sampler.py > tests/golden/sampler.json    (with numpy, scipy and arviz)
"""
import json
import sys
import warnings

import numpy as np
from scipy import stats

warnings.filterwarnings("ignore")
import arviz as az

rng = np.random.default_rng(3)
CHAINS, DRAWS = 3, 150


def silverman(values):
    return 0.9 * min(values.std(ddof=1), np.subtract(*np.percentile(values, [75, 25])) / 1.34) * len(values) ** (-0.2)


def density(values):
    width = silverman(values)
    grid = np.linspace(values.min() - 4 * width, values.max() + 4 * width, 201)[::25]
    kernel = stats.gaussian_kde(values, bw_method=width / values.std(ddof=1))
    return {"x": grid.tolist(), "y": kernel(grid).tolist()}


energy = np.empty((CHAINS, DRAWS))
energy[:, 0] = 0
for t in range(1, DRAWS):
    energy[:, t] = [0.2, 0.5, 0.95] * energy[:, t - 1] + rng.normal(size=CHAINS)
energy = np.round(energy + np.array([[100.0], [101.0], [99.0]]), 6)
divergent = (rng.uniform(size=(CHAINS, 1000)) < [[0.0], [0.01], [0.05]]).astype(int)
depth = rng.integers(2, 7, size=(CHAINS, DRAWS))
steps = 2 ** rng.integers(0, 9, size=(CHAINS, DRAWS)) - 1

json.dump(
    {
        "energy": energy.tolist(),
        "ebfmi": az.bfmi(energy).tolist(),
        "levels": density((energy - energy.mean(axis=1, keepdims=True)).ravel()),
        "changes": density(np.diff(energy, axis=1).ravel()),
        "divergent": divergent.tolist(),
        "cumulated": np.cumsum(divergent, axis=1).tolist(),
        "depth": depth.tolist(),
        "depth_shares": [[float(np.mean(c == d)) for d in range(2, 7)] for c in depth],
        "steps": steps.tolist(),
        # From 2^k to 2^(k + 1); 0 counts as 1.
        "steps_shares": [np.histogram(np.maximum(c, 1), 2.0 ** np.arange(0, 9))[0].tolist() for c in steps],
    },
    sys.stdout,
)

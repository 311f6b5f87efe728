"""Golden R-hats of many parameters and their quartiles, for tests/figures/rhat.rs.

usage: python3 tests/golden/rhat.py > tests/golden/rhat.json    (with numpy and arviz)
"""
import json
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")
import arviz as az

rng = np.random.default_rng(2)
# [chain, draw, parameter]: the chains of later parameters lie farther apart.
draws = rng.normal(size=(3, 40, 24)) + rng.normal(size=(3, 1, 24)) * np.linspace(0, 1.5, 24)
draws = np.round(draws, 6)
rhat = np.array([float(az.rhat(draws[:, :, p])) for p in range(24)])


def box(values):
    lower, median, upper = np.percentile(values, [25, 50, 75])
    inside = values[(values >= lower - 1.5 * (upper - lower)) & (values <= upper + 1.5 * (upper - lower))]
    return [float(v) for v in (min(inside.min(), lower), lower, median, upper, max(inside.max(), upper))]


json.dump(
    {
        "draws": draws.tolist(),
        "rhat": rhat.tolist(),
        "boxes": [box(rhat[:15]), box(rhat[15:20]), box(rhat[20:])],
        "above": int(np.sum(rhat > 1.01)),
    },
    sys.stdout,
)

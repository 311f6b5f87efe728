"""Golden values of nested R-hat from arviz-stats 1.3, for tests/inference/diagnostics.rs.

usage: python3 tests/golden/rhat_nested.py > tests/golden/rhat_nested.json

Each case holds its draws [superchain][chain][draw], rounded, and what arviz-stats gives.
"""
import json

import arviz_stats
import numpy as np
from arviz_stats.base import array_stats as az

assert arviz_stats.__version__.startswith("1.3."), arviz_stats.__version__
rng = np.random.default_rng(20261122)
normal = rng.standard_normal
shifted = normal((3, 4, 9)) + np.array([0.0, 0.0, 2.0])[:, None, None]
scaled = normal((3, 3, 10)) * np.array([1.0, 4.0, 1.0])[:, None, None]
cases = {
    "independent": normal((4, 5, 8)),
    "one chain each": normal((5, 1, 20)),
    "odd": normal((3, 2, 7)),
    "shifted": shifted,
    "scaled": scaled,
    "cauchy": rng.standard_cauchy((4, 4, 6)),
    "ties": rng.poisson(2.0, (3, 3, 8)).astype(float),
    "two": normal((2, 2, 4)),
    "chains that differ within": normal((3, 3, 6)) + 3.0 * normal((3, 3, 1)),
}
out = []
for name, draws in cases.items():
    draws = np.round(draws, 4)
    superchains, chains, n = draws.shape
    ids = np.repeat(np.arange(superchains), chains)
    rhat = float(az.rhat_nested(draws.reshape(-1, n), ids))
    out.append({"name": name, "draws": draws.tolist(), "rhat_nested": rhat})
print(json.dumps(out))

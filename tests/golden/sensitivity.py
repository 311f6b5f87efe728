"""Golden values of power-scaling sensitivity from arviz-stats 0.8, for tests/inference/sensitivity.rs.

usage: python3 tests/golden/sensitivity.py > tests/golden/sensitivity.json

Ten posteriors of a mean under a normal or a Cauchy prior; the test computes the same draws. Each has, for the mean, its
exponential and its square, the sensitivities to the prior and to the likelihood.
"""
import json
import math
import sys

import arviz_stats
import numpy as np
from arviz_stats.base import array_stats
from congruential import Uniform

assert arviz_stats.__version__.startswith("0.8."), arviz_stats.__version__


# Prior (scale, and whether it is Cauchy), mean and number of the data, chains, draws, autocorrelation.
MODELS = [
    (1.0, False, 0.3, 40, 4, 250, 0.0),
    (1.0, False, 3.0, 10, 4, 250, 0.5),
    (0.2, False, 0.9, 4, 4, 500, 0.3),
    (0.5, False, -2.0, 2, 2, 300, 0.8),
    (1.0, True, 0.1, 25, 4, 250, 0.2),
    (1.0, True, 5.0, 3, 4, 400, 0.6),
    (0.1, True, 1.5, 8, 3, 333, 0.9),
    (10.0, False, 0.0, 1, 4, 100, 0.4),
    (0.05, False, 0.02, 1, 1, 700, 0.1),
    (2.0, True, -1.0, 100, 5, 120, 0.7),
]


def draws(number, model):
    scale, is_cauchy, mean, n, chains, draws, phi = model
    # The normal approximation of the posterior: weights need no exact one.
    precision = n + 1.0 / scale**2
    centre, sd = mean * n / precision, 1.0 / math.sqrt(precision)
    uniform = Uniform(101 + number)
    q = np.zeros((chains, draws))
    for chain in range(chains):
        z = uniform.normal()
        for draw in range(draws):
            z = phi * z + math.sqrt(1.0 - phi * phi) * uniform.normal()
            q[chain, draw] = centre + sd * z
    t = q / scale
    log_prior = -np.log1p(t * t) if is_cauchy else -0.5 * t * t
    return q, log_prior, -0.5 * n * (q - mean) ** 2


def sensitivity(values, log_density):
    weights = []
    for alpha in (0.99, 1.01):
        w = np.exp(array_stats.power_scale_lw(log_density, alpha=alpha, axis=(0, 1)))
        weights.append(w / w.sum())
    return float(array_stats.power_scale_sense(values, *weights, 0.99, 1.01))


found = []
for number, model in enumerate(MODELS):
    q, log_prior, log_likelihood = draws(number, model)
    values = (q, np.exp(q), q * q)
    found.append(
        {
            "model": model,
            "sum": float(q.sum()),
            "prior": [sensitivity(v, log_prior) for v in values],
            "likelihood": [sensitivity(v, log_likelihood) for v in values],
        }
    )
json.dump({"arviz_stats": arviz_stats.__version__, "models": found}, sys.stdout, indent=1)
print()

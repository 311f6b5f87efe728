"""The simultaneous band of an empirical distribution function, by a recursion over binomial counts."""

import json
from pathlib import Path

import numpy as np
from scipy.stats import binom

POINTS = 100


def bounds(n, gamma):
    z = np.arange(1, POINTS + 1) / POINTS
    return binom.ppf(gamma / 2, n, z).astype(int), binom.ppf(1 - gamma / 2, n, z).astype(int)


def probability(n, low, high):
    """Given k of n values up to z_i, those of the others up to z_{i + 1} are binomial."""
    counts, state = np.array([0]), np.array([1.0])
    for i in range(POINTS):
        share = 1 / (POINTS - i)
        after = np.arange(low[i], high[i] + 1)
        steps = binom.pmf(after[:, None] - counts[None, :], n - counts[None, :], share)
        counts, state = after, steps @ state
    return state.sum()


golden = []
for n, level in [(5, 0.95), (20, 0.95), (50, 0.5), (100, 0.9), (392, 0.99), (1000, 0.95)]:
    gamma, above = 0.0, 1.0
    for _ in range(30):
        between = (gamma + above) / 2
        if probability(n, *bounds(n, between)) >= level:
            gamma = between
        else:
            above = between
    low, high = bounds(n, gamma)
    golden.append(
        {
            "n": n,
            "level": level,
            "probability": probability(n, low, high),
            "low": low.tolist(),
            "high": high.tolist(),
        }
    )
Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")

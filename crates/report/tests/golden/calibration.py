"""Bands of histograms, reliability curves and coverage, and distribution functions."""

import json
from pathlib import Path

import numpy as np
from scipy.stats import binom

rng = np.random.default_rng(3)
u = rng.beta(0.7, 0.8, size=400).round(6)
z = np.arange(1, 101) / 100


def interval(n, p):
    return [binom.ppf(0.025, n, p) / n, binom.ppf(0.975, n, p) / n]


# lower, upper, rows, confidence, accuracy
bins = [
    [0.4, 0.5, 7, 0.46, 3 / 7],
    [0.6, 0.7, 31, 0.655, 20 / 31],
    [0.7, 0.8, 40, 0.76, 25 / 40],
    [0.9, 1.0, 122, 0.97, 120 / 122],
]
golden = {
    "u": u.tolist(),
    "histogram": (np.histogram(u, bins=20, range=(0, 1))[0] / 400).tolist(),
    "each_bar": interval(400, 1 / 20),
    "difference": ((u[:, None] <= z).mean(axis=0) - z).tolist(),
    "bins": bins,
    "each_bin": [interval(b[2], b[3]) for b in bins],
    "ece": sum(b[2] * abs(b[4] - b[3]) for b in bins) / sum(b[2] for b in bins),
    "each_level": [interval(90, k / 20) for k in range(1, 20)],
    "left_out": [float(np.mean(np.abs(u - 0.5) <= k / 40)) for k in range(1, 20)],
    "each_left_out": [interval(400, k / 20) for k in range(1, 20)],
}
Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")

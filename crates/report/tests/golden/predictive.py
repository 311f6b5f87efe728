"""Smooth curves and averages of posterior means and intervals along an input and the first principal component."""

import json
from pathlib import Path

import numpy as np
from scipy import stats

rng = np.random.default_rng(7)
n, features, chains, draws = 90, 3, 2, 40
x = rng.normal(size=(n, 1)) * [1.0, 2.0, 0.5] + rng.normal(size=(n, features)) * 0.4 + [0, 5, -1]
x = x.round(3)
w = np.array([1.0, -0.5, 2.0])
q = (np.append(w, 0.3) + 0.2 * rng.normal(size=(chains, draws, features + 1))).round(4)
y = (x @ w + 0.3 + rng.normal(size=n)).round(3)
means = (np.einsum("cdk,nk->cdn", q[..., :3], x) + q[..., 3:]).reshape(-1, n)

z = (x - x.mean(axis=0)) / x.std(axis=0)
_, singular, right = np.linalg.svd(z, full_matrices=False)
loadings = right[0] * np.sign(right[0][np.argmax(np.abs(right[0]))])
score = z @ loadings


def averages(place, groups):
    """Groups of ceil(n / groups) rows by ascending place; the last may be smaller."""
    order = np.argsort(place, kind="stable")
    size = -(-n // groups)
    parts = [order[k : k + size] for k in range(0, n, size)]
    low, high = np.quantile(means, [0.05, 0.95], axis=0)
    of = lambda values: [values[part].mean() for part in parts]
    return {"x": of(place), "mean": of(means.mean(axis=0)), "low": of(low), "high": of(high)}


def smooth(place):
    """Local linear regression at 61 places, with tricube weights on the nearest half of the rows."""
    grid, k = np.linspace(place.min(), place.max(), 61), -(-n // 2)

    def of(values):
        curve = []
        for at in grid:
            distance = np.abs(place - at)
            near = np.argsort(distance, kind="stable")[:k]
            weight = (1 - (distance[near] / (1.0001 * distance[near].max())) ** 3) ** 3
            design = np.column_stack([np.ones(k), place[near] - at])
            root = np.sqrt(weight)
            solved = np.linalg.lstsq(design * root[:, None], values[near] * root, rcond=None)
            curve.append(np.clip(solved[0][0], values.min(), values.max()))
        return curve

    low, high = np.quantile(means, [0.05, 0.95], axis=0)
    return {
        "x": grid.tolist(),
        "mean": of(means.mean(axis=0)),
        "low": of(low),
        "high": of(high),
        "observed": of(y),
    }


# Quantile residuals: 21 values of a transform, and the band of their order statistics.
k = np.arange(21)
normal = {
    "x": stats.norm.ppf((k + 0.5) / 21).tolist(),
    "low": stats.norm.ppf(stats.beta.ppf(0.025, k + 1, 21 - k)).tolist(),
    "high": stats.norm.ppf(stats.beta.ppf(0.975, k + 1, 21 - k)).tolist(),
}

golden = {
    "x": x.tolist(),
    "y": y.tolist(),
    "q": q.tolist(),
    "share": singular[0] ** 2 / (singular**2).sum(),
    "feature": smooth(x[:, 1]),
    "component": smooth(score),
    "rows": averages(np.arange(n), 200),
    "normal": normal,
}
Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")

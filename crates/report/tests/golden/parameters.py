"""Draws of six parameters, and what numpy and scipy say of them."""

import json
from pathlib import Path

import numpy as np
from scipy.stats import gaussian_kde, norm, rankdata

CHAINS, DRAWS = 4, 150
rng = np.random.default_rng(1)
common = rng.normal(size=(CHAINS, DRAWS, 1))
values = rng.normal(size=(CHAINS, DRAWS, 6)) * [1, 2, 0.5, 1, 3, 1] + [0, 5, -1, 0, 0, 0]
values[..., :2] += 1.5 * common
values[..., 3] -= 4 * common[..., 0]
# Of the last parameter the chains disagree, and its tails are long.
values[..., 5] = np.exp(values[..., 5]) + np.arange(CHAINS)[:, None]
values = values.round(4)
flat = values.reshape(-1, 6)


def rhat(draws):
    """Of split chains, by ranks: the larger of bulk and tail (Vehtari et al. 2021)."""

    def of(x):
        half = np.concatenate([x[:, : DRAWS // 2], x[:, DRAWS // 2 :]])
        z = norm.ppf((rankdata(half).reshape(half.shape) - 0.375) / (half.size + 0.25))
        n = z.shape[1]
        between, within = n * z.mean(axis=1).var(ddof=1), z.var(axis=1, ddof=1).mean()
        return np.sqrt((between / within + n - 1) / n)

    return max(of(draws), of(np.abs(draws - np.median(draws))))


def box(x):
    lower, median, upper = np.quantile(x, [0.25, 0.5, 0.75])
    inside = x[(x >= lower - 1.5 * (upper - lower)) & (x <= upper + 1.5 * (upper - lower))]
    return {
        "quartiles": [lower, median, upper],
        # Not inside the box, as matplotlib's.
        "whiskers": [min(inside.min(), lower), max(inside.max(), upper)],
        "outliers": len(x) - len(inside),
    }


def density(x, at):
    """Gaussian kernels with the bandwidth of Silverman's eq. 3.31."""
    iqr = np.subtract(*np.quantile(x, [0.75, 0.25]))
    h = 0.9 * min(x.std(ddof=1), iqr / 1.34) * len(x) ** -0.2
    return gaussian_kde(x, bw_method=h / x.std(ddof=1))(at)


width = 2 * np.subtract(*np.quantile(flat[:, 5], [0.75, 0.25])) * len(flat) ** (-1 / 3)
bins = int(np.clip(np.ceil(np.ptp(flat[:, 5]) / width), 10, 80))
heights, edges = np.histogram(flat[:, 5], bins=bins, density=True)
grid = np.linspace(-4, 4, 9)
few = [[0.0, 1.0, 1.0, 9.0], [0.0, 1.0, 2.0, 3.0, 100.0], [-7.0, 1.0, 1.0, 2.0], [4.0]]
golden = {
    "few": [{"values": x, **box(np.array(x))} for x in few],
    "values": values.tolist(),
    "quantiles": np.quantile(flat, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0).T.tolist(),
    "by_chain": np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95], axis=1).transpose(1, 2, 0).tolist(),
    "rhat": [rhat(values[..., i]) for i in range(6)],
    "correlation": np.corrcoef(flat.T).tolist(),
    "boxes": [box(flat[:, i]) for i in range(6)],
    "density": {"x": grid.tolist(), "of_first": density(flat[:, 0], grid).tolist()},
    "histogram_of_last": {"edges": edges.tolist(), "heights": heights.tolist()},
}
Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")

"""Golden numbers of figures of chains, for tests/figures/chains.rs.

usage: python3 tests/golden/chains.py > tests/golden/chains.json    (with numpy, scipy and arviz)

Four autocorrelated chains, the last one shifted. Ranks are those of scipy, effective sample sizes and standard
errors those of arviz, the rest is numpy. Bands: of two chains the coverage of a band is exact, by recursion along the
counts of the first chain; of four chains the level is from shuffled labels.
"""
import json
import sys
import warnings

import numpy as np
from scipy import stats

warnings.filterwarnings("ignore")
import arviz as az

rng = np.random.default_rng(1)
CHAINS, DRAWS, BINS = 4, 200, 20


def autoregressive():
    x = np.empty((CHAINS, DRAWS))
    x[:, 0] = rng.normal(size=CHAINS)
    for t in range(1, DRAWS):
        x[:, t] = 0.6 * x[:, t - 1] + 0.8 * rng.normal(size=CHAINS)
    x[3] += 0.8
    return np.round(x, 6)


def points(chains, draws):
    parts = max(2, min(draws, 100, max(10, 400 // chains)))
    return [(k * chains * draws + parts // 2) // parts for k in range(1, parts)]


def counts_below(x, at):
    ranks = stats.rankdata(x).reshape(x.shape)
    return [[int(np.sum(chain <= t)) for t in at] for chain in ranks]


def tail(count, total, draws, t):
    return np.minimum(
        1, 2 * np.minimum(stats.hypergeom.cdf(count, total, draws, t), stats.hypergeom.sf(count - 1, total, draws, t))
    )


def exact_bands(draws, highest):
    """Of two chains: all levels from 0.003 to the highest, the ends of their bands, and the exact coverage."""
    total, at = 2 * draws, points(2, draws)
    tails = [tail(np.arange(draws + 1), total, draws, t) for t in at]
    levels = sorted({float(p) for row in tails for p in np.round(row, 12) if 0.003 < p < highest})
    bands = []
    for level in levels:
        alive, low, high, before = {0: 1.0}, [], [], 0
        for row, t in zip(tails, at):
            inside = np.flatnonzero(row >= level - 1e-10)
            low.append(int(inside[0]))
            high.append(int(inside[-1]))
            following = {}
            for count, p in alive.items():
                taken = stats.hypergeom(total - before, draws - count, t - before)
                for extra in range(t - before + 1):
                    # The other chain has the rest, whose tail probability is the same by symmetry.
                    if low[-1] <= count + extra <= high[-1] and low[-1] <= t - count - extra <= high[-1]:
                        following[count + extra] = following.get(count + extra, 0) + p * taken.pmf(extra)
            alive, before = following, t
        bands.append({"level": level, "coverage": float(sum(alive.values())), "low": low, "high": high})
    return {"draws": draws, "at": at, "bands": bands}


def simulated_level(chains, draws, repeats=20000):
    total, at = chains * draws, points(chains, draws)
    tails = np.array([tail(np.arange(draws + 1), total, draws, t) for t in at])
    labels = np.repeat(np.arange(chains), draws)
    smallest = np.empty(repeats)
    for r in range(repeats):
        shuffled = rng.permutation(labels)
        counts = np.cumsum(shuffled[None, :] == np.arange(chains)[:, None], axis=1)[:, np.array(at) - 1]
        smallest[r] = np.min(tails[np.arange(len(at))[None, :], counts])
    return float(np.quantile(smallest, 0.05))


def main():
    x = autoregressive()
    ranks = stats.rankdata(x).reshape(x.shape)
    bins = np.linspace(0, x.size, BINS + 1)
    effective = sorted(
        min(float(az.ess(chain[None], method="bulk")), float(az.ess(chain[None], method="tail"))) for chain in x
    )
    thinning = 1
    while thinning < DRAWS / effective[CHAINS // 2]:
        thinning *= 2
    thinned = x[:, ::thinning]
    at = points(CHAINS, thinned.shape[1])

    first = x[0]
    width = 0.9 * min(first.std(ddof=1), np.subtract(*np.percentile(first, [75, 25])) / 1.34) * DRAWS ** (-0.2)
    grid = np.linspace(first.min() - 4 * width, first.max() + 4 * width, 201)
    kernel = stats.gaussian_kde(first, bw_method=width / first.std(ddof=1))

    centred = x - x.mean(axis=1, keepdims=True)
    autocorrelation = [
        [float(np.sum(c[: DRAWS - lag] * c[lag:]) / np.sum(c * c)) for lag in range(21)] for c in centred
    ]
    shares = [k * DRAWS // 10 for k in range(1, 11)]
    ends = [4 + k * (DRAWS - 4) // 196 for k in range(197)]
    json.dump(
        {
            "draws": x.tolist(),
            "rank_counts": [np.histogram(r - 0.5, bins)[0].tolist() for r in ranks],
            "thinning": thinning,
            "at": at,
            "counts": counts_below(thinned, at),
            "density": {"x": grid[::25].tolist(), "y": kernel(grid[::25]).tolist()},
            "autocorrelation": autocorrelation,
            "ess_bulk": [float(az.ess(x[:, :n], method="bulk")) for n in shares],
            "ess_tail": [float(az.ess(x[:, :n], method="tail")) for n in shares],
            "running_at": ends,
            "running_mean": [[float(c[:n].mean()) for n in ends] for c in x],
            "mean": float(x.mean()),
            "mcse": float(az.mcse(x, method="mean")),
            "exact": [exact_bands(20, 0.08), exact_bands(60, 0.02)],
            "simulated": [{"chains": c, "draws": n, "level": simulated_level(c, n)} for c, n in [(3, 50), (4, 100)]],
        },
        sys.stdout,
    )


main()

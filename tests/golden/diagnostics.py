"""Golden values of the diagnostics from arviz-stats 0.8.0, for tests/diagnostics.rs.

usage: python3 tests/golden/diagnostics.py > tests/golden/diagnostics.json

Each case holds its input array [chain][draw] (rounded, to keep the file small) and what
`arviz_stats.base.array_stats` gives for it; null stands for NaN, the string "inf" for infinity.
`mcse_sd` is the only value that is not ArviZ's own: the crate divides by the effective sample size
of (x - mean)^2 where arviz-stats 0.8 takes that of x, so that its value is rescaled here by the
root of the ratio of the two.
"""
import json
import sys
import warnings

import arviz_stats
import numpy as np
from arviz_stats.base import array_stats as az

assert arviz_stats.__version__ == "0.8.0", arviz_stats.__version__
warnings.simplefilter("ignore")
np.seterr(all="ignore")
rng = np.random.default_rng(20240611)


def ar1(chains, draws, phi):
    x = rng.standard_normal((chains, draws))
    for t in range(1, draws):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi**2) * x[:, t]
    return x


def metropolis(chains, draws):
    """A random walk on a normal target: rejections repeat draws, which ties their ranks."""
    x = np.zeros((chains, draws))
    state = rng.standard_normal(chains)
    for t in range(draws):
        proposal = state + 2.4 * rng.standard_normal(chains)
        accept = np.log(rng.random(chains)) < 0.5 * (state**2 - proposal**2)
        state = np.where(accept, proposal, state)
        x[:, t] = state
    return x


shifted = ar1(4, 100, 0.5)
shifted[2] += 1.5
scaled = ar1(4, 100, 0.3)
scaled[1] *= 4
constants = np.repeat(np.arange(4.0)[:, None], 100, axis=1)
one_stuck = ar1(4, 60, 0.2)
one_stuck[3] = 0.25
drift = ar1(3, 120, 0.4) + np.linspace(0, 5, 120)
cases = {
    "independent": ar1(4, 100, 0.0),
    "ar 0.5": ar1(4, 100, 0.5),
    "ar 0.9": ar1(4, 250, 0.9),
    "ar 0.99": ar1(2, 300, 0.99),
    "ar 0.9, longer than one transform": ar1(2, 1500, 0.9),
    "antithetic": ar1(4, 100, -0.7),
    "cauchy": rng.standard_cauchy((4, 120)),
    "metropolis with ties": metropolis(4, 150),
    "poisson": rng.poisson(3.0, (4, 100)).astype(float),
    "coin": rng.integers(0, 2, (3, 80)).astype(float),
    "odd": ar1(3, 101, 0.6),
    "odd metropolis": metropolis(3, 77),
    "one chain": ar1(1, 200, 0.5),
    "two chains": ar1(2, 150, 0.5),
    "seven chains": ar1(7, 40, 0.5),
    "shifted": shifted,
    "scaled": scaled,
    "drift": drift,
    "one stuck": one_stuck,
    "far from 0": 1e6 + ar1(4, 80, 0.5),
    "tiny": 1e-6 * ar1(4, 80, 0.5),
    "all equal": np.full((4, 100), 0.5),
    "constant chains": constants,
    "alternating": np.tile([1.0, -1.0], (4, 50)),
    "too short": ar1(4, 3, 0.0),
    "with nan": np.where(np.arange(40).reshape(2, 20) == 7, np.nan, ar1(2, 20, 0.3)),
    "infinite draws": np.where(np.arange(160).reshape(4, 40) % 50 == 7, np.inf, ar1(4, 40, 0.3)),
}
for n in (4, 5, 6, 7, 8, 9, 10, 11, 13):
    cases[f"{n} draws"] = ar1(4, n, 0.2)
    cases[f"{n} draws, one chain"] = ar1(1, n, 0.2)


def per_chain_ess(x):
    """n s^2 / sigma^2 with Geyer's initial monotone sequence, by sums; the mean over chains."""
    values = []
    for chain in x:
        n = len(chain)
        if n < 4 or np.isnan(x).any():
            return np.nan
        d = chain - chain.mean()
        acov = np.array([d[: n - t] @ d[t:] / n for t in range(n)])
        sigma, previous = -acov[0], np.inf
        for t in range(0, n - 1, 2):
            pair = acov[t] + acov[t + 1]
            if pair <= 0:
                break
            previous = min(previous, pair)
            sigma += 2 * previous
        values.append(n / max(sigma / chain.var(ddof=1), 1 / np.log10(n)))
    return float(np.mean(values))


def evaluate(x):
    ess = lambda method, **kw: az.ess(x, method=method, **kw)
    mcse = lambda method, **kw: az.mcse(x, method=method, **kw)
    return {
        "rhat": az.rhat(x, method="rank"),
        "rhat_rank": az.rhat(x, method="z_scale"),
        "rhat_folded": az.rhat(x, method="folded"),
        "rhat_split": az.rhat(x, method="split"),
        "rhat_base": az.rhat(x, method="identity"),
        "ess_bulk": ess("bulk"),
        "ess_tail": ess("tail", prob=(0.05, 0.95)),
        "ess_mean": ess("mean"),
        "ess_sd": ess("sd"),
        "ess_median": ess("median"),
        "ess_quantile_0.3": ess("quantile", prob=0.3),
        "ess_local_0.2_0.4": ess("local", prob=(0.2, 0.4)),
        "ess_per_chain": per_chain_ess(x),
        "mcse_mean": mcse("mean"),
        "mcse_sd": mcse("sd") * np.sqrt(ess("mean") / ess("sd")),
        "mcse_median": mcse("median"),
        "mcse_quantile_0.1": mcse("quantile", prob=0.1),
        "mean": x.mean(),
        "sd": x.std(ddof=1),
        "q05": az.quantile(x.ravel(), 0.05),
        "q50": az.quantile(x.ravel(), 0.5),
        "q95": az.quantile(x.ravel(), 0.95),
    }


def plain(v):
    v = float(v)
    return None if np.isnan(v) else ("inf" if v > 0 else "-inf") if np.isinf(v) else v


out = []
for name, x in cases.items():
    scale = 1e-6 if name == "tiny" else 1.0
    x = np.array([[float(f"{v:.10g}") if name == "far from 0" else round(v / scale, 5) * scale
                   for v in c] for c in x])
    if name == "tiny":
        x = np.array([[float(f"{v:.6g}") for v in c] for c in x])
    acov = az.autocov(x[:1])[0, :5] if x.shape[1] < 2000 else []
    out.append({"name": name, "draws": [[plain(v) for v in c] for c in x],
                "values": {k: plain(v) for k, v in evaluate(x).items()},
                "autocov": [plain(v) for v in acov],
                "autocorr": [plain(v) for v in az.autocorr(x[:1])[0, :5]]})
sys.stdout.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in out) + "\n]\n")

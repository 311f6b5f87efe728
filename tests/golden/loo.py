"""Golden values of PSIS-LOO from ArviZ 1.3, for tests/inference/loo.rs.

usage: python3 tests/golden/loo.py > tests/golden/loo.json

Log likelihoods are computed by a formula that the test repeats; `sum` says whether it did. Each model holds what
`arviz_stats` gives for a relative efficiency of 1, of 0.6, and, as `rows`, of each row's own likelihood
(`ess(method="mean", relative=True)` of exp(log likelihood - largest)). `short` is of the first 50 draws of each chain. `compare` is for a relative efficiency of 1; its `dse` is not
ArviZ' own, which divides by n where its `se`, the crate and the R package loo divide by n - 1: it is rescaled here.
"""
import json
import math
import sys
import warnings

import arviz
import arviz_base
import arviz_stats
import numpy as np
from arviz_stats.base import array_stats
from congruential import Uniform

assert arviz.__version__.startswith("1.3."), arviz.__version__
warnings.simplefilter("ignore")
CHAINS, DRAWS, ROWS = 4, 250, 12


def chains(seed, phi):
    uniform = Uniform(seed)
    q = np.zeros((CHAINS, DRAWS))
    for chain in range(CHAINS):
        z = uniform.normal()
        for draw in range(DRAWS):
            z = phi * z + math.sqrt(1.0 - phi * phi) * uniform.normal()
            q[chain, draw] = z
    return q


def normal(y, mu, sd):
    return -0.5 * ((y - mu) / sd) ** 2 - math.log(sd) - 0.5 * math.log(2.0 * math.pi)


def log_likelihood(model):
    # Rows further out are harder; the last ones are outliers of the second model.
    y = [0.4 * (i - 5.5) for i in range(ROWS)]
    q = chains(17, 0.5)
    result = np.zeros((CHAINS, DRAWS, ROWS))
    for (chain, draw), z in np.ndenumerate(q):
        for i in range(ROWS):
            if model == "well specified":
                value = normal(y[i], 0.3 * z, 1.0)
            elif model == "outliers":
                value = normal(1.5 * y[i], 0.5 * z, 0.7)
            else:
                value = -math.log(math.pi) - math.log(1.0 + (y[i] - z * z * z) ** 2)
            result[chain, draw, i] = value
    return result


def pointwise(elpd, k, p):
    n = len(elpd)
    return {
        "elpd": float(np.sum(elpd)),
        "se": float(np.sqrt(n * np.var(elpd, ddof=1))),
        "p": float(np.sum(p)),
        "k": [float(x) for x in k],
        "elpd_i": [float(x) for x in elpd],
    }


models, loos = [], {}
for name in ["well specified", "outliers", "cauchy"]:
    log_lik = log_likelihood(name)
    tree = arviz_base.from_dict(
        {"posterior": {"q": chains(17, 0.5)}, "log_likelihood": {"y": log_lik}}
    )
    values = {}
    for reff in [1.0, 0.6]:
        loo = arviz_stats.loo(tree, pointwise=True, reff=reff)
        values[str(reff)] = {
            "elpd": float(loo.elpd),
            "se": float(loo.se),
            "p": float(loo.p),
            "k": loo.pareto_k.values.tolist(),
            "elpd_i": loo.elpd_i.values.tolist(),
        }
        if reff == 1.0:
            loos[name] = loo
    rows = []
    for i in range(ROWS):
        likelihood = np.exp(log_lik[:, :, i] - np.max(log_lik[:, :, i]))
        reff = array_stats.ess(likelihood, method="mean", relative=True).item()
        elpd, k, p = array_stats.loo(log_lik[:, :, i], r_eff=reff)
        rows.append((float(reff), float(elpd), float(k), float(p)))
    values["rows"] = pointwise(*(np.array([row[j] for row in rows]) for j in [1, 2, 3]))
    values["rows"]["reff"] = [row[0] for row in rows]
    models.append({"name": name, "sum": float(log_lik.sum()), "good_k": float(loo.good_k), "values": values})

# 200 draws, of which the tail is a fifth.
short = arviz_stats.loo(
    arviz_base.from_dict(
        {"posterior": {"q": chains(17, 0.5)[:, :50]}, "log_likelihood": {"y": log_likelihood("outliers")[:, :50]}}
    ),
    pointwise=True,
    reff=1.0,
)
short = {
    "elpd": float(short.elpd),
    "good_k": float(short.good_k),
    "k": short.pareto_k.values.tolist(),
    "elpd_i": short.elpd_i.values.tolist(),
}
table = arviz_stats.compare(loos, round_to="none")
compare = [
    {"name": name, "elpd_diff": float(row["elpd_diff"]), "dse": float(row["dse"]) * math.sqrt(ROWS / (ROWS - 1))}
    for name, row in table.iterrows()
]
json.dump(
    {"arviz": arviz.__version__, "arviz_stats": arviz_stats.__version__, "models": models, "short": short, "compare": compare},
    sys.stdout,
    indent=1,
)
print()

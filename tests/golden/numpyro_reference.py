"""Posterior moments from NumPyro's NUTS, for tests/numpyro_reference.rs.

usage: python3 tests/golden/numpyro_reference.py > tests/golden/numpyro_reference.json

Needs numpyro 0.22.0, jax 0.10.2 and arviz-stats 0.8.0 (float64, CPU; about two minutes).

logistic       ionosphere, all 351 rows, features standardised with the population's standard deviation
               (the constant one becomes 0), y = 1 for class `good`, N(0, 1) priors on the weights and
               the intercept.
eight schools  Rubin, Journal of Educational Statistics 6, 1981, doi:10.3102/10769986006004377, table 1:
               y_j ~ N(theta_j, sigma_j^2), theta_j ~ N(mu, tau^2), mu ~ N(0, 5^2), tau ~ half-Cauchy(0, 5).
               NumPyro samples z_j = (theta_j - mu) / tau. Given tau everything is normal, so that all
               moments are integrals over tau alone: NumPyro's must agree with those, too.

Each quantity has its mean, standard deviation, and the Monte Carlo standard errors of both; that of the
standard deviation divides by the effective sample size of (x - mean)^2, as the crate does.
"""
import csv
import json
import sys
from pathlib import Path

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from arviz_stats.base import array_stats as az
from numpyro.infer import MCMC, NUTS

assert (numpyro.__version__, jax.__version__) == ("0.22.0", "0.10.2"), (numpyro.__version__, jax.__version__)
assert arviz_stats.__version__ == "0.8.0", arviz_stats.__version__
numpyro.enable_x64()

CHAINS, WARMUP, DRAWS = 4, 2_000, 40_000

with open(Path(__file__).parents[2] / "data" / "ionosphere.csv", newline="") as f:
    rows = list(csv.reader(f))[1:]
X = np.array([[float(v) for v in row[:-1]] for row in rows])
GOOD = np.array([float(row[-1] == "good") for row in rows])
assert X.shape == (351, 34) and GOOD.sum() == 225
SD = X.std(axis=0)
assert (SD == 0).sum() == 1
X = (X - X.mean(axis=0)) / np.where(SD > 0, SD, 1.0)

Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SIGMA = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def logistic():
    w = numpyro.sample("w", dist.Normal(0, 1).expand([X.shape[1]]).to_event(1))
    b = numpyro.sample("b", dist.Normal(0, 1))
    numpyro.sample("y", dist.Bernoulli(logits=jnp.asarray(X) @ w + b), obs=jnp.asarray(GOOD))


def eight_schools():
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([8]).to_event(1))
    theta = numpyro.deterministic("theta", mu + tau * z)
    numpyro.sample("y", dist.Normal(theta, jnp.asarray(SIGMA)), obs=jnp.asarray(Y))


def run(model, target_accept, seed, quantities):
    kernel = NUTS(model, target_accept_prob=target_accept)
    mcmc = MCMC(kernel, num_warmup=WARMUP, num_samples=DRAWS, num_chains=CHAINS,
                chain_method="sequential", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(seed))
    draws = quantities({k: np.asarray(v) for k, v in mcmc.get_samples(group_by_chain=True).items()})
    divergences = int(mcmc.get_extra_fields(group_by_chain=True)["diverging"].sum())
    return {
        "target_accept": target_accept,
        "divergences": divergences,
        "max_rhat": max(float(az.rhat(x, method="rank")) for x in draws.values()),
        "min_ess_mean": min(float(az.ess(x, method="mean")) for x in draws.values()),
        "quantities": {name: moments(x) for name, x in draws.items()},
    }


def moments(x):
    squares = (x - x.mean()) ** 2
    m2, m4 = squares.mean(), (squares**2).mean()
    mcse_sd = np.sqrt((m4 - m2**2) / float(az.ess(squares, method="mean")) / m2 / 4)
    values = {
        "mean": x.mean(),
        "sd": x.std(ddof=1),
        "mcse_mean": az.mcse(x, method="mean"),
        "mcse_sd": mcse_sd,
    }
    return {k: float(f"{float(v):.8g}") for k, v in values.items()}


def exact_eight_schools():
    """Mean and sd of each quantity, by the trapezoidal rule over t = log tau, which converges
    exponentially. Given t: y_j ~ N(mu, s_j) with s_j = sigma_j^2 + tau^2, hence mu ~ N(m, v), and
    theta_j = a_j y_j + (1 - a_j) mu + N(0, a_j sigma_j^2), a_j = tau^2 / s_j."""
    t = np.linspace(-40.0, 20.0, 200_001)[:, None]
    tau2 = np.exp(2 * t)
    s = SIGMA**2 + tau2
    v = 1 / (1 / 25 + (1 / s).sum(axis=1, keepdims=True))
    m = v * (Y / s).sum(axis=1, keepdims=True)
    log_p = (t - np.log1p(tau2 / 25) + 0.5 * np.log(v) + 0.5 * m**2 / v
             - 0.5 * (np.log(s) + Y**2 / s).sum(axis=1, keepdims=True))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    a = tau2 / s
    zero = np.zeros_like(t)
    given_t = {"mu": (m, v), "tau": (np.exp(t), zero), "log_tau": (t, zero)}
    for j in range(8):
        a_j = a[:, j : j + 1]
        given_t[f"theta[{j}]"] = (a_j * Y[j] + (1 - a_j) * m, (1 - a_j) ** 2 * v + a_j * SIGMA[j] ** 2)
    exact = {}
    for name, (mean, variance) in given_t.items():
        total = float((p * mean).sum())
        exact[name] = (total, float((p * (variance + (mean - total) ** 2)).sum()) ** 0.5)
    return exact


def logistic_quantities(samples):
    weights = {f"w[0,{j}]": samples["w"][:, :, j] for j in range(X.shape[1])}
    return weights | {"b[0]": samples["b"]}


def school_quantities(samples):
    theta = {f"theta[{j}]": samples["theta"][:, :, j] for j in range(8)}
    return {"mu": samples["mu"], "tau": samples["tau"], "log_tau": np.log(samples["tau"])} | theta


problems = {
    "logistic": run(logistic, 0.8, 1, logistic_quantities),
    "eight_schools": run(eight_schools, 0.99, 2, school_quantities),
}
for name, problem in problems.items():
    print(name, {k: v for k, v in problem.items() if k != "quantities"}, file=sys.stderr)
    assert problem["max_rhat"] < 1.005 and problem["min_ess_mean"] > 20_000 and problem["divergences"] == 0
worst = 0.0
for name, (mean, sd) in exact_eight_schools().items():
    found = problems["eight_schools"]["quantities"][name]
    errors = (found["mean"] - mean) / found["mcse_mean"], (found["sd"] - sd) / found["mcse_sd"]
    worst = max(worst, *map(abs, errors))
    print(f"{name:9} exact mean {mean:.5f} sd {sd:.5f}; NumPyro's errors in standard errors: "
          f"{errors[0]:.2f} {errors[1]:.2f}", file=sys.stderr)
assert worst < 4.5, worst

versions = {"numpyro": numpyro.__version__, "jax": jax.__version__, "arviz_stats": arviz_stats.__version__}
document = {"versions": versions, "chains": CHAINS, "warmup": WARMUP, "draws": DRAWS} | problems
json.dump(document, sys.stdout, indent=1)
print()

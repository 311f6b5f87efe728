"""The densities of `main.rs`, written again: for JAX, for PyMC and in Stan.

Each problem comes from `main.rs` as JSON with data, four starting points, and log densities at 20 points, which `check` compares. The
parameters are a flat vector theta in the order of the crate: weights [outputs, inputs] of each layer, then its biases; log noise variance last.
"""

import math

import numpy as np

NAMES = ["linear", "logistic", "schools", "summers", "classes", "network"]
SIZES = {"linear": (8, 1), "logistic": (34, 1), "classes": (4, 3, 3), "network": (4, 5, 1)}
# The standard deviation of the weights' prior.
PRIOR_SD = {"linear": 5.0, "logistic": 5.0, "classes": 5.0, "network": 1.0}
ROWS = 20  # at which outputs of networks are compared
LOG_ROOT = 0.5 * math.log(2 * math.pi)
SUMMERS = (9.31290322580645, 100.0, 0.0333333333333333)


def forward(np, name, theta, x):
    """The outputs [rows, outputs] of a network or linear model; `np` is a module like NumPy."""
    at, sizes = 0, SIZES[name]
    for layer, (fan_in, fan_out) in enumerate(zip(sizes, sizes[1:])):
        w = theta[at : at + fan_in * fan_out].reshape((fan_out, fan_in))
        at += fan_in * fan_out
        x = np.dot(x, w.T) + theta[at : at + fan_out]
        at += fan_out
        if layer + 2 < len(sizes):
            x = np.tanh(x) if name == "network" else 1 / (1 + np.exp(-x))
    return x


def quantities(name, theta, x):
    """What is compared, for draws theta [draws, parameters]: parameters, or outputs (probabilities of classes) at 20 rows."""
    if name not in ("classes", "network"):
        return theta
    f = np.stack([forward(np, name, q, x[:ROWS]) for q in theta])
    if name == "classes":
        f = np.exp(f - f.max(axis=2, keepdims=True))
        f /= f.sum(axis=2, keepdims=True)
    return f.reshape(len(theta), -1)


def jax_density(name, data):
    """theta -> log density, in JAX."""
    import jax
    import jax.numpy as jnp

    y = jnp.asarray(data["y"])

    def schools(q):
        mu, log_tau, z = q[0], q[1], q[2:]
        tau, sd = jnp.exp(log_tau), jnp.asarray(data["sd"])
        prior = -0.5 * (mu / 5) ** 2 - LOG_ROOT - math.log(5.0)
        prior += math.log(2 / (5 * math.pi)) - jnp.log1p((tau / 5) ** 2) + log_tau
        prior += jnp.sum(-0.5 * z**2 - LOG_ROOT)
        return prior + jnp.sum(-0.5 * ((y - mu - tau * z) / sd) ** 2 - jnp.log(sd) - LOG_ROOT)

    def summers(q):
        mean, sd, beta_sd = SUMMERS
        x = jnp.asarray(data["x"])
        prior = -0.5 * ((q[0] - mean) / sd) ** 2 - 0.5 * (q[1] / beta_sd) ** 2 - 2 * LOG_ROOT - math.log(sd * beta_sd) + q[2]
        return prior + jnp.sum(-0.5 * ((y - q[0] - q[1] * x) * jnp.exp(-q[2])) ** 2 - q[2] - LOG_ROOT)

    def model(q):
        x, sd = jnp.asarray(data["x"]), PRIOR_SD[name]
        weights = q if name in ("logistic", "classes") else q[:-1]
        f = forward(jnp, name, weights, x)
        prior = jnp.sum(-0.5 * (weights / sd) ** 2 - LOG_ROOT - math.log(sd))
        if name == "logistic":
            return prior + jnp.sum(y * f[:, 0] - jnp.logaddexp(0.0, f[:, 0]))
        if name == "classes":
            return prior + jnp.sum(jnp.take_along_axis(jax.nn.log_softmax(f), y.astype(int)[:, None], 1))
        prior += 2 * math.log(0.5) - 2 * q[-1] - 0.5 * jnp.exp(-q[-1])
        return prior + jnp.sum(-0.5 * (y - f[:, 0]) ** 2 * jnp.exp(-q[-1]) - 0.5 * q[-1] - LOG_ROOT)

    return {"schools": schools, "summers": summers}.get(name, model)


def pymc_model(name, data):
    """The model as a user of PyMC writes it, and a function from theta to the starting values of its variables."""
    import pymc as pm
    import pytensor.tensor as pt

    y = np.asarray(data["y"])
    with pm.Model() as model:
        if name == "schools":
            mu = pm.Normal("mu", 0, 5)
            tau = pm.HalfCauchy("tau", 5)
            z = pm.Normal("z", 0, 1, shape=8)
            pm.Normal("y", mu + tau * z, np.asarray(data["sd"]), observed=y)
            starts = lambda q: {"mu": q[0], "tau": np.exp(q[1]), "z": q[2:]}
        elif name == "summers":
            mean, sd, beta_sd = SUMMERS
            alpha = pm.Normal("alpha", mean, sd)
            beta = pm.Normal("beta", 0, beta_sd)
            sigma = pm.HalfFlat("sigma")
            pm.Normal("y", alpha + beta * np.asarray(data["x"]), sigma, observed=y)
            starts = lambda q: {"alpha": q[0], "beta": q[1], "sigma": np.exp(q[2])}
        else:
            n = sum(a * b + b for a, b in zip(SIZES[name], SIZES[name][1:]))
            w = pm.Normal("w", 0, PRIOR_SD[name], shape=n)
            f = forward(pt, name, w, np.asarray(data["x"]))
            if name == "logistic":
                pm.Bernoulli("y", logit_p=f[:, 0], observed=y.astype(int))
                starts = lambda q: {"w": q}
            elif name == "classes":
                pm.Categorical("y", logit_p=f, observed=y.astype(int))
                starts = lambda q: {"w": q}
            else:
                variance = pm.InverseGamma("variance", 2, 0.5)
                pm.Normal("y", f[:, 0], pt.sqrt(variance), observed=y)
                starts = lambda q: {"w": q[:-1], "variance": np.exp(q[-1])}
    return model, starts


# Of the posterior's variables, in the order of theta, with those that are sampled as logarithms.
VARIABLES = {
    "schools": (["mu", "tau", "z"], {"tau"}),
    "summers": (["alpha", "beta", "sigma"], {"sigma"}),
    "logistic": (["w"], set()),
    "classes": (["w"], set()),
    "linear": (["w", "variance"], {"variance"}),
    "network": (["w", "variance"], {"variance"}),
}


def flat(name, posterior):
    """theta [chain, draw, parameter] of an ArviZ posterior."""
    parts = []
    for variable in VARIABLES[name][0]:
        values = np.asarray(posterior[variable], dtype=float)
        values = values.reshape(*values.shape[:2], -1)
        parts.append(np.log(values) if variable in VARIABLES[name][1] else values)
    return np.concatenate(parts, axis=2)


def check(problem, log_density):
    """Compares log densities at the 20 points, to 1e-10."""
    for theta, expected in zip(problem["points"], problem["log_densities"]):
        found = float(log_density(np.asarray(theta)))
        error = abs(found - expected) / max(1.0, abs(expected))
        assert error < 1e-10, f"log density {found}, and ours is {expected}"


STAN = {
    "schools": """
data { vector[8] y; vector[8] sd; }
parameters { real mu; real<lower=0> tau; vector[8] z; }
model {
  target += normal_lpdf(mu | 0, 5) + cauchy_lpdf(tau | 0, 5) + log(2) + std_normal_lpdf(z);
  target += normal_lpdf(y | mu + tau * z, sd);
}""",
    "summers": """
data { int n; vector[n] x; vector[n] y; real mean; real sd; real beta_sd; }
parameters { real alpha; real beta; real<lower=0> sigma; }
model {
  target += normal_lpdf(alpha | mean, sd) + normal_lpdf(beta | 0, beta_sd);
  target += normal_id_glm_lpdf(y | to_matrix(x), alpha, [beta]', sigma);
}""",
    "linear": """
data { int n; int k; matrix[n, k] x; vector[n] y; }
parameters { vector[k + 1] w; real<lower=0> variance; }
model {
  target += normal_lpdf(w | 0, 5) + inv_gamma_lpdf(variance | 2, 0.5);
  target += normal_id_glm_lpdf(y | x, w[k + 1], w[1:k], sqrt(variance));
}""",
    "logistic": """
data { int n; int k; matrix[n, k] x; array[n] int y; }
parameters { vector[k + 1] w; }
model {
  target += normal_lpdf(w | 0, 5) + bernoulli_logit_glm_lpmf(y | x, w[k + 1], w[1:k]);
}""",
    "classes": """
data { int n; matrix[n, 4] x; array[n] int y; }
parameters { vector[27] w; }
model {
  matrix[n, 3] h = inv_logit(x * to_matrix(w[1:12], 4, 3) + rep_matrix(w[13:15]', n));
  target += normal_lpdf(w | 0, 5);
  target += categorical_logit_glm_lpmf(y | h, w[25:27], to_matrix(w[16:24], 3, 3));
}""",
    "network": """
data { int n; matrix[n, 4] x; vector[n] y; }
parameters { vector[31] w; real<lower=0> variance; }
model {
  matrix[n, 5] h = tanh(x * to_matrix(w[1:20], 4, 5) + rep_matrix(w[21:25]', n));
  target += normal_lpdf(w | 0, 1) + inv_gamma_lpdf(variance | 2, 0.5);
  target += normal_id_glm_lpdf(y | h, w[31], w[26:30], sqrt(variance));
}""",
}


def stan_data(name, data):
    if name == "schools":
        return data
    if name == "summers":
        mean, sd, beta_sd = SUMMERS
        return {"n": len(data["y"]), **data, "mean": mean, "sd": sd, "beta_sd": beta_sd}
    y = data["y"]
    if name in ("logistic", "classes"):
        y = [int(k) + (name == "classes") for k in y]
    return {"n": len(y), "k": len(data["x"][0]), "x": data["x"], "y": y}


def stan_starts(name, theta):
    """The starting values of Stan's parameters."""
    theta = list(theta)
    if name == "schools":
        return {"mu": theta[0], "tau": math.exp(theta[1]), "z": theta[2:]}
    if name == "summers":
        return {"alpha": theta[0], "beta": theta[1], "sigma": math.exp(theta[2])}
    if name in ("logistic", "classes"):
        return {"w": theta}
    return {"w": theta[:-1], "variance": math.exp(theta[-1])}

"""Golden marginal densities of posteriors without their output layer, for tests/formulas/collapsed.rs.

usage: python3 tests/golden/collapsed.py > tests/golden/collapsed.json

Each case holds a network or linear model with data, all coordinates q, the power beta of the likelihood, the log
marginal likelihood, the log prior of what is left, and mean and covariance of the output weights of each response
given the rest. The response column y_k is, with the output weights integrated out, normal with mean Phi m0 and
covariance C = Phi S Phi' + I / (beta P): n x n, in 60-digit arithmetic (mpmath), and compared with scipy.stats
where the covariance is well conditioned. A likelihood to the power beta is that of the precision beta P, times
(2 pi)^(n (1 - beta) / 2) P^(n beta / 2) (beta P)^(-n/2). Mean and covariance are those of Kriging, m0 + S Phi' C^-1
(y - Phi m0) and S - S Phi' C^-1 Phi S.
"""
import json

import mpmath as mp
import numpy as np
from scipy import stats

mp.mp.dps = 60
rng = np.random.default_rng(17)


def log_inverse_gamma(x, shape, scale):
    return stats.invgamma.logpdf(np.exp(x), shape, scale=scale) + x


def case(name, sizes, n, beta, log_variance, eta, fixed_sd=None, duplicate=False, ard=False):
    """Weights w*: N(0, e^s) with s = log_variance, or N(0.3, 0.7^2) if that is None. Biases: N(0.2, 0.9^2)."""
    d, outputs = sizes[0], sizes[-1]
    x = rng.normal(size=(n, d))
    y = rng.normal(size=(n, outputs))
    q, v = [], []
    h = x
    hidden_log_prior = 0.0
    w_mean, w_sd = (0.3, 0.7) if log_variance is None else (0.0, np.exp(0.5 * np.array(log_variance)))
    for inputs, units in zip(sizes[:-2], sizes[1:-1]):
        w, b = 0.8 * rng.normal(size=(units, inputs)), 0.5 * rng.normal(size=units)
        if duplicate:
            w[1], b[1] = w[0], b[0]
        hidden_log_prior += stats.norm.logpdf(w, w_mean, w_sd).sum() + stats.norm.logpdf(b, 0.2, 0.9).sum()
        q += list(w.ravel()) + list(b)
        h = np.tanh(h @ w.T + b)
    features = h.shape[1]
    q += list(rng.normal(size=outputs * (features + 1)))  # integrated out: their values must not matter
    log_prior = hidden_log_prior
    if fixed_sd is None:
        q.append(eta)
        log_prior += log_inverse_gamma(eta, 2.0, 0.5)
    else:
        eta = 2.0 * np.log(fixed_sd)
    if log_variance is not None:
        q += list(np.atleast_1d(log_variance))
        log_prior += sum(log_inverse_gamma(s, 2.5, 1.5) for s in np.atleast_1d(log_variance))

    phi = mp.matrix(np.hstack([h, np.ones((n, 1))]).tolist())
    m = features + 1
    m0 = mp.matrix([w_mean] * features + [mp.mpf("0.2")])
    sds = list(np.broadcast_to(w_sd, features)) + [0.9]
    s = mp.diag([mp.mpf(sd) ** 2 for sd in sds])
    precision = mp.exp(-mp.mpf(eta))
    c = phi * s * phi.T + mp.eye(n) / (beta * precision)
    log_det = 2 * sum(mp.log(mp.cholesky(c)[i, i]) for i in range(n))
    log_likelihood, means = mp.mpf(0), []
    gain = s * phi.T * c**-1
    for k in range(outputs):
        r = mp.matrix(y[:, k].tolist()) - phi * m0
        log_normal = -(n * mp.log(2 * mp.pi) + log_det + (r.T * (c**-1) * r)[0]) / 2
        if mp.mpf(eta) > -5:
            cov = np.array(c.tolist(), dtype=float)
            mean = np.array((phi * m0).tolist(), dtype=float).ravel()
            by_scipy = stats.multivariate_normal.logpdf(y[:, k], mean, cov)
            assert abs(by_scipy - log_normal) < 1e-10 * (1 + abs(by_scipy)), (name, by_scipy, log_normal)
        log_likelihood += log_normal + n * (
            (1 - beta) * mp.log(2 * mp.pi) + beta * mp.log(precision) - mp.log(beta * precision)
        ) / 2
        means.append([float(v) for v in m0 + gain * r])
    covariance = s - gain * phi * s
    return {
        "name": name,
        "sizes": sizes,
        "x": x.tolist(),
        "y": y.tolist(),
        "beta": beta,
        "fixed_sd": fixed_sd,
        "hierarchical": log_variance is not None and not ard,
        "ard": ard,
        "by_row": False,
        "q": [float(v) for v in q],
        "log_likelihood": float(log_likelihood),
        "log_prior": float(log_prior),
        "means": means,
        "covariance": [[float(covariance[i, j]) for j in range(m)] for i in range(m)],
    }


def case_by_row(name, sizes, n, beta, log_variance, bias_of_s, ard=False):
    """Outputs mu and s, the noise of row i of standard deviation e^s_i; the weights of mu alone are integrated out. With
    them, y is normal with mean Phi m0 and covariance Phi S Phi' + diag(e^2s_i / beta). Priors as in `case`."""
    d = sizes[0]
    assert sizes[-1] == 2
    x, y = rng.normal(size=(n, d)), rng.normal(size=n)
    q, log_prior, h = [], 0.0, x
    w_mean, w_sd = (0.3, 0.7) if log_variance is None else (0.0, np.exp(0.5 * np.array(log_variance)))
    for inputs, units in zip(sizes[:-2], sizes[1:-1]):
        w, b = 0.8 * rng.normal(size=(units, inputs)), 0.5 * rng.normal(size=units)
        log_prior += stats.norm.logpdf(w, w_mean, w_sd).sum() + stats.norm.logpdf(b, 0.2, 0.9).sum()
        q += list(w.ravel()) + list(b)
        h = np.tanh(h @ w.T + b)
    features = h.shape[1]
    w_s = 0.6 * rng.normal(size=features)
    log_prior += stats.norm.logpdf(w_s, w_mean, w_sd).sum() + stats.norm.logpdf(bias_of_s, 0.2, 0.9)
    # The weights of mu, which are integrated out: their values must not matter.
    q += list(rng.normal(size=features)) + list(w_s) + [rng.normal(), bias_of_s]
    if log_variance is not None:
        q += list(np.atleast_1d(log_variance))
        log_prior += sum(log_inverse_gamma(s, 2.5, 1.5) for s in np.atleast_1d(log_variance))

    phi = mp.matrix(np.hstack([h, np.ones((n, 1))]).tolist())
    m = features + 1
    s_rows = phi * mp.matrix(w_s.tolist() + [bias_of_s])
    noise = [mp.exp(2 * s_rows[i]) / mp.mpf(beta) for i in range(n)]
    m0 = mp.matrix([w_mean] * features + [mp.mpf("0.2")])
    prior = mp.diag([mp.mpf(sd) ** 2 for sd in list(np.broadcast_to(w_sd, features)) + [0.9]])
    c = phi * prior * phi.T + mp.diag(noise)
    r = mp.matrix(y.tolist()) - phi * m0
    log_det = 2 * sum(mp.log(mp.cholesky(c)[i, i]) for i in range(n))
    log_normal = -(n * mp.log(2 * mp.pi) + log_det + (r.T * (c**-1) * r)[0]) / 2
    if bias_of_s > -3:
        cov = np.array(c.tolist(), dtype=float)
        mean = np.array((phi * m0).tolist(), dtype=float).ravel()
        by_scipy = stats.multivariate_normal.logpdf(y, mean, cov)
        assert abs(by_scipy - log_normal) < 1e-10 * (1 + abs(by_scipy)), (name, by_scipy, log_normal)
    # N(mu, e^2s)^beta = N(mu, e^2s / beta) times (2 pi)^((1 - beta) / 2) e^(-beta s) (e^2s / beta)^(1/2).
    log_likelihood = log_normal + n * (1 - beta) * mp.log(2 * mp.pi) / 2
    log_likelihood += sum(mp.log(v) / 2 - beta * s for v, s in zip(noise, s_rows))
    gain = prior * phi.T * c**-1
    covariance = prior - gain * phi * prior
    return {
        "name": name,
        "sizes": sizes,
        "x": x.tolist(),
        "y": [[v] for v in y.tolist()],
        "beta": beta,
        "fixed_sd": None,
        "hierarchical": log_variance is not None and not ard,
        "ard": ard,
        "by_row": True,
        "q": [float(v) for v in q],
        "log_likelihood": float(log_likelihood),
        "log_prior": float(log_prior),
        "means": [[float(v) for v in m0 + gain * r]],
        "covariance": [[float(covariance[i, j]) for j in range(m)] for i in range(m)],
    }


cases = [
    case("network, known noise, normal priors with a mean", [2, 3, 1], 7, 1.0, None, None, fixed_sd=0.4),
    case("two responses, a scale of all weights", [2, 4, 2], 9, 1.0, -0.6, -1.1),
    case("two responses at beta 0.3", [2, 4, 2], 9, 0.3, 0.4, -0.7),
    case("two hidden layers, more units than rows", [3, 4, 8, 1], 5, 1.0, None, 0.3),
    case("noise of sd 1e-3 and two units alike", [2, 5, 1], 12, 1.0, 0.2, 2 * np.log(1e-3), duplicate=True),
    case("linear, a scale for each feature, two responses", [3, 2], 8, 0.6, [-0.5, 0.3, 1.1], -0.2, ard=True),
    case_by_row("noise by row, normal priors with a mean", [2, 3, 2], 7, 1.0, None, -0.8),
    case_by_row("noise by row, a scale of all weights, beta 0.3", [2, 4, 2], 9, 0.3, -0.6, 0.3),
    case_by_row("noise by row, two hidden layers, more units than rows", [3, 4, 8, 2], 5, 1.0, 0.2, -0.4),
    case_by_row("noise by row of sd about 1e-3", [2, 12, 2], 8, 1.0, None, -7.0),
    case_by_row("noise by row, linear, a scale for each feature", [3, 2], 8, 0.6, [-0.5, 0.3, 1.1], -0.2, ard=True),
]
print(json.dumps(cases, indent=1))

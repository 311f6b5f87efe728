"""Golden log densities of likelihoods with their first and second derivatives, for tests/formulas/likelihoods.rs.

usage: python3 tests/golden/likelihoods.py > tests/golden/likelihoods.json

Each case holds one response y, the outputs f, the likelihood's own parameters phi, and log p(y | f, phi), its
gradient and its matrix of second derivatives in (f, phi). The log densities are those of scipy.stats; the
derivatives are differences of the textbook's densities in 60-digit arithmetic (mpmath), which this script compares
with scipy first.
"""
import json
import sys

import mpmath as mp
import numpy as np
from scipy import special, stats

mp.mp.dps = 60


def heteroscedastic(y, f, phi):
    return mp.log(mp.npdf(y, f[0], mp.exp(f[1]))) if abs(f[1]) < 50 else (
        -mp.log(2 * mp.pi) / 2 - f[1] - (y - f[0]) ** 2 * mp.exp(-2 * f[1]) / 2
    )


def student_t(y, f, phi):
    tau, nu = mp.exp(phi[0] / 2), mp.exp(phi[1])
    t = (y - f[0]) / tau
    gammas = mp.loggamma((nu + 1) / 2) - mp.loggamma(nu / 2)
    return gammas - mp.log(nu * mp.pi) / 2 - mp.log(tau) - (nu + 1) / 2 * mp.log(1 + t**2 / nu)


def poisson(y, f, phi):
    return y * f[0] - mp.exp(f[0]) - mp.loggamma(y + 1)


def negative_binomial(y, f, phi):
    mu, r = mp.exp(f[0]), mp.exp(phi[0])
    choose = mp.loggamma(y + r) - mp.loggamma(r) - mp.loggamma(y + 1)
    return choose + r * mp.log(r / (r + mu)) + y * mp.log(mu / (r + mu))


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def zero_inflated(y, omega, log_p):
    w = sigmoid(omega)
    return mp.log(w + (1 - w) * mp.exp(log_p)) if y == 0 else mp.log(1 - w) + log_p


def zero_inflated_poisson(y, f, phi):
    return zero_inflated(y, phi[0], poisson(y, f, []))


def zero_inflated_negative_binomial(y, f, phi):
    return zero_inflated(y, phi[1], negative_binomial(y, f, phi[:1]))


def hurdle(y, omega, log_p, log_zero):
    w = sigmoid(omega)
    return mp.log(w) if y == 0 else mp.log(1 - w) + log_p - mp.log(1 - mp.exp(log_zero))


def hurdle_poisson(y, f, phi):
    return hurdle(y, phi[0], poisson(y, f, []), poisson(mp.mpf(0), f, []))


def hurdle_negative_binomial(y, f, phi):
    log_p = [negative_binomial(mp.mpf(y), f, phi[:1]) for y in (y, 0)]
    return hurdle(y, phi[1], *log_p)


def beta(y, f, phi):
    precision = mp.exp(phi[0])
    a, b = precision * sigmoid(f[0]), precision * sigmoid(-f[0])
    gammas = mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b)
    return gammas + (a - 1) * mp.log(y) + (b - 1) * mp.log(1 - y)


def ordinal(y, f, phi):
    cuts = [phi[0]]
    for log_increment in phi[1:]:
        cuts.append(cuts[-1] + mp.exp(log_increment))
    k = int(y)
    upper = sigmoid(cuts[k] - f[0]) if k < len(cuts) else mp.mpf(1)
    lower = sigmoid(cuts[k - 1] - f[0]) if k > 0 else mp.mpf(0)
    return mp.log(upper - lower)


def scipy_value(name, y, f, phi):
    if name.startswith(("zero_inflated", "hurdle")):
        mu, omega = np.exp(f[0]), phi[-1]
        r = np.exp(phi[0])
        counts = stats.poisson(mu) if len(phi) == 1 else stats.nbinom(r, r / (r + mu))
        if name.startswith("hurdle"):
            above = special.log_expit(-omega) + counts.logpmf(y) - counts.logsf(0)
            return special.log_expit(omega) if y == 0 else above
        counted = special.log_expit(-omega) + counts.logpmf(y)
        return np.logaddexp(special.log_expit(omega), counted) if y == 0 else counted
    if name == "beta":
        precision = np.exp(phi[0])
        return stats.beta.logpdf(y, precision * special.expit(f[0]), precision * special.expit(-f[0]))
    if name == "ordinal":
        cuts = np.concatenate([[-np.inf], phi[0] + np.concatenate([[0], np.cumsum(np.exp(phi[1:]))]), [np.inf]])
        upper, lower = cuts[int(y) + 1] - f[0], cuts[int(y)] - f[0]
        # A difference of the smaller tails, and the term that is common to both.
        tails = (-lower, -upper) if lower > 0 else (upper, lower)
        a, b = special.log_expit(tails[0]), special.log_expit(tails[1])
        return a + np.log1p(-np.exp(b - a))
    if name == "heteroscedastic_gaussian":
        return stats.norm.logpdf(y, f[0], np.exp(f[1]))
    if name == "student_t":
        return stats.t.logpdf(y, np.exp(phi[1]), f[0], np.exp(phi[0] / 2))
    if name == "poisson":
        return stats.poisson.logpmf(y, np.exp(f[0]))
    r, mu = np.exp(phi[0]), np.exp(f[0])
    return stats.nbinom.logpmf(y, r, r / (r + mu))


FUNCTIONS = {
    "heteroscedastic_gaussian": heteroscedastic,
    "student_t": student_t,
    "poisson": poisson,
    "negative_binomial": negative_binomial,
    "zero_inflated_poisson": zero_inflated_poisson,
    "zero_inflated_negative_binomial": zero_inflated_negative_binomial,
    "hurdle_poisson": hurdle_poisson,
    "hurdle_negative_binomial": hurdle_negative_binomial,
    "beta": beta,
    "ordinal": ordinal,
}
CASES = [
    *[("heteroscedastic_gaussian", y, [mu, s], []) for y, mu, s in [
        (0.3, -0.2, 0.0), (1.7, 2.5, -1.3), (-4.0, 3.0, 1.1), (2.0, 2.0, -3.0), (1e3, 0.0, 8.0), (0.5, 0.5001, -12.0),
    ]],
    *[("student_t", y, [f], [eta, lam]) for y, f, eta, lam in [
        (0.3, -0.2, 0.0, 0.0), (1.7, 2.5, -1.3, 1.0), (-4.0, 3.0, 1.1, 2.0), (40.0, 0.1, -2.0, 1.4), (2.0, 2.0, -3.0, -1.0),
        (1e6, 0.0, 0.5, 0.7), (0.4, 1.0, 0.2, 3.5), (0.4, 2.0, -0.7, 9.0), (0.4, 2.0, -0.7, 18.0), (0.1, 0.2, 0.0, -6.0),
    ]],
    *[("poisson", y, [eta], []) for y, eta in [
        (0, -1.0), (3, 0.7), (12, 2.6), (0, 3.0), (1000, 6.8), (5, -8.0), (100000, 11.5),
    ]],
    *[("negative_binomial", y, [eta], [rho]) for y, eta, rho in [
        (0, -1.0, 0.0), (3, 0.7, 1.0), (12, 2.6, -1.0), (0, 3.0, 2.0), (1000, 6.8, 0.3), (5, -8.0, 2.5), (7, 1.0, 2.78),
        (4, 1.0, 9.0), (4, 1.0, 25.0), (60, 4.0, 16.0), (40, 9.0, -4.0), (3, 0.5, -7.0),
    ]],
    *[("zero_inflated_poisson", y, [eta], [omega]) for y, eta, omega in [
        (0, 0.7, -1.0), (0, 3.0, -2.0), (0, -4.0, 0.5), (0, 6.0, -30.0), (0, 2.0, 40.0), (0, -9.0, -40.0),
        (3, 0.7, -1.0), (12, 2.6, 1.5), (1000, 6.8, -6.0), (2, -8.0, 20.0),
    ]],
    *[("zero_inflated_negative_binomial", y, [eta], [rho, omega]) for y, eta, rho, omega in [
        (0, 0.7, 0.3, -1.0), (0, 3.0, -2.0, -2.0), (0, 2.0, 9.0, 0.4), (0, -4.0, 2.0, 0.5), (0, 6.0, 1.0, -30.0),
        (3, 0.7, 1.0, -1.0), (12, 2.6, -1.0, 1.5), (1000, 6.8, 0.3, -6.0), (4, 1.0, 25.0, 0.2), (2, -8.0, 2.5, 20.0),
    ]],
    *[("hurdle_poisson", y, [eta], [omega]) for y, eta, omega in [
        (0, 0.7, -1.0), (0, 3.0, 20.0), (1, 0.7, -1.0), (3, -0.2, 1.5), (12, 2.6, 1.5), (1000, 6.8, -6.0),
        (1, -8.0, 0.2), (2, -8.0, 20.0), (1, -30.0, 0.0), (3, 5.0, 0.0),
    ]],
    *[("hurdle_negative_binomial", y, [eta], [rho, omega]) for y, eta, rho, omega in [
        (0, 0.7, 0.3, -1.0), (1, 0.7, 0.3, -1.0), (3, -0.2, 1.0, 1.5), (12, 2.6, -1.0, 1.5), (1000, 6.8, 0.3, -6.0),
        (4, 1.0, 9.0, 0.2), (1, -8.0, 2.5, 0.2), (2, -8.0, -2.0, 20.0), (1, -30.0, 0.5, 0.0), (60, 3.0, -3.0, 0.0),
        (2, -44.0, 1.0, 0.3), (5, 2.0, 2.78, 0.0),
    ]],
    *[("beta", y, [f], [lam]) for y, f, lam in [
        (0.3, -0.2, 1.0), (0.97, 1.4, 2.0), (0.02, 0.5, 0.0), (0.5, 0.0, 7.0), (0.31, -0.8, 12.0), (0.6, 3.0, -4.0),
        (1e-9, -6.0, 3.0), (0.4, -40.0, 1.0), (0.999, 30.0, 0.5), (0.2, -1.0, 2.95), (1e-300, -2.0, -1.0),
        (0.7, 0.9, 18.0), (0.4, 0.3, -20.0),
    ]],
    *[("ordinal", y, [f], phi) for y, f, phi in [
        (0, 0.3, [-0.4, 0.2]), (1, 0.3, [-0.4, 0.2]), (2, 0.3, [-0.4, 0.2]), (0, 1.1, [0.6]), (1, 1.1, [0.6]),
        (3, -0.7, [-2.0, 0.1, -0.6, 1.0]), (2, 1.7, [-2.0, 0.1, -0.6, 1.0]), (1, 60.0, [-1.0, 0.5, 0.0]),
        (2, -50.0, [-1.0, 0.5, 0.0]), (1, 0.2, [0.1, -25.0]), (1, 4.0, [0.1, -9.0, 0.3]), (1, 0.0, [-20.0, 3.7]),
        (2, 300.0, [1.0, 0.2, -3.0]), (0, 200.0, [1.0, 0.2, -3.0]),
    ]],
]


def derivative(function, point, orders):
    return mp.diff(function, tuple(point), tuple(orders))


cases = []
for name, y, f, phi in CASES:
    n = len(f)
    point = [mp.mpf(v) for v in f + phi]
    density = lambda *q: FUNCTIONS[name](mp.mpf(y), q[:n], q[n:])
    value = density(*point)
    ours, theirs = float(value), float(scipy_value(name, y, np.array(f), np.array(phi)))
    # scipy subtracts large log gamma functions for large r, nu and precisions, and close cutpoints.
    is_hard = min(phi[1:], default=0.0) < -8 if name == "ordinal" else bool(phi) and max(phi[0], phi[-1]) > 8
    loose = 1e-4 if is_hard else 1e-11
    # 1 - mu / r is rounded in scipy's probability.
    is_tiny = name == "hurdle_negative_binomial" and f[0] < -15
    if not is_tiny and not abs(ours - theirs) <= loose * max(1.0, abs(ours)):
        sys.exit(f"{name} {y} {f} {phi}: {ours} here, {theirs} by scipy")
    unit = lambda *which: [sum(1 for w in which if w == i) for i in range(len(point))]
    cases.append({
        "name": name,
        "y": float(y),
        "f": f,
        "phi": phi,
        "log_density": ours,
        "gradient": [float(derivative(density, point, unit(i))) for i in range(len(point))],
        "hessian": [
            [float(derivative(density, point, unit(i, j))) for j in range(len(point))] for i in range(len(point))
        ],
    })
json.dump(cases, sys.stdout, indent=1)
print()

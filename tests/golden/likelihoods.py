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
from scipy import stats

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


def scipy_value(name, y, f, phi):
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
    # scipy subtracts large log gamma functions for large r and nu.
    loose = 1e-4 if phi and phi[-1] > 8 else 1e-11
    if not abs(ours - theirs) <= loose * max(1.0, abs(ours)):
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

"""Information of a negative binomial response on log r, for tests/formulas/likelihoods.rs, which holds the printed values.

usage: python3 tests/golden/negative_binomial_information.py

The information is -r p - r^2 E [psi'(y + r) - psi'(r)] with p = mu / (r + mu), a sum over counts. With
psi'(x) = 1/x + h(x), s = y + r, m = mu + r and 1/s = 1/m - (y - mu)/m^2 + (y - mu)^2/(s m^2), whose second term has mean
0, it is

    r^2 (h(r) - E h(s) - E (y - mu)^2 / (s m^2))

which does not cancel for large r, where h is its series. The probabilities follow from their ratios. Of an infinite mean,
where E psi'(y + r) = 0, it is r^2 psi'(r) - r. Small cases are summed by mpmath as they stand.
"""
import mpmath as mp
import numpy as np

mp.mp.dps = 30


def rest(x):
    """psi'(x) - 1/x for large x."""
    return 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5)


def by_large_sum(mu, r):
    sd = np.sqrt(mu + mu**2 / r)
    y = np.arange(max(0.0, np.floor(mu - 13 * sd)), np.ceil(mu + 16 * sd))
    log_ratio = np.log((r + y[:-1]) / (y[1:])) - np.log1p(r / mu)
    log_p = np.concatenate([[0.0], np.cumsum(log_ratio)])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    s, m = y + r, mu + r
    return r**2 * (rest(r) - np.sum(p * rest(s)) - np.sum(p * (y - mu) ** 2 / s) / m**2)


def by_small_sum(mu, r):
    mu, r = mp.mpf(mu), mp.mpf(r)
    p, delta, mass, total, y = (r / (r + mu)) ** r, mp.mpf(0), mp.mpf(0), mp.mpf(0), 0
    while 1 - mass > mp.mpf(10) ** -20:
        total += p * delta
        mass += p
        p *= (r + y) / (y + 1) * mu / (r + mu)
        delta -= 1 / (r + y) ** 2
        y += 1
    return -r * mu / (r + mu) - r**2 * total


for mu, r in [(1e-3, 0.7), (0.4, 0.5), (3.0, 2.5), (20.0, 300.0), (200.0, 0.1)]:
    print(f"({mu}, {r}, {mp.nstr(by_small_sum(mu, r), 12)}),")
for mu, r in [(1e7, 1e4), (1e8, 1e5), (1e10, 1e10)]:
    print(f"({mu:e}, {r:e}, {by_large_sum(mu, r):.9f}),")
for r in [0.5, 1.0, 30.0]:
    print(f"(inf, {r}, {mp.nstr(mp.mpf(r) ** 2 * mp.psi(1, r) - r, 12)}),")

"""Golden values of numbers with bounds, for tests/formulas/censored.rs.

usage: python3 tests/golden/censored.py > tests/golden/censored.json

`rows`: the log likelihood of a row with bounds, its gradient and its matrix of second derivatives in (f, log scale);
`times`: survival, quantile, mean, variance and restricted mean of distributions of times. All are the textbook's
expressions in 80-digit arithmetic (mpmath): distribution functions by erfc and exp, derivatives as differences, and
means and restricted means as integrals of survival functions. A bound that is null is infinite.
"""
import json
import sys

import mpmath as mp

mp.mp.dps = 80


def upper_tail(family, z):
    return mp.exp(-mp.exp(z)) if family == "weibull" else mp.erfc(z / mp.sqrt(2)) / 2


def lower_tail(family, z):
    return -mp.expm1(-mp.exp(z)) if family == "weibull" else mp.erfc(-z / mp.sqrt(2)) / 2


def log_likelihood(family, lower, upper, centre, spread, f, s):
    mu, sigma = centre + spread * f, spread * mp.exp(s)
    to_log = (lambda y: y) if family == "normal" else mp.log
    if lower is not None and upper is not None and lower == upper:
        z = (to_log(lower) - mu) / sigma
        log_g = z - mp.exp(z) if family == "weibull" else -z**2 / 2 - mp.log(2 * mp.pi) / 2
        return log_g - mp.log(sigma) - (0 if family == "normal" else mp.log(lower))
    a = None if lower is None or (lower == 0 and family != "normal") else (to_log(lower) - mu) / sigma
    b = None if upper is None else (to_log(upper) - mu) / sigma
    if b is None:
        return mp.log(upper_tail(family, a)) if a is not None else mp.mpf(0)
    if a is None:
        return mp.log(lower_tail(family, b))
    if a + b > 0:
        return mp.log(upper_tail(family, a) - upper_tail(family, b))
    return mp.log(lower_tail(family, b) - lower_tail(family, a))


def row(family, lower, upper, f, s, centre=0.0, spread=1.0):
    exact = [None if y is None else mp.mpf(y) for y in (lower, upper)]
    of = lambda f, s: log_likelihood(family, *exact, mp.mpf(centre), mp.mpf(spread), f, s)
    at = (mp.mpf(f), mp.mpf(s))
    derivative = lambda n: float(mp.diff(of, at, n))
    return {
        "family": family, "lower": lower, "upper": upper, "f": f, "log_scale": s, "centre": centre, "spread": spread,
        "value": float(of(*at)),
        "gradient": [derivative((1, 0)), derivative((0, 1))],
        "hessian": [[derivative((2, 0)), derivative((1, 1))], [derivative((1, 1)), derivative((0, 2))]],
    }


def time(family, location, scale, t, p):
    mu, sigma, t_, p_ = (mp.mpf(v) for v in (location, scale, t, p))
    to_log = (lambda y: y) if family == "normal" else mp.log
    back = (lambda y: y) if family == "normal" else mp.exp
    survival = lambda u: upper_tail(family, (to_log(u) - mu) / sigma)
    z = mp.log(-mp.log(1 - p_)) if family == "weibull" else mp.sqrt(2) * mp.erfinv(2 * p_ - 1)
    # E min(T, t) = t - int P(T <= u) du up to t, of times from 0 on, by u = e^y.
    mp.mp.dps = 30
    if family == "normal":
        below = mp.quad(lambda u: lower_tail(family, (u - mu) / sigma), [mu - 60 * sigma, min(mu, t_), t_])
        restricted, mean, second = t_ - below, mu, mu**2 + sigma**2
    else:
        cdf = lambda y: lower_tail(family, (y - mu) / sigma) * mp.exp(y)
        low = mp.log(t_)
        restricted = t_ - mp.quad(cdf, [low - 80, low - 20, low - 5, low - 1, low])
        gauss = family == "lognormal"
        moment = lambda k: mp.exp(k * mu + (k * sigma) ** 2 / 2) if gauss else mp.exp(k * mu) * mp.gamma(1 + k * sigma)
        mean, second = moment(1), moment(2)
    result = {
        "family": family, "location": location, "scale": scale, "t": t, "p": p,
        "survival": float(survival(t_)), "log_survival": float(mp.log(survival(t_))), "quantile": float(back(mu + sigma * z)),
        "mean": float(mean), "variance": float(second - mean**2), "restricted_mean": float(restricted),
    }
    mp.mp.dps = 80
    return result


ROWS = []
for family in ("normal", "lognormal", "weibull"):
    raw = (lambda z: z) if family == "normal" else (lambda z: float(mp.exp(z)))
    tails = [-40.0, -12.0, -4.5, -1.3, 0.0, 0.7, 3.9, 4.1, 12.0, 40.0]
    if family == "weibull":
        tails = [-300.0, -40.0, -3.0, -0.4, 0.0, 0.7, 2.0, 4.0, 6.0]
    for z in tails:
        ROWS += [row(family, raw(z), raw(z), 0.0, 0.0), row(family, raw(z), None, 0.0, 0.0), row(family, None, raw(z), 0.0, 0.0)]
    pairs = [(-1.0, 1.5), (-0.3, -0.1), (0.2, 0.21), (2.0, 2.5), (3.0, 30.0), (5.0, 5.3), (-40.0, -39.9), (-30.0, 2.0), (1.0, 1.0 + 1e-9)]
    pairs += [(39.0, 40.0), (40.0, 40.001), (-0.4, 0.5), (-0.02, 0.03)] if family != "weibull" else [(-50.0, 3.0), (4.0, 4.01)]
    for a, b in pairs:
        ROWS.append(row(family, raw(a), raw(b), 0.0, 0.0))
    for kind in ("observed", "right", "left", "between"):
        for t, f, s in [(0.7, -0.4, 0.3), (25.0, 1.1, -0.9), (3000.0, 0.2, 0.6)]:
            lower = None if kind == "left" else t
            upper = {"observed": t, "right": None, "left": t, "between": 1.25 * t}[kind]
            spread = 80.0 if family == "normal" else 1.7
            ROWS.append(row(family, lower, upper, f, s, 2.5, spread))
    ROWS.append(row(family, 1e-3, 2.0, 0.4, -5.0))

TIMES = [
    time(family, mu, sigma, t, p)
    for family in ("normal", "lognormal", "weibull")
    for mu, sigma, t, p in [(0.3, 0.5, 1.2, 0.5), (2.0, 1.3, 30.0, 0.05), (-1.0, 0.1, 0.3, 0.975), (4.0, 0.8, 700.0, 1e-9), (0.0, 2.5, 0.01, 0.6)]
]
json.dump({"rows": ROWS, "times": TIMES}, sys.stdout, indent=0)
print()

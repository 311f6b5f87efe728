"""Golden values of a fit of rows with weights, for tests/run/fit_weights.rs.

usage: python3 tests/golden/row_weights.py > tests/golden/row_weights.json

A linear model of standardised columns, y_i = a x_i + b u_i + c + noise, in which row i counts w_i times, with weights
that are not whole numbers: a, b, c ~ N(0, 1.5^2), and the variance of the noise, tau^2, is inverse gamma of shape 1/2
and scale 1/200. Means and standard deviations of columns are weighted. Given tau, the posterior of (a, b, c) is the
normal one of weighted least squares with a ridge, by numpy; tau is integrated out by Simpson's rule. mpmath has the log
density at a point.

`glm`: intercept and slope of a Poisson regression with an exposure and weights of rows, and their standard errors, by
`statsmodels.api.GLM(.., freq_weights=w)`.
"""
import json

import mpmath as mp
import numpy as np
import statsmodels.api as sm

mp.mp.dps = 40
ROWS, SD, SHAPE, SCALE = 40, 1.5, 0.5, 0.005
POINT = [0.3, -0.2, 0.1, -0.7]

i = np.arange(ROWS)
x = (7 * i) % 31 / 8.0
u = (5 * i) % 13 / 4.0
y = x / 2 - u / 4 + ((11 * i) % 17) / 8.0
w = ((3 * i) % 8) / 4.0 + (i % 8 > 0) * 0.125


def standardised(column):
    mean = np.sum(w * column) / np.sum(w)
    sd = np.sqrt(np.sum(w * (column - mean) ** 2) / np.sum(w))
    return (column - mean) / sd, mean, sd


(zx, *of_x), (zu, *of_u), (zy, *of_y) = map(standardised, (x, u, y))
phi = np.stack([zx, zu, np.ones(ROWS)], axis=1)
gram, moment, squares = phi.T @ (w[:, None] * phi), phi.T @ (w * zy), np.sum(w * zy**2)


def given(eta):
    """log p(y, eta) without a constant, the mean of the coefficients and their variances, for eta = log tau^2."""
    precision = np.exp(-eta)
    a = np.eye(3) / SD**2 + precision * gram
    mean = precision * np.linalg.solve(a, moment)
    quadratic = precision * squares - mean @ a @ mean
    log_lik = -0.5 * (np.sum(w) * eta + quadratic + np.linalg.slogdet(a)[1])
    return log_lik - SHAPE * eta - SCALE * precision, mean, np.diag(np.linalg.inv(a))


etas = np.linspace(-6, 3, 18001)
simpson = np.where(np.arange(len(etas)) % 2, 4.0, 2.0)
simpson[[0, -1]] = 1
all_given = [given(eta) for eta in etas]
log_density = np.array([one[0] for one in all_given])
mass = simpson * np.exp(log_density - log_density.max())
mass /= mass.sum()
means, variances = (np.array([one[k] for one in all_given]) for k in (1, 2))
mean = mass @ means
sd = np.sqrt(mass @ (variances + means**2) - mean**2)
eta = mass @ etas
sd_eta = np.sqrt(mass @ (etas - eta) ** 2)


def exactly():
    """Log likelihood and log prior at the point, in 40 digits, of the columns as they are above."""
    a, b, c, eta = map(mp.mpf, POINT)
    tau2 = mp.exp(eta)
    wm, columns = [mp.mpf(v) for v in w], []
    for column in (x, u, y):
        values = [mp.mpf(v) for v in column]
        middle = sum(p * v for p, v in zip(wm, values)) / sum(wm)
        spread = mp.sqrt(sum(p * (v - middle) ** 2 for p, v in zip(wm, values)) / sum(wm))
        columns.append([(v - middle) / spread for v in values])
    likelihood = sum(
        p * (-mp.log(2 * mp.pi * tau2) / 2 - (r - a * q - b * s - c) ** 2 / (2 * tau2))
        for p, q, s, r in zip(wm, *columns)
    )
    prior = sum(-mp.log(2 * mp.pi * SD**2) / 2 - v**2 / (2 * mp.mpf(SD) ** 2) for v in (a, b, c))
    shape, scale = mp.mpf(1) / 2, mp.mpf(1) / 200
    prior += shape * mp.log(scale) - mp.loggamma(shape) - shape * eta - scale / tau2
    return float(likelihood), float(prior)


def glm():
    """Counts of 120 rows in years of exposure; each row stands for 0.5 to 3 rows."""
    i = np.arange(120)
    x = (7 * i) % 31 / 16.0 - 1
    years = np.array([0.25, 0.5, 1.0, 2.0])[i % 4]
    claims = np.floor(years * (2.5 + 1.5 * x) * ((5 * i) % 8 + 1) / 4)
    weights = np.array([1.0, 3.0, 0.5, 2.5, 1.5])[i % 5]
    family = sm.families.Poisson()
    model = sm.GLM(claims, sm.add_constant(x), family, exposure=years, freq_weights=weights)
    fit = model.fit(tol=1e-12)
    return [[float(v) for v in fit.params], [float(v) for v in fit.bse]]


print(
    json.dumps(
        {
            "glm": glm(),
            "scales": [of_x, of_u, of_y],
            "point": POINT,
            "log_density": exactly(),
            "mean": [*mean, eta],
            "sd": [*sd, sd_eta],
        },
        indent=1,
    )
)

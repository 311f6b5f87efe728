"""Golden values of Laplace approximations, for tests/inference/approximate_laplace.rs.

usage: python3 tests/golden/laplace.py > tests/golden/laplace.json

`logistic` is a logistic regression, by mpmath with 40 digits: the mode by Newton's method, the inverse of the
Hessian there, and the Laplace evidence. `kronecker` is a network with a hidden layer and three classes, by numpy: the
Kronecker-factored precision of each layer is written out as a dense matrix, its factors from the derivatives of the
outputs with respect to the units, row by row.
"""
import json
import math

import mpmath as mp
import numpy as np

mp.mp.dps = 40


class Uniform:
    """A linear congruential generator, exact in 64-bit integers; numbers with three decimals."""

    def __init__(self, state):
        self.state = state

    def __call__(self):
        self.state = (1103515245 * self.state + 12345) % 2**31
        return round(4.0 * self.state / 2**31 - 2.0, 3)


def logistic():
    uniform = Uniform(5)
    x = [[uniform(), uniform()] for _ in range(12)]
    y = [int(row[0] - 0.5 * row[1] + uniform() > 0.0) for row in x]
    sds = [1.5, 1.5, 0.7]
    rows = [mp.matrix(row + [1.0]) for row in x]
    precision = mp.diag([1 / mp.mpf(sd) ** 2 for sd in sds])
    q = mp.zeros(3, 1)
    for _ in range(60):
        p = [1 / (1 + mp.exp(-(row.T * q)[0])) for row in rows]
        gradient = -precision * q
        hessian = precision.copy()
        for row, y_i, p_i in zip(rows, y, p):
            gradient += (y_i - p_i) * row
            hessian += p_i * (1 - p_i) * row * row.T
        q += mp.lu_solve(hessian, gradient)
    assert mp.norm(gradient) < mp.mpf(10) ** -35
    log_joint = sum(mp.log(p_i if y_i else 1 - p_i) for y_i, p_i in zip(y, p))
    for q_i, sd in zip(q, sds):
        log_joint += -(q_i / sd) ** 2 / 2 - mp.log(sd) - mp.log(2 * mp.pi) / 2
    evidence = log_joint + 3 * mp.log(2 * mp.pi) / 2 - mp.log(mp.det(hessian)) / 2
    covariance = hessian**-1
    return {
        "x": x,
        "y": y,
        "sds": sds,
        "mode": [float(q_i) for q_i in q],
        "covariance": [[float(covariance[i, j]) for j in range(3)] for i in range(3)],
        "log_evidence": float(evidence),
    }


def kronecker():
    uniform = Uniform(9)
    sizes, rows = [2, 4, 3], 7
    sds = {"w0": 0.8, "b0": 1.7, "w1": 0.5, "b1": 2.0}
    x = [[uniform(), uniform()] for _ in range(rows)]
    y = [i % 3 for i in range(rows)]
    shapes = {"w0": (4, 2), "b0": (4,), "w1": (3, 4), "b1": (3,)}
    weights = {name: np.zeros(shape) for name, shape in shapes.items()}
    q = []
    for array in weights.values():
        for at in np.ndindex(array.shape):
            array[at] = uniform() / 2.0
            q.append(array[at])

    a = [np.zeros((3, 3)), np.zeros((5, 5))]
    g = [np.zeros((4, 4)), np.zeros((3, 3))]
    log_joint = 0.0
    for x_i, y_i in zip(np.array(x), y):
        h = np.tanh(weights["w0"] @ x_i + weights["b0"])
        f = weights["w1"] @ h + weights["b1"]
        p = np.exp(f) / np.exp(f).sum()
        log_joint += math.log(p[y_i])
        information = np.diag(p) - np.outer(p, p)
        hidden = weights["w1"] @ np.diag(1.0 - h**2)
        for l, (inputs, s) in enumerate([(x_i, hidden), (h, np.eye(3))]):
            inputs = np.append(inputs, 1.0)
            a[l] += np.outer(inputs, inputs) / rows
            g[l] += s.T @ information @ s
    covariance, log_det = np.zeros((len(q), len(q))), 0.0
    start = 0
    for l in range(2):
        inputs, units = sizes[l], sizes[l + 1]
        # Entries (unit, input), the bias as the last input, and where they lie in q.
        at = [
            start + u * inputs + i if i < inputs else start + units * inputs + u
            for u in range(units)
            for i in range(inputs + 1)
        ]
        prior = [sds[f"w{l}"] ** -2] * inputs + [sds[f"b{l}"] ** -2]
        precision = np.kron(g[l], a[l]) + np.kron(np.eye(units), np.diag(prior))
        covariance[np.ix_(at, at)] = np.linalg.inv(precision)
        log_det += np.linalg.slogdet(precision)[1]
        start += units * (inputs + 1)
    for name, array in weights.items():
        squares, sd = (array**2).sum(), sds[name]
        log_joint += -squares / (2 * sd**2) - array.size * (math.log(sd) + math.log(2 * math.pi) / 2)
    return {
        "x": x,
        "y": y,
        "sds": sds,
        "q": q,
        "covariance": covariance.tolist(),
        "log_evidence": log_joint + len(q) * math.log(2 * math.pi) / 2 - log_det / 2,
    }


print(json.dumps({"logistic": logistic(), "kronecker": kronecker()}, indent=1))

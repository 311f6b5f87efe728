"""Golden effects, for tests/inference/explain.rs, by numpy.

usage: python3 tests/golden/explain.py > tests/golden/explain.json

Partial dependence, individual curves, a contrast, and accumulated local effects of one column and of two, of networks
with given weights, each from its definition by loops over rows; individual curves of the first three rows.
"""
import json

import numpy as np

rng = np.random.default_rng(11)
N, DRAWS = 45, 2

x = rng.normal(size=(N, 4))
x[:, 2] = 0.9 * x[:, 0] + 0.3 * x[:, 2]  # goes together with column 0
x[:, 3] = rng.integers(0, 3, size=N)
x = np.round(x, 6)
weights = rng.integers(1, 4, size=N).astype(float)


def network(sizes):
    """Weights of a network in the order w0, b0, w1, b1, where w is [to, from]."""
    parts = []
    for a, b in zip(sizes, sizes[1:]):
        parts += [rng.normal(size=(b, a)), rng.normal(size=b)]
    return [np.round(part, 6) for part in parts]


def value(q, x, classes):
    w0, b0, w1, b1 = q
    out = np.tanh(x @ w0.T + b0) @ w1.T + b1
    if not classes:
        return out
    e = np.exp(out - out.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def points(column, most):
    values = np.sort(x[:, column])
    distinct = np.unique(values)
    if len(distinct) <= most:
        return distinct
    ranks = [max(-(-k * N // (most - 1)), 1) - 1 for k in range(most)]
    return np.unique(values[ranks])


def put(column, v):
    changed = x.copy()
    changed[:, column] = v
    return changed


def dependence(f, column, w):
    curves = np.stack([f(put(column, v)) for v in points(column, 20)], axis=1)  # row, point, output
    return curves, np.einsum("i,ipo->po", w / w.sum(), curves)


def place(v, edges):
    """The number of the interval (z_k-1, z_k] of v, from 0; the first has both ends."""
    for k in range(1, len(edges)):
        if v <= edges[k]:
            return k - 1
    raise ValueError(v)


def ale(f, column, w):
    edges = points(column, 20)
    K = len(edges) - 1
    change, n = None, np.zeros(K)
    for i in range(N):
        k = place(x[i, column], edges)
        low, high = x[i].copy(), x[i].copy()
        low[column], high[column] = edges[k], edges[k + 1]
        d = f(high[None])[0] - f(low[None])[0]
        change = np.zeros((K, len(d))) if change is None else change
        change[k] += w[i] * d
        n[k] += w[i]
    g = np.vstack([np.zeros((1, change.shape[1])), np.cumsum(change / n[:, None], axis=0)])
    return g - (n[:, None] * (g[:-1] + g[1:]) / 2).sum(axis=0) / n.sum()


def ale_pair(f, a, b, w):
    ea, eb = points(a, 10), points(b, 10)
    K, M = len(ea) - 1, len(eb) - 1
    out = f(x[:1]).shape[1]
    d, n = np.zeros((K, M, out)), np.zeros((K, M))
    for i in range(N):
        k, m = place(x[i, a], ea), place(x[i, b], eb)
        corner = {}
        for p in (0, 1):
            for q in (0, 1):
                row = x[i].copy()
                row[a], row[b] = ea[k + p], eb[m + q]
                corner[p, q] = f(row[None])[0]
        d[k, m] += w[i] * (corner[1, 1] - corner[1, 0] - corner[0, 1] + corner[0, 0])
        n[k, m] += w[i]
    for k in range(K):
        for m in range(M):
            if n[k, m] > 0:
                d[k, m] /= n[k, m]
    filled = [(k, m) for k in range(K) for m in range(M) if n[k, m] > 0]
    for k in range(K):
        for m in range(M):
            if n[k, m] == 0:
                near = min(filled, key=lambda c: (c[0] - k) ** 2 + (c[1] - m) ** 2)
                d[k, m] = d[near]
    h = np.zeros((K + 1, M + 1, out))
    for k in range(1, K + 1):
        for m in range(1, M + 1):
            h[k, m] = d[:k, :m].sum(axis=(0, 1))
    fa, fb = np.zeros((K + 1, out)), np.zeros((M + 1, out))
    for k in range(1, K + 1):
        fa[k] = fa[k - 1] + sum(
            n[k - 1, m - 1] * (h[k, m] - h[k - 1, m] + h[k, m - 1] - h[k - 1, m - 1]) / 2 for m in range(1, M + 1)
        ) / n[k - 1].sum()
    for m in range(1, M + 1):
        fb[m] = fb[m - 1] + sum(
            n[k - 1, m - 1] * (h[k, m] - h[k, m - 1] + h[k - 1, m] - h[k - 1, m - 1]) / 2 for k in range(1, K + 1)
        ) / n[:, m - 1].sum()
    both = h - fa[:, None] - fb[None]
    centre = sum(
        n[k, m] * (both[k, m] + both[k + 1, m] + both[k, m + 1] + both[k + 1, m + 1]) / 4
        for k in range(K)
        for m in range(M)
    ) / n.sum()
    return both - centre


def rounded(values):
    return np.round(np.asarray(values), 13).tolist()


cases = []
for classes, width, w in ((0, 1, np.ones(N)), (0, 1, weights), (3, 3, weights)):
    draws = [network([4, 5, width]) for _ in range(DRAWS)]
    fs = [lambda x, q=q: value(q, x, classes) for q in draws]
    of_columns = []
    for column in (0, 3):
        each = [dependence(f, column, w) for f in fs]
        of_columns.append(dict(
            column=column,
            points=points(column, 20).tolist(),
            individual=rounded(np.mean([curves for curves, _ in each], axis=0)[:3]),
            dependence=rounded([pd for _, pd in each]),
            accumulated=rounded([ale(f, column, w) for f in fs]),
        ))
    contrast = [np.einsum("i,io->o", w / w.sum(), f(put(0, 1.5)) - f(put(0, -0.5))) for f in fs]
    cases.append(dict(
        classes=classes,
        weights=w.tolist(),
        draws=[np.concatenate([part.ravel() for part in q]).tolist() for q in draws],
        columns=of_columns,
        contrast=rounded(contrast),
        pair=rounded([ale_pair(f, 0, 2, w) for f in fs]),
        pair_with_levels=rounded([ale_pair(f, 1, 3, w) for f in fs]),
    ))
print(json.dumps(dict(x=x.tolist(), cases=cases)))

"""Entropies of class probabilities, and their histograms."""

import json
from pathlib import Path

import numpy as np
from scipy.stats import entropy

rng = np.random.default_rng(11)
draws, inputs, classes = 30, 60, 4
centre = rng.normal(size=(inputs, classes)) * 1.5
logits = centre + 0.7 * rng.normal(size=(draws, inputs, classes))
p = np.exp(logits)
p = p / p.sum(axis=2, keepdims=True)
p = p.round(6)
p[..., -1] = 1 - p[..., :-1].sum(axis=2)
observed = np.where(rng.uniform(size=inputs) < 0.7, centre.argmax(axis=1), 0)

mean = p.mean(axis=0)
predictive = entropy(mean, axis=1)
expected = entropy(p, axis=2).mean(axis=0)
right = mean.argmax(axis=1) == observed


def histograms(values):
    edges = np.linspace(0, values.max(), 21)
    shares = lambda part: (np.histogram(part, bins=edges)[0] / len(part)).tolist()
    return {"edges": edges.tolist(), "right": shares(values[right]), "wrong": shares(values[~right])}


golden = {
    "p": p.tolist(),
    "observed": observed.tolist(),
    "histograms": [histograms(v) for v in [predictive, expected, predictive - expected]],
    "most_uncertain": np.argsort(-predictive)[:5].tolist(),
    "predicted": mean.argmax(axis=1).tolist(),
    "probability": mean.max(axis=1).tolist(),
}
Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")

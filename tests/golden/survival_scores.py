"""Golden scores of survival times, for tests/formulas/censored.rs, by scikit-survival 0.25 or later.

usage: python3 tests/golden/survival_scores.py > tests/golden/survival_scores.json

Simulated times, censored at random, with survival functions exp(-(t / scale)^1.4) of known scales, which are not those
that the times are drawn from. `tied` has times in whole numbers, for the concordance alone: scikit-survival weights an event
by the probability not to be censored up to *and at* its time, and this crate by that not to be censored before it.
"""
import json
import sys

import numpy as np
from sksurv.metrics import concordance_index_censored, integrated_brier_score
from sksurv.util import Surv

rng = np.random.default_rng(5)
n = 60
x = rng.normal(size=n)
t = np.exp(0.8 * x) * rng.weibull(1.5, size=n) * 10
c = rng.exponential(12, size=n)
time, event = np.minimum(t, c), t <= c
scale = 9.0 * np.exp(0.5 * x + 0.3 * rng.normal(size=n))
times = np.linspace(time[event].min(), time[event].max(), 100)
survival = np.exp(-((times[None, :] / scale[:, None]) ** 1.4))
if time.max() == time[event].max():
    # scikit-survival wants all times below the largest one: the last row is censored later.
    time, event, scale = np.append(time, time.max() + 1), np.append(event, False), np.append(scale, 9.0)
    survival = np.exp(-((times[None, :] / scale[:, None]) ** 1.4))
y = Surv.from_arrays(event, time)
whole, medians = np.ceil(time / 3), np.round(scale)
json.dump(
    {
        "time": time.tolist(), "event": event.tolist(), "scale": scale.tolist(), "shape": 1.4,
        "concordance": concordance_index_censored(event, time, -scale)[0],
        "integrated_brier": integrated_brier_score(y, y, survival, times),
        "tied": {
            "time": whole.tolist(), "predicted": medians.tolist(),
            "concordance": concordance_index_censored(event, whole, -medians)[0],
        },
    },
    sys.stdout,
)
print()

"""Compares a summary.csv of this crate with arviz-stats 0.8.0 on the draws.csv beside it.

usage: python3 tests/golden/summary.py DIR

Prints the largest relative deviation of each column and fails above 1e-6.
"""
import csv
import sys
from pathlib import Path

import arviz_stats
import numpy as np
from arviz_stats.base import array_stats as az

assert arviz_stats.__version__ == "0.8.0", arviz_stats.__version__
folder = Path(sys.argv[1])

with open(folder / "draws.csv", newline="") as f:
    rows = csv.reader(f)
    header = next(rows)
    table = np.array([[float(v) for v in row] for row in rows])
chain = table[:, 0].astype(int)
draws = np.stack([table[chain == c, 2:] for c in range(chain.max() + 1)])

columns = {
    "mean": lambda x: x.mean(),
    "sd": lambda x: x.std(ddof=1),
    "mcse_mean": lambda x: az.mcse(x, method="mean"),
    "q05": lambda x: np.quantile(x, 0.05),
    "q50": lambda x: np.quantile(x, 0.50),
    "q95": lambda x: np.quantile(x, 0.95),
    "ess_bulk": lambda x: az.ess(x, method="bulk"),
    "ess_tail": lambda x: az.ess(x, method="tail", prob=(0.05, 0.95)),
    "rhat": lambda x: az.rhat(x, method="rank"),
    "rhat_split": lambda x: az.rhat(x, method="split"),
    "rhat_folded": lambda x: az.rhat(x, method="folded"),
}
with open(folder / "summary.csv", newline="") as f:
    ours = list(csv.DictReader(f))
assert [r["name"] for r in ours] == header[2:]
worst = dict.fromkeys(columns, 0.0)
for i, row in enumerate(ours):
    for name, function in columns.items():
        theirs = float(function(np.ascontiguousarray(draws[:, :, i])))
        deviation = abs(float(row[name]) - theirs) / abs(theirs)
        worst[name] = max(worst[name], deviation)
for name, deviation in worst.items():
    print(f"{name:12} {deviation:.1e}")
sys.exit(any(not d <= 1e-6 for d in worst.values()))

"""Survival times beside lifelines: log density and concordance of new rows.

usage: python3 benches/peers/survival.py COMMAND [SPLITS]

COMMAND is the built `bnn-mcmc`. The 686 patients of the German Breast Cancer Study Group 2 come with scikit-survival (pip
install scikit-survival lifelines "pandas<3"). 70 % of the rows, at random, are learnt from, the rest scored, SPLITS times
(20 by default): mean and standard deviation over the splits. Counts of nodes and receptors are taken as log(1 + n).
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from lifelines import LogNormalAFTFitter, WeibullAFTFitter
from lifelines.utils import concordance_index
from scipy import stats
from sksurv.datasets import load_gbsg2


def table():
    X, y = load_gbsg2()
    rows = X.copy()
    rows["horTh"] = (rows["horTh"] == "yes").astype(int)
    rows["menostat"] = (rows["menostat"] == "Post").astype(int)
    rows["tgrade"] = rows["tgrade"].map({"I": 1, "II": 2, "III": 3}).astype(int)
    for count in ("pnodes", "progrec", "estrec"):
        rows[count] = np.log1p(rows[count].astype(float))
    rows["time"], rows["event"] = y["time"].astype(float), y["cens"].astype(int)
    return rows


def by_lifelines(noise, train, new):
    model = (LogNormalAFTFitter if noise == "log-normal" else WeibullAFTFitter)().fit(train, "time", "event")
    location, scale = ("mu_", "sigma_") if noise == "log-normal" else ("lambda_", "rho_")
    weights = model.params_[location]
    eta = sum(w * (1.0 if name == "Intercept" else new[name]) for name, w in weights.items())
    shape = np.exp(model.params_[scale]["Intercept"])
    time = (stats.lognorm if noise == "log-normal" else stats.weibull_min)(shape, scale=np.exp(eta))
    density = np.where(new.event == 1, time.logpdf(new.time), time.logsf(new.time)).mean()
    return density, concordance_index(new.time, model.predict_median(new), new.event), np.nan


def by_command(command, folder, noise, flags):
    run = folder / f"run {noise} {' '.join(flags)}"
    fit = [command, "fit", folder / "train.csv", "--target", "time", "--event", "event", "--noise", noise, "--out", run]
    fit += ["--chains", "2", "--warmup", "500", "--draws", "500", "--quiet", *flags]
    subprocess.run(fit, check=True, capture_output=True)
    predict = [command, "predict", run, folder / "new.csv", "--scores", "--out", folder / "predicted.csv"]
    printed = subprocess.run(predict, check=True, capture_output=True, text=True).stdout
    names = ("log predictive density", "concordance", "integrated Brier score")
    return [float(re.search(name + r"\s+(-?[\d.]+)", printed).group(1)) for name in names]


def main():
    command, splits = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    rows, lines = table(), []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(rows))
        kept = int(0.7 * len(rows))
        train, new = rows.iloc[order[:kept]], rows.iloc[order[kept:]]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            train.to_csv(folder / "train.csv", index=False)
            new.to_csv(folder / "new.csv", index=False)
            for noise in ("log-normal", "weibull"):
                lines.append(("lifelines", noise, *by_lifelines(noise, train, new)))
                linear = by_command(command, folder, noise, ["--hidden", "0"])
                network = by_command(command, folder, noise, ["--hidden", "8", "--weights", "scales"])
                lines += [("bnn-mcmc, linear", noise, *linear), ("bnn-mcmc, 8 units", noise, *network)]
    scores = pd.DataFrame(lines, columns=["model", "noise", "log density", "concordance", "Brier"])
    print(scores.groupby(["model", "noise"]).agg(["mean", "std"]).round(4).to_string())


main()

"""The command without settings beside bde and gradient boosting, on sets of train.csv and test.csv, one after the other.

    python3 -m venv venv && venv/bin/pip install sklearn-contrib-bde==1.0.2
    venv/bin/python benches/peers/uci.py target/release/bnn-mcmc concrete yacht boston --seeds 0,1,2

Each folder has train.csv and test.csv with a header; the response is the last column. Ours is `fit TRAIN --target .. --task regression
--seed ..` and nothing else; bde's settings are those of `ensemble_bde.py`. Boosting is scikit-learn's HistGradientBoostingRegressor with early stopping,
its mean that of five models, each without a fifth of the rows, and its noise normal with the variance of the residuals of these. Seconds are of
the fit on this machine, RMSE and log density per row in units of the response, R-hat the largest of the predictions
of training rows, of the log likelihood and of the log prior.
"""

import argparse
import csv
import json
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np
from ensemble_bde import fit_and_score as bde
from sklearn.ensemble import HistGradientBoostingRegressor


def ours(command, train, test, seed):
    with open(train, newline="") as file:
        target = next(csv.reader(file))[-1]
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        began = time.time()
        fit = [command, "fit", train, "--target", target, "--task", "regression"]
        fitted = subprocess.run([*fit, "--seed", str(seed), "--out", run], capture_output=True, text=True)
        seconds = time.time() - began
        assert (run / "fit.json").exists(), fitted.stderr
        scores = subprocess.run(
            [command, "predict", run, test, "--scores", "--out", run / "p.csv"], capture_output=True, text=True, check=True
        )
        words = scores.stdout + scores.stderr
        rmse, lppd = (float(re.search(rf"^{name} +(\S+)", words, re.M)[1]) for name in ("rmse", "log predictive density"))
        judged = subprocess.run([command, "diagnose", run], capture_output=True, text=True, check=True).stdout
        rhat = [float(x) for x in re.findall(r"^(?:predictions|log likelihood|log prior) +\d+ +(\S+)", judged, re.M)]
        model = json.loads((run / "fit.json").read_text())["recipe"]["search"]["chosen"]
        return {"model": model, "seconds": seconds, "rmse": rmse, "lppd": lppd, "rhat": rhat}


def boosting(train, test, seed):
    train, test = (np.loadtxt(path, delimiter=",", skiprows=1) for path in (train, test))
    began = time.time()
    fold = np.random.default_rng(seed).permutation(len(train)) % 5
    mean, residuals = np.zeros(len(test)), np.zeros(len(train))
    for k in range(5):
        model = HistGradientBoostingRegressor(max_iter=300, learning_rate=0.05, early_stopping=True, random_state=seed)
        model.fit(train[fold != k, :-1], train[fold != k, -1])
        residuals[fold == k] = train[fold == k, -1] - model.predict(train[fold == k, :-1])
        mean += model.predict(test[:, :-1]) / 5
    seconds = time.time() - began
    variance, errors = np.mean(residuals**2), test[:, -1] - mean
    lppd = np.mean(-0.5 * np.log(2 * np.pi * variance) - 0.5 * errors**2 / variance)
    return {"seconds": seconds, "rmse": np.sqrt(np.mean(errors**2)), "lppd": lppd}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--only", default="boosting,bde,ours", help="boosting, bde, ours")
    args = parser.parse_args()
    for folder in args.folders:
        train, test = folder / "train.csv", folder / "test.csv"
        for method in args.only.split(","):
            for seed in map(int, args.seeds.split(",")):
                if method == "ours":
                    score = ours(args.command, train, test, seed)
                elif method == "bde":
                    score = dict(zip(("seconds", "rmse", "lppd"), bde(train, test, seed)))
                else:
                    score = boosting(train, test, seed)
                print(json.dumps({"set": folder.name, "method": method, "seed": seed, **score}), flush=True)


main()

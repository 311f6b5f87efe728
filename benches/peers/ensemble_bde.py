"""Microcanonical Langevin ensembles by sklearn-contrib-bde, beside our own example `ensemble`.

    python3 -m venv venv && venv/bin/pip install sklearn-contrib-bde==1.0.2
    venv/bin/python benches/peers/ensemble_bde.py train.csv test.csv --seeds 0,1,2
    cargo run --release --example ensemble -- --data train.csv --test test.csv --response y

Settings are those of the package's own quick start: 8 members [16, 16] (ReLU), outputs mean and scale,
at most 200 epochs with early stopping, 5,000 + 2,000 steps of which every second is kept, on two devices of
JAX, so that both cores work. The response is the last column. Features and response are standardised by the
training rows; scores are in units of the response. Seconds are of `fit` with all compilation in it, as a
user waits for it.
"""

import argparse
import os
import time

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import numpy as np
from bde import BdeRegressor
from bde.loss import GaussianNLL
from scipy.special import logsumexp


def standardised(path, mean=None, sd=None):
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    if mean is None:
        mean, sd = rows.mean(0), rows.std(0)
        sd[sd == 0] = 1
    scaled = ((rows - mean) / sd).astype(np.float32)
    return scaled[:, :-1], scaled[:, -1], mean, sd


def fit_and_score(train, test, seed):
    """Seconds of the fit, RMSE and mean log density of the test rows."""
    x, y, mean, sd = standardised(train)
    x_test, y_test, _, _ = standardised(test, mean, sd)
    began = time.time()
    model = BdeRegressor(
        hidden_layers=[16, 16],
        n_members=8,
        seed=seed,
        loss=GaussianNLL(),
        epochs=200,
        patience=10,
        validation_split=0.15,
        lr=1e-3,
        weight_decay=1e-4,
        warmup_steps=5000,
        n_samples=2000,
        n_thinning=2,
    )
    model.fit(x=x, y=y)
    seconds = time.time() - began
    # Mean and scale (before its softplus) of each draw of each member, for each row.
    raw = np.asarray(model.predict(x_test, raw=True))
    means = raw[..., 0].reshape(-1, len(y_test))
    scales = (np.logaddexp(0, raw[..., 1]) + 1e-6).reshape(-1, len(y_test))
    log_density = -0.5 * np.log(2 * np.pi) - np.log(scales) - 0.5 * ((y_test - means) / scales) ** 2
    lppd = np.mean(logsumexp(log_density, axis=0)) - np.log(len(means)) - np.log(sd[-1])
    rmse = sd[-1] * np.sqrt(np.mean((means.mean(0) - y_test) ** 2))
    return seconds, rmse, lppd


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--seeds", default="0")
    args = parser.parse_args()
    for seed in map(int, args.seeds.split(",")):
        seconds, rmse, lppd = fit_and_score(args.train, args.test, seed)
        print(f"seed {seed}: {seconds:.1f} s, RMSE {rmse:.4f}, LPPD {lppd:.4f}", flush=True)


if __name__ == "__main__":
    main()

"""Conformal intervals beside MAPIE's: coverage and mean width at 0.9 on the splits of tests/run/fit_conformal.rs.

usage: mkdir splits
       CONFORMAL=splits cargo test --release -p bnn-mcmc-tests --test run fit_conformal::study -- --ignored --nocapture
       python3 benches/peers/conformal.py splits [TABLE..]

(pip install mapie==1.6.0 pandas). MAPIE is given this crate's predictions, for which the widths must be the same, then
models of its own, fitted to the same rows: least squares and boosted quantiles of scikit-learn.
"""
import json
import logging
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from mapie.conformity_scores import ResidualNormalisedScore
from mapie.regression import ConformalizedQuantileRegressor, CrossConformalRegressor, SplitConformalRegressor
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

LEVEL, COLUMNS = 0.9, ["mean", "sd", "lower", "upper"]
TABLES = {"boston": "medv", "wine_red": "quality", "abalone": "rings"}
warnings.filterwarnings("ignore")
logging.disable(logging.INFO)


class Column(RegressorMixin, BaseEstimator):
    """Predicts a column of X."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.n_features_in_, self.is_fitted_ = X.shape[1], True
        return self

    def predict(self, X):
        return X[:, self.column]


def split(model, seen, new, score="absolute"):
    of = SplitConformalRegressor(model, confidence_level=LEVEL, conformity_score=score, prefit=True)
    return of.conformalize(*seen).predict_interval(new)[1][:, :, 0]


def quantiles(trio, seen, new):
    of = ConformalizedQuantileRegressor(trio, confidence_level=LEVEL, prefit=True).conformalize(*seen)
    return of.predict_interval(new, symmetric_correction=True)[1][:, :, 0]


def of_split(table, rows):
    """The name, and the ends, of each method's intervals."""
    (X, y), at = table, rows
    given = lambda part: (np.array([at[part][name] for name in COLUMNS]).T, np.array(at[part]["y"]))
    seen, (new, observed) = given("seen"), given("predicted")
    column = lambda j: Column(j).fit(*seen)
    normalised = ResidualNormalisedScore(residual_estimator=column(1), prefit=True, sym=True)
    yield "MAPIE on ours, absolute", split(column(0), seen, new), observed
    yield "MAPIE on ours, normalised", split(column(0), seen, new, normalised), observed
    yield "MAPIE on ours, quantiles", quantiles([column(2), column(3), column(0)], seen, new), observed
    train, kept, new = ((X[at[part]], y[at[part]]) for part in ("train", "calibration", "new"))
    yield "MAPIE, least squares", split(LinearRegression().fit(*train), kept, new[0]), new[1]
    boosted = lambda q: HistGradientBoostingRegressor(loss="quantile", quantile=q, max_iter=100, min_samples_leaf=10)
    trio = [boosted(q).fit(*train) for q in (0.05, 0.95, 0.5)]
    yield "MAPIE, boosted quantiles", quantiles(trio, kept, new[0]), new[1]
    plus = CrossConformalRegressor(LinearRegression(), confidence_level=LEVEL, method="plus", cv=-1)
    yield "MAPIE, jackknife+ of least squares", plus.fit_conformalize(*train).predict_interval(new[0])[1][:, :, 0], new[1]


def main():
    for name in sys.argv[2:] or TABLES:
        response = TABLES[name]
        data = pd.get_dummies(pd.read_csv(f"data/{name}.csv"), dtype=float)
        table = data.drop(columns=response).to_numpy(), data[response].to_numpy(dtype=float)
        found = {}
        for rows in json.loads((Path(sys.argv[1]) / f"{name}.json").read_text()):
            for method, ends, y in of_split(table, rows):
                held = (ends[:, 0] <= y) & (y <= ends[:, 1])
                found.setdefault(method, []).append([held.mean(), (ends[:, 1] - ends[:, 0]).mean()])
        print(f"\n{name}: coverage, width")
        for method, values in found.items():
            values = np.array(values)
            print(f"  {method:36} {values[:, 0].mean():.3f} {values[:, 1].mean():9.3f}  {len(values)} splits")


main()

"""Golden conformal intervals and sets, for tests/inference/conformal.rs, by MAPIE 1.6.

usage: python3 tests/golden/conformal.py > tests/golden/conformal.json

Split conformal of given predictions (absolute errors, errors over a standard deviation, conformalised quantiles, classes
by 1 - p), and jackknife+ of a line with an intercept by least squares, whose refits are MAPIE's.
"""
import json
import sys

import numpy as np
from mapie.classification import SplitConformalClassifier
from mapie.conformity_scores import ResidualNormalisedScore
from mapie.regression import ConformalizedQuantileRegressor, CrossConformalRegressor, SplitConformalRegressor
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression

rng = np.random.default_rng(7)
LEVELS = [0.8, 0.9, 0.95]


class Column(RegressorMixin, BaseEstimator):
    """Predicts a column of X."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.n_features_in_, self.is_fitted_ = X.shape[1], True
        return self

    def predict(self, X):
        return X[:, self.column]


class Probabilities(ClassifierMixin, BaseEstimator):
    """Predicts the columns of X as probabilities."""

    def fit(self, X, y):
        self.n_features_in_, self.classes_, self.is_fitted_ = X.shape[1], np.arange(X.shape[1]), True
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


def rounded(values):
    return np.round(np.asarray(values, dtype=float), 12).tolist()


# Columns: mean, sd, lower, upper of a heteroscedastic prediction that is too narrow.
n, new = 57, 12
mean, sd = rng.normal(size=n + new), np.exp(0.5 * rng.normal(size=n + new))
mean, sd = np.round(mean, 6), np.round(sd, 6)
y = np.round(mean + 1.7 * sd * rng.standard_t(4, size=n + new), 6)
X = np.round(np.column_stack([mean, sd, mean - 1.2 * sd, mean + 1.5 * sd]), 6)
calibration, test = slice(0, n), slice(n, n + new)
given = lambda **options: Column(**options).fit(X, y)
split = {}
for name, score in [
    ("absolute", "absolute"),
    ("normalised", ResidualNormalisedScore(residual_estimator=given(column=1), prefit=True, sym=True)),
]:
    of = SplitConformalRegressor(given(), confidence_level=LEVELS, conformity_score=score, prefit=True)
    of.conformalize(X[calibration], y[calibration])
    split[name] = [rounded(ends) for ends in np.moveaxis(of.predict_interval(X[test])[1], 2, 0)]
split["quantiles"] = []
for level in LEVELS:
    trio = [given(column=2), given(column=3), given()]
    of = ConformalizedQuantileRegressor(trio, confidence_level=level, prefit=True)
    of.conformalize(X[calibration], y[calibration])
    ends = of.predict_interval(X[test], symmetric_correction=True)[1]
    split["quantiles"].append(rounded(ends[:, :, 0]))

# Jackknife+.
rows = 31
x = np.round(rng.normal(size=(rows + new, 1)), 6)
z = np.round(1.0 + 2.0 * x[:, 0] + 0.7 * rng.standard_t(5, size=rows + new), 6)
of = CrossConformalRegressor(LinearRegression(), confidence_level=LEVELS, method="plus", cv=-1)
of.fit_conformalize(x[:rows], z[:rows])
jackknife = [rounded(ends) for ends in np.moveaxis(of.predict_interval(x[rows:])[1], 2, 0)]

# Classes.
p = rng.dirichlet([1.0, 0.7, 0.4], size=n + new)
p = np.round(p, 6)
p[:, 2] = np.round(1.0 - p[:, 0] - p[:, 1], 6)
index = np.array([rng.choice(3, p=(row ** 0.5) / (row ** 0.5).sum()) for row in p])
of = SplitConformalClassifier(Probabilities().fit(p, index), confidence_level=LEVELS, conformity_score="lac", prefit=True)
of.conformalize(p[calibration], index[calibration])
sets = [held.astype(int).tolist() for held in np.moveaxis(of.predict_set(p[test])[1], 2, 0)]

json.dump(
    {
        "levels": LEVELS, "rows": n, "prediction": X.tolist(), "y": y.tolist(), "split": split,
        "jackknife": {"rows": rows, "x": x[:, 0].tolist(), "y": z.tolist(), "ends": jackknife},
        "classes": {"p": p.tolist(), "index": index.tolist(), "sets": sets},
    },
    sys.stdout,
)
print()

"""Bayesian neural networks for scikit-learn, sampled by Markov chain Monte Carlo.

Estimators for real responses, classes, counts and survival times, whose predictions come with their
uncertainty and whose runs come with a verdict: whether the chains agree, and if not, why.
"""

from ._estimators import BnnClassifier, BnnCounts, BnnRegressor, BnnSurvival
from ._native import __version__
from ._verdict import NotConvergedWarning, Search, Verdict

__all__ = [
    "BnnClassifier",
    "BnnCounts",
    "BnnRegressor",
    "BnnSurvival",
    "NotConvergedWarning",
    "Search",
    "Verdict",
    "__version__",
]

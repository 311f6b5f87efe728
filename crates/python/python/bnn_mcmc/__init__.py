"""Bayesian neural networks for scikit-learn, sampled by Markov chain Monte Carlo.

Estimators for real responses, classes, counts and survival times, whose predictions come with their
uncertainty and whose runs come with a verdict: whether the chains agree, and if not, why.
"""

from ._estimators import BnnClassifier, BnnCounts, BnnRegressor, BnnSurvival
from ._explain import Contrast, Effect, Explanation, Importance, PairEffect, Sobol
from ._figure import Figure
from ._native import __version__
from ._progress import Progress
from ._tables import ComparedModel, Comparison, Loo, Summary, compare
from ._verdict import NotConvergedWarning, Search, Uncertainty, Update, Verdict

__all__ = [
    "BnnClassifier",
    "BnnCounts",
    "BnnRegressor",
    "BnnSurvival",
    "ComparedModel",
    "Comparison",
    "Contrast",
    "Effect",
    "Explanation",
    "Figure",
    "Importance",
    "Loo",
    "NotConvergedWarning",
    "PairEffect",
    "Progress",
    "Search",
    "Sobol",
    "Summary",
    "Uncertainty",
    "Update",
    "Verdict",
    "__version__",
    "compare",
]

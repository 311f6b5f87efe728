"""The bases of the estimators in scikit-learn, with the types that it does not declare itself."""

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:

    class BaseEstimator:
        """What scikit-learn's base has that users call."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class RegressorMixin:
        """What scikit-learn's base of regressors has that users call."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class ClassifierMixin:
        """What scikit-learn's base of classifiers has that users call."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class ConvergenceWarning(UserWarning):
        """What scikit-learn warns with."""

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import ConvergenceWarning

__all__ = ["BaseEstimator", "ClassifierMixin", "ConvergenceWarning", "RegressorMixin"]

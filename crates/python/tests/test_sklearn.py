"""The conventions of scikit-learn."""

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

CHECKED = {"hidden": (8,), "chains": 2, "warmup": 100, "draws": 100, "n_jobs": 1}

# Rows with weights and the same rows written out have one posterior (test_weights.py), but sums
# that are added up in another order; chains amplify the rounding.
OF_DRAWS = {
    "check_sample_weight_equivalence_on_dense_data": "equal up to the Monte Carlo error",
    "check_sample_weight_equivalence_on_sparse_data": "equal up to the Monte Carlo error",
}


@pytest.mark.filterwarnings(
    "ignore::bnn_mcmc.NotConvergedWarning", "ignore:columns that are constant"
)
@parametrize_with_checks(
    [BnnRegressor(**CHECKED), BnnClassifier(**CHECKED)],
    expected_failed_checks=lambda _: OF_DRAWS,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings(
    "ignore::bnn_mcmc.NotConvergedWarning", "ignore:columns that are constant"
)
def test_counts_fail_no_check_but_those_whose_responses_are_no_counts():
    counts = BnnCounts(**{**CHECKED, "hidden": (), "warmup": 50, "draws": 50})
    results = check_estimator(counts, on_fail=None, on_skip=None)
    failed = [result for result in results if result["status"] == "failed"]
    assert len(results) - len(failed) > 40
    for result in failed:
        assert "is not a count" in str(result["exception"]), result


def test_in_a_pipeline_and_cross_validation(diabetes, short):
    model = make_pipeline(StandardScaler(), BnnRegressor(**short))
    scores = cross_val_score(model, *diabetes)
    assert scores.mean() > 0.4


def test_in_processes_of_joblib(diabetes, short):
    model = BnnRegressor(**short)
    beside = cross_val_score(model, *diabetes, cv=3, n_jobs=2)
    assert (beside == cross_val_score(model, *diabetes, cv=3)).all()


def test_settings_are_searched(wave, short):
    search = GridSearchCV(BnnRegressor(**short), {"hidden": [(), (5,)]}, cv=3).fit(*wave)
    assert search.best_params_ == {"hidden": (5,)}


def test_a_clone_is_not_fitted_and_has_the_settings(wave, short):
    settings = {"noise": "student_t", "weight_prior": 0.5, "response_transform": "yeo_johnson"}
    model = BnnRegressor(**{**short, **settings}).fit(*wave)
    copied = clone(model)
    assert not hasattr(copied, "verdict_")
    assert copied.get_params() == model.get_params()


@pytest.mark.parametrize("estimator", [BnnRegressor, BnnClassifier, BnnCounts])
def test_settings_are_shown(estimator):
    assert (
        repr(estimator(hidden=(3, 3), draws=7)) == f"{estimator.__name__}(draws=7, hidden=(3, 3))"
    )


@pytest.mark.parametrize("estimator", [BnnRegressor, BnnClassifier, BnnCounts])
def test_errors_of_calls_name_the_class(estimator):
    name = estimator.__name__
    for call, message in (
        (lambda: estimator(units=3), r"__init__\(\) got an unexpected keyword argument 'units'"),
        (lambda: estimator().fit([[1.0]]), r"fit\(\) missing 1 required positional argument: 'y'"),
        (lambda: estimator().predict(), r"predict\(\) missing 1 required positional argument: 'X'"),
        (lambda: estimator().scores([[1.0]]), r"scores\(\) missing 1 required positional"),
        (lambda: estimator().score([[1.0]]), r"score\(\) missing 1 required positional"),
        (lambda: estimator.load(), r"load\(\) missing 1 required positional"),
        (lambda: estimator().save(), r"save\(\) missing 1 required positional"),
        (lambda: estimator().to_datatree(1), r"to_datatree\(\) takes 1 positional argument"),
    ):
        with pytest.raises(TypeError, match=rf"^{name}\.{message}"):
            call()


def test_a_class_of_a_user_may_have_methods_of_its_own(wave, short):
    class Mine(BnnRegressor):
        def predict(self, X, return_std=False, interval=None):
            return 2 * super().predict(X, return_std, interval)

    model = Mine(**short).fit(*wave)
    assert (model.predict(wave[0]) == 2 * BnnRegressor(**short).fit(*wave).predict(wave[0])).all()


def test_score_is_that_of_sklearn(wave, short):
    X, y = wave
    model = BnnRegressor(**short).fit(X, y)
    residuals = y - model.predict(X)
    assert model.score(X, y) == pytest.approx(
        1 - (residuals**2).sum() / ((y - y.mean()) ** 2).sum()
    )
    assert model.scores(X, y)["rmse"] == pytest.approx(np.sqrt((residuals**2).mean()))

"""Uses beside other libraries: scikit-learn, SHAP, MAPIE, ArviZ, matplotlib, Jupyter."""

import pickle

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingClassifier
from sklearn.feature_selection import RFE, SequentialFeatureSelector
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.linear_model import Ridge
from sklearn.metrics import brier_score_loss, d2_pinball_score, make_scorer, mean_pinball_loss
from sklearn.model_selection import (
    GroupKFold,
    LearningCurveDisplay,
    RandomizedSearchCV,
    TimeSeriesSplit,
    cross_val_predict,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

pytestmark = pytest.mark.filterwarnings("ignore::bnn_mcmc.NotConvergedWarning")

FAST = {"hidden": (), "chains": 2, "warmup": 60, "draws": 60, "random_state": 1, "n_jobs": 1}


@pytest.fixture(scope="module")
def rows():
    """A line, two classes of it, and counts."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3))
    y = 4 + 2 * X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=90)
    return X, y, np.where(y > 4, "yes", "no")


@pytest.fixture(scope="module")
def model(rows):
    return BnnRegressor(**FAST).fit(rows[0], rows[1])


@pytest.fixture(scope="module")
def classifier(rows):
    return BnnClassifier(**FAST).fit(rows[0], rows[2])


# Model selection


def test_searched_at_random(rows):
    search = RandomizedSearchCV(
        BnnRegressor(**FAST),
        {"weight_prior": ["fan_in", "ard", 0.3]},
        n_iter=2,
        cv=2,
        random_state=0,
    ).fit(rows[0], rows[1])
    assert search.best_score_ > 0.9


def test_several_scores_are_cross_validated(rows):
    scoring = {
        "r2": "r2",
        "mae": "neg_mean_absolute_error",
        "density": lambda model, X, y: model.scores(X, y)["log_predictive_density"],
    }
    found = cross_validate(BnnRegressor(**FAST), rows[0], rows[1], cv=3, scoring=scoring)
    assert found["test_r2"].min() > 0.9 and np.isfinite(found["test_density"]).all()


def test_probabilities_are_cross_validated(rows):
    found = cross_val_predict(BnnClassifier(**FAST), rows[0], rows[2], cv=3, method="predict_proba")
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert brier_score_loss(rows[2] == "yes", found[:, 1]) < 0.1
    logs = cross_val_predict(
        BnnClassifier(**FAST), rows[0], rows[2], cv=3, method="predict_log_proba"
    )
    np.testing.assert_allclose(np.exp(logs), found)


def test_folds_of_groups_and_of_time(rows):
    groups = np.arange(90) % 6
    by_group = cross_validate(
        BnnRegressor(**FAST), rows[0], rows[1], groups=groups, cv=GroupKFold(3)
    )
    in_time = cross_validate(BnnRegressor(**FAST), rows[0], rows[1], cv=TimeSeriesSplit(3))
    assert min(by_group["test_score"].min(), in_time["test_score"].min()) > 0.8


def test_curves_of_learning_and_of_settings(rows):
    sizes, _, scores = learning_curve(
        BnnRegressor(**FAST), rows[0], rows[1], train_sizes=[0.3, 1.0], cv=3
    )
    assert len(sizes) == 2 and scores.shape == (2, 3)
    _, scores = validation_curve(
        BnnRegressor(**FAST),
        rows[0],
        rows[1],
        param_name="weight_prior",
        param_range=[0.01, 1.0],
        cv=2,
    )
    assert scores[1].mean() > scores[0].mean()


def test_columns_are_selected(rows):
    selector = SequentialFeatureSelector(BnnRegressor(**FAST), n_features_to_select=2, cv=2)
    assert selector.fit(rows[0], rows[1]).get_support().tolist() == [True, True, False]


def test_columns_are_eliminated_by_importance(rows):
    X, y, _ = rows

    def importance(model):
        return np.array([one.loss for one in model.explain().importance(1)])

    selector = RFE(BnnRegressor(**FAST), n_features_to_select=2, importance_getter=importance)
    assert selector.fit(X, y).support_.tolist() == [True, True, False]


# Composition


def test_calibrated_by_another_model(rows):
    model = CalibratedClassifierCV(BnnClassifier(**FAST), cv=2).fit(rows[0], rows[2])
    assert model.score(rows[0], rows[2]) > 0.9


def test_stacked_with_another_model(rows):
    stack = StackingRegressor([("bnn", BnnRegressor(**FAST)), ("ridge", Ridge())], cv=2)
    assert stack.fit(rows[0], rows[1]).score(rows[0], rows[1]) > 0.9


def test_a_vote_of_probabilities(rows):
    vote = VotingClassifier(
        [("a", BnnClassifier(**FAST)), ("b", BnnClassifier(**{**FAST, "random_state": 2}))],
        voting="soft",
    ).fit(rows[0], rows[2])
    assert vote.predict_proba(rows[0]).shape == (90, 2)


def test_bagged(rows):
    bag = BaggingRegressor(BnnRegressor(**FAST), n_estimators=2, random_state=0)
    assert bag.fit(rows[0], rows[1]).score(rows[0], rows[1]) > 0.9


def test_one_against_the_rest(rows):
    X, y, _ = rows
    classes = np.digitize(y, [3, 5])
    model = OneVsRestClassifier(BnnClassifier(**FAST)).fit(X, classes)
    assert model.score(X, classes) > 0.7


def test_several_responses_by_several_models(rows):
    X, y, _ = rows
    both = np.column_stack([y, -y])
    for model in (
        MultiOutputRegressor(BnnRegressor(**FAST)),
        RegressorChain(BnnRegressor(**FAST)),
    ):
        assert model.fit(X, both).predict(X).shape == both.shape


def test_a_transformed_target(rows):
    X, y, _ = rows
    model = TransformedTargetRegressor(BnnRegressor(**FAST), func=np.exp, inverse_func=np.log)
    assert model.fit(X, y / 4).predict(X).shape == y.shape


def test_a_pipeline_gives_uncertainty(rows):
    X, y, _ = rows
    pipeline = make_pipeline(StandardScaler(), BnnRegressor(**FAST)).fit(X, y)
    mean, std = pipeline.predict(X, return_std=True)
    low, high = pipeline.predict(X, interval=0.9)[1:]
    assert ((low < mean) & (mean < high)).all() and (std > 0).all()


def test_columns_of_a_table_go_their_own_ways(rows):
    pandas = pytest.importorskip("pandas")
    X, y, _ = rows
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.array(["u", "v", "w"])[np.arange(90) % 3]
    columns = ColumnTransformer(
        [
            ("labels", OneHotEncoder(sparse_output=False), ["kind"]),
            ("numbers", StandardScaler(), make_column_selector(dtype_include=float)),
        ]
    ).set_output(transform="pandas")
    pipeline = make_pipeline(columns, BnnRegressor(**FAST)).fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist()[0] == "labels__kind_u"
    assert pipeline.score(frame, y) > 0.9


def test_polars_comes_out_of_a_pipeline(rows):
    polars = pytest.importorskip("polars")
    X, y, _ = rows
    frame = polars.DataFrame(X, schema=["a", "b", "c"])
    same = FunctionTransformer(lambda frame: frame.with_columns(d=polars.col("a") * 2))
    pipeline = make_pipeline(same, BnnRegressor(**FAST)).fit(frame, y)
    assert pipeline.predict(frame).shape == (90,)


def test_weights_are_routed(rows):
    import sklearn

    X, y, _ = rows
    weights = np.where(np.arange(90) < 45, 2.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = BnnRegressor(**FAST).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model)
        pipeline.fit(X, y, sample_weight=weights)
    scaled = pipeline[:-1].transform(X)
    alone = BnnRegressor(**FAST).fit(scaled, y, sample_weight=weights)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(scaled))


def test_a_scorer_of_quantiles(rows):
    X, y, _ = rows
    model = BnnRegressor(**FAST).fit(X, y)
    quantiles = model.predict(X, quantiles=(0.1, 0.9))[1:]
    assert all(
        mean_pinball_loss(y, q, alpha=a) < 0.2 for q, a in zip(quantiles, (0.1, 0.9), strict=True)
    )
    scorer = make_scorer(d2_pinball_score)
    assert scorer(model, X, y) > 0.5


# Inspection


def test_partial_dependence_is_that_of_sklearn(rows, model):
    X, _, _ = rows
    theirs = partial_dependence(model, X, [0], grid_resolution=8, kind="average")
    ours = model.explain().effect("x1", values=list(theirs["grid_values"][0]))
    np.testing.assert_allclose(ours.mean, theirs["average"][0], rtol=1e-9)


def test_permutation_importance_orders_columns(rows, model):
    X, y, _ = rows
    theirs = permutation_importance(model, X, y, n_repeats=3, random_state=0).importances_mean
    ours = np.array([one.loss for one in model.explain().importance(3)])
    assert np.argsort(theirs).tolist() == np.argsort(ours).tolist() == [2, 1, 0]


def test_displays_of_sklearn(rows, model, classifier):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    X, y, labels = rows
    curves = PartialDependenceDisplay.from_estimator(model, X, [0, (0, 1)], grid_resolution=5)
    assert [one["average"].shape for one in curves.pd_results] == [(1, 5), (1, 5, 5)]
    calibrated = CalibrationDisplay.from_estimator(classifier, X, labels, n_bins=4)
    assert np.abs(calibrated.prob_true - calibrated.prob_pred).max() < 0.5
    learning = LearningCurveDisplay.from_estimator(
        BnnRegressor(**FAST), X, y, train_sizes=[0.5, 1.0], cv=2
    )
    assert learning.test_scores.min() > 0.8
    pyplot.close("all")


def test_shap_explains_the_mean(rows, model):
    shap = pytest.importorskip("shap")
    X, _, _ = rows
    explainer = shap.KernelExplainer(model.predict, X[:20])
    values = explainer.shap_values(X[20:23], nsamples=64, silent=True)
    assert values.shape == (3, 3)
    total = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.predict(X[20:23]), rtol=1e-6)


def test_shap_explains_probabilities(rows, classifier):
    shap = pytest.importorskip("shap")
    X, _, _ = rows
    explainer = shap.KernelExplainer(classifier.predict_proba, X[:10])
    values = explainer.shap_values(X[20:22], nsamples=64, silent=True)
    assert np.asarray(values).shape == (2, 3, 2)


def test_mapie_calibrates_a_fitted_model(rows, model):
    mapie = pytest.importorskip("mapie.regression")
    X, y, _ = rows
    regressor = mapie.SplitConformalRegressor(model, confidence_level=0.8, prefit=True)
    regressor.conformalize(X[:45], y[:45])
    _, intervals = regressor.predict_interval(X[45:])
    share = np.mean((intervals[:, 0, 0] <= y[45:]) & (y[45:] <= intervals[:, 1, 0]))
    assert share > 0.6


def test_mapie_makes_sets_of_classes(rows, classifier):
    mapie = pytest.importorskip("mapie.classification")
    X, _, labels = rows
    sets = mapie.SplitConformalClassifier(classifier, confidence_level=0.9, prefit=True)
    sets.conformalize(X[:45], labels[:45])
    assert sets.predict_set(X[45:])[1].shape == (45, 2, 1)


# Objects


def test_kinds_are_known():
    assert is_regressor(BnnRegressor()) and is_regressor(BnnCounts())
    assert is_classifier(BnnClassifier())


def test_a_representation_in_html(model):
    assert "BnnRegressor" in model._repr_html_()


def test_pickles_and_joblib_keep_a_pipeline(rows, tmp_path):
    joblib = pytest.importorskip("joblib")
    X, y, _ = rows
    pipeline = make_pipeline(StandardScaler(), BnnRegressor(**FAST)).fit(X, y)
    joblib.dump(pipeline, tmp_path / "model.joblib")
    for copied in (joblib.load(tmp_path / "model.joblib"), pickle.loads(pickle.dumps(pipeline))):
        np.testing.assert_array_equal(copied.predict(X), pipeline.predict(X))


def test_cloudpickle_keeps_a_listener(rows):
    cloudpickle = pytest.importorskip("cloudpickle")
    X, y, _ = rows
    heard = []
    model = BnnRegressor(**FAST, verbose=heard.append)
    copied = cloudpickle.loads(cloudpickle.dumps(model))
    copied.verbose = (again := []).append
    np.testing.assert_array_equal(copied.fit(X, y).predict(X), clone(model).fit(X, y).predict(X))
    assert again[-1].phase == "sampling"
    model.fit(X, y)
    assert heard[-1].done == heard[-1].total


def test_threads_of_joblib(rows):
    joblib = pytest.importorskip("joblib")
    X, y, _ = rows

    def fitted(seed):
        return BnnRegressor(**{**FAST, "random_state": seed}).fit(X, y).predict(X)

    beside = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(fitted)(k) for k in (1, 2))
    np.testing.assert_array_equal(beside[0], fitted(1))
    np.testing.assert_array_equal(beside[1], fitted(2))


def test_sparse_matrices_are_refused_in_words(rows):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        BnnRegressor(**FAST).fit(sparse.csr_array(rows[0]), rows[1])


def test_a_table_of_arrow_without_copies_of_pandas(rows):
    pyarrow = pytest.importorskip("pyarrow")
    X, y, _ = rows
    table = pyarrow.table({name: X[:, k] for k, name in enumerate("abc")})
    assert BnnRegressor(**FAST).fit(table, y).score(table, y) > 0.9


def test_arviz_plots_and_compares(rows, model):
    arviz = pytest.importorskip("arviz")
    data = model.to_datatree()
    if hasattr(arviz, "from_datatree"):
        data = arviz.from_datatree(data)
    found = arviz.loo(data)
    elpd = getattr(found, "elpd", None)
    elpd = found.elpd_loo if elpd is None else elpd
    assert elpd == pytest.approx(model.loo().elpd, abs=1e-2)
    summary = arviz.summary(data)
    assert len(summary) == model.diagnostics_["parameters"]


# Notebooks


def notebook(*cells):
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    return book


def client(book, **settings):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    return nbclient.NotebookClient(book, kernel_name="python3", timeout=300, **settings)


DATA = """
import numpy as np
from bnn_mcmc import BnnRegressor
X = np.random.default_rng(0).normal(size=(60, 2))
y = 2 * X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=60)
"""


def outputs_of(cell):
    return " ".join(
        str(output.get("data", {}).get("text/html", output.get("text", "")))
        for output in cell.outputs
    )


def test_a_notebook_shows_a_bar_a_verdict_and_figures():
    book = notebook(
        DATA,
        "model = BnnRegressor(hidden=(), chains=2, draws=300, verbose=True).fit(X, y)",
        "model.verdict_",
        "model.plot_chains()",
        "model.summary()",
    )
    client(book).execute()
    assert "<progress" in outputs_of(book.cells[1]) and "300 of 300" in outputs_of(book.cells[1])
    assert "border-left" in outputs_of(book.cells[2])
    assert "image/svg+xml" in book.cells[3].outputs[-1]["data"]
    assert "<table>" in outputs_of(book.cells[4])


def test_an_interrupt_of_a_notebook_ends_the_cell_and_not_the_kernel():
    import asyncio

    book = notebook(
        DATA,
        "BnnRegressor(hidden=(20,), draws=100_000, random_state=0, n_jobs=1).fit(X, y)",
        "print(1 + 1)",
    )
    running = client(book, allow_errors=True)

    async def interrupted():
        async with running.async_setup_kernel():
            await running.async_execute_cell(book.cells[0], 0)
            cell = asyncio.create_task(running.async_execute_cell(book.cells[1], 1))
            await asyncio.sleep(3)
            await running.km.interrupt_kernel()
            await cell
            await running.async_execute_cell(book.cells[2], 2)

    asyncio.run(interrupted())
    assert book.cells[1].outputs[-1]["ename"] == "KeyboardInterrupt"
    assert outputs_of(book.cells[2]).strip() == "2"


def test_progress_in_a_program_goes_to_the_standard_error(rows, capfd):
    X, y, _ = rows
    BnnRegressor(**{**FAST, "draws": 200}, verbose=True).fit(X, y)
    assert "sampling 200 of 200" in capfd.readouterr().err

"""What a model says of itself: report, leave-one-out, summaries, figures, updates, progress."""

import builtins
import threading

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor, BnnSurvival, Progress, compare
from sklearn.exceptions import NotFittedError

# Long enough to converge on a line.
LINE = {"hidden": (), "chains": 2, "draws": 500, "random_state": 1, "n_jobs": 1}


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 2))
    y = 5 + 2 * X[:, 0] + 0.3 * rng.normal(size=80)
    return X, y, BnnRegressor(**LINE).fit(X, y)


@pytest.fixture(scope="module")
def classes(line):
    X, y, _ = line
    labels = np.where(y > 5, "high", "low")
    return X, labels, BnnClassifier(**LINE).fit(X, labels)


def test_the_report_is_one_page(line, tmp_path):
    X, _, model = line
    model.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "<svg" in page and "<script" not in page
    assert f"{len(X)} rows" in page
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        model.report(tmp_path / "none" / "report.html")


def test_leave_one_out_is_that_of_the_closed_form(line):
    X, y, model = line
    loo = model.loo()
    # Of a line with flat priors the predictions of rows left out are Student's t.
    design = np.column_stack([np.ones(len(X)), X])
    total = 0.0
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        inverse = np.linalg.inv(design[rest].T @ design[rest])
        weights = inverse @ design[rest].T @ y[rest]
        residuals = y[rest] - design[rest] @ weights
        dof = rest.sum() - design.shape[1]
        scale = np.sqrt(residuals @ residuals / dof * (1 + design[row] @ inverse @ design[row]))
        from scipy.stats import t

        total += t.logpdf(y[row], dof, design[row] @ weights, scale)
    assert loo.elpd == pytest.approx(total, abs=1.5)
    assert loo.elpd == pytest.approx(loo.elpd_i.sum()) and loo.se > 0
    assert loo.pareto_k.shape == y.shape and loo.unreliable == []
    assert 2 < loo.p_loo < 8
    assert str(loo).startswith("elpd_loo") and "<pre>" in loo._repr_html_()
    assert "k" in loo.plot().panels[0]["y"]["label"]


def test_models_are_compared_by_name(line):
    X, y, model = line
    less = BnnRegressor(**LINE).fit(X[:, 1:], y)
    comparison = compare({"less": less, "both": model.loo()})
    first, second = comparison.models
    assert (first.name, first.difference, second.name) == ("both", 0.0, "less")
    each = less.loo().elpd_i - model.loo().elpd_i
    assert second.difference == pytest.approx(each.sum())
    error = np.sqrt(len(y) * each.var(ddof=1))
    assert second.se_difference == pytest.approx(error)
    assert "less" in str(comparison) and "<td>both</td>" in comparison._repr_html_()
    with pytest.raises(ValueError, match="at least 2"):
        compare({"both": model})
    with pytest.raises(ValueError, match="must be a dict"):
        compare([model, less])
    with pytest.raises(ValueError, match="`both` is of the type int"):
        compare({"both": 3, "less": less})
    other = BnnRegressor(**LINE).fit(X, y + 1)
    with pytest.raises(ValueError, match="response of `other`"):
        compare({"both": model, "other": other})


def test_summaries_are_of_predictions_and_of_parameters(line):
    X, _, model = line
    summary = model.summary()
    assert len(summary.names) == len(X) and summary.names[3].startswith("row 3")
    np.testing.assert_allclose(summary.mean, model.predict(X))
    draws = model.predict_mean_draws(X)
    np.testing.assert_allclose(summary.sd, draws.std(axis=0, ddof=1))
    np.testing.assert_allclose(summary.q50, np.median(draws, axis=0))
    assert summary.rhat.max() == pytest.approx(
        model.diagnostics_["groups"]["predictions"]["max_rhat"], abs=1e-3
    )
    assert "and 40 more" in str(summary) and "<table>" in summary._repr_html_()
    parameters = model.summary("parameters")
    assert len(parameters.names) == len(parameters.mean)
    assert len(parameters.names) == model.diagnostics_["parameters"]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(parameters.to_dict())
    assert list(frame.columns)[:3] == ["names", "mean", "sd"]
    with pytest.raises(ValueError, match="predictions"):
        model.summary("weights")


def test_figures_have_their_numbers(line, classes, tmp_path):
    X, y, model = line
    (predictions,) = model.plot_predictions(X, y)
    assert predictions._repr_svg_().startswith("<svg") and predictions.caption
    shown = [mark for mark in predictions.panels[0]["marks"] if mark["mark"] == "points"]
    points = np.array([point for mark in shown for point in mark["points"]])
    points = points[np.argsort(points[:, 1])]
    order = np.argsort(y)
    np.testing.assert_allclose(points[:, 1], y[order])
    np.testing.assert_allclose(points[:, 0], model.predict(X)[order])
    predictions.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text(encoding="utf-8") == predictions.svg
    with pytest.raises(ValueError, match=r"must end in `\.svg`"):
        predictions.save(tmp_path / "figure.png")
    assert "left out" in model.plot_calibration().title
    assert model.plot_calibration(X, y).panels
    with pytest.raises(ValueError, match="together"):
        model.plot_calibration(X)
    for kind in ("trace", "ranks", "ess", "rhat"):
        assert model.plot_chains(kind).panels
    with pytest.raises(ValueError, match="trace, ranks, ess or rhat"):
        model.plot_chains("lines")
    (checks,) = model.plot_checks()
    assert checks.panels[1]["y"]["scale"]["names"][:2] == ["mean", "standard deviation"]

    X, labels, model = classes
    (confusion,) = model.plot_predictions(X, labels)
    counts = np.array(confusion.panels[0]["marks"][0]["values"], dtype=float)
    assert counts.shape == (2, 2)
    assert model.plot_calibration(X, labels).title == "Reliability"
    with pytest.raises(ValueError, match="classes"):
        model.plot_calibration()


def test_figures_are_drawn_by_matplotlib(line, classes, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    X, y, model = line
    explanation = model.explain()
    figures = [
        *model.plot_predictions(X, y),
        *model.plot_checks(),
        *(model.plot_chains(kind) for kind in ("trace", "ranks", "ess", "rhat")),
        *classes[2].plot_predictions(*classes[:2]),
        model.loo().plot(),
        explanation.plot_importance(),
        explanation.plot_effect("x1"),
        explanation.plot_effect("x1", kind="accumulated"),
        explanation.plot_effect_pair("x1", "x2"),
    ]
    for place, figure in enumerate(figures):
        drawn = figure.matplotlib()
        assert len(drawn.axes) >= len(figure.panels), figure.title
        drawn.savefig(tmp_path / f"{place}.png")
        pyplot.close(drawn)
    mean = explanation.effect("x1").mean
    effect = figures[-3]
    own, axes = pyplot.subplots()
    assert effect.matplotlib(axes) is own
    (curve,) = [one for one in axes.get_lines() if one.get_label() == "mean"]
    np.testing.assert_allclose(curve.get_ydata(), mean)
    assert axes.get_xlabel() == "x1"
    pyplot.close(own)
    with pytest.raises(ValueError, match="must be axes of matplotlib"):
        effect.matplotlib(3)
    with pytest.raises(ValueError, match="2 panels"):
        figures[1].matplotlib(axes)


def test_without_matplotlib_there_is_svg(line, monkeypatch):
    _, _, model = line
    figure = model.plot_chains()
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        figure.matplotlib()
    assert figure._repr_svg_()


def test_an_update_is_a_fit_of_all_rows(line):
    X, y, model = line
    rng = np.random.default_rng(5)
    new = rng.normal(size=(6, 2))
    responses = 5 + 2 * new[:, 0] + 0.3 * rng.normal(size=6)
    before = model.predict(X)
    updated = model.update(new, responses)
    assert (updated.update_.rows, updated.update_.has_drifted) == (6, False)
    assert "6 new rows" in str(updated.update_)
    np.testing.assert_array_equal(model.predict(X), before)
    assert not hasattr(model, "update_")
    afresh = BnnRegressor(**LINE).fit(np.vstack([X, new]), np.concatenate([y, responses]))
    error = afresh.summary().mcse_mean.max() + updated.summary().mcse_mean.max()
    assert np.abs(updated.predict(X) - afresh.predict(X)).max() < 5 * error + 0.01
    far = model.update(new, responses + 10)
    assert far.update_.has_drifted and far.update_.drift < 0.001
    with pytest.raises(ValueError, match="weights of rows"):
        model.update(new, responses, sample_weight=np.full(6, 2.0))
    weighted = BnnRegressor(**LINE).fit(X, y, sample_weight=np.full(80, 1.0))
    twice = weighted.update(new, responses, sample_weight=np.full(6, 2.0))
    assert twice.update_.rows == weighted.update(new, responses).update_.rows == 6


def test_updates_of_classes_counts_and_times(classes):
    X, labels, model = classes
    assert model.update(X[:3], labels[:3]).update_.rows == 3
    with pytest.raises(ValueError, match="not among the classes"):
        model.update(X[:1], ["other"])
    counts = np.arange(80) % 4
    assert BnnCounts(**LINE).fit(X, counts).update(X[:5], counts[:5]).update_.rows == 5
    times = np.array([(True, 1.0 + k % 7) for k in range(80)], dtype=[("died", bool), ("t", float)])
    model = BnnSurvival(**LINE).fit(X, times)
    assert model.update(X[:5], times[:5]).update_.drift is None
    with pytest.raises(ValueError, match="numbers with bounds"):
        model.plot_checks()
    for plot in (model.plot_predictions, model.plot_calibration):
        with pytest.raises(ValueError, match="for this figure"):
            plot(X, times)


def test_a_callable_hears_of_progress_on_its_own_thread(wave, short):
    X, y = wave
    heard, threads = [], set()

    def listen(progress):
        heard.append(progress)
        threads.add(threading.get_ident())

    model = BnnRegressor(**{**short, "draws": 400}, verbose=listen).fit(X, y)
    assert all(isinstance(one, Progress) for one in heard)
    last = heard[-1]
    assert (last.phase, last.done, last.total, last.line) == ("sampling", 400, 400, "")
    assert str(last).startswith("sampling 400 of 400")
    assert threads == {threading.get_ident()}
    silent = BnnRegressor(**{**short, "draws": 400}).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), silent.predict(X))


def test_models_that_are_tried_are_told(wave):
    X, y = wave
    lines = []
    BnnRegressor(chains=1, warmup=50, draws=50, random_state=1, verbose=lines.append).fit(X, y)
    choices = [str(one) for one in lines if one.phase == "choice"]
    assert any("linear" in line for line in choices)


def test_an_exception_of_a_listener_ends_the_run(wave, short):
    X, y = wave

    def refuse(progress):
        raise KeyError("enough")

    model = BnnRegressor(**{**short, "draws": 200_000}, verbose=refuse)
    with pytest.raises(KeyError, match="enough"):
        model.fit(X, y)
    assert not hasattr(model, "verdict_")


def test_a_listener_is_no_part_of_a_saved_fit(wave, short, tmp_path):
    X, y = wave
    model = BnnRegressor(**short, verbose=lambda progress: None).fit(X, y)
    model.save(tmp_path / "fit")
    assert BnnRegressor.load(tmp_path / "fit").verbose is True


@pytest.mark.parametrize("name", ["report", "loo", "summary", "plot_checks", "plot_chains"])
def test_what_is_not_fitted_says_nothing(name):
    arguments = ["page.html"] if name == "report" else []
    with pytest.raises(NotFittedError):
        getattr(BnnRegressor(), name)(*arguments)


def test_imputed_tables_are_named(wave, short):
    X, y = wave
    X = X.copy()
    X[::7, 1] = np.nan
    pandas = pytest.importorskip("pandas")
    model = BnnRegressor(**short, impute=2).fit(pandas.DataFrame({"a": X[:, 0], "b": X[:, 1]}), y)
    for ask in (model.loo, model.summary, model.plot_checks, model.explain):
        with pytest.raises(ValueError, match="several completed tables"):
            ask()


def test_several_figures_are_shown_in_notebooks(line):
    X, y, model = line
    shown = model.plot_predictions(X, y)
    assert shown._repr_html_().count("<svg") == len(shown) == 1
    assert "<figcaption>" in model.plot_checks()._repr_html_()
    assert len(repr(model.summary())) < 5000

"""Effects of columns, against forward passes in NumPy and known slopes."""

import datetime

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnRegressor


def test_effects_are_averages_of_predictions(wave, short):
    X, y = wave
    model = BnnRegressor(**short).fit(X, y)
    explanation = model.explain()
    assert explanation.columns == ["x1", "x2"]
    effect = explanation.effect("x2", values=[-1.0, 0.5])
    assert effect.values == [-1.0, 0.5] and effect.outputs == ["y1"]
    for place, value in enumerate(effect.values):
        changed = X.copy()
        changed[:, 1] = value
        assert effect.mean[place] == pytest.approx(model.predict(changed).mean(), rel=1e-10)
    assert effect.individual.shape == (len(X), 2, 1)
    np.testing.assert_allclose(effect.individual.mean(axis=0)[:, 0], effect.mean)
    lower, upper = effect.interval(0.5)
    assert ((lower < effect.mean) & (effect.mean < upper)).all()
    contrast = explanation.contrast("x2", -1.0, 0.5)
    np.testing.assert_allclose(contrast.draws, effect.draws[:, 1] - effect.draws[:, 0])
    accumulated = explanation.effect("x2", kind="accumulated")
    assert accumulated.individual is None and len(accumulated.values) == 20
    pair = explanation.effect_pair("x1", "x2")
    assert pair.mean.shape == (10, 10) and len(pair.values[1]) == 10
    changed = X.copy()
    changed[:, 0], changed[:, 1] = pair.values[0][3], pair.values[1][7]
    assert pair.mean[3, 7] == pytest.approx(model.predict(changed).mean(), rel=1e-10)
    together = explanation.effect_pair("x1", "x2", kind="accumulated")
    assert together.mean.shape == (10, 10)


def test_columns_of_a_frame_change_as_a_whole():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    n = 120
    days = pandas.date_range("2023-01-01", periods=n, freq="3D")
    frame = pandas.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": np.array(["blue", "green", "red"])[np.arange(n) % 3],
            "ripe": rng.random(n) < 0.5,
            "day": days,
        }
    )
    y = frame["size"] + 2 * (frame["colour"] == "red") - 3 * frame["ripe"]
    y += 0.1 * rng.normal(size=n)
    model = BnnRegressor(hidden=(), chains=2, draws=300, random_state=1).fit(frame, y)
    explanation = model.explain()
    for column, start, end, truth in [
        ("colour", "blue", "red", 2),
        ("colour", "blue", "green", 0),
        ("ripe", False, True, -3),
        ("size", -1, 1.5, 2.5),
        ("day", datetime.date(2023, 2, 1), np.datetime64("2023-08-01"), 0),
    ]:
        contrast = explanation.contrast(column, start, end)
        assert contrast.mean == pytest.approx(truth, abs=0.2), column
    assert explanation.effect("colour").values == ["blue", "green", "red"]
    assert explanation.effect("day").values[0] == np.datetime64("2023-01-01")
    importance = {one.column: one for one in explanation.importance()}
    assert importance["ripe"].loss > importance["colour"].loss > 10 * importance["day"].loss
    sobol = {one.column: one for one in explanation.sobol()}
    assert sobol["ripe"].first.mean() == pytest.approx(0.55, abs=0.2)
    with pytest.raises(ValueError, match="pink"):
        explanation.contrast("colour", "blue", "pink")
    with pytest.raises(ValueError, match="weight"):
        explanation.effect("weight")
    with pytest.raises(ValueError, match="kind"):
        explanation.effect("size", kind="local")


def test_effects_on_classes_are_of_probabilities():
    X = np.random.default_rng(2).normal(size=(90, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = BnnClassifier(hidden=(3,), chains=2, warmup=200, draws=200, random_state=1).fit(X, y)
    effect = model.explain().effect("x1")
    assert effect.outputs == ["a", "b", "c"]
    np.testing.assert_allclose(effect.draws.sum(axis=2), 1.0)
    assert effect.mean[0, 0] > 0.8 and effect.mean[-1, 2] > 0.8


def test_a_loaded_model_has_the_same_effects(tmp_path, wave, short):
    model = BnnRegressor(**short).fit(*wave)
    model.save(tmp_path / "m")
    again = BnnRegressor.load(tmp_path / "m")
    first, second = (m.explain().effect("x1").draws for m in (model, again))
    np.testing.assert_array_equal(first, second)


def test_draws_quantiles_and_parts_belong_together(wave, short):
    X, y = wave
    new = np.random.default_rng(3).normal(size=(15, 2))
    model = BnnRegressor(**short).fit(X, y)
    means = model.predict_mean_draws(new)
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(means.mean(axis=0), mean, rtol=1e-10)
    parts = model.decompose_uncertainty(new)
    np.testing.assert_allclose(parts.of_mean, means.var(axis=0), rtol=1e-8)
    np.testing.assert_allclose(parts.of_mean + parts.noise, parts.total)
    np.testing.assert_allclose(np.sqrt(parts.total), std)
    levels = (0.05, 0.5, 0.95)
    mean_again, lower, upper, *quantiles = model.predict(new, interval=0.9, quantiles=levels)
    np.testing.assert_array_equal(mean, mean_again)
    np.testing.assert_allclose([quantiles[0], quantiles[2]], [lower, upper])
    samples = model.sample_y(new, len(means))
    np.testing.assert_allclose(np.quantile(samples, levels, axis=1), quantiles, rtol=1e-10)
    assert model.sample_y(new).shape == (15, 1)
    np.testing.assert_array_equal(model.sample_y(new, 3), model.sample_y(new, 3))
    with pytest.raises(ValueError, match="n_samples"):
        model.sample_y(new, 10**6)
    with pytest.raises(ValueError, match="quantiles"):
        model.predict(new, quantiles=[1.5])


def test_parts_of_classes_are_entropies():
    X = np.random.default_rng(2).normal(size=(90, 2))
    y = np.array(["c", "a", "b"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = BnnClassifier(hidden=(3,), chains=2, warmup=200, draws=200, random_state=1).fit(X, y)
    p = model.predict_proba(X)
    draws = model.predict_mean_draws(X)
    np.testing.assert_allclose(draws.mean(axis=0), p, rtol=1e-10)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p))
    parts = model.decompose_uncertainty(X)
    entropy = -(p * np.log(p)).sum(axis=1)
    expected = -(draws * np.log(draws)).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(parts.total, entropy, rtol=1e-8)
    np.testing.assert_allclose(parts.noise, expected, rtol=1e-8)
    np.testing.assert_allclose(parts.of_mean, entropy - expected, atol=1e-12)


def test_relevance_is_of_columns(wave, short):
    X, y = wave
    model = BnnRegressor(**{**short, "draws": 200}, weight_prior="scales").fit(X, y)
    relevance = model.explain().relevance()
    assert list(relevance) == ["x1", "x2"] and relevance["x1"].shape == (400,)
    assert np.median(relevance["x1"]) > np.median(relevance["x2"])
    assert BnnRegressor(**short).fit(X, y).explain().relevance() == {}

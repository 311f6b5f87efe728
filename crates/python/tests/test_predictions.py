"""Predictions, against forward passes in NumPy over the draws of `to_datatree`."""

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor, NotConvergedWarning
from scipy.special import softmax


def tree_of(model):
    pytest.importorskip("xarray", reason="draws are read by xarray, which is not installed")
    pytest.importorskip("zarr", reason="draws are read by zarr, which is not installed")
    return model.to_datatree()


def outputs(model, X):
    """The output of each draw: [draw, row, output], and the draws."""
    tree = tree_of(model)
    x = tree["constant_data"]["x"].values
    posterior = {
        name: values.values.reshape(-1, *values.shape[2:])
        for name, values in tree["posterior"].data_vars.items()
    }
    z = (X - x.mean(axis=0)) / x.std(axis=0)
    hidden = np.tanh(np.einsum("rf,shf->srh", z, posterior["w0"]) + posterior["b0"][:, None])
    return np.einsum("srh,soh->sro", hidden, posterior["w1"]) + posterior["b1"][:, None], posterior


def test_mean_and_std_of_normal_noise(wave, short):
    X, y = wave
    new = np.random.default_rng(2).normal(size=(20, 2))
    model = BnnRegressor(**short).fit(X, y)
    mean, std = model.predict(new, return_std=True)
    out, posterior = outputs(model, new)
    out = out[:, :, 0] * y.std() + y.mean()
    noise = np.exp(posterior["log_noise_variance"]) * y.var()
    np.testing.assert_allclose(mean, out.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(std, np.sqrt(out.var(axis=0) + noise.mean()), rtol=1e-10)
    assert (model.predict(new) == mean).all()


def test_mean_and_std_of_noise_by_row(short):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 1))
    y = 2 * X[:, 0] + np.exp(X[:, 0]) * rng.normal(size=200)
    model = BnnRegressor(**{**short, "noise": "heteroscedastic"}).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    out, posterior = outputs(model, X)
    means = out[:, :, 0] * y.std() + y.mean()
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-10)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    log_sd = np.einsum("rf,sof->sro", z, posterior["log_sd"]) + posterior["log_sd_bias"][:, None]
    noise = np.exp(2 * log_sd[:, :, 0]).mean(axis=0) * y.var()
    np.testing.assert_allclose(std, np.sqrt(means.var(axis=0) + noise), rtol=1e-10)
    assert std[X[:, 0].argmax()] > 5 * std[X[:, 0].argmin()]


def test_a_transformed_response_is_predicted_itself(wave, short):
    X, z = wave
    y = np.exp(0.3 * z)
    model = BnnRegressor(**{**short, "response_transform": "log"}).fit(X, y)
    mean, std, lower, upper = model.predict(X, return_std=True, interval=0.8)
    by_hand = BnnRegressor(**short).fit(X, np.log(y))
    _, below, above = by_hand.predict(X, interval=0.8)
    out, posterior = outputs(model, X)
    variance = np.exp(posterior["log_noise_variance"]) * np.log(y).var()
    mu = out[:, :, 0] * np.log(y).std() + np.log(y).mean()
    means = np.exp(mu + variance[:, None] / 2)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-10)
    spread = (means**2 * np.expm1(variance)[:, None]).mean(axis=0)
    np.testing.assert_allclose(std, np.sqrt(means.var(axis=0) + spread), rtol=1e-10)
    # Quantiles between two draws are not those of logarithms.
    np.testing.assert_allclose([lower, upper], np.exp([below, above]), rtol=0.02)
    assert model.scores(X, y)["rmse"] == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    with pytest.raises(ValueError, match="row 1, column `y1`: 0 cannot be transformed"):
        model.scores(X[:1], [0.0])
    with pytest.raises(ValueError, match='response_transform="yeo_johnson"'):
        BnnRegressor(**{**short, "response_transform": "box_cox"}).fit(X, z - z.mean())


def test_intervals_are_quantiles_of_predictive_draws(wave, short):
    X, y = wave
    model = BnnRegressor(**short).fit(X, y)
    drawn = tree_of(model)["posterior_predictive"]["y1"].values
    drawn = drawn.reshape(-1, len(y))
    mean, lower, upper = model.predict(X, interval=0.8)
    np.testing.assert_allclose(lower, np.quantile(drawn, 0.1, axis=0), rtol=1e-10)
    np.testing.assert_allclose(upper, np.quantile(drawn, 0.9, axis=0), rtol=1e-10)
    assert (model.predict(X) == mean).all()


def test_what_predict_returns(wave, short):
    X, y = wave
    model = BnnRegressor(**short).fit(X, y)
    assert isinstance(model.predict(X), np.ndarray)
    assert len(model.predict(X, interval=0.9)) == 3
    mean, std, lower, upper = model.predict(X, return_std=True, interval=0.9)
    assert mean.shape == std.shape == lower.shape == upper.shape == y.shape
    assert (lower < mean).all() and (mean < upper).all()
    # Of nearly normal predictions.
    assert ((upper - lower) / (2 * 1.645 * std)).mean() == pytest.approx(1, abs=0.1)
    assert ((lower < y) & (y < upper)).mean() == pytest.approx(0.9, abs=0.07)


@pytest.mark.parametrize("level", [0, 1, 1.5, "0.9", float("nan")])
def test_a_level_that_is_none_is_refused(wave, short, level):
    model = BnnRegressor(**short).fit(*wave)
    with pytest.raises(ValueError, match=r"`interval` is .*, but must be a number between 0 and 1"):
        model.predict(wave[0], interval=level)


def test_rows_in_blocks_are_the_same_rows(wave):
    X, y = wave
    # 8,000 draws: blocks of 1,048 rows.
    model = BnnRegressor(hidden=(), warmup=100, draws=2000, random_state=1).fit(X, y)
    many = np.tile(X, (8, 1))
    mean, std, lower, upper = model.predict(many, return_std=True, interval=0.9)
    assert mean.shape == std.shape == lower.shape == upper.shape == (1200,)
    for values in (mean, std):
        np.testing.assert_allclose(values, np.tile(values[:150], 8), rtol=1e-12)
    # Ends of intervals have other draws of the noise.
    np.testing.assert_allclose(lower, np.tile(lower[:150], 8), atol=0.3)
    assert (model.predict(many[:1048], interval=0.9)[1] == lower[:1048]).all()
    assert (model.predict(many[1048:], interval=0.9)[1] == lower[1048:]).all()


def test_several_outputs(wave, short):
    X, y = wave
    both = np.column_stack([y, -5 * X[:, 1] + 0.1 * y])
    model = BnnRegressor(**short).fit(X, both)
    mean, std, lower, upper = model.predict(X, return_std=True, interval=0.9)
    assert mean.shape == std.shape == lower.shape == upper.shape == (150, 2)
    assert model.score(X, both) > 0.8
    out, posterior = outputs(model, X)
    out = out * both.std(axis=0) + both.mean(axis=0)
    # All columns share one variance on the scale of the standardised response.
    noise = np.exp(posterior["log_noise_variance"]).mean() * both.var(axis=0)
    np.testing.assert_allclose(mean, out.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(std, np.sqrt(out.var(axis=0) + noise), rtol=1e-10)
    # A matrix of one column stays one.
    assert BnnRegressor(**short).fit(X, y[:, None]).predict(X).shape == (150, 1)


def test_outliers_are_noise_of_student_t(short):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 1))
    y = X[:, 0] + 0.1 * rng.standard_t(2, size=200)
    model = BnnRegressor(**{**short, "noise": "student_t", "hidden": ()}).fit(X, y)
    normal = BnnRegressor(**{**short, "hidden": ()}).fit(X, y)
    name = "log_predictive_density"
    assert model.scores(X, y)[name] > normal.scores(X, y)[name] + 0.1
    # Some draws have two degrees of freedom or fewer, and no variance.
    _, std, lower, upper = model.predict(X, return_std=True, interval=0.9)
    assert np.isinf(std).all() and np.isfinite(upper - lower).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_classes_with_names(short, n_classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    names = np.array(["no", "yes", "Maybe"])[:n_classes]
    y = names[np.digitize(X[:, 0] + 0.3 * rng.normal(size=200), [0, 0.8][: n_classes - 1])]
    model = BnnClassifier(**short).fit(X, y)
    assert list(model.classes_) == sorted(names)
    probabilities = model.predict_proba(X)
    out, _ = outputs(model, X)
    if n_classes == 2:
        out = np.concatenate([np.zeros_like(out), out], axis=2)
    np.testing.assert_allclose(probabilities, softmax(out, axis=2).mean(axis=0), rtol=1e-9)
    assert (model.predict(X) == model.classes_[probabilities.argmax(axis=1)]).all()
    assert model.score(X, y) == model.scores(X, y)["accuracy"] > 0.8
    with pytest.raises(ValueError, match="`never` is not among the classes of the training rows: "):
        model.scores(X[:1], ["never"])


def test_labels_keep_their_type(short):
    X = np.linspace(0, 1, 40)[:, None]
    for labels in ([False, True], [3, 7], [0.5, 1.0]):
        y = np.array(labels)[(X[:, 0] > 0.5).astype(int)]
        if y.dtype == float:
            with pytest.raises(ValueError, match="Unknown label type: continuous"):
                BnnClassifier(**short).fit(X, y)
        else:
            assert BnnClassifier(**short).fit(X, y).predict(X).dtype == y.dtype


def test_counts(short):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 1))
    y = rng.poisson(np.exp(1 + 0.8 * X[:, 0]))
    model = BnnCounts(**{**short, "noise": "poisson"}).fit(X, y)
    mean, std, lower, upper = model.predict(X, return_std=True, interval=0.9)
    out, _ = outputs(model, X)
    rate = np.exp(out[:, :, 0])
    np.testing.assert_allclose(mean, rate.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(std, np.sqrt(rate.var(axis=0) + rate.mean(axis=0)), rtol=1e-9)
    rmse = np.sqrt(np.mean((mean - y) ** 2))
    assert model.scores(X, y)["rmse"] == pytest.approx(rmse)
    assert (lower >= 0).all() and ((lower <= y) & (y <= upper)).mean() > 0.85
    with pytest.raises(ValueError, match=r"1\.5 is not a count"):
        BnnCounts(**short).fit(X, np.where(np.arange(300) == 3, 1.5, y))


def test_intervals_of_counts_end_at_counts(short):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 1))
    y = rng.poisson(np.exp(0.8 * X[:, 0] - 1))
    model = BnnCounts(**short).fit(X, y)
    drawn = tree_of(model)["posterior_predictive"]["y1"].values.reshape(-1, len(y))
    for level in (0.5, 0.9, 0.95, 0.99):
        _, lower, upper = model.predict(X, interval=level)
        for end, tail in ((lower, 0.5 - level / 2), (upper, 0.5 + level / 2)):
            assert (end == end.round()).all()
            assert (end == np.quantile(drawn, tail, axis=0, method="inverted_cdf")).all()
        assert ((lower <= drawn) & (drawn <= upper)).mean(axis=0).min() >= level
    # Interpolated, ends lie between counts.
    assert (np.quantile(drawn, 0.95, axis=0) % 1 != 0).any()


def test_conformal_intervals_hold_although_the_chains_did_not_converge(wave):
    X, y = wave
    rng = np.random.default_rng(5)
    with pytest.warns(NotConvergedWarning):
        model = BnnRegressor(hidden=(3,), chains=2, warmup=4, draws=8, random_state=1)
        model.fit(X[:20], y[:20])
    rest = rng.permutation(np.arange(20, len(y)))
    kept, new = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    rows = X[kept], y[kept]
    mean, std, lower, upper = model.predict(X[new], True, 0.8, conformal=rows)
    assert (mean == model.predict(X[new])).all() and (std > 0).all()
    held = np.mean((lower <= y[new]) & (y[new] <= upper))
    assert abs(held - 0.8) < 4 * np.sqrt(0.16 / len(kept) + 0.16 / len(new)), held
    # Both ends of the predictive interval move by the same.
    _, low, high = model.predict(X[new], interval=0.8)
    np.testing.assert_allclose(low - lower, upper - high, atol=1e-9)
    with pytest.warns(UserWarning, match="at a level of 0.8 at least 4 rows of calibration"):
        few = model.predict(X[new], interval=0.8, conformal=[X[20:23], y[20:23]])
    assert np.isinf(few[1:]).all()
    assert np.isfinite(model.predict(X[new], interval=0.8, conformal=(X[20:24], y[20:24]))).all()
    with pytest.raises(ValueError, match="`rows to calibrate on` is none that the model"):
        model.predict(X[new], interval=0.8, conformal="training")
    with pytest.raises(ValueError, match="`conformal` takes `interval`"):
        model.predict(X[new], conformal=rows)
    with pytest.raises(ValueError, match="`conformal` is 3, but must be"):
        model.predict(X[new], interval=0.8, conformal=3)
    with pytest.raises(ValueError, match=r"(?s)`conformal` is .{80} \.\.\., but must be"):
        model.predict(X[new], interval=0.8, conformal=X)
    for wrong in (0.5, "0.5", [], [2.0], ["a"]):
        with pytest.raises(ValueError, match=r"`quantiles` is .*, but must be probabilities"):
            model.predict(X[new], quantiles=wrong)


def test_medians_are_called_so(wave, short):
    X, y = wave
    y = np.exp(y)
    model = BnnRegressor(**short, noise="student_t", response_transform="log").fit(X, y)
    assert model.centre_ == "median" and "predicts    medians" in model.recipe_
    logs = BnnRegressor(**short, noise="student_t").fit(X, np.log(y))
    assert logs.centre_ == "mean" and "predicts" not in logs.recipe_
    np.testing.assert_allclose(
        model.predict_mean_draws(X[:5]), np.exp(logs.predict_mean_draws(X[:5])), rtol=1e-9
    )
    assert BnnRegressor(**short, response_transform="log").fit(X, y).centre_ == "mean"


def test_conformal_sets_of_classes():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + rng.logistic(size=300) > 0, "10", "9")
    y[X[:, 1] + 0.5 * rng.logistic(size=300) > 1] = "b"
    model = BnnClassifier(hidden=(), chains=2, warmup=200, draws=400, random_state=1)
    model.fit(X[:100], y[:100])
    for conformal in [(X[100:200], y[100:200]), "training"]:
        sets = model.predict_set(X[200:], level=0.8, conformal=conformal)
        assert sets.shape == (100, 3) and sets.dtype == bool
        places = np.searchsorted(model.classes_, y[200:])
        held = sets[np.arange(100), places].mean()
        assert abs(held - 0.8) < 0.2, held
        # The most probable class is in every set but the empty ones.
        top = model.predict_proba(X[200:]).argmax(axis=1)
        assert sets[np.arange(100), top][sets.any(axis=1)].mean() > 0.95

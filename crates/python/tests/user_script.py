"""What a user writes, for `mypy --strict`: types of settings, predictions and files."""

from pathlib import Path

import numpy as np
from bnn_mcmc import (
    BnnClassifier,
    BnnCounts,
    BnnRegressor,
    Comparison,
    Figure,
    NotConvergedWarning,
    Progress,
    Search,
    Verdict,
    compare,
)
from numpy.typing import NDArray


def fit(x: NDArray[np.float64], y: NDArray[np.float64], folder: Path) -> float:
    model = BnnRegressor(
        hidden=(16, 16),
        activation="relu",
        weight_prior="ard",
        noise="student_t",
        method="nuts",
        target_accept=0.9,
        random_state=np.random.default_rng(1),
        n_jobs=None,
        folder=folder,
    ).fit(x, y)
    print(model.predict(x).mean())
    print(*model.predict(x, return_std=True))
    _, lower, upper = model.predict(x, interval=0.9)
    mean, sd, lower, upper = model.predict(x, return_std=True, interval=0.9)
    print(mean)
    inside = float(((lower <= y) & (y <= upper)).mean())
    verdict: Verdict = model.verdict_
    print(verdict.outcome, verdict.converged, str(verdict), model.converged_, model.recipe_)
    print(model.diagnostics_["max_rhat"], model.feature_names_in_, model.n_features_in_)
    scores = model.scores(x, y)
    model.save(folder / "model")
    loaded: BnnRegressor = BnnRegressor.load(folder / "model")
    return inside + scores["rmse"] + loaded.score(x, y) + float(sd.mean())


def said(x: NDArray[np.float64], y: NDArray[np.float64], folder: Path) -> Comparison:
    heard: list[Progress] = []
    model = BnnRegressor(hidden=(4,), random_state=1, verbose=heard.append).fit(x, y)
    model.report(folder / "report.html")
    figures: list[Figure] = [
        *model.plot_predictions(x, y),
        *model.plot_checks(),
        model.plot_calibration(),
        model.plot_chains("ranks"),
        model.explain().plot_effect("x1", kind="accumulated"),
    ]
    figures[0].save(folder / "figure.svg")
    slope: NDArray[np.float64] = model.summary("parameters").mean
    updated: BnnRegressor = model.update(x, y)
    print(slope, updated.update_.has_drifted, heard[-1].phase, model.loo().pareto_k.max())
    return compare({"before": model, "after": model.loo()})


def classes(x: NDArray[np.float64], y: list[str]) -> NDArray[np.float64]:
    model = BnnClassifier(weight_prior=0.5, method="tempered", random_state=1).fit(x, y)
    print(model.classes_, model.predict(x))
    return model.predict_proba(x)


def counts(x: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    model = BnnCounts(noise="poisson", minutes=2).fit(x, y)
    search: Search | None = model.search_
    if search is not None:
        named = BnnCounts(model="network_hurdle", skip=False).fit(x, y)
        print(search, search.chosen, search.rows, search.tried["linear"], named.search_)
        print(search.coverage[0.9])
    mean, lower, upper = model.predict(x, interval=0.95)
    return float((upper - lower).mean() + mean.mean())


WARNING: type[UserWarning] = NotConvergedWarning

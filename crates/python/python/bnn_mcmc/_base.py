"""What the estimators share: settings, columns, a fit, files."""

import copy
import inspect
import itertools
import json
import os
import tempfile
import types
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from . import _storage  # noqa: F401  (fits can be pickled)
from ._columns import (
    BLANKS,
    Matrix,
    frame_of,
    known_columns,
    named_columns,
    names_of,
    shown,
    table_of,
    table_of_array,
)
from ._explain import Explanation
from ._figure import Figure, Figures, figure_of
from ._native import Columns, Fit
from ._progress import Listener, listener
from ._signals import Terminated, heard, note
from ._sklearn import BaseEstimator
from ._tables import Loo, Summary, loo_of
from ._tasks import are_asked_for, of_tasks
from ._verdict import (
    NotConvergedWarning,
    Search,
    Uncertainty,
    Update,
    Verdict,
    judged,
    searched,
)

if TYPE_CHECKING:
    from xarray import DataTree

    from ._native import Rows, Settings

Model: TypeAlias = Literal[
    "linear",
    "linear_transformed",
    "linear_hurdle",
    "linear_weibull",
    "additive",
    "network",
    "network_transformed",
    "network_curves",
    "network_heteroscedastic",
    "network_deep",
    "network_hurdle",
    "network_weibull",
]
Activation: TypeAlias = Literal["tanh", "relu", "silu", "softplus", "sigmoid", "identity"]
WeightPrior: TypeAlias = Literal["fan_in", "ard", "horseshoe", "scales"]
Method: TypeAlias = Literal["nuts", "mams", "collapsed", "tempered", "ensemble"]
RunUntil: TypeAlias = Literal["settled", "converged"]
ResponseTransform: TypeAlias = Literal["log", "box_cox", "yeo_johnson"]
RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator
Folder: TypeAlias = str | PathLike[str]

# The version of `estimator.json`.
FORMAT = 4
# Formats that are read, too: they also have the columns, which the fit has. The first one only if
# there are neither groups nor an exposure: these were no names of X.
OLD = (2, 3)
ESTIMATOR = "estimator.json"
MOST_THREADS = 4096


class Bnn(BaseEstimator):
    """What the estimators share."""

    # The name of this kind of response in `fit.json`.
    _task: str

    # Settings, which each class lists with the others of its own.
    model: Model | None
    hidden: Sequence[int] | None
    activation: Activation
    skip: bool | None
    power_features: bool | None
    group: str | Sequence[str] | None
    weight_prior: WeightPrior | float | None
    method: Method | None
    target_accept: float | None
    chains: int | None
    warmup: int | None
    draws: int | None
    minutes: float | None
    run_until: RunUntil | None
    most_rows: int | None
    impute: int | None
    random_state: RandomState | None
    n_jobs: int | None
    folder: Folder | None
    verbose: bool | Listener

    # What fit() leaves.
    _fit: Fit
    verdict_: Verdict
    converged_: bool
    settled_: bool
    diagnostics_: dict[str, Any]
    recipe_: str
    centre_: str
    search_: Search | None
    update_: Update
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def _set(self, settings: dict[str, Any]) -> None:
        """Keeps the arguments of `__init__`, each in the attribute of its name."""
        for name, value in settings.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fit")

    def save(self, folder: str | PathLike[str]) -> None:
        """Writes the fitted estimator to a folder, which is made.

        The folder holds what the Rust crate writes of a fit, in formats that outlive versions of
        Python (`fit.json`, `data.csv`, `draws.zarr`, `verdict.txt`), and `estimator.json`, with
        what Python adds. It is JSON, CSV and Zarr: unlike a pickle it can hold no program, and is
        safe to load from others.

        Parameters
        ----------
        folder : path
            The folder. If it exists, it must be empty.
        """
        check_is_fitted(self)
        self._fit.save(folder, self._threads())
        self._write_estimator(Path(folder))

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """The estimator that `save`, or a `fit` with the setting `folder`, has written to a folder.

        It may also be the folder of a run of the command `bnn-mcmc`, or of the Rust crate: columns
        of the table that were ignored there are no features here, and classes whose names are whole
        numbers, or true and false, become ints or bools.

        A folder holds JSON, CSV and Zarr, and is safe to load from others. Pickles are not: load
        only those that you trust.

        Parameters
        ----------
        folder : path
            The folder.
        """
        path = Path(folder) / ESTIMATOR
        if not path.exists():
            estimator = cls()
            fit = Fit.load(folder, estimator._threads())
            estimator._describe(fit, Path(folder))
            estimator._take(fit)
            return estimator
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
            kind, version = saved["class"], saved["format"]
            is_plain = not saved.get("groupings") and not saved["parameters"].get("exposure")
            is_known = version == FORMAT or (version in OLD and (version > 2 or is_plain))
            matches = kind == cls.__name__ and is_known
            known = cls._of(saved) if matches else None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: it is not as `save` wrote it: {error!r}") from error
        if known is None:
            raise ValueError(
                f"{path}: it is of a {kind} in format {version}, not of a {cls.__name__} in format "
                f"{FORMAT}"
            )
        known._take(Fit.load(folder, known._threads()))
        return known

    @classmethod
    def _of(cls, saved: dict[str, Any]) -> Self:
        """The estimator that `estimator.json` describes, without its fit."""
        parameters = saved["parameters"]
        if parameters["hidden"] is not None:
            parameters["hidden"] = tuple(parameters["hidden"])
        estimator = cls(**parameters)
        estimator.n_features_in_ = saved["n_features_in"]
        if saved["feature_names_in"] is not None:
            estimator.feature_names_in_ = np.array(saved["feature_names_in"], dtype=object)
        estimator._set_response(saved["response"])
        return estimator

    def _describe(self, fit: Fit, folder: Path) -> None:
        """Takes the settings, the columns and the response of a fit that no estimator wrote."""
        description = json.loads(fit.description())
        recipe, schema = description["recipe"], description["schema"]
        if recipe["task"] != self._task:
            raise ValueError(
                f"{folder}: the fit is of the task `{recipe['task']}`, and a {type(self).__name__} "
                f"of `{self._task}`"
            )
        hidden, weights = recipe["hidden"], recipe.get("weights")
        self.hidden = None if hidden is None else tuple(hidden)
        self.activation = recipe["activation"].lower()
        of_curves = "network_curves" if hidden else "additive"
        self.model = of_curves if recipe.get("curves") else None
        self.skip = recipe.get("skip")
        self.power_features = recipe.get("power_features")
        self.weight_prior = weights["normal"]["sd"] if isinstance(weights, dict) else weights
        self.method = recipe["method"]
        self.target_accept = recipe.get("target_accept")
        self.chains, self.warmup, self.draws = (recipe[k] for k in ("chains", "warmup", "draws"))
        self.run_until = "settled" if recipe.get("is_short") else None
        self.impute = recipe["imputed"]["of"] if "imputed" in recipe else None
        self.random_state = recipe["seed"]
        if "noise" in self.get_params(deep=False):
            self.set_params(noise=recipe["noise"])
        if "response_transform" in self.get_params(deep=False):
            self.set_params(response_transform=recipe.get("transform"))
        reader = {} if schema is None else schema["reader"]
        if "exposure" in self.get_params(deep=False):
            self.set_params(exposure=reader.get("exposure"))
        groups = reader.get("groups", [])
        self.group = None if not groups else groups[0] if len(groups) == 1 else groups
        known = known_columns(fit.columns())
        names = [name for name, (kind, _) in known.items() if kind != "left_out"]
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._set_response(self._response_of(description))

    def _response_of(self, description: dict[str, Any]) -> dict[str, Any]:
        """What is known of the response of a fit that no estimator wrote."""
        raise NotImplementedError

    def to_datatree(self) -> "DataTree":
        """The draws for ArviZ, as a `DataTree` of xarray in memory.

        Groups: `posterior` (the weights, for standardised features and response) and
        `sample_stats`; `posterior_predictive`, `log_likelihood` and `observed_data` of the training
        rows, in units of the response; `constant_data` with the features as numbers. Its size is
        the number of draws times that of weights and training rows. ArviZ before 1.0 takes it by
        ``arviz.from_datatree``.

        The log likelihood of all rows together is the array `joint_log_likelihood` of
        `sample_stats`.

        Returns
        -------
        xarray.DataTree
        """
        check_is_fitted(self)
        if self._fit.is_imputed():
            raise ValueError(
                "`to_datatree` is of the draws of one table, and with `impute` there are several"
            )
        try:
            import xarray
            import zarr  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"to_datatree needs {error.name}: pip install arviz xarray zarr"
            ) from error
        with tempfile.TemporaryDirectory() as parent:
            path = Path(parent) / "draws.zarr"
            self._fit.to_zarr(path, self._threads())
            # `DataTree.load` leaves out arrays that are called like a group.
            groups = xarray.open_groups(path, engine="zarr")
            loaded = {name: group.load() for name, group in groups.items()}
        for group in loaded.values():
            for one in [group, *group.variables.values()]:
                # netCDF has numbers and texts alone.
                one.attrs = {
                    key: json.dumps(value) if isinstance(value, dict) else value
                    for key, value in one.attrs.items()
                    if value is not None
                }
        return xarray.DataTree.from_dict(loaded)

    def predict_mean_draws(self, X: Any) -> Matrix:
        """The mean function E[y | x, q] of each row by each posterior draw q.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.

        Returns
        -------
        ndarray of shape (n_draws, n_samples), (n_draws, n_samples, n_outputs) or \
                (n_draws, n_samples, n_classes)
            In units of the response; of classes their probabilities, in the order of `classes_`.
        """
        return self._arranged(self._fit.draws(self._new_rows(X), True, self._threads()))

    def decompose_uncertainty(self, X: Any) -> Uncertainty:
        """The uncertainty of a new observation in two parts.

        One is of the mean function, and more rows would reduce it (epistemic); the other is noise,
        which they would not (aleatoric). Of numbers the parts are variances, of classes entropies
        in nats: of the class, the mutual information of class and parameters, and the expected
        entropy.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.

        Returns
        -------
        uncertainty : Uncertainty
        """
        parts = self._fit.decompose(self._new_rows(X), self._threads())
        total, of_mean, noise = (part[:, 0] if part.shape[1] == 1 else part for part in parts)
        return Uncertainty(total, of_mean, noise)

    def _arranged(self, draws: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draws `[draw, row, output]` in the shape of the response."""
        return draws[:, :, 0] if draws.shape[2] == 1 else draws

    def explain(self) -> Explanation:
        """The effects of the columns of the table on predictions, and their importance.

        They are averaged over at most 2,000 rows of the table, and take about 1,000 draws, evenly
        spaced. A model of imputed tables has none so far.

        Returns
        -------
        explanation : Explanation
            Its methods `effect`, `contrast`, `importance` and `sobol` have the answers.

        Examples
        --------
        >>> import numpy as np
        >>> from bnn_mcmc import BnnRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = 2 * X[:, 0]
        >>> model = BnnRegressor(hidden=(), chains=2, random_state=0).fit(X, y)
        >>> explanation = model.explain()
        >>> bool(abs(explanation.contrast("x1", 0, 1).mean - 2) < 0.1)
        True
        """
        check_is_fitted(self)
        return Explanation(self._fit, self._threads())

    def report(self, path: str | PathLike[str]) -> None:
        """Writes a report of the fit: one HTML page with all figures inside.

        The verdict comes first, then scores beside those of a linear model, which is fitted for it,
        effects, predictions, convergence, data and model. The page needs no other file and no
        network. A model of imputed tables has none so far.

        Parameters
        ----------
        path : path
            The file to write.
        """
        check_is_fitted(self)
        # Before the page is made.
        folder = Path(path).absolute().parent
        if not folder.is_dir():
            raise FileNotFoundError(f"`path` is {str(path)!r}, but there is no folder {folder}")
        page = self._fit.report(self._threads())
        Path(path).write_text(page, encoding="utf-8")

    def loo(self) -> Loo:
        """How well each training row is predicted from the others, without refits (PSIS-LOO).

        `compare` takes it for models of the same rows.

        Returns
        -------
        loo : Loo
        """
        check_is_fitted(self)
        return loo_of(self._fit.loo(self._threads()))

    def summary(self, of: Literal["predictions", "parameters"] = "predictions") -> Summary:
        """Posterior means and the diagnostics of the chains.

        Parameters
        ----------
        of : "predictions" or "parameters"
            The mean predictions of at most 200 training rows, on which chains that have converged
            agree; or weights and other parameters, for standardised features and response, which
            may disagree where nothing is wrong: hidden units can be exchanged.

        Returns
        -------
        summary : Summary
        """
        check_is_fitted(self)
        if of not in ("predictions", "parameters"):
            raise ValueError(f'`of` is {of!r}, but must be "predictions" or "parameters"')
        names, numbers = self._fit.summary(of == "parameters", self._threads())
        return Summary(names, *numbers.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def plot_predictions(self, X: Any, y: Any) -> list[Figure]:
        """Rows with a known response beside their predictions.

        Parameters
        ----------
        X, y : array-like
            Rows with their response, as `score` takes them: best such that had no part in the fit.

        Returns
        -------
        list of Figure
            Of numbers observed against predicted values, with intervals of 90 %, for each column of
            the response; of classes the confusion matrix. Times have none.
        """
        drawn = self._fitted().figures_of_predictions(self._with_response(X, y), self._threads())
        return Figures(figure_of(one) for one in drawn)

    def plot_calibration(self, X: Any = None, y: Any = None) -> Figure:
        """Whether probabilities are right, of intervals or of classes.

        Of numbers the share of responses within intervals, by their level; of classes the share of
        rows that have them, by the predicted probability.

        Parameters
        ----------
        X, y : array-like, optional
            Rows with their response, as `score` takes them. Without them the intervals of the
            training rows are those of predictions from all other rows, without refits; classes need
            rows. Times have none.

        Returns
        -------
        Figure
        """
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together, or neither of them")
        fit = self._fitted()
        rows = None if X is None else self._with_response(X, y)
        return figure_of(fit.figure_of_calibration(rows, self._threads()))

    def plot_chains(self, kind: Literal["trace", "ranks", "ess", "rhat"] = "trace") -> Figure:
        """The chains: their log likelihood, and the predictions on which they agree least.

        Parameters
        ----------
        kind : "trace", "ranks", "ess" or "rhat"
            The draws along the chains; the differences of their ranks from uniform ones, which show
            where chains disagree; the effective sample size by the number of draws; R-hat of all
            predictions.

        Returns
        -------
        Figure
        """
        return figure_of(self._fitted().figure_of_chains(kind, self._threads()))

    def plot_checks(self) -> list[Figure]:
        """Predictive checks: would the model have made rows like the observed ones?

        Statistics of the training responses beside those of responses that the model would have
        made in their place, and responses that the prior expects. A statistic far outside tells
        what the model cannot make. Times have none.

        Returns
        -------
        list of Figure
            One for each column of the response.
        """
        drawn = self._fitted().figures_of_checks(self._threads())
        return Figures(figure_of(one) for one in drawn)

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """The estimator after new rows, without a new fit where they are few.

        Its draws are weighted for the new rows, or moved in a few steps; scalings and the chosen
        model stay. A model of imputed tables, and an ensemble, cannot be updated.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.
        y : array-like
            Their response, as `fit` takes it.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the new rows, as `fit` takes them, where the rows of the fit have weights,
            too. None: each row counts once.

        Returns
        -------
        updated : estimator
            Another estimator of the same class, whose attribute `update_` says what was done and
            whether the new rows are unlike the others. This one stays as it is.
        """
        fit, rows = self._fitted(), self._with_response(X, y)
        weights = listed_weights(weights_of(sample_weight, len(rows[0])))
        updated, words, has_drifted, text = fit.update(rows, weights, self._threads())
        numbers = json.loads(text)
        estimator = copy.copy(self)
        estimator._take(updated)
        estimator.update_ = Update(
            words,
            has_drifted,
            numbers["rows"],
            np.nan if numbers["k"] is None else numbers["k"],
            numbers["drift"],
            numbers["gradients"],
        )
        return estimator

    def _fitted(self) -> Fit:
        check_is_fitted(self)
        return self._fit

    def _with_response(self, X: Any, y: Any) -> "Rows":
        """Rows with a known response as the native half takes them."""
        raise NotImplementedError

    def _features_of(
        self, X: Any, y: Any, sample_weight: Any, **y_checks: Any
    ) -> tuple[Matrix, Any, Matrix | None, Columns]:
        """The training rows as numbers, their response, their weights if they have any, and what
        the columns are.
        """
        checks: dict[str, Any] = {"dtype": np.float64, "ensure_min_samples": 2, **y_checks}
        frame, exposure = frame_of(X), getattr(self, "exposure", None)
        groups = [self.group] if isinstance(self.group, str) else list(self.group or [])
        if frame is not None:
            validate_data(self, X=frame.to_native(), y=y, skip_check_array=True)
            # Of as many numbers as there will be at least, all the same one.
            like = np.broadcast_to(0.0, frame.shape)
            _, y = check_X_y(like, y, estimator=self, **checks)
            known = named_columns(frame, groups, exposure)
            table = table_of(frame, names_of(frame), known, "any")
        else:
            self._refuse_beside(groups, exposure)
            refuse_other_than_numbers("X", X)
            found = validate_data(self, X=X, y=y, ensure_all_finite="allow-nan", **checks)
            numbers, y = cast("tuple[Matrix, Any]", found)
            table = table_of_array(numbers, self._names_in(), {})
        weights = weights_of(sample_weight, len(y))
        columns, x, said = Columns.learn(table, listed_weights(weights), groups, exposure)
        warn_of(said)
        return x, y, weights, columns

    def _refuse_beside(self, groups: Sequence[str], exposure: str | None) -> None:
        """Refuses an array if there are to be groups or an exposure."""
        named = [*((name, "a group") for name in groups), (exposure, "the exposure")]
        for name, what in named:
            if name is not None:
                raise ValueError(f"X must be a table with the column `{name}`, {what}")

    def _names_in(self) -> list[str]:
        """The names of the columns of X in training."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{j + 1}" for j in range(self.n_features_in_)]
        return [str(name).strip(BLANKS) for name in names]

    def _new_rows(self, X: Any) -> Matrix:
        """New rows as numbers."""
        columns, frame = self._fitted().columns(), frame_of(X)
        known = known_columns(columns)
        if frame is not None:
            validate_data(self, X=frame.to_native(), reset=False, skip_check_array=True)
            table = table_of(frame, self._names_in(), known)
        else:
            refuse_other_than_numbers("X", X)
            numbers = validate_data(
                self, X=X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
            )
            table = table_of_array(cast("Matrix", numbers), self._names_in(), known)
        x, said = columns.encode(table)
        warn_of(said)
        return cast("Matrix", check_array(x, estimator=self, input_name="X"))

    def _used_names(self) -> list[str]:
        return self._fitted().columns().features()

    def _free(self, columns: Columns, names: list[str]) -> list[str]:
        """Names of the response that no column of X has."""
        taken = set(known_columns(columns))
        free: list[str] = []
        for name in names:
            while name in taken:
                name += "_"
            taken.add(name)
            free.append(name)
        return free

    def _sampled(self, rows: tuple[Any, ...], settings: "Settings") -> Fit:
        """The fit; SIGTERM, SIGHUP and Ctrl-C end it, and what is kept then is said."""
        with heard():
            try:
                if are_asked_for(settings):
                    return of_tasks(rows, settings, self.n_jobs)
                return Fit(*rows, settings=settings)
            except BaseException as end:
                kept = self._kept(end)
                if kept is not None:
                    end.add_note(kept)
                    if isinstance(end, Terminated):
                        note(kept)
                raise

    def _scores(self, rows: "Rows", sample_weight: Any) -> dict[str, float]:
        weights = listed_weights(weights_of(sample_weight, len(rows[0])))
        return dict(self._fit.scores(rows, weights, self._threads()))

    def _kept(self, end: BaseException) -> str | None:
        """What is left of a run that this exception has ended; None if it is of something else."""
        stopped = getattr(end, "stopped", None)
        if stopped is not None:
            return f"the run was {stopped}, and nothing is kept: the same call of fit begins anew"
        made = getattr(end, "draws_made", None)
        if made is None:
            return None
        wanted = "the" if self.draws is None else self.draws
        done = f"after {made} of {wanted} draws of each chain" if made else "in its warm-up"
        if self.folder is None:
            return (
                f"the run was ended {done}, and nothing is kept: with the setting `folder` the "
                "same call of fit would go on from there"
            )
        return (
            f"the run was ended {done}, and all of it is kept in the folder "
            f"`{fspath(self.folder)}`: the same call of fit goes on from there"
        )

    def _forget(self) -> None:
        """An estimator whose fit fails, or is interrupted, is not fitted."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_fit"]:
            delattr(self, name)

    def _take(self, fit: Fit) -> None:
        """Takes a fit, and what is to be said of it."""
        self.verdict_, self.diagnostics_ = judged(fit, self._threads())
        self.converged_ = self.verdict_.converged
        self.settled_ = self.verdict_.settled
        self.recipe_ = fit.recipe()
        self.centre_ = fit.centre()
        self.search_ = searched(fit)
        self._fit = fit

    def _finish(self, fit: Fit) -> Self:
        self._take(fit)
        error = fit.save_error()
        if error is not None:
            warnings.warn(f"the fit could not be saved in its folder: {error}", stacklevel=3)
        elif self.folder is not None:
            try:
                self._write_estimator(Path(self.folder))
            except OSError as error:
                warnings.warn(f"the fit could not be saved in its folder: {error}", stacklevel=3)
        # Of an ensemble nobody expects that its members agree.
        if not self.settled_ and self.verdict_.outcome != "Ensemble":
            warnings.warn(str(self.verdict_), NotConvergedWarning, stacklevel=3)
        return self

    def _threads(self) -> int:
        n_jobs = self.n_jobs
        if n_jobs is not None and not (
            _is_whole(n_jobs) and n_jobs != 0 and n_jobs <= MOST_THREADS
        ):
            raise ValueError(
                f"`n_jobs` is {n_jobs!r}, but must be a whole number from 1 to {MOST_THREADS}, "
                "None, or negative (-1: all processors)"
            )
        # More threads than processors only wait for each other.
        return min(effective_n_jobs(cast("int", n_jobs)), effective_n_jobs(-1))

    def _settings(self, noise: object) -> "Settings":
        """The settings, checked as far as Rust does not do so."""
        hidden = self.hidden
        if hidden is not None:
            is_list = isinstance(hidden, (list, tuple, np.ndarray))
            if not (is_list and all(_is_whole(units) and 0 < units < 2**64 for units in hidden)):
                allowed = (
                    "a sequence of whole numbers from 1, such as (50, 50), or () for a linear model"
                )
                raise ValueError(f"`hidden` is {hidden!r}, but must be {allowed}")
            hidden = [int(units) for units in hidden]
        # Of real responses alone.
        transform = self.get_params(deep=False).get("response_transform")
        weight_prior = self.weight_prior
        if weight_prior is not None and not isinstance(weight_prior, str):
            if not isinstance(weight_prior, Real) or isinstance(weight_prior, bool):
                raise ValueError(
                    f"`weight_prior` is {weight_prior!r}, but must be a name, a standard "
                    "deviation, or None"
                )
            weight_prior = float(weight_prior)
        return {
            "model": None if self.model is None else _name("model", self.model),
            "hidden": hidden,
            "activation": _name("activation", self.activation),
            "skip": None if self.skip is None else _flag("skip", self.skip),
            "weight_prior": weight_prior,
            "noise": None if noise is None else _name("noise", noise),
            "response_transform": (
                None if transform is None else _name("response_transform", transform)
            ),
            "power_features": (
                None
                if self.power_features is None
                else _flag("power_features", self.power_features)
            ),
            "method": None if self.method is None else _name("method", self.method),
            "target_accept": self._target_accept(),
            "chains": None if self.chains is None else _whole("chains", self.chains, 1),
            "warmup": None if self.warmup is None else _whole("warmup", self.warmup, 0),
            "draws": None if self.draws is None else _whole("draws", self.draws, 1),
            "minutes": self._minutes(),
            "run_until": None if self.run_until is None else _name("run_until", self.run_until),
            "most_rows": None if self.most_rows is None else _whole("most_rows", self.most_rows, 2),
            "impute": None if self.impute is None else _whole("impute", self.impute, 2),
            "seed": self._seed(),
            "folder": _path("folder", self.folder),
            "only_chains": None,
            "verbose": not callable(self.verbose)
            and _flag("verbose", self.verbose, " or a callable"),
            "progress": listener(self.verbose),
            "threads": self._threads(),
        }

    def _target_accept(self) -> float | None:
        value = self.target_accept
        if value is None:
            return None
        if not (isinstance(value, Real) and 0 < float(value) < 1):
            raise ValueError(
                f"`target_accept` is {value!r}, but must be a number between 0 and 1, or None"
            )
        return float(value)

    def _minutes(self) -> float | None:
        value = self.minutes
        if value is None:
            return None
        if not (
            isinstance(value, Real)
            and not isinstance(value, bool)
            and 0 <= float(value) < float("inf")
        ):
            raise ValueError(
                f"`minutes` is {value!r}, but must be a finite number from 0 on, or None"
            )
        return float(value)

    def _seed(self) -> int:
        if _is_whole(self.random_state):
            return _whole("random_state", self.random_state, 0)
        if self.folder is not None:
            raise ValueError(
                f"`random_state` is {self.random_state!r}, but must be a whole number for a run in "
                "a folder, so that the same call can go on with it"
            )
        largest = np.iinfo(np.int32).max
        if isinstance(self.random_state, np.random.Generator):
            return int(self.random_state.integers(largest))
        return int(check_random_state(self.random_state).randint(largest))

    def _response(self) -> dict[str, Any]:
        """What is known of the response, as JSON has it."""
        raise NotImplementedError

    def _set_response(self, response: dict[str, Any]) -> None:
        raise NotImplementedError

    def _write_estimator(self, folder: Path) -> None:
        parameters = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        if not _is_whole(self.random_state):
            parameters["random_state"] = self.diagnostics_["seed"]
        names = getattr(self, "feature_names_in_", None)
        estimator = {
            "format": FORMAT,
            "class": type(self).__name__,
            "parameters": parameters,
            "n_features_in": self.n_features_in_,
            "feature_names_in": None if names is None else list(names),
            "response": self._response(),
        }
        text = json.dumps(estimator, indent=2, ensure_ascii=False)
        path, new = folder / ESTIMATOR, folder / f"{ESTIMATOR}.tmp"
        new.write_text(text + "\n", encoding="utf-8")
        os.replace(new, path)


def warn_of(said: Sequence[str]) -> None:
    """Warns of what is said of a table, where a method of an estimator was called."""
    for message in said:
        warnings.warn(message, stacklevel=4)


def weights_of(sample_weight: Any, rows: int) -> Matrix | None:
    """The weight of each row, if rows have weights: one number is the weight of each."""
    if sample_weight is None:
        return None
    refuse_other_than_numbers("sample_weight", sample_weight)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(rows, float(weights))
    if weights.shape != (rows,):
        raise ValueError(
            f"sample_weight has the shape {weights.shape}, but must have the shape ({rows},): a "
            "weight for each row of X"
        )
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight, row {row}: `{weights[row]:g}` is not a weight, which is a finite "
            "number from 0 on"
        )
    if not weights.any():
        raise ValueError(
            "sample_weight is zero for all rows, but must be above zero for one at least"
        )
    return weights


def listed_weights(weights: Matrix | None) -> list[float] | None:
    """Weights as the native half takes them."""
    return None if weights is None else weights.tolist()


def refuse_other_than_numbers(name: str, values: Any) -> None:
    """Refuses an array of times or of text, which NumPy makes numbers of without being asked."""
    if isinstance(values, (list, tuple)):
        try:
            values = np.asarray(values)
        except ValueError:
            return  # It is no array at all, which scikit-learn says.
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if kind in ("m", "M", "U", "S", "T"):
        raise ValueError(f"{name} has the type {dtype}, but must be numbers")
    if kind == "O" and isinstance(values, np.ndarray):
        for place, value in np.ndenumerate(values):
            if isinstance(value, (str, bytes)):
                where = "".join(
                    f", {axis} {i}" for axis, i in zip(("row", "column"), place, strict=False)
                )
                raise ValueError(f"{name}{where}: `{shown(value)}` is text, but must be a number")


def documented_like(estimator: type, other: type) -> None:
    """Gives `estimator` the words of `other` for the parameters and attributes that it has not
    described itself, so that `help` has them all.
    """
    about = inspect.cleandoc(estimator.__doc__ or "").partition("\n\nParameters\n")[0]
    parameters = {**_described(other, "Parameters"), **_described(estimator, "Parameters")}
    attributes = {**_described(other, "Attributes"), **_described(estimator, "Attributes")}
    taken = dict.fromkeys(
        key
        for name in inspect.signature(estimator).parameters
        for key in parameters
        if name in key.split(", ")
    )
    parts = [("Parameters", [parameters[key] for key in taken])]
    parts.append(("Attributes", list(attributes.values())))
    listed = ["\n".join([title, "-" * len(title), *texts]) for title, texts in parts]
    estimator.__doc__ = "\n\n".join([about, *listed]) + "\n"


def _described(estimator: type, title: str) -> dict[str, str]:
    """The entries of a section of the documentation, by their names."""
    lines = inspect.cleandoc(estimator.__doc__ or "").splitlines()
    entries: dict[str, str] = {}
    if title not in lines:
        return entries
    name = ""
    for line, following in itertools.pairwise([*lines[lines.index(title) + 2 :], ""]):
        if following.startswith("---"):
            break
        if line and not line.startswith(" "):
            name = line.partition(" : ")[0]
            entries[name] = " ".join(line.split())
        else:
            entries[name] += f"\n{line}"
    return {name: text.rstrip() for name, text in entries.items()}


def named_by(cls: type) -> None:
    """Gives a public class the methods of its private bases under its own name, which errors of
    Python show.
    """
    for base in cls.__mro__[1:]:
        if base.__module__.partition(".")[0] != __name__.partition(".")[0]:
            continue
        for name, member in vars(base).items():
            inner = member.__func__ if isinstance(member, classmethod) else member
            if (
                name.startswith("_")
                or name in vars(cls)
                or not isinstance(inner, types.FunctionType)
            ):
                continue
            copy = types.FunctionType(
                inner.__code__, inner.__globals__, name, inner.__defaults__, inner.__closure__
            )
            copy.__kwdefaults__, copy.__doc__ = inner.__kwdefaults__, inner.__doc__
            copy.__annotations__, copy.__module__ = inner.__annotations__, cls.__module__
            copy.__qualname__ = f"{cls.__name__}.{name}"
            setattr(cls, name, classmethod(copy) if isinstance(member, classmethod) else copy)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _whole(name: str, value: Any, least: int) -> int:
    if not (_is_whole(value) and least <= value < 2**64):
        raise ValueError(
            f"`{name}` is {value!r}, but must be a whole number from {least} to 2^64 - 1"
        )
    return int(value)


def _path(name: str, value: Any) -> Any:
    if value is not None and not (isinstance(value, (str, PathLike)) and fspath(value)):
        raise ValueError(f"`{name}` is {value!r}, but must be a path, or None")
    return value


def _flag(name: str, value: Any, other: str = "") -> bool:
    if not isinstance(value, (bool, np.bool_, Integral)):
        raise ValueError(f"`{name}` is {value!r}, but must be True or False{other}")
    return bool(value)


def _name(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"`{what}` is {value!r}, but must be a name in text")
    return value


def _plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, (tuple, list, np.ndarray)):
        return [_plain(item) for item in value]
    if callable(value):
        return True  # a listener: what it does is not part of a fit
    return fspath(value) if isinstance(value, PathLike) else value

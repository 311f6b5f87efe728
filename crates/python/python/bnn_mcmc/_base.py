"""What the estimators share: settings, columns, a fit, files."""

import json
import tempfile
import warnings
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from . import _storage  # noqa: F401  (fits can be pickled)
from ._columns import Levels, encoded, encoded_names, is_mixed, levels_of
from ._native import Fit
from ._verdict import NotConvergedWarning, Verdict, judged

if TYPE_CHECKING:
    from ._native import Settings

Matrix = NDArray[np.float64]

# The version of `estimator.json`.
FORMAT = 1
ESTIMATOR = "estimator.json"
MOST_THREADS = 4096


class Bnn(BaseEstimator):
    """What the estimators share."""

    def __init__(
        self,
        *,
        hidden=None,
        activation="tanh",
        weight_prior="fan_in",
        method=None,
        target_accept=None,
        chains=4,
        warmup=1000,
        draws=1000,
        random_state=None,
        n_jobs=-1,
        folder=None,
        verbose=False,
    ):
        self.hidden = hidden
        self.activation = activation
        self.weight_prior = weight_prior
        self.method = method
        self.target_accept = target_accept
        self.chains = chains
        self.warmup = warmup
        self.draws = draws
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.folder = folder
        self.verbose = verbose

    # What fit() leaves.
    _fit: Fit
    _levels: Levels
    _varies: NDArray[np.bool_]
    verdict_: Verdict
    converged_: bool
    diagnostics_: dict[str, Any]
    recipe_: str
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

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

        A folder holds JSON, CSV and Zarr, and is safe to load from others. Pickles are not: load
        only those that you trust.

        Parameters
        ----------
        folder : path
            The folder.
        """
        path = Path(folder) / ESTIMATOR
        if not path.exists() and Path(folder).is_dir():
            raise ValueError(
                f"{folder}: there is no `{ESTIMATOR}`: it is not the folder of an estimator"
            )
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
            kind, version = saved["class"], saved["format"]
            matches = kind == cls.__name__ and version == FORMAT
            estimator = cls._of(saved) if matches else None
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: it is not as `save` wrote it: {error!r}") from error
        if estimator is None:
            raise ValueError(
                f"{path}: it is of a {kind} in format {version}, not of a {cls.__name__} in format "
                f"{FORMAT}"
            )
        estimator._take(Fit.load(folder, estimator._threads()))
        used, inputs = int(estimator._varies.sum()), estimator.diagnostics_["network"][0]
        if used != inputs:
            raise ValueError(
                f"{path}: it is not as `save` wrote it: {used} columns, of a network with {inputs} "
                "inputs"
            )
        return estimator

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
        estimator._levels = saved["levels"]
        estimator._varies = np.array(saved["varies"], dtype=bool)
        estimator._set_response(saved["response"])
        if len(estimator._used_names()) == 0:
            raise ValueError("no column is used")
        return estimator

    def to_datatree(self):
        """The draws for ArviZ, as a `DataTree` of xarray in memory.

        Groups: `posterior` (the weights, for standardised features and response) and
        `sample_stats`; `posterior_predictive`, `log_likelihood` and `observed_data` of the training
        rows, in units of the response; `constant_data` with the features as numbers. Its size is
        the number of draws times that of weights and training rows. ArviZ before 1.0 takes it by
        ``arviz.from_datatree``.

        `sample_stats` has an array `log_likelihood` (of all rows together), which is called like a
        group. `DataTree.load` of xarray loses such arrays; here all groups are in memory already,
        and nothing has to be loaded.

        Returns
        -------
        xarray.DataTree
        """
        check_is_fitted(self)
        try:
            import xarray
            import zarr  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"to_datatree needs {error.name}: pip install 'bnn-mcmc[arviz]'"
            ) from error
        with tempfile.TemporaryDirectory() as parent:
            path = Path(parent) / "draws.zarr"
            self._fit.to_zarr(path, self._threads())
            # `DataTree.load` leaves out an array that is called like a group, as `log_likelihood`
            # is.
            groups = xarray.open_groups(path, engine="zarr")
            return xarray.DataTree.from_dict({name: group.load() for name, group in groups.items()})

    def _features_of(self, X: Any, y: Any, **y_checks: Any) -> tuple[Matrix, Any]:
        """The training rows as numbers, and their response; what the columns are is kept."""
        checks: dict[str, Any] = {"dtype": np.float64, "ensure_min_samples": 2, **y_checks}
        refuse_times("X", X)
        if is_mixed(X):
            validate_data(self, X=X, y=y, skip_check_array=True)
            self._levels = levels_of(X)
            checked = check_X_y(encoded(X, self._levels), y, estimator=self, **checks)
        else:
            checked = validate_data(self, X=X, y=y, **checks)
            self._levels = [None] * self.n_features_in_
        numbers, y = cast("tuple[Matrix, Any]", checked)
        self._varies = (numbers != numbers[0]).any(axis=0)
        if not self._varies.any():
            raise ValueError("every column of X is constant: there is nothing to learn from")
        if not self._varies.all():
            constant = ", ".join(
                f"`{name}` ({value:g})"
                for name, value, varies in zip(
                    self._encoded_names(), numbers[0], self._varies, strict=True
                )
                if not varies
            )
            warnings.warn(
                f"columns that are constant over all training rows are left out: {constant}",
                stacklevel=3,
            )
        return np.ascontiguousarray(numbers[:, self._varies]), y

    def _new_rows(self, X: Any) -> Matrix:
        """New rows as numbers."""
        check_is_fitted(self)
        refuse_times("X", X)
        if any(known is not None for known in self._levels):
            validate_data(self, X=X, reset=False, skip_check_array=True)
            if not hasattr(X, "iloc"):
                raise ValueError(
                    "X must be a table of pandas, as in training: it has columns of categories"
                )
            checked = check_array(encoded(X, self._levels), estimator=self, input_name="X")
        else:
            checked = validate_data(self, X=X, reset=False, dtype=np.float64)
        return np.ascontiguousarray(cast("Matrix", checked)[:, self._varies])

    def _encoded_names(self) -> list[str]:
        """The names of the columns as numbers, of which `_varies` says which are used."""
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{j + 1}" for j in range(self.n_features_in_)] if names is None else list(names)
        return encoded_names(names, self._levels)

    def _used_names(self) -> list[str]:
        return [
            name for name, varies in zip(self._encoded_names(), self._varies, strict=True) if varies
        ]

    def _forget(self) -> None:
        """An estimator whose fit fails, or is interrupted, is not fitted."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_fit"]:
            delattr(self, name)

    def _take(self, fit: Fit) -> None:
        """Takes a fit, and what is to be said of it."""
        self.verdict_, self.diagnostics_ = judged(fit, self._threads())
        self.converged_ = self.verdict_.converged
        self.recipe_ = fit.recipe()
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
        if not self.converged_:
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
        return effective_n_jobs(n_jobs)

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
        weight_prior = self.weight_prior
        if not isinstance(weight_prior, str):
            if not isinstance(weight_prior, Real) or isinstance(weight_prior, bool):
                raise ValueError(
                    f"`weight_prior` is {weight_prior!r}, but must be a name or a standard "
                    "deviation"
                )
            weight_prior = float(weight_prior)
        return {
            "hidden": hidden,
            "activation": _name("activation", self.activation),
            "weight_prior": weight_prior,
            "noise": None if noise is None else _name("noise", noise),
            "method": None if self.method is None else _name("method", self.method),
            "target_accept": self._target_accept(),
            "chains": _whole("chains", self.chains, 1),
            "warmup": _whole("warmup", self.warmup, 0),
            "draws": _whole("draws", self.draws, 1),
            "seed": self._seed(),
            "folder": _path("folder", self.folder),
            "verbose": _flag("verbose", self.verbose),
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

    def _seed(self) -> int:
        if _is_whole(self.random_state):
            return _whole("random_state", self.random_state, 0)
        if self.folder is not None:
            raise ValueError(
                f"`random_state` is {self.random_state!r}, but must be a whole number for a run in "
                "a folder, so that the same call can go on with it"
            )
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

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
            "levels": self._levels,
            "varies": self._varies.tolist(),
            "response": self._response(),
        }
        text = json.dumps(estimator, indent=2, ensure_ascii=False)
        (folder / ESTIMATOR).write_text(text + "\n", encoding="utf-8")


def refuse_times(name: str, array: Any) -> None:
    """Refuses an array of times, which NumPy makes numbers of without being asked."""
    dtype = getattr(array, "dtype", None)
    if getattr(dtype, "kind", None) in ("m", "M"):
        raise ValueError(f"{name} has the type {dtype}, but must be numbers")


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


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_, Integral)):
        raise ValueError(f"`{name}` is {value!r}, but must be True or False")
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
    return fspath(value) if isinstance(value, PathLike) else value

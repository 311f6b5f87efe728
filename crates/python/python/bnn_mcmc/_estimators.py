"""Estimators in the conventions of scikit-learn."""

import math
import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from ._base import (
    Activation,
    Bnn,
    Folder,
    Method,
    Model,
    RandomState,
    ResponseTransform,
    RunUntil,
    WeightPrior,
    documented_like,
    listed_weights,
    named_by,
    refuse_other_than_numbers,
    weights_of,
)
from ._columns import (
    Matrix,
    frame_of,
    is_missing_text,
    listed,
    order_of,
    response_of,
    shown,
)
from ._native import classes_in_order
from ._progress import Listener
from ._sklearn import ClassifierMixin, RegressorMixin

RealNoise: TypeAlias = Literal[
    "gaussian", "heteroscedastic", "student_t", "heteroscedastic_student_t", "beta"
]
CountNoise: TypeAlias = Literal[
    "negative_binomial",
    "poisson",
    "zero_inflated_negative_binomial",
    "zero_inflated_poisson",
    "hurdle_negative_binomial",
    "hurdle_poisson",
]
TimeNoise: TypeAlias = Literal["log_normal", "weibull", "normal"]
ClassNoise: TypeAlias = Literal["ordinal"]

# Rows that had no part in the fit, or the training rows.
Conformal = tuple[Any, Any] | Literal["training"] | None


def calibration_rows(conformal: Any) -> tuple[Any, Any] | None:
    """The rows that conformal regions are calibrated on; None for the training rows."""
    if isinstance(conformal, str) and conformal == "training":
        return None
    if isinstance(conformal, (tuple, list)) and len(conformal) == 2:
        return conformal[0], conformal[1]
    raise ValueError(
        f'`conformal` is {shown(repr(conformal))}, but must be a tuple (X, y) or "training"'
    )


class _Numbers(RegressorMixin, Bnn):
    """Estimators of numbers: real responses and counts."""

    _counts: bool
    noise: str | None
    # Of the response in training: the number of its axes, and the names of its columns.
    _y_ndim: int
    _y_names: list[str]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Samples the posterior of the network, given the training rows.

        Python's lock is free meanwhile. Ctrl-C ends the run after the step that each chain is in:
        KeyboardInterrupt is raised, and the estimator is not fitted (with the setting `folder`, the
        same call goes on from there; before a model is chosen there is nothing to keep, and it
        begins anew). So do SIGTERM and SIGHUP, unless they have a handler or are ignored: they
        raise SystemExit with the code 128 + the signal's number, and a second one ends the process
        at once.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features. They are standardised here: no scaler is needed. In a DataFrame, columns
            of text and of the type `category` become a column of 0 and 1 for each level, dates
            elapsed time, season, weekday and hour. Missing values are filled in, and a column of
            its own says so. Columns that are constant over all rows are left out, with a warning.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The response, in its own units.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, finite numbers from 0 on: a row of weight w counts as w rows that
            are equal to it, also in means, standard deviations and medians of columns. They are
            used as they are: twice the weights are twice the data. None: each row counts once.

        Returns
        -------
        self
        """
        self._forget()
        settings = self._settings(self.noise)
        names, y = _names_of_response(y), response_of(y)
        refuse_other_than_numbers("y", y)
        checks = {"multi_output": not self._counts, "y_numeric": True}
        x, y, rows, columns = self._features_of(X, y, sample_weight, **checks)
        weights = listed_weights(rows)
        self._y_ndim = y.ndim
        y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        named = len(names) == y.shape[1]
        names = names if named else [f"y{j + 1}" for j in range(y.shape[1])]
        self._y_names = self._free(columns, names)
        task = "counts" if self._counts else "regression"
        given = ((task, [], None), (x, y), weights, columns, self._y_names)
        return self._finish(self._sampled(given, settings))

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, interval: None = None
    ) -> Matrix: ...
    @overload
    def predict(
        self, X: Any, return_std: Literal[True], interval: None = None
    ) -> tuple[Matrix, Matrix]: ...
    @overload
    def predict(
        self,
        X: Any,
        return_std: Literal[False] = False,
        *,
        interval: float,
        conformal: Conformal = None,
    ) -> tuple[Matrix, Matrix, Matrix]: ...
    @overload
    def predict(
        self, X: Any, return_std: Literal[True], interval: float, conformal: Conformal = None
    ) -> tuple[Matrix, Matrix, Matrix, Matrix]: ...
    @overload
    def predict(
        self,
        X: Any,
        return_std: bool = False,
        interval: float | None = None,
        conformal: Conformal = None,
        quantiles: Sequence[float] | None = None,
    ) -> Matrix | tuple[Matrix, ...]: ...
    def predict(
        self,
        X: Any,
        return_std: bool = False,
        interval: float | None = None,
        conformal: Conformal = None,
        quantiles: Sequence[float] | None = None,
    ) -> Matrix | tuple[Matrix, ...]:
        """The posterior mean prediction E[y | x], averaged over all draws of all chains.

        With a ``response_transform``, too, it is the mean of y. With that and
        ``noise="student_t"``, after which there is no mean, or none that is finite, it is the
        median of y by each draw, averaged over the draws, and the standard deviation is infinite:
        ``centre_`` is "median" then. Add up draws (`sample_y`) rather than medians.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.
        return_std : bool, default=False
            Whether the standard deviation of a new observation is returned, too: of the mixture of
            all draws' predictive distributions, by the law of total variance. It holds what is not
            known about the mean function, and the noise. Of ``noise="student_t"`` it is infinite as
            soon as one draw has two degrees of freedom or fewer: take intervals.
        interval : float, default=None
            The probability, such as 0.9, of intervals in which new observations lie. Their ends are
            the quantiles (1 - interval)/2 and (1 + interval)/2 of posterior predictive draws, one
            for each posterior draw: noise is included. Of counts they are counts, and at least that
            share of the draws lies between them, ends included. Equal calls give equal numbers. The
            random numbers of the noise belong to the place of a row in X: in another table, or at
            another place, the same row has other draws of the noise, and its ends differ by the
            Monte Carlo error of a quantile. The mean and the standard deviation of a row are the
            same in every table, but for rounding.
        conformal : tuple of X and y, or "training", default=None
            Makes the intervals conformal: they hold the share `interval` of new responses on
            average (marginal coverage), for rows that are exchangeable with those they are
            calibrated on, not for series. Rows `(X, y)` that had no part in the fit calibrate them
            whatever the model and the chains did; with "training", training rows are left out by
            weights of the draws (jackknife+), which takes chains that have converged. For one
            response.
        quantiles : sequence of float, default=None
            Probabilities, such as ``(0.05, 0.25, 0.5, 0.75, 0.95)``, of which the quantiles of a
            new observation are returned, one array for each: several intervals at once. They are
            those of `interval`, and come last.

        Returns
        -------
        mean, or a tuple of mean, std if asked for, lower and upper ends if asked for, and quantiles
            Arrays of the shape of y in training, in its units.
        """
        if quantiles is not None:
            given = quantiles
            try:
                quantiles = [float(p) for p in given]
            except (TypeError, ValueError):
                quantiles = []
            if not quantiles or not all(0 <= p <= 1 for p in quantiles):
                raise ValueError(
                    f"`quantiles` is {given!r}, but must be probabilities, such as (0.05, 0.95)"
                )
        if interval is not None and not (isinstance(interval, Real) and 0 < interval < 1):
            raise ValueError(f"`interval` is {interval!r}, but must be a number between 0 and 1")
        x = self._new_rows(X)
        level = None if interval is None else float(interval)
        if conformal is None:
            arrays = self._fit.predict(x, bool(return_std), level, self._threads())
        elif level is None:
            raise ValueError("`conformal` takes `interval`, the share of new responses to hold")
        else:
            rows = self._calibration(conformal)
            arrays = self._fit.predict(x, bool(return_std), None, self._threads())
            ends = self._fit.conformal(x, rows, level, self._threads())
            if not np.isfinite(ends).all():
                least = math.ceil(level / (1 - level) - 1e-9)
                warnings.warn(
                    f"conformal intervals have infinite ends: at a level of {level:g} at least "
                    f"{least} rows of calibration are needed for ends that are finite",
                    stacklevel=2,
                )
            arrays += ends
        if quantiles is not None:
            arrays += self._fit.quantiles(x, quantiles, self._threads())
        if self._y_ndim == 1:
            arrays = [array[:, 0] for array in arrays]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: int = 0) -> NDArray[np.float64]:
        """New observations at rows of X, drawn from the posterior predictive distribution.

        Each sample is by one posterior draw, the same for all rows, with noise: rows of one sample
        belong together. Equal calls give equal numbers.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples_X, n_features)
            New rows, in the units of the training rows.
        n_samples : int, default=1
            The number of samples, at most the number of posterior draws.
        random_state : int, default=0
            The seed by which posterior draws are chosen.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples), or (n_samples_X, n_outputs, n_samples)
            In units of the response.
        """
        draws = self._fit.draws(self._new_rows(X), False, self._threads())
        if isinstance(n_samples, bool) or not 1 <= n_samples <= len(draws):
            raise ValueError(
                f"`n_samples` is {n_samples!r}, but must be from 1 to {len(draws)}, the number of "
                "posterior draws"
            )
        chosen = np.random.default_rng(random_state).choice(len(draws), n_samples, replace=False)
        samples = np.moveaxis(draws[chosen], 0, -1)
        return samples[:, 0] if self._y_ndim == 1 else samples

    def _arranged(self, draws: NDArray[np.float64]) -> NDArray[np.float64]:
        return draws[:, :, 0] if self._y_ndim == 1 else draws

    def scores(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
        """How good predictions of rows with a known response are.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The response.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, as `fit` takes them: scores are then weighted means.

        Returns
        -------
        dict
            In units of the response `rmse` and `mae` of what `predict` returns, `mae_median` (the
            mean absolute error of the medians of new observations, which have the smallest one),
            `crps` (the continuous ranked probability score)
            and `width_95` (the mean width of 95 % intervals); `coverage_95`, the share of responses
            in them; and `log_predictive_density`, the mean over rows of log p(y | x), in nats.
        """
        return self._scores(self._with_response(X, y), sample_weight)

    def _with_response(self, X: Any, y: Any) -> tuple[Matrix, Matrix]:
        x, y = self._new_rows(X), response_of(y)
        refuse_other_than_numbers("y", y)
        y = check_array(y, dtype="float64", ensure_2d=False, estimator=self, input_name="y")
        check_consistent_length(x, y)
        y = y.reshape(len(y), -1)
        if y.shape[1] != len(self._y_names):
            raise ValueError(
                f"y has {y.shape[1]} columns, but had {len(self._y_names)} in training"
            )
        return x, y

    def _calibration(self, conformal: Any) -> tuple[Matrix, Matrix] | None:
        rows = calibration_rows(conformal)
        return None if rows is None else self._with_response(*rows)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination R^2 of the mean predictions, as scikit-learn has it.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The response.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        y = response_of(y)
        return float(super().score(X, y, weights_of(sample_weight, len(y))))

    def _response_of(self, description: dict[str, Any]) -> dict[str, Any]:
        names = description["response"]
        return {"axes": 1 if len(names) == 1 else 2, "names": names}

    def _response(self) -> dict[str, Any]:
        return {"axes": self._y_ndim, "names": self._y_names}

    def _set_response(self, response: dict[str, Any]) -> None:
        self._y_ndim, self._y_names = response["axes"], response["names"]


class BnnRegressor(_Numbers):
    """A Bayesian neural network for real responses, in one column or several.

    Features and response are standardised by the training rows; what goes in and comes out is in
    their own units.

    Unless one of `model`, `hidden`, `skip`, `weight_prior` and `method` is given, the data choose
    the model: candidates predict training rows that they have not seen, in 5 folds. The simplest
    linear or additive one is taken whose mean log predictive density is at most one standard error
    below the best one's, else the best network. `search_` says what was found. As soon as one of
    the five is given, nothing is compared.

    Parameters
    ----------
    model : {"linear", "linear_transformed", "additive", "network", "network_transformed", \
            "network_curves", "network_heteroscedastic", "network_deep"}, default=None
        The model by name: linear or a network of one hidden layer of 20 units, in all but
        ``"network_deep"``, beside a linear part, with the weights' prior ``"scales"``. The noise of
        ``"linear"`` is normal, that of ``"network"`` Student's t, of several outputs normal. Those
        called transformed have the ``response_transform`` ``"yeo_johnson"`` and Student's t;
        so have ``"additive"``, a line and a smooth curve of each feature, ``"network_curves"``, a
        network whose inputs are the features and their curves, and the last two:
        ``"network_heteroscedastic"`` is ``"network_transformed"`` with a scale of the noise that
        depends on the features, and ``"network_deep"``, which the data may choose from 250 rows on,
        with two hidden layers of 40 units. All but ``"linear"`` have `power_features`. Settings of
        its parts, such as `hidden`, come before it. For several outputs there are ``"linear"``,
        ``"additive"`` and ``"network"`` alone, with a `noise` or a `response_transform` of one
        output also ``"network_curves"``.
    hidden : sequence of int, default=None
        The units of each hidden layer; ``()`` is a linear model. None is those of the model that is
        named or chosen, and otherwise one layer of 100 units, or of 40 for classes, counts and
        times.
    activation : {"tanh", "relu", "sigmoid", "softplus", "silu", "identity"}, default="tanh"
        The activation of the hidden units.
    skip : bool, default=None
        Whether a linear part stands beside the hidden layers: connections from the features to the
        outputs. None is as the model has it that is named or chosen, and otherwise False.
    power_features : bool, default=None
        Whether each feature is transformed by Yeo and Johnson's power, which the training rows say,
        before it is standardised: then a few large values of a skewed feature do not decide what
        the model says of all others. Features of two values stay as they are. None is as the model
        has it that is named or chosen, and otherwise False.
    group : str or sequence of str, default=None
        The columns of X, a table, with the group of each row, such as a school or a patient. The
        outputs have an intercept for each group, N(0, tau^2) with tau sampled, and another
        for a new group: rows of groups that training did not have, or without a group, are
        predicted with wider intervals, and a warning says so. It is no feature.
    weight_prior : {"fan_in", "ard", "horseshoe", "scales"} or float, default=None
        The prior of the weights, on the scale of standardised features and response. ``"fan_in"``
        is N(0, 1/H) for the weights of every layer after the first (of a linear model, the only
        one), H the number of its inputs, and N(0, 1) for all others; ``"ard"`` adds a sampled
        variance for each input; ``"horseshoe"`` adds a common one to these; ``"scales"`` is fan-in
        times scales that are sampled: of each column, of the outputs, of the linear part. A number
        is the standard deviation of N(0, sd^2) for all weights and biases. None is the prior of the
        model that is named or chosen, and otherwise ``"fan_in"``.
    noise : {"gaussian", "heteroscedastic", "student_t", "heteroscedastic_student_t", "beta"}, \
            default=None
        How responses scatter around the network; None is the noise of the model that is named or
        chosen, and otherwise the first: normal with one standard deviation, which is sampled;
        normal with a standard deviation whose logarithm is linear in the features; Student's t, for
        outliers; Student's t with a scale whose logarithm is linear in the features. Of several
        outputs each is scaled by its standard deviation, and then all have the same noise, but for
        the two that are heteroscedastic. ``"beta"`` is for shares above 0 and below 1, which are
        not scaled: the network's output is the logit of their mean, and their precision is sampled.
        Where the model is neither named nor chosen, there is then one layer of 40 units without
        `hidden`, and `method` is NUTS.
    response_transform : {"log", "box_cox", "yeo_johnson"}, default=None
        A transform of the response before it is standardised; None is that of the model, if it has
        one: the logarithm, or a power that is learnt from the training rows, of responses above 0;
        or a power on either side of 0, of any response. Predictions, intervals and scores are of
        the response itself, and log densities, too, so that models with and without a transform can
        be compared.
    method : {"nuts", "mams", "collapsed", "tempered", "ensemble"}, default=None
        How the posterior is sampled: by NUTS; by MAMS; with the output layer integrated out; by a
        ladder of tempered posteriors, for separate modes. None integrates the output layer out
        where that is possible (one response column, or several with gaussian noise) and the last
        hidden layer has at most 500 units, else it is NUTS; networks that the data or the name of a
        model choose are sampled by MAMS unless their noise is normal. ``"ensemble"``, in haste,
        does not sample the posterior: each chain is a member, optimised from a start of its own and
        then sampled for a short while.
    target_accept : float, default=None
        The mean acceptance probability, between 0 and 1, that warm-up adapts the step size to. None
        is 0.9 for ``"collapsed"``, ``"mams"`` and ``"ensemble"``, else 0.8. A larger one makes
        smaller steps: 0.95 or 0.99 help where the verdict says that a few transitions diverged.
    chains, warmup, draws : int, default=None
        The number of chains; iterations of warm-up, and draws, of each of them. None is 4, 1000 and
        1000; where the data choose the model, 150 to 300 iterations (until chains have converged,
        1000) by `minutes`, and as many draws as `run_until` takes; of an ensemble 8, 4100 and 60,
        and all but the last 100 iterations of its warm-up (at most half) are steps of the
        optimisation.
    minutes : float, default=None
        The minutes that the choice of a model and the run may take, as far as it can be foreseen:
        `warmup` and `draws` that are not given are as many as the time allows.
        None is 1 (of 5,000 rows or more 3), and 10 until chains have converged. The numbers of
        iterations then depend on the speed of the machine: give `warmup` and `draws` where the same
        call is to have the same draws. Where the model is given, nothing depends on the time.
    run_until : {"settled", "converged"}, default=None
        What a run ends with whose `draws` are not given: "settled", predictions that a longer run
        would hardly change; "converged", chains that have converged, for effects, parameters and
        tails. None is "settled" where the data choose the model. A fit in a `folder` that has
        settled goes on until it has converged.
    most_rows : int, default=None
        The most rows that the model is fitted to, drawn at random where X has more. None is all,
        and, where the data choose the model and even the shortest run on all of them would take
        longer than there is time for, as many as there is time for; `recipe_` says so.
    impute : int, default=None
        The number of copies of X in which missing values are drawn given all other values and the
        response (multiple imputation); each copy has `chains` of its own, of which 2 are enough,
        and predictions are of all copies together. 10 copies or more are good. None puts the
        median in the place of a missing number, and marks it by a feature.
    random_state : int, RandomState or Generator instance or None, default=None
        The seed of all random numbers, those of the noise in intervals included. An int is the seed
        itself, as in the Rust crate, which makes the same numbers of it. Of anything else a seed is
        drawn at each call of `fit`.
    n_jobs : int, default=-1
        The number of threads: -1 is all processors, None is 1 unless in a `joblib.parallel_config`
        context. No number depends on it, but the numbers of iterations that `minutes` decides
        on. Where several fits run beside each other, as in
        ``cross_val_score(.., n_jobs=4)``, 1 is best.

        In a ``joblib.parallel_config`` with a backend of processes or machines (``"loky"``,
        ``"dask"``, ``"ray"``) each chain is a task of its own, of one thread, and `n_jobs` is how
        many run at a time, if `model` and `draws` are given, as for jobs of a cluster. The draws
        are those of one process, bit for bit. Chains whose worker dies begin again; where one of
        ``"loky"`` dies, all that run do.
    folder : path, default=None
        A folder to run in. The run writes checkpoints there: if it is interrupted or killed, the
        same call of `fit` goes on, and once it is finished, the same call loads it. It needs a
        `random_state` that is an int. A folder that holds another fit is an error that says what
        differs.
    verbose : bool or callable, default=False
        Whether progress is reported: as a bar in a notebook, else to the standard error. A callable
        is called with a `Progress`, some times a second, on the thread that called `fit`; if it
        raises, the run ends as by Ctrl-C.

    Attributes
    ----------
    verdict_ : Verdict
        Whether the chains agree about the predictions of (at most 200) training rows; printed, it
        is a sentence.
    converged_ : bool
        The same as ``verdict_.converged``.
    settled_ : bool
        The same as ``verdict_.settled``: whether predictions would be the same by a longer run.
    diagnostics_ : dict
        The largest R-hat and the smallest effective sample sizes of the predictions (`max_rhat`,
        `min_ess_bulk`, `min_ess_tail`); `chains_apart`, the standard deviation of the chains' mean
        predictions in predictive standard deviations, where they differ most; `prior`, whether the
        prior decides about predictions, in words (None of ensembles, of completed tables and where
        chains disagree); `divergences`, `accept_rate` of each chain, `gradients`,
        `warmup_seconds`, `sampling_seconds`, `algorithm`, `network`, `parameters`, `seed`. `groups`
        has R-hat and effective sample sizes of
        predictions, log likelihood and log prior: ``pandas.DataFrame(groups).T`` is a table.
    recipe_ : str
        All that was fitted, in words: network, priors with their numbers, settings of the sampler.
    centre_ : str
        What `predict` returns: "mean", or "median" where the noise has no mean.
    search_ : Search or None
        How the data have chosen the model: `chosen`, `rows`, `tried` and `coverage`; printed, it is
        a table of the candidates and what was found. None if the model was given.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns of X, if it had names.

    Examples
    --------
    >>> from bnn_mcmc import BnnRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BnnRegressor(hidden=(8,), random_state=1).fit(X[:400], y[:400])
    >>> mean, lower, upper = model.predict(X[400:], interval=0.9)
    >>> print(model.verdict_)
    """

    _counts = False
    _task = "regression"
    response_transform: ResponseTransform | None

    def __init__(
        self,
        *,
        model: Model | None = None,
        hidden: Sequence[int] | None = None,
        activation: Activation = "tanh",
        skip: bool | None = None,
        power_features: bool | None = None,
        group: str | Sequence[str] | None = None,
        weight_prior: WeightPrior | float | None = None,
        noise: RealNoise | None = None,
        response_transform: ResponseTransform | None = None,
        method: Method | None = None,
        target_accept: float | None = None,
        chains: int | None = None,
        warmup: int | None = None,
        draws: int | None = None,
        minutes: float | None = None,
        run_until: RunUntil | None = None,
        most_rows: int | None = None,
        impute: int | None = None,
        random_state: RandomState | None = None,
        n_jobs: int | None = -1,
        folder: Folder | None = None,
        verbose: bool | Listener = False,
    ) -> None:
        self._set(locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class BnnCounts(_Numbers):
    """A Bayesian neural network for counts 0, 1, 2, ... in one column.

    The network's output is log E[y | x], apart from zeros beside those of the count.

    Where the model is neither named nor chosen, `method` is NUTS unless it is ``"tempered"``.

    Parameters
    ----------
    model : {"linear", "linear_transformed", "linear_hurdle", "network", "network_hurdle"}, \
            default=None
        The model by name: log-linear, also with `power_features`, or a network as of
        `BnnRegressor`, with negative binomial noise; or with zeros apart, the noise
        ``"hurdle_negative_binomial"``. With a `noise` there are no models with zeros apart.
    noise : {"negative_binomial", "poisson", "zero_inflated_negative_binomial", \
            "zero_inflated_poisson", "hurdle_negative_binomial", "hurdle_poisson"}, default=None
        How counts scatter; None is the noise of the model that is named or chosen, and otherwise
        the first: with a dispersion that is sampled, or with the mean as their variance; as one of
        these with a share of extra zeros, which is sampled; or with zeros whose share is sampled
        and counts above 0. The network's output is then the logarithm of the
        mean of the count, with its own zeros and without others.
    exposure : str, default=None
        The column of X, a table, with the exposure of each count, such as the years in which it was
        counted: numbers above 0. The network's output is the log of the rate for an exposure of 1,
        and predictions are of counts in the exposures of their rows. It is no feature.
    """

    _counts = True
    _task = "counts"
    exposure: str | None

    def __init__(
        self,
        *,
        model: Model | None = None,
        hidden: Sequence[int] | None = None,
        activation: Activation = "tanh",
        skip: bool | None = None,
        power_features: bool | None = None,
        group: str | Sequence[str] | None = None,
        weight_prior: WeightPrior | float | None = None,
        noise: CountNoise | None = None,
        exposure: str | None = None,
        method: Method | None = None,
        target_accept: float | None = None,
        chains: int | None = None,
        warmup: int | None = None,
        draws: int | None = None,
        minutes: float | None = None,
        run_until: RunUntil | None = None,
        most_rows: int | None = None,
        impute: int | None = None,
        random_state: RandomState | None = None,
        n_jobs: int | None = -1,
        folder: Folder | None = None,
        verbose: bool | Listener = False,
    ) -> None:
        self._set(locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


class BnnSurvival(Bnn):
    """A Bayesian neural network for survival times, some of which are known only by bounds.

    The network's output is the location of the logarithm of the time.

    Where the model is neither named nor chosen, `method` is NUTS unless it is ``"tempered"``.

    Parameters
    ----------
    model : {"linear", "linear_transformed", "linear_weibull", "network", "network_weibull"}, \
            default=None
        The model by name: linear, also with `power_features`, or a network as of `BnnRegressor`, of
        log-normal times; or of Weibull times. With a `noise` there are no models of Weibull times.
    noise : {"log_normal", "weibull", "normal"}, default=None
        The distribution of times; None is that of the model that is named or chosen, and otherwise
        the first: log-normal or Weibull, with a scale that is sampled; or normal, of numbers of any
        sign such as measurements below a limit of detection.
    """

    _task = "survival"
    noise: str | None
    _y_names: list[str]

    def __init__(
        self,
        *,
        model: Model | None = None,
        hidden: Sequence[int] | None = None,
        activation: Activation = "tanh",
        skip: bool | None = None,
        power_features: bool | None = None,
        group: str | Sequence[str] | None = None,
        weight_prior: WeightPrior | float | None = None,
        noise: TimeNoise | None = None,
        method: Method | None = None,
        target_accept: float | None = None,
        chains: int | None = None,
        warmup: int | None = None,
        draws: int | None = None,
        minutes: float | None = None,
        run_until: RunUntil | None = None,
        most_rows: int | None = None,
        impute: int | None = None,
        random_state: RandomState | None = None,
        n_jobs: int | None = -1,
        folder: Folder | None = None,
        verbose: bool | Listener = False,
    ) -> None:
        self._set(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Samples the posterior of the network, given the training rows.

        Signals end it as they end `BnnRegressor.fit`.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features, as `BnnRegressor.fit` takes them.
        y : structured array of shape (n_samples,), or array or DataFrame of shape (n_samples, 2)
            As scikit-survival has it, a structured array with one boolean field, whether the event
            happened, and one numeric field, the time; or a table of these two columns, in any order
            (as of lifelines, of which the column called "event", "observed", "E" or "status" may
            hold 0 and 1). Or the lower and the upper bound of each time as two columns: equal where
            it was observed, with inf where only a lower one is known.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, as `BnnRegressor.fit` takes them.

        Returns
        -------
        self
        """
        self._forget()
        settings = self._settings(self.noise)
        lower, upper, names, is_event = _bounds_of(y)
        ends = np.where(np.isfinite(lower), lower, upper)
        x, _, rows, columns = self._features_of(X, ends, sample_weight, y_numeric=True)
        time, companion = self._free(columns, [*names])
        self._y_names = [time]
        of_rows = listed_weights(rows)
        response = ("survival", [], (companion, is_event))
        rows = (x, lower.tolist(), upper.tolist())
        given = (response, rows, of_rows, columns, self._y_names)
        return self._finish(self._sampled(given, settings))

    def predict(self, X: Any) -> Matrix:
        """The median time of each row, of the predictive distribution: it is exceeded with
        probability 1/2, averaged over all draws.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        x = self._new_rows(X)
        return self._fit.medians(x, None, self._threads())[0][:, 0]

    def predict_median(self, X: Any, interval: float = 0.9) -> tuple[Matrix, Matrix, Matrix]:
        """The median time of each row, and an interval in which the median lies, given the data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.
        interval : float, default=0.9
            The probability of the interval.

        Returns
        -------
        tuple of three ndarrays of shape (n_samples,)
            Medians as of `predict`, lower and upper ends.
        """
        x = self._new_rows(X)
        arrays = self._fit.medians(x, interval, self._threads())
        median, lower, upper = (array[:, 0] for array in arrays)
        return median, lower, upper

    @overload
    def predict_survival_function(self, X: Any, times: Any, interval: None = None) -> Matrix: ...
    @overload
    def predict_survival_function(
        self, X: Any, times: Any, interval: float
    ) -> tuple[Matrix, Matrix, Matrix]: ...
    def predict_survival_function(
        self, X: Any, times: Any, interval: float | None = None
    ) -> Matrix | tuple[Matrix, Matrix, Matrix]:
        """The probabilities to exceed times.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.
        times : array-like of shape (n_times,)
            The times, in the unit of the training times.
        interval : float, default=None
            The probability of intervals in which the probabilities lie, given the data.

        Returns
        -------
        ndarray of shape (n_samples, n_times), or a tuple of three
            The predictive probabilities; with `interval` also lower and upper ends.
        """
        x = self._new_rows(X)
        times = column_or_1d(np.asarray(times, dtype=np.float64)).tolist()
        arrays = self._fit.survival(x, times, interval, self._threads())
        return arrays[0] if interval is None else (arrays[0], arrays[1], arrays[2])

    def scores(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
        """How good predictions of rows with a known response are.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features.
        y : structured array of shape (n_samples,), or array of shape (n_samples, 2)
            The response, as `fit` takes it.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, as `fit` takes them: scores are then weighted means.

        Returns
        -------
        dict
            `log_predictive_density`, the mean over rows of log p(y | x), in nats, of a censored row
            the log probability of its bounds; and if each row is observed or right-censored
            `concordance`, Harrell's c, and `integrated_brier`, the integrated Brier score.
        """
        return self._scores(self._with_response(X, y), sample_weight)

    def _with_response(self, X: Any, y: Any) -> tuple[Matrix, list[float], list[float]]:
        x = self._new_rows(X)
        lower, upper, *_ = _bounds_of(y)
        check_consistent_length(x, lower)
        return x, lower.tolist(), upper.tolist()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Harrell's concordance of the predicted medians.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features.
        y : structured array of shape (n_samples,), or array of shape (n_samples, 2)
            The response, as `fit` takes it; each time is observed or right-censored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        scores = self.scores(X, y, sample_weight)
        if "concordance" not in scores:
            raise ValueError(
                "the concordance is known of times that are observed or right-censored"
            )
        return scores["concordance"]

    def _response_of(self, description: dict[str, Any]) -> dict[str, Any]:
        return {"names": description["response"]}

    def _response(self) -> dict[str, Any]:
        return {"names": self._y_names}

    def _set_response(self, response: dict[str, Any]) -> None:
        self._y_names = response["names"]


# The names of a column of events, in small letters, that may hold 0 and 1.
EVENTS = ("event", "observed", "e", "status")


def _structured(y: Any) -> Any:
    """A table of a time and whether its event happened as a structured array; else y as it is."""
    frame = frame_of(y)
    if frame is None or frame.shape[1] != 2:
        return y
    columns = {str(series.name): response_of(series.to_native()) for series in frame.iter_columns()}
    events = [
        name
        for name, values in columns.items()
        if values.dtype.kind == "b"
        or (name.lower() in EVENTS and values.dtype.kind in "iuf" and np.isin(values, (0, 1)).all())
    ]
    if len(events) != 1:
        if len(events) == 2:
            raise ValueError("y has two columns of events, but must have one, and the time")
        return y
    (time,) = (name for name in columns if name != events[0])
    values = columns[time]
    if values.dtype.kind not in "iuf":
        raise ValueError(f"y, column `{time}`: the times must be numbers")
    found = np.empty(len(values), dtype=[(events[0], bool), (time, np.float64)])
    found[events[0]], found[time] = columns[events[0]], values
    return found


def _bounds_of(y: Any) -> tuple[Matrix, Matrix, tuple[str, str], bool]:
    """Lower and upper bounds of times, names for the column of times and its companion, and
    whether the companion says that the event happened (else it is the upper bound).
    """
    y = _structured(y)
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if fields is not None:
        events = [name for name in fields if y.dtype[name].kind == "b"]
        times = [name for name in fields if y.dtype[name].kind in "fiu"]
        if y.ndim != 1 or len(events) != 1 or len(times) != 1 or len(fields) != 2:
            raise ValueError(
                f"y has the type {y.dtype}, but must have one boolean field, whether the event "
                "happened, and one numeric field, the time"
            )
        time = y[times[0]].astype(np.float64)
        if not np.isfinite(time).all():
            row = int(np.flatnonzero(~np.isfinite(time))[0])
            raise ValueError(f"y, row {row}: the time is {time[row]:g}, but must be finite")
        return time, np.where(y[events[0]], time, np.inf), (times[0], events[0]), True
    refuse_other_than_numbers("y", y)
    y = response_of(y)
    if getattr(getattr(y, "dtype", None), "kind", None) == "b":
        raise ValueError("y has booleans alone, but must have the times, too")
    bounds = check_array(response_of(y), dtype="float64", ensure_all_finite=False, input_name="y")
    if bounds.shape[1] != 2:
        raise ValueError(
            f"y has {bounds.shape[1]} columns, but must have two, the lower and the upper "
            "bounds of times; or be a structured array of an event and a time"
        )
    return bounds[:, 0], bounds[:, 1], ("time", "until"), False


class BnnClassifier(ClassifierMixin, Bnn):
    """A Bayesian neural network for classes: two, or more of which each row has one.

    Where the model is neither named nor chosen, `method` is NUTS unless it is ``"tempered"``.

    Parameters
    ----------
    model : {"linear", "network"}, default=None
        The model by name: logistic, or a network as of `BnnRegressor`.
    noise : {"ordinal"}, default=None
        Whether the classes are in order, such as grades: the network has one output, and the
        cutpoints between the classes are sampled. The order is the one of the categories if y is an
        ordered category of pandas or an `Enum` of polars; else by size if all classes are numbers,
        also as text, and else alphabetical. None is no order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    """

    _task = "classification"
    noise: str | None
    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        model: Model | None = None,
        hidden: Sequence[int] | None = None,
        activation: Activation = "tanh",
        skip: bool | None = None,
        power_features: bool | None = None,
        group: str | Sequence[str] | None = None,
        weight_prior: WeightPrior | float | None = None,
        noise: ClassNoise | None = None,
        method: Method | None = None,
        target_accept: float | None = None,
        chains: int | None = None,
        warmup: int | None = None,
        draws: int | None = None,
        minutes: float | None = None,
        run_until: RunUntil | None = None,
        most_rows: int | None = None,
        impute: int | None = None,
        random_state: RandomState | None = None,
        n_jobs: int | None = -1,
        folder: Folder | None = None,
        verbose: bool | Listener = False,
    ) -> None:
        self._set(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Samples the posterior of the network, given the training rows.

        Python's lock is free meanwhile. Ctrl-C ends the run after the step that each chain is in:
        KeyboardInterrupt is raised, and the estimator is not fitted (with the setting `folder`, the
        same call goes on from there; before a model is chosen there is nothing to keep, and it
        begins anew). So do SIGTERM and SIGHUP, unless they have a handler or are ignored: they
        raise SystemExit with the code 128 + the signal's number, and a second one ends the process
        at once.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features. They are standardised here: no scaler is needed. In a DataFrame, columns
            of text and of the type `category` become a column of 0 and 1 for each level, dates
            elapsed time, season, weekday and hour. Missing values are filled in, and a column of
            its own says so. Columns that are constant over all rows are left out, with a warning.
        y : array-like of shape (n_samples,)
            The class of each row: text or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, finite numbers from 0 on: a row of weight w counts as w rows that
            are equal to it, also in means, standard deviations and medians of columns. They are
            used as they are: twice the weights are twice the data. None: each row counts once.

        Returns
        -------
        self
        """
        self._forget()
        settings = self._settings(self.noise)
        order = order_of(y) if self.noise == "ordinal" else None
        names, y = _names_of_response(y), response_of(y)
        _check_texts(y)
        x, y, rows, columns = self._features_of(X, y, sample_weight)
        weights = listed_weights(rows)
        check_classification_targets(y)
        self.classes_, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        count = len(self.classes_)
        if count < 2:
            raise ValueError(
                f"y has one class, `{shown(self.classes_[0])}`: at least 2 classes are needed"
            )
        texts = self._class_names()
        inner = classes_in_order(texts, len(y))
        self._inner = inner = [name for name in order if name in texts] if order else inner
        places = np.array(self._places())
        names = self._free(columns, names if len(names) == 1 else ["class"])
        numbers: list[int] = places[codes].tolist()
        given = (("classification", inner, None), (x, numbers), weights, columns, names)
        return self._finish(self._sampled(given, settings))

    def _class_names(self) -> list[str]:
        """The classes as text, in the order of `classes_`."""
        return [str(label) for label in _labels(self.classes_)]

    def _places(self) -> list[int]:
        """The place of each class in the network's outputs.

        Names that are numbers are there by size, where `classes_` has text in the order of text.
        """
        inner = {text: place for place, text in enumerate(self._inner)}
        return [inner[text] for text in self._class_names()]

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class, p(y | x), averaged over all draws of all chains.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        x = self._new_rows(X)
        (mean,) = self._fit.predict(x, False, None, self._threads())
        # Of two classes the network has one output: the probability of the second.
        probabilities = np.hstack([1 - mean, mean]) if mean.shape[1] == 1 else mean
        return np.ascontiguousarray(probabilities[:, self._places()])

    def predict_log_proba(self, X: Any) -> Matrix:
        """The logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; minus infinity where a probability is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _arranged(self, draws: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draws of probabilities, in the order of `classes_`."""
        if draws.shape[2] == 1:
            draws = np.concatenate([1 - draws, draws], axis=2)
        return np.ascontiguousarray(draws[:, :, self._places()])

    def scores(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
        """How good predictions of rows with a known class are.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, as `fit` takes them: scores are then weighted means.

        Returns
        -------
        dict
            `accuracy`; `brier`, the Brier score summed over classes; `ece`, the expected
            calibration error of 15 bins; `log_predictive_density`, the mean over rows of log p(y |
            x), in nats.
        """
        return self._scores(self._with_response(X, y), sample_weight)

    def _with_response(self, X: Any, y: Any) -> tuple[Matrix, list[int]]:
        x, y = self._new_rows(X), response_of(y)
        y = column_or_1d(y, warn=True)
        check_consistent_length(x, y)
        places = dict(zip(self.classes_.tolist(), self._places(), strict=True))
        unknown = [label for label in y.tolist() if label not in places]
        if unknown:
            raise ValueError(
                f"`{shown(unknown[0])}` is not among the classes of the training rows: "
                f"{listed(self.classes_)}"
            )
        return x, [places[label] for label in y.tolist()]

    def predict_set(
        self, X: Any, level: float = 0.9, conformal: Conformal = "training"
    ) -> NDArray[np.bool_]:
        """Conformal sets of classes: they hold the share `level` of new classes on average.

        This is marginal coverage, for rows that are exchangeable with those that the sets are
        calibrated on, not for series. A set may hold several classes, where the model cannot tell
        them apart, and may be empty, for a row that is unlike all others.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            New rows, in the units of the training rows.
        level : float, default=0.9
            The share of new rows whose set holds their class.
        conformal : tuple of X and y, or "training", default="training"
            The rows that the sets are calibrated on. Rows `(X, y)` that had no part in the fit do
            it whatever the model and the chains did; with "training", training rows are left out by
            weights of the draws (jackknife+), which takes chains that have converged.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Whether the set of a row holds a class, in the order of `classes_`.
        """
        x, rows = self._new_rows(X), calibration_rows(conformal)
        rows = None if rows is None else self._with_response(*rows)
        (sets,) = self._fit.conformal(x, rows, float(level), self._threads())
        return np.ascontiguousarray(sets[:, self._places()] > 0)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose most probable class is the right one.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        y = response_of(y)
        return float(super().score(X, y, weights_of(sample_weight, len(y))))

    def _response_of(self, description: dict[str, Any]) -> dict[str, Any]:
        names = description["classes"]
        classes = np.array(_of_names(names))
        if classes.dtype.kind == "U":
            classes = classes.astype(object)
        classes_in_order = np.sort(classes).tolist()
        return {"classes": classes_in_order, "dtype": classes.dtype.str, "inner": names}

    def _response(self) -> dict[str, Any]:
        classes = _labels(self.classes_)
        return {"classes": classes, "dtype": self.classes_.dtype.str, "inner": self._inner}

    def _set_response(self, response: dict[str, Any]) -> None:
        self.classes_ = np.array(response["classes"], dtype=response["dtype"])
        texts = self._class_names()
        self._inner = response.get("inner") or classes_in_order(texts, 2 * len(texts))


def _check_texts(y: Any) -> None:
    """Refuses classes that are missing, or are text beside other types."""
    values = np.asarray(y)
    if values.dtype.kind not in "OU" or values.ndim != 1:
        return
    for row, value in enumerate(values):
        missing = value is None or type(value).__name__ in ("NAType", "NaTType")
        if missing or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(f"y, row {row}: the value is missing")
        if isinstance(value, str) and is_missing_text(value):
            shows = f", written as `{value}`" if value.strip() else ""
            raise ValueError(f"y, row {row}: the value is missing{shows}")
        if isinstance(value, str) != isinstance(values[0], str):
            raise ValueError(
                f"y, row {row}: the class `{shown(value)}` has the type {type(value).__name__}, "
                f"and that of row 0 {type(values[0]).__name__}: convert all to text"
            )


def _of_names(names: list[str]) -> list[Any]:
    """Classes by their names: whole numbers and bools, if all are written as one."""
    if {name.lower() for name in names} == {"false", "true"}:
        return [name.lower() == "true" for name in names]
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return names
    small = all(abs(number) < 2**63 for number in numbers)
    return numbers if small and [str(number) for number in numbers] == names else names


def _labels(classes: NDArray[Any]) -> list[Any]:
    """Classes as JSON has them, so that every fit can be saved."""
    labels = classes.tolist()
    for class_, label in zip(classes, labels, strict=True):
        if classes.dtype.kind in "mM" or not isinstance(label, (str, bool, int, float)):
            raise ValueError(
                f"y has the class `{shown(class_)}` of the type {classes.dtype}, but classes must "
                "be text, whole numbers or bools: convert y, for instance to text"
            )
    return labels


def _names_of_response(y: Any) -> list[str]:
    """The names that a Series or DataFrame has for its columns, if they are texts."""
    names = getattr(y, "column_names", getattr(y, "columns", [getattr(y, "name", None)]))
    return list(names) if all(isinstance(name, str) and name for name in names) else []


for _class in (BnnRegressor, BnnClassifier, BnnCounts, BnnSurvival):
    named_by(_class)
for _class in (BnnClassifier, BnnCounts, BnnSurvival):
    documented_like(_class, BnnRegressor)

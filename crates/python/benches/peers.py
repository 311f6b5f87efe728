"""A regression, fitted and asked by this package, by sklearn-contrib-bde, NumPyro and scikit-learn.

    python3 -m venv venv && venv/bin/pip install arviz xarray zarr sklearn-contrib-bde numpyro
    venv/bin/pip install bnn_mcmc-*.whl
    venv/bin/python benches/peers.py
    venv/bin/python benches/peers.py --data train.csv --hidden 16 --warmup 500 --draws 500

A library that is not installed is left out. This package without a setting but the seed is
`bnn_mcmc, default`; of scikit-learn there are Bayesian ridge regression and a Gaussian process with
a squared exponential kernel, a length for each feature and noise. All others have the network f-H-2
with SiLU units, one output for the mean and one for the scale of normal noise, and N(0, 1) priors
of all weights, on standardised features and response. What differs: the scale is the exponential of
its output in NumPyro, and its softplus in bde; here its log is linear in the features. NumPyro and
this package (`nuts`) run NUTS, this package otherwise (`collapsed`) MAMS with the output weights of
the mean integrated out. bde trains each chain's start for up to 200 epochs and then makes steps of
an unadjusted sampler, of which `--thinning` make one draw. JAX computes with 32 bits, as it does by
default, on a device for each processor; this package with 64.

Of each library there is a line of JSON. Seconds are wall time: of `fit` with all compilation in it,
as a user waits for it; of the first and of a second call that predicts the test rows' means, and of
those that take 90 % intervals. `rmse` and `lppd` (the mean log predictive density) are of the test
rows, in units of the response; `worst_rhat` and `least_ess` are ArviZ's, of the test rows' means.
"""

import argparse
import importlib.util
import json
import os
import time
import warnings

PROCESSORS = (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
)
os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={PROCESSORS}")

import arviz  # noqa: E402
import numpy as np  # noqa: E402
from scipy.special import logsumexp  # noqa: E402
from scipy.stats import norm  # noqa: E402
from sklearn.datasets import load_diabetes  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402


def timed(work):
    """What `work` returns, and its seconds."""
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


class Ours:
    """This package. It standardises by itself: what it is given is standardised for the others."""

    method: str | None = None

    def fit(self, X, y, args):
        from bnn_mcmc import BnnRegressor

        self.model = BnnRegressor(
            hidden=(args.hidden,),
            activation="silu",
            noise="heteroscedastic",
            weight_prior=1.0,
            method=self.method,
            chains=args.chains,
            warmup=args.warmup,
            draws=args.draws,
            random_state=args.seed,
        ).fit(X, y)

    def predict(self, X):
        return self.model.predict(X)

    def interval(self, X):
        return self.model.predict(X, interval=0.9)[1:]

    def means(self, X):
        draws = self.model.predict_mean_draws(X)
        return draws.reshape(self.model.diagnostics_["chains"], -1, len(X))

    def log_density(self, X, y):
        return self.model.scores(X, y)["log_predictive_density"]


class OursByNuts(Ours):
    method = "nuts"


class OursByDefault(Ours):
    def fit(self, X, y, args):
        from bnn_mcmc import BnnRegressor

        self.model = BnnRegressor(random_state=args.seed).fit(X, y)


class Ridge:
    """scikit-learn's Bayesian ridge regression."""

    def fit(self, X, y, args):
        from sklearn.linear_model import BayesianRidge

        self.model = BayesianRidge().fit(X, y)

    def predict(self, X):
        return self.model.predict(X)

    def interval(self, X):
        mean, sd = self.model.predict(X, return_std=True)
        return norm.ppf([[0.05], [0.95]], mean, sd)

    def means(self, X):
        return None

    def log_density(self, X, y):
        return norm.logpdf(y, *self.model.predict(X, return_std=True)).mean()


class GaussianProcess(Ridge):
    def fit(self, X, y, args):
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        kernel = ConstantKernel() * RBF(np.full(X.shape[1], 3.0), (0.1, 1000.0)) + WhiteKernel()
        self.model = GaussianProcessRegressor(
            kernel, n_restarts_optimizer=1, random_state=args.seed
        ).fit(X, y)


class Bde:
    def fit(self, X, y, args):
        from bde import BdeRegressor
        from bde.loss import GaussianNLL

        self.model = BdeRegressor(
            hidden_layers=[args.hidden],
            activation="silu",
            n_members=args.chains,
            seed=args.seed,
            loss=GaussianNLL(),
            epochs=200,
            patience=10,
            warmup_steps=args.warmup,
            n_samples=args.draws * args.thinning,
            n_thinning=args.thinning,
        ).fit(X.astype(np.float32), y.astype(np.float32))

    def predict(self, X):
        return np.asarray(self.model.predict(X.astype(np.float32)))

    def interval(self, X):
        return np.asarray(
            self.model.predict(X.astype(np.float32), credible_intervals=[0.05, 0.95])[1]
        )

    def moments(self, X):
        raw = np.asarray(self.model.predict(X.astype(np.float32), raw=True), dtype=float)
        return raw[..., 0], np.logaddexp(0, raw[..., 1]) + 1e-6


class NumPyro:
    def fit(self, X, y, args):
        import jax
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist
        from numpyro.infer import MCMC, NUTS

        def outputs(weights, x):
            out = jax.nn.silu(x @ weights["w0"] + weights["b0"]) @ weights["w1"] + weights["b1"]
            return out[:, 0], jnp.exp(out[:, 1])

        def model(x, y):
            shapes = {
                "w0": (x.shape[1], args.hidden),
                "b0": (args.hidden,),
                "w1": (args.hidden, 2),
                "b1": (2,),
            }
            standard = dist.Normal(0, 1)
            weights = {
                name: numpyro.sample(name, standard.expand(shape).to_event(len(shape)))
                for name, shape in shapes.items()
            }
            numpyro.sample("y", dist.Normal(*outputs(weights, x)), obs=y)

        chains = {
            "num_chains": args.chains,
            "chain_method": "parallel" if args.chains <= PROCESSORS else "vectorized",
        }
        mcmc = MCMC(
            NUTS(model),
            num_warmup=args.warmup,
            num_samples=args.draws,
            progress_bar=False,
            **chains,
        )
        mcmc.run(jax.random.PRNGKey(args.seed), jnp.asarray(X), jnp.asarray(y))
        self.draws = jax.block_until_ready(mcmc.get_samples(group_by_chain=True))
        self.outputs = jax.jit(jax.vmap(jax.vmap(outputs, (0, None)), (0, None)))
        self.means = jax.jit(lambda draws, x: self.outputs(draws, x)[0].mean((0, 1)))

        def interval(draws, x, key):
            mean, sd = self.outputs(draws, x)
            new = mean + sd * jax.random.normal(key, mean.shape)
            return jnp.quantile(new, jnp.array([0.05, 0.95]), axis=(0, 1))

        self.intervals = jax.jit(interval)
        self.key = jax.random.PRNGKey(0)

    def predict(self, X):
        return np.asarray(self.means(self.draws, X))

    def interval(self, X):
        return np.asarray(self.intervals(self.draws, X, self.key))

    def moments(self, X):
        return [np.asarray(moment, dtype=float) for moment in self.outputs(self.draws, X)]


LIBRARIES = {
    "bnn_mcmc": ("bnn_mcmc", Ours),
    "bnn_mcmc, nuts": ("bnn_mcmc", OursByNuts),
    "sklearn-contrib-bde": ("bde", Bde),
    "numpyro": ("numpyro", NumPyro),
    "bnn_mcmc, default": ("bnn_mcmc", OursByDefault),
    "scikit-learn, ridge": ("sklearn", Ridge),
    "scikit-learn, Gaussian process": ("sklearn", GaussianProcess),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--data",
        default="diabetes",
        help="`diabetes`, or a CSV file whose last column is the response",
    )
    parser.add_argument(
        "--only", action="append", choices=LIBRARIES, help="a library, once or more [default: all]"
    )
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--thinning", type=int, default=1, help="steps of bde for each draw")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.data == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        rows = np.loadtxt(args.data, delimiter=",", skiprows=1)
        X, y = rows[:, :-1], rows[:, -1]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=args.seed)
    mean, sd, shift, scale = X.mean(axis=0), X.std(axis=0), y.mean(), y.std()
    X, X_test, y = (X - mean) / sd, (X_test - mean) / sd, (y - shift) / scale
    print(
        json.dumps({**vars(args), "rows": len(X), "features": X.shape[1], "processors": PROCESSORS})
    )
    for name in args.only or LIBRARIES:
        module, library = LIBRARIES[name]
        if importlib.util.find_spec(module) is None:
            print(f"{module} is not installed")
            continue
        peer = library()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, fit = timed(lambda peer=peer: peer.fit(X, y, args))
        predicted, predict = timed(lambda peer=peer: peer.predict(X_test))
        _, predict_again = timed(lambda peer=peer: peer.predict(X_test))
        (low, high), interval = timed(lambda peer=peer: peer.interval(X_test))
        _, interval_again = timed(lambda peer=peer: peer.interval(X_test))
        if hasattr(peer, "moments"):
            means, sds = peer.moments(X_test)
            density = norm.logpdf(y_test, means * scale + shift, sds * scale)
            lppd = np.mean(logsumexp(density, axis=(0, 1)) - np.log(density[:, :, 0].size))
        else:
            means = peer.means(X_test)
            lppd = peer.log_density(X_test, (y_test - shift) / scale) - np.log(scale)
        if means is not None:
            np.testing.assert_allclose(means.mean(axis=(0, 1)), predicted, atol=1e-3)
        y_low, y_high = low * scale + shift, high * scale + shift
        found = {
            "fit_s": fit,
            "predict_s": predict,
            "predict_again_s": predict_again,
            "interval_s": interval,
            "interval_again_s": interval_again,
            "rmse": np.sqrt(np.mean((predicted * scale + shift - y_test) ** 2)),
            "lppd": lppd,
            "coverage_90": np.mean((y_low <= y_test) & (y_test <= y_high)),
        }
        if means is not None:
            by_row = [means[:, :, row] for row in range(len(y_test))]
            found["worst_rhat"] = max(float(arviz.rhat(values)) for values in by_row)
            found["least_ess"] = min(float(arviz.ess(values)) for values in by_row)
        print(
            json.dumps(
                {"library": name, **{key: float(f"{value:.4g}") for key, value in found.items()}}
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()

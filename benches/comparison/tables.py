"""Regressions of real tables by this package and by others: `run.py` calls it.

usage: tables.py jobs      prints all that follow
       tables.py TABLE SPLIT LIBRARY [FOLDER]      prints a line of JSON; names are those of TABLES and LIBRARIES
       tables.py --csv TRAIN.csv TEST.csv SEED LIBRARY      the response is the last column

Features and response are standardised by the training rows for all libraries, and scores are in units of the response. Seconds are of
the clock, of `fit` alone with all compilation in it, as a user waits for it, and without imports, with all processors and nothing else running. "R-hat" is the largest rank-normalised
one of the mean function at (at most 200) test rows, of chains of 100 draws and more. JAX and PyTorch compute with 32 bits, as they do by default, ours and scikit-learn with 64. With FOLDER the log densities of the test rows are kept there, and the line has
the difference to those of `ours` where they are there already, with its standard error over rows.

What a row is:

ours               `BnnRegressor(random_state=seed)`: the data choose the model
ours-ensemble      the same with `method="ensemble"`: no posterior
ours-nuts, ours-collapsed, numpyro      a network of 16 SiLU units with N(0, 1) weights, noise with a log standard deviation linear in the
                   features, slopes N(0, 0.5^2), bias N(-1.5, 1.5^2); 4 chains of 1,000 iterations of warm-up and 1,000 draws
numpyro-example    the network of NumPyro's own example: two layers of 5 tanh units without biases, N(0, 1), precision Gamma(3, 1); 4 chains as above
bde                sklearn-contrib-bde as constructed, without a setting
bde-tuned          the settings of its documentation's quick start: 8 members [16, 16], 200 epochs, 5,000 + 2,000 steps, every second kept
torch              PyTorch: an ensemble of 5 networks of 50 ReLU units with outputs for mean and variance (arXiv:1612.01474), 40 epochs of Adam
torch-tuned        the same, each until a seventh of the rows has not become better for 50 epochs, and the best of it kept
sklearn-mlp        scikit-learn: MLPRegressor with early stopping, 5 seeds; noise by 5-fold residuals
sklearn-boosting   HistGradientBoostingRegressor; noise by 5-fold residuals
sklearn-ridge      BayesianRidge
sklearn-gp         a Gaussian process: squared exponential with a length for each feature, and noise
"""

import json
import os
import pathlib
import sys
import time
import warnings

CHAINS, WARMUP, DRAWS, HIDDEN = 4, 1000, 1000, 16
PROCESSORS = len(os.sched_getaffinity(0))
# Devices of JAX: NumPyro has one for each chain, as its documentation has it, which took half the time of two.
DEVICES = CHAINS if any(word.startswith("numpyro") for word in sys.argv) else PROCESSORS
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
os.environ["JAX_PLATFORMS"] = "cpu"
warnings.simplefilter("ignore")

import arviz
import numpy as np
import pandas as pd
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_predict, train_test_split

DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "data"
# Rows of training, and splits.
TABLES = {"diabetes": (353, 3), "boston": (404, 2), "abalone": (1000, 1)}


def table(name):
    """Features and response."""
    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    rows = pd.get_dummies(pd.read_csv(DATA / f"{name}.csv"), dtype=float)
    target = {"boston": "medv", "abalone": "rings"}[name]
    return rows.drop(columns=target).to_numpy(), rows[target].to_numpy(float)


class Ours:
    def __init__(self, **settings):
        self.settings = settings

    def fit(self, X, y, seed):
        from bnn_mcmc import BnnRegressor

        self.model = BnnRegressor(random_state=seed, **self.settings).fit(X, y)

    def score(self, X, y):
        _, low, high = self.model.predict(X, interval=0.9)
        draws = self.model.predict_mean_draws(X).reshape(self.model.diagnostics_["chains"], -1, len(y))
        search = self.model.search_
        return {
            "mean": self.model.predict(X),
            "inside": (low <= y) & (y <= high),
            "log_density": np.array([self.model.scores(X[[i]], y[[i]])["log_predictive_density"] for i in range(len(y))]),
            "means": draws,
            "model": search.chosen if search else None,
        }


def ours_of(method):
    return Ours(
        hidden=(HIDDEN,), activation="silu", noise="heteroscedastic", weight_prior=1.0, method=method, warmup=WARMUP, draws=DRAWS
    )


class Mixture:
    """A library whose predictive density is the mean of normal ones: `moments` has their means and standard deviations, [chain, draw, row]."""

    def score(self, X, y):
        means, sds = (np.asarray(of, dtype=float) for of in self.moments(X))
        below = norm.cdf(y, means, sds).mean(axis=(0, 1))
        log_density = norm.logpdf(y, means, sds)
        return {
            "mean": means.mean(axis=(0, 1)),
            "inside": (0.05 <= below) & (below <= 0.95),
            "log_density": logsumexp(log_density, axis=(0, 1)) - np.log(means[:, :, 0].size),
            # R-hat of a handful of draws says nothing.
            "means": means if means.shape[1] >= 100 else None,
        }


class Bde(Mixture):
    def __init__(self, **settings):
        self.settings = settings

    def fit(self, X, y, seed):
        from bde import BdeRegressor
        from bde.loss import GaussianNLL

        self.model = BdeRegressor(seed=seed, loss=GaussianNLL(), **self.settings)
        self.model.fit(x=X.astype(np.float32), y=y.astype(np.float32))
        # Draws that JAX has promised are computed before the clock stops.
        import jax

        jax.block_until_ready([value for value in vars(self.model).values() if isinstance(value, (jax.Array, dict, list, tuple))])

    def moments(self, X):
        raw = np.asarray(self.model.predict(X.astype(np.float32), raw=True), dtype=float)
        return raw[..., 0], np.logaddexp(0, raw[..., 1]) + 1e-6


class NumPyro(Mixture):
    def __init__(self, is_example):
        self.is_example = is_example

    def fit(self, X, y, seed):
        import jax
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist
        from numpyro.infer import MCMC, NUTS

        d = X.shape[1]

        def weights(prior=dist.Normal(0.0, 1.0), **shapes):
            return {key: numpyro.sample(key, prior.expand(s).to_event(len(s))) for key, s in shapes.items()}

        def example(x, y):
            w = weights(w1=(d, 5), w2=(5, 5), w3=(5, 1))
            precision = numpyro.sample("precision", dist.Gamma(3.0, 1.0))
            numpyro.sample("y", dist.Normal(*of_example(w | {"precision": precision}, x)), obs=y)

        def of_example(w, x):
            mean = (jnp.tanh(jnp.tanh(x @ w["w1"]) @ w["w2"]) @ w["w3"])[:, 0]
            return mean, jnp.broadcast_to(w["precision"] ** -0.5, mean.shape)

        def same(x, y):
            w = weights(w0=(d, HIDDEN), b0=(HIDDEN,), w1=(HIDDEN,), b1=())
            w |= weights(dist.Normal(0.0, 0.5), v=(d,)) | weights(dist.Normal(-1.5, 1.5), c=())
            numpyro.sample("y", dist.Normal(*of_same(w, x)), obs=y)

        def of_same(w, x):
            mean = jax.nn.silu(x @ w["w0"] + w["b0"]) @ w["w1"] + w["b1"]
            return mean, jnp.exp(x @ w["v"] + w["c"])

        model, outputs = (example, of_example) if self.is_example else (same, of_same)
        mcmc = MCMC(
            NUTS(model), num_warmup=WARMUP, num_samples=DRAWS, num_chains=CHAINS, chain_method="parallel", progress_bar=False
        )
        mcmc.run(jax.random.PRNGKey(seed), jnp.asarray(X), jnp.asarray(y))
        self.draws = jax.block_until_ready(mcmc.get_samples(group_by_chain=True))
        self.moments = jax.vmap(jax.vmap(outputs, (0, None)), (0, None))
        self.moments = lambda X, of=self.moments: of(self.draws, X)


class Torch(Mixture):
    def __init__(self, is_tuned):
        self.is_tuned = is_tuned

    def fit(self, X, y, seed):
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(PROCESSORS)
        X, y = (torch.tensor(of, dtype=torch.float32) for of in (X, y))

        def loss(net, rows):
            mean, scale = net(X[rows]).unbind(1)
            return torch.nn.functional.gaussian_nll_loss(mean, y[rows], torch.nn.functional.softplus(scale) + 1e-6)

        def member():
            net = torch.nn.Sequential(torch.nn.Linear(X.shape[1], 50), torch.nn.ReLU(), torch.nn.Linear(50, 2))
            adam = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=1e-4)
            order = torch.randperm(len(X))
            held, rows = order.split([len(X) // 7, len(X) - len(X) // 7]) if self.is_tuned else (None, order)
            best, kept, waited = np.inf, None, 0
            for _ in range(5000 if self.is_tuned else 40):
                for batch in rows[torch.randperm(len(rows))].split(100):
                    adam.zero_grad()
                    loss(net, batch).backward()
                    adam.step()
                if self.is_tuned:
                    with torch.no_grad():
                        now = float(loss(net, held))
                    if now < best:
                        best, kept, waited = now, {key: of.clone() for key, of in net.state_dict().items()}, 0
                    elif (waited := waited + 1) == 50:
                        break
            if kept:
                net.load_state_dict(kept)
            return net

        self.members = [member() for _ in range(5)]

    def moments(self, X):
        import torch

        with torch.no_grad():
            out = torch.stack([net(torch.tensor(X, dtype=torch.float32)) for net in self.members]).double().numpy()
        return out[:, None, :, 0], np.sqrt(np.logaddexp(0, out[:, None, :, 1]) + 1e-6)


class Residuals(Mixture):
    """Models of scikit-learn that have no density: normal, with the mean square of the residuals of five folds."""

    def __init__(self, make):
        self.make = make

    def fit(self, X, y, seed):
        model = self.make(seed)
        self.sd = np.sqrt(np.mean((cross_val_predict(model, X, y, cv=5) - y) ** 2))
        self.model = model.fit(X, y)

    def moments(self, X):
        mean = self.model.predict(X)[None, None]
        return mean, np.full_like(mean, self.sd)


class Densities(Mixture):
    """Models of scikit-learn that predict a mean and a standard deviation."""

    def __init__(self, make):
        self.make = make

    def fit(self, X, y, seed):
        self.model = self.make(seed, X.shape[1]).fit(X, y)

    def moments(self, X):
        return [of[None, None] for of in self.model.predict(X, return_std=True)]


def multilayer_perceptrons(seed):
    from sklearn.ensemble import BaggingRegressor
    from sklearn.neural_network import MLPRegressor

    network = MLPRegressor(early_stopping=True, max_iter=2000)
    return BaggingRegressor(network, 5, bootstrap=False, random_state=seed)


def boosting(seed):
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed)


def ridge(seed, d):
    from sklearn.linear_model import BayesianRidge

    return BayesianRidge()


def gaussian_process(seed, d):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF(np.full(d, 3.0), (0.1, 1000.0)) + WhiteKernel()
    return GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=seed)


QUICK_START = dict(
    hidden_layers=[16, 16], n_members=8, epochs=200, patience=10, validation_split=0.15, lr=1e-3, weight_decay=1e-4, warmup_steps=5000,
    n_samples=2000, n_thinning=2,
)  # fmt: skip
LIBRARIES = {
    "ours": lambda: Ours(),
    "ours-ensemble": lambda: Ours(method="ensemble"),
    "ours-nuts": lambda: ours_of("nuts"),
    "ours-collapsed": lambda: ours_of("collapsed"),
    "numpyro": lambda: NumPyro(is_example=False),
    "numpyro-example": lambda: NumPyro(is_example=True),
    "bde": lambda: Bde(),
    "bde-tuned": lambda: Bde(**QUICK_START),
    "torch": lambda: Torch(is_tuned=False),
    "torch-tuned": lambda: Torch(is_tuned=True),
    "sklearn-mlp": lambda: Residuals(multilayer_perceptrons),
    "sklearn-boosting": lambda: Residuals(boosting),
    "sklearn-ridge": lambda: Densities(ridge),
    "sklearn-gp": lambda: Densities(gaussian_process),
}


def imported(library):
    """Imports what a library needs, so that the clock does not have it."""
    match library.partition("-")[0]:
        case "ours":
            import bnn_mcmc
        case "numpyro":
            import numpyro.infer
        case "bde":
            import bde.loss
        case "torch":
            import torch

            # The first optimiser imports more.
            torch.optim.Adam([torch.zeros(1)])
        case "sklearn":
            import sklearn.ensemble
            import sklearn.gaussian_process.kernels
            import sklearn.linear_model
            import sklearn.neural_network


def line(train, test, seed, library):
    """The scores of a library, and the log densities of the test rows."""
    (X, y), (X_test, y_test) = train, test
    centre, sd, shift, scale = X.mean(axis=0), X.std(axis=0), y.mean(), y.std()
    sd[sd == 0] = 1
    X, X_test, y, y_test = (X - centre) / sd, (X_test - centre) / sd, (y - shift) / scale, (y_test - shift) / scale
    imported(library)
    of = LIBRARIES[library]()
    began = time.perf_counter()
    of.fit(X, y, seed)
    seconds = time.perf_counter() - began
    found = of.score(X_test, y_test)
    density = found["log_density"] - np.log(scale)
    said = {
        "seconds": seconds,
        "rmse": scale * np.sqrt(np.mean((found["mean"] - y_test) ** 2)),
        "density": density.mean(),
        "coverage": found["inside"].mean(),
    }
    if found["means"] is not None:
        rhat = arviz.rhat(arviz.convert_to_dataset({"f": found["means"][:, :, :200]}))["f"]
        said["rhat"] = float(rhat.max())
    said = {key: float(f"{value:.5g}") for key, value in said.items()}
    if found.get("model"):
        said["model"] = found["model"]
    return said, density


def main():
    if sys.argv[1] == "jobs":
        # `ours` comes first: the others are compared with it.
        print(json.dumps([[name, k + 1, of] for name, (_, splits) in TABLES.items() for k in range(splits) for of in LIBRARIES]))
        return
    if sys.argv[1] == "--csv":
        *paths, seed, library = sys.argv[2:]
        sets = [np.loadtxt(path, delimiter=",", skiprows=1) for path in paths]
        train, test = ((rows[:, :-1], rows[:, -1]) for rows in sets)
        print(json.dumps(line(train, test, int(seed), library)[0]))
        return
    name, split, library = sys.argv[1:4]
    X, y = table(name)
    X, X_test, y, y_test = train_test_split(X, y, train_size=TABLES[name][0], random_state=int(split))
    said, density = line((X, y), (X_test, y_test), int(split), library)
    if len(sys.argv) > 4:
        kept = lambda of: pathlib.Path(sys.argv[4]) / f"{name}-{split}-{of}.npy"
        np.save(kept(library), density)
        if kept("ours").exists():
            apart = density - np.load(kept("ours"))
            said["behind"] = [float(f"{of:.4g}") for of in (apart.mean(), apart.std(ddof=1) / np.sqrt(len(apart)))]
    print(json.dumps({"table": name, "split": int(split), "library": library, **said}), flush=True)


if __name__ == "__main__":
    main()

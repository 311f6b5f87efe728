# %% [markdown]
# # Diabetes, with its uncertainty
#
# A Bayesian neural network for the progression of diabetes of 442 patients a year after ten
# measurements (`sklearn.datasets.load_diabetes`). The cells run one after the other, in an editor
# that knows `# %%` or as a program:
#
#     python examples/diabetes.py

# %%
import warnings

import numpy as np
from bnn_mcmc import BnnRegressor, NotConvergedWarning
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score, train_test_split

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=100, random_state=1)

# %% [markdown]
# ## A fit, and whether to trust it
#
# 16 hidden units, whose output weights are integrated out, and four chains. (Without `hidden` there
# are 100 units, which take several times as long and say the same here.) If the chains do not
# agree, `fit` warns with the verdict's sentence.

# %%
model = BnnRegressor(hidden=(16,), random_state=1).fit(X_train, y_train)
print(model.verdict_)
for name in ("max_rhat", "min_ess_bulk", "divergences", "chains_apart", "sampling_seconds"):
    print(f"{name:18} {model.diagnostics_[name]:.4g}")

# %% [markdown]
# ## New patients
#
# `std` and intervals are of new observations: what is not known about the mean function, and the
# noise.

# %%
mean, std, lower, upper = model.predict(X_test, return_std=True, interval=0.9)
print("expected  std   90 % interval   observed")
for i in range(5):
    interval = f"{lower[i]:4.0f} to {upper[i]:4.0f}"
    print(f"{mean[i]:8.0f} {std[i]:4.0f}   {interval} {y_test[i]:12.0f}")
covered = np.mean((lower <= y_test) & (y_test <= upper))
print(f"{covered:.0%} of {len(y_test)} observations lie in their intervals")

# %% [markdown]
# ## Scores
#
# `score` is R^2, as of any regressor of scikit-learn; `scores` says how good the whole predictive
# distribution is, in units of the response.

# %%
print(f"R^2 {model.score(X_test, y_test):.3f}")
for name, value in model.scores(X_test, y_test).items():
    print(f"{name:24} {value:.3f}")

# %% [markdown]
# ## Which inputs matter?
#
# `weight_prior="ard"` samples a variance for the weights of each input, and shrinks those of inputs
# that say nothing. Cross-validation compares it with the default: any tool of scikit-learn takes
# these estimators. The runs are short, and their warnings are not of interest here.

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore", NotConvergedWarning)
    for weight_prior in ("fan_in", "ard"):
        short = BnnRegressor(
            hidden=(16,), weight_prior=weight_prior, warmup=300, draws=300, random_state=1
        )
        errors = -cross_val_score(short, X, y, cv=5, scoring="neg_root_mean_squared_error")
        print(f"{weight_prior:7} {errors.mean():.2f}")

# %% [markdown]
# ## The draws, for ArviZ
#
# A `DataTree` with the draws and their predictions of the training rows (`pip install
# arviz xarray zarr`).

# %%
try:
    tree = model.to_datatree()
except ImportError as missing:
    print(missing)
else:
    print(", ".join(tree.children))
    drawn = tree["posterior_predictive"]["y1"]
    print(f"simulated responses {dict(drawn.sizes)}: mean {float(drawn.mean()):.1f}")
    print(f"observed responses: mean {y_train.mean():.1f}")

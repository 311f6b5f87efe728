"""Draws for ArviZ 1.x, which needs Python 3.12: summaries, leave-one-out, figures."""

import arviz
import numpy as np
from arviz_plots import PlotCollection
from bnn_mcmc import BnnRegressor
from sklearn.datasets import load_diabetes

assert int(arviz.__version__.split(".")[0]) >= 1, arviz.__version__
X, y = load_diabetes(return_X_y=True)
model = BnnRegressor(hidden=(4,), warmup=300, draws=300, random_state=1).fit(X[:200], y[:200])
tree = model.to_datatree()
assert "b1[y1]" in arviz.summary(tree, var_names=["b1"]).index
rhat = arviz.rhat(tree["sample_stats"].to_dataset()["joint_log_likelihood"].values)
np.testing.assert_allclose(rhat, model.diagnostics_["groups"]["log likelihood"]["max_rhat"], 1e-6)
# Tails of importance weights begin at slightly different draws.
np.testing.assert_allclose(arviz.loo(tree).elpd, model.loo().elpd, atol=0.05)
for plot in (arviz.plot_trace, arviz.plot_forest, arviz.plot_rank, arviz.plot_ess):
    figure = plot(tree, var_names=["w1"], backend="matplotlib")
    assert isinstance(figure, PlotCollection), plot
figure = arviz.plot_ppc_dist(tree, backend="matplotlib")
assert isinstance(figure, PlotCollection)
print(f"ArviZ {arviz.__version__}")

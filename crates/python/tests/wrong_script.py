"""What a user gets wrong, as the types say: an error on each line that ends in `# wrong`."""

from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor

BnnRegressor(activation="tan")  # wrong
BnnRegressor(weight_prior="ridge")  # wrong
BnnRegressor(noise="poisson")  # wrong
BnnCounts(noise="gaussian")  # wrong
BnnRegressor(response_transform="sqrt")  # wrong
BnnCounts(response_transform="log")  # wrong
BnnClassifier(method="gibbs")  # wrong
BnnClassifier(noise="gaussian")  # wrong
BnnRegressor(hidden=5)  # wrong
BnnRegressor(model="forest")  # wrong
BnnRegressor(minutes="10")  # wrong
mean, sd = BnnRegressor().predict([[1.0]], interval=0.9)  # wrong

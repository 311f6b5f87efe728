"""Every message names only what can be set in Python: parameters, with values they take."""

import ast
import re

import numpy as np
import pandas as pd
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor
from bnn_mcmc._native import _spelled

PARAMETERS = {
    name
    for estimator in (BnnRegressor, BnnClassifier, BnnCounts)
    for name in estimator().get_params()
}


def test_messages_name_parameters_and_values_that_they_take():
    messages = _spelled()
    named = [(message, name) for message in messages for name in re.findall("`([^`]*)`", message)]
    assert len(messages) >= 30 and len(named) >= 18
    for message, name in named:
        parameter, _, value = name.partition("=")
        assert parameter in PARAMETERS, message
        if value:
            # Out of range it would be refused before the rows are looked at.
            setting = ast.literal_eval(value)
            estimator = BnnRegressor(**{parameter: setting})
            X = pd.DataFrame({"constant": np.ones(4)})
            if parameter == "group":
                X[setting] = ["a", "b", "a", "b"]
            with pytest.raises(ValueError, match="every column is constant"):
                estimator.fit(X, [1.0, 2.0, 3.0, 4.0])
            # The native half has groups from the columns.
            settings = {"group": setting} | dict(estimator._settings(None))
            assert settings[parameter] is not None, message
    for message in messages:
        assert "::" not in message and "--" not in message, message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": (2**30,)}, "`hidden` is "),
        ({"method": "collapsed", "hidden": ()}, "`hidden` is 0, but must be 1 or more"),
        ({"draws": 2**50}, "`draws` is too large"),
        ({"weight_prior": -1.0}, "`weight_prior` is -1"),
    ],
)
def test_errors_name_parameters(settings, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)) as error:
        BnnRegressor(**settings).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0])
    assert "::" not in str(error.value) and "Sampler" not in str(error.value)

"""The types that users see: none is lacking, and choices are checked."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor, BnnSurvival, _base, _estimators
from bnn_mcmc._native import choices

HERE = Path(__file__).parent
NOISES = {
    "RealNoise": BnnRegressor,
    "CountNoise": BnnCounts,
    "TimeNoise": BnnSurvival,
    "ClassNoise": BnnClassifier,
}


def run(tmp_path, *arguments):
    tool = Path(sys.executable).with_name(arguments[0])
    if not tool.exists() and shutil.which(arguments[0]) is None:
        pytest.skip(f"{arguments[0]} is not installed")
    program = [str(tool) if tool.exists() else arguments[0], *map(str, arguments[1:])]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    return subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True)


def test_a_script_has_no_error_under_mypy_strict(tmp_path):
    checked = run(tmp_path, "mypy", "--strict", HERE / "user_script.py")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_wrong_settings_are_errors_of_types(tmp_path):
    path = HERE / "wrong_script.py"
    checked = run(tmp_path, "mypy", "--strict", path)
    found = [int(line) for line in re.findall(r"wrong_script\.py:(\d+): error", checked.stdout)]
    lines = path.read_text(encoding="utf-8").splitlines()
    assert found == [i for i, line in enumerate(lines, start=1) if line.endswith("# wrong")]


def test_no_public_name_lacks_its_type(tmp_path):
    checked = run(
        tmp_path, "pyright", "--outputjson", "--ignoreexternal", "--verifytypes", "bnn_mcmc"
    )
    score = json.loads(checked.stdout)["typeCompleteness"]["completenessScore"]
    assert score >= 0.95, checked.stdout


def test_choices_are_those_of_the_library():
    for name, values in choices().items():
        module = _estimators if name in NOISES else _base
        assert sorted(get_args(getattr(module, name))) == sorted(values), name
        for noise in values if name in NOISES else []:
            assert f'"{noise}"' in inspect.getdoc(NOISES[name]), noise


@pytest.mark.parametrize("estimator", [BnnRegressor, BnnClassifier, BnnCounts, BnnSurvival])
def test_help_has_every_parameter_and_attribute_in_words_of_its_own(estimator):
    text = inspect.getdoc(estimator)
    parameters = text.partition("Parameters\n----------\n")[2].partition("Attributes\n")[0]
    found = re.findall(r"^(\w[\w, ]*) : ", parameters, re.MULTILINE)
    assert ", ".join(found).split(", ") == list(inspect.signature(estimator).parameters)
    assert "those of `BnnRegressor`" not in text and "loky" in parameters
    attributes = text.partition("Attributes\n----------\n")[2]
    assert "feature_names_in_ : " in attributes
    assert ("classes_ : " in attributes) == (estimator is BnnClassifier)
    # What a class has in common is not what it says itself.
    assert ("cutpoints" in parameters) == (estimator is BnnClassifier)
    assert ("exposure : " in parameters) == (estimator is BnnCounts)

"""The programs of the README run, one after the other."""

import re
import warnings
from pathlib import Path

import pytest
from bnn_mcmc import NotConvergedWarning

README = Path(__file__).parents[1] / "README.md"


def test_programs_run(tmp_path, monkeypatch):
    pytest.importorskip("pandas", reason="one has a table of pandas, which is not installed")
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert len(programs) == 6
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        for program in programs:
            exec(compile(program, README, "exec"), names)
    assert (tmp_path / "diabetes-model" / "estimator.json").exists()

#!/usr/bin/env bash
# Builds the source distribution, a wheel from it, and the wheel of this checkout; installs the latter in a new
# environment, and runs the tests. Needs Rust, Python 3.11 or newer and PyPI. Arguments are those of pytest.
set -euo pipefail
cd "$(dirname "$0")"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../../target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
bin=$work/venv/bin
"$bin/pip" install --quiet --disable-pip-version-check --requirement requirements-test.txt
"$bin/ruff" format --check .
"$bin/ruff" check .
# What the tests compare tables with.
cargo build --release --locked --quiet --package bnn-mcmc-python --example read_csv

# As `pip install` does from PyPI where there is no wheel: the archive alone, in an environment of its own.
"$bin/maturin" sdist --out "$work/sdist"
python3 -m venv "$work/from-sdist"
"$work/from-sdist/bin/pip" install --quiet --disable-pip-version-check "$work"/sdist/*.tar.gz
(
  cd "$work"
  from-sdist/bin/python -W ignore -c '
import numpy as np
from bnn_mcmc import BnnRegressor
x = np.linspace(0, 1, 20)[:, None]
model = BnnRegressor(hidden=(), chains=1, warmup=10, draws=10, random_state=1).fit(x, np.sin(9 * x[:, 0]))
assert model.predict(x).shape == (20,)
'
)
echo "$(basename "$work"/sdist/*.tar.gz): built, installed and used"

"$bin/maturin" build --quiet --release --locked --interpreter "$bin/python" --out "$work"
wheel=$(echo "$work"/*.whl)
bytes=$(wc -c < "$wheel")
echo "$(basename "$wheel"): $bytes bytes"
if [ "$bytes" -gt 4000000 ]; then
  echo "the wheel has more than 4 MB"
  exit 1
fi
"$bin/pip" install --quiet --disable-pip-version-check --no-deps "$wheel"
# The installed package, as a user's editor sees it.
PATH=$bin:$PATH "$bin/pyright"
"$bin/python" -m pytest -q -rs "$@"

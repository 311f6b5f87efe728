#!/usr/bin/env bash
# Builds the source distribution and a wheel from it, installs that in a new environment, and runs the tests. Needs
# Rust, Python 3.11 or newer and PyPI. Arguments are those of pytest.
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

# As `pip install` does from PyPI where there is no wheel: from the archive alone.
"$bin/maturin" sdist --out "$work/sdist"
"$bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" "$work"/sdist/*.tar.gz
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

#!/usr/bin/env bash
# Builds the wheel, installs it in a new environment, and runs the tests. Needs Python 3.11 or newer and PyPI.
# Arguments are those of pytest.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
bin=$work/venv/bin
"$bin/pip" install --quiet --disable-pip-version-check --requirement requirements-test.txt
"$bin/ruff" format --check .
"$bin/ruff" check .
"$bin/maturin" build --quiet --release --locked --interpreter "$bin/python" --out "$work"
wheel=$(echo "$work"/*.whl)
bytes=$(wc -c < "$wheel")
echo "$(basename "$wheel"): $bytes bytes"
if [ "$bytes" -gt 4000000 ]; then
  echo "the wheel has more than 4 MB"
  exit 1
fi
"$bin/pip" install --quiet --disable-pip-version-check --no-deps "$wheel"
"$bin/python" -m pytest -q -rs "$@"

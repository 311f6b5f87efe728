#!/usr/bin/env bash
# Runs the tests of the Python package, in a new environment: of the library as `cargo test` compiles it, or, with `wheel` as
# the first argument, of a wheel built from the source distribution, in all Pythons. Needs Rust, Python 3.11 or newer and PyPI. Other
# arguments are those of pytest.
set -euo pipefail
cd "$(dirname "$0")"
wheel=false
if [ "${1:-}" = wheel ]; then
  wheel=true
  shift
fi
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../../target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
bin=$work/venv/bin
"$bin/pip" install --quiet --disable-pip-version-check --requirement requirements-test.txt
"$bin/ruff" format --check .
"$bin/ruff" check .

if $wheel; then
  # As PyPI would have it: the archive, and from that alone a wheel, on Linux by zig for systems as old as glibc 2.28.
  "$bin/maturin" sdist --out "$work/sdist"
  if [ "$(uname -s)" = Linux ]; then
    export MATURIN_PEP517_ARGS="--zig --compatibility manylinux_2_28"
  fi
  PATH=$bin:$PATH "$bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
    --wheel-dir "$work" "$work"/sdist/*.tar.gz
  built=$(echo "$work"/*.whl)
  "$bin/twine" check --strict "$built" "$work"/sdist/*.tar.gz
  if [ "$(uname -s)" = Linux ]; then
    tags=$("$bin/auditwheel" show "$built" | tr '\n' ' ')
    if [[ $tags != *"consistent with"*manylinux_2_28* ]]; then
      echo "$tags"
      exit 1
    fi
  fi
  bytes=$(wc -c < "$built")
  echo "$(basename "$built"): $bytes bytes"
  if [ "$bytes" -gt 4000000 ]; then
    echo "the wheel has more than 4 MB"
    exit 1
  fi
  # One wheel for every Python, with nothing but what it names itself.
  for python in python3.11 python3.12 python3.13 python3.14; do
    # pyenv has Pythons that are not active.
    version=$(pyenv whence "$python" 2>/dev/null | tail -n 1 || true)
    run=(env ${version:+PYENV_VERSION="$version"} "$python")
    if ! "${run[@]}" --version >/dev/null 2>&1; then
      echo "NOT CHECKED: the wheel in $python"
      continue
    fi
    "${run[@]}" -m venv "$work/$python"
    "$work/$python/bin/pip" install --quiet --disable-pip-version-check --prefer-binary "$built"
    "$work/$python/bin/python" -W ignore tests/first_fit.py
    # ArviZ 1.x needs Python 3.12; the tests below have the version before.
    if [ "$python" = python3.12 ]; then
      "$work/$python/bin/pip" install --quiet --disable-pip-version-check --prefer-binary arviz==1.3.0 zarr==3.4.2 matplotlib
      "$work/$python/bin/python" -W ignore tests/arviz_1.py
    fi
  done
  "$bin/pip" install --quiet --disable-pip-version-check --no-deps "$built"
else
  cargo build --workspace --lib --locked --quiet
  site=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  cp -r python/bnn_mcmc "$site"
  native=$CARGO_TARGET_DIR/debug/lib_native
  if [ -f "$native.dylib" ]; then native=$native.dylib; else native=$native.so; fi
  cp "$native" "$site/bnn_mcmc/_native.abi3.so"
fi
# The installed package, as a user's editor sees it.
PATH=$bin:$PATH "$bin/pyright"
"$bin/python" -m pytest -q -rs "$@"

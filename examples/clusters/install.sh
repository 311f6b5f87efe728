#!/usr/bin/env bash
# Installs what the scripts of this folder run under, for their test (test.sh), Slurm, GNU parallel and Dask, and an MPI for crates/mpi,
# on Debian 12 or newer, as root. Dask comes from PyPI, into target/engines (or $CARGO_TARGET_DIR/engines).
set -euo pipefail
cd "$(dirname "$0")/../.."
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends slurm-wlm munge parallel procps util-linux python3-venv \
  libopenmpi-dev openmpi-bin libclang-dev
engines=${CARGO_TARGET_DIR:-$PWD/target}/engines
python3 -m venv "$engines"
"$engines/bin/pip" install --quiet 'dask[distributed]' PyYAML kubernetes-validate

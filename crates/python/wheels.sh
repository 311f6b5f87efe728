#!/usr/bin/env bash
# Builds the wheels of a release: wheels.sh FOLDER TARGET..., where a target is Rust's name of a platform. Those of Linux are
# made by zig on any Linux, for systems with glibc 2.28 or musl 1.2 and newer; those of macOS and Windows on their own
# systems. One wheel serves every Python from 3.11 on. Needs maturin, and zig as PyPI's ziglang
# (requirements-test.txt names their versions), and `rustup target add TARGET`.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$(dirname "$0")"
for target in "$@"; do
  case $target in
    *-linux-gnu) for_system=(--zig --compatibility manylinux_2_28) ;;
    *-linux-musl) for_system=(--zig --compatibility musllinux_1_2) ;;
    *-apple-darwin | *-pc-windows-msvc) for_system=() ;;
    *)
      echo "there are no wheels for $target: x86_64 or aarch64 of linux-gnu, linux-musl, apple-darwin, pc-windows-msvc"
      exit 2
      ;;
  esac
  maturin build --release --locked --target "$target" ${for_system[@]+"${for_system[@]}"} --out "$folder"
done

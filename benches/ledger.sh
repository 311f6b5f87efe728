#!/usr/bin/env bash
# The ledger of speed: counts the instructions of the workloads in `workloads.rs` and compares them with the table in README.md.
#
#   benches/ledger.sh           counts, prints, and fails where a workload takes over 3 % more than the table says
#   benches/ledger.sh write     writes the counts into the table; say why in the same commit
#   benches/ledger.sh build     what compiles for how long: seconds by unit, from an empty folder, and LLVM lines of the library
#
# Instructions are counted by valgrind (Debian's package), which has AVX2: no load on the machine changes them.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
readme=benches/README.md
workloads=(a b c d e f g nuts collapsed predict read search)

# Seconds of the ten units that take longest, and of all, of a command of cargo in an empty folder.
timed() {
  local folder began=$SECONDS
  folder=$(mktemp -d)
  CARGO_TARGET_DIR=$folder cargo "$@" --timings --locked --quiet >/dev/null
  printf '\n%s: %d s\n' "cargo $*" $((SECONDS - began))
  sed -n '/^const UNIT_DATA = /,/^];$/p' "$folder"/cargo-timings/cargo-timing.html | sed 's/^const UNIT_DATA = //; s/^];$/]/' |
    python3 -c '
import json, sys
units = sorted(json.load(sys.stdin), key=lambda unit: -unit["duration"])
for unit in units[:10]:
    print("%7.1f  %s%s" % (unit["duration"], unit["name"], unit["target"]))
print("%7.1f  all %d units" % (sum(unit["duration"] for unit in units), len(units)))'
  rm -rf "$folder"
}

if [ "${1:-}" = build ]; then
  timed build --release --example iris
  timed test --workspace --no-run
  if cargo llvm-lines --version >/dev/null 2>&1; then
    cargo llvm-lines --release --lib --locked 2>/dev/null | sed -n 3p
  else
    echo "NOT CHECKED: LLVM lines (cargo install cargo-llvm-lines)"
  fi
  exit
fi

if ! valgrind --version >/dev/null 2>&1; then
  echo "NOT CHECKED: instructions of the workloads (Debian's valgrind)"
  exit
fi
# As a user's program is compiled: without LTO within crates, what is inlined depends on where the compiler cuts them.
CARGO_PROFILE_RELEASE_LTO=false cargo build --release --locked --quiet -p bnn-mcmc-benches --bin workloads
count() {
  RAYON_NUM_THREADS=1 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$CARGO_TARGET_DIR/release/workloads" "$1" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}
export -f count
counts=$(printf '%s\n' "${workloads[@]}" | xargs -P "$(nproc)" -I {} bash -c 'echo {} $(count {})')
slower=()
for name in "${workloads[@]}"; do
  millions=$(awk -v name="$name" '$1 == name && $2 > 0 { printf "%.2f", $2 / 1e6 }' <<<"$counts")
  [ -n "$millions" ] || { echo "the workload $name was not counted"; exit 1; }
  known=$(sed -n "s/^| $name | \([0-9.]*\) |.*/\1/p" $readme)
  [ -n "$known" ] || { echo "$readme has no row of the workload $name"; exit 1; }
  share=$(awk -v new="$millions" -v old="$known" 'BEGIN { printf "%+.1f", 100 * (new / old - 1) }')
  printf '%-10s %10.1f million instructions, %s %%\n' "$name" "$millions" "$share"
  if [ "${1:-}" = write ]; then
    sed -i "s/^| $name | [0-9.]* |/| $name | $millions |/" $readme
  elif awk -v share="$share" 'BEGIN { exit share <= 3 }'; then
    slower+=("$name")
  fi
done
if [ "${#slower[@]}" -gt 0 ]; then
  echo "over 3 % more instructions than in $readme: ${slower[*]} (benches/ledger.sh write, with the reason)"
  exit 1
fi

#!/usr/bin/env bash
# Runs the examples by mpirun on 1, 2, 3 and 4 ranks, ends and kills them, and compares the draws with those of one process, byte for
# byte: `crates/mpi/test.sh`. Says NOT CHECKED where there is no MPI.
set -euo pipefail
cd "$(dirname "$0")"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../../target}
if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null || ! ls /usr/lib/llvm*/lib/libclang*.so* >/dev/null 2>&1; then
  echo "NOT CHECKED: ranks of MPI (examples/clusters/install.sh)"
  exit
fi
# As root, with more ranks than cores, and without a network between them.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
cargo fmt --check
cargo clippy --release --all-targets --locked -- -D warnings
cargo build --release --examples --locked
cargo test --release --locked --doc
examples=$CARGO_TARGET_DIR/release/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() {
  say "FAILED: $*"
  tail -n 20 log 2>/dev/null || true
  exit 1
}
ranks() { # N COMMAND ..
  local n=$1
  shift
  timeout 300 mpirun -n "$n" "$@" >log 2>&1
}
same() { cmp "$1" "$2" || fail "$3"; }
left() { pgrep -f "^$examples/" || true; }

run_rungs=("$examples/rungs" --chains 2 --warmup 60 --draws 40)
run_long=("$examples/rungs" --chains 2 --warmup 1000 --draws 1000)
run_rows=("$examples/rows" --chains 2 --warmup 5 --draws 10 --rows 40000 --file rows)
run_chains=("$examples/chains" --chains 4 --warmup 100 --draws 100)
"${run_rungs[@]}" --out rungs.csv >/dev/null || fail "rungs in one process"
"${run_long[@]}" --out long.csv >/dev/null || fail "rungs in one process"
"${run_rows[@]}" --out rows.csv >/dev/null || fail "rows in one process"
"${run_chains[@]}" --folder alone --out chains.csv >/dev/null || fail "chains in one process"
for n in 1 2 3 4; do
  ranks "$n" "${run_rungs[@]}" --out out.csv || fail "rungs on $n ranks"
  same out.csv rungs.csv "rungs on $n ranks"
  ranks "$n" "${run_rows[@]}" --out out.csv || fail "rows on $n ranks"
  same out.csv rows.csv "rows on $n ranks"
  ranks "$n" "${run_chains[@]}" --folder "run$n" --out out.csv || fail "chains on $n ranks"
  same out.csv chains.csv "chains on $n ranks"
  say "$n ranks: the same bytes"
done
for n in 2 3 4; do
  ranks "$n" "${run_rows[@]}" --teams 2 --out out.csv || fail "two teams of $n ranks"
  same out.csv rows.csv "two teams of $n ranks"
  rm -r rows.team-*
done
say "two teams with a chain each: the same bytes"

# A rank is killed at a random moment, again and again; the run goes on with other ranks each time.
for what in long rows; do
  declare -n run=run_$what
  kills=0
  for ((i = 0; i < 10; i++)); do
    n=$((2 + i % 3))
    timeout 300 mpirun -n "$n" "${run[@]}" --checkpoint "$what.checkpoint" --out out.csv >log 2>&1 &
    job=$!
    sleep "0.$((300 + RANDOM % 600))"
    mapfile -t there < <(left)
    if [ "${#there[@]}" -gt 0 ] && kill -KILL "${there[RANDOM % ${#there[@]}]}" 2>/dev/null; then
      kills=$((kills + 1))
    fi
    wait "$job" || true
    for ((t = 0; t < 100; t++)); do
      [ -z "$(left)" ] && break
      sleep 0.1
    done
    [ -z "$(left)" ] || fail "$what: ranks are left after a kill"
  done
  [ "$kills" -ge 3 ] || fail "$what: only $kills of ten kills met a rank"
  ranks 3 "${run[@]}" --checkpoint "$what.checkpoint" --out out.csv || fail "$what after kills"
  same out.csv "$what.csv" "$what after $kills kills"
  say "$what: the same bytes after $kills kills"
done

# Chains are killed with their parts half written.
for ((i = 0; i < 4; i++)); do
  timeout 300 mpirun -n 3 "$examples/chains" --chains 4 --warmup 2000 --draws 2000 --folder killed --out out.csv >log 2>&1 &
  job=$!
  sleep "0.$((500 + RANDOM % 400))"
  mapfile -t there < <(left)
  [ "${#there[@]}" -eq 0 ] || kill -KILL "${there[RANDOM % ${#there[@]}]}" 2>/dev/null || true
  wait "$job" || true
  until [ -z "$(left)" ]; do sleep 0.1; done
done
ranks 3 "$examples/chains" --chains 4 --warmup 2000 --draws 2000 --folder killed --out out.csv || fail "chains after kills"
"$examples/chains" --chains 4 --warmup 2000 --draws 2000 --folder alone2 --out long-chains.csv >/dev/null
same out.csv long-chains.csv "chains after kills"
say "chains: the same bytes after kills"

# Asked to end, all ranks end, and a run of one process goes on.
timeout 300 mpirun -n 4 "${run_long[@]}" --checkpoint ended.checkpoint >log 2>&1 &
job=$!
sleep 1
pkill -USR1 -f "^mpirun -n 4 $examples/rungs" || true
wait "$job" || fail "a run that was asked to end"
[ -z "$(left)" ] || fail "ranks are left after SIGUSR1"
"${run_long[@]}" --checkpoint ended.checkpoint --out out.csv >/dev/null
same out.csv long.csv "a run that was asked to end, in one process"
say "ended by SIGUSR1, it goes on in one process"

# A rank that cannot read its rows says so, and all end.
head -c 100000 rows >cut
mv cut rows
if ranks 2 "${run_rows[@]}" --out out.csv; then fail "a file that is cut off was read"; fi
grep -q "so that all end" log || fail "nothing is said of a file that is cut off"
say "a file that is cut off is refused"

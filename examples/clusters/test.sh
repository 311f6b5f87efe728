#!/usr/bin/env bash
# Runs the scripts of this folder under the engines that are installed (install.sh), interrupts them, and compares what they make
# with the run of one process, byte for byte: `examples/clusters/test.sh BNN_MCMC [ENGINE ..]`, where BNN_MCMC is the command.
# Slurm runs here with a cluster of its own, of this machine alone. What is lacking is said as NOT CHECKED.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
command=$(realpath "${1:?the path of bnn-mcmc}")
shift
engines=${*:-slurm parallel kubernetes dask}
python=${CARGO_TARGET_DIR:-$scripts/../../target}/engines/bin/python
[ -x "$python" ] || python=python3
work=$(mktemp -d)
chmod 755 "$work" # munged asks for it
trap 'status=$?; set +e; declare -F slurm_down >/dev/null && slurm_down; rm -rf "$work"; exit $status' EXIT
mkdir "$work/bin"
ln -s "$command" "$work/bin/bnn-mcmc"
export PATH=$work/bin:$PATH

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() {
  say "FAILED: $*"
  tail -n 20 slurm-*.out log 2>/dev/null || true
  exit 1
}
has() { command -v "$1" >/dev/null; }

# until_ WHAT COMMAND ..: waits until the command is true, for at most two minutes.
until_() {
  local what=$1 i
  shift
  for ((i = 0; i < 1200; i++)); do
    if "$@"; then return; fi
    sleep 0.1
  done
  fail "waited two minutes for $what"
}

# The process that samples a chain in the folder of the test, which is not one that is beginning.
process_of() {
  local pid
  for pid in $(pgrep -f -- "--chains $1\\.\\.$(($1 + 1))( |\$)"); do
    if [ "$(readlink "/proc/$pid/exe")" = "$command" ] && [ "$(readlink "/proc/$pid/cwd")" = "$PWD" ]; then
      echo "$pid"
    fi
  done
}
# The rows are written when the chain begins.
runs() { [ -s "run/chains-$1..$(($1 + 1))/data.csv" ] && [ -n "$(process_of "$1")" ]; }
has_begun() { until_ "chain $1" runs "$1" && sleep 0.2; }
is_finished() { grep -q '"finished": *true' "run/chains-$1..$(($1 + 1))/fit.json" 2>/dev/null; }
is_unfinished() { ! is_finished "$1" || fail "chain $1 was too fast to be interrupted"; }
is_gone() { [ -z "$(process_of "$1")" ]; }

begin() {
  mkdir "$work/$1"
  cd "$work/$1"
  cp "$work/data.csv" "$scripts"/run.* .
}

# The run of the scripts is the run of one process: all files but the checkpoint and the file with the times of the clock,
# the settings but the number of threads, and predictions.
is_the_run_of_one() {
  local found
  found=$(diff -rq --exclude='checkpoint*' --exclude='chains-*' --exclude=config.toml "$work/one" run || true)
  [ "$found" = "Files $work/one/draws.zarr/zarr.json and run/draws.zarr/zarr.json differ" ] || fail "$found"
  diff <(grep -v ^threads "$work/one/config.toml") <(grep -v ^threads run/config.toml) || fail "config.toml"
  cmp <(bnn-mcmc predict run data.csv 2>/dev/null) "$work/one.csv" || fail "predictions"
}

# The message of a merge that is refused.
refused() {
  if bnn-mcmc merge run 2>error; then fail "the merge of an unfinished run"; fi
  grep -qF "$1" error || fail "the merge said: $(cat error)"
}

awk 'BEGIN { srand(1); print "x,y"; for (i = 0; i < 24; i++) printf "%.2f,%.4f\n", i / 24, sin(i / 3) + 0.2 * rand() }' >"$work/data.csv"
cd "$work"
bnn-mcmc fit data.csv --target y --model network --out one --chains 4 --quiet &>log
bnn-mcmc predict one data.csv >one.csv 2>/dev/null
say "one process"

# --- Slurm

slurm_up() {
  local host
  host=$(hostname -s)
  mkdir -m 700 "$work/munge" "$work/state" "$work/spool"
  head -c 1024 /dev/urandom >"$work/munge/key"
  chmod 400 "$work/munge/key"
  munged --force --key-file="$work/munge/key" --socket="$work/munge.socket" --pid-file="$work/munge/pid" \
    --log-file="$work/munge/log" --seed-file="$work/munge/seed"
  # A job that is requeued waits for its credential to expire: five seconds here, two minutes by default.
  cat >"$work/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket,cred_expire=5
SlurmUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(free --mebi | awk "/^Mem/ { print \$2 }") State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF=$work/slurm.conf
  slurmctld
  slurmd
  until_ "Slurm's node" node_is_idle
}
node_is_idle() { [ "$(sinfo --noheader --format=%T 2>/dev/null)" = idle ]; }
slurm_down() {
  local name
  [ -e "$work/slurm.conf" ] || return 0
  scancel --user=root 2>/dev/null
  for name in slurmd.pid slurmctld.pid munge/pid; do
    [ -s "$work/$name" ] && kill "$(cat "$work/$name")"
  done
  sleep 1
}
queue_is_empty() { [ -z "$(squeue --noheader)" ]; }
has_state() { [ "$(squeue --noheader --array --format=%T --jobs="$1" 2>/dev/null)" = "$2" ]; }

slurm() {
  local all job program
  if [ "$(id -u)" != 0 ]; then
    say "NOT CHECKED: Slurm (as root)"
    return
  fi
  for program in sbatch slurmctld slurmd munged; do
    if ! has $program; then
      say "NOT CHECKED: Slurm (Debian's slurm-wlm and munge: examples/clusters/install.sh)"
      return
    fi
  done
  begin slurm
  slurm_up
  say "slurm: a cluster of this machine"
  bash run.sbatch >log
  all=$(squeue --noheader --format=%A --sort=i | head -1)
  has_begun 0
  is_unfinished 0
  scontrol requeue "${all}_0"
  until_ "task 0 in the queue" has_state "${all}_0" PENDING
  has_begun 1
  is_unfinished 1
  scancel --signal=TERM "${all}_1"
  until_ "task 1 in the queue" has_state "${all}_1" PENDING
  grep -q "Exited with exit code 143" "slurm-${all}_1.out" || fail "no exit code 143"
  say "slurm: task 0 was requeued, task 1 ended by TERM and has gone back to the queue"
  until_ "the merge" queue_is_empty
  is_the_run_of_one
  say "slurm: the merge that depends on all four makes the run of one process"

  # A job that is cancelled is gone; chains that are not finished are submitted again by their numbers.
  rm -r run
  job=$(sbatch --parsable --array=1-2 run.sbatch)
  has_begun 2
  is_unfinished 2
  scancel "${job}_2"
  until_ "the end of the other task" queue_is_empty
  is_gone 2 || fail "chain 2 runs after its job was cancelled"
  refused "no part has the chains 0..1 and 3..4 of 0..4: their job has not begun; the chains 2..3 of 0..4 are not finished"
  sbatch --parsable --array=0,2-3 run.sbatch >log
  until_ "the other tasks" queue_is_empty
  bnn-mcmc merge run >log
  is_the_run_of_one
  say "slurm: task 2 was cancelled, \`merge\` named it, and submitted again it has made the run of one process"
  slurm_down
  rm "$work/slurm.conf"
}

# --- GNU parallel

parallel_() {
  if ! has parallel || ! parallel --version 2>/dev/null | grep -q "^GNU parallel"; then
    say "NOT CHECKED: GNU parallel (Debian's parallel: examples/clusters/install.sh)"
    return
  fi
  begin parallel
  local pid status=0
  bash run.parallel.sh >log 2>&1 &
  pid=$!
  has_begun 0
  is_unfinished 0
  kill "$(pgrep -P "$pid" -x -f ".*parallel --quote.*" | head -1)"
  wait "$pid" || status=$?
  [ "$status" != 0 ] || fail "TERM to GNU parallel: $status"
  is_gone 0 && is_gone 1 || fail "chains have outlived GNU parallel"
  refused "not finished"
  say "parallel: ended by TERM with exit code $status, and its chains with it"
  bash run.parallel.sh >log 2>&1 &
  pid=$!
  has_begun 1
  is_unfinished 1
  kill "$(process_of 1)"
  wait "$pid" || fail "GNU parallel after TERM to a chain"
  is_the_run_of_one
  say "parallel: run again, with one chain ended by TERM and tried again, the run of one process"
}

# --- Kubernetes

# The container's command of a manifest, its words apart by zeros, as Kubernetes begins it; with the schema of Kubernetes, if there is one.
container() {
  "$python" - "$1" <<'PY'
import sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
try:
    import kubernetes_validate as schemas
    schemas.validate(job, schemas.latest_version(), strict=True)
    print("schema of Kubernetes", schemas.latest_version(), file=sys.stderr)
except ImportError:
    print("NOT CHECKED: the manifest by its schema (kubernetes-validate of PyPI)", file=sys.stderr)
spec = job["spec"]["template"]["spec"]
assert spec["containers"][0]["workingDir"] == "/work"
words = [word.replace("$$", "$") for word in spec["containers"][0]["command"]]
sys.stdout.write("\0".join(words) + "\0")
PY
}
kubernetes() {
  if ! "$python" -c "import yaml" 2>/dev/null; then
    say "NOT CHECKED: Kubernetes manifests (PyYAML: examples/clusters/install.sh)"
    return
  fi
  begin kubernetes
  local pod=() merge=() pid status=0 i
  container run.yaml >pod 2>log
  container run.merge.yaml >merge 2>>log
  mapfile -d '' -t pod <pod
  mapfile -d '' -t merge <merge
  say "kubernetes: $(sort -u log)"
  # As in a container, the process is the first of its name space, where TERM has no effect but by a handler.
  local first=(unshare --pid --fork --kill-child)
  "${first[@]}" true 2>/dev/null || first=()
  JOB_COMPLETION_INDEX=0 "${first[@]}" "${pod[@]}" >log 2>&1 &
  pid=$!
  has_begun 0
  is_unfinished 0
  kill "$(pgrep -P "$pid" || echo "$pid")"
  wait "$pid" || status=$?
  [ "$status" = 143 ] || fail "TERM to the pod: $status"
  refused "not finished"
  for i in 0 2; do
    JOB_COMPLETION_INDEX=$i "${pod[@]}" >log 2>&1 &
    pid=$!
    JOB_COMPLETION_INDEX=$((i + 1)) "${pod[@]}" >log.2 2>&1
    wait "$pid"
  done
  "${merge[@]}" >log
  is_the_run_of_one
  say "kubernetes: the commands of four pods and of the merge, one ended by TERM with 143 and begun again, make the run of one process"
}

# --- Dask

dask() {
  if ! "$python" -c "import distributed" 2>/dev/null; then
    say "NOT CHECKED: Dask (dask[distributed] of PyPI: examples/clusters/install.sh)"
    return
  fi
  if ! has setpriv; then
    say "NOT CHECKED: Dask (setpriv of util-linux)"
    return
  fi
  begin dask
  local pid worker
  "$python" run.dask.py >log 2>&1 &
  pid=$!
  has_begun 2
  is_unfinished 2
  worker=$(ps -o ppid= -p "$(process_of 2)" | tr -d ' ')
  [ "$worker" != "$pid" ] || fail "the chain runs in the client, not in a worker"
  kill -KILL "$worker"
  wait "$pid" || fail "Dask after a worker was killed"
  grep -q "stopping after the draw" log || fail "the chain has outlived its worker"
  is_the_run_of_one
  say "dask: one of four workers was killed, its task run again, and the run is the run of one process"
}

for engine in $engines; do
  case $engine in
    slurm | kubernetes | dask) "$engine" ;;
    parallel) parallel_ ;;
    *)
      echo "no engine $engine: slurm, parallel, kubernetes or dask"
      exit 2
      ;;
  esac
done

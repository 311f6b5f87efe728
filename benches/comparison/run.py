"""The comparison with others: `python3 benches/comparison/run.py` does all of it, in less than three hours on two idle cores.

It makes an environment with the versions of requirements.txt, builds `main.rs`, runs our samplers and those of `peers.py`, each on a
core of its own, and adds their lines to results.jsonl; then it makes another environment (requirements-tables.txt and our Python package) and runs
`tables.py`, one regression after the other on all cores, and adds its lines to tables.jsonl; then `crates/studies/src/acceptance.rs`, whose tables become acceptance.md
and linear.md; and it writes the page (`page.py`). What
these files have already is not run again: remove them to begin anew. --only REGEX runs some of the jobs, whose names are as in `summers nutpie-tuned` and
`diabetes bde`; --seeds N runs fewer seeds of the samplers.
"""

import argparse
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS, OF_TABLES = HERE / "results.jsonl", HERE / "tables.jsonl"
PROBLEMS = ["linear", "logistic", "schools", "summers", "classes", "network"]
OURS = ["nuts", "nuts-variances", "nuts-dense", "mams"]
PEERS = [f"{peer}{more}" for peer in ("pymc", "numpyro", "blackjax", "stan", "nutpie") for more in ("", "-tuned")]
# Long runs of two programs, whose mean is what the others are measured against.
REFERENCES = ["long", "nutpie-long"]
SEEDS = 10
# The seconds that a regression of a table may take.
LIMIT = 900


def environment(folder, requirements, *more):
    """The Python with the libraries."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / requirements, *more], check=True)
    return python


def built():
    """The program of `main.rs`, by the profile of benches."""
    command = ["cargo", "bench", "--locked", "--bench", "comparison", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    made = [json.loads(line) for line in lines]
    return next(m["executable"] for m in made if m.get("target", {}).get("name") == "comparison" and m.get("executable"))


def done(path, *keys):
    if not path.exists():
        return set()
    with path.open() as file:
        return {tuple(line[key] for key in keys) for line in map(json.loads, file)}


def rounded(line):
    """Nine digits of numbers, which are more than any of them means."""
    return {key: [float(f"{x:.9g}") for x in of] if isinstance(of, list) else of for key, of in line.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "target" / "comparison")
    args = parser.parse_args()
    args.folder = args.folder.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    python = environment(args.folder / "venv", "requirements.txt")
    samplers(args, python)
    tables(args)
    acceptance()
    subprocess.run([python, HERE / "page.py"], check=True)


def samplers(args, python):
    """Our samplers and those of others, each on a core of its own."""
    program = built()
    for problem in PROBLEMS:
        with (args.folder / f"{problem}.json").open("w") as file:
            subprocess.run([program, "problem", problem], stdout=file, check=True)

    known, jobs = done(RESULTS, "problem", "sampler", "seed"), queue.Queue()
    # Those that take longest come first.
    for sampler in REFERENCES + PEERS + OURS:
        for problem in reversed(PROBLEMS):
            seeds = [1000] if sampler in REFERENCES else range(1, args.seeds + 1)
            seeds = [str(seed) for seed in seeds if (problem, sampler, seed) not in known]
            if seeds and re.search(args.only, f"{problem} {sampler}"):
                jobs.put((problem, sampler, seeds))
    lock = threading.Lock()

    def work(core):
        while True:
            try:
                problem, sampler, seeds = jobs.get_nowait()
            except queue.Empty:
                return
            if sampler in OURS or sampler == "long":
                command = [program, "run", problem, sampler, *seeds]
            else:
                command = [python, HERE / "peers.py", sampler, args.folder / f"{problem}.json", problem, *seeds]
            began = time.time()
            pin = lambda: os.sched_setaffinity(0, {core})
            ran = subprocess.run(command, cwd=args.folder, preexec_fn=pin, capture_output=True, text=True)
            # Some programs write their progress to the same line.
            found = [json.loads(line[line.index('{"') :]) for line in ran.stdout.splitlines() if '{"' in line]
            # A program that has ended early has failed for the other seeds.
            last = (ran.stderr.strip().splitlines() or ["no word"])[-1][:300]
            for seed in map(int, seeds):
                if seed not in [line["seed"] for line in found]:
                    found.append({"seed": seed, "failed": f"exit code {ran.returncode}: {last}"})
            with lock, RESULTS.open("a") as file:
                for line in found:
                    file.write(json.dumps({"problem": problem, "sampler": sampler, **rounded(line)}) + "\n")
                print(f"{problem} {sampler}: {len(found)} seeds in {time.time() - began:.0f} s", flush=True)

    workers = [threading.Thread(target=work, args=(core,)) for core in sorted(os.sched_getaffinity(0))[-2:]]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def acceptance():
    """The study of acceptance rates, and ensembles of linear models."""
    for name, words in ("acceptance.md", []), ("linear.md", ["--linear"]):
        if not (HERE / name).exists():
            command = ["cargo", "run", "--release", "--locked", "-p", "bnn-mcmc-studies", "--", "acceptance", *words]
            (HERE / name).write_text(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout)


def tables(args):
    """Regressions of tables, one after the other on all cores, each for at most fifteen minutes."""
    python = environment(args.folder / "tables-venv", "requirements-tables.txt", ROOT / "crates" / "python")
    words = [python, HERE / "tables.py"]
    jobs = json.loads(subprocess.run([*words, "jobs"], stdout=subprocess.PIPE, check=True).stdout)
    known = done(OF_TABLES, "table", "split", "library")
    for table, split, library in jobs:
        # The others are compared with the log densities of ours, which are in the folder.
        if library == "ours" and not (args.folder / f"{table}-{split}-ours.npy").exists():
            known -= {(table, split, of) for at, k, of in jobs if (at, k) == (table, split)}
        if (table, split, library) in known or not re.search(args.only, f"{table} {library}"):
            continue
        try:
            ran = subprocess.run(
                [*words, table, str(split), library, args.folder], cwd=args.folder, capture_output=True, text=True, timeout=LIMIT
            )
            failed = f"exit code {ran.returncode}: {(ran.stderr.strip().splitlines() or ['no word'])[-1][:300]}"
            found = json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 else {"failed": failed}
        except subprocess.TimeoutExpired:
            found = {"failed": f"not over after {LIMIT} s"}
        with OF_TABLES.open("a") as file:
            file.write(json.dumps({"table": table, "split": split, "library": library} | found) + "\n")
        print(table, split, library, found, flush=True)


main()

"""The comparison with other samplers: `python3 benches/comparison/run.py` does all of it, in some two hours on two idle cores.

It makes an environment with the versions of requirements.txt, builds `main.rs`, runs our samplers and those of `peers.py`, each on a
core of its own, adds their lines to results.jsonl, and writes the page (`page.py`). What results.jsonl has already is not run again: remove it to begin
anew. --only REGEX runs some of the jobs, whose names are as in `summers nutpie-tuned`; --seeds N runs fewer seeds.
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
RESULTS = HERE / "results.jsonl"
PROBLEMS = ["linear", "logistic", "schools", "summers", "classes", "network"]
OURS = ["nuts", "nuts-dense", "mams"]
PEERS = [f"{peer}{more}" for peer in ("pymc", "numpyro", "blackjax", "stan", "nutpie") for more in ("", "-tuned")]
# Long runs of two programs, whose mean is what the others are measured against.
REFERENCES = ["long", "nutpie-long"]
SEEDS = 10


def environment(folder):
    """The Python with the libraries."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
    return python


def built():
    """The program of `main.rs`, by the profile of benches."""
    command = ["cargo", "bench", "--locked", "--bench", "comparison", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    made = [json.loads(line) for line in lines]
    return next(m["executable"] for m in made if m.get("target", {}).get("name") == "comparison" and m.get("executable"))


def done():
    if not RESULTS.exists():
        return set()
    with RESULTS.open() as file:
        return {(line["problem"], line["sampler"], line["seed"]) for line in map(json.loads, file)}


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
    python, program = environment(args.folder), built()
    for problem in PROBLEMS:
        with (args.folder / f"{problem}.json").open("w") as file:
            subprocess.run([program, "problem", problem], stdout=file, check=True)

    known, jobs = done(), queue.Queue()
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
    subprocess.run([python, HERE / "page.py"], check=True)


main()

"""Runs each chain as a task of a Dask cluster, and merges them: python run.dask.py [ADDRESS OF THE SCHEDULER]"""
import subprocess
import sys

from distributed import Client

FIT = "bnn-mcmc fit data.csv --target y --model network --out run --of 4 --threads 1"

def chain(i):
    # A worker that is killed takes its chain along, so that another worker can go on with it.
    subprocess.run(["setpriv", "--pdeathsig", "TERM", *FIT.split(), "--chains", f"{i}..{i + 1}"], check=True)

if __name__ == "__main__":
    with Client(sys.argv[1]) if sys.argv[1:] else Client(n_workers=4, threads_per_worker=1) as client:
        client.gather(client.map(chain, range(4), retries=10, pure=False))
    subprocess.run(["bnn-mcmc", "merge", "run"], check=True)

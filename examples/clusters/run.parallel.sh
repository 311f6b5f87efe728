#!/bin/bash
# Runs the chains, one on each core, and merges them. Ended or killed, it goes on when it is run again. On machines that
# share this folder: PARALLEL="--sshloginfile nodes.txt --workdir $PWD" bash run.parallel.sh
set -euo pipefail
seq 0 3 | parallel --quote --retries 3 --termseq TERM,60000,KILL,1000 --memfree 512M \
  bnn-mcmc fit data.csv --target y --model network --out run --chains '{}..{= $_++ =}' --of 4 --threads 1
bnn-mcmc merge run

//! Checkpoints of processes that are killed at random moments: a run that goes on from them gives the draws of one that
//! was not killed. A hundred kills, with a report:
//!
//!     cargo test --release -p bnn-mcmc-tests --test run checkpoint_killed:: -- --ignored --nocapture

use std::path::{Path, PathBuf};

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Every;
use bnn_mcmc::testing::GaussianTarget;

use crate::checkpoint::Files;
use crate::fixtures::{Telling, assert_same, tell};

/// The run of parent and child; its length is such that kills hit both phases.
fn long_run(checkpoint: Option<&Path>, every: Every, tell: fn()) -> Draws {
    let target = GaussianTarget::standard(10).unwrap();
    let mala = Mala { preconditioner: Preconditioner::Dense, ..Mala::default() };
    let sampler = Sampler::new(&target, mala).chains(3).warmup(1500).draws(1500).seed(8);
    let sampler = sampler.on_progress(|_| tell());
    match checkpoint {
        Some(path) => sampler.checkpoint(path, every).run().unwrap(),
        None => sampler.run().unwrap(),
    }
}

const CHILD: &str = "BNN_MCMC_CHECKPOINT_CHILD";

/// Not a test of its own: what the killed processes run.
#[test]
fn child_process() {
    if let Some(path) = std::env::var_os(CHILD) {
        long_run(Some(Path::new(&path)), Every::Draws(20), tell);
    }
}

/// Kills processes at random moments until `kills` were killed, over as many runs as that takes.
/// After each kill a copy of the files is resumed to the end and compared, and the next process
/// goes on with the files themselves.
fn kill(kills: usize, seed: u64) {
    let long_run =
        |checkpoint: Option<PathBuf>| long_run(checkpoint.as_deref(), Every::default(), || {});
    let whole = long_run(None);
    let mut rng = ChainRng::new(seed, 0);
    let (mut killed, mut finished) = (0, 0);
    let [mut begun, mut warmup, mut sampling, mut between, mut temporary] = [0; 5];
    let mut files = Files::new();
    let spawn =
        |files: &Files| Telling::begin("checkpoint_killed::child_process", CHILD, &files.path());
    let pace = spawn(&files).wait();
    assert_same(&long_run(Some(files.path())), &whole);
    files = Files::new();
    while killed < kills {
        let success = !spawn(&files).kill_at(0.7 * rng.uniform(), pace);
        if success {
            finished += 1;
        } else {
            killed += 1;
            let draws = std::fs::metadata(files.draws()).map_or(0, |m| m.len());
            match head_vouches_for(&files.path()) {
                None => begun += 1,
                Some(0) => warmup += 1,
                Some(_) => sampling += 1,
            }
            between += usize::from(draws > head_vouches_for(&files.path()).unwrap_or(0));
            temporary += usize::from(files.temporary().exists());
        }
        let copy = files.copy();
        assert_same(&long_run(Some(copy.path())), &whole);
        if success {
            files = Files::new();
        }
    }
    println!(
        "{killed} kills, {killed} exact resumes; killed before the first checkpoint {begun}, in \
         warm-up {warmup}, in sampling {sampling}; with draws that no head vouches for {between}, \
         with a temporary file {temporary}; {finished} other processes finished first"
    );
}

/// The length that the head at `path` gives to the file of draws.
fn head_vouches_for(path: &Path) -> Option<u64> {
    let head = std::fs::read(path).ok()?;
    let mut payload = &head[32..];
    let _: serde_json::Value = cbor4ii::serde::from_reader(&mut payload).unwrap();
    let content: serde_json::Value = cbor4ii::serde::from_reader(&mut payload).unwrap();
    content["bytes"].as_u64()
}

#[test]
fn a_killed_process_is_resumed_exactly() {
    kill(5, 1);
}

#[test]
#[ignore = "takes a minute; run by hand, see the top of this file"]
fn a_hundred_killed_processes_are_resumed_exactly() {
    kill(100, 2);
}

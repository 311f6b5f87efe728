//! Rows of killed processes: they are whole, the beginning of those of an uninterrupted run, and gone on from.

use std::path::Path;

use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::GaussianTarget;

use crate::fixtures::{Telling, assert_same, tell};

fn long_run(folder: &Path, checkpoint: bool, tell: fn()) -> Draws {
    let target = GaussianTarget::standard(20).unwrap();
    let on_disk = OnDisk { path: folder.join("rows"), every: 2, keep: Keep::All };
    let sampler = Sampler::new(&target, Mala::default()).chains(3).warmup(500).draws(6000).seed(8);
    let sampler = sampler.keep(Keep::Statistics).on_progress(|_| tell());
    let (draws, _) = match checkpoint {
        true => {
            let sampler = sampler.checkpoint(folder.join("run"), Every::Draws(50));
            sampler.run_with(&(Moments, on_disk)).unwrap()
        }
        false => sampler.run_with(&(Moments, on_disk)).unwrap(),
    };
    draws
}

const CHILD: &str = "BNN_MCMC_RECORDER_CHILD";

/// Not a test of its own: what the killed processes run.
#[test]
fn child_process() {
    if let Some(folder) = std::env::var_os(CHILD) {
        long_run(Path::new(&folder), true, tell);
    }
}

#[test]
fn a_killed_process_leaves_whole_rows_and_is_resumed_exactly() {
    let whole_folder = tempfile::tempdir().unwrap();
    let long_run = |folder: &Path, checkpoint| long_run(folder, checkpoint, || {});
    let whole = long_run(whole_folder.path(), false);
    let file = |folder: &Path, chain: usize| folder.join(format!("rows.chain{chain}"));
    let rows = |folder: &Path, chain: usize| -> Vec<Vec<f32>> {
        let file = ChainFile::open(file(folder, chain)).unwrap();
        file.map(|row| row.unwrap()).collect()
    };
    let expected = [0, 1, 2].map(|chain| rows(whole_folder.path(), chain));
    assert_eq!(expected[2].len(), 3000);
    let spawn = |folder: &Path| Telling::begin("recorders_killed::child_process", CHILD, folder);
    let first = tempfile::tempdir().unwrap();
    let pace = spawn(first.path()).wait();
    let mut rng = ChainRng::new(1, 0);
    let (mut killed, mut with_rows) = (0, 0);
    let mut folder = tempfile::tempdir().unwrap();
    while killed < 8 || with_rows < 3 {
        if !spawn(folder.path()).kill_at(0.8 * rng.uniform(), pace) {
            folder = tempfile::tempdir().unwrap();
            continue;
        }
        killed += 1;
        // What is there is the beginning of what an uninterrupted run writes.
        for (chain, expected) in expected.iter().enumerate() {
            let path = file(folder.path(), chain);
            if path.exists() && std::fs::metadata(&path).unwrap().len() > 200 {
                let found = rows(folder.path(), chain);
                assert!(expected.starts_with(&found));
                with_rows += usize::from(!found.is_empty());
                let begins = std::fs::read(file(whole_folder.path(), chain)).unwrap();
                assert!(begins.starts_with(&std::fs::read(&path).unwrap()));
            }
        }
        // A copy is resumed to the end; the next process goes on with the files themselves.
        let copy = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        assert_same(&long_run(copy.path(), true), &whole);
        for chain in 0..3 {
            let [a, b] = [copy.path(), whole_folder.path()].map(|f| file(f, chain));
            assert!(std::fs::read(a).unwrap() == std::fs::read(b).unwrap(), "chain {chain}");
        }
    }
    println!("{killed} kills, {with_rows} files with rows");
}

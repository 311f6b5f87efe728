//! Two runs, or two processes, at the files of one checkpoint, and files that are moved away: no draw is lost. More of
//! it, with a report:
//!
//!     cargo test --release -p bnn-mcmc-tests --test run checkpoint_races:: -- --ignored --nocapture

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Every, Phase};
use rand::RngCore;
use shared::said;
use shared::wait::wait_until;

use crate::checkpoint_faults::{assert_same, folder, held, run, sampler, uninterrupted};
use crate::fixtures::gaussian;

/// Waits until two runs of this process have the file of draws open: the second waits for its lock.
#[cfg(target_os = "linux")]
fn wait_for_opening(draws: &Path) {
    let is_draws = |entry: io::Result<fs::DirEntry>| {
        entry.and_then(|entry| fs::read_link(entry.path())).is_ok_and(|path| path == draws)
    };
    wait_until("a second opening of the file of draws", || {
        fs::read_dir("/proc/self/fd").unwrap().map(is_draws).filter(|is| *is).count() == 2
    });
}

/// Elsewhere a process does not list its open files.
#[cfg(not(target_os = "linux"))]
fn wait_for_opening(_: &Path) {
    std::thread::sleep(Duration::from_millis(100));
}

#[test]
fn a_run_that_waited_for_the_lock_goes_on_from_what_the_other_has_written() {
    for first_draws in [0, 20] {
        let folder = folder();
        let path = folder.path().join("run");
        if first_draws > 0 {
            run(&path, first_draws).unwrap();
        }
        // The second waits from here on, and wants fewer draws than the first makes.
        let second = || {
            let (path, draws) = (path.clone(), folder.path().join("run.draws"));
            let thread = std::thread::spawn(move || run(&path, 30));
            wait_for_opening(&draws);
            thread
        };
        let mut waiting = None;
        let target = gaussian();
        let draws = sampler(&target, 100)
            .checkpoint(&path, Every::Seconds(1e9))
            .on_progress(|p| {
                if waiting.is_none() && p.phase == Phase::Sampling {
                    waiting = Some(second());
                }
            })
            .run()
            .unwrap();
        assert_same(&draws, &uninterrupted(100));
        let draws = waiting.unwrap().join().unwrap().unwrap();
        assert_same(&draws, &uninterrupted(30));
        assert_eq!(held(&path), 100, "finished draws of the first run were destroyed");
    }
}

#[test]
fn files_that_are_moved_away_belong_to_nobody() {
    let folder = folder();
    let [path, draws_path] = ["run", "run.draws"].map(|name| folder.path().join(name));
    let mut second = None;
    let target = gaussian();
    let first = sampler(&target, 100)
        .checkpoint(&path, Every::Draws(10))
        .on_progress(|p| {
            if second.is_none() && p.phase == Phase::Sampling && p.done >= 20 {
                let path = path.clone();
                // Waits for the lock on a file that is then no longer there.
                let thread = std::thread::spawn(move || run(&path, 40));
                wait_for_opening(&draws_path);
                for name in ["run", "run.draws"] {
                    let [from, to] =
                        [name.into(), format!("moved.{name}")].map(|name| folder.path().join(name));
                    fs::rename(from, to).unwrap();
                }
                // It makes files of its own, and ends while the first one runs.
                second = Some(thread.join().unwrap());
            }
        })
        .run()
        .unwrap();
    assert_same(&first, &uninterrupted(100));
    said!(first.info().checkpoint_error.as_ref().unwrap());
    assert_same(&second.unwrap().unwrap(), &uninterrupted(40));
    assert!(draws_path.exists());
    assert_eq!(held(&path), 40);
    assert_same(&run(&path, 50).unwrap(), &uninterrupted(50));
}

const CHILD: &str = "BNN_MCMC_RACE_CHILD";

/// Not a test of its own: what the processes do, in this folder, with so many draws, from this moment on.
#[test]
fn child_process() {
    let Ok(job) = std::env::var(CHILD) else { return };
    let [draws, start, folder] = job.splitn(3, ' ').collect::<Vec<_>>()[..] else {
        panic!("{job}")
    };
    race(Path::new(folder), draws.parse().unwrap(), start.parse().unwrap());
}

/// This program again, as a process that begins at a moment.
fn racing(draws: usize, start: u128, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "checkpoint_races::child_process", "--nocapture"]);
    command.env(CHILD, format!("{draws} {start} {}", folder.display())).stdout(Stdio::piped());
    command
}

/// Runs from a moment on; refused if another process has the files for too long.
fn race(folder: &Path, draws: usize, start: u128) {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    while now() < start {
        std::hint::spin_loop();
    }
    match run(&folder.join("run"), draws) {
        Ok(made) => assert_same(&made, &uninterrupted(draws)),
        Err(Error::Checkpoint { problem, .. }) => {
            assert_eq!(problem, "another process is using this checkpoint");
            println!("refused");
        }
        Err(error) => panic!("{error}"),
    }
}

/// Pairs of processes that begin at the same moment, one of which makes many more draws.
fn races(trials: usize, seed: u64) {
    const MANY: usize = 300;
    let mut rng = ChainRng::new(seed, 0);
    let [mut refused, mut after] = [0; 2];
    for trial in 0..trials {
        let folder = folder();
        let path = folder.path().join("run");
        if trial % 2 == 1 {
            run(&path, 20).unwrap();
        }
        let lead = Duration::from_millis(60);
        let start = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + lead;
        let [a, b] = [MANY, 30].map(|draws| {
            // At once, or a moment later: both may find the files as the other finds them.
            let start = start.as_nanos() + u128::from(rng.next_u64() % 20_000_000);
            racing(draws, start, folder.path()).spawn().unwrap()
        });
        let [a, b] = [a, b].map(|child| {
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{text}");
            !text.lines().any(|line| line.ends_with("refused"))
        });
        assert!(a || b);
        refused += usize::from(!a) + usize::from(!b);
        after += usize::from(a && b);
        let held = held(&path);
        assert!(!a || held == MANY, "trial {trial}: {held} draws are left of {MANY}");
        assert!(!b || held >= 30);
        assert_same(&run(&path, MANY + 20).unwrap(), &uninterrupted(MANY + 20));
    }
    println!("{trials} pairs; one after the other {after}, refused {refused}; nothing lost");
}

#[test]
fn processes_that_begin_together_lose_nothing() {
    races(4, 1);
}

#[test]
#[ignore = "takes a minute; run by hand, see the top of this file"]
fn a_hundred_pairs_of_processes_that_begin_together_lose_nothing() {
    races(100, 2);
}

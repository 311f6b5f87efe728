//! Fits in folders whose process is killed at chosen calls: whatever it leaves is the old fit or the new one,
//! and the same call ends in the same bytes.
//!
//! All calls, not some, with a report:
//!
//!     cargo test --release -p bnn-mcmc-tests --test run fit_faults:: -- --ignored --nocapture

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bnn_mcmc::draws::checkpoint::Every;
use bnn_mcmc::fit::{Fit, Recipe};
use bnn_mcmc::prelude::*;
use ndarray::Array2;

use crate::checkpoint_faults::{faults::shim, faulty_folder};

const FEW: usize = 8;
const MANY: usize = 12;

fn data() -> Dataset {
    let x = Array2::from_shape_fn((20, 1), |(i, _)| i as f64 / 10.0);
    Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin())).unwrap()
}

fn recipe(draws: usize) -> Recipe {
    let recipe = Fit::regression("y").hidden(&[2]).chains(2).warmup(15).draws(draws).seed(4);
    recipe.threads(1).checkpoint_every(Every::Seconds(1e9))
}

/// What a process does that is killed, and is done again.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// A fit in a folder of its own.
    Begin,
    /// More draws in a folder with a finished fit.
    Extend,
    /// The parts of a fit, in a folder without it.
    Merge,
    /// Longer parts, in a folder with the fit of shorter ones.
    MergeMore,
    Save,
    /// A Zarr folder with predictions.
    Export,
}

use Job::*;

impl Job {
    const ALL: [Self; 6] = [Begin, Extend, Merge, MergeMore, Save, Export];

    /// What is there before.
    fn prepare(self, folder: &Path) {
        let run = folder.join("run");
        let parts = |draws| {
            for chain in 0..2 {
                let part = recipe(draws).in_folder(&run).only_chains(chain..chain + 1);
                part.fit(&data()).unwrap();
            }
        };
        match self {
            Begin => {}
            Extend | Save | Export => drop(recipe(FEW).in_folder(&run).fit(&data()).unwrap()),
            Merge => parts(FEW),
            MergeMore => {
                parts(FEW);
                Fit::merge(&run).unwrap();
                parts(MANY);
            }
        }
    }

    fn work(self, folder: &Path) -> Result<(), Error> {
        let run = folder.join("run");
        match self {
            Begin | Extend => recipe(MANY).in_folder(run).fit(&data()).map(drop),
            Merge | MergeMore => Fit::merge(run).map(drop),
            Save => Fit::load(run)?.save(folder.join("saved")),
            Export => Fit::load(run)?.to_zarr(folder.join("fit.zarr")),
        }
    }

    /// Checks what a process that was killed has left; says whether it is the work before or after.
    fn check(self, folder: &Path, [few, many]: &[Draws; 2]) -> &'static str {
        let loaded = Fit::load(folder.join("run")).map(|fit| fit.draws().values().to_owned());
        match (self, loaded) {
            // There was no fit before.
            (Begin | Merge, Err(_)) => "none",
            (Begin, Ok(draws)) if draws == many.values() => "new",
            (Merge, Ok(draws)) if draws == few.values() => "new",
            (Extend | MergeMore, Ok(draws)) if draws == few.values() => "old",
            (Extend | MergeMore, Ok(draws)) if draws == many.values() => "new",
            (Save, Ok(_)) => match Fit::load(folder.join("saved")) {
                Ok(saved) if saved.draws().values() == few.values() => "new",
                Ok(saved) => panic!("{} draws were saved", saved.draws().n_draws()),
                Err(_) => "none",
            },
            (Export, Ok(_)) if !folder.join("fit.zarr").exists() => "none",
            (Export, Ok(_)) => {
                let draws = Draws::from_zarr(folder.join("fit.zarr")).unwrap();
                assert_eq!(draws.values(), few.values());
                "new"
            }
            (_, Ok(draws)) => panic!("draws of neither: {:?}", draws.dim()),
            (_, Err(error)) => panic!("neither the old nor the new fit is there: {error}"),
        }
    }
}

/// The bytes of all files, but for those that hold seconds: their names only.
fn bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut left) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let has_seconds = path.file_name().is_some_and(|name| name == "checkpoint")
            || path.parent().is_some_and(|p| p.extension().is_some_and(|e| e == "zarr"));
        let bytes = if has_seconds { Vec::new() } else { fs::read(&path).unwrap() };
        found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), bytes);
    }
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &to) } else { fs::copy(&path, to).map(drop).unwrap() }
    }
}

const CHILD: &str = "BNN_MCMC_FIT_FAULT";

/// Not a test of its own: a process that is killed at a call.
#[test]
fn child_process() {
    let Some(what) = std::env::var_os(CHILD) else { return };
    let what = what.into_string().unwrap();
    let [job, call, folder] = what.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{what}") };
    let job = Job::ALL[job.parse::<usize>().unwrap()];
    let order = |what: &str| File::open(format!("/fault/{what}")).unwrap_err().raw_os_error();
    order(&format!("kill/{call}"));
    job.work(Path::new(folder)).unwrap();
    println!("calls: {}", order("count").unwrap());
}

/// The calls of a job that is not killed; `None` if it was.
fn killed_at(shim: &Path, job: Job, call: usize, folder: &Path) -> Option<usize> {
    let what = format!("{} {call} {}", job as usize, folder.display());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "fit_faults::child_process", "--nocapture"])
        .env(CHILD, what)
        .env("LD_PRELOAD", shim)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.signal() == Some(9) {
        return None;
    }
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{job:?}, call {call}: {text}{err}");
    let calls = text.lines().find_map(|line| line.split_once("calls: "));
    Some(calls.unwrap_or_else(|| panic!("{text}")).1.parse().unwrap())
}

/// Kills each job at those of its calls that `choose` chooses of so many, and at those that lead to the first after which the new fit is
/// there: just before, the draws of the old one have another name. Returns how many.
fn kills(choose: impl Fn(usize) -> BTreeSet<usize>) -> usize {
    let library = tempfile::tempdir().unwrap();
    let shim = shim(library.path());
    let draws = [FEW, MANY].map(|n| recipe(n).fit(&data()).unwrap().draws().clone());
    let mut all = 0;
    for job in Job::ALL {
        let [before, after] = [faulty_folder(), faulty_folder()];
        job.prepare(before.path());
        copy(before.path(), after.path());
        let calls = killed_at(&shim, job, usize::MAX >> 1, after.path()).unwrap();
        let expected = bytes(after.path());
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut wanted, mut last_old, mut first_new) = (choose(calls), 0, None);
        while let Some(call) = wanted.pop_first().or_else(|| {
            let middle = usize::midpoint(last_old, first_new?);
            (middle > last_old).then_some(middle)
        }) {
            let folder = faulty_folder();
            copy(before.path(), folder.path());
            assert_eq!(killed_at(&shim, job, call, folder.path()), None, "{job:?}, call {call}");
            let at = format!("{job:?}, killed at call {call} of {calls}");
            let state = std::panic::catch_unwind(|| job.check(folder.path(), &draws));
            let state = state.unwrap_or_else(|_| panic!("{at}"));
            *left.entry(state).or_default() += 1;
            match state {
                "new" => first_new = Some(first_new.map_or(call, |first: usize| first.min(call))),
                _ => last_old = last_old.max(call),
            }
            // The call of before still loads what it made, and leaves nothing in the way of the next.
            if matches!(job, Extend) && state == "old" && call % 2 == 0 {
                let old = recipe(FEW).in_folder(folder.path().join("run")).fit(&data()).unwrap();
                assert_eq!(old.draws().values(), draws[0].values(), "{at}");
                assert!(!folder.path().join("run/.draws.zarr.old").exists(), "{at}");
            }
            if state == "new" && matches!(job, Save | Export) {
                // What is complete is not written over.
                assert!(job.work(folder.path()).is_err(), "{at}");
            } else {
                job.work(folder.path()).unwrap_or_else(|e| panic!("{at}: {e}"));
            }
            let found = bytes(folder.path());
            let names = |of: &BTreeMap<PathBuf, _>| of.keys().cloned().collect::<Vec<_>>();
            if !(state == "new" && matches!(job, Save | Export)) {
                assert_eq!(names(&found), names(&expected), "{at}");
            }
            for (name, bytes) in &expected {
                assert!(found.get(name) == Some(bytes), "{at}: {}", name.display());
            }
            all += 1;
        }
        println!("{job:?}: {calls} calls; what was left {left:?}");
        // The last call of an export gives it its name.
        assert!(left.len() > 1 || matches!(job, Export), "{job:?}: {left:?}");
    }
    all
}

#[test]
fn a_process_that_is_killed_leaves_the_old_fit_or_the_new_one() {
    let kills = kills(|calls| (1..=calls).step_by(calls / 15 + 1).chain([calls]).collect());
    println!("{kills} kills");
}

#[test]
#[ignore = "takes minutes; run by hand, see the top of this file"]
fn a_process_that_is_killed_at_any_call_leaves_the_old_fit_or_the_new_one() {
    println!("{} kills", kills(|calls| (1..=calls).collect()));
}

/// A reader beside a process that extends the fit finds one of the two at any moment.
#[test]
fn a_fit_is_loaded_while_it_is_extended() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let first = recipe(2).in_folder(&run).fit(&data()).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    let loads = std::thread::scope(|scope| {
        scope.spawn(|| {
            for draws in 3..40 {
                recipe(draws).in_folder(&run).fit(&data()).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let (mut loads, mut longest) = (0, first.draws().n_draws());
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            let n = Fit::load(&run).unwrap_or_else(|e| panic!("after {loads}: {e}"));
            assert!(n.draws().n_draws() >= longest);
            longest = n.draws().n_draws();
            loads += 1;
        }
        loads
    });
    assert!(loads > 5, "{loads}");
}

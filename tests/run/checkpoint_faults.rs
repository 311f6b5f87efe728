//! Checkpoints where something goes wrong around them: file systems that refuse, calls that fail, links. No draw is
//! lost, and none is wrong.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bnn_mcmc::draws::recorder::OnDisk;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Every, Phase};
use bnn_mcmc::testing::GaussianTarget;
use shared::refused;

use crate::fixtures::gaussian;

pub fn sampler(target: &GaussianTarget, draws: usize) -> Sampler<'_, GaussianTarget, Mala> {
    Sampler::new(target, Mala::default()).chains(2).warmup(20).draws(draws).seed(5).threads(1)
}

pub fn run(path: &Path, draws: usize) -> Result<Draws, Error> {
    sampler(&gaussian(), draws).checkpoint(path, Every::Draws(10)).run()
}

pub fn uninterrupted(draws: usize) -> Draws {
    sampler(&gaussian(), draws).run().unwrap()
}

/// How many draws the checkpoint holds: a run that is asked to end before it begins returns them.
pub fn held(path: &Path) -> usize {
    let (target, stop) = (gaussian(), StopHandle::new());
    stop.stop();
    let sampler = sampler(&target, 10_000).stop_handle(&stop);
    sampler.checkpoint(path, Every::Draws(10)).run().unwrap().n_draws()
}

/// Values and statistics, bit for bit, of the first draws of `whole`.
pub fn begins(draws: &Draws, whole: &Draws) -> bool {
    let n = draws.n_draws();
    let equal = |a: f64, b: f64| a.to_bits() == b.to_bits();
    let (a, b) = (draws.values(), whole.values());
    let b = b.slice(ndarray::s![.., ..n, ..]);
    a.dim() == b.dim()
        && a.iter().zip(b).all(|(a, b)| equal(*a, *b))
        && draws.stat_names().iter().all(|name| {
            let (a, b) = (draws.stat(name).unwrap(), whole.stat(name).unwrap());
            a.iter().zip(b.slice(ndarray::s![.., ..n])).all(|(a, b)| equal(*a, *b))
        })
}

#[track_caller]
pub fn assert_same(draws: &Draws, whole: &Draws) {
    assert_eq!(draws.n_draws(), whole.n_draws());
    assert!(begins(draws, whole), "draws or statistics differ");
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// In memory where that is possible, with a name of which the shim takes notice.
pub fn faulty_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("faulty").tempdir_in(base).unwrap()
}

// Calls that fail.

#[cfg(target_os = "linux")]
pub mod faults {
    use super::*;

    /// `faults/shim.c` as a library in this folder, to stand between a process and the operating system.
    pub fn shim(folder: &Path) -> PathBuf {
        let library = folder.join("shim.so");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .args([concat!(env!("CARGO_MANIFEST_DIR"), "/faults/shim.c"), "-ldl"])
            .status()
            .expect("cc, which rustc links with");
        assert!(compiled.success());
        library
    }

    const CHILD: &str = "BNN_MCMC_FAULT_CHILD";

    /// Not a test of its own: what the other processes do.
    #[test]
    fn child_process() {
        let Ok(job) = std::env::var(CHILD) else { return };
        match &job[..] {
            "calls" => every_call_fails(false),
            "calls with rows" => every_call_fails(true),
            "folders" => folders_refuse_flushes(),
            "read only" => nothing_can_be_written(),
            "moved" => a_file_is_moved_before_it_is_locked(),
            _ => panic!("{job}"),
        }
    }

    /// Runs a job of this program, as a process of its own, with the shim.
    fn with_shim(job: &str) -> String {
        let folder = folder();
        let library = shim(folder.path());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "checkpoint_faults::faults::child_process", "--nocapture"]);
        command.env(CHILD, job).env("LD_PRELOAD", library);
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap());
        assert!(output.status.success(), "{out}{err}");
        out
    }

    /// Gives an order to the shim; returns whether the fault of the one before has come.
    fn order(what: &str) -> bool {
        let answer = File::open(format!("/fault/{what}")).unwrap_err().kind();
        answer == std::io::ErrorKind::AlreadyExists
    }

    /// A run, how many draws its checkpoints have been said to hold, and whether a step was made.
    fn run_on(folder: &Path, draws: usize, on_disk: bool) -> (Result<Draws, Error>, usize, bool) {
        let (mut safe, mut worked) = (0, false);
        let target = gaussian();
        let sampler = sampler(&target, draws).checkpoint(folder.join("run"), Every::Draws(10));
        let sampler = sampler.on_progress(|p| {
            worked = true;
            if p.phase == Phase::Sampling && p.done % 10 == 0 && !p.checkpoint_failed {
                safe = p.done;
            }
        });
        let rows = OnDisk { path: folder.join("rows"), every: 5, keep: Keep::All };
        let draws = match on_disk {
            true => sampler.run_with(&rows).map(|(draws, _)| draws),
            false => sampler.run(),
        };
        (draws, safe, worked)
    }

    /// Each call on files in a run fails once, and all goes well again, or the process comes to its end
    /// some calls later.
    pub fn every_call_fails(on_disk: bool) {
        let (whole, longer) = (uninterrupted(40), uninterrupted(55));
        let reference = faulty_folder();
        run_on(reference.path(), 55, on_disk).0.unwrap();
        let rows = |folder: &Path| {
            [0, 1].map(|chain| fs::read(folder.join(format!("rows.chain{chain}"))).ok())
        };
        let (mut runs, mut most, mut refused, mut ended) = (0, 0, 0, 0);
        for how in ["arm", "done"] {
            for (error, then) in [28, 5].into_iter().flat_map(|e| (-1..6).map(move |t| (e, t))) {
                for call in 1.. {
                    let what = format!("{how}/{call}/{error}/{then}");
                    let folder = faulty_folder();
                    order(&what);
                    let (draws, safe, worked) = run_on(folder.path(), 40, on_disk);
                    if !order("off") {
                        assert_same(&draws.unwrap(), &whole);
                        most = most.max(call - 1);
                        break;
                    }
                    runs += 1;
                    let mut least = safe;
                    match draws {
                        Err(error) => {
                            assert!(!worked, "{what}: work was lost: {error}");
                            refused += 1;
                        }
                        Ok(draws) if draws.info().recorder_error.is_some() => {
                            assert!(on_disk && begins(&draws, &whole), "{what}");
                            ended += 1;
                        }
                        Ok(draws) => {
                            assert_same(&draws, &whole);
                            if draws.info().checkpoint_error.is_none() {
                                least = 40;
                            }
                        }
                    }
                    if !on_disk {
                        let held = std::panic::catch_unwind(|| held(&folder.path().join("run")));
                        assert!(held.is_ok_and(|held| held >= least), "{what}: {least} draws");
                    }
                    let (resumed, ..) = run_on(folder.path(), 40, on_disk);
                    assert_same(&resumed.unwrap_or_else(|e| panic!("{what}: {e}")), &whole);
                    assert_same(&run_on(folder.path(), 55, on_disk).0.unwrap(), &longer);
                    assert!(rows(folder.path()) == rows(reference.path()), "{what}: rows");
                }
            }
        }
        println!(
            "{runs} runs with failing calls, {most} calls each; refused before any work {refused}, \
             ended by their recorder {ended}; nothing lost"
        );
        assert!(most > 50 && refused > 0 && (ended > 0) == on_disk, "{most} {refused} {ended}");
    }

    #[test]
    fn calls_that_fail_lose_nothing() {
        println!("{}", with_shim("calls"));
    }

    #[test]
    fn calls_that_fail_lose_nothing_with_rows_on_disk() {
        println!("{}", with_shim("calls with rows"));
    }

    /// EINVAL, EOPNOTSUPP, EBADF: file systems that do not flush folders. EIO: one that failed to.
    pub fn folders_refuse_flushes() {
        for error in [22, 95, 9, 5] {
            let folder = faulty_folder();
            order(&format!("folders/{error}"));
            let (draws, ..) = run_on(folder.path(), 40, true);
            if error == 5 {
                let refused = draws.unwrap_err();
                assert!(refused.is_io(), "{refused}");
                order("off");
                assert_same(&run_on(folder.path(), 40, true).0.unwrap(), &uninterrupted(40));
                continue;
            }
            let draws = draws.unwrap_or_else(|e| panic!("error {error}: {e}"));
            assert_same(&draws, &uninterrupted(40));
            let info = draws.info();
            assert_eq!((&info.checkpoint_error, &info.recorder_error), (&None, &None));
            assert_same(&run_on(folder.path(), 55, true).0.unwrap(), &uninterrupted(55));
            order("off");
        }
        println!("folders");
    }

    #[test]
    fn file_systems_that_do_not_flush_folders_are_no_error() {
        assert!(with_shim("folders").lines().any(|line| line.ends_with("folders")));
    }

    /// The lock is then on a file that is no longer there.
    pub fn a_file_is_moved_before_it_is_locked() {
        let folder = faulty_folder();
        order("moved");
        let draws = run_on(folder.path(), 40, false).0.unwrap();
        assert!(order("off"));
        assert_same(&draws, &uninterrupted(40));
        assert_eq!(held(&folder.path().join("run")), 40);
        println!("moved");
    }

    #[test]
    fn a_lock_on_a_file_that_was_moved_is_none() {
        assert!(with_shim("moved").lines().any(|line| line.ends_with("moved")));
    }

    /// EROFS, EACCES, EPERM (a file that is immutable).
    pub fn nothing_can_be_written() {
        for (error, on_disk) in [30, 13, 1].into_iter().flat_map(|e| [(e, false), (e, true)]) {
            let folder = faulty_folder();
            order(&format!("read_only/{error}"));
            let (draws, _, worked) = run_on(folder.path(), 40, on_disk);
            assert!(draws.unwrap_err().is_io() && !worked);
            order("off");
            run_on(folder.path(), 40, on_disk).0.unwrap();
            order(&format!("read_only/{error}"));
            for draws in [40, 13, 0] {
                let (found, ..) = run_on(folder.path(), draws, on_disk);
                let found = found.unwrap_or_else(|e| panic!("error {error}, {draws} draws: {e}"));
                assert_same(&found, &uninterrupted(draws));
                assert_eq!(found.info().checkpoint_error, None);
            }
            if !on_disk {
                let (target, stop) = (gaussian(), StopHandle::new());
                stop.stop();
                let stopped = sampler(&target, 40).stop_handle(&stop);
                let stopped = stopped.checkpoint(folder.path().join("run"), Every::Draws(10));
                assert_eq!(stopped.run().unwrap().info().checkpoint_error, None);
            }
            // More draws could not be kept: that is said at once.
            let (draws, _, worked) = run_on(folder.path(), 50, on_disk);
            let source = match draws {
                Err(Error::Io { source, .. }) => source,
                other => panic!("error {error}: {other:?}"),
            };
            assert_eq!(source.raw_os_error(), Some(error));
            assert!(!worked);
            order("off");
            assert_same(&run_on(folder.path(), 50, on_disk).0.unwrap(), &uninterrupted(50));
        }
        println!("read only");
    }

    #[test]
    fn a_finished_run_is_read_where_nothing_can_be_written() {
        assert!(with_shim("read only").lines().any(|line| line.ends_with("read only")));
    }
}

/// Where a checkpoint cannot be put in the place of the one before: here, another thing has its name.
#[test]
fn a_folder_that_takes_no_checkpoint_is_said_before_any_work() {
    let folder = folder();
    let [path, temporary] = ["run", "run.tmp"].map(|name| folder.path().join(name));
    run(&path, 20).unwrap();
    fs::create_dir(&temporary).unwrap();
    assert_same(&run(&path, 13).unwrap(), &uninterrupted(13));
    let (target, mut worked) = (gaussian(), false);
    let longer = sampler(&target, 40).checkpoint(&path, Every::Draws(10));
    refused!(longer.on_progress(|_| worked = true).run(), Io {});
    assert!(!worked);
    fs::remove_dir(&temporary).unwrap();
    assert_same(&run(&path, 40).unwrap(), &uninterrupted(40));
    assert!(!temporary.exists());
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stands_for_the_file_it_points_to() {
    let folder = folder();
    let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
    [&here, &there].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let (link, file) = (here.join("latest"), there.join("run"));
    let hop = here.join("hop");
    std::os::unix::fs::symlink("hop", &link).unwrap();
    std::os::unix::fs::symlink("../there/run", &hop).unwrap();
    // The file is not there yet, is there, and is opened by its own name.
    for (path, draws) in [(&link, 10), (&link, 30), (&file, 40), (&link, 55)] {
        assert_same(&run(path, draws).unwrap(), &uninterrupted(draws));
        assert!(link.is_symlink() && hop.is_symlink() && file.is_file() && !file.is_symlink());
        assert_eq!(held(&file), draws);
        let names = |folder: &Path| fs::read_dir(folder).unwrap().count();
        assert_eq!((names(&here), names(&there)), (2, 2), "files are with the file, not the link");
    }
    // A link that leads back to itself is an error of the operating system.
    let circle = here.join("circle");
    std::os::unix::fs::symlink("circle", &circle).unwrap();
    assert!(run(&circle, 10).unwrap_err().is_io());
}

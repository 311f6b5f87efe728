//! Checkpoints where something goes wrong around them: two processes at the same files, files that are
//! moved away, file systems that refuse, calls that fail, damage. No draw is lost, and none is wrong.
//!
//! More of it, with a report:
//!
//!     cargo test --release --test run checkpoint_faults:: -- --ignored --nocapture

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use bnn_mcmc::draws::recorder::OnDisk;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Every, Minibatch, Phase, Sgld};
use bnn_mcmc::targets::{Conditioned, Tempered, WithReference};
use bnn_mcmc::testing::GaussianTarget;
use rand::{Rng, RngCore};

fn gaussian() -> GaussianTarget {
    GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap()
}

fn sampler(target: &GaussianTarget, draws: usize) -> Sampler<'_, GaussianTarget, Mala> {
    Sampler::new(target, Mala::default()).chains(2).warmup(20).draws(draws).seed(5).threads(1)
}

fn run(path: &Path, draws: usize) -> Result<Draws, Error> {
    sampler(&gaussian(), draws).checkpoint(path, Every::Draws(10)).run()
}

fn uninterrupted(draws: usize) -> Draws {
    sampler(&gaussian(), draws).run().unwrap()
}

/// How many draws the checkpoint holds: a run that is asked to end before it begins returns them.
fn held(path: &Path) -> usize {
    let (target, stop) = (gaussian(), StopHandle::new());
    stop.stop();
    let sampler = sampler(&target, 10_000).stop_handle(&stop);
    sampler.checkpoint(path, Every::Draws(10)).run().unwrap().n_draws()
}

/// Values and statistics, bit for bit, of the first draws of `whole`.
fn begins(draws: &Draws, whole: &Draws) -> bool {
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
fn assert_same(draws: &Draws, whole: &Draws) {
    assert_eq!(draws.n_draws(), whole.n_draws());
    assert!(begins(draws, whole), "draws or statistics differ");
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// In memory where that is possible, with a name of which the shim takes notice.
pub fn faulty_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("faulty").tempdir_in(base).unwrap()
}

// Two runs at the same files.

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
            let path = path.clone();
            let thread = std::thread::spawn(move || run(&path, 30));
            std::thread::sleep(Duration::from_millis(100));
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
                second = Some(std::thread::spawn(move || run(&path, 40)));
                std::thread::sleep(Duration::from_millis(100));
                for name in ["run", "run.draws"] {
                    let [from, to] =
                        [name.into(), format!("moved.{name}")].map(|name| folder.path().join(name));
                    fs::rename(from, to).unwrap();
                }
                std::thread::sleep(Duration::from_millis(400));
            }
        })
        .run()
        .unwrap();
    assert_same(&first, &uninterrupted(100));
    let error = first.info().checkpoint_error.clone().unwrap_or_default();
    assert!(error.contains("run.draws: it was moved or deleted"), "{error:?}");
    assert_same(&second.unwrap().join().unwrap().unwrap(), &uninterrupted(40));
    assert!(draws_path.exists());
    assert_eq!(held(&path), 40);
    assert_same(&run(&path, 50).unwrap(), &uninterrupted(50));
}

const CHILD: &str = "BNN_MCMC_FAULT_CHILD";

/// This program again, as a process of its own that does one job.
fn child(job: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "checkpoint_faults::child_process", "--nocapture"]);
    command.env(CHILD, job).env("BNN_MCMC_FAULT_FOLDER", folder).stdout(Stdio::piped());
    command
}

/// Not a test of its own: what the other processes do.
#[test]
fn child_process() {
    let (Some(job), Some(folder)) =
        (std::env::var_os(CHILD), std::env::var_os("BNN_MCMC_FAULT_FOLDER"))
    else {
        return;
    };
    let (job, folder) = (job.into_string().unwrap(), PathBuf::from(folder));
    match job.split(' ').collect::<Vec<_>>()[..] {
        ["race", draws, start] => race(&folder, draws.parse().unwrap(), start.parse().unwrap()),
        #[cfg(target_os = "linux")]
        ["calls", on_disk] => faults::every_call_fails(on_disk == "true"),
        #[cfg(target_os = "linux")]
        ["folders"] => faults::folders_refuse_flushes(),
        #[cfg(target_os = "linux")]
        ["read_only"] => faults::nothing_can_be_written(),
        #[cfg(target_os = "linux")]
        ["moved"] => faults::a_file_is_moved_before_it_is_locked(),
        _ => panic!("{job}"),
    }
}

/// Runs from a moment on; refused if another process has the files for too long.
fn race(folder: &Path, draws: usize, start: u128) {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    while now() < start {
        std::hint::spin_loop();
    }
    match run(&folder.join("run"), draws) {
        Ok(made) => assert_same(&made, &uninterrupted(draws)),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("another process is using"), "{text}");
            println!("refused");
        }
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
            let mut command = child(&format!("race {draws} {start}"), folder.path());
            command.spawn().unwrap()
        });
        let [a, b] = [a, b].map(|child| {
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{text}");
            !text.contains("refused")
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
            .args([concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/shim.c"), "-ldl"])
            .status()
            .expect("cc, which rustc links with");
        assert!(compiled.success());
        library
    }

    /// Runs a job of this program with the shim.
    fn with_shim(job: &str) -> String {
        let folder = folder();
        let library = shim(folder.path());
        let mut command = child(job, folder.path());
        let output = command.env("LD_PRELOAD", library).stderr(Stdio::piped()).output().unwrap();
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
        println!("{}", with_shim("calls false"));
    }

    #[test]
    fn calls_that_fail_lose_nothing_with_rows_on_disk() {
        println!("{}", with_shim("calls true"));
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
        assert!(with_shim("folders").contains("folders"));
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
        assert!(with_shim("moved").contains("moved"));
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
            let refused = draws.unwrap_err();
            let message = std::io::Error::from_raw_os_error(error).to_string();
            assert!(refused.is_io() && refused.to_string().contains(&message), "{refused}");
            assert!(!worked);
            order("off");
            assert_same(&run_on(folder.path(), 50, on_disk).0.unwrap(), &uninterrupted(50));
        }
        println!("read only");
    }

    #[test]
    fn a_finished_run_is_read_where_nothing_can_be_written() {
        assert!(with_shim("read_only").contains("read only"));
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
    let refused = longer.on_progress(|_| worked = true).run().unwrap_err();
    assert!(refused.is_io() && refused.to_string().contains("run.tmp"), "{refused}");
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

// What makes a run the one it is.

#[test]
fn rows_in_another_order_are_another_run() {
    let x = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| ((7 * i + 3 * j) as f64).sin());
    let y = ndarray::Array1::from_iter(x.rows().into_iter().map(|r| r[0] - 2.0 * r[1]));
    let posterior = |order: &[usize]| {
        let rows = ndarray::Axis(0);
        let data = Dataset::regression(x.select(rows, order), y.select(rows, order)).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let linear = Linear::new(2, 1).unwrap();
        Posterior::new(linear, Gaussian::fixed(0.5).unwrap(), &data, priors).unwrap()
    };
    let folder = folder();
    let run = |order: &[usize], draws| {
        Sampler::new(&posterior(order), Sgld::new(Minibatch { size: 8 }))
            .warmup(20)
            .draws(draws)
            .checkpoint(folder.path().join("run"), Every::default())
            .run()
    };
    let order: Vec<usize> = (0..400).collect();
    // Views of a target have its data.
    let whole = posterior(&order);
    let reference = Normal::new(0.0, 1.0).unwrap();
    let checksum = whole.data_checksum().unwrap();
    assert_eq!(posterior(&order).data_checksum(), Some(checksum));
    for view in [
        Target::data_checksum(&&whole),
        Tempered::new(&whole, 0.5).unwrap().data_checksum(),
        Conditioned::new(&whole, &["b".to_string()]).unwrap().data_checksum(),
        WithReference::new(&whole, reference).data_checksum(),
        whole.log_likelihood().data_checksum(),
    ] {
        assert_eq!(view, Some(checksum));
    }
    assert_eq!(gaussian().data_checksum(), None);
    run(&order, 20).unwrap();
    let mut other = order.clone();
    other.swap(380, 390);
    let error = run(&other, 30).expect_err("another order of rows").to_string();
    assert!(error.contains("`checksum of the data` is "), "{error}");
    // The response of another row while x is the same, and the other way about.
    let (mut other_x, mut other_y) = (x.clone(), y.clone());
    other_x.swap((380, 1), (390, 1));
    other_y.swap(380, 390);
    for (x, y) in [(x.clone(), other_y), (other_x, y.clone())] {
        let data = Dataset::regression(x, y).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let linear = Linear::new(2, 1).unwrap();
        let other = Posterior::new(linear, Gaussian::fixed(0.5).unwrap(), &data, priors).unwrap();
        assert_ne!(other.data_checksum(), Some(checksum));
    }
    assert_eq!(run(&order, 30).unwrap().n_draws(), 30);
}

#[test]
fn no_file_holds_the_path_of_a_type() {
    let folder = folder();
    let target = gaussian();
    let rows = OnDisk { path: folder.path().join("rows"), every: 5, keep: Keep::All };
    let algorithm = bnn_mcmc::sampler::Cycle(Mala::default(), Rwm::default());
    Sampler::new(&target, algorithm)
        .draws(20)
        .checkpoint(folder.path().join("run"), Every::default())
        .run_with(&(Moments, rows))
        .unwrap();
    let head = fs::read(folder.path().join("run")).unwrap();
    let holds = |text: &[u8]| head.windows(text.len()).any(|window| window == text);
    assert!(!holds(b"::"), "a type's path is in the head");
    assert!(holds(b"Cycle(Mala, Rwm)") && holds(b"(Moments, OnDisk)"));
    // The number of a run is the same for all compilers, and wherever modules move.
    let rows = ChainFile::open(folder.path().join("rows.chain0")).unwrap();
    assert_eq!(rows.run(), crc32fast::hash(b"0 4 1000 1 Cycle(Mala, Rwm) on q[2]"));
}

// Damage.

#[test]
fn a_large_file_that_is_no_checkpoint_is_not_read() {
    let folder = folder();
    let path = folder.path().join("run");
    run(&path, 10).unwrap();
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = run(&path, 10).unwrap_err();
    assert!(error.is_checkpoint(), "{error}");
}

/// Heads that are damaged and have the right checksum nevertheless: sizes in them may claim anything.
#[test]
fn sizes_in_a_head_are_not_trusted() {
    let folder = faulty_folder();
    let path = folder.path().join("run");
    run(&path, 12).unwrap();
    let intact = fs::read(&path).unwrap();
    let sealed = |change: &dyn Fn(&mut [u8])| {
        let mut head = intact.clone();
        change(&mut head);
        let crc = crc32fast::hash(&head[32..]).to_le_bytes();
        head[28..32].copy_from_slice(&crc);
        fs::write(&path, &head).unwrap();
        run(&path, 12)
    };
    assert_same(&sealed(&|_| {}).unwrap(), &uninterrupted(12));
    // Bytes, text, an array, a map of 2^63 - 1 items.
    let (mut refused, mut cases) = (0, 0);
    for at in 32..intact.len() - 9 {
        for kind in [0x5b, 0x7b, 0x9b, 0xbb] {
            let found = sealed(&|head| {
                head[at..at + 9].fill(0xff);
                head[at..at + 2].copy_from_slice(&[kind, 0x7f]);
            });
            refused += usize::from(found.is_err_and(|e| e.is_checkpoint()));
            cases += 1;
        }
    }
    // The others are numbers that now have other digits.
    assert!(refused > cases / 2, "{refused} of {cases}");
    // Draws of a chain that neither file has, or fewer than they have.
    let done: Vec<usize> =
        (0..intact.len() - 7).filter(|i| intact[*i..].starts_with(b"done\x82\x14")).collect();
    assert_eq!(done.len(), 2, "chains");
    for draws in [11, 13, 0] {
        let error = sealed(&|head| head[done[1] + 6] = draws).unwrap_err();
        assert!(error.to_string().contains("its sizes do not fit this run"), "{error}");
    }
}

/// Damages files of several runs in many ways: a resume gives the right draws or an error that leaves
/// the files as they are.
fn damage(cases: usize, seed: u64) {
    /// Head and draws.
    type Pair = [Vec<u8>; 2];
    type Change = fn(Sampler<'_, GaussianTarget, Mala>) -> Sampler<'_, GaussianTarget, Mala>;
    let read = |path: &Path| -> Pair {
        [path.to_path_buf(), path.with_extension("draws")].map(|file| fs::read(file).unwrap())
    };
    let folder = faulty_folder();
    let path = folder.path().join("run");
    // This run at four times, and three others.
    let mut runs: Vec<Pair> = Vec::new();
    for draws in [0, 6, 12, 15] {
        run(&path, draws).unwrap();
        runs.push(read(&path));
    }
    let target = gaussian();
    let others: [(&str, Change); 3] = [
        ("seed", |s| s.seed(6)),
        ("chains", |s| s.chains(3)),
        ("keep", |s| s.keep(Keep::Statistics)),
    ];
    for (name, other) in others {
        let path = folder.path().join(name);
        other(sampler(&target, 12)).checkpoint(&path, Every::Draws(10)).run().unwrap();
        runs.push(read(&path));
    }
    let whole = uninterrupted(15);
    let mut rng = ChainRng::new(seed, 0);
    let mut below = |n: usize| rng.random_range(0..n);
    let (mut exact, mut refused) = (0, 0);
    for case in 0..cases {
        let mut pair = runs[below(4)].clone();
        let intact = pair.clone();
        let which = below(2);
        let length = pair[which].len();
        let (from, to) = (below(length + 1), below(length + 1));
        let (from, to) = (from.min(to), from.max(to));
        let other = runs[below(runs.len())][below(2)].clone();
        let bytes = &mut pair[which];
        match below(9) {
            // Single bits, in all places.
            0 if length > 0 => {
                (0..1 + below(3)).for_each(|_| bytes[below(length)] ^= 1 << below(8))
            }
            1 => bytes.truncate(from),
            2 => (from..to).for_each(|i| bytes[i] = below(256) as u8),
            // A page that was never written.
            3 => bytes[from..to].fill(0),
            4 => drop(bytes.splice(from..to, other)),
            // Of another moment of this run, of another run, or of the other kind.
            5 => *bytes = other,
            // The beginning of one, the end of another.
            6 => {
                let cut = from.min(other.len());
                bytes.truncate(cut);
                bytes.extend_from_slice(&other[cut..]);
            }
            7 => pair.swap(0, 1),
            _ => bytes.extend((0..1 + below(100)).map(|_| below(256) as u8)),
        }
        for (file, bytes) in ["run", "run.draws"].iter().zip(&pair) {
            fs::write(folder.path().join(file), bytes).unwrap();
        }
        match run(&path, 15) {
            Ok(draws) => {
                assert!(draws.n_draws() == 15 && begins(&draws, &whole), "case {case}");
                exact += 1;
            }
            Err(error) => {
                assert!(error.is_checkpoint(), "case {case}: {error}");
                assert!(error.to_string().contains("run"), "case {case}: {error}");
                assert!(read(&path) == pair && pair != intact, "case {case}: {error}");
                refused += 1;
            }
        }
    }
    println!(
        "{cases} damaged checkpoints: {refused} refused, {exact} with exactly the right draws"
    );
    assert!(exact > cases / 100 && refused > cases / 2, "{exact} {refused}");
}

#[test]
fn damage_is_refused_or_harmless() {
    damage(3000, 1);
}

#[test]
#[ignore = "takes minutes; run by hand, see the top of this file"]
fn much_damage_is_refused_or_harmless() {
    damage(120_000, 2);
}

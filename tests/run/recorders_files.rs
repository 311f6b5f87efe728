//! Files of recorders: what is in them, that damage is found, and that none is overwritten or gone on from that is
//! not the run's own.

use std::path::{Path, PathBuf};

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::GaussianTarget;
use ndarray::s;
use shared::{failed, refused, said};

use crate::fixtures::gaussian;

fn short(on_disk: &OnDisk, draws: usize, checkpoint: Option<&Path>) -> Result<Draws, Error> {
    let target = gaussian();
    let sampler = Sampler::new(&target, Mala::default()).chains(2).warmup(30).draws(draws);
    let (draws, records) = match checkpoint {
        Some(path) => sampler.checkpoint(path, Every::Draws(10)).run_with(on_disk)?,
        None => sampler.run_with(on_disk)?,
    };
    for (chain, record) in records.iter().enumerate() {
        assert_eq!(record.path(), on_disk.file(chain));
        assert_eq!(record.n_rows() as usize, draws.n_draws() / on_disk.every);
    }
    Ok(draws)
}

/// A standard normal whose names count from 1, as those of Stan and R do.
struct FromOne;

impl Target for FromOne {
    type Workspace = ();
    fn dim(&self) -> usize {
        3
    }
    fn layout(&self) -> Layout {
        Layout::from_parameter_names(&["m", "theta[1]", "theta[2]"].map(String::from))
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
    }
}

#[test]
fn files_keep_the_names_of_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let on_disk = OnDisk { path: folder.path().join("run"), every: 1, keep: Keep::All };
    let sampler = Sampler::new(&FromOne, Rwm::default()).warmup(5).draws(5);
    let (draws, _) = sampler.run_with(&on_disk).unwrap();
    let read = OnDisk::read(&on_disk.path).unwrap();
    assert_eq!(read.layout(), draws.layout());
    assert_eq!(read.layout().parameter_names(), ["m", "theta[1]", "theta[2]"]);
}

#[test]
fn files_hold_every_kth_draw() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let on_disk = OnDisk { path: path.clone(), every: 3, keep: Keep::All };
    let draws = short(&on_disk, 50, None).unwrap();
    let expected = draws.thinned(3).unwrap().values().mapv(|x| f64::from(x as f32));
    let read = OnDisk::read(&path).unwrap();
    assert_eq!((read.values(), read.layout()), (expected.view(), draws.layout()));
    for chain in 0..2 {
        let file = ChainFile::open(on_disk.file(chain)).unwrap();
        assert_eq!((file.chain_index(), file.n_chains()), (chain, 2));
        assert_eq!((file.every(), file.n_rows()), (3, 16));
        assert_eq!(file.layout(), draws.layout());
        for (d, row) in file.enumerate() {
            let row: Vec<f64> = row.unwrap().into_iter().map(f64::from).collect();
            assert_eq!(row, expected.slice(s![chain, d, ..]).to_vec());
        }
    }

    // A row that is not whole is left out, and the other chain cut to the same length.
    let bytes = std::fs::read(on_disk.file(1)).unwrap();
    for cut in 1..12 {
        std::fs::write(on_disk.file(1), &bytes[..bytes.len() - cut]).unwrap();
        let read = OnDisk::read(&path).unwrap();
        assert_eq!(read.values(), expected.slice(s![.., ..15, ..]));
    }
    // Damage is found, wherever it is, and what lies before it can be read.
    let header = bytes.len() - 16 * 12;
    for i in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[i] ^= 1 << (i % 8);
        std::fs::write(on_disk.file(1), &damaged).unwrap();
        let Err(Error::Table { table, problem, .. }) = OnDisk::read(&path) else {
            panic!("byte {i}")
        };
        assert!(table.ends_with("run.chain1"), "{table}");
        if i >= header {
            let row = (i - header) / 12;
            assert_eq!(problem, format!("it is damaged: the checksum of row {row} is wrong"));
            let mut file = ChainFile::open(on_disk.file(1)).unwrap();
            assert!(file.by_ref().take(row).all(|row| row.is_ok()));
            assert!(file.next().unwrap().is_err() && file.next().is_none());
        }
    }
    for n in 0..header {
        std::fs::write(on_disk.file(1), &bytes[..n]).unwrap();
        let problem = format!("it is truncated: {n} bytes are left");
        failed!(OnDisk::read(&path), Table { problem: problem });
    }
    std::fs::write(on_disk.file(1), std::fs::read(on_disk.file(0)).unwrap()).unwrap();
    refused!(OnDisk::read(&path), Table {});
    std::fs::copy("../Cargo.lock", on_disk.file(1)).unwrap();
    refused!(OnDisk::read(&path), Table {});
    for chain in [1, 0] {
        std::fs::remove_file(on_disk.file(chain)).unwrap();
        let read = OnDisk::read(&path);
        assert!(matches!(&read, Err(Error::Io { path, .. }) if *path == on_disk.file(chain)));
        refused!(read, Io {});
    }
}

#[test]
fn files_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let checkpoint = folder.path().join("checkpoint");
    let on_disk = OnDisk { path: path.clone(), every: 2, keep: Keep::All };
    let contents = || [0, 1].map(|chain| std::fs::read(on_disk.file(chain)).unwrap());
    for (every, keep, name, value) in
        [(0, Keep::All, "every", "0"), (1, Keep::Statistics, "keep", "Statistics")]
    {
        let on_disk = OnDisk { path: path.clone(), every, keep };
        refused!(short(&on_disk, 10, None), Argument { name: name, value: value });
    }
    let nowhere = OnDisk { path: folder.path().join("no/where"), ..on_disk.clone() };
    refused!(short(&nowhere, 10, None), Io {});
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was begun");

    std::fs::write(on_disk.file(1), "precious").unwrap();
    for checkpoint in [None, Some(&*checkpoint)] {
        refused!(short(&on_disk, 10, checkpoint), Checkpoint {});
        assert_eq!(std::fs::read(on_disk.file(1)).unwrap(), b"precious");
        assert!(!on_disk.file(0).exists(), "the next try is not hindered by this one");
        assert!(!folder.path().join("checkpoint").exists());
    }
    std::fs::remove_file(on_disk.file(1)).unwrap();

    // A run without a draw has no file; one that goes on from there begins it.
    short(&on_disk, 0, Some(&checkpoint)).unwrap();
    assert!(!on_disk.file(0).exists());
    short(&on_disk, 20, Some(&checkpoint)).unwrap();
    let twenty = contents();
    refused!(short(&on_disk, 20, None), Checkpoint {});
    for draws in [0, 7, 20] {
        // Fewer draws leave the files alone: records have all.
        let target = gaussian();
        let sampler = Sampler::new(&target, Mala::default()).chains(2).warmup(30).draws(draws);
        let sampler = sampler.checkpoint(&checkpoint, Every::Draws(10));
        assert_eq!(sampler.run_with(&on_disk).unwrap().1[1].n_rows(), 10);
        assert!(contents() == twenty);
    }
    // What was written after the checkpoint is cut off with the next row: whole rows, and a part
    // of one.
    let whole = OnDisk { path: folder.path().join("whole"), ..on_disk.clone() };
    short(&whole, 40, None).unwrap();
    let forty = [0, 1].map(|chain| std::fs::read(whole.file(chain)).unwrap());
    let saved = Checkpoint::of(&checkpoint);
    for extra in [0, 5, 12, 30] {
        for (chain, bytes) in twenty.iter().enumerate() {
            assert!(forty[chain].starts_with(bytes));
            let found = &forty[chain][..bytes.len() + extra];
            std::fs::write(on_disk.file(chain), found).unwrap();
        }
        let found = contents();
        for draws in [20, 21] {
            short(&on_disk, draws, Some(&checkpoint)).unwrap();
            assert!(contents() == found, "no row was added");
        }
        short(&on_disk, 22, Some(&checkpoint)).unwrap();
        let row = (forty[0].len() - twenty[0].len()) / 10;
        assert!((0..2).all(|c| contents()[c] == forty[c][..twenty[c].len() + row]));
        saved.restore();
    }
    for (chain, bytes) in twenty.iter().enumerate() {
        std::fs::write(on_disk.file(chain), bytes).unwrap();
    }
    // Files that are not what the checkpoint says are left alone.
    let left_alone = |bytes: &[u8], problem: &str| {
        std::fs::write(on_disk.file(1), bytes).unwrap();
        refused!(short(&on_disk, 40, Some(&checkpoint)), Checkpoint { problem: problem });
        assert!(std::fs::read(on_disk.file(1)).unwrap() == bytes);
        std::fs::write(on_disk.file(1), &twenty[1]).unwrap();
    };
    let part = &twenty[1][..twenty[1].len() - 1];
    let problem = format!("it is truncated: {} bytes are left of {}", part.len(), part.len() + 1);
    left_alone(part, &problem);
    let not = "it is not the file of this chain of this run";
    left_alone(&twenty[0], &format!("{not}: its `chain` is 0, expected 1"));
    left_alone(b"", &format!("{not}: it is truncated: 0 bytes are left"));
    let mut damaged = twenty[1].clone();
    *damaged.last_mut().unwrap() ^= 1;
    left_alone(&damaged, "it is damaged: the checksum of row 9 is wrong");
    std::fs::remove_file(on_disk.file(0)).unwrap();
    refused!(short(&on_disk, 40, Some(&checkpoint)), Io {});
    std::fs::write(on_disk.file(0), &twenty[0]).unwrap();
    short(&on_disk, 40, Some(&checkpoint)).unwrap();
    assert!(contents() == forty);
}

/// The two files of a checkpoint as they were.
struct Checkpoint([(PathBuf, Vec<u8>); 2]);

impl Checkpoint {
    fn of(path: &Path) -> Self {
        let draws = PathBuf::from(format!("{}.draws", path.display()));
        Self([path.into(), draws].map(|path| (path.clone(), std::fs::read(path).unwrap())))
    }
    fn restore(&self) {
        for (path, bytes) in &self.0 {
            std::fs::write(path, bytes).unwrap();
        }
    }
}

/// Two chains on a Gaussian with this mean, every second draw on disk.
#[derive(Clone)]
struct Files {
    on_disk: OnDisk,
    checkpoint: PathBuf,
    mean: f64,
    seed: u64,
}

impl Files {
    fn new(folder: &Path, name: &str) -> Self {
        let on_disk = OnDisk { path: folder.join(name), every: 2, keep: Keep::All };
        let checkpoint = folder.join(format!("{name}.checkpoint"));
        Self { on_disk, checkpoint, mean: 1.0, seed: 1 }
    }
    /// Until there are this many draws; without any, until some iteration of warm-up.
    fn run(&self, draws: Option<usize>, checkpoint: bool) -> Result<(), Error> {
        let target = GaussianTarget::new(vec![self.mean, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap();
        let stop = StopHandle::new();
        let mut sampler = Sampler::new(&target, Mala::default())
            .chains(2)
            .warmup(30)
            .draws(draws.unwrap_or(1))
            .seed(self.seed)
            .stop_handle(&stop)
            .on_progress(|p| {
                if draws.is_none() {
                    assert_eq!(p.phase, bnn_mcmc::sampler::Phase::Warmup);
                    stop.stop();
                }
            });
        if checkpoint {
            sampler = sampler.checkpoint(&self.checkpoint, Every::default());
        }
        sampler.run_with(&self.on_disk).map(|_| ())
    }
    fn contents(&self) -> [Vec<u8>; 2] {
        [0, 1].map(|chain| std::fs::read(self.on_disk.file(chain)).unwrap())
    }
    fn replace(&self, chain: usize, bytes: &[u8]) {
        std::fs::write(self.on_disk.file(chain), bytes).unwrap();
    }
    fn remove(&self) {
        (0..2).for_each(|chain| std::fs::remove_file(self.on_disk.file(chain)).unwrap());
    }
    /// A resume is refused because of this chain's file, and leaves the files as they are. The rest of the
    /// problem are numbers of runs and checksums, which are not the same on every processor.
    #[track_caller]
    fn refuses(&self, draws: usize, chain: usize, begin: &str) {
        let before = self.contents();
        let Err(Error::Checkpoint { path, problem }) = self.run(Some(draws), true) else {
            panic!("accepted")
        };
        assert_eq!(path, self.on_disk.file(chain));
        assert!(problem.starts_with(begin), "{problem}");
        assert!(self.contents() == before, "the files were changed");
    }
}

/// The beginnings of the problem with a file of a run of another number, and with other rows.
const OTHER_RUN: &str = "it is not the file of this chain of this run: its `run` is ";
const OTHER_ROWS: &str =
    "it is not the file of this chain of this run: the checksum of its first 20 rows is ";

#[test]
fn a_stop_in_warm_up_does_not_hand_over_files_of_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::new(folder.path(), "run");
    let other = Files { seed: 2, ..files.clone() };
    files.run(None, true).unwrap();
    let in_warmup = Checkpoint::of(&files.checkpoint);
    assert!(!files.on_disk.file(0).exists());
    // Another run takes the names. All of it stays, also if only a part is left.
    other.run(Some(40), false).unwrap();
    let written = other.contents();
    files.refuses(40, 0, OTHER_RUN);
    let header = written[0].len() - 20 * 12;
    for length in [header, header + 5] {
        files.replace(0, &written[0][..length]);
        files.refuses(40, 0, OTHER_RUN);
    }
    files.replace(0, &written[0]);
    // It takes them while this one is in its warm-up.
    other.remove();
    let mut ran = false;
    let target = gaussian();
    let sampler = Sampler::new(&target, Mala::default()).chains(2).warmup(30).draws(40).seed(1);
    let sampler = sampler.checkpoint(&files.checkpoint, Every::default()).on_progress(|p| {
        if !std::mem::replace(&mut ran, true) {
            assert_eq!(p.phase, bnn_mcmc::sampler::Phase::Warmup);
            other.run(Some(40), false).unwrap();
        }
    });
    let (draws, _) = sampler.run_with(&files.on_disk).unwrap();
    // Which chain is the first depends on threads.
    let error = draws.info().recorder_error.as_ref().unwrap();
    assert!(
        [0, 1].iter().any(|c| error.starts_with(&files.on_disk.file(*c).display().to_string()))
    );
    assert!(other.contents() == written);
    other.remove();

    // A process that is killed after its first rows, and before a checkpoint has them, goes on.
    let whole = Files::new(folder.path(), "whole");
    whole.run(Some(40), false).unwrap();
    let whole = whole.contents();
    for length in [0, 3, header - 1, header, header + 5, header + 12, whole[0].len()] {
        in_warmup.restore();
        files.replace(0, &whole[0][..length]);
        files.replace(1, &whole[1]);
        files.run(None, true).unwrap();
        assert!(files.contents() == [whole[0][..length].to_vec(), whole[1].clone()]);
        files.run(Some(40), true).unwrap();
        assert!(files.contents() == whole);
    }
    // Chain 1 refuses: nothing of chain 0 is cut.
    in_warmup.restore();
    files.replace(1, &written[1]);
    files.refuses(40, 1, OTHER_RUN);
}

#[test]
fn rows_that_the_checkpoint_does_not_know_are_not_gone_on_from() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::new(folder.path(), "run");
    files.run(Some(40), true).unwrap();
    let own = files.contents();
    // Of another seed the file says so; other data have the same id, and other rows.
    let seed = Files { seed: 2, ..files.clone() };
    let data = Files { mean: 1.5, ..files.clone() };
    for (other, problem) in [(seed, OTHER_RUN), (data, OTHER_ROWS)] {
        files.remove();
        other.run(Some(60), false).unwrap();
        assert_eq!(other.contents()[0].len(), own[0].len() + 10 * 12);
        let id = |on_disk: &OnDisk| ChainFile::open(on_disk.file(0)).unwrap().run();
        let others = id(&other.on_disk);
        files.refuses(80, 0, problem);
        files.replace(0, &own[0]);
        assert_eq!(id(&files.on_disk) == others, problem == OTHER_ROWS);
        files.refuses(80, 1, problem);
        // Chain 1 refuses: nothing of chain 0 is cut.
        files.replace(0, &[&own[0][..], &[7; 30]].concat());
        files.refuses(80, 1, problem);
        // Its rows in another order.
        let (a, b) = own[1].split_at(own[1].len() - 12);
        let (a, c) = a.split_at(a.len() - 12);
        files.replace(1, &[a, b, c].concat());
        files.refuses(80, 1, OTHER_ROWS);
    }
    own.iter().enumerate().for_each(|(chain, own)| files.replace(chain, own));
    files.run(Some(60), true).unwrap();
    let whole = Files::new(folder.path(), "whole");
    whole.run(Some(60), false).unwrap();
    assert!(files.contents() == whole.contents());
}

#[test]
fn chains_of_different_runs_are_not_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| Files::new(folder.path(), name));
    let b = Files { seed: 2, ..b };
    a.run(Some(40), false).unwrap();
    b.run(Some(40), false).unwrap();
    let run = |files: &Files, chain| ChainFile::open(files.on_disk.file(chain)).unwrap().run();
    assert_eq!(run(&a, 0), run(&a, 1));
    assert_ne!(run(&a, 0), run(&b, 0));
    OnDisk::read(&a.on_disk.path).unwrap();
    a.replace(1, &b.contents()[1]);
    let problem = format!(
        "it is not of the run of chain 0, or not of this chain: its `run` is {:08x}, \
         expected {:08x}",
        run(&b, 0),
        run(&a, 0)
    );
    refused!(OnDisk::read(&a.on_disk.path), Table { problem: problem });
}

#[test]
fn a_file_that_cannot_be_written_ends_the_run_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let on_disk = OnDisk { path: folder.path().join("run"), every: 1, keep: Keep::All };
    let target = GaussianTarget::standard(2).unwrap();
    // A folder takes the file's name after the run has begun.
    let file = on_disk.file(1);
    let sampler = Sampler::new(&target, Mala::default()).chains(2).warmup(30).draws(50);
    let (draws, _) = sampler
        .on_progress(|_| drop(std::fs::create_dir(&file)))
        .threads(1)
        .run_with(&on_disk)
        .unwrap();
    said!(draws.info().recorder_error.as_ref().unwrap());
    assert!(draws.info().stopped_early && draws.n_draws() <= 1);
}

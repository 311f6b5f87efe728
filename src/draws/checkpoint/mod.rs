//! Runs that survive: checkpoints on disk, from which a run goes on exactly.
//!
//! ```
//! use bnn_mcmc::draws::checkpoint::Every;
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::testing::GaussianTarget;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("run.checkpoint");
//! let target = GaussianTarget::standard(3)?;
//! let run = |draws| {
//!     Sampler::new(&target, Mala::default())
//!         .draws(draws)
//!         .seed(1)
//!         .checkpoint(&path, Every::Seconds(30.0))
//!         .run()
//! };
//! run(200)?; // killed or stopped, the same call goes on where it was
//! let longer = run(500)?; // finished, it goes on to more draws
//! let at_once = Sampler::new(&target, Mala::default()).draws(500).seed(1).run()?;
//! assert_eq!(longer.values(), at_once.values());
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! # What is promised
//! - A process that is killed at any moment, in warm-up too, loses at most the interval
//!   [`Every`]. What is written is on the disk before the previous checkpoint is given up.
//! - The draws and statistics of a resumed run equal those of an uninterrupted one bit for bit
//!   (on one kind of processor, as everywhere in this crate). A [`StopHandle`] loses nothing: a
//!   last checkpoint is written.
//! - **The file decides whether a run is resumed**: without it the run begins anew, with it the run
//!   goes on. A forgotten file cannot slip in draws of another run. Everything that determines
//!   the draws is compared, and an error names what differs: version of this crate, seed, chains,
//!   warm-up, thinning, name and configuration of the algorithm, parameters and which of them are
//!   kept, names and configurations of recorders, the data by their
//!   [checksum](crate::targets::Target::data_checksum), in which the order of rows counts, starting
//!   points, and the log density at every chain's position, which notices other models and other
//!   priors. (The last two to a relative 1e-10, so that a run may move to another processor.) To
//!   begin anew, delete the files. Code of your own that changes without changing any of these is
//!   not noticed.
//! - `draws` may differ from run to run, since a chain's draws do not depend on how many follow:
//!   more of them extend a finished run, fewer return the first ones and leave the files alone.
//!   `threads` may differ as well.
//! - A damaged, truncated or foreign file gives [`Error::Checkpoint`] and is left as it is.
//! - A finished run can be read where nothing can be written: a folder that is read-only, files of
//!   somebody else. More draws are then an error, before any work.
//! - Two processes cannot write at the same time: the second waits for half a second and is then
//!   refused. If the first ends meanwhile, the second goes on from what it has written. Files that
//!   are moved away or deleted during a run are not written any more: later checkpoints of this run
//!   fail, and another run can begin in their place.
//! - A checkpoint that cannot be written (the disk is full) ends nothing: the run goes on, tries
//!   again after each interval and at the end, and returns all draws. Meanwhile
//!   [`Progress::checkpoint_failed`] is set, and [`RunInfo::checkpoint_error`] says at the end
//!   what is missing on disk. Only a first checkpoint that fails, before any work, is an error.
//!
//! [`StopHandle`]: crate::sampler::StopHandle
//! [`Progress::checkpoint_failed`]: crate::sampler::Progress::checkpoint_failed
//! [`RunInfo::checkpoint_error`]: crate::draws::RunInfo::checkpoint_error
//!
//! # What is stored
//! Two files, to be kept together; where `path` is a symbolic link, they are with the file that it
//! points to, and have its name. `<path>.draws` holds the draws that all chains have made: an
//! array `[draw, chain, kept parameter then statistic]` of little-endian f64 without a header, to
//! which each checkpoint appends. `<path>` holds all the rest in CBOR (floats keep their bits, NaN
//! too), one item after the other: what the run is; length and CRC-32 of the draws, with the random
//! stream of each chain, its position with log density and gradient, counters, and draws that other
//! chains have not made yet; then for each chain the state of its kernel, and what
//! [recorders](crate::draws::recorder) need to go on. It begins with a magic number, the format's
//! version, its length and its CRC-32.
//!
//! A checkpoint appends new draws and flushes them to the disk, writes the new head to
//! `<path>.tmp`, flushes it, and renames it over `<path>`. Killed in between, the run has the old
//! head, which vouches for the old part of the draws only. A lock on `<path>.draws`, taken before
//! anything is read, keeps a second process away. At last the folder is flushed; file systems that
//! refuse this for folders are trusted to do it by themselves.
//!
//! # Cost
//! Every draw is written once, as 8 (kept parameters + statistics) bytes. Each checkpoint adds the
//! head, two flushes to the disk, and one log density per chain. Chains wait meanwhile. Measured,
//! the head has 30 (RWM, HMC, NUTS) or 36 (MALA, BAOAB) bytes per parameter and chain; in warm-up,
//! while a diagonal preconditioner is learnt, 48 (RWM), 54 (MALA) or 66 (HMC, NUTS). A dense
//! preconditioner has 9 per pair of parameters, in warm-up 18. Numbers of the algorithm's
//! configuration, such as masses, add nothing if there are many: the head has their checksum.
//!
//! Measured on a virtual machine with a shared disk: 6 to 20 ms per checkpoint, and 300 to 850 MB/s
//! for draws. So a million draws of 100 parameters, 0.9 GB per chain, take 1 to 3 s in all, and an
//! [`Every`] of 30 seconds adds less than 0.1 % for the checkpoints themselves. What is read back
//! on a resume comes at 1 GB/s. The checksum of a posterior's data is computed once, when the
//! checkpoint is opened, in one pass over x and y, at 2.6 GB/s.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ciborium::Value;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;

/// When a running [`Sampler`](crate::sampler::Sampler) writes a checkpoint. One more is written at
/// the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    /// When this many seconds, at least 0, have passed since the last one: at the next moment at
    /// which all chains are equally far, which comes every 20 ms; where draws are slow, after eight
    /// of them or half a second, or after each draw that takes longer.
    Seconds(f64),
    /// After this many draws, at least 1, or iterations of warm-up, of each chain.
    Draws(usize),
}

impl Default for Every {
    /// 30 seconds.
    fn default() -> Self {
        Self::Seconds(30.0)
    }
}

impl Every {
    pub(crate) fn check(self) -> Result<(), Error> {
        match self {
            Self::Draws(0) => Err(Error::argument("every", "0 draws", "at least 1 draw")),
            Self::Seconds(s) if !(s >= 0.0 && s.is_finite()) => {
                Err(Error::argument("every", format!("{s} seconds"), "finite and at least 0"))
            }
            _ => Ok(()),
        }
    }
}

/// Arrays of more numbers than this are one entry of a [`Fingerprint`].
const NAMED_ALONE: usize = 64;

/// What makes a run the one it is: names and values, to be compared and shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fingerprint(BTreeMap<String, String>);

impl Fingerprint {
    pub fn add(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.into(), value.to_string());
    }

    /// Adds every number and word of a configuration under its own name, but long arrays of numbers
    /// as one checksum: they may be as long as q.
    pub fn add_config(&mut self, name: &str, config: &impl Serialize) -> Result<(), Error> {
        let config = Value::serialized(config).map_err(|e| {
            Error::argument(name, "a configuration that serde refuses", format!("data: {e}"))
        })?;
        self.add_value(name, &config);
        Ok(())
    }

    fn add_value(&mut self, name: &str, value: &Value) {
        match value {
            Value::Map(fields) => {
                for (key, value) in fields {
                    self.add_value(&format!("{name}.{}", text(key)), value);
                }
            }
            Value::Array(items) => {
                if let Some(crc) = checksum(items) {
                    return self
                        .add(name, format!("{} numbers with checksum {crc:08x}", items.len()));
                }
                for (i, value) in items.iter().enumerate() {
                    self.add_value(&format!("{name}[{i}]"), value);
                }
            }
            leaf => self.add(name, text(leaf)),
        }
    }

    /// What differs between the run of a file and this one.
    fn differences(&self, here: &Self) -> Option<String> {
        const SHOWN: usize = 4;
        let names: std::collections::BTreeSet<_> = self.0.keys().chain(here.0.keys()).collect();
        let differing: Vec<_> =
            names.into_iter().filter(|name| self.0.get(*name) != here.0.get(*name)).collect();
        let show = |value: Option<&String>| value.map_or("absent", String::as_str).to_string();
        let mut list: Vec<String> = differing
            .iter()
            .take(SHOWN)
            .map(|name| {
                let (found, expected) = (show(self.0.get(*name)), show(here.0.get(*name)));
                format!("`{name}` is {found} there and {expected} here")
            })
            .collect();
        if differing.len() > SHOWN {
            list.push(format!("and {} more", differing.len() - SHOWN));
        }
        (!list.is_empty()).then(|| list.join("; "))
    }
}

/// The checksum of the bits of an array, if it holds nothing but numbers, and many.
fn checksum(items: &[Value]) -> Option<u32> {
    if items.len() <= NAMED_ALONE {
        return None;
    }
    let mut crc = crc32fast::Hasher::new();
    for item in items {
        match item {
            Value::Float(x) => crc.update(&x.to_bits().to_le_bytes()),
            Value::Integer(i) => crc.update(&i128::from(*i).to_le_bytes()),
            _ => return None,
        }
    }
    Some(crc.finalize())
}

/// One value of a configuration; floats with as many digits as tell them apart.
fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Integer(i) => i128::from(*i).to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Bool(b) => b.to_string(),
        Value::Null => "none".into(),
        other => format!("{other:?}"),
    }
}

/// Whether two evaluations of the same thing agree, up to the rounding of another processor.
pub(crate) fn agree(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-10 * a.abs().max(b.abs()).max(1.0)
}

const MAGIC: &[u8; 16] = b"bnn-mcmc run\r\n\x1a\n";
const VERSION: u32 = 3;
/// Magic number, version, length of the payload, checksum of the payload.
const HEADER: usize = 16 + 4 + 8 + 4;

#[derive(Serialize, Deserialize)]
struct Head<S> {
    /// How much of the file of draws belongs to this checkpoint, and its checksum.
    bytes: u64,
    crc: u32,
    state: S,
}

/// What a checkpoint holds besides draws.
pub(crate) struct Stored<S> {
    pub state: S,
    /// The states of kernels and records, one after the other in CBOR.
    pub kernels: Vec<u8>,
}

/// The two files of a run.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    draws_path: PathBuf,
    temporary_path: PathBuf,
    run: Fingerprint,
    draws: File,
    /// Why nothing can be written, if so.
    refusal: Option<io::Error>,
    /// Numbers in a row.
    width: usize,
    /// How much of `draws` the head on disk vouches for.
    bytes: u64,
    crc: crc32fast::Hasher,
}

impl Store {
    /// Opens the checkpoint at `path` and checks that it is whole and that it is of this `run`.
    /// Hands its draws over in rows of `width` numbers and returns the rest; `None` if there is no file. Changes nothing, except that it creates an empty file of
    /// draws in that case.
    pub fn open<S: DeserializeOwned>(
        path: &Path,
        run: Fingerprint,
        width: usize,
        row: impl FnMut(&[f64]),
    ) -> Result<(Self, Option<Stored<S>>), Error> {
        let path = followed(path);
        let beside = |suffix: &str| {
            let mut name = OsString::from(&path);
            name.push(suffix);
            PathBuf::from(name)
        };
        let (draws_path, temporary_path) = (beside(".draws"), beside(".tmp"));
        let (draws, refusal) = locked(&path, &draws_path)?;
        // Only now: before, another process may have been writing.
        let head = match read_head(&path).map_err(|e| Error::io(&path, e))? {
            Some(bytes) => {
                Some(decode::<S>(&bytes, &run).map_err(|p| Error::checkpoint(&path, p))?)
            }
            None => None,
        };
        let refused = |e| Error::io(&draws_path, e);
        let length = draws.metadata().map_err(refused)?.len();
        let mut crc = crc32fast::Hasher::new();
        let (bytes, state) = match head {
            None if length > 0 => {
                let problem = format!(
                    "it holds {length} bytes, but the file {} that belongs to it is missing; move \
                     it away to begin anew",
                    path.display()
                );
                return Err(Error::checkpoint(draws_path, problem));
            }
            None => (0, None),
            Some((Head { bytes, .. }, _)) if length < bytes => {
                let problem = format!("it is truncated: {length} bytes are left of {bytes}");
                return Err(Error::checkpoint(draws_path, problem));
            }
            Some((head, kernels)) => {
                read_rows(&draws, head.bytes, width, row, &mut crc).map_err(refused)?;
                if crc.clone().finalize() != head.crc {
                    let problem = "it is damaged: its checksum is wrong";
                    return Err(Error::checkpoint(draws_path, problem));
                }
                (head.bytes, Some(Stored { state: head.state, kernels }))
            }
        };
        let store =
            Self { path, draws_path, temporary_path, run, draws, refusal, width, bytes, crc };
        Ok((store, state))
    }

    /// An error if nothing can be written: to the draws, or to the folder.
    pub fn check_writable(&self) -> Result<(), Error> {
        self.check_draws_writable()?;
        let written = File::create(&self.temporary_path);
        let removed = written.and_then(|_| fs::remove_file(&self.temporary_path));
        removed.map_err(|e| Error::io(&self.temporary_path, e))
    }

    fn check_draws_writable(&self) -> Result<(), Error> {
        let Some(e) = &self.refusal else { return Ok(()) };
        let again = e.raw_os_error().map_or_else(|| e.kind().into(), io::Error::from_raw_os_error);
        Err(Error::io(&self.draws_path, again))
    }

    /// Rows of draws that the head on disk vouches for.
    pub fn rows(&self) -> usize {
        (self.bytes / (8 * self.width as u64)) as usize
    }

    /// Appends `rows` to the draws and makes `state` and `kernels` what to resume from. If it fails, the
    /// previous checkpoint stays, or the new one is there and may not outlast a failure of the
    /// machine: [`rows`](Self::rows) says which.
    pub fn write<'a>(
        &mut self,
        state: &impl Serialize,
        kernels: &[u8],
        rows: impl Iterator<Item = &'a [f64]>,
    ) -> Result<(), Error> {
        self.check_draws_writable()?;
        if is_at(&self.draws, &self.draws_path) == Some(false) {
            let problem = "it was moved or deleted while this run was writing it";
            return Err(Error::checkpoint(&self.draws_path, problem));
        }
        let (bytes, crc) = self.append(rows).map_err(|e| Error::io(&self.draws_path, e))?;
        let head = Head { bytes, crc: crc.clone().finalize(), state };
        let head =
            encode(&self.run, &head, kernels).map_err(|p| Error::checkpoint(&self.path, p))?;
        self.replace_head(&head).map_err(|e| {
            let _ = fs::remove_file(&self.temporary_path);
            Error::io(&self.path, e)
        })?;
        // Whatever follows: to cut off what the new head vouches for would destroy it.
        (self.bytes, self.crc) = (bytes, crc);
        sync_folder(&self.path).map_err(|e| Error::io(&self.path, e))
    }

    fn append<'a>(
        &self,
        rows: impl Iterator<Item = &'a [f64]>,
    ) -> io::Result<(u64, crc32fast::Hasher)> {
        const CHUNK: usize = 1 << 20;
        let (mut bytes, mut crc) = (self.bytes, self.crc.clone());
        let mut file = &self.draws;
        // Cuts off what a write that was interrupted has left.
        file.set_len(bytes)?;
        file.seek(SeekFrom::Start(bytes))?;
        let mut chunk = Vec::new();
        let mut write = |chunk: &mut Vec<u8>| {
            file.write_all(chunk)?;
            crc.update(chunk);
            bytes += chunk.len() as u64;
            chunk.clear();
            io::Result::Ok(())
        };
        for row in rows {
            for x in row {
                chunk.extend_from_slice(&x.to_le_bytes());
            }
            if chunk.len() >= CHUNK {
                write(&mut chunk)?;
            }
        }
        write(&mut chunk)?;
        if bytes > self.bytes {
            file.sync_data()?;
        }
        Ok((bytes, crc))
    }

    fn replace_head(&self, head: &[u8]) -> io::Result<()> {
        let mut file = File::create(&self.temporary_path)?;
        file.write_all(head)?;
        file.sync_all()?;
        // A server that answers twice may report a failure of what has happened.
        fs::rename(&self.temporary_path, &self.path)
            .or_else(|e| if is_at(&file, &self.path) == Some(true) { Ok(()) } else { Err(e) })
    }
}

/// The file that `path` stands for, if it is a symbolic link; it need not exist.
fn followed(path: &Path) -> PathBuf {
    /// More links than an operating system follows; it then reports the circle.
    const LINKS: usize = 64;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        let Ok(to) = fs::read_link(&path) else { break };
        path.pop();
        path.push(to);
    }
    path
}

/// The file of draws at `path`, locked, and why it cannot be written, if so. It is created if there
/// is no `head` either.
fn locked(head: &Path, path: &Path) -> Result<(File, Option<io::Error>), Error> {
    // A run that has just ended may leave its lock for a moment: to a process that another thread was
    // starting meanwhile, until that lets go of what it has inherited.
    for _ in 0..=50 {
        let (file, refusal) = open_draws(head, path).map_err(|e| Error::io(path, e))?;
        // What is only read may be read by many.
        let lock = if refusal.is_none() { file.try_lock() } else { file.try_lock_shared() };
        // A file system without locks is no reason not to run.
        let is_ours = !matches!(lock, Err(TryLockError::WouldBlock));
        // The process that had the lock may have been told to begin anew: its file is another one.
        if is_ours && is_at(&file, path) != Some(false) {
            return Ok((file, refusal));
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Err(Error::checkpoint(head, "another process is using this checkpoint"))
}

fn open_draws(head: &Path, path: &Path) -> io::Result<(File, Option<io::Error>)> {
    let writable =
        |create| File::options().read(true).write(true).create(create).truncate(false).open(path);
    let found = match writable(false) {
        // The head is written after the draws, so that a run that begins meanwhile has both.
        Err(e) if e.kind() == ErrorKind::NotFound => writable(!head.try_exists()?),
        found => found,
    };
    match found {
        Err(e) if is_read_only(&e) && path.exists() => Ok((File::open(path)?, Some(e))),
        found => Ok((found?, None)),
    }
}

/// Whether a file cannot be opened because it must not be written.
fn is_read_only(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Whether the open `file` is the one that is now at `path`; `None` where that cannot be known.
fn is_at(file: &File, path: &Path) -> Option<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        Some(fs::metadata(path).map(id).ok() == Some(id(file.metadata().ok()?)))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        None
    }
}

/// Flushes the folder of `path` to the disk: a new name is there only with its folder. Where folders
/// cannot be flushed, that is left to the file system; which errors say so is known from PostgreSQL's
/// `fsync_fname_ext`.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        const EBADF: i32 = 9;
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
        let folder = match File::open(folder.unwrap_or(Path::new("."))) {
            // It may be written, but not read.
            Err(e) if matches!(e.kind(), ErrorKind::PermissionDenied) => return Ok(()),
            folder => folder?,
        };
        match folder.sync_all() {
            Err(e)
                if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported)
                    || e.raw_os_error() == Some(EBADF) => {}
            flushed => flushed?,
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// The head at `path`, if there is a file; of a file that is something else the beginning.
fn read_head(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut file = match File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    (&mut file).take(HEADER as u64).read_to_end(&mut bytes)?;
    if bytes.starts_with(MAGIC) {
        file.read_to_end(&mut bytes)?;
    }
    Ok(Some(bytes))
}

fn read_rows(
    file: &File,
    bytes: u64,
    width: usize,
    mut row: impl FnMut(&[f64]),
    crc: &mut crc32fast::Hasher,
) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 20, file.take(bytes));
    let (mut raw, mut numbers) = (vec![0; 8 * width], vec![0.0; width]);
    for _ in 0..bytes / raw.len() as u64 {
        reader.read_exact(&mut raw)?;
        crc.update(&raw);
        for (number, raw) in numbers.iter_mut().zip(raw.as_chunks().0) {
            *number = f64::from_le_bytes(*raw);
        }
        row(&numbers);
    }
    Ok(())
}

fn encode<S: Serialize>(
    run: &Fingerprint,
    head: &Head<S>,
    kernels: &[u8],
) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; HEADER];
    let to_text = |e: ciborium::ser::Error<_>| format!("the state of a chain has no form: {e}");
    ciborium::into_writer(run, &mut bytes).map_err(to_text)?;
    ciborium::into_writer(head, &mut bytes).map_err(to_text)?;
    bytes.extend_from_slice(kernels);
    let (header, payload) = bytes.split_at_mut(HEADER);
    header[..16].copy_from_slice(MAGIC);
    header[16..20].copy_from_slice(&VERSION.to_le_bytes());
    header[20..28].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    header[28..].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    Ok(bytes)
}

/// The head in `bytes` and the states of kernels behind it, or what is wrong with them.
fn decode<S: DeserializeOwned>(
    bytes: &[u8],
    run: &Fingerprint,
) -> Result<(Head<S>, Vec<u8>), String> {
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    if bytes[..bytes.len().min(16)] != MAGIC[..bytes.len().min(16)] {
        return Err("it is not a checkpoint of bnn-mcmc".into());
    }
    let Some((header, mut payload)) = bytes.split_at_checked(HEADER) else {
        return Err(format!("it is truncated: {} bytes are left", bytes.len()));
    };
    let number = |from: usize, n: usize| {
        header[from..from + n]
            .iter()
            .rev()
            .fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let version = number(16, 4);
    if version != u64::from(VERSION) {
        return Err(format!("its format has version {version}, this crate reads {VERSION}"));
    }
    let length = number(20, 8);
    if payload.len() as u64 != length {
        let found = payload.len();
        return Err(format!("it is truncated or damaged: {found} bytes of content, not {length}"));
    }
    if u64::from(crc32fast::hash(payload)) != number(28, 4) {
        return Err("it is damaged: its checksum is wrong".into());
    }
    let unreadable = |e: ciborium::de::Error<_>| format!("its content does not fit this run: {e}");
    let found: Fingerprint = ciborium::from_reader(&mut payload).map_err(unreadable)?;
    if let Some(differences) = found.differences(run) {
        return Err(format!("it belongs to another run: {differences}"));
    }
    let head = ciborium::from_reader(&mut payload).map_err(unreadable)?;
    Ok((head, payload.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(config: &impl Serialize) -> Fingerprint {
        let mut run = Fingerprint::default();
        run.add_config("algorithm", config).unwrap();
        run
    }

    #[test]
    fn differences_are_named_with_both_values() {
        #[derive(Serialize)]
        struct Config(f64, Option<Vec<u8>>);
        let differences =
            |a, b| run_of(&a).differences(&run_of(&b)).unwrap_or_else(|| "none".into());
        let same = |x: f64| assert_eq!(differences(Config(x, None), Config(x, None)), "none");
        [0.1, f64::NAN, f64::INFINITY, -0.0].into_iter().for_each(same);
        assert_eq!(
            differences(Config(0.1, None), Config(f64::NAN, Some(vec![3]))),
            "`algorithm[0]` is 0.1 there and NaN here; `algorithm[1]` is none there and absent \
             here; `algorithm[1][0]` is absent there and 3 here"
        );
        assert!(differences(Config(0.0, None), Config(-0.0, None)).contains("0.0 there and -0.0"));
        let many = differences(Config(0.0, Some(vec![1; 9])), Config(0.0, Some(vec![2; 9])));
        assert!(many.ends_with("and 5 more"), "{many}");
    }

    #[test]
    fn long_arrays_of_numbers_are_one_entry() {
        #[derive(Serialize)]
        struct Config<N> {
            mass: Vec<N>,
            size: usize,
        }
        fn of<N: Serialize>(mass: Vec<N>) -> Fingerprint {
            run_of(&Config { mass, size: 3 })
        }
        let floats = |n: usize| (0..n).map(|i| i as f64 - 7.5).collect::<Vec<_>>();
        assert_eq!(of(floats(NAMED_ALONE)).0.len(), NAMED_ALONE + 1);
        let long = of(floats(65));
        let keys: Vec<_> = long.0.keys().collect();
        assert_eq!(keys, ["algorithm.mass", "algorithm.size"]);
        // The checksum by zlib, in Python, of the numbers packed as "<65d".
        assert_eq!(long.0["algorithm.mass"], "65 numbers with checksum d8b20117");
        let integers = of((0..65).collect::<Vec<i32>>());
        assert_eq!(integers.0["algorithm.mass"], "65 numbers with checksum 49ecb2c8");
        assert_eq!(of(vec!["word"; 65]).0.len(), 66);

        // Every number counts, its sign if it is zero, its place, and how many there are.
        let differs = |other: Vec<f64>| {
            let differences = long.differences(&of(other)).unwrap_or_default();
            let expected = "`algorithm.mass` is 65 numbers with checksum d8b20117 there and ";
            assert!(differences.starts_with(expected), "{differences}");
            assert!(!differences.contains(';'), "{differences}");
        };
        for i in 0..65 {
            let mut other = floats(65);
            other[i] = other[i].next_up();
            differs(other);
        }
        let mut other = floats(65);
        other.swap(3, 64);
        differs(other);
        differs(floats(66));
        assert_eq!(long.differences(&of(floats(65))), None);
        let [zero, minus] = [0.0, -0.0].map(|x| of(vec![x; 65]));
        assert!(zero.differences(&minus).is_some());
    }

    #[test]
    fn floats_keep_their_bits() {
        let bits = [0, 1 << 63, f64::NAN.to_bits() | 12345, 0x7ff0_0000_0000_0001, 1, u64::MAX];
        let state: Vec<f64> = bits.iter().map(|b| f64::from_bits(*b)).collect();
        let bytes = encode(&run_of(&1), &Head { bytes: 0, crc: 0, state }, b"kernels").unwrap();
        let (back, kernels): (Head<Vec<f64>>, _) = decode(&bytes, &run_of(&1)).unwrap();
        assert_eq!(kernels, b"kernels");
        assert!(back.state.iter().map(|x| x.to_bits()).eq(bits));
    }

    #[test]
    fn heads_that_are_not_whole_are_refused() {
        let bytes = encode(&run_of(&1), &Head { bytes: 0, crc: 0, state: "state" }, &[7]).unwrap();
        let problem = |bytes: &[u8]| match decode::<String>(bytes, &run_of(&1)) {
            Ok(_) => String::new(),
            Err(problem) => problem,
        };
        assert_eq!(problem(&bytes), "");
        assert_eq!(problem(&[]), "it is empty");
        for n in 1..bytes.len() {
            assert!(problem(&bytes[..n]).contains("truncated"), "{n}");
        }
        for i in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[i] ^= 1 << bit;
                let problem = problem(&bytes);
                let expected = match i {
                    0..16 => "not a checkpoint",
                    16..20 => "version",
                    _ => "damaged",
                };
                assert!(problem.contains(expected), "byte {i}: {problem}");
            }
        }
        assert!(decode::<u8>(&bytes, &run_of(&1)).is_err_and(|p| p.contains("does not fit")));
    }
}

//! The two files of a run: locked, read, appended to, and replaced without a moment in which neither
//! the old checkpoint nor the new one is whole.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Fingerprint;
use super::head::{HEADER, Head, MAGIC, decode, encode};
use crate::Error;

/// The contents of a checkpoint besides draws.
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
    /// The reason why nothing can be written, if so.
    refusal: Option<io::Error>,
    /// Numbers in a row.
    width: usize,
    /// The length of the part of `draws` that the head on disk covers.
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

    /// The number of rows of draws that the head on disk covers.
    pub fn rows(&self) -> usize {
        (self.bytes / (8 * self.width as u64)) as usize
    }

    /// Whether the folder of the files is not there any more: it was removed or renamed.
    pub fn has_no_folder(&self) -> bool {
        let folder = self.draws_path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.is_some_and(|folder| matches!(folder.try_exists(), Ok(false)))
    }

    /// Appends `rows` to the draws and makes `state` and `kernels` the state to resume from. If it
    /// fails, the previous checkpoint stays, or the new one is there and may not outlast a failure
    /// of the machine: [`rows`](Self::rows) says which.
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
        // These are set even if the next call fails: to cut the file back to its old length would
        // destroy draws that the new head covers.
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
        // Cuts off the remains of an interrupted write.
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

/// The target of `path`, if it is a symbolic link; it need not exist.
fn followed(path: &Path) -> PathBuf {
    /// The largest number of links, more than an operating system follows; it then reports the
    /// circle.
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
    // A run that has just ended may leave its lock for a moment: to a process that another thread
    // was starting meanwhile, until that process closes the file that it has inherited.
    for _ in 0..=50 {
        let (file, refusal) = open_draws(head, path).map_err(|e| Error::io(path, e))?;
        // A file that is only read gets a shared lock, so that several processes may read it.
        let lock = if refusal.is_none() { file.try_lock() } else { file.try_lock_shared() };
        // A run is allowed on a file system without locks.
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
pub(crate) fn is_at(file: &File, path: &Path) -> Option<bool> {
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

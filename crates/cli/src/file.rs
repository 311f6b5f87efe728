//! Results in files, which are written as a whole or not at all.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use bnn_mcmc::Error;
use tempfile::NamedTempFile;

use crate::{Failure, signals};

/// Writes a file as a whole, or leaves the one that was there.
pub fn write(path: &Path, bytes: &str) -> Result<(), Failure> {
    let mut file = Writing::begin(Some(path))?;
    file.write(bytes)?;
    file.end()
}

/// A result that is written piece by piece: to standard output, or to a file that takes the place of the
/// one that was there when all is written.
pub struct Writing {
    /// `None` for standard output.
    path: Option<PathBuf>,
    to: To,
}

enum To {
    Stdout,
    /// A target that is no regular file, such as `/dev/stdout`.
    Device(fs::File),
    /// A file with a name of its own until it is written.
    New(Option<NamedTempFile>),
}

impl Writing {
    /// Begins a file, or writes to standard output.
    pub fn begin(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self { path: None, to: To::Stdout }) };
        // The file that a link leads to is written, and not the link.
        let path = &path.canonicalize().unwrap_or_else(|_| path.into());
        let to = if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            fs::File::options().write(true).open(path).map(To::Device)
        } else {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            let path_of = |new: &io::Result<NamedTempFile>| {
                new.as_ref().ok().map(|new| new.path().to_path_buf())
            };
            signals::begin(|| temporary(folder), path_of).map(|new| To::New(Some(new)))
        };
        let to = to.map_err(|e| Error::io(path, e))?;
        Ok(Self { path: Some(path.into()), to })
    }

    /// Writes a piece, as it is. Returns whether anybody reads on.
    pub fn write(&mut self, text: &str) -> Result<bool, Failure> {
        let is_pipe = matches!(self.to, To::Stdout | To::Device(_));
        match (self.write_all(text.as_bytes()), &self.path) {
            (Ok(()), _) => Ok(true),
            (Err(e), _) if is_pipe && e.kind() == ErrorKind::BrokenPipe => Ok(false),
            (Err(e), None) => Err(Failure::error(format!("standard output: {e}"))),
            (Err(e), Some(path)) => Err(Error::io(path, e).into()),
        }
    }

    /// Puts the file in its place.
    pub fn end(mut self) -> Result<(), Failure> {
        if let (Some(path), To::New(file)) = (&self.path, &mut self.to)
            && let Some(file) = file.take()
        {
            let new = file.path().to_path_buf();
            // A file that others may not read stays so.
            if let Ok(there) = fs::metadata(path) {
                let _ = file.as_file().set_permissions(there.permissions());
            }
            let placed = file.as_file().sync_all().and_then(|()| {
                signals::forget(&new, || file.persist(path).map(drop).map_err(|e| e.error))
            });
            placed.map_err(|e| Error::io(path, e))?;
        }
        Ok(())
    }
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.to {
            To::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            To::Device(file) => file.write_all(bytes),
            To::New(file) => file.iter_mut().try_for_each(|file| file.write_all(bytes)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Writing {
    /// Leaves nothing of a file that was not written to its end.
    fn drop(&mut self) {
        if let To::New(Some(file)) = &self.to {
            let new = file.path().to_path_buf();
            signals::forget(&new, || self.to = To::Stdout);
        }
    }
}

/// A hidden file with a name that no other has, with the rights of any new file.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".bnn-mcmc.").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write(&path, "1").unwrap();
        write(&path, "22").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"22");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        let file = folder.path().join("no").join("b");
        let error = write(&file, "").unwrap_err();
        assert!(error.message.starts_with(&file.display().to_string()), "{error:?}");
        write(Path::new("/dev/null"), "x").unwrap();
        // A file that is not written to its end leaves the previous file.
        let mut begun = Writing::begin(Some(&path)).unwrap();
        begun.write("333").unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        drop(begun);
        assert_eq!(fs::read(&path).unwrap(), b"22");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

//! Gzip, recognised by its first two bytes.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::Error;
use crate::message::Advice;

/// The first bytes of a gzip file (RFC 1952).
const MAGIC: [u8; 2] = [0x1F, 0x8B];

/// The largest number of bytes, 1 GiB, that are read by default: a file of zeros shrinks to a
/// thousandth by gzip.
pub(super) fn default_limit() -> u64 {
    1 << 30
}

/// The bytes of a file, unpacked on the way if they are gzip.
pub(super) struct Source<'r> {
    pub(super) name: String,
    packed: bool,
    bytes: Box<dyn Read + 'r>,
}

impl<'r> Source<'r> {
    /// Looks at the first two bytes of `source`; `name` is its name in errors.
    pub(super) fn new(name: &str, mut source: impl Read + 'r) -> Result<Self, Error> {
        let mut start = Vec::new();
        let read = source.by_ref().take(2).read_to_end(&mut start);
        read.map_err(|e| Error::io(name, e))?;
        let packed = start == MAGIC;
        let whole = Cursor::new(start).chain(source);
        let bytes: Box<dyn Read + 'r> =
            if packed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
        Ok(Self { name: name.into(), packed, bytes })
    }

    pub(super) fn open(path: &Path) -> Result<Source<'static>, Error> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        Source::new(&path.display().to_string(), file)
    }

    /// The next bytes, `most` or as many as there are. Memory grows with the bytes read, not with
    /// `most`, and the lack of memory is an error.
    pub(super) fn read_up_to(&mut self, most: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        match self.bytes.by_ref().take(most).read_to_end(&mut bytes) {
            Ok(_) => {
                bytes.shrink_to_fit();
                Ok(bytes)
            }
            // An error in the packed bytes has no error code of the operating system.
            Err(e) if self.packed && e.raw_os_error().is_none() => {
                let problem = format!("the gzip data cannot be unpacked: {e}");
                Err(self.problem(problem).advise(["pack the file anew".into()]))
            }
            Err(e) => Err(Error::io(&self.name, e)),
        }
    }

    /// Puts bytes that were read before those that are read next.
    pub(super) fn put_back(&mut self, bytes: Vec<u8>) {
        let rest = std::mem::replace(&mut self.bytes, Box::new(std::io::empty()));
        self.bytes = Box::new(Cursor::new(bytes).chain(rest));
    }

    /// All bytes, unless they are more than `limit`.
    pub(super) fn read_text(&mut self, limit: u64) -> Result<Vec<u8>, Error> {
        let text = self.read_up_to(limit.saturating_add(1))?;
        self.check_limit("text", &text, limit)?;
        Ok(text)
    }

    /// An error if `what`, a text, is longer than `limit`.
    pub(super) fn check_limit(&self, what: &str, text: &[u8], limit: u64) -> Result<(), Error> {
        if text.len() as u64 <= limit {
            return Ok(());
        }
        let problem = format!("the {what} is longer than {limit} bytes, which is the limit");
        Err(self.problem(problem).advise([Advice::RaiseLimit { if_trusted: true }]))
    }

    pub(super) fn problem(&self, problem: String) -> Error {
        Error::table(self.name.clone(), problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn text_is_unpacked_up_to_a_limit() {
        let text = [b'a'; 100_000];
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&text).unwrap();
        let packed = packed.finish().unwrap();
        assert!(packed.len() < 200);
        for bytes in [&packed[..], &text] {
            let read = |limit| Source::new("file", bytes).unwrap().read_text(limit);
            assert_eq!(read(100_000).unwrap(), text);
            assert_eq!(
                read(99_999).unwrap_err().to_string(),
                "file: the text is longer than 99999 bytes, which is the limit: raise the limit by \
                 `CsvReader::limit` if the file is to be trusted"
            );
        }
    }
}

//! Gzip, recognised by its first two bytes.

use std::borrow::Cow;
use std::io::{Cursor, Read};

use flate2::read::MultiGzDecoder;

use crate::Error;

/// What a gzip file starts with (RFC 1952).
const MAGIC: [u8; 2] = [0x1F, 0x8B];

/// More text than this is not unpacked: a file of zeros shrinks to a thousandth by gzip.
const MOST_TEXT: u64 = 1 << 32;

/// The bytes of a file, unpacked on the way if they are gzip.
pub(super) struct Source<'r> {
    pub(super) name: String,
    packed: bool,
    bytes: Box<dyn Read + 'r>,
}

impl<'r> Source<'r> {
    /// Looks at the first two bytes of `source`; `name` is what errors call it.
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

    /// The next bytes, `most` or as many as there are. Memory grows with what was read, not with
    /// `most`, and the lack of it is an error.
    pub(super) fn read_up_to(&mut self, most: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        match self.bytes.by_ref().take(most).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            // What is wrong with the packed bytes is no matter of the operating system.
            Err(e) if self.packed && e.raw_os_error().is_none() => {
                Err(self.problem(format!("the gzip data cannot be unpacked: {e}")))
            }
            Err(e) => Err(Error::io(&self.name, e)),
        }
    }

    pub(super) fn problem(&self, problem: String) -> Error {
        Error::Table { table: self.name.clone(), problem }
    }
}

/// `bytes` themselves, or what they were before gzip packed them.
pub(super) fn unpacked<'b>(name: &str, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>, Error> {
    unpacked_up_to(MOST_TEXT, name, bytes)
}

fn unpacked_up_to<'b>(most: u64, name: &str, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>, Error> {
    if !bytes.starts_with(&MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut source = Source::new(name, bytes)?;
    let text = source.read_up_to(most + 1)?;
    if text.len() as u64 > most {
        return Err(source.problem(format!("the gzip data hold more than {most} bytes of text")));
    }
    Ok(Cow::Owned(text))
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
        let unpacked = unpacked_up_to(100_000, "file", &packed).unwrap();
        assert!(matches!(unpacked, Cow::Owned(_)) && unpacked[..] == text);
        let error = unpacked_up_to(99_999, "file", &packed).unwrap_err().to_string();
        assert_eq!(error, "file: the gzip data hold more than 99999 bytes of text");
        // What is not packed has no limit, and is not copied.
        assert!(matches!(unpacked_up_to(10, "file", &text).unwrap(), Cow::Borrowed(_)));
    }
}

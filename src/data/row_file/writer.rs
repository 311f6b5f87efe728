//! A file of rows that is being written.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::source::{Foot, HEAD, MAGIC, Source, block_rows};
use super::{RowFile, Stored};
use crate::Error;
use crate::data::Dataset;
use crate::data::dataset::Kind;
use crate::draws::checkpoint::is_at;
use crate::error::Row;
use crate::message::number;

/// Writes a [`RowFile`], block by block, in one pass. Made by [`RowFile::create`].
///
/// The rows are written to a file beside it, whose name ends in `.part`, which takes its name when it is
/// [finished](Self::finish), and is removed if it is not. Nothing but a file of rows is written over, and no file that another
/// process writes (on Unix). Responses and weights, 8 bytes for each row and column, wait in memory until then.
#[derive(Debug)]
pub struct RowWriter {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    stored: Stored,
    /// Names and kind of the columns, from the first block on.
    columns: Option<Columns>,
    rows: usize,
    /// Responses and weights, row by row.
    observed: Vec<f64>,
    /// The bytes of the features of a block that is not complete.
    block: Vec<u8>,
    blocks: Vec<u32>,
    /// Whether bytes could not be written, which the file lacks.
    has_failed: bool,
    /// Whether the file has its name.
    is_placed: bool,
}

#[derive(Debug)]
struct Columns {
    features: Vec<String>,
    responses: Vec<String>,
    kind: Kind,
    is_weighted: bool,
}

impl Columns {
    /// Those of some rows.
    fn of(rows: &Dataset) -> Self {
        Self {
            features: rows.feature_names().to_vec(),
            responses: rows.response_names().to_vec(),
            kind: Kind::of(rows.response()),
            is_weighted: rows.weights().is_some(),
        }
    }

    /// An error if the columns of later rows are others.
    fn check(&self, rows: &Dataset) -> Result<(), Error> {
        let differs = |what: &str, found: String, expected: String| {
            let expected = format!("{expected}, as in the rows before");
            Err(Error::argument(format!("{what} of the rows"), found, expected))
        };
        for (what, found, expected) in [
            ("features", rows.feature_names(), &self.features[..]),
            ("responses", rows.response_names(), &self.responses[..]),
        ] {
            if found != expected {
                return differs(what, found.join(", "), expected.join(", "));
            }
        }
        let kind = Kind::of(rows.response());
        if kind != self.kind {
            return differs("kind of response", kind.to_string(), self.kind.to_string());
        }
        if rows.weights().is_some() != self.is_weighted {
            let given = |is| String::from(if is { "given" } else { "none" });
            return differs("weights", given(!self.is_weighted), given(self.is_weighted));
        }
        Ok(())
    }
}

impl RowWriter {
    pub(super) fn new(path: &Path, stored: Stored) -> Result<Self, Error> {
        if let Stored::U8(scales) = &stored {
            stored.check(scales.len())?;
        }
        // Where a link leads to.
        let path = &path.canonicalize().unwrap_or_else(|_| path.into());
        let Some(name) = path.file_name() else {
            return Err(Error::argument("path", path.display(), "the name of a file"));
        };
        check_replaced(path)?;
        let mut part = name.to_os_string();
        part.push(".part");
        let part = path.with_file_name(part);
        let file = begin(&part)?;
        let mut writer = Self {
            path: path.into(),
            part,
            file: BufWriter::with_capacity(1 << 20, file),
            stored,
            columns: None,
            rows: 0,
            observed: Vec::new(),
            block: Vec::new(),
            blocks: Vec::new(),
            has_failed: false,
            is_placed: false,
        };
        let mut head = [0; HEAD as usize];
        head[..MAGIC.len()].copy_from_slice(&MAGIC);
        writer.write(&head)?;
        Ok(writer)
    }

    /// The number of rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends rows.
    ///
    /// # Errors
    /// Names of features, responses or classes, or a kind of response, other than in the rows before; weights of some rows
    /// and not of others; a number that the form of the file does not hold, by its row and column; a full disk, after which the file takes
    /// no more rows.
    pub fn push(&mut self, rows: &Dataset) -> Result<(), Error> {
        self.check_whole()?;
        match &self.columns {
            Some(known) => known.check(rows)?,
            None => {
                self.stored.check(rows.n_features())?;
                self.columns = Some(Columns::of(rows));
            }
        }
        // All rows are looked at before one of them is written.
        let bytes = self.bytes_of(rows)?;
        let y = rows.response().in_columns();
        for (i, y) in y.rows().into_iter().enumerate() {
            self.observed.extend(y);
            self.observed.extend(rows.weights().map(|w| w[i]));
        }
        self.rows += rows.rows();
        let row_bytes = rows.n_features() * self.stored.width();
        let of_block = row_bytes * block_rows(row_bytes);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let now = rest.len().min(of_block - self.block.len());
            self.block.extend_from_slice(&rest[..now]);
            rest = &rest[now..];
            if self.block.len() == of_block {
                self.write_block()?;
            }
        }
        Ok(())
    }

    /// The bytes of the features.
    fn bytes_of(&self, rows: &Dataset) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(rows.rows() * rows.n_features() * self.stored.width());
        for (i, x) in rows.x().rows().into_iter().enumerate() {
            let written = match x.to_slice() {
                Some(x) => self.stored.write(x, &mut bytes),
                None => self.stored.write(&x.to_vec(), &mut bytes),
            };
            written.map_err(|(j, allowed)| Error::Cell {
                table: self.path.display().to_string(),
                row: Row::Number(self.rows + i + 1),
                column: rows.feature_names()[j].clone(),
                problem: format!("{} cannot be stored; it must be {allowed}", number(x[j])),
                advice: Vec::new(),
            })?;
        }
        Ok(bytes)
    }

    /// Writes the rest, and opens the file.
    ///
    /// # Errors
    /// No rows; a full disk; the errors of [`RowFile::open`].
    pub fn finish(mut self) -> Result<RowFile, Error> {
        self.check_whole()?;
        if !self.block.is_empty() {
            self.write_block()?;
        }
        let Some(Columns { features, responses, kind, is_weighted }) = self.columns.take() else {
            return Err(Error::shape("rows of the file", 0, "at least 1"));
        };
        let observed = std::mem::take(&mut self.observed);
        let observed: Vec<u8> = observed.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.write(&observed)?;
        let checksum = crc32fast::hash(&observed);
        drop(observed);
        let foot = Foot {
            rows: self.rows,
            features,
            stored: self.stored.clone(),
            response: kind,
            responses,
            weights: is_weighted,
            blocks: std::mem::take(&mut self.blocks),
            observed: checksum,
        };
        let json =
            serde_json::to_vec(&foot).map_err(|error| Error::io(&self.part, error.into()))?;
        self.write(&json)?;
        self.write(&(json.len() as u64).to_le_bytes())?;
        self.write(&crc32fast::hash(&json).to_le_bytes())?;
        self.write(&MAGIC)?;
        let ended = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        ended.map_err(|error| Error::io(&self.part, error))?;
        // A file of the same name stays until this one is seen to be whole.
        let (mut source, response, weights) = Source::open(&self.part)?;
        fs::rename(&self.part, &self.path).map_err(|error| Error::io(&self.path, error))?;
        self.is_placed = true;
        source.path.clone_from(&self.path);
        Ok(RowFile::of(source, response, weights))
    }

    fn check_whole(&self) -> Result<(), Error> {
        match self.has_failed {
            false => Ok(()),
            true => {
                let error = io::Error::other("rows could not be written before");
                Err(Error::io(&self.part, error))
            }
        }
    }

    fn write_block(&mut self) -> Result<(), Error> {
        let block = std::mem::take(&mut self.block);
        self.blocks.push(crc32fast::hash(&block));
        self.write(&block)?;
        self.block = block;
        self.block.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written: io::Result<()> = self.file.write_all(bytes);
        self.has_failed |= written.is_err();
        written.map_err(|error| Error::io(&self.part, error))
    }
}

impl Drop for RowWriter {
    fn drop(&mut self) {
        // By now another process may write a file of this name.
        if !self.is_placed {
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// An error if there is something else than a file of rows, or an empty file.
fn check_replaced(path: &Path) -> Result<(), Error> {
    let Ok(there) = fs::metadata(path) else { return Ok(()) };
    let mut head = Vec::new();
    if there.is_file() {
        let read = File::open(path).and_then(|file| file.take(8).read_to_end(&mut head));
        read.map_err(|error| Error::io(path, error))?;
    }
    //~ replaced-rows
    match there.is_file() && (head.is_empty() || head == MAGIC) {
        true => Ok(()),
        false => {
            let allowed = "a new name, or that of a file of rows, which alone is written over";
            Err(Error::argument("path", path.display(), allowed))
        }
    }
}

/// Begins a file, on Unix under a lock that this process alone has.
fn begin(part: &Path) -> Result<File, Error> {
    let failed = |error| Error::io(part, error);
    loop {
        check_replaced(part)?;
        let file = File::options().write(true).create(true).truncate(false).open(part);
        let file = file.map_err(failed)?;
        // There are file systems without locks. On Windows a lock keeps this process, too, from reading the file.
        //~ one-writer
        if cfg!(not(windows))
            && let Err(fs::TryLockError::WouldBlock) = file.try_lock()
        {
            let problem = "another process is writing this file";
            return Err(failed(io::Error::new(io::ErrorKind::WouldBlock, problem)));
        }
        // The process that had the lock may have finished its file or removed it.
        if is_at(&file, part) != Some(false) {
            file.set_len(0).map_err(failed)?;
            return Ok(file);
        }
    }
}

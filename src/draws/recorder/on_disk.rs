//! Every k-th draw in a file of each chain, in single precision.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ndarray::Array3;
use serde::{Deserialize, Serialize};

use super::{ChainPlan, OneDraw, Recorder, check_every, is_kth};
use crate::Error;
use crate::draws::checkpoint::sync_folder;
use crate::draws::keep::Kept;
use crate::draws::{Draws, Keep};
use crate::layout::{Block, Layout};
use crate::memory;
use crate::targets::Target;

/// Records every k-th draw, beginning with the k-th, as f32 in a file of its own for each chain:
/// `<path>.chain0`, `<path>.chain1`, ... Memory: 4 bytes per kept parameter and chain; disk: 4 more
/// per draw than that.
///
/// **What survives.** Every row is handed to the operating system at once, as a whole: a process
/// that is killed loses no row but the one it was writing, which readers ignore. Only a machine
/// that fails loses more, at most what was written since the last checkpoint, with which the files
/// are flushed to the disk; without checkpoints that is up to the operating system (on Linux some
/// 30 seconds).
///
/// **Resuming.** With a [checkpoint](crate::draws::checkpoint) the run goes on exactly, if the
/// files are of this run by [`ChainPlan::run`], and if they begin with the rows that the checkpoint
/// knows, which are read once and compared by their CRC-32. Anything else is an error, and the
/// files stay as they are. What follows these rows is cut off with the first row that is added; if
/// none is added, it stays. Without a checkpoint a file that exists is an error: move it away. A
/// file is begun with the first draw that it holds.
///
/// A checkpoint that was written before the first row knows no row to compare. If
/// [`ChainPlan::run`] agrees, rows that a killed process wrote after it are written anew; other data
/// or another step size are not noticed then.
///
/// **Format.** 16 bytes of magic number; version, length and CRC-32 of the header (u32); the header
/// in CBOR (names and shapes of the blocks, whether their indices count from 1, k, chain, number of
/// chains, `ChainPlan::run`); rows of little-endian f32, one draw each, followed by their CRC-32. An f32
/// has seven digits, and is infinite from 3.4e38 on.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("run");
/// let target = GaussianTarget::standard(3)?;
/// let on_disk = OnDisk { path: path.clone(), every: 10, keep: Keep::All };
/// Sampler::new(&target, Mala::default()).keep(Keep::Statistics).run_with(&on_disk)?;
///
/// let draws = OnDisk::read(&path)?; // all at once,
/// assert_eq!(draws.values().dim(), (4, 100, 3));
/// for row in ChainFile::open(on_disk.file(2))? {
///     let q: Vec<f32> = row?; // or one at a time
/// #   assert_eq!(q.len(), 3);
/// }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnDisk {
    /// The beginning of the files' names.
    pub path: PathBuf,
    /// The number k of draws of which one is recorded, at least 1.
    pub every: usize,
    /// Which coordinates of q are recorded.
    pub keep: Keep,
}

impl OnDisk {
    /// The file of a chain.
    pub fn file(&self, chain: usize) -> PathBuf {
        file_of(&self.path, chain)
    }

    /// All draws of all chains at `path`, cut to those that all have, without statistics. Memory: 8
    /// bytes per parameter, draw and chain.
    ///
    /// # Errors
    /// If a file is missing, damaged, or of another run than that of chain 0, by
    /// [`ChainFile::run`].
    pub fn read(path: impl AsRef<Path>) -> Result<Draws, Error> {
        let path = path.as_ref();
        let first = ChainFile::open(file_of(path, 0))?;
        let (chains, layout) = (first.header.chains, first.layout.clone());
        let expected = first.header.clone();
        let mut files = Vec::new();
        for chain in 0..chains {
            let file = ChainFile::open(file_of(path, chain))?;
            let expected = Header { chain, ..expected.clone() };
            if let Some(difference) = file.header.difference(&expected) {
                let problem = "it is not of the run of chain 0, or not of this chain";
                return Err(table(&file.path, format!("{problem}: {difference}")));
            }
            files.push(file);
        }
        let draws = files.iter().map(ChainFile::n_rows).min().unwrap_or(0);
        let size = [(chains, "chains"), (draws, "draws"), (layout.dim(), "parameters")];
        memory::check::<f64>("draws on disk", &size, "walk through each `ChainFile` instead")?;
        let mut values = Vec::with_capacity(chains * draws * layout.dim());
        for file in files {
            for row in file.take(draws) {
                values.extend(row?.into_iter().map(f64::from));
            }
        }
        let values = Array3::from_shape_vec((chains, draws, layout.dim()), values)
            .expect("all chains were cut alike");
        Draws::new(layout, values)
    }
}

fn file_of(path: &Path, chain: usize) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".chain{chain}"));
    PathBuf::from(name)
}

fn table(path: &Path, problem: impl Into<String>) -> Error {
    Error::Table { table: path.display().to_string(), problem: problem.into() }
}

const MAGIC: &[u8; 16] = b"bnn-mcmc rows\r\n\x1a";
const VERSION: u32 = 2;
/// Magic number; version, length and checksum of the header.
const FIXED: usize = 16 + 4 + 4 + 4;

/// What the rows of a file are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    blocks: Vec<(String, Vec<usize>)>,
    /// Whether the indices in the names of each block count from 1: [`Block::first`].
    #[serde(default)]
    from_one: Vec<bool>,
    every: usize,
    chain: usize,
    chains: usize,
    /// [`ChainPlan::run`].
    run: u32,
}

impl Header {
    /// What is not as expected, if anything is not.
    fn difference(&self, expected: &Self) -> Option<String> {
        let fields = |header: &Self| {
            let blocks = header.blocks.iter().map(|(name, shape)| format!("{name}{shape:?}"));
            [
                ("parameters", blocks.collect::<Vec<_>>().join(" ")),
                ("indices from 1", format!("{:?}", header.from_one)),
                ("every", header.every.to_string()),
                ("chain", header.chain.to_string()),
                ("chains", header.chains.to_string()),
                ("run", format!("{:08x}", header.run)),
            ]
        };
        let mut pairs = fields(self).into_iter().zip(fields(expected));
        let ((name, found), (_, expected)) = pairs.find(|(found, expected)| found != expected)?;
        Some(format!("its `{name}` is {found}, expected {expected}"))
    }

    fn encode(&self) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; FIXED];
        ciborium::into_writer(self, &mut bytes).map_err(|e| e.to_string())?;
        let (fixed, header) = bytes.split_at_mut(FIXED);
        let length = u32::try_from(header.len()).map_err(|e| e.to_string())?;
        fixed[..16].copy_from_slice(MAGIC);
        fixed[16..20].copy_from_slice(&VERSION.to_le_bytes());
        fixed[20..24].copy_from_slice(&length.to_le_bytes());
        fixed[24..].copy_from_slice(&crc32fast::hash(header).to_le_bytes());
        Ok(bytes)
    }

    /// The header at the beginning of a file of `length` bytes and where it ends, or what is wrong.
    fn decode(file: &mut impl Read, length: u64) -> Result<(Self, u64), String> {
        let truncated = |_| format!("it is truncated: {length} bytes are left");
        let mut fixed = [0; FIXED];
        file.read_exact(&mut fixed).map_err(truncated)?;
        if fixed[..16] != *MAGIC {
            return Err("it is no file of draws of bnn-mcmc".into());
        }
        let number =
            |at: usize| fixed[at..at + 4].iter().rev().fold(0, |n, b| n << 8 | u32::from(*b));
        if number(16) != VERSION {
            let version = number(16);
            return Err(format!("its format has version {version}, this crate reads {VERSION}"));
        }
        let end = FIXED as u64 + u64::from(number(20));
        if length < end {
            return Err(format!("it is truncated: {length} bytes are left"));
        }
        let mut header = vec![0; number(20) as usize];
        file.read_exact(&mut header).map_err(truncated)?;
        if crc32fast::hash(&header) != number(24) {
            return Err("it is damaged: the checksum of its header is wrong".into());
        }
        let header = ciborium::from_reader(&header[..]);
        let header: Self = header.map_err(|e| format!("its header cannot be read: {e}"))?;
        Ok((header, end))
    }

    /// The names of the numbers of a row; `None` if there are none, or more than fit into memory.
    fn layout(&self) -> Option<Layout> {
        let size = |shape: &[usize]| shape.iter().try_fold(1usize, |n, k| n.checked_mul(*k));
        let sum = |n: usize, (_, shape): &(_, Vec<usize>)| n.checked_add(size(shape)?);
        let dim = self.blocks.iter().try_fold(0, sum)?;
        if dim == 0 || dim > isize::MAX as usize / 16 {
            return None;
        }
        let mut layout = Layout::new();
        for (i, (name, shape)) in self.blocks.iter().enumerate() {
            let first = usize::from(self.from_one.get(i) == Some(&true));
            let block =
                Block { name: name.clone(), shape: shape.clone(), range: 0..size(shape)?, first };
            layout = layout.with_block(&block);
        }
        Some(layout)
    }
}

/// Bytes of a row of `width` numbers with its checksum.
fn row_bytes(width: usize) -> usize {
    4 * width + 4
}

/// The numbers of a row with its checksum, if that is right.
fn numbers_of(row: &[u8]) -> Option<&[u8]> {
    let (numbers, crc) = row.split_last_chunk()?;
    (*crc == crc32fast::hash(numbers).to_le_bytes()).then_some(numbers)
}

/// What a checkpoint knows of the file of one chain. From [`OnDisk`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FileState {
    /// [`ChainPlan::run`].
    run: u32,
    rows: u64,
    /// See [`FileRecord`].
    crc: u32,
}

/// The file of one chain while the run writes it, and afterwards a note of where it is. From
/// [`OnDisk`].
#[derive(Debug)]
pub struct FileRecord {
    path: PathBuf,
    kept: Kept,
    run: u32,
    header: Vec<u8>,
    /// Open from the first row on that this process writes.
    file: Option<File>,
    /// Whether there is a file already, which a checkpoint knows.
    is_begun: bool,
    /// Whether what may follow the rows in the file was cut off.
    is_cut: bool,
    rows: u64,
    /// Of the numbers of all rows. Their own checksums are left out: the CRC of data with their CRC
    /// behind them does not depend on the data.
    crc: crc32fast::Hasher,
    row: Vec<u8>,
}

impl FileRecord {
    /// The file; there is none if no draw was recorded.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of draws in it.
    pub fn n_rows(&self) -> u64 {
        self.rows
    }

    /// Checks that the file is the one of `header` and begins with the rows of `from`. Changes
    /// nothing on disk: the file may be one that cannot be written.
    fn resume(&mut self, header: &Header, from: FileState) -> Result<(), Error> {
        let problem = |problem: String| Error::checkpoint(&self.path, problem);
        let refused = |e| Error::io(&self.path, e);
        if from.run != self.run {
            return Err(problem(format!(
                "the checkpoint is of run {:08x}, and this is run {:08x}: seed, chains, warm-up, \
                 thinning, algorithm or parameters differ",
                from.run, self.run
            )));
        }
        let file = match File::open(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound && from.rows == 0 => return Ok(()),
            file => file.map_err(refused)?,
        };
        let length = file.metadata().map_err(refused)?.len();
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut found = Vec::new();
        (&mut file).take(self.header.len() as u64).read_to_end(&mut found).map_err(refused)?;
        // A file may have been begun after the checkpoint, and not even its header be whole.
        let is_begun = from.rows == 0 && self.header.starts_with(&found);
        if found != self.header && !is_begun {
            file.rewind().map_err(refused)?;
            let difference = match Header::decode(&mut file, length) {
                Ok((found, _)) => found.difference(header),
                Err(problem) => Some(problem),
            };
            let difference = difference.unwrap_or_else(|| "its header differs".into());
            let what = "it is not the file of this chain of this run";
            return Err(problem(format!("{what}: {difference}")));
        }
        let end = self.end_of(from.rows);
        if from.rows > 0 && length < end {
            return Err(problem(format!("it is truncated: {length} bytes are left of {end}")));
        }
        self.row.resize(row_bytes(self.kept.dim()), 0);
        for row in 0..from.rows {
            file.read_exact(&mut self.row).map_err(refused)?;
            let Some(numbers) = numbers_of(&self.row) else {
                return Err(problem(format!("it is damaged: the checksum of row {row} is wrong")));
            };
            self.crc.update(numbers);
        }
        let crc = self.crc.clone().finalize();
        if crc != from.crc {
            return Err(problem(format!(
                "it is not the file of this chain of this run: the checksum of its first {} rows \
                 is {crc:08x}, and {:08x} in the checkpoint",
                from.rows, from.crc
            )));
        }
        (self.is_begun, self.rows) = (true, from.rows);
        Ok(())
    }

    /// Where the first `rows` rows end.
    fn end_of(&self, rows: u64) -> u64 {
        let row = row_bytes(self.kept.dim()) as u64;
        row.saturating_mul(rows).saturating_add(self.header.len() as u64)
    }

    fn write(&mut self, q: &[f64]) -> std::io::Result<()> {
        self.row.clear();
        for x in self.kept.slices(q).flatten() {
            self.row.extend_from_slice(&(*x as f32).to_le_bytes());
        }
        self.crc.update(&self.row);
        let crc = crc32fast::hash(&self.row);
        self.row.extend_from_slice(&crc.to_le_bytes());
        let mut file = match self.file.take() {
            Some(file) => file,
            None => File::options().write(true).create_new(!self.is_begun).open(&self.path)?,
        };
        // Only now have all chains and recorders begun, so that nothing is cut if one refuses.
        if !self.is_cut {
            let end = if self.rows == 0 { 0 } else { self.end_of(self.rows) };
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            if self.rows == 0 {
                file.write_all(&self.header)?;
                sync_folder(&self.path)?;
            }
            self.is_cut = true;
        }
        file.write_all(&self.row)?;
        self.file = Some(file);
        self.rows += 1;
        Ok(())
    }
}

impl<T: Target> Recorder<T> for OnDisk {
    type Record = FileRecord;
    type State = FileState;

    fn name(&self) -> String {
        "OnDisk".into()
    }

    fn begin(
        &self,
        target: &T,
        plan: ChainPlan,
        from: Option<FileState>,
    ) -> Result<FileRecord, Error> {
        check_every(self.every)?;
        let kept = self.keep.of(&target.layout())?.check_any()?;
        let path = self.file(plan.chain);
        let blocks = kept.layout.blocks().iter();
        let header = Header {
            blocks: blocks.clone().map(|b| (b.name.clone(), b.shape.clone())).collect(),
            from_one: blocks.map(|b| b.first == 1).collect(),
            every: self.every,
            chain: plan.chain,
            chains: plan.chains,
            run: plan.run,
        };
        let mut record = FileRecord {
            header: header.encode().map_err(|problem| table(&path, problem))?,
            row: Vec::with_capacity(row_bytes(kept.dim())),
            path,
            kept,
            run: plan.run,
            file: None,
            is_begun: false,
            is_cut: false,
            rows: 0,
            crc: crc32fast::Hasher::new(),
        };
        if let Some(from) = from {
            record.resume(&header, from)?;
            return Ok(record);
        }
        let folder = record.path.parent().filter(|f| !f.as_os_str().is_empty());
        if let Some(folder) = folder {
            std::fs::metadata(folder).map_err(|e| Error::io(folder, e))?;
        }
        if record.path.try_exists().map_err(|e| Error::io(&record.path, e))? {
            let problem = "it exists, and there is no checkpoint to go on from; move it away";
            return Err(Error::checkpoint(&record.path, problem));
        }
        Ok(record)
    }

    fn record(
        &self,
        record: &mut FileRecord,
        _: &T,
        draw: OneDraw,
        _: &mut T::Workspace,
    ) -> Result<(), Error> {
        match is_kth(draw.index, self.every) {
            true => record.write(draw.q).map_err(|e| Error::io(&record.path, e)),
            false => Ok(()),
        }
    }

    fn state(&self, record: &FileRecord) -> Result<FileState, Error> {
        if let Some(file) = &record.file {
            file.sync_data().map_err(|e| Error::io(&record.path, e))?;
        }
        let crc = record.crc.clone().finalize();
        Ok(FileState { run: record.run, rows: record.rows, crc })
    }

    fn config(&self) -> String {
        format!("OnDisk {{ every: {}, keep: {:?} }}", self.every, self.keep)
    }
}

/// Reads the file of one chain row by row, in a run or after it: an iterator over draws, each as
/// long as [`layout`](Self::layout) says. It ends with the last row that was whole when the file
/// was opened, or after an error: a row whose checksum is wrong.
#[derive(Debug)]
pub struct ChainFile {
    path: PathBuf,
    header: Header,
    layout: Layout,
    /// Rows in all, and those that were read.
    rows: usize,
    read: usize,
    row: Vec<u8>,
    file: BufReader<File>,
}

impl ChainFile {
    /// Opens the file of a chain, such as `<path>.chain0`.
    ///
    /// # Errors
    /// If it cannot be read, is something else, or its header is damaged.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let file = File::open(&path).map_err(|e| Error::io(&path, e))?;
        let length = file.metadata().map_err(|e| Error::io(&path, e))?.len();
        let mut file = BufReader::with_capacity(1 << 16, file);
        let (header, end) = Header::decode(&mut file, length).map_err(|p| table(&path, p))?;
        let Some(layout) = header.layout() else {
            return Err(table(&path, "its header names no parameters, or too many"));
        };
        if header.chain >= header.chains {
            return Err(table(&path, "its header numbers the chains wrongly"));
        }
        let row = row_bytes(layout.dim());
        let rows = ((length - end) / row as u64) as usize;
        let row = if rows > 0 { vec![0; row] } else { Vec::new() };
        Ok(Self { path, header, layout, rows, read: 0, row, file })
    }

    /// The names of the numbers of a row.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Each row is one of this many draws.
    pub fn every(&self) -> usize {
        self.header.every
    }

    /// The number of the chain, from 0.
    pub fn chain_index(&self) -> usize {
        self.header.chain
    }

    /// The number of chains of the run.
    pub fn n_chains(&self) -> usize {
        self.header.chains
    }

    /// The run, by [`ChainPlan::run`]: the same in the files of all its chains.
    pub fn run(&self) -> u32 {
        self.header.run
    }

    /// The number of whole rows, read or not.
    pub fn n_rows(&self) -> usize {
        self.rows
    }

    fn next_row(&mut self) -> Result<Vec<f32>, Error> {
        self.file.read_exact(&mut self.row).map_err(|e| Error::io(&self.path, e))?;
        let Some(numbers) = numbers_of(&self.row) else {
            let problem = format!("it is damaged: the checksum of row {} is wrong", self.read);
            return Err(table(&self.path, problem));
        };
        Ok(numbers.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}

impl Iterator for ChainFile {
    type Item = Result<Vec<f32>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read >= self.rows {
            return None;
        }
        let row = self.next_row();
        self.read = if row.is_ok() { self.read + 1 } else { self.rows };
        Some(row)
    }
}

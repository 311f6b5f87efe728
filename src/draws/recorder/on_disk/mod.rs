//! Every k-th draw in a file of each chain, in single precision.

mod chain_file;
mod header;

pub use chain_file::ChainFile;

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ndarray::Array3;
use serde::{Deserialize, Serialize};

use self::header::{Header, numbers_of, row_bytes};
use super::{ChainPlan, OneDraw, Recorder, check_every, is_kth};
use crate::Error;
use crate::draws::checkpoint::sync_folder;
use crate::draws::keep::Kept;
use crate::draws::zarr::{ChainArrays, Folder};
use crate::draws::{Draws, Keep, RunInfo};
use crate::layout::Layout;
use crate::memory;
use crate::message::Advice;
use crate::targets::Target;

/// Records every k-th draw, beginning with the k-th, as f32 in a file of its own for each chain:
/// `<path>.chain0`, `<path>.chain1`, ... Memory: 4 bytes per kept parameter and chain; disk: as
/// much for each draw, and 4 bytes more.
///
/// **What survives.** Every row is handed to the operating system at once, as a whole: a process
/// that is killed loses no row but the one it was writing, which readers ignore. Only a machine
/// that fails loses more, at most what was written since the last checkpoint, with which the files
/// are flushed to the disk; without checkpoints that is up to the operating system (on Linux some
/// 30 seconds).
///
/// [`OnDisk::to_zarr`] makes of the files, at any time, a folder that ArviZ opens.
///
/// **Resuming.** With a [checkpoint](crate::draws::checkpoint) the run goes on exactly, if the
/// files are of this run by [`ChainPlan::run`], and if they begin with the rows that the checkpoint
/// knows, which are read once and compared by their CRC-32. Anything else is an error, and the
/// files stay unchanged. Anything that follows these rows is cut off with the first row that is
/// added; if none is added, it stays. Without a checkpoint a file that exists is an error: move it
/// away. A file is begun with the first draw that it holds.
///
/// A checkpoint that was written before the first row knows no rows that the file could be compared
/// with. A process killed after it may have left rows in the file. If `ChainPlan::run` agrees, which
/// does not notice other data or another step size, they are overwritten.
///
/// **Format.** 16 bytes of magic number; version, length and CRC-32 of the header (u32); the header
/// in CBOR (names and shapes of the blocks, whether their indices count from 1, k, chain, number of
/// chains, `ChainPlan::run`); rows of little-endian f32, one draw each, followed by their CRC-32. An
/// f32 has seven digits, and is infinite from 3.4e38 on.
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
    /// The coordinates of q that are recorded.
    pub keep: Keep,
}

impl OnDisk {
    /// The file of a chain.
    pub fn file(&self, chain: usize) -> PathBuf {
        file_of(&self.path, chain)
    }

    /// Reads all draws of all chains at `path`, cut to the draws that all chains have, without
    /// statistics. Memory: 8 bytes per parameter, draw and chain.
    ///
    /// # Errors
    /// If a file is missing, damaged, or of another run than the file of chain 0, by
    /// [`ChainFile::run`].
    pub fn read(path: impl AsRef<Path>) -> Result<Draws, Error> {
        let (layout, files) = chain_files(path.as_ref(), Err)?;
        let files: Vec<_> = files.into_iter().flatten().collect();
        let draws = files.iter().map(ChainFile::n_rows).min().unwrap_or(0);
        let size = (files.len(), draws, layout.dim());
        check_size(size)?;
        let mut values = Vec::with_capacity(size.0 * size.1 * size.2);
        for file in files {
            add_rows(file.take(draws), &mut values)?;
        }
        let values = Array3::from_shape_vec(size, values).expect("all chains were cut alike");
        Draws::new(layout, values)
    }

    /// Writes all draws of all chains at `path`, of a run that is done, goes on, or was killed, to
    /// the new Zarr folder `zarr`, which ArviZ and [`Draws::from_zarr`] read: see
    /// [`draws::zarr`](crate::draws::zarr). Where a chain has made fewer draws than another, NaN
    /// stands; a chain without a file has made none. Memory: 8 bytes per parameter, draw and chain.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read), except that files of chains other than chain 0 may be
    /// missing; or the errors of [`Draws::to_zarr`].
    pub fn to_zarr(path: impl AsRef<Path>, zarr: impl AsRef<Path>) -> Result<(), Error> {
        let (layout, files) = chain_files(path.as_ref(), |_| Ok(()))?;
        let rows = |file: &Option<ChainFile>| file.as_ref().map_or(0, ChainFile::n_rows);
        let written: Vec<usize> = files.iter().map(rows).collect();
        let draws = written.iter().copied().max().unwrap_or(0);
        check_size((files.len(), draws, layout.dim()))?;
        let mut values = vec![Vec::new(); files.len()];
        for (values, file) in values.iter_mut().zip(files) {
            add_rows(file.into_iter().flatten(), values)?;
        }
        let chains = ChainArrays {
            layout: &layout,
            stat_names: &[],
            info: &RunInfo { thin: 1, ..RunInfo::default() },
            draws,
            written: &written,
            values: values.iter().map(|values| &values[..]).collect(),
            stats: vec![&[]; written.len()],
        };
        let mut folder = Folder::create(zarr.as_ref())?;
        let attributes = chains.write(&mut folder, &|_, _| None)?;
        folder.finish(attributes)
    }
}

/// The names of the numbers of a row and the files of all chains of a run. `missing` decides what
/// to do about a missing file.
fn chain_files(
    path: &Path,
    missing: impl Fn(Error) -> Result<(), Error>,
) -> Result<(Layout, Vec<Option<ChainFile>>), Error> {
    let first = ChainFile::open(file_of(path, 0))?;
    let (layout, expected) = (first.layout.clone(), first.header.clone());
    let size = [(expected.chains, "chains")];
    memory::check::<Option<ChainFile>>("files", &size, "read each file")?;
    let mut files = Vec::new();
    for chain in 0..expected.chains {
        let file = match ChainFile::open(file_of(path, chain)) {
            Err(Error::Io { path, source }) if source.kind() == ErrorKind::NotFound => {
                missing(Error::Io { path, source })?;
                files.push(None);
                continue;
            }
            file => file?,
        };
        let expected = Header { chain, ..expected.clone() };
        if let Some(difference) = file.header.difference(&expected) {
            let problem = "it is not of the run of chain 0, or not of this chain";
            return Err(table(&file.path, format!("{problem}: {difference}")));
        }
        files.push(Some(file));
    }
    Ok((layout, files))
}

fn check_size((chains, draws, parameters): (usize, usize, usize)) -> Result<(), Error> {
    let size = [(chains, "chains"), (draws, "draws"), (parameters, "parameters")];
    memory::check::<f64>("draws on disk", &size, Advice::in_rust("walk through each `ChainFile`"))
}

fn add_rows(
    rows: impl Iterator<Item = Result<Vec<f32>, Error>>,
    values: &mut Vec<f64>,
) -> Result<(), Error> {
    for row in rows {
        values.extend(row?.into_iter().map(f64::from));
    }
    Ok(())
}

fn file_of(path: &Path, chain: usize) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".chain{chain}"));
    PathBuf::from(name)
}

fn table(path: &Path, problem: impl Into<String>) -> Error {
    Error::table(path.display().to_string(), problem)
}

/// The state of one chain's file in a checkpoint. From [`OnDisk`].
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
    /// Whether bytes behind the rows in the file were cut off.
    is_cut: bool,
    rows: u64,
    /// The CRC-32 of the numbers of all rows. The rows' own checksums are left out: the CRC of data
    /// with their CRC behind them does not depend on the data.
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

    /// The place where the first `rows` rows end.
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

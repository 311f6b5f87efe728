//! The file: its foot, its checksums, and its bytes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::Error;
use crate::data::Dataset;
use crate::data::dataset::{Kind, Response, check_names};
use crate::error::Row;
use crate::memory;
use crate::threads;

/// The first and the last bytes of the file.
pub(super) const MAGIC: [u8; 8] = *b"BNNROWS1";
/// The bytes before the first row.
pub(super) const HEAD: u64 = 64;
/// The bytes after the JSON: its length, its checksum, and the magic bytes.
pub(super) const TAIL: u64 = 20;
/// The bytes of a block of features, at least a row, which has a checksum of its own.
const BLOCK_BYTES: usize = 1 << 20;

/// The rows of a block of features.
pub(super) fn block_rows(row_bytes: usize) -> usize {
    (BLOCK_BYTES / row_bytes).max(1)
}

/// The JSON at the end of the file.
#[derive(Serialize, Deserialize)]
pub(super) struct Foot {
    pub rows: usize,
    pub features: Vec<String>,
    pub stored: Stored,
    pub response: Kind,
    pub responses: Vec<String>,
    pub weights: bool,
    /// The checksums of the blocks of features.
    pub blocks: Vec<u32>,
    /// The checksum of responses and weights.
    pub observed: u32,
}

impl Foot {
    /// The numbers beside the features of a row.
    pub fn observed_columns(&self) -> usize {
        self.response.columns(self.responses.len()) + usize::from(self.weights)
    }
}

/// An open file of rows.
#[derive(Debug)]
pub(super) struct Source {
    pub path: PathBuf,
    file: File,
    /// The size and the time of change when it was opened.
    state: (u64, Option<SystemTime>),
    pub rows: usize,
    pub row_bytes: usize,
    pub feature_names: Vec<String>,
    pub response_names: Vec<String>,
    pub stored: Stored,
    /// The size of the largest number among the features, or of what bytes can stand for.
    pub largest: f64,
    blocks: Vec<u32>,
    /// The file has one position, which threads take in turns where they have to.
    #[cfg(not(unix))]
    position: std::sync::Mutex<()>,
}

/// A file with its responses and weights.
type Opened = (Source, Response, Option<Array1<f64>>);

impl Source {
    pub fn open(path: &Path) -> Result<Opened, Error> {
        let io = |error| Error::io(path, error);
        let wrong = |problem: &str| Error::table(path.display().to_string(), problem);
        let file = File::open(path).map_err(io)?;
        let state = state_of(&file).map_err(io)?;
        let source = Self {
            path: path.into(),
            file,
            state,
            rows: 0,
            row_bytes: 0,
            feature_names: Vec::new(),
            response_names: Vec::new(),
            stored: Stored::F64,
            largest: 0.0,
            blocks: Vec::new(),
            #[cfg(not(unix))]
            position: std::sync::Mutex::default(),
        };
        let foreign = || wrong("this is no file of rows, or it is cut short");
        let bytes = state.0;
        if bytes < HEAD + TAIL {
            return Err(foreign());
        }
        let (mut head, mut tail) = ([0; MAGIC.len()], [0; TAIL as usize]);
        source.read_at(&mut head, 0)?;
        source.read_at(&mut tail, bytes - TAIL)?;
        let (length, rest) = tail.split_at(8);
        let (checksum, magic) = rest.split_at(4);
        let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
        if head != MAGIC || magic != MAGIC || length > bytes - HEAD - TAIL {
            return Err(foreign());
        }
        memory::check::<u8>("foot of the file", &[(length as usize, "bytes")], "it is damaged")?;
        let mut json = vec![0; length as usize];
        source.read_at(&mut json, bytes - TAIL - length)?;
        if crc32fast::hash(&json).to_le_bytes() != *checksum {
            return Err(wrong("its foot has another checksum: the file is damaged"));
        }
        let foot: Foot = serde_json::from_slice(&json).map_err(|error| {
            wrong(&format!("its foot is of another version of this crate ({error})"))
        })?;
        source.take(foot, length).ok_or_else(|| wrong("its size is not that of its rows"))?
    }

    /// Takes sizes and names from the foot, of so many bytes, and reads responses and weights; `None` if the sizes do not make the
    /// size of the file.
    fn take(mut self, foot: Foot, length: u64) -> Option<Result<Opened, Error>> {
        let (rows, columns) = (foot.rows, foot.features.len());
        let observed = foot.observed_columns();
        let row_bytes = columns.checked_mul(foot.stored.width())?;
        let of_features = (rows as u64).checked_mul(row_bytes as u64)?;
        let of_responses = (rows as u64).checked_mul(8 * observed as u64)?;
        let mut size = [HEAD, of_features, of_responses, length, TAIL].into_iter();
        let size = size.try_fold(0, |sum: u64, part| sum.checked_add(part))?;
        let blocks = rows.div_ceil(block_rows(row_bytes.max(1)));
        if size != self.state.0 || rows == 0 || columns == 0 || blocks != foot.blocks.len() {
            return None;
        }
        (self.rows, self.row_bytes) = (rows, row_bytes);
        (self.feature_names, self.response_names) = (foot.features, foot.responses);
        (self.stored, self.blocks) = (foot.stored, foot.blocks);
        let response = foot.response;
        Some(self.verified(HEAD + of_features, observed, foot.observed, foot.weights, response))
    }

    /// Compares checksums, and reads responses and weights.
    fn verified(
        mut self,
        at: u64,
        columns: usize,
        checksum: u32,
        is_weighted: bool,
        kind: Kind,
    ) -> Result<Opened, Error> {
        let foot = |error: Error| self.problem(format!("its foot is wrong: {error}"));
        self.stored.check(self.feature_names.len()).map_err(foot)?;
        check_names("feature names", &self.feature_names, self.feature_names.len())
            .map_err(foot)?;
        let numbers = self.read_observed(at, columns, checksum)?;
        let (response, weights) = self.observed(numbers, kind, is_weighted)?;
        self.largest = self.check_features()?;
        self.check_unchanged()?;
        Ok((self, response, weights))
    }

    /// An error that names the file.
    fn problem(&self, problem: impl Into<String>) -> Error {
        Error::table(self.path.display().to_string(), problem)
    }

    /// An error that the checksum of a part is wrong.
    fn damaged(&self, what: &str) -> Error {
        self.problem(format!("{what} have another checksum than was written: the file is damaged"))
    }

    /// Reads the numbers beside the features, in so many columns.
    fn read_observed(&self, at: u64, columns: usize, checksum: u32) -> Result<Array2<f64>, Error> {
        let forms = [(self.rows, "rows"), (columns, "responses and weights"), (4, "forms")];
        memory::check::<f64>("responses", &forms, "take fewer rows")?;
        let mut bytes = vec![0; 8 * self.rows * columns];
        self.read_at(&mut bytes, at)?;
        if crc32fast::hash(&bytes) != checksum {
            return Err(self.damaged("its responses"));
        }
        let numbers = bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        Ok(Array2::from_shape_vec((self.rows, columns), numbers).expect("as many as were read"))
    }

    /// The response, and the weights in the last column, as a data set has them.
    fn observed(
        &self,
        numbers: Array2<f64>,
        kind: Kind,
        is_weighted: bool,
    ) -> Result<(Response, Option<Array1<f64>>), Error> {
        let foot = |error: Error| self.problem(format!("its foot is wrong: {error}"));
        let of_response = numbers.ncols() - usize::from(is_weighted);
        let response = kind.response(numbers.slice(ndarray::s![.., ..of_response]).to_owned());
        let weights = is_weighted.then(|| numbers.column(of_response).to_vec());
        drop(numbers);
        let no_class = "the class of a row is no whole number from 0 on";
        let response = response.ok_or_else(|| self.problem(no_class))?;
        // Features in the place of the file's, which are checked later.
        let features = Array2::zeros((self.rows, 1));
        let mut data =
            Dataset::checked(features, response, vec!["x".into()], self.response_names.clone())
                .map_err(foot)?;
        if let Some(weights) = weights {
            data = data.with_weights(weights).map_err(foot)?;
        }
        let weights = data.weights().map(|w| w.to_owned());
        Ok((data.into_response(), weights))
    }

    /// Compares the checksums of all blocks. Returns the size of the largest number, or of what bytes can stand for.
    fn check_features(&self) -> Result<f64, Error> {
        let scratch = || (Vec::new(), vec![0.0; self.feature_names.len()]);
        let largest = threads::map_with(self.blocks.len(), &scratch, &|(bytes, x), block| {
            self.check_block(block, bytes, x)
        });
        let largest = largest.into_iter().collect::<Result<Vec<f64>, Error>>()?;
        Ok(match &self.stored {
            Stored::U8(scales) => {
                let ends =
                    |[offset, scale]: &[f64; 2]| offset.abs().max((offset + 255.0 * scale).abs());
                scales.iter().map(ends).fold(0.0, f64::max)
            }
            _ => largest.into_iter().fold(0.0, f64::max),
        })
    }

    /// The size of the largest number of a block, unless it is stored as bytes. An error if the checksum or a number is wrong.
    fn check_block(&self, block: usize, bytes: &mut Vec<u8>, x: &mut [f64]) -> Result<f64, Error> {
        let rows = block_rows(self.row_bytes);
        let first = block * rows;
        bytes.resize(rows.min(self.rows - first) * self.row_bytes, 0);
        self.read_rows(first, bytes)?;
        //~ row-checksum
        if crc32fast::hash(bytes) != self.blocks[block] {
            return Err(self.damaged(&format!("its rows from {} on", first + 1)));
        }
        let mut largest = 0.0;
        if matches!(self.stored, Stored::U8(_)) {
            return Ok(largest);
        }
        for (i, raw) in bytes.chunks_exact(self.row_bytes).enumerate() {
            self.stored.read(raw, x);
            if let Some(j) = x.iter().position(|x| !x.is_finite()) {
                return Err(Error::Cell {
                    table: self.path.display().to_string(),
                    row: Row::Number(first + i + 1),
                    column: self.feature_names[j].clone(),
                    problem: format!("{} is not a finite number", x[j]),
                    advice: Vec::new(),
                });
            }
            largest = x.iter().fold(largest, |most: f64, x| most.max(x.abs()));
        }
        Ok(largest)
    }

    /// Fills `bytes` with the features' bytes from a row on.
    pub fn read_rows(&self, first: usize, bytes: &mut [u8]) -> Result<(), Error> {
        self.read_at(bytes, HEAD + first as u64 * self.row_bytes as u64)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<(), Error> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at);
        #[cfg(not(unix))]
        let read = {
            use std::io::{Read, Seek, SeekFrom};
            let _turn = self.position.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut file = &self.file;
            file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes))
        };
        read.map_err(|error| Error::io(&self.path, error))
    }

    pub fn check_unchanged(&self) -> Result<(), Error> {
        let state = state_of(&self.file).map_err(|error| Error::io(&self.path, error))?;
        //~ row-state
        if state == self.state {
            return Ok(());
        }
        let problem = "the file of rows has changed since it was opened";
        Err(self.problem(problem))
    }

    /// Adds all features to a checksum.
    pub fn add_to(&self, crc: &mut crc32fast::Hasher) {
        crc.update(format!("{} {} {:?}", self.rows, self.row_bytes, self.stored).as_bytes());
        self.blocks.iter().for_each(|block| crc.update(&block.to_le_bytes()));
    }
}

/// The size of a file, and the time of its last change if the system knows it.
fn state_of(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

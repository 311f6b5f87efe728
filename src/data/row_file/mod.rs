//! Rows in a file, read as they are needed.
//!
//! The file has a head of 64 bytes, which begin with `BNNROWS1`; the features, row by row, in the form that
//! [`Stored`] says; responses and weights, row by row, as `f64`; and a foot: names and sizes in JSON, the checksum
//! (CRC-32) of every block of features and of the responses, then in 20 bytes the length of the JSON, its checksum and
//! `BNNROWS1`. All numbers are little-endian.

mod source;
mod stored;
#[cfg(test)]
mod tests;
mod writer;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView1, Axis};

pub use stored::Stored;
pub use writer::RowWriter;

use source::Source;

use super::dataset::Response;
use super::{ColumnScale, Dataset, Scaler, Standardise};
use crate::Error;
use crate::message::number;

/// The most rows that are read at a time, of which each takes a place in an array.
const BLOCK: usize = 4096;

/// A data set in a file, whose features are read as they are needed: rows that do not fit into memory.
///
/// A [`RowWriter`] makes the file, block by block, from CSV or Parquet files, simulations or arrays, with features in eight,
/// four, two or one byte ([`Stored`]). [`Posterior::on_file`](crate::posterior::Posterior::on_file) then is a posterior as with a
/// [`Dataset`] in memory, for every model, likelihood, sampler and approximation: full gradients and minibatches read
/// the rows that they need, and the same (rounded) numbers in memory give equal draws, bit for bit.
///
/// What stays in memory are the responses and weights, 8 bytes for each row and column, in the forms in which the likelihood and
/// minibatches see them once more each, and for each thread a tile of at most 256 rows, in bytes and in `f64`. Opening and finishing a
/// file takes four times the responses and weights for a while.
///
/// ```
/// use bnn_mcmc::data::{RowFile, Standardise, Stored};
/// use bnn_mcmc::prelude::*;
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("train.rows");
/// let mut writer = RowFile::create(&path, Stored::F32)?;
/// for block in 0..10 {
///     let x = ndarray::Array2::from_shape_fn((100, 3), |(i, j)| (100 * block + i * (j + 1)) as f64 / 7.0);
///     let y = x.column(0).mapv(f64::sin);
///     writer.push(&Dataset::regression(x, y)?)?;
/// }
/// let rows = writer.finish()?; // or `RowFile::open(&path)`, later
/// assert_eq!((rows.rows(), rows.n_features()), (1000, 3));
///
/// let scaler = rows.fit_features(&Standardise::new())?;
/// let scaled = rows.scaled(&scaler)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?).with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
/// let posterior = Posterior::on_file(Mlp::new(&[3, 4, 1], Activation::Tanh)?, Gaussian::sampled(), &scaled, priors)?;
/// let draws = Sampler::new(&posterior, Nuts::default()).warmup(20).draws(20).run()?;
///
/// // Predictions and scores, a block at a time.
/// let mut log_density = 0.0;
/// for block in scaled.blocks(256) {
///     log_density += posterior.predict(&draws, &block?)?.log_predictive_densities()?.sum();
/// }
/// assert!(log_density.is_finite());
/// # Ok::<(), Error>(())
/// ```
///
/// **A file must not change while it is in use.** Size and time of change are looked at before every evaluation, and all
/// checksums when it is opened, which takes one reading of the file. A run whose file has changed, or cannot be read any more, ends
/// with the draws until then, and [`RunInfo::panic`](crate::draws::RunInfo::panic) says why; it goes on from its checkpoint when the file is whole again. An
/// optimisation ends with the error. An evaluation outside of both panics with its message.
#[derive(Clone, Debug)]
pub struct RowFile {
    source: Arc<Source>,
    response: Arc<Response>,
    weights: Option<Arc<Array1<f64>>>,
    /// The scaling of the features that are read.
    scales: Option<Arc<Vec<ColumnScale>>>,
}

impl RowFile {
    /// Begins a file at `path`, to which rows are written; see [`RowWriter`].
    ///
    /// # Errors
    /// A file that cannot be written; offsets and scales that are none.
    pub fn create(path: impl AsRef<Path>, stored: Stored) -> Result<RowWriter, Error> {
        RowWriter::new(path.as_ref(), stored)
    }

    /// Opens a file, and reads it once to compare its checksums.
    ///
    /// # Errors
    /// A file that cannot be read, is none of rows, is cut short, or has other content than was written; responses that
    /// do not fit into [memory](crate::memory).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let (source, response, weights) = Source::open(path.as_ref())?;
        Ok(Self::of(source, response, weights))
    }

    fn of(source: Source, response: Response, weights: Option<Array1<f64>>) -> Self {
        let (source, response) = (Arc::new(source), Arc::new(response));
        Self { source, response, weights: weights.map(Arc::new), scales: None }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.source.rows
    }

    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.feature_names().len()
    }

    /// The names of the features.
    pub fn feature_names(&self) -> &[String] {
        &self.source.feature_names
    }

    /// The names of the outputs or categories, or the single name of the class column.
    pub fn response_names(&self) -> &[String] {
        &self.source.response_names
    }

    /// The form of the features in the file.
    pub fn stored(&self) -> &Stored {
        &self.source.stored
    }

    /// The response of each row.
    pub fn response(&self) -> &Response {
        &self.response
    }

    /// The weights of the rows, if they [have any](Dataset::with_weights).
    pub fn weights(&self) -> Option<ArrayView1<'_, f64>> {
        self.weights.as_ref().map(|w| w.view())
    }

    /// The sum of the weights, or the number of rows if they have none.
    pub fn total_weight(&self) -> f64 {
        self.weights.as_ref().map_or(self.rows() as f64, |w| w.sum())
    }

    /// Some of the rows, in memory.
    ///
    /// # Errors
    /// Rows that there are not, or none; rows that do not fit into memory; a file that cannot be read or has changed.
    pub fn read(&self, rows: Range<usize>) -> Result<Dataset, Error> {
        if rows.start >= rows.end || rows.end > self.rows() {
            let allowed = format!("some of 0 to {}", self.rows());
            return Err(Error::argument(
                "rows",
                format!("{} to {}", rows.start, rows.end),
                allowed,
            ));
        }
        let columns = self.n_features();
        let fewer = "read fewer rows at a time";
        crate::memory::check::<f64>(
            "features",
            &[(rows.len(), "rows"), (columns, "columns")],
            fewer,
        )?;
        self.check_unchanged()?;
        let (mut x, mut bytes) = (Array2::zeros((rows.len(), columns)), Vec::new());
        let of_block = self.rows_at_a_time();
        for (k, mut part) in x.axis_chunks_iter_mut(Axis(0), of_block).enumerate() {
            let first = rows.start + k * of_block;
            self.read_bytes(first..first + part.nrows(), &mut bytes)?;
            for (mut to, raw) in
                part.rows_mut().into_iter().zip(bytes.chunks_exact(self.row_bytes()))
            {
                self.widen(raw, to.as_slice_mut().expect("rows of an array of its own"));
            }
        }
        let numbers: Vec<usize> = rows.clone().collect();
        let response = self.response.select(&numbers);
        let (features, responses) = (self.feature_names().to_vec(), self.response_names().to_vec());
        let data = Dataset::checked(x, response, features, responses)?;
        match self.weights() {
            None => Ok(data),
            Some(w) => data.with_weights_of_part(w.slice(ndarray::s![rows]).to_vec()), //~ row-weights
        }
    }

    /// All rows in order, in data sets of so many rows each, the last one of the rest.
    ///
    /// # Panics
    /// If `rows` is 0.
    pub fn blocks(
        &self,
        rows: usize,
    ) -> impl ExactSizeIterator<Item = Result<Dataset, Error>> + '_ {
        (0..self.rows())
            .step_by(rows)
            .map(move |first| self.read(first..self.rows().min(first + rows)))
    }

    /// Writes the rows, as they are in this file, to another one at `path` in one byte for each number: whole numbers from 0 to 255
    /// above the smallest one of their column, such as the pixels of images and labels, as they are; of other columns the nearest
    /// of 256 values from the smallest number to the largest one. This file is read twice.
    ///
    /// ```
    /// use bnn_mcmc::data::{RowFile, Stored};
    /// use bnn_mcmc::prelude::*;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (wide, path) = (folder.path().join("wide.rows"), folder.path().join("t.rows"));
    /// let mut writer = RowFile::create(&wide, Stored::F64)?;
    /// let x = ndarray::array![[3.0, 0.0], [258.0, 0.1], [7.0, 5.1]];
    /// writer.push(&Dataset::regression(x, ndarray::array![1.0, 2.0, 3.0])?)?;
    /// let rows = writer.finish()?.in_bytes(&path)?;
    /// assert_eq!(rows.read(0..3)?.x().column(0).to_vec(), [3.0, 258.0, 7.0]);
    /// assert!((rows.read(0..3)?.x()[(1, 1)] - 0.1).abs() < 1e-12); // five of 255 steps
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Rows that are scaled; a column whose range is not finite; a file that cannot be read or has changed, or cannot be written.
    pub fn in_bytes(&self, path: impl AsRef<Path>) -> Result<Self, Error> {
        self.check_not_scaled()?;
        let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY, true); self.n_features()];
        self.for_each_row(|_, x| {
            for ((low, high, is_whole), x) in ranges.iter_mut().zip(x) {
                (*low, *high) = (low.min(*x), high.max(*x));
                *is_whole &= x.fract() == 0.0;
            }
        })?;
        let scale = |(low, high, is_whole): (f64, f64, bool)| match high - low {
            0.0 => [low, 1.0],
            range if is_whole && range <= 255.0 => [low, 1.0], //~ bytes-whole
            range => [low, range / 255.0],
        };
        let stored = Stored::U8(ranges.into_iter().map(scale).collect());
        let mut writer = Self::create(path, stored)?;
        for block in self.blocks(self.rows_at_a_time()) {
            writer.push(&block?)?;
        }
        writer.finish()
    }

    /// The rows with their features scaled as they are read.
    ///
    /// # Errors
    /// A scaling of columns with other names, or with a [transform](super::Transform), or by which numbers of the file may exceed
    /// those that `f64` has; rows that are scaled already.
    pub fn scaled(&self, scaler: &Scaler) -> Result<Self, Error> {
        scaler.check_same_names(self.feature_names())?;
        self.check_not_scaled()?;
        if !scaler.is_affine() {
            let allowed = "without a transform: transform the features before they are written";
            return Err(Error::argument("scaling", "one with a transform", allowed));
        }
        let (low, shifted) = (scaler.low(), scaler.columns().iter().cloned());
        if low != 0.0 {
            return Err(Error::argument("low end of the scaling", low, "0, as of `Standardise`"));
        }
        for (column, name) in scaler.columns().iter().zip(self.feature_names()) {
            let largest = (self.source.largest + column.shift.abs()) / column.scale;
            if !largest.is_finite() {
                let allowed = "one by which all numbers stay finite";
                let found = number(column.scale);
                return Err(Error::argument(format!("scale of `{name}`"), found, allowed));
            }
        }
        Ok(Self { scales: Some(Arc::new(shifted.collect())), ..self.clone() })
    }

    /// The rows with another real response `[rows x outputs]`, such as the scaled one, under the same names.
    ///
    /// # Errors
    /// If the response is not real, the shape differs or a number is not finite.
    pub fn with_real_response(&self, y: Array2<f64>) -> Result<Self, Error> {
        let one = Array2::zeros((self.rows(), 1));
        let names = self.response_names().to_vec();
        let old = Dataset::checked(one, (*self.response).clone(), vec!["x".into()], names)?;
        let data = old.with_real_response(y)?;
        Ok(Self { response: Arc::new(data.response().clone()), ..self.clone() })
    }

    /// [`Standardise::fit_features`] of the rows: means and standard deviations of the features, by the weights of the
    /// rows if they have any. The file is read twice.
    ///
    /// # Errors
    /// Its errors; a standardisation [after a transform](Standardise::after); rows that are scaled already; a file that
    /// cannot be read or has changed.
    pub fn fit_features(&self, standardise: &Standardise) -> Result<Scaler, Error> {
        self.check_not_scaled()?;
        let counted = self.weights().map(|w| w.iter().copied().filter(|w| *w > 0.0).collect());
        let of_weights = |counted: Array1<f64>| (counted.len(), counted.sum());
        let counted = counted.map_or((self.rows(), self.rows() as f64), of_weights);
        standardise.fit_passes(counted, self.feature_names(), |visit| {
            self.for_each_row(|row, x| match self.weights.as_ref().map(|w| w[row]) {
                None => visit(1.0, x),
                Some(w) if w > 0.0 => visit(w, x),
                Some(_) => {}
            })
        })
    }

    fn check_not_scaled(&self) -> Result<(), Error> {
        match self.scales {
            None => Ok(()),
            Some(_) => Err(Error::argument("rows", "scaled already", "as they are in the file")),
        }
    }

    /// Calls `visit` with the number and the features of every row.
    fn for_each_row(&self, mut visit: impl FnMut(usize, &[f64])) -> Result<(), Error> {
        self.check_unchanged()?;
        let (mut bytes, mut x) = (Vec::new(), vec![0.0; self.n_features()]);
        let of_block = self.rows_at_a_time();
        for first in (0..self.rows()).step_by(of_block) {
            self.read_bytes(first..self.rows().min(first + of_block), &mut bytes)?;
            for (i, raw) in bytes.chunks_exact(self.row_bytes()).enumerate() {
                self.widen(raw, &mut x);
                visit(first + i, &x);
            }
        }
        Ok(())
    }

    /// The rows whose bytes are read at a time: about 1 MiB, or a row that has more.
    fn rows_at_a_time(&self) -> usize {
        source::block_rows(self.row_bytes()).min(BLOCK)
    }

    /// The bytes of a row of features.
    pub(crate) fn row_bytes(&self) -> usize {
        self.source.row_bytes
    }

    /// Overwrites `bytes` with rows that lie one after the other.
    pub(crate) fn read_bytes(&self, rows: Range<usize>, bytes: &mut Vec<u8>) -> Result<(), Error> {
        bytes.resize(rows.len() * self.row_bytes(), 0);
        self.source.read_rows(rows.start, bytes)
    }

    /// Overwrites `bytes` with these rows.
    pub(crate) fn gather_bytes(&self, rows: &[usize], bytes: &mut Vec<u8>) -> Result<(), Error> {
        bytes.resize(rows.len() * self.row_bytes(), 0);
        let each = bytes.chunks_exact_mut(self.row_bytes()).zip(rows);
        each.into_iter().try_for_each(|(bytes, row)| self.source.read_rows(*row, bytes))
    }

    /// Writes the features of a row, whose bytes are given.
    pub(crate) fn widen(&self, bytes: &[u8], x: &mut [f64]) {
        self.source.stored.read(bytes, x);
        if let Some(scales) = &self.scales {
            for (x, column) in x.iter_mut().zip(&**scales) {
                *x = (*x - column.shift) / column.scale; //~ row-scale
            }
        }
    }

    /// An error if the file has changed since it was opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        self.source.check_unchanged()
    }

    /// Adds all features, as they are read, to a checksum.
    pub(crate) fn add_to(&self, crc: &mut crc32fast::Hasher) {
        self.source.add_to(crc);
        for column in self.scales.iter().flat_map(|scales| &**scales) {
            crc.update(&column.shift.to_le_bytes());
            crc.update(&column.scale.to_le_bytes());
        }
    }
}

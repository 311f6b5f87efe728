//! The engine that computes gradients: tiles of rows, and kernels compiled for several instruction
//! sets.
//!
//! A tile is a few rows of data, stored so that rows lie in SIMD lanes.
//!
//! A tile holds up to [`TILE_ROWS`] rows of an array. It is stored column by column (a column is
//! a feature, a hidden unit or an output), each column padded to a multiple of [`LANES`] rows.
//! Everything that a model does to a row then happens to all rows of a tile at once, on
//! contiguous numbers, and the activations of a tile stay in the processor's cache. How many rows a tile has
//! is the model's choice ([`Model::tile_rows`](crate::model::Model::tile_rows)).

// Kernels index arrays of fixed length side by side; zipped iterators would hide the lanes.
#![allow(clippy::needless_range_loop)]

#[macro_use]
pub(crate) mod simd;

mod activation;
mod dense;
pub(crate) mod elementary;
pub(crate) mod gemm;
pub(crate) mod gram;
pub(crate) mod layer;
mod lent;
pub(crate) mod network;
pub(crate) mod noisy;
mod row_by_row;

use std::ops::{Deref, DerefMut, Range};
use std::sync::OnceLock;

use ndarray::{Array2, ArrayView2, ShapeBuilder};

pub use activation::Activation;
pub(crate) use lent::LentTiles;

/// The most rows that a tile holds.
pub const TILE_ROWS: usize = 256;

/// Columns of a tile are padded to a multiple of this many rows.
pub const LANES: usize = 8;

/// Rows of a tile with padding: `rows` rounded up to a multiple of [`LANES`].
pub const fn padded(rows: usize) -> usize {
    rows.div_ceil(LANES) * LANES
}

/// A tile to read. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Tile<'a> {
    values: &'a [f64],
    rows: usize,
    columns: usize,
}

impl<'a> Tile<'a> {
    /// A tile of `rows` rows over `values`, whose length is a multiple of the padded rows.
    ///
    /// # Panics
    /// If the length is not such a multiple: the storage is the crate's own, not a user's input.
    #[inline]
    pub fn new(values: &'a [f64], rows: usize) -> Self {
        Self { values, rows, columns: columns_of(values, rows) }
    }

    /// The tile of `columns` columns of `rows` rows at the beginning of `values`.
    #[inline]
    pub(crate) fn at_start(values: &'a [f64], rows: usize, columns: usize) -> Self {
        Self { values: &values[..padded(rows) * columns], rows, columns }
    }

    /// The number of rows, without padding.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The rows with padding: the distance between two columns in [`values`](Self::values).
    #[inline]
    pub fn stride(&self) -> usize {
        padded(self.rows)
    }

    /// All columns, one after the other, with their padding.
    #[inline]
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// Column `j`, without padding.
    #[inline]
    pub fn column(&self, j: usize) -> &'a [f64] {
        let start = j * self.stride();
        &self.values[start..start + self.rows]
    }

    /// The tile as an array `[rows x columns]`.
    pub fn view(&self) -> ArrayView2<'a, f64> {
        let shape = (self.rows, self.columns()).strides((1, self.stride()));
        ArrayView2::from_shape(shape, self.values).expect("the strides fit the storage")
    }
}

/// The number of columns of a tile.
fn columns_of(values: &[f64], rows: usize) -> usize {
    assert!(rows > 0 && values.len().is_multiple_of(padded(rows)));
    values.len() / padded(rows)
}

/// A tile to write. See the [module](self).
#[derive(Debug)]
pub struct TileMut<'a> {
    values: &'a mut [f64],
    rows: usize,
    columns: usize,
}

impl<'a> TileMut<'a> {
    /// Makes a tile like [`Tile::new`].
    ///
    /// # Panics
    /// The panics of [`Tile::new`].
    #[inline]
    pub fn new(values: &'a mut [f64], rows: usize) -> Self {
        let columns = columns_of(values, rows);
        Self { values, rows, columns }
    }

    /// The tile of `columns` columns of `rows` rows at the beginning of `values`.
    #[inline]
    pub(crate) fn at_start(values: &'a mut [f64], rows: usize, columns: usize) -> Self {
        Self { values: &mut values[..padded(rows) * columns], rows, columns }
    }

    /// The tile, to be read.
    #[inline]
    pub fn as_tile(&self) -> Tile<'_> {
        Tile { values: self.values, rows: self.rows, columns: self.columns }
    }

    /// A shorter borrow of the same tile.
    #[inline]
    pub fn reborrow(&mut self) -> TileMut<'_> {
        TileMut { values: self.values, rows: self.rows, columns: self.columns }
    }

    /// The number of rows, without padding.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The rows with padding: the distance between two columns in [`values`](Self::values).
    #[inline]
    pub fn stride(&self) -> usize {
        padded(self.rows)
    }

    /// All columns, one after the other, with their padding.
    #[inline]
    pub fn values(&mut self) -> &mut [f64] {
        self.values
    }

    /// Column `j`, without padding.
    #[inline]
    pub fn column(&mut self, j: usize) -> &mut [f64] {
        let (start, rows) = (j * self.stride(), self.rows);
        &mut self.values[start..start + rows]
    }

    /// Writes zeros into the padding of every column.
    #[inline]
    pub fn clear_padding(&mut self) {
        let (rows, stride) = (self.rows, self.stride());
        if rows < stride {
            for column in self.values.chunks_exact_mut(stride) {
                column[rows..].fill(0.0);
            }
        }
    }
}

/// Numbers to lay tiles over, as a slice that starts on a cache line of 64 bytes.
///
/// A vector load that crosses cache lines takes twice as long; the products of a layer run up to
/// 40 % faster on aligned tiles.
#[derive(Debug, Default)]
pub struct TileStorage<F = f64> {
    values: Vec<F>,
    start: usize,
}

impl<F: Copy + Default> TileStorage<F> {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let lanes = 64 / size_of::<F>();
        let mut values = vec![F::default(); len + lanes - 1];
        let start = values.as_ptr().align_offset(64).min(lanes - 1);
        values.truncate(start + len);
        Self { values, start }
    }

    /// Zeros for a tile of [`TILE_ROWS`] rows and `columns` columns.
    pub fn for_columns(columns: usize) -> Self {
        Self::zeros(TILE_ROWS * columns)
    }
}

impl<F> Deref for TileStorage<F> {
    type Target = [F];
    #[inline]
    fn deref(&self) -> &[F] {
        &self.values[self.start..]
    }
}

impl<F> DerefMut for TileStorage<F> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [F] {
        &mut self.values[self.start..]
    }
}

impl<F: Copy + Default> Clone for TileStorage<F> {
    fn clone(&self) -> Self {
        let mut copy = Self::zeros(self.len()); // the copy lies elsewhere, and is aligned anew
        copy.copy_from_slice(self);
        copy
    }
}

/// An array cut into tiles: the form in which a posterior keeps its data.
#[derive(Clone, Debug)]
pub struct Tiles {
    values: TileStorage,
    rows: usize,
    columns: usize,
    /// The most rows of a tile.
    tile_rows: usize,
    /// The array row by row, from the first call of [`gather`](Self::gather) on.
    by_row: OnceLock<Box<[f64]>>,
}

impl Tiles {
    /// Copies `[rows x columns]` into tiles; padding is zero.
    pub fn new(array: ArrayView2<f64>) -> Self {
        Self::with_rows(array, TILE_ROWS)
    }

    /// Makes tiles like [`new`](Self::new), with up to `tile_rows` rows in a tile.
    ///
    /// # Panics
    /// If `tile_rows` is not a multiple of [`LANES`] from [`LANES`] to [`TILE_ROWS`].
    pub fn with_rows(array: ArrayView2<f64>, tile_rows: usize) -> Self {
        assert!((LANES..=TILE_ROWS).contains(&tile_rows) && tile_rows.is_multiple_of(LANES));
        let (rows, columns) = array.dim();
        let mut values = TileStorage::zeros(padded(rows) * columns);
        let mut rest = &mut values[..];
        for tile in array.axis_chunks_iter(ndarray::Axis(0), tile_rows) {
            for column in tile.columns() {
                let padded_column = rest.split_off_mut(..padded(tile.nrows()));
                let padded_column = padded_column.expect("room for every column");
                padded_column.iter_mut().zip(column).for_each(|(to, from)| *to = *from);
            }
        }
        Self { values, rows, columns, tile_rows, by_row: OnceLock::new() }
    }

    /// The number of rows of the array.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns of the array.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Adds the array, its shape and all its numbers, to a checksum.
    pub(crate) fn add_to(&self, crc: &mut crc32fast::Hasher) {
        for size in [self.rows, self.columns, self.tile_rows] {
            crc.update(&(size as u64).to_le_bytes());
        }
        let mut bytes = [0; 4096];
        for values in self.values.chunks(bytes.len() / 8) {
            for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
                *bytes = value.to_le_bytes();
            }
            crc.update(&bytes[..8 * values.len()]);
        }
    }

    /// The tiles in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Tile<'_>> {
        self.range(0..self.n_tiles())
    }

    /// The number of tiles.
    #[inline]
    pub(crate) fn n_tiles(&self) -> usize {
        self.rows.div_ceil(self.tile_rows)
    }

    /// The tile with this number.
    #[inline]
    pub(crate) fn tile(&self, number: usize) -> Tile<'_> {
        let first = number * self.tile_rows;
        let rows = self.tile_rows.min(self.rows - first);
        Tile::at_start(&self.values[first * self.columns..], rows, self.columns)
    }

    /// The tiles with these numbers.
    #[inline]
    pub(crate) fn range(&self, numbers: Range<usize>) -> impl ExactSizeIterator<Item = Tile<'_>> {
        numbers.map(|number| self.tile(number))
    }

    /// These rows (each below [`rows`](Self::rows)), in this order.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let at =
            |row: usize, j: usize| self.tile(row / self.tile_rows).column(j)[row % self.tile_rows];
        let array = Array2::from_shape_fn((rows.len(), self.columns), |(i, j)| at(rows[i], j));
        Self::with_rows(array.view(), self.tile_rows)
    }

    /// Copies `rows` (at least one, each below [`rows`](Self::rows)) into `to`, as one tile.
    ///
    /// The first call makes a copy of the array, row by row, so that a row is fetched in one piece: out of
    /// the tiles it would take a cache line for every column.
    pub fn gather<'a>(&self, rows: &[usize], to: &'a mut [f64]) -> Tile<'a> {
        let by_row = self.by_row.get_or_init(|| {
            self.iter().flat_map(|tile| tile.view().iter().copied().collect::<Vec<_>>()).collect()
        });
        let stride = padded(rows.len());
        let to = &mut to[..stride * self.columns];
        for (group, rows) in rows.chunks(LANES).enumerate() {
            let mut from = [&[][..]; LANES];
            for (from, row) in from.iter_mut().zip(rows) {
                *from = &by_row[row * self.columns..][..self.columns];
            }
            fill_lanes(to, stride, group, from);
        }
        Tile::new(to, rows.len())
    }
}

/// Writes a group of up to [`LANES`] rows into the columns, `stride` apart, of a tile; the rows that lack are zeros.
pub(crate) fn fill_lanes(tile: &mut [f64], stride: usize, group: usize, rows: [&[f64]; LANES]) {
    for (j, column) in tile.chunks_exact_mut(stride).enumerate() {
        for (to, row) in column[group * LANES..][..LANES].iter_mut().zip(rows) {
            *to = row.get(j).copied().unwrap_or(0.0); // the last group may be short
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_aligned_also_when_cloned() {
        for len in [0, 1, 64, 1000] {
            let mut storage = TileStorage::<f64>::zeros(len);
            storage.iter_mut().enumerate().for_each(|(i, v)| *v = i as f64);
            let copies: Vec<_> = (0..9).map(|_| storage.clone()).collect();
            for copy in &copies {
                assert!(copy.as_ptr().addr().is_multiple_of(64) && copy[..] == storage[..]);
                assert_eq!(copy.len(), len);
            }
        }
    }

    #[test]
    fn gathered_rows_are_those_of_the_array() {
        for n in [1, 7, 64, 65, 150, 192] {
            let array = Array2::from_shape_fn((n, 3), |(i, j)| (3 * i + j) as f64 + 1.0);
            let tiles = Tiles::new(array.view());
            let mut storage = TileStorage::for_columns(3);
            for len in [64, 10, 1, 8] {
                storage.fill(f64::NAN);
                let rows: Vec<usize> = (0..len).map(|i| (37 * i + 5) % n).collect();
                let tile = tiles.gather(&rows, &mut storage);
                assert_eq!((tile.rows(), tile.columns()), (len, 3));
                assert_eq!(tile.view(), array.select(ndarray::Axis(0), &rows));
                assert_eq!(tile.values().iter().sum::<f64>(), tile.view().sum());
            }
        }
    }

    #[test]
    fn tiles_hold_the_array_and_zero_padding() {
        for rows in [1, 7, 8, 64, 65, 150, 192] {
            let array = Array2::from_shape_fn((rows, 3), |(i, j)| (3 * i + j) as f64 + 1.0);
            let tiles = Tiles::new(array.view());
            let mut seen = 0;
            for tile in tiles.iter() {
                for i in 0..tile.rows() {
                    for j in 0..3 {
                        assert_eq!(tile.view()[(i, j)], array[(seen + i, j)]);
                        assert_eq!(tile.column(j)[i], array[(seen + i, j)]);
                    }
                }
                let padding: f64 = tile.values().iter().sum::<f64>() - tile.view().sum();
                assert_eq!(padding, 0.0);
                seen += tile.rows();
            }
            assert_eq!(seen, rows);
        }
    }
}

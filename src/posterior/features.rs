//! The features of a posterior's rows, in memory or in a file.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Error;
use crate::data::RowFile;
use crate::engine::{LANES, LentTiles, Tile, TileStorage, Tiles, fill_lanes, padded};
use crate::error::unwind;

/// The features of all rows.
#[derive(Clone, Debug)]
pub(super) enum Features {
    InMemory(Tiles),
    InFile(FileTiles),
}

/// Rows of a file, cut into tiles, which are read as they are needed.
#[derive(Clone, Debug)]
pub(super) struct FileTiles {
    file: RowFile,
    /// The most rows of a tile.
    tile_rows: usize,
    /// Memory that no thread uses now.
    spare: Arc<Mutex<Vec<Buffer>>>,
}

/// Memory for a tile that is read.
#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// [`LANES`] rows.
    rows: Vec<f64>,
    tile: TileStorage,
}

impl Features {
    pub fn in_file(file: &RowFile, tile_rows: usize) -> Self {
        Self::InFile(FileTiles { file: file.clone(), tile_rows, spare: Arc::default() })
    }

    pub fn rows(&self) -> usize {
        match self {
            Self::InMemory(tiles) => tiles.rows(),
            Self::InFile(tiles) => tiles.file.rows(),
        }
    }

    pub fn columns(&self) -> usize {
        match self {
            Self::InMemory(tiles) => tiles.columns(),
            Self::InFile(tiles) => tiles.file.n_features(),
        }
    }

    /// The tiles, if they are in memory.
    pub fn in_memory(&self) -> Option<&Tiles> {
        match self {
            Self::InMemory(tiles) => Some(tiles),
            Self::InFile(_) => None,
        }
    }

    /// The number of tiles.
    pub fn n_tiles(&self) -> usize {
        match self {
            Self::InMemory(tiles) => tiles.n_tiles(),
            Self::InFile(tiles) => tiles.file.rows().div_ceil(tiles.tile_rows),
        }
    }

    /// The tiles with these numbers, each with the next one of the companions `with`.
    ///
    /// # Panics
    /// With the [`Error`] as payload, now or later, if the file has changed or cannot be read.
    pub fn range<I>(&self, numbers: Range<usize>, with: I) -> Lent<'_, I> {
        let buffer = match self {
            Self::InMemory(_) => None,
            Self::InFile(tiles) => {
                tiles.file.check_unchanged().unwrap_or_else(|error| unwind(error));
                Some(tiles.buffer())
            }
        };
        Lent { features: self, numbers, buffer, with }
    }

    /// These rows, in memory.
    pub fn select(&self, rows: &[usize]) -> Tiles {
        let tiles = match self {
            Self::InMemory(tiles) => return tiles.select(rows),
            Self::InFile(tiles) => tiles,
        };
        tiles.file.check_unchanged().unwrap_or_else(|error| unwind(error));
        let mut x = ndarray::Array2::zeros((rows.len(), self.columns()));
        let mut buffer = tiles.buffer();
        for (row, mut to) in rows.iter().zip(x.rows_mut()) {
            let read = tiles.file.gather_bytes(&[*row], &mut buffer.bytes);
            read.unwrap_or_else(|error| unwind(error));
            tiles.file.widen(&buffer.bytes, to.as_slice_mut().expect("a row of its own"));
        }
        tiles.put_back(buffer);
        Tiles::with_rows(x.view(), tiles.tile_rows)
    }

    /// Copies rows into `to` as one tile, like [`Tiles::gather`].
    pub fn gather<'a>(&self, rows: &[usize], to: &'a mut [f64]) -> Tile<'a> {
        let tiles = match self {
            Self::InMemory(tiles) => return tiles.gather(rows, to),
            Self::InFile(tiles) => tiles,
        };
        let mut buffer = tiles.buffer();
        let read = tiles.file.check_unchanged();
        let read = read.and_then(|()| tiles.file.gather_bytes(rows, &mut buffer.bytes));
        read.unwrap_or_else(|error| unwind(error));
        let to = &mut to[..padded(rows.len()) * self.columns()];
        tiles.widen(&buffer.bytes, &mut buffer.rows, rows.len(), to);
        tiles.put_back(buffer);
        Tile::new(to, rows.len())
    }

    /// Adds all features to a checksum.
    pub fn add_to(&self, crc: &mut crc32fast::Hasher) {
        match self {
            Self::InMemory(tiles) => tiles.add_to(crc),
            Self::InFile(tiles) => tiles.file.add_to(crc),
        }
    }
}

impl FileTiles {
    fn buffer(&self) -> Buffer {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Buffer {
            bytes: Vec::new(),
            rows: vec![0.0; LANES * self.file.n_features()],
            tile: TileStorage::zeros(self.tile_rows * self.file.n_features()),
        })
    }

    fn put_back(&self, buffer: Buffer) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }

    /// The tile with this number.
    fn read<'b>(&self, number: usize, buffer: &'b mut Buffer) -> Result<Tile<'b>, Error> {
        let first = number * self.tile_rows;
        let rows = self.tile_rows.min(self.file.rows() - first);
        self.file.read_bytes(first..first + rows, &mut buffer.bytes)?;
        let to = &mut buffer.tile[..padded(rows) * self.file.n_features()];
        self.widen(&buffer.bytes, &mut buffer.rows, rows, to);
        Ok(Tile::new(to, rows))
    }

    /// Writes so many rows, whose bytes are given, as a tile.
    fn widen(&self, bytes: &[u8], scratch: &mut [f64], rows: usize, tile: &mut [f64]) {
        let (columns, row_bytes) = (self.file.n_features(), self.file.row_bytes());
        for (group, bytes) in bytes.chunks(LANES * row_bytes).enumerate() {
            let mut lanes = [&[][..]; LANES];
            let each = scratch.chunks_exact_mut(columns).zip(bytes.chunks_exact(row_bytes));
            for (lane, (x, bytes)) in lanes.iter_mut().zip(each) {
                self.file.widen(bytes, x);
                *lane = x;
            }
            fill_lanes(tile, padded(rows), group, lanes); //~ row-lanes
        }
    }
}

/// Tiles of features, each with a companion: the result of [`Features::range`].
pub(crate) struct Lent<'a, I> {
    features: &'a Features,
    numbers: Range<usize>,
    /// Memory for tiles of a file.
    buffer: Option<Buffer>,
    with: I,
}

impl<'a, W, I: Iterator<Item = W>> LentTiles<'a, W> for Lent<'a, I> {
    #[inline]
    fn next_tile<'b>(&'b mut self) -> Option<(Tile<'b>, W)>
    where
        'a: 'b,
    {
        let number = self.numbers.next()?;
        let with = self.with.next()?;
        let tile = match (self.features, &mut self.buffer) {
            (Features::InFile(tiles), Some(buffer)) => {
                tiles.read(number, buffer).unwrap_or_else(|error| unwind(error))
            }
            (Features::InFile(_), None) => unreachable!("tiles of a file have memory"),
            (Features::InMemory(tiles), _) => tiles.tile(number),
        };
        Some((tile, with))
    }
}

impl<I> Drop for Lent<'_, I> {
    fn drop(&mut self) {
        if let (Features::InFile(tiles), Some(buffer)) = (self.features, self.buffer.take()) {
            tiles.put_back(buffer);
        }
    }
}

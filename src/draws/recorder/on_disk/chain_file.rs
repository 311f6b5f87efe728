//! Reading the file of one chain.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use super::header::{Header, numbers_of, row_bytes};
use super::table;
use crate::Error;
use crate::layout::Layout;

/// Reads the file of one chain row by row, in a run or after it: an iterator over draws, each as
/// long as [`layout`](Self::layout) says. It ends with the last row that was whole when the file
/// was opened, or after an error: a row whose checksum is wrong.
#[derive(Debug)]
pub struct ChainFile {
    pub(super) path: PathBuf,
    pub(super) header: Header,
    pub(super) layout: Layout,
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
    /// If the file cannot be read, is something else, or has a damaged header.
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

    /// The number of draws of which one is a row.
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

    /// The run, by [`ChainPlan::run`](super::ChainPlan::run): the same in the files of all its chains.
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

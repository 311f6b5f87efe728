//! Tables: text, which the library reads, and files of typed columns, which are read here.

mod arrow;
mod cell;
mod flat;
mod parquet;
mod unpack;
mod write;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use bnn_mcmc::Error;
use bnn_mcmc::data::{CsvData, CsvReader, Description, Features, Schema, TypedTable, rows_drawn};
use bnn_mcmc::error::Row;
use bnn_mcmc::fit::{Fit, Recipe};
use bnn_mcmc::message::Advice;

use self::cell::Cell;
pub use self::write::{Block, Predicted};

/// A table that was given by its path.
pub enum Table {
    /// A file of text.
    Text(PathBuf),
    /// The rows of a Parquet file.
    Typed { table: TypedTable, orders: Orders },
}

/// The categories of columns whose type has them in an order, in that order.
type Orders = BTreeMap<String, Vec<String>>;

impl Table {
    /// Opens the file at `path`. More than `limit` bytes of rows are refused, or of a file with types `sample` is drawn.
    pub fn open(path: &Path, limit: u64, sample: Option<Sample>) -> Result<Self, Error> {
        let name = path.display().to_string();
        if !is_parquet(path)? {
            return Ok(Self::Text(path.into()));
        }
        let open = || File::open(path).map_err(|e| Error::io(path, e));
        let read =
            |kept: Option<&[usize]>| typed(open()?, &name, Held { limit, kept, blocks: None });
        let too_long = |error: &Error| matches!(error, Error::Table { advice, .. } if advice.contains(&TOO_LONG));
        let read = match (read(None), sample.filter(|sample| sample.rows >= 2)) {
            (Err(error), Some(sample)) if too_long(&error) => {
                let file = open()?;
                let of = quietly(|| parquet::rows(&file, &name), &name)?;
                read(Some(&rows_drawn(sample.rows, of, sample.seed)))
            }
            (read, _) => read,
        };
        read.map(|(table, orders)| Self::Typed { table, orders })
    }

    /// Whether the file is text.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// The categories of a column in their order, if its type has one.
    pub fn order_of(&self, column: &str) -> Option<&[String]> {
        match self {
            Self::Text(_) => None,
            Self::Typed { orders, .. } => orders.get(column).map(Vec::as_slice),
        }
    }

    pub fn describe(&self, reader: &CsvReader) -> Result<Description, Error> {
        match self {
            Self::Text(path) => reader.describe_path(path),
            Self::Typed { table, .. } => reader.describe_table(table),
        }
    }

    /// Fits the table, which stays in memory.
    pub fn try_fit(&self, recipe: &Recipe) -> Result<Fit, Error> {
        match self {
            Self::Text(path) => recipe.read_csv(path),
            Self::Typed { table, .. } => recipe.read_table(table),
        }
    }

    /// Fits the table, which is freed before the run begins.
    pub fn fit(self, recipe: &Recipe) -> Result<Fit, Error> {
        match self {
            Self::Text(path) => recipe.read_csv(path),
            Self::Typed { table, .. } => recipe.read_table(table),
        }
    }

    pub fn read(&self, schema: &Schema) -> Result<CsvData, Error> {
        match self {
            Self::Text(path) => schema.read_path(path),
            Self::Typed { table, .. } => schema.read_table(table),
        }
    }

    pub fn read_features(&self, schema: &Schema) -> Result<Features, Error> {
        match self {
            Self::Text(path) => schema.read_features_path(path),
            Self::Typed { table, .. } => schema.read_features_table(table),
        }
    }
}

/// The bytes of a block of rows.
pub const BLOCK: u64 = 1 << 24;

/// The rows of a file with types, block by block: tables of some 16 MiB, of which more than `limit` bytes are refused. A thread
/// reads the next one meanwhile. `None` of a file of text.
pub fn blocks(
    path: &Path,
    limit: u64,
) -> Result<Option<impl Iterator<Item = Result<TypedTable, Error>>>, Error> {
    if !is_parquet(path)? {
        return Ok(None);
    }
    let (file, name) = (File::open(path).map_err(|e| Error::io(path, e))?, path.display());
    let (name, (to, blocks)) = (name.to_string(), sync_channel(1));
    let read = move || {
        let held = Held { limit, kept: None, blocks: Some(&to) };
        let last = typed(file, &name, held).map(|(table, _)| table);
        // Nobody waits for it after an error.
        let _ = to.send(last);
    };
    thread::Builder::new().spawn(read).map_err(|e| Error::io(path, e))?;
    Ok(Some(blocks.into_iter()))
}

/// The advice of an error about too many rows.
const TOO_LONG: Advice = Advice::RaiseLimit { if_trusted: true };

/// An error about too many rows of a table that is fitted, of which some can be drawn.
pub fn with_drawing(error: Error) -> Error {
    match error {
        Error::Table { table, problem, mut advice } if advice.contains(&TOO_LONG) => {
            advice.insert(0, Advice::SampleRows);
            Error::Table { table, problem, advice }
        }
        error => error,
    }
}

/// The number of rows that are drawn of a table which is too long to be held, and the seed.
#[derive(Clone, Copy)]
pub struct Sample {
    pub rows: usize,
    pub seed: u64,
}

/// The rows of a file that are held.
struct Held<'k> {
    /// The bytes of them.
    limit: u64,
    /// Their numbers, counted from 0, in their order; `None` for all.
    kept: Option<&'k [usize]>,
    /// Takes them away block by block.
    blocks: Option<&'k SyncSender<Result<TypedTable, Error>>>,
}

/// The rows that are held from some row on.
#[derive(Clone, Copy)]
struct Kept<'k>(Option<&'k [usize]>);

impl Kept<'_> {
    /// Whether a row is held; rows are asked for in their order.
    fn next_is(&mut self, row: usize) -> bool {
        match self.0 {
            None => true,
            Some([next, rest @ ..]) if *next == row => {
                self.0 = Some(rest);
                true
            }
            Some(_) => false,
        }
    }
}

impl Held<'_> {
    fn kept_from(&self, row: usize) -> Kept<'_> {
        Kept(self.kept.map(|kept| &kept[kept.partition_point(|kept| *kept < row)..]))
    }

    /// Makes room for those of so many rows that are held at once.
    fn reserve(&self, table: &mut TypedTable, rows: usize) -> Result<(), Error> {
        match self.blocks {
            Some(_) => Ok(()),
            None => table.reserve(self.kept.map_or(rows, <[usize]>::len)),
        }
    }

    /// The number of rows of each column that are read at a time: parts of a block if there are blocks.
    fn batch(&self, columns: usize, rows: usize) -> usize {
        const BYTES: usize = 16;
        match self.blocks {
            None => rows,
            Some(_) => (self.block() as usize / (BYTES * columns.max(1))).clamp(1, 1 << 13),
        }
    }

    /// The bytes of a block.
    fn block(&self) -> u64 {
        BLOCK.min(self.limit / 2)
    }

    /// Gives a block away, if it is one, and begins the next one, whose first row has so many before it.
    fn give(&self, table: &mut TypedTable, before: usize) -> Result<(), Error> {
        let Some(to) = self.blocks.filter(|_| table.bytes() >= self.block()) else {
            return Ok(());
        };
        let columns = table.columns().map(|(name, kind)| (name, kind.clone()));
        let mut next = TypedTable::new(table.name(), columns, self.limit);
        next.skip_rows(before);
        let name = next.name().to_string();
        let block = std::mem::replace(table, next);
        to.send(Ok(block)).map_err(|_| problem(&name, "nobody takes its rows"))
    }
}

/// Runs a reader. Its panic is an error of the file.
fn quietly<T>(read: impl FnOnce() -> Result<T, Error>, name: &str) -> Result<T, Error> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let read = catch_unwind(AssertUnwindSafe(read));
    std::panic::set_hook(hook);
    read.unwrap_or_else(|_| {
        Err(problem(name, "the file is broken: its reader ended at a contradiction in it"))
    })
}

/// An error about a file.
fn problem(name: &str, problem: impl Into<String>) -> Error {
    Error::Table { table: name.into(), problem: problem.into(), advice: Vec::new() }
}

/// The table in a Parquet file.
fn typed(file: File, name: &str, held: Held) -> Result<(TypedTable, Orders), Error> {
    quietly(|| parquet::read(file, name, held), name)
}

/// Whether a file is Parquet, by its bytes. A file that is named as such and is none is an error, and so is one of Arrow, of which
/// only Parquet is read.
fn is_parquet(path: &Path) -> Result<bool, Error> {
    let is_file = std::fs::metadata(path).is_ok_and(|there| there.is_file());
    // A pipe can be read only once, and is of text.
    if !is_file {
        return Ok(false);
    }
    let io = |e| Error::io(path, e);
    let mut file = File::open(path).map_err(io)?;
    let (mut first, mut last) = (Vec::new(), Vec::new());
    file.by_ref().take(8).read_to_end(&mut first).map_err(io)?;
    let size = file.seek(SeekFrom::End(0)).map_err(io)?;
    file.seek(SeekFrom::Start(size.saturating_sub(4))).map_err(io)?;
    file.read_to_end(&mut last).map_err(io)?;
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let is_named = |names: &[&str]| ending.as_deref().is_some_and(|ending| names.contains(&ending));
    let begins = |magic: &[u8]| first.starts_with(magic);
    let found = match is_named(&["parquet", "parq", "pq"]) {
        true if first.is_empty() => Err("the file is empty"),
        _ if begins(b"PARE") && last == b"PARE" => {
            Err("the Parquet file is encrypted: write it without encryption")
        }
        _ if begins(b"PAR1") && last == b"PAR1" => Ok(true),
        _ if begins(b"ARROW1\0\0") || is_named(&["arrow", "feather", "ipc"]) => {
            Err("Arrow files are not read: write the table as Parquet")
        }
        true if begins(b"PAR1") => Err("the Parquet file is cut off: it does not end in PAR1"),
        true => Err("it is no Parquet file, which begins with PAR1: name it by what it is"),
        false => Ok(false),
    };
    found.map_err(|e| problem(&path.display().to_string(), e))
}

/// A column of some rows.
trait Column {
    /// The value of the next row, with its text if it has one.
    fn cell(&mut self, text: &mut String) -> Result<Cell, String>;

    /// Passes over the next row.
    fn skip(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A column of another type, of which nothing is read.
struct Unread;

impl Column for Unread {
    fn cell(&mut self, _: &mut String) -> Result<Cell, String> {
        Ok(Cell::Missing)
    }
}

/// Adds those of so many rows of `columns` that are held to a table, behind `before` rows of its file, one column after the other:
/// what it takes to read one is freed when it is read.
fn fill(
    table: &mut TypedTable,
    mut columns: Vec<Box<dyn Column>>,
    before: usize,
    rows: usize,
    held: &Held,
) -> Result<(), Error> {
    let (mut text, mut from) = (String::new(), 0);
    while from < rows {
        let to = rows.min(from + held.batch(columns.len(), rows));
        for (j, column) in columns.iter_mut().enumerate() {
            let mut kept = held.kept_from(before + from);
            for row in from..to {
                text.clear();
                let cell = match kept.next_is(before + row) {
                    true => column.cell(&mut text).map(Some),
                    false => column.skip().map(|()| None),
                };
                match cell {
                    Ok(None) => {}
                    Ok(Some(cell)) => table.push_in(j, cell.value(&text))?,
                    Err(problem) => return Err(cell_problem(table, j, before + row, problem)),
                }
            }
            if to == rows {
                *column = Box::new(Unread);
            }
        }
        let mut kept = held.kept_from(before + from);
        let numbers = (before + from..before + to).filter(|row| kept.next_is(*row));
        table.end_rows(numbers.map(|row| row + 1))?;
        table.skip_rows(before + to - table.rows());
        held.give(table, before + to)?;
        from = to;
    }
    Ok(())
}

/// An error about the cell of a row, counted from 0.
fn cell_problem(table: &TypedTable, column: usize, row: usize, problem: String) -> Error {
    let named = table.columns().nth(column).map_or("", |(name, _)| name);
    let (column, row) = (named.escape_debug().to_string(), Row::Number(row + 1));
    Error::Cell { table: table.name().into(), row, column, problem, advice: Vec::new() }
}

#[cfg(test)]
mod tests;

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

use bnn_mcmc::Error;
use bnn_mcmc::data::{CsvData, CsvReader, Description, Features, Schema, TypedTable};
use bnn_mcmc::error::Row;
use bnn_mcmc::fit::{Fit, Imputed, Recipe};

pub use self::write::Predicted;

/// A table that was given by its path.
pub enum Table {
    /// A file of text.
    Text(PathBuf),
    /// The rows of a Parquet or Arrow file.
    Typed { table: TypedTable, orders: Orders },
}

/// The categories of columns whose type has them in an order, in that order.
type Orders = BTreeMap<String, Vec<String>>;

/// The forms of a file with types, by its first and last bytes or by its name.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Parquet,
    Arrow,
}

impl Table {
    /// Opens the file at `path`. More than `limit` bytes of rows, as text, are refused.
    pub fn open(path: &Path, limit: u64) -> Result<Self, Error> {
        let name = path.display().to_string();
        let Some(form) = form(path)? else { return Ok(Self::Text(path.into())) };
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let read = || match form {
            Form::Parquet => parquet::read(file, &name, limit),
            Form::Arrow => arrow::read(file, &name, limit),
        };
        quietly(read)
            .unwrap_or_else(|| {
                Err(problem(&name, "the file is broken: its reader ended at a contradiction in it"))
            })
            .map(|(table, orders)| Self::Typed { table, orders })
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

    /// Fits so many completed copies of the table, as [`fit`](Self::fit) does.
    pub fn fit_imputed(self, recipe: &Recipe, tables: usize) -> Result<Imputed, Error> {
        match self {
            Self::Text(path) => Imputed::read_csv(recipe, tables, path),
            Self::Typed { table, .. } => Imputed::read_table(recipe, tables, table),
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

/// Runs a reader, and returns `None` if it panicked, without a word: that is said as an error of the file.
fn quietly<T>(read: impl FnOnce() -> T) -> Option<T> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let read = catch_unwind(AssertUnwindSafe(read));
    std::panic::set_hook(hook);
    read.ok()
}

/// An error about a file.
fn problem(name: &str, problem: impl Into<String>) -> Error {
    Error::Table { table: name.into(), problem: problem.into(), advice: Vec::new() }
}

/// The form of a file that is no text. Its bytes decide; its name, where they are of neither form.
fn form(path: &Path) -> Result<Option<Form>, Error> {
    let is_file = std::fs::metadata(path).is_ok_and(|there| there.is_file());
    // A pipe can be read only once, and is of text.
    if !is_file {
        return Ok(None);
    }
    let io = |e| Error::io(path, e);
    let mut file = File::open(path).map_err(io)?;
    let (mut first, mut last) = (Vec::new(), Vec::new());
    file.by_ref().take(8).read_to_end(&mut first).map_err(io)?;
    let size = file.seek(SeekFrom::End(0)).map_err(io)?;
    file.seek(SeekFrom::Start(size.saturating_sub(4))).map_err(io)?;
    file.read_to_end(&mut last).map_err(io)?;
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let named = match ending.as_deref() {
        Some("parquet" | "parq" | "pq") => Some(Form::Parquet),
        Some("arrow" | "feather" | "ipc") => Some(Form::Arrow),
        _ => None,
    };
    let name = path.display().to_string();
    let (begins, ends) = (|magic: &[u8]| first.starts_with(magic), |magic: &[u8]| last == magic);
    let found = match named {
        _ if first.is_empty() && named.is_some() => Err("the file is empty".into()),
        _ if begins(b"PARE") && ends(b"PARE") => {
            Err("the Parquet file is encrypted: write it without encryption".into())
        }
        _ if begins(b"PAR1") && ends(b"PAR1") => Ok(Some(Form::Parquet)),
        _ if begins(b"ARROW1\0\0") => Ok(Some(Form::Arrow)),
        Some(Form::Parquet) if begins(b"PAR1") => {
            Err("the Parquet file is cut off: it does not end in PAR1".into())
        }
        Some(Form::Parquet) => {
            Err("it is no Parquet file, which begins with PAR1: name it by what it is".to_string())
        }
        Some(Form::Arrow) if begins(b"FEA1") => {
            Err("it is a Feather file of version 1: write it anew in version 2".into())
        }
        Some(Form::Arrow) if begins(&[0xFF; 4]) => {
            Err("it is a stream of Arrow: write it as a file (polars: `write_ipc`)".into())
        }
        Some(Form::Arrow) => {
            Err("it is no Arrow file, which begins with ARROW1: name it by what it is".into())
        }
        None => Ok(None),
    };
    found.map_err(|e: String| problem(&name, e))
}

/// A column of some rows.
trait Column {
    /// Writes the value of a row, counted from the first one of these rows; rows are asked for in their order.
    /// Returns whether there is one.
    fn cell(&mut self, row: usize, text: &mut String) -> Result<bool, String>;
}

/// A column of another type, of which nothing is read.
struct Unread;

impl Column for Unread {
    fn cell(&mut self, _: usize, _: &mut String) -> Result<bool, String> {
        Ok(false)
    }
}

/// Adds so many rows of `columns` to a table that has `before` of them.
fn fill(
    table: &mut TypedTable,
    mut columns: Vec<Box<dyn Column>>,
    before: usize,
    rows: usize,
) -> Result<(), Error> {
    let mut text = String::new();
    for row in 0..rows {
        for (j, column) in columns.iter_mut().enumerate() {
            text.clear();
            match column.cell(row, &mut text) {
                Ok(is_there) => table.push(is_there.then_some(&text)),
                Err(problem) => {
                    let (name, row) = (table.name().to_string(), Row::Number(before + row + 1));
                    let named = table.columns().nth(j).map_or("", |(name, _)| name);
                    let column = named.escape_debug().to_string();
                    return Err(Error::Cell {
                        table: name,
                        row,
                        column,
                        problem,
                        advice: Vec::new(),
                    });
                }
            }
        }
        table.end_row()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

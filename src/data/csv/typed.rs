//! Tables whose columns have types, such as the tables of Parquet files and data frames.

use super::Lines;
use super::table::numbered;
use crate::Error;
use crate::message::Advice;

/// The type of a column of a [`TypedTable`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    /// Numbers, written as in Rust: `-1.5e3`.
    Numbers,
    /// True and false, written `True` and `False`: as a feature 1 and 0.
    Bools,
    /// Dates, with or without a time of the day, or times of the day: in ISO 8601, all in one way.
    Dates,
    /// Text: never taken for numbers or dates.
    Text,
    /// Categories: labels of any number, whatever they look like.
    Labels,
    /// Values of this type, which can be neither a feature nor a response: an error where the column is used.
    Other(String),
}

/// A table whose columns have types, so that nothing is guessed from the cells as it is from text: for
/// programs that read other files than text. It is handed to
/// [`CsvReader::read_table`](super::CsvReader::read_table),
/// [`CsvReader::describe_table`](super::CsvReader::describe_table),
/// [`Schema::read_table`](super::Schema::read_table) and
/// [`Schema::read_features_table`](super::Schema::read_features_table), where rows are read as the same rows
/// of text are, bit for bit, with these differences:
///
/// - Settings of the reader on the form of text (delimiter, header, charset, decimal mark) have no effect.
/// - A cell is missing if it is `None`, empty, or one of the reader's
///   [markers](super::CsvReader::missing).
/// - The [type](ColumnType) decides what a column is. Text in a column that was numbers or dates in training
///   is read as a file of text has it.
/// - Errors name the row, counted from 1, and so do [`Lines`]: there are no lines.
///
/// The rows are held as text: some 10 to 25 bytes for a number.
///
/// ```
/// use bnn_mcmc::data::{ColumnType, CsvReader, TypedTable};
/// let columns = [("code", ColumnType::Text), ("y", ColumnType::Numbers)];
/// let mut table = TypedTable::new("data.parquet", columns, 1 << 30);
/// for (code, y) in [("1", "0.5"), ("2", "1.5"), ("1", "0.7")] {
///     table.push(Some(code));
///     table.push(Some(y));
///     table.end_row()?;
/// }
/// let data = CsvReader::regression("y").read_table(&table)?;
/// assert_eq!(data.dataset.feature_names(), ["code=1", "code=2"]);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TypedTable {
    pub(super) name: String,
    pub(super) names: Vec<String>,
    pub(super) types: Vec<ColumnType>,
    /// The rows as CSV, without a header.
    pub(super) text: String,
    limit: u64,
    /// The number of cells of the row that was begun.
    cells: usize,
    /// The rows, by their numbers among those of the whole table.
    pub(super) places: Lines,
    /// The number of rows so far, with those that were [skipped](Self::skip_rows).
    rows: usize,
}

impl TypedTable {
    /// A table without rows. Errors call it `name`. More than `limit` bytes of rows, as text, are refused.
    pub fn new<S: Into<String>>(
        name: impl Into<String>,
        columns: impl IntoIterator<Item = (S, ColumnType)>,
        limit: u64,
    ) -> Self {
        let named = |(j, (name, kind)): (usize, (S, ColumnType))| {
            let name: String = name.into();
            match name.trim() {
                "" => (numbered(j), kind),
                name => (name.to_string(), kind),
            }
        };
        let (names, types) = columns.into_iter().enumerate().map(named).unzip();
        let (name, text, places) = (name.into(), String::new(), Lines::of_rows());
        Self { name, names, types, text, limit, cells: 0, places, rows: 0 }
    }

    /// The name of the table in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the columns, without blanks at their ends, and their types.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &ColumnType)> {
        self.names.iter().map(String::as_str).zip(&self.types)
    }

    /// Adds a cell to the row, `None` for a missing value. Blanks at the ends of a text do not count.
    pub fn push(&mut self, cell: Option<&str>) {
        if self.cells > 0 {
            self.text.push(',');
        }
        self.cells += 1;
        let cell = cell.unwrap_or_default().trim();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.:".contains(&byte);
        if !cell.is_empty() && cell.bytes().all(is_plain) {
            self.text.push_str(cell);
            return;
        }
        // Not nothing: a row of one cell would be blank.
        self.text.push('"');
        for (part, quoted) in cell.split('"').enumerate() {
            if part > 0 {
                self.text.push_str("\"\"");
            }
            self.text.push_str(quoted);
        }
        self.text.push('"');
    }

    /// Ends the row.
    ///
    /// # Errors
    /// A row of fewer or more cells than columns; more text than the limit.
    pub fn end_row(&mut self) -> Result<(), Error> {
        let cells = std::mem::take(&mut self.cells);
        if cells != self.names.len() {
            return Err(Error::shape("cells of a row", cells, self.names.len()));
        }
        self.text.push('\n');
        self.rows += 1;
        self.places.push(self.rows);
        self.check_limit(self.limit)
    }

    /// Passes over rows of the whole table that are not held: those that follow are numbered as if they were. A table that was
    /// [read](super::CsvReader::read_table) says [how many there are](super::CsvData::drawn_from).
    ///
    /// ```
    /// use bnn_mcmc::data::{ColumnType, CsvReader, TypedTable};
    /// let columns = [("x", ColumnType::Numbers), ("y", ColumnType::Numbers)];
    /// let mut table = TypedTable::new("data.parquet", columns, 1 << 30);
    /// for (x, y) in [("1", "0.5"), ("2", "1.5")] {
    ///     table.skip_rows(3);
    ///     table.push(Some(x));
    ///     table.push(Some(y));
    ///     table.end_row()?;
    /// }
    /// let data = CsvReader::regression("y").read_table(&table)?;
    /// assert_eq!(data.drawn_from, Some(8));
    /// assert_eq!(data.lines.iter().collect::<Vec<_>>(), [4, 8]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn skip_rows(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// The number of rows of the whole table, if only some are held.
    pub(super) fn drawn_from(&self) -> Option<usize> {
        (self.places.rows() < self.rows).then_some(self.rows)
    }

    /// The bytes of the rows, as text, of which there is a limit.
    pub fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    pub(super) fn check_limit(&self, limit: u64) -> Result<(), Error> {
        if self.bytes() <= limit {
            return Ok(());
        }
        let problem = format!("the rows take more than {limit} bytes as text, which is the limit");
        let advice = [Advice::RaiseLimit { if_trusted: true }];
        Err(Error::table(self.name.clone(), problem).advise(advice))
    }
}

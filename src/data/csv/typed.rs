//! Tables whose columns have types, such as the tables of Parquet files and data frames.

use std::borrow::Cow;
use std::collections::HashMap;

use super::dates::{in_iso, seconds};
use super::table::numbered;
use super::{Decimal, Lines};
use crate::cells::shown;
use crate::message::Advice;
use crate::{Error, memory};

/// The type of a column of a [`TypedTable`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    /// Numbers; as text they are written as in Rust, `-1.5e3`.
    Numbers,
    /// True and false, as text `True` and `False`; as a feature 1 and 0.
    Bools,
    /// Dates, with or without a time of the day, or times of the day: in ISO 8601, all in one way.
    Dates,
    /// The same as numbers of seconds, as [`Dates::of`](super::Dates::of) has them.
    Times {
        /// Whether they are times of the day.
        is_clock: bool,
        /// The time zone of the clock that shows them, if it is known.
        zone: Option<String>,
    },
    /// Text: never taken for numbers or dates.
    Text,
    /// Categories: labels of any number, whatever they look like.
    Labels,
    /// Values of this type, which can be neither a feature nor a response: an error where the column is used.
    Other(String),
}

/// A value of a [`TypedTable`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'v> {
    /// No value.
    Missing,
    /// A number; NaN is missing.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// A text, also that of a date, or of a number that may not be the same in 64 bits. Blanks at its ends do not count.
    Text(&'v str),
}

impl<'v> From<Option<&'v str>> for Value<'v> {
    fn from(cell: Option<&'v str>) -> Self {
        cell.map_or(Self::Missing, Self::Text)
    }
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
/// - A cell is missing if it has no value, is empty, or is one of the reader's
///   [markers](super::CsvReader::missing).
/// - The [type](ColumnType) decides what a column is. Text in a column that was numbers or dates in training
///   is read as a file of text has it.
/// - Errors name the row, counted from 1, and so do [`Lines`]: there are no lines.
///
/// A number takes 8 bytes, a text its length and 8 more.
///
/// ```
/// use bnn_mcmc::data::{ColumnType, CsvReader, TypedTable, Value};
/// let columns = [("code", ColumnType::Text), ("y", ColumnType::Numbers)];
/// let mut table = TypedTable::new("data.parquet", columns, 1 << 30);
/// for (code, y) in [("1", 0.5), ("2", 1.5), ("1", 0.7)] {
///     table.push(Value::Text(code))?;
///     table.push(Value::Number(y))?;
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
    columns: Vec<Values>,
    limit: u64,
    bytes: u64,
    /// The number of cells of the row that was begun.
    cells: usize,
    /// The rows, by their numbers among those of the whole table.
    pub(super) places: Lines,
    /// The number of rows so far, with those that were [skipped](Self::skip_rows).
    rows: usize,
    /// Whether the rows are [those of a frame](Self::of_frame).
    pub(super) is_frame: bool,
}

/// The bytes of a number, and of the place of a text.
const WORD: usize = 8;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// Of numbers, and of true and false as 1 and 0; NaN is missing.
    Numbers {
        numbers: Vec<f64>,
        are_bools: bool,
        /// The cells whose text is not that of their number, by their rows.
        written: HashMap<usize, Box<str>>,
    },
    /// Of times in seconds; NaN is missing.
    Times(Vec<f64>),
    /// Of texts, one behind the other, and the end of each.
    Texts { text: String, ends: Vec<usize>, blanks: Option<(usize, String)> },
    /// The number of values of another type, which are not held.
    Others(usize),
}

impl Values {
    fn of(kind: &ColumnType) -> Self {
        match kind {
            ColumnType::Numbers | ColumnType::Bools => Self::Numbers {
                numbers: Vec::new(),
                are_bools: *kind == ColumnType::Bools,
                written: HashMap::new(),
            },
            ColumnType::Times { .. } => Self::Times(Vec::new()),
            ColumnType::Dates | ColumnType::Text | ColumnType::Labels => {
                Self::Texts { text: String::new(), ends: Vec::new(), blanks: None }
            }
            ColumnType::Other(_) => Self::Others(0),
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::Numbers { numbers, .. } | Self::Times(numbers) => numbers.len(),
            Self::Texts { ends, .. } => ends.len(),
            Self::Others(rows) => *rows,
        }
    }

    /// Makes room for so many more.
    fn reserve(&mut self, rows: usize) {
        match self {
            Self::Numbers { numbers, .. } | Self::Times(numbers) => numbers.reserve_exact(rows),
            Self::Texts { ends, .. } => ends.reserve_exact(rows),
            Self::Others(_) => {}
        }
    }

    /// Adds a value. Returns the bytes that it takes.
    fn push(&mut self, value: Value) -> usize {
        match self {
            Self::Numbers { numbers, are_bools, written } => {
                let (number, cell) = match value {
                    Value::Missing => (f64::NAN, None),
                    Value::Number(number) => (number, None),
                    Value::Bool(is) => (f64::from(u8::from(is)), None),
                    Value::Text(cell) => {
                        let cell = cell.trim();
                        (number_of(cell, *are_bools), Some(cell).filter(|cell| !cell.is_empty()))
                    }
                };
                // Of numbers in a column of true and false the number is the text.
                let is_other = *are_bools && matches!(value, Value::Number(x) if !x.is_nan());
                let shown = || text_of(number, *are_bools);
                let is_other_text = |cell: &str| number.is_nan() || shown() != cell; //~ written-number
                let cell = match cell {
                    Some(cell) => is_other_text(cell).then_some(Cow::Borrowed(cell)),
                    None => is_other.then(|| text_of(number, false)),
                };
                let bytes = cell.as_ref().map_or(0, |cell| cell.len() + 4 * WORD);
                if let Some(cell) = cell {
                    written.insert(numbers.len(), cell.into_owned().into());
                }
                numbers.push(number);
                WORD + bytes
            }
            Self::Texts { text, ends, blanks } => {
                let before = text.len();
                match value {
                    Value::Missing => {}
                    Value::Number(number) if number.is_nan() => {}
                    Value::Number(number) => text.push_str(&text_of(number, false)),
                    Value::Bool(is) => text.push_str(&text_of(f64::from(u8::from(is)), true)),
                    Value::Text(cell) => {
                        let trimmed = cell.trim();
                        if trimmed.len() < cell.len() && !trimmed.is_empty() && blanks.is_none() {
                            *blanks = Some((ends.len(), cell.into()));
                        }
                        text.push_str(trimmed);
                    }
                }
                ends.push(text.len());
                WORD + text.len() - before
            }
            Self::Times(times) => {
                times.push(if let Value::Number(time) = value { time } else { f64::NAN });
                WORD
            }
            Self::Others(rows) => {
                *rows += 1;
                0
            }
        }
    }

    fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Numbers { numbers, are_bools, written } => {
                let written = match written.is_empty() {
                    true => None,
                    false => written.get(&row).map(|cell| &**cell),
                };
                match (numbers[row], written) {
                    (number, None) if number.is_nan() => Cell::Text(Cow::Borrowed("")),
                    (number, Some(cell)) if number.is_nan() => Cell::Text(Cow::Borrowed(cell)),
                    (number, written) => Cell::Number { number, is_bool: *are_bools, written },
                }
            }
            Self::Texts { text, ends, .. } => {
                let start = row.checked_sub(1).map_or(0, |before| ends[before]);
                Cell::Text(Cow::Borrowed(&text[start..ends[row]]))
            }
            Self::Times(times) if !times[row].is_nan() => Cell::Time(times[row]),
            Self::Times(_) | Self::Others(_) => Cell::Text(Cow::Borrowed("")),
        }
    }
}

/// The number of a cell of text, as the text of [`text_of`] has it; NaN if it is none.
fn number_of(cell: &str, is_bool: bool) -> f64 {
    match (is_bool, cell) {
        (true, "True") => 1.0,
        (true, "False") => 0.0,
        (true, _) => f64::NAN,
        (false, cell) => cell.parse().unwrap_or(f64::NAN),
    }
}

/// The text of a number, which gives the same number again.
pub(super) fn text_of(number: f64, is_bool: bool) -> Cow<'static, str> {
    let size = number.abs();
    match is_bool {
        true if number == 1.0 => "True".into(),
        true => "False".into(),
        false if size == 0.0 || (1e-5..1e17).contains(&size) => number.to_string().into(),
        false => format!("{number:e}").into(),
    }
}

/// A cell of a row: of a text, or a number of a column with a type.
#[derive(Clone, Debug)]
pub(super) enum Cell<'t> {
    Text(Cow<'t, str>),
    Number {
        number: f64,
        is_bool: bool,
        /// Its text, where it is not that of the number.
        written: Option<&'t str>,
    },
    /// A time in seconds.
    Time(f64),
}

/// What cells are compared by.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Key<'t> {
    /// The bits of a number.
    Number(u64),
    Text(Cow<'t, str>),
}

impl Key<'_> {
    /// The cell as a text has it.
    pub(super) fn text(self) -> String {
        match self {
            Self::Number(bits) => text_of(f64::from_bits(bits), false).into_owned(),
            Self::Text(text) => text.into_owned(),
        }
    }
}

impl<'t> Cell<'t> {
    /// The cell as a text has it.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Number { written: Some(text), .. } => Cow::Borrowed(text),
            Self::Number { number, is_bool, .. } => text_of(*number, *is_bool),
            Self::Time(time) => in_iso(*time).into(),
        }
    }

    /// The same, for as long as the table is there.
    pub(super) fn to_text(&self) -> Cow<'t, str> {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number { written: Some(text), .. } => Cow::Borrowed(text),
            Self::Number { number, is_bool, .. } => text_of(*number, *is_bool),
            Self::Time(time) => in_iso(*time).into(),
        }
    }

    /// The number of a cell that holds one and no more, such as true or false.
    pub(super) fn number(&self, decimal: Decimal) -> Option<f64> {
        match self {
            Self::Text(text) => decimal.parse(text),
            Self::Number { number, is_bool: false, .. } => Some(*number),
            Self::Number { .. } | Self::Time(_) => None,
        }
    }

    /// The time in seconds of a cell whose day is written in this way, of none for a time of the day.
    pub(super) fn seconds(&self, day: Option<&str>) -> Option<f64> {
        match self {
            Self::Time(time) => Some(*time),
            _ => seconds(&self.text(), day),
        }
    }

    /// The number, or else the text, such that equal cells have equal ones.
    pub(super) fn key(&self) -> Key<'t> {
        match self {
            Self::Number { number, is_bool: false, written: None } => Key::Number(number.to_bits()),
            _ => Key::Text(self.to_text()),
        }
    }

    /// Whether the text is one of these, in capitals or small letters.
    pub(super) fn is_among(&self, texts: &[String]) -> bool {
        let may_begin = |byte: &u8| byte.is_ascii_digit() || b"+-.iI".contains(byte);
        let is_number = |text: &str| text.as_bytes().first().is_some_and(may_begin);
        match self {
            Self::Text(own) => texts.iter().any(|text| text.eq_ignore_ascii_case(own)),
            Self::Number { written: None, is_bool: false, .. } => {
                let mut texts = texts.iter().filter(|text| is_number(text)).peekable();
                if texts.peek().is_none() {
                    return false;
                }
                let own = self.text();
                texts.any(|text| text.eq_ignore_ascii_case(&own))
            }
            Self::Time(_) => false,
            Self::Number { .. } => {
                let own = self.text();
                texts.iter().any(|text| text.eq_ignore_ascii_case(&own))
            }
        }
    }

    /// Whether there is nothing in the cell.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }
}

impl TypedTable {
    /// A table without rows. Errors call it `name`. Rows of more than `limit` bytes are refused.
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
        let (names, types): (_, Vec<ColumnType>) =
            columns.into_iter().enumerate().map(named).unzip();
        let (columns, places) = (types.iter().map(Values::of).collect(), Lines::of_rows());
        let (name, bytes, cells, rows) = (name.into(), 0, 0, 0);
        let is_frame = false;
        Self { name, names, types, columns, limit, bytes, cells, places, rows, is_frame }
    }

    /// A table for the columns of a data frame in memory, which [`add_column`](Self::add_column) takes one by one: for
    /// [`Schema::of_features`](super::Schema::of_features). Its rows go with values elsewhere, such as a response: errors count
    /// them from 0, and none is left out. Text is labels, whatever it looks like. There is no limit of bytes.
    pub fn of_frame(name: impl Into<String>) -> Self {
        Self { is_frame: true, ..Self::new::<String>(name, [], u64::MAX) }
    }

    /// Adds a column with its values in all rows.
    pub fn add_column<'v>(
        &mut self,
        name: impl Into<String>,
        kind: ColumnType,
        values: impl IntoIterator<Item = Value<'v>>,
    ) {
        let mut column = Values::of(&kind);
        let values = values.into_iter();
        column.reserve(values.size_hint().0);
        values.for_each(|value| self.bytes += column.push(value) as u64);
        if self.columns.is_empty() {
            self.rows = column.rows();
            (1..=self.rows).for_each(|row| self.places.push(row));
        }
        self.names.push(name.into());
        self.types.push(kind);
        self.columns.push(column);
    }

    /// The name of the table in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the columns, without blanks at their ends, and their types.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &ColumnType)> {
        self.names.iter().map(String::as_str).zip(&self.types)
    }

    /// Makes room for so many rows more.
    ///
    /// # Errors
    /// They are not within the limit, or do not fit into [memory](crate::memory), as far as that can be known without their texts.
    pub fn reserve(&mut self, rows: usize) -> Result<(), Error> {
        let is_held = |values: &&Values| !matches!(values, Values::Others(_));
        let columns = self.columns.iter().filter(is_held).count();
        let more = WORD as u128 * rows as u128 * columns as u128;
        if u128::from(self.bytes) + more > u128::from(self.limit) {
            return Err(self.too_long(self.limit));
        }
        let size = [(rows, "rows"), (columns, "columns")];
        memory::check::<f64>(&self.name, &size, Advice::SampleRows)?;
        self.columns.iter_mut().for_each(|values| values.reserve(rows));
        Ok(())
    }

    /// Adds a cell to the row.
    ///
    /// # Errors
    /// More cells than columns; more bytes than the limit.
    pub fn push<'v>(&mut self, value: impl Into<Value<'v>>) -> Result<(), Error> {
        let place = self.cells;
        self.cells += 1;
        self.push_in(place, value.into())
    }

    /// Ends the row.
    ///
    /// # Errors
    /// A row of fewer or more cells than columns.
    pub fn end_row(&mut self) -> Result<(), Error> {
        let cells = std::mem::take(&mut self.cells);
        if cells != self.names.len() {
            return Err(Error::shape("cells of a row", cells, self.names.len()));
        }
        self.rows += 1;
        self.places.push(self.rows);
        Ok(())
    }

    /// Adds a value to a column, counted from 0: for programs that read column by column, and [end the
    /// rows](Self::end_rows) when all columns have them.
    ///
    /// ```
    /// use bnn_mcmc::data::{ColumnType, CsvReader, TypedTable, Value};
    /// let columns = [("x", ColumnType::Numbers), ("y", ColumnType::Numbers)];
    /// let mut table = TypedTable::new("data.parquet", columns, 1 << 30);
    /// for (column, values) in [[0.5, 1.5], [2.0, 3.0]].iter().enumerate() {
    ///     values.iter().try_for_each(|value| table.push_in(column, Value::Number(*value)))?;
    /// }
    /// table.end_rows([1, 2])?;
    /// assert_eq!(CsvReader::regression("y").read_table(&table)?.dataset.rows(), 2);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// No such column; more bytes than the limit.
    pub fn push_in(&mut self, column: usize, value: Value) -> Result<(), Error> {
        let columns = self.columns.len();
        let Some(values) = self.columns.get_mut(column) else {
            return Err(Error::shape("cells of a row", column + 1, columns));
        };
        self.bytes += values.push(value) as u64;
        self.check_limit(self.limit)
    }

    /// Ends rows of these numbers in the whole table, counted from 1 and ascending: every column has a value of each.
    ///
    /// # Errors
    /// A column with fewer or more values; numbers that do not ascend.
    pub fn end_rows(&mut self, numbers: impl IntoIterator<Item = usize>) -> Result<(), Error> {
        for number in numbers {
            if number <= self.rows {
                return Err(Error::argument(
                    "number of a row",
                    number,
                    format!("beyond {}", self.rows),
                ));
            }
            self.rows = number;
            self.places.push(number);
        }
        self.check_rows()
    }

    /// An error if a column has more or fewer values than there are rows.
    pub(super) fn check_rows(&self) -> Result<(), Error> {
        let rows = self.places.rows();
        let other = self.columns.iter().map(Values::rows).find(|found| *found != rows);
        other.map_or(Ok(()), |found| Err(Error::shape("values of a column", found, rows)))
    }

    /// Passes over rows of the whole table that are not held: those that follow are numbered as if they were. A table that was
    /// [read](super::CsvReader::read_table) says [how many there are](super::CsvData::drawn_from).
    ///
    /// ```
    /// use bnn_mcmc::data::{ColumnType, CsvReader, TypedTable, Value};
    /// let columns = [("x", ColumnType::Numbers), ("y", ColumnType::Numbers)];
    /// let mut table = TypedTable::new("data.parquet", columns, 1 << 30);
    /// for (x, y) in [(1.0, 0.5), (2.0, 1.5)] {
    ///     table.skip_rows(3);
    ///     table.push(Value::Number(x))?;
    ///     table.push(Value::Number(y))?;
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

    /// The number of rows of the whole table so far, with those that were skipped.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of rows of the whole table, if only some are held.
    pub(super) fn drawn_from(&self) -> Option<usize> {
        (self.places.rows() < self.rows).then_some(self.rows)
    }

    /// The bytes of the rows, of which there is a limit.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The row and the text of the first label with blanks at its ends.
    pub(super) fn blanks(&self, column: usize) -> Option<(usize, &str)> {
        match &self.columns[column] {
            Values::Texts { blanks: Some((row, cell)), .. } => Some((self.places.get(*row)?, cell)),
            _ => None,
        }
    }

    /// The numbers of a column that holds them as numbers alone; NaN is missing.
    pub(super) fn numbers(&self, column: usize) -> Option<&[f64]> {
        match &self.columns[column] {
            Values::Numbers { numbers, written, .. } if written.is_empty() => Some(numbers),
            _ => None,
        }
    }

    /// The columns of text with blanks at the ends of a cell, which do not count: the name, the row of the first one, counted from
    /// 0, and the cell.
    pub fn blank_ends(&self) -> impl Iterator<Item = (&str, usize, String)> {
        self.columns.iter().zip(&self.names).filter_map(|(values, name)| match values {
            Values::Texts { blanks: Some((row, cell)), .. } => Some((&name[..], *row, shown(cell))),
            _ => None,
        })
    }

    /// The cell of a row that is held, counted from 0.
    pub(super) fn cell(&self, column: usize, row: usize) -> Cell<'_> {
        self.columns[column].cell(row)
    }

    pub(super) fn check_limit(&self, limit: u64) -> Result<(), Error> {
        if self.bytes <= limit { Ok(()) } else { Err(self.too_long(limit)) }
    }

    fn too_long(&self, limit: u64) -> Error {
        let problem = format!("the rows take more than {limit} bytes, which is the limit");
        let advice = [Advice::RaiseLimit { if_trusted: true }];
        Error::table(self.name.clone(), problem).advise(advice)
    }
}

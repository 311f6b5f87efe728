//! The description of a table, before anything is chosen.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;

use super::learn::are_with_unit;
use super::table::{Table, is_date, is_no_label};
use super::typed::{Cell, Key};
use super::{ColumnType, CsvReader, Decimal, Source, TypedTable};
use crate::cells::shown;
use crate::error::Row;
use crate::message::Advice;
use crate::{Error, memory};

/// The values of a column are counted one by one up to this number of different ones.
const MOST_VALUES: usize = 1000;

/// The description of a table of text, column by column, before response and features are chosen.
/// From [`CsvReader::describe_path`].
///
/// ```
/// use bnn_mcmc::data::{Columns, CsvReader};
/// let text = "id,sex,length\n1,M,0.4\n2,F,NA\n3,M,0.6\n";
/// let table = CsvReader::regression(Columns::Last).describe(text.as_bytes())?;
/// assert_eq!((table.rows, table.complete), (3, 2));
/// assert_eq!(table.columns[1].values, Some(vec![("F".into(), 1), ("M".into(), 2)]));
/// assert_eq!((table.columns[2].missing, table.columns[2].range), (1, Some((0.4, 0.6))));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// The number of rows below the header.
    pub rows: usize,
    /// The number of rows of the file, if only [some](CsvReader::sample) were drawn; of a [`TypedTable`], if some were
    /// [skipped](TypedTable::skip_rows).
    pub drawn_from: Option<usize>,
    /// The number of rows without a missing value in any column.
    pub complete: usize,
    /// The columns, in the order of the table.
    pub columns: Vec<ColumnDescription>,
}

/// The description of one column of a table: a part of a [`Description`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ColumnDescription {
    /// The name in the header; `#1`, `#2`, ... where there is none.
    pub name: String,
    /// The number of missing values.
    pub missing: usize,
    /// Whether the column is taken for labels unless the reader is told otherwise: no cell is a
    /// number, nor starts like one.
    pub is_text: bool,
    /// The smallest and the largest of the cells that are finite numbers; `None` if there are none.
    pub range: Option<(f64, f64)>,
    /// Whether all cells that are not missing are counts: 0, 1, 2, ...
    pub is_counts: bool,
    /// The line and the text of the first cell that is neither missing nor a finite number. Here and below
    /// it is the row where the table has no lines.
    pub first_not_number: Option<(Row, String)>,
    /// The values that are not missing, each with the number of rows that have it: by size if all
    /// are numbers, else as text. `None` if there are more than 1,000 different ones.
    pub values: Option<Vec<(String, usize)>>,
    /// The line and the text of the first date or time, if every cell that is not missing is one.
    pub dates: Option<(Row, String)>,
    /// The line and the text of the first whole number that is not the same as a number of 64 bits: one
    /// beyond 2^53, whose last digits are lost.
    pub lost_digits: Option<(Row, String)>,
    /// The first column before this one that has the same value in every row, numbers written in another
    /// way included.
    pub copy_of: Option<String>,
    /// The row and the text of the first label with blanks at its ends, which do not count; `None` in a table of text, whose
    /// cells have none.
    pub blanks: Option<(Row, String)>,
    /// The type of the column; `None` in a table of text, which has none.
    pub kind: Option<ColumnType>,
}

impl ColumnDescription {
    /// Whether the column is text that holds numbers with a unit, all with the same one, such as `12kg`.
    pub fn has_unit(&self) -> bool {
        let values = self.values.as_deref().unwrap_or_default();
        let levels: Vec<&str> = values.iter().map(|(level, _)| &level[..]).collect();
        self.is_text && are_with_unit(&levels)
    }
}

impl CsvReader {
    /// Describes the contents of a file, with the delimiter, the header, the missing values and the
    /// limit of this reader. The reader's response and its settings for single columns have no
    /// effect here.
    ///
    /// # Errors
    /// If the file cannot be opened, or its text cannot be cut into rows of as many cells as the
    /// first one has.
    pub fn describe_path(&self, path: impl AsRef<Path>) -> Result<Description, Error> {
        self.describe_source(Source::open(path.as_ref())?)
    }

    /// Describes a table like [`describe_path`](Self::describe_path), from anything that yields
    /// bytes; errors call it `input`.
    ///
    /// # Errors
    /// The errors of [`describe_path`](Self::describe_path).
    pub fn describe(&self, source: impl Read) -> Result<Description, Error> {
        self.describe_source(Source::new("input", source)?)
    }

    fn describe_source(&self, mut source: Source) -> Result<Description, Error> {
        let (text, drawn_from) = self.training_text(&mut source)?;
        let described = self.describe_rows(&Table::new(self, &source.name, &text, 1)?)?;
        Ok(Description { drawn_from, ..described })
    }

    /// Describes a table whose columns have types, like [`describe_path`](Self::describe_path).
    ///
    /// # Errors
    /// Two columns of the same name; more bytes than the [limit](Self::limit), or than [memory](crate::memory) has left.
    pub fn describe_table(&self, table: &TypedTable) -> Result<Description, Error> {
        table.check_limit(self.limit)?;
        // The different values of each column.
        let rows = table.places.rows().min(MOST_VALUES);
        let size = [(table.names.len(), "columns"), (rows, "values")];
        let name = format!("description of {}", table.name);
        memory::check::<[u64; 10]>(&name, &size, Advice::SampleRows)?;
        let described = self.describe_rows(&Table::typed(table, 1)?)?;
        let mut described = Description { drawn_from: table.drawn_from(), ..described };
        for (j, (column, kind)) in described.columns.iter_mut().zip(&table.types).enumerate() {
            column.kind = Some(kind.clone());
            let blanks = table.blanks(j);
            column.blanks = blanks.map(|(row, cell)| (Row::Number(row), cell.into()));
        }
        Ok(described)
    }

    /// The description of the rows of a table of any kind.
    fn describe_rows(&self, table: &Table) -> Result<Description, Error> {
        let profile = |(j, name): (usize, &String)| Profile::new(name, table.holds_text(j));
        let mut profiles: Vec<Profile> = table.names.iter().enumerate().map(profile).collect();
        let is_other: Vec<bool> = (0..profiles.len()).map(|j| table.is_other(j)).collect();
        let (mut rows, mut complete) = (0, 0);
        table.each_row(&mut |line, cells| {
            let (line, mut is_complete) = (table.place(line), true);
            let each = profiles.iter_mut().zip(cells).zip(&is_other);
            for ((profile, cell), _) in each.filter(|(_, is_other)| !**is_other) {
                let is_missing = table.is_missing(self, cell);
                is_complete &= !is_missing;
                profile.add(line, cell, table.decimal, is_missing);
            }
            rows += 1;
            complete += usize::from(is_complete);
            Ok(())
        })?;
        let mut first: HashMap<(u64, u32), String> = HashMap::new();
        for (profile, _) in profiles.iter_mut().zip(is_other).filter(|(_, is_other)| !is_other) {
            match first.entry(profile.checksums()) {
                Entry::Occupied(earlier) => profile.column.copy_of = Some(earlier.get().clone()),
                Entry::Vacant(place) => drop(place.insert(profile.column.name.clone())),
            }
        }
        let columns = profiles.into_iter().map(|profile| profile.end(rows, table.decimal));
        Ok(Description { rows, complete, columns: columns.collect(), drawn_from: None })
    }
}

/// What the cells of a column have been found to be so far.
struct Profile<'t> {
    column: ColumnDescription,
    /// Whether the type of the column says that it is text.
    holds_text: bool,
    are_dates: bool,
    /// The number of rows of each value, unless they are too many.
    values: Option<HashMap<Key<'t>, usize>>,
    /// Checksums of the values in their order.
    sums: (DefaultHasher, crc32fast::Hasher),
}

impl<'t> Profile<'t> {
    /// Of no cell as yet.
    fn new(name: &str, holds_text: bool) -> Self {
        let column = ColumnDescription {
            name: name.into(),
            missing: 0,
            is_text: true,
            range: None,
            is_counts: true,
            first_not_number: None,
            values: None,
            dates: None,
            lost_digits: None,
            copy_of: None,
            blanks: None,
            kind: None,
        };
        let (values, sums) = (Some(HashMap::new()), Default::default());
        Self { column, holds_text, are_dates: true, values, sums }
    }

    /// Takes one more cell.
    fn add(&mut self, line: Row, cell: &Cell<'t>, decimal: Decimal, is_missing: bool) {
        let text = cell.text();
        let number = cell.number(decimal).filter(|x| x.is_finite() && !self.holds_text);
        let is_lost = !is_missing && number.is_some_and(|value| loses(&text, value));
        // A number is the same number however it is written, unless it is not held exactly.
        match number.filter(|_| !is_lost) {
            _ if is_missing => self.add_to_sums(0, &[]),
            Some(value) => self.add_to_sums(1, &(value + 0.0).to_le_bytes()),
            None => self.add_to_sums(2, text.as_bytes()),
        }
        let column = &mut self.column;
        if is_missing {
            column.missing += 1;
            return;
        }
        let first = |place: &mut Option<(Row, String)>| {
            place.get_or_insert_with(|| (line, shown(&text)));
        };
        let may_be_date = self.are_dates && number.is_none() && !self.holds_text;
        self.are_dates = may_be_date && is_date(&text);
        if self.are_dates {
            first(&mut column.dates);
        }
        if is_lost {
            first(&mut column.lost_digits);
        }
        column.is_text &= self.holds_text || !(number.is_some() || is_no_label(&text, decimal));
        match number {
            Some(value) => {
                let (low, high) = column.range.unwrap_or((value, value));
                column.range = Some((low.min(value), high.max(value)));
                column.is_counts &= value >= 0.0 && value.fract() == 0.0;
            }
            None => {
                column.is_counts = false;
                first(&mut column.first_not_number);
            }
        }
        if let Some(seen) = &mut self.values {
            *seen.entry(cell.key()).or_insert(0) += 1;
            self.values.take_if(|seen| seen.len() > MOST_VALUES);
        }
    }

    /// Adds a value of one kind (missing, number, text) to the checksums.
    fn add_to_sums(&mut self, kind: u8, bytes: &[u8]) {
        (kind, bytes).hash(&mut self.sums.0);
        self.sums.1.update(&[kind]);
        self.sums.1.update(bytes);
    }

    /// Equal ones of columns that are copies of each other.
    fn checksums(&self) -> (u64, u32) {
        (self.sums.0.finish(), self.sums.1.clone().finalize())
    }

    /// The description, after so many rows.
    fn end(self, rows: usize, decimal: Decimal) -> ColumnDescription {
        let column = self.column;
        // Nothing is known of a column in which all values are missing.
        let is_known = column.missing < rows;
        let number = |value: &str| decimal.parse(value).unwrap_or(f64::NAN);
        let sorted = |values: HashMap<Key, usize>| {
            let mut values: Vec<(String, usize)> =
                values.into_iter().map(|(value, n)| (value.text(), n)).collect();
            match column.first_not_number {
                Some(_) => values.sort(),
                None => values.sort_by(|(a, _), (b, _)| {
                    number(a).total_cmp(&number(b)).then_with(|| a.cmp(b))
                }),
            }
            values
        };
        ColumnDescription {
            is_text: column.is_text && is_known,
            is_counts: column.is_counts && is_known,
            values: self.values.map(sorted),
            dates: column.dates.filter(|_| self.are_dates),
            ..column
        }
    }
}

/// Whether a whole number is not `value`, which it was read as.
fn loses(cell: &str, value: f64) -> bool {
    const EXACT: f64 = (1u64 << 53) as f64;
    let digits = cell.strip_prefix(['+', '-']).unwrap_or(cell);
    value.abs() >= EXACT
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        // More digits than this are not of a number that anybody counts with, and are lost, too.
        && cell.parse::<i128>().ok().is_none_or(|whole| whole != value as i128)
}

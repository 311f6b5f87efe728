//! The description of a table, before anything is chosen.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;

use super::learn::are_with_unit;
use super::table::{Table, is_date, is_no_label};
use super::typed::Cell;
use super::{ColumnType, CsvReader, Source, TypedTable};
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

    fn describe_rows(&self, table: &Table) -> Result<Description, Error> {
        let column = |name: &String| ColumnDescription {
            name: name.clone(),
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
        let mut columns: Vec<ColumnDescription> = table.names.iter().map(column).collect();
        let mut values = vec![Some(HashMap::new()); columns.len()];
        // Checksums of each column's values in their order, and whether the values are dates so
        // far.
        let mut sums = vec![(DefaultHasher::new(), crc32fast::Hasher::new()); columns.len()];
        let mut are_dates = vec![true; columns.len()];
        let (mut rows, mut complete) = (0, 0);
        table.each_row(&mut |line, cells| {
            rows += 1;
            let line = table.place(line);
            let is_missing =
                |j: usize, cell: &Cell| !table.is_other(j) && table.is_missing(self, cell);
            let mut each = cells.iter().enumerate();
            complete += usize::from(!each.any(|(j, cell)| is_missing(j, cell)));
            let all = columns.iter_mut().zip(&mut values).zip(&mut sums).zip(&mut are_dates);
            for ((((column, values), sums), are_dates), (j, cell)) in
                all.zip(cells.iter().enumerate())
            {
                if table.is_other(j) {
                    continue;
                }
                let is_text = table.holds_text(j);
                let text = cell.text();
                let number = cell.number(table.decimal).filter(|value| value.is_finite());
                let number = number.filter(|_| !is_text);
                let is_missing = is_missing(j, cell);
                let lost = number.filter(|_| !is_missing).is_some_and(|value| loses(&text, value));
                // A number is the same number however it is written, unless it is not held exactly.
                let of_number = number.map(|value| (value + 0.0).to_le_bytes());
                let (kind, bytes): (u8, &[u8]) = match (is_missing, &of_number) {
                    (true, _) => (0, &[]),
                    (false, Some(bytes)) if !lost => (1, bytes),
                    (false, _) => (2, text.as_bytes()),
                };
                (kind, bytes).hash(&mut sums.0);
                sums.1.update(&[kind]);
                sums.1.update(bytes);
                if is_missing {
                    column.missing += 1;
                    continue;
                }
                if *are_dates {
                    *are_dates = number.is_none() && !is_text && is_date(&text);
                    if *are_dates {
                        column.dates.get_or_insert_with(|| (line, shown(&text)));
                    }
                }
                if lost {
                    column.lost_digits.get_or_insert_with(|| (line, shown(&text)));
                }
                column.is_text &=
                    is_text || !(number.is_some() || is_no_label(&text, table.decimal));
                match number {
                    Some(value) => {
                        let (low, high) = column.range.unwrap_or((value, value));
                        column.range = Some((low.min(value), high.max(value)));
                        column.is_counts &= value >= 0.0 && value.fract() == 0.0;
                    }
                    None => {
                        column.is_counts = false;
                        column.first_not_number.get_or_insert_with(|| (line, shown(&text)));
                    }
                }
                if let Some(seen) = values {
                    *seen.entry(cell.key()).or_insert(0) += 1;
                    if seen.len() > MOST_VALUES {
                        *values = None;
                    }
                }
            }
            Ok(())
        })?;
        let mut first: HashMap<(u64, u32), String> = HashMap::new();
        for (j, ((column, (hash, crc)), are_dates)) in
            columns.iter_mut().zip(sums).zip(are_dates).enumerate()
        {
            column.dates = column.dates.take().filter(|_| are_dates);
            if table.is_other(j) {
                continue;
            }
            match first.entry((hash.finish(), crc.finalize())) {
                Entry::Occupied(earlier) => column.copy_of = Some(earlier.get().clone()),
                Entry::Vacant(place) => drop(place.insert(column.name.clone())),
            }
        }
        for (column, values) in columns.iter_mut().zip(values) {
            // Nothing is known of a column in which all values are missing.
            let is_empty = column.missing == rows;
            column.is_text &= !is_empty;
            column.is_counts &= !is_empty;
            column.values = values.map(|values| {
                let mut values: Vec<(String, usize)> =
                    values.into_iter().map(|(value, n)| (value.text(), n)).collect();
                let number = |value: &str| table.decimal.parse(value).unwrap_or(f64::NAN);
                match column.first_not_number {
                    Some(_) => values.sort(),
                    None => values.sort_by(|(a, _), (b, _)| {
                        number(a).total_cmp(&number(b)).then_with(|| a.cmp(b))
                    }),
                }
                values
            });
        }
        Ok(Description { rows, complete, columns, drawn_from: None })
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

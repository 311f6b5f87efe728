//! What a table holds, before anything is chosen.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use super::table::{Table, is_no_label};
use super::{CsvReader, Source};
use crate::Error;
use crate::cells::shown;

/// The values of a column are counted one by one up to this number of different ones.
const MOST_VALUES: usize = 1000;

/// What a table of text holds, column by column, before anything of it is chosen. From
/// [`CsvReader::describe_path`].
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
    /// The number of rows without a missing value in any column.
    pub complete: usize,
    /// The columns, in the order of the table.
    pub columns: Vec<ColumnDescription>,
}

/// What one column of a table holds: a part of a [`Description`].
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
    /// The line and the text of the first cell that is neither missing nor a finite number.
    pub first_not_number: Option<(usize, String)>,
    /// The values that are not missing, each with the number of rows that have it: by size if all
    /// are numbers, else as text. `None` if there are more than 1,000 different ones.
    pub values: Option<Vec<(String, usize)>>,
}

impl CsvReader {
    /// Says what a file holds, with the delimiter, the header, the missing values and the limit of
    /// this reader. Its response and what it does with single columns count for nothing here.
    ///
    /// # Errors
    /// If the file cannot be opened, or its text cannot be cut into rows of as many cells as the
    /// first one has.
    pub fn describe_path(&self, path: impl AsRef<Path>) -> Result<Description, Error> {
        self.describe_source(Source::open(path.as_ref())?)
    }

    /// As [`describe_path`](Self::describe_path), from anything that yields bytes; errors call it
    /// `input`.
    ///
    /// # Errors
    /// As [`describe_path`](Self::describe_path).
    pub fn describe(&self, source: impl Read) -> Result<Description, Error> {
        self.describe_source(Source::new("input", source)?)
    }

    fn describe_source(&self, mut source: Source) -> Result<Description, Error> {
        let text = self.text(&mut source)?;
        let table = Table::new(self, &source.name, &text, 1)?;
        let column = |name: &String| ColumnDescription {
            name: name.clone(),
            missing: 0,
            is_text: true,
            range: None,
            is_counts: true,
            first_not_number: None,
            values: None,
        };
        let mut columns: Vec<ColumnDescription> = table.names.iter().map(column).collect();
        let mut values = vec![Some(HashMap::new()); columns.len()];
        let (mut rows, mut complete) = (0, 0);
        table.each_row(|line, cells| {
            rows += 1;
            complete += usize::from(!cells.iter().any(|cell| self.is_missing(cell)));
            for ((column, values), cell) in columns.iter_mut().zip(&mut values).zip(cells) {
                if self.is_missing(cell) {
                    column.missing += 1;
                    continue;
                }
                column.is_text &= !is_no_label(cell);
                match cell.parse().ok().filter(|value: &f64| value.is_finite()) {
                    Some(value) => {
                        let (low, high) = column.range.unwrap_or((value, value));
                        column.range = Some((low.min(value), high.max(value)));
                        column.is_counts &= value >= 0.0 && value.fract() == 0.0;
                    }
                    None => {
                        column.is_counts = false;
                        column.first_not_number.get_or_insert_with(|| (line, shown(cell)));
                    }
                }
                if let Some(seen) = values {
                    *seen.entry(cell.clone()).or_insert(0) += 1;
                    if seen.len() > MOST_VALUES {
                        *values = None;
                    }
                }
            }
            Ok(())
        })?;
        for (column, values) in columns.iter_mut().zip(values) {
            // Nothing is known of a column in which all values are missing.
            let is_empty = column.missing == rows;
            column.is_text &= !is_empty;
            column.is_counts &= !is_empty;
            column.values = values.map(|values| {
                let mut values: Vec<(String, usize)> =
                    values.into_iter().map(|(value, n)| (value.into_owned(), n)).collect();
                let number = |value: &str| value.parse().unwrap_or(f64::NAN);
                match column.first_not_number {
                    Some(_) => values.sort(),
                    None => values.sort_by(|(a, _), (b, _)| {
                        number(a).total_cmp(&number(b)).then_with(|| a.cmp(b))
                    }),
                }
                values
            });
        }
        Ok(Description { rows, complete, columns })
    }
}

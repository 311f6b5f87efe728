//! Remarks that a statistician would make on a table before it is fitted.

use std::fmt;

use super::learn::{MANY_LEVELS, are_many};
use super::table::{OTHER_TYPE, is_date};
use super::{ColumnDescription, ColumnType, Columns, CsvReader, Description, Encoding};
use crate::cells::shown;
use crate::error::Row;
use crate::message::{Advice, Vocabulary, advised, count};

/// A response that holds numbers with more classes than this is worth a remark.
const NUMERIC_CLASSES: usize = 10;

/// A response of at most so many different values, each of so many rows on average, is one of grades.
pub(crate) const FEW_GRADES: usize = 12;
pub(crate) const ROWS_OF_GRADE: usize = 20;

/// A remark on one column before a model is fitted to the table. It comes from
/// [`CsvReader::findings`]; printed, it says what was found, and [`advice`](Self::advice) says what
/// can be done about it.
///
/// ```
/// use bnn_mcmc::data::{CsvReader, Finding};
/// use bnn_mcmc::message::Advice;
/// let text = "id,day,x,y\n1,2024-05-01,0.5,2\n2,2024-05-02,0.1,3\n3,2024-05-03,0.7,1\n";
/// let reader = CsvReader::regression("y").categorical(["day"]);
/// let found = reader.findings(&reader.describe(text.as_bytes())?);
/// assert_eq!(found[0], Finding::Identifier { column: "id".into() });
/// assert!(found[1].to_string().starts_with("`day` holds dates or times, such as `2024-05-01`"));
/// assert_eq!(found[1].advice()[1], Advice::Ignore { column: "day".into(), if_identifier: false });
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// No row has a value.
    Empty {
        /// The name of the column.
        column: String,
    },
    /// All rows have the same value.
    Constant {
        /// The name of the column.
        column: String,
        /// The value.
        value: String,
    },
    /// The column has a value of its own for every row: whole numbers one after the other, or labels.
    Identifier {
        /// The name of the column.
        column: String,
    },
    /// The column has the value of another column in every row.
    Copy {
        /// The name of the column.
        column: String,
        /// The name of the first column with these values.
        of: String,
    },
    /// A feature has the value of the response in every row.
    CopyOfResponse {
        /// The name of the column.
        column: String,
        /// The name of the response's column.
        response: String,
    },
    /// The column holds dates or times where they do not become [their features](super::Dates): in the
    /// response, beside other cells, or taken for labels, as was asked for. A new date is not among these.
    Dates {
        /// The name of the column.
        column: String,
        /// The line of the first date, or its row where there are no lines.
        row: Row,
        /// The first date.
        cell: String,
        /// The number of labels, if the column is taken for labels, as was asked for.
        labels: Option<usize>,
    },
    /// The column holds text of more kinds than are taken for labels unless they are asked for.
    ManyLabels {
        /// The name of the column.
        column: String,
        /// The number of labels; `None` for more than 1,000.
        labels: Option<usize>,
        /// The number of rows.
        rows: usize,
    },
    /// The column holds numbers with a unit, all with the same one.
    Unit {
        /// The name of the column.
        column: String,
        /// The first of its values.
        cell: String,
    },
    /// The column is taken for labels, as was asked for, of which there are very many.
    SparseLabels {
        /// The name of the column.
        column: String,
        /// The number of labels; `None` for more than 1,000.
        labels: Option<usize>,
        /// The number of rows.
        rows: usize,
    },
    /// Some rows have no value: of a feature, [something stands in for it](super::Fill); of the
    /// response, they are left out.
    Missing {
        /// The name of the column.
        column: String,
        /// The number of these rows.
        rows: usize,
        /// Whether it is a column of the response.
        is_response: bool,
    },
    /// A cell is not a number, in a column that is not taken for labels.
    NotNumber {
        /// The name of the column.
        column: String,
        /// The line of the first such cell, or its row where there are no lines.
        row: Row,
        /// The cell.
        cell: String,
        /// Whether it is a column of the response.
        is_response: bool,
    },
    /// The column holds whole numbers of so many digits (beyond 2^53) that the last ones are lost.
    LostDigits {
        /// The name of the column.
        column: String,
        /// The line of the first such number, or its row where there are no lines.
        row: Row,
        /// The number.
        cell: String,
        /// Whether it is a column of the response.
        is_response: bool,
    },
    /// Labels of a table with types have blanks at their ends, which do not count: ` a` and `a` are one.
    Blanks {
        /// The name of the column.
        column: String,
        /// The row of the first such label.
        row: Row,
        /// The label.
        cell: String,
    },
    /// The column has a [type](super::ColumnType::Other) that can be neither a feature nor the response.
    OtherType {
        /// The name of the column.
        column: String,
        /// The type.
        kind: String,
    },
    /// The response is real, and holds few whole numbers, such as grades.
    Grades {
        /// The name of the response's column.
        column: String,
        /// The number of different values.
        values: usize,
    },
    /// The response holds numbers, and is taken for classes, of which there are many.
    NumericClasses {
        /// The name of the response's column.
        column: String,
        /// The number of classes; `None` for more than 1,000.
        classes: Option<usize>,
    },
}

impl Finding {
    /// The name of the column that it is about.
    pub fn column(&self) -> &str {
        match self {
            Self::Empty { column }
            | Self::Constant { column, .. }
            | Self::Identifier { column }
            | Self::Copy { column, .. }
            | Self::CopyOfResponse { column, .. }
            | Self::Dates { column, .. }
            | Self::ManyLabels { column, .. }
            | Self::Unit { column, .. }
            | Self::SparseLabels { column, .. }
            | Self::Missing { column, .. }
            | Self::NotNumber { column, .. }
            | Self::LostDigits { column, .. }
            | Self::Blanks { column, .. }
            | Self::OtherType { column, .. }
            | Self::Grades { column, .. }
            | Self::NumericClasses { column, .. } => column,
        }
    }

    /// The alternatives of what can be done about the finding: one of them is enough.
    pub fn advice(&self) -> Vec<Advice> {
        let column = || self.column().to_string();
        let leave_out = || Advice::Ignore { column: column(), if_identifier: false };
        let labels = || Advice::Categorical { column: column(), if_labels: false };
        let (correct, shift) = ("correct it".into(), "subtract a constant from it".into());
        match self {
            Self::Empty { .. }
            | Self::Constant { .. }
            | Self::Identifier { .. }
            | Self::Copy { .. }
            | Self::CopyOfResponse { .. }
            | Self::SparseLabels { .. } => vec![leave_out()],
            Self::Dates { labels: Some(_), .. } => vec!["let them be dates".into(), leave_out()],
            Self::Dates { .. } => vec![leave_out(), Advice::MarkMissing],
            Self::ManyLabels { .. } => vec![leave_out(), labels()],
            Self::Unit { .. } => vec!["take the unit out".into(), labels()],
            Self::OtherType { .. } => vec!["convert it".into(), leave_out()],
            Self::Missing { .. } | Self::Blanks { .. } => vec![],
            Self::NotNumber { is_response: true, .. } => vec![correct, Advice::MarkMissing],
            Self::NotNumber { .. } => vec![correct, Advice::MarkMissing, labels()],
            Self::LostDigits { is_response: true, .. } => vec![shift],
            Self::LostDigits { .. } => vec![leave_out(), shift],
            Self::Grades { .. } => vec!["let them be classes in order".into()],
            Self::NumericClasses { .. } => vec![Advice::ReadNumbers],
        }
    }

    /// The finding and what can be done about it, with settings spelt as the users of one interface
    /// type them.
    pub fn in_words(&self, words: &dyn Vocabulary) -> String {
        advised(&self.to_string(), &self.advice(), words)
    }

    /// Whether the table is refused because of it, as the reader is.
    pub fn is_refused(&self) -> bool {
        match self {
            Self::Empty { .. }
            | Self::Constant { .. }
            | Self::ManyLabels { .. }
            | Self::Unit { .. }
            | Self::NotNumber { .. }
            | Self::OtherType { .. } => true,
            Self::Dates { labels, .. } => labels.is_none(),
            Self::Identifier { .. }
            | Self::Copy { .. }
            | Self::CopyOfResponse { .. }
            | Self::SparseLabels { .. }
            | Self::LostDigits { .. }
            | Self::Missing { .. }
            | Self::Blanks { .. }
            | Self::Grades { .. }
            | Self::NumericClasses { .. } => false,
        }
    }
}

/// The finding, without what can be done about it.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", shown(self.column()), self.predicate())
    }
}

impl Finding {
    /// What is said of the column.
    fn predicate(&self) -> String {
        let many = |n: &Option<usize>| n.map_or("more than 1000".to_owned(), |n| n.to_string());
        match self {
            Self::Empty { .. } => "has no value in any row".into(),
            Self::Constant { value, .. } => format!("is {} in all rows", shown(value)),
            Self::Identifier { .. } => "numbers the rows, as an identifier does".into(),
            Self::Copy { of, .. } => format!("is a copy of `{}` in every row", shown(of)),
            Self::CopyOfResponse { response, .. } => format!(
                "is a copy of the response `{}` in every row, which it gives away",
                shown(response)
            ),
            Self::Dates { row, cell, labels, .. } => {
                let labels = labels.map(|labels| format!(
                    ", which are taken for {labels} labels: other ones are 0 in all of these features"
                ));
                let labels = labels.unwrap_or_default();
                format!("holds dates or times, such as `{}` in {row}{labels}", shown(cell))
            }
            Self::ManyLabels { labels: Some(n), rows, .. } if *n <= MANY_LEVELS => {
                format!("holds text of {n} kinds in {}", count(*rows, "row"))
            }
            Self::ManyLabels { .. } => format!("holds text of more than {MANY_LEVELS} kinds"),
            Self::Unit { cell, .. } => {
                format!("holds numbers with a unit, such as `{}`", shown(cell))
            }
            Self::SparseLabels { labels, rows, .. } => {
                format!("is taken for {} labels in {rows} rows, each a feature", many(labels))
            }
            Self::Missing { rows, is_response, .. } => {
                let what = match is_response {
                    true => "left out",
                    false => "filled in, and a feature says so",
                };
                format!("has no value in {}: {what}", count(*rows, "row"))
            }
            Self::NotNumber { row, cell, .. } => {
                format!("holds numbers, but {row} has `{}`", shown(cell))
            }
            Self::LostDigits { row, cell, .. } => format!(
                "holds whole numbers beyond 2^53, whose last digits are lost, such as `{}` in {row}",
                shown(cell)
            ),
            Self::Blanks { row, cell, .. } => format!(
                "has labels with blanks at their ends, such as `{}` in {row}, which do not count",
                shown(cell)
            ),
            Self::OtherType { kind, .. } => format!("has the type {kind}, {OTHER_TYPE}"),
            Self::Grades { values, .. } => format!(
                "holds {values} whole numbers, such as grades, which no density describes well"
            ),
            Self::NumericClasses { classes, .. } => format!(
                "holds numbers, which are taken for {} classes without an order",
                many(classes)
            ),
        }
    }
}

impl CsvReader {
    /// The findings on a table before a model is fitted to it, column by column. The table is a
    /// description by [`describe`](Self::describe); the response, labels and ignored columns are
    /// this reader's. Findings for which the table is [refused](Finding::is_refused) are included.
    pub fn findings(&self, table: &Description) -> Vec<Finding> {
        let is_response = |place: usize, column: &ColumnDescription| match &self.response {
            Columns::Last => place + 1 == table.columns.len(),
            Columns::Named(names) => names.contains(&column.name),
            Columns::At(places) => places.contains(&place),
        };
        // The name of the column that a column copies, or its own name.
        let original = |column: &ColumnDescription| {
            column.copy_of.clone().unwrap_or_else(|| column.name.clone())
        };
        let response: Vec<&ColumnDescription> = (table.columns.iter().enumerate())
            .filter(|(place, column)| is_response(*place, column))
            .map(|(_, column)| column)
            .collect();
        let mut found = Vec::new();
        let mut features: Vec<&ColumnDescription> = Vec::new();
        for (place, column) in table.columns.iter().enumerate() {
            if self.ignored.contains(&column.name) {
                continue;
            }
            if let Some((row, cell)) = column.blanks.clone() {
                found.push(Finding::Blanks { column: column.name.clone(), row, cell });
            }
            let others = [&self.exposure, &self.row_weights, &self.event, &self.until];
            if self.groups.contains(&column.name)
                || others.into_iter().flatten().any(|name| *name == column.name)
            {
                continue;
            }
            if let Some(ColumnType::Other(kind)) = &column.kind {
                let (column, kind) = (column.name.clone(), kind.clone());
                found.push(Finding::OtherType { column, kind });
                continue;
            }
            if is_response(place, column) {
                self.of_response(table.rows, column, &mut found);
                continue;
            }
            if !self.of_feature(table.rows, column, &mut found) {
                continue;
            }
            let same = |other: &&&ColumnDescription| original(other) == original(column);
            let column_name = column.name.clone();
            if let Some(response) = response.iter().find(same) {
                let response = response.name.clone();
                found.push(Finding::CopyOfResponse { column: column_name, response });
            } else if let Some(of) = features.iter().find(same) {
                found.push(Finding::Copy { column: column_name, of: of.name.clone() });
            }
            features.push(column);
        }
        found
    }

    fn of_response(&self, rows: usize, column: &ColumnDescription, found: &mut Vec<Finding>) {
        let name = || column.name.clone();
        self.of_missing(column, true, found);
        if self.task.has_classes() {
            let classes = column.values.as_ref().map(Vec::len);
            if column.range.is_some()
                && column.first_not_number.is_none()
                && classes.is_none_or(|n| n > NUMERIC_CLASSES)
            {
                found.push(Finding::NumericClasses { column: name(), classes });
            }
            return;
        }
        if let Some((row, cell)) = column.dates.clone() {
            found.push(Finding::Dates { column: name(), row, cell, labels: None });
        } else if let (false, Some((row, cell))) = (column.is_text, column.first_not_number.clone())
        {
            found.push(Finding::NotNumber { column: name(), row, cell, is_response: true });
        } else if let Some((row, cell)) = column.lost_digits.clone() {
            found.push(Finding::LostDigits { column: name(), row, cell, is_response: true });
        } else if let (true, true, Some(values)) =
            (self.task.is_real(), column.is_counts, column.values.as_ref().map(Vec::len))
            && (3..=FEW_GRADES).contains(&values)
            && rows >= ROWS_OF_GRADE * values
        {
            found.push(Finding::Grades { column: name(), values });
        }
    }

    fn of_missing(&self, column: &ColumnDescription, is_response: bool, found: &mut Vec<Finding>) {
        if column.missing > 0 && !self.drop_missing_rows {
            let (column, rows) = (column.name.clone(), column.missing);
            found.push(Finding::Missing { column, rows, is_response });
        }
    }

    /// Returns whether the column has values that can be compared with other columns.
    fn of_feature(
        &self,
        rows: usize,
        column: &ColumnDescription,
        found: &mut Vec<Finding>,
    ) -> bool {
        let (name, labels) = (column.name.clone(), column.values.as_ref().map(Vec::len));
        if let Some(same) = of_same_values(rows, column) {
            found.push(same);
            return false;
        }
        let is_asked_for =
            self.categorical.contains(&name) || column.kind == Some(ColumnType::Labels);
        if let Some((row, cell)) = column.dates.clone() {
            let dates = Finding::Dates { column: name, row, cell, labels };
            found.extend(is_asked_for.then_some(dates));
            self.of_missing(column, false, found);
            return true;
        }
        if let (false, Some(text)) = (is_asked_for, of_text(rows, column)) {
            found.push(text);
            return true;
        }
        self.of_missing(column, false, found);
        if !is_asked_for && !column.is_text {
            found.extend(of_numbers(column));
        } else if is_asked_for
            && labels.is_none_or(|n| n > MANY_LEVELS)
            && self.encoding != Encoding::Codes
        {
            found.push(Finding::SparseLabels { column: name.clone(), labels, rows });
        }
        found.extend(is_identifier(column, rows).then_some(Finding::Identifier { column: name }));
        true
    }
}

/// The finding on a feature that is the same in all rows.
fn of_same_values(rows: usize, column: &ColumnDescription) -> Option<Finding> {
    let name = column.name.clone();
    match column.values.as_deref() {
        _ if column.missing == rows => Some(Finding::Empty { column: name }),
        Some([(value, _)]) if column.missing == 0 || column.range.is_some() => {
            Some(Finding::Constant { column: name, value: value.clone() })
        }
        _ => None,
    }
}

/// The finding on a feature of text that is not taken for labels unless that is asked for.
fn of_text(rows: usize, column: &ColumnDescription) -> Option<Finding> {
    let (name, labels) = (column.name.clone(), column.values.as_ref().map(Vec::len));
    match column.values.as_deref() {
        Some([(cell, _), ..]) if column.has_unit() => {
            Some(Finding::Unit { column: name, cell: cell.clone() })
        }
        _ if column.is_text && labels.is_none_or(|n| are_many(n, rows)) => {
            Some(Finding::ManyLabels { column: name, labels, rows })
        }
        _ => None,
    }
}

/// The finding on a cell of a feature of numbers that is none, or not the same one.
fn of_numbers(column: &ColumnDescription) -> Option<Finding> {
    let (name, is_response) = (column.name.clone(), false);
    match (column.first_not_number.clone(), column.lost_digits.clone()) {
        (Some((row, cell)), _) if is_date(&cell) => {
            Some(Finding::Dates { column: name, row, cell, labels: None })
        }
        (Some((row, cell)), _) => Some(Finding::NotNumber { column: name, row, cell, is_response }),
        (None, Some((row, cell))) => {
            Some(Finding::LostDigits { column: name, row, cell, is_response })
        }
        (None, None) => None,
    }
}

/// Whether a column counts the rows, from any number on, or has a label of its own for each.
fn is_identifier(column: &ColumnDescription, rows: usize) -> bool {
    let all_differ = column.values.as_ref().is_none_or(|values| values.len() == rows);
    let span = column.range.map(|(low, high)| high - low);
    let is_counted = column.is_counts && span == Some((rows - 1) as f64);
    // In a table of few rows the labels of a sensible feature may all differ.
    let is_labelled = column.is_text && column.values.is_some() && rows >= 10;
    rows > 2 && all_differ && (is_counted || is_labelled)
}

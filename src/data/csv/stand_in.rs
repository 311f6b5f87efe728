//! The cells of a file that something else stands in for.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cells::shown;
use crate::message::{count, number};

/// The most unknown levels that are named.
const NAMED: usize = 20;

/// The cells of one column of features that have no value of their own in the model, and what stands in
/// for them. Printed, it says so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StandIn {
    /// Cells without a value: see [`Fill`](super::Fill).
    Missing {
        /// The name of the column.
        column: String,
        /// The number of rows.
        rows: usize,
        /// The number that stands in for them: the median of the training file; `None` of labels.
        value: Option<f64>,
        /// Whether a feature, `column is missing`, says so.
        marked: bool,
        /// Whether a value is drawn in its place: see [`Recipe::impute`](crate::fit::Recipe::impute).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        imputed: bool,
    },
    /// Labels that the training file does not have. As one-hot columns they are all 0.
    UnknownLevel {
        /// The name of the column.
        column: String,
        /// The first 20 of these labels.
        levels: Vec<String>,
        /// The number of rows.
        rows: usize,
    },
    /// [Groups](super::CsvReader::group) that the training file does not have, or rows without a group: their
    /// intercepts are of a new group.
    NewGroup {
        /// The name of the column.
        column: String,
        /// The first 20 of these groups.
        groups: Vec<String>,
        /// The number of rows.
        rows: usize,
    },
}

impl StandIn {
    /// The name of the column.
    pub fn column(&self) -> &str {
        match self {
            Self::Missing { column, .. }
            | Self::UnknownLevel { column, .. }
            | Self::NewGroup { column, .. } => column,
        }
    }

    /// Counts one more row with an unknown level of this column.
    pub(super) fn unknown(found: &mut Vec<Self>, name: &str, level: &str) {
        let place = found.iter_mut().find_map(|one| match one {
            Self::UnknownLevel { column, levels, rows } if column == name => Some((levels, rows)),
            _ => None,
        });
        match place {
            Some((levels, rows)) => add(levels, rows, level),
            None => {
                let (column, levels) = (name.to_string(), vec![level.to_string()]);
                found.push(Self::UnknownLevel { column, levels, rows: 1 });
            }
        }
    }

    /// Counts one more row with a new group of this column.
    pub(super) fn new_group(found: &mut Vec<Self>, name: &str, group: &str) {
        let place = found.iter_mut().find_map(|one| match one {
            Self::NewGroup { column, groups, rows } if column == name => Some((groups, rows)),
            _ => None,
        });
        match place {
            Some((groups, rows)) => add(groups, rows, group),
            None => {
                let (column, groups) = (name.to_string(), vec![group.to_string()]);
                found.push(Self::NewGroup { column, groups, rows: 1 });
            }
        }
    }
}

/// Counts one more row, and names its label if it is one of the first.
fn add(labels: &mut Vec<String>, rows: &mut usize, label: &str) {
    *rows += 1;
    if labels.len() < NAMED && !labels.iter().any(|known| known == label) {
        labels.push(label.into());
    }
}

/// The labels that are named.
fn named(labels: &[String]) -> String {
    let labels: Vec<String> = labels.iter().map(|label| format!("`{}`", shown(label))).collect();
    labels.join(", ")
}

/// A sentence without its full stop.
impl fmt::Display for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { column, rows, imputed: true, .. } => {
                let (column, rows) = (shown(column), count(*rows, "row"));
                write!(
                    f,
                    "`{column}` has no value in {rows}: values are drawn from rows that are like them"
                )
            }
            Self::Missing { column, rows, value, marked, .. } => {
                let (column, rows) = (shown(column), count(*rows, "row"));
                write!(f, "`{column}` has no value in {rows}: ")?;
                let median =
                    value.map(|value| format!("the median {} stands there", number(value)));
                let mark = marked.then(|| format!("`{column} is missing` is 1 there"));
                match (median, mark) {
                    (None, None) => write!(f, "all its features are 0 there"),
                    (one, other) => {
                        let both: Vec<String> = one.into_iter().chain(other).collect();
                        write!(f, "{}", both.join(", and "))
                    }
                }
            }
            Self::UnknownLevel { column, levels, rows } => {
                let (column, levels, rows) = (shown(column), named(levels), count(*rows, "row"));
                write!(
                    f,
                    "`{column}` has labels in {rows} that the training file does not have: {levels}"
                )
            }
            Self::NewGroup { column, groups, rows } => {
                let (column, groups, rows) = (shown(column), named(groups), count(*rows, "row"));
                write!(
                    f,
                    "`{column}` has groups in {rows} that the training file does not have: {groups}; the intercept \
                     of a new group stands there"
                )
            }
        }
    }
}

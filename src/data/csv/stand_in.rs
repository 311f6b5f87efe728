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
}

impl StandIn {
    /// The name of the column.
    pub fn column(&self) -> &str {
        match self {
            Self::Missing { column, .. } | Self::UnknownLevel { column, .. } => column,
        }
    }

    /// Counts one more row with an unknown level of this column.
    pub(super) fn unknown(found: &mut Vec<Self>, name: &str, level: &str) {
        let same =
            |one: &&mut Self| matches!(one, Self::UnknownLevel { column, .. } if column == name);
        let Some(Self::UnknownLevel { levels, rows, .. }) = found.iter_mut().find(same) else {
            let (column, levels) = (name.to_string(), vec![level.to_string()]);
            return found.push(Self::UnknownLevel { column, levels, rows: 1 });
        };
        *rows += 1;
        if levels.len() < NAMED && !levels.iter().any(|known| known == level) {
            levels.push(level.into());
        }
    }
}

/// A sentence without its full stop.
impl fmt::Display for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { column, rows, value, marked } => {
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
                let levels: Vec<String> =
                    levels.iter().map(|level| format!("`{}`", shown(level))).collect();
                let (column, levels, rows) =
                    (shown(column), levels.join(", "), count(*rows, "row"));
                write!(
                    f,
                    "`{column}` has labels in {rows} that the training file does not have: {levels}"
                )
            }
        }
    }
}

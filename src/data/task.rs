//! The kind of the response.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::Response;
use crate::choice::choice;

/// The kind of the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Task {
    /// Real numbers, in one column or more. The default.
    #[default]
    Regression,
    /// One of several classes, in one column.
    Classification,
    /// Counts: 0, 1, 2, ...
    Counts,
    /// Times, some of which are known only to be longer, or to lie between bounds.
    Survival,
}

impl Task {
    /// The task that has such responses.
    pub fn of(response: &Response) -> Self {
        match response {
            Response::Real(_) => Self::Regression,
            Response::Classes { .. } => Self::Classification,
            Response::Counts(_) => Self::Counts,
            Response::Censored { .. } => Self::Survival,
        }
    }

    /// The response of this task: of numbers in columns, of times beside their upper bounds, or of classes and their
    /// names.
    pub(crate) fn response(
        self,
        y: Array2<f64>,
        upper: Vec<f64>,
        (index, names): (Vec<usize>, Vec<String>),
    ) -> Response {
        match self {
            Self::Regression => Response::Real(y),
            Self::Classification => Response::Classes { index, names },
            Self::Counts => Response::Counts(y),
            Self::Survival => {
                Response::Censored { lower: y.column(0).to_owned(), upper: upper.into() }
            }
        }
    }

    /// Whether the response is real numbers.
    pub(crate) fn is_real(self) -> bool {
        self == Self::Regression
    }

    /// Whether the response is a class.
    pub fn has_classes(self) -> bool {
        self == Self::Classification
    }

    /// Whether the response is counts.
    pub fn has_counts(self) -> bool {
        self == Self::Counts
    }

    /// Whether the response is numbers with bounds.
    pub fn has_bounds(self) -> bool {
        self == Self::Survival
    }

    /// The response in a word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Regression => "real",
            Self::Classification => "classes",
            Self::Counts => "counts",
            Self::Survival => "times",
        }
    }

    /// The most columns of the response in a table, and how many it has, in words.
    pub(super) fn most_columns(self) -> (usize, &'static str) {
        match self {
            Self::Regression => (usize::MAX, "one or more columns for regression"),
            Self::Classification => (1, "one column for classification"),
            Self::Counts => (usize::MAX, "one or more columns for counts"),
            Self::Survival => (1, "one column for times"),
        }
    }
}

choice! { "task", Task {
    Self::Regression, Self::Regression, "regression", "A real number";
    Self::Classification, Self::Classification, "classification", "One of several classes, text or number";
    Self::Counts, Self::Counts, "counts", "How often something happened: 0, 1, 2, ...";
    Self::Survival, Self::Survival, "survival", "A time, with a column that says whether its event happened";
} }

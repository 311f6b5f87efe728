//! The kind of the response.

use serde::{Deserialize, Serialize};

use crate::choice::choice;

/// The kind of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Task {
    /// Real numbers, in one column or more.
    Regression,
    /// One of several classes, in one column.
    Classification,
    /// Counts: 0, 1, 2, ...
    Counts,
    /// Times, some of which are known only to be longer, or to lie between bounds.
    Survival,
}

choice! { "task", Task {
    Self::Regression, Self::Regression, "regression", "A real number";
    Self::Classification, Self::Classification, "classification", "One of several classes, text or number";
    Self::Counts, Self::Counts, "counts", "How often something happened: 0, 1, 2, ...";
    Self::Survival, Self::Survival, "survival", "A time, with a column that says whether its event happened";
} }

//! The role of a table's column in a model.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Role {
    Ignored,
    Feature,
    /// The exposure of a count: its logarithm is the last feature.
    Exposure,
    /// The number of equal rows that a row stands for.
    Weight,
    /// The group of a row, in this place among the groupings: indicators of the groups come after the features.
    Group(usize),
    /// Whether the event of a time happened, as 1 and 0.
    Event,
    /// The upper bound of a time.
    Until,
    /// The place of the column within the response.
    Response(usize),
}

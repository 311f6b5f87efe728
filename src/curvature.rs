//! The two kinds of second derivatives that densities are asked for.

use serde::{Deserialize, Serialize};

/// The kind of a log density's second derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Curvature {
    /// The second derivative itself, at the data as they are.
    Observed,
    /// The expectation of the Hessian over data from the model: nowhere of the wrong sign.
    Expected,
}

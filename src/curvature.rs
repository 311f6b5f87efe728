//! The two kinds of second derivatives that densities are asked for.

use serde::{Deserialize, Serialize};

/// Which second derivative of a log density.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Curvature {
    /// The second derivative itself, at the data as they are.
    Observed,
    /// Its expectation over data from the model: nowhere of the wrong sign.
    Expected,
}

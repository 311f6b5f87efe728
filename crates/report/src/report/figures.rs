//! Which figures a report has.

use bnn_mcmc::Error;

use super::Findings;
use crate::figure::Figure;

/// A figure, or why it could not be made, with its name in words.
type Named = (&'static str, Result<Figure, Error>);

/// Figures of the predictions.
pub(super) fn predictions(_findings: &Findings) -> Vec<Named> {
    Vec::new()
}

/// Figures of convergence: of predictions, then of weights.
pub(super) fn convergence(_findings: &Findings) -> Vec<Named> {
    Vec::new()
}

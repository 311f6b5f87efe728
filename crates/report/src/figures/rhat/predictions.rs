//! R-hat of predictions, by class or response.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::{Summary, SummaryRow};

use super::figure;
use crate::figure::Figure;

/// R-hat of predictions, in a column for each class or response: of the summary of
/// [`Predictions`](bnn_mcmc::predict::Predictions::summary), whose names end in `, ` and the class or
/// response. See [`models`](super::models()) for what a column shows.
///
/// # Errors
/// If there is no prediction.
pub fn predictions(summary: &Summary) -> Result<Figure, Error> {
    let mut columns: Vec<(&str, Vec<SummaryRow>)> = Vec::new();
    for row in &summary.rows {
        let name = row.name.split_once(", ").map_or(row.name.as_str(), |(_, name)| name);
        match columns.iter_mut().find(|(other, _)| *other == name) {
            Some((_, rows)) => rows.push(row.clone()),
            None => columns.push((name, vec![row.clone()])),
        }
    }
    let columns = columns.iter().map(|(name, rows)| (*name, rows.as_slice()));
    figure("prediction", "response", columns.collect())
}

//! R-hat of every parameter, by model.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::Summary;

use super::figure;
use crate::figure::Figure;

/// R-hat of every parameter of several models, such as the models of a comparison, in a column for
/// each.
///
/// A column has a box plot; beyond its whiskers every parameter is a point. With up to 12 columns,
/// up to 200 parameters within the whiskers are points, too, evenly spaced by rank and moved
/// sideways so that they can be told apart. An undefined or infinite R-hat, as of constant chains,
/// is a cross at the top. The vertical axis is logarithmic. If there are more than 40 models, the
/// 40 with the largest R-hat are shown, where an undefined one counts as the largest.
///
/// # Errors
/// If there is no model, or none has a parameter.
pub fn models(models: &[(&str, &Summary)]) -> Result<Figure, Error> {
    let columns = models.iter().map(|(name, summary)| (*name, summary.rows.as_slice()));
    figure("parameter", "model", columns.collect())
}

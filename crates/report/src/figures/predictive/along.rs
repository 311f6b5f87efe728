//! Predictions along rows in their order, with intervals.

use bnn_mcmc::Error;

use super::Method;
use super::bands::bands;
use super::curve::Curve;
use crate::figure::Figure;

/// Predictions along rows in their order, such as the rows of a series, with intervals of this
/// `level`: one panel for each method, on the same axes.
///
/// `place` says where each row is, such as its year, and ascends; `label` names it.
///
/// # Errors
/// No method; methods with other columns or rows; a column that does not exist; a place that is not
/// finite or smaller than the one before it; and the errors of
/// [`Predictions::predictive_interval`](bnn_mcmc::predict::Predictions::predictive_interval).
pub fn along(
    methods: &[Method],
    place: &[f64],
    label: &str,
    column: usize,
    level: f64,
) -> Result<Figure, Error> {
    if let Some(value) = place.iter().find(|x| !x.is_finite()) {
        return Err(Error::argument("place", value, "finite in every row"));
    }
    if let Some(pair) = place.windows(2).find(|pair| pair[0] > pair[1]) {
        let value = format!("{} after {}", pair[1], pair[0]);
        return Err(Error::argument("place", value, "ascending"));
    }
    let figure = Figure::new("predictions-along-rows", format!("Predictions along {label}"), "");
    bands(figure, methods, (place, label), Curve::grouped(place), column, level)
}

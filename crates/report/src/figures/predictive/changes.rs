//! Predicted against true changes of a series from its last known value.

use bnn_mcmc::Error;
use bnn_mcmc::predict::Predictions;
use ndarray::ArrayView2;

use super::cells::Cells;
use super::{percent, thin};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place, Symbol};

/// Predicted against true changes of a series from its last known value, for one step of the
/// horizon: the delta-y plot. `last` are the last known values, `[row, column]`, from
/// [`persistence`](bnn_mcmc::predict::persistence).
///
/// # Errors
/// A column that does not exist, no observations, and the errors of [`Predictions::skill`].
pub fn changes(
    predictions: &Predictions,
    last: ArrayView2<f64>,
    column: usize,
) -> Result<Figure, Error> {
    let cells = Cells::new(predictions, column, 0.95)?;
    let observed = cells.observed()?;
    let skill = predictions.skill(last)?;
    let points: Vec<[f64; 2]> = (last.column(column).iter().zip(observed).zip(&cells.mean))
        .map(|((last, y), mean)| [y - last, mean - last]) //~ report-changes
        .collect();
    let of_known_sign = points.iter().filter(|p| p[0] != 0.0).count();
    let right = points.iter().filter(|p| p[0] * p[1] > 0.0).count();
    let (points, thinned) = thin(points);
    let x = Axis::new(format!("true change of {}", cells.name));
    let y = Axis::new("predicted change");
    let panel = Panel { aspect: 0.9, ..Panel::new("", x, y) }
        .mark(Mark::rule(Colour::Muted, Place::Horizontal(0.0)))
        .mark(Mark::rule(Colour::Muted, Place::Vertical(0.0)))
        .mark(Mark::rule(Colour::Ink, Place::Diagonal).named("predicted = true"))
        .mark(Mark::points(Colour::Series(0), Symbol::Dot, points));
    let columns = match predictions.response_names().len() {
        1 => String::new(),
        n => format!(" over all {n} columns"),
    };
    let caption = format!(
        "Changes from the last known value of the series. A prediction that only repeats this value \
         lies on the horizontal line, a perfect one on the diagonal. The skill against persistence, the \
         prediction of no change, is {skill:.3}{columns} (1 is perfect, 0 no better), and the direction \
         is right in {} % of {of_known_sign} changes.{thinned}",
        percent(right as f64 / of_known_sign as f64)
    );
    let title = format!("Predicted and true changes of {}", cells.name);
    Ok(Figure::new("changes", title, caption).panel(panel))
}

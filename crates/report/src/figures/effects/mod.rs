//! Effects of columns on predictions, and their importance.

mod curve;
mod importance;
mod pair;

pub use curve::curve;
pub use importance::importance;
pub use pair::pair;

use bnn_mcmc::data::ValueKind;
use bnn_mcmc::explain::Points;

use crate::figure::Axis;

/// The most outputs with a panel of their own.
const OUTPUTS: usize = 6;

/// Seconds of a year in the mean of the calendar, and of an hour.
const YEAR: f64 = 365.2425 * 86_400.0;
const HOUR: f64 = 3600.0;

/// Values as numbers on an axis: times as years, or as hours of the day.
fn on_axis(points: &Points, values: &[f64]) -> (Axis, Vec<f64>) {
    let (label, to): (String, fn(f64) -> f64) = match points.kind {
        ValueKind::Clock => (format!("{} (hour)", points.column), |t| t / HOUR),
        ValueKind::Date => (format!("{} (year)", points.column), |t| 1970.0 + t / YEAR),
        ValueKind::Number | ValueKind::Label => (points.column.clone(), |v| v),
    };
    (Axis::new(label), values.iter().copied().map(to).collect())
}

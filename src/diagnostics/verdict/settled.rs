//! Whether predictions have settled: what Monte Carlo error leaves open of them.

use serde::{Deserialize, Serialize};

/// The largest error of the mean log predictive density of settled predictions, in nats.
///
/// Tables of some hundred rows leave the mean log density of new rows open by 0.02 to 0.1 nats.
pub const SETTLED_LOG_DENSITY: f64 = 0.002;
/// The largest error of the expected response of settled predictions at [`SETTLED_SHARE`] of the rows, in predictive standard
/// deviations.
///
/// A normal density whose mean is off by e standard deviations loses e^2 / 2 nats: 0.001 at most.
pub const SETTLED_MEAN: f64 = 0.05;
/// The share of rows and columns whose error [`SETTLED_MEAN`] bounds.
pub const SETTLED_SHARE: f64 = 0.95;

/// What Monte Carlo error leaves open of predictions:
/// [`Predictions::monte_carlo_error`](crate::predict::Predictions::monte_carlo_error). A longer run makes it smaller, and more
/// data do not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MonteCarloError {
    /// Of the mean log predictive density of a row, in nats.
    pub log_density: f64,
    /// Of the expected response, in predictive standard deviations: so much or less at [`SETTLED_SHARE`] of the rows and columns.
    pub mean: f64,
}

impl MonteCarloError {
    /// Whether both errors are within their limits. An error that is not a number is not.
    pub fn is_settled(&self) -> bool {
        self.log_density <= SETTLED_LOG_DENSITY && self.mean <= SETTLED_MEAN //~ settled-limits
    }

    /// How many times as many draws bring both errors to their limits, as far as errors shrink with the root of their number.
    pub(crate) fn times_as_long(&self) -> f64 {
        let over = (self.log_density / SETTLED_LOG_DENSITY).max(self.mean / SETTLED_MEAN);
        over * over
    }
}

//! One column of predictions, row by row, which all figures of predictions share.

use bnn_mcmc::Error;
use bnn_mcmc::data::Response;
use bnn_mcmc::predict::Predictions;
use ndarray::Array2;

use super::{MOST_POINTS, thinned};
use crate::figure::{Colour, Mark, Symbol};
use crate::figures::bins::evenly;

/// One column of predictions, row by row.
pub(super) struct Cells {
    pub name: String,
    /// `mean`, or `median`.
    pub centre: &'static str,
    pub mean: Vec<f64>,
    /// The ends of the interval of the mean function.
    pub of_mean: [Vec<f64>; 2],
    /// The ends of the interval of a new observation.
    pub of_new: [Vec<f64>; 2],
    pub observed: Option<Vec<f64>>,
}

impl Cells {
    pub(super) fn new(predictions: &Predictions, column: usize, level: f64) -> Result<Self, Error> {
        let names = predictions.response_names();
        let Some(name) = names.get(column) else {
            return Err(Error::argument("column", column, format!("less than {}", names.len())));
        };
        let of = |values: &Array2<f64>| values.column(column).to_vec();
        let new = predictions.predictive_interval(level)?;
        let observed = match predictions.observed() {
            Some(Response::Counts(y)) if y.ncols() > 1 => {
                let allowed = "real numbers or counts in one column";
                return Err(Error::argument("response", "counts in several categories", allowed));
            }
            Some(Response::Real(y) | Response::Counts(y)) => Some(of(y)),
            _ => None,
        };
        let mean = predictions.mean_interval(level)?;
        Ok(Self {
            name: name.clone(),
            centre: predictions.centre().name(),
            mean: of(&predictions.posterior_mean()?),
            of_mean: [of(&mean.lower), of(&mean.upper)],
            of_new: [of(&new.lower), of(&new.upper)], //~ report-interval
            observed,
        })
    }

    pub(super) fn observed(&self) -> Result<&[f64], Error> {
        let missing = || Error::argument("predictions", "of new rows", "of rows with a response");
        self.observed.as_deref().ok_or_else(missing)
    }

    /// The observations within their own intervals and the observations outside, and a sentence on
    /// rows left out.
    pub(super) fn points(&self, x: &[f64]) -> (Vec<Mark>, String) {
        let Some(observed) = &self.observed else {
            return (Vec::new(), String::new());
        };
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
        let shown = evenly(x.len(), MOST_POINTS).into_iter().map(|k| order[k]);
        let is_inside =
            |i: &usize| observed[*i] >= self.of_new[0][*i] && observed[*i] <= self.of_new[1][*i];
        let (inside, outside): (Vec<usize>, Vec<usize>) = shown.partition(is_inside);
        let points = |rows: Vec<usize>| rows.into_iter().map(|i| [x[i], observed[i]]).collect();
        let marks = [
            Mark::points(Colour::Muted, Symbol::Dot, points(inside)).named("observed"),
            Mark::points(Colour::Series(3), Symbol::Cross, points(outside))
                .named("outside interval"),
        ];
        (marks.to_vec(), thinned(x.len()))
    }
}

//! The scales of columns, where they are sampled.

use std::fmt;

use ndarray::{ArrayView1, Axis};

use super::recipe::RELEVANCE;
use super::{Fit, Plan};
use crate::diagnostics::quantile;
use crate::model::Model;
use crate::portable::exp;

/// The relevance of a column: the prior standard deviation of the weights that leave its features, where it is
/// sampled, see [`Fit::relevance`].
#[derive(Clone, Debug, PartialEq)]
pub struct Relevance {
    /// The column of the table, or the feature.
    pub column: String,
    /// The scale by each draw, one chain after the other.
    pub scales: Vec<f64>,
}

impl Relevance {
    /// The quantile at `p` of the scale.
    pub fn quantile(&self, p: f64) -> f64 {
        let mut sorted = self.scales.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        quantile(&sorted, p)
    }
}

/// Column, median, and the interval of 90 %.
impl fmt::Display for Relevance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, median, high] = [0.05, 0.5, 0.95].map(|p| self.quantile(p));
        write!(f, "{} {median:.3} [{low:.3}, {high:.3}]", self.column)
    }
}

impl Fit {
    /// The relevance of each column, in the order of the table; empty where no scale by column is sampled, as with
    /// [`WeightPrior::FanIn`](super::WeightPrior::FanIn).
    ///
    /// ```text
    /// w_ij ~ N(0, sigma_j^2) for all weights i from the features of column j, relative to fan-in;   sigma_j = e^(s_j / 2)
    /// ```
    ///
    /// Features and a real response are standardised, so that scales have no unit and compare between columns; `scales` has one for each
    /// draw. The prior is by MacKay (1994) and Neal (1996, doi:10.1007/978-1-4612-0745-0), known as automatic relevance determination.
    ///
    /// A column whose scale is near 0 beside the others hardly takes part in the hidden layer; it may still act through a
    /// [linear part](super::Recipe::skip), whose weights have a scale of their own. A scale is of weights, and says less of predictions than
    /// [importance](crate::explain::Explainer::importance) does.
    pub fn relevance(&self) -> Vec<Relevance> {
        let Plan { posterior, data, .. } = &*self.plan;
        let Some(range) = posterior.layout().range(RELEVANCE) else { return Vec::new() };
        let named = posterior.model().named_axes();
        let names = named.into_iter().find(|(block, ..)| block == RELEVANCE);
        let names = names.map_or(data.feature_names().to_vec(), |(_, _, names)| names);
        let values = self.draws.values();
        let of_column = |(place, column): (usize, String)| {
            let of_draw = |q: ArrayView1<f64>| exp(0.5 * q[place]); //~ relevance-of-variance
            let scales = values.lanes(Axis(2)).into_iter().map(of_draw).collect();
            Relevance { column, scales }
        };
        range.zip(names).map(of_column).collect()
    }
}

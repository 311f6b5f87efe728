//! Flat densities, which are improper.

use serde::Serialize;

use super::{Prior, subtract_scaled};
use crate::Error;
use crate::curvature::Curvature;
use crate::message::Advice;
use crate::rng::ChainRng;

/// A density that is the same everywhere: of the numbers of a block, or of standard deviations whose squares are sampled on
/// the log scale.
///
/// ```text
/// of numbers               log p(x) = 0
/// of standard deviations   log p(x) = x/2 - log 2,   sd = e^(x/2),  d sd / d x = sd / 2
/// ```
///
/// It is improper: it can be sampled with where the data bound every coordinate, but not drawn from, and has no evidence.
/// **Where the data do not bound a coordinate the posterior is improper too**, and chains drift away: with a flat
/// standard deviation of a hierarchical prior at two groups or fewer, for example (Gelman 2006, doi:10.1214/06-BA117A). It is
/// there to compare with other software's flat priors; [`Normal`](super::Normal) says as little with a large sd.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Flat {
    /// d log p / dx.
    slope: f64,
}

impl Flat {
    /// Flat on the numbers of a block.
    pub fn of_numbers() -> Self {
        Self { slope: 0.0 }
    }

    /// Flat on sd > 0, for blocks that hold log sd^2, such as `log_noise_variance`.
    pub fn of_sd() -> Self {
        Self { slope: 0.5 } //~ flat-sd
    }
}

impl Prior for Flat {
    fn log_density(&self, x: &[f64]) -> f64 {
        let constant = if self.slope == 0.0 { 0.0 } else { -std::f64::consts::LN_2 };
        x.iter().map(|x| self.slope * x + constant).sum()
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        grad.iter_mut().for_each(|grad| *grad += self.slope);
        self.log_density(x)
    }

    fn draw(&self, _: &mut ChainRng, _: &mut [f64]) -> Result<(), Error> {
        let allowed = "a proper prior to draw from: a flat one has no draws";
        let start = Advice::in_rust("start chains elsewhere, by `Init::Around` or `Init::Points`");
        Err(Error::argument("prior", "flat", allowed).advise([start]))
    }

    /// The density is linear: its second derivative is 0.
    fn add_hessian_product(&self, _: Curvature, _: &[f64], v: &[f64], hv: &mut [f64]) -> bool {
        subtract_scaled(0.0, v, hv)
    }
}

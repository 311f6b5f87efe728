//! A box: every coordinate uniform on [lower, upper], independently.

use serde::Serialize;

use super::{Family, Prior, subtract_scaled};
use crate::Error;
use crate::curvature::Curvature;
use crate::error::finite;
use crate::portable::ln;
use crate::rng::ChainRng;

/// U(lower, upper) for every coordinate of the block; -inf outside.
///
/// A proposal outside the box is rejected without evaluating the likelihood, and is no divergence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Uniform {
    lower: f64,
    upper: f64,
    constant: f64,
}

impl Uniform {
    /// Finite bounds with lower < upper.
    pub fn new(lower: f64, upper: f64) -> Result<Self, Error> {
        finite("lower bound of the uniform prior", lower)?;
        finite("upper bound of the uniform prior", upper)?;
        if lower >= upper || !(upper - lower).is_finite() {
            let value = format!("[{lower}, {upper}]");
            return Err(Error::argument(
                "box of the uniform prior",
                value,
                "lower < upper, of finite width",
            ));
        }
        Ok(Self { lower, upper, constant: -ln(upper - lower) }) //~ uniform-prior-constant
    }
}

impl Prior for Uniform {
    fn log_density(&self, x: &[f64]) -> f64 {
        if x.iter().all(|x| (self.lower..=self.upper).contains(x)) {
            x.len() as f64 * self.constant
        } else if x.iter().any(|x| x.is_nan()) {
            f64::NAN
        } else {
            f64::NEG_INFINITY
        }
    }

    fn add_grad(&self, x: &[f64], _grad: &mut [f64]) -> f64 {
        self.log_density(x)
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        x.fill_with(|| self.lower + (self.upper - self.lower) * rng.uniform());
        Ok(())
    }

    fn family(&self) -> Family {
        Family::Uniform { lower: self.lower, upper: self.upper }
    }

    fn add_hessian_product(
        &self,
        curvature: Curvature,
        _x: &[f64],
        v: &[f64],
        hv: &mut [f64],
    ) -> bool {
        match curvature {
            Curvature::Observed => true,
            Curvature::Expected => subtract_scaled(12.0 / (self.upper - self.lower).powi(2), v, hv),
        }
    }
}

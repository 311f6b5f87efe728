//! The logarithm of an inverse-gamma variable, for variances that are sampled on the log scale.

use serde::Serialize;

use super::{Family, Prior, subtract_scaled};
use crate::Error;
use crate::curvature::Curvature;
use crate::message::Advice;
use crate::portable::{exp, ln, ln_gamma};
use crate::rng::ChainRng;

/// x = log v with v ~ IG(shape, scale), for every coordinate x of the block.
///
/// `shape = scale = 0` is the improper density 1/v, constant in x: it can be sampled with, but not
/// drawn from, and its log density is taken to be 0. **With a model that can fit all responses
/// exactly, the posterior is then improper too**, and chains drift to ever smaller noise.
///
/// For v ~ IG(a, b), p(v) = b^a / Gamma(a) v^-(a+1) e^(-b/v). With x = log v the change of
/// variables multiplies by dv/dx = v, so that
///
/// ```text
/// log p(x)      = a log b - log Gamma(a) - a x - b e^-x
/// d log p / dx  = -a + b e^-x
/// ```
///
/// The Jacobian is included: the block holds x, and the density is with respect to x.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LogInverseGamma {
    shape: f64,
    scale: f64,
    constant: f64,
}

impl LogInverseGamma {
    /// Shape and scale, both positive, or both 0 (improper).
    pub fn new(shape: f64, scale: f64) -> Result<Self, Error> {
        if shape == 0.0 && scale == 0.0 {
            return Ok(Self { shape, scale, constant: 0.0 });
        }
        for (name, value) in [("shape", shape), ("scale", scale)] {
            if !(value.is_finite() && value > 0.0) {
                let name = format!("{name} of the inverse-gamma prior");
                let allowed = "a finite number above 0 (or shape and scale both 0, improper)";
                return Err(Error::argument(name, value, allowed));
            }
        }
        //~ inverse-gamma-constant
        Ok(Self { shape, scale, constant: shape * ln(scale) - ln_gamma(shape) })
    }

    pub(crate) fn is_proper(&self) -> bool {
        self.shape > 0.0
    }

    /// b e^-x.
    fn tail(&self, x: f64) -> f64 {
        // scale = 0 with x = -inf or a large negative x would give 0 * inf.
        if self.is_proper() { self.scale * exp(-x) } else { 0.0 }
    }

    fn each(&self, x: f64) -> (f64, f64) {
        let tail = self.tail(x);
        (self.constant - self.shape * x - tail, tail - self.shape) //~ inverse-gamma-jacobian
    }
}

impl Prior for LogInverseGamma {
    fn log_density(&self, x: &[f64]) -> f64 {
        x.iter().map(|x| self.each(*x).0).sum()
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for (grad, x) in grad.iter_mut().zip(x) {
            let (log_density, derivative) = self.each(*x);
            sum += log_density;
            *grad += derivative;
        }
        sum
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        if !self.is_proper() {
            return Err(Error::argument(
                "shape and scale of the inverse-gamma prior",
                "0",
                "above 0 to draw from it: with 0 the prior is improper",
            )
            .advise([Advice::in_rust(
                "start chains elsewhere, by `Init::Around` or `Init::Points`",
            )]));
        }
        // v = scale / g with g ~ Gamma(a, 1) = Gamma(a + 1, 1) U^(1/a), in logs: for a small shape
        // g itself underflows.
        x.fill_with(|| {
            let log_uniform = ln(1.0 - rng.uniform());
            //~ inverse-gamma-draw
            ln(self.scale) - ln(rng.gamma(self.shape + 1.0)) - log_uniform / self.shape
        });
        Ok(())
    }

    fn family(&self) -> Family {
        Family::LogInverseGamma { shape: self.shape, scale: self.scale }
    }

    fn add_hessian_product(
        &self,
        curvature: Curvature,
        x: &[f64],
        v: &[f64],
        hv: &mut [f64],
    ) -> bool {
        match curvature {
            Curvature::Observed => {
                for ((hv, x), v) in hv.iter_mut().zip(x).zip(v) {
                    *hv -= self.tail(*x) * v;
                }
                true
            }
            Curvature::Expected => subtract_scaled(self.shape, v, hv),
        }
    }
}

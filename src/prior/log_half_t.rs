//! The logarithm of the square of a half-t variable, for variances that are sampled on the log scale.

use serde::Serialize;

use super::{Prior, subtract_scaled};
use crate::Error;
use crate::curvature::Curvature;
use crate::error::ordinary_sd;
use crate::portable::{exp, ln, ln_1p, ln_gamma};
use crate::rng::ChainRng;

/// x = log v with sqrt(v) = scale |T|, T Student's t with nu degrees of freedom, for every coordinate
/// x of the block: a half-t standard deviation.
///
/// It has density at 0, like [`LogHalfCauchy`](super::LogHalfCauchy), which is the case nu = 1, and
/// lighter tails for larger nu: a scale that the data hardly bound from above, as of the logits of
/// classes that are separable, stays within reason for nu of 3 or more (Gelman 2006,
/// doi:10.1214/06-BA117A). With sd = e^(x/2), d sd / d x = sd / 2 and
/// t = x - 2 log scale - log nu, e^t = sd^2 / (nu scale^2):
///
/// ```text
/// log p(x)      = log Gamma((nu + 1)/2) - log Gamma(nu/2) - 1/2 log(pi) + t/2 - (nu + 1)/2 log(1 + e^t)
/// d log p / dx  = 1/2 - (nu + 1)/2 sigmoid(t)
/// ```
///
/// The Jacobian is included: the block holds x, and the density is with respect to x.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LogHalfT {
    degrees_of_freedom: f64,
    /// 2 log scale + log nu.
    location: f64,
    constant: f64,
}

impl LogHalfT {
    /// Degrees of freedom, from 0.1 to 1e6, and the scale of sqrt(v), from 1e-150 to 1e150.
    pub fn new(degrees_of_freedom: f64, scale: f64) -> Result<Self, Error> {
        let nu = degrees_of_freedom;
        if !(0.1..=1e6).contains(&nu) {
            let name = "degrees of freedom of the half-t prior";
            return Err(Error::argument(name, nu, "from 0.1 to 1e6"));
        }
        let scale = ordinary_sd("scale of the half-t prior", scale)?;
        let constant =
            ln_gamma(0.5 * (nu + 1.0)) - ln_gamma(0.5 * nu) - 0.5 * ln(std::f64::consts::PI); //~ half-t-constant
        Ok(Self { degrees_of_freedom: nu, location: 2.0 * ln(scale) + ln(nu), constant })
    }

    /// sigmoid(t).
    fn share(&self, x: f64) -> f64 {
        1.0 / (1.0 + exp(self.location - x))
    }
}

impl Prior for LogHalfT {
    fn log_density(&self, x: &[f64]) -> f64 {
        // log(1 + e^t) = max(t, 0) + log(1 + e^-|t|).
        let half = 0.5 * (self.degrees_of_freedom + 1.0);
        let of = |x: &f64| {
            let t = x - self.location;
            0.5 * t - half * (t.max(0.0) + ln_1p(exp(-t.abs()))) //~ half-t-tail
        };
        x.len() as f64 * self.constant + x.iter().map(of).sum::<f64>()
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        let half = 0.5 * (self.degrees_of_freedom + 1.0);
        grad.iter_mut().zip(x).for_each(|(grad, x)| *grad += 0.5 - half * self.share(*x));
        self.log_density(x)
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        // sd^2 / (nu scale^2) = z^2 / c, with z normal and c = 2 Gamma(nu / 2) chi-squared.
        let half = 0.5 * self.degrees_of_freedom;
        x.fill_with(|| {
            let (z, c) = (rng.normal(), 2.0 * rng.gamma(half));
            self.location + 2.0 * ln(z.abs()) - ln(c) //~ half-t-draw
        });
        Ok(())
    }

    fn add_hessian_product(
        &self,
        curvature: Curvature,
        x: &[f64],
        v: &[f64],
        hv: &mut [f64],
    ) -> bool {
        let nu = self.degrees_of_freedom;
        match curvature {
            Curvature::Observed => {
                for ((hv, x), v) in hv.iter_mut().zip(x).zip(v) {
                    let share = self.share(*x);
                    *hv -= 0.5 * (nu + 1.0) * share * (1.0 - share) * v;
                }
                true
            }
            // sigmoid(t) ~ Beta(1/2, nu/2).
            Curvature::Expected => subtract_scaled(0.5 * nu / (nu + 3.0), v, hv),
        }
    }
}

//! The logarithm of the square of a half-Cauchy variable, for variances that are sampled on the log
//! scale.

use serde::Serialize;

use super::{Prior, subtract_scaled};
use crate::Error;
use crate::curvature::Curvature;
use crate::error::ordinary_sd;
use crate::portable::{exp, ln, ln_1p, tanh};
use crate::rng::ChainRng;

/// x = log v with sqrt(v) ~ C+(0, scale), for every coordinate x of the block: a half-Cauchy standard
/// deviation.
///
/// It has density at 0 and heavy tails, so that a scale can be next to nothing or large (Gelman 2006,
/// doi:10.1214/06-BA117A). With sd = e^(x/2), p(sd) = 2 scale / (pi (scale^2 + sd^2)) and
/// d sd / d x = sd / 2, x is a hyperbolic secant around 2 log scale: with z = (x - 2 log scale) / 2,
///
/// ```text
/// log p(x)      = -log(2 pi) - log cosh z
/// d log p / dx  = -tanh(z) / 2
/// ```
///
/// The Jacobian is included: the block holds x, and the density is with respect to x.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LogHalfCauchy {
    location: f64,
}

impl LogHalfCauchy {
    /// The scale, which is the median of sqrt(v), from 1e-150 to 1e150.
    pub fn new(scale: f64) -> Result<Self, Error> {
        let scale = ordinary_sd("scale of the half-Cauchy prior", scale)?;
        Ok(Self { location: 2.0 * ln(scale) })
    }

    /// The prior of scale e^(t/2).
    pub(super) fn around(t: f64) -> Self {
        Self { location: t }
    }

    /// The sum of d log p / dx over coordinates.
    pub(super) fn slope(&self, x: &[f64]) -> f64 {
        x.iter().map(|x| -0.5 * tanh(self.z(*x))).sum()
    }

    fn z(&self, x: f64) -> f64 {
        0.5 * (x - self.location)
    }
}

impl Prior for LogHalfCauchy {
    fn log_density(&self, x: &[f64]) -> f64 {
        // log cosh z = |z| + log(1 + e^-2|z|) - log 2.
        let log_cosh = |x: &f64| {
            let z = self.z(*x).abs();
            z + ln_1p(exp(-2.0 * z)) //~ half-cauchy-tail
        };
        -(x.len() as f64) * ln(std::f64::consts::PI) - x.iter().map(log_cosh).sum::<f64>()
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        grad.iter_mut().zip(x).for_each(|(grad, x)| *grad -= 0.5 * tanh(self.z(*x)));
        self.log_density(x)
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        // A Cauchy variable is the ratio of two normal ones.
        x.fill_with(|| {
            let (a, b) = (rng.normal().abs(), rng.normal().abs());
            self.location + 2.0 * (ln(a) - ln(b)) //~ half-cauchy-draw
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
        match curvature {
            Curvature::Observed => {
                for ((hv, x), v) in hv.iter_mut().zip(x).zip(v) {
                    let tanh = tanh(self.z(*x));
                    *hv -= 0.25 * (1.0 - tanh * tanh) * v;
                }
                true
            }
            Curvature::Expected => subtract_scaled(0.125, v, hv),
        }
    }
}

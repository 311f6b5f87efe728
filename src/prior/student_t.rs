//! Independent Student-t coordinates. With t = (x - location) / scale and nu degrees of freedom,

use serde::Serialize;

use super::{Prior, subtract_scaled};
use crate::Error;
use crate::curvature::Curvature;
use crate::error::{finite, positive};
use crate::portable::{ln, ln_1p, ln_gamma};
use crate::rng::ChainRng;

/// Student's t for every coordinate of the block: heavy tails, for a few large weights among small
/// ones. One degree of freedom is the Cauchy distribution.
///
/// ```text
/// log p       = log Gamma((nu + 1)/2) - log Gamma(nu/2) - 1/2 log(pi nu) - log scale
///               - (nu + 1)/2 log(1 + t^2/nu)
/// d log p/dx  = -(nu + 1) t / (scale (nu + t^2))
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StudentT {
    degrees_of_freedom: f64,
    location: f64,
    scale: f64,
    constant: f64,
}

impl StudentT {
    /// Degrees of freedom (from 0.1 to 1e6), location (finite), scale (finite, positive).
    pub fn new(degrees_of_freedom: f64, location: f64, scale: f64) -> Result<Self, Error> {
        let nu = degrees_of_freedom;
        if !(0.1..=1e6).contains(&nu) {
            let name = "degrees of freedom of the Student-t prior";
            return Err(Error::argument(name, nu, "from 0.1 to 1e6"));
        }
        let location = finite("location of the Student-t prior", location)?;
        let scale = positive("scale of the Student-t prior", scale)?;
        let constant = ln_gamma(0.5 * (nu + 1.0))
            - ln_gamma(0.5 * nu)
            - 0.5 * ln(std::f64::consts::PI * nu) //~ student-t-prior-constant
            - ln(scale);
        Ok(Self { degrees_of_freedom, location, scale, constant })
    }
}

impl Prior for StudentT {
    fn log_density(&self, x: &[f64]) -> f64 {
        let nu = self.degrees_of_freedom;
        let tails: f64 =
            x.iter().map(|x| ((x - self.location) / self.scale).powi(2) / nu).map(ln_1p).sum();
        x.len() as f64 * self.constant - 0.5 * (nu + 1.0) * tails
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        let nu = self.degrees_of_freedom;
        for (grad, x) in grad.iter_mut().zip(x) {
            let t = (x - self.location) / self.scale;
            *grad -= (nu + 1.0) * t / (self.scale * (nu + t * t)); //~ student-t-prior-gradient
        }
        self.log_density(x)
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        // z / sqrt(c / nu), with z normal and c = 2 Gamma(nu / 2) chi-squared.
        let half = 0.5 * self.degrees_of_freedom;
        x.fill_with(|| {
            self.location + self.scale * (rng.normal() * (half / rng.gamma(half)).sqrt())
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
        let scale_squared = self.scale * self.scale;
        match curvature {
            Curvature::Observed => {
                for ((hv, x), v) in hv.iter_mut().zip(x).zip(v) {
                    let t = (x - self.location) / self.scale;
                    let u = nu / (nu + t * t); // (nu - t^2) / (nu + t^2) = 2 u - 1
                    *hv -= (nu + 1.0) / (nu * scale_squared) * u * (2.0 * u - 1.0) * v;
                }
                true
            }
            Curvature::Expected => {
                subtract_scaled((nu + 1.0) / ((nu + 3.0) * scale_squared), v, hv)
            }
        }
    }
}

//! Independent Laplace coordinates: log p = -n log(2 scale) - sum |x - location| / scale.

use serde::Serialize;

use super::{Prior, subtract_scaled};
use crate::Error;
use crate::curvature::Curvature;
use crate::error::{finite, positive};
use crate::portable::{ln, ln_1p};
use crate::rng::ChainRng;

/// Laplace(location, scale) for every coordinate of the block; the standard deviation is
/// sqrt(2) scale.
///
/// Pulls small weights towards the location more than a normal prior does, large ones less. At the
/// location itself the derivative is taken to be 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Laplace {
    location: f64,
    scale: f64,
}

impl Laplace {
    /// Location (finite) and scale (finite, positive).
    pub fn new(location: f64, scale: f64) -> Result<Self, Error> {
        let location = finite("location of the Laplace prior", location)?;
        Ok(Self { location, scale: positive("scale of the Laplace prior", scale)? })
    }
}

impl Prior for Laplace {
    fn log_density(&self, x: &[f64]) -> f64 {
        let distance: f64 = x.iter().map(|x| (x - self.location).abs()).sum();
        -(x.len() as f64) * ln(2.0 * self.scale) - distance / self.scale //~ laplace-prior-constant
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        for (grad, x) in grad.iter_mut().zip(x) {
            let d = x - self.location;
            *grad -= if d == 0.0 { 0.0 } else { d.signum() / self.scale };
        }
        self.log_density(x)
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        x.fill_with(|| {
            let u = rng.uniform() - 0.5;
            self.location - self.scale * u.signum() * ln_1p(-2.0 * u.abs())
        });
        Ok(())
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
            Curvature::Expected => subtract_scaled(0.5 / (self.scale * self.scale), v, hv),
        }
    }
}

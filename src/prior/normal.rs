//! Independent normal coordinates: log p = -n/2 log(2 pi sd^2) - sum (x - mean)^2 / (2 sd^2).

use serde::Serialize;

use super::{Family, Prior, subtract_scaled};
use crate::Error;
use crate::curvature::Curvature;
use crate::engine::simd::Vector;
use crate::error::{finite, ordinary_sd};
use crate::portable::ln;
use crate::rng::ChainRng;

/// N(mean, sd^2) for every coordinate of the block.
///
/// The second argument is a **standard deviation**. Papers often write N(0, 25) for a variance of
/// 25: that is `Normal::new(0.0, 5.0)` here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Normal {
    mean: f64,
    sd: f64,
    precision: f64,
    constant: f64,
}

impl Normal {
    /// Mean (finite) and standard deviation (from 1e-150 to 1e150: its square must be an ordinary
    /// number).
    pub fn new(mean: f64, sd: f64) -> Result<Self, Error> {
        let mean = finite("mean of the normal prior", mean)?;
        let sd = ordinary_sd("sd of the normal prior", sd)?;
        let constant = -0.5 * ln(std::f64::consts::TAU) - ln(sd); //~ normal-prior-constant
        Ok(Self { mean, sd, precision: 1.0 / (sd * sd), constant })
    }

    /// The log density of n coordinates with the given sum of (x - mean)^2.
    fn of_squares(&self, n: usize, squares: f64) -> f64 {
        n as f64 * self.constant - 0.5 * self.precision * squares
    }
}

impl Prior for Normal {
    fn log_density(&self, x: &[f64]) -> f64 {
        // Eight partial sums, so that the additions need not wait for each other.
        let mut sums = [0.0; 8];
        let (chunks, last) = x.as_chunks::<8>();
        for x in chunks {
            for i in 0..8 {
                let d = x[i] - self.mean;
                sums[i] += d * d;
            }
        }
        for (sum, x) in sums.iter_mut().zip(last) {
            let d = x - self.mean;
            *sum += d * d;
        }
        self.of_squares(x.len(), sums.iter().sum())
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        self.of_squares(x.len(), add_gradient(x, self.mean, self.precision, grad))
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        x.fill_with(|| self.mean + self.sd * rng.normal());
        Ok(())
    }

    fn family(&self) -> Family {
        Family::Normal { mean: self.mean, sd: self.sd }
    }

    fn add_hessian_product(&self, _: Curvature, _x: &[f64], v: &[f64], hv: &mut [f64]) -> bool {
        subtract_scaled(self.precision, v, hv)
    }
}

dispatch! {
    /// Subtracts precision (x - mean) from `grad`, and returns the sum of (x - mean)^2.
    fn add_gradient(x: &[f64], mean: f64, precision: f64, grad: &mut [f64]) -> f64
        => add_gradient_body
}

#[inline(always)]
fn add_gradient_body<V: Vector<f64>>(
    level: V::Level,
    x: &[f64],
    mean: f64,
    precision: f64,
    grad: &mut [f64],
) -> f64 {
    let (means, factors) = (V::splat(level, mean), V::splat(level, -precision));
    let mut sums = [V::splat(level, 0.0); 2];
    let whole = x.len() - x.len() % V::LANES;
    for (x, grad) in V::chunks(x).iter().zip(V::chunks_mut(grad)) {
        let d = V::load(level, x).sub(means);
        sums = [sums[1], d.mul_add(d, sums[0])];
        factors.mul_add(d, V::load(level, grad)).store(grad);
    }
    let mut sum = sums[0].add(sums[1]).sum();
    for (x, grad) in x[whole..].iter().zip(&mut grad[whole..]) {
        let d = x - mean;
        sum += d * d;
        *grad -= precision * d;
    }
    sum
}

//! Priors: densities over the named blocks of the parameter vector.
//!
//! Each block of a [`Posterior`](crate::posterior::Posterior) gets one prior, by the block's name or
//! by a pattern ending in `*`; `*` alone, and [`Priors::all`], are all blocks of the model, and none
//! of the likelihood's own. [`Priors::by_fan_in`] is a good start for regression networks. Every
//! density is normalised: evidence needs the constants.
//!
//! | prior | density of one coordinate x | proper |
//! | --- | --- | --- |
//! | [`Normal`] | N(mean, sd^2); the second argument is a standard deviation | yes |
//! | [`LogInverseGamma`] | the density of x = log v for v ~ IG(shape, scale) | unless shape = scale = 0 |
//! | [`LogHalfCauchy`] | the density of x = log v for sqrt(v) ~ C+(0, scale) | yes |
//! | [`LogHalfT`] | the density of x = log v for sqrt(v) half-t of given degrees of freedom and scale | yes |
//! | [`Laplace`] | e^(-abs(x - location) / scale) / (2 scale) | yes |
//! | [`StudentT`] | Student's t with given degrees of freedom, location and scale | yes |
//! | [`Uniform`] | 1 / (upper - lower) inside the box, 0 outside | yes |
//! | [`Flat`] | 1; or the density of x = log v for sqrt(v) flat above 0 | no |
//! | [`Priors::hierarchical`] | N(0, v), the variance v sampled too | if the prior of v is |
//! | [`Priors::ard`] | N(0, v_j) for the weights of input j, the variances sampled too | if the prior of v_j is |
//! | [`Priors::horseshoe`] | as `ard`, sqrt(v_j) ~ C+(0, tau), tau sampled too | if the prior of tau is |
//!
//! The curvature of the priors: minus the second derivative of log p, with t = (x - location) /
//! scale and nu degrees of freedom, and the precision that takes its place in a [Fisher
//! metric](crate::targets::FisherTarget), which must nowhere be negative:
//!
//! | prior | minus second derivative | precision in a metric |
//! | --- | --- | --- |
//! | [`Normal`] | 1 / sd^2 | the same |
//! | [`LogInverseGamma`] | scale e^-x | shape, its expectation under the prior |
//! | [`LogHalfCauchy`] | sech^2(z) / 4, z = x/2 - log scale | 1/8, its expectation under the prior |
//! | [`LogHalfT`] | (nu + 1) / 2 s (1 - s), s = sigmoid(x - 2 log scale - log nu) | nu / (2 (nu + 3)), its expectation under the prior |
//! | [`Laplace`] | 0, except at the kink | 1 / variance = 1 / (2 scale^2) |
//! | [`StudentT`] | (nu + 1) (nu - t^2) / (scale (nu + t^2))^2 | (nu + 1) / ((nu + 3) scale^2), its expectation |
//! | [`Uniform`] | 0 | 1 / variance = 12 / (upper - lower)^2 |
//! | [`Flat`] | 0 | 0 |
//! | [`Priors::hierarchical`], [`Priors::ard`] | x, x: e^-s; x, s: -e^-s x; s, s: e^-s/2 sum x^2 | e^-s; 0; n/2: the expectation given s |
//!
//! ```
//! use bnn_mcmc::prior::{LogInverseGamma, Normal, Priors};
//! let priors = Priors::new()
//!     .with("*", Normal::new(0.0, 1.0)?)
//!     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

mod block_prior;
mod blocks;
mod flat;
mod hierarchical;
mod laplace;
mod log_half_cauchy;
mod log_half_t;
mod log_inverse_gamma;
mod normal;
mod student_t;
mod uniform;

pub(crate) use block_prior::BlockPrior;
pub use blocks::Priors;
pub use flat::Flat;
pub use laplace::Laplace;
pub use log_half_cauchy::LogHalfCauchy;
pub use log_half_t::LogHalfT;
pub use log_inverse_gamma::LogInverseGamma;
pub use normal::Normal;
pub use student_t::StudentT;
pub use uniform::Uniform;

use std::fmt::Debug;

use crate::Error;
use crate::curvature::Curvature;
use crate::rng::ChainRng;

/// A density over one block of parameters, independent of the other blocks.
pub trait Prior: Debug + Send + Sync {
    /// log p(x), normalised; -inf outside the support. The documentation of improper priors says
    /// what they return.
    fn log_density(&self, x: &[f64]) -> f64;

    /// Adds the derivative of log p to `grad` (as long as `x`) and returns log p(x).
    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64;

    /// Draws x exactly. An improper prior returns an error that says why it cannot.
    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error>;

    /// The family, for kernels that make use of conjugacy or of bounds.
    fn family(&self) -> Family {
        Family::Other
    }

    /// Adds to `hv` the Hessian of log p at x times v (all as long as `x`), and returns true.
    ///
    /// With [`Curvature::Expected`] the Hessian is replaced by a matrix that is negative semi-definite
    /// at every x and the same for all x if possible: minus a precision, for metrics. The default
    /// adds nothing and returns false, which says that neither is known; kernels that need second
    /// derivatives then refuse the block.
    fn add_hessian_product(
        &self,
        _curvature: Curvature,
        _x: &[f64],
        _v: &[f64],
        _hv: &mut [f64],
    ) -> bool {
        false
    }
}

/// hv -= precision v: all that a prior with equal curvature everywhere adds.
fn subtract_scaled(precision: f64, v: &[f64], hv: &mut [f64]) -> bool {
    hv.iter_mut().zip(v).for_each(|(hv, v)| *hv -= precision * v);
    true
}

/// A family of priors that some kernels know how to use.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Family {
    /// Independent normal coordinates.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        sd: f64,
    },
    /// Logarithms of inverse-gamma variables.
    LogInverseGamma {
        /// The shape.
        shape: f64,
        /// The scale.
        scale: f64,
    },
    /// Independent coordinates, uniform on one interval.
    Uniform {
        /// The lower bound.
        lower: f64,
        /// The upper bound.
        upper: f64,
    },
    /// Any other family.
    Other,
}

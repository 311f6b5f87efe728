//! Checks for targets and samplers, yours and ours.
//!
//! - [`gradient_error`]: a target's gradient against finite differences; [`hessian_error`]: its
//!   Hessian against finite differences of the gradient.
//! - [`Invariance`]: does a kernel leave its target unchanged? Exact draws go in, k steps are made,
//!   and the results are compared with fresh exact draws by Kolmogorov-Smirnov tests. A wrong
//!   proposal ratio or Jacobian fails, however plausible its chains look. [`Invariance::run_joint`] is Geweke's test, of a
//!   posterior that has no exact draws.
//! - [`Sbc`]: simulation-based calibration of a model with its sampler: parameters from the prior, data given them, and the rank of the true
//!   values among draws of the posterior.
//! - Targets with exact draws: [`GaussianTarget`], and [`ConjugateRegression`], the exact posterior
//!   of linear regression.
//!
//! ```
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::testing::{GaussianTarget, Invariance, gradient_error};
//!
//! let target = GaussianTarget::new(vec![0.0, 1.0], &[2.0, 0.5, 0.5, 1.0])?;
//! assert!(gradient_error(&target, &[0.3, -1.0]) < 1e-8);
//!
//! let mala = Mala { step_size: 0.9, ..Mala::default() };
//! let report = Invariance::default().run(&target, &mala, |rng, q| target.draw(rng, q))?;
//! assert!(report.passes(), "{report}");
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

mod conjugate;
mod gaussian;
mod invariance;
mod sbc;

pub use conjugate::{ConjugateRegression, NoiseVariance};
pub use gaussian::GaussianTarget;
pub use invariance::{Invariance, InvarianceReport, TestedFunction, kolmogorov_smirnov};
pub use sbc::{Sbc, SbcReport, Simulated};

use ndarray::{Array3, s};

use crate::Error;
use crate::data::Dataset;
use crate::draws::Draws;
use crate::likelihood::Likelihood;
use crate::message::Advice;
use crate::model::Model;
use crate::posterior::Posterior;
use crate::rng::ChainRng;
use crate::targets::{GradTarget, HessTarget};

/// `data` with a response y ~ p(y | x, q) in the place of its own.
fn simulated_response<M: Model, L: Likelihood>(
    posterior: &Posterior<M, L>,
    q: &[f64],
    data: &Dataset,
    rng: &mut ChainRng,
) -> Result<Dataset, Error> {
    if data.weights().is_some() {
        // A response of weight w counts w times, and would be drawn once.
        let advice = Advice::in_rust("simulate rows that count once: `Dataset::without_weights`");
        return Err(Error::argument("weights of rows", "some", "none").advise([advice]));
    }
    let values = Array3::from_shape_fn((1, 1, q.len()), |(_, _, i)| q[i]);
    let draws = Draws::new(posterior.layout().clone(), values)?;
    let seed = (rng.uniform() * 2f64.powi(53)) as u64;
    let drawn = posterior.predict_seeded(&draws, data, seed)?;
    let drawn = drawn.predictive_draws().slice_move(s![0, 0, .., ..]).to_owned();
    data.clone().with_drawn_response(drawn)
}

/// The largest error of a target's gradient at `q`, over its coordinates.
///
/// The gradient is compared with central differences of fourth order; the error is relative to
/// 1 + the largest absolute derivative. Smooth targets of moderate scale give 1e-8 or less; a wrong
/// formula typically 1e-2 or more. A value that is not finite gives infinity.
pub fn gradient_error<T: GradTarget>(target: &T, q: &[f64]) -> f64 {
    let mut ws = target.workspace();
    let mut grad = vec![0.0; q.len()];
    target.log_density_grad(q, &mut grad, &mut ws);
    let mut at = q.to_vec();
    let mut value = |i: usize, h: f64| {
        at[i] = q[i] + h;
        let value = target.log_density(&at, &mut ws).total();
        at[i] = q[i];
        value
    };
    let largest = grad.iter().fold(0.0f64, |m, g| m.max(g.abs()));
    let mut worst = 0.0f64;
    for i in 0..q.len() {
        let h = 1e-3 * q[i].abs().max(1.0);
        let (near, far) = (value(i, h) - value(i, -h), value(i, 2.0 * h) - value(i, -2.0 * h));
        let error = ((8.0 * near - far) / (12.0 * h) - grad[i]).abs() / (1.0 + largest);
        worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
    }
    worst
}

/// The largest error of a target's Hessian at `q`, over its entries, at beta = 1.
///
/// It is compared with central differences of the gradient, of fourth order; the error is relative to
/// 1 + the largest absolute entry. Smooth targets of moderate scale give 1e-8 or less; a wrong formula
/// typically 1e-2 or more. A value that is not finite gives infinity.
pub fn hessian_error<T: HessTarget>(target: &T, q: &[f64]) -> f64 {
    let (d, mut ws) = (q.len(), target.workspace());
    let mut hessian = vec![0.0; d * d];
    target.neg_hessian_at(1.0, q, &mut hessian, &mut ws);
    let largest = hessian.iter().fold(0.0f64, |m, h| m.max(h.abs()));
    let mut at = q.to_vec();
    let mut worst = 0.0f64;
    for (i, row) in hessian.chunks_exact(d).enumerate() {
        let h = 1e-3 * q[i].abs().max(1.0);
        let mut gradient = |h: f64| {
            let mut grad = vec![0.0; d];
            at[i] = q[i] + h;
            target.log_density_grad(&at, &mut grad, &mut ws);
            at[i] = q[i];
            grad
        };
        let [up, down, far_up, far_down] = [h, -h, 2.0 * h, -2.0 * h].map(&mut gradient);
        for (j, entry) in row.iter().enumerate() {
            let derivative = (8.0 * (up[j] - down[j]) - (far_up[j] - far_down[j])) / (12.0 * h);
            let error = (-derivative - entry).abs() / (1.0 + largest);
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
        }
    }
    worst
}

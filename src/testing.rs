//! Checks for targets and samplers, yours and ours.
//!
//! - [`gradient_error`]: a target's gradient against finite differences.
//! - [`Invariance`]: does a kernel leave its target unchanged? Exact draws go in, k steps are made,
//!   and what comes out is compared with fresh exact draws by Kolmogorov-Smirnov tests. A wrong
//!   proposal ratio or Jacobian fails, however plausible its chains look.
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

pub mod conjugate;
pub mod gaussian;
pub mod invariance;

pub use conjugate::{ConjugateRegression, Noise};
pub use gaussian::GaussianTarget;
pub use invariance::{Invariance, InvarianceReport, TestedFunction, kolmogorov_smirnov};

use crate::target::GradTarget;

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

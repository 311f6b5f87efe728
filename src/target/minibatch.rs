//! Gradients from a part of the data.
//!
//! With N rows of data, of which the minibatch b has |b|,
//!
//! ```text
//! estimate(q) = N/|b| sum_{i in b} ell_i(q) + log p(q)
//! ```
//!
//! If b is a uniformly random choice of rows, the mean of the estimate and of its gradient over b are
//! the log density and its gradient. The mean of a function of the estimate is not that function of
//! the log density: no Metropolis test may use it, and kernels with one take no minibatches. What the
//! kernels that do take them sample is in their documentation; see
//! [`GradSource`](crate::sampler::GradSource).

use super::{GradTarget, LogDensity};

/// A target whose likelihood is a product over rows of data.
pub trait MinibatchTarget: GradTarget {
    /// N, the number of rows.
    fn n_obs(&self) -> usize;

    /// Overwrites `grad` (as long as q) with the gradient of the estimate by `rows`, and returns the
    /// estimate: its `likelihood` is N/|b| sum_{i in b} ell_i(q), its `prior` is exact.
    ///
    /// `rows` are at least one, all below [`n_obs`](Self::n_obs). All of them once, in ascending
    /// order, give the value and gradient of [`log_density_grad`](GradTarget::log_density_grad).
    /// Must not allocate, except at the first call on a workspace. The first call on a
    /// [`Posterior`](super::Posterior) copies its data, in an order that suits this, and keeps the copy.
    fn minibatch_grad(
        &self,
        rows: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity;

    /// As [`minibatch_grad`](Self::minibatch_grad), at two positions: what control variates need.
    ///
    /// By default two calls. [`Posterior`](super::Posterior) fetches each row once.
    fn minibatch_grad_pair(
        &self,
        rows: &[usize],
        q: [&[f64]; 2],
        grad: [&mut [f64]; 2],
        ws: &mut Self::Workspace,
    ) -> [LogDensity; 2] {
        let [first, second] = grad;
        [self.minibatch_grad(rows, q[0], first, ws), self.minibatch_grad(rows, q[1], second, ws)]
    }
}

impl<T: MinibatchTarget> MinibatchTarget for &T {
    fn n_obs(&self) -> usize {
        (**self).n_obs()
    }
    fn minibatch_grad(
        &self,
        rows: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        (**self).minibatch_grad(rows, q, grad, ws)
    }
    fn minibatch_grad_pair(
        &self,
        rows: &[usize],
        q: [&[f64]; 2],
        grad: [&mut [f64]; 2],
        ws: &mut Self::Workspace,
    ) -> [LogDensity; 2] {
        (**self).minibatch_grad_pair(rows, q, grad, ws)
    }
}

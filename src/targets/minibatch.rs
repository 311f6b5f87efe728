//! Gradients from a part of the data.

use super::{Conditioned, ConditionedWorkspace, GradTarget, LogDensity, PowerGradTarget, Tempered};
use crate::Error;

/// A target whose likelihood is a product over rows of data.
///
/// With N rows of data, of which the minibatch b has |b|, and the likelihood to the power beta,
///
/// ```text
/// estimate(q) = beta N/|b| sum_{i in b} ell_i(q) + log p(q)
/// ```
///
/// If b is a uniformly random choice of rows, the mean of the estimate and of its gradient over b
/// are the log density and its gradient. The mean of a function of the estimate is not that
/// function of the log density: no Metropolis test may use it, and kernels with one take no
/// minibatches. The documentation of the kernels that take them says what they sample; see
/// [`GradSource`](crate::sampler::GradSource).
///
/// Views of a minibatch target are minibatch targets, too: its [tempered](Tempered) and its
/// [conditioned](Conditioned) forms.
pub trait MinibatchTarget: GradTarget {
    /// N, the number of rows.
    fn n_obs(&self) -> usize;

    /// Overwrites `grad` (as long as q) with the gradient of the estimate by `rows` at the power
    /// `beta`, and returns both parts of the estimate: the `likelihood` is N/|b| sum_{i in b} ell_i(q),
    /// without beta, and the `prior` is exact. The returned `beta` is the target's own, 1 unless it is
    /// tempered, and not the argument.
    ///
    /// `rows` are at least one, all below [`n_obs`](Self::n_obs). All of them once, in ascending
    /// order, give at beta = 1 the value and gradient of
    /// [`log_density_grad`](GradTarget::log_density_grad). At beta = 0 the likelihood does not enter
    /// the gradient, whatever its value.
    /// Must not allocate, except at the first call on a workspace. The first call on a
    /// [`Posterior`](crate::posterior::Posterior) copies its data, in an order that suits this, and keeps the copy.
    fn minibatch_grad_at(
        &self,
        beta: f64,
        rows: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity;

    /// Computes [`minibatch_grad_at`](Self::minibatch_grad_at) at two positions, for control
    /// variates.
    ///
    /// The default makes two calls. [`Posterior`](crate::posterior::Posterior) fetches each row once.
    fn minibatch_grad_pair_at(
        &self,
        beta: f64,
        rows: &[usize],
        q: [&[f64]; 2],
        grad: [&mut [f64]; 2],
        ws: &mut Self::Workspace,
    ) -> [LogDensity; 2] {
        let [first, second] = grad;
        [
            self.minibatch_grad_at(beta, rows, q[0], first, ws),
            self.minibatch_grad_at(beta, rows, q[1], second, ws),
        ]
    }

    /// Whether gradients at a fixed position can be kept, as control variates do; an error that says why
    /// not. [`ControlVariates`](crate::sampler::ControlVariates) ask once.
    fn check_control_variates(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl<T: MinibatchTarget> MinibatchTarget for &T {
    forward! { self => (**self);
        fn n_obs() -> usize;
        fn minibatch_grad_at(
            beta: f64, rows: &[usize], q: &[f64], grad: &mut [f64], ws: &mut Self::Workspace,
        ) -> LogDensity;
        fn minibatch_grad_pair_at(
            beta: f64, rows: &[usize], q: [&[f64]; 2], grad: [&mut [f64]; 2],
            ws: &mut Self::Workspace,
        ) -> [LogDensity; 2];
        fn check_control_variates() -> Result<(), Error>;
    }
}

/// The powers multiply: `beta` is one of this target, which is tempered already.
impl<T: MinibatchTarget + PowerGradTarget> MinibatchTarget for Tempered<T> {
    forward! { self => self.base();
        fn n_obs() -> usize;
    }
    fn minibatch_grad_at(
        &self,
        beta: f64,
        rows: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let own = self.beta();
        let estimate = self.base().minibatch_grad_at(beta * own, rows, q, grad, ws);
        LogDensity { beta: own, ..estimate }
    }
    fn minibatch_grad_pair_at(
        &self,
        beta: f64,
        rows: &[usize],
        q: [&[f64]; 2],
        grad: [&mut [f64]; 2],
        ws: &mut Self::Workspace,
    ) -> [LogDensity; 2] {
        let own = self.beta();
        let estimates = self.base().minibatch_grad_pair_at(beta * own, rows, q, grad, ws);
        estimates.map(|estimate| LogDensity { beta: own, ..estimate })
    }
    forward! { self => self.base();
        fn check_control_variates() -> Result<(), Error>;
    }
}

/// The blocks' part of the base's gradient, all of which is computed.
impl<T: MinibatchTarget> MinibatchTarget for Conditioned<T> {
    forward! { self => self.base();
        fn n_obs() -> usize;
    }
    fn minibatch_grad_at(
        &self,
        beta: f64,
        rows: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut ConditionedWorkspace<T::Workspace>,
    ) -> LogDensity {
        let (q, full_grad, base) = self.full(q, ws);
        let estimate = self.base().minibatch_grad_at(beta, rows, q, full_grad, base);
        self.gather_scratch(ws, grad);
        estimate
    }
    /// Refused: the gradient at the mode changes with the coordinates that are held fixed.
    fn check_control_variates(&self) -> Result<(), Error> {
        let allowed = "another source on some of the blocks: the gradient at `mode` that control \
                       variates keep changes when other blocks move";
        Err(Error::argument("gradient", "ControlVariates", allowed))
    }
}

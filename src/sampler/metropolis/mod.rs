//! The Metropolis family: propose, then accept or reject.

mod independence;
mod langevin_gradient;
mod mala;
mod pcn;
mod rwm;
mod smmala;
mod truncated_mala;
mod truncated_normal;

pub use independence::Independence;
pub use langevin_gradient::LangevinGradient;
pub use mala::Mala;
pub use pcn::Pcn;
pub use rwm::Rwm;
pub use smmala::{Factorisation, Fisher, Metric, Smmala, SoftAbs};
pub use truncated_mala::TruncatedMala;

use crate::Error;
use crate::portable::{exp, ln};
use crate::rng::ChainRng;
use crate::sampler::{Kernel, Scale, Step, WarmupProgress};
use crate::targets::{Point, Target};

/// A proposal distribution g(q' | q) whose scale is adapted: the part in which members of the
/// Metropolis family differ.
///
/// [`MetropolisKernel`] does all else: it keeps the scale and the proposed point, accepts or rejects by
/// [`metropolis_test`], and adapts.
///
/// A proposal has no state: checkpoints hold the scale only. Values that it keeps from step to step
/// are in a [`Cached`](crate::targets::Cached) or are overwritten by every
/// [`propose`](Self::propose).
///
/// A walk whose steps are uniform, as an algorithm:
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::{Algorithm, MetropolisKernel, Preconditioner, Proposal, Proposed, Scale};
/// use bnn_mcmc::targets::Point;
/// use bnn_mcmc::testing::{GaussianTarget, Invariance};
///
/// struct UniformWalk;
///
/// impl<T: Target> Algorithm<T> for UniformWalk {
///     type Kernel = MetropolisKernel<UniformWalk>;
///     fn name(&self) -> String {
///         "UniformWalk".into()
///     }
///     fn kernel(&self, target: &T, _: &ChainRng) -> Result<Self::Kernel, Error> {
///         let scale = Scale::new(target.dim(), 0.8, Some(0.3), Preconditioner::Identity)?;
///         MetropolisKernel::new(target.dim(), scale, UniformWalk)
///     }
/// }
///
/// impl<T: Target> Proposal<T> for UniformWalk {
///     fn propose(
///         &mut self,
///         target: &T,
///         current: &mut Point,
///         proposed: &mut Point,
///         scale: &Scale,
///         ws: &mut T::Workspace,
///         rng: &mut ChainRng,
///     ) -> Proposed {
///         let half = 3f64.sqrt() * scale.step_size(); // standard deviation: the step size
///         proposed.set(|new| {
///             for (new, old) in new.iter_mut().zip(current.q()) {
///                 *new = old + half * (2.0 * rng.uniform() - 1.0);
///             }
///         });
///         let new = proposed.eval(target, ws).total();
///         Proposed { log_ratio: new - current.eval(target, ws).total(), gradient_evals: 0 }
///     }
/// }
///
/// let target = GaussianTarget::standard(2)?;
/// let draw = |rng: &mut ChainRng, q: &mut [f64]| target.draw(rng, q);
/// assert!(Invariance::default().run(&target, &UniformWalk, draw)?.passes());
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
pub trait Proposal<T: Target>: Send {
    /// Draws q' from g(. | q), where q is `current`, and moves `proposed` to it, which must be evaluated then:
    /// the test reads its log density. Must not allocate.
    fn propose(
        &mut self,
        target: &T,
        current: &mut Point,
        proposed: &mut Point,
        scale: &Scale,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Proposed;

    /// Called after q' was accepted: values computed there belong to the current point now.
    fn accepted(&mut self) {}

    /// The step size that the statistics show.
    fn step_size(&self, scale: &Scale) -> f64 {
        scale.step_size()
    }
}

/// The log ratio of a proposal, and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proposed {
    /// log pi(q') - log pi(q) + log g(q | q') - log g(q' | q). See [`metropolis_test`] for NaN and
    /// infinite values.
    pub log_ratio: f64,
    /// The number of gradients evaluated.
    pub gradient_evals: u32,
}

/// A draw from the [`Proposal`], accepted or rejected by [`metropolis_test`]: the transition of
/// [`Rwm`], [`Mala`], [`TruncatedMala`], [`Smmala`] and [`Pcn`].
#[derive(Debug)]
pub struct MetropolisKernel<P> {
    proposal: P,
    scale: Scale,
    proposed: Point,
}

impl<P> MetropolisKernel<P> {
    /// A kernel on a target of `dim` dimensions.
    ///
    /// # Errors
    /// If `scale` was made for another dimension.
    pub fn new(dim: usize, scale: Scale, proposal: P) -> Result<Self, Error> {
        scale.check_dim(dim)?;
        Ok(Self { proposal, scale, proposed: Point::new(dim) })
    }
}

impl<T: Target, P: Proposal<T>> Kernel<T> for MetropolisKernel<P> {
    type State = Scale;

    fn state(&self) -> Scale {
        self.scale.clone()
    }

    fn restore(&mut self, state: Scale) {
        self.scale = state;
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let Self { proposal, scale, proposed } = self;
        let Proposed { log_ratio, gradient_evals } =
            proposal.propose(target, current, proposed, scale, ws, rng);
        let step = metropolis_test(current, proposed, log_ratio, gradient_evals, rng);
        if step.accepted {
            proposal.accepted();
        }
        step
    }

    fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        self.scale.adapt(step, current, warmup);
    }

    fn freeze(&mut self) {
        self.scale.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        q.copy_from_slice(self.proposed.q());
    }

    fn stat_names(&self) -> Vec<String> {
        vec!["step_size".into()]
    }

    fn stats(&self, out: &mut [f64]) {
        out[0] = self.proposal.step_size(&self.scale);
    }
}

/// Accepts `proposal` with probability min(1, e^log_ratio), by swapping it with `current`.
///
/// `log_ratio` is log pi(q') - log pi(q) + log g(q | q') - log g(q' | q), where q' is the proposal
/// and g the proposal density. The test is log u < log_ratio with u uniform on [0, 1).
///
/// - Outside the support (prior -inf): rejected, an ordinary event.
/// - A density that is NaN or infinite otherwise, a ratio that is NaN or +inf: rejected and
///   divergent. The textbook min(1, e^r) would **accept** NaN, since `f64::min(1.0, NaN)` is 1.
/// - A position that is not finite, as after an overflow, whatever the target says of it: rejected and
///   divergent.
/// - A ratio of -inf: rejected, since there is no way back.
///
/// The proposal must have been evaluated.
pub fn metropolis_test(
    current: &mut Point,
    proposal: &mut Point,
    log_ratio: f64,
    gradient_evals: u32,
    rng: &mut ChainRng,
) -> Step {
    let rejected =
        Step { accept_prob: Some(0.0), accepted: false, divergent: false, gradient_evals };
    if proposal.log_density().is_outside_support() {
        return rejected;
    }
    let is_finite =
        proposal.log_density().is_finite() && proposal.q().iter().all(|x| x.is_finite());
    //~ metropolis-not-finite
    if !is_finite || log_ratio.is_nan() || log_ratio == f64::INFINITY {
        return Step { divergent: true, ..rejected };
    }
    let accepted = ln(rng.uniform()) < log_ratio; //~ metropolis-uniform
    if accepted {
        std::mem::swap(current, proposal);
    }
    Step { accept_prob: Some(exp(log_ratio.min(0.0))), accepted, ..rejected }
}

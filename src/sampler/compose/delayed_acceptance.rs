//! Steps on a cheap surrogate of the target, accepted or rejected together by the target itself.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::draws::Report;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel, Step, WarmupProgress, metropolis_test};
use crate::targets::{Cached, Point, Target};
use crate::targets::{check_coordinates, fingerprint};

/// Delayed acceptance: `steps` steps of `inner` on `surrogate`, then one test by the target.
///
/// With pi the target and pi* the surrogate, the inner kernel takes the chain from x to y, and y is
/// accepted with probability
///
/// ```text
/// min(1, pi(y) pi*(x) / (pi(x) pi*(y)))
/// ```
///
/// The chain samples **pi exactly, whatever the surrogate**: the inner steps are together reversible
/// with respect to pi*, so that they are a proposal g with g(y | x) / g(x | y) = pi*(y) / pi*(x). A
/// poor surrogate costs acceptance, not correctness. Constants of pi* cancel.
///
/// Three things must hold. The surrogate must be positive and finite wherever the target is: a
/// chain that is where pi* is 0 stays there, and its steps count as divergent. The inner algorithm
/// must be reversible ([`Algorithm::is_reversible`]): a Metropolis kernel,
/// [`Hmc`](crate::sampler::Hmc) or [`Nuts`](crate::sampler::Nuts) is, a
/// [`Cycle`](crate::sampler::Cycle) and Langevin dynamics without a test are not, and are refused.
/// And the surrogate must not change while the chain runs.
///
/// Cost of a step: `steps` steps on the surrogate, and one density of the target unless the inner
/// steps all stayed where they were. The more inner steps, the farther a proposal, and the more its
/// two densities disagree: where the second stage rejects much, make fewer. Warm-up adapts the inner
/// kernel to its acceptance on the surrogate, which is right for trajectories, whose length a step
/// size does not change (shorten `path_length` instead), and for good surrogates. With
/// `adapt_to_both` it adapts to the product of both stages' acceptance: right for
/// [`Rwm`](crate::sampler::Rwm), [`Mala`](crate::sampler::Mala) and [`Pcn`](crate::sampler::Pcn) on
/// poor surrogates, which are still good enough for small steps.
///
/// Statistics per draw: `first_stage_accept`, the share of inner steps that moved;
/// `second_stage_accept`, the probability above (NaN where nothing moved); `target_evals`, 1 or 0;
/// `surrogate_gradient_evals`; `log_density_error`, log pi(q) - log pi*(q) at the draw, whose
/// spread over the draws, not its mean, lowers the acceptance of the second stage; and the
/// statistics of the inner kernel under `surrogate.`. `gradient_evals`, which counts gradients of
/// the target, is 0. A [verdict](crate::diagnostics::Verdict) warns of a chain whose
/// `second_stage_accept` is below [0.05](crate::diagnostics::SECOND_STAGE_LIMIT) on average.
///
/// Source: Christen and Fox, J. Comput. Graph. Stat. 14, 2005, doi:10.1198/106186005X76983; with
/// several inner steps Liu's surrogate transition (*Monte Carlo Strategies in Scientific Computing*,
/// 2001).
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::DelayedAcceptance;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// let cheap = GaussianTarget::new(vec![0.8, -2.0], &[1.2, 0.9, 0.9, 2.2])?;
/// let algorithm = DelayedAcceptance::new(&cheap, Hmc::default(), 2);
/// let draws = Sampler::new(&target, algorithm).draws(2000).seed(1).run()?;
/// assert!((draws.summary()?.rows[0].mean - 1.0).abs() < 0.1);
/// assert!(draws.accept_rate().iter().all(|rate| *rate > 0.7));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "two-stage Metropolis")]
#[doc(alias = "surrogate transition")]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(bound = "S: Target, A: Serialize")]
pub struct DelayedAcceptance<S, A> {
    /// The substitute for the target: a reference to any target with the same coordinates.
    #[serde(serialize_with = "fingerprint")]
    pub surrogate: S,
    /// The algorithm that moves the chain on the surrogate.
    pub inner: A,
    /// Steps of `inner` before the target is asked, at least 1.
    pub steps: usize,
    /// Whether warm-up adapts the inner kernel to the acceptance of both stages together.
    pub adapt_to_both: bool,
}

impl<S, A> DelayedAcceptance<S, A> {
    /// `steps` steps of `inner` on `surrogate`; warm-up adapts to the acceptance on the surrogate.
    pub fn new(surrogate: S, inner: A, steps: usize) -> Self {
        Self { surrogate, inner, steps, adapt_to_both: false }
    }
}

/// The transition of [`DelayedAcceptance`].
pub struct DelayedAcceptanceKernel<S: Target, K> {
    surrogate: S,
    ws: S::Workspace,
    inner: K,
    steps: usize,
    adapt_to_both: bool,
    /// The surrogate where the chain is.
    here: Cached<Point>,
    /// The position of the inner kernel.
    walker: Point,
    proposal: Point,
    inner_step: Option<Step>,
    last: Stages,
}

/// The statistics of the latest step.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stages {
    first: f64,
    second: f64,
    target_evals: f64,
    surrogate_gradients: f64,
    error: f64,
}

impl Stages {
    const NAMES: [&str; 5] = [
        "first_stage_accept",
        "second_stage_accept",
        "target_evals",
        "surrogate_gradient_evals",
        "log_density_error",
    ];

    fn values(&self) -> [f64; 5] {
        [self.first, self.second, self.target_evals, self.surrogate_gradients, self.error]
    }
}

/// The state of a [`DelayedAcceptance`]: the state of the inner kernel, and the surrogate at the
/// chain's position.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DelayedAcceptanceState<K> {
    inner: K,
    here: Cached<Point>,
    last: Stages,
}

impl<T, S, A> Algorithm<T> for DelayedAcceptance<S, A>
where
    T: Target,
    S: Target + Clone + Send,
    A: Algorithm<S>,
{
    type Kernel = DelayedAcceptanceKernel<S, A::Kernel>;

    fn name(&self) -> String {
        format!("DelayedAcceptance({})", self.inner.name())
    }

    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
        if self.steps == 0 {
            return Err(Error::argument("steps", 0, "at least 1"));
        }
        //~ reversible-inner
        if !self.inner.is_reversible(&self.surrogate) {
            let allowed =
                "a reversible algorithm, such as Rwm, Mala, Hmc, Nuts, Pcn or a Mixture of them";
            return Err(Error::argument("inner", self.inner.name(), allowed));
        }
        check_coordinates(&self.surrogate, target)?;
        let point = Point::new(target.dim());
        let nan = f64::NAN;
        Ok(DelayedAcceptanceKernel {
            ws: self.surrogate.workspace(),
            inner: self.inner.kernel(&self.surrogate, rng)?,
            surrogate: self.surrogate.clone(),
            steps: self.steps,
            adapt_to_both: self.adapt_to_both,
            here: Cached::new(point.clone()),
            walker: point.clone(),
            proposal: point,
            inner_step: None,
            last: Stages {
                first: nan,
                second: nan,
                target_evals: nan,
                surrogate_gradients: nan,
                error: nan,
            },
        })
    }

    fn matrix_numbers(&self, _: &T) -> usize {
        self.inner.matrix_numbers(&self.surrogate)
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

impl<T, S, K> Kernel<T> for DelayedAcceptanceKernel<S, K>
where
    T: Target,
    S: Target + Send,
    K: Kernel<S>,
    K::State: Serialize + DeserializeOwned,
{
    type State = DelayedAcceptanceState<K::State>;

    fn state(&self) -> Self::State {
        let (inner, here) = (self.inner.state(), self.here.clone());
        DelayedAcceptanceState { inner, here, last: self.last }
    }

    fn restore(&mut self, state: Self::State) {
        self.inner.restore(state.inner);
        self.here = state.here;
        self.last = state.last;
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let Self { surrogate, here, walker, proposal, .. } = self;
        let before = current.eval(target, ws).total();
        if here.is_of(current) {
            walker.copy_from(here.at(current)); //~ walk-back
        } else {
            walker.set(|q| q.copy_from_slice(current.q()));
            walker.eval(&*surrogate, &mut self.ws);
            here.set(current, |here| here.copy_from(walker));
        }
        let surrogate_before = walker.log_density();
        let (mut moves, mut gradients, mut divergent) = (0, 0.0, !surrogate_before.is_finite());
        for _ in 0..self.steps {
            let step = self.inner.step(surrogate, walker, &mut self.ws, rng);
            moves += usize::from(step.accepted);
            gradients += f64::from(step.gradient_evals); //~ first-stage-gradients
            divergent |= step.divergent;
            self.inner_step = Some(step);
        }
        self.last.first = moves as f64 / self.steps as f64; //~ first-stage-share
        self.last.surrogate_gradients = gradients;
        let surrogate_after = walker.eval(&*surrogate, &mut self.ws).total();
        self.last.error = before - surrogate_before.total();
        if walker.q() == current.q() {
            // The gradient, if the inner kernel has evaluated it.
            here.set(current, |here| here.copy_from(walker));
            self.last.second = f64::NAN;
            self.last.target_evals = 0.0;
            let accept_prob = Some(0.0);
            return Step { accept_prob, accepted: false, divergent, gradient_evals: 0 };
        }
        proposal.set(|q| q.copy_from_slice(walker.q()));
        //~ second-stage-target
        let after = proposal.eval(target, ws).total();
        //~ second-stage-ratio
        let log_ratio = (after - before) - (surrogate_after - surrogate_before.total());
        let step = metropolis_test(current, proposal, log_ratio, 0, rng);
        if step.accepted {
            here.set(current, |here| here.copy_from(walker));
            self.last.error = after - surrogate_after; //~ second-stage-error
        }
        self.last.second = step.accept_prob.unwrap_or(f64::NAN); //~ second-stage-probability
        self.last.target_evals = 1.0; //~ second-stage-evals
        Step { divergent: step.divergent || divergent, ..step }
    }

    fn adapt(&mut self, _: &Step, current: &Point, warmup: WarmupProgress) {
        if let Some(step) = &self.inner_step {
            let here = if self.here.is_of(current) { self.here.at(current) } else { &self.walker };
            // NaN where nothing moved.
            let second =
                if self.adapt_to_both && self.last.second >= 0.0 { self.last.second } else { 1.0 };
            let accept_prob = step.accept_prob.map(|first| first * second);
            self.inner.adapt(&Step { accept_prob, ..*step }, here, warmup);
        }
    }

    fn freeze(&mut self) {
        self.inner.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        q.copy_from_slice(self.walker.q());
        if self.inner_step.is_some_and(|step| step.divergent) {
            self.inner.diverged_at(q);
        }
    }

    fn stat_names(&self) -> Vec<String> {
        let inner = self.inner.stat_names().into_iter().map(|name| format!("surrogate.{name}"));
        Stages::NAMES.map(String::from).into_iter().chain(inner).collect()
    }

    fn stats(&self, out: &mut [f64]) {
        let (own, inner) = out.split_at_mut(Stages::NAMES.len());
        own.copy_from_slice(&self.last.values());
        self.inner.stats(inner);
    }

    fn report(&self) -> Report {
        self.inner.report()
    }
}

//! Hamiltonian Monte Carlo along the gradient of a surrogate, accepted by the target.

use serde::{Deserialize, Serialize};

use super::dynamics::{Flow, PhasePoint};
use super::hmc::Hmc;
use super::trajectory::{TrajectoryKernel, TrajectoryState};
use crate::Error;
use crate::portable::exp;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel, Step, WarmupProgress, metropolis_test};
use crate::targets::{Cached, GradTarget, Point, Target};
use crate::targets::{check_coordinates, fingerprint};

/// HMC whose trajectories follow the gradient of `surrogate`: one density of the target a step, and
/// none of its gradients.
///
/// With pi the target, pi* the surrogate, and (q', p') the end of a trajectory of [`Hmc`] on pi*,
/// the step is accepted with probability
///
/// ```text
/// min(1, exp(H(q, p) - H(q', p'))),   H(q, p) = -log pi(q) + |p|^2 / 2
/// ```
///
/// The leapfrog step preserves volume and can be retraced whatever its force, so that the chain
/// samples **pi exactly, whatever the surrogate**. With random features fitted to the log likelihood
/// as the surrogate (`RandomFeatures` of the workspace's crate `bnn-mcmc-emulate`) this is the random
/// network surrogate of Zhang, Shahbaba and Zhao (RNS-HMC). A trajectory whose energy on the surrogate rises
/// by more than [`MAX_ENERGY_ERROR`](crate::sampler::MAX_ENERGY_ERROR) is rejected.
///
/// [`DelayedAcceptance`](crate::sampler::DelayedAcceptance) over [`Hmc`] is the alternative with a
/// test on the surrogate first, which saves the evaluations of proposals that the surrogate itself
/// rejects. Warm-up adapts the step size to the acceptance that trajectories have on the surrogate,
/// `hmc.target_accept`, since no step size makes up for the surrogate's own error; the
/// preconditioner learns from the positions and the surrogate's gradients. The surrogate must not
/// change while the chain runs, and must be positive wherever the target is.
///
/// Statistics per draw: the statistics of [`Hmc`], on the surrogate, and
/// `surrogate_gradient_evals`; `log_density_error`, log pi(q) - log pi*(q) at the draw, whose
/// spread lowers the acceptance. `gradient_evals`, which counts gradients of the target, is 0.
///
/// Source: Zhang, Shahbaba and Zhao, Statistics and Computing 27, 2017, doi:10.1007/s11222-016-9699-1,
/// arXiv:1506.05555.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::SurrogateHmc;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// let cheap = GaussianTarget::new(vec![0.8, -2.0], &[1.2, 0.9, 0.9, 2.2])?;
/// let algorithm = SurrogateHmc { surrogate: &cheap, hmc: Hmc::default() };
/// let draws = Sampler::new(&target, algorithm).draws(2000).seed(1).run()?;
/// assert!((draws.summary()?.rows[0].mean - 1.0).abs() < 0.1);
/// assert_eq!(draws.gradient_evals(), 0);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "RNS-HMC")]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(bound = "S: Target")]
pub struct SurrogateHmc<S> {
    /// The substitute for the target: a reference to any target with a gradient and the same
    /// coordinates.
    #[serde(serialize_with = "fingerprint")]
    pub surrogate: S,
    /// The trajectories.
    pub hmc: Hmc,
}

/// The transition of [`SurrogateHmc`].
pub struct SurrogateHmcKernel<S: Target> {
    surrogate: S,
    ws: S::Workspace,
    hmc: TrajectoryKernel<PhasePoint>,
    /// The surrogate where the chain is.
    here: Cached<Point>,
    proposal: Point,
    evals: f64,
    error: f64,
    /// min(1, e^-error of the surrogate's energy) of the latest trajectory.
    integration: f64,
}

/// The state of a [`SurrogateHmc`]: the state of the trajectories, and the surrogate at the chain's
/// position.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SurrogateHmcState {
    hmc: TrajectoryState,
    here: Cached<Point>,
    evals: f64,
    error: f64,
}

impl<T, S> Algorithm<T> for SurrogateHmc<S>
where
    T: Target,
    S: GradTarget + Clone + Send,
{
    type Kernel = SurrogateHmcKernel<S>;

    fn name(&self) -> String {
        "SurrogateHmc".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        check_coordinates(&self.surrogate, target)?;
        let point = Point::new(target.dim());
        Ok(SurrogateHmcKernel {
            ws: self.surrogate.workspace(),
            surrogate: self.surrogate.clone(),
            hmc: self.hmc.trajectories(target.dim())?,
            here: Cached::new(point.clone()),
            proposal: point,
            evals: f64::NAN,
            error: f64::NAN,
            integration: 0.0,
        })
    }

    fn matrix_numbers(&self, _: &T) -> usize {
        self.hmc.matrix_numbers(&self.surrogate)
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

impl<T: Target, S: GradTarget + Send> Kernel<T> for SurrogateHmcKernel<S> {
    type State = SurrogateHmcState;

    fn state(&self) -> SurrogateHmcState {
        let (hmc, here) = (self.hmc.state.clone(), self.here.clone());
        SurrogateHmcState { hmc, here, evals: self.evals, error: self.error }
    }

    fn restore(&mut self, state: SurrogateHmcState) {
        self.hmc.state = state.hmc;
        (self.here, self.evals, self.error) = (state.here, state.evals, state.error);
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let Self { surrogate, hmc, here, proposal, .. } = self;
        let before = current.eval(target, ws).total();
        let mut evals = 0;
        if !here.is_of(current) {
            here.set(current, |here| {
                here.set(|q| q.copy_from_slice(current.q()));
                here.eval_force(&*surrogate, &mut self.ws);
                here.eval(&*surrogate, &mut self.ws);
            });
            evals += 1;
        }
        let surrogate_before = here.at(current).log_density().total();
        let (flight, taken) = hmc.fly(here.at(current), &*surrogate, &mut self.ws, rng);
        self.evals = f64::from(evals + taken); //~ surrogate-hmc-gradients
        self.integration = if flight.failed { 0.0 } else { exp((-flight.error).min(0.0)) };
        self.error = before - surrogate_before;
        let end = hmc.flow.point();
        let surrogate_after = end.log_density().total();
        if flight.failed {
            hmc.state.hamiltonian.last = flight.last(false);
            let divergent = !end.log_density().is_outside_support();
            let accept_prob = Some(0.0);
            return Step { accept_prob, accepted: false, divergent, gradient_evals: 0 };
        }
        proposal.set(|q| q.copy_from_slice(end.q()));
        let after = proposal.eval(target, ws).total();
        // |p|^2 / 2 changes by the energy's error and the change of log pi*.
        //~ surrogate-hmc-kinetic
        let kinetic = flight.error + (surrogate_after - surrogate_before);
        //~ surrogate-hmc-ratio
        let step = metropolis_test(current, proposal, (after - before) - kinetic, 0, rng);
        if step.accepted {
            here.set(current, |here| here.copy_from(end));
            self.error = after - surrogate_after; //~ surrogate-hmc-error
        }
        hmc.state.hamiltonian.last = flight.last(step.accepted);
        step
    }

    fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        let point = if self.here.is_of(current) { self.here.at(current) } else { current };
        let on_surrogate = Step { accept_prob: Some(self.integration), ..*step };
        self.hmc.learn(&on_surrogate, point, warmup);
    }

    fn freeze(&mut self) {
        self.hmc.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        q.copy_from_slice(self.hmc.flow.before());
    }

    fn stat_names(&self) -> Vec<String> {
        let own = ["surrogate_gradient_evals", "log_density_error"].map(String::from);
        own.into_iter().chain(Kernel::<S>::stat_names(&self.hmc)).collect()
    }

    fn stats(&self, out: &mut [f64]) {
        let (own, of_hmc) = out.split_at_mut(2);
        own.copy_from_slice(&[self.evals, self.error]);
        Kernel::<S>::stats(&self.hmc, of_hmc);
    }
}

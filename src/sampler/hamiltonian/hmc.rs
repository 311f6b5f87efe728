//! Hamiltonian Monte Carlo with a jittered path length.

use serde::{Deserialize, Serialize};

use super::dynamics::{HamiltonianState, Last, MAX_ENERGY_ERROR, Phase};
use crate::Error;
use crate::error::positive;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel, Preconditioner, Step, WarmupProgress, metropolis_test};
use crate::targets::{GradTarget, Point};

/// Hamiltonian Monte Carlo.
///
/// Each transition draws a momentum p ~ N(0, I), follows the [dynamics](crate::sampler::Hmc#dynamics) for n
/// leapfrog steps of size eps, and accepts the end (q', p') with probability
///
/// ```text
/// min(1, exp(H(q, p) - H(q', p'))),
/// n = min(max_steps, ceil(path_length u / eps)),   u ~ U(1 - jitter, 1 + jitter)
/// ```
///
/// u does not depend on q, so that each n has a ratio of its own; jitter keeps a trajectory from
/// coming back to where it began again and again (Neal 2011, section 3.2). Where the target is a
/// standard normal, the end of the default path, pi/2 or a quarter of a period, is independent of
/// its beginning.
///
/// Warm-up adapts eps to an acceptance probability of 0.8, and L. Cost of a step: n gradients, O(d)
/// beside them (O(d^2) with a dense preconditioner). Where the preconditioner makes the target
/// about round it has the cheapest draws; where it does not, as on the sunspot network,
/// trajectories of pi/2 are too short, and [`Nuts`](crate::sampler::Nuts), which finds their length by
/// itself, is far ahead.
///
/// Statistics per draw: `step_size`, `energy` of the draw, `energy_error` at the trajectory's end,
/// and `leapfrog_steps`.
///
/// Source: Duane et al., Physics Letters B 195, 1987, doi:10.1016/0370-2693(87)91197-X; Neal 2011,
/// arXiv:1206.1901.
///
/// # Dynamics
/// [`Nuts`](crate::sampler::Nuts) has the same.
///
/// A momentum p ~ N(0, I) is added to the position q = L x, where L is the linear map learnt in
/// warm-up (see [`Preconditioner`]). In the coordinates x the energy and one
/// leapfrog step of size eps are
///
/// ```text
/// H(q, p) = -log pi(q) + |p|^2 / 2
/// p <- p + eps/2 L^T g(q);   q <- q + eps L p;   p <- p + eps/2 L^T g(q)
/// ```
///
/// with g = grad log pi. This is the leapfrog step of a system with mass matrix (L L^T)^-1, written
/// so that momenta are always standard normal. It preserves volume and can be retraced by -eps. Its
/// energy error is of order eps^2 over a trajectory of fixed length.
///
/// A transition whose energy rises by more than [`MAX_ENERGY_ERROR`](crate::sampler::MAX_ENERGY_ERROR) anywhere on its trajectory, or
/// whose density is NaN or infinite there, has diverged: the step size is too large for the
/// curvature at that place, which the chain cannot enter. What leaves the support (the whole
/// trajectory of HMC, the doubling of NUTS) is rejected and is no divergence.
///
/// Source: Neal, *MCMC using Hamiltonian dynamics*, Handbook of Markov Chain Monte Carlo, 2011,
/// arXiv:1206.1901, sections 2 and 4.1.
///
/// # Example
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// let draws = Sampler::new(&target, Hmc::default()).draws(2000).seed(1).run()?;
/// assert!((draws.summary()?.rows[1].mean - -2.0).abs() < 0.1);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hmc {
    /// The leapfrog step: where adaptation starts, or what is used throughout if there is no
    /// warm-up.
    pub step_size: f64,
    /// The time that a trajectory takes, in the coordinates in which momenta are standard normal.
    pub path_length: f64,
    /// How much the path length varies, relative to itself; from 0 to 1.
    pub jitter: f64,
    /// The largest number of leapfrog steps, whatever the step size; from 1 to 2^20.
    pub max_steps: u32,
    /// Whether warm-up adapts the step size.
    pub adapt_step_size: bool,
    /// The acceptance probability to adapt to.
    pub target_accept: f64,
    /// What warm-up learns of the target's scales.
    pub preconditioner: Preconditioner,
}

impl Default for Hmc {
    fn default() -> Self {
        Self {
            step_size: 0.1,
            path_length: std::f64::consts::FRAC_PI_2,
            jitter: 0.5,
            max_steps: 1000,
            adapt_step_size: true,
            target_accept: 0.8,
            preconditioner: Preconditioner::DiagonalFromGradients,
        }
    }
}

/// The transition of [`Hmc`].
#[derive(Debug)]
pub struct HmcKernel {
    pub(super) state: HamiltonianState,
    path_length: f64,
    jitter: f64,
    max_steps: u32,
    pub(super) phase: Phase,
}

/// A trajectory on one target.
pub(super) struct Flight {
    /// The energy at its beginning.
    pub before: f64,
    /// By how much the energy is higher at its end.
    pub error: f64,
    /// Whether the energy rose too far anywhere, seen from either end.
    pub failed: bool,
    pub steps: u32,
}

impl Flight {
    /// What there is to say of it.
    pub fn last(&self, accepted: bool) -> Last {
        let energy = if accepted { self.before + self.error } else { self.before };
        Last { energy, energy_error: self.error, steps: self.steps, ..Last::default() }
    }
}

impl HmcKernel {
    /// Checks the configuration for `dim` dimensions.
    pub(super) fn new(hmc: &Hmc, dim: usize) -> Result<Self, Error> {
        positive("path_length", hmc.path_length)?;
        if !(0.0..=1.0).contains(&hmc.jitter) {
            return Err(Error::argument("jitter", hmc.jitter, "between 0 and 1"));
        }
        // As many as a tree of NUTS may have.
        if !(1..=1 << 20).contains(&hmc.max_steps) {
            return Err(Error::argument("max_steps", hmc.max_steps, "1 to 1048576"));
        }
        let accept = hmc.adapt_step_size.then_some(hmc.target_accept);
        Ok(Self {
            state: HamiltonianState::new(dim, hmc.step_size, accept, hmc.preconditioner)?,
            path_length: hmc.path_length,
            jitter: hmc.jitter,
            max_steps: hmc.max_steps,
            phase: Phase::new(dim),
        })
    }

    /// Follows the dynamics on `target` from `from`, whose gradient is known, to the end in `phase`, with a
    /// momentum drawn afresh. Also returns how many gradients that took.
    pub(super) fn fly<T: GradTarget>(
        &mut self,
        from: &Point,
        target: &T,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> (Flight, u32) {
        let phase = &mut self.phase;
        let sought = self.state.dynamics.seek_step_size(from, phase, target, ws, rng);
        let scale = &self.state.dynamics.scale;
        let step_size = scale.step_size();
        let u = 1.0 + self.jitter * (2.0 * rng.uniform() - 1.0);
        // At least one step; the comparison is false for what does not fit into an integer.
        let wanted = (self.path_length * u / step_size).ceil().max(1.0);
        let most = if wanted < f64::from(self.max_steps) { wanted as u32 } else { self.max_steps };

        phase.begin(from, scale, rng);
        let before = phase.energy();
        let (mut steps, mut error, mut largest) = (0, 0.0, 0.0f64);
        while steps < most && largest <= MAX_ENERGY_ERROR {
            phase.leapfrog(step_size, scale, target, ws);
            steps += 1;
            error = phase.energy() - before;
            largest = largest.max(error);
        }
        // The way back passes through the same points, and must not fail where this one does not: the
        // limit holds for both ends.
        let failed = largest - error.min(0.0) > MAX_ENERGY_ERROR;
        (Flight { before, error, failed, steps }, sought + steps)
    }
}

impl<T: GradTarget> Algorithm<T> for Hmc {
    type Kernel = HmcKernel;

    fn name(&self) -> String {
        "Hmc".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<HmcKernel, Error> {
        HmcKernel::new(self, target.dim())
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        self.preconditioner.matrix_numbers(target.dim())
    }

    fn is_reversible(&self) -> bool {
        true
    }
}

impl<T: GradTarget> Kernel<T> for HmcKernel {
    type State = HamiltonianState;

    fn state(&self) -> HamiltonianState {
        self.state.clone()
    }

    fn restore(&mut self, state: HamiltonianState) {
        self.state = state;
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let mut evals = u32::from(!current.has_grad());
        current.eval_grad(target, ws);
        let (flight, taken) = self.fly(current, target, ws, rng);
        evals += taken;
        let log_ratio = if flight.failed { f64::NEG_INFINITY } else { -flight.error };
        let outside = self.phase.point.log_density().is_outside_support();
        let step = metropolis_test(current, &mut self.phase.point, log_ratio, evals, rng);
        self.state.last = flight.last(step.accepted);
        let diverged = flight.failed && !outside;
        Step { divergent: step.divergent || diverged, ..step }
    }

    fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        self.state.dynamics.adapt(step, current, warmup);
    }

    fn freeze(&mut self) {
        self.state.dynamics.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        q.copy_from_slice(&self.phase.before);
    }

    fn stat_names(&self) -> Vec<String> {
        ["step_size", "energy", "energy_error", "leapfrog_steps"].map(String::from).into()
    }

    fn stats(&self, out: &mut [f64]) {
        out.copy_from_slice(&[
            self.state.dynamics.scale.step_size(),
            self.state.last.energy,
            self.state.last.energy_error,
            f64::from(self.state.last.steps),
        ]);
    }
}

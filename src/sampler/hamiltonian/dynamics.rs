//! Hamiltonian dynamics: what [`Hmc`](crate::sampler::Hmc) and [`Nuts`](crate::sampler::Nuts) share.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::linalg::dot::dot;
use crate::rng::ChainRng;
use crate::sampler::{Preconditioner, Scale, Step, WarmupProgress};
use crate::targets::{GradTarget, Point};

/// The energy error above which a transition counts as divergent (Stan's limit).
pub const MAX_ENERGY_ERROR: f64 = 1000.0;

/// A position with a momentum, and the gradient in the coordinates of the momentum.
#[derive(Debug)]
pub(super) struct Phase {
    pub point: Point,
    pub p: Vec<f64>,
    /// L^T g.
    force: Vec<f64>,
    velocity: Vec<f64>,
    /// The position before the latest leapfrog step.
    pub before: Vec<f64>,
}

impl Phase {
    pub fn new(dim: usize) -> Self {
        let zeros = vec![0.0; dim];
        Self {
            point: Point::new(dim),
            p: zeros.clone(),
            force: zeros.clone(),
            velocity: zeros.clone(),
            before: zeros,
        }
    }

    /// Starts at `from`, whose gradient is known, with a momentum drawn afresh.
    pub fn begin(&mut self, from: &Point, scale: &Scale, rng: &mut ChainRng) {
        self.point.copy_from(from);
        scale.mul_transpose(from.grad(), &mut self.force);
        rng.fill_normal(&mut self.p);
    }

    pub fn copy_from(&mut self, other: &Self) {
        self.point.copy_from(&other.point);
        self.p.copy_from_slice(&other.p);
        self.force.copy_from_slice(&other.force);
    }

    /// H(q, p); infinite where it cannot be computed.
    pub fn energy(&self) -> f64 {
        let energy = 0.5 * dot::<4>(&self.p, &self.p) - self.point.log_density().total();
        if energy.is_nan() { f64::INFINITY } else { energy }
    }

    /// One leapfrog step, backwards if `step_size` is negative.
    pub fn leapfrog<T: GradTarget>(
        &mut self,
        step_size: f64,
        scale: &Scale,
        target: &T,
        ws: &mut T::Workspace,
    ) {
        add_scaled(&mut self.p, 0.5 * step_size, &self.force);
        scale.mul(&self.p, &mut self.velocity);
        self.before.copy_from_slice(self.point.q());
        self.point.set(|q| add_scaled(q, step_size, &self.velocity));
        self.point.eval_grad(target, ws);
        scale.mul_transpose(self.point.grad(), &mut self.force);
        add_scaled(&mut self.p, 0.5 * step_size, &self.force);
    }
}

/// The step size, the linear map, and their adaptation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Dynamics {
    pub scale: Scale,
    /// Whether a new step size is to be sought before the next trajectory.
    seek: bool,
}

impl Dynamics {
    pub fn new(
        dim: usize,
        step_size: f64,
        target_accept: Option<f64>,
        preconditioner: Preconditioner,
    ) -> Result<Self, Error> {
        let scale = Scale::of_run(dim, step_size, target_accept, preconditioner)?.with_gamma(0.4);
        Ok(Self { seek: scale.adapts_step_size(), scale })
    }

    /// Seeks a step size if warm-up has just begun or L has changed, and returns how many gradients
    /// that took. `current` must have its gradient; `phase` is scratch.
    ///
    /// The step size is doubled or halved until the acceptance probability of a single leapfrog
    /// step crosses 0.8 (Stan reference manual, section on automatic parameter tuning; Hoffman and
    /// Gelman 2014, algorithm 4, has 0.5), at most [`SEARCH`](Self::SEARCH) times: a density that
    /// is flat, or infinite all around, cannot hold it up.
    pub fn seek_step_size<T: GradTarget>(
        &mut self,
        current: &Point,
        phase: &mut Phase,
        target: &T,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> u32 {
        if !std::mem::take(&mut self.seek) {
            return 0;
        }
        let mut step_size = self.scale.step_size();
        let mut grow = None;
        for evals in 1..=Self::SEARCH {
            phase.begin(current, &self.scale, rng);
            let before = phase.energy();
            phase.leapfrog(step_size, &self.scale, target, ws);
            let accepts = before - phase.energy() > 0.8f64.ln();
            if *grow.get_or_insert(accepts) != accepts {
                self.scale.restart_step_size(step_size);
                return evals;
            }
            step_size *= if accepts { 2.0 } else { 0.5 };
        }
        Self::SEARCH
    }

    /// The largest number of step sizes that are tried.
    const SEARCH: u32 = 60;

    pub fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        if self.scale.adapt(step, current, warmup) {
            self.seek = self.scale.adapts_step_size();
        }
    }

    pub fn freeze(&mut self) {
        self.scale.freeze();
        self.seek = false;
    }
}

/// What happened in the latest transition.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Last {
    pub energy: f64,
    pub energy_error: f64,
    pub steps: u32,
    pub depth: u32,
    pub at_max_depth: bool,
}

impl Default for Last {
    fn default() -> Self {
        let (energy, energy_error) = (f64::NAN, f64::NAN);
        Self { energy, energy_error, steps: 0, depth: 0, at_max_depth: false }
    }
}

/// The state of an HMC or NUTS kernel: step size, linear map, their adaptation, and the statistics
/// of the latest transition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HamiltonianState {
    pub(super) dynamics: Dynamics,
    pub(super) last: Last,
}

impl HamiltonianState {
    pub(super) fn new(
        dim: usize,
        step_size: f64,
        target_accept: Option<f64>,
        preconditioner: Preconditioner,
    ) -> Result<Self, Error> {
        let dynamics = Dynamics::new(dim, step_size, target_accept, preconditioner)?;
        Ok(Self { dynamics, last: Last::default() })
    }
}

/// y += a x.
fn add_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

//! Hamiltonian dynamics: the part that [`Hmc`](crate::sampler::Hmc), [`Mams`](crate::sampler::Mams)
//! and [`Nuts`](crate::sampler::Nuts) share.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::engine::simd::{Real, Vector};
use crate::linalg::dot::dot;
use crate::portable::ln;
use crate::rng::ChainRng;
use crate::sampler::{Preconditioner, Scale, Step, WarmupProgress};
use crate::targets::{GradTarget, Point};

/// The energy error above which a transition counts as divergent (Stan's limit).
pub const MAX_ENERGY_ERROR: f64 = 1000.0;

/// A position with a velocity, which moves along a surface of constant energy, except for the
/// errors of its steps.
///
/// Energies are such that a trajectory from q to q' is accepted with min(1, exp(H - H')). A step can be retraced
/// once the velocity is turned round, and its change of volume is part of the energy.
pub trait Flow: Send {
    /// Whether the velocity has an energy of its own, whose exchange with the position's is a
    /// [diagnostic](crate::diagnostics::ebfmi()).
    const HAS_ENERGY: bool;

    /// The state at the origin; [`begin`](Self::begin) gives it a position and a velocity. It moves by the
    /// target's [force](GradTarget::force) where it goes `by_force`, else by its gradient.
    fn new(dim: usize, by_force: bool) -> Self;

    /// Starts at `from`, whose force or gradient is known, with a velocity drawn afresh.
    fn begin(&mut self, from: &Point, scale: &Scale, rng: &mut ChainRng);

    /// Makes one step.
    fn step<T: GradTarget>(
        &mut self,
        step_size: f64,
        scale: &Scale,
        target: &T,
        ws: &mut T::Workspace,
    );

    /// The energy, by the density that belongs to the force; infinite where it cannot be computed.
    fn energy(&self) -> f64;

    /// The current point.
    fn point(&self) -> &Point;

    /// The [`point`](Self::point), mutable, to be exchanged.
    fn point_mut(&mut self) -> &mut Point;

    /// The position before the latest step.
    fn before(&self) -> &[f64];
}

/// A position with a momentum, and the gradient in the coordinates of the momentum.
#[derive(Debug)]
pub struct PhasePoint {
    pub(super) point: Point,
    pub(super) p: Vec<f64>,
    /// L^T g.
    force: Vec<f64>,
    velocity: Vec<f64>,
    /// The position before the latest leapfrog step.
    pub(super) before: Vec<f64>,
    /// |p|^2 / 2.
    kinetic: f64,
    by_force: bool,
}

impl Flow for PhasePoint {
    const HAS_ENERGY: bool = true;

    fn new(dim: usize, by_force: bool) -> Self {
        let zeros = vec![0.0; dim];
        Self {
            point: Point::new(dim),
            p: zeros.clone(),
            force: zeros.clone(),
            velocity: zeros.clone(),
            before: zeros,
            kinetic: 0.0,
            by_force,
        }
    }

    fn begin(&mut self, from: &Point, scale: &Scale, rng: &mut ChainRng) {
        self.point.copy_from(from);
        scale.mul_transpose(from.force(), &mut self.force);
        rng.fill_normal(&mut self.p);
        self.kinetic = 0.5 * dot::<8>(&self.p, &self.p);
    }

    fn energy(&self) -> f64 {
        let energy = self.kinetic - self.point.rough_density().total(); //~ hmc-energy
        if energy.is_nan() { f64::INFINITY } else { energy }
    }

    /// One leapfrog step, backwards if `step_size` is negative.
    fn step<T: GradTarget>(
        &mut self,
        step_size: f64,
        scale: &Scale,
        target: &T,
        ws: &mut T::Workspace,
    ) {
        let Self { point, p, force, velocity, before, by_force, .. } = self;
        before.copy_from_slice(point.q());
        if let Some(sd) = scale.diagonal() {
            point.set(|q| kick_and_drift(step_size, sd, force, p, q));
            point.eval_slope(*by_force, target, ws);
            let squares = kick(step_size, sd, point.force(), force, p);
            self.kinetic = 0.5 * squares;
        } else {
            add_scaled(p, 0.5 * step_size, force);
            scale.mul(p, velocity);
            point.set(|q| add_scaled(q, step_size, velocity));
            point.eval_slope(*by_force, target, ws);
            scale.mul_transpose(point.force(), force);
            add_scaled(p, 0.5 * step_size, force);
            self.kinetic = 0.5 * dot::<8>(p, p);
        }
    }

    fn point(&self) -> &Point {
        &self.point
    }

    fn point_mut(&mut self) -> &mut Point {
        &mut self.point
    }

    fn before(&self) -> &[f64] {
        &self.before
    }
}

impl PhasePoint {
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.point.copy_from(&other.point);
        self.p.copy_from_slice(&other.p);
        self.force.copy_from_slice(&other.force);
        self.kinetic = other.kinetic;
    }
}

dispatch! {
    /// p += h/2 f, then q += h sd p: the first half of a leapfrog step of h with the scales `sd`.
    fn kick_and_drift(h: f64, sd: &[f64], force: &[f64], p: &mut [f64], q: &mut [f64]) => kick_and_drift_body
}

#[inline(always)]
fn kick_and_drift_body<V: Vector<f64>>(
    _: V::Level,
    h: f64,
    sd: &[f64],
    force: &[f64],
    p: &mut [f64],
    q: &mut [f64],
) {
    for (((q, p), f), sd) in q.iter_mut().zip(p).zip(force).zip(sd) {
        *p = f64::multiply_add::<V::Level>(0.5 * h, *f, *p);
        *q = f64::multiply_add::<V::Level>(h * sd, *p, *q);
    }
}

dispatch! {
    /// f = sd g, then p += h/2 f: the other half. Returns |p|^2.
    fn kick(h: f64, sd: &[f64], grad: &[f64], force: &mut [f64], p: &mut [f64]) -> f64 => kick_body
}

#[inline(always)]
fn kick_body<V: Vector<f64>>(
    level: V::Level,
    h: f64,
    sd: &[f64],
    grad: &[f64],
    force: &mut [f64],
    p: &mut [f64],
) -> f64 {
    let half = V::splat(level, 0.5 * h); //~ leapfrog-registers
    let mut sums = [V::splat(level, 0.0); 2];
    let whole = p.len() - p.len() % V::LANES;
    let from = V::chunks(sd).iter().zip(V::chunks(grad));
    for ((p, f), (sd, g)) in V::chunks_mut(p).iter_mut().zip(V::chunks_mut(force)).zip(from) {
        let force = V::load(level, sd).mul(V::load(level, g));
        force.store(f);
        let new = half.mul_add(force, V::load(level, p));
        new.store(p);
        sums = [sums[1], new.mul_add(new, sums[0])];
    }
    let mut squares = sums[0].add(sums[1]).sum();
    for i in whole..p.len() {
        force[i] = sd[i] * grad[i];
        p[i] = f64::multiply_add::<V::Level>(0.5 * h, force[i], p[i]); //~ leapfrog-rest
        squares += p[i] * p[i];
    }
    squares
}

/// The step size, the linear map, and their adaptation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Dynamics {
    pub scale: Scale,
    /// Whether a new step size is to be sought before the next trajectory.
    seek: bool,
    /// Whether L is still the identity, and is to be learnt.
    awaits_map: bool,
}

impl Dynamics {
    pub fn new(
        dim: usize,
        step_size: f64,
        target_accept: Option<f64>,
        preconditioner: Preconditioner,
    ) -> Result<Self, Error> {
        let scale = Scale::of_run(dim, step_size, target_accept, preconditioner)?.with_gamma(0.4);
        let awaits_map = preconditioner != Preconditioner::Identity;
        Ok(Self { seek: scale.adapts_step_size(), awaits_map, scale })
    }

    /// Whether this is the beginning of a warm-up, in which no map has been learnt yet.
    pub fn awaits_map(&self) -> bool {
        self.awaits_map
    }

    /// Seeks a step size if warm-up has just begun or L has changed, and returns how many gradients
    /// that took. `current` must have its force; `phase` is scratch.
    ///
    /// The step size is doubled or halved until the acceptance probability of a single leapfrog
    /// step crosses 0.8 (Stan reference manual, section on automatic parameter tuning; Hoffman and
    /// Gelman 2014, algorithm 4, has 0.5), at most [`SEARCH`](Self::SEARCH) times: a density that
    /// is flat, or infinite all around, cannot hold it up.
    pub fn seek_step_size<T: GradTarget, F: Flow>(
        &mut self,
        current: &Point,
        phase: &mut F,
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
            phase.step(step_size, &self.scale, target, ws);
            let accepts = before - phase.energy() > ln(0.8);
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

    /// Learns from a step of the warm-up. True if L has changed.
    pub fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) -> bool {
        let learnt = self.scale.adapt(step, current, warmup);
        if learnt {
            self.seek = self.scale.adapts_step_size();
            self.awaits_map = false;
        }
        learnt
    }

    pub fn freeze(&mut self) {
        self.scale.freeze();
        (self.seek, self.awaits_map) = (false, false);
    }
}

/// The statistics of the latest transition.
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

/// The state of a NUTS kernel, and a part of the states of HMC and MAMS: step size, linear map,
/// their adaptation, and the statistics of the latest transition.
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
pub(super) fn add_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

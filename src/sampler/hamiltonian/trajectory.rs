//! Trajectories of a random length that are accepted or rejected at their end.

use serde::{Deserialize, Serialize};

use super::dynamics::{Flow, HamiltonianState, Last, MAX_ENERGY_ERROR};
use super::path::RandomPath;
use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::climb::climb;
use crate::sampler::{Kernel, Preconditioner, Step, WarmupProgress, metropolis_test};
use crate::targets::{GradTarget, Point};

/// The settings that [`Hmc`](crate::sampler::Hmc) and [`Mams`](crate::sampler::Mams) share.
pub(super) struct Settings {
    pub step_size: f64,
    pub path_length: f64,
    pub adapt_path_length: bool,
    pub jitter: f64,
    pub max_steps: u32,
    pub max_first_steps: u32,
    /// `None` if the step size is not adapted.
    pub target_accept: Option<f64>,
    pub preconditioner: Preconditioner,
}

/// The transition of [`Hmc`](crate::sampler::Hmc) and [`Mams`](crate::sampler::Mams), which differ in the flow.
#[derive(Debug)]
pub struct TrajectoryKernel<F> {
    pub(super) state: TrajectoryState,
    tunes_path: bool,
    jitter: f64,
    max_steps: u32,
    max_first_steps: u32,
    pub(super) flow: F,
    /// Scratch.
    jump: Vec<f64>,
}

/// The state of an HMC or MAMS kernel: step size, linear map and path length, their adaptation, and the
/// statistics of the latest transition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrajectoryState {
    pub(super) hamiltonian: HamiltonianState,
    pub(super) path: RandomPath,
}

/// A trajectory on one target.
pub(super) struct Flight {
    /// The energy at its beginning.
    pub before: f64,
    /// The energy at its end less the energy at its start.
    pub error: f64,
    /// Whether the energy rose too far anywhere, seen from either end.
    pub failed: bool,
    pub steps: u32,
}

impl Flight {
    /// The statistics of the flight.
    pub fn last(&self, accepted: bool) -> Last {
        let energy = if accepted { self.before + self.error } else { self.before };
        Last { energy, energy_error: self.error, steps: self.steps, ..Last::default() }
    }
}

impl<F: Flow> TrajectoryKernel<F> {
    /// Checks the settings for `dim` dimensions.
    pub(super) fn new(settings: &Settings, dim: usize) -> Result<Self, Error> {
        let &Settings { step_size, target_accept, preconditioner, .. } = settings;
        if !(0.0..=1.0).contains(&settings.jitter) {
            return Err(Error::argument("jitter", settings.jitter, "between 0 and 1"));
        }
        // The limit is the same as for a tree of NUTS.
        let counts =
            [("max_steps", settings.max_steps), ("max_first_steps", settings.max_first_steps)];
        for (name, count) in counts {
            if !(1..=1 << 20).contains(&count) {
                return Err(Error::argument(name, count, "1 to 1048576"));
            }
        }
        Ok(Self {
            state: TrajectoryState {
                hamiltonian: HamiltonianState::new(dim, step_size, target_accept, preconditioner)?,
                path: RandomPath::new(settings.path_length, settings.adapt_path_length),
            },
            tunes_path: settings.adapt_path_length,
            jitter: settings.jitter,
            max_steps: settings.max_steps,
            max_first_steps: settings.max_first_steps,
            flow: F::new(dim, true),
            jump: vec![0.0; if settings.adapt_path_length { dim } else { 0 }],
        })
    }

    /// Follows the flow on `target` from `from`, whose log density and force are known, to its end in `flow`,
    /// where the log density is known too, with a velocity drawn afresh. Also returns how many forces that
    /// took.
    ///
    /// The way is watched by the density of the force at all of its points, the ends among them, so that
    /// it fails from both ends or from none. The error is the error of the log density itself.
    pub(super) fn fly<T: GradTarget>(
        &mut self,
        from: &Point,
        target: &T,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> (Flight, u32) {
        let most = self.most_steps();
        let Self { flow, jump, state: TrajectoryState { hamiltonian, path }, .. } = self;
        let sought = hamiltonian.dynamics.seek_step_size(from, flow, target, ws, rng);
        let scale = &hamiltonian.dynamics.scale;
        let step_size = scale.step_size();
        let wanted = path.steps(step_size, self.jitter, most, rng);

        flow.begin(from, scale, rng);
        let mut before = flow.energy();
        let (mut steps, mut error, mut largest) = (0, 0.0, 0.0f64);
        let (half, mut jumps) = (wanted.div_ceil(2), [0.0; 2]);
        while steps < wanted && largest <= MAX_ENERGY_ERROR {
            flow.step(step_size, scale, target, ws);
            steps += 1;
            error = flow.energy() - before;
            largest = largest.max(error);
            if steps == half {
                jumps[0] = path.jump(from, flow.point(), error, scale, jump);
            }
        }
        // The way back passes through the same points, and must not fail where this one does not: the
        // limit holds for both ends.
        let failed = largest - error.min(0.0) > MAX_ENERGY_ERROR;
        jumps = match failed {
            true => [0.0; 2],
            false => [jumps[0], path.jump(from, flow.point(), error, scale, jump)],
        };
        path.observe(half, steps, jumps);
        if target.has_own_force() {
            let correction =
                |point: &Point| point.rough_density().total() - point.log_density().total();
            flow.point_mut().eval(target, ws);
            error += correction(flow.point()) - correction(from); //~ force-ratio
            before += correction(from);
        }
        (Flight { before, error, failed, steps }, sought + steps)
    }

    /// The largest number of steps now.
    fn most_steps(&self) -> u32 {
        match self.state.hamiltonian.dynamics.awaits_map() {
            true => self.max_steps.min(self.max_first_steps), //~ first-trajectories
            false => self.max_steps,
        }
    }

    pub(super) fn learn(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        let most = f64::from(self.most_steps());
        let TrajectoryState { hamiltonian, path } = &mut self.state;
        let step_size = hamiltonian.dynamics.scale.step_size();
        path.learn(step_size, step_size * most / (1.0 + self.jitter));
        if hamiltonian.dynamics.adapt(step, current, warmup) {
            path.restart();
        }
    }

    /// Names and values of the statistics of the latest transition.
    fn stats_of_latest(&self) -> [Option<(&'static str, f64)>; 5] {
        let TrajectoryState { hamiltonian: HamiltonianState { dynamics, last }, path } =
            &self.state;
        [
            Some(("step_size", dynamics.scale.step_size())),
            F::HAS_ENERGY.then_some(("energy", last.energy)),
            Some(("energy_error", last.energy_error)),
            Some(("leapfrog_steps", f64::from(last.steps))),
            self.tunes_path.then_some(("path_length", path.length())),
        ]
    }

    pub(super) fn freeze(&mut self) {
        self.state.hamiltonian.dynamics.freeze();
        self.state.path.freeze();
    }
}

impl<T: GradTarget, F: Flow> Kernel<T> for TrajectoryKernel<F> {
    type State = TrajectoryState;

    fn state(&self) -> TrajectoryState {
        self.state.clone()
    }

    fn restore(&mut self, state: TrajectoryState) {
        self.state = state;
    }

    fn approach(&mut self, target: &T, start: &mut Point, ws: &mut T::Workspace) -> u64 {
        climb(target, start, ws)
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let mut evals = u32::from(current.eval_force(target, ws));
        current.eval(target, ws);
        let (flight, taken) = self.fly(current, target, ws, rng);
        evals += taken;
        let log_ratio = if flight.failed { f64::NEG_INFINITY } else { -flight.error }; //~ hmc-ratio
        let outside = self.flow.point().rough_density().is_outside_support();
        let step = metropolis_test(current, self.flow.point_mut(), log_ratio, evals, rng);
        self.state.hamiltonian.last = flight.last(step.accepted);
        let diverged = flight.failed && !outside;
        Step { divergent: step.divergent || diverged, ..step }
    }

    fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        self.learn(step, current, warmup);
    }

    fn freeze(&mut self) {
        self.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        q.copy_from_slice(self.flow.before());
    }

    fn stat_names(&self) -> Vec<String> {
        let names = self.stats_of_latest().into_iter().flatten();
        names.map(|(name, _)| name.to_string()).collect()
    }

    fn stats(&self, out: &mut [f64]) {
        let stats = self.stats_of_latest().into_iter().flatten();
        out.iter_mut().zip(stats).for_each(|(out, (_, value))| *out = value);
    }
}

//! Algorithms, and the Markov transitions that they build.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::draws::Report;
use crate::rng::ChainRng;
use crate::targets::{Point, Target};

/// The configuration of a Markov transition on targets `T`.
pub trait Algorithm<T: Target>: Sync {
    /// The transition it builds.
    type Kernel: Kernel<T>;

    /// The name of the algorithm, with the names of the parts it is made of, such as `Cycle(Mala,
    /// Rwm)`; the configuration is no part of it. [Checkpoints](crate::draws::checkpoint) and files
    /// of draws hold it, and files with another name are refused: keep the name, wherever the type
    /// moves.
    fn name(&self) -> String;

    /// Checks the configuration against the target and allocates all that a step needs.
    ///
    /// `rng` is the chain's stream; [`child`](ChainRng::child) streams serve parts of a kernel.
    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error>;

    /// The number of entries in the matrices of a kernel, such as d^2. A run whose chains have no
    /// room for them in [memory](crate::memory) is refused before it begins; some vectors as long
    /// as q are counted anyway.
    fn matrix_numbers(&self, _target: &T) -> usize {
        0
    }

    /// Whether the transition on `target`, once adaptation has ended, is in detailed balance with it:
    /// pi(x) K(x, y) = pi(y) K(y, x). False by default, which is always safe;
    /// [`DelayedAcceptance`](crate::sampler::DelayedAcceptance) takes only those that say true.
    fn is_reversible(&self, _target: &T) -> bool {
        false
    }
}

/// One Markov transition with its state. Built by an [`Algorithm`], one per chain.
pub trait Kernel<T: Target>: Send {
    /// All that the next step depends on besides the chain's position and random stream.
    type State: Serialize + DeserializeOwned + Send;

    /// A copy of the state, from which [`restore`](Self::restore) continues exactly.
    fn state(&self) -> Self::State;

    /// Takes up a state that a kernel of the same configuration on the same target had.
    fn restore(&mut self, state: Self::State);

    /// Moves `start`, whose log density was evaluated, from where no step could begin to where warm-up
    /// can, and returns the number of gradients that this took. Called once, before the first step.
    /// By default `start` stays.
    fn approach(&mut self, _target: &T, _start: &mut Point, _ws: &mut T::Workspace) -> u64 {
        0
    }

    /// Moves `current` by one transition. Must leave the target's distribution unchanged (or say in
    /// its documentation what it leaves unchanged instead), and must not allocate. A kernel that
    /// works without the log density may leave it unevaluated: the loop does it where a draw is
    /// recorded.
    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step;

    /// Learns from a step of the warm-up.
    fn adapt(&mut self, _step: &Step, _current: &Point, _warmup: WarmupProgress) {}

    /// Ends all adaptation. Called once, after the warm-up, also if it has no iterations.
    fn freeze(&mut self) {}

    /// Overwrites `q`, the chain's position, with where the latest step diverged (see
    /// [`Divergence`](crate::draws::Divergence)). Called only after a step that did; by default `q`
    /// stays.
    fn diverged_at(&self, _q: &mut [f64]) {}

    /// Names of the statistics that this kernel adds to each draw.
    fn stat_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Writes those statistics.
    fn stats(&self, _out: &mut [f64]) {}

    /// A report on the whole run, kept in [`RunInfo::reports`](crate::draws::RunInfo::reports).
    /// Composite kernels pass on the reports of their parts ([`Report::and`]).
    fn report(&self) -> Report {
        Report::default()
    }
}

/// The outcome of one transition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The probability with which the proposal was accepted (for NUTS the mean along the
    /// trajectory): the step size is adapted to it. `None` for kernels that accept without a test.
    pub accept_prob: Option<f64>,
    /// Whether the chain moved.
    pub accepted: bool,
    /// Whether the proposal's density (for unadjusted kernels also its gradient) was NaN or infinite
    /// inside the support, or a trajectory's
    /// energy rose beyond [`MAX_ENERGY_ERROR`](crate::sampler::MAX_ENERGY_ERROR).
    pub divergent: bool,
    /// The number of gradients evaluated.
    pub gradient_evals: u32,
}

/// The place of an iteration in the warm-up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WarmupProgress {
    /// This iteration, counted from 0.
    pub iteration: usize,
    /// The number of iterations of the whole warm-up.
    pub total: usize,
}

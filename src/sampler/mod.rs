//! Samplers: one loop, and the transitions that it drives.
//!
//! An [`Algorithm`] is configuration: plain data that can be written down and repeated. It builds
//! a [`Kernel`], one Markov transition with its state. [`Sampler`] is the only loop: chains,
//! warm-up, random streams, storage and progress are its business, never a kernel's.
//!
//! | algorithm | needs | use it |
//! | --- | --- | --- |
//! | [`Rwm`] | a log density | few parameters, or no gradient |
//! | [`Nuts`] | a gradient as well | the first to try, and the one for networks with a real response |
//! | [`Hmc`] | a gradient | you know how long trajectories should be, or want equal cost per draw |
//! | [`Mala`] | a gradient | very many cheap draws of an easy target; inside other kernels |
//! | [`TruncatedMala`] | a gradient, bounds | a posterior whose mass piles up at the bounds of a box |
//! | [`Smmala`] | second derivatives | few parameters (some ten) whose scales differ, and vary slowly |
//! | [`PowerPosteriors`] | a normalised prior, any kernel | modes far apart; the [evidence](crate::evidence) |
//! | [`LangevinGradient`] | a model with a gradient | to compare with the tutorial that proposed it |
//! | [`Pcn`] | Gaussian priors | weak data, very many parameters |
//! | [`GibbsNoise`] | Gaussian likelihood, inverse-gamma prior | the noise variance, in a [`Cycle`] |
//! | [`Baoab`] | a gradient, of [minibatches](GradSource) or full | networks too large for exact kernels; biased |
//! | [`LeimkuhlerMatthews`] | the same | the same without momentum; biased |
//! | [`Sgld`], [`Sghmc`] | a gradient of minibatches | to compare with the literature; biased |
//! | [`EulerMaruyama`], [`Obabo`] | a gradient | to compare integrators; biased |
//! | [`Independence`] | a proposal close to the target | one or two parameters, checks |
//!
//! What an effective draw costs, in effective draws per second of the whole run and per 1,000
//! gradients (smallest bulk ESS of the predictions; two cores; the examples' data and lengths of
//! run):
//!
//! | | RWM | MALA | HMC | NUTS |
//! | --- | --- | --- | --- | --- |
//! | iris, MLP with 83 parameters | 963 /s | 2,089 /s; 4.3 | 10,595 /s; 19.3 | 4,703 /s; 9.6 |
//! | ionosphere, linear, 35 | 1,746 /s | 6,758 /s; 14.6 | 17,648 /s; 22.1 | 16,481 /s; 22.7 |
//! | ionosphere, MLP, 361 | not converged | 459 /s; 3.2 | 1,748 /s; 10.9 | 847 /s; 5.7 |
//! | sunspot, MLP with sampled noise, 62 | not converged | not converged | not converged | 22 /s; 0.06 |
//!
//! So: NUTS first. HMC where its path suits the target, which its diagnostics show. MALA for many
//! cheap steps of an easy target or inside a [`Cycle`]; the random walk where there is no gradient.
//!
//! [`OnBlocks`] runs an algorithm on named blocks; [`Cycle`] and [`Mixture`] put two together.
//!
//! # Step size
//! One convention for the whole crate: `step_size` is the standard deviation of the Gaussian noise
//! of one proposal, in units of the preconditioned space; MALA's drift is half its square. A
//! leapfrog step of [`Hmc`] and [`Nuts`] is the same thing: MALA is HMC with one of them. For the
//! integrators of [Langevin dynamics](langevin), which have no proposal, `step_size` is the time step h.
//!
//! # Your own kernel
//! Implement [`Algorithm`] and [`Kernel`]; `examples/own_sampler.rs` shows one from top to bottom,
//! with the invariance test that every kernel should pass.

pub mod baoab;
pub mod combine;
pub mod euler_maruyama;
pub mod gibbs;
pub mod gradient_source;
pub mod hamiltonian;
pub mod hmc;
pub mod independence;
pub mod langevin;
pub mod langevin_gradient;
pub mod leimkuhler_matthews;
pub mod mala;
pub mod metropolis;
pub mod nuts;
pub mod obabo;
pub mod on_blocks;
pub mod pcn;
pub mod power_posteriors;
pub mod preconditioner;
pub mod rwm;
pub mod sghmc;
pub mod sgld;
pub mod smmala;
pub mod truncated_mala;
mod truncated_normal;

pub use baoab::{Baoab, BaoabIntegrator};
pub use combine::{Cycle, CycleKernel, Mixture, MixtureKernel, PairState};
pub use euler_maruyama::{EulerMaruyama, EulerMaruyamaIntegrator};
pub use gibbs::{GibbsNoise, GibbsNoiseKernel};
pub use gradient_source::{ControlVariates, FullGrad, GradSource, GradStream, Minibatch};
pub use hmc::{Hmc, HmcKernel};
pub use independence::{Independence, IndependenceKernel};
pub use langevin::{Integrator, LangevinKernel, LangevinState, Mass, StepSchedule};
pub use langevin_gradient::{LangevinGradient, LangevinGradientKernel, LangevinGradientState};
pub use leimkuhler_matthews::{LeimkuhlerMatthews, LeimkuhlerMatthewsIntegrator};
pub use mala::{Mala, MalaKernel};
pub use metropolis::metropolis_test;
pub use nuts::{Nuts, NutsKernel};
pub use obabo::{Obabo, ObaboIntegrator};
pub use on_blocks::{OnBlocks, OnBlocksKernel};
pub use pcn::{Pcn, PcnKernel};
pub use power_posteriors::{Ladder, LadderReport, PowerPosteriors, PowerPosteriorsKernel, Swaps};
pub use preconditioner::{Preconditioner, Scale};
pub use rwm::{Rwm, RwmKernel};
pub use sghmc::{Sghmc, SghmcIntegrator};
pub use sgld::Sgld;
pub use smmala::{Factorisation, Fisher, Metric, Smmala, SmmalaKernel, SoftAbs};
pub use truncated_mala::{TruncatedMala, TruncatedMalaKernel};

pub use crate::draws::Keep;
pub use crate::draws::checkpoint::Every;
#[cfg(feature = "progress")]
pub use crate::run::progress_bar;
pub use crate::run::{Init, Phase, Progress, Sampler, StopHandle};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::rng::ChainRng;
use crate::target::{Point, Target};

/// The configuration of a Markov transition on targets `T`.
pub trait Algorithm<T: Target>: Sync {
    /// The transition it builds.
    type Kernel: Kernel<T>;

    /// Its name, with the names of the parts it is made of, such as `Cycle(Mala, Rwm)`; the
    /// configuration is no part of it. [Checkpoints](crate::draws::checkpoint) and files of draws
    /// hold it, and those of another name are refused: keep it, wherever the type moves.
    fn name(&self) -> String;

    /// Checks the configuration against the target and allocates all that a step needs.
    ///
    /// `rng` is the chain's stream; [`child`](ChainRng::child) streams serve parts of a kernel.
    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error>;

    /// How many numbers the matrices of a kernel hold, such as d^2. A run whose chains have no room for them
    /// in [memory](crate::memory) is refused before it begins; some vectors as long as q are counted anyway.
    fn matrix_numbers(&self, _target: &T) -> usize {
        0
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

    /// Moves `current` by one transition. Must leave the target's distribution unchanged (or say
    /// in its documentation what it leaves unchanged instead), and must not allocate. A kernel that works
    /// without the log density may leave it unevaluated: the loop does it where a draw is recorded.
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

    /// What there is to say about the whole run, by name: kept in
    /// [`RunInfo::reports`](crate::draws::RunInfo::reports). Kernels made of others pass on theirs,
    /// under the prefixes of [`stat_names`](Self::stat_names).
    fn report(&self) -> Vec<(String, Vec<f64>)> {
        Vec::new()
    }
}

/// What happened in one transition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The probability with which the proposal was accepted (for NUTS the mean along the
    /// trajectory): what a step size is adapted to. `None` for kernels that accept without a test.
    pub accept_prob: Option<f64>,
    /// Whether the chain moved.
    pub accepted: bool,
    /// Whether the proposal's density (for unadjusted kernels also its gradient) was NaN or infinite
    /// inside the support, or a trajectory's
    /// energy rose beyond [`MAX_ENERGY_ERROR`](hamiltonian::MAX_ENERGY_ERROR).
    pub divergent: bool,
    /// How many gradients were evaluated.
    pub gradient_evals: u32,
}

/// Where in the warm-up an iteration lies.
#[derive(Clone, Copy, Debug)]
pub struct WarmupProgress {
    /// This iteration, counted from 0.
    pub iteration: usize,
    /// The number of iterations of the whole warm-up.
    pub total: usize,
}

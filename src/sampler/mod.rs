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
//! | [`Mams`] | a gradient, two dimensions | more draws per gradient than NUTS; tunes its path length in warm-up |
//! | [`Mala`] | a gradient | very many cheap draws of an easy target; inside other kernels |
//! | [`TruncatedMala`] | a gradient, bounds | a posterior whose mass piles up at the bounds of a box |
//! | [`Smmala`] | second derivatives | few parameters (some ten) whose scales differ, and vary slowly |
//! | [`Collapsed`] | a regression with normal noise, any kernel | networks with a real response: the output weights of its mean integrated out |
//! | [`PowerPosteriors`] | a normalised prior, any kernel | modes far apart; the [evidence](crate::evidence) |
//! | [`LangevinGradient`] | a model with a gradient | to compare with the tutorial that proposed it |
//! | [`Pcn`] | Gaussian priors | weak data, very many parameters |
//! | [`GibbsNoise`] | Gaussian likelihood, inverse-gamma prior | the noise variance, in a [`Cycle`] |
//! | [`Mclmc`] | a gradient, two dimensions | [`Mams`] without a test, to compare with it; biased |
//! | [`Baoab`] | a gradient, of [minibatches](GradSource) or full | networks too large for exact kernels; biased |
//! | [`LeimkuhlerMatthews`] | the same | the same without momentum; biased |
//! | [`Sgld`], [`Sghmc`] | a gradient of minibatches | to compare with the literature; biased |
//! | [`EulerMaruyama`], [`Obabo`] | a gradient | to compare integrators; biased |
//! | [`DelayedAcceptance`], [`SurrogateHmc`] | a [surrogate](crate::surrogate) as well | densities that cost much |
//! | [`Independence`] | a proposal close to the target | one or two parameters, checks |
//!
//! What an effective draw costs by four of them, in time and in gradients, is in a table of the
//! [guide](crate::guide::which_sampler).
//!
//! So: NUTS first. HMC where its path suits the target, which its diagnostics show. MALA for many
//! cheap steps of an easy target or inside a [`Cycle`]; the random walk where there is no gradient.
//!
//! [`OnBlocks`] runs an algorithm on named blocks; [`Cycle`] and [`Mixture`] put two together.
//!
//! # Step size
//! One convention for the whole crate: `step_size` is the standard deviation of the Gaussian noise
//! of one proposal, in units of the preconditioned space; MALA's drift is half its square. A
//! leapfrog step of [`Hmc`] and [`Nuts`] is the same thing: MALA is HMC with one of them. [`Mams`] and
//! [`Mclmc`] move at speed 1 in the whole space: their `step_size` is the length of a step, about sqrt(d) times as
//! much. For the
//! integrators of [Langevin dynamics](Integrator), which have no proposal, `step_size` is the time
//! step h.
//!
//! # Your own kernel
//! Implement [`Algorithm`] and [`Kernel`]; `examples/own_sampler.rs` shows one from top to bottom,
//! with the invariance test that every kernel should pass.

mod climb;
mod compose;
mod hamiltonian;
mod langevin;
mod metropolis;
mod scale;
mod tempering;

pub use compose::{Collapsed, Cycle, DelayedAcceptance, GibbsNoise, Mixture, OnBlocks};
pub use hamiltonian::{Hmc, MAX_ENERGY_ERROR, Mams, Mclmc, Nuts, SurrogateHmc};
pub use langevin::{
    Baoab, EulerMaruyama, Integrator, LangevinKernel, LeimkuhlerMatthews, Mass, Obabo, Sghmc, Sgld,
    StepSchedule,
};
pub use metropolis::{
    Factorisation, Fisher, Independence, LangevinGradient, Mala, Metric, MetropolisKernel, Pcn,
    Proposal, Proposed, Rwm, Smmala, SoftAbs, TruncatedMala, metropolis_test,
};
pub use scale::{Preconditioner, Scale};
pub use tempering::{Ladder, PowerPosteriors, Replicas, Swaps};

pub use crate::draws::Keep;
pub use crate::draws::checkpoint::Every;
pub use crate::gradient::{ControlVariates, Epoch, FullGrad, GradSource, GradStream, Minibatch};
pub use crate::kernel::{Algorithm, Kernel, Step, WarmupProgress};
#[cfg(feature = "progress")]
pub use crate::run::progress_bar;
pub use crate::run::{
    ChainProgress, Init, Phase, Progress, Sampler, StopHandle, progress_log, progress_report,
};

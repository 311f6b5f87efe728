//! Figures of how a sampler worked: energies, trajectories, divergences, ladders, and the training
//! of emulators and approximations.
//!
//! | figure | shows | of |
//! | --- | --- | --- |
//! | [`energy`] | whether momenta reach all energies | HMC, NUTS |
//! | [`divergences`] | when transitions diverged | every sampler |
//! | [`counts`] | how long trajectories are | HMC, NUTS, MCLMC |
//! | [`ladder`] | how states move between temperatures | power posteriors |
//! | [`loss`] | how an optimiser came down | optimisers with a held-out score |
//! | [`emulator`] | how good a surrogate is | emulators |
//!
//! If there are more than eight chains, a panel with a line for each shows the eight worst, and its
//! title says so.

mod counts;
mod divergences;
mod emulator;
mod energy;
mod ladder;
mod loss;

pub use counts::counts;
pub use divergences::divergences;
pub use emulator::emulator;
pub use energy::energy;
pub use ladder::ladder;
pub use loss::loss;

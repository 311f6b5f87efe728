//! Populations of chains at several temperatures.

mod ladder;
mod power_posteriors;
mod remote;
mod round_trips;
mod rung;
mod swaps;

pub use ladder::Ladder;
pub use power_posteriors::PowerPosteriors;
pub use remote::Replicas;
pub use swaps::Swaps;

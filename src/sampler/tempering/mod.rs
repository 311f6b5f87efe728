//! Populations of chains at several temperatures.

mod ladder;
mod power_posteriors;
mod swaps;

pub use ladder::{Ladder, LadderReport};
pub use power_posteriors::PowerPosteriors;
pub use swaps::Swaps;

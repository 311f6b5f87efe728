//! Composite kernels: on blocks of parameters, one after the other, one or the other.

mod collapsed;
mod delayed_acceptance;
mod gibbs;
mod on_blocks;
mod pair;

pub use collapsed::Collapsed;
pub use delayed_acceptance::DelayedAcceptance;
pub use gibbs::GibbsNoise;
pub use on_blocks::OnBlocks;
pub use pair::{Cycle, Mixture};

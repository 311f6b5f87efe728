//! Kernels made of others: on blocks of parameters, one after the other, one or the other.

mod gibbs;
mod on_blocks;
mod pair;

pub use gibbs::GibbsNoise;
pub use on_blocks::OnBlocks;
pub use pair::{Cycle, Mixture};

//! Hamiltonian dynamics and the kernels that follow them.

mod dynamics;
mod hmc;
mod isokinetic;
mod mams;
mod mclmc;
mod nuts;
mod path;
mod surrogate_hmc;
mod trajectory;
mod tree;

pub use dynamics::MAX_ENERGY_ERROR;
pub use hmc::Hmc;
pub use mams::Mams;
pub use mclmc::Mclmc;
pub use nuts::Nuts;
pub use surrogate_hmc::SurrogateHmc;

//! Hamiltonian dynamics and the kernels that follow them.

mod dynamics;
mod hmc;
mod nuts;
mod surrogate_hmc;
mod tree;

pub use dynamics::MAX_ENERGY_ERROR;
pub use hmc::Hmc;
pub use nuts::Nuts;
pub use surrogate_hmc::SurrogateHmc;

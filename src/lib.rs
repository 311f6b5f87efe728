//! bnn-mcmc

pub mod adapt;
pub mod data;
pub mod diagnostics;
pub mod draws;
pub mod error;
pub mod layout;
pub mod likelihood;
mod linalg;
pub mod model;
pub mod predict;
pub mod prelude;
pub mod prior;
pub mod rng;
pub mod sampler;
pub mod target;
pub mod testing;
pub mod tile;

pub use error::Error;

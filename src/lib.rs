//! bnn-mcmc

pub mod error;
pub mod layout;
mod linalg;
pub mod model;
pub mod rng;
pub mod tile;

pub use error::Error;

//! bnn-mcmc

pub mod diagnostics;
pub mod error;
pub mod layout;
pub mod model;
pub mod rng;
pub mod tile;

pub use error::Error;

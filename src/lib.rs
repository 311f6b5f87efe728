//! bnn-mcmc

pub mod data;
pub mod error;
pub mod layout;
pub mod model;
pub mod rng;
pub mod tile;

pub use error::Error;

//! Figures against numbers from elsewhere, and on hostile input.

mod chains;
mod common;
mod rhat;
mod sampler;

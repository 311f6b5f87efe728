//! Figures against numbers from elsewhere, and on hostile input.

mod calibration;
mod chains;
mod common;
mod parameters;
mod predictive;
mod rhat;
mod sampler;
mod uncertainty;

//! Figures against numbers from elsewhere, and on hostile input.

mod calibration;
mod chains;
mod checks;
mod common;
mod effects;
mod parameters;
mod predictive;
mod rhat;
mod sampler;
mod uncertainty;

//! Figures against numbers from elsewhere, and on hostile input.

#[path = "../../../../tests/shared/said.rs"]
mod said;

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

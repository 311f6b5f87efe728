//! Figures against numbers from elsewhere, and on hostile input.

mod calibration;
mod common;
mod parameters;
mod predictive;
mod uncertainty;

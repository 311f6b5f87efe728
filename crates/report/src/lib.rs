//! Figures and reports of runs of [`bnn_mcmc`].

pub mod figure;
pub mod figures;

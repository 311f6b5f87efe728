//! Figures and reports of runs of [`bnn_mcmc`].

pub mod figure;
pub mod figures;

/// The program of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

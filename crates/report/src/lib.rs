//! Figures and reports of runs of [`bnn_mcmc`].
//!
//! [`report()`] makes one HTML page of a [`Fit`](bnn_mcmc::fit::Fit): the verdict first, then data, model,
//! scores, predictions and convergence, with all figures inside. Each of its figures, and more, is a
//! function in [`figures`], which computes a [`figure::Figure`]: numbers that can be tested, and that
//! draw themselves as SVG in one style, for light and dark pages.

pub mod figure;
pub mod figures;
mod report;

pub use report::{report, report_in_words};

/// The program of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

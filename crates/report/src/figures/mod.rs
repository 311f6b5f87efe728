//! The figures, by subject. Each function computes a [`Figure`](crate::figure::Figure), whose
//! numbers are public and which draws itself.

mod bins;
pub mod calibration;
pub mod chains;
pub mod effects;
pub mod parameters;
pub mod predictive;
pub mod rhat;
pub mod sampler;
mod shown;
pub mod uncertainty;

use ndarray::ArrayView2;

/// A quantity along the chains, such as a parameter, a prediction or the log likelihood.
#[derive(Clone, Copy, Debug)]
pub struct Quantity<'a> {
    /// The name of the quantity, with its unit if it has one.
    pub name: &'a str,
    /// The draws of the quantity, `[chain, draw]`.
    pub values: ArrayView2<'a, f64>,
}

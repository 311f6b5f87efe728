//! The native half of the Python package `bnn-mcmc`: a [`Fit`](bnn_mcmc::fit::Fit) with arrays in and
//! arrays out.
//!
//! What users of scikit-learn see, the estimators with their checks and documentation, is Python
//! (`python/bnn_mcmc`). What is computed is computed here, without Python's lock.

use pyo3::prelude::*;

mod error;
mod fit;
mod interrupt;
mod predict;
mod settings;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::fit::Fit;
}

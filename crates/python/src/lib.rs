//! The native half of the Python package `bnn-mcmc`: a [`Fit`](bnn_mcmc::fit::Fit) with arrays in and
//! arrays out.
//!
//! What users of scikit-learn see, the estimators with their checks and documentation, is Python
//! (`python/bnn_mcmc`). What is computed is computed here, without Python's lock.

mod error;
mod fit;
mod interrupt;
mod predict;
mod settings;

#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::fit::Fit;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

//! The native half of the Python package `bnn-mcmc`: a [`Fit`](bnn_mcmc::fit::Fit) with arrays in and
//! arrays out.
//!
//! The estimators that users of scikit-learn see, with their checks and documentation, are Python
//! (`python/bnn_mcmc`). The computations are here, without Python's lock.

mod columns;
mod error;
mod explain;
mod figures;
mod fit;
mod interrupt;
mod loo;
mod predict;
mod progress;
mod settings;
mod words;

#[pyo3::pymodule]
mod _native {
    use bnn_mcmc::message::{Advice, Setting, Vocabulary};
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::columns::{Columns, Table, classes_in_order};
    #[pymodule_export]
    use super::explain::Explainer;
    #[pymodule_export]
    use super::fit::Fit;
    #[pymodule_export]
    use super::loo::{Loo, compare};
    #[pymodule_export]
    use super::settings::choices;
    use super::words::Parameters;

    /// All settings and advice that messages can name, as they are spelled here: for the tests.
    #[pyfunction]
    fn _spelled() -> Vec<String> {
        let settings = Setting::ALL.iter().filter_map(|setting| Parameters.setting(*setting, None));
        let advice = Advice::examples();
        let advice = advice.iter().filter_map(|advice| advice.clause(&Parameters));
        settings.chain(advice).collect()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

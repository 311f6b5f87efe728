//! The crate's errors as Python's exceptions.

use std::io;

use bnn_mcmc::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

/// What Python raises for `error`: `OSError` where the system refused a file, `RuntimeError` where code
/// panicked or a chain could not start, and `ValueError` for what was handed in.
pub fn raised(error: Error) -> PyErr {
    match &error {
        // Of the same kind, so that a file that is not there is a `FileNotFoundError`.
        Error::Io { source, .. } => io::Error::new(source.kind(), error.to_string()).into(),
        Error::Panic { .. } | Error::Start { .. } => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

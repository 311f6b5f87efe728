//! The crate's errors as Python's exceptions.

use std::io;

use bnn_mcmc::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

use crate::words::Parameters;

/// The Python exception for `error`: `OSError` where the system refused a file, `RuntimeError`
/// where code panicked, a chain could not start or a run was ended, and `ValueError` for bad arguments and data.
pub fn raised(error: Error) -> PyErr {
    let message = error.in_words(&Parameters);
    match &error {
        // The error keeps its kind, so that a file that is not there is a `FileNotFoundError`.
        Error::Io { source, .. } => io::Error::new(source.kind(), message).into(),
        Error::Panic { .. } | Error::Start { .. } | Error::Stopped { .. } => {
            PyRuntimeError::new_err(message)
        }
        _ => PyValueError::new_err(message),
    }
}

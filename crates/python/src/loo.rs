//! Leave-one-out of fits, and comparisons.

use bnn_mcmc::predict;
use pyo3::prelude::*;

use crate::error::raised;
use crate::figures::{Drawn, drawn, pareto_k};

/// The leave-one-out estimate of a fit. It never changes.
#[pyclass(frozen, module = "bnn_mcmc._native")]
pub struct Loo(pub predict::Loo);

#[pymethods]
impl Loo {
    /// elpd, its standard error, the effective number of parameters, and the largest k that is reliable.
    fn numbers(&self) -> [f64; 4] {
        let loo = &self.0;
        [loo.elpd, loo.se, loo.p_loo, loo.threshold()]
    }

    /// elpd and k of each row.
    fn rows(&self) -> (Vec<f64>, Vec<f64>) {
        self.0.rows.iter().map(|row| (row.elpd, row.k)).unzip()
    }

    /// The rows whose estimate is unreliable.
    fn unreliable(&self) -> Vec<usize> {
        self.0.unreliable()
    }

    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    fn figure(&self) -> PyResult<Drawn> {
        drawn(&pareto_k(&self.0)).map_err(raised)
    }
}

/// Of each model, from the best one on: the name, elpd, the difference from the best with its standard error, the effective number
/// of parameters, and the number of unreliable rows.
type Compared = Vec<(String, f64, f64, f64, f64, usize)>;

/// Models of the same rows compared, with what is to be said of the comparison.
#[pyfunction]
pub fn compare(models: Vec<(String, Bound<'_, Loo>)>) -> PyResult<(Compared, Vec<String>)> {
    let models: Vec<(&str, &predict::Loo)> =
        models.iter().map(|(name, loo)| (name.as_str(), &loo.get().0)).collect();
    let comparison = predict::Loo::compare(&models).map_err(raised)?;
    let warnings = comparison.warnings();
    let of = |model: predict::ComparedModel| {
        let predict::ComparedModel { name, elpd, difference, se_difference, p_loo, unreliable } =
            model;
        (name, elpd, difference, se_difference, p_loo, unreliable)
    };
    Ok((comparison.models.into_iter().map(of).collect(), warnings))
}

//! Effects of the columns of a fit's table.

use bnn_mcmc::Error;
use bnn_mcmc::data::{TableColumn, ValueKind};
use bnn_mcmc::explain;
use bnn_mcmc_report::figure::Figure;
use numpy::{IntoPyArray, PyArray2, PyArray3, PyArray4};
use pyo3::prelude::*;

use crate::error::raised;
use crate::figures::{self, Drawn, drawn};
use crate::interrupt::on_threads;

/// The effects of a fit. It never changes.
#[pyclass(frozen, module = "bnn_mcmc._native")]
pub struct Explainer(pub explain::Explainer<'static>);

/// The kind of values, as numbers and in words.
type Values = (&'static str, Vec<f64>, Vec<String>);

/// The values, the outputs, the draws `[draw, point, output]`, and the mean curve
/// of each row `[row, point, output]`.
type Effect<'py> =
    (Values, Vec<String>, Bound<'py, PyArray3<f64>>, Option<Bound<'py, PyArray3<f64>>>);

/// The values of both columns, the outputs, the draws `[draw, point, point, output]`.
type Pair<'py> = (Values, Values, Vec<String>, Bound<'py, PyArray4<f64>>);

/// The column, the outputs, the first-order and the total index `[draw, output]`, and the errors of their means.
type Sobol<'py> =
    (String, Vec<String>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>, [Vec<f64>; 2]);

impl Explainer {
    fn drawn(
        &self,
        py: Python<'_>,
        threads: usize,
        figure: impl FnOnce() -> Result<Figure, Error> + Send,
    ) -> PyResult<Drawn> {
        on_threads(py, threads, || drawn(&figure()?))?.map_err(raised)
    }

    fn parsed(&self, column: &str, values: &[String]) -> Result<Vec<f64>, Error> {
        let column = self.0.column(column)?;
        values.iter().map(|value| column.parse(value)).collect()
    }
}

fn values_of(points: explain::Points) -> Values {
    let kind = match points.kind {
        ValueKind::Number => "number",
        ValueKind::Label => "label",
        ValueKind::Date => "date",
        ValueKind::Clock => "clock",
    };
    (kind, points.values, points.words)
}

#[pymethods]
impl Explainer {
    /// The names of the columns.
    fn columns(&self) -> Vec<String> {
        self.0.columns().iter().map(TableColumn::to_string).collect()
    }

    /// The effect of a column, accumulated or the partial dependence, at given values or at values of its own choice.
    fn effect<'py>(
        &self,
        py: Python<'py>,
        column: &str,
        accumulated: bool,
        values: Option<Vec<String>>,
        threads: usize,
    ) -> PyResult<Effect<'py>> {
        let found = || match (&values, accumulated) {
            (_, true) => self.0.accumulated_local_effect(column),
            (None, false) => self.0.partial_dependence(column),
            (Some(values), false) => {
                self.0.partial_dependence_at(column, &self.parsed(column, values)?)
            }
        };
        let explain::Effect { points, outputs, draws, individual } =
            on_threads(py, threads, found)?.map_err(raised)?;
        let individual = individual.map(|curves| curves.into_pyarray(py));
        Ok((values_of(points), outputs, draws.into_pyarray(py), individual))
    }

    /// The effect of two columns, accumulated or the partial dependence: the values of both, the outputs, and the draws
    /// `[draw, point, point, output]`.
    fn pair<'py>(
        &self,
        py: Python<'py>,
        first: &str,
        second: &str,
        accumulated: bool,
        threads: usize,
    ) -> PyResult<Pair<'py>> {
        let found = || match accumulated {
            true => self.0.accumulated_local_effect_pair(first, second),
            false => self.0.partial_dependence_pair(first, second),
        };
        let explain::PairEffect { points, outputs, draws } =
            on_threads(py, threads, found)?.map_err(raised)?;
        let [first, second] = points.map(values_of);
        Ok((first, second, outputs, draws.into_pyarray(py)))
    }

    /// The outputs, and the difference from one value to another by each draw, `[draw, output]`.
    fn contrast<'py>(
        &self,
        py: Python<'py>,
        column: &str,
        from: String,
        to: String,
        threads: usize,
    ) -> PyResult<(Vec<String>, Bound<'py, PyArray2<f64>>)> {
        let found = || {
            let values = self.parsed(column, &[from, to])?;
            self.0.contrast(column, values[0], values[1])
        };
        let contrast = on_threads(py, threads, found)?.map_err(raised)?;
        Ok((contrast.outputs, contrast.draws.into_pyarray(py)))
    }

    /// The column, the loss of log density and its standard error, of each column.
    fn importance(
        &self,
        py: Python<'_>,
        repeats: usize,
        seed: u64,
        threads: usize,
    ) -> PyResult<Vec<(String, f64, f64)>> {
        let found = on_threads(py, threads, || self.0.importance(repeats, seed))?;
        let found = found.map_err(raised)?;
        Ok(found.into_iter().map(|of| (of.column, of.loss, of.se)).collect())
    }

    /// The figure of an effect.
    fn figure(
        &self,
        py: Python<'_>,
        column: &str,
        accumulated: bool,
        threads: usize,
    ) -> PyResult<Drawn> {
        self.drawn(py, threads, || figures::effect(&self.0, column, accumulated))
    }

    /// The figure of the effect of two columns.
    fn figure_of_pair(
        &self,
        py: Python<'_>,
        first: &str,
        second: &str,
        accumulated: bool,
        threads: usize,
    ) -> PyResult<Drawn> {
        self.drawn(py, threads, || figures::effect_pair(&self.0, first, second, accumulated))
    }

    /// The figure of the importance of the columns.
    fn figure_of_importance(
        &self,
        py: Python<'_>,
        repeats: usize,
        seed: u64,
        threads: usize,
    ) -> PyResult<Drawn> {
        self.drawn(py, threads, || figures::importance(&self.0, repeats, seed))
    }

    /// The Sobol indices of each column.
    fn sobol<'py>(&self, py: Python<'py>, seed: u64, threads: usize) -> PyResult<Vec<Sobol<'py>>> {
        let found = on_threads(py, threads, || self.0.sobol(seed))?.map_err(raised)?;
        let of = |of: explain::Sobol| {
            let errors = [of.first_error, of.total_error].map(|error| error.to_vec());
            let [first, total] = [of.first, of.total].map(|index| index.into_pyarray(py));
            (of.column, of.outputs, first, total, errors)
        };
        Ok(found.into_iter().map(of).collect())
    }
}

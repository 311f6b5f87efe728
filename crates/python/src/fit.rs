//! A fitted network.

use std::iter;
use std::path::PathBuf;
use std::sync::Arc;

use bnn_mcmc::Error;
use bnn_mcmc::data::{CsvReader, Dataset, Schema, Task};
use bnn_mcmc::diagnostics::SummaryRow;
use bnn_mcmc::fit;
use bnn_mcmc::ndarray::Array2;
use bnn_mcmc::sampler::StopHandle;
use bnn_mcmc_report::report_in_words;
use numpy::{IntoPyArray, PyArray2, PyArray3, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::error::raised;
use crate::explain::Explainer;
use crate::figures::{self, Drawn, drawn};
use crate::interrupt::{interruptible, interruptible_with, on_threads};
use crate::loo::Loo;
use crate::predict::{conformal, decompose, draws, medians, predict, quantiles, survival};
use crate::progress::Events;
use crate::settings::Settings;
use crate::words::Parameters;

/// A network fitted to a table. It never changes.
#[pyclass(frozen, module = "bnn_mcmc._native")]
pub struct Fit(fit::Fit);

#[pymethods]
impl Fit {
    /// Fits rows. `response` is its task, of classes their names, and of times the column beside them; `columns` are the
    /// columns of the table that `x` was made of, `weights` the weights of rows, if there are any.
    #[new]
    fn new(
        py: Python<'_>,
        response: (String, Vec<String>, Option<Companion>),
        rows: Rows<'_>,
        weights: Option<Vec<f64>>,
        columns: PyRef<'_, Columns>,
        response_names: Vec<String>,
        settings: Settings,
    ) -> PyResult<Self> {
        let (task, class_names, companion) = response;
        let data = task.parse().and_then(|task| rows.data(task, &class_names));
        let data =
            weighted(data, weights).and_then(|data| data.with_response_names(&response_names));
        run(py, data, (&columns, companion), &settings)
    }

    /// Loads a fit from its folder.
    #[staticmethod]
    fn load(py: Python<'_>, folder: PathBuf, threads: usize) -> PyResult<Self> {
        let fit = on_threads(py, threads, || fit::Fit::load(&folder))?;
        fit.map(Self).map_err(raised)
    }

    /// Puts the parts in a folder together, which tasks have run.
    #[staticmethod]
    fn merge(py: Python<'_>, folder: PathBuf, threads: usize) -> PyResult<Self> {
        let fit = on_threads(py, threads, || fit::Fit::merge(&folder))?;
        fit.map(Self).map_err(raised)
    }

    /// Writes the fit to a folder.
    fn save(&self, py: Python<'_>, folder: PathBuf, threads: usize) -> PyResult<()> {
        on_threads(py, threads, || self.0.save(&folder))?.map_err(raised)
    }

    /// Saves the fit like `save`, without waiting for the disk.
    fn save_unflushed(&self, py: Python<'_>, folder: PathBuf, threads: usize) -> PyResult<()> {
        on_threads(py, threads, || self.0.save_unflushed(&folder))?.map_err(raised)
    }

    /// `mean`, or `median` where point predictions are medians.
    fn centre(&self) -> &'static str {
        self.0.centre().name()
    }

    /// Whether the fit is of several completed tables.
    fn is_imputed(&self) -> bool {
        self.0.of_one_table().is_err()
    }

    /// Writes draws, predictions and data to a Zarr folder.
    fn to_zarr(&self, py: Python<'_>, path: PathBuf, threads: usize) -> PyResult<()> {
        on_threads(py, threads, || self.0.to_zarr(path))?.map_err(raised)
    }

    /// The mean of each row and output; then, if asked for, the standard deviation of new observations;
    /// then, if a level is given, the lower and the upper ends of their intervals.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        with_sd: bool,
        level: Option<f64>,
        threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let x = x.as_array().to_owned();
        arrays(py, threads, |stop| predict(&self.0, x.view(), with_sd, level, stop))
    }

    /// Quantiles of new observations of each row and output, an array for each probability.
    fn quantiles<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        probabilities: Vec<f64>,
        threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let x = x.as_array().to_owned();
        arrays(py, threads, |stop| quantiles(&self.0, x.view(), &probabilities, stop))
    }

    /// The uncertainty of each row in two parts: total, of the mean function, noise.
    fn decompose<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let x = x.as_array().to_owned();
        arrays(py, threads, |stop| decompose(&self.0, x.view(), stop))
    }

    /// The mean function, or a new observation, by each draw: `[draw, row, output]`.
    fn draws<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        of_mean: bool,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let x = x.as_array().to_owned();
        let found = on_threads(py, threads, || draws(&self.0, x.view(), of_mean))?;
        Ok(found.map_err(raised)?.into_pyarray(py))
    }

    /// Conformal regions of new rows, calibrated on rows with a response, or by the training rows: the lower and the
    /// upper ends of intervals; of classes whether the set of a row holds a class, 1 or 0, `[row, class]`.
    fn conformal<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        calibration: Option<Rows<'_>>,
        level: f64,
        threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let x = x.as_array().to_owned();
        let rows = calibration.map(|rows| self.rows(rows)).transpose().map_err(raised)?;
        arrays(py, threads, |stop| conformal(&self.0, x.view(), rows.as_ref(), level, stop))
    }

    /// The name and value of each score of rows with a response.
    fn scores(
        &self,
        py: Python<'_>,
        rows: Rows<'_>,
        weights: Option<Vec<f64>>,
        threads: usize,
    ) -> PyResult<Vec<(String, f64)>> {
        let data = weighted(self.rows(rows), weights).map_err(raised)?;
        let scores = on_threads(py, threads, || self.0.scores(&data))?.map_err(raised)?;
        Ok(scores.scores.into_iter().map(|score| (score.name, score.posterior)).collect())
    }

    /// The predictive medians of times, one column; then, if a level is given, the lower and the upper ends of
    /// intervals of the median.
    fn medians<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        level: Option<f64>,
        threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let x = x.as_array().to_owned();
        let arrays = on_threads(py, threads, || medians(&self.0, x.view(), level))?;
        let arrays = arrays.map_err(raised)?;
        Ok(arrays.into_iter().map(|array| array.into_pyarray(py)).collect())
    }

    /// The predictive probabilities to exceed `times`, `[row, time]`; then, if a level is given, the lower and the
    /// upper ends of their intervals.
    fn survival<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        times: Vec<f64>,
        level: Option<f64>,
        threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let x = x.as_array().to_owned();
        let arrays = on_threads(py, threads, || survival(&self.0, x.view(), &times, level))?;
        let arrays = arrays.map_err(raised)?;
        Ok(arrays.into_iter().map(|array| array.into_pyarray(py)).collect())
    }

    /// The verdict's sentence, whether the run has converged, whether predictions have settled, and all else it says, as JSON.
    fn verdict(&self, py: Python<'_>, threads: usize) -> PyResult<(String, bool, bool, String)> {
        let found = || {
            let verdict = self.0.verdict()?;
            let is_told = verdict.is_settled();
            Ok((verdict, is_told.then(|| self.0.sensitivity().ok()).flatten()))
        };
        let (verdict, prior) = on_threads(py, threads, found)?.map_err(raised)?;
        let json = serde_json::to_value(&verdict);
        let mut json = json.map_err(|e| PyValueError::new_err(format!("verdict: {e}")))?;
        json["prior"] = prior.map(|prior| prior.in_words()).into();
        let (converged, settled) = (verdict.is_converged(), verdict.is_settled());
        Ok((verdict.in_words(&Parameters), converged, settled, json.to_string()))
    }

    /// The effects of the columns of the table.
    fn explain(&self, py: Python<'_>, threads: usize) -> PyResult<Explainer> {
        on_threads(py, threads, || self.0.explain())?.map(Explainer).map_err(raised)
    }

    /// The relevance of each column by each draw; empty where it is not sampled.
    fn relevance(&self) -> PyResult<Vec<(String, Vec<f64>)>> {
        let all = self.0.of_one_table().map_err(raised)?.relevance();
        Ok(all.into_iter().map(|of| (of.column, of.scales)).collect())
    }

    /// The page of the report.
    fn report(&self, py: Python<'_>, threads: usize) -> PyResult<String> {
        let page = || report_in_words(&self.0, &Parameters);
        on_threads(py, threads, page)?.map_err(raised)
    }

    /// Leave-one-out of the training rows.
    fn loo(&self, py: Python<'_>, threads: usize) -> PyResult<Loo> {
        let loo = on_threads(py, threads, || self.0.loo())?;
        loo.map(Loo).map_err(raised)
    }

    /// The names of predictions or of parameters, and their diagnostics, a column for each: mean, standard deviation, Monte Carlo error
    /// of the mean, quantiles of 5, 50 and 95 %, bulk and tail effective sample sizes, R-hat.
    fn summary<'py>(
        &self,
        py: Python<'py>,
        of_parameters: bool,
        threads: usize,
    ) -> PyResult<(Vec<String>, Bound<'py, PyArray2<f64>>)> {
        let found = || {
            let fit = self.0.of_one_table()?;
            match of_parameters {
                true => fit.draws().summary(),
                false => {
                    let (judged, rows) = (fit.judged()?, fit.judged_rows());
                    let judged = match fit.response_scaler() {
                        Some(scaler) => judged.unscaled(scaler)?,
                        None => judged,
                    };
                    judged.summary_named(|row, column| format!("row {}, {column}", rows[row]))
                }
            }
        };
        let summary = on_threads(py, threads, found)?.map_err(raised)?;
        let of = |row: &SummaryRow| {
            let SummaryRow { mean, sd, mcse_mean, q05, q50, q95, ess_bulk, ess_tail, rhat, .. } =
                *row;
            [mean, sd, mcse_mean, q05, q50, q95, ess_bulk, ess_tail, rhat]
        };
        let numbers: Vec<[f64; 9]> = summary.rows.iter().map(of).collect();
        let names = summary.rows.into_iter().map(|row| row.name).collect();
        Ok((names, Array2::from(numbers).into_pyarray(py)))
    }

    /// Figures of rows with a response beside their predictions.
    fn figures_of_predictions(
        &self,
        py: Python<'_>,
        rows: Rows<'_>,
        threads: usize,
    ) -> PyResult<Vec<Drawn>> {
        let rows = self.rows(rows).map_err(raised)?;
        let found = || {
            figures::predictions(&self.0, &rows)?.iter().map(drawn).collect::<Result<Vec<_>, _>>()
        };
        on_threads(py, threads, found)?.map_err(raised)
    }

    /// The figure of calibration, of rows with a response or of the training rows, each left out.
    fn figure_of_calibration(
        &self,
        py: Python<'_>,
        rows: Option<Rows<'_>>,
        threads: usize,
    ) -> PyResult<Drawn> {
        let rows = rows.map(|rows| self.rows(rows)).transpose().map_err(raised)?;
        let found = || drawn(&figures::calibration(&self.0, rows.as_ref())?);
        on_threads(py, threads, found)?.map_err(raised)
    }

    /// A figure of the chains: `trace`, `ranks`, `ess` or `rhat`.
    fn figure_of_chains(&self, py: Python<'_>, kind: &str, threads: usize) -> PyResult<Drawn> {
        let found = || drawn(&figures::of_chains(&self.0, kind)?);
        on_threads(py, threads, found)?.map_err(raised)
    }

    /// Figures of predictive checks, one for each column of the response.
    fn figures_of_checks(&self, py: Python<'_>, threads: usize) -> PyResult<Vec<Drawn>> {
        let found = || figures::checks(&self.0)?.iter().map(drawn).collect::<Result<Vec<_>, _>>();
        on_threads(py, threads, found)?.map_err(raised)
    }

    /// The fit of these rows and its own, and what is to be said of the update, whether the new rows are unlike the others, and
    /// the numbers of it as JSON.
    fn update(
        &self,
        py: Python<'_>,
        rows: Rows<'_>,
        weights: Option<Vec<f64>>,
        threads: usize,
    ) -> PyResult<(Self, String, bool, String)> {
        let rows = self.rows(rows).map_err(raised)?;
        // Rows without a weight count once.
        let once = self.0.data().weights().map(|_| vec![1.0; rows.rows()]);
        let rows = weighted(Ok(rows), weights.or(once)).map_err(raised)?;
        let updated = on_threads(py, threads, || self.0.update(&rows))?;
        let updated = updated.map_err(raised)?;
        let (words, has_drifted) = (updated.to_string(), updated.has_drifted());
        let numbers = serde_json::json!({
            "rows": rows.rows(),
            "k": updated.pareto_k,
            "drift": updated.drift,
            "gradients": updated.gradient_evals,
        });
        Ok((Self(updated.fit), words, has_drifted, numbers.to_string()))
    }

    /// The facts about the run, as JSON.
    fn run(&self) -> String {
        let fit = &self.0;
        let draws = fit.draws();
        let info = draws.info();
        let mut run = serde_json::json!({
            "algorithm": info.algorithm,
            "network": fit.network().sizes(),
            "parameters": info.parameters,
            "chains": draws.n_chains(),
            "warmup": info.warmup,
            "draws": draws.n_draws(),
            "seed": info.seed,
            "accept_rate": draws.accept_rate(),
            "divergences": draws.divergences(),
            "gradients": draws.gradient_evals(),
            "warmup_seconds": info.warmup_seconds,
            "sampling_seconds": info.sampling_seconds,
        });
        if self.is_imputed()
            && let Ok(gaps) = fit.missing_information()
        {
            run["tables"] = fit.tables().len().into();
            // On average over training rows.
            run["missing_information"] = gaps.into();
        }
        run.to_string()
    }

    /// The columns of the training table.
    fn columns(&self) -> Columns {
        let numbers = || Schema::of_numbers(self.0.data().feature_names());
        Columns(self.0.schema().cloned().unwrap_or_else(numbers))
    }

    /// The recipe, how files are read like its table (`null` if there is none), and the names of the
    /// response and of the classes, as JSON.
    fn description(&self) -> String {
        let data = self.0.data();
        serde_json::json!({
            "recipe": self.0.recipe(),
            "schema": self.0.schema(),
            "features": data.feature_names(),
            "response": data.response_names(),
            "classes": data.response().class_names(),
        })
        .to_string()
    }

    /// The settings of the fit in words, except for reading files: there was none.
    fn recipe(&self) -> String {
        let lines = self.0.recipe().in_words().into_iter().filter(|line| line.name != "file");
        lines.map(|line| line.to_string()).collect::<Vec<_>>().join("\n")
    }

    /// The search that has chosen the model, if one has: as JSON, and in words, a table before its sentences.
    fn search(&self) -> PyResult<Option<(String, String)>> {
        let Some(search) = self.0.search() else { return Ok(None) };
        let json = serde_json::to_string(search);
        let json = json.map_err(|e| PyValueError::new_err(format!("search: {e}")))?;
        let lines: Vec<String> = iter::once(search.to_string()).chain(search.in_words()).collect();
        Ok(Some((json, lines.join("\n"))))
    }

    /// The reason why the fit could not be saved in its folder, if so.
    fn save_error(&self) -> Option<String> {
        self.0.save_error().map(|error| error.in_words(&Parameters))
    }

    /// Itself: it never changes.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}

impl Fit {
    /// Rows with a response like the fit's.
    fn rows(&self, rows: Rows<'_>) -> Result<Dataset, Error> {
        let own = self.0.data();
        let class_names = own.response().class_names().unwrap_or_default();
        let data = rows.data(Task::of(own.response()), class_names)?;
        data.with_feature_names(own.feature_names())?.with_response_names(own.response_names())
    }
}

/// Arrays that are computed without Python's lock, and that a signal ends.
fn arrays<'py>(
    py: Python<'py>,
    threads: usize,
    found: impl FnOnce(&StopHandle) -> Result<Vec<Array2<f64>>, Error> + Send,
) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
    let stop = StopHandle::new();
    let (found, signal) = interruptible(py, threads, &stop, || found(&stop))?;
    let arrays = signal.map_or(Ok(found), Err)?.map_err(raised)?;
    Ok(arrays.into_iter().map(|array| array.into_pyarray(py)).collect())
}

/// The data with weights of their rows, if there are any.
fn weighted(data: Result<Dataset, Error>, weights: Option<Vec<f64>>) -> Result<Dataset, Error> {
    match weights {
        Some(weights) => data?.with_weights(weights),
        None => data,
    }
}

/// Rows with a response, in the forms that estimators have them.
#[derive(FromPyObject)]
enum Rows<'py> {
    Times(PyReadonlyArray2<'py, f64>, Vec<f64>, Vec<f64>),
    Numbers(PyReadonlyArray2<'py, f64>, PyReadonlyArray2<'py, f64>),
    Classes(PyReadonlyArray2<'py, f64>, Vec<usize>),
}

impl Rows<'_> {
    fn data(self, task: Task, class_names: &[String]) -> Result<Dataset, Error> {
        let own = |x: PyReadonlyArray2<'_, f64>| x.as_array().to_owned();
        match self {
            Self::Times(x, lower, upper) => Dataset::censored(own(x), lower.into(), upper.into()),
            Self::Numbers(x, y) if task.has_counts() => Dataset::counts(own(x), own(y)),
            Self::Numbers(x, y) => Dataset::regression(own(x), own(y)),
            Self::Classes(x, classes) => Dataset::classification(own(x), classes, class_names),
        }
    }
}

/// The name of the column beside a time, and whether it says that the event happened.
type Companion = (String, bool);

fn run(
    py: Python<'_>,
    data: Result<Dataset, Error>,
    (columns, companion): (&Columns, Option<Companion>),
    settings: &Settings,
) -> PyResult<Fit> {
    let stop = StopHandle::new();
    let (recipe, data, schema) = data
        .and_then(|data| {
            let task = Task::of(data.response());
            let reader = CsvReader::of(task, data.response_names().to_vec());
            let classes = data.response().class_names().map(<[String]>::to_vec);
            let reader = match companion {
                Some((name, true)) => reader.event(name),
                Some((name, false)) => reader.until(name),
                None => reader,
            };
            let schema = columns.0.clone().with_response(reader, classes)?;
            let recipe = settings.recipe(task, data.response_names())?;
            Ok((recipe, data.with_feature_names(schema.feature_names())?, schema))
        })
        .map_err(raised)?;
    let mut recipe = recipe.stop_handle(&stop);
    let told = Arc::new(Events::default());
    if settings.progress.is_some() {
        recipe = recipe.on_progress({
            let told = told.clone();
            move |event| told.hear(event)
        });
    }
    let meanwhile = |py: Python<'_>| match &settings.progress {
        Some(callback) => told.tell(py, callback),
        None => Ok(()),
    };
    let (fit, signal) = interruptible_with(py, settings.threads, &stop, meanwhile, || {
        recipe.fit_like(&data, &schema)
    })?;
    match (signal, fit) {
        (None, fit) => fit.map(Fit).map_err(raised),
        // An exception of a user's handler may have no place for what is said of the run.
        (Some(signal), Err(error)) => {
            // Else the signal came while something was refused, such as a folder.
            if error.is_stopped() {
                let _ = signal.value(py).setattr("stopped", error.to_string());
            }
            Err(signal)
        }
        (Some(signal), Ok(fit)) => {
            let _ = signal.value(py).setattr("draws_made", fit.draws().n_draws());
            Err(signal)
        }
    }
}

//! Predictions: what the draws say about given inputs, and how good it is.
//!
//! A prediction is an average over posterior draws. For draw s and input x, f(x; q_s) gives an
//! expected response E[y | x, q_s] and, where a response y was observed, a density p(y | x, q_s);
//! a posterior predictive draw y_s is drawn from that density:
//!
//! ```text
//! posterior mean prediction    E[y | x] = mean_s E[y | x, q_s]
//! log predictive density       log mean_s p(y | x, q_s)
//! posterior predictive draws   y_s ~ p(y | x, q_s)
//! ```
//!
//! The spread of E[y | x, q_s] over draws is what is not known about the mean function. The spread of
//! y_s, which is wider, is what a new observation is expected to show.
//!
//! | question | answer | response |
//! | --- | --- | --- |
//! | all usual scores in a table | [`scores`](Predictions::scores) | any |
//! | where will y, or its mean, lie? | [`predictive_interval`](Predictions::predictive_interval), [`mean_interval`](Predictions::mean_interval) | real, counts |
//! | are the intervals right, and how wide? | [`coverage`](Predictions::coverage) | real, counts |
//! | is the whole distribution right? | [`crps`](Predictions::crps), [`pit`](Predictions::pit) | real, counts |
//! | better than a reference, such as [`persistence`]? | [`skill`](Predictions::skill) | real |
//! | do the chains agree, and if not, what did each find? | [`verdict`](Predictions::verdict), [`summary`](Predictions::summary), [`chain`](Predictions::chain) | any |
//! | which classes are confused? | [`confusion`](Predictions::confusion) | classes |
//! | are the probabilities right? | [`brier`](Predictions::brier), [`reliability`](Predictions::reliability) | classes |
//! | how uncertain are they, and why? | [`uncertainty`](Predictions::uncertainty), [`along_chains`](Predictions::along_chains) | classes |
//! | the same, and mean and sd, of draws too large to keep? | [`StreamedUncertainty`], [`StreamedMoments`] | classes, real |
//! | are these inputs unlike the training data? | [`separation`](Predictions::separation) | classes |
//! | how well are rows predicted that the model did not see, without refits? | [`Posterior::loo`](crate::targets::Posterior::loo) | any |
//! | which of several models predicts better? | [`Loo::compare`] | any |
//! | is the whole distribution right for rows left out? | [`Posterior::loo_pit`](crate::targets::Posterior::loo_pit) | real, counts |
//! | what does the model expect before it sees the data? | [`Posterior::prior_predictive`](crate::targets::Posterior::prior_predictive) | any |
//!
//! ```
//! use bnn_mcmc::prelude::*;
//! use ndarray::{Array2, array};
//!
//! // y = 2 x + N(0, 0.5^2), and 1,000 draws that know it.
//! let mut rng = ChainRng::new(1, 0);
//! let x = Array2::from_shape_fn((500, 1), |_| rng.normal());
//! let y = x.mapv(|x| 2.0 * x + 0.5 * rng.normal());
//! let data = Dataset::regression(x, y)?;
//! let priors = Priors::all(Normal::new(0.0, 5.0)?);
//! let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
//! let q = array![2.0, 0.0].broadcast((1, 1_000, 2)).unwrap().to_owned();
//! let draws = Draws::new(posterior.layout().clone(), q)?;
//!
//! let predictions = posterior.predict(&draws, &data)?;
//! println!("{}", predictions.scores()?);
//! let covered = predictions.coverage(0.95)?;
//! assert!((covered.share - 0.95).abs() < 0.03);
//! assert!((covered.mean_width - 2.0 * 1.96 * 0.5).abs() < 0.05);
//! assert!(predictions.pit(1)?.ks_distance() < 1.6 / 500f64.sqrt());
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! Draws of functions can be compared between chains where weights cannot (hidden units may be
//! permuted): the [verdict](crate::diagnostics::Verdict) on a run is passed on them.

mod calibration;
mod cells;
mod classification;
mod held_out;
mod loo;
mod per_draw;
mod prior;
mod regression;
mod scores;
mod streamed;
mod uncertainty;

pub use calibration::{Bins, Pit, Reliability, ReliabilityBin};
pub use classification::ConfusionMatrix;
pub use held_out::HeldOut;
pub use loo::{ComparedModel, Loo, LooComparison, LooRow};
pub use regression::{Coverage, Interval, crps, persistence};
pub use scores::{Score, Scores};
pub use streamed::{PredictiveMoments, StreamedMoments, StreamedUncertainty};
pub use uncertainty::{
    ChainProbabilities, Measure, MeasureSummary, RunningUncertainty, Separation, THRESHOLDS,
    Uncertainty, auroc,
};

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use ndarray::{Array2, Array3, Array4, ArrayView1, ArrayView3, ArrayView4, Axis, s};

use self::cells::map_cells;
use crate::Error;
use crate::data::Response;
use crate::diagnostics::{Judge, Summary, Verdict, quantile};

/// Predictions for the rows of a data set whose response is known. From
/// [`Posterior::predict`](crate::targets::Posterior::predict).
#[derive(Clone, Debug)]
pub struct Predictions {
    /// E[y | x, q], `[chain, draw, row, column]`.
    mean: Array4<f64>,
    /// log p(y | x, q), `[chain, draw, row]`.
    log_density: Array3<f64>,
    /// y ~ p(y | x, q), `[chain, draw, row, column of the response]`.
    drawn: Array4<f64>,
    observed: Response,
    trace: Trace,
}

/// What is known of the draws themselves.
#[derive(Clone, Debug)]
struct Trace {
    /// `[chain, draw]`.
    log_likelihood: Array2<f64>,
    /// `[chain, draw]`.
    log_prior: Array2<f64>,
    /// Of each chain.
    divergences: Vec<u64>,
    /// Of each chain.
    transitions: u64,
    /// Of each chain, or empty.
    at_max_depth: Vec<f64>,
    /// Of each chain, or empty.
    ebfmi: Vec<f64>,
    /// Of each chain, or empty, for samplers without a test.
    unadjusted: Option<Vec<f64>>,
    /// What was sampled in the place of the posterior.
    approximation: Option<String>,
    /// The panic that ended the run.
    panic: Option<String>,
}

impl Predictions {
    /// What each draw expects of each row: E\[y | x, q\], `[chain, draw, row, column]`.
    pub fn mean(&self) -> ArrayView4<'_, f64> {
        self.mean.view()
    }

    /// The log density of the observed response of each row by each draw: log p(y | x, q),
    /// `[chain, draw, row]`.
    pub fn log_density(&self) -> ArrayView3<'_, f64> {
        self.log_density.view()
    }

    /// Posterior predictive draws, one response y ~ p(y | x, q) for each draw of q and each row:
    /// `[chain, draw, row, column]`, on the scale of the observed response and with its columns.
    /// Of classes there is one column, the position of the class among the names.
    pub fn predictive_draws(&self) -> ArrayView4<'_, f64> {
        self.drawn.view()
    }

    /// The posterior mean prediction E\[y | x\], the mean of [`mean`](Self::mean) over all draws of
    /// all chains: `[row, column]`.
    ///
    /// # Errors
    /// If there are no draws.
    pub fn posterior_mean(&self) -> Result<Array2<f64>, Error> {
        let average = self.draws_of_mean()?.mean_axis(Axis(0));
        Ok(average.expect("there is at least one draw"))
    }

    /// The predictions of one chain alone, to see what chains that disagree have found.
    ///
    /// # Errors
    /// If there is no such chain.
    pub fn chain(&self, chain: usize) -> Result<Self, Error> {
        let chains = self.mean.len_of(Axis(0));
        if chain >= chains {
            return Err(Error::argument("chain", chain, format!("less than {chains}")));
        }
        let trace = &self.trace;
        let of_chain = |all: &[f64]| all.get(chain).copied().into_iter().collect();
        Ok(Self {
            mean: self.mean.slice(s![chain..=chain, .., .., ..]).to_owned(),
            log_density: self.log_density.slice(s![chain..=chain, .., ..]).to_owned(),
            drawn: self.drawn.slice(s![chain..=chain, .., .., ..]).to_owned(),
            observed: self.observed.clone(),
            trace: Trace {
                log_likelihood: trace.log_likelihood.slice(s![chain..=chain, ..]).to_owned(),
                log_prior: trace.log_prior.slice(s![chain..=chain, ..]).to_owned(),
                divergences: vec![trace.divergences[chain]],
                transitions: trace.transitions,
                at_max_depth: of_chain(&trace.at_max_depth),
                ebfmi: of_chain(&trace.ebfmi),
                unadjusted: trace.unadjusted.as_deref().map(of_chain),
                approximation: trace.approximation.clone(),
                panic: trace.panic.clone(),
            },
        })
    }

    /// The observed response.
    pub fn observed(&self) -> &Response {
        &self.observed
    }

    /// [`mean`](Self::mean) as quantities to diagnose, `[chain, draw, row * column]`.
    pub fn quantities(&self) -> ArrayView3<'_, f64> {
        as_quantities(self.mean())
    }

    /// The [verdict](Verdict) on the run that these predictions were made from: on the predictions,
    /// on the log likelihood and the log prior of the draws, and on divergences and trajectories. This
    /// is the verdict that counts for networks.
    pub fn verdict(&self) -> Result<Verdict, Error> {
        let chains = self.trace.divergences.len() as u64;
        Judge::new()
            .quantities("predictions", self.quantities())
            .quantity("log likelihood", self.trace.log_likelihood.view())
            .quantity("log prior", self.trace.log_prior.view())
            .divergences(
                self.trace.divergences.iter().sum(),
                self.trace.transitions.saturating_mul(chains),
            )
            .trajectories(self.trace.at_max_depth.clone(), self.trace.ebfmi.clone())
            .unadjusted(self.trace.unadjusted.clone())
            .approximation(self.trace.approximation.clone())
            .panic(self.trace.panic.clone())
            .judge()
    }

    /// Mean, quantiles and diagnostics of every prediction: one row for each row and column, named
    /// `row 3, virginica` (rows count from 0).
    pub fn summary(&self) -> Result<Summary, Error> {
        let (rows, columns) = (self.mean.dim().2, self.column_names());
        Summary::new(&cell_names(rows, &columns), self.quantities())
    }

    /// Mean, quantiles and diagnostics of the [posterior predictive draws](Self::predictive_draws), as
    /// [`summary`](Self::summary) has them of the means.
    ///
    /// Noise hides disagreement: where chains differ by less than the noise, R-hat is near 1 here,
    /// and the chains disagree about the mean function all the same. Read it beside the R-hat of
    /// [`summary`](Self::summary), which is what the [`verdict`](Self::verdict) looks at.
    ///
    /// # Errors
    /// If the response is classes, whose draws are names rather than quantities.
    pub fn predictive_summary(&self) -> Result<Summary, Error> {
        self.numbers()?;
        let (_, _, rows, columns) = self.drawn.dim();
        let columns: Vec<String> = (0..columns).map(|j| j.to_string()).collect();
        Summary::new(&cell_names(rows, &columns), as_quantities(self.predictive_draws()))
    }

    /// All scores that apply to the response, see [`Scores`].
    ///
    /// # Errors
    /// If there are no draws.
    pub fn scores(&self) -> Result<Scores, Error> {
        scores::scores(self)
    }

    /// One line per row and column: `row, column, observed, mean, sd, q05, q50, q95` over draws.
    ///
    /// For classes, `column` is the class, and `observed` is 1 where it was the one observed.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        to_file(path.as_ref(), |file| self.write_csv(file))
    }

    /// As [`to_csv`](Self::to_csv), to any writer.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(["row", "column", "observed", "mean", "sd", "q05", "q50", "q95"])?;
        let names = self.column_names();
        let observed = self.observed_columns();
        let summaries = map_cells(self.mean(), |_, sorted| {
            let values = ArrayView1::from(sorted);
            let sd = if sorted.len() > 1 { values.std(1.0) } else { f64::NAN };
            let [low, median, high] = [0.05, 0.5, 0.95].map(|p| quantile(sorted, p));
            [values.mean().unwrap_or(f64::NAN), sd, low, median, high]
        });
        for ((at, observed), summary) in observed.indexed_iter().zip(summaries) {
            let mut record = vec![at.0.to_string(), names[at.1].clone(), observed.to_string()];
            record.extend(summary.iter().map(f64::to_string));
            csv.write_record(&record)?;
        }
        csv.flush()
    }

    fn column_names(&self) -> Vec<String> {
        let columns = self.mean.dim().3;
        match &self.observed {
            Response::Classes { names, .. } if columns == 1 => vec![names[1].clone()],
            Response::Classes { names, .. } => names.clone(),
            _ => (0..columns).map(|j| j.to_string()).collect(),
        }
    }

    /// What was observed, on the scale of the means.
    fn observed_columns(&self) -> Array2<f64> {
        let (_, _, rows, columns) = self.mean.dim();
        let indicator = |hit: bool| f64::from(u8::from(hit));
        Array2::from_shape_fn((rows, columns), |(i, j)| match &self.observed {
            Response::Real(y) => y[(i, j)],
            Response::Classes { index, .. } if columns == 1 => index[i] as f64,
            Response::Classes { index, .. } => indicator(index[i] == j),
            Response::Counts(counts) => counts[(i, j)] / counts.row(i).sum(),
        })
    }

    /// The means of all draws, `[draw, row, column]`; an error if there are no draws.
    fn draws_of_mean(&self) -> Result<ArrayView3<'_, f64>, Error> {
        let (chains, draws, rows, columns) = self.mean.dim();
        let n = chains * draws;
        if n == 0 || rows == 0 {
            let found = format!("{n} draws of {rows} rows");
            return Err(Error::shape("predictions to score", found, "at least 1 of 1"));
        }
        let flat = self.mean.view().into_shape_with_order((n, rows, columns));
        Ok(flat.expect("predictions are stored in standard order"))
    }

    /// The observed response if it is real or counts.
    fn numbers(&self) -> Result<&Array2<f64>, Error> {
        match &self.observed {
            Response::Real(y) | Response::Counts(y) => Ok(y),
            Response::Classes { .. } => Err(self.wrong_kind("real numbers or counts")),
        }
    }

    /// The observed classes if the response is classes.
    fn classes(&self) -> Result<&[usize], Error> {
        self.observed.classes().ok_or_else(|| self.wrong_kind("classes"))
    }

    fn wrong_kind(&self, wanted: &str) -> Error {
        let kind = match &self.observed {
            Response::Real(_) => "real numbers",
            Response::Classes { .. } => "classes",
            Response::Counts(_) => "counts",
        };
        Error::argument("response of the predictions", kind, wanted)
    }
}

/// `[chain, draw, row, column]` as `[chain, draw, row * column]`.
fn as_quantities(values: ArrayView4<f64>) -> ArrayView3<f64> {
    let (chains, draws, rows, columns) = values.dim();
    values
        .into_shape_with_order((chains, draws, rows * columns))
        .expect("predictions are stored in standard order")
}

/// `row 3, virginica` for each row and column.
fn cell_names(rows: usize, columns: &[String]) -> Vec<String> {
    let name = |row: usize| columns.iter().map(move |column| format!("row {row}, {column}"));
    (0..rows).flat_map(name).collect()
}

/// Writes to a new file; errors name it.
fn to_file(
    path: &Path,
    write: impl FnOnce(BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), Error> {
    let file = File::create(path).map_err(|e| Error::io(path, e))?;
    write(BufWriter::new(file)).map_err(|e| Error::io(path, e))
}

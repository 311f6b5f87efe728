//! Leave-one-out cross-validation without refits, by Pareto-smoothed importance sampling.

mod comparison;
mod pit;
pub(super) mod smoothing;

pub use comparison::{ComparedModel, LooComparison};

use std::fmt;

use ndarray::ArrayView3;
use serde::{Deserialize, Serialize};

use self::smoothing::{Scratch, Smoothing};
use super::scores::nan_as_null;
use crate::Error;
use crate::data::{Dataset, Scaler};
use crate::draws::{Approximation, Draws};
use crate::engine::LANES;
use crate::likelihood::Likelihood;
use crate::memory;
use crate::message::{Advice, count};
use crate::model::Model;
use crate::posterior::Posterior;
use crate::targets::Target;
use crate::threads;

/// Numbers of draws times rows that are held at a time: 32 MiB.
const AT_A_TIME: usize = 1 << 22;

/// The leave-one-out predictive accuracy of a model for each row of its training data: PSIS-LOO,
/// computed from the draws of one run, without refits. It comes from [`Posterior::loo`] or
/// [`from_log_likelihood`](Self::from_log_likelihood); it is printed as a short table.
///
/// The expected log predictive density for new data (elpd, in nats, larger is better) is estimated by
/// the sum over the n rows of
///
/// ```text
/// elpd_i = log p(y_i | y_-i) = log (sum_s w_s p(y_i | q_s) / sum_s w_s),     w_s close to r_s = 1 / p(y_i | q_s)
/// ```
///
/// over all S draws q_s of the posterior. The ratios r_s turn draws given all rows into draws given
/// all but row i. Few of them may outweigh all others, so that the M largest ratios are smoothed: a
/// generalised Pareto distribution with shape k is fitted to how far they exceed the largest one
/// below them, and the j-th smallest of the M is replaced by its quantile at (j - 1/2) / M, at most
/// the largest r_s (Vehtari, Simpson, Gelman, Yao and Gabry, JMLR 25(72), 2024,
/// <https://jmlr.org/papers/v25/19-556.html>).
///
/// ```text
/// M      = floor(3 sqrt(S / r_eff)), or floor(S / 5) where S r_eff <= 225
/// elpd   = sum_i elpd_i,            se = sqrt(n sum_i (elpd_i - elpd / n)^2 / (n - 1))
/// p_loo  = sum_i log mean_s p(y_i | q_s) - elpd_i
/// ```
///
/// r_eff is the relative efficiency of the draws for the mean of p(y_i | q_s): its [effective sample
/// size](crate::diagnostics::ess_mean) divided by S, computed for each row, or a given number. p_loo
/// is the effective number of parameters; far above the number of parameters it says that the model
/// does not fit the data.
///
/// **k says whether to trust it.** The ratios of a row have finite moments below 1/k only. Above
/// min(1 - 1 / log10 S, 0.7), the [`threshold`](Self::threshold), elpd_i is unreliable and mostly
/// too large: a row that the posterior would change much without. [`unreliable`](Self::unreliable)
/// has the numbers of these rows.
///
/// **Weights of rows** ([`Dataset::with_weights`]). A row of weight w_i stands for w_i rows, one of which is
/// left out, or the whole row if w_i is below 1:
///
/// ```text
/// r_s   = p(y_i | q_s)^-min(w_i, 1),      n = sum_i w_i
/// elpd  = sum_i w_i elpd_i,               se = sqrt(n sum_i w_i (elpd_i - elpd / n)^2 / (n - 1))
/// ```
///
/// and p_loo is a sum of the same kind. Of rows that were counted this is the LOO of the table with each row
/// written out. Where a weight above 1 is not a count of cases that are independent, the left-out case is still
/// known from its copies, and elpd is too large.
///
/// For models of independent rows. For a time series the other rows hold the future, and the blocks
/// or the end of the series should be left out instead. elpd changes with the unit of a real
/// response: compare models of the same response in the same unit, by [`compare`](Self::compare);
/// [`unscaled`](Self::unscaled) brings it into the units from before scaling.
///
/// Differences from ArviZ 1.3 (earlier versions round the tail length up and divide by n in the
/// standard error): its default for r_eff is computed from the network's parameters, which is
/// meaningless for networks, whose hidden units can be permuted; `r_eff` given to both, elpd, se,
/// p_loo and k agree to 1e-10.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::Array2;
///
/// // y = x^2 + N(0, 0.5^2), by a line and by a parabola.
/// let mut rng = ChainRng::new(1, 0);
/// let x = Array2::from_shape_simple_fn((60, 1), || rng.normal());
/// let y = x.mapv(|x| x * x + 0.5 * rng.normal());
/// let features = ndarray::concatenate![ndarray::Axis(1), x, x.mapv(|x| x * x)];
/// let fit = |x: Array2<f64>| -> Result<Loo, Error> {
///     let data = Dataset::regression(x, y.clone())?;
///     let priors = Priors::all(Normal::new(0.0, 2.0)?)
///         .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
///     let model = Linear::new(data.n_features(), 1)?;
///     let posterior = Posterior::new(model, Gaussian::sampled(), &data, priors)?;
///     posterior.loo(&Sampler::new(&posterior, Nuts::default()).seed(1).run()?)
/// };
/// let (line, parabola) = (fit(x.clone())?, fit(features)?);
/// println!("{parabola}");
/// assert!(parabola.unreliable().is_empty());
/// assert!(parabola.p_loo > 2.0 && parabola.p_loo < 6.0); // 4 parameters
///
/// let comparison = Loo::compare(&[("line", &line), ("parabola", &parabola)])?;
/// println!("{comparison}");
/// assert_eq!(comparison.models[0].name, "parabola");
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loo {
    /// The expected log predictive density of n new rows, in nats: the sum over rows.
    pub elpd: f64,
    /// The standard error of [`elpd`](Self::elpd), as a sum over n rows that could have been others.
    #[serde(with = "nan_as_null")]
    pub se: f64,
    /// The effective number of parameters.
    pub p_loo: f64,
    /// The contribution of each row.
    pub rows: Vec<LooRow>,
    /// The [weights](Dataset::with_weights) of the rows; empty if they have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
    /// The number of draws of all chains, S.
    pub draws: usize,
    /// Whether the draws are of a [surrogate](crate::surrogate), whose LOO this then is.
    pub of_surrogate: bool,
    /// A checksum of the response, if it is known.
    response: Option<u32>,
    /// The names of rows in warnings; empty where rows are counted from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    row_names: Vec<String>,
}

/// One row of the data in [`Loo`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LooRow {
    /// log p(y_i | y_-i), in nats.
    pub elpd: f64,
    /// log p(y_i | y) - log p(y_i | y_-i): how much better the row is predicted where it is known.
    pub p_loo: f64,
    /// The shape k of the Pareto distribution that was fitted to the largest ratios.
    ///
    /// NaN where none can be fitted, and the weights are then the ratios themselves: the log
    /// likelihood of the row is the same at all draws to 1e-12 ([`p_loo`](Self::p_loo) is 0, and
    /// [`elpd`](Self::elpd) exact to 1e-12); or a quarter of the M largest ratios are equal, as
    /// where a chain stood still; or ratios differ by more than a factor of 1e300.
    #[serde(with = "nan_as_null")]
    pub k: f64,
    /// The relative efficiency r_eff of the draws for this row.
    #[serde(with = "nan_as_null")]
    pub relative_efficiency: f64,
}

/// The largest k of a row that is left out reliably, by so many draws.
pub(crate) fn largest_k(draws: usize) -> f64 {
    (1.0 - 1.0 / (draws as f64).log10()).min(0.7)
}

impl LooRow {
    /// Whether the row is left out reliably, with the [largest k](largest_k) that is.
    pub(crate) fn is_reliable(&self, threshold: f64) -> bool {
        self.k <= threshold || self.is_constant() //~ loo-good-k
    }

    /// Whether the log likelihood of the row is the same at all draws, to 1e-12.
    fn is_constant(&self) -> bool {
        self.k.is_nan() && self.p_loo == 0.0
    }
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// [PSIS-LOO](Loo) of the rows that this posterior was given, with the relative efficiency of
    /// the draws computed for each row.
    ///
    /// Rows are taken in blocks, each with all draws, so that memory does not grow with rows times
    /// draws: 32 MiB for a block (or 8 rows of all draws, if that is more), 32 bytes for each row,
    /// and 0.1 kB per draw for each thread. Results are the same bits for any number of threads.
    /// The draws must hold all parameters ([`Keep`](crate::draws::Keep)). For 100,000 rows and
    /// 4,000 draws of a linear model with ten features, of which a matrix would take 3.2 GB, the
    /// process held 48 MB at most.
    ///
    /// # Errors
    /// Fewer than 2 rows; fewer than 25 draws, or than 4 in a chain; draws of another posterior, or a
    /// [mixture](Draws::mixture) of chains; a log likelihood that
    /// is not finite, with its row, chain and draw; blocks that exceed the [limit](crate::memory) on
    /// memory.
    pub fn loo(&self, draws: &Draws) -> Result<Loo, Error> {
        self.loo_by(draws, None)
    }

    /// Computes [`loo`](Self::loo) with the given relative efficiency for all rows: 1 for
    /// independent draws.
    ///
    /// # Errors
    /// The errors of [`loo`](Self::loo); a relative efficiency that is not a finite number above 0.
    pub fn loo_with(&self, draws: &Draws, relative_efficiency: f64) -> Result<Loo, Error> {
        self.loo_by(draws, Some(relative_efficiency))
    }

    /// Checks that `draws` may be weighed by importance: draws of chains that sample this posterior, not of
    /// the network that this one linearises.
    pub(super) fn check_chains_of_own(&self, draws: &Draws) -> Result<(), Error> {
        self.check_draws(draws)?;
        let model = draws.info().target.as_ref().and_then(|info| info.model.clone());
        let found = match &draws.info().approximation {
            Some(Approximation::Mixture { .. }) => "a mixture of chains by weights",
            Some(Approximation::Fitted { method }) => method.as_str(),
            Some(Approximation::Ensemble { members }) => {
                let found = Approximation::ensemble(*members);
                let allowed =
                    "chains that sample the posterior: importance weights are for its draws";
                return Err(Error::argument("draws", found, allowed).advise([Advice::KeepRows]));
            }
            Some(Approximation::Surrogate(_)) | None => {
                match (&model, self.model().description()) {
                    (Some(found), Some(own)) if *found != own => found.as_str(),
                    _ => return Ok(()),
                }
            }
        };
        let allowed = "chains that sample this posterior: importance weights are for its draws";
        Err(Error::argument("draws", found, allowed))
    }

    fn loo_by(&self, draws: &Draws, relative_efficiency: Option<f64>) -> Result<Loo, Error> {
        self.check_chains_of_own(draws)?;
        let shape = (draws.n_chains(), draws.n_draws());
        let smoothing = Smoothing::new(shape, relative_efficiency)?;
        let (all, rows) = (shape.0 * shape.1, self.n_obs());
        let weights = self.weights().unwrap_or_default();
        check_rows(rows)?;
        let block = rows_at_a_time(all, self.model().tile_rows()).min(rows);
        let size = [(all, "draws"), (block, "rows at a time")];
        memory::check::<f64>("log likelihoods", &size, "take fewer draws")
            .map_err(|error| error.advise([Advice::in_rust(THIN)]))?;
        let mut room = vec![0.0; all * block];
        memory::check::<LooRow>("leave-one-out", &[(rows, "rows")], "take fewer rows")?;
        let (q, mut of_rows) = (draws.flat(), Vec::with_capacity(rows));
        for first in (0..rows).step_by(block) {
            let width = block.min(rows - first);
            let (x, y) = self.rows_in_tiles(first..first + width);
            let room = &mut room[..all * width];
            let mut parts: Vec<_> = room.chunks_exact_mut(width).collect();
            threads::each_with(&mut parts, &|| self.workspace(), &|ws, s, part| {
                let q = q.row(s).to_slice().unwrap_or(&[]);
                self.for_each_output(q, x.iter().zip(y.iter()), ws, |phi, out, y| {
                    let rows = part.split_off_mut(..out.rows()).expect("room for all rows");
                    self.likelihood().log_lik_rows(phi, out, y, rows);
                });
            });
            let log_lik = ArrayView3::from_shape((shape.0, shape.1, width), room)
                .expect("one number was written for each draw and row");
            let row = |scratch: &mut Scratch, row, log_lik: &[f64]| {
                let w = weights.get(first + row).copied().unwrap_or(1.0);
                scratch.row(&smoothing, w, log_lik)
            };
            of_rows.extend(smoothing.map_rows(log_lik, first, &row)?);
        }
        let of_surrogate = draws.info().approximation.is_some();
        let loo = Loo::of(of_rows, weights, all);
        Ok(Loo { of_surrogate, response: self.response_checksum(), ..loo })
    }
}

impl Loo {
    /// PSIS-LOO from log p(y_i | q_s), `[chain, draw, row]`, for targets of one's own or from
    /// [`Predictions::log_density`](super::Predictions::log_density) of the training rows. Without a
    /// relative efficiency, it is computed for each row; 1 is for independent draws.
    ///
    /// The normalising constants of p(y_i | q_s) count. For a `Posterior`, [`Posterior::loo`] takes
    /// less memory.
    ///
    /// # Errors
    /// The errors of [`Posterior::loo`] and [`Posterior::loo_with`].
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// // One mean with a flat prior, unit noise: given 20 rows it is N(mean of y, 1/20).
    /// let y: Vec<f64> = (0..20).map(|i| (i as f64).sin()).collect();
    /// let mean = y.iter().sum::<f64>() / 20.0;
    /// let mut rng = ChainRng::new(1, 0);
    /// let q = ndarray::Array2::from_shape_simple_fn((4, 1000), || mean + rng.normal() / 20f64.sqrt());
    /// let log_density = |y: f64, q: f64| -0.5 * ((y - q).powi(2) + std::f64::consts::TAU.ln());
    /// let log_lik = ndarray::Array3::from_shape_fn((4, 1000, 20), |(c, s, i)| log_density(y[i], q[(c, s)]));
    ///
    /// let loo = Loo::from_log_likelihood(log_lik.view(), None)?;
    /// // Without y_0, the mean of the others is N((20 mean - y_0) / 19, 1/19).
    /// let (m, v) = ((20.0 * mean - y[0]) / 19.0, 1.0 + 1.0 / 19.0);
    /// let exact = -0.5 * ((y[0] - m).powi(2) / v + (std::f64::consts::TAU * v).ln());
    /// assert!((loo.rows[0].elpd - exact).abs() < 0.01);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn from_log_likelihood(
        log_likelihood: ArrayView3<f64>,
        relative_efficiency: Option<f64>,
    ) -> Result<Self, Error> {
        let (chains, draws, rows) = log_likelihood.dim();
        check_rows(rows)?;
        let smoothing = Smoothing::new((chains, draws), relative_efficiency)?;
        memory::check::<LooRow>("leave-one-out", &[(rows, "rows")], "take fewer rows")?;
        let row = |scratch: &mut Scratch, _, log_lik: &[f64]| scratch.row(&smoothing, 1.0, log_lik);
        let rows = smoothing.map_rows(log_likelihood, 0, &row)?;
        Ok(Self::of(rows, Vec::new(), chains * draws))
    }

    pub(super) fn of(rows: Vec<LooRow>, weights: Vec<f64>, draws: usize) -> Self {
        let (elpd, se) = sum_and_error(&weights, rows.iter().map(|row| row.elpd));
        let (p_loo, _) = sum_and_error(&weights, rows.iter().map(|row| row.p_loo));
        Self {
            elpd,
            se,
            p_loo,
            rows,
            weights,
            draws,
            of_surrogate: false,
            response: None,
            row_names: Vec::new(),
        }
    }

    /// Converts the LOO to the units of the response before `scaler` scaled it; `train` are the
    /// training data with the unscaled response. With J columns in the response,
    ///
    /// ```text
    /// log p(y_i | y_-i) = log p(z_i | z_-i) - sum_j log scale_j,   y = shift + (z - low) scale
    /// ```
    ///
    /// and after a [transform](crate::data::Transform) g
    ///
    /// ```text
    /// log p(y_i | y_-i) = log p(z_i | z_-i) + sum_j (log g'(y_ij) - log scale_j)
    /// ```
    ///
    /// p_loo and k stay as they are; without a transform, standard errors do, too. Models of one
    /// response that were given it in different units, or after different transforms, can then be
    /// [compared](Self::compare).
    ///
    /// # Errors
    /// If the response is not real, or has other columns than the scaling; if, scaled, it is not the
    /// one that this LOO is of.
    pub fn unscaled(&self, scaler: &Scaler, train: &Dataset) -> Result<Self, Error> {
        let scaled = scaler.scale_response(train)?;
        let (found, expected) = (Some(scaled.response().checksum()), self.response);
        if self.rows.len() != train.rows() || expected.is_some_and(|_| found != expected) {
            let found = format!("another one, of {}", count(train.rows(), "row"));
            let expected = format!("the one of this LOO, of {}", count(self.rows.len(), "row"));
            return Err(Error::shape("response of the training data, scaled", found, expected));
        }
        let slopes = scaler.log_derivative(train.real()?.view())?;
        let own = |(row, slope): (&LooRow, &f64)| LooRow { elpd: row.elpd + slope, ..*row }; //~ unscaled-elpd
        Ok(Self {
            of_surrogate: self.of_surrogate,
            response: Some(train.response().checksum()),
            row_names: self.row_names.clone(),
            ..Self::of(
                self.rows.iter().zip(&slopes).map(own).collect(),
                self.weights.clone(),
                self.draws,
            )
        })
    }

    /// The number of rows that the rows stand for, n: the sum of their weights, or their number.
    pub fn total_weight(&self) -> f64 {
        match self.weights.is_empty() {
            true => self.rows.len() as f64,
            false => self.weights.iter().sum(),
        }
    }

    /// The largest k at which the estimate of a row is reliable with S draws: min(1 - 1 / log10 S,
    /// 0.7).
    pub fn threshold(&self) -> f64 {
        largest_k(self.draws)
    }

    /// The numbers of the rows, counted from 0, whose estimates are unreliable: k lies above the
    /// [`threshold`](Self::threshold), or cannot be estimated although the likelihood varies.
    pub fn unreliable(&self) -> Vec<usize> {
        let threshold = self.threshold();
        let rows = self.rows.iter().enumerate();
        rows.filter(|(_, row)| !row.is_reliable(threshold)).map(|(i, _)| i).collect()
    }

    /// With names for the rows, such as their lines in a file, which warnings call them by.
    pub(crate) fn with_row_names(self, row_names: Vec<String>) -> Self {
        Self { row_names, ..self }
    }

    fn row_name(&self, row: usize) -> String {
        self.row_names.get(row).cloned().unwrap_or_else(|| format!("row {row}"))
    }

    /// Reasons for distrust, in words; empty if there are none.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let unreliable = self.unreliable();
        if !unreliable.is_empty() {
            let shown = |i: &usize| match self.rows[*i].k {
                k if k.is_nan() => format!("{}: no k", self.row_name(*i)),
                k => format!("{}: k = {k:.2}", self.row_name(*i)),
            };
            let mut rows: Vec<String> = unreliable.iter().take(5).map(shown).collect();
            if unreliable.len() > rows.len() {
                rows.push("...".into());
            }
            warnings.push(format!(
                "{} of {} rows are unreliable ({}): the posterior without such a row differs too much from the \
                 one with it, and elpd is probably too large. Rows that the model cannot explain are the usual reason: \
                 look at them; or leave them out and fit again",
                unreliable.len(),
                self.rows.len(),
                rows.join(", "),
            ));
        }
        let counts = |i: usize| self.weights.get(i) != Some(&0.0);
        let rows = self.rows.iter().enumerate();
        let constant = rows.filter(|(i, row)| counts(*i) && row.is_constant()).count();
        if constant > 0 {
            warnings.push(format!(
                "{constant} of {} rows have no k, since their likelihood is the same at all draws; their elpd is exact",
                self.rows.len()
            ));
        }
        if self.of_surrogate {
            let what = "the draws are of a surrogate: this is its elpd, not the model's";
            warnings.push(what.to_string());
        }
        warnings
    }
}

impl fmt::Display for Loo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, threshold) = (self.rows.len(), self.threshold());
        let reliable = rows - self.unreliable().len();
        writeln!(f, "elpd_loo   {:.2} (standard error {:.2})", self.elpd, self.se)?;
        writeln!(f, "p_loo      {:.2}", self.p_loo)?;
        writeln!(f, "Pareto k   {reliable} of {rows} rows reliable (k <= {threshold:.2})")?;
        writeln!(f, "from       {} draws", self.draws)?;
        self.warnings().iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))
    }
}

/// Advice that takes less memory.
const THIN: &str = "thin the draws (`Draws::thinned`)";

/// The sum of `values` of rows, times their weights if there are any, and its standard error.
fn sum_and_error(
    weights: &[f64],
    values: impl ExactSizeIterator<Item = f64> + Clone,
) -> (f64, f64) {
    let w = |i: usize| weights.get(i).copied().unwrap_or(1.0);
    let n = if weights.is_empty() { values.len() as f64 } else { weights.iter().sum() };
    let rows = values.enumerate();
    let sum: f64 = rows.clone().map(|(i, value)| w(i) * value).sum(); //~ loo-weights
    let squares: f64 = rows.map(|(i, value)| w(i) * (value - sum / n).powi(2)).sum();
    (sum, (n * squares / (n - 1.0)).sqrt())
}

/// One row has no standard error.
fn check_rows(rows: usize) -> Result<(), Error> {
    match rows {
        0 | 1 => Err(Error::shape("rows of the log likelihood", rows, "at least 2")),
        _ => Ok(()),
    }
}

/// The rows of a block: as many whole tiles as fit, or a part of a tile.
fn rows_at_a_time(numbers_of_row: usize, tile_rows: usize) -> usize {
    let rows = (AT_A_TIME / numbers_of_row).max(LANES);
    rows - rows % if rows < tile_rows { LANES } else { tile_rows }
}

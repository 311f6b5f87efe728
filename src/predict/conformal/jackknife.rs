//! Jackknife+, with training rows left out by importance weights.

use std::fmt;

use ndarray::{Array1, Array2, ArrayView2, ArrayView3, Axis, s};

use super::super::loo::smoothing::{Scratch, Smoothing};
use super::super::loo::{Loo, LooRow};
use super::super::predictions::Predictions;
use super::super::regression::Interval;
use super::sets::PredictionSets;
use super::{Calibration, ROWS, check_level, enough, kth_smallest, percent, rank, whole};
use crate::Error;
use crate::data::Response;
use crate::memory;
use crate::message::{Advice, count};
use crate::threads;

/// Scores of classes that differ by less are taken for equal: they are sums in different orders.
const ROUNDING: f64 = 1e-12;
/// The new rows that are predicted at a time.
const BLOCK: usize = 64;

/// The jackknife+ intervals of m new rows from n training rows, of predictors of one's own: `left_out` `[i, j]` is the
/// prediction of new row j by the model without training row i, and `residuals` are |y_i - mu_-i(x_i)|.
///
/// ```text
/// lower_j = the k-th largest of  mu_-i(x_j) - R_i,     k = ceil((n + 1) c)
/// upper_j = the k-th smallest of mu_-i(x_j) + R_i,     infinite if k > n
/// ```
///
/// The ends are `[row, 1]`. Source: Barber, Candes, Ramdas and Tibshirani 2021, doi:10.1214/20-AOS1965, arXiv:1905.02928.
///
/// # Errors
/// Another number of residuals than rows of `left_out`, no rows, a number that is NaN, a level that is not between 0 and 1.
pub fn jackknife_plus(
    left_out: ArrayView2<f64>,
    residuals: &[f64],
    level: f64,
) -> Result<Interval, Error> {
    check_level(level)?;
    let (n, new) = left_out.dim();
    if residuals.len() != n {
        return Err(Error::shape("residuals of rows left out", residuals.len(), n));
    }
    if n == 0 {
        return Err(Error::argument("number of rows left out", n, "at least 1"));
    }
    if left_out.iter().chain(residuals).any(|value| value.is_nan()) {
        return Err(Error::argument("predictions of rows left out", f64::NAN, "numbers"));
    }
    let k = rank(n, level);
    let end = |sign: f64| {
        let end = |column: ndarray::ArrayView1<f64>| {
            // The k-th largest is the k-th smallest of what has the other sign.
            let each = column.iter().zip(residuals).map(|(mean, residual)| sign * mean + residual);
            sign * kth_smallest(&mut each.collect::<Vec<_>>(), k) //~ jackknife-end
        };
        Array1::from_iter(left_out.columns().into_iter().map(end)).insert_axis(Axis(1))
    };
    let (lower, upper) = (end(-1.0), end(1.0));
    debug_assert_eq!(lower.nrows(), new);
    Ok(Interval { level, lower, upper })
}

/// Jackknife+ of the training rows of one run: intervals, or sets of classes, without rows that are kept back and
/// without refits.
///
/// The draws q_s of the posterior given all rows, weighted by the [smoothed ratios](super::super::Loo) w_is close to
/// 1 / p(y_i given q_s), stand for the posterior without row i:
///
/// ```text
/// mu_-i(x) = sum_s w_is E[y | x, q_s] / sum_s w_is,      R_i = |y_i - mu_-i(x_i)|
/// interval   as of jackknife_plus
/// set      = { y : #{ i : 1 - p_-i(y_i | x_i) < 1 - p_-i(y | x) } < k },     k = ceil((n + 1) c)
/// ```
///
/// With exact refits the coverage of level c is at least 2 c - 1 and usually about c (Barber et al. 2021,
/// doi:10.1214/20-AOS1965; of sets Romano, Sesia and Candes 2020, arXiv:2006.02544). It is marginal, for exchangeable rows,
/// and not for series. Unlike [`SplitConformal`](super::SplitConformal) it needs chains that sample the
/// posterior, and weights with finite variance. A row whose k is [too large](Loo::unreliable) counts as if nothing were
/// known of it, with an infinite residual: that makes intervals wider and takes nothing from their coverage.
///
/// Cost: a product of n x S weights and S x m predictions, for n training rows, S draws and m new rows; memory: n x S
/// numbers.
///
/// ```
/// use bnn_mcmc::predict::JackknifePlus;
/// use bnn_mcmc::prelude::*;
/// use ndarray::Array2;
/// let mut rng = ChainRng::new(1, 0);
/// let x = Array2::from_shape_simple_fn((100, 1), || rng.normal());
/// let y = x.mapv(|x| 2.0 * x + 0.5 * rng.normal());
/// let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 5.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
/// let draws = Sampler::new(&posterior, Nuts::default()).seed(1).run()?;
/// let jackknife = JackknifePlus::new(&posterior.predict(&draws, &data)?, 0.9)?;
/// let new = posterior.predict_new(&draws, ndarray::array![[0.0], [1.0]].view())?;
/// let interval = jackknife.interval(&new)?;
/// assert!((interval.mean_width() - 2.0 * 1.645 * 0.5).abs() < 0.5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct JackknifePlus {
    level: f64,
    loo: Loo,
    /// `[training row, draw]`, of which each row sums to 1.
    weights: Array2<f64>,
    /// R_i, or 1 - p_-i(y_i given x_i); infinite of a row whose weights cannot be trusted.
    scores: Vec<f64>,
}

impl JackknifePlus {
    /// From predictions of the training rows, with their response, by all draws of the chains.
    ///
    /// # Errors
    /// No observed response; rows with weights; a response of several columns, or with bounds; draws of an ensemble, a
    /// mixture or an approximation; so many rows that are unreliable that all intervals would be infinite; a level that is
    /// not between 0 and 1; the errors of [`Loo::from_log_likelihood`].
    pub fn new(training: &Predictions, level: f64) -> Result<Self, Error> {
        check_level(level)?;
        let observed = training.to_calibrate()?;
        training.check_importance("jackknife+")?;
        let (_, log_lik) = training.known()?;
        let (chains, draws, rows) = log_lik.dim();
        let all = chains * draws;
        let size = [(2, "copies"), (rows, "rows"), (all, "draws")];
        memory::check::<f64>("weights of jackknife+", &size, "take fewer rows or fewer draws")?;
        let smoothing = Smoothing::new((chains, draws), None)?;
        let means = training.draws_of_mean()?;
        let row = |scratch: &mut Scratch, i: usize, log_lik: &[f64]| -> (LooRow, Vec<f64>, f64) {
            let row = scratch.row(&smoothing, 1.0, log_lik);
            let sum: f64 = scratch.psis.weights().iter().sum();
            let weights: Vec<f64> = scratch.psis.weights().iter().map(|w| w / sum).collect();
            let left_out = |column: usize| -> f64 {
                let means = means.slice(s![.., i, column]);
                weights.iter().zip(means).map(|(w, mean)| w * mean).sum()
            };
            let score = match &observed {
                Calibration::Numbers(y) => (y[i] - left_out(0)).abs(), //~ jackknife-residual
                Calibration::Classes(index) => {
                    let p: Vec<f64> = (0..means.len_of(Axis(2))).map(left_out).collect();
                    1.0 - Predictions::of_class(&p, index[i])
                }
            };
            (row, weights, score)
        };
        let of_rows = smoothing.map_rows(log_lik, 0, &row)?;
        let mut weights = Array2::zeros((rows, all));
        let (mut loo_rows, mut scores) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for ((row, w, score), mut to) in of_rows.into_iter().zip(weights.rows_mut()) {
            to.assign(&Array1::from(w));
            loo_rows.push(row);
            scores.push(score);
        }
        let loo = Loo::of(loo_rows, Vec::new(), all);
        let unreliable = loo.unreliable();
        unreliable.iter().for_each(|row| scores[*row] = f64::INFINITY);
        //~ jackknife-unknown
        if rows - unreliable.len() < rank(rows, level).min(rows) {
            let found = format!("{} of {rows}", unreliable.len());
            let allowed = format!(
                "at most {} at a level of {}: the posterior without such a row differs too much from the one with it",
                rows - rank(rows, level).min(rows),
                percent(level)
            );
            let error = Error::argument("rows that cannot be left out by weights", found, allowed);
            return Err(error.advise([Advice::Calibrate]));
        }
        Ok(Self { level, loo, weights, scores })
    }

    /// The share of new rows that the regions are for.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// PSIS-LOO of the training rows, with the k of each.
    pub fn loo(&self) -> &Loo {
        &self.loo
    }

    /// The intervals of new rows, `[row, 1]`, which the same draws predict. Of counts both ends are counts.
    ///
    /// # Errors
    /// Classes, or several columns; another number of draws than the training rows'.
    pub fn interval(&self, new: &Predictions) -> Result<Interval, Error> {
        if new.has_sets()? {
            return Err(new.wrong_kind("a real response or counts"));
        }
        let mut ends = Vec::new();
        for part in self.left_out(new, 0)? {
            let part = jackknife_plus(part.view(), &self.scores, self.level)?;
            let each = part.lower.iter().zip(&part.upper).map(|(lower, upper)| (*lower, *upper));
            let counts = new.is_of_counts();
            ends.extend(each.map(|(low, up)| if counts { whole(low, up) } else { (low, up) }));
        }
        let (lower, upper): (Vec<f64>, Vec<f64>) = ends.into_iter().unzip();
        let column = |ends: Vec<f64>| Array1::from(ends).insert_axis(Axis(1));
        Ok(Interval { level: self.level, lower: column(lower), upper: column(upper) })
    }

    /// The sets of classes of new rows, which the same draws predict.
    ///
    /// # Errors
    /// A response that is not classes; another number of draws than the training rows'.
    pub fn sets(&self, new: &Predictions) -> Result<PredictionSets, Error> {
        let Response::Classes { names, .. } = &new.response else {
            return Err(new.wrong_kind("classes"));
        };
        let means = self.means(new)?;
        let (_, rows, columns) = means.dim();
        let k = rank(self.scores.len(), self.level);
        let blocks: Vec<_> = means.axis_chunks_iter(Axis(1), BLOCK).collect();
        // Whether the set of each row of a block has each class: only one block of rows is held by a thread.
        let of_block = |block: usize| {
            let means = blocks[block];
            let of_column = |column| self.weights.dot(&means.index_axis(Axis(2), column));
            let parts: Vec<Array2<f64>> = (0..columns).map(of_column).collect();
            let contains = |(j, class)| {
                let is_closer = |(i, score): (usize, &f64)| {
                    let p: Vec<f64> = parts.iter().map(|part| part[(i, j)]).collect();
                    *score + ROUNDING < 1.0 - Predictions::of_class(&p, class) //~ jackknife-set
                };
                self.scores.iter().enumerate().filter(|row| is_closer(*row)).count() < k
            };
            Array2::from_shape_fn((means.len_of(Axis(1)), names.len()), contains)
                .into_raw_vec_and_offset()
                .0
        };
        let contains = threads::map(blocks.len(), &of_block).concat();
        let contains = Array2::from_shape_vec((rows, names.len()), contains);
        let contains = contains.expect("a row has as many classes");
        Ok(PredictionSets { level: self.level, names: names.clone(), contains })
    }

    /// mu_-i(x_j) of one column, `[training row, new row]`, in blocks of new rows.
    fn left_out(&self, new: &Predictions, column: usize) -> Result<Vec<Array2<f64>>, Error> {
        let means = self.means(new)?;
        let means = means.index_axis(Axis(2), column);
        let size = [(self.weights.nrows(), "training rows"), (means.ncols(), "new rows")];
        memory::check::<f64>("predictions of jackknife+", &size, "take fewer rows at a time")?;
        let blocks: Vec<_> = means.axis_chunks_iter(Axis(1), BLOCK).collect();
        Ok(threads::map(blocks.len(), &|k| self.weights.dot(&blocks[k])))
    }

    /// E[y | x_j, q] by each draw, `[draw, new row, column]`.
    fn means<'p>(&self, new: &'p Predictions) -> Result<ArrayView3<'p, f64>, Error> {
        let means = new.draws_of_mean()?;
        let (found, expected) = (means.len_of(Axis(0)), self.weights.ncols());
        if found != expected {
            return Err(Error::shape("draws that predict the new rows", found, expected));
        }
        if means.iter().any(|mean| mean.is_nan()) {
            return Err(Error::argument("predictions of the new rows", f64::NAN, "numbers"));
        }
        Ok(means)
    }
}

impl fmt::Display for JackknifePlus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, level) = (self.scores.len(), percent(self.level));
        let least = percent((2.0 * self.level - 1.0).max(0.0));
        write!(
            f,
            "conformal regions by jackknife+ of {}, each left out by weights of the draws (PSIS)",
            count(rows, "training row")
        )?;
        let unreliable = self.loo.unreliable().len();
        if unreliable > 0 {
            let unreliable = count(unreliable, "row");
            write!(
                f,
                ", of which {unreliable} with k > {:.2} count as unknown",
                self.loo.threshold()
            )?;
        }
        if rank(rows, self.level) > rows {
            let enough = enough(self.level);
            return write!(
                f,
                ": all are infinite, since a level of {level} takes at least {enough} rows"
            );
        }
        write!(
            f,
            ": if the weights are right, they hold at least {least} of new responses on average, and usually about \
             {level}. {ROWS}"
        )
    }
}

//! Conformal prediction: intervals and sets with a guarantee that does not need the model to be right, or the
//! chains to have converged.

mod add_one_in;
mod jackknife;
mod sets;
mod split;

use std::fmt;

pub use add_one_in::AddOneIn;
pub use jackknife::{JackknifePlus, jackknife_plus};
pub use sets::PredictionSets;
pub use split::{ConformalScore, SplitConformal};

use super::predictions::Predictions;
use super::regression::Interval;
use crate::Error;
use crate::data::Response;
use crate::draws::Approximation;
use crate::message::Advice;

/// The place of the conformal quantile among n sorted scores, counted from 1: k = ceil((n + 1) c). Above n there is no
/// such score.
fn rank(n: usize, level: f64) -> usize {
    // A product such as 0.95 * 20 may lie above the whole number that it is meant to be.
    let k = (n + 1) as f64 * level * (1.0 - 2.0 * f64::EPSILON); //~ conformal-rank
    (k.ceil() as usize).max(1)
}

/// The k-th smallest of `values`, whose order is lost; infinite if there are fewer.
fn kth_smallest(values: &mut [f64], k: usize) -> f64 {
    match k.checked_sub(1).filter(|k| *k < values.len()) {
        None => f64::INFINITY,
        Some(k) => *values.select_nth_unstable_by(k, f64::total_cmp).1,
    }
}

/// The conformal quantile of scores s_1, .., s_n at level c: the k-th smallest, k = ceil((n + 1) c), and infinite if k
/// exceeds n, so that no finite threshold has that coverage.
///
/// It is larger than the usual quantile at c, since the new row's score is one of n + 1 that are exchangeable.
///
/// ```
/// use bnn_mcmc::predict::conformal_quantile;
/// let errors: Vec<f64> = (1..=9).map(f64::from).collect();
/// assert_eq!(conformal_quantile(&errors, 0.9)?, 9.0); // ceil(10 * 0.9) = 9
/// assert_eq!(conformal_quantile(&errors[..8], 0.9)?, f64::INFINITY); // 8 rows are too few
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// No scores, a score that is NaN, a level that is not between 0 and 1.
pub fn conformal_quantile(scores: &[f64], level: f64) -> Result<f64, Error> {
    check_level(level)?;
    if scores.is_empty() {
        return Err(Error::argument("number of scores", 0, "at least 1"));
    }
    if let Some(row) = scores.iter().position(|score| score.is_nan()) {
        return Err(Error::argument(format!("score {row}"), f64::NAN, "a number"));
    }
    Ok(kth_smallest(&mut scores.to_vec(), rank(scores.len(), level)))
}

/// **Conformal prediction**: intervals and sets with a guarantee that does not need the model to be right, or the chains
/// to have converged. From [`Fit::conformal`](crate::fit::Fit::conformal); printed, it says what the regions are and when
/// they hold.
///
/// A conformity score s(x, y) says how badly a response fits its prediction. The scores of n rows that the model
/// has not seen, s_1, .., s_n, say how large it usually is, and a new row's region holds the responses whose score is
/// not larger:
///
/// ```text
/// C(x) = { y : s(x, y) <= s_(k) },   k = ceil((n + 1) c),   s_(k) the k-th smallest score, inf if k > n
/// P(y_(n+1) in C(x_(n+1))) >= c,     and <= c + 1 / (n + 1) if no two scores are equal
/// ```
///
/// This is **marginal coverage** at level c: on average over all that is random, the calibration rows and the new row.
/// It is not coverage at each x, nor for each group of rows. It holds if the n + 1 rows are **exchangeable**, that is
/// if their order carries no information, as in a random sample. It is **not for series**, whose later rows differ from
/// earlier ones, nor for new rows from another population or from a group that the table does not have.
///
/// | method | rows | coverage of level c | what it needs |
/// | --- | --- | --- | --- |
/// | [`SplitConformal`] | kept from the model | at least c | nothing of the model, the sampler or the draws |
/// | [`JackknifePlus`] | the training rows | at least 2 c - 1, usually about c | chains that sample the posterior, and k of [PSIS-LOO](super::Loo) |
/// | [`AddOneIn`] | the training rows | at least c | chains that sample the posterior, and weights that many draws share |
///
/// [`Fit::conformal`](crate::fit::Fit::conformal) chooses between the first two, and
/// [`Fit::add_one_in`](crate::fit::Fit::add_one_in) is the third. [`conformal_quantile`] and [`jackknife_plus`] serve
/// predictors of one's own.
///
/// Sources: Vovk, Gammerman and Shafer 2005, doi:10.1007/b106715; Lei, G'Sell, Rinaldo, Tibshirani and Wasserman 2018,
/// doi:10.1080/01621459.2017.1307116.
#[derive(Clone, Debug)]
pub enum Conformal {
    /// Calibrated on rows that the model has not seen.
    Split(SplitConformal),
    /// From the training rows, each left out by weights of the draws.
    JackknifePlus(JackknifePlus),
}

impl Conformal {
    /// The share of new rows that the regions hold on average.
    pub fn level(&self) -> f64 {
        match self {
            Self::Split(split) => split.level(),
            Self::JackknifePlus(jackknife) => jackknife.level(),
        }
    }

    /// The intervals of new rows, of one real response or counts in one column.
    ///
    /// # Errors
    /// As of [`SplitConformal::interval`] or [`JackknifePlus::interval`].
    pub fn interval(&self, new: &Predictions) -> Result<Interval, Error> {
        match self {
            Self::Split(split) => split.interval(new),
            Self::JackknifePlus(jackknife) => jackknife.interval(new),
        }
    }

    /// The sets of classes of new rows.
    ///
    /// # Errors
    /// As of [`SplitConformal::sets`] or [`JackknifePlus::sets`].
    pub fn sets(&self, new: &Predictions) -> Result<PredictionSets, Error> {
        match self {
            Self::Split(split) => split.sets(new),
            Self::JackknifePlus(jackknife) => jackknife.sets(new),
        }
    }
}

impl fmt::Display for Conformal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Split(split) => split.fmt(f),
            Self::JackknifePlus(jackknife) => jackknife.fmt(f),
        }
    }
}

pub(crate) fn check_level(level: f64) -> Result<(), Error> {
    match level > 0.0 && level < 1.0 {
        true => Ok(()),
        false => Err(Error::argument("level", level, "above 0 and below 1")),
    }
}

/// A level in per cent: `90 %`.
fn percent(level: f64) -> String {
    format!("{} %", (1e8 * level).round() / 1e6)
}

/// The sentence that says for which rows a region is.
const ROWS: &str =
    "This is marginal coverage, of new rows drawn as these rows were, and not for series.";

/// An interval of counts, in whole numbers from 0 on; ends that differ from a whole number by rounding stay there. An
/// interval that holds no count becomes the count nearest to its middle.
fn whole(lower: f64, upper: f64) -> (f64, f64) {
    const ROUNDING: f64 = 1e-9;
    let slack = |end: f64| if end.is_finite() { ROUNDING * (1.0 + end.abs()) } else { 0.0 };
    let ends = ((lower - slack(lower)).ceil().max(0.0), (upper + slack(upper)).floor());
    if ends.0 <= ends.1 {
        return ends;
    }
    let nearest = (0.5 * (lower + upper)).round().max(0.0);
    (nearest, nearest)
}

/// The fewest rows n of which one has a score of the rank of this level.
fn enough(level: f64) -> usize {
    // k = ceil((n + 1) c) <= n from n = c / (1 - c) on, but for rounding.
    let mut n = ((level / (1.0 - level)).floor() as usize).saturating_sub(1).max(1);
    while rank(n, level) > n {
        n += 1;
    }
    n
}

impl Predictions {
    /// The kind of regions that the response has: sets of classes, or intervals; an error of any other response.
    fn has_sets(&self) -> Result<bool, Error> {
        let found = match &self.response {
            Response::Classes { .. } => return Ok(true),
            Response::Real(y) | Response::Counts(y) if y.ncols() == 1 => return Ok(false),
            Response::Real(_) => "several real numbers",
            Response::Counts(_) => "counts of several categories",
            Response::Censored { .. } => "numbers with bounds",
        };
        let allowed =
            "one real response, counts in one column, or classes, for conformal prediction";
        Err(Error::argument("response of the predictions", found, allowed))
    }

    /// An error unless regions can be made of such predictions: their response is of a known kind, and rows have no weights.
    pub(crate) fn check_conformal(&self) -> Result<(), Error> {
        self.check_unweighted("conformal prediction")?;
        self.has_sets().map(drop)
    }

    fn is_of_counts(&self) -> bool {
        matches!(self.response, Response::Counts(_))
    }

    /// The observed numbers and classes of rows that regions are made from, which have no weights.
    fn to_calibrate(&self) -> Result<Calibration<'_>, Error> {
        self.check_unweighted("conformal prediction")?;
        self.draws_of_mean()?;
        Ok(match self.has_sets()? {
            true => Calibration::Classes(self.classes()?),
            false => Calibration::Numbers(self.numbers()?.as_slice().unwrap_or(&[])),
        })
    }

    /// An error if the draws are not of chains that sample the posterior, for `what` weighs them.
    fn check_importance(&self, what: &str) -> Result<(), Error> {
        let found = match &self.trace.approximation {
            None | Some(Approximation::Surrogate(_)) => return Ok(()),
            Some(Approximation::Mixture { .. }) => "a mixture of chains by weights".to_string(),
            Some(Approximation::Fitted { method }) => method.clone(),
            Some(Approximation::Ensemble { members }) => Approximation::ensemble(*members),
        };
        let allowed = format!("chains that sample the posterior, for {what}");
        Err(Error::argument("draws", found, allowed).advise([Advice::Calibrate]))
    }

    /// The probability of a class, where `p` has a column for each class, or one for the second of two.
    fn of_class(p: &[f64], class: usize) -> f64 {
        match (p.len(), class) {
            (1, 0) => 1.0 - p[0],
            (1, _) => p[0],
            _ => p[class],
        }
    }
}

/// The responses of rows that regions are made from.
enum Calibration<'p> {
    Numbers(&'p [f64]),
    Classes(&'p [usize]),
}

#[cfg(test)]
mod tests;

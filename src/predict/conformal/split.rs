//! Split conformal prediction, on rows that the model has not seen.

use std::fmt;

use ndarray::{Array2, ArrayView1};

use super::super::cells::map_cells;
use super::super::predictions::Predictions;
use super::super::regression::Interval;
use super::sets::PredictionSets;
use super::{Calibration, ROWS, conformal_quantile, enough, percent, rank, whole};
use crate::Error;
use crate::data::Response;
use crate::message::count;

/// The conformity score of [`SplitConformal`]: how badly a response fits its prediction.
///
/// All scores of numbers are of one form, with a lower end l, an upper end u and a unit w for each row:
///
/// ```text
/// s(x, y) = max(l(x) - y, y - u(x)) / w(x),     C(x) = [l(x) - q w(x), u(x) + q w(x)]
/// ```
///
/// | score | l | u | w |
/// | --- | --- | --- | --- |
/// | `Absolute` | E\[y given x\] | the same | 1 |
/// | `Normalised` | E\[y given x\] | the same | sd of the posterior predictive draws |
/// | `Quantiles` | their quantile at (1 - c)/2 | their quantile at (1 + c)/2 | 1 |
///
/// q is the conformal quantile of the calibration rows. The score of a class is 1 - p(y given x).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConformalScore {
    /// The distance from the posterior mean prediction: intervals of one width for all rows. Lei et al. 2018,
    /// doi:10.1080/01621459.2017.1307116.
    Absolute,
    /// The distance from the posterior mean prediction in predictive standard deviations: intervals are wider where
    /// the model expects more noise or knows less. With heavy-tailed noise the standard deviation of the draws is unstable.
    /// Lei et al. 2018, section 5.2.
    Normalised,
    /// The distance from the predictive interval of the same level, negative within it: conformalised quantiles (CQR).
    /// Intervals keep the skewness of the predictive distribution. Romano, Patterson and Candes 2019, arXiv:1905.03222.
    Quantiles,
    /// Of classes, 1 - p(y given x): sets of the classes above a threshold, on average the smallest ones with that
    /// coverage if the probabilities are right. Sadinle, Lei and Wasserman 2019, doi:10.1080/01621459.2017.1395341.
    Probability,
}

impl ConformalScore {
    /// The name in words.
    fn name(self) -> &'static str {
        match self {
            Self::Absolute => "absolute errors",
            Self::Normalised => "errors in predictive standard deviations",
            Self::Quantiles => "conformalised quantiles",
            Self::Probability => "probabilities of classes",
        }
    }

    /// The score that suits the response: [`Quantiles`](Self::Quantiles) of numbers, of which the guide's
    /// [table of widths](crate::guide::predictions) has the reason, and [`Probability`](Self::Probability) of classes.
    ///
    /// # Errors
    /// A response of several columns, or numbers with bounds.
    pub fn of(predictions: &Predictions) -> Result<Self, Error> {
        Ok(if predictions.has_sets()? { Self::Probability } else { Self::Quantiles })
    }
}

/// Split conformal prediction: intervals of a real response or of counts in one column, or sets of classes, whose
/// coverage is at least the level whatever model, sampler and draws are behind the predictions.
///
/// The calibration rows must not have been used in any way that the new rows are not: not by the chains, by the choice of
/// the model, or by scalings. Coverage [is marginal](super::Conformal), for exchangeable rows, and not for
/// series.
///
/// ```
/// use bnn_mcmc::predict::{ConformalScore, SplitConformal};
/// use bnn_mcmc::prelude::*;
/// use ndarray::{Array2, Array3};
///
/// // y = x^2 + noise, and draws of a line that has nothing to do with it.
/// let mut rng = ChainRng::new(1, 0);
/// let x = Array2::from_shape_simple_fn((2_000, 1), || rng.normal());
/// let y = x.mapv(|x| x * x + 0.5 * rng.normal());
/// let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.1)?, &data, priors)?;
/// let wrong = Draws::new(posterior.layout().clone(), Array3::from_elem((1, 50, 2), 0.3))?;
///
/// let rows = |rows: std::ops::Range<usize>| data.select(&rows.collect::<Vec<_>>());
/// let (calibration, new) = (rows(0..499)?, rows(499..2_000)?);
/// let calibrated = posterior.predict(&wrong, &calibration)?;
/// let split = SplitConformal::new(&calibrated, ConformalScore::Quantiles, 0.9)?;
/// let interval = split.interval(&posterior.predict(&wrong, &new)?)?;
/// assert!((interval.coverage(new.real()?.view())? - 0.9).abs() < 0.03);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SplitConformal {
    score: ConformalScore,
    level: f64,
    rows: usize,
    quantile: f64,
}

/// The band of a row, in the symbols of [`ConformalScore`].
pub(super) struct Band {
    pub lower: f64,
    pub upper: f64,
    pub unit: f64,
}

impl Band {
    pub fn score(&self, y: f64) -> f64 {
        let distance = (self.lower - y).max(y - self.upper); //~ conformal-score
        // A response that is the mean itself fits, whatever the unit.
        if distance == 0.0 { 0.0 } else { distance / self.unit }
    }

    /// The responses whose score is at most q. An empty interval, between ends in the wrong order, becomes the middle
    /// of the two; a band that is not known, as of draws that are infinite, is the whole line.
    pub fn interval(&self, q: f64) -> (f64, f64) {
        if q == f64::INFINITY {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let reach = q * self.unit; //~ conformal-reach
        // Rounding excludes no response whose score equals q.
        let slack = |end: f64| 4.0 * f64::EPSILON * (end.abs() + reach.abs());
        let lower = self.lower - reach - slack(self.lower);
        let upper = self.upper + reach + slack(self.upper);
        if lower.is_nan() || upper.is_nan() {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let middle = if lower <= upper { lower } else { 0.5 * (lower + upper) };
        (lower.min(middle), upper.max(middle))
    }
}

impl SplitConformal {
    /// Calibrates regions of this level on predictions of rows with a known response, which the model has not seen.
    ///
    /// Predictive draws enter the scores `Normalised` and `Quantiles`. Their noise should not be the noise of the new
    /// rows' draws: [`predict_seeded`](crate::posterior::Posterior::predict_seeded) with another seed sees to that, as
    /// [`Fit::conformal`](crate::fit::Fit::conformal) does.
    ///
    /// # Errors
    /// No rows, or no observed response; rows with weights; a response of several columns, or with bounds; a score of
    /// another kind of response; a prediction that is NaN; a level that is not between 0 and 1.
    pub fn new(
        calibration: &Predictions,
        score: ConformalScore,
        level: f64,
    ) -> Result<Self, Error> {
        Self::of_scores(score.of_rows(calibration, level)?, score, level)
    }

    /// From predictions of the calibration rows in parts, with the score that suits their response.
    pub(crate) fn of_parts(
        parts: impl Iterator<Item = Result<Predictions, Error>>,
        level: f64,
    ) -> Result<Self, Error> {
        let (mut score, mut scores) = (ConformalScore::Quantiles, Vec::new());
        for part in parts {
            let part = part?;
            score = ConformalScore::of(&part)?;
            scores.extend(score.of_rows(&part, level)?);
        }
        Self::of_scores(scores, score, level)
    }

    fn of_scores(scores: Vec<f64>, score: ConformalScore, level: f64) -> Result<Self, Error> {
        if let Some(row) = scores.iter().position(|score| score.is_nan()) {
            let name = format!("prediction of calibration row {row}");
            return Err(Error::argument(name, f64::NAN, "a number"));
        }
        let quantile = conformal_quantile(&scores, level)?;
        Ok(Self { score, level, rows: scores.len(), quantile })
    }

    /// The score.
    pub fn score(&self) -> ConformalScore {
        self.score
    }

    /// The share of new rows that the regions hold on average.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// The number of calibration rows, n.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The conformal quantile q of their scores: infinite if there are fewer rows than the level takes, c / (1 - c).
    pub fn quantile(&self) -> f64 {
        self.quantile
    }

    /// The intervals of new rows, `[row, 1]`. Of counts both ends are counts. All are infinite if the
    /// [quantile](Self::quantile) is.
    ///
    /// # Errors
    /// Classes, or another kind of response than the calibration rows'; no draws.
    pub fn interval(&self, new: &Predictions) -> Result<Interval, Error> {
        let bands = self.score.bands(new, self.level)?;
        let ends = bands.iter().map(|band| {
            let (lower, upper) = band.interval(self.quantile);
            if new.is_of_counts() { whole(lower, upper) } else { (lower, upper) }
        });
        let (lower, upper): (Vec<f64>, Vec<f64>) = ends.unzip();
        let column = |ends: Vec<f64>| {
            Array2::from_shape_vec((ends.len(), 1), ends).expect("one column of all ends")
        };
        Ok(Interval { level: self.level, lower: column(lower), upper: column(upper) })
    }

    /// The sets of classes of new rows: all classes if the [quantile](Self::quantile) is infinite.
    ///
    /// # Errors
    /// A response that is not classes; no draws.
    pub fn sets(&self, new: &Predictions) -> Result<PredictionSets, Error> {
        self.score.check(new)?;
        let Response::Classes { names, .. } = &new.response else {
            return Err(new.wrong_kind("classes"));
        };
        let p = new.posterior_mean()?;
        let contains = Array2::from_shape_fn((p.nrows(), names.len()), |(i, class)| {
            let score = of_class(p.row(i), class);
            score <= self.quantile || score.is_nan()
        });
        Ok(PredictionSets { level: self.level, names: names.clone(), contains })
    }
}

/// The score of a class, given the probabilities of a row.
pub(super) fn of_class(p: ArrayView1<f64>, class: usize) -> f64 {
    1.0 - Predictions::of_class(p.as_slice().unwrap_or(&[]), class) //~ class-score
}

impl ConformalScore {
    /// An error if the score is not of this kind of response.
    fn check(self, predictions: &Predictions) -> Result<(), Error> {
        match (predictions.has_sets()?, self) {
            (true, Self::Probability) => Ok(()),
            (false, Self::Absolute | Self::Normalised | Self::Quantiles) => Ok(()),
            (true, _) => Err(predictions.wrong_kind("a real response or counts, for this score")),
            (false, Self::Probability) => Err(predictions.wrong_kind("classes, for this score")),
        }
    }

    /// The score of each row with a known response.
    fn of_rows(self, calibration: &Predictions, level: f64) -> Result<Vec<f64>, Error> {
        Ok(match calibration.to_calibrate()? {
            Calibration::Numbers(y) => {
                let bands = self.bands(calibration, level)?;
                bands.iter().zip(y).map(|(band, y)| band.score(*y)).collect()
            }
            Calibration::Classes(index) => {
                self.check(calibration)?;
                let p = calibration.posterior_mean()?;
                let rows = p.rows().into_iter().zip(index);
                rows.map(|(p, class)| of_class(p, *class)).collect()
            }
        })
    }

    /// The band of each row, by the rows' predictive draws or means.
    fn bands(self, predictions: &Predictions, level: f64) -> Result<Vec<Band>, Error> {
        self.check(predictions)?;
        super::check_level(level)?;
        let mean = predictions.posterior_mean()?;
        let mean = |row: usize| mean[(row, 0)];
        let tail = 0.5 - 0.5 * level;
        let of_cell = |row: usize, sorted: &[f64]| match self {
            Self::Quantiles => {
                let ends = [tail, 1.0 - tail].map(|p| predictions.quantile_of_new(sorted, p));
                Band { lower: ends[0], upper: ends[1], unit: 1.0 }
            }
            _ => Band { lower: mean(row), upper: mean(row), unit: sd(sorted) },
        };
        Ok(match self {
            Self::Absolute => {
                let rows = 0..predictions.mean().len_of(ndarray::Axis(2));
                rows.map(|row| Band { lower: mean(row), upper: mean(row), unit: 1.0 }).collect()
            }
            _ => map_cells(predictions.predictive_draws(), &of_cell),
        })
    }
}

/// The standard deviation of draws of a new observation.
fn sd(draws: &[f64]) -> f64 {
    ArrayView1::from(draws).std(0.0)
}

impl fmt::Display for SplitConformal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let regions = match self.score {
            ConformalScore::Probability => "sets",
            _ => "intervals",
        };
        let (level, rows) = (percent(self.level), count(self.rows, "row"));
        write!(f, "conformal {regions} by {}, calibrated on {rows}", self.score.name())?;
        if self.quantile == f64::INFINITY && rank(self.rows, self.level) > self.rows {
            let enough = enough(self.level);
            let all =
                if regions == "sets" { "all sets hold every class" } else { "all are infinite" };
            return write!(f, ": {all}, since a level of {level} takes at least {enough} rows");
        }
        write!(
            f,
            "; if these had no part in the fit, they hold at least {level} of new responses on average, whatever the chains \
             did. {ROWS}"
        )
    }
}

//! Scores of predictions.

use std::fmt;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayView3, Axis};
use serde::{Deserialize, Serialize};

use super::calibration::{Bins, reliability};
use super::cells::map_cells;
use super::classification::{accuracy, brier};
use super::predictions::{Centre, Predictions};
use super::regression::{Interval, crps_sorted, mean_of_cells};
use crate::Error;
use crate::data::{Response, mean_by};
use crate::message::number;

/// One score of predictions: of the posterior, and of its single draws.
///
/// Written as JSON, NaN is `null`, and is read back as NaN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The name of the score, one of those in the table of [`Scores`].
    pub name: String,
    /// The score of the posterior mean prediction: of averages over draws, as predictions should
    /// be made. For the log predictive density, of the averaged density; for `crps`,
    /// `coverage_95` and `width_95`, of the posterior predictive draws.
    #[serde(with = "nan_as_null")]
    pub posterior: f64,
    /// The mean over draws of each draw's own score, as tutorials often report. NaN for `mae_median`, `crps`,
    /// `coverage_95` and `width_95`, which take many draws.
    #[serde(with = "nan_as_null")]
    pub draws_mean: f64,
    /// The standard deviation over draws of each draw's own score. NaN where their mean is, and
    /// for a single draw.
    #[serde(with = "nan_as_null")]
    pub draws_sd: f64,
}

/// The scores of a set of predictions, printed as a table. From [`Predictions::scores`].
///
/// | name | response | what it is |
/// | --- | --- | --- |
/// | `rmse`, `mae` | real, counts | root mean squared and mean absolute error of means, or of what [`centre`](Self::centre) says, over all columns; of counts of categories, as proportions |
/// | `mae_median` | real, counts in one column | mean absolute error of the medians of the posterior predictive draws, which have the smallest one |
/// | `crps` | real, counts in one column | [continuous ranked probability score](super::crps), mean over rows and columns |
/// | `coverage_95` | real, counts in one column | the share of responses within their 95 % [predictive interval](Predictions::predictive_interval) |
/// | `width_95` | real, counts in one column | the mean width of these intervals |
/// | `accuracy` | classes | the share of rows whose most probable class is the observed one; ties go to the first class |
/// | `brier` | classes | [Brier score](Predictions::brier), summed over all classes: 0 to 2 |
/// | `ece` | classes | [expected calibration error](super::Reliability), 15 bins of equal width |
/// | `concordance` | numbers with bounds, all observed or right-censored | [Harrell's c](super::concordance) of the predictive medians |
/// | `integrated_brier` | numbers with bounds, all observed or right-censored | [integrated Brier score](super::integrated_brier) of the predictive survival functions |
/// | `log_predictive_density` | all | mean over rows of log mean_s p(y_i given x_i, q_s), in nats (Gelman, Hwang and Vehtari 2014, doi:10.1007/s11222-013-9416-2, divided by the number of rows) |
///
/// Errors, widths and CRPS are in units of the response. Where rows have
/// [weights](crate::data::Dataset::with_weights), means and shares are weighted by them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// All scores that apply to the response.
    pub scores: Vec<Score>,
    /// The number of rows predicted.
    pub rows: usize,
    /// What `rmse` and `mae` are of.
    #[serde(default, skip_serializing_if = "Centre::is_mean")]
    pub centre: Centre,
    /// The sum of the weights of the rows; `None` if they have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

impl Scores {
    /// The score called `name`, if it applies to this response.
    pub fn get(&self, name: &str) -> Option<&Score> {
        self.scores.iter().find(|s| s.name == name)
    }

    /// The table that is printed, with the title in its upper left corner, such as the rows that the scores are of.
    pub fn titled(&self, title: &str) -> String {
        let mut text = String::new();
        // Text takes all that is written.
        let _ = self.write(title, &mut text);
        text
    }

    fn write(&self, title: &str, f: &mut dyn fmt::Write) -> fmt::Result {
        let centre = format!("posterior {}", self.centre.name());
        let columns = [centre.as_str(), "mean of draws", "sd of draws"];
        writeln!(f, "{title:24} {:>15} {:>15} {:>15}", columns[0], columns[1], columns[2])?;
        for s in &self.scores {
            let label = match s.name.as_str() {
                "log_predictive_density" => "log predictive density",
                "integrated_brier" => "integrated Brier score",
                "coverage_95" => "95 % interval, coverage",
                "width_95" => "95 % interval, width",
                "mae_median" => "mae of new medians",
                name => name,
            };
            write!(f, "{label:24}")?;
            for value in [s.posterior, s.draws_mean, s.draws_sd] {
                if value.is_nan() {
                    write!(f, " {:>15}", "-")?;
                } else {
                    write!(f, " {value:15.4}")?;
                }
            }
            writeln!(f)?;
        }
        if let Some(weight) = self.weight {
            writeln!(f, "by the weights of the rows, whose sum is {}", number(weight))?;
        }
        Ok(())
    }
}

impl fmt::Display for Scores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write("", f)
    }
}

impl Predictions {
    /// All scores that apply to the response, see [`Scores`].
    ///
    /// # Errors
    /// If there are no draws, or no response was observed.
    pub fn scores(&self) -> Result<Scores, Error> {
        let means = self.draws_of_mean()?;
        let (n, rows, _) = means.dim();
        let average = self.posterior_mean()?;
        let mut scores = Vec::new();
        let mut add = |name: &str, score: &dyn Fn(ArrayView2<f64>) -> f64| {
            let each = means.axis_iter(Axis(0)).map(score);
            scores.push(with_spread(name, score(average.view()), each.collect()));
        };
        let ((response, densities), weights) = (self.known()?, self.weights());
        match response {
            Response::Classes { index, .. } => {
                add("accuracy", &|p| accuracy(p, index, weights));
                add("brier", &|p| brier(p, index, weights));
                add("ece", &|p| reliability(p, index, weights, Bins::default()).ece());
            }
            Response::Real(_) | Response::Counts(_) => {
                let observed = self.observed_columns()?;
                add("rmse", &|p| error(&observed, p, weights, |d| d * d).sqrt());
                add("mae", &|p| error(&observed, p, weights, f64::abs));
            }
            Response::Censored { .. } => {}
        }
        match response {
            Response::Real(y) => scores.extend(predictive_scores(self, y)?),
            Response::Counts(y) if y.ncols() == 1 => scores.extend(predictive_scores(self, y)?),
            Response::Counts(_) | Response::Classes { .. } => {}
            Response::Censored { lower, upper } => {
                let found = self.survival()?.scores(lower.view(), upper.view(), weights)?;
                let only = |(name, value)| with_spread(name, value, Vec::new());
                scores.extend(found.into_iter().map(only));
            }
        }
        let densities = flat(densities, n, rows);
        let of_draw = |row: ArrayView1<f64>| match weights {
            Some(_) => mean_by(weights, row.iter().copied()),
            None => row.sum() / rows as f64,
        };
        let each: Vec<f64> = densities.rows().into_iter().map(of_draw).collect();
        let averaged = mean_by(weights, self.log_predictive_densities()?.into_iter());
        scores.push(with_spread("log_predictive_density", averaged, each));
        Ok(Scores { scores, rows, centre: self.centre(), weight: weights.map(|w| w.sum()) })
    }

    /// The log predictive density of each row, in nats, `[row]`: log of the mean over all draws of all chains of
    /// p(y_i | x_i, q), in the units that the predictions have.
    ///
    /// # Errors
    /// If there are no draws, or no response was observed.
    pub fn log_predictive_densities(&self) -> Result<Array1<f64>, Error> {
        let (n, rows, _) = self.draws_of_mean()?.dim();
        let (_, densities) = self.known()?;
        Ok(flat(densities, n, rows).axis_iter(Axis(1)).map(log_mean_exp).collect())
    }
}

/// Log densities, `[draw of all chains, row]`.
fn flat(densities: ArrayView3<f64>, n: usize, rows: usize) -> ArrayView2<f64> {
    densities.into_shape_with_order((n, rows)).expect("log densities are stored in standard order")
}

/// The scores of the posterior predictive draws of numbers, which are sorted only once.
fn predictive_scores(predictions: &Predictions, y: &Array2<f64>) -> Result<[Score; 4], Error> {
    let (columns, level) = (y.ncols(), 0.95);
    let cells = map_cells(predictions.predictive_draws(), &|cell, sorted| {
        let crps = crps_sorted(sorted, y[(cell / columns, cell % columns)]);
        let end = |p: f64| predictions.quantile_of_new(sorted, p);
        let off = (y[(cell / columns, cell % columns)] - end(0.5)).abs(); //~ error-of-median
        [off, crps, end(0.5 - 0.5 * level), end(0.5 + 0.5 * level)]
    });
    let number = |k: usize| Array2::from_shape_fn(y.dim(), |(i, j)| cells[i * columns + j][k]);
    let interval = Interval { level, lower: number(2), upper: number(3) };
    let only = |name: &str, posterior: f64| with_spread(name, posterior, Vec::new());
    let weights = predictions.weights();
    let [share, width] = interval.share_and_width(y.view(), weights)?;
    Ok([
        only("mae_median", mean_of_cells(number(0).view(), weights)),
        only("crps", mean_of_cells(number(1).view(), weights)),
        only("coverage_95", share),
        only("width_95", width),
    ])
}

fn with_spread(name: &str, posterior: f64, draws: Vec<f64>) -> Score {
    let draws = Array1::from(draws);
    let sd = if draws.len() > 1 { draws.std(1.0) } else { f64::NAN };
    let draws_mean = draws.mean().unwrap_or(f64::NAN);
    Score { name: name.into(), posterior, draws_mean, draws_sd: sd }
}

fn error(
    observed: &Array2<f64>,
    predicted: ArrayView2<f64>,
    weights: Option<ArrayView1<f64>>,
    loss: impl Fn(f64) -> f64,
) -> f64 {
    if weights.is_some() {
        return mean_of_cells((observed - &predicted).mapv(loss).view(), weights);
    }
    let sum: f64 = observed.iter().zip(predicted.iter()).map(|(y, p)| loss(y - p)).sum();
    sum / observed.len() as f64
}

/// log of the mean of exp, without overflow.
pub(super) fn log_mean_exp(values: ndarray::ArrayView1<f64>) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return if values.iter().any(|v| v.is_nan()) { f64::NAN } else { largest };
    }
    let sum: f64 = values.iter().map(|v| (v - largest).exp()).sum();
    largest + (sum / values.len() as f64).ln() //~ log-mean-density
}

/// JSON has no NaN: it becomes `null` there, and is read back as NaN.
pub(super) mod nan_as_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        (!value.is_nan()).then_some(value).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
    }
}

//! How good predictions are.

use std::fmt;

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::Predictions;
use crate::Error;
use crate::data::Response;

/// One score, of the posterior and of its single draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// `rmse`, `mae`, `accuracy` (a share) or `log_predictive_density` (nats per row).
    pub name: String,
    /// The score of the posterior mean prediction: of averages over draws, as predictions should
    /// be made. For the log predictive density, of the averaged density.
    pub posterior: f64,
    /// The mean over draws of each draw's own score, as tutorials often report.
    pub draws_mean: f64,
    /// The standard deviation over draws of each draw's own score.
    pub draws_sd: f64,
}

/// The scores of a set of predictions.
///
/// - Real responses and counts (as proportions): `rmse` and `mae`, over all columns.
/// - Classes: `accuracy`, the share of rows whose most probable class is the observed one; ties go
///   to the first class.
/// - All: `log_predictive_density`, the mean over rows of log mean_s p(y_i | x_i, q_s)
///   (Gelman, Hwang and Vehtari, Stat. Comput. 24, 2014, doi:10.1007/s11222-013-9416-2, divided by
///   the number of rows).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// All scores that apply.
    pub scores: Vec<Score>,
    /// The number of rows predicted.
    pub rows: usize,
}

impl Scores {
    /// The score called `name`, if it applies to this response.
    pub fn get(&self, name: &str) -> Option<&Score> {
        self.scores.iter().find(|s| s.name == name)
    }
}

impl fmt::Display for Scores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = ["posterior mean", "mean of draws", "sd of draws"];
        writeln!(f, "{:24} {:>15} {:>15} {:>15}", "", columns[0], columns[1], columns[2])?;
        for s in &self.scores {
            let label = match s.name.as_str() {
                "log_predictive_density" => "log predictive density",
                name => name,
            };
            writeln!(
                f,
                "{label:24} {:15.4} {:15.4} {:15.4}",
                s.posterior, s.draws_mean, s.draws_sd
            )?;
        }
        Ok(())
    }
}

pub(super) fn scores(predictions: &Predictions) -> Result<Scores, Error> {
    let (chains, draws, rows, columns) = predictions.mean.dim();
    let n = chains * draws;
    if n == 0 || rows == 0 {
        return Err(Error::shape(
            "predictions to score",
            format!("{n} draws of {rows} rows"),
            "at least 1 of 1",
        ));
    }
    let means = predictions
        .mean
        .view()
        .into_shape_with_order((n, rows, columns))
        .expect("predictions are stored in standard order");
    let average = means.mean_axis(Axis(0)).expect("there is at least one draw");
    let mut scores = Vec::new();
    let mut add = |name: &str, score: &dyn Fn(ArrayView2<f64>) -> f64| {
        let each = means.axis_iter(Axis(0)).map(score);
        scores.push(with_spread(name, score(average.view()), each.collect()));
    };
    match &predictions.observed {
        Response::Classes { index, .. } => add("accuracy", &|p| accuracy(p, index)),
        Response::Real(_) | Response::Counts(_) => {
            let observed = predictions.observed_columns();
            add("rmse", &|p| error(&observed, p, |d| d * d).sqrt());
            add("mae", &|p| error(&observed, p, f64::abs));
        }
    }
    let densities = predictions
        .log_density
        .view()
        .into_shape_with_order((n, rows))
        .expect("log densities are stored in standard order");
    let each: Vec<f64> = densities.rows().into_iter().map(|r| r.sum() / rows as f64).collect();
    let averaged = densities.columns().into_iter().map(log_mean_exp).sum::<f64>() / rows as f64;
    scores.push(with_spread("log_predictive_density", averaged, each));
    Ok(Scores { scores, rows })
}

fn with_spread(name: &str, posterior: f64, draws: Vec<f64>) -> Score {
    let draws = ndarray::Array1::from(draws);
    let sd = if draws.len() > 1 { draws.std(1.0) } else { f64::NAN };
    let draws_mean = draws.mean().unwrap_or(f64::NAN);
    Score { name: name.into(), posterior, draws_mean, draws_sd: sd }
}

fn error(observed: &Array2<f64>, predicted: ArrayView2<f64>, loss: impl Fn(f64) -> f64) -> f64 {
    let sum: f64 = observed.iter().zip(predicted.iter()).map(|(y, p)| loss(y - p)).sum();
    sum / observed.len() as f64
}

fn accuracy(probabilities: ArrayView2<f64>, classes: &[usize]) -> f64 {
    let hits = probabilities.rows().into_iter().zip(classes).filter(|(p, class)| {
        let best = match p.len() {
            1 => usize::from(p[0] > 0.5),
            _ => (0..p.len()).fold(0, |best, k| if p[k] > p[best] { k } else { best }),
        };
        best == **class
    });
    hits.count() as f64 / classes.len() as f64
}

/// log of the mean of exp, without overflow.
fn log_mean_exp(values: ndarray::ArrayView1<f64>) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return if values.iter().any(|v| v.is_nan()) { f64::NAN } else { largest };
    }
    let sum: f64 = values.iter().map(|v| (v - largest).exp()).sum();
    largest + (sum / values.len() as f64).ln()
}

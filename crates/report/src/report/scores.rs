//! Scores beside a baseline that knows the training responses only.

use bnn_mcmc::Error;
use bnn_mcmc::data::Response;
use bnn_mcmc::predict::Scores;
use ndarray::Axis;

use super::Findings;

/// A line of the table of scores.
pub(super) struct Line {
    pub label: &'static str,
    pub model: f64,
    /// The same score of the baseline, where it has one.
    pub baseline: Option<f64>,
    /// What is good.
    pub better: &'static str,
}

/// Scores of the rows, each beside that of the baseline: for a real response and counts the mean of the
/// training responses with their standard deviation, for classes their shares in the training rows.
pub(super) fn lines(findings: &Findings) -> Result<Vec<Line>, Error> {
    let Scores { scores, .. } = findings.scored.scores()?;
    let train = findings.fit.training().response();
    let baseline = baseline(train, findings.rows.response());
    let line = |name: &str, value: f64| {
        let (label, better) = match name {
            "rmse" => ("Root mean squared error", "lower is better"),
            "mae" => ("Mean absolute error", "lower is better"),
            "crps" => ("Continuous ranked probability score", "lower is better"),
            "coverage_95" => ("Share of responses within their 95 % interval", "0.95 is right"),
            "width_95" => ("Mean width of the 95 % intervals", "narrower is better at 0.95"),
            "accuracy" => ("Share of classes that are right", "higher is better"),
            "brier" => ("Brier score", "lower is better"),
            "ece" => ("Expected calibration error", "lower is better"),
            "log_predictive_density" => {
                ("Log predictive density of a row, nats", "higher is better")
            }
            _ => return None,
        };
        let of_baseline = baseline.iter().find(|(other, _)| *other == name).map(|(_, v)| *v);
        Some(Line { label, model: value, baseline: of_baseline, better })
    };
    Ok(scores.iter().filter_map(|score| line(&score.name, score.posterior)).collect())
}

/// The scores of the baseline by name.
fn baseline(train: &Response, rows: &Response) -> Vec<(&'static str, f64)> {
    match (train, rows) {
        (Response::Classes { names, .. }, Response::Classes { index, .. }) => {
            let sizes = train.class_sizes().unwrap_or_default();
            let total: usize = sizes.iter().sum();
            let shares: Vec<f64> =
                sizes.iter().map(|size| *size as f64 / total.max(1) as f64).collect();
            let most = (0..names.len()).rev().max_by_key(|class| sizes[*class]).unwrap_or(0);
            let n = index.len() as f64;
            let mean = |of: &dyn Fn(usize) -> f64| index.iter().map(|c| of(*c)).sum::<f64>() / n;
            let squares: f64 = shares.iter().map(|share| share * share).sum();
            vec![
                ("accuracy", mean(&|class| f64::from(class == most))),
                ("brier", mean(&|class| squares + 1.0 - 2.0 * shares[class])),
                ("log_predictive_density", mean(&|class| shares[class].ln())),
            ]
        }
        (Response::Real(y), Response::Real(new)) => {
            let (Some(mean), sd) = (y.mean_axis(Axis(0)), y.std_axis(Axis(0), 1.0)) else {
                return Vec::new();
            };
            let errors = new - &mean;
            let density: f64 = errors
                .rows()
                .into_iter()
                .flat_map(|row| row.into_iter().zip(&sd).map(|(e, sd)| log_normal(*e, *sd)))
                .sum();
            vec![
                ("rmse", (errors.mapv(|e| e * e).mean().unwrap_or(f64::NAN)).sqrt()),
                ("mae", errors.mapv(f64::abs).mean().unwrap_or(f64::NAN)),
                ("log_predictive_density", density / new.nrows() as f64),
            ]
        }
        (Response::Counts(y), Response::Counts(new)) if y.ncols() == 1 => {
            let mean = y.mean().unwrap_or(f64::NAN);
            let errors = new.mapv(|count| count - mean);
            vec![
                ("rmse", (errors.mapv(|e| e * e).mean().unwrap_or(f64::NAN)).sqrt()),
                ("mae", errors.mapv(f64::abs).mean().unwrap_or(f64::NAN)),
            ]
        }
        _ => Vec::new(),
    }
}

fn log_normal(error: f64, sd: f64) -> f64 {
    -0.5 * ((2.0 * std::f64::consts::PI).ln() + (error / sd).powi(2)) - sd.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_baseline_knows_the_training_responses_only() {
        let train = Response::Real(array![[1.0], [3.0]]);
        let scores = baseline(&train, &Response::Real(array![[2.0], [5.0]]));
        // Errors 0 and 3 around the mean 2; the standard deviation is sqrt(2).
        let density = -0.5 * (2.0 * std::f64::consts::PI * 2.0).ln() - 0.25 * 9.0 / 2.0;
        for ((name, score), (wanted, value)) in scores.iter().zip([
            ("rmse", 4.5_f64.sqrt()),
            ("mae", 1.5),
            ("log_predictive_density", density),
        ]) {
            assert_eq!(*name, wanted);
            assert!((score - value).abs() < 1e-12, "{name}: {score} {value}");
        }
        let classes = |index: Vec<usize>| Response::Classes {
            index,
            names: vec!["a".to_owned(), "b".to_owned()],
        };
        let scores = baseline(&classes(vec![0, 0, 0, 1]), &classes(vec![0, 1]));
        assert_eq!(scores[0], ("accuracy", 0.5));
        // 1/2 ((1/4)^2 + (1/4)^2) + 1/2 ((3/4)^2 + (3/4)^2)
        assert!((scores[1].1 - 0.625).abs() < 1e-12, "{scores:?}");
        assert!((scores[2].1 - 0.5 * (0.75_f64 * 0.25).ln()).abs() < 1e-12, "{scores:?}");
    }
}

//! Scores beside a baseline that knows the training responses only.

use bnn_mcmc::Error;
use bnn_mcmc::data::Response;
use ndarray::{Array2, Axis, s};

use super::Findings;

/// A line of the table of scores.
pub(super) struct Line {
    pub label: String,
    pub model: f64,
    /// The score of the baseline, where it has one.
    pub baseline: Option<f64>,
    /// The values that are good, in words.
    pub better: &'static str,
}

/// Scores of the rows, each beside the score of the baseline: for a real response and counts the
/// mean of the training responses (with their standard deviation, of real ones), for classes their
/// shares in the training rows. With several responses each has scores of its own, since their
/// units may differ.
pub(super) fn lines(findings: &Findings) -> Result<Vec<Line>, Error> {
    let Findings { fit, rows, scored, are_new, .. } = findings;
    let (train, new) = (fit.training().response(), rows.response());
    let coverage = match (train, are_new) {
        (Response::Counts(_), _) => "0.95 or more is right",
        (_, true) => "0.95 is right",
        (_, false) => "above 0.95 in rows that were learnt from",
    };
    let line = |response: &str, name: &str, value: f64, baseline: &[(&str, f64)]| {
        let (label, better) = match name {
            "rmse" => ("Root mean squared error", "lower is better"),
            "mae" => ("Mean absolute error", "lower is better"),
            "crps" => ("Continuous ranked probability score", "lower is better"),
            "coverage_95" => ("Share of responses within their 95 % interval", coverage),
            "width_95" => ("Mean width of the 95 % intervals", "narrower is better at 0.95"),
            "accuracy" => ("Share of rows whose class is right", "higher is better"),
            "brier" => ("Brier score", "lower is better"),
            "concordance" => ("Concordance: pairs of rows in the right order", "higher is better"),
            "integrated_brier" => ("Integrated Brier score of survival", "lower is better"),
            "ece" => ("Expected calibration error, 15 bins of equal width", "lower is better"),
            "log_predictive_density" => {
                ("Log predictive density of a row, nats", "higher is better")
            }
            _ => return None,
        };
        let baseline = baseline.iter().find(|(other, _)| *other == name).map(|(_, v)| *v);
        let label = match response {
            "" => label.to_owned(),
            response => format!("{response}: {}{}", label[..1].to_lowercase(), &label[1..]),
        };
        Some(Line { label, model: value, baseline, better })
    };
    let scores = scored.scores()?.scores;
    let whole = baseline(train, new);
    let (Some(y), Some(observed)) = (train.real().filter(|y| y.ncols() > 1), new.real()) else {
        let lines = scores.iter().filter_map(|s| line("", &s.name, s.posterior, &whole));
        return Ok(lines.collect());
    };
    let (mean, crps) = (scored.posterior_mean()?, scored.crps()?);
    let interval = scored.predictive_interval(0.95)?;
    let width = interval.width();
    let mut lines = Vec::new();
    for (k, name) in scored.response_names().iter().enumerate() {
        let column = |y: &Array2<f64>| Response::Real(y.slice(s![.., k..=k]).to_owned());
        let baseline = baseline(&column(y), &column(observed));
        let errors = &observed.column(k) - &mean.column(k);
        let n = errors.len() as f64;
        let inside = (0..errors.len()).filter(|i| {
            let y = observed[(*i, k)];
            interval.lower[(*i, k)] <= y && y <= interval.upper[(*i, k)]
        });
        let values = [
            ("rmse", (errors.mapv(|e| e * e).sum() / n).sqrt()),
            ("mae", errors.mapv(f64::abs).sum() / n),
            ("crps", crps.column(k).sum() / n),
            ("coverage_95", inside.count() as f64 / n),
            ("width_95", width.column(k).sum() / n),
        ];
        // The density below is of all responses together.
        let own: Vec<_> =
            baseline.into_iter().filter(|(name, _)| *name != "log_predictive_density").collect();
        lines.extend(values.iter().filter_map(|(score, v)| line(name, score, *v, &own)));
    }
    let joint = scores.iter().filter(|score| score.name == "log_predictive_density");
    lines.extend(joint.filter_map(|s| line("", &s.name, s.posterior, &whole)));
    Ok(lines)
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
                ("brier", mean(&|class| squares + 1.0 - 2.0 * shares[class])), //~ report-brier
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
        (Response::Censored { .. }, Response::Censored { .. }) => vec![("concordance", 0.5)],
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

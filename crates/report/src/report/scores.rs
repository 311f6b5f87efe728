//! Scores beside a baseline that knows the training responses only.

use bnn_mcmc::Error;
use bnn_mcmc::data::Response;
use bnn_mcmc::predict::{Predictions, Score};
use ndarray::{Array2, ArrayView1, ArrayView2, s};

use super::Findings;

/// A line of the table of scores.
pub(super) struct Line {
    pub label: String,
    pub model: f64,
    /// The score of the linear model, if there is one.
    pub linear: Option<f64>,
    /// The score of the baseline, where it has one.
    pub baseline: Option<f64>,
    /// The values that are good, in words.
    pub better: &'static str,
}

/// Scores of the rows, each beside the score of the baseline: for a real response and counts the
/// mean of the training responses (with their standard deviation, of real ones), for classes their
/// shares in the training rows. All are by the weights of rows, if there are any. With several responses each has scores of its own, since their
/// units may differ.
pub(super) fn lines(findings: &Findings) -> Result<Vec<Line>, Error> {
    let Findings { fit, rows, scored, are_new, .. } = findings;
    let (train, new) = (fit.training().response(), rows.response());
    let coverage = match (train, are_new) {
        (Response::Counts(_), _) => "0.95 or more is right",
        (_, true) => "0.95 is right",
        (_, false) => "above 0.95 in rows that were learnt from",
    };
    let line = |response: &str, name: &str, value: f64, linear, baseline: &[(&str, f64)]| {
        let (label, better) = in_words(name, coverage)?;
        let baseline = baseline.iter().find(|(other, _)| *other == name).map(|(_, v)| *v);
        let label = match name {
            "rmse" | "mae" if !scored.centre().is_mean() => format!("{label} of medians"),
            _ => label.to_string(),
        };
        let label = match response {
            "" => label,
            response => format!("{response}: {}{}", label[..1].to_lowercase(), &label[1..]),
        };
        Some(Line { label, model: value, linear, baseline, better })
    };
    let linear = findings.linear.as_ref().and_then(|linear| Some(&linear.as_ref().ok()?.scored));
    let (scores, of_linear) = (scored.scores()?, linear.and_then(|linear| linear.scores().ok()));
    let of_linear = |name: &str| Some(of_linear.as_ref()?.get(name)?.posterior);
    let of = [fit.training().weights(), rows.weights()].map(Weights);
    let whole = baseline(train, new, of);
    let by_row = |s: &Score| line("", &s.name, s.posterior, of_linear(&s.name), &whole);
    let (Some(y), Some(observed)) = (train.real().filter(|y| y.ncols() > 1), new.real()) else {
        return Ok(scores.scores.iter().filter_map(by_row).collect());
    };
    let [_, of_rows] = of;
    let ours = of_columns(scored, observed, of_rows)?;
    let linear = linear.and_then(|linear| of_columns(linear, observed, of_rows).ok());
    let mut lines = Vec::new();
    for (k, name) in scored.response_names().iter().enumerate() {
        let column = |y: &Array2<f64>| Response::Real(y.slice(s![.., k..=k]).to_owned());
        let baseline = baseline(&column(y), &column(observed), of);
        // The density below is of all responses together.
        let own: Vec<_> =
            baseline.into_iter().filter(|(name, _)| *name != "log_predictive_density").collect();
        lines.extend(ours[k].iter().enumerate().filter_map(|(j, (score, value))| {
            line(name, score, *value, linear.as_ref().map(|linear| linear[k][j].1), &own)
        }));
    }
    let joint = scores.scores.iter().filter(|score| score.name == "log_predictive_density");
    lines.extend(joint.filter_map(by_row));
    Ok(lines)
}

/// The label of a score, and the values that are good, with those of the coverage; `None` of scores that have no line.
fn in_words(name: &str, coverage: &'static str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "rmse" => ("Root mean squared error", "lower is better"),
        "mae" => ("Mean absolute error", "lower is better"),
        "mae_median" => ("Mean absolute error of the medians of new draws", "lower is better"),
        "crps" => ("Continuous ranked probability score", "lower is better"),
        "coverage_95" => ("Share of responses within their 95 % interval", coverage),
        "width_95" => ("Mean width of the 95 % intervals", "narrower is better at 0.95"),
        "accuracy" => ("Share of rows whose class is right", "higher is better"),
        "brier" => ("Brier score", "lower is better"),
        "concordance" => ("Concordance: pairs of rows in the right order", "higher is better"),
        "integrated_brier" => ("Integrated Brier score of survival", "lower is better"),
        "ece" => ("Expected calibration error, 15 bins of equal width", "lower is better"),
        "log_predictive_density" => ("Log predictive density of a row, nats", "higher is better"),
        _ => return None,
    })
}

/// The scores of each column of a real response.
fn of_columns(
    predictions: &Predictions,
    observed: &Array2<f64>,
    of_rows: Weights,
) -> Result<Vec<[(&'static str, f64); 6]>, Error> {
    let (mean, crps) = (predictions.posterior_mean()?, predictions.crps()?);
    let interval = predictions.predictive_interval(0.95)?;
    let (width, medians) = (interval.width(), predictions.predictive_quantiles(&[0.5])?);
    let of_column = |k: usize| {
        let errors = &observed.column(k) - &mean.column(k);
        let of_medians = &observed.column(k) - &medians.slice(s![.., k, 0]);
        let inside = (0..errors.len()).map(|i| {
            let y = observed[(i, k)];
            f64::from(interval.lower[(i, k)] <= y && y <= interval.upper[(i, k)])
        });
        [
            ("rmse", of_rows.mean(errors.iter().map(|e| e * e)).sqrt()),
            ("mae", of_rows.mean(errors.iter().map(|e| e.abs()))),
            ("mae_median", of_rows.mean(of_medians.iter().map(|e| e.abs()))),
            ("crps", of_rows.mean(crps.column(k).iter().copied())),
            ("coverage_95", of_rows.mean(inside)),
            ("width_95", of_rows.mean(width.column(k).iter().copied())),
        ]
    };
    Ok((0..observed.ncols()).map(of_column).collect())
}

/// The weights of rows, if they have any.
#[derive(Clone, Copy)]
pub(super) struct Weights<'w>(pub Option<ArrayView1<'w, f64>>);

impl Weights<'_> {
    /// The sum of the weights, or the number of `rows`.
    fn total(self, rows: usize) -> f64 {
        self.0.map_or(rows as f64, |w| w.sum())
    }

    /// The mean of a number of each row.
    pub fn mean(self, values: impl ExactSizeIterator<Item = f64>) -> f64 {
        let n = self.total(values.len());
        match self.0 {
            // A row that counts for nothing may have an infinite number.
            Some(w) => {
                let counted = values.zip(w).filter(|(_, w)| **w > 0.0);
                counted.map(|(value, w)| w * value).sum::<f64>() / n //~ weighted-baseline
            }
            None => values.sum::<f64>() / n,
        }
    }

    /// Mean and standard deviation of each column, with the divisor n - 1 of n rows that the weights stand for.
    pub fn moments(self, y: ArrayView2<f64>) -> Vec<[f64; 2]> {
        let n = self.total(y.nrows());
        let of = |column: ArrayView1<f64>| {
            let mean = self.mean(column.iter().copied());
            let variance = self.mean(column.iter().map(|y| (y - mean) * (y - mean)));
            [mean, (variance * n / (n - 1.0)).sqrt()]
        };
        y.columns().into_iter().map(of).collect()
    }
}

/// The scores of the baseline by name, with the weights of the training rows and of the rows.
fn baseline(
    train: &Response,
    rows: &Response,
    [of_train, of_rows]: [Weights; 2],
) -> Vec<(&'static str, f64)> {
    match (train, rows) {
        (Response::Classes { index: seen, names }, Response::Classes { index, .. }) => {
            let share = |class: usize| of_train.mean(seen.iter().map(|c| f64::from(*c == class)));
            let shares: Vec<f64> = (0..names.len()).map(share).collect();
            let most = |a: &usize, b: &usize| shares[*a].total_cmp(&shares[*b]);
            let most = (0..names.len()).rev().max_by(most).unwrap_or(0);
            let mean = |of: &dyn Fn(usize) -> f64| of_rows.mean(index.iter().map(|c| of(*c)));
            let squares: f64 = shares.iter().map(|share| share * share).sum();
            vec![
                ("accuracy", mean(&|class| f64::from(class == most))),
                ("brier", mean(&|class| squares + 1.0 - 2.0 * shares[class])), //~ report-brier
                ("log_predictive_density", mean(&|class| shares[class].ln())),
            ]
        }
        (Response::Real(y), Response::Real(new)) => {
            let moments = of_train.moments(y.view());
            let of_row = |row: ArrayView1<f64>| -> f64 {
                row.iter().zip(&moments).map(|(y, [mean, sd])| log_normal(y - mean, *sd)).sum()
            };
            let mut scores = errors(new.view(), &moments, of_rows);
            scores
                .push(("log_predictive_density", of_rows.mean(new.rows().into_iter().map(of_row))));
            scores
        }
        (Response::Counts(y), Response::Counts(new)) if y.ncols() == 1 => {
            errors(new.view(), &of_train.moments(y.view()), of_rows)
        }
        (Response::Censored { .. }, Response::Censored { .. }) => vec![("concordance", 0.5)],
        _ => Vec::new(),
    }
}

/// The errors of means as predictions.
fn errors(
    new: ArrayView2<f64>,
    moments: &[[f64; 2]],
    of_rows: Weights,
) -> Vec<(&'static str, f64)> {
    let columns = moments.len() as f64;
    let mean = |loss: fn(f64) -> f64| {
        let of_row = |row: ArrayView1<f64>| {
            row.iter().zip(moments).map(|(y, [mean, _])| loss(y - mean)).sum::<f64>() / columns
        };
        of_rows.mean(new.rows().into_iter().map(of_row))
    };
    vec![("rmse", mean(|e| e * e).sqrt()), ("mae", mean(f64::abs))]
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
        let scores = baseline(&train, &Response::Real(array![[2.0], [5.0]]), [Weights(None); 2]);
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
        let scores = baseline(&classes(vec![0, 0, 0, 1]), &classes(vec![0, 1]), [Weights(None); 2]);
        assert_eq!(scores[0], ("accuracy", 0.5));
        // 1/2 ((1/4)^2 + (1/4)^2) + 1/2 ((3/4)^2 + (3/4)^2)
        assert!((scores[1].1 - 0.625).abs() < 1e-12, "{scores:?}");
        assert!((scores[2].1 - 0.5 * (0.75_f64 * 0.25).ln()).abs() < 1e-12, "{scores:?}");
    }

    #[test]
    fn the_baseline_of_weighted_rows_is_of_the_rows_written_out() {
        let close = |short: Vec<(&str, f64)>, long: Vec<(&str, f64)>| {
            assert_eq!(short.len(), long.len());
            for (a, b) in short.iter().zip(&long) {
                assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-12, "{a:?} {b:?}");
            }
        };
        let [w, v] = [array![3.0, 0.0, 1.0], array![1.0, 2.0]];
        let weights = [Weights(Some(w.view())), Weights(Some(v.view()))];
        let real = |y: Vec<f64>| Response::Real(Array2::from_shape_vec((y.len(), 1), y).unwrap());
        let counts =
            |y: Vec<f64>| Response::Counts(Array2::from_shape_vec((y.len(), 1), y).unwrap());
        let classes = |index: Vec<usize>| Response::Classes {
            index,
            names: vec!["a".to_owned(), "b".to_owned()],
        };
        let plain = [Weights(None); 2];
        close(
            baseline(&real(vec![1.0, 7.0, 3.0]), &real(vec![2.0, 5.0]), weights),
            baseline(&real(vec![1.0, 1.0, 1.0, 3.0]), &real(vec![2.0, 5.0, 5.0]), plain),
        );
        close(
            baseline(&counts(vec![1.0, 7.0, 3.0]), &counts(vec![2.0, 5.0]), weights),
            baseline(&counts(vec![1.0, 1.0, 1.0, 3.0]), &counts(vec![2.0, 5.0, 5.0]), plain),
        );
        close(
            baseline(&classes(vec![0, 1, 1]), &classes(vec![0, 1]), weights),
            baseline(&classes(vec![0, 0, 0, 1]), &classes(vec![0, 1, 1]), plain),
        );
    }
}

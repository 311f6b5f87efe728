//! Predictive checks of a fit: the usual statistics, of the posterior and of the prior.

use ndarray::{Array1, Array2, ArrayView1, Axis, s};

use super::{Fit, Plan};
use crate::Error;
use crate::data::{Dataset, Response, TableColumn, ValueKind};
use crate::explain::evenly;
use crate::predict::{Predictions, PredictiveCheck};

/// The most rows.
const ROWS: usize = 5000;
/// The draws of the prior.
const OF_PRIOR: usize = 200;
/// The replicated responses that are kept whole.
const KEPT: usize = 40;
/// The most labels of a column whose rows are checked one by one, and the fewest rows of a label.
const LABELS: (usize, usize) = (12, 10);

/// [Predictive checks](PredictiveCheck) of a column of the response, from [`Fit::predictive_checks`].
#[derive(Clone, Debug)]
pub struct PredictiveChecks {
    /// The column of the response.
    pub column: String,
    /// The names of the classes; `None` of numbers.
    pub classes: Option<Vec<String>>,
    /// The statistics by draws of the posterior.
    pub posterior: Vec<PredictiveCheck>,
    /// The same statistics by 200 draws of the prior, in the same order.
    pub prior: Vec<PredictiveCheck>,
    /// The observed responses; of classes their places among the names.
    pub observed: Array1<f64>,
    /// Responses in their place by at most 40 draws of the posterior, evenly spaced: `[draw, row]`.
    pub replicated: Array2<f64>,
    /// The same by draws of the prior.
    pub of_prior: Array2<f64>,
}

/// The rows of a label of a column.
struct Label {
    /// ` where site = A`.
    words: String,
    rows: Vec<usize>,
}

impl Fit {
    /// Predictive checks of each column of the response, by responses that the model would have had in the place of the
    /// training rows (at most 5,000, evenly spaced), and by those that it expected before it had any row:
    ///
    /// | response | statistics |
    /// | --- | --- |
    /// | real | mean, standard deviation, smallest, largest, and where any is 0 the share of zeros |
    /// | counts | the same, always with the share of zeros |
    /// | classes | the share of each |
    /// | of columns of labels | the mean, or of two classes the share of the second, of each label with at least 10 rows, of columns with at most 12 labels |
    ///
    /// Rows count by their [weights](Dataset::with_weights); rows of weight 0 are left out. [`PredictiveCheck`] says what can be concluded.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = Dataset::counts(x.clone(), x.mapv(|x| (x * x).round()))?;
    /// let fit = Fit::counts("visits").hidden(&[]).chains(2).draws(200).fit(&data)?;
    /// for check in &fit.predictive_checks()?[0].posterior {
    ///     println!("{:20} {:8.2}, p = {:.2}", check.name, check.observed, check.p_value());
    /// }
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// Times with bounds, whose replicates would need bounds, too; a run that was ended before the first draw; predictions that do
    /// not fit into memory; several completed tables.
    pub fn predictive_checks(&self) -> Result<Vec<PredictiveChecks>, Error> {
        let Plan { response, features, posterior, .. } = &*self.of_one_table()?.plan;
        let rows = evenly(&self.training().counted(), ROWS)?;
        let ours = self.few_draws()?.predict(&rows)?;
        let scaled = features.scale_features(&rows)?;
        let scaled = match response {
            Some(scaler) => scaler.scale_response(&scaled)?,
            None => scaled,
        };
        let prior = posterior.prior_predictive(OF_PRIOR, &scaled, self.draws.info().seed)?;
        let prior = match response {
            Some(scaler) => prior.unscaled(scaler)?,
            None => prior,
        };
        let labels = labels(&self.table_columns()?, &rows);
        let names = ours.response_names();
        let of_column = |(column, name): (usize, &String)| {
            Ok(PredictiveChecks {
                column: name.clone(),
                classes: rows.response().class_names().map(<[String]>::to_vec),
                posterior: statistics(&ours, column, &rows, &labels)?,
                prior: statistics(&prior, column, &rows, &labels)?,
                observed: observed(rows.response(), column),
                replicated: some(&ours, column),
                of_prior: some(&prior, column),
            })
        };
        let drawn = ours.predictive_draws().len_of(Axis(3));
        names.iter().enumerate().take(drawn).map(of_column).collect()
    }
}

/// The labels of columns with few of them, and their rows.
fn labels(columns: &[TableColumn], rows: &Dataset) -> Vec<Label> {
    let (most, fewest) = LABELS;
    let mut labels = Vec::new();
    for column in columns.iter().filter(|column| column.kind() == ValueKind::Label) {
        let levels = column.levels().unwrap_or_default();
        let mut places = vec![Vec::new(); levels.len()];
        for (i, row) in rows.x().rows().into_iter().enumerate() {
            if let Some(code) = column.value(row) {
                places[code as usize].push(i);
            }
        }
        let found = places.iter().filter(|rows| !rows.is_empty()).count();
        if (2..=most).contains(&found) {
            for (level, rows) in levels.iter().zip(places) {
                if rows.len() >= fewest {
                    labels
                        .push(Label { words: format!(" where {} = {level}", column.name()), rows });
                }
            }
        }
    }
    labels
}

/// The usual statistics of a column of the response.
fn statistics(
    predictions: &Predictions,
    column: usize,
    rows: &Dataset,
    labels: &[Label],
) -> Result<Vec<PredictiveCheck>, Error> {
    let all: Vec<usize> = (0..rows.rows()).collect();
    let weight = |row: usize| rows.weights().map_or(1.0, |weights| weights[row]);
    let mean = |y: ArrayView1<f64>, rows: &[usize], of: &dyn Fn(f64) -> f64| {
        let sum: f64 = rows.iter().map(|i| weight(*i) * of(y[*i])).sum(); //~ check-weights
        sum / rows.iter().map(|i| weight(*i)).sum::<f64>()
    };
    let check = |name: String, statistic: &dyn Fn(ArrayView1<f64>) -> f64| {
        predictions.check(column, name, statistic)
    };
    let mut checks = Vec::new();
    if let Some(names) = rows.response().class_names() {
        let is = |class: usize| move |y: f64| f64::from(u8::from(y == class as f64));
        for (class, name) in names.iter().enumerate() {
            checks.push(check(format!("share of {name}"), &|y| mean(y, &all, &is(class)))?);
        }
        if let [_, second] = names {
            for Label { words, rows } in labels {
                let name = format!("share of {second}{words}");
                checks.push(check(name, &|y| mean(y, rows, &is(1)))?);
            }
        }
        return Ok(checks);
    }
    let same = |y: f64| y;
    let average = |y: ArrayView1<f64>| mean(y, &all, &same);
    checks.push(check("mean".into(), &average)?);
    checks.push(check("standard deviation".into(), &|y| {
        let centre = average(y);
        mean(y, &all, &|y| (y - centre).powi(2)).sqrt()
    })?);
    checks.push(check("smallest".into(), &|y| y.fold(f64::INFINITY, |a, b| a.min(*b)))?);
    checks.push(check("largest".into(), &|y| y.fold(f64::NEG_INFINITY, |a, b| a.max(*b)))?);
    let is_zero = |y: f64| f64::from(u8::from(y == 0.0));
    let are_counts = rows.response().counts().is_some();
    if are_counts || observed(rows.response(), column).iter().any(|y| *y == 0.0) {
        checks.push(check("share of zeros".into(), &|y| mean(y, &all, &is_zero))?);
    }
    for Label { words, rows } in labels {
        checks.push(check(format!("mean{words}"), &|y| mean(y, rows, &same))?);
    }
    Ok(checks)
}

fn observed(response: &Response, column: usize) -> Array1<f64> {
    response.in_columns().column(column).to_owned()
}

/// Responses of some draws, evenly spaced over all chains.
fn some(predictions: &Predictions, column: usize) -> Array2<f64> {
    let drawn = predictions.predictive_draws();
    let (chains, draws, rows, _) = drawn.dim();
    let n = (chains * draws).min(KEPT);
    let mut kept = Array2::zeros((n, rows));
    for (k, mut row) in kept.rows_mut().into_iter().enumerate() {
        let place = k * chains * draws / n;
        row.assign(&drawn.slice(s![place / draws, place % draws, .., column]));
    }
    kept
}

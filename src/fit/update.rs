//! New rows for a fit, without a new fit.

use std::fmt;

use ndarray::s;
use rayon::prelude::*;

use super::recipe::FitPosterior;
use super::{AnyLikelihood, Fit, Method, Network, Origin, Outside, Parts, range};
use crate::Error;
use crate::data::{Dataset, Response, new_group};
use crate::kernel::Algorithm;
use crate::message::{count, number};
use crate::portable::{erf, ln};
use crate::predict::Predictions;
use crate::sampler::Collapsed;
use crate::update::{K_LIMIT, Update, Updated};

/// The chance of rows as unlike the others below which they have drifted.
const DRIFTED: f64 = 0.001;
/// The most draws whose responses the new ones are compared with.
const REPLICATES: usize = 4000;

/// What [`Fit::update`] has made and seen. Printed, it is a few sentences.
#[derive(Debug)]
pub struct UpdatedFit {
    /// The fit of all rows.
    pub fit: Fit,
    /// The number of new rows.
    pub rows: usize,
    /// The Pareto k of the weights for the new rows, see [`Updated`](crate::update::Updated::pareto_k).
    pub pareto_k: f64,
    /// The powers of the new rows' likelihood that were gone through; of weights alone 1.
    pub powers: Vec<f64>,
    /// The gradients that were needed.
    pub gradient_evals: u64,
    /// The chance of new rows as unlike what the fit predicted of them, if the model is right and the new rows are like the others: of their location, and of
    /// their spread (of classes of their log probability), by responses that its draws predict; `None` of times.
    pub drift: Option<f64>,
    /// The values outside the range of the training data of before.
    pub outside: Vec<Outside>,
}

impl UpdatedFit {
    /// Whether the new rows are so unlike what the fit predicted of them that they or the process they come from have changed:
    /// [`drift`](Self::drift) is below 0.001.
    pub fn has_drifted(&self) -> bool {
        self.drift.is_some_and(|chance| chance < DRIFTED) //~ has-drifted
    }
}

impl fmt::Display for UpdatedFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, k) = (count(self.rows, "new row"), number(self.pareto_k));
        match self.powers.len() {
            1 => write!(f, "{rows}: draws of before, weighted (Pareto k {k})")?,
            powers => write!(
                f,
                "{rows}: draws moved in {} by {} (Pareto k {k}, and weights are used up to {K_LIMIT})",
                count(powers, "step"),
                count(self.gradient_evals as usize, "gradient")
            )?,
        }
        match self.drift {
            Some(chance) if self.has_drifted() => write!(
                f,
                "; they have drifted: rows so unlike what was predicted have a chance of {chance:.1e} if the model still holds"
            )?,
            Some(chance) => write!(f, "; they are like what was predicted (p = {chance:.2})")?,
            None => {}
        }
        Ok(())
    }
}

impl Fit {
    /// The fit of these rows and `rows`, in the units of the table, by the draws of this fit: a fifth and less of the gradients of a new fit where new rows are few.
    /// [`crate::update`] has the method; it is exact, as far as this fit's draws are of its posterior. **Scalings, and what else the model has learnt from the
    /// table, stay those of the first rows**, also in fits that are made of the [`recipe`](Self::recipe). The new rows are all learnt from, also where rows were kept for validation.
    ///
    /// Whether new rows are like the others is told ([`UpdatedFit::drift`]), not decided: the update is of one and the same model.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((44, 1), |(i, _)| (i * 7 % 44) as f64 / 10.0);
    /// # let all = Dataset::regression(x.clone(), x.mapv(|x| 3.0 * x + (9.0 * x).sin()))?;
    /// let (first, rows) = (all.select(&(0..40).collect::<Vec<_>>())?, all.select(&[40, 41, 42, 43])?);
    /// let fit = Fit::regression("y").hidden(&[]).fit(&first)?;
    /// let updated = fit.update(&rows)?;
    /// assert_eq!(updated.fit.data().rows(), 44);
    /// println!("{updated}"); // 4 new rows: draws of before, weighted (Pareto k 0.21); they are like what was predicted (p = 0.60)
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// Other columns, responses or classes than the training data's, a group that they do not have, numbers that are not finite; an ensemble, completed tables, a [thinned](Self::thinned) fit; fewer than 40 draws of a chain;
    /// rows that are hardly possible under all draws; predictions that do not fit into memory.
    pub fn update(&self, rows: &Dataset) -> Result<UpdatedFit, Error> {
        let Parts { recipe, origin, data, features, response, posterior, train, ranges, .. } =
            &*self.parts;
        self.check_whole()?;
        if recipe.imputed.is_some() {
            let allowed = "a table without missing values";
            return Err(Error::argument("data", "a table completed by imputation", allowed));
        }
        let all = data.with_rows(rows)?;
        for column in recipe.reader.groupings() {
            let name = new_group(column);
            let place = rows.feature_names().iter().position(|own| *own == name);
            let is_new = |row: &usize| place.is_some_and(|j| rows.x()[[*row, j]] != 0.0);
            if let Some(row) = (0..rows.rows()).find(is_new) {
                let found = format!("new in row {row} of the new rows");
                let allowed = "of those of before, which have an intercept: fit all rows";
                return Err(Error::argument(format!("group of `{column}`"), found, allowed));
            }
        }
        let predictions = self.predict(rows)?;
        let drift = drift(&predictions, rows);
        let outside = range::outside(rows.x().view(), ranges);

        let mut scaled = features.scale_features(rows)?;
        if let Some(scaler) = response {
            scaled = scaler.scale_response(&scaled)?;
        }
        let columns = train.response().width();
        let can_collapse = recipe.can_collapse(columns) && columns == 1;
        let updated = match recipe.chosen_method(columns) {
            Method::Nuts => self.moved(recipe.nuts(), &scaled),
            Method::Collapsed | Method::Tempered if can_collapse => {
                self.moved(Collapsed::new(recipe.mams()), &scaled)
            }
            _ => self.moved(recipe.mams(), &scaled),
        }?;
        let learnt_from = recipe.learnt_from.unwrap_or(data.rows());
        let mut recipe = recipe.clone().draws(updated.draws.n_draws());
        recipe.learnt_from = Some(learnt_from);
        let origin = Origin { lines: None, ..origin.clone() };
        let parts = Parts::new(recipe, &all, origin)?;
        debug_assert_eq!(posterior.layout(), parts.posterior.layout());
        let fit = Fit {
            parts: parts.into(),
            draws: updated.draws,
            save_error: None,
            rebuilt: Vec::new(),
        };
        Ok(UpdatedFit {
            fit,
            rows: rows.rows(),
            pareto_k: updated.pareto_k,
            powers: updated.powers,
            gradient_evals: updated.gradient_evals,
            drift,
            outside,
        })
    }

    fn moved<A>(
        &self,
        algorithm: A,
        rows: &Dataset,
    ) -> Result<Updated<Network, AnyLikelihood>, Error>
    where
        A: for<'t> Algorithm<&'t FitPosterior>,
    {
        let Parts { recipe, posterior, train, .. } = &*self.parts;
        Update::new(algorithm).seed(recipe.seed).run(posterior, train, &self.draws, rows)
    }
}

/// The chance of new rows as unlike their predictions, by responses of all new rows at once that each draw predicts; `None` of times.
///
/// u_i + 1/2 is the share of the draws whose response of row i is below the observed one, ties by half; of classes u_i is the log probability of the
/// observed one. The sums of u_i and of u_i^2 are compared with those of the replicates, the responses that one draw predicts of all rows, by their mean and standard deviation; the smaller of the two
/// chances, each of a normal distribution and two-sided, counts twice.
fn drift(predictions: &Predictions, rows: &Dataset) -> Option<f64> {
    let drawn = predictions.predictive_draws();
    let (chains, draws, n, columns) = drawn.dim();
    let every = (chains * draws).div_ceil(REPLICATES).max(1);
    let cell_of = |cell: usize| -> Vec<f64> {
        let of_cell = drawn.slice(s![.., .., cell / columns, cell % columns]);
        of_cell.iter().copied().step_by(every).collect()
    };
    // The u of the observed response and of the replicates.
    let u: Vec<(f64, Vec<f64>)> = match rows.response() {
        Response::Real(y) | Response::Counts(y) => {
            let of = |cell: usize| {
                let drawn = cell_of(cell);
                let mut sorted = drawn.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                let u = |y: f64| {
                    let below = sorted.partition_point(|x| *x < y);
                    let up_to = sorted.partition_point(|x| *x <= y);
                    (below + up_to) as f64 / (2 * sorted.len()) as f64 - 0.5
                };
                (u(y[[cell / columns, cell % columns]]), drawn.into_iter().map(u).collect())
            };
            (0..n * columns).into_par_iter().map(of).collect()
        }
        Response::Classes { index, names } => {
            let of = |row: usize| {
                let drawn = cell_of(row);
                let mut rows = vec![0.5; names.len()];
                drawn.iter().for_each(|class| rows[*class as usize] += 1.0);
                let u = |class: usize| ln(rows[class] / (drawn.len() as f64 + 1.0));
                (u(index[row]), drawn.iter().map(|class| u(*class as usize)).collect())
            };
            (0..n).into_par_iter().map(of).collect()
        }
        Response::Censored { .. } => return None,
    };
    let replicates = u.first().map_or(0, |(_, drawn)| drawn.len());
    let statistics: [fn(f64) -> f64; 2] = [|u| u, |u| u * u];
    let chances = statistics.map(|of| {
        let observed: f64 = u.iter().map(|(observed, _)| of(*observed)).sum();
        let replicate = |r: usize| u.iter().map(|(_, drawn)| of(drawn[r])).sum::<f64>();
        let all: Vec<f64> = (0..replicates).map(replicate).collect();
        let mean = all.iter().sum::<f64>() / replicates as f64;
        let squares: f64 = all.iter().map(|value| (value - mean).powi(2)).sum();
        let z = (observed - mean) / (squares / replicates as f64).sqrt(); //~ drift-replicates
        // Where all replicates are the same, so must the observed one be.
        if z.is_nan() { 1.0 } else { 1.0 - erf(z.abs() / std::f64::consts::SQRT_2) }
    });
    Some((2.0 * chances[0].min(chances[1])).min(1.0))
}

//! New rows for a fit, without a new fit.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use ndarray::{ArrayView1, ArrayView4, s};

use super::recipe::FitPosterior;
use super::{AnyLikelihood, Fit, Method, Network, Origin, Outside, Plan, Recipe, range};
use crate::Error;
use crate::data::{Dataset, Response, new_group};
use crate::kernel::Algorithm;
use crate::message::count;
use crate::portable::ln;
use crate::sampler::Collapsed;
use crate::threads;
use crate::update::{K_LIMIT, Update, Updated};

/// The chance of rows as unlike the others below which they have drifted.
const DRIFTED: f64 = 0.001;
/// The fewest sets of responses of all new rows that these are compared with.
const REPLICATES: usize = 8000;
/// The gradients that an update may take, in those that the fit's run took.
const WORTHWHILE: f64 = 2.0;
/// The iterations of a chain, warm-up included, of a run of usual length.
const LONG: usize = 2000;
/// The fewest new rows that are compared with what was predicted.
const FEWEST: usize = 5;

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
    /// their spread (of classes of their log probability), among 8,000 or more sets of responses that its draws predict; `None` of times, and of fewer than five rows. One row that is
    /// far off is no drift, and makes k large.
    pub drift: Option<f64>,
    /// The new rows that are equal to one of the rows of before in all features and in the response: they count again.
    pub repeated: usize,
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
        let (rows, k) = (count(self.rows, "new row"), format!("{:.2}", self.pareto_k));
        match self.powers.len() {
            1 => write!(f, "{rows}: the draws were weighted (Pareto k {k})")?,
            powers => write!(
                f,
                "{rows}: the draws were moved in {} by {} (Pareto k {k}; weights alone are used up to {K_LIMIT})",
                count(powers, "step"),
                count(self.gradient_evals as usize, "gradient")
            )?,
        }
        match self.drift {
            Some(chance) if self.has_drifted() => write!(
                f,
                "; they have drifted: if the model still held, rows so unlike what was predicted would have a chance of {chance:.1e}"
            )?,
            Some(chance) => {
                let digits = if chance < 0.01 { 4 } else { 2 };
                write!(f, "; they are like what was predicted (p = {chance:.digits$})")?
            }
            None => {}
        }
        if self.repeated > 0 {
            let rows = count(self.repeated, "row");
            write!(f, "; learnt from before, and counted once more: {rows}")?;
        }
        Ok(())
    }
}

impl Fit {
    /// The fit of these rows and `rows`, in the units of the table, by the draws of this fit: by weights and no gradient where new rows are few, else by moves, which take about a third of the gradients of a new fit for half as many rows again.
    /// [`crate::update`] has the method, and how exact it is; this fit's draws must be of its posterior. Draws are moved by the sampler of the fit; of several responses and
    /// of [`Method::Tempered`] by [`Mams`](crate::sampler::Mams), on all parameters unless the output layer of one response can be integrated out. **Scalings, and what else the model has learnt from the
    /// table, come from the first rows only**, also in fits made of the [`recipe`](Self::recipe). The new rows are all learnt from, also where rows were kept for validation.
    ///
    /// Rows far from what the fit predicts take many gradients. Where the update needs over twice as many as this fit's run took (of 2,000 iterations, if it was shorter), which is forecast before
    /// the draws are moved, it ends with an error: a new fit of all rows is better then, in scalings too.
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
    /// println!("{updated}"); // 4 new rows: the draws were weighted (Pareto k 0.21)
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// Other columns, responses or classes than the training data's, a group that they do not have, numbers that are not finite; an ensemble, completed tables, a [thinned](Self::thinned) fit; fewer than 40 draws of a chain;
    /// new rows without a finite density under some draw, or that need over twice as many gradients as this fit took; predictions that do not fit into memory.
    pub fn update(&self, rows: &Dataset) -> Result<UpdatedFit, Error> {
        let Plan { recipe, origin, data, features, response, posterior, ranges, .. } =
            &*self.of_one_table()?.plan;
        if self.draws.info().thin != 1 {
            let allowed = "with all its draws";
            return Err(Error::argument("fit", "thinned", allowed));
        }
        if recipe.decided.imputed.is_some() {
            let allowed = "a table without missing values";
            return Err(Error::argument("data", "a table completed by imputation", allowed));
        }
        let all = data.with_rows(rows)?;
        check_groups(recipe, rows)?;
        let repeated = repeated(self.training(), rows);
        let drift = drift(self, rows)?;
        let outside = range::outside(rows.x().view(), ranges);

        let mut scaled = features.scale_features(rows)?;
        if let Some(scaler) = response {
            scaled = scaler.scale_response(&scaled)?;
        }
        let columns = data.response().width();
        let can_collapse = recipe.can_collapse(columns) && columns == 1;
        let updated = match recipe.chosen_method(columns) {
            Method::Nuts => self.moved(recipe.nuts(), &scaled),
            Method::Collapsed | Method::Tempered if can_collapse => {
                self.moved(Collapsed::new(recipe.mams()), &scaled)
            }
            _ => self.moved(recipe.mams(), &scaled),
        };
        let updated = updated.map_err(|error| match (error, drift) {
            (Error::Argument { name, value, allowed, .. }, Some(chance))
                if chance < DRIFTED && name.ends_with(" that the new rows need") =>
            {
                let drifted = format!("{value}, and they have drifted (a chance of {chance:.1e})");
                Error::argument(name, drifted, allowed)
            }
            (error, _) => error,
        })?;
        let learnt_from = recipe.decided.learnt_from.unwrap_or(data.rows());
        let mut recipe = recipe.clone().draws(updated.draws.n_draws());
        recipe.decided.learnt_from = Some(learnt_from);
        let origin = Origin { lines: None, ..origin.clone() };
        let plan = Plan::new(recipe, Cow::Owned(all), origin)?;
        debug_assert_eq!(posterior.layout(), plan.posterior.layout());
        Ok(UpdatedFit {
            fit: Fit::new(plan, updated.draws),
            rows: rows.rows(),
            pareto_k: updated.pareto_k,
            powers: updated.powers,
            gradient_evals: updated.gradient_evals,
            drift,
            repeated,
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
        let (Plan { recipe, posterior, .. }, train) = (&*self.plan, self.plan.train()?);
        let mut update = Update::new(algorithm).seed(recipe.settings.seed);
        // Draws of an update say nothing of what a run takes. A shorter run counts as one of `LONG` iterations.
        if !self.draws.info().warmup_gradient_evals.is_empty() {
            let sizes = recipe.sizes();
            let iterations = (sizes.warmup + sizes.draws).max(1);
            let each = self.draws.gradient_evals() as f64 / iterations as f64;
            update =
                update.most_gradients((WORTHWHILE * each * iterations.max(LONG) as f64) as u64);
        }
        let run = || update.run(posterior, &train, &self.draws, rows);
        match recipe.here.threads {
            Some(n) => threads::pool(n)?.install(run),
            None => run(),
        }
    }
}

/// An error if a row belongs to a group that has no intercept.
fn check_groups(recipe: &Recipe, rows: &Dataset) -> Result<(), Error> {
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
    Ok(())
}

/// The number of `rows` that are in `data`, too, with the same response.
fn repeated(data: &Dataset, rows: &Dataset) -> usize {
    let bits = |of: &Dataset| -> Vec<Vec<u64>> {
        let (x, y) = (of.x(), of.response().in_columns());
        let each = x.rows().into_iter().zip(y.rows());
        let bits = |(x, y): (ArrayView1<f64>, ArrayView1<f64>)| {
            x.iter().chain(y).map(|v| (v + 0.0).to_bits()).collect()
        };
        each.map(bits).collect()
    };
    let known: HashSet<Vec<u64>> = bits(data).into_iter().collect();
    bits(rows).iter().filter(|row| known.contains(*row)).count() //~ repeated-rows
}

/// The chance of new rows as unlike their predictions, by the responses of all new rows at once that each draw predicts; `None` of times
/// and of fewer than [`FEWEST`] rows.
///
/// u_i + 1/2 is the share of the draws whose response of row i is below the observed one, ties by half; of classes u_i is the log probability of the
/// observed one, each times the weight of its row if rows have any. The sums of u_i and u_i^2 are ranked among the sums of the replicates, the responses that one draw predicts of all rows, of which
/// there are [`REPLICATES`] or more; the smaller of the two chances, each two-sided, counts twice.
fn drift(fit: &Fit, rows: &Dataset) -> Result<Option<f64>, Error> {
    if rows.rows() < FEWEST || rows.response().bounds().is_some() {
        return Ok(None);
    }
    let first = fit.predict(rows)?;
    let drawn = first.predictive_draws();
    let (chains, draws, n, columns) = drawn.dim();
    let one_by_one = |drawn: ArrayView4<f64>, cell: usize| -> Vec<f64> {
        drawn.slice(s![.., .., cell / columns, cell % columns]).iter().copied().collect()
    };
    let measure_of = |cell: usize| Measure::new(one_by_one(drawn, cell), rows.response());
    let measures = threads::map(n * columns, &measure_of);
    let y = rows.response().in_columns();
    let weight = |cell: usize| rows.weights().map_or(1.0, |w| w[cell / columns]); //~ drift-weights
    let mut sums = vec![[0.0; 2]]; // of the observed responses, then of the replicates
    for (cell, measure) in measures.iter().enumerate() {
        add(&mut sums[0], weight(cell), measure.u(y[[cell / columns, cell % columns]]));
    }
    for set in 0..REPLICATES.div_ceil((chains * draws).max(1)) {
        let again;
        let drawn = match set {
            0 => drawn,
            _ => {
                again = fit.predict_seeded(rows, |seed| seed.wrapping_add(set as u64))?;
                again.predictive_draws()
            }
        };
        let before = sums.len();
        sums.resize(before + chains * draws, [0.0; 2]);
        for (cell, measure) in measures.iter().enumerate() {
            let weight = weight(cell);
            for (sums, y) in sums[before..].iter_mut().zip(one_by_one(drawn, cell)) {
                add(sums, weight, measure.u(y));
            }
        }
    }
    let replicates = sums.len() as f64;
    let chances = [0, 1].map(|k| {
        let (observed, all) = (sums[0][k], &sums[1..]);
        let below = all.iter().filter(|sums| sums[k] <= observed).count();
        let above = all.iter().filter(|sums| sums[k] >= observed).count();
        2.0 * (1 + below.min(above)) as f64 / replicates //~ drift-rank
    });
    Ok(Some((2.0 * chances[0].min(chances[1])).min(1.0)))
}

fn add(sums: &mut [f64; 2], weight: f64, u: f64) {
    sums[0] += weight * u;
    sums[1] += weight * u * u;
}

/// What is seen of a response beside its predictive draws.
enum Measure {
    /// Of numbers their draws, sorted.
    Rank(Vec<f64>),
    /// Of classes the log of each one's share of the draws.
    LogShare(Vec<f64>),
}

impl Measure {
    fn new(mut drawn: Vec<f64>, response: &Response) -> Self {
        match response.class_names() {
            None => {
                drawn.sort_unstable_by(f64::total_cmp);
                Self::Rank(drawn)
            }
            Some(names) => {
                let mut rows = vec![0.5; names.len()];
                drawn.iter().for_each(|class| rows[*class as usize] += 1.0);
                Self::LogShare(
                    rows.iter().map(|rows| ln(rows / (drawn.len() as f64 + 1.0))).collect(),
                )
            }
        }
    }

    fn u(&self, y: f64) -> f64 {
        match self {
            Self::Rank(drawn) => {
                let below = drawn.partition_point(|x| *x < y);
                let up_to = drawn.partition_point(|x| *x <= y);
                (below + up_to) as f64 / (2 * drawn.len()) as f64 - 0.5
            }
            Self::LogShare(by_class) => by_class[y as usize],
        }
    }
}

//! Conformal intervals and sets of a fit.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::Fit;
use crate::Error;
use crate::data::{Dataset, Response};
use crate::diagnostics::quantile;
use crate::message::Advice;
use crate::predict::{
    AddOneIn, Conformal, Interval, JackknifePlus, PredictionSets, Predictions, SplitConformal,
};

/// The seed of predictive draws of calibration rows is the run's, changed by this: their noise is not the noise of new
/// rows.
const CALIBRATION: u64 = u64::from_le_bytes(*b"conforml");
/// Candidates for a response: inside a row's predictive draws, on either side of them, and between a last candidate
/// inside the region and the next.
const INSIDE: usize = 40;
const BESIDE: usize = 20;
const BETWEEN: usize = 16;

impl Fit {
    /// [Conformal] intervals, or sets of classes, at `level`, such as 0.9: by
    /// [split conformal](SplitConformal) on the rows that were kept for [validation](super::Recipe::validation), which hold
    /// whatever the chains did; without such rows, by [jackknife+](JackknifePlus) of the training rows, which takes
    /// chains that have converged. The intervals are of [`predict_new`](Self::predict_new)'s predictions.
    ///
    /// They are marginal: the coverage is an average over rows that are exchangeable with the table's, and they are not
    /// for series. Rows for validation have no part in the model, its choice and its scalings, but in the medians that stand
    /// for missing values and in the list of labels, and of classes they are a share of each class. Where that matters,
    /// [`conformal_on`](Self::conformal_on) takes rows of another table.
    ///
    /// ```
    /// # use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 50.0);
    /// # let mut rng = ChainRng::new(1, 0);
    /// # let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin() + 0.1 * rng.normal()))?;
    /// // Far too short a run, of which no interval should be trusted.
    /// let recipe = Fit::regression("y").hidden(&[4]).chains(2).warmup(10).draws(30);
    /// let fit = recipe.validation(0.3).fit(&data)?;
    /// let conformal = fit.conformal(0.9)?;
    /// println!("{conformal}");
    /// let interval = conformal.interval(&fit.predict_new(ndarray::array![[0.5], [1.5]].view())?.predictions)?;
    /// assert!(interval.lower[[0, 0]] < 1_f64.sin() && 1_f64.sin() < interval.upper[[0, 0]]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// A response of several columns, survival times, rows with weights, a level that is not between 0 and 1; no rows for
    /// validation, and several completed tables, or chains that have not converged or are of an ensemble, or too many rows that
    /// cannot be left out by weights, which are of one posterior.
    pub fn conformal(&self, level: f64) -> Result<Conformal, Error> {
        if let Some(rows) = self.validation() {
            return self.conformal_on(rows, level); //~ conformal-rows
        }
        if self.of_one_table().is_err() {
            let (name, allowed) = ("rows to calibrate on", "some that the model has not seen");
            let error = Error::argument(name, "none, of imputed tables", allowed);
            return Err(error.advise([Advice::Calibrate]));
        }
        self.predict(&self.training().select(&[0])?)?.check_conformal()?;
        self.check_settled()?;
        let training = self.predict(self.training())?;
        Ok(Conformal::JackknifePlus(JackknifePlus::new(&training, level)?))
    }

    /// An error of chains that should sample the posterior and have not settled.
    fn check_settled(&self) -> Result<(), Error> {
        let is_of_posterior = self.draws.info().approximation.is_none();
        if is_of_posterior && !self.verdict()?.is_settled() {
            let name = "rows to calibrate on";
            let found = "none that the model has not seen, of a run that has not settled";
            let allowed = "some, since only draws from the posterior can leave training rows out, or add new ones, by weights";
            return Err(Error::argument(name, found, allowed).advise([Advice::Calibrate]));
        }
        Ok(())
    }

    /// [Conformal] intervals, or sets of classes, by [split conformal](SplitConformal) on other rows with a
    /// known response, which have had no part in the fit.
    ///
    /// # Errors
    /// The errors of [`predict`](Self::predict) and of [`SplitConformal::new`].
    pub fn conformal_on(&self, rows: &Dataset, level: f64) -> Result<Conformal, Error> {
        let height = self.rows_at_a_time();
        let parts = (0..rows.rows()).step_by(height).enumerate().map(|(part, first)| {
            let of_part: Vec<usize> = (first..rows.rows().min(first + height)).collect();
            let seed = |seed: u64| (seed ^ CALIBRATION).wrapping_add(part as u64); //~ calibration-seed
            self.predict_seeded(&rows.select(&of_part)?, seed)
        });
        Ok(Conformal::Split(SplitConformal::of_parts(parts, level)?))
    }

    /// Intervals of a real response for new rows `x`, as of [`predict_new`](Self::predict_new), by
    /// [add-one-in](AddOneIn) full conformal prediction: they use all rows both to learn from and to calibrate, and take
    /// chains that sample the posterior.
    ///
    /// Candidates for a response lie between the least and the largest of the training responses and the row's predictive
    /// draws. An interval reaches to the first candidate outside the region, and is infinite if there is none. The region
    /// itself may have gaps, which the interval has not. A part of it that is narrower than the distance of two candidates (some
    /// hundredths of the range of the draws) may be missed; where no candidate fits, both ends are the median draw.
    ///
    /// Time: two predictions of about 80 and 32 rows, and as many products of all densities, for each new row.
    ///
    /// # Errors
    /// Another response than one real column; chains that have not converged; the errors of
    /// [`predict_new`](Self::predict_new) and of [`AddOneIn::new`]; a level that is not between 0 and 1.
    pub fn add_one_in(&self, x: ArrayView2<f64>, level: f64) -> Result<Interval, Error> {
        let real = self.training().response().real();
        let Some(y) = real.filter(|y| y.ncols() == 1) else {
            let found = "of another kind";
            return Err(Error::argument("response of the fit", found, "one real column"));
        };
        self.of_one_table()?.check_settled()?;
        let known = AddOneIn::new(&self.predict(self.training())?)?;
        let drawn = self.predict_new(x)?.predictions;
        let drawn = drawn.predictive_draws();
        let mut ends = Vec::with_capacity(x.nrows());
        for (row, x) in x.rows().into_iter().enumerate() {
            let mut sorted: Vec<f64> = drawn.index_axis(Axis(2), row).iter().copied().collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let least = y.iter().copied().fold(sorted[0], f64::min);
            let largest = y.iter().copied().fold(sorted[sorted.len() - 1], f64::max);
            let grid = candidates(&sorted, least, largest);
            let contains = |y: &[f64]| known.contains(&self.with_responses(x, y)?, level);
            ends.push(hull(&grid, contains)?);
        }
        let column = |end: fn(&(f64, f64)) -> f64| {
            Array2::from_shape_vec((ends.len(), 1), ends.iter().map(end).collect())
                .expect("one column of all ends")
        };
        Ok(Interval { level, lower: column(|ends| ends.0), upper: column(|ends| ends.1) })
    }

    /// Sets of classes for new rows `x`, as [`add_one_in`](Self::add_one_in) has intervals.
    ///
    /// # Errors
    /// A response that is not classes; chains that have not converged; the errors of
    /// [`predict_new`](Self::predict_new) and of [`AddOneIn::new`]; a level that is not between 0 and 1.
    pub fn add_one_in_sets(&self, x: ArrayView2<f64>, level: f64) -> Result<PredictionSets, Error> {
        let Some(names) = self.training().response().class_names() else {
            return Err(Error::argument("response of the fit", "of another kind", "classes"));
        };
        self.of_one_table()?.check_settled()?;
        let known = AddOneIn::new(&self.predict(self.training())?)?;
        let mut contains = Vec::with_capacity(x.nrows() * names.len());
        for class in 0..names.len() {
            let index = vec![class; x.nrows()];
            let response = Response::Classes { index, names: names.to_vec() };
            let candidates = self.predict(&self.with_response(x.to_owned(), response)?)?;
            contains.extend(known.contains(&candidates, level)?);
        }
        let shape = (names.len(), x.nrows());
        let contains = Array2::from_shape_vec(shape, contains).expect("one answer for each class");
        let contains = contains.reversed_axes();
        Ok(PredictionSets { level, names: names.to_vec(), contains })
    }

    /// Predictions of one new row with each of these responses.
    fn with_responses(&self, x: ArrayView1<f64>, y: &[f64]) -> Result<Predictions, Error> {
        let rows = Array2::from_shape_fn((y.len(), x.len()), |(_, j)| x[j]);
        let y = ArrayView1::from(y).insert_axis(Axis(1)).to_owned();
        self.predict(&self.with_response(rows, Response::Real(y))?)
    }

    fn with_response(&self, x: Array2<f64>, response: Response) -> Result<Dataset, Error> {
        let (features, responses) = (self.data().feature_names(), self.data().response_names());
        Dataset::checked(x, response, features.to_vec(), responses.to_vec())
    }
}

/// Candidates for a response, in order: quantiles of its sorted predictive draws, which lie closest where it is likely, and
/// numbers on either side of the draws.
fn candidates(sorted: &[f64], least: f64, largest: f64) -> Vec<f64> {
    let inside = (0..=INSIDE).map(|i| quantile(sorted, i as f64 / INSIDE as f64));
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    let below = (0..BESIDE).map(|i| least + (first - least) * i as f64 / BESIDE as f64);
    let above = (1..=BESIDE).map(|i| last + (largest - last) * i as f64 / BESIDE as f64);
    let mut all: Vec<f64> = below.chain(inside).chain(above).collect();
    all.dedup();
    all
}

/// The interval that `contains` all candidates of the region and reaches to the next ones outside, on a grid that is then
/// refined there.
fn hull(
    grid: &[f64],
    contains: impl Fn(&[f64]) -> Result<Vec<bool>, Error>,
) -> Result<(f64, f64), Error> {
    let held = contains(grid)?;
    let (Some(first), Some(last)) =
        (held.iter().position(|held| *held), held.iter().rposition(|held| *held))
    else {
        // Nothing fits: the region is empty, or lies between two candidates in the middle.
        let middle = grid[grid.len() / 2];
        return Ok((middle, middle));
    };
    // From a candidate inside to its neighbour outside: the first one outside, in smaller steps.
    let end = |inside: usize, outside: Option<usize>, no_end: f64| -> Result<f64, Error> {
        let Some(outside) = outside.filter(|i| *i < grid.len()) else { return Ok(no_end) };
        let (from, to) = (grid[inside], grid[outside]);
        let step = |i: usize| from + (to - from) * i as f64 / (BETWEEN + 1) as f64;
        let between: Vec<f64> = (1..=BETWEEN).map(step).collect();
        let last = contains(&between)?.iter().rposition(|held| *held);
        Ok(last.map_or(between[0], |last| between.get(last + 1).copied().unwrap_or(to)))
    };
    let lower = end(first, first.checked_sub(1), f64::NEG_INFINITY)?;
    let upper = end(last, Some(last + 1), f64::INFINITY)?;
    Ok((lower, upper))
}

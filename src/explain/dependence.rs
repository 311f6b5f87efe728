//! Partial dependence, individual curves and contrasts.

use ndarray::{Array2, Array3, Array4, Axis, s};

use super::effect::{Contrast, Effect, PairEffect, Points};
use super::{Explainer, FEW_ROWS, average, evenly, weights, with_features};
use crate::Error;
use crate::data::TableColumn;
use crate::memory;

/// Points of one column, and of each of two.
pub(super) const POINTS: usize = 20;
pub(super) const PAIR_POINTS: usize = 10;

impl Explainer<'_> {
    /// The partial dependence on a column, and the curve of each row: at each label, or at 20 quantiles of the rows'
    /// values. Where a value is missing, the row takes part with the values that it is given.
    ///
    /// # Errors
    /// If there is no such column, or its values are missing in all rows.
    pub fn partial_dependence(&self, column: &str) -> Result<Effect, Error> {
        let points = self.points(self.column(column)?, POINTS)?;
        self.partial_dependence_at(column, &points)
    }

    /// The partial dependence at given values, see [`TableColumn`].
    ///
    /// # Errors
    /// If there is no such column; values that are no label's or not finite.
    pub fn partial_dependence_at(&self, column: &str, points: &[f64]) -> Result<Effect, Error> {
        let column = self.column(column)?;
        if points.is_empty() {
            return Err(Error::argument("values", "none", "at least 1"));
        }
        let rows = evenly(&self.rows, FEW_ROWS)?;
        let weights = weights(&rows);
        let (mut draws, mut individual) = (Vec::new(), Vec::new());
        let mut outputs = Vec::new();
        for point in points {
            let (f, names) = self.means(&rows, with_features(rows.x(), column, *point)?)?;
            draws.push(average(f.view(), &weights));
            individual.push(f.mean_axis(Axis(0)).unwrap_or_default());
            outputs = names;
        }
        let stacked = |each: &[Array2<f64>]| -> Array3<f64> {
            let views: Vec<_> = each.iter().map(|point| point.view()).collect();
            ndarray::stack(Axis(1), &views).expect("all points have the same draws and outputs")
        };
        Ok(Effect {
            points: Points::new(column, points, self.values(column)),
            outputs,
            draws: stacked(&draws),
            individual: Some(stacked(&individual)),
        })
    }

    /// The partial dependence on two columns together, at 10 quantiles of each or all labels.
    ///
    /// # Errors
    /// If there is no such column, both are the same, or values are missing in all rows.
    pub fn partial_dependence_pair(&self, first: &str, second: &str) -> Result<PairEffect, Error> {
        let [first, second] = self.pair(first, second)?;
        let points = [self.points(first, PAIR_POINTS)?, self.points(second, PAIR_POINTS)?];
        let rows = evenly(&self.rows, FEW_ROWS)?;
        let weights = weights(&rows);
        let (mut draws, mut outputs) = (Array4::zeros((0, 0, 0, 0)), Vec::new());
        for (k, a) in points[0].iter().enumerate() {
            let x = with_features(rows.x(), first, *a)?;
            for (m, b) in points[1].iter().enumerate() {
                let (f, names) = self.means(&rows, with_features(&x, second, *b)?)?;
                let mean = average(f.view(), &weights);
                if draws.is_empty() {
                    let (n, width) = mean.dim();
                    let size = [
                        (n, "draws"),
                        (points[0].len(), "points"),
                        (points[1].len() * width, "numbers"),
                    ];
                    memory::check::<f64>("the effect of two columns", &size, "take fewer draws")?;
                    draws = Array4::zeros((n, points[0].len(), points[1].len(), width));
                }
                draws.slice_mut(s![.., k, m, ..]).assign(&mean);
                outputs = names;
            }
        }
        Ok(PairEffect { points: self.points_of([first, second], &points), outputs, draws })
    }

    /// The [contrasts](Self::contrast) that tell most of a column at a glance: of numbers and times from the quantile at 10 % of
    /// the rows' values to the quantile at 90 %, of labels from the first to each of the others.
    ///
    /// # Errors
    /// If there is no such column, or its values are missing in all rows.
    pub fn contrasts(&self, column: &str) -> Result<Vec<Contrast>, Error> {
        let of = self.column(column)?;
        let points = match of.levels() {
            Some(_) => self.points(of, POINTS)?,
            None => self.tenths(of)?,
        };
        let effect = self.partial_dependence_at(column, &points)?;
        Ok((1..points.len()).map(|k| between(&effect, 0, k)).collect())
    }

    pub(super) fn points_of(&self, pair: [&TableColumn; 2], points: &[Vec<f64>; 2]) -> [Points; 2] {
        [0, 1].map(|k| Points::new(pair[k], &points[k], self.values(pair[k])))
    }

    pub(super) fn pair(&self, first: &str, second: &str) -> Result<[&TableColumn; 2], Error> {
        if first == second {
            let allowed = format!("another column than `{first}`");
            return Err(Error::argument("second column", second, allowed));
        }
        Ok([self.column(first)?, self.column(second)?])
    }

    /// The difference that a column makes from one value to another: f_s(to, x_i,-j) - f_s(from, x_i,-j), averaged over
    /// rows. For values see [`TableColumn`].
    ///
    /// # Errors
    /// The errors of [`partial_dependence_at`](Self::partial_dependence_at).
    pub fn contrast(&self, column: &str, from: f64, to: f64) -> Result<Contrast, Error> {
        let effect = self.partial_dependence_at(column, &[from, to])?;
        Ok(between(&effect, 0, 1))
    }
}

/// The difference between two points.
fn between(effect: &Effect, from: usize, to: usize) -> Contrast {
    let Effect { points, outputs, draws, .. } = effect;
    let at = |point| draws.index_axis(Axis(1), point);
    let draws = &at(to) - &at(from); //~ contrast
    let [from, to] = [from, to].map(|point| points.words[point].clone());
    Contrast { column: points.column.clone(), from, to, outputs: outputs.clone(), draws }
}

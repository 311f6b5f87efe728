//! The values of a column at which effects are computed.

use super::Explainer;
use crate::Error;
use crate::data::TableColumn;
use crate::message::Advice;
use crate::order;

/// The most labels of a column.
pub(super) const LABELS: usize = 20;

impl Explainer<'_> {
    /// The value of the column in each row; `None` where it is missing.
    pub(super) fn values(&self, column: &TableColumn) -> Vec<Option<f64>> {
        self.rows.x().rows().into_iter().map(|row| column.value(row)).collect()
    }

    /// Values at which partial dependence is computed: of labels all, or the most frequent [`LABELS`] of them; else `most`
    /// quantiles of the rows' values, or all values if they are not more. Each is a value of a row.
    pub(super) fn points(&self, column: &TableColumn, most: usize) -> Result<Vec<f64>, Error> {
        let Some(levels) = column.levels() else { return self.quantiles(column, most) };
        let mut codes: Vec<usize> = (0..levels.len()).collect();
        if levels.len() > LABELS {
            let mut rows = vec![0; levels.len()];
            self.values(column).into_iter().flatten().for_each(|code| rows[code as usize] += 1);
            order::sort(&mut codes, &|a, b| rows[b].cmp(&rows[a]));
            codes.truncate(LABELS);
            codes.sort_unstable();
        }
        Ok(codes.into_iter().map(|code| code as f64).collect())
    }

    /// The bounds of intervals of a column whose values are in order.
    pub(super) fn edges(&self, column: &TableColumn, most: usize) -> Result<Vec<f64>, Error> {
        self.sorted(column)?; // at least one is not missing
        let edges = match column.levels().map(|levels| levels.len()) {
            Some(levels @ 3..) => {
                let found = format!("labels, {levels} levels");
                let allowed =
                    "a column whose values are in order, for effects that are accumulated";
                let rust = Advice::in_rust("call `Explainer::partial_dependence`");
                let advice = ["take its partial dependence".into(), rust];
                return Err(Error::argument(column.name(), found, allowed).advise(advice));
            }
            Some(levels) => (0..levels).map(|code| code as f64).collect(),
            None => self.quantiles(column, most)?,
        };
        if edges.len() < 2 {
            let allowed = "a column of at least 2 values";
            return Err(Error::argument(column.name(), "the same in all rows", allowed));
        }
        Ok(edges)
    }

    /// The quantiles at 0, 1 / (most - 1), ..., 1 of the rows' values, each of them a value: the smallest that so large a
    /// share of the values does not exceed. All values if there are no more of them.
    fn quantiles(&self, column: &TableColumn, most: usize) -> Result<Vec<f64>, Error> {
        let sorted = self.sorted(column)?;
        let mut distinct = sorted.clone();
        distinct.dedup();
        if distinct.len() <= most {
            return Ok(distinct);
        }
        let mut quantiles: Vec<f64> = (0..most).map(|k| quantile(&sorted, k, most - 1)).collect();
        quantiles.dedup();
        Ok(quantiles)
    }

    /// The quantiles at 10 and 90 %, or the smallest and the largest value where these are the same.
    pub(super) fn tenths(&self, column: &TableColumn) -> Result<Vec<f64>, Error> {
        let sorted = self.sorted(column)?;
        match [1, 9].map(|k| quantile(&sorted, k, 10)) {
            [low, high] if low < high => Ok(vec![low, high]),
            _ => {
                let mut ends = vec![sorted[0], sorted[sorted.len() - 1]];
                ends.dedup();
                Ok(ends)
            }
        }
    }

    /// The values of the rows in order, without missing ones.
    fn sorted(&self, column: &TableColumn) -> Result<Vec<f64>, Error> {
        let mut sorted: Vec<f64> = self.values(column).into_iter().flatten().collect();
        if sorted.is_empty() {
            let allowed = "known in at least 1 row";
            return Err(Error::argument(column.name(), "missing in all rows", allowed));
        }
        sorted.sort_unstable_by(f64::total_cmp);
        Ok(sorted)
    }
}

/// The smallest of the sorted values that the share k / of of them does not exceed.
fn quantile(sorted: &[f64], k: usize, of: usize) -> f64 {
    sorted[(k * sorted.len()).div_ceil(of).max(1) - 1]
}

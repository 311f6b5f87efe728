//! Accumulated local effects of one column and of two.

use ndarray::{Array2, Array3, Array4, ArrayView2, Axis, s};

use super::dependence::{PAIR_POINTS, POINTS};
use super::effect::{Effect, PairEffect, Points};
use super::{Explainer, weights};
use crate::Error;
use crate::data::TableColumn;
use crate::memory;

/// The rows of each interval between edges z_0 < ... < z_K, and the number of the interval of each row; `None` where the
/// value is missing. An interval (z_k-1, z_k] has its upper end, the first one both ends.
fn interval_of(values: &[Option<f64>], edges: &[f64]) -> Vec<Option<usize>> {
    let of = |value: f64| edges.partition_point(|edge| *edge < value).max(1) - 1; //~ ale-interval
    values.iter().map(|value| value.map(of)).collect()
}

/// Features of the rows with the value of an edge: of the lower, or the upper end of the row's interval.
fn at_edge(
    x: &Array2<f64>,
    column: &TableColumn,
    edges: &[f64],
    intervals: &[Option<usize>],
    upper: usize,
) -> Result<Array2<f64>, Error> {
    let features: Vec<Vec<f64>> =
        edges.iter().map(|edge| column.encode(*edge)).collect::<Result<_, _>>()?;
    let mut x = x.clone();
    for (mut row, interval) in x.rows_mut().into_iter().zip(intervals) {
        if let Some(k) = interval {
            for (place, feature) in column.features().zip(&features[k + upper]) {
                row[place] = *feature;
            }
        }
    }
    Ok(x)
}

/// The weight of the rows in an interval.
fn weight_of(intervals: &[Option<usize>], weights: &[f64], k: usize) -> f64 {
    let own = intervals.iter().zip(weights).filter(|(interval, _)| **interval == Some(k));
    own.map(|(_, weight)| weight).sum()
}

impl Explainer<'_> {
    /// The accumulated local effect of a column whose values are in order: numbers, times, or two labels. There are at
    /// most 19 intervals between 20 quantiles of the rows' values. Rows whose value is missing have no part in it.
    ///
    /// # Errors
    /// If there is no such column, it has more than two labels, or the same value in all rows.
    pub fn accumulated_local_effect(&self, column: &str) -> Result<Effect, Error> {
        let column = self.column(column)?;
        let edges = self.edges(column, POINTS)?;
        let values = self.values(column);
        let intervals = interval_of(&values, &edges);
        let weights = weights(&self.rows);
        let at_edge = |upper| at_edge(self.rows.x(), column, &edges, &intervals, upper);
        let (mut change, outputs) = self.means(&self.rows, at_edge(1)?)?;
        let (draws, rows, width) = change.dim();
        let size = [(draws, "draws"), (rows, "rows"), (3 * width, "numbers")];
        memory::check::<f64>("the accumulated effect", &size, "take fewer draws or rows")?;
        change -= &self.means(&self.rows, at_edge(0)?)?.0;
        let n: Vec<f64> =
            (0..edges.len() - 1).map(|k| weight_of(&intervals, &weights, k)).collect();
        let mut effect = Array3::zeros((draws, edges.len(), width));
        for (row, interval) in intervals.iter().enumerate() {
            if let Some(k) = *interval {
                let weight = if n[k] > 0.0 { weights[row] / n[k] } else { 0.0 };
                let row = change.index_axis(Axis(1), row);
                effect.index_axis_mut(Axis(1), k + 1).scaled_add(weight, &row);
            }
        }
        effect.accumulate_axis_inplace(Axis(1), |before, after| *after += before); //~ ale-accumulated
        let total: f64 = n.iter().sum();
        let mut centre = Array2::zeros((draws, width));
        for (k, n) in n.iter().enumerate() {
            for edge in [k, k + 1] {
                centre.scaled_add(0.5 * n / total, &effect.index_axis(Axis(1), edge)); //~ ale-centre
            }
        }
        effect -= &centre.insert_axis(Axis(1));
        let points = Points::new(column, &edges, values);
        Ok(Effect { points, outputs, draws: effect, individual: None })
    }

    /// The second-order accumulated local effect of two columns whose values are in order: what they do together beyond what each does alone. With
    /// the mean second difference d_km of f_s over the corners of cell (k, m) of a grid of quantiles, over its rows,
    ///
    /// ```text
    /// h_km   = sum_(l <= k, o <= m) d_lo
    /// ALE_km = h_km - (accumulated local effects of h on either column) - centre
    /// ```
    ///
    /// (Apley and Zhu 2020, section 3). A cell without rows has the d of the nearest cell with some, in numbers of cells.
    /// It is 0 where f_s is a sum of functions of one column each.
    ///
    /// # Errors
    /// The errors of [`accumulated_local_effect`](Self::accumulated_local_effect); both columns the same.
    pub fn accumulated_local_effect_pair(
        &self,
        first: &str,
        second: &str,
    ) -> Result<PairEffect, Error> {
        let pair = self.pair(first, second)?;
        let edges = [self.edges(pair[0], PAIR_POINTS)?, self.edges(pair[1], PAIR_POINTS)?];
        let intervals = [0, 1].map(|side| interval_of(&self.values(pair[side]), &edges[side]));
        let corner = |upper: [usize; 2]| {
            let x = at_edge(self.rows.x(), pair[0], &edges[0], &intervals[0], upper[0])?;
            self.means(&self.rows, at_edge(&x, pair[1], &edges[1], &intervals[1], upper[1])?)
        };
        let (mut change, outputs) = corner([1, 1])?;
        for upper in [[1, 0], [0, 1]] {
            change -= &corner(upper)?.0;
        }
        change += &corner([0, 0])?.0;
        let weights = weights(&self.rows);
        let cells: Vec<Option<(usize, usize)>> =
            intervals[0].iter().zip(&intervals[1]).map(|(k, m)| k.zip(*m)).collect();
        let [rows, columns] = [0, 1].map(|side| edges[side].len());
        let mut n = Array2::<f64>::zeros((rows - 1, columns - 1));
        for (cell, weight) in cells.iter().zip(&weights) {
            if let Some(cell) = cell {
                n[*cell] += weight;
            }
        }
        if n.sum() == 0.0 {
            let name = format!("rows with values of `{}` and `{}`", pair[0], pair[1]);
            return Err(Error::argument(name, "none", "at least 1"));
        }
        let (draws, _, width) = change.dim();
        let size = [(draws, "draws"), (rows, "points"), (columns * width, "numbers")];
        memory::check::<f64>("the effect of two columns", &size, "take fewer draws")?;
        let mut h = Array4::zeros((draws, rows, columns, width));
        for (row, cell) in cells.iter().enumerate() {
            if let Some(cell) = *cell
                && n[cell] > 0.0
            {
                let row = change.index_axis(Axis(1), row).mapv(|d| d * weights[row] / n[cell]);
                h.slice_mut(s![.., cell.0 + 1, cell.1 + 1, ..]).scaled_add(1.0, &row);
            }
        }
        for ((k, m), _) in n.indexed_iter().filter(|(_, n)| **n == 0.0) {
            let (k_near, m_near) = nearest(&n, (k, m));
            let near = h.slice(s![.., k_near + 1, m_near + 1, ..]).to_owned();
            h.slice_mut(s![.., k + 1, m + 1, ..]).assign(&near);
        }
        for axis in [1, 2] {
            h.accumulate_axis_inplace(Axis(axis), |before, after| *after += before);
        }
        let mains = [main_effect(&h, n.view()), {
            let turned = h.view().permuted_axes([0, 2, 1, 3]);
            main_effect(&turned.to_owned(), n.t())
        }];
        for k in 0..rows {
            for m in 0..columns {
                let mut cell = h.slice_mut(s![.., k, m, ..]);
                cell -= &mains[0].index_axis(Axis(1), k);
                cell -= &mains[1].index_axis(Axis(1), m);
            }
        }
        let total = n.sum();
        let mut centre = Array2::zeros((draws, width));
        for ((k, m), n) in n.indexed_iter() {
            for (k, m) in [(k, m), (k + 1, m), (k, m + 1), (k + 1, m + 1)] {
                centre.scaled_add(0.25 * n / total, &h.slice(s![.., k, m, ..]));
            }
        }
        h -= &centre.insert_axis(Axis(1)).insert_axis(Axis(1));
        Ok(PairEffect { points: self.points_of(pair, &edges), outputs, draws: h })
    }
}

/// The cell with rows that is nearest to an empty one, in numbers of cells; the first of several.
fn nearest(n: &Array2<f64>, (k, m): (usize, usize)) -> (usize, usize) {
    let distance = |(a, b): (usize, usize)| a.abs_diff(k).pow(2) + b.abs_diff(m).pow(2);
    let filled = n.indexed_iter().filter(|(_, n)| **n > 0.0).map(|(cell, _)| cell);
    filled.min_by_key(|cell| distance(*cell)).unwrap_or((k, m))
}

/// The accumulated local effect, which is not centred, of the first column on h `[draw, k, m, output]`, with `n` `[k, m]` rows in its cells:
/// `[draw, k, output]`.
fn main_effect(h: &Array4<f64>, n: ArrayView2<f64>) -> Array3<f64> {
    let (draws, rows, _, width) = h.dim();
    let mut effect = Array3::zeros((draws, rows, width));
    for (k, n) in n.outer_iter().enumerate() {
        let in_row = n.sum();
        if in_row == 0.0 {
            continue;
        }
        for (m, n) in n.iter().enumerate() {
            for edge in [m, m + 1] {
                let change = &h.slice(s![.., k + 1, edge, ..]) - &h.slice(s![.., k, edge, ..]);
                let mut at = effect.index_axis_mut(Axis(1), k + 1);
                at.scaled_add(0.5 * n / in_row, &change); //~ ale-pair-main
            }
        }
    }
    effect.accumulate_axis_inplace(Axis(1), |before, after| *after += before);
    effect
}

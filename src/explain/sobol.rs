//! Sobol indices of the functions that draws stand for.

use ndarray::{Array1, Array2, Array3, ArrayView3, Axis, Zip};
use rand::seq::SliceRandom;
use statrs::distribution::{ContinuousCDF, Normal};

use super::Explainer;
use super::effect::ends;
use crate::Error;
use crate::data::TableColumn;
use crate::memory;
use crate::predict::check_level;
use crate::rng::ChainRng;

/// The shares of the variance of f that a column has alone, and together with others: see [`Explainer::sobol`]. All are
/// `[draw, output]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sobol {
    /// The name of the column.
    pub column: String,
    /// The response's columns, or the classes; of two classes the second.
    pub outputs: Vec<String>,
    /// S_j by each draw.
    pub first: Array2<f64>,
    /// T_j by each draw.
    pub total: Array2<f64>,
    /// The standard error of the mean of S_j for each output, by the number of rows that it is estimated from.
    pub first_error: Array1<f64>,
    /// The standard error of the mean of T_j.
    pub total_error: Array1<f64>,
}

impl Sobol {
    /// The mean over draws of S_j and of T_j, `[output]` each.
    pub fn mean(&self) -> [Array1<f64>; 2] {
        [&self.first, &self.total].map(|draws| draws.mean_axis(Axis(0)).unwrap_or_default())
    }

    /// An interval of S_j and of T_j for each output: the quantiles over draws at (1 - level) / 2 and (1 + level) / 2, with the error by the
    /// number of rows, as if it was normal, added in squares to their distances from the mean. No index is above 1.
    ///
    /// # Errors
    /// A level that is not between 0 and 1.
    pub fn interval(&self, level: f64) -> Result<Vec<[[f64; 2]; 2]>, Error> {
        check_level(level)?;
        let z = Normal::standard().inverse_cdf(0.5 + 0.5 * level);
        let of = |draws: &Array2<f64>, error: f64, output: usize| {
            let draws = draws.column(output);
            let ([low, high], mean) = (ends(draws, level), draws.mean().unwrap_or(f64::NAN));
            let apart = |end: f64| (end - mean).hypot(z * error); //~ sobol-interval
            [mean - apart(low), (mean + apart(high)).min(1.0)]
        };
        let both = |output| {
            let first = of(&self.first, self.first_error[output], output);
            [first, of(&self.total, self.total_error[output], output)]
        };
        Ok((0..self.outputs.len()).map(both).collect())
    }
}

/// The least pairs of rows of an estimate.
const PAIRS: usize = 2000;

impl Explainer<'_> {
    /// The first-order and the total Sobol index of each column, in the order of the columns, by each draw. Two tables
    /// A and B have the rows' cells in random order, for each column another one, each cell as often as makes 2,000 pairs or more; with A_j, which is A with the column j of B, and
    /// m and V the mean and the variance of f over both,
    ///
    /// ```text
    /// S_j = 1/(n V) sum_i (f(B)_i - m) (f(A_j)_i - f(A)_i)
    /// T_j = 1/(2 n V) sum_i (f(A)_i - f(A_j)_i)^2
    /// ```
    ///
    /// (Saltelli and others 2010, <https://doi.org/10.1016/j.cpc.2009.09.018>; Jansen 1999,
    /// <https://doi.org/10.1016/S0010-4655(98)00154-4>). Both have an error by the number of rows, which is told beside them; the S_j of a
    /// column that does not matter may be below 0 by that. Columns are drawn independently also where they go
    /// together. Weights of rows do not count. The exposure of a count is the geometric mean of all. An index is NaN where f is the same in all rows.
    ///
    /// # Errors
    /// Fewer than 2 rows; results that do not fit into memory.
    pub fn sobol(&self, seed: u64) -> Result<Vec<Sobol>, Error> {
        let n = self.rows.rows();
        if n < 2 {
            return Err(Error::shape("rows for Sobol indices", n, "at least 2"));
        }
        let places: Vec<usize> = (0..n * PAIRS.div_ceil(n)).map(|i| i % n).collect(); //~ sobol-pairs
        let rows = self.rows.rows_of(&places);
        let n = rows.rows();
        let features = self.columns.iter().map(|column| column.features().end).max().unwrap_or(0);
        let mut base = rows.x().clone();
        for place in features..base.ncols() {
            let mean = base.column(place).mean().unwrap_or(0.0);
            base.column_mut(place).fill(mean);
        }
        let mut tables = [base.clone(), base];
        for (j, column) in self.columns.iter().enumerate() {
            for (side, table) in tables.iter_mut().enumerate() {
                let mut order: Vec<usize> = (0..n).collect();
                order.shuffle(&mut ChainRng::new(seed, side as u64).child(j as u64));
                put(table, column, |row, place| rows.x()[(order[row], place)]);
            }
        }
        let [a, b] = tables;
        let (f_a, outputs) = self.means(&rows, a.clone())?;
        let (draws, _, width) = f_a.dim();
        let size = [(draws, "draws"), (n, "rows"), (8 * width, "numbers")];
        memory::check::<f64>("Sobol indices", &size, "take fewer draws or rows")?;
        let (mut f_b, _) = self.means(&rows, b.clone())?;
        let both = ndarray::concatenate(Axis(1), &[f_a.view(), f_b.view()]);
        let both = both.expect("both have the same draws and outputs");
        let mean = both.mean_axis(Axis(1)).unwrap_or_default();
        let variance = both.var_axis(Axis(1), 0.0);
        f_b -= &mean.insert_axis(Axis(1));
        let of_column = |column: &TableColumn| {
            let mut x = a.clone();
            put(&mut x, column, |row, place| b[(row, place)]);
            let (f_j, _) = self.means(&rows, x)?;
            let change = f_j - &f_a;
            let mut first = &f_b * &change; //~ sobol-first
            let mut total = change.mapv(|change| 0.5 * change * change);
            for terms in [&mut first, &mut total] {
                for mut row in terms.axis_iter_mut(Axis(1)) {
                    Zip::from(&mut row).and(&variance).for_each(|term, v| *term /= v);
                }
            }
            Ok(Sobol {
                column: column.name().into(),
                outputs: outputs.clone(),
                first_error: error(first.view()),
                total_error: error(total.view()),
                first: over_rows(&first),
                total: over_rows(&total),
            })
        };
        self.columns.iter().map(of_column).collect()
    }
}

/// Puts cells in the place of the column's.
fn put(x: &mut Array2<f64>, column: &TableColumn, cell: impl Fn(usize, usize) -> f64) {
    for place in column.features() {
        for (row, to) in x.column_mut(place).iter_mut().enumerate() {
            *to = cell(row, place);
        }
    }
}

/// The mean over rows of terms `[draw, row, output]`.
fn over_rows(terms: &Array3<f64>) -> Array2<f64> {
    terms.mean_axis(Axis(1)).unwrap_or_default()
}

/// The standard error over rows of the mean over draws.
fn error(terms: ArrayView3<f64>) -> Array1<f64> {
    let by_row = terms.mean_axis(Axis(0)).unwrap_or_default();
    let n = by_row.nrows() as f64;
    by_row.std_axis(Axis(0), 1.0) / n.sqrt()
}

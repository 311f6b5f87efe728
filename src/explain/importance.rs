//! Importance by exchanged cells.

use std::fmt;
use std::ops::RangeInclusive;

use ndarray::{Array1, Array2, ArrayView3, Axis};
use rand::seq::SliceRandom;
use statrs::distribution::{ContinuousCDF, Normal};

use super::effect::estimate;
use super::{Explainer, FEW_ROWS, evenly, weights};
use crate::Error;
use crate::data::{Dataset, TableColumn};
use crate::predict::{Smoothing, check_level, largest_k};
use crate::rng::ChainRng;

/// The rows that importance is computed on.
pub(crate) enum Scored {
    /// Rows that the model has not learnt from, none of weight 0.
    Unseen(Box<Dataset>),
    /// The rows that effects are averaged over, each as if it had been left out.
    LeftOut,
    /// None: rows cannot be left out of draws that are not of a posterior.
    Neither,
}

/// How much worse rows are predicted without what a column says of them: see [`Explainer::importance`].
#[derive(Clone, Debug, PartialEq)]
pub struct Importance {
    /// The name of the column.
    pub column: String,
    /// The mean loss of log predictive density, in nats a row.
    pub loss: f64,
    /// Its standard error, as a mean over rows that could have been others; NaN where weights of rows add up to 1 or less.
    pub se: f64,
    /// The number of rows that weights leave out unreliably, see [`Loo::unreliable`](crate::predict::Loo::unreliable): the same of
    /// all columns. 0 of rows that the model has not learnt from.
    pub unreliable: usize,
}

impl Importance {
    /// The loss plus and minus so many standard errors as a normal distribution has between the ends.
    ///
    /// # Errors
    /// A level that is not between 0 and 1.
    pub fn interval(&self, level: f64) -> Result<RangeInclusive<f64>, Error> {
        check_level(level)?;
        let reach = self.se * Normal::standard().inverse_cdf(0.5 + 0.5 * level);
        Ok(self.loss - reach..=self.loss + reach)
    }
}

/// Column, loss and its interval of 90 %.
impl fmt::Display for Importance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interval = self.interval(0.9).map_err(|_| fmt::Error)?;
        write!(f, "{} {}", self.column, estimate(self.loss, *interval.start(), *interval.end()))
    }
}

impl Explainer<'_> {
    /// The importance of each column for predictions, in the order of the columns: the loss of log predictive density when
    /// its cells are exchanged between rows, on average over `repeats` random exchanges and over rows,
    ///
    /// ```text
    /// loss_j = 1/n sum_i log p(y_i | x_i) - 1/R sum_r log p(y_i | x_pi_r(i),j , x_i,-j)
    /// ```
    ///
    /// The rows are rows for validation where a [`Fit`](crate::fit::Fit) has kept some. Else they are training rows, each
    /// predicted as if it had been left out, by the smoothed weights (PSIS) of [`Loo`](crate::predict::Loo); without that a column that is
    /// nothing but noise would seem useful, since the model has learnt the noise. All features of a column are
    /// exchanged together, and those that mark a missing value with them; which rows exchange does not depend on their weights. For what importance does not say see the
    /// [module](crate::explain).
    ///
    /// # Errors
    /// No repeats; draws of an approximation, such as an ensemble, if there are no rows that it has not learnt from; fewer draws than leaving rows out takes.
    pub fn importance(&self, repeats: usize, seed: u64) -> Result<Vec<Importance>, Error> {
        if repeats == 0 {
            return Err(Error::argument("repeats", 0, "at least 1"));
        }
        let (rows, is_known) = match &self.scored {
            Scored::Unseen(rows) => (evenly(rows, FEW_ROWS)?, false),
            Scored::LeftOut => (evenly(&self.rows, FEW_ROWS)?, true),
            Scored::Neither => {
                let found = "those that the model has learnt from";
                let allowed =
                    "others, since rows cannot be left out of draws that are not of the posterior";
                return Err(Error::argument("rows for importance", found, allowed));
            }
        };
        let known = (self.predict)(&rows)?;
        let Some(density) = known.log_density() else {
            return Err(Error::argument("response of the rows", "unknown", "known"));
        };
        let weights = weights(&rows);
        let leaves_out = is_known; //~ importance-left-out
        let of_draws = leaves_out.then(|| left_out(density, &weights)).transpose()?;
        let (of_draws, unreliable) = of_draws.unzip();
        let unreliable = unreliable.unwrap_or(0);
        let whole = log_means(density, of_draws.as_ref());
        let of_column = |column: &TableColumn| {
            let mut loss = whole.clone();
            for repeat in 0..repeats {
                let mut order: Vec<usize> = (0..rows.rows()).collect();
                order.shuffle(&mut ChainRng::new(seed, repeat as u64));
                let mut x = rows.x().clone();
                for place in column.features() {
                    let exchanged = order.iter().map(|from| rows.x()[(*from, place)]);
                    x.column_mut(place).assign(&exchanged.collect::<Array1<f64>>());
                }
                let without = (self.predict)(&rows.clone().with_x(x)?)?;
                let density = without.log_density().expect("the response is known");
                for (loss, without) in loss.iter_mut().zip(log_means(density, of_draws.as_ref())) {
                    *loss -= without / repeats as f64;
                }
            }
            Ok(Importance { unreliable, ..Importance::new(column.name(), &loss, &weights) })
        };
        self.columns.iter().map(of_column).collect()
    }
}

impl Importance {
    fn new(column: &str, loss: &[f64], weights: &[f64]) -> Self {
        let n: f64 = weights.iter().sum();
        let mean = loss.iter().zip(weights).map(|(loss, w)| w * loss).sum::<f64>() / n;
        let squares: f64 =
            loss.iter().zip(weights).map(|(loss, w)| w * (loss - mean).powi(2)).sum();
        let variance = squares / (n - 1.0) / n; //~ importance-se
        Self { column: column.into(), loss: mean, se: variance.sqrt(), unreliable: 0 }
    }
}

/// The log weights of the draws without each row, `[row, draw]`, of the log densities `[chain, draw, row]` of the rows; and the number of
/// rows of which they are unreliable.
fn left_out(density: ArrayView3<f64>, weights: &[f64]) -> Result<(Array2<f64>, usize), Error> {
    let (chains, draws, rows) = density.dim();
    let (smoothing, threshold) =
        (Smoothing::new((chains, draws), None)?, largest_k(chains * draws));
    let of_rows = smoothing.map_rows(density, 0, &|scratch, row, density| {
        let is_reliable = scratch.row(&smoothing, weights[row], density).is_reliable(threshold);
        let weights: Vec<f64> = scratch.psis.weights().iter().map(|w| w.ln()).collect();
        (weights, is_reliable)
    })?;
    let unreliable = of_rows.iter().filter(|(_, is_reliable)| !is_reliable).count();
    let all = of_rows.into_iter().flat_map(|(weights, _)| weights).collect();
    let all = Array2::from_shape_vec((rows, chains * draws), all);
    Ok((all.expect("there is a weight for each row and draw"), unreliable))
}

/// The log of the mean density of each row, of densities `[chain, draw, row]` on the log scale; weighted, if log weights `[row, draw]` are
/// given.
fn log_means(density: ArrayView3<f64>, weights: Option<&Array2<f64>>) -> Vec<f64> {
    let of_row = |row: usize| {
        let density = density.index_axis(Axis(2), row);
        let weight = |s: usize| weights.map_or(0.0, |weights| weights[(row, s)]);
        let terms: Vec<f64> = density.iter().enumerate().map(|(s, l)| weight(s) + l).collect();
        log_sum(&terms) - log_sum(&(0..terms.len()).map(weight).collect::<Vec<f64>>())
    };
    (0..density.len_of(Axis(2))).map(of_row).collect()
}

/// The log of the sum of exponentials.
fn log_sum(terms: &[f64]) -> f64 {
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match largest.is_finite() {
        true => largest + terms.iter().map(|term| (term - largest).exp()).sum::<f64>().ln(),
        false => largest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_of_means_of_weighted_rows() {
        let of = Importance::new("a", &[1.0, 2.0, 4.0], &[1.0, 1.0, 1.0]);
        assert_eq!(of.loss, 7.0 / 3.0);
        // The variance of 1, 2 and 4 is 7/3.
        assert!((of.se - (7.0_f64 / 9.0).sqrt()).abs() < 1e-15, "{}", of.se);
        let weighted = Importance::new("a", &[1.0, 2.0, 4.0], &[1.0, 0.0, 2.0]);
        let written_out = Importance::new("a", &[1.0, 4.0, 4.0], &[1.0; 3]);
        assert_eq!(weighted, written_out);
        let interval = of.interval(0.9).unwrap();
        assert!((interval.end() - of.loss - 1.644853626951 * of.se).abs() < 1e-9);
        assert!(of.interval(0.0).is_err());
    }

    #[test]
    fn means_are_of_densities() {
        // Densities 1 and 3 of one row, 2 and 2 of the other, weighted 1 to 3 and equally.
        let density = ndarray::arr3(&[[[1.0_f64, 2.0], [3.0, 2.0]]]).mapv(f64::ln);
        let close = |found: Vec<f64>, means: [f64; 2]| {
            found.iter().zip(means).for_each(|(a, b)| assert!((a - b.ln()).abs() < 1e-15));
        };
        close(log_means(density.view(), None), [2.0, 2.0]);
        let weights = ndarray::arr2(&[[1.0_f64, 3.0], [1.0, 1.0]]).mapv(f64::ln);
        close(log_means(density.view(), Some(&weights)), [2.5, 2.0]);
        // Densities far apart, the largest of which has nearly no weight.
        let density = ndarray::arr3(&[[[-2000.0]], [[0.0]]]);
        let weights = ndarray::arr2(&[[0.0, -3000.0]]);
        assert_eq!(log_means(density.view(), Some(&weights)), [-2000.0]);
    }
}

//! Full conformal prediction, with the new row added by importance weights.

use ndarray::{Array1, Array2, ArrayView1, Axis};

use super::super::predictions::Predictions;
use super::super::scores::log_mean_exp;
use super::{check_level, rank};
use crate::Error;
use crate::memory;

/// Log densities that differ by less are taken for equal.
const ROUNDING: f64 = 1e-12;

/// Full conformal prediction by add-one-in importance sampling: whether a response y of a new row fits as well as the
/// training responses do, once the posterior knows it, too.
///
/// The draws q_s of the posterior given n rows Z, weighted by the likelihood of the new row, stand for the posterior that
/// was given (x, y) besides. The score of a row is its predictive density under that:
///
/// ```text
/// w_s(y)      = p(y | x, q_s) / sum_t p(y | x, q_t)
/// sigma_i(y)  = sum_s w_s(y) p(y_i | x_i, q_s)   for the n training rows,     sigma_(n+1)(y) = sum_s w_s(y) p(y | x, q_s)
/// pi(y)       = #{ i <= n + 1 : sigma_i(y) <= sigma_(n+1)(y) } / (n + 1)
/// C(x)        = { y : pi(y) > 1 - c }
/// ```
///
/// With exact weights C(x) holds the new response with probability c or more if the n + 1 rows are exchangeable, whether
/// or not the model is right: all rows are scored by a function that treats them alike. This is marginal coverage, and not
/// for series. It needs chains that sample the posterior, and weights that many draws share:
/// [`effective_draws`](Self::effective_draws). Adding a row changes a posterior less than leaving one out, and the
/// ratios are bounded where the density is.
///
/// Source: Fong and Holmes 2021, arXiv:2106.06137.
///
/// Memory: n x S numbers; a candidate (x, y) costs n x S operations. [`Fit::add_one_in`](crate::fit::Fit::add_one_in)
/// finds the ends of intervals and the sets of classes.
///
/// ```
/// use bnn_mcmc::predict::AddOneIn;
/// use bnn_mcmc::prelude::*;
/// use ndarray::{Array2, array};
/// let mut rng = ChainRng::new(1, 0);
/// let x = Array2::from_shape_simple_fn((100, 1), || rng.normal());
/// let y = x.mapv(|x| 2.0 * x + 0.5 * rng.normal());
/// let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 5.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
/// let draws = Sampler::new(&posterior, Nuts::default()).seed(1).run()?;
///
/// let conformal = AddOneIn::new(&posterior.predict(&draws, &data)?)?;
/// let candidates = Dataset::regression(array![[1.0], [1.0]], array![2.1, 4.5])?;
/// let p = conformal.p_values(&posterior.predict(&draws, &candidates)?)?;
/// assert!(p[0] > 0.1 && p[1] <= 0.1); // 2.1 is in the region of 90 % at x = 1, 4.5 is not
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AddOneIn {
    /// p(y_i given q_s) relative to the row's largest one, `[draw, row]`.
    relative: Array2<f64>,
    /// The logarithm of the row's largest one.
    largest: Vec<f64>,
}

impl AddOneIn {
    /// From predictions of the training rows, with their response, by all draws of the chains.
    ///
    /// # Errors
    /// No observed response; rows with weights; draws of an ensemble, a mixture or an approximation; a log density that
    /// is not finite.
    pub fn new(training: &Predictions) -> Result<Self, Error> {
        training.check_unweighted("conformal prediction")?;
        training.check_importance("add-one-in")?;
        let log_density = of_all_draws(training)?;
        let (draws, rows) = log_density.dim();
        let size = [(rows, "rows"), (draws, "draws")];
        memory::check::<f64>("densities of add-one-in", &size, "take fewer rows or fewer draws")?;
        let largest = |row: ArrayView1<f64>| row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let largest: Vec<f64> = log_density.axis_iter(Axis(1)).map(largest).collect();
        let mut relative = log_density;
        for (mut row, largest) in relative.axis_iter_mut(Axis(1)).zip(&largest) {
            row.mapv_inplace(|density| (density - largest).exp());
        }
        Ok(Self { relative, largest })
    }

    /// The number of training rows, n.
    pub fn rows(&self) -> usize {
        self.largest.len()
    }

    /// pi(y) of each row of `candidates`, new rows with a response that they might have, predicted by the same draws: it
    /// lies in the region of level c if pi(y) > 1 - c, which [`contains`](Self::contains) says without rounding.
    ///
    /// # Errors
    /// No response; another number of draws than the training rows'; a log density that is not finite.
    pub fn p_values(&self, candidates: &Predictions) -> Result<Vec<f64>, Error> {
        let n = (self.rows() + 1) as f64;
        Ok(self.ranks(candidates)?.into_iter().map(|rank| rank as f64 / n).collect())
    }

    /// Whether the region of this level holds the response of each row of `candidates`.
    ///
    /// # Errors
    /// The errors of [`p_values`](Self::p_values); a level that is not between 0 and 1.
    pub fn contains(&self, candidates: &Predictions, level: f64) -> Result<Vec<bool>, Error> {
        check_level(level)?;
        let n = self.rows();
        // pi > 1 - c with k = ceil((n + 1) c): the whole number pi (n + 1) exceeds n + 1 - k.
        let outside = (n + 1).saturating_sub(rank(n, level)); //~ add-one-in-rank
        Ok(self.ranks(candidates)?.into_iter().map(|rank| rank > outside).collect())
    }

    /// The number of draws that the weights of each candidate come to, 1 / sum_s w_s^2. Below some hundreds, its p-value is
    /// uncertain.
    ///
    /// # Errors
    /// The errors of [`p_values`](Self::p_values).
    pub fn effective_draws(&self, candidates: &Predictions) -> Result<Vec<f64>, Error> {
        let weights = self.weights(candidates)?.0;
        Ok(weights.rows().into_iter().map(|w| 1.0 / w.dot(&w)).collect())
    }

    /// pi(y) times n + 1.
    fn ranks(&self, candidates: &Predictions) -> Result<Vec<usize>, Error> {
        let (weights, own) = self.weights(candidates)?;
        let averages = weights.dot(&self.relative);
        let rank = |(averages, own): (ArrayView1<f64>, &f64)| {
            let limit = own + ROUNDING * (1.0 + own.abs());
            let fits_worse = |(average, largest): (&f64, &f64)| largest + average.ln() <= limit; //~ add-one-in-score
            1 + averages.iter().zip(&self.largest).filter(|row| fits_worse(*row)).count()
        };
        Ok(averages.rows().into_iter().zip(&own).map(rank).collect())
    }

    /// w_s(y) `[candidate, draw]`, and log sigma_(n+1)(y).
    fn weights(&self, candidates: &Predictions) -> Result<(Array2<f64>, Array1<f64>), Error> {
        let log_density = of_all_draws(candidates)?;
        let (found, expected) = (log_density.nrows(), self.relative.nrows());
        if found != expected {
            return Err(Error::shape("draws that predict the candidates", found, expected));
        }
        let log_density = log_density.reversed_axes();
        let sum = log_density.map_axis(Axis(1), log_mean_exp);
        let squares = log_density.map_axis(Axis(1), |row| log_mean_exp((2.0 * &row).view()));
        let draws = expected as f64;
        let mut weights = log_density;
        for (mut row, sum) in weights.rows_mut().into_iter().zip(&sum) {
            row.mapv_inplace(|density| (density - sum).exp() / draws);
        }
        Ok((weights, squares - sum)) //~ add-one-in-own
    }
}

/// Log densities of all draws of all chains, `[draw, row]`.
fn of_all_draws(predictions: &Predictions) -> Result<Array2<f64>, Error> {
    predictions.draws_of_mean()?;
    let (_, log_density) = predictions.known()?;
    let (chains, draws, rows) = log_density.dim();
    if let Some(((_, _, row), density)) = log_density.indexed_iter().find(|(_, l)| !l.is_finite()) {
        let name = format!("log density of row {row}");
        return Err(Error::argument(name, density, "a finite number (rows count from 0)"));
    }
    let flat = log_density.to_shape((chains * draws, rows));
    Ok(flat.expect("as many numbers").into_owned())
}

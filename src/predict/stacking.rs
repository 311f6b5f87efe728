//! Stacking: weights with which several predictions are best averaged.

use ndarray::{Array2, ArrayView2, Axis};

use super::predictions::Predictions;
use super::scores::log_mean_exp;
use crate::Error;
use crate::linalg::cholesky::Cholesky;

/// The weights of a mixture of predictive distributions that predicts held-out rows best: of chains
/// that disagree, of modes, or of models.
///
/// With p_k(y_i) the predictive density of row i by candidate k,
///
/// ```text
/// w = argmax sum_i log sum_k w_k p_k(y_i),   w_k >= 0,   sum_k w_k = 1
/// ```
///
/// (Yao, Vehtari, Simpson and Gelman 2018, doi:10.1214/17-BA1091; of chains that do not mix, Yao,
/// Vehtari and Gelman 2022, arXiv:2006.12335). The rows must be none that the candidates have learnt
/// from; leave-one-out densities ([`Loo`](super::Loo)) serve where all rows were used. A mixture of
/// chains that disagree predicts better than chains of equal weight, and **is not the posterior**: a
/// chain's weight is not the probability of its mode. [`Draws::mixture`](crate::draws::Draws::mixture)
/// predicts with such weights.
///
/// The function is concave. It is maximised by Newton steps with a logarithmic barrier, until no
/// weights can raise the mean over rows by more than 1e-9.
///
/// ```
/// use bnn_mcmc::predict::Stacking;
/// use ndarray::array;
/// // Two rows that the first candidate predicts well, one that the second does.
/// let stacking = Stacking::new(array![[-1.0, -1.0, -5.0], [-4.0, -4.0, -1.0]].view())?;
/// assert!((stacking.weights[0] - 0.6616).abs() < 1e-3, "{:?}", stacking.weights);
/// assert!(stacking.elpd > stacking.elpd_equal);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stacking {
    /// The weight of each candidate.
    pub weights: Vec<f64>,
    /// The log predictive density of the mixture, in nats: the sum over rows.
    pub elpd: f64,
    /// The log predictive density of the mixture with equal weights.
    pub elpd_equal: f64,
    /// The log predictive density of each candidate alone.
    pub elpd_alone: Vec<f64>,
}

impl Stacking {
    /// Weights for the log predictive densities of held-out rows, `[candidate, row]`, in nats.
    ///
    /// # Errors
    /// Without candidates or rows; a density that is NaN or infinite; a row that all candidates give
    /// the density 0.
    pub fn new(log_densities: ArrayView2<f64>) -> Result<Self, Error> {
        let (candidates, rows) = log_densities.dim();
        if candidates == 0 || rows == 0 {
            let given = format!("{candidates} candidates and {rows} rows");
            return Err(Error::argument("log densities", given, "at least one of each"));
        }
        for ((k, i), l) in log_densities.indexed_iter() {
            if l.is_nan() || *l == f64::INFINITY {
                let what = format!("log density of row {i} by candidate {k}");
                return Err(Error::argument(what, l, "a number, or -inf for the density 0"));
            }
        }
        // Densities relative to the largest of their row.
        let best = log_densities.fold_axis(Axis(0), f64::NEG_INFINITY, |a, l| a.max(*l));
        if let Some(i) = best.iter().position(|l| !l.is_finite()) {
            let what = format!("log density of row {i} by every candidate");
            return Err(Error::argument(what, "-inf", "a number for at least one of them"));
        }
        let relative = (&log_densities - &best).mapv(f64::exp);
        let weights = maximise(&relative)?; //~ stacking
        let elpd = |weights: &[f64]| {
            let of_row = |row: ndarray::ArrayView1<f64>| {
                row.iter().zip(weights).map(|(p, w)| p * w).sum::<f64>().ln()
            };
            best.sum() + relative.columns().into_iter().map(of_row).sum::<f64>()
        };
        Ok(Self {
            elpd: elpd(&weights),
            elpd_equal: elpd(&vec![1.0 / candidates as f64; candidates]),
            elpd_alone: log_densities.sum_axis(Axis(1)).to_vec(),
            weights,
        })
    }
}

impl Predictions {
    /// [Weights](Stacking) for the chains, by their predictive densities of these rows, which must
    /// be none that the posterior was given.
    ///
    /// # Errors
    /// If no response was observed, there are no draws, or rows have weights; else as [`Stacking::new`].
    pub fn stacking(&self) -> Result<Stacking, Error> {
        let (_, density) = self.known()?;
        self.check_unweighted("stacking")?;
        self.draws_of_mean()?;
        let (chains, _, rows) = density.dim();
        let of_chain = |(chain, row)| {
            log_mean_exp(density.index_axis(Axis(0), chain).index_axis(Axis(1), row))
        };
        Stacking::new(Array2::from_shape_fn((chains, rows), of_chain).view())
    }
}

/// The weights w, of sum 1, that maximise f(w) = mean_i log sum_k w_k p_ki, for `p` `[candidate, row]`.
///
/// Newton steps minimise -f(x) + sum x - mu sum log x over x > 0, without the constraint: where mu
/// is 0, the sum of x is 1 at the minimum. With r_ki = x_k p_ki / sum_l x_l p_li, in steps d
/// relative to x, the gradient is -mean_i r_ki + x_k - mu and the Hessian mean_i r_ki r_li + mu (k =
/// l). At the minimum f is at most mu times the number of candidates below its maximum.
fn maximise(p: &Array2<f64>) -> Result<Vec<f64>, Error> {
    let (candidates, rows) = (p.nrows(), p.ncols() as f64);
    let last = 5e-10 / candidates as f64;
    let mut x = vec![1.0 / candidates as f64; candidates];
    let value = |x: &[f64], mu: f64| {
        let mixture =
            |row: ndarray::ArrayView1<f64>| row.iter().zip(x).map(|(p, x)| p * x).sum::<f64>().ln();
        let fit = p.columns().into_iter().map(mixture).sum::<f64>() / rows;
        x.iter().sum::<f64>() - fit - mu * x.iter().map(|x| x.ln()).sum::<f64>()
    };
    let mut mu = 1.0;
    while mu > last {
        mu = (0.1 * mu).max(last);
        for _ in 0..100 {
            let mut r = p * &ndarray::ArrayView2::from_shape((candidates, 1), &x)
                .map_err(|e| Error::argument("weights", e, "one for each candidate"))?;
            r /= &r.sum_axis(Axis(0));
            let mut hessian = r.dot(&r.t()) / rows;
            hessian.diag_mut().mapv_inplace(|h| h + mu);
            let mean = r.sum_axis(Axis(1)) / rows;
            let gradient: Vec<f64> = mean.iter().zip(&x).map(|(r, x)| x - r - mu).collect();
            let hessian: Vec<f64> = hessian.iter().copied().collect();
            let factor = Cholesky::new("Hessian of the stacking", &hessian, candidates)?;
            let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
            factor.solve_lower(&mut step);
            factor.solve_lower_transpose(&mut step);
            let longest = step.iter().fold(0.0f64, |a, d| a.max(d.abs()));
            let lowest = step.iter().copied().fold(0.0, f64::min);
            let moved = |size: f64| -> Vec<f64> {
                x.iter().zip(&step).map(|(x, d)| x * (1.0 + size * d)).collect()
            };
            let mut size = if lowest < -0.9 { -0.9 / lowest } else { 1.0 };
            // Short steps need no such care, and would be lost in the rounding of the values.
            if longest > 0.1 {
                let slope = step.iter().zip(&gradient).map(|(d, g)| d * g).sum::<f64>();
                let now = value(&x, mu);
                while size > 1e-10 && value(&moved(size), mu) > now + 0.1 * size * slope {
                    size *= 0.5;
                }
            }
            x = moved(size);
            if longest < 1e-6 {
                break;
            }
        }
    }
    let sum: f64 = x.iter().sum();
    Ok(x.iter().map(|x| x / sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use crate::rng::Anything;

    /// An upper bound on how much the mean over rows can still be raised: f is concave.
    fn gap(log_densities: &Array2<f64>, weights: &[f64]) -> f64 {
        let mut largest = 0.0f64;
        for k in 0..weights.len() {
            let mean = log_densities.columns().into_iter().map(|l| {
                let best = l.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let mixture: f64 = l.iter().zip(weights).map(|(l, w)| w * (l - best).exp()).sum();
                (l[k] - best).exp() / mixture
            });
            largest = largest.max(mean.sum::<f64>() / log_densities.ncols() as f64 - 1.0);
        }
        largest
    }

    #[test]
    fn no_weights_are_better() {
        Anything::cases(256, |any| {
            let shape = (1 + any.below(39), 1 + any.below(29));
            let mut rng = crate::rng::ChainRng::new(any.integer(), 0);
            let scale = 0.001 + 50.0 * rng.uniform();
            let mut log_densities =
                Array2::from_shape_simple_fn(shape, || scale * rng.normal() - 400.0);
            if any.below(2) == 0 {
                let first = log_densities.row(0).to_owned();
                log_densities.row_mut(shape.0 - 1).assign(&first);
            }
            let stacking = Stacking::new(log_densities.view()).unwrap();
            assert!((stacking.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(stacking.weights.iter().all(|w| *w >= 0.0));
            let gap = gap(&log_densities, &stacking.weights);
            assert!(gap < 1e-9, "{gap:e} {stacking:?}");
            let best = stacking.elpd_alone.iter().copied().fold(stacking.elpd_equal, f64::max);
            assert!(stacking.elpd >= best - 1e-8 * shape.1 as f64, "{stacking:?}");
        });
    }

    #[test]
    fn known_weights() {
        // Rows that only one candidate predicts: the shares of the rows.
        let none = f64::NEG_INFINITY;
        let log_densities = ndarray::array![
            [0.0, -2.0, none, none],
            [none, none, 3.0, none],
            [none, none, none, -9.0]
        ];
        let stacking = Stacking::new(log_densities.view()).unwrap();
        for (found, expected) in stacking.weights.iter().zip([0.5, 0.25, 0.25]) {
            assert!((found - expected).abs() < 1e-8, "{stacking:?}");
        }
        let expected = 2.0 * 0.5f64.ln() + 2.0 * 0.25f64.ln() - 2.0 + 3.0 - 9.0;
        assert!((stacking.elpd - expected).abs() < 1e-7, "{stacking:?}");
        // Twins share their weight, as evenly as rounding lets it be where only the barrier tells.
        let twins = ndarray::array![[-1.0, -2.0], [-1.0, -2.0], [-5.0, -5.0]];
        let weights = Stacking::new(twins.view()).unwrap().weights;
        assert!((weights[0] - 0.5).abs() < 1e-4 && weights[2] < 1e-8, "{weights:?}");
    }

    #[test]
    fn what_has_no_weights_is_refused() {
        let of = |log_densities: Array2<f64>| Stacking::new(log_densities.view());
        fails!(of(Array2::zeros((0, 3))), Argument { value: "0 candidates and 3 rows" });
        fails!(of(Array2::zeros((2, 0))), Argument { value: "2 candidates and 0 rows" });
        let nan = of(ndarray::array![[0.0, f64::NAN]]);
        fails!(nan, Argument { name: "log density of row 1 by candidate 0", value: "NaN" });
        let none = f64::NEG_INFINITY;
        let zero = of(ndarray::array![[0.0, none], [0.0, none]]);
        fails!(zero, Argument { name: "log density of row 1 by every candidate", value: "-inf" });
    }
}

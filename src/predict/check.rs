//! Predictive checks: is what the model would have observed like what was observed?

use ndarray::{ArrayView1, Axis, s};

use super::predictions::Predictions;
use crate::Error;
use crate::data::Response;

/// A statistic T of a response, of the observed rows and of rows that the model has made in their place, one set
/// for each draw:
///
/// ```text
/// T(y)   beside   T(y_s),   y_s ~ p(y | x, q_s) for all rows
/// ```
///
/// After Gelman, Meng and Stern (1996, Statistica Sinica 6, 733-760). Where q_s are draws of the posterior the rows are used twice, once
/// to learn from and once to check: p-values are nearer to 1/2 than uniform ones would be (Bayarri and Berger 2000,
/// doi:10.1080/01621459.2000.10474309). **One near 0 speaks against the model; one that is not speaks for it only as far as T is
/// something that the model has not been fitted to.** Shares of zeros, extremes and groups are of this kind; mean and standard deviation are fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictiveCheck {
    /// The statistic in words, such as `mean`.
    pub name: String,
    /// T(y).
    pub observed: f64,
    /// T(y_s) of each draw, one chain after the other.
    pub replicated: Vec<f64>,
}

impl PredictiveCheck {
    /// The probability integral transform of T(y) among the T(y_s): the share of draws below it, equal ones counted half, of one
    /// draw more than there are. NaN if any number is NaN.
    pub fn pit(&self) -> f64 {
        let all = &self.replicated;
        if self.observed.is_nan() || all.iter().any(|t| t.is_nan()) {
            return f64::NAN;
        }
        let count = |is: fn(&f64, &f64) -> bool| {
            all.iter().filter(|t| is(t, &self.observed)).count() as f64
        };
        let (below, equal) = (count(|t, of| t < of), count(|t, of| t == of));
        (below + 0.5 * (equal + 1.0)) / (all.len() + 1) as f64 //~ check-ties
    }

    /// The two-sided p-value, 2 min(u, 1 - u) of the [transform](Self::pit) u.
    pub fn p_value(&self) -> f64 {
        let u = self.pit();
        2.0 * u.min(1.0 - u) //~ check-two-sided
    }
}

impl Predictions {
    /// A [predictive check](PredictiveCheck) of a column of the response by a statistic of your own, which is given one value for each
    /// row: a number, or of classes the place of the class among the names.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin()))?;
    /// let fit = Fit::regression("y").hidden(&[4]).chains(2).warmup(100).draws(100).fit(&data)?;
    /// // Are neighbours as alike as the model would have them?
    /// let jump = |y: ndarray::ArrayView1<f64>| (1..y.len()).map(|i| (y[i] - y[i - 1]).abs()).sum();
    /// let check = fit.predict(fit.training())?.check(0, "sum of steps", jump)?;
    /// println!("{}: {} observed, p = {:.2}", check.name, check.observed, check.p_value());
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// No such column; no observed response, or one with bounds, whose replicates have none; no draws.
    pub fn check(
        &self,
        column: usize,
        name: impl Into<String>,
        statistic: impl Fn(ArrayView1<f64>) -> f64,
    ) -> Result<PredictiveCheck, Error> {
        self.draws_of_mean()?;
        let (chains, draws, _, columns) = self.drawn.dim();
        if column >= columns {
            return Err(Error::argument("column", column, format!("less than {columns}")));
        }
        let observed = match self.known()?.0 {
            Response::Real(y) | Response::Counts(y) => statistic(y.column(column)),
            Response::Classes { index, .. } => {
                let places = index.iter().map(|class| *class as f64);
                statistic(ndarray::Array1::from_iter(places).view())
            }
            Response::Censored { .. } => {
                return Err(self.wrong_kind("real numbers, counts or classes"));
            }
        };
        let drawn = self.drawn.slice(s![.., .., .., column]);
        let mut replicated = Vec::with_capacity(chains * draws);
        for chain in drawn.axis_iter(Axis(0)) {
            replicated.extend(chain.axis_iter(Axis(0)).map(&statistic));
        }
        Ok(PredictiveCheck { name: name.into(), observed, replicated })
    }
}

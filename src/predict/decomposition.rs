//! The uncertainty of predictions in two parts: what is not known, and what is noise.

use ndarray::{Array1, Array2, Array4, Axis};

use super::predictions::Predictions;
use super::uncertainty::Measure;
use crate::Error;
use crate::order::largest_first;

/// The uncertainty of predictions in two parts, each `[row, output]`; of classes there is one output. See
/// [`Fit::decompose`](crate::fit::Fit::decompose).
#[derive(Clone, Debug, PartialEq)]
pub struct Decomposition {
    /// The uncertainty of a new observation.
    pub total: Array2<f64>,
    /// The part on which draws differ, which more rows would reduce.
    pub of_mean: Array2<f64>,
    /// The part that every draw has, which more rows of the same columns would not.
    pub noise: Array2<f64>,
    /// Whether the parts are entropies of classes, in nats; else they are variances.
    pub are_entropies: bool,
}

impl Decomposition {
    /// The share of the uncertainty that more rows could remove, `[row, output]`; NaN where there is none.
    pub fn removable(&self) -> Array2<f64> {
        &self.of_mean / &self.total
    }

    /// The rows, counted from 0, the one first whose [`of_mean`](Self::of_mean) is largest in any output.
    pub fn ranking(&self) -> Vec<usize> {
        let largest = |row: usize| self.of_mean.row(row).fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let mut order: Vec<usize> = (0..self.of_mean.nrows()).collect();
        largest_first(&mut order, &largest);
        order
    }
}

impl Predictions {
    /// The uncertainty in two parts. `noise_sd` gives the standard deviation of the noise of each draw,
    /// `[chain, draw, row, column]`, or of one row if it is the same in all, as [`Posterior::predict_noise_sd`](crate::posterior::Posterior::predict_noise_sd) does; it is not
    /// asked of classes. [`Fit::decompose`](crate::fit::Fit::decompose) has the equations.
    ///
    /// # Errors
    /// The error of `noise_sd`; noise of another shape than the [means](Self::mean); no draws.
    pub fn decompose(
        &self,
        noise_sd: impl FnOnce() -> Result<Array4<f64>, Error>,
    ) -> Result<Decomposition, Error> {
        if self.is_of_classes() {
            let uncertainty = self.uncertainty()?;
            let of =
                |measure| Array1::from(uncertainty.measure(measure).to_vec()).insert_axis(Axis(1));
            return Ok(Decomposition {
                total: of(Measure::PredictiveEntropy),
                of_mean: of(Measure::MutualInformation),
                noise: of(Measure::ExpectedEntropy),
                are_entropies: true,
            });
        }
        let (shape, noise) = (self.mean().dim(), noise_sd()?);
        let of_one = (shape.0, shape.1, 1, shape.3);
        if ![shape, of_one].contains(&noise.dim()) {
            let [found, expected] = [noise.dim(), shape].map(|shape| format!("{shape:?}"));
            return Err(Error::shape("noise of each draw", found, expected));
        }
        let mean = self.posterior_mean()?;
        let draws = (shape.0 * shape.1) as f64;
        let noise = noise.pow2().sum_axis(Axis(0)).sum_axis(Axis(0)) / draws;
        let noise =
            noise.broadcast(mean.raw_dim()).expect("it is of one row, or of all").to_owned();
        let apart = (&self.mean() - &mean).pow2().sum_axis(Axis(0)).sum_axis(Axis(0));
        let of_mean = apart / draws; //~ variance-of-mean
        Ok(Decomposition { total: &of_mean + &noise, of_mean, noise, are_entropies: false })
    }
}

//! The uncertainty of new rows in two parts: what is not known, and what is noise.

use ndarray::{ArrayView2, Axis, s};

use super::{Fit, Plan};
use crate::Error;
use crate::data::Scaler;
use crate::likelihood::{Likelihood, NormalNoise};
use crate::predict::{Decomposition, Predictions};

impl Fit {
    /// The uncertainty of predictions of new rows `x`, as of [`predict_new`](Self::predict_new), in two parts: of the mean function,
    /// which more data would reduce (epistemic), and of the noise (aleatoric). Of numbers they are variances, in squared units of the
    /// response, by the law of total variance; of classes entropies, in nats:
    ///
    /// ```text
    /// Var[y | x]   = Var_s E[y | x, q_s] + E_s Var[y | x, q_s]
    /// H[E_s p_s]   = I + E_s H[p_s],            I the mutual information of class and parameters
    /// ```
    ///
    /// (Depeweg and others 2018, arXiv:1710.07283). Noise without a variance, such as Student's t after a logarithm, has an infinite part.
    /// The first part is of the model that was fitted: where it is too simple, what it lacks is counted as noise. Of several completed
    /// tables it holds what the missing values leave open, too.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let mut rng = ChainRng::new(1, 0);
    /// # let x = ndarray::Array2::from_shape_simple_fn((60, 1), || rng.normal());
    /// # let data = Dataset::regression(x.clone(), x.mapv(|x| x + 0.5 * rng.normal()))?;
    /// let fit = Fit::regression("y").hidden(&[]).chains(2).fit(&data)?;
    /// // Far from the rows the line itself is not known.
    /// let parts = fit.decompose(ndarray::array![[0.0], [20.0]].view())?;
    /// assert!(parts.of_mean[[1, 0]] > 20.0 * parts.of_mean[[0, 0]]);
    /// assert_eq!(parts.noise[[0, 0]], parts.noise[[1, 0]]);
    /// assert!(parts.removable()[[0, 0]] < 0.1 && parts.ranking() == [1, 0]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`predict_new`](Self::predict_new); counts of categories.
    pub fn decompose(&self, x: ArrayView2<f64>) -> Result<Decomposition, Error> {
        self.decompose_predictions(x, &self.predict_new(x)?.predictions)
    }

    /// [`decompose`](Self::decompose) of the same rows' [predictions](Self::predict_new), which are made already.
    ///
    /// # Errors
    /// The errors of [`decompose`](Self::decompose); predictions of other rows.
    pub fn decompose_predictions(
        &self,
        x: ArrayView2<f64>,
        predictions: &Predictions,
    ) -> Result<Decomposition, Error> {
        let rows = predictions.mean().len_of(Axis(2));
        if rows != x.nrows() {
            return Err(Error::shape("rows of the predictions", rows, x.nrows()));
        }
        predictions.decompose(|| self.predict_noise_sd(self.rows_of_noise(x)))
    }

    /// The rows whose noise is asked for: one where all rows have the same.
    fn rows_of_noise<'x>(&self, x: ArrayView2<'x, f64>) -> ArrayView2<'x, f64> {
        let Plan { response, posterior, .. } = &*self.plan;
        let is_affine = response.as_ref().is_none_or(Scaler::is_affine);
        let noise = posterior.likelihood().normal_noise();
        let is_equal = matches!(noise, Some(NormalNoise::Equal(_))); //~ noise-of-one-row
        match is_equal && is_affine {
            true => x.slice_move(s![..x.nrows().min(1), ..]),
            false => x,
        }
    }
}

//! Prior predictions: of a model that has not seen the data.

use ndarray::Array3;

use super::predictions::Predictions;
use crate::Error;
use crate::data::Dataset;
use crate::draws::Draws;
use crate::likelihood::Likelihood;
use crate::memory;
use crate::model::Model;
use crate::posterior::Posterior;
use crate::rng::ChainRng;

/// The part of a seed's random stream that parameters are drawn from: no sampler reads it.
const PRIOR: u64 = u64::from_le_bytes(*b"of prior");

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// `n` independent draws of q from the prior, as one chain: for everything that takes draws of
    /// the posterior.
    ///
    /// # Errors
    /// An improper prior, with the name of its block; draws that exceed the [limit](crate::memory)
    /// on memory.
    pub fn prior_draws(&self, n: usize, seed: u64) -> Result<Draws, Error> {
        let dim = self.layout().dim();
        memory::check::<f64>("draws", &[(n, "draws"), (dim, "parameters")], "take fewer draws")?;
        let mut values = Array3::zeros((1, n, dim));
        let mut rng = ChainRng::new(seed, 0).child(PRIOR);
        for mut q in values.rows_mut() {
            self.draw_prior(&mut rng, q.as_slice_mut().unwrap_or(&mut []))?;
        }
        Draws::new(self.layout().clone(), values)
    }

    /// Prior predictive draws: for each of `n` [draws from the prior](Self::prior_draws) the mean
    /// response of each row of `data`, and one response drawn from the model.
    ///
    /// ```text
    /// q_s ~ p(q),      y_s ~ p(y | x, q_s)
    /// ```
    ///
    /// A prior is easier to judge by its responses than by its parameters: are they of the right
    /// size, and none of them absurd? `data` are the training rows or others with the same columns.
    /// Their response is used only for [`log_density`](Predictions::log_density) and scores, and
    /// for the number of trials of counts. The [verdict](Predictions::verdict) has no meaning here,
    /// since there are no chains.
    ///
    /// # Errors
    /// The errors of [`prior_draws`](Self::prior_draws) and [`predict`](Self::predict).
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use ndarray::array;
    /// let data = Dataset::regression(array![[0.0], [3.0]], array![1.0, 2.0])?;
    /// let priors = Priors::all(Normal::new(0.0, 2.0)?);
    /// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(1.0)?, &data, priors)?;
    ///
    /// let prior = posterior.prior_predictive(4_000, &data, 1)?;
    /// // At x = 3: y = 3 w + b + noise has the variance 9 * 4 + 4 + 1.
    /// let drawn = prior.predictive_draws();
    /// let at_3 = drawn.slice(ndarray::s![0, .., 1, 0]);
    /// assert!((at_3.std(1.0) - 41f64.sqrt()).abs() < 0.3);
    /// println!("90 % of responses lie in {:?}", prior.predictive_interval(0.9)?);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn prior_predictive(
        &self,
        n: usize,
        data: &Dataset,
        seed: u64,
    ) -> Result<Predictions, Error> {
        self.predict_seeded(&self.prior_draws(n, seed)?, data, seed)
    }
}

//! The score of single points on held-out rows: the score for early stopping.

use crate::Error;
use crate::data::Dataset;
use crate::engine::Tiles;
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::posterior::Posterior;
use crate::targets::Target;

/// Rows that a posterior was not given, to score single points on. Made by [`Posterior::held_out`].
#[derive(Debug)]
pub struct HeldOut<'a, M, L> {
    posterior: &'a Posterior<M, L>,
    x: Tiles,
    y: Tiles,
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Takes `data` as held-out rows, for [early stopping](crate::optimise::EarlyStopping).
    ///
    /// # Errors
    /// If the number, names or order of features, responses or classes differ from the training
    /// data's; see [`feature_names`](Self::feature_names).
    pub fn held_out(&self, data: &Dataset) -> Result<HeldOut<'_, M, L>, Error> {
        let y = self.encoded(data)?;
        let (x, y) = (self.tiles_of(data.x().view()), self.tiles_of(y.view()));
        Ok(HeldOut { posterior: self, x, y })
    }
}

impl<M: Model, L: Likelihood> HeldOut<'_, M, L> {
    /// The mean log predictive density of a row, given one point:
    ///
    /// ```text
    /// 1/n sum_i log p(y_i | f(x_i; w), phi),   q = (w, phi, ..), over the n held-out rows
    /// ```
    ///
    /// In nats; larger is better. The prior has no part in it. Cost: a forward pass.
    ///
    /// # Errors
    /// A q of another length.
    pub fn score(&self, q: &[f64]) -> Result<f64, Error> {
        let posterior = self.posterior;
        if q.len() != posterior.dim() {
            return Err(Error::shape("length of q", q.len(), posterior.dim()));
        }
        let tiles = self.x.iter().zip(self.y.iter());
        let sum = posterior.log_lik_of(q, tiles, &mut posterior.workspace());
        Ok(sum / self.x.rows() as f64)
    }
}

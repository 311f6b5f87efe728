//! The score of single points on held-out rows: the score for early stopping.

use ndarray::{Array1, Axis};

use crate::Error;
use crate::data::Dataset;
use crate::engine::Tiles;
use crate::likelihood::{Likelihood, Weights};
use crate::model::Model;
use crate::posterior::{Observed, Posterior};
use crate::targets::Target;

/// Rows that a posterior was not given, to score single points on. Made by [`Posterior::held_out`].
#[derive(Debug)]
pub struct HeldOut<'a, M, L> {
    posterior: &'a Posterior<M, L>,
    x: Tiles,
    y: Tiles,
    /// The weights of the rows, ones if they have none.
    weights: Tiles,
    n: f64,
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Takes `data` as held-out rows, for [early stopping](crate::optimise::EarlyStopping).
    ///
    /// # Errors
    /// If the number, names or order of features, responses or classes differ from the training
    /// data's; see [`feature_names`](Self::feature_names).
    pub fn held_out(&self, data: &Dataset) -> Result<HeldOut<'_, M, L>, Error> {
        let y = self.encoded(data)?;
        let weights = data.weights().map_or_else(|| Array1::ones(data.rows()), |w| w.to_owned());
        let weights = self.tiles_of(weights.insert_axis(Axis(1)).view());
        let (x, y) = (self.tiles_of(data.x().view()), self.tiles_of(y.view()));
        Ok(HeldOut { posterior: self, x, y, weights, n: data.total_weight() })
    }
}

impl<M: Model, L: Likelihood> HeldOut<'_, M, L> {
    /// The mean log predictive density of a row, given one point:
    ///
    /// ```text
    /// sum_i w_i log p(y_i | f(x_i; w), phi) / sum_i w_i,   q = (w, phi, ..), over the held-out rows
    /// ```
    ///
    /// with the [weights](Dataset::with_weights) w_i of the rows, 1 if they have none.
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
        let y = self.y.iter().zip(self.weights.iter());
        let observed =
            y.map(|(y, weights)| Observed { y, weights: Weights::given(weights.column(0)) });
        let tiles = self.x.iter().zip(observed);
        let sum = posterior.log_lik_of(q, tiles, &mut posterior.workspace());
        Ok(sum / self.n)
    }
}

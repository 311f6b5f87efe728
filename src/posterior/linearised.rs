//! The posterior of a model that is linear in its weights around a point.

use std::sync::OnceLock;

use super::Posterior;
use crate::Error;
use crate::likelihood::Likelihood;
use crate::model::{Linearised, SecondOrderModel};

impl<M: SecondOrderModel + Clone, L: Likelihood + Clone> Posterior<M, L> {
    /// The posterior of the model [linearised](Linearised) in its weights around the weights in
    /// `q`, with the same data, likelihood, priors and layout.
    ///
    /// It predicts with the draws of this posterior too, and not the other way round: the
    /// predictions of a [Laplace approximation](crate::approximate::LaplaceApproximation) by f_lin
    /// are `posterior.linearised(&q)?.predict(&draws, &test)`, with q the point that it was made at
    /// ([`LaplaceApproximation::mean`](crate::approximate::LaplaceApproximation::mean)): at another
    /// one they are meaningless, and no check detects it.
    ///
    /// # Errors
    /// `q` of the wrong length, or not finite.
    pub fn linearised(&self, q: &[f64]) -> Result<Posterior<Linearised<M>, L>, Error> {
        if q.len() != self.layout.dim() {
            return Err(Error::shape("length of q", q.len(), self.layout.dim()));
        }
        let at = q[..self.n_weights].to_vec();
        Ok(Posterior {
            model: Linearised::new(self.model.clone(), at)?,
            likelihood: self.likelihood.clone(),
            priors: self.priors.clone(),
            layout: self.layout.clone(),
            n_weights: self.n_weights,
            n_phi: self.n_phi,
            feature_names: self.feature_names.clone(),
            response_names: self.response_names.clone(),
            blank: self.blank.clone(),
            response_checksum: self.response_checksum,
            x: self.x.clone(),
            y: self.y.clone(),
            is_weighted: self.is_weighted,
            n_weighted: self.n_weighted,
            responses: OnceLock::new(),
            checksum: self.checksum.clone(),
        })
    }
}

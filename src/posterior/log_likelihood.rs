//! The likelihood of a posterior without its prior.

use super::{Posterior, PosteriorWorkspace};
use crate::Error;
use crate::layout::Layout;
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::rng::ChainRng;
use crate::targets::{GradTarget, LogDensity, MinibatchTarget, Target, TargetInfo};

/// The log likelihood of a posterior as a function of q, log p(q) left out: the function that an
/// [optimiser](crate::optimise) climbs for a maximum-likelihood fit.
///
/// ```text
/// log density(q) = ell(q) = sum_i w_i log p(y_i | f(x_i; w), phi)
/// ```
///
/// q has all blocks of the posterior's q: the likelihood's own parameters (`log_noise_variance`) are
/// fitted with the weights; the parameters of hierarchical priors have gradient zero and stay where
/// they are. The prior's support is not heeded: a point that was found here may lie outside it.
/// Starting points are drawn from the prior, as for the posterior.
///
/// An evaluation costs as much as one of the posterior. **Not for sampling**: ell need not be
/// integrable (classes that can be separated, weights that have no effect), nor need it have a
/// maximum: with as many weights as rows a fit may drive the noise variance to zero. Stop early, or
/// fix the noise.
///
/// Made by [`Posterior::log_likelihood`].
///
/// ```
/// use bnn_mcmc::optimise::Adam;
/// use bnn_mcmc::prelude::*;
/// let x = ndarray::array![[0.0], [1.0], [2.0]];
/// let data = Dataset::regression(x, ndarray::array![1.0, 3.5, 4.5])?;
/// let narrow = Priors::all(Normal::new(0.0, 0.1)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, narrow)?;
/// let mut q = [0.0, 0.0];
/// Adam { learning_rate: 0.1, ..Adam::default() }.maximise(&posterior.log_likelihood(), &mut q)?;
/// assert!((q[0] - 1.75).abs() < 1e-3 && (q[1] - 1.25).abs() < 1e-3); // least squares
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Debug)]
pub struct LogLikelihood<'a, M, L> {
    posterior: &'a Posterior<M, L>,
}

impl<M, L> Clone for LogLikelihood<'_, M, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, L> Copy for LogLikelihood<'_, M, L> {}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// The log likelihood alone, as a target for optimisers.
    pub fn log_likelihood(&self) -> LogLikelihood<'_, M, L> {
        LogLikelihood { posterior: self }
    }
}

/// The log density of a flat prior, 0, for a target without a prior.
fn flat(_: &[f64], grad: &mut [f64]) -> f64 {
    grad.fill(0.0);
    0.0
}

impl<M: Model, L: Likelihood> Target for LogLikelihood<'_, M, L> {
    type Workspace = PosteriorWorkspace<M::Workspace>;

    fn dim(&self) -> usize {
        self.posterior.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        self.posterior.workspace()
    }

    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        LogDensity::new(self.posterior.full_log_lik(q, ws), 0.0)
    }

    fn layout(&self) -> Layout {
        self.posterior.layout.clone()
    }

    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.posterior.draw_start(rng, q)
    }

    fn data_checksum(&self) -> Option<u32> {
        self.posterior.data_checksum()
    }

    fn info(&self) -> Option<TargetInfo> {
        self.posterior.info()
    }
}

impl<M: Model, L: Likelihood> GradTarget for LogLikelihood<'_, M, L> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        grad.fill(0.0);
        LogDensity::new(self.posterior.add_full_grad(1.0, q, grad, ws), 0.0)
    }
}

impl<M: Model, L: Likelihood> MinibatchTarget for LogLikelihood<'_, M, L> {
    fn n_obs(&self) -> usize {
        self.posterior.n_obs()
    }

    fn minibatch_grad_at(
        &self,
        beta: f64,
        rows: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let [estimate] = self.posterior.minibatch_grads_at(beta, rows, [q], [grad], flat, ws);
        estimate
    }

    fn minibatch_grad_pair_at(
        &self,
        beta: f64,
        rows: &[usize],
        q: [&[f64]; 2],
        grad: [&mut [f64]; 2],
        ws: &mut Self::Workspace,
    ) -> [LogDensity; 2] {
        self.posterior.minibatch_grads_at(beta, rows, q, grad, flat, ws)
    }
}

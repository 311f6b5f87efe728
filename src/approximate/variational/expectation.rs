//! E_q log p(y, q), estimated by samples of q.

use super::prior::{ExpectedPrior, Sample};
use super::{At, Normals};
use crate::Error;
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::posterior::Posterior;
use crate::posterior::PosteriorWorkspace;
use crate::rng::ChainRng;
use crate::targets::{GradTarget, LogDensity, MinibatchTarget, Target};

/// An estimator of the expectation of a log density under independent normals: [`WeightSamples`],
/// [`LocalNoise`](super::LocalNoise) or [`DensitySamples`], which the constructors of an
/// [`Elbo`](super::Elbo) choose. It is not for types of your own.
pub trait Expectation: Sync {
    /// The log density.
    type Base: Target;
    /// Scratch memory.
    type Workspace: Send;

    /// The log density.
    fn base(&self) -> &Self::Base;

    /// N, the number of rows.
    fn n_obs(&self) -> usize;

    /// Scratch memory for one estimate after the other.
    fn workspace(&self) -> Self::Workspace;

    /// An estimate from all rows: the expectations of the log likelihood and of the log prior.
    fn value(&self, at: At, rng: &mut ChainRng, ws: &mut Self::Workspace) -> LogDensity;

    /// An estimate from `rows`; adds its gradient, with the likelihood to the power beta, to
    /// `grad`.
    fn add_grad(
        &self,
        beta: f64,
        rows: &[usize],
        at: At,
        grad: Normals<&mut [f64]>,
        rng: &mut ChainRng,
        ws: &mut Self::Workspace,
    ) -> LogDensity;
}

/// One sample of all weights for each minibatch: for every [`Posterior`].
#[derive(Clone, Debug)]
pub struct WeightSamples<'a, M, L> {
    posterior: &'a Posterior<M, L>,
    prior: ExpectedPrior<'a>,
}

impl<'a, M: Model, L: Likelihood> WeightSamples<'a, M, L> {
    pub(super) fn new(posterior: &'a Posterior<M, L>) -> Result<Self, Error> {
        let all = 0..posterior.dim();
        let prior = ExpectedPrior::new(posterior.layout(), posterior.priors(), all)?;
        Ok(Self { posterior, prior })
    }
}

impl<M: Model, L: Likelihood> Expectation for WeightSamples<'_, M, L> {
    type Base = Posterior<M, L>;
    type Workspace = (Sample, PosteriorWorkspace<M::Workspace>);

    fn base(&self) -> &Self::Base {
        self.posterior
    }

    fn n_obs(&self) -> usize {
        self.posterior.n_obs()
    }

    fn workspace(&self) -> Self::Workspace {
        (Sample::new(self.posterior.dim()), self.posterior.workspace())
    }

    fn value(&self, at: At, rng: &mut ChainRng, ws: &mut Self::Workspace) -> LogDensity {
        let (sample, ws) = ws;
        self.prior.draw(at, rng, sample);
        let likelihood = self.posterior.log_likelihood().log_density(&sample.q, ws).likelihood;
        LogDensity::new(likelihood, self.prior.value(at, sample))
    }

    fn add_grad(
        &self,
        beta: f64,
        rows: &[usize],
        at: At,
        mut grad: Normals<&mut [f64]>,
        rng: &mut ChainRng,
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let (sample, ws) = ws;
        self.prior.draw(at, rng, sample);
        let ell = self.posterior.log_likelihood();
        let estimate = ell.minibatch_grad_at(beta, rows, &sample.q, &mut sample.grad, ws);
        let prior = self.prior.add_grad(at, sample, &mut grad);
        self.prior.add_sampled(sample, &mut grad);
        LogDensity::new(estimate.likelihood, prior)
    }
}

/// One sample of q for each minibatch of a density of any kind.
#[derive(Clone, Debug)]
pub struct DensitySamples<'a, T: Target> {
    target: &'a T,
    n_obs: usize,
    estimate: Estimate<T>,
}

/// Writes the gradient of the estimate by some rows.
type Estimate<T> = fn(&T, f64, &[usize], &mut Sample, &mut <T as Target>::Workspace) -> LogDensity;

impl<'a, T: GradTarget> DensitySamples<'a, T> {
    /// The samples for a density that counts as one row.
    pub(super) fn of_density(target: &'a T) -> Self {
        let estimate: Estimate<T> =
            |target, _, _, sample, ws| target.log_density_grad(&sample.q, &mut sample.grad, ws);
        Self { target, n_obs: 1, estimate }
    }

    pub(super) fn of_rows(target: &'a T) -> Self
    where
        T: MinibatchTarget,
    {
        let estimate: Estimate<T> = |target, beta, rows, sample, ws| {
            target.minibatch_grad_at(beta, rows, &sample.q, &mut sample.grad, ws)
        };
        Self { target, n_obs: target.n_obs(), estimate }
    }
}

impl<T: GradTarget> Expectation for DensitySamples<'_, T> {
    type Base = T;
    type Workspace = (Sample, T::Workspace);

    fn base(&self) -> &T {
        self.target
    }

    fn n_obs(&self) -> usize {
        self.n_obs
    }

    fn workspace(&self) -> Self::Workspace {
        (Sample::new(self.target.dim()), self.target.workspace())
    }

    fn value(&self, at: At, rng: &mut ChainRng, ws: &mut Self::Workspace) -> LogDensity {
        let (sample, ws) = ws;
        sample.draw(0..at.mean.len(), at, rng);
        LogDensity::new(self.target.log_density(&sample.q, ws).total(), 0.0)
    }

    fn add_grad(
        &self,
        beta: f64,
        rows: &[usize],
        at: At,
        mut grad: Normals<&mut [f64]>,
        rng: &mut ChainRng,
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let (sample, ws) = ws;
        sample.draw(0..at.mean.len(), at, rng);
        let estimate = (self.estimate)(self.target, beta, rows, sample, ws);
        sample.add_grad(0..at.mean.len(), &mut grad);
        LogDensity::new(estimate.total(), 0.0)
    }
}

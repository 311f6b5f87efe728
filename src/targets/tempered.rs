//! Tempered targets: the likelihood to a power.

use super::{GradTarget, LogDensity, Target, TargetInfo};
use crate::Error;
use crate::layout::Layout;
use crate::rng::ChainRng;

/// A target whose likelihood and normalised prior are told apart, as tempering requires.
pub trait PowerTarget: Target {
    /// Draws q exactly from the prior, the target at beta = 0.
    fn draw_reference(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error>;

    /// log p(q), the prior part alone. By default the whole density is evaluated for it.
    fn log_prior(&self, q: &[f64], ws: &mut Self::Workspace) -> f64 {
        self.log_density(q, ws).prior
    }
}

/// A [`PowerTarget`] with the gradient of its tempered density.
pub trait PowerGradTarget: PowerTarget + GradTarget {
    /// Overwrites `grad` with the gradient of beta ell + log p, and returns both parts. The returned
    /// value's own `beta` is 1.
    fn log_density_grad_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity;

    /// Overwrites `grad` with the gradient of log p, the prior part alone, and returns log p(q). By
    /// default the whole density is evaluated for it.
    fn log_prior_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut Self::Workspace) -> f64 {
        self.log_density_grad_at(0.0, q, grad, ws).prior
    }
}

impl<T: PowerTarget> PowerTarget for &T {
    forward! { self => (**self);
        fn draw_reference(rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error>;
        fn log_prior(q: &[f64], ws: &mut Self::Workspace) -> f64;
    }
}

impl<T: PowerGradTarget> PowerGradTarget for &T {
    forward! { self => (**self);
        fn log_density_grad_at(
            beta: f64, q: &[f64], grad: &mut [f64], ws: &mut Self::Workspace,
        ) -> LogDensity;
        fn log_prior_grad(q: &[f64], grad: &mut [f64], ws: &mut Self::Workspace) -> f64;
    }
}

/// The target `base` with its likelihood to the power `beta`.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::targets::Tempered;
/// let data = Dataset::regression(ndarray::array![[0.0], [1.0]], ndarray::array![1.0, 2.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
/// let hot = Tempered::new(&posterior, 0.1)?;
/// let draws = Sampler::new(&hot, Mala::default()).draws(100).run()?;
/// assert_eq!(draws.n_draws(), 100);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// ```text
/// log pi_beta(q) = beta ell(q) + log p(q),   0 <= beta <= 1
/// ```
///
/// The power acts on the likelihood only. At beta = 0 the likelihood enters neither the density nor
/// the gradient, whatever its value.
#[derive(Clone, Copy, Debug)]
pub struct Tempered<T> {
    base: T,
    beta: f64,
}

impl<T> Tempered<T> {
    /// `beta` between 0 and 1, inclusive.
    pub fn new(base: T, beta: f64) -> Result<Self, Error> {
        if (0.0..=1.0).contains(&beta) {
            Ok(Self { base, beta })
        } else {
            Err(Error::argument("beta", beta, "between 0 and 1"))
        }
    }

    /// The target at beta = 1.
    pub fn base(&self) -> &T {
        &self.base
    }

    /// The power of the likelihood.
    pub fn beta(&self) -> f64 {
        self.beta
    }
}

impl<T: PowerTarget> Target for Tempered<T> {
    type Workspace = T::Workspace;

    fn dim(&self) -> usize {
        self.base.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        self.base.workspace()
    }

    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        LogDensity { beta: self.beta, ..self.base.log_density(q, ws) }
    }

    fn layout(&self) -> Layout {
        self.base.layout()
    }

    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.base.draw_start(rng, q)
    }

    fn data_checksum(&self) -> Option<u32> {
        self.base.data_checksum()
    }

    fn approximation(&self) -> Option<String> {
        self.base.approximation()
    }

    fn info(&self) -> Option<TargetInfo> {
        self.base.info()
    }
}

impl<T: PowerGradTarget> GradTarget for Tempered<T> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        LogDensity { beta: self.beta, ..self.base.log_density_grad_at(self.beta, q, grad, ws) }
    }
}

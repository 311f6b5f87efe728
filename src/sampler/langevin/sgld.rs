//! Stochastic gradient Langevin dynamics: [Euler-Maruyama](crate::sampler::EulerMaruyama) on minibatches.

use serde::{Deserialize, Serialize};

use super::euler_maruyama::EulerMaruyamaIntegrator;
use super::kernel::{LangevinKernel, StepSchedule};
use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, GradSource, Minibatch};
use crate::targets::Target;

/// Stochastic gradient Langevin dynamics.
///
/// With a stochastic gradient g~ (see [`GradSource`](crate::sampler::GradSource)), the time step h and
/// the inverse temperature B,
///
/// ```text
/// q' = q + h g~(q) + sqrt(2 h/B) R,   R ~ N(0, I)
/// ```
///
/// `step_size` is h; the epsilon of Welling and Teh is 2 h. It does **not sample pi**: the
/// gradient's noise, of variance V, adds a bias to the integrator's bias of order h. Near a mode of
/// curvature k, with epochs of R = N/|b| batches, the variance of q is about (1/(B k)) (1 + h k/2 +
/// h^2 k B V R/6) for short steps, and (1/(B k)) (1 + h k/2 + h B V/2) where h k R is large (see
/// [`Integrator`](crate::sampler::Integrator)); V grows with N^2/|b|. Control variates around a
/// mode take away most of V. Cost of a step: one minibatch gradient, |b|/N of a full one. See
/// [`Integrator`](crate::sampler::Integrator) for what all integrators share.
///
/// When not to use it: where full gradients are affordable ([`Nuts`](crate::sampler::Nuts) has no bias). Plain
/// minibatches do not make large data cheap: with V ~ N^2/|b| and k ~ N, a bias of given size takes h ~
/// |b|/N^2 by either formula, hence N/|b| steps, about one pass over the data, for each independent draw, however large N is
/// (Nagapetyan et al., *The true cost of stochastic gradient Langevin dynamics*, 2017, arXiv:1706.02692).
/// Control variates change that, where there is one mode.
///
/// Measured, on a line through 60 points with batches of 6 and curvatures of about 240: relative error of the
/// posterior variances, 32 chains of 3,000 draws (`tests/invariance/langevin.rs` makes about half as many), standard error
/// 0.004, and 0.02 where the error is above 1. The last columns are [`Sghmc`](crate::sampler::Sghmc) and
/// [`Baoab`](crate::sampler::Baoab) at friction 15.
///
/// | h | SGLD | with control variates | h | SGHMC | BAOAB | with control variates |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | 1e-3 | +0.99 | +0.15 | 0.04 | +3.92 | +3.58 | +0.085 |
/// | 2.5e-4 | +0.081 | +0.019 | 0.01 | +0.148 | +0.134 | +0.001 |
/// | 6.25e-5 | +0.012 | +0.008 | 0.0025 | -0.005 | -0.005 | -0.008 |
///
/// With a step size that [decays](crate::sampler::StepSchedule::Polynomial) the bias vanishes in the limit, and
/// the draws are to be weighted by it.
///
/// A table of its bias on a logistic regression is in [`GradSource`](crate::sampler::GradSource).
///
/// Source: Welling and Teh, *Bayesian learning via stochastic gradient Langevin dynamics*, ICML 2011;
/// its bias: Vollmer, Zygalakis and Teh, JMLR 17, 2016, arXiv:1501.00438.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// let x = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 200.0);
/// let y = x.mapv(|x| 1.0 + x + 0.1 * (40.0 * x).sin());
/// let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
/// let sgld = Sgld { step_size: 1e-4, ..Sgld::new(Minibatch { size: 20 }) };
/// let draws = Sampler::new(&posterior, sgld).thin(10).seed(1).run()?;
/// assert!((draws.mean()[1] - 1.0).abs() < 0.2);
/// assert!(draws.accept_rate().iter().all(|a| a.is_nan())); // there is no test
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sgld<S = Minibatch> {
    /// The time step h.
    pub step_size: f64,
    /// The dependence of h on the number of steps.
    pub schedule: StepSchedule,
    /// B: pi^B is sampled, except for the bias.
    pub inverse_temperature: f64,
    /// The source of the gradients.
    pub gradient: S,
}

impl<S> Sgld<S> {
    /// With these gradients, and else as by default: h = 1e-4.
    pub fn new(gradient: S) -> Self {
        let schedule = StepSchedule::Constant;
        Self { step_size: 1e-4, schedule, inverse_temperature: 1.0, gradient }
    }
}

impl Default for Sgld {
    fn default() -> Self {
        Self::new(Minibatch::default())
    }
}

impl<T: Target, S: GradSource<T>> Algorithm<T> for Sgld<S> {
    type Kernel = LangevinKernel<S::Stream, EulerMaruyamaIntegrator>;

    fn name(&self) -> String {
        format!("Sgld({})", self.gradient.name())
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let integrator = EulerMaruyamaIntegrator::new(self.inverse_temperature)?;
        LangevinKernel::new(target, integrator, &self.gradient, self.step_size, self.schedule)
    }
}

//! The Euler-Maruyama integrator of overdamped Langevin dynamics: unadjusted Langevin.

use serde::{Deserialize, Serialize};

use super::kernel::{Integrator, LangevinKernel, StepSchedule};
use crate::Error;
use crate::error::positive;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, FullGrad};
use crate::targets::GradTarget;

/// The Euler-Maruyama integrator.
///
/// With g = grad log pi, the time step h and the inverse temperature B,
///
/// ```text
/// q' = q + h g(q) + sqrt(2 h/B) R,   R ~ N(0, I)
/// ```
///
/// `step_size` is h; a [`Mala`](crate::sampler::Mala) proposal of step size eps is this with h = eps^2/2 and B = 1.
/// Nothing is rejected, so that it does **not sample pi**: averages have a bias of order h. For
/// U = k q^2/2 the stationary variance is 2/(B k (2 - h k)) in place of 1/(B k); h k must stay below 2
/// for the largest curvature k. Cost of a step: one gradient. See [`Integrator`](crate::sampler::Integrator) for what
/// all integrators share.
///
/// When not to use it: [`LeimkuhlerMatthews`](crate::sampler::LeimkuhlerMatthews) costs the same
/// and has a bias of order h^2; [`Mala`](crate::sampler::Mala) has none. It is here for
/// comparisons, and as the basis of [`Sgld`](crate::sampler::Sgld), which is the same on
/// minibatches.
///
/// Source: Roberts and Tweedie, Bernoulli 2, 1996, doi:10.2307/3318418; for the order of the bias Talay
/// and Tubaro, Stochastic Analysis and Applications 8, 1990, doi:10.1080/07362999008809220.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::standard(2)?;
/// let algorithm = EulerMaruyama { step_size: 0.2, ..EulerMaruyama::default() };
/// let draws = Sampler::new(&target, algorithm).draws(20_000).seed(1).run()?;
/// let variance = draws.covariance()[(0, 0)];
/// assert!((variance - 2.0 / (2.0 - 0.2)).abs() < 0.04); // not 1
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "ULA")]
#[doc(alias = "unadjusted Langevin algorithm")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EulerMaruyama {
    /// The time step h.
    pub step_size: f64,
    /// The dependence of h on the number of steps.
    pub schedule: StepSchedule,
    /// B: pi^B is sampled, except for the bias.
    pub inverse_temperature: f64,
}

impl Default for EulerMaruyama {
    fn default() -> Self {
        Self { step_size: 0.01, schedule: StepSchedule::Constant, inverse_temperature: 1.0 }
    }
}

/// The update equations of [`EulerMaruyama`] and [`Sgld`](crate::sampler::Sgld); keeps nothing.
#[derive(Debug)]
pub struct EulerMaruyamaIntegrator {
    inverse_temperature: f64,
}

impl EulerMaruyamaIntegrator {
    pub(super) fn new(inverse_temperature: f64) -> Result<Self, Error> {
        let inverse_temperature = positive("inverse_temperature", inverse_temperature)?;
        Ok(Self { inverse_temperature })
    }
}

impl<T: GradTarget> Algorithm<T> for EulerMaruyama {
    type Kernel = LangevinKernel<FullGrad, EulerMaruyamaIntegrator>;

    fn name(&self) -> String {
        "EulerMaruyama".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let integrator = EulerMaruyamaIntegrator::new(self.inverse_temperature)?;
        LangevinKernel::new(target, integrator, &FullGrad, self.step_size, self.schedule)
    }
}

impl Integrator for EulerMaruyamaIntegrator {
    fn n_kept(&self, _dim: usize) -> usize {
        0
    }

    fn draw(&self, _kept: &mut [f64], _rng: &mut ChainRng) {}

    fn advance(&self, h: f64, q: &mut [f64], g: &[f64], _kept: &mut [f64], rng: &mut ChainRng) {
        let noise = (2.0 * h / self.inverse_temperature).sqrt(); //~ overdamped-noise
        for (q, g) in q.iter_mut().zip(g) {
            *q += h * g + noise * rng.normal();
        }
    }
}

//! Stochastic gradient Hamiltonian Monte Carlo.

use serde::{Deserialize, Serialize};

use super::kernel::{Bath, Integrator, LangevinKernel, Mass, StepSchedule};
use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, GradSource, Minibatch};
use crate::targets::Target;

/// Stochastic gradient Hamiltonian Monte Carlo.
///
/// With a stochastic gradient g~ (see [`GradSource`](crate::sampler::GradSource)), the time step h,
/// friction C and inverse temperature B, for unit mass,
///
/// ```text
/// v <- v + h g~(q) - h C v + N(0, 2 h C/B)
/// q <- q + h v
/// ```
///
/// v_0 ~ N(0, 1/B); v belongs to the kernel's state. `step_size` is h. The paper's eta and alpha are h^2 and h C.
///
/// Its estimate B^ = h B V/2, by which the injected noise is reduced to make room for the
/// gradient's noise, is not here: it is meant for noise that is independent from step to step, and
/// the batches of an epoch nearly cancel. On the line of [`Sgld`](crate::sampler::Sgld) it made the
/// variances too small by 0.73 at h = 0.01 and by 0.22 at h = 0.0025, where without it they are
/// wrong by +0.15 and 0.00.
///
/// There is no test, so that it does **not sample pi**: with full gradients averages over q have a bias of order
/// h^2, those over v of order h (for U = k q^2/2, Var q = 1/(B k (1 - h^2 k/(4 - 2 h C))), Var v =
/// 1/(B (1 - h C/2 - h^2 k/4))); minibatches add theirs. Cost of a step: one minibatch gradient. See
/// [`Integrator`](crate::sampler::Integrator) for what all integrators share.
///
/// When not to use it: [`Baoab`](crate::sampler::Baoab) on the same gradients integrates the same
/// dynamics better, for the same cost. It is here since the literature compares with it, and for
/// the composites that are built on it. It cannot be the first stage of delayed acceptance: it is
/// not reversible.
///
/// A table of its bias on a logistic regression is in [`GradSource`](crate::sampler::GradSource).
///
/// Source: Chen, Fox and Guestrin, ICML 2014, arXiv:1402.4102, equations 13 and 15.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// let x = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 200.0);
/// let y = x.mapv(|x| 1.0 + x + 0.1 * (40.0 * x).sin());
/// let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
/// let minibatch = Minibatch { size: 20 };
/// let sghmc = Sghmc { step_size: 0.01, friction: 10.0, ..Sghmc::new(minibatch) };
/// let draws = Sampler::new(&posterior, sghmc).thin(10).seed(1).run()?;
/// assert!((draws.mean()[1] - 1.0).abs() < 0.2);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sghmc<S = Minibatch> {
    /// The time step h.
    pub step_size: f64,
    /// The dependence of h on the number of steps.
    pub schedule: StepSchedule,
    /// C, the rate at which velocity is forgotten; above 0, h C below 2.
    pub friction: f64,
    /// B: pi^B is sampled, except for the bias.
    pub inverse_temperature: f64,
    /// The source of the gradients.
    pub gradient: S,
}

impl<S> Sghmc<S> {
    /// With these gradients, and else as by default: h = 0.01, C = 1, B = 1.
    pub fn new(gradient: S) -> Self {
        Self {
            step_size: 0.01,
            schedule: StepSchedule::Constant,
            friction: 1.0,
            inverse_temperature: 1.0,
            gradient,
        }
    }
}

impl Default for Sghmc {
    fn default() -> Self {
        Self::new(Minibatch::default())
    }
}

/// The update equations of [`Sghmc`]; keeps v.
#[derive(Debug)]
pub struct SghmcIntegrator(Bath);

impl<T: Target, S: GradSource<T>> Algorithm<T> for Sghmc<S> {
    type Kernel = LangevinKernel<S::Stream, SghmcIntegrator>;

    fn name(&self) -> String {
        format!("Sghmc({})", self.gradient.name())
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let (c, inverse_temperature) = (self.friction, self.inverse_temperature);
        let bath = Bath::new(target.dim(), c, inverse_temperature, &Mass::Unit)?;
        if self.step_size * c >= 2.0 {
            let allowed = format!("less than 2 / step_size, {}", 2.0 / self.step_size);
            return Err(Error::argument("friction", c, allowed));
        }
        let integrator = SghmcIntegrator(bath);
        LangevinKernel::new(target, integrator, &self.gradient, self.step_size, self.schedule)
    }
}

impl Integrator for SghmcIntegrator {
    fn draw(&self, v: &mut [f64], rng: &mut ChainRng) {
        self.0.draw(v, rng);
    }

    fn advance(&self, h: f64, q: &mut [f64], g: &[f64], v: &mut [f64], rng: &mut ChainRng) {
        let c = self.0.friction;
        let noise = (2.0 * h * c / self.0.inverse_temperature).sqrt(); //~ sghmc-noise
        for ((q, g), v) in q.iter_mut().zip(g).zip(v) {
            *v += h * g - h * c * *v + noise * rng.normal();
            *q += h * *v;
        }
    }

    fn kinetic_temperature(&self, v: &[f64]) -> Option<f64> {
        Some(self.0.kinetic_temperature(v))
    }
}

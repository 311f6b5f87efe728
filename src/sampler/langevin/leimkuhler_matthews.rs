//! The integrator of Leimkuhler and Matthews for overdamped Langevin dynamics.

use serde::{Deserialize, Serialize};

use super::kernel::{Integrator, LangevinKernel, StepSchedule};
use crate::Error;
use crate::error::positive;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, FullGrad, GradSource};
use crate::targets::Target;

/// The integrator of Leimkuhler and Matthews.
///
/// With g = grad log pi, the time step h and the inverse temperature B,
///
/// ```text
/// q_(n+1) = q_n + h g(q_n) + sqrt(h/(2 B)) (R_n + R_(n+1)),   R_n ~ N(0, I)
/// ```
///
/// **R_(n+1) is kept for the next step**: neighbouring steps share a normal, and q alone is no Markov
/// chain; (q_n, R_n) is. Two fresh normals in each step would sample the wrong temperature: half the
/// variance as h -> 0. R belongs to the kernel's state.
///
/// `step_size` is h. Nothing is rejected, so that it does **not sample pi** but something near:
/// averages have a bias of order h^2, where Euler-Maruyama's has order h at the same cost. For U =
/// k q^2/2 the stationary variance is 1/(B k) exactly, for any h k < 2. Cost of a step: one
/// gradient. See [`Integrator`](crate::sampler::Integrator) for what all integrators share. The
/// order h^2 holds for full gradients and a constant h: minibatches, and schedules, add a bias of
/// their own. It also needs q and the kept normals to move together: where something else moves the
/// same coordinates between two steps, as in a [`Cycle`](crate::sampler::Cycle) or by the exchanges
/// of [power posteriors](crate::sampler::PowerPosteriors), the order is h.
///
/// When not to use it: where single draws must be exact (use [`Mala`](crate::sampler::Mala)), where scales differ
/// much (h is limited by the largest curvature, and time by the smallest: momentum helps,
/// [`Baoab`](crate::sampler::Baoab)), or with bounds. It is the limit of BAOAB at high friction, with h = h_BAOAB^2/2
/// for unit mass.
///
/// Source: Leimkuhler and Matthews, Applied Mathematics Research eXpress 2013, doi:10.1093/amrx/abs010;
/// Leimkuhler, Matthews and Tretyakov, Proceedings of the Royal Society A 470, 2014,
/// doi:10.1098/rspa.2014.0120.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::standard(2)?;
/// let algorithm = LeimkuhlerMatthews { step_size: 0.2, ..LeimkuhlerMatthews::default() };
/// let draws = Sampler::new(&target, algorithm).draws(20_000).seed(1).run()?;
/// assert!((draws.covariance()[(0, 0)] - 1.0).abs() < 0.04);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeimkuhlerMatthews<S = FullGrad> {
    /// The time step h.
    pub step_size: f64,
    /// The dependence of h on the number of steps.
    pub schedule: StepSchedule,
    /// B: pi^B is sampled, except for the bias.
    pub inverse_temperature: f64,
    /// The source of the gradients.
    pub gradient: S,
}

impl<S> LeimkuhlerMatthews<S> {
    /// With these gradients, and else as by default.
    pub fn new(gradient: S) -> Self {
        let schedule = StepSchedule::Constant;
        Self { step_size: 0.01, schedule, inverse_temperature: 1.0, gradient }
    }
}

impl Default for LeimkuhlerMatthews {
    fn default() -> Self {
        Self::new(FullGrad)
    }
}

/// The update equations of [`LeimkuhlerMatthews`]; keeps R_n.
#[derive(Debug)]
pub struct LeimkuhlerMatthewsIntegrator {
    inverse_temperature: f64,
}

impl<T: Target, S: GradSource<T>> Algorithm<T> for LeimkuhlerMatthews<S> {
    type Kernel = LangevinKernel<S::Stream, LeimkuhlerMatthewsIntegrator>;

    fn name(&self) -> String {
        format!("LeimkuhlerMatthews({})", self.gradient.name())
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let inverse_temperature = positive("inverse_temperature", self.inverse_temperature)?;
        let integrator = LeimkuhlerMatthewsIntegrator { inverse_temperature };
        LangevinKernel::new(target, integrator, &self.gradient, self.step_size, self.schedule)
    }
}

impl Integrator for LeimkuhlerMatthewsIntegrator {
    fn draw(&self, r: &mut [f64], rng: &mut ChainRng) {
        rng.fill_normal(r);
    }

    fn advance(&self, h: f64, q: &mut [f64], g: &[f64], r: &mut [f64], rng: &mut ChainRng) {
        let noise = (0.5 * h / self.inverse_temperature).sqrt();
        for ((q, g), r) in q.iter_mut().zip(g).zip(r) {
            let old = std::mem::replace(r, rng.normal());
            *q += h * g + noise * (old + *r); //~ kept-noise
        }
    }
}

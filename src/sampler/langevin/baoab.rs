//! BAOAB: underdamped Langevin dynamics by splitting.

use serde::{Deserialize, Serialize};

use super::kernel::{Bath, Integrator, LangevinKernel, Mass, StepSchedule, a, b};
use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, FullGrad, GradSource};
use crate::targets::Target;

/// BAOAB.
///
/// With g = grad log pi, the time step h, friction gamma, mass m and inverse temperature B, a step is
///
/// ```text
/// B: p <- p + h/2 g(q)
/// A: q <- q + h/2 p/m
/// O: p <- e^(-gamma h) p + sqrt(m (1 - e^(-2 gamma h))/B) R,   R ~ N(0, I)
/// A: q <- q + h/2 p/m
/// B: p <- p + h/2 g(q)
/// ```
///
/// Cost: one gradient, since the closing one serves the next opening. p_0 ~ N(0, m/B); p belongs to the
/// kernel's state. `step_size` is h, and must stay below 2 sqrt(m/k) for the largest curvature k of U.
///
/// Nothing is rejected, so that it does **not sample pi** but something near: averages over q have
/// a bias of order h^2, with a small factor, which becomes order h^4 at high friction. For U = k
/// q^2/2 the stationary variance of q is 1/(B k) exactly, the variance of p is (m/B) (1 - h^2 k/(4
/// m)): at the end of a step momenta are too cold, and the statistic `kinetic_temperature` (the
/// mean of B p^2/m, ideally 1) shows by how much; a value above 1 tells of noisy gradients or of a
/// chain that has not settled. Minibatches add a bias of their own: see
/// [`Integrator`](crate::sampler::Integrator), which also says what all integrators share.
///
/// Friction: small gamma keeps direction, as trajectories of HMC do, and lets energy change slowly;
/// large gamma is a random walk. A gamma of the order of the slowest frequency sqrt(k/m) is a good
/// choice.
///
/// When not to use it: where draws must be exact (use [`Nuts`](crate::sampler::Nuts)), or with bounds.
///
/// A table of its bias on a logistic regression is in [`GradSource`](crate::sampler::GradSource).
///
/// Source: Leimkuhler and Matthews, Applied Mathematics Research eXpress 2013, doi:10.1093/amrx/abs010;
/// Leimkuhler, Matthews and Stoltz, IMA Journal of Numerical Analysis 36, 2016, arXiv:1308.5814.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::standard(2)?;
/// let algorithm = Baoab { step_size: 0.5, ..Baoab::default() };
/// let draws = Sampler::new(&target, algorithm).draws(20_000).seed(1).run()?;
/// assert!((draws.covariance()[(0, 0)] - 1.0).abs() < 0.04);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baoab<S = FullGrad> {
    /// The time step h.
    pub step_size: f64,
    /// The dependence of h on the number of steps.
    pub schedule: StepSchedule,
    /// gamma, the rate at which momentum is forgotten; above 0.
    pub friction: f64,
    /// B: pi^B is sampled, except for the bias.
    pub inverse_temperature: f64,
    /// m.
    pub mass: Mass,
    /// The source of the gradients.
    pub gradient: S,
}

impl<S> Baoab<S> {
    /// With these gradients, and else as by default: h = 0.1, gamma = 1, B = 1, unit mass.
    pub fn new(gradient: S) -> Self {
        Self {
            step_size: 0.1,
            schedule: StepSchedule::Constant,
            friction: 1.0,
            inverse_temperature: 1.0,
            mass: Mass::Unit,
            gradient,
        }
    }
}

impl Default for Baoab {
    fn default() -> Self {
        Self::new(FullGrad)
    }
}

/// The update equations of [`Baoab`]; keeps p.
#[derive(Debug)]
pub struct BaoabIntegrator(Bath);

impl<T: Target, S: GradSource<T>> Algorithm<T> for Baoab<S> {
    type Kernel = LangevinKernel<S::Stream, BaoabIntegrator>;

    fn name(&self) -> String {
        format!("Baoab({})", self.gradient.name())
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let bath = Bath::new(target.dim(), self.friction, self.inverse_temperature, &self.mass)?;
        let integrator = BaoabIntegrator(bath);
        LangevinKernel::new(target, integrator, &self.gradient, self.step_size, self.schedule)
    }
}

impl Integrator for BaoabIntegrator {
    fn draw(&self, p: &mut [f64], rng: &mut ChainRng) {
        self.0.draw(p, rng);
    }

    fn advance(&self, h: f64, q: &mut [f64], g: &[f64], p: &mut [f64], rng: &mut ChainRng) {
        let Self(bath) = self;
        b(p, 0.5 * h, g);
        a(q, 0.5 * h, p, &bath.mass);
        bath.o(p, h, rng);
        a(q, 0.5 * h, p, &bath.mass);
    }

    fn close(&self, h: f64, g: &[f64], p: &mut [f64], _rng: &mut ChainRng) {
        b(p, 0.5 * h, g);
    }

    fn kinetic_temperature(&self, p: &[f64]) -> Option<f64> {
        Some(self.0.kinetic_temperature(p))
    }
}

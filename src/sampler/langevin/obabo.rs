//! OBABO: underdamped Langevin dynamics by splitting, with friction at the ends of a leapfrog step.

use serde::{Deserialize, Serialize};

use super::kernel::{Bath, Integrator, LangevinKernel, Mass, StepSchedule, a, b};
use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, FullGrad, GradSource};
use crate::targets::Target;

/// OBABO.
///
/// With g = grad log pi, the time step h, friction gamma, mass m and inverse temperature B, a step is
///
/// ```text
/// O: p <- e^(-gamma h/2) p + sqrt(m (1 - e^(-gamma h))/B) R,   R ~ N(0, I)
/// B: p <- p + h/2 g(q)
/// A: q <- q + h p/m
/// B: p <- p + h/2 g(q)
/// O: as above, with another R
/// ```
///
/// Cost: one gradient (the closing one serves the next opening), and twice the normals of
/// [BAOAB](crate::sampler::Baoab). p_0 ~ N(0, m/B); p belongs to the kernel's state. `step_size` is h, and must stay
/// below 2 sqrt(m/k) for the largest curvature k of U.
///
/// Nothing is rejected, so that it does **not sample pi** but something near: averages have a bias
/// of order h^2. For U = k q^2/2 the stationary variance of q is 1/(B k (1 - h^2 k/(4 m))), the
/// variance of p is m/B exactly: BAOAB has its error in p, OBABO in q, so that the statistic
/// `kinetic_temperature` (the mean of B p^2/m) does not show its bias. See
/// [`Integrator`](crate::sampler::Integrator) for what all integrators share.
///
/// When not to use it: for averages over q, which are all that matters in statistics, BAOAB is
/// better at the same cost. It is here because its middle part, BAB, is one leapfrog step of
/// [`Hmc`](crate::sampler::Hmc), whose Metropolis test removes this bias.
///
/// Source: Bussi and Parrinello, Physical Review E 75, 2007, doi:10.1103/PhysRevE.75.056707,
/// arXiv:0803.4083.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::standard(2)?;
/// let algorithm = Obabo { step_size: 0.5, ..Obabo::default() };
/// let draws = Sampler::new(&target, algorithm).draws(20_000).seed(1).run()?;
/// assert!((draws.covariance()[(0, 0)] - 1.0 / (1.0 - 0.25 / 4.0)).abs() < 0.04);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Obabo<S = FullGrad> {
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

impl<S> Obabo<S> {
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

impl Default for Obabo {
    fn default() -> Self {
        Self::new(FullGrad)
    }
}

/// The update equations of [`Obabo`]; keeps p.
#[derive(Debug)]
pub struct ObaboIntegrator(Bath);

impl<T: Target, S: GradSource<T>> Algorithm<T> for Obabo<S> {
    type Kernel = LangevinKernel<S::Stream, ObaboIntegrator>;

    fn name(&self) -> String {
        format!("Obabo({})", self.gradient.name())
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let bath = Bath::new(target.dim(), self.friction, self.inverse_temperature, &self.mass)?;
        let integrator = ObaboIntegrator(bath);
        LangevinKernel::new(target, integrator, &self.gradient, self.step_size, self.schedule)
    }
}

impl Integrator for ObaboIntegrator {
    fn draw(&self, p: &mut [f64], rng: &mut ChainRng) {
        self.0.draw(p, rng);
    }

    fn advance(&self, h: f64, q: &mut [f64], g: &[f64], p: &mut [f64], rng: &mut ChainRng) {
        let Self(bath) = self;
        bath.o(p, 0.5 * h, rng);
        b(p, 0.5 * h, g);
        a(q, h, p, &bath.mass); //~ obabo-first-kick
    }

    fn close(&self, h: f64, g: &[f64], p: &mut [f64], rng: &mut ChainRng) {
        b(p, 0.5 * h, g);
        self.0.o(p, 0.5 * h, rng);
    }

    fn kinetic_temperature(&self, p: &[f64]) -> Option<f64> {
        Some(self.0.kinetic_temperature(p))
    }
}

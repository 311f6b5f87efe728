//! OBABO: underdamped Langevin dynamics by splitting, with friction at the ends of a leapfrog step.
//!
//! With g = grad log pi, the time step h, friction gamma, mass m and inverse temperature B, a step is
//!
//! ```text
//! O: p <- e^(-gamma h/2) p + sqrt(m (1 - e^(-gamma h))/B) R,   R ~ N(0, I)
//! B: p <- p + h/2 g(q)
//! A: q <- q + h p/m
//! B: p <- p + h/2 g(q)
//! O: as above, with another R
//! ```
//!
//! Cost: one gradient (the closing one serves the next opening), and twice the normals of
//! [BAOAB](super::baoab). p_0 ~ N(0, m/B); p belongs to the kernel's state. `step_size` is h, and must stay
//! below 2 sqrt(m/k) for the largest curvature k of U.
//!
//! Nothing is rejected, so that it does **not sample pi** but something near: averages have a bias of
//! order h^2. For U = k q^2/2 the stationary variance of q is 1/(B k (1 - h^2 k/(4 m))), that of p is m/B
//! exactly: what BAOAB gets wrong in p, OBABO gets wrong in q, so that the statistic `kinetic_temperature`
//! (the mean of B p^2/m) says nothing of its bias. See [`langevin`](super::langevin) for what all integrators
//! share.
//!
//! When not to use it: for averages over q, which are all that matters in statistics, BAOAB is better at
//! the same cost. It is here because its middle part, BAB, is one leapfrog step of [`Hmc`](super::Hmc):
//! its bias is what the Metropolis test of HMC takes away.
//!
//! Source: Bussi and Parrinello, Physical Review E 75, 2007, doi:10.1103/PhysRevE.75.056707,
//! arXiv:0803.4083.
//!
//! ```
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::testing::GaussianTarget;
//! let target = GaussianTarget::standard(2)?;
//! let algorithm = Obabo { step_size: 0.5, ..Obabo::default() };
//! let draws = Sampler::new(&target, algorithm).draws(20_000).seed(1).run()?;
//! assert!((draws.covariance()[(0, 0)] - 1.0 / (1.0 - 0.25 / 4.0)).abs() < 0.04);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::langevin::{Bath, LangevinState, Mass, Path, StepSchedule, a, b, unadjusted};
use super::{Algorithm, FullGrad, GradSource, GradStream, Kernel, Step};
use crate::Error;
use crate::rng::ChainRng;
use crate::target::{Point, Target};

/// OBABO. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Obabo<S = FullGrad> {
    /// The time step h.
    pub step_size: f64,
    /// How h depends on the number of steps.
    pub schedule: StepSchedule,
    /// gamma, the rate at which momentum is forgotten; above 0.
    pub friction: f64,
    /// B: pi^B is sampled, but for the bias.
    pub inverse_temperature: f64,
    /// m.
    pub mass: Mass,
    /// Where gradients come from.
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

/// The transition of [`Obabo`], on gradients `G`.
#[derive(Debug)]
pub struct ObaboKernel<G> {
    /// Keeps p.
    path: Path<G>,
    bath: Bath,
}

impl<T: Target, S: GradSource<T>> Algorithm<T> for Obabo<S> {
    type Kernel = ObaboKernel<S::Stream>;

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let dim = target.dim();
        let bath = Bath::new(dim, self.friction, self.inverse_temperature, &self.mass)?;
        let path = Path::new(target, &self.gradient, self.step_size, self.schedule, dim)?;
        Ok(ObaboKernel { path, bath })
    }
}

impl<T: Target, G: GradStream<T>> Kernel<T> for ObaboKernel<G> {
    type State = LangevinState<G::State>;

    fn state(&self) -> Self::State {
        self.path.state()
    }

    fn restore(&mut self, state: Self::State) {
        self.path.restore(state);
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let bath = &self.bath;
        let begun = self.path.begin(target, current, ws, rng, |p, rng| bath.draw(p, rng));
        if !begun.accepted {
            return begun;
        }
        let h = self.path.step_size();
        self.path.advance(current, |q, g, p| {
            bath.o(p, 0.5 * h, rng);
            b(p, 0.5 * h, g);
            a(q, h, p, &bath.mass);
        });
        let step = self.path.arrive(target, current, ws, rng, begun);
        if step.accepted {
            self.path.closing_kick(current, 0.5 * h);
            bath.o(&mut self.path.kept, 0.5 * h, rng);
        }
        step
    }

    fn diverged_at(&self, q: &mut [f64]) {
        self.path.write_next(q);
    }

    fn stat_names(&self) -> Vec<String> {
        ["step_size", "kinetic_temperature"].map(String::from).into()
    }

    fn stats(&self, out: &mut [f64]) {
        out[0] = self.path.last_step_size();
        out[1] = self.bath.kinetic_temperature(&self.path.kept);
    }

    fn report(&self) -> Vec<(String, Vec<f64>)> {
        unadjusted()
    }
}

//! The Euler-Maruyama integrator of overdamped Langevin dynamics: unadjusted Langevin.
//!
//! With g = grad log pi, the time step h and the inverse temperature B,
//!
//! ```text
//! q' = q + h g(q) + sqrt(2 h/B) R,   R ~ N(0, I)
//! ```
//!
//! `step_size` is h; a [`Mala`](super::Mala) proposal of step size eps is this with h = eps^2/2 and B = 1.
//! Nothing is rejected, so that it does **not sample pi**: averages have a bias of order h. For
//! U = k q^2/2 the stationary variance is 2/(B k (2 - h k)) in place of 1/(B k); h k must stay below 2
//! for the largest curvature k. Cost of a step: one gradient. See [`langevin`](super::langevin) for what
//! all integrators share.
//!
//! When not to use it: [`LeimkuhlerMatthews`](super::LeimkuhlerMatthews) costs the same and has a bias
//! of order h^2; [`Mala`](super::Mala) has none. It is here to be compared with, and as the ground of
//! [`Sgld`](super::Sgld), which is this on minibatches.
//!
//! Source: Roberts and Tweedie, Bernoulli 2, 1996, doi:10.2307/3318418; for the order of the bias Talay
//! and Tubaro, Stochastic Analysis and Applications 8, 1990, doi:10.1080/07362999008809220.
//!
//! ```
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::testing::GaussianTarget;
//! let target = GaussianTarget::standard(2)?;
//! let algorithm = EulerMaruyama { step_size: 0.2, ..EulerMaruyama::default() };
//! let draws = Sampler::new(&target, algorithm).draws(20_000).seed(1).run()?;
//! let variance = draws.covariance()[(0, 0)];
//! assert!((variance - 2.0 / (2.0 - 0.2)).abs() < 0.04); // not 1
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::langevin::{LangevinState, Path, StepSchedule, unadjusted};
use super::{Algorithm, FullGrad, GradStream, Kernel, Step};
use crate::Error;
use crate::error::positive;
use crate::rng::ChainRng;
use crate::target::{GradTarget, Point, Target};

/// The Euler-Maruyama integrator. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EulerMaruyama {
    /// The time step h.
    pub step_size: f64,
    /// How h depends on the number of steps.
    pub schedule: StepSchedule,
    /// B: pi^B is sampled, but for the bias.
    pub inverse_temperature: f64,
}

impl Default for EulerMaruyama {
    fn default() -> Self {
        Self { step_size: 0.01, schedule: StepSchedule::Constant, inverse_temperature: 1.0 }
    }
}

/// The transition of [`EulerMaruyama`] and [`Sgld`](super::Sgld), on gradients `G`.
#[derive(Debug)]
pub struct EulerMaruyamaKernel<G> {
    path: Path<G>,
    inverse_temperature: f64,
}

impl<G> EulerMaruyamaKernel<G> {
    pub(super) fn new<T: Target>(path: Path<G>, inverse_temperature: f64) -> Result<Self, Error>
    where
        G: GradStream<T>,
    {
        positive("inverse_temperature", inverse_temperature)?;
        Ok(Self { path, inverse_temperature })
    }
}

impl<T: GradTarget> Algorithm<T> for EulerMaruyama {
    type Kernel = EulerMaruyamaKernel<FullGrad>;

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let path = Path::new(target, &FullGrad, self.step_size, self.schedule, 0)?;
        EulerMaruyamaKernel::new::<T>(path, self.inverse_temperature)
    }
}

impl<T: Target, G: GradStream<T>> Kernel<T> for EulerMaruyamaKernel<G> {
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
        let begun = self.path.begin(target, current, ws, rng, |_, _| {});
        if !begun.accepted {
            return begun;
        }
        let h = self.path.step_size();
        let noise = (2.0 * h / self.inverse_temperature).sqrt();
        self.path.advance(current, |q, g, _| {
            for (q, g) in q.iter_mut().zip(g) {
                *q += h * g + noise * rng.normal();
            }
        });
        self.path.arrive(target, current, ws, rng, begun)
    }

    fn diverged_at(&self, q: &mut [f64]) {
        self.path.write_next(q);
    }

    fn stat_names(&self) -> Vec<String> {
        vec!["step_size".into()]
    }

    fn stats(&self, out: &mut [f64]) {
        out[0] = self.path.last_step_size();
    }

    fn report(&self) -> Vec<(String, Vec<f64>)> {
        unadjusted()
    }
}

//! Langevin dynamics: the common part of its integrators.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::draws::Report;
use crate::error::positive;
use crate::portable::{cos, exp, exp_m1, powf};
use crate::rng::ChainRng;
use crate::sampler::{GradSource, GradStream, Kernel, Step};
use crate::targets::{Point, Target};

/// The dependence of the step size h_n on the number n of steps made.
///
/// Where it varies, draws should be weighted by their step size, which is the statistic `step_size`. Nothing in
/// this crate does: means, predictions and [recorders](crate::draws::recorder) count all draws alike, and
/// with steps that vary by a factor they are averages over step sizes, biased by the larger ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum StepSchedule {
    /// h_n = h.
    #[default]
    Constant,
    /// h_n = h (1 + n/scale)^-exponent.
    ///
    /// Averages, weighted by h_n, converge to averages over pi^B if 0 < exponent <= 1; their error
    /// falls fastest at exponent 1/3 (Teh, Thiery and Vollmer, JMLR 17, 2016, arXiv:1409.0578).
    Polynomial {
        /// The power, above 0 and at most 1.
        exponent: f64,
        /// The number of steps after which it has halved, if the exponent is 1; above 0.
        scale: f64,
    },
    /// h_n = h/2 (cos(pi (n mod period)/period) + 1): large steps that find other modes, small ones
    /// that sample them.
    ///
    /// Source: Zhang et al., *Cyclical stochastic gradient MCMC*, ICLR 2020, arXiv:1902.03932 (there the
    /// large steps are made without noise).
    Cyclical {
        /// Steps of a cycle, at least 1.
        period: u64,
    },
}

impl StepSchedule {
    /// h_n, from h and n.
    pub fn step_size(self, h: f64, n: u64) -> f64 {
        match self {
            Self::Constant => h,
            Self::Polynomial { exponent, scale } => h * powf(1.0 + n as f64 / scale, -exponent),
            Self::Cyclical { period } => {
                let phase = (n % period) as f64 / period as f64;
                0.5 * h * (cos(std::f64::consts::PI * phase) + 1.0)
            }
        }
    }

    fn check(self) -> Result<(), Error> {
        match self {
            Self::Constant => Ok(()),
            Self::Polynomial { exponent, scale } => {
                positive("scale", scale)?;
                let allowed = "above 0 and at most 1: with more, the steps add up to a finite time";
                let is_allowed = exponent > 0.0 && exponent <= 1.0;
                is_allowed
                    .then_some(())
                    .ok_or_else(|| Error::argument("exponent", exponent, allowed))
            }
            Self::Cyclical { period: 0 } => Err(Error::argument("period", 0, "at least 1")),
            Self::Cyclical { .. } => Ok(()),
        }
    }
}

/// The mass m of each coordinate.
///
/// Changes the speed of coordinates, never the distribution that is sampled, except for the bias:
/// with m_i proportional to the curvature of U all move alike, and h is limited by sqrt(m_i /
/// curvature).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Mass {
    /// m = 1.
    #[default]
    Unit,
    /// One for each coordinate, all above 0.
    Diagonal(Vec<f64>),
}

impl Mass {
    #[inline]
    fn of(&self, i: usize) -> f64 {
        match self {
            Self::Unit => 1.0,
            Self::Diagonal(m) => m[i],
        }
    }

    pub(super) fn check(&self, dim: usize) -> Result<(), Error> {
        let Self::Diagonal(m) = self else { return Ok(()) };
        if m.len() != dim {
            return Err(Error::shape("length of `mass`", m.len(), dim));
        }
        m.iter().enumerate().try_for_each(|(i, m)| positive(&format!("mass[{i}]"), *m).map(drop))
    }
}

/// B, the kick: p <- p + h g.
pub(super) fn b(p: &mut [f64], h: f64, g: &[f64]) {
    for (p, g) in p.iter_mut().zip(g) {
        *p += h * g;
    }
}

/// A, the drift: q <- q + h p/m.
pub(super) fn a(q: &mut [f64], h: f64, p: &[f64], mass: &Mass) {
    for (i, (q, p)) in q.iter_mut().zip(p).enumerate() {
        *q += h * p / mass.of(i);
    }
}

/// Friction gamma, inverse temperature B and mass m.
#[derive(Clone, Debug)]
pub(super) struct Bath {
    pub friction: f64,
    pub inverse_temperature: f64,
    pub mass: Mass,
}

impl Bath {
    pub fn new(
        dim: usize,
        friction: f64,
        inverse_temperature: f64,
        mass: &Mass,
    ) -> Result<Self, Error> {
        positive("friction", friction)?;
        positive("inverse_temperature", inverse_temperature)?;
        mass.check(dim)?;
        Ok(Self { friction, inverse_temperature, mass: mass.clone() })
    }

    /// O, friction and noise, exactly: p <- e^(-gamma h) p + sqrt(m (1 - e^(-2 gamma h))/B) R.
    pub fn o(&self, p: &mut [f64], h: f64, rng: &mut ChainRng) {
        let kept = exp(-self.friction * h);
        let variance = -exp_m1(-2.0 * self.friction * h) / self.inverse_temperature; //~ ou-noise
        for (i, p) in p.iter_mut().enumerate() {
            *p = kept * *p + (self.mass.of(i) * variance).sqrt() * rng.normal();
        }
    }

    /// p ~ N(0, m/B).
    pub fn draw(&self, p: &mut [f64], rng: &mut ChainRng) {
        for (i, p) in p.iter_mut().enumerate() {
            *p = (self.mass.of(i) / self.inverse_temperature).sqrt() * rng.normal();
        }
    }

    /// The mean of B p^2/m, which is 1 except for the bias.
    pub fn kinetic_temperature(&self, p: &[f64]) -> f64 {
        let squares = p.iter().enumerate().map(|(i, p)| p * p / self.mass.of(i));
        self.inverse_temperature * squares.sum::<f64>() / p.len() as f64
    }
}

/// The update equations of an integrator. Vectors are as long as q.
///
/// With the potential U = -log pi, whose negative gradient is g = grad log pi, the inverse temperature
/// B, the friction gamma and the mass m (a number for each coordinate),
///
/// ```text
/// overdamped:    dq = g dt + sqrt(2/B) dW
/// underdamped:   dq = p/m dt,   dp = g dt - gamma p dt + sqrt(2 gamma m/B) dW
/// ```
///
/// Both leave the density proportional to **pi(q)^B** unchanged, the second with p ~ N(0, m/B). B =
/// 1 is the posterior. Another B cools or heats likelihood *and* prior, unlike
/// [`Tempered`](crate::targets::Tempered).
///
/// An integrator advances by a time step h and samples something near that density instead: its bias
/// vanishes as h -> 0 (and the draws needed grow as 1/h), its noise is whatever the Monte Carlo error
/// is, and **R-hat does not show it**: chains that all sample the wrong density agree. Run two step sizes (and two
/// sizes of minibatches), and compare predictions and the mean log likelihood; or compare with a kernel that has a
/// Metropolis test. Underdamped kernels have a thermometer, the statistic `kinetic_temperature`, which should be 1
/// and of which a [verdict](crate::diagnostics::Verdict) speaks. It is a mean over coordinates: in a wide network,
/// thousands that only the prior holds hide that those which matter are too hot (measured: a temperature of
/// 1.08 with a training loss 3.7 times too large). Overdamped kernels have none.
///
/// | integrator | bias of averages over q | for U = k q^2/2: Var q times B k |
/// | --- | --- | --- |
/// | [`EulerMaruyama`](crate::sampler::EulerMaruyama), [`Sgld`](crate::sampler::Sgld) | order h | 2 / (2 - h k) |
/// | [`LeimkuhlerMatthews`](crate::sampler::LeimkuhlerMatthews) | order h^2 | 1 |
/// | [`Baoab`](crate::sampler::Baoab) | order h^2; h^4 at high friction | 1 |
/// | [`Obabo`](crate::sampler::Obabo) | order h^2 | 1 / (1 - h^2 k/(4 m)) |
/// | [`Sghmc`](crate::sampler::Sghmc), full gradient | order h^2 | 1 / (1 - h^2 k/(4 - 2 h C)) |
///
/// Measured without Monte Carlo noise for U = q^2 (0.1 + sin^2 q), whose largest curvature is 28
/// (`crates/studies/src/langevin_1d.rs`): the bias of the average of U, 0.593, is
///
/// | | h | bias | h | bias | observed order |
/// | --- | --- | --- | --- | --- | --- |
/// | Euler-Maruyama | 0.004 | 0.0031 | 0.02 | 0.0148 | 0.96 |
/// | Leimkuhler-Matthews | 0.004 | 0.00004 | 0.05 | 0.0085 | 2.11 |
/// | BAOAB, gamma = 1 | 0.1 | 0.0036 | 0.3 | 0.044 | 2.28 |
/// | BAOAB, gamma = 50 | 0.1 | 0.00007 | 0.3 | 0.0067 | 4.19 |
///
/// Gradients of minibatches add noise of their own, with covariance V(q): h^2 V per step, against 2
/// h/B of the dynamics; V grows as N^2/|b|. Noise that is independent from step to step adds a bias
/// of order h V. The R = N/|b| batches of an epoch are not independent: their noises add up to zero
/// at its end. For U = k q^2/2 and overdamped steps so short that h k R is small, only the
/// wandering within an epoch is left,
///
/// ```text
/// B k Var q - 1  ~  h k/2 (Euler-Maruyama)  +  h^2 k B V R/6
/// ```
///
/// averaged over the places in an epoch, and h k/2 + h B V/2 where h k R is large. Measured in
/// `tests/invariance/langevin.rs`.
///
/// # Conventions
/// `step_size` is the time step h, not a standard deviation as for Metropolis kernels: the noise of one
/// overdamped step has standard deviation sqrt(2 h/B). Nothing is learnt in warm-up: its steps let the
/// chain forget its start, and the [`StepSchedule`] counts them. A step evaluates its gradient at the new
/// position; the next step begins with it.
///
/// A step to where the position, the density or its gradient is not finite is not made: it counts
/// as a divergence, and the chain stays where it is; the momentum, or the normal that was kept, is
/// then drawn afresh. A step out of the support is not made either, and is no divergence. The
/// kernels here do not handle bounds: transform parameters that have bounds.
///
/// With minibatches the log density of a draw is not known from its gradient. The loop evaluates it, over
/// all rows, **once per recorded draw**: about a third of a full gradient. Use
/// [`thin`](crate::sampler::Sampler::thin) where that dominates.
pub trait Integrator: Send {
    /// The length of the vector that is kept from step to step (momentum, velocity, or normals), for q of
    /// length `dim`.
    fn n_kept(&self, dim: usize) -> usize {
        dim
    }

    /// Draws the vector that is kept: at the start, and after a step that was not made.
    fn draw(&self, kept: &mut [f64], rng: &mut ChainRng);

    /// Moves `q` by the time step `h` to where the next gradient is evaluated; `g` is the gradient at q.
    fn advance(&self, h: f64, q: &mut [f64], g: &[f64], kept: &mut [f64], rng: &mut ChainRng);

    /// Completes the step after `q` was moved, with the gradient at the new position.
    fn close(&self, _h: f64, _g: &[f64], _kept: &mut [f64], _rng: &mut ChainRng) {}

    /// The mean of B p^2/m, for integrators that keep a momentum.
    fn kinetic_temperature(&self, _kept: &[f64]) -> Option<f64> {
        None
    }
}

/// The transition of all integrators `I`, on gradients `G`.
#[derive(Debug)]
pub struct LangevinKernel<G, I> {
    integrator: I,
    gradient: G,
    next: Point,
    step_size: f64,
    schedule: StepSchedule,
    steps: u64,
    kept: Vec<f64>,
    /// Whether `kept` has been drawn.
    started: bool,
}

/// The state of an integrator: the state of its gradients `S`, the number of steps, and the vector
/// that is kept from step to step (the momentum; the normals of Leimkuhler and Matthews).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LangevinState<S> {
    gradient: S,
    steps: u64,
    kept: Vec<f64>,
    started: bool,
}

impl<G, I: Integrator> LangevinKernel<G, I> {
    /// A kernel on `target` that steps by `integrator`, with gradients from `source`.
    ///
    /// # Errors
    /// If `step_size` is not a finite number above 0, or the schedule or the source is not possible.
    pub fn new<T: Target>(
        target: &T,
        integrator: I,
        source: &impl GradSource<T, Stream = G>,
        step_size: f64,
        schedule: StepSchedule,
    ) -> Result<Self, Error> {
        positive("step_size", step_size)?;
        schedule.check()?;
        Ok(Self {
            kept: vec![0.0; integrator.n_kept(target.dim())],
            integrator,
            gradient: source.stream(target)?,
            next: Point::new(target.dim()),
            step_size,
            schedule,
            steps: 0,
            started: false,
        })
    }
}

impl<T: Target, G: GradStream<T>, I: Integrator> Kernel<T> for LangevinKernel<G, I> {
    type State = LangevinState<G::State>;

    fn state(&self) -> Self::State {
        LangevinState {
            gradient: self.gradient.state(),
            steps: self.steps,
            kept: self.kept.clone(),
            started: self.started,
        }
    }

    fn restore(&mut self, state: Self::State) {
        self.gradient.restore(state.gradient);
        self.steps = state.steps;
        self.kept = state.kept;
        self.started = state.started;
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let Self { integrator, gradient, next, kept, .. } = self;
        if !self.started {
            integrator.draw(kept, rng);
            self.started = true;
        }
        let begun = gradient.eval(target, current, ws, rng);
        if !begun.accepted {
            return begun;
        }
        let h = self.schedule.step_size(self.step_size, self.steps);
        self.steps += 1;
        next.set(|q| {
            q.copy_from_slice(current.q());
            integrator.advance(h, q, gradient.grad(current), kept, rng);
        });
        let mut step = if next.q().iter().all(|q| q.is_finite()) {
            gradient.eval(target, next, ws, rng)
        } else {
            Step { accept_prob: None, accepted: false, divergent: true, gradient_evals: 0 }
        };
        step.gradient_evals += begun.gradient_evals;
        if step.accepted {
            std::mem::swap(current, next);
            integrator.close(h, gradient.grad(current), kept, rng);
        } else {
            self.started = false;
        }
        step
    }

    fn diverged_at(&self, q: &mut [f64]) {
        q.copy_from_slice(self.next.q());
    }

    fn stat_names(&self) -> Vec<String> {
        let temperature = self.integrator.kinetic_temperature(&self.kept);
        let temperature = temperature.map(|_| "kinetic_temperature".to_string());
        std::iter::once("step_size".to_string()).chain(temperature).collect()
    }

    fn stats(&self, out: &mut [f64]) {
        // The step size of the latest step.
        out[0] = self.schedule.step_size(self.step_size, self.steps.saturating_sub(1));
        if let Some(temperature) = self.integrator.kinetic_temperature(&self.kept) {
            out[1] = temperature;
        }
    }

    /// Reports that there is no Metropolis test, for
    /// [`Draws::unadjusted`](crate::draws::Draws::unadjusted).
    fn report(&self) -> Report {
        Report { unadjusted: true, ladder: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_what_they_say() {
        let polynomial = StepSchedule::Polynomial { exponent: 1.0, scale: 10.0 };
        let cyclical = StepSchedule::Cyclical { period: 4 };
        let of = |schedule: StepSchedule| [0, 1, 2, 10, 12].map(|n| schedule.step_size(0.2, n));
        assert_eq!(of(StepSchedule::Constant), [0.2; 5]);
        let close = |a: [f64; 5], b: [f64; 5]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-15);
        assert!(close(of(polynomial), [0.2, 0.2 / 1.1, 0.2 / 1.2, 0.1, 0.2 / 2.2]));
        let early = 0.1 * (1.0 + 0.5f64.sqrt());
        assert!(close(of(cyclical), [0.2, early, 0.1, 0.1, 0.2]));
    }
}

//! The Langevin-gradient sampler of Chandra and Simmons.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::positive;
use crate::rng::ChainRng;
use crate::sampler::{
    Algorithm, Kernel, Preconditioner, Scale, Step, WarmupProgress, metropolis_test,
};
use crate::targets::{Cached, Descent, DescentRule, Objective, Pass, Point};

/// The Langevin-gradient sampler.
///
/// Let D be a deterministic map: the point that some epochs of gradient descent from q arrive at,
/// in the model's weights; D leaves all other coordinates alone. With probability `langevin_rate`
///
/// ```text
/// q' ~ N(D(q), S^2),   log ratio = log pi(q') - log pi(q)
///                                  + 1/2 |S^-1 (q' - D(q))|^2 - 1/2 |S^-1 (q - D(q'))|^2
/// ```
///
/// and otherwise a random walk q' ~ N(q, S^2) with its own, symmetric ratio. S is diagonal:
/// `step_size` for weights, `other_step_size` for the rest (the noise). The choice between the two
/// does not depend on q, so that each ratio stands by itself. Whatever D descends, the acceptance
/// uses the true target: a poor D costs efficiency, never correctness.
///
/// Warm-up adapts a common factor of both step sizes. Cost of a step: one log density, and in the
/// Langevin branch `depth` passes of gradient descent (two if D of the current point is not known).
/// Use [`Mala`](crate::sampler::Mala) where you are free to choose: its drift is scaled to its noise.
///
/// Source: Chandra and Simmons, *Bayesian neural networks via MCMC: a Python-based tutorial*, IEEE
/// Access 12, 2024, arXiv:2304.02595, algorithm 2. Its published code divides the squares by the
/// step instead of its square, which samples another distribution.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::LangevinGradient;
/// let x = ndarray::array![[0.0], [0.3], [0.6], [1.0]];
/// let data = Dataset::regression(x, ndarray::array![4.1, 4.8, 5.9, 7.0])?;
/// let priors = Priors::all(Normal::new(0.0, 5.0)?)
///     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::sampled(), &data, priors)?;
/// let draws = Sampler::new(&posterior, LangevinGradient::default()).draws(200).run()?;
/// assert_eq!(draws.n_draws(), 200);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LangevinGradient {
    /// Standard deviation of a proposal in each weight.
    pub step_size: f64,
    /// Standard deviation of a proposal in each other coordinate.
    pub other_step_size: f64,
    /// The probability of a Langevin step; between 0 and 1.
    pub langevin_rate: f64,
    /// The map D.
    pub descent: DescentRule,
    /// Whether warm-up adapts the step sizes, in proportion.
    pub adapt_step_size: bool,
    /// The acceptance probability to adapt to.
    pub target_accept: f64,
}

impl Default for LangevinGradient {
    /// One full-batch step on the log posterior at rate 1e-3, in half of the steps; step sizes
    /// 0.025 and 0.2 to start with, adapted to an acceptance probability of 0.234.
    fn default() -> Self {
        Self {
            step_size: 0.025,
            other_step_size: 0.2,
            langevin_rate: 0.5,
            descent: DescentRule {
                objective: Objective::LogPosterior,
                pass: Pass::Batch,
                learning_rate: 1e-3,
                depth: 1,
            },
            adapt_step_size: true,
            target_accept: 0.234,
        }
    }
}

/// The transition of [`LangevinGradient`].
#[derive(Debug)]
pub struct LangevinGradientKernel {
    /// The scale, whose step size is the weights'.
    scale: Scale,
    /// Step sizes of all coordinates, relative to the step size of the weights.
    relative: Vec<f64>,
    langevin_rate: f64,
    descent: DescentRule,
    proposal: Point,
    /// D of the current point, and of the proposal.
    image: Cached<Vec<f64>>,
    image_back: Cached<Vec<f64>>,
    z: Vec<f64>,
    was_langevin: bool,
}

/// The state of a [`LangevinGradientKernel`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LangevinGradientState {
    scale: Scale,
    image: Cached<Vec<f64>>,
    was_langevin: bool,
}

impl<T: Descent> Algorithm<T> for LangevinGradient {
    type Kernel = LangevinGradientKernel;

    fn name(&self) -> String {
        "LangevinGradient".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<LangevinGradientKernel, Error> {
        positive("other_step_size", self.other_step_size)?;
        positive("learning_rate", self.descent.learning_rate)?;
        if !(0.0..=1.0).contains(&self.langevin_rate) {
            return Err(Error::argument("langevin_rate", self.langevin_rate, "between 0 and 1"));
        }
        let (depth, most) = (self.descent.depth, DescentRule::DEEPEST);
        if !(1..=most).contains(&depth) {
            let allowed = format!("1 to {most}, so that a step comes to its end");
            return Err(Error::argument("depth", depth, allowed));
        }
        target.check_descent(&self.descent)?;
        let dim = target.dim();
        let accept = self.adapt_step_size.then_some(self.target_accept);
        let scale = Scale::of_run(dim, self.step_size, accept, Preconditioner::Identity)?;
        let other = self.other_step_size / self.step_size;
        Ok(LangevinGradientKernel {
            scale,
            relative: target
                .moves()
                .iter()
                .map(|weight| if *weight { 1.0 } else { other })
                .collect(),
            langevin_rate: self.langevin_rate,
            descent: self.descent,
            proposal: Point::new(dim),
            image: Cached::new(vec![0.0; dim]),
            image_back: Cached::new(vec![0.0; dim]),
            z: vec![0.0; dim],
            was_langevin: false,
        })
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

impl<T: Descent> Kernel<T> for LangevinGradientKernel {
    type State = LangevinGradientState;

    fn state(&self) -> LangevinGradientState {
        LangevinGradientState {
            scale: self.scale.clone(),
            image: self.image.clone(),
            was_langevin: self.was_langevin,
        }
    }

    fn restore(&mut self, state: LangevinGradientState) {
        self.scale = state.scale;
        self.image = state.image;
        self.was_langevin = state.was_langevin;
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let step_size = self.scale.step_size();
        let old = current.eval(target, ws).total();
        self.was_langevin = rng.uniform() < self.langevin_rate;
        rng.fill_normal(&mut self.z);
        let (relative, z, rule) = (&self.relative, &self.z, &self.descent);
        let propose = |centre: &[f64], q: &mut [f64]| {
            for i in 0..q.len() {
                q[i] = centre[i] + step_size * relative[i] * z[i];
            }
        };
        if !self.was_langevin {
            self.proposal.set(|q| propose(current.q(), q));
            let log_ratio = self.proposal.eval(target, ws).total() - old;
            return metropolis_test(current, &mut self.proposal, log_ratio, 0, rng);
        }
        let mut passes = rule.depth as u32;
        if !self.image.is_of(current) {
            self.image.set(current, |image| target.descend(rule, current.q(), image, ws));
            passes *= 2;
        }
        let Self { proposal, image, image_back, .. } = self;
        proposal.set(|q| propose(image.at(current), q));
        let new = proposal.eval(target, ws).total();
        image_back.set(proposal, |image| target.descend(rule, proposal.q(), image, ws));
        let centre_back = image_back.at(proposal);
        let mut squares = 0.0;
        for i in 0..z.len() {
            //~ langevin-gradient-ratio
            let back = (current.q()[i] - centre_back[i]) / (step_size * relative[i]);
            squares += z[i] * z[i] - back * back;
        }
        let step = metropolis_test(current, proposal, new - old + 0.5 * squares, passes, rng);
        if step.accepted {
            std::mem::swap(image, image_back);
        }
        step
    }

    fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        self.scale.adapt(step, current, warmup);
    }

    fn freeze(&mut self) {
        self.scale.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        q.copy_from_slice(self.proposal.q());
    }

    fn stat_names(&self) -> Vec<String> {
        vec!["step_size".into(), "langevin".into()]
    }

    fn stats(&self, out: &mut [f64]) {
        out[0] = self.scale.step_size();
        out[1] = f64::from(u8::from(self.was_langevin));
    }
}

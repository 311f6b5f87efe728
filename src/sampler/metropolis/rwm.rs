//! Random-walk Metropolis.

use serde::{Deserialize, Serialize};

use super::{MetropolisKernel, Proposal, Proposed};
use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Preconditioner, Scale};
use crate::targets::{Point, Target};

/// Random-walk Metropolis.
///
/// ```text
/// q' = q + eps L z,   z ~ N(0, I)
/// log ratio = log pi(q') - log pi(q)              (the proposal is symmetric)
/// ```
///
/// eps is the step size, L the preconditioner's factor. During warm-up eps is adapted to an
/// acceptance probability of 0.234, the optimum in many dimensions (Roberts, Gelman and Gilks,
/// Ann. Appl. Probab. 7, 1997, doi:10.1214/aoap/1034625254), or 0.44 in one (Gelman, Roberts and
/// Gilks, Bayesian Statistics 5, 1996), and L L^T to the chain's covariance (Haario, Saksman and
/// Tamminen, Bernoulli 7, 2001, doi:10.2307/3318737, here in windows and frozen afterwards).
///
/// With a dense map, dual averaging has a gain of a quarter of its usual one (gamma = 0.2 instead
/// of 0.05). Each iteration moves the logarithm of the step size in proportion to a - 0.234, where
/// the acceptance probability a lies between 0 and 1: down by at most 0.234 gains, up by as much as
/// 0.766. A large gain lets the step size swing to where nothing is accepted, and to where
/// everything is. It comes down three times as slowly as it goes up, so that it is above the right
/// one for three quarters of the time, and the mean of its logarithm, which is frozen when warm-up
/// ends, is too large. Measured on a regression with sampled noise (4 parameters, 100 rows, starts
/// from the prior, 1,000 iterations of warm-up, 200 chains): with the usual gain the chains
/// accepted 0.172 in the median, and 5 of them less than 0.05; with this one 0.234, and 1 of them.
/// The remaining cases are chains that are still on their way to the bulk when warm-up ends: with
/// 500 iterations 17 of 200 (45 with the usual gain).
///
/// Cost of a step: one log density. Steps needed grow in proportion to the dimension, so that
/// beyond some twenty parameters a gradient, where there is one, pays: see [`Mala`](crate::sampler::Mala).
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// let draws = Sampler::new(&target, Rwm::default()).warmup(2000).draws(5000).seed(1).run()?;
/// assert!((draws.summary()?.rows[1].mean - -2.0).abs() < 0.3);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "random walk")]
#[doc(alias = "Metropolis-Hastings")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rwm {
    /// Standard deviation of a proposal: where adaptation starts, or the value throughout if there
    /// is no warm-up.
    pub step_size: f64,
    /// Whether warm-up adapts the step size.
    pub adapt_step_size: bool,
    /// The acceptance probability to adapt to; `None` is 0.44 for one parameter, else 0.234.
    pub target_accept: Option<f64>,
    /// The linear map that warm-up learns from the target's scales.
    pub preconditioner: Preconditioner,
}

impl Default for Rwm {
    fn default() -> Self {
        Self {
            step_size: 0.1,
            adapt_step_size: true,
            target_accept: None,
            preconditioner: Preconditioner::default(),
        }
    }
}

/// The gain with a dense map; the documentation of [`Rwm`] says why.
const DENSE_GAMMA: f64 = 0.2;

/// q + eps L z.
#[derive(Debug)]
pub struct RandomWalk {
    z: Vec<f64>,
    move_: Vec<f64>,
}

impl<T: Target> Algorithm<T> for Rwm {
    type Kernel = MetropolisKernel<RandomWalk>;

    fn name(&self) -> String {
        "Rwm".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        use Preconditioner::{DenseFromGradients, DiagonalFromGradients};
        if matches!(self.preconditioner, DiagonalFromGradients | DenseFromGradients) {
            let found = format!("{:?}", self.preconditioner);
            let allowed = "Identity, Diagonal or Dense: a random walk computes no gradients";
            return Err(Error::argument("preconditioner", found, allowed));
        }
        let dim = target.dim();
        let accept = self.target_accept.unwrap_or(if dim == 1 { 0.44 } else { 0.234 });
        let accept = self.adapt_step_size.then_some(accept);
        let scale = Scale::of_run(dim, self.step_size, accept, self.preconditioner)?;
        let is_dense = self.preconditioner == Preconditioner::Dense;
        let scale = if is_dense { scale.with_gamma(DENSE_GAMMA) } else { scale };
        let walk = RandomWalk { z: vec![0.0; dim], move_: vec![0.0; dim] };
        MetropolisKernel::new(dim, scale, walk)
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        self.preconditioner.matrix_numbers(target.dim())
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

impl<T: Target> Proposal<T> for RandomWalk {
    fn propose(
        &mut self,
        target: &T,
        current: &mut Point,
        proposed: &mut Point,
        scale: &Scale,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Proposed {
        let step_size = scale.step_size();
        rng.fill_normal(&mut self.z);
        scale.mul(&self.z, &mut self.move_);
        proposed.set(|q| {
            for ((new, old), m) in q.iter_mut().zip(current.q()).zip(&self.move_) {
                *new = old + step_size * m;
            }
        });
        let new = proposed.eval(target, ws).total();
        let log_ratio = new - current.eval(target, ws).total(); //~ random-walk-ratio
        Proposed { log_ratio, gradient_evals: 0 }
    }
}

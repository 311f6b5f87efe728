//! The Metropolis-adjusted Langevin algorithm.

use serde::{Deserialize, Serialize};

use super::{MetropolisKernel, Proposal, Proposed};
use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Preconditioner, Scale};
use crate::targets::{GradTarget, Point};

/// The Metropolis-adjusted Langevin algorithm.
///
/// With g = grad log pi, M = L L^T constant, and the step size eps,
///
/// ```text
/// q' = q + eps^2/2 M g(q) + eps L z,   z ~ N(0, I)
/// ```
///
/// The proposal density is N(q'; q + eps^2/2 M g(q), eps^2 M). Going back from q' to q takes the
/// noise z' that solves q = q' + eps^2/2 M g(q') + eps L z'. With s = L^T g(q), s' = L^T g(q'), and
/// q' - q = L (eps^2/2 s + eps z),
///
/// ```text
/// z' = -(z + eps/2 (s + s'))
/// log ratio = log pi(q') - log pi(q) + (|z|^2 - |z'|^2) / 2
/// ```
///
/// in which M's determinant and inverse have cancelled. During warm-up eps is adapted to an
/// acceptance probability of 0.574, the optimum in many dimensions (Roberts and Rosenthal, JRSS B
/// 60, 1998, doi:10.1111/1467-9868.00123), and M to the chain's (co)variance. Source: Roberts and
/// Tweedie, Bernoulli 2, 1996, doi:10.2307/3318418.
///
/// Cost of a step: one gradient. In d dimensions the steps needed grow like d^(1/3). Not for
/// targets whose gradient grows faster than linearly without care (a small step size, good
/// starting points), nor for densities with a boundary at which they do not vanish.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// let draws = Sampler::new(&target, Mala::default()).warmup(1000).draws(2000).seed(1).run()?;
/// assert!((draws.summary()?.rows[1].mean - -2.0).abs() < 0.3);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "Metropolis-adjusted Langevin")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mala {
    /// Standard deviation of a proposal's noise: where adaptation starts, or the value throughout
    /// if there is no warm-up.
    pub step_size: f64,
    /// Whether warm-up adapts the step size.
    pub adapt_step_size: bool,
    /// The acceptance probability to adapt to.
    pub target_accept: f64,
    /// The linear map that warm-up learns from the target's scales.
    pub preconditioner: Preconditioner,
}

impl Default for Mala {
    fn default() -> Self {
        Self {
            step_size: 0.1,
            adapt_step_size: true,
            target_accept: 0.574,
            preconditioner: Preconditioner::default(),
        }
    }
}

/// q + eps^2/2 M g + eps L z.
#[derive(Debug)]
pub struct LangevinProposal {
    z: Vec<f64>,
    /// s = L^T g(q), of the current point.
    s: Vec<f64>,
    s_new: Vec<f64>,
    direction: Vec<f64>,
    move_: Vec<f64>,
}

impl<T: GradTarget> Algorithm<T> for Mala {
    type Kernel = MetropolisKernel<LangevinProposal>;

    fn name(&self) -> String {
        "Mala".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let dim = target.dim();
        let accept = self.adapt_step_size.then_some(self.target_accept);
        let scale = Scale::of_run(dim, self.step_size, accept, self.preconditioner)?;
        let [z, s, s_new, direction, move_] = std::array::from_fn(|_| vec![0.0; dim]);
        let langevin = LangevinProposal { z, s, s_new, direction, move_ };
        MetropolisKernel::new(dim, scale, langevin)
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        self.preconditioner.matrix_numbers(target.dim())
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

impl<T: GradTarget> Proposal<T> for LangevinProposal {
    fn propose(
        &mut self,
        target: &T,
        current: &mut Point,
        proposed: &mut Point,
        scale: &Scale,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Proposed {
        let first = u32::from(!current.has_grad());
        let old = current.eval_grad(target, ws).total();
        let step_size = scale.step_size();
        rng.fill_normal(&mut self.z);
        scale.mul_transpose(current.grad(), &mut self.s);
        for ((d, z), s) in self.direction.iter_mut().zip(&self.z).zip(&self.s) {
            *d = step_size * (z + 0.5 * step_size * s);
        }
        scale.mul(&self.direction, &mut self.move_);
        proposed.set(|q| {
            for ((new, old), m) in q.iter_mut().zip(current.q()).zip(&self.move_) {
                *new = old + m;
            }
        });
        let new = proposed.eval_grad(target, ws).total();
        scale.mul_transpose(proposed.grad(), &mut self.s_new);
        let mut squares = 0.0;
        for ((z, s), s_new) in self.z.iter().zip(&self.s).zip(&self.s_new) {
            let back = z + 0.5 * step_size * (s + s_new); //~ mala-drifts
            squares += z * z - back * back;
        }
        let log_ratio = new - old + 0.5 * squares;
        Proposed { log_ratio, gradient_evals: 1 + first }
    }
}

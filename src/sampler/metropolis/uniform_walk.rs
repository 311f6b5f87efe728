//! A random walk whose steps are uniform.

use serde::{Deserialize, Serialize};

use super::{MetropolisKernel, Proposal, Proposed};
use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Preconditioner, Scale};
use crate::targets::{Point, Target};

/// Random-walk Metropolis with uniform steps.
///
/// ```text
/// q' = q + eps L u,   u_i ~ U(-sqrt 3, sqrt 3), of variance 1
/// log ratio = log pi(q') - log pi(q)              (the proposal is symmetric)
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UniformWalk {
    /// Standard deviation of a proposal: where adaptation starts, or the value throughout if there
    /// is no warm-up.
    pub step_size: f64,
    /// Whether warm-up adapts the step size, to an acceptance probability of 0.234.
    pub adapt_step_size: bool,
    /// The linear map that warm-up learns from the target's scales.
    pub preconditioner: Preconditioner,
}

impl Default for UniformWalk {
    fn default() -> Self {
        let preconditioner = Preconditioner::default();
        Self { step_size: 0.1, adapt_step_size: true, preconditioner }
    }
}

/// q + eps L u.
#[derive(Debug)]
pub struct UniformSteps {
    u: Vec<f64>,
    move_: Vec<f64>,
}

impl<T: Target> Algorithm<T> for UniformWalk {
    type Kernel = MetropolisKernel<UniformSteps>;

    fn name(&self) -> String {
        "UniformWalk".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        if self.preconditioner == Preconditioner::DiagonalFromGradients {
            let allowed = "Identity, Diagonal or Dense: a random walk computes no gradients";
            return Err(Error::argument("preconditioner", "DiagonalFromGradients", allowed));
        }
        let (dim, accept) = (target.dim(), self.adapt_step_size.then_some(0.234));
        let scale = Scale::of_run(dim, self.step_size, accept, self.preconditioner)?;
        let walk = UniformSteps { u: vec![0.0; dim], move_: vec![0.0; dim] };
        MetropolisKernel::new(dim, scale, walk)
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        self.preconditioner.matrix_numbers(target.dim())
    }

    fn is_reversible(&self) -> bool {
        true
    }
}

impl<T: Target> Proposal<T> for UniformSteps {
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
        self.u.iter_mut().for_each(|u| *u = 3f64.sqrt() * (2.0 * rng.uniform() - 1.0));
        scale.mul(&self.u, &mut self.move_);
        proposed.set(|q| {
            for ((new, old), m) in q.iter_mut().zip(current.q()).zip(&self.move_) {
                *new = old + step_size * m;
            }
        });
        let new = proposed.eval(target, ws).total();
        let log_ratio = new - current.eval(target, ws).total(); //~ uniform-walk-ratio
        Proposed { log_ratio, gradient_evals: 0 }
    }
}

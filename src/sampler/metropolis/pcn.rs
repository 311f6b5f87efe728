//! The preconditioned Crank-Nicolson sampler (pCN).

use serde::{Deserialize, Serialize};

use super::{MetropolisKernel, Proposal, Proposed};
use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Preconditioner, Scale};
use crate::targets::{GaussianReference, Point};

/// The preconditioned Crank-Nicolson sampler.
///
/// For a block whose prior, given the other blocks, is N(m, C), and a step size b in (0, 1],
///
/// ```text
/// v = m + sqrt(1 - b^2) (q - m) + b xi,   xi ~ N(0, C)
/// log ratio = [beta ell + log prior - log N(.; m, C)](v) - [the same](q)
/// ```
///
/// The proposal leaves N(m, C) unchanged, so that in the plain case the ratio is beta (ell(v) -
/// ell(q)). The form above stays right where the block is a parent in another block's prior. m and
/// C are taken anew at each step: a hierarchical scale in another block moves them.
///
/// The acceptance probability does not fall with the number of dimensions that the likelihood does
/// not inform. Where the data are informative, small b is needed and MALA is better. Cost of a
/// step: one log density. Source: Cotter, Roberts, Stuart and White, Statist. Sci. 28, 2013,
/// doi:10.1214/13-STS421, section 4.
///
/// b is adapted to an acceptance probability of 0.234 by default.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::{Cycle, GibbsNoise, OnBlocks, Pcn};
/// let x = ndarray::array![[0.0], [0.3], [0.6], [1.0]];
/// let data = Dataset::regression(x, ndarray::array![0.1, 0.3, 0.5, 0.2])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?)
///     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
/// let network = Mlp::new(&[1, 20, 1], Activation::Tanh)?;
/// let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors)?;
/// let algorithm = Cycle(OnBlocks::new(&["w*", "b*"], Pcn::default()), GibbsNoise);
/// let draws = Sampler::new(&posterior, algorithm).draws(200).run()?;
/// assert_eq!(draws.n_draws(), 200);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "preconditioned Crank-Nicolson")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pcn {
    /// b in (0, 1]: where adaptation starts, or the value throughout if there is no warm-up.
    pub step_size: f64,
    /// Whether warm-up adapts the step size.
    pub adapt_step_size: bool,
    /// The acceptance probability to adapt to.
    pub target_accept: f64,
}

impl Default for Pcn {
    fn default() -> Self {
        Self { step_size: 0.1, adapt_step_size: true, target_accept: 0.234 }
    }
}

/// m + sqrt(1 - eps^2) (q - m) + eps xi.
#[derive(Debug)]
pub struct CrankNicolson {
    moving: Vec<usize>,
    mean: Vec<f64>,
    sd: Vec<f64>,
    xi: Vec<f64>,
}

impl<T: GaussianReference> Algorithm<T> for Pcn {
    type Kernel = MetropolisKernel<CrankNicolson>;

    fn name(&self) -> String {
        "Pcn".into()
    }

    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
        if !(self.step_size > 0.0 && self.step_size <= 1.0) {
            return Err(Error::argument("step_size", self.step_size, "above 0 and at most 1"));
        }
        let dim = target.dim();
        let accept = self.adapt_step_size.then_some(self.target_accept);
        let scale = Scale::of_run(dim, self.step_size, accept, Preconditioner::Identity)?;
        let [mut mean, mut sd, xi] = std::array::from_fn(|_| vec![0.0; dim]);
        let moving: Vec<_> = (0..dim).collect();
        // A prior that is not Gaussian is found now, whatever the position.
        let mut q = vec![0.0; dim];
        target.draw_start(&mut rng.child(0), &mut q).unwrap_or(());
        target.gaussian_reference(&moving, &q, &mut mean, &mut sd, &mut target.workspace())?;
        MetropolisKernel::new(dim, scale, CrankNicolson { moving, mean, sd, xi })
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

impl CrankNicolson {
    /// log N(q; m, C), up to a constant.
    fn log_reference(&self, q: &[f64]) -> f64 {
        let standard = q.iter().zip(&self.mean).zip(&self.sd).map(|((q, m), sd)| (q - m) / sd);
        -0.5 * standard.map(|z| z * z).sum::<f64>() //~ pcn-ratio
    }
}

impl<T: GaussianReference> Proposal<T> for CrankNicolson {
    fn step_size(&self, scale: &Scale) -> f64 {
        scale.step_size().min(1.0)
    }

    fn propose(
        &mut self,
        target: &T,
        current: &mut Point,
        proposed: &mut Point,
        scale: &Scale,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Proposed {
        let b = Proposal::<T>::step_size(self, scale);
        let keep = ((1.0 - b) * (1.0 + b)).sqrt();
        let (moving, q) = (&self.moving, current.q());
        let reference = target.gaussian_reference(moving, q, &mut self.mean, &mut self.sd, ws);
        if reference.is_err() {
            // Cannot be: the kernel was built with the same blocks. A divergence.
            current.eval(target, ws);
            proposed.copy_from(current);
            return Proposed { log_ratio: f64::NAN, gradient_evals: 0 };
        }
        rng.fill_normal(&mut self.xi);
        proposed.set(|v| {
            for (i, v) in v.iter_mut().enumerate() {
                let m = self.mean[i];
                *v = m + keep * (current.q()[i] - m) + b * self.sd[i] * self.xi[i]; //~ pcn-centre
            }
        });
        let new = proposed.eval(target, ws).total();
        let log_ratio = new - current.eval(target, ws).total() + self.log_reference(current.q())
            - self.log_reference(proposed.q());
        Proposed { log_ratio, gradient_evals: 0 }
    }
}

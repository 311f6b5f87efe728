//! The Metropolis-adjusted microcanonical sampler.

use serde::{Deserialize, Serialize};

use super::isokinetic::Isokinetic;
use super::trajectory::{Settings, TrajectoryKernel};
use crate::Error;
use crate::error::positive;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Preconditioner};
use crate::targets::GradTarget;

/// The Metropolis-adjusted microcanonical sampler: trajectories of constant speed.
///
/// In the coordinates x of q = L_q x, where L_q is the linear map learnt in warm-up (see [`Preconditioner`]), with
/// at least two dimensions and g = L_q^T grad log pi, each transition draws a direction u uniformly on the sphere
/// |u| = 1, makes n steps B(h/2) A(h) B(h/2) of size h, and accepts the end q' with probability
///
/// ```text
/// min(1, exp(log pi(q') - log pi(q) - sum of dK)),
/// n = min(max_steps, ceil(2 U L / h)),   U ~ U(0, 1)
/// ```
///
/// A moves x by h u; B turns u towards e = g/|g|, and exp(-dK) is its change of volume. With d dimensions, c = u.e,
/// a time b, delta = b |g|/(d - 1) and z = exp(-delta),
///
/// ```text
/// A(h):   x <- x + h u
/// B(b):   u <- normalise(e (1 - z) (1 + z + c (1 - z)) + 2 z u)
///         dK = (d - 1) (delta - log 2 + log(1 + c + (1 - c) z^2))
/// ```
///
/// Where g = 0, u stays and dK = 0. U does not depend on q, so that each n has a Metropolis ratio of its own. The
/// map of a trajectory, with u turned round at its end, is its own inverse and multiplies volume by exp(-sum of
/// dK): the ratio is exact at every step size.
///
/// Since |u| = 1, `step_size` and `path_length` are lengths in x: a step moves each coordinate by about h /
/// sqrt(d), and tuning starts at L = (pi/2) sqrt(d), a quarter period of a standard normal. Warm-up adapts h to an
/// acceptance probability of 0.9, learns L_q, and, unless it is given, tunes L: to where trajectories of L and of
/// L/2 have the same expected squared jump per step, E[a |x' - x|^2] / L with the acceptance probability a. The
/// maximum lies between the two. It is the longer of the two because draws on the other side of the mean are worth
/// more than independent ones. [`Hmc`](crate::sampler::Hmc) does the same with
/// [`adapt_path_length`](crate::sampler::Hmc::adapt_path_length). Everything is fixed after warm-up. Each chain
/// adapts alone.
///
/// Cost of a step: n gradients, O(d) beside them (O(d^2) with a dense preconditioner). Smallest bulk ESS per 1,000
/// gradients (two chains, 1,000 + 1,000 iterations, two seeds, or one; of the predictions for networks; HMC with
/// tuned length and jitter 1):
///
/// | | `Nuts` | `Hmc` | `Mams` |
/// | --- | --- | --- | --- |
/// | standard normal, d = 10 | 299 | 394, 400 | 563, 514 |
/// | standard normal, d = 100 | 221 | 209, 184 | 266, 230 |
/// | rotated normal, d = 50, variances 1 to 100 | 31 | 49, 32 | 44, 39 |
/// | rotated normal, d = 50, variances 1 to 10,000 | 2.5 | 4.9, 4.3 | 4.3, 3.9 |
/// | MLP 4-10-1, 1,000 rows, 62 parameters | 0.37 | 0.67 | 0.67, 0.47 |
/// | sunspot, MLP 4-10-1 with sampled noise, 62 parameters, warm-up counted | 0.06 (`target_accept` 0.95, `max_depth` 12) | | 0.18 |
///
/// So: up to twice the draws per gradient of [`Nuts`](crate::sampler::Nuts), and more where its trees are cut off.
/// It does not cross between modes either, and it needs a warm-up long enough to tune.
///
/// **Chains can stand still on small networks.** All trajectories have one step size, and where the posterior is narrower
/// than it suits, one after the other is rejected. On a network 1-3-1 for 50 rows (10 parameters, 40 runs of 4 chains
/// of 1,000 draws) the longest stretch of equal draws was 6 in the median run and 272 in the worst; of
/// [`Nuts`](crate::sampler::Nuts) it was 4 and 9, of [`Hmc`](crate::sampler::Hmc) 19 and 370. Runs that never came
/// to such a place report Monte Carlo errors that are too small: the mean log likelihood varied over the runs 1.4 times
/// as much as the error of the median run says. Take `Nuts`, or [`Collapsed`](crate::sampler::Collapsed) where the
/// output layer can be integrated out. Measured by
/// `cargo test --release -p bnn-mcmc-tests --test inference -- --ignored --nocapture standing_still`.
///
/// A trajectory diverges as one of [`Hmc`](crate::sampler::Hmc#dynamics) does, with K - log pi as its energy, K
/// being the sum of dK.
///
/// Statistics per draw: `step_size`, `energy_error` at the trajectory's end, `leapfrog_steps` (n), and
/// `path_length` where it is tuned.
///
/// Sources: Robnik, Cohn-Gordon and Seljak, *Metropolis adjusted microcanonical Hamiltonian Monte Carlo*, 2025,
/// arXiv:2503.01707 (where L follows from the autocorrelation length instead); Robnik, De Luca, Silverstein and
/// Seljak, JMLR 24, 2023, arXiv:2212.08549, for the dynamics.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// let draws = Sampler::new(&target, Mams::default()).draws(2000).seed(1).run()?;
/// assert!((draws.summary()?.rows[1].mean - -2.0).abs() < 0.1);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "microcanonical")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mams {
    /// h: where adaptation starts, or the value throughout if there is no warm-up.
    pub step_size: f64,
    /// L, the mean length of a trajectory; `None` starts at (pi/2) sqrt(d) and is tuned in warm-up.
    pub path_length: Option<f64>,
    /// The largest number of steps, whatever the step size; from 1 to 2^20.
    pub max_steps: u32,
    /// The largest number of steps in warm-up until a linear map has been learnt, if one is.
    /// Before, the step size fits the narrowest coordinate, and a path of the length that suits the
    /// later coordinates takes thousands of steps.
    pub max_first_steps: u32,
    /// Whether warm-up adapts the step size.
    pub adapt_step_size: bool,
    /// The acceptance probability to adapt to.
    pub target_accept: f64,
    /// The linear map that warm-up learns from the target's scales.
    pub preconditioner: Preconditioner,
}

impl Default for Mams {
    fn default() -> Self {
        Self {
            step_size: 0.1,
            path_length: None,
            max_steps: 4096,
            max_first_steps: 100,
            adapt_step_size: true,
            target_accept: 0.9,
            preconditioner: Preconditioner::DiagonalFromGradients,
        }
    }
}

impl<T: GradTarget> Algorithm<T> for Mams {
    type Kernel = TrajectoryKernel<Isokinetic>;

    fn name(&self) -> String {
        "Mams".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let dim = target.dim();
        if dim < 2 {
            return Err(Error::argument("dimensions of the target of MAMS", dim, "at least 2"));
        }
        if let Some(length) = self.path_length {
            positive("path_length", length)?;
        }
        let start = (dim as f64).sqrt() * std::f64::consts::FRAC_PI_2;
        let settings = Settings {
            step_size: self.step_size,
            path_length: self.path_length.unwrap_or(start),
            adapt_path_length: self.path_length.is_none(),
            jitter: 1.0,
            max_steps: self.max_steps,
            max_first_steps: self.max_first_steps,
            target_accept: self.adapt_step_size.then_some(self.target_accept),
            preconditioner: self.preconditioner,
        };
        TrajectoryKernel::new(&settings, dim)
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        self.preconditioner.matrix_numbers(target.dim())
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

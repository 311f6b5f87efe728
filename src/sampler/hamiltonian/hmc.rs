//! Hamiltonian Monte Carlo with a jittered path length.

use serde::{Deserialize, Serialize};

use super::dynamics::PhasePoint;
use super::trajectory::{Settings, TrajectoryKernel};
use crate::Error;
use crate::error::positive;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Preconditioner};
use crate::targets::GradTarget;

/// Hamiltonian Monte Carlo.
///
/// Each transition draws a momentum p ~ N(0, I), follows the [dynamics](crate::sampler::Hmc#dynamics) for n
/// leapfrog steps of size eps, and accepts the end (q', p') with probability
///
/// ```text
/// min(1, exp(H(q, p) - H(q', p'))),
/// n = min(max_steps, ceil(path_length u / eps)),   u ~ U(1 - jitter, 1 + jitter)
/// ```
///
/// u does not depend on q, so that each n has a ratio of its own; jitter keeps a trajectory from
/// coming back to where it began again and again (Neal 2011, section 3.2). Where the target is a
/// standard normal, the end of the default path, pi/2 or a quarter of a period, is independent of
/// its beginning.
///
/// Warm-up adapts eps to an acceptance probability of 0.8, and L. With
/// [`adapt_path_length`](Hmc::adapt_path_length) it also tunes the path length, to where
/// trajectories of that length and of half of it have the same expected squared jump per step (see
/// [`Mams`](crate::sampler::Mams)); jitter 1, any length up to twice the mean, is the choice then.
/// Each chain tunes its own. Cost of a step: n gradients, O(d) beside them (O(d^2) with a dense
/// preconditioner). Where the preconditioner makes the target about round it has the cheapest
/// draws; where it does not, as on the sunspot network, trajectories of pi/2 are too short, and
/// [`Nuts`](crate::sampler::Nuts), which finds their length by itself, is far better.
///
/// **Not for small networks.** Step size and path length are fixed after warm-up, and where the
/// posterior is narrower than they suit, one trajectory after the other is rejected: the chain
/// stands still. On a network 1-3-1 for 50 rows (10 parameters, 40 runs of 4 chains of 1,000 draws)
/// the longest stretch of equal draws was 19 in the median run and 370 in the worst (NUTS: 4 and
/// 9). A run that never came to such a place gives no sign of it: for NUTS and
/// [`Mams`](crate::sampler::Mams) the mean log likelihood varied over the runs 1.6 and 1.4 times as
/// much as the Monte Carlo error of the median run says (for HMC, whose errors are three times as
/// large, 1.05 times). Look at the longest stretch, not at the errors alone. Measured by `cargo
/// test --release --test inference -- --ignored --nocapture standing_still`.
///
/// Statistics per draw: `step_size`, `energy` of the draw, `energy_error` at the trajectory's end,
/// `leapfrog_steps`, and `path_length` where it is tuned.
///
/// Source: Duane et al., Physics Letters B 195, 1987, doi:10.1016/0370-2693(87)91197-X; Neal 2011,
/// arXiv:1206.1901.
///
/// # Dynamics
/// [`Nuts`](crate::sampler::Nuts) has the same.
///
/// A momentum p ~ N(0, I) is added to the position q = L x, where L is the linear map learnt in
/// warm-up (see [`Preconditioner`]). In the coordinates x the energy and one
/// leapfrog step of size eps are
///
/// ```text
/// H(q, p) = -log pi(q) + |p|^2 / 2
/// p <- p + eps/2 L^T g(q);   q <- q + eps L p;   p <- p + eps/2 L^T g(q)
/// ```
///
/// with g = grad log pi. This is the leapfrog step of a system with mass matrix (L L^T)^-1, written
/// so that momenta are always standard normal. It preserves volume and can be retraced by -eps. Its
/// energy error is of order eps^2 over a trajectory of fixed length.
///
/// Where the target has a [force](GradTarget::force) of its own, that stands in the place of g in the steps of HMC and
/// of [`Mams`](crate::sampler::Mams): each step can still be retraced, with the same change of volume. H of the
/// acceptance test has log pi itself at both ends. In between, the density of the force watches for divergences, at
/// the ends too, so that a trajectory fails from both of its ends or from none. NUTS needs log pi at every point,
/// and takes the gradient.
///
/// A transition whose energy rises by more than
/// [`MAX_ENERGY_ERROR`](crate::sampler::MAX_ENERGY_ERROR) anywhere on its trajectory, or whose
/// density is NaN or infinite there, has diverged: the step size is too large for the curvature at
/// that place, which the chain cannot enter. A trajectory of HMC, or a doubling of NUTS, that
/// leaves the support is rejected as a whole and is no divergence.
///
/// Source: Neal, *MCMC using Hamiltonian dynamics*, Handbook of Markov Chain Monte Carlo, 2011,
/// arXiv:1206.1901, sections 2 and 4.1.
///
/// # Example
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// let draws = Sampler::new(&target, Hmc::default()).draws(2000).seed(1).run()?;
/// assert!((draws.summary()?.rows[1].mean - -2.0).abs() < 0.1);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hmc {
    /// The leapfrog step: where adaptation starts, or the value throughout if there is no warm-up.
    pub step_size: f64,
    /// The time that a trajectory takes, in the coordinates in which momenta are standard normal.
    pub path_length: f64,
    /// Whether warm-up tunes the path length; it starts at `path_length`.
    pub adapt_path_length: bool,
    /// The variation of the path length, relative to itself; from 0 to 1.
    pub jitter: f64,
    /// The largest number of leapfrog steps, whatever the step size; from 1 to 2^20.
    pub max_steps: u32,
    /// The largest number of steps in warm-up until a linear map has been learnt, if one is.
    /// Before, the step size fits the narrowest coordinate, and a path of the length that suits the
    /// later coordinates takes thousands of steps. By default 2^20, which limits nothing.
    pub max_first_steps: u32,
    /// Whether warm-up adapts the step size.
    pub adapt_step_size: bool,
    /// The acceptance probability to adapt to.
    pub target_accept: f64,
    /// The linear map that warm-up learns from the target's scales.
    pub preconditioner: Preconditioner,
}

impl Default for Hmc {
    fn default() -> Self {
        Self {
            step_size: 0.1,
            path_length: std::f64::consts::FRAC_PI_2,
            adapt_path_length: false,
            jitter: 0.5,
            max_steps: 1000,
            max_first_steps: 1 << 20,
            adapt_step_size: true,
            target_accept: 0.8,
            preconditioner: Preconditioner::DiagonalFromGradients,
        }
    }
}

impl Hmc {
    /// Checks the configuration for `dim` dimensions.
    pub(super) fn trajectories(&self, dim: usize) -> Result<TrajectoryKernel<PhasePoint>, Error> {
        let settings = Settings {
            step_size: self.step_size,
            path_length: positive("path_length", self.path_length)?,
            adapt_path_length: self.adapt_path_length,
            jitter: self.jitter,
            max_steps: self.max_steps,
            max_first_steps: self.max_first_steps,
            target_accept: self.adapt_step_size.then_some(self.target_accept),
            preconditioner: self.preconditioner,
        };
        TrajectoryKernel::new(&settings, dim)
    }
}

impl<T: GradTarget> Algorithm<T> for Hmc {
    type Kernel = TrajectoryKernel<PhasePoint>;

    fn name(&self) -> String {
        "Hmc".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<TrajectoryKernel<PhasePoint>, Error> {
        self.trajectories(target.dim())
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        self.preconditioner.matrix_numbers(target.dim())
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

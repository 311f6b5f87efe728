//! Targets: log densities over a flat vector q that samplers can walk on.
//!
//! A sampler asks for the smallest trait that it needs: [`Target`] (a log density) for random-walk
//! Metropolis, [`GradTarget`] (its gradient as well) for MALA, [`HessTarget`] or [`FisherTarget`]
//! (second derivatives) for simplified manifold MALA, [`MinibatchTarget`] (gradients from a part of
//! the data) for SGLD. [`Posterior`](crate::posterior::Posterior) implements all for every model, likelihood and prior of the crate;
//! a density of your own takes three methods:
//!
//! ```
//! use bnn_mcmc::targets::{LogDensity, Target};
//!
//! /// log p(q) = -q^4 / 4, without its constant.
//! struct Quartic;
//!
//! impl Target for Quartic {
//!     type Workspace = ();
//!     fn dim(&self) -> usize {
//!         1
//!     }
//!     fn workspace(&self) {}
//!     fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
//!         LogDensity::from(-q[0].powi(4) / 4.0)
//!     }
//! }
//! ```

#[cfg(feature = "autodiff")]
mod autodiff;
mod capabilities;
mod conditioned;
mod constrained;
mod constraint;
mod info;
mod marginal;
mod minibatch;
mod point;
mod second_order;
mod stand_in;
mod tempered;
mod with_reference;

#[cfg(feature = "autodiff")]
pub use autodiff::{Autodiff, AutodiffWorkspace, Density, Number};
pub use capabilities::{
    BoxSupport, Descent, DescentRule, GaussianReference, NoiseConditional, NoiseParameters,
    Objective, Pass,
};
pub use conditioned::{Conditioned, ConditionedWorkspace};
pub use constrained::{Constrained, ConstrainedWorkspace};
pub use constraint::Constraint;
pub use info::TargetInfo;
pub use marginal::{ConditionallyGaussian, Forces, Marginal, MarginalWorkspace};
pub use minibatch::MinibatchTarget;
pub use point::{Cached, Point};
pub(crate) use second_order::MOST_DIMENSIONS;
pub use second_order::{FisherTarget, HessTarget};
pub(crate) use stand_in::{check_coordinates, fingerprint};
pub use tempered::{PowerGradTarget, PowerTarget, Tempered};
pub use with_reference::WithReference;

pub use crate::curvature::Curvature;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::layout::Layout;
use crate::rng::ChainRng;

/// A log density in its two parts, with the power of the likelihood. Samplers use
/// [`total`](Self::total).
///
/// Outside the support the prior part is -inf: a proposal there is an ordinary rejection. Anything
/// else that is not finite (NaN, +inf, a likelihood of -inf inside the support) is a divergence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogDensity {
    /// log p(y | q).
    pub likelihood: f64,
    /// log p(q).
    pub prior: f64,
    /// The power of the likelihood: 1, unless the target is [`Tempered`].
    pub beta: f64,
}

impl LogDensity {
    /// The log density outside the support of a target.
    pub const OUTSIDE: Self = Self { likelihood: 0.0, prior: f64::NEG_INFINITY, beta: 1.0 };

    /// log p(y | q) and log p(q).
    pub fn new(likelihood: f64, prior: f64) -> Self {
        Self { likelihood, prior, beta: 1.0 }
    }

    /// The log density that samplers use: beta * likelihood + prior. At beta = 0 the likelihood does
    /// not enter, even if it is infinite.
    pub fn total(&self) -> f64 {
        //~ tempered-density
        if self.beta == 0.0 { self.prior } else { self.beta * self.likelihood + self.prior }
    }

    /// Whether the point has density zero because it lies outside the support.
    pub fn is_outside_support(&self) -> bool {
        self.prior == f64::NEG_INFINITY && !self.likelihood.is_nan()
    }

    /// Whether both parts are finite; at beta = 0 the prior alone counts.
    pub fn is_finite(&self) -> bool {
        self.prior.is_finite() && (self.likelihood.is_finite() || self.beta == 0.0)
    }
}

impl From<f64> for LogDensity {
    /// A log density that is not told apart into likelihood and prior; -inf is outside the support.
    fn from(log_density: f64) -> Self {
        if log_density == f64::NEG_INFINITY { Self::OUTSIDE } else { Self::new(log_density, 0.0) }
    }
}

/// A log density of a flat vector q, up to a constant.
pub trait Target: Sync {
    /// Scratch memory of one chain; `()` if none is needed.
    type Workspace: Send;

    /// The length of q.
    fn dim(&self) -> usize;

    /// Scratch memory for one chain.
    fn workspace(&self) -> Self::Workspace;

    /// log p(q). `q` has length [`dim`](Self::dim).
    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity;

    /// The names of the coordinates of q; by default one block `q`.
    fn layout(&self) -> Layout {
        Layout::vector("q", self.dim())
    }

    /// A random point to start a chain from: uniform on (-2, 2) by default, a draw from the prior
    /// for a [`Posterior`](crate::posterior::Posterior).
    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        q.fill_with(|| 4.0 * rng.uniform() - 2.0);
        Ok(())
    }

    /// A checksum of the data that the density depends on, in which their order counts; `None`, the
    /// default, if there are none.
    ///
    /// A [checkpoint](crate::draws::checkpoint) is refused where it differs. Two sets of data may
    /// have the same density, and not the same minibatches: rows in another order, for example.
    fn data_checksum(&self) -> Option<u32> {
        None
    }

    /// A description of the [surrogate](crate::surrogate), if the target is one; `None` by default.
    /// Verdicts on its draws quote it.
    fn approximation(&self) -> Option<String> {
        None
    }

    /// Model, likelihood and data, if the target is a [`Posterior`](crate::posterior::Posterior) or a view of one; `None` by
    /// default. A posterior refuses to predict with draws of another one.
    fn info(&self) -> Option<TargetInfo> {
        None
    }
}

/// A target with a gradient.
pub trait GradTarget: Target {
    /// Returns log p(q) and overwrites `grad` (as long as q) with its gradient.
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut Self::Workspace)
    -> LogDensity;

    /// Whether [`force`](Self::force) is something else than the gradient. False by default.
    fn has_own_force(&self) -> bool {
        false
    }

    /// Overwrites `force` (as long as q) with what moves a trajectory at q, and returns a density by which its
    /// way is watched: by default the gradient and the log density, which a cheaper computation may
    /// approximate.
    ///
    /// Both are functions of q alone, with the same bits at every call: whatever was evaluated before, and
    /// on however many threads. Then a leapfrog or an isokinetic step with this force can be retraced, and
    /// its change of volume is known, however far the force is from the gradient. A kernel whose acceptance
    /// test has the log density itself at both ends of a trajectory ([`Hmc`](crate::sampler::Hmc),
    /// [`Mams`](crate::sampler::Mams)) is exact with it; a force far from the gradient is rejected often.
    ///
    /// Source: Neal, *MCMC using Hamiltonian dynamics*, Handbook of Markov Chain Monte Carlo, 2011,
    /// arXiv:1206.1901, section 5.6 (trajectories by an approximate energy).
    fn force(&self, q: &[f64], force: &mut [f64], ws: &mut Self::Workspace) -> LogDensity {
        self.log_density_grad(q, force, ws)
    }
}

impl<T: Target> Target for &T {
    type Workspace = T::Workspace;
    forward! { self => (**self);
        fn dim() -> usize;
        fn workspace() -> Self::Workspace;
        fn log_density(q: &[f64], ws: &mut Self::Workspace) -> LogDensity;
        fn layout() -> Layout;
        fn draw_start(rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error>;
        fn data_checksum() -> Option<u32>;
        fn approximation() -> Option<String>;
        fn info() -> Option<TargetInfo>;
    }
}

impl<T: GradTarget> GradTarget for &T {
    forward! { self => (**self);
        fn log_density_grad(q: &[f64], grad: &mut [f64], ws: &mut Self::Workspace) -> LogDensity;
        fn has_own_force() -> bool;
        fn force(q: &[f64], force: &mut [f64], ws: &mut Self::Workspace) -> LogDensity;
    }
}

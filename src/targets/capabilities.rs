//! Capabilities beyond a density that some kernels need: small traits that a
//! [`Posterior`](crate::posterior::Posterior) implements, and its [tempered](super::Tempered) and
//! [conditioned](super::Conditioned) views.

use serde::{Deserialize, Serialize};

use super::{Conditioned, ConditionedWorkspace, PowerTarget, Target, Tempered};
use crate::Error;

/// The conditional distribution of a Gaussian noise variance is inverse gamma.
pub trait NoiseConditional: Target {
    /// The coordinate of the noise and the parameters of its conditional distribution; an error
    /// with the reason if that is not inverse gamma.
    fn noise_parameters(&self) -> Result<NoiseParameters, Error>;

    /// The sum of squared residuals over all rows and outputs.
    fn squared_error(&self, q: &[f64], ws: &mut Self::Workspace) -> f64;
}

/// tau^2 | rest ~ IG(shape + beta values / 2, scale + beta SSE / 2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseParameters {
    /// The coordinate of q that holds log tau^2.
    pub coordinate: usize,
    /// The number of response values, rows times outputs.
    pub values: f64,
    /// The prior's shape.
    pub shape: f64,
    /// The prior's scale.
    pub scale: f64,
    /// The power of the likelihood.
    pub beta: f64,
}

impl<T: NoiseConditional> NoiseConditional for &T {
    forward! { self => (**self);
        fn noise_parameters() -> Result<NoiseParameters, Error>;
        fn squared_error(q: &[f64], ws: &mut Self::Workspace) -> f64;
    }
}

impl<T: NoiseConditional + PowerTarget> NoiseConditional for Tempered<T> {
    fn noise_parameters(&self) -> Result<NoiseParameters, Error> {
        let base = self.base().noise_parameters()?;
        Ok(NoiseParameters { beta: self.beta() * base.beta, ..base })
    }
    forward! { self => self.base();
        fn squared_error(q: &[f64], ws: &mut Self::Workspace) -> f64;
    }
}

/// Given the values of the other coordinates, the prior of the coordinates that move is normal, with
/// independent coordinates.
pub trait GaussianReference: Target {
    /// Writes the prior mean and standard deviation of the coordinates `moving` of q, given the
    /// present values of all others (a hierarchical scale, say).
    ///
    /// Errors: the prior of one of them is not normal, or depends on another that moves.
    fn gaussian_reference(
        &self,
        moving: &[usize],
        q: &[f64],
        mean: &mut [f64],
        sd: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> Result<(), Error>;
}

impl<T: GaussianReference> GaussianReference for &T {
    forward! { self => (**self);
        fn gaussian_reference(
            moving: &[usize], q: &[f64], mean: &mut [f64], sd: &mut [f64],
            ws: &mut Self::Workspace,
        ) -> Result<(), Error>;
    }
}

impl<T: GaussianReference + PowerTarget> GaussianReference for Tempered<T> {
    forward! { self => self.base();
        fn gaussian_reference(
            moving: &[usize], q: &[f64], mean: &mut [f64], sd: &mut [f64],
            ws: &mut Self::Workspace,
        ) -> Result<(), Error>;
    }
}

impl<T: GaussianReference> GaussianReference for Conditioned<T> {
    /// All coordinates of a conditioned view move together: `moving` must be all of them, in order.
    fn gaussian_reference(
        &self,
        moving: &[usize],
        q: &[f64],
        mean: &mut [f64],
        sd: &mut [f64],
        ws: &mut ConditionedWorkspace<T::Workspace>,
    ) -> Result<(), Error> {
        if moving.len() != self.dim() {
            return Err(Error::shape("moving coordinates of a block", moving.len(), self.dim()));
        }
        let (q, _, base) = self.full(q, ws);
        self.base().gaussian_reference(self.coordinates(), q, mean, sd, base)
    }
}

/// The density is positive on a box only: each coordinate has an interval of its own.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::targets::BoxSupport;
///
/// /// p(q) = e^-q for q >= 0.
/// struct Exponential;
///
/// impl Target for Exponential {
///     type Workspace = ();
///     fn dim(&self) -> usize {
///         1
///     }
///     fn workspace(&self) {}
///     fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
///         if q[0] < 0.0 { LogDensity::OUTSIDE } else { LogDensity::from(-q[0]) }
///     }
/// }
/// impl GradTarget for Exponential {
///     fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
///         grad[0] = -1.0;
///         self.log_density(q, ws)
///     }
/// }
/// impl BoxSupport for Exponential {
///     fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
///         (lower[0], upper[0]) = (0.0, f64::INFINITY);
///         Ok(())
///     }
/// }
/// let draws = Sampler::new(&Exponential, TruncatedMala::default()).seed(1).run()?;
/// assert!((draws.mean()[0] - 1.0).abs() < 0.1);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
pub trait BoxSupport: Target {
    /// Overwrites `lower` and `upper` (as long as q) with the bounds of each coordinate, infinite
    /// where there is none.
    ///
    /// Errors: the support is not a box.
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error>;
}

impl<T: BoxSupport> BoxSupport for &T {
    forward! { self => (**self);
        fn bounds(lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error>;
    }
}

impl<T: BoxSupport + PowerTarget> BoxSupport for Tempered<T> {
    forward! { self => self.base();
        fn bounds(lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error>;
    }
}

impl<T: BoxSupport> BoxSupport for Conditioned<T> {
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        let (mut all_lower, mut all_upper) =
            (vec![0.0; self.base().dim()], vec![0.0; self.base().dim()]);
        self.base().bounds(&mut all_lower, &mut all_upper)?;
        self.gather(&all_lower, lower);
        self.gather(&all_upper, upper);
        Ok(())
    }
}

/// A deterministic map of the parameters: some epochs of gradient descent.
///
/// Fixed order of rows, no random numbers: equal q give equal images, as a Metropolis-Hastings
/// proposal built on it requires.
pub trait Descent: Target {
    /// Checks that the target can descend as `rule` says.
    fn check_descent(&self, rule: &DescentRule) -> Result<(), Error>;

    /// For each coordinate of q, whether descent moves it: the weights of the model.
    fn moves(&self) -> Vec<bool>;

    /// Writes the point that descent from `q` arrives at into `image`.
    fn descend(&self, rule: &DescentRule, q: &[f64], image: &mut [f64], ws: &mut Self::Workspace);
}

/// The settings of a descent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DescentRule {
    /// The function to descend.
    pub objective: Objective,
    /// One step for all rows, or one for each row.
    pub pass: Pass,
    /// The factor r of the gradient.
    pub learning_rate: f64,
    /// The number of passes over the data, at most [`DescentRule::DEEPEST`].
    pub depth: usize,
}

impl DescentRule {
    /// The most passes over the data, all of which belong to one step.
    pub const DEEPEST: usize = 1 << 20;
}

/// The function that gradient descent descends, with the likelihood's own parameters held fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Objective {
    /// 1/2 sum (y - f)^2, summed over rows and outputs; for real responses.
    SquaredError,
    /// -(log likelihood + log prior).
    LogPosterior,
}

/// The form of one pass over the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pass {
    /// One step along the gradient summed over all rows.
    Batch,
    /// One step for each row, in their order; the prior's gradient in equal parts.
    PerRow,
}

impl<T: Descent> Descent for &T {
    forward! { self => (**self);
        fn check_descent(rule: &DescentRule) -> Result<(), Error>;
        fn moves() -> Vec<bool>;
        fn descend(rule: &DescentRule, q: &[f64], image: &mut [f64], ws: &mut Self::Workspace);
    }
}

impl<T: Descent + PowerTarget> Descent for Tempered<T> {
    forward! { self => self.base();
        fn check_descent(rule: &DescentRule) -> Result<(), Error>;
        fn moves() -> Vec<bool>;
        /// Descends the target at beta = 1: any deterministic map serves a proposal.
        fn descend(rule: &DescentRule, q: &[f64], image: &mut [f64], ws: &mut Self::Workspace);
    }
}

impl<T: Descent> Descent for Conditioned<T> {
    forward! { self => self.base();
        fn check_descent(rule: &DescentRule) -> Result<(), Error>;
    }
    fn moves(&self) -> Vec<bool> {
        let all = self.base().moves();
        self.coordinates().iter().map(|c| all[*c]).collect()
    }
    /// Descends in all coordinates from the full vector, and keeps the coordinates of the blocks.
    fn descend(
        &self,
        rule: &DescentRule,
        q: &[f64],
        image: &mut [f64],
        ws: &mut ConditionedWorkspace<T::Workspace>,
    ) {
        let (q, full_image, base) = self.full(q, ws);
        self.base().descend(rule, q, full_image, base);
        self.gather_scratch(ws, image);
    }
}

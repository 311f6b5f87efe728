//! Gradients of a density of your own without formulas: forward-mode differentiation by dual numbers.

use num_dual::{DualNum, DualSVec64};

use super::{GradTarget, LogDensity, Target};
use crate::layout::Layout;

/// Derivatives that one evaluation carries along: a register of AVX-512, two of AVX2.
const LANES: usize = 8;

/// A number that may carry its derivatives along: f64, and dual numbers over it.
///
/// It adds, multiplies, compares and converts (`N::from(2.0)`, and `x * 2.0` with an f64 on the right) like f64, and has f64's elementary
/// functions, which take `&self`; `x.re()` is its value.
pub trait Number: DualNum<Primitive = f64> + Copy {}

impl<T: DualNum<Primitive = f64> + Copy> Number for T {}

/// A log density that is written once, for numbers of any kind, so that its gradient need not be written: see [`Autodiff`].
pub trait Density: Sync {
    /// The names and shapes of the parameters.
    fn layout(&self) -> Layout;

    /// The log likelihood and the log prior of `theta`, which is as long as the layout. Where the density is zero the prior is
    /// `N::from(f64::NEG_INFINITY)`.
    fn log_density<N: Number>(&self, theta: &[N]) -> (N, N);

    /// As [`Target::data_checksum`]: `None` unless the density depends on data in an order.
    fn data_checksum(&self) -> Option<u32> {
        None
    }
}

/// A [`Density`] as a target with a gradient.
///
/// Each number is calculated with its derivatives by 8 of the parameters (a dual number; Griewank and Walther, *Evaluating
/// Derivatives*, 2008, doi:10.1137/1.9780898717761), and the density is evaluated once for each 8 of them. The gradient is exact to
/// rounding. Its cost grows with the number of parameters, so that a gradient by hand, or of a [`Posterior`](crate::posterior::Posterior),
/// is cheaper from some 16 of them on: `benches/README.md` has the measured times.
///
/// The density may be over constrained parameters ([`Constrained`](super::Constrained) maps them):
///
/// ```
/// use bnn_mcmc::layout::Layout;
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::targets::{Autodiff, Constrained, Constraint, Density, Number};
///
/// /// y_i ~ N(mu, sigma^2) with mu ~ N(0, 10^2) and sigma ~ half-N(0, 5^2).
/// struct Normals {
///     y: Vec<f64>,
/// }
///
/// impl Density for Normals {
///     fn layout(&self) -> Layout {
///         Layout::new().with("mu", &[]).with("sigma", &[])
///     }
///
///     fn log_density<N: Number>(&self, theta: &[N]) -> (N, N) {
///         let (mu, sigma) = (theta[0], theta[1]);
///         let squares: N = self.y.iter().map(|y| ((mu - *y) / sigma).powi(2)).sum();
///         let likelihood = squares * -0.5 - sigma.ln() * self.y.len() as f64;
///         let prior = ((mu / 10.0).powi(2) + (sigma / 5.0).powi(2)) * -0.5;
///         (likelihood, prior)
///     }
/// }
///
/// let normals = Normals { y: vec![1.2, -0.4, 2.2, 0.9, 1.7] };
/// let target = Constrained::new(Autodiff::new(normals), &[("sigma", Constraint::Positive)])?;
/// let draws = Sampler::new(&target, Nuts::default()).run()?.constrained(&target)?;
/// assert!(draws.parameter("sigma")?.iter().all(|sigma| *sigma > 0.0));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Autodiff<D> {
    density: D,
    dim: usize,
}

impl<D: Density> Autodiff<D> {
    /// The target of `density`.
    pub fn new(density: D) -> Self {
        let dim = density.layout().dim();
        Self { density, dim }
    }

    /// The density.
    pub fn density(&self) -> &D {
        &self.density
    }
}

/// f64 with its derivatives by 8 parameters.
type Dual = DualSVec64<LANES>;

/// Scratch memory of one chain on an [`Autodiff`] target.
#[derive(Debug)]
pub struct AutodiffWorkspace {
    theta: Vec<Dual>,
}

impl<D: Density> Target for Autodiff<D> {
    type Workspace = AutodiffWorkspace;

    fn dim(&self) -> usize {
        self.dim
    }

    fn workspace(&self) -> AutodiffWorkspace {
        AutodiffWorkspace { theta: vec![Dual::from_re(0.0); self.dim] }
    }

    fn log_density(&self, q: &[f64], _: &mut AutodiffWorkspace) -> LogDensity {
        let (likelihood, prior) = self.density.log_density(q);
        LogDensity::new(likelihood, prior)
    }

    fn layout(&self) -> Layout {
        self.density.layout()
    }

    fn data_checksum(&self) -> Option<u32> {
        self.density.data_checksum()
    }
}

impl<D: Density> GradTarget for Autodiff<D> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut AutodiffWorkspace,
    ) -> LogDensity {
        ws.theta.iter_mut().zip(q).for_each(|(theta, q)| *theta = Dual::from_re(*q));
        let mut density = LogDensity::OUTSIDE;
        for (chunk, grad) in grad.chunks_mut(LANES).enumerate() {
            let at = chunk * LANES..chunk * LANES + grad.len();
            for (lane, i) in at.clone().enumerate() {
                ws.theta[i] = Dual::from_re(q[i]).derivative(lane);
            }
            let (likelihood, prior) = self.density.log_density(&ws.theta);
            density = LogDensity::new(likelihood.re, prior.re);
            // There are none where the density does not depend on these parameters.
            match &(likelihood + prior).eps.0 {
                Some(derivatives) => grad.copy_from_slice(&derivatives.as_slice()[..grad.len()]),
                None => grad.fill(0.0),
            }
            at.for_each(|i| ws.theta[i] = Dual::from_re(q[i]));
        }
        density
    }
}

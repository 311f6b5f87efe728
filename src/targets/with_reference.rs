//! A density of your own, tempered towards a normalised reference.

use super::{
    BoxSupport, Curvature, GaussianReference, GradTarget, HessTarget, LogDensity, PowerGradTarget,
    PowerTarget, Target, TargetInfo,
};
use crate::Error;
use crate::layout::Layout;
use crate::message::Advice;
use crate::prior::{Family, Prior};
use crate::rng::ChainRng;

/// The density `target` with the normalised density `reference` of the whole of q.
///
/// A density that is not told apart into likelihood and prior has nothing to temper. With a
/// normalised reference p0,
///
/// ```text
/// ell(q) := log pi(q) - log p0(q),   beta ell + log p0 = beta log pi + (1 - beta) log p0
/// ```
///
/// beta = 1 is the density itself and beta = 0 the reference, from which exact draws can be made.
/// The evidence is then the integral of pi: 1 if it is normalised.
///
/// The reference must cover the density: where it is narrower, ell is unbounded. It is one [`Prior`]
/// for all coordinates alike. Where the density is zero, ell is -inf, which draws from the reference
/// may find; a proposal there counts as a divergence above beta = 0. **A log density must not
/// underflow** to -inf far out, as the logarithm of a sum of small numbers does: factor the largest
/// out.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::PowerPosteriors;
/// use bnn_mcmc::targets::{LogDensity, Target, WithReference};
///
/// /// Two modes, at -3 and 3.
/// struct TwoModes;
///
/// impl Target for TwoModes {
///     type Workspace = ();
///     fn dim(&self) -> usize {
///         1
///     }
///     fn workspace(&self) {}
///     fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
///         let (a, b) = (-12.5 * (q[0] + 3.0).powi(2), -12.5 * (q[0] - 3.0).powi(2));
///         // log(e^a + e^b), without underflow
///         LogDensity::from(a.max(b) + (-(a - b).abs()).exp().ln_1p())
///     }
/// }
///
/// let target = WithReference::new(TwoModes, Normal::new(0.0, 4.0)?);
/// let draws = Sampler::new(&target, PowerPosteriors::new(Rwm::default())).run()?;
/// assert!(draws.mean()[0].abs() < 1.0); // every chain visits both
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WithReference<T, P> {
    target: T,
    reference: P,
}

impl<T, P> WithReference<T, P> {
    /// `target`, tempered towards `reference`.
    pub fn new(target: T, reference: P) -> Self {
        Self { target, reference }
    }

    /// The density at beta = 1.
    pub fn target(&self) -> &T {
        &self.target
    }

    /// The density at beta = 0.
    pub fn reference(&self) -> &P {
        &self.reference
    }
}

/// ell and log p0 from log pi and log p0.
fn relative(log_density: f64, reference: f64) -> LogDensity {
    // Outside the reference's support there is nothing at any temperature below 1: one density for
    // all of them has to be zero there.
    let inside = reference > f64::NEG_INFINITY || reference.is_nan();
    if inside { LogDensity::new(log_density - reference, reference) } else { LogDensity::OUTSIDE }
}

impl<T: Target, P: Prior> Target for WithReference<T, P> {
    type Workspace = (T::Workspace, [Vec<f64>; 2]);

    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        (self.target.workspace(), [(); 2].map(|()| vec![0.0; self.dim()]))
    }

    fn log_density(&self, q: &[f64], (ws, _): &mut Self::Workspace) -> LogDensity {
        relative(self.target.log_density(q, ws).total(), self.reference.log_density(q))
    }

    fn layout(&self) -> Layout {
        self.target.layout()
    }

    /// A draw from the reference.
    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.reference.draw(rng, q)
    }

    fn data_checksum(&self) -> Option<u32> {
        self.target.data_checksum()
    }

    fn approximation(&self) -> Option<String> {
        self.target.approximation()
    }

    fn info(&self) -> Option<TargetInfo> {
        self.target.info()
    }
}

impl<T: Target, P: Prior> PowerTarget for WithReference<T, P> {
    fn draw_reference(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.reference.draw(rng, q)
    }

    fn log_prior(&self, q: &[f64], _: &mut Self::Workspace) -> f64 {
        self.reference.log_density(q)
    }
}

impl<T: GradTarget, P: Prior> GradTarget for WithReference<T, P> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        (ws, _): &mut Self::Workspace,
    ) -> LogDensity {
        let total = self.target.log_density_grad(q, grad, ws).total();
        relative(total, self.reference.log_density(q))
    }
}

impl<T: GradTarget, P: Prior> PowerGradTarget for WithReference<T, P> {
    fn log_prior_grad(&self, q: &[f64], grad: &mut [f64], _: &mut Self::Workspace) -> f64 {
        grad.fill(0.0);
        self.reference.add_grad(q, grad)
    }

    fn log_density_grad_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: &mut [f64],
        (ws, [reference_grad, _]): &mut Self::Workspace,
    ) -> LogDensity {
        let total = self.target.log_density_grad(q, grad, ws).total();
        reference_grad.fill(0.0);
        let reference = self.reference.add_grad(q, reference_grad);
        for (g, r) in grad.iter_mut().zip(reference_grad) {
            // At beta = 0 the density does not enter, even where its gradient is not finite.
            *g = if beta == 0.0 { *r } else { beta * *g + (1.0 - beta) * *r };
        }
        relative(total, reference)
    }
}

impl<T: Target, P: Prior> GaussianReference for WithReference<T, P> {
    fn gaussian_reference(
        &self,
        moving: &[usize],
        _q: &[f64],
        mean: &mut [f64],
        sd: &mut [f64],
        _ws: &mut Self::Workspace,
    ) -> Result<(), Error> {
        let Family::Normal { mean: m, sd: s } = self.reference.family() else {
            let allowed = "normal, for kernels that move along it";
            return Err(Error::argument("reference", "of another family", allowed));
        };
        mean[..moving.len()].fill(m);
        sd[..moving.len()].fill(s);
        Ok(())
    }
}

impl<T: HessTarget, P: Prior> HessTarget for WithReference<T, P> {
    fn neg_hessian_at(
        &self,
        beta: f64,
        q: &[f64],
        out: &mut [f64],
        (ws, [unit, column]): &mut Self::Workspace,
    ) {
        let dim = q.len();
        if beta == 0.0 {
            out.fill(0.0);
        } else {
            self.target.neg_hessian_at(1.0, q, out, ws);
            out.iter_mut().for_each(|h| *h *= beta);
        }
        for j in 0..dim {
            unit.fill(0.0);
            column.fill(0.0);
            unit[j] = 1.0;
            self.reference.add_hessian_product(Curvature::Observed, q, unit, column);
            for (row, h) in out.chunks_exact_mut(dim).zip(&*column) {
                row[j] -= (1.0 - beta) * h;
            }
        }
    }

    fn check_hessian(&self) -> Result<(), Error> {
        let mut zeros = vec![0.0; self.dim()];
        let q = zeros.clone();
        if self.reference.add_hessian_product(Curvature::Observed, &q, &q, &mut zeros) {
            self.target.check_hessian()
        } else {
            let allowed = "a prior whose second derivatives are known";
            let advice = Advice::in_rust("implement `Prior::add_hessian_product` for it");
            let found = format!("{:?}", self.reference);
            Err(Error::argument("reference", found, allowed).advise([advice]))
        }
    }
}

impl<T: BoxSupport, P: Prior> BoxSupport for WithReference<T, P> {
    /// The bounds between which both the density and the reference are above zero.
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        self.target.bounds(lower, upper)?;
        if let Family::Uniform { lower: a, upper: b } = self.reference.family() {
            lower.iter_mut().for_each(|l| *l = l.max(a));
            upper.iter_mut().for_each(|u| *u = u.min(b));
        }
        Ok(())
    }
}

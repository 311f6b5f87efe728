//! The point that an approximation is made at, and the curvature there.

use std::time::Instant;

use super::precision::PrecisionBlock;
use super::{LaplaceApproximation, Origin};
use crate::message::Advice;
use crate::targets::{Curvature, FisherTarget, GradTarget, HessTarget, MOST_DIMENSIONS};
use crate::{Error, memory};

/// A point with a larger Newton decrement is called no mode: it lies one standard deviation from
/// one.
const NO_MODE: f64 = 1.0;

/// The point that an approximation is made at.
pub(super) struct Mode<'q> {
    q: &'q [f64],
    gradient: Vec<f64>,
    log_density: f64,
    began: Instant,
}

impl<'q> Mode<'q> {
    pub(super) fn new<T: GradTarget>(target: &T, q: &'q [f64]) -> Result<Self, Error> {
        let began = Instant::now();
        if q.len() != target.dim() {
            return Err(Error::shape("length of q", q.len(), target.dim()));
        }
        if let Some(i) = q.iter().position(|q| !q.is_finite()) {
            let what = format!("`{}` of q", target.layout().parameter_names()[i]);
            return Err(Error::argument(what, q[i], "a finite number"));
        }
        let mut gradient = vec![0.0; q.len()];
        let here = target.log_density_grad(q, &mut gradient, &mut target.workspace());
        let log_density = here.total();
        if !log_density.is_finite() {
            return Err(Error::argument("log density at q", log_density, "a finite number"));
        }
        if let Some(i) = gradient.iter().position(|g| !g.is_finite()) {
            let what = format!("gradient at q of `{}`", target.layout().parameter_names()[i]);
            return Err(Error::argument(what, gradient[i], "a finite number"));
        }
        Ok(Self { q, gradient, log_density, began })
    }

    pub(super) fn laplace<T: GradTarget>(
        self,
        target: &T,
        method: String,
        parts: impl Into<Vec<PrecisionBlock>>,
    ) -> Result<LaplaceApproximation, Error> {
        let (parts, Self { q, gradient, log_density, began }) = (parts.into(), self);
        let (mut newton_point, mut newton_decrement) = (q.to_vec(), 0.0);
        for PrecisionBlock { coordinates, precision } in &parts {
            let mut step: Vec<f64> = coordinates.iter().map(|k| gradient[*k]).collect();
            precision.solve(&mut step);
            for (k, step) in coordinates.iter().zip(step) {
                newton_point[*k] += step;
                newton_decrement += gradient[*k] * step;
            }
        }
        let method = match newton_decrement > NO_MODE {
            true => format!("{method} (**at no mode**: Newton decrement {newton_decrement:.3e})"),
            false => method,
        };
        let origin = Origin::new(target, method, began);
        Ok(LaplaceApproximation {
            origin,
            mean: q.to_vec(),
            parts,
            log_density,
            newton_point,
            newton_decrement,
        })
    }
}

/// H, row-major.
pub(super) fn matrix<T: HessTarget + FisherTarget>(
    target: &T,
    q: &[f64],
    curvature: Curvature,
) -> Result<Vec<f64>, Error> {
    let d = q.len();
    check_dimension("dimension of the target", d)?;
    let mut h = vec![0.0; d * d];
    let mut ws = target.workspace();
    check_curvature(target, curvature)?;
    match curvature {
        Curvature::Observed => target.neg_hessian_at(1.0, q, &mut h, &mut ws),
        Curvature::Expected => target.fisher_at(1.0, q, &mut h, &mut ws),
    }
    Ok(h)
}

pub(super) fn check_curvature<T: HessTarget + FisherTarget>(
    target: &T,
    curvature: Curvature,
) -> Result<(), Error> {
    match curvature {
        Curvature::Observed => target.check_hessian(),
        Curvature::Expected => target.check_fisher(),
    }
}

pub(super) fn check_dimension(what: &str, dim: usize) -> Result<(), Error> {
    if dim > MOST_DIMENSIONS {
        let error = Error::argument(what, dim, format!("at most {MOST_DIMENSIONS}"));
        return Err(error.advise([Advice::in_rust(INSTEAD)]));
    }
    check_matrix(dim, INSTEAD)
}

/// Advice for where matrices of all weights are too large.
const INSTEAD: &str = "use `LaplaceApproximation::kronecker` or `LaplaceApproximation::last_layer`";

pub(super) fn check_matrix(dim: usize, instead: &'static str) -> Result<(), Error> {
    // The matrix, its factor, and a copy.
    let size = [(dim, "rows"), (dim, "columns"), (3, "copies")];
    memory::check::<f64>("matrix of a Laplace approximation", &size, Advice::in_rust(instead))
}

/// The curvature in words.
pub(super) fn of(curvature: Curvature) -> &'static str {
    match curvature {
        Curvature::Observed => "the Hessian",
        Curvature::Expected => "the Gauss-Newton matrix",
    }
}

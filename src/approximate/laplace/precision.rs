//! Precision matrices H, factorised.

use super::Kronecker;
use crate::Error;
use crate::linalg::cholesky::Cholesky;
use crate::message::Advice;
use crate::portable::ln;
use crate::targets::Curvature;

/// Some coordinates of q, independent of the others, and their precision.
#[derive(Clone, Debug)]
pub(super) struct PrecisionBlock {
    pub(super) coordinates: Vec<usize>,
    pub(super) precision: Precision,
}

impl PrecisionBlock {
    pub(super) fn new(coordinates: Vec<usize>, precision: Precision) -> Self {
        Self { coordinates, precision }
    }
}

/// H.
#[derive(Clone, Debug)]
pub(super) enum Precision {
    Dense(Cholesky),
    Diagonal(Vec<f64>),
    Kronecker(Box<Kronecker>),
}

impl Precision {
    /// Makes the precision from the matrix `h` `[dim x dim]`.
    pub(super) fn dense(h: &[f64], dim: usize, curvature: Curvature) -> Result<Self, Error> {
        let name = "H at q";
        Cholesky::new(name, h, dim).map(Self::Dense).map_err(|error| match error {
            Error::Argument { value, .. } => not_positive(name.into(), value, curvature),
            other => other,
        })
    }

    /// log det H.
    pub(super) fn log_det(&self) -> f64 {
        match self {
            Self::Dense(l) => {
                2.0 * l.lower().iter().step_by(l.dim() + 1).map(|l| ln(*l)).sum::<f64>()
            }
            Self::Diagonal(h) => h.iter().map(|h| ln(*h)).sum(),
            Self::Kronecker(h) => h.log_det(),
        }
    }

    /// `b` becomes H^-1 b.
    pub(super) fn solve(&self, b: &mut [f64]) {
        match self {
            Self::Dense(l) => {
                l.solve_lower(b);
                l.solve_lower_transpose(b);
            }
            Self::Diagonal(h) => b.iter_mut().zip(h).for_each(|(b, h)| *b /= h),
            Self::Kronecker(h) => h.solve(b),
        }
    }

    /// `z`, of N(0, I), becomes a draw of N(0, H^-1).
    pub(super) fn spread(&self, z: &mut [f64]) {
        match self {
            Self::Dense(l) => l.solve_lower_transpose(z), //~ laplace-draw
            //~ laplace-diagonal-draw
            Self::Diagonal(h) => z.iter_mut().zip(h).for_each(|(z, h)| *z /= h.sqrt()),
            Self::Kronecker(h) => h.spread(z),
        }
    }

    /// The diagonal of H^-1.
    pub(super) fn variances(&self) -> Vec<f64> {
        match self {
            Self::Dense(l) => {
                let mut column = vec![0.0; l.dim()];
                let variance = |j: usize| {
                    column.fill(0.0);
                    column[j] = 1.0;
                    l.solve_lower(&mut column);
                    column.iter().map(|c| c * c).sum()
                };
                (0..l.dim()).map(variance).collect()
            }
            Self::Diagonal(h) => h.iter().map(|h| 1.0 / h).collect(),
            Self::Kronecker(h) => h.variances(),
        }
    }
}

/// The error for a curvature that is not positive.
pub(super) fn not_positive(
    name: String,
    value: impl std::fmt::Display,
    curvature: Curvature,
) -> Error {
    let allowed = match curvature {
        Curvature::Observed => {
            "positive (definite), as it is at a mode: climb on (more steps of the ascent)"
        }
        Curvature::Expected => {
            "positive (definite): a direction about which neither the data nor the prior say \
             anything has no normal approximation"
        }
    };
    let advice = match curvature {
        Curvature::Observed => {
            Some(Advice::in_rust("take `Curvature::Expected`, which is nowhere negative"))
        }
        Curvature::Expected => None,
    };
    Error::argument(name, value, allowed).advise(advice)
}

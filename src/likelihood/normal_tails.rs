//! Tails of the normal distribution, their logarithms and hazards, far out as well.
//!
//! With Q(z) = 1 - Phi(z) and the hazard (inverse Mills ratio) h(z) = phi(z) / Q(z), from z = 4 on by the continued
//! fraction (DLMF 7.9.1)
//!
//! ```text
//! h(z) = z + k(z),   k(z) = 1/(z + 2/(z + 3/(z + ..))),   log Q(z) = -z^2/2 - log(2 pi)/2 - log h(z)
//! ```
//!
//! so that h - z, on which second derivatives depend, is exact where it is small.

use crate::portable::{exp, ln, ln_1p};

/// The argument from which on the continued fraction is used.
const FAR: f64 = 4.0;
/// The terms of the continued fraction: its remainder is below 1e-17 from z = 4 on.
const TERMS: u32 = 60;

/// log Q, the hazard h, and h - z.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    pub log: f64,
    pub hazard: f64,
    pub excess: f64,
}

impl Tail {
    /// Of the upper tail at `z`.
    pub(super) fn above(z: f64) -> Self {
        if z < FAR {
            let (q, other) = (tail(z), tail(-z));
            let log = if z < 0.0 { ln_1p(-other) } else { ln(q) };
            let hazard = exp(log_density(z)) / q;
            return Self { log, hazard, excess: hazard - z };
        }
        let excess = (1..=TERMS).rev().fold(0.0, |rest, n| f64::from(n) / (z + rest));
        let hazard = z + excess;
        Self { log: log_density(z) - ln(hazard), hazard, excess } //~ far-tail
    }
}

/// Q(z).
pub(super) fn tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// log phi(z).
pub(super) fn log_density(z: f64) -> f64 {
    -0.5 * z * z - 0.5 * ln(std::f64::consts::TAU)
}

/// The z with Phi(z) = p, for p above 0 and below 1: Newton's method on the logarithm of the smaller tail.
pub(super) fn quantile(p: f64) -> f64 {
    let small = p.min(1.0 - p);
    let log = ln(small);
    // log Q(z) is concave, and below -z^2/2: the start lies above the root.
    let mut z = (-2.0 * log).sqrt();
    for _ in 0..50 {
        let tail = Tail::above(z);
        let step = (tail.log - log) / tail.hazard;
        z += step;
        if step.abs() <= 1e-16 * z.abs().max(1.0) {
            break;
        }
    }
    if p < 0.5 { -z } else { z }
}

//! N(0, e^s) for every coordinate of a block, with s = log variance a parameter itself.

use super::subtract_scaled;
use crate::curvature::Curvature;
use crate::portable::{exp, ln};
use crate::rng::ChainRng;

/// log p(x | s).
pub(super) fn log_density(x: &[f64], s: f64) -> f64 {
    from_squares(x.len(), sum_of_squares(x), s)
}

/// Adds d / d x to `grad`, and returns log p(x | s) and d / d s.
pub(super) fn add_grad(x: &[f64], s: f64, grad: &mut [f64]) -> (f64, f64) {
    let (squares, precision) = (sum_of_squares(x), exp(-s));
    for (grad, x) in grad.iter_mut().zip(x) {
        *grad -= precision * x;
    }
    (from_squares(x.len(), squares, s), 0.5 * (precision * squares - x.len() as f64))
}

/// The product of the Hessian in (x, s) with (v, v_s): adds its part in x to `hv`, and returns its
/// part in s.
pub(super) fn add_hessian_product(
    curvature: Curvature,
    x: &[f64],
    s: f64,
    v: &[f64],
    v_s: f64,
    hv: &mut [f64],
) -> f64 {
    let precision = exp(-s);
    subtract_scaled(precision, v, hv);
    match curvature {
        Curvature::Observed => {
            let mut cross = 0.0;
            for ((hv, x), v) in hv.iter_mut().zip(x).zip(v) {
                *hv += precision * x * v_s;
                cross += x * v;
            }
            precision * (cross - 0.5 * sum_of_squares(x) * v_s)
        }
        Curvature::Expected => -0.5 * x.len() as f64 * v_s,
    }
}

/// Draws x given s.
pub(super) fn draw(s: f64, rng: &mut ChainRng, x: &mut [f64]) {
    let sd = sd(s);
    x.fill_with(|| sd * rng.normal());
}

/// The standard deviation e^(s/2).
pub(super) fn sd(s: f64) -> f64 {
    exp(0.5 * s)
}

/// log of N(0, e^s) for n coordinates with the given sum of squares.
fn from_squares(n: usize, squares: f64, s: f64) -> f64 {
    -0.5 * (n as f64 * (ln(std::f64::consts::TAU) + s) + exp(-s) * squares)
}

fn sum_of_squares(x: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for chunk in x.chunks(8) {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += x * x;
        }
    }
    sums.iter().sum()
}

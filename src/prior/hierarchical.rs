//! N(0, e^s) for every coordinate of a block, with s = log variance a parameter itself: one for the
//! whole block, or n of them, of which coordinate i has s_(i mod n), as the columns of a matrix with
//! n columns.

use crate::curvature::Curvature;
use crate::portable::{exp, ln};
use crate::rng::ChainRng;

/// log p(x | s).
pub(super) fn log_density(x: &[f64], s: &[f64]) -> f64 {
    let n = s.len();
    let of_column =
        |(j, s): (usize, &f64)| from_squares(x.len() / n, sum_of_squares(column(x, j, n)), *s);
    s.iter().enumerate().map(of_column).sum()
}

/// Adds d / d x to `grad` and d / d s to `d_s`, and returns log p(x | s).
pub(super) fn add_grad(x: &[f64], s: &[f64], grad: &mut [f64], d_s: &mut [f64]) -> f64 {
    let (n, len) = (s.len(), x.len() / s.len());
    let mut log_density = 0.0;
    for (j, (s, d_s)) in s.iter().zip(d_s).enumerate() {
        let (squares, precision) = (sum_of_squares(column(x, j, n)), exp(-s));
        for (grad, x) in grad.iter_mut().skip(j).step_by(n).zip(column(x, j, n)) {
            *grad -= precision * x;
        }
        *d_s += 0.5 * (precision * squares - len as f64); //~ hierarchical-gradient
        log_density += from_squares(len, squares, *s);
    }
    log_density
}

/// Adds the product of the Hessian in (x, s) with (v, v_s) to `hv` and `hv_s`.
pub(super) fn add_hessian_product(
    curvature: Curvature,
    (x, s): (&[f64], &[f64]),
    (v, v_s): (&[f64], &[f64]),
    (hv, hv_s): (&mut [f64], &mut [f64]),
) {
    let n = s.len();
    for (j, hv_s) in hv_s.iter_mut().enumerate() {
        let (precision, v_s) = (exp(-s[j]), v_s[j]);
        let hv = hv.iter_mut().skip(j).step_by(n);
        let mut cross = 0.0;
        for ((hv, x), v) in hv.zip(column(x, j, n)).zip(column(v, j, n)) {
            *hv -= precision * v;
            if curvature == Curvature::Observed {
                *hv += precision * x * v_s;
                cross += x * v;
            }
        }
        *hv_s += match curvature {
            Curvature::Observed => {
                precision * (cross - 0.5 * sum_of_squares(column(x, j, n)) * v_s)
            }
            Curvature::Expected => -0.5 * (x.len() / n) as f64 * v_s,
        };
    }
}

/// Draws x given s.
pub(super) fn draw(s: &[f64], rng: &mut ChainRng, x: &mut [f64]) {
    for row in x.chunks_exact_mut(s.len()) {
        row.iter_mut().zip(s).for_each(|(x, s)| *x = sd(*s) * rng.normal());
    }
}

/// The standard deviation e^(s/2).
pub(super) fn sd(s: f64) -> f64 {
    exp(0.5 * s)
}

/// Column `j` of `n`.
fn column(x: &[f64], j: usize, n: usize) -> impl Iterator<Item = &f64> {
    x.iter().skip(j).step_by(n)
}

/// log of N(0, e^s) for n coordinates with the given sum of squares.
fn from_squares(n: usize, squares: f64, s: f64) -> f64 {
    //~ hierarchical-constant
    -0.5 * (n as f64 * (ln(std::f64::consts::TAU) + s) + exp(-s) * squares)
}

/// The sum of squares, in eight partial sums.
fn sum_of_squares<'a>(x: impl Iterator<Item = &'a f64>) -> f64 {
    let mut sums = [0.0; 8];
    for (i, x) in x.enumerate() {
        sums[i % 8] += x * x;
    }
    sums.iter().sum()
}

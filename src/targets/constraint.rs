//! Constraints on the parameters of a density, and the maps from free numbers that keep them.
//!
//! A sampler walks on all real numbers. A block of parameters theta that must stay positive, in order or add up to 1 is
//! therefore a smooth function theta = T(x) of free numbers x, and x has the density of theta times the volume
//! that T makes of a unit of x:
//!
//! ```text
//! log p(x) = log p(theta) + log |det dT/dx|
//! ```
//!
//! With s(x) = 1 / (1 + e^-x), K numbers in a row of the block, and r_k what is left of 1 after the first k of them:
//!
//! | constraint | theta | log of the volume |
//! | --- | --- | --- |
//! | [`Positive`](Constraint::Positive) | e^x | x |
//! | [`Bounded`](Constraint::Bounded) | a + (b - a) s(x) | log(b - a) + log s(x) + log s(-x) |
//! | [`Ordered`](Constraint::Ordered) | theta_1 = x_1, theta_k = theta_{k-1} + e^{x_k} | the sum of x_2 .. x_K |
//! | [`PositiveOrdered`](Constraint::PositiveOrdered) | theta_1 = e^{x_1}, theta_k = theta_{k-1} + e^{x_k} | the sum of x_1 .. x_K |
//! | [`Simplex`](Constraint::Simplex) | theta_k = r_{k-1} z_k, z_k = s(x_k - log(K - k)), theta_K = r_{K-1} | the sum over k < K of log r_{k-1} + log z_k + log(1 - z_k) |
//!
//! A simplex of K numbers has K - 1 free ones; its density is one of its first K - 1 numbers, and x = 0 is the simplex
//! of equal numbers. Source: the Stan reference manual, chapter "Constraint transforms"
//! (Carpenter and others, Journal of Statistical Software 76, 2017, doi:10.18637/jss.v076.i01).

use crate::Error;
use crate::layout::Block;
use crate::portable::{exp, ln, ln_1p};

/// What the numbers of a block of parameters must keep to; of arrays, each row for itself, a row being what the last index
/// counts. See [`Constrained`](super::Constrained).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// Each number is above 0.
    Positive,
    /// Each number is between two bounds.
    Bounded {
        /// The lower bound.
        lower: f64,
        /// The upper bound.
        upper: f64,
    },
    /// Each number of a row is above the one before.
    Ordered,
    /// Each number of a row is above the one before, and the first is above 0.
    PositiveOrdered,
    /// The numbers of a row are above 0 and add up to 1.
    Simplex,
}

/// 1 / (1 + e^-x).
fn sigmoid(x: f64) -> f64 {
    // Of a large -x e^-x is infinite, and the quotient 0.
    1.0 / (1.0 + exp(-x))
}

/// log s(x), without underflow.
fn log_sigmoid(x: f64) -> f64 {
    x.min(0.0) - ln_1p(exp(-x.abs()))
}

impl Constraint {
    /// The name of the free numbers of the block `name`.
    pub(super) fn free_name(&self, name: &str) -> String {
        match self {
            Self::Positive => format!("log_{name}"),
            Self::Bounded { .. } => format!("logit_{name}"),
            _ => format!("free_{name}"),
        }
    }

    /// The length of a row of free numbers, of a row of `n` constrained ones.
    pub(super) fn free(&self, n: usize) -> usize {
        if *self == Self::Simplex { n - 1 } else { n }
    }

    /// The length of a row of the block, 1 where rows make no difference.
    pub(super) fn row(&self, block: &Block) -> Result<usize, Error> {
        let (row, least) = match self {
            Self::Positive => return Ok(1),
            Self::Bounded { lower, upper } => {
                if !(lower < upper && (upper - lower).is_finite()) {
                    let what = format!("bounds of `{}`", block.name);
                    let found = format!("{lower} and {upper}");
                    return Err(Error::argument(what, found, "finite numbers in rising order"));
                }
                return Ok(1);
            }
            Self::Ordered | Self::PositiveOrdered => (block.shape.last(), 1),
            Self::Simplex => (block.shape.last(), 2),
        };
        match row {
            Some(&row) if row >= least => Ok(row),
            _ => {
                let what = format!("shape of `{}`", block.name);
                let allowed = format!("at least {least} numbers along the last index");
                Err(Error::argument(what, format!("{:?}", block.shape), allowed))
            }
        }
    }

    /// Writes theta = T(x) of one row; returns log |det dT/dx|.
    pub(super) fn constrain(&self, x: &[f64], theta: &mut [f64]) -> f64 {
        match *self {
            Self::Positive => {
                theta[0] = exp(x[0]);
                x[0] //~ constraint-positive
            }
            Self::Bounded { lower, upper } => {
                let width = upper - lower;
                // From the nearer bound, so that no digit is lost beside it.
                theta[0] = match x[0] <= 0.0 {
                    true => lower + width * sigmoid(x[0]),
                    false => upper - width * sigmoid(-x[0]),
                };
                ln(width) + log_sigmoid(x[0]) + log_sigmoid(-x[0]) //~ constraint-bounded
            }
            Self::Ordered => {
                theta[0] = x[0];
                add_steps(x, theta);
                x[1..].iter().sum() //~ constraint-ordered
            }
            Self::PositiveOrdered => {
                theta[0] = exp(x[0]);
                add_steps(x, theta);
                x.iter().sum() //~ constraint-positive-ordered
            }
            Self::Simplex => {
                let (mut log_volume, mut rest, mut log_rest) = (0.0, 1.0, 0.0);
                for (k, x) in x.iter().enumerate() {
                    let x = x - log_left(theta.len(), k);
                    log_volume += log_rest + log_sigmoid(x) + log_sigmoid(-x); //~ constraint-simplex
                    theta[k] = rest * sigmoid(x);
                    rest *= sigmoid(-x);
                    log_rest += log_sigmoid(-x);
                }
                *theta.last_mut().expect("a simplex has two numbers or more") = rest;
                log_volume
            }
        }
    }

    /// Overwrites `grad`, as long as `x`, with the gradient with respect to x of L(T(x)) + log |det dT/dx|, where
    /// `d_theta` is the gradient of L and `theta` = T(x).
    pub(super) fn pull_back(&self, x: &[f64], theta: &[f64], d_theta: &[f64], grad: &mut [f64]) {
        match *self {
            Self::Positive => grad[0] = theta[0] * d_theta[0] + 1.0,
            Self::Bounded { lower, upper } => {
                let (s, t) = (sigmoid(x[0]), sigmoid(-x[0]));
                grad[0] = (upper - lower) * s * t * d_theta[0] + t - s;
            }
            Self::Ordered | Self::PositiveOrdered => {
                // theta_j has the step e^{x_k} in it for every j >= k.
                let mut sum = 0.0;
                for k in (0..x.len()).rev() {
                    sum += d_theta[k];
                    grad[k] = exp(x[k]) * sum + 1.0;
                }
                if *self == Self::Ordered {
                    grad[0] = sum;
                }
            }
            Self::Simplex => {
                // a = r_k d/dr_k of all that comes after the k-th number; with z and r as above, the derivatives
                // by z_k and r_{k-1} have these products, in which nothing is divided by what may be 0.
                let n = theta.len();
                let mut a = d_theta[n - 1] * theta[n - 1];
                for k in (0..n - 1).rev() {
                    let x = x[k] - log_left(n, k);
                    let (z, left) = (sigmoid(x), sigmoid(-x));
                    let own = d_theta[k] * theta[k];
                    grad[k] = left * own - z * a + left - z;
                    a += own + 1.0;
                }
            }
        }
    }

    /// Writes x with T(x) = `theta` of one row; what is wrong with `theta` where there is none.
    pub(super) fn free_of(&self, theta: &[f64], x: &mut [f64]) -> Result<(), &'static str> {
        let rises = || theta.windows(2).all(|pair| pair[0] < pair[1]);
        if !theta.iter().all(|t| t.is_finite()) {
            return Err("finite numbers");
        }
        match *self {
            Self::Positive if theta[0] > 0.0 => x[0] = ln(theta[0]),
            Self::Positive => return Err("a number above 0"),
            Self::Bounded { lower, upper } if lower < theta[0] && theta[0] < upper => {
                x[0] = ln(theta[0] - lower) - ln(upper - theta[0]);
            }
            Self::Bounded { .. } => return Err("a number between the bounds"),
            Self::Ordered if rises() => {
                x[0] = theta[0];
                take_steps(theta, x);
            }
            Self::Ordered => return Err("numbers in rising order"),
            Self::PositiveOrdered if theta[0] > 0.0 && rises() => {
                x[0] = ln(theta[0]);
                take_steps(theta, x);
            }
            Self::PositiveOrdered => return Err("numbers above 0 in rising order"),
            Self::Simplex => {
                let sum: f64 = theta.iter().sum();
                if !(theta.iter().all(|t| *t > 0.0) && (sum - 1.0).abs() < 1e-8) {
                    return Err("numbers above 0 that add up to 1");
                }
                // What is left is added up from the end: a difference to 1 would lose digits.
                let mut rest = theta[theta.len() - 1];
                for (k, x) in x.iter_mut().enumerate().rev() {
                    *x = ln(theta[k]) - ln(rest) + log_left(theta.len(), k);
                    rest += theta[k];
                }
            }
        }
        Ok(())
    }
}

/// log(K - k) of the k-th number of K, counted from 1; `k` counts from 0.
fn log_left(n: usize, k: usize) -> f64 {
    ln((n - k - 1) as f64)
}

/// theta_k = theta_{k-1} + e^{x_k} from the second number on.
fn add_steps(x: &[f64], theta: &mut [f64]) {
    for k in 1..x.len() {
        theta[k] = theta[k - 1] + exp(x[k]);
    }
}

/// The inverse of [`add_steps`].
fn take_steps(theta: &[f64], x: &mut [f64]) {
    for k in 1..x.len() {
        x[k] = ln(theta[k] - theta[k - 1]);
    }
}

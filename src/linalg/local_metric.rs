//! A symmetric positive definite matrix G that belongs to one point, factorised: G = A^T A.
//!
//! - Cholesky: A = R, upper triangular, G = R^T R;
//! - soft absolute value: G = Q diag(s) Q^T with A = diag(sqrt s) Q^T, where Q diag(l) Q^T is any
//!   symmetric matrix and s = l coth(alpha l).
//!
//! With z ~ N(0, I), A^-1 z is a draw of N(0, G^-1), and |A u|^2 = u^T G u. Scratch memory is allocated once.

use super::dot::dot;
use super::{eigen, upper};
use crate::portable::{ln, tanh};

/// The way in which a symmetric matrix is turned into a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Factorisation {
    /// The matrix as it is: it must be positive definite.
    Cholesky,
    /// Each eigenvalue l replaced by l coth(alpha l), which is about abs(l) and at least 1 / alpha.
    SoftAbs {
        /// The sharpness, in units of 1 / l; finite and positive.
        alpha: f64,
    },
}

/// l coth(alpha l): even in l, 1 / alpha at 0, abs(l) for large alpha l.
fn soft_abs(l: f64, alpha: f64) -> f64 {
    let x = (alpha * l).abs();
    // coth x = 1/x + x/3 - x^3/45 + ...
    if x < 1e-3 { (1.0 + x * x / 3.0) / alpha } else { l.abs() / tanh(x) }
}

/// G at one point, with the quantities that a Langevin step needs.
#[derive(Clone, Debug)]
pub(crate) struct LocalMetric {
    /// R, row-major, or the eigenvectors, one after the other.
    factor: Vec<f64>,
    /// sqrt s; empty for Cholesky.
    roots: Vec<f64>,
    direction: Vec<f64>,
    half_log_det: f64,
    is_valid: bool,
}

/// Scratch memory for factorising d x d matrices.
#[derive(Debug)]
pub(crate) struct Factoriser {
    dim: usize,
    kind: Factorisation,
    /// The matrix to factorise, row-major: to be written before each use.
    pub(crate) matrix: Vec<f64>,
    /// Two numbers for each row, for eigenvalues.
    scratch: Vec<f64>,
}

impl Factoriser {
    pub(crate) fn new(dim: usize, kind: Factorisation) -> Self {
        let scratch = vec![0.0; Self::scratch(dim, kind)];
        Self { dim, kind, matrix: vec![0.0; dim * dim], scratch }
    }

    /// The numbers in a factoriser and in two metrics.
    pub(crate) fn numbers(dim: usize, kind: Factorisation) -> usize {
        3 * dim * dim + Self::scratch(dim, kind)
    }

    fn scratch(dim: usize, kind: Factorisation) -> usize {
        if kind == Factorisation::Cholesky { 0 } else { 2 * dim }
    }

    /// Factorises [`matrix`](Self::matrix) into `metric`, with its direction G^-1 g. A matrix that
    /// cannot be factorised leaves a metric that is not valid.
    pub(crate) fn factorise(&mut self, g: &[f64], metric: &mut LocalMetric) {
        self.factorise_alone(metric);
        let mut direction = std::mem::take(&mut metric.direction);
        direction.resize(self.dim, 0.0); // allocates once, at first use
        if metric.is_valid {
            metric.solve(g, &mut direction);
        }
        metric.direction = direction;
    }

    /// Factorises like [`factorise`](Self::factorise), without a direction.
    pub(crate) fn factorise_alone(&mut self, metric: &mut LocalMetric) {
        metric.factor.resize(self.dim * self.dim, 0.0); // allocates once, at first use
        let is_finite = self.matrix.iter().all(|x| x.is_finite());
        metric.is_valid = is_finite && self.decompose(metric) && metric.half_log_det.is_finite();
    }

    /// Overwrites `out` by G^-1, of a metric that this factoriser has just factorised by Cholesky and that is
    /// valid. The [matrix](Self::matrix) is scratch memory.
    pub(crate) fn inverse(&mut self, metric: &LocalMetric, out: &mut [f64]) {
        upper::invert(&metric.factor, self.dim, &mut self.matrix, out);
    }

    fn decompose(&mut self, metric: &mut LocalMetric) -> bool {
        metric.factor.copy_from_slice(&self.matrix);
        match self.kind {
            Factorisation::Cholesky => {
                metric.roots.clear();
                let is_factored = upper::factor(&mut metric.factor, self.dim).is_ok();
                let diagonal = metric.factor.iter().step_by(self.dim + 1);
                metric.half_log_det = diagonal.map(|r| ln(*r)).sum();
                is_factored
            }
            Factorisation::SoftAbs { alpha } => {
                metric.roots.resize(self.dim, 0.0);
                let is_decomposed =
                    eigen::decompose(&mut metric.factor, &mut metric.roots, &mut self.scratch);
                metric.roots.iter_mut().for_each(|l| *l = soft_abs(*l, alpha).sqrt());
                metric.half_log_det = metric.roots.iter().map(|root| ln(*root)).sum();
                is_decomposed
            }
        }
    }
}

impl LocalMetric {
    /// An invalid metric without memory.
    pub(crate) fn new() -> Self {
        let (factor, roots, direction) = (Vec::new(), Vec::new(), Vec::new());
        Self { factor, roots, direction, half_log_det: f64::NAN, is_valid: false }
    }

    /// Whether the matrix could be factorised.
    pub(crate) fn is_valid(&self) -> bool {
        self.is_valid
    }

    /// G^-1 g.
    pub(crate) fn direction(&self) -> &[f64] {
        &self.direction
    }

    /// log |G| / 2.
    pub(crate) fn half_log_det(&self) -> f64 {
        self.half_log_det
    }

    /// `out` becomes A^-1 z.
    pub(crate) fn colour(&self, z: &[f64], out: &mut [f64]) {
        if self.roots.is_empty() {
            out.copy_from_slice(z);
            solve_upper(&self.factor, out);
            return;
        }
        out.fill(0.0);
        for ((vector, root), z) in self.factor.chunks_exact(z.len()).zip(&self.roots).zip(z) {
            add_scaled(z / root, vector, out);
        }
    }

    /// `out` becomes G^-1 g.
    pub(crate) fn solve(&self, g: &[f64], out: &mut [f64]) {
        let d = g.len();
        if self.roots.is_empty() {
            // R^T y = g, then R x = y in place.
            out.copy_from_slice(g);
            for (i, row) in self.factor.chunks_exact(d).enumerate() {
                out[i] /= row[i];
                let (y, below) = out[i..].split_first_mut().expect("i < d");
                below.iter_mut().zip(&row[i + 1..]).for_each(|(b, r)| *b -= r * *y);
            }
            solve_upper(&self.factor, out);
        } else {
            out.fill(0.0);
            for (vector, root) in self.factor.chunks_exact(d).zip(&self.roots) {
                add_scaled(dot::<8>(vector, g) / (*root * *root), vector, out);
            }
        }
    }

    /// u^T G u.
    pub(crate) fn squared_length(&self, u: &[f64]) -> f64 {
        let rows = self.factor.chunks_exact(u.len());
        if self.roots.is_empty() {
            rows.enumerate().map(|(i, row)| dot::<8>(&row[i..], &u[i..]).powi(2)).sum()
        } else {
            rows.zip(&self.roots).map(|(row, root)| (root * dot::<8>(row, u)).powi(2)).sum()
        }
    }
}

/// x becomes R^-1 x.
fn solve_upper(upper: &[f64], x: &mut [f64]) {
    for (i, row) in upper.chunks_exact(x.len()).enumerate().rev() {
        x[i] = (x[i] - dot::<8>(&row[i + 1..], &x[i + 1..])) / row[i];
    }
}

fn add_scaled(factor: f64, x: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out += factor * x);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::ChainRng;

    fn symmetric(d: usize, shift: f64) -> Vec<f64> {
        let mut rng = ChainRng::new(7, d as u64);
        let mut b = vec![0.0; d * d];
        rng.fill_normal(&mut b);
        let mut a = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..d {
                a[i * d + j] = 0.5 * (b[i * d + j] + b[j * d + i]);
            }
            a[i * d + i] += shift;
        }
        a
    }

    /// G, column by column, from squared lengths alone.
    fn dense(metric: &LocalMetric, d: usize) -> Vec<f64> {
        let mut u = vec![0.0; d];
        let mut length = |i: usize, j: usize| {
            u.fill(0.0);
            u[i] += 1.0;
            u[j] += 1.0;
            metric.squared_length(&u)
        };
        let mut out = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..d {
                let (ii, jj) = (length(i, i) / 4.0, length(j, j) / 4.0);
                out[i * d + j] = if i == j { ii } else { 0.5 * (length(i, j) - ii - jj) };
            }
        }
        out
    }

    #[test]
    fn parts_belong_to_one_matrix() {
        for d in [1, 2, 3, 9, 40, 150] {
            for kind in [Factorisation::Cholesky, Factorisation::SoftAbs { alpha: 1e6 }] {
                // Eigenvalues are within 2 sqrt(d) of the shift; without it they have both signs.
                let positive = symmetric(d, 3.0 * (d as f64).sqrt() + 3.0);
                let mut factoriser = Factoriser::new(d, kind);
                factoriser.matrix.copy_from_slice(&positive);
                let (mut metric, mut rng) = (LocalMetric::new(), ChainRng::new(1, 0));
                let (mut g, mut z) = (vec![0.0; d], vec![0.0; d]);
                rng.fill_normal(&mut g);
                rng.fill_normal(&mut z);
                factoriser.factorise(&g, &mut metric);
                assert!(metric.is_valid());
                let scale = positive.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                for (found, expected) in dense(&metric, d).iter().zip(&positive) {
                    assert!((found - expected).abs() < 1e-12 * scale * d as f64, "{kind:?} {d}");
                }
                for i in 0..d {
                    let product = dot::<8>(&positive[i * d..(i + 1) * d], metric.direction());
                    assert!((product - g[i]).abs() < 1e-11, "{kind:?} {d}: {product} {}", g[i]);
                }
                let mut x = vec![0.0; d];
                metric.colour(&z, &mut x);
                let (length, expected) = (metric.squared_length(&x), dot::<8>(&z, &z));
                assert!((length / expected - 1.0).abs() < 1e-12, "{kind:?} {d}");
                if kind == Factorisation::Cholesky {
                    let mut inverse = vec![f64::NAN; d * d];
                    factoriser.inverse(&metric, &mut inverse);
                    for (i, row) in positive.chunks_exact(d).enumerate() {
                        for (j, column) in inverse.chunks_exact(d).enumerate() {
                            let unit = if i == j { 1.0 } else { 0.0 };
                            assert!((dot::<8>(row, column) - unit).abs() < 1e-12, "{d}: {i}, {j}");
                        }
                    }
                }
                if d == 2 {
                    let det = positive[0] * positive[3] - positive[1] * positive[2];
                    assert!((2.0 * metric.half_log_det() - det.ln()).abs() < 1e-13, "{kind:?}");
                }
            }
        }
    }

    #[test]
    fn soft_absolute_values() {
        // l coth(alpha l) by mpmath 1.3 with 30 digits.
        for (l, alpha, expected) in [
            (0.5, 2.0, 0.656_517_642_749_665_7),
            (-0.5, 2.0, 0.656_517_642_749_665_7),
            (1e-3, 1.0, 1.000_000_333_333_311_1),
            (2e-3, 1.0, 1.000_001_333_332_977_8),
            (1e-9, 1e3, 1.000_000_000_000_333_3e-3),
            (0.0, 1e6, 1e-6),
            (700.0, 1e6, 700.0),
            (-1e300, 1e300, 1e300),
        ] {
            let found = soft_abs(l, alpha);
            assert!((found / expected - 1.0).abs() < 1e-13, "{l} {alpha}: {found}");
        }
        // Of a matrix with eigenvalues 3 and -1: the metric has 3 coth(3 a) and coth(a).
        let alpha: f64 = 0.7;
        let mut factoriser = Factoriser::new(2, Factorisation::SoftAbs { alpha });
        factoriser.matrix.copy_from_slice(&[1.0, 2.0, 2.0, 1.0]);
        let mut metric = LocalMetric::new();
        factoriser.factorise(&[1.0, 1.0], &mut metric);
        let (high, low) = (3.0 / (3.0 * alpha).tanh(), 1.0 / alpha.tanh());
        let g = dense(&metric, 2);
        assert!(
            (g[0] - 0.5 * (high + low)).abs() < 1e-14 && (g[1] - 0.5 * (high - low)).abs() < 1e-14
        );
        assert!((metric.direction()[0] - 1.0 / high).abs() < 1e-14);
    }

    #[test]
    fn what_cannot_be_factorised_is_not_valid() {
        let valid = |kind, matrix: [f64; 4]| {
            let (mut factoriser, mut metric) = (Factoriser::new(2, kind), LocalMetric::new());
            factoriser.matrix.copy_from_slice(&matrix);
            factoriser.factorise(&[1.0, 1.0], &mut metric);
            metric.is_valid()
        };
        let soft = Factorisation::SoftAbs { alpha: 10.0 };
        assert!(!valid(Factorisation::Cholesky, [1.0, 2.0, 2.0, 1.0]));
        assert!(!valid(Factorisation::Cholesky, [0.0; 4]));
        assert!(valid(soft, [0.0; 4]) && valid(soft, [1.0, 2.0, 2.0, 1.0]));
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(!valid(soft, [bad, 0.0, 0.0, 1.0]));
            assert!(!valid(Factorisation::Cholesky, [1.0, bad, bad, 1.0]));
        }
    }
}

//! Cholesky factors of dense matrices: A = L L^T, L lower triangular.

use serde::{Deserialize, Serialize};

use super::upper;
use super::vectors::dot;
use crate::Error;
use crate::engine::simd::{Real, Vector};

/// The lower factor L of a symmetric positive definite matrix A = L L^T.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cholesky {
    dim: usize,
    /// Row-major; zero above the diagonal.
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factorises `a` `[dim x dim]`, row-major, reading its lower triangle. `name` is the name of
    /// the matrix in errors.
    pub(crate) fn new(name: &str, a: &[f64], dim: usize) -> Result<Self, Error> {
        if a.len() != dim * dim {
            return Err(Error::shape(format!("length of `{name}`"), a.len(), dim * dim));
        }
        let allowed = "symmetric positive definite, with finite entries";
        if let Some(i) = a.iter().position(|v| !v.is_finite()) {
            let value = format!("{} in row {}, column {}", a[i], i / dim, i % dim);
            return Err(Error::argument(name, value, allowed));
        }
        let not_definite = |pivot: usize| {
            let value = format!("not positive definite (pivot {pivot} of {dim} is not positive)");
            Error::argument(name, value, allowed)
        };
        // R = L^T.
        let (mut r, mut lower) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
        for i in 0..dim {
            (0..=i).for_each(|j| r[j * dim + i] = a[i * dim + j]);
        }
        upper::factor(&mut r, dim).map_err(not_definite)?;
        for i in 0..dim {
            (0..=i).for_each(|j| lower[i * dim + j] = r[j * dim + i]);
        }
        Ok(Self { dim, lower })
    }

    /// The number of rows.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// L, row-major, zero above the diagonal.
    pub(crate) fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// `out` becomes L z. With z ~ N(0, I) this is a draw of N(0, A).
    pub(crate) fn mul_lower(&self, z: &[f64], out: &mut [f64]) {
        assert!(z.len() == self.dim && out.len() == self.dim);
        mul_lower(&self.lower, z, out);
    }

    /// `out` becomes L^T g.
    pub(crate) fn mul_lower_transpose(&self, g: &[f64], out: &mut [f64]) {
        assert!(g.len() == self.dim && out.len() == self.dim);
        mul_lower_transpose(&self.lower, g, out);
    }

    /// `b` becomes L^-1 b.
    pub(crate) fn solve_lower(&self, b: &mut [f64]) {
        assert!(b.len() == self.dim);
        solve_lower(&self.lower, b);
    }

    /// `b` becomes L^-T b.
    pub(crate) fn solve_lower_transpose(&self, b: &mut [f64]) {
        assert!(b.len() == self.dim);
        for (i, row) in self.lower.chunks_exact(self.dim).enumerate().rev() {
            let (before, rest) = b.split_at_mut(i);
            rest[0] /= row[i];
            for (b, l) in before.iter_mut().zip(row) {
                *b -= l * rest[0];
            }
        }
    }
}

dispatch! {
    fn mul_lower(lower: &[f64], z: &[f64], out: &mut [f64]) => mul_lower_body
}
dispatch! {
    fn mul_lower_transpose(lower: &[f64], g: &[f64], out: &mut [f64]) => mul_lower_transpose_body
}

dispatch! {
    fn solve_lower(lower: &[f64], b: &mut [f64]) => solve_lower_body
}

#[inline(always)]
fn mul_lower_body<V: Vector<f64>>(level: V::Level, lower: &[f64], z: &[f64], out: &mut [f64]) {
    for (i, (out, row)) in out.iter_mut().zip(lower.chunks_exact(z.len())).enumerate() {
        *out = dot::<V>(level, &row[..=i], &z[..=i]);
    }
}

#[inline(always)]
fn mul_lower_transpose_body<V: Vector<f64>>(
    _: V::Level,
    lower: &[f64],
    g: &[f64],
    out: &mut [f64],
) {
    out.fill(0.0);
    for (i, (g, row)) in g.iter().zip(lower.chunks_exact(g.len())).enumerate() {
        for (out, l) in out[..=i].iter_mut().zip(row) {
            *out = f64::multiply_add::<V::Level>(*g, *l, *out);
        }
    }
}

#[inline(always)]
fn solve_lower_body<V: Vector<f64>>(level: V::Level, lower: &[f64], b: &mut [f64]) {
    for (i, row) in lower.chunks_exact(b.len()).enumerate() {
        b[i] = (b[i] - dot::<V>(level, &row[..i], &b[..i])) / row[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::simd::testing::at_every_level;
    use crate::error::checks::fails;
    use crate::rng::ChainRng;

    /// B B^T + I for a random B, and a random vector.
    fn problem(dim: usize) -> (Vec<f64>, Vec<f64>) {
        let mut rng = ChainRng::new(5, dim as u64);
        let (mut b, mut z) = (vec![0.0; dim * dim], vec![0.0; dim]);
        rng.fill_normal(&mut b);
        rng.fill_normal(&mut z);
        let mut a = vec![0.0; dim * dim];
        for i in 0..dim {
            for j in 0..dim {
                a[i * dim + j] = (0..dim).map(|k| b[i * dim + k] * b[j * dim + k]).sum();
            }
            a[i * dim + i] += 1.0;
        }
        (a, z)
    }

    #[test]
    fn factor_times_its_transpose_is_the_matrix_at_every_level() {
        for dim in [1, 2, 7, 27, 62, 100] {
            let (a, z) = problem(dim);
            let factor = Cholesky::new("covariance", &a, dim).unwrap();
            at_every_level(|level| {
                let (mut u, mut az, mut lz) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
                factor.mul_lower_transpose(&z, &mut u);
                factor.mul_lower(&u, &mut az);
                factor.mul_lower(&z, &mut lz);
                let mut solved = lz.clone();
                factor.solve_lower(&mut solved);
                for (x, z) in solved.iter().zip(&z) {
                    assert!((x - z).abs() < 1e-10 * (1.0 + z.abs()), "{level:?} {dim}");
                }
                for i in 0..dim {
                    let expected: f64 = (0..dim).map(|j| a[i * dim + j] * z[j]).sum();
                    let scale: f64 = (0..dim).map(|j| (a[i * dim + j] * z[j]).abs()).sum();
                    assert!((az[i] - expected).abs() < 1e-13 * scale, "{level:?} {dim}");
                    let naive: f64 = (0..=i).map(|j| factor.lower()[i * dim + j] * z[j]).sum();
                    assert!((lz[i] - naive).abs() < 1e-12 * (1.0 + naive.abs()), "{level:?} {dim}");
                }
            });
        }
    }

    #[test]
    fn what_is_not_positive_definite_is_an_error_that_says_so() {
        let of = |a: &[f64], dim| Cholesky::new("covariance", a, dim);
        let name = "covariance";
        let not = |pivot: &str| format!("not positive definite (pivot {pivot} is not positive)");
        fails!(of(&[1.0, 2.0, 2.0, 1.0], 2), Argument { name: name, value: not("1 of 2") });
        fails!(of(&[0.0], 1), Argument { name: name, value: not("0 of 1") });
        let value = "NaN in row 1, column 0";
        fails!(of(&[1.0, 0.0, f64::NAN, 1.0], 2), Argument { name: name, value: value });
        fails!(of(&[1.0; 3], 2), Shape { found: 3, expected: 4 });
    }
}

//! Eigenvalues and eigenvectors of symmetric matrices, by faer.

use faer::{MatRef, Side};
use ndarray::Array2;

use crate::Error;

/// A = U diag(l) U^T.
#[derive(Clone, Debug)]
pub(crate) struct SymmetricEigen {
    /// l, ascending.
    pub(crate) values: Vec<f64>,
    /// U `[dim x dim]`, an eigenvector in each column.
    pub(crate) vectors: Array2<f64>,
}

impl SymmetricEigen {
    /// Decomposes `a` `[dim x dim]`, row-major, reading its lower triangle. `name` is the name of
    /// the matrix in errors.
    pub(crate) fn new(name: &str, a: &[f64], dim: usize) -> Result<Self, Error> {
        if let Some(i) = a.iter().position(|v| !v.is_finite()) {
            let value = format!("{} in row {}, column {}", a[i], i / dim, i % dim);
            return Err(Error::argument(name, value, "finite in all entries"));
        }
        let a = MatRef::from_row_major_slice(a, dim, dim);
        let eigen = a.self_adjoint_eigen(Side::Lower).map_err(|_| {
            let value = "such that its eigenvalues are not found";
            Error::argument(name, value, "of moderate scale")
        })?;
        Ok(Self {
            values: (0..dim).map(|k| eigen.S()[k]).collect(),
            vectors: Array2::from_shape_fn((dim, dim), |at| eigen.U()[at]),
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::rng::ChainRng;

    #[test]
    fn vectors_are_orthogonal_and_multiply_to_the_matrix() {
        let mut rng = ChainRng::new(1, 0);
        for dim in [1, 2, 7, 40] {
            let b = Array2::from_shape_fn((dim, dim), |_| rng.normal());
            let a = &b + &b.t();
            let flat: Vec<f64> = a.iter().copied().collect();
            let eigen = SymmetricEigen::new("a", &flat, dim).unwrap();
            assert!(eigen.values.is_sorted());
            let u = &eigen.vectors;
            let product = (u * &Array1::from(eigen.values.clone())).dot(&u.t());
            let largest = eigen.values.iter().fold(0.0, |m: f64, l| m.max(l.abs()));
            assert!((product - a).iter().all(|e| e.abs() < 1e-13 * dim as f64 * largest), "{dim}");
            let gram = u.t().dot(u) - Array2::<f64>::eye(dim);
            assert!(gram.iter().all(|e| e.abs() < 1e-13 * dim as f64), "{dim}");
        }
    }

    #[test]
    fn entries_that_are_not_finite_are_named() {
        let error = SymmetricEigen::new("a", &[1.0, 0.0, f64::NAN, 1.0], 2).unwrap_err();
        assert!(error.to_string().contains("`a` is NaN in row 1, column 0"), "{error}");
    }
}

//! Singular value decompositions, by faer.

use faer::Mat;
use ndarray::{Array2, ArrayView2};

use crate::Error;

/// A `[m x d]` = U diag(s) V^T, with all d right singular vectors, also where m < d.
#[derive(Clone, Debug)]
pub(crate) struct Svd {
    /// U `[m x d]`. Where m < d, A is decomposed with d - m rows of zeros below it, and these rows
    /// of U are dropped.
    pub(crate) left: Array2<f64>,
    /// s, descending, d of them. Those up to max(m, d) times the rounding unit of the first are
    /// exactly 0.
    pub(crate) values: Vec<f64>,
    /// V `[d x d]`.
    pub(crate) right: Array2<f64>,
}

impl Svd {
    /// Decomposes `a`. `name` is the name of the matrix in errors.
    pub(crate) fn new(name: &str, a: ArrayView2<f64>) -> Result<Self, Error> {
        let (m, d) = a.dim();
        if let Some(((i, j), v)) = a.indexed_iter().find(|(_, v)| !v.is_finite()) {
            let value = format!("{v} in row {i}, column {j}");
            return Err(Error::argument(name, value, "finite in all entries"));
        }
        let padded = Mat::from_fn(m.max(d), d, |i, j| if i < m { a[(i, j)] } else { 0.0 });
        let svd = padded.thin_svd().map_err(|_| {
            Error::argument(name, "such that its SVD does not converge", "of moderate scale")
        })?;
        let zero = m.max(d) as f64 * f64::EPSILON * if d > 0 { svd.S()[0] } else { 0.0 };
        let values = (0..d).map(|k| svd.S()[k]).map(|s| if s > zero { s } else { 0.0 });
        Ok(Self {
            left: Array2::from_shape_fn((m, d), |at| svd.U()[at]),
            values: values.collect(),
            right: Array2::from_shape_fn((d, d), |at| svd.V()[at]),
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::rng::ChainRng;

    #[test]
    fn factors_multiply_to_the_matrix_and_are_orthogonal() {
        let mut rng = ChainRng::new(1, 0);
        for (m, d, rank) in [(1, 1, 1), (9, 4, 4), (9, 4, 2), (3, 7, 3), (3, 7, 1), (200, 20, 20)] {
            let mut normals = |m, d| Array2::from_shape_fn((m, d), |_| rng.normal());
            let a = normals(m, rank).dot(&normals(rank, d));
            let svd = Svd::new("a", a.view()).unwrap();
            let s = Array1::from(svd.values.clone());
            let product = (&svd.left * &s).dot(&svd.right.t());
            let error = (product - &a).mapv(f64::abs).fold(0.0, |m: f64, e| m.max(*e));
            assert!(error < 1e-14 * svd.values[0], "{m} x {d}: {error}");
            let gram = svd.right.t().dot(&svd.right) - Array2::<f64>::eye(d);
            assert!(gram.iter().all(|e| e.abs() < 1e-14 * d as f64), "{m} x {d}");
            assert_eq!(svd.values.iter().filter(|s| **s > 0.0).count(), rank, "{m} x {d}");
        }
    }

    #[test]
    fn entries_that_are_not_finite_are_named() {
        let a = ndarray::array![[1.0, 2.0], [3.0, f64::NAN]];
        let error = Svd::new("design", a.view()).unwrap_err().to_string();
        assert!(error.contains("`design` is NaN in row 1, column 1"), "{error}");
    }
}

//! Eigenvalues of symmetric matrices, by faer.

use faer::{Mat, Side};

use crate::Error;

/// Eigenvalues (ascending) and eigenvectors of the symmetric `n x n` row-major `matrix`.
///
/// Eigenvector k is `vectors[k * n..(k + 1) * n]`.
pub(crate) fn symmetric_eigen(matrix: &[f64], n: usize) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let matrix = Mat::from_fn(n, n, |i, j| matrix[i * n + j]);
    let eigen = matrix.self_adjoint_eigen(Side::Lower).map_err(|_| {
        Error::argument("matrix", "without a finite eigendecomposition", "symmetric and finite")
    })?;
    let values = (0..n).map(|k| eigen.S()[k]).collect();
    let vectors = (0..n).flat_map(|k| (0..n).map(move |i| (i, k))).map(|(i, k)| eigen.U()[(i, k)]);
    Ok((values, vectors.collect()))
}

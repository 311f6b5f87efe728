//! The geometric mean of a symmetric positive definite matrix A and the inverse of another one, B: the symmetric positive definite M with
//!
//! ```text
//! M B M = A,    M = L^-T (L^T A L)^(1/2) L^-1,    B = L L^T
//! ```
//!
//! since L^-T S L^-1 (L L^T) L^-T S L^-1 = L^-T S^2 L^-1 = A for S^2 = L^T A L. There is no other one. Source: Bhatia, Positive Definite Matrices
//! (2007), section 4.1 (A # B^-1 there).

use super::cholesky::Cholesky;
use super::eigen::SymmetricEigen;
use crate::Error;

/// M for `a` and `b` `[dim x dim]`, row-major and symmetric.
///
/// Errors: a matrix that is not positive definite, or not finite.
pub(crate) fn geometric_mean(a: &[f64], b: &[f64], dim: usize) -> Result<Vec<f64>, Error> {
    let lower = Cholesky::new("B", b, dim)?;
    // The rows of A L, and then of L^T A L, which is symmetric.
    let (mut al, mut s) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
    for (row, out) in a.chunks_exact(dim).zip(al.chunks_exact_mut(dim)) {
        lower.mul_lower_transpose(row, out);
    }
    for (j, out) in s.chunks_exact_mut(dim).enumerate() {
        let column: Vec<f64> = al.iter().skip(j).step_by(dim).copied().collect();
        lower.mul_lower_transpose(&column, out);
    }
    let eigen = SymmetricEigen::new("A", &s, dim)?;
    if let Some(least) = eigen.values.first().filter(|least| **least <= 0.0) {
        return Err(Error::argument("A", format!("of an eigenvalue {least}"), "positive definite"));
    }
    // M = sum of y y^T, y = l^(1/4) L^-T u.
    let mut mean = vec![0.0; dim * dim];
    for (value, vector) in eigen.values.iter().zip(eigen.vectors.columns()) {
        let factor = value.sqrt().sqrt();
        let mut y: Vec<f64> = vector.iter().map(|u| factor * u).collect();
        lower.solve_lower_transpose(&mut y);
        for (i, row) in mean.chunks_exact_mut(dim).enumerate() {
            row.iter_mut().zip(&y).for_each(|(m, x)| *m += y[i] * x); //~ geometric-mean
        }
    }
    Ok(mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::ChainRng;
    use ndarray::Array2;

    /// A random matrix times its transpose.
    fn positive(dim: usize, rng: &mut ChainRng) -> Array2<f64> {
        let x = Array2::from_shape_fn((dim, dim + 1), |_| rng.normal());
        x.dot(&x.t())
    }

    #[test]
    fn solves_its_equation_and_is_symmetric() {
        let mut rng = ChainRng::new(5, 0);
        for dim in [1, 2, 3, 10, 40] {
            let [a, b] = [(); 2].map(|()| positive(dim, &mut rng));
            let mean = geometric_mean(a.as_slice().unwrap(), b.as_slice().unwrap(), dim).unwrap();
            let mean = Array2::from_shape_vec((dim, dim), mean).unwrap();
            let largest = a.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let error = (mean.dot(&b).dot(&mean) - &a).mapv(f64::abs);
            assert!(error.iter().all(|e| *e < 1e-8 * largest), "{dim}: {error}");
            assert!((&mean - &mean.t()).iter().all(|e| e.abs() < 1e-10 * largest));
        }
    }

    #[test]
    fn matrices_that_are_not_positive_definite_are_refused() {
        let (fine, not) = ([1.0, 0.0, 0.0, 1.0], [1.0, 2.0, 2.0, 1.0]);
        assert!(geometric_mean(&fine, &not, 2).is_err());
        assert!(geometric_mean(&not, &fine, 2).is_err());
        assert!(geometric_mean(&[f64::NAN, 0.0, 0.0, 1.0], &fine, 2).is_err());
    }
}

//! Singular value decompositions, by one-sided Jacobi rotations.
//!
//! The columns of A V are rotated in pairs, and with them the columns of V, until all are orthogonal: then their
//! lengths are the singular values. It is meant for matrices of up to some hundred columns. Source: Demmel and Veselic (1992),
//! <https://doi.org/10.1137/0613074>.

use ndarray::{Array2, ArrayView2, s};

use super::vectors::{dot, power_of_two, rotate};
use crate::Error;
use crate::engine::simd::Vector;
use crate::order::largest_first;

/// Sweeps over all pairs of columns; six to ten are usual.
const SWEEPS: usize = 60;

/// A `[m x d]` = U diag(s) V^T, with all d right singular vectors, also where m < d.
#[derive(Clone, Debug)]
pub(crate) struct Svd {
    /// U `[m x d]`; columns of zeros belong to singular values that are 0.
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
        // A column of A V and one of V in each row.
        let mut rows = Array2::zeros((d, m + d));
        let transposed = a.t().as_standard_layout().into_owned();
        let scale = power_of_two(transposed.as_slice().expect("in standard order"));
        rows.slice_mut(s![.., ..m]).assign(&(transposed / scale));
        rows.slice_mut(s![.., m..]).diag_mut().fill(1.0);
        let flat = rows.as_slice_mut().expect("a new array is in standard order");
        if d > 0 && !orthogonalise(flat, m, d) {
            let value = "such that its SVD does not converge";
            return Err(Error::argument(name, value, "of moderate scale"));
        }
        let lengths: Vec<f64> = rows
            .outer_iter()
            .map(|row| row.slice(s![..m]).dot(&row.slice(s![..m])).sqrt())
            .collect();
        let mut order: Vec<usize> = (0..d).collect();
        largest_first(&mut order, &|i| lengths[i]);
        let zero = unit(m, d) * order.first().map_or(0.0, |i| lengths[*i]);
        let values: Vec<f64> =
            order.iter().map(|i| if lengths[*i] > zero { lengths[*i] } else { 0.0 }).collect();
        let left = |(i, k): (usize, usize)| {
            if values[k] > 0.0 { rows[(order[k], i)] / values[k] } else { 0.0 }
        };
        Ok(Self {
            left: Array2::from_shape_fn((m, d), left),
            right: Array2::from_shape_fn((d, d), |(j, k)| rows[(order[k], m + j)]),
            values: values.into_iter().map(|s| s * scale).collect(),
        })
    }
}

/// The rounding unit of singular values, in parts of the largest.
fn unit(m: usize, d: usize) -> f64 {
    m.max(d) as f64 * f64::EPSILON
}

dispatch! {
    /// Rotates `rows`, d of length m + d, until their first m numbers are orthogonal. Returns whether they are.
    fn orthogonalise(rows: &mut [f64], m: usize, d: usize) -> bool => orthogonalise_body
}

#[inline(always)]
fn orthogonalise_body<V: Vector<f64>>(
    level: V::Level,
    rows: &mut [f64],
    m: usize,
    d: usize,
) -> bool {
    let tolerance = f64::EPSILON * (m as f64).sqrt();
    let square = |x: &[f64]| dot::<V>(level, &x[..m], &x[..m]);
    let largest = rows.chunks_exact(m + d).map(square).fold(0.0, f64::max);
    // Shorter columns are 0 but for rounding, and have no direction.
    let zero = unit(m, d) * unit(m, d) * largest;
    for _ in 0..SWEEPS {
        let mut is_done = true;
        for q in 1..d {
            let (before, from) = rows.split_at_mut(q * (m + d));
            let y = &mut from[..m + d];
            for x in before.chunks_exact_mut(m + d) {
                let squares = [square(x), square(y)];
                let product = dot::<V>(level, &x[..m], &y[..m]);
                if !product.is_finite() || !(squares[0] + squares[1]).is_finite() {
                    return false;
                }
                let is_zero = squares[0].min(squares[1]) <= zero;
                if is_zero || product.abs() <= tolerance * squares[0].sqrt() * squares[1].sqrt() {
                    continue;
                }
                is_done = false;
                let ratio = (squares[1] - squares[0]) / (2.0 * product);
                let tangent = 1.0 / (ratio + (1.0 + ratio * ratio).sqrt().copysign(ratio));
                let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                rotate::<V>(cosine, tangent * cosine, x, y); //~ jacobi-rotation
            }
        }
        if is_done {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::error::checks::fails;
    use crate::rng::ChainRng;

    #[test]
    fn factors_multiply_to_the_matrix_and_are_orthogonal() {
        let mut rng = ChainRng::new(1, 0);
        for (m, d, rank) in [(1, 1, 1), (9, 4, 4), (9, 4, 2), (3, 7, 3), (3, 7, 1), (200, 20, 20)] {
            let mut normals = |m, d| Array2::from_shape_fn((m, d), |_| rng.normal());
            let a = normals(m, rank).dot(&normals(rank, d));
            for scale in [1.0, 1e-290, 1e-158, 1e-81, 1e77, 1e150, 1e300] {
                let what = format!("{m} x {d} times {scale:e}");
                let svd = Svd::new("a", (&a * scale).view()).unwrap();
                let s = Array1::from(svd.values.clone());
                let product = (&svd.left * &(&s / scale)).dot(&svd.right.t());
                let error = (product - &a).mapv(f64::abs).fold(0.0, |m: f64, e| m.max(*e));
                assert!(error < 1e-14 * s[0] / scale, "{what}: {error}");
                let gram = svd.right.t().dot(&svd.right) - Array2::<f64>::eye(d);
                assert!(gram.iter().all(|e| e.abs() < 1e-14 * d as f64), "{what}");
                assert_eq!(s.iter().filter(|s| **s > 0.0).count(), rank, "{what}");
                let gram = svd.left.t().dot(&svd.left);
                for ((i, j), e) in gram.indexed_iter() {
                    let unit = if i == j && i < rank { 1.0 } else { 0.0 };
                    assert!((e - unit).abs() < 1e-13 * m as f64, "{what}: {i}, {j}: {e}");
                }
            }
        }
    }

    #[test]
    fn entries_that_are_not_finite_are_named() {
        let a = ndarray::array![[1.0, 2.0], [3.0, f64::NAN]];
        let value = "NaN in row 1, column 1";
        fails!(Svd::new("design", a.view()), Argument { name: "design", value: value });
    }
}

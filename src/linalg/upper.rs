//! Cholesky factors in place: A = R^T R, R upper triangular, and A^-1 = R^-1 R^-T.
//!
//! Both go through the matrix in panels of [`PANEL`] rows: within a panel row by row, between panels by products
//! ([`gemm`]). All matrices are `[dim x dim]`, row-major; only the upper triangles of A and R are read.

use super::vectors::add_scaled;
use crate::engine::gemm::{Matrix, gemm};
use crate::engine::simd::{Real, Vector};

/// Rows of a panel.
const PANEL: usize = 32;

fn panels(dim: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    let count = dim.div_ceil(PANEL);
    (0..count).map(move |panel| (panel * PANEL, dim.min((panel + 1) * PANEL)))
}

/// The upper triangle of `a` becomes R. The error is the number of a pivot that is not positive.
pub(super) fn factor(a: &mut [f64], dim: usize) -> Result<(), usize> {
    for (first, end) in panels(dim) {
        let (above, below) = a.split_at_mut(end * dim);
        let panel = &mut above[first * dim..];
        if let Some(pivot) = factor_panel(panel, dim, first) {
            return Err(pivot);
        }
        // The rest becomes A22 - R12^T R12, in its upper triangle.
        for (row, row_end) in panels(dim).skip_while(|next| next.0 < end) {
            let columns = Matrix::rows(&panel[row..], dim);
            let sizes = [row_end - row, dim - row, end - first];
            let rest = &mut below[(row - end) * dim + row..];
            gemm(sizes, -1.0, [columns.transposed(), columns], rest, dim, true); //~ cholesky-rest
        }
    }
    Ok(())
}

/// Overwrites the upper triangle of `inverse` by V = R^-1, and `out` by A^-1 = V V^T, in both triangles. `inverse` is
/// 0 below the diagonal.
pub(super) fn invert(r: &[f64], dim: usize, inverse: &mut [f64], out: &mut [f64]) {
    inverse.fill(0.0);
    for (first, end) in panels(dim).rev() {
        let (above, below) = inverse.split_at_mut(end * dim);
        let panel = &mut above[first * dim..];
        // R11 V12 = -R12 V22, where row j of V22 begins in column j.
        for (column, column_end) in panels(dim).skip_while(|next| next.0 < end) {
            let sizes = [end - first, column_end - column, column_end - end];
            let factors =
                [Matrix::rows(&r[first * dim + end..], dim), Matrix::rows(&below[column..], dim)];
            gemm(sizes, -1.0, factors, &mut panel[column..], dim, false); //~ triangular-inverse
        }
        solve_panel(&r[first * dim..], panel, dim, first);
    }
    let rows = |first: usize, column: usize| Matrix::rows(&inverse[first * dim + column..], dim);
    for (row, row_end) in panels(dim) {
        for (column, column_end) in panels(dim).skip_while(|next| next.0 < row) {
            let sizes = [row_end - row, column_end - column, dim - column];
            let factors = [rows(row, column), rows(column, column).transposed()];
            gemm(sizes, 1.0, factors, &mut out[row * dim + column..], dim, false);
        }
    }
    for i in 0..dim {
        for j in 0..i {
            out[i * dim + j] = out[j * dim + i];
        }
    }
}

dispatch! {
    /// The rows of R from `first` on in `panel`, from which the products with the rows above are subtracted.
    /// Returns a pivot that is not positive.
    fn factor_panel(panel: &mut [f64], dim: usize, first: usize) -> Option<usize> => factor_panel_body
}
dispatch! {
    /// The rows of V from `first` on in `panel`, given -R12 V22 there.
    fn solve_panel(r: &[f64], panel: &mut [f64], dim: usize, first: usize) => solve_panel_body
}

#[inline(always)]
fn factor_panel_body<V: Vector<f64>>(
    _: V::Level,
    panel: &mut [f64],
    dim: usize,
    first: usize,
) -> Option<usize> {
    for i in 0..panel.len() / dim {
        let (above, row) = panel.split_at_mut(i * dim);
        let row = &mut row[first + i..dim];
        let mut factors = [0.0; PANEL];
        let above = above.get(first + i..).unwrap_or_default();
        factors.iter_mut().zip(above.iter().step_by(dim)).for_each(|(f, r)| *f = *r);
        subtract::<V>(&factors[..i], above, dim, row);
        if row[0].is_nan() || row[0] <= 0.0 {
            return Some(first + i);
        }
        let scale = 1.0 / row[0].sqrt();
        row.iter_mut().for_each(|a| *a *= scale);
    }
    None
}

#[inline(always)]
fn solve_panel_body<V: Vector<f64>>(
    _: V::Level,
    r: &[f64],
    panel: &mut [f64],
    dim: usize,
    first: usize,
) {
    for i in (0..panel.len() / dim).rev() {
        let (row, below) = panel[i * dim..].split_at_mut(dim);
        let row = &mut row[first + i..];
        let r = &r[i * dim + first + i..][..1 + below.len() / dim];
        row[0] = 1.0;
        subtract::<V>(&r[1..], below.get(first + i..).unwrap_or_default(), dim, row);
        let scale = 1.0 / r[0];
        row.iter_mut().for_each(|v| *v *= scale);
    }
}

/// Subtracts the combination of rows, `dim` numbers apart, with these factors.
#[inline(always)]
fn subtract<V: Vector<f64>>(factors: &[f64], rows: &[f64], dim: usize, out: &mut [f64]) {
    let (fours, rest) = factors.as_chunks::<4>();
    for (k, f) in fours.iter().enumerate() {
        let row = |j: usize| &rows[(4 * k + j) * dim..][..out.len()];
        let (a, b, c, d) = (row(0), row(1), row(2), row(3));
        for i in 0..out.len() {
            let sum = f64::multiply_add::<V::Level>(-f[0], a[i], out[i]);
            let sum = f64::multiply_add::<V::Level>(-f[1], b[i], sum);
            let sum = f64::multiply_add::<V::Level>(-f[2], c[i], sum);
            out[i] = f64::multiply_add::<V::Level>(-f[3], d[i], sum);
        }
    }
    for (k, f) in rest.iter().enumerate() {
        add_scaled::<V>(-f, &rows[(4 * fours.len() + k) * dim..], out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::simd::testing::at_every_level;
    use crate::rng::ChainRng;

    #[test]
    fn factors_and_inverses_multiply_to_the_matrix_and_to_one_at_every_level() {
        for dim in [1, 2, 5, 31, 32, 33, 64, 101, 300] {
            let mut rng = ChainRng::new(2, dim as u64);
            let mut b = vec![0.0; dim * dim];
            rng.fill_normal(&mut b);
            let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            // B B^T + dim I, with eigenvalues from dim to 5 dim.
            let a: Vec<f64> = (0..dim * dim)
                .map(|at| {
                    let (i, j) = (at / dim, at % dim);
                    let diagonal = if i == j { dim as f64 } else { 0.0 };
                    dot(&b[i * dim..][..dim], &b[j * dim..][..dim]) + diagonal
                })
                .collect();
            at_every_level(|level| {
                // Nothing below the diagonal is read.
                let mut r = a.clone();
                (0..dim).for_each(|i| r[i * dim..][..i].fill(f64::NAN));
                factor(&mut r, dim).unwrap();
                let (mut inverse, mut out) = (vec![f64::NAN; dim * dim], vec![f64::NAN; dim * dim]);
                invert(&r, dim, &mut inverse, &mut out);
                for i in 0..dim {
                    for j in 0..dim {
                        let (low, what) = (i.min(j), format!("{level:?} {dim}: {i}, {j}"));
                        let product: f64 = (0..=low).map(|k| r[k * dim + i] * r[k * dim + j]).sum();
                        let error = (product - a[i * dim + j]).abs();
                        assert!(error < 1e-14 * (dim * dim) as f64, "{what}: {error}");
                        // A^-1 is symmetric.
                        let unit = dot(&a[i * dim..][..dim], &out[j * dim..][..dim]);
                        let error = (unit - f64::from(u8::from(i == j))).abs();
                        assert!(error < 1e-14 * dim as f64, "{what}: {error}");
                    }
                }
            });
        }
    }

    #[test]
    fn a_pivot_that_is_not_positive_is_named() {
        assert_eq!(factor(&mut [1.0, 2.0, 0.0, 4.0], 2), Err(1));
        assert_eq!(factor(&mut [f64::NAN], 1), Err(0));
        let mut a = vec![0.0; 50 * 50];
        (0..50).for_each(|i| a[i * 51] = if i == 40 { -1.0 } else { 1.0 });
        assert_eq!(factor(&mut a, 50), Err(40));
    }
}

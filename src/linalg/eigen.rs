//! Eigenvalues and eigenvectors of symmetric matrices.
//!
//! Householder reflections make A tridiagonal, Q^T A Q = T, and implicit QL iterations with Wilkinson's shifts make
//! T diagonal, S^T T S = diag(l); the eigenvectors are the columns of U = Q S. Rows of U^T lie one after the other,
//! so that reflections and rotations combine whole rows. Source: Golub and Van Loan, Matrix Computations, 4th
//! edition (2013), sections 8.3.1 and 8.3.5.

use ndarray::{Array2, ArrayView2};

use super::vectors::{add_scaled, dot, power_of_two, rotate};
use crate::Error;
use crate::engine::simd::Vector;
use crate::portable::hypot;

/// The sum of squares below which the rest of a row is 0, where the largest entry is at least 1: its inverse would
/// be infinite.
const NEGLIGIBLE: f64 = 1e-290;
/// The most QL iterations, for each row of the matrix: two are usual. They are counted over all eigenvalues, since the first one of a matrix of low
/// rank can take a hundred, in which others are found with it.
const ITERATIONS: usize = 30;

/// A = U diag(l) U^T.
#[derive(Clone, Debug)]
pub(crate) struct SymmetricEigen {
    /// l, ascending.
    pub(crate) values: Vec<f64>,
    /// U `[dim x dim]`, an eigenvector in each column.
    pub(crate) vectors: Array2<f64>,
}

impl SymmetricEigen {
    /// Decomposes the symmetric matrix `a` `[dim x dim]`. `name` is the name of the matrix in errors.
    pub(crate) fn new(name: &str, a: &[f64], dim: usize) -> Result<Self, Error> {
        if let Some(i) = a.iter().position(|v| !v.is_finite()) {
            let value = format!("{} in row {}, column {}", a[i], i / dim, i % dim);
            return Err(Error::argument(name, value, "finite in all entries"));
        }
        let (mut rows, mut values, mut scratch) = (a.to_vec(), vec![0.0; dim], vec![0.0; 2 * dim]);
        if !decompose(&mut rows, &mut values, &mut scratch) {
            let value = "such that its eigenvalues are not found";
            return Err(Error::argument(name, value, "of moderate scale"));
        }
        let rows = ArrayView2::from_shape((dim, dim), &rows);
        Ok(Self { values, vectors: rows.expect("dim rows of dim numbers").t().to_owned() })
    }
}

dispatch! {
    /// Overwrites the symmetric matrix `a` by its eigenvectors, a row each, and `values` by its eigenvalues, ascending. `scratch` has two numbers for each row. Returns
    /// whether all were found.
    fn decompose(a: &mut [f64], values: &mut [f64], scratch: &mut [f64]) -> bool => decompose_body
}

#[inline(always)]
fn decompose_body<V: Vector<f64>>(
    level: V::Level,
    a: &mut [f64],
    values: &mut [f64],
    scratch: &mut [f64],
) -> bool {
    let d = values.len();
    let scale = power_of_two(a);
    a.iter_mut().for_each(|x| *x /= scale);
    let (off_diagonal, work) = scratch.split_at_mut(d);
    make_tridiagonal::<V>(level, a, values, off_diagonal, work);
    collect_reflections::<V>(level, a, d, work);
    let found = make_diagonal::<V>(a, values, off_diagonal);
    values.iter_mut().for_each(|l| *l *= scale);
    // Selection, since rows are exchanged with their eigenvalues.
    for i in 0..d {
        let least = (i..d).min_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(i);
        if least != i {
            values.swap(i, least);
            let (before, from) = a.split_at_mut(least * d);
            before[i * d..][..d].swap_with_slice(&mut from[..d]);
        }
    }
    found
}

/// T by reflections I - tau v v^T, one for each row but the last two: v stays right of the diagonal and tau on it.
#[inline(always)]
fn make_tridiagonal<V: Vector<f64>>(
    level: V::Level,
    a: &mut [f64],
    diagonal: &mut [f64],
    off_diagonal: &mut [f64],
    work: &mut [f64],
) {
    let d = diagonal.len();
    for k in 0..d {
        let (row, below) = a[k * d..].split_at_mut(d);
        diagonal[k] = row[k];
        let v = &mut row[k + 1..];
        let Some((first, rest)) = v.split_first() else { break };
        off_diagonal[k] = *first;
        let beyond = dot::<V>(level, rest, rest);
        if beyond < NEGLIGIBLE {
            row[k] = 0.0;
            continue;
        }
        let length = (first * first + beyond).sqrt();
        let target = if *first > 0.0 { -length } else { length };
        off_diagonal[k] = target;
        v[0] -= target;
        let tau = 2.0 / (v[0] * v[0] + beyond);
        // w = p - (tau v.p / 2) v with p = tau A v, and then A - v w^T - w v^T, in the upper triangle.
        let w = &mut work[k + 1..];
        w.fill(0.0);
        for (i, row) in below.chunks_exact(d).enumerate() {
            let row = &row[k + 1 + i..];
            w[i] += dot::<V>(level, row, &v[i..]);
            add_scaled::<V>(v[i], &row[1..], &mut w[i + 1..]);
        }
        w.iter_mut().for_each(|w| *w *= tau);
        let half = -0.5 * tau * dot::<V>(level, v, w);
        add_scaled::<V>(half, v, w);
        for (i, row) in below.chunks_exact_mut(d).enumerate() {
            let row = &mut row[k + 1 + i..];
            add_scaled::<V>(-v[i], &w[i..], row);
            add_scaled::<V>(-w[i], &v[i..], row);
        }
        row[k] = tau;
    }
}

/// The rows of Q^T in place of the reflections, the last one first.
#[inline(always)]
fn collect_reflections<V: Vector<f64>>(level: V::Level, a: &mut [f64], d: usize, work: &mut [f64]) {
    for k in (0..d).rev() {
        let (row, below) = a[k * d..].split_at_mut(d);
        if k + 2 < d {
            let (tau, v) = (row[k], &mut work[k + 1..]);
            v.copy_from_slice(&row[k + 1..]);
            for row in below.chunks_exact_mut(d) {
                let factor = -tau * dot::<V>(level, &row[k + 1..], v);
                add_scaled::<V>(factor, v, &mut row[k + 1..]);
            }
        }
        row[k..].fill(0.0);
        row[k] = 1.0;
        below.iter_mut().skip(k).step_by(d).for_each(|x| *x = 0.0);
    }
}

/// The eigenvalues of T in place of its diagonal, and the rotations of the rows of `a`. Returns whether all were
/// found.
#[inline(always)]
fn make_diagonal<V: Vector<f64>>(
    a: &mut [f64],
    diagonal: &mut [f64],
    off_diagonal: &mut [f64],
) -> bool {
    let d = diagonal.len();
    let mut iterations = 0;
    for l in 0..d {
        loop {
            let is_split = |k: &usize| {
                let size = diagonal[*k].abs() + diagonal[k + 1].abs();
                off_diagonal[*k].abs() <= f64::EPSILON * size + f64::MIN_POSITIVE
            };
            let end = (l..d - 1).find(is_split).unwrap_or(d - 1);
            if end == l {
                break;
            }
            iterations += 1;
            if iterations > ITERATIONS * d {
                return false;
            }
            let ratio = (diagonal[l + 1] - diagonal[l]) / (2.0 * off_diagonal[l]);
            let root = hypot(ratio, 1.0).copysign(ratio);
            let mut g = diagonal[end] - diagonal[l] + off_diagonal[l] / (ratio + root);
            let (mut sine, mut cosine, mut shift) = (1.0, 1.0, 0.0);
            for i in (l..end).rev() {
                let (f, b) = (sine * off_diagonal[i], cosine * off_diagonal[i]);
                let r = hypot(f, g);
                off_diagonal[i + 1] = r;
                if r == 0.0 {
                    // T is in two parts here.
                    diagonal[i + 1] -= shift;
                    off_diagonal[end] = 0.0;
                    break;
                }
                (sine, cosine) = (f / r, g / r);
                g = diagonal[i + 1] - shift;
                let r = (diagonal[i] - g) * sine + 2.0 * cosine * b;
                shift = sine * r;
                diagonal[i + 1] = g + shift;
                g = cosine * r - b;
                let (rows, next) = a.split_at_mut((i + 1) * d);
                rotate::<V>(cosine, sine, &mut rows[i * d..], &mut next[..d]);
                if i == l {
                    diagonal[l] -= shift;
                    off_diagonal[l] = g;
                    off_diagonal[end] = 0.0;
                }
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, s};

    use super::*;
    use crate::error::checks::fails;
    use crate::rng::ChainRng;

    #[test]
    fn vectors_are_orthogonal_and_multiply_to_the_matrix() {
        let mut rng = ChainRng::new(1, 0);
        let mut random = |dim| Array2::from_shape_fn((dim, dim), |_| rng.normal());
        let mut matrices: Vec<Array2<f64>> = [1, 2, 7, 40, 130].map(&mut random).to_vec();
        // Of rank 3, with one eigenvalue many times, with blocks, of all sizes from 1e-200 to 1, and huge or tiny.
        let low = random(20).slice_move(s![.., ..3]);
        matrices.extend([low.dot(&low.t()), Array2::eye(9), Array2::ones((30, 30))]);
        matrices.push(Array2::from_shape_fn((12, 12), |(i, j)| f64::from(u8::from(i + j == 11))));
        matrices.push(random(41) * &Array1::from_shape_fn(41, |i| 10f64.powi(-5 * i as i32)));
        // Of low rank, or nearly: most eigenvalues are rounding.
        for (rank, decay) in [(155, 0.5), (77, 1.0), (3, 2.0), (155, 2.0), (3, 5.0)] {
            let scale = Array1::from_shape_fn(rank, |i| 10f64.powf(-decay * i as f64));
            let b = random(155).slice_move(s![.., ..rank]) * &scale;
            matrices.push(b.dot(&b.t()));
        }
        // Rows whose squares underflow, with inverses that overflow.
        for tiny in [1e-150, 1e-155, 1e-158, 2e-162, 1e-165, 1e-300] {
            matrices.push(ndarray::array![[1.0, tiny, tiny], [tiny, 1.0, 0.3], [tiny, 0.3, 1.0]]);
            matrices.push(Array2::eye(7) + Array2::from_elem((7, 7), tiny));
        }
        matrices.extend([random(8) * 1e300, random(8) * 1e-305, Array2::zeros((5, 5))]);
        for b in matrices {
            let dim = b.nrows();
            let a = 0.5 * &b + 0.5 * &b.t();
            let flat: Vec<f64> = a.iter().copied().collect();
            let eigen = SymmetricEigen::new("a", &flat, dim).unwrap();
            assert!(eigen.values.is_sorted());
            let u = &eigen.vectors;
            let largest = eigen.values.iter().fold(0.0, |m: f64, l| m.max(l.abs()));
            let scaled = eigen.values.iter().map(|l| l / largest.max(f64::MIN_POSITIVE));
            let product = (u * &scaled.collect::<Array1<f64>>()).dot(&u.t())
                - a / largest.max(f64::MIN_POSITIVE);
            assert!(product.iter().all(|e| e.abs() < 1e-14 * dim as f64), "{dim}");
            let gram = u.t().dot(u) - Array2::<f64>::eye(dim);
            assert!(gram.iter().all(|e| e.abs() < 1e-14 * dim as f64), "{dim}");
        }
    }

    #[test]
    fn entries_that_are_not_finite_are_named() {
        let value = "NaN in row 1, column 0";
        let of = SymmetricEigen::new("a", &[1.0, 0.0, f64::NAN, 1.0], 2);
        fails!(of, Argument { name: "a", value: value });
    }
}

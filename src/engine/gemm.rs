//! The general matrix product, C = alpha A B or C += alpha A B, for matrices that outgrow the registers.
//!
//! A is copied into strips of [`ROWS`] rows and B into strips of a few registers of columns, both [`DEPTH`] deep,
//! so that the inner loop reads them in order while a block of C, one strip times the other, stays in registers.
//! Every entry of C is a sum over k in ascending order, [`DEPTH`] terms at a time, at every level: with separate
//! roundings of products and sums (in [portable mode](crate::portable)) it has the same bits on all processors.
//!
//! Source: Goto and van de Geijn (2008), <https://doi.org/10.1145/1356052.1356053>.

use super::simd::{Real, Vector};

/// Rows of a strip of A.
const ROWS: usize = 4;
/// Terms of the sums that are added up in registers.
const DEPTH: usize = 256;
/// Rows of A and columns of B that are copied at a time: they fit into the second-level cache.
const SIDE: usize = 256;
/// Bytes of a cache line, at which the buffers begin; as many numbers are spare.
const LINE: usize = 64;

/// A matrix in a slice: entry (i, j) is at `i * row + j * column`, where `row` or `column` is 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a, F> {
    pub(crate) values: &'a [F],
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl<'a, F> Matrix<'a, F> {
    /// A matrix stored row by row, `stride` numbers from row to row.
    pub(crate) fn rows(values: &'a [F], stride: usize) -> Self {
        Self { values, row: stride, column: 1 }
    }

    /// The transpose.
    pub(crate) fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    /// The matrix from entry (i, j) on.
    fn from(self, i: usize, j: usize) -> Self {
        Self { values: &self.values[i * self.row + j * self.column..], ..self }
    }
}

/// The numbers `[m, n, k]` of rows of A, columns of B, and terms of each sum.
pub(crate) type Sizes = [usize; 3];

dispatch! {
    /// Overwrites C `[m x n]` by alpha A B, or adds that where `add`, given the `factors` A and B. The rows of C are
    /// `stride` numbers apart.
    fn gemm<F>(
        sizes: Sizes, alpha: F, factors: [Matrix<F>; 2], c: &mut [F], stride: usize, add: bool,
    ) => gemm_body
}

#[inline(always)]
fn gemm_body<F: Real, V: Vector<F>>(
    level: V::Level,
    sizes: Sizes,
    alpha: F,
    [a, b]: [Matrix<F>; 2],
    c: &mut [F],
    stride: usize,
    add: bool,
) {
    let [m, n, k] = sizes;
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 && !add {
        for row in c.chunks_mut(stride).take(m) {
            row[..n].fill(F::default());
        }
    }
    let mut buffer = F::take_buffer();
    buffer.resize(2 * DEPTH * SIDE + LINE, F::default()); // allocates once in a thread
    let aligned = buffer.as_ptr().align_offset(LINE);
    let (a_strips, b_strips) = buffer[aligned..].split_at_mut(DEPTH * SIDE);
    let width = V::LANES * if V::REGISTERS == 32 { 4 } else { 3 };
    let (side, whole) = (SIDE / width * width, n / width * width);
    for first in (0..k).step_by(DEPTH) {
        let depth = DEPTH.min(k - first);
        let sums = Sums { alpha, stride, add: add || first > 0 }; //~ product-terms
        let a = a.from(0, first);
        for column in (0..whole).step_by(side) {
            let sizes = [m, side.min(whole - column), depth];
            let (b, c) = (b.from(first, column), &mut c[column..]);
            let strips = [&mut *a_strips, &mut *b_strips];
            if V::REGISTERS == 32 {
                product::<F, V, 4>(level, sizes, sums, [a, b], strips, c);
            } else {
                product::<F, V, 3>(level, sizes, sums, [a, b], strips, c);
            }
        }
        if whole < n {
            let sizes = [m, n - whole, depth];
            let (b, c) = (b.from(first, whole), &mut c[whole..]);
            let strips = [&mut *a_strips, &mut *b_strips];
            product::<F, V, 1>(level, sizes, sums, [a, b], strips, c);
        }
    }
    F::put_back(buffer);
}

/// The way of the sums into C: alpha times them, in rows `stride` numbers apart, in place of its numbers or added.
#[derive(Clone, Copy)]
struct Sums<F> {
    alpha: F,
    stride: usize,
    add: bool,
}

/// A product with at most [`DEPTH`] terms and [`SIDE`] columns, in strips of B of `N` registers.
#[inline(always)]
fn product<F: Real, V: Vector<F>, const N: usize>(
    level: V::Level,
    [m, n, depth]: Sizes,
    sums: Sums<F>,
    [a, b]: [Matrix<F>; 2],
    [a_strips, b_strips]: [&mut [F]; 2],
    c: &mut [F],
) {
    let width = N * V::LANES;
    if F::IS_F64 {
        copy::<F, 8>(b.transposed(), n, depth, width, b_strips);
    } else {
        copy::<F, 16>(b.transposed(), n, depth, width, b_strips);
    }
    for first in (0..m).step_by(SIDE) {
        let a = a.from(first, 0);
        let rows = SIDE.min(m - first);
        if a.row == 1 {
            copy::<F, ROWS>(a, rows, depth, ROWS, a_strips);
        }
        for (j, b) in (0..n).step_by(width).zip(b_strips.chunks_exact(depth * width)) {
            for i in (0..rows).step_by(ROWS) {
                let size = [ROWS.min(rows - i), width.min(n - j)]; //~ product-remainder
                let c = &mut c[(first + i) * sums.stride + j..];
                if a.row == 1 {
                    let a = Copied(&a_strips[i * depth..]);
                    block::<F, V, N>(level, sums, a, b, c, size);
                } else {
                    let a = InPlace::new(a.from(i, 0), size[0], depth);
                    block::<F, V, N>(level, sums, a, b, c, size);
                }
            }
        }
    }
}

/// Copies the first `rows` rows and `depth` columns of a matrix into strips of `width` rows, column by
/// column, the last one filled up with zeros. A matrix stored row by row is copied in blocks of `G` rows and
/// columns.
#[inline(never)]
fn copy<F: Real, const G: usize>(
    from: Matrix<F>,
    rows: usize,
    depth: usize,
    width: usize,
    strips: &mut [F],
) {
    let strips = strips.chunks_exact_mut(depth * width);
    for (first, strip) in (0..rows).step_by(width).zip(strips) {
        let count = width.min(rows - first);
        if count < width {
            strip.fill(F::default());
        }
        if from.row == 1 {
            for (k, to) in strip.chunks_exact_mut(width).enumerate() {
                // Moved by vectors, where a call for so few numbers would cost more.
                let from = &from.values[first + k * from.column..][..count];
                for (to, from) in to.iter_mut().zip(from) {
                    *to = *from * F::ONE;
                }
            }
            continue;
        }
        for i in (0..count).step_by(G) {
            for k in (0..depth).step_by(G) {
                let from = from.from(first + i, k);
                let to = &mut strip[k * width + i..];
                if count - i >= G && depth - k >= G {
                    transpose::<F, G>(from, width, to);
                } else {
                    for u in 0..G.min(count - i) {
                        for v in 0..G.min(depth - k) {
                            to[v * width + u] = from.values[u * from.row + v];
                        }
                    }
                }
            }
        }
    }
}

/// Copies a `[G x G]` block of a matrix stored row by row, column by column.
#[inline(always)]
fn transpose<F: Real, const G: usize>(from: Matrix<F>, width: usize, to: &mut [F]) {
    let zeros = [F::default(); G];
    let mut rows = [&zeros; G];
    for u in 0..G {
        rows[u] = from.values[u * from.row..].first_chunk().expect("G columns");
    }
    for v in 0..G {
        let to: &mut [F; G] = to[v * width..].first_chunk_mut().expect("G rows");
        for u in 0..G {
            to[u] = rows[u][v];
        }
    }
}

/// A strip of A: the numbers of its rows for each term of the sums.
trait Strip<F>: Copy {
    fn of_term(self, k: usize) -> [F; ROWS];
}

/// A copy, column by column.
#[derive(Clone, Copy)]
struct Copied<'a, F>(&'a [F]);

/// Rows where they are.
#[derive(Clone, Copy)]
struct InPlace<'a, F>([&'a [F]; ROWS]);

impl<'a, F: Real> InPlace<'a, F> {
    /// The first `rows` rows of `a`, and the last of them again where there are fewer than [`ROWS`].
    #[inline(always)]
    fn new(a: Matrix<'a, F>, rows: usize, depth: usize) -> Self {
        let mut strip = [a.values; ROWS];
        for u in 0..ROWS {
            strip[u] = &a.values[u.min(rows - 1) * a.row..][..depth];
        }
        Self(strip)
    }
}

impl<F: Real> Strip<F> for Copied<'_, F> {
    #[inline(always)]
    fn of_term(self, k: usize) -> [F; ROWS] {
        *self.0[k * ROWS..].first_chunk().expect("a number for each row")
    }
}

impl<F: Real> Strip<F> for InPlace<'_, F> {
    #[inline(always)]
    fn of_term(self, k: usize) -> [F; ROWS] {
        let mut numbers = [F::default(); ROWS];
        for u in 0..ROWS {
            numbers[u] = self.0[u][k];
        }
        numbers
    }
}

/// alpha times a strip of A times a strip of B, into the first rows and columns (`size`) of a block of C.
#[inline(always)]
fn block<F: Real, V: Vector<F>, const N: usize>(
    level: V::Level,
    Sums { alpha, stride, add }: Sums<F>,
    a: impl Strip<F>,
    b: &[F],
    c: &mut [F],
    [rows, columns]: [usize; 2],
) {
    let zero = V::splat(level, F::default());
    let mut sums = [[zero; N]; ROWS];
    for (k, b) in V::chunks(b).as_chunks::<N>().0.iter().enumerate() {
        let a = a.of_term(k);
        let mut registers = [zero; N];
        for v in 0..N {
            registers[v] = V::load(level, &b[v]);
        }
        for u in 0..ROWS {
            let a = V::splat(level, a[u]);
            for v in 0..N {
                sums[u][v] = a.mul_add(registers[v], sums[u][v]);
            }
        }
    }
    let alpha = V::splat(level, alpha);
    for (u, sums) in sums.iter_mut().enumerate().take(rows) {
        for v in 0..N {
            sums[v] = alpha.mul(sums[v]);
        }
        let row = &mut c[u * stride..][..columns];
        if columns == N * V::LANES {
            for (sum, c) in sums.iter().zip(V::chunks_mut(row)) {
                let sum = if add { V::load(level, c).add(*sum) } else { *sum };
                sum.store(c);
            }
        } else {
            let mut numbers = [F::default(); 64];
            for (v, to) in V::chunks_mut(&mut numbers).iter_mut().take(N).enumerate() {
                sums[v].store(to);
            }
            for (c, sum) in row.iter_mut().zip(numbers) {
                *c = if add { *c + sum } else { sum };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::simd::testing::at_every_level;
    use crate::rng::ChainRng;

    fn products_match_triple_loops<F: Real>(tolerance: f64) {
        let mut rng = ChainRng::new(1, 0);
        for [m, n, k] in [
            [1, 1, 1],
            [0, 300, 300],
            [300, 0, 300],
            [5, 7, 0],
            [3, 5, 2],
            [4, 33, 7],
            [9, 300, 130],
            [301, 12, 128],
            [65, 65, 257],
        ] {
            let mut normals =
                |n: usize| -> Vec<F> { (0..n).map(|_| F::of(rng.normal())).collect() };
            // C has three columns more than the product.
            let (a, b, c) = (normals(m * k), normals(k * n), normals(m * (n + 3)));
            let a_by_column: Vec<F> = (0..k * m).map(|at| a[at % m * k + at / m]).collect();
            let b_by_column: Vec<F> = (0..k * n).map(|at| b[at % k * n + at / k]).collect();
            let of_a = [Matrix::rows(&a, k), Matrix::rows(&a_by_column, m).transposed()];
            let of_b = [Matrix::rows(&b, n), Matrix::rows(&b_by_column, k).transposed()];
            at_every_level(|level| {
                for (add, (a, b)) in [false, true].into_iter().zip(of_a.into_iter().zip(of_b)) {
                    let mut found = c.clone();
                    gemm([m, n, k], F::of(-1.0), [a, b], &mut found, n + 3, add);
                    for (at, (found, c)) in found.iter().zip(&c).enumerate() {
                        let (i, j) = (at / (n + 3), at % (n + 3));
                        let at = |a: Matrix<F>, i: usize, j: usize| {
                            a.values[i * a.row + j * a.column].wide()
                        };
                        let expected = if j < n {
                            let sum: f64 = (0..k).map(|l| at(a, i, l) * at(b, l, j)).sum();
                            if add { c.wide() - sum } else { -sum }
                        } else {
                            c.wide()
                        };
                        let error = (found.wide() - expected).abs();
                        let what = format!("{level:?} {m} {n} {k} {add}: {i}, {j}");
                        assert!(error <= tolerance * (k as f64).sqrt(), "{what}: {error}");
                    }
                }
            });
        }
    }

    #[test]
    fn products_in_f64_match_triple_loops_at_every_level() {
        products_match_triple_loops::<f64>(1e-14);
    }

    #[test]
    fn products_in_f32_match_triple_loops_at_every_level() {
        products_match_triple_loops::<f32>(5e-6);
    }
}

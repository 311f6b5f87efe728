//! The three products of a dense layer, on tiles.
//!
//! A tile stores a column (feature or unit) as `stride` consecutive rows, `stride` a multiple of the
//! lanes of a register. With W `[H x D]` row-major, X `[D x R]` and Z `[H x R]`:
//!
//! - forward: Z = W X + b;
//! - backward through the inputs: dX = W^T dZ;
//! - backward to the weights: dW += dZ X^T, db += the row sums of dZ.
//!
//! Rows lie in vector lanes. The first two keep a block of a few units times a few vectors of rows in
//! registers and broadcast one weight at a time, so that layers of any width, also 1, run on full
//! vectors. The third adds lane by lane: every weight has a vector of partial sums, loaded and stored
//! once for each tile, whose lanes are added up once for all tiles ([`add_lanes`]). A layer that is
//! [wide](is_wide) takes the products of [`gemm`], which are blocked for the cache, with a buffer for each
//! thread; its weights have one sum each.

use std::ops::Range;
use std::slice::ChunksExact;

use super::gemm::{Matrix, gemm};
use super::simd::{Real, Vector};

/// Layers with as many inputs and as many units are blocked for the cache.
const WIDE: usize = 100;

/// Whether the products of a layer are blocked for the cache.
pub(crate) fn is_wide(units: usize, inputs: usize) -> bool {
    units >= WIDE && inputs >= WIDE
}

/// Weights as seen from a block of outputs.
trait Weights<F: Real>: Copy {
    /// The weights from `n` inputs on from input `from` to the outputs `first..first + U`, as [`of_input`](Self::of_input)
    /// takes them.
    fn of_block<const U: usize>(&self, first: usize, from: usize, n: usize) -> [&[F]; U];
    /// The weights from input `from + k` of the block to its outputs.
    fn of_input<const U: usize>(&self, block: &[&[F]; U], k: usize) -> [F; U];
    /// The values from which the sums of the outputs `first..first + U` start.
    fn start<const U: usize>(&self, first: usize) -> [F; U];
}

/// W `[H x D]` and b: outputs are rows of W.
#[derive(Clone, Copy)]
struct Rows<'a, F> {
    w: &'a [F],
    b: &'a [F],
    columns: usize,
}

impl<F: Real> Weights<F> for Rows<'_, F> {
    #[inline(always)]
    fn of_block<const U: usize>(&self, first: usize, from: usize, n: usize) -> [&[F]; U] {
        let mut rows = [&self.w[..0]; U];
        for u in 0..U {
            rows[u] = &self.w[(first + u) * self.columns + from..][..n]; //~ product-part
        }
        rows
    }
    #[inline(always)]
    fn of_input<const U: usize>(&self, block: &[&[F]; U], k: usize) -> [F; U] {
        let mut weights = [F::default(); U];
        for u in 0..U {
            weights[u] = block[u][k];
        }
        weights
    }
    #[inline(always)]
    fn start<const U: usize>(&self, first: usize) -> [F; U] {
        if self.b.is_empty() {
            [F::default(); U]
        } else {
            *self.b[first..].first_chunk().expect("one bias per output")
        }
    }
}

/// W `[H x D]`, used from its outputs back to its inputs.
#[derive(Clone, Copy)]
struct Columns<'a, F> {
    w: &'a [F],
    columns: usize,
}

impl<F: Real> Weights<F> for Columns<'_, F> {
    #[inline(always)]
    fn of_block<const U: usize>(&self, first: usize, from: usize, _: usize) -> [&[F]; U] {
        [&self.w[from * self.columns + first..]; U]
    }
    #[inline(always)]
    fn of_input<const U: usize>(&self, block: &[&[F]; U], k: usize) -> [F; U] {
        *block[0][k * self.columns..].first_chunk().expect("a row of W")
    }
    #[inline(always)]
    fn start<const U: usize>(&self, _: usize) -> [F; U] {
        [F::default(); U]
    }
}

/// Z = W X + b, or W X where `b` is empty.
#[inline(always)]
pub(super) fn forward<F: Real, V: Vector<F>>(
    level: V::Level,
    [units, inputs]: [usize; 2],
    w: &[F],
    b: &[F],
    x: &[F],
    stride: usize,
    z: &mut [F],
) {
    if is_wide(units, inputs) {
        wide::forward(w, b, x, stride, z);
    } else {
        let weights = Rows { w, b, columns: inputs };
        product::<F, V>(level, weights, [units, inputs], x, stride, z);
    }
}

/// dX = W^T dZ.
#[inline(always)]
pub(super) fn backward_inputs<F: Real, V: Vector<F>>(
    level: V::Level,
    [units, inputs]: [usize; 2],
    w: &[F],
    dz: &[F],
    stride: usize,
    dx: &mut [F],
) {
    if is_wide(units, inputs) {
        wide::backward_inputs(w, dz, stride, dx);
    } else {
        let weights = Columns { w, columns: inputs };
        product::<F, V>(level, weights, [inputs, units], dz, stride, dx);
    }
}

/// The columns of X that are taken at a time where there are more than twice as many: with all columns of Z they stay in the
/// cache of a core. The order of each sum stays the same.
const COLUMNS_AT_A_TIME: usize = 64;

/// The vectors of rows that are then taken at a time.
const VECTORS_AT_A_TIME: usize = 8;

/// The numbers of some columns of X, and these columns. (Copies share the division by which the columns are found.)
type Part<'a, Chunk> = (Range<usize>, ChunksExact<'a, Chunk>);

/// The parts of so many columns of X that are taken one after the other.
#[inline(always)]
fn parts_of_columns(columns: usize) -> impl Iterator<Item = Range<usize>> {
    let parts = if columns > 2 * COLUMNS_AT_A_TIME { columns / COLUMNS_AT_A_TIME } else { 1 };
    (0..parts).map(move |i| match parts {
        1 => 0..columns, // no divisions in narrow layers
        _ => i * columns / parts..(i + 1) * columns / parts,
    })
}

/// Every output column is the sum over the columns of `x` times their weights: four outputs at a
/// time, then the one to three that are left, each with at least six vectors in registers.
#[inline(always)]
fn product<F: Real, V: Vector<F>>(
    level: V::Level,
    weights: impl Weights<F>,
    [outputs, inputs]: [usize; 2],
    x: &[F],
    stride: usize,
    out: &mut [F],
) {
    let stride = stride / V::LANES;
    let (x, out) = (V::chunks(x), V::chunks_mut(out));
    for columns in parts_of_columns(inputs) {
        let part = &x[columns.start * stride..columns.end * stride];
        // Of a part as few rows at a time as its block has, which then stay next to the core.
        let rows = if columns.len() < inputs { VECTORS_AT_A_TIME } else { stride };
        for first in (0..stride).step_by(rows) {
            let rows = first..stride.min(first + rows);
            let part = (columns.clone(), part.chunks_exact(stride));
            product_of_part::<F, V>(level, weights, outputs, part, stride, rows, out);
        }
    }
}

/// The [`product`] with columns of X from column `from` on, added to that with those before.
#[inline(always)]
fn product_of_part<F: Real, V: Vector<F>>(
    level: V::Level,
    weights: impl Weights<F>,
    n_outputs: usize,
    part: Part<V::Chunk>,
    stride: usize,
    rows: Range<usize>,
    out: &mut [V::Chunk],
) {
    let (mut first, mut rest) = (0, out);
    while first + 4 <= n_outputs {
        let four;
        (four, rest) = rest.split_at_mut(4 * stride);
        // Twice the registers: a larger block, with fewer loads per product.
        if V::REGISTERS == 32 {
            outputs::<F, V, 4, 4>(level, weights, first, part.clone(), stride, rows.clone(), four);
        } else {
            outputs::<F, V, 4, 2>(level, weights, first, part.clone(), stride, rows.clone(), four);
        }
        first += 4;
    }
    match n_outputs - first {
        0 => {}
        1 => outputs::<F, V, 1, 8>(level, weights, first, part, stride, rows, rest),
        2 => outputs::<F, V, 2, 4>(level, weights, first, part, stride, rows, rest),
        _ => outputs::<F, V, 3, 2>(level, weights, first, part, stride, rows, rest),
    }
}

/// `U` output columns of these vectors of rows, `N` at a time.
#[inline(always)]
fn outputs<F: Real, V: Vector<F>, const U: usize, const N: usize>(
    level: V::Level,
    weights: impl Weights<F>,
    first: usize,
    part: Part<V::Chunk>,
    stride: usize,
    rows: Range<usize>,
    out: &mut [V::Chunk],
) {
    let mut row = rows.start;
    while row + N <= rows.end {
        block::<F, V, U, N>(level, weights, first, part.clone(), stride, row, out);
        row += N;
    }
    while row < rows.end {
        block::<F, V, U, 1>(level, weights, first, part.clone(), stride, row, out);
        row += 1;
    }
}

/// `U` output columns from column `first` on times `N` vectors of rows, in registers, of columns of X from column `from` on.
#[inline(always)]
fn block<F: Real, V: Vector<F>, const U: usize, const N: usize>(
    level: V::Level,
    weights: impl Weights<F>,
    first: usize,
    (columns, mut x): Part<V::Chunk>,
    stride: usize,
    row: usize,
    out: &mut [V::Chunk],
) {
    let zero = V::splat(level, F::default());
    let mut sum = [[zero; N]; U];
    if columns.start == 0 {
        let start = weights.start::<U>(first);
        for u in 0..U {
            sum[u] = [V::splat(level, start[u]); N];
        }
    } else {
        for u in 0..U {
            for v in 0..N {
                sum[u][v] = V::load(level, &out[u * stride + row + v]);
            }
        }
    }
    let of_block = weights.of_block::<U>(first, columns.start, columns.len());
    for k in 0..columns.len() {
        let Some(column) = x.next() else { break };
        let weight = weights.of_input(&of_block, k);
        let rows: &[V::Chunk; N] = column[row..].first_chunk().expect("a block of rows");
        let mut x = [zero; N];
        for v in 0..N {
            x[v] = V::load(level, &rows[v]);
        }
        for u in 0..U {
            let weight = V::splat(level, weight[u]);
            for v in 0..N {
                sum[u][v] = weight.mul_add(x[v], sum[u][v]);
            }
        }
    }
    for u in 0..U {
        let rows = &mut out[u * stride + row..][..N];
        for v in 0..N {
            sum[u][v].store(&mut rows[v]);
        }
    }
}

/// Adds dZ X^T and, for a layer with `bias`, the row sums of dZ to `sums`, or overwrites them where `fresh`.
#[inline(always)]
pub(super) fn backward_weights<F: Real, V: Vector<F>>(
    level: V::Level,
    [units, inputs]: [usize; 2],
    [dz, x]: [&[F]; 2],
    stride: usize,
    sums: &mut [F],
    bias: bool,
    fresh: bool,
) {
    if is_wide(units, inputs) {
        let (dw, db) = sums.split_at_mut(units * inputs);
        wide::backward_weights(dz, x, stride, dw, fresh);
        let db = &mut db[..if bias { units } else { 0 }];
        for (db, column) in db.iter_mut().zip(dz.chunks_exact(stride)) {
            let sum = column_sum::<F, V>(level, V::splat(level, F::default()), column).sum();
            *db = if fresh { sum } else { *db + sum };
        }
        return;
    }
    let (dw, db) = V::chunks_mut(sums).split_at_mut(units * inputs);
    if bias {
        for (u, db) in db.iter_mut().enumerate().take(units) {
            let column = &dz[u * stride..][..stride];
            let start = if fresh { V::splat(level, F::default()) } else { V::load(level, db) };
            column_sum::<F, V>(level, start, column).store(db); //~ bias-gradient
        }
    }
    let (dz, x, stride) = (V::chunks(dz), V::chunks(x), stride / V::LANES);
    for columns in parts_of_columns(inputs) {
        let (mut rest, mut dw) = (dz, &mut dw[..]);
        // Twice the registers: sixteen sums at a time.
        while V::REGISTERS == 32 && rest.len() >= 4 * stride {
            let (rows, below) = dw.split_at_mut(4 * inputs);
            weight_rows::<F, V, 4, 4>(level, rest, x, stride, columns.clone(), rows, fresh);
            (rest, dw) = (&rest[4 * stride..], below);
        }
        while rest.len() >= 2 * stride {
            let (rows, below) = dw.split_at_mut(2 * inputs);
            weight_rows::<F, V, 2, 4>(level, rest, x, stride, columns.clone(), rows, fresh);
            (rest, dw) = (&rest[2 * stride..], below);
        }
        if rest.len() >= stride {
            weight_rows::<F, V, 1, 8>(level, rest, x, stride, columns, dw, fresh);
        }
    }
}

/// The sum of `start` and the numbers of a column, lane by lane.
#[inline(always)]
fn column_sum<F: Real, V: Vector<F>>(level: V::Level, start: V, column: &[F]) -> V {
    // Four chains of additions, which wait less for each other.
    let zero = V::splat(level, F::default());
    let mut chains = [start, zero, zero, zero];
    let (fours, rest) = V::chunks(column).as_chunks::<4>();
    for rows in fours {
        for i in 0..4 {
            chains[i] = chains[i].add(V::load(level, &rows[i]));
        }
    }
    for rows in rest {
        chains[0] = chains[0].add(V::load(level, rows));
    }
    chains[0].add(chains[1]).add(chains[2].add(chains[3]))
}

/// The sums of these columns of `A` rows of W, `B` columns at a time.
#[inline(always)]
fn weight_rows<F: Real, V: Vector<F>, const A: usize, const B: usize>(
    level: V::Level,
    dz: &[V::Chunk],
    x: &[V::Chunk],
    stride: usize,
    columns: Range<usize>,
    dw: &mut [V::Chunk],
    fresh: bool,
) {
    let (mut first, inputs) = (columns.start, columns.end);
    while first + B <= inputs {
        weight_block::<F, V, A, B>(level, dz, x, stride, first, dw, fresh);
        first += B;
    }
    while first + 2 <= inputs {
        weight_block::<F, V, A, 2>(level, dz, x, stride, first, dw, fresh);
        first += 2;
    }
    if first < inputs {
        weight_block::<F, V, A, 1>(level, dz, x, stride, first, dw, fresh);
    }
}

/// The sums of `A` columns of dZ times `B` columns of X from column `first` on, in registers.
#[inline(always)]
fn weight_block<F: Real, V: Vector<F>, const A: usize, const B: usize>(
    level: V::Level,
    dz: &[V::Chunk],
    x: &[V::Chunk],
    stride: usize,
    first: usize,
    dw: &mut [V::Chunk],
    fresh: bool,
) {
    let inputs = dw.len() / A;
    let (mut dz_columns, mut x_columns) = ([&dz[..0]; A], [&x[..0]; B]);
    for a in 0..A {
        dz_columns[a] = &dz[a * stride..][..stride];
    }
    for b in 0..B {
        x_columns[b] = &x[(first + b) * stride..][..stride];
    }
    let zero = V::splat(level, F::default());
    let mut sum = [[zero; B]; A];
    if !fresh {
        for a in 0..A {
            for b in 0..B {
                sum[a][b] = V::load(level, &dw[a * inputs + first + b]);
            }
        }
    }
    for row in 0..stride {
        let mut columns = [zero; B];
        for b in 0..B {
            columns[b] = V::load(level, &x_columns[b][row]);
        }
        for a in 0..A {
            let dz = V::load(level, &dz_columns[a][row]);
            for b in 0..B {
                sum[a][b] = dz.mul_add(columns[b], sum[a][b]);
            }
        }
    }
    for a in 0..A {
        for b in 0..B {
            sum[a][b].store(&mut dw[a * inputs + first + b]);
        }
    }
}

/// Adds the sums of a layer to its gradient: over the lanes, unless the layer is wide.
#[inline(always)]
pub(super) fn add_lanes<F: Real, V: Vector<F>>(
    level: V::Level,
    sums: &[F],
    wide: bool,
    grad: &mut [f64],
) {
    if wide {
        for (grad, sum) in grad.iter_mut().zip(sums) {
            *grad += sum.wide();
        }
        return;
    }
    for (grad, lanes) in grad.iter_mut().zip(V::chunks(sums)) {
        *grad += V::load(level, lanes).sum().wide();
    }
}

/// The products of wide layers.
mod wide {
    use super::*;

    /// Z = W X + b.
    pub(super) fn forward<F: Real>(w: &[F], b: &[F], x: &[F], stride: usize, z: &mut [F]) {
        let (inputs, units) = (x.len() / stride, z.len() / stride);
        for (z, b) in z.chunks_exact_mut(stride).zip(b) {
            z.fill(*b);
        }
        let (w, x) = (Matrix::rows(w, inputs), Matrix::rows(x, stride));
        gemm([units, stride, inputs], F::ONE, [w, x], z, stride, !b.is_empty());
    }

    /// dX = W^T dZ.
    pub(super) fn backward_inputs<F: Real>(w: &[F], dz: &[F], stride: usize, dx: &mut [F]) {
        let (inputs, units) = (dx.len() / stride, dz.len() / stride);
        let (w, dz) = (Matrix::rows(w, inputs).transposed(), Matrix::rows(dz, stride));
        gemm([inputs, stride, units], F::ONE, [w, dz], dx, stride, false);
    }

    /// dW += dZ X^T, or overwritten by it where `fresh`.
    pub(super) fn backward_weights<F: Real>(
        dz: &[F],
        x: &[F],
        stride: usize,
        dw: &mut [F],
        fresh: bool,
    ) {
        let (inputs, units) = (x.len() / stride, dz.len() / stride);
        let (dz, x) = (Matrix::rows(dz, stride), Matrix::rows(x, stride).transposed());
        gemm([units, inputs, stride], F::ONE, [dz, x], dw, inputs, !fresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::padded;
    use crate::engine::simd::testing::at_every_level;
    use crate::rng::ChainRng;

    dispatch! {
        fn products<F>(w: &[F], b: &[F], x: &[F], dz: &[F], stride: usize, out: [&mut [F]; 4]) => products_body
    }

    /// Z = W X + b, W X, dX, and the sums of the layer.
    #[inline(always)]
    fn products_body<F: Real, V: Vector<F>>(
        level: V::Level,
        w: &[F],
        b: &[F],
        x: &[F],
        dz: &[F],
        stride: usize,
        out: [&mut [F]; 4],
    ) {
        let [z, z_plain, dx, sums] = out;
        let size = [dz.len() / stride, x.len() / stride];
        forward::<F, V>(level, size, w, b, x, stride, z);
        forward::<F, V>(level, size, w, &[], x, stride, z_plain);
        backward_inputs::<F, V>(level, size, w, dz, stride, dx);
        // Twice: a first tile, whose sums are overwritten, and another.
        sums.fill(F::of(f64::NAN));
        backward_weights::<F, V>(level, size, [dz, x], stride, sums, true, true);
        backward_weights::<F, V>(level, size, [dz, x], stride, sums, true, false);
    }

    dispatch! {
        fn lanes<F>(sums: &[F], wide: bool, grad: &mut [f64]) => lanes_body
    }
    #[inline(always)]
    fn lanes_body<F: Real, V: Vector<F>>(
        level: V::Level,
        sums: &[F],
        wide: bool,
        grad: &mut [f64],
    ) {
        add_lanes::<F, V>(level, sums, wide, grad);
    }

    fn assert_close<F: Real>(found: &[F], expected: &[f64], tolerance: f64, what: &str) {
        for (i, (a, b)) in found.iter().zip(expected).enumerate() {
            assert!(
                (a.wide() - b).abs() <= tolerance * (1.0 + b.abs()),
                "{what}, {i}: {a:?} and {b}"
            );
        }
        assert_eq!(found.len(), expected.len());
    }

    fn products_match_triple_loops<F: Real>(sizes: &[(usize, usize)], tolerance: f64) {
        let mut rng = ChainRng::new(1, 0);
        let mut normals = |n: usize| -> Vec<F> { (0..n).map(|_| F::of(rng.normal())).collect() };
        for &(h, d) in sizes {
            for rows in [1, 8, 24, 40, 64, 104, 256] {
                let s = F::stride_of(padded(rows));
                let [w, b, x, dz] = [h * d, h, d * s, h * s].map(&mut normals);
                let (mut z, mut z_plain, mut dx) =
                    (vec![0.0; h * s], vec![0.0; h * s], vec![0.0; d * s]);
                let mut grad = vec![0.0; h * d + h];
                for i in 0..h {
                    for r in 0..s {
                        z[i * s + r] += b[i].wide();
                        grad[h * d + i] += 2.0 * dz[i * s + r].wide();
                        for j in 0..d {
                            let (w, x, dz) =
                                (w[i * d + j].wide(), x[j * s + r].wide(), dz[i * s + r].wide());
                            z[i * s + r] += w * x;
                            z_plain[i * s + r] += w * x;
                            dx[j * s + r] += w * dz;
                            grad[i * d + j] += 2.0 * dz * x;
                        }
                    }
                }
                at_every_level(|level| {
                    let what = format!("{level:?} {h}x{d}, {rows} rows");
                    let nan = F::of(f64::NAN);
                    let [mut z_out, mut plain_out, mut dx_out, mut sums] =
                        [h * s, h * s, d * s, F::LANES * (h * d + h)].map(|n| vec![nan; n]);
                    let out = [&mut z_out[..], &mut plain_out, &mut dx_out, &mut sums];
                    products(&w, &b, &x, &dz, s, out);
                    assert_close(&z_out, &z, tolerance, &what);
                    assert_close(&plain_out, &z_plain, tolerance, &what);
                    assert_close(&dx_out, &dx, tolerance, &what);
                    let mut found = vec![1.0; h * d + h];
                    lanes(&sums, is_wide(h, d), &mut found);
                    found.iter_mut().for_each(|g| *g -= 1.0);
                    assert_close(&found, &grad, tolerance, &what);
                });
            }
        }
    }

    const SIZES: [(usize, usize); 12] = [
        (1, 1),
        (1, 9),
        (2, 3),
        (3, 4),
        (4, 8),
        (5, 2),
        (7, 17),
        (10, 4),
        (9, 34),
        (7, 131),
        (131, 7),
        (101, 103),
    ];

    #[test]
    fn products_in_f64_match_triple_loops_at_every_level() {
        products_match_triple_loops::<f64>(&SIZES, 1e-12);
    }

    #[test]
    fn products_in_f32_match_triple_loops_at_every_level() {
        products_match_triple_loops::<f32>(&SIZES, 2e-4);
    }

    #[test]
    #[ignore = "a timing: cargo test --release product_speed -- --ignored --nocapture"]
    fn product_speed() {
        use crate::engine::TileStorage;
        let s = 128;
        for (h, d) in [
            (3, 4),
            (10, 4),
            (1, 10),
            (16, 8),
            (50, 34),
            (50, 50),
            (1, 34),
            (64, 1000),
            (1200, 1200),
        ] {
            let (w, b) = (vec![0.5; h * d], vec![0.5; h]);
            let [mut x, mut dx] = [(); 2].map(|()| TileStorage::for_columns(d));
            let [mut z, mut dz, mut plain] = [(); 3].map(|()| TileStorage::for_columns(h));
            let mut sums = TileStorage::zeros(8 * (h * d + h));
            x.fill(0.5);
            dz.fill(0.5);
            let flops = (10 * h * d * s) as f64;
            let repeats = (4e6 / flops).ceil() as usize;
            at_every_level(|level| {
                let mut seconds: Vec<f64> = (0..31)
                    .map(|_| {
                        let start = std::time::Instant::now();
                        for _ in 0..repeats {
                            let (x, dz) = (&x[..d * s], &dz[..h * s]);
                            let (z, plain) = (&mut z[..h * s], &mut plain[..h * s]);
                            products(&w, &b, x, dz, s, [z, plain, &mut dx[..d * s], &mut sums]);
                        }
                        start.elapsed().as_secs_f64() / repeats as f64
                    })
                    .collect();
                seconds.sort_by(f64::total_cmp);
                println!("{h} <- {d}, {level:?}: {:.1} GFLOP/s", flops / seconds[15] / 1e9);
            });
        }
    }
}

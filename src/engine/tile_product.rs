//! The three products of a dense layer, on tiles.
//!
//! A tile stores a column (feature or unit) as `stride` consecutive rows, `stride` a multiple of
//! [`LANES`](crate::engine::LANES). With W `[H x D]` row-major, X `[D x R]` and Z `[H x R]`:
//!
//! - forward: Z = W X + b;
//! - backward through the inputs: dX = W^T dZ;
//! - backward to the weights: dW += dZ X^T, db += the row sums of dZ.
//!
//! Rows lie in vector lanes. The first two keep a block of a few units times a few vectors of rows
//! in registers and broadcast one weight at a time, so that layers of any width, also 1, run on
//! full vectors. The third keeps one vector of partial sums for each of eight weights over the
//! whole tile, and adds up the lanes of all eight at the end. Nothing is allocated.

use super::simd::{GROUP, accumulate, mul_add, sums};

dispatch! {
    /// Z = W X + b, or W X where `b` is empty.
    fn forward(w: &[f64], b: &[f64], x: &[f64], stride: usize, z: &mut [f64]) => forward_body
}
dispatch! {
    /// dX = W^T dZ.
    fn backward_inputs(w: &[f64], dz: &[f64], stride: usize, dx: &mut [f64]) => inputs_body
}
dispatch! {
    /// dW += dZ X^T, and db += the row sums of dZ unless `db` is empty.
    fn backward_weights(
        dz: &[f64], x: &[f64], stride: usize, dw: &mut [f64], db: &mut [f64],
    ) => weights_body with sums
}

/// Weights as seen from a block of outputs.
trait Weights: Copy {
    /// The weights from input `k` to the outputs `first..first + U`.
    fn of_input<const U: usize>(&self, first: usize, k: usize) -> [f64; U];
    /// What the outputs `first..first + U` start from.
    fn start<const U: usize>(&self, first: usize) -> [f64; U];
}

/// W `[H x D]` and b: outputs are rows of W.
#[derive(Clone, Copy)]
struct Rows<'a> {
    w: &'a [f64],
    b: &'a [f64],
    columns: usize,
}

impl Weights for Rows<'_> {
    #[inline(always)]
    fn of_input<const U: usize>(&self, first: usize, k: usize) -> [f64; U] {
        let mut weights = [0.0; U];
        for u in 0..U {
            weights[u] = self.w[(first + u) * self.columns + k];
        }
        weights
    }
    #[inline(always)]
    fn start<const U: usize>(&self, first: usize) -> [f64; U] {
        if self.b.is_empty() {
            [0.0; U]
        } else {
            *self.b[first..].first_chunk().expect("one bias per output")
        }
    }
}

/// W `[H x D]`, used from its outputs back to its inputs.
#[derive(Clone, Copy)]
struct Columns<'a> {
    w: &'a [f64],
    columns: usize,
}

impl Weights for Columns<'_> {
    #[inline(always)]
    fn of_input<const U: usize>(&self, first: usize, k: usize) -> [f64; U] {
        *self.w[k * self.columns + first..].first_chunk().expect("a row of W")
    }
    #[inline(always)]
    fn start<const U: usize>(&self, _: usize) -> [f64; U] {
        [0.0; U]
    }
}

#[inline(always)]
fn forward_body<const L: usize, const FMA: bool>(
    w: &[f64],
    b: &[f64],
    x: &[f64],
    stride: usize,
    z: &mut [f64],
) {
    product::<L, FMA>(Rows { w, b, columns: x.len() / stride }, x, stride, z);
}

#[inline(always)]
fn inputs_body<const L: usize, const FMA: bool>(
    w: &[f64],
    dz: &[f64],
    stride: usize,
    dx: &mut [f64],
) {
    product::<L, FMA>(Columns { w, columns: dx.len() / stride }, dz, stride, dx);
}

/// Every output column is the sum over the columns of `x` times their weights: four outputs at a
/// time, then the one to three that are left, each with at least six vectors in registers.
#[inline(always)]
fn product<const L: usize, const FMA: bool>(
    weights: impl Weights,
    x: &[f64],
    stride: usize,
    out: &mut [f64],
) {
    let mut fours = out.chunks_exact_mut(4 * stride);
    let mut first = 0;
    for four in &mut fours {
        // AVX-512 has twice the registers: a larger block, with fewer loads per product.
        if L == 8 {
            outputs::<L, FMA, 4, 4>(weights, first, x, stride, four);
        } else {
            outputs::<L, FMA, 4, 2>(weights, first, x, stride, four);
        }
        first += 4;
    }
    let rest = fours.into_remainder();
    match rest.len() / stride {
        0 => {}
        1 => outputs::<L, FMA, 1, 8>(weights, first, x, stride, rest),
        2 => outputs::<L, FMA, 2, 4>(weights, first, x, stride, rest),
        _ => outputs::<L, FMA, 3, 2>(weights, first, x, stride, rest),
    }
}

/// `U` output columns, `V` vectors of rows at a time.
#[inline(always)]
fn outputs<const L: usize, const FMA: bool, const U: usize, const V: usize>(
    weights: impl Weights,
    first: usize,
    x: &[f64],
    stride: usize,
    out: &mut [f64],
) {
    let mut row = 0;
    while row + V * L <= stride {
        block::<L, FMA, U, V>(weights, first, x, stride, row, out);
        row += V * L;
    }
    while row < stride {
        block::<L, FMA, U, 1>(weights, first, x, stride, row, out);
        row += L;
    }
}

/// `U` output columns times `V` vectors of rows, in registers.
#[inline(always)]
fn block<const L: usize, const FMA: bool, const U: usize, const V: usize>(
    weights: impl Weights,
    first: usize,
    x: &[f64],
    stride: usize,
    row: usize,
    out: &mut [f64],
) {
    let start = weights.start::<U>(first);
    let mut sum = [[[0.0; L]; V]; U];
    for u in 0..U {
        sum[u] = [[start[u]; L]; V];
    }
    for (k, column) in x.chunks_exact(stride).enumerate() {
        let weight = weights.of_input::<U>(first, k);
        let rows = &column[row..row + V * L];
        for v in 0..V {
            for u in 0..U {
                for l in 0..L {
                    sum[u][v][l] = mul_add::<FMA>(weight[u], rows[v * L + l], sum[u][v][l]);
                }
            }
        }
    }
    for u in 0..U {
        let rows = &mut out[u * stride + row..][..V * L];
        for v in 0..V {
            for l in 0..L {
                rows[v * L + l] = sum[u][v][l];
            }
        }
    }
}

#[inline(always)]
fn weights_body<const L: usize, const FMA: bool>(
    dz: &[f64],
    x: &[f64],
    stride: usize,
    dw: &mut [f64],
    db: &mut [f64],
    sums: impl Fn([[f64; L]; GROUP]) -> [f64; GROUP] + Copy,
) {
    let inputs = x.len() / stride;
    let (mut dz_pairs, mut dw_pairs) =
        (dz.chunks_exact(2 * stride), dw.chunks_exact_mut(2 * inputs));
    for (dz, dw) in (&mut dz_pairs).zip(&mut dw_pairs) {
        weight_rows::<L, FMA, 2, 4>(dz, x, stride, dw, sums);
    }
    if let (Some(dz), dw @ [_, ..]) =
        (dz_pairs.remainder().get(..stride), dw_pairs.into_remainder())
    {
        weight_rows::<L, FMA, 1, 8>(dz, x, stride, dw, sums);
    }
    for (db, column) in db.iter_mut().zip(dz.chunks_exact(stride)) {
        let mut sum = [0.0; L];
        for rows in column.as_chunks::<L>().0 {
            accumulate::<L, FMA>(&mut sum, rows, &[1.0; L]);
        }
        *db += sum.iter().sum::<f64>();
    }
}

/// The gradient of `A` rows of W, `B` columns at a time; A B = GROUP.
#[inline(always)]
fn weight_rows<const L: usize, const FMA: bool, const A: usize, const B: usize>(
    dz: &[f64],
    x: &[f64],
    stride: usize,
    dw: &mut [f64],
    sums: impl Fn([[f64; L]; GROUP]) -> [f64; GROUP] + Copy,
) {
    let inputs = x.len() / stride;
    for (block, x) in x.chunks(B * stride).enumerate() {
        let count = x.len() / stride;
        let sum = if count == B {
            sums(weight_block::<L, FMA, A, B>(dz, x, stride, |b| b))
        } else {
            // In place of columns that are not there, the last again: computed, and not used.
            sums(weight_block::<L, FMA, A, B>(dz, x, stride, |b| b.min(count - 1)))
        };
        for a in 0..A {
            let dw = &mut dw[a * inputs + block * B..][..count];
            let sum: &[f64; B] = sum[a * B..].first_chunk().expect("A B sums");
            if let Some(dw) = dw.first_chunk_mut::<B>() {
                (0..B).for_each(|b| dw[b] += sum[b]);
            } else {
                dw.iter_mut().zip(sum).for_each(|(dw, sum)| *dw += sum);
            }
        }
    }
}

/// Partial sums, lane by lane, of `A` columns of dZ times `B` columns of X.
#[inline(always)]
fn weight_block<const L: usize, const FMA: bool, const A: usize, const B: usize>(
    dz: &[f64],
    x: &[f64],
    stride: usize,
    column: impl Fn(usize) -> usize,
) -> [[f64; L]; GROUP] {
    let vectors = stride / L;
    let dz: [&[[f64; L]]; A] =
        std::array::from_fn(|a| &dz[a * stride..][..stride].as_chunks().0[..vectors]);
    let x: [&[[f64; L]]; B] =
        std::array::from_fn(|b| &x[column(b) * stride..][..stride].as_chunks().0[..vectors]);
    let mut sum = [[0.0; L]; GROUP];
    for i in 0..vectors {
        for b in 0..B {
            for a in 0..A {
                accumulate::<L, FMA>(&mut sum[a * B + b], &dz[a][i], &x[b][i]);
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::padded;
    use crate::engine::simd::testing::at_every_level;
    use crate::rng::ChainRng;

    fn normals(rng: &mut ChainRng, n: usize) -> Vec<f64> {
        let mut out = vec![0.0; n];
        rng.fill_normal(&mut out);
        out
    }

    fn assert_close(found: &[f64], expected: &[f64], what: &str) {
        for (i, (a, b)) in found.iter().zip(expected).enumerate() {
            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{what}, {i}: {a} and {b}");
        }
        assert_eq!(found.len(), expected.len());
    }

    #[test]
    fn products_match_triple_loops_at_every_level() {
        let mut rng = ChainRng::new(1, 0);
        for (h, d) in [(1, 1), (1, 9), (2, 3), (3, 4), (4, 8), (5, 2), (7, 17), (10, 4), (9, 34)] {
            for rows in [1, 8, 24, 40, 64] {
                let s = padded(rows);
                let [w, b, x] = [h * d, h, d * s].map(|n| normals(&mut rng, n));
                let [dz, dw0, db0] = [h * s, h * d, h].map(|n| normals(&mut rng, n));
                let (mut z, mut z_plain) = (vec![0.0; h * s], vec![0.0; h * s]);
                let (mut dx, mut dw, mut db) = (vec![0.0; d * s], dw0.clone(), db0.clone());
                for i in 0..h {
                    for r in 0..s {
                        z[i * s + r] += b[i];
                        db[i] += dz[i * s + r];
                        for j in 0..d {
                            z[i * s + r] += w[i * d + j] * x[j * s + r];
                            z_plain[i * s + r] += w[i * d + j] * x[j * s + r];
                            dx[j * s + r] += w[i * d + j] * dz[i * s + r];
                            dw[i * d + j] += dz[i * s + r] * x[j * s + r];
                        }
                    }
                }
                at_every_level(|level| {
                    let what = format!("{level:?} {h}x{d}, {rows} rows");
                    let mut out = vec![f64::NAN; h * s];
                    forward(&w, &b, &x, s, &mut out);
                    assert_close(&out, &z, &what);
                    forward(&w, &[], &x, s, &mut out);
                    assert_close(&out, &z_plain, &what);
                    let mut out = vec![f64::NAN; d * s];
                    backward_inputs(&w, &dz, s, &mut out);
                    assert_close(&out, &dx, &what);
                    let (mut out_w, mut out_b) = (dw0.clone(), db0.clone());
                    backward_weights(&dz, &x, s, &mut out_w, &mut out_b);
                    assert_close(&out_w, &dw, &what);
                    assert_close(&out_b, &db, &what);
                    backward_weights(&dz, &x, s, &mut out_w, &mut []);
                    assert_close(&out_b, &db, &what);
                });
            }
        }
    }

    #[test]
    #[ignore = "a timing: cargo test --release product_speed -- --ignored --nocapture"]
    fn product_speed() {
        use crate::engine::TileStorage;
        use std::hint::black_box;
        let s = 64;
        for (h, d) in [(3, 4), (10, 4), (1, 10), (16, 8), (50, 34), (50, 50), (1, 34), (1200, 1200)]
        {
            let (w, b) = (vec![0.5; h * d], vec![0.5; h]);
            let (mut dw, mut db) = (w.clone(), b.clone());
            let [mut x, mut dx] = [(); 2].map(|()| TileStorage::for_columns(d));
            let [mut z, mut dz] = [(); 2].map(|()| TileStorage::for_columns(h));
            x.fill(0.5);
            dz.fill(0.5);
            let flops = (2 * h * d * s) as f64;
            let repeats = (4e6 / flops).ceil() as usize;
            let rate = |run: &mut dyn FnMut()| {
                let mut seconds: Vec<f64> = (0..31)
                    .map(|_| {
                        let start = std::time::Instant::now();
                        (0..repeats).for_each(|_| run());
                        start.elapsed().as_secs_f64() / repeats as f64
                    })
                    .collect();
                seconds.sort_by(f64::total_cmp);
                flops / seconds[15] / 1e9
            };
            at_every_level(|level| {
                let f = rate(&mut || forward(&w, &b, black_box(&x), s, &mut z));
                let i = rate(&mut || backward_inputs(&w, black_box(&dz), s, &mut dx));
                let g = rate(&mut || backward_weights(black_box(&dz), &x, s, &mut dw, &mut db));
                let rates = format!("forward {f:.1}, inputs {i:.1}, weights {g:.1} GFLOP/s");
                println!("{h} <- {d}, {level:?}: {rates}");
            });
        }
    }
}

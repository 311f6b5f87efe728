//! Phi^T Phi and Y^T Phi of tiles, summed over rows: the sums for least squares.
//!
//! With Phi `[R x H]`, a column of ones if there is a bias, and Y `[R x K]`. The matrix is symmetric, and only its
//! lower triangle is computed, in panels of eight columns against all columns up to their own: about R H^2
//! floating-point operations. As with the weights of a layer ([`dense`]), every sum is a vector whose lanes are
//! added up once for all tiles; wide matrices are products by [`gemm`], of a panel with all columns from its first
//! on. Products and their sums are computed in `F`, f64 or f32; results are f64.

use std::ops::Range;

use super::gemm::{Matrix, gemm};
use super::simd::{Real, Vector};
use super::{TileStorage, dense};

/// Columns of a panel.
const PANEL: usize = 8;
fn panels(units: usize) -> impl Iterator<Item = Range<usize>> {
    (0..units).step_by(PANEL).map(move |first| first..units.min(first + PANEL))
}

/// Columns of a panel of a wide matrix: four registers.
const fn wide_panel<F: Real>() -> usize {
    4 * F::LANES
}

/// The least width in f32 at which sums are products by [`gemm`]: there the lanes of all sums outgrow a second-level
/// cache of a megabyte.
const WIDE_IN_F32: usize = 160;

/// Whether sums are products by [`gemm`].
fn is_wide<F: Real>(units: usize) -> bool {
    if F::IS_F64 { dense::is_wide(units, units) } else { units >= WIDE_IN_F32 }
}

/// The number of entries that the sums of Phi take.
fn n_sums<F: Real>(units: usize) -> usize {
    let lanes = F::LANES;
    if is_wide::<F>(units) {
        return (units * units).next_multiple_of(lanes) + lanes * units;
    }
    lanes * panels(units).map(|panel| panel.len() * (panel.end + 1)).sum::<usize>()
}

/// The sums of one evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Gram<F: Real> {
    units: usize,
    outputs: usize,
    bias: bool,
    sums: TileStorage<F>,
    rows: usize,
}

impl<F: Real> Gram<F> {
    /// For Phi of `units` columns, besides the column of ones if there is a `bias`, and Y of `outputs`.
    pub(crate) fn new(units: usize, outputs: usize, bias: bool) -> Self {
        let numbers = n_sums::<F>(units) + F::LANES * outputs * (units + 1);
        Self { units, outputs, bias, sums: TileStorage::zeros(numbers), rows: 0 }
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
    }

    /// The number of rows that were added.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds the `rows` of a tile, given by the columns of Phi with zeros in the padding, without the ones, and of Y.
    pub(crate) fn add(&mut self, phi: &[F], y: &[F], rows: usize) {
        add(phi, y, phi.len() / self.units, &mut self.sums, self.rows == 0);
        self.rows += rows;
    }

    /// Overwrites `gram` by Phi^T Phi `[m x m]`, m = H + 1 with a bias and H without, and `cross` by Y^T Phi
    /// `[K x H]`, row-major, followed by Y^T 1 `[K]` with a bias. At least one tile was added.
    pub(crate) fn write(&self, gram: &mut [f64], cross: &mut [f64]) {
        gram.fill(0.0);
        cross.fill(0.0);
        self.add_to(gram, cross);
    }

    /// Adds what [`write`](Self::write) would write.
    pub(crate) fn add_to(&self, gram: &mut [f64], cross: &mut [f64]) {
        let m = self.units + usize::from(self.bias);
        add_sums(&self.sums, self.units, self.outputs, self.bias, gram, cross);
        if self.bias {
            gram[m * m - 1] += self.rows as f64;
        }
        for i in 0..m {
            for j in 0..i {
                gram[j * m + i] = gram[i * m + j];
            }
        }
    }
}

dispatch! {
    fn add<F>(phi: &[F], y: &[F], stride: usize, sums: &mut [F], fresh: bool) => add_body
}
dispatch! {
    fn add_sums<F>(
        sums: &[F], units: usize, outputs: usize, bias: bool, gram: &mut [f64], cross: &mut [f64],
    ) => add_sums_body
}

#[inline(always)]
fn add_body<F: Real, V: Vector<F>>(
    level: V::Level,
    phi: &[F],
    y: &[F],
    stride: usize,
    sums: &mut [F],
    fresh: bool,
) {
    let units = phi.len() / stride;
    let (of_phi, of_y) = sums.split_at_mut(n_sums::<F>(units));
    if is_wide::<F>(units) {
        let (square, ones) = of_phi.split_at_mut((units * units).next_multiple_of(F::LANES));
        for first in (0..units).step_by(wide_panel::<F>()) {
            let columns = wide_panel::<F>().min(units - first);
            let below = Matrix::rows(&phi[first * stride..], stride);
            let panel = below.transposed();
            let sums = &mut square[first * units + first..];
            gemm([units - first, columns, stride], F::ONE, [below, panel], sums, units, !fresh);
        }
        dense::backward_weights::<F, V>(level, [units, 0], [phi, &[]], stride, ones, true, fresh);
    } else {
        let mut rest = of_phi;
        for panel in panels(units) {
            let n = F::LANES * panel.len() * (panel.end + 1);
            let (of_panel, below) = rest.split_at_mut(n);
            let (dz, x) =
                (&phi[panel.start * stride..panel.end * stride], &phi[..panel.end * stride]);
            let size = [panel.len(), panel.end];
            dense::backward_weights::<F, V>(level, size, [dz, x], stride, of_panel, true, fresh);
            rest = below;
        }
    }
    let size = [y.len() / stride, units];
    dense::backward_weights::<F, V>(level, size, [y, phi], stride, of_y, true, fresh);
}

#[inline(always)]
fn add_sums_body<F: Real, V: Vector<F>>(
    level: V::Level,
    sums: &[F],
    units: usize,
    outputs: usize,
    bias: bool,
    gram: &mut [f64],
    cross: &mut [f64],
) {
    let m = units + usize::from(bias);
    let (of_phi, of_y) = sums.split_at(n_sums::<F>(units));
    let (rows, ones) = gram.split_at_mut(units * m);
    if is_wide::<F>(units) {
        let (square, of_ones) = of_phi.split_at((units * units).next_multiple_of(F::LANES));
        let of_rows = rows.chunks_exact_mut(m).zip(square.chunks_exact(units));
        for (i, (row, from)) in of_rows.enumerate() {
            for (to, from) in row[..=i].iter_mut().zip(from) {
                *to += from.wide();
            }
        }
        for (one, lanes) in ones.iter_mut().take(units).zip(V::chunks(of_ones)) {
            *one += V::load(level, lanes).sum().wide();
        }
    } else {
        let mut rest = of_phi;
        for panel in panels(units) {
            let n = F::LANES * panel.len() * (panel.end + 1);
            let (of_panel, below) = rest.split_at(n);
            let (weights, of_ones) = V::chunks(of_panel).split_at(panel.len() * panel.end);
            for (i, weights) in panel.clone().zip(weights.chunks_exact(panel.end)) {
                for (to, lanes) in rows[i * m..][..=i].iter_mut().zip(weights) {
                    *to += V::load(level, lanes).sum().wide();
                }
            }
            for (one, lanes) in ones.iter_mut().skip(panel.start).zip(&of_ones[..panel.len()]) {
                *one += V::load(level, lanes).sum().wide();
            }
            rest = below;
        }
    }
    dense::add_lanes::<F, V>(level, of_y, dense::is_wide(outputs, units), cross);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::TileMut;
    use crate::engine::simd::testing::at_every_level;
    use crate::rng::ChainRng;

    #[test]
    fn sums_in_f64_are_those_of_triple_loops_at_every_level() {
        sums_are_those_of_triple_loops::<f64>(1e-12);
    }

    #[test]
    fn sums_in_f32_are_those_of_triple_loops_at_every_level() {
        sums_are_those_of_triple_loops::<f32>(2e-5);
    }

    fn sums_are_those_of_triple_loops<F: Real>(tolerance: f64) {
        let mut rng = ChainRng::new(3, 0);
        for (units, outputs) in
            [(1, 1), (3, 2), (8, 1), (9, 1), (17, 3), (99, 1), (104, 2), (101, 101), (170, 1)]
        {
            for bias in [true, false] {
                let m = units + usize::from(bias);
                let tiles = [24, 5].map(|rows| {
                    let stride = crate::engine::padded(rows);
                    [units, outputs].map(|columns| {
                        let mut values = vec![0.0; columns * stride];
                        rng.fill_normal(&mut values);
                        TileMut::new(&mut values, rows).clear_padding();
                        (values, rows)
                    })
                });
                let column = |values: &[f64], rows: usize, j: usize| -> Vec<f64> {
                    let stride = crate::engine::padded(rows);
                    if j * stride < values.len() {
                        values[j * stride..j * stride + rows].to_vec()
                    } else {
                        vec![1.0; rows]
                    }
                };
                let sum = |with_y: bool, i: usize, j: usize| -> f64 {
                    let of_tile = |[phi, y]: &[(Vec<f64>, usize); 2]| {
                        let left = if with_y { y } else { phi };
                        let (a, b) = (column(&left.0, left.1, i), column(&phi.0, phi.1, j));
                        a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>()
                    };
                    tiles.iter().map(of_tile).sum()
                };
                let all = |with_y, rows: usize| -> Vec<f64> {
                    (0..rows * m).map(|at| sum(with_y, at / m, at % m)).collect()
                };
                let (of_phi, of_y) = (all(false, m), all(true, outputs));
                at_every_level(|level| {
                    let mut sums = Gram::<F>::new(units, outputs, bias);
                    sums.sums.fill(F::of(f64::NAN));
                    let (mut gram, mut cross) =
                        (vec![f64::NAN; m * m], vec![f64::NAN; outputs * m]);
                    for _ in 0..2 {
                        sums.clear();
                        for [(phi, rows), (y, _)] in &tiles {
                            let stride = crate::engine::padded(*rows);
                            let [phi, y] = [phi, y].map(|columns| {
                                let mut to = vec![
                                    F::default();
                                    columns.len() / stride * F::stride_of(stride)
                                ];
                                F::copy_in(columns, stride, &mut to);
                                to
                            });
                            sums.add(&phi, &y, *rows);
                        }
                        sums.write(&mut gram, &mut cross);
                    }
                    for i in 0..m {
                        for j in 0..m {
                            let error = (gram[i * m + j] - of_phi[i * m + j]).abs();
                            assert!(
                                error < tolerance,
                                "{level:?} {units} {bias}: {i}, {j}: {error}"
                            );
                        }
                    }
                    for k in 0..outputs {
                        for j in 0..m {
                            let at = if j < units { k * units + j } else { outputs * units + k };
                            let error = (cross[at] - of_y[k * m + j]).abs();
                            assert!(
                                error < tolerance,
                                "{level:?} {units} {bias}: y {k}, {j}: {error}"
                            );
                        }
                    }
                });
            }
        }
    }
}

//! Phi^T Phi and Y^T Phi of tiles, summed over rows: the sums for least squares.
//!
//! With Phi `[R x H]`, a column of ones if there is a bias, and Y `[R x K]`. The matrix is symmetric, and only its
//! lower triangle is computed, in panels of eight columns against all columns up to their own: about R H^2
//! floating-point operations. As with the weights of a layer ([`dense`]), every sum is a vector whose lanes are
//! added up once for all tiles; wide matrices are products by [`gemm`], in wider panels.

use std::ops::Range;

use super::gemm::{Matrix, gemm};
use super::simd::{Real, Vector};
use super::{Tile, TileStorage, dense};

/// Columns of a panel.
const PANEL: usize = 8;
/// Rows of a panel of a wide matrix.
const WIDE_PANEL: usize = 32;

fn panels(units: usize) -> impl Iterator<Item = Range<usize>> {
    (0..units).step_by(PANEL).map(move |first| first..units.min(first + PANEL))
}

/// The number of entries that the sums of Phi take.
fn n_sums(units: usize) -> usize {
    let lanes = <f64 as Real>::LANES;
    if dense::is_wide(units, units) {
        return (units * units).next_multiple_of(8) + lanes * units;
    }
    lanes * panels(units).map(|panel| panel.len() * (panel.end + 1)).sum::<usize>()
}

/// The sums of one evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Gram {
    units: usize,
    outputs: usize,
    bias: bool,
    sums: TileStorage,
    rows: usize,
}

impl Gram {
    /// For Phi of `units` columns, besides the column of ones if there is a `bias`, and Y of `outputs`.
    pub(crate) fn new(units: usize, outputs: usize, bias: bool) -> Self {
        let numbers = n_sums(units) + <f64 as Real>::LANES * outputs * (units + 1);
        Self { units, outputs, bias, sums: TileStorage::zeros(numbers), rows: 0 }
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
    }

    /// Adds the rows of a tile, given by the columns of Phi with zeros in the padding, without the ones.
    pub(crate) fn add(&mut self, phi: &[f64], y: Tile) {
        add(phi, y.values(), y.stride(), &mut self.sums, self.rows == 0);
        self.rows += y.rows();
    }

    /// Overwrites `gram` by Phi^T Phi `[m x m]`, m = H + 1 with a bias and H without, and `cross` by Y^T Phi
    /// `[K x H]`, row-major, followed by Y^T 1 `[K]` with a bias. At least one tile was added.
    pub(crate) fn write(&self, gram: &mut [f64], cross: &mut [f64]) {
        let m = self.units + usize::from(self.bias);
        write(&self.sums, self.units, self.outputs, self.bias, gram, cross);
        if self.bias {
            gram[m * m - 1] = self.rows as f64;
        }
        for i in 0..m {
            for j in 0..i {
                gram[j * m + i] = gram[i * m + j];
            }
        }
    }
}

dispatch! {
    fn add(phi: &[f64], y: &[f64], stride: usize, sums: &mut [f64], fresh: bool) => add_body
}
dispatch! {
    fn write(
        sums: &[f64], units: usize, outputs: usize, bias: bool, gram: &mut [f64], cross: &mut [f64],
    ) => write_body
}

#[inline(always)]
fn add_body<V: Vector<f64>>(
    level: V::Level,
    phi: &[f64],
    y: &[f64],
    stride: usize,
    sums: &mut [f64],
    fresh: bool,
) {
    let units = phi.len() / stride;
    let (of_phi, of_y) = sums.split_at_mut(n_sums(units));
    if dense::is_wide(units, units) {
        let (square, ones) = of_phi.split_at_mut((units * units).next_multiple_of(8));
        for first in (0..units).step_by(WIDE_PANEL) {
            let rows = WIDE_PANEL.min(units - first);
            let panel = Matrix::rows(&phi[first * stride..], stride);
            let columns = Matrix::rows(phi, stride).transposed();
            let sums = &mut square[first * units..];
            gemm([rows, first + rows, stride], 1.0, [panel, columns], sums, units, !fresh);
        }
        dense::backward_weights::<f64, V>(level, phi, &[], stride, ones, true, fresh);
    } else {
        let mut rest = of_phi;
        for panel in panels(units) {
            let n = <f64 as Real>::LANES * panel.len() * (panel.end + 1);
            let (of_panel, below) = rest.split_at_mut(n);
            let (dz, x) =
                (&phi[panel.start * stride..panel.end * stride], &phi[..panel.end * stride]);
            dense::backward_weights::<f64, V>(level, dz, x, stride, of_panel, true, fresh);
            rest = below;
        }
    }
    dense::backward_weights::<f64, V>(level, y, phi, stride, of_y, true, fresh);
}

#[inline(always)]
fn write_body<V: Vector<f64>>(
    level: V::Level,
    sums: &[f64],
    units: usize,
    outputs: usize,
    bias: bool,
    gram: &mut [f64],
    cross: &mut [f64],
) {
    let m = units + usize::from(bias);
    let (of_phi, of_y) = sums.split_at(n_sums(units));
    let (rows, ones) = gram.split_at_mut(units * m);
    if dense::is_wide(units, units) {
        let (square, of_ones) = of_phi.split_at((units * units).next_multiple_of(8));
        for (row, from) in rows.chunks_exact_mut(m).zip(square.chunks_exact(units)) {
            row[..units].copy_from_slice(from);
        }
        for (one, lanes) in ones.iter_mut().take(units).zip(V::chunks(of_ones)) {
            *one = V::load(level, lanes).sum();
        }
    } else {
        let mut rest = of_phi;
        for panel in panels(units) {
            let n = <f64 as Real>::LANES * panel.len() * (panel.end + 1);
            let (of_panel, below) = rest.split_at(n);
            let (weights, of_ones) = V::chunks(of_panel).split_at(panel.len() * panel.end);
            for (i, weights) in panel.clone().zip(weights.chunks_exact(panel.end)) {
                for (to, lanes) in rows[i * m..].iter_mut().zip(weights) {
                    *to = V::load(level, lanes).sum();
                }
            }
            for (one, lanes) in ones.iter_mut().skip(panel.start).zip(&of_ones[..panel.len()]) {
                *one = V::load(level, lanes).sum();
            }
            rest = below;
        }
    }
    cross.fill(0.0);
    dense::add_lanes::<f64, V>(level, of_y, dense::is_wide(outputs, units), cross);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::TileMut;
    use crate::engine::simd::testing::at_every_level;
    use crate::rng::ChainRng;

    #[test]
    fn sums_are_those_of_triple_loops_at_every_level() {
        let mut rng = ChainRng::new(3, 0);
        for (units, outputs) in
            [(1, 1), (3, 2), (8, 1), (9, 1), (17, 3), (99, 1), (104, 2), (101, 101)]
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
                    let mut sums = Gram::new(units, outputs, bias);
                    sums.sums.fill(f64::NAN);
                    let (mut gram, mut cross) =
                        (vec![f64::NAN; m * m], vec![f64::NAN; outputs * m]);
                    for _ in 0..2 {
                        sums.clear();
                        for [(phi, rows), (y, _)] in &tiles {
                            sums.add(phi, Tile::new(y, *rows));
                        }
                        sums.write(&mut gram, &mut cross);
                    }
                    for i in 0..m {
                        for j in 0..m {
                            let error = (gram[i * m + j] - of_phi[i * m + j]).abs();
                            assert!(error < 1e-12, "{level:?} {units} {bias}: {i}, {j}: {error}");
                        }
                    }
                    for k in 0..outputs {
                        for j in 0..m {
                            let at = if j < units { k * units + j } else { outputs * units + k };
                            let error = (cross[at] - of_y[k * m + j]).abs();
                            assert!(error < 1e-12, "{level:?} {units} {bias}: y {k}, {j}: {error}");
                        }
                    }
                });
            }
        }
    }
}

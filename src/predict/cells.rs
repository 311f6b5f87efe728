//! Draws of one row and column at a time, sorted.

use ndarray::ArrayView4;

use crate::threads;

/// Rows and columns that are gathered together: the draws of neighbours share cache lines.
const BLOCK: usize = 8;

/// `f(cell, sorted draws)` of every row and column of `values` `[chain, draw, row, column]`, where
/// cell = row * columns + column. NaN lie at the ends, see [`any_nan`].
pub(super) fn map_cells<R: Send>(
    values: ArrayView4<f64>,
    f: &(dyn Fn(usize, &[f64]) -> R + Sync),
) -> Vec<R> {
    let (chains, draws, rows, columns) = values.dim();
    let (n, cells) = (chains * draws, rows * columns);
    let values = values.to_slice().expect("draws are stored in standard order");
    let blocks =
        threads::map_with(cells.div_ceil(BLOCK), &|| vec![0.0; BLOCK * n], &|gathered, block| {
            let first = block * BLOCK;
            let width = BLOCK.min(cells - first);
            for s in 0..n {
                let from = &values[s * cells + first..][..width];
                from.iter().enumerate().for_each(|(k, v)| gathered[k * n + s] = *v);
            }
            let of_cell = |k: usize| {
                let sorted = &mut gathered[k * n..(k + 1) * n];
                sorted.sort_unstable_by(f64::total_cmp);
                f(first + k, sorted)
            };
            (0..width).map(of_cell).collect::<Vec<_>>()
        });
    blocks.into_iter().flatten().collect()
}

/// Whether a value is NaN: the total order puts NaN before -inf and after inf.
pub(super) fn any_nan(sorted: &[f64]) -> bool {
    sorted.first().is_some_and(|x| x.is_nan()) || sorted.last().is_some_and(|x| x.is_nan())
}

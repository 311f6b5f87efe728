//! How far predictions of the mean function are from the exact ones.

use ndarray::{Array2, ArrayView3, Axis};

/// Mean and standard deviation of each prediction of the mean function, `[2, quantity]`.
pub fn moments(quantities: ArrayView3<f64>) -> Array2<f64> {
    let draws = quantities.len_of(Axis(0)) * quantities.len_of(Axis(1));
    let flat = quantities.to_owned().into_shape_with_order((draws, quantities.len_of(Axis(2))));
    let flat = flat.unwrap_or_default();
    let mut moments = Array2::zeros((2, flat.ncols()));
    for (i, column) in flat.columns().into_iter().enumerate() {
        moments[[0, i]] = column.mean().unwrap_or(f64::NAN);
        moments[[1, i]] = if draws > 1 { column.std(1.0) } else { 0.0 };
    }
    moments
}

/// How far predictions of the mean function are from the exact ones, by [`moments`]: the root mean
/// square difference of the means in exact standard deviations, and the mean ratio of the standard
/// deviations.
pub fn distance(own: &Array2<f64>, exact: &Array2<f64>) -> [f64; 2] {
    let n = own.ncols() as f64;
    let shift = |i: usize| ((own[[0, i]] - exact[[0, i]]) / exact[[1, i]]).powi(2);
    let ratio = |i: usize| own[[1, i]] / exact[[1, i]];
    let squares: f64 = (0..own.ncols()).map(shift).sum();
    [(squares / n).sqrt(), (0..own.ncols()).map(ratio).sum::<f64>() / n]
}

//! Predictions against the first principal component of the features, with intervals.

use bnn_mcmc::Error;
use bnn_mcmc::data::{Dataset, Standardise};
use bnn_mcmc::rng::ChainRng;
use ndarray::{Array1, Array2, Axis as Along};

use super::bands::bands;
use super::curve::Curve;
use super::{Method, percent};
use crate::figure::Figure;
use crate::figures::bins::evenly;

/// The most features whose covariance matrix is decomposed.
const EXACT: usize = 500;
/// The most squares of a covariance matrix: eigenvalues whose ratio is below 1 - 1e-9 are told apart.
const SQUARES: usize = 36;
/// The most rows, and the most iterations, that make the first principal component of more features.
const POWER: (usize, usize) = (2_000, 100);

/// Predictions against the first principal component of the standardised features, with intervals
/// of this `level`: one panel for each method, on the same axes. It is figure 6 of the FBNN paper
/// (arXiv:2312.11799), smoothed as in [`against_feature`](super::against_feature()). `data` are the
/// rows that were predicted.
///
/// With more than 500 features the component is found by up to 100 power iterations on at most
/// 2,000 rows, evenly spaced, so that time and memory are in proportion to the features.
///
/// # Errors
/// The errors of [`along`](super::along()); features whose covariance has no eigenvalues that can
/// be computed.
pub fn against_first_component(
    methods: &[Method],
    data: &Dataset,
    column: usize,
    level: f64,
) -> Result<Figure, Error> {
    let (x, share) = first_component(data)?;
    let label = format!("first principal component ({} % of variance)", percent(share));
    let title = "Predictions by the first principal component of the features";
    let figure = Figure::new("predictions-against-component", title, "");
    bands(figure, methods, (&x, &label), Curve::smooth(&x), column, level)
}

/// The scores of each row on the first principal component of the standardised features, and its
/// share of their variance. The largest loading is positive.
fn first_component(data: &Dataset) -> Result<(Vec<f64>, f64), Error> {
    let scaler = Standardise::new().allow_constant().fit_features(data)?;
    let z = scaler.transform(data.x().view())?;
    let mut loadings = match z.ncols() {
        ..=EXACT => by_covariance(&z),
        _ => by_power_iterations(&z),
    };
    let largest = loadings.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
    loadings *= largest.unwrap_or(1.0).signum();
    let scores = z.dot(&loadings);
    let squares = |values: &mut dyn Iterator<Item = &f64>| values.map(|v| v * v).sum::<f64>();
    let share = squares(&mut scores.iter()) / squares(&mut z.iter());
    Ok((scores.to_vec(), share))
}

/// The eigenvector of the largest eigenvalue of the covariance matrix of rows with mean 0: each square of the matrix
/// squares the ratios of its eigenvalues, until one is left and all columns are multiples of its vector.
fn by_covariance(z: &Array2<f64>) -> Array1<f64> {
    let mut power = z.t().dot(z);
    for _ in 0..SQUARES {
        power /= power.diag().sum();
        let next = power.dot(&power);
        // trace(A^2) = trace(A)^2 if there is one eigenvalue.
        let is_done = (next.diag().sum() - 1.0).abs() < 1e-14;
        power = next;
        if is_done {
            break;
        }
    }
    let diagonal = power.diag();
    let column = (0..z.ncols()).max_by(|i, j| diagonal[*i].total_cmp(&diagonal[*j]));
    let vector = power.column(column.unwrap_or(0)).to_owned();
    let length = vector.dot(&vector).sqrt();
    vector / length
}

/// The result of [`by_covariance`] for some of the rows, without the matrix: v <- Z^T Z v / |Z^T Z
/// v| from a start with a fixed seed, until v changes by less than 1e-9.
fn by_power_iterations(z: &Array2<f64>) -> Array1<f64> {
    let some = z.select(Along(0), &evenly(z.nrows(), POWER.0));
    let mut rng = ChainRng::new(0, 0);
    let mut v = Array1::from_shape_simple_fn(z.ncols(), || rng.normal());
    v /= v.dot(&v).sqrt();
    for _ in 0..POWER.1 {
        let mut next = some.t().dot(&some.dot(&v));
        let length = next.dot(&next).sqrt();
        if !(length > 0.0 && length.is_finite()) {
            break;
        }
        next /= length;
        let change = (&next - &v).mapv(f64::abs).sum();
        v = next;
        if change < 1e-9 {
            break;
        }
    }
    v
}

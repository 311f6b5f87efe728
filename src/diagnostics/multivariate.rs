//! The multivariate R-hat: do the chains agree in every linear combination of the parameters?

use ndarray::{Array2, ArrayView2, ArrayView3, Axis, s};

use crate::Error;
use crate::linalg::cholesky::Cholesky;
use crate::linalg::svd::Svd;

/// The share of a parameter's variance within chains that the parameters before it must leave
/// unexplained. Below, W is singular except for rounding.
const UNEXPLAINED: f64 = 1e-10;

/// The multivariate R-hat, R^p, of the split chains of `[chain, draw, parameter]`.
///
/// Each chain is cut into two halves, an odd middle draw dropped, as for
/// [`rhat_split`](super::rhat_split).
///
/// For m chains of n draws of d parameters, with B/n the covariance of the chain means (m - 1 in
/// the denominator) and W the mean of the chain covariances (n - 1 in the denominator), both
/// `[d x d]`, and lambda_1 the largest eigenvalue of W^-1 B/n,
///
/// R^p = (n - 1)/n + (m + 1)/m lambda_1
///
/// (Brooks and Gelman 1998, doi:10.1080/10618600.1998.10474787). It is the largest ratio
/// a^T V a / a^T W a over all directions a, with V = (n - 1)/n W + (m + 1)/m B/n the estimate of
/// the posterior covariance. So it does not change under linear maps of the parameters, and is not
/// smaller than the ratio of any single one.
///
/// **It is a ratio of variances**, as in that paper: compare its square root with the limits for
/// R-hat. For d = 1, with m chains, it is R^2 + B/(m n W), R being
/// [`rhat_split`](super::rhat_split) or [`rhat_base`](super::rhat_base), which leave out the factor
/// (m + 1)/m. Over d directions the largest is chosen: of independent draws R^p - 1 is about
/// (1 + sqrt(d/(m - 1)))^2 / n for d large against 1, and not 0.
///
/// With L L^T = W and M `[m x d]` the chain means less their mean, lambda_1 is the largest squared
/// singular value of L^-1 M^T / sqrt(m - 1). Time m n d^2 + d^3, memory n d + d^2.
///
/// When not to use it: W must be regular, so that there are at most m (n - 1) parameters, none
/// constant, none a linear combination of others. Moments must exist. For a network's weights, use
/// it on [canonical](super::Canonical) draws.
///
/// ```
/// use bnn_mcmc::diagnostics::{rhat_multivariate, rhat_split};
/// use ndarray::{Array3, s};
/// // Two chains agree in x and in y, nearly, but not in x - y.
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// let mut draws = Array3::zeros((2, 1000, 2));
/// for (k, q) in draws.rows_mut().into_iter().enumerate() {
///     let (common, shift) = (rng.normal(), if k < 1000 { 0.05 } else { -0.05 });
///     let (x, y) = (common + shift + 0.02 * rng.normal(), common - shift + 0.02 * rng.normal());
///     ndarray::array![x, y].assign_to(q);
/// }
/// assert!(rhat_split(draws.slice(s![.., .., 0])) < 1.02);
/// assert!(rhat_multivariate(draws.view())?.sqrt() > 2.0);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// Fewer than 2 chains or 4 draws, no parameter or too many, draws that are not finite, and
/// parameters that are constant within all chains or linear combinations of others.
pub fn rhat_multivariate(draws: ArrayView3<f64>) -> Result<f64, Error> {
    check(draws)?;
    let (n, half) = (draws.len_of(Axis(1)), draws.len_of(Axis(1)) / 2);
    let halves =
        |chain| [draws.slice(s![chain, ..half, ..]), draws.slice(s![chain, n - half.., ..])];
    of_chains(&(0..draws.len_of(Axis(0))).flat_map(halves).collect::<Vec<_>>())
}

/// The multivariate R-hat of the chains of `[chain, draw, parameter]` as they are, not split: the
/// form of Brooks and Gelman. See [`rhat_multivariate`] for the formula.
///
/// # Errors
/// The errors of [`rhat_multivariate`].
pub fn rhat_multivariate_base(draws: ArrayView3<f64>) -> Result<f64, Error> {
    check(draws)?;
    of_chains(&draws.outer_iter().collect::<Vec<_>>())
}

fn check(draws: ArrayView3<f64>) -> Result<(), Error> {
    let (chains, n, d) = draws.dim();
    if chains < 2 || n < 4 || d == 0 {
        let found = format!("{chains} chains of {n} draws of {d} parameters");
        return Err(Error::shape("draws", found, "at least 2 chains of 4 draws of 1 parameter"));
    }
    if let Some((at, x)) = draws.indexed_iter().find(|(_, x)| !x.is_finite()) {
        let found = format!("{x} in chain {}, draw {}, parameter {}", at.0, at.1, at.2);
        return Err(Error::argument("draws", found, "finite"));
    }
    Ok(())
}

/// R^p of chains `[draw, parameter]`.
fn of_chains(chains: &[ArrayView2<f64>]) -> Result<f64, Error> {
    let (m, n, d) = (chains.len(), chains[0].nrows(), chains[0].ncols());
    let degrees = m * (n - 1);
    if d > degrees {
        let allowed = format!("at most {degrees} for {m} (split) chains of {n} draws");
        return Err(Error::argument("number of parameters", d, allowed));
    }
    let mut within = Array2::<f64>::zeros((d, d));
    let mut means = Array2::<f64>::zeros((m, d));
    let mut constant = vec![true; d];
    for (chain, mut mean) in chains.iter().zip(means.rows_mut()) {
        // Relative to the first draw, so that equal draws leave no rounding noise.
        let first = chain.row(0);
        let shifted = chain - &first;
        let mean_shifted = shifted.sum_axis(Axis(0)) / n as f64;
        let centred = &shifted - &mean_shifted;
        within += &centred.t().dot(&centred);
        (&mean_shifted + &first).assign_to(&mut mean);
        for (constant, column) in constant.iter_mut().zip(shifted.columns()) {
            *constant &= column.iter().all(|x| *x == 0.0);
        }
    }
    let allowed = "such that W is regular";
    if let Some(p) = constant.iter().position(|c| *c) {
        let found = format!("constant in parameter {p} (counted from 0) within every chain");
        return Err(Error::argument("draws", found, allowed));
    }
    // In units of each parameter's standard deviation within chains.
    let sd: Vec<f64> = (0..d).map(|i| (within[(i, i)] / degrees as f64).sqrt()).collect();
    if let Some(p) = sd.iter().position(|sd| !sd.is_normal()) {
        let found = format!("too large or too small to be squared in parameter {p}");
        return Err(Error::argument("draws", found, allowed));
    }
    let scaled: Vec<f64> =
        within.indexed_iter().map(|((i, j), w)| w / degrees as f64 / sd[i] / sd[j]).collect();
    let centre = means.sum_axis(Axis(0)) / m as f64;
    let mut whitened = (means - &centre) / (m as f64 - 1.0).sqrt();
    for (mut column, sd) in whitened.columns_mut().into_iter().zip(&sd) {
        column /= *sd;
    }
    let singular = |what: String| {
        let found = format!("such that {what} is a linear combination of others");
        Err(Error::argument("draws", found, allowed))
    };
    let Ok(factor) = Cholesky::new("W", &scaled, d) else {
        return singular("some parameter".into());
    };
    if let Some(p) = (0..d).find(|i| factor.lower()[i * d + i].powi(2) < UNEXPLAINED) {
        return singular(format!("parameter {p} (counted from 0)"));
    }
    for mut row in whitened.rows_mut() {
        factor.solve_lower(row.as_slice_mut().expect("rows of a new array are contiguous"));
    }
    let largest = Svd::new("whitened chain means", whitened.t())?.values[0].powi(2);
    let (m, n) = (m as f64, n as f64);
    Ok((n - 1.0) / n + (m + 1.0) / m * largest)
}

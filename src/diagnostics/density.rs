//! Kernel density estimates of draws, evaluated on a grid.

use ndarray::{Array1, ArrayView2};
use serde::{Deserialize, Serialize};
use statrs::function::beta::ln_beta;

use super::chains::mean_and_variance;
use super::quantile::quantile;
use crate::Error;
use crate::error::{finite, positive};

/// A density estimated on a grid. From [`density`] and [`density_on_box`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Density {
    /// The points of the grid, equidistant and ascending.
    pub x: Array1<f64>,
    /// The density at each x.
    pub density: Array1<f64>,
    /// The bandwidth: h of Gaussian kernels, in the unit of x, or b of Beta kernels, on the scale of
    /// [0, 1].
    pub bandwidth: f64,
}

/// The density of all draws of `[chain, draw]` by Gaussian kernels, at `points` points from four
/// bandwidths below the smallest draw to four above the largest.
///
/// `bandwidth` is h, in the unit of the draws:
///
/// ```text
/// f(x) = 1/n sum_i phi((x - X_i) / h) / h,   h = 0.9 min(sd, IQR / 1.34) n^(-1/5)
/// ```
///
/// `None` is Silverman's rule, the h of the second equation (*Density Estimation for Statistics and
/// Data Analysis*, 1986, eq. 3.31). It suits one hump; on several far apart it is too wide. It takes
/// draws for independent; a bandwidth for autocorrelated draws, with n the
/// [effective sample size](super::ess_bulk), is somewhat larger.
///
/// Cost: n times the number of points. Not for a density that ends at a bound without vanishing
/// there: half of each kernel falls outside, and the estimate at the bound is half as large as it
/// should be. Use [`density_on_box`] then.
///
/// ```
/// use bnn_mcmc::diagnostics::density;
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// let normal = ndarray::Array2::from_shape_simple_fn((4, 2000), || rng.normal());
/// let estimate = density(normal.view(), None, 201)?;
/// let mode = (0..201).max_by(|i, j| estimate.density[*i].total_cmp(&estimate.density[*j]));
/// assert!(estimate.x[mode.unwrap()].abs() < 0.3);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// Fewer than 2 draws or points, draws that are not finite or all equal, and a bandwidth that is not
/// a positive number.
pub fn density(
    draws: ArrayView2<f64>,
    bandwidth: Option<f64>,
    points: usize,
) -> Result<Density, Error> {
    let draws = sorted(draws, points)?;
    let h = match bandwidth {
        Some(h) => positive("bandwidth", h)?,
        None => positive("bandwidth by Silverman's rule", silverman(&draws))?,
    };
    let (low, high) = (draws[0] - 4.0 * h, draws[draws.len() - 1] + 4.0 * h);
    if !(high - low).is_finite() {
        return Err(Error::argument("bandwidth", h, "such that the grid is finite"));
    }
    let x = Array1::linspace(low, high, points);
    let scale = 1.0 / (std::f64::consts::TAU.sqrt() * h * draws.len() as f64);
    let density = x.mapv(|x| {
        // Kernels further away than 39 h are zero in f64.
        let start = draws.partition_point(|d| *d < x - 39.0 * h);
        let near = draws[start..].iter().take_while(|d| **d <= x + 39.0 * h);
        scale * near.map(|d| (-0.5 * ((x - d) / h).powi(2)).exp()).sum::<f64>()
    });
    Ok(Density { x, density, bandwidth: h })
}

/// The density of all draws of `[chain, draw]`, which lie in [`lower`, `upper`], by Beta kernels,
/// which stay inside, at `points` points from bound to bound.
///
/// `bandwidth` is b, above 0 and at most 1/4. With draws and x scaled to [0, 1], and K_(p,q) the
/// density of Beta(p, q),
///
/// ```text
/// f(x) = 1/n sum_i K_x(X_i)
/// K_x = K_(rho(x), (1-x)/b)   for x < 2b
///       K_(x/b, (1-x)/b)      for 2b <= x <= 1 - 2b
///       K_(x/b, rho(1-x))     for x > 1 - 2b
/// rho(x) = 2 b^2 + 5/2 - sqrt(4 b^4 + 6 b^2 + 9/4 - x^2 - x/b)
/// ```
///
/// the second estimator f_2 of Chen, Comput. Stat. Data Anal. 31, 1999,
/// doi:10.1016/S0167-9473(99)00010-9, whose bias at the bounds is of the order of b as elsewhere. The
/// kernel at x has about the variance b x (1 - x). `None` is the b that makes these variances on
/// average equal to the variances of Silverman's Gaussian kernels (see [`density`]),
/// b = h^2 / mean(X (1 - X)), cut to 1/4. The integral of f_2 is not exactly 1: 0.9997 for 8,000
/// uniform draws. Cost: n times the number of points.
///
/// ```
/// use bnn_mcmc::diagnostics::density_on_box;
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// let uniform = ndarray::Array2::from_shape_simple_fn((4, 2000), || rng.uniform());
/// let right = density_on_box(uniform.view(), 0.0, 1.0, None, 101)?;
/// assert!((right.density[0] - 1.0).abs() < 0.3);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// The errors of [`density`]; bounds that are not finite or in the wrong order, and draws outside
/// them.
pub fn density_on_box(
    draws: ArrayView2<f64>,
    lower: f64,
    upper: f64,
    bandwidth: Option<f64>,
    points: usize,
) -> Result<Density, Error> {
    finite("lower", lower)?;
    finite("upper", upper)?;
    let width = upper - lower;
    if !(width > 0.0 && width.is_finite()) {
        let allowed = "lower < upper, of finite width";
        return Err(Error::argument("box", format!("[{lower}, {upper}]"), allowed));
    }
    let mut draws = sorted(draws, points)?;
    for outside in [draws[0], draws[draws.len() - 1]] {
        if outside < lower || outside > upper {
            return Err(Error::argument("a draw", outside, format!("in [{lower}, {upper}]")));
        }
    }
    draws.iter_mut().for_each(|x| *x = ((*x - lower) / width).min(1.0));
    let b = match bandwidth {
        Some(b) if b > 0.0 && b <= 0.25 => b,
        Some(b) => return Err(Error::argument("bandwidth", b, "above 0, at most 0.25")),
        None => {
            let spread = draws.iter().map(|x| x * (1.0 - x)).sum::<f64>() / draws.len() as f64;
            // All draws at the two bounds leave the spread zero.
            let b = silverman(&draws).powi(2) / spread;
            positive("bandwidth by Silverman's rule", b.min(0.25))?
        }
    };
    let logs: Vec<(f64, f64)> = draws.iter().map(|x| (x.ln(), (-x).ln_1p())).collect();
    let unit = Array1::linspace(0.0, 1.0, points);
    let density = unit.mapv(|x| {
        let p = if x < 2.0 * b { rho(x, b) } else { x / b } - 1.0;
        let q = if 1.0 - x < 2.0 * b { rho(1.0 - x, b) } else { (1.0 - x) / b } - 1.0;
        let log_beta = ln_beta(p + 1.0, q + 1.0);
        // 0 times the logarithm of a draw at the bound is 0.
        let power = |power: f64, log: f64| if power == 0.0 { 0.0 } else { power * log };
        let kernel =
            |(log, log_rest): &(f64, f64)| (power(p, *log) + power(q, *log_rest) - log_beta).exp();
        logs.iter().map(kernel).sum::<f64>() / (draws.len() as f64 * width)
    });
    Ok(Density { x: Array1::linspace(lower, upper, points), density, bandwidth: b })
}

/// Chen's rho: 1 at x = 0, x/b at x = 2b.
fn rho(x: f64, b: f64) -> f64 {
    let root = 4.0 * b.powi(4) + 6.0 * b * b + 2.25 - x * x - x / b;
    // At least 1 except for rounding: a smaller exponent would be a pole at the bound.
    (2.0 * b * b + 2.5 - root.sqrt()).max(1.0)
}

/// All draws in ascending order.
fn sorted(draws: ArrayView2<f64>, points: usize) -> Result<Vec<f64>, Error> {
    if !(2..=1_000_000).contains(&points) {
        return Err(Error::argument("points", points, "2 to 1,000,000"));
    }
    if draws.len() < 2 {
        return Err(Error::argument("number of draws", draws.len(), "at least 2"));
    }
    if let Some(x) = draws.iter().find(|x| !x.is_finite()) {
        return Err(Error::argument("a draw", x, "a finite number"));
    }
    let mut draws: Vec<f64> = draws.iter().copied().collect();
    draws.sort_unstable_by(f64::total_cmp);
    let constant = draws[0] == draws[draws.len() - 1];
    if constant {
        let found = format!("{} at every place", draws[0]);
        return Err(Error::argument("draws", found, "not all equal"));
    }
    Ok(draws)
}

/// Silverman's bandwidth of ascending draws. Where more than half of them are equal, as of a chain
/// that hardly moved, the interquartile range is zero and the standard deviation alone counts.
fn silverman(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    let (_, variance) = mean_and_variance(sorted);
    let iqr = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.34;
    let sd = variance.sqrt();
    0.9 * if iqr > 0.0 { sd.min(iqr) } else { sd } * n.powf(-0.2)
}

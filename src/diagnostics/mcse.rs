//! Monte Carlo standard errors: how far may an estimate from these draws be off?

use ndarray::ArrayView2;
use statrs::function::gamma::ln_gamma;

use super::chains::{Chains, mean, mean_and_variance, mean_of};
use super::workspace::Workspace;
use super::{ess_mean, ess_sd};

/// The probabilities one standard deviation below and above the mean of a normal distribution, to
/// the digits that ArviZ uses.
const ONE_SD: (f64, f64) = (0.158_655_3, 0.841_344_7);

/// The Monte Carlo standard error of the mean of `[chain, draw]`.
///
/// It is sd / sqrt([`ESS_mean`](ess_mean)), with sd the standard deviation of all draws (S - 1 in the
/// denominator; Vehtari et al. 2021, doi:10.1214/20-BA1221, section 4). NaN for any NaN among the
/// draws or fewer than 4 draws. It equals arviz-stats 0.8.0.
///
/// ```
/// use bnn_mcmc::diagnostics::{mcse_mean, mcse_median};
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// let draws = ndarray::Array2::from_shape_simple_fn((4, 2500), || rng.normal());
/// assert!((mcse_mean(draws.view()) - 0.01).abs() < 0.002);
/// assert!(mcse_median(draws.view()) > mcse_mean(draws.view()));
/// ```
pub fn mcse_mean(draws: ArrayView2<f64>) -> f64 {
    let chains = Chains::new(draws);
    mean_and_variance(&chains.values).1.sqrt() / ess_mean(draws).sqrt()
}

/// The Monte Carlo standard error of the standard deviation of `[chain, draw]`.
///
/// By the delta method it is sqrt((m4 - m2^2) / (4 m2 ESS_sd)), with m_k the central moments of all
/// draws and [`ESS_sd`](ess_sd) the effective sample size of (x - mean)^2 (Vehtari et al. 2021,
/// doi:10.1214/20-BA1221, section 4). NaN for any NaN among the draws, fewer than 4 draws, or draws
/// that are all equal.
///
/// **One deviation** from arviz-stats 0.8.0: ArviZ divides by the ESS of x instead of the ESS of
/// (x - mean)^2, whose mean is being estimated. That misjudges the error wherever scale mixes faster
/// or slower than location does.
pub fn mcse_sd(draws: ArrayView2<f64>) -> f64 {
    let chains = Chains::new(draws);
    let mean = mean(&chains.values);
    let m2 = mean_of(&chains.values, |x| (x - mean).powi(2));
    let m4 = mean_of(&chains.values, |x| (x - mean).powi(4));
    ((m4 - m2 * m2) / ess_sd(draws) / m2 / 4.0).sqrt()
}

/// The Monte Carlo standard error of the median of `[chain, draw]`: [`mcse_quantile`] at 1/2.
pub fn mcse_median(draws: ArrayView2<f64>) -> f64 {
    mcse_quantile(draws, 0.5)
}

/// The Monte Carlo standard error of the quantile at `p` of `[chain, draw]`.
///
/// It is half the width between the order statistics at the 15.87% and 84.13% quantiles of
/// Beta(ESS p + 1, ESS (1 - p) + 1), with ESS the effective sample size of the quantile
/// ([`ess_quantile`](super::ess_quantile); Vehtari et al. 2021, doi:10.1214/20-BA1221, section 4).
/// NaN for any NaN among the draws, fewer than 4 draws, or `p` outside [0, 1].
///
/// **One deviation** from arviz-stats 0.8.0: where the ESS is NaN, so is the error; ArviZ gives half
/// the range of the draws.
pub fn mcse_quantile(draws: ArrayView2<f64>, p: f64) -> f64 {
    let chains = Chains::new(draws);
    if !chains.are_usable(1) {
        return f64::NAN;
    }
    let mut workspace = Workspace::for_one();
    workspace.load(&chains);
    let ess = workspace.ess_quantile(&chains, p);
    if ess.is_nan() {
        return f64::NAN;
    }
    let (a, b) = (ess * p + 1.0, ess * (1.0 - p) + 1.0);
    let sorted = workspace.sorted();
    let size = sorted.len() as f64;
    let low = beta_quantile(a, b, ONE_SD.0) * size - 1.0;
    let high = beta_quantile(a, b, ONE_SD.1) * size - 1.0;
    let low = sorted.value(low.max(0.0).floor() as usize);
    let high = sorted.value(high.min(size - 1.0).max(0.0).ceil() as usize);
    (high - low) / 2.0 //~ quantile-width
}

/// The quantile at `p` of Beta(a, b), for a, b >= 1, by bisection.
fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let ln_beta = ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if beta_cdf(a, b, ln_beta, middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function I_x(a, b), 0 < x < 1, by its continued fraction
/// (DLMF 8.17.22) evaluated by Lentz's method.
///
/// The one in statrs stops after 140 terms, too few for a + b above some 1e4.
fn beta_cdf(a: f64, b: f64, ln_beta: f64, x: f64) -> f64 {
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_cdf(b, a, ln_beta, 1.0 - x);
    }
    let away_from_0 = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d, mut fraction) = (1.0, 0.0, 1.0);
    for term in 0..100_000 {
        let m = f64::from(term / 2);
        let numerator = if term == 0 {
            1.0
        } else if term % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / away_from_0(1.0 + numerator * d);
        c = away_from_0(1.0 + numerator / c);
        fraction *= c * d;
        if (1.0 - c * d).abs() < 1e-15 {
            break;
        }
    }
    (a * x.ln() + b * (-x).ln_1p() - ln_beta).exp() / a * (fraction - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beta_quantiles_equal_those_of_scipy() {
        // scipy.stats.beta.ppf(p, a, b)
        for (a, b, p, expected) in [
            (1.0, 1.0, 0.158_655_3, 0.158_655_3),
            (1.0, 401.0, 0.841_344_7, 0.004_580_552_819_264_199),
            (20.5, 360.25, 0.158_655_3, 0.042_355_476_641_614_25),
            (500_001.0, 500_001.0, 0.841_344_7, 0.500_499_999_404_806_4),
            (95_001.0, 5_001.0, 0.158_655_3, 0.949_301_765_563_642_7),
        ] {
            approx::assert_relative_eq!(beta_quantile(a, b, p), expected, max_relative = 1e-9);
        }
    }
}

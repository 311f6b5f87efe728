//! Effective sample sizes: how many independent draws are these worth?

use ndarray::ArrayView2;

use super::autocorr::LagProducts;
use super::chains::{Chains, mean, mean_and_variance};
use super::geyer::{DenseLags, of_indicator, of_series};
use super::workspace::Workspace;

/// The tail probabilities of [`ess_tail`], 5% and 95%.
pub const TAIL: (f64, f64) = (0.05, 0.95);

/// The bulk effective sample size of `[chain, draw]`: how many independent draws would tell as much
/// about location.
///
/// With W and var+ = W (n-1)/n + B/n as for R-hat, and acov_t the autocovariance at lag t, averaged
/// over m chains of n draws, the correlation at lag t is
///
/// rho_t = 1 - (W - acov_t) / var+,   tau = -1 + 2 sum_{t=0}^{T} rho_t + rho_{T+1},
///
/// and ESS = m n / tau (Vehtari et al. 2021, doi:10.1214/20-BA1221). The sum ends with the last
/// pair rho_{2k} + rho_{2k+1} that is positive (the initial positive sequence), and pairs that
/// exceed their predecessor are lowered to it (the initial monotone sequence; Geyer 1992,
/// doi:10.1214/ss/1177011137). The last even term is added once where it is positive. tau is not
/// let below 1 / log10(m n), which bounds the ESS of antithetic chains by m n log10(m n).
///
/// Each chain is split into halves first. Then the effective sample sizes differ in the function of
/// the draws x that they are of:
///
/// | function | estimates the precision of | chains of |
/// | --- | --- | --- |
/// | [`ess_bulk`] | location, in general | normal scores of ranks |
/// | [`ess_tail`] | the 5% and 95% quantiles | 1[x <= q05], 1[x <= q95]: the smaller |
/// | [`ess_mean`] | the mean | x |
/// | [`ess_sd`] | the standard deviation | (x - mean)^2 |
/// | [`ess_quantile`], [`ess_median`] | a quantile q | 1[x <= q] |
/// | [`ess_local`] | the probability of an interval | 1[q_low <= x <= q_high] |
///
/// [`ess_per_chain`] is another definition, which papers on Bayesian neural networks report.
///
/// All but the last equal arviz-stats 0.8.0, which also defines the edge cases: NaN for any NaN or
/// fewer than 4 draws; m n where all values are equal. **Deviations**:
/// - ArviZ takes values for equal when they span less than 1e-15, whatever their magnitude: draws
///   of the order of 1e-16, or [`ess_sd`] of draws of the order of 1e-8, count as independent. Here
///   the span is compared with 1e-15 times the largest magnitude.
/// - Where infinite draws leave a quantile undefined, its ESS is NaN; ArviZ gives m n.
///
/// ```
/// use bnn_mcmc::diagnostics::{ess_bulk, ess_tail};
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// let mut draws = ndarray::Array2::zeros((4, 2000));
/// for mut chain in draws.rows_mut() {
///     let mut x = rng.normal();
///     for draw in &mut chain {
///         x = 0.8 * x + 0.6 * rng.normal(); // of 8000 draws, one in (1 + 0.8)/(1 - 0.8) = 9 counts
///         *draw = x;
///     }
/// }
/// assert!((600.0..1200.0).contains(&ess_bulk(draws.view())));
/// assert!(ess_tail(draws.view()) > ess_bulk(draws.view()));
/// ```
pub fn ess_bulk(draws: ArrayView2<f64>) -> f64 {
    with_sorted(draws, |workspace, _| workspace.rhat_rank_and_ess_bulk().1)
}

/// The tail effective sample size of `[chain, draw]`: the smaller of the effective sample sizes of
/// the 5% and the 95% quantile ([`TAIL`]). See [`ess_bulk`] for the formula.
pub fn ess_tail(draws: ArrayView2<f64>) -> f64 {
    with_sorted(draws, |workspace, chains| workspace.ess_tail(chains, TAIL))
}

/// The effective sample size of `[chain, draw]` for its mean. See [`ess_bulk`] for the formula.
pub fn ess_mean(draws: ArrayView2<f64>) -> f64 {
    EssMean::default().of(draws)
}

/// [`ess_mean`] of many quantities, with one set of buffers and plans of transforms.
#[derive(Default)]
pub(crate) struct EssMean(LagProducts);

impl EssMean {
    pub(crate) fn of(&mut self, draws: ArrayView2<f64>) -> f64 {
        let chains = Chains::new(draws);
        if !chains.are_usable(1) {
            return f64::NAN;
        }
        of_series(&chains.split(), &mut self.0)
    }
}

/// The effective sample size of `[chain, draw]` for its standard deviation: the effective sample
/// size of (x - m)^2, with m the mean of all draws. See [`ess_bulk`] for the formula.
pub fn ess_sd(draws: ArrayView2<f64>) -> f64 {
    let chains = Chains::new(draws);
    if !chains.are_usable(1) {
        return f64::NAN;
    }
    let mean = mean(&chains.values);
    let squares: Vec<f64> = chains.values.iter().map(|x| (x - mean) * (x - mean)).collect();
    let squares = Chains::from_slice(&squares, chains.chains, chains.draws);
    of_series(&squares.split(), &mut LagProducts::default())
}

/// The effective sample size of `[chain, draw]` for its median. See [`ess_bulk`] for the formula.
pub fn ess_median(draws: ArrayView2<f64>) -> f64 {
    ess_quantile(draws, 0.5)
}

/// The effective sample size of `[chain, draw]` for its quantile at `p`; NaN for `p` outside
/// [0, 1]. See [`ess_bulk`] for the formula.
pub fn ess_quantile(draws: ArrayView2<f64>, p: f64) -> f64 {
    with_sorted(draws, |workspace, chains| workspace.ess_quantile(chains, p))
}

/// The effective sample size of `[chain, draw]` for the probability of the interval between its
/// quantiles at `low` and `high`; NaN for either outside [0, 1]. See [`ess_bulk`] for the formula.
pub fn ess_local(draws: ArrayView2<f64>, low: f64, high: f64) -> f64 {
    with_sorted(draws, |workspace, chains| {
        let (low, high) = (workspace.sorted().quantile(low), workspace.sorted().quantile(high));
        if low.is_nan() || high.is_nan() {
            return f64::NAN;
        }
        of_indicator(chains, |x| low <= x && x <= high, &mut workspace.fft)
    })
}

/// The effective sample size of one chain, n s^2 / sigma^2, averaged over the chains of
/// `[chain, draw]`.
///
/// s^2 is the chain's variance (n - 1 in the denominator), as if its draws were independent, and
/// sigma^2 = -acov_0 + 2 sum_k (acov_{2k} + acov_{2k+1}) is Geyer's initial monotone sequence
/// estimator of n times the variance of its mean. This is the form of Papamarkou et al. (2022,
/// "Challenges in Markov chain Monte Carlo for Bayesian neural networks", doi:10.1214/21-STS840).
/// Neither split nor ranked, and blind to disagreement between the chains: report it next to
/// R-hat. sigma^2 / s^2 is not let below 1 / log10(n), as for the other effective sample sizes.
///
/// NaN for any NaN, fewer than 4 draws, or a chain of equal draws.
pub fn ess_per_chain(draws: ArrayView2<f64>) -> f64 {
    let chains = Chains::new(draws);
    if !chains.are_usable(1) {
        return f64::NAN;
    }
    let mut fft = LagProducts::default();
    let n = chains.draws as f64;
    let mut sum = 0.0;
    for chain in chains.iter() {
        let single = Chains::from_slice(chain, 1, chains.draws);
        let (mean, variance) = mean_and_variance(chain);
        let mut lags = DenseLags { chains: &single, means: vec![mean], fft: &mut fft };
        let mut acov = Vec::new();
        let (mut sigma, mut previous) = (f64::NAN, f64::INFINITY);
        for t in (0..chains.draws - 1).step_by(2) {
            if t + 1 >= acov.len() {
                lags.extend(t + 1, &mut acov);
            }
            let pair: f64 = acov[t] + acov[t + 1];
            if t == 0 {
                sigma = -acov[0];
            }
            if pair <= 0.0 {
                break;
            }
            previous = pair.min(previous);
            sigma += 2.0 * previous;
        }
        sum += n / (sigma / variance).max(1.0 / n.log10())
            * if variance > 0.0 { 1.0 } else { f64::NAN };
    }
    sum / chains.chains as f64
}

fn with_sorted(draws: ArrayView2<f64>, ess: impl Fn(&mut Workspace, &Chains) -> f64) -> f64 {
    let chains = Chains::new(draws);
    if !chains.are_usable(1) {
        return f64::NAN;
    }
    let mut workspace = Workspace::for_one();
    workspace.load(&chains);
    ess(&mut workspace, &chains)
}

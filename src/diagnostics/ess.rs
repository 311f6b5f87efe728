//! Effective sample sizes: how many independent draws are these worth?

use ndarray::ArrayView2;

use super::autocorr::LagProducts;
use super::chains::{Chains, mean, mean_and_variance};
use super::workspace::Workspace;

/// The tail probabilities of [`ess_tail`].
pub const TAIL: (f64, f64) = (0.05, 0.95);

/// The bulk effective sample size of `[chain, draw]`: that of the rank-normalised split chains.
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
/// Which function of the draws x the chains are of, after splitting each chain into halves:
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

/// The tail effective sample size of `[chain, draw]`: the smaller of those of the 5% and the 95%
/// quantile ([`TAIL`]).
pub fn ess_tail(draws: ArrayView2<f64>) -> f64 {
    with_sorted(draws, |workspace, chains| workspace.ess_tail(chains, TAIL))
}

/// The effective sample size of `[chain, draw]` for its mean.
pub fn ess_mean(draws: ArrayView2<f64>) -> f64 {
    let chains = Chains::new(draws);
    if !chains.are_usable(1) {
        return f64::NAN;
    }
    of_series(&chains.split(), &mut LagProducts::default())
}

/// The effective sample size of `[chain, draw]` for its standard deviation: that of
/// (x - mean)^2, the mean being that of all draws.
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

/// The effective sample size of `[chain, draw]` for its median.
pub fn ess_median(draws: ArrayView2<f64>) -> f64 {
    ess_quantile(draws, 0.5)
}

/// The effective sample size of `[chain, draw]` for its quantile at `p`; NaN for `p` outside
/// [0, 1].
pub fn ess_quantile(draws: ArrayView2<f64>, p: f64) -> f64 {
    with_sorted(draws, |workspace, chains| workspace.ess_quantile(chains, p))
}

/// The effective sample size of `[chain, draw]` for the probability of the interval between its
/// quantiles at `low` and `high`; NaN for either outside [0, 1].
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

/// The ESS of chains as they are given.
pub(super) fn of_series(chains: &Chains, fft: &mut LagProducts) -> f64 {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for &x in chains.values.iter() {
        low = low.min(x);
        high = high.max(x);
    }
    let span = high - low;
    if span.is_finite() && span <= 1e-15 * high.abs().max(low.abs()) {
        return chains.values.len() as f64;
    }
    let (means, variances): (Vec<f64>, Vec<f64>) = chains.iter().map(mean_and_variance).unzip();
    let moments = Moments::new(chains.draws, &means, mean(&variances));
    let mut lags = DenseLags { chains, means, fft };
    geyer(&moments, |t, acov| lags.extend(t, acov))
}

/// The ESS of the split chains of 1[`holds`(x)].
///
/// A sum of lagged products of indicators counts pairs of draws: of the rarer of the two values,
/// since x and 1 - x have the same autocovariance. Counting is quick for short lags; where the
/// correlation reaches far, the indicators are transformed as any other series.
pub(super) fn of_indicator(
    chains: &Chains,
    holds: impl Fn(f64) -> bool,
    fft: &mut LagProducts,
) -> f64 {
    let half = chains.draws / 2;
    let split = chains.iter().flat_map(|c| [&c[..half], &c[chains.draws - half..]]);
    let total = 2 * chains.chains * half;
    let ones: usize = split.clone().map(|part| part.iter().filter(|&&x| holds(x)).count()).sum();
    let rarer = 2 * ones <= total;
    if ones == 0 || ones == total {
        return total as f64;
    }
    let mut places =
        Places { places: Vec::with_capacity(ones.min(total - ones)), starts: vec![0], draws: half };
    for part in split {
        places.places.extend((0..half).filter(|&i| holds(part[i]) == rarer));
        places.starts.push(places.places.len());
    }
    let n = half as f64;
    let means: Vec<f64> = places.parts().map(|p| p.len() as f64 / n).collect();
    let within = means.iter().map(|p| p * (1.0 - p)).sum::<f64>() / means.len() as f64;
    let moments = Moments::new(half, &means, within * n / (n - 1.0));
    let mut dense: Option<Vec<f64>> = None;
    geyer(&moments, |t, acov| {
        if dense.is_none() {
            if places.count_pairs(t, acov) {
                return;
            }
            dense = Some(places.dense());
        }
        let chains = Chains::from_slice(dense.as_deref().unwrap_or(&[]), means.len(), half);
        DenseLags { chains: &chains, means: means.clone(), fft: &mut *fft }.extend(t, acov);
    })
}

/// What ESS needs beside the autocovariances: n, m, W and var+.
struct Moments {
    draws: usize,
    chains: usize,
    within: f64,
    total: f64,
}

impl Moments {
    fn new(draws: usize, means: &[f64], within: f64) -> Self {
        let n = draws as f64;
        let between = if means.len() > 1 { mean_and_variance(means).1 } else { 0.0 };
        Self { draws, chains: means.len(), within, total: within * (n - 1.0) / n + between }
    }
}

/// ESS by Geyer's initial sequences; `extend(t, acov)` fills in the mean autocovariances of all
/// lags up to t at least.
fn geyer(moments: &Moments, mut extend: impl FnMut(usize, &mut Vec<f64>)) -> f64 {
    let n = moments.draws;
    if n < 2 {
        return f64::NAN;
    }
    let mut acov = Vec::new();
    let mut correlation = |t: usize| {
        if t >= acov.len() {
            extend(t, &mut acov);
        }
        1.0 - (moments.within - acov[t]) / moments.total
    };

    // rho holds the pairs (rho_0, rho_1), (rho_2, rho_3), ... that are not negative in sum.
    let (mut even, mut odd) = (1.0, correlation(1));
    let mut rho = vec![even, odd];
    let mut t = 1;
    while t + 3 < n && even + odd > 0.0 {
        (even, odd) = (correlation(t + 1), correlation(t + 2));
        if even + odd >= 0.0 {
            rho.extend([even, odd]);
        } else {
            rho.extend([0.0, 0.0]);
        }
        t += 2;
    }
    // The last pair is the one at which the sum stopped; of it, an even term above 0 counts once.
    let last = t - 1;
    if even > 0.0 {
        rho[last] = even;
    }
    for k in (2..last.saturating_sub(1)).step_by(2) {
        if rho[k] + rho[k + 1] > rho[k - 2] + rho[k - 1] {
            rho[k] = (rho[k - 2] + rho[k - 1]) / 2.0;
            rho[k + 1] = rho[k];
        }
    }
    let size = (moments.chains * n) as f64;
    let tau = -1.0 + 2.0 * rho[..last].iter().sum::<f64>() + rho[last];
    if rho.iter().any(|r| r.is_nan()) {
        return f64::NAN;
    }
    size / tau.max(1.0 / size.log10())
}

/// Autocovariances of any series, averaged over the chains, from transforms of growing length.
struct DenseLags<'a> {
    chains: &'a Chains<'a>,
    means: Vec<f64>,
    fft: &'a mut LagProducts,
}

impl DenseLags<'_> {
    fn extend(&mut self, lag: usize, acov: &mut Vec<f64>) {
        let n = self.chains.draws;
        let mut block = 128;
        while block <= lag {
            block *= 8;
        }
        // One transform of all draws costs no more than segments that are nearly as long.
        let block = if 2 * block >= n { n } else { block };
        acov.clear();
        acov.resize(block, 0.0);
        self.fft.sum(self.chains.iter().zip(self.means.iter().copied()), block, acov);
        let size = self.chains.values.len() as f64;
        acov.iter_mut().for_each(|a| *a /= size);
    }
}

/// Where an indicator is 1: ascending places within each part of `draws` draws.
struct Places {
    places: Vec<usize>,
    starts: Vec<usize>,
    draws: usize,
}

impl Places {
    fn parts(&self) -> impl Iterator<Item = &[usize]> {
        self.starts.windows(2).map(|w| &self.places[w[0]..w[1]])
    }

    /// Sets the autocovariances of the lags up to `lag` at least, averaged over the parts; false,
    /// and nothing done, where a transform would be quicker.
    fn count_pairs(&self, lag: usize, acov: &mut Vec<f64>) -> bool {
        let mut window = 64;
        while window <= lag {
            window *= 8;
        }
        let window = window.min(self.draws);
        let mut pairs = 0;
        for part in self.parts() {
            let mut end = 0;
            for (i, &place) in part.iter().enumerate() {
                while end < part.len() && part[end] < place + window {
                    end += 1;
                }
                pairs += end - i;
            }
        }
        let parts = self.starts.len() - 1;
        if pairs > 16 * parts * self.draws {
            return false;
        }
        acov.clear();
        acov.resize(window, 0.0);
        let n = self.draws as f64;
        for part in self.parts() {
            for (i, &place) in part.iter().enumerate() {
                for &other in part[i..].iter().take_while(|&&other| other < place + window) {
                    acov[other - place] += 1.0;
                }
            }
            // sum (x_i - p)(x_{i+t} - p) = pairs - p (head + tail) + (n - t) p^2, with head and
            // tail the number of ones among the first and the last n - t draws.
            let p = part.len() as f64 / n;
            let (mut before, mut after) = (0, 0);
            for (t, a) in acov.iter_mut().enumerate() {
                while before < part.len() && part[before] < t {
                    before += 1;
                }
                while after < part.len() && part[part.len() - 1 - after] >= self.draws - t {
                    after += 1;
                }
                let head_and_tail = 2 * part.len() - before - after;
                *a += (n - t as f64) * p * p - p * head_and_tail as f64;
            }
        }
        acov.iter_mut().for_each(|a| *a /= n * parts as f64);
        true
    }

    fn dense(&self) -> Vec<f64> {
        let mut values = vec![0.0; (self.starts.len() - 1) * self.draws];
        for (part, chunk) in self.parts().zip(values.chunks_exact_mut(self.draws)) {
            part.iter().for_each(|&place| chunk[place] = 1.0);
        }
        values
    }
}

//! Effective sample sizes of series as they are given, by Geyer's initial sequences.

use super::autocorr::LagProducts;
use super::chains::{Chains, mean, mean_and_variance};

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
    geyer(&moments, &mut |t, acov| lags.extend(t, acov))
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
    geyer(&moments, &mut |t, acov| {
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

/// The quantities that ESS needs beside the autocovariances: n, m, W and var+.
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
fn geyer(moments: &Moments, extend: &mut dyn FnMut(usize, &mut Vec<f64>)) -> f64 {
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
    //~ ess-pairs
    while t + 3 < n && even + odd > 0.0 {
        (even, odd) = (correlation(t + 1), correlation(t + 2));
        //~ ess-next-pair
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
        //~ ess-monotone
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
pub(super) struct DenseLags<'a> {
    pub chains: &'a Chains<'a>,
    pub means: Vec<f64>,
    pub fft: &'a mut LagProducts,
}

impl DenseLags<'_> {
    pub fn extend(&mut self, lag: usize, acov: &mut Vec<f64>) {
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

/// The places where an indicator is 1: ascending within each part of `draws` draws.
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

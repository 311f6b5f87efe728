//! Draws as contiguous chains, whole or cut in halves, their moments, and R-hat of the chains as
//! they are.

use std::borrow::Cow;

use ndarray::ArrayView2;

/// `chains` chains of `draws` draws, one after the other.
pub(super) struct Chains<'a> {
    pub values: Cow<'a, [f64]>,
    pub chains: usize,
    pub draws: usize,
}

impl<'a> Chains<'a> {
    /// Borrows the values where the view is contiguous, and copies them otherwise.
    pub fn new(view: ArrayView2<'a, f64>) -> Self {
        let (chains, draws) = view.dim();
        let values = match view.to_slice() {
            Some(slice) => Cow::Borrowed(slice),
            None => Cow::Owned(view.iter().copied().collect()),
        };
        Self { values, chains, draws }
    }

    pub fn from_slice(values: &'a [f64], chains: usize, draws: usize) -> Self {
        debug_assert_eq!(values.len(), chains * draws);
        Self { values: Cow::Borrowed(values), chains, draws }
    }

    /// The chains in order.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> + Clone {
        // An empty chain has no chunk at all, whatever the chunk's length.
        self.values.chunks_exact(self.draws.max(1))
    }

    /// Twice as many chains: the first and the second half of each, without an odd middle draw.
    pub fn split(&self) -> Chains<'_> {
        let half = self.draws / 2;
        let values = if self.draws.is_multiple_of(2) {
            Cow::Borrowed(&self.values[..])
        } else {
            let mut values = Vec::with_capacity(2 * half * self.chains);
            for chain in self.iter() {
                values.extend_from_slice(&chain[..half]);
                values.extend_from_slice(&chain[self.draws - half..]);
            }
            Cow::Owned(values)
        };
        Chains { values, chains: 2 * self.chains, draws: half }
    }

    /// At least `min_chains` chains, at least four draws in each, and no NaN among them.
    pub fn are_usable(&self, min_chains: usize) -> bool {
        self.chains >= min_chains.max(1) && self.draws >= 4 && !self.has_nan()
    }

    pub fn has_nan(&self) -> bool {
        self.values.iter().any(|x| x.is_nan())
    }

    /// R-hat between the chains as they are given; NaN for a single one.
    pub fn rhat(&self) -> f64 {
        let n = self.draws as f64;
        let (means, variances): (Vec<f64>, Vec<f64>) = self.iter().map(mean_and_variance).unzip();
        let (within, _) = mean_and_variance(&variances);
        let (_, between) = mean_and_variance(&means);
        ((n * between / within + n - 1.0) / n).sqrt()
    }

    /// R-hat between superchains of `each` successive chains: see
    /// [`rhat_nested`](super::rhat_nested()).
    pub fn rhat_nested(&self, each: usize) -> f64 {
        let (means, variances): (Vec<f64>, Vec<f64>) = self.iter().map(mean_and_variance).unzip();
        let superchains = means.chunks_exact(each).zip(variances.chunks_exact(each));
        let (superchain_means, within): (Vec<f64>, Vec<f64>) = superchains
            .map(|(means, variances)| {
                let (centre, between_chains) = mean_and_variance(means);
                let between_chains = if each == 1 { 0.0 } else { between_chains };
                (centre, between_chains + mean(variances)) //~ nested-between
            })
            .unzip();
        let (_, between) = mean_and_variance(&superchain_means);
        (1.0 + between / mean(&within)).sqrt()
    }
}

/// Sums `f(x)` in eight interleaved lanes: quicker than one running sum, and more accurate.
fn sum_of(x: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    let chunks = x.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|&v| f(v)).sum();
    for chunk in chunks {
        for (lane, &v) in lanes.iter_mut().zip(chunk) {
            *lane += f(v);
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// The arithmetic mean; NaN for no values. Exact for equal values.
pub(super) fn mean(x: &[f64]) -> f64 {
    // Relative to the first value, so that equal values leave no rounding noise behind.
    let Some(&first) = x.first() else { return f64::NAN };
    let shift = if first.is_finite() { first } else { 0.0 };
    shift + sum_of(x, |v| v - shift) / x.len() as f64
}

/// The mean and the variance with n - 1 in the denominator; the variance of equal values is 0.
pub(super) fn mean_and_variance(x: &[f64]) -> (f64, f64) {
    let mean = mean(x);
    (mean, sum_of(x, |v| (v - mean) * (v - mean)) / (x.len() as f64 - 1.0))
}

/// The mean of `f(x)` over all values.
pub(super) fn mean_of(x: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    sum_of(x, f) / x.len() as f64
}

//! Autocovariances and autocorrelations.

use ndarray::{Array2, ArrayView2};
use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

use super::chains::{Chains, mean};

/// The autocovariance of each chain at the lags 0, ..., n - 1.
///
/// `draws` is `[chain, draw]`, the result `[chain, lag]`. A chain with a value that is not finite
/// gives NaN at all lags.
///
/// The autocovariance at lag t of n draws x_0, ..., x_{n-1} with mean m is
///
/// acov_t = (1/n) sum_{i=0}^{n-t-1} (x_i - m)(x_{i+t} - m),
///
/// with n, not n - t, in the denominator: the biased form, which keeps the sequence positive
/// definite and by which effective sample sizes are defined (Geyer 1992; Vehtari et al. 2021). The
/// autocorrelation is acov_t / acov_0. Both equal `autocov` and `autocorr` of arviz-stats.
///
/// All lags at once cost one zero-padded Fourier transform of length at least 2n and its inverse.
/// Effective sample sizes need only the first lags, up to where Geyer's rule cuts the sum; those
/// come from short transforms of consecutive segments, which stay in the cache.
///
/// ```
/// use bnn_mcmc::diagnostics::{autocorrelation, autocovariance};
/// let draws = ndarray::array![[1.0, 2.0, 3.0, 4.0]];
/// let acov = autocovariance(draws.view());
/// assert!((acov[[0, 0]] - 1.25).abs() < 1e-12);
/// assert!((autocorrelation(draws.view())[[0, 1]] - 0.25).abs() < 1e-12);
/// ```
pub fn autocovariance(draws: ArrayView2<f64>) -> Array2<f64> {
    let chains = Chains::new(draws);
    let mut result = Array2::zeros(draws.dim());
    let mut fft = LagProducts::default();
    let mut sums = Vec::new();
    for (chain, mut row) in chains.iter().zip(result.rows_mut()) {
        sums.clear();
        sums.resize(chain.len(), 0.0);
        fft.sum([(chain, mean(chain))].into_iter(), chain.len(), &mut sums);
        row.iter_mut().zip(&sums).for_each(|(r, s)| *r = s / chain.len() as f64);
    }
    result
}

/// The autocorrelation of each chain at the lags 0, ..., n - 1: [`autocovariance`] divided by its
/// value at lag 0, and NaN for a chain of equal draws.
///
/// `draws` is `[chain, draw]`, the result `[chain, lag]`.
pub fn autocorrelation(draws: ArrayView2<f64>) -> Array2<f64> {
    let mut result = autocovariance(draws);
    for mut row in result.rows_mut() {
        if let Some(&variance) = row.first() {
            row.mapv_inplace(|c| c / variance);
        }
    }
    result
}

/// Sums of lagged products by Fourier transform; plans and buffers are kept between calls.
///
/// A chain is cut into segments of `block` draws. With A_j the transform of segment j padded to
/// twice its length, the product of segment j with itself and with its successor has the spectrum
/// conj(A_j) (A_j + (-1)^k A_{j+1}), since a shift by half the length multiplies coefficient k by
/// (-1)^k. One inverse transform of the sum over all segments and chains gives the lags 0..block.
#[derive(Default)]
pub(super) struct LagProducts {
    planner: Option<RealFftPlanner<f64>>,
    padded: Vec<f64>,
    here: Vec<Complex<f64>>,
    before: Vec<Complex<f64>>,
    spectrum: Vec<Complex<f64>>,
    cross: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
}

impl LagProducts {
    /// Sets `sums[t]`, t below `sums.len()` <= `block`, to the sum over all chains and all i of
    /// (x_i - m)(x_{i+t} - m), given each chain with its mean m. NaN where a value is not finite.
    pub fn sum<'a>(
        &mut self,
        chains: impl Iterator<Item = (&'a [f64], f64)>,
        block: usize,
        sums: &mut [f64],
    ) {
        debug_assert!(sums.len() <= block);
        if block == 0 {
            return;
        }
        let block = fast_length(block);
        let planner = self.planner.get_or_insert_with(RealFftPlanner::new);
        let forward = planner.plan_fft_forward(2 * block);
        let inverse = planner.plan_fft_inverse(2 * block);
        let zero = Complex::new(0.0, 0.0);
        self.padded.resize(2 * block, 0.0);
        for buffer in [&mut self.here, &mut self.before, &mut self.spectrum, &mut self.cross] {
            buffer.resize(block + 1, zero);
        }
        self.scratch.resize(forward.get_scratch_len().max(inverse.get_scratch_len()), zero);
        self.spectrum.fill(zero);
        self.cross.fill(zero);

        let mut failed = false;
        for (chain, mean) in chains {
            for (j, segment) in chain.chunks(block).enumerate() {
                let (filled, rest) = self.padded.split_at_mut(segment.len());
                filled.iter_mut().zip(segment).for_each(|(p, x)| *p = x - mean);
                rest.fill(0.0);
                failed |= forward
                    .process_with_scratch(&mut self.padded, &mut self.here, &mut self.scratch)
                    .is_err();
                for (s, a) in self.spectrum.iter_mut().zip(&self.here) {
                    s.re += a.norm_sqr();
                }
                if j > 0 {
                    for ((s, b), a) in self.cross.iter_mut().zip(&self.before).zip(&self.here) {
                        s.re += b.re * a.re + b.im * a.im;
                        s.im += b.re * a.im - b.im * a.re;
                    }
                }
                std::mem::swap(&mut self.here, &mut self.before);
            }
        }
        for (k, (s, c)) in self.spectrum.iter_mut().zip(&self.cross).enumerate() {
            *s += if k % 2 == 0 { *c } else { -c };
        }
        // The first and the last coefficient of a real sequence are real, up to rounding.
        self.spectrum[0].im = 0.0;
        self.spectrum[block].im = 0.0;
        failed |= inverse
            .process_with_scratch(&mut self.spectrum, &mut self.padded, &mut self.scratch)
            .is_err();
        if failed {
            sums.fill(f64::NAN);
            return;
        }
        let scale = 1.0 / (2 * block) as f64;
        sums.iter_mut().zip(&self.padded).for_each(|(s, p)| *s = p * scale);
    }
}

/// The smallest number at least `n` with no prime factor above 5.
fn fast_length(n: usize) -> usize {
    let mut best = n.max(1).next_power_of_two();
    let mut fives = 1;
    while fives < best {
        let mut threes = fives;
        while threes < best {
            let candidate = threes * n.div_ceil(threes).next_power_of_two();
            best = best.min(candidate);
            threes *= 3;
        }
        fives *= 5;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct(x: &[f64], t: usize) -> f64 {
        let m = mean(x);
        (0..x.len() - t).map(|i| (x[i] - m) * (x[i + t] - m)).sum()
    }

    #[test]
    fn segments_of_any_length_give_the_sums_of_the_definition() {
        let x: Vec<f64> = (0..997).map(|i| (0.37 * i as f64).sin() + (i % 7) as f64).collect();
        let mut fft = LagProducts::default();
        for block in [1, 2, 7, 64, 100, 499, 997, 2000] {
            let mut sums = vec![0.0; block.min(x.len())];
            fft.sum([(&x[..], mean(&x))].into_iter(), block, &mut sums);
            for (t, &s) in sums.iter().enumerate() {
                let d = direct(&x, t);
                assert!((s - d).abs() < 1e-9 * direct(&x, 0), "block {block}, lag {t}: {s}, {d}");
            }
        }
    }

    #[test]
    fn fast_lengths_are_products_of_small_primes() {
        let lengths = [0, 1, 2, 7, 11, 13, 17, 97, 25_000, 4097].map(fast_length);
        assert_eq!(lengths, [1, 1, 2, 8, 12, 15, 18, 100, 25_000, 4320]);
    }
}

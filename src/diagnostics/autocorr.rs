//! Autocovariances and autocorrelations.

use ndarray::{Array2, ArrayView2};
use rustfft::algorithm::Radix4;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, Length};

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

/// Sums of lagged products by Fourier transform; transforms and buffers are kept between calls.
///
/// A chain is cut into segments of `block` draws, a power of 2. With A_j the transform of segment j padded to
/// twice its length, the product of segment j with itself and with its successor has the spectrum
/// conj(A_j) (A_j + (-1)^k A_{j+1}), since a shift by half the length multiplies coefficient k by
/// (-1)^k. One inverse transform of the sum over all segments and chains gives the lags 0..block.
///
/// Two segments x and y share a transform: with Z the transform of x + i y, x has
/// (Z_k + conj Z_(-k)) / 2, and y has (Z_k - conj Z_(-k)) / (2 i).
#[derive(Default)]
pub(super) struct LagProducts {
    transforms: Option<[Radix4<f64>; 2]>,
    buffer: Vec<Complex<f64>>,
    /// The transform of the last segment, and the sums of products of segments with themselves and of
    /// neighbours: coefficients 0 to `block`.
    before: Vec<Complex<f64>>,
    own: Vec<f64>,
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
        let block = block.next_power_of_two();
        let length = 2 * block;
        let of_length = |transforms: &[Radix4<f64>; 2]| transforms[0].len() == length;
        let [forward, inverse] = match self.transforms.take() {
            Some(transforms) if of_length(&transforms) => self.transforms.insert(transforms),
            _ => self.transforms.insert(
                [FftDirection::Forward, FftDirection::Inverse].map(|way| Radix4::new(length, way)),
            ),
        };
        let zero = Complex::new(0.0, 0.0);
        self.buffer.resize(length, zero);
        self.before.resize(block + 1, zero);
        self.own.resize(block + 1, 0.0);
        self.cross.resize(block + 1, zero);
        let needed = [&*forward, &*inverse].map(|fft| fft.get_inplace_scratch_len());
        self.scratch.resize(needed[0].max(needed[1]), zero);
        self.own.fill(0.0);
        self.cross.fill(zero);

        // Each segment with the mean of its chain, and whether it follows another one there.
        let mut segments = chains.flat_map(|(chain, mean)| {
            chain.chunks(block).enumerate().map(move |(j, segment)| (segment, mean, j > 0))
        });
        while let Some((first, mean, follows)) = segments.next() {
            let second = segments.next();
            self.buffer.fill(zero);
            self.buffer.iter_mut().zip(first).for_each(|(z, x)| z.re = x - mean);
            if let Some((second, mean, _)) = second {
                self.buffer.iter_mut().zip(second).for_each(|(z, y)| z.im = y - mean);
            }
            forward.process_with_scratch(&mut self.buffer, &mut self.scratch);
            for k in 0..=block {
                let z = self.buffer[k];
                let mirrored = self.buffer[(length - k) % length].conj();
                let (sum, difference) = ((z + mirrored) * 0.5, (z - mirrored) * 0.5);
                let (x, y) = (sum, Complex::new(difference.im, -difference.re));
                self.own[k] += x.norm_sqr() + y.norm_sqr();
                if follows {
                    self.cross[k] += self.before[k].conj() * x;
                }
                if let Some((.., true)) = second {
                    self.cross[k] += x.conj() * y; //~ neighbouring-segments
                }
                self.before[k] = if second.is_some() { y } else { x };
            }
        }
        for k in 0..=block {
            let cross = if k % 2 == 0 { self.cross[k] } else { -self.cross[k] };
            let spectrum = cross + self.own[k];
            self.buffer[k] = spectrum;
            self.buffer[(length - k) % length] = spectrum.conj();
        }
        inverse.process_with_scratch(&mut self.buffer, &mut self.scratch);
        let scale = 1.0 / length as f64;
        sums.iter_mut().zip(&self.buffer).for_each(|(s, z)| *s = z.re * scale);
    }
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
        // Of several chains, whose segments share transforms.
        let chains = [&x[..301], &x[301..650], &x[650..]];
        for block in [64, 100, 301] {
            let mut sums = vec![0.0; 64];
            fft.sum(chains.into_iter().map(|chain| (chain, mean(chain))), block, &mut sums);
            for (t, &s) in sums.iter().enumerate() {
                let d: f64 = chains.into_iter().map(|chain| direct(chain, t)).sum();
                assert!((s - d).abs() < 1e-9 * direct(&x, 0), "block {block}, lag {t}: {s}, {d}");
            }
        }
    }
}

//! The one random number generator of the crate.
//!
//! Every chain owns a ChaCha8 stream fixed by (seed, chain), so that draws do not depend on the
//! number of threads, and the generator's position can be stored and restored.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, StandardNormal, StandardUniform};
use serde::{Deserialize, Serialize};

use crate::portable;

/// The random stream of one chain: ChaCha with 8 rounds, seeded by (seed, stream).
///
/// ```
/// use bnn_mcmc::rng::ChainRng;
/// let (mut a, mut b) = (ChainRng::new(1, 0), ChainRng::new(1, 0));
/// assert_eq!(a.normal(), b.normal());
/// assert_ne!(ChainRng::new(1, 1).normal(), ChainRng::new(1, 0).normal());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainRng(ChaCha8Rng);

impl ChainRng {
    /// The stream number `stream` of `seed`. Streams of one seed never overlap.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// A stream of its own for part `k` of this chain; independent of how far `self` has advanced.
    pub fn child(&self, k: u64) -> Self {
        // A new key from (key, stream, k), by the cipher itself: the sub-key is output of a ChaCha
        // stream that the chain itself never reads, since that stream's key differs.
        let mut key = self.0.get_seed();
        for (byte, tag) in key.iter_mut().zip(b"bnn-mcmc child stream") {
            *byte ^= tag;
        }
        let mut parent = ChaCha8Rng::from_seed(key);
        parent.set_stream(self.0.get_stream());
        parent.set_word_pos(8 * u128::from(k));
        let mut sub_key = [0; 32];
        parent.fill_bytes(&mut sub_key);
        Self(ChaCha8Rng::from_seed(sub_key))
    }

    /// One draw of N(0, 1).
    pub fn normal(&mut self) -> f64 {
        if portable::is_on() { self.polar_normal() } else { StandardNormal.sample(&mut self.0) }
    }

    /// Fills `out` with independent draws of N(0, 1).
    pub fn fill_normal(&mut self, out: &mut [f64]) {
        if portable::is_on() {
            out.fill_with(|| self.polar_normal());
            return;
        }
        for z in out {
            *z = StandardNormal.sample(&mut self.0);
        }
    }

    /// One draw of Gamma(shape, 1), of mean `shape`: NaN unless the shape is positive and finite.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if !(shape > 0.0 && shape.is_finite()) {
            return f64::NAN;
        }
        if portable::is_on() {
            return self.squeezed_gamma(shape);
        }
        Gamma::new(shape, 1.0).map_or(f64::NAN, |gamma| gamma.sample(&mut self.0))
    }

    /// The polar method: with (x, y) uniform on the unit disc and s = x^2 + y^2, x sqrt(-2 ln(s) / s)
    /// is normal. Marsaglia and Bray 1964, <https://doi.org/10.1137/1006063>.
    fn polar_normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = x * x + y * y;
            if 0.0 < s && s < 1.0 {
                return x * (-2.0 * libm::log(s) / s).sqrt();
            }
        }
    }

    /// With z normal, d = shape - 1/3 and v = (1 + z / sqrt(9 d))^3, the number d v is accepted with
    /// probability e^(z^2/2 + d (1 - v + ln v)). Below shape 1, Gamma(shape) is Gamma(shape + 1) U^(1/shape).
    /// Marsaglia and Tsang 2000, <https://doi.org/10.1145/358407.358414>.
    fn squeezed_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let u = 1.0 - self.uniform();
            return self.squeezed_gamma(shape + 1.0) * libm::pow(u, 1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let z = self.polar_normal();
            let root = 1.0 + c * z;
            let v = root * root * root;
            let u = 1.0 - self.uniform();
            if v > 0.0 && libm::log(u) < 0.5 * z * z + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }

    /// One draw of U[0, 1).
    pub fn uniform(&mut self) -> f64 {
        StandardUniform.sample(&mut self.0)
    }
}

impl RngCore for ChainRng {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    fn fill_bytes(&mut self, dst: &mut [u8]) {
        self.0.fill_bytes(dst)
    }
}

/// Anything that a unit test may be handed: numbers of any bits, texts of any characters, and more often those that are
/// lost most easily. Property tests outside the library have proptest, which an example would have to wait for.
#[cfg(test)]
pub(crate) struct Anything(ChainRng);

#[cfg(test)]
impl Anything {
    /// Runs `test` in as many cases; a failure names its own.
    pub(crate) fn cases(n: u64, mut test: impl FnMut(&mut Self)) {
        struct Case(u64);
        impl Drop for Case {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    eprintln!("in case {}", self.0);
                }
            }
        }
        for case in 0..n {
            let _named = Case(case);
            test(&mut Self(ChainRng::new(1, case)));
        }
    }

    /// Any integer.
    pub(crate) fn integer(&mut self) -> u64 {
        let bits = self.0.next_u64();
        if bits.is_multiple_of(8) { [0, 1, u64::MAX][bits as usize / 8 % 3] } else { bits }
    }

    /// One of 0 to `n` - 1.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    pub(crate) fn float(&mut self) -> f64 {
        const RARE: [f64; 7] =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324, 0.1, f64::MAX];
        if self.below(2) == 0 { RARE[self.below(7)] } else { f64::from_bits(self.0.next_u64()) }
    }

    /// A text of these characters.
    pub(crate) fn text_of(&mut self, characters: &str, lengths: std::ops::Range<usize>) -> String {
        let characters: Vec<char> = characters.chars().collect();
        self.list(lengths, |any| characters[any.below(characters.len())]).into_iter().collect()
    }

    /// A text of any characters, half of them ASCII.
    pub(crate) fn text(&mut self) -> String {
        let character = |any: &mut Self| {
            let most = [128, 1 << 16, 0x11_0000][any.below(4).saturating_sub(1)];
            char::from_u32(any.below(most) as u32).unwrap_or('\u{FFFD}')
        };
        self.list(0..33, character).into_iter().collect()
    }

    pub(crate) fn list<T>(
        &mut self,
        lengths: std::ops::Range<usize>,
        mut item: impl FnMut(&mut Self) -> T,
    ) -> Vec<T> {
        let n = lengths.start + self.below(lengths.len());
        (0..n).map(|_| item(self)).collect()
    }

    pub(crate) fn option<T>(&mut self, item: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| item(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_differ_from_each_other_and_from_the_parent_and_stay_put() {
        let mut parent = ChainRng::new(7, 3);
        let (first, second) = (parent.child(0).next_u64(), parent.child(1).next_u64());
        assert_ne!(first, second);
        assert_ne!(first, ChainRng::new(7, 4).child(0).next_u64());
        assert_ne!(first, parent.next_u64());
        assert_eq!(first, parent.child(0).next_u64());
    }

    #[test]
    fn a_stored_stream_goes_on_where_it_was() {
        let mut rng = ChainRng::new(1, 2);
        for _ in 0..101 {
            rng.next_u32();
        }
        let stored = serde_json::to_string(&rng).unwrap();
        let mut restored: ChainRng = serde_json::from_str(&stored).unwrap();
        assert_eq!(rng.next_u64(), restored.next_u64());
        assert_eq!(rng.normal(), restored.normal());
    }

    /// The largest distance between the distribution of 100,000 draws and `cdf`: beyond 0.0062 once in a
    /// thousand seeds (Kolmogorov).
    fn distance(mut draw: impl FnMut() -> f64, cdf: impl Fn(f64) -> f64) -> f64 {
        let n = 100_000;
        let mut draws: Vec<f64> = (0..n).map(|_| draw()).collect();
        draws.sort_by(f64::total_cmp);
        let each =
            draws.iter().enumerate().map(|(i, x)| (cdf(*x) - (i as f64 + 0.5) / n as f64).abs());
        each.fold(0.0, f64::max)
    }

    #[test]
    fn portable_draws_have_their_distributions() {
        use statrs::distribution::{ContinuousCDF, Gamma, Normal};
        let mut rng = ChainRng::new(1, 0);
        let normal = Normal::new(0.0, 1.0).unwrap();
        assert!(distance(|| rng.polar_normal(), |x| normal.cdf(x)) < 0.0062);
        for shape in [0.2, 1.0, 1.7, 30.0] {
            let gamma = Gamma::new(shape, 1.0).unwrap();
            let distance = distance(|| rng.squeezed_gamma(shape), |x| gamma.cdf(x));
            assert!(distance < 0.0062, "{shape}: {distance}");
        }
        assert!([0.0, -1.0, f64::NAN, f64::INFINITY].iter().all(|a| rng.gamma(*a).is_nan()));
    }
}

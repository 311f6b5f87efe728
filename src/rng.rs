//! The one random number generator of the crate.
//!
//! Every chain owns a ChaCha8 stream fixed by (seed, chain), so that draws do not depend on the
//! number of threads, and the generator's position can be stored and restored.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};
use serde::{Deserialize, Serialize};

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
        StandardNormal.sample(&mut self.0)
    }

    /// Fills `out` with independent draws of N(0, 1).
    pub fn fill_normal(&mut self, out: &mut [f64]) {
        for z in out {
            *z = StandardNormal.sample(&mut self.0);
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
}

//! The schedule of a warm-up: when to learn the scale of the target.

use serde::{Deserialize, Serialize};

/// Lengths of a warm-up's windows.
///
/// A warm-up of n iterations has three phases: the first 15 % ([`early`](Self::early): 1 %) adapt the step size only, while the
/// chain finds the bulk of the target; the iterations until 75 % estimate variances or covariances in windows
/// of doubling length, each from its own iterations alone; the last 25 % adapt the step size only,
/// to the scale that was learnt. The idea of windows is Stan's (reference manual, section on
/// adaptation); the long last phase is needed by Metropolis samplers, whose acceptance is noisier
/// than for Hamiltonian trajectories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    first: usize,
    ends: Vec<usize>,
}

impl Windows {
    /// The shortest window; warm-ups whose middle phase is shorter learn no scale.
    pub const SHORTEST: usize = 25;

    /// The windows of a warm-up of `iterations` iterations.
    pub fn new(iterations: usize) -> Self {
        Self::after(15, Self::SHORTEST, iterations)
    }

    /// Windows that begin after 1 % of the iterations, the first of 10 or more: for a map that a few draws determine, also of a chain that has not come to rest, and
    /// without which iterations are dear.
    pub fn early(iterations: usize) -> Self {
        Self::after(1, 10, iterations)
    }

    fn after(percent: u128, shortest: usize, iterations: usize) -> Self {
        let first = (iterations as u128 * percent / 100) as usize;
        let last = iterations - iterations / 4;
        let mut ends = Vec::new();
        let (mut start, mut length) = (first, shortest.max((last - first) / 64));
        while last - start >= length {
            // A window that would leave too little for the next, doubled one takes the rest.
            let end = if (last - start) / 3 < length { last } else { start + length };
            ends.push(end);
            start = end;
            length = length.saturating_mul(2);
        }
        Self { first, ends }
    }

    /// Whether iteration `i`, counted from 0, belongs to a window.
    pub fn contains(&self, i: usize) -> bool {
        i >= self.first && self.ends.last().is_some_and(|end| i < *end)
    }

    /// Whether a window ends after iteration `i`, counted from 0.
    pub fn ends_after(&self, i: usize) -> bool {
        self.ends.contains(&(i + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_double_and_fill_the_middle_phase() {
        let windows = Windows::new(1000);
        assert_eq!((windows.first, &windows.ends[..]), (150, &[175, 225, 325, 750][..]));
        let early = Windows::early(1000);
        assert_eq!((early.first, &early.ends[..]), (10, &[21, 43, 87, 175, 351, 750][..]));
        for n in 0..3000 {
            let windows = Windows::new(n);
            let inside = (0..n).filter(|i| windows.contains(*i)).count();
            let ends = (0..n).filter(|i| windows.ends_after(*i)).count();
            assert_eq!(ends, windows.ends.len());
            if n >= 100 {
                assert_eq!(inside, n - n / 4 - n * 15 / 100);
            }
        }
    }
}

//! Sorted draws, and the results of one sort: quantiles, rank-normalised draws, folded ones.
//!
//! The average rank r of a draw among all S becomes the normal score
//! z = Phi^-1((r - 3/8) / (S + 1/4)) (Blom 1958; Vehtari et al. 2021, eq. 14).
//! The folded draws |x - median| need no second sort: they are two sorted runs, merged.

use statrs::distribution::{ContinuousCDF, Normal};

use super::quantile::quantile_by;

/// The normal scores of the ranks 1..=total, by symmetry about the middle rank.
pub(super) struct NormalScores {
    normal: Normal,
    total: usize,
    whole: Vec<f64>,
}

impl NormalScores {
    pub fn new(total: usize) -> Self {
        let mut scores = Self { normal: Normal::standard(), total, whole: vec![0.0; total] };
        for i in 0..total / 2 {
            let z = scores.at(i as f64 + 1.0);
            scores.whole[i] = z;
            scores.whole[total - 1 - i] = -z;
        }
        scores
    }

    fn at(&self, rank: f64) -> f64 {
        self.normal.inverse_cdf((rank - 0.375) / (self.total as f64 + 0.25))
    }

    /// The score of draws that share the places `first..=last`, counted from 0.
    fn of_places(&self, first: usize, last: usize) -> f64 {
        let twice = first + last;
        if twice.is_multiple_of(2) {
            self.whole[twice / 2]
        } else if twice + 1 == self.total {
            0.0
        } else {
            self.at(0.5 * twice as f64 + 1.0)
        }
    }
}

/// A bit pattern that orders as the numbers do. -0 becomes +0, with which it ties.
fn key_of(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn value_of(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

/// The draws in ascending order, each with its place in the array they came from.
#[derive(Default)]
pub(super) struct Sorted {
    entries: Vec<(u64, usize)>,
    spare: Vec<(u64, usize)>,
}

impl Sorted {
    /// Sorts `values`, which hold no NaN.
    pub fn sort(&mut self, values: &[f64]) {
        self.entries.clear();
        self.entries.extend(values.iter().enumerate().map(|(i, &x)| (key_of(x), i)));
        if values.len() < 2048 {
            sort_by_key(&mut self.entries);
        } else {
            radix_sort(&mut self.entries, &mut self.spare);
        }
    }

    /// Takes over the order of `whole`, sorted chains of `draws` draws, for their split halves.
    pub fn halves_of(&mut self, whole: &Sorted, draws: usize) {
        let half = draws / 2;
        let odd = draws % 2;
        self.entries.clear();
        self.entries.extend(whole.entries.iter().filter_map(|&(key, i)| {
            let (chain, t) = (i / draws, i % draws);
            let dropped = odd == 1 && t == half;
            let t = if t > half { t - odd } else { t };
            (!dropped).then_some((key, chain * 2 * half + t))
        }));
    }

    pub fn value(&self, place: usize) -> f64 {
        value_of(self.entries[place].0)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The quantile at `p`; NaN for no draws or `p` outside [0, 1].
    pub fn quantile(&self, p: f64) -> f64 {
        quantile_by(self.len(), p, |place| self.value(place))
    }

    /// The mean of the two middle draws, or the middle one.
    pub fn median(&self) -> f64 {
        match self.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => self.value(n / 2),
            n => {
                let (a, b) = (self.value(n / 2 - 1), self.value(n / 2));
                if a == b { a } else { a.midpoint(b) } // the sum could overflow
            }
        }
    }

    /// Writes the rank-normalised draws, in the order they had before sorting.
    pub fn rank_normalised(&self, scores: &NormalScores, out: &mut Vec<f64>) {
        out.resize(self.len(), 0.0);
        let mut first = 0;
        while first < self.len() {
            let key = self.entries[first].0;
            let mut end = first + 1;
            while end < self.len() && self.entries[end].0 == key {
                end += 1;
            }
            let z = scores.of_places(first, end - 1);
            for &(_, i) in &self.entries[first..end] {
                out[i] = z;
            }
            first = end;
        }
    }

    /// Takes over the distances of `from` from its median, in ascending order; false, and nothing
    /// done, where the median is not finite.
    pub fn fold(&mut self, from: &Sorted) -> bool {
        let median = from.median();
        if !median.is_finite() {
            return false;
        }
        // A distance is not negative, so that its bits order as it does.
        let distance = |e: &(u64, usize)| ((value_of(e.0) - median).abs().to_bits(), e.1);
        let split = from.entries.partition_point(|e| value_of(e.0) <= median);
        let (below, above) = from.entries.split_at(split);
        self.spare.clear();
        self.spare.extend(below.iter().rev().map(distance));
        self.spare.extend(above.iter().map(distance));
        let (below, above) = self.spare.split_at(split);
        // Always the nearer of the two; without a branch, which nothing could predict.
        self.entries.resize(from.len(), (0, 0));
        let (mut b, mut a) = (0, 0);
        for entry in &mut self.entries {
            let (Some(left), Some(right)) = (below.get(b), above.get(a)) else { break };
            let take_left = left.0 <= right.0;
            *entry = if take_left { *left } else { *right };
            b += usize::from(take_left);
            a += usize::from(!take_left);
        }
        let rest = if b < below.len() { &below[b..] } else { &above[a..] };
        let merged = a + b;
        self.entries[merged..].copy_from_slice(rest);
        true
    }
}

/// Sorts few entries by key.
fn sort_by_key(entries: &mut [(u64, usize)]) {
    entries.sort_unstable_by_key(|e| e.0);
}

/// Sorts by key: three passes of 11 bits over the leading 33 bits in which the keys differ, then
/// a sort of each run that agrees in those. Runs are short unless the keys form tight clusters far
/// apart, or tie.
fn radix_sort(entries: &mut Vec<(u64, usize)>, spare: &mut Vec<(u64, usize)>) {
    const BITS: u32 = 11;
    const SIZE: usize = 1 << BITS;
    const PASSES: u32 = 3;
    let bounds = entries.iter().fold((u64::MAX, 0), |(a, b), e| (a.min(e.0), b.max(e.0)));
    let (lowest, range) = (bounds.0, bounds.1.saturating_sub(bounds.0));
    let shift = (u64::BITS - range.leading_zeros()).saturating_sub(PASSES * BITS);
    let coarse = |key: u64| (key - lowest) >> shift;
    let digit = |key: u64, pass: usize| (coarse(key) >> (pass as u32 * BITS)) as usize % SIZE;

    let mut counts = [[0_usize; SIZE]; PASSES as usize];
    for &(key, _) in entries.iter() {
        for (pass, count) in counts.iter_mut().enumerate() {
            count[digit(key, pass)] += 1;
        }
    }
    spare.resize(entries.len(), (0, 0));
    for (pass, count) in counts.iter_mut().enumerate() {
        let mut start = 0;
        for c in count.iter_mut() {
            start += std::mem::replace(c, start);
        }
        for &entry in entries.iter() {
            let slot = &mut count[digit(entry.0, pass)];
            spare[*slot] = entry;
            *slot += 1;
        }
        std::mem::swap(entries, spare);
    }
    if shift > 0 {
        for run in entries.chunk_by_mut(|a, b| coarse(a.0) == coarse(b.0)) {
            if run.len() > 1 {
                sort_by_key(run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radix_sort_orders_every_kind_of_number() {
        let mut x: Vec<f64> = (0..5000).map(|i| ((i * 7919) % 5003) as f64 - 2500.0).collect();
        x.extend([f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 5e-324, -5e-324, f64::MAX, 0.3]);
        let mut sorted = Sorted::default();
        sorted.sort(&x);
        let values: Vec<f64> = (0..sorted.len()).map(|i| sorted.value(i)).collect();
        assert!(values.windows(2).all(|w| w[0] <= w[1]));
        for place in 0..x.len() {
            assert_eq!(sorted.value(place), x[sorted.entries[place].1]);
        }
        // Tight clusters far apart: the leading bits tell the clusters apart, and nothing within.
        let x: Vec<f64> =
            (0..5000).map(|i| f64::from(i % 3 - 1) + 1e-12 * f64::from(i * 7919 % 5003)).collect();
        sorted.sort(&x);
        assert!((1..sorted.len()).all(|i| sorted.value(i - 1) <= sorted.value(i)));
    }

    #[test]
    fn an_odd_middle_draw_is_dropped_and_the_rest_moves_up() {
        let x = [5.0, 3.0, 9.0, 1.0, 4.0, 50.0, 30.0, 90.0, 10.0, 40.0];
        let (mut whole, mut halves) = (Sorted::default(), Sorted::default());
        whole.sort(&x);
        halves.halves_of(&whole, 5);
        let mut expected = Sorted::default();
        expected.sort(&[5.0, 3.0, 1.0, 4.0, 50.0, 30.0, 10.0, 40.0]);
        assert_eq!(halves.entries, expected.entries);
    }

    #[test]
    fn normal_scores_are_accurate_and_symmetric() {
        // scipy.stats.norm.ppf((r - 3/8) / (S + 1/4)) of r = 1, 2, 3 and 2.5 with S = 5
        let scores = NormalScores::new(5);
        let expected = [-1.179_761_117_611_861_2, -0.497_200_570_681_554_04, 0.0];
        for (place, z) in expected.into_iter().enumerate() {
            approx::assert_relative_eq!(scores.of_places(place, place), z, max_relative = 1e-13);
            assert_eq!(scores.of_places(4 - place, 4 - place), -scores.of_places(place, place));
        }
        approx::assert_relative_eq!(
            scores.of_places(1, 2),
            -0.241_040_393_886_026_85,
            max_relative = 1e-13
        );
    }
}

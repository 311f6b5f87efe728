//! The choice of rungs that may exchange their states, and the test that decides.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::portable::exp;
use crate::rng::ChainRng;

/// The choice of the pairs of rungs for an exchange.
///
/// The states of the rungs i and j are exchanged with probability min(1, e^r),
///
/// ```text
/// r = (beta_i - beta_j) (ell_j - ell_i)
/// ```
///
/// which is log [pi_i(q_j) pi_j(q_i) / (pi_i(q_i) pi_j(q_j))]: the priors cancel. An exchange is its
/// own inverse, and the pair is chosen without regard to the states, so that the probability of
/// choosing it cancels too and nothing else may enter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Swaps {
    /// The pairs (0, 1), (2, 3), ... in one round, (1, 2), (3, 4), ... in the next, by turns. States
    /// travel straight along the ladder instead of to and fro (Okabe et al., Chem. Phys. Lett. 335,
    /// 2001; Syed et al. 2022).
    #[default]
    EvenOdd,
    /// For each rung i a partner j with probability proportional to exp(-decay |i - j|), as in
    /// Papamarkou et al., Statist. Sci. 37, 2022, arXiv:1910.06539, section 4.2, with decay 0.5. One
    /// round may exchange a pair and exchange it back; of two rungs it always proposes both.
    Categorical {
        /// Above 0; larger keeps to neighbours.
        decay: f64,
    },
}

impl Swaps {
    pub(super) fn check(&self) -> Result<(), Error> {
        match self {
            Self::Categorical { decay } if !(decay.is_finite() && *decay > 0.0) => {
                Err(Error::argument("decay of the swaps", decay, "a finite number above 0"))
            }
            _ => Ok(()),
        }
    }

    /// Calls `exchange(i, j)` for the pairs of round number `round` on a ladder of `rungs`.
    pub(super) fn propose(
        self,
        rungs: usize,
        round: u64,
        rng: &mut ChainRng,
        mut exchange: impl FnMut(usize, usize, &mut ChainRng),
    ) {
        match self {
            Self::EvenOdd => {
                for i in ((round % 2) as usize..rungs - 1).step_by(2) {
                    exchange(i, i + 1, rng);
                }
            }
            Self::Categorical { decay } => {
                for i in 0..rungs {
                    exchange(i, partner(i, rungs, decay, rng.uniform()), rng);
                }
            }
        }
    }
}

/// The j != i at which the distribution function of exp(-decay |i - j|) exceeds u.
fn partner(i: usize, rungs: usize, decay: f64, u: f64) -> usize {
    let others = || (0..rungs).filter(move |j| *j != i);
    // Counted from the nearest, which has weight 1, so that no sum is 0.
    let weight = |j: usize| exp(-decay * (i.abs_diff(j) - 1) as f64);
    let mut left = u * others().map(weight).sum::<f64>();
    for j in others() {
        left -= weight(j);
        if left < 0.0 {
            return j;
        }
    }
    if i + 1 < rungs { i + 1 } else { i - 1 } // rounding
}

/// The log ratio r of an exchange, as [`Swaps`] has it. Two states of likelihood 0 give NaN: no exchange.
pub(super) fn log_ratio(betas: (f64, f64), likelihoods: (f64, f64)) -> f64 {
    (betas.0 - betas.1) * (likelihoods.1 - likelihoods.0)
}

/// min(1, e^r), 0 for NaN.
pub(super) fn accept_prob(log_ratio: f64) -> f64 {
    if log_ratio.is_nan() { 0.0 } else { exp(log_ratio.min(0.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_have_their_probabilities() {
        let (rungs, decay) = (7, 0.5);
        for i in 0..rungs {
            let mut counts = vec![0usize; rungs];
            let n = 100_000;
            for k in 0..n {
                counts[partner(i, rungs, decay, (k as f64 + 0.5) / n as f64)] += 1;
            }
            let weights: Vec<f64> = (0..rungs)
                .map(|j| if j == i { 0.0 } else { (-decay * i.abs_diff(j) as f64).exp() })
                .collect();
            let total: f64 = weights.iter().sum();
            for (count, weight) in counts.iter().zip(&weights) {
                let expected = n as f64 * weight / total;
                assert!((*count as f64 - expected).abs() <= 2.0, "{i}: {counts:?}");
            }
            assert_eq!(partner(0, 2, 300.0, 0.999), 1);
        }
    }

    #[test]
    fn every_neighbour_has_its_turn_once_in_two_rounds() {
        for rungs in [2, 3, 8, 9] {
            let mut pairs = Vec::new();
            let mut rng = ChainRng::new(1, 0);
            for round in 0..2 {
                Swaps::EvenOdd.propose(rungs, round, &mut rng, |i, j, _| pairs.push((i, j)));
            }
            pairs.sort_unstable();
            assert_eq!(pairs, (0..rungs - 1).map(|i| (i, i + 1)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn states_of_likelihood_zero_stay_apart() {
        let inf = f64::NEG_INFINITY;
        // The colder rung (larger beta) never takes up a state of likelihood 0, but gives one away.
        assert_eq!(accept_prob(log_ratio((0.0, 0.5), (inf, -3.0))), 0.0);
        assert_eq!(accept_prob(log_ratio((0.5, 0.0), (-3.0, inf))), 0.0);
        assert_eq!(accept_prob(log_ratio((0.0, 0.5), (-3.0, inf))), 1.0);
        assert_eq!(accept_prob(log_ratio((0.0, 0.5), (inf, inf))), 0.0);
        assert_eq!(accept_prob(log_ratio((0.0, 1.0), (-2.0, -3.0))), 1.0);
        assert_eq!(accept_prob(log_ratio((0.0, 1.0), (-3.0, -2.0))), (-1.0f64).exp());
    }
}

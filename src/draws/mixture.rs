//! Draws that are not of the posterior: what they are of instead, and mixtures of chains by
//! weights.

use ndarray::Array3;
use serde::{Deserialize, Serialize};

use super::{Draws, RunInfo};
use crate::message::count;
use crate::{Error, memory, order};

/// The approximation that draws are of, if they are not of the posterior.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Approximation {
    /// A [surrogate](crate::surrogate), which was sampled in the place of the posterior: its
    /// description.
    Surrogate(String),
    /// One of the [methods](crate::approximate) that are used instead of sampling.
    Fitted {
        /// The method that made the draws: `a deep ensemble of 5 members`.
        method: String,
    },
    /// An [ensemble](crate::fit::Method::Ensemble): chains that begin where ascents ended, and are too
    /// short to find the same predictions.
    Ensemble {
        /// The number of members, a chain each.
        members: usize,
    },
    /// A [mixture](Draws::mixture) of chains.
    Mixture {
        /// The weight of each chain.
        weights: Vec<f64>,
    },
}

impl Approximation {
    /// Whether a run's densities are the posterior's, though its draws are not.
    pub(crate) fn has_own_densities(&self) -> bool {
        matches!(self, Self::Ensemble { .. })
    }

    /// An ensemble in words.
    pub(crate) fn ensemble(members: usize) -> String {
        format!("an ensemble of {}", count(members, "member"))
    }
}

impl Draws {
    /// The mixture of the chains with these weights: one chain of as many draws as there are in
    /// all.
    ///
    /// For chains that stay in modes of their own, such as the members of an ensemble, with the
    /// weights that predict held-out rows best ([`Stacking`](crate::predict::Stacking)). Chain k
    /// has a share w_k of the draws, rounded by largest remainders: its draws, evenly spaced, or
    /// repeated where its share is larger than its number of draws. Predictions of the mixture have
    /// the weights; it **is not the posterior**, which [`RunInfo::approximation`] and the verdict
    /// say. It has no statistics of a run.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use bnn_mcmc::testing::GaussianTarget;
    /// let target = GaussianTarget::standard(2)?;
    /// let draws = Sampler::new(&target, Nuts::default()).chains(3).warmup(100).draws(50).run()?;
    /// let mixture = draws.mixture(&[0.5, 0.0, 0.5])?;
    /// assert_eq!(mixture.values().dim(), (1, 150, 2));
    /// assert_eq!(mixture.draw(0, 0), draws.draw(0, 0));
    /// assert_eq!(mixture.draw(0, 149), draws.draw(2, 49));
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// Draws of a surrogate, or of a mixture of chains; fewer than two chains; other than one
    /// weight for each chain, a weight that is negative or not finite, weights whose sum is not 1
    /// (within 1e-6), no draws, or draws that do not fit into memory a second time.
    pub fn mixture(&self, weights: &[f64]) -> Result<Self, Error> {
        let (chains, n, dim) = self.values.dim();
        let approximation = match &self.info.approximation {
            None => Approximation::Mixture { weights: weights.to_vec() },
            Some(Approximation::Fitted { method }) => {
                Approximation::Fitted { method: format!("a mixture by weights of {method}") }
            }
            Some(Approximation::Ensemble { members }) => {
                let of = Approximation::ensemble(*members);
                Approximation::Fitted { method: format!("a mixture by weights of {of}") }
            }
            Some(Approximation::Surrogate(_) | Approximation::Mixture { .. }) => {
                let allowed = "those of chains that sample the posterior";
                return Err(Error::argument("draws", "of an approximation already", allowed));
            }
        };
        if chains < 2 {
            return Err(Error::shape("chains to be mixed", chains, "at least 2"));
        }
        if weights.len() != chains {
            return Err(Error::shape("weights of the chains", weights.len(), chains));
        }
        for (chain, weight) in weights.iter().enumerate() {
            if !(weight.is_finite() && *weight >= 0.0) {
                let what = format!("weight of chain {chain}");
                return Err(Error::argument(what, weight, "a number that is not negative"));
            }
        }
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() > 1e-6 {
            return Err(Error::argument("sum of the weights", sum, "1"));
        }
        if n == 0 {
            return Err(Error::shape("draws of each chain", 0, "at least 1"));
        }
        let all = chains * n;
        let size = [(chains, "chains"), (n, "draws"), (dim, "parameters")];
        memory::check::<f64>("draws of a mixture", &size, "keep fewer parameters")?;
        let mut values = Vec::with_capacity(all * dim);
        for (chain, count) in counts(weights, all).into_iter().enumerate() {
            for i in 0..count {
                // The middle of the i-th of `count` equal parts of the chain.
                let at = (2 * i + 1) * n / (2 * count); //~ mixture-spaced
                values.extend_from_slice(self.draw(chain, at).expect("it is less than n"));
            }
        }
        let values = Array3::from_shape_vec((1, all, dim), values)
            .expect("the counts have the sum of all draws");
        // The information that is still true of draws mixed from the draws of a run.
        let info = RunInfo {
            seed: self.info.seed,
            parameters: self.info.parameters,
            thin: 1,
            approximation: Some(approximation),
            target: self.info.target.clone(),
            panic: self.info.panic.clone(),
            ..RunInfo::default()
        };
        Ok(Self::new(self.layout.clone(), values)?.with_info(info))
    }
}

/// Shares of `all` in proportion to the weights, of sum 1, in whole numbers of sum `all`: each
/// share is rounded down, and the shares with the largest remainders get the rest.
fn counts(weights: &[f64], all: usize) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let shares: Vec<f64> = weights.iter().map(|weight| weight / sum * all as f64).collect();
    let mut counts: Vec<usize> = shares.iter().map(|share| share.floor() as usize).collect();
    let mut by_remainder: Vec<usize> = (0..counts.len()).filter(|k| shares[*k] > 0.0).collect();
    order::largest_first(&mut by_remainder, &|k| shares[k].fract());
    let left = all.saturating_sub(counts.iter().sum()); //~ mixture-leftover
    by_remainder.iter().cycle().take(left).for_each(|k| counts[*k] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_the_sum_and_no_weight_has_none() {
        assert_eq!(counts(&[0.5, 0.0, 0.5], 150), [75, 0, 75]);
        assert_eq!(counts(&[1.0 / 3.0; 3], 100), [34, 33, 33]);
        assert_eq!(counts(&[0.996, 0.004, 0.0], 100), [100, 0, 0]);
        assert_eq!(counts(&[0.1; 10], 7).iter().sum::<usize>(), 7);
        assert_eq!(counts(&[0.0, 1.0], 3), [0, 3]);
    }
}

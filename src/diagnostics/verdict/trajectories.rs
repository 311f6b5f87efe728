//! Statistics of trajectories.

use serde::{Deserialize, Serialize};

/// Statistics of the trajectories of Hamiltonian Monte Carlo, and of steps on a surrogate, one
/// number for each chain: from [`Draws::trajectories`](crate::draws::Draws::trajectories). Unknown
/// statistics are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trajectories {
    /// The share that [`Nuts`](crate::sampler::Nuts) cut off at its maximal depth.
    pub at_max_depth: Vec<f64>,
    /// The [E-BFMI](crate::diagnostics::ebfmi()).
    pub ebfmi: Vec<f64>,
    /// The mean number of leapfrog steps; empty for samplers without a Metropolis test, whose steps make no
    /// trajectories.
    pub leapfrog_steps: Vec<f64>,
    /// The mean acceptance probability.
    pub accept_prob: Vec<f64>,
    /// The most transitions in a row that were rejected, of [`Hmc`](crate::sampler::Hmc) and
    /// [`Mams`](crate::sampler::Mams), whose trajectories have a length that is fixed when warm-up
    /// ends.
    #[serde(default)]
    pub longest_still: Vec<usize>,
    /// Whether the sampler found their length, as NUTS does, and HMC and MAMS in their warm-up; false
    /// if the length was given, or if there is no Metropolis test.
    pub find_their_length: bool,
    /// The mean probability with which the second stage of
    /// [`DelayedAcceptance`](crate::sampler::DelayedAcceptance) accepted the moves on the
    /// surrogate: NaN for a chain in which nothing moved there, empty for other samplers.
    #[serde(default)]
    pub second_stage_accept: Vec<f64>,
}

impl Trajectories {
    /// The trajectories of the chains of several runs of one sampler, one after the other.
    pub(crate) fn pooled<'t>(runs: impl Iterator<Item = &'t Self>) -> Self {
        let mut all = Self::default();
        for run in runs {
            all.at_max_depth.extend(&run.at_max_depth);
            all.ebfmi.extend(&run.ebfmi);
            all.leapfrog_steps.extend(&run.leapfrog_steps);
            all.accept_prob.extend(&run.accept_prob);
            all.longest_still.extend(&run.longest_still);
            all.find_their_length = run.find_their_length;
            all.second_stage_accept.extend(&run.second_stage_accept);
        }
        all
    }

    /// The trajectories of one chain.
    pub(crate) fn of_chain(&self, chain: usize) -> Self {
        let of = |all: &[f64]| all.get(chain).copied().into_iter().collect();
        Self {
            at_max_depth: of(&self.at_max_depth),
            ebfmi: of(&self.ebfmi),
            leapfrog_steps: of(&self.leapfrog_steps),
            accept_prob: of(&self.accept_prob),
            longest_still: self.longest_still.get(chain).copied().into_iter().collect(),
            find_their_length: self.find_their_length,
            second_stage_accept: of(&self.second_stage_accept),
        }
    }
}

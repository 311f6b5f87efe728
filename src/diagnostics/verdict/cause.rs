//! The cause of a lack of convergence, as far as a verdict can tell.

use ndarray::{ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::limits::{
    ACCEPTANCE, BETWEEN_LIMIT, CUT_OFF, EBFMI_LIMIT, ESS_WITHIN, LONG_TRAJECTORY, SLOW,
};
use super::{InUse, Outcome, Trajectories};
use crate::diagnostics::ess_bulk;
use crate::diagnostics::quantile::quantile;

/// The reason why the chains of a run have not converged, where a [`Verdict`](super::Verdict) can
/// tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Cause {
    /// Chains that have not arrived at the posterior: their log likelihoods are at levels that are
    /// [far apart](super::LEVELS_APART), or [still rise](super::RISING).
    NotArrived {
        /// The smallest mean log likelihood of a chain.
        lowest: f64,
        /// The largest mean log likelihood of a chain.
        highest: f64,
        /// The standard deviation of the log likelihood within a chain: the median over chains.
        sd: f64,
        /// Whether the log likelihoods of more than half of the chains still rise.
        rising: bool,
    },
    /// Modes that chains seldom or never cross between.
    Modes,
    /// A thin ridge, along which trajectories are long: the weights of a linear output layer make
    /// one. Only trajectories that the sampler ended by itself, or that were cut off, say so.
    Ridge {
        /// The mean number of leapfrog steps of a trajectory.
        leapfrog_steps: f64,
    },
}

/// The evidence for a cause, besides the draws.
#[derive(Clone, Debug, Default)]
pub(super) struct Clues {
    pub trajectories: Trajectories,
    pub in_use: InUse,
    /// The cause that chains have not arrived, if their log likelihoods say so.
    pub not_arrived: Option<Cause>,
    /// Whether more transitions diverged than a trusted run may have.
    pub diverges: bool,
    /// The smallest bulk effective sample size over the number of draws.
    pub effective_share: f64,
}

impl Clues {
    /// The cause of `outcome`; `separate` is the result of [`are_separate`] for the worst quantity.
    pub fn cause(&self, outcome: &Outcome, separate: bool) -> Option<Cause> {
        let (disagree, one_drifts) = match outcome {
            Outcome::TooFewDraws { .. } | Outcome::NearlyConverged { .. } => (false, false),
            Outcome::OneChainDisagrees { drifts, .. } => (true, *drifts),
            Outcome::ChainsDrift { .. } | Outcome::ChainsDisagree { .. } => (true, false),
            _ => return None,
        };
        let trajectories = &self.trajectories;
        let steps = mean(&trajectories.leapfrog_steps);
        // The comparison is false for NaN, where there is no Metropolis test.
        let is_accepted = mean(&trajectories.accept_prob) >= ACCEPTANCE;
        let cut_off = mean(&trajectories.at_max_depth) >= CUT_OFF;
        // A length that was given, not tuned, says nothing about the target.
        let is_long = trajectories.find_their_length && steps >= LONG_TRAJECTORY; //~ given-length
        let is_ridge = is_accepted && (cut_off || is_long && !self.in_use.is_collapsed());
        let ridge = (is_ridge && !steps.is_nan()).then_some(Cause::Ridge { leapfrog_steps: steps });
        // On a ridge chains creep towards the posterior: that is why they have not arrived.
        if disagree && self.not_arrived.is_some() {
            return ridge.or(self.not_arrived.clone());
        }
        if disagree && separate && !one_drifts {
            return Some(Cause::Modes);
        }
        if ridge.is_some() || steps.is_nan() || !is_accepted {
            return ridge;
        }
        // Short trajectories cross all of the region that they can reach, so that slow mixing is
        // due to several modes.
        let is_narrow_energy = trajectories.ebfmi.iter().any(|ebfmi| *ebfmi < EBFMI_LIMIT);
        let reach = trajectories.find_their_length && !is_narrow_energy && !self.diverges;
        let is_slow = self.effective_share < SLOW; //~ slow-chains
        let is_network = self.in_use.hidden_units.is_some();
        (disagree && reach && is_slow && is_network).then_some(Cause::Modes)
    }
}

/// Whether the chains mix within and differ between in a quantity `[chain, draw]` with this R-hat: more
/// than half of them have [`ESS_WITHIN`] effective draws by themselves, and the variance between
/// chains is beyond [`BETWEEN_LIMIT`].
///
/// R-hat is the larger of the rank form and the folded form, so a chain's number of effective draws
/// is the smaller one of the quantity and of its distance from the median of all draws: where only
/// the scale moves slowly, the quantity itself has many.
pub(super) fn are_separate(rhat: f64, draws: ArrayView2<f64>) -> bool {
    let mut sorted: Vec<f64> = draws.iter().copied().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = quantile(&sorted, 0.5);
    let distances = draws.mapv(|x| (x - median).abs());
    let ess_of = |x: ArrayView2<f64>| Some(ess_bulk(x)).filter(|ess| !ess.is_nan()).unwrap_or(0.0);
    let by_chain = draws.axis_chunks_iter(Axis(0), 1).zip(distances.axis_chunks_iter(Axis(0), 1));
    //~ modes-ess-within
    let mut ess: Vec<f64> = by_chain.map(|(x, distance)| ess_of(x).min(ess_of(distance))).collect();
    ess.sort_unstable_by(f64::total_cmp);
    let of_most = ess.get(ess.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN);
    //~ modes-between-and-within
    of_most >= ESS_WITHIN && (rhat * rhat - 1.0) * of_most >= BETWEEN_LIMIT
}

/// NaN if there are none.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

//! The settings that a run has in use.

use serde::{Deserialize, Serialize};

use super::NARROW;
use crate::message::Advice;

/// The settings that a run has in use and the settings that its model allows, as far as a
/// [`Judge`](super::Judge) was told, so that a verdict advises nothing that is done already or
/// cannot be done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InUse {
    /// The algorithm that was run, [`RunInfo::algorithm`](crate::draws::RunInfo::algorithm).
    pub algorithm: Option<String>,
    /// The number of units of the last hidden layer, if the parameters are the weights of a network.
    pub hidden_units: Option<usize>,
    /// Whether the prior of the output weights of a network is N(0, 1/H), as
    /// [`Priors::by_fan_in`](crate::prior::Priors::by_fan_in) gives it, or has a variance that is sampled.
    pub prior_by_fan_in: bool,
    /// Whether weights of a network have variances that are sampled, such as one for each input
    /// ([`Priors::ard`](crate::prior::Priors::ard)): another prior of all weights would give that up.
    pub sampled_variances: bool,
    /// Whether the output layer can be [integrated out](crate::sampler::Collapsed).
    pub collapsible: bool,
    /// The acceptance that warm-up aimed at, if it is known.
    pub target_accept: Option<f64>,
    /// Whether rows were kept from the model, to score its predictions.
    pub validation: bool,
}

impl InUse {
    /// Whether an algorithm of this name was run, by itself or around or within another.
    fn ran(&self, name: &str) -> bool {
        self.algorithm.as_ref().is_some_and(|all| all.contains(name))
    }

    /// Whether the posterior was tempered.
    pub fn is_tempered(&self) -> bool {
        self.ran("PowerPosteriors(")
    }

    /// Whether the output layer was integrated out.
    pub fn is_collapsed(&self) -> bool {
        self.ran("Collapsed(")
    }

    /// The advice to integrate the output layer out, if that can be done and was not.
    pub(super) fn integrate_out(&self) -> Option<Advice> {
        (self.collapsible && !self.is_collapsed()).then_some(Advice::IntegrateOut)
    }

    /// The advice to temper the posterior, if it was not tempered.
    pub(super) fn temper(&self) -> Option<Advice> {
        (!self.is_tempered()).then_some(Advice::Temper)
    }

    /// The advice to keep rows from the model, if none were kept.
    pub(super) fn validate(&self) -> Option<Advice> {
        (!self.validation).then_some(Advice::KeepRows)
    }

    /// Advice that connects the modes of a network: more units, and a prior by fan-in.
    pub(super) fn connect_modes(&self) -> Vec<Advice> {
        let Some(units) = self.hidden_units else { return Vec::new() };
        let wider = (units < NARROW).then_some(Advice::Widen { units: NARROW });
        let is_scaled = self.prior_by_fan_in || self.sampled_variances; //~ prior-in-use
        let prior = (!is_scaled).then_some(Advice::PriorByFanIn);
        wider.into_iter().chain(prior).collect()
    }

    /// The advice to take another prior of the weights, for a network.
    pub(super) fn other_prior(&self) -> Option<Advice> {
        self.hidden_units.map(|_| Advice::OtherPrior)
    }

    /// The advice to aim at a higher acceptance, if that makes steps smaller.
    pub(super) fn raise_target_accept(&self) -> Option<Advice> {
        match self.target_accept {
            None => Some(Advice::RaiseTargetAccept { to: None }),
            Some(now) => {
                let to = [0.95, 0.99].into_iter().find(|to| *to > now)?;
                Some(Advice::RaiseTargetAccept { to: Some(to) })
            }
        }
    }
}

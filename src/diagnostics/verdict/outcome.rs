//! The findings of a judge: the outcome, the worst values of each group, and the verdict around
//! both.

use serde::{Deserialize, Serialize};

use super::{Cause, InUse, MonteCarloError, Trajectories};
use crate::draws::Approximation;

/// The verdict on a run: may it be trusted, and if not, what is to be done? Its fields are for
/// programs, its `Display` is one sentence for people.
///
/// Networks are judged in function space, by
/// [`Predictions::verdict`](crate::predict::Predictions::verdict), on quantities that do not depend
/// on how hidden units are numbered: predictions at given inputs, the log likelihood and the log
/// prior. Where parameters mean something, [`Draws::verdict`](crate::draws::Draws::verdict) judges
/// them in place of predictions. A [`Judge`](super::Judge) passes a verdict on quantities of your
/// own. The log likelihood and the log prior alone are not enough: chains in two modes of equal
/// density have the same.
///
/// **Predictions have settled** ([`Outcome::Settled`]) when [Monte Carlo error](MonteCarloError) leaves little of them open, within
/// chains and between them: at most [0.002 nats](super::SETTLED_LOG_DENSITY) of their mean log density, and of the mean at
/// [95 %](super::SETTLED_SHARE) of the rows at most a [twentieth](super::SETTLED_MEAN) of a predictive standard deviation. A longer
/// run would predict the same. Whoever reads parameters, effects or tails waits until the run has converged.
///
/// **A run has converged** when every quantity has R-hat at most 1.01 and at least 100 effective
/// draws per chain, in the bulk and in the tails (Vehtari et al. 2021, doi:10.1214/20-BA1221). A
/// quantity with the same value in all draws of all chains, such as a saturated probability, counts
/// as agreement. Otherwise two more questions find the problem:
///
/// - Does a chain disagree with itself? R-hat of the two halves of the single chain, on ranks and
///   folded, above 1.1 (the limit of Gelman and Rubin's day) means that the chain still drifts.
/// - Is one chain alone to blame? It is if R-hat is above 1.05, and if leaving that chain out brings
///   R-hat to 1.05 or below and its excess over 1 to less than a third.
///
/// # Why, and what helps
/// Networks with a real response fail to converge for three reasons as a rule, which need different
/// remedies; the [`Cause`] says which, where it can be told, and [`advice`](Self::advice) says what
/// helps.
///
/// - **Not arrived** ([`Cause::NotArrived`]): the chains disagree, and the mean log likelihoods of two of them
///   differ by [four](super::LEVELS_APART) standard deviations of a chain and more, and by five Monte
///   Carlo errors; or more than half of the chains still [rise](super::RISING). In one mode the log likelihood
///   is its largest value less half a chi-squared variable, and chains so far apart are not in modes of
///   about the same mass. Longer warm-up and other starts help, not tempering.
/// - **Modes** ([`Cause::Modes`]): log likelihoods do not say otherwise, each chain mixes within
///   its mode, and the chains differ between. For the quantity with the largest R-hat, more than
///   half of the chains have at least [50](super::ESS_WITHIN) effective draws by themselves, both
///   of the quantity and of its distance from the median. With the ESS, the smaller of the two,
///   that more than half of the chains have,
///
///   ```text
///   (R-hat^2 - 1) ESS >= 25
///   ```
///
///   R-hat^2 - 1 is the variance between chains over the variance within, and 1 / ESS the squared
///   Monte Carlo error of one chain's mean over the same variance: the chains' means, or widths,
///   scatter [five times](super::BETWEEN_LIMIT) as widely as their length explains. Chains that now
///   and then cross between modes drift instead, and have few effective draws. In a network they
///   are recognised by trajectories that find their length, are short all the same, and are
///   accepted, while fewer than [one draw in fifty](super::SLOW) is effective. The modes of
///   networks of [100](super::NARROW) hidden units with output weights N(0, 1/H) are better
///   connected, and tempering crosses between modes: on Boston's housing values (13-H-1, four
///   chains of 400 + 600 iterations) R-hat was 1.80 with 10 units and 1.03 with 60.
/// - **A ridge** ([`Cause::Ridge`]): trajectories that find their length, with
///   [200](super::LONG_TRAJECTORY) leapfrog steps and more on average, or half of them [cut
///   off](super::CUT_OFF) at the maximal depth of NUTS, with a mean acceptance of [one
///   half](super::ACCEPTANCE) and more, and still too few effective draws. A length that was given,
///   not tuned, says nothing about the target. The weights of a linear output layer make such a
///   ridge. Under normal noise and normal priors [`Collapsed`](crate::sampler::Collapsed) removes
///   it; otherwise only longer runs help. Chains on a ridge have seldom arrived, and the verdict
///   names the ridge.
///
/// The advice names no remedy that the run has used, or that cannot be used. Beyond that the rules
/// read symptoms: a slow chain that has not shown yet how slow it is looks as if it mixed within a
/// mode, and where divergent transitions or a low E-BFMI explain why chains are slow, no modes are
/// inferred from trajectories.
///
/// # How much it matters
/// For a run whose chains disagree, [`apart`](field@Self::apart) says how much of a predictive
/// standard deviation the chains' mean predictions differ by, at the row where they differ most,
/// and the sentence whether intervals are little affected, only roughly right, or not to be
/// believed ([limits](super::APART_LIMITS)). This concerns intervals of new observations only: the
/// chains still disagree about the mean function, and a small value never makes a run count as
/// converged.
///
/// # What else is said
/// A run with more than one divergent transition in a thousand is not trusted, however well its
/// chains agree. The end of the sentence names other problems of the trajectories of Hamiltonian
/// Monte Carlo, whether a chain stood [still](super::STILL) because trajectories of a fixed length
/// were rejected, and whether the sampler has no Metropolis test: chains that all sample the wrong
/// density agree as well.
///
/// Chains are counted from 0, as everywhere in this crate, and sentences say so. In JSON, NaN and
/// infinite values become `null`.
///
/// ```
/// use bnn_mcmc::diagnostics::{Judge, Outcome};
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// let mut predictions = ndarray::Array3::from_shape_simple_fn((4, 1000, 5), || rng.normal());
/// let log_likelihood = ndarray::Array2::from_shape_simple_fn((4, 1000), || rng.normal());
/// let judge = |predictions: &ndarray::Array3<f64>| {
///     Judge::new()
///         .quantities("predictions", predictions.view())
///         .quantity("log likelihood", log_likelihood.view())
///         .judge()
/// };
/// let verdict = judge(&predictions)?;
/// assert!(verdict.is_converged(), "{verdict}");
///
/// predictions.slice_mut(ndarray::s![3, .., ..]).mapv_inplace(|x| x + 2.0);
/// let verdict = judge(&predictions)?;
/// assert!(matches!(verdict.outcome, Outcome::OneChainDisagrees { chain: 3, .. }));
/// println!("{verdict}"); // not converged: chain 3 (counted from 0) sits in another mode ...
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The finding on the run.
    pub outcome: Outcome,
    /// The reason why the run has not converged; `None` if it has, or if the reason is unknown.
    #[serde(default)]
    pub cause: Option<Cause>,
    /// The settings that the run has in use, which are not advised.
    #[serde(default)]
    pub in_use: InUse,
    /// The worst values of each group, in the order they were added.
    pub groups: Vec<QuantityGroup>,
    /// The number of chains.
    pub chains: usize,
    /// The number of parameters of the target; 0 where parameters are not judged, as in function
    /// space.
    pub parameters: usize,
    /// The number of parameters of the target that the run did not keep, so that the verdict could
    /// not see them; 0 where parameters are not judged.
    pub unkept: usize,
    /// The largest R-hat that was allowed.
    pub rhat_limit: f64,
    /// The number of divergent transitions; 0 if the judge was not told.
    pub divergences: u64,
    /// The statistics of the trajectories of Hamiltonian Monte Carlo, as far as the judge was told.
    #[serde(default)]
    pub trajectories: Trajectories,
    /// The distance between the chains' mean predictions, in predictive standard deviations:
    /// [`Predictions::chains_apart`](crate::predict::Predictions::chains_apart). `None` if the
    /// judge was not told, as for classes and for a single chain.
    #[serde(default)]
    pub apart: Option<f64>,
    /// What Monte Carlo error leaves open of predictions; `None` if the judge was not told.
    #[serde(default)]
    pub monte_carlo: Option<MonteCarloError>,
    /// For samplers without a Metropolis test, the kinetic temperature of each chain, or an empty
    /// list if the judge was not told; `None` for samplers with a test.
    pub unadjusted: Option<Vec<f64>>,
    /// The approximation that the draws are of, if they are not of the posterior.
    pub approximation: Option<Approximation>,
}

impl Verdict {
    /// Whether the run has converged.
    pub fn is_converged(&self) -> bool {
        matches!(self.outcome, Outcome::Converged { .. })
    }

    /// Whether predictions have settled, so that a longer run would change them little. A run that has converged counts.
    pub fn is_settled(&self) -> bool {
        self.is_converged() || matches!(self.outcome, Outcome::Settled { .. })
    }

    /// The largest R-hat of all groups: the number by which a run is judged, and which tables of runs should
    /// show. NaN if there is none.
    pub fn max_rhat(&self) -> f64 {
        self.groups.iter().map(|group| group.max_rhat).fold(f64::NAN, f64::max)
    }

    /// The smallest effective sample size of all groups, bulk or tail. NaN if there is none.
    pub fn min_ess(&self) -> f64 {
        let each = self.groups.iter().flat_map(|group| [group.min_ess_bulk, group.min_ess_tail]);
        each.fold(f64::NAN, f64::min)
    }

    /// How many times as long the run would have to be, if effective draws grow with its length and R-hat - 1 shrinks with
    /// it, as they do once all chains sample all of the distribution; at most 1 if its length is not what it lacks.
    pub(crate) fn times_to_converge(&self) -> f64 {
        let of_rhat = (self.max_rhat() - 1.0) / (self.rhat_limit - 1.0);
        let wanted = super::limits::ESS_PER_CHAIN * self.chains as f64;
        of_rhat.max(wanted / self.min_ess()) //~ times-as-long
    }

    /// How many times as long the run would have to be for its predictions to settle; at most 1 if its length is not what it
    /// lacks.
    pub(crate) fn times_to_settle(&self) -> f64 {
        self.monte_carlo.map_or(1.0, |error| error.times_as_long())
    }
}

/// The worst diagnostics of one group of quantities that a [`Verdict`] is passed on, such as all
/// predictions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantityGroup {
    /// The name of the group, such as `predictions`.
    pub name: String,
    /// Whether the quantities are the parameters, added by
    /// [`Judge::parameters`](super::Judge::parameters).
    #[serde(default)]
    pub is_parameters: bool,
    /// The number of quantities in the group.
    pub quantities: usize,
    /// The number of quantities with the same value in all draws of all chains, as the log prior
    /// has under a uniform prior. They are left out of the judgement, unless all quantities are
    /// constant.
    pub constant: usize,
    /// The number of quantities whose R-hat or effective sample size is NaN: constant quantities,
    /// all quantities of a single chain, and quantities with draws that are not finite.
    pub undefined: usize,
    /// The largest headline R-hat, see [`rhat`](crate::diagnostics::rhat()), of the quantities for which
    /// it is defined; NaN if there are none.
    pub max_rhat: f64,
    /// The smallest bulk effective sample size, of the quantities for which R-hat is defined.
    pub min_ess_bulk: f64,
    /// The smallest tail effective sample size, of the quantities for which R-hat is defined.
    pub min_ess_tail: f64,
}

/// The finding of a [`Verdict`] on a run. Chains are counted from 0, and R-hat is the headline
/// form, [`rhat`](crate::diagnostics::rhat()), throughout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Outcome {
    /// The draws are of one of the [methods](crate::approximate) that are used instead of sampling: no
    /// chains were run.
    Approximation {
        /// The method that made the draws.
        method: String,
    },
    /// The chains are the members of an [ensemble](crate::fit::Method::Ensemble), which need not
    /// agree: they are not draws of the posterior.
    Ensemble {
        /// The number of members.
        members: usize,
        /// The members that never moved after their ascents.
        stuck: Vec<usize>,
        /// The largest R-hat between members, which says how far apart they are, and of which no
        /// limit is asked. NaN if it is undefined.
        max_rhat: f64,
    },
    /// The draws are a [mixture](crate::draws::Draws::mixture) of chains by weights, no chains.
    Mixture {
        /// The number of chains that were mixed.
        chains: usize,
    },
    /// Every R-hat and every effective sample size is within its limit.
    Converged {
        /// The largest R-hat.
        max_rhat: f64,
        /// The smallest effective sample size, bulk or tail.
        min_ess: f64,
    },
    /// Predictions have [settled](MonteCarloError::is_settled), though not every R-hat and effective sample size is within its
    /// limit: parameters, tails and what is computed from few draws were not shown to have converged.
    Settled {
        /// The largest R-hat.
        max_rhat: f64,
        /// The smallest effective sample size, bulk or tail.
        min_ess: f64,
    },
    /// Every R-hat and every effective sample size is within its limit, but the run kept no
    /// parameters, and chains in modes of equal density would look the same.
    NoParameters {
        /// The largest R-hat.
        max_rhat: f64,
        /// The smallest effective sample size, bulk or tail.
        min_ess: f64,
    },
    /// The chains agree, but there are too few effective draws.
    TooFewDraws {
        /// The smallest effective sample size, bulk or tail.
        min_ess: f64,
        /// The effective sample size that is wanted, over all chains.
        wanted: f64,
    },
    /// R-hat is above its limit, but not above [`OTHERS_LIMIT`](super::OTHERS_LIMIT), and no chain
    /// stands out.
    NearlyConverged {
        /// The largest R-hat.
        max_rhat: f64,
        /// The smallest effective sample size, bulk or tail.
        min_ess: f64,
    },
    /// The other chains agree when one is left out.
    OneChainDisagrees {
        /// The chain to blame.
        chain: usize,
        /// The largest R-hat without that chain.
        rhat_without: f64,
        /// The largest R-hat of all chains.
        max_rhat: f64,
        /// Whether that chain disagrees with itself, too: it has not settled anywhere.
        drifts: bool,
    },
    /// One chain or more have not moved at all.
    ChainsStuck {
        /// The chains that have not moved.
        stuck: Vec<usize>,
        /// The largest R-hat.
        max_rhat: f64,
    },
    /// More than half of the chains disagree with themselves, or some do and no single chain is to
    /// blame.
    ChainsDrift {
        /// The chains whose halves disagree.
        drifting: Vec<usize>,
        /// The largest R-hat between the halves of a single chain.
        halves_rhat: f64,
        /// The largest R-hat.
        max_rhat: f64,
    },
    /// The chains look stationary, yet disagree, and not only because of one.
    ChainsDisagree {
        /// The largest R-hat.
        max_rhat: f64,
    },
    /// A single chain: agreement between chains cannot be judged.
    OneChain {
        /// Whether the two halves of the chain disagree.
        drifts: bool,
        /// The largest R-hat between the two halves of the chain; NaN if all quantities are
        /// constant.
        halves_rhat: f64,
    },
    /// The chains agree, or nearly so, but too many transitions diverged.
    Divergent {
        /// The number of divergent transitions.
        divergences: u64,
        /// The share of divergent transitions among all transitions.
        share: f64,
        /// The largest R-hat.
        max_rhat: f64,
    },
    /// The chains agree, but the momenta of a sampler without a Metropolis test are too hot or too
    /// cold: what the chains agree on is not the target.
    WrongTemperature {
        /// The chains whose momenta are too hot or too cold.
        chains: Vec<usize>,
        /// The kinetic temperature that is farthest off, relative to its right value.
        temperature: f64,
        /// The largest R-hat.
        max_rhat: f64,
    },
    /// No quantity ever changes, or R-hat is undefined for another reason.
    ConstantQuantities {
        /// The number of quantities that never change, or whose R-hat is undefined.
        count: usize,
    },
    /// NaN or infinite draws.
    NotFinite {
        /// The first group with such a draw.
        group: String,
        /// The first chain of that group with such a draw.
        chain: usize,
    },
    /// A panic ended the run.
    Panicked {
        /// The message of the panic, and the chain that it happened in.
        message: String,
    },
    /// No quantities, no chains, or fewer than 4 draws.
    NothingToJudge {
        /// The number of draws of the shortest group.
        draws: usize,
    },
}

#[cfg(test)]
mod tests {
    use crate::diagnostics::Judge;

    /// Chains that differ by one standard deviation, and independent draws.
    #[test]
    fn a_run_is_to_be_longer_by_what_it_lacks_most() {
        let of = |draws: usize, shift: f64| {
            let mut rng = crate::rng::ChainRng::new(1, 0);
            let of_chain = |(chain, _): (usize, usize)| rng.normal() + shift * chain as f64;
            let values = ndarray::Array2::from_shape_fn((2, draws), of_chain);
            Judge::new().quantity("x", values.view()).judge().unwrap()
        };
        let short = of(40, 0.0);
        assert_eq!(short.times_to_converge(), 200.0 / short.min_ess());
        assert!((1.5..10.0).contains(&short.times_to_converge()), "{}", short.times_to_converge());
        let long = of(2000, 0.0);
        assert!(long.times_to_converge() < 1.0, "{}", long.times_to_converge());
        let apart = of(2000, 1.0);
        let wanted = [(apart.max_rhat() - 1.0) / (1.01 - 1.0), 200.0 / apart.min_ess()];
        assert_eq!(apart.times_to_converge(), wanted[0].max(wanted[1]));
        assert!(apart.times_to_converge() > 5.0, "{}", apart.times_to_converge());
    }
}

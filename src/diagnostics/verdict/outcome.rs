//! What a judge finds: the outcome, the worst values of each group, and the verdict around both.

use serde::{Deserialize, Serialize};

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
/// **A run has converged** when every quantity has R-hat at most 1.01 and at least 100 effective
/// draws per chain, in the bulk and in the tails (Vehtari et al. 2021, doi:10.1214/20-BA1221). A
/// quantity with the same value in all draws of all chains, such as a saturated probability, counts
/// as agreement. Otherwise two more questions tell what went wrong:
///
/// - Does a chain disagree with itself? R-hat of the two halves of the single chain, on ranks and
///   folded, above 1.1 (the limit of Gelman and Rubin's day) means that the chain still drifts.
/// - Is one chain alone to blame? It is if R-hat is above 1.05, and if leaving that chain out brings
///   R-hat to 1.05 or below and its excess over 1 to less than a third.
///
/// A run with more than one divergent transition in a thousand is not trusted, however well its
/// chains agree. The end of the sentence tells what else is wrong with the trajectories of
/// Hamiltonian Monte Carlo, and whether the sampler has no Metropolis test: chains that all sample
/// the wrong density agree as well.
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
    /// What the run was found to be.
    pub outcome: Outcome,
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
    /// The share of each chain's trajectories that were cut off at the maximal depth; empty if the
    /// judge was not told.
    pub at_max_depth: Vec<f64>,
    /// The [E-BFMI](crate::diagnostics::ebfmi()) of each chain; empty if the judge was not told.
    pub ebfmi: Vec<f64>,
    /// For samplers without a Metropolis test, the kinetic temperature of each chain, or an empty
    /// list if the judge was not told; `None` for samplers with a test.
    pub unadjusted: Option<Vec<f64>>,
    /// What was sampled in the place of the posterior, if it was a [surrogate](crate::surrogate).
    pub approximation: Option<String>,
}

impl Verdict {
    /// Whether the run has converged.
    pub fn is_converged(&self) -> bool {
        matches!(self.outcome, Outcome::Converged { .. })
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

/// What a run was found to be: the finding of a [`Verdict`]. Chains are counted from 0, and R-hat
/// is the headline form, [`rhat`](crate::diagnostics::rhat()), throughout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Outcome {
    /// Every R-hat and every effective sample size is within its limit.
    Converged {
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
        /// The kinetic temperature that is farthest off, relative to what it should be.
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

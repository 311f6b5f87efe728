//! One sentence about a run: may it be trusted, and if not, what is to be done?
//!
//! Networks are judged in function space, by
//! [`Predictions::verdict`](crate::predict::Predictions::verdict), on quantities that do not depend
//! on how hidden units are numbered: predictions at given inputs, log-likelihood, log-prior. Where
//! parameters mean something, [`Draws::verdict`](crate::draws::Draws::verdict) judges them in place
//! of predictions. The log-likelihood and log-prior alone are not enough: chains in two modes of
//! equal density have the same. A run has converged when
//! every quantity has R-hat at most 1.01 and at least 100 effective draws per chain, in the bulk
//! and in the tails (Vehtari et al. 2021, doi:10.1214/20-BA1221); a quantity with the same value in
//! all draws of all chains, such as a saturated probability, is agreement. Otherwise two more
//! questions tell what went wrong:
//!
//! - Does a chain disagree with itself? R-hat of the two halves of the single chain, on ranks and
//!   folded, above 1.1 (the limit of Gelman and Rubin's day) means that it still drifts.
//! - Is one chain alone to blame? That is so if R-hat is above 1.05 and falls to that or below, and its
//!   excess over 1 to less than a third, when that chain is left out.
//!
//! A run with more than one divergent transition in a thousand is not trusted however well its
//! chains agree; what is wrong with trajectories besides is told at the end of the sentence. So is
//! that a sampler has no Metropolis test: chains that sample the wrong density agree as well.
//!
//! Chains are counted from 0, as everywhere in this crate, and sentences say so.
//!
//! ```
//! use bnn_mcmc::diagnostics::{Judge, Outcome};
//! let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
//! let mut predictions = ndarray::Array3::from_shape_simple_fn((4, 1000, 5), || rng.normal());
//! let log_likelihood = ndarray::Array2::from_shape_simple_fn((4, 1000), || rng.normal());
//! let judge = |predictions: &ndarray::Array3<f64>| {
//!     Judge::new()
//!         .quantities("predictions", predictions.view())
//!         .quantity("log-likelihood", log_likelihood.view())
//!         .judge()
//! };
//! let verdict = judge(&predictions)?;
//! assert!(verdict.is_converged(), "{verdict}");
//!
//! predictions.slice_mut(ndarray::s![3, .., ..]).mapv_inplace(|x| x + 2.0);
//! let verdict = judge(&predictions)?;
//! assert!(matches!(verdict.outcome, Outcome::OneChainDisagrees { chain: 3, .. }));
//! println!("{verdict}"); // not converged: chain 3 (counted from 0) sits in another mode ...
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

use std::fmt;

use ndarray::{ArrayView2, ArrayView3, Axis, concatenate, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::chains::Chains;
use super::rhat;
use super::summary::{SummaryRow, ratio, summarise};
use super::workspace::Workspace;
use crate::Error;

/// The largest R-hat of a converged run (Vehtari et al. 2021, section 4.1).
pub const RHAT_LIMIT: f64 = 1.01;
/// The fewest effective draws per chain of a converged run (Vehtari et al. 2021, section 4.1).
pub const ESS_PER_CHAIN: f64 = 100.0;
/// R-hat between the halves of one chain above which that chain counts as drifting: the limit that
/// was usual for R-hat before ranks (Gelman et al., Bayesian Data Analysis, 2nd ed.).
pub const DRIFT_LIMIT: f64 = 1.1;
/// R-hat to which the other chains must agree for a single one to be blamed.
pub const OTHERS_LIMIT: f64 = 1.05;
/// The share of divergent transitions above which a run is not trusted, however well its chains
/// agree.
pub const DIVERGENT_LIMIT: f64 = 1e-3;

/// The share of NUTS trajectories cut off at the maximal depth above which a verdict says so.
pub const DEPTH_LIMIT: f64 = 0.01;
/// The kinetic temperatures that pass without a word, for samplers without a test. Their own bias makes
/// momenta of BAOAB colder than 1 by up to a fifth at step sizes that are still in use.
pub const TEMPERATURE_LIMITS: [f64; 2] = [0.8, 1.1];
/// E-BFMI below which a verdict speaks of it (Betancourt 2017, arXiv:1701.02434, section 6.1).
pub const EBFMI_LIMIT: f64 = 0.3;

/// Collects the quantities to be judged, and the limits to judge them by.
#[derive(Clone, Debug)]
pub struct Judge<'a> {
    /// The largest R-hat of a converged run: [`RHAT_LIMIT`].
    pub rhat_limit: f64,
    /// The fewest effective draws per chain of a converged run: [`ESS_PER_CHAIN`].
    pub ess_per_chain: f64,
    groups: Vec<(String, ArrayView3<'a, f64>)>,
    /// The place among the groups of that of [`Judge::parameters`].
    parameter_group: Option<usize>,
    unkept: usize,
    parameters: usize,
    divergences: u64,
    transitions: u64,
    at_max_depth: Vec<f64>,
    ebfmi: Vec<f64>,
    unadjusted: Option<Vec<f64>>,
    panic: Option<String>,
}

impl Default for Judge<'_> {
    fn default() -> Self {
        Self {
            rhat_limit: RHAT_LIMIT,
            ess_per_chain: ESS_PER_CHAIN,
            groups: Vec::new(),
            parameter_group: None,
            unkept: 0,
            parameters: 0,
            divergences: 0,
            transitions: 0,
            at_max_depth: Vec::new(),
            ebfmi: Vec::new(),
            unadjusted: None,
            panic: None,
        }
    }
}

impl<'a> Judge<'a> {
    /// A judge with the default limits and nothing to judge yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a group of quantities `[chain, draw, quantity]`, such as the predictions at test
    /// inputs.
    pub fn quantities(mut self, name: impl Into<String>, draws: ArrayView3<'a, f64>) -> Self {
        self.groups.push((name.into(), draws));
        self
    }

    /// Adds a single quantity `[chain, draw]`, such as the log-likelihood.
    pub fn quantity(self, name: impl Into<String>, draws: ArrayView2<'a, f64>) -> Self {
        self.quantities(name, draws.insert_axis(Axis(2)))
    }

    /// Adds the group `parameters`: the draws `[chain, draw, parameter]` of those that a run kept out
    /// of `all` parameters of its target. A verdict on the density alone, where none was kept, is
    /// never 'converged'.
    pub fn parameters(mut self, kept: ArrayView3<'a, f64>, all: usize) -> Self {
        self.parameters = all;
        self.unkept = all.saturating_sub(kept.len_of(Axis(2)));
        if kept.len_of(Axis(2)) == 0 {
            return self;
        }
        self.parameter_group = Some(self.groups.len());
        self.quantities("parameters", kept)
    }

    /// Tells how many of the run's transitions diverged. Where the density cannot be computed no
    /// chain can go, so that all may agree on a part of the target.
    pub fn divergences(mut self, divergences: u64, transitions: u64) -> Self {
        (self.divergences, self.transitions) = (divergences, transitions);
        self
    }

    /// Tells what the trajectories of Hamiltonian Monte Carlo were like, for each chain: the share
    /// that was cut off at the maximal depth, and the E-BFMI. Empty if not known.
    pub fn trajectories(mut self, at_max_depth: Vec<f64>, ebfmi: Vec<f64>) -> Self {
        (self.at_max_depth, self.ebfmi) = (at_max_depth, ebfmi);
        self
    }

    /// Tells that the sampler has no Metropolis test, and the kinetic temperature of each chain, relative
    /// to what it should be; empty if not known. See
    /// [`Draws::unadjusted`](crate::draws::Draws::unadjusted).
    pub fn unadjusted(mut self, kinetic_temperature: Option<Vec<f64>>) -> Self {
        self.unadjusted = kinetic_temperature;
        self
    }

    /// Tells that a panic ended the run, and its message: a chain may have come to where the density
    /// cannot be computed, so that what all chains have sampled is the rest of the target.
    pub fn panic(mut self, message: Option<String>) -> Self {
        self.panic = message;
        self
    }

    /// Judges all that was added. Groups may differ in their number of draws.
    ///
    /// # Errors
    /// If the groups differ in their number of chains.
    pub fn judge(&self) -> Result<Verdict, Error> {
        let chains = self.groups.first().map_or(0, |g| g.1.len_of(Axis(0)));
        for (name, draws) in &self.groups {
            if draws.len_of(Axis(0)) != chains {
                return Err(Error::shape(
                    format!("chains of `{name}`"),
                    draws.len_of(Axis(0)),
                    chains,
                ));
            }
        }
        let rows: Vec<Vec<SummaryRow>> =
            self.groups.iter().map(|(_, draws)| summarise(*draws, |_| String::new())).collect();
        let groups: Vec<Group> = self
            .groups
            .iter()
            .zip(&rows)
            .enumerate()
            .map(|(i, ((name, draws), rows))| {
                let is_parameters = self.parameter_group == Some(i);
                Group { is_parameters, ..Group::of(name, *draws, rows) }
            })
            .collect();
        let outcome = self.outcome(chains, &groups);
        let (rhat_limit, divergences) = (self.rhat_limit, self.divergences);
        let (at_max_depth, ebfmi) = (self.at_max_depth.clone(), self.ebfmi.clone());
        let unadjusted = self.unadjusted.clone();
        Ok(Verdict {
            outcome,
            groups,
            chains,
            unkept: self.unkept,
            parameters: self.parameters,
            rhat_limit,
            divergences,
            at_max_depth,
            ebfmi,
            unadjusted,
        })
    }

    fn outcome(&self, chains: usize, groups: &[Group]) -> Outcome {
        if let Some(message) = &self.panic {
            return Outcome::Panicked { message: message.clone() };
        }
        let draws = self.groups.iter().map(|g| g.1.len_of(Axis(1))).min().unwrap_or(0);
        if chains == 0 || groups.iter().all(|g| g.quantities == 0) || draws < 4 {
            return Outcome::NothingToJudge { draws };
        }
        if let Some((group, chain)) = self.first_not_finite() {
            return Outcome::NotFinite { group, chain };
        }
        let drift = self.drift(chains);
        let max_drift = drift.iter().copied().fold(f64::NAN, f64::max);
        if chains == 1 {
            let drifts = max_drift > DRIFT_LIMIT;
            return Outcome::OneChain { drifts, halves_rhat: max_drift };
        }
        let max_rhat = groups.iter().map(|g| g.max_rhat).fold(f64::NAN, f64::max);
        let min_ess =
            groups.iter().flat_map(|g| [g.min_ess_bulk, g.min_ess_tail]).fold(f64::NAN, f64::min);
        let quantities: usize = groups.iter().map(|g| g.quantities).sum();
        let constant: usize = groups.iter().map(|g| g.constant).sum();
        if constant == quantities {
            return Outcome::ConstantQuantities { count: constant };
        }
        // R-hat misses a chain that is stuck near the middle of the others.
        let stuck: Vec<usize> = (0..chains).filter(|&c| self.is_stuck(c)).collect();
        if !stuck.is_empty() {
            return Outcome::ChainsStuck { stuck, max_rhat };
        }
        let share = self.divergences as f64 / (self.transitions as f64).max(1.0);
        let divergent = Outcome::Divergent { divergences: self.divergences, share, max_rhat };
        if max_rhat > self.rhat_limit {
            // A small disagreement is the lesser evil.
            let small = max_rhat <= OTHERS_LIMIT && share > DIVERGENT_LIMIT;
            return if small { divergent } else { self.disagreement(&drift, max_rhat, min_ess) };
        }
        // Quantities that all chains agree are constant are agreement; others must be defined.
        let undefined: usize = groups.iter().map(|g| g.undefined).sum();
        if undefined > constant {
            return Outcome::ConstantQuantities { count: undefined };
        }
        if share > DIVERGENT_LIMIT {
            return divergent;
        }
        let (chains_off, temperature) = wrong_temperatures(self.unadjusted.as_deref());
        if !chains_off.is_empty() {
            return Outcome::WrongTemperature { chains: chains_off, temperature, max_rhat };
        }
        let wanted = self.ess_per_chain * chains as f64;
        // Written so that a NaN on either side cannot pass.
        if max_rhat <= self.rhat_limit && min_ess >= wanted {
            match self.parameters > 0 && self.unkept == self.parameters {
                true => Outcome::NoParameters { max_rhat, min_ess },
                false => Outcome::Converged { max_rhat, min_ess },
            }
        } else {
            Outcome::TooFewDraws { min_ess, wanted }
        }
    }

    /// What kind of disagreement an R-hat above the limit is due to.
    fn disagreement(&self, drift: &[f64], max_rhat: f64, min_ess: f64) -> Outcome {
        let drifting: Vec<usize> = (0..drift.len()).filter(|&c| drift[c] > DRIFT_LIMIT).collect();
        let halves_rhat = drift.iter().copied().fold(f64::NAN, f64::max);
        if 2 * drifting.len() > drift.len() {
            return Outcome::ChainsDrift { drifting, halves_rhat, max_rhat };
        }
        let without = self.rhat_without(drift.len());
        let outlier = without.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        if let Some((chain, &rhat_without)) = outlier
            && max_rhat > OTHERS_LIMIT
            && rhat_without <= OTHERS_LIMIT.max(self.rhat_limit)
            && 3.0 * (rhat_without - 1.0) < max_rhat - 1.0
        {
            let drifts = drifting.contains(&chain);
            return Outcome::OneChainDisagrees { chain, rhat_without, max_rhat, drifts };
        }
        if max_rhat <= OTHERS_LIMIT {
            Outcome::NearlyConverged { max_rhat, min_ess }
        } else if !drifting.is_empty() {
            Outcome::ChainsDrift { drifting, halves_rhat, max_rhat }
        } else {
            Outcome::ChainsDisagree { max_rhat }
        }
    }

    fn first_not_finite(&self) -> Option<(String, usize)> {
        self.groups.iter().find_map(|(name, draws)| {
            let chain = draws.outer_iter().position(|c| c.iter().any(|x| !x.is_finite()))?;
            Some((name.clone(), chain))
        })
    }

    /// Whether the chain is constant in every quantity.
    fn is_stuck(&self, chain: usize) -> bool {
        self.groups.iter().all(|(_, draws)| {
            let chain = draws.index_axis(Axis(0), chain);
            chain.axis_iter(Axis(1)).all(|x| x.iter().all(|v| *v == x[0]))
        })
    }

    /// For each chain, the largest R-hat between its two halves.
    fn drift(&self, chains: usize) -> Vec<f64> {
        (0..chains)
            .map(|c| self.largest(|draws| between_halves(draws.slice(s![c..=c, ..]))))
            .collect()
    }

    /// For each chain, the largest R-hat of the others; none with fewer than three chains.
    fn rhat_without(&self, chains: usize) -> Vec<f64> {
        let without = |draws: ArrayView2<f64>, c: usize| {
            let others = [draws.slice(s![..c, ..]), draws.slice(s![c + 1.., ..])];
            concatenate(Axis(0), &others).map_or(f64::NAN, |others| rhat::rhat(others.view()))
        };
        let chains = if chains < 3 { 0 } else { chains };
        (0..chains).map(|c| self.largest(|draws| without(draws, c))).collect()
    }

    /// The largest of `of` over all quantities where it is defined; NaN if it is so nowhere.
    fn largest(&self, of: impl Fn(ArrayView2<f64>) -> f64 + Sync) -> f64 {
        let of_group = |draws: &ArrayView3<f64>| {
            let quantities = 0..draws.len_of(Axis(2));
            let each = quantities.into_par_iter().map(|q| of(draws.index_axis(Axis(2), q)));
            each.reduce(|| f64::NAN, f64::max)
        };
        self.groups.iter().map(|(_, draws)| of_group(draws)).fold(f64::NAN, f64::max)
    }
}

/// The larger of rank and folded R-hat between the two halves of a single chain, `[1, draw]`.
fn between_halves(chain: ArrayView2<f64>) -> f64 {
    let chains = Chains::new(chain);
    let mut workspace = Workspace::for_one();
    workspace.load(&chains);
    let rank = workspace.rhat_rank();
    rhat::rank_or_folded(rank, workspace.rhat_folded())
}

/// The worst values of one group of quantities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The group, such as `predictions`.
    pub name: String,
    /// Whether it holds the parameters: that of [`Judge::parameters`].
    #[serde(default)]
    pub is_parameters: bool,
    /// How many quantities it has.
    pub quantities: usize,
    /// How many of them have the same value in all draws of all chains, as the log prior has under
    /// a uniform prior. They are left out of the judgement, unless all quantities are so.
    pub constant: usize,
    /// For how many of them R-hat or an effective sample size is NaN: the constant ones, those of
    /// a single chain, and those with draws that are not finite.
    pub undefined: usize,
    /// The largest rank R-hat where it is defined; NaN if it is so nowhere.
    pub max_rhat: f64,
    /// The smallest bulk effective sample size where it is defined.
    pub min_ess_bulk: f64,
    /// The smallest tail effective sample size where it is defined.
    pub min_ess_tail: f64,
}

impl Group {
    fn of(name: &str, draws: ArrayView3<f64>, rows: &[SummaryRow]) -> Self {
        let is_constant = |x: ArrayView2<f64>| x.iter().all(|v| Some(v) == x.first());
        // A constant quantity leaves R-hat undefined or infinite: no need to look at the others.
        let candidates = rows.iter().enumerate().filter(|(_, r)| !r.rhat.is_finite());
        let varying = rows.iter().filter(|r| !r.rhat.is_nan());
        let ess = |of: fn(&SummaryRow) -> f64| varying.clone().map(of).fold(f64::NAN, f64::min);
        Self {
            name: name.to_string(),
            is_parameters: false,
            quantities: rows.len(),
            constant: candidates
                .filter(|(i, _)| is_constant(draws.index_axis(Axis(2), *i)))
                .count(),
            undefined: rows.iter().filter(|r| (r.rhat + r.ess_bulk + r.ess_tail).is_nan()).count(),
            max_rhat: rows.iter().map(|r| r.rhat).fold(f64::NAN, f64::max),
            min_ess_bulk: ess(|r| r.ess_bulk),
            min_ess_tail: ess(|r| r.ess_tail),
        }
    }
}

/// What a run was found to be. Chains are counted from 0; R-hat is the headline form throughout.
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
        /// How many there should be, over all chains.
        wanted: f64,
    },
    /// R-hat is above its limit, but not above [`OTHERS_LIMIT`], and no chain stands out.
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
        /// The largest R-hat without it.
        rhat_without: f64,
        /// The largest R-hat with it.
        max_rhat: f64,
        /// Whether it disagrees with itself, too: it has not settled anywhere.
        drifts: bool,
    },
    /// One chain or more have not moved at all.
    ChainsStuck {
        /// Those chains.
        stuck: Vec<usize>,
        /// The largest R-hat.
        max_rhat: f64,
    },
    /// More than half of the chains disagree with themselves, or some do and no single chain is to
    /// blame.
    ChainsDrift {
        /// Those chains.
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
        /// Whether its halves disagree.
        drifts: bool,
        /// The largest R-hat between its halves; NaN if all its quantities are constant.
        halves_rhat: f64,
    },
    /// The chains agree, or nearly so, but too many transitions diverged.
    Divergent {
        /// How many.
        divergences: u64,
        /// Their share of all transitions.
        share: f64,
        /// The largest R-hat.
        max_rhat: f64,
    },
    /// The chains agree, but the momenta of a sampler without a test are too hot or too cold: what they agree
    /// on is not the target.
    WrongTemperature {
        /// Those chains.
        chains: Vec<usize>,
        /// The temperature that is farthest off, relative to what it should be.
        temperature: f64,
        /// The largest R-hat.
        max_rhat: f64,
    },
    /// No quantity ever changes, or R-hat is undefined for another reason.
    ConstantQuantities {
        /// How many.
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
        /// Which chain it was in, and what it said.
        message: String,
    },
    /// No quantities, no chains, or fewer than 4 draws.
    NothingToJudge {
        /// The number of draws of the shortest group.
        draws: usize,
    },
}

/// The judgement of a run: machine-readable in its fields, a sentence to act on in its `Display`.
/// NaN and infinite values turn into `null` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What the run was found to be.
    pub outcome: Outcome,
    /// The worst values of each group, in the order they were added.
    pub groups: Vec<Group>,
    /// How many chains there were.
    pub chains: usize,
    /// How many parameters the target has; 0 where they are not judged, as in function space.
    pub parameters: usize,
    /// How many of the target's parameters the run did not keep, so that the verdict could not see them; 0
    /// where parameters are not judged.
    pub unkept: usize,
    /// The largest R-hat that was allowed.
    pub rhat_limit: f64,
    /// How many transitions diverged, if that was told.
    pub divergences: u64,
    /// The share of each chain's trajectories that were cut off at the maximal depth, if that was
    /// told.
    pub at_max_depth: Vec<f64>,
    /// The E-BFMI of each chain, if that was told.
    pub ebfmi: Vec<f64>,
    /// For samplers without a test: the kinetic temperature of each chain, if that was told.
    pub unadjusted: Option<Vec<f64>>,
}

impl Verdict {
    /// Whether the run has converged.
    pub fn is_converged(&self) -> bool {
        matches!(self.outcome, Outcome::Converged { .. })
    }

    /// Whether parameters, and nothing else of several groups, have an R-hat above the limit.
    fn only_parameters_disagree(&self) -> bool {
        let disagrees = |group: &Group| group.max_rhat > self.rhat_limit;
        self.groups.len() > 1
            && self.groups.iter().any(disagrees)
            && self.groups.iter().all(|group| disagrees(group) == group.is_parameters)
    }

    /// `log likelihood and log prior`.
    fn groups_listed(&self) -> String {
        listed(self.groups.iter().map(|group| group.name.clone()).collect())
    }

    /// `every chain`, `chain 1 (counted from 0)`, or `chains 0 and 2 (counted from 0)`.
    fn chains_listed(&self, chains: &[usize]) -> String {
        let names = listed(chains.iter().map(ToString::to_string).collect());
        match chains.len() {
            n if n == self.chains => "every chain".to_string(),
            1 => format!("chain {names} (counted from 0)"),
            _ => format!("chains {names} (counted from 0)"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let limit = self.rhat_limit;
        match &self.outcome {
            Outcome::Converged { min_ess, .. } => write!(
                f,
                "converged: R-hat <= {limit} and at least {} effective draws for {}",
                thousands(*min_ess),
                self.groups_listed(),
            ),
            Outcome::NoParameters { min_ess, .. } => write!(
                f,
                "not judged: R-hat <= {limit} and at least {} effective draws for {}, but the run kept \
                 none of its {} parameters, and chains in different modes may agree so far: keep some \
                 parameters, or predictions along the chains",
                thousands(*min_ess),
                self.groups_listed(),
                thousands(self.parameters as f64),
            ),
            Outcome::TooFewDraws { min_ess, wanted } => write!(
                f,
                "too few effective draws ({}; at least {} per chain, {} in all, is advised), though \
                 the chains agree: run {} times as long",
                thousands(*min_ess),
                thousands(wanted / self.chains as f64),
                thousands(*wanted),
                thousands((wanted / min_ess).ceil().max(2.0)),
            ),
            Outcome::NearlyConverged { max_rhat, min_ess } => write!(
                f,
                "not converged yet: R-hat is up to {} (at most {limit} is advised) with {} effective \
                 draws, and no single chain is to blame: run longer",
                ratio(*max_rhat),
                thousands(*min_ess),
            ),
            Outcome::OneChainDisagrees { chain, rhat_without, max_rhat, drifts } => write!(
                f,
                "not converged: chain {chain} (counted from 0) {} (R-hat {}; without it, {}): {}",
                if *drifts { "still drifts" } else { "sits in another mode" },
                ratio(*max_rhat),
                ratio(*rhat_without),
                if *drifts {
                    "warm up and run longer"
                } else {
                    "run longer, or temper the posterior; leaving the chain out would hide the mode"
                },
            ),
            Outcome::ChainsStuck { stuck, max_rhat } => {
                let who = if stuck.len() == self.chains {
                    "no chain ever".to_string()
                } else {
                    format!("{} never", self.chains_listed(stuck))
                };
                write!(
                    f,
                    "not converged: {who} moved (R-hat {}): {}reduce the step size or start elsewhere",
                    ratio(*max_rhat),
                    if self.unadjusted.is_some() { "" } else { "look at the acceptance rate; " },
                )
            }
            Outcome::ChainsDrift { drifting, halves_rhat, .. } => {
                let who = self.chains_listed(drifting);
                let drift = if who.starts_with("chains") { "drift" } else { "drifts" };
                let faster = match (self.at_max_depth.is_empty(), self.ebfmi.is_empty()) {
                    (false, _) => "let trajectories be longer (a larger `max_depth`)",
                    (true, false) => "use NUTS (or a longer `path_length`)",
                    _ => "use NUTS (or a dense preconditioner, if the model is linear)",
                };
                write!(
                    f,
                    "not converged: {who} still {drift} (R-hat between the halves of a single chain up to {}): \
                     warm up and run longer, or {faster}",
                    ratio(*halves_rhat),
                )
            }
            Outcome::ChainsDisagree { max_rhat } => write!(
                f,
                "not converged: the chains disagree with each other (R-hat up to {}), though each \
                 looks stationary: there are several modes; run more chains, or temper the posterior",
                ratio(*max_rhat),
            ),
            Outcome::OneChain { drifts, halves_rhat } => write!(
                f,
                "not judged: one chain, so that R-hat between chains cannot be computed; {}: run at \
                 least 4 chains",
                match (halves_rhat.is_nan(), drifts) {
                    (true, _) => "it never moved, or hardly ever".to_string(),
                    (_, true) => format!("its halves disagree (R-hat {})", ratio(*halves_rhat)),
                    _ => format!("its halves do not disagree (R-hat {})", ratio(*halves_rhat)),
                },
            ),
            Outcome::Divergent { divergences, share, max_rhat } => write!(
                f,
                "not to be trusted: {} diverged ({:.1} %), though R-hat is at most {}: the part of the \
                 target where the density fails, or is too curved for the step size, was not \
                 sampled; raise `target_accept`, reparameterise, look for overflow in the model, or \
                 rescale the data",
                transitions(*divergences),
                100.0 * share,
                ratio(*max_rhat),
            ),
            Outcome::WrongTemperature { chains, temperature, max_rhat } => write!(
                f,
                "not to be trusted: R-hat is at most {}, but the momenta of {} have {} times their temperature: \
                 reduce the step size, take larger minibatches, or warm up longer",
                ratio(*max_rhat),
                self.chains_listed(chains),
                ratio(*temperature),
            ),
            Outcome::ConstantQuantities { count } => {
                let all: usize = self.groups.iter().map(|g| g.quantities).sum();
                write!(
                    f,
                    "not judged: R-hat is undefined for {count} of {all} quantities, which hardly \
                     change or never do: suspect the sampler"
                )
            }
            Outcome::NotFinite { group, chain } => write!(
                f,
                "not converged: NaN or infinite draws of {group} in chain {chain} (counted from 0): \
                 look for divergences; reduce the step size"
            ),
            Outcome::Panicked { message } => write!(
                f,
                "not to be trusted: a panic ended the run ({message}): mend what panicked, and run again \
                 or go on from the checkpoint"
            ),
            Outcome::NothingToJudge { draws } => write!(
                f,
                "not judged: {draws} draws of {} quantities in {} chains; at least 4 draws of one \
                 quantity in 2 chains are needed",
                self.groups.iter().map(|g| g.quantities).sum::<usize>(),
                self.chains,
            ),
        }?;
        if self.only_parameters_disagree() {
            write!(
                f,
                "; only the parameters disagree: if they are the weights of a network, whose hidden \
                 units can be permuted, the verdict on predictions counts instead"
            )?;
        }
        if self.unkept > 0 && !matches!(self.outcome, Outcome::NoParameters { .. }) {
            let (unkept, all) = (self.unkept as f64, self.parameters as f64);
            let (unkept, all) = (thousands(unkept), thousands(all));
            write!(f, "; {unkept} of {all} parameters were not kept, and are not judged")?;
        }
        if self.divergences > 0 && !matches!(self.outcome, Outcome::Divergent { .. }) {
            write!(f, "; {} diverged", transitions(self.divergences))?;
        }
        let share = self.at_max_depth.iter().sum::<f64>() / self.at_max_depth.len() as f64;
        if share > DEPTH_LIMIT {
            write!(
                f,
                "; {:.0} % of transitions hit the maximal depth: raise it, or reparameterise",
                100.0 * share,
            )?;
        }
        let low: Vec<usize> =
            (0..self.ebfmi.len()).filter(|c| self.ebfmi[*c] < EBFMI_LIMIT).collect();
        if !low.is_empty() {
            let lowest = self.ebfmi.iter().copied().fold(f64::INFINITY, f64::min);
            write!(
                f,
                "; E-BFMI of {} is low ({lowest:.2}; above {EBFMI_LIMIT} is advised): the tails are \
                 explored slowly: reparameterise, or run longer",
                self.chains_listed(&low),
            )?;
        }
        if let Some(temperatures) = &self.unadjusted {
            write!(
                f,
                "; the sampler has no Metropolis test: that chains agree does not show the bias of its step \
                 size"
            )?;
            let (chains, temperature) = wrong_temperatures(Some(temperatures));
            if !chains.is_empty() && !matches!(self.outcome, Outcome::WrongTemperature { .. }) {
                let (chains, temperature) = (self.chains_listed(&chains), ratio(temperature));
                write!(f, "; the momenta of {chains} have {temperature} times their temperature")?;
            }
        }
        Ok(())
    }
}

/// The chains whose kinetic temperature is out of [`TEMPERATURE_LIMITS`], and the one farthest from 1.
fn wrong_temperatures(temperatures: Option<&[f64]>) -> (Vec<usize>, f64) {
    let [low, high] = TEMPERATURE_LIMITS;
    let all = temperatures.unwrap_or_default();
    let chains: Vec<usize> = (0..all.len()).filter(|c| !(low..=high).contains(&all[*c])).collect();
    let off = |t: f64| if t.is_nan() { f64::INFINITY } else { t.ln().abs() };
    let worst = chains.iter().map(|c| all[*c]).max_by(|a, b| off(*a).total_cmp(&off(*b)));
    (chains, worst.unwrap_or(1.0))
}

/// `1 transition`, `2 transitions`.
fn transitions(n: u64) -> String {
    if n == 1 { "1 transition".into() } else { format!("{n} transitions") }
}

/// `a, b and c`.
fn listed(mut names: Vec<String>) -> String {
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}

/// A whole number, rounded down, with commas.
fn thousands(x: f64) -> String {
    let digits = format!("{:.0}", x.floor());
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return digits;
    }
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists_read_well() {
        assert_eq!(
            [2310.7, 999.0, 1e6, f64::NAN].map(thousands),
            ["2,310", "999", "1,000,000", "NaN"]
        );
        let names = |n: usize| ["a", "b", "c"][..n].iter().map(ToString::to_string).collect();
        assert_eq!([0, 1, 2, 3].map(|n| listed(names(n))), ["", "a", "a and b", "a, b and c"]);
    }
}

//! The judge: collects the quantities to be judged, and finds the [`Outcome`].

use ndarray::{ArrayView2, ArrayView3, Axis, concatenate, s};

use super::arrived::not_arrived;
use super::cause::{Clues, are_separate};
use super::limits::{
    DIVERGENT_LIMIT, DRIFT_LIMIT, ESS_PER_CHAIN, OTHERS_LIMIT, RHAT_LIMIT, TEMPERATURE_LIMITS,
};
use super::{InUse, MonteCarloError, Outcome, QuantityGroup, Trajectories, Verdict};
use crate::Error;
use crate::diagnostics::rhat;
use crate::diagnostics::summary::{SummaryRow, summarise};
use crate::draws::Approximation;
use crate::threads;

/// Collects the quantities to be judged, and the limits to judge them by; [`Judge::judge`] passes
/// the [`Verdict`], whose documentation has the rules and an example.
#[derive(Clone, Debug)]
pub struct Judge<'a> {
    /// The largest R-hat of a converged run: [`RHAT_LIMIT`].
    pub rhat_limit: f64,
    /// The fewest effective draws per chain of a converged run: [`ESS_PER_CHAIN`].
    pub ess_per_chain: f64,
    groups: Vec<(String, ArrayView3<'a, f64>)>,
    log_likelihood: Option<ArrayView2<'a, f64>>,
    /// The place among the groups of the one that [`Judge::parameters`] added.
    parameter_group: Option<usize>,
    unkept: usize,
    parameters: usize,
    divergences: u64,
    transitions: u64,
    clues: Clues,
    apart: Option<f64>,
    monte_carlo: Option<MonteCarloError>,
    unadjusted: Option<Vec<f64>>,
    approximation: Option<Approximation>,
    panic: Option<String>,
}

impl Default for Judge<'_> {
    fn default() -> Self {
        Self {
            rhat_limit: RHAT_LIMIT,
            ess_per_chain: ESS_PER_CHAIN,
            groups: Vec::new(),
            log_likelihood: None,
            parameter_group: None,
            unkept: 0,
            parameters: 0,
            divergences: 0,
            transitions: 0,
            clues: Clues::default(),
            apart: None,
            monte_carlo: None,
            unadjusted: None,
            approximation: None,
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

    /// Adds the log likelihood `[chain, draw]` as a quantity. By it the verdict tells chains that have not
    /// arrived from modes.
    pub fn log_likelihood(mut self, draws: ArrayView2<'a, f64>) -> Self {
        self.log_likelihood = Some(draws);
        self.quantity("log likelihood", draws)
    }

    /// Adds the group `parameters`: the draws `[chain, draw, parameter]` of the parameters that a run
    /// kept, and the number of `all` parameters of its target. A run that kept none is judged by its
    /// density alone, and never called converged.
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

    /// Tells the statistics of the trajectories of Hamiltonian Monte Carlo.
    pub fn trajectories(mut self, trajectories: Trajectories) -> Self {
        self.clues.trajectories = trajectories;
        self
    }

    /// Tells the settings that the run has in use, so that a verdict advises nothing that is done
    /// already or cannot be done.
    pub fn in_use(mut self, in_use: InUse) -> Self {
        self.clues.in_use = in_use;
        self
    }

    /// Tells how far the chains' mean predictions are apart, in predictive standard deviations:
    /// [`Predictions::chains_apart`](crate::predict::Predictions::chains_apart). NaN if not known.
    pub fn chains_apart(mut self, apart: f64) -> Self {
        self.apart = Some(apart).filter(|apart| !apart.is_nan());
        self
    }

    /// Tells what Monte Carlo error leaves open of predictions:
    /// [`Predictions::monte_carlo_error`](crate::predict::Predictions::monte_carlo_error). An error that is not finite is
    /// not known.
    pub fn monte_carlo_error(mut self, error: Option<MonteCarloError>) -> Self {
        self.monte_carlo = error.filter(|e| e.log_density.is_finite() && e.mean.is_finite());
        self
    }

    /// Tells that the sampler has no Metropolis test, and the kinetic temperature of each chain
    /// relative to what it should be, empty if not known; `None` for a sampler with a test. See
    /// [`Draws::unadjusted`](crate::draws::Draws::unadjusted).
    pub fn unadjusted(mut self, kinetic_temperature: Option<Vec<f64>>) -> Self {
        self.unadjusted = kinetic_temperature;
        self
    }

    /// Tells the approximation that the draws are of, if they are not of the posterior:
    /// [`RunInfo::approximation`](crate::draws::RunInfo::approximation).
    pub fn approximation(mut self, approximation: Option<Approximation>) -> Self {
        self.approximation = approximation;
        self
    }

    /// Tells that a panic ended the run, and its message; `None` if there was no panic. A chain may
    /// have come to where the density cannot be computed, so that all chains together have sampled
    /// only the rest of the target.
    pub fn panic(mut self, message: Option<String>) -> Self {
        self.panic = message;
        self
    }

    /// Judges all that was added. Groups may differ in their number of draws.
    ///
    /// # Errors
    /// If the groups differ in their number of chains.
    pub fn judge(&self) -> Result<Verdict, Error> {
        threads::ready()?;
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
            self.groups.iter().map(|(_, draws)| summarise(*draws, &|_| String::new())).collect();
        let named = self.groups.iter().zip(&rows).enumerate();
        let group = |(i, ((name, draws), rows)): (usize, (&(String, _), &Vec<_>))| {
            worst_of(name, self.parameter_group == Some(i), *draws, rows)
        };
        let groups: Vec<QuantityGroup> = named.map(group).collect();
        let separate = chains > 1 && self.are_separate(&rows);
        let outcome = self.outcome(chains, &groups, separate);
        let diverges = self.share_divergent() > DIVERGENT_LIMIT;
        let shares = self.groups.iter().zip(&groups).map(|((_, draws), group)| {
            group.min_ess_bulk / (chains * draws.len_of(Axis(1))) as f64
        });
        let effective_share = shares.fold(f64::NAN, f64::min);
        let not_arrived = self.log_likelihood.filter(|_| chains > 1).and_then(not_arrived);
        let clues = Clues { diverges, effective_share, not_arrived, ..self.clues.clone() };
        Ok(Verdict {
            cause: clues.cause(&outcome, separate),
            outcome,
            groups,
            chains,
            parameters: self.parameters,
            unkept: self.unkept,
            rhat_limit: self.rhat_limit,
            divergences: self.divergences,
            trajectories: clues.trajectories,
            in_use: clues.in_use,
            apart: self.apart,
            monte_carlo: self.monte_carlo,
            unadjusted: self.unadjusted.clone(),
            approximation: self.approximation.clone(),
        })
    }

    fn outcome(&self, chains: usize, groups: &[QuantityGroup], separate: bool) -> Outcome {
        if let Some(message) = &self.panic {
            return Outcome::Panicked { message: message.clone() };
        }
        if let Some(outcome) = self.of_approximation(chains, groups) {
            return outcome;
        }
        let draws = self.groups.iter().map(|g| g.1.len_of(Axis(1))).min().unwrap_or(0);
        if chains == 0 || groups.iter().all(|g| g.quantities == 0) || draws < 4 {
            return Outcome::NothingToJudge { draws };
        }
        if let Some((group, chain)) = self.first_not_finite() {
            return Outcome::NotFinite { group, chain };
        }
        let drift = self.drift(chains);
        if let [halves_rhat] = drift[..] {
            return Outcome::OneChain { drifts: halves_rhat > DRIFT_LIMIT, halves_rhat };
        }
        let quantities: usize = groups.iter().map(|g| g.quantities).sum();
        let constant: usize = groups.iter().map(|g| g.constant).sum();
        if constant == quantities {
            return Outcome::ConstantQuantities { count: constant };
        }
        // R-hat misses a chain that is stuck near the middle of the others.
        let stuck: Vec<usize> = (0..chains).filter(|&c| self.is_stuck(c)).collect();
        if !stuck.is_empty() {
            return Outcome::ChainsStuck { stuck, max_rhat: max_rhat(groups) };
        }
        self.of_moving_chains(groups, &drift, separate)
    }

    /// The outcome of draws that R-hat alone does not judge; `None` if they are of the posterior or nearly.
    fn of_approximation(&self, chains: usize, groups: &[QuantityGroup]) -> Option<Outcome> {
        Some(match self.approximation.as_ref()? {
            Approximation::Mixture { weights } => Outcome::Mixture { chains: weights.len() },
            Approximation::Fitted { method } => Outcome::Approximation { method: method.clone() },
            Approximation::Ensemble { members } => {
                if let Some((group, chain)) = self.first_not_finite() {
                    return Some(Outcome::NotFinite { group, chain });
                }
                let stuck = (0..chains).filter(|&c| self.is_stuck(c)).collect(); //~ stuck-members
                Outcome::Ensemble { members: *members, stuck, max_rhat: max_rhat(groups) }
            }
            Approximation::Surrogate(_) => return None,
        })
    }

    /// The outcome of two or more chains, all of which move: by R-hat, divergences, temperatures and draws.
    fn of_moving_chains(&self, groups: &[QuantityGroup], drift: &[f64], separate: bool) -> Outcome {
        let max_rhat = max_rhat(groups);
        let min_ess =
            groups.iter().flat_map(|g| [g.min_ess_bulk, g.min_ess_tail]).fold(f64::NAN, f64::min);
        let share = self.share_divergent();
        let divergent = Outcome::Divergent { divergences: self.divergences, share, max_rhat };
        let (chains_off, temperature) = wrong_temperatures(self.unadjusted.as_deref());
        let is_sound = share <= DIVERGENT_LIMIT && chains_off.is_empty();
        let is_settled = is_sound && self.monte_carlo.is_some_and(|error| error.is_settled()); //~ settled
        if max_rhat > self.rhat_limit {
            // A small disagreement is the lesser evil.
            let small = max_rhat <= OTHERS_LIMIT && share > DIVERGENT_LIMIT;
            return match (is_settled, small) {
                (true, _) => Outcome::Settled { max_rhat, min_ess },
                (false, true) => divergent,
                (false, false) => self.disagreement(drift, separate, max_rhat, min_ess),
            };
        }
        // Quantities that all chains agree are constant are agreement; others must be defined.
        let undefined: usize = groups.iter().map(|g| g.undefined).sum();
        if undefined > groups.iter().map(|g| g.constant).sum() {
            return Outcome::ConstantQuantities { count: undefined };
        }
        if share > DIVERGENT_LIMIT {
            return divergent;
        }
        if !chains_off.is_empty() {
            return Outcome::WrongTemperature { chains: chains_off, temperature, max_rhat };
        }
        let wanted = self.ess_per_chain * drift.len() as f64;
        // Written so that a NaN on either side cannot pass.
        if max_rhat <= self.rhat_limit && min_ess >= wanted {
            match self.parameters > 0 && self.unkept == self.parameters {
                true => Outcome::NoParameters { max_rhat, min_ess },
                false => Outcome::Converged { max_rhat, min_ess },
            }
        } else if is_settled {
            Outcome::Settled { max_rhat, min_ess }
        } else {
            Outcome::TooFewDraws { min_ess, wanted }
        }
    }

    fn share_divergent(&self) -> f64 {
        self.divergences as f64 / (self.transitions as f64).max(1.0)
    }

    /// Whether the chains mix within and differ between in the quantity with the largest R-hat.
    fn are_separate(&self, rows: &[Vec<SummaryRow>]) -> bool {
        let each = self.groups.iter().zip(rows).flat_map(|((_, draws), rows)| {
            rows.iter().enumerate().map(move |(q, row)| (row.rhat, draws, q))
        });
        let worst = each.filter(|(rhat, ..)| !rhat.is_nan()).max_by(|a, b| a.0.total_cmp(&b.0));
        worst.is_some_and(|(rhat, draws, q)| are_separate(rhat, draws.index_axis(Axis(2), q)))
    }

    /// The kind of disagreement behind an R-hat above the limit. Chains that mix within and differ
    /// between do not drift, whatever a few other quantities say.
    fn disagreement(&self, drift: &[f64], separate: bool, max_rhat: f64, min_ess: f64) -> Outcome {
        let drifting: Vec<usize> = (0..drift.len()).filter(|&c| drift[c] > DRIFT_LIMIT).collect();
        let halves_rhat = drift.iter().copied().fold(f64::NAN, f64::max);
        //~ drifts-hide-modes
        if !separate && 2 * drifting.len() > drift.len() {
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
        } else if !separate && !drifting.is_empty() {
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
            .map(|c| self.largest(&|draws| rhat::between_halves(draws.slice(s![c..=c, ..]))))
            .collect()
    }

    /// For each chain, the largest R-hat of the others; none with fewer than three chains.
    fn rhat_without(&self, chains: usize) -> Vec<f64> {
        let without = |draws: ArrayView2<f64>, c: usize| {
            let others = [draws.slice(s![..c, ..]), draws.slice(s![c + 1.., ..])];
            concatenate(Axis(0), &others).map_or(f64::NAN, |others| rhat::rhat(others.view()))
        };
        let chains = if chains < 3 { 0 } else { chains };
        (0..chains).map(|c| self.largest(&|draws| without(draws, c))).collect()
    }

    /// The largest of `of` over the quantities for which it is defined; NaN if there are none.
    fn largest(&self, of: &(dyn Fn(ArrayView2<f64>) -> f64 + Sync)) -> f64 {
        let of_group = |draws: &ArrayView3<f64>| {
            let each = threads::map(draws.len_of(Axis(2)), &|q| of(draws.index_axis(Axis(2), q)));
            each.into_iter().fold(f64::NAN, f64::max)
        };
        self.groups.iter().map(|(_, draws)| of_group(draws)).fold(f64::NAN, f64::max)
    }
}

/// The chains whose kinetic temperature is out of [`TEMPERATURE_LIMITS`], and the one farthest from 1.
pub(super) fn wrong_temperatures(temperatures: Option<&[f64]>) -> (Vec<usize>, f64) {
    let [low, high] = TEMPERATURE_LIMITS;
    let all = temperatures.unwrap_or_default();
    let chains: Vec<usize> = (0..all.len()).filter(|c| !(low..=high).contains(&all[*c])).collect();
    let off = |t: f64| if t.is_nan() { f64::INFINITY } else { t.ln().abs() };
    let worst = chains.iter().map(|c| all[*c]).max_by(|a, b| off(*a).total_cmp(&off(*b)));
    (chains, worst.unwrap_or(1.0))
}

/// The largest R-hat of all groups; NaN if there is none.
fn max_rhat(groups: &[QuantityGroup]) -> f64 {
    groups.iter().map(|group| group.max_rhat).fold(f64::NAN, f64::max)
}

/// The worst diagnostics of one group, from the summary of each of its quantities.
fn worst_of(
    name: &str,
    is_parameters: bool,
    draws: ArrayView3<f64>,
    rows: &[SummaryRow],
) -> QuantityGroup {
    let is_constant = |x: ArrayView2<f64>| x.iter().all(|v| Some(v) == x.first());
    // A constant quantity leaves R-hat undefined or infinite: no need to look at the others.
    let candidates = rows.iter().enumerate().filter(|(_, r)| !r.rhat.is_finite());
    let varying = rows.iter().filter(|r| !r.rhat.is_nan());
    let ess = |of: fn(&SummaryRow) -> f64| varying.clone().map(of).fold(f64::NAN, f64::min);
    QuantityGroup {
        name: name.to_string(),
        is_parameters,
        quantities: rows.len(),
        constant: candidates.filter(|(i, _)| is_constant(draws.index_axis(Axis(2), *i))).count(),
        undefined: rows.iter().filter(|r| (r.rhat + r.ess_bulk + r.ess_tail).is_nan()).count(),
        max_rhat: rows.iter().map(|r| r.rhat).fold(f64::NAN, f64::max),
        min_ess_bulk: ess(|r| r.ess_bulk),
        min_ess_tail: ess(|r| r.ess_tail),
    }
}

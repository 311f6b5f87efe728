//! The verdict in words: findings, each with what can be done about it.
//!
//! A finding is a function here, its advice a list of [`Advice`]: neither names a setting, which the
//! [`Vocabulary`] of a face does.

use std::fmt;

use super::cause::mean;
use super::judge::wrong_temperatures;
use super::limits::{APART_LIMITS, CUT_OFF, DEPTH_LIMIT, EBFMI_LIMIT, SECOND_STAGE_LIMIT, STILL};
use super::{Cause, MonteCarloError, Outcome, QuantityGroup, Verdict};
use crate::diagnostics::summary::ratio;
use crate::draws::Approximation;
use crate::message::{Advice, InRust, Vocabulary, advised, count, listed, thousands};

/// A finding, with the advice on what can be done about it.
struct Finding {
    text: String,
    advice: Vec<Advice>,
}

impl Finding {
    fn new(text: impl Into<String>, advice: impl IntoIterator<Item = Advice>) -> Self {
        Self { text: text.into(), advice: advice.into_iter().collect() }
    }

    /// A finding without advice.
    fn only(text: impl Into<String>) -> Self {
        Self::new(text, None)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.in_words(&InRust))
    }
}

impl Verdict {
    /// The advice on all findings, the most important first, without settings that the run has in
    /// use.
    pub fn advice(&self) -> Vec<Advice> {
        let mut all: Vec<Advice> = Vec::new();
        for advice in self.findings().into_iter().flat_map(|finding| finding.advice) {
            if !all.contains(&advice) {
                all.push(advice);
            }
        }
        all
    }

    /// The sentence, with settings as users of one face know them.
    pub fn in_words(&self, words: &dyn Vocabulary) -> String {
        let said = self.findings().into_iter();
        let said: Vec<String> =
            said.map(|finding| advised(&finding.text, &finding.advice, words)).collect();
        said.join("; ")
    }

    /// The outcome, and all else that is to be said.
    fn findings(&self) -> Vec<Finding> {
        let rest = [
            self.hidden_chain(),
            self.ridge(),
            self.apart(),
            self.not_settled(),
            self.permuted(),
            self.unkept(),
            self.divergent(),
            self.cut_off(),
            self.slow_energy(),
            self.still(),
            self.second_stage(),
            self.surrogate(),
            self.untested(),
            self.temperatures(),
        ];
        std::iter::once(self.outcome()).chain(rest.into_iter().flatten()).collect()
    }

    /// The finding on the outcome.
    fn outcome(&self) -> Finding {
        match &self.outcome {
            Outcome::Approximation { method } => Finding::only(format!(
                "not judged: an approximation, {method}, **not the posterior**; no chains were run, and R-hat says \
                 nothing"
            )),
            Outcome::Ensemble { members, stuck, max_rhat } => {
                self.of_ensemble(*members, stuck, *max_rhat)
            }
            Outcome::Mixture { chains } => Finding::new(
                format!(
                    "not judged: a mixture of {} by weights, **not the posterior**; R-hat says nothing of it",
                    count(*chains, "chain")
                ),
                ["look at the verdict on the chains".into()],
            ),
            Outcome::Converged { min_ess, .. } => {
                Finding::only(format!("converged: {}", self.within_limits(*min_ess)))
            }
            Outcome::Settled { max_rhat, min_ess } => self.settled(*max_rhat, *min_ess),
            Outcome::NoParameters { min_ess, .. } => self.without_parameters(*min_ess),
            Outcome::TooFewDraws { min_ess, wanted } => self.too_few_draws(*min_ess, *wanted),
            Outcome::NearlyConverged { max_rhat, min_ess } => Finding::new(
                format!(
                    "not converged yet: R-hat is up to {} (at most {limit} is advised) with {} effective draws",
                    above(*max_rhat, self.rhat_limit),
                    thousands(*min_ess),
                    limit = self.rhat_limit,
                ),
                [Advice::RunLonger],
            ),
            Outcome::OneChainDisagrees { chain, rhat_without, max_rhat, drifts } => {
                self.one_disagrees(*chain, *drifts, [*max_rhat, *rhat_without])
            }
            Outcome::ChainsStuck { stuck, max_rhat } => self.never_moved(stuck, *max_rhat),
            Outcome::ChainsDrift { drifting, halves_rhat, .. } => {
                self.drift(drifting, *halves_rhat)
            }
            Outcome::ChainsDisagree { max_rhat } => self.disagree(*max_rhat),
            Outcome::OneChain { drifts, halves_rhat } => one_chain(*drifts, *halves_rhat),
            Outcome::Divergent { divergences, share, max_rhat } => {
                self.not_sampled(*divergences, *share, *max_rhat)
            }
            Outcome::WrongTemperature { chains, temperature, max_rhat } => {
                self.wrong_temperature(chains, *temperature, *max_rhat)
            }
            Outcome::ConstantQuantities { count } => self.constant(*count),
            Outcome::NotFinite { group, chain } => self.not_finite(group, *chain),
            Outcome::Panicked { message } => Finding::new(
                format!("not to be trusted: a failure ended the run ({message})"),
                ["mend what failed, and run again or go on from the checkpoint".into()],
            ),
            Outcome::NothingToJudge { draws } => self.nothing_to_judge(*draws),
        }
    }

    /// The finding that predictions have settled, and what has not been shown.
    fn settled(&self, max_rhat: f64, min_ess: f64) -> Finding {
        let rhat = match max_rhat > self.rhat_limit {
            true => format!("R-hat is up to {}, with ", above(max_rhat, self.rhat_limit)),
            false => "there are ".into(),
        };
        let text = format!(
            "settled: a longer run would predict the same{}; parameters and tails were not shown to have converged: {rhat}{}",
            self.left_open(),
            count(min_ess as usize, "effective draw"),
        );
        Finding::new(text, [Advice::RunUntilConverged])
    }

    /// The finding that predictions have not settled, where it is known.
    fn not_settled(&self) -> Option<Finding> {
        let is_open = matches!(
            self.outcome,
            Outcome::TooFewDraws { .. }
                | Outcome::NearlyConverged { .. }
                | Outcome::OneChainDisagrees { .. }
                | Outcome::ChainsDrift { .. }
                | Outcome::ChainsDisagree { .. }
        );
        let open = self.left_open();
        (is_open && !open.is_empty())
            .then(|| Finding::only(format!("predictions have not settled{open}")))
    }

    /// ` (its error: 0.0012 nats of log density, 2.1 % of a standard deviation)`; empty if it is not known.
    pub(crate) fn left_open(&self) -> String {
        self.monte_carlo.map_or(String::new(), |MonteCarloError { log_density, mean }| {
            format!(
                " (Monte Carlo error: {log_density:.4} nats of the mean log density, {:.1} % of a predictive standard deviation)",
                100.0 * mean
            )
        })
    }

    /// The finding on an ensemble, some of whose members may be stuck.
    fn of_ensemble(&self, members: usize, stuck: &[usize], max_rhat: f64) -> Finding {
        let rhat = match max_rhat.is_nan() {
            true => String::new(),
            false => format!(" (R-hat {})", ratio(max_rhat)),
        };
        let never = match stuck.is_empty() {
            true => String::new(),
            false => format!("; {} never moved after the ascent", self.chains_listed(stuck)),
        };
        let text = format!(
            "not judged by R-hat: {}, **not the posterior**: each is optimised from a start of its own and \
             sampled for a short while from there, and they need not agree{rhat}{never}",
            Approximation::ensemble(members),
        );
        Finding::new(text, self.in_use.validate())
    }

    /// The finding that quantities agree, but no parameters were kept.
    fn without_parameters(&self, min_ess: f64) -> Finding {
        let (within, all) = (self.within_limits(min_ess), thousands(self.parameters as f64));
        let text = format!(
            "not judged: {within}, but the run kept none of its {all} parameters, and chains in different modes may \
             agree so far"
        );
        Finding::new(text, ["keep some parameters, or predictions along the chains".into()])
    }

    /// The finding that chains agree, but draws are too few.
    fn too_few_draws(&self, min_ess: f64, wanted: f64) -> Finding {
        let text = format!(
            "too few effective draws ({}; at least {} per chain, {} in all, is advised), though the chains agree",
            thousands(min_ess),
            thousands(wanted / self.chains as f64),
            thousands(wanted),
        );
        let times = (wanted / min_ess).ceil().max(2.0);
        Finding::new(text, [Advice::RunTimesAsLong { times }])
    }

    /// The finding on a chain that disagrees with all others, with R-hat of all chains and without it.
    fn one_disagrees(&self, chain: usize, drifts: bool, [all, without]: [f64; 2]) -> Finding {
        let what = match (drifts, &self.cause) {
            (_, Some(Cause::NotArrived { .. })) => "has not arrived where the others are",
            (true, _) => "still drifts",
            (false, Some(Cause::Modes)) => "sits in another mode",
            (false, _) => "stays elsewhere",
        };
        let (rhat, without, levels) = (ratio(all), ratio(without), self.levels());
        let text = format!(
            "not converged: chain {chain} (counted from 0) {what} (R-hat {rhat}; without it, {without}){levels}"
        );
        Finding::new(text, self.against_disagreement(drifts))
    }

    /// The finding on chains that never moved.
    fn never_moved(&self, stuck: &[usize], max_rhat: f64) -> Finding {
        let who = match stuck.len() == self.chains {
            true => "no chain ever".to_string(),
            false => format!("{} never", self.chains_listed(stuck)),
        };
        let look = self.unadjusted.is_none().then_some("look at the acceptance rate".into());
        let mend = [Advice::in_rust("reduce the step size"), Advice::StartElsewhere];
        Finding::new(
            format!("not converged: {who} moved (R-hat {})", ratio(max_rhat)),
            look.into_iter().chain(self.in_use.raise_target_accept()).chain(mend),
        )
    }

    /// The finding on chains whose halves disagree.
    fn drift(&self, drifting: &[usize], halves_rhat: f64) -> Finding {
        let who = self.chains_listed(drifting);
        let drift = if who.starts_with("chains") { "drift" } else { "drifts" };
        let seldom = match self.cause {
            Some(Cause::Modes) => ", as chains do that seldom cross between modes",
            _ => "",
        };
        let (halves, levels) = (ratio(halves_rhat), self.levels());
        let text = format!(
            "not converged: {who} still {drift} (R-hat between the halves of a single chain up to {halves}){seldom}{levels}"
        );
        Finding::new(text, self.against_disagreement(true))
    }

    /// The finding on chains of which none is alone to blame.
    fn disagree(&self, max_rhat: f64) -> Finding {
        let why = match self.cause {
            Some(Cause::NotArrived { .. }) => "",
            Some(Cause::Modes) => ", though each looks stationary: there are several modes",
            _ => ", though each looks stationary",
        };
        let (rhat, levels) = (ratio(max_rhat), self.levels());
        let text = format!(
            "not converged: the chains disagree with each other (R-hat up to {rhat}){why}{levels}"
        );
        Finding::new(text, self.against_disagreement(false))
    }

    /// The finding that so many transitions diverged that a part of the target was not sampled.
    fn not_sampled(&self, divergences: u64, share: f64, max_rhat: f64) -> Finding {
        let text = format!(
            "not to be trusted: {} diverged ({:.1} %), though R-hat is at most {}: the part of the target \
             where the density fails, or is too curved for the step size, was not sampled",
            count(divergences as usize, "transition"),
            100.0 * share,
            ratio(max_rhat),
        );
        let rest = "reparameterise, look for overflow in the model, or rescale the data";
        let advice = self.in_use.raise_target_accept().into_iter().chain(self.in_use.other_prior());
        Finding::new(text, advice.chain([Advice::in_rust(rest)]))
    }

    /// The finding on chains whose momenta have another temperature.
    fn wrong_temperature(&self, chains: &[usize], temperature: f64, max_rhat: f64) -> Finding {
        let text = format!(
            "not to be trusted: R-hat is at most {}, but the momenta of {} have {} times their temperature",
            ratio(max_rhat),
            self.chains_listed(chains),
            ratio(temperature),
        );
        let advice = "reduce the step size, take larger minibatches, or warm up longer";
        Finding::new(text, [Advice::in_rust(advice)])
    }

    /// The finding on quantities without an R-hat.
    fn constant(&self, count: usize) -> Finding {
        let all = self.quantities();
        let text = format!(
            "not judged: R-hat is undefined for {count} of {all} quantities, which hardly change or never do"
        );
        Finding::new(text, ["suspect the sampler".into()])
    }

    /// The finding on draws that are not finite.
    fn not_finite(&self, group: &str, chain: usize) -> Finding {
        let text = format!(
            "not converged: NaN or infinite draws of {group} in chain {chain} (counted from 0)"
        );
        let advice = ["look for divergences".into(), Advice::in_rust("reduce the step size")];
        Finding::new(text, advice.into_iter().chain(self.in_use.raise_target_accept()))
    }

    /// The finding that draws, quantities or chains are too few to be judged.
    fn nothing_to_judge(&self, draws: usize) -> Finding {
        let quantities = match self.quantities() {
            1 => "1 quantity".to_string(),
            n => format!("{n} quantities"),
        };
        let (draws, chains) = (count(draws, "draw"), count(self.chains, "chain"));
        Finding::only(format!(
            "not judged: {draws} of {quantities} in {chains}; at least 4 draws of one quantity in 2 chains are needed"
        ))
    }

    /// The number of quantities that are judged.
    fn quantities(&self) -> usize {
        self.groups.iter().map(|group| group.quantities).sum()
    }

    /// The advice for chains that disagree, by the cause as far as it is known.
    fn against_disagreement(&self, drifts: bool) -> Vec<Advice> {
        let longer = if drifts { Advice::WarmUpAndRunLonger } else { Advice::RunLonger };
        match self.cause {
            Some(Cause::NotArrived { .. }) => {
                vec![Advice::WarmUpAndRunLonger, Advice::StartElsewhere]
            }
            Some(Cause::Modes) => {
                let ladder = self.in_use.is_tempered().then_some(Advice::AdaptLadderLonger);
                let hotter = self.in_use.temper().into_iter().chain(ladder);
                let modes = self.in_use.connect_modes().into_iter().chain(hotter);
                // Longer runs of chains that stay in their modes find nothing new.
                let stays = matches!(self.outcome, Outcome::ChainsDisagree { .. });
                (!stays).then_some(longer).into_iter().chain(modes).collect()
            }
            Some(Cause::Ridge { .. }) if self.in_use.integrate_out().is_some() => vec![longer],
            _ => match self.outcome {
                Outcome::ChainsDrift { .. } => {
                    [longer].into_iter().chain(self.against_drift()).collect()
                }
                _ if drifts => vec![longer],
                _ => [longer].into_iter().chain(self.in_use.temper()).collect(),
            },
        }
    }

    /// The advice for chains that drift, where the cause is not modes.
    fn against_drift(&self) -> Option<Advice> {
        let trajectories = &self.trajectories;
        let is_cut_off = mean(&trajectories.at_max_depth) > DEPTH_LIMIT;
        let runs_nuts = !trajectories.at_max_depth.is_empty();
        match trajectories.find_their_length {
            true => is_cut_off.then_some(Advice::RaiseMaxDepth),
            false => (!runs_nuts).then_some(Advice::UseNuts),
        }
    }

    /// The sentence that chains have not arrived, by their log likelihoods; empty if they have.
    fn levels(&self) -> String {
        let Some(Cause::NotArrived { lowest, highest, sd, rising }) = self.cause else {
            return String::new();
        };
        let rise = if rising { ", and still rise" } else { "" };
        let spread = match (highest - lowest) / sd {
            apart if apart.is_finite() => format!(" ({apart:.1} standard deviations of a chain)"),
            _ => String::new(),
        };
        format!(
            "; the chains have not arrived: their log likelihoods are between {} and {} on average{spread}{rise}",
            digits(lowest),
            digits(highest),
        )
    }

    /// `R-hat <= 1.01 and at least 2,310 effective draws for predictions and log prior`.
    fn within_limits(&self, min_ess: f64) -> String {
        let groups = listed(self.groups.iter().map(|group| group.name.clone()).collect());
        let (limit, least) = (self.rhat_limit, thousands(min_ess));
        format!("R-hat <= {limit} and at least {least} effective draws for {groups}")
    }

    /// The finding that a chain which disagrees must not be left out.
    fn hidden_chain(&self) -> Option<Finding> {
        let Outcome::OneChainDisagrees { drifts: false, .. } = self.outcome else { return None };
        match self.cause {
            Some(Cause::NotArrived { .. }) => None,
            Some(Cause::Modes) => Some(Finding::only("leaving the chain out would hide the mode")),
            _ => Some(Finding::only("leaving the chain out would hide the disagreement")),
        }
    }

    fn ridge(&self) -> Option<Finding> {
        let Some(Cause::Ridge { leapfrog_steps }) = self.cause else { return None };
        let are = match mean(&self.trajectories.at_max_depth) >= CUT_OFF {
            true => "are cut off",
            false => "are long",
        };
        let steps = thousands(leapfrog_steps.round());
        let text =
            format!("trajectories {are} ({steps} leapfrog steps on average), as on a thin ridge");
        Some(Finding::new(text, self.in_use.integrate_out()))
    }

    /// The finding on how much the disagreement of the chains matters.
    fn apart(&self) -> Option<Finding> {
        if let (Outcome::Ensemble { .. }, Some(apart)) = (&self.outcome, self.apart) {
            return Some(Finding::only(format!(
                "the members' mean predictions differ by {} of a predictive standard deviation at the worst row",
                digits(apart),
            )));
        }
        let disagree = matches!(
            self.outcome,
            Outcome::NearlyConverged { .. }
                | Outcome::OneChainDisagrees { .. }
                | Outcome::ChainsDrift { .. }
                | Outcome::ChainsDisagree { .. }
        );
        let apart = self.apart.filter(|_| disagree)?;
        let [little, much] = APART_LIMITS;
        let intervals = match apart {
            a if a <= little => "are little affected",
            a if a <= much => "are only roughly right",
            _ => "are not to be believed",
        };
        Some(Finding::only(format!(
            "the chains' mean predictions differ by {} of a predictive standard deviation at the worst row: \
             predictive intervals {intervals}",
            digits(apart),
        )))
    }

    /// Whether parameters, and nothing else of several groups, have an R-hat above the limit.
    fn permuted(&self) -> Option<Finding> {
        let disagrees = |group: &QuantityGroup| group.max_rhat > self.rhat_limit;
        let only = self.groups.len() > 1
            && self.groups.iter().any(disagrees)
            && self.groups.iter().all(|group| disagrees(group) == group.is_parameters);
        only.then(|| {
            Finding::only(
                "only the parameters disagree: if they are the weights of a network, whose hidden units can be \
                 permuted, the verdict on predictions counts instead",
            )
        })
    }

    fn unkept(&self) -> Option<Finding> {
        let is_said = matches!(self.outcome, Outcome::NoParameters { .. });
        let (unkept, all) = (thousands(self.unkept as f64), thousands(self.parameters as f64));
        let text = format!("{unkept} of {all} parameters were not kept, and are not judged");
        (self.unkept > 0 && !is_said).then(|| Finding::only(text))
    }

    fn divergent(&self) -> Option<Finding> {
        let is_said = matches!(self.outcome, Outcome::Divergent { .. });
        let text = format!("{} diverged", count(self.divergences as usize, "transition"));
        (self.divergences > 0 && !is_said).then(|| Finding::only(text))
    }

    fn cut_off(&self) -> Option<Finding> {
        let share = mean(&self.trajectories.at_max_depth);
        let rest = [Advice::in_rust("reparameterise")];
        let advice =
            [Advice::RaiseMaxDepth].into_iter().chain(self.in_use.other_prior()).chain(rest);
        let text =
            format!("{:.0} % of transitions are cut off at the maximal depth", 100.0 * share);
        (share > DEPTH_LIMIT).then(|| Finding::new(text, advice))
    }

    fn slow_energy(&self) -> Option<Finding> {
        let ebfmi = &self.trajectories.ebfmi;
        let low: Vec<usize> = (0..ebfmi.len()).filter(|c| ebfmi[*c] < EBFMI_LIMIT).collect();
        let lowest = ebfmi.iter().copied().fold(f64::INFINITY, f64::min);
        let text = format!(
            "E-BFMI of {} is low ({lowest:.2}; above {EBFMI_LIMIT} is advised), and the tails are explored \
             slowly",
            self.chains_listed(&low),
        );
        let rest = [Advice::in_rust("reparameterise")];
        let advice = [Advice::RunLonger].into_iter().chain(self.in_use.other_prior()).chain(rest);
        (!low.is_empty()).then(|| Finding::new(text, advice))
    }

    /// The finding that trajectories of fixed length were rejected many times in a row.
    fn still(&self) -> Option<Finding> {
        let still = &self.trajectories.longest_still;
        let chain = (0..still.len()).max_by_key(|chain| still[*chain])?;
        let longest = still[chain];
        let text = format!(
            "chain {chain} (counted from 0) stood still for {longest} transitions, since trajectories of a fixed \
             length were rejected: errors of its means are larger than its effective draws say"
        );
        let advice = self.in_use.raise_target_accept().into_iter().chain([Advice::UseNuts]);
        (longest >= STILL).then(|| Finding::new(text, advice))
    }

    fn surrogate(&self) -> Option<Finding> {
        let Some(Approximation::Surrogate(description)) = &self.approximation else { return None };
        let text = format!(
            "the chains sample a surrogate ({description}), **not the posterior**: how far the two are apart, no \
             diagnostic of the chains shows"
        );
        Some(Finding::new(text, [Advice::in_rust("measure it by `SurrogateError::measure`")]))
    }

    fn untested(&self) -> Option<Finding> {
        self.unadjusted.as_ref().map(|_| {
            Finding::only(
                "the sampler has no Metropolis test: that chains agree does not show the bias of its step size",
            )
        })
    }

    fn temperatures(&self) -> Option<Finding> {
        let (chains, temperature) = wrong_temperatures(self.unadjusted.as_deref());
        let is_said = matches!(self.outcome, Outcome::WrongTemperature { .. });
        let (who, times) = (self.chains_listed(&chains), ratio(temperature));
        let text = format!("the momenta of {who} have {times} times their temperature");
        (!chains.is_empty() && !is_said).then(|| Finding::only(text))
    }

    /// The finding that the target accepts next to none of the moves on a surrogate.
    fn second_stage(&self) -> Option<Finding> {
        let accepted = &self.trajectories.second_stage_accept;
        let low: Vec<usize> =
            (0..accepted.len()).filter(|c| accepted[*c] < SECOND_STAGE_LIMIT).collect();
        let lowest = accepted.iter().copied().fold(f64::INFINITY, f64::min);
        let text = format!(
            "the second stage of {} accepts {:.1} % of what moves on the surrogate (at least {:.0} % is advised)",
            self.chains_listed(&low),
            100.0 * lowest,
            100.0 * SECOND_STAGE_LIMIT,
        );
        let advice = [Advice::in_rust("make fewer inner steps, or a better surrogate")];
        (!low.is_empty()).then(|| Finding::new(text, advice))
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

/// The finding on a single chain, which may drift.
fn one_chain(drifts: bool, halves_rhat: f64) -> Finding {
    let halves = match (halves_rhat.is_nan(), drifts) {
        (true, _) => "it never moved, or hardly ever".to_string(),
        (_, true) => format!("its halves disagree (R-hat {})", ratio(halves_rhat)),
        _ => format!("its halves do not disagree (R-hat {})", ratio(halves_rhat)),
    };
    let text =
        format!("not judged: one chain, so that R-hat between chains cannot be computed; {halves}");
    Finding::new(text, [Advice::MoreChains { at_least: 4 }])
}

/// An R-hat above the limit, with as many digits as it takes to see that.
fn above(rhat: f64, limit: f64) -> String {
    let text = ratio(rhat);
    match text.parse::<f64>() {
        Ok(shown) if shown <= limit => format!("{rhat:.6}"),
        _ => text,
    }
}

/// A number with two digits, or of a few figures if it is very large.
fn digits(value: f64) -> String {
    match value.abs() {
        size if size < 100.0 => format!("{value:.2}"),
        size if size < 1e9 => format!("{value:.1}"),
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::{InUse, Trajectories};
    use crate::message::Plain;

    /// Every outcome with every cause, and all that can be said besides.
    fn all_verdicts() -> Vec<Verdict> {
        let (max_rhat, min_ess, count) = (1.2, 90.0, 3);
        let outcomes = vec![
            Outcome::Approximation { method: "Laplace".into() },
            Outcome::Ensemble { members: 8, stuck: vec![0], max_rhat },
            Outcome::Ensemble { members: 8, stuck: Vec::new(), max_rhat: f64::NAN },
            Outcome::Mixture { chains: 1 },
            Outcome::Converged { max_rhat, min_ess },
            Outcome::Settled { max_rhat, min_ess },
            Outcome::NoParameters { max_rhat, min_ess },
            Outcome::TooFewDraws { min_ess, wanted: 400.0 },
            Outcome::NearlyConverged { max_rhat, min_ess },
            Outcome::OneChainDisagrees { chain: 1, rhat_without: 1.0, max_rhat, drifts: false },
            Outcome::OneChainDisagrees { chain: 1, rhat_without: 1.0, max_rhat, drifts: true },
            Outcome::ChainsStuck { stuck: vec![0], max_rhat },
            Outcome::ChainsDrift { drifting: vec![0, 1], halves_rhat: 1.3, max_rhat },
            Outcome::ChainsDisagree { max_rhat },
            Outcome::OneChain { drifts: true, halves_rhat: 1.3 },
            Outcome::Divergent { divergences: 1, share: 0.01, max_rhat },
            Outcome::WrongTemperature { chains: vec![0], temperature: 1.3, max_rhat },
            Outcome::ConstantQuantities { count },
            Outcome::NotFinite { group: "predictions".into(), chain: 0 },
            Outcome::Panicked { message: "chain 0 after 1 draw panicked".into() },
            Outcome::NothingToJudge { draws: 1 },
        ];
        let not_arrived = Cause::NotArrived { lowest: -2.0, highest: 3.0, sd: 1.0, rising: true };
        let causes = [
            None,
            Some(not_arrived),
            Some(Cause::Modes),
            Some(Cause::Ridge { leapfrog_steps: 300.0 }),
        ];
        let tempered = InUse {
            algorithm: Some("PowerPosteriors(Collapsed(Hmc))".into()),
            hidden_units: Some(100),
            prior_by_fan_in: true,
            sampled_variances: true,
            collapsible: true,
            target_accept: Some(0.99),
            validation: true,
        };
        let nothing = InUse { hidden_units: Some(8), collapsible: true, ..InUse::default() };
        let mut all = Vec::new();
        for (outcome, cause) in outcomes.iter().flat_map(|o| causes.iter().map(move |c| (o, c))) {
            for in_use in [&tempered, &nothing] {
                all.push(Verdict {
                    outcome: outcome.clone(),
                    cause: cause.clone(),
                    in_use: in_use.clone(),
                    groups: Vec::new(),
                    chains: 1,
                    parameters: 5,
                    unkept: 2,
                    rhat_limit: 1.01,
                    divergences: 1,
                    trajectories: Trajectories {
                        at_max_depth: vec![0.6],
                        ebfmi: vec![0.1],
                        leapfrog_steps: vec![31.0],
                        accept_prob: vec![0.8],
                        longest_still: vec![175],
                        second_stage_accept: vec![0.001],
                        find_their_length: true,
                    },
                    apart: Some(0.4),
                    monte_carlo: Some(MonteCarloError { log_density: 0.001, mean: 0.02 }),
                    unadjusted: Some(vec![2.0]),
                    approximation: None,
                });
            }
        }
        all
    }

    /// Findings name no setting and no item of the library: in plain words there is nothing in backticks, and
    /// no number of one thing has a plural.
    #[test]
    fn findings_name_nothing_that_a_face_may_lack() {
        let all = all_verdicts();
        for verdict in &all {
            let plain = verdict.in_words(&Plain);
            assert!(!plain.contains('`') && !plain.contains("::"), "{plain}");
            for wrong in [" 1 chains", " 1 transitions", " 1 draws", " 1 quantities"] {
                assert!(!format!(" {plain}").contains(wrong), "{plain}");
            }
            assert!(verdict.to_string().len() >= plain.len());
        }
        // Every outcome is among them: serde lists all that there are.
        let kinds = serde_json::from_str::<Outcome>("\"?\"").unwrap_err().to_string();
        let kinds = kinds.split("expected one of ").last().unwrap();
        for kind in kinds.split('`').skip(1).step_by(2) {
            let is_kind = |v: &Verdict| format!("{:?}", v.outcome).starts_with(kind);
            assert!(all.iter().any(is_kind), "{kind}");
        }
        println!("{} sentences", all.len());
    }

    /// Settings in use are not advised, whatever the outcome and the cause.
    #[test]
    fn what_is_in_use_is_not_advised() {
        let used = [
            Advice::Widen { units: 100 },
            Advice::PriorByFanIn,
            Advice::Temper,
            Advice::IntegrateOut,
            Advice::RaiseTargetAccept { to: Some(0.99) },
            Advice::RaiseTargetAccept { to: None },
            Advice::KeepRows,
        ];
        let advised = |verdict: &Verdict| used.iter().any(|used| verdict.advice().contains(used));
        let (tempered, nothing): (Vec<_>, Vec<_>) =
            all_verdicts().into_iter().partition(|verdict| verdict.in_use.is_tempered());
        assert!(!tempered.iter().any(advised) && nothing.iter().any(advised));
    }

    #[test]
    fn numbers_have_the_digits_that_it_takes() {
        assert_eq!(
            [1.02, 1.010_4, 1.010_000_4].map(|r| above(r, 1.01)),
            ["1.020", "1.010400", "1.010000"]
        );
        assert_eq!(
            [0.271, -1590.04, 1e300, f64::INFINITY].map(digits),
            ["0.27", "-1590.0", "1.000e300", "inf"]
        );
    }
}

//! The verdict in words: one sentence to act on.

use std::fmt;

use super::cause::mean;
use super::judge::{APART_LIMITS, DEPTH_LIMIT, EBFMI_LIMIT, wrong_temperatures};
use super::{CUT_OFF, Cause, Outcome, QuantityGroup, Trajectories, Verdict};
use crate::diagnostics::summary::ratio;
use crate::draws::Approximation;

impl Verdict {
    /// Whether parameters, and nothing else of several groups, have an R-hat above the limit.
    fn only_parameters_disagree(&self) -> bool {
        let disagrees = |group: &QuantityGroup| group.max_rhat > self.rhat_limit;
        self.groups.len() > 1
            && self.groups.iter().any(disagrees)
            && self.groups.iter().all(|group| disagrees(group) == group.is_parameters)
    }

    /// `log likelihood and log prior`.
    fn groups_listed(&self) -> String {
        listed(self.groups.iter().map(|group| group.name.clone()).collect())
    }

    /// Whether tempering may help chains that disagree for a reason that is not known.
    fn may_temper(&self) -> bool {
        self.cause.is_none() && !self.tempered
    }

    /// What helps against modes, if they are the cause.
    fn against_modes(&self) -> String {
        let Some(Cause::Modes { widen, temper }) = self.cause else { return String::new() };
        let wider = "take a wider network (100 hidden units, output weights N(0, 1/H): `Priors::by_fan_in`), or ";
        let hotter = match temper {
            true => "temper the posterior (`PowerPosteriors`)",
            false => "let the ladder be longer (`LadderReport` says how states travel)",
        };
        format!("{}{hotter}", if widen { wider } else { "" })
    }

    /// What helps chains that drift, where the cause is not modes.
    fn against_drift(&self) -> &'static str {
        let trajectories = &self.trajectories;
        let is_cut_off = mean(&trajectories.at_max_depth) > DEPTH_LIMIT;
        let runs_nuts = !trajectories.at_max_depth.is_empty();
        let knows_steps = !trajectories.leapfrog_steps.is_empty();
        match (&self.cause, trajectories.find_their_length) {
            (Some(Cause::Ridge { collapse: true, .. }), _) => "",
            (_, true) if is_cut_off => ", or let trajectories be longer (a larger `max_depth`)",
            (_, true) => "",
            _ if runs_nuts => "",
            (_, false) if knows_steps => ", or use NUTS (or a longer `path_length`)",
            _ => ", or use NUTS (or a dense preconditioner, if the model is linear)",
        }
    }

    /// The end of a sentence on chains that disagree: the ridge that slows them down, and how much it
    /// matters.
    fn write_cause(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(Cause::Ridge { leapfrog_steps, collapse }) = self.cause {
            let cut_off = mean(&self.trajectories.at_max_depth) >= CUT_OFF;
            write!(
                f,
                "; trajectories {} ({} leapfrog steps on average), as on a thin ridge{}",
                if cut_off { "are cut off" } else { "are long" },
                thousands(leapfrog_steps.round()),
                if collapse { ": integrate the output layer out (`Collapsed`)" } else { "" },
            )?;
        }
        let disagree = matches!(
            self.outcome,
            Outcome::NearlyConverged { .. }
                | Outcome::OneChainDisagrees { .. }
                | Outcome::ChainsDrift { .. }
                | Outcome::ChainsDisagree { .. }
        );
        let Some(apart) = self.apart.filter(|_| disagree) else { return Ok(()) };
        let [little, much] = APART_LIMITS;
        let intervals = match apart {
            a if a <= little => "are little affected",
            a if a <= much => "are only roughly right",
            _ => "are not to be believed",
        };
        write!(
            f,
            "; the chains' mean predictions differ by {apart:.2} of a predictive standard deviation at the \
             worst row: predictive intervals {intervals}"
        )
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

/// An R-hat above the limit, with as many digits as it takes to see that.
fn above(rhat: f64, limit: f64) -> String {
    let text = ratio(rhat);
    match text.parse::<f64>() {
        Ok(shown) if shown <= limit => format!("{rhat:.6}"),
        _ => text,
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let limit = self.rhat_limit;
        match &self.outcome {
            Outcome::Approximation { method } => write!(
                f,
                "not judged: an approximation, {method}, **not the posterior**; no chains were run, and R-hat says \
                 nothing",
            ),
            Outcome::Mixture { chains } => write!(
                f,
                "not judged: a mixture of {chains} chains by weights, **not the posterior**; R-hat says nothing \
                 of it: look at the verdict on the chains",
            ),
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
                above(*max_rhat, limit),
                thousands(*min_ess),
            ),
            Outcome::OneChainDisagrees { chain, rhat_without, max_rhat, drifts } => write!(
                f,
                "not converged: chain {chain} (counted from 0) {} (R-hat {}; without it, {}): {}",
                match (drifts, &self.cause) {
                    (true, _) => "still drifts",
                    (false, Some(Cause::Modes { .. })) => "sits in another mode",
                    (false, _) => "stays elsewhere",
                },
                ratio(*max_rhat),
                ratio(*rhat_without),
                match (drifts, &self.cause) {
                    (true, Some(Cause::Modes { .. })) =>
                        format!("warm up and run longer, or {}", self.against_modes()),
                    (true, _) => "warm up and run longer".into(),
                    (false, Some(Cause::Modes { .. })) => format!(
                        "run longer, or {}; leaving the chain out would hide the mode",
                        self.against_modes(),
                    ),
                    (false, _) => format!(
                        "run longer{}; leaving the chain out would hide the disagreement",
                        if self.may_temper() { ", or temper the posterior" } else { "" },
                    ),
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
                let modes = matches!(self.cause, Some(Cause::Modes { .. }));
                let advice = match modes {
                    true => format!(", or {}", self.against_modes()),
                    false => self.against_drift().into(),
                };
                write!(
                    f,
                    "not converged: {who} still {drift} (R-hat between the halves of a single chain up to {}){}: \
                     warm up and run longer{advice}",
                    ratio(*halves_rhat),
                    if modes { ", as chains do that seldom cross between modes" } else { "" },
                )
            }
            Outcome::ChainsDisagree { max_rhat } => write!(
                f,
                "not converged: the chains disagree with each other (R-hat up to {}), though each \
                 looks stationary: {}",
                ratio(*max_rhat),
                match self.cause {
                    Some(Cause::Modes { .. }) =>
                        format!("there are several modes; {}", self.against_modes()),
                    _ if self.may_temper() =>
                        "run longer, and if they still disagree, temper the posterior".into(),
                    _ => "run longer".into(),
                },
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
        self.write_cause(f)?;
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
        let Trajectories { at_max_depth, ebfmi, .. } = &self.trajectories;
        let share = mean(at_max_depth);
        if share > DEPTH_LIMIT {
            write!(
                f,
                "; {:.0} % of transitions hit the maximal depth: raise it, or reparameterise",
                100.0 * share,
            )?;
        }
        let low: Vec<usize> = (0..ebfmi.len()).filter(|c| ebfmi[*c] < EBFMI_LIMIT).collect();
        if !low.is_empty() {
            let lowest = ebfmi.iter().copied().fold(f64::INFINITY, f64::min);
            write!(
                f,
                "; E-BFMI of {} is low ({lowest:.2}; above {EBFMI_LIMIT} is advised): the tails are \
                 explored slowly: reparameterise, or run longer",
                self.chains_listed(&low),
            )?;
        }
        if let Some(Approximation::Surrogate(description)) = &self.approximation {
            write!(
                f,
                "; the chains sample a surrogate ({description}), **not the posterior**: how far the two are apart, \
                 no diagnostic of the chains shows (`SurrogateError::measure` does)"
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
        assert_eq!(
            [1.02, 1.010_4, 1.010_000_4].map(|r| above(r, 1.01)),
            ["1.020", "1.010400", "1.010000"]
        );
    }
}

//! One row per run: what the usual diagnostics say in weight space, and what they miss.

use bnn_mcmc::diagnostics::{Symmetries, ess_per_chain, rhat_folded, rhat_split};
use bnn_mcmc::likelihood::Likelihood;
use bnn_mcmc::prelude::*;
use ndarray::{ArrayView2, Axis};
use serde::Serialize;

/// The most draws of each chain that predictions and symmetries are computed from.
const KEPT: usize = 10_000;

/// What is known about one run.
#[derive(Debug, Serialize)]
pub struct Row {
    pub sampler: String,
    pub prior: String,
    /// Largest split R-hat and folded split R-hat over all weights.
    pub rhat_split: f64,
    pub rhat_folded: f64,
    /// Smallest, median and largest effective sample size per chain over all weights.
    pub ess: [f64; 3],
    pub accept_rate: f64,
    pub divergences: u64,
    /// Copies of a mode that the draws visited under permutations of hidden units, effectively
    /// (the exponential of the entropy of their shares), of so many.
    pub modes: f64,
    pub order: f64,
    /// How often chains went from one copy to another.
    pub transitions: usize,
    /// Largest R-hat and smallest bulk ESS over predicted probabilities, all chains.
    pub rhat_function: f64,
    pub ess_function: f64,
    /// Warm-up and sampling.
    pub seconds: f64,
}

/// What the columns of [`Row::HEADER`] mean.
pub const LEGEND: &str = "\
split, folded: the largest R-hat over all weights; ESS/chain: over weights; modes: copies of a mode under
permutations of hidden units that the draws visited (effectively), of so many; moves: passages between them;
f: predicted probabilities, largest R-hat and smallest bulk ESS, all chains; ESS/s: of f, warm-up included";

impl Row {
    /// Names of the fields, for a CSV file.
    pub const FIELDS: [&str; 15] = [
        "sampler",
        "prior",
        "rhat_split",
        "rhat_folded",
        "ess_min",
        "ess_median",
        "ess_max",
        "accept_rate",
        "divergences",
        "modes",
        "order",
        "transitions",
        "rhat_function",
        "ess_function",
        "seconds",
    ];

    pub const HEADER: &str = "sampler           prior        split  folded  ESS/chain min   median      \
         max  accept    modes of  moves  f: R-hat      ESS  seconds    ESS/s";

    pub fn new<L: Likelihood>(
        sampler: &str,
        prior: &str,
        posterior: &Posterior<Mlp, L>,
        data: &Dataset,
        draws: &Draws,
    ) -> Result<Self, Error> {
        let values = draws.values();
        let worst = |of: fn(ArrayView2<f64>) -> f64| {
            values.axis_iter(Axis(2)).map(of).fold(f64::NEG_INFINITY, f64::max)
        };
        let mut ess: Vec<f64> = values.axis_iter(Axis(2)).map(ess_per_chain).collect();
        ess.sort_by(f64::total_cmp);
        let accept = draws.accept_rate();
        let kept = kept(draws)?;
        let modes = symmetries(posterior)?.canonical(&kept, None)?;
        let functions = posterior.predict(&kept, data)?.summary()?;
        Ok(Self {
            sampler: sampler.to_string(),
            prior: prior.to_string(),
            rhat_split: worst(rhat_split),
            rhat_folded: worst(rhat_folded),
            ess: [ess[0], ess[ess.len() / 2], ess[ess.len() - 1]],
            accept_rate: accept.iter().sum::<f64>() / accept.len() as f64,
            divergences: draws.divergences(),
            modes: modes.all.effective(),
            order: modes.order,
            transitions: modes.chains.iter().map(|chain| chain.transitions).sum(),
            rhat_function: functions.max_rhat(),
            ess_function: functions.min_ess_bulk(),
            seconds: draws.info().warmup_seconds + draws.info().sampling_seconds,
        })
    }

    pub fn print(&self) {
        println!(
            "{:<17} {:<10} {:>7.3} {:>7.3} {:>14.0} {:>8.0} {:>8.0} {:>7.3} {:>8.1} {:>2} {:>6} {:>9.3} \
             {:>8.0} {:>8.1} {:>8.0}",
            self.sampler,
            self.prior,
            self.rhat_split,
            self.rhat_folded,
            self.ess[0],
            self.ess[1],
            self.ess[2],
            self.accept_rate,
            self.modes,
            self.order,
            self.transitions,
            self.rhat_function,
            self.ess_function,
            self.seconds,
            self.ess_function / self.seconds
        );
    }
}

/// The hidden units' permutations. Sign flips are left out: a sigmoid has none.
pub fn symmetries<L: Likelihood>(posterior: &Posterior<Mlp, L>) -> Result<Symmetries, Error> {
    Symmetries::new(posterior.model(), posterior.layout())
}

/// At most `KEPT` draws of each chain, evenly spaced.
pub fn kept(draws: &Draws) -> Result<Draws, Error> {
    draws.thinned(draws.n_draws().div_ceil(KEPT).max(1))
}

//! The reports of kernels on a whole run.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Draws;
use crate::Error;

/// The report of a chain's kernel on the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Whether moves were made without a Metropolis test, so that the draws have a bias that no
    /// diagnostic of the chains shows.
    pub unadjusted: bool,
    /// The moves of the states of [`PowerPosteriors`](crate::sampler::PowerPosteriors) on their
    /// ladder.
    pub ladder: Option<LadderReport>,
}

impl Report {
    /// The report of a kernel that is made of two.
    pub fn and(self, second: Self) -> Self {
        Self {
            unadjusted: self.unadjusted || second.unadjusted,
            ladder: self.ladder.or(second.ladder),
        }
    }
}

/// The moves of one chain of [`PowerPosteriors`](crate::sampler::PowerPosteriors) on its ladder
/// during sampling.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::draws::LadderReport;
/// use bnn_mcmc::sampler::PowerPosteriors;
/// let data = Dataset::regression(ndarray::array![[0.0], [1.0]], ndarray::array![1.0, 2.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
/// let algorithm = PowerPosteriors::new(Rwm::default());
/// let draws = Sampler::new(&posterior, algorithm).warmup(300).draws(300).run()?;
/// for report in LadderReport::of(&draws)? {
///     assert!(report.swap_accept.iter().all(|a| (0.0..=1.0).contains(a)));
///     println!("{report}");
/// }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LadderReport {
    /// The powers of the likelihood, ascending.
    pub betas: Vec<f64>,
    /// The mean probability that an exchange between the rungs k and k + 1 is accepted.
    pub swap_accept: Vec<f64>,
    /// The share of the proposed exchanges, between any two rungs, that was accepted.
    pub swap_rate: f64,
    /// The mean acceptance probability of the moves within each rung; NaN where they need no test,
    /// as draws from the prior.
    pub accept_prob: Vec<f64>,
    /// Divergent transitions within each rung.
    pub divergences: Vec<u64>,
    /// The number of times that a state came from beta_0 to beta = 1.
    pub restarts: u64,
    /// The number of times that a state went from beta = 1 to beta_0 and back.
    pub round_trips: u64,
}

impl LadderReport {
    /// One report for each chain: of the first ladder, if a cycle or mixture has several.
    ///
    /// # Errors
    /// If the draws are of another algorithm, or were read from a CSV file.
    pub fn of(draws: &Draws) -> Result<Vec<Self>, Error> {
        let ladders: Vec<_> =
            draws.info().reports.iter().filter_map(|r| r.ladder.clone()).collect();
        if ladders.is_empty() {
            let found = "without the report of a ladder";
            return Err(Error::argument(
                "draws",
                found,
                "a run of PowerPosteriors, not read from a CSV file",
            ));
        }
        Ok(ladders)
    }

    /// The communication barrier Lambda: the sum of the rejection rates between neighbours. Where the
    /// likelihood is zero at a share of the prior's draws, it includes that share, which no ladder
    /// can lower.
    pub fn barrier(&self) -> f64 {
        self.swap_accept.iter().map(|a| 1.0 - a).sum()
    }

    /// The number of rungs that suits the barrier: 2 Lambda + 1, rounded up, at least 2.
    pub fn suggested_rungs(&self) -> usize {
        let rungs = (2.0 * self.barrier() + 1.0).ceil();
        if rungs.is_finite() { (rungs as usize).max(2) } else { self.betas.len() }
    }
}

impl fmt::Display for LadderReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rung       beta  swap with next  accepted within  divergent")?;
        for (k, beta) in self.betas.iter().enumerate() {
            let number =
                |values: &[f64]| values.get(k).map_or(String::new(), |a| format!("{a:.3}"));
            let (next, within) = (number(&self.swap_accept), number(&self.accept_prob));
            let within = if *beta == 0.0 { "exact".to_string() } else { within };
            let divergences = self.divergences.get(k).copied().unwrap_or(0);
            writeln!(f, "{k:4}  {beta:9.3e}  {next:>14}  {within:>15}  {divergences:9}")?;
        }
        writeln!(
            f,
            "barrier {:.2}: about {} rungs suit it, {} are here; {:.0} % of proposed swaps accepted, \
             {} restarts, {} round trips",
            self.barrier(),
            self.suggested_rungs(),
            self.betas.len(),
            100.0 * self.swap_rate,
            self.restarts,
            self.round_trips
        )
    }
}

//! Simulation-based calibration: is what comes out what was put in?
//!
//! Draw parameters from the prior, data given them, and draws of the posterior given the data. Then the parameters that the data
//! were made with are one more draw of that posterior: among L nearly independent draws the rank of the true value is uniform on 0 .. L,
//! for every function of parameters and data.
//!
//! ```text
//! q* ~ p(q),   y ~ p(y | q*),   q_1 .. q_L ~ p(q | y)      =>      #{l : f(q_l, y) < f(q*, y)} ~ uniform on 0 .. L
//! ```
//!
//! A wrong Jacobian, prior or likelihood, or a sampler that does not reach all of the posterior, makes ranks that are not. A function of the
//! parameters alone cannot see all faults: posteriors that ignore the data have uniform ranks, too. The log likelihood sees them, and is
//! always among the quantities (Modrak and others, Bayesian Analysis 20, 2025, arXiv:2211.02383).
//!
//! Sources: Talts and others, arXiv:1804.06788; the simultaneous bands and their test, Sailynoja, Burkner and Vehtari, Statistics and Computing 32,
//! 2022, doi:10.1007/s11222-022-10090-6, arXiv:2103.10522.

mod posterior;
mod ranks;
mod report;
mod simulated;
mod store;

pub use report::SbcReport;
pub use simulated::Simulated;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;
use crate::rng::ChainRng;
use crate::threads;
use ranks::Reference;
use store::Store;

/// The stream of a seed that is for simulations.
const SIMULATIONS: u64 = u64::from_le_bytes(*b"SBC sims");

/// The most threads of a run.
const MOST_THREADS: usize = 4096;

/// The most simulations of a run.
const MOST_SIMULATIONS: usize = 100_000;

/// Simulation-based calibration (the module's documentation has the method).
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::Sbc;
/// use ndarray::{Array, Array2};
///
/// let x = Array2::from_shape_fn((20, 1), |(i, _)| i as f64 / 10.0 - 1.0);
/// let data = Dataset::regression(x, Array::zeros(20))?; // the response is simulated
/// let priors = Priors::all(Normal::new(0.0, 1.0)?)
///     .with("log_noise_variance", LogInverseGamma::new(3.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::sampled(), &data, priors)?;
///
/// let report = Sbc::new().simulations(50).run_posterior(&posterior, &data, |simulated, seed| {
///     let posterior = posterior.given(simulated)?;
///     Sampler::new(&posterior, Nuts::default()).chains(2).warmup(200).draws(200).seed(seed).run()
/// })?;
/// assert!(report.passes(), "{report}");
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sbc {
    size: Size,
    draws: usize,
    rows: Option<usize>,
    alpha: f64,
    seed: u64,
    threads: Option<usize>,
    checkpoint: Option<PathBuf>,
}

/// How many simulations.
#[derive(Clone, Copy, Debug)]
enum Size {
    Simulations(usize),
    /// As many as find posteriors that are displaced by so many of their standard deviations, or too wide or too narrow by this
    /// factor.
    Finding {
        shift: f64,
        factor: f64,
    },
}

impl Default for Sbc {
    fn default() -> Self {
        Self::new()
    }
}

impl Sbc {
    /// 99 draws of each simulation, a chance of 0.005 that a right sampler fails, seed 1, and as many simulations as find a posterior that
    /// is displaced by a third of its standard deviation, or too wide or too narrow by a factor of 1.3.
    pub fn new() -> Self {
        Self {
            size: Size::Finding { shift: 1.0 / 3.0, factor: 1.3 },
            draws: 99,
            rows: None,
            alpha: 0.005,
            seed: 1,
            threads: None,
            checkpoint: None,
        }
    }

    /// The number of simulations, 20 to 100,000.
    pub fn simulations(self, simulations: usize) -> Self {
        Self { size: Size::Simulations(simulations), ..self }
    }

    /// As many simulations as find, with probability of about 0.99 by each quantity, a posterior that is displaced by `shift` of its standard
    /// deviations, and one whose standard deviation is wrong by `factor` either way. How many they are depends on the number of quantities, and
    /// is known after the first simulation. `shift` is 0.05 to 5, `factor` 1.05 to 5.
    pub fn to_find(self, shift: f64, factor: f64) -> Self {
        Self { size: Size::Finding { shift, factor }, ..self }
    }

    /// L, the number of draws that a true value is ranked among, 9 to 999: evenly spaced ones of all chains. Chains should have as many
    /// effective draws.
    pub fn draws(self, draws: usize) -> Self {
        Self { draws, ..self }
    }

    /// The number of rows that [`run_posterior`](Self::run_posterior) simulates a response of, 1 to its data's rows; half the number of parameters
    /// by default.
    pub fn rows(self, rows: usize) -> Self {
        Self { rows: Some(rows), ..self }
    }

    /// With this number of rows, if none was given.
    pub(crate) fn or_rows(self, rows: usize) -> Self {
        Self { rows: self.rows.or(Some(rows)), ..self }
    }

    /// The chance that a right sampler fails, all quantities together, 0.0001 to 0.5.
    pub fn alpha(self, alpha: f64) -> Self {
        Self { alpha, ..self }
    }

    /// The seed. Each simulation has a random stream of its own: results do not depend on threads or interruptions.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The number of threads that simulations are shared out over, 1 to 4,096; all processors by default.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// A file that keeps the ranks of the simulations that are done, one line each. The same call goes on where it ended; a file of
    /// another seed, other quantities or another model or sampler, by its first simulation, is refused.
    pub fn checkpoint(self, path: impl Into<PathBuf>) -> Self {
        Self { checkpoint: Some(path.into()), ..self }
    }

    /// Runs `simulate` for each simulation: it draws parameters, data and a posterior, all with `rng`, and returns the true values of
    /// its quantities and their draws. [`run_posterior`](Self::run_posterior) does so for a [`Posterior`](crate::posterior::Posterior).
    ///
    /// # Errors
    /// Settings out of range, quantities that differ between simulations, values that are not finite; a file of another run; and the
    /// first error of `simulate`. Simulations that are done stay in the file.
    pub fn run(
        &self,
        simulate: impl Fn(ChainRng) -> Result<Simulated, Error> + Sync,
    ) -> Result<SbcReport, Error> {
        self.check()?;
        threads::ready()?;
        let pool = self.threads.map(threads::pool).transpose()?;
        match &pool {
            Some(pool) => pool.install(|| self.run_here(&simulate)),
            None => self.run_here(&simulate),
        }
    }

    fn run_here(
        &self,
        simulate: &(impl Fn(ChainRng) -> Result<Simulated, Error> + Sync),
    ) -> Result<SbcReport, Error> {
        let one = |i: usize| {
            let rng = ChainRng::new(self.seed, i as u64).child(SIMULATIONS);
            simulate(rng.child(0))?.ranks(self.draws, &mut rng.child(1))
        };
        let first = one(0)?;
        let quantities = first.names.len();
        let alpha = self.alpha / quantities as f64;
        if alpha < ranks::LEAST_ALPHA {
            let most = (self.alpha / ranks::LEAST_ALPHA * (1.0 + 1e-9)) as usize;
            let allowed = format!("at most {most} with an alpha of {}", self.alpha);
            return Err(Error::argument("quantities", quantities, allowed));
        }
        let store = Store::open(self.checkpoint.as_deref(), self, &first)?;
        let simulations = match self.size {
            Size::Simulations(simulations) => simulations,
            Size::Finding { shift, factor } => {
                ranks::simulations_to_find(shift, factor, self.draws, alpha)?
            }
        };
        store.put(0, &first)?;

        let has_failed = AtomicBool::new(false);
        let done = threads::map(simulations, &|i| {
            let known = if i == 0 { Some(first.clone()) } else { store.get(i) };
            if known.is_some() {
                return Ok(known);
            }
            if has_failed.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let ranked = one(i).and_then(|ranked| {
                first.check_names(&ranked, i)?;
                store.put(i, &ranked)?;
                Ok(Some(ranked))
            });
            has_failed.fetch_or(ranked.is_err(), Ordering::Relaxed);
            ranked
        });
        let done: Vec<_> = done.into_iter().collect::<Result<_, _>>()?;
        let reference = Reference::new(simulations, self.draws, alpha, self.seed);
        Ok(SbcReport::new(first.names, done.into_iter().flatten(), reference))
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |name: &str, value: String, allowed: &str| {
            Err(Error::argument(name, value, allowed.to_string()))
        };
        if !(9..=999).contains(&self.draws) {
            return refuse("draws", self.draws.to_string(), "9 to 999");
        }
        if !(1e-4..=0.5).contains(&self.alpha) {
            return refuse("alpha", self.alpha.to_string(), "0.0001 to 0.5");
        }
        match self.size {
            Size::Simulations(n) if !(20..=MOST_SIMULATIONS).contains(&n) => {
                refuse("simulations", n.to_string(), "20 to 100,000")
            }
            Size::Finding { shift, factor }
                if !((0.05..=5.0).contains(&shift) && (1.05..=5.0).contains(&factor)) =>
            {
                let allowed =
                    "a displacement of 0.05 to 5 standard deviations and a factor of 1.05 to 5";
                refuse("fault to find", format!("{shift} and {factor}"), allowed)
            }
            _ => match self.threads {
                Some(n) if !(1..=MOST_THREADS).contains(&n) => {
                    refuse("threads", n.to_string(), "1 to 4,096")
                }
                _ => Ok(()),
            },
        }
    }
}

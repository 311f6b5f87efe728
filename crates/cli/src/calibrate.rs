//! `check --calibrate`: model and sampler, tested by simulation.

use std::path::PathBuf;

use bnn_mcmc::fit::{Fit, Recipe};
use bnn_mcmc::sampler::StopHandle;
use bnn_mcmc::testing::{Sbc, SbcReport};
use bnn_mcmc_report::figures::calibration;
use clap::Args;

use crate::config::{Config, whole};
use crate::{Ended, Failure, file, output, signals};

/// The simulations that are asked for.
#[derive(Args)]
#[command(next_help_heading = "Check")]
pub struct CalibrateArgs {
    /// Test model and sampler by simulation: so many times responses are drawn from the model, with parameters from its
    /// priors and the features of this table, and the true values must rank evenly among the draws of the posterior given
    /// them. The number of simulations is 100 if none is given. Chains are 2 of 500 + 1000 iterations unless they are given;
    /// minutes for most models. Exit code 3 if ranks are not even, or chains too short to tell
    #[arg(long, value_name = "SIMULATIONS", num_args = 0..=1, require_equals = true, default_missing_value = "100",
          value_parser = whole::<usize>)]
    calibrate: Option<usize>,
    /// Keep the simulations that are done in a file, from which the same command goes on
    #[arg(long, value_name = "FILE", requires = "calibrate")]
    ranks: Option<PathBuf>,
    /// Draw the ranks into a file, FILE.svg, beside the band of even ones
    #[arg(long, value_name = "FILE", requires = "calibrate")]
    figure: Option<PathBuf>,
}

impl CalibrateArgs {
    /// Calibrates the fit's recipe on its rows, if that was asked for.
    pub fn run(&self, recipe: &Recipe, fit: &Fit, config: &Config) -> Result<Ended, Failure> {
        let Some(simulations) = self.calibrate else { return Ok(Ended::Done) };
        if config.table.impute.is_some() {
            let problem = "`--impute` fits several tables: it does not go with `--calibrate`";
            return Err(Failure::usage(problem));
        }
        let mut sbc = Sbc::new().simulations(simulations);
        if let Some(seed) = config.sampler.seed {
            sbc = sbc.seed(seed);
        }
        if let Some(threads) = config.sampler.threads.filter(|threads| *threads > 0) {
            sbc = sbc.threads(threads);
        }
        if let Some(path) = &self.ranks {
            sbc = sbc.checkpoint(path);
        }
        let stop = StopHandle::new();
        signals::stop(
            &stop,
            "ending after the draw that each chain is in; once more to end at once",
        );
        let recipe = recipe.clone().stop_handle(&stop).progress();
        let report = match recipe.calibrate(fit.data(), fit.schema(), &sbc) {
            Err(error) if error.is_stopped() => {
                let goes_on = if self.ranks.is_some() { ": the same command goes on" } else { "" };
                output::note(&format!("{error}{goes_on}"));
                return Ok(Ended::Interrupted);
            }
            report => report?,
        };
        if let Some(path) = &self.figure {
            file::write(path, &calibration::ranks(&report).to_svg())?;
        }
        output::print(&format!("\ncalibration by simulation: {report}{}\n", found_by(&report)))?;
        Ok(if report.passes() { Ended::Done } else { Ended::NotConverged })
    }
}

/// What faults a run of so many simulations finds.
fn found_by(report: &SbcReport) -> String {
    let [shift, wide, narrow] = report.detects();
    let factor = |factor: f64| format!("{factor:.2} times as wide as it should be");
    let faults = [
        shift.map(|shift| format!("displaced by {shift:.2} of its standard deviations")),
        wide.map(factor),
        narrow.map(factor),
    ];
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    match faults.is_empty() {
        true => "no fault is so large that so few simulations find it for certain".into(),
        false => format!(
            "with a probability of 0.99 this finds a posterior that is {}",
            faults.join(", or ")
        ),
    }
}

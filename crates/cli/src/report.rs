//! `report`: a page to read and to pass on.

use std::path::PathBuf;

use bnn_mcmc::fit::Fit;
use clap::Args;

use crate::output;
use crate::{Ended, Failure};

/// Writes the report of a run: one HTML page with all figures inside
///
/// The verdict comes first, then data, model, scores, predictions and convergence. The page needs
/// no other file and no network.
#[derive(Args)]
pub struct ReportArgs {
    /// The folder of the run
    run: PathBuf,
    /// The file to write [default: report.html in the folder of the run]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(args: &ReportArgs) -> Result<Ended, Failure> {
    let page = bnn_mcmc_report::report(&Fit::load(&args.run)?)?;
    let path = args.out.clone().unwrap_or_else(|| args.run.join("report.html"));
    output::write(&path, page.as_bytes())?;
    output::note(&format!("the report is in {}", path.display()));
    Ok(Ended::Done)
}

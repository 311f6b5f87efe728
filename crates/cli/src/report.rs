//! `report`: a page to read and to pass on.

use std::path::PathBuf;

use clap::Args;

use crate::output;
use crate::{Ended, Failure, file, folder, words};

/// Writes the report of a run: one HTML page with all figures inside
///
/// The verdict comes first, then data, model, scores, predictions and convergence. The page needs
/// no other file and no network. It is of the draws that the run has now: a run that goes on needs
/// another one.
#[derive(Args)]
pub struct ReportArgs {
    /// The folder of the run
    run: PathBuf,
    /// The file to write [default: report.html in the folder of the run]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(args: &ReportArgs) -> Result<Ended, Failure> {
    let path = args.out.clone().unwrap_or_else(|| args.run.join("report.html"));
    match &args.out {
        Some(out) => folder::check_file(out, "--out", &[])?,
        None if path.is_symlink() => folder::check_place(&path, "report.html", &[])?,
        None => {}
    }
    let page = bnn_mcmc_report::report_in_words(&folder::load(&args.run)?, &words::Flags)?;
    file::write(&path, &page)?;
    output::note(&format!("the report is in {}", path.display()));
    Ok(Ended::Done)
}

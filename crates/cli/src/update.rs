//! `update`: rows that come after a run.

use std::fs;
use std::path::PathBuf;

use bnn_mcmc::sampler::StopHandle;
use clap::Args;

use crate::table::Table;
use crate::{Ended, Failure, fit, folder, output, predict, signals, words};

/// Learns from new rows of a finished run, without a new fit
///
/// The draws of the run are weighted by the likelihood of the new rows or, where these say too much for that, moved in
/// steps, which take about a third of the gradients of a new fit for half as many rows again, for the same posterior. Rows so far from the run's predictions
/// that moves would take more than twice its gradients are refused before they are made: fit all rows then. Scalings stay those of the first
/// rows. Standard error says whether the new rows are like those that the run has predicted, and how many the run had learnt from before. The result is a run in
/// a folder of its own.
#[derive(Args)]
pub struct UpdateArgs {
    /// The folder of the run
    run: PathBuf,
    /// The table of the new rows: the columns of the training table with the response, in any order
    table: PathBuf,
    /// The folder of the new run, which is made
    #[arg(long, short, value_name = "FOLDER")]
    out: PathBuf,
    /// Exit code 3 if the new run has not converged
    #[arg(long)]
    strict: bool,
}

pub fn run(args: &UpdateArgs) -> Result<Ended, Failure> {
    let run = args.run.display();
    if folder::is_of_tables(&args.run) {
        let problem = "a run of several completed tables cannot be updated: fit all rows";
        return Err(Failure::error(format!("{run}: {problem}")));
    }
    folder::check_place(&args.out, "--out", &[])?;
    if fs::read_dir(&args.out).is_ok_and(|mut entries| entries.next().is_some()) {
        let out = args.out.display();
        return Err(Failure::error(format!("{out}: the folder is not empty: take another one")));
    }
    let before = folder::load(&args.run)?;
    let schema = before.schema().ok_or_else(|| {
        Failure::error(format!("{run}: the run is not of a file, so that none can be read like it"))
    })?;
    let of_new_rows = |e: bnn_mcmc::Error| Failure::error(e.in_words(&words::NewRows));
    let read = Table::open(&args.table, schema.limit(), None)
        .and_then(|table| table.read(schema))
        .map_err(of_new_rows)?;
    let updated =
        before.update(&read.dataset).map_err(|e| predict::in_file(e, &args.table, &read.lines))?;
    output::note(&predict::Rows::from(&read).said("learnt from", &before));
    let found = updated.to_string();
    output::note(&if updated.has_drifted() { output::bad(&found) } else { found });
    signals::stop(&StopHandle::new(), "ending when the folder is whole; once more to end at once");
    updated.fit.save(&args.out)?;
    fit::ending(&updated.fit, &args.out, args.strict)
}

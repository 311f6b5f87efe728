//! `export`: a run for other programs.

use std::path::PathBuf;

use bnn_mcmc::sampler::StopHandle;
use clap::Args;

use crate::output::{self, quoted};
use crate::{Ended, Failure, folder, signals};

/// Writes a run for ArviZ: draws, predictive draws, log likelihoods of the rows, and the data
///
/// The folder is in the Zarr format, version 3, with the groups posterior, sample_stats,
/// posterior_predictive, log_likelihood, observed_data and constant_data. Responses, predictive draws
/// and log likelihoods are of the training rows, in the units of the table; weights are for scaled
/// features and response. It is written as a whole, and nothing that exists is written over.
///
/// ArviZ 1 opens it by arviz.from_zarr("F"), ArviZ 0.23 by
/// arviz.from_datatree(xarray.open_datatree("F", engine="zarr")). Then arviz.loo is the leave-one-out
/// of `compare`.
#[derive(Args)]
pub struct ExportArgs {
    /// The folder of the run
    run: PathBuf,
    /// The Zarr folder to write, which must not exist
    #[arg(long, value_name = "FOLDER")]
    zarr: PathBuf,
}

pub fn run(args: &ExportArgs) -> Result<Ended, Failure> {
    folder::check_place(&args.zarr, "--zarr", &[])?;
    let fit = folder::load(&args.run)?;
    signals::stop(&StopHandle::new(), "ending when the folder is whole; once more to end at once");
    fit.to_zarr(&args.zarr)?;
    let path = quoted(&args.zarr.display().to_string());
    output::note(&format!("draws, predictions and data are in {path}"));
    Ok(Ended::Done)
}

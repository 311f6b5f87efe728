//! The verdict on any file of draws: a header, one row per draw, a column `chain` if there are
//! several.
//!
//!     cargo run --release -p bnn-mcmc-studies -- diagnose draws.csv

use std::path::PathBuf;

use bnn_mcmc::diagnostics::Judge;
use bnn_mcmc::prelude::*;

use crate::shared::AnyError;

#[derive(clap::Args)]
pub struct Args {
    /// CSV file: columns `chain` and `draw` (both optional), then one column per parameter
    file: PathBuf,
    /// Rows of the summary to print; the blocks and the verdict cover all parameters
    #[arg(long, default_value_t = 20)]
    rows: usize,
    /// Folder to write summary.csv to
    #[arg(long)]
    out: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<(), AnyError> {
    let draws = Draws::from_csv(&args.file)?;
    let summary = draws.summary()?;
    println!("{} chains of {} draws\n", draws.n_chains(), draws.n_draws());
    let shown = Summary { rows: summary.rows.iter().take(args.rows).cloned().collect() };
    println!("{shown}");
    if shown.rows.len() < summary.rows.len() {
        println!("... and {} more parameters\n", summary.rows.len() - shown.rows.len());
    }
    println!("{}", summary.by_block(draws.layout())?);
    println!("{}", Judge::new().quantities("parameters", draws.values()).judge()?);
    println!(
        "\nThis judges parameters. Weights of a network can be permuted without changing its \
         predictions: judge those of a network by its predictions."
    );
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|e| Error::io(out, e))?;
        summary.to_csv(out.join("summary.csv"))?;
    }
    Ok(())
}

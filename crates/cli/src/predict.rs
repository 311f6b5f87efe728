//! `predict`: new rows.

use std::path::PathBuf;

use bnn_mcmc::Error;
use bnn_mcmc::fit::Fit;
use clap::Args;

use crate::output::{self, count};
use crate::{Ended, Failure, diagnose};

/// Predicts the rows of another table, as CSV, in the units of the response
///
/// One line for each row: the mean, what is not known about it (its standard deviation and
/// quantiles over the draws), and the quantiles of a new observation, noise included; of classes
/// one line for each row and class, with its probability. Rows are counted from 0. Standard error
/// says which rows lie outside the range of the training data.
#[derive(Args)]
pub struct PredictArgs {
    /// The folder of the run
    run: PathBuf,
    /// The table: the features of the training table in any order of columns. The response may be
    /// lacking
    table: PathBuf,
    /// The file to write, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The table holds the response, too: add a column `observed`, and print the scores
    #[arg(long)]
    scores: bool,
}

pub fn run(args: &PredictArgs) -> Result<Ended, Failure> {
    let fit = Fit::load(&args.run)?;
    let mut csv = Vec::new();
    let written = |e: std::io::Error| Failure::error(format!("the predictions: {e}"));
    let scores = if args.scores {
        let rows = fit.read(&args.table)?;
        let predictions = fit.predict(&rows)?;
        predictions.write_csv(&mut csv).map_err(written)?;
        let of = count(rows.rows(), "row");
        Some(diagnose::scored(&of, &predictions.scores()?.to_string()))
    } else {
        let predicted = fit.predict_csv(&args.table)?;
        predicted.predictions.write_csv(&mut csv).map_err(written)?;
        output::note(&predicted.to_string());
        if !predicted.dropped.is_empty() {
            let lines: Vec<String> = predicted.dropped.iter().map(ToString::to_string).collect();
            output::note(&format!("lines left out: {}", lines.join(", ")));
        }
        None
    };
    match &args.out {
        Some(path) => {
            check_place(path, args)?;
            output::write(path, &csv)?;
            output::print(&scores.unwrap_or_default())?;
        }
        // Standard output is the table's.
        None => {
            output::print(&String::from_utf8_lossy(&csv))?;
            if let Some(scores) = scores {
                output::note(scores.trim_end());
            }
        }
    }
    Ok(Ended::Done)
}

/// An error if the predictions would take the place of the table that they are of.
fn check_place(path: &std::path::Path, args: &PredictArgs) -> Result<(), Failure> {
    let same = |a: &std::path::Path, b: &std::path::Path| {
        a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
    };
    if same(path, &args.table) {
        let allowed = "another file than the table that is predicted";
        return Err(Error::argument("out", path.display(), allowed).into());
    }
    Ok(())
}

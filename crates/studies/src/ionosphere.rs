//! Radar returns from the ionosphere, good or bad: a linear model against a small neural network.
//!
//!     cargo run --release -p bnn-mcmc-studies -- ionosphere
//!
//! One logit, the Bernoulli likelihood, and the confusion matrix of each model. `--train` and
//! `--test` read files of your own: numbers separated by blanks or commas, no header, the class
//! last. `--paper` takes the tutorial's settings: two sigmoid outputs and the categorical likelihood
//! (a single logit between 0 and 1 could never predict the first class).

use bnn_mcmc::data::{CsvReader, bundled};
use serde_json::json;

use crate::shared::{AnyError, Options, classification, print_runs, write};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,
}

pub fn run(Args { options }: Args) -> Result<(), AnyError> {
    let options = &options;
    options.check()?;
    let bundled = || bundled::ionosphere().stratified_split(0.3, options.seed);
    let data = options.data(CsvReader::classification, bundled)?;
    let setup = classification::setup(data, options)?;
    let mut runs = classification::run_both(&setup, options)?;
    print_runs(&runs, &classification::LINES, &[]);
    for run in &mut runs {
        let confusion = run.predictions.confusion()?;
        print!("\n{}, test rows:\n{confusion}", run.report.model);
        let counts: Vec<Vec<usize>> =
            confusion.counts.rows().into_iter().map(|r| r.to_vec()).collect();
        let json = json!({ "classes": confusion.names, "observed_by_predicted": counts });
        run.report.more.insert("confusion".into(), json);
    }
    write(options, &runs)
}

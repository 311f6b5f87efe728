//! Radar returns from the ionosphere, good or bad: a linear model against a small neural network.
//!
//!     cargo run --release --example ionosphere
//!
//! One logit, the Bernoulli likelihood, and the confusion matrix of each model. `--train` and
//! `--test` read files of your own: numbers separated by blanks or commas, no header, the class
//! last.

#[path = "shared/classification.rs"]
mod classification;
mod shared;

use bnn_mcmc::data::{CsvReader, bundled};
use bnn_mcmc::prelude::*;
use clap::Parser;
use serde_json::json;
use shared::{AnyError, Options, Task, finish, fit, print_runs, write};

#[derive(Parser)]
#[command(about = "Classifies radar returns by a linear model and a neural network, both Bayesian")]
struct Args {
    #[command(flatten)]
    options: Options,
}

impl Task for Bernoulli {}

fn main() {
    finish(run(&Args::parse().options));
}

fn run(options: &Options) -> Result<(), AnyError> {
    options.check()?;
    let (train, test) = match options.files(CsvReader::classification)? {
        Some(files) => files,
        None => bundled::ionosphere().stratified_split(0.3, options.seed)?,
    };
    let (train, test) = classification::scaled(&train, &test)?;
    let setup = classification::setup(&train, &test, options)?;

    let features = train.n_features();
    let linear = Linear::new(features, 1)?;
    let mlp = Mlp::new(&[features, 10, 1], Activation::Tanh)?;
    let dense = Mala { preconditioner: Preconditioner::Dense, ..Mala::default() };
    let mlp_name = format!("mlp {features}-10-1 tanh");
    let mut runs = [
        fit("linear".into(), linear, Bernoulli, dense, &setup)?,
        fit(mlp_name, mlp, Bernoulli, Mala::default(), &setup)?,
    ];
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

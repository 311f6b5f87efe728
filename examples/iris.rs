//! Three species of iris from four measures: a linear model against a small neural network.
//!
//!     cargo run --release --example iris
//!
//! Both models are sampled by the same algorithm and judged by the same diagnostics, in weight
//! space and in function space (predicted probabilities of the test rows). `--train` and `--test`
//! read files of your own: numbers separated by blanks or commas, no header, the class last.

#[path = "shared/classification.rs"]
mod classification;
mod shared;

use bnn_mcmc::data::{CsvReader, bundled};
use bnn_mcmc::prelude::*;
use clap::Parser;
use shared::{AnyError, Options, Task, finish, fit, print_runs, write};

#[derive(Parser)]
#[command(about = "Classifies iris flowers by a linear model and a neural network, both Bayesian")]
struct Args {
    #[command(flatten)]
    options: Options,
}

impl Task for Categorical {}

fn main() {
    finish(run(&Args::parse().options));
}

fn run(options: &Options) -> Result<(), AnyError> {
    options.check()?;
    let (train, test) = match options.files(CsvReader::classification)? {
        Some(files) => files,
        None => bundled::iris().stratified_split(0.3, options.seed)?,
    };
    let (train, test) = classification::scaled(&train, &test)?;
    let setup = classification::setup(&train, &test, options)?;

    let (features, classes, hidden) = (train.n_features(), train.response().width(), 10);
    let linear = Linear::new(features, classes)?;
    let mlp = Mlp::new(&[features, hidden, classes], Activation::Tanh)?;
    let mlp_name = format!("mlp {features}-{hidden}-{classes} tanh");
    let runs = [
        fit("linear".into(), linear, Categorical, Mala::default(), &setup)?,
        fit(mlp_name, mlp, Categorical, Mala::default(), &setup)?,
    ];
    print_runs(&runs, &classification::LINES, &[]);
    write(options, &runs)
}

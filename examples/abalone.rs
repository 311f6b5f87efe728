//! Rings of abalone shells (their age) from sex and seven measures: a linear model against a small
//! neural network.
//!
//!     cargo run --release --example abalone
//!
//! 60 % of the rows are for training. `--train` and `--test` read files of your own: numbers
//! separated by blanks or commas, no header, the response last. `--paper` takes the tutorial's
//! settings: a sigmoid output, and all columns scaled to [0, 1].

#[path = "shared/regression.rs"]
mod regression;
mod shared;

use bnn_mcmc::data::{CsvReader, bundled};
use clap::Parser;
use shared::{AnyError, Options, finish};

#[derive(Parser)]
#[command(
    about = "Counts the rings of abalone by a linear model and a neural network, both Bayesian"
)]
struct Args {
    #[command(flatten)]
    options: Options,
}

fn main() {
    finish(run(&Args::parse().options));
}

fn run(options: &Options) -> Result<(), AnyError> {
    options.check()?;
    let bundled = || bundled::abalone().train_test_split(0.4, options.seed);
    let data = options.data(CsvReader::regression, bundled)?;
    regression::compare(data, Vec::new(), 4, options)
}

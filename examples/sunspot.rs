//! The next value of the smoothed sunspot series from the four before it: a linear model against a
//! small neural network.
//!
//!     cargo run --release --example sunspot
//!
//! A series changes little from one value to the next: a forecast is worth something only if it
//! beats persistence, which predicts the last value seen. The response is the series as a fraction of
//! 147.9 sunspots. `--train` and `--test` read files of your own: numbers separated by blanks or
//! commas, no header, the inputs in order of time and the next value last.

#[path = "shared/regression.rs"]
mod regression;
mod shared;

use bnn_mcmc::data::{CsvReader, bundled};
use bnn_mcmc::predict::persistence;
use clap::Parser;
use regression::Reference;
use shared::{AnyError, Options, finish};

#[derive(Parser)]
#[command(about = "Forecasts sunspots by a linear model and a neural network, both Bayesian")]
struct Args {
    #[command(flatten)]
    options: Options,
}

fn main() {
    finish(run(&Args::parse().options));
}

fn run(options: &Options) -> Result<(), AnyError> {
    options.check()?;
    let (train, test) = match options.files(CsvReader::regression)? {
        Some(files) => files,
        None => bundled::sunspot_windows(),
    };
    let last = Reference { name: "persistence", prediction: persistence(&test)? };
    regression::compare((train, test), vec![last], 5, options)
}

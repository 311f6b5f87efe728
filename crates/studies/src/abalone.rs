//! Rings of abalone shells (their age) from sex and seven measures: a linear model against a small
//! neural network.
//!
//!     cargo run --release -p bnn-mcmc-studies -- abalone
//!
//! 60 % of the rows are for training. `--train` and `--test` read files of your own: numbers
//! separated by blanks or commas, no header, the response last. `--paper` takes the tutorial's
//! settings: a sigmoid output, and all columns scaled to [0, 1].

use bnn_mcmc::data::{CsvReader, bundled};

use crate::shared::{AnyError, Options, regression};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,
}

pub fn run(Args { options }: Args) -> Result<(), AnyError> {
    let options = &options;
    options.check()?;
    let bundled = || bundled::abalone().train_test_split(0.4, options.seed);
    let data = options.data(CsvReader::regression, bundled)?;
    regression::compare(data, Vec::new(), 4, options)
}

//! Three species of iris from four measures: a linear model against a small neural network.
//!
//!     cargo run --release -p bnn-mcmc-studies -- iris
//!
//! Both models are sampled by the same algorithm and judged by the same diagnostics, in weight
//! space and in function space (predicted probabilities of the test rows). `--train` and `--test`
//! read files of your own: numbers separated by blanks or commas, no header, the class last.
//! `--paper` takes the tutorial's settings, a softmax of sigmoid outputs among them.

use bnn_mcmc::data::{CsvReader, bundled};

use crate::shared::{AnyError, Options, classification, print_runs, write};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,
}

pub fn run(Args { options }: Args) -> Result<(), AnyError> {
    let options = &options;
    options.check()?;
    let bundled = || bundled::iris().stratified_split(0.3, options.seed);
    let data = options.data(CsvReader::classification, bundled)?;
    let setup = classification::setup(data, options)?;
    let runs = classification::run_both(&setup, options)?;
    print_runs(&runs, &classification::LINES, &[]);
    write(options, &runs)
}

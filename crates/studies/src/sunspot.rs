//! The next value of the smoothed sunspot series from the four before it: a linear model against a
//! small neural network.
//!
//!     cargo run --release -p bnn-mcmc-studies -- sunspot
//!
//! A series changes little from one value to the next: a forecast is worth something only if it
//! beats persistence, which predicts the last value seen. The response is the series as a fraction of
//! 147.9 sunspots. `--train` and `--test` read files of your own: numbers separated by blanks or
//! commas, no header, the inputs in order of time and the next value last. `--paper` takes the
//! tutorial's settings: a sigmoid output, and the series as it is.

use bnn_mcmc::data::{CsvReader, bundled};
use bnn_mcmc::predict::persistence;

use crate::shared::regression::Reference;
use crate::shared::{AnyError, Options, regression};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,
}

pub fn run(Args { options }: Args) -> Result<(), AnyError> {
    let options = &options;
    options.check()?;
    let data = options.data(CsvReader::regression, || Ok(bundled::sunspot_windows()))?;
    let last = Reference::new("persistence", persistence(&data.1)?, &data.1)?;
    regression::compare(data, vec![last], 5, options)
}

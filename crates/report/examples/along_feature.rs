//! Draws what a fit predicts along one of its features: means with intervals, and the observations.
//!
//!     cargo run --release -p bnn-mcmc-report --example along_feature -- RUN FEATURE FILE.svg

use std::process::ExitCode;

use bnn_mcmc::Error;
use bnn_mcmc::fit::Fit;
use bnn_mcmc_report::figures::predictive::{self, Method};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, feature, file] = &arguments[..] else {
        eprintln!("error: give the folder of a run, a feature, and a file to write");
        return ExitCode::from(2);
    };
    match draw(run, feature, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the figure, or says why it cannot be made.
fn draw(run: &str, feature: &str, file: &str) -> Result<(), Error> {
    let fit = Fit::load(run)?;
    let rows = fit.training();
    let place = rows.feature_names().iter().position(|name| name == feature);
    let place = place.ok_or_else(|| Error::UnknownName {
        what: "feature".into(),
        name: feature.into(),
        known: rows.feature_names().to_vec(),
    })?;
    let predictions = fit.predict(rows)?;
    let one = [Method { name: "", predictions: &predictions }];
    let figure = predictive::against_feature(&one, rows, place, 0, 0.9)?;
    std::fs::write(file, figure.to_svg()).map_err(|error| Error::io(file, error))?;
    println!("{file}: {}", figure.title);
    Ok(())
}

//! Draws what a fit predicts along one of its features: means with intervals, and the observations.
//!
//!     cargo run --release -p bnn-mcmc-report --example along_feature -- RUN FEATURE FILE.svg

use bnn_mcmc::Error;
use bnn_mcmc::fit::Fit;
use bnn_mcmc_report::figures::predictive::{self, Method};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, feature, file] = &arguments[..] else {
        eprintln!(
            "three arguments are needed: the folder of a run, a feature, and a file to write"
        );
        std::process::exit(2);
    };
    let fit = Fit::load(run)?;
    let rows = fit.training();
    let place = rows.feature_names().iter().position(|name| name == feature);
    let place = place.ok_or_else(|| Error::UnknownName {
        what: "feature".into(),
        name: feature.clone(),
        known: rows.feature_names().to_vec(),
    })?;
    let predictions = fit.predict(rows)?;
    let one = [Method { name: "", predictions: &predictions }];
    let figure = predictive::against_feature(&one, rows, place, 0, 0.9)?;
    std::fs::write(file, figure.to_svg()).map_err(|error| Error::io(file, error))?;
    println!("{file}: {}", figure.title);
    Ok(())
}

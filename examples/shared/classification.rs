//! What the examples with classes have in common.

use bnn_mcmc::data::Standardize;
use bnn_mcmc::prelude::*;

use crate::shared::{AnyError, Line, Options, Setup};

pub const LINES: [Line; 3] = [
    Line::new("accuracy, posterior mean, %", "accuracy", 100.0, 1),
    Line::new("accuracy, single draws, %", "accuracy", 100.0, 1).single_draws(),
    Line::new("log predictive density", "log_predictive_density", 1.0, 3),
];

/// Both sets with features scaled by the training rows alone.
pub fn scaled(train: &Dataset, test: &Dataset) -> Result<(Dataset, Dataset), Error> {
    let scaler = Standardize::new().allow_constant().fit_features(train)?;
    Ok((scaler.scale_features(train)?, scaler.scale_features(test)?))
}

/// N(0, 1) priors on all weights; says what is sampled.
pub fn setup<'a>(
    train: &'a Dataset,
    test: &'a Dataset,
    options: &'a Options,
) -> Result<Setup<'a>, AnyError> {
    println!(
        "{} training rows, {} test rows, {} features, {} classes; sampler: {:?}",
        train.rows(),
        test.rows(),
        train.n_features(),
        train.response().width(),
        options.sampler
    );
    let priors = Priors::all(Normal::new(0.0, 1.0)?);
    let prior = "N(0, 1) on every weight".into();
    Ok(Setup { train, test, options, priors, prior, units: None })
}

//! The settings of a recipe, as Python names them.

use std::path::PathBuf;

use bnn_mcmc::Error;
use bnn_mcmc::data::CsvReader;
use bnn_mcmc::fit::{Fit, Method, Noise, Recipe, WeightPrior};
use bnn_mcmc::model::Activation;
use pyo3::prelude::*;

/// The kind of response.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Regression,
    Classification,
    Counts,
}

impl Kind {
    /// A reader of files with a response of this kind and these names.
    pub fn reader(self, response: &[String]) -> CsvReader {
        match self {
            Self::Regression => CsvReader::regression(response.to_vec()),
            Self::Classification => CsvReader::classification(response.to_vec()),
            Self::Counts => CsvReader::counts(response.to_vec()),
        }
    }
}

/// The settings of an estimator; `None` is the default of the recipe.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    hidden: Option<Vec<usize>>,
    activation: String,
    weight_prior: Weights,
    noise: Option<String>,
    method: Option<String>,
    target_accept: Option<f64>,
    chains: usize,
    warmup: usize,
    draws: usize,
    seed: u64,
    folder: Option<PathBuf>,
    verbose: bool,
    pub threads: usize,
}

/// A prior by its name, or the standard deviation of a normal one.
#[derive(Debug, FromPyObject)]
enum Weights {
    Name(String),
    Sd(f64),
}

impl Settings {
    /// The recipe for a response of these names.
    pub fn recipe(&self, kind: Kind, response: &[String]) -> Result<Recipe, Error> {
        let response = response.to_vec();
        let recipe = match kind {
            Kind::Regression => Fit::regression(response),
            Kind::Classification => Fit::classification(response),
            Kind::Counts => Fit::counts(response),
        };
        let weights = match &self.weight_prior {
            Weights::Sd(sd) => WeightPrior::Normal { sd: *sd },
            Weights::Name(name) => chosen(
                "weight prior",
                name,
                &[
                    ("fan_in", WeightPrior::FanIn),
                    ("ard", WeightPrior::Ard),
                    ("horseshoe", WeightPrior::Horseshoe),
                ],
            )?,
        };
        let mut recipe = recipe
            .activation(self.activation.parse::<Activation>()?)
            .weights(weights)
            .chains(self.chains)
            .warmup(self.warmup)
            .draws(self.draws)
            .seed(self.seed);
        if let Some(units) = &self.hidden {
            recipe = recipe.hidden(units);
        }
        if let Some(name) = &self.noise {
            recipe = recipe.noise(noise(kind, name)?);
        }
        if let Some(name) = &self.method {
            let known = [
                ("nuts", Method::Nuts),
                ("collapsed", Method::Collapsed),
                ("tempered", Method::Tempered),
            ];
            recipe = recipe.method(chosen("method", name, &known)?);
        }
        if let Some(probability) = self.target_accept {
            recipe = recipe.target_accept(probability);
        }
        if let Some(folder) = &self.folder {
            recipe = recipe.in_folder(folder);
        }
        Ok(if self.verbose { recipe.progress() } else { recipe })
    }
}

/// The noise of this name, among those that a response of this kind can have.
fn noise(kind: Kind, name: &str) -> Result<Noise, Error> {
    let known: &[(&str, Noise)] = match kind {
        Kind::Regression => &[
            ("gaussian", Noise::Gaussian),
            ("heteroscedastic", Noise::Heteroscedastic),
            ("student_t", Noise::StudentT),
        ],
        Kind::Counts => {
            &[("negative_binomial", Noise::NegativeBinomial), ("poisson", Noise::Poisson)]
        }
        Kind::Classification => &[],
    };
    chosen("noise", name, known)
}

/// The choice of this name; an error lists all names.
fn chosen<T: Copy>(what: &str, name: &str, known: &[(&str, T)]) -> Result<T, Error> {
    let found = known.iter().find(|(known, _)| *known == name);
    found.map(|(_, choice)| *choice).ok_or_else(|| Error::UnknownName {
        what: what.into(),
        name: name.into(),
        known: known.iter().map(|(known, _)| (*known).into()).collect(),
    })
}

//! The settings of a recipe, as Python names them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bnn_mcmc::Error;
use bnn_mcmc::data::{Task, Transform};
use bnn_mcmc::fit::{Candidate, Fit, Method, Noise, Recipe, RunUntil, WeightPrior};
use bnn_mcmc::message::Choice;
use bnn_mcmc::model::Activation;
use pyo3::prelude::*;

/// The settings of an estimator; `None` is the default of the recipe.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    model: Option<String>,
    hidden: Option<Vec<usize>>,
    activation: String,
    skip: Option<bool>,
    weight_prior: Option<Weights>,
    noise: Option<String>,
    response_transform: Option<String>,
    power_features: Option<bool>,
    method: Option<String>,
    target_accept: Option<f64>,
    chains: Option<usize>,
    warmup: Option<usize>,
    draws: Option<usize>,
    minutes: Option<f64>,
    run_until: Option<String>,
    most_rows: Option<usize>,
    seed: u64,
    impute: Option<usize>,
    folder: Option<PathBuf>,
    /// The chains, from the first to the one behind the last, that are a task of their own.
    only_chains: Option<(usize, usize)>,
    verbose: bool,
    /// The callable that is told of progress.
    pub progress: Option<Py<PyAny>>,
    pub threads: usize,
}

/// A prior by its name, or the standard deviation of a normal one.
#[derive(Debug, FromPyObject)]
enum Weights {
    Name(String),
    Sd(f64),
}

impl Weights {
    fn prior(&self) -> Result<WeightPrior, Error> {
        match self {
            Self::Sd(sd) => Ok(WeightPrior::Normal { sd: *sd }),
            // A normal prior is chosen by its standard deviation.
            Self::Name(name) => {
                let others = |prior: &&WeightPrior| !matches!(prior, WeightPrior::Normal { .. });
                let known: Vec<WeightPrior> =
                    WeightPrior::ALL.iter().filter(others).copied().collect();
                chosen(&known, name)
            }
        }
    }
}

impl Settings {
    /// The recipe for a response of these names.
    pub fn recipe(&self, task: Task, response: &[String]) -> Result<Recipe, Error> {
        let response = response.to_vec();
        let activation = chosen(Activation::ALL, &self.activation)?;
        let mut recipe = Fit::of(task, response).activation(activation).seed(self.seed);
        if let Some(name) = &self.model {
            recipe = recipe.model(chosen(Candidate::ALL, name)?);
        }
        if let Some(weights) = &self.weight_prior {
            recipe = recipe.weights(weights.prior()?);
        }
        if let Some(chains) = self.chains {
            recipe = recipe.chains(chains);
        }
        if let Some(warmup) = self.warmup {
            recipe = recipe.warmup(warmup);
        }
        if let Some(draws) = self.draws {
            recipe = recipe.draws(draws);
        }
        if let Some(minutes) = self.minutes {
            let time = Duration::try_from_secs_f64(60.0 * minutes);
            recipe = recipe.within(time.unwrap_or(Duration::MAX));
        }
        if let Some(name) = &self.run_until {
            recipe = recipe.run_until(chosen(RunUntil::ALL, name)?);
        }
        if let Some(rows) = self.most_rows {
            recipe = recipe.most_rows(rows);
        }
        if let Some(tables) = self.impute {
            recipe = recipe.impute(tables);
        }
        if let Some(skip) = self.skip {
            recipe = recipe.skip(skip);
        }
        if let Some(units) = &self.hidden {
            recipe = recipe.hidden(units);
        }
        if let Some(name) = &self.noise {
            recipe = recipe.noise(chosen(&noises(task), name)?);
        }
        if let Some(name) = &self.response_transform {
            recipe = recipe.transform(chosen(&transforms(), name)?);
        }
        if let Some(power) = self.power_features {
            recipe = recipe.power_features(power);
        }
        if let Some(name) = &self.method {
            recipe = recipe.method(chosen(Method::ALL, name)?);
        }
        if let Some(probability) = self.target_accept {
            recipe = recipe.target_accept(probability);
        }
        if let Some(folder) = &self.folder {
            recipe = recipe.in_folder(folder);
        }
        if let Some((first, end)) = self.only_chains {
            recipe = recipe.only_chains(first..end);
        }
        Ok(if self.verbose { recipe.progress() } else { recipe })
    }
}

/// The noises that a response of this kind can have.
fn noises(task: Task) -> Vec<Noise> {
    Noise::ALL.iter().copied().filter(|noise| noise.task() == task).collect()
}

/// The transforms that have a name in Python, where none is `None`.
fn transforms() -> Vec<Transform> {
    Transform::ALL.iter().copied().filter(|transform| !transform.is_none()).collect()
}

/// The choice of this name; an error lists those that are known.
fn chosen<C: Choice>(known: &[C], name: &str) -> Result<C, Error> {
    let found = known.iter().find(|choice| choice.name() == name);
    found.copied().ok_or_else(|| Error::UnknownName {
        what: C::KIND.into(),
        name: name.into(),
        known: known.iter().map(|choice| choice.name().into()).collect(),
    })
}

/// The names of the values of each parameter that takes one of a few; of noise, by task.
#[pyfunction]
pub fn choices() -> BTreeMap<&'static str, Vec<String>> {
    let weights = WeightPrior::names().into_iter().filter(|name| name != "normal");
    let of_noise = |task| noises(task).iter().map(|noise| noise.name().into()).collect();
    BTreeMap::from([
        ("Model", Candidate::names()),
        ("Activation", Activation::names()),
        ("WeightPrior", weights.collect()),
        ("Method", Method::names()),
        ("RunUntil", RunUntil::names()),
        ("ResponseTransform", transforms().iter().map(|t| t.name().into()).collect()),
        ("RealNoise", of_noise(Task::Regression)),
        ("CountNoise", of_noise(Task::Counts)),
        ("TimeNoise", of_noise(Task::Survival)),
        ("ClassNoise", of_noise(Task::Classification)),
    ])
}

//! What a fit is asked to do.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{AnyLikelihood, Fit, Parts, folder};
use crate::Error;
use crate::data::{Columns, CsvData, CsvReader, Dataset, Schema};
use crate::draws::Draws;
use crate::draws::checkpoint::Every;
use crate::likelihood::{
    Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian, NegativeBinomial, Poisson,
    StudentTNoise,
};
use crate::model::{Activation, Mlp};
use crate::prior::{LogHalfCauchy, LogInverseGamma, Normal, Priors};
use crate::sampler::{Hmc, Init, Nuts, PowerPosteriors, Sampler, StopHandle, progress_log};
use crate::targets::{Posterior, Target};

/// The kind of response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Task {
    Regression,
    Classification,
    Counts,
}

/// How responses scatter around what the network says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Noise {
    /// Of real responses: [normal](Gaussian) with one standard deviation, which is sampled. The
    /// default.
    Gaussian,
    /// Of real responses: normal with a standard deviation that [depends on the
    /// features](HeteroscedasticGaussian). Its logarithm has the same prior as the means: on the
    /// scale of the standardised response the noise is believed to be about 1, more or less by a
    /// factor of 3. Equal rows can make the posterior improper with ReLU, and with
    /// [`WeightPrior::Ard`] in a linear model.
    Heteroscedastic,
    /// Of real responses: [Student's t](StudentTNoise), for outliers; scale and degrees of freedom are
    /// sampled.
    StudentT,
    /// Of counts: [Poisson], whose variance is the mean.
    Poisson,
    /// Of counts: [negative binomial](NegativeBinomial), whose dispersion is sampled. The default.
    NegativeBinomial,
}

/// The prior of a network's weights, on the scale of standardised features and response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WeightPrior {
    /// [`Priors::by_fan_in`]: N(0, 1/H) for the weights that leave the last hidden layer of H units
    /// (of a linear model, H features), N(0, 1) for all others.
    #[default]
    FanIn,
    /// N(0, sd^2) for all weights and biases, but for the bias of a count's output.
    Normal {
        /// The standard deviation, above 0.
        sd: f64,
    },
    /// As [`FanIn`](Self::FanIn), with a variance of their own for the weights of each input
    /// ([`Priors::ard`]): inputs that say nothing are shrunk. Half-Cauchy standard deviations of
    /// scale 1.
    Ard,
}

/// How the posterior is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Method {
    /// [`Nuts`].
    #[default]
    Nuts,
    /// [`PowerPosteriors`] of [`Hmc`]: a ladder of tempered posteriors that exchange states, for
    /// posteriors with separate modes. It takes as many times longer as the ladder has rungs.
    Tempered,
}

/// What a [`Fit`] is asked to do: the table's response, the network, priors, sampler. Made by
/// [`Fit::regression`], [`Fit::classification`] and [`Fit::counts`]; every method changes one setting.
///
/// | setting | default |
/// | --- | --- |
/// | [`hidden`](Self::hidden) | one layer of 40 units |
/// | [`activation`](Self::activation) | tanh |
/// | [`weights`](Self::weights) | [`WeightPrior::FanIn`] |
/// | [`noise`](Self::noise) | [`Noise::Gaussian`], of counts [`Noise::NegativeBinomial`] |
/// | [`method`](Self::method) | [`Method::Nuts`] |
/// | [`chains`](Self::chains), [`warmup`](Self::warmup), [`draws`](Self::draws) | 4, 1,000 and 1,000 |
/// | [`seed`](Self::seed) | 0 |
/// | [`validation`](Self::validation) | no rows |
///
/// Features, and a real response, are standardised by the training rows. Chains start from small
/// weights, N(0, 0.1^2), and of counts from the log of the mean count. Priors of what the likelihood
/// adds, on the scale of the standardised response: squared scales of noise have inverse gamma
/// priors of shape 1/2 and scale 1/200, which is tau = 0.1 / |z| with z standard normal; degrees of
/// freedom are e^N(2, 1), dispersions e^N(1, 1.5^2). Of counts, the bias of the output is N(log of
/// the mean count, 1).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[must_use = "a recipe does nothing until `read_csv` or `fit`"]
pub struct Recipe {
    task: Task,
    reader: CsvReader,
    hidden: Vec<usize>,
    activation: Activation,
    weights: WeightPrior,
    noise: Option<Noise>,
    method: Method,
    chains: usize,
    warmup: usize,
    draws: usize,
    seed: u64,
    validation: f64,
    #[serde(skip)]
    folder: Option<PathBuf>,
    #[serde(skip)]
    every: Every,
    #[serde(skip)]
    threads: Option<usize>,
    #[serde(skip)]
    stop: StopHandle,
    #[serde(skip)]
    progress: bool,
}

impl Recipe {
    pub(super) fn new(task: Task, response: Columns) -> Self {
        Self {
            task,
            reader: match task {
                Task::Regression => CsvReader::regression(response),
                Task::Classification => CsvReader::classification(response),
                Task::Counts => CsvReader::counts(response),
            },
            hidden: vec![40],
            activation: Activation::Tanh,
            weights: WeightPrior::FanIn,
            noise: None,
            method: Method::Nuts,
            chains: 4,
            warmup: 1000,
            draws: 1000,
            seed: 0,
            validation: 0.0,
            folder: None,
            every: Every::default(),
            threads: None,
            stop: StopHandle::new(),
            progress: false,
        }
    }

    /// The units of each hidden layer; none for a linear model.
    pub fn hidden(self, units: &[usize]) -> Self {
        Self { hidden: units.to_vec(), ..self }
    }

    /// The activation of the hidden units.
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// The prior of the weights.
    pub fn weights(self, weights: WeightPrior) -> Self {
        Self { weights, ..self }
    }

    /// How responses scatter around what the network says; classes have no such choice.
    pub fn noise(self, noise: Noise) -> Self {
        Self { noise: Some(noise), ..self }
    }

    /// How the posterior is sampled.
    pub fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// The number of chains, at least 1.
    pub fn chains(self, chains: usize) -> Self {
        Self { chains, ..self }
    }

    /// Iterations of warm-up of each chain.
    pub fn warmup(self, warmup: usize) -> Self {
        Self { warmup, ..self }
    }

    /// Draws of each chain.
    pub fn draws(self, draws: usize) -> Self {
        Self { draws, ..self }
    }

    /// The seed of all random numbers.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The share of rows, from 0 to below 1, that the model does not learn from: [`Fit::validation`]
    /// has them. The rows are chosen at random by the seed; classes keep their shares.
    pub fn validation(self, share: f64) -> Self {
        Self { validation: share, ..self }
    }

    /// Changes how CSV files are read, such as `.reader(|r| r.drop_missing_rows().ignore(["id"]))`.
    pub fn reader(self, change: impl FnOnce(CsvReader) -> CsvReader) -> Self {
        Self { reader: change(self.reader), ..self }
    }

    /// Runs in a folder, which is made if need be, and saves the fit there, as [`Fit::save`] does.
    ///
    /// While it runs, a [checkpoint](crate::draws::checkpoint) is written every 30 seconds. If the
    /// process is killed, the same call goes on where it was and comes to the same numbers; once it
    /// is finished, the same call loads the fit. A second process is refused while the first one
    /// runs. If the end cannot be written, as on a full disk, [`Fit::save_error`] says so. A folder
    /// that holds another fit, or one of other rows, is an error that names what differs.
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// When a run [in a folder](Self::in_folder) writes its checkpoints.
    pub fn checkpoint_every(self, every: Every) -> Self {
        Self { every, ..self }
    }

    /// The number of threads; no number depends on it. Without this call all threads of rayon's pool.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// A handle that ends the run early; the fit then has the draws that were made. A run
    /// [in a folder](Self::in_folder) goes on with the next call.
    pub fn stop_handle(self, stop: &StopHandle) -> Self {
        Self { stop: stop.clone(), ..self }
    }

    /// Reports how far the run is to the standard error, by [`progress_log`].
    pub fn progress(self) -> Self {
        Self { progress: true, ..self }
    }

    /// A line to the standard error, if progress is reported.
    pub(super) fn report(&self, line: &str) {
        if self.progress {
            // A log that cannot be written is no reason to fail.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    /// Fits the rows of a CSV file.
    ///
    /// # Errors
    /// A file that cannot be read as the recipe says; else as [`fit`](Self::fit).
    pub fn read_csv(&self, path: impl AsRef<Path>) -> Result<Fit, Error> {
        let CsvData { dataset, schema, dropped } = self.reader.read_path(path)?;
        self.run(&dataset, Some(schema), dropped)
    }

    /// Fits the rows of a data set. The name of the response that the recipe was made with is not used.
    ///
    /// # Errors
    /// A response of another kind; a constant column; a setting out of range; what
    /// [`Posterior::new`] and [`Sampler::run`] say; a folder that cannot be written, or holds
    /// another fit.
    pub fn fit(&self, data: &Dataset) -> Result<Fit, Error> {
        self.run(data, None, Vec::new())
    }

    fn run(
        &self,
        data: &Dataset,
        schema: Option<Schema>,
        dropped: Vec<usize>,
    ) -> Result<Fit, Error> {
        let parts = Parts::new(self.clone(), data, schema, dropped)?;
        match &self.folder {
            None => {
                let draws = self.sample(&parts, None)?;
                Ok(Fit { parts, draws, save_error: None })
            }
            Some(folder) => folder::run(folder, parts),
        }
    }

    /// Training and validation rows.
    pub(super) fn split(&self, data: &Dataset) -> Result<(Dataset, Option<Dataset>), Error> {
        if self.validation == 0.0 {
            return Ok((data.clone(), None));
        }
        if !(self.validation > 0.0 && self.validation < 1.0) {
            return Err(Error::argument("validation", self.validation, "from 0 to below 1"));
        }
        let split = match self.task {
            Task::Regression | Task::Counts => data.train_test_split(self.validation, self.seed)?,
            Task::Classification => data.stratified_split(self.validation, self.seed)?,
        };
        Ok((split.0, Some(split.1)))
    }

    /// The likelihood, and the number of the network's outputs that it needs.
    fn likelihood(&self, train: &Dataset) -> Result<(AnyLikelihood, usize), Error> {
        let (response, width) = (train.response(), train.response().width());
        let default = match self.task {
            Task::Classification => {
                if self.noise.is_some() {
                    let allowed = "chosen for real responses and counts: classes have no noise";
                    return Err(Error::argument("noise", "chosen for classes", allowed));
                }
                return Ok(match response.class_names().map(<[String]>::len) {
                    Some(k) if k > 2 => (AnyLikelihood::Categorical(Categorical), k),
                    // If the response is of another kind, the likelihood says what it expects.
                    _ => (AnyLikelihood::Bernoulli(Bernoulli), 1),
                });
            }
            Task::Regression => Noise::Gaussian,
            Task::Counts => Noise::NegativeBinomial,
        };
        Ok(match self.noise.unwrap_or(default) {
            Noise::Gaussian => (AnyLikelihood::Gaussian(Gaussian::sampled()), width),
            Noise::Heteroscedastic => {
                (AnyLikelihood::HeteroscedasticGaussian(HeteroscedasticGaussian), 2 * width)
            }
            Noise::StudentT => (AnyLikelihood::StudentTNoise(StudentTNoise::sampled()), width),
            Noise::Poisson => (AnyLikelihood::Poisson(Poisson), 1),
            Noise::NegativeBinomial => {
                (AnyLikelihood::NegativeBinomial(NegativeBinomial::sampled()), 1)
            }
        })
    }

    /// The posterior of scaled training rows.
    pub(super) fn posterior(
        &self,
        train: &Dataset,
    ) -> Result<Posterior<Mlp, AnyLikelihood>, Error> {
        let (likelihood, outputs) = self.likelihood(train)?;
        let mut sizes = vec![train.n_features()];
        sizes.extend(&self.hidden);
        sizes.push(outputs);
        let network = Mlp::new(&sizes, self.activation)?;
        let mut priors = match self.weights {
            WeightPrior::FanIn => Priors::by_fan_in(&network),
            WeightPrior::Normal { sd } => Priors::all(Normal::new(0.0, sd)?),
            WeightPrior::Ard => {
                Priors::by_fan_in(&network).ard("w0", "log_relevance", LogHalfCauchy::new(1.0)?)
            }
        };
        let squared_scale = LogInverseGamma::new(0.5, 0.005)?;
        priors = match &likelihood {
            AnyLikelihood::Gaussian(_) => priors.with("log_noise_variance", squared_scale),
            AnyLikelihood::StudentTNoise(_) => priors
                .with("log_squared_scale", squared_scale)
                .with("log_degrees_of_freedom", Normal::new(2.0, 1.0)?),
            AnyLikelihood::NegativeBinomial(_) => {
                priors.with("log_dispersion", Normal::new(1.0, 1.5)?)
            }
            _ => priors,
        };
        if let Some(mean) = log_mean_count(train) {
            priors = priors.with(&self.output_bias(), Normal::new(mean, 1.0)?);
        }
        Posterior::new(network, likelihood, train, priors)
    }

    /// The name of the block of the output's bias.
    fn output_bias(&self) -> String {
        format!("b{}", self.hidden.len())
    }

    /// An error unless `draws` can be of a run of this recipe.
    pub(super) fn check_draws(&self, draws: &Draws) -> Result<(), Error> {
        let info = draws.info();
        let n = if info.stopped_early { draws.n_draws() } else { self.draws };
        for (name, found, expected) in [
            ("seed", info.seed, self.seed),
            ("warmup", info.warmup as u64, self.warmup as u64),
            ("chains", draws.n_chains() as u64, self.chains as u64),
            ("draws", draws.n_draws() as u64, n as u64),
        ] {
            if found != expected {
                return Err(Error::argument(name, found, expected.to_string()));
            }
        }
        match info.target {
            Some(_) => Ok(()),
            None => Err(Error::argument("target of the draws", "unknown", "that of a run")),
        }
    }

    /// Runs the sampler; with a checkpoint, goes on from it.
    pub(super) fn sample(&self, parts: &Parts, checkpoint: Option<&Path>) -> Result<Draws, Error> {
        match self.method {
            Method::Nuts => self.sample_by(parts, Nuts::default(), checkpoint),
            Method::Tempered => {
                self.sample_by(parts, PowerPosteriors::new(Hmc::default()), checkpoint)
            }
        }
    }

    fn sample_by<'t, A>(
        &self,
        parts: &'t Parts,
        algorithm: A,
        checkpoint: Option<&Path>,
    ) -> Result<Draws, Error>
    where
        A: crate::sampler::Algorithm<&'t Posterior<Mlp, AnyLikelihood>> + Serialize,
    {
        let posterior = &parts.posterior;
        let mut centre = vec![0.0; posterior.dim()];
        if let (Some(mean), Some(bias)) =
            (log_mean_count(&parts.train), posterior.layout().range(&self.output_bias()))
        {
            centre[bias].fill(mean);
        }
        let start = Init::Around { centre, sd: 0.1 };
        let sampler = Sampler::new(posterior, algorithm).chains(self.chains).seed(self.seed);
        let mut sampler = sampler.warmup(self.warmup).draws(self.draws).init(start);
        sampler = sampler.stop_handle(&self.stop);
        if let Some(threads) = self.threads {
            sampler = sampler.threads(threads);
        }
        if let Some(path) = checkpoint {
            sampler = sampler.checkpoint(path, self.every);
        }
        if self.progress {
            sampler = sampler.on_progress(progress_log(std::io::stderr()));
        }
        sampler.run()
    }
}

/// The log of the mean count, half a count more for a mean of 0; `None` if the response is no count.
fn log_mean_count(train: &Dataset) -> Option<f64> {
    let counts = train.response().counts()?;
    Some(crate::portable::ln((counts.sum() + 0.5) / counts.nrows() as f64))
}

//! The recipe of a fit: its settings.

use std::borrow::{Borrow, Cow};
use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ndarray::{ArrayView1, ArrayView2, Axis};
use rand::RngCore;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::choices::{Candidate, Method, Noise, WeightPrior};
use super::ensemble::{Held, Member};
use super::folder::{CHECKPOINT, LOCK, check_entries};
use super::forecast::{LEAST, SEARCH};
use super::saved::{DATA, FIT, Read, problem, read};
use super::search::{STREAM, Search};
use super::told::{Listener, Told};
use super::{AnyLikelihood, Fit, Network, Origin, Parts, check_features, folder, imputed, run};
use crate::Error;
use crate::choice::by_name;
use crate::data::Single::{InTest, InTraining};
use crate::data::{
    Columns, CsvData, CsvReader, Dataset, Response, Schema, Split, Task, Transform, TypedTable,
    indicator, new_group,
};
use crate::draws::checkpoint::Every;
use crate::draws::{Approximation, Draws, RunInfo};
use crate::error::Row;
use crate::layout::Layout;
use crate::likelihood::{
    Bernoulli, Beta, Categorical, Censored, Gaussian, HeteroscedasticGaussian, Hurdle, Likelihood,
    NOT_AT_ENDS, NOT_AT_ZERO, NegativeBinomial, Ordinal, Poisson, SHARES, StudentTNoise, TIMES,
    TimeFamily, ZeroInflated, is_share,
};
use crate::memory::limit;
use crate::message::{Advice, Setting, count, listed, number};
use crate::model::{Activation, LogSd, Mlp, Model, NonCentred, Offset, Skip};
use crate::optimise::{Adam, Optimiser};
use crate::portable::{ln, ln_1p};
use crate::posterior::Posterior;
use crate::prior::{LogHalfCauchy, LogHalfT, LogInverseGamma, Normal, Priors};
use crate::rng::ChainRng;
use crate::run::{check_layout, check_only};
use crate::sampler::{
    Collapsed, Hmc, Init, Mams, Minibatch, Nuts, PowerPosteriors, Sampler, StopHandle,
    progress_report,
};
use crate::targets::Target;

/// Shape and scale of the inverse gamma prior of squared scales of noise.
pub(super) const SQUARED_SCALE: (f64, f64) = (0.5, 0.005);
/// Mean and standard deviation of the log of degrees of freedom.
pub(super) const DEGREES: (f64, f64) = (2.0, 1.0);
/// Standard deviation of the slopes of log standard deviations of noise in the features, and mean and standard
/// deviation of their biases.
pub(super) const LOG_SD_SLOPES: f64 = 0.5;
pub(super) const LOG_SD_BIAS: (f64, f64) = (-1.5, 1.5);
/// Mean and standard deviation of the log of a dispersion.
pub(super) const DISPERSION: (f64, f64) = (1.0, 1.5);
/// Mean and standard deviation of the logits of the shares of extra zeros and of all zeros.
pub(super) const EXTRA_ZEROS: (f64, f64) = (0.0, 1.5);
/// Mean and standard deviation of the log of a precision of shares.
pub(super) const PRECISION: (f64, f64) = (2.5, 1.5);
/// Degrees of freedom of the half-t prior of the standard deviation of intercepts of groups.
pub(super) const GROUPS: f64 = 3.0;
/// Mean and standard deviation of the log of the scale of times.
pub(super) const TIME_SCALE: (f64, f64) = (-0.5, 1.0);
/// Standard deviations of the first cutpoint between classes in order, and of the logs of the increments of the
/// others. Their means give classes of about one size.
pub(super) const CUTPOINTS: (f64, f64) = (1.5, 1.0);
/// Degrees of freedom of the half-t priors of [`WeightPrior::Scales`].
pub(super) const SCALES: f64 = 30.0;
/// The blocks of the log variances of [`WeightPrior::Scales`]: of the columns of the table, and of the outputs.
pub(super) const RELEVANCE: &str = "log_relevance";
const OUTPUTS: &str = "log_output_variance";
/// The blocks of the log variances of the linear part, and of the log scale of [`WeightPrior::Horseshoe`].
const OF_SKIP: &str = "log_skip_variance";
const HORSESHOE: &str = "log_scale";
/// The iterations that warm up the sampler of a member of an ensemble.
const MEMBER_WARMUP: usize = 100;
/// The mean length of a member's trajectories, in square roots of the number of parameters, where the
/// output layer is not integrated out: too short a warm-up finds lengths that are too short.
pub(super) const MEMBER_PATH: f64 = 7.0;
/// The most units of the last hidden layer whose weights are integrated out unless they are asked for.
const MOST_UNITS: usize = 500;
/// The most numbers that such draws may have: 1 GB, for which room is made before the run.
const MOST_NUMBERS: usize = 1 << 27;
/// The rows of a fit that were drawn at random from a table which has more: see [`Recipe::most_rows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawnRows {
    /// The number of rows that were drawn.
    pub rows: usize,
    /// The number of rows of the table.
    pub of: usize,
    /// Where the rows were drawn after a search or an imputation, the number of those that both have left for validation: the
    /// last ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) validation: Option<usize>,
}

impl fmt::Display for DrawnRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}, drawn at random", self.rows, count(self.of, "row"))
    }
}

fn at_least_two(rows: usize) -> Result<usize, Error> {
    let error = || Error::argument("most_rows", rows, "at least 2").of(Setting::MostRows);
    (rows >= 2).then_some(rows).ok_or_else(error)
}

/// The most steps of a trajectory of [`Method::Mams`] in networks of two hidden layers or more, or on many rows.
const SHORT: u32 = 256;
/// The rows from which on chains of networks begin at the ends of ascents, the steps of an ascent and the rows of a step.
pub(super) const MANY_ROWS: usize = 10_000;
pub(super) const ASCENT: usize = 5000;
pub(super) const ROWS_OF_STEP: usize = 256;
/// How many times as many draws may be wanted by chains that have nearly converged.
const NEARLY: f64 = 4.0;
/// The standard deviation of the weights that chains start from.
pub(super) const START: f64 = 0.1;

/// The posterior of a fit.
pub(super) type FitPosterior = Posterior<Network, AnyLikelihood>;

/// The numbers of chains, of iterations of warm-up and of draws of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub chains: usize,
    pub warmup: usize,
    pub draws: usize,
}

/// The columns of x.
pub(super) struct ColumnsOf {
    /// The number of features that are learnt from, which come first.
    pub features: usize,
    /// The groupings: the column of the table, and the names of its groups.
    pub groupings: Vec<(String, Vec<String>)>,
}

/// The settings of a [`Fit`]: the table's response, the model, the sampler. Made by
/// [`Fit::regression`], [`Fit::classification`], [`Fit::counts`] and [`Fit::survival`]; every method changes one
/// setting.
///
/// **The data choose the model** where none of [`model`](Self::model), [`hidden`](Self::hidden), [`skip`](Self::skip),
/// [`weights`](Self::weights) and [`method`](Self::method) is given: [`Search`](super::Search) compares
/// [candidates](Candidate) by cross-validation, within a noise and transforms that are given. Where one of them is given,
/// the others have the defaults of the table.
///
/// | setting | default where the model is given |
/// | --- | --- |
/// | [`hidden`](Self::hidden) | one layer of 100 units for a real response, else (and of shares, [`Noise::Beta`]) of 40 |
/// | [`activation`](Self::activation) | tanh |
/// | [`skip`](Self::skip) | no |
/// | [`group`](Self::group) | none |
/// | [`row_weights`](Self::row_weights) | none: every row counts once |
/// | [`weights`](Self::weights) | [`WeightPrior::FanIn`] |
/// | [`noise`](Self::noise) | [`Noise::Gaussian`], of counts [`Noise::NegativeBinomial`], of times [`Noise::LogNormal`]; classes are in no order |
/// | [`transform`](Self::transform) | [`Transform::None`] |
/// | [`power_features`](Self::power_features) | no |
/// | [`method`](Self::method) | [`Method::Collapsed`] for one real response, and for several with [`Noise::Gaussian`] where rows have no weights, with 1 to 500 units in the last hidden layer; else [`Method::Nuts`] |
/// | [`target_accept`](Self::target_accept) | the sampler's: 0.8 or 0.9 |
/// | [`chains`](Self::chains), [`warmup`](Self::warmup), [`draws`](Self::draws) | 4, 1,000 and 1,000; of [`Method::Ensemble`] 8, 4,100 and 60; where the data choose the model, [by the time](Self::within) |
/// | [`within`](Self::within) | 10 minutes where the data choose the model, else no limit |
/// | [`seed`](Self::seed) | 0 |
/// | [`validation`](Self::validation) | no rows |
///
/// Features, and a real response other than shares, are standardised by the training rows. Chains start from
/// small weights, N(0, 0.1^2), and the output's bias of counts, shares and classes in order from the mean of
/// its prior. In tables of 10,000 rows or more chains of networks start where 5,000 steps of Adam on 256 rows each lead from
/// there (scales that are sampled stay; an [ensemble](Method::Ensemble) has its own ascent), and trajectories of
/// [`Method::Mams`] have at most 256 steps. Measured on 100,000 simulated rows of 10 features (Friedman's first function, a network that
/// the data chose, two cores): the starts take half a second, and the fit 7 minutes, after which the chains' means differ by 0.04 predictive standard
/// deviations; without both, half of the 150 iterations of warm-up had taken 2.5 minutes, most of them for the latest ten.
///
/// Priors of the likelihood's own parameters, on the scale of the standardised response:
///
/// | parameter | prior |
/// | --- | --- |
/// | squared scale of noise | inverse gamma of shape 1/2 and scale 1/200: tau = 0.1 / \|z\| with z standard normal |
/// | degrees of freedom | e^N(2, 1) |
/// | log standard deviation that is linear in the features | slopes N(0, 0.5^2), bias N(-1.5, 1.5^2) |
/// | dispersion | e^N(1, 1.5^2) |
/// | share of extra zeros, or of all zeros | its logit is N(0, 1.5^2): nearly uniform |
/// | precision of shares | e^N(2.5, 1.5^2): a standard deviation of 0.03 to 0.4 around a mean of 1/2 |
/// | standard deviation of the intercepts of [groups](Self::group) | half-t with 3 degrees of freedom of scale 1, of logits 2 |
/// | scale of times | e^N(-0.5, 1), in units of the spread below |
/// | increments of the K - 1 cutpoints of classes in order | e^N(log(2 log(K - 1) / (K - 2)), 1) |
/// | the output's bias | of counts N(log of the mean count, 1), of shares N(logit of the mean share, 1), of K classes in order N(log(K - 1), 1.5^2) |
///
/// Of times, the output is in units of a spread around a centre: mean and standard deviation of a normal distribution of
/// the log times of the training rows, by maximum likelihood given their bounds, so that times that are longer than they
/// were followed are not taken for short ones. Log densities and predictions are in the unit of the times.
///
/// Of classes in order, the first cutpoint is 0, and minus the output's bias takes its place ([`Ordinal`]):
/// at the mean of its prior the first class has the probability 1/K where all else is 0.
///
/// With these priors the posteriors are calibrated: of 150 simulated tables for each of 12 models (normal, Student-t, shares,
/// classes with and without order, counts of five kinds, times of two), ranks of log likelihood, log prior, means and
/// parameters of the likelihood were uniform (74 chi-squared numbers with 9 degrees of freedom: mean 9.9, largest 20.7;
/// `tests/run/fit_calibrated.rs`). Printed, a recipe
/// shows all of its settings, including the sampler's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[must_use = "a recipe does nothing until `read_csv` or `fit`"]
pub struct Recipe {
    #[serde(with = "by_name")]
    pub(super) task: Task,
    pub(super) reader: CsvReader,
    #[serde(skip)]
    pub(super) model: Option<Candidate>,
    pub(super) hidden: Option<Vec<usize>>,
    pub(super) activation: Activation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) skip: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) weights: Option<WeightPrior>,
    pub(super) noise: Option<Noise>,
    #[serde(default, skip_serializing_if = "Transform::is_none")]
    pub(super) transform: Transform,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) power_features: Option<bool>,
    pub(super) method: Option<Method>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) target_accept: Option<f64>,
    pub(super) chains: Option<usize>,
    pub(super) warmup: Option<usize>,
    pub(super) draws: Option<usize>,
    /// The most draws, where their number is left to the [verdict](super::Fit::verdict): after `draws` of each chain, after
    /// twice as many, and so on, the run ends if it has converged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) most_draws: Option<usize>,
    pub(super) seed: u64,
    pub(super) validation: f64,
    /// The number of rows from which scalings and the like are learnt, the first ones of the table; the others came by an
    /// [update](super::Fit::update).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) learnt_from: Option<usize>,
    /// The rows that were drawn from a table which has more, if the fit is of some.
    #[serde(rename = "most_rows", default, skip_serializing_if = "Option::is_none")]
    pub(super) drawn: Option<DrawnRows>,
    /// The number of the completed table, where [values are imputed](super::Imputed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) imputed: Option<imputed::Table>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) search: Option<Search>,
    /// The rows in the place of `validation`'s rows.
    #[serde(skip)]
    pub(super) rows: Option<Split>,
    #[serde(skip)]
    pub(super) folder: Option<PathBuf>,
    #[serde(skip)]
    pub(super) only_chains: Option<Range<usize>>,
    #[serde(skip)]
    pub(super) within: Option<Duration>,
    #[serde(skip)]
    pub(super) most_rows: Option<usize>,
    /// The end of that time, where the number of draws depends on it.
    #[serde(skip)]
    pub(super) deadline: Option<Instant>,
    #[serde(skip)]
    every: Every,
    #[serde(skip)]
    pub(super) threads: Option<usize>,
    #[serde(skip)]
    pub(super) stop: StopHandle,
    #[serde(skip)]
    pub(super) listener: Listener,
    /// Whether the rows have weights.
    #[serde(skip)]
    is_weighted: bool,
    /// Whether there are so many groups that their intercepts are not integrated out.
    #[serde(skip)]
    has_many_groups: bool,
    /// Whether there are so many rows that chains of networks begin where ascents end, and take fewer steps.
    #[serde(skip)]
    pub(super) has_many_rows: bool,
}

impl Recipe {
    pub(super) fn new(task: Task, response: Columns) -> Self {
        Self {
            task,
            reader: CsvReader::of(task, response),
            model: None,
            hidden: None,
            activation: Activation::Tanh,
            skip: None,
            weights: None,
            noise: None,
            transform: Transform::None,
            power_features: None,
            method: None,
            target_accept: None,
            chains: None,
            warmup: None,
            draws: None,
            most_draws: None,
            seed: 0,
            validation: 0.0,
            learnt_from: None,
            drawn: None,
            imputed: None,
            search: None,
            rows: None,
            folder: None,
            only_chains: None,
            most_rows: None,
            within: None,
            deadline: None,
            every: Every::default(),
            threads: None,
            stop: StopHandle::new(),
            listener: Listener::None,
            is_weighted: false,
            has_many_groups: false,
            has_many_rows: false,
        }
    }

    /// The model by name, where the data are not to choose one. Settings of its parts that are given, such as
    /// [`hidden`](Self::hidden), come before it.
    ///
    /// ```
    /// use bnn_mcmc::fit::{Candidate, Fit};
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = bnn_mcmc::data::Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin()))?;
    /// let recipe = Fit::regression("y").model(Candidate::LinearTransformed);
    /// let fit = recipe.chains(2).warmup(200).draws(200).fit(&data)?;
    /// assert!(fit.recipe().to_string().contains("Student's t"));
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn model(self, model: Candidate) -> Self {
        Self { model: Some(model), ..self }
    }

    /// The time that a fit may take, the [search](super::Search) of a model included, as far as it can be foreseen: what
    /// gives way are iterations of warm-up and draws that were not asked for. The forecast for chains on all rows is 1.3 times
    /// the pace of the chosen model's chains on the folds (the median of 36 runs). Of 1,000, 500, 300, 200 and 150 iterations
    /// of warm-up the first is taken with which warm-up and as many draws, of 150 only 100, take two thirds of the time that is
    /// left or less, or the last. Then **chains run until they have converged**: if the [verdict](super::Fit::verdict) is another one they make twice as many
    /// draws, and again, at most 16 times as many, as long as the forecast of all stays within two thirds of the time. They double them once more
    /// if four times as many seem to be enough by R-hat - 1, which shrinks with the number of draws, and by effective draws, which grow with it. The draws of all
    /// chains have at most 2^27 numbers (1 GB, and at most a quarter of the [memory](crate::memory::limit)), and so has one number of each draw for each training row. **The run ends when nine tenths
    /// of the time are over**, with the draws that there are, at least 100 of each chain; warm-up is not cut short, and draws that were asked for are all made. It also ends early where R-hat and
    /// effective draws are good and the verdict is bad for another reason.
    ///
    /// All this is written down with the fit, and those settings make the same draws on any machine; a run that goes on in
    /// its folder does not look at the clock again. A candidate that has not predicted all rows after two fifths of the time
    /// is out. Without this call 10 minutes where a model is chosen and warm-up or draws are not given. Where the model was
    /// given, nothing depends on the time. Completed tables of an [imputation](super::Imputed) share it.
    pub fn within(self, time: Duration) -> Self {
        Self { within: Some(time), ..self }
    }

    /// The most rows that the model is fitted to, at least 2. Of a table that has more they are drawn at random, by the
    /// [seed](Self::seed), and the fit is as for a table of these rows alone, as [`Fit::drawn_rows`](super::Fit::drawn_rows)
    /// says: all its uncertainty is what so many rows leave, larger than after all of them, for parameters by about the root of
    /// their ratio. Rows for [validation](Self::validation) are among them. Of a CSV file that is longer than the
    /// [limit](CsvReader::limit) they are drawn [as it is read](CsvReader::sample), so that a file of any size can be fitted.
    ///
    /// Without this call all rows are fitted to, except where the data choose the model and the shortest run on all rows would take
    /// longer than the [time](Self::within): then so many are drawn as there is time for, 10,000 or more. `usize::MAX` asks for all in any case.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((500, 1), |(i, _)| i as f64 / 100.0);
    /// # let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin()))?;
    /// let recipe = Fit::regression("y").hidden(&[4]).chains(2).warmup(50).draws(20);
    /// let fit = recipe.most_rows(200).fit(&data)?;
    /// assert_eq!(fit.drawn_rows().map(|drawn| (drawn.rows, drawn.of)), Some((200, 500)));
    /// assert_eq!(fit.training().rows(), 200);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn most_rows(self, rows: usize) -> Self {
        Self { most_rows: Some(rows), ..self }
    }

    /// The units of each hidden layer; none for a linear model.
    pub fn hidden(self, units: &[usize]) -> Self {
        Self { hidden: Some(units.to_vec()), ..self }
    }

    /// The activation of the hidden units.
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// Whether a linear part stands beside the hidden layers: [skip-layer connections](Skip) from
    /// the features to the outputs. A linear model has nothing else.
    pub fn skip(self, skip: bool) -> Self {
        Self { skip: Some(skip), ..self }
    }

    /// The prior of the weights.
    pub fn weights(self, weights: WeightPrior) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// The distribution of responses around the predictions of the network; of classes,
    /// [`Noise::Ordinal`] alone, which says that they are in order.
    ///
    /// ```
    /// use bnn_mcmc::fit::{Fit, Noise};
    /// use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let grade = (0..40).map(|i| (i / 14) as usize).collect();
    /// let data = Dataset::classification(x, grade, ["poor", "fair", "good"])?;
    /// let recipe = Fit::classification("grade").noise(Noise::Ordinal).hidden(&[2]);
    /// let fit = recipe.chains(2).warmup(100).draws(100).fit(&data)?;
    /// assert_eq!(fit.predict(&data)?.mean().dim(), (2, 100, 40, 3)); // probabilities of 3 classes
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn noise(self, noise: Noise) -> Self {
        Self { noise: Some(noise), ..self }
    }

    /// The transform of a real response, before it is standardised ([`Transform::None`] leaves it open, where the data
    /// choose the model): see
    /// [`PowerTransform`](crate::data::PowerTransform) for its equations, and how its parameter is learnt from the
    /// training rows. Everything that is said of the response stays in its own units: predictions,
    /// scores, and log densities, so that fits with and without a transform [compare](crate::predict::Loo::compare).
    /// Predictions are [means](crate::predict::Predictions::unscaled) with normal noise, and medians with
    /// [`Noise::StudentT`].
    ///
    /// ```
    /// use bnn_mcmc::data::Transform;
    /// use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = Dataset::regression(x.clone(), x.mapv(|x| (x + 0.3 * (9.0 * x).sin()).exp()))?;
    /// let recipe = Fit::regression("price").hidden(&[4]).chains(2).warmup(100).draws(100);
    /// let plain = recipe.clone().fit(&data)?;
    /// let log = recipe.transform(Transform::Log).fit(&data)?;
    /// let comparison = Loo::compare(&[("plain", &plain.loo()?), ("log", &log.loo()?)])?;
    /// assert_eq!(comparison.models[0].name, "log");
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn transform(self, transform: Transform) -> Self {
        Self { transform, ..self }
    }

    /// Whether each feature is transformed by [Yeo and Johnson's power](crate::data::PowerTransform) before it is
    /// standardised, so that its distribution is closer to a normal one: a few large values of a skewed feature then do not
    /// decide what the model says of all others, and the model goes on slowly beyond them. Features of two values stay as they are.
    /// The parameters are learnt from the training rows; effects, ranges and predictions are by the features in their own units.
    ///
    /// Measured where the data choose the model, beside candidates without it (13 real tables, two splits each): 0.002 nats of
    /// log density a row more on average, from -0.019 (Auto) to 0.024 (Ornstein). Of networks on larger tables, two splits
    /// (`--model network --warmup 200 --draws 150 --chains 2`): 0.007 and 0.013 (email), 0.005 and 0.002 (credit), -0.001 and
    /// 0.001 (visits to a doctor).
    pub fn power_features(self, power: bool) -> Self {
        Self { power_features: Some(power), ..self }
    }

    /// The transform of the features.
    pub(super) fn transform_of_features(&self) -> Transform {
        match self.power_features {
            Some(true) => Transform::YeoJohnson,
            None | Some(false) => Transform::None,
        }
    }

    /// The method that samples the posterior.
    pub fn method(self, method: Method) -> Self {
        Self { method: Some(method), ..self }
    }

    /// The mean acceptance probability that warm-up adapts the step size to, above 0 and below 1.
    /// The default is the sampler's: 0.8 for NUTS and for the rungs of [`Method::Tempered`], 0.9
    /// for [`Method::Mams`], [`Method::Collapsed`] and [`Method::Ensemble`]. A larger value makes smaller steps, which help against a few
    /// divergent transitions.
    pub fn target_accept(self, probability: f64) -> Self {
        Self { target_accept: Some(probability), ..self }
    }

    /// The number of chains, at least 1: of an ensemble the number of members, at least 2.
    pub fn chains(self, chains: usize) -> Self {
        Self { chains: Some(chains), ..self }
    }

    /// Iterations of warm-up of each chain: of an ensemble the steps of the ascent and, for the last
    /// 100 of them (at most half), the warm-up of the sampler.
    pub fn warmup(self, warmup: usize) -> Self {
        Self { warmup: Some(warmup), ..self }
    }

    /// Draws of each chain, or member.
    pub fn draws(self, draws: usize) -> Self {
        Self { draws: Some(draws), ..self }
    }

    /// The seed of all random numbers, including the noise in predictions: fits with the same seed
    /// share them (see [`Posterior::predict_seeded`]).
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The share of rows, from 0 to below 1, that the model does not learn from: [`Fit::validation`]
    /// has them. The rows are chosen at random by the seed; classes keep their shares.
    pub fn validation(self, share: f64) -> Self {
        Self { validation: share, ..self }
    }

    /// The column of the exposure of the counts, such as the years in which each was counted: the
    /// network's output is the log of the rate for an exposure of 1, and the expected count is the
    /// rate times the exposure; of a [hurdle](Noise::HurdlePoisson) the share of zeros does not depend on
    /// it. It is no feature: [`Fit::predict_new`] and [`fit`](Self::fit) take its logarithm, `log
    /// column`, as the last column.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("claims.csv");
    /// # let mut text = String::from("age,years,claims\n");
    /// # for i in 0..60 { text += &format!("{},{},{}\n", i % 9, [0.1, 0.5, 1.0][i % 3], (i % 7) / 5); }
    /// # std::fs::write(&path, text).unwrap();
    /// let recipe = Fit::counts("claims").exposure("years").hidden(&[3]);
    /// let fit = recipe.chains(2).warmup(100).draws(100).read_csv(&path)?;
    /// let years = |years: f64| ndarray::array![[4.0, years.ln()]];
    /// let mean = |x| fit.predict_new(x).unwrap().predictions.posterior_mean().unwrap()[[0, 0]];
    /// let (one, ten) = (mean(years(1.0).view()), mean(years(10.0).view()));
    /// assert!((ten / one - 10.0).abs() < 1e-9);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn exposure(self, column: impl Into<String>) -> Self {
        self.reader(|reader| reader.exposure(column))
    }

    /// The column of the weights of rows: a row of weight w stands for w rows that are equal to it, and counts w times
    /// wherever rows are added up: in the log likelihood, in means and standard deviations of columns, in medians that
    /// stand in for missing values, in the centres of priors, in scores and in leave-one-out. Weights are finite numbers
    /// from 0 on, used as they are: twice the weights are twice the data. The column is no feature, and a table of new
    /// rows may lack it. Shares and folds of rows are still of rows. With [`fit`](Self::fit) the data set
    /// [has the weights](Dataset::with_weights), with or without this call.
    ///
    /// Weights that make up for how rows were sampled are not numbers of rows: posteriors are then too narrow or too
    /// wide, unless their sum is the number of rows, and only roughly right even so.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("claims.csv");
    /// # let mut text = String::from("age,policies,claims\n");
    /// # for i in 0..60 { text += &format!("{},{},{}\n", i % 9, i % 4, (i % 7) / 5); }
    /// # std::fs::write(&path, text).unwrap();
    /// let recipe = Fit::counts("claims").row_weights("policies").hidden(&[3]);
    /// let fit = recipe.chains(2).warmup(100).draws(100).read_csv(&path)?;
    /// assert_eq!(fit.training().total_weight(), 90.0); // 60 rows stand for 90
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn row_weights(self, column: impl Into<String>) -> Self {
        self.reader(|reader| reader.row_weights(column))
    }

    /// A column of the group that a row belongs to, such as a school or a patient. The outputs have an
    /// intercept for each group, u_g ~ N(0, tau^2) with tau sampled
    /// ([`Skip::intercepts`](crate::model::Skip::intercepts)), so that groups of few rows learn from the
    /// others; another call is another grouping. It is no feature. A group that training did not
    /// have, or a new row without a group, has the intercept of a new group, N(0, tau^2): intervals are wider,
    /// and [`Predicted::stand_ins`](super::Predicted::stand_ins) says so. New groups of one table share one draw
    /// of it. Where log standard deviations of the noise are linear in the features, they have a slope for each
    /// group, too. With [`fit`](Self::fit) and [`Fit::predict_new`] the last columns are the indicators
    /// `column=group`, .., `column is new`, as [`CsvReader::group`] makes them.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("schools.csv");
    /// # let mut text = String::from("school,size,score\n");
    /// # for i in 0..60 { text += &format!("{},{},{}\n", ["A", "B", "C", "D"][i % 4], i % 9, (i % 4) as f64 + 0.1 * (i % 7) as f64); }
    /// # std::fs::write(&path, text).unwrap();
    /// let recipe = Fit::regression("score").group("school").hidden(&[3]);
    /// let fit = recipe.chains(2).warmup(200).draws(200).read_csv(&path)?;
    /// # let new = folder.path().join("new.csv");
    /// std::fs::write(&new, "school,size\nA,4\nE,4\n").unwrap();
    /// let interval = fit.predict_csv(&new)?.predictions.mean_interval(0.9)?;
    /// let width = |row: usize| interval.upper[[row, 0]] - interval.lower[[row, 0]];
    /// assert!(width(1) > 2.0 * width(0));
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn group(self, column: impl Into<String>) -> Self {
        self.reader(|reader| reader.group(column))
    }

    /// The column that says of each time whether its event happened then (1 or true), or had not happened by then (0 or
    /// false). It is no feature.
    ///
    /// ```
    /// use bnn_mcmc::fit::Noise;
    /// use bnn_mcmc::prelude::*;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("patients.csv");
    /// # let mut text = String::from("age,days,died\n");
    /// # for i in 0..60 { text += &format!("{},{},{}\n", i % 9, 10 + (7 * i) % 50, u8::from(i % 3 > 0)); }
    /// # std::fs::write(&path, text).unwrap();
    /// let recipe = Fit::survival("days").event("died").noise(Noise::Weibull).hidden(&[3]);
    /// let fit = recipe.chains(2).warmup(100).draws(100).read_csv(&path)?;
    /// let predicted = fit.predict_new(ndarray::array![[4.0]].view())?;
    /// let survival = predicted.predictions.survival()?;
    /// println!("median {:.1} days", survival.predictive_medians()[0]);
    /// println!("beyond 30 days with probability {:.2}", survival.predictive(30.0)[0]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn event(self, column: impl Into<String>) -> Self {
        self.reader(|reader| reader.event(column))
    }

    /// The column of the upper bounds of times: each lies from the time to its upper bound. Equal numbers say that it was
    /// observed, and a missing one, or `inf`, that nothing happened by then; a time of 0 (of normal numbers `-inf`) that
    /// it is not known from when on. It takes the place of [`event`](Self::event).
    pub fn until(self, column: impl Into<String>) -> Self {
        self.reader(|reader| reader.until(column))
    }

    /// Changes how CSV files are read, such as `.reader(|r| r.drop_missing_rows().ignore(["id"]))`.
    pub fn reader(self, change: impl FnOnce(CsvReader) -> CsvReader) -> Self {
        Self { reader: change(self.reader), ..self }
    }

    /// Runs in a folder, which is made if need be, and saves the fit there, as [`Fit::save`] does.
    ///
    /// While it runs, a [checkpoint](crate::draws::checkpoint) is written every 30 seconds. If the
    /// process is killed, the same call goes on where it was and comes to the same numbers; once it
    /// is finished, the same call loads the fit, and [rebuilds](Fit::rebuilt) damaged files. With
    /// more [draws](Self::draws), and all else the same, it goes on where it ended: for this the
    /// checkpoint stays, as large as the draws once more. It may be deleted. Until the new draws
    /// are complete, the folder holds the fit with the old ones, and [`Fit::load`] finds one of the
    /// two at any moment.
    ///
    /// A run that was ended early is finished with fewer draws by the same call with fewer of them,
    /// and goes on to more later. A second process is refused while the first one runs. If the end
    /// cannot be written, as on a full disk, [`Fit::save_error`] says so. A folder that holds
    /// another fit, or one of other rows, is an error that names the difference.
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// Runs only these of the [chains](Self::chains), as one job of several that share the fit:
    /// `2..3` is chain 2. They make the draws that they make in the whole run. The model must be given. [In a
    /// folder](Self::in_folder) all jobs may have the same one: each has a folder of its own there,
    /// called `chains-2..3`, and [`Fit::merge`] puts the parts together.
    pub fn only_chains(self, chains: Range<usize>) -> Self {
        Self { only_chains: Some(chains), ..self }
    }

    /// The times at which a run [in a folder](Self::in_folder) writes its checkpoints.
    pub fn checkpoint_every(self, every: Every) -> Self {
        Self { every, ..self }
    }

    /// The number of threads. No number depends on it, but where [the time](Self::within) decides on the numbers of
    /// iterations. Without this call all threads of rayon's pool.
    /// Where a limit on memory or threads leaves room for fewer, there are fewer.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// A handle that ends the run early; the fit then has the draws that were made. A run
    /// [in a folder](Self::in_folder) goes on with the next call.
    pub fn stop_handle(self, stop: &StopHandle) -> Self {
        Self { stop: stop.clone(), ..self }
    }

    /// Reports how far the run is to the standard error, by [`progress_report`]: step size,
    /// divergences and time left.
    pub fn progress(self) -> Self {
        Self { listener: Listener::Terminal, ..self }
    }

    /// Calls `listener` with all that [`progress`](Self::progress) would print, from the threads of the run: lines, and
    /// about fifty times a second how far the chains are.
    ///
    /// ```
    /// use bnn_mcmc::fit::{Fit, Told};
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = bnn_mcmc::data::Dataset::regression(x.clone(), x.mapv(|x| 3.0 * x))?;
    /// let recipe = Fit::regression("y").hidden(&[]).on_progress(|told| match told {
    ///     Told::Line(line) => println!("{line}"),
    ///     Told::Sampling(progress) => println!("{:?} {} of {}", progress.phase, progress.done, progress.total),
    ///     _ => {}
    /// });
    /// let fit = recipe.fit(&data)?;
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn on_progress(self, listener: impl Fn(Told) + Send + Sync + 'static) -> Self {
        Self { listener: Listener::Own(Arc::new(listener)), ..self }
    }

    /// Tells a line to whoever is told of progress.
    pub(super) fn report(&self, line: &str) {
        match &self.listener {
            Listener::None => {}
            // A log that cannot be written is not an error.
            Listener::Terminal => drop(writeln!(std::io::stderr(), "{line}")),
            Listener::Own(listener) => listener(Told::Line(line)),
        }
    }

    /// Fits the rows of a CSV file.
    ///
    /// # Errors
    /// A file that cannot be read as the recipe says; else as [`fit`](Self::fit).
    pub fn read_csv(&self, path: impl AsRef<Path>) -> Result<Fit, Error> {
        self.fit_read(self.reader_of_text()?.read_path(path)?)
    }

    /// The reader of a file of text, of which rows are drawn as it is read if it is too long to be read whole.
    pub(super) fn reader_of_text(&self) -> Result<CsvReader, Error> {
        Ok(match self.most_rows.filter(|most| *most < usize::MAX) {
            None => self.reader.clone(),
            Some(rows) => self.reader.clone().sample(at_least_two(rows)?, self.seed),
        })
    }

    /// Fits the rows of a table whose columns have types, such as a table of a Parquet file. A table that is
    /// given away is freed before the run begins.
    ///
    /// # Errors
    /// A table that cannot be read as the recipe says; else as [`fit`](Self::fit).
    pub fn read_table(&self, table: impl Borrow<TypedTable>) -> Result<Fit, Error> {
        let data = self.reader.read_table(table.borrow())?;
        drop(table);
        self.fit_read(data)
    }

    fn fit_read(&self, data: CsvData) -> Result<Fit, Error> {
        let recipe = self.of_read(&data);
        let CsvData { dataset, schema, lines, dropped, stand_ins, .. } = data;
        let origin = Origin { schema: Some(schema), lines: Some(lines), dropped, stand_ins };
        recipe.run(Cow::Owned(dataset), origin)
    }

    /// The recipe for a table that was read, which knows whether rows were drawn as it was.
    pub(super) fn of_read(&self, data: &CsvData) -> Self {
        let rows = data.dataset.rows();
        let drawn = data.drawn_from.map(|of| DrawnRows { rows, of, validation: None });
        Self { drawn, ..self.clone() }
    }

    /// Fits the rows of a data set. The name of the response that the recipe was made with is not used.
    ///
    /// # Errors
    /// A response of another kind; a constant column; a setting out of range; the errors of
    /// [`Posterior::new`] and [`Sampler::run`]; a folder that cannot be written, or holds another
    /// fit.
    pub fn fit(&self, data: &Dataset) -> Result<Fit, Error> {
        self.run(Cow::Borrowed(data), Origin::default())
    }

    /// Fits `data` like [`fit`](Self::fit), with a [`Schema`] by which files are read like `data`;
    /// [`Schema::of_table`] makes one for a data frame. The fit can then do all that a fit of a CSV
    /// file can, such as [`Fit::predict_csv`].
    ///
    /// # Errors
    /// Features that are not called as in the schema; else as [`fit`](Self::fit).
    pub fn fit_like(&self, data: &Dataset, schema: &Schema) -> Result<Fit, Error> {
        let (recipe, origin) = self.like(data, schema)?;
        recipe.run(Cow::Borrowed(data), origin)
    }

    /// The recipe that reads like a schema, for rows that it has read.
    pub(super) fn like(&self, data: &Dataset, schema: &Schema) -> Result<(Self, Origin), Error> {
        let names = schema.feature_names();
        if let Some((found, allowed)) =
            data.feature_names().iter().zip(&names).find(|(found, name)| found != name)
        {
            return Err(Error::argument("name of a feature", found, format!("`{allowed}`")));
        }
        if data.n_features() != names.len() {
            return Err(Error::shape("number of features", data.n_features(), names.len()));
        }
        let recipe = Self { reader: schema.reader().clone(), ..self.clone() };
        Ok((recipe, Origin { schema: Some(schema.clone()), ..Origin::default() }))
    }

    pub(super) fn run(&self, data: Cow<Dataset>, origin: Origin) -> Result<Fit, Error> {
        let chosen = self.clone().for_rows(&data)?;
        for feature in chosen.constant_features(&data, &origin)? {
            self.report(&format!("`{feature}` is the same in all rows: it has no effect"));
        }
        let (chosen, data, origin) = chosen.of_most_rows(data, origin)?;
        let complete = match chosen.imputed {
            None => data,
            Some(table) => Cow::Owned(imputed::complete(&chosen, table, &data, &origin)?),
        };
        // Written down with the fit: the choice here stays, whatever a later version chooses.
        let chosen = chosen.settled(&complete, &origin)?;
        let (complete, origin) = chosen.of_drawn(complete, origin)?;
        let (layers, prior) = (chosen.layers().to_vec(), chosen.prior());
        let mut chosen = chosen.hidden(&layers).weights(prior);
        chosen.skip.get_or_insert(false);
        chosen.power_features.get_or_insert(false);
        chosen.noise = chosen.noise.or(Noise::default_of(chosen.task));
        let method = chosen.chosen_method(complete.response().width());
        let chosen = chosen.method(method);
        let Sizes { chains, warmup, draws } = chosen.sizes();
        let chosen = chosen.chains(chains).warmup(warmup).draws(draws);
        chosen.check_ensemble()?;
        let parts = Parts::new(chosen, complete, origin)?;
        if let Some(names) = parts.data.response().class_names().filter(|_| self.is_ordinal()) {
            self.report(&format!("classes in order: {}", names.join(" < ")));
        }
        match &self.folder {
            None => {
                let draws = parts.recipe.sample(&parts, None)?;
                let parts = parts.ended(&draws).into();
                Ok(Fit { parts, draws, save_error: None, rebuilt: Vec::new() })
            }
            Some(folder) => match &self.only_chains {
                None => run::run(folder, parts),
                Some(chains) => {
                    check_only(chains, parts.recipe.sizes().chains)?;
                    run::run(&folder::folder_of(folder, chains), parts)
                }
            },
        }
    }

    /// The features of a whole table that have the same value in all rows, beside others of their column.
    ///
    /// # Errors
    /// A column none of whose features differs.
    pub(super) fn constant_features(
        &self,
        data: &Dataset,
        origin: &Origin,
    ) -> Result<Vec<String>, Error> {
        match self.drawn {
            // Where rows were drawn while they were read, a level may lie among the others.
            Some(_) => Ok(Vec::new()),
            None => {
                let features = self.columns_of(data)?.features;
                check_features(data, features, origin.schema.as_ref()) //~ constant-of-table
            }
        }
    }

    /// The recipe for as many rows as there may be at most, and these rows.
    pub(super) fn of_most_rows<'d>(
        mut self,
        data: Cow<'d, Dataset>,
        origin: Origin,
    ) -> Result<(Self, Cow<'d, Dataset>, Origin), Error> {
        let Some(rows) = self.most_rows.filter(|most| *most < data.rows()) else {
            return Ok((self, data, origin));
        };
        let of = data.rows();
        self.drawn = Some(DrawnRows { rows: at_least_two(rows)?, of, validation: None });
        let (data, origin) = self.of_drawn(data, origin)?;
        Ok((self, data, origin))
    }

    /// The rows that were drawn of a table, or the table if none were, or if it has been drawn from before.
    pub(super) fn of_drawn<'d>(
        &self,
        data: Cow<'d, Dataset>,
        origin: Origin,
    ) -> Result<(Cow<'d, Dataset>, Origin), Error> {
        let drawn = self.drawn.filter(|drawn| drawn.of == data.rows());
        let Some(DrawnRows { rows, of, validation }) = drawn else { return Ok((data, origin)) };
        let split = if validation.is_some() { self.split(&data)? } else { None };
        let drawn = match (validation, split) {
            (Some(kept), Some(Split { train, test })) => {
                let mut drawn = self.draw(&data, train, rows - kept)?;
                drawn.extend(self.draw(&data, test, kept)?); //~ drawn-validation
                drawn
            }
            _ => self.draw(&data, (0..of).collect(), rows)?,
        };
        let lines = origin.lines.as_ref().map(|lines| lines.of_rows_alone(&drawn));
        Ok((Cow::Owned(data.select(&drawn)?), Origin { lines, ..origin }))
    }

    /// So many of these rows, in their order; of classes as many of each as it has a share in the rows.
    fn draw(&self, data: &Dataset, from: Vec<usize>, n: usize) -> Result<Vec<usize>, Error> {
        let mut rng = ChainRng::new(self.seed, STREAM).child(1);
        let n = n.min(from.len());
        if self.task == Task::Classification && n < from.len() && n >= data.response().width() {
            let of = data.rows_of(&from);
            let share = n as f64 / from.len() as f64;
            if let Ok(split) = of.stratified_rows(share, rng.next_u64(), InTest)
                && split.test.len() == n
            {
                return Ok(split.test.into_iter().map(|row| from[row]).collect()); //~ drawn-classes
            }
        }
        let mut drawn = from;
        drawn.shuffle(&mut rng); //~ drawn-rows
        drawn.truncate(n);
        drawn.sort_unstable();
        Ok(drawn)
    }

    /// The recipe with a model: the one that was given, the one in its folder, or the one that the data choose.
    pub(super) fn settled(self, data: &Dataset, origin: &Origin) -> Result<Self, Error> {
        let columns = data.response().width();
        if let Some(model) = self.model {
            let own = self.clone();
            let open =
                Self { noise: None, transform: Transform::None, power_features: None, ..own };
            let known = open.candidates(columns);
            if !known.contains(&model) {
                let known = known.iter().map(ToString::to_string).collect();
                let allowed = format!("one of {} for this response", listed(known));
                return Err(Error::argument("model", model, allowed).of(Setting::Model));
            }
            return Ok(model.of(&self, columns));
        }
        if !self.is_open() {
            return Ok(self);
        }
        //~ model-of-folder
        if let Some(there) = self.in_its_folder()? {
            self.report("model       that of the fit in the folder");
            return Ok(match there.task == self.task {
                true => self.with_model_of(&there),
                false => self, // the difference is named
            });
        }
        if self.only_chains.is_some() {
            let error = Error::argument(
                "model",
                "left to the data",
                "given where a job runs some of the chains",
            );
            return Err(error.of(Setting::Model).advise([Advice::NameModel]));
        }
        let start = Instant::now();
        let deadline = self.limit().and_then(|limit| start.checked_add(limit.mul_f64(SEARCH)));
        let (chosen, pace) = self.search(data, origin, deadline)?;
        let (chosen, pace) = chosen.in_time(start, pace, data);
        let chosen = chosen.sized(start, pace);
        chosen.report(&chosen.model_lines(columns));
        Ok(chosen)
    }

    /// The recipe of the fit in the folder of this one.
    fn in_its_folder(&self) -> Result<Option<Self>, Error> {
        let Some(folder) = &self.folder else { return Ok(None) };
        match read(folder)? {
            Read::Saved(there) => there.recipe(folder).map(Some),
            // The model is not known, and another search need not come to it.
            Read::Damaged(error) => Err(error.advise([Advice::NameModel])),
            Read::Nothing if folder.join(CHECKPOINT).exists() => {
                let lost = problem(&folder.join(FIT), "it is not there");
                Err(lost.advise([Advice::NameModel]))
            }
            Read::Nothing if folder.exists() => {
                check_entries(folder, &[LOCK, DATA])?;
                Ok(None)
            }
            Read::Nothing => Ok(None),
        }
    }

    /// The recipe with the model of another one, and with its numbers of iterations where none are given.
    pub(super) fn with_model_of(self, other: &Self) -> Self {
        let other = other.clone();
        Self {
            model: None,
            hidden: other.hidden,
            skip: other.skip,
            weights: other.weights,
            noise: self.noise.or(other.noise),
            transform: if self.transform.is_none() { other.transform } else { self.transform },
            power_features: self.power_features.or(other.power_features),
            method: other.method,
            search: other.search,
            drawn: self.drawn.or(other.drawn),
            warmup: self.warmup.or(other.warmup),
            draws: self.draws.or(other.draws),
            most_draws: other.most_draws.filter(|_| self.draws.is_none()),
            ..self
        }
    }

    /// Whether a run may end with these draws: the chains have converged, or more draws would not be enough. If they have not
    /// converged, it says what becomes of it.
    fn are_enough(&self, parts: &Parts, draws: &Draws) -> bool {
        // The last doubling is for chains that have nearly converged.
        let is_last = self.most_draws.is_some_and(|most| 2 * draws.n_draws() >= most);
        // A verdict that cannot be passed now is passed on the whole run.
        let Ok(verdict) = parts.judged(draws).and_then(|judged| judged.verdict()) else {
            return is_last;
        };
        if verdict.is_converged() {
            return true;
        }
        let ends = is_in_vain(verdict.times_as_long(), is_last);
        self.report(&format!(
            "{:11} after {} of each chain R-hat is up to {:.3}, with {}",
            if ends { "ends" } else { "goes on" },
            count(draws.n_draws(), "draw"),
            verdict.max_rhat(),
            count(verdict.min_ess() as usize, "effective draw"),
        ));
        ends
    }

    /// Whether the number of draws is left to the run.
    pub(super) fn has_open_draws(&self) -> bool {
        self.most_draws.is_some()
    }

    /// The recipe of a run that has made so many draws; `None` if it was stopped before its end.
    pub(super) fn ended(mut self, drawn: Option<usize>) -> Self {
        self.deadline = None;
        if let Some(most) = self.most_draws.take() {
            self.draws = drawn.or(Some(most));
        }
        self
    }

    /// The recipe for rows that have weights, or have none.
    ///
    /// # Errors
    /// If a column of weights is named, and the rows have none.
    pub(super) fn for_rows(self, data: &Dataset) -> Result<Self, Error> {
        let is_weighted = data.weights().is_some();
        match self.reader.weights_column() {
            Some(column) if !is_weighted => {
                let found = format!("column `{column}`, and the rows have no weights");
                let allowed = "named for rows with weights alone";
                let error = Error::argument("row weights", found, allowed).of(Setting::RowWeights);
                Err(error.advise([Advice::in_rust("give them by `Dataset::with_weights`")]))
            }
            _ => {
                let columns = self.columns_of(data);
                let groupings = columns.map_or(Vec::new(), |columns| columns.groupings);
                let groups: usize = groupings.iter().map(|(_, groups)| groups.len()).sum();
                let has_many_groups = groups > MOST_UNITS;
                let has_many_rows = data.rows() >= MANY_ROWS; //~ many-rows
                Ok(Self { is_weighted, has_many_groups, has_many_rows, ..self })
            }
        }
    }

    /// The name of the column of weights in `data.csv`, if the rows have weights.
    pub(super) fn weights_column(&self, data: &Dataset) -> Option<String> {
        let column = self.reader.weights_column().unwrap_or("weight");
        data.weights().map(|_| column.into())
    }

    /// The rows for training and the rows for validation, if there are any.
    pub(super) fn split(&self, data: &Dataset) -> Result<Option<Split>, Error> {
        if self.rows.is_some() {
            return Ok(self.rows.clone());
        }
        if self.validation == 0.0 {
            return Ok(None);
        }
        if !(self.validation > 0.0 && self.validation < 1.0) {
            let error = Error::argument("validation", self.validation, "from 0 to below 1");
            return Err(error.of(Setting::Validation));
        }
        let rows = self.first_rows(data)?;
        // The rows that the search and the imputation have left stay out.
        let drawn = self.drawn.filter(|drawn| drawn.rows == rows && drawn.of > rows);
        if let Some(kept) = drawn.and_then(|drawn| drawn.validation) {
            let mut train: Vec<usize> = (0..rows - kept).collect();
            train.extend(rows..data.rows());
            return Ok(Some(Split { train, test: (rows - kept..rows).collect() }));
        }
        let kept = (rows as f64 * self.validation).round() as usize;
        if kept == 0 || kept >= rows {
            let allowed =
                format!("such a share of {rows} rows that some are kept, and some are left");
            let error = Error::argument("validation", self.validation, allowed);
            return Err(error.of(Setting::Validation));
        }
        let first = data.first(rows);
        let (share, seed) = (self.validation, self.seed);
        let mut split = match self.task {
            //~ validation-classes
            Task::Classification => first.stratified_rows(share, seed, InTraining)?,
            //~ validation-rows
            _ => first.split_rows(share, seed)?,
        };
        split.train.extend(rows..data.rows()); //~ new-rows-are-learnt-from
        Ok(Some(split))
    }

    /// The number of training rows, of these rows, from which scalings and the like are learnt; they come first.
    pub(super) fn first_training_rows(
        &self,
        train: &Dataset,
        data: &Dataset,
    ) -> Result<usize, Error> {
        match self.rows {
            Some(_) => Ok(train.rows()), // of a fold
            None => Ok(train.rows() - (data.rows() - self.first_rows(data)?)), //~ learnt-from
        }
    }

    /// The number of rows before all updates.
    pub(super) fn first_rows(&self, data: &Dataset) -> Result<usize, Error> {
        match self.learnt_from {
            None => Ok(data.rows()),
            Some(rows) if (1..=data.rows()).contains(&rows) => Ok(rows),
            Some(rows) => {
                let allowed = format!("1 to {}, those of the table", data.rows());
                Err(Error::argument("rows that scalings are learnt from", rows, allowed))
            }
        }
    }

    /// An error if the response, whose rows are of `origin`, cannot be transformed as is asked for.
    pub(super) fn check_transform(&self, data: &Dataset, origin: &Origin) -> Result<(), Error> {
        match data.response() {
            _ if self.transform.is_none() => Ok(()),
            Response::Real(y) => {
                let place = |row| origin.lines.as_ref().and_then(|lines| lines.place(row));
                let row = |row| place(row).unwrap_or(Row::Number(row + 1));
                self.transform.check("response", y.view(), data.response_names(), row)
            }
            Response::Classes { .. } | Response::Counts(_) | Response::Censored { .. } => {
                let found = format!("chosen for {}", self.task);
                let allowed = "chosen for real responses alone";
                Err(Error::argument("transform", found, allowed).of(Setting::Transform))
            }
        }
    }

    /// An error if the response, whose rows are of `origin`, is to be shares and is not.
    pub(super) fn check_shares(&self, data: &Dataset, origin: &Origin) -> Result<(), Error> {
        let Some(y) = data.response().real().filter(|_| self.has_shares()) else { return Ok(()) };
        if !self.transform.is_none() {
            let allowed = "chosen for real responses other than shares, whose output is a logit";
            let error = Error::argument("transform", "chosen for shares", allowed);
            return Err(error.of(Setting::Transform));
        }
        let Some(((row, j), y)) = y.indexed_iter().find(|(_, y)| !is_share(**y)) else {
            return Ok(());
        };
        let place = origin.lines.as_ref().and_then(|lines| lines.place(row));
        let row = place.unwrap_or(Row::Number(row + 1));
        let column = data.response_names()[j].clone();
        let problem = format!("{} is no share, which must be {SHARES}", number(*y));
        let (table, advice) = ("response".into(), vec![NOT_AT_ENDS.into()]);
        Err(Error::Cell { table, row, column, problem, advice })
    }

    /// The family of times, if the response is some.
    fn times(&self) -> Option<TimeFamily> {
        match self.noise.or(Noise::default_of(self.task))? {
            Noise::LogNormal => Some(TimeFamily::LogNormal),
            Noise::Weibull => Some(TimeFamily::Weibull),
            Noise::Normal => Some(TimeFamily::Normal),
            _ => None,
        }
    }

    /// Whether means of the response are exponentials of what is learnt.
    pub(super) fn has_log_link(&self) -> bool {
        self.task == Task::Counts || self.times().is_some_and(TimeFamily::is_of_logs)
    }

    /// An error if times, whose rows are of `origin`, have no logarithm, or say nothing.
    pub(super) fn check_times(&self, data: &Dataset, origin: &Origin) -> Result<(), Error> {
        let (Some(family), Some((lower, upper))) = (self.times(), data.response().bounds()) else {
            return Ok(());
        };
        let column = data.response_names()[0].clone();
        let is_time = |(l, u): &(&f64, &f64)| **u > 0.0 && (**l >= 0.0 || **l == f64::NEG_INFINITY);
        let wrong = lower.iter().zip(upper).position(|row| family.is_of_logs() && !is_time(&row));
        if let Some(row) = wrong {
            let place = origin.lines.as_ref().and_then(|lines| lines.place(row));
            let place = place.unwrap_or(Row::Number(row + 1));
            let time = if upper[row] > 0.0 { lower[row] } else { upper[row] };
            let problem = format!("{} is no time, which must be {TIMES}", number(time));
            let (table, advice) = ("response".into(), vec![NOT_AT_ZERO.into()]);
            return Err(Error::Cell { table, row: place, column, problem, advice });
        }
        Ok(())
    }

    /// The likelihood of times, in units of the training rows.
    fn likelihood_of_times(
        &self,
        family: TimeFamily,
        train: &Dataset,
    ) -> Result<AnyLikelihood, Error> {
        let censored = Censored::of(family);
        let train = train.counted();
        let Some((lower, upper)) = train.response().bounds() else {
            return Ok(AnyLikelihood::Censored(censored)); // which says what it expects
        };
        let floor = if family.is_of_logs() { 0.0 } else { f64::NEG_INFINITY };
        let column = format!("column `{}`", train.response_names()[0]);
        let nothing = |problem: &str| {
            Error::table(&column, problem)
                .advise(["there is nothing to learn of this response".into()])
        };
        if upper.iter().all(|u| *u == f64::INFINITY) {
            return Err(nothing("every row is right-censored: no event happened"));
        }
        if lower.iter().all(|l| *l <= floor) {
            return Err(nothing(
                "every row is left-censored: no time is known to be longer than any other",
            ));
        }
        let (lower, upper) = (lower.to_vec(), upper.to_vec());
        let weights = train.weights().map(|w| w.to_vec());
        let units = censored.fitted_units(&lower, &upper, weights.as_deref());
        let Some((centre, spread)) = units else {
            return Err(nothing("the same time in every row"));
        };
        Ok(AnyLikelihood::Censored(censored.in_units(centre, spread)?)) //~ units-of-times
    }

    /// The likelihood of classes, and the number of outputs of the network.
    fn likelihood_of_classes(&self, response: &Response) -> Result<(AnyLikelihood, usize), Error> {
        // If the response is of another kind, the likelihood says what it expects.
        let classes = response.class_names().map_or(2, <[String]>::len);
        Ok(match self.noise {
            None if classes > 2 => (AnyLikelihood::Categorical(Categorical), classes),
            None => (AnyLikelihood::Bernoulli(Bernoulli), 1),
            Some(Noise::Ordinal) => {
                let ordinal = Ordinal::new(classes)?.with_first_cutpoint(0.0)?;
                (AnyLikelihood::Ordinal(ordinal), 1)
            }
            Some(_) => {
                let allowed = "chosen for real responses and counts: of classes `ordinal` alone";
                let error = Error::argument("noise", "chosen for classes", allowed);
                return Err(error.of(Setting::Noise));
            }
        })
    }

    /// The columns of x: the features, then the indicators of each grouping, then an offset.
    ///
    /// # Errors
    /// If the last columns of `data` are not these.
    pub(super) fn columns_of(&self, data: &Dataset) -> Result<ColumnsOf, Error> {
        let names = data.feature_names();
        let mut end = names.len();
        if let Some(name) = self.reader.offset() {
            self.check_offset(&name, data)?;
            end -= 1;
        }
        let mut groupings = Vec::new();
        for column in self.reader.groupings().iter().rev() {
            let prefix = indicator(column, "");
            let first = names[..end].iter().rposition(|name| name == &new_group(column));
            let last = first.filter(|last| last + 1 == end);
            let of_group = |name: &&String| name.starts_with(&prefix);
            let groups = names[..last.unwrap_or(0)].iter().rev().take_while(of_group).count();
            if groups == 0 {
                let found = names[..end].last().map_or("none".into(), |name| format!("`{name}`"));
                let allowed = format!(
                    "after the features `{}`, .., and last `{}`",
                    indicator(column, "group"),
                    new_group(column)
                );
                return Err(Error::argument("group", found, allowed).of(Setting::Group));
            }
            let start = end - groups - 1;
            let group = |name: &String| name.strip_prefix(&prefix).unwrap_or("a new one").into();
            groupings.push((column.clone(), names[start..end].iter().map(group).collect()));
            end = start;
        }
        groupings.reverse();
        if end == 0 {
            let allowed = "1 or more beside groups and an exposure";
            return Err(Error::argument("features", 0, allowed));
        }
        Ok(ColumnsOf { features: end, groupings })
    }

    /// An error if the response has no exposure, or the last feature is none.
    fn check_offset(&self, name: &str, data: &Dataset) -> Result<(), Error> {
        let found = match data.response() {
            Response::Counts(y) if y.ncols() == 1 => {
                let last = data.feature_names().last();
                last.filter(|last| *last != name).map(|last| format!("`{last}`"))
            }
            _ => Some(format!("chosen for {}", self.task)),
        };
        match found {
            None => Ok(()),
            Some(found) => {
                let allowed = format!("the last feature, `{name}`, of counts in one column");
                Err(Error::argument("exposure", found, allowed).of(Setting::Exposure))
            }
        }
    }

    /// The log of the mean count for an exposure of 1, half a count more for a mean of 0; `None` if the
    /// response is not a count.
    fn log_mean_rate(&self, train: &Dataset) -> Option<f64> {
        let counts = train.response().counts()?;
        let offset = || train.x().column(train.n_features() - 1).mapv(crate::portable::exp);
        let exposure = match self.reader.offset() {
            Some(_) => summed(offset().view().insert_axis(Axis(1)), train.weights()),
            None => train.total_weight(),
        };
        Some(ln((summed(counts.view(), train.weights()) + 0.5) / exposure)) //~ mean-count
    }

    /// The likelihood, and the number of outputs of the network: of means, if the noise is by row.
    fn likelihood(&self, train: &Dataset) -> Result<(AnyLikelihood, usize), Error> {
        let (response, width) = (train.response(), train.response().width());
        let Some(default) = Noise::default_of(self.task) else {
            return self.likelihood_of_classes(response);
        };
        Ok(match self.noise.unwrap_or(default) {
            Noise::Gaussian => (AnyLikelihood::Gaussian(Gaussian::sampled()), width),
            Noise::Heteroscedastic => {
                (AnyLikelihood::HeteroscedasticGaussian(HeteroscedasticGaussian), width)
            }
            Noise::HeteroscedasticStudentT => {
                (AnyLikelihood::StudentTNoise(StudentTNoise::heteroscedastic()), width)
            }
            Noise::StudentT => (AnyLikelihood::StudentTNoise(StudentTNoise::sampled()), width),
            Noise::Poisson => (AnyLikelihood::Poisson(Poisson), 1),
            Noise::NegativeBinomial => {
                (AnyLikelihood::NegativeBinomial(NegativeBinomial::sampled()), 1)
            }
            Noise::ZeroInflatedPoisson => (AnyLikelihood::ZeroInflated(ZeroInflated::poisson()), 1),
            Noise::ZeroInflatedNegativeBinomial => {
                (AnyLikelihood::ZeroInflated(ZeroInflated::negative_binomial()), 1)
            }
            Noise::HurdlePoisson => (AnyLikelihood::Hurdle(Hurdle::poisson()), 1),
            Noise::HurdleNegativeBinomial => {
                (AnyLikelihood::Hurdle(Hurdle::negative_binomial()), 1)
            }
            Noise::Beta => (AnyLikelihood::Beta(Beta), width),
            Noise::LogNormal => (self.likelihood_of_times(TimeFamily::LogNormal, train)?, 1),
            Noise::Weibull => (self.likelihood_of_times(TimeFamily::Weibull, train)?, 1),
            Noise::Normal => (self.likelihood_of_times(TimeFamily::Normal, train)?, 1),
            Noise::Ordinal => {
                let error = Error::argument("noise", Noise::Ordinal, "chosen for classes");
                return Err(error.of(Setting::Noise));
            }
        })
    }

    /// The posterior of scaled training rows, whose features come from the columns `groups` of the
    /// table.
    pub(super) fn posterior(
        &self,
        train: &Dataset,
        groups: &[String],
    ) -> Result<Posterior<Network, AnyLikelihood>, Error> {
        let (likelihood, outputs) = self.likelihood(train)?;
        let ColumnsOf { features, groupings } = self.columns_of(train)?;
        let mut sizes = vec![features];
        sizes.extend(self.layers());
        sizes.push(outputs);
        let network =
            Mlp::new(&sizes, self.activation).map_err(|error| error.of(Setting::Hidden))?;
        let network = self.network(network, groups, &groupings, train.response().width())?;
        let output = format!("w{}", self.layers().len());
        let mut priors = match self.prior() {
            WeightPrior::FanIn => Priors::by_fan_in(&network),
            WeightPrior::Normal { sd } => {
                let normal = Normal::new(0.0, sd).map_err(|error| error.of(Setting::WeightsSd))?;
                Priors::all(normal)
            }
            WeightPrior::Ard => {
                Priors::by_fan_in(&network).ard("w0", RELEVANCE, LogHalfCauchy::new(1.0)?)
            }
            WeightPrior::Horseshoe => Priors::by_fan_in(&network).horseshoe(
                "w0",
                RELEVANCE,
                HORSESHOE,
                LogHalfCauchy::new(1.0)?,
            ),
            WeightPrior::Scales => {
                let (relevance, of_outputs) = (self.scale(1.0)?, self.output_scale());
                let mut priors = Priors::by_fan_in(&network).with(RELEVANCE, relevance);
                // Standard weights have the prior of fan-in, and their scale is relative to it.
                let is_sampled = network.layout().range(OUTPUTS).is_some();
                let mut parts = Vec::new();
                if let Some(units) = self.layers().last() {
                    parts.push((output.as_str(), OUTPUTS, *units));
                }
                if self.has_skip() {
                    parts.push(("skip", OF_SKIP, sizes[0]));
                }
                for (block, log_variance, inputs) in parts {
                    priors = match is_sampled {
                        true => priors.with(log_variance, self.scale(of_outputs)?),
                        false => {
                            let scale = self.scale(of_outputs / (inputs as f64).sqrt())?;
                            priors.hierarchical(block, log_variance, scale)
                        }
                    };
                }
                priors
            }
        };
        for (column, _) in &groupings {
            //~ groups-of-fit
            let scale = LogHalfT::new(GROUPS, self.group_scale())?;
            let block = Skip::<Mlp>::block_of_groups(column);
            priors = priors.hierarchical(&block, &variance_of(column), scale);
        }
        //~ noise-prior-of-fit
        let squared_scale = LogInverseGamma::new(SQUARED_SCALE.0, SQUARED_SCALE.1)?;
        if self.is_by_row() {
            priors = priors
                .with("log_sd", Normal::new(0.0, LOG_SD_SLOPES)?)
                .with("log_sd_bias", Normal::new(LOG_SD_BIAS.0, LOG_SD_BIAS.1)?);
        }
        priors = match &likelihood {
            AnyLikelihood::Gaussian(_) => priors.with("log_noise_variance", squared_scale),
            AnyLikelihood::StudentTNoise(_) => {
                //~ degrees-of-fit
                let degrees = Normal::new(DEGREES.0, DEGREES.1)?;
                let priors = priors.with("log_degrees_of_freedom", degrees);
                match self.is_by_row() {
                    true => priors,
                    false => priors.with("log_squared_scale", squared_scale),
                }
            }
            AnyLikelihood::ZeroInflated(_) => {
                //~ extra-zeros-of-fit
                priors.with("logit_extra_zeros", Normal::new(EXTRA_ZEROS.0, EXTRA_ZEROS.1)?)
            }
            AnyLikelihood::Hurdle(_) => {
                priors.with("logit_zeros", Normal::new(EXTRA_ZEROS.0, EXTRA_ZEROS.1)?)
            }
            AnyLikelihood::Beta(_) => {
                //~ precision-of-fit
                priors.with("log_precision", Normal::new(PRECISION.0, PRECISION.1)?)
            }
            AnyLikelihood::Censored(_) => {
                //~ scale-of-times
                priors.with("log_scale", Normal::new(TIME_SCALE.0, TIME_SCALE.1)?)
            }
            AnyLikelihood::Ordinal(_) => match train.response().class_names() {
                Some(classes) if classes.len() > 2 => {
                    let mean = mean_log_increment(classes.len());
                    //~ increments-of-fit
                    priors.with("log_increments", Normal::new(mean, CUTPOINTS.1)?)
                }
                _ => priors,
            },
            _ => priors,
        };
        if likelihood.layout().range("log_dispersion").is_some() {
            //~ dispersion-of-fit
            priors = priors.with("log_dispersion", Normal::new(DISPERSION.0, DISPERSION.1)?);
        }
        if let Some((mean, sd)) = self.prior_of_bias(train) {
            priors = priors.with(&self.output_bias(), Normal::new(mean, sd)?);
        }
        Posterior::new(network, likelihood, train, priors)
    }

    /// The network with the parts that the recipe asks for. Scales of an output layer that is
    /// integrated out belong to its prior.
    fn network(
        &self,
        network: Mlp,
        groups: &[String],
        groupings: &[(String, Vec<String>)],
        columns: usize,
    ) -> Result<Network, Error> {
        let mut network = match self.has_skip() {
            true => Skip::new(network)?,
            false => Skip::without(network),
        };
        for (column, groups) in groupings {
            network = network.intercepts(column, groups.clone())?;
        }
        let mut network = NonCentred::new(network);
        if self.prior() == WeightPrior::Scales {
            network = network.by_column("w0", RELEVANCE, groups)?;
            let is_integrated = !matches!(self.chosen_method(columns), Method::Nuts | Method::Mams)
                && self.can_collapse(columns);
            if !self.layers().is_empty() && !is_integrated {
                network = network.by_block(&format!("w{}", self.layers().len()), OUTPUTS)?;
                if self.has_skip() {
                    network = network.by_block("skip", OF_SKIP)?;
                }
            }
        }
        let network = match self.is_by_row() {
            true => LogSd::new(network)?,
            false => LogSd::without(network),
        };
        Ok(match self.reader.offset() {
            Some(_) => Offset::new(network),
            None => Offset::without(network),
        })
    }

    /// The prior of a log variance of [`WeightPrior::Scales`] whose standard deviation is about `scale`.
    fn scale(&self, scale: f64) -> Result<LogHalfT, Error> {
        LogHalfT::new(SCALES, scale)
    }

    /// The prior scale of the outputs: of logits 4, so that classes can be told apart with
    /// certainty, else 1.
    pub(super) fn output_scale(&self) -> f64 {
        //~ scale-of-logits
        if self.task == Task::Classification { 4.0 } else { 1.0 }
    }

    /// The scale of the prior of the standard deviation of intercepts of groups: of logits 2, else 1.
    pub(super) fn group_scale(&self) -> f64 {
        self.output_scale().sqrt()
    }

    /// Whether there is a linear part beside hidden layers.
    pub(super) fn has_skip(&self) -> bool {
        self.skip == Some(true) && !self.layers().is_empty()
    }

    /// Mean and standard deviation of the output's bias, where they differ from other biases'.
    fn prior_of_bias(&self, train: &Dataset) -> Option<(f64, f64)> {
        match train.response() {
            Response::Counts(_) => self.log_mean_rate(train).map(|mean| (mean, 1.0)),
            Response::Real(y) if self.has_shares() => {
                let values = train.total_weight() * y.ncols() as f64;
                let mean = summed(y.view(), train.weights()) / values;
                Some((ln(mean) - ln_1p(-mean), 1.0)) //~ share-bias
            }
            Response::Classes { names, .. } if self.is_ordinal() => {
                Some((ln(names.len() as f64 - 1.0), CUTPOINTS.0)) //~ ordinal-bias
            }
            Response::Real(_) | Response::Classes { .. } | Response::Censored { .. } => None,
        }
    }

    /// The name of the block of the output's bias.
    fn output_bias(&self) -> String {
        format!("b{}", self.layers().len())
    }

    /// An error unless `draws` can be of a run of this recipe.
    pub(super) fn check_draws(&self, draws: &Draws) -> Result<(), Error> {
        let info = draws.info();
        let sizes = self.sizes();
        let n = if info.stopped_early { draws.n_draws() } else { sizes.draws };
        let chains = info.part.as_ref().map_or(draws.n_chains(), |part| part.of);
        for (name, found, expected) in [
            ("seed", info.seed, self.seed_of_draws()),
            ("warmup", info.warmup as u64, sizes.warmup as u64),
            ("chains", chains as u64, sizes.chains as u64),
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

    /// The seed of the sampler. Completed tables have seeds of their own.
    fn seed_of_draws(&self) -> u64 {
        match self.imputed {
            None => self.seed,
            Some(table) => imputed::rng(self.seed, table).child(0).next_u64(), //~ seed-of-table
        }
    }

    /// Whether the noise is of Student's t.
    pub(super) fn has_tails(&self) -> bool {
        matches!(self.noise, Some(Noise::StudentT | Noise::HeteroscedasticStudentT))
    }

    /// Whether the noise has a model of its own.
    pub(super) fn is_by_row(&self) -> bool {
        matches!(self.noise, Some(Noise::Heteroscedastic | Noise::HeteroscedasticStudentT))
    }

    /// Whether the response is shares between 0 and 1.
    pub(super) fn has_shares(&self) -> bool {
        self.noise == Some(Noise::Beta)
    }

    /// Whether the classes are in order.
    pub(super) fn is_ordinal(&self) -> bool {
        self.noise == Some(Noise::Ordinal)
    }

    /// Whether the noise is normal, with one variance.
    fn has_one_variance(&self) -> bool {
        matches!((self.task, self.noise), (Task::Regression, None | Some(Noise::Gaussian)))
    }

    /// The units of each hidden layer, chosen by the noise if they were not.
    pub(super) fn layers(&self) -> &[usize] {
        match &self.hidden {
            Some(units) => units,
            None if self.task == Task::Regression && !self.has_shares() => &[100],
            None => &[40],
        }
    }

    /// The prior of the weights.
    pub(super) fn prior(&self) -> WeightPrior {
        self.weights.unwrap_or_default()
    }

    /// The method; if none was given, it depends on whether the output layer can be integrated out,
    /// for a response of this many columns.
    pub(super) fn chosen_method(&self, columns: usize) -> Method {
        match self.method {
            Some(method) => method,
            None if self.can_collapse(columns) && !self.has_many_groups => Method::Collapsed,
            None => Method::Nuts,
        }
    }

    /// Whether the output weights of the mean can be integrated out of a network at a reasonable cost, for
    /// so many columns of a response.
    pub(super) fn can_collapse(&self, columns: usize) -> bool {
        let is_real = self.task == Task::Regression && !self.has_shares();
        //~ weighted-columns
        let several = self.has_one_variance() && !self.is_weighted();
        let is_known = several || (is_real && columns == 1);
        let has_groups = !self.reader.groupings().is_empty();
        is_known && self.layers().last().map_or(has_groups, |units| *units <= MOST_UNITS)
    }

    /// Whether rows have weights, as far as is known: of a recipe before its rows, whether a column of them is named.
    fn is_weighted(&self) -> bool {
        self.is_weighted || self.reader.weights_column().is_some()
    }

    /// Whether anything of a network is left where the output layer is integrated out: hidden layers, a model of
    /// the noise, or scales of groups.
    fn has_rest(&self) -> bool {
        !self.layers().is_empty() || self.is_by_row() || !self.reader.groupings().is_empty()
    }

    /// The most draws of each chain, of so many numbers each: fewer where chains run until they have converged and more
    /// would take too much memory.
    fn most_draws_of(&self, numbers: usize) -> usize {
        let Sizes { chains, draws, .. } = self.sizes();
        let memory = usize::try_from(limit() / 4 / 8).unwrap_or(usize::MAX);
        let room = MOST_NUMBERS.min(memory) / chains.saturating_mul(numbers).max(1);
        self.most_draws.map_or(draws, |most| most.min(room).max(draws)) //~ room-for-draws
    }

    /// Runs the sampler; with a checkpoint, goes on from it.
    pub(super) fn sample(&self, parts: &Parts, checkpoint: Option<&Path>) -> Result<Draws, Error> {
        self.sample_of(parts, &parts.posterior, checkpoint)
    }

    /// Runs the sampler on a posterior of the fit's model and priors.
    pub(super) fn sample_of<'t>(
        &'t self,
        parts: &'t Parts,
        posterior: &'t FitPosterior,
        checkpoint: Option<&Path>,
    ) -> Result<Draws, Error> {
        let columns = parts.data.response().width();
        match self.chosen_method(columns) {
            Method::Nuts => self.sample_by(parts, posterior, self.nuts(), checkpoint),
            Method::Mams => self.sample_by(parts, posterior, self.mams(), checkpoint),
            Method::Ensemble => self.sample_ensemble(parts, posterior, checkpoint),
            Method::Collapsed if !self.has_rest() => {
                let error = Error::argument("hidden layers", 0, "1 or more to be integrated out");
                Err(error.of(Setting::Hidden).advise([Advice::UseNuts]))
            }
            Method::Collapsed => {
                self.sample_by(parts, posterior, Collapsed::new(self.mams()), checkpoint)
            }
            Method::Tempered if self.can_collapse(columns) => {
                let rungs = PowerPosteriors::new(Collapsed::new(self.tempered()));
                self.sample_by(parts, posterior, rungs, checkpoint)
            }
            Method::Tempered => {
                self.sample_by(parts, posterior, PowerPosteriors::new(self.tempered()), checkpoint)
            }
        }
    }

    /// The sampler of [`Method::Nuts`].
    pub(super) fn nuts(&self) -> Nuts {
        let nuts = Nuts::default();
        Nuts { target_accept: self.target_accept.unwrap_or(nuts.target_accept), ..nuts }
    }

    /// The sampler of [`Method::Mams`], and of [`Method::Collapsed`].
    pub(super) fn mams(&self) -> Mams {
        let mams = Mams::default();
        let is_deep = self.layers().len() > 1 && self.method == Some(Method::Mams);
        let max_steps = if is_deep || self.has_many_rows { SHORT } else { mams.max_steps };
        Mams { target_accept: self.target_accept.unwrap_or(mams.target_accept), max_steps, ..mams }
    }

    /// The sampler of [`Method::Ensemble`]: warm-up is too short for many steps before a map is learnt.
    pub(super) fn of_member(&self) -> Mams {
        Mams { max_first_steps: 30, ..self.mams() }
    }

    /// The sampler of the rungs of [`Method::Tempered`]. Until their linear map is learnt, cold
    /// rungs would take as many steps as they may: two thirds of all gradients of a run.
    pub(super) fn tempered(&self) -> Hmc {
        let hmc = Hmc { max_first_steps: 100, ..Hmc::default() };
        Hmc { target_accept: self.target_accept.unwrap_or(hmc.target_accept), ..hmc }
    }

    /// The acceptance that warm-up aims at, for so many columns of a response.
    pub(super) fn aimed_at(&self, columns: usize) -> f64 {
        match self.chosen_method(columns) {
            Method::Nuts => self.nuts().target_accept,
            Method::Mams | Method::Collapsed | Method::Ensemble => self.mams().target_accept,
            Method::Tempered => self.tempered().target_accept,
        }
    }

    /// The numbers of chains, iterations and draws: by the method, where they were not given.
    pub(super) fn sizes(&self) -> Sizes {
        let [chains, warmup, draws] = match self.is_ensemble() {
            true => [8, 4100, 60],
            false => [4, 1000, 1000],
        };
        Sizes {
            chains: self.chains.unwrap_or(chains),
            warmup: self.warmup.unwrap_or(warmup),
            draws: self.draws.unwrap_or(draws),
        }
    }

    /// Whether the draws are of an ensemble.
    pub(super) fn is_ensemble(&self) -> bool {
        self.method == Some(Method::Ensemble)
    }

    /// An error if the sizes of an ensemble make none.
    fn check_ensemble(&self) -> Result<(), Error> {
        if !self.is_ensemble() {
            return Ok(());
        }
        let Sizes { chains, warmup, .. } = self.sizes();
        let least = |name: &str, found, least, setting| match found < least {
            true => {
                let error =
                    Error::argument(name, found, format!("at least {least} for an ensemble"));
                Err(error.of(setting))
            }
            false => Ok(()),
        };
        least("chains", chains, 2, Setting::Chains)?;
        least("warmup", warmup, 1, Setting::Warmup)
    }

    /// The steps of the ascent of a member of an ensemble, and the iterations that warm up its sampler.
    pub(super) fn ascent(&self) -> (usize, usize) {
        let warmup = self.sizes().warmup;
        let sampler = (warmup / 2).min(MEMBER_WARMUP);
        (warmup - sampler, sampler)
    }

    /// The coordinates that an ascent leaves alone: the logarithms of scales, for which the joint
    /// density of scales and weights has no maximum; and the coordinates that are 0 besides, by which
    /// the noise depends on the features.
    fn held(&self, layout: &Layout) -> [Vec<Range<usize>>; 2] {
        let ranges = |names: &[&str]| names.iter().filter_map(|name| layout.range(name)).collect();
        let scales = [RELEVANCE, HORSESHOE, OUTPUTS, OF_SKIP].map(String::from);
        let of_groups = self.reader.groupings().iter().map(|column| variance_of(column));
        let scales: Vec<String> = scales.into_iter().chain(of_groups).collect();
        let scales: Vec<&str> = scales.iter().map(String::as_str).collect();
        [ranges(&scales), ranges(&["log_sd"])]
    }

    fn sample_ensemble<'t>(
        &'t self,
        parts: &'t Parts,
        posterior: &'t FitPosterior,
        checkpoint: Option<&Path>,
    ) -> Result<Draws, Error> {
        let columns = parts.data.response().width();
        let [mut held, zero] = self.held(posterior.layout());
        held.extend(zero.iter().cloned());
        let adam = Adam { steps: self.ascent().0, learning_rate: 0.01, ..Adam::default() };
        let (ascent, mams) = (Held { adam, held }, self.of_member());
        let draws = if self.can_collapse(columns) {
            let algorithm = Collapsed::new(mams);
            self.sample_by(parts, posterior, Member { ascent, zero, algorithm }, checkpoint)?
        } else {
            let path_length = Some(MEMBER_PATH * (posterior.dim() as f64).sqrt()); //~ path-of-member
            let algorithm = Mams { path_length, ..mams };
            self.sample_by(parts, posterior, Member { ascent, zero, algorithm }, checkpoint)?
        };
        let members = self.sizes().chains;
        let approximation = Some(Approximation::Ensemble { members });
        let info = RunInfo { approximation, ..draws.info().clone() };
        Ok(draws.with_info(info))
    }

    /// Whether chains begin where ascents on minibatches end.
    pub(super) fn ascends(&self) -> bool {
        self.has_many_rows && self.has_rest() && !self.is_ensemble()
    }

    /// Where chains of networks on many rows begin: the ends of ascents on minibatches, in the time of some gradients of all rows.
    fn ascended(
        &self,
        parts: &Parts,
        posterior: &FitPosterior,
        from: &Init,
    ) -> Result<Init, Error> {
        let [mut held, zero] = self.held(posterior.layout());
        held.extend(zero);
        let (learning_rate, steps) = (0.01, ASCENT);
        let minibatch = Minibatch { size: ROWS_OF_STEP.min(parts.own_train().rows()) };
        let adam = Adam { learning_rate, steps, ..Adam::new(minibatch) };
        let ascent = Optimiser::new(posterior, Held { adam, held }).seed(self.seed_of_draws());
        ascent.starts(from, self.sizes().chains)
    }

    fn sample_by<'t, A>(
        &'t self,
        parts: &'t Parts,
        posterior: &'t FitPosterior,
        algorithm: A,
        checkpoint: Option<&Path>,
    ) -> Result<Draws, Error>
    where
        A: crate::sampler::Algorithm<&'t FitPosterior> + Serialize,
    {
        // A network that is too large for memory is refused before anything of its size is made.
        check_layout(posterior.dim(), posterior.layout())?;
        let mut centre = vec![0.0; posterior.dim()];
        if let (Some((mean, _)), Some(bias)) =
            (self.prior_of_bias(parts.own_train()), posterior.layout().range(&self.output_bias()))
        {
            centre[bias].fill(mean); //~ count-bias
        }
        //~ starts-of-fit
        let start = Init::Around { centre, sd: START };
        let Sizes { chains, warmup, draws } = self.sizes();
        let start = match self.ascends() {
            true => self.ascended(parts, posterior, &start)?,
            false => start,
        };
        //~ seed-of-fit
        let sampler = Sampler::new(posterior, algorithm).chains(chains).seed(self.seed_of_draws());
        let most = self.most_draws_of(posterior.dim().max(parts.own_train().rows()));
        let mut sampler = sampler.warmup(warmup).draws(most).init(start);
        let are_enough = Rc::new(Cell::new(false));
        let found = are_enough.clone();
        let judge = move |so_far: &Draws| {
            found.set(self.are_enough(parts, so_far)); //~ judged-as-it-runs
            found.get()
        };
        if self.has_open_draws() {
            sampler = sampler.until(draws, judge);
            if let Some(deadline) = self.deadline {
                let left = deadline.saturating_duration_since(Instant::now());
                sampler = sampler.within(left, LEAST.1);
            }
        }
        sampler = sampler.stop_handle(&self.stop);
        if let Some(threads) = self.threads {
            sampler = sampler.threads(threads);
        }
        if let Some(chains) = &self.only_chains {
            sampler = sampler.only_chains(chains.clone());
        }
        if let Some(path) = checkpoint {
            sampler = sampler.checkpoint(path, self.every);
        }
        sampler = match &self.listener {
            Listener::None => sampler,
            Listener::Terminal => sampler.on_progress(progress_report()),
            Listener::Own(listener) => {
                sampler.on_progress(|progress| listener(Told::Sampling(progress)))
            }
        };
        let made = sampler.run()?;
        if !are_enough.get() && !made.info().stopped_early && made.n_draws() < most {
            let draws = count(made.n_draws(), "draw");
            self.report(&format!("time is up  after {draws} of each chain"));
        }
        Ok(made)
    }
}

/// Whether a run that has not converged should end. `times` is how many times as long it would have to be: at most 1 if its length is not what it
/// lacks. Before the last doubling it ends unless four times as long may be enough.
fn is_in_vain(times: f64, is_last: bool) -> bool {
    let is_near = times <= NEARLY; // not of NaN
    times <= 1.0 || is_last && !is_near //~ nearly-converged
}

/// The sum of all values of rows, each as many times as the weight of its row says.
fn summed(values: ArrayView2<f64>, weights: Option<ArrayView1<f64>>) -> f64 {
    match weights {
        None => values.sum(),
        //~ weighted-centre
        Some(w) => values.rows().into_iter().zip(w).map(|(row, w)| w * row.sum()).sum(),
    }
}

/// The block of the log variance of the intercepts of groups.
fn variance_of(column: &str) -> String {
    format!("log_variance_{column}")
}

/// The log of the mean increment of the cutpoints of K > 2 classes of one size: the last cutpoint is log(K - 1), and
/// the first one minus that.
pub(super) fn mean_log_increment(classes: usize) -> f64 {
    let k = classes as f64;
    ln(2.0 * ln(k - 1.0) / (k - 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run whose time is up when it begins has a hundred draws or a few more; with that number, it is the same on any
    /// machine.
    #[test]
    fn what_the_clock_decides_is_a_number_of_draws() {
        let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
        let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin())).unwrap();
        let recipe = || Fit::regression("y").hidden(&[]).chains(2).warmup(50);
        let deadline = Some(Instant::now());
        let most = Recipe { most_draws: Some(1 << 16), deadline, ..recipe().draws(1 << 15) };
        let ended = most.fit(&data).unwrap();
        let n = ended.draws().n_draws();
        assert!((LEAST.1..=9 * LEAST.1).contains(&n), "{n}");
        assert!(!ended.draws().info().stopped_early);
        let named = recipe().draws(n).fit(&data).unwrap();
        assert_eq!(named.draws().values(), ended.draws().values());
        assert_eq!(ended.recipe().to_string(), named.recipe().to_string());
        // The clock was for one run.
        let more = ended.recipe().clone().draws(3000).fit(&data).unwrap();
        assert_eq!(more.draws().n_draws(), 3000);

        let folder = tempfile::tempdir().unwrap();
        let saved = |name: &str| {
            let path = folder.path().join(name);
            let fit = std::fs::read(path.join(FIT)).unwrap();
            (fit, std::fs::read(path.join(DATA)).unwrap())
        };
        let deadline = Some(Instant::now());
        let most = Recipe { deadline, ..most }.in_folder(folder.path().join("clock"));
        let ended = most.fit(&data).unwrap();
        recipe()
            .draws(ended.draws().n_draws())
            .in_folder(folder.path().join("named"))
            .fit(&data)
            .unwrap();
        assert_eq!(saved("clock"), saved("named"));
    }

    #[test]
    fn draws_are_doubled_once_more_where_that_may_be_enough() {
        for (times, is_last, ends) in [
            (0.9, false, true), // what they lack is another thing
            (1.5, false, false),
            (40.0, false, false),
            (f64::NAN, false, false),
            (1.5, true, false),
            (4.5, true, true),
            (f64::NAN, true, true),
        ] {
            assert_eq!(is_in_vain(times, is_last), ends, "{times} {is_last}");
        }

        let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
        let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin())).unwrap();
        let recipe = Fit::regression("y").hidden(&[8]).chains(2).warmup(10).draws(20);
        let far = Recipe { most_draws: Some(80), ..recipe }.fit(&data).unwrap();
        assert!(far.verdict().unwrap().times_as_long() > NEARLY);
        assert_eq!(far.draws().n_draws(), 40);
    }

    #[test]
    fn draws_that_are_left_to_the_verdict_fit_into_memory() {
        let recipe = Fit::regression("y").chains(4).draws(1000);
        assert_eq!(recipe.most_draws_of(10), 1000);
        let recipe = Recipe { most_draws: Some(8000), ..recipe };
        assert_eq!(recipe.most_draws_of(10), 8000);
        assert_eq!(recipe.most_draws_of(0), 8000);
        assert_eq!(recipe.most_draws_of(1 << 13), 1 << 12);
        // The draws that were asked for are not taken away; whether there is memory for them is the sampler's matter.
        assert_eq!(recipe.most_draws_of(1 << 20), 1000);
        assert_eq!(recipe.most_draws_of(usize::MAX), 1000);
    }
}

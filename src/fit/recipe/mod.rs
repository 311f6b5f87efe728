//! The recipe of a fit: its settings.

mod ascent;
mod fitting;
mod here;
mod model;
mod rows;
mod sampling;
mod settings;

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

pub(in crate::fit) use self::here::Here;
pub use self::settings::Settings;
use super::kinds::{self, Kind};
use super::search::Search;
use super::{AnyLikelihood, Network, imputed};
use crate::Error;
use crate::choice::by_name;
use crate::data::{Columns, CsvReader, Split, Task};
use crate::message::{Setting, count};
use crate::posterior::Posterior;

/// Degrees of freedom of the half-t prior of the standard deviation of intercepts of groups.
pub(super) const GROUPS: f64 = 3.0;
/// Degrees of freedom of the half-t priors of [`WeightPrior::Scales`](super::WeightPrior::Scales).
pub(super) const SCALES: f64 = 30.0;
/// The blocks of the log variances of [`WeightPrior::Scales`](super::WeightPrior::Scales): of the columns of the table, and of the outputs.
pub(super) const RELEVANCE: &str = "log_relevance";
const OUTPUTS: &str = "log_output_variance";
/// The blocks of the log variances of the linear part, and of the log scale of [`WeightPrior::Horseshoe`](super::WeightPrior::Horseshoe).
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

/// The most steps of a trajectory of [`Method::Mams`](super::Method::Mams) on folds, until predictions have [settled](super::RunUntil::Settled), in networks of
/// two hidden layers or more, or on many rows.
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
pub(in crate::fit) type FitPosterior = Posterior<Network, AnyLikelihood>;

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

/// The settings of a [`Fit`](super::Fit): the table's response, the model, the sampler. Made by
/// [`Fit::regression`](super::Fit::regression), [`Fit::classification`](super::Fit::classification), [`Fit::counts`](super::Fit::counts) and [`Fit::survival`](super::Fit::survival); every method changes one
/// setting.
///
/// **The data choose the model** where none of [`model`](Self::model), [`hidden`](Self::hidden), [`skip`](Self::skip),
/// [`weights`](Self::weights) and [`method`](Self::method) is given: [`Search`](super::Search) compares
/// [candidates](super::Candidate) by cross-validation, within a noise and transforms that are given. Where one of them is given,
/// the others have the defaults of the table.
///
/// | setting | default where the model is given |
/// | --- | --- |
/// | [`hidden`](Self::hidden) | one layer of 100 units for a real response, else (and of shares, [`Noise::Beta`](super::Noise::Beta)) of 40 |
/// | [`activation`](Self::activation) | tanh |
/// | [`skip`](Self::skip) | no |
/// | [`group`](Self::group) | none |
/// | [`row_weights`](Self::row_weights) | none: every row counts once |
/// | [`weights`](Self::weights) | [`WeightPrior::FanIn`](super::WeightPrior::FanIn) |
/// | [`noise`](Self::noise) | [`Noise::Gaussian`](super::Noise::Gaussian), of counts [`Noise::NegativeBinomial`](super::Noise::NegativeBinomial), of times [`Noise::LogNormal`](super::Noise::LogNormal); classes are in no order |
/// | [`transform`](Self::transform) | [`Transform::None`](crate::data::Transform::None) |
/// | [`power_features`](Self::power_features) | no |
/// | [`method`](Self::method) | [`Method::Collapsed`](super::Method::Collapsed) for one real response, and for several with [`Noise::Gaussian`](super::Noise::Gaussian) where rows have no weights, with 1 to 500 units in the last hidden layer; else [`Method::Nuts`](super::Method::Nuts) |
/// | [`target_accept`](Self::target_accept) | the sampler's: 0.8 or 0.9 |
/// | [`chains`](Self::chains), [`warmup`](Self::warmup), [`draws`](Self::draws) | 4, 1,000 and 1,000; of [`Method::Ensemble`](super::Method::Ensemble) 8, 4,100 and 60; where the data choose the model, [by the time](Self::within) |
/// | [`within`](Self::within) | where the data choose the model 1 minute, on 5,000 rows or more 3 minutes, until chains have converged 10 minutes; else no limit |
/// | [`run_until`](Self::run_until) | where the data choose the model [`RunUntil::Settled`](super::RunUntil::Settled), else all draws are made |
/// | [`seed`](Self::seed) | 0 |
/// | [`validation`](Self::validation) | no rows |
///
/// Features, and a real response other than shares, are standardised by the training rows. Chains start from
/// small weights, N(0, 0.1^2), and the output's bias of counts, shares and classes in order from the mean of
/// its prior. In tables of 10,000 rows or more chains of networks start where 5,000 steps of Adam on 256 rows each lead from
/// there (scales that are sampled stay; an [ensemble](super::Method::Ensemble) has its own ascent), and trajectories of
/// [`Method::Mams`](super::Method::Mams) have at most 256 steps. Measured on 100,000 simulated rows of 10 features (Friedman's first function, a network that
/// the data chose, two cores): the starts take half a second, and the fit 7 minutes, after which the chains' means differ by 0.04 predictive standard
/// deviations; without both, half of the 150 iterations of warm-up had taken 2.5 minutes, most of them for the latest ten.
///
/// The standard deviation of the intercepts of [groups](Self::group) is half-t with 3 degrees of freedom of scale 1, of
/// logits 2.
/// [`Noise`](super::Noise) has the priors of the likelihood's own parameters and of the output's bias.
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
    #[serde(flatten)]
    pub(super) settings: Settings,
    #[serde(flatten)]
    pub(super) decided: Decided,
    #[serde(skip)]
    pub(super) here: Here,
}

/// What is known of a recipe once it has seen a table, a folder or a search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Decided {
    /// Whether features have curves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub curves: bool,
    /// The most draws, where their number is left to the [verdict](super::Fit::verdict): after `draws` of each chain, after
    /// twice as many, and so on, the run ends if it has converged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_draws: Option<usize>,
    /// Whether trajectories are [short](super::RunUntil::Settled), for predictions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_short: bool,
    /// The number of rows from which scalings and the like are learnt, the first ones of the table; the others came by an
    /// [update](super::Fit::update).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learnt_from: Option<usize>,
    /// The rows that were drawn from a table which has more, if the fit is of some.
    #[serde(rename = "most_rows", default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<DrawnRows>,
    /// The number of the completed table, where values are imputed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imputed: Option<imputed::Table>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// The rows in the place of `validation`'s rows.
    #[serde(skip)]
    pub rows: Option<Split>,
    /// The end of the time, where the number of draws depends on it.
    #[serde(skip)]
    pub deadline: Option<Instant>,
    /// Whether candidates with a transform take the logarithm of the response.
    #[serde(skip)]
    pub takes_logs: bool,
    /// Whether the rows have weights.
    #[serde(skip)]
    is_weighted: bool,
    /// Whether there are so many groups that their intercepts are not integrated out.
    #[serde(skip)]
    has_many_groups: bool,
    /// The number of rows of the table.
    #[serde(skip)]
    pub n_rows: usize,
}

impl Recipe {
    pub(super) fn new(task: Task, response: Columns) -> Self {
        Self {
            task,
            reader: CsvReader::of(task, response),
            settings: Settings::default(),
            decided: Decided::default(),
            here: Here::default(),
        }
    }

    /// The recipe with something decided.
    pub(super) fn decide(mut self, change: impl FnOnce(&mut Decided)) -> Self {
        change(&mut self.decided);
        self
    }

    /// Whether there are so many rows that chains of networks begin where ascents end, and take fewer steps.
    pub(super) fn has_many_rows(&self) -> bool {
        self.decided.n_rows >= MANY_ROWS //~ many-rows
    }

    /// What the fit does in another way for its kind of response.
    pub(super) fn kind(&self) -> &'static dyn Kind {
        kinds::of(self.task, self.settings.noise)
    }
}

//! The settings of a recipe: a field each, and a method each.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Recipe;
use crate::data::{CsvReader, Transform};
use crate::fit::choices::{Candidate, Method, RunUntil, WeightPrior};
use crate::fit::kinds::Noise;
use crate::model::Activation;

/// What a user asks of a fit, as plain data: each field has the name of the method of [`Recipe`] that sets it and describes it. `None`
/// stands for the default, which may depend on the table. What serde writes of it is a part of `fit.json`: without `model`, `within`,
/// `most_rows` and `impute`, which a finished fit has no use for.
///
/// ```
/// use bnn_mcmc::fit::{Fit, Settings};
/// let settings = Settings { hidden: Some(vec![8]), draws: Some(500), ..Settings::default() };
/// let recipe = Fit::regression("y").settings(settings);
/// assert_eq!(recipe.in_words(), Fit::regression("y").hidden(&[8]).draws(500).in_words());
/// assert_eq!(recipe.as_settings().chains, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The model by name: [`Recipe::model`].
    #[serde(skip)]
    pub model: Option<Candidate>,
    /// The units of each hidden layer: [`Recipe::hidden`].
    pub hidden: Option<Vec<usize>>,
    /// The activation of the hidden units: [`Recipe::activation`].
    pub activation: Activation,
    /// Whether there is a linear part beside hidden layers: [`Recipe::skip`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<bool>,
    /// The prior of the weights: [`Recipe::weights`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightPrior>,
    /// The distribution of responses around the output: [`Recipe::noise`].
    pub noise: Option<Noise>,
    /// The transform of the response: [`Recipe::transform`].
    #[serde(default, skip_serializing_if = "Transform::is_none")]
    pub transform: Transform,
    /// Whether features come after Yeo and Johnson's power: [`Recipe::power_features`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_features: Option<bool>,
    /// The sampler: [`Recipe::method`].
    pub method: Option<Method>,
    /// The acceptance that warm-up aims at: [`Recipe::target_accept`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_accept: Option<f64>,
    /// The number of chains: [`Recipe::chains`].
    pub chains: Option<usize>,
    /// The iterations of warm-up of each chain: [`Recipe::warmup`].
    pub warmup: Option<usize>,
    /// The draws of each chain: [`Recipe::draws`].
    pub draws: Option<usize>,
    /// What ends a run whose number of draws is left open: [`Recipe::run_until`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_until: Option<RunUntil>,
    /// The seed: [`Recipe::seed`].
    pub seed: u64,
    /// The share of rows that are kept for validation: [`Recipe::validation`].
    pub validation: f64,
    /// The time: [`Recipe::within`].
    #[serde(skip)]
    pub within: Option<Duration>,
    /// The most rows that are learnt from: [`Recipe::most_rows`].
    #[serde(skip)]
    pub most_rows: Option<usize>,
    /// The number of completed tables: [`Recipe::impute`].
    #[serde(skip)]
    pub impute: Option<usize>,
}

impl Recipe {
    /// All settings at once, in the place of those that were given before.
    pub fn settings(self, settings: Settings) -> Self {
        let imputes = settings.impute.is_some(); //~ imputes-by-settings
        Self { settings, ..self }.reader(|reader| reader.imputed(imputes))
    }

    /// The settings that were given; of the recipe of a fit, those that were decided, too.
    pub fn as_settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether trajectories are bounded as predictions need them, which a run until they have [settled](RunUntil::Settled) decides.
    pub fn has_short_trajectories(&self) -> bool {
        self.decided.is_short
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
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
        self.set(|settings| settings.model = Some(model))
    }

    /// The time that a fit may take, the [search](crate::fit::Search) of a model included, as far as it can be foreseen: what
    /// gives way are iterations of warm-up and draws that were not asked for. The forecast for chains on all rows is 1.3 times
    /// the pace of the chosen model's chains on the folds (the median of 36 runs). Of 1,000, 500, 300, 200 and 150 iterations
    /// of warm-up, where predictions are to [settle](Self::run_until) of the last three, the first is taken with which warm-up and the first
    /// draws take two thirds of the time that is left or less, or the last. The first draws are 100, and as many as iterations of warm-up, of 150 only
    /// 100, where chains are to converge. Then **chains run until predictions have settled, or chains have converged**: if the
    /// [verdict](crate::fit::Fit::verdict) is another one they make twice as many
    /// draws, and again, at most 16 times as many, as long as the forecast of all stays within two thirds of the time. They double them once more
    /// if four times as many seem to be enough by how errors shrink. The draws of all
    /// chains have at most 2^27 numbers (1 GB, and at most a quarter of the [memory](crate::memory::limit)), and so has one number of each draw for each training row. **The run ends when nine tenths
    /// of the time are over**, with the draws that there are, at least 100 of each chain; warm-up is not cut short, and draws that were asked for are all made. It also ends early where
    /// the verdict is bad for a reason that more draws do not mend.
    ///
    /// All this is written down with the fit, and those settings make the same draws on any machine; a run that goes on in
    /// its folder does not look at the clock again. After two fifths of the time candidates have predicted what they have.
    /// Without this call one minute where a model is chosen and warm-up or draws are not given, three minutes on 5,000 rows or more, and ten minutes until chains have
    /// converged. Where the model was
    /// given, nothing depends on the time. Completed tables of an [imputation](Self::impute) share it.
    pub fn within(self, time: Duration) -> Self {
        self.set(|settings| settings.within = Some(time))
    }

    /// What a run ends with whose number of draws is left open: where the data choose the model, and where this is called and
    /// [`draws`](Self::draws) is not. Without this call [`RunUntil::Settled`]. A fit [in a folder](Self::in_folder) that has settled
    /// goes on until it has converged by the same call with [`RunUntil::Converged`], and keeps its draws. With
    /// [`only_chains`](Self::only_chains) the number of draws must be given.
    pub fn run_until(self, end: RunUntil) -> Self {
        self.set(|settings| settings.run_until = Some(end))
    }

    /// The most rows that the model is fitted to, at least 2. Of a table that has more they are drawn at random, by the
    /// [seed](Self::seed), and the fit is as for a table of these rows alone, as [`Fit::drawn_rows`](crate::fit::Fit::drawn_rows)
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
        self.set(|settings| settings.most_rows = Some(rows))
    }

    /// Fits so many completed copies of a table with missing values, 2 or more: **multiple imputation**. The [chains](Self::chains) are
    /// for each copy.
    ///
    /// In each copy the missing cells of features are drawn given all other cells, the response among them, by chained
    /// equations: a cell takes the value, or the residual, of a row which is like its own. Each copy has
    /// chains of its own, several for each, so that [R-hat](crate::diagnostics::rhat) within a copy judges sampling, and the
    /// spread between the copies is what the gaps leave open. Predictions are of all draws of all copies together:
    ///
    /// ```text
    /// p(y | x, data) = E[ p(y | x, q) ]    q ~ p(q | table m), m uniform on 1 .. M
    /// ```
    ///
    /// The missing cells of new rows are drawn, too, given the row's other cells, in each copy for one of twenty parts of its
    /// draws after another. Cells are taken to be
    /// missing at random: whether one is missing depends on cells that are known, the response among them. The features
    /// `column is missing` are in the [data](crate::fit::Fit::data), but 0 in all rows that the model sees: where the response decides
    /// what is missing, they would take a part of the effects of other features. Their weights have no effect.
    ///
    /// Without this call the median stands there and is marked. That is better where a gap itself says
    /// something of the response, as for rows to come with the same gaps. Imputation is better for the effects of features
    /// with gaps, which the median weakens, and for predictions of complete rows.
    ///
    /// Draws of M copies know the posterior's spread the better the more copies there are: with 5 they are somewhat too
    /// narrow, 10 or more are better (Zhou and Reiter 2010, <https://doi.org/10.1198/tast.2010.09109>).
    ///
    /// ```no_run
    /// use bnn_mcmc::fit::Fit;
    /// let recipe = Fit::regression("price").chains(2).seed(1).in_folder("run");
    /// let fit = recipe.impute(10).read_csv("houses.csv")?;
    /// let (table, verdict) = fit.worst_table()?; // whose chains agree least
    /// println!("table {table}: {verdict}; gaps make {:.2} of the variance", fit.missing_information()?);
    /// println!("{}", fit.predict_csv("new.csv")?);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// In a [folder](Self::in_folder) each table has one of its own, `table-0`, `table-1`, ..., as the fit of one table
    /// has: after a kill the same call goes on. A run that was stopped has the tables that were done by then, or the first
    /// one with the draws that it had.
    ///
    /// Source: Rubin 1987, Multiple Imputation for Nonresponse in Surveys, <https://doi.org/10.1002/9780470316696>.
    pub fn impute(self, tables: usize) -> Self {
        self.set(|settings| settings.impute = Some(tables)).reader(|reader| reader.imputed(true))
    }

    /// The units of each hidden layer; none for a linear model.
    pub fn hidden(self, units: &[usize]) -> Self {
        self.set(|settings| settings.hidden = Some(units.to_vec()))
    }

    /// The activation of the hidden units.
    pub fn activation(self, activation: Activation) -> Self {
        self.set(|settings| settings.activation = activation)
    }

    /// Whether a linear part stands beside the hidden layers: [skip-layer connections](crate::model::Skip) from
    /// the features to the outputs. A linear model has nothing else.
    pub fn skip(self, skip: bool) -> Self {
        self.set(|settings| settings.skip = Some(skip))
    }

    /// The prior of the weights.
    pub fn weights(self, weights: WeightPrior) -> Self {
        self.set(|settings| settings.weights = Some(weights))
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
        self.set(|settings| settings.noise = Some(noise))
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
        self.set(|settings| settings.transform = transform)
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
        self.set(|settings| settings.power_features = Some(power))
    }

    /// The method that samples the posterior.
    pub fn method(self, method: Method) -> Self {
        self.set(|settings| settings.method = Some(method))
    }

    /// The mean acceptance probability that warm-up adapts the step size to, above 0 and below 1.
    /// The default is the sampler's: 0.8 for NUTS and for the rungs of [`Method::Tempered`], 0.9
    /// for [`Method::Mams`], [`Method::Collapsed`] and [`Method::Ensemble`]. A larger value makes smaller steps, which help against a few
    /// divergent transitions.
    pub fn target_accept(self, probability: f64) -> Self {
        self.set(|settings| settings.target_accept = Some(probability))
    }

    /// The number of chains, at least 1: of an ensemble the number of members, at least 2.
    pub fn chains(self, chains: usize) -> Self {
        self.set(|settings| settings.chains = Some(chains))
    }

    /// Iterations of warm-up of each chain: of an ensemble the steps of the ascent and, for the last
    /// 100 of them (at most half), the warm-up of the sampler.
    pub fn warmup(self, warmup: usize) -> Self {
        self.set(|settings| settings.warmup = Some(warmup))
    }

    /// Draws of each chain, or member.
    pub fn draws(self, draws: usize) -> Self {
        self.set(|settings| settings.draws = Some(draws))
    }

    /// The seed of all random numbers, including the noise in predictions: fits with the same seed
    /// share them (see [`Posterior::predict_seeded`](crate::posterior::Posterior::predict_seeded)).
    pub fn seed(self, seed: u64) -> Self {
        self.set(|settings| settings.seed = seed)
    }

    /// The share of rows, from 0 to below 1, that the model does not learn from: [`Fit::validation`](crate::fit::Fit::validation)
    /// has them. The rows are chosen at random by the seed; classes keep their shares.
    pub fn validation(self, share: f64) -> Self {
        self.set(|settings| settings.validation = share)
    }

    /// The column of the exposure of the counts, such as the years in which each was counted: the
    /// network's output is the log of the rate for an exposure of 1, and the expected count is the
    /// rate times the exposure; of a [hurdle](Noise::HurdlePoisson) the share of zeros does not depend on
    /// it. It is no feature: [`Fit::predict_new`](crate::fit::Fit::predict_new) and [`fit`](Self::fit) take its logarithm, `log
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
    /// [has the weights](crate::data::Dataset::with_weights), with or without this call.
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
    /// and [`Predicted::stand_ins`](crate::fit::Predicted::stand_ins) says so. New groups of one table share one draw
    /// of it. Where log standard deviations of the noise are linear in the features, they have a slope for each
    /// group, too. With [`fit`](Self::fit) and [`Fit::predict_new`](crate::fit::Fit::predict_new) the last columns are the indicators
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
}

//! From a table to an answer: a model fitted to a CSV file, saved, loaded, and asked about new rows.
//!
//! A [`Fit`] puts the parts of this crate together: it reads the table, chooses a model by the data unless
//! one is given ([`Search`]), standardises features and response by the
//! training rows, builds a [`Posterior`], runs a [`Sampler`](crate::sampler::Sampler), and answers
//! in the units of the table. It has no mathematics of its own: the rest of the crate works on
//! [`Fit::posterior`] and [`Fit::draws`].
//!
//! ```no_run
//! use bnn_mcmc::fit::Fit;
//!
//! // Killed, the same call goes on; finished, it loads the folder.
//! let fit = Fit::regression("strength").seed(1).in_folder("run").read_csv("concrete.csv")?;
//! println!("{}", fit.verdict()?);
//! println!("{}", fit.scores(&fit.read("test.csv")?)?);
//! println!("{}", fit.loo()?); // how well each training row is predicted from the others
//! fit.to_zarr("for_arviz.zarr")?;
//!
//! // Later, elsewhere, without the training file:
//! let fit = Fit::load("run")?;
//! let new = fit.predict_csv("new.csv")?; // without a column `strength`
//! println!("{new}"); // how many rows lie outside the range of the training data
//! new.predictions.to_csv("predictions.csv")?; // in the units of `strength`
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

mod calibrated;
mod checks;
mod choices;
mod conformal;
mod decompose;
mod ensemble;
mod explain;
mod folder;
mod forecast;
mod imputed;
mod likelihood;
mod linear;
mod parts;
mod range;
mod recipe;
mod relevance;
mod rows;
mod run;
mod saved;
mod search;
mod sensitivity;
mod told;
mod unflushed;
mod update;
mod words;

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ndarray::{Array2, Array4, ArrayView2, Axis, concatenate};
use rand::RngCore;

pub use self::checks::PredictiveChecks;
pub use self::choices::{Candidate, Method, Noise, WeightPrior};
pub use self::forecast::{Forecast, ForecastRun};
pub use self::imputed::Imputed;
pub use self::likelihood::AnyLikelihood;
pub use self::range::{FeatureRange, Outside, Predicted};
pub use self::recipe::{DrawnRows, Recipe};
pub use self::relevance::Relevance;
use self::rows::Sum;
pub use self::search::{Search, Trial, Tried};
pub use self::sensitivity::PriorSensitivity;
pub use self::told::Told;
pub use self::update::UpdatedFit;
use crate::Error;
use crate::data::{
    Columns, Dataset, Features, Lines, Scaler, Schema, Split, StandIn, Standardise, Task,
};
use crate::diagnostics::Verdict;
use crate::draws::Draws;
use crate::likelihood::{Likelihood, NormalNoise};
use crate::message::{Advice, count, number};
use crate::model::{LogSd, Mlp, NonCentred, Offset, Skip};
use crate::posterior::Posterior;
use crate::predict::{Centre, Loo, Pit, Predictions, Scores, moments};
use crate::rng::ChainRng;

/// The model of a [`Fit`]: a network, with a linear part beside it if [asked for](Recipe::skip),
/// with scales of its weights if [they are sampled](WeightPrior::Scales), and with a model of the noise
/// if [it is heteroscedastic](Noise::Heteroscedastic).
pub type Network = Offset<LogSd<NonCentred<Skip<Mlp>>>>;

/// The most training rows by whose predictions a verdict is passed.
const JUDGED: usize = 200;

/// A network fitted to a table. See the [module](self).
#[derive(Debug)]
pub struct Fit {
    parts: Arc<Parts>,
    draws: Draws,
    save_error: Option<Error>,
    rebuilt: Vec<String>,
}

/// The parts of a fit other than the draws.
#[derive(Debug)]
struct Parts {
    recipe: Recipe,
    origin: Origin,
    /// The rows that were given, in their own units.
    data: Dataset,
    /// The rows that were kept for validation, if some were.
    split: Option<Split>,
    /// Training rows, in their own units, if some were kept for validation.
    own_train: Option<Dataset>,
    validation: Option<Dataset>,
    features: Scaler,
    /// The scaler of a real response, unless it is shares.
    response: Option<Scaler>,
    ranges: Vec<FeatureRange>,
    posterior: Posterior<Network, AnyLikelihood>,
}

/// The file that the rows of a fit come from, if there is one.
#[derive(Clone, Debug, Default)]
struct Origin {
    /// The schema by which it was read.
    schema: Option<Schema>,
    /// The line of each row; unknown of a folder that an earlier version has written.
    lines: Option<Lines>,
    /// The lines that were left out.
    dropped: Vec<usize>,
    /// The cells that something else stands in for.
    stand_ins: Vec<StandIn>,
}

impl Parts {
    fn new(recipe: Recipe, data: Cow<Dataset>, origin: Origin) -> Result<Self, Error> {
        let recipe = recipe.for_rows(&data)?;
        recipe.check_transform(&data, &origin)?;
        recipe.check_shares(&data, &origin)?;
        recipe.check_times(&data, &origin)?;
        // Indicators of groups and an offset come after the features, and are neither scaled nor learnt from.
        let n_features = recipe.columns_of(&data)?.features;
        let learnt = |ranges: Vec<FeatureRange>| -> Vec<FeatureRange> {
            ranges.into_iter().take(n_features).collect()
        };
        let split = recipe.split(&data)?;
        let (train, validation) = match &split {
            None => (Cow::Borrowed(&*data), None),
            Some(split) => {
                let (train, validation) = split.apply(&data)?;
                (Cow::Owned(train), Some(validation))
            }
        };
        let counted = train.counted();
        if counted.rows() < 2 {
            let expected = match (counted.rows() < train.rows(), validation.is_some()) {
                (true, _) => "at least 2 with a weight above 0",
                (false, true) => "at least 2: a smaller share of the rows for validation",
                (false, false) => "at least 2",
            };
            return Err(Error::shape("training rows", counted.rows(), expected));
        }
        //~ fitted-ranges
        let ranges = learnt(range::ranges(counted.x().view(), train.feature_names()));
        if let Some(y) = counted.response().real() {
            let ranges = range::ranges(y.view(), train.response_names());
            let nothing = |_| "there is nothing to learn of this response".into();
            check_constant(&ranges, counted.rows(), nothing)?;
        }
        // A level may lie among the validation rows alone.
        let model_rows = imputed::without_marks(&recipe, &train, &origin)?;
        // What is learnt beside the posterior is learnt from these rows, which come first.
        let learnt_from = recipe.first_training_rows(&train, &data)?;
        //~ powers-of-fit
        let scaling = Standardise::new().allow_constant().after(recipe.transform_of_features());
        let first_rows = model_rows.first(learnt_from);
        // The scaling stays when the fit is updated by more rows.
        let first_of_table = data.first(recipe.first_rows(&data)?);
        //~ fitted-features
        let mut features = scaling.fit_features(&first_rows)?.within(&first_rows, &first_of_table);
        for place in n_features..data.n_features() {
            features = features.without(place); //~ offset-scale
        }
        let mut scaled = features.scale_features(&model_rows)?;
        drop(model_rows);
        let response = match train.response().real() {
            Some(_) if recipe.has_shares() => None,
            Some(_) => {
                let (scaling, first) =
                    (Standardise::new().after(recipe.transform), scaled.first(learnt_from));
                Some(scaling.fit_response(&first)?) //~ fitted-response
            }
            None => None,
        };
        if let Some(scaler) = &response {
            scaled = scaler.scale_response(&scaled)?;
        }
        let columns = origin.schema.as_ref().map(Schema::columns_of_features);
        let mut columns = columns.unwrap_or_else(|| scaled.feature_names().to_vec());
        columns.truncate(n_features);
        let mut posterior = recipe.posterior(&scaled.first(learnt_from), &columns)?;
        if learnt_from < scaled.rows() {
            posterior = posterior.given(&scaled)?;
        }
        drop(scaled);
        let own_train = match train {
            Cow::Borrowed(_) => None,
            Cow::Owned(train) => Some(train),
        };
        let data = data.into_owned();
        Ok(Self {
            recipe,
            origin,
            data,
            split,
            own_train,
            validation,
            features,
            response,
            ranges,
            posterior,
        })
    }

    /// The training rows, in their own units.
    fn own_train(&self) -> &Dataset {
        self.own_train.as_ref().unwrap_or(&self.data)
    }

    /// The training rows, as the posterior has them.
    fn train(&self) -> Result<Dataset, Error> {
        self.scaled(self.own_train())
    }

    /// These of the training rows, as the posterior has them, without weights.
    fn train_rows(&self, rows: &[usize]) -> Result<Dataset, Error> {
        self.scaled(&self.own_train().rows_of(rows).without_weights())
    }

    fn scaled(&self, rows: &Dataset) -> Result<Dataset, Error> {
        let model_rows = imputed::without_marks(&self.recipe, rows, &self.origin)?;
        let scaled = self.features.scale_features(&model_rows)?;
        match &self.response {
            None => Ok(scaled),
            Some(scaler) => scaler.scale_response(&scaled),
        }
    }

    /// [`Fit::judged`], of these draws.
    fn judged(&self, draws: &Draws) -> Result<Predictions, Error> {
        // Rows of weight 0 are as good as others to compare chains on.
        let rows = self.train_rows(&self.judged_rows())?;
        let judged = self.posterior.predict(draws, &rows)?;
        let target_accept = self.recipe.aimed_at(self.data.response().width());
        Ok(judged.with_settings(target_accept, self.validation.is_some()))
    }

    fn judged_rows(&self) -> Vec<usize> {
        let rows = self.own_train().rows();
        (0..rows.min(JUDGED)).map(|i| i * rows / rows.min(JUDGED)).collect() //~ judged-rows
    }

    /// The parts of a fit that has made these draws: the number of draws is no longer open.
    fn ended(mut self, draws: &Draws) -> Self {
        let drawn = (!draws.info().stopped_early).then_some(draws.n_draws());
        self.recipe = self.recipe.ended(drawn);
        self
    }

    /// Writes the contents of `data.csv`.
    fn write_rows(&self, to: &mut dyn Write) -> Result<(), csv::Error> {
        rows::write(&self.data, self.recipe.weights_column(&self.data), to)
    }

    /// The checksum of `data.csv`, which is not held as text.
    fn sum_of_rows(&self) -> Result<Sum, Error> {
        let mut sum = Sum::default();
        self.write_rows(&mut sum).map_err(|e| Error::argument(saved::DATA, e, "writable"))?;
        Ok(sum)
    }
}

/// The first `n_features` features that have the same value in all rows that count, beside others of their column: a label of a
/// row of weight 0, the season of dates on one day of the year. They have no effect.
///
/// # Errors
/// A column none of whose features differs.
fn check_features(
    data: &Dataset,
    n_features: usize,
    schema: Option<&Schema>,
) -> Result<Vec<String>, Error> {
    let counted = data.counted();
    let mut ranges = range::ranges(counted.x().view(), data.feature_names());
    ranges.truncate(n_features);
    let columns = schema.map(Schema::columns_of_features);
    let columns = columns.unwrap_or_else(|| data.feature_names().to_vec());
    let of_columns = ranges.iter().zip(&columns);
    let has_others = |column: &String| {
        of_columns.clone().any(|(range, of)| of == column && !range.is_constant())
    };
    let leave_out = |column| Advice::Ignore { column, if_identifier: false };
    let mut constant = Vec::new();
    // Of too few rows it is said that they are.
    if counted.rows() < 2 {
        return Ok(constant);
    }
    for (range, column) in of_columns.clone().filter(|(range, _)| range.is_constant()) {
        if !has_others(column) {
            let whole = FeatureRange { feature: column.clone(), ..range.clone() };
            check_constant(&[whole], counted.rows(), leave_out)?;
        }
        constant.push(range.feature.clone()); //~ constant-beside-others
    }
    Ok(constant)
}

/// An error if a column has the same value in all rows, with advice about the column of that name.
fn check_constant(
    ranges: &[FeatureRange],
    rows: usize,
    what: impl Fn(String) -> Advice,
) -> Result<(), Error> {
    match ranges.iter().find(|range| range.is_constant()) {
        None => Ok(()),
        Some(FeatureRange { feature, low, .. }) => {
            let problem = format!("constant ({}) over all {}", number(*low), count(rows, "row"));
            let error = Error::table(format!("column `{feature}`"), problem);
            Err(error.advise([what(feature.clone())]))
        }
    }
}

impl Fit {
    /// A recipe for a real response: the name, or the position, of one column or several.
    pub fn regression(response: impl Into<Columns>) -> Recipe {
        Recipe::new(Task::Regression, response.into())
    }

    /// A recipe for classes: the name, or the position, of their column.
    pub fn classification(response: impl Into<Columns>) -> Recipe {
        Recipe::new(Task::Classification, response.into())
    }

    /// A recipe for counts 0, 1, 2, ... in one column: its name or position.
    pub fn counts(response: impl Into<Columns>) -> Recipe {
        Recipe::new(Task::Counts, response.into())
    }

    /// A recipe for times, some of which are known only to be longer, or to lie between bounds: the column's name or
    /// position. The column of [`Recipe::event`] or [`Recipe::until`] says which.
    pub fn survival(response: impl Into<Columns>) -> Recipe {
        Recipe::new(Task::Survival, response.into())
    }

    /// A recipe for a response of any kind.
    pub fn of(task: Task, response: impl Into<Columns>) -> Recipe {
        Recipe::new(task, response.into())
    }

    /// The rows that were drawn from a table which has more, if the fit is of some of its rows: see [`Recipe::most_rows`].
    pub fn drawn_rows(&self) -> Option<DrawnRows> {
        self.parts.recipe.drawn
    }

    /// The verdict on the run: whether the chains agree about the predictions of the training rows (at
    /// most 200 of them, evenly spaced), the log likelihood and the log prior; if they do not, why, as far
    /// as it can be told, and how much that matters for predictions.
    ///
    /// # Errors
    /// If the run was ended before the first draw.
    pub fn verdict(&self) -> Result<Verdict, Error> {
        self.judged()?.verdict()
    }

    /// The predictions that the [verdict](Self::verdict) judges: of at most 200 training rows,
    /// evenly spaced, **on the scale of the standardised response**. They serve for diagnostics, as
    /// by [`Predictions::summary`].
    ///
    /// # Errors
    /// If the run was ended before the first draw; predictions that do not fit into memory.
    pub fn judged(&self) -> Result<Predictions, Error> {
        self.parts.judged(&self.draws)
    }

    /// The [training rows](Self::training) that are [judged](Self::judged).
    pub fn judged_rows(&self) -> Vec<usize> {
        self.parts.judged_rows()
    }

    /// The fit with every `k`-th draw of each chain, as by [`Draws::thinned`]: for predictions of many
    /// rows, which need memory and time for every draw. It cannot be [saved](Self::save).
    ///
    /// ```
    /// # use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin()))?;
    /// let fit = Fit::regression("y").hidden(&[4]).chains(2).warmup(100).draws(100).fit(&data)?;
    /// let few = fit.thinned(10)?;
    /// assert_eq!(few.predict(fit.data())?.mean().dim().1, 10); // draws of each chain
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `k` is 0 or larger than the number of draws of a chain.
    pub fn thinned(&self, k: usize) -> Result<Self, Error> {
        let (parts, draws) = (self.parts.clone(), self.draws.thinned(k)?);
        Ok(Self { parts, draws, save_error: None, rebuilt: Vec::new() })
    }

    /// Predictions of rows with a known response, in the response's own units; the rows are in their
    /// own units, too.
    ///
    /// # Errors
    /// Features, responses or classes that differ from the training data's; predictions that do not
    /// fit into memory.
    pub fn predict(&self, rows: &Dataset) -> Result<Predictions, Error> {
        self.predict_seeded(rows, self.draws.info().seed)
    }

    /// Predicts like [`predict`](Self::predict), with `seed` for the posterior predictive draws.
    fn predict_seeded(&self, rows: &Dataset, seed: u64) -> Result<Predictions, Error> {
        let Parts { features, response, posterior, .. } = &*self.parts;
        let scaled = features.scale_features(rows)?; //~ scaled-features
        let scaled = match response {
            None => scaled,
            Some(scaler) => scaler.scale_response(&scaled)?,
        };
        let parts = self.in_parts(rows.x().view(), seed, |draws, x, seed| match x {
            None => posterior.predict_seeded(draws, &scaled, seed),
            Some(x) => posterior.predict_seeded(draws, &scaled.clone().with_x(x)?, seed),
        })?;
        let predictions = Predictions::of_parts(parts, || posterior.trace(&self.draws))?;
        match response {
            None => Ok(predictions),
            Some(scaler) => predictions.unscaled_beside(scaler, rows.real()?),
        }
    }

    /// What is computed from the draws and from rows `x`. Of an [imputed](Imputed) table it is computed in parts of the draws, each with
    /// scaled features of its own, in which the missing cells were drawn anew, and with a seed of its own.
    fn in_parts<T>(
        &self,
        x: ArrayView2<f64>,
        seed: u64,
        of: impl Fn(&Draws, Option<Array2<f64>>, u64) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let Some(completion) = imputed::completion(&self.parts, x)? else {
            return Ok(vec![of(&self.draws, None, seed)?]);
        };
        let n = self.draws.n_draws();
        // With a copy, when the parts are put together.
        let size = (self.draws.n_chains(), 2 * n, x.nrows());
        self.parts.posterior.check_size(size, 2)?;
        let parts = imputed::COMPLETIONS.min(n).max(1);
        let part = |k: usize| {
            let x = self.parts.features.transform(completion.draw(x, k as u64).view())?;
            let seed = match k {
                0 => seed,
                _ => ChainRng::new(seed, imputed::STREAM).child(k as u64).next_u64(), //~ seed-of-part
            };
            of(&self.draws.range(k * n / parts..(k + 1) * n / parts), Some(x), seed)
        };
        (0..parts).map(part).collect()
    }

    /// A number of each draw, row and column for new rows `x`, [in parts](Self::in_parts).
    fn of_parts(
        &self,
        x: ArrayView2<f64>,
        of: impl Fn(&Draws, ArrayView2<f64>) -> Result<Array4<f64>, Error>,
    ) -> Result<Array4<f64>, Error> {
        let scaled = self.parts.features.transform(x)?;
        let of_part = |draws: &Draws, x: Option<Array2<f64>>, _| {
            of(draws, x.as_ref().unwrap_or(&scaled).view())
        };
        let parts = self.in_parts(x, 0, of_part)?;
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        let all = concatenate(Axis(1), &views);
        let all = all.map_err(|e| Error::argument("draws", e, "of one shape"))?;
        Ok(all.as_standard_layout().into_owned())
    }

    /// Predictions of new rows `x` `[rows x features]`, whose columns are in the order of the training
    /// data's features and in their units.
    ///
    /// # Errors
    /// Another number of features, a number that is not finite, predictions that do not fit into
    /// memory.
    pub fn predict_new(&self, x: ArrayView2<f64>) -> Result<Predicted, Error> {
        let Parts { features, response, posterior, ranges, .. } = &*self.parts;
        let expected = features.columns().len();
        if x.ncols() != expected {
            let what = "number of features of the new rows";
            return Err(Error::shape(what, x.ncols(), expected));
        }
        let scaled = features.transform(x)?;
        let seed = self.draws.info().seed;
        let parts = self.in_parts(x, seed, |draws, x, seed| {
            let x = x.as_ref().unwrap_or(&scaled);
            posterior.predict_new_seeded(draws, x.view(), seed)
        })?;
        let predictions = Predictions::of_parts(parts, || posterior.trace(&self.draws))?;
        let predictions = match response {
            None => predictions,
            Some(scaler) => predictions.unscaled(scaler)?, //~ unscaled-predictions
        };
        let outside = range::outside(x, ranges);
        let (dropped, stand_ins, unused) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Predicted { predictions, outside, dropped, stand_ins, unused })
    }

    /// The standard deviation of y given x and each draw, the noise alone, in the units of the response,
    /// for new rows as of [`predict_new`](Self::predict_new): `[chain, draw, row, column]`. See
    /// [`Posterior::predict_noise_sd`]. After a [transform](Recipe::transform) it depends on the mean, and is infinite of
    /// noise that is not normal.
    ///
    /// # Errors
    /// The errors of [`predict_new`](Self::predict_new); a response of classes.
    pub fn predict_noise_sd(&self, x: ArrayView2<f64>) -> Result<Array4<f64>, Error> {
        let Parts { response, posterior, .. } = &*self.parts;
        let sd = self.of_parts(x, |draws, x| posterior.predict_noise_sd(draws, x))?;
        let Some(scaler) = response else { return Ok(sd) };
        let noise = posterior.likelihood().normal_noise();
        let has_moments = !matches!(noise, None | Some(NormalNoise::Mixture(_)));
        let mean = match scaler.is_affine() {
            true => sd.clone(),
            false if !has_moments => {
                return Ok(sd.mapv(|_| f64::INFINITY));
            }
            false => self.of_parts(x, |draws, x| posterior.predict_mean(draws, x))?,
        };
        Ok(moments(scaler, &mean, &sd.pow2(), 1).sqrt())
    }

    /// What point predictions are in the units of the response: means, or medians after a [transform](Recipe::transform) with
    /// noise that is not normal, see [`Predictions::unscaled`].
    pub fn centre(&self) -> Centre {
        let Parts { response, posterior, .. } = &*self.parts;
        let is_affine = response.as_ref().is_none_or(Scaler::is_affine);
        match posterior.likelihood().normal_noise() {
            None | Some(NormalNoise::Mixture(_)) if !is_affine => Centre::Median, //~ centre-of-fit
            _ => Centre::Mean,
        }
    }

    /// Predictions of the rows of a CSV file, in which the response's column may be missing. It is
    /// read as the training file was; columns that the training file does not have are not used.
    ///
    /// # Errors
    /// If the fit is not of a CSV file, or the file cannot be read; the errors of
    /// [`predict_new`](Self::predict_new).
    pub fn predict_csv(&self, path: impl AsRef<Path>) -> Result<Predicted, Error> {
        let new = self.schema_or_error()?.read_features_path(path)?;
        if new.names != self.parts.data.feature_names() {
            let allowed = format!("{:?}", self.parts.data.feature_names());
            return Err(Error::argument("features", format!("{:?}", new.names), allowed));
        }
        let predicted = self.predict_new(new.x.view())?;
        let Features { dropped, stand_ins, unused, .. } = new;
        Ok(Predicted { dropped, stand_ins, unused, ..predicted })
    }

    /// Reads another file with a known response as the training file was read: rows for
    /// [`scores`](Self::scores) and [`predict`](Self::predict). [`Schema::read_path`] of the [schema](Self::schema) also says which lines were left
    /// out, what stands in for missing values, and which labels training did not have.
    ///
    /// # Errors
    /// If the fit is not of a CSV file, or the file cannot be read.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Dataset, Error> {
        Ok(self.schema_or_error()?.read_path(path)?.dataset)
    }

    fn schema_or_error(&self) -> Result<&Schema, Error> {
        self.parts.origin.schema.as_ref().ok_or_else(|| {
            let allowed = "of a file, to read other files in the same way";
            Error::argument("fit", "of a data set that was not read from a file", allowed)
        })
    }

    /// The scores of predictions of rows with a known response, in its own units.
    ///
    /// # Errors
    /// The errors of [`predict`](Self::predict).
    pub fn scores(&self, rows: &Dataset) -> Result<Scores, Error> {
        self.predict(rows)?.scores()
    }

    /// The leave-one-out predictive accuracy for each training row, without refits:
    /// [PSIS-LOO](Loo), in units of the response. Its warnings call rows as
    /// [`training_row_name`](Self::training_row_name) does. [`Loo::compare`] compares fits by it,
    /// and refuses, by the name that you give it, a fit of other rows or of another response:
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = Dataset::regression(x.clone(), x.mapv(|x| 100.0 * (2.0 * x).sin()))?;
    /// let recipe = Fit::regression("height").chains(2).warmup(100).draws(100);
    /// let line = recipe.clone().hidden(&[]).fit(&data)?;
    /// let network = recipe.hidden(&[4]).fit(&data)?;
    /// println!("{}", Loo::compare(&[("line", &line.loo()?), ("network", &network.loo()?)])?);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Posterior::loo`].
    pub fn loo(&self) -> Result<Loo, Error> {
        let loo = self.parts.posterior.loo(&self.draws)?;
        let loo = match self.lines().is_some() || self.split().is_some() {
            true => {
                let rows = 0..self.training().rows();
                loo.with_row_names(rows.map(|row| self.training_row_name(row)).collect())
            }
            false => loo,
        };
        match &self.parts.response {
            None => Ok(loo),
            Some(scaler) => loo.unscaled(scaler, self.training()),
        }
    }

    /// The probability integral transform of each training response under its prediction from the other
    /// rows, without refits: [`Posterior::loo_pit`]. Uniform if predictions are calibrated.
    ///
    /// # Errors
    /// Classes; else as [`Posterior::loo_pit`].
    pub fn loo_pit(&self, seed: u64) -> Result<Pit, Error> {
        self.parts.posterior.loo_pit(&self.draws, &self.parts.train()?, seed) //~ loo-pit-rows
    }

    /// Writes the draws to a new Zarr folder with their predictions for the training rows, for
    /// ArviZ: the groups `posterior_predictive`, `log_likelihood`, `observed_data` and
    /// `constant_data` of [`Posterior::to_zarr`], in the units of the table. The response is called
    /// by its name, and log densities are of the response in its own units, as in
    /// [`loo`](Self::loo).
    ///
    /// The group `posterior` holds weights for standardised features and response, and
    /// `sample_stats` the log densities of these: [`Draws::from_zarr`] reads these groups. The
    /// folder is written beside its place and renamed when it is whole.
    ///
    /// ```no_run
    /// use bnn_mcmc::prelude::*;
    /// let fit = Fit::load("run")?;
    /// fit.to_zarr("for_arviz.zarr")?;
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// ```python
    /// # ArviZ 1 (checked: 1.3)
    /// import arviz
    /// tree = arviz.from_zarr("for_arviz.zarr")
    /// # ArviZ 0.23, whose own `from_zarr` refuses zarr-python 3
    /// import arviz, xarray
    /// tree = arviz.from_datatree(xarray.open_datatree("for_arviz.zarr", engine="zarr"))
    /// # Both
    /// arviz.loo(tree)  # the estimate of `Fit::loo`
    /// ```
    ///
    /// `draws.zarr` in the folder of a run has the groups `posterior` and `sample_stats` alone, for trace plots and
    /// R-hat: `arviz.loo` needs this folder, with the log likelihood of each row.
    ///
    /// # Errors
    /// If there is anything at `path`, or it cannot be written; predictions of all training rows by
    /// all draws that do not fit into memory.
    pub fn to_zarr(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let train = self.training();
        let predictions = self.predict(train)?; //~ written-predictions
        self.parts.posterior.write_zarr(&self.draws, train, &predictions, path.as_ref())
    }

    /// The search that has chosen the model; `None` if the model was given.
    pub fn search(&self) -> Option<&Search> {
        self.parts.recipe.search.as_ref()
    }

    /// The recipe of the fit, with all its settings.
    pub fn recipe(&self) -> &Recipe {
        &self.parts.recipe
    }

    /// The network without its linear part and scales.
    pub fn network(&self) -> &Mlp {
        self.posterior().model().base().base().base().base()
    }

    /// The draws, of the weights for scaled features and response.
    pub fn draws(&self) -> &Draws {
        &self.draws
    }

    /// The posterior that was sampled, of scaled features and response.
    pub fn posterior(&self) -> &Posterior<Network, AnyLikelihood> {
        &self.parts.posterior
    }

    /// The rows that the model learnt from, in their own units.
    pub fn training(&self) -> &Dataset {
        self.parts.own_train()
    }

    /// The rows that the model did not learn from, in their own units; `None` if none were
    /// [asked for](Recipe::validation).
    pub fn validation(&self) -> Option<&Dataset> {
        self.parts.validation.as_ref()
    }

    /// All rows that were given, in their own units.
    pub fn data(&self) -> &Dataset {
        &self.parts.data
    }

    /// The lines of the training file that were left out because of a missing value.
    pub fn dropped(&self) -> &[usize] {
        &self.parts.origin.dropped
    }

    /// The cells of the training file without a value, and what stands in for them, a column each.
    pub fn stand_ins(&self) -> &[StandIn] {
        &self.parts.origin.stand_ins
    }

    /// The line of the training file that each row of [`data`](Self::data) comes from, or its row in a table
    /// [without lines](crate::data::TypedTable); `None` if the fit is not
    /// of a file, or was saved by a version that did not keep them.
    pub fn lines(&self) -> Option<&Lines> {
        self.parts.origin.lines.as_ref()
    }

    /// The rows of [`data`](Self::data) that the model learnt from, and the rows that were kept for
    /// validation; `None` if it learnt from all.
    pub fn split(&self) -> Option<&Split> {
        self.parts.split.as_ref()
    }

    /// The name of a row of [`training`](Self::training): its line in the file that it comes from,
    /// such as `line 17`, in a table without lines its row, counted from 1, such as `row 16`, or else its
    /// place in [`data`](Self::data), counted from 0, such as `row 15`.
    pub fn training_row_name(&self, row: usize) -> String {
        self.row_name(self.split().map_or(Some(row), |split| split.train.get(row).copied()), row)
    }

    /// The name of a row of [`validation`](Self::validation), like
    /// [`training_row_name`](Self::training_row_name).
    pub fn validation_row_name(&self, row: usize) -> String {
        self.row_name(self.split().and_then(|split| split.test.get(row).copied()), row)
    }

    fn row_name(&self, place: Option<usize>, row: usize) -> String {
        let place = place.unwrap_or(row);
        match self.lines().and_then(|lines| lines.place(place)) {
            Some(place) => place.to_string(),
            None => format!("row {place}"),
        }
    }

    /// The schema of the training file, to read other files in the same way; `None` if the fit is
    /// not of a file.
    pub fn schema(&self) -> Option<&Schema> {
        self.parts.origin.schema.as_ref()
    }

    /// The scaling of the features.
    pub fn feature_scaler(&self) -> &Scaler {
        &self.parts.features
    }

    /// The scaling of a real response; `None` for classes and counts.
    pub fn response_scaler(&self) -> Option<&Scaler> {
        self.parts.response.as_ref()
    }

    /// The reason why a run [in a folder](Recipe::in_folder) could not be saved, if so: the disk
    /// may be full. All draws are in memory, and in the checkpoint: repeat the call to try again.
    pub fn save_error(&self) -> Option<&Error> {
        self.save_error.as_ref()
    }

    /// The damaged or missing files of the fit's folder that the call that made this fit wrote
    /// anew, a line for each. A run [in a folder](Recipe::in_folder) rebuilds them from its
    /// checkpoint and the rows that it was given, [`merge`](Self::merge) from the parts.
    pub fn rebuilt(&self) -> &[String] {
        &self.rebuilt
    }

    /// The range of each feature in the training rows.
    pub fn ranges(&self) -> &[FeatureRange] {
        &self.parts.ranges
    }

    /// Writes the fit to a folder, which is made: `fit.json` (a description of the fit, for people,
    /// too), `data.csv` (the rows, with features encoded as numbers), `draws.zarr` (draws and
    /// statistics, which ArviZ opens; for its leave-one-out and predictive checks see
    /// [`to_zarr`](Self::to_zarr)) and `verdict.txt`. [`Fit::load`] needs nothing else.
    ///
    /// A [stopped](Recipe::stop_handle) run is saved with the draws that it has made.
    ///
    /// # Errors
    /// If the folder exists and is not empty, or something cannot be written; a fit that was
    /// [thinned](Self::thinned). Files that a killed process left in the folder do not count.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        self.check_whole()?;
        folder::save(folder.as_ref(), self)
    }

    /// Saves the fit into an empty folder like [`save`](Self::save), but without waiting for the
    /// disk: for a folder that lives no longer than the process, such as one that is packed into an
    /// archive. After a loss of power the folder may be damaged.
    ///
    /// # Errors
    /// The errors of [`save`](Self::save).
    pub fn save_unflushed(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        self.check_whole()?;
        unflushed::save(folder.as_ref(), self)
    }

    /// An error if the fit was thinned.
    fn check_whole(&self) -> Result<(), Error> {
        if self.draws.info().thin == 1 {
            return Ok(());
        }
        let allowed = "with all its draws, to be saved: predict with the thinned one";
        Err(Error::argument("fit", "thinned", allowed))
    }

    /// Puts together the parts of a fit that separate jobs have run in the same folder
    /// ([`Recipe::only_chains`]), and writes the fit to that folder as [`save`](Self::save) does.
    /// The result is equal to the fit that one job makes. The folders of the parts stay, and are
    /// not needed any more.
    ///
    /// ```no_run
    /// use bnn_mcmc::fit::Fit;
    /// let recipe = Fit::regression("strength").hidden(&[100]).chains(4).seed(1).in_folder("run");
    /// // Job number 2, say, of an array of four:
    /// recipe.only_chains(2..3).read_csv("concrete.csv")?;
    /// // When all are done:
    /// let fit = Fit::merge("run")?;
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// A chain that is missing, or there twice; parts of different fits, with the difference; a
    /// part that is not finished; else as [`save`](Self::save) and [`load`](Self::load).
    pub fn merge(folder: impl AsRef<Path>) -> Result<Self, Error> {
        parts::merge(folder.as_ref())
    }

    /// Loads a fit that [`save`](Self::save) or a run [in a folder](Recipe::in_folder) has written.
    ///
    /// # Errors
    /// A file that is missing, damaged, edited or of another version, a run that is not finished;
    /// the message names the file and the difference.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, Error> {
        folder::load(folder.as_ref())
    }
}

//! The plan of a fit: all that is decided before anything is sampled.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;

use self::rows::Sum;

use super::inputs::Inputs;
use super::recipe::{FitPosterior, Here};
use super::{
    AnyLikelihood, FeatureRange, Fit, JUDGED, Network, Origin, Recipe, RecipeLine, folder, imputed,
    range, rows, run, saved,
};
use crate::Error;
use crate::data::{Dataset, Scaler, Schema, Split, Standardise};
use crate::draws::Draws;
use crate::message::{Advice, count, number};
use crate::posterior::Posterior;
use crate::predict::Predictions;
use crate::run::check_only;

/// All that is decided of a fit before its posterior is sampled: which rows are learnt from, how they are scaled, the model with its priors
/// and likelihood, the sampler and its sizes. [`Recipe::plan`] makes one, [`run`](Self::run) samples it, and a [`Fit`] is a plan with
/// its draws. Printed, it is the lines of its recipe, in which nothing is left open but, where the
/// [run decides](Recipe::run_until), the number of draws.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
/// # let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin()))?;
/// let plan = Fit::regression("y").hidden(&[4]).chains(2).validation(0.25).plan(&data, None)?;
/// println!("{plan}"); // network, priors, noise, sampler ..., a line each
/// assert_eq!(plan.posterior().dim(), 14);
/// assert_eq!((plan.training().rows(), plan.validation().unwrap().rows()), (30, 10));
/// let fit = plan.run()?;
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Debug)]
pub struct Plan {
    pub(super) recipe: Recipe,
    pub(super) origin: Origin,
    /// The rows that were given, in their own units.
    pub(super) data: Dataset,
    /// The rows that were kept for validation, if some were.
    pub(super) split: Option<Split>,
    /// Training rows, in their own units, if some were kept for validation.
    own_train: Option<Dataset>,
    pub(super) validation: Option<Dataset>,
    pub(super) features: Inputs,
    /// The scaler of a real response, unless it is shares.
    pub(super) response: Option<Scaler>,
    pub(super) ranges: Vec<FeatureRange>,
    pub(super) posterior: FitPosterior,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.recipe.fmt(f)
    }
}

impl Plan {
    /// The recipe, in which the model, the sampler and its sizes are given.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// What is printed, a line for each part.
    pub fn lines(&self) -> Vec<RecipeLine> {
        self.recipe.in_words()
    }

    /// The posterior that is to be sampled, of scaled features and response.
    pub fn posterior(&self) -> &Posterior<Network, AnyLikelihood> {
        &self.posterior
    }

    /// The rows that the model learns from, in their own units.
    pub fn training(&self) -> &Dataset {
        self.own_train()
    }

    /// The rows that the model does not learn from, in their own units; `None` if none were [asked for](Recipe::validation).
    pub fn validation(&self) -> Option<&Dataset> {
        self.validation.as_ref()
    }

    /// Samples the posterior: [`Recipe::fit`] does so at once, and [the time](Recipe::within) counts from the plan on. In a [folder](Recipe::in_folder) it goes on where a run of the same plan was
    /// ended.
    ///
    /// # Errors
    /// A sampler that cannot begin; a folder that cannot be written, or holds another fit.
    pub fn run(self) -> Result<Fit, Error> {
        let Here { folder: into, only_chains, .. } = &self.recipe.here;
        match (into.clone(), only_chains.clone()) {
            (None, _) => {
                let draws = self.recipe.sample(&self, None)?;
                Ok(Fit::new(self.ended(&draws), draws))
            }
            (Some(into), None) => run::run(&into, self),
            (Some(into), Some(chains)) => {
                check_only(&chains, self.recipe.sizes().chains)?;
                run::run(&folder::folder_of(&into, &chains), self)
            }
        }
    }

    pub(super) fn new(recipe: Recipe, data: Cow<Dataset>, origin: Origin) -> Result<Self, Error> {
        let recipe = recipe.for_rows(&data)?;
        recipe.check_response(&data, &origin)?;
        // Indicators of groups and an offset come after the features, and are neither scaled nor learnt from.
        let n_features = recipe.columns_of(&data)?.features;
        let split = recipe.split(&data)?;
        let (train, validation) = match &split {
            None => (Cow::Borrowed(&*data), None),
            Some(split) => {
                let (train, validation) = split.apply(&data)?;
                (Cow::Owned(train), Some(validation))
            }
        };
        //~ fitted-ranges
        let ranges = learnt_ranges(&train, n_features, validation.is_some())?;
        let (features, response, posterior) = learnt(&recipe, &data, &train, &origin, n_features)?;
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
    pub(super) fn own_train(&self) -> &Dataset {
        self.own_train.as_ref().unwrap_or(&self.data)
    }

    /// The training rows, as the posterior has them.
    pub(super) fn train(&self) -> Result<Dataset, Error> {
        self.scaled(self.own_train())
    }

    /// These of the training rows, as the posterior has them, without weights.
    pub(super) fn train_rows(&self, rows: &[usize]) -> Result<Dataset, Error> {
        self.scaled(&self.own_train().rows_of(rows).without_weights())
    }

    pub(super) fn scaled(&self, rows: &Dataset) -> Result<Dataset, Error> {
        let model_rows = imputed::without_marks(&self.recipe, rows, &self.origin)?;
        let scaled = self.features.scale_features(&model_rows)?;
        match &self.response {
            None => Ok(scaled),
            Some(scaler) => scaler.scale_response(&scaled),
        }
    }

    /// `Fit::judged`, of these draws.
    pub(super) fn judged(&self, draws: &Draws) -> Result<Predictions, Error> {
        // Rows of weight 0 are as good as others to compare chains on.
        let rows = self.train_rows(&self.judged_rows())?;
        let judged = self.posterior.predict(draws, &rows)?;
        let target_accept = self.recipe.aimed_at(self.data.response().width());
        Ok(judged.with_settings(target_accept, self.validation.is_some()))
    }

    pub(super) fn judged_rows(&self) -> Vec<usize> {
        let rows = self.own_train().rows();
        (0..rows.min(JUDGED)).map(|i| i * rows / rows.min(JUDGED)).collect() //~ judged-rows
    }

    /// The plan of a fit that has made these draws: the number of draws is no longer open.
    pub(super) fn ended(mut self, draws: &Draws) -> Self {
        let drawn = (!draws.info().stopped_early).then_some(draws.n_draws());
        self.recipe = self.recipe.ended(drawn);
        self
    }

    /// Writes the contents of `data.csv`.
    pub(super) fn write_rows(&self, to: &mut dyn Write) -> Result<(), csv::Error> {
        rows::write(&self.data, self.recipe.weights_column(&self.data), to)
    }

    /// The checksum of `data.csv`, which is not held as text.
    pub(super) fn sum_of_rows(&self) -> Result<Sum, Error> {
        let mut sum = Sum::default();
        self.write_rows(&mut sum).map_err(|e| Error::argument(saved::DATA, e, "writable"))?;
        Ok(sum)
    }
}

/// The ranges of the features in the training rows.
///
/// # Errors
/// Fewer than 2 rows; a response that is the same in all.
fn learnt_ranges(
    train: &Dataset,
    n_features: usize,
    has_validation: bool,
) -> Result<Vec<FeatureRange>, Error> {
    let counted = train.counted();
    if counted.rows() < 2 {
        let expected = match (counted.rows() < train.rows(), has_validation) {
            (true, _) => "at least 2 with a weight above 0",
            (false, true) => "at least 2: a smaller share of the rows for validation",
            (false, false) => "at least 2",
        };
        return Err(Error::shape("training rows", counted.rows(), expected));
    }
    let mut learnt = range::ranges(counted.x().view(), train.feature_names());
    learnt.truncate(n_features);
    if let Some(y) = counted.response().real() {
        let ranges = range::ranges(y.view(), train.response_names());
        let nothing = |_| "there is nothing to learn of this response".into();
        check_constant(&ranges, counted.rows(), nothing)?;
    }
    Ok(learnt)
}

/// What is learnt from the training rows, some of `data`, beside draws: the scaling of the features, of a real response, and the
/// posterior, whose priors may depend on the response.
fn learnt(
    recipe: &Recipe,
    data: &Dataset,
    train: &Dataset,
    origin: &Origin,
    n_features: usize,
) -> Result<(Inputs, Option<Scaler>, FitPosterior), Error> {
    // A level may lie among the validation rows alone.
    let model_rows = imputed::without_marks(recipe, train, origin)?;
    // What is learnt beside the posterior is learnt from these rows, which come first.
    let learnt_from = recipe.first_training_rows(train, data)?;
    //~ powers-of-fit
    let scaling = Standardise::new().allow_constant().after(recipe.transform_of_features());
    let first_rows = model_rows.first(learnt_from);
    // The scaling stays when the fit is updated by more rows.
    let first_of_table = data.first(recipe.first_rows(data)?);
    //~ fitted-features
    let mut features = scaling.fit_features(&first_rows)?.within(&first_rows, &first_of_table);
    for place in n_features..data.n_features() {
        features = features.without(place); //~ offset-scale
    }
    let features = Inputs::new(recipe, features, &first_rows, n_features)?;
    let mut scaled = features.scale_features(&model_rows)?;
    drop(first_rows);
    drop(model_rows);
    let response = match train.response().real().filter(|_| recipe.kind().is_scaled()) {
        Some(_) => {
            let (scaling, first) =
                (Standardise::new().after(recipe.settings.transform), scaled.first(learnt_from));
            Some(scaling.fit_response(&first)?) //~ fitted-response
        }
        None => None,
    };
    if let Some(scaler) = &response {
        scaled = scaler.scale_response(&scaled)?;
    }
    let columns = origin.schema.as_ref().map(Schema::columns_of_features);
    let mut columns = columns.unwrap_or_else(|| train.feature_names().to_vec());
    columns.truncate(n_features);
    let columns = features.columns(&columns);
    let mut posterior = recipe.posterior(&scaled.first(learnt_from), &columns)?;
    if learnt_from < scaled.rows() {
        posterior = posterior.given(&scaled)?;
    }
    Ok((features, response, posterior))
}

/// The first `n_features` features that have the same value in all rows that count, beside others of their column: a label of a
/// row of weight 0, the season of dates on one day of the year. They have no effect.
///
/// # Errors
/// A column none of whose features differs.
pub(super) fn check_features(
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
pub(super) fn check_constant(
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

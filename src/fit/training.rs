//! What a fit learns beside its draws: scalings, ranges, the posterior.

use std::borrow::Cow;
use std::io::Write;

use self::rows::Sum;

use super::inputs::Inputs;
use super::{FeatureRange, JUDGED, Origin, Parts, Recipe, imputed, range, rows, saved};
use crate::Error;
use crate::data::{Dataset, Schema, Standardise};
use crate::draws::Draws;
use crate::message::{Advice, count, number};
use crate::predict::Predictions;

impl Parts {
    pub(super) fn new(recipe: Recipe, data: Cow<Dataset>, origin: Origin) -> Result<Self, Error> {
        let recipe = recipe.for_rows(&data)?;
        recipe.check_response(&data, &origin)?;
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
        let features = Inputs::new(&recipe, features, &first_rows, n_features)?;
        let mut scaled = features.scale_features(&model_rows)?;
        drop(first_rows);
        drop(model_rows);
        let response = match train.response().real().filter(|_| recipe.kind().is_scaled()) {
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
        let mut columns = columns.unwrap_or_else(|| train.feature_names().to_vec());
        columns.truncate(n_features);
        let columns = features.columns(&columns);
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

    /// The parts of a fit that has made these draws: the number of draws is no longer open.
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

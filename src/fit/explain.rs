//! Effects of the columns of a fit's table.

use super::{Fit, Plan};
use crate::Error;
use crate::data::{Dataset, TableColumn};
use crate::explain::{Explainer, Scored, evenly};

/// The most draws of all chains that effects are computed by.
const DRAWS: usize = 1000;
/// The most training rows that effects are averaged over.
const ROWS: usize = 2000;

impl Fit {
    /// Effects of the columns of the table on predictions, with their uncertainty, and how much each column matters: see
    /// [`crate::explain`]. They are averaged over at most 2,000 training rows, evenly spaced, and take every k-th draw, so that
    /// there are at most about 1,000. Values are in the units of the table, effects in the units of the response.
    ///
    /// # Errors
    /// If the run was ended before the first draw; a fit of a table that was completed by imputation, whose missing cells
    /// depend on the others.
    pub fn explain(&self) -> Result<Explainer<'static>, Error> {
        self.explain_rows(&evenly(&self.training().counted(), ROWS)?)
    }

    /// Effects averaged over other rows than [`explain`](Self::explain) takes, such as the rows of one group: training rows, in
    /// the units of the table.
    ///
    /// # Errors
    /// Rows of other features or another response than the training data's; no draws; as [`explain`](Self::explain) of completed tables.
    pub fn explain_rows(&self, rows: &Dataset) -> Result<Explainer<'static>, Error> {
        let Plan { recipe, validation, .. } = &*self.of_one_table()?.plan;
        if recipe.decided.imputed.is_some() {
            let allowed = "a table without missing values, or with stand-ins for them";
            return Err(Error::argument("data", "a table completed by imputation", allowed));
        }
        let few = self.few_draws()?;
        let columns = self.table_columns()?;
        let scored = match (validation, &self.draws.info().approximation) {
            (Some(rows), _) => Scored::Unseen(rows.counted().into_owned().into()),
            (None, None) => Scored::LeftOut,
            (None, Some(_)) => Scored::Neither,
        };
        Explainer::new(move |rows| few.predict(rows), rows, columns, scored)
    }

    /// The fit with every k-th draw, so that there are at most about 1,000 of all chains.
    pub(super) fn few_draws(&self) -> Result<Self, Error> {
        let draws = self.draws.n_chains() * self.draws.n_draws();
        if draws == 0 {
            return Err(Error::shape("draws of the fit", 0, "at least 1 of each chain"));
        }
        self.thinned(draws.div_ceil(DRAWS).min(self.draws.n_draws()))
    }

    /// The columns of the table that are features.
    pub(super) fn table_columns(&self) -> Result<Vec<TableColumn>, Error> {
        let Plan { origin, recipe, data, .. } = &*self.plan;
        Ok(match &origin.schema {
            Some(schema) => schema.feature_columns(),
            None => {
                let features = recipe.columns_of(data)?.features;
                TableColumn::of_features(&data.feature_names()[..features])
            }
        })
    }
}

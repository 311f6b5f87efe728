//! One fit, or those of imputed tables.

use std::path::Path;

use bnn_mcmc::Error;
use bnn_mcmc::data::{Dataset, Schema};
use bnn_mcmc::diagnostics::Verdict;
use bnn_mcmc::fit::{Fit, Imputed, PriorSensitivity, Recipe};
use bnn_mcmc::ndarray::ArrayView2;
use bnn_mcmc::predict::{Conformal, Decomposition, Predictions, Scores};

/// What an estimator has fitted.
pub enum Fits {
    One(Box<Fit>),
    OfTables(Imputed),
}

impl Fits {
    pub fn new(
        recipe: &Recipe,
        impute: Option<usize>,
        data: &Dataset,
        schema: &Schema,
    ) -> Result<Self, Error> {
        match impute {
            None => recipe.fit_like(data, schema).map(|fit| Self::One(fit.into())),
            Some(tables) => Imputed::fit_like(recipe, tables, data, schema).map(Self::OfTables),
        }
    }

    pub fn load(folder: &Path) -> Result<Self, Error> {
        match Imputed::is_in(folder) {
            true => Imputed::load(folder).map(Self::OfTables),
            false => Fit::load(folder).map(|fit| Self::One(fit.into())),
        }
    }

    /// The fit, or that of the first table.
    pub fn first(&self) -> &Fit {
        match self {
            Self::One(fit) => fit,
            Self::OfTables(fits) => &fits.fits()[0],
        }
    }

    /// The fit, for what there is none of several completed tables.
    pub fn of_one_table(&self) -> Result<&Fit, Error> {
        match self {
            Self::One(fit) => Ok(fit),
            Self::OfTables(_) => {
                let allowed = "of one table: what was asked for is not of imputed tables so far";
                Err(Error::argument("model", "of several completed tables", allowed))
            }
        }
    }

    pub fn tables(&self) -> Option<&Imputed> {
        match self {
            Self::One(_) => None,
            Self::OfTables(fits) => Some(fits),
        }
    }

    /// How often the predictions of one fit are in memory.
    pub fn copies(&self) -> usize {
        self.tables().map_or(1, |fits| 2 * fits.fits().len())
    }

    pub fn predict_new(&self, x: ArrayView2<f64>) -> Result<Predictions, Error> {
        let predicted = match self {
            Self::One(fit) => fit.predict_new(x)?,
            Self::OfTables(fits) => fits.predict_new(x)?,
        };
        Ok(predicted.predictions)
    }

    /// Predictions of rows with a response.
    pub fn predict(&self, rows: &Dataset) -> Result<Predictions, Error> {
        match self {
            Self::One(fit) => fit.predict(rows),
            Self::OfTables(fits) => fits.predict(rows),
        }
    }

    /// Conformal regions, calibrated on these rows, or by the training rows.
    pub fn conformal(&self, rows: Option<&Dataset>, level: f64) -> Result<Conformal, Error> {
        match (self, rows) {
            (Self::One(fit), None) => fit.conformal(level),
            (Self::One(fit), Some(rows)) => fit.conformal_on(rows, level),
            (Self::OfTables(fits), None) => fits.conformal(level),
            (Self::OfTables(fits), Some(rows)) => fits.conformal_on(rows, level),
        }
    }

    /// The uncertainty of predictions of `x` in two parts.
    pub fn decomposed(
        &self,
        x: ArrayView2<f64>,
        predictions: &Predictions,
    ) -> Result<Decomposition, Error> {
        match self {
            Self::One(fit) => fit.decompose_predictions(x, predictions),
            Self::OfTables(fits) => fits.decompose_predictions(x, predictions),
        }
    }

    pub fn scores(&self, rows: &Dataset) -> Result<Scores, Error> {
        match self {
            Self::One(fit) => fit.scores(rows),
            Self::OfTables(fits) => fits.scores(rows),
        }
    }

    /// The verdict, of tables on the one whose chains agree least.
    pub fn verdict(&self) -> Result<Verdict, Error> {
        match self {
            Self::One(fit) => fit.verdict(),
            Self::OfTables(fits) => fits.verdict().map(|(_, verdict)| verdict),
        }
    }

    /// How much predictions depend on the prior, where that can be told of one fit.
    pub fn sensitivity(&self) -> Option<PriorSensitivity> {
        match self {
            Self::One(fit) => fit.sensitivity().ok(),
            Self::OfTables(_) => None,
        }
    }

    pub fn save(&self, folder: &Path) -> Result<(), Error> {
        match self {
            Self::One(fit) => fit.save(folder),
            Self::OfTables(fits) => fits.save(folder),
        }
    }

    pub fn save_unflushed(&self, folder: &Path) -> Result<(), Error> {
        match self {
            Self::One(fit) => fit.save_unflushed(folder),
            Self::OfTables(fits) => fits.save_unflushed(folder),
        }
    }

    /// The first reason why one could not be saved in its folder.
    pub fn save_error(&self) -> Option<&Error> {
        match self {
            Self::One(fit) => fit.save_error(),
            Self::OfTables(fits) => fits.fits().iter().find_map(Fit::save_error),
        }
    }
}

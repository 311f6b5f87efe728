//! From a table to an answer: a model fitted to a CSV file, saved, loaded, and asked about new rows.
//!
//! A [`Fit`] puts the parts of this crate together: it reads the table, chooses a model by the data unless
//! one is given ([`Search`]), standardises features and response by the
//! training rows, builds a [`Posterior`], runs a [`Sampler`](crate::sampler::Sampler), and answers
//! in the units of the table. It has no mathematics of its own: the rest of the crate works on
//! [`Fit::posterior`] and [`Fit::draws`].
//!
//! What is asked for is a [`Recipe`], whose [`Settings`] are plain data; what is decided of a table before anything is sampled is a
//! [`Plan`], which can be looked at; with its draws it is a `Fit`.
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
mod inputs;
mod kinds;
mod likelihood;
mod linear;
mod parts;
mod plan;
mod predictions;
mod range;
mod recipe;
mod relevance;
mod rows;
mod run;
mod saved;
mod search;
mod sensitivity;
mod time;
mod told;
mod unflushed;
mod update;
mod words;

use std::path::Path;
use std::sync::Arc;

pub use self::checks::PredictiveChecks;
pub use self::choices::{Candidate, Method, RunUntil, WeightPrior};
pub use self::forecast::{Forecast, ForecastRun};
pub use self::kinds::Noise;
pub use self::likelihood::AnyLikelihood;
pub use self::plan::Plan;
pub use self::range::{FeatureRange, Outside, Predicted};
pub use self::recipe::{DrawnRows, Recipe, Settings};
pub use self::relevance::Relevance;
pub use self::search::{Search, Trial, Tried};
pub use self::sensitivity::PriorSensitivity;
pub use self::told::Told;
pub use self::update::UpdatedFit;
pub use self::words::RecipeLine;
use crate::Error;
use crate::data::{Columns, Dataset, Lines, Scaler, Schema, Split, StandIn, Task};
use crate::diagnostics::Verdict;
use crate::draws::Draws;
use crate::error::Row;
use crate::model::{LogSd, Mlp, NonCentred, Offset, Skip};
use crate::posterior::Posterior;
use crate::predict::Predictions;

/// The model of a [`Fit`]: a network, with a linear part beside it if [asked for](Recipe::skip),
/// with scales of its weights if [they are sampled](WeightPrior::Scales), and with a model of the noise
/// if [it is heteroscedastic](Noise::Heteroscedastic).
pub type Network = Offset<LogSd<NonCentred<Skip<Mlp>>>>;

/// The most training rows by whose predictions a verdict is passed.
const JUDGED: usize = 200;

/// A network fitted to a table, or to each of several completed copies of one ([`Recipe::impute`]). See the [module](self).
///
/// Of several tables, predictions are of all draws of all of them, and [`data`](Self::data), [`draws`](Self::draws) and whatever else is of
/// one table are of the first. A method that has no meaning for several returns the error of [`of_one_table`](Self::of_one_table).
#[derive(Debug)]
pub struct Fit {
    plan: Arc<Plan>,
    draws: Arc<Draws>,
    save_error: Option<Error>,
    rebuilt: Vec<String>,
    /// The fits of completed tables, the first of which has this plan and these draws; empty of one table.
    tables: Vec<Self>,
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

impl Origin {
    /// The place of a row in its file, or its number.
    fn row(&self, row: usize) -> Row {
        let place = self.lines.as_ref().and_then(|lines| lines.place(row));
        place.unwrap_or(Row::Number(row + 1))
    }

    /// The error of a value of the response that is none.
    fn wrong_response(
        &self,
        data: &Dataset,
        (row, column): (usize, usize),
        problem: String,
        advice: &'static str,
    ) -> Error {
        let column = data.response_names()[column].clone();
        let (table, advice) = ("response".into(), vec![advice.into()]);
        Error::Cell { table, row: self.row(row), column, problem, advice }
    }
}

impl Fit {
    /// The fit of one table by these draws.
    fn new(plan: impl Into<Arc<Plan>>, draws: Draws) -> Self {
        let (plan, draws) = (plan.into(), draws.into());
        Self { plan, draws, save_error: None, rebuilt: Vec::new(), tables: Vec::new() }
    }

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
        self.plan.recipe.decided.drawn
    }

    /// The verdict on the run: whether the chains agree about the predictions of the training rows (at
    /// most 200 of them, evenly spaced), the log likelihood and the log prior; if they do not, why, as far
    /// as it can be told, and how much that matters for predictions.
    ///
    /// Of several completed tables it is the verdict on the [worst](Self::worst_table).
    ///
    /// # Errors
    /// If the run was ended before the first draw.
    pub fn verdict(&self) -> Result<Verdict, Error> {
        self.worst_table().map(|(_, verdict)| verdict)
    }

    /// The predictions that the [verdict](Self::verdict) judges: of at most 200 training rows,
    /// evenly spaced, **on the scale of the standardised response**. They serve for diagnostics, as
    /// by [`Predictions::summary`].
    ///
    /// # Errors
    /// If the run was ended before the first draw; predictions that do not fit into memory; several completed tables.
    pub fn judged(&self) -> Result<Predictions, Error> {
        self.of_one_table()?.plan.judged(&self.draws)
    }

    /// The [training rows](Self::training) that are [judged](Self::judged).
    pub fn judged_rows(&self) -> Vec<usize> {
        self.plan.judged_rows()
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
        match &self.tables[..] {
            [] => Ok(Self::new(self.plan.clone(), self.draws.thinned(k)?)),
            tables => {
                let tables = tables.iter().map(|table| table.thinned(k));
                tables.collect::<Result<_, _>>().map(Self::of_tables)
            }
        }
    }

    /// The search that has chosen the model; `None` if the model was given.
    pub fn search(&self) -> Option<&Search> {
        self.plan.recipe.decided.search.as_ref()
    }

    /// What was decided before the run: [`Recipe::plan`]; of several completed tables, of the first.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The recipe of the fit, with all its settings; of several completed tables, of the first.
    pub fn recipe(&self) -> &Recipe {
        &self.plan.recipe
    }

    /// The network without its linear part and scales.
    pub fn network(&self) -> &Mlp {
        self.posterior().model().base().base().base().base()
    }

    /// The draws, of the weights for scaled features and response; of several completed tables, of the first.
    pub fn draws(&self) -> &Draws {
        &self.draws
    }

    /// The posterior that was sampled, of scaled features and response.
    pub fn posterior(&self) -> &Posterior<Network, AnyLikelihood> {
        &self.plan.posterior
    }

    /// The rows that the model learnt from, in their own units.
    pub fn training(&self) -> &Dataset {
        self.plan.own_train()
    }

    /// The rows that the model did not learn from, in their own units; `None` if none were
    /// [asked for](Recipe::validation).
    pub fn validation(&self) -> Option<&Dataset> {
        self.plan.validation.as_ref()
    }

    /// All rows that were given, in their own units; of several completed tables, as completed in the first.
    pub fn data(&self) -> &Dataset {
        &self.plan.data
    }

    /// The lines of the training file that were left out because of a missing value.
    pub fn dropped(&self) -> &[usize] {
        &self.plan.origin.dropped
    }

    /// The cells of the training file without a value, and what stands in for them, a column each.
    pub fn stand_ins(&self) -> &[StandIn] {
        &self.plan.origin.stand_ins
    }

    /// The line of the training file that each row of [`data`](Self::data) comes from, or its row in a table
    /// [without lines](crate::data::TypedTable); `None` if the fit is not
    /// of a file, or was saved by a version that did not keep them.
    pub fn lines(&self) -> Option<&Lines> {
        self.plan.origin.lines.as_ref()
    }

    /// The rows of [`data`](Self::data) that the model learnt from, and the rows that were kept for
    /// validation; `None` if it learnt from all.
    pub fn split(&self) -> Option<&Split> {
        self.plan.split.as_ref()
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
        self.plan.origin.schema.as_ref()
    }

    /// The scaling of the features.
    pub fn feature_scaler(&self) -> &Scaler {
        &self.plan.features.scaler
    }

    /// The scaling of a real response; `None` for classes and counts.
    pub fn response_scaler(&self) -> Option<&Scaler> {
        self.plan.response.as_ref()
    }

    /// The reason why a run [in a folder](Recipe::in_folder) could not be saved, if so: the disk
    /// may be full. All draws are in memory, and in the checkpoint: repeat the call to try again.
    pub fn save_error(&self) -> Option<&Error> {
        self.tables().iter().find_map(|table| table.save_error.as_ref())
    }

    /// The damaged or missing files of the fit's folder that the call that made this fit wrote
    /// anew, a line for each. A run [in a folder](Recipe::in_folder) rebuilds them from its
    /// checkpoint and the rows that it was given, [`merge`](Self::merge) from the parts.
    pub fn rebuilt(&self) -> &[String] {
        &self.rebuilt
    }

    /// The range of each feature in the training rows.
    pub fn ranges(&self) -> &[FeatureRange] {
        &self.plan.ranges
    }

    /// Writes the fit to a folder, which is made: `fit.json` (a description of the fit, for people,
    /// too), `data.csv` (the rows, with features encoded as numbers), `draws.zarr` (draws and
    /// statistics, which ArviZ opens; for its leave-one-out and predictive checks see
    /// [`to_zarr`](Self::to_zarr)) and `verdict.txt`. [`Fit::load`] needs nothing else.
    ///
    /// A [stopped](Recipe::stop_handle) run is saved with the draws that it has made. Of several completed tables each has a folder
    /// of its own there, `table-0`, `table-1`, ..., in which it can be loaded alone.
    ///
    /// # Errors
    /// If the folder exists and is not empty, or something cannot be written; a fit that was
    /// [thinned](Self::thinned). Files that a killed process left in the folder do not count.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        self.check_whole()?;
        self.saved(folder.as_ref(), folder::save)
    }

    /// Saves the fit into an empty folder like [`save`](Self::save), but without waiting for the
    /// disk: for a folder that lives no longer than the process, such as one that is packed into an
    /// archive. After a loss of power the folder may be damaged.
    ///
    /// # Errors
    /// The errors of [`save`](Self::save).
    pub fn save_unflushed(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        self.check_whole()?;
        self.saved(folder.as_ref(), unflushed::save)
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
        let folder = folder.as_ref();
        if imputed::is_in(folder) { imputed::load(folder) } else { folder::load(folder) }
    }
}

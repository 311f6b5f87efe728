//! Fits of a table with missing values: multiple imputation.

use std::borrow::Cow;
use std::path::Path;
use std::{fs, slice};

use ndarray::{ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::folder::{self, check_entries, entries};
use super::saved::{FIT, problem};
use super::{Fit, Origin, Plan, Recipe};
use crate::Error;
use crate::data::{self, Completion, Dataset, Gap, Known, Schema};
use crate::diagnostics::Verdict;
use crate::message::Advice;
use crate::rng::ChainRng;

/// The stream of random numbers of imputation, which no chain has.
pub(super) const STREAM: u64 = u64::MAX;
/// How many parts of the draws of a table have missing cells of new rows of their own. With one for all, intervals of 90 % covered 86 % of such
/// rows with 10 tables: a mixture of 10 values is narrower than what it is drawn from.
pub(super) const COMPLETIONS: usize = 20;
/// The start of the name of the folder of one table.
const TABLE: &str = "table-";

/// One of several completed tables.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Table {
    /// The number, from 0.
    pub number: u64,
    /// The number of tables.
    pub of: u64,
}

/// Fits `tables` completed copies of a table.
pub(super) fn run(
    recipe: &Recipe,
    tables: usize,
    data: &Dataset,
    origin: &Origin,
) -> Result<Fit, Error> {
    if tables < 2 {
        return Err(Error::argument("number of imputed tables", tables, "2 or more"));
    }
    if let Some(folder) = recipe.here.folder.as_ref().filter(|folder| folder.exists()) {
        check_tables(folder, tables)?;
    }
    let mut fits: Vec<Fit> = Vec::with_capacity(tables);
    for number in 0..tables {
        recipe.report(&format!("table {} of {tables}", number + 1));
        let mut recipe = recipe.clone();
        recipe.decided.imputed = Some(Table { number: number as u64, of: tables as u64 });
        recipe.here.folder = recipe.here.folder.map(|folder| folder.join(folder_of(number)));
        if let Some(first) = fits.first().filter(|_| recipe.is_open()) {
            recipe = recipe.with_model_of(first.recipe()); //~ model-of-tables
        }
        let fit = recipe.run_on(Cow::Borrowed(data), origin.clone())?;
        let stopped = fit.stopped_early();
        // The draws of a table whose run was ended would count less than the other tables'.
        if !stopped || fits.is_empty() {
            fits.push(fit);
        }
        if stopped {
            break;
        }
    }
    Ok(Fit::of_tables(fits))
}

/// Loads the fits of the tables in a folder.
pub(super) fn load(folder: &Path) -> Result<Fit, Error> {
    let first = folder::load(&folder.join(folder_of(0)))?;
    let table = first.plan.recipe.decided.imputed;
    let Some(Table { of, .. }) = table.filter(|table| table.number == 0) else {
        return Err(problem(folder, "its table 0 is not the first of imputed tables"));
    };
    let mut fits = vec![first];
    for number in 1..of {
        let path = folder.join(folder_of(number as usize));
        if !path.exists() {
            let lacking = format!("{number} of {of} tables are there: the run is not finished");
            return Err(problem(folder, lacking).advise([Advice::GoOn]));
        }
        let fit = folder::load(&path)?;
        if fit.plan.recipe.decided.imputed != Some(Table { number, of }) {
            return Err(problem(&path, format!("it is not table {number} of {of}")));
        }
        fits.push(fit);
    }
    Ok(Fit::of_tables(fits))
}

/// Whether a folder holds the fits of several completed tables.
pub(super) fn is_in(folder: &Path) -> bool {
    folder.join(folder_of(0)).exists()
}

impl Fit {
    /// The fit of several completed tables, of which there is at least one.
    pub(super) fn of_tables(tables: Vec<Self>) -> Self {
        let (plan, draws) = (tables[0].plan.clone(), tables[0].draws.clone());
        let rebuilt = tables.iter().flat_map(|table| table.rebuilt.clone()).collect();
        Self { plan, draws, save_error: None, rebuilt, tables }
    }

    /// The fit of each completed table, in their order, if [missing values were drawn](Recipe::impute); else this fit alone.
    pub fn tables(&self) -> &[Self] {
        if self.tables.is_empty() { slice::from_ref(self) } else { &self.tables }
    }

    /// This fit, for what there is none of several completed tables.
    ///
    /// # Errors
    /// If it is of several tables.
    pub fn of_one_table(&self) -> Result<&Self, Error> {
        match self.tables.is_empty() {
            true => Ok(self),
            false => {
                let allowed = "of one table: what was asked for is not of imputed tables so far";
                Err(Error::argument("model", "of several completed tables", allowed))
            }
        }
    }

    /// Whether the run was ended before all its draws were made, or before all completed tables had theirs: then
    /// [`tables`](Self::tables) are those that had, or the first one with the draws that it had.
    pub fn stopped_early(&self) -> bool {
        let tables = self.plan.recipe.decided.imputed.map_or(1, |table| table.of as usize);
        let lacks_tables = !self.tables.is_empty() && self.tables.len() < tables;
        lacks_tables || self.tables().iter().any(|table| table.draws.info().stopped_early)
    }

    /// The number, from 0, of the completed table whose chains agree least, and the verdict on its run.
    ///
    /// # Errors
    /// If the run was ended before the first draw.
    pub fn worst_table(&self) -> Result<(usize, Verdict), Error> {
        let verdict = |table: &Self| table.judged()?.verdict();
        let verdicts = self.tables().iter().map(verdict).collect::<Result<Vec<_>, _>>()?;
        let key = |verdict: &Verdict| (!verdict.is_settled(), verdict.max_rhat());
        let worst = verdicts.into_iter().enumerate().max_by(|(_, a), (_, b)| {
            let ((a, of_a), (b, of_b)) = (key(a), key(b));
            a.cmp(&b).then(of_a.total_cmp(&of_b)) //~ worst-table
        });
        Ok(worst.expect("there is at least one table"))
    }

    /// The share of the variance of the mean function that comes from the missing values, on average over training rows
    /// (at most 200, as completed in the first table) and outputs, on the scale of the standardised response. With W
    /// the mean variance of a row's E\[y | x, q\] over the draws of a table, and B the variance of its means between
    /// the M tables,
    ///
    /// ```text
    /// lambda = (1 + 1/M) B / (W + (1 + 1/M) B)
    /// ```
    ///
    /// Rubin 1987, section 3.3. 0 with a single table.
    ///
    /// # Errors
    /// If the run was ended before the first draw.
    pub fn missing_information(&self) -> Result<f64, Error> {
        let x = self.plan.train_rows(&self.judged_rows())?;
        let x = self.plan.features.inverse(x.x().view())?;
        let tables = self.tables().len() as f64;
        let mut moments = Vec::new();
        for Self { plan, draws, .. } in self.tables() {
            let scaled = plan.features.transform(x.view())?;
            let mean = plan.posterior.predict_mean(draws, scaled.view())?;
            let (chains, n, rows, outputs) = mean.dim();
            let flat = mean.into_shape_with_order((chains * n, rows * outputs));
            let flat = flat.expect("predictions are in standard order");
            moments.push((flat.mean_axis(Axis(0)), flat.var_axis(Axis(0), 1.0)));
        }
        let cells = moments[0].1.len();
        let share = |cell: usize| {
            let means: Vec<f64> = moments
                .iter()
                .filter_map(|(mean, _)| mean.as_ref())
                .map(|mean| mean[cell])
                .collect();
            let centre = means.iter().sum::<f64>() / tables;
            let between: f64 = means.iter().map(|mean| (mean - centre).powi(2)).sum();
            let between = (1.0 + 1.0 / tables) * between / (tables - 1.0).max(1.0);
            let within: f64 = moments.iter().map(|(_, variance)| variance[cell] / tables).sum();
            if between > 0.0 { between / (within + between) } else { 0.0 }
        };
        Ok((0..cells).map(share).sum::<f64>() / cells as f64)
    }

    /// Saves the fit by `save`, each of several tables in a folder of its own.
    pub(super) fn saved(
        &self,
        folder: &Path,
        save: impl Fn(&Path, &Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.tables.is_empty() {
            return save(folder, self);
        }
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        check_tables(folder, self.tables.len())?;
        let mut tables = self.tables.iter().enumerate();
        tables.try_for_each(|(number, table)| save(&folder.join(folder_of(number)), table))
    }
}

/// An error if the folder holds something else, or more tables.
fn check_tables(folder: &Path, tables: usize) -> Result<(), Error> {
    let names = entries(folder)?;
    if !names.contains(&folder_of(0)) {
        return check_entries(folder, &[]);
    }
    let is_more = |name: &String| {
        let number = name.strip_prefix(TABLE).and_then(|number| number.parse::<usize>().ok());
        number.is_some_and(|number| number >= tables)
    };
    match names.iter().find(|name| is_more(name) || *name == FIT) {
        None => Ok(()),
        Some(name) => {
            let problem = problem(folder, format!("it holds another fit: there is `{name}`"));
            Err(problem.advise([Advice::OtherFolder]))
        }
    }
}

fn folder_of(number: usize) -> String {
    format!("{TABLE}{number}")
}

/// The random numbers of a table: of its chains' seed, and of missing cells in it and in new rows.
pub(super) fn rng(seed: u64, table: Table) -> ChainRng {
    ChainRng::new(seed, STREAM).child(table.number)
}

/// The data, with values drawn for the missing ones in the rows that are not kept for validation.
pub(super) fn complete(
    recipe: &Recipe,
    table: Table,
    data: &Dataset,
    origin: &Origin,
) -> Result<Dataset, Error> {
    let gaps = gaps_of(origin);
    if gaps.is_empty() {
        let error = Error::argument("missing values of features", "none", "some, to be imputed");
        return Err(error);
    }
    let rows = match recipe.split(data)? {
        None => (0..data.rows()).collect(),
        Some(split) => split.train,
    };
    let train = data.select(&rows)?;
    let mut rng = rng(recipe.settings.seed, table).child(1);
    let complete = data::complete(&train, &gaps, &mut rng)?;
    let mut x = data.x().clone();
    rows.iter().zip(complete.rows()).for_each(|(&row, values)| x.row_mut(row).assign(&values));
    data.clone().with_x(x)
}

/// Values for the missing cells of new rows, if the fit is of an imputed table.
pub(super) fn completion<'p>(
    plan: &'p Plan,
    x: ArrayView2<f64>,
) -> Result<Option<Completion<'p>>, Error> {
    let Some(table) = plan.recipe.decided.imputed else { return Ok(None) };
    let train = plan.own_train();
    let known = Known { x: train.x().view(), weights: train.weights() };
    let rng = rng(plan.recipe.settings.seed, table).child(2);
    Completion::new(known, x, gaps_of(&plan.origin), rng).map(Some)
}

/// The rows that the model sees: of an imputed table, gaps are not marked.
pub(super) fn without_marks<'d>(
    recipe: &Recipe,
    data: &'d Dataset,
    origin: &Origin,
) -> Result<Cow<'d, Dataset>, Error> {
    if recipe.decided.imputed.is_none() {
        return Ok(Cow::Borrowed(data));
    }
    let mut x = data.x().clone();
    gaps_of(origin).iter().for_each(|gap| x.column_mut(gap.mark).fill(0.0)); //~ marks-of-training
    Ok(Cow::Owned(data.clone().with_x(x)?))
}

fn gaps_of(origin: &Origin) -> Vec<Gap> {
    origin.schema.as_ref().map(Schema::gaps).unwrap_or_default()
}

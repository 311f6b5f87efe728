//! Fits of a table with missing values: multiple imputation.

use std::borrow::{Borrow, Cow};
use std::fs;
use std::path::{Path, PathBuf};

use ndarray::{Array4, ArrayView2, Axis, concatenate};
use serde::{Deserialize, Serialize};

use super::folder::{check_entries, entries};
use super::saved::{FIT, problem};
use super::{Fit, Origin, Parts, Predicted, Recipe};
use crate::Error;
use crate::data::{self, Completion, CsvData, CsvReader, Dataset, Gap, Known, Schema, TypedTable};
use crate::diagnostics::Verdict;
use crate::message::Advice;
use crate::predict::{Predictions, Scores};
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

/// Fits of M completed copies of a table with missing values: **multiple imputation**.
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
/// `column is missing` are in the [data](Fit::data), but 0 in all rows that the model sees: where the response decides
/// what is missing, they would take a part of the effects of other features. Their weights have no effect.
///
/// The other way, which a [`Fit`] alone goes, puts the median there and marks it. It is better where a gap itself says
/// something of the response, as for rows to come with the same gaps. Imputation is better for the effects of features
/// with gaps, which the median weakens, and for predictions of complete rows.
///
/// Draws of M copies know the posterior's spread the better the more copies there are: with 5 they are somewhat too
/// narrow, 10 or more are better (Zhou and Reiter 2010, <https://doi.org/10.1198/tast.2010.09109>).
///
/// ```no_run
/// use bnn_mcmc::fit::{Fit, Imputed};
/// let recipe = Fit::regression("price").chains(2).seed(1).in_folder("run");
/// let fits = Imputed::read_csv(&recipe, 10, "houses.csv")?;
/// let (table, verdict) = fits.verdict()?; // of the table whose chains agree least
/// println!("table {table}: {verdict}; gaps make {:.2} of the variance", fits.missing_information()?);
/// println!("{}", fits.predict_csv("new.csv")?);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// In a [folder](Recipe::in_folder) each table has one of its own, `table-0`, `table-1`, ..., as a
/// [`Fit`] has: after a kill the same call goes on.
///
/// Source: Rubin 1987, Multiple Imputation for Nonresponse in Surveys, <https://doi.org/10.1002/9780470316696>.
#[derive(Debug)]
pub struct Imputed {
    fits: Vec<Fit>,
    of: usize,
}

impl Imputed {
    /// Fits `tables` completed copies of the rows of a CSV file. The recipe's [chains](Recipe::chains) are per table.
    ///
    /// # Errors
    /// Fewer than 2 tables; a file without gaps in features; else as [`Recipe::read_csv`].
    pub fn read_csv(recipe: &Recipe, tables: usize, path: impl AsRef<Path>) -> Result<Self, Error> {
        let recipe = recipe.clone().reader(CsvReader::imputed);
        Self::fit_read(&recipe, tables, recipe.reader_of_text()?.read_path(path)?)
    }

    /// Fits `tables` completed copies of a table whose columns have types, as [`Recipe::read_table`] does.
    ///
    /// # Errors
    /// Fewer than 2 tables; a table without gaps in features; else as [`Recipe::read_table`].
    pub fn read_table(
        recipe: &Recipe,
        tables: usize,
        table: impl Borrow<TypedTable>,
    ) -> Result<Self, Error> {
        let recipe = recipe.clone().reader(CsvReader::imputed);
        let data = recipe.reader.read_table(table.borrow())?;
        drop(table);
        Self::fit_read(&recipe, tables, data)
    }

    fn fit_read(recipe: &Recipe, tables: usize, data: CsvData) -> Result<Self, Error> {
        let recipe = &recipe.of_read(&data);
        let CsvData { dataset, schema, lines, dropped, stand_ins, .. } = data;
        let origin = Origin { schema: Some(schema), lines: Some(lines), dropped, stand_ins };
        Self::run(recipe, tables, |recipe| recipe.run(Cow::Borrowed(&dataset), origin.clone()))
    }

    /// Fits `tables` completed copies of `data`, whose [`Schema`] says where values are missing, as
    /// [`Recipe::fit_like`] does.
    ///
    /// # Errors
    /// Fewer than 2 tables; a schema without gaps in features; else as [`Recipe::fit_like`].
    pub fn fit_like(
        recipe: &Recipe,
        tables: usize,
        data: &Dataset,
        schema: &Schema,
    ) -> Result<Self, Error> {
        Self::run(recipe, tables, |recipe| recipe.fit_like(data, schema))
    }

    fn run(
        recipe: &Recipe,
        tables: usize,
        fit: impl Fn(&Recipe) -> Result<Fit, Error>,
    ) -> Result<Self, Error> {
        if tables < 2 {
            return Err(Error::argument("number of imputed tables", tables, "2 or more"));
        }
        if let Some(folder) = recipe.folder.as_ref().filter(|folder| folder.exists()) {
            check_tables(folder, tables)?;
        }
        let mut fits: Vec<Fit> = Vec::with_capacity(tables);
        for number in 0..tables {
            let folder = recipe.folder.as_ref().map(|folder| folder.join(folder_of(number)));
            let table = Some(Table { number: number as u64, of: tables as u64 });
            recipe.report(&format!("table {} of {tables}", number + 1));
            let mut recipe = recipe.clone();
            (recipe.imputed, recipe.folder) = (table, folder);
            if let Some(first) = fits.first().filter(|_| recipe.is_open()) {
                recipe = recipe.with_model_of(first.recipe()); //~ model-of-tables
            }
            let fit = fit(&recipe)?;
            let stopped = fit.draws.info().stopped_early;
            // The draws of a table whose run was ended would count less than the other tables'.
            if !stopped || fits.is_empty() {
                fits.push(fit);
            }
            if stopped {
                break;
            }
        }
        Ok(Self { fits, of: tables })
    }

    /// Loads the fits that a run in this folder has written.
    ///
    /// # Errors
    /// Tables that are not there or not finished; else as [`Fit::load`].
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        let first = Fit::load(folder.join(folder_of(0)))?;
        let table = first.parts.recipe.imputed;
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
            let fit = Fit::load(&path)?;
            if fit.parts.recipe.imputed != Some(Table { number, of }) {
                return Err(problem(&path, format!("it is not table {number} of {of}")));
            }
            fits.push(fit);
        }
        Ok(Self { fits, of: of as usize })
    }

    /// Whether a folder holds the tables of such fits, rather than a [`Fit`].
    pub fn is_in(folder: impl AsRef<Path>) -> bool {
        let names = entries(folder.as_ref()).unwrap_or_default();
        names.contains(&folder_of(0))
    }

    /// The fit of each completed table, in their order. Its [data](Fit::data) are complete.
    pub fn fits(&self) -> &[Fit] {
        &self.fits
    }

    /// Whether the run was ended before all tables had their draws: then [`fits`](Self::fits) are those that had, or the
    /// first one with the draws that it had.
    pub fn stopped_early(&self) -> bool {
        self.fits.len() < self.of || self.fits.iter().any(|fit| fit.draws.info().stopped_early)
    }

    /// The number of the table whose chains agree least, and the verdict on its run.
    ///
    /// # Errors
    /// If the run was ended before the first draw.
    pub fn verdict(&self) -> Result<(usize, Verdict), Error> {
        let verdicts: Vec<Verdict> =
            self.fits.iter().map(Fit::verdict).collect::<Result<_, _>>()?;
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
        let first = &self.fits[0];
        let x = first.parts.train_rows(&first.judged_rows())?;
        let x = first.parts.features.inverse(x.x().view())?;
        let tables = self.fits.len() as f64;
        let mut moments = Vec::new();
        for Fit { parts, draws, .. } in &self.fits {
            let scaled = parts.features.transform(x.view())?;
            let mean = parts.posterior.predict_mean(draws, scaled.view())?;
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

    /// Predictions of rows with a known response by all tables together, as [`Fit::predict`] makes them of one: chains of
    /// the first table come first. Their verdict has no meaning, since chains of different tables should not agree.
    ///
    /// # Errors
    /// As [`Fit::predict`].
    pub fn predict(&self, rows: &Dataset) -> Result<Predictions, Error> {
        let each = self.fits.iter().map(|fit| fit.predict(rows)).collect::<Result<Vec<_>, _>>();
        Predictions::pooled(each?)
    }

    /// Predictions of new rows by all tables together, as [`Fit::predict_new`] makes them of one.
    ///
    /// # Errors
    /// As [`Fit::predict_new`].
    pub fn predict_new(&self, x: ArrayView2<f64>) -> Result<Predicted, Error> {
        self.pooled(|fit| fit.predict_new(x))
    }

    /// The standard deviation of y given x and each draw, by all tables together, as [`Fit::predict_noise_sd`] has it of
    /// one.
    ///
    /// # Errors
    /// As [`Fit::predict_noise_sd`].
    pub fn predict_noise_sd(&self, x: ArrayView2<f64>) -> Result<Array4<f64>, Error> {
        let each = self.fits.iter().map(|fit| fit.predict_noise_sd(x));
        let each = each.collect::<Result<Vec<_>, _>>()?;
        let views: Vec<_> = each.iter().map(|sd| sd.view()).collect();
        concatenate(Axis(0), &views).map_err(|e| Error::argument("fits", e, "of one shape"))
    }

    /// Writes the fits to a folder, as a run [in a folder](Recipe::in_folder) does.
    ///
    /// # Errors
    /// As [`Fit::save`].
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        self.each_saved(folder.as_ref(), |fit, folder| fit.save(folder))
    }

    /// Saves the fits like [`save`](Self::save), without waiting for the disk: for folders that need not outlive the
    /// process.
    ///
    /// # Errors
    /// As [`Fit::save_unflushed`].
    pub fn save_unflushed(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        self.each_saved(folder.as_ref(), |fit, folder| fit.save_unflushed(folder))
    }

    fn each_saved(
        &self,
        folder: &Path,
        save: impl Fn(&Fit, PathBuf) -> Result<(), Error>,
    ) -> Result<(), Error> {
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        check_tables(folder, self.fits.len())?;
        let mut each = self.fits.iter().enumerate();
        each.try_for_each(|(number, fit)| save(fit, folder.join(folder_of(number))))
    }

    /// Predictions of the rows of a CSV file by all tables together, as [`Fit::predict_csv`] makes them of one.
    ///
    /// # Errors
    /// As [`Fit::predict_csv`].
    pub fn predict_csv(&self, path: impl AsRef<Path>) -> Result<Predicted, Error> {
        self.pooled(|fit| fit.predict_csv(path.as_ref()))
    }

    /// The scores of predictions of rows with a known response, in its own units.
    ///
    /// # Errors
    /// The errors of [`predict`](Self::predict).
    pub fn scores(&self, rows: &Dataset) -> Result<Scores, Error> {
        self.predict(rows)?.scores()
    }

    fn pooled(&self, of: impl Fn(&Fit) -> Result<Predicted, Error>) -> Result<Predicted, Error> {
        let mut each = self.fits.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        let predictions = each.iter().map(|predicted| predicted.predictions.clone()).collect();
        let predictions = Predictions::pooled(predictions)?;
        Ok(Predicted { predictions, ..each.swap_remove(0) })
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
    let mut rng = rng(recipe.seed, table).child(1);
    let complete = data::complete(&train, &gaps, &mut rng)?;
    let mut x = data.x().clone();
    rows.iter().zip(complete.rows()).for_each(|(&row, values)| x.row_mut(row).assign(&values));
    data.clone().with_x(x)
}

/// Values for the missing cells of new rows, if the fit is of an imputed table.
pub(super) fn completion<'p>(
    parts: &'p Parts,
    x: ArrayView2<f64>,
) -> Result<Option<Completion<'p>>, Error> {
    let Some(table) = parts.recipe.imputed else { return Ok(None) };
    let train = parts.own_train();
    let known = Known { x: train.x().view(), weights: train.weights() };
    let rng = rng(parts.recipe.seed, table).child(2);
    Completion::new(known, x, gaps_of(&parts.origin), rng).map(Some)
}

/// The rows that the model sees: of an imputed table, gaps are not marked.
pub(super) fn without_marks<'d>(
    recipe: &Recipe,
    data: &'d Dataset,
    origin: &Origin,
) -> Result<Cow<'d, Dataset>, Error> {
    if recipe.imputed.is_none() {
        return Ok(Cow::Borrowed(data));
    }
    let mut x = data.x().clone();
    gaps_of(origin).iter().for_each(|gap| x.column_mut(gap.mark).fill(0.0)); //~ marks-of-training
    Ok(Cow::Owned(data.clone().with_x(x)?))
}

fn gaps_of(origin: &Origin) -> Vec<Gap> {
    origin.schema.as_ref().map(Schema::gaps).unwrap_or_default()
}

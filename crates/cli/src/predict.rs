//! `predict`: new rows.

use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bnn_mcmc::Error;
use bnn_mcmc::data::{CsvData, Features, Lines, Response, StandIn, guarded};
use bnn_mcmc::error::Row;
use bnn_mcmc::fit::{Fit, Outside};
use bnn_mcmc::ndarray::{Array2, ArrayView2, Axis};
use bnn_mcmc::predict::{
    Centre, Conformal, Decomposition, Interval, PredictionSets, PredictionTable, Predictions,
};
use clap::Args;

use crate::output::{self, count};
use crate::table::{Block, Predicted, Table};
use crate::{Ended, Failure, diagnose, folder, words};

/// Predicts the rows of another table, as CSV, in the units of the response
///
/// One line for each row: the mean, its uncertainty (standard deviation and quantiles over the
/// draws), and the quantiles of a new observation, noise included; of two classes the probability of the second one, of more classes
/// one line for each row and class; of survival times also their median. Quantiles are of 5, 50 and 95 %: the outer two are an interval
/// of 90 %, where scores and the figures of `report` have intervals of 95 %. `row` counts the rows
/// that are predicted from 0, and `line` is the line of the table. Standard error says which lines
/// lie outside the range of the training data.
///
/// Large tables are predicted in blocks of rows. The noise in the quantiles of new observations is
/// drawn along the rows of a block, so that these quantiles depend a little on where a row stands.
///
/// After a transform of the response with noise of Student's t, which need not have a mean then, the columns `median`, `median_sd` and so on
/// take the place of `mean`: the median of a new observation by each draw, averaged over the draws.
#[derive(Args)]
pub struct PredictArgs {
    /// The folder of the run
    run: PathBuf,
    /// The table: the features of the training table in any order of columns. The response may be
    /// lacking
    table: PathBuf,
    /// The file to write, instead of standard output; Parquet if its name ends in .parquet
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The table holds the response, too: add a column `observed`, and print the scores. All rows
    /// are then predicted at once, in memory
    #[arg(long)]
    scores: bool,
    /// Of survival times: add the probabilities to exceed these times, separated by commas, as columns `survival_T`,
    /// with their quantiles over the draws
    #[arg(long, value_name = "TIMES", value_delimiter = ',', allow_hyphen_values = true)]
    times: Vec<f64>,
    /// Add conformal intervals, `conformal_lower` and `conformal_upper`, or of classes sets: `conformal_set` is 1 if the
    /// row's set holds the class, and `conformal_size` counts its classes. They hold the share LEVEL of new responses on
    /// average, whatever the model and the chains did: marginal coverage, for rows that are exchangeable with those of the
    /// table (drawn alike, in no order), not for series. They are calibrated on rows that the model has not seen,
    /// those of `fit --validation 0.2` or of `--calibration`; without any, training rows are left out by weights of the
    /// draws (jackknife+), which takes chains that have converged. For one real response, counts or classes
    #[arg(
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0.9",
        allow_hyphen_values = true
    )]
    conformal: Option<f64>,
    /// A table with the response, whose rows had no part in the fit, to calibrate conformal intervals on
    #[arg(long, value_name = "FILE", requires = "conformal")]
    calibration: Option<PathBuf>,
    /// Add how uncertain a new observation is, and which part of that is noise, which more rows would not remove: columns `new_sd` and
    /// `noise_sd`, standard deviations in units of the response beside `mean_sd`; of classes `entropy`, `expected_entropy`
    /// (the noise) and `mutual_information` (what more rows could remove), in nats. Noise with heavy tails, such as Student's t after a transform of the response, has no
    /// standard deviation: `inf`, and the intervals say more. Standard error names the rows whose mean is
    /// least known
    #[arg(long)]
    uncertainty: bool,
    /// Names of classes and responses as they are, also those that a spreadsheet would take for formulas.
    /// Without this flag, names that begin with =, +, -, @, a tab or a line end and are no numbers have a
    /// single quote before them
    #[arg(long)]
    raw_names: bool,
}

pub fn run(args: &PredictArgs) -> Result<Ended, Failure> {
    let fit = &folder::load_any(&args.run)?;
    let schema = fit.schema().ok_or_else(|| {
        let run = args.run.display();
        Failure::error(format!("{run}: the run is not of a file, so that none can be read like it"))
    })?;
    args.check(fit)?;
    let calibrated =
        args.conformal.map(|level| calibrated(fit, level, args.calibration.as_deref()));
    let (conformal, of_calibration) = calibrated.transpose()?.unzip();
    let table = Table::open(&args.table, schema.limit(), None).map_err(of_new_rows)?;
    let out = Predicted::begin(args.out.as_deref())?;
    // No spreadsheet takes names for formulas there.
    let is_raw = args.raw_names || out.is_parquet();
    let least_known = LeastKnown::default();
    let mut all = Predicting { args, fit, conformal: conformal.as_ref(), is_raw, least_known };
    let (out, note, scores) = match args.scores {
        true => all.scored(out, &table.read(schema).map_err(of_new_rows)?)?,
        false => all.in_blocks(out, &table.read_features(schema).map_err(of_new_rows)?)?,
    };
    out.end()?;
    output::note(&note);
    if !fit.centre().is_mean() {
        output::note("medians, and no means, which this noise need not have after a transform");
    }
    all.least_known.told(fit.centre()).iter().for_each(|note: &String| output::note(note));
    if let Some(conformal) = &conformal {
        of_calibration.flatten().iter().for_each(|note: &String| output::note(note));
        output::note(&conformal.to_string());
    }
    if let Some(scores) = scores {
        // Standard output is the table's unless that has a file.
        match &args.out {
            Some(_) => output::print(&scores)?,
            None => output::note(scores.trim_end()),
        }
    }
    Ok(Ended::Done)
}

impl PredictArgs {
    /// An error if the output would take the place of what is read, or if there are times that the run has no use for.
    fn check(&self, fit: &Fit) -> Result<(), Failure> {
        if let Some(path) = &self.out {
            let calibration = self.calibration.as_deref();
            let inputs: Vec<&Path> = iter::once(&*self.table).chain(calibration).collect();
            folder::check_place(path, "--out", &inputs)?;
        }
        let has_times = fit.data().response().bounds().is_some();
        if let Some(time) = self.times.first().filter(|_| !has_times) {
            let allowed = "left out: the run is not of survival times";
            return Err(Error::argument("--times", time, allowed).into());
        }
        if let Some(time) = self.times.iter().find(|time| !time.is_finite()) {
            return Err(Error::argument("--times", time, "finite numbers").into());
        }
        Ok(())
    }
}

fn of_new_rows(error: Error) -> Failure {
    Failure::error(error.in_words(&words::NewRows))
}

/// The conformal regions of new rows, by the rows of a file, with a note on these, or by those that the model has not seen.
fn calibrated(
    fit: &Fit,
    level: f64,
    file: Option<&Path>,
) -> Result<(Conformal, Option<String>), Failure> {
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::argument("--conformal", level, "above 0 and below 1").into());
    }
    let Some(path) = file else { return Ok((fit.conformal(level)?, None)) };
    let schema = fit.schema().ok_or_else(|| Failure::error("the run is not of a file"))?;
    let table = Table::open(path, schema.limit(), None).map_err(of_new_rows)?;
    let read = table.read(schema).map_err(of_new_rows)?;
    let calibrated = fit.conformal_on(&read.dataset, level);
    let calibrated = calibrated.map_err(|e| in_file(e, path, &read.lines))?;
    Ok((calibrated, Some(Rows::from(&read).said("for calibration", fit))))
}

/// The predictions of a table, and what is kept of them for notes.
struct Predicting<'a> {
    args: &'a PredictArgs,
    fit: &'a Fit,
    conformal: Option<&'a Conformal>,
    is_raw: bool,
    least_known: LeastKnown,
}

/// The output, a note on the rows, and the scores if they are asked for.
type Written = (Predicted, String, Option<String>);

impl Predicting<'_> {
    /// Writes the predictions of rows whose response is known, all at once, with their scores.
    fn scored(&mut self, out: Predicted, read: &CsvData) -> Result<Written, Failure> {
        let rows = &read.dataset;
        let predictions = self.fit.predict(rows);
        let predictions = predictions.map_err(|e| in_file(e, &self.args.table, &read.lines))?;
        let regions = self.regions(&predictions)?;
        let mut scores = diagnose::scored(&count(rows.rows(), "row"), &predictions.scores()?);
        scores.extend(regions.as_ref().map(|r| r.scored(rows.response())).transpose()?);
        let block = self.block(&predictions, &regions, rows.x().view(), 0, &read.lines)?;
        let (out, _) = out.write(&block, true)?;
        let note = Rows::from(read).said("predicted", self.fit);
        Ok((out, note, Some(scores)))
    }

    /// Writes the predictions of new rows, block by block.
    fn in_blocks(&mut self, mut out: Predicted, new: &Features) -> Result<Written, Failure> {
        let height = self.fit.rows_at_a_time();
        for (k, block) in new.x.axis_chunks_iter(Axis(0), height).enumerate() {
            let predictions = self.fit.predict_new(block)?.predictions;
            let regions = self.regions(&predictions)?;
            let block = self.block(&predictions, &regions, block, k * height, &new.lines)?;
            let is_read;
            (out, is_read) = out.write(&block, k == 0)?;
            if !is_read {
                break;
            }
        }
        Ok((out, Rows::from(new).said("predicted", self.fit), None))
    }

    /// The conformal regions of predicted rows, if they are asked for.
    fn regions(&self, new: &Predictions) -> Result<Option<Regions>, Error> {
        let response = self.fit.data().response();
        self.conformal.map(|conformal| Regions::of(conformal, new, response)).transpose()
    }

    /// The predictions of the rows with the features `x`, of which the first has the number `first`, with the line of each in the
    /// table, or its row there if that has no lines.
    fn block(
        &mut self,
        predictions: &Predictions,
        regions: &Option<Regions>,
        x: ArrayView2<f64>,
        first: usize,
        lines: &Lines,
    ) -> Result<Block, Failure> {
        let parts = self.args.uncertainty.then(|| self.fit.decompose_predictions(x, predictions));
        let parts = parts.transpose()?;
        self.least_known.add(parts.as_ref(), first, lines);
        let PredictionTable { of, names, mut columns } = predictions.table(&self.args.times);
        let cells = || (0..x.nrows()).flat_map(|row| (0..names.len()).map(move |k| (row, k)));
        let (mut rows, mut named) = (Vec::new(), Vec::new());
        for (row, column) in cells() {
            let line = lines.get(first + row).ok_or_else(no_line)?; //~ predict-line
            rows.push([first + row, line]); //~ predict-row
            let name = &names[column];
            named.push(if self.is_raw { name.clone() } else { guarded(name).into_owned() });
        }
        columns.extend(regions.iter().flat_map(|regions| regions.columns(cells, names.len())));
        columns.extend(parts.iter().flat_map(|parts| columns_of(parts, cells)));
        let place = if lines.unit() == "row" { "table_row" } else { "line" };
        Ok(Block { place, rows, of, names: named, numbers: columns })
    }
}

/// The conformal regions of some rows.
enum Regions {
    Intervals(Interval),
    Sets(PredictionSets),
}

impl Regions {
    fn of(conformal: &Conformal, new: &Predictions, of: &Response) -> Result<Self, Error> {
        match of.classes().is_some() {
            true => conformal.sets(new).map(Self::Sets),
            false => conformal.interval(new).map(Self::Intervals),
        }
    }

    /// The columns of lines for these rows and columns, of which a row has `width`: one for each class, or for the second one of two.
    fn columns<C: Iterator<Item = (usize, usize)>>(
        &self,
        cells: impl Fn() -> C,
        width: usize,
    ) -> [(String, Vec<f64>); 2] {
        let of = |name: &str, number: &dyn Fn(usize, usize) -> f64| {
            (name.to_string(), cells().map(|(row, column)| number(row, column)).collect())
        };
        match self {
            Self::Intervals(ends) => [
                of("conformal_lower", &|row, _| ends.lower[(row, 0)]),
                of("conformal_upper", &|row, _| ends.upper[(row, 0)]),
            ],
            Self::Sets(sets) => {
                let set = |row: usize| sets.contains.row(row);
                let holds = |row: usize, column: usize| {
                    let class = if width == 1 { 1 } else { column }; //~ conformal-class
                    f64::from(u8::from(set(row)[class]))
                };
                let size = |row: usize, _| set(row).iter().filter(|holds| **holds).count() as f64;
                [of("conformal_set", &holds), of("conformal_size", &size)]
            }
        }
    }

    /// How many of the responses the regions hold, and how large they are.
    fn scored(&self, observed: &Response) -> Result<String, Error> {
        let none = || Error::argument("response", "of another kind", "the one of the fit");
        let (share, size_of, size) = match self {
            Self::Intervals(ends) => {
                let y = observed.real().or(observed.counts()).ok_or_else(none)?;
                (ends.coverage(y.view())?, "conformal width", ends.mean_width())
            }
            Self::Sets(sets) => {
                let index = observed.classes().ok_or_else(none)?;
                (sets.coverage(index)?, "conformal set size", sets.mean_size())
            }
        };
        let share_of = "conformal coverage";
        Ok(format!("{share_of:24} {share:15.4}\n{size_of:24} {size:15.4}\n"))
    }
}

/// The rows whose mean, or median, is least known.
#[derive(Default)]
struct LeastKnown {
    /// How much is not known, and the place.
    rows: Vec<(f64, String)>,
    of: usize,
}

impl LeastKnown {
    const SHOWN: usize = 5;

    /// Adds the rows of a block, of which the first has the number `first`.
    fn add(&mut self, parts: Option<&Decomposition>, first: usize, lines: &Lines) {
        let Some(parts) = parts else { return };
        self.of += parts.total.nrows();
        for row in parts.ranking().into_iter().take(Self::SHOWN) {
            let part = parts.of_mean.row(row).fold(f64::NEG_INFINITY, |a, b| a.max(*b));
            let place = lines.get(first + row).map_or_else(String::new, |line| line.to_string());
            self.rows.push((part, place));
        }
        self.rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        self.rows.truncate(Self::SHOWN);
    }

    /// A note on them, of more rows than are named.
    fn told(&self, centre: Centre) -> Option<String> {
        let (places, centre): (Vec<&str>, _) =
            (self.rows.iter().map(|(_, place)| &place[..]).collect(), centre.name());
        let is_told = self.of > Self::SHOWN;
        is_told.then(|| format!("the {centre} is least known in lines {}", places.join(", ")))
    }
}

/// The columns of uncertainty, in lines for these rows and columns.
fn columns_of<C: Iterator<Item = (usize, usize)>>(
    parts: &Decomposition,
    cells: impl Fn() -> C,
) -> Vec<(String, Vec<f64>)> {
    let of_row = |name: &str, part: &Array2<f64>| {
        (name.to_string(), cells().map(|(row, _)| part[(row, 0)]).collect())
    };
    let sd = |name: &str, part: &Array2<f64>| {
        (name.to_string(), cells().map(|cell| part[cell].sqrt()).collect())
    };
    match parts.are_entropies {
        true => vec![
            of_row("entropy", &parts.total),
            of_row("expected_entropy", &parts.noise),
            of_row("mutual_information", &parts.of_mean),
        ],
        false => vec![sd("new_sd", &parts.total), sd("noise_sd", &parts.noise)],
    }
}

fn no_line() -> Failure {
    Failure::error("the predictions: a row without a line")
}

/// An error about a row of the table, with its line.
pub fn in_file(error: Error, path: &Path, lines: &Lines) -> Failure {
    let error = match error {
        Error::Cell { row: Row::Number(n), column, problem, .. } => {
            let row = lines.place(n - 1).unwrap_or(Row::Number(n));
            let table = path.display().to_string();
            Error::Cell { table, row, column, problem, advice: Vec::new() }
        }
        other => other,
    };
    Failure::error(error.in_words(&words::NewRows))
}

/// The rows of a table, for a note on them.
pub struct Rows<'r> {
    x: ArrayView2<'r, f64>,
    lines: &'r Lines,
    dropped: &'r [usize],
    stand_ins: &'r [StandIn],
    unused: &'r [String],
}

impl<'r> From<&'r CsvData> for Rows<'r> {
    fn from(read: &'r CsvData) -> Self {
        let CsvData { dataset, lines, dropped, stand_ins, .. } = read;
        Self { x: dataset.x().view(), lines, dropped, stand_ins, unused: &[] }
    }
}

impl<'r> From<&'r Features> for Rows<'r> {
    fn from(Features { x, lines, dropped, stand_ins, unused, .. }: &'r Features) -> Self {
        Self { x: x.view(), lines, dropped, stand_ins, unused }
    }
}

impl Rows<'_> {
    /// The most columns, and values outside the range, that are named.
    const SHOWN: usize = 5;

    /// The note on the rows: their number and what was done with them, the lines that were left out or lie outside the
    /// range of the training data, the columns that were not used.
    pub fn said(&self, done: &str, fit: &Fit) -> String {
        let Self { x, lines, dropped, stand_ins, unused } = self;
        let mut text = format!("{} {done}", count(x.nrows(), "row"));
        if !dropped.is_empty() {
            let left_out = listed(dropped, 20);
            let rows = count(dropped.len(), "row");
            let places =
                if dropped.len() == 1 { lines.unit().into() } else { format!("{}s", lines.unit()) };
            text.push_str(&format!(
                ", {rows} left out because of missing values ({places} {left_out})"
            ));
        }
        for stand_in in *stand_ins {
            text.push_str(&format!("; {stand_in}"));
        }
        if !unused.is_empty() {
            let names: Vec<String> = unused.iter().map(|name| format!("`{name}`")).collect();
            let columns = if unused.len() == 1 { "column" } else { "columns" };
            let names = listed(&names, Self::SHOWN);
            text.push_str(&format!(
                "; {columns} {names} not used, since the training data have none"
            ));
        }
        text + &self.outside(fit)
    }

    /// The end of the note: the values outside the range of the training data.
    fn outside(&self, fit: &Fit) -> String {
        let ranges: Vec<_> = fit.ranges().iter().cloned().map(Arc::new).collect();
        let (mut rows, mut values, mut first) = (0, 0, Vec::new());
        for (row, line) in self.x.rows().into_iter().zip(self.lines.iter()) {
            let before = values;
            for (&value, range) in row.iter().zip(&ranges) {
                //~ predict-outside
                if value < range.low || value > range.high {
                    values += 1;
                    if values <= Self::SHOWN {
                        //~ predict-outside-line
                        let outside = Outside { row: line, value, range: range.clone() };
                        first.push(outside.in_words(self.lines.unit()));
                    }
                }
            }
            rows += usize::from(values > before);
        }
        if rows == 0 {
            return "; all lie within the range of the training data".into();
        }
        let more = match values - first.len() {
            0 => String::new(),
            more => format!("; and {}", count(more, "more value")),
        };
        let first = first.join("; ");
        format!("; {rows} outside the range of the training data ({first}{more})")
    }
}

/// The first of a list, and how many more there are.
fn listed(items: &[impl ToString], most: usize) -> String {
    let shown: Vec<String> = items.iter().take(most).map(ToString::to_string).collect();
    match items.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

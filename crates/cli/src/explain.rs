//! `explain`: effects of columns, and their importance.

use std::fs;
use std::path::{Path, PathBuf};

use bnn_mcmc::data::{ValueKind, csv_cell, guarded};
use bnn_mcmc::diagnostics::Outcome;
use bnn_mcmc::explain::{Contrast, Effect, Explainer, Importance, PairEffect, Sobol};
use bnn_mcmc::fit::{Fit, Relevance};
use bnn_mcmc_report::figure::Figure;
use bnn_mcmc_report::figures::effects;
use clap::{ArgGroup, Args};

use crate::output::{self, count, number};
use crate::{Ended, Failure, file, folder, words};

/// The level of intervals.
const LEVEL: f64 = 0.9;
/// Random exchanges of a column's cells.
const EXCHANGES: usize = 5;

/// What a run says of the columns of its table: their importance, and their effects with intervals of 90 %
///
/// Importance (permutation importance) is the loss of log predictive density, in nats a row, when the cells of a column are exchanged between rows that the model
/// has not seen (the rows for validation, or training rows left out by weights). A column that goes together with
/// another one seems less important than it is.
///
/// An effect (partial dependence) is the difference that a column makes to the prediction, averaged over rows, all else equal: of numbers and times from the
/// 10 % to the 90 % quantile, of labels from the first to each other. Intervals are of the mean function, without
/// the noise of a single response; of classes effects are on probabilities.
#[derive(Args)]
#[command(group = ArgGroup::new("curves").args(["out", "figures", "with"]).multiple(true))]
pub struct ExplainArgs {
    /// The folder of the run
    run: PathBuf,
    /// Only these columns of the table, separated by commas [default: all]
    #[arg(long, short, value_name = "COLUMNS", value_delimiter = ',')]
    column: Vec<String>,
    /// The effect of the column together with this one
    #[arg(long, value_name = "COLUMN", requires = "column")]
    with: Option<String>,
    /// The difference from this value of the column, as in the table ...
    #[arg(long, value_name = "VALUE", requires_all = ["column", "to"], allow_hyphen_values = true)]
    from: Option<String>,
    /// ... to this one
    #[arg(long, value_name = "VALUE", requires = "from", allow_hyphen_values = true)]
    to: Option<String>,
    /// Accumulated local effects instead of partial dependence in --out, --figures and --with: they ask for changes close to the
    /// rows only, and so are right where columns go together. Of numbers, times and two labels; other labels have a partial dependence
    #[arg(long, requires = "curves")]
    accumulated: bool,
    /// Add each column's share of the variance of the mean function, alone and together with others (Sobol indices)
    #[arg(long)]
    sobol: bool,
    /// Write the effects of single columns to a file, as CSV: a line for each column, value and output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write figures of the effects and of the importance to a folder, as SVG
    #[arg(long, value_name = "FOLDER")]
    figures: Option<PathBuf>,
    /// The seed of random exchanges
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What is written to files.
#[derive(Default)]
struct Found {
    effects: Vec<Effect>,
    pair: Option<PairEffect>,
    importance: Vec<Importance>,
}

pub fn run(args: &ExplainArgs) -> Result<Ended, Failure> {
    if let Some(file) = &args.out {
        folder::check_file(file, "--out", &[])?;
    }
    if let Some(figures) = &args.figures {
        folder::check_place(figures, "--figures", &[])?;
    }
    let fit = folder::load(&args.run)?;
    let mut asked = Asked::new(args, &fit)?;
    let differences = asked.contrasts()?;
    let mut found = Found::default();
    let mut text = String::new();
    if args.from.is_none() && args.with.is_none() {
        if let Some(importance) = asked.importance()? {
            text += &format!("{}\n", importances(&importance)?);
            found.importance = importance;
        }
        text += &asked.relevance();
    }
    if args.sobol {
        text += &asked.shares()?;
    }
    text += &contrasts(&differences)?;
    if args.out.is_some() || args.figures.is_some() {
        found.effects = asked.curves()?;
    }
    if let Some(with) = &args.with {
        let effect = asked.pair(with)?;
        text += &format!("\n{}", together(&effect));
        found.pair = Some(effect);
    }
    if !fit.centre().is_mean() {
        output::note(
            "effects are on medians, and not on means, which this noise need not have after a transform",
        );
    }
    if let Outcome::Settled { min_ess, .. } = fit.verdict()?.outcome {
        output::note(&format!(
            "the run has settled for predictions; the ends of these intervals are by {}: go on by --run-until converged where they matter",
            count(min_ess as usize, "effective draw")
        ));
    }
    output::print(&text)?;
    found.write(args)?;
    Ok(Ended::Done)
}

/// The columns of a run that are asked about.
struct Asked<'a> {
    args: &'a ExplainArgs,
    fit: &'a Fit,
    explainer: Explainer<'static>,
    columns: Vec<String>,
}

impl<'a> Asked<'a> {
    fn new(args: &'a ExplainArgs, fit: &'a Fit) -> Result<Self, Failure> {
        let explainer = fit.explain()?;
        let columns: Vec<String> = match args.column.is_empty() {
            true => explainer.columns().iter().map(ToString::to_string).collect(),
            false => args.column.clone(),
        };
        columns.iter().try_for_each(|name| explainer.column(name).map(|_| ()))?;
        if columns.len() != 1 && (args.from.is_some() || args.with.is_some()) {
            let problem = "--from, --to and --with are about one column: give one name to --column";
            return Err(Failure::usage(problem));
        }
        Ok(Self { args, fit, explainer, columns })
    }

    /// The differences that the columns make, which are then those that have any.
    fn contrasts(&mut self) -> Result<Vec<Contrast>, Failure> {
        let Self { args, explainer, columns, .. } = self;
        if let Some(from) = &args.from {
            let name = &columns[0];
            let column = explainer.column(name)?;
            let to = args.to.as_deref().unwrap_or_default();
            return Ok(vec![explainer.contrast(name, column.parse(from)?, column.parse(to)?)?]);
        }
        // Of all columns, one without a value in any row does not keep the others from being told.
        let (mut found, mut told) = (Vec::new(), Vec::new());
        for name in columns.drain(..) {
            match explainer.contrasts(&name) {
                Ok(contrasts) => found.extend(contrasts),
                Err(error) if args.column.is_empty() => {
                    output::note(&format!("{name}: no effect: {}", error.in_words(&words::Flags)));
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            told.push(name);
        }
        *columns = told;
        Ok(found)
    }

    /// The importance of the columns, the largest first; `None` of an ensemble that has learnt from all rows.
    fn importance(&self) -> Result<Option<Vec<Importance>>, Failure> {
        if self.fit.draws().info().approximation.is_some() && self.fit.validation().is_none() {
            output::note(
                "importance: not of an ensemble, which cannot leave out rows that it has learnt from; keep some by \
                 `fit --validation 0.2`",
            );
            return Ok(None);
        }
        let mut importance = self.explainer.importance(EXCHANGES, self.args.seed)?;
        let unreliable = importance.first().map_or(0, |of| of.unreliable);
        if unreliable > 0 {
            let rows = output::count(unreliable, "row");
            output::note(&format!("importance: {rows} cannot be left out reliably (Pareto k)"));
        }
        importance.retain(|of| self.columns.contains(&of.column));
        importance.sort_by(|a, b| b.loss.total_cmp(&a.loss));
        Ok(Some(importance))
    }

    /// The table of the scales of the weights, empty where columns have none of their own.
    fn relevance(&self) -> String {
        let mut scales = self.fit.relevance();
        scales.retain(|of| self.columns.contains(&of.column));
        if scales.is_empty() { String::new() } else { format!("{}\n", relevance(&scales)) }
    }

    /// The table of the shares of the variance.
    fn shares(&self) -> Result<String, Failure> {
        let mut indices = self.explainer.sobol(self.args.seed)?;
        indices.retain(|of| self.columns.contains(&of.column));
        Ok(format!("{}\n", shares(&indices)?))
    }

    /// The effect of each column at all points; labels that have no order have a partial dependence.
    fn curves(&self) -> Result<Vec<Effect>, Failure> {
        let effect = |name: &String| {
            let levels = self.explainer.column(name)?.levels().map_or(0, |levels| levels.len());
            match self.args.accumulated && [0, 2].contains(&levels) {
                true => self.explainer.accumulated_local_effect(name),
                false => self.explainer.partial_dependence(name),
            }
        };
        Ok(self.columns.iter().map(effect).collect::<Result<_, _>>()?)
    }

    /// The effect of the column together with another one.
    fn pair(&self, with: &str) -> Result<PairEffect, Failure> {
        let name = &self.columns[0];
        Ok(match self.args.accumulated {
            true => self.explainer.accumulated_local_effect_pair(name, with)?,
            false => self.explainer.partial_dependence_pair(name, with)?,
        })
    }
}

/// Three digits.
fn digits(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || !size.is_finite() => number(value),
        size => {
            let places = (2 - size.log10().floor() as i32).max(0);
            match places {
                0..=8 => format!("{value:.*}", places as usize),
                _ => number(value),
            }
        }
    }
}

fn importances(all: &[Importance]) -> Result<String, Failure> {
    let mut rows = Vec::new();
    for of in all {
        let interval = of.interval(LEVEL)?;
        let numbers = [of.loss, *interval.start(), *interval.end()];
        let mut row = vec![of.column.clone()];
        row.extend(numbers.map(|loss| format!("{loss:.4}")));
        rows.push(row);
    }
    Ok(output::table(&["importance", ">nats a row", ">5 %", ">95 %"], rows))
}

fn shares(all: &[Sobol]) -> Result<String, Failure> {
    let mut rows = Vec::new();
    for of in all {
        let ([first, total], intervals) = (of.mean(), of.interval(LEVEL)?);
        for (j, output) in of.outputs.iter().enumerate() {
            let mut row = vec![of.column.clone(), output.clone()];
            for (mean, [low, high]) in [first[j], total[j]].into_iter().zip(intervals[j]) {
                row.push(format!("{mean:.3}"));
                row.push(format!("{low:.3} to {high:.3}"));
            }
            rows.push(row);
        }
    }
    let headings = ["share of the variance", "output", ">alone", "90 %", ">with others", "90 %"];
    Ok(output::table(&headings, rows))
}

fn relevance(all: &[Relevance]) -> String {
    let row = |of: &Relevance| {
        let [low, median, high] = [0.05, 0.5, 0.95].map(|p| format!("{:.3}", of.quantile(p)));
        vec![of.column.clone(), median, format!("{low} to {high}")]
    };
    output::table(&["scale of the weights", ">median", "90 %"], all.iter().map(row))
}

fn contrasts(all: &[Contrast]) -> Result<String, Failure> {
    let mut rows = Vec::new();
    for of in all {
        let (mean, interval) = (of.mean(), of.interval(LEVEL)?);
        for (j, output) in of.outputs.iter().enumerate() {
            let mut row = vec![of.column.clone(), of.from.clone(), of.to.clone(), output.clone()];
            let numbers = [mean[j], interval.lower[(0, j)], interval.upper[(0, j)]];
            row.extend(numbers.map(digits));
            rows.push(row);
        }
    }
    Ok(output::table(&["effect", ">from", ">to", "of", ">difference", ">5 %", ">95 %"], rows))
}

/// The mean effect of two columns, a row for each value of the first.
fn together(effect: &PairEffect) -> String {
    let (mean, [first, second]) = (effect.mean(), &effect.points);
    let mut text = String::new();
    for (j, output) in effect.outputs.iter().enumerate() {
        let corner = format!("{output}: {} by {}", first.column, second.column);
        let headings: Vec<String> = std::iter::once(corner)
            .chain(second.words.iter().map(|word| format!(">{word}")))
            .collect();
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let rows = first.words.iter().enumerate().map(|(k, word)| {
            let cells = (0..second.words.len()).map(|m| digits(mean[(k, m, j)]));
            std::iter::once(word.clone()).chain(cells).collect()
        });
        text += &output::table(&headings, rows);
    }
    text
}

/// `column,value,output,effect,q05,q95`, a line for each value and output.
fn csv(effects: &[Effect]) -> Result<String, Failure> {
    let mut text = String::from("column,value,output,effect,q05,q95\n");
    for effect in effects {
        let (mean, interval) = (effect.mean(), effect.interval(LEVEL)?);
        let points = &effect.points;
        for (k, word) in points.words.iter().enumerate() {
            // Numbers with all their digits.
            let value = match points.kind {
                ValueKind::Number => number(points.values[k]),
                _ => word.clone(),
            };
            for (j, output) in effect.outputs.iter().enumerate() {
                let words = [&points.column, &value, output];
                let words = words.map(|word| csv_cell(&guarded(word)).into_owned());
                let numbers = [mean[(k, j)], interval.lower[(k, j)], interval.upper[(k, j)]];
                text +=
                    &format!("{},{}\n", words.join(","), numbers.map(|x| x.to_string()).join(","));
            }
        }
    }
    Ok(text)
}

impl Found {
    /// Writes the files that are asked for, and says where they are.
    fn write(&self, args: &ExplainArgs) -> Result<(), Failure> {
        if let Some(path) = &args.out {
            file::write(path, &csv(&self.effects)?)?;
            output::note(&format!("the effects are in {}", path.display()));
        }
        if let Some(folder) = &args.figures {
            let n = self.draw(folder)?;
            output::note(&format!("{} in {}", output::count(n, "figure"), folder.display()));
        }
        Ok(())
    }

    /// Writes the figures to a folder, which is made, and returns their number.
    fn draw(&self, folder: &Path) -> Result<usize, Failure> {
        let mut figures: Vec<Figure> = Vec::new();
        if !self.importance.is_empty() {
            figures.push(effects::importance(&self.importance)?);
        }
        for (place, effect) in self.effects.iter().enumerate() {
            let figure = effects::curve(effect)?;
            figures.push(Figure { name: format!("effect-{}", place + 1), ..figure });
        }
        if let Some(pair) = &self.pair {
            figures.push(effects::pair(pair)?);
        }
        let of_folder = |e| Failure::error(format!("{}: {e}", folder.display()));
        fs::create_dir_all(folder).map_err(of_folder)?;
        for figure in &figures {
            file::write(&folder.join(format!("{}.svg", figure.name)), &figure.to_svg())?;
        }
        Ok(figures.len())
    }
}

//! `check`: the contents of a table, and the reasons for which `fit` would refuse it.

use std::path::{Path, PathBuf};

use bnn_mcmc::data::{ColumnDescription, ColumnType, Description, Finding};
use bnn_mcmc::fit::{Candidate, Fit};
use bnn_mcmc::message::Advice;
use bnn_mcmc::sampler::StopHandle;
use clap::Args;

use crate::calibrate::CalibrateArgs;
use crate::config::{Config, whole};
use crate::output::{self, count, number, quoted};
use crate::table::Table;
use crate::{Ended, Failure, diagnose, task, words};

/// Describes a table, the reasons for which `fit` would refuse it, and how to mend them
///
/// With --target all is tried but the sampling: the columns, the response, the starting points.
/// Exit code 1 if `fit` would refuse the table as these flags say it is.
#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    config: Config,
    /// The number of chains [default: 4, of an ensemble 8]
    #[arg(long, value_name = "N", help_heading = "Sampler", allow_hyphen_values = true, value_parser = whole::<usize>)]
    chains: Option<usize>,
    /// Tell how long `fit` would take, by short chains of the models that it would compare: seconds for most tables
    #[arg(long, help_heading = "Check")]
    time: bool,
    #[command(flatten)]
    calibrate: CalibrateArgs,
    /// A file of settings. Flags come before it
    #[arg(long = "config", value_name = "FILE", help_heading = "Check")]
    file: Option<PathBuf>,
}

pub fn run(args: CheckArgs) -> Result<Ended, Failure> {
    let CheckArgs { config: mut flags, chains, time, calibrate, file } = args;
    flags.sampler.chains = chains;
    let mut config = flags.over(file.as_deref())?;
    let data = config.data()?.to_path_buf();
    let opened = config.open()?;
    let table = opened.describe(&config.reader()?)?;
    config.name_columns(&table);
    config.take_order(&opened);

    let mut text = contents(&table, &data);
    let target = config.table.target.clone().unwrap_or_default();
    for name in &target {
        task::column(&table, name, &data)?;
    }
    let found = config.findings(&table)?;
    if !found.is_empty() {
        text.push_str(&format!("\n{}", said(&found)));
    }
    if target.is_empty() {
        text.push_str("\nWith --target COLUMN it is tried whether `fit` accepts the table.\n");
        output::print(&text)?;
        return Ok(Ended::Done);
    }
    let mended = mended(&config, &found, &target);
    let as_it_is = tried(&mut config, &table, &opened, time);
    match &as_it_is {
        Ok((_, accepted)) => {
            text.push_str(&format!("\n{}{accepted}", output::good("`fit` accepts it")))
        }
        Err(failure) => {
            let refused = output::bad("`fit` would refuse it:");
            text.push_str(&format!("\n{refused} {}\n", failure.message));
            if let Some((mut mended, flags)) = mended {
                text.push_str(&match tried(&mut mended, &table, &opened, time) {
                    Ok((_, accepted)) => format!(
                        "{}{accepted}",
                        output::good(&format!("`fit` accepts it with{flags}"))
                    ),
                    Err(failure) => {
                        format!("with{flags} it would still be refused: {}\n", failure.message)
                    }
                });
            }
        }
    }
    output::print(&text)?;
    let Ok((fit, _)) = as_it_is else { return Ok(Ended::Refused) };
    calibrate.run(&config.recipe(&table)?, &fit, &config)
}

/// The size of a table, and its columns.
fn contents(table: &Description, data: &Path) -> String {
    let mut text = format!(
        "{}: {}{}, {}",
        data.display(),
        count(table.rows, "row"),
        table.drawn_from.map_or_else(String::new, |of| format!(" of {of}, drawn at random")),
        count(table.columns.len(), "column")
    );
    match table.rows - table.complete {
        0 => text.push_str("; no value is missing\n\n"),
        n => text.push_str(&format!("; {} with missing values\n\n", count(n, "row"))),
    }
    let rows = table.columns.iter().map(|column| {
        vec![column.name.clone(), kind(column).into(), column.missing.to_string(), values(column)]
    });
    text + &output::table(&["column", "kind", ">missing", "values"], rows)
}

/// The settings that leave out the columns for which `fit` would refuse the table, and their flags; `None` if these do
/// not help.
fn mended(config: &Config, found: &[Finding], target: &[String]) -> Option<(Config, String)> {
    let mut mended = config.clone();
    for finding in found.iter().filter(|finding| finding.is_refused()) {
        let (name, advice) = (finding.column(), finding.advice());
        let leave_out = |advice: &Advice| matches!(advice, Advice::Ignore { .. });
        if advice.iter().any(leave_out) && !target.iter().any(|own| own == name) {
            mended.table.ignore.get_or_insert_default().push(name.into());
        }
    }
    if mended.table.ignore == config.table.ignore {
        return None;
    }
    let names = mended.table.ignore.clone().unwrap_or_default();
    if let Some(features) = &mut mended.table.features {
        let named = features.len();
        features.retain(|name| !names.contains(name));
        // Without any, all columns would be features.
        if features.is_empty() && named > 0 {
            return None;
        }
    }
    Some((mended, ignoring(&names)))
}

/// The flag that leaves these columns out: all at once, unless commas are in their names, too.
fn ignoring(names: &[String]) -> String {
    if names.iter().any(|name| name.contains(',')) {
        return names.iter().map(|name| format!(" --ignore {}", quoted(name))).collect();
    }
    format!(" --ignore {}", quoted(&names.join(",")))
}

fn kind(column: &ColumnDescription) -> &str {
    match &column.kind {
        Some(ColumnType::Bools) => return "true or false",
        Some(ColumnType::Labels) => return "labels",
        Some(ColumnType::Other(kind)) => return kind,
        _ => {}
    }
    if column.dates.is_some() {
        return "dates";
    }
    match (column.is_text, column.range, &column.first_not_number) {
        (true, ..) => "text",
        (false, None, None) => "empty",
        (false, _, Some(_)) => "mixed",
        (false, _, None) if column.is_counts => "whole numbers",
        (false, _, None) => "numbers",
    }
}

/// The range of numbers; labels, each with its number of rows.
fn values(column: &ColumnDescription) -> String {
    const SHOWN: usize = 6;
    if matches!(column.kind, Some(ColumnType::Other(_))) {
        return "not read".into();
    }
    let different = match &column.values {
        Some(values) => values.len().to_string(),
        None => "more than 1000".into(),
    };
    if let Some((row, cell)) = &column.dates {
        return format!("{different} different, {cell} in {row}");
    }
    match (column.is_text, column.range, &column.first_not_number) {
        (true, ..) => {
            let values = column.values.as_deref().unwrap_or_default();
            let mut listed: Vec<String> = values
                .iter()
                .take(SHOWN)
                .map(|(label, n)| format!("{} ({n})", short(label)))
                .collect();
            if values.len() > SHOWN || column.values.is_none() {
                listed.push("...".into());
            }
            format!("{different}: {}", listed.join(", "))
        }
        (false, Some((low, high)), None) => {
            format!("{} to {}, {different} different", number(low), number(high))
        }
        (false, Some((low, high)), Some((row, cell))) => {
            format!("{} to {}, but {row}: {cell}", number(low), number(high))
        }
        (false, None, Some((row, cell))) => format!("{row}: {cell}"),
        (false, None, None) => String::new(),
    }
}

/// The first characters of a label.
fn short(label: &str) -> String {
    const LENGTH: usize = 24;
    let text: String = label.chars().take(LENGTH).collect();
    if label.chars().nth(LENGTH).is_some() { text + "..." } else { text }
}

/// The findings on a table, line by line, in the flags of this command.
pub fn said(found: &[Finding]) -> String {
    let line = |finding: &Finding| {
        format!("{} {}\n", output::heading("-"), finding.in_words(&words::Flags))
    };
    found.iter().map(line).collect()
}

/// Tries whether `fit` would begin to sample: the run ends before its first step. With it a text is
/// returned that ends the sentence that `fit` accepts the table; if it is timed, it says how long a fit would take.
fn tried(
    config: &mut Config,
    table: &Description,
    opened: &Table,
    is_timed: bool,
) -> Result<(Fit, String), Failure> {
    let mut said = config.settle_text(table)?;
    said.splice(0..0, config.settle(table)?);
    let stop = StopHandle::new();
    stop.stop();
    let recipe = config.recipe(table)?;
    let mut stopped = recipe.clone().stop_handle(&stop);
    let mut chosen = "";
    if config.is_open() {
        stopped = stopped.model(Candidate::Network);
        chosen = "model     chosen by the data; the plainest network among the candidates is\n";
    }
    let fit = opened.try_fit(&stopped)?;
    let why = if said.is_empty() { ".".into() } else { format!(": {}", said.join("; ")) };
    let mut time = String::new();
    if is_timed {
        time = format!("time      {}", recipe.forecast(fit.data(), fit.schema())?);
        time += if config.table.impute.is_some() { ", for each completed table\n" } else { "\n" };
    }
    let (model, columns) = (diagnose::model(&fit), diagnose::columns(&fit));
    Ok((fit, format!("{why}\n{chosen}{model}{time}\n{columns}")))
}

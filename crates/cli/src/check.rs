//! `check`: what a table holds, and what `fit` would refuse of it.

use std::path::PathBuf;

use bnn_mcmc::data::{ColumnDescription, Description};
use bnn_mcmc::sampler::StopHandle;
use clap::Args;

use crate::config::{Config, TableSettings};
use crate::output::{self, count, number, quoted};
use crate::{Ended, Failure, diagnose, task};

/// More levels than this are refused in a column of text that `--categorical` does not name.
const MANY_LEVELS: usize = 50;

/// Says what a table holds, what `fit` would refuse of it, and how to mend that
///
/// With --target all is tried but the sampling: the columns, the response, the starting points.
/// Exit code 1 if `fit` would refuse the table as these flags say it is.
#[derive(Args)]
pub struct CheckArgs {
    /// The table: a CSV file, or one like it, as it is or packed by gzip
    data: Option<PathBuf>,
    #[command(flatten)]
    table: TableSettings,
    /// A file of settings. Flags come before it
    #[arg(long = "config", value_name = "FILE")]
    file: Option<PathBuf>,
}

/// What is to be done about a column.
enum Mend {
    /// Leave the column out.
    Ignore,
    /// Leave its rows without a value out.
    DropMissing,
    /// Look at it.
    Look,
}

pub fn run(args: CheckArgs) -> Result<Ended, Failure> {
    let config = Config { data: args.data, table: args.table, ..Config::default() };
    let mut config = config.over(args.file.as_deref())?;
    let data = config.data()?.to_path_buf();
    let table = config.reader()?.describe_path(&data)?;
    config.name_columns(&table);

    let mut text = format!(
        "{}: {}, {}",
        data.display(),
        count(table.rows, "row"),
        count(table.columns.len(), "column")
    );
    match table.rows - table.complete {
        0 => text.push_str("; no value is missing\n\n"),
        n => text.push_str(&format!("; {} with missing values\n\n", count(n, "row"))),
    }
    let rows = table.columns.iter().map(|column| {
        vec![column.name.clone(), kind(column).into(), column.missing.to_string(), values(column)]
    });
    text.push_str(&output::table(&["column", "kind", ">missing", "values"], rows));

    let target = config.table.target.clone().unwrap_or_default();
    for name in &target {
        task::column(&table, name, &data)?;
    }
    let found = findings(&config, &table, &target);
    let (mut mended, mut flags) = (config.clone(), String::new());
    if !found.is_empty() {
        text.push('\n');
    }
    for (name, problem, mend) in found {
        text.push_str(&format!("{} `{name}` {problem}\n", output::heading("-")));
        match mend {
            Mend::Ignore => mended.table.ignore.get_or_insert_default().push(name),
            Mend::DropMissing => mended.table.drop_missing = Some(true),
            Mend::Look => {}
        }
    }
    if mended.table.ignore != config.table.ignore {
        let names = mended.table.ignore.clone().unwrap_or_default();
        flags.push_str(&ignoring(&names));
        if let Some(features) = &mut mended.table.features {
            features.retain(|name| !names.contains(name));
        }
    }
    if mended.table.drop_missing != config.table.drop_missing {
        flags.push_str(" --drop-missing");
    }

    if target.is_empty() {
        text.push_str("\nWith --target COLUMN it is tried whether `fit` accepts the table.\n");
        output::print(&text)?;
        return Ok(Ended::Done);
    }
    let as_it_is = tried(&mut config, &table);
    match &as_it_is {
        Ok(accepted) => {
            text.push_str(&format!("\n{} {accepted}", output::good("`fit` accepts it:")))
        }
        Err(failure) => {
            text.push_str(&format!(
                "\n{} {}\n",
                output::bad("`fit` would refuse it:"),
                failure.message
            ));
            if !flags.is_empty() {
                text.push_str(&match tried(&mut mended, &table) {
                    Ok(accepted) => format!(
                        "{} {accepted}",
                        output::good(&format!("`fit` accepts it with{flags}:"))
                    ),
                    Err(failure) => {
                        format!("with{flags} it would still be refused: {}\n", failure.message)
                    }
                });
            }
        }
    }
    output::print(&text)?;
    Ok(if as_it_is.is_ok() { Ended::Done } else { Ended::Refused })
}

/// The flag that leaves these columns out: all at once, unless commas are in their names, too.
fn ignoring(names: &[String]) -> String {
    if names.iter().any(|name| name.contains(',')) {
        return names.iter().map(|name| format!(" --ignore {}", quoted(name))).collect();
    }
    format!(" --ignore {}", quoted(&names.join(",")))
}

fn kind(column: &ColumnDescription) -> &'static str {
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
    let different = match &column.values {
        Some(values) => values.len().to_string(),
        None => "more than 1000".into(),
    };
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
        (false, Some((low, high)), Some((line, cell))) => {
            format!("{} to {}, but line {line}: {cell}", number(low), number(high))
        }
        (false, None, Some((line, cell))) => format!("line {line}: {cell}"),
        (false, None, None) => String::new(),
    }
}

/// The first characters of a label.
fn short(label: &str) -> String {
    const LENGTH: usize = 24;
    let text: String = label.chars().take(LENGTH).collect();
    if label.chars().nth(LENGTH).is_some() { text + "..." } else { text }
}

/// What there is to say of single columns, and what is to be done about it.
fn findings(
    config: &Config,
    table: &Description,
    target: &[String],
) -> Vec<(String, String, Mend)> {
    let settings = &config.table;
    let named = |list: &Option<Vec<String>>, name: &String| {
        list.as_ref().is_some_and(|list| list.contains(name))
    };
    let chosen = settings.features.as_ref().filter(|features| !features.is_empty());
    let mut found = Vec::new();
    for column in &table.columns {
        let name = &column.name;
        let is_target = target.contains(name);
        let is_used = is_target || chosen.is_none_or(|features| features.contains(name));
        if named(&settings.ignore, name) || !is_used {
            continue;
        }
        let mut say = |problem: String, mend: Mend| found.push((name.clone(), problem, mend));
        let out = format!("leave it out by --ignore {}", quoted(name));
        let different = column.values.as_ref().map(Vec::len);
        if column.missing == table.rows {
            say(format!("has no value in any row: {out}"), Mend::Ignore);
            continue;
        }
        if different == Some(1) && !is_target {
            let value = column.values.iter().flatten().map(|(value, _)| short(value)).next();
            say(format!("is {} in all rows: {out}", value.unwrap_or_default()), Mend::Ignore);
            continue;
        }
        let is_label = named(&settings.categorical, name);
        if column.is_text && !is_target && !is_label && different.is_none_or(|n| n > MANY_LEVELS) {
            say(
                format!(
                    "holds text of more than {MANY_LEVELS} kinds: {out} if it is an identifier, or take it \
                     for labels by --categorical {}",
                    quoted(name)
                ),
                Mend::Ignore,
            );
            continue;
        }
        if column.missing > 0 && settings.drop_missing != Some(true) {
            let rows = count(column.missing, "row");
            say(
                format!(
                    "has no value in {rows}: fill them in, or leave these rows out by --drop-missing"
                ),
                Mend::DropMissing,
            );
        }
        if let (false, false, Some((line, cell))) =
            (column.is_text, is_label, &column.first_not_number)
            && !(is_target && settings.task == Some(task::Task::Classification))
        {
            let or = match is_target {
                true => String::new(),
                false => {
                    format!(", or take the column for labels by --categorical {}", quoted(name))
                }
            };
            say(
                format!(
                    "holds numbers, but line {line} has `{cell}`: mend it, or say that it stands for a missing \
                     value by --missing{or}"
                ),
                Mend::Look,
            );
        }
        if !is_target && is_numbered(column, table.rows) {
            say(format!("numbers the rows: if it is an identifier, {out}"), Mend::Look);
        }
    }
    found
}

/// Whether a column counts the rows, from any number on.
fn is_numbered(column: &ColumnDescription, rows: usize) -> bool {
    let span = column.range.map(|(low, high)| high - low);
    let all_differ = column.values.as_ref().is_none_or(|values| values.len() == rows);
    rows > 2 && column.is_counts && all_differ && span == Some((rows - 1) as f64)
}

/// Whether `fit` would begin to sample, and what: the run ends before its first step.
fn tried(config: &mut Config, table: &Description) -> Result<String, Failure> {
    let why = config.settle(table)?;
    let stop = StopHandle::new();
    stop.stop();
    let fit = config.recipe(table)?.stop_handle(&stop).read_csv(config.data()?)?;
    Ok(format!("{}\n{}", why.unwrap_or_default(), diagnose::model(&fit)))
}

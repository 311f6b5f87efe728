//! `fit` and `merge`: from a table to draws in a folder.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use bnn_mcmc::data::Description;
use bnn_mcmc::fit::{Fit, Recipe};
use bnn_mcmc::sampler::StopHandle;
use clap::Args;

use crate::config::{Config, FILE, whole};
use crate::output::{self, count};
use crate::table::Table;
use crate::{Ended, Failure, check, diagnose, file, signals, words};

/// Fits a model to a table, in a folder of its own
///
/// The folder then holds the draws, a description of the fit, the rows, the verdict, and all
/// settings (config.toml). A run that was killed, or ended by Ctrl-C or a batch system, goes on
/// where it was by the same command; a finished run goes on to more --draws, and damaged files are
/// rebuilt from its checkpoint. With fewer --draws a run that was ended ends there, and can be
/// used.
#[derive(Args)]
pub struct FitArgs {
    #[command(flatten)]
    pub config: Config,
    /// A file of settings, such as the config.toml of another run. Flags come before it
    #[arg(long = "config", value_name = "FILE", help_heading = "Run")]
    file: Option<PathBuf>,
    /// The folder of the run, which is made
    #[arg(long, short, value_name = "FOLDER", help_heading = "Run")]
    out: PathBuf,
    /// The number of chains of the run, as `--chains 4` [default: 4, of an ensemble 8]; or the chains that this job
    /// runs, as `--chains 2..4 --of 8 --model network`: chains 2 and 3 of eight, of a model that is given. Chains are
    /// counted from 0, and the end is left out
    #[arg(long, value_name = "N|FROM..TO", help_heading = "Sampler", allow_hyphen_values = true)]
    chains: Option<Chains>,
    /// The number of chains of the whole run, of which this job runs `--chains FROM..TO`; all jobs
    /// share one folder, and `merge` puts them together
    #[arg(long, value_name = "N", requires = "chains", help_heading = "Sampler", allow_hyphen_values = true,
          value_parser = whole::<usize>)]
    of: Option<usize>,
    /// Exit code 3 if the run has not converged. An ensemble never has
    #[arg(long, help_heading = "Run")]
    strict: bool,
    /// Print neither progress nor the model on standard error
    #[arg(long, short, help_heading = "Run")]
    quiet: bool,
}

/// Puts the chains of several jobs together, after `fit --chains FROM..TO --of N`
#[derive(Args)]
pub struct MergeArgs {
    /// The folder of the run, which all jobs had as their --out
    run: PathBuf,
    /// Exit code 3 if the run has not converged
    #[arg(long)]
    strict: bool,
}

/// The number of chains, or the chains that this job runs.
#[derive(Clone, Debug, PartialEq)]
enum Chains {
    All(usize),
    Only(Range<usize>),
}

impl FromStr for Chains {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "neither a number, as 4, nor a range, as 2..4 for chains 2 and 3".to_string();
        let number = |text: &str| text.trim().parse().map_err(|_| wrong());
        match text.split_once("..") {
            None => Ok(Self::All(number(text)?)),
            Some((_, to)) if to.starts_with('=') => Err(wrong()),
            Some((from, to)) => Ok(Self::Only(number(from)?..number(to)?)),
        }
    }
}

/// The number of chains, unless it is left to the file, and the chains that are run.
fn chains(
    flag: Option<Chains>,
    of: Option<usize>,
    in_file: Option<usize>,
) -> Result<(Option<usize>, Option<Range<usize>>), Failure> {
    match (flag, of) {
        (None, _) => Ok((None, None)),
        (Some(Chains::All(n)), None) => Ok((Some(n), None)),
        (Some(Chains::All(n)), Some(of)) => Err(Failure::usage(format!(
            "`--chains {n}` is a number of chains, and `--of` goes with a range: for chain {n} of {of} say \
             `--chains {n}..{} --of {of}`",
            n.saturating_add(1)
        ))),
        (Some(Chains::Only(range)), of) => match of.or(in_file) {
            None => Err(Failure::usage(format!(
                "`--chains {range:?}` says which chains this job runs, but not how many the whole run has: \
                 add `--of N`"
            ))),
            Some(n) if range.is_empty() || range.end > n => Err(Failure::usage(format!(
                "`--chains {range:?}` must be at least one of the chains 0..{n}: they are counted from 0, and \
                 the end of the range is left out"
            ))),
            Some(n) => Ok((Some(n), Some(range))),
        },
    }
}

/// The table of the settings, which take from it what they leave open. What `check` finds in it is said, before time is
/// spent and before an error that it may explain.
pub fn looked_at(config: &mut Config) -> Result<(Table, Description), Failure> {
    let opened = config.open()?;
    let table = opened.describe(&config.reader()?)?;
    config.name_columns(&table);
    config.take_order(&opened);
    let said = config.settle_text(&table)?;
    settle(config, &table)?;
    said.iter().for_each(|line| output::note(line));
    Ok((opened, table))
}

/// Takes from the table what the settings leave open, and says why, behind what `check` finds in it.
pub fn settle(config: &mut Config, table: &Description) -> Result<(), Failure> {
    let why = config.settle(table);
    let found = config.findings(table)?;
    if !found.is_empty() {
        output::note(check::said(&found).trim_end());
    }
    if let Some(why) = why? {
        output::note(&why);
    }
    Ok(())
}

pub fn run(args: FitArgs) -> Result<Ended, Failure> {
    let FitArgs { mut config, file, out, chains: flag, of, strict, quiet } = args;
    let in_file = match &file {
        Some(path) => Config::read(path)?.sampler.chains,
        None => None,
    };
    let (number, only) = chains(flag, of, in_file)?;
    config.sampler.chains = number;
    let mut config = config.over(file.as_deref())?;
    if only.is_some() {
        check_whole(strict, &config)?;
    }
    let (opened, table) = looked_at(&mut config)?;
    let stop = StopHandle::new();
    let mut recipe = config.recipe(&table)?.stop_handle(&stop).in_folder(&out);
    let tables = config.table.impute;
    if let Some(tables) = tables {
        recipe = recipe.impute(tables);
    }
    if let Some(range) = &only {
        recipe = recipe.only_chains(range.clone());
    }
    if !quiet {
        recipe = recipe.progress();
        output::note(&in_words(&recipe));
    }
    // The draws in the checkpoint are safe at a second signal.
    signals::stop(&stop, "stopping after the draw that each chain is in; once more to end at once");
    let fit = match opened.fit(&recipe) {
        Err(error) if error.is_stopped() => return Ok(nothing_yet(&error)),
        fit => fit?,
    };
    signals::stop(&stop, "ending when the files are whole; once more to end at once");
    for table in fit.tables() {
        table.rebuilt().iter().for_each(|what| output::note(what));
        told(table)?;
    }
    let folder = match &only {
        Some(range) => out.join(format!("chains-{range:?}")),
        None => out.clone(),
    };
    write_config(&folder, &config.chosen(fit.recipe()))?;
    if fit.stopped_early() {
        return Ok(interrupted(&fit, tables, &folder));
    }
    if only.is_some() {
        let draws = count(fit.draws().n_draws(), "draw");
        let (folder, out) = (folder.display(), output::quoted(&out.display().to_string()));
        output::print(&format!(
            "{draws} of each chain in {folder}; when all jobs are done: bnn-mcmc merge {out}\n"
        ))?;
        return Ok(Ended::Done);
    }
    if !quiet {
        output::note(diagnose::columns(&fit).trim_end());
    }
    ending(&fit, &out, strict)
}

/// An error if a job that runs some of the chains is asked for what takes all of them.
fn check_whole(strict: bool, config: &Config) -> Result<(), Failure> {
    if strict {
        let problem =
            "`--strict` is for whole runs: say it to `merge`, where all chains are judged";
        return Err(Failure::usage(problem));
    }
    if config.table.impute.is_some() {
        let problem = "`--impute` fits whole tables: it does not go with a range of `--chains`";
        return Err(Failure::usage(problem));
    }
    Ok(())
}

/// Says that a run, of completed tables if there are to be some, was ended early, and how it goes on.
fn interrupted(fit: &Fit, tables: Option<usize>, folder: &Path) -> Ended {
    let n = fit.draws().n_draws();
    let done = match tables {
        Some(tables) => {
            let done = fit.tables().iter().filter(|table| !table.stopped_early()).count();
            format!("{done} of {}", count(tables, "table"))
        }
        None => format!("{} of each chain", count(n, "draw")),
    };
    let usable = match (tables, n) {
        (Some(_), _) | (None, 0) => String::new(),
        (None, n) => format!("; with --draws {n} it ends there, and can be used as it is"),
    };
    let folder = folder.display();
    output::note(&format!(
        "ended after {done}, saved in {folder}: the same command goes on{usable}"
    ));
    Ended::Interrupted
}

/// Says that a run was ended before it had anything to save.
fn nothing_yet(error: &bnn_mcmc::Error) -> Ended {
    output::note(&format!("{error}: the same command begins anew"));
    Ended::Interrupted
}

pub fn merge(args: &MergeArgs) -> Result<Ended, Failure> {
    signals::stop(
        &StopHandle::new(),
        "the merge ends when its files are whole; once more to end at once",
    );
    let fit = Fit::merge(&args.run)?;
    fit.rebuilt().iter().for_each(|what| output::note(what));
    // All parts were made by the same settings, except settings that no result depends on.
    let mut parts: Vec<PathBuf> = fs::read_dir(&args.run)
        .map_err(|e| bnn_mcmc::Error::io(&args.run, e))?
        .filter_map(|entry| Some(entry.ok()?.path().join(FILE)))
        .filter(|path| path.is_file())
        .collect();
    parts.sort();
    match parts.first() {
        Some(path) => write_config(&args.run, &Config::read(path)?)?,
        None => output::note(&format!("warning: no part has a {FILE}")),
    }
    ending(&fit, &args.run, args.strict)
}

/// Says what went wrong with the files of a run. A fit that could not be saved and a run that a panic ended are errors.
fn told(fit: &Fit) -> Result<(), Failure> {
    if let Some(error) = fit.save_error() {
        let error = error.in_words(&words::Flags);
        let problem = format!("the fit could not be saved: {error}; the same command tries again");
        return Err(Failure::error(problem));
    }
    let info = fit.draws().info();
    if let Some(error) = &info.checkpoint_error {
        output::note(&format!("warning: {error}"));
    }
    match &info.panic {
        Some(panic) => Err(Failure::error(panic.clone())),
        None => Ok(()),
    }
}

/// Writes the settings to the folder, unless they are there.
fn write_config(folder: &Path, config: &Config) -> Result<(), Failure> {
    let (path, text) = (folder.join(FILE), config.to_toml()?);
    if fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    file::write(&path, &text)
}

/// The lines of a recipe that describe the model and the sampler.
fn in_words(recipe: &Recipe) -> String {
    let lines = recipe.in_words().into_iter();
    let lines = lines.filter(|line| !["file", "folder"].contains(&line.name));
    lines.map(|line| line.to_string()).collect::<Vec<_>>().join("\n")
}

/// The summary of a finished fit.
pub fn ending(fit: &Fit, folder: &Path, strict: bool) -> Result<Ended, Failure> {
    let (worst, verdict) = fit.worst_table()?;
    let mut text = diagnose::about(fit);
    let sentence = words::sentence(&verdict);
    text.push_str(&match fit.tables() {
        [_] => format!("verdict   {sentence}\n{}", diagnose::prior(fit, &verdict)),
        tables => format!(
            "tables    {}, with missing values drawn in each: the lines above are of table-0\n\
             verdict   table-{worst}, whose chains agree least: {sentence}\n\
             gaps      make {:.3} of the variance of the mean function\n",
            tables.len(),
            fit.missing_information()?,
        ),
    });
    text.push_str(&diagnose::validation(fit)?);
    text.push_str(&format!("saved in  {}\n", folder.display()));
    output::print(&text)?;
    let written =
        |name: &str| fs::metadata(folder.join(name)).and_then(|file| file.modified()).ok();
    if let (Some(report), Some(run)) = (written("report.html"), written("fit.json"))
        && report < run
    {
        let folder = output::quoted(&folder.display().to_string());
        output::note(&format!(
            "report.html is of the run as it was before: write it anew by bnn-mcmc report {folder}"
        ));
    }
    Ok(diagnose::ended(strict, verdict.is_settled()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_chains_and_a_range_are_told_apart() {
        let parse = |text: &str| text.parse::<Chains>();
        assert_eq!(parse("4"), Ok(Chains::All(4)));
        assert_eq!(parse("3..4"), Ok(Chains::Only(3..4)));
        for bad in ["", "..", "3..", "..4", "3..=4", "-1", "3.5", "a..b"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let only = |range, of, in_file| chains(Some(Chains::Only(range)), of, in_file);
        assert_eq!(only(3..4, Some(8), None).unwrap(), (Some(8), Some(3..4)));
        assert_eq!(only(3..4, None, Some(4)).unwrap(), (Some(4), Some(3..4)));
        // Nothing is guessed.
        let number = chains(Some(Chains::All(3)), Some(4), None);
        let (of, beyond, none) =
            (only(3..4, None, None), only(4..5, Some(4), None), only(2..2, Some(4), None));
        for refused in [of, beyond, none, number] {
            assert_eq!(refused.unwrap_err().code, 2);
        }
    }
}

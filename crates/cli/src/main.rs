//! The command `bnn-mcmc`: Bayesian neural networks fitted to CSV files, judged, compared, and
//! asked about new rows. Everything is done by [`bnn_mcmc::fit::Fit`]; here are flags, files and
//! words.

mod array;
mod calibrate;
mod check;
mod choice;
mod compare;
mod config;
mod diagnose;
mod explain;
mod export;
mod file;
mod fit;
mod folder;
mod output;
mod predict;
mod report;
mod signals;
mod store;
mod table;
mod task;
mod update;
mod words;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

/// Bayesian neural networks fitted to CSV files by Markov chain Monte Carlo: predictions with their
/// uncertainty, and a verdict on whether to trust them.
///
///     bnn-mcmc check data.csv --target y           what the table holds, and whether it can be fitted
///     bnn-mcmc fit data.csv --target y --out run   fits it, in a folder of its own
///     bnn-mcmc diagnose run                        whether the chains agree
///     bnn-mcmc report run                          the same and more with figures, run/report.html
///     bnn-mcmc explain run                         effects of the columns, and their importance
///     bnn-mcmc predict run new.csv                 predictions of new rows, as CSV
///     bnn-mcmc update run more.csv --out run2      learns from new rows, without a new fit
///     bnn-mcmc compare run1 run2                   which predicts better, by leave-one-out
///     bnn-mcmc export run --zarr run.zarr          the run for ArviZ
///     bnn-mcmc store data.csv --target y --out data.rows   a table of any size for programs of the library
#[derive(Parser)]
#[command(
    name = "bnn-mcmc",
    version,
    verbatim_doc_comment,
    after_help = "Exit codes: 0 done; 1 error; 2 wrong usage; 3 not converged, under --strict; 129, 130 or \
                  143 ended by the signal HUP, INT (Ctrl-C) or TERM: the same command goes on."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Fit(Box<fit::FitArgs>),
    Merge(fit::MergeArgs),
    Array(Box<array::ArrayArgs>),
    Diagnose(diagnose::DiagnoseArgs),
    Report(report::ReportArgs),
    Explain(explain::ExplainArgs),
    Predict(predict::PredictArgs),
    Update(update::UpdateArgs),
    Compare(compare::CompareArgs),
    Export(export::ExportArgs),
    Store(Box<store::StoreArgs>),
    Check(Box<check::CheckArgs>),
    /// Prints a script that completes the command in a shell, as `source <(bnn-mcmc completions
    /// bash)`
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The ending of a command that was carried out.
pub enum Ended {
    Done,
    /// A table was checked that `fit` would refuse.
    Refused,
    /// The run has not converged, under `--strict`.
    NotConverged,
    /// The command was ended by a signal, with all draws so far in the folder.
    Interrupted,
}

/// The reason why a command was not carried out.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    pub fn error(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }
}

impl From<bnn_mcmc::Error> for Failure {
    fn from(error: bnn_mcmc::Error) -> Self {
        Self::error(error.in_words(&words::Flags))
    }
}

fn main() -> ExitCode {
    if let Err(error) = signals::listen() {
        output::note(&format!("warning: signals end the command without a save: {error}"));
    }
    if let Err(Failure { code, message }) = check_arguments() {
        output::note(&format!("{} {message}", output::bad("error:")));
        return ExitCode::from(code);
    }
    let ended = match Cli::parse().command {
        Command::Fit(args) => fit::run(*args),
        Command::Merge(args) => fit::merge(&args),
        Command::Array(args) => array::run(*args),
        Command::Diagnose(args) => diagnose::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Update(args) => update::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Store(args) => store::run(*args),
        Command::Check(args) => check::run(*args),
        Command::Completions { shell } => completions(shell),
    };
    match ended {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::Refused) => ExitCode::from(1),
        Ok(Ended::NotConverged) => ExitCode::from(3),
        Ok(Ended::Interrupted) => ExitCode::from(signals::code()),
        Err(Failure { code, message }) => {
            output::note(&format!("{} {}", output::bad("error:"), message.trim_end()));
            ExitCode::from(code)
        }
    }
}

/// An error about an argument that no file of a run could hold.
fn check_arguments() -> Result<(), Failure> {
    match std::env::args_os().skip(1).find(|argument| argument.to_str().is_none()) {
        None => Ok(()),
        Some(argument) => Err(Failure::usage(format!(
            "`{}` is not written in UTF-8, as names in the files of a run are: give the file or folder another name",
            argument.to_string_lossy()
        ))),
    }
}

fn completions(shell: Shell) -> Result<Ended, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bnn-mcmc", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Ended::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_consistent() {
        Cli::command().debug_assert();
    }
}

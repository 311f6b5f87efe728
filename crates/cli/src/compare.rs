//! `compare`: which of several runs predicts better.

use std::path::PathBuf;

use bnn_mcmc::diagnostics::Verdict;
use bnn_mcmc::fit::{Fit, Settings};
use bnn_mcmc::predict::{Loo, LooComparison};
use clap::Args;
use serde::Serialize;

use crate::output;
use crate::{Ended, Failure, diagnose, folder, words};

/// Compares runs on the same rows by leave-one-out cross-validation (PSIS-LOO), the best first
///
/// Runs may have other features, networks and priors, but must have learnt from the same rows.
///
/// elpd_loo is the sum over the rows of the log density with which each is predicted from the
/// others: larger is better, and a difference counts if it is several times its error. Estimates of
/// runs that have not settled are not to be trusted: the verdicts stand below.
#[derive(Args)]
pub struct CompareArgs {
    /// The folders of two runs or more
    #[arg(required = true, num_args = 2..)]
    runs: Vec<PathBuf>,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
    /// Exit code 3 if a run has not settled
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct Findings {
    comparison: LooComparison,
    warnings: Vec<String>,
    runs: Vec<Judged>,
}

#[derive(Serialize)]
struct Judged {
    run: String,
    converged: bool,
    settled: bool,
    sentence: String,
    verdict: Verdict,
    /// The warnings about the estimate of this run.
    loo_warnings: Vec<String>,
}

pub fn run(args: &CompareArgs) -> Result<Ended, Failure> {
    let (mut loos, mut runs) = (Vec::new(), Vec::new());
    let mut first: Option<(String, Fit)> = None;
    for path in &args.runs {
        let fit = folder::load(path)?;
        if let Some((name, first)) = &first {
            check_rows((name, first), (&diagnose::name(path), &fit))?;
        }
        let loo = fit.loo()?;
        let verdict = fit.verdict()?;
        let sentence = verdict.in_words(&words::Flags);
        let (converged, settled) = (verdict.is_converged(), verdict.is_settled());
        let (run, loo_warnings) = (diagnose::name(path), loo.warnings());
        runs.push(Judged { run, converged, settled, sentence, verdict, loo_warnings });
        loos.push(loo);
        first.get_or_insert_with(|| (diagnose::name(path), fit));
    }
    let named: Vec<(&str, &Loo)> = runs.iter().map(|judged| &judged.run[..]).zip(&loos).collect();
    let comparison = Loo::compare(&named)?;
    let settled = runs.iter().all(|judged| judged.settled);
    if args.json {
        let warnings = comparison.warnings();
        diagnose::print_json(&Findings { comparison, warnings, runs })?;
    } else {
        let mut text = output::under_heading(&comparison.to_string());
        text.push('\n');
        for Judged { run, verdict, loo_warnings, .. } in &runs {
            text.push_str(&format!("{}: {}\n", output::heading(run), words::sentence(verdict)));
            loo_warnings
                .iter()
                .for_each(|warning| text.push_str(&format!("  warning: {warning}\n")));
        }
        output::print(&text)?;
    }
    Ok(diagnose::ended(args.strict, settled))
}

/// An error if two runs have learnt from different rows, as far as their folders tell: by the features
/// that both have, else by how the rows were chosen. Other numbers of rows and other responses are
/// refused by the comparison itself.
fn check_rows(a: (&str, &Fit), b: (&str, &Fit)) -> Result<(), Failure> {
    let (train, other) = (a.1.training(), b.1.training());
    if train.rows() != other.rows() {
        return Ok(());
    }
    let (names, others) = (train.feature_names(), other.feature_names());
    for (j, name) in names.iter().enumerate() {
        let Some(k) = others.iter().position(|other| other == name) else { continue };
        for (row, (x, y)) in train.x().column(j).iter().zip(other.x().column(k)).enumerate() {
            //~ compare-features
            if x != y {
                let (x, y) = (output::number(*x), output::number(*y));
                let what = format!(
                    "`{name}` is {x} in {} of `{}` and {y} in {} of `{}`",
                    a.1.training_row_name(row),
                    a.0,
                    b.1.training_row_name(row),
                    b.0
                );
                return Err(other_rows(a, b, &what));
            }
        }
    }
    let is_same = |name: &String| others.contains(name);
    //~ compare-rows
    if !(names.len() == others.len() && names.iter().all(is_same)) && chosen(a.1) != chosen(b.1) {
        return Err(other_rows(a, b, "their rows were chosen in different ways"));
    }
    Ok(())
}

/// The choice of a fit's training rows: the number of rows to choose from, and the flags.
fn chosen(fit: &Fit) -> (usize, String) {
    let Settings { validation, seed, .. } = fit.recipe().as_settings();
    let flags = match validation {
        0.0 => "no --validation".into(),
        share => format!("--validation {share} --seed {seed}"),
    };
    (fit.data().rows(), flags)
}

fn other_rows(a: (&str, &Fit), b: (&str, &Fit), what: &str) -> Failure {
    let told = |(name, fit): (&str, &Fit)| {
        let (rows, flags) = chosen(fit);
        format!("`{name}` of {} ({flags})", output::count(rows, "row"))
    };
    Failure::error(format!(
        "`{}` and `{}` have not learnt from the same rows, and cannot be compared: {what}; {}, {}",
        a.0,
        b.0,
        told(a),
        told(b)
    ))
}

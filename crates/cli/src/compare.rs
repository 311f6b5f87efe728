//! `compare`: which of several runs predicts better.

use std::path::PathBuf;

use bnn_mcmc::diagnostics::Verdict;
use bnn_mcmc::fit::Fit;
use bnn_mcmc::predict::{Loo, LooComparison};
use clap::Args;
use serde::Serialize;

use crate::output;
use crate::{Ended, Failure, diagnose, words};

/// Compares runs on the same rows by leave-one-out cross-validation (PSIS-LOO), the best first
///
/// elpd_loo is the sum over the rows of the log density with which each is predicted from the
/// others: larger is better, and a difference counts if it is several times its error. Estimates of
/// runs that have not converged are not to be trusted: the verdicts stand below.
#[derive(Args)]
pub struct CompareArgs {
    /// The folders of two runs or more
    #[arg(required = true, num_args = 2..)]
    runs: Vec<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Exit code 3 if a run has not converged
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
    sentence: String,
    verdict: Verdict,
    /// What there is to say against the estimate of this run.
    loo_warnings: Vec<String>,
}

pub fn run(args: &CompareArgs) -> Result<Ended, Failure> {
    let (mut loos, mut runs) = (Vec::new(), Vec::new());
    for path in &args.runs {
        let fit = Fit::load(path)?;
        let loo = fit.loo()?;
        let verdict = fit.verdict()?;
        let sentence = words::in_flags(&verdict.to_string());
        let (run, converged) = (diagnose::name(path), verdict.is_converged());
        runs.push(Judged { run, converged, sentence, verdict, loo_warnings: loo.warnings() });
        loos.push(loo);
    }
    let named: Vec<(&str, &Loo)> = runs.iter().map(|judged| &judged.run[..]).zip(&loos).collect();
    let comparison = Loo::compare(&named)?;
    let converged = runs.iter().all(|judged| judged.converged);
    if args.json {
        let warnings = comparison.warnings();
        diagnose::print_json(&Findings { comparison, warnings, runs })?;
    } else {
        let mut text = output::under_heading(&words::in_flags(&comparison.to_string()));
        text.push('\n');
        for Judged { run, verdict, loo_warnings, .. } in &runs {
            text.push_str(&format!("{}: {}\n", output::heading(run), output::sentence(verdict)));
            loo_warnings
                .iter()
                .for_each(|warning| text.push_str(&format!("  warning: {warning}\n")));
        }
        output::print(&text)?;
    }
    Ok(diagnose::ended(args.strict, converged))
}

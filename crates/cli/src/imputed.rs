//! `fit --impute`: a fit of each of several completed tables.

use std::path::Path;

use bnn_mcmc::fit::{Fit, Imputed};

use crate::config::Config;
use crate::output::{self, count};
use crate::{Ended, Failure, diagnose, fit, words};

/// Says how a run of `tables` tables in folders inside `out` has ended.
pub fn ended(
    fits: &Imputed,
    tables: usize,
    (config, out): (Config, &Path),
    (strict, quiet): (bool, bool),
) -> Result<Ended, Failure> {
    let mut interrupted = false;
    for one in fits.fits() {
        one.rebuilt().iter().for_each(|what| output::note(what));
        interrupted |= fit::told(one)?;
    }
    let first = &fits.fits()[0];
    fit::write_config(out, &config.chosen(first.recipe())?)?;
    if interrupted || fits.stopped_early() {
        let done = if interrupted { 0 } else { fits.fits().len() };
        let (tables, folder) = (count(tables, "table"), out.display());
        output::note(&format!(
            "ended after {done} of {tables}, saved in {folder}: the same command goes on"
        ));
        return Ok(Ended::Interrupted);
    }
    if !quiet {
        output::note(diagnose::columns(first).trim_end());
    }
    ending(fits, first, out, strict)
}

/// The summary of the fits.
fn ending(fits: &Imputed, first: &Fit, out: &Path, strict: bool) -> Result<Ended, Failure> {
    let tables = fits.fits().len();
    let (worst, verdict) = fits.verdict()?;
    let mut text = diagnose::about(first);
    text.push_str(&format!(
        "tables    {tables}, with missing values drawn in each: the lines above are of table-0\n\
         verdict   table-{worst}, whose chains agree least: {}\n\
         gaps      make {:.3} of the variance of the mean function\n",
        words::sentence(&verdict),
        fits.missing_information()?,
    ));
    if let Some(rows) = first.validation() {
        let header = format!("{} for validation", count(rows.rows(), "row"));
        let scores = fits.scores(rows)?.to_string();
        text.push_str(&format!("\n{}", diagnose::scored(&header, &scores)));
    }
    text.push_str(&format!("saved in  {}\n", out.display()));
    output::print(&text)?;
    Ok(diagnose::ended(strict, verdict.is_settled()))
}

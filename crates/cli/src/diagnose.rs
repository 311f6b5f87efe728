//! `diagnose`: whether chains agree, of a run or of any draws.

use std::path::{Path, PathBuf};

use bnn_mcmc::data::Response;
use bnn_mcmc::diagnostics::{BlockSummary, Judge, Summary, Verdict};
use bnn_mcmc::draws::Draws;
use bnn_mcmc::fit::{AnyLikelihood, Fit, PriorSensitivity, Search};
use bnn_mcmc::predict::Scores;
use clap::Args;
use serde::Serialize;

use crate::output::{self, count};
use crate::{Ended, Failure, folder, words};

/// Says whether the chains of a run agree: verdict, R-hat, effective sample sizes
///
/// A network is judged by its predictions, its log likelihood and its log prior, which do not
/// depend on how hidden units are numbered. Draws of other programs are judged by their parameters.
#[derive(Args)]
pub struct DiagnoseArgs {
    /// The folder of a run; or draws: a CSV file of a header, one row for each draw, columns
    /// `chain` and `draw` if there are, and one for each parameter; or a Zarr folder of this
    /// program
    run: PathBuf,
    /// The most parameters of a file of draws that are listed
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Exit code 3 if predictions have not settled
    #[arg(long)]
    strict: bool,
}

/// The findings, as JSON.
#[derive(Serialize)]
struct Findings {
    run: String,
    converged: bool,
    /// Whether predictions have settled; a run that has converged counts.
    settled: bool,
    sentence: String,
    verdict: Verdict,
    /// The worst diagnostics of each block of parameters.
    blocks: BlockSummary,
    /// How much predictions and parameters of a fit depend on the prior.
    #[serde(skip_serializing_if = "Option::is_none")]
    sensitivity: Option<PriorSensitivity>,
    /// The scores of the validation rows of a fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<Scores>,
    /// The parameters of a file of draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Summary>,
}

pub fn run(args: &DiagnoseArgs) -> Result<Ended, Failure> {
    let path = &args.run;
    let is_zarr = path.join("zarr.json").is_file();
    if path.is_dir() && !is_zarr {
        return fitted(args, &folder::load(path)?);
    }
    let draws = if is_zarr { Draws::from_zarr(path)? } else { Draws::from_csv(path)? };
    drawn(args, &draws)
}

fn fitted(args: &DiagnoseArgs, fit: &Fit) -> Result<Ended, Failure> {
    let verdict = fit.verdict()?;
    let draws = fit.draws();
    let blocks = draws.summary()?.by_block(draws.layout())?;
    if args.json {
        let validation = fit.validation().map(|rows| fit.scores(rows)).transpose()?;
        let sensitivity = fit.sensitivity().ok();
        return json(args, Findings { sensitivity, validation, ..of(args, verdict, blocks) });
    }
    let mut text = about(fit);
    text.push_str(&format!("verdict   {}\n", words::sentence(&verdict)));
    text.push_str(&format!("{}\n", prior(fit, &verdict)));
    text.push_str(&groups(&verdict));
    text.push_str("\nParameters by block, for scaled features and response:\n");
    text.push_str("(hidden units can be renumbered without a change of predictions: the verdict does not use these)\n");
    text.push_str(&output::under_heading(&blocks.to_string()));
    text.push_str(&validation(fit)?);
    output::print(&text)?;
    Ok(ended(args.strict, verdict.is_settled()))
}

fn drawn(args: &DiagnoseArgs, draws: &Draws) -> Result<Ended, Failure> {
    let summary = draws.summary()?;
    let blocks = summary.by_block(draws.layout())?;
    let verdict = Judge::new().quantities("parameters", draws.values()).judge()?;
    if args.json {
        return json(args, Findings { parameters: Some(summary), ..of(args, verdict, blocks) });
    }
    let (chains, n) = (count(draws.n_chains(), "chain"), count(draws.n_draws(), "draw"));
    let mut text = format!("draws     {}: {chains} of {n}\n", args.run.display());
    text.push_str(&format!("verdict   {}\n\n", words::sentence(&verdict)));
    let shown: Vec<_> = summary.rows.iter().take(args.rows).cloned().collect();
    let more = summary.rows.len() - shown.len();
    if !shown.is_empty() {
        text.push_str(&output::under_heading(&Summary { rows: shown }.to_string()));
    }
    if more > 0 {
        text.push_str(&format!("... and {} (--rows lists more)\n", count(more, "more parameter")));
    }
    if draws.layout().blocks().len() > 1 {
        text.push_str("\nThe worst of each block:\n");
        text.push_str(&output::under_heading(&blocks.to_string()));
    }
    text.push_str(
        "\nThese are parameters. Weights of a network can be permuted without a change of predictions: \
         judge those by the folder of the run.\n",
    );
    output::print(&text)?;
    Ok(ended(args.strict, verdict.is_settled()))
}

fn of(args: &DiagnoseArgs, verdict: Verdict, blocks: BlockSummary) -> Findings {
    let run = args.run.display().to_string();
    let (converged, settled) = (verdict.is_converged(), verdict.is_settled());
    let sentence = verdict.in_words(&crate::words::Flags);
    let (sensitivity, validation, parameters) = (None, None, None);
    Findings {
        run,
        converged,
        settled,
        sentence,
        verdict,
        blocks,
        sensitivity,
        validation,
        parameters,
    }
}

fn json(args: &DiagnoseArgs, findings: Findings) -> Result<Ended, Failure> {
    print_json(&findings)?;
    Ok(ended(args.strict, findings.settled))
}

/// The line about the prior; none where it cannot be told, as for an ensemble or chains that disagree.
pub fn prior(fit: &Fit, verdict: &Verdict) -> String {
    let line = |found: PriorSensitivity| format!("prior     {}\n", found.in_words());
    let found = verdict.is_settled().then(|| fit.sensitivity().ok()).flatten();
    found.map_or(String::new(), line)
}

pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::error(e.to_string()))?;
    // JSON has its own escape for characters that a terminal must not get.
    let escaped = |c: char| match output::is_bidirectional(c) || (c.is_control() && c != '\n') {
        true => format!("\\u{:04x}", c as u32),
        false => c.into(),
    };
    output::print(&(text.chars().map(escaped).collect::<String>() + "\n"))
}

/// The ending of a command that has passed this verdict.
pub fn ended(strict: bool, settled: bool) -> Ended {
    if strict && !settled { Ended::NotConverged } else { Ended::Done }
}

/// The rows and the network of a fit.
pub fn model(fit: &Fit) -> String {
    let data = fit.training();
    let response = format!("`{}`", data.response_names().join("`, `"));
    let kind = match data.response() {
        Response::Counts(_) => "counts".to_string(),
        Response::Censored { .. } => "survival times".to_string(),
        Response::Classes { names, .. } => {
            let n = count(names.len(), "class");
            match fit.posterior().likelihood() {
                AnyLikelihood::Ordinal(_) => format!("{n} in order: {}", names.join(" < ")),
                _ => n,
            }
        }
        _ => "real".to_string(),
    };
    let mut rows = count(data.rows(), "row");
    if let Some(kept) = fit.validation() {
        rows.push_str(&format!(", and {} for validation", kept.rows()));
    }
    if let Some(drawn) = fit.drawn_rows() {
        rows.push_str(&format!(" ({drawn})"));
    }
    if !fit.dropped().is_empty() {
        rows.push_str(&format!(
            ", {} left out because of missing values",
            count(fit.dropped().len(), "row")
        ));
    }
    let sizes: Vec<String> = fit.network().sizes().iter().map(ToString::to_string).collect();
    let features = count(data.n_features(), "feature");
    let parameters = count(fit.draws().layout().dim(), "parameter");
    let columns = fit.response_scaler().map(|scaler| scaler.columns()).unwrap_or_default();
    let transformed = columns.iter().filter_map(|column| Some((&column.name, column.transform?)));
    let medians = if fit.centre().is_mean() { "" } else { "; predictions are medians" };
    let transforms: String = transformed
        .map(|(name, power)| format!("transform `{name}`: {power}{medians}\n"))
        .collect();
    let filled: String =
        fit.stand_ins().iter().map(|stand_in| format!("filled    {stand_in}\n")).collect();
    format!(
        "data      {response} ({kind}) by {features}; {rows}\n{filled}{transforms}\
         network   {}, {parameters}\n",
        sizes.join("-")
    )
}

/// What each column of the table was taken for, and what was done with it.
pub fn columns(fit: &Fit) -> String {
    let lines = fit.schema().map(|schema| schema.in_words()).unwrap_or_default();
    let rows = lines.into_iter().map(|(name, line)| vec![name, line]);
    output::table(&["column", "taken for"], rows)
}

/// The rows, the network and the run of a fit.
pub fn about(fit: &Fit) -> String {
    let draws = fit.draws();
    let info = draws.info();
    let (chains, n) = (count(draws.n_chains(), "chain"), count(draws.n_draws(), "draw"));
    let algorithm = info.algorithm.as_deref().unwrap_or("unknown sampler");
    let seconds = info.warmup_seconds + info.sampling_seconds;
    let divergences = draws.divergences();
    let climbed = match info.climbed.iter().filter(|gradients| **gradients > 0).count() {
        0 => String::new(),
        n => format!("; {n} of {chains} began after a short ascent"),
    };
    let chosen = fit.search().map(Search::in_words).unwrap_or_default();
    let chosen: String = chosen.iter().map(|line| format!("held out  {line}\n")).collect();
    format!(
        "{}{chosen}run       {algorithm}: {chains} of {n} after {} of warm-up, seed {}; {divergences} divergent; \
         {seconds:.1} s{climbed}\n",
        model(fit),
        count(info.warmup, "iteration"),
        info.seed,
    )
}

/// The scores of the validation rows, if there are any.
pub fn validation(fit: &Fit) -> Result<String, Failure> {
    let Some(rows) = fit.validation() else { return Ok(String::new()) };
    let header = format!("{} for validation", count(rows.rows(), "row"));
    Ok(format!("\n{}", scored(&header, &fit.scores(rows)?)))
}

/// A table of scores under a heading that names the rows.
pub fn scored(of: &str, scores: &Scores) -> String {
    output::under_heading(&scores.titled(of))
}

/// The worst of each group of quantities that a verdict is passed on.
fn groups(verdict: &Verdict) -> String {
    let shown = |value: f64, digits: usize| match value.is_finite() {
        true => format!("{value:.digits$}"),
        false => "-".into(),
    };
    let rows = verdict.groups.iter().map(|group| {
        vec![
            group.name.clone(),
            group.quantities.to_string(),
            shown(group.max_rhat, 3),
            shown(group.min_ess_bulk, 0),
            shown(group.min_ess_tail, 0),
        ]
    });
    output::table(
        &["judged", ">number", ">largest R-hat", ">least bulk ESS", ">least tail ESS"],
        rows,
    )
}

/// A path as the name of a run.
pub fn name(path: &Path) -> String {
    let text = path.display().to_string();
    let trimmed = text.trim_end_matches('/');
    if trimmed.is_empty() { text } else { trimmed.into() }
}

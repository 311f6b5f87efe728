//! Figures, each as its words, its SVG and its numbers.

use bnn_mcmc::Error;
use bnn_mcmc::data::{Dataset, Response};
use bnn_mcmc::explain::Explainer;
use bnn_mcmc::fit::Fit;
use bnn_mcmc::ndarray::{ArrayView2, Axis};
use bnn_mcmc::predict::{Bins, Loo};
use bnn_mcmc_report::figure::Figure;
use bnn_mcmc_report::figures::predictive::Method;
use bnn_mcmc_report::figures::{
    Quantity, calibration, chains, effects, predictive, rhat, uncertainty,
};

/// The SVG, and the figure as JSON.
pub type Drawn = (String, String);

/// The level of intervals.
const LEVEL: f64 = 0.9;
/// The predictions that are drawn along the chains: those on which they agree least.
const WORST: usize = 2;

pub fn drawn(figure: &Figure) -> Result<Drawn, Error> {
    let json = serde_json::to_string(figure);
    let json = json.map_err(|e| Error::argument("figure", e, "finite numbers and text"))?;
    Ok((figure.to_svg(), json))
}

/// Rows with a response beside their predictions: of numbers a figure for each column of the response.
pub fn predictions(fit: &Fit, rows: &Dataset) -> Result<Vec<Figure>, Error> {
    not_of_times(rows)?;
    let predictions = fit.predict(rows)?;
    if rows.response().classes().is_some() {
        return Ok(vec![uncertainty::confusion(&predictions.confusion()?)]);
    }
    let methods = [Method { name: "", predictions: &predictions }];
    let of = |column| predictive::observed_against_predicted(&methods, column, LEVEL);
    (0..predictions.response_names().len()).map(of).collect()
}

fn not_of_times(rows: &Dataset) -> Result<(), Error> {
    match rows.response() {
        Response::Censored { .. } => {
            Err(Error::argument("response", "times", "numbers, counts or classes for this figure"))
        }
        _ => Ok(()),
    }
}

/// Whether probabilities are right: of rows with a response, or of the training rows, each left out.
pub fn calibration(fit: &Fit, rows: Option<&Dataset>) -> Result<Figure, Error> {
    let seed = fit.draws().info().seed;
    let Some(rows) = rows else {
        return Ok(calibration::coverage_of_pit(&fit.loo_pit(seed)?));
    };
    not_of_times(rows)?;
    let predictions = fit.predict(rows)?;
    match rows.response().classes() {
        Some(_) => {
            let curve = predictions.reliability(Bins::default())?;
            calibration::reliability(&[("", &curve)])
        }
        None => calibration::coverage(&[Method { name: "", predictions: &predictions }]),
    }
}

/// The log likelihood, and the predictions of training rows on which chains agree least, along the chains.
pub fn of_chains(fit: &Fit, kind: &str) -> Result<Figure, Error> {
    let judged = fit.judged()?;
    let (quantities, summary) = (judged.quantities(), judged.summary()?);
    if kind == "rhat" {
        return rhat::predictions(&summary);
    }
    let mut order: Vec<usize> = (0..summary.rows.len()).collect();
    let worst = |k: &usize| summary.rows[*k].rhat;
    order.sort_by(|a, b| worst(b).total_cmp(&worst(a)));
    order.retain(|k| !worst(k).is_nan());
    let (rows, columns) = (fit.judged_rows(), summary.rows.len() / fit.judged_rows().len().max(1));
    let named = order.iter().take(WORST).map(|k| {
        let row = rows[k / columns.max(1)];
        let of = if columns > 1 { format!(", output {}", k % columns) } else { String::new() };
        let values: ArrayView2<f64> = quantities.index_axis(Axis(2), *k);
        (format!("prediction of row {row}{of}"), values)
    });
    let named: Vec<(String, ArrayView2<f64>)> = named.collect();
    let mut shown = Vec::new();
    if let Ok(values) = fit.draws().stat("log_likelihood") {
        shown.push(Quantity { name: "log likelihood (nats)", values });
    }
    shown.extend(named.iter().map(|(name, values)| Quantity { name, values: *values }));
    match kind {
        "trace" => chains::trace(&shown),
        "ranks" => chains::rank_ecdf(&shown),
        "ess" => chains::ess(&shown),
        _ => Err(Error::argument("kind", kind, "trace, ranks, ess or rhat")),
    }
}

/// Predictive checks of each column of the response.
pub fn checks(fit: &Fit) -> Result<Vec<Figure>, Error> {
    fit.predictive_checks()?.iter().map(predictive::checks).collect()
}

pub fn pareto_k(loo: &Loo) -> Figure {
    calibration::pareto_k(loo)
}

pub fn effect(
    explainer: &Explainer<'static>,
    column: &str,
    accumulated: bool,
) -> Result<Figure, Error> {
    let effect = match accumulated {
        true => explainer.accumulated_local_effect(column)?,
        false => explainer.partial_dependence(column)?,
    };
    effects::curve(&effect)
}

pub fn effect_pair(
    explainer: &Explainer<'static>,
    first: &str,
    second: &str,
    accumulated: bool,
) -> Result<Figure, Error> {
    let effect = match accumulated {
        true => explainer.accumulated_local_effect_pair(first, second)?,
        false => explainer.partial_dependence_pair(first, second)?,
    };
    effects::pair(&effect)
}

pub fn importance(
    explainer: &Explainer<'static>,
    repeats: usize,
    seed: u64,
) -> Result<Figure, Error> {
    effects::importance(&explainer.importance(repeats, seed)?)
}

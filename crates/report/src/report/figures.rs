//! The figures of a report.

use bnn_mcmc::Error;
use bnn_mcmc::draws::LadderReport;
use bnn_mcmc::fit::Fit;
use bnn_mcmc::predict::{Bins, Pit, Predictions};
use ndarray::{ArrayView2, Axis};

use super::Findings;
use crate::figure::{Figure, Mark};
use crate::figures::predictive::Method;
use crate::figures::{
    Quantity, calibration, chains, parameters, predictive, rhat, sampler, uncertainty,
};

/// A figure, or why it could not be made, with its name in words.
pub(super) type Named = (&'static str, Result<Figure, Error>);

/// The level of intervals, which is the same as for the scores.
const LEVEL: f64 = 0.95;
/// The most columns of a response that have figures of their own.
const COLUMNS: usize = 3;

/// Figures of the predictions.
pub(super) fn predictions(findings: &Findings) -> Vec<Named> {
    let mut figures = match findings.fit.training().response().classes() {
        Some(_) => of_classes(&findings.scored),
        None => of_numbers(findings),
    };
    if let Ok(loo) = &findings.loo {
        figures.push(("Pareto k", Ok(by_line(findings.fit, calibration::pareto_k(loo)))));
    }
    figures
}

/// Figures of the predictions of classes.
fn of_classes(scored: &Predictions) -> Vec<Named> {
    let confusion = scored.confusion().map(|m| uncertainty::confusion(&m));
    // The bins of the score, so that the page has one calibration error.
    let curve = scored.reliability(Bins::default());
    let reliability = curve.and_then(|curve| calibration::reliability(&[("", &curve)]));
    let observed = scored.observed().and_then(|response| response.classes());
    let entropies = scored.uncertainty().and_then(|u| uncertainty::entropies(&u, observed));
    vec![
        ("The confusion matrix", confusion),
        ("The reliability curve", reliability),
        ("Entropies", entropies),
    ]
}

/// Figures of the predictions of other responses: of each column, then of all.
fn of_numbers(findings: &Findings) -> Vec<Named> {
    let Findings { fit, few, scored, .. } = findings;
    let seed = fit.draws().info().seed;
    // For rows that the model has learnt from, the transform is computed as if each had been
    // left out.
    let pit = match findings.are_new {
        true => scored.pit(seed),
        false => few
            .loo_pit(seed)
            .map(|pit| Pit { values: pit.values.select(Axis(0), &findings.chosen) }),
    };
    let columns = 0..scored.response_names().len().min(COLUMNS);
    let mut figures: Vec<Named> =
        columns.flat_map(|column| of_column(findings, pit.as_ref().ok(), column)).collect();
    match pit {
        Ok(pit) => {
            let uniform = match findings.are_new {
                true => calibration::pit(&pit),
                false => calibration::loo_pit(&pit),
            };
            figures.push(("The probability integral transform", Ok(uniform)));
            figures.push(("The coverage of intervals", Ok(calibration::coverage_of_pit(&pit))));
        }
        Err(error) => figures.push(("The probability integral transform", Err(error))),
    }
    figures
}

/// Figures of the predictions of one column of the response.
fn of_column(findings: &Findings, pit: Option<&Pit>, column: usize) -> Vec<Named> {
    let Findings { rows, scored, .. } = findings;
    let (methods, names) = ([Method { name: "", predictions: scored }], scored.response_names());
    // The names of figures are links, and titles tell responses apart.
    let own = |figure: Result<Figure, Error>| {
        figure.map(|figure| match names.len() > 1 {
            true => Figure {
                name: format!("{}-{column}", figure.name),
                title: format!("{}: {}", figure.title, names[column]),
                ..figure
            },
            false => figure,
        })
    };
    let observed = predictive::observed_against_predicted(&methods, column, LEVEL);
    let along = match rows.n_features() {
        1 => predictive::against_feature(&methods, rows, 0, column, LEVEL),
        _ => predictive::against_first_component(&methods, rows, column, LEVEL),
    };
    let mut figures = vec![
        ("Observed against predicted values", own(observed)),
        ("Predictions along the features", own(along)),
    ];
    if let Some(pit) = pit {
        figures.push(("Residuals", own(predictive::residuals(scored, pit, column))));
    }
    figures
}

/// A figure whose horizontal axis counts the training rows, with their lines in the file instead.
fn by_line(fit: &Fit, mut figure: Figure) -> Figure {
    let Some(lines) = fit.lines() else { return figure };
    let line = |row: f64| {
        let row =
            fit.split().map_or(Some(row as usize), |split| split.train.get(row as usize).copied());
        row.and_then(|row| lines.get(row)).map_or(f64::NAN, |line| line as f64)
    };
    for panel in &mut figure.panels {
        panel.x.label = format!("{} of the file", lines.unit());
        for mark in &mut panel.marks {
            if let Mark::Points { points, .. } = mark {
                points.iter_mut().for_each(|[x, _]| *x = line(*x));
            }
        }
    }
    figure
}

/// Figures of convergence in function space, and of the sampler.
pub(super) fn convergence(findings: &Findings) -> Vec<Named> {
    let Findings { fit, few, predictions, .. } = findings;
    let draws = few.draws();
    let judged = findings.judged.quantities();
    let worst = findings.worst(2);
    let mut shown: Vec<Quantity> = Vec::new();
    if let Ok(values) = draws.stat("log_likelihood") {
        shown.push(Quantity { name: "log likelihood (nats)", values });
    }
    for (place, row) in &worst {
        let values: ArrayView2<f64> = judged.index_axis(Axis(2), *place);
        shown.push(Quantity { name: &row.name, values });
    }
    let mut figures: Vec<Named> = Vec::new();
    let are_several = draws.n_chains() > 1;
    if are_several {
        figures.push(("R-hat of the predictions", rhat::predictions(predictions)));
    }
    figures.push(("Traces", chains::trace(&shown)));
    if are_several {
        figures.push(("Ranks", chains::rank_ecdf(&shown)));
    }
    figures.push(("Effective sample sizes", chains::ess(&shown)));
    if let (Ok(energy), 1) = (draws.stat("energy"), findings.every) {
        figures.push(("Energies", sampler::energy(energy)));
    }
    // The divergences are of all draws, since the statistics of thinned draws are sums.
    let all = fit.draws();
    if let (Ok(divergent), true) = (all.stat("divergent"), all.divergences() > 0) {
        figures.push(("Divergent transitions", sampler::divergences(divergent)));
    }
    let lengths: Vec<Quantity> = ["tree_depth", "leapfrog_steps"]
        .iter()
        .filter_map(|name| Some(Quantity { name, values: draws.stat(name).ok()? }))
        .collect();
    if !lengths.is_empty() && findings.every == 1 {
        figures.push(("Lengths of trajectories", sampler::counts(&lengths)));
    }
    if let Ok(ladder) = LadderReport::of(draws) {
        figures.push(("The ladder", sampler::ladder(&ladder)));
    }
    figures
}

/// Figures of the weights.
pub(super) fn weights(findings: &Findings) -> Vec<Named> {
    let draws = findings.few.draws();
    let summary = draws.summary();
    let mut figures: Vec<Named> = Vec::new();
    if let Ok(summary) = &summary
        && draws.divergences() > 0
    {
        // The quantities on which the chains agree least.
        let mut rows: Vec<_> = summary.rows.iter().filter(|row| !row.rhat.is_nan()).collect();
        rows.sort_by(|a, b| b.rhat.total_cmp(&a.rhat));
        let names: Vec<&str> = rows.iter().take(3).map(|row| row.name.as_str()).collect();
        if names.len() > 1 {
            figures.push(("Pairs of parameters", parameters::pairs(draws, &names)));
        }
    }
    if draws.n_chains() > 1 {
        let blocks = summary.and_then(|summary| rhat::blocks(&summary, draws.layout()));
        figures.push(("R-hat of the weights", blocks));
    }
    figures.push(("The weights", parameters::weights(draws)));
    figures
}

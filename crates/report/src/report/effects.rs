//! What the model says of the columns of its table.

use bnn_mcmc::Error;
use bnn_mcmc::explain::{Contrast, Explainer, Importance};
use bnn_mcmc::fit::Fit;
use maud::{Markup, html};

use super::figures::Named;
use super::page::{figure_or_reason, missing, short, table};
use crate::figure::Figure;
use crate::figures::effects;

/// The most columns of a table whose effects are on the page: they take a prediction each.
const COLUMNS: usize = 30;
/// The most panels of effects.
const PANELS: usize = 12;
/// Random exchanges of a column's cells.
const EXCHANGES: usize = 2;
/// The level of intervals.
const LEVEL: f64 = 0.9;

pub(super) fn effects(fit: &Fit) -> Markup {
    match found(fit) {
        Ok(found) => html! {
            p {
                "How the prediction depends on each column, on average over rows, all else equal: of numbers and times from their "
                "10 % to their 90 % quantile, of labels from the first to each other one. Intervals of 90 % are over draws: of the " (fit.centre().name()) " "
                "function, without the noise of a single response. An effect is what the model has learnt, and need not be a cause."
            }
            p {
                "In the figures thin lines are single rows: where they are not parallel, the column acts together with others. Triangles are quantiles "
                "of the rows' values, in steps of 5 %. Where columns go together, some points of a curve are unlike any row."
            }
            @if let Err(error) = &found.importance { (missing("Importance", error)) }
            @if let Ok(importance) = &found.importance {
                @if let Some(of) = importance.first().filter(|of| of.unreliable > 0) {
                    p { "Importance: " (of.unreliable) " of the rows cannot be left out reliably (Pareto k)." }
                }
            }
            (contrasts(&found.contrasts))
            div class="figures" { @for figure in &found.figures { (figure_or_reason(figure)) } }
        },
        Err(error) => missing("Effects", &error),
    }
}

struct Found {
    /// The importance of all columns.
    importance: Result<Vec<Importance>, Error>,
    contrasts: Vec<Contrast>,
    figures: Vec<Named>,
}

fn found(fit: &Fit) -> Result<Found, Error> {
    let explainer = fit.explain()?;
    let columns = explainer.columns();
    if columns.len() > COLUMNS {
        let allowed = format!("at most {COLUMNS} on this page");
        return Err(Error::argument("columns of the table", columns.len(), allowed));
    }
    let importance = explainer.importance(EXCHANGES, fit.draws().info().seed);
    let contrasts = columns.iter().map(|column| explainer.contrasts(column.name()));
    let contrasts = contrasts.collect::<Result<Vec<_>, _>>()?.concat();
    let figures = figures(&explainer, &importance);
    Ok(Found { importance, contrasts, figures })
}

fn contrasts(all: &[Contrast]) -> Markup {
    let mut rows = Vec::new();
    for of in all {
        let Ok(interval) = of.interval(LEVEL) else { continue };
        for (j, (output, mean)) in of.outputs.iter().zip(of.mean()).enumerate() {
            let numbers = [mean, interval.lower[(0, j)], interval.upper[(0, j)]].map(short);
            let [mean, low, high] = numbers;
            let words = [&of.column, &of.from, &of.to, output].map(Clone::clone);
            let [column, from, to, output] = words;
            rows.push([column, from, to, output, mean, low, high]);
        }
    }
    let titles = ["Column", "From", "To", "Of", "Difference", "5 %", "95 %"];
    table("The difference that each column makes", &titles, rows)
}

/// The importance of the columns, and the effects of the most important ones.
fn figures(explainer: &Explainer, importance: &Result<Vec<Importance>, Error>) -> Vec<Named> {
    let mut figures: Vec<Named> = Vec::new();
    let mut order: Vec<&str> = explainer.columns().iter().map(|column| column.name()).collect();
    if let Ok(importance) = importance {
        figures.push(("The importance of columns", effects::importance(importance)));
        let loss = |name: &str| {
            importance.iter().find(|of| of.column == name).map_or(f64::NEG_INFINITY, |of| of.loss)
        };
        order.sort_by(|a, b| loss(b).total_cmp(&loss(a)));
    }
    let mut panels = 0;
    for (place, name) in order.into_iter().enumerate() {
        let figure = explainer.partial_dependence(name).and_then(|effect| effects::curve(&effect));
        panels += figure.as_ref().map_or(0, |figure| figure.panels.len());
        if panels > PANELS && place > 0 {
            break;
        }
        // The names of figures are links.
        let own = |figure: Figure| Figure {
            name: format!("effect-{}", place + 1),
            // How to read them is said once.
            caption:
                "The average prediction if all rows had this value, with its interval of 90 %."
                    .into(),
            ..figure
        };
        figures.push(("The effect of a column", figure.map(own)));
    }
    figures
}

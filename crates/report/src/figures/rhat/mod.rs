//! R-hat of all parameters at a glance: by block of a model, or of several models side by side.

mod blocks;
mod models;
mod predictions;

pub use blocks::blocks;
pub use models::models;
pub use predictions::predictions;

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::{RHAT_LIMIT, SummaryRow};

use crate::figure::{Axis, BoxPlot, Colour, Figure, Mark, Panel, Place, Scale, Symbol};
use crate::figures::bins::evenly;

/// The most columns.
const COLUMNS: usize = 40;
/// The most points within the whiskers of a column.
const POINTS: usize = 200;
/// The most columns with points within their whiskers.
const WIDE: usize = 12;

/// The name of a column, and its rows.
type Column<'a> = (&'a str, &'a [SummaryRow]);

/// The figure of a column for each block, model or response, as `kind` says, of `quantity` each.
fn figure(quantity: &str, kind: &str, columns: Vec<Column>) -> Result<Figure, Error> {
    if columns.iter().all(|(_, rows)| rows.is_empty()) {
        return Err(Error::argument(format!("{quantity}s"), "none", "at least one"));
    }
    let of = columns.len();
    let columns = with_the_worst(columns);
    let all = columns.iter().flat_map(|(_, rows)| rows.iter());
    let (count, beyond) = all.clone().fold((0, 0), |(count, beyond), row| {
        (count + 1, beyond + usize::from(row.rhat.is_nan() || row.rhat > RHAT_LIMIT))
    });
    let finite = all.map(|row| row.rhat).filter(|rhat| rhat.is_finite());
    let top = finite.fold(RHAT_LIMIT, f64::max) * 1.05;

    let mut caption = format!(
        "R-hat of each {quantity}, {beyond} of {count} above {RHAT_LIMIT} or undefined. Chains that agree \
         have an R-hat below the grey line.",
    );
    if of > columns.len() {
        caption += &format!(
            " Shown are the {} of {of} {kind}s with the largest R-hat, where an undefined one counts as \
             the largest.",
            columns.len()
        );
    }
    let names = columns.iter().map(|(name, _)| *name);
    let axis = Axis::new("R-hat").scale(Scale::Log);
    let limit = Mark::rule(Colour::Muted, Place::Horizontal(RHAT_LIMIT));
    let panel = Panel::new("", Axis::names(kind, names), axis)
        .mark(limit.named(format!("limit {RHAT_LIMIT}")));
    let mut panel = marks(&columns, quantity, top).into_iter().fold(panel, Panel::mark);
    if columns.len() > 3 {
        // Names may be turned.
        panel.aspect = 0.9;
    }
    let title = format!("R-hat of {quantity}s by {kind}");
    Ok(Figure::new(&format!("rhat-{kind}s"), title, caption).panel(panel))
}

/// The columns with the largest R-hat, at most [`COLUMNS`], in their order.
fn with_the_worst(mut columns: Vec<Column>) -> Vec<Column> {
    if columns.len() > COLUMNS {
        let mut worst: Vec<(usize, f64)> =
            columns.iter().map(|(_, rows)| worst(rows)).enumerate().collect();
        worst.sort_by(|a, b| b.1.total_cmp(&a.1));
        worst.truncate(COLUMNS);
        let kept: Vec<usize> = worst.into_iter().map(|(k, _)| k).collect();
        let mut k = 0;
        columns.retain(|_| {
            k += 1;
            kept.contains(&(k - 1))
        });
    }
    columns
}

/// Points, boxes, and crosses at the top for what is undefined or infinite.
fn marks(columns: &[Column], quantity: &str, top: f64) -> Vec<Mark> {
    let (mut boxes, mut points, mut crosses) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (_, rows)) in columns.iter().enumerate() {
        let at = at as f64;
        let mut values: Vec<f64> = rows.iter().map(|row| row.rhat).collect();
        let undefined = values.iter().filter(|rhat| !rhat.is_finite()).count();
        crosses.extend((0..undefined.min(POINTS)).map(|k| [at + aside(k), top]));
        values.retain(|rhat| rhat.is_finite());
        values.sort_by(f64::total_cmp);
        if let Some(plot) = BoxPlot::new(at, &values) {
            values.retain(|rhat| (plot.low..=plot.high).contains(rhat));
            let shown = if columns.len() > WIDE { 0 } else { POINTS };
            let places = evenly(values.len(), shown).into_iter().enumerate();
            points.extend(places.map(|(k, place)| [at + aside(k), values[place]]));
            boxes.push(plot);
        }
    }
    let mut marks = vec![
        Mark::points(Colour::Series(0), Symbol::Dot, points).named(quantity),
        Mark::Boxes { name: None, colour: Colour::Series(0), boxes },
    ];
    if !crosses.is_empty() {
        let crosses = Mark::points(Colour::Series(3), Symbol::Cross, crosses);
        marks.push(crosses.named("undefined or infinite"));
    }
    marks
}

/// The largest R-hat; infinite if one is undefined.
fn worst(rows: &[SummaryRow]) -> f64 {
    let largest =
        |worst: f64, rhat: f64| if rhat.is_nan() { f64::INFINITY } else { worst.max(rhat) };
    rows.iter().map(|row| row.rhat).fold(f64::NEG_INFINITY, largest)
}

/// Places to both sides of a column's middle, of which neighbours lie far apart: multiples of the golden
/// ratio.
fn aside(k: usize) -> f64 {
    0.5 * ((0.5 + k as f64 * 0.618_033_988_749_895).fract() - 0.5)
}

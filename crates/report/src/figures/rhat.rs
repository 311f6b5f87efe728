//! R-hat of all parameters at a glance: by block of a model, or of several models side by side.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::{RHAT_LIMIT, Summary, SummaryRow};
use bnn_mcmc::layout::Layout;

use super::bins::evenly;
use crate::figure::{Axis, BoxPlot, Colour, Figure, Mark, Panel, Place, Scale, Symbol};

/// The most columns.
const COLUMNS: usize = 40;
/// The most points within the whiskers of a column.
const POINTS: usize = 200;
/// The most columns with points within their whiskers.
const WIDE: usize = 12;

/// R-hat of every parameter, in a column for each block of the layout, with a box plot and the limit
/// 1.01.
///
/// The figure follows Chandra and Simmons, *Bayesian neural networks via MCMC: a Python-based
/// tutorial*, arXiv:2304.02595, figure 10, with the limit of Vehtari et al. 2021
/// (doi:10.1214/20-BA1221) instead of 1.1. See [`models`] for what a column shows. If there are
/// more than 40 blocks, the figure shows the 40 with the largest R-hat, where an undefined one
/// counts as the largest.
///
/// ```
/// use bnn_mcmc::diagnostics::Summary;
/// use bnn_mcmc::layout::Layout;
/// use bnn_mcmc_report::figures::rhat;
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// let draws = ndarray::Array3::from_shape_simple_fn((4, 500, 12), || rng.normal());
/// let layout = Layout::new().with("weights", &[2, 5]).with("biases", &[2]);
/// let summary = Summary::new(&layout.parameter_names(), draws.view())?;
/// let figure = rhat::blocks(&summary, &layout)?;
/// assert!(figure.to_svg().contains("biases"));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// If the layout has another number of parameters than the summary, or none.
pub fn blocks(summary: &Summary, layout: &Layout) -> Result<Figure, Error> {
    if layout.dim() != summary.rows.len() {
        return Err(Error::shape("parameters of the layout", layout.dim(), summary.rows.len()));
    }
    let blocks = layout.blocks().iter();
    let columns: Vec<_> =
        blocks.map(|b| (b.name.as_str(), &summary.rows[b.range.clone()])).collect();
    figure("parameter", "block", columns)
}

/// R-hat of every parameter of several models, such as the models of a comparison, in a column for
/// each.
///
/// A column has a box plot; beyond its whiskers every parameter is a point. With up to 12 columns,
/// up to 200 parameters within the whiskers are points, too, evenly spaced by rank and moved
/// sideways so that they can be told apart. An undefined or infinite R-hat, as of constant chains,
/// is a cross at the top. The vertical axis is logarithmic. If there are more than 40 models, the
/// 40 with the largest R-hat are shown, where an undefined one counts as the largest.
///
/// # Errors
/// If there is no model, or none has a parameter.
pub fn models(models: &[(&str, &Summary)]) -> Result<Figure, Error> {
    let columns = models.iter().map(|(name, summary)| (*name, summary.rows.as_slice()));
    figure("parameter", "model", columns.collect())
}

/// R-hat of predictions, in a column for each class or response: of the summary of
/// [`Predictions`](bnn_mcmc::predict::Predictions::summary), whose names end in `, ` and the class or
/// response. See [`models`] for what a column shows.
///
/// # Errors
/// If there is no prediction.
pub fn predictions(summary: &Summary) -> Result<Figure, Error> {
    let mut columns: Vec<(&str, Vec<SummaryRow>)> = Vec::new();
    for row in &summary.rows {
        let name = row.name.split_once(", ").map_or(row.name.as_str(), |(_, name)| name);
        match columns.iter_mut().find(|(other, _)| *other == name) {
            Some((_, rows)) => rows.push(row.clone()),
            None => columns.push((name, vec![row.clone()])),
        }
    }
    let columns = columns.iter().map(|(name, rows)| (*name, rows.as_slice()));
    figure("prediction", "response", columns.collect())
}

/// The figure of a column for each block, model or response, as `kind` says, of `quantity` each.
fn figure(
    quantity: &str,
    kind: &str,
    mut columns: Vec<(&str, &[SummaryRow])>,
) -> Result<Figure, Error> {
    if columns.iter().all(|(_, rows)| rows.is_empty()) {
        return Err(Error::argument(format!("{quantity}s"), "none", "at least one"));
    }
    let of = columns.len();
    if of > COLUMNS {
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
    let all = columns.iter().flat_map(|(_, rows)| rows.iter());
    let (count, beyond) = all.clone().fold((0, 0), |(count, beyond), row| {
        (count + 1, beyond + usize::from(row.rhat.is_nan() || row.rhat > RHAT_LIMIT))
    });
    let finite = all.map(|row| row.rhat).filter(|rhat| rhat.is_finite());
    let top = finite.fold(RHAT_LIMIT, f64::max) * 1.05;

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
    let mut panel = Panel::new("", Axis::names(kind, names), axis)
        .mark(Mark::Rule {
            name: Some(format!("limit {RHAT_LIMIT}")),
            colour: Colour::Muted,
            place: Place::Horizontal(RHAT_LIMIT),
        })
        .mark(Mark::Points {
            name: Some(quantity.to_owned()),
            colour: Colour::Series(0),
            symbol: Symbol::Dot,
            points,
        })
        .mark(Mark::Boxes { name: None, colour: Colour::Series(0), boxes });
    if columns.len() > 3 {
        // Names may be turned.
        panel.aspect = 0.9;
    }
    if !crosses.is_empty() {
        panel = panel.mark(Mark::Points {
            name: Some("undefined or infinite".to_owned()),
            colour: Colour::Series(3),
            symbol: Symbol::Cross,
            points: crosses,
        });
    }
    let title = format!("R-hat of {quantity}s by {kind}");
    Ok(Figure::new(&format!("rhat-{kind}s"), title, caption).panel(panel))
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

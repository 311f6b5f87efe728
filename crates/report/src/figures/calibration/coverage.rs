//! The share of observations within predictive intervals, by their level.

use bnn_mcmc::Error;
use bnn_mcmc::predict::Pit;

use super::band::binomial_interval;
use super::{LEVEL, curve_of, missing};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place};
use crate::figures::predictive::Method;

/// The share of observations within their predictive intervals at levels 0.05, 0.1, .., 0.95, over
/// all rows and columns of each method's predictions.
///
/// # Errors
/// No method, methods with other numbers of rows or columns, and the errors of
/// [`coverages`](bnn_mcmc::predict::Predictions::coverages).
pub fn coverage(methods: &[Method]) -> Result<Figure, Error> {
    let Some(first) = methods.first() else {
        return Err(Error::argument("methods", "empty", "at least one method"));
    };
    let cells = |method: &Method| {
        let (_, _, rows, columns) = method.predictions.predictive_draws().dim();
        rows * columns
    };
    let n = cells(first);
    let mut panel = coverage_panel(n);
    for (k, method) in methods.iter().enumerate() {
        if cells(method) != n {
            return Err(Error::shape("rows and columns of predictions", cells(method), n));
        }
        let coverages = method.predictions.coverages(&levels())?;
        let points = coverages.iter().map(|coverage| [coverage.level, coverage.share]).collect();
        panel = curve_of(panel, method.name, k, points);
    }
    let caption = format!(
        "The share of observations that lie within their predictive intervals, by the level of the \
         intervals. Below the diagonal the intervals are too narrow for these rows, above it too wide; \
         intervals of counts cover more than their level. If the intervals are right for new rows, the \
         band holds the share of {n} independent new observations with probability 0.95 at each level."
    );
    Ok(Figure::new("coverage", "Coverage of predictive intervals", caption).panel(panel))
}

/// The [`coverage`] by the probability integral transform u of rows left out, from
/// [`loo_pit`](bnn_mcmc::posterior::Posterior::loo_pit): an observation lies within the interval of
/// a level with equal tails where |u - 1/2| <= level/2. It is the coverage of the training rows,
/// each predicted without itself.
///
/// A transform of counts is spread at random over the probability of each count, so that the share
/// equals the level here, too. NaN are left out, and counted in the caption.
pub fn coverage_of_pit(pit: &Pit) -> Figure {
    let values: Vec<f64> = pit.values.iter().copied().filter(|u| !u.is_nan()).collect();
    let n = values.len();
    let share = |level: f64| {
        //~ report-coverage
        let inside = values.iter().filter(|u| (**u - 0.5).abs() <= 0.5 * level).count();
        [level, inside as f64 / n as f64]
    };
    let points = levels().into_iter().map(share).collect();
    let caption = format!(
        "The share of observations that lie within the predictive intervals from all other rows, by the \
         level of the intervals. Below the diagonal the intervals are too narrow, above it too wide. The \
         band holds the share of {n} independent observations with probability 0.95 at each level if the \
         intervals are right.{}",
        missing(pit)
    );
    let title = "Coverage of predictive intervals of rows left out";
    Figure::new("loo-coverage", title, caption).panel(curve_of(coverage_panel(n), "", 0, points))
}

/// The levels of intervals whose coverage is shown.
fn levels() -> Vec<f64> {
    (1..20).map(|k| f64::from(k) / 20.0).collect()
}

/// The panel for the coverage of n observations, with the band that belongs to them.
fn coverage_panel(n: usize) -> Panel {
    let levels = levels();
    let ends = levels.iter().map(|level| {
        binomial_interval(n, *level, 1.0 - LEVEL).map(|count| count as f64 / n as f64)
    });
    let (low, high) = ends.map(|[low, high]| (low, high)).unzip();
    let x = Axis::new("level of the predictive interval").range(0.0, 1.0);
    let y = Axis::new("share of observations within").range(0.0, 1.03);
    Panel { aspect: 0.9, ..Panel::new("", x, y) }
        .mark(Mark::Band {
            name: Some("95 %, each level".into()),
            colour: Colour::Muted,
            x: levels,
            low,
            high,
        })
        .mark(Mark::rule(Colour::Ink, Place::Diagonal).named("calibrated"))
}

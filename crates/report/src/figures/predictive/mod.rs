//! Predictions beside observations: real responses, and counts in one column.
//!
//! Each figure shows one column of the response. Two intervals are drawn around a prediction: of
//! the mean function, which more data would make narrower, and of a new observation, which has
//! noise besides.

mod against_feature;
mod against_first_component;
mod along;
mod bands;
mod cells;
mod changes;
mod checks;
mod curve;
mod observed_against_predicted;
mod residuals;

pub use against_feature::against_feature;
pub use against_first_component::against_first_component;
pub use along::along;
pub use changes::changes;
pub use checks::checks;
pub use observed_against_predicted::observed_against_predicted;
pub use residuals::residuals;

use bnn_mcmc::Error;
use bnn_mcmc::predict::Predictions;

use crate::figure::{Figure, Mark, Panel, number};
use crate::figures::bins::{evenly, extent};

/// The most points of a panel: more of them would make a large file and hide each other.
const MOST_POINTS: usize = 600;
/// The most groups that rows in a given order, and rows of a single input, are averaged over.
const FINE: usize = 200;

/// Predictions by one method, and its name.
#[derive(Clone, Copy, Debug)]
pub struct Method<'a> {
    /// The name of the method; empty where there is only one.
    pub name: &'a str,
    /// The predictions of the method.
    pub predictions: &'a Predictions,
}

fn with_panels(figure: Figure, panels: Vec<Panel>) -> Result<Figure, Error> {
    match panels.is_empty() {
        true => Err(Error::argument("methods", "empty", "at least one method")),
        false => Ok(Figure { panels, ..figure }),
    }
}

/// Gives panels that stand beside each other the same vertical axis, and the same horizontal one if
/// x differs between them.
fn same_axes(panels: &mut [Panel], x_too: bool) {
    if panels.len() < 2 {
        return;
    }
    let points = |panel: &Panel| -> Vec<[f64; 2]> { panel.marks.iter().flat_map(places).collect() };
    let all: Vec<[f64; 2]> = panels.iter().flat_map(points).collect();
    let range = |axis: usize| {
        let [low, high] = extent(all.iter().map(|at| at[axis]));
        let room = 0.04 * (high - low);
        (high > low).then_some([low - room, high + room])
    };
    for panel in panels {
        panel.y.range = range(1);
        if x_too {
            panel.x.range = range(0);
        }
    }
}

/// The points of the marks that are drawn here.
fn places(mark: &Mark) -> Vec<[f64; 2]> {
    match mark {
        Mark::Line { points, .. } | Mark::Points { points, .. } => points.clone(),
        Mark::Band { x, low, high, .. } => {
            let ends = |ends: &[f64]| -> Vec<[f64; 2]> {
                x.iter().zip(ends).map(|(x, y)| [*x, *y]).collect()
            };
            [ends(low), ends(high)].concat()
        }
        _ => Vec::new(),
    }
}

/// The points that are drawn, at most [`MOST_POINTS`], and a sentence on the others.
fn thin(points: Vec<[f64; 2]>) -> (Vec<[f64; 2]>, String) {
    let shown = evenly(points.len(), MOST_POINTS).into_iter().map(|k| points[k]).collect();
    (shown, thinned(points.len()))
}

fn thinned(rows: usize) -> String {
    match rows > MOST_POINTS {
        true => format!(" Of {rows} observations {MOST_POINTS} are drawn, at equal distances."),
        false => String::new(),
    }
}

fn percent(share: f64) -> String {
    match share.is_finite() {
        true => number((1000.0 * share).round() / 10.0),
        false => "?".into(),
    }
}

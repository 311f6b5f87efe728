//! Calibration: whether probabilities mean what they say.

mod band;
mod coverage;
mod pareto_k;
mod pit;
mod ranks;
mod reliability;

pub use coverage::{coverage, coverage_of_pit};
pub use pareto_k::pareto_k;
pub use pit::{loo_pit, pit};
pub use ranks::ranks;
pub use reliability::reliability;

use bnn_mcmc::predict::Pit;

use crate::figure::{Colour, Mark, Panel, Symbol};

/// The level of the bands.
const LEVEL: f64 = 0.95;

/// The sentence of a caption about transforms that are NaN; empty if there are none.
fn missing(pit: &Pit) -> String {
    match pit.values.iter().filter(|u| u.is_nan()).count() {
        0 => String::new(),
        missing => format!(" Values that are no number, which are left out: {missing}."),
    }
}

/// A curve with its name in the legend, where the drawing marks it, or else with a point for each
/// number.
fn curve_of(panel: Panel, method: &str, k: usize, points: Vec<[f64; 2]>) -> Panel {
    let (name, colour) = (entry(method), Colour::Series(k));
    let dots = Mark::Points { name: None, colour, symbol: Symbol::Dot, points: points.clone() };
    let is_named = name.is_some();
    let panel = panel.mark(Mark::Line { name, colour, points });
    if is_named { panel } else { panel.mark(dots) }
}

/// The entry of a method in the legend.
fn entry(method: &str) -> Option<String> {
    (!method.is_empty()).then(|| method.to_owned())
}

//! Observations against the mean predictions, with intervals.

use bnn_mcmc::Error;

use super::bands::band;
use super::cells::Cells;
use super::curve::Curve;
use super::{Method, percent, same_axes, with_panels};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place};

/// Observations against the mean predictions, with intervals of this `level`, whose ends are smoothed as in
/// [`against_feature`](super::against_feature()): one panel for each method, on the same axes.
///
/// # Errors
/// The errors of [`along`](super::along()); no observations.
pub fn observed_against_predicted(
    methods: &[Method],
    column: usize,
    level: f64,
) -> Result<Figure, Error> {
    let mut panels = Vec::new();
    let mut caption = String::new();
    for Method { name, predictions } in methods {
        let cells = Cells::new(predictions, column, level)?;
        cells.observed()?;
        let curve = Curve::smooth(&cells.mean);
        let x = Axis::new(format!("predicted {}", cells.name));
        let y = Axis::new(format!("observed {}", cells.name));
        let name_of_band = format!("{} % interval", percent(level));
        let new = band(name_of_band, 4, &cells.mean, &cells.of_new, &curve);
        let panel = Panel { aspect: 0.9, ..Panel::new(*name, x, y) }.mark(new);
        let panel =
            panel.mark(Mark::rule(Colour::Ink, Place::Diagonal).named("predicted = observed"));
        let (points, thinned) = cells.points(&cells.mean);
        panels.push(points.into_iter().fold(panel, Panel::mark));
        caption = format!(
            "Each point is a row: its observation against the {} prediction. The band is the {level} % \
             interval of a new observation{}. If the model is right, new rows lie around the line, about \
             {} % of them outside their own interval.{thinned}",
            cells.centre,
            curve.in_words(cells.mean.len()),
            percent(1.0 - level),
            level = percent(level),
        );
    }
    same_axes(&mut panels, true);
    let figure = Figure::new("observed-against-predicted", "Observed against predicted", caption);
    with_panels(figure, panels)
}

//! Box plots of all parameters, block by block.

use bnn_mcmc::Error;
use bnn_mcmc::draws::Draws;

use super::{NAMES, check_any, count};
use crate::figure::{Axis, BoxPlot, Colour, Figure, Mark, Panel, Place};
use crate::figures::bins::evenly;

/// The most draws of a parameter that a box plot is made of.
const BOX_DRAWS: usize = 1_000;

/// Box plots of all parameters, one panel for each block; of a block with more than 40 parameters
/// those whose medians are farthest from 0 in heights of their boxes.
///
/// # Errors
/// No draws, or draws without parameters.
pub fn weights(draws: &Draws) -> Result<Figure, Error> {
    check_any(draws)?;
    let (total, used) = (count(draws), evenly(count(draws), BOX_DRAWS));
    let flat = draws.flat();
    let names = draws.layout().parameter_names();
    let mut caption =
        "The box holds the middle half of a parameter's draws, and the line in it is \
                       the median; whiskers reach to the last draw within 1.5 heights of the box, \
                       and dots are draws beyond."
            .to_owned();
    if used.len() < total {
        caption += &format!(" Of {total} draws {} are used, evenly spaced.", used.len());
    }
    caption += " The sign of a parameter whose box lies across 0 is not known; so it is, too, with a \
                weight of a hidden unit that changes places or signs with another.";
    let mut figure = Figure::new("weights", "Parameters by block", "");
    let (mut left_out, mut is_cut) = (0, false);
    for block in draws.layout().blocks() {
        let mut boxes: Vec<(usize, BoxPlot)> = Vec::new();
        for at in block.range.clone() {
            let values: Vec<f64> = used.iter().map(|draw| flat[(*draw, at)]).collect();
            left_out += values.iter().filter(|v| !v.is_finite()).count();
            boxes.extend(BoxPlot::new(0.0, &values).map(|plot| (at, plot)));
        }
        let all = boxes.len();
        is_cut |= all > NAMES;
        let title = match all > NAMES {
            true => format!("{}: {NAMES} of {all}", block.name),
            false => block.name.clone(),
        };
        figure = figure.panel(panel(title, farthest(boxes), &names));
    }
    if is_cut {
        caption += &format!(
            " Of blocks with more than {NAMES} parameters those are shown whose median is farthest \
             from 0 in heights of the box."
        );
    }
    if left_out > 0 {
        caption += &format!(" {left_out} numbers that are not finite are left out.");
    }
    figure.caption = caption;
    Ok(figure)
}

/// The box plots of at most [`NAMES`] parameters: those whose medians are farthest from 0 in heights of their boxes.
fn farthest(mut boxes: Vec<(usize, BoxPlot)>) -> Vec<(usize, BoxPlot)> {
    if boxes.len() > NAMES {
        let distance = |plot: &BoxPlot| (plot.median / (plot.upper - plot.lower)).abs();
        boxes.sort_by(|(_, a), (_, b)| distance(b).total_cmp(&distance(a)));
        boxes.truncate(NAMES);
        boxes.sort_by_key(|(at, _)| *at);
    }
    boxes
}

/// The panel of a block's box plots, side by side.
fn panel(title: String, boxes: Vec<(usize, BoxPlot)>, names: &[String]) -> Panel {
    let labels: Vec<&str> = boxes.iter().map(|(at, _)| names[*at].as_str()).collect();
    let x = Axis::names("parameter", labels);
    let boxes = boxes.into_iter().enumerate();
    let boxes = boxes.map(|(k, (_, plot))| BoxPlot { at: k as f64, ..plot }).collect();
    Panel::new(title, x, Axis::new("value"))
        .mark(Mark::rule(Colour::Muted, Place::Horizontal(0.0)))
        .mark(Mark::Boxes { name: None, colour: Colour::Series(0), boxes })
}

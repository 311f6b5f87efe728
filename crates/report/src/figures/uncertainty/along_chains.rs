//! Class probabilities of single inputs along the chains.

use bnn_mcmc::predict::ChainProbabilities;
use ndarray::s;

use super::MOST_PANELS;
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place, shortened};

/// The most draws of a chain that are drawn.
const MOST_DRAWS: usize = 120;
/// The most classes whose probabilities are drawn along the chains.
const MOST_LINES: usize = 3;

/// Class probabilities of single inputs along the chains, which stand one after the other: a panel
/// for each input, with the classes that are most probable on average.
pub fn along_chains(probabilities: &ChainProbabilities) -> Figure {
    let values = probabilities.values();
    let (chains, draws, inputs, classes) = values.dim();
    let every = draws.div_ceil(MOST_DRAWS).max(1);
    let lines = if classes == 2 { 1 } else { classes.min(MOST_LINES) };
    let names = probabilities.class_names();
    let mut notes = String::new();
    if every > 1 {
        notes += &format!(" One draw of {every} is drawn.");
    }
    if lines < classes {
        notes += &match lines {
            1 => " The other class has the rest.".to_owned(),
            lines => format!(" Of {classes} classes, the {lines} most probable ones are drawn."),
        };
    }
    if inputs > MOST_PANELS {
        notes += &format!(" Shown are the first {MOST_PANELS} of {inputs} inputs.");
    }
    let caption = format!(
        "The probabilities of classes by each draw, chain by chain; vertical lines stand between the chains. Chains that \
         agree have the same level and the same spread.{notes}"
    );
    let mut figure =
        Figure::new("probabilities-along-chains", "Probabilities along the chains", caption);
    for (k, input) in probabilities.inputs().iter().enumerate().take(MOST_PANELS) {
        let of_input = values.slice(s![.., .., k, ..]);
        let mut order: Vec<usize> = (0..classes).collect();
        let total: Vec<f64> =
            (0..classes).map(|class| of_input.slice(s![.., .., class]).sum()).collect();
        order.sort_by(|a, b| total[*b].total_cmp(&total[*a]));
        order.truncate(lines);
        let x = Axis::new("draw, of all chains").range(0.0, ((chains * draws).max(1)) as f64);
        let y = Axis::new("probability").range(0.0, 1.0);
        let mut panel = Panel::new(format!("input {input}"), x, y);
        for class in order {
            for chain in 0..chains {
                let points = (0..draws)
                    .step_by(every)
                    .map(|draw| [(chain * draws + draw) as f64, of_input[(chain, draw, class)]]);
                panel = panel.mark(
                    Mark::line(Colour::Series(class), points.collect())
                        .named(shortened(&names[class])),
                );
            }
        }
        for chain in 1..chains {
            let place = Place::Vertical((chain * draws) as f64);
            panel = panel.mark(Mark::rule(Colour::Ink, place));
        }
        figure = figure.panel(panel);
    }
    figure
}

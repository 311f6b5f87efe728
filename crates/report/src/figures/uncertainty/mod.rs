//! Figures of the uncertainty of classifications: wrong ones, and the inputs that look most
//! uncertain.

mod along_chains;
mod confusion;
mod entropies;
mod inside_and_outside;
mod most_uncertain_images;

pub use along_chains::along_chains;
pub use confusion::confusion;
pub use entropies::entropies;
pub use inside_and_outside::inside_and_outside;
pub use most_uncertain_images::most_uncertain_images;

use bnn_mcmc::predict::Measure;
use ndarray::ArrayView1;

use crate::figure::{Axis, Colour, Figure, Mark, Panel};
use crate::figures::bins::{edges, extent, shares};

/// The bars of a histogram.
const BARS: usize = 20;
/// The most images, and the most inputs along the chains, of one figure.
const MOST_PANELS: usize = 24;
/// The measures that add up: predictive entropy = expected entropy + mutual information.
const MEASURES: [Measure; 3] =
    [Measure::PredictiveEntropy, Measure::ExpectedEntropy, Measure::MutualInformation];

/// A panel for each measure, with a histogram for each group.
fn measures(
    name: &str,
    title: &str,
    note: &str,
    groups: impl Fn(Measure) -> Vec<(Option<String>, Vec<f64>)>,
) -> Figure {
    let caption = format!(
        "How uncertain the class of an input is, in nats. The predictive entropy is the whole of it: the \
         entropy of the probabilities averaged over the draws. The expected entropy, the mean of the \
         entropies by each draw, would remain if the weights were known; the mutual information is the \
         rest, which more data would reduce.{note}"
    );
    let mut figure = Figure::new(name, title, caption);
    for measure in MEASURES {
        let groups = groups(measure);
        let [_, most] = extent(groups.iter().flat_map(|(_, values)| values.iter().copied()));
        let edges = edges(0.0, if most > 0.0 { most } else { 1.0 }, BARS);
        let x = Axis::new(format!("{measure} (nats)"));
        let mut panel = Panel::new("", x, Axis::new("share of inputs"));
        for (k, (name, values)) in groups.into_iter().enumerate() {
            let heights = shares(&values, &edges);
            let (colour, edges) = (Colour::Series([0, 3][k % 2]), edges.clone());
            panel = panel.mark(Mark::Bars { name, colour, edges, heights });
        }
        figure = figure.panel(panel);
    }
    figure
}

/// The most probable class; of equals, the first.
fn predicted(mean: ArrayView1<f64>) -> usize {
    (0..mean.len()).rev().max_by(|a, b| mean[*a].total_cmp(&mean[*b])).unwrap_or(0)
}

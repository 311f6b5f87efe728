//! The draws of each chain in their order, and how the ranks of each chain are spread.

use bnn_mcmc::Error;

use super::{check, ranks};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place};
use crate::figures::Quantity;
use crate::figures::shown::Shown;

/// The bins of a rank histogram, if there are as many draws.
const BINS: usize = 20;

/// The draws of each quantity by chain, and beside them histograms of their ranks among the draws of
/// all chains.
///
/// Equal values have ranks in random order, from a fixed seed. A single chain has ranks that are
/// spread evenly whatever it does: its trace stands alone. A quantity with NaN has no ranks.
///
/// Source of the rank histograms: Vehtari et al. 2021, doi:10.1214/20-BA1221, section 4.2.
///
/// # Errors
/// No quantity, and a quantity without chains or draws.
pub fn trace(quantities: &[Quantity]) -> Result<Figure, Error> {
    check(quantities)?;
    let is_single = quantities.iter().all(|q| q.values.nrows() == 1);
    let mut figure = match is_single {
        true => Figure::new(
            "trace",
            "Traces",
            "The draws of the only chain in the order of sampling. A good chain crosses the whole range of \
             values again and again, and neither stays anywhere nor drifts. Whether it would agree with \
             other chains cannot be seen.",
        ),
        false => Figure::new(
            "trace",
            "Traces and ranks",
            "Left: the draws in the order of sampling. Good chains look alike, and none stays or drifts. \
             Right: how the ranks of each chain's draws are spread among the draws of all chains. Good \
             chains have about as many draws in each bin, near the grey line.",
        ),
    };
    if !is_single {
        figure.columns = Some(2);
    }
    for quantity in quantities {
        let shown = Shown::of(quantity);
        let mut panel =
            Panel::new(shown.title(quantity.name), Axis::new("draw"), Axis::new("value"));
        for (chain, colour, name) in shown.iter() {
            let values = quantity.values.row(chain);
            let points = values.iter().enumerate().map(|(draw, value)| [draw as f64, *value]);
            panel = panel.mark(Mark::Line { name, colour, points: points.collect() });
        }
        figure = figure.panel(panel);
        if !is_single {
            figure = figure.panel(rank_histogram(quantity, &shown));
        }
    }
    Ok(figure)
}

/// The numbers of each chain's draws in bins of the ranks of all draws.
fn rank_histogram(quantity: &Quantity, shown: &Shown) -> Panel {
    let (chains, draws) = quantity.values.dim();
    let x = Axis::new("rank among all draws").range(0.0, (chains * draws) as f64);
    let y = Axis::new("draws in a bin");
    let Some(ranks) = ranks(quantity.values) else {
        return Panel::new("no ranks: some draws are not a number", x, y);
    };
    let bins = BINS.min(draws);
    let edge = |bin: usize| bin as f64 * (chains * draws) as f64 / bins as f64;
    let mut panel = Panel::new("ranks", x, y)
        .mark(Mark::rule(Colour::Muted, Place::Horizontal(draws as f64 / bins as f64)));
    for (chain, colour, name) in shown.iter() {
        let mut counts = vec![0.0; bins];
        for rank in ranks.row(chain) {
            // The middle of a rank's place decides.
            counts[(2 * rank + 1) * bins / (2 * chains * draws)] += 1.0;
        }
        let steps = (0..bins).flat_map(|b| [[edge(b), counts[b]], [edge(b + 1), counts[b]]]);
        panel = panel.mark(Mark::Line { name, colour, points: steps.collect() });
    }
    panel
}

//! Divergent transitions along the run.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::DIVERGENT_LIMIT;
use ndarray::ArrayView2;

use crate::figure::{Axis, Figure, Mark, Panel, number};
use crate::figures::shown::Shown;

/// The most points of a line along the run.
const POINTS: usize = 400;

/// The number of divergent transitions so far, by chain.
///
/// `divergent` is the statistic of that name, `[chain, draw]`. For thinned draws it counts all
/// transitions since the draw before, so that the sum counts all transitions, and may be larger
/// than the number of draws. The lines have up to 400 points.
///
/// # Errors
/// No chains, or no draws.
pub fn divergences(divergent: ArrayView2<f64>) -> Result<Figure, Error> {
    let (chains, draws) = divergent.dim();
    if chains == 0 || draws == 0 {
        let found = format!("{chains} chains of {draws} draws");
        return Err(Error::shape("divergences", found, "at least one draw"));
    }
    let caption = format!(
        "Divergent transitions so far, by chain; {} up to the last draw, in all chains. Of a thinned run \
         the transitions between two draws count, too. Good runs have next to none; where more than {} % \
         of all transitions diverge, a part of the distribution was left out. Where a line is steep, the \
         chain was at a place that the sampler could not follow.",
        number(divergent.sum()),
        number(100.0 * DIVERGENT_LIMIT)
    );
    let shown = Shown::worst(divergent.outer_iter(), |chain| chain.sum());
    let most = divergent.outer_iter().map(|chain| chain.sum()).fold(1.0, f64::max);
    let mut panel = Panel::new(
        shown.title(""),
        Axis::new("draw").range(0.0, draws as f64),
        Axis::new("divergent transitions so far").range(0.0, 1.05 * most),
    );
    let every = draws.div_ceil(POINTS);
    for (chain, colour, name) in shown.iter() {
        let mut sum = 0.0;
        let mut points = vec![[0.0, 0.0]];
        for (i, value) in divergent.row(chain).iter().enumerate() {
            sum += value;
            if (i + 1) % every == 0 || i + 1 == draws {
                points.push([(i + 1) as f64, sum]);
            }
        }
        panel = panel.mark(Mark::Line { name, colour, points });
    }
    Ok(Figure::new("divergences", "Divergent transitions", caption).panel(panel))
}

//! The probability integral transform: its histogram, and its distribution function.

use bnn_mcmc::predict::Pit;

use super::band::{binomial_interval, uniform_band};
use super::{LEVEL, missing};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place};
use crate::figures::bins::edges;

/// The probability integral transform of predicted rows: its histogram, and its distribution
/// function.
pub fn pit(pit: &Pit) -> Figure {
    uniformity("pit", "Probability integral transform", pit)
}

/// The probability integral transform of rows left out, from
/// [`loo_pit`](bnn_mcmc::posterior::Posterior::loo_pit): its histogram, and its distribution
/// function.
pub fn loo_pit(pit: &Pit) -> Figure {
    uniformity("loo-pit", "Probability integral transform of rows left out", pit)
}

fn uniformity(name: &str, title: &str, pit: &Pit) -> Figure {
    let mut values: Vec<f64> = pit.values.iter().copied().filter(|u| !u.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let (curve, verdict) = distribution(&values);
    let missing = missing(pit);
    let caption = format!(
        "Where an observation lies in its predictive distribution: 0 is below all predictive draws, 1 \
         above. If the distributions are right, it lies anywhere with equal probability. Bars are high at \
         both ends if the distributions are too narrow, in the middle if they are too wide, and at one end \
         if they are biased. The curve of the second panel is the empirical distribution function less the \
         uniform one; for {n} independent uniform values it stays within the band with probability 0.95. \
         {verdict}{missing}"
    );
    Figure::new(name, title, caption).panel(histogram(pit, n)).panel(curve)
}

fn axis() -> Axis {
    Axis::new("probability integral transform").range(0.0, 1.0)
}

/// The histogram of n values, with the band of each bar.
fn histogram(pit: &Pit, n: usize) -> Panel {
    let share = |count: u64| count as f64 / n as f64;
    // On average 20 values in a bar, or more.
    let bars = (n / 20).clamp(5, 20);
    let counts = pit.histogram(bars).unwrap_or_default();
    let expected = 1.0 / bars as f64;
    let [low, high] = binomial_interval(n, expected, 1.0 - LEVEL).map(share);
    Panel::new("", axis(), Axis::new("share of observations"))
        .mark(Mark::Bars {
            name: None,
            colour: Colour::Series(0),
            edges: edges(0.0, 1.0, bars),
            heights: counts.into_iter().map(|count| share(count as u64)).collect(),
        })
        .mark(Mark::Band {
            name: Some("95 %, each bar".into()),
            colour: Colour::Muted,
            x: vec![0.0, 1.0],
            low: vec![low; 2],
            high: vec![high; 2],
        })
        .mark(Mark::rule(Colour::Ink, Place::Horizontal(expected)).named("uniform"))
}

/// The distribution function of ascending values less the uniform one, and whether it stays within its band.
fn distribution(values: &[f64]) -> (Panel, String) {
    let n = values.len();
    let share = |count: u64| count as f64 / n as f64;
    let band = uniform_band(n, LEVEL);
    let difference = |counts: &[u64]| -> Vec<f64> {
        counts.iter().zip(&band.z).map(|(count, z)| share(*count) - z).collect() //~ report-pit
    };
    let counts: Vec<u64> =
        band.z.iter().map(|z| values.partition_point(|u| u <= z) as u64).collect();
    let outside = (counts.iter().zip(band.low.iter().zip(&band.high)))
        .filter(|(count, (low, high))| !(*low..=*high).contains(count))
        .count();
    let ends = |counts| [vec![0.0], difference(counts)].concat();
    let x = [vec![0.0], band.z.clone()].concat();
    let points = x.iter().zip(ends(&counts)).map(|(z, value)| [*z, value]).collect();
    let panel = Panel::new("", axis(), Axis::new("ECDF - uniform"))
        .mark(Mark::Band {
            name: Some("95 %, whole curve".into()),
            colour: Colour::Muted,
            x,
            low: ends(&band.low),
            high: ends(&band.high),
        })
        .mark(Mark::rule(Colour::Ink, Place::Horizontal(0.0)))
        .mark(Mark::line(Colour::Series(0), points));
    let verdict = match (n, outside) {
        (0, _) => "There are no values.".to_owned(),
        (_, 0) => "This curve stays within it.".to_owned(),
        (_, outside) => format!("This curve leaves it at {outside} of {} places.", band.z.len()),
    };
    (panel, verdict)
}

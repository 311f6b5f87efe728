//! How long trajectories are: the share of draws at each count.

use std::collections::BTreeMap;

use bnn_mcmc::Error;

use crate::figure::{Axis, Figure, Mark, Panel, Scale};
use crate::figures::Quantity;
use crate::figures::shown::Shown;

/// The most different values that are counted one by one.
const VALUES: u64 = 40;

/// The share of each chain's draws at each value of statistics that count, such as `tree_depth`,
/// `leapfrog_steps` or `gradient_evals`.
///
/// If the values of a statistic range over more than 40 whole numbers, the shares are of values
/// from one power of two to the next, and the axis is logarithmic.
///
/// # Errors
/// No statistic; a statistic without chains or draws, or with a value that is not a whole number from
/// 0 to 2^53.
pub fn counts(statistics: &[Quantity]) -> Result<Figure, Error> {
    if statistics.is_empty() {
        return Err(Error::argument("statistics", "none", "at least one"));
    }
    let caption = "How long trajectories are: the share of each chain's draws at each number on the \
                   horizontal axis. Chains that have learnt the same step size have about the same \
                   shares.";
    let mut figure = Figure::new("counts", "Lengths of trajectories", caption);
    let mut is_binned = false;
    for Quantity { name, values } in statistics {
        let (chains, draws) = values.dim();
        if chains == 0 || draws == 0 {
            let found = format!("{chains} chains of {draws} draws");
            return Err(Error::shape(format!("draws of `{name}`"), found, "at least one draw"));
        }
        let is_count = |v: &f64| (0.0..=(1u64 << 53) as f64).contains(v) && v.fract() == 0.0;
        if let Some(value) = values.iter().find(|v| !is_count(v)) {
            return Err(Error::argument(*name, value, "whole numbers from 0 to 2^53"));
        }
        let ends = |(low, high): (u64, u64), v: &f64| (low.min(*v as u64), high.max(*v as u64));
        let (low, high) = values.iter().fold((u64::MAX, 0), ends);
        let is_fine = high - low < VALUES;
        is_binned |= !is_fine;
        let x = match is_fine {
            true => Axis::new(*name).range(low as f64 - 0.5, high as f64 + 0.5),
            false => Axis::new(format!("{name}, by powers of two")).scale(Scale::Log),
        };
        let mean = values.mean().unwrap_or(f64::NAN);
        let shown = Shown::worst(values.outer_iter(), |chain| {
            (chain.mean().unwrap_or(f64::NAN) - mean).abs()
        });
        let y = Axis::new("share of draws");
        let mut panel = Panel::new(shown.title(name), x, y);
        for (chain, colour, name) in shown.iter() {
            // The places run from the smallest to the largest value of all chains, so that all
            // lines have all places.
            let mut shares = BTreeMap::new();
            match is_fine {
                true => shares.extend((low..=high).map(|value| (value, 0))),
                false => shares.extend((0..=high.ilog2()).map(|k| (1 << k, 0))),
            }
            for value in values.row(chain) {
                let value = *value as u64;
                let place = if is_fine { value } else { 1 << value.max(1).ilog2() };
                *shares.entry(place).or_insert(0) += 1;
            }
            let points =
                shares.iter().map(|(value, n)| [*value as f64, f64::from(*n) / draws as f64]);
            panel = panel.mark(Mark::Line { name, colour, points: points.collect() });
        }
        figure = figure.panel(panel);
    }
    if is_binned {
        figure.caption += " By powers of two, 8 stands for 8 to 15.";
    }
    Ok(figure)
}

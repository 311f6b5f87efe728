//! The ranks of each chain, beside the ranks of chains with one distribution.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics;
use ndarray::{ArrayView1, ArrayView2, s};

use super::ecdf_band::EcdfBand;
use super::{check, ranks};
use crate::figure::{Axis, Colour, Figure, Mark, Panel};
use crate::figures::Quantity;
use crate::figures::shown::Shown;

/// For each chain, the difference between the share of its draws among the lowest of all draws and
/// the share if all chains were alike, with the band in which all chains stay together with
/// probability 0.95.
///
/// With the ranks of the draws of all chains together, the empirical distribution function of a
/// chain's ranks is the line `share of its draws = share of all draws`, except for chance: the
/// figure shows the difference from it. At each place the band has the counts of a hypergeometric
/// distribution whose two-sided tail probability is not too small; the limit is found by
/// simulation, so that all chains stay inside at all places with probability 0.95. The band holds
/// for independent draws. Draws are therefore thinned to every k-th, with k the smallest power of
/// two with at most as many draws left as are effective (bulk and tail, in the median chain by
/// itself), and the panel's title says so. Equal values have ranks in random order, from a fixed
/// seed.
///
/// Source: Säilynoja, Bürkner, Vehtari 2022, doi:10.1007/s11222-022-10090-6.
///
/// # Errors
/// No quantity; a quantity with fewer than two chains, or without draws.
pub fn rank_ecdf(quantities: &[Quantity]) -> Result<Figure, Error> {
    check(quantities)?;
    let caption = "From left to right more and more of the lowest draws of all chains: the share of a \
                   chain's own draws among them, less the share of all draws. If the chains have one \
                   distribution, all lines stay inside the grey band with probability 0.95. The values \
                   of a chain are too low if its line is above 0 throughout, and too high if it is \
                   below; they are spread too widely if it is above 0 on the left and below on the \
                   right, and too narrowly in the opposite case.";
    let mut figure = Figure::new("rank-ecdf", "Rank ECDF differences", caption);
    let mut bands = HashMap::new();
    for quantity in quantities {
        let every = thinning(quantity.values);
        let values = quantity.values.slice(s![.., ..;every]);
        let (chains, draws) = values.dim();
        let shown = Shown::of(quantity);
        let title = match every {
            1 => shown.title(quantity.name),
            k => shown.title(&format!("{}, one draw in {k}", quantity.name)),
        };
        let x = Axis::new("share of all draws").range(0.0, 1.0);
        let y = Axis::new("difference of shares");
        let Some(ranks) = ranks(values) else {
            let title = format!("{}: no ranks, some draws are not a number", quantity.name);
            figure = figure.panel(Panel::new(title, x, y));
            continue;
        };
        let band = match bands.entry(values.dim()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(EcdfBand::new(chains, draws, 0.95)?),
        };
        // Both ends are certain.
        let share = |t: &usize| *t as f64 / (chains * draws) as f64;
        let along = |inner: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            std::iter::once(0.0).chain(inner).chain([0.0]).collect()
        };
        let mut at: Vec<f64> = along(&mut band.at.iter().map(share));
        at[band.at.len() + 1] = 1.0;
        let difference = |(t, count): (&usize, &usize)| *count as f64 / draws as f64 - share(t);
        let mut panel = Panel::new(title, x, y).mark(Mark::Band {
            name: Some("95 %, all chains together".to_owned()),
            colour: Colour::Muted,
            x: at.clone(),
            low: along(&mut band.at.iter().zip(&band.low).map(difference)),
            high: along(&mut band.at.iter().zip(&band.high).map(difference)),
        });
        for (chain, colour, name) in shown.iter() {
            let mut own = ranks.row(chain).to_vec();
            own.sort_unstable();
            let counts: Vec<usize> =
                //~ report-rank-ecdf
                band.at.iter().map(|t| own.partition_point(|rank| rank < t)).collect();
            let heights = along(&mut band.at.iter().zip(&counts).map(difference));
            let points = at.iter().zip(heights).map(|(x, y)| [*x, y]).collect();
            panel = panel.mark(Mark::Line { name, colour, points });
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

/// The smallest power of two, every so many draws of which are at most as many as are effective in
/// the median chain.
fn thinning(values: ArrayView2<f64>) -> usize {
    let effective = |chain: ArrayView1<f64>| {
        let chain = chain.insert_axis(ndarray::Axis(0));
        diagnostics::ess_bulk(chain).min(diagnostics::ess_tail(chain))
    };
    let mut effective: Vec<f64> =
        values.outer_iter().map(effective).filter(|ess| ess.is_finite()).collect();
    effective.sort_unstable_by(f64::total_cmp);
    let draws = values.ncols();
    match effective.get(effective.len() / 2) {
        Some(ess) if *ess < draws as f64 => {
            let factor = (draws as f64 / ess.max(1.0)).ceil() as usize;
            factor.next_power_of_two()
        }
        _ => 1,
    }
}

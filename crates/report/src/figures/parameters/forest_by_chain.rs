//! Median and intervals of quantities, chain by chain.

use bnn_mcmc::Error;
use ndarray::Axis as Along;

use super::{NAMES, aspect_of, quantiles, worst};
use crate::figure::{Axis, Colour, Figure, Interval, Mark, Panel};
use crate::figures::Quantity;
use crate::figures::bins::left_out;

/// Median and intervals of quantities, for each chain by itself; of many quantities those with the
/// largest R-hat, so that there are some 40 lines. Quantities without R-hat come after all others.
///
/// # Errors
/// No quantities.
pub fn forest_by_chain(quantities: &[Quantity]) -> Result<Figure, Error> {
    let chains = quantities.iter().map(|quantity| quantity.values.nrows()).max().unwrap_or(0);
    let (rows, note) = worst(quantities, (NAMES / chains.max(1)).max(3))?;
    let caption = format!(
        "{note}A dot is the median of one chain, the thick line holds half of its draws and the thin \
         line 90 %; chains stand in their order, from above. Chains that agree have about the same \
         intervals.{}",
        left_out(rows.iter().map(|(quantity, _)| quantity.values))
    );
    let y = Axis::names("quantity", rows.iter().map(|(quantity, _)| quantity.name)).reversed();
    let panel = Panel::new("median, 50 % and 90 % intervals", Axis::new("value"), y);
    let mut panel = Panel { aspect: aspect_of(rows.len() * chains), ..panel };
    for chain in 0..chains {
        let offset = 0.7 * ((chain as f64 + 0.5) / chains as f64 - 0.5);
        let intervals = rows.iter().enumerate().filter_map(|(k, (quantity, _))| {
            let of_chain = (chain < quantity.values.nrows())
                .then(|| quantity.values.index_axis(Along(0), chain))?;
            let [low, lower, median, upper, high] =
                quantiles(of_chain.iter().copied(), [0.05, 0.25, 0.5, 0.75, 0.95]);
            let at = k as f64 + offset;
            Some(Interval { at, value: median, inner: [lower, upper], outer: [low, high] })
        });
        panel = panel.mark(Mark::Intervals {
            name: (chains <= 8).then(|| format!("chain {chain}")),
            colour: Colour::Series(chain),
            intervals: intervals.collect(),
        });
    }
    Ok(Figure::new("forest-by-chain", "Quantities by chain", caption).panel(panel))
}

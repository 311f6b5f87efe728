//! The density of the draws of each chain.

use bnn_mcmc::Error;

use super::check;
use crate::figure::{Axis, Figure, Panel};
use crate::figures::Quantity;
use crate::figures::bins::{density_mark, left_out, without_density};
use crate::figures::shown::Shown;

/// The density of each chain's draws, by [`density`](bnn_mcmc::diagnostics::density()).
///
/// The density of a chain with more than 10,000 draws is made from 10,000 of them, evenly spaced. A
/// chain of equal draws is a vertical line. Draws that are not finite are left out, and a chain
/// without any other has no density; the caption says both.
///
/// # Errors
/// No quantity, and a quantity without chains or draws.
pub fn density(quantities: &[Quantity]) -> Result<Figure, Error> {
    check(quantities)?;
    let caption = "The density of each chain's draws. Densities of good chains lie on top of each \
                   other; one that has a hump of its own has been where the others have not.";
    let mut figure = Figure::new("density", "Densities by chain", caption);
    let mut without = Vec::new();
    for quantity in quantities {
        let shown = Shown::of(quantity);
        let y = Axis::new("density");
        let mut panel = Panel::new(shown.title(quantity.name), Axis::new("value"), y);
        for (chain, colour, name) in shown.iter() {
            match density_mark(quantity.values.row(chain).iter().copied(), name, colour) {
                Some(mark) => panel = panel.mark(mark),
                None => without.push(format!("{}, chain {chain}", quantity.name)),
            }
        }
        figure = figure.panel(panel);
    }
    figure.caption += &left_out(quantities.iter().map(|quantity| quantity.values));
    figure.caption += &without_density(&without);
    Ok(figure)
}

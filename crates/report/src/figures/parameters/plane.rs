//! The draws of two quantities in their plane.

use bnn_mcmc::Error;

use super::{POINTS, check_pair};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Symbol};
use crate::figures::Quantity;
use crate::figures::bins::{evenly, left_out};

/// The draws of two quantities in their plane, coloured by chain; of more than 2,000 draws 2,000,
/// evenly spaced.
///
/// # Errors
/// Quantities of different shapes, and no draws.
pub fn plane([x, y]: [Quantity; 2]) -> Result<Figure, Error> {
    check_pair(&x, &y)?;
    let (chains, draws) = x.values.dim();
    // At least one draw of each chain is used.
    let used = evenly(draws, (POINTS / chains).max(1));
    let mut panel = Panel::new("", Axis::new(x.name), Axis::new(y.name));
    for chain in 0..chains {
        panel = panel.mark(Mark::Points {
            name: (2..=8).contains(&chains).then(|| format!("chain {chain}")),
            colour: Colour::Series(chain),
            symbol: Symbol::Dot,
            points: used.iter().map(|i| [x.values[(chain, *i)], y.values[(chain, *i)]]).collect(),
        });
    }
    let (all, shown) = (chains * draws, chains * used.len());
    let caption = format!(
        "Each point is a draw ({shown} of {all}, evenly spaced), coloured by chain. If the chains agree, \
         their colours are mixed everywhere.{}",
        left_out([x.values, y.values])
    );
    Ok(Figure::new("plane", format!("{} and {}", x.name, y.name), caption).panel(panel))
}

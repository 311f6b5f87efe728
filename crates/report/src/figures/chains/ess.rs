//! Whether effective draws grow in proportion to draws.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::{self, ESS_PER_CHAIN};
use ndarray::s;

use super::check;
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place};
use crate::figures::Quantity;

/// The shares of the draws at which effective sample sizes are computed.
const SHARES: usize = 10;

/// The bulk and tail effective sample sizes of all chains after each tenth of the draws, with the
/// 100 draws per chain that a verdict asks for ([`ESS_PER_CHAIN`]).
///
/// # Errors
/// No quantity, and a quantity without chains or draws.
pub fn ess(quantities: &[Quantity]) -> Result<Figure, Error> {
    check(quantities)?;
    let caption = "How many independent draws the first draws of all chains are worth (effective sample \
                   size), for the bulk and for the tails of the distribution, by the number of draws \
                   that are taken. Good lines rise in proportion to the draws and end above the grey \
                   one; a line that does not rise belongs to chains that do not agree, or that have \
                   not moved.";
    let mut figure = Figure::new("ess", "Effective sample sizes along the run", caption);
    for quantity in quantities {
        let (chains, draws) = quantity.values.dim();
        let x = Axis::new("draws of each chain").range(0.0, draws as f64);
        let y = Axis::new("effective draws of all chains");
        let mut panel = Panel::new(quantity.name, x, y).mark(
            Mark::rule(Colour::Muted, Place::Horizontal(ESS_PER_CHAIN * chains as f64))
                .named(format!("{ESS_PER_CHAIN} per chain")),
        );
        let mut counts: Vec<usize> = (1..=SHARES).map(|k| k * draws / SHARES).collect();
        counts.dedup();
        let first = |n: &usize| quantity.values.slice(s![.., ..*n]);
        let bulk = |n: &usize| [*n as f64, diagnostics::ess_bulk(first(n))];
        let tail = |n: &usize| [*n as f64, diagnostics::ess_tail(first(n))];
        let lines: [(_, Vec<_>); 2] = [
            ("bulk", counts.iter().map(bulk).collect()),
            ("tail", counts.iter().map(tail).collect()),
        ];
        for (k, (name, points)) in lines.into_iter().enumerate() {
            let (name, colour) = (Some(name.to_owned()), Colour::Series(k));
            panel = panel.mark(Mark::Line { name, colour, points });
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

//! The autocorrelation of chains: how much a draw tells about later ones.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics;
use ndarray::s;

use super::{NORMAL_95, check};
use crate::figure::{Axis, Colour, Figure, Mark, Panel};
use crate::figures::Quantity;
use crate::figures::shown::Shown;

/// The autocorrelation of each chain at the lags from 0 to `lags`, or to the last that there is,
/// with the band that holds 95 % of the autocorrelations of independent draws, +-1.96 /
/// sqrt(draws).
///
/// # Errors
/// No quantity, and a quantity without chains or draws.
pub fn autocorrelation(quantities: &[Quantity], lags: usize) -> Result<Figure, Error> {
    check(quantities)?;
    let caption = "The correlation of a draw with the one that comes the lag later, by chain. The faster it \
                   falls into the grey band, which holds 95 % of the autocorrelations of independent \
                   draws, the more the draws are worth.";
    let mut figure = Figure::new("autocorrelation", "Autocorrelations", caption);
    for quantity in quantities {
        let draws = quantity.values.ncols();
        let shown = Shown::of(quantity);
        let last = lags.min(draws - 1);
        let limit = NORMAL_95 / (draws as f64).sqrt(); //~ report-autocorrelation
        let x = Axis::new("lag in draws").range(0.0, last.max(1) as f64);
        let mut panel = Panel::new(shown.title(quantity.name), x, Axis::new("autocorrelation"))
            .mark(Mark::Band {
                name: Some("independent draws, 95 %".to_owned()),
                colour: Colour::Muted,
                x: vec![0.0, last.max(1) as f64],
                low: vec![-limit; 2],
                high: vec![limit; 2],
            });
        for (chain, colour, name) in shown.iter() {
            let values = quantity.values.slice(s![chain..=chain, ..]);
            let correlations = diagnostics::autocorrelation(values);
            let row = correlations.row(0);
            let points = (0..=last).map(|lag| [lag as f64, row[lag]]).collect();
            panel = panel.mark(Mark::Line { name, colour, points });
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

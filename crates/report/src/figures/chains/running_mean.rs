//! Whether the mean of each chain has settled.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics;

use super::{NORMAL_95, check};
use crate::figure::{Axis, Colour, Figure, Mark, Panel};
use crate::figures::Quantity;
use crate::figures::bins::evenly;
use crate::figures::shown::Shown;

/// The most points of a running mean.
const RUNNING_POINTS: usize = 400;

/// The means of each chain's first draws, at up to 400 places from the 50th part of the draws on, with
/// the 95 % interval of the mean of all draws: mean +- 1.96 Monte Carlo standard errors
/// ([`mcse_mean`](bnn_mcmc::diagnostics::mcse_mean)).
///
/// # Errors
/// No quantity, and a quantity without chains or draws.
pub fn running_mean(quantities: &[Quantity]) -> Result<Figure, Error> {
    check(quantities)?;
    let caption = "The mean of each chain's draws so far. The grey band is the 95 % interval of the mean by \
                   all draws of all chains: 1.96 Monte Carlo standard errors to both sides. Good lines \
                   level off near the band. A single chain has fewer draws than all together: of c \
                   chains that agree, the last means are spread about sqrt(c) times as widely as the \
                   band.";
    let mut figure = Figure::new("running-mean", "Running means", caption);
    for quantity in quantities {
        let draws = quantity.values.ncols();
        let shown = Shown::of(quantity);
        let title = shown.title(quantity.name);
        let mut panel = Panel::new(title, Axis::new("draw"), Axis::new("mean so far"));
        let mean = quantity.values.mean().unwrap_or(f64::NAN);
        let error = NORMAL_95 * diagnostics::mcse_mean(quantity.values);
        let first = (draws / 50).max(1);
        panel = panel.mark(Mark::Band {
            name: Some("mean of all draws, 95 %".to_owned()),
            colour: Colour::Muted,
            x: vec![first as f64, draws as f64],
            low: vec![mean - error; 2],
            high: vec![mean + error; 2],
        });
        let places = evenly(draws - first + 1, RUNNING_POINTS);
        for (chain, colour, name) in shown.iter() {
            let mut sum = 0.0;
            let mut places = places.iter().map(|k| first + k).peekable();
            let mut points = Vec::with_capacity(places.len());
            for (i, value) in quantity.values.row(chain).iter().enumerate() {
                sum += value;
                if places.next_if_eq(&(i + 1)).is_some() {
                    points.push([(i + 1) as f64, sum / (i + 1) as f64]); //~ report-running-mean
                }
            }
            panel = panel.mark(Mark::Line { name, colour, points });
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

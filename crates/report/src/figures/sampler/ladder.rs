//! How states move between the temperatures of a ladder.

use bnn_mcmc::Error;
use bnn_mcmc::draws::LadderReport;

use crate::figure::{Axis, Figure, Mark, Panel, Scale};
use crate::figures::shown::Shown;

/// The ladder of each chain of power posteriors: its temperatures, how often states of neighbouring
/// rungs are exchanged, and how often moves within each rung are accepted.
///
/// Rungs are counted from 0, the prior, whose power 0 has no place on a logarithmic axis.
///
/// # Errors
/// No report.
pub fn ladder(reports: &[LadderReport]) -> Result<Figure, Error> {
    if reports.is_empty() {
        return Err(Error::argument("reports", "none", "at least one"));
    }
    let trips: u64 = reports.iter().map(|report| report.round_trips).sum();
    let barrier = reports.iter().map(LadderReport::barrier).fold(f64::NAN, f64::max);
    let rungs = reports.iter().map(LadderReport::suggested_rungs).max().unwrap_or(0);
    let caption = format!(
        "The power of the likelihood at each rung, the share of exchanges accepted between it and the next, \
         and the mean acceptance probability of the moves within it. A good ladder exchanges about equally \
         often between all neighbours. States made {trips} round trips from the posterior to the prior and back, \
         in {} chains; the largest barrier (the sum of the shares of refused exchanges) is {barrier:.2}, for \
         which {rungs} rungs are enough.",
        reports.len()
    );
    let lowest = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let shown = Shown::worst(reports.iter(), |report| -lowest(&report.swap_accept));
    let last = reports.iter().map(|report| report.betas.len()).max().unwrap_or(1).max(2) - 1;
    let rung = || Axis::new("rung").range(-0.3, last as f64 + 0.3);
    let share = |label: &str| Axis::new(label).range(0.0, 1.0);
    let powers = Axis::new("power of the likelihood").scale(Scale::Log);
    let mut panels = [
        Panel::new(shown.title("temperatures"), rung(), powers),
        Panel::new(shown.title("exchanges"), rung(), share("accepted, with the next rung")),
        Panel::new(shown.title("moves"), rung(), share("accepted within the rung")),
    ];
    for (chain, colour, name) in shown.iter() {
        let report = &reports[chain];
        // An exchange stands between its two rungs.
        let lines = [(&report.betas, 0.0), (&report.swap_accept, 0.5), (&report.accept_prob, 0.0)];
        for (panel, (values, between)) in panels.iter_mut().zip(lines) {
            let points = values.iter().enumerate().map(|(k, v)| [k as f64 + between, *v]);
            let points = points.collect();
            panel.marks.push(Mark::Line { name: name.clone(), colour, points });
        }
    }
    let figure = Figure::new("ladder", "Ladder of temperatures", caption);
    Ok(panels.into_iter().fold(figure, Figure::panel))
}

//! Median and intervals of quantities, with R-hat and effective draws beside them.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::{ESS_PER_CHAIN, RHAT_LIMIT, SummaryRow};

use super::{NAMES, aspect_of, quantiles, worst};
use crate::figure::{Axis, Colour, Figure, Interval, Mark, Panel, Place, Scale, Symbol};
use crate::figures::Quantity;
use crate::figures::bins::left_out;

/// Median and intervals of quantities, with R-hat and the bulk effective sample size of each beside
/// them; if there are more than 40 quantities, the 40 with the largest R-hat. Quantities without
/// R-hat, such as those whose draws are all equal, come after all others.
///
/// # Errors
/// No quantities.
pub fn forest(quantities: &[Quantity]) -> Result<Figure, Error> {
    let (rows, note) = worst(quantities, NAMES)?;
    let axis =
        || Axis::names("quantity", rows.iter().map(|(quantity, _)| quantity.name)).reversed();
    let aspect = aspect_of(rows.len());
    let panel = |title: &str, x: Axis| Panel { aspect, ..Panel::new(title, x, axis()) };
    let at_rows = |of: fn(&SummaryRow) -> f64| -> Vec<[f64; 2]> {
        rows.iter().enumerate().map(|(k, (_, row))| [of(row), k as f64]).collect()
    };
    let intervals = rows.iter().enumerate();
    let intervals = intervals.map(|(k, (quantity, row))| {
        let inner = quantiles(quantity.values.iter().copied(), [0.25, 0.75]);
        Interval { at: k as f64, value: row.q50, inner, outer: [row.q05, row.q95] }
    });
    let mut caption = format!(
        "{note}A dot is the median of all draws, the thick line holds half of them and the thin line \
         90 %."
    );
    let mut figure = Figure::new("forest", "Quantities at a glance", "").panel(
        panel("median and intervals", Axis::new("value")).mark(Mark::Intervals {
            // A line in the legend, as in the other panels, so that rows stand side by side.
            name: Some("50 % and 90 %".into()),
            colour: Colour::Series(0),
            intervals: intervals.collect(),
        }),
    );
    let beside = |title: &str, x: Axis, (name, limit): (String, f64), dots: Vec<[f64; 2]>| {
        panel(title, x)
            .mark(Mark::rule(Colour::Muted, Place::Vertical(limit)).named(name))
            .mark(Mark::points(Colour::Series(0), Symbol::Dot, dots))
    };
    let rhat = at_rows(|row| row.rhat);
    if rhat.iter().any(|[rhat, _]| rhat.is_finite()) {
        let limit = (format!("limit {RHAT_LIMIT}"), RHAT_LIMIT);
        figure = figure.panel(beside("R-hat", Axis::new("R-hat"), limit, rhat));
        caption += " R-hat compares the chains, and should be left of its limit.";
    } else {
        caption += " R-hat takes two chains of at least four finite draws.";
    }
    let ess = at_rows(|row| row.ess_bulk);
    if ess.iter().any(|[ess, _]| ess.is_finite()) {
        let least = ESS_PER_CHAIN * quantities[0].values.nrows() as f64;
        let x = Axis::new("bulk ESS in draws").scale(Scale::Log);
        let limit = (format!("limit {least}"), least);
        figure = figure.panel(beside("effective sample size", x, limit, ess));
        caption += " The effective sample size (ESS) is the number of independent draws that the \
                    draws are worth, and should be right of its limit.";
    }
    caption += &left_out(rows.iter().map(|(quantity, _)| quantity.values));
    figure.caption = caption;
    figure.columns = Some(figure.panels.len());
    Ok(figure)
}

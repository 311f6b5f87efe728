//! The importance of columns.

use bnn_mcmc::Error;
use bnn_mcmc::explain::Importance;

use crate::figure::{Axis, Colour, Figure, Interval, Mark, Panel, Place};

/// The most columns.
const COLUMNS: usize = 40;

/// The importance of columns with its intervals of 50 and 90 %, the largest first; at most 40 of them.
///
/// # Errors
/// No columns.
pub fn importance(importance: &[Importance]) -> Result<Figure, Error> {
    if importance.is_empty() {
        return Err(Error::argument("importance", "empty", "of at least one column"));
    }
    let mut sorted: Vec<&Importance> = importance.iter().collect();
    sorted.sort_by(|a, b| b.loss.total_cmp(&a.loss));
    sorted.truncate(COLUMNS);
    let interval = |(k, of): (usize, &&Importance)| -> Result<Interval, Error> {
        let ends = |level| of.interval(level).map(|ends| [*ends.start(), *ends.end()]);
        Ok(Interval { at: k as f64, value: of.loss, inner: ends(0.5)?, outer: ends(0.9)? })
    };
    let intervals = sorted.iter().enumerate().map(interval).collect::<Result<_, _>>()?;
    let names = sorted.iter().map(|of| of.column.as_str());
    let x = Axis::new("loss of log density (nats a row)");
    let aspect = (0.2 + 0.07 * sorted.len() as f64).clamp(0.4, 3.0);
    let panel = Panel { aspect, ..Panel::new("", x, Axis::names("column", names).reversed()) }
        .mark(Mark::Rule { name: None, colour: Colour::Muted, place: Place::Vertical(0.0) })
        .mark(Mark::Intervals {
            name: Some("50 % and 90 %".into()),
            colour: Colour::Series(0),
            intervals,
        });
    let mut caption = String::from(
        "How much worse rows are predicted, which the model has not seen, when the cells of a column are exchanged between rows. A column that \
         goes together with another one seems less important than it is, since the other stands in for it.",
    );
    if importance.len() > sorted.len() {
        caption += &format!(
            " The {} most important of {} columns are drawn.",
            sorted.len(),
            importance.len()
        );
    }
    Ok(Figure::new("importance", "Importance of columns", caption).panel(panel))
}

//! How far leave-one-out can be trusted, row by row.

use bnn_mcmc::predict::Loo;

use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place, Symbol, number};
use crate::figures::bins::evenly;

/// The most rows that are drawn as points.
const MOST_POINTS: usize = 600;

/// The shape k of the Pareto distribution for each row of [`Loo`], with the threshold for this
/// number of draws.
pub fn pareto_k(loo: &Loo) -> Figure {
    let (unreliable, threshold) = (loo.unreliable(), loo.threshold());
    let mut is_reliable = vec![true; loo.rows.len()];
    unreliable.iter().for_each(|row| is_reliable[*row] = false);
    let reliable: Vec<usize> = (0..loo.rows.len()).filter(|row| is_reliable[*row]).collect();
    let shown = |rows: &[usize]| -> Vec<[f64; 2]> {
        let rows = evenly(rows.len(), MOST_POINTS).into_iter().map(|k| rows[k]);
        rows.map(|row| [row as f64, loo.rows[row].k]).collect()
    };
    let points = |name: &str, colour, symbol, rows: &[usize]| {
        Mark::points(colour, symbol, shown(rows)).named(name)
    };
    let rule = |name: String, colour, k| Mark::rule(colour, Place::Horizontal(k)).named(name);
    let panel = Panel::new("", Axis::new("row"), Axis::new("Pareto k (no unit)"))
        .mark(rule(format!("threshold {}", rounded(threshold)), Colour::Series(3), threshold))
        .mark(points("reliable", Colour::Series(0), Symbol::Dot, &reliable))
        .mark(points("unreliable", Colour::Series(3), Symbol::Cross, &unreliable));
    let thinned = match reliable.len().max(unreliable.len()) > MOST_POINTS {
        true => format!(" Of each kind {MOST_POINTS} rows at most are drawn, at equal distances."),
        false => String::new(),
    };
    let missing = match loo.rows.iter().filter(|row| row.k.is_nan()).count() {
        0 => String::new(),
        rows => format!(" Rows without a k, which are not drawn: {rows}."),
    };
    let caption = format!(
        "How heavy the tail of a row's importance ratios is, by which leave-one-out predictions are \
         computed; below the line is good. {} of {} rows are unreliable: k lies above the threshold for {} \
         draws, or cannot be estimated, since the posterior without the row differs too much from the one \
         with it.{thinned}{missing}",
        unreliable.len(),
        loo.rows.len(),
        loo.draws,
    );
    Figure::new("pareto-k", "Reliability of leave-one-out by row", caption).panel(panel)
}

fn rounded(value: f64) -> String {
    number((1000.0 * value).round() / 1000.0)
}

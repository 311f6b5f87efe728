//! The decision of a search: the simplest candidate within one standard error of the best.

use super::{Held, Search, Trial, Tried};
use crate::Error;
use crate::fit::choices::Candidate;
use crate::fit::forecast::Pace;
use crate::message::Plain;

/// The levels of the predictive intervals whose coverage is told.
const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// The search that these predictions make, of rows with weights if there are any, and the pace of the chosen candidate:
/// of the first one if none has predicted all rows.
pub(in crate::fit) fn decided(
    candidates: &[Candidate],
    held: &[Result<Held, Error>],
    weights: &[f64],
) -> (Search, Option<Pace>) {
    let scored = || held.iter().enumerate().filter_map(|(i, held)| Some((i, held.as_ref().ok()?)));
    let mean = |values: Vec<f64>| mean_and_error(&values, weights);
    let log_density = |held: &Held| mean(held.log_densities.clone()).0;
    let less = |own: &Held, other: &Held| {
        let pairs = own.log_densities.iter().zip(&other.log_densities);
        mean(pairs.map(|(own, other)| own - other).collect()) //~ search-difference
    };
    let best = scored().max_by(|(_, a), (_, b)| log_density(a).total_cmp(&log_density(b)));
    let chosen = best.and_then(|(_, best)| {
        scored().find(|(_, held)| {
            let (difference, error) = less(held, best);
            difference >= -error //~ one-standard-error
        })
    });
    let outcome = |held: &Result<Held, Error>| match (held, chosen) {
        (Ok(held), Some((_, chosen))) => {
            let (difference, se_difference) = less(held, chosen);
            Trial::Scored { log_density: log_density(held), difference, se_difference }
        }
        (Ok(_), None) => Trial::Failed("there is none to compare it with".into()),
        (Err(error), _) => Trial::Failed(error.in_words(&Plain)),
    };
    let tried = candidates.iter().zip(held);
    let tried =
        tried.map(|(candidate, held)| Tried { candidate: *candidate, outcome: outcome(held) });
    let (place, pit, pace) =
        chosen.map_or((0, &[][..], None), |(place, held)| (place, &held.pit[..], Some(held.pace)));
    let rows = chosen.map_or(0, |(_, held)| held.log_densities.len());
    let search = Search {
        chosen: candidates[place],
        rows,
        tried: tried.collect(),
        coverage: coverage(pit, rows, weights),
        intercept_only: None,
    };
    (search, pace)
}

/// The mean of values of rows, by their weights if there are any, and its standard error. Rows whose weights sum to less
/// than their number count as many as they are.
pub(super) fn mean_and_error(values: &[f64], weights: &[f64]) -> (f64, f64) {
    let w = |row: usize| weights.get(row).copied().unwrap_or(1.0);
    let total: f64 = (0..values.len()).map(w).sum();
    let counted = (0..values.len()).filter(|row| w(*row) > 0.0).count() as f64;
    let n = total.max(counted).max(2.0);
    let sum: f64 = values.iter().enumerate().map(|(row, value)| w(row) * value).sum();
    let mean = sum / total;
    let squares = values.iter().enumerate().map(|(row, value)| w(row) * (value - mean).powi(2));
    (mean, (squares.sum::<f64>() / total / (n - 1.0)).sqrt())
}

/// Of each level, the share of rows within the central interval.
pub(super) fn coverage(pit: &[f64], rows: usize, weights: &[f64]) -> Vec<(f64, f64)> {
    if pit.is_empty() {
        return Vec::new();
    }
    // Several columns of a response count alike.
    let w = |cell: usize| weights.get(cell / (pit.len() / rows)).copied().unwrap_or(1.0);
    let total: f64 = (0..pit.len()).map(w).sum();
    let share = |level: f64| {
        let inside = pit.iter().enumerate().filter(|(_, u)| (*u - 0.5).abs() <= 0.5 * level);
        inside.map(|(cell, _)| w(cell)).sum::<f64>() / total
    };
    LEVELS.iter().map(|&level| (level, share(level))).collect()
}

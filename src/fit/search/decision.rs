//! The decision of a search: the best candidate, or the simplest without a network within one standard error of it.

use super::race::{Runner, WORTH, difference};
use super::{Held, Search, Trial, Tried};
use crate::fit::time::Pace;
use crate::message::Plain;

/// The levels of the predictive intervals whose coverage is told.
const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// The search that the runners' predictions make, of rows with weights if there are any, and the pace of the chosen candidate:
/// of the first one if none has predicted any rows.
pub(in crate::fit) fn decided(runners: &[Runner], weights: &[f64]) -> (Search, Option<Pace>) {
    let running = || runners.iter().enumerate().filter_map(|(i, of)| Some((i, of.running()?)));
    // Those that have predicted fewer rows than others, for lack of time, are compared on these.
    let rows = running().map(|(_, held)| held.log_densities.len()).min().unwrap_or(0);
    let mean = |held: &Held| mean_and_error(&held.log_densities[..rows], weights).0;
    let best = running().max_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)));
    let chosen = best.and_then(|(_, best)| {
        running().find(|(place, held)| {
            let (difference, error) = difference(held, best, weights);
            // Networks are not simple enough for a better one to be given up.
            let is_linear = runners[*place].candidate.is_linear(); //~ best-network
            let within = if is_linear { error.max(WORTH) } else { WORTH }; //~ one-standard-error
            difference >= -within
        })
    });
    let outcome = |runner: &Runner| match (&runner.held, chosen) {
        (Ok(held), Some((_, chosen))) => {
            let (difference, se_difference) = difference(held, chosen, weights);
            let log_density = mean_and_error(&chosen.log_densities, weights).0 + difference;
            let rows = held.log_densities.len().min(chosen.log_densities.len());
            Trial::Scored { log_density, difference, se_difference, rows }
        }
        (Ok(_), None) => Trial::Failed("there is none to compare it with".into()),
        (Err(error), _) => Trial::Failed(error.in_words(&Plain)),
    };
    let tried = runners
        .iter()
        .map(|runner| Tried { candidate: runner.candidate, outcome: outcome(runner) });
    let (place, pit, pace) =
        chosen.map_or((0, &[][..], None), |(place, held)| (place, &held.pit[..], Some(held.pace)));
    let rows = chosen.map_or(0, |(_, held)| held.log_densities.len());
    let search = Search {
        chosen: runners[place].candidate,
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

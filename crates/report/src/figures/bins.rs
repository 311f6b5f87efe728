//! Fewer numbers in the place of many: some of many points, groups of neighbours, bars, densities;
//! and the sentences of captions about numbers that are left out.

use bnn_mcmc::diagnostics::{density, quantile};
use ndarray::{Array2, ArrayView2};

use crate::figure::{Colour, Mark, Place};

/// The most values that a density is estimated from.
const DENSITY_VALUES: usize = 10_000;
/// The points of a density.
const DENSITY_POINTS: usize = 201;

/// At most `most` of the numbers 0, 1, .., n - 1, evenly spaced as far as whole numbers can be,
/// with both ends.
pub(super) fn evenly(n: usize, most: usize) -> Vec<usize> {
    let shown = n.min(most);
    (0..shown).map(|k| k * (n - 1) / (shown - 1).max(1)).collect()
}

/// At most `most` of the numbers 0, 1, .., n - 1: the first and the last `ends`, and some between,
/// evenly spaced.
pub(super) fn evenly_with_ends(n: usize, most: usize, ends: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let between = evenly(n - 2 * ends, most - 2 * ends).into_iter().map(|k| k + ends);
    (0..ends).chain(between).chain(n - ends..n).collect()
}

/// Positions in `x`, by ascending x, in at most `most` groups of about equally many; equal x share
/// a group.
pub(super) fn neighbours(x: &[f64], most: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
    let size = x.len().div_ceil(most.max(1));
    let (mut groups, mut rest) = (Vec::new(), &order[..]);
    while !rest.is_empty() {
        let mut end = size.min(rest.len());
        while end < rest.len() && x[rest[end]] == x[rest[end - 1]] {
            end += 1;
        }
        groups.push(rest[..end].to_vec());
        rest = &rest[end..];
    }
    groups
}

/// The ends of so many bars of equal width between two values.
pub(super) fn edges(low: f64, high: f64, bars: usize) -> Vec<f64> {
    (0..=bars).map(|k| low + (high - low) * k as f64 / bars as f64).collect()
}

/// The number of bars for ascending values: 10 to 80, of the width of Freedman and Diaconis, 2 IQR
/// n^(-1/3).
pub(super) fn bars_for(sorted: &[f64]) -> usize {
    let ([first, .., last] | [first @ last]) = sorted else {
        return 10;
    };
    let iqr = quantile(sorted, 0.75) - quantile(sorted, 0.25);
    let bars = (last - first) / (2.0 * iqr * (sorted.len() as f64).powf(-1.0 / 3.0));
    if bars.is_finite() { bars.ceil().clamp(10.0, 80.0) as usize } else { 80 }
}

/// The share of all values in each bar between two edges; values beyond the outer ends are in the
/// outer bars, and NaN is in none.
pub(super) fn shares(values: &[f64], edges: &[f64]) -> Vec<f64> {
    let bars = edges.len() - 1;
    let mut counts = vec![0_usize; bars];
    for value in values.iter().filter(|v| !v.is_nan()) {
        let bar = edges.partition_point(|edge| edge <= value).saturating_sub(1);
        counts[bar.min(bars - 1)] += 1;
    }
    counts.into_iter().map(|count| count as f64 / values.len() as f64).collect()
}

/// The density of the values that are finite, of which 10,000 at most are used, evenly spaced; a
/// vertical rule where they are all equal. `None` without a finite value, and of values so far apart
/// that no kernel has a finite width.
pub(super) fn density_mark(
    values: impl IntoIterator<Item = f64>,
    name: Option<String>,
    colour: Colour,
) -> Option<Mark> {
    let finite: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    let first = *finite.first()?;
    if finite.iter().all(|value| *value == first) {
        return Some(Mark::Rule { name, colour, place: Place::Vertical(first) });
    }
    let some = evenly(finite.len(), DENSITY_VALUES);
    let draws = Array2::from_shape_fn((1, some.len()), |(_, k)| finite[some[k]]);
    let estimate = density(draws.view(), None, DENSITY_POINTS).ok()?;
    let points = estimate.x.iter().zip(&estimate.density).map(|(x, y)| [*x, *y]).collect();
    Some(Mark::Line { name, colour, points })
}

/// The sentence of a caption about numbers that have no place; empty if there are none.
pub(super) fn left_out<'v>(values: impl IntoIterator<Item = ArrayView2<'v, f64>>) -> String {
    let of = |values: ArrayView2<f64>| values.iter().filter(|value| !value.is_finite()).count();
    match values.into_iter().map(of).sum::<usize>() {
        0 => String::new(),
        n => format!(" {n} numbers that are not finite are left out."),
    }
}

/// The sentence of a caption about quantities whose [`density_mark`] is `None`; empty if there are
/// none.
pub(super) fn without_density(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!(
            " No density is drawn of {}: no draw is finite, or they are too far apart.",
            names.join("; ")
        ),
    }
}

/// The smallest and the largest of the values that are finite, or 0 and 1 if there is none.
pub(super) fn extent(values: impl IntoIterator<Item = f64>) -> [f64; 2] {
    let finite = values.into_iter().filter(|v| v.is_finite());
    let ends = finite.map(|v| [v, v]).reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
    ends.unwrap_or([0.0, 1.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_stand_for_many() {
        assert_eq!(evenly(3, 10), [0, 1, 2]);
        assert_eq!(evenly(10, 4), [0, 3, 6, 9]);
        assert_eq!((evenly(10, 1), evenly(1, 1)), (vec![0], vec![0]));
        assert_eq!(evenly_with_ends(5, 8, 2), [0, 1, 2, 3, 4]);
        assert_eq!(evenly_with_ends(100, 7, 2), [0, 1, 2, 49, 97, 98, 99]);
        assert!(evenly(0, 4).is_empty());
        assert_eq!(neighbours(&[3.0, 1.0, 2.0, 0.0], 2), [[3, 1], [2, 0]]);
        // Equal values stay together.
        assert_eq!(neighbours(&[1.0, 0.0, 0.0, 0.0], 2), [vec![1, 2, 3], vec![0]]);
        assert!(neighbours(&[], 2).is_empty());
    }

    #[test]
    fn a_density_is_of_finite_values() {
        let mark = |values: &[f64]| density_mark(values.iter().copied(), None, Colour::Ink);
        let usual = mark(&[1.0, 2.0, 4.0]);
        assert!(matches!(&usual, Some(Mark::Line { points, .. }) if points.len() == 201));
        assert_eq!(mark(&[f64::NAN, 1.0, 2.0, f64::INFINITY, 4.0]), usual);
        let rule = Mark::Rule { name: None, colour: Colour::Ink, place: Place::Vertical(3.0) };
        assert_eq!(mark(&[3.0, f64::NAN, 3.0]), Some(rule));
        for none in [&[][..], &[f64::NAN], &[-1e308, 1e308]] {
            assert_eq!(mark(none), None, "{none:?}");
        }
        assert_eq!(without_density(&[]), "");
    }

    #[test]
    fn bars_hold_all_values() {
        let bars = edges(0.0, 2.0, 4);
        assert_eq!(bars, [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(shares(&[-1.0, 0.5, 2.0, 9.0], &bars), [0.25, 0.25, 0.0, 0.5]);
        assert_eq!(shares(&[f64::NAN, 0.1], &bars), [0.5, 0.0, 0.0, 0.0]);
        // Range 8, interquartile range 4: 8 / (2 * 4 / 2) = 2, and 10 at least; half of them equal.
        assert_eq!(bars_for(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]), 10);
        assert_eq!(bars_for(&[0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]), 80);
        assert_eq!((bars_for(&[]), bars_for(&[1.0])), (10, 80));
        assert_eq!(extent([f64::NAN, 2.0, -1.0, f64::INFINITY]), [-1.0, 2.0]);
    }
}

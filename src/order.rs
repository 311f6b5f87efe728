//! Orders of rows, columns and classes by what belongs to them: one instance of the sort for all.

use std::cmp::Ordering;

/// Sorts places by a rule; those that it says are equal stay as they are.
pub(crate) fn sort(places: &mut [usize], rule: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|a, b| rule(*a, *b));
}

/// Sorts places by the value of each, the largest first; places of equal value keep their order.
pub(crate) fn largest_first(places: &mut [usize], value: &dyn Fn(usize) -> f64) {
    sort(places, &|a, b| value(b).total_cmp(&value(a)));
}

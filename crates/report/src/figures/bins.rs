//! Fewer numbers in the place of many: groups of neighbours, bars, and some of many points.

/// At most `most` of 0, 1, .., n - 1, at equal distances.
pub(super) fn evenly(n: usize, most: usize) -> Vec<usize> {
    (0..n.min(most)).map(|k| k * n / n.min(most)).collect()
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

/// The share of all values in each bar of equal width; values beyond the outer ends are in the
/// outer bars, and NaN is in none.
pub(super) fn shares(values: &[f64], edges: &[f64]) -> Vec<f64> {
    let bars = edges.len() - 1;
    let (low, width) = (edges[0], (edges[bars] - edges[0]) / bars as f64);
    let mut shares = vec![0.0; bars];
    for value in values.iter().filter(|v| !v.is_nan()) {
        shares[(((value - low) / width) as usize).min(bars - 1)] += 1.0 / values.len() as f64;
    }
    shares
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
        assert_eq!(evenly(10, 4), [0, 2, 5, 7]);
        assert!(evenly(0, 4).is_empty());
        assert_eq!(neighbours(&[3.0, 1.0, 2.0, 0.0], 2), [[3, 1], [2, 0]]);
        // Equal values stay together.
        assert_eq!(neighbours(&[1.0, 0.0, 0.0, 0.0], 2), [vec![1, 2, 3], vec![0]]);
        assert!(neighbours(&[], 2).is_empty());
    }

    #[test]
    fn bars_hold_all_values() {
        let bars = edges(0.0, 2.0, 4);
        assert_eq!(bars, [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(shares(&[-1.0, 0.5, 2.0, 9.0], &bars), [0.25, 0.25, 0.0, 0.5]);
        assert_eq!(shares(&[f64::NAN, 0.1], &bars), [0.5, 0.0, 0.0, 0.0]);
        assert_eq!(extent([f64::NAN, 2.0, -1.0, f64::INFINITY]), [-1.0, 2.0]);
    }
}

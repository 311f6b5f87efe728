//! How the numbers of rows become a curve: averages of neighbours, or local linear regression.

use super::FINE;
use crate::figures::bins::{edges, extent, neighbours};

/// The places at which a smooth curve is computed.
const GRID: usize = 60;

/// The way in which the numbers of rows become a curve along x, from the smallest x to the largest.
pub(super) enum Curve {
    /// Averages over groups of neighbours: of rows that differ in nothing else.
    Groups(Vec<Vec<usize>>),
    /// Local linear regression, at these places.
    Smooth(Vec<f64>),
}

impl Curve {
    pub(super) fn grouped(x: &[f64]) -> Self {
        Self::Groups(neighbours(x, FINE))
    }

    pub(super) fn smooth(x: &[f64]) -> Self {
        let [low, high] = extent(x.iter().copied());
        Self::Smooth(if low < high { edges(low, high, GRID) } else { vec![low] })
    }

    /// The x of the curve.
    pub(super) fn places(&self, x: &[f64]) -> Vec<f64> {
        match self {
            Self::Groups(groups) => {
                let mut places = averages(x, groups);
                // A curve of averages would end before the last row.
                let [low, high] = extent(x.iter().copied());
                if let [first, .., last] = &mut places[..] {
                    (*first, *last) = (low, high);
                }
                places
            }
            Self::Smooth(places) => places.clone(),
        }
    }

    /// The curve of these values of the rows.
    pub(super) fn along(&self, x: &[f64], values: &[f64]) -> Vec<f64> {
        match self {
            Self::Groups(groups) => averages(values, groups),
            Self::Smooth(places) => local_linear(x, values, places),
        }
    }

    /// The description for the caption.
    pub(super) fn in_words(&self, rows: usize) -> String {
        match self {
            Self::Groups(groups) if groups.len() == rows => String::new(),
            Self::Groups(groups) => {
                let groups = groups.len();
                format!(", averaged over {groups} groups of neighbouring rows ({rows} in all)")
            }
            Self::Smooth(_) => {
                ", smoothed by local linear regression on the nearest half of the rows".into()
            }
        }
    }
}

fn averages(values: &[f64], groups: &[Vec<usize>]) -> Vec<f64> {
    let average =
        //~ report-group-mean
        |rows: &Vec<usize>| rows.iter().map(|i| values[*i]).sum::<f64>() / rows.len() as f64;
    groups.iter().map(average).collect()
}

/// Local linear regression of `values` on x with tricube weights
///
/// ```text
/// w_i = (1 - |(x_i - x_0) / h|^3)^3,        h the distance to the k-th nearest row, k = n/2 or 8, the larger
/// ```
///
/// at each place x_0, within the range of the values. Where the nearest rows have one x, it is their mean.
fn local_linear(x: &[f64], values: &[f64], places: &[f64]) -> Vec<f64> {
    const FEWEST: usize = 8;
    let mut rows: Vec<usize> =
        (0..x.len()).filter(|i| x[*i].is_finite() && values[*i].is_finite()).collect();
    if rows.is_empty() {
        return vec![f64::NAN; places.len()];
    }
    rows.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
    let k = rows.len().div_ceil(2).max(FEWEST).min(rows.len());
    let [low, high] = extent(rows.iter().map(|i| values[*i]));
    let mut start = 0;
    let at = |place: &f64| {
        // The k nearest are neighbours in order, and move on with the place.
        while start + k < rows.len() && x[rows[start + k]] - place < place - x[rows[start]] {
            start += 1;
        }
        let near = &rows[start..start + k];
        // A little more than the farthest, so that it counts, too.
        let h = 1.0001 * (x[near[k - 1]] - place).abs().max((place - x[near[0]]).abs());
        let weight = |i: usize| match h > 0.0 {
            true => (1.0 - ((x[i] - place) / h).abs().powi(3)).max(0.0).powi(3),
            false => 1.0,
        };
        let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for i in near {
            let (weight, dx, y) = (weight(*i), x[*i] - place, values[*i]);
            (w, wx, wy) = (w + weight, wx + weight * dx, wy + weight * y);
            (wxx, wxy) = (wxx + weight * dx * dx, wxy + weight * dx * y);
        }
        let spread = w * wxx - wx * wx;
        // The intercept at the place, if there is a slope to be found.
        let value = match spread > 1e-12 * w * wxx {
            true => (wxx * wy - wx * wxy) / spread,
            false => wy / w,
        };
        value.clamp(low, high)
    };
    places.iter().map(at).collect()
}

//! Curves of single features: a basis of natural cubic splines.
//!
//! With knots t_1 < .. < t_K, a natural cubic spline f is known from its values f_k = f(t_k): it is a cubic between knots and a
//! line beyond the first and the last one. Its roughness is a quadratic form of them,
//!
//! ```text
//! integral f''(t)^2 dt = f^T P f,      P = Q R^-1 Q^T,      R g = Q^T f
//! ```
//!
//! with g_2, .., g_(K-1) the second derivatives at the inner knots (those at the ends are 0), Q `[K x K-2]` of the second differences
//! and R `[K-2 x K-2]` tridiagonal. P = U diag(l) U^T has two eigenvalues 0, of lines. Every spline is a line and a sum of K - 2
//! curves, z_m(t) the spline with the values U_m / sqrt(l_m) at the knots:
//!
//! ```text
//! f(t) = a + b t + sum_m c_m z_m(t),      integral f''(t)^2 dt = sum_m c_m^2
//! ```
//!
//! so that c_m ~ N(0, s^2) is the prior of a smoothing spline. The curves are divided by a common number, such that their variances
//! over the training rows sum to 1: s is then the standard deviation of the curved part of f.
//!
//! Sources: Green and Silverman, Nonparametric Regression and Generalized Linear Models (1994), chapter 2,
//! doi:10.1201/b15710; the curves as random effects, Wood, Generalized Additive Models (2nd edition, 2017), section 5.8,
//! doi:10.1201/9781315370279.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};

use crate::Error;
use crate::linalg::cholesky::Cholesky;
use crate::linalg::eigen::SymmetricEigen;

/// The most knots of a curve.
const KNOTS: usize = 8;
/// The fewest different values of a feature that has a curve.
const LEAST_VALUES: usize = 6;
/// The fewest knots, of features most of whose values are equal.
const LEAST_KNOTS: usize = 4;

/// The curves of one feature.
#[derive(Clone, Debug)]
struct Curve {
    feature: usize,
    knots: Vec<f64>,
    /// The values of the curves at the knots, `[K x K-2]`, and their second derivatives.
    values: Array2<f64>,
    bends: Array2<f64>,
}

/// The curves of all features that have enough different values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curves {
    curves: Vec<Curve>,
}

impl Curves {
    /// The curves of the first `features` columns of training rows `x`, by the weights of rows if they have any.
    pub(crate) fn of(
        x: ArrayView2<f64>,
        weights: Option<ArrayView1<f64>>,
        features: usize,
    ) -> Result<Self, Error> {
        let of = |feature| Curve::of(feature, x.column(feature), weights).transpose();
        Ok(Self { curves: (0..features).filter_map(of).collect::<Result<_, _>>()? })
    }

    /// The features that have curves, and how many of them.
    pub(crate) fn features(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.curves.iter().map(|curve| (curve.feature, curve.values.ncols()))
    }

    /// The rows with their curves after the first `features` columns.
    pub(crate) fn insert(&self, x: ArrayView2<f64>, features: usize) -> Array2<f64> {
        let more: usize = self.features().map(|(_, curves)| curves).sum();
        let mut all = Array2::zeros((x.nrows(), x.ncols() + more));
        all.slice_mut(s![.., ..features]).assign(&x.slice(s![.., ..features]));
        all.slice_mut(s![.., features + more..]).assign(&x.slice(s![.., features..]));
        let mut first = features;
        for curve in &self.curves {
            for (row, value) in x.column(curve.feature).iter().enumerate() {
                curve.at(*value, &mut |m, z| all[[row, first + m]] = z);
            }
            first += curve.values.ncols();
        }
        all
    }
}

impl Curve {
    /// The curves of a feature with these values in the training rows; `None` if too few of them differ.
    fn of(
        feature: usize,
        x: ArrayView1<f64>,
        weights: Option<ArrayView1<f64>>,
    ) -> Result<Option<Self>, Error> {
        let w = |row: usize| weights.map_or(1.0, |w| w[row]);
        let mut rows: Vec<(f64, f64)> = x.iter().enumerate().map(|(i, x)| (*x, w(i))).collect();
        rows.retain(|(_, weight)| *weight > 0.0);
        rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut different: Vec<f64> = rows.iter().map(|(x, _)| *x).collect();
        different.dedup();
        if different.len() < LEAST_VALUES {
            return Ok(None);
        }
        // Quantiles of the rows, as if each were written out as often as its weight says, the first and the last value included.
        // Shares of a whole count as so many rows.
        let total: f64 = rows.iter().map(|(_, weight)| weight).sum();
        let unit = (rows.len() as f64 / total).max(1.0);
        let last = total * unit - 1.0;
        let mut knots: Vec<f64> = (0..KNOTS)
            .map(|k| {
                let place = (last * k as f64 / (KNOTS - 1) as f64).round();
                let mut before = 0.0;
                let at = rows.iter().find(|(_, weight)| {
                    before += unit * weight; //~ weighted-knots
                    before > place + 0.5
                });
                at.unwrap_or(&rows[rows.len() - 1]).0
            })
            .collect();
        knots.dedup();
        if knots.len() < LEAST_KNOTS {
            return Ok(None);
        }
        let (mut values, mut bends) = curves(&knots)?;
        let own = Self { feature, knots, values: values.clone(), bends: bends.clone() };
        let mut z = Array2::zeros((x.len(), values.ncols()));
        for (row, value) in x.iter().enumerate() {
            own.at(*value, &mut |m, at| z[[row, m]] = at);
        }
        let weight = |row: usize| w(row) / total;
        let variance = |column: ArrayView1<f64>| {
            let mean: f64 = column.iter().enumerate().map(|(row, z)| weight(row) * z).sum();
            column.iter().enumerate().map(|(row, z)| weight(row) * (z - mean).powi(2)).sum::<f64>()
        };
        let size = z.axis_iter(Axis(1)).map(variance).sum::<f64>().sqrt();
        values /= size;
        bends /= size;
        Ok(Some(Self { values, bends, ..own }))
    }

    /// Tells `to` the number of each curve and its value at t.
    fn at(&self, t: f64, to: &mut dyn FnMut(usize, f64)) {
        let Self { knots, values, bends, .. } = self;
        let last = knots.len() - 1;
        let j = knots.partition_point(|knot| *knot <= t).clamp(1, last);
        let (low, high) = (knots[j - 1], knots[j]);
        let h = high - low;
        for m in 0..values.ncols() {
            let (f, g) = ([values[[j - 1, m]], values[[j, m]]], [bends[[j - 1, m]], bends[[j, m]]]);
            let slope = (f[1] - f[0]) / h;
            let z = if t < low {
                f[0] + (slope - h * g[1] / 6.0) * (t - low)
            } else if t > high {
                f[1] + (slope + h * g[0] / 6.0) * (t - high)
            } else {
                let (a, b) = (t - low, high - t);
                let bent = (1.0 + a / h) * g[1] + (1.0 + b / h) * g[0];
                (a * f[1] + b * f[0]) / h - a * b * bent / 6.0
            };
            to(m, z);
        }
    }
}

/// The values U_m / sqrt(l_m) at the knots, and the second derivatives there, `[K x K-2]`.
fn curves(knots: &[f64]) -> Result<(Array2<f64>, Array2<f64>), Error> {
    let (n, inner) = (knots.len(), knots.len() - 2);
    let h: Vec<f64> = knots.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut q = Array2::<f64>::zeros((n, inner));
    let mut r = Array2::<f64>::zeros((inner, inner));
    for j in 0..inner {
        q[[j, j]] = 1.0 / h[j];
        q[[j + 1, j]] = -1.0 / h[j] - 1.0 / h[j + 1];
        q[[j + 2, j]] = 1.0 / h[j + 1];
        r[[j, j]] = (h[j] + h[j + 1]) / 3.0;
        if j + 1 < inner {
            r[[j, j + 1]] = h[j + 1] / 6.0;
            r[[j + 1, j]] = h[j + 1] / 6.0;
        }
    }
    let r = Cholesky::new("knots", &r.into_raw_vec_and_offset().0, inner)?;
    // R^-1 Q^T, a column for each knot.
    let mut bends_of_values = Array2::<f64>::zeros((inner, n));
    for (knot, mut column) in bends_of_values.columns_mut().into_iter().enumerate() {
        let mut b = q.row(knot).to_vec();
        r.solve_lower(&mut b);
        r.solve_lower_transpose(&mut b);
        column.assign(&ArrayView1::from(&b));
    }
    let p = q.dot(&bends_of_values);
    let symmetric = (&p + &p.t()) / 2.0;
    let eigen = SymmetricEigen::new("roughness", &symmetric.into_raw_vec_and_offset().0, n)?;
    let mut values = eigen.vectors.slice(s![.., 2..]).to_owned();
    for (mut column, l) in values.columns_mut().into_iter().zip(&eigen.values[2..]) {
        column /= l.sqrt();
    }
    let mut bends = Array2::zeros((n, inner));
    bends.slice_mut(s![1..n - 1, ..]).assign(&bends_of_values.dot(&values));
    Ok((values, bends))
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use ndarray::Array1;

    use super::*;
    use crate::rng::ChainRng;

    fn curve() -> (Curve, Array1<f64>) {
        let mut rng = ChainRng::new(1, 0);
        let x = Array1::from_shape_simple_fn(200, || rng.normal());
        (Curve::of(3, x.view(), None).unwrap().unwrap(), x)
    }

    fn value(curve: &Curve, m: usize, t: f64) -> f64 {
        let mut found = f64::NAN;
        curve.at(t, &mut |k, z| found = if k == m { z } else { found });
        found
    }

    /// The second derivative, by differences.
    fn bend(curve: &Curve, m: usize, t: f64) -> f64 {
        let h = 1e-3;
        let at = |t| value(curve, m, t);
        (at(t + h) - 2.0 * at(t) + at(t - h)) / (h * h)
    }

    /// Of a natural cubic spline value, slope and second derivative are continuous, the latter is a line between knots, and 0
    /// beyond the ends.
    #[test]
    fn curves_are_natural_cubic_splines() {
        let (curve, _) = curve();
        assert_eq!((curve.feature, curve.knots.len(), curve.values.ncols()), (3, 8, 6));
        let (first, last) = (curve.knots[0], curve.knots[7]);
        for m in 0..6 {
            for knot in &curve.knots {
                let at = |t: f64| value(&curve, m, t);
                assert_relative_eq!(at(knot - 1e-9), at(knot + 1e-9), epsilon = 1e-6);
                let slope = |side: f64| (at(knot + side * 1e-6) - at(*knot)) / (side * 1e-6);
                assert_relative_eq!(slope(-1.0), slope(1.0), epsilon = 1e-3);
                let size = curve.bends.column(m).fold(0.0, |a: f64, b| a.max(b.abs()));
                let [below, above] = [-0.01, 0.01].map(|off| bend(&curve, m, knot + off));
                assert!((below - above).abs() < 0.2 * size, "{m} {knot}: {below} {above}");
            }
            for pair in curve.knots.windows(2) {
                let at = |share: f64| bend(&curve, m, pair[0] + share * (pair[1] - pair[0]));
                assert_relative_eq!(at(0.5), 0.5 * (at(0.25) + at(0.75)), epsilon = 1e-4);
            }
            assert!(bend(&curve, m, first - 1.0).abs() < 1e-4);
            assert!(bend(&curve, m, last + 1.0).abs() < 1e-4);
        }
    }

    /// All curves are equally rough, and roughness adds up: the integral of f''^2 is a multiple of the sum of squares of c.
    #[test]
    fn roughness_is_a_sum_of_squares() {
        let (curve, x) = curve();
        let (first, last) = (curve.knots[0], curve.knots[7]);
        let n = 20_000;
        let step = (last - first) / n as f64;
        let bends: Vec<Vec<f64>> = (0..6)
            .map(|m| (0..n).map(|i| bend(&curve, m, first + (i as f64 + 0.5) * step)).collect())
            .collect();
        let product = |a: usize, b: usize| -> f64 {
            bends[a].iter().zip(&bends[b]).map(|(a, b)| a * b * step).sum()
        };
        let one = product(0, 0);
        for a in 0..6 {
            for b in 0..6 {
                let expected = if a == b { one } else { 0.0 };
                assert_relative_eq!(product(a, b), expected, epsilon = 1e-3 * one);
            }
        }
        let z = Array2::from_shape_fn((x.len(), 6), |(row, m)| value(&curve, m, x[row]));
        assert_relative_eq!(z.var_axis(Axis(0), 0.0).sum(), 1.0, max_relative = 1e-12);
    }

    /// A row of weight w is w rows, and one of weight 0 none; shares of a whole are as many rows.
    #[test]
    fn curves_are_of_rows_as_often_as_their_weights_say() {
        let mut rng = ChainRng::new(4, 0);
        let x = Array1::from_shape_simple_fn(60, || rng.normal());
        let weights = Array1::from_shape_fn(60, |row| (row % 4) as f64);
        let written: Array1<f64> =
            (0..60).flat_map(|row| std::iter::repeat_n(x[row], row % 4)).collect();
        let of = |x: &Array1<f64>, w: Option<&Array1<f64>>| {
            Curve::of(0, x.view(), w.map(|w| w.view())).unwrap().unwrap()
        };
        let (own, expected) = (of(&x, Some(&weights)), of(&written, None));
        assert_eq!(own.knots, expected.knots);
        for (own, expected) in own.values.iter().zip(&expected.values) {
            assert_relative_eq!(own, expected, max_relative = 1e-12, epsilon = 1e-12);
        }
        let shares = Array1::from_elem(60, 1.0 / 60.0);
        assert_eq!(of(&x, Some(&shares)).knots, of(&x, None).knots);
    }

    #[test]
    fn features_of_few_values_have_no_curves_and_others_come_behind_the_features() {
        let mut rng = ChainRng::new(2, 0);
        let x = Array2::from_shape_fn((50, 4), |(i, j)| match j {
            0 => (i % 5) as f64,
            // Nearly all rows are 0.
            2 if i > 6 => 0.0,
            _ => rng.normal(),
        });
        let curves = Curves::of(x.view(), None, 3).unwrap();
        assert_eq!(curves.features().collect::<Vec<_>>(), [(1, 6)]);
        let all = curves.insert(x.view(), 3);
        assert_eq!(all.dim(), (50, 10));
        assert_eq!(all.slice(s![.., ..3]), x.slice(s![.., ..3]));
        assert_eq!(all.column(9), x.column(3));
        assert_eq!(all[[4, 3]], value(&curves.curves[0], 0, x[[4, 1]]));
    }
}

//! Transforms of a real response, after which its noise is closer to normal with one variance.

use std::fmt;
use std::sync::OnceLock;

use ndarray::{Array1, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use super::scale::mean_by;
use crate::Error;
use crate::choice::choice;
use crate::error::Row;
use crate::message::{Advice, number};
use crate::portable::{exp, exp_m1, ln, ln_1p};

/// A transform of a real response, or of a feature, before it is standardised: z = g(y), with g rising. Its parameters
/// are learnt from the training rows; they are then a [`PowerTransform`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Transform {
    /// The response as it is. The default.
    #[default]
    None,
    /// The logarithm, of responses above 0.
    Log,
    /// A power, or the logarithm, of responses above 0 (Box and Cox 1964,
    /// doi:10.1111/j.2517-6161.1964.tb00553.x).
    BoxCox,
    /// A power on either side of 0, of any response (Yeo and Johnson 2000,
    /// doi:10.1093/biomet/87.4.954).
    YeoJohnson,
}

choice! { "transform", Transform {
    Self::None, Self::None, "none", "The response as it is";
    Self::Log, Self::Log, "log", "The logarithm, of responses above 0";
    Self::BoxCox, Self::BoxCox, "box_cox",
        "A power or the logarithm, of responses above 0; the power is learnt";
    Self::YeoJohnson, Self::YeoJohnson, "yeo_johnson",
        "A power on either side of 0, of any response; the power is learnt";
} }

/// A transform with its parameters.
///
/// With t = y / unit and the parameter lambda, from 0 to 2,
///
/// ```text
/// Box-Cox        g(y) = (t^lambda - 1) / lambda,                         y > 0
///                log g'(y) = (lambda - 1) log t - log unit
/// Yeo-Johnson    g(y) = ((1 + t)^lambda - 1) / lambda,                   y >= 0
///                g(y) = -((1 - t)^(2 - lambda) - 1) / (2 - lambda),      y < 0
///                log g'(y) = (lambda - 1) sign(t) log(1 + |t|) - log unit
/// ```
///
/// where (u^a - 1) / a is log u at a = 0. [`Transform::Log`] is Box-Cox with lambda = 0 and unit 1. The
/// unit is the geometric mean of the training rows for Box-Cox, where it changes g by a scale and a
/// shift only and keeps digits. For Yeo-Johnson it is their standard deviation, or the median of |y| over those that are
/// not 0 if that is smaller, as of a long tail, whose standard deviation would leave most rows where g is straight. So fits
/// do not depend on the unit in which the table has the response. Densities are of y in the table's unit:
/// log p(y) = log p(z) + log g'(y).
///
/// lambda maximises the likelihood of a normal linear model for g(y), profiled over its coefficients and
/// its variance:
///
/// ```text
/// l(lambda) = -n/2 log(RSS(lambda) / n) + sum_i log g'(y_i)
/// ```
///
/// RSS is the sum of squared residuals of g(y_i) around its least-squares line in the standardised
/// features of the n training rows; around its mean where features have no part in it ([`Standardise::fit`]
/// and [`Standardise::fit_features`], which ask at most 10,000 rows, evenly spaced), where there are fewer than two rows
/// for each coefficient, and where n (features)^2 exceeds 10^10. lambda is the best multiple of 0.001: more digits say nothing.
///
/// For lambda from 0 to 2, Yeo-Johnson maps all real numbers to all real numbers, and predictions are finite.
/// Box-Cox with lambda > 0 reaches g > -1/lambda only: [`inverse`](Self::inverse) is 0 below, so that
/// the predictive distribution has the mass P(z <= -1/lambda) at y = 0.
///
/// [`Standardise::fit`]: super::Standardise::fit
/// [`Standardise::fit_features`]: super::Standardise::fit_features
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerTransform {
    /// The family, which is not [`Transform::None`].
    pub transform: Transform,
    /// The parameter, from 0 to 2; 1 is a straight line.
    pub lambda: f64,
    /// The unit, above 0, in units of the column.
    pub unit: f64,
}

/// The largest lambda, in thousandths.
const MOST: usize = 2000;
/// The most multiplications for a line.
const MOST_PRODUCTS: f64 = 1e10;
/// The share of a column's length that must be left without the columns before it.
const INDEPENDENT: f64 = 1e-7;

impl Transform {
    /// Whether the response stays as it is.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Whether the transform is of this number.
    fn takes(self, y: f64) -> bool {
        match self {
            Self::None | Self::YeoJohnson => true,
            Self::Log | Self::BoxCox => y > 0.0,
        }
    }

    /// An error that names the first cell of `y` `[row, column]` that cannot be transformed.
    pub(crate) fn check(
        self,
        table: &str,
        y: ArrayView2<f64>,
        names: &[String],
        row: impl Fn(usize) -> Row,
    ) -> Result<(), Error> {
        match y.indexed_iter().find(|(_, y)| !self.takes(**y)) {
            Some(((i, j), value)) => Err(self.refusal(table, *value, &names[j], row(i))),
            None => Ok(()),
        }
    }

    /// The name that people know it by.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::None => "no transform",
            Self::Log => "the logarithm",
            Self::BoxCox => "Box-Cox",
            Self::YeoJohnson => "Yeo-Johnson",
        }
    }

    fn refusal(self, table: &str, value: f64, column: &str, row: Row) -> Error {
        let (number, name) = (number(value), self.in_words());
        let problem =
            format!("{number} cannot be transformed by {name}, which takes numbers above 0");
        let (table, column, advice) = (table.into(), column.into(), vec![Advice::AnySign]);
        Error::Cell { table, row, column, problem, advice }
    }

    /// The transform with the parameters for a column that is not constant; `None` if it stays as it is.
    pub(super) fn fit(self, y: ArrayView1<f64>, line: &Line) -> Option<PowerTransform> {
        let of = |lambda, unit| PowerTransform { transform: self, lambda, unit };
        let unit = match self {
            Self::None => return None,
            Self::Log => return Some(of(0.0, 1.0)),
            Self::BoxCox => exp(line.mean_of(&y.mapv(ln))),
            Self::YeoJohnson => line.sd_of(y).min(line.median_size_of(y)), //~ unit-of-power
        };
        if !unit.is_normal() {
            return None; // the same value in the rows that are asked, or next to it
        }
        let at = |k: usize| of(k as f64 / 1000.0, unit);
        let logs = y.mapv(|y| at(0).log_of(y));
        let (mut best, mut range) = (1000, (0, MOST));
        for step in [100, 10, 1] {
            let mut largest = f64::NEG_INFINITY;
            for k in (range.0..=range.1).step_by(step) {
                let profile = line.profile(&logs, &at(k));
                if profile > largest {
                    (best, largest) = (k, profile);
                }
            }
            range = (best.saturating_sub(step), (best + step).min(MOST));
        }
        Some(at(best))
    }
}

/// (u^a - 1) / a of log u.
fn power(log_u: f64, a: f64) -> f64 {
    if a == 0.0 { log_u } else { exp_m1(a * log_u) / a }
}

/// log u of (u^a - 1) / a; -inf where there is none.
fn log_of_power(z: f64, a: f64) -> f64 {
    match a * z {
        _ if a == 0.0 => z,
        below if below <= -1.0 => f64::NEG_INFINITY,
        above => ln_1p(above) / a,
    }
}

impl PowerTransform {
    fn is_two_sided(&self) -> bool {
        self.transform == Transform::YeoJohnson
    }

    /// log t of Box-Cox, sign(t) log(1 + |t|) of Yeo-Johnson; NaN where the transform is not of y.
    fn log_of(&self, y: f64) -> f64 {
        let t = y / self.unit;
        match self.is_two_sided() {
            false if y > 0.0 => ln(t),
            false => f64::NAN,
            true => ln_1p(t.abs()).copysign(t),
        }
    }

    /// g(y) from [`log_of`](Self::log_of) y.
    fn forward_of_log(&self, log: f64) -> f64 {
        match self.is_two_sided() {
            true if log < 0.0 => -power(-log, 2.0 - self.lambda), //~ yeo-johnson-below
            _ => power(log, self.lambda),
        }
    }

    /// log g'(y) from [`log_of`](Self::log_of) y.
    fn log_derivative_of_log(&self, log: f64) -> f64 {
        (self.lambda - 1.0) * log - ln(self.unit) //~ power-derivative
    }

    /// g(y); NaN where the transform is not of y.
    pub fn forward(&self, y: f64) -> f64 {
        self.forward_of_log(self.log_of(y))
    }

    /// An error if the transform is not of `value`, in this row, counted from 0.
    pub(super) fn check(&self, value: f64, column: &str, row: usize) -> Result<(), Error> {
        match self.transform.takes(value) {
            true => Ok(()),
            false => {
                let row = Row::Number(row + 1);
                Err(self.transform.refusal("values to scale", value, column, row))
            }
        }
    }

    /// y with g(y) = z; the end of the range, 0, for z below all g(y) of Box-Cox.
    pub fn inverse(&self, z: f64) -> f64 {
        let lambda = self.lambda;
        self.unit
            * match self.is_two_sided() {
                false => exp(log_of_power(z, lambda)),
                true if z < 0.0 => -exp_m1(log_of_power(-z, 2.0 - lambda)),
                true => exp_m1(log_of_power(z, lambda)),
            }
    }

    /// log g'(y), by which a log density of g(y) becomes one of y; NaN where the transform is not of y.
    pub fn log_derivative(&self, y: f64) -> f64 {
        self.log_derivative_of_log(self.log_of(y))
    }

    /// Mean and variance of y = g^-1(z) for z ~ N(mean, sd^2).
    ///
    /// Of the logarithm they are e^(mean + sd^2/2) unit and its square times e^(sd^2) - 1. Otherwise they are
    /// integrals by Gauss and Legendre's rule over mean +- (8 + 2 sd) sd, on either side of the place
    /// where g^-1 has a kink: to about 1e-8 of the standard deviation, or 1e-5 for Box-Cox with lambda
    /// above 1, whose g^-1 is infinitely steep at 0. NaN where `mean` or `sd` is.
    pub fn moments_of_inverse(&self, mean: f64, sd: f64) -> [f64; 2] {
        let variance = sd * sd;
        let at_mean = self.inverse(mean);
        if variance == 0.0 {
            return [at_mean, 0.0];
        }
        if !self.is_two_sided() && self.lambda == 0.0 {
            let mean = self.unit * exp(mean + 0.5 * variance); //~ log-normal-mean
            return [mean, mean * mean * exp_m1(variance)];
        }
        let end = 8.0 + 2.0 * sd;
        let kink = if self.is_two_sided() { 0.0 } else { -1.0 / self.lambda };
        let kink = ((kink - mean) / sd).clamp(-end, end);
        // Differences from the value at the mean, which cancel less.
        let mut sums = [0.0; 2];
        for (from, to) in [(-end, kink), (kink, end)] {
            let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
            if half == 0.0 {
                continue;
            }
            for (node, weight) in legendre() {
                let x = middle + half * node;
                let density = half * weight * exp(-0.5 * x * x) / std::f64::consts::TAU.sqrt();
                let apart = self.inverse(mean + sd * x) - at_mean;
                sums[0] += density * apart;
                sums[1] += density * apart * apart;
            }
        }
        [at_mean + sums[0], sums[1] - sums[0] * sums[0]] //~ mean-of-inverse
    }
}

/// The transform in words: `the logarithm`, `Box-Cox with lambda = 0.25`.
impl fmt::Display for PowerTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.transform.in_words())?;
        match self.transform {
            Transform::None | Transform::Log => Ok(()),
            Transform::BoxCox => write!(f, " with lambda = {}", self.lambda),
            Transform::YeoJohnson => {
                let unit = number(self.unit);
                write!(f, " with lambda = {}, in units of {unit}", self.lambda)
            }
        }
    }
}

/// Nodes and weights of Gauss and Legendre's rule on [-1, 1].
fn legendre() -> &'static [(f64, f64)] {
    const N: usize = 32;
    static RULE: OnceLock<Vec<(f64, f64)>> = OnceLock::new();
    RULE.get_or_init(|| {
        let node = |i: usize| {
            let mut x = libm::cos(std::f64::consts::PI * (i as f64 + 0.75) / (N as f64 + 0.5));
            let mut slope = 1.0;
            // Newton's method from here has all digits after five steps.
            for _ in 0..8 {
                let (mut p, mut before) = (1.0, 0.0);
                for k in 0..N {
                    let k = k as f64;
                    (p, before) = (((2.0 * k + 1.0) * x * p - k * before) / (k + 1.0), p);
                }
                slope = N as f64 * (x * p - before) / (x * x - 1.0);
                x -= p / slope;
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        };
        (0..N).map(node).collect()
    })
}

/// The least-squares line in some features: an orthonormal basis of their columns and a constant, each times the
/// roots of the weights of the rows.
pub(super) struct Line {
    basis: Vec<Array1<f64>>,
    /// The weights of the rows, if they have any, and their roots.
    weights: Option<[Array1<f64>; 2]>,
    /// The number of rows, or the sum of their weights.
    n: f64,
}

impl Line {
    /// The mean alone.
    pub(super) fn mean(rows: usize, weights: Option<ArrayView1<f64>>) -> Self {
        let n = weights.map_or(rows as f64, |w| w.sum());
        let weights = weights.map(|w| [w.to_owned(), w.mapv(f64::sqrt)]);
        let mut line = Self { basis: Vec::new(), weights, n };
        line.basis.push(line.weigh(Array1::from_elem(rows, 1.0 / n.sqrt())));
        line
    }

    /// Values, each times the root of its row's weight.
    fn weigh(&self, values: Array1<f64>) -> Array1<f64> {
        match &self.weights {
            Some([_, roots]) => values * roots,
            None => values,
        }
    }

    fn weights(&self) -> Option<ArrayView1<'_, f64>> {
        self.weights.as_ref().map(|[w, _]| w.view())
    }

    fn mean_of(&self, y: &Array1<f64>) -> f64 {
        match &self.weights {
            Some(_) => mean_by(self.weights(), y.iter().copied()),
            None => y.mean().unwrap_or(0.0),
        }
    }

    fn sd_of(&self, y: ArrayView1<f64>) -> f64 {
        match &self.weights {
            Some(_) => {
                let mean = self.mean_of(&y.to_owned());
                mean_by(self.weights(), y.iter().map(|y| (y - mean).powi(2))).sqrt()
            }
            None => y.std(0.0),
        }
    }

    /// The median of |y| over the rows in which y is not 0: the smallest such number that at least half of them do not
    /// exceed.
    fn median_size_of(&self, y: ArrayView1<f64>) -> f64 {
        let weight = |row: usize| self.weights().map_or(1.0, |w| w[row]);
        let mut sizes: Vec<(f64, f64)> =
            y.iter().enumerate().map(|(row, y)| (y.abs(), weight(row))).collect();
        sizes.retain(|(size, _)| *size > 0.0);
        sizes.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
        let half = 0.5 * sizes.iter().map(|(_, weight)| weight).sum::<f64>();
        let mut sum = 0.0;
        let middle = sizes.iter().find(|(_, weight)| {
            sum += weight;
            sum >= half
        });
        middle.map_or(f64::INFINITY, |(size, _)| *size)
    }

    /// The line in `x` `[rows x features]`, or the mean alone where rows are too few or features too many.
    pub(super) fn new(x: ArrayView2<f64>, weights: Option<ArrayView1<f64>>) -> Self {
        let (rows, features) = x.dim();
        let mut line = Self::mean(rows, weights);
        let products = rows as f64 * (features as f64).powi(2);
        if line.n < 2.0 * (features as f64 + 1.0) || products > MOST_PRODUCTS {
            return line;
        }
        for column in x.columns() {
            let mut column = line.weigh(column.to_owned());
            let length = column.dot(&column).sqrt();
            line.remove(&mut column);
            // Once more, for the digits that the first time has lost.
            line.remove(&mut column);
            let left = column.dot(&column).sqrt();
            if left > INDEPENDENT * length && left.is_normal() {
                line.basis.push(column / left);
            }
        }
        line
    }

    fn remove(&self, z: &mut Array1<f64>) {
        for unit in &self.basis {
            let along = unit.dot(z);
            z.scaled_add(-along, unit);
        }
    }

    /// l(lambda) of [`PowerTransform`], of [`PowerTransform::log_of`] the responses.
    fn profile(&self, logs: &Array1<f64>, power: &PowerTransform) -> f64 {
        let n = self.n;
        let mut z = self.weigh(logs.mapv(|log| power.forward_of_log(log)));
        self.remove(&mut z);
        let slopes = logs.iter().map(|log| power.log_derivative_of_log(*log));
        let slopes: f64 = match self.weights() {
            Some(w) => w.iter().zip(slopes).map(|(w, slope)| w * slope).sum(),
            None => slopes.sum(),
        };
        slopes - 0.5 * n * ln(z.dot(&z) / n) //~ power-profile
    }
}

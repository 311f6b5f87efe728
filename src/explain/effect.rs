//! Effects as they are returned: draws, their means and intervals.

use std::fmt;

use ndarray::{Array1, Array2, Array3, Array4, ArrayView1, Axis};

use crate::Error;
use crate::data::{TableColumn, ValueKind};
use crate::diagnostics::quantile;
use crate::message::number;
use crate::predict::{Interval, check_level};

/// The level of intervals that are printed.
const LEVEL: f64 = 0.9;

/// The values of a column at which an effect was computed, and those that the rows have.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// The name of the column.
    pub column: String,
    /// The values, as of a [`TableColumn`], in order.
    pub values: Vec<f64>,
    /// The values as the table has them.
    pub words: Vec<String>,
    /// The kind of the values.
    pub kind: ValueKind,
    /// The values of the rows over which effects are averaged, without missing ones.
    pub of_rows: Vec<f64>,
}

impl Points {
    pub(super) fn new(column: &TableColumn, values: &[f64], of_rows: Vec<Option<f64>>) -> Self {
        Self {
            column: column.name().into(),
            values: values.to_vec(),
            words: values.iter().map(|value| column.in_words(*value)).collect(),
            kind: column.kind(),
            of_rows: of_rows.into_iter().flatten().collect(),
        }
    }
}

/// The effect of a column by each draw: [`partial_dependence`](super::Explainer::partial_dependence), or the
/// [`accumulated_local_effect`](super::Explainer::accumulated_local_effect).
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The values of the column.
    pub points: Points,
    /// The response's columns, or the classes; of two classes the second.
    pub outputs: Vec<String>,
    /// The effect by each draw of all chains, `[draw, point, output]`, in units of the response.
    pub draws: Array3<f64>,
    /// The curve of each row, a mean over draws, `[row, point, output]`; `None` of accumulated local effects.
    pub individual: Option<Array3<f64>>,
}

impl Effect {
    /// The mean over draws, `[point, output]`.
    pub fn mean(&self) -> Array2<f64> {
        self.draws.mean_axis(Axis(0)).unwrap_or_default()
    }

    /// Intervals with equal tails for the effect at each point: `[point, output]`. They are of the mean function, averaged over these
    /// rows, without the noise of a response.
    ///
    /// # Errors
    /// A level that is not between 0 and 1.
    pub fn interval(&self, level: f64) -> Result<Interval, Error> {
        let (_, points, outputs) = self.draws.dim();
        let ends = |point, output| ends(self.draws.slice(ndarray::s![.., point, output]), level);
        intervals((points, outputs), level, ends)
    }
}

/// A line for each point and output.
impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mean, interval) = (self.mean(), self.interval(LEVEL).map_err(|_| fmt::Error)?);
        let width = self.points.words.iter().map(|word| word.chars().count()).max().unwrap_or(0);
        for (k, word) in self.points.words.iter().enumerate() {
            for (j, output) in self.outputs.iter().enumerate() {
                let (low, high) = (interval.lower[(k, j)], interval.upper[(k, j)]);
                let column = &self.points.column;
                writeln!(
                    f,
                    "{column} {word:width$}  {output} {}",
                    estimate(mean[(k, j)], low, high)
                )?;
            }
        }
        Ok(())
    }
}

/// The effect of two columns together by each draw: [`partial_dependence_pair`](super::Explainer::partial_dependence_pair), or
/// what two columns do together beyond what each does alone, the
/// [`accumulated_local_effect_pair`](super::Explainer::accumulated_local_effect_pair).
#[derive(Clone, Debug, PartialEq)]
pub struct PairEffect {
    /// The values of both columns.
    pub points: [Points; 2],
    /// The response's columns, or the classes; of two classes the second.
    pub outputs: Vec<String>,
    /// The effect by each draw of all chains, `[draw, point of the first, point of the second, output]`, in units of the
    /// response.
    pub draws: Array4<f64>,
}

impl PairEffect {
    /// The mean over draws, `[point of the first, point of the second, output]`.
    pub fn mean(&self) -> Array3<f64> {
        self.draws.mean_axis(Axis(0)).unwrap_or_default()
    }
}

/// The difference that a column makes from one value to another, by each draw: see
/// [`contrast`](super::Explainer::contrast).
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// The name of the column.
    pub column: String,
    /// The first value, as the table has it.
    pub from: String,
    /// The second value.
    pub to: String,
    /// The response's columns, or the classes; of two classes the second.
    pub outputs: Vec<String>,
    /// The difference by each draw of all chains, `[draw, output]`, in units of the response.
    pub draws: Array2<f64>,
}

impl Contrast {
    /// The mean over draws of each output.
    pub fn mean(&self) -> Array1<f64> {
        self.draws.mean_axis(Axis(0)).unwrap_or_default()
    }

    /// Intervals with equal tails, `[1, output]`.
    ///
    /// # Errors
    /// A level that is not between 0 and 1.
    pub fn interval(&self, level: f64) -> Result<Interval, Error> {
        intervals((1, self.outputs.len()), level, |_, output| {
            ends(self.draws.column(output), level)
        })
    }

    /// The probability that the difference is above 0, of each output.
    pub fn probability_above_zero(&self) -> Array1<f64> {
        let above = |draws: ArrayView1<f64>| {
            draws.iter().filter(|difference| **difference > 0.0).count() as f64 / draws.len() as f64
        };
        self.draws.columns().into_iter().map(above).collect()
    }
}

/// A line for each output.
impl fmt::Display for Contrast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mean, interval) = (self.mean(), self.interval(LEVEL).map_err(|_| fmt::Error)?);
        let Self { column, from, to, outputs, .. } = self;
        for (j, output) in outputs.iter().enumerate() {
            let estimate = estimate(mean[j], interval.lower[(0, j)], interval.upper[(0, j)]);
            let end = if j + 1 < outputs.len() { "\n" } else { "" };
            write!(f, "{column} from {from} to {to}: {output} {estimate}{end}")?;
        }
        Ok(())
    }
}

/// The quantiles of draws at (1 - level) / 2 and (1 + level) / 2.
pub(super) fn ends(draws: ArrayView1<f64>, level: f64) -> [f64; 2] {
    let mut sorted = draws.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 - 0.5 * level; //~ effect-interval
    [tail, 1.0 - tail].map(|p| quantile(&sorted, p))
}

fn intervals(
    shape: (usize, usize),
    level: f64,
    ends: impl Fn(usize, usize) -> [f64; 2],
) -> Result<Interval, Error> {
    check_level(level)?;
    let both = Array2::from_shape_fn(shape, |(row, column)| ends(row, column));
    Ok(Interval { level, lower: both.map(|ends| ends[0]), upper: both.map(|ends| ends[1]) })
}

/// A mean with its interval, to three digits of the latter's width.
pub(super) fn estimate(mean: f64, low: f64, high: f64) -> String {
    let [mean, low, high] = [mean, low, high].map(|x| number(rounded(x, high - low)));
    format!("{mean} [{low}, {high}]")
}

/// A number to a hundredth of a width.
fn rounded(x: f64, width: f64) -> f64 {
    if !(width > 0.0 && width.is_finite()) {
        return x;
    }
    let digits = 2 - width.log10().floor() as i32;
    match digits {
        0..=15 => {
            let scale = 10_f64.powi(digits);
            (x * scale).round() / scale
        }
        _ if digits < 0 => {
            let scale = 10_f64.powi(-digits);
            (x / scale).round() * scale
        }
        _ => x,
    }
}

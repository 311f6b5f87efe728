//! New rows beside the training data.

use std::fmt;
use std::sync::Arc;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::data::{self, StandIn};
use crate::message::number;
use crate::predict::Predictions;

/// The smallest and the largest value of a feature in the training rows, in its own units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureRange {
    /// The name of the feature.
    pub feature: String,
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

impl FeatureRange {
    /// Whether the values differ by rounding alone.
    pub(super) fn is_constant(&self) -> bool {
        data::is_constant([self.low, self.high])
    }
}

/// A value of a new row that lies outside its [`FeatureRange`].
#[derive(Clone, Debug, PartialEq)]
pub struct Outside {
    /// The row, counted from 0.
    pub row: usize,
    /// The value, in the feature's own units.
    pub value: f64,
    /// The range that it leaves, which all values of a feature share.
    pub range: Arc<FeatureRange>,
}

impl Outside {
    /// In words, where the number of the row counts units of this name, such as `line`.
    pub fn in_words(&self, unit: &str) -> String {
        let FeatureRange { feature, low, high } = &*self.range;
        let bound = if self.value < *low {
            format!("below {}", number(*low))
        } else {
            format!("above {}", number(*high))
        };
        format!("{unit} {}: `{feature}` is {}, {bound}", self.row, number(self.value))
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words("row"))
    }
}

/// The range of each feature of `x` `[rows x features]`.
pub(super) fn ranges(x: ArrayView2<f64>, names: &[String]) -> Vec<FeatureRange> {
    let columns = x.columns().into_iter().zip(names);
    let range = |(column, feature): (ndarray::ArrayView1<f64>, &String)| FeatureRange {
        feature: feature.clone(),
        low: column.fold(f64::INFINITY, |low, x| low.min(*x)),
        high: column.fold(f64::NEG_INFINITY, |high, x| high.max(*x)),
    };
    columns.map(range).collect()
}

/// The values of `x` `[rows x features]` that lie outside the `ranges`.
pub(super) fn outside(x: ArrayView2<f64>, ranges: &[FeatureRange]) -> Vec<Outside> {
    let ranges: Vec<Arc<FeatureRange>> = ranges.iter().cloned().map(Arc::new).collect();
    let mut found = Vec::new();
    for (row, values) in x.rows().into_iter().enumerate() {
        for (value, range) in values.iter().zip(&ranges) {
            //~ outside-range
            if *value < range.low || *value > range.high {
                found.push(Outside { row, value: *value, range: range.clone() });
            }
        }
    }
    found
}

/// Predictions of a [`Fit`](super::Fit), in the units of its table.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// The predictions, one row for each row that was read.
    pub predictions: Predictions,
    /// The values outside the range of the training data, where the model extrapolates.
    pub outside: Vec<Outside>,
    /// The lines of the file that were left out because of a missing value.
    pub dropped: Vec<usize>,
    /// The cells that something else stands in for.
    pub stand_ins: Vec<StandIn>,
    /// The columns of the file that the training file does not have, which were not read.
    pub unused: Vec<String>,
}

/// The number of rows predicted, the number of rows outside the range of the training data with the
/// first five such values, and the columns that were not used.
impl fmt::Display for Predicted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        match self.predictions.mean().dim().2 {
            1 => write!(f, "1 row predicted")?,
            rows => write!(f, "{rows} rows predicted")?,
        }
        if !self.dropped.is_empty() {
            write!(f, ", {} left out because of missing values", self.dropped.len())?;
        }
        for stand_in in &self.stand_ins {
            write!(f, "; {stand_in}")?;
        }
        if let Some(first) = self.unused.first() {
            let more = match self.unused.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            write!(f, "; column `{first}`{more} not used, since the training data have none")?;
        }
        let mut rows: Vec<usize> = self.outside.iter().map(|outside| outside.row).collect();
        rows.dedup();
        match rows.len() {
            0 => write!(f, "; all lie within the range of the training data"),
            n => {
                let first: Vec<_> =
                    self.outside.iter().take(SHOWN).map(ToString::to_string).collect();
                let more = self.outside.len().saturating_sub(SHOWN);
                let more = match more {
                    0 => String::new(),
                    1 => "; and 1 more value".into(),
                    more => format!("; and {more} more values"),
                };
                write!(
                    f,
                    "; {n} outside the range of the training data ({}{more})",
                    first.join("; ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = |value: f64, low: f64, high: f64| {
            let range = FeatureRange { feature: "a".into(), low, high }.into();
            Outside { row: 1, value, range }.to_string()
        };
        assert_eq!(shown(1e300, 0.0, 2.0), "row 1: `a` is 1e300, above 2");
        assert_eq!(shown(-0.5, 1e-300, 2.5), "row 1: `a` is -0.5, below 1e-300");
        assert_eq!(shown(99.0, 0.0, 6.9), "row 1: `a` is 99, above 6.9");
    }
}

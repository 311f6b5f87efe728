//! The measures of uncertainty, and what each is over all inputs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A measure of the uncertainty of a classification. See the [`Uncertainty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Measure {
    /// 1 - max_c E p_c.
    VariationRatio,
    /// 1 - the largest share of draws that vote for one class.
    Disagreement,
    /// H\[E p\].
    PredictiveEntropy,
    /// E H\[p\].
    ExpectedEntropy,
    /// H\[E p\] - E H\[p\].
    MutualInformation,
}

impl Measure {
    /// All measures.
    pub const ALL: [Self; 5] = [
        Self::VariationRatio,
        Self::Disagreement,
        Self::PredictiveEntropy,
        Self::ExpectedEntropy,
        Self::MutualInformation,
    ];

    /// The measure's name, as in `predictive_entropy`.
    pub fn name(self) -> &'static str {
        match self {
            Self::VariationRatio => "variation_ratio",
            Self::Disagreement => "disagreement",
            Self::PredictiveEntropy => "predictive_entropy",
            Self::ExpectedEntropy => "expected_entropy",
            Self::MutualInformation => "mutual_information",
        }
    }
}

/// The name in words: `predictive entropy`.
impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name().replace('_', " "))
    }
}

/// A measure over all inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureSummary {
    /// The measure.
    pub measure: Measure,
    /// Its mean over inputs.
    pub mean: f64,
    /// Its median over inputs.
    pub median: f64,
    /// Its 95 % quantile over inputs.
    pub q95: f64,
    /// Its largest value.
    pub max: f64,
}

//! The measures of uncertainty, and their values over all inputs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A measure of the uncertainty of a classification. [`Uncertainty`](super::Uncertainty) has the
/// formulas, and says which to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Measure {
    /// The variation ratio 1 - max_c E p_c.
    VariationRatio,
    /// The disagreement of draws, 1 less the largest share of draws that vote for one class.
    Disagreement,
    /// The predictive entropy H\[E p\].
    PredictiveEntropy,
    /// The expected entropy E H\[p\]: the part of the predictive entropy that every draw shares.
    ExpectedEntropy,
    /// The mutual information H\[E p\] - E H\[p\]: the part of the predictive entropy on which draws
    /// differ.
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

/// One measure of uncertainty, summarised over all inputs. From
/// [`Uncertainty::summary`](super::Uncertainty::summary).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureSummary {
    /// The measure.
    pub measure: Measure,
    /// The mean of the measure over inputs.
    pub mean: f64,
    /// The median of the measure over inputs.
    pub median: f64,
    /// The 95 % quantile of the measure over inputs.
    pub q95: f64,
    /// The largest value of the measure.
    pub max: f64,
}

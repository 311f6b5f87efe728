//! Uncertainty of a classification: how sure, and is it the data or the weights that are not?

mod along_chains;
mod measure;
mod probabilities;
mod running;
mod separation;
mod table;

pub use along_chains::ChainProbabilities;
pub use measure::{Measure, MeasureSummary};
pub use running::RunningUncertainty;
pub use separation::{Separation, auroc};
pub use table::{THRESHOLDS, Uncertainty};

use super::predictions::Predictions;
use crate::Error;

impl Predictions {
    /// The [uncertainty](Uncertainty) of the classification of every row, over all draws of all
    /// chains.
    ///
    /// # Errors
    /// If there are no draws, the response is not classes, or a probability is NaN.
    pub fn uncertainty(&self) -> Result<Uncertainty, Error> {
        Uncertainty::new(self.draws_of_mean()?, self.names_of_classes()?)
    }

    /// The quality with which each measure of uncertainty tells the rows of `outside` from these;
    /// see [`auroc`].
    ///
    /// The rows of `outside` need classes known to the model, whatever these say; without any,
    /// [`Posterior::uncertainty`](crate::posterior::Posterior::uncertainty) and
    /// [`Uncertainty::separation`] do the same.
    ///
    /// # Errors
    /// The errors of [`uncertainty`](Self::uncertainty); also if the classes of `outside` differ.
    pub fn separation(&self, outside: &Self) -> Result<Separation, Error> {
        self.uncertainty()?.separation(&outside.uncertainty()?)
    }

    /// The class probabilities along the chains, for chosen rows.
    ///
    /// # Errors
    /// If the response is not classes, `rows` is empty or names a row that does not exist.
    pub fn along_chains(&self, rows: &[usize]) -> Result<ChainProbabilities, Error> {
        ChainProbabilities::new(self.mean(), rows, self.names_of_classes()?)
    }

    fn names_of_classes(&self) -> Result<&[String], Error> {
        self.response.class_names().ok_or_else(|| self.wrong_kind("classes"))
    }
}

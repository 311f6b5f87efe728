//! Sets of classes.

use ndarray::Array2;

use crate::Error;

/// A set of classes for each row: what an interval is for numbers. From [`SplitConformal`](super::SplitConformal),
/// [`JackknifePlus`](super::JackknifePlus) or [`AddOneIn`](super::AddOneIn).
///
/// A set may hold several classes, where the model cannot tell them apart. It may be empty: then each class fits worse
/// than most observed classes fit, as of a row that is unlike all others.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionSets {
    /// The share of new rows whose set holds their class, on average.
    pub level: f64,
    /// The names of the classes.
    pub names: Vec<String>,
    /// Whether a row's set holds a class, `[row, class]`.
    pub contains: Array2<bool>,
}

impl PredictionSets {
    /// The number of classes in each row's set.
    pub fn sizes(&self) -> Vec<usize> {
        self.contains.rows().into_iter().map(|row| row.iter().filter(|c| **c).count()).collect()
    }

    /// The mean number of classes in a set; NaN if there are no rows.
    pub fn mean_size(&self) -> f64 {
        self.sizes().iter().sum::<usize>() as f64 / self.contains.nrows() as f64
    }

    /// The share of rows whose set holds the observed class, given by its position among the names.
    ///
    /// # Errors
    /// Another number of rows; a class that does not exist.
    pub fn coverage(&self, observed: &[usize]) -> Result<f64, Error> {
        if observed.len() != self.contains.nrows() {
            return Err(Error::shape("observed classes", observed.len(), self.contains.nrows()));
        }
        let classes = self.names.len();
        if let Some(class) = observed.iter().find(|class| **class >= classes) {
            return Err(Error::argument("class", class, format!("less than {classes}")));
        }
        let hits = observed.iter().enumerate().filter(|(i, class)| self.contains[(*i, **class)]);
        Ok(hits.count() as f64 / observed.len() as f64)
    }
}

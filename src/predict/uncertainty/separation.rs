//! Two sets of inputs told apart by their uncertainty.

use std::fmt;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::probabilities::check_same_classes;
use super::{Measure, Uncertainty};
use crate::Error;
use crate::predict::predictions::to_file;

impl Uncertainty {
    /// The quality with which each measure tells the inputs of `outside` from the inputs of `self`,
    /// see [`auroc`].
    ///
    /// # Errors
    /// If the classes of `outside` differ.
    pub fn separation(&self, outside: &Self) -> Result<Separation, Error> {
        check_same_classes(outside.class_names(), self.class_names())?;
        let of = |measure| auroc(self.measure(measure), outside.measure(measure));
        let mut area = [0.0; 5];
        for (area, measure) in area.iter_mut().zip(Measure::ALL) {
            *area = of(measure)?;
        }
        Ok(Separation { area, inside: self.inputs(), outside: outside.inputs() })
    }
}

/// The quality with which each measure of uncertainty tells two sets of inputs apart. From
/// [`Uncertainty::separation`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Separation {
    /// The area under the ROC curve, in the order of [`Measure::ALL`].
    pub area: [f64; 5],
    /// The number of familiar inputs, which are like the training data.
    pub inside: usize,
    /// The number of other inputs.
    pub outside: usize,
}

impl Separation {
    /// The area under the ROC curve of a measure.
    pub fn get(&self, measure: Measure) -> f64 {
        self.area[measure as usize]
    }

    /// One line per measure: `measure, auroc, inside, outside`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        to_file(path.as_ref(), |file| self.write_csv(file))
    }

    /// Writes the table of [`to_csv`](Self::to_csv) to any writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(["measure", "auroc", "inside", "outside"])?;
        for (measure, area) in Measure::ALL.iter().zip(self.area) {
            csv.serialize((measure.name(), area, self.inside, self.outside))?;
        }
        csv.flush()
    }
}

/// A table of the areas.
impl fmt::Display for Separation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:20} {:>8}",
            format!("{} and {} inputs", self.inside, self.outside),
            "AUROC"
        )?;
        for (measure, area) in Measure::ALL.iter().zip(self.area) {
            writeln!(f, "{measure:20} {area:8.4}")?;
        }
        Ok(())
    }
}

/// The area under the ROC curve: the probability that a score of `outside` is larger than one of
/// `inside`, ties counting one half.
///
/// It is U / (n m) with the statistic of Mann and Whitney (1947, doi:10.1214/aoms/1177730491;
/// Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747), counted exactly from sorted
/// scores. Under chance its standard deviation is about sqrt((n + m + 1) / (12 n m)).
///
/// ```
/// use bnn_mcmc::predict::auroc;
/// assert_eq!(auroc(&[0.0, 1.0], &[1.0, 2.0])?, 3.5 / 4.0);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// If one of the sets is empty or has a NaN.
pub fn auroc(inside: &[f64], outside: &[f64]) -> Result<f64, Error> {
    for (name, scores) in [("inside", inside), ("outside", outside)] {
        if scores.is_empty() {
            return Err(Error::argument(name, "empty", "at least one score"));
        }
        if let Some(i) = scores.iter().position(|score| score.is_nan()) {
            return Err(Error::argument(name, format!("NaN at {i}"), "numbers"));
        }
    }
    let mut sorted = inside.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // Comparisons, unlike the total order, take -0 and 0 for equals.
    let twice_u: u128 = outside
        .iter()
        .map(|score| {
            let below = sorted.partition_point(|s| s < score);
            (below + sorted.partition_point(|s| s <= score)) as u128
        })
        .sum();
    Ok(twice_u as f64 / (2.0 * inside.len() as f64 * outside.len() as f64))
}

//! Calibration: do probabilities mean what they say?

use std::io::Write;
use std::path::Path;

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::cells::{any_nan, map_cells};
use super::classification::top_class;
use super::predictions::{Predictions, to_file};
use crate::Error;
use crate::rng::ChainRng;

/// The largest number of bins, more than any data can fill.
const MOST_BINS: usize = 10_000;

/// The bins of similar confidence that rows are put into, for a [`Reliability`] curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bins {
    /// Bins ((b - 1) / B, b / B], this many, of equal width between 0 and 1. Bins without rows are
    /// left out.
    EqualWidth(usize),
    /// Bins of equally many rows, this many or fewer: rows of equal confidence share a bin.
    EqualCount(usize),
}

impl Default for Bins {
    /// 15 of equal width, as in Guo et al. (2017).
    fn default() -> Self {
        Self::EqualWidth(15)
    }
}

/// The rows of similar confidence: one bin of a [`Reliability`] curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliabilityBin {
    /// The bin's lower edge; for equal counts, the lowest confidence in it.
    pub lower: f64,
    /// The bin's upper edge; for equal counts, the highest confidence in it.
    pub upper: f64,
    /// The number of rows.
    pub rows: usize,
    /// The sum of the [weights](crate::data::Dataset::with_weights) of the rows, by which the two means are
    /// taken: the number of rows if they have none.
    pub weight: f64,
    /// The mean confidence of the rows in the bin.
    pub confidence: f64,
    /// The share of the rows in the bin whose most probable class is the observed one.
    pub accuracy: f64,
}

/// The reliability curve of a classification: accuracy against confidence. From
/// [`Predictions::reliability`].
///
/// The confidence of a row is the posterior mean probability of its most probable class. Rows are
/// put into bins of similar confidence; for bin b with n_b of n rows,
///
/// ```text
/// ECE = sum_b n_b / n |accuracy_b - confidence_b|
/// ```
///
/// is the expected calibration error (Guo et al. 2017, arXiv:1706.04599), from 0 to 1. A curve of
/// accuracy against confidence that lies below the diagonal is overconfident. The ECE of few rows is
/// above 0 also for a perfect model, by about the mean over rows of sqrt(2 c (1 - c) / (pi n_b)) at
/// confidence c; equal counts make the bins equally noisy (Nguyen and O'Connor 2015,
/// arXiv:1508.05154). With two classes, confidence lies between 1/2 and 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Reliability {
    /// The bins that hold rows, by rising confidence.
    pub bins: Vec<ReliabilityBin>,
}

impl Reliability {
    /// The expected calibration error, from 0 (best) to 1.
    pub fn ece(&self) -> f64 {
        let n: f64 = self.bins.iter().map(|b| b.weight).sum();
        //~ calibration-error
        let gap = |b: &ReliabilityBin| b.weight * (b.accuracy - b.confidence).abs();
        self.bins.iter().map(gap).sum::<f64>() / n
    }

    /// One line per bin: `lower, upper, rows, confidence, accuracy`.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        to_file(path.as_ref(), |file| self.write_csv(file))
    }

    /// Writes the table of [`to_csv`](Self::to_csv) to any writer.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(["lower", "upper", "rows", "confidence", "accuracy"])?;
        for b in &self.bins {
            csv.serialize((b.lower, b.upper, b.rows, b.confidence, b.accuracy))?;
        }
        csv.flush()
    }
}

/// The probability integral transform of real responses and counts: is the whole predictive
/// distribution right? From [`Predictions::pit`], or of rows left out from
/// [`Posterior::loo_pit`](crate::posterior::Posterior::loo_pit).
///
/// The transform of an observed y is its position among the posterior predictive draws
/// x_1, ..., x_S,
///
/// ```text
/// u = (#{x_s < y} + v (#{x_s = y} + 1)) / (S + 1),        v ~ U(0, 1)
/// ```
///
/// If y comes from the distribution of the draws, u is exactly uniform, for any S; as S grows it is
/// F(y) for a continuous response, and for a discrete one the randomised F(y - 1) + v (F(y) - F(y -
/// 1)) of Czado, Gneiting and Held (2009, doi:10.1111/j.1541-0420.2009.01191.x). Values that crowd
/// at both ends show predictive distributions too narrow; in the middle, too wide; at one end, a
/// bias. Every row has one value, and counts once in the distance and in the histogram, whatever its
/// [weight](crate::data::Dataset::with_weights).
#[derive(Clone, Debug, PartialEq)]
pub struct Pit {
    /// The transform u of each row and column, between 0 and 1; NaN where a draw is NaN.
    pub values: Array2<f64>,
}

impl Pit {
    /// Kolmogorov's distance from the uniform distribution: sup_u |F_n(u) - u|, from 0 to 1; NaN if
    /// a value is NaN.
    ///
    /// n independent uniform values exceed 1.36 / sqrt(n) in 5 % of cases. Rows that share their
    /// draws of q are not quite independent: read it as a size, not as a test.
    pub fn ks_distance(&self) -> f64 {
        let mut sorted: Vec<f64> = self.values.iter().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        if sorted.is_empty() || any_nan(&sorted) {
            return f64::NAN;
        }
        let n = sorted.len() as f64;
        let steps = sorted.iter().enumerate();
        steps.fold(0.0, |d, (i, u)| d.max(u - i as f64 / n).max((i as f64 + 1.0) / n - u))
    }

    /// The number of values in each of `bins` intervals of equal width between 0 and 1; NaN are in
    /// none.
    ///
    /// # Errors
    /// No bins, or more than 10,000.
    pub fn histogram(&self, bins: usize) -> Result<Vec<usize>, Error> {
        check_bins(bins)?;
        let mut counts = vec![0; bins];
        for u in self.values.iter().filter(|u| !u.is_nan()) {
            counts[((u * bins as f64) as usize).min(bins - 1)] += 1;
        }
        Ok(counts)
    }

    /// One line per row and column: `row, column, pit`.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        to_file(path.as_ref(), |file| self.write_csv(file))
    }

    /// Writes the table of [`to_csv`](Self::to_csv) to any writer.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(["row", "column", "pit"])?;
        for ((row, column), u) in self.values.indexed_iter() {
            csv.serialize((row, column, u))?;
        }
        csv.flush()
    }
}

impl Predictions {
    /// The reliability curve of the posterior mean probabilities, and with
    /// [`ece`](Reliability::ece) their expected calibration error.
    ///
    /// # Errors
    /// If there are no draws, the response is not classes, no bins or more than 10,000.
    pub fn reliability(&self, bins: Bins) -> Result<Reliability, Error> {
        let (Bins::EqualWidth(n) | Bins::EqualCount(n)) = bins;
        check_bins(n)?;
        let classes = self.classes()?;
        Ok(reliability(self.posterior_mean()?.view(), classes, self.weights(), bins))
    }

    /// The [probability integral transform](Pit) of the observed responses. The v of its equation are
    /// drawn from `seed`, in order of rows and columns.
    ///
    /// # Errors
    /// If there are no draws, or the response is classes.
    pub fn pit(&self, seed: u64) -> Result<Pit, Error> {
        let (y, _) = (self.numbers()?, self.draws_of_mean()?);
        let cells: Vec<(f64, f64)> = y.iter().copied().zip(uniforms(seed, y.len())).collect();
        let values = map_cells(self.predictive_draws(), &|cell, sorted| {
            if any_nan(sorted) {
                return f64::NAN;
            }
            let (y, v) = cells[cell];
            let (below, up_to) =
                (sorted.partition_point(|x| *x < y), sorted.partition_point(|x| *x <= y));
            (below as f64 + v * (up_to - below + 1) as f64) / (sorted.len() + 1) as f64 //~ pit-ties
        });
        let values = Array2::from_shape_vec(y.dim(), values).expect("one value for each cell");
        Ok(Pit { values })
    }
}

/// The v of [`Pit`] for `n` rows and columns.
pub(super) fn uniforms(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = ChainRng::new(seed, 0).child(u64::from_le_bytes(*b"pit     "));
    (0..n).map(|_| rng.uniform()).collect()
}

pub(super) fn check_bins(bins: usize) -> Result<(), Error> {
    if (1..=MOST_BINS).contains(&bins) {
        Ok(())
    } else {
        Err(Error::argument("bins", bins, format!("1 to {MOST_BINS}")))
    }
}

/// Sums over the rows of a bin.
#[derive(Clone, Default)]
struct Sums {
    rows: usize,
    weight: f64,
    confidence: f64,
    hits: f64,
}

impl Sums {
    fn add(&mut self, (confidence, hit, w): (f64, bool, f64)) {
        self.rows += 1;
        self.weight += w;
        self.confidence += w * confidence;
        self.hits += if hit { w } else { 0.0 };
    }

    fn between(&self, lower: f64, upper: f64) -> ReliabilityBin {
        let (rows, weight) = (self.rows, self.weight);
        let (confidence, accuracy) = (self.confidence / weight, self.hits / weight);
        ReliabilityBin { lower, upper, rows, weight, confidence, accuracy }
    }
}

/// The reliability curve of probabilities `[row, class]`, or of one column for the second class.
pub(super) fn reliability(
    probabilities: ArrayView2<f64>,
    classes: &[usize],
    weights: Option<ArrayView1<f64>>,
    bins: Bins,
) -> Reliability {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let rows = probabilities.rows().into_iter().zip(classes).enumerate();
    let rows = rows.map(|(i, (p, observed))| {
        let (class, confidence) = top_class(p);
        (confidence, class == *observed, weight(i))
    });
    // Rows of weight 0 are in no bin.
    let rows = rows.filter(|(_, _, w)| *w > 0.0);
    let bins = match bins {
        Bins::EqualWidth(n) => equal_width(rows, n),
        Bins::EqualCount(n) => equal_count(rows.collect(), n),
    };
    Reliability { bins }
}

fn equal_width(rows: impl Iterator<Item = (f64, bool, f64)>, n: usize) -> Vec<ReliabilityBin> {
    let mut sums = vec![Sums::default(); n];
    rows.for_each(|row| sums[((row.0 * n as f64).ceil() as usize).clamp(1, n) - 1].add(row));
    let edge = |b: usize| b as f64 / n as f64;
    let filled = sums.iter().enumerate().filter(|(_, s)| s.rows > 0);
    filled.map(|(b, s)| s.between(edge(b), edge(b + 1))).collect()
}

fn equal_count(mut rows: Vec<(f64, bool, f64)>, n: usize) -> Vec<ReliabilityBin> {
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut bins, mut start) = (Vec::new(), 0);
    for b in 1..=n {
        let mut end = (b * rows.len() / n).max(start);
        while end > start && end < rows.len() && rows[end].0 == rows[end - 1].0 {
            end += 1;
        }
        if end > start {
            let mut sums = Sums::default();
            rows[start..end].iter().for_each(|row| sums.add(*row));
            bins.push(sums.between(rows[start].0, rows[end - 1].0));
            start = end;
        }
    }
    bins
}

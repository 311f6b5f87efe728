//! Classes: the confusion matrix and the Brier score.

use std::fmt;

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::predictions::Predictions;
use crate::Error;
use crate::data::mean_by;

/// The confusion matrix: how often each class was predicted for each class that was observed. From
/// [`Predictions::confusion`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfusionMatrix {
    /// The number of rows of data, `[observed class, predicted class]`.
    /// Rows count once, whatever their [weight](crate::data::Dataset::with_weights): the `accuracy` of
    /// [scores](Predictions::scores) is weighted.
    pub counts: Array2<usize>,
    /// The names of the classes.
    pub names: Vec<String>,
}

impl ConfusionMatrix {
    /// The share of rows whose predicted class is the observed one.
    pub fn accuracy(&self) -> f64 {
        self.counts.diag().sum() as f64 / self.counts.sum() as f64
    }

    /// The share of each observed class's rows that are predicted as that class; NaN if there are
    /// no such rows.
    pub fn recall(&self) -> Vec<f64> {
        self.shares(self.counts.rows())
    }

    /// The share of each predicted class's rows that are observed as that class; NaN if there are
    /// no such rows.
    pub fn precision(&self) -> Vec<f64> {
        self.shares(self.counts.columns())
    }

    fn shares<'a>(&self, lanes: impl IntoIterator<Item = ArrayView1<'a, usize>>) -> Vec<f64> {
        let hits = self.counts.diag();
        lanes.into_iter().zip(hits).map(|(lane, hits)| *hits as f64 / lane.sum() as f64).collect()
    }
}

/// A table: one line for each observed class, one column for each predicted one.
impl fmt::Display for ConfusionMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let corner = "observed \\ predicted";
        let length = |name: &String| name.chars().count();
        let first = self.names.iter().map(length).max().unwrap_or(0).max(corner.len());
        let digits = self.counts.iter().max().map_or(1, |c| c.to_string().len());
        write!(f, "{corner:first$}")?;
        for name in &self.names {
            write!(f, " {name:>digits$}")?;
        }
        for (name, counts) in self.names.iter().zip(self.counts.rows()) {
            write!(f, "\n{name:first$}")?;
            for (count, column) in counts.iter().zip(&self.names) {
                write!(f, " {count:>0$}", length(column).max(digits))?;
            }
        }
        writeln!(f)
    }
}

impl Predictions {
    /// The confusion matrix of the most probable classes by the posterior mean; ties go to the
    /// first class.
    ///
    /// # Errors
    /// If there are no draws, or the response is not classes.
    pub fn confusion(&self) -> Result<ConfusionMatrix, Error> {
        let index = self.classes()?;
        let names = self.response.class_names().unwrap_or_default();
        let mut counts = Array2::zeros((names.len(), names.len()));
        for (p, observed) in self.posterior_mean()?.rows().into_iter().zip(index) {
            counts[(*observed, top_class(p).0)] += 1;
        }
        Ok(ConfusionMatrix { counts, names: names.to_vec() })
    }

    /// The Brier score of the posterior mean probabilities, summed over all classes: from 0 (best) to
    /// 2, also for two classes.
    ///
    /// With p_ik the probability of class k in row i, and y_i its observed class,
    ///
    /// ```text
    /// Brier score = 1/n sum_i sum_k (p_ik - 1[y_i = k])^2
    /// ```
    ///
    /// (Brier 1950, doi:10.1175/1520-0493(1950)078%3C0001:VOFEIT%3E2.0.CO;2). It is a proper score: in
    /// expectation only the true probabilities are best. A model of two classes has one column, the
    /// probability of the second class, or two columns: that makes no difference to any score.
    ///
    /// # Errors
    /// If there are no draws, or the response is not classes.
    pub fn brier(&self) -> Result<f64, Error> {
        let classes = self.classes()?;
        Ok(brier(self.posterior_mean()?.view(), classes, self.weights()))
    }

    /// The Brier score of two classes in its binary form, 1/n sum_i (p_i - y_i)^2 with p_i the
    /// probability of the second class: from 0 (best) to 1, half of [`brier`](Self::brier).
    ///
    /// # Errors
    /// The errors of [`brier`](Self::brier); also if there are more than two classes.
    pub fn brier_binary(&self) -> Result<f64, Error> {
        match self.response.width() {
            k if k > 2 && self.classes().is_ok() => {
                Err(Error::shape("classes for the binary Brier score", k, 2))
            }
            _ => Ok(0.5 * self.brier()?),
        }
    }
}

/// The Brier score of probabilities `[row, class]`, or of one column for the second of two classes.
pub(super) fn brier(
    probabilities: ArrayView2<f64>,
    classes: &[usize],
    weights: Option<ArrayView1<f64>>,
) -> f64 {
    let of_row = |(p, class): (ArrayView1<f64>, &usize)| -> f64 {
        if p.len() == 1 {
            return 2.0 * (p[0] - *class as f64).powi(2);
        }
        p.iter().enumerate().map(|(k, p)| (p - f64::from(u8::from(k == *class))).powi(2)).sum()
    };
    let rows = classes.iter().enumerate().map(|(i, class)| (probabilities.row(i), class));
    mean_by(weights, rows.map(of_row))
}

/// The share of rows whose most probable class is the observed one; NaN if a probability is.
pub(super) fn accuracy(
    probabilities: ArrayView2<f64>,
    classes: &[usize],
    weights: Option<ArrayView1<f64>>,
) -> f64 {
    if probabilities.iter().any(|p| p.is_nan()) {
        return f64::NAN;
    }
    let is_hit = |(i, class): (usize, &usize)| top_class(probabilities.row(i)).0 == *class;
    mean_by(weights, classes.iter().enumerate().map(|row| f64::from(u8::from(is_hit(row)))))
}

/// The most probable class of a row and its probability; ties go to the first class.
pub(super) fn top_class(p: ArrayView1<f64>) -> (usize, f64) {
    match p.len() {
        1 if p[0] > 0.5 => (1, p[0]),
        1 => (0, 1.0 - p[0]),
        _ => {
            let best = (0..p.len()).fold(0, |best, k| if p[k] > p[best] { k } else { best });
            (best, p[best])
        }
    }
}

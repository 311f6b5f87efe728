//! The kinds of a response: all that a fit does in another way for each, a file each.
//!
//! A [`Noise`] has a name and a [`Kind`], which says what it does: `Noise::kind` and [`of`] choose it by the name of the
//! noise and by the task, and nothing else in `fit` matches on these.

mod classes;
mod counts;
mod noise;
mod ordered;
mod real;
mod shares;
mod times;

use ndarray::{ArrayView1, ArrayView2};

pub use self::noise::Noise;
use super::choices::{Candidate, WeightPrior};
use super::{AnyLikelihood, Origin};
use crate::Error;
use crate::data::{Dataset, Split, Task, Transform};
use crate::prior::Priors;

/// A kind of response with its noise. Methods that have a body are what most kinds do.
pub(in crate::fit) trait Kind {
    /// The likelihood of training rows, and the number of outputs of the network: of means, if the noise is by row.
    fn likelihood(&self, train: &Dataset) -> Result<(AnyLikelihood, usize), Error>;

    /// The priors, with those of the likelihood's own parameters.
    fn with_own(&self, priors: Priors, _train: &Dataset) -> Result<Priors, Error> {
        Ok(priors)
    }

    /// The distribution of an observation, and the priors of its parameters.
    fn in_words(&self) -> String;

    /// An error if the response, whose rows are of `origin`, cannot be learnt from.
    fn check(&self, _data: &Dataset, _origin: &Origin, _after: Transform) -> Result<(), Error> {
        Ok(())
    }

    /// Mean and standard deviation of the prior of the output's bias, where they differ from other biases'. The last
    /// feature may be an offset.
    fn bias(&self, _train: &Dataset, _has_offset: bool) -> Option<(f64, f64)> {
        None
    }

    /// The mean and the variance of this prior.
    fn bias_in_words(&self) -> Option<(&'static str, String)> {
        None
    }

    /// The units of the hidden layers of a network, unless they are given.
    fn hidden(&self) -> &'static [usize] {
        &[40]
    }

    /// Whether the response is standardised, as the features are.
    fn is_scaled(&self) -> bool {
        false
    }

    /// Whether means of the response are exponentials of what is learnt.
    fn has_log_link(&self) -> bool {
        false
    }

    /// Whether the noise has heavy tails.
    fn has_tails(&self) -> bool {
        false
    }

    /// Whether the noise has a model of its own.
    fn is_by_row(&self) -> bool {
        false
    }

    /// Whether the output weights of the mean can be integrated out, for so many columns of a response.
    fn can_collapse(&self, _columns: usize, _is_weighted: bool) -> bool {
        false
    }

    /// The prior scale of the outputs.
    fn output_scale(&self) -> f64 {
        1.0
    }

    /// The prior of the weights of a linear candidate.
    fn prior_of_linear(&self) -> WeightPrior {
        WeightPrior::Scales //~ scale-of-linear
    }

    /// The models that a search compares for a response of so many columns, from the simplest one on.
    fn candidates(&self, _columns: usize) -> &'static [Variant] {
        &[
            (Candidate::Linear, None, Transform::None),
            (Candidate::LinearTransformed, None, Transform::None),
            (Candidate::Additive, None, Transform::None),
            (Candidate::Network, None, Transform::None),
            (Candidate::NetworkCurves, None, Transform::None),
        ]
    }

    /// The log densities of the test rows of a fold by a model without features of the other rows.
    fn intercept_only(&self, _data: &Dataset, _fold: &Split) -> Option<Vec<f64>> {
        None
    }
}

/// A candidate with its noise, `None` for the usual one of the task, and its transform of the response.
pub(in crate::fit) type Variant = (Candidate, Option<Noise>, Transform);

/// The kind of a response with this noise, or with the usual one of the task.
pub(in crate::fit) fn of(task: Task, noise: Option<Noise>) -> &'static dyn Kind {
    noise.or(Noise::default_of(task)).map_or(&classes::Classes, |noise| noise.kind().1)
}

/// A normal prior in words.
fn normal(what: &str, (mean, sd): (f64, f64)) -> String {
    format!("{what} ~ N({mean}, {sd}^2)")
}

/// The sum of all values of rows, each as many times as the weight of its row says.
fn summed(values: ArrayView2<f64>, weights: Option<ArrayView1<f64>>) -> f64 {
    match weights {
        None => values.sum(),
        //~ weighted-centre
        Some(w) => values.rows().into_iter().zip(w).map(|(row, w)| w * row.sum()).sum(),
    }
}

/// How many times a row counts.
fn weight(data: &Dataset, row: usize) -> f64 {
    data.weights().map_or(1.0, |w| w[row])
}

/// The sum of the weights of the training rows of a fold.
fn total(data: &Dataset, fold: &Split) -> f64 {
    fold.train.iter().map(|row| weight(data, *row)).sum()
}

/// Mean and variance of a column of the response in the training rows of a fold.
fn moments(data: &Dataset, fold: &Split, y: ArrayView1<f64>) -> (f64, f64) {
    let (w, total) = (|row| weight(data, row), total(data, fold));
    let mean = fold.train.iter().map(|&row| w(row) * y[row]).sum::<f64>() / total;
    let squares = fold.train.iter().map(|&row| w(row) * (y[row] - mean).powi(2));
    (mean, squares.sum::<f64>() / total)
}

//! What a model says of its columns: effects with their uncertainty, and which columns matter.
//!
//! Draws q_s of a posterior give functions f_s(x) = E[y | x, q_s], one for each draw; of classes f is a probability.
//! Everything here is computed for each of these functions, and **its spread over draws is the uncertainty of the
//! effect**. x_j is a column of the table: all features that a column of labels or dates has become change together, to
//! another label or another time.
//!
//! | question | answer |
//! | --- | --- |
//! | how does the prediction of average rows change with this column? | [`partial_dependence`](Explainer::partial_dependence), with the curve of each row |
//! | the same where columns go together | [`accumulated_local_effect`](Explainer::accumulated_local_effect) |
//! | how do two columns act together? | [`partial_dependence_pair`](Explainer::partial_dependence_pair), [`accumulated_local_effect_pair`](Explainer::accumulated_local_effect_pair) |
//! | what is the difference between 10 and 20 units of a column? | [`contrast`](Explainer::contrast) |
//! | which columns do predictions need? | [`importance`](Explainer::importance) |
//! | which columns does the function vary with, alone and together with others? | [`sobol`](Explainer::sobol) |
//!
//! **Partial dependence** is the average over rows i = 1 .. n, whose other columns stay as they are,
//!
//! ```text
//! PD_s(v) = 1/n sum_i f_s(v, x_i,-j)
//! ```
//!
//! (Friedman 2001, <https://doi.org/10.1214/aos/1013203451>), and each term is the individual curve of a row, its individual conditional expectation or ICE (Goldstein,
//! Kapelner, Bleich and Pitkin 2015, <https://doi.org/10.1080/10618600.2014.907095>). Where x_j goes together with another column,
//! most of the points (v, x_i,-j) are unlike any row, and f_s is there what the prior makes of it.
//!
//! **Accumulated local effects** ask for changes of f_s close to the rows only (Apley and Zhu 2020,
//! <https://doi.org/10.1111/rssb.12377>). With z_0 < ... < z_K quantiles of x_j, and n_k rows N_k in (z_k-1, z_k],
//!
//! ```text
//! d_s,k  = 1/n_k sum_(i in N_k) f_s(z_k, x_i,-j) - f_s(z_k-1, x_i,-j)
//! ALE_s(z_k) = sum_(l <= k) d_s,l - c_s,      sum_k n_k (ALE_s(z_k-1) + ALE_s(z_k)) / 2 = 0
//! ```
//!
//! Of a linear model both are lines of slope beta_j.
//!
//! **Importance** of a column, permutation importance, is the log predictive density that is lost when its cells are exchanged between rows (Breiman
//! 2001, <https://doi.org/10.1023/A:1010933404324>; Fisher, Rudin and Dominici 2019, <https://arxiv.org/abs/1801.01489>). **A column
//! that is replaced by another one, with which it goes together, seems unimportant, and a model that is asked about rows that
//! cannot be has to guess**: importance is what this model uses, not what the world is made of.
//!
//! **Sobol indices** are shares of the variance of f_s, of columns that are drawn independently of each other from the
//! rows: S_j the share that x_j has alone, and T_j the share that it has a part in, which is larger where it interacts.
//!
//! ```text
//! S_j = Var(E[f | x_j]) / Var(f),     T_j = E[Var(f | x_-j)] / Var(f)
//! ```
//!
//! ```
//! use bnn_mcmc::prelude::*;
//!
//! // y = 2 a - b + N(0, 0.1^2), and a column that does not matter.
//! let mut rng = ChainRng::new(1, 0);
//! let x = ndarray::Array2::from_shape_simple_fn((100, 3), || rng.normal());
//! let y = ndarray::Array1::from_shape_fn(100, |i| 2.0 * x[(i, 0)] - x[(i, 1)] + 0.1 * rng.normal());
//! let data = Dataset::regression(x, y)?.with_feature_names(["a", "b", "c"])?;
//! let fit = Fit::regression("y").hidden(&[]).chains(2).fit(&data)?;
//!
//! let explainer = fit.explain()?;
//! let contrast = explainer.contrast("a", 1.0, 2.0)?;
//! println!("{contrast}"); // a from 1 to 2: y1 2.01 [1.99, 2.02]
//! assert!((contrast.mean()[0] - 2.0).abs() < 0.1);
//! let importance = explainer.importance(5, 1)?;
//! assert!(importance[0].loss > importance[1].loss && importance[1].loss > importance[2].loss);
//! assert!(importance[2].interval(0.9)?.contains(&0.0));
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

mod accumulated;
mod dependence;
mod effect;
mod importance;
mod points;
mod sobol;

use ndarray::{Array2, Array3, ArrayView3, Axis};

pub use self::effect::{Contrast, Effect, PairEffect, Points};
pub use self::importance::Importance;
pub(crate) use self::importance::Scored;
pub use self::sobol::Sobol;
use crate::Error;
use crate::data::{Dataset, TableColumn};
use crate::draws::Draws;
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::posterior::Posterior;
use crate::predict::Predictions;

/// The most rows that partial dependence and importance are averaged over.
const FEW_ROWS: usize = 300;

/// Predictions of rows, in the units of effects.
type Predict<'a> = dyn Fn(&Dataset) -> Result<Predictions, Error> + Send + Sync + 'a;

/// Predictions of any rows, and the rows over which effects are averaged. See the [module](self).
///
/// It comes from [`Fit::explain`](crate::fit::Fit::explain), in the units of the table, or from
/// [`Posterior::explain`], in the posterior's own. Rows with [weights](Dataset::with_weights) count by them; rows of weight 0 are left out.
///
/// Partial dependence and importance take at most 300 of the rows, evenly spaced, accumulated local effects and Sobol
/// indices all of them. Time: a prediction of these rows by all draws for each point, of which there are at most 20 (of two columns 10
/// of each, of labels 20); two for accumulated local effects. Of more than 20 labels the most frequent ones are taken.
pub struct Explainer<'a> {
    predict: Box<Predict<'a>>,
    rows: Dataset,
    columns: Vec<TableColumn>,
    scored: Scored,
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Effects of the features of this posterior, averaged over `rows`, which it has learnt from. Each feature is a column
    /// of its own.
    ///
    /// # Errors
    /// Rows of other features or another response.
    pub fn explain<'a>(&'a self, draws: &'a Draws, rows: &Dataset) -> Result<Explainer<'a>, Error> {
        let columns = TableColumn::of_features(rows.feature_names());
        let scored = match draws.info().approximation {
            None => Scored::LeftOut,
            Some(_) => Scored::Neither,
        };
        Explainer::new(|rows| self.predict(draws, rows), rows, columns, scored)
    }
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(
        predict: impl Fn(&Dataset) -> Result<Predictions, Error> + Send + Sync + 'a,
        rows: &Dataset,
        columns: Vec<TableColumn>,
        scored: Scored,
    ) -> Result<Self, Error> {
        let rows = rows.counted().into_owned();
        predict(&rows.clone().without_weights().select(&[0])?)?;
        Ok(Self { predict: Box::new(predict), rows, columns, scored })
    }

    /// The columns that effects are of, in the order of their features.
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// The rows over which effects are averaged.
    pub fn rows(&self) -> &Dataset {
        &self.rows
    }

    /// The column of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn column(&self, name: &str) -> Result<&TableColumn, Error> {
        self.columns.iter().find(|column| column.name() == name).ok_or_else(|| Error::UnknownName {
            what: "column".into(),
            name: name.into(),
            known: self.columns.iter().map(ToString::to_string).collect(),
        })
    }

    /// f of each draw for `rows` with features `x`, `[draw, row, output]`, and the names of the outputs. An error if one is not
    /// finite: no average would be.
    fn means(&self, rows: &Dataset, x: Array2<f64>) -> Result<(Array3<f64>, Vec<String>), Error> {
        let predictions = (self.predict)(&rows.clone().with_x(x)?)?;
        let (chains, draws, rows, outputs) = predictions.mean().dim();
        let mean = predictions.mean().to_owned();
        if let Some(f) = mean.iter().find(|f| !f.is_finite()) {
            let allowed = "finite in all rows and by all draws, to be averaged";
            return Err(Error::argument("expected response", f, allowed));
        }
        let flat = mean.into_shape_with_order((chains * draws, rows, outputs));
        Ok((flat.expect("predictions are in standard order"), predictions.column_names()))
    }
}

/// At most so many rows, evenly spaced.
pub(crate) fn evenly(rows: &Dataset, most: usize) -> Result<Dataset, Error> {
    let (n, most) = (rows.rows(), most.min(rows.rows()));
    rows.select(&(0..most).map(|i| i * n / most).collect::<Vec<_>>())
}

/// The weight of each row; 1 if they have none.
fn weights(rows: &Dataset) -> Vec<f64> {
    rows.weights().map_or(vec![1.0; rows.rows()], |weights| weights.to_vec())
}

/// The features of the rows with others in the place of some.
fn with_features(x: &Array2<f64>, column: &TableColumn, value: f64) -> Result<Array2<f64>, Error> {
    let mut x = x.clone();
    for (place, feature) in column.features().zip(column.encode(value)?) {
        x.column_mut(place).fill(feature);
    }
    Ok(x)
}

/// The weighted mean over rows: `[draw, output]` of `[draw, row, output]`.
fn average(f: ArrayView3<f64>, weights: &[f64]) -> Array2<f64> {
    let total: f64 = weights.iter().sum();
    let mut sum = Array2::zeros((f.len_of(Axis(0)), f.len_of(Axis(2))));
    for (row, weight) in f.axis_iter(Axis(1)).zip(weights) {
        sum.scaled_add(*weight / total, &row);
    }
    sum
}

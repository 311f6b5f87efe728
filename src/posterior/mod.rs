//! The posterior: model x likelihood x prior, as a log density.
//!
//! [`Posterior`] implements every trait of [`targets`](crate::targets) for every model, likelihood
//! and prior of the crate. Everything that follows from its draws is a method of it: predictions,
//! leave-one-out, prior draws, uncertainty.

mod collapsed;
mod conditionals;
mod descent;
mod features;
mod kronecker;
mod linearised;
mod log_likelihood;
mod minibatch;
mod new_rows;
mod observed;
mod on_ranks;
mod outputs;
mod second_order;
mod walk;

use features::Features;
pub(crate) use kronecker::KroneckerFactors;
pub use log_likelihood::LogLikelihood;
pub(crate) use minibatch::Gathered;
pub(crate) use new_rows::{check_finite, check_inputs};
pub(crate) use observed::{Observed, unweighted_only, weighted_sum};
pub use on_ranks::OnRanks;
pub use walk::PosteriorWorkspace;

use std::ops::Range;
use std::sync::OnceLock;

use ndarray::ArrayView1;

use crate::Error;
use crate::data::{Dataset, Response, RowFile};
use crate::engine::{LANES, TILE_ROWS, Tiles};
use crate::layout::Layout;
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::prior::{BlockPrior, Priors};
use crate::rng::ChainRng;

/// The posterior of a model's weights and a likelihood's parameters, given data.
///
/// q = (w, phi, s): the model's weights, the likelihood's own parameters, and the parameters of
/// hierarchical priors.
///
/// ```text
/// log p(q | y) = sum_i w_i log p(y_i | f(x_i; w), phi) + log p(q) + constant
/// ```
///
/// where the w_i are the [weights of the rows](Dataset::with_weights), 1 if the data have none.
///
/// The rows are walked in [tiles](crate::engine): forward, likelihood and backward for one tile
/// before the next, so that activations stay in cache and no memory grows with the data. The order
/// of the tiles is fixed: equal q give equal bits. Where rows times weights exceed some three million,
/// the tiles are cut into shares, which idle threads of the rayon pool take in which the evaluation
/// runs, if it runs in one. The shares, and the order in which they are added, do not depend on the
/// number of threads.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// let data = Dataset::regression(
///     ndarray::array![[0.0], [0.5], [1.0]],
///     ndarray::array![[4.1], [5.4], [7.0]],
/// )?;
/// let posterior = Posterior::new(
///     Linear::new(1, 1)?,
///     Gaussian::sampled(),
///     &data,
///     Priors::all(Normal::new(0.0, 5.0)?)
///         .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?),
/// )?;
/// assert_eq!(posterior.layout().parameter_names(), ["w[0,0]", "b[0]", "log_noise_variance"]);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Posterior<M, L> {
    model: M,
    likelihood: L,
    priors: Vec<BlockPrior>,
    layout: Layout,
    n_weights: usize,
    n_phi: usize,
    feature_names: Vec<String>,
    response_names: Vec<String>,
    /// A response of the kind of the training data's, of one row.
    blank: Response,
    /// A checksum of the response as it was given; `None` for a part of its rows.
    response_checksum: Option<u32>,
    x: Features,
    /// The response as the likelihood sees it and, if rows have weights, a column of these.
    y: Tiles,
    is_weighted: bool,
    /// The sum of the weights.
    n_weighted: f64,
    /// The responses in tiles, for descents row by row.
    responses: OnceLock<Tiles>,
    /// The checksum of the data.
    checksum: OnceLock<u32>,
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Puts model, likelihood, data and priors together.
    ///
    /// # Errors
    /// If the data's features do not fit the model's inputs, the response does not fit the
    /// likelihood or the model's outputs, or the priors do not cover every block exactly once.
    pub fn new(model: M, likelihood: L, data: &Dataset, priors: Priors) -> Result<Self, Error> {
        let priors = priors.resolve(&model.layout(), &likelihood.layout())?;
        Self::resolved(model, likelihood, data, priors)
    }

    /// The same of rows in a file, whose features are read as they are needed. The same rows in memory
    /// give equal draws; see [`RowFile`].
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn on_file(model: M, likelihood: L, rows: &RowFile, priors: Priors) -> Result<Self, Error> {
        let priors = priors.resolve(&model.layout(), &likelihood.layout())?;
        let x = |tile_rows| Features::in_file(rows, tile_rows);
        let names = [rows.feature_names(), rows.response_names()];
        Self::put_together(model, likelihood, priors, names, x, (rows.response(), rows.weights()))
    }

    /// The posterior by the same model, likelihood and priors given other rows, such as rows that were simulated: with q
    /// from the prior and y from the model given q, a posterior given y should have q among its draws (Talts and others
    /// 2018, [arXiv:1804.06788](https://arxiv.org/abs/1804.06788)).
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use ndarray::array;
    /// let data = Dataset::regression(array![[0.0], [3.0]], array![1.0, 2.0])?;
    /// let priors = Priors::all(Normal::new(0.0, 2.0)?);
    /// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(1.0)?, &data, priors)?;
    /// let y = posterior.prior_predictive(1, &data, 7)?.predictive_draws().index_axis(ndarray::Axis(0), 0).to_owned();
    /// let simulated = data.with_real_response(y.index_axis(ndarray::Axis(0), 0).to_owned())?;
    /// assert_eq!(posterior.given(&simulated)?.n_obs(), 2);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn given(&self, data: &Dataset) -> Result<Self, Error>
    where
        M: Clone,
        L: Clone,
    {
        let priors = (self.layout.clone(), self.priors.clone());
        Self::resolved(self.model.clone(), self.likelihood.clone(), data, priors)
    }

    fn resolved(
        model: M,
        likelihood: L,
        data: &Dataset,
        priors: (Layout, Vec<BlockPrior>),
    ) -> Result<Self, Error> {
        let x = |tile_rows| Features::InMemory(Tiles::with_rows(data.x().view(), tile_rows));
        let names = [data.feature_names(), data.response_names()];
        Self::put_together(model, likelihood, priors, names, x, (data.response(), data.weights()))
    }

    /// The posterior of features that `x` cuts into tiles of so many rows, with the names of features and responses.
    fn put_together(
        model: M,
        likelihood: L,
        (layout, priors): (Layout, Vec<BlockPrior>),
        [feature_names, response_names]: [&[String]; 2],
        x: impl FnOnce(usize) -> Features,
        (response, weights): (&Response, Option<ArrayView1<f64>>),
    ) -> Result<Self, Error> {
        check_inputs(&model, feature_names.len())?;
        check_tile_rows(model.tile_rows())?;
        let y = likelihood.encode(response, model.n_outputs())?;
        let y = observed::with_weights(y, weights);
        let x = x(model.tile_rows());
        let n_phi = likelihood.layout().dim();
        Ok(Self {
            priors,
            n_phi,
            n_weights: model.layout().dim(),
            feature_names: feature_names.to_vec(),
            response_names: response_names.to_vec(),
            blank: response.blank(1),
            response_checksum: Some(response.checksum()),
            x,
            y: Tiles::with_rows(y.view(), model.tile_rows()),
            is_weighted: weights.is_some(),
            n_weighted: weights.map_or(response.rows() as f64, |w| w.sum()),
            responses: OnceLock::new(),
            checksum: OnceLock::new(),
            layout,
            model,
            likelihood,
        })
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The likelihood.
    pub fn likelihood(&self) -> &L {
        &self.likelihood
    }

    /// The named blocks of q: the model's, the likelihood's, and the variances of hierarchical priors.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The names of the features, in the order of the training data's columns.
    ///
    /// A [`Dataset`] to predict, or to hold out, must have the same names of features, responses and
    /// classes in the same order: columns in another order would be scored as if nothing were wrong.
    /// Data sets from plain arrays have the names `x1`, `x2`, ... and `y1`, `y2`, ..., by which they
    /// fit each other. [`Dataset::select_features`] and [`Dataset::select_classes`] bring columns
    /// and classes into another order, [`Dataset::with_feature_names`] renames. Where plain arrays
    /// are asked for, as in [`predict_mean`](Self::predict_mean), their columns are taken to be in
    /// this order.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use ndarray::{Array3, array};
    /// let table = |x, names: [&str; 2]| {
    ///     Dataset::regression(x, array![1.0, 2.0])?.with_feature_names(names)
    /// };
    /// let train = table(array![[1.0, 20.0], [2.0, 30.0]], ["length", "width"])?;
    /// let priors = Priors::all(Normal::new(0.0, 1.0)?);
    /// let posterior = Posterior::new(Linear::new(2, 1)?, Gaussian::fixed(1.0)?, &train, priors)?;
    /// let draws = Draws::new(posterior.layout().clone(), Array3::ones((1, 1, 3)))?;
    ///
    /// let test = table(array![[20.0, 1.0], [30.0, 2.0]], ["width", "length"])?;
    /// let error = posterior.predict(&draws, &test).unwrap_err().to_string();
    /// assert!(error.contains("`features of the data, column 1` is `width`, but must be `length`"), "{error}");
    /// assert!(posterior.predict(&draws, &test.select_features(posterior.feature_names())?).is_ok());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// The names of the outputs or categories of the training data, or the single name of its class
    /// column.
    pub fn response_names(&self) -> &[String] {
        &self.response_names
    }

    /// The names of the classes, if the response is a class.
    pub fn class_names(&self) -> Option<&[String]> {
        self.blank.class_names()
    }

    /// The priors of all blocks.
    pub(crate) fn priors(&self) -> &[BlockPrior] {
        &self.priors
    }

    /// A checksum of the response, if it is the one that was given.
    pub(crate) fn response_checksum(&self) -> Option<u32> {
        self.response_checksum
    }

    /// x, and y as the likelihood sees it, of some rows.
    pub(crate) fn rows_in_tiles(&self, rows: Range<usize>) -> (Tiles, Tiles) {
        let rows: Vec<usize> = rows.collect();
        let y = self.y.select(&rows);
        (self.x.select(&rows), if self.is_weighted { self.without_weights(&y) } else { y })
    }

    /// The number of rows of the data.
    pub fn n_obs(&self) -> usize {
        self.x.rows()
    }

    /// The posterior given only these rows.
    pub(crate) fn subset(&self, rows: &[usize]) -> Self
    where
        M: Clone,
        L: Clone,
    {
        Self {
            model: self.model.clone(),
            likelihood: self.likelihood.clone(),
            priors: self.priors.clone(),
            layout: self.layout.clone(),
            n_weights: self.n_weights,
            n_phi: self.n_phi,
            feature_names: self.feature_names.clone(),
            response_names: self.response_names.clone(),
            blank: self.blank.clone(),
            response_checksum: None,
            x: Features::InMemory(self.x.select(rows)),
            y: self.y.select(rows),
            is_weighted: self.is_weighted,
            n_weighted: self.weights_of(rows).map_or(rows.len() as f64, |w| w.iter().sum()),
            responses: OnceLock::new(),
            checksum: OnceLock::new(),
        }
    }

    /// Draws q from the prior; an error names the block whose prior is improper.
    pub fn draw_prior(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        if q.len() != self.layout.dim() {
            return Err(Error::shape("length of q", q.len(), self.layout.dim()));
        }
        // Blocks that others depend on come first.
        let of = |generation| self.priors.iter().filter(move |b| b.generation() == generation);
        for block in (0..3).flat_map(of) {
            block.draw(rng, q).map_err(|e| {
                Error::prior(
                    format!("block `{}` cannot be drawn from its prior: {e}", block.name),
                    self.layout.block_names(),
                )
            })?;
        }
        Ok(())
    }
}

/// An error unless tiles can have that many rows.
fn check_tile_rows(rows: usize) -> Result<(), Error> {
    if (LANES..=TILE_ROWS).contains(&rows) && rows.is_multiple_of(LANES) {
        Ok(())
    } else {
        let allowed = format!("a multiple of {LANES}, at most {TILE_ROWS}");
        Err(Error::argument("tile_rows of the model", rows, allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;

    #[test]
    fn heights_of_tiles_are_checked() {
        for rows in [8, 64, 192, 256] {
            assert!(check_tile_rows(rows).is_ok());
        }
        for rows in [0, 12, 264, usize::MAX] {
            let name = "tile_rows of the model";
            fails!(check_tile_rows(rows), Argument { name: name, value: rows });
        }
    }
}

//! Model x likelihood x prior = posterior.
//!
//! q = (w, phi, s): the model's weights, the likelihood's own parameters, and the parameters of
//! hierarchical priors.
//!
//! ```text
//! log p(q | y) = sum_i log p(y_i | f(x_i; w), phi) + log p(q) + constant
//! ```
//!
//! The rows are walked in [tiles](crate::engine): forward, likelihood and backward for one tile
//! before the next, so that activations stay in cache and no memory grows with the data. The
//! order of the tiles is fixed: equal q give equal bits.

mod log_likelihood;

pub use log_likelihood::LogLikelihood;

use std::collections::HashSet;
use std::iter::once;

use ndarray::{Array2, ArrayView2};

use crate::Error;
use crate::data::Dataset;
use crate::engine::{TILE_ROWS, Tile, TileMut, TileStorage, Tiles, padded, tiles};
use crate::layout::Layout;
use crate::likelihood::{Gaussian, Likelihood, SecondOrderLikelihood};
use crate::model::{Model, SecondOrderModel};
use crate::prior::{BlockPrior, Family, Priors};
use crate::rng::ChainRng;
use crate::targets::{
    BoxSupport, Curvature, Descent, DescentRule, FisherTarget, GaussianReference, GradTarget,
    HessTarget, LogDensity, MinibatchTarget, NoiseConditional, NoiseParameters, Objective, Pass,
    PowerGradTarget, PowerTarget, Target,
};

/// The posterior of a model's weights and a likelihood's parameters, given data.
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
    class_names: Option<Vec<String>>,
    x: Tiles,
    y: Tiles,
}

/// Scratch memory of one chain on a [`Posterior`].
#[derive(Debug)]
pub struct PosteriorWorkspace<W> {
    model: W,
    out: TileStorage,
    d_out: TileStorage,
    /// Parts of the same, where the model asks for taller tiles than likelihoods take; else empty.
    part: TileStorage,
    d_part: TileStorage,
    /// The derivative with respect to phi.
    grad_phi: Vec<f64>,
    descent: Option<DescentScratch>,
    second: Option<SecondOrderScratch>,
    minibatch: Option<Gathered>,
}

/// Rows of a minibatch, as tiles; allocated at its first use.
#[derive(Debug)]
struct Gathered {
    x: TileStorage,
    y: TileStorage,
}

/// Scratch memory of second derivatives, allocated at their first use.
#[derive(Debug)]
struct SecondOrderScratch {
    /// E[y | f], of one tile; directions of f, and derivatives of d_out along them.
    mean: TileStorage,
    r_out: TileStorage,
    r_d_out: TileStorage,
    /// A direction, and a product with it.
    v: Vec<f64>,
    hv: Vec<f64>,
}

/// Scratch memory of gradient descent, allocated at its first use.
#[derive(Debug)]
struct DescentScratch {
    direction: Vec<f64>,
    /// The gradient of the log prior; stays zero where it is no part of the objective.
    prior: Vec<f64>,
    /// One row of inputs and of the response, as tiles.
    x: TileStorage,
    y: TileStorage,
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Puts model, likelihood, data and priors together.
    ///
    /// Errors: the data's features do not fit the model's inputs, the response does not fit the
    /// likelihood or the model's outputs, or the priors do not cover every block exactly once.
    pub fn new(model: M, likelihood: L, data: &Dataset, priors: Priors) -> Result<Self, Error> {
        check_inputs(&model, data.n_features())?;
        let y = likelihood.encode(data.response(), model.n_outputs())?;
        let layout = model.layout().then(&likelihood.layout());
        let n_phi = likelihood.layout().dim();
        let (layout, priors) = priors.resolve(&layout)?;
        Ok(Self {
            priors,
            n_phi,
            n_weights: model.layout().dim(),
            feature_names: data.feature_names().to_vec(),
            response_names: data.response_names().to_vec(),
            class_names: data.response().class_names().map(<[String]>::to_vec),
            x: Tiles::with_rows(data.x().view(), model.tile_rows()),
            y: Tiles::new(y.view()),
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

    /// The named blocks of q: the model's, the likelihood's, those of hierarchical priors.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The names of the features, in the order of the training data's columns.
    ///
    /// A [`Dataset`] to predict, or to hold out, must have the same names in the same order, and so must
    /// those of its response and its classes: columns in another order would be scored as if nothing
    /// were wrong. Data sets from plain arrays have the names `x1`, `x2`, ... and `y1`, `y2`, ..., by
    /// which they fit each other. [`Dataset::select_features`] and [`Dataset::select_classes`] bring
    /// columns and classes into another order, [`Dataset::with_feature_names`] renames. Where plain
    /// arrays are asked for, as in [`predict_mean`](Self::predict_mean), their columns are taken to be
    /// in this order.
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
        self.class_names.as_deref()
    }

    /// The number of rows of the data.
    pub fn n_obs(&self) -> usize {
        self.x.rows()
    }

    /// Draws q from the prior; an error names the block whose prior is improper.
    pub fn draw_prior(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        if q.len() != self.layout.dim() {
            return Err(Error::shape("length of q", q.len(), self.layout.dim()));
        }
        // Blocks that others depend on come first.
        let with_parent =
            |wanted| self.priors.iter().filter(move |b| b.parent().is_some() == wanted);
        for block in with_parent(false).chain(with_parent(true)) {
            block.draw(rng, q).map_err(|e| Error::Prior {
                problem: format!("block `{}` cannot be drawn from its prior: {e}", block.name),
                known: self.layout.block_names(),
            })?;
        }
        Ok(())
    }

    /// The response of other rows in columns, if their features, classes and responses are those of
    /// the training data.
    pub(crate) fn encoded(&self, data: &Dataset) -> Result<Array2<f64>, Error> {
        check_inputs(&self.model, data.n_features())?;
        let renamed = |what: &str, rename: &str| {
            format!("if it is the same {what} under another name, rename it by `{rename}`")
        };
        check_same_names(
            "features of the data, column",
            data.feature_names(),
            &self.feature_names,
            "`Dataset::select_features(posterior.feature_names())` does so",
            &renamed("column", "Dataset::with_feature_names"),
        )?;
        if let (Some(known), Some(found)) = (&self.class_names, data.response().class_names()) {
            let order = "`Dataset::select_classes` does so, and so does the `Schema` of the training \
                         data when a file is read";
            let other =
                "read the file by the `Schema` of the training data, which knows its classes";
            check_same_names("classes of the data, name", found, known, order, other)?;
        }
        let y = self.likelihood.encode(data.response(), self.model.n_outputs())?;
        check_same_names(
            "response of the data, column",
            data.response_names(),
            &self.response_names,
            "build the data set anew",
            &renamed("response", "Dataset::with_response_names"),
        )?;
        Ok(y)
    }

    /// w and phi.
    fn split<'q>(&self, q: &'q [f64]) -> (&'q [f64], &'q [f64]) {
        let (w, rest) = q.split_at(self.n_weights);
        (w, &rest[..self.n_phi])
    }

    /// Overwrites `grad` with the gradient of the log prior, and returns the log prior.
    fn prior_grad(&self, q: &[f64], grad: &mut [f64]) -> f64 {
        grad.fill(0.0);
        self.priors.iter().map(|block| block.add_grad(q, grad)).sum()
    }

    /// Adds `factor` times the gradient of the log likelihood of one tile of x, and as many rows of `y`, to
    /// `grad`, and returns the log likelihood.
    #[inline]
    fn add_log_lik_grad<'y>(
        &self,
        factor: f64,
        x: Tile,
        y: &mut impl Iterator<Item = Tile<'y>>,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> f64 {
        let (w, phi) = self.split(q);
        let (grad_w, rest) = grad.split_at_mut(self.n_weights);
        let mut likelihood = 0.0;
        let mut grad_phi = std::mem::take(&mut ws.grad_phi);
        grad_phi.fill(0.0);
        self.propagate(x, y, w, grad_w, ws, |f, y, mut d_out| {
            likelihood += self.likelihood.log_lik_grad(phi, f, y, d_out.reborrow(), &mut grad_phi);
            // Here, and not in the gradient, which may have millions of coordinates.
            if factor != 1.0 {
                d_out.values().iter_mut().for_each(|d| *d *= factor);
            }
        });
        rest.iter_mut().zip(&grad_phi).for_each(|(g, phi)| *g += factor * phi);
        ws.grad_phi = grad_phi;
        likelihood
    }

    /// Forward, `derivative(f, y, d_out)` and backward, for one tile of x and as many rows of `y`. The
    /// tiles that `derivative` sees have up to [`TILE_ROWS`] rows; it writes `d_out`.
    #[inline]
    fn propagate<'y>(
        &self,
        x: Tile,
        y: &mut impl Iterator<Item = Tile<'y>>,
        w: &[f64],
        grad_w: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
        mut derivative: impl FnMut(Tile, Tile, TileMut),
    ) {
        let PosteriorWorkspace { model, out, d_out, part, d_part, .. } = ws;
        let (rows, len) = (x.rows(), x.stride() * self.model.n_outputs());
        let mut out = TileMut::new(&mut out[..len], rows);
        let mut d_out = TileMut::new(&mut d_out[..len], rows);
        self.model.forward(w, x, out.reborrow(), model);
        if rows <= TILE_ROWS {
            let y = y.next().expect("a tile of y for every tile of x");
            derivative(out.as_tile(), y, d_out.reborrow());
        } else {
            for ((first, rows), y) in x.parts().zip(y) {
                let len = padded(rows) * self.model.n_outputs();
                let mut part = TileMut::new(&mut part[..len], rows);
                let mut d_part = TileMut::new(&mut d_part[..len], rows);
                part.take_part(first, out.as_tile());
                derivative(part.as_tile(), y, d_part.reborrow());
                d_out.put_part(first, d_part.as_tile());
            }
        }
        d_out.clear_padding();
        self.model.backward(w, x, d_out.as_tile(), grad_w, model);
    }

    /// Adds `factor` times the gradient of the log likelihood of all rows to `grad`, and returns the log
    /// likelihood.
    fn add_full_grad(
        &self,
        factor: f64,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> f64 {
        let (mut likelihood, mut y) = (0.0, self.y.iter());
        for x in self.x.iter() {
            likelihood += self.add_log_lik_grad(factor, x, &mut y, q, grad, ws);
        }
        likelihood
    }

    /// As [`add_full_grad`](Self::add_full_grad), of N/|b| sum_b ell_i, b being `rows`, at `K` positions.
    /// Each row is fetched once.
    fn add_minibatch_grads<const K: usize>(
        &self,
        factor: f64,
        rows: &[usize],
        q: [&[f64]; K],
        grad: &mut [&mut [f64]; K],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> [f64; K] {
        let weight = self.x.rows() as f64 / rows.len() as f64;
        let (tile_rows, columns) = (self.model.tile_rows(), self.y.columns());
        let mut gathered = ws.minibatch.take().unwrap_or_else(|| Gathered {
            x: TileStorage::zeros(tile_rows * self.x.columns()),
            y: TileStorage::zeros(tile_rows * columns),
        });
        let mut likelihood = [0.0; K];
        for rows in rows.chunks(tile_rows) {
            let x = self.x.gather(rows, &mut gathered.x);
            for (part, rows) in rows.chunks(TILE_ROWS).enumerate() {
                self.y.gather(rows, &mut gathered.y[part * TILE_ROWS * columns..]);
            }
            for k in 0..K {
                let mut y = tiles(&gathered.y, rows.len(), columns, TILE_ROWS);
                let factor = factor * weight;
                likelihood[k] += self.add_log_lik_grad(factor, x, &mut y, q[k], grad[k], ws);
            }
        }
        ws.minibatch = Some(gathered);
        likelihood.map(|likelihood| weight * likelihood)
    }

    /// The estimates by `rows` at `K` positions, with the gradients of the tempered ones.
    fn minibatch_grads_at<const K: usize>(
        &self,
        beta: f64,
        rows: &[usize],
        q: [&[f64]; K],
        mut grad: [&mut [f64]; K],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> [LogDensity; K] {
        let prior: [f64; K] = std::array::from_fn(|k| self.prior_grad(q[k], grad[k]));
        if prior.iter().all(|prior| *prior == f64::NEG_INFINITY) {
            return [LogDensity::OUTSIDE; K];
        }
        let likelihood = self.add_minibatch_grads(beta, rows, q, &mut grad, ws);
        std::array::from_fn(|k| {
            if beta == 0.0 {
                self.prior_grad(q[k], grad[k]); // alone, also where the likelihood's is not finite
            }
            match prior[k] {
                f64::NEG_INFINITY => LogDensity::OUTSIDE,
                prior => LogDensity::new(likelihood[k], prior),
            }
        })
    }

    /// The log likelihood of the rows of `x` and `y`.
    pub(crate) fn log_lik_of(
        &self,
        q: &[f64],
        x: &Tiles,
        y: &Tiles,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> f64 {
        let (mut likelihood, mut y, mut log_lik) = (0.0, y.iter(), [0.0; TILE_ROWS]);
        self.for_each_output(q, x, ws, |phi, out| {
            let rows = &mut log_lik[..out.rows()];
            let y = y.next().expect("a tile of y for every tile of outputs");
            self.likelihood.log_lik_rows(phi, out, y, rows);
            likelihood += rows.iter().sum::<f64>();
        });
        likelihood
    }

    /// The tiles of `x`, as tall as the model wants them.
    pub(crate) fn tiles_of(&self, x: ArrayView2<f64>) -> Tiles {
        Tiles::with_rows(x, self.model.tile_rows())
    }

    /// Calls `visit(phi, outputs)` for all rows of `x`, in order, in tiles of up to [`TILE_ROWS`].
    pub(crate) fn for_each_output(
        &self,
        q: &[f64],
        x: &Tiles,
        ws: &mut PosteriorWorkspace<M::Workspace>,
        mut visit: impl FnMut(&[f64], TileMut),
    ) {
        let (w, phi) = self.split(q);
        let PosteriorWorkspace { model, out, part, .. } = ws;
        for x in x.iter() {
            let len = x.stride() * self.model.n_outputs();
            let mut out = TileMut::new(&mut out[..len], x.rows());
            self.model.forward(w, x, out.reborrow(), model);
            if x.rows() <= TILE_ROWS {
                visit(phi, out);
                continue;
            }
            for (first, rows) in x.parts() {
                let len = padded(rows) * self.model.n_outputs();
                let mut part = TileMut::new(&mut part[..len], rows);
                part.take_part(first, out.as_tile());
                visit(phi, part);
            }
        }
    }
}

/// Checks that names are those of the training data, in the same order. `what`, followed by a number
/// counted from 1, says of what; `order` says how to bring the
/// same names into that order, `other` what to do about other names.
fn check_same_names(
    what: &str,
    found: &[String],
    expected: &[String],
    order: &str,
    other: &str,
) -> Result<(), Error> {
    let longest = found.len().max(expected.len());
    let Some(i) = (0..longest).find(|&i| found.get(i) != expected.get(i)) else {
        return Ok(());
    };
    let shown = |names: &[String]| names.get(i).map_or("missing".into(), |n| format!("`{n}`"));
    let known: HashSet<&String> = found.iter().collect();
    let is_reordered =
        found.len() == expected.len() && expected.iter().all(|name| known.contains(name));
    let mend = if is_reordered {
        format!("all names are there, in another order: bring them into that one ({order})")
    } else {
        other.to_string()
    };
    let allowed = format!("{}, as in the training data; {mend}", shown(expected));
    Err(Error::Argument { name: format!("{what} {}", i + 1), value: shown(found), allowed })
}

/// Checks that all inputs to predict are finite.
pub(crate) fn check_finite(x: ArrayView2<f64>) -> Result<(), Error> {
    match x.indexed_iter().find(|(_, x)| !x.is_finite()) {
        None => Ok(()),
        Some(((row, column), value)) => Err(Error::Cell {
            table: "inputs".into(),
            row: row + 1,
            column: format!("#{}", column + 1),
            problem: format!("{value} is not a finite number"),
        }),
    }
}

/// Checks that rows of `n_features` numbers can be fed to `model`.
pub(crate) fn check_inputs<M: Model>(model: &M, n_features: usize) -> Result<(), Error> {
    if n_features == model.n_inputs() {
        Ok(())
    } else {
        Err(Error::shape("number of features of the data", n_features, model.n_inputs()))
    }
}

impl<M: Model, L: Likelihood> Target for Posterior<M, L> {
    type Workspace = PosteriorWorkspace<M::Workspace>;

    fn dim(&self) -> usize {
        self.layout.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        let (columns, tile_rows) = (self.model.n_outputs(), self.model.tile_rows());
        let part_columns = if tile_rows > TILE_ROWS { columns } else { 0 };
        PosteriorWorkspace {
            model: self.model.workspace(),
            out: TileStorage::zeros(tile_rows * columns),
            d_out: TileStorage::zeros(tile_rows * columns),
            part: TileStorage::for_columns(part_columns),
            d_part: TileStorage::for_columns(part_columns),
            grad_phi: vec![0.0; self.n_phi],
            descent: None,
            second: None,
            minibatch: None,
        }
    }

    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        let mut prior = 0.0;
        for block in &self.priors {
            prior += block.log_density(q);
        }
        if prior == f64::NEG_INFINITY {
            return LogDensity::OUTSIDE;
        }
        LogDensity::new(self.log_lik_of(q, &self.x, &self.y, ws), prior)
    }

    fn layout(&self) -> Layout {
        self.layout.clone()
    }

    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.draw_prior(rng, q)
    }

    fn data_checksum(&self) -> Option<u32> {
        let mut crc = crc32fast::Hasher::new();
        self.x.add_to(&mut crc);
        self.y.add_to(&mut crc);
        Some(crc.finalize())
    }
}

impl<M: Model, L: Likelihood> GradTarget for Posterior<M, L> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.log_density_grad_at(1.0, q, grad, ws)
    }
}

impl<M: Model, L: Likelihood> PowerTarget for Posterior<M, L> {
    fn draw_reference(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.draw_prior(rng, q)
    }
}

impl<M: Model, L: Likelihood> PowerGradTarget for Posterior<M, L> {
    fn log_density_grad_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let prior = self.prior_grad(q, grad);
        if prior == f64::NEG_INFINITY {
            return LogDensity::OUTSIDE;
        }
        let likelihood = self.add_full_grad(beta, q, grad, ws);
        if beta == 0.0 {
            self.prior_grad(q, grad); // alone, also where the likelihood's is not finite
        }
        LogDensity::new(likelihood, prior)
    }
}

impl<M: Model, L: Likelihood> MinibatchTarget for Posterior<M, L> {
    fn n_obs(&self) -> usize {
        self.x.rows()
    }

    fn minibatch_grad(
        &self,
        rows: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let [estimate] = self.minibatch_grads_at(1.0, rows, [q], [grad], ws);
        estimate
    }

    fn minibatch_grad_pair(
        &self,
        rows: &[usize],
        q: [&[f64]; 2],
        grad: [&mut [f64]; 2],
        ws: &mut Self::Workspace,
    ) -> [LogDensity; 2] {
        self.minibatch_grads_at(1.0, rows, q, grad, ws)
    }
}

impl<M: Model> NoiseConditional for Posterior<M, Gaussian> {
    fn noise_parameters(&self) -> Result<NoiseParameters, Error> {
        let name = "log_noise_variance";
        let coordinate = self.layout.try_range(name)?.start;
        let own = |b: &&BlockPrior| b.name == name && b.parent().is_none();
        let prior = self.priors.iter().find(own).map(|b| b.family(&[]));
        let Some(Family::LogInverseGamma { shape, scale }) = prior else {
            return Err(Error::Prior {
                problem: format!(
                    "the prior of `{name}` must be LogInverseGamma for a Gibbs update"
                ),
                known: self.layout.block_names(),
            });
        };
        let values = (self.y.rows() * self.y.columns()) as f64;
        Ok(NoiseParameters { coordinate, values, shape, scale, beta: 1.0 })
    }

    fn squared_error(&self, q: &[f64], ws: &mut Self::Workspace) -> f64 {
        let mut y = self.y.iter();
        let mut sum = 0.0;
        self.for_each_output(q, &self.x, ws, |_, out| {
            if let Some(y) = y.next() {
                sum += Gaussian::squared_error(out.as_tile(), y);
            }
        });
        sum
    }
}

impl<M: Model, L: Likelihood> GaussianReference for Posterior<M, L> {
    fn gaussian_reference(
        &self,
        moving: &[usize],
        q: &[f64],
        mean: &mut [f64],
        sd: &mut [f64],
        _ws: &mut Self::Workspace,
    ) -> Result<(), Error> {
        // Both the blocks and the moving coordinates are in ascending order.
        let mut rest = 0;
        for block in &self.priors {
            let first = rest;
            while rest < moving.len() && block.range.contains(&moving[rest]) {
                rest += 1;
            }
            if first == rest {
                continue;
            }
            let problem = |problem: &str| Error::Prior {
                problem: format!("the prior of block `{}` {problem}", block.name),
                known: self.layout.block_names(),
            };
            if block.parent().is_some_and(|parent| moving.binary_search(&parent).is_ok()) {
                let what =
                    "depends on another block that moves with it: use OnBlocks on one of them";
                return Err(problem(what));
            }
            let Family::Normal { mean: m, sd: s } = block.family(q) else {
                let what = "is not normal: use OnBlocks on the blocks whose prior is";
                return Err(problem(what));
            };
            mean[first..rest].fill(m);
            sd[first..rest].fill(s);
        }
        Ok(())
    }
}

impl<M: Model, L: Likelihood> BoxSupport for Posterior<M, L> {
    /// Those of [`Uniform`](crate::prior::Uniform) priors, and of a prior of your own whose
    /// [`family`](crate::prior::Prior::family) is uniform; none for all others.
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        for block in &self.priors {
            let (low, high) = block.bounds();
            lower[block.range.clone()].fill(low);
            upper[block.range.clone()].fill(high);
        }
        Ok(())
    }
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Adds the descent direction of one tile of x and as many rows of `y` (minus the objective's
    /// gradient, without the prior's) to `grad`.
    fn add_direction<'y>(
        &self,
        objective: Objective,
        x: Tile,
        y: &mut impl Iterator<Item = Tile<'y>>,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) {
        match objective {
            Objective::SquaredError => {
                let (w, _) = self.split(q);
                let grad_w = &mut grad[..self.n_weights];
                self.propagate(x, y, w, grad_w, ws, |f, y, d_out| {
                    self.likelihood.residuals(f, y, d_out);
                });
            }
            Objective::LogPosterior => {
                self.add_log_lik_grad(1.0, x, y, q, grad, ws);
            }
        }
    }

    /// Moves the weights of `q` along `direction`, plus `share` of the prior's gradient if that
    /// belongs to the objective. `prior` is scratch.
    fn descent_step(
        &self,
        rule: &DescentRule,
        share: f64,
        q: &mut [f64],
        direction: &[f64],
        prior: &mut [f64],
    ) {
        if rule.objective == Objective::LogPosterior {
            self.prior_grad(q, prior);
        }
        let steps = direction.iter().zip(prior).take(self.n_weights);
        for (q, (g, prior)) in q.iter_mut().zip(steps) {
            *q += rule.learning_rate * (g + share * *prior);
        }
    }
}

impl<M: Model, L: Likelihood> Descent for Posterior<M, L> {
    fn check_descent(&self, rule: &DescentRule) -> Result<(), Error> {
        let zeros = vec![0.0; padded(1) * self.model.n_outputs().max(self.y.columns())];
        let mut d_out = zeros.clone();
        let tile = |columns: usize| Tile::new(&zeros[..padded(1) * columns], 1);
        let outputs = self.model.n_outputs();
        let d_out = TileMut::new(&mut d_out[..padded(1) * outputs], 1);
        let is_real = self.likelihood.residuals(tile(outputs), tile(self.y.columns()), d_out);
        if rule.objective == Objective::SquaredError && !is_real {
            let allowed = "LogPosterior: the squared error needs a real response";
            return Err(Error::argument("objective", "SquaredError", allowed));
        }
        Ok(())
    }

    fn moves(&self) -> Vec<bool> {
        (0..self.layout.dim()).map(|i| i < self.n_weights).collect()
    }

    fn descend(&self, rule: &DescentRule, q: &[f64], image: &mut [f64], ws: &mut Self::Workspace) {
        let mut scratch = ws.descent.take().unwrap_or_else(|| DescentScratch {
            direction: vec![0.0; self.layout.dim()],
            prior: vec![0.0; self.layout.dim()],
            x: TileStorage::zeros(padded(1) * self.x.columns()),
            y: TileStorage::zeros(padded(1) * self.y.columns()),
        });
        let DescentScratch { direction, prior, x: x_row, y: y_row } = &mut scratch;
        image.copy_from_slice(q);
        for _ in 0..rule.depth {
            match rule.pass {
                Pass::Batch => {
                    direction.fill(0.0);
                    let mut y = self.y.iter();
                    for x in self.x.iter() {
                        self.add_direction(rule.objective, x, &mut y, image, direction, ws);
                    }
                    self.descent_step(rule, 1.0, image, direction, prior);
                }
                Pass::PerRow => {
                    let share = 1.0 / self.x.rows() as f64;
                    let rows = |tile| (0..Tile::rows(&tile)).map(move |row| (tile, row));
                    for (x, y) in self.x.iter().flat_map(rows).zip(self.y.iter().flat_map(rows)) {
                        copy_row(x, x_row);
                        copy_row(y, y_row);
                        direction.fill(0.0);
                        let (x, mut y) = (Tile::new(x_row, 1), once(Tile::new(y_row, 1)));
                        self.add_direction(rule.objective, x, &mut y, image, direction, ws);
                        self.descent_step(rule, share, image, direction, prior);
                    }
                }
            }
        }
        ws.descent = Some(scratch);
    }
}

impl<M: SecondOrderModel, L: SecondOrderLikelihood> Posterior<M, L> {
    /// Adds to each row of `out` (as long as q) the product of the log likelihood's Hessian at q, or
    /// its expectation, with the direction that `direction(row, v)` makes of the previous one.
    fn add_likelihood_products(
        &self,
        curvature: Curvature,
        q: &[f64],
        out: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
        scratch: &mut SecondOrderScratch,
        mut direction: impl FnMut(usize, &mut [f64]),
    ) {
        let (w, phi) = self.split(q);
        let outputs = self.model.n_outputs();
        let SecondOrderScratch { mean, r_out, r_d_out, v, hv } = scratch;
        for (x, y) in self.x.iter().zip(self.y.iter()) {
            let (rows, stride) = (x.rows(), x.stride());
            let mut f = TileMut::new(&mut ws.out[..stride * outputs], rows);
            let mean = &mut mean[..stride * self.likelihood.n_means(outputs)];
            self.model.forward(w, x, f.reborrow(), &mut ws.model);
            self.likelihood.mean(phi, f.as_tile(), TileMut::new(mean, rows));
            let mean = Tile::new(mean, rows);
            if curvature == Curvature::Observed {
                let mut d_out = TileMut::new(&mut ws.d_out[..stride * outputs], rows);
                let d_phi = &mut hv[..self.n_phi]; // not needed
                self.likelihood.log_lik_grad(phi, f.as_tile(), y, d_out.reborrow(), d_phi);
                d_out.clear_padding();
                self.model.keep_backward(w, x, d_out.as_tile(), &mut ws.model);
            }
            let mut r_out = TileMut::new(&mut r_out[..stride * outputs], rows);
            let mut r_d_out = TileMut::new(&mut r_d_out[..stride * outputs], rows);
            for (row, hv) in out.chunks_exact_mut(q.len()).enumerate() {
                direction(row, v);
                let (v_w, v_phi) = self.split(v);
                let (hv_w, hv_phi) = hv.split_at_mut(self.n_weights);
                let hv_phi = &mut hv_phi[..self.n_phi];
                self.model.forward_tangent(w, x, v_w, r_out.reborrow(), &mut ws.model);
                self.likelihood.log_lik_tangent(
                    curvature,
                    phi,
                    mean,
                    y,
                    r_out.as_tile(),
                    v_phi,
                    r_d_out.reborrow(),
                    hv_phi,
                );
                r_d_out.clear_padding();
                let r_d_out = r_d_out.as_tile();
                match curvature {
                    Curvature::Observed => {
                        self.model.backward_tangent(w, x, v_w, r_d_out, hv_w, &mut ws.model);
                    }
                    Curvature::Expected => {
                        self.model.backward(w, x, r_d_out, hv_w, &mut ws.model);
                    }
                }
            }
        }
    }

    /// Takes the scratch memory out of the workspace; to be put back.
    fn second_order_scratch(
        &self,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> SecondOrderScratch {
        let outputs = self.model.n_outputs();
        ws.second.take().unwrap_or_else(|| SecondOrderScratch {
            mean: TileStorage::for_columns(self.likelihood.n_means(outputs)),
            r_out: TileStorage::for_columns(outputs),
            r_d_out: TileStorage::for_columns(outputs),
            v: vec![0.0; self.layout.dim()],
            hv: vec![0.0; self.layout.dim()],
        })
    }

    /// Overwrites `out` with minus the matrix of second derivatives.
    fn curvature_at(
        &self,
        curvature: Curvature,
        beta: f64,
        q: &[f64],
        out: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) {
        let d = self.layout.dim();
        let mut scratch = self.second_order_scratch(ws);
        out.fill(0.0);
        if beta != 0.0 {
            // Row j is the product with the unit vector j; rows of hierarchical scales stay zero.
            let n = self.n_weights + self.n_phi;
            self.add_likelihood_products(
                curvature,
                q,
                &mut out[..n * d],
                ws,
                &mut scratch,
                |j, v| {
                    v.fill(0.0);
                    v[j] = 1.0;
                },
            );
            out[..n * d].iter_mut().for_each(|h| *h *= -beta);
        }
        let SecondOrderScratch { v, hv, .. } = &mut scratch;
        v.fill(0.0);
        for (j, row) in out.chunks_exact_mut(d).enumerate() {
            v[j] = 1.0;
            hv.fill(0.0);
            for block in &self.priors {
                block.add_hessian_product(curvature, q, v, hv);
            }
            v[j] = 0.0;
            row.iter_mut().zip(&*hv).for_each(|(h, prior)| *h -= prior);
        }
        // Symmetric but for rounding, so far.
        for i in 0..d {
            for j in 0..i {
                let mean = 0.5 * (out[i * d + j] + out[j * d + i]);
                out[i * d + j] = mean;
                out[j * d + i] = mean;
            }
        }
        ws.second = Some(scratch);
    }

    /// Overwrites `out` with H v, H minus the Hessian of beta ell + log p at q: exact, without a
    /// matrix, by the R-operator. All vectors are as long as q.
    ///
    /// A prior whose second derivative is not known is left out, and a model that asks for tiles of
    /// another height gives nonsense; see [`check_hessian`](HessTarget::check_hessian).
    pub fn neg_hessian_product_at(
        &self,
        beta: f64,
        q: &[f64],
        v: &[f64],
        out: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) {
        let observed = Curvature::Observed;
        out.fill(0.0);
        if beta != 0.0 {
            let mut scratch = self.second_order_scratch(ws);
            self.add_likelihood_products(observed, q, out, ws, &mut scratch, |_, direction| {
                direction.copy_from_slice(v);
            });
            ws.second = Some(scratch);
            out.iter_mut().for_each(|h| *h *= beta);
        }
        for block in &self.priors {
            block.add_hessian_product(observed, q, v, out);
        }
        out.iter_mut().for_each(|h| *h = -*h);
    }

    /// An error that names the first block whose prior does not know its curvature.
    fn check_curvature(&self, curvature: Curvature) -> Result<(), Error> {
        let found = self.model.tile_rows();
        if found != TILE_ROWS {
            return Err(Error::shape(
                "`tile_rows` of a model with second derivatives",
                found,
                TILE_ROWS,
            ));
        }
        let zeros = vec![0.0; self.layout.dim()];
        let mut product = zeros.clone();
        for block in &self.priors {
            if !block.add_hessian_product(curvature, &zeros, &zeros, &mut product) {
                return Err(Error::Prior {
                    problem: format!(
                        "the curvature of the prior of block `{}` is not known: implement \
                         `Prior::add_hessian_product` for it",
                        block.name
                    ),
                    known: self.layout.block_names(),
                });
            }
        }
        Ok(())
    }
}

impl<M: SecondOrderModel, L: SecondOrderLikelihood> HessTarget for Posterior<M, L> {
    fn neg_hessian_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace) {
        self.curvature_at(Curvature::Observed, beta, q, out, ws);
    }

    fn check_hessian(&self) -> Result<(), Error> {
        self.check_curvature(Curvature::Observed)
    }
}

impl<M: SecondOrderModel, L: SecondOrderLikelihood> FisherTarget for Posterior<M, L> {
    fn fisher_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace) {
        self.curvature_at(Curvature::Expected, beta, q, out, ws);
    }

    fn check_fisher(&self) -> Result<(), Error> {
        self.check_curvature(Curvature::Expected)
    }
}

/// Copies one row of a tile into the first row of a tile of its own.
fn copy_row((tile, row): (Tile, usize), to: &mut [f64]) {
    for (column, to) in to.chunks_exact_mut(padded(1)).enumerate() {
        to[0] = tile.column(column)[row];
    }
}

//! Networks trained on values of the target.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, Axis, s};

use super::pairs::{LEARNING, Pairs, Scaling};
use crate::Error;
use crate::approximate::{Masked, Masks};
use crate::data::Dataset;
use crate::draws::Draws;
use crate::engine::{Activation, TILE_ROWS, TileMut, TileStorage, Tiles, padded};
use crate::error::positive;
use crate::gradient::Minibatch;
use crate::likelihood::{Gaussian, Likelihood};
use crate::linalg::dot::{add_combination, products};
use crate::linalg::svd::Svd;
use crate::model::{Mlp, Model, WeightInit};
use crate::optimise::{Adam, EarlyStopping, Evaluation, Optimiser, Optimum};
use crate::posterior::Posterior;
use crate::prior::{Normal, Priors};
use crate::rng::ChainRng;
use crate::surrogate::{Emulator, positions};
use crate::targets::Target;
use crate::{layout::Layout, memory};

/// The quantity that a [`NetworkEmulator`] predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Emulated {
    /// The log likelihood alone: one output.
    LogLikelihood,
    /// The model's outputs for all rows, N x K numbers, from which the likelihood follows with the
    /// noise's own coordinate of q, as in FBNN. The last layer has N x K units: an evaluation costs
    /// as many multiplications as that layer has weights, which is less than the model's own only
    /// for small emulators of large models.
    Outputs,
    /// The coordinates of those outputs in the basis of their principal components at the pairs, as
    /// many as hold this `share` of the variance. The basis takes N x K numbers for each, and an
    /// evaluation as many multiplications.
    ReducedOutputs {
        /// Above 0, at most 1.
        share: f64,
    },
}

/// The settings of a network that emulates a posterior's log likelihood.
///
/// A pair is a draw q with the log likelihood there. The inputs are z = (q - m) / s, with the mean
/// and the standard deviation of each coordinate of the draws, or their coordinates in the
/// principal components of the draws. The network is trained by Adam on squared errors, with
/// dropout on the inputs and the first hidden layer, until it no longer improves at pairs held out.
/// If several activations are given, the one whose log likelihood is closest to the truth there is
/// taken.
///
/// Dropout leaves each input and each unit of the first layer out of a training step with the given
/// probability, one choice for a minibatch. Gradients with respect to q are exact.
///
/// Source: Moslemi, Meng, Lan and Shahbaba, *Scaling up Bayesian neural networks with neural
/// networks* (FBNN), arXiv:2312.11799, who train on 200 draws with dropout rates of 0.5 to 0.7.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::emulate::{Emulated, NetworkEmulator};
/// use bnn_mcmc::surrogate::Surrogate;
/// # let x = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| ((7 * i + 3 * j) % 11) as f64 / 5.0 - 1.0);
/// # let y = x.column(0).mapv(|x| 0.5 * x + 0.1);
/// # let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(2, 1)?, Gaussian::fixed(0.3)?, &data, priors)?;
/// let short = Sampler::new(&posterior, Mala::default()).warmup(200).draws(50).seed(1).run()?;
/// let settings = NetworkEmulator { dropout: 0.0, ..NetworkEmulator::new(Emulated::Outputs) };
/// let emulator = settings.fit(&posterior, &short)?;
/// println!("held-out error: {:.2} nats", emulator.held_out_error());
/// let surrogate = Surrogate::new(&posterior, emulator);
/// assert!(Sampler::new(&surrogate, Pcn::default()).draws(100).run().is_ok());
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkEmulator {
    /// The quantity that is predicted.
    pub emulated: Emulated,
    /// The units of the hidden layers.
    pub hidden: Vec<usize>,
    /// The activations that are tried.
    pub activations: Vec<Activation>,
    /// The share of inputs and of units of the first hidden layer that a training step leaves out,
    /// from 0 to 0.9.
    pub dropout: f64,
    /// The share of the variance of the draws that the inputs hold, if they are reduced; above 0, at
    /// most 1.
    pub input_share: Option<f64>,
    /// The number of draws that are used, evenly spaced; all if `None`.
    pub pairs: Option<usize>,
    /// The share of the pairs that is held out, from 0.05 to 0.5.
    pub held_out: f64,
    /// The most steps of training, each on `batch` pairs.
    pub steps: usize,
    /// Pairs of a minibatch.
    pub batch: usize,
    /// The learning rate of Adam. One by which training diverges is refused by [`fit`](Self::fit).
    pub learning_rate: f64,
    /// The rule for stopping the training early.
    pub stopping: EarlyStopping,
    /// The seed of the start, the minibatches, dropout and the choice of held-out pairs.
    pub seed: u64,
}

impl NetworkEmulator {
    /// Two hidden layers of 64 units with ReLU, tanh or softplus; dropout 0.5; all draws, a fifth of
    /// them held out.
    pub fn new(emulated: Emulated) -> Self {
        Self {
            emulated,
            hidden: vec![64, 64],
            activations: vec![Activation::Relu, Activation::Tanh, Activation::Softplus],
            dropout: 0.5,
            input_share: None,
            pairs: None,
            held_out: 0.2,
            steps: 2000,
            batch: 32,
            learning_rate: 0.005,
            stopping: EarlyStopping::default(),
            seed: 0,
        }
    }
}

/// The result of fitting a [`NetworkEmulator`].
#[derive(Clone, Debug)]
pub struct FittedNetwork<L> {
    scaling: Scaling,
    /// The directions of the inputs `[input, coordinate]`; all coordinates if `None`.
    directions: Option<Array2<f64>>,
    layers: Vec<Dense>,
    activation: Activation,
    head: Head<L>,
    pairs: usize,
    held_out_error: f64,
}

/// W `[units x inputs]` and b.
#[derive(Clone, Debug)]
struct Dense {
    weights: Vec<f64>,
    biases: Vec<f64>,
}

/// The map from the network's outputs to ell*.
#[derive(Clone, Debug)]
enum Head<L> {
    LogLikelihood { mean: f64, scale: f64 },
    Outputs(Box<OutputsHead<L>>),
}

/// f = mean + scale (basis o), then the likelihood of all rows.
#[derive(Clone, Debug)]
struct OutputsHead<L> {
    likelihood: L,
    y: Tiles,
    /// The place of the likelihood's own parameters in q.
    phi: Range<usize>,
    columns: usize,
    mean: Vec<f64>,
    scale: f64,
    /// `[component x output]`; the outputs themselves if `None`.
    basis: Option<Vec<f64>>,
}

/// Scratch memory of a [`FittedNetwork`].
#[derive(Debug)]
pub struct NetworkWorkspace {
    z: Vec<f64>,
    /// Inputs, then the values of each layer.
    values: Vec<Vec<f64>>,
    kept: Vec<Vec<f64>>,
    deltas: Vec<Vec<f64>>,
    /// f and its derivative.
    outputs: [Vec<f64>; 2],
    tile: [TileStorage; 2],
    d_phi: Vec<f64>,
}

impl NetworkEmulator {
    fn check(&self) -> Result<(), Error> {
        if self.hidden.is_empty() || self.hidden.contains(&0) {
            let found = format!("{:?}", self.hidden);
            return Err(Error::argument("hidden", found, "one layer or more, none of 0 units"));
        }
        if self.activations.is_empty() {
            return Err(Error::argument("activations", "none", "at least one"));
        }
        if self.batch == 0 {
            return Err(Error::argument("batch", 0, "at least 1"));
        }
        if !(0.0..=0.9).contains(&self.dropout) {
            return Err(Error::argument("dropout", self.dropout, "from 0 to 0.9"));
        }
        let reduced = match self.emulated {
            Emulated::ReducedOutputs { share } => Some(share),
            _ => None,
        };
        for (name, share) in [("input_share", self.input_share), ("share", reduced)] {
            if let Some(share) = share.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
                return Err(Error::argument(name, share, "above 0, at most 1"));
            }
        }
        positive("learning_rate", self.learning_rate).map(|_| ())
    }

    /// Trains on values of `posterior` at the draws.
    ///
    /// # Errors
    /// A setting out of range; draws of another target, or fewer than `pairs`; a log likelihood or
    /// gradient that is not finite at one of them, or the same at all; training that diverges with
    /// every activation; more outputs than memory has room for, with the numbers.
    pub fn fit<M: Model, L: Likelihood + Clone>(
        &self,
        posterior: &Posterior<M, L>,
        draws: &Draws,
    ) -> Result<FittedNetwork<L>, Error> {
        self.check()?;
        let n = self.pairs.unwrap_or(draws.n_chains() * draws.n_draws());
        let (rows, columns) = (posterior.n_obs(), posterior.model().n_outputs());
        if self.emulated != Emulated::LogLikelihood {
            let last = self.hidden.last().copied().unwrap_or(0);
            let copies = (n.saturating_add(last).saturating_mul(3), "pairs and units, thrice");
            let size = [(rows, "rows"), (columns, "outputs"), copies];
            memory::check::<f64>("emulator of all outputs", &size, "emulate the log likelihood")?;
        }
        let rng = &mut ChainRng::new(self.seed, 0);
        let pairs = Pairs::of(&posterior, draws, n, self.held_out, rng)?;
        let directions = match self.input_share {
            None => None,
            Some(share) => Some(principal("draws to learn from", pairs.z.view(), share)?),
        };
        let inputs = directions.as_ref().map_or(pairs.z.clone(), |v| pairs.z.dot(&v.t()));
        let (head, targets) = self.head(posterior, draws, &pairs)?;

        let mut best: Option<FittedNetwork<L>> = None;
        for activation in &self.activations {
            let Some(layers) = self.train(*activation, &inputs, &targets, &pairs)? else {
                continue;
            };
            let mut fitted = FittedNetwork {
                scaling: pairs.scaling.clone(),
                directions: directions.clone(),
                layers,
                activation: *activation,
                head: head.clone(),
                pairs: n,
                held_out_error: f64::NAN,
            };
            fitted.held_out_error = fitted.error(&pairs);
            let least = best.as_ref().map_or(f64::INFINITY, |best| best.held_out_error);
            if best.is_none() || fitted.held_out_error < least {
                best = Some(fitted);
            }
        }
        best.ok_or_else(|| {
            let allowed = "smaller: training diverged with every activation, and what it ended with \
                           is no better at the pairs held out than the random start";
            Error::argument("learning_rate", format!("{:e}", self.learning_rate), allowed)
        })
    }

    /// The head, which turns outputs of the network into ell*, and the outputs that the network is
    /// trained on `[pair, output]`.
    fn head<M: Model, L: Likelihood + Clone>(
        &self,
        posterior: &Posterior<M, L>,
        draws: &Draws,
        pairs: &Pairs,
    ) -> Result<(Head<L>, Array2<f64>), Error> {
        let n = pairs.log_likelihood.len();
        if self.emulated == Emulated::LogLikelihood {
            let ell = &pairs.log_likelihood;
            let (mean, scale) = (ell.mean().unwrap_or(0.0), ell.std(1.0));
            let targets = ell.mapv(|ell| (ell - mean) / scale).insert_axis(Axis(1));
            return Ok((Head::LogLikelihood { mean, scale }, targets));
        }
        let (columns, mut ws) = (posterior.model().n_outputs(), posterior.workspace());
        let q = positions(posterior, draws, n, LEARNING)?;
        let mut outputs = Array2::zeros((n, posterior.n_obs() * columns));
        for (q, mut to) in q.rows().into_iter().zip(outputs.rows_mut()) {
            posterior.write_outputs(&q.to_vec(), to.as_slice_mut().unwrap_or_default(), &mut ws);
        }
        let mean = outputs.mean_axis(Axis(0)).unwrap_or_default();
        outputs -= &mean;
        let (basis, targets) = match self.emulated {
            Emulated::ReducedOutputs { share } => {
                let basis = principal("outputs at the draws", outputs.view(), share)?;
                let coordinates = outputs.dot(&basis.t());
                (Some(basis.iter().copied().collect()), coordinates)
            }
            _ => (None, outputs),
        };
        let variance = targets.mapv(|t| t * t).mean().unwrap_or(0.0);
        let scale = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        let (first, n_phi) =
            (posterior.model().layout().dim(), posterior.likelihood().layout().dim());
        let head = OutputsHead {
            likelihood: posterior.likelihood().clone(),
            y: posterior.responses_in_tiles().clone(),
            phi: first..first + n_phi,
            columns,
            mean: mean.to_vec(),
            scale,
            basis,
        };
        Ok((Head::Outputs(Box::new(head)), targets / scale))
    }

    /// The layers of a network trained on the pairs that are not held out; `None` if training diverged.
    fn train(
        &self,
        activation: Activation,
        inputs: &Array2<f64>,
        targets: &Array2<f64>,
        pairs: &Pairs,
    ) -> Result<Option<Vec<Dense>>, Error> {
        let of = |held_out| {
            let rows = pairs.rows(held_out);
            Dataset::regression(inputs.select(Axis(0), &rows), targets.select(Axis(0), &rows))
        };
        let (train, rest) = (of(false)?, of(true)?);
        let mut sizes = vec![inputs.ncols()];
        sizes.extend(&self.hidden);
        sizes.push(targets.ncols());
        let network = Mlp::new(&sizes, activation)?;
        let layout = network.layout();
        let size = [(layout.dim(), "weights"), (8, "copies")];
        memory::check::<f64>("emulator", &size, "use fewer hidden units")?;
        // Only its likelihood is climbed.
        let priors = Priors::all(Normal::new(0.0, 1.0)?);
        let fit = Posterior::new(network, Gaussian::fixed(1.0)?, &train, priors)?;
        let held_out = fit.held_out(&rest)?;
        let mut start = vec![0.0; layout.dim()];
        WeightInit::HeNormal.draw(&layout, &mut ChainRng::new(self.seed, 1), &mut start)?;
        let batch = self.batch.min(fit.n_obs());
        let adam = Adam {
            learning_rate: self.learning_rate,
            steps: self.steps,
            ..Adam::new(Minibatch { size: batch })
        };
        // Masks leave out inputs, and units of the first layer; without a second layer these units
        // are outputs, which stay.
        let weights = layout.blocks().iter().filter(|block| block.shape.len() == 2).take(2);
        let masks = Masks::new(self.dropout, weights);
        let target = Masked::new(fit.log_likelihood(), masks, ChainRng::new(self.seed, 2));
        let optimiser = Optimiser::new(&target, adam).seed(self.seed);
        let trained = optimiser.early_stopping(self.stopping, |q| held_out.score(q)).run(&start)?;
        Ok((!has_diverged(&trained)).then(|| dense_layers(&layout, &trained.q)))
    }
}

/// Whether training never came to a better place than its start, and either had to take steps back, whose
/// numbers overflowed, or ended with twice the loss of the start.
fn has_diverged(trained: &Optimum) -> bool {
    let score = |at: Option<&Evaluation>| at.map_or(f64::NAN, |at| at.score);
    let (first, last) = (score(trained.history.first()), score(trained.history.last()));
    // The score is a mean log density of normal errors of variance 1, which is negative.
    trained.step == 0 && (trained.taken_back > 0 || last.is_nan() || last < 2.0 * first)
}

/// The directions that hold that `share` of the sum of squares of `a` `[m x d]`, its largest right
/// singular vectors: `[k x d]`.
fn principal(name: &str, a: ArrayView2<f64>, share: f64) -> Result<Array2<f64>, Error> {
    let (m, d) = a.dim();
    let size = [(m.max(d), "rows or columns"), (m.min(d), "of the other"), (6, "copies")];
    memory::check::<f64>(name, &size, "use fewer pairs")?;
    // Decomposed with the fewer columns.
    let (values, vectors) = if m < d {
        let svd = Svd::new(name, a.t())?;
        (svd.values, svd.left)
    } else {
        let svd = Svd::new(name, a)?;
        (svd.values, svd.right)
    };
    let kept = components(&values, share);
    Ok(vectors.slice(s![.., ..kept]).t().as_standard_layout().into_owned())
}

/// The number of singular values, the first ones, that hold this share of the sum of all squares;
/// at least 1.
fn components(values: &[f64], share: f64) -> usize {
    let all: f64 = values.iter().map(|s| s * s).sum();
    let mut sum = 0.0;
    let enough = values.iter().position(|s| {
        sum += s * s;
        sum >= share * all
    });
    let nonzero = values.iter().filter(|s| **s > 0.0).count();
    enough.map_or(nonzero, |last| last + 1).min(nonzero).max(1)
}

/// The blocks w0, b0, w1, ... of q.
fn dense_layers(layout: &Layout, q: &[f64]) -> Vec<Dense> {
    let blocks: Vec<_> =
        layout.blocks().iter().map(|block| q[block.range.clone()].to_vec()).collect();
    let pairs = blocks.chunks_exact(2);
    pairs.map(|pair| Dense { weights: pair[0].clone(), biases: pair[1].clone() }).collect()
}

impl<L: Likelihood> FittedNetwork<L> {
    /// The root mean squared error of the log likelihood at the pairs held out, in nats.
    pub fn held_out_error(&self) -> f64 {
        self.held_out_error
    }

    /// The activation that was chosen.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// The number of inputs of the network, and of its outputs.
    pub fn sizes(&self) -> (usize, usize) {
        let last = self.layers.last().map_or(0, |layer| layer.biases.len());
        let inputs = self.directions.as_ref().map_or(self.scaling.mean.len(), Array2::nrows);
        (inputs, last)
    }

    fn error(&self, pairs: &Pairs) -> f64 {
        let mut ws = self.workspace();
        let rows = pairs.rows(true);
        let squares = rows.iter().map(|row| {
            let z = pairs.z.row(*row).to_vec();
            let q: Vec<f64> = z
                .iter()
                .zip(self.scaling.mean.iter().zip(&self.scaling.sd))
                .map(|(z, (mean, sd))| mean + sd * z)
                .collect();
            (self.log_likelihood(&q, &mut ws) - pairs.log_likelihood[*row]).powi(2)
        });
        (squares.sum::<f64>() / rows.len() as f64).sqrt()
    }

    /// The network's outputs, in the last of `ws.values`.
    fn forward(&self, q: &[f64], ws: &mut NetworkWorkspace) {
        self.scaling.apply(q, &mut ws.z);
        match &self.directions {
            None => ws.values[0].copy_from_slice(&ws.z),
            Some(v) => {
                let v = v.as_slice().expect("in standard layout");
                products(v, &ws.z, &mut ws.values[0]);
            }
        }
        let last = self.layers.len() - 1;
        for (l, layer) in self.layers.iter().enumerate() {
            let (below, above) = ws.values.split_at_mut(l + 1);
            let (input, out) = (&below[l], &mut above[0]);
            products(&layer.weights, input, out);
            out.iter_mut().zip(&layer.biases).for_each(|(out, b)| *out += b);
            if l < last {
                self.activation.forward(out, &mut ws.kept[l]);
            }
        }
    }

    /// Turns the derivative with respect to the outputs, in the last of `ws.deltas`, into `factor`
    /// times the derivative with respect to q, which is added to `grad`.
    fn backward(&self, factor: f64, grad: &mut [f64], ws: &mut NetworkWorkspace) {
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let (below, above) = ws.deltas.split_at_mut(l + 1);
            let (d_in, d_out) = (&mut below[l], &above[0]);
            d_in.fill(0.0);
            add_combination(d_out, &layer.weights, d_in);
            if l > 0 {
                self.activation.backward(&ws.values[l], &ws.kept[l - 1], d_in);
            }
        }
        match &self.directions {
            None => ws.z.copy_from_slice(&ws.deltas[0]),
            Some(v) => {
                ws.z.fill(0.0);
                let v = v.as_slice().expect("in standard layout");
                add_combination(&ws.deltas[0], v, &mut ws.z);
            }
        }
        for ((grad, d), sd) in grad.iter_mut().zip(&ws.z).zip(&self.scaling.sd) {
            *grad += factor * d / sd; //~ emulator-gradient
        }
    }
}

impl<L: Likelihood> OutputsHead<L> {
    /// f from the network's outputs.
    fn write_outputs(&self, out: &[f64], f: &mut [f64]) {
        match &self.basis {
            None => f.copy_from_slice(out),
            Some(basis) => {
                f.fill(0.0);
                add_combination(out, basis, f);
            }
        }
        f.iter_mut().zip(&self.mean).for_each(|(f, mean)| *f = mean + self.scale * *f);
    }

    /// The log likelihood at f, and, if `d_phi` is given, its derivatives.
    fn log_likelihood(&self, phi: &[f64], ws: &mut NetworkWorkspace, with_gradient: bool) -> f64 {
        let NetworkWorkspace { outputs: [f, d_f], tile: [out, d_out], d_phi, .. } = ws;
        let (mut sum, mut first, columns) = (0.0, 0, self.columns);
        for y in self.y.iter() {
            let (rows, stride) = (y.rows(), padded(y.rows()));
            let len = stride * columns;
            let part = first * columns..(first + rows) * columns;
            let mut at = TileMut::new(&mut out[..len], rows);
            for (r, f) in f[part.clone()].chunks_exact(columns).enumerate() {
                f.iter().enumerate().for_each(|(k, f)| at.column(k)[r] = *f);
            }
            if with_gradient {
                let mut d_at = TileMut::new(&mut d_out[..len], rows);
                sum += self.likelihood.log_lik_grad(phi, at.as_tile(), y, d_at.reborrow(), d_phi);
                for (r, d) in d_f[part].chunks_exact_mut(columns).enumerate() {
                    d.iter_mut().enumerate().for_each(|(k, d)| *d = d_at.column(k)[r]);
                }
            } else {
                let mut of_rows = [0.0; TILE_ROWS];
                self.likelihood.log_lik_rows(phi, at, y, &mut of_rows[..rows]);
                sum += of_rows[..rows].iter().sum::<f64>();
            }
            first += rows;
        }
        sum
    }
}

impl<L: Likelihood> Emulator for FittedNetwork<L> {
    type Workspace = NetworkWorkspace;

    fn workspace(&self) -> NetworkWorkspace {
        let (inputs, _) = self.sizes();
        let units = self.layers.iter().map(|layer| layer.biases.len());
        let values: Vec<_> = std::iter::once(inputs).chain(units).map(|n| vec![0.0; n]).collect();
        let keeps = self.activation.keeps();
        let kept = |values: &Vec<f64>| vec![0.0; if keeps { values.len() } else { 0 }];
        let (outputs, columns, n_phi) = match &self.head {
            Head::LogLikelihood { .. } => (0, 0, 0),
            Head::Outputs(head) => (head.mean.len(), head.columns, head.phi.len()),
        };
        NetworkWorkspace {
            z: vec![0.0; self.scaling.mean.len()],
            kept: values[1..].iter().map(kept).collect(),
            deltas: values.clone(),
            values,
            outputs: [(); 2].map(|()| vec![0.0; outputs]),
            tile: [(); 2].map(|()| TileStorage::for_columns(columns)),
            d_phi: vec![0.0; n_phi],
        }
    }

    fn log_likelihood(&self, q: &[f64], ws: &mut NetworkWorkspace) -> f64 {
        self.forward(q, ws);
        let out = ws.values.last().map_or(&[][..], |out| out);
        match &self.head {
            Head::LogLikelihood { mean, scale } => mean + scale * out[0],
            Head::Outputs(head) => {
                head.write_outputs(out, &mut ws.outputs[0]);
                head.log_likelihood(&q[head.phi.clone()], ws, false)
            }
        }
    }

    fn add_grad(&self, factor: f64, q: &[f64], grad: &mut [f64], ws: &mut NetworkWorkspace) -> f64 {
        self.forward(q, ws);
        let last = ws.deltas.len() - 1;
        let value = match &self.head {
            Head::LogLikelihood { mean, scale } => {
                ws.deltas[last][0] = *scale;
                mean + scale * ws.values[last][0]
            }
            Head::Outputs(head) => {
                head.write_outputs(&ws.values[last], &mut ws.outputs[0]);
                ws.d_phi.fill(0.0);
                let value = head.log_likelihood(&q[head.phi.clone()], ws, true);
                let (d_f, d_out) = (&ws.outputs[1], &mut ws.deltas[last]);
                match &head.basis {
                    None => d_out.copy_from_slice(d_f),
                    Some(basis) => products(basis, d_f, d_out),
                }
                d_out.iter_mut().for_each(|d| *d *= head.scale);
                let of_phi = grad[head.phi.clone()].iter_mut();
                //~ emulator-noise-gradient
                of_phi.zip(&ws.d_phi).for_each(|(grad, d)| *grad += factor * d);
                value
            }
        };
        self.backward(factor, grad, ws);
        value
    }

    fn is_extrapolating(&self, q: &[f64]) -> bool {
        self.scaling.is_outside(q)
    }

    fn description(&self) -> String {
        let (inputs, outputs) = self.sizes();
        let what = match &self.head {
            Head::LogLikelihood { .. } => "the log likelihood".to_string(),
            Head::Outputs(head) if head.basis.is_some() => {
                format!("{outputs} components of the model's outputs")
            }
            Head::Outputs(_) => format!("{outputs} outputs of the model"),
        };
        format!(
            "a network from {inputs} inputs to {what}, trained on {} draws (held-out error {:.2} nats)",
            self.pairs, self.held_out_error
        )
    }
}

//! Networks trained on values of the target.

use bnn_mcmc::draws::Draws;
use bnn_mcmc::likelihood::Likelihood;
use bnn_mcmc::model::{Activation, Model};
use bnn_mcmc::optimise::EarlyStopping;
use bnn_mcmc::posterior::{Posterior, PosteriorWorkspace};
use bnn_mcmc::rng::ChainRng;
use bnn_mcmc::surrogate::Emulator;
use bnn_mcmc::targets::Target;
use bnn_mcmc::{Error, memory};
use nalgebra::{DMatrix, SVD};
use ndarray::linalg::general_mat_vec_mul;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1, Axis};

use crate::pairs::{Pairs, Scaling};
use crate::perceptron::{Pass, Perceptron};
use crate::training::train;
use crate::{add_combination, positive};

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
/// use bnn_mcmc::surrogate::Surrogate;
/// use bnn_mcmc_emulate::{Emulated, NetworkEmulator};
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

/// The result of fitting a [`NetworkEmulator`], which borrows the posterior for its likelihood.
#[derive(Clone, Debug)]
pub struct FittedNetwork<'a, M, L> {
    posterior: &'a Posterior<M, L>,
    scaling: Scaling,
    /// The directions of the inputs `[input, coordinate]`; all coordinates if `None`.
    directions: Option<Array2<f64>>,
    network: Perceptron,
    weights: Vec<f64>,
    head: Head,
    pairs: usize,
    held_out_error: f64,
}

/// The map from the network's outputs o to ell*.
#[derive(Clone, Debug)]
enum Head {
    LogLikelihood { mean: f64, scale: f64 },
    Outputs(OutputsHead),
}

/// f = mean + scale (basis^T o), then the likelihood of all rows.
#[derive(Clone, Debug)]
struct OutputsHead {
    mean: Array1<f64>,
    scale: f64,
    /// `[component, output]`; the outputs themselves if `None`.
    basis: Option<Array2<f64>>,
}

/// Scratch memory of a [`FittedNetwork`].
#[derive(Debug)]
pub struct NetworkWorkspace<W> {
    z: Array1<f64>,
    pass: Pass,
    posterior: PosteriorWorkspace<W>,
    /// f and its derivative; empty without them.
    f: Vec<f64>,
    d_f: Vec<f64>,
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
    pub fn fit<'a, M: Model, L: Likelihood>(
        &self,
        posterior: &'a Posterior<M, L>,
        draws: &Draws,
    ) -> Result<FittedNetwork<'a, M, L>, Error> {
        self.fit_runs(posterior, &[draws])
    }

    /// Trains like [`fit`](Self::fit) on the draws of several runs, `pairs` of each: an emulator that is trained again on what
    /// its chains have visited.
    ///
    /// # Errors
    /// As of [`fit`](Self::fit); no runs.
    pub fn fit_runs<'a, M: Model, L: Likelihood>(
        &self,
        posterior: &'a Posterior<M, L>,
        runs: &[&Draws],
    ) -> Result<FittedNetwork<'a, M, L>, Error> {
        self.check()?;
        let n = Pairs::count(runs, self.pairs);
        let (rows, columns) = (posterior.n_obs(), posterior.model().n_outputs());
        if self.emulated != Emulated::LogLikelihood {
            let last = self.hidden.last().copied().unwrap_or(0);
            let copies = (n.saturating_add(last).saturating_mul(3), "pairs and units, thrice");
            let size = [(rows, "rows"), (columns, "outputs"), copies];
            memory::check::<f64>("emulator of all outputs", &size, "emulate the log likelihood")?;
        }
        let rng = &mut ChainRng::new(self.seed, 0);
        let pairs = Pairs::of(&posterior, runs, self.pairs, self.held_out, rng)?;
        let directions = match self.input_share {
            None => None,
            Some(share) => Some(principal("draws to learn from", pairs.z.view(), share)?),
        };
        let inputs = match &directions {
            None => pairs.z.clone(),
            Some(v) => pairs.z.dot(&v.t()),
        };
        let (head, targets) = self.head(posterior, &pairs)?;
        let sizes: Vec<usize> = [&[inputs.ncols()], &self.hidden[..], &[targets.ncols()]].concat();
        let [table, held_out] = [false, true].map(|held_out| {
            let rows = pairs.rows(held_out);
            [&inputs, &targets].map(|of| of.select(Axis(0), &rows))
        });

        let mut best: Option<FittedNetwork<M, L>> = None;
        for activation in &self.activations {
            let network = Perceptron::new(sizes.clone(), *activation)?;
            let size = [(network.layout.dim(), "weights"), (8, "copies")];
            memory::check::<f64>("emulator", &size, "use fewer hidden units")?;
            let Some(weights) = train(self, &network, &table, &held_out)? else { continue };
            let mut fitted = FittedNetwork {
                posterior,
                scaling: pairs.scaling.clone(),
                directions: directions.clone(),
                network,
                weights,
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
    fn head<M: Model, L: Likelihood>(
        &self,
        posterior: &Posterior<M, L>,
        pairs: &Pairs,
    ) -> Result<(Head, Array2<f64>), Error> {
        if self.emulated == Emulated::LogLikelihood {
            let ell = &pairs.log_likelihood;
            let (mean, scale) = (ell.mean().unwrap_or(0.0), ell.std(1.0));
            let targets = ell.mapv(|ell| (ell - mean) / scale).insert_axis(Axis(1));
            return Ok((Head::LogLikelihood { mean, scale }, targets));
        }
        let size = posterior.n_obs() * posterior.model().n_outputs();
        let (mut ws, mut f) = (posterior.workspace(), vec![0.0; size]);
        let mut outputs = Array2::zeros((pairs.q.nrows(), size));
        for (q, mut to) in pairs.q.rows().into_iter().zip(outputs.rows_mut()) {
            posterior.write_outputs(&q.to_vec(), &mut f, &mut ws)?;
            to.iter_mut().zip(&f).for_each(|(to, f)| *to = *f);
        }
        let mean = outputs.mean_axis(Axis(0)).unwrap_or_default();
        outputs -= &mean;
        let basis = match self.emulated {
            Emulated::ReducedOutputs { share } => {
                Some(principal("outputs at the draws", outputs.view(), share)?)
            }
            _ => None,
        };
        let targets = match &basis {
            None => outputs,
            Some(basis) => outputs.dot(&basis.t()),
        };
        let variance = targets.mapv(|t| t * t).mean().unwrap_or(0.0);
        let scale = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        Ok((Head::Outputs(OutputsHead { mean, scale, basis }), targets / scale))
    }
}

/// The directions that hold that `share` of the sum of squares of `a` `[m x d]`, its largest right
/// singular vectors: `[k x d]`.
fn principal(name: &str, a: ArrayView2<f64>, share: f64) -> Result<Array2<f64>, Error> {
    let (m, d) = a.dim();
    let size = [(m.max(d), "rows or columns"), (m.min(d), "of the other"), (6, "copies")];
    memory::check::<f64>(name, &size, "use fewer pairs")?;
    if let Some(((i, j), v)) = a.indexed_iter().find(|(_, v)| !v.is_finite()) {
        let found = format!("{v} in row {i}, column {j}");
        return Err(Error::argument(name, found, "finite in all entries"));
    }
    let matrix = DMatrix::from_row_iterator(m, d, a.iter().copied());
    let svd = SVD::try_new(matrix, false, true, f64::EPSILON, 100 * (m + d));
    let Some((values, vectors)) = svd.and_then(|svd| Some((svd.singular_values, svd.v_t?))) else {
        let found = "such that its singular value decomposition does not converge";
        return Err(Error::argument(name, found, "of moderate scale"));
    };
    let kept = components(values.as_slice(), share);
    Ok(Array2::from_shape_fn((kept, d), |place| vectors[place]))
}

/// The number of singular values, the first ones of a descending list, that hold this share of the
/// sum of all squares; at least 1, and none that is 0 but for rounding.
fn components(values: &[f64], share: f64) -> usize {
    let all: f64 = values.iter().map(|s| s * s).sum();
    let zero = values.first().map_or(0.0, |first| 1e-14 * values.len() as f64 * first);
    let mut sum = 0.0;
    let enough = values.iter().position(|s| {
        sum += s * s;
        sum >= share * all
    });
    let nonzero = values.iter().filter(|s| **s > zero).count();
    enough.map_or(nonzero, |last| last + 1).min(nonzero).max(1)
}

impl<M: Model, L: Likelihood> FittedNetwork<'_, M, L> {
    /// The root mean squared error of the log likelihood at the pairs held out, in nats.
    pub fn held_out_error(&self) -> f64 {
        self.held_out_error
    }

    /// The activation that was chosen.
    pub fn activation(&self) -> Activation {
        self.network.activation
    }

    /// The number of inputs of the network, and of its outputs.
    pub fn sizes(&self) -> (usize, usize) {
        let sizes = self.network.sizes();
        (sizes[0], sizes[sizes.len() - 1])
    }

    fn error(&self, pairs: &Pairs) -> f64 {
        let (mut ws, rows) = (self.workspace(), pairs.rows(true));
        let squares = rows.iter().map(|row| {
            let value = self.log_likelihood(&pairs.q.row(*row).to_vec(), &mut ws);
            (value - pairs.log_likelihood[*row]).powi(2)
        });
        (squares.sum::<f64>() / rows.len() as f64).sqrt()
    }

    /// Writes the network's outputs o.
    fn forward(&self, q: &[f64], ws: &mut NetworkWorkspace<M::Workspace>) {
        self.scaling.apply(q, ws.z.view_mut());
        let mut inputs = ws.pass.inputs().row_mut(0);
        match &self.directions {
            None => inputs.assign(&ws.z),
            Some(v) => general_mat_vec_mul(1.0, v, &ws.z, 0.0, &mut inputs),
        }
        self.network.forward(&self.weights, &[], &mut ws.pass);
    }
}

impl OutputsHead {
    /// Writes f.
    fn write_outputs(&self, pass: &mut Pass, f: &mut [f64]) {
        let out = pass.outputs().0.row(0);
        let mut f = ArrayViewMut1::from(f);
        match &self.basis {
            None => f.assign(&out),
            Some(basis) => {
                f.fill(0.0);
                add_combination(out, basis.view(), f.view_mut());
            }
        }
        f.iter_mut().zip(&self.mean).for_each(|(f, mean)| *f = mean + self.scale * *f);
    }

    /// Writes d/do, where d/df is known.
    fn write_derivative(&self, d_f: &[f64], pass: &mut Pass) {
        let (d_f, mut d_out) = (ArrayView1::from(d_f), pass.outputs().1.row_mut(0));
        match &self.basis {
            None => d_out.assign(&d_f),
            Some(basis) => general_mat_vec_mul(1.0, basis, &d_f, 0.0, &mut d_out),
        }
        d_out *= self.scale;
    }
}

impl<M: Model, L: Likelihood> Emulator for FittedNetwork<'_, M, L> {
    type Workspace = NetworkWorkspace<M::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        let outputs = match &self.head {
            Head::LogLikelihood { .. } => 0,
            Head::Outputs(head) => head.mean.len(),
        };
        let [f, d_f] = [(); 2].map(|()| vec![0.0; outputs]);
        let (z, pass) = (Array1::zeros(self.scaling.sd.len()), self.network.pass(1));
        NetworkWorkspace { z, pass, posterior: self.posterior.workspace(), f, d_f }
    }

    fn log_likelihood(&self, q: &[f64], ws: &mut Self::Workspace) -> f64 {
        self.forward(q, ws);
        let NetworkWorkspace { pass, posterior: scratch, f, .. } = ws;
        match &self.head {
            Head::LogLikelihood { mean, scale } => mean + scale * pass.outputs().0[[0, 0]],
            Head::Outputs(head) => {
                head.write_outputs(pass, f);
                self.posterior.log_likelihood_of_outputs(q, f, scratch).unwrap_or(f64::NAN)
            }
        }
    }

    fn add_grad(&self, factor: f64, q: &[f64], grad: &mut [f64], ws: &mut Self::Workspace) -> f64 {
        self.forward(q, ws);
        let NetworkWorkspace { pass, posterior: scratch, f, d_f, .. } = ws;
        let value = match &self.head {
            Head::LogLikelihood { mean, scale } => {
                let (out, d_out) = pass.outputs();
                d_out.fill(*scale);
                mean + scale * out[[0, 0]]
            }
            Head::Outputs(head) => {
                head.write_outputs(pass, f);
                let value = self.posterior.add_grad_of_outputs(factor, q, f, d_f, grad, scratch);
                head.write_derivative(d_f, pass);
                value.unwrap_or(f64::NAN)
            }
        };
        self.network.backward(&self.weights, None, &mut ws.pass);
        let d_inputs = ws.pass.d_inputs().row(0);
        match &self.directions {
            None => ws.z.assign(&d_inputs),
            Some(v) => {
                ws.z.fill(0.0);
                add_combination(d_inputs, v.view(), ws.z.view_mut());
            }
        }
        self.scaling.add_grad(factor, &ws.z, grad);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Matrices U diag(3, 2, 1) V^T, high and wide, with orthonormal columns of U and V: shares of the
    /// squares are 9/14, 4/14 and 1/14.
    #[test]
    fn principal_directions_hold_their_share() {
        let mut rng = ChainRng::new(6, 0);
        let mut orthonormal = |n: usize| {
            let random = DMatrix::from_fn(n, 3, |_, _| rng.normal());
            let q = random.qr().q();
            Array2::from_shape_fn((n, 3), |place| q[place])
        };
        for (m, d) in [(20, 7), (7, 40), (3, 3)] {
            let (u, v) = (orthonormal(m), orthonormal(d));
            let a = (u * ndarray::array![3.0, 2.0, 1.0]).dot(&v.t());
            for (share, kept) in [(0.6, 1), (0.9, 2), (0.95, 3), (1.0, 3)] {
                let found = principal("a", a.view(), share).unwrap();
                assert_eq!(found.dim(), (kept, d), "{m} x {d}, {share}");
                // Each is one of V up to its sign.
                let products = found.dot(&v);
                for ((i, j), product) in products.indexed_iter() {
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!((product.abs() - expected).abs() < 1e-12, "{m} x {d}: {products}");
                }
            }
        }
        let nan = ndarray::array![[1.0, 2.0], [3.0, f64::NAN]];
        let error = principal("outputs", nan.view(), 0.9).unwrap_err().to_string();
        assert!(error.contains("`outputs` is NaN in row 1, column 1"), "{error}");
        assert_eq!(principal("zeros", Array2::zeros((5, 4)).view(), 0.9).unwrap().nrows(), 1);
    }
}

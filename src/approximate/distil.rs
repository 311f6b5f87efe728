//! Distillation: one small network that predicts what all draws together predict.

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Response};
use crate::draws::Draws;
use crate::engine::{Tile, TileMut};
use crate::gradient::Minibatch;
use crate::likelihood::{Likelihood, Weights, weighted};
use crate::model::{Activation, Mlp, Model, WeightInit};
use crate::optimise::{Ascent, Optimiser, Optimum};
use crate::portable::{exp, ln};
use crate::posterior::Posterior;
use crate::predict::Measure;
use crate::prior::{Normal, Priors};
use crate::rng::ChainRng;
use crate::{Error, memory};

/// Rows of which the draws' means are averaged at a time.
const ROWS: usize = 512;

/// The part of a seed's streams that starting weights are drawn from.
const START: u64 = u64::from_le_bytes(*b"students");

/// Distillation of draws into one network, the student: plain data.
///
/// The student is trained on the predictions of all draws together, the teacher, for given inputs,
/// and needs neither the draws nor the response: predictions take the time of one network. For a
/// real response, or counts, it learns the mean prediction, standardised, by least squares; for
/// classes the mean probabilities by their cross entropy, and, in one more output, the expected
/// entropy, standardised:
///
/// ```text
/// m(x) = mean_s E[y | x, q_s]       e(x) = mean_s H[y | x, q_s]
/// real:     minimise  sum_i |m(x_i) - f(x_i)|^2/2
/// classes:  minimise  sum_i [ - sum_c m_c(x_i) log softmax_c f(x_i) + (e(x_i) - g(x_i))^2/2 ]
/// ```
///
/// The entropy of the mean less the expected entropy, H\[m\] - e, is the mutual information of the
/// class and the weights, the epistemic part of the uncertainty, which the probabilities of one
/// network do not hold. For a real response the spread of the draws is lost.
///
/// Inputs need no response: take the training rows, and more where predictions are wanted.
/// [`Student::loss`] measures the loss on rows that the student was not trained on. When not to use
/// it: on inputs unlike those it was trained on, where draws disagree and the student does not show
/// it.
///
/// Source: Balan, Rathod, Murphy and Welling, NeurIPS 2015, arXiv:1506.04416; the entropy: Vadera,
/// Jalaian and Marlin, AISTATS 2020, arXiv:2005.08110.
///
/// ```
/// use bnn_mcmc::approximate::Distil;
/// use bnn_mcmc::prelude::*;
/// # #[cfg(feature = "datasets")] {
/// let (train, test) = bnn_mcmc::data::bundled::iris().stratified_split(0.3, 1)?;
/// let network = Mlp::new(&[4, 8, 3], Activation::Tanh)?;
/// let posterior = Posterior::new(network, Categorical, &train, Priors::all(Normal::new(0.0, 1.0)?))?;
/// let draws = Sampler::new(&posterior, Hmc::default()).warmup(200).draws(100).seed(1).run()?;
///
/// let adam = Adam { steps: 2000, ..Adam::new(Minibatch { size: 32 }) };
/// let student = Distil::new(&[20], adam).fit(&posterior, &draws, train.x().view(), 1)?;
/// let said = student.predict(test.x().view())?;
/// assert_eq!(said.mean.dim(), (45, 3));
/// let loss = student.loss(&posterior, &draws, test.x().view())?;
/// assert!(loss.divergence.is_some_and(|nats| nats < 0.05), "{loss:?}");
/// # }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distil<A> {
    /// The units of the student's hidden layers.
    pub hidden: Vec<usize>,
    /// The activation of the hidden layers.
    pub activation: Activation,
    /// The ascent that trains the student, on a sum over rows.
    pub ascent: A,
}

impl<A> Distil<A> {
    /// A student with tanh units.
    pub fn new(hidden: &[usize], ascent: A) -> Self {
        Self { hidden: hidden.to_vec(), activation: Activation::Tanh, ascent }
    }
}

impl<A: Ascent<Source = Minibatch> + Clone> Distil<A> {
    /// Trains a student on the predictions of `draws` for the inputs `x` `[rows x features]`.
    ///
    /// # Errors
    /// No rows or draws, fewer rows than a minibatch takes; inputs that are not finite; draws of
    /// another posterior; sizes of layers and settings of the ascent out of range; sizes that do
    /// not fit into memory.
    pub fn fit<M: Model, L: Likelihood>(
        &self,
        posterior: &Posterior<M, L>,
        draws: &Draws,
        x: ArrayView2<f64>,
        seed: u64,
    ) -> Result<Student, Error> {
        let teacher = Teacher::of(posterior, draws, x)?;
        let learnt = Learnt { classes: if teacher.is_classes { teacher.mean.ncols() } else { 0 } };
        let scale = Scaling::of(teacher.unbounded());
        let targets = learnt.targets(&teacher, &scale);
        let mut sizes = vec![x.ncols()];
        sizes.extend(&self.hidden);
        sizes.push(targets.ncols());
        let network = Mlp::new(&sizes, self.activation)?;
        let layout = network.layout();
        let mut start = vec![0.0; layout.dim()];
        let init = WeightInit::GlorotNormal;
        init.draw(&layout, &mut ChainRng::new(seed, 0).child(START), &mut start)?;
        let data = Dataset::regression(x.to_owned(), targets)?;
        let training = student(network, learnt, &data)?;
        let target = training.log_likelihood();
        let fit = Optimiser::new(&target, self.ascent.clone()).seed(seed).run(&start)?;
        if let Some(problem) = fit.problem() {
            let allowed = "a student that learns: take a lower learning rate";
            return Err(Error::argument("training of the student", problem, allowed));
        }
        Ok(Student { sizes, activation: self.activation, learnt, scale, fit })
    }
}

/// The student as a posterior, of which only the likelihood is climbed.
fn student(network: Mlp, learnt: Learnt, data: &Dataset) -> Result<Posterior<Mlp, Learnt>, Error> {
    Posterior::new(network, learnt, data, Priors::all(Normal::new(0.0, 1.0)?))
}

/// A network that predicts what all draws together predict, from [`Distil::fit`]. It needs nothing
/// else, and is saved by serde (`serde_json::to_string(&student)`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Student {
    sizes: Vec<usize>,
    activation: Activation,
    learnt: Learnt,
    scale: Scaling,
    /// The end of the training; its `log_density` is minus the loss over all training rows.
    pub fit: Optimum,
}

/// The predictions of a [`Student`] for some inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Distilled {
    /// The mean prediction `[rows x columns]`, on the scale of the response that the teacher was
    /// given (`Scaler::inverse` brings a standardised one back); for classes one column of
    /// probabilities for each, also if there are two.
    pub mean: Array2<f64>,
    /// For classes, the expected entropy of each row, in nats.
    pub expected_entropy: Option<Vec<f64>>,
}

/// The differences between the predictions of a student and its teacher, over some rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistillationLoss {
    /// The root mean square difference of the mean predictions, on the scale of the response that
    /// the teacher was given; for classes of the probabilities.
    pub rmse: f64,
    /// For classes, the mean of KL(teacher, student), in nats.
    pub divergence: Option<f64>,
    /// For classes, the share of rows whose most probable class differs.
    pub disagreement: Option<f64>,
    /// For classes, the root mean square difference of the expected entropies, in nats.
    pub entropy_rmse: Option<f64>,
}

impl Student {
    /// The network, whose weights are `fit.q`.
    ///
    /// # Errors
    /// Sizes that no network has, in a student that was read from a file.
    pub fn network(&self) -> Result<Mlp, Error> {
        Mlp::new(&self.sizes, self.activation)
    }

    /// The predictions for inputs `x` `[rows x features]`.
    ///
    /// # Errors
    /// A number of features other than in training, an input that is not finite.
    pub fn predict(&self, x: ArrayView2<f64>) -> Result<Distilled, Error> {
        let network = self.network()?;
        // One row, for its shape: the student needs no data.
        let (inputs, outputs) = (network.n_inputs(), network.n_outputs());
        let classes = self.learnt.classes;
        if classes > outputs {
            return Err(Error::shape("classes of the student", classes, outputs));
        }
        let blank = Dataset::regression(Array2::zeros((1, inputs)), Array2::zeros((1, outputs)))?;
        let outputs = student(network, self.learnt, &blank)?.predict_at(&self.fit.q, x)?;
        let mut unbounded = outputs.slice(s![.., classes..]).to_owned();
        self.scale.undo(&mut unbounded);
        Ok(match classes {
            0 => Distilled { mean: unbounded, expected_entropy: None },
            _ => {
                let entropy = unbounded.column(0).iter().map(|e| e.max(0.0)).collect();
                let mean = outputs.slice(s![.., ..classes]).to_owned();
                Distilled { mean, expected_entropy: Some(entropy) }
            }
        })
    }

    /// The differences between student and teacher on inputs `x`, which should not be inputs that
    /// the student was trained on.
    ///
    /// # Errors
    /// The errors of [`Distil::fit`].
    pub fn loss<M: Model, L: Likelihood>(
        &self,
        posterior: &Posterior<M, L>,
        draws: &Draws,
        x: ArrayView2<f64>,
    ) -> Result<DistillationLoss, Error> {
        let (teacher, student) = (Teacher::of(posterior, draws, x)?, self.predict(x)?);
        if teacher.is_classes != student.expected_entropy.is_some() {
            let kind = |is_classes| if is_classes { "classes" } else { "real numbers or counts" };
            let found = kind(teacher.is_classes);
            return Err(Error::argument(
                "response of the teacher",
                found,
                kind(!teacher.is_classes),
            ));
        }
        if teacher.mean.ncols() != student.mean.ncols() {
            let what = "columns of the teacher's predictions";
            return Err(Error::shape(what, teacher.mean.ncols(), student.mean.ncols()));
        }
        let rms = |sum: f64, n: usize| (sum / n as f64).sqrt();
        let square = |(a, b): (&f64, &f64)| (a - b) * (a - b);
        let rows = x.nrows() as f64;
        let of_rows = |of: &dyn Fn(&[f64], &[f64]) -> f64| {
            let pairs = teacher.mean.rows().into_iter().zip(student.mean.rows());
            pairs.map(|(t, s)| of(&t.to_vec(), &s.to_vec())).sum::<f64>() / rows
        };
        let divergence = |t: &[f64], s: &[f64]| {
            let of_class =
                //~ distilled-divergence
                |(t, s): (&f64, &f64)| if *t > 0.0 { t * (ln(*t) - ln(*s)) } else { 0.0 };
            t.iter().zip(s).map(of_class).sum()
        };
        let top = |p: &[f64]| p.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|a| a.0);
        let is_classes = teacher.is_classes;
        let entropies = student.expected_entropy.as_ref();
        Ok(DistillationLoss {
            rmse: rms(teacher.mean.iter().zip(&student.mean).map(square).sum(), teacher.mean.len()),
            divergence: is_classes.then(|| of_rows(&divergence)),
            disagreement: is_classes.then(|| of_rows(&|t, s| f64::from(top(t) != top(s)))),
            entropy_rmse: entropies.map(|entropies| {
                rms(teacher.entropy.iter().zip(entropies).map(square).sum(), x.nrows())
            }),
        })
    }
}

/// The predictions of all draws together.
struct Teacher {
    /// The mean prediction, `[rows x columns]`, with one column for each of two classes.
    mean: Array2<f64>,
    /// The expected entropy of each row, for classes.
    entropy: Vec<f64>,
    is_classes: bool,
}

impl Teacher {
    fn of<M: Model, L: Likelihood>(
        posterior: &Posterior<M, L>,
        draws: &Draws,
        x: ArrayView2<f64>,
    ) -> Result<Self, Error> {
        if x.nrows() == 0 {
            return Err(Error::shape("rows of the inputs", 0, "at least 1"));
        }
        if draws.n_chains() * draws.n_draws() == 0 {
            return Err(Error::shape("draws of the teacher", 0, "at least 1"));
        }
        if posterior.class_names().is_some() {
            let all = posterior.uncertainty(draws, x)?;
            let (mean, entropy) = (all.mean().to_owned(), all.measure(Measure::ExpectedEntropy));
            return Ok(Self { mean, entropy: entropy.to_vec(), is_classes: true });
        }
        let size = [(x.nrows(), "rows"), (posterior.model().n_outputs(), "outputs")];
        memory::check::<f64>("mean predictions", &size, "take fewer rows")?;
        let means = x.axis_chunks_iter(Axis(0), ROWS).map(|x| {
            let all = posterior.predict_mean(draws, x)?;
            Ok(all.mean_axis(Axis(0)).and_then(|all| all.mean_axis(Axis(0))).expect("a draw"))
        });
        let means = means.collect::<Result<Vec<_>, Error>>()?;
        let views: Vec<_> = means.iter().map(|mean| mean.view()).collect();
        let mean = concatenate(Axis(0), &views).expect("all have the same columns");
        Ok(Self { mean, entropy: Vec::new(), is_classes: false })
    }

    /// The quantities that the student learns by least squares.
    fn unbounded(&self) -> Array2<f64> {
        match self.is_classes {
            true => Array2::from_shape_fn((self.entropy.len(), 1), |(i, _)| self.entropy[i]),
            false => self.mean.clone(),
        }
    }
}

/// Mean and standard deviation of some columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Scaling(Vec<[f64; 2]>);

impl Scaling {
    fn of(columns: Array2<f64>) -> Self {
        let of_column = |column: ndarray::ArrayView1<f64>| {
            let (mean, sd) = (column.mean().unwrap_or(0.0), column.std(0.0));
            [mean, if sd > 0.0 { sd } else { 1.0 }]
        };
        Self(columns.columns().into_iter().map(of_column).collect())
    }

    fn undo(&self, columns: &mut Array2<f64>) {
        for (mut column, [mean, sd]) in columns.columns_mut().into_iter().zip(&self.0) {
            column.mapv_inplace(|z| mean + sd * z);
        }
    }
}

/// The student's likelihood: cross entropy in the first columns, squares in the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Learnt {
    classes: usize,
}

impl Learnt {
    fn targets(self, teacher: &Teacher, scale: &Scaling) -> Array2<f64> {
        let mut unbounded = teacher.unbounded();
        for (mut column, [mean, sd]) in unbounded.columns_mut().into_iter().zip(&scale.0) {
            column.mapv_inplace(|x| (x - mean) / sd);
        }
        match self.classes {
            0 => unbounded,
            _ => concatenate(Axis(1), &[teacher.mean.view(), unbounded.view()])
                .expect("both have the same rows"),
        }
    }

    /// log softmax of the outputs of one row that are logits.
    fn log_softmax(self, out: Tile, row: usize, to: &mut Vec<f64>) {
        to.clear();
        to.extend((0..self.classes).map(|k| out.column(k)[row]));
        let largest = to.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = to.iter().map(|z| exp(z - largest)).sum();
        to.iter_mut().for_each(|z| *z -= largest + ln(sum)); //~ log-sum-exp
    }

    /// The log likelihood of one row, of which `log_p` are the logarithms of the probabilities.
    fn of_row(self, log_p: &[f64], out: Tile, y: Tile, row: usize) -> f64 {
        let cross: f64 = log_p.iter().enumerate().map(|(k, l)| y.column(k)[row] * l).sum();
        let others = self.classes..out.columns();
        let squares: f64 =
            others.map(|k| 0.5 * (y.column(k)[row] - out.column(k)[row]).powi(2)).sum();
        cross - squares
    }
}

impl Likelihood for Learnt {
    fn encode(&self, response: &Response, _n_outputs: usize) -> Result<Array2<f64>, Error> {
        match response {
            Response::Real(y) => Ok(y.clone()),
            _ => Err(Error::argument("response of a student", "of another kind", "real")),
        }
    }

    fn log_lik_rows(&self, _phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let mut log_p = Vec::with_capacity(self.classes);
        for (row, value) in rows.iter_mut().enumerate() {
            self.log_softmax(out.as_tile(), row, &mut log_p);
            *value = self.of_row(&log_p, out.as_tile(), y, row);
        }
    }

    fn log_lik_grad(
        &self,
        _phi: &[f64],
        out: Tile,
        y: Tile,
        weights: Weights,
        mut d_out: TileMut,
        _d_phi: &mut [f64],
    ) -> f64 {
        let (mut log_p, mut sum) = (Vec::with_capacity(self.classes), 0.0);
        for (row, w) in weights.iter().enumerate() {
            self.log_softmax(out, row, &mut log_p);
            sum += weighted(*w, self.of_row(&log_p, out, y, row));
            for k in 0..out.columns() {
                let predicted = log_p.get(k).map_or(out.column(k)[row], |l| exp(*l));
                d_out.column(k)[row] = w * (y.column(k)[row] - predicted);
            }
        }
        sum
    }

    fn mean(&self, _phi: &[f64], out: Tile, mut mean: TileMut) {
        let mut log_p = Vec::with_capacity(self.classes);
        for row in 0..out.rows() {
            self.log_softmax(out, row, &mut log_p);
            for k in 0..out.columns() {
                let predicted = log_p.get(k).map_or(out.column(k)[row], |l| exp(*l));
                mean.column(k)[row] = predicted;
            }
        }
    }

    /// The mean: a student is no distribution.
    fn draw(&self, phi: &[f64], out: TileMut, _y: Tile, _rng: &mut ChainRng, drawn: TileMut) {
        self.mean(phi, out.as_tile(), drawn);
    }
}

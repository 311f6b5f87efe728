//! Predictions without draws: sums over draws, kept while the chain runs.

use std::fmt;

use ndarray::{Array2, Array4, ArrayView2};

use super::uncertainty::{ChainProbabilities, RunningUncertainty, Uncertainty};
use crate::Error;
use crate::draws::recorder::{ChainPlan, OneDraw, Recorder, RunningMoments};
use crate::engine::{TILE_ROWS, Tiles};
use crate::likelihood::Likelihood;
use crate::memory;
use crate::model::Model;
use crate::posterior::{Posterior, PosteriorWorkspace};
use crate::posterior::{check_finite, check_inputs};
use crate::targets::Target;

/// Inputs, and the posterior whose model they are put through.
struct Inputs<'p, M, L> {
    posterior: &'p Posterior<M, L>,
    x: Tiles,
    /// A checksum of the numbers.
    crc: u32,
}

/// Scratch memory of one chain.
struct Forward<W> {
    ws: PosteriorWorkspace<W>,
    tile: Vec<f64>,
    /// E[y | x, q], `[row, column]`.
    mean: Vec<f64>,
    /// Var[y | x, q], `[row, column]`; empty for classes, whose noise is not needed.
    variance: Vec<f64>,
}

impl<'p, M: Model, L: Likelihood> Inputs<'p, M, L> {
    fn new(posterior: &'p Posterior<M, L>, x: ArrayView2<f64>) -> Result<Self, Error> {
        check_inputs(posterior.model(), x.ncols())?;
        check_finite(x)?;
        if x.nrows() == 0 {
            return Err(Error::argument("number of inputs", 0, "at least 1"));
        }
        let mut crc = crc32fast::Hasher::new();
        x.iter().for_each(|x| crc.update(&x.to_le_bytes()));
        Ok(Self { posterior, x: posterior.tiles_of(x), crc: crc.finalize() })
    }

    fn rows(&self) -> usize {
        self.x.rows()
    }

    fn columns(&self) -> usize {
        self.posterior.likelihood().n_means(self.posterior.model().n_outputs())
    }

    /// Checks that `target` is a view of the posterior, with all its parameters: at some q it has
    /// the same log likelihood, which another activation or another order of classes would change.
    fn check(&self, target: &impl Target) -> Result<(), Error> {
        let of =
            |what| format!("{what} of the target (was the recorder made for another posterior?)");
        let (found, expected) = (target.layout(), self.posterior.layout());
        if found != *expected {
            return Err(Error::shape(of("parameters"), found.described(), expected.described()));
        }
        let q: Vec<f64> = (0..found.dim()).map(|i| 0.1 * (i as f64).sin()).collect();
        let found = target.log_density(&q, &mut target.workspace()).likelihood;
        let expected = self.posterior.log_density(&q, &mut self.posterior.workspace()).likelihood;
        // NaN outside the support.
        if (found - expected).abs() > 1e-6 * (1.0 + expected.abs()) {
            return Err(Error::shape(of("log likelihood"), found, expected));
        }
        Ok(())
    }

    /// Checks that all chains have room for `sums` numbers for each input, and for `mean`.
    fn scratch(&self, chains: usize, sums: usize) -> Result<Forward<M::Workspace>, Error> {
        let (rows, columns) = (self.rows(), self.columns());
        let size = [(chains, "chains"), (rows, "inputs"), (columns + sums, "numbers")];
        memory::check::<f64>("streamed predictions", &size, "give fewer inputs at a time")?;
        let ws = self.posterior.workspace();
        let (tile, mean) = (vec![0.0; TILE_ROWS * columns], vec![0.0; rows * columns]);
        Ok(Forward { ws, tile, mean, variance: Vec::new() })
    }

    /// E[y | x, q] `[row, column]`, and whether there is a variance of the noise, now in `scratch`.
    fn forward<'s>(
        &self,
        q: &[f64],
        scratch: &'s mut Forward<M::Workspace>,
    ) -> (ArrayView2<'s, f64>, bool) {
        let Forward { ws, tile, mean, variance } = scratch;
        let has_noise = self.posterior.write_moments(q, &self.x, ws, tile, mean, variance);
        let view = ArrayView2::from_shape((self.rows(), self.columns()), &mean[..]);
        (view.expect("there is a number for each row and column"), has_noise)
    }

    fn config(&self) -> String {
        format!("{} x {} inputs with checksum {}", self.rows(), self.x.columns(), self.crc)
    }
}

/// Records the [uncertainty](Uncertainty) of the classification of given inputs, without keeping draws
/// of q, and for chosen inputs the probabilities along the chain.
///
/// The result equals [`Posterior::uncertainty`]: in every bit for one chain, up to rounding for
/// several. See [recorders](crate::draws::recorder) for an example and for the memory. A recorded
/// draw costs one forward pass over the inputs.
pub struct StreamedUncertainty<'p, M, L> {
    inputs: Inputs<'p, M, L>,
    class_names: Vec<String>,
    chosen: Vec<usize>,
}

/// The sums over the draws of one chain that [`StreamedUncertainty`] records.
pub struct UncertaintyRecord<W> {
    running: RunningUncertainty,
    /// `[draw, chosen input, column]`.
    along: Vec<f64>,
    scratch: Forward<W>,
}

impl<W> UncertaintyRecord<W> {
    /// The sums, to take the uncertainty of this chain alone, or to store them.
    pub fn running(&self) -> &RunningUncertainty {
        &self.running
    }
}

impl<'p, M: Model, L: Likelihood> StreamedUncertainty<'p, M, L> {
    /// For inputs `x` `[rows x features]`, on the scale of the training data; they need no labels.
    ///
    /// # Errors
    /// If the response of the posterior is not classes, features do not fit, an input is not finite,
    /// or there are no inputs.
    pub fn new(posterior: &'p Posterior<M, L>, x: ArrayView2<f64>) -> Result<Self, Error> {
        let class_names = posterior.class_names_or_error()?.to_vec();
        Ok(Self { inputs: Inputs::new(posterior, x)?, class_names, chosen: Vec::new() })
    }

    /// Keeps the probabilities of every draw for these rows of x, counted from 0, as well: 8 bytes
    /// per draw, row and class.
    ///
    /// # Errors
    /// If a row does not exist.
    pub fn along(mut self, rows: &[usize]) -> Result<Self, Error> {
        let inputs = self.inputs.rows();
        if let Some(row) = rows.iter().find(|row| **row >= inputs) {
            return Err(Error::argument("rows", row, format!("less than {inputs}")));
        }
        self.chosen = rows.to_vec();
        Ok(self)
    }

    /// The uncertainty by all draws of all chains.
    ///
    /// # Errors
    /// If there are none, or they are of other inputs.
    pub fn uncertainty(
        &self,
        records: &[UncertaintyRecord<M::Workspace>],
    ) -> Result<Uncertainty, Error> {
        let mut all = RunningUncertainty::new(self.inputs.rows(), self.class_names.clone())?;
        records.iter().try_for_each(|record| all.merge(&record.running))?;
        all.uncertainty()
    }

    /// The class probabilities along the chains, for the rows chosen with [`along`](Self::along),
    /// cut to the draws that all chains have.
    ///
    /// # Errors
    /// If no row was chosen.
    pub fn along_chains(
        &self,
        records: &[UncertaintyRecord<M::Workspace>],
    ) -> Result<ChainProbabilities, Error> {
        let (chosen, columns) = (self.chosen.len(), self.inputs.columns());
        if chosen == 0 {
            return Err(Error::argument("rows", "empty", "at least one: see `along`"));
        }
        let width = chosen * columns;
        let draws = records.iter().map(|r| r.along.len() / width).min().unwrap_or(0);
        let size = [(records.len(), "chains"), (draws, "draws"), (width, "probabilities")];
        memory::check::<f64>("probabilities along the chains", &size, "choose fewer rows")?;
        let mut values = Vec::with_capacity(records.len() * draws * width);
        for record in records {
            values.extend_from_slice(&record.along[..draws * width]);
        }
        let values = Array4::from_shape_vec((records.len(), draws, chosen, columns), values)
            .expect("all chains were cut alike");
        ChainProbabilities::of_rows(values.view(), &self.chosen, self.class_names.clone())
    }
}

impl<T, M, L> Recorder<T> for StreamedUncertainty<'_, M, L>
where
    T: Target,
    M: Model,
    L: Likelihood,
{
    type Record = UncertaintyRecord<M::Workspace>;
    type State = (RunningUncertainty, Vec<f64>);

    fn name(&self) -> String {
        "StreamedUncertainty".into()
    }

    fn begin(
        &self,
        target: &T,
        plan: ChainPlan,
        from: Option<Self::State>,
    ) -> Result<Self::Record, Error> {
        self.inputs.check(target)?;
        // Probabilities and votes of all classes, and the entropy.
        let scratch = self.inputs.scratch(plan.chains_here, 2 * self.class_names.len() + 1)?;
        let width = self.chosen.len() * self.inputs.columns();
        let size = [(plan.chains_here, "chains"), (plan.draws, "draws"), (width, "probabilities")];
        memory::check::<f64>("probabilities along the chains", &size, "choose fewer rows")?;
        let mut along = Vec::with_capacity(plan.draws * width);
        let running = match from {
            None => RunningUncertainty::new(self.inputs.rows(), self.class_names.clone())?,
            Some((running, so_far)) => {
                along.extend(so_far);
                running
            }
        };
        Ok(UncertaintyRecord { running, along, scratch })
    }

    fn record(
        &self,
        record: &mut Self::Record,
        _: &T,
        draw: OneDraw,
        _: &mut T::Workspace,
    ) -> Result<(), Error> {
        let (p, _) = self.inputs.forward(draw.q, &mut record.scratch);
        record.running.add(p)?;
        self.chosen.iter().for_each(|row| record.along.extend(p.row(*row)));
        Ok(())
    }

    fn state(&self, record: &Self::Record) -> Result<Self::State, Error> {
        Ok((record.running.clone(), record.along.clone()))
    }

    fn config(&self) -> String {
        format!("{}, along {:?}", self.inputs.config(), self.chosen)
    }
}

/// Records mean and variance over draws of E\[y | x, q\] for given inputs, and the mean of the
/// noise variance: for a real response and counts in one column. For classes and counts of
/// categories it records moments of the probabilities.
///
/// The [recorder](crate::draws::recorder) puts every draw through the model for given inputs x, and
/// keeps sums, which do not grow with the number of draws. With S draws q_s of all chains, for each
/// input and output,
///
/// ```text
/// m_s   = E[y | x, q_s]                    what draw s expects
/// mean  = 1/S sum_s m_s                    the predictive mean E[y | x]
/// sd^2  = 1/(S - 1) sum_s (m_s - mean)^2   what is not known about the mean function
/// tau^2 = 1/S sum_s Var[y | x, q_s]        the noise
/// total_sd^2 = sd^2 + tau^2                the spread of a new observation
/// ```
///
/// the first two by Welford's and Chan's [formulas](crate::adapt::Variance); the last line is the
/// law of total variance. m_s and the sds are in units of the response. For classes,
/// [`StreamedUncertainty`] says more.
///
/// **Cost.** One forward pass over x for each recorded draw: less than a gradient takes over as
/// many training rows. Where that is much beside the steps between two draws,
/// [`Sampler::thin`](crate::sampler::Sampler::thin) more. Memory: see the
/// [table](crate::draws::recorder#memory).
///
/// **Not for** quantiles or scores of single draws, which need the draws: keep every k-th
/// [on disk](crate::draws::recorder::OnDisk).
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::{Array2, array};
///
/// // y = 2 x + N(0, 0.5^2).
/// let mut rng = ChainRng::new(1, 0);
/// let x = Array2::from_shape_fn((400, 1), |_| rng.normal());
/// let y = x.mapv(|x| 2.0 * x + 0.5 * rng.normal());
/// let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 5.0)?)
///     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::sampled(), &data, priors)?;
///
/// let streamed = StreamedMoments::new(&posterior, array![[0.0], [3.0]].view())?;
/// let sampler = Sampler::new(&posterior, Nuts::default()).keep(Keep::Statistics);
/// let (_, records) = sampler.run_with(&streamed)?;
/// let predicted = streamed.moments(&records)?;
/// assert!((predicted.mean[(1, 0)] - 6.0).abs() < 0.3);
/// assert!(predicted.sd[(1, 0)] < 0.15 && predicted.sd[(0, 0)] < predicted.sd[(1, 0)]);
/// assert!((predicted.noise_variance.unwrap()[(0, 0)] - 0.25).abs() < 0.06);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
pub struct StreamedMoments<'p, M, L> {
    inputs: Inputs<'p, M, L>,
}

/// The running moments of one chain that [`StreamedMoments`] records.
pub struct MomentsRecord<W> {
    /// The moments of E[y | x, q], by input and output.
    mean: RunningMoments,
    /// The sum over draws of the noise variance, by input and output; empty if there is none. A
    /// plain sum: running moments of infinite variances would be NaN.
    noise: Vec<f64>,
    scratch: Forward<W>,
}

/// Mean and standard deviation of predictions for given inputs, in the symbols of
/// [`StreamedMoments`], which makes them.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictiveMoments {
    /// The predictive mean E\[y | x\], `[row, column]`.
    pub mean: Array2<f64>,
    /// The standard deviation of E\[y | x, q\] over draws, `[row, column]`: the part that more data
    /// would reduce. NaN for a single draw.
    pub sd: Array2<f64>,
    /// The mean over draws of the variance of the noise Var\[y | x, q\], `[row, column]`, for a real
    /// response and counts in one column; infinite if any draw has an infinite variance, such as
    /// Student-t noise with nu <= 2.
    pub noise_variance: Option<Array2<f64>>,
    /// The number of draws.
    pub draws: u64,
}

impl PredictiveMoments {
    /// The standard deviation of a new observation, `[row, column]`; `None` without a noise
    /// variance.
    pub fn total_sd(&self) -> Option<Array2<f64>> {
        let noise = self.noise_variance.as_ref()?;
        Some((self.sd.mapv(|sd| sd * sd) + noise).mapv(f64::sqrt))
    }
}

impl<'p, M: Model, L: Likelihood> StreamedMoments<'p, M, L> {
    /// For inputs `x` `[rows x features]`, on the scale of the training data.
    ///
    /// # Errors
    /// If features do not fit, an input is not finite, or there are no inputs.
    pub fn new(posterior: &'p Posterior<M, L>, x: ArrayView2<f64>) -> Result<Self, Error> {
        Ok(Self { inputs: Inputs::new(posterior, x)? })
    }

    /// The moments over all draws of all chains.
    ///
    /// # Errors
    /// If there are none, or they are of other inputs.
    pub fn moments(
        &self,
        records: &[MomentsRecord<M::Workspace>],
    ) -> Result<PredictiveMoments, Error> {
        let shape = (self.inputs.rows(), self.inputs.columns());
        let mut all = RunningMoments::new(shape.0 * shape.1)?;
        let mut noise = vec![0.0; shape.0 * shape.1];
        for record in records {
            all.merge(&record.mean)?;
            add(&mut noise, &record.noise);
        }
        if all.draws() == 0 {
            return Err(Error::shape("recorded draws", 0, "at least 1"));
        }
        let array = |values: Vec<f64>| {
            Array2::from_shape_vec(shape, values).expect("one number for each input and output")
        };
        let has_noise = records.iter().any(|record| !record.noise.is_empty());
        noise.iter_mut().for_each(|sum| *sum /= all.draws() as f64);
        Ok(PredictiveMoments {
            mean: array(all.mean().to_vec()),
            sd: array(all.variance().into_iter().map(f64::sqrt).collect()),
            noise_variance: has_noise.then(|| array(noise)),
            draws: all.draws(),
        })
    }
}

impl<T, M, L> Recorder<T> for StreamedMoments<'_, M, L>
where
    T: Target,
    M: Model,
    L: Likelihood,
{
    type Record = MomentsRecord<M::Workspace>;
    type State = (RunningMoments, Vec<f64>);

    fn name(&self) -> String {
        "StreamedMoments".into()
    }

    fn begin(
        &self,
        target: &T,
        plan: ChainPlan,
        from: Option<Self::State>,
    ) -> Result<Self::Record, Error> {
        self.inputs.check(target)?;
        // Variances, their sums, and means and squares of E[y | x, q].
        let mut scratch = self.inputs.scratch(plan.chains_here, 4 * self.inputs.columns())?;
        scratch.variance = vec![0.0; scratch.mean.len()];
        let (mean, noise) = match from {
            Some(so_far) => so_far,
            None => {
                let n = scratch.mean.len();
                (RunningMoments::new(n)?, Vec::with_capacity(n))
            }
        };
        Ok(MomentsRecord { mean, noise, scratch })
    }

    fn record(
        &self,
        record: &mut Self::Record,
        _: &T,
        draw: OneDraw,
        _: &mut T::Workspace,
    ) -> Result<(), Error> {
        let (_, has_noise) = self.inputs.forward(draw.q, &mut record.scratch);
        record.mean.add(&record.scratch.mean)?;
        if has_noise {
            record.noise.resize(record.scratch.variance.len(), 0.0);
            add(&mut record.noise, &record.scratch.variance);
        }
        Ok(())
    }

    fn state(&self, record: &Self::Record) -> Result<Self::State, Error> {
        Ok((record.mean.clone(), record.noise.clone()))
    }

    fn config(&self) -> String {
        self.inputs.config()
    }
}

/// Adds `values`, if there are any, to `sums`.
fn add(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

impl<M, L> fmt::Debug for StreamedUncertainty<'_, M, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.inputs.x.rows();
        f.debug_struct("StreamedUncertainty").field("inputs", &rows).finish_non_exhaustive()
    }
}

impl<M, L> fmt::Debug for StreamedMoments<'_, M, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.inputs.x.rows();
        f.debug_struct("StreamedMoments").field("inputs", &rows).finish_non_exhaustive()
    }
}

impl<W> fmt::Debug for UncertaintyRecord<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let draws = self.running.draws();
        f.debug_struct("UncertaintyRecord").field("draws", &draws).finish_non_exhaustive()
    }
}

impl<W> fmt::Debug for MomentsRecord<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let draws = self.mean.draws();
        f.debug_struct("MomentsRecord").field("draws", &draws).finish_non_exhaustive()
    }
}

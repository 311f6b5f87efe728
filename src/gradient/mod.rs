//! Where an unadjusted kernel takes its gradients from.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use rand::Rng;

use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::Step;
use crate::targets::{Cached, GradTarget, LogDensity, MinibatchTarget, Point, Target};

/// Where gradients come from: configuration.
///
/// With N rows of data and a batch b of |b| of them, g~(q) is one of
///
/// ```text
/// FullGrad          grad log pi(q)
/// Minibatch         grad log p(q) + N/|b| sum_b grad ell_i(q)
/// ControlVariates   grad log pi(m) + [grad log p(q) - grad log p(m)]
///                   + N/|b| sum_b [grad ell_i(q) - grad ell_i(m)]
/// ```
///
/// where m is a mode of pi, or a point near one. All have the full gradient as their mean. The variance
/// of the second is of order N^2/|b| everywhere; that of the third is smaller by the factor |q - m|^2
/// (for rows of unit scale): it pays where the posterior is narrow and has one mode, and costs more
/// than it gains where q is far from m, in another mode of a network, say.
///
/// **Batches.** Rows are drawn without replacement over an epoch: each is used once before any is used
/// again, in an order that is drawn anew for every epoch. If |b| does not divide N, the N mod |b| rows
/// that are left over at the end of an epoch are left out of it (other rows each time), so that all
/// batches have the same noise. The place in the epoch and its order belong to the kernel's state: a
/// resumed run goes on with the batch that an uninterrupted one would have used.
///
/// **Thinning.** The noises of an epoch nearly add up to zero, so that what is sampled depends on the place in the
/// epoch: right after its end the bias is smallest, halfway it is largest. Thinning by a number that shares a factor
/// with N/|b| sees some of the places only. On the line of [`sgld`](crate::sampler::sgld), with ten batches and h = 5e-4,
/// thinned by 10, the error of the variances was +0.14 at the end of epochs and +0.37 halfway; thinned by 7, +0.30.
///
/// **Cost.** A minibatch gradient costs |b|/N of a full one, one with control variates twice that; both
/// count in a step's `gradient_evals` as they are (1 and 2), not as parts of a full gradient. The full
/// gradient at m is computed once, when the kernel is built. O(d) beside it: the prior's gradient.
///
/// **What it costs in accuracy** (`examples/sgmcmc_bias.rs`; logistic regression, 35 weights, 246 rows, against
/// a long run of NUTS): mean relative error of the posterior variances, for as many visits of rows, a step
/// with control variates costing two minibatches. Noise of these runs: 0.02. In brackets the root mean squared
/// error of the predicted probabilities of test rows, in per cent; its noise is 0.5 to 0.7.
///
/// | batch | h | SGLD | with control variates | h | SGHMC | BAOAB | BAOAB, control variates |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | 8 | 0.016 | +4.15 (5.9) | +2.25 (4.3) | 0.13 | +3.16 (5.5) | +2.86 (5.2) | +1.35 (3.5) |
/// | 8 | 0.008 | +0.94 (3.5) | +0.38 (2.1) | 0.089 | +1.14 (3.8) | +1.16 (3.8) | +0.46 (2.3) |
/// | 8 | 0.004 | +0.20 (1.9) | +0.06 (1.0) | 0.063 | +0.49 (2.7) | +0.49 (2.7) | +0.17 (1.5) |
/// | 30 | 0.016 | +0.50 (2.9) | +0.24 (1.7) | 0.13 | +0.57 (3.4) | +0.18 (1.8) | +0.05 (0.8) |
/// | 30 | 0.008 | +0.07 (1.2) | +0.03 (0.6) | 0.089 | +0.08 (1.2) | +0.05 (1.1) | +0.00 (0.6) |
/// | 30 | 0.004 | +0.00 (0.7) | +0.01 (0.5) | 0.063 | +0.02 (0.8) | +0.01 (0.7) | -0.00 (0.5) |
///
/// The bias falls with h and with the noise of the gradient, and control variates beat plain minibatches at
/// equal cost wherever the bias exceeds the noise of the runs. With data as few as these, MALA on all rows gets as far without bias.
///
/// No kernel with a Metropolis test has a gradient source: the test would need the exact density.
///
/// Sources: minibatches, Welling and Teh, *Bayesian learning via stochastic gradient Langevin
/// dynamics*, ICML 2011; control variates, Baker, Fearnhead, Fox and Nemeth, Statistics and Computing
/// 29, 2019, arXiv:1706.05439.
pub trait GradSource<T: Target>: Sync {
    /// The gradients of one chain.
    type Stream: GradStream<T>;

    /// Its name, for that of the [`Algorithm`](crate::sampler::Algorithm) that uses it.
    fn name(&self) -> String;

    /// Checks the configuration against the target and allocates what a gradient needs.
    fn stream(&self, target: &T) -> Result<Self::Stream, Error>;
}

/// The gradients of one chain, with their state.
///
/// A stream holds the gradient at one position, that of the chain.
pub trait GradStream<T: Target>: Send {
    /// All that the next gradient depends on besides the position and the chain's random stream.
    type State: Serialize + DeserializeOwned + Send;

    /// Whether the gradients are those of the log density itself, and [`estimate`](Self::estimate) is
    /// its value.
    const IS_EXACT: bool;

    /// A copy of the state.
    fn state(&self) -> Self::State;

    /// Takes up a state that a stream of the same configuration on the same target had.
    fn restore(&mut self, state: Self::State);

    /// Makes the gradient at `point` the one that is held, unless it is that already.
    ///
    /// Returns what a move to `point` amounts to, and how many gradients were evaluated: it is not
    /// accepted outside the support, and divergent where the density or its gradient is not finite.
    /// Then the gradient that was held before still is. Must not allocate.
    fn eval(
        &mut self,
        target: &T,
        point: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step;

    /// The gradient at `point`, which `eval` has accepted.
    fn grad<'a>(&'a self, point: &'a Point) -> &'a [f64];

    /// What is known about the log density at `point` from the evaluation of its gradient: the value, or
    /// an unbiased estimate. Not part of the state, hence NaN after it was restored.
    fn estimate(&self, point: &Point) -> LogDensity;
}

/// Where the gradient is held already.
const KNOWN: Step = Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 0 };

/// What a move to a place with this log density and gradient amounts to.
fn arrival(density: LogDensity, grad: &[f64], gradient_evals: u32) -> Step {
    let outside = density.is_outside_support();
    let fine = density.is_finite() && grad.iter().all(|g| g.is_finite());
    Step { accept_prob: None, accepted: fine, divergent: !fine && !outside, gradient_evals }
}

/// The gradient of the log density itself, over all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullGrad;

impl<T: GradTarget> GradSource<T> for FullGrad {
    type Stream = Self;

    fn name(&self) -> String {
        "FullGrad".into()
    }

    fn stream(&self, _target: &T) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl<T: GradTarget> GradStream<T> for FullGrad {
    type State = ();

    const IS_EXACT: bool = true;

    fn state(&self) {}

    fn restore(&mut self, (): ()) {}

    fn eval(
        &mut self,
        target: &T,
        point: &mut Point,
        ws: &mut T::Workspace,
        _rng: &mut ChainRng,
    ) -> Step {
        if point.has_grad() {
            return KNOWN;
        }
        let density = point.eval_grad(target, ws);
        arrival(density, point.grad(), 1)
    }

    fn grad<'a>(&'a self, point: &'a Point) -> &'a [f64] {
        point.grad()
    }

    fn estimate(&self, point: &Point) -> LogDensity {
        point.log_density()
    }
}

/// Gradients of random batches of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minibatch {
    /// |b|, from 1 to the number of rows.
    pub size: usize,
}

impl Default for Minibatch {
    /// 32 rows.
    fn default() -> Self {
        Self { size: 32 }
    }
}

/// Gradients of random batches of rows, as differences to those at a mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlVariates {
    /// |b|, from 1 to the number of rows.
    pub size: usize,
    /// m, as long as q: where the differences are small. [`Adam`](crate::optimise::Adam) finds one.
    pub mode: Vec<f64>,
}

impl<T: MinibatchTarget> GradSource<T> for Minibatch {
    type Stream = MinibatchStream;

    fn name(&self) -> String {
        "Minibatch".into()
    }

    fn stream(&self, target: &T) -> Result<MinibatchStream, Error> {
        MinibatchStream::new(target, self.size, None)
    }
}

impl<T: MinibatchTarget> GradSource<T> for ControlVariates {
    type Stream = MinibatchStream;

    fn name(&self) -> String {
        "ControlVariates".into()
    }

    fn stream(&self, target: &T) -> Result<MinibatchStream, Error> {
        target.check_control_variates()?;
        if self.mode.len() != target.dim() {
            return Err(Error::shape("length of `mode`", self.mode.len(), target.dim()));
        }
        let mut grad = vec![0.0; target.dim()];
        let density = target.log_density_grad(&self.mode, &mut grad, &mut target.workspace());
        if !arrival(density, &grad, 1).accepted {
            let what = "log density at `mode`";
            return Err(Error::argument(what, density.total(), "finite, as its gradient"));
        }
        let center = Center { at: self.mode.clone(), grad, batch: vec![0.0; target.dim()] };
        MinibatchStream::new(target, self.size, Some(center))
    }
}

/// The gradients of [`Minibatch`] and of [`ControlVariates`].
#[derive(Debug)]
pub struct MinibatchStream {
    state: MinibatchState,
    center: Option<Center>,
    new: Vec<f64>,
    estimate: LogDensity,
}

/// The mode m of control variates, the full gradient there, and room for that of a batch.
#[derive(Debug)]
struct Center {
    at: Vec<f64>,
    grad: Vec<f64>,
    batch: Vec<f64>,
}

/// The state of a [`MinibatchStream`]: its place in the epoch, and the gradient it holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MinibatchState {
    epoch: Epoch,
    grad: Cached<Vec<f64>>,
}

impl MinibatchStream {
    fn new<T: MinibatchTarget>(
        target: &T,
        size: usize,
        center: Option<Center>,
    ) -> Result<Self, Error> {
        let zeros = vec![0.0; target.dim()];
        let epoch = Epoch::new(target.n_obs(), size)?;
        let state = MinibatchState { epoch, grad: Cached::new(zeros.clone()) };
        let estimate = LogDensity::new(f64::NAN, f64::NAN);
        Ok(Self { state, center, new: zeros, estimate })
    }
}

impl<T: MinibatchTarget> GradStream<T> for MinibatchStream {
    type State = MinibatchState;

    const IS_EXACT: bool = false;

    fn state(&self) -> MinibatchState {
        self.state.clone()
    }

    fn restore(&mut self, state: MinibatchState) {
        self.state = state;
        self.estimate = LogDensity::new(f64::NAN, f64::NAN);
    }

    fn eval(
        &mut self,
        target: &T,
        point: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        if self.state.grad.is_of(point) {
            return KNOWN;
        }
        let rows = self.state.epoch.next_batch(rng);
        let (density, evals) = match &mut self.center {
            None => (target.minibatch_grad(rows, point.q(), &mut self.new, ws), 1),
            Some(Center { at, grad, batch }) => {
                let both = [&mut self.new[..], &mut batch[..]];
                let [here, _] = target.minibatch_grad_pair(rows, [point.q(), at], both, ws);
                for ((new, batch), grad) in self.new.iter_mut().zip(batch).zip(grad) {
                    *new += *grad - *batch;
                }
                (here, 2)
            }
        };
        let step = arrival(density, &self.new, evals);
        if step.accepted {
            self.state.grad.set(point, |grad| std::mem::swap(grad, &mut self.new));
            self.estimate = density;
        }
        step
    }

    fn grad<'a>(&'a self, point: &'a Point) -> &'a [f64] {
        self.state.grad.at(point)
    }

    /// The estimate by the batch alone, also where the gradient has control variates.
    fn estimate(&self, _point: &Point) -> LogDensity {
        self.estimate
    }
}

/// Batches of rows without replacement over shuffled epochs.
///
/// ```
/// use bnn_mcmc::rng::ChainRng;
/// use bnn_mcmc::sampler::Epoch;
/// let mut epoch = Epoch::new(10, 4)?;
/// let mut rng = ChainRng::new(1, 0);
/// let mut rows = epoch.next_batch(&mut rng).to_vec();
/// rows.extend(epoch.next_batch(&mut rng));
/// rows.sort();
/// rows.dedup();
/// assert_eq!(rows.len(), 8); // two are left out; the third batch begins a new epoch
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// Those before `place` are used up; the others have no order yet.
    rows: Vec<usize>,
    place: usize,
    size: usize,
}

impl Epoch {
    /// Batches of `size` out of `n` rows.
    ///
    /// Errors: `size` is 0 or beyond `n`.
    pub fn new(n: usize, size: usize) -> Result<Self, Error> {
        if !(1..=n).contains(&size) {
            let allowed = format!("from 1 to the {n} rows of the data");
            return Err(Error::argument("size of a minibatch", size, allowed));
        }
        Ok(Self { rows: (0..n).collect(), place: 0, size })
    }

    /// The next batch. Fisher and Yates' shuffle, as far as the batch needs it.
    pub fn next_batch(&mut self, rng: &mut ChainRng) -> &[usize] {
        if self.rows.len() - self.place < self.size {
            self.place = 0;
        }
        let batch = self.place..self.place + self.size;
        for i in batch.clone() {
            let j = rng.random_range(i..self.rows.len());
            self.rows.swap(i, j);
        }
        self.place = batch.end;
        &self.rows[batch]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_use_each_row_once_and_all_rows_equally() {
        let mut rng = ChainRng::new(2, 0);
        for (n, size) in [(12, 4), (10, 4), (7, 7), (5, 1)] {
            let mut epoch = Epoch::new(n, size).unwrap();
            let (mut counts, mut pairs) = (vec![0u32; n], 0u32);
            let epochs = 3000;
            for _ in 0..epochs {
                let mut seen = vec![false; n];
                for batch in 0..n / size {
                    for row in epoch.next_batch(&mut rng) {
                        assert!(!std::mem::replace(&mut seen[*row], true), "row {row} twice");
                        counts[*row] += 1;
                        pairs += u32::from(batch == 0 && *row < 2);
                    }
                }
            }
            // Each row is in an epoch with probability (n - n mod size) / n, and in its first batch with
            // probability size / n.
            let used = (n - n % size) as f64 / n as f64;
            let sd = (f64::from(epochs) * used * (1.0 - used)).sqrt();
            for count in counts {
                assert!((f64::from(count) - used * f64::from(epochs)).abs() <= 5.0 * sd);
            }
            let p = size as f64 / n as f64;
            let sd = (2.0 * f64::from(epochs) * p * (1.0 - p)).sqrt();
            assert!((f64::from(pairs) - 2.0 * p * f64::from(epochs)).abs() <= 5.0 * sd);
        }
    }

    #[test]
    fn batches_beyond_the_data_are_refused() {
        for size in [0, 11, usize::MAX] {
            let message = Epoch::new(10, size).unwrap_err().to_string();
            assert!(message.contains("`size of a minibatch`"), "{message}");
            assert!(message.contains("1 to the 10 rows"), "{message}");
        }
    }
}

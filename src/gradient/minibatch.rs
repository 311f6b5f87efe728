//! Gradients of random batches of rows, plain or with control variates: one stream for both.

use serde::{Deserialize, Serialize};

use super::epoch::Epoch;
use super::source::{KNOWN, arrival};
use super::{GradSource, GradStream};
use crate::Error;
use crate::kernel::Step;
use crate::rng::ChainRng;
use crate::targets::{Cached, LogDensity, MinibatchTarget, Point};

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

/// Gradients of random batches of rows, as differences to the gradients at a mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlVariates {
    /// |b|, from 1 to the number of rows.
    pub size: usize,
    /// The mode m, as long as q, near which the differences are small.
    /// [`Adam`](crate::optimise::Adam) finds one.
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
        let centre = Centre { at: self.mode.clone(), grad, batch: vec![0.0; target.dim()] };
        MinibatchStream::new(target, self.size, Some(centre))
    }
}

/// The gradients of [`Minibatch`] and of [`ControlVariates`].
#[derive(Debug)]
pub struct MinibatchStream {
    state: MinibatchState,
    centre: Option<Centre>,
    new: Vec<f64>,
    estimate: LogDensity,
}

/// The mode m of control variates, the full gradient at m, and scratch memory for the gradient of a
/// batch at m.
#[derive(Debug)]
struct Centre {
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
        centre: Option<Centre>,
    ) -> Result<Self, Error> {
        let zeros = vec![0.0; target.dim()];
        let epoch = Epoch::new(target.n_obs(), size)?;
        let state = MinibatchState { epoch, grad: Cached::new(zeros.clone()) };
        let estimate = LogDensity::new(f64::NAN, f64::NAN);
        Ok(Self { state, centre, new: zeros, estimate })
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
        let (density, evals) = match &mut self.centre {
            None => (target.minibatch_grad_at(1.0, rows, point.q(), &mut self.new, ws), 1),
            Some(Centre { at, grad, batch }) => {
                let both = [&mut self.new[..], &mut batch[..]];
                let [here, _] = target.minibatch_grad_pair_at(1.0, rows, [point.q(), at], both, ws);
                for ((new, batch), grad) in self.new.iter_mut().zip(batch).zip(grad) {
                    *new += *grad - *batch; //~ control-variate-difference
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

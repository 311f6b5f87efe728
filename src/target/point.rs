//! A point of a chain, with what is known about the target there.

use serde::{Deserialize, Serialize};

use super::{GradTarget, LogDensity, Target};
use crate::linalg::local_metric::LocalMetric;

/// A position q with its log density, its gradient, its image under a kernel's drift, and a kernel's
/// metric there.
///
/// What is known is tied to the position: [`set`](Self::set) forgets it and only the `eval`
/// methods fill it, so that a value of another position cannot be read. Checkpoints store all but the
/// metric, which is computed again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    q: Vec<f64>,
    grad: Vec<f64>,
    drift: Vec<f64>,
    log_density: Option<LogDensity>,
    grad_is_valid: bool,
    drift_is_valid: bool,
    mark: Option<u64>,
    #[serde(skip)]
    metric: Option<Box<LocalMetric>>,
    /// The kernel whose metric it is, if that is of this position.
    #[serde(skip)]
    metric_of: Option<u64>,
}

impl Point {
    /// The origin of a space of `dim` dimensions; nothing is known about the target.
    pub fn new(dim: usize) -> Self {
        Self {
            q: vec![0.0; dim],
            grad: vec![0.0; dim],
            drift: Vec::new(),
            log_density: None,
            grad_is_valid: false,
            drift_is_valid: false,
            mark: None,
            metric: None,
            metric_of: None,
        }
    }

    /// The position.
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// Moves the point: `write` gets the old position to change.
    pub fn set(&mut self, write: impl FnOnce(&mut [f64])) {
        self.log_density = None;
        self.grad_is_valid = false;
        self.drift_is_valid = false;
        self.mark = None;
        self.metric_of = None;
        write(&mut self.q);
    }

    /// As [`set`](Self::set), for a position whose log density is that of `other`, another view of the
    /// same target, if it is known there.
    pub(crate) fn set_as_in(&mut self, other: &Self, write: impl FnOnce(&mut [f64])) {
        self.set(write);
        self.log_density = other.log_density;
    }

    /// Exchanges the positions of two points of tempered views of one target. Each keeps its own power
    /// of the likelihood, whose value goes with the position; gradients are forgotten.
    pub(crate) fn exchange(&mut self, other: &mut Self) {
        let (here, there) = (self.log_density(), other.log_density());
        std::mem::swap(&mut self.q, &mut other.q);
        for (point, density, beta) in [(self, there, here.beta), (other, here, there.beta)] {
            point.set(|_| {});
            point.log_density = Some(LogDensity { beta, ..density });
        }
    }

    /// The same position under another power of the likelihood; the gradient is forgotten.
    pub(crate) fn temper(&mut self, beta: f64) {
        let known = self.log_density;
        self.set(|_| {});
        self.log_density = known.map(|density| LogDensity { beta, ..density });
    }

    /// Becomes a copy of `other`, of the same dimension, without its drift, mark and metric.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.q.copy_from_slice(&other.q);
        self.grad.copy_from_slice(&other.grad);
        self.log_density = other.log_density;
        self.grad_is_valid = other.grad_is_valid;
        self.drift_is_valid = false;
        self.mark = None;
        self.metric_of = None;
    }

    /// The log density at q.
    ///
    /// # Panics
    /// If no `eval` method was called since the point was last moved: an error in the kernel.
    pub fn log_density(&self) -> LogDensity {
        self.log_density.expect("a kernel evaluates a point before it reads its log density")
    }

    /// The gradient of the log density at q.
    ///
    /// # Panics
    /// If [`eval_grad`](Self::eval_grad) was not called since the point was last moved.
    pub fn grad(&self) -> &[f64] {
        assert!(self.grad_is_valid, "a kernel evaluates a point before it reads its gradient");
        &self.grad
    }

    /// Whether the gradient at q is known.
    pub fn has_grad(&self) -> bool {
        self.grad_is_valid
    }

    /// The image of q under a map D, which `map(q, image)` computes unless it is known.
    ///
    /// Returns it, and whether it had to be computed. A kernel that uses this must use one D only.
    pub fn drift(&mut self, map: impl FnOnce(&[f64], &mut [f64])) -> (&[f64], bool) {
        let compute = !self.drift_is_valid;
        if compute {
            self.drift.resize(self.q.len(), 0.0); // allocates once, at first use
            map(&self.q, &mut self.drift);
            self.drift_is_valid = true;
        }
        (&self.drift, compute)
    }

    /// Marks the position with a number by which a kernel that keeps something about it (the gradient
    /// of a minibatch) knows it again; the next [`set`](Self::set) takes the mark away.
    pub fn set_mark(&mut self, mark: u64) {
        self.mark = Some(mark);
    }

    /// The mark of this position, if it was given one.
    pub fn mark(&self) -> Option<u64> {
        self.mark
    }

    /// Evaluates the metric of kernel `owner` by `compute(q, gradient, metric)`, unless it is known.
    pub(crate) fn eval_metric(
        &mut self,
        owner: u64,
        compute: impl FnOnce(&[f64], &[f64], &mut LocalMetric),
    ) {
        assert!(self.grad_is_valid, "a kernel evaluates a point before it asks for its metric");
        let metric = self.metric.get_or_insert_with(|| Box::new(LocalMetric::new()));
        if self.metric_of != Some(owner) {
            compute(&self.q, &self.grad, metric);
            self.metric_of = Some(owner);
        }
    }

    /// The metric at q of the kernel that evaluated it last.
    pub(crate) fn metric(&self) -> &LocalMetric {
        let metric = self.metric.as_ref().filter(|_| self.metric_of.is_some());
        metric.expect("a kernel evaluates a metric before it reads it")
    }

    /// Evaluates the log density, unless it is known.
    pub fn eval<T: Target>(&mut self, target: &T, ws: &mut T::Workspace) -> LogDensity {
        *self.log_density.get_or_insert_with(|| target.log_density(&self.q, ws))
    }

    /// Evaluates the log density and its gradient, unless both are known.
    pub fn eval_grad<T: GradTarget>(&mut self, target: &T, ws: &mut T::Workspace) -> LogDensity {
        if !self.grad_is_valid {
            self.log_density = Some(target.log_density_grad(&self.q, &mut self.grad, ws));
            self.grad_is_valid = true;
        }
        self.log_density()
    }
}

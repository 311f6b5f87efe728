//! A point of a chain, with the values of the target that were computed there.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::{GradTarget, LogDensity, Target};
use crate::cut;

/// A position q with the log density and the gradient of the target there.
///
/// Computed values are tied to the position: [`set`](Self::set) forgets it and only the `eval`
/// methods fill it, so that a value of another position cannot be read. It has room for the gradient or the
/// [force](GradTarget::force), whichever was computed last. All kernels of a chain
/// share the point, so it holds only values of the target. Other values that a kernel computes at a
/// position it keeps itself, in a [`Cached`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    q: Vec<f64>,
    /// The gradient, or the force if `rough` is known.
    grad: Vec<f64>,
    log_density: Option<LogDensity>,
    grad_is_valid: bool,
    /// The density that belongs to a force of the target's own.
    rough: Option<LogDensity>,
    stamp: Stamp,
}

/// Tells positions apart: a point gets a new stamp whenever it moves, and no stamp is given twice.
///
/// A stamp is a number of the process, drawn at random, and a count. So a checkpoint may hold
/// stamps: the process that resumes from it makes different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp(u64, u64);

impl Stamp {
    fn new() -> Self {
        /// Threads take their counts in blocks, so that they do not wait for each other.
        const BLOCK: u64 = 1 << 20;
        static PROCESS: LazyLock<u64> =
            LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
        static BLOCKS: AtomicU64 = AtomicU64::new(0);
        thread_local!(static NEXT: Cell<u64> = const { Cell::new(0) });
        let count = match NEXT.get() {
            end if end % BLOCK == 0 => BLOCK * BLOCKS.fetch_add(1, Ordering::Relaxed),
            count => count,
        };
        NEXT.set(count + 1);
        Self(*PROCESS, count)
    }
}

/// A value that a kernel has computed at a position, with the stamp of that position: a map of it,
/// a metric, the gradient of a minibatch.
///
/// It belongs to the kernel that computed it, which asks [`is_of`](Self::is_of) before it uses it: the
/// point may have been moved since, by this kernel or by another one. It belongs to the kernel's
/// [`State`](crate::sampler::Kernel::State) if a step that finds it does something else than one that
/// computes it anew, such as counting a gradient.
///
/// ```
/// use bnn_mcmc::targets::{Cached, Point};
/// let mut point = Point::new(2);
/// let mut squares = Cached::new(0.0);
/// assert!(!squares.is_of(&point));
/// squares.set(&point, |value| *value = point.q().iter().map(|q| q * q).sum());
/// assert_eq!(*squares.at(&point), 0.0);
/// point.set(|q| q[0] = 3.0);
/// assert!(!squares.is_of(&point));
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cached<V> {
    value: V,
    of: Option<Stamp>,
}

impl<V> Cached<V> {
    /// Room for a value, which belongs to no position yet.
    pub fn new(room: V) -> Self {
        Self { value: room, of: None }
    }

    /// Whether the value is of the position where `point` is now.
    pub fn is_of(&self, point: &Point) -> bool {
        self.of == Some(point.stamp) //~ known-at-point
    }

    /// Lets `write` change the value, and makes the result the value at `point`.
    pub fn set(&mut self, point: &Point, write: impl FnOnce(&mut V)) {
        self.of = None; // until `write` has returned
        write(&mut self.value);
        self.of = Some(point.stamp);
    }

    /// The value at `point`.
    ///
    /// # Panics
    /// If it [is not of](Self::is_of) the position where `point` is now: an error in the kernel.
    pub fn at(&self, point: &Point) -> &V {
        assert!(self.is_of(point), "a kernel computes a value at a point before it reads it");
        &self.value
    }
}

impl Point {
    /// The origin of a space of `dim` dimensions; nothing is known about the target.
    pub fn new(dim: usize) -> Self {
        Self {
            q: vec![0.0; dim],
            grad: vec![0.0; dim],
            log_density: None,
            grad_is_valid: false,
            rough: None,
            stamp: Stamp::new(),
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
        self.rough = None;
        self.stamp = Stamp::new();
        write(&mut self.q);
    }

    /// Moves the point like [`set`](Self::set), to a position whose log density is `other`'s, in
    /// another view of the same target, if it is known there.
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
            point.set(|_| {}); //~ exchanged-point
            point.log_density = Some(LogDensity { beta, ..density }); //~ exchanged-power
        }
    }

    /// Changes the power of the likelihood at the same position; the gradient is forgotten.
    pub(crate) fn temper(&mut self, beta: f64) {
        let known = self.log_density;
        self.set(|_| {});
        self.log_density = known.map(|density| LogDensity { beta, ..density });
    }

    /// Moves to the position of `other`, of the same dimension, and takes over its computed values.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.q.copy_from_slice(&other.q);
        self.grad.copy_from_slice(&other.grad);
        self.log_density = other.log_density;
        self.grad_is_valid = other.grad_is_valid;
        self.rough = other.rough;
        self.stamp = Stamp::new();
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

    /// The force at q, which is the gradient unless the target has another one.
    ///
    /// # Panics
    /// If [`eval_force`](Self::eval_force) was not called since the point was last moved.
    pub fn force(&self) -> &[f64] {
        assert!(self.has_force(), "a kernel evaluates a point before it reads the force");
        &self.grad
    }

    /// Whether the force or the gradient at q is known.
    pub fn has_force(&self) -> bool {
        self.grad_is_valid || self.rough.is_some()
    }

    /// The density that [`GradTarget::force`] returned: the log density, unless the target has a force of its
    /// own.
    ///
    /// # Panics
    /// If no `eval` method was called since the point was last moved.
    pub fn rough_density(&self) -> LogDensity {
        self.rough.unwrap_or_else(|| self.log_density())
    }

    /// Whether the gradient at q is known.
    pub fn has_grad(&self) -> bool {
        self.grad_is_valid
    }

    /// Evaluates the log density, unless it is known.
    pub fn eval<T: Target>(&mut self, target: &T, ws: &mut T::Workspace) -> LogDensity {
        *self.log_density.get_or_insert_with(|| {
            cut::point();
            target.log_density(&self.q, ws)
        })
    }

    /// Evaluates the log density and its gradient, unless both are known.
    pub fn eval_grad<T: GradTarget>(&mut self, target: &T, ws: &mut T::Workspace) -> LogDensity {
        if !self.grad_is_valid {
            cut::point();
            self.rough = None; //~ force-is-no-gradient
            self.log_density = Some(target.log_density_grad(&self.q, &mut self.grad, ws));
            self.grad_is_valid = true;
        }
        self.log_density()
    }

    /// Evaluates the force, unless it is known, and returns whether it was not. If it is the gradient, the
    /// log density is known afterwards, too.
    pub fn eval_force<T: GradTarget>(&mut self, target: &T, ws: &mut T::Workspace) -> bool {
        if !target.has_own_force() {
            let is_new = !self.grad_is_valid;
            self.eval_grad(target, ws);
            return is_new;
        }
        let is_new = self.rough.is_none();
        if is_new {
            cut::point();
            self.grad_is_valid = false;
            self.rough = Some(target.force(&self.q, &mut self.grad, ws));
        }
        is_new
    }

    /// Evaluates the force, or else the gradient.
    pub(crate) fn eval_slope<T: GradTarget>(
        &mut self,
        by_force: bool,
        target: &T,
        ws: &mut T::Workspace,
    ) {
        if by_force {
            self.eval_force(target, ws);
        } else {
            self.eval_grad(target, ws);
        }
    }
}

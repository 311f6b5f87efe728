//! An algorithm on some named blocks, the other coordinates held fixed.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::draws::Report;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel, Step, WarmupProgress};
use crate::targets::{Conditioned, ConditionedWorkspace, Point, Target};

/// `algorithm` on the blocks called `blocks` (or by patterns such as `w*`).
///
/// If a kernel leaves the conditional density of a block given the others unchanged for every value
/// of the others, then it leaves the joint density unchanged. [`OnBlocks`] runs an algorithm on the
/// [`Conditioned`] view of the target; put several together with [`Cycle`](crate::sampler::Cycle):
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::{Cycle, OnBlocks};
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// // Both coordinates of this target are in the one block `q`; a posterior has more.
/// let algorithm = Cycle(OnBlocks::new(&["q"], Rwm::default()), OnBlocks::new(&["q"], Mala::default()));
/// let draws = Sampler::new(&target, algorithm).draws(100).run()?;
/// assert_eq!(draws.n_draws(), 100);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// The point and target of the inner kernel are set anew before each of its steps, so that its
/// values of the other blocks are never stale. Cost: the inner kernel's, whose gradient at the
/// current position is evaluated again if another block has moved. Gradients of minibatches are
/// drawn anew at the beginning of every step: two a step.
#[doc(alias = "Metropolis within Gibbs")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnBlocks<A> {
    /// Names of blocks, or patterns ending in `*`.
    pub blocks: Vec<String>,
    /// The algorithm that moves the blocks.
    pub algorithm: A,
}

impl<A> OnBlocks<A> {
    /// `algorithm` on `blocks`.
    pub fn new(blocks: &[&str], algorithm: A) -> Self {
        Self { blocks: blocks.iter().map(ToString::to_string).collect(), algorithm }
    }
}

/// The transition of [`OnBlocks`].
#[derive(Debug)]
pub struct OnBlocksKernel<T: Target, K> {
    view: Conditioned<T>,
    inner: K,
    point: Point,
    ws: ConditionedWorkspace<T::Workspace>,
}

impl<T, A> Algorithm<T> for OnBlocks<A>
where
    T: Target + Copy + Send,
    A: Algorithm<Conditioned<T>>,
{
    type Kernel = OnBlocksKernel<T, A::Kernel>;

    fn name(&self) -> String {
        format!("OnBlocks({})", self.algorithm.name())
    }

    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let view = Conditioned::new(*target, &self.blocks)?;
        Ok(OnBlocksKernel {
            inner: self.algorithm.kernel(&view, rng)?,
            point: Point::new(view.dim()),
            ws: view.workspace(),
            view,
        })
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        let view = Conditioned::new(*target, &self.blocks);
        view.map_or(0, |view| self.algorithm.matrix_numbers(&view))
    }

    fn is_reversible(&self, target: &T) -> bool {
        let view = Conditioned::new(*target, &self.blocks);
        view.is_ok_and(|view| self.algorithm.is_reversible(&view))
    }
}

impl<T, K> Kernel<T> for OnBlocksKernel<T, K>
where
    T: Target + Copy + Send,
    K: Kernel<Conditioned<T>>,
{
    type State = K::State;

    fn state(&self) -> K::State {
        self.inner.state()
    }

    fn restore(&mut self, state: K::State) {
        self.inner.restore(state);
    }

    fn step(
        &mut self,
        _target: &T,
        current: &mut Point,
        _ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        self.ws.q.copy_from_slice(current.q()); //~ other-blocks
        self.point.set_as_in(current, |q| self.view.gather(current.q(), q));
        let step = self.inner.step(&self.view, &mut self.point, &mut self.ws, rng);
        let moved = self.view.coordinates().iter().zip(self.point.q());
        if moved.clone().any(|(c, q)| current.q()[*c] != *q) {
            current.set_as_in(&self.point, |q| self.view.scatter(self.point.q(), q));
        }
        step
    }

    fn adapt(&mut self, step: &Step, _current: &Point, warmup: WarmupProgress) {
        self.inner.adapt(step, &self.point, warmup);
    }

    fn freeze(&mut self) {
        self.inner.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        let mut blocks = vec![0.0; self.point.q().len()];
        self.view.gather(q, &mut blocks);
        self.inner.diverged_at(&mut blocks);
        self.view.scatter(&blocks, q);
    }

    fn stat_names(&self) -> Vec<String> {
        self.inner.stat_names()
    }

    fn stats(&self, out: &mut [f64]) {
        self.inner.stats(out);
    }

    fn report(&self) -> Report {
        self.inner.report()
    }
}

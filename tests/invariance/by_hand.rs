//! Kernels that are written out in tests: by the textbook, or with a mistake.

use bnn_mcmc::Error;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Step};
use bnn_mcmc::targets::Point;

/// A transition without adaptation, and what it keeps from step to step.
pub trait Transition<T: Target>: Clone + Send + Sync {
    type Memory: Send;

    fn memory(&self, target: &T) -> Self::Memory;

    fn step(
        &self,
        memory: &mut Self::Memory,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step;
}

/// The algorithm of a [`Transition`].
#[derive(Clone)]
pub struct ByHand<X>(pub X);

pub struct ByHandKernel<X, M>(X, M);

impl<T: Target, X: Transition<T>> Algorithm<T> for ByHand<X> {
    type Kernel = ByHandKernel<X, X::Memory>;

    fn name(&self) -> String {
        "ByHand".into()
    }

    fn kernel(&self, target: &T, _: &ChainRng) -> Result<Self::Kernel, Error> {
        Ok(ByHandKernel(self.0.clone(), self.0.memory(target)))
    }
}

impl<T: Target, X: Transition<T>> Kernel<T> for ByHandKernel<X, X::Memory> {
    type State = ();
    fn state(&self) {}
    fn restore(&mut self, (): ()) {}
    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        self.0.step(&mut self.1, target, current, ws, rng)
    }
}

//! The members of an ensemble: each is optimised, then sampled for a short while.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::draws::Report;
use crate::gradient::FullGrad;
use crate::kernel::{Algorithm, Kernel, Step, WarmupProgress};
use crate::optimise::{Adam, Ascent, Moments, Schedule, Walk};
use crate::rng::ChainRng;
use crate::targets::{GradTarget, Point};

/// Steps of [`Adam`] from the start of a chain, each an iteration of warm-up; then `algorithm`, whose own
/// warm-up is the rest. The way has no random numbers, so that a run of `algorithm` which
/// starts where an [`Optimiser`](crate::optimise::Optimiser) ends has the same draws.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Member<A> {
    pub ascent: Held,
    /// The coordinates that are 0 where the ascent begins.
    pub zero: Vec<Range<usize>>,
    pub algorithm: A,
}

/// An ascent in which some coordinates stay where they are.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Held<S = FullGrad> {
    pub adam: Adam<S>,
    /// The coordinates that stay.
    pub held: Vec<Range<usize>>,
}

impl<S: Sync> Ascent for Held<S> {
    type Source = S;
    /// Adam's, and room for a gradient.
    type State = (Moments, Vec<f64>);

    fn gradient(&self) -> &S {
        &self.adam.gradient
    }

    fn steps(&self) -> usize {
        self.adam.steps
    }

    fn learning_rate(&self) -> f64 {
        self.adam.learning_rate
    }

    fn check(&self) -> Result<(), Error> {
        self.adam.check()
    }

    fn state(&self, dim: usize) -> Self::State {
        (self.adam.state(dim), vec![0.0; dim])
    }

    fn step(&self, rate: f64, grad: &[f64], q: &mut [f64], (moments, room): &mut Self::State) {
        room.copy_from_slice(grad);
        // Where all gradients are 0, Adam makes no step.
        self.held.iter().for_each(|held| room[held.clone()].fill(0.0)); //~ held-in-ascent
        self.adam.step(rate, room, q, moments);
    }
}

/// The transition of a [`Member`].
pub(super) struct MemberKernel<K> {
    ascent: Held,
    zero: Vec<Range<usize>>,
    /// `None` once the ascent is over.
    walk: Option<Walk<<Held as Ascent>::State>>,
    inner: K,
}

/// The state of a [`Member`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MemberState<K> {
    walk: Option<Walk<<Held as Ascent>::State>>,
    inner: K,
}

impl<T: GradTarget, A: Algorithm<T>> Algorithm<T> for Member<A> {
    type Kernel = MemberKernel<A::Kernel>;

    fn name(&self) -> String {
        format!("Member({})", self.algorithm.name())
    }

    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let dim = target.dim();
        Ok(MemberKernel {
            ascent: self.ascent.clone(),
            zero: self.zero.clone(),
            walk: Some(Walk::new(self.ascent.state(dim), &vec![0.0; dim])),
            inner: self.algorithm.kernel(target, rng)?,
        })
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        // Three points with their gradients, Adam's two means, and a gradient.
        let vectors = target.dim().saturating_mul(9);
        self.algorithm.matrix_numbers(target).saturating_add(vectors)
    }
}

impl<T: GradTarget, K: Kernel<T>> Kernel<T> for MemberKernel<K> {
    type State = MemberState<K::State>;

    fn state(&self) -> Self::State {
        MemberState { walk: self.walk.clone(), inner: self.inner.state() }
    }

    fn restore(&mut self, state: Self::State) {
        self.walk = state.walk;
        self.inner.restore(state.inner);
    }

    fn approach(&mut self, target: &T, start: &mut Point, ws: &mut T::Workspace) -> u64 {
        start.set(|q| self.zero.iter().for_each(|zero| q[zero.clone()].fill(0.0))); //~ even-noise
        start.eval(target, ws);
        self.inner.approach(target, start, ws)
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let Some(walk) = &mut self.walk else { return self.inner.step(target, current, ws, rng) };
        if walk.made() == 0 {
            walk.begin(current);
        }
        let steps = self.ascent.steps();
        let factor = Schedule::Cosine.factor(walk.made(), steps); //~ rate-of-member
        let rate = self.ascent.learning_rate() * factor;
        let step = walk.step(target, (&self.ascent, rate), &mut FullGrad, ws, rng);
        // Where the ascent is, so that a run which is stopped says so; at its end the best point.
        current.copy_from(walk.best());
        step
    }

    fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        let steps = self.ascent.steps();
        match &self.walk {
            Some(walk) if walk.made() < steps => {}
            Some(_) => self.walk = None,
            None => {
                let WarmupProgress { iteration, total } = warmup;
                let own = WarmupProgress { iteration: iteration - steps, total: total - steps };
                self.inner.adapt(step, current, own);
            }
        }
    }

    fn freeze(&mut self) {
        self.walk = None;
        self.inner.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        self.inner.diverged_at(q);
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

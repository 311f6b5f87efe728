//! Two kernels made into one.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::draws::Report;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel, Step, WarmupProgress};
use crate::targets::{Point, Target};

/// A step of the first algorithm, then one of the second.
///
/// - [`Cycle`]`(A, B)`: a step of A, then one of B. Leaves a distribution unchanged that both leave
///   unchanged. Nest it for more: `Cycle(A, Cycle(B, C))`.
/// - [`Mixture`]: a step of A with a fixed probability, else one of B. If A and B are reversible, so
///   is the mixture (Tierney, Ann. Statist. 22, 1994, doi:10.1214/aos/1176325750, section 2.4).
///
/// Each draw records both kernels' own statistics under `first.` and `second.`, with the acceptance
/// probability of each one's latest step (NaN before its first, and for kernels without a test).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cycle<A, B>(pub A, pub B);

/// A step of `first` with probability p, `probability`, else one of `second`.
/// [`Cycle`] says why both leave the target unchanged.
///
/// A kernel adapts in its own steps alone, so that its warm-up is counted in them: of n iterations, n p - sqrt(n p (1 - p)) for
/// the first and likewise for the second, their expected number less a standard deviation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mixture<A, B> {
    /// The algorithm that is chosen with probability `probability`.
    pub first: A,
    /// The algorithm that is chosen otherwise.
    pub second: B,
    /// Between 0 and 1, exclusive.
    pub probability: f64,
}

/// The transition of [`Cycle`].
#[derive(Debug)]
pub struct CycleKernel<A, B>(Pair<A, B>);

/// The transition of [`Mixture`].
#[derive(Debug)]
pub struct MixtureKernel<A, B> {
    pair: Pair<A, B>,
    probability: f64,
}

/// Two kernels and the latest step of each.
#[derive(Debug)]
struct Pair<A, B> {
    first: A,
    second: B,
    /// The number of statistics that the first kernel adds.
    n_first: usize,
    last: Last,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Last {
    first: Option<Step>,
    second: Option<Step>,
    /// Whether the latest step used the first and the second kernel.
    used: (bool, bool),
    /// The steps from which the first and the second kernel have learnt.
    #[serde(default)]
    adapted: (usize, usize),
}

/// The state of a [`Cycle`] or a [`Mixture`]: the states of both kernels, and the latest step of
/// each.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PairState<A, B> {
    first: A,
    second: B,
    last: Last,
}

impl<A, B> Pair<A, B> {
    fn new<T: Target>(
        first: &impl Algorithm<T, Kernel = A>,
        second: &impl Algorithm<T, Kernel = B>,
        target: &T,
        rng: &ChainRng,
    ) -> Result<Self, Error>
    where
        A: Kernel<T>,
        B: Kernel<T>,
    {
        let first = first.kernel(target, &rng.child(0))?;
        let second = second.kernel(target, &rng.child(1))?;
        Ok(Self { n_first: first.stat_names().len(), first, second, last: Last::default() })
    }

    fn state<T: Target>(&self) -> PairState<A::State, B::State>
    where
        A: Kernel<T>,
        B: Kernel<T>,
    {
        PairState { first: self.first.state(), second: self.second.state(), last: self.last }
    }

    fn restore<T: Target>(&mut self, state: PairState<A::State, B::State>)
    where
        A: Kernel<T>,
        B: Kernel<T>,
    {
        self.first.restore(state.first);
        self.second.restore(state.second);
        self.last = state.last;
    }

    fn approach<T: Target>(&mut self, target: &T, start: &mut Point, ws: &mut T::Workspace) -> u64
    where
        A: Kernel<T>,
        B: Kernel<T>,
    {
        let first = self.first.approach(target, start, ws);
        first + self.second.approach(target, start, ws)
    }

    /// `totals` are the steps of each kernel's warm-up.
    fn adapt<T: Target>(&mut self, current: &Point, totals: [usize; 2])
    where
        A: Kernel<T>,
        B: Kernel<T>,
    {
        let Last { first, second, used, adapted } = &mut self.last;
        if let (Some(step), true) = (first, used.0) {
            let warmup = WarmupProgress { iteration: adapted.0, total: totals[0] };
            self.first.adapt(step, current, warmup);
            adapted.0 += 1;
        }
        if let (Some(step), true) = (second, used.1) {
            let warmup = WarmupProgress { iteration: adapted.1, total: totals[1] };
            self.second.adapt(step, current, warmup);
            adapted.1 += 1;
        }
    }

    fn diverged_at<T: Target>(&self, q: &mut [f64])
    where
        A: Kernel<T>,
        B: Kernel<T>,
    {
        let diverged = |step: Option<Step>, used| used && step.is_some_and(|s| s.divergent);
        if diverged(self.last.first, self.last.used.0) {
            self.first.diverged_at(q);
        } else if diverged(self.last.second, self.last.used.1) {
            self.second.diverged_at(q);
        }
    }

    fn stat_names<T: Target>(&self) -> Vec<String>
    where
        A: Kernel<T>,
        B: Kernel<T>,
    {
        let named = |prefix: &str, own: Vec<String>| {
            let all = std::iter::once("accept_prob".to_string()).chain(own);
            all.map(|name| format!("{prefix}.{name}")).collect::<Vec<_>>()
        };
        let mut names = named("first", self.first.stat_names());
        names.extend(named("second", self.second.stat_names()));
        names
    }

    fn report<T: Target>(&self) -> Report
    where
        A: Kernel<T>,
        B: Kernel<T>,
    {
        self.first.report().and(self.second.report())
    }

    fn stats<T: Target>(&self, out: &mut [f64])
    where
        A: Kernel<T>,
        B: Kernel<T>,
    {
        let accept = |step: Option<Step>| step.and_then(|s| s.accept_prob).unwrap_or(f64::NAN);
        let (first, second) = out.split_at_mut(1 + self.n_first);
        first[0] = accept(self.last.first);
        second[0] = accept(self.last.second);
        self.first.stats(&mut first[1..]);
        self.second.stats(&mut second[1..]);
    }
}

impl<T: Target, A: Algorithm<T>, B: Algorithm<T>> Algorithm<T> for Cycle<A, B> {
    type Kernel = CycleKernel<A::Kernel, B::Kernel>;

    fn name(&self) -> String {
        format!("Cycle({}, {})", self.0.name(), self.1.name())
    }

    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
        Ok(CycleKernel(Pair::new(&self.0, &self.1, target, rng)?))
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        self.0.matrix_numbers(target).saturating_add(self.1.matrix_numbers(target))
    }
}

impl<T: Target, A: Kernel<T>, B: Kernel<T>> Kernel<T> for CycleKernel<A, B> {
    type State = PairState<A::State, B::State>;

    fn state(&self) -> Self::State {
        self.0.state()
    }

    fn restore(&mut self, state: Self::State) {
        self.0.restore(state);
    }

    fn approach(&mut self, target: &T, start: &mut Point, ws: &mut T::Workspace) -> u64 {
        self.0.approach(target, start, ws)
    }

    /// Accepted if either kernel accepted; the acceptance probability is the mean over the kernels
    /// that have one.
    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let first = self.0.first.step(target, current, ws, rng);
        let second = self.0.second.step(target, current, ws, rng);
        (self.0.last.first, self.0.last.second) = (Some(first), Some(second));
        self.0.last.used = (true, true);
        let accept_prob = match (first.accept_prob, second.accept_prob) {
            (Some(a), Some(b)) => Some((a + b) / 2.0),
            (a, b) => a.or(b),
        };
        Step {
            accept_prob,
            accepted: first.accepted || second.accepted,
            divergent: first.divergent || second.divergent,
            gradient_evals: first.gradient_evals + second.gradient_evals,
        }
    }

    fn adapt(&mut self, _step: &Step, current: &Point, warmup: WarmupProgress) {
        self.0.adapt(current, [warmup.total; 2]);
    }

    fn freeze(&mut self) {
        self.0.first.freeze();
        self.0.second.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        self.0.diverged_at(q);
    }

    fn stat_names(&self) -> Vec<String> {
        self.0.stat_names()
    }

    fn stats(&self, out: &mut [f64]) {
        self.0.stats(out);
    }

    fn report(&self) -> Report {
        self.0.report()
    }
}

impl<T: Target, A: Algorithm<T>, B: Algorithm<T>> Algorithm<T> for Mixture<A, B> {
    type Kernel = MixtureKernel<A::Kernel, B::Kernel>;

    fn name(&self) -> String {
        format!("Mixture({}, {})", self.first.name(), self.second.name())
    }

    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
        if !(self.probability > 0.0 && self.probability < 1.0) {
            let allowed = "between 0 and 1, exclusive";
            return Err(Error::argument("probability", self.probability, allowed));
        }
        let pair = Pair::new(&self.first, &self.second, target, rng)?;
        Ok(MixtureKernel { pair, probability: self.probability })
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        self.first.matrix_numbers(target).saturating_add(self.second.matrix_numbers(target))
    }

    fn is_reversible(&self, target: &T) -> bool {
        self.first.is_reversible(target) && self.second.is_reversible(target)
    }
}

impl<T: Target, A: Kernel<T>, B: Kernel<T>> Kernel<T> for MixtureKernel<A, B> {
    type State = PairState<A::State, B::State>;

    fn state(&self) -> Self::State {
        self.pair.state()
    }

    fn restore(&mut self, state: Self::State) {
        self.pair.restore(state);
    }

    fn approach(&mut self, target: &T, start: &mut Point, ws: &mut T::Workspace) -> u64 {
        self.pair.approach(target, start, ws)
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        //~ mixture-coin
        if rng.uniform() < self.probability {
            let step = self.pair.first.step(target, current, ws, rng);
            self.pair.last = Last { first: Some(step), used: (true, false), ..self.pair.last };
            step
        } else {
            let step = self.pair.second.step(target, current, ws, rng);
            self.pair.last = Last { second: Some(step), used: (false, true), ..self.pair.last };
            step
        }
    }

    fn adapt(&mut self, _step: &Step, current: &Point, warmup: WarmupProgress) {
        let total_of = |probability: f64| {
            let expected = warmup.total as f64 * probability;
            (expected - (expected * (1.0 - probability)).sqrt()) as usize //~ mixture-warmup
        };
        self.pair.adapt(current, [self.probability, 1.0 - self.probability].map(total_of));
    }

    fn freeze(&mut self) {
        self.pair.first.freeze();
        self.pair.second.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        self.pair.diverged_at(q);
    }

    fn stat_names(&self) -> Vec<String> {
        self.pair.stat_names()
    }

    fn stats(&self, out: &mut [f64]) {
        self.pair.stats(out);
    }

    fn report(&self) -> Report {
        self.pair.report()
    }
}

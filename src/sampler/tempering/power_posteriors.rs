//! Power posteriors: a population of chains on a ladder of temperatures (parallel tempering).

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::remote::{self, Remote, Replicas};
use super::round_trips::Travel;
use super::rung::{Rung, RungState};
use super::{Ladder, Swaps, ladder, swaps};
use crate::Error;
use crate::adapt::Windows;
use crate::cut;
use crate::draws::{LadderReport, Report};
use crate::portable::ln;
use crate::ranks::{Ranks, check_alike};
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel, Step, WarmupProgress};
use crate::targets::{Point, PowerTarget, Tempered};
use crate::threads;

/// A population of chains that run `inner` on a ladder of temperatures.
///
/// ```text
/// log pi_k(q) = beta_k ell(q) + log p(q),   0 <= beta_0 < ... < beta_m = 1
/// ```
///
/// Each rung of the ladder has a chain of its own on the [tempered](crate::targets::Tempered)
/// target: near beta = 0, the prior, modes melt together, and exchanges of states between rungs
/// bring states that are found there to beta = 1, the posterior. One transition is
///
/// 1. exchanges between pairs of rungs, each accepted with probability
///    min(1, exp((beta_i - beta_j) (ell_j - ell_i))), see [`Swaps`];
/// 2. one step of the inner algorithm on each rung, or, at beta = 0, an independent draw from the
///    prior. (A draw at which the likelihood is NaN or infinite is rejected: the old state stays, and
///    a divergence is counted. The rung then samples the prior restricted to the points at which the
///    likelihood is finite, which includes zero.)
///
/// Both leave the product of all pi_k unchanged. The draws of a run come from the rung beta = 1;
/// `accepted` says whether its state changed, by either part. The log likelihoods of the other
/// rungs are recorded with each draw (`rung_0.log_likelihood`, ...), from which
/// [`Evidence`](crate::evidence::Evidence) is computed; [`LadderReport`](crate::draws::LadderReport) says how states travelled.
///
/// Sources: Friel and Pettitt, JRSS B 70, 2008, doi:10.1111/j.1467-9868.2007.00650.x; Papamarkou,
/// Hinkle, Young and Womble, Statist. Sci. 37, 2022, arXiv:1910.06539, algorithm 1; Syed,
/// Bouchard-Côté, Deligiannidis and Doucet, JRSS B 84, 2022, doi:10.1111/rssb.12464.
///
/// During warm-up each rung adapts its own step size and scales, and the inner rungs are moved
/// towards equal rejection rates between neighbours
/// ([`adapt_ladder`](PowerPosteriors::adapt_ladder)), as far as the rates of a window can tell; a
/// warm-up of fewer than some 50 iterations leaves the ladder unchanged. Every chain has its own
/// ladder then. Until a rung has learnt its scales, trajectories of [`Hmc`](crate::sampler::Hmc)
/// take up to `max_steps` steps in narrow posteriors: on the sunspot network two thirds of the
/// gradients of a warm-up of 1,000 iterations were spent in the first 175. With
/// [`max_first_steps`](crate::sampler::Hmc::max_first_steps) of 100 the warm-up took 0.67 million
/// instead of 1.48 million.
///
/// A step costs as much as one of the inner algorithm, times the number of rungs; at beta = 0 it is
/// one evaluation of the log density. An exchange costs no evaluation itself; a kernel that uses gradients
/// evaluates the gradient of a state that has just arrived. Rungs run in parallel where threads are free; draws
/// do not depend on it, as each rung has its own random stream.
///
/// Not for unimodal posteriors of which only draws are wanted: there the inner algorithm alone costs a
/// rung's share. Tempering does not help where modes differ in width rather than place: the narrow
/// one has hardly any mass at small beta.
///
/// Users' own densities are tempered towards a named, normalised reference:
/// [`WithReference`](crate::targets::WithReference).
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::{Ladder, PowerPosteriors};
/// let data = Dataset::regression(ndarray::array![[0.0], [1.0]], ndarray::array![1.0, 2.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
/// let algorithm = PowerPosteriors {
///     ladder: Ladder::Power { rungs: 6, exponent: 5.0 },
///     ..PowerPosteriors::new(Mala::default())
/// };
/// let draws = Sampler::new(&posterior, algorithm).warmup(300).draws(300).run()?;
/// assert_eq!(draws.stat("rung_4.log_likelihood")?.dim(), (4, 300));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "parallel tempering")]
#[doc(alias = "replica exchange")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerPosteriors<A> {
    /// The algorithm that moves the chain within each rung.
    pub inner: A,
    /// The powers of the likelihood: where adaptation starts, or the value throughout if the ladder
    /// is not adapted or there is no warm-up.
    pub ladder: Ladder,
    /// Whether warm-up moves the inner rungs towards equal rejection rates. The first rung stays.
    pub adapt_ladder: bool,
    /// The choice of rungs that exchange their states.
    pub swaps: Swaps,
    /// Where the rungs take their steps: see [`on_ranks`](Self::on_ranks).
    #[serde(skip)]
    pub replicas: Replicas,
}

impl<A> PowerPosteriors<A> {
    /// `inner` on the default ladder, adapted in warm-up, with exchanges between neighbours.
    pub fn new(inner: A) -> Self {
        Self {
            inner,
            ladder: Ladder::default(),
            adapt_ladder: true,
            swaps: Swaps::default(),
            replicas: Replicas::default(),
        }
    }

    /// Runs `work` on rank 0 with this algorithm, whose rungs are on all `ranks`, and returns its result there; on the other ranks it
    /// moves rungs on `target` until `work` has ended, and returns `None`. All ranks have the same algorithm and the same
    /// target, on which `work` runs.
    ///
    /// Draws, statistics and evidence have the same bits for any number of ranks, and in one process, and so have checkpoints. The
    /// rung beta = 1 is on rank 0, the next one on rank 1, and so on. Each step sends a rung's point, with its gradient, there and back; where
    /// steps take more than half a second also its whole state, with whatever matrices it has. The algorithm that `work` is given is of no use
    /// after it has ended.
    /// A rank that cannot go on ends all of them; the run then goes on from its checkpoint, with any number of ranks.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use bnn_mcmc::ranks;
    /// use bnn_mcmc::sampler::{Ladder, PowerPosteriors};
    /// let data = Dataset::regression(ndarray::array![[0.0], [1.0]], ndarray::array![1.0, 2.0])?;
    /// let priors = Priors::all(Normal::new(0.0, 1.0)?);
    /// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
    /// let ladder = Ladder::Power { rungs: 6, exponent: 5.0 };
    /// let algorithm = PowerPosteriors { ladder, ..PowerPosteriors::new(Mala::default()) };
    /// let sampler = |algorithm| Sampler::new(&posterior, algorithm).chains(2).warmup(100).draws(100);
    /// let alone = sampler(algorithm.clone()).run()?;
    ///
    /// // Three ranks, which are threads here. With MPI this is the whole program.
    /// let mut draws = ranks::local(3, |ranks| {
    ///     algorithm.on_ranks(&ranks, &posterior, |algorithm| sampler(algorithm).run())
    /// });
    /// assert_eq!(draws.remove(0).unwrap()?.values(), alone.values());
    /// assert!(draws.iter().all(Option::is_none));
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn on_ranks<'t, T, R>(
        &self,
        ranks: &Arc<dyn Ranks>,
        target: &'t T,
        work: impl FnOnce(Self) -> R,
    ) -> Option<R>
    where
        T: PowerTarget,
        A: Algorithm<Tempered<&'t T>> + Clone,
    {
        check_alike(&**ranks, &format!("{} of {} coordinates", self.inner.name(), target.dim()));
        if ranks.rank() == 0 {
            let replicas = Replicas::on(ranks);
            let _ended = replicas.ended();
            return Some(work(Self { replicas: replicas.clone(), ..self.clone() }));
        }
        remote::serve(&**ranks, &self.inner, target);
        None
    }
}

impl<A: Default> Default for PowerPosteriors<A> {
    fn default() -> Self {
        Self::new(A::default())
    }
}

/// The transition of [`PowerPosteriors`].
pub struct PowerPosteriorsKernel<T, A>
where
    T: PowerTarget + Copy + Send,
    A: Algorithm<Tempered<T>>,
{
    inner: A,
    adapt_ladder: bool,
    swaps: Swaps,
    /// Ascending. The last one's point is the chain's own while a step is made.
    rungs: Vec<Rung<T, A::Kernel>>,
    /// The chain's position before the step.
    before: Vec<f64>,
    /// The number of statistics that the inner kernel adds.
    n_inner_stats: usize,
    travel: Travel,
    warmup: Option<LadderWarmup>,
    /// The other ranks that have rungs, if there are any.
    remote: Option<Remote>,
}

/// The rejection rates of the ladder's neighbours in the present window of the warm-up.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LadderWarmup {
    windows: Option<Windows>,
    /// Sums of the neighbours' rejection probabilities, and how many there are.
    neighbours: Vec<(f64, u64)>,
}

/// The state of a [`PowerPosteriorsKernel`]; `S` is the state of an inner kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "S: Serialize", deserialize = "S: DeserializeOwned"))]
pub struct PowerPosteriorsState<S> {
    rungs: Vec<RungState<S>>,
    travel: Travel,
    warmup: Option<LadderWarmup>,
}

impl<T, A> Algorithm<T> for PowerPosteriors<A>
where
    T: PowerTarget + Copy + Send,
    A: Algorithm<Tempered<T>> + Clone + Send,
{
    type Kernel = PowerPosteriorsKernel<T, A>;

    fn name(&self) -> String {
        format!("PowerPosteriors({})", self.inner.name())
    }

    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
        self.swaps.check()?;
        let betas = self.ladder.betas()?;
        let mut rungs = Vec::with_capacity(betas.len());
        for (k, beta) in betas.iter().enumerate() {
            rungs.push(Rung::new(
                &self.inner,
                Tempered::new(*target, *beta)?,
                rng.child(k as u64),
            )?);
        }
        let cold = rungs.last().and_then(|r| r.kernel.as_ref());
        let warmup = LadderWarmup { windows: None, neighbours: vec![(0.0, 0); betas.len() - 1] };
        Ok(PowerPosteriorsKernel {
            inner: self.inner.clone(),
            adapt_ladder: self.adapt_ladder,
            swaps: self.swaps,
            before: vec![0.0; target.dim()],
            n_inner_stats: cold.map_or(0, |kernel| kernel.stat_names().len()),
            travel: Travel::new(betas.len()),
            warmup: Some(warmup),
            remote: self.replicas.remote(betas.len()),
            rungs,
        })
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        let rungs = self.ladder.betas().map_or(0, |betas| betas.len());
        let each = Tempered::new(*target, 1.0).map_or(0, |cold| self.inner.matrix_numbers(&cold));
        rungs.saturating_mul(each)
    }
}

impl<T, A> PowerPosteriorsKernel<T, A>
where
    T: PowerTarget + Copy + Send,
    A: Algorithm<Tempered<T>>,
{
    /// The powers of the likelihood at present, ascending.
    pub fn betas(&self) -> Vec<f64> {
        self.rungs.iter().map(|rung| rung.target.beta()).collect()
    }

    /// The position of rung `k`; `None` for the last rung, whose position is the chain's own.
    pub fn position(&self, k: usize) -> Option<&[f64]> {
        let hot = &self.rungs[..self.rungs.len() - 1];
        hot.get(k).map(|rung| rung.point.q())
    }

    /// Puts rung `k`, which is not the last, at `q`.
    ///
    /// # Errors
    /// If there is no such rung, or `q` has another length.
    pub fn start_at(&mut self, k: usize, q: &[f64]) -> Result<(), Error> {
        let last = self.rungs.len() - 1;
        if k >= last {
            return Err(Error::argument("k", k, format!("a rung below {last}")));
        }
        if q.len() != self.before.len() {
            return Err(Error::shape("length of q", q.len(), self.before.len()));
        }
        self.rungs[k].start_at(q);
        self.rungs[k].started = true;
        Ok(())
    }

    fn exchange(&mut self, round: u64, rng: &mut ChainRng) {
        let Self { rungs, travel, warmup, .. } = self;
        travel.rounds += 1;
        for k in 0..rungs.len() - 1 {
            let accept = swaps::accept_prob(ratio(rungs, k, k + 1));
            travel.neighbours[k] += accept;
            // States of likelihood zero, as a prior may have, are refused at every distance of the
            // rungs: they do not help to find the right distance.
            let finite = |k: usize| rungs[k].point.log_density().likelihood.is_finite();
            if let Some(warmup) = warmup
                && finite(k)
                && finite(k + 1)
            {
                warmup.neighbours[k].0 += 1.0 - accept;
                warmup.neighbours[k].1 += 1;
            }
        }
        self.swaps.propose(rungs.len(), round, rng, |i, j, rng| {
            travel.proposed += 1;
            // NaN, of two states of likelihood zero, accepts nothing.
            //~ exchange-ratio
            if ln(rng.uniform()) < ratio(rungs, i, j) {
                travel.accepted += 1;
                let (low, high) = rungs.split_at_mut(i.max(j));
                low[i.min(j)].point.exchange(&mut high[0].point);
                travel.replicas.swap(i, j);
            }
        });
        travel.visit_ends();
    }

    /// Moves the inner rungs to equal rejection rates.
    fn refine(&mut self) {
        let betas = self.betas();
        let Some(LadderWarmup { neighbours, .. }) = &mut self.warmup else { return };
        let rate = |(sum, n): &(f64, u64)| if *n > 0 { sum / *n as f64 } else { 1.0 };
        let rejections: Vec<f64> = neighbours.iter().map(rate).collect();
        let equal = ladder::equalised(&betas, &rejections);
        neighbours.fill((0.0, 0));
        if let Some(remote) = &self.remote {
            remote.retemper(&equal);
        }
        for (rung, beta) in self.rungs.iter_mut().zip(equal) {
            // No algorithm of this crate refuses a beta because of its value, or of the memory left. Where
            // a user's does, the rung keeps its own.
            let _ = rung.retemper(&self.inner, beta);
        }
    }
}

fn ratio<T: PowerTarget, K>(rungs: &[Rung<T, K>], i: usize, j: usize) -> f64 {
    let likelihood = |k: usize| rungs[k].point.log_density().likelihood;
    let betas = (rungs[i].target.beta(), rungs[j].target.beta());
    swaps::log_ratio(betas, (likelihood(i), likelihood(j)))
}

impl<T, A> Kernel<T> for PowerPosteriorsKernel<T, A>
where
    T: PowerTarget + Copy + Send,
    A: Algorithm<Tempered<T>> + Send,
{
    type State = PowerPosteriorsState<<A::Kernel as Kernel<Tempered<T>>>::State>;

    fn state(&self) -> Self::State {
        PowerPosteriorsState {
            rungs: match &self.remote {
                None => self.rungs.iter().map(Rung::state).collect(),
                Some(remote) => remote.states(|k| self.rungs[k].state()),
            },
            travel: self.travel.clone(),
            warmup: self.warmup.clone(),
        }
    }

    fn restore(&mut self, state: Self::State) {
        for (rung, stored) in self.rungs.iter_mut().zip(state.rungs) {
            rung.restore(&self.inner, stored);
        }
        self.travel = state.travel;
        self.warmup = state.warmup;
        self.remote.iter_mut().for_each(Remote::forget);
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        current.eval(target, ws);
        self.before.copy_from_slice(current.q());
        for rung in self.rungs.iter_mut().filter(|rung| !rung.started) {
            if rung.target.beta() < 1.0 {
                rung.start_at(current.q());
            }
            rung.started = true;
        }
        let cold = self.rungs.len() - 1;
        std::mem::swap(current, &mut self.rungs[cold].point);
        let round = self.travel.rounds;
        self.exchange(round, rng);
        let around = cut::around();
        let step = |rung: &mut Rung<T, A::Kernel>| cut::within(around.clone(), || rung.step());
        match &mut self.remote {
            None => threads::each(&mut self.rungs, &|_, rung| step(rung)),
            Some(remote) => {
                remote.step(&mut self.rungs, |here| threads::each(here, &|_, rung| step(rung)));
            }
        }
        std::mem::swap(current, &mut self.rungs[cold].point);

        let gradient_evals =
            self.rungs.iter().map(|rung| rung.last.map_or(0, |step| step.gradient_evals));
        let last = self.rungs[cold].last;
        Step {
            accept_prob: last.and_then(|step| step.accept_prob),
            accepted: current.q() != self.before,
            divergent: last.is_some_and(|step| step.divergent),
            gradient_evals: gradient_evals.sum(),
        }
    }

    fn adapt(&mut self, _step: &Step, current: &Point, warmup: WarmupProgress) {
        let cold = self.rungs.len() - 1;
        if let Some(remote) = &self.remote {
            remote.adapt(warmup);
        }
        for (k, rung) in self.rungs.iter_mut().enumerate() {
            if self.remote.as_ref().is_some_and(|remote| remote.has(k)) {
                continue;
            }
            let point = if k == cold { current } else { &rung.point };
            if let (Some(kernel), Some(step)) = (&mut rung.kernel, &rung.last) {
                kernel.adapt(step, point, warmup);
            }
        }
        let Some(ladder) = &mut self.warmup else { return };
        let windows = ladder.windows.get_or_insert_with(|| Windows::new(warmup.total));
        if !windows.contains(warmup.iteration) {
            ladder.neighbours.fill((0.0, 0));
            return;
        }
        if windows.ends_after(warmup.iteration) && self.adapt_ladder {
            self.refine();
        }
    }

    fn freeze(&mut self) {
        self.warmup = None;
        self.travel = Travel::new(self.rungs.len());
        if let Some(remote) = &self.remote {
            remote.freeze();
        }
        self.rungs.iter_mut().for_each(Rung::freeze);
    }

    fn diverged_at(&self, q: &mut [f64]) {
        if let Some(kernel) = self.rungs.last().and_then(|rung| rung.kernel.as_ref()) {
            kernel.diverged_at(q);
        }
    }

    /// `rung_k.log_likelihood` for all rungs but the last, whose is the chain's own; then the
    /// statistics of the inner kernel at beta = 1, under `cold.`.
    fn stat_names(&self) -> Vec<String> {
        let cold = self.rungs.len() - 1;
        let own = self.rungs[cold].kernel.as_ref().map_or_else(Vec::new, Kernel::stat_names);
        let rungs = (0..cold).map(|k| format!("rung_{k}.log_likelihood"));
        rungs.chain(own.into_iter().map(|name| format!("cold.{name}"))).collect()
    }

    fn stats(&self, out: &mut [f64]) {
        let cold = self.rungs.len() - 1;
        let (rungs, own) = out.split_at_mut(cold);
        for (out, rung) in rungs.iter_mut().zip(&self.rungs) {
            *out = rung.point.log_density().likelihood;
        }
        if let Some(kernel) = &self.rungs[cold].kernel {
            kernel.stats(&mut own[..self.n_inner_stats]);
        }
    }

    fn report(&self) -> Report {
        let travel = &self.travel;
        let rounds = travel.rounds as f64;
        let ladder = LadderReport {
            betas: self.betas(),
            swap_accept: travel.neighbours.iter().map(|sum| sum / rounds).collect(),
            swap_rate: travel.accepted as f64 / travel.proposed as f64,
            accept_prob: self
                .rungs
                .iter()
                .map(|r| r.accept_probs.0 / r.accept_probs.1 as f64)
                .collect(),
            divergences: self.rungs.iter().map(|rung| rung.divergences).collect(),
            restarts: travel.restarts,
            round_trips: travel.round_trips,
        };
        let cold = self.rungs.last().and_then(|rung| rung.kernel.as_ref());
        let cold = cold.map_or_else(Report::default, Kernel::report);
        Report { ladder: Some(ladder), ..cold }
    }
}

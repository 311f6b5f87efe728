//! Power posteriors: a population of chains on a ladder of temperatures (parallel tempering).

use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Ladder, Swaps, ladder, swaps};
use crate::Error;
use crate::adapt::Windows;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel, Step, WarmupProgress};
use crate::targets::{Point, PowerTarget, Target, Tempered};

/// A population of chains that run `inner` on a ladder of temperatures.
///
/// ```text
/// log pi_k(q) = beta_k ell(q) + log p(q),   0 <= beta_0 < ... < beta_m = 1
/// ```
///
/// Each rung of the ladder has a chain of its own on the [tempered](crate::targets::Tempered) target:
/// near beta = 0, the prior, modes melt together, and exchanges of states between rungs bring what
/// is found there down to beta = 1, the posterior. One transition is
///
/// 1. exchanges between pairs of rungs, each accepted with probability
///    min(1, exp((beta_i - beta_j) (ell_j - ell_i))), see [`Swaps`];
/// 2. one step of the inner algorithm on each rung, or, at beta = 0, an independent draw from the
///    prior. (Where the likelihood at a draw is no number, the old state stays, and a divergence is
///    counted: the prior is then restricted to where it is one.)
///
/// Both leave the product of all pi_k unchanged. The draws of a run are those of the rung beta = 1;
/// `accepted` says whether its state changed, by either part. The log likelihoods of the other
/// rungs are recorded with each draw (`rung_0.log_likelihood`, ...), from which
/// [`Evidence`](crate::evidence::Evidence) is computed; [`LadderReport`] says how states travelled.
///
/// Sources: Friel and Pettitt, JRSS B 70, 2008, doi:10.1111/j.1467-9868.2007.00650.x; Papamarkou,
/// Hinkle, Young and Womble, Statist. Sci. 37, 2022, arXiv:1910.06539, algorithm 1; Syed,
/// Bouchard-Côté, Deligiannidis and Doucet, JRSS B 84, 2022, doi:10.1111/rssb.12464.
///
/// During warm-up each rung adapts its own step size and scales, and the inner rungs are moved
/// towards equal rejection rates between neighbours
/// ([`adapt_ladder`](PowerPosteriors::adapt_ladder)), as far as the rates of a window can tell; a
/// warm-up of fewer than some 50 iterations leaves the ladder as it is. Every chain has its own ladder
/// then.
///
/// Cost of a step: that of the inner algorithm, times the number of rungs (one evaluation of the
/// log density at beta = 0). An exchange costs no evaluation itself; a kernel that uses gradients
/// evaluates that of a newly come state anew. Rungs run in parallel where threads are free; draws
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerPosteriors<A> {
    /// What moves the chain within each rung.
    pub inner: A,
    /// The powers of the likelihood: where adaptation starts, or what is used throughout if it is
    /// not adapted or there is no warm-up.
    pub ladder: Ladder,
    /// Whether warm-up moves the inner rungs towards equal rejection rates. The first rung stays.
    pub adapt_ladder: bool,
    /// Which rungs exchange their states.
    pub swaps: Swaps,
}

impl<A> PowerPosteriors<A> {
    /// `inner` on the default ladder, adapted in warm-up, with exchanges between neighbours.
    pub fn new(inner: A) -> Self {
        Self { inner, ladder: Ladder::default(), adapt_ladder: true, swaps: Swaps::default() }
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
    /// How many statistics the inner kernel adds.
    n_inner_stats: usize,
    travel: Travel,
    warmup: Option<LadderWarmup>,
}

/// One chain of the population.
struct Rung<T: Target, K> {
    target: Tempered<T>,
    /// None at beta = 0, where the prior is drawn from.
    kernel: Option<K>,
    point: Point,
    /// Where a draw from the prior is tried.
    proposal: Point,
    ws: T::Workspace,
    rng: ChainRng,
    last: Option<Step>,
    /// Whether it stands at a point of its own.
    started: bool,
}

/// How states moved between the rungs, since the start or the end of warm-up.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Travel {
    rounds: u64,
    /// Sums of the neighbours' acceptance probabilities.
    neighbours: Vec<f64>,
    proposed: u64,
    accepted: u64,
    /// Sums of the acceptance probabilities within rungs, and how many there are.
    within: Vec<(f64, u64)>,
    divergences: Vec<u64>,
    /// The walker at each rung.
    walker: Vec<usize>,
    /// For each walker, how far it is on its way.
    way: Vec<Way>,
    restarts: u64,
    round_trips: u64,
}

/// How far a walker is on the way from beta = 1 to beta_0 and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Way {
    Nowhere,
    FromCold,
    /// From the hot end, where it came without having been at the cold one.
    FromHot,
    /// From the hot end, where it came from the cold one.
    FromColdByHot,
}

/// What is learnt of the ladder in the present window of the warm-up.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LadderWarmup {
    windows: Option<Windows>,
    /// Sums of the neighbours' rejection probabilities, and how many there are.
    neighbours: Vec<(f64, u64)>,
}

/// The state of a [`PowerPosteriorsKernel`]; `S` is that of its inner kernels.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "S: Serialize", deserialize = "S: DeserializeOwned"))]
pub struct PowerPosteriorsState<S> {
    rungs: Vec<RungState<S>>,
    travel: Travel,
    warmup: Option<LadderWarmup>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "S: Serialize", deserialize = "S: DeserializeOwned"))]
struct RungState<S> {
    beta: f64,
    kernel: Option<S>,
    point: Point,
    rng: ChainRng,
    last: Option<Step>,
    started: bool,
}

impl Travel {
    fn new(rungs: usize) -> Self {
        Self {
            rounds: 0,
            neighbours: vec![0.0; rungs - 1],
            proposed: 0,
            accepted: 0,
            within: vec![(0.0, 0); rungs],
            divergences: vec![0; rungs],
            walker: (0..rungs).collect(),
            way: vec![Way::Nowhere; rungs],
            restarts: 0,
            round_trips: 0,
        }
    }

    /// Notes who stands at the two ends when a round of exchanges is over: only there are moves made.
    fn arrive(&mut self) {
        let hot = &mut self.way[self.walker[0]];
        *hot = match *hot {
            Way::Nowhere => Way::FromHot,
            Way::FromCold => Way::FromColdByHot,
            on_the_way => on_the_way,
        };
        let cold = &mut self.way[self.walker[self.walker.len() - 1]];
        self.restarts += u64::from(matches!(*cold, Way::FromHot | Way::FromColdByHot));
        self.round_trips += u64::from(*cold == Way::FromColdByHot);
        *cold = Way::FromCold;
    }
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
            rungs,
        })
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        let rungs = self.ladder.betas().map_or(0, |betas| betas.len());
        let each = Tempered::new(*target, 1.0).map_or(0, |cold| self.inner.matrix_numbers(&cold));
        rungs.saturating_mul(each)
    }
}

impl<T: PowerTarget + Copy + Send, K: Kernel<Tempered<T>>> Rung<T, K> {
    /// How many draws from the prior a rung tries for a start of finite log density.
    const TRIES: usize = 100;

    fn new<A>(algorithm: &A, target: Tempered<T>, mut rng: ChainRng) -> Result<Self, Error>
    where
        A: Algorithm<Tempered<T>, Kernel = K>,
    {
        let (dim, beta) = (target.dim(), target.beta());
        let kernel = if beta > 0.0 { Some(algorithm.kernel(&target, &rng)?) } else { None };
        let mut rung = Self {
            kernel,
            point: Point::new(dim),
            proposal: Point::new(dim),
            ws: target.workspace(),
            last: None,
            started: false,
            target,
            rng: rng.child(0),
        };
        if beta == 1.0 {
            return Ok(rung); // starts where the chain does
        }
        let mut q = vec![0.0; dim];
        for _ in 0..Self::TRIES {
            match rung.target.base().draw_reference(&mut rng, &mut q) {
                Ok(()) => {}
                // Without draws from the prior, the rung starts where the chain does.
                Err(_) if beta > 0.0 => return Ok(rung),
                Err(error) => {
                    let value = "0";
                    let allowed = format!(
                        "above 0 (`Ladder::Given`) where the prior cannot be drawn from: {error}"
                    );
                    return Err(Error::argument("beta_0 of the ladder", value, allowed));
                }
            }
            rung.start_at(&q);
            let likelihood = rung.point.log_density().likelihood;
            if rung.point.log_density().is_finite() && likelihood < f64::INFINITY {
                rung.started = true;
                return Ok(rung);
            }
        }
        if beta > 0.0 {
            return Ok(rung); // where the chain starts, the density is finite
        }
        let last = rung.point.log_density();
        let allowed = format!(
            "such that the density at draws from the prior is a number (log likelihood {}, log \
             prior {} at the last of {} draws)",
            last.likelihood,
            last.prior,
            Self::TRIES
        );
        Err(Error::argument("beta_0 of the ladder", "0", allowed))
    }

    fn start_at(&mut self, q: &[f64]) {
        self.point.set(|own| own.copy_from_slice(q));
        self.point.eval(&self.target, &mut self.ws);
    }

    /// One move within the rung.
    fn step(&mut self) {
        let Self { target, kernel, point, proposal, ws, rng, .. } = self;
        let step = match kernel {
            Some(kernel) => {
                let step = kernel.step(target, point, ws, rng);
                point.eval(target, ws); // what exchanges go by; known, unless the kernel needs none
                step
            }
            None => {
                let mut drawn = false;
                proposal.set(|q| drawn = target.base().draw_reference(rng, q).is_ok());
                let density = proposal.eval(target, ws);
                // A likelihood of zero is allowed here, one that is no number is not.
                let accepted =
                    drawn && density.prior.is_finite() && density.likelihood < f64::INFINITY;
                if accepted {
                    std::mem::swap(point, proposal);
                }
                Step { accept_prob: None, accepted, divergent: !accepted, gradient_evals: 0 }
            }
        };
        self.last = Some(step);
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

    /// Where rung `k` is; none for the last, whose place is the chain's own position.
    pub fn position(&self, k: usize) -> Option<&[f64]> {
        let hot = &self.rungs[..self.rungs.len() - 1];
        hot.get(k).map(|rung| rung.point.q())
    }

    /// Puts rung `k`, which is not the last, at `q`.
    ///
    /// Errors: no such rung, or a `q` of another length.
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
            // rungs: they say nothing about the right one.
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
            if rng.uniform().ln() < ratio(rungs, i, j) {
                travel.accepted += 1;
                let (low, high) = rungs.split_at_mut(i.max(j));
                low[i.min(j)].point.exchange(&mut high[0].point);
                travel.walker.swap(i, j);
            }
        });
        travel.arrive();
    }

    /// Moves the inner rungs to equal rejection rates.
    fn refine(&mut self) {
        let betas = self.betas();
        let Some(LadderWarmup { neighbours, .. }) = &mut self.warmup else { return };
        let rate = |(sum, n): &(f64, u64)| if *n > 0 { sum / *n as f64 } else { 1.0 };
        let rejections: Vec<f64> = neighbours.iter().map(rate).collect();
        let equal = ladder::equalised(&betas, &rejections);
        neighbours.fill((0.0, 0));
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

impl<T: PowerTarget + Copy + Send, K: Kernel<Tempered<T>>> Rung<T, K> {
    /// The same chain at another temperature, with a kernel that goes on from what it has learnt.
    /// If the algorithm refuses, the rung stays as it is.
    fn retemper<A: Algorithm<Tempered<T>, Kernel = K>>(
        &mut self,
        algorithm: &A,
        beta: f64,
    ) -> Result<(), Error> {
        if beta == self.target.beta() {
            return Ok(());
        }
        let target = Tempered::new(*self.target.base(), beta)?;
        let mut kernel = algorithm.kernel(&target, &self.rng)?;
        if let Some(old) = &self.kernel {
            kernel.restore(old.state());
        }
        self.target = target;
        self.kernel = Some(kernel);
        self.point.temper(beta);
        Ok(())
    }
}

impl<T, A> Kernel<T> for PowerPosteriorsKernel<T, A>
where
    T: PowerTarget + Copy + Send,
    A: Algorithm<Tempered<T>> + Send,
{
    type State = PowerPosteriorsState<<A::Kernel as Kernel<Tempered<T>>>::State>;

    fn state(&self) -> Self::State {
        let rung = |rung: &Rung<T, A::Kernel>| RungState {
            beta: rung.target.beta(),
            kernel: rung.kernel.as_ref().map(Kernel::state),
            point: rung.point.clone(),
            rng: rung.rng.clone(),
            last: rung.last,
            started: rung.started,
        };
        PowerPosteriorsState {
            rungs: self.rungs.iter().map(rung).collect(),
            travel: self.travel.clone(),
            warmup: self.warmup.clone(),
        }
    }

    fn restore(&mut self, state: Self::State) {
        for (rung, stored) in self.rungs.iter_mut().zip(state.rungs) {
            let moved = rung.retemper(&self.inner, stored.beta);
            moved.expect(
                "the inner algorithm has made a kernel for this rung of the checkpoint before",
            );
            rung.point = stored.point;
            rung.rng = stored.rng;
            rung.last = stored.last;
            rung.started = stored.started;
            if let (Some(kernel), Some(stored)) = (&mut rung.kernel, stored.kernel) {
                kernel.restore(stored);
            }
        }
        self.travel = state.travel;
        self.warmup = state.warmup;
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
        self.rungs.par_iter_mut().for_each(Rung::step);
        std::mem::swap(current, &mut self.rungs[cold].point);

        let mut gradient_evals = 0;
        for (k, rung) in self.rungs.iter().enumerate() {
            let Some(step) = rung.last else { continue };
            gradient_evals += step.gradient_evals;
            self.travel.divergences[k] += u64::from(step.divergent);
            if let Some(accept_prob) = step.accept_prob {
                self.travel.within[k].0 += accept_prob;
                self.travel.within[k].1 += 1;
            }
        }
        let last = self.rungs[cold].last;
        Step {
            accept_prob: last.and_then(|step| step.accept_prob),
            accepted: current.q() != self.before,
            divergent: last.is_some_and(|step| step.divergent),
            gradient_evals,
        }
    }

    fn adapt(&mut self, _step: &Step, current: &Point, warmup: WarmupProgress) {
        let cold = self.rungs.len() - 1;
        for (k, rung) in self.rungs.iter_mut().enumerate() {
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
        self.travel =
            Travel { walker: self.travel.walker.clone(), ..Travel::new(self.rungs.len()) };
        self.rungs.iter_mut().filter_map(|rung| rung.kernel.as_mut()).for_each(Kernel::freeze);
    }

    fn diverged_at(&self, q: &mut [f64]) {
        if let Some(kernel) = self.rungs.last().and_then(|rung| rung.kernel.as_ref()) {
            kernel.diverged_at(q);
        }
    }

    /// `rung_k.log_likelihood` for all rungs but the last, whose is the chain's own; then what the
    /// inner kernel at beta = 1 records, under `cold.`.
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

    fn report(&self) -> Vec<(String, Vec<f64>)> {
        let travel = &self.travel;
        let rounds = travel.rounds as f64;
        let counts = |counts: &[u64]| counts.iter().map(|c| *c as f64).collect::<Vec<_>>();
        let entry = |name: &str, values| (name.to_string(), values);
        let cold = self.rungs.last().and_then(|rung| rung.kernel.as_ref());
        let inner = cold.map_or_else(Vec::new, Kernel::report);
        let own = [
            entry("betas", self.betas()),
            entry("swap_accept", travel.neighbours.iter().map(|sum| sum / rounds).collect()),
            entry("swap_rate", vec![travel.accepted as f64 / travel.proposed as f64]),
            entry(
                "rung_accept_prob",
                travel.within.iter().map(|(sum, n)| sum / *n as f64).collect(),
            ),
            entry("rung_divergences", counts(&travel.divergences)),
            entry("restarts", counts(&[travel.restarts])),
            entry("round_trips", counts(&[travel.round_trips])),
        ];
        own.into_iter()
            .chain(inner.into_iter().map(|(name, v)| (format!("cold.{name}"), v)))
            .collect()
    }
}

//! The loop: chains, warm-up, random streams, storage, progress.
//!
//! Chain c of a run with seed s draws from the stream (s, c) and from nothing else, so results are
//! the same bits for any number of threads. Chains advance together, in rounds of about 20 ms:
//! between two rounds progress is reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::{Algorithm, Kernel, Step, WarmupProgress};
use crate::Error;
use crate::draws::{Draws, RunInfo, STATS};
use crate::error::positive;
use crate::rng::ChainRng;
use crate::target::{Point, Target};

/// Where chains start. Points are checked: the log density must be finite.
#[derive(Clone, Debug, Default)]
pub enum Init {
    /// Random points of the target: draws from the prior, for a posterior. Tried up to
    /// [`Init::TRIES`] times per chain.
    #[default]
    Random,
    /// One point per chain.
    Points(Vec<Vec<f64>>),
    /// Normal with standard deviation `sd` around `center`, independent for each coordinate and
    /// chain. Tried up to [`Init::TRIES`] times per chain.
    Around {
        /// The center, as long as q.
        center: Vec<f64>,
        /// The standard deviation, above 0.
        sd: f64,
    },
}

impl Init {
    /// How many random points a chain tries before it gives up.
    pub const TRIES: usize = 100;
}

/// Ends a run from another thread (or from its progress report) at the next draw.
///
/// The run then returns the draws that all chains have made.
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<AtomicBool>);

impl StopHandle {
    /// A handle to give to [`Sampler::stop_handle`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the run at the next draw.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The two phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Kernels adapt, nothing is stored.
    Warmup,
    /// Kernels are frozen, draws are stored.
    Sampling,
}

/// How far a run is. All chains are equally far.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Warm-up or sampling.
    pub phase: Phase,
    /// Warm-up iterations or draws of each chain so far in this phase.
    pub done: usize,
    /// Warm-up iterations or draws of each chain in this phase.
    pub total: usize,
    /// Divergent transitions of all chains in this phase.
    pub divergences: u64,
    /// Time since the run began.
    pub elapsed: Duration,
}

/// Runs an [`Algorithm`] on a target. See the [module](crate::sampler).
///
/// Default: 4 chains, 1,000 iterations of warm-up, 1,000 draws each, no thinning, seed 0, random
/// starting points, all threads of rayon's global pool.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
///
/// let target = GaussianTarget::standard(3)?;
/// let draws = Sampler::new(&target, Mala::default()).chains(2).draws(500).seed(1).run()?;
/// assert_eq!(draws.values().dim(), (2, 500, 3));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[must_use = "a sampler does nothing until `run`"]
pub struct Sampler<'t, T, A> {
    target: &'t T,
    algorithm: A,
    chains: usize,
    warmup: usize,
    draws: usize,
    thin: usize,
    seed: u64,
    init: Init,
    threads: Option<usize>,
    stop: StopHandle,
    on_progress: Option<Report<'t>>,
}

type Report<'t> = Box<dyn FnMut(&Progress) + 't>;

impl<'t, T: Target, A: Algorithm<&'t T>> Sampler<'t, T, A> {
    /// A run of `algorithm` on `target`.
    pub fn new(target: &'t T, algorithm: A) -> Self {
        Self {
            target,
            algorithm,
            chains: 4,
            warmup: 1000,
            draws: 1000,
            thin: 1,
            seed: 0,
            init: Init::default(),
            threads: None,
            stop: StopHandle::new(),
            on_progress: None,
        }
    }

    /// The number of chains, at least 1; at least 4 if R-hat is to mean much.
    pub fn chains(mut self, chains: usize) -> Self {
        self.chains = chains;
        self
    }

    /// Iterations of warm-up per chain; none are stored.
    pub fn warmup(mut self, warmup: usize) -> Self {
        self.warmup = warmup;
        self
    }

    /// Draws to store per chain.
    pub fn draws(mut self, draws: usize) -> Self {
        self.draws = draws;
        self
    }

    /// Steps per stored draw, at least 1.
    pub fn thin(mut self, thin: usize) -> Self {
        self.thin = thin;
        self
    }

    /// The seed of all random streams.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Where chains start.
    pub fn init(mut self, init: Init) -> Self {
        self.init = init;
        self
    }

    /// The number of threads, at least 1. The draws do not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// A handle that can end the run early.
    pub fn stop_handle(mut self, stop: &StopHandle) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Calls `report` about fifty times a second, from the thread that called [`run`](Self::run).
    pub fn on_progress(mut self, report: impl FnMut(&Progress) + 't) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }

    /// Runs all chains.
    ///
    /// Errors: an argument out of range, a configuration that the algorithm refuses, draws that do
    /// not fit into memory, or a chain without a starting point of finite log density.
    pub fn run(mut self) -> Result<Draws, Error> {
        for (name, value) in [("chains", self.chains), ("thin", self.thin)] {
            if value == 0 {
                return Err(Error::argument(name, 0, "at least 1"));
            }
        }
        check_layout(self.target)?;
        let pool = match self.threads {
            None => None,
            Some(0) => return Err(Error::argument("threads", 0, "at least 1")),
            Some(n) => Some(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(n)
                    .build()
                    .map_err(|e| Error::argument("threads", n, format!("possible here: {e}")))?,
            ),
        };
        let on_progress = self.on_progress.take();
        match pool {
            Some(pool) => self.run_chains(on_progress, |chains, work| {
                pool.install(|| chains.par_iter_mut().for_each(work))
            }),
            None => {
                self.run_chains(on_progress, |chains, work| chains.par_iter_mut().for_each(work))
            }
        }
    }

    fn run_chains(
        self,
        mut on_progress: Option<Report<'t>>,
        parallel: impl Fn(
            &mut [Chain<'t, T, A::Kernel>],
            &(dyn Fn(&mut Chain<'t, T, A::Kernel>) + Sync),
        ),
    ) -> Result<Draws, Error> {
        let began = Instant::now();
        let mut chains =
            (0..self.chains).map(|c| self.start(c)).collect::<Result<Vec<_>, Error>>()?;
        let mut seconds = [0.0; 2];
        let phases = [(Phase::Warmup, self.warmup), (Phase::Sampling, self.draws)];
        for ((phase, total), seconds) in phases.into_iter().zip(&mut seconds) {
            let phase_began = Instant::now();
            let (mut done, mut round) = (0, 1);
            while done < total && !self.stop.is_stopped() {
                let round_began = Instant::now();
                let range = done..total.min(done + round);
                parallel(&mut chains, &|chain| {
                    for i in range.clone() {
                        if self.stop.is_stopped() {
                            return;
                        }
                        match phase {
                            Phase::Warmup => chain.warm_up(self.target, i, total),
                            Phase::Sampling => chain.draw(self.target, self.thin),
                        }
                    }
                });
                done = range.end;
                let factor = 0.02 / round_began.elapsed().as_secs_f64().max(1e-6);
                round = ((round as f64 * factor.min(8.0)) as usize).max(1);
                if let Some(report) = &mut on_progress {
                    let divergences = chains.iter().map(|c| c.divergences[phase as usize]).sum();
                    let elapsed = began.elapsed();
                    report(&Progress { phase, done, total, divergences, elapsed });
                }
            }
            if phase == Phase::Warmup {
                chains.iter_mut().for_each(|c| c.kernel.freeze());
            }
            *seconds = phase_began.elapsed().as_secs_f64();
        }
        let info = RunInfo {
            seed: self.seed,
            warmup: self.warmup,
            thin: self.thin,
            stopped_early: self.stop.is_stopped(),
            warmup_seconds: seconds[0],
            sampling_seconds: seconds[1],
            warmup_divergences: chains.iter().map(|c| c.divergences[0]).collect(),
            warmup_gradient_evals: chains.iter().map(|c| c.warmup_gradients).collect(),
        };
        let own = chains[0].kernel.stat_names();
        let names = STATS.iter().map(ToString::to_string).chain(own);
        Ok(Draws::from_chains(
            self.target.layout(),
            names.collect(),
            chains.into_iter().map(|c| (c.values, c.stats)).collect(),
            info,
        ))
    }

    /// A chain at a checked starting point.
    fn start(&self, chain: usize) -> Result<Chain<'t, T, A::Kernel>, Error> {
        let dim = self.target.dim();
        let rng = ChainRng::new(self.seed, chain as u64);
        let kernel = self.algorithm.kernel(&self.target, &rng)?;
        let mut ws = self.target.workspace();
        let mut point = Point::new(dim);
        // A stream of its own: how many points are tried does not shift the chain's.
        let mut start_rng = rng.child(u64::MAX);
        let tries = if matches!(self.init, Init::Points(_)) { 1 } else { Init::TRIES };
        for _ in 0..tries {
            let mut start = vec![0.0; dim];
            self.draw_start(chain, &mut start_rng, &mut start)?;
            point.set(|q| q.copy_from_slice(&start));
            if point.eval(&self.target, &mut ws).is_finite() {
                let n_own_stats = kernel.stat_names().len();
                let (values, stats) =
                    (self.storage(dim)?, self.storage(STATS.len() + n_own_stats)?);
                return Ok(Chain {
                    rng,
                    kernel,
                    point,
                    ws,
                    values,
                    stats,
                    n_own_stats,
                    divergences: [0; 2],
                    warmup_gradients: 0,
                });
            }
        }
        let last = point.log_density();
        Err(Error::Start {
            chain,
            tries,
            last: format!("log likelihood {}, log prior {}", last.likelihood, last.prior),
        })
    }

    fn draw_start(&self, chain: usize, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        let check = |what: &str, point: &[f64]| {
            if point.len() != q.len() {
                let what = format!("length of {what}");
                return Err(Error::shape(what, point.len(), q.len()));
            }
            match point.iter().position(|x| !x.is_finite()) {
                Some(i) => Err(Error::argument(
                    format!("coordinate {i} of {what}"),
                    point[i],
                    "a finite number",
                )),
                None => Ok(()),
            }
        };
        match &self.init {
            Init::Random => self.target.draw_start(rng, q),
            Init::Points(points) => {
                if points.len() != self.chains {
                    return Err(Error::shape(
                        "number of starting points",
                        points.len(),
                        self.chains,
                    ));
                }
                check(&format!("the starting point of chain {chain}"), &points[chain])?;
                q.copy_from_slice(&points[chain]);
                Ok(())
            }
            Init::Around { center, sd } => {
                positive("sd of the starting points", *sd)?;
                check("the center of the starting points", center)?;
                for (q, c) in q.iter_mut().zip(center) {
                    *q = c + sd * rng.normal();
                }
                Ok(())
            }
        }
    }

    /// Memory for all draws of one chain, or an error that says how much was asked for.
    fn storage(&self, width: usize) -> Result<Vec<f64>, Error> {
        let mut values = Vec::new();
        let fits =
            self.draws.checked_mul(width).is_some_and(|n| values.try_reserve_exact(n).is_ok());
        if fits {
            Ok(values)
        } else {
            let gib = self.draws as f64 * width as f64 * 8.0 / (1u64 << 30) as f64;
            Err(Error::argument(
                "draws",
                self.draws,
                format!(
                    "few enough for memory: {width} numbers per draw need {gib:.1} GiB per chain"
                ),
            ))
        }
    }
}

/// Checks that a target's names fit its coordinates, of which there is at least one.
pub(crate) fn check_layout<T: Target>(target: &T) -> Result<(), Error> {
    let (dim, names) = (target.dim(), target.layout().dim());
    match dim {
        0 => Err(Error::argument("dim of the target", 0, "at least 1")),
        _ if names != dim => {
            Err(Error::shape("coordinates that the target's layout names", names, dim))
        }
        _ => Ok(()),
    }
}

/// One chain while it runs.
struct Chain<'t, T: Target, K> {
    rng: ChainRng,
    kernel: K,
    point: Point,
    ws: <&'t T as Target>::Workspace,
    values: Vec<f64>,
    stats: Vec<f64>,
    /// How many statistics the kernel adds.
    n_own_stats: usize,
    /// In warm-up and in sampling.
    divergences: [u64; 2],
    warmup_gradients: u64,
}

impl<'t, T: Target, K: Kernel<&'t T>> Chain<'t, T, K> {
    fn step(&mut self, target: &'t T) -> Step {
        self.kernel.step(&target, &mut self.point, &mut self.ws, &mut self.rng)
    }

    fn warm_up(&mut self, target: &'t T, iteration: usize, total: usize) {
        let step = self.step(target);
        self.divergences[0] += u64::from(step.divergent);
        self.warmup_gradients += u64::from(step.gradient_evals);
        self.kernel.adapt(&step, &self.point, WarmupProgress { iteration, total });
    }

    fn draw(&mut self, target: &'t T, thin: usize) {
        let (mut accept_prob, mut accepted, mut divergent, mut gradients) = (0.0, 0.0, 0, 0);
        for _ in 0..thin {
            let step = self.step(target);
            accept_prob += step.accept_prob.unwrap_or(f64::NAN);
            accepted += f64::from(u8::from(step.accepted));
            divergent += u64::from(step.divergent);
            gradients += u64::from(step.gradient_evals);
        }
        self.divergences[1] += divergent;
        let density = self.point.log_density();
        self.values.extend_from_slice(self.point.q());
        self.stats.extend_from_slice(&[
            density.likelihood,
            density.prior,
            accept_prob / thin as f64,
            accepted / thin as f64,
            divergent as f64,
            gradients as f64,
        ]);
        let own = self.stats.len();
        self.stats.resize(own + self.n_own_stats, f64::NAN);
        self.kernel.stats(&mut self.stats[own..]);
    }
}

/// A progress report on the terminal, for [`Sampler::on_progress`]: one bar per phase.
#[cfg(feature = "progress")]
pub fn progress_bar() -> impl FnMut(&Progress) {
    use indicatif::{ProgressBar, ProgressStyle};
    let mut bar: Option<(Phase, ProgressBar)> = None;
    move |progress| {
        if bar.as_ref().is_none_or(|(phase, _)| *phase != progress.phase) {
            let style =
                ProgressStyle::with_template("{prefix:9} {wide_bar} {pos}/{len} {eta} {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_bar());
            let name = match progress.phase {
                Phase::Warmup => "warm-up",
                Phase::Sampling => "sampling",
            };
            let new = ProgressBar::new(progress.total as u64).with_style(style).with_prefix(name);
            bar = Some((progress.phase, new));
        }
        if let Some((_, bar)) = &bar {
            bar.set_position(progress.done as u64);
            bar.set_message(format!("{} divergent", progress.divergences));
            if progress.done == progress.total {
                bar.finish();
            }
        }
    }
}

//! The loop: chains, warm-up, random streams, storage, progress.
//!
//! Chain c of a run with seed s draws from the stream (s, c) and from nothing else, so results are
//! the same bits for any number of threads. Chains advance together, in rounds of about 20 ms
//! (where iterations are slow, of eight or of half a second): between two rounds progress is
//! reported, and [checkpoints](crate::draws::checkpoint) are written.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Algorithm, Kernel, Step, WarmupProgress};
use crate::Error;
use crate::draws::checkpoint::{Every, Fingerprint, Store, agree};
use crate::draws::keep::Kept;
use crate::draws::recorder::{ChainPlan, OneDraw, Recorder};
use crate::draws::{Divergence, Draws, Keep, RunInfo, STATS};
use crate::error::{caught, positive, unwound};
use crate::memory;
use crate::rng::ChainRng;
use crate::target::{LogDensity, Point, Target};

/// Where chains start. Points are checked: the log density must be finite.
///
/// **Which one?** The default, draws from the prior, lies within every support and is dispersed, as
/// R-hat wants it. For networks with a real response take small weights instead, `Around { center:
/// vec![0.0; dim], sd: 0.1 }`: draws of a wide prior saturate hidden units, and chains stay where
/// they do. Measured on the bundled sunspot series (MLP 4-10-1 tanh, standardised, 4 chains,
/// sampled noise): with N(0, 5^2) priors R-hat of the predictions after 500 + 250 draws of NUTS
/// (one seed) was 1.66 from prior draws, 1.41 from [Adam](crate::optimise::Adam) started there, and
/// 1.23 from small weights; MALA's chains had log likelihoods of 40 to 172 after 5,000 + 2,000
/// steps from prior draws, and 513 to 566 from small weights. With N(0, 1) priors the difference is
/// small, and none was seen for classes. Adam from small weights did no better than small weights
/// alone, since the first steps of NUTS climb as fast.
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

    /// A starting point of finite log density for chain number `chain` of `chains`.
    pub(crate) fn find<T: Target>(
        &self,
        target: &T,
        chain: usize,
        chains: usize,
        rng: &mut ChainRng,
        ws: &mut T::Workspace,
    ) -> Result<Point, Error> {
        let mut point = Point::new(target.dim());
        let tries = if matches!(self, Self::Points(_)) { 1 } else { Self::TRIES };
        for _ in 0..tries {
            let mut start = vec![0.0; target.dim()];
            self.draw(target, chain, chains, rng, &mut start)?;
            point.set(|q| q.copy_from_slice(&start));
            if point.eval(target, ws).is_finite() {
                return Ok(point);
            }
        }
        let last = point.log_density();
        Err(Error::Start {
            chain,
            tries,
            last: format!("log likelihood {}, log prior {}", last.likelihood, last.prior),
        })
    }

    fn draw<T: Target>(
        &self,
        target: &T,
        chain: usize,
        chains: usize,
        rng: &mut ChainRng,
        q: &mut [f64],
    ) -> Result<(), Error> {
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
        match self {
            Self::Random => target.draw_start(rng, q),
            Self::Points(points) => {
                if points.len() != chains {
                    return Err(Error::shape("number of starting points", points.len(), chains));
                }
                check(&format!("the starting point of chain {chain}"), &points[chain])?;
                q.copy_from_slice(&points[chain]);
                Ok(())
            }
            Self::Around { center, sd } => {
                positive("sd of the starting points", *sd)?;
                check("the center of the starting points", center)?;
                for (q, c) in q.iter_mut().zip(center) {
                    *q = c + sd * rng.normal();
                }
                Ok(())
            }
        }
    }
}

/// More threads than a machine has.
const MOST_THREADS: usize = 4096;

/// Iterations of a round, if they take no more than half a second.
const LEAST_ROUND: usize = 8;

/// Ends a run from another thread (or from its progress report) after the step that each chain is in.
///
/// The run then returns the draws that all chains have made, after it has written its checkpoint,
/// if it has one. Of a thinned draw the steps so far are part of the checkpoint. A step is never cut
/// short: one of [`Nuts`](super::Nuts) takes up to 2^`max_depth` gradients, one of
/// [`Hmc`](super::Hmc) up to `max_steps`.
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<AtomicBool>);

impl StopHandle {
    /// A handle to give to [`Sampler::stop_handle`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the run at the next step.
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

/// How far a run is. All chains are equally far, unless the run was asked to end.
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
    /// Time since the call of [`run`](Sampler::run).
    pub elapsed: Duration,
    /// Whether the last checkpoint could not be written. The run goes on and tries again.
    pub checkpoint_failed: bool,
}

/// Runs an [`Algorithm`] on a target. See the [module](crate::sampler).
///
/// Default: 4 chains, 1,000 iterations of warm-up, 1,000 draws each, no thinning, seed 0, random
/// starting points, all coordinates kept, all threads of rayon's global pool.
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
    keep: Keep,
    threads: Option<usize>,
    stop: StopHandle,
    on_progress: Option<Report<'t>>,
    checkpoint: Option<Checkpoint>,
}

/// Where and when to write, and the algorithm's part of what makes the run the one it is.
struct Checkpoint {
    path: PathBuf,
    every: Every,
    algorithm: Result<Fingerprint, Error>,
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
            keep: Keep::default(),
            threads: None,
            stop: StopHandle::new(),
            on_progress: None,
            checkpoint: None,
        }
    }

    /// The number of chains, at least 1 and as many as fit into memory; at least 4 if R-hat is to
    /// mean much.
    pub fn chains(mut self, chains: usize) -> Self {
        self.chains = chains;
        self
    }

    /// Iterations of warm-up per chain; none are stored.
    pub fn warmup(mut self, warmup: usize) -> Self {
        self.warmup = warmup;
        self
    }

    /// Draws to store per chain, as many as fit into memory.
    pub fn draws(mut self, draws: usize) -> Self {
        self.draws = draws;
        self
    }

    /// Steps per stored draw, at least 1. A [`StopHandle`] ends the run between two of them.
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

    /// Which coordinates of q the draws hold. The statistics of every draw are kept in any case.
    /// Which draws a chain makes does not depend on it.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// The number of threads, 1 to 4,096. The draws do not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// A handle that can end the run early.
    pub fn stop_handle(mut self, stop: &StopHandle) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Calls `report` about fifty times a second (less often if iterations are slow), from the
    /// thread that called [`run`](Self::run).
    pub fn on_progress(mut self, report: impl FnMut(&Progress) + 't) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }

    /// Runs all chains.
    ///
    /// Errors: an argument out of range, a configuration that the algorithm refuses, draws that do
    /// not fit into memory, two parameters or blocks of one name, a chain without a starting point of
    /// finite log density, or a checkpoint that cannot be used or not be begun.
    ///
    /// **Panics** of a density, kernel, recorder or progress report end the run as if it had been
    /// asked to stop: the draws that all chains have made come back with [`RunInfo::panic`]. Before
    /// the first draw of any chain a panic is an error. The checkpoint stays the last that was
    /// written, since the chain was in the midst of a step; after a progress report, which is called
    /// between steps, one more is written. Programs built with `panic = "abort"` end at once.
    pub fn run(self) -> Result<Draws, Error> {
        self.run_with(&()).map(|(draws, _)| draws)
    }

    /// Runs all chains, and hands every draw to a [recorder](crate::draws::recorder), or to several
    /// in a tuple. Returns the record of each chain as well.
    ///
    /// Errors: as [`run`](Self::run); a recorder that cannot begin. One that fails later ends the
    /// run, see [`RunInfo::recorder_error`].
    ///
    /// A recorder that panics ends the run as well. The record of that chain is returned as the panic has
    /// left it: it may hold a part of a draw that is not among the draws, and is not to be used.
    pub fn run_with<R: Recorder<T>>(
        mut self,
        recorder: &R,
    ) -> Result<(Draws, Vec<R::Record>), Error> {
        for (name, value) in [("chains", self.chains), ("thin", self.thin)] {
            if value == 0 {
                return Err(Error::argument(name, 0, "at least 1"));
            }
        }
        check_layout(self.target)?;
        let kept = self.keep.of(&self.target.layout())?;
        let pool = match self.threads {
            None => None,
            Some(n) if !(1..=MOST_THREADS).contains(&n) => {
                return Err(Error::argument("threads", n, format!("1 to {MOST_THREADS}")));
            }
            Some(n) => Some(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(n)
                    .build()
                    .map_err(|e| Error::argument("threads", n, format!("possible here: {e}")))?,
            ),
        };
        let (on_progress, checkpoint) = (self.on_progress.take(), self.checkpoint.take());
        match pool {
            Some(pool) => {
                self.run_chains(&kept, recorder, on_progress, checkpoint, |chains, work| {
                    pool.install(|| chains.par_iter_mut().for_each(work))
                })
            }
            None => self.run_chains(&kept, recorder, on_progress, checkpoint, |chains, work| {
                chains.par_iter_mut().for_each(work)
            }),
        }
    }

    fn run_chains<R: Recorder<T>>(
        self,
        kept: &Kept,
        recorder: &R,
        mut on_progress: Option<Report<'t>>,
        checkpoint: Option<Checkpoint>,
        parallel: impl Fn(
            &mut [Chain<'t, T, A::Kernel, R::Record>],
            &(dyn Fn(&mut Chain<'t, T, A::Kernel, R::Record>) + Sync),
        ),
    ) -> Result<(Draws, Vec<R::Record>), Error> {
        let began = Instant::now();
        check_chains(self.chains, self.target.dim(), self.algorithm.matrix_numbers(&self.target))?;
        let start = |c| caught(format!("chain {c}, at its start,"), || self.start(c, kept))?;
        let mut chains = (0..self.chains).map(start).collect::<Result<Vec<_>, Error>>()?;
        let (mut frozen, mut seconds) = (false, [0.0; 2]);
        let mut saver = caught("the beginning of the run", || match checkpoint {
            None => self.begin(recorder, &mut chains, |_| None).map(|()| None),
            Some(checkpoint) => {
                let chains = &mut chains;
                self.open(checkpoint, kept, recorder, chains, &mut frozen, &mut seconds).map(Some)
            }
        })??;
        // Set when a chain cannot go on, since a recorder failed or something panicked: from then on
        // no checkpoint is written.
        let failed = AtomicBool::new(false);
        let has_failed = || failed.load(Ordering::Relaxed);
        let has_ended = || self.stop.is_stopped() || has_failed();
        // Of what is not part of one chain: progress reports and checkpoints.
        let mut panic = None;
        type Chains<'c, 't, T, K, R> = &'c mut [Chain<'t, T, K, R>];
        let save = |saver: &mut Saver,
                    chains: Chains<'_, 't, T, A::Kernel, R::Record>,
                    frozen: bool,
                    seconds: [f64; 2]| {
            if !has_failed() {
                parallel(chains, &|chain| chain.guard(&failed, |chain| chain.witness(self.target)));
            }
            if has_failed() {
                return Ok(());
            }
            let saved = caught("the checkpoint", || saver.save(chains, recorder, frozen, seconds));
            failed.fetch_or(saved.is_err(), Ordering::Relaxed);
            saved
        };
        let mut clock = Instant::now();
        let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64();
        for (phase, total) in [(Phase::Warmup, self.warmup), (Phase::Sampling, self.draws)] {
            let p = phase as usize;
            let (mut done, mut round) = (least_done(&chains, p), 1);
            while done < total && panic.is_none() && !has_ended() {
                let round_began = Instant::now();
                let room = saver.as_ref().map_or(usize::MAX, Saver::room);
                let end = total.min(done.saturating_add(round.min(room)));
                parallel(&mut chains, &|chain| {
                    chain.guard(&failed, |chain| {
                        while chain.done[p] < end && !has_ended() {
                            match phase {
                                Phase::Warmup => chain.warm_up(self.target, total),
                                Phase::Sampling => {
                                    chain.draw(self.target, self.thin, kept, recorder, &has_ended);
                                    failed.fetch_or(chain.failure.is_some(), Ordering::Relaxed);
                                }
                            }
                        }
                    });
                });
                let advanced = end - done;
                done = least_done(&chains, p);
                let factor = 0.02 / round_began.elapsed().as_secs_f64().max(1e-6);
                // Some iterations at least, so that trajectories of different length even out and no
                // thread waits long for the others, unless they are slow.
                let within = |s: f64| advanced as f64 * s / 0.02 * factor;
                let least = (within(0.5) as usize).clamp(1, LEAST_ROUND);
                round = (within(0.02).min(8.0 * advanced as f64) as usize).max(least);
                seconds[p] += lap();
                if let Some(saver) = &mut saver
                    && saver.is_due(advanced)
                {
                    panic = save(saver, &mut chains, frozen, seconds).err();
                }
                if let Some(report) = &mut on_progress {
                    let divergences = chains.iter().map(|c| c.divergences[p]).sum();
                    let elapsed = began.elapsed();
                    let checkpoint_failed = saver.as_ref().is_some_and(|s| s.error.is_some());
                    let progress =
                        Progress { phase, done, total, divergences, elapsed, checkpoint_failed };
                    panic = panic.or(caught("the progress report", || report(&progress)).err());
                }
            }
            if phase == Phase::Warmup && done >= total && !frozen {
                chains.iter_mut().for_each(|c| c.guard(&failed, |c| c.kernel.freeze()));
                frozen = true;
            }
            seconds[p] += lap();
        }
        if let Some(saver) = &mut saver
            && saver.is_behind()
        {
            panic = panic.or(save(saver, &mut chains, frozen, seconds).err());
        }
        let failures = chains.iter_mut().filter_map(|chain| chain.failure.take());
        let (panics, errors): (Vec<_>, Vec<_>) = failures.partition(Error::is_panic);
        panic = panics.into_iter().next().or(panic);
        let recorder_error = errors.first().map(Error::to_string);
        let mut checkpoint_error = None;
        if let Some(saver) = &saver {
            let cause = if panic.is_some() { "the run panicked" } else { "a recorder failed" };
            let error = saver.error.as_ref().map(Error::to_string);
            let stays = || format!("{cause}, so the last checkpoint stays");
            checkpoint_error = has_failed().then(stays).or(error);
        }
        let mut reports = Vec::new();
        for chain in &chains {
            match caught("the kernel's report", || chain.kernel.report().into_iter().collect()) {
                Ok(report) => reports.push(report),
                Err(error) => panic = panic.or(Some(error)),
            }
        }
        reports.retain(|report: &BTreeMap<_, _>| !report.is_empty());
        if chains.iter().all(|chain| chain.done[1] == 0)
            && let Some(error) = panic
        {
            return Err(error);
        }
        let common = least_done(&chains, 1).min(self.draws);
        let info = RunInfo {
            seed: self.seed,
            parameters: self.target.dim(),
            warmup: self.warmup,
            thin: self.thin,
            stopped_early: least_done(&chains, 0) < self.warmup
                || least_done(&chains, 1) < self.draws,
            warmup_seconds: seconds[0],
            sampling_seconds: seconds[1],
            warmup_divergences: chains.iter().map(|c| c.divergences[0]).collect(),
            warmup_gradient_evals: chains.iter().map(|c| c.warmup_gradients).collect(),
            divergences: chains
                .iter()
                .flat_map(|c| c.diverged.iter().filter(|d| d.draw < common).cloned())
                .collect(),
            reports,
            checkpoint_error,
            recorder_error,
            panic: panic.as_ref().map(Error::to_string),
        };
        // A checkpoint may hold more draws than were asked for.
        for chain in &mut chains {
            chain.values.truncate(self.draws * kept.dim());
            chain.stats.truncate(self.draws * chain.n_stats());
        }
        let stat_names = chains[0].stat_names();
        let (mut records, mut values) = (Vec::new(), Vec::new());
        for chain in chains {
            records.extend(chain.record);
            values.push((chain.values, chain.stats));
        }
        Ok((Draws::from_chains(kept.layout.clone(), stat_names, values, info), records))
    }

    /// [`ChainPlan::run`].
    fn id(&self) -> u32 {
        let Self { seed, chains, warmup, thin, algorithm, target, .. } = self;
        let what = format!("{} on {}", algorithm.name(), target.layout().described());
        crc32fast::hash(format!("{seed} {chains} {warmup} {thin} {what}").as_bytes())
    }

    /// Begins the records of all chains, from what `state` gives for each.
    fn begin<R: Recorder<T>>(
        &self,
        recorder: &R,
        chains: &mut [Chain<'t, T, A::Kernel, R::Record>],
        mut state: impl FnMut(usize) -> Option<R::State>,
    ) -> Result<(), Error> {
        let run = self.id();
        for chain in chains {
            let index = chain.index;
            let plan = ChainPlan { chain: index, chains: self.chains, draws: self.draws, run };
            chain.record = Some(recorder.begin(self.target, plan, state(index))?);
        }
        Ok(())
    }

    /// Brings the chains to where the checkpoint is; without one, begins it.
    fn open<R: Recorder<T>>(
        &self,
        checkpoint: Checkpoint,
        kept: &Kept,
        recorder: &R,
        chains: &mut [Chain<'t, T, A::Kernel, R::Record>],
        frozen: &mut bool,
        seconds: &mut [f64; 2],
    ) -> Result<Saver, Error> {
        let Checkpoint { path, every, algorithm } = checkpoint;
        every.check()?;
        let mut run = algorithm?;
        run.add("version of bnn-mcmc", env!("CARGO_PKG_VERSION"));
        run.add("seed", self.seed);
        run.add("chains", self.chains);
        run.add("warmup", self.warmup);
        run.add("thin", self.thin);
        run.add("name of the algorithm", self.algorithm.name());
        run.add("parameters", self.target.layout().described());
        if let Some(checksum) = self.target.data_checksum() {
            run.add("checksum of the data", format!("{checksum:08x}"));
        }
        run.add("kept parameters", kept.layout.described());
        run.add("statistics", chains[0].stat_names().join(" "));
        run.add("name of the recorder", recorder.name());
        run.add("recorder", recorder.config());

        let (dim, width) = (kept.dim(), kept.dim() + chains[0].n_stats());
        let mut row_index = 0;
        let (store, stored) = Store::open::<RunState<_, _>>(&path, run, width, |row| {
            // More draws than were asked for take no memory.
            if row_index / self.chains < self.draws {
                let chain = &mut chains[row_index % self.chains];
                chain.values.extend_from_slice(&row[..dim]);
                chain.stats.extend_from_slice(&row[dim..]);
            }
            row_index += 1;
        })?;
        let starts = chains.iter().map(|c| c.point.q().to_vec()).collect();
        let mut saver = Saver { store, every, starts, since: 0, last: Instant::now(), error: None };
        let Some(stored) = stored else {
            self.begin(recorder, chains, |_| None)?;
            saver.save(chains, recorder, *frozen, *seconds);
            return saver.error.take().map_or(Ok(saver), Err);
        };
        stored
            .check(chains, self.target.dim(), saver.store.rows())
            .map_err(|p| Error::checkpoint(&path, p))?;
        let RunState { starts, chains: states, .. } = stored;
        let mut records = Vec::new();
        (*frozen, *seconds) = (stored.frozen, stored.seconds);
        let differs = |c, what: &str, there: f64, here: f64| {
            let problem = format!(
                "it belongs to another run: {what} of chain {c} is {there} there and {here} here"
            );
            Err(Error::checkpoint(&path, problem))
        };
        for (c, (chain, mut state)) in chains.iter_mut().zip(states).enumerate() {
            records.push(state.record.take());
            let there = state.witness;
            chain.restore(state);
            chain.witness(self.target);
            let here = chain.witness;
            for (what, there, here) in [
                ("log likelihood at the position", there.likelihood, here.likelihood),
                ("log prior at the position", there.prior, here.prior),
            ] {
                if !agree(there, here) {
                    return differs(c, what, there, here);
                }
            }
        }
        for (c, (there, here)) in starts.iter().zip(&saver.starts).enumerate() {
            for (i, (there, here)) in there.iter().zip(here).enumerate() {
                if !agree(*there, *here) {
                    let what = format!("coordinate {i} of the starting point");
                    return differs(c, &what, *there, *here);
                }
            }
        }
        let is_finished =
            least_done(chains, 0) >= self.warmup && least_done(chains, 1) >= self.draws;
        if !is_finished {
            saver.store.check_writable()?;
        }
        self.begin(recorder, chains, |c| records.get_mut(c).and_then(Option::take))?;
        Ok(saver)
    }

    /// A chain at a checked starting point.
    fn start<R>(&self, chain: usize, kept: &Kept) -> Result<Chain<'t, T, A::Kernel, R>, Error> {
        let rng = ChainRng::new(self.seed, chain as u64);
        let kernel = self.algorithm.kernel(&self.target, &rng)?;
        let mut ws = self.target.workspace();
        // A stream of its own: how many points are tried does not shift the chain's.
        let mut start_rng = rng.child(u64::MAX);
        let point = self.init.find(self.target, chain, self.chains, &mut start_rng, &mut ws)?;
        let n_own_stats = kernel.stat_names().len();
        let n_stats = STATS.len() + n_own_stats;
        // At the end chains are put behind the first one, which has room for all, and go one by one.
        let all = format!("({} chains, and room to copy one)", self.chains);
        let chains = match self.chains {
            1 => (1, "chain"),
            n => (n.saturating_add(1), &all[..]),
        };
        let numbers = (kept.dim().saturating_add(n_stats), "parameters and statistics");
        let size = [chains, (self.draws, "draws"), numbers];
        let instead = "take fewer draws, `Sampler::thin` them, or `Sampler::keep` fewer parameters \
                       and hand them to a recorder";
        if chain == 0 {
            memory::check::<f64>("draws", &size, instead)?;
        }
        let rows = self.draws * if chain == 0 { self.chains } else { 1 };
        let values = memory::room(rows * kept.dim(), ("draws", &size, instead))?;
        let stats = memory::room(rows * n_stats, ("draws", &size, instead))?;
        Ok(Chain {
            witness: point.log_density(),
            done: [0; 2],
            unfinished: Unfinished::default(),
            rng,
            kernel,
            point,
            ws,
            kept: kept.dim(),
            values,
            stats,
            n_own_stats,
            record: None,
            failure: None,
            index: chain,
            divergences: [0; 2],
            diverged: Vec::new(),
            warmup_gradients: 0,
        })
    }
}

/// The vectors as long as q that a chain takes, at least.
const VECTORS: usize = 5;

/// Checks that what chains take besides their draws fits into memory: some vectors of `dim` numbers, and
/// `more` for each, by [`Algorithm::matrix_numbers`].
pub(crate) fn check_chains(chains: usize, dim: usize, more: usize) -> Result<(), Error> {
    /// Numbers that a chain takes besides vectors and matrices, at least.
    const LOOP: usize = 128;
    let each = dim.saturating_mul(VECTORS).saturating_add(more).saturating_add(LOOP);
    let instead = match more {
        0 => "take fewer chains",
        _ => {
            "take fewer chains, or an algorithm without dense matrices (`Preconditioner::Diagonal`)"
        }
    };
    memory::check::<f64>("chains", &[(chains, "chains"), (each, "numbers for each")], instead)
}

/// Checks that a target's names fit its coordinates, of which there is at least one, and that some
/// vectors of them fit into memory.
pub(crate) fn check_layout<T: Target>(target: &T) -> Result<(), Error> {
    let (dim, layout) = (target.dim(), target.layout());
    match dim {
        0 => Err(Error::argument("dim of the target", 0, "at least 1")),
        _ if layout.dim() != dim => {
            Err(Error::shape("coordinates that the target's layout names", layout.dim(), dim))
        }
        _ => {
            let size = [(VECTORS, "vectors"), (dim, "numbers")];
            memory::check::<f64>("dim of the target", &size, "take fewer dimensions")?;
            layout.check_names()
        }
    }
}

impl<'t, T: Target, A: Algorithm<&'t T> + Serialize> Sampler<'t, T, A> {
    /// Writes checkpoints to the file `path` and its companion `<path>.draws`, and **goes on from
    /// them if they exist**, exactly as if the run had not been interrupted. Files of another run
    /// are an error. See [`draws::checkpoint`](crate::draws::checkpoint).
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, every: Every) -> Self {
        let mut run = Fingerprint::default();
        let algorithm = run.add_config("algorithm", &self.algorithm).map(|()| run);
        self.checkpoint = Some(Checkpoint { path: path.into(), every, algorithm });
        self
    }
}

/// All that a checkpoint holds besides the draws that all chains have made.
#[derive(Serialize, Deserialize)]
struct RunState<S, R> {
    starts: Vec<Vec<f64>>,
    frozen: bool,
    seconds: [f64; 2],
    chains: Vec<ChainState<S, R>>,
}

#[derive(Serialize, Deserialize)]
struct ChainState<S, R> {
    rng: ChainRng,
    kernel: S,
    point: Point,
    witness: LogDensity,
    done: [usize; 2],
    unfinished: Unfinished,
    divergences: [u64; 2],
    diverged: Vec<Divergence>,
    warmup_gradients: u64,
    /// Values and statistics of draws that other chains have not made yet.
    ahead: [Vec<f64>; 2],
    record: Option<R>,
}

/// The steps so far of a draw that takes several.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Unfinished {
    steps: usize,
    accept_prob: f64,
    accepted: f64,
    divergent: u64,
    gradients: u64,
}

impl<S, R> RunState<S, R> {
    /// An error if the sizes are not those of `chains`, which have `rows` draws on disk together.
    fn check<T: Target, K, C>(
        &self,
        chains: &[Chain<'_, T, K, C>],
        dim: usize,
        rows: usize,
    ) -> Result<(), String> {
        let fits = |(chain, state): (&Chain<'_, T, K, C>, &ChainState<S, R>)| {
            let n_stats = STATS.len() + chain.n_own_stats;
            let [values, stats] = [&state.ahead[0], &state.ahead[1]].map(Vec::len);
            let ahead = stats / n_stats;
            state.point.q().len() == dim
                && rows / chains.len() + ahead == state.done[1]
                && values == ahead * chain.kept
                && stats == ahead * n_stats
        };
        let is_sound = self.chains.len() == chains.len()
            && self.starts.len() == chains.len()
            && rows.is_multiple_of(chains.len())
            && self.starts.iter().all(|start| start.len() == dim)
            && chains.iter().zip(&self.chains).all(fits);
        if is_sound { Ok(()) } else { Err("its sizes do not fit this run".into()) }
    }
}

/// Writes the checkpoints of a run.
struct Saver {
    store: Store,
    every: Every,
    starts: Vec<Vec<f64>>,
    /// Draws or warm-up iterations of each chain since the last checkpoint, and when that was.
    since: usize,
    last: Instant,
    /// Why the last checkpoint failed.
    error: Option<Error>,
}

impl Saver {
    /// Draws or iterations until the next checkpoint.
    fn room(&self) -> usize {
        match self.every {
            Every::Draws(n) => n - self.since,
            Every::Seconds(_) => usize::MAX,
        }
    }

    fn is_due(&mut self, advanced: usize) -> bool {
        self.since += advanced;
        match self.every {
            Every::Draws(n) => self.since >= n,
            Every::Seconds(s) => self.last.elapsed().as_secs_f64() >= s,
        }
    }

    /// Whether the run has something that is not on disk.
    fn is_behind(&self) -> bool {
        self.since > 0 || self.error.is_some()
    }

    fn save<'t, T: Target, K: Kernel<&'t T>, R: Recorder<T>>(
        &mut self,
        chains: &[Chain<'t, T, K, R::Record>],
        recorder: &R,
        frozen: bool,
        seconds: [f64; 2],
    ) {
        self.error = self.try_save(chains, recorder, frozen, seconds).err();
        (self.since, self.last) = (0, Instant::now());
    }

    fn try_save<'t, T: Target, K: Kernel<&'t T>, R: Recorder<T>>(
        &mut self,
        chains: &[Chain<'t, T, K, R::Record>],
        recorder: &R,
        frozen: bool,
        seconds: [f64; 2],
    ) -> Result<(), Error> {
        let common = least_done(chains, Phase::Sampling as usize);
        let states = chains.iter().map(|c| c.state(common, recorder));
        let states = states.collect::<Result<Vec<_>, Error>>()?;
        let starts = std::mem::take(&mut self.starts);
        let state = RunState { starts, frozen, seconds, chains: states };
        let stored = self.store.rows() / chains.len();
        let rows = (stored..common).flat_map(|d| chains.iter().flat_map(move |c| c.row(d)));
        let written = self.store.write(&state, rows);
        self.starts = state.starts;
        written
    }
}

/// How far the last of the chains is in a phase.
fn least_done<T: Target, K, R>(chains: &[Chain<'_, T, K, R>], phase: usize) -> usize {
    chains.iter().map(|c| c.done[phase]).min().unwrap_or(0)
}

/// One chain while it runs.
struct Chain<'t, T: Target, K, R> {
    /// Its number.
    index: usize,
    rng: ChainRng,
    kernel: K,
    point: Point,
    ws: <&'t T as Target>::Workspace,
    /// How many coordinates of each draw are kept.
    kept: usize,
    values: Vec<f64>,
    stats: Vec<f64>,
    /// How many statistics the kernel adds.
    n_own_stats: usize,
    /// What the recorder made of the draws; begun before the first.
    record: Option<R>,
    /// Why the chain cannot go on: its recorder failed, or something panicked.
    failure: Option<Error>,
    /// Iterations of warm-up, and draws.
    done: [usize; 2],
    /// The next draw, if the run was stopped within it.
    unfinished: Unfinished,
    /// In warm-up and in sampling.
    divergences: [u64; 2],
    /// The first of those in sampling.
    diverged: Vec<Divergence>,
    warmup_gradients: u64,
    /// The log density at the position of the last checkpoint, by [`Target::log_density`]: what a
    /// kernel has stored may come from another method, and differ by rounding.
    witness: LogDensity,
}

impl<'t, T: Target, K: Kernel<&'t T>, R> Chain<'t, T, K, R> {
    fn step(&mut self, target: &'t T) -> Step {
        self.kernel.step(&target, &mut self.point, &mut self.ws, &mut self.rng)
    }

    fn stat_names(&self) -> Vec<String> {
        STATS.iter().map(ToString::to_string).chain(self.kernel.stat_names()).collect()
    }

    fn n_stats(&self) -> usize {
        STATS.len() + self.n_own_stats
    }

    fn witness(&mut self, target: &'t T) {
        self.witness = target.log_density(self.point.q(), &mut self.ws);
    }

    /// Values and statistics of draw `d`.
    fn row(&self, d: usize) -> [&[f64]; 2] {
        let (dim, n_stats) = (self.kept, self.n_stats());
        [&self.values[d * dim..][..dim], &self.stats[d * n_stats..][..n_stats]]
    }

    /// The state, with all draws from `first` on.
    fn state<C: Recorder<T, Record = R>>(
        &self,
        first: usize,
        recorder: &C,
    ) -> Result<ChainState<K::State, C::State>, Error> {
        let ahead = [
            self.values[first * self.kept..].to_vec(),
            self.stats[first * self.n_stats()..].to_vec(),
        ];
        Ok(ChainState {
            rng: self.rng.clone(),
            kernel: self.kernel.state(),
            point: self.point.clone(),
            witness: self.witness,
            done: self.done,
            unfinished: self.unfinished,
            divergences: self.divergences,
            diverged: self.diverged.clone(),
            warmup_gradients: self.warmup_gradients,
            ahead,
            record: self.record.as_ref().map(|record| recorder.state(record)).transpose()?,
        })
    }

    /// Takes up all of a state but its record.
    fn restore<S>(&mut self, state: ChainState<K::State, S>) {
        self.rng = state.rng;
        self.kernel.restore(state.kernel);
        self.point = state.point;
        self.done = state.done;
        self.unfinished = state.unfinished;
        self.divergences = state.divergences;
        self.diverged = state.diverged;
        self.warmup_gradients = state.warmup_gradients;
        let [values, stats] = state.ahead;
        self.values.extend(values);
        self.stats.extend(stats);
    }

    /// Does `work`. A panic in it is the chain's failure; the chain keeps the draws that are done.
    fn guard(&mut self, failed: &AtomicBool, work: impl FnOnce(&mut Self)) {
        let Err(message) = unwound(|| work(self)) else { return };
        let place = match self.done {
            [iterations, 0] => {
                format!("chain {} after {iterations} iterations of warm-up", self.index)
            }
            [_, draws] => format!("chain {} after {draws} draws", self.index),
        };
        self.values.truncate(self.done[1] * self.kept);
        self.stats.truncate(self.done[1] * self.n_stats());
        self.failure = Some(Error::Panic { place, message });
        failed.store(true, Ordering::Relaxed);
    }

    fn warm_up(&mut self, target: &'t T, total: usize) {
        let iteration = self.done[0];
        let step = self.step(target);
        self.divergences[0] += u64::from(step.divergent);
        self.warmup_gradients += u64::from(step.gradient_evals);
        self.kernel.adapt(&step, &self.point, WarmupProgress { iteration, total });
        self.done[0] += 1;
    }

    /// Makes the next draw, or a part of it if the run ends within it.
    fn draw<C: Recorder<T, Record = R>>(
        &mut self,
        target: &'t T,
        thin: usize,
        kept: &Kept,
        recorder: &C,
        has_ended: &impl Fn() -> bool,
    ) {
        while self.unfinished.steps < thin {
            if self.unfinished.steps > 0 && has_ended() {
                return;
            }
            let step = self.step(target);
            if step.divergent && self.diverged.len() < Divergence::kept(self.point.q().len()) {
                let mut position = self.point.q().to_vec();
                self.kernel.diverged_at(&mut position);
                self.diverged.push(Divergence { chain: self.index, draw: self.done[1], position });
            }
            let so_far = &mut self.unfinished;
            so_far.steps += 1;
            so_far.accept_prob += step.accept_prob.unwrap_or(f64::NAN);
            so_far.accepted += f64::from(u8::from(step.accepted));
            so_far.divergent += u64::from(step.divergent);
            so_far.gradients += u64::from(step.gradient_evals);
        }
        let Unfinished { accept_prob, accepted, divergent, gradients, .. } =
            std::mem::take(&mut self.unfinished);
        self.divergences[1] += divergent;
        // Known, unless the kernel works on estimates (minibatches) or noise alone.
        let density = self.point.eval(target, &mut self.ws);
        kept.slices(self.point.q()).for_each(|q| self.values.extend_from_slice(q));
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
        if let Some(record) = &mut self.record {
            let draw = OneDraw { index: self.done[1], q: self.point.q(), log_density: density };
            self.failure = recorder.record(record, target, draw, &mut self.ws).err();
        }
        self.done[1] += 1;
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
            let failed = if progress.checkpoint_failed { ", checkpoint failed" } else { "" };
            bar.set_message(format!("{} divergent{failed}", progress.divergences));
            if progress.done == progress.total {
                bar.finish();
            }
        }
    }
}

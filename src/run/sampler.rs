//! The description of a run, and its beginning.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::chain::{Chain, ChainData, Place, TypedChain, Unfinished};
use super::ending::{Ending, Sizes};
use super::init::Init;
use super::progress::{Progress, StopHandle};
use super::rounds::{DrawsOf, Limit, Report, Rounds, Until};
use super::saver::Checkpoint;
use crate::Error;
use crate::cut;
use crate::draws::checkpoint::{Every, Fingerprint};
use crate::draws::keep::Kept;
use crate::draws::recorder::Recorder;
use crate::draws::{Approximation, Draws, Keep, Part, RunInfo, STATS};
use crate::error::caught;
use crate::kernel::{Algorithm, Kernel};
use crate::layout::Layout;
use crate::memory;
use crate::message::{Advice, Setting};
use crate::rng::ChainRng;
use crate::targets::{Point, Target, TargetInfo};
use crate::threads;

/// The largest number of threads, more than a machine has.
const MOST_THREADS: usize = 4096;

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
    sizes: Sizes,
    init: Init,
    keep: Keep,
    threads: Option<usize>,
    stop: StopHandle,
    on_progress: Option<Report<'t>>,
    until: Option<Until<'t>>,
    limit: Option<Limit>,
    checkpoint: Option<(PathBuf, Every)>,
    only_chains: Option<Range<usize>>,
    /// The algorithm's configuration, where the run has to identify itself.
    configuration: Option<Result<Fingerprint, Error>>,
}

impl<'t, T: Target, A: Algorithm<&'t T>> Sampler<'t, T, A> {
    /// A run of `algorithm` on `target`.
    pub fn new(target: &'t T, algorithm: A) -> Self {
        Self {
            target,
            algorithm,
            sizes: Sizes { chains: 4, warmup: 1000, draws: 1000, thin: 1, seed: 0 },
            init: Init::default(),
            keep: Keep::default(),
            threads: None,
            stop: StopHandle::new(),
            on_progress: None,
            until: None,
            limit: None,
            checkpoint: None,
            only_chains: None,
            configuration: None,
        }
    }

    /// The number of chains, at least 1 and as many as fit into memory; at least 4 if R-hat is to
    /// mean much.
    pub fn chains(mut self, chains: usize) -> Self {
        self.sizes.chains = chains;
        self
    }

    /// Iterations of warm-up per chain; none are stored.
    pub fn warmup(mut self, warmup: usize) -> Self {
        self.sizes.warmup = warmup;
        self
    }

    /// Draws to store per chain, as many as fit into memory.
    pub fn draws(mut self, draws: usize) -> Self {
        self.sizes.draws = draws;
        self
    }

    /// Steps per stored draw, at least 1. A [`StopHandle`] ends the run between two of them.
    pub fn thin(mut self, thin: usize) -> Self {
        self.sizes.thin = thin;
        self
    }

    /// The seed of all random streams.
    pub fn seed(mut self, seed: u64) -> Self {
        self.sizes.seed = seed;
        self
    }

    /// The starting points of the chains.
    pub fn init(mut self, init: Init) -> Self {
        self.init = init;
        self
    }

    /// The coordinates of q that the draws hold. The statistics of every draw are kept in any case,
    /// and the draws that a chain makes do not depend on this choice.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// The number of threads, 1 to 4,096. The draws do not depend on it. Where a limit on memory or
    /// threads leaves room for fewer, there are fewer; and at most 16 for each processor, for more only wait.
    ///
    /// Chains run side by side. Threads that are left over, because there are fewer chains or
    /// because some are done, share the rows of a [`Posterior`](crate::posterior::Posterior) whose
    /// gradient takes some milliseconds.
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

    /// Ends the run before it has all of its [`draws`](Self::draws) if those that it has are enough: `is_enough` is asked
    /// after `first` draws of each chain (at least 1), after twice as many, four times as many, and so on. A run that was
    /// asked for as many has the same draws. Room is made for all draws before the run, and a copy of those so far is
    /// what `is_enough` sees. Jobs that run [some of the chains](Self::only_chains) ask about their own chains alone, so
    /// that their parts may have different numbers of draws, which do not merge. With a [checkpoint](Self::checkpoint), a
    /// run that was interrupted asks again where it would have asked.
    ///
    /// To stop as soon as a diagnostic is good flatters the diagnostic a little: the limits should be strict ones, such
    /// as a [`Verdict`](crate::diagnostics::Verdict) has.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use bnn_mcmc::testing::GaussianTarget;
    ///
    /// let target = GaussianTarget::standard(3)?;
    /// let converged = |draws: &Draws| draws.verdict().is_ok_and(|verdict| verdict.is_converged());
    /// let sampler = Sampler::new(&target, Nuts::default()).draws(16_000).until(500, converged);
    /// assert!(sampler.run()?.n_draws() < 16_000);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn until(mut self, first: usize, is_enough: impl Fn(&Draws) -> bool + 't) -> Self {
        self.until = Some(Until { first, is_enough: Box::new(is_enough) });
        self
    }

    /// Ends the run before it has all of its [`draws`](Self::draws) if `time` has passed since the call of
    /// [`run`](Self::run) and each chain has `least` draws, at least 1. How many draws that are depends on the machine; they
    /// are as in a run that was asked for as many, and the run is not
    /// [stopped early](crate::draws::RunInfo::stopped_early). Warm-up is not cut short. Jobs that run
    /// [some of the chains](Self::only_chains) end by their own clocks, so that their parts may have different numbers of
    /// draws, which do not merge.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use bnn_mcmc::prelude::*;
    /// use bnn_mcmc::testing::GaussianTarget;
    ///
    /// let target = GaussianTarget::standard(3)?;
    /// let sampler = Sampler::new(&target, Nuts::default()).draws(1_000_000);
    /// let draws = sampler.within(Duration::from_millis(100), 200).run()?;
    /// assert!((200..1_000_000).contains(&draws.n_draws()));
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn within(mut self, time: Duration, least: usize) -> Self {
        self.limit = Some(Limit { time, least: least.max(1) });
        self
    }

    /// Runs all chains.
    ///
    /// Errors: an argument out of range, a configuration that the algorithm refuses, draws that do
    /// not fit into memory, two parameters or blocks of one name, a chain without a starting point of
    /// finite log density, or a checkpoint that cannot be used or not be begun.
    ///
    /// **Panics** of a density, kernel, recorder or progress report, and [rows of a file](crate::data::RowFile) that cannot be read
    /// any more, end the run as if it had been
    /// asked to stop: the draws that all chains have made come back with
    /// [`RunInfo::panic`](crate::draws::RunInfo::panic). Before the first draw of any chain they
    /// are an error. The checkpoint stays the last that was written, since the chain was in the midst
    /// of a step; after a progress report, which is called between steps, one more is written.
    /// Programs built with `panic = "abort"` end at once.
    pub fn run(self) -> Result<Draws, Error> {
        self.run_with(&()).map(|(draws, _)| draws)
    }

    /// Runs all chains, and hands every draw to a [recorder](crate::draws::recorder), or to several
    /// in a tuple. Returns the record of each chain as well.
    ///
    /// Errors: as [`run`](Self::run); a recorder that cannot begin. One that fails later ends the
    /// run, see [`RunInfo::recorder_error`](crate::draws::RunInfo::recorder_error).
    ///
    /// A recorder that panics ends the run as well. The record of that chain is returned as the
    /// panic has left it: it may hold a part of a draw that is not among the draws, and is not to be
    /// used.
    pub fn run_with<R: Recorder<T>>(self, recorder: &R) -> Result<(Draws, Vec<R::Record>), Error> {
        let Self { target, algorithm, sizes, init, .. } = self;
        let chains = self.only_chains.clone().unwrap_or(0..sizes.chains);
        let typed = TypedRun { target, algorithm, recorder, init, records: Mutex::default() };
        let run = Run {
            sizes,
            chains,
            is_part: self.only_chains.is_some(),
            keep: self.keep,
            threads: self.threads,
            began: Instant::now(),
            stop: self.stop,
        };
        let reports = (self.on_progress, self.until, self.limit);
        let draws = run.sample(&typed, self.configuration, self.checkpoint, reports)?;
        Ok((draws, typed.records.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// What a run asks of its target, algorithm and recorder, whatever their types are.
trait Parts {
    fn dim(&self) -> usize;
    fn layout(&self) -> Layout;

    /// [`Algorithm::matrix_numbers`].
    fn matrix_numbers(&self) -> usize;

    /// A chain at a checked starting point, with the room that `run` needs for its draws.
    fn chain<'c>(&'c self, index: usize, run: &'c Run, kept: &'c Kept) -> NewChain<'c>;

    /// The densities where chain 0 of a run starts, which tell parts of other posteriors from this one.
    fn at_start(&self, sizes: Sizes) -> Result<[f64; 2], Error>;

    fn identity(&self, with_data: bool) -> Identity;
}

type NewChain<'c> = Result<Box<dyn Chain + 'c>, Error>;

/// The [`Parts`] with their types.
struct TypedRun<'t, 'r, T: Target, A, R: Recorder<T>> {
    target: &'t T,
    algorithm: A,
    recorder: &'r R,
    init: Init,
    records: Mutex<Vec<R::Record>>,
}

impl<'t, T: Target, A: Algorithm<&'t T>, R: Recorder<T>> Parts for TypedRun<'t, '_, T, A, R> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn layout(&self) -> Layout {
        self.target.layout()
    }

    fn matrix_numbers(&self) -> usize {
        self.algorithm.matrix_numbers(&self.target)
    }

    fn chain<'c>(&'c self, index: usize, run: &'c Run, kept: &'c Kept) -> NewChain<'c> {
        let rng = ChainRng::new(run.sizes.seed, index as u64); //~ stream-of-chain
        let mut kernel = self.algorithm.kernel(&self.target, &rng)?;
        let mut ws = self.target.workspace();
        // A stream of its own: how many points are tried does not shift the chain's.
        let mut start_rng = rng.child(u64::MAX);
        let of = run.sizes.chains;
        let mut point = self.init.find(self.target, index, of, &mut start_rng, &mut ws)?;
        let climbed = kernel.approach(&self.target, &mut point, &mut ws);
        let width = (kept.dim(), kernel.stat_names().len());
        let data = chain_data(index, &run.chains, run.sizes.draws, width, rng, point)?;
        Ok(Box::new(TypedChain {
            data: ChainData { climbed, ..data },
            target: self.target,
            kernel,
            ws,
            kept,
            thin: run.sizes.thin,
            recorder: self.recorder,
            record: None,
            resumed: None,
            may_be_long: false,
            before_cut: None,
            records: &self.records,
        }))
    }

    fn at_start(&self, sizes: Sizes) -> Result<[f64; 2], Error> {
        let mut start_rng = ChainRng::new(sizes.seed, 0).child(u64::MAX);
        let mut ws = self.target.workspace();
        let point = self.init.find(self.target, 0, sizes.chains, &mut start_rng, &mut ws)?;
        let density = self.target.log_density(point.q(), &mut ws);
        Ok([density.likelihood, density.prior])
    }

    fn identity(&self, with_data: bool) -> Identity {
        Identity {
            algorithm: self.algorithm.name(),
            layout: self.target.layout(),
            data: if with_data { self.target.data_checksum() } else { None },
            approximation: self.target.approximation(),
            target: self.target.info(),
            recorder: [self.recorder.name(), self.recorder.config()],
        }
    }
}

/// The part of a run that does not depend on the types of its target, algorithm and recorder.
struct Run {
    sizes: Sizes,
    /// The chains to run.
    chains: Range<usize>,
    /// Whether other chains run elsewhere.
    is_part: bool,
    keep: Keep,
    threads: Option<usize>,
    began: Instant,
    stop: StopHandle,
}

impl Run {
    /// Starts the chains, runs them to their end, and puts their draws together. `described` is the
    /// description of the run so far, for where the run has to identify itself.
    fn sample(
        self,
        parts: &dyn Parts,
        described: Option<Result<Fingerprint, Error>>,
        checkpoint: Option<(PathBuf, Every)>,
        reports: (Option<Report>, Option<Until>, Option<Limit>),
    ) -> Result<Draws, Error> {
        cut::apart(|| self.sample_apart(parts, described, checkpoint, reports))
    }

    fn sample_apart(
        &self,
        parts: &dyn Parts,
        described: Option<Result<Fingerprint, Error>>,
        checkpoint: Option<(PathBuf, Every)>,
        (on_progress, until, limit): (Option<Report>, Option<Until>, Option<Limit>),
    ) -> Result<Draws, Error> {
        let (sizes, numbers) = (self.sizes, &self.chains);
        let layout = parts.layout();
        let (kept, pool) = prepare(sizes, parts.dim(), &layout, &self.keep, self.threads)?;
        check_only(numbers, sizes.chains)?;
        check_chains(numbers.len(), parts.dim(), parts.matrix_numbers())?;
        let at_start = || caught("chain 0, at its start,", || parts.at_start(sizes))?;
        let at_start = self.is_part.then(at_start).transpose()?;
        let described = described.transpose()?;
        let start =
            |c| caught(format!("chain {c}, at its start,"), || parts.chain(c, self, &kept))?;
        let mut chains = numbers.clone().map(start).collect::<Result<Vec<_>, Error>>()?;
        let own = chains[0].own_stat_names();
        let stat_names: Vec<_> = STATS.iter().map(ToString::to_string).chain(own).collect();
        let identity = caught("the beginning of the run", || parts.identity(described.is_some()))?;
        let described = described.map(|run| identity.added_to(run, sizes, &kept, &stat_names));
        let (chains_of_part, of, thin) = (numbers.clone(), sizes.chains, sizes.thin);
        let part = at_start.zip(described.clone());
        let part =
            part.map(|(at_start, run)| Part { chains: chains_of_part, of, thin, run, at_start });
        let checkpoint = checkpoint.zip(described).map(|((path, every), mut run)| {
            identity.add_recorder(&mut run);
            if part.is_some() {
                run.add("chains of this part", format!("{numbers:?}"));
            }
            Checkpoint { path, every, run }
        });
        let facts = RunInfo {
            seed: sizes.seed,
            algorithm: Some(identity.algorithm.clone()),
            parameters: identity.layout.dim(),
            warmup: sizes.warmup,
            thin,
            approximation: identity.approximation.clone().map(Approximation::Surrogate),
            target: identity.target.clone(),
            part,
            ..RunInfo::default()
        };
        let (id, ending) = (identity.number(sizes), Ending::new(self.stop.clone()));
        let rounds = Rounds { sizes, ending, pool, began: self.began, limit, id, facts };
        let so_far = |chains: &[Box<dyn Chain + '_>], info: RunInfo| {
            let rows = chains.iter().map(|chain| {
                let data = chain.data();
                (data.values.clone(), data.stats.clone())
            });
            Draws::from_chains(kept.layout.clone(), stat_names.clone(), rows.collect(), info)
        };
        let until = until.map(|until| (until, &so_far as DrawsOf));
        let info = rounds.run(&mut chains, checkpoint, on_progress, until)?;
        let rows = chains.into_iter().map(|chain| {
            let mut data = chain.finish();
            // A checkpoint may hold more draws than were asked for.
            data.truncate(sizes.draws);
            (data.values, data.stats)
        });
        Ok(Draws::from_chains(kept.layout.clone(), stat_names, rows.collect(), info))
    }
}

/// Checks the settings that can be checked before there are chains: the coordinates that are kept
/// of each draw, and the threads.
fn prepare(
    sizes: Sizes,
    dim: usize,
    layout: &Layout,
    keep: &Keep,
    threads: Option<usize>,
) -> Result<(Kept, Option<rayon::ThreadPool>), Error> {
    if sizes.chains == 0 {
        return Err(Error::argument("chains", 0, "at least 1").of(Setting::Chains));
    }
    if sizes.thin == 0 {
        return Err(Error::argument("thin", 0, "at least 1"));
    }
    check_layout(dim, layout)?;
    let kept = keep.of(layout)?;
    Ok((kept, thread_pool(threads)?))
}

/// The identity of a run, besides its sizes and the configuration of its algorithm.
struct Identity {
    algorithm: String,
    layout: Layout,
    /// The checksum of the data.
    data: Option<u32>,
    /// A description of the surrogate, if the target is one.
    approximation: Option<String>,
    /// The model, likelihood and data that the target is the density of.
    target: Option<TargetInfo>,
    /// The name and the configuration of the recorder.
    recorder: [String; 2],
}

impl Identity {
    /// [`ChainPlan::run`](crate::draws::recorder::ChainPlan::run).
    fn number(&self, sizes: Sizes) -> u32 {
        let Sizes { chains, warmup, thin, seed, .. } = sizes;
        let what = format!("{} on {}", self.algorithm, self.layout.described());
        crc32fast::hash(format!("{seed} {chains} {warmup} {thin} {what}").as_bytes())
    }

    /// Adds to the algorithm's configuration everything else that determines the draws of a run.
    fn added_to(
        &self,
        mut run: Fingerprint,
        sizes: Sizes,
        kept: &Kept,
        stat_names: &[String],
    ) -> Fingerprint {
        run.add("version of bnn-mcmc", crate::VERSION);
        run.add("seed", sizes.seed);
        run.add("chains", sizes.chains);
        run.add("warmup", sizes.warmup);
        run.add("thin", sizes.thin);
        run.add("name of the algorithm", &self.algorithm);
        run.add("parameters", self.layout.described());
        if let Some(checksum) = self.data {
            run.add("checksum of the data", format!("{checksum:08x}"));
        }
        if let Some(description) = &self.approximation {
            run.add("surrogate", description);
        }
        run.add("kept parameters", kept.layout.described());
        run.add("statistics", stat_names.join(" "));
        run
    }

    /// Adds the recorder's part of the identity, for checkpoints.
    fn add_recorder(&self, run: &mut Fingerprint) {
        run.add("name of the recorder", &self.recorder[0]);
        run.add("recorder", &self.recorder[1]);
    }
}

/// A chain that has made no draw, with room for all of them.
fn chain_data(
    index: usize,
    chains: &Range<usize>,
    draws: usize,
    (kept, n_own_stats): (usize, usize),
    rng: ChainRng,
    point: Point,
) -> Result<ChainData, Error> {
    let n_stats = STATS.len() + n_own_stats;
    // At the end chains are put behind the first one, which has room for all, and go one by one.
    let all = format!("({} chains, and room to copy one)", chains.len());
    let is_first = index == chains.start;
    let copies = match chains.len() {
        1 => (1, "chain"),
        n => (n.saturating_add(1), &all[..]),
    };
    let numbers = (kept.saturating_add(n_stats), "parameters and statistics");
    let size = [copies, (draws, "draws"), numbers];
    let instead = "take fewer draws";
    let rust =
        "`Sampler::thin` them, or `Sampler::keep` fewer parameters and hand them to a recorder";
    let advised = |error: Error| error.of(Setting::Draws).advise([Advice::in_rust(rust)]);
    if is_first {
        memory::check::<f64>("draws", &size, instead).map_err(advised)?;
    }
    let rows = draws * if is_first { chains.len() } else { 1 };
    let room = |width| memory::room(rows * width, ("draws", &size, instead)).map_err(advised);
    let (values, stats) = (room(kept)?, room(n_stats)?);
    let at = Place {
        rng,
        log_density: point.log_density(),
        point,
        done: [0; 2],
        unfinished: Unfinished::default(),
        divergences: [0; 2],
        diverged: Vec::new(),
        warmup_gradients: 0,
    };
    let (failure, recorder_failure, climbed) = (None, None, 0);
    Ok(ChainData { index, kept, n_stats, values, stats, failure, recorder_failure, climbed, at })
}

/// Checks that `only` are chains of a run of `chains`.
pub(crate) fn check_only(only: &Range<usize>, chains: usize) -> Result<(), Error> {
    if only.is_empty() || only.end > chains {
        let allowed = format!("at least one chain, of 0..{chains}");
        let error = Error::argument("only_chains", format!("{only:?}"), allowed);
        return Err(error.of(Setting::Chains));
    }
    Ok(())
}

/// A pool of this many threads; `None` for the one that the caller is in, or rayon's.
fn thread_pool(threads: Option<usize>) -> Result<Option<rayon::ThreadPool>, Error> {
    match threads {
        None => threads::ready().map(|()| None),
        Some(n) if (1..=MOST_THREADS).contains(&n) => threads::pool(n).map(Some),
        Some(n) => {
            let error = Error::argument("threads", n, format!("1 to {MOST_THREADS}"));
            Err(error.of(Setting::Threads))
        }
    }
}

/// The vectors as long as q that a chain takes, at least.
const VECTORS: usize = 3;

/// Checks that the memory of chains besides their draws is available: some vectors of `dim`
/// numbers, and `more` for each, by [`Algorithm::matrix_numbers`].
pub(crate) fn check_chains(chains: usize, dim: usize, more: usize) -> Result<(), Error> {
    /// Numbers that a chain takes besides vectors and matrices, at least.
    const LOOP: usize = 128;
    let each = dim.saturating_mul(VECTORS).saturating_add(more).saturating_add(LOOP);
    let advice = match more {
        0 => Vec::new(),
        _ => {
            let units = "take fewer hidden units where the output layer is integrated out";
            let rust = "take an algorithm without dense matrices (`Preconditioner::Diagonal`)";
            vec![units.into(), Advice::in_rust(rust)]
        }
    };
    let size = [(chains, "chains"), (each, "numbers for each")];
    memory::check::<f64>("chains", &size, "take fewer chains")
        .map_err(|error| error.of(Setting::Chains).advise(advice))
}

/// Checks that a target's names fit its coordinates, of which there is at least one, and that some
/// vectors of them fit into memory.
pub(crate) fn check_layout(dim: usize, layout: &Layout) -> Result<(), Error> {
    match dim {
        0 => Err(Error::argument("dim of the target", 0, "at least 1")),
        _ if layout.dim() != dim => {
            Err(Error::shape("coordinates that the target's layout names", layout.dim(), dim))
        }
        _ => {
            let size = [(VECTORS, "vectors"), (dim, "numbers")];
            memory::check::<f64>("dim of the target", &size, "take fewer units or features")
                .map_err(|error| error.of(Setting::Hidden))?;
            layout.check_names()
        }
    }
}

impl<'t, T: Target, A: Algorithm<&'t T> + Serialize> Sampler<'t, T, A> {
    /// Writes checkpoints to the file `path` and its companion `<path>.draws`, and **goes on from
    /// them if they exist**, exactly as if the run had not been interrupted. Files of another run
    /// are an error. See [`draws::checkpoint`](crate::draws::checkpoint).
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, every: Every) -> Self {
        self.checkpoint = Some((path.into(), every));
        self.described()
    }

    /// Runs only these of the run's [`chains`](Self::chains), as one job of several that share the run: `2..4`
    /// are chains 2 and 3. They make the draws that they make in the whole run, whichever jobs run the others.
    /// Every job is asked for the same run, with the number of all chains and the starting points of all.
    ///
    /// Draws, records and progress are of these chains, and numbered as in the whole run; a verdict
    /// on a part counts its chains from 0. Save the draws by [`Draws::to_zarr`]; [`Draws::merge`]
    /// makes the draws of the whole run from them. CSV files do not hold all that it needs. A
    /// checkpoint needs a file of its own for each job. As with a checkpoint, an algorithm of your
    /// own must be one that serde can write.
    pub fn only_chains(mut self, chains: Range<usize>) -> Self {
        self.only_chains = Some(chains);
        self.described()
    }

    fn described(mut self) -> Self {
        let mut run = Fingerprint::default();
        let added = run.add_config("algorithm", &self.algorithm);
        self.configuration = Some(added.map(|()| run));
        self
    }
}

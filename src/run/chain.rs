//! One chain.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::ending::Ending;
use super::progress::Phase;
use crate::Error;
use crate::cbor;
use crate::cut;
use crate::draws::keep::Kept;
use crate::draws::recorder::{ChainPlan, OneDraw, Recorder};
use crate::draws::{Divergence, Report};
use crate::kernel::{Kernel, Step, WarmupProgress};
use crate::rng::ChainRng;
use crate::targets::{LogDensity, Point, Target};

/// Steps that follow one that takes longer can be cut.
const LONG: Duration = Duration::from_millis(500);
/// A step can be cut if the log density takes longer than this: it may evaluate it hundreds of times.
const LONG_EVALUATION: Duration = Duration::from_millis(2);

/// A chain as the loop sees it, whatever its target, kernel and recorder are.
pub(super) trait Chain: Send {
    fn data(&self) -> &ChainData;
    fn data_mut(&mut self) -> &mut ChainData;

    /// Begins the record, or goes on with the one of the checkpoint that was read.
    fn begin(&mut self, plan: ChainPlan) -> Result<(), Error>;

    /// Goes on to `end` iterations or draws of a phase of `total`.
    fn advance(&mut self, phase: Phase, end: usize, total: usize, ending: &Ending);

    /// Ends the adaptation of the kernel.
    fn freeze(&mut self);

    /// Evaluates the log density at the position, for a checkpoint.
    fn evaluate(&mut self);

    /// Appends the states of kernel and record in CBOR.
    fn write(&self, out: &mut Vec<u8>) -> Result<(), Error>;

    /// Reads the state that [`write`](Self::write) wrote, from the beginning of `bytes`, which is
    /// cut off.
    fn read(&mut self, bytes: &mut &[u8]) -> Result<(), String>;

    /// The names of the statistics that the kernel adds.
    fn own_stat_names(&self) -> Vec<String>;

    /// The step size in use, of kernels that have one: the first if the kernel is made of several.
    fn step_size(&self) -> Option<f64>;

    /// The kernel's report on the whole run.
    fn report(&self) -> Report;

    /// Appends the record to the records of the run, and returns the rest of the chain.
    fn finish(self: Box<Self>) -> ChainData;
}

/// The part of a chain that does not depend on the types of target, kernel and recorder.
pub(super) struct ChainData {
    /// The number of the chain.
    pub index: usize,
    /// The number of coordinates of each draw that are kept.
    pub kept: usize,
    /// The statistics of each draw.
    pub n_stats: usize,
    pub values: Vec<f64>,
    pub stats: Vec<f64>,
    /// The reason why the chain cannot go on, if it is not its recorder: something panicked, or the target's rows cannot be read.
    pub failure: Option<Error>,
    /// The reason why its recorder failed.
    pub recorder_failure: Option<Error>,
    /// Gradients that it took to [approach](Kernel::approach) a place from which the chain could begin.
    pub climbed: u64,
    pub at: Place,
}

/// The place of a chain and its counters: the part of the chain that a checkpoint holds besides its
/// draws and the states of kernel and record.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Place {
    pub rng: ChainRng,
    pub point: Point,
    /// The log density by [`Target::log_density`] at the position of the last checkpoint or, before
    /// the first checkpoint, at the start. The value that a kernel has stored may come from another
    /// method, and differ by rounding.
    pub log_density: LogDensity,
    /// Iterations of warm-up, and draws.
    pub done: [usize; 2],
    /// The next draw, if the run was stopped within it.
    pub unfinished: Unfinished,
    /// Divergent transitions in warm-up and in sampling.
    pub divergences: [u64; 2],
    /// The first of those in sampling.
    pub diverged: Vec<Divergence>,
    pub warmup_gradients: u64,
}

/// The steps so far of a draw that takes several.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Unfinished {
    steps: usize,
    accept_prob: f64,
    accepted: f64,
    divergent: u64,
    gradients: u64,
}

impl ChainData {
    /// Values and statistics of draw `d`.
    pub fn row(&self, d: usize) -> [&[f64]; 2] {
        [
            &self.values[d * self.kept..][..self.kept],
            &self.stats[d * self.n_stats..][..self.n_stats],
        ]
    }

    /// Values and statistics of all draws from `first` on.
    pub fn rows_from(&self, first: usize) -> [&[f64]; 2] {
        [&self.values[first * self.kept..], &self.stats[first * self.n_stats..]]
    }

    /// Drops all draws but the first `draws`.
    pub fn truncate(&mut self, draws: usize) {
        self.values.truncate(draws.saturating_mul(self.kept));
        self.stats.truncate(draws.saturating_mul(self.n_stats));
    }
}

/// A chain of kernel `K` on target `T`, whose draws the recorder `R` sees.
pub(super) struct TypedChain<'r, 't, T: Target, K: Kernel<&'t T>, R: Recorder<T>> {
    pub data: ChainData,
    pub target: &'t T,
    pub kernel: K,
    pub ws: <&'t T as Target>::Workspace,
    pub kept: &'r Kept,
    /// Steps of a draw.
    pub thin: usize,
    pub recorder: &'r R,
    /// The recorder's record of the draws, which begins before the first draw.
    pub record: Option<R::Record>,
    /// The state of the record in the checkpoint that the run goes on from.
    pub resumed: Option<R::State>,
    /// Whether the next step can be cut, since it may take long.
    pub may_be_long: bool,
    /// The state of the kernel before a step that was cut. The kernel's state after the cut is of
    /// no use.
    pub before_cut: Option<K::State>,
    /// The records of finished chains, in order.
    pub records: &'r Mutex<Vec<R::Record>>,
}

impl<'t, T: Target, K: Kernel<&'t T>, R: Recorder<T>> TypedChain<'_, 't, T, K, R> {
    /// A step; `None` if it was cut: the chain is then where it was before.
    fn step(&mut self, ending: &Ending) -> Option<Step> {
        if !(self.may_be_long && cfg!(panic = "unwind")) {
            let at = &mut self.data.at;
            return Some(self.kernel.step(&self.target, &mut at.point, &mut self.ws, &mut at.rng));
        }
        let (before, state) = (self.data.at.clone(), self.kernel.state());
        let began = Instant::now();
        let at = &mut self.data.at;
        let step = cut::cuttable(ending.stop().flag(), || {
            self.kernel.step(&self.target, &mut at.point, &mut self.ws, &mut at.rng)
        });
        self.may_be_long = began.elapsed() > LONG;
        if step.is_none() {
            self.data.at = before; //~ cut-step
            self.before_cut = Some(state);
            self.ws = self.target.workspace();
            ending.cut();
        }
        step
    }

    fn warm_up(&mut self, total: usize, ending: &Ending) {
        let Some(step) = self.step(ending) else { return };
        let at = &mut self.data.at;
        at.divergences[0] += u64::from(step.divergent);
        at.warmup_gradients += u64::from(step.gradient_evals);
        let iteration = at.done[0];
        self.kernel.adapt(&step, &at.point, WarmupProgress { iteration, total });
        at.done[0] += 1;
    }

    /// Makes the next draw, or a part of it if the run ends within it.
    fn draw(&mut self, ending: &Ending) {
        while self.data.at.unfinished.steps < self.thin {
            if self.data.at.unfinished.steps > 0 && ending.has_come() {
                return;
            }
            let Some(step) = self.step(ending) else { return };
            let at = &mut self.data.at;
            if step.divergent && at.diverged.len() < Divergence::kept(at.point.q().len()) {
                let mut position = at.point.q().to_vec();
                self.kernel.diverged_at(&mut position);
                let (chain, draw) = (self.data.index, at.done[1]);
                at.diverged.push(Divergence { chain, draw, position });
            }
            at.unfinished.add(&step); //~ unfinished-step
        }
        let ChainData { at, values, stats, n_stats, recorder_failure, .. } = &mut self.data;
        let Unfinished { accept_prob, accepted, divergent, gradients, .. } =
            std::mem::take(&mut at.unfinished);
        at.divergences[1] += divergent;
        // Known, unless the kernel works on estimates (minibatches) or noise alone.
        let density = at.point.eval(self.target, &mut self.ws);
        self.kept.slices(at.point.q()).for_each(|q| values.extend_from_slice(q));
        let first = stats.len();
        stats.extend_from_slice(&[
            density.likelihood,
            density.prior,
            accept_prob / self.thin as f64,
            accepted / self.thin as f64,
            divergent as f64,
            gradients as f64,
        ]);
        let own = stats.len();
        stats.resize(first + *n_stats, f64::NAN);
        self.kernel.stats(&mut stats[own..]);
        if let Some(record) = &mut self.record {
            let draw = OneDraw { index: at.done[1], q: at.point.q(), log_density: density };
            if let Err(error) = self.recorder.record(record, self.target, draw, &mut self.ws) {
                *recorder_failure = Some(error);
                ending.fail();
            }
        }
        at.done[1] += 1;
    }
}

impl Unfinished {
    fn add(&mut self, step: &Step) {
        self.steps += 1;
        self.accept_prob += step.accept_prob.unwrap_or(f64::NAN);
        self.accepted += f64::from(u8::from(step.accepted));
        self.divergent += u64::from(step.divergent);
        self.gradients += u64::from(step.gradient_evals);
    }
}

impl<'t, T: Target, K: Kernel<&'t T>, R: Recorder<T>> Chain for TypedChain<'_, 't, T, K, R> {
    fn data(&self) -> &ChainData {
        &self.data
    }

    fn data_mut(&mut self) -> &mut ChainData {
        &mut self.data
    }

    fn begin(&mut self, plan: ChainPlan) -> Result<(), Error> {
        self.record = Some(self.recorder.begin(self.target, plan, self.resumed.take())?);
        Ok(())
    }

    fn advance(&mut self, phase: Phase, end: usize, total: usize, ending: &Ending) {
        let began = Instant::now();
        let mut rounds = 0_u64;
        cut::apart(|| {
            while self.data.at.done[phase as usize] < end && !ending.has_come() {
                match phase {
                    Phase::Warmup => self.warm_up(total, ending),
                    Phase::Sampling => self.draw(ending),
                }
                rounds += 1;
            }
        });
        let each = if phase == Phase::Sampling { self.thin as u64 } else { 1 };
        let steps = rounds.saturating_mul(each) as f64;
        self.may_be_long |=
            steps > 0.0 && began.elapsed().as_secs_f64() / steps > LONG.as_secs_f64();
    }

    fn freeze(&mut self) {
        self.kernel.freeze(); //~ warm-up-end
    }

    fn evaluate(&mut self) {
        let at = &mut self.data.at;
        let began = Instant::now();
        at.log_density = self.target.log_density(at.point.q(), &mut self.ws);
        self.may_be_long |= began.elapsed() > LONG_EVALUATION;
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let record = self.record.as_ref().map(|record| self.recorder.state(record)).transpose()?;
        match &self.before_cut {
            Some(state) => to_cbor("kernel", state, out)?,
            None => to_cbor("kernel", &self.kernel.state(), out)?,
        }
        to_cbor("record", &record, out)
    }

    fn read(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        self.kernel.restore(from_cbor(bytes)?);
        self.resumed = from_cbor(bytes)?;
        Ok(())
    }

    fn own_stat_names(&self) -> Vec<String> {
        self.kernel.stat_names()
    }

    fn step_size(&self) -> Option<f64> {
        if self.data.at.done == [0; 2] || self.before_cut.is_some() {
            // Statistics are of the latest step, and there was none, or it was cut.
            return None;
        }
        // Composite kernels put a prefix before the names of their parts' statistics, as in
        // `cold.step_size`.
        let names = self.kernel.stat_names();
        let place = names.iter().position(|name| name.rsplit('.').next() == Some("step_size"))?;
        let mut stats = vec![f64::NAN; names.len()];
        self.kernel.stats(&mut stats);
        Some(stats[place]) //~ progress-step-size
    }

    fn report(&self) -> Report {
        self.kernel.report()
    }

    fn finish(self: Box<Self>) -> ChainData {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).extend(self.record);
        self.data
    }
}

fn to_cbor(what: &str, state: &impl Serialize, out: &mut Vec<u8>) -> Result<(), Error> {
    cbor::write(state, out).map_err(|e| {
        Error::argument(
            format!("state of the {what}"),
            "one that serde refuses",
            format!("data: {e}"),
        )
    })
}

fn from_cbor<S: serde::de::DeserializeOwned>(bytes: &mut &[u8]) -> Result<S, String> {
    cbor::read(bytes).map_err(|e| format!("its content does not fit this run: {e}"))
}

/// The iterations or draws of a phase that all chains have made.
pub(super) fn least_done(chains: &[Box<dyn Chain + '_>], phase: usize) -> usize {
    chains.iter().map(|chain| chain.data().at.done[phase]).min().unwrap_or(0)
}

//! The rounds in which chains advance, with the work between them.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::chain::{Chain, least_done};
use super::ending::{Ending, Sizes};
use super::progress::{ChainProgress, Phase, Progress};
use super::saver::{Checkpoint, Saver};
use crate::Error;
use crate::draws::recorder::ChainPlan;
use crate::draws::{Draws, RunInfo};
use crate::error::{caught, unwound};
use crate::message::count;

/// Iterations of a round, if they take no more than half a second.
const LEAST_ROUND: usize = 8;

pub(super) type Report<'r> = Box<dyn FnMut(&Progress) + 'r>;

/// A condition under which a run ends before it has all draws.
pub(super) struct Until<'r> {
    /// The number of draws after which it is first looked at.
    pub first: usize,
    pub is_enough: Box<dyn Fn(&Draws) -> bool + 'r>,
}

impl Until<'_> {
    /// The number of draws, at least `done`, after which the condition is looked at next: `first`, twice as many, four
    /// times as many, .., or all.
    fn next(&self, done: usize, all: usize) -> usize {
        let mut next = self.first.max(1);
        //~ next-judgement
        while next < done {
            next = next.saturating_mul(2);
        }
        next.min(all)
    }
}

/// The time after which a run ends once its chains have so many draws.
pub(super) struct Limit {
    pub time: Duration,
    pub least: usize,
}

/// Draws of a run so far, with what is known of it.
pub(super) type DrawsOf<'d> = &'d dyn Fn(&[Box<dyn Chain + '_>], RunInfo) -> Draws;

/// A run without its chains.
pub(super) struct Rounds {
    pub sizes: Sizes,
    pub ending: Ending,
    pub pool: Option<rayon::ThreadPool>,
    pub began: Instant,
    pub limit: Option<Limit>,
    /// [`ChainPlan::run`].
    pub id: u32,
    /// What is known of the run before it begins; the other facts as by default.
    pub facts: RunInfo,
}

impl Rounds {
    /// Runs the chains to their end. A panic is an error if no chain has made a draw.
    pub fn run(
        mut self,
        chains: &mut [Box<dyn Chain + '_>],
        checkpoint: Option<Checkpoint>,
        mut on_progress: Option<Report>,
        until: Option<(Until, DrawsOf)>,
    ) -> Result<RunInfo, Error> {
        let (mut frozen, mut seconds) = (false, [0.0; 2]);
        let mut saver = caught("the beginning of the run", || match checkpoint {
            None => self.begin(chains).map(|()| None),
            Some(checkpoint) => {
                let begin = |chains: &mut [Box<dyn Chain + '_>]| self.begin(chains);
                Saver::open(checkpoint, &self.sizes, &begin, chains, &mut frozen, &mut seconds)
                    .map(Some)
            }
        })??;
        // A panic outside of the chains: in a progress report or a checkpoint.
        let mut panic = None;
        let mut clock = Instant::now();
        let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64();
        for (phase, total) in
            [(Phase::Warmup, self.sizes.warmup), (Phase::Sampling, self.sizes.draws)]
        {
            let p = phase as usize;
            let (mut done, mut round) = (least_done(chains, p), 1);
            let until = until.as_ref().filter(|_| phase == Phase::Sampling);
            let stage = |done| until.map_or(total, |(until, _)| until.next(done, total));
            let mut stop = stage(done);
            while panic.is_none() && !self.ending.has_come() {
                if done >= stop {
                    let Some((until, draws_of)) = until.filter(|_| stop < total) else { break };
                    let is_enough = || {
                        let reports = chains.iter().map(|chain| chain.report()).collect();
                        let info = RunInfo { reports, ..self.so_far(chains, seconds, stop) };
                        (until.is_enough)(&draws_of(chains, info))
                    };
                    match caught("the condition of the end", is_enough) {
                        Ok(true) => {
                            self.sizes.draws = stop;
                            break;
                        }
                        Ok(false) => stop = stage(done + 1),
                        Err(error) => panic = Some(error),
                    }
                    continue;
                }
                if phase == Phase::Sampling && self.time_is_up(done) {
                    self.sizes.draws = done;
                    break;
                }
                let round_began = Instant::now();
                let room = saver.as_ref().map_or(usize::MAX, Saver::until_due);
                let end = stop.min(done.saturating_add(round.min(room)));
                self.each(chains, &|chain| chain.advance(phase, end, total, &self.ending));
                let advanced = end - done;
                done = least_done(chains, p);
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
                    panic = self.save(saver, chains, frozen, seconds).err();
                }
                if let Some(report) = &mut on_progress {
                    let checkpoint_failed = saver.as_ref().is_some_and(|s| s.error.is_some());
                    let reported = caught("the progress report", || {
                        report(&Progress {
                            phase,
                            done,
                            total: stop,
                            chains: chains.iter().map(|chain| of_chain(&**chain, p)).collect(),
                            elapsed: self.began.elapsed(),
                            checkpoint_failed,
                        });
                    });
                    panic = panic.or(reported.err());
                }
            }
            if phase == Phase::Warmup && done >= total && !frozen {
                chains.iter_mut().for_each(|chain| {
                    guard(&mut **chain, &self.ending, &|chain| chain.freeze());
                });
                frozen = true;
            }
            seconds[p] += lap();
        }
        if let Some(saver) = &mut saver
            && saver.is_behind()
        {
            panic = panic.or(self.save(saver, chains, frozen, seconds).err());
        }
        self.info(chains, saver, seconds, panic)
    }

    /// Whether chains with so many draws make no more.
    fn time_is_up(&self, done: usize) -> bool {
        let is_up = |limit: &Limit| done >= limit.least && self.began.elapsed() >= limit.time; //~ time-is-up
        self.limit.as_ref().is_some_and(is_up)
    }

    /// Begins the records of all chains.
    fn begin(&self, chains: &mut [Box<dyn Chain + '_>]) -> Result<(), Error> {
        let Sizes { chains: all, draws, .. } = self.sizes;
        let chains_here = chains.len();
        for chain in chains {
            let number = chain.data().index;
            let (chains, run) = (all, self.id);
            chain.begin(ChainPlan { chain: number, chains, chains_here, draws, run })?;
        }
        Ok(())
    }

    /// Does `work` on all chains, on the threads of the run.
    fn each(&self, chains: &mut [Box<dyn Chain + '_>], work: &(dyn Fn(&mut dyn Chain) + Sync)) {
        let guarded = |chain: &mut Box<dyn Chain + '_>| guard(&mut **chain, &self.ending, work);
        match &self.pool {
            Some(pool) => pool.install(|| chains.par_iter_mut().for_each(guarded)),
            None => chains.par_iter_mut().for_each(guarded),
        }
    }

    /// Writes a checkpoint, unless a chain failed. The error is a panic.
    fn save(
        &self,
        saver: &mut Saver,
        chains: &mut [Box<dyn Chain + '_>],
        frozen: bool,
        seconds: [f64; 2],
    ) -> Result<(), Error> {
        if !self.ending.has_failed() {
            self.each(chains, &|chain| chain.evaluate());
        }
        if self.ending.has_failed() {
            return Ok(());
        }
        let saved = caught("the checkpoint", || saver.save(chains, frozen, seconds));
        if saved.is_err() {
            self.ending.fail();
        } else if saver.has_no_folder() {
            self.ending.cut(); //~ folder-is-gone
        }
        saved
    }

    /// The information on the run at its end.
    fn info(
        &self,
        chains: &mut [Box<dyn Chain + '_>],
        saver: Option<Saver>,
        seconds: [f64; 2],
        mut panic: Option<Error>,
    ) -> Result<RunInfo, Error> {
        let failure = chains.iter_mut().find_map(|chain| chain.data_mut().failure.take());
        let recorder = chains.iter_mut().find_map(|chain| chain.data_mut().recorder_failure.take());
        panic = failure.or(panic);
        let mut checkpoint_error = None;
        if let Some(saver) = &saver {
            let cause = match &panic {
                Some(error) if error.is_panic() => "the run panicked",
                Some(_) => "the rows cannot be read",
                None => "a recorder failed",
            };
            let error = saver.error.as_ref().map(Error::to_string);
            let stays = || format!("{cause}, so the last checkpoint stays");
            checkpoint_error = self.ending.has_failed().then(stays).or(error);
        }
        let mut reports = Vec::new();
        for chain in &*chains {
            match caught("the kernel's report", || chain.report()) {
                Ok(report) => reports.push(report),
                Err(error) => panic = panic.or(Some(error)),
            }
        }
        if chains.iter().all(|chain| chain.data().at.done[1] == 0)
            && let Some(error) = panic
        {
            return Err(error);
        }
        Ok(RunInfo {
            reports,
            checkpoint_error,
            recorder_error: recorder.as_ref().map(Error::to_string),
            panic: panic.as_ref().map(Error::to_string),
            ..self.so_far(chains, seconds, self.sizes.draws)
        })
    }

    /// What the chains know of the run, if it is one of so many draws.
    fn so_far(&self, chains: &[Box<dyn Chain + '_>], seconds: [f64; 2], draws: usize) -> RunInfo {
        let [warmup_seconds, sampling_seconds] = seconds;
        let [warmed, drawn] = [0, 1].map(|phase| least_done(chains, phase));
        let places = || chains.iter().map(|chain| &chain.data().at);
        let found = places().flat_map(|at| &at.diverged);
        RunInfo {
            stopped_early: warmed < self.sizes.warmup || drawn < draws,
            warmup_seconds,
            sampling_seconds,
            climbed: chains.iter().map(|chain| chain.data().climbed).collect(),
            warmup_divergences: places().map(|at| at.divergences[0]).collect(),
            warmup_gradient_evals: places().map(|at| at.warmup_gradients).collect(),
            divergences: found.filter(|d| d.draw < drawn.min(draws)).cloned().collect(),
            ..self.facts.clone()
        }
    }
}

/// Does `work`. A panic in it, or an error with which it unwinds, is the chain's failure; the chain keeps the draws that are done.
fn guard(chain: &mut dyn Chain, ending: &Ending, work: &dyn Fn(&mut dyn Chain)) {
    let Err(unwound) = unwound(|| work(chain)) else { return };
    let data = chain.data_mut();
    let place = match data.at.done {
        [iterations, 0] => {
            let iterations = count(iterations, "iteration");
            format!("chain {} after {iterations} of warm-up", data.index)
        }
        [_, draws] => format!("chain {} after {}", data.index, count(draws, "draw")),
    };
    data.truncate(data.at.done[1]);
    data.failure = Some(unwound.at(place));
    ending.fail();
}

/// The progress of a chain in a phase.
fn of_chain(chain: &dyn Chain, phase: usize) -> ChainProgress {
    let data = chain.data();
    ChainProgress {
        chain: data.index,
        divergences: data.at.divergences[phase],
        step_size: chain.step_size(),
    }
}

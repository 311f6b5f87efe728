//! The progress of a run, and the handle that ends it.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Ends a run from another thread (or from its progress report, or a signal by its [flag](Self::flag)) after
/// the step that each chain is in.
///
/// The run then returns the draws that all chains have made, after it has written its checkpoint,
/// if it has one. The steps so far of a thinned draw are part of the checkpoint. A step is cut at
/// its next evaluation, and made again when the run goes on, if the one before took more than half
/// a second, or the latest checkpoint (a run begins with one) took more than 2 ms to evaluate the
/// log density. Others come to their end, as all do in programs built with `panic = "abort"`.
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<AtomicBool>);

impl StopHandle {
    /// A handle to give to [`Sampler::stop_handle`](crate::sampler::Sampler::stop_handle).
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the run at the next step.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag that ends the run when it is true, for code that sets flags, such as the handler of
    /// a signal.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
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

/// The progress of a run. All chains are equally far, unless the run was asked to end.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Warm-up or sampling.
    pub phase: Phase,
    /// Warm-up iterations or draws of each chain so far in this phase.
    pub done: usize,
    /// Warm-up iterations or draws of each chain in this phase, or those after which it is next asked
    /// whether they are [enough](crate::sampler::Sampler::until).
    pub total: usize,
    /// The progress of each chain.
    pub chains: Vec<ChainProgress>,
    /// Time since the call of [`run`](crate::sampler::Sampler::run).
    pub elapsed: Duration,
    /// Whether the last checkpoint could not be written. The run goes on and tries again.
    pub checkpoint_failed: bool,
}

/// The progress of one chain: a part of a [`Progress`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainProgress {
    /// The number of the chain, counted from 0.
    pub chain: usize,
    /// Divergent transitions in this phase.
    pub divergences: u64,
    /// The step size in use, which is still learnt in the warm-up. For a kernel that is made of
    /// several, it is the first one's; `None` if there is none.
    pub step_size: Option<f64>,
}

impl Progress {
    /// Divergent transitions of all chains in this phase.
    pub fn divergences(&self) -> u64 {
        self.chains.iter().map(|chain| chain.divergences).sum()
    }

    /// `sampling 200 of 1000 (20 %)`.
    fn place(&self) -> String {
        let name = match self.phase {
            Phase::Warmup => "warm-up",
            Phase::Sampling => "sampling",
        };
        format!("{name} {} of {} ({:.0} %)", self.done, self.total, 100.0 * self.share())
    }

    fn share(&self) -> f64 {
        self.done as f64 / self.total.max(1) as f64
    }

    /// The time, and how much is left at the pace since `first`, the first report of the phase.
    fn time(&self, first: Place) -> String {
        let seconds = self.elapsed.as_secs_f64();
        let done = self.done.saturating_sub(first.done) as f64;
        if self.done >= self.total || done == 0.0 {
            return format!("{seconds:.1} s");
        }
        let took = self.elapsed.saturating_sub(first.elapsed).as_secs_f64();
        let left = took * (self.total - self.done) as f64 / done; //~ time-left
        format!("{seconds:.1} s, about {left:.0} s left in this phase")
    }
}

/// A progress report on the terminal, for
/// [`Sampler::on_progress`](crate::sampler::Sampler::on_progress): one bar per phase.
#[cfg(feature = "progress")]
pub fn progress_bar() -> impl FnMut(&Progress) {
    use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
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
            let new = new.with_finish(ProgressFinish::Abandon); // when the next phase begins
            bar = Some((progress.phase, new));
        }
        if let Some((_, bar)) = &bar {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
            let failed = if progress.checkpoint_failed { ", checkpoint failed" } else { "" };
            let steps = step_sizes(&progress.chains).map_or(String::new(), |s| format!(", {s}"));
            bar.set_message(format!("{}{steps}{failed}", divergent(&progress.chains)));
        }
    }
}

/// A progress report in lines of text, for
/// [`Sampler::on_progress`](crate::sampler::Sampler::on_progress): one every ten seconds and one at
/// the end of each phase, as suits a log file. Up to eight chains have their step sizes and
/// divergences one by one, in order; of more chains there is the range of step sizes.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::progress_log;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::standard(3)?;
/// let sampler = Sampler::new(&target, Nuts::default()).draws(200);
/// // sampling 200 of 200 (100 %), 0 divergent, step sizes 0.812 0.853 0.791 0.834, 0.1 s
/// sampler.on_progress(progress_log(std::io::stderr())).run()?;
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
pub fn progress_log(mut to: impl Write) -> impl FnMut(&Progress) {
    let mut due = Due::every(Duration::from_secs(10));
    move |progress| {
        let Some(first) = due.is_now(progress) else { return };
        let mut parts = vec![progress.place(), divergent(&progress.chains)];
        parts.extend(step_sizes(&progress.chains));
        parts.push(progress.time(first));
        parts.extend(failed(progress));
        // A log that cannot be written does not end a run.
        let _ = writeln!(to, "{}", parts.join(", ")).and_then(|()| to.flush());
    }
}

/// A progress report to the standard error, for
/// [`Sampler::on_progress`](crate::sampler::Sampler::on_progress): at a terminal some lines that
/// are kept up to date, with step size and divergences of each chain and the time left; elsewhere,
/// as in a log file, the lines of [`progress_log`].
pub fn progress_report() -> Box<dyn FnMut(&Progress)> {
    let to = std::io::stderr();
    if to.is_terminal() { Box::new(progress_lines(to)) } else { Box::new(progress_log(to)) }
}

/// Lines that are written anew, at the same place of a terminal, five times a second.
fn progress_lines(mut to: impl Write) -> impl FnMut(&Progress) {
    const MOST: usize = 16;
    let mut due = Due::every(Duration::from_millis(200));
    // The phase and the number of the lines that are to be written over.
    let mut last: Option<(Phase, usize)> = None;
    move |progress| {
        let Some(first) = due.is_now(progress) else { return };
        let mut lines = vec![format!("{}, {}", progress.place(), progress.time(first))];
        lines.extend(progress.chains.iter().take(MOST).map(|of| {
            let step = of.step_size.map(|step| format!(", step size {}", short(step)));
            let step = step.unwrap_or_default();
            format!("  chain {}: {} divergent{step}", of.chain, of.divergences)
        }));
        if let Some(more) = progress.chains.get(MOST..).filter(|more| !more.is_empty()) {
            lines.push(format!("  {} more chains: {}", more.len(), divergent(more)));
        }
        lines.extend(failed(progress).map(|failed| format!("  {failed}")));
        let up = last.filter(|(phase, _)| *phase == progress.phase);
        // Moves up, and overwrites each line to its end.
        let mut text = up.map_or_else(String::new, |(_, lines)| format!("\x1b[{lines}A"));
        lines.iter().for_each(|line| text.push_str(&format!("{line}\x1b[K\n")));
        text.push_str("\x1b[J"); // and what is below: a line that is gone
        last = Some((progress.phase, lines.len()));
        let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
    }
}

/// The progress of a phase when it was first reported: not 0 if the run goes on from a checkpoint.
#[derive(Clone, Copy)]
struct Place {
    done: usize,
    elapsed: Duration,
}

/// The times at which a report is written: at this interval, and at the end of each phase.
struct Due {
    every: Duration,
    /// The phase, its first place, and when the last report was written.
    last: Option<(Phase, Place, Duration)>,
}

impl Due {
    fn every(every: Duration) -> Self {
        Self { every, last: None }
    }

    /// The first place of the phase, if a report is to be written now.
    fn is_now(&mut self, progress: &Progress) -> Option<Place> {
        let now = progress.elapsed;
        let (first, written) = match self.last {
            // A clock that went back belongs to another run.
            Some((phase, first, written)) if phase == progress.phase && written <= now => {
                (first, written)
            }
            _ => (Place { done: progress.done, elapsed: now }, now),
        };
        let is_now = progress.done == progress.total || now - written >= self.every;
        self.last = Some((progress.phase, first, if is_now { now } else { written }));
        is_now.then_some(first)
    }
}

/// The largest number of chains that are listed one by one.
const LISTED: usize = 8;

/// `2 divergent (0 2 0 0)`.
fn divergent(chains: &[ChainProgress]) -> String {
    let all: u64 = chains.iter().map(|chain| chain.divergences).sum();
    if all == 0 {
        return "0 divergent".into();
    }
    if chains.len() > LISTED {
        let some = chains.iter().filter(|chain| chain.divergences > 0).count();
        return format!("{all} divergent (in {some} of {} chains)", chains.len());
    }
    let each: Vec<String> = chains.iter().map(|chain| chain.divergences.to_string()).collect();
    format!("{all} divergent ({})", each.join(" "))
}

/// `step sizes 0.21 0.19`; `None` if there are none.
fn step_sizes(chains: &[ChainProgress]) -> Option<String> {
    let steps: Vec<f64> = chains.iter().filter_map(|chain| chain.step_size).collect();
    if steps.len() > LISTED {
        let least = steps.iter().copied().fold(f64::INFINITY, f64::min);
        let most = steps.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        return Some(format!("step sizes {} to {}", short(least), short(most)));
    }
    let each: Vec<String> = steps.into_iter().map(short).collect();
    (!each.is_empty()).then(|| format!("step sizes {}", each.join(" ")))
}

fn failed(progress: &Progress) -> Option<String> {
    progress.checkpoint_failed.then(|| "the last checkpoint failed".to_string())
}

/// A positive number in about three digits.
fn short(x: f64) -> String {
    match x {
        x if (100.0..1e5).contains(&x) => format!("{x:.0}"),
        x if (1.0..100.0).contains(&x) => format!("{x:.2}"),
        x if (0.1..1.0).contains(&x) => format!("{x:.3}"),
        x if (0.01..0.1).contains(&x) => format!("{x:.4}"),
        x => format!("{x:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report by chains with these divergences; chain c has the step size 0.1 + c / 100.
    fn progress(phase: Phase, done: usize, seconds: f64, divergences: &[u64]) -> Progress {
        let chain = |(chain, divergences): (usize, &u64)| ChainProgress {
            chain,
            divergences: *divergences,
            step_size: Some(0.1 + 0.01 * chain as f64),
        };
        let chains = divergences.iter().enumerate().map(chain).collect();
        let elapsed = Duration::from_secs_f64(seconds);
        Progress { phase, done, total: 100, chains, elapsed, checkpoint_failed: seconds == 25.0 }
    }

    #[test]
    fn lines_come_every_ten_seconds_and_at_the_end_of_a_phase() {
        let mut text = Vec::new();
        let mut log = progress_log(&mut text);
        let mut at = |phase, done, seconds| log(&progress(phase, done, seconds, &[0, 2]));
        for second in 0..=25 {
            at(Phase::Warmup, 2 * second, second as f64);
        }
        at(Phase::Warmup, 100, 31.0);
        at(Phase::Sampling, 0, 31.0);
        at(Phase::Sampling, 50, 36.0);
        at(Phase::Sampling, 100, 40.0);
        drop(log);
        let chains = "2 divergent (0 2), step sizes 0.100 0.110";
        let expected = format!(
            "warm-up 20 of 100 (20 %), {chains}, 10.0 s, about 40 s left in this phase\n\
             warm-up 40 of 100 (40 %), {chains}, 20.0 s, about 30 s left in this phase\n\
             warm-up 100 of 100 (100 %), {chains}, 31.0 s\n\
             sampling 100 of 100 (100 %), {chains}, 40.0 s\n"
        );
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn many_chains_are_summed_up() {
        let mut text = Vec::new();
        let mut many = [0; 20];
        (many[3], many[19]) = (4, 1);
        progress_log(&mut text)(&progress(Phase::Sampling, 100, 1.0, &many));
        let mut none = progress(Phase::Warmup, 100, 25.0, &[0]);
        none.chains[0].step_size = None;
        progress_log(&mut text)(&none);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "sampling 100 of 100 (100 %), 5 divergent (in 2 of 20 chains), step sizes 0.100 to 0.290, 1.0 s\n\
             warm-up 100 of 100 (100 %), 0 divergent, 25.0 s, the last checkpoint failed\n"
        );
    }

    #[test]
    fn a_terminal_shows_each_chain_at_the_same_place() {
        let mut text = Vec::new();
        let mut lines = progress_lines(&mut text);
        let mut at = |phase, done, seconds| lines(&progress(phase, done, seconds, &[0, 2]));
        at(Phase::Warmup, 10, 1.0);
        at(Phase::Warmup, 11, 1.1); // too early
        at(Phase::Warmup, 20, 2.0);
        at(Phase::Warmup, 100, 2.1);
        at(Phase::Sampling, 100, 3.0);
        drop(lines);
        let chains = "  chain 0: 0 divergent, step size 0.100\x1b[K\n  chain 1: 2 divergent, step size 0.110\x1b[K\n\x1b[J";
        let expected = format!(
            "warm-up 20 of 100 (20 %), 2.0 s, about 8 s left in this phase\x1b[K\n{chains}\
             \x1b[3Awarm-up 100 of 100 (100 %), 2.1 s\x1b[K\n{chains}\
             sampling 100 of 100 (100 %), 3.0 s\x1b[K\n{chains}"
        );
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}

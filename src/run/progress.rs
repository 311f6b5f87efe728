//! How far a run is, and how to end it.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Ends a run from another thread (or from its progress report) after the step that each chain is in.
///
/// The run then returns the draws that all chains have made, after it has written its checkpoint,
/// if it has one. Of a thinned draw the steps so far are part of the checkpoint. A step is never cut
/// short: one of [`Nuts`](crate::sampler::Nuts) takes up to 2^`max_depth` gradients, one of
/// [`Hmc`](crate::sampler::Hmc) up to `max_steps`.
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
    /// Time since the call of [`run`](crate::sampler::Sampler::run).
    pub elapsed: Duration,
    /// Whether the last checkpoint could not be written. The run goes on and tries again.
    pub checkpoint_failed: bool,
}

/// A progress report on the terminal, for
/// [`Sampler::on_progress`](crate::sampler::Sampler::on_progress): one bar per phase.
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

/// A progress report in lines of text, for
/// [`Sampler::on_progress`](crate::sampler::Sampler::on_progress): one every ten seconds and one at
/// the end of each phase, as suits a log file.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::progress_log;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::standard(3)?;
/// let sampler = Sampler::new(&target, Nuts::default()).draws(200);
/// // sampling 200 of 200 (100 %), 0 divergent, 0.1 s
/// sampler.on_progress(progress_log(std::io::stderr())).run()?;
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
pub fn progress_log(mut to: impl Write) -> impl FnMut(&Progress) {
    const EVERY: Duration = Duration::from_secs(10);
    // The phase, when it began, and when the last line was written.
    let mut last: Option<(Phase, Duration, Duration)> = None;
    move |progress| {
        let now = progress.elapsed;
        let (phase, began, written) = match last {
            Some((phase, began, written)) if phase == progress.phase => (phase, began, written),
            _ => (progress.phase, now, now),
        };
        last = Some((phase, began, written));
        let is_done = progress.done == progress.total;
        if !is_done && now - written < EVERY {
            return;
        }
        let name = match phase {
            Phase::Warmup => "warm-up",
            Phase::Sampling => "sampling",
        };
        let share = progress.done as f64 / progress.total.max(1) as f64;
        let mut line = format!(
            "{name} {} of {} ({:.0} %), {} divergent, {:.1} s",
            progress.done,
            progress.total,
            100.0 * share,
            progress.divergences,
            now.as_secs_f64()
        );
        if !is_done && share > 0.0 {
            let left = (now - began).as_secs_f64() * (1.0 - share) / share;
            line.push_str(&format!(", about {left:.0} s left in this phase"));
        }
        if progress.checkpoint_failed {
            line.push_str(", the last checkpoint failed");
        }
        // A log that cannot be written is no reason to end a run.
        let _ = writeln!(to, "{line}").and_then(|()| to.flush());
        last = Some((phase, began, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_every_ten_seconds_and_at_the_end_of_a_phase() {
        let mut text = Vec::new();
        let mut log = progress_log(&mut text);
        let mut at = |phase, done, seconds| {
            log(&Progress {
                phase,
                done,
                total: 100,
                divergences: 2,
                elapsed: Duration::from_secs(seconds),
                checkpoint_failed: seconds == 25,
            });
        };
        for second in 0..=25 {
            at(Phase::Warmup, 2 * second as usize, second);
        }
        at(Phase::Warmup, 100, 31);
        at(Phase::Sampling, 0, 31);
        at(Phase::Sampling, 50, 36);
        at(Phase::Sampling, 100, 40);
        drop(log);
        let expected = "warm-up 20 of 100 (20 %), 2 divergent, 10.0 s, about 40 s left in this phase\n\
                        warm-up 40 of 100 (40 %), 2 divergent, 20.0 s, about 30 s left in this phase\n\
                        warm-up 100 of 100 (100 %), 2 divergent, 31.0 s\n\
                        sampling 100 of 100 (100 %), 2 divergent, 40.0 s\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}

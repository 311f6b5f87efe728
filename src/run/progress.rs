//! How far a run is, and how to end it.

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

/// A progress report on the terminal, for [`Sampler::on_progress`](crate::sampler::Sampler::on_progress): one bar per phase.
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

//! The length of a run, and the requests that end it early.

use std::sync::atomic::{AtomicBool, Ordering};

use super::progress::StopHandle;

/// The sizes of a run and its seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub chains: usize,
    pub warmup: usize,
    pub draws: usize,
    pub thin: usize,
    pub seed: u64,
}

/// The reasons for which chains end before they are done: the run was asked to end, or one chain
/// cannot go on, since its recorder failed or something panicked. From then on no checkpoint is
/// written.
pub(super) struct Ending {
    stop: StopHandle,
    failed: AtomicBool,
    /// Whether a step was cut, or checkpoints have no place any more: no chain goes on, whatever becomes of the handle.
    cut: AtomicBool,
}

impl Ending {
    pub fn new(stop: StopHandle) -> Self {
        Self { stop, failed: AtomicBool::new(false), cut: AtomicBool::new(false) }
    }

    /// The handle by which the end is asked for.
    pub fn stop(&self) -> &StopHandle {
        &self.stop
    }

    pub fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }

    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub fn has_come(&self) -> bool {
        self.stop.is_stopped() || self.cut.load(Ordering::Relaxed) || self.has_failed()
    }
}

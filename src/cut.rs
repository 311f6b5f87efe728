//! A way out of a step that takes long, when its run is asked to end.
//!
//! A step of a large network can take minutes, and has no place at which it could be left: its
//! kernel would have to know one. So a chain keeps its state from before the step, and an
//! evaluation of the density that finds its run asked to end unwinds the step. Only steps that
//! follow a long one, or a long evaluation at a checkpoint, are made like this: the copy takes time
//! and memory, too.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Becomes true when a run is asked to end.
type Stop = Arc<AtomicBool>;

/// The payload with which a step unwinds.
struct Cut;

thread_local! {
    /// The request that may end the step that this thread is in, if the step can be cut.
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Unwinds the step that this thread is in, if it can be cut and its run was asked to end.
pub(crate) fn point() {
    STOP.with_borrow(|stop| {
        if stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            // Unlike a panic it says nothing.
            resume_unwind(Box::new(Cut));
        }
    });
}

/// The request that may end the step that this thread is in, for work that is [shared out](within).
pub(crate) fn stop() -> Option<Stop> {
    STOP.with_borrow(Clone::clone)
}

/// Runs `work` as a part of the step that `stop` may end, or of no such step, and returns its
/// result. A thread that waits for others within a step takes up other work meanwhile, which must
/// not be cut with that step.
pub(crate) fn within<R>(stop: Option<Stop>, work: impl FnOnce() -> R) -> R {
    let _before = Before::of(stop);
    work()
}

/// Runs `step` and returns its result; `None` if it was cut since `stop` asked for an end.
pub(crate) fn cuttable<R>(stop: Stop, step: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(|| within(Some(stop), step))) {
        Ok(result) => Some(result),
        Err(payload) if payload.is::<Cut>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// The request that may end the surrounding step, which is put back when this is dropped.
struct Before(Option<Stop>);

impl Before {
    fn of(stop: Option<Stop>) -> Self {
        Self(STOP.replace(stop))
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        STOP.set(self.0.take());
    }
}

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

/// What is around the work of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    /// The request that may end the step that the work is in, if the step can be cut.
    stop: Option<Stop>,
    /// Whether an error with which the work unwinds is caught.
    catches: bool,
}

thread_local! {
    static AROUND: RefCell<Around> = const { RefCell::new(Around { stop: None, catches: false }) };
}

/// Unwinds the step that this thread is in, if it can be cut and its run was asked to end.
pub(crate) fn point() {
    AROUND.with_borrow(|around| {
        if around.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            // Unlike a panic it says nothing.
            resume_unwind(Box::new(Cut));
        }
    });
}

/// What is around the work of this thread, for work that is [shared out](within).
pub(crate) fn around() -> Around {
    AROUND.with_borrow(Clone::clone)
}

/// Whether an error with which the work of this thread unwinds is caught.
pub(crate) fn catches() -> bool {
    AROUND.with_borrow(|around| around.catches)
}

/// Runs `work` as a part of the work that `around` was taken in, and returns its result. A thread that waits for others
/// within a step takes up other work meanwhile, which must not be cut with that step.
pub(crate) fn within<R>(around: Around, work: impl FnOnce() -> R) -> R {
    let _before = Before(AROUND.replace(around));
    work()
}

/// Runs `work` as a part of no step that can be cut.
pub(crate) fn apart<R>(work: impl FnOnce() -> R) -> R {
    within(Around { stop: None, ..around() }, work)
}

/// Runs `work`, whose errors the caller catches.
pub(crate) fn catching<R>(work: impl FnOnce() -> R) -> R {
    within(Around { catches: true, ..around() }, work)
}

/// Runs `step` and returns its result; `None` if it was cut since `stop` asked for an end.
pub(crate) fn cuttable<R>(stop: Stop, step: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(|| within(Around { stop: Some(stop), ..around() }, step))) {
        Ok(result) => Some(result),
        Err(payload) if payload.is::<Cut>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// What was around the work before, which is put back when this is dropped.
struct Before(Around);

impl Drop for Before {
    fn drop(&mut self) {
        AROUND.set(std::mem::take(&mut self.0));
    }
}

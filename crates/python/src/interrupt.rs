//! Work without Python's lock, on threads of its own, which signals end.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use bnn_mcmc::sampler::StopHandle;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon_core::ThreadPoolBuilder;

/// The interval at which Python is asked for signals.
const EVERY: Duration = Duration::from_millis(50);

/// Runs `work` on `threads` threads without Python's lock, and returns its result.
///
/// The threads end with the work, so that a process that is forked later does not count on threads
/// that it does not have.
pub fn on_threads<R: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    let (result, raised) = interruptible(py, threads, &StopHandle::new(), work)?;
    raised.map_or(Ok(result), Err)
}

/// Runs `work` like [`on_threads`]. After a signal whose handler raises, as the handler of Ctrl-C
/// does, the work is told to `stop`; the exception is returned beside the result when the work has
/// ended. Handlers of further signals are called meanwhile; the last exception counts.
pub fn interruptible<R: Send>(
    py: Python<'_>,
    threads: usize,
    stop: &StopHandle,
    work: impl FnOnce() -> R + Send,
) -> PyResult<(R, Option<PyErr>)> {
    py.detach(|| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| PyValueError::new_err(format!("{threads} threads: {e}")))?;
        let (done, wait) = channel::<()>();
        thread::scope(|scope| {
            let run = scope.spawn(|| {
                let result = pool.install(work);
                drop(done);
                result
            });
            // Python handles signals on its main thread alone: elsewhere there are none.
            let mut raised = None;
            while wait.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                if let Err(exception) = Python::attach(|py| py.check_signals()) {
                    stop.stop();
                    raised = Some(exception);
                }
            }
            let result = run.join().unwrap_or_else(|panic| resume_unwind(panic));
            Ok((result, raised))
        })
    })
}

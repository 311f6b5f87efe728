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

/// Runs `work` like [`interruptible_with`], with nothing to do meanwhile.
pub fn interruptible<R: Send>(
    py: Python<'_>,
    threads: usize,
    stop: &StopHandle,
    work: impl FnOnce() -> R + Send,
) -> PyResult<(R, Option<PyErr>)> {
    interruptible_with(py, threads, stop, |_| Ok(()), work)
}

/// Runs `work` like [`on_threads`]. After a signal whose handler raises, as the handler of Ctrl-C
/// does, the work is told to `stop`; the exception is returned beside the result when the work has
/// ended. Handlers of further signals are called meanwhile; the last exception counts.
///
/// `meanwhile` is called between, with Python's lock, until it raises, which counts like an exception of a handler; and once after the
/// work, which its exceptions then leave as it is: they are shown.
pub fn interruptible_with<R: Send>(
    py: Python<'_>,
    threads: usize,
    stop: &StopHandle,
    mut meanwhile: impl FnMut(Python<'_>) -> PyResult<()> + Send,
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
                let is_first = raised.is_none();
                let asked = |py: Python<'_>| {
                    py.check_signals()?;
                    if is_first { meanwhile(py) } else { Ok(()) }
                };
                if let Err(exception) = Python::attach(asked) {
                    stop.stop();
                    raised = Some(exception);
                }
            }
            let result = run.join().unwrap_or_else(|panic| resume_unwind(panic));
            if raised.is_none() {
                Python::attach(|py| {
                    if let Err(exception) = meanwhile(py) {
                        exception.write_unraisable(py, None);
                    }
                });
            }
            Ok((result, raised))
        })
    })
}

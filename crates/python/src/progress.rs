//! Progress, from the threads of a run to a callable of Python.

use std::sync::{Mutex, PoisonError};

use bnn_mcmc::fit::Told;
use bnn_mcmc::sampler::Phase;
use pyo3::prelude::*;

/// What a run has told and Python has not heard: in the place of many reports on a phase the last one.
#[derive(Default)]
pub struct Events(Mutex<Vec<Event>>);

/// The phase, how much of it is done and how much there is, seconds, divergent transitions, and a line.
type Event = (&'static str, usize, usize, f64, u64, String);

impl Events {
    pub fn hear(&self, told: Told) {
        let event = match told {
            Told::Line(line) => ("choice", 0, 0, 0.0, 0, line.to_owned()),
            Told::Sampling(progress) => {
                let phase = match progress.phase {
                    Phase::Warmup => "warmup",
                    Phase::Sampling => "sampling",
                };
                let seconds = progress.elapsed.as_secs_f64();
                let line = String::new();
                (phase, progress.done, progress.total, seconds, progress.divergences(), line)
            }
            _ => return,
        };
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if events.last().is_some_and(|last| last.0 == event.0 && event.0 != "choice") {
            events.pop();
        }
        events.push(event);
    }

    /// Calls a callable with each event.
    pub fn tell(&self, py: Python<'_>, callback: &Py<PyAny>) -> PyResult<()> {
        let events = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        events.into_iter().try_for_each(|event| callback.call1(py, event).map(drop))
    }
}

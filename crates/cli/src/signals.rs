//! INT, TERM and HUP: from Ctrl-C, batch systems and terminals that are closed.
//!
//! A command ends at once, and leaves no file half written. While there is something to save it is asked to
//! end instead; a second signal then ends it at once.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bnn_mcmc::sampler::StopHandle;

use crate::output;

/// The state that a signal finds.
struct State {
    /// The run that is asked to end, and the message then.
    stop: Option<(StopHandle, &'static str)>,
    /// The number of the signal after which it was asked.
    heard: Option<i32>,
    /// Files that are being written.
    unfinished: Vec<PathBuf>,
}

static STATE: Mutex<State> = Mutex::new(State { stop: None, heard: None, unfinished: Vec::new() });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the first signal from now on ask for an end, with the message `what`.
pub fn stop(stop: &StopHandle, what: &'static str) {
    state().stop = Some((stop.clone(), what));
}

/// The exit code after the signal that has asked for an end; the code of Ctrl-C if there was none.
pub fn code() -> u8 {
    exit_code(state().heard.unwrap_or(2))
}

fn exit_code(signal: i32) -> u8 {
    128 + signal as u8
}

/// Makes a file that a signal removes, until it is [kept](forget). No signal comes in between.
pub fn begin<R>(make: impl FnOnce() -> R, path: impl FnOnce(&R) -> Option<PathBuf>) -> R {
    let mut state = state();
    let made = make();
    state.unfinished.extend(path(&made));
    made
}

/// Does away with an unfinished file: it is given its name, or removed. No signal comes in between.
pub fn forget<R>(path: &Path, end: impl FnOnce() -> R) -> R {
    let mut state = state();
    state.unfinished.retain(|unfinished| unfinished != path);
    end()
}

/// Handles a signal.
fn on(signal: i32) {
    let mut state = state();
    if state.heard.is_none()
        && let Some((stop, what)) = &state.stop
    {
        stop.stop();
        output::note(what);
        state.heard = Some(signal);
        return;
    }
    for path in &state.unfinished {
        let _ = std::fs::remove_file(path);
    }
    // With the state locked: no file is begun any more.
    std::process::exit(exit_code(signal).into());
}

/// Listens for signals, on a thread of its own. A signal that the process was started to ignore
/// stays ignored: HUP under `nohup`, INT of a command that a script runs in the background.
///
/// # Errors
/// If the thread cannot be made. Signals then end the process as they do by default.
#[cfg(unix)]
pub fn listen() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let heard: Vec<i32> =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)).collect();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        match signal_hook::iterator::Signals::new(heard) {
            Err(error) => drop(tell.send(Err(error))),
            Ok(mut signals) => {
                let _ = tell.send(Ok(()));
                signals.forever().for_each(on);
            }
        }
    })?;
    told.recv().unwrap_or_else(|e| Err(std::io::Error::other(e)))
}

#[cfg(not(unix))]
pub fn listen() -> std::io::Result<()> {
    ctrlc::set_handler(|| on(2)).map_err(std::io::Error::other)
}

/// Whether the process has been started with this signal ignored.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").ok();
    status.and_then(|text| in_mask(&text, signal)).unwrap_or_else(|| is_ignored_by_a_shell(signal))
}

/// Whether the signal is among those that `/proc/self/status` says are ignored.
#[cfg(unix)]
fn in_mask(status: &str, signal: i32) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask >> (signal - 1) & 1 == 1)
}

/// Whether a shell survives the signal: it ignores the signals that this process ignores.
#[cfg(unix)]
fn is_ignored_by_a_shell(signal: i32) -> bool {
    let kill = format!("kill -{signal} $$");
    std::process::Command::new("sh").args(["-c", &kill]).status().is_ok_and(|s| s.success())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_known() {
        let status = "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0000000180004002\n";
        assert_eq!(in_mask(status, 1), Some(true));
        assert_eq!(in_mask(status, 15), Some(false));
        assert_eq!(in_mask("Name:\tx\n", 1), None);
        // Not in this process, which the test may have inherited it from: in one that ignores it.
        let under = |trap: &str| {
            let kill = format!("trap {trap} HUP; exec sh -c 'kill -1 $$'");
            std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success()
        };
        assert!(under("''"));
        assert_eq!(is_ignored_by_a_shell(15), is_ignored(15));
    }
}

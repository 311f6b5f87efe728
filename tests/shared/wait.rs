//! Waiting for what another process does, which can tell of it by its files alone.

use std::time::{Duration, Instant};

/// Waits until `has_come` returns true, for a minute at most. The only sleep of these tests that stands for
/// an event: within one process, wait for the event itself.
#[track_caller]
pub fn wait_until(what: &str, mut has_come: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !has_come() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it has not come: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

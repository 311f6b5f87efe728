//! Whole jobs on which other libraries are timed too; one line of JSON per case.
//!
//!     cargo bench --bench peers            # all, or name some: -- W1 W3
//!
//! With one thread the clock is CPU seconds of the process; with two, wall time, worth something on an idle
//! machine only. Data, densities and starting points are those of `problems`: log densities and norms of
//! gradients are checked against the peers' before anything is timed.

use cpu_time::ProcessTime;
use serde_json::{Value, json};

mod w1;
mod w2;
mod w3;
mod w4;
mod w5;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let jobs: [(&str, fn()); 5] =
        [("W1", w1::run), ("W2", w2::run), ("W3", w3::run), ("W4", w4::run), ("W5", w5::run)];
    for (name, job) in jobs {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            job();
        }
    }
}

/// CPU seconds of the process that `f` takes.
fn cpu_seconds(f: impl FnOnce()) -> f64 {
    let clock = ProcessTime::now();
    f();
    clock.elapsed().as_secs_f64()
}

/// Five rates per second of `f`, which does a number of things, each over about 0.2 CPU seconds.
fn rates(mut f: impl FnMut(usize)) -> Vec<f64> {
    let mut n = 1;
    let seconds = loop {
        let seconds = cpu_seconds(|| f(n));
        if seconds > 0.05 {
            break seconds;
        }
        n *= 4;
    };
    let n = ((n as f64 * 0.2 / seconds) as usize).max(1);
    (0..5).map(|_| n as f64 / cpu_seconds(|| f(n))).collect()
}

/// Prints a line: median, least and greatest of `values`, and what else there is to say.
fn emit(workload: &str, case: &str, threads: usize, unit: &str, mut values: Vec<f64>, more: Value) {
    values.sort_by(f64::total_cmp);
    let clock = if threads == 1 { "cpu" } else { "wall" };
    let mut line = json!({
        "workload": workload, "case": case, "peer": "ours", "threads": threads, "clock": clock, "unit": unit,
        "median": values[values.len() / 2], "min": values[0], "max": values[values.len() - 1],
        "runs": values.len(),
    });
    if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
        line.extend(more);
    }
    println!("{line}");
}

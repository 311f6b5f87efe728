//! **W4**, diagnostics: rank R-hat, bulk and tail ESS of every parameter, with means, standard deviations,
//! quantiles and their Monte Carlo errors, of arrays of 5 chains x 25,000 draws x 200 parameters (S) and
//! 4 x 2,000 x 10,000 (L). Peak memory beyond the array, on one thread, where the system tells it.
//!
//! Draws: AR(1), x_0 = n_0, x_t = 0.9 x_{t-1} + sqrt(0.19) n_t, n from stream 21, a block for each chain.

use std::time::Instant;

use bnn_mcmc::diagnostics::Summary;
use ndarray::{Array3, ArrayView3};
use serde_json::{Value, json};

use crate::{cpu_seconds, emit};

pub fn run() {
    for (case, shape) in [("S", (5, 25_000, 200)), ("L", (4, 2_000, 10_000))] {
        let x = draws(shape);
        let names: Vec<String> = (0..shape.2).map(|i| format!("x[{i}]")).collect();
        for threads in [1, 2] {
            measure(case, threads, &names, x.view());
        }
    }
}

fn measure(case: &str, threads: usize, names: &[String], x: ArrayView3<f64>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut mean = [f64::NAN; 3];
    let mut job = || {
        let summary = pool.install(|| Summary::new(names, x)).unwrap();
        let n = summary.rows.len() as f64;
        mean = [0; 3].map(|_| 0.0);
        for row in &summary.rows {
            mean[0] += row.rhat / n;
            mean[1] += row.ess_bulk / n;
            mean[2] += row.ess_tail / n;
        }
    };
    // What the first run leaves with the allocator would hide the peak of another one.
    let peak = if threads == 1 { peak_mib(&mut job) } else { Value::Null };
    let seconds = (0..3)
        .map(|_| {
            let start = Instant::now();
            let cpu = cpu_seconds(&mut job);
            if threads == 1 { cpu } else { start.elapsed().as_secs_f64() }
        })
        .collect();
    let [rhat, ess_bulk, ess_tail] = mean;
    let array = (x.len() * size_of::<f64>()) as f64 / f64::from(1 << 20);
    let more = json!({
        "peak_mib": peak, "array_mib": array, "mean_rhat": rhat, "mean_ess_bulk": ess_bulk, "mean_ess_tail": ess_tail,
    });
    emit("W4", &format!("{case} all three"), threads, "s", seconds, more);
}

fn draws((chains, draws, parameters): (usize, usize, usize)) -> Array3<f64> {
    let mut stream = problems::Stream::new(21);
    let mut x = Array3::zeros((chains, draws, parameters));
    for mut chain in x.outer_iter_mut() {
        let n = stream.matrix(draws, parameters);
        chain.assign(&n);
        for t in 1..draws {
            for i in 0..parameters {
                chain[(t, i)] = 0.9 * chain[(t - 1, i)] + 0.19f64.sqrt() * n[(t, i)];
            }
        }
    }
    x
}

/// By how many MiB the process grows at most while `job` runs.
fn peak_mib(job: &mut impl FnMut()) -> Value {
    let status = |name: &str| -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches(':').trim().split(' ').next()?.parse::<f64>().ok()? / 1024.0)
    };
    // The high-water mark is set back to what the process holds now.
    let reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = status("VmRSS");
    job();
    match (before, status("VmHWM")) {
        (Some(before), Some(peak)) if reset => json!((peak - before).max(0.0).round()),
        _ => Value::Null,
    }
}

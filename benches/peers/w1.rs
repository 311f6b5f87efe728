//! **W1**: evaluations per second of log density and gradient at the test point, all rows, one thread; GFLOP/s
//! of the operations needed.

use std::hint::black_box;

use serde_json::json;

use crate::{emit, rates};

pub fn run() {
    for key in "abcdefgGH".chars() {
        problems::check(key);
        let problem = key.to_ascii_lowercase();
        let (q, mut gradient) = (problems::theta0(problem), problems::gradient(key));
        let mut grad = vec![0.0; q.len()];
        let rates = rates(|n| {
            for _ in 0..n {
                black_box(gradient(black_box(&q), &mut grad));
            }
        });
        let mut sorted = rates.clone();
        sorted.sort_by(f64::total_cmp);
        let gflops = 2.0 * problems::multiply_adds(problem) * sorted[2] / 1e9;
        let case = format!("{problem} {}", if key.is_uppercase() { "f32" } else { "f64" });
        emit("W1", &case, 1, "evals/s", rates, json!({ "gflops": gflops }));
    }
}

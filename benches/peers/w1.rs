//! **W1**: evaluations per second of log density and gradient at the test point, all rows, one thread; GFLOP/s
//! of the operations needed.

use std::hint::black_box;

use serde_json::json;

use crate::{emit, problems, rates};

/// Log density and norm of its gradient at the test point, of the peers' reference in NumPy.
const REFERENCE: [(char, f64, f64); 8] = [
    ('a', -11494.87513, 13214.90378),
    ('b', -342.1909939, 120.2622094),
    ('c', -251.9137963, 53.23358512),
    ('d', -2515.370825, 4653.818209),
    ('e', -8936.447776, 13087.69893),
    ('f', -4954.170192, 213.6204231),
    ('g', -10710.04598, 4259.544946),
    ('h', -6040416.231, 22194.06792),
];

pub fn run() {
    for key in "abcdefgGH".chars() {
        let problem = key.to_ascii_lowercase();
        let (q, mut gradient) = (problems::theta0(problem), problems::gradient(key));
        let mut grad = vec![0.0; q.len()];
        let log_density = gradient(&q, &mut grad);
        let norm = grad.iter().map(|g| g * g).sum::<f64>().sqrt();
        let (_, density, slope) =
            REFERENCE.into_iter().find(|r| r.0 == problem).expect("all are there");
        let allowed = if key.is_uppercase() { 1e-5 } else { 1e-9 };
        for (found, expected) in [(log_density, density), (norm, slope)] {
            assert!((found / expected - 1.0).abs() < allowed, "{key}: {found}, not {expected}");
        }
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

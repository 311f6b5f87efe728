//! One gradient of the log posterior, of the problems in `problems`.
//!
//!     cargo bench --bench gradient
//!
//! Printed first: evaluations per second (median), GFLOP/s of the operations needed, and the share of one
//! core's peak for fused multiply-adds (in f64; twice that for g in f32), measured in the same run; then
//! criterion's own report.

#![allow(unsafe_code)]

use std::hint::black_box;
use std::time::Instant;

use criterion::Criterion;

#[allow(dead_code)]
mod problems;

/// GFLOP/s of independent fused multiply-adds in registers: the most that any kernel can reach.
/// NaN where the processor has no vector FMA that this program knows.
fn peak_gflops() -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        const STEPS: usize = 4_000_000;
        macro_rules! peak {
            ($features:literal, $lanes:literal) => {{
                #[target_feature(enable = $features)]
                fn run(a: f64, b: f64) -> [[f64; $lanes]; 12] {
                    let mut acc = [[1.0f64; $lanes]; 12];
                    for _ in 0..STEPS {
                        for vector in &mut acc {
                            for x in vector {
                                *x = x.mul_add(a, b);
                            }
                        }
                    }
                    acc
                }
                let fastest = (0..9)
                    .map(|_| {
                        let start = Instant::now();
                        // SAFETY: the features were detected just before.
                        black_box(unsafe { run(black_box(0.999_999), black_box(1e-9)) });
                        start.elapsed().as_secs_f64()
                    })
                    .fold(f64::INFINITY, f64::min);
                (2 * 12 * $lanes * STEPS) as f64 / fastest / 1e9
            }};
        }
        if is_x86_feature_detected!("avx512f") {
            return peak!("avx512f", 8);
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return peak!("avx2,fma", 4);
        }
    }
    f64::NAN
}

/// Median seconds per call of `f`, over 31 batches of about 10 ms.
fn median_seconds(mut f: impl FnMut()) -> f64 {
    let start = Instant::now();
    f();
    let batch = (0.01 / start.elapsed().as_secs_f64().max(1e-8)).ceil() as usize;
    let mut times: Vec<f64> = (0..31)
        .map(|_| {
            let start = Instant::now();
            (0..batch).for_each(|_| f());
            start.elapsed().as_secs_f64() / batch as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[15]
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let peak = peak_gflops();
    println!("peak: {peak:.1} GFLOP/s in f64 on one core\n");
    println!("{:8} {:>12} {:>10} {:>10}", "problem", "evals/s", "GFLOP/s", "% of peak");
    for key in ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'G'] {
        let (peak, problem) = if key == 'G' { (2.0 * peak, 'g') } else { (peak, key) };
        let name = if key == 'G' { "g f32".to_string() } else { key.to_string() };
        let (q, mut gradient) = (problems::theta0(problem), problems::gradient(key));
        let mut grad = vec![0.0; q.len()];
        let seconds = median_seconds(|| {
            black_box(gradient(black_box(&q), &mut grad));
        });
        let gflops = 2.0 * problems::multiply_adds(problem) / seconds / 1e9;
        let share = 100.0 * gflops / peak;
        println!("{name:8} {:12.0} {gflops:10.2} {share:10.1}", 1.0 / seconds);
        criterion.bench_function(&format!("gradient/{name}"), |b| {
            b.iter(|| gradient(black_box(&q), &mut grad));
        });
    }
    criterion.final_summary();
}

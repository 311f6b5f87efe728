//! What the machine can do, measured in the same run as what is compared with it.

#![allow(unsafe_code)]

use std::hint::black_box;
use std::time::Instant;

/// The fewest seconds of `f` in nine calls.
fn fastest(mut f: impl FnMut()) -> f64 {
    let once = |_| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    (0..9).map(once).fold(f64::INFINITY, f64::min)
}

/// GFLOP/s of independent fused multiply-adds of f64 in registers, on one core: the most that any kernel can reach, and half as
/// much as in f32. NaN where the processor has no vector FMA that this program knows.
pub fn peak_gflops() -> f64 {
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
                let seconds = fastest(|| {
                    // SAFETY: the features were detected just before.
                    black_box(unsafe { run(black_box(0.999_999), black_box(1e-9)) });
                });
                (2 * 12 * $lanes * STEPS) as f64 / seconds / 1e9
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

/// GB/s at which one core reads 256 MiB of numbers, more than a cache holds, and adds them in 32 sums.
pub fn gigabytes_per_second() -> f64 {
    let numbers = vec![1.0f64; 1 << 25];
    let seconds = fastest(|| {
        let mut sums = [0.0; 32];
        for block in black_box(&numbers).chunks_exact(32) {
            sums.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
        black_box(sums);
    });
    8.0 * numbers.len() as f64 / seconds / 1e9
}

/// Median seconds per call of `f`, over 31 batches of about 10 ms.
pub fn median_seconds(mut f: impl FnMut()) -> f64 {
    f();
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

//! The gradient of a network of 2.4 million weights (784-1200-1200-2, ReLU, 1,500 rows), in f32 and f64.
//!
//!     cargo bench --bench wide
//!
//! Printed first: GFLOP/s (median) of the whole gradient of the log posterior and its share of the peak,
//! which is the fastest product of two square matrices in f32 by ndarray on one core, in the same run. Then
//! criterion's own report.

use std::hint::black_box;
use std::time::Instant;

use bnn_mcmc::model::WeightInit;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{GradTarget, MinibatchTarget};
use criterion::Criterion;
use ndarray::Array2;

const SIZES: [usize; 4] = [784, 1200, 1200, 2];
const ROWS: usize = 1500;

/// Floating-point operations of a gradient by `rows` rows: nothing is propagated to the inputs.
fn operations(rows: usize) -> f64 {
    let weights = |l: usize| (SIZES[l] * SIZES[l + 1]) as f64;
    2.0 * rows as f64 * (3.0 * (weights(0) + weights(1) + weights(2)) - weights(0))
}

fn median_seconds(repeats: usize, mut f: impl FnMut()) -> f64 {
    f();
    let mut times: Vec<f64> = (0..repeats)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[repeats / 2]
}

/// GFLOP/s of the best of some square products.
fn peak() -> f64 {
    let of = |n: usize| {
        let a = Array2::from_elem((n, n), 0.5f32);
        let seconds = median_seconds(15, || {
            black_box(black_box(&a).dot(&a));
        });
        2.0 * (n * n * n) as f64 / seconds / 1e9
    };
    [512, 1024, 2048].map(of).into_iter().fold(0.0, f64::max)
}

fn main() -> Result<(), bnn_mcmc::Error> {
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let mut rng = ChainRng::new(1, 0);
    let x = Array2::from_shape_fn((ROWS, SIZES[0]), |_| rng.uniform());
    let classes = (0..ROWS).map(|row| row % 2).collect();
    let data = Dataset::classification(x, classes, ["1", "7"])?;
    let mlp = Mlp::new(&SIZES, Activation::Relu)?;
    let priors = || Normal::new(0.0, 1.0).map(Priors::all);
    let double = Posterior::new(mlp.clone(), Categorical, &data, priors()?)?;
    let single = Posterior::new(mlp.in_f32(), Categorical, &data, priors()?)?;
    let mut q = vec![0.0; single.layout().dim()];
    WeightInit::HeNormal.draw(single.layout(), &mut rng, &mut q)?;
    let (mut ws, mut grad) = (single.workspace(), q.clone());

    let peak = peak();
    println!("peak of products in f32: {peak:.1} GFLOP/s on one core\n");
    println!("{:16} {:>10} {:>10} {:>10}", "gradient", "ms", "GFLOP/s", "% of peak");
    let report = |name: &str, rows: usize, seconds: f64| {
        let rate = operations(rows) / seconds / 1e9;
        println!("{name:16} {:10.2} {rate:10.1} {:10.1}", 1e3 * seconds, 100.0 * rate / peak);
    };
    for size in [32, 64, 128, 256, 512] {
        let rows: Vec<usize> = (0..size).map(|i| i * 37 % ROWS).collect();
        let seconds = median_seconds(15, || {
            black_box(single.minibatch_grad_at(1.0, &rows, black_box(&q), &mut grad, &mut ws));
        });
        report(&format!("f32, {size} rows"), size, seconds);
        criterion.bench_function(&format!("wide/f32/{size}"), |b| {
            b.iter(|| single.minibatch_grad_at(1.0, &rows, black_box(&q), &mut grad, &mut ws));
        });
    }
    let seconds = median_seconds(9, || {
        black_box(single.log_density_grad(black_box(&q), &mut grad, &mut ws));
    });
    report("f32, all rows", ROWS, seconds);
    let mut ws = double.workspace();
    let seconds = median_seconds(5, || {
        black_box(double.log_density_grad(black_box(&q), &mut grad, &mut ws));
    });
    report("f64, all rows", ROWS, seconds);
    criterion.final_summary();
    Ok(())
}

//! How cost grows with the work: rows, width, chains.
//!
//!     cargo bench --bench scaling
//!
//! Microseconds (median) of one gradient of the log posterior: of a network 4-10-1 (tanh, Gaussian noise) by the
//! number of rows, and of networks 16-H-H-1 (ReLU) on 1,000 rows by the width H, in f64 and f32, on one thread and on two, with GFLOP/s
//! of the operations needed. Beside them a model of the cost of one thread, whose parameters are measured first:
//!
//! ```text
//! seconds = max(operations / peak + tanhs * seconds of one, bytes / bandwidth)
//! ```
//!
//! Operations are six for each weight and row (less two for those of the first layer); bytes are those of the table, and position,
//! its prior and gradient of each weight, in f64. Then MALA's transitions per second of all
//! chains together, on the first network with 1,000 rows, by the number of chains, on one thread and on two.

use std::hint::black_box;
use std::time::Instant;

use bnn_mcmc::prelude::*;
use ndarray::Array2;
use problems::machine::{gigabytes_per_second, peak_gflops};

type Network<M> = Posterior<M, Gaussian>;

/// A regression of a smooth function of `inputs` features.
fn data(rows: usize, inputs: usize) -> Dataset {
    let mut rng = ChainRng::new(31, 0);
    let x = Array2::from_shape_fn((rows, inputs), |_| rng.normal());
    let y = Array2::from_shape_fn((rows, 1), |(i, _)| {
        x[(i, 0)].sin() + 0.5 * x[(i, 1)] * x[(i, 2)] - 0.3 * x[(i, 3)] + 0.3 * rng.normal()
    });
    Dataset::regression(x, y).unwrap()
}

fn posterior<M: Model>(model: M, data: &Dataset) -> Network<M> {
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    Posterior::new(model, Gaussian::sampled(), data, priors).unwrap()
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Median seconds of a gradient, of 15 batches of about 30 ms.
fn seconds<M: Model>(posterior: &Network<M>, threads: usize) -> f64 {
    let mut rng = ChainRng::new(32, 0);
    let q: Vec<f64> = (0..posterior.dim()).map(|_| 0.1 * rng.normal()).collect();
    let (mut grad, mut ws) = (vec![0.0; q.len()], posterior.workspace());
    let mut batch = |n: usize| {
        let start = Instant::now();
        for _ in 0..n {
            black_box(posterior.log_density_grad(black_box(&q), &mut grad, &mut ws));
        }
        start.elapsed().as_secs_f64() / n as f64
    };
    pool(threads).install(|| {
        batch(2);
        let n = (0.03 / batch(2).max(1e-7)).ceil() as usize;
        let mut times: Vec<f64> = (0..15).map(|_| batch(n)).collect();
        times.sort_by(f64::total_cmp);
        times[7]
    })
}

fn main() {
    let (peak, bandwidth) = (1e9 * peak_gflops(), 1e9 * gigabytes_per_second());
    let of_ten =
        |activation, rows| posterior(Mlp::new(&[4, 10, 1], activation).unwrap(), &data(rows, 4));
    let [with, without] = [Activation::Tanh, Activation::Relu]
        .map(|activation| seconds(&of_ten(activation, 1_000), 1));
    let tanh = (with - without) / 10_000.0;
    println!(
        "one thread: {:.1} GFLOP/s in f64, {:.1} GB/s, {:.2} ns for a tanh\n",
        peak / 1e9,
        bandwidth / 1e9,
        1e9 * tanh
    );
    println!(
        "{:>10} {:>12} {:>12} {:>12} {:>10}",
        "rows", "model, us", "us, 1 thread", "2 threads", "ns per row"
    );
    for rows in [100, 1_000, 10_000, 100_000, 300_000, 1_000_000, 10_000_000] {
        let posterior = of_ten(Activation::Tanh, rows);
        let [one, two] = [1, 2].map(|threads| 1e6 * seconds(&posterior, threads));
        let (n, multiply_adds) = (rows as f64, 2.0 * 40.0 + 3.0 * 10.0);
        let compute = n * (2.0 * multiply_adds / peak + 10.0 * tanh);
        let model = 1e6 * compute.max(n * 5.0 * 8.0 / bandwidth);
        println!("{rows:10} {model:12.1} {one:12.1} {two:12.1} {:10.2}", 1e3 * one / n);
    }

    println!(
        "\n{:>10} {:>10} {:>9} {:>12} {:>12} {:>12} {:>10}",
        "width", "weights", "precision", "model, us", "us, 1 thread", "2 threads", "GFLOP/s"
    );
    let (rows, inputs) = (1_000, 16);
    let data_of_16 = data(rows, inputs);
    for width in [10, 30, 100, 300, 1_000] {
        let network = Mlp::new(&[inputs, width, width, 1], Activation::Relu).unwrap();
        let operations = 2.0 * (rows * (2 * inputs * width + 3 * width * (width + 1))) as f64;
        let weights = inputs * width + width * width + width;
        let double = posterior(network.clone(), &data_of_16);
        let single = posterior(network.in_f32(), &data_of_16);
        let of_double = [1, 2].map(|threads| seconds(&double, threads));
        let of_single = [1, 2].map(|threads| seconds(&single, threads));
        for (name, [one, two], peak) in [("f64", of_double, peak), ("f32", of_single, 2.0 * peak)] {
            let model = (operations / peak).max((3 * 8 * weights) as f64 / bandwidth);
            println!(
                "{width:10} {weights:10} {name:>9} {:12.1} {:12.1} {:12.1} {:10.1}",
                1e6 * model,
                1e6 * one,
                1e6 * two,
                operations / one / 1e9
            );
        }
    }

    println!("\n{:>10} {:>16} {:>12}", "chains", "steps/s, 1 thread", "2 threads");
    let posterior = posterior(Mlp::new(&[4, 10, 1], Activation::Tanh).unwrap(), &data(1_000, 4));
    for chains in [1, 2, 4, 8, 32] {
        let steps_per_second = |threads| {
            let draws = 16_000 / chains;
            let once = |_| {
                let mala = Mala { step_size: 0.003, adapt_step_size: false, ..Mala::default() };
                let start = Instant::now();
                let run = Sampler::new(&posterior, mala).chains(chains).warmup(0).draws(draws);
                black_box(run.threads(threads).run().unwrap());
                (chains * draws) as f64 / start.elapsed().as_secs_f64()
            };
            let mut rates: Vec<f64> = (0..5).map(once).collect();
            rates.sort_by(f64::total_cmp);
            rates[2]
        };
        let [one, two] = [1, 2].map(steps_per_second);
        println!("{chains:10} {one:16.0} {two:12.0}");
    }
}

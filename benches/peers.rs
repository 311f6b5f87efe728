//! Whole jobs on which other libraries are timed too; one line of JSON per case.
//!
//!     cargo bench --bench peers            # all, or name some: -- W3 W5
//!
//! **W3**, NUTS: 4 chains of 1,000 iterations of warm-up and 1,000 draws on problems a, b and d, default
//! settings, one thread. Smallest bulk ESS (of the coordinates; for d of the network's output at the
//! first 20 rows of X) per CPU second of warm-up and sampling, and per 1,000 gradients of sampling.
//!
//! **W5**, the tutorial's job (Chandra and Simmons, IEEE Access 12, 2024): 5 chains x 5,000 samples of a
//! 4-5-1 network, sigmoid hidden and output, on a monthly-cycle series (2,000 training windows, 500
//! test windows), by the Langevin-gradient sampler at rate 1/2, with the squared error of every sample
//! on the training and the test rows. Two maps: `batch`, one step along the summed gradient, and
//! `online`, one step per row. One thread; wall time. The peers' ratio divides the squares by the step
//! (the published slip), ours by its square: the work is the same.

use std::time::Instant;

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::LangevinGradient;
use bnn_mcmc::targets::{DescentRule, Objective, Pass};
use cpu_time::ProcessTime;
use ndarray::{Array1, Array2, Axis};

#[allow(dead_code)]
mod problems;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    if wants("W3") {
        w3('a', &problems::linear_gaussian('a'));
        w3('b', &problems::linear_bernoulli('b'));
        w3('d', &problems::network_gaussian('d'));
    }
    if wants("W5") {
        w5();
    }
}

/// Five runs of one case, one for d.
fn w3<M: Model, L: Likelihood>(key: char, posterior: &Posterior<M, L>) {
    let theta0 = problems::theta0(key);
    let start = |c: usize| {
        let shifted = theta0.iter().enumerate();
        shifted.map(|(i, q)| q + 0.1 * (i as f64 + 7.0 * c as f64).sin()).collect::<Vec<f64>>()
    };
    let mut rows: Vec<[f64; 9]> = Vec::new();
    for seed in 1..=if key == 'd' { 1 } else { 5 } {
        let clock = ProcessTime::now();
        let draws = Sampler::new(posterior, Nuts::default())
            .chains(4)
            .warmup(1000)
            .draws(1000)
            .threads(1)
            .seed(seed)
            .init(Init::Points((0..4).map(start).collect()))
            .run()
            .unwrap();
        let seconds = clock.elapsed().as_secs_f64();
        let summary = if key == 'd' {
            // Function space: the network's output at the first 20 rows.
            let x = problems::data(key);
            let outputs = posterior.predict_mean(&draws, x.x().slice(ndarray::s![..20, ..]));
            let outputs = outputs.unwrap().remove_axis(Axis(3));
            let names = Layout::vector("f", 20);
            Draws::new(names, outputs).unwrap().summary().unwrap()
        } else {
            draws.summary().unwrap()
        };
        let warmup = draws.info().warmup_gradient_evals.iter().sum::<u64>() as f64;
        let sampling = draws.gradient_evals() as f64 - warmup;
        let ess = summary.min_ess_bulk();
        rows.push([
            ess / seconds,
            1e3 * ess / sampling,
            ess,
            summary.max_rhat(),
            warmup,
            sampling,
            draws.divergences() as f64,
            (warmup + sampling) / seconds,
            draws.stat("accept_prob").unwrap().mean().unwrap_or(f64::NAN),
        ]);
    }
    rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let median = |k: usize| {
        let mut column: Vec<f64> = rows.iter().map(|r| r[k]).collect();
        column.sort_by(f64::total_cmp);
        column[column.len() / 2]
    };
    println!(
        "{{\"workload\": \"W3\", \"case\": \"{key} nuts\", \"peer\": \"ours\", \"threads\": 1, \
         \"clock\": \"cpu\", \"unit\": \"ess/s\", \"median\": {:.2}, \"min\": {:.2}, \"max\": {:.2}, \
         \"runs\": {}, \"ess_per_1000_grads\": {:.3}, \"ess\": {:.0}, \"rhat\": {:.4}, \
         \"warm_grads\": {:.0}, \"draw_grads\": {:.0}, \"divergences\": {:.0}, \
         \"grads_per_s\": {:.0}, \"accept\": {:.3}}}",
        median(0),
        rows[0][0],
        rows[rows.len() - 1][0],
        rows.len(),
        median(1),
        median(2),
        median(3),
        median(4),
        median(5),
        median(6),
        median(7),
        median(8),
    );
}

/// Windows of a noisy cycle of 132 months on [0, 1]: four values, and the next.
fn series() -> (Array2<f64>, Array1<f64>) {
    let (windows, inputs) = (2500, 4);
    let n = windows + inputs;
    let noise = problems::normals(11, n);
    let tau = std::f64::consts::TAU;
    let mut s: Vec<f64> = (0..n)
        .map(|t| {
            let t = t as f64;
            let cycle = (0.5 + 0.5 * (tau * t / 132.0).sin()).powi(2);
            cycle * (0.6 + 0.4 * (tau * t / 1056.0).sin())
        })
        .zip(noise)
        .map(|(s, z)| (s + 0.03 * z).max(0.0))
        .collect();
    let largest = s.iter().copied().fold(0.0, f64::max);
    s.iter_mut().for_each(|s| *s /= largest);
    let x = Array2::from_shape_fn((windows, inputs), |(i, j)| s[i + j]);
    (x, Array1::from_shape_fn(windows, |i| s[i + inputs]))
}

fn w5() {
    let (x, y) = series();
    let dataset = |rows: std::ops::Range<usize>| {
        let x = x.slice(ndarray::s![rows.clone(), ..]).to_owned();
        Dataset::regression(x, y.slice(ndarray::s![rows]).to_owned()).unwrap()
    };
    let (train, test) = (dataset(0..2000), dataset(2000..2500));
    let network =
        Mlp::new(&[4, 5, 1], Activation::Sigmoid).unwrap().output_activation(Activation::Sigmoid);
    let priors = Priors::all(Normal::new(0.0, 5.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(0.0, 0.0).unwrap());
    let posterior = Posterior::new(network, Gaussian::sampled(), &train, priors).unwrap();
    for (drift, pass) in [("batch", Pass::Batch), ("online", Pass::PerRow)] {
        let sampler = LangevinGradient {
            step_size: 0.025,
            other_step_size: 0.2,
            langevin_rate: 0.5,
            descent: DescentRule {
                objective: Objective::SquaredError,
                pass,
                learning_rate: 0.01,
                depth: 1,
            },
            adapt_step_size: false,
            ..LangevinGradient::default()
        };
        let mut rmse = f64::NAN;
        let mut accept = f64::NAN;
        let mut seconds: Vec<f64> = (0..5)
            .map(|run| {
                let start = Instant::now();
                let centre = vec![0.0; posterior.dim()];
                let draws = Sampler::new(&posterior, sampler.clone())
                    .chains(5)
                    .warmup(0)
                    .draws(5000)
                    .threads(1)
                    .seed(run)
                    .init(Init::Around { centre, sd: 1.0 })
                    .run()
                    .unwrap();
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
                rmse = pool.install(|| mean_rmse(&posterior, &draws, &train));
                std::hint::black_box(pool.install(|| mean_rmse(&posterior, &draws, &test)));
                accept = draws.accept_rate().iter().sum::<f64>() / 5.0;
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        println!(
            "{{\"workload\": \"W5\", \"case\": \"5 chains x 5000\", \"peer\": \"ours\", \
             \"drift\": \"{drift}\", \"threads\": 1, \"unit\": \"s\", \"median\": {:.4}, \
             \"min\": {:.4}, \"max\": {:.4}, \"accept\": {accept:.4}, \"rmse_train\": {rmse:.4}}}",
            seconds[2], seconds[0], seconds[4]
        );
    }
}

/// The mean over all samples of the root mean squared error on the rows of `data`.
fn mean_rmse(posterior: &Posterior<Mlp, Gaussian>, draws: &Draws, data: &Dataset) -> f64 {
    // A chain at a time, so that memory stays small.
    let chains = draws.values();
    let per_chain = chains.axis_iter(Axis(0)).map(|chain| {
        let values = chain.to_owned().insert_axis(Axis(0));
        let draws = Draws::new(posterior.layout().clone(), values).unwrap();
        let means = posterior.predict_mean(&draws, data.x().view()).unwrap();
        let y = data.real().unwrap();
        let each = means.index_axis(Axis(0), 0);
        let rmse =
            each.outer_iter().map(|f| (&f - y).mapv(|d| d * d).mean().unwrap_or(f64::NAN).sqrt());
        rmse.sum::<f64>() / each.len_of(Axis(0)) as f64
    });
    per_chain.sum::<f64>() / draws.n_chains() as f64
}

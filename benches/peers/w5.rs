//! **W5**, the tutorial's job (Chandra and Simmons, IEEE Access 12, 2024): 5 chains x 5,000 samples of a
//! 4-5-1 network, sigmoid hidden and output, on a monthly-cycle series (2,000 training windows, 500
//! test windows), by the Langevin-gradient sampler at rate 1/2, with the squared error of every sample
//! on the training and the test rows. Two maps: `batch`, one step along the summed gradient, and
//! `online`, one step per row. The peers' ratio divides the squares by the step (the published slip), ours by
//! its square: the work is the same.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::LangevinGradient;
use bnn_mcmc::targets::{DescentRule, Objective, Pass};
use ndarray::{Array1, Array2, Axis};
use serde_json::json;

use crate::{cpu_seconds, emit};

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

pub fn run() {
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
        let seconds: Vec<f64> = (0..5)
            .map(|run| {
                cpu_seconds(|| {
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
                })
            })
            .collect();
        let more = json!({ "drift": drift, "accept": accept, "rmse_train": rmse });
        emit("W5", "5 chains x 5000", 1, "s", seconds, more);
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

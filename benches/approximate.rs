//! One pass over 100,000 rows of 90 features by each of the methods that are used instead of
//! sampling: an MLP 90-50-1, tanh, batches of 512 rows.
//!
//!     cargo bench --bench approximate
//!
//! The floor is one gradient of all rows. `peers/rivals_torch.py` does the same in PyTorch.

use std::hint::black_box;
use std::time::Duration;

use bnn_mcmc::approximate::{Dropout, Elbo, Swag};
use bnn_mcmc::prelude::*;
use criterion::{Criterion, criterion_group, criterion_main};
use ndarray::{Array1, Array2};

const ROWS: usize = 100_000;
const FEATURES: usize = 90;
const BATCH: usize = 512;
/// Members of an ensemble, in parallel.
const MEMBERS: usize = 5;

fn posterior() -> Result<Posterior<Mlp, Gaussian>, Error> {
    let mut rng = ChainRng::new(1, 0);
    let x = Array2::from_shape_simple_fn((ROWS, FEATURES), || rng.normal());
    let y: Array1<f64> = x
        .rows()
        .into_iter()
        .map(|x| (x[0] + 0.5 * x[1] * x[2]).tanh() + 0.3 * rng.normal())
        .collect();
    let priors = Priors::all(Normal::new(0.0, 1.0)?)
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
    let network = Mlp::new(&[FEATURES, 50, 1], Activation::Tanh)?;
    Posterior::new(network, Gaussian::sampled(), &Dataset::regression(x, y)?, priors)
}

fn approximate(criterion: &mut Criterion) {
    let posterior = posterior().expect("a posterior");
    let batch = Minibatch { size: BATCH };
    let steps = ROWS / BATCH;
    let adam = Adam { learning_rate: 0.003, steps, ..Adam::new(batch.clone()) };
    let sgd = Sgd { learning_rate: 1e-7, steps, ..Sgd::new(batch) };
    let mut start = vec![0.0; posterior.layout().dim()];
    let init = bnn_mcmc::model::WeightInit::GlorotNormal;
    init.draw(posterior.layout(), &mut ChainRng::new(2, 0), &mut start).expect("a start");
    let one = Init::Points(vec![start.clone()]);
    let many = Init::Points(vec![start.clone(); MEMBERS]);

    let mut group = criterion.benchmark_group("approximate, one pass");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.bench_function("MAP", |b| {
        b.iter(|| Optimiser::new(&posterior, adam.clone()).run(black_box(&start)).expect("a fit"));
    });
    group.bench_function(format!("ensemble of {MEMBERS}"), |b| {
        b.iter(|| {
            Optimiser::new(&posterior, adam.clone())
                .run_each(black_box(&many), MEMBERS)
                .expect("a fit")
        });
    });
    group.bench_function("mean-field VI", |b| {
        let elbo = Elbo::local(&posterior).expect("normal priors");
        let start = elbo.start(&start, 0.05).expect("a start");
        b.iter(|| Optimiser::new(&elbo, adam.clone()).run(black_box(&start)).expect("a fit"));
    });
    group.bench_function("SWAG", |b| {
        let swag = Swag { every: 5, ..Swag::new(sgd.clone()) };
        b.iter(|| swag.fit(&posterior, black_box(&one), 1, 1).expect("a fit"));
    });
    group.bench_function("dropout", |b| {
        let dropout = Dropout::new(adam.clone());
        b.iter(|| dropout.fit(&posterior, black_box(&one), 1).expect("a fit"));
    });
    group.finish();
}

criterion_group!(benches, approximate);
criterion_main!(benches);

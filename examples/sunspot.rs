//! The next value of the smoothed sunspot series from the four before it: a linear model against a small neural network.
//!
//!     cargo run --release --example sunspot
//!     cargo run --release --example sunspot -- --quick
//!
//! The noise variance is sampled with the weights. `Collapsed` integrates the output layer of the network out and samples
//! the rest by MAMS, as the guide recommends for real responses; NUTS samples the linear model. A series changes little from
//! one value to the next, so that a forecast is worth something only if it beats persistence, which predicts the last value seen.
//! The response is a fraction of 147.9 sunspots. `--quick` takes fewer draws.

use bnn_mcmc::data::{Scaler, Standardise, bundled};
use bnn_mcmc::predict::persistence;
use bnn_mcmc::prelude::*;

fn main() {
    let mut is_quick = false;
    for argument in std::env::args().skip(1) {
        if argument != "--quick" {
            eprintln!("error: unknown argument `{argument}`; the only one is `--quick`");
            std::process::exit(2);
        }
        is_quick = true;
    }
    if let Err(error) = run(is_quick) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run(is_quick: bool) -> Result<(), Error> {
    // The test rows come after the training rows in time.
    let (train, test) = bundled::sunspot_windows();
    let errors = (&persistence(&test)? - test.real()?).mapv(|error| error * error);
    println!("{} training rows, {} test rows", train.rows(), test.rows());
    println!("test RMSE of persistence: {:.4}", (errors.sum() / errors.len() as f64).sqrt());

    let features = Standardise::new().fit_features(&train)?;
    let response = Standardise::new().fit_response(&train)?;
    let scaled = |data: &Dataset| response.scale_response(&features.scale_features(data)?);
    let (train, test) = (scaled(&train)?, scaled(&test)?);

    let (warmup, draws) = if is_quick { (100, 100) } else { (400, 1_000) };

    // Without a hidden layer a network is a linear model.
    let linear = posterior(&[4, 1], &train)?;
    let sampler = Sampler::new(&linear, Nuts::default());
    let of_linear = sampler.warmup(warmup).draws(draws).seed(1).run()?;
    print("linear model 4-1", linear.predict(&of_linear, &test)?, &response)?;

    // Small weights to start from: units that are saturated at the start stay so for long.
    let network = posterior(&[4, 10, 1], &train)?;
    let small = Init::Around { centre: vec![0.0; network.dim()], sd: 0.1 };
    let sampler = Sampler::new(&network, Collapsed::new(Mams::default())).init(small);
    let of_network = sampler.warmup(warmup).draws(draws).seed(1).run()?;
    print("network 4-10-1", network.predict(&of_network, &test)?, &response)
}

/// Model x likelihood x prior = posterior.
fn posterior(sizes: &[usize], train: &Dataset) -> Result<Posterior<Mlp, Gaussian>, Error> {
    let model = Mlp::new(sizes, Activation::Tanh)?;
    let noise = LogInverseGamma::new(0.5, 0.005)?;
    let priors = Priors::by_fan_in(&model).with("log_noise_variance", noise);
    Posterior::new(model, Gaussian::sampled(), train, priors)
}

/// How good predictions of the test rows are, in units of the response, and whether to believe them.
fn print(name: &str, predictions: Predictions, response: &Scaler) -> Result<(), Error> {
    let verdict = predictions.verdict()?;
    println!("\n{name}, test rows:");
    print!("{}", predictions.unscaled(response)?.scores()?);
    println!("largest R-hat {:.3}", verdict.max_rhat());
    println!("{verdict}");
    Ok(())
}

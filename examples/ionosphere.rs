//! Radar returns from the ionosphere, good or bad: a linear model against a small neural network.
//!
//!     cargo run --release --example ionosphere
//!     cargo run --release --example ionosphere -- --quick
//!
//! Two classes need one output, the logit of the second class, and the Bernoulli likelihood. Both models have N(0, 1) priors
//! on all weights and are sampled by NUTS. `--quick` takes fewer draws. The confusion matrix says which errors they make.

use bnn_mcmc::data::{Standardise, bundled};
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
    // One of the 34 features is constant: it is centred and not divided.
    let (train, test) = bundled::ionosphere().stratified_split(0.3, 1)?;
    let scaler = Standardise::new().allow_constant().fit_features(&train)?;
    let (train, test) = (scaler.scale_features(&train)?, scaler.scale_features(&test)?);
    println!("{} training rows, {} test rows", train.rows(), test.rows());

    // Features, units of each hidden layer, one logit. Without a hidden layer a network is a linear model.
    compare("linear model 34-1", &[34, 1], &train, &test, is_quick)?;
    compare("network 34-10-1", &[34, 10, 1], &train, &test, is_quick)
}

/// Samples one model and prints how well it predicts the test rows.
fn compare(
    name: &str,
    sizes: &[usize],
    train: &Dataset,
    test: &Dataset,
    is_quick: bool,
) -> Result<(), Error> {
    let model = Mlp::new(sizes, Activation::Tanh)?;
    let priors = Priors::all(Normal::new(0.0, 1.0)?);
    let posterior = Posterior::new(model, Bernoulli, train, priors)?;

    let (warmup, draws) = if is_quick { (100, 50) } else { (1_000, 1_000) };
    let sampler = Sampler::new(&posterior, Nuts::default());
    let draws = sampler.warmup(warmup).draws(draws).seed(1).run()?;

    let predictions = posterior.predict(&draws, test)?;
    let verdict = predictions.verdict()?;
    println!("\n{name}, {} parameters, test rows:", posterior.dim());
    print!("{}", predictions.scores()?);
    print!("{}", predictions.confusion()?);
    println!("largest R-hat {:.3}", verdict.max_rhat());
    println!("{verdict}");
    Ok(())
}

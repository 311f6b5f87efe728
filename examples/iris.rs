//! Three species of iris from four measures: a linear model against a small neural network.
//!
//!     cargo run --release --example iris
//!     cargo run --release --example iris -- --quick
//!
//! Both models have N(0, 1) priors on all weights and are sampled by NUTS, four chains of 1,000 iterations of warm-up and
//! 1,000 draws; `--quick` takes 200 and 100. The verdict says whether the predictions are to be believed: it looks at
//! predicted probabilities, since the hidden units of a network can be permuted without changing them.

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
    // Three tenths of each species are kept for the test. Scales are those of the training rows alone.
    let (train, test) = bundled::iris().stratified_split(0.3, 1)?;
    let scaler = Standardise::new().fit_features(&train)?;
    let (train, test) = (scaler.scale_features(&train)?, scaler.scale_features(&test)?);
    println!("{} training rows, {} test rows", train.rows(), test.rows());

    // Features, units of each hidden layer, classes. Without a hidden layer a network is a linear model.
    compare("linear model 4-3", &[4, 3], &train, &test, is_quick)?;
    compare("network 4-10-3", &[4, 10, 3], &train, &test, is_quick)
}

/// Samples one model and prints how well it predicts the test rows.
fn compare(
    name: &str,
    sizes: &[usize],
    train: &Dataset,
    test: &Dataset,
    is_quick: bool,
) -> Result<(), Error> {
    // Model x likelihood x prior = posterior.
    let model = Mlp::new(sizes, Activation::Tanh)?;
    let priors = Priors::all(Normal::new(0.0, 1.0)?);
    let posterior = Posterior::new(model, Categorical, train, priors)?;

    let (warmup, draws) = if is_quick { (200, 100) } else { (1_000, 1_000) };
    let sampler = Sampler::new(&posterior, Nuts::default());
    let draws = sampler.warmup(warmup).draws(draws).seed(1).run()?;

    let predictions = posterior.predict(&draws, test)?;
    let verdict = predictions.verdict()?;
    println!("\n{name}, {} parameters, test rows:", posterior.dim());
    print!("{}", predictions.scores()?);
    println!(
        "largest R-hat {:.3}, weights alone {:.3}",
        verdict.max_rhat(),
        draws.summary()?.max_rhat()
    );
    println!("{verdict}");
    Ok(())
}

//! An ensemble of short chains from optimised starts: in haste, or where modes stay apart.
//!
//!     cargo run --release -p bnn-mcmc-studies -- ensemble
//!     cargo run --release -p bnn-mcmc-studies -- ensemble --data train.csv --test test.csv --response y
//!
//! All of it is `Method::Ensemble` of a `Fit`, beside which `--method` puts another one. The members have not
//! found the same predictions: a mixture of them predicts well, and **is not the posterior**. `--stack` keeps
//! some rows to find the weights that predict them best.

use std::path::PathBuf;
use std::time::Instant;

use bnn_mcmc::data::bundled;
use bnn_mcmc::fit::{Method, Noise, Recipe, WeightPrior};
use bnn_mcmc::prelude::*;

use crate::shared::AnyError;

#[derive(clap::Args)]
pub struct Args {
    /// A CSV file with a header [default: the bundled Boston housing data].
    #[arg(long, requires = "test")]
    data: Option<PathBuf>,
    /// A CSV file of test rows.
    #[arg(long)]
    test: Option<PathBuf>,
    /// The response's column in these files.
    #[arg(long, default_value = "y")]
    response: String,
    /// The method: ensemble, nuts, collapsed, tempered.
    #[arg(long, default_value = "ensemble")]
    method: Method,
    /// The noise: heteroscedastic, gaussian, student-t.
    #[arg(long, default_value = "heteroscedastic")]
    noise: Noise,
    /// The prior of the weights: fan-in, normal, ard, horseshoe, scales.
    #[arg(long, default_value = "fan-in")]
    weights: WeightPrior,
    /// Units of the hidden layers.
    #[arg(long, value_delimiter = ',', default_value = "16,16")]
    hidden: Vec<usize>,
    /// Members, or chains of another method.
    #[arg(long)]
    chains: Option<usize>,
    /// Iterations before the draws of each member: steps of Adam, and warm-up of its sampler.
    #[arg(long)]
    warmup: Option<usize>,
    /// Draws of each member.
    #[arg(long)]
    draws: Option<usize>,
    /// The share of the training rows that is kept to weigh the members.
    #[arg(long)]
    stack: Option<f64>,
    /// One line for each of these seeds.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    seeds: Vec<u64>,
    /// Few steps: to see that it works.
    #[arg(long)]
    quick: bool,
}

pub fn run(mut args: Args) -> Result<(), AnyError> {
    if args.quick {
        (args.chains, args.warmup, args.draws) = (Some(3), Some(60), Some(20));
    }
    let mut recipe = Fit::regression(&args.response[..]).hidden(&args.hidden).noise(args.noise);
    recipe = recipe.weights(args.weights).method(args.method).validation(args.stack.unwrap_or(0.0));
    recipe = args.chains.into_iter().fold(recipe, Recipe::chains);
    recipe = args.warmup.into_iter().fold(recipe, Recipe::warmup);
    recipe = args.draws.into_iter().fold(recipe, Recipe::draws);
    println!("seed  seconds  M gradients  RMSE     LPPD     coverage 90 %");
    for &seed in &args.seeds {
        let began = Instant::now();
        let recipe = recipe.clone().seed(seed);
        let (fit, test) = match (&args.data, &args.test) {
            (Some(train), Some(test)) => {
                let fit = recipe.read_csv(train)?;
                let test = fit.read(test)?;
                (fit, test)
            }
            _ => {
                let (train, test) = bundled::boston().train_test_split(0.1, 1)?;
                (recipe.fit(&train)?, test)
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        let gradients = fit.draws().gradient_evals() as f64 / 1e6;
        let scores = scores(&fit, fit.draws(), &test)?;
        println!("{seed:4}  {seconds:7.1}  {gradients:11.3}  {scores}");
        if let Some(kept) = fit.validation() {
            let weights = fit.predict(kept)?.stacking()?.weights;
            println!(
                "{:26} {}",
                "  by stacking",
                self::scores(&fit, &fit.draws().mixture(&weights)?, &test)?
            );
            println!("  with the weights {weights:.2?}");
        }
        println!("  {}", fit.verdict()?);
    }
    Ok(())
}

/// The scores of what some of the draws predict, in units of the table.
fn scores(fit: &Fit, draws: &Draws, test: &Dataset) -> Result<String, Error> {
    let response = fit.response_scaler().expect("the response is real");
    let scaled = response.scale_response(&fit.feature_scaler().scale_features(test)?)?;
    let own = fit.posterior().predict(draws, &scaled)?.unscaled(response)?;
    let (scores, coverage) = (own.scores()?, own.coverage(0.9)?.share);
    let score = |name: &str| scores.get(name).map_or(f64::NAN, |score| score.posterior);
    let lppd = score("log_predictive_density");
    Ok(format!("{:7.4}  {lppd:7.4}  {coverage:.3}", score("rmse")))
}

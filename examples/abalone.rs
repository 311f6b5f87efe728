//! Rings of abalone shells (their age) from sex and seven measures: a linear model against a small neural network.
//!
//!     cargo run --release --example abalone
//!     cargo run --release --example abalone -- --quick
//!
//! `Fit` is the short way for a table: it standardises features and response, chooses priors, and samples. The output layer of
//! a network with a real response is integrated out, which is why its chains agree where those of plain samplers do not. Scores
//! are in rings. `--quick` learns from fewer rows and takes fewer draws.

use bnn_mcmc::data::bundled;
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
    // A quarter of the rows is learnt from, so that the program ends soon.
    let test_share = if is_quick { 0.95 } else { 0.75 };
    let (train, test) = bundled::abalone().train_test_split(test_share, 1)?;
    println!("{} training rows, {} test rows", train.rows(), test.rows());

    // Units of each hidden layer.
    compare("linear model", &[], &train, &test, is_quick)?;
    compare("network with 10 hidden units", &[10], &train, &test, is_quick)
}

/// Fits one model and prints how well it predicts the test rows.
fn compare(
    name: &str,
    hidden: &[usize],
    train: &Dataset,
    test: &Dataset,
    is_quick: bool,
) -> Result<(), Error> {
    let (warmup, draws) = if is_quick { (50, 50) } else { (1_000, 1_000) };
    let recipe = Fit::regression("rings").hidden(hidden).warmup(warmup).draws(draws).seed(1);
    let fit = recipe.fit(train)?;

    let verdict = fit.verdict()?;
    println!("\n{name}, {} parameters, test rows:", fit.draws().layout().dim());
    print!("{}", fit.scores(test)?);
    println!("largest R-hat {:.3}", verdict.max_rhat());
    println!("{verdict}");
    Ok(())
}

//! Do I need MCMC? The methods that are used instead, beside the exact posterior, on the data of
//! `fbnn`.
//!
//!     cargo run --release -p bnn-mcmc-studies -- rivals --data boston
//!     cargo run --release -p bnn-mcmc-studies -- rivals --data digits --hidden 10
//!
//! The networks, the priors, the rows and the split are those of `fbnn`: `studies fbnn` with the
//! same data prints the other rows of the paper's tables, with the same distances. All methods
//! approximate one posterior, and NUTS on it (of 3,000 weights and more MAMS) is the last row. Of a real response `coverage` is of
//! 95 % intervals of new observations; `mean`, `sd` and `lpd` are the distance to NUTS at the test
//! rows: of predictive means, in exact standard deviations of the mean function (root mean square);
//! the mean ratio of those deviations; the difference of the log predictive densities. For classes
//! `tv` is the mean total variation distance of their probabilities, and `AUROC` is how well the
//! predictive entropy tells test rows from rows of another kind: the same rows with each column
//! shuffled. The rate of dropout is chosen by a training on four fifths of the training rows,
//! scored on the rest.

use std::time::Instant;

use bnn_mcmc::likelihood::SecondOrderLikelihood;
use bnn_mcmc::model::Model;
use bnn_mcmc::predict::{Measure, Predictions};
use bnn_mcmc::prelude::*;
use ndarray::Axis;

use crate::shared::AnyError;
use crate::shared::distance::{distance, moments};
use crate::shared::reference::reference;
use crate::shared::rivals::{Rival, Settings, rivals};
use crate::shared::tables::{Tables, network};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    settings: Settings,
    /// Units of the hidden layers; at least 1 each, since dropout leaves some of them out.
    #[arg(long, value_delimiter = ',', default_values_t = [20])]
    hidden: Vec<usize>,
    /// The standard deviation of the noise, relative to that of the response.
    #[arg(long, default_value_t = 0.4)]
    noise: f64,
    /// Draws of each of four chains of NUTS, after as many of warm-up.
    #[arg(long, default_value_t = 1000)]
    reference: usize,
    /// Short trainings and chains: to see that it works.
    #[arg(long)]
    quick: bool,
}

pub fn run(mut args: Args) -> Result<(), AnyError> {
    if args.quick {
        (args.settings.steps, args.settings.noisy_steps) = (200, 300);
        (args.settings.members, args.reference, args.hidden) = (3, 50, vec![4]);
        args.tables.rows = args.tables.rows.min(600);
    }
    let (train, test) = args.tables.scaled(args.settings.seed)?;
    let (network, priors) = network(&train, &args.tables.hidden(&args.hidden))?;
    if train.response().class_names().is_none() {
        let noise = Gaussian::fixed(args.noise)?;
        compare((network, noise, priors), &train, &test, &args)
    } else if network.n_outputs() == 1 {
        compare((network, Bernoulli, priors), &train, &test, &args)
    } else {
        compare((network, Categorical, priors), &train, &test, &args)
    }
}

/// The rows, with each column shuffled.
fn shuffled(data: &Dataset, seed: u64) -> Result<Dataset, bnn_mcmc::Error> {
    let (mut x, mut rng) = (data.x().clone(), ChainRng::new(seed, 0));
    for mut column in x.columns_mut() {
        for i in 1..column.len() {
            let j = (rng.uniform() * (i + 1) as f64) as usize;
            column.swap(i, j);
        }
    }
    data.clone().with_x(x)
}

fn compare<L: SecondOrderLikelihood + Clone>(
    (network, likelihood, priors): (Mlp, L, Priors),
    train: &Dataset,
    test: &Dataset,
    args: &Args,
) -> Result<(), AnyError> {
    let settings = &args.settings;
    let of =
        |rows: &Dataset| Posterior::new(network.clone(), likelihood.clone(), rows, priors.clone());
    // Four fifths of the training rows, and the rest.
    let (part, rest) = match train.response().class_names() {
        Some(_) => train.stratified_split(0.2, settings.seed)?,
        None => train.train_test_split(0.2, settings.seed)?,
    };
    let posterior = &of(train)?;
    let mut methods = rivals(posterior, (&of(&part)?, &rest), settings)?;
    let began = Instant::now();
    let nuts = Nuts { target_accept: 0.9, ..Nuts::default() };
    let (name, draws) = reference(posterior, nuts, args.reference, settings.seed)?;
    methods.push(Rival::new(name, draws, began.elapsed().as_secs_f64()));

    let is_real = test.response().class_names().is_none();
    let outside = shuffled(test, settings.seed)?;
    let predict = |method: &Rival| method.predict(posterior, test);
    let exact = predict(methods.last().ok_or("no method")?)?;
    let (exact_moments, exact_mean) = (moments(exact.quantities()), exact.posterior_mean()?);
    let score = |p: &Predictions, name: &str| -> Result<f64, bnn_mcmc::Error> {
        Ok(p.scores()?.get(name).map_or(f64::NAN, |score| score.posterior))
    };
    let density = "log_predictive_density";
    let [a, b, c] =
        if is_real { ["rmse", "coverage_95", "-"] } else { ["accuracy", "ece", "AUROC"] };
    println!(
        "{:26} {:>8} {:>8} {:>11} {:>7} | {:>6} {:>6} {:>6} {:>7}",
        "", "seconds", a, b, c, "mean", "sd", "tv", "lpd"
    );
    for method in &methods {
        let own = predict(method)?;
        let [shift, ratio] = distance(&moments(own.quantities()), &exact_moments);
        let (mut variation, mut auroc) = (f64::NAN, f64::NAN);
        if !is_real {
            let apart = (&own.posterior_mean()? - &exact_mean).mapv(f64::abs).sum_axis(Axis(1));
            // One column stands for two classes.
            let both = if exact_mean.ncols() == 1 { 1.0 } else { 0.5 };
            variation = both * apart.mean().unwrap_or(f64::NAN);
            let told = own.separation(&method.predict(posterior, &outside)?)?;
            auroc = told.get(Measure::PredictiveEntropy);
        }
        // What a kind of response does not have is no number.
        let number = |x: f64, width: usize, digits: usize| match x.is_nan() {
            true => format!("{:>width$}", "-"),
            false => format!("{x:width$.digits$}"),
        };
        println!(
            "{:26} {:8.2} {:8.3} {:11.3} {} | {:6.2} {:6.2} {} {:7.3}",
            method.name,
            method.seconds,
            score(&own, a)?,
            score(&own, b)?,
            number(auroc, 7, 3),
            shift,
            ratio,
            number(variation, 6, 3),
            score(&own, density)? - score(&exact, density)?
        );
    }
    println!("NUTS: {}", exact.verdict()?);
    Ok(())
}

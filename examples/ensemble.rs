//! An ensemble of warm-started chains: in haste, or where modes stay apart.
//!
//!     cargo run --release --example ensemble
//!     cargo run --release --example ensemble -- --data train.csv --test test.csv --response y
//!
//! Each member is a network whose outputs are mean and log standard deviation. Its mean is optimised under a
//! noise of one variance, from a start of its own: with a noise that may grow anywhere, rows that are hard to
//! explain would soon be called noise. It is then sampled for a short while from there (in the manner of MILE:
//! Sommer and others 2025, arXiv:2502.06335). The members have not found the same predictions, as the R-hat
//! between them says: a mixture of them predicts well, and **is not the posterior**. `--stack` keeps some
//! rows to find the weights that predict them best.

use std::path::PathBuf;
use std::time::Instant;

use bnn_mcmc::data::{CsvReader, Standardise, bundled};
use bnn_mcmc::diagnostics::rhat;
use bnn_mcmc::ndarray::{Axis, s, stack};
use bnn_mcmc::predict::Predictions;
use bnn_mcmc::prelude::*;
use clap::Parser;

#[derive(Parser)]
#[command(
    about = "Optimises the members of an ensemble, samples each, and measures what they predict"
)]
struct Args {
    /// A CSV file with a header [default: the bundled Boston housing data].
    #[arg(long, requires = "test")]
    data: Option<PathBuf>,
    /// A CSV file of test rows.
    #[arg(long)]
    test: Option<PathBuf>,
    /// The response's column in these files.
    #[arg(long, default_value = "y")]
    response: String,
    /// Units of the hidden layers.
    #[arg(long, value_delimiter = ',', default_value = "16,16")]
    hidden: Vec<usize>,
    #[arg(long, default_value_t = 8)]
    members: usize,
    /// Steps of Adam, of all rows each.
    #[arg(long, default_value_t = 4000)]
    steps: usize,
    #[arg(long, default_value_t = 100)]
    warmup: usize,
    /// Draws of each member.
    #[arg(long, default_value_t = 60)]
    draws: usize,
    /// The mean length of the trajectories of MAMS.
    #[arg(long, default_value_t = 150.0)]
    path_length: f64,
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

fn main() {
    if let Err(error) = run(Args::parse()) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run(mut args: Args) -> Result<(), Error> {
    if args.quick {
        (args.members, args.steps, args.warmup, args.draws) = (3, 50, 30, 20);
        args.path_length = 10.0;
    }
    let (train, test) = data(&args)?;
    let features = Standardise::new().allow_constant().fit_features(&train)?;
    let response = Standardise::new().fit_response(&train)?;
    let scaled = |data: &Dataset| response.scale_response(&features.scale_features(data)?);
    let (train, test) = (scaled(&train)?, scaled(&test)?);
    println!("{} rows, {} for the test", train.rows(), test.rows());
    println!(
        "seed  optimised, s  sampled, s  M gradients  median R-hat within  between  RMSE     LPPD     coverage 90 %"
    );
    for &seed in &args.seeds {
        let (learn, held_out) = match args.stack {
            None => (train.clone(), None),
            Some(share) => {
                let (learn, held_out) = train.train_test_split(share, seed)?;
                (learn, Some(held_out))
            }
        };
        let mut sizes = vec![learn.n_features()];
        sizes.extend(&args.hidden);
        sizes.push(2);
        let network = Mlp::new(&sizes, Activation::Tanh)?;
        let priors = Priors::by_fan_in(&network);
        let posterior = Posterior::new(network.in_f32(), HeteroscedasticGaussian, &learn, priors)?;

        let began = Instant::now();
        let starts = starts(&args, &sizes, &learn, seed)?;
        let optimised = began.elapsed().as_secs_f64();
        let mams =
            Mams { path_length: Some(args.path_length), max_first_steps: 30, ..Mams::default() };
        let sampler = Sampler::new(&posterior, mams).chains(args.members).init(starts).seed(seed);
        let draws = sampler.warmup(args.warmup).draws(args.draws).run()?;
        let sampled = began.elapsed().as_secs_f64() - optimised;

        let scores = |draws: &Draws| -> Result<String, Error> {
            let own = posterior.predict(draws, &test)?.unscaled(&response)?;
            let (scores, coverage) = (own.scores()?, own.coverage(0.9)?.share);
            let score = |name: &str| scores.get(name).map_or(f64::NAN, |score| score.posterior);
            let lppd = score("log_predictive_density");
            Ok(format!("{:7.4}  {lppd:7.4}  {coverage:.3}", score("rmse")))
        };
        let (within, between) = rhats(&posterior.predict(&draws, &test)?);
        println!(
            "{seed:4}  {optimised:12.2}  {sampled:10.2}  {:11.3}  {within:12.2}  {between:7.2}  {}",
            draws.gradient_evals() as f64 / 1e6,
            scores(&draws)?,
        );
        if let Some(held_out) = held_out {
            let weights = posterior.predict(&draws, &held_out)?.stacking()?.weights;
            println!("{:59}  {}", "  by stacking", scores(&draws.mixture(&weights)?)?);
            println!("  with the weights {weights:.2?}");
        }
    }
    Ok(())
}

/// A mode of the mean for each member, with the noise that it leaves in all rows.
fn starts(args: &Args, sizes: &[usize], data: &Dataset, seed: u64) -> Result<Init, Error> {
    let mut sizes = sizes.to_vec();
    *sizes.last_mut().expect("there are outputs") = 1;
    let network = Mlp::new(&sizes, Activation::Tanh)?;
    let priors =
        Priors::by_fan_in(&network).with("log_noise_variance", LogInverseGamma::new(0.5, 0.005)?);
    let posterior = Posterior::new(network.in_f32(), Gaussian::sampled(), data, priors)?;
    let around = Init::Around { centre: vec![0.0; posterior.layout().dim()], sd: 0.3 };
    let adam = Adam { steps: args.steps, learning_rate: 0.01, ..Adam::default() };
    let fits = Optimiser::new(&posterior, adam).seed(seed).run_each(&around, args.members)?;
    let units = sizes[sizes.len() - 2];
    let with_noise = |fit: bnn_mcmc::optimise::Optimum| {
        // .., W [1 x units], b, log noise variance, to .., W [2 x units], b and log sd.
        let (hidden_and_mean, rest) = fit.q.split_at(fit.q.len() - 2);
        let [bias, log_variance] = rest else { unreachable!("two coordinates were split off") };
        let mut q = hidden_and_mean.to_vec();
        q.extend(std::iter::repeat_n(0.0, units));
        q.extend([*bias, 0.5 * log_variance]);
        q
    };
    Ok(Init::Points(fits.into_iter().map(with_noise).collect()))
}

fn data(args: &Args) -> Result<(Dataset, Dataset), Error> {
    let (Some(train), Some(test)) = (&args.data, &args.test) else {
        return bundled::boston().train_test_split(0.1, 1);
    };
    let train = CsvReader::regression(args.response.as_str()).header().read_path(train)?;
    let test = train.schema.read_path(test)?.dataset;
    Ok((train.dataset, test))
}

/// The median over rows of R-hat of the mean prediction: between the halves of each member's draws (and the
/// median over members), and between members. NaN for a single member.
fn rhats(predictions: &Predictions) -> (f64, f64) {
    let means = predictions.mean();
    let (mut within, mut between) = (Vec::new(), Vec::new());
    for row in means.axis_iter(Axis(2)) {
        let row = row.index_axis(Axis(2), 0);
        between.push(rhat(row));
        let half = row.ncols() / 2;
        within.extend(row.axis_iter(Axis(0)).map(|member| {
            let halves = [member.slice(s![..half]), member.slice(s![half..2 * half])];
            rhat(stack(Axis(0), &halves).expect("they are of one length").view())
        }));
    }
    (median(within), median(between))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

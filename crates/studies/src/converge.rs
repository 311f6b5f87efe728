//! Does it converge? A network fitted to one data set by one method, with all that can be measured of
//! it in one line.
//!
//!     cargo run --release -p bnn-mcmc-studies -- converge
//!     cargo run --release -p bnn-mcmc-studies -- converge --data boston --method nuts --seeds 1,2,3
//!     cargo run --release -p bnn-mcmc-studies -- converge --data train.csv --test test.csv --response y
//!     cargo run --release -p bnn-mcmc-studies -- converge --data boston --noise heteroscedastic
//!
//! The network has tanh units and priors by fan-in; the noise is one of those of a `Fit`; features and
//! response are standardised by the training rows, and chains start from small weights. R-hat and effective
//! sample size are the worst ones that the verdict is passed on: of the predictions of the test rows, the
//! log likelihood and the log prior; `apart` is the standard
//! deviation of the chains' means over that of the predictive distribution, at the worst row: how much
//! the chains' disagreement matters to a prediction (`Predictions::chains_apart`). Scores are in units of the response.

use std::path::PathBuf;
use std::time::Instant;

use bnn_mcmc::data::{CsvReader, Standardise, bundled};
use bnn_mcmc::fit::{AnyLikelihood, Network, Noise};
use bnn_mcmc::likelihood::StudentTNoise;
use bnn_mcmc::model::{LogSd, NonCentred, Offset, Skip};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::targets::Forces;
use clap::ValueEnum;

use crate::shared::AnyError;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Method {
    Nuts,
    /// With a path length that warm-up tunes.
    Hmc,
    Mams,
    CollapsedNuts,
    CollapsedHmc,
    CollapsedMams,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Numbers {
    F64,
    F32,
}

#[derive(clap::Args)]
pub struct Args {
    /// sunspot, abalone, boston, wine, or a CSV file with a header.
    #[arg(long, default_value = "sunspot")]
    data: String,
    /// A CSV file of test rows; without one a tenth of the rows are kept for the test.
    #[arg(long)]
    test: Option<PathBuf>,
    /// The response's column in these files.
    #[arg(long, default_value = "y")]
    response: String,
    #[arg(long, value_enum, default_value = "collapsed-mams")]
    method: Method,
    /// gaussian, student_t, heteroscedastic or heteroscedastic_student_t.
    #[arg(long, default_value = "gaussian")]
    noise: Noise,
    /// Hidden units, of one layer or several.
    #[arg(long, value_delimiter = ',', default_value = "10")]
    hidden: Vec<usize>,
    /// A linear part beside the network.
    #[arg(long)]
    skip: bool,
    /// Scales of the features, of the outputs and of the linear part that are sampled.
    #[arg(long)]
    scales: bool,
    #[arg(long, default_value_t = 4)]
    chains: usize,
    #[arg(long, default_value_t = 400)]
    warmup: usize,
    /// Draws of each chain.
    #[arg(long, default_value_t = 600)]
    draws: usize,
    /// One line for each of these seeds.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    seeds: Vec<u64>,
    /// The most doublings of a trajectory of NUTS.
    #[arg(long, default_value_t = 10)]
    max_depth: u32,
    /// The acceptance probability that warm-up adapts the step to [default: that of the method].
    #[arg(long)]
    accept: Option<f64>,
    /// The mean length of the trajectories of MAMS [default: tuned in warm-up].
    #[arg(long)]
    path_length: Option<f64>,
    /// A dense preconditioner.
    #[arg(long)]
    dense: bool,
    /// Forces of the collapsed methods but NUTS: by default in f32 where the problem is large.
    #[arg(long, value_enum)]
    forces: Option<Numbers>,
    /// The verdicts, too.
    #[arg(long)]
    verdict: bool,
    /// Few draws of a small network: to see that it works.
    #[arg(long)]
    quick: bool,
}

impl Args {
    fn is_by_row(&self) -> bool {
        matches!(self.noise, Noise::Heteroscedastic | Noise::HeteroscedasticStudentT)
    }

    fn is_student_t(&self) -> bool {
        matches!(self.noise, Noise::StudentT | Noise::HeteroscedasticStudentT)
    }
}

pub fn run(mut args: Args) -> Result<(), AnyError> {
    if args.quick {
        (args.hidden, args.warmup, args.draws, args.max_depth) = (vec![5], 100, 50, 6);
    }
    let (train, test) = data(&args)?;
    let features = Standardise::new().allow_constant().fit_features(&train)?;
    let response = Standardise::new().fit_response(&train)?;
    let scaled = |data: &Dataset| response.scale_response(&features.scale_features(data)?);
    let (train, test) = (scaled(&train)?, scaled(&test)?);

    let mut sizes = vec![train.n_features()];
    sizes.extend(&args.hidden);
    sizes.push(1);
    let likelihood = match (args.is_by_row(), args.is_student_t()) {
        (false, false) => AnyLikelihood::Gaussian(Gaussian::sampled()),
        (false, true) => AnyLikelihood::StudentTNoise(StudentTNoise::sampled()),
        (true, false) => AnyLikelihood::HeteroscedasticGaussian(HeteroscedasticGaussian),
        (true, true) => AnyLikelihood::StudentTNoise(StudentTNoise::heteroscedastic()),
    };
    let (network, priors) = network(&args, &sizes, train.feature_names())?;
    let posterior = Posterior::new(network, likelihood, &train, priors)?;
    println!(
        "{} rows, {} for the test; network {sizes:?}, {} parameters",
        train.rows(),
        test.rows(),
        posterior.layout().dim()
    );
    println!(
        "method           seed  M gradients  seconds  R-hat   ESS       apart  diverged  \
         RMSE     LPPD     coverage 90 %"
    );
    for &seed in &args.seeds {
        let began = Instant::now();
        let draws = sample(&args, &posterior, seed)?;
        let seconds = began.elapsed().as_secs_f64();
        let predictions = posterior.predict(&draws, &test)?;
        let verdict = predictions.verdict()?;
        let own = predictions.unscaled(&response)?;
        let scores = own.scores()?;
        let score = |name: &str| scores.get(name).map_or(f64::NAN, |score| score.posterior);
        println!(
            "{:15}  {seed:4}  {:11.2}  {seconds:7.1}  {:6.3}  {:8.0}  {:5.2}  {:8}  {:7.4}  {:7.4}  {:.3}",
            format!("{:?}", args.method),
            draws.gradient_evals() as f64 / 1e6,
            verdict.max_rhat(),
            verdict.min_ess(),
            predictions.chains_apart()?,
            draws.divergences(),
            score("rmse"),
            score("log_predictive_density"),
            own.coverage(0.9)?.share,
        );
        if args.verdict {
            println!("{verdict}");
        }
    }
    Ok(())
}

/// The network with the parts that were asked for, and its priors, as a `Fit` has them.
fn network(args: &Args, sizes: &[usize], features: &[String]) -> Result<(Network, Priors), Error> {
    let network = Mlp::new(sizes, Activation::Tanh)?;
    let network = if args.skip { Skip::new(network)? } else { Skip::without(network) };
    let mut network = NonCentred::new(network);
    if args.scales {
        network = network.by_column("w0", "log_relevance", features)?;
    }
    let mut priors = Priors::by_fan_in(&network);
    let network = if args.is_by_row() { LogSd::new(network)? } else { LogSd::without(network) };
    let squared_scale = LogInverseGamma::new(0.5, 0.005)?;
    priors = match (args.is_by_row(), args.is_student_t()) {
        (true, _) => priors
            .with("log_sd", Normal::new(0.0, 0.5)?)
            .with("log_sd_bias", Normal::new(-1.5, 1.5)?),
        (false, true) => priors.with("log_squared_scale", squared_scale),
        (false, false) => priors.with("log_noise_variance", squared_scale),
    };
    if args.is_student_t() {
        priors = priors.with("log_degrees_of_freedom", Normal::new(2.0, 1.0)?);
    }
    if args.scales {
        let half_t = |inputs: usize| LogHalfT::new(30.0, (1.0 / inputs as f64).sqrt());
        let (last, units) = (sizes.len() - 2, sizes[sizes.len() - 2]);
        priors = priors.with("log_relevance", half_t(1)?);
        priors = priors.hierarchical(&format!("w{last}"), "log_output_variance", half_t(units)?);
        if args.skip {
            priors = priors.hierarchical("skip", "log_skip_variance", half_t(sizes[0])?);
        }
    }
    Ok((Offset::without(network), priors))
}

fn data(args: &Args) -> Result<(Dataset, Dataset), Error> {
    let all = match &args.data[..] {
        "sunspot" => return Ok(bundled::sunspot_windows()),
        "abalone" => bundled::abalone(),
        "boston" => bundled::boston(),
        "wine" => bundled::wine_red(),
        file => {
            let train = CsvReader::regression(args.response.as_str()).header().read_path(file)?;
            match &args.test {
                None => train.dataset,
                Some(test) => {
                    let test = train.schema.read_path(test)?.dataset;
                    return Ok((train.dataset, test));
                }
            }
        }
    };
    all.train_test_split(0.1, 1)
}

fn sample(
    args: &Args,
    posterior: &Posterior<Network, AnyLikelihood>,
    seed: u64,
) -> Result<Draws, Error> {
    let preconditioner =
        if args.dense { Preconditioner::Dense } else { Preconditioner::DiagonalFromGradients };
    let accept = |default: f64| args.accept.unwrap_or(default);
    let nuts = Nuts {
        max_depth: args.max_depth,
        target_accept: accept(Nuts::default().target_accept),
        preconditioner,
        ..Nuts::default()
    };
    let hmc = Hmc {
        adapt_path_length: true,
        target_accept: accept(Hmc::default().target_accept),
        preconditioner,
        ..Hmc::default()
    };
    let mams = Mams {
        path_length: args.path_length,
        target_accept: accept(Mams::default().target_accept),
        preconditioner,
        ..Mams::default()
    };
    let forces = match args.forces {
        None => Forces::Auto,
        Some(Numbers::F64) => Forces::F64,
        Some(Numbers::F32) => Forces::F32,
    };
    match args.method {
        Method::Nuts => sample_by(args, posterior, nuts, seed),
        Method::Hmc => sample_by(args, posterior, hmc, seed),
        Method::Mams => sample_by(args, posterior, mams, seed),
        Method::CollapsedNuts => sample_by(args, posterior, Collapsed::new(nuts), seed),
        Method::CollapsedHmc => {
            sample_by(args, posterior, Collapsed::new(hmc).with_forces(forces), seed)
        }
        Method::CollapsedMams => {
            sample_by(args, posterior, Collapsed::new(mams).with_forces(forces), seed)
        }
    }
}

fn sample_by<A>(
    args: &Args,
    posterior: &Posterior<Network, AnyLikelihood>,
    algorithm: A,
    seed: u64,
) -> Result<Draws, Error>
where
    A: for<'t> Algorithm<&'t Posterior<Network, AnyLikelihood>>,
{
    let start = Init::Around { centre: vec![0.0; posterior.layout().dim()], sd: 0.1 };
    let sampler = Sampler::new(posterior, algorithm).init(start).seed(seed);
    sampler.chains(args.chains).warmup(args.warmup).draws(args.draws).run()
}

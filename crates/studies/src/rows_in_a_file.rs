//! Rows that do not fit into memory: a table of any size in a file, its gradients, a minibatch sampler, and scores.
//!
//! ```text
//! cargo run --release -p bnn-mcmc-studies -- rows_in_a_file --rows 5000000 --features 1000 --hidden 64,64 --stored u8
//! ```
//!
//! Simulates a table block by block into a file, of a real response or, with `--classes 10`, of classes; standardises it as it is
//! read, and evaluates a network's log density and gradient on all rows. Then SGHMC on minibatches, from a start that some steps of Adam
//! have found, and with `--rivals` an ensemble of three, SWAG and, in f64, the Laplace approximation of the last layer, and how well they
//! predict rows that they have not seen. The
//! lines tell the times, beside reading the file alone and the operations that a gradient takes, and the most memory that the
//! process has used.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bnn_mcmc::approximate::{LaplaceApproximation, Swag, ensemble};
use bnn_mcmc::data::simulate::{Classification, Regression};
use bnn_mcmc::data::{RowFile, Standardise, Stored};
use bnn_mcmc::likelihood::{Likelihood, SecondOrderLikelihood};
use bnn_mcmc::optimise::{Adam, Optimiser, Sgd};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::ControlVariates;
use bnn_mcmc::targets::{Curvature, GradTarget};

use crate::shared::AnyError;

#[derive(clap::Args)]
pub struct Args {
    /// Rows to fit on.
    #[arg(long, default_value_t = 200_000)]
    rows: usize,
    #[arg(long, default_value_t = 100)]
    features: usize,
    /// Classes of the response; 0 for a real one.
    #[arg(long, default_value_t = 0)]
    classes: usize,
    /// Units of the hidden layers.
    #[arg(long, value_delimiter = ',', default_values_t = [64, 64])]
    hidden: Vec<usize>,
    /// Form of the features: f64, f32, f16 or u8 (256 values, of a real response from -8 to 8).
    #[arg(long, default_value = "u8")]
    stored: String,
    /// Rows of a minibatch.
    #[arg(long, default_value_t = 512)]
    batch: usize,
    /// Epochs of SGHMC.
    #[arg(long, default_value_t = 2)]
    epochs: usize,
    /// Steps of Adam to a mode.
    #[arg(long, default_value_t = 2000)]
    steps: usize,
    /// Gradients in f32.
    #[arg(long)]
    single: bool,
    /// An ensemble of three modes, SWAG and the last layer given the others, too.
    #[arg(long)]
    rivals: bool,
    /// The folder of the files; a temporary one by default, which is removed.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// A table of 5,000 rows, to see whether it runs.
    #[arg(long)]
    quick: bool,
}

pub fn run(mut args: Args) -> Result<(), AnyError> {
    if args.quick {
        (args.rows, args.steps) = (args.rows.min(5000), 200);
    }
    let temporary = tempfile::tempdir()?;
    let folder = args.folder.clone().unwrap_or_else(|| temporary.path().into());
    let begun = Instant::now();
    let (train, test) = (folder.join("train.rows"), folder.join("test.rows"));
    if !train.exists() {
        write(&args, &train, &test)?;
    }
    let written = begun.elapsed().as_secs_f64();
    let opened = Instant::now();
    let rows = RowFile::open(&train)?;
    let opened = opened.elapsed().as_secs_f64();
    let bytes = fs::metadata(&train)?.len();
    println!(
        "{} rows of {} features in {:.1} MB, {}: written in {written:.1} s, checked in {opened:.1} s",
        rows.rows(),
        rows.n_features(),
        bytes as f64 / 1e6,
        args.stored
    );

    let begun = Instant::now();
    let scaler = rows.fit_features(&Standardise::new())?;
    let (rows, test) = (rows.scaled(&scaler)?, RowFile::open(&test)?.scaled(&scaler)?);
    let (rows, test) = match rows.response().real() {
        None => (rows, test),
        Some(y) => {
            let of_y = Standardise::new().fit(y.view())?;
            let scaled = |rows: &RowFile| {
                let y = rows.response().real().map(|y| of_y.transform(y.view()));
                rows.with_real_response(y.unwrap_or_else(|| Ok(Default::default()))?)
            };
            (scaled(&rows)?, scaled(&test)?)
        }
    };
    println!("standardised in {:.1} s", begun.elapsed().as_secs_f64());

    let sizes = [&[args.features][..], &args.hidden, &[args.classes.max(1)]].concat();
    let network = Mlp::new(&sizes, Activation::Tanh)?;
    // Of many features each has a small weight, so that units begin where they can learn.
    let first = network.layout().blocks()[0].name.clone();
    let of_first = Normal::new(0.0, (1.0 / args.features as f64).sqrt())?;
    let priors = Priors::by_fan_in(&network).with(&first, of_first);
    let of_noise = LogInverseGamma::new(2.0, 0.5)?;
    let noisy = || priors.clone().with("log_noise_variance", of_noise);
    let single = network.clone().in_f32();
    let files = (&rows, &test);
    match (args.classes, args.single) {
        (0, false) => study(&args, network, Gaussian::sampled(), noisy(), files, Some(last_layer)),
        (0, true) => study(&args, single, Gaussian::sampled(), noisy(), files, None),
        (_, false) => study(&args, network, Categorical, priors, files, Some(last_layer)),
        (_, true) => study(&args, single, Categorical, priors, files, None),
    }
}

/// Draws of the last layer's weights given all others, which stay at `mode`.
fn last_layer<L: SecondOrderLikelihood>(
    posterior: &Posterior<Mlp, L>,
    mode: &[f64],
) -> Result<Draws, Error> {
    LaplaceApproximation::last_layer(posterior, mode, Curvature::Expected)?.draws(30, 1)
}

/// Draws of a posterior around a mode.
type Around<M, L> = fn(&Posterior<M, L>, &[f64]) -> Result<Draws, Error>;

/// Writes the rows to fit on, and a tenth as many, at most 5,000, to predict.
fn write(args: &Args, train: &Path, test: &Path) -> Result<(), AnyError> {
    let held_out = (args.rows / 10).clamp(100, 5000);
    let (rows, features) = (args.rows + held_out, args.features);
    let informative = 10.min(features);
    let stored = match &args.stored[..] {
        "f64" => Stored::F64,
        "f32" => Stored::F32,
        "f16" => Stored::F16,
        "u8" => {
            // Features of classes have larger standard deviations.
            let end = if args.classes == 0 { 8.0 } else { 16.0 };
            Stored::ranges(&vec![[-end, end]; args.features])
        }
        other => return Err(format!("--stored is {other}, but must be f64, f32, f16 or u8").into()),
    };
    let mut writers = [RowFile::create(test, stored.clone())?, RowFile::create(train, stored)?];
    let size = 10_000.min(held_out);
    let regression = Regression {
        rows,
        features,
        informative,
        largest_coefficient: 1.0,
        ..Regression::default()
    };
    let classification = Classification {
        rows,
        features,
        informative,
        classes: args.classes,
        redundant: 0,
        ..Classification::default()
    };
    let blocks: Box<dyn Iterator<Item = Result<Dataset, Error>>> = match args.classes {
        0 => Box::new(regression.blocks(1, size)?),
        _ => Box::new(classification.blocks(1, size)?),
    };
    for block in blocks {
        let block = block?;
        let left = held_out - writers[0].rows();
        let now: Vec<usize> = (0..block.rows().min(left)).collect();
        let later: Vec<usize> = (now.len()..block.rows()).collect();
        for (writer, rows) in writers.iter_mut().zip([now, later]) {
            if !rows.is_empty() {
                writer.push(&block.select(&rows)?)?;
            }
        }
    }
    let [test, train] = writers;
    test.finish()?;
    train.finish()?;
    Ok(())
}

/// A gradient of all rows, SGHMC and its rivals, and predictions of new rows.
fn study<M: Model + Clone, L: Likelihood + Clone>(
    args: &Args,
    network: M,
    likelihood: L,
    priors: Priors,
    (rows, test): (&RowFile, &RowFile),
    last_layer: Option<Around<M, L>>,
) -> Result<(), AnyError> {
    let posterior = &Posterior::on_file(network.clone(), likelihood, rows, priors)?;
    let (n, steps) = (posterior.n_obs(), args.steps);
    let minibatch = Minibatch { size: args.batch.min(n) };
    let per_epoch = n.div_ceil(minibatch.size);
    let begun = Instant::now();
    let adam = Adam { learning_rate: 5e-3, steps, ..Adam::new(minibatch.clone()) };
    let ascent = Optimiser::new(posterior, adam.clone());
    let first = ascent.run_each(&Init::Random, 1)?;
    let of_first = begun.elapsed().as_secs_f64();
    let start = first[0].q.clone();
    println!("Adam: {steps} steps of {} rows in {of_first:.1} s", minibatch.size);

    // All rows, on one thread and on all.
    // Forward, and backward to weights and, but in the first layer, to inputs: two operations for each weight.
    let weights = network.layout().dim();
    let of_first_layer = args.features * args.hidden.first().copied().unwrap_or(1);
    let operations = (6 * weights - 2 * of_first_layer) as f64;
    println!("{weights} weights");
    let gradient = |posterior: &Posterior<M, L>, what: &str, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let (mut grad, mut ws) = (vec![0.0; start.len()], posterior.workspace());
        let (seconds, density) = pool.install(|| {
            let begun = Instant::now();
            let density = posterior.log_density_grad(&start, &mut grad, &mut ws);
            (begun.elapsed().as_secs_f64(), density)
        });
        println!(
            "gradient of {what} on {threads} threads: {seconds:.2} s, {:.1} GFLOP/s, log likelihood of a row {:.4}",
            operations * posterior.n_obs() as f64 / seconds / 1e9,
            density.likelihood / posterior.n_obs() as f64
        );
        Ok::<(), AnyError>(())
    };
    let some = posterior.given(&rows.read(0..n.min(20_000))?)?;
    gradient(&some, "20,000 rows in memory", 1)?;
    for threads in [1, rayon::current_num_threads()] {
        gradient(posterior, "all rows", threads)?;
    }
    let begun = Instant::now();
    let mut bytes = 0;
    for block in rows.blocks(10_000) {
        bytes += block?.rows() * rows.n_features() * 8;
    }
    println!(
        "reading all rows as f64 alone: {:.1} s, {:.1} GB",
        begun.elapsed().as_secs_f64(),
        bytes as f64 / 1e9
    );

    let test = test.read(0..test.rows())?;
    let predict = |name: &str, draws: &Draws, seconds: f64| {
        let predictions = posterior.predict(draws, &test)?;
        println!("{name}: {seconds:.1} s; {} new rows:\n{}", test.rows(), predictions.scores()?);
        Ok::<_, Error>(predictions)
    };
    predict("one mode", &ensemble(posterior, &first, 1)?, of_first)?;
    if args.rivals {
        if let Some(last_layer) = last_layer {
            let begun = Instant::now();
            let draws = last_layer(posterior, &start)?;
            predict("the last layer", &draws, of_first + begun.elapsed().as_secs_f64())?;
        }
        let begun = Instant::now();
        let modes = ascent.seed(1).run_each(&Init::Random, 3)?;
        let seconds = begun.elapsed().as_secs_f64();
        predict("an ensemble of three", &ensemble(posterior, &modes, 1)?, seconds)?;
        let begun = Instant::now();
        let steps = steps.max(1000);
        let sgd = Sgd { learning_rate: 0.01 / n as f64, steps, ..Sgd::new(minibatch.clone()) };
        let swag = Swag { burn_in: steps / 4, ..Swag::new(sgd) };
        let fit = swag.fit(posterior, &Init::Points(vec![start.clone()]), 1, 1)?;
        let draws = fit.draws(30, 1)?;
        predict("SWAG", &draws, of_first + begun.elapsed().as_secs_f64())?;
    }
    if args.epochs == 0 {
        return Ok(());
    }
    let draws = 20; // each costs a log density of all rows, too
    let steps = args.epochs * per_epoch;
    let thin = steps.div_ceil(draws).max(1);
    let sghmc = Sghmc {
        step_size: 0.2 / (n as f64).sqrt(),
        friction: 0.5 * (n as f64).sqrt(),
        // Gradients around the point that Adam has found: their noise would heat the chain otherwise.
        ..Sghmc::new(ControlVariates { size: minibatch.size, mode: start.clone() })
    };
    let begun = Instant::now();
    let run = Sampler::new(posterior, sghmc).chains(1).warmup(0).draws(draws).thin(thin);
    let draws = run.init(Init::Points(vec![start])).run()?;
    let seconds = begun.elapsed().as_secs_f64();
    println!("SGHMC: {} steps of {} rows", thin * draws.n_draws(), minibatch.size);
    let predictions = predict("SGHMC", &draws, of_first + seconds)?;
    println!(
        "seconds for each effective draw of the worst prediction: {:.1}",
        seconds / predictions.summary()?.min_ess_bulk()
    );
    if let Some(peak) = peak() {
        println!("most memory of the process: {:.0} MB", peak as f64 / 1e3);
    }
    Ok(())
}

/// The most memory that the process has used, in kB, where Linux tells it.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

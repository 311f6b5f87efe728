//! From a CSV file to predictions of new rows: a network fitted, saved, loaded and asked.
//!
//!     cargo run --release --example table
//!     cargo run --release --example table -- --data train.csv --response strength --new new.csv
//!
//! Without arguments it fits the quality of red wines, a fifth of whose rows are kept for validation.
//! With `--folder` the run is kept: Ctrl-C, and what batch systems send, ends it after the draw that each
//! chain is in, with the results of what it has, and the exit code of the signal; the same command goes on
//! from there, and loads the fit once it is finished. A library installs no signal handlers: this program
//! does, and hands the library a `StopHandle`.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bnn_mcmc::fit::{Fit, Method, Noise, Recipe};
use bnn_mcmc::sampler::StopHandle;
use clap::{Parser, ValueEnum};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Kind {
    Regression,
    Classification,
    Counts,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Scatter {
    Gaussian,
    Heteroscedastic,
    StudentT,
    Poisson,
    NegativeBinomial,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum By {
    Nuts,
    /// The output layer integrated out: for gaussian or heteroscedastic noise.
    Collapsed,
    /// A ladder of tempered posteriors.
    Tempered,
}

#[derive(Parser)]
#[command(about = "Fits a network to a CSV file and predicts new rows")]
struct Args {
    /// The training file, with a header.
    #[arg(long, default_value = "data/wine_red.csv")]
    data: PathBuf,
    /// The column to predict.
    #[arg(long, default_value = "quality")]
    response: String,
    /// What the response is.
    #[arg(long, default_value = "regression")]
    kind: Kind,
    /// How responses scatter [default: gaussian; of counts, negative-binomial].
    #[arg(long)]
    noise: Option<Scatter>,
    /// Columns to leave out, comma-separated.
    #[arg(long, value_delimiter = ',')]
    ignore: Vec<String>,
    /// Leave out rows with missing values.
    #[arg(long)]
    drop_missing: bool,
    /// Units of each hidden layer, comma-separated; `0` for a linear model [default: that of `Fit`].
    #[arg(long, value_delimiter = ',')]
    hidden: Option<Vec<usize>>,
    /// How the posterior is sampled [default: that of `Fit`].
    #[arg(long)]
    method: Option<By>,
    #[arg(long, default_value_t = 4)]
    chains: usize,
    #[arg(long, default_value_t = 1000)]
    warmup: usize,
    /// Draws of each chain.
    #[arg(long, default_value_t = 1000)]
    draws: usize,
    /// The share of rows that are kept for validation.
    #[arg(long, default_value_t = 0.2)]
    validation: f64,
    /// A file of new rows to predict; the response may be lacking.
    #[arg(long)]
    new: Option<PathBuf>,
    /// Where to write their predictions.
    #[arg(long, default_value = "predictions.csv")]
    out: PathBuf,
    /// A folder to run in.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Few draws of a small network: to see that it works.
    #[arg(long)]
    quick: bool,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() {
    let (stop, signal) = (StopHandle::new(), Arc::new(AtomicUsize::new(0)));
    let ended = listen(&stop, &signal).map_err(Into::into).and_then(|()| run(Args::parse(), &stop));
    if let Err(error) = ended {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    match signal.load(Ordering::Relaxed) {
        0 => {}
        signal => std::process::exit(128 + signal as i32),
    }
}

/// From now on the first of these signals ends the run, and the second the program.
fn listen(stop: &StopHandle, heard: &Arc<AtomicUsize>) -> std::io::Result<()> {
    let mut signals = vec![SIGINT, SIGTERM];
    #[cfg(unix)]
    if !is_ignored(signal_hook::consts::SIGHUP) {
        signals.push(signal_hook::consts::SIGHUP);
    }
    for signal in signals {
        flag::register_conditional_shutdown(signal, 128 + signal, stop.flag())?;
        flag::register(signal, stop.flag())?;
        flag::register_usize(signal, heard.clone(), signal as usize)?;
    }
    Ok(())
}

/// Whether a signal is ignored, as HUP is under `nohup`; known where there is `/proc`.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn recipe(args: &Args) -> Recipe {
    let (hidden, warmup, draws) = match args.quick {
        true => (Some(vec![4]), 60, 40),
        false => (args.hidden.clone(), args.warmup, args.draws),
    };
    let recipe = match args.kind {
        Kind::Regression => Fit::regression(args.response.as_str()),
        Kind::Classification => Fit::classification(args.response.as_str()),
        Kind::Counts => Fit::counts(args.response.as_str()),
    };
    let mut recipe = recipe
        .reader(|reader| {
            let reader = reader.detect_delimiter().ignore(&args.ignore);
            if args.drop_missing { reader.drop_missing_rows() } else { reader }
        })
        .chains(args.chains)
        .warmup(warmup)
        .draws(draws)
        .validation(args.validation)
        .seed(args.seed);
    if let Some(noise) = args.noise {
        recipe = recipe.noise(match noise {
            Scatter::Gaussian => Noise::Gaussian,
            Scatter::Heteroscedastic => Noise::Heteroscedastic,
            Scatter::StudentT => Noise::StudentT,
            Scatter::Poisson => Noise::Poisson,
            Scatter::NegativeBinomial => Noise::NegativeBinomial,
        });
    }
    if let Some(hidden) = hidden {
        let units: Vec<usize> = hidden.into_iter().filter(|units| *units > 0).collect();
        recipe = recipe.hidden(&units);
    }
    if let Some(method) = args.method {
        recipe = recipe.method(match method {
            By::Nuts => Method::Nuts,
            By::Collapsed => Method::Collapsed,
            By::Tempered => Method::Tempered,
        });
    }
    recipe
}

fn run(args: Args, stop: &StopHandle) -> Result<(), Box<dyn Error>> {
    let mut recipe = recipe(&args).stop_handle(stop).progress();
    if let Some(folder) = &args.folder {
        recipe = recipe.in_folder(folder);
    }
    let fit = recipe.read_csv(&args.data)?;
    if fit.draws().info().stopped_early {
        let n = fit.draws().n_draws();
        println!("stopped after {n} draws of each chain");
        if let Some(folder) = &args.folder {
            println!("saved in {}: the same command goes on", folder.display());
        }
        if n == 0 {
            return Ok(());
        }
    }
    fit.rebuilt().iter().for_each(|what| println!("{what}"));
    if let Some(error) = fit.save_error() {
        println!("not saved: {error}");
    }
    println!(
        "{} rows of {} features; network {:?}, {} parameters",
        fit.data().rows(),
        fit.data().n_features(),
        fit.network().sizes(),
        fit.draws().layout().dim()
    );
    println!("{}", fit.verdict()?);
    if let Some(rows) = fit.validation() {
        println!("\n{} validation rows, in the units of `{}`:", rows.rows(), args.response);
        println!("{}", fit.scores(rows)?);
    }
    if let Some(new) = &args.new {
        let predicted = fit.predict_csv(new)?;
        println!("{predicted}");
        predicted.predictions.to_csv(&args.out)?;
        println!("predictions are in {}", args.out.display());
    }
    Ok(())
}

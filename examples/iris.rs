//! Three species of iris from four measures: a linear model against a small neural network.
//!
//!     cargo run --release --example iris
//!
//! Both models are sampled by the same algorithm and judged by the same diagnostics, in weight
//! space and in function space (predicted probabilities of the test rows). `--train` and `--test`
//! read files of your own: numbers separated by blanks or commas, no header, the class last.

use std::fs;
use std::path::{Path, PathBuf};

use bnn_mcmc::data::{Columns, CsvReader, Standardize, bundled};
use bnn_mcmc::predict::Scores;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use clap::{Parser, ValueEnum};
use serde::Serialize;

#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Random-walk Metropolis
    Rwm,
    /// Metropolis-adjusted Langevin algorithm
    Mala,
}

#[derive(Parser, Debug, Serialize)]
#[command(about = "Classifies iris flowers by a linear model and a neural network, both Bayesian")]
struct Args {
    /// Sampler
    #[arg(long, value_enum, default_value_t = Kind::Mala)]
    sampler: Kind,
    /// Number of chains
    #[arg(long, default_value_t = 4)]
    chains: usize,
    /// Iterations of warm-up per chain [default: 20000, with --quick 2000]
    #[arg(long)]
    warmup: Option<usize>,
    /// Draws to keep per chain [default: 2000, with --quick 500]
    #[arg(long)]
    draws: Option<usize>,
    /// Steps per kept draw
    #[arg(long, default_value_t = 50)]
    thin: usize,
    /// Seed of the split and of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A short run, to see that everything works
    #[arg(long)]
    quick: bool,
    /// Folder to write linear/ and mlp/ to, each with draws.csv, summary.csv, predictions.csv and
    /// run.json
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Training rows: blanks or commas, no header, class last; needs --test
    #[arg(long, value_name = "FILE", requires = "test")]
    train: Option<PathBuf>,
    /// Test rows, in the same form; needs --train
    #[arg(long, value_name = "FILE", requires = "train")]
    test: Option<PathBuf>,
}

/// One model's run.
struct Run {
    draws: Draws,
    summary: Summary,
    predictions: Predictions,
    report: Report,
}

/// What is reported of one model, and written to run.json.
#[derive(Serialize)]
struct Report {
    model: String,
    parameters: usize,
    settings: serde_json::Value,
    version: &'static str,
    seconds_warmup: f64,
    seconds_sampling: f64,
    gradient_evals: u64,
    accept_rate: Vec<f64>,
    divergences: u64,
    train: Scores,
    test: Scores,
    weight_space: Convergence,
    function_space: Convergence,
    verdict: String,
}

/// The worst R-hat and effective sample sizes over a set of quantities.
#[derive(Serialize)]
struct Convergence {
    quantities: usize,
    rhat: f64,
    ess_bulk: f64,
    ess_tail: f64,
}

impl Convergence {
    fn of(summary: &Summary) -> Self {
        Self {
            quantities: summary.rows.len(),
            rhat: summary.max_rhat(),
            ess_bulk: summary.min_ess_bulk(),
            ess_tail: summary.min_ess_tail(),
        }
    }
}

fn main() {
    if let Err(error) = run(&Args::parse()) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(out) = &args.out {
        fs::create_dir_all(out).map_err(|e| Error::io(out, e))?;
    }
    let (train, test) = data(args)?;
    // Scaled by the training rows alone.
    let scaler = Standardize::new().allow_constant().fit_features(&train)?;
    let (train, test) = (scaler.scale_features(&train)?, scaler.scale_features(&test)?);
    let (features, classes) = (train.n_features(), train.response().width());
    println!(
        "{} training rows, {} test rows, {features} features, {classes} classes; sampler: {:?}",
        train.rows(),
        test.rows(),
        args.sampler
    );

    let hidden = 10;
    if args.draws == Some(0) {
        return Err(Error::argument("--draws", 0, "at least 1").into());
    }
    let linear = Linear::new(features, classes)?;
    let mlp = Mlp::new(&[features, hidden, classes], Activation::Tanh)?;
    let runs = [
        fit("linear".into(), linear, &train, &test, args)?,
        fit(format!("mlp {features}-{hidden}-{classes} tanh"), mlp, &train, &test, args)?,
    ];
    print_reports(&runs.each_ref().map(|run| &run.report));
    if let Some(out) = &args.out {
        for run in &runs {
            write(&out.join(run.report.model.split(' ').next().unwrap_or("model")), run)?;
        }
    }
    Ok(())
}

fn data(args: &Args) -> Result<(Dataset, Dataset), Error> {
    let (Some(train), Some(test)) = (&args.train, &args.test) else {
        return bundled::iris().stratified_split(0.3, args.seed);
    };
    let reader = CsvReader::classification(Columns::Last).no_header().detect_delimiter();
    let train = reader.read_path(train)?;
    Ok((train.dataset, train.schema.read_path(test)?.dataset))
}

/// Samples one model, with N(0, 1) priors on all weights.
fn fit<M: Model>(
    name: String,
    model: M,
    train: &Dataset,
    test: &Dataset,
    args: &Args,
) -> Result<Run, Box<dyn std::error::Error>> {
    let priors = Priors::all(Normal::new(0.0, 1.0)?);
    let posterior = Posterior::new(model, Categorical, train, priors)?;
    let (draws, algorithm) = match args.sampler {
        Kind::Rwm => sample(&posterior, Rwm::default(), args)?,
        Kind::Mala => sample(&posterior, Mala::default(), args)?,
    };
    let predictions = posterior.predict(&draws, test)?;
    let summary = draws.summary()?;
    let mut settings = serde_json::to_value(args)?;
    settings["algorithm"] = algorithm;
    settings["prior"] = "N(0, 1) on every weight".into();
    settings["warmup"] = draws.info().warmup.into();
    settings["draws"] = draws.n_draws().into();
    let report = Report {
        model: name,
        parameters: posterior.dim(),
        settings,
        version: env!("CARGO_PKG_VERSION"),
        seconds_warmup: draws.info().warmup_seconds,
        seconds_sampling: draws.info().sampling_seconds,
        gradient_evals: draws.gradient_evals(),
        accept_rate: draws.accept_rate(),
        divergences: draws.divergences(),
        train: posterior.predict(&draws, train)?.scores()?,
        test: predictions.scores()?,
        weight_space: Convergence::of(&summary),
        function_space: Convergence::of(&predictions.summary()?),
        verdict: predictions.verdict()?.to_string(),
    };
    Ok(Run { draws, summary, predictions, report })
}

fn sample<T: Target, A: for<'t> Algorithm<&'t T> + Serialize>(
    target: &T,
    algorithm: A,
    args: &Args,
) -> Result<(Draws, serde_json::Value), Box<dyn std::error::Error>> {
    let config = serde_json::to_value(&algorithm)?;
    let draws = Sampler::new(target, algorithm)
        .chains(args.chains)
        .warmup(args.warmup.unwrap_or(if args.quick { 2_000 } else { 20_000 }))
        .draws(args.draws.unwrap_or(if args.quick { 500 } else { 2_000 }))
        .thin(args.thin)
        .seed(args.seed)
        .run()?;
    Ok((draws, config))
}

fn write(folder: &Path, run: &Run) -> Result<(), Box<dyn std::error::Error>> {
    let Run { draws, summary, predictions, report } = run;
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    draws.to_csv(folder.join("draws.csv"))?;
    summary.to_csv(folder.join("summary.csv"))?;
    predictions.to_csv(folder.join("predictions.csv"))?;
    let json = serde_json::to_string_pretty(report)? + "\n";
    fs::write(folder.join("run.json"), json).map_err(|e| Error::io(folder.join("run.json"), e))?;
    Ok(())
}

fn print_reports(reports: &[&Report]) {
    let line = |label: &str, value: &dyn Fn(&Report) -> String| {
        print!("{label:34}");
        for report in reports {
            print!(" {:>24}", value(report));
        }
        println!();
    };
    let score = |scores: &Scores, name: &str, percent: bool, posterior: bool| {
        let Some(score) = scores.get(name) else { return "-".into() };
        let (scale, digits) = if percent { (100.0, 1) } else { (1.0, 3) };
        if posterior {
            format!("{:.digits$}", scale * score.posterior)
        } else {
            format!("{:.digits$} +- {:.digits$}", scale * score.draws_mean, scale * score.draws_sd)
        }
    };
    println!();
    line("", &|r| r.model.clone());
    line("parameters", &|r| r.parameters.to_string());
    for (set, scores) in
        [("train", (|r| &r.train) as fn(&Report) -> &Scores), ("test", |r| &r.test)]
    {
        line(&format!("{set} accuracy, posterior mean, %"), &|r| {
            score(scores(r), "accuracy", true, true)
        });
        line(&format!("{set} accuracy, single draws, %"), &|r| {
            score(scores(r), "accuracy", true, false)
        });
        line(&format!("{set} log predictive density"), &|r| {
            score(scores(r), "log_predictive_density", false, true)
        });
    }
    line("acceptance, %", &|r| {
        let rates: Vec<String> =
            r.accept_rate.iter().map(|a| format!("{:.0}", 100.0 * a)).collect();
        rates.join(" ")
    });
    line("divergent transitions", &|r| r.divergences.to_string());
    for (space, convergence) in [
        ("function space", (|r| &r.function_space) as fn(&Report) -> &Convergence),
        ("weight space", |r| &r.weight_space),
    ] {
        line(&format!("R-hat, {space}, max"), &|r| format!("{:.3}", convergence(r).rhat));
        line(&format!("bulk ESS, {space}, min"), &|r| {
            format!("{:.0}", convergence(r).ess_bulk.floor())
        });
        line(&format!("tail ESS, {space}, min"), &|r| {
            format!("{:.0}", convergence(r).ess_tail.floor())
        });
    }
    line("gradient evaluations", &|r| r.gradient_evals.to_string());
    line("seconds, warm-up + sampling", &|r| {
        format!("{:.2} + {:.2}", r.seconds_warmup, r.seconds_sampling)
    });
    println!();
    for report in reports {
        println!("{}: {}", report.model, report.verdict);
    }
}

//! How many hidden units? The evidence of networks of growing width, beside what they predict.
//!
//!     cargo run --release -p bnn-mcmc-studies -- evidence
//!
//! Networks for three species of iris, with 0 (a linear model) to 16 hidden units and N(0, 1) priors,
//! each sampled by power posteriors. The log evidence needs no held-out rows; the log predictive
//! density on 30 % of the rows, which no fit has seen, is there to compare. All in nats: a difference
//! of 3 in log evidence is odds of 20 to 1. Numbers in brackets are standard errors.

use bnn_mcmc::data::{Standardise, bundled};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Ladder;

use crate::shared::AnyError;

#[derive(clap::Args)]
pub struct Args {
    /// Fewer draws and widths, for a quick check
    #[arg(long)]
    quick: bool,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seed of the split into training and test rows
    #[arg(long, default_value_t = 1)]
    split: u64,
    /// Rungs of the ladder
    #[arg(long, default_value_t = 25)]
    rungs: usize,
    /// Draws of each of 4 chains, after as many of warm-up
    #[arg(long, default_value_t = 2_000)]
    draws: usize,
    /// Standard deviation of the prior of all weights
    #[arg(long, default_value_t = 1.0)]
    prior_sd: f64,
    /// File to write the table to, as CSV
    #[arg(long)]
    out: Option<std::path::PathBuf>,
}

pub fn run(args: Args) -> Result<(), AnyError> {
    let (train, test) = bundled::iris().stratified_split(0.3, args.split)?;
    let scaler = Standardise::new().fit_features(&train)?;
    let (train, test) = (scaler.scale_features(&train)?, scaler.scale_features(&test)?);
    let widths: &[usize] = if args.quick { &[0, 2] } else { &[0, 1, 2, 3, 4, 6, 8, 12, 16] };
    println!(
        "{:>6} {:>7} {:>16} {:>16} {:>8} {:>13} {:>9} {:>7} {:>8} {:>8}",
        "hidden",
        "weights",
        "stepping stone",
        "thermodynamic",
        "discret.",
        "log pred/row",
        "accuracy",
        "R-hat f",
        "restarts",
        "seconds"
    );
    let mut csv = args.out.as_ref().map(csv::Writer::from_path).transpose()?;
    if let Some(csv) = &mut csv {
        csv.write_record([
            "hidden",
            "weights",
            "log_evidence",
            "standard_error",
            "thermodynamic",
            "thermodynamic_error",
            "discretisation",
            "log_predictive_density",
            "accuracy",
        ])?;
    }
    let mut all: Vec<(usize, Evidence)> = Vec::new();
    for width in widths {
        let sizes = if *width == 0 { vec![4, 3] } else { vec![4, *width, 3] };
        let priors = Priors::all(Normal::new(0.0, args.prior_sd)?);
        let network = Mlp::new(&sizes, Activation::Tanh)?;
        let posterior = Posterior::new(network, Categorical, &train, priors)?;
        let algorithm = PowerPosteriors {
            ladder: Ladder::Power { rungs: args.rungs, exponent: 5.0 },
            ..PowerPosteriors::new(Mala::default())
        };
        let draws = if args.quick { 200.min(args.draws) } else { args.draws };
        let draws =
            Sampler::new(&posterior, algorithm).warmup(draws).draws(draws).seed(args.seed).run()?;
        let evidence = Evidence::of(&draws)?;
        let predictions = posterior.predict(&draws, &test)?;
        let scores = predictions.scores()?;
        let score = |name: &str| scores.get(name).map_or(f64::NAN, |s| s.posterior);
        let (s, t) = (evidence.stepping_stone, evidence.thermodynamic);
        println!(
            "{width:>6} {:>7} {:>9.2} ({:.2}) {:>9.2} ({:.2}) {:>8.3} {:>13.3} {:>7.1} % {:>7.3} \
             {:>8} {:>8.1}",
            posterior.dim(),
            s.log_evidence,
            s.standard_error,
            t.log_evidence,
            t.standard_error,
            evidence.discretisation,
            score("log_predictive_density"),
            100.0 * score("accuracy"),
            predictions.summary()?.max_rhat(),
            evidence.restarts,
            draws.info().warmup_seconds + draws.info().sampling_seconds
        );
        for warning in evidence.warnings() {
            println!("       warning: {warning}");
        }
        if let Some(csv) = &mut csv {
            csv.serialize((
                width,
                posterior.dim(),
                s.log_evidence,
                s.standard_error,
                t.log_evidence,
                t.standard_error,
                evidence.discretisation,
                score("log_predictive_density"),
                score("accuracy"),
            ))?;
        }
        all.push((*width, evidence));
    }
    if let Some(csv) = &mut csv {
        csv.flush()?;
    }
    let value = |(_, evidence): &(usize, Evidence)| evidence.stepping_stone.log_evidence;
    all.sort_by(|a, b| value(b).total_cmp(&value(a)));
    if let [(best, evidence), (second, other), ..] = &all[..] {
        let factor = evidence.bayes_factor(other);
        println!("\nmost evidence: {best} hidden units; against {second}: {factor}");
        if factor.log_bayes_factor < 2.0 * factor.standard_error {
            println!("the two cannot be told apart: run longer");
        }
        if Some(best) == widths.last() {
            println!("{best} is the widest that was tried");
        }
    }
    Ok(())
}

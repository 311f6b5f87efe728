//! The smallest network with hidden units, and what diagnostics miss about it.
//!
//!     cargo run --release -p bnn-mcmc-studies -- xor
//!
//! Exclusive or: four points, MLP(2, 2, 1) with sigmoids, nine weights; the example of Papamarkou,
//! Hinkle, Young and Womble, *Challenges in Markov chain Monte Carlo for Bayesian neural networks*,
//! Statist. Sci. 37, 2022, arXiv:1910.06539, section 6.1: ten chains of 110,000 iterations, of which
//! 10,000 are warm-up. Priors are written N(mean, variance), as there; the variances 10, 100 and 1,000
//! and the badly centred N(5, 1) are ours, since the text at hand lacks the paper's.
//!
//! The first columns are those of the paper's table 1. To their right is what they miss: whether
//! chains visited both orders of the hidden units (`modes`: effectively, of two; `moves`: how often
//! they changed), and whether they agree about the function (`f`: R-hat and ESS of the four predicted
//! probabilities).
//!
//! Then gradient descent from two initial distributions: the share of runs that learn all four
//! points. With `--out`, the solutions (for parallel coordinates), densities of each weight, of gradient
//! descent and of the posterior on the box, and the first chain of each sampler are written as CSV.

use std::path::Path;

use bnn_mcmc::diagnostics::{Density, density, density_on_box};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::targets::{Descent, DescentRule, Objective, Pass};
use ndarray::{Array3, Axis, array};

use crate::shared::AnyError;
use crate::shared::geometry::{self, Row};

type Network = Posterior<Mlp, Bernoulli>;

#[derive(clap::Args)]
pub struct Args {
    /// Short chains and few descents, for a quick check
    #[arg(long)]
    quick: bool,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Chains of each sampler
    #[arg(long, default_value_t = 10)]
    chains: usize,
    /// Draws of each chain, after a tenth as many of warm-up [default: 100000, with --quick 2000]
    #[arg(long)]
    draws: Option<usize>,
    /// Runs of gradient descent from each initial distribution [default: 1000, with --quick 50]
    #[arg(long)]
    descents: Option<usize>,
    /// Folder to write table.csv, solutions.csv, densities.csv and chains.csv to
    #[arg(long)]
    out: Option<std::path::PathBuf>,
}

/// The four points.
fn data() -> Result<Dataset, Error> {
    let x = array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
    Dataset::classification(x, vec![0, 1, 1, 0], ["0", "1"])
}

fn network(prior: impl Prior + 'static) -> Result<Network, Error> {
    let mlp = Mlp::new(&[2, 2, 1], Activation::Sigmoid)?;
    Posterior::new(mlp, Bernoulli, &data()?, Priors::all(prior))
}

pub fn run(args: Args) -> Result<(), AnyError> {
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|e| Error::io(out, e))?;
    }
    let descents = args.descents.unwrap_or(if args.quick { 50 } else { 1_000 });
    if descents == 0 {
        return Err(Error::argument("descents", 0, "at least 1").into());
    }
    let normal = |mean, variance: f64| network(Normal::new(mean, variance.sqrt())?);
    let [usual, wide, wider, off] =
        [normal(0.0, 10.0)?, normal(0.0, 100.0)?, normal(0.0, 1000.0)?, normal(5.0, 1.0)?];
    let boxed = network(Uniform::new(-10.0, 10.0)?)?;
    let mut rows = Rows { table: Vec::new(), chains: Vec::new() };
    println!("{}\n", geometry::LEGEND);
    if args.quick {
        println!("quick: chains too short to be believed\n");
    }
    println!("{}", Row::HEADER);
    let smmala = Smmala::new(SoftAbs { alpha: 1.0 });
    sample(&mut rows, "RWM", "N(0, 10)", &usual, Rwm::default(), &args)?;
    sample(&mut rows, "MALA", "N(0, 10)", &usual, Mala::default(), &args)?;
    sample(&mut rows, "MALA", "N(0, 100)", &wide, Mala::default(), &args)?;
    sample(&mut rows, "MALA", "N(0, 1000)", &wider, Mala::default(), &args)?;
    sample(&mut rows, "MALA", "N(5, 1)", &off, Mala::default(), &args)?;
    sample(&mut rows, "SMMALA", "N(0, 10)", &usual, smmala, &args)?;
    let draws =
        sample(&mut rows, "truncated MALA", "U(-10, 10)", &boxed, TruncatedMala::default(), &args)?;
    let power = || PowerPosteriors::new(Mala::default());
    sample(&mut rows, "power posteriors", "N(0, 10)", &usual, power(), &args)?;
    sample(&mut rows, "power posteriors", "N(0, 100)", &wide, power(), &args)?;
    sample(&mut rows, "power posteriors", "N(0, 1000)", &wider, power(), &args)?;
    let boxed_power = PowerPosteriors::new(TruncatedMala::default());
    sample(&mut rows, "power posteriors", "U(-10, 10)", &boxed, boxed_power, &args)?;

    println!("\ngradient descent, {descents} runs of {EPOCHS} epochs, learning rate {RATE}:");
    let mut rng = ChainRng::new(args.seed, 1_000);
    let mut solutions = Vec::new();
    for (name, prior) in [
        ("N(0, 10)", Box::new(Normal::new(0.0, 10f64.sqrt())?) as Box<dyn Prior>),
        ("U(-10, 10)", Box::new(Uniform::new(-10.0, 10.0)?)),
    ] {
        let (found, share) = descend(prior.as_ref(), descents, &mut rng)?;
        println!("  from {name:<11} {:5.1} % learn all four points", 100.0 * share);
        solutions.push((name, found));
    }
    match &args.out {
        Some(out) => write(out, &rows, &solutions, &draws),
        None => Ok(()),
    }
}

/// What is known about the runs so far, and the first chain of each.
struct Rows {
    table: Vec<Row>,
    chains: Vec<Draws>,
}

/// Draws of each first chain that are written, evenly spaced.
const WRITTEN: usize = 1_000;

/// Runs a sampler and prints its row.
fn sample<A: for<'t> Algorithm<&'t Network>>(
    rows: &mut Rows,
    name: &str,
    prior: &str,
    posterior: &Network,
    algorithm: A,
    args: &Args,
) -> Result<Draws, AnyError> {
    let draws = args.draws.unwrap_or(if args.quick { 2_000 } else { 100_000 });
    let draws = Sampler::new(posterior, algorithm)
        .chains(args.chains)
        .warmup(draws / 10)
        .draws(draws)
        .seed(args.seed)
        .run()?;
    let row = Row::new(name, prior, posterior, &data()?, &draws)?;
    row.print();
    rows.table.push(row);
    let every = draws.n_draws().div_ceil(WRITTEN).max(1);
    rows.chains.push(draws.thinned(every)?);
    Ok(draws)
}

const EPOCHS: usize = 5_000;
const RATE: f64 = 1.0;

/// Descends minus the log likelihood from draws of `prior`. Returns the weights that classify all
/// four points rightly, `[1, solution, weight]`, and their share.
fn descend(prior: &dyn Prior, runs: usize, rng: &mut ChainRng) -> Result<(Draws, f64), Error> {
    // The gradient of a uniform prior is zero: what is descended is the likelihood alone.
    let flat = network(Uniform::new(-1e6, 1e6)?)?;
    let rule = DescentRule {
        objective: Objective::LogPosterior,
        pass: Pass::Batch,
        learning_rate: RATE,
        depth: EPOCHS,
    };
    let (mut ws, dim) = (flat.workspace(), flat.dim());
    let mut ends = Array3::zeros((1, runs, dim));
    let mut q = vec![0.0; dim];
    for mut end in ends.index_axis_mut(Axis(0), 0).rows_mut() {
        prior.draw(rng, &mut q)?;
        flat.descend(&rule, &q, end.as_slice_mut().expect("in standard order"), &mut ws);
    }
    let ends = Draws::new(flat.layout().clone(), ends)?;
    let data = data()?;
    let predictions = flat.predict(&ends, &data)?;
    let right: Vec<usize> = (0..runs)
        .filter(|run| {
            let is_right = |(row, class): (usize, &usize)| {
                (predictions.mean()[(0, *run, row, 0)] > 0.5) == (*class == 1)
            };
            data.classes().is_ok_and(|classes| classes.iter().enumerate().all(is_right))
        })
        .collect();
    let solutions = ends.values().select(Axis(1), &right);
    let share = right.len() as f64 / runs as f64;
    Ok((Draws::new(flat.layout().clone(), solutions)?, share))
}

fn write(
    out: &Path,
    rows: &Rows,
    solutions: &[(&str, Draws)],
    posterior: &Draws,
) -> Result<(), AnyError> {
    let mut table =
        csv::WriterBuilder::new().has_headers(false).from_path(out.join("table.csv"))?;
    table.write_record(Row::FIELDS)?;
    for row in &rows.table {
        table.serialize(row)?;
    }
    table.flush()?;

    let names = posterior.layout().parameter_names();
    let mut parallel = csv::Writer::from_path(out.join("solutions.csv"))?;
    parallel.write_record(std::iter::once("start").chain(names.iter().map(String::as_str)))?;
    let mut densities = csv::Writer::from_path(out.join("densities.csv"))?;
    densities.write_record(["of", "parameter", "kernel", "x", "density"])?;
    let mut add = |of: &str, name: &str, kernel: &str, estimate: Density| -> Result<(), AnyError> {
        for (x, density) in estimate.x.iter().zip(&estimate.density) {
            let numbers = [x.to_string(), density.to_string()];
            densities.write_record([of, name, kernel, &numbers[0], &numbers[1]])?;
        }
        Ok(())
    };
    for (start, found) in solutions {
        for q in found.flat().rows() {
            let numbers: Vec<String> = q.iter().map(ToString::to_string).collect();
            parallel
                .write_record(std::iter::once(*start).chain(numbers.iter().map(String::as_str)))?;
        }
        // A density takes two solutions that differ.
        for name in names.iter().filter(|_| found.n_draws() > 1) {
            let estimate = density(found.parameter(name)?, None, 400)?;
            add(&format!("gradient descent from {start}"), name, "Gaussian", estimate)?;
        }
    }
    let kept = geometry::kept(posterior)?;
    for name in &names {
        let estimate = density_on_box(kept.parameter(name)?, -10.0, 10.0, None, 400)?;
        add("posterior under U(-10, 10)", name, "Beta", estimate)?;
    }
    parallel.flush()?;

    let mut chains = csv::Writer::from_path(out.join("chains.csv"))?;
    let first = ["sampler", "prior", "draw"].into_iter();
    chains.write_record(first.chain(names.iter().map(String::as_str)))?;
    for (row, draws) in rows.table.iter().zip(&rows.chains) {
        for (draw, q) in draws.values().index_axis(Axis(0), 0).rows().into_iter().enumerate() {
            // Counted from the first, before draws were left out.
            let draw = (draw + 1) * draws.info().thin - 1;
            let start = [row.sampler.clone(), row.prior.clone(), draw.to_string()];
            chains.write_record(start.into_iter().chain(q.iter().map(f64::to_string)))?;
        }
    }
    chains.flush()?;
    Ok(())
}

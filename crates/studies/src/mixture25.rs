//! Twenty-five modes far apart: who finds them, at equal numbers of density evaluations.
//!
//!     cargo run --release -p bnn-mcmc-studies -- mixture25
//!
//! The target is an equal mixture of 25 normals with standard deviation 0.2 on a 5 x 5 grid of
//! spacing 4: neighbours are 20 standard deviations apart. Power posteriors temper it towards
//! N(0, 8^2 I). Every sampler gets the evaluations that power posteriors spend: number of rungs times
//! number of draws of the cold chain; the others are thinned to the same number of draws.
//!
//! Printed for each chain's draws: the share of the 25 modes that it found, and the total-variation
//! error of their weights, 1/2 sum |share of the draws - 1/25| (0 is perfect, 0.96 is one mode).

use bnn_mcmc::draws::LadderReport;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::sampler::Ladder;
use bnn_mcmc::targets::WithReference;

use crate::shared::AnyError;
use crate::shared::grid::Grid;

/// Neighbours are 20 standard deviations apart.
const GRID: Grid = Grid { spacing: 4.0, sd: 0.2 };

#[derive(clap::Args)]
pub struct Args {
    /// Fewer draws, for a quick check
    #[arg(long)]
    quick: bool,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draws of each chain
    #[arg(long, default_value_t = 200_000)]
    draws: usize,
    /// Chains of each sampler
    #[arg(long, default_value_t = 4)]
    chains: usize,
    /// Rungs of the ladder
    #[arg(long, default_value_t = 13)]
    rungs: usize,
    /// Folder to write summary.csv and draws.csv of the power posteriors to
    #[arg(long)]
    out: Option<std::path::PathBuf>,
}

pub fn run(args: Args) -> Result<(), AnyError> {
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|e| Error::io(out, e))?;
    }
    let draws = if args.quick { 4_000.min(args.draws) } else { args.draws };
    let target = WithReference::new(GRID, Normal::new(0.0, 8.0)?);
    let power = PowerPosteriors {
        ladder: Ladder::Power { rungs: args.rungs, exponent: 5.0 },
        ..PowerPosteriors::new(Rwm::default())
    };
    println!(
        "{} chains of {draws} draws; {} density evaluations per chain and sampler, warm-up apart\n",
        args.chains,
        args.rungs * draws
    );
    println!(
        "{:<17} {:>11} {:>7} {:>10} {:>7} {:>8}",
        "", "modes found", "fewest", "TV error", "worst", "seconds"
    );
    sample("RWM", &target, Rwm::default(), &args, draws, args.rungs)?;
    sample("MALA", &target, Mala::default(), &args, draws, args.rungs)?;
    sample("pCN", &target, Pcn::default(), &args, draws, args.rungs)?;
    let population = sample("power posteriors", &target, power, &args, draws, 1)?;

    println!("\nthe ladder of the first chain:\n{}", LadderReport::of(&population)?[0]);
    println!("exact log evidence 0\n{}", Evidence::of(&population)?);
    if let Some(out) = &args.out {
        population.summary()?.to_csv(out.join("summary.csv"))?;
        population.to_csv(out.join("draws.csv"))?;
    }
    Ok(())
}

fn sample<A: for<'t> Algorithm<&'t WithReference<Grid, Normal>>>(
    name: &str,
    target: &WithReference<Grid, Normal>,
    algorithm: A,
    args: &Args,
    draws: usize,
    thin: usize,
) -> Result<Draws, Error> {
    let sampler = Sampler::new(target, algorithm).chains(args.chains).seed(args.seed);
    let drawn = sampler.warmup((draws / 10).max(1_000)).draws(draws).thin(thin).run()?;
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for chain in drawn.values().outer_iter() {
        let mut counts = [0usize; Grid::MODES];
        for q in chain.rows() {
            counts[GRID.nearest(&[q[0], q[1]]).0] += 1;
        }
        found.push(counts.iter().filter(|c| **c > 0).count());
        let difference = |c: &usize| (*c as f64 / draws as f64 - 1.0 / Grid::MODES as f64).abs();
        errors.push(0.5 * counts.iter().map(difference).sum::<f64>());
    }
    let chains = args.chains as f64;
    println!(
        "{name:<17} {:>9.1} % {:>7} {:>10.3} {:>7.3} {:>8.1}",
        100.0 * found.iter().sum::<usize>() as f64 / (chains * Grid::MODES as f64),
        found.iter().min().copied().unwrap_or(0),
        errors.iter().sum::<f64>() / chains,
        errors.iter().copied().fold(0.0, f64::max),
        drawn.info().warmup_seconds + drawn.info().sampling_seconds
    );
    Ok(drawn)
}

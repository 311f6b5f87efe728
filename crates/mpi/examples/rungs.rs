//! The evidence of a network by 32 rungs on all ranks.
//!
//! ```text
//! mpirun -n 4 cargo run --release --example rungs -- --out draws.csv
//! ```

mod shared;

use bnn_mcmc::data::{Standardise, bundled};
use bnn_mcmc::evidence::Evidence;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Ladder, PowerPosteriors};
use bnn_mcmc_mpi::World;
use clap::Parser;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    run: shared::Run,
    #[arg(long, default_value_t = 32)]
    rungs: usize,
    /// Copies of the rows, for a density that costs more.
    #[arg(long, default_value_t = 1)]
    copies: usize,
    /// Hidden units.
    #[arg(long, default_value_t = 8)]
    hidden: usize,
}

fn main() -> Result<(), Error> {
    let args = Args::parse();
    World::run(|world| rungs(&args, world))
}

fn rungs(args: &Args, world: &World) -> Result<(), Box<dyn std::error::Error>> {
    let stop = shared::listen()?;
    let (train, _) = bundled::iris().stratified_split(0.3, 1)?;
    let train = Standardise::new().fit_features(&train)?.scale_features(&train)?;
    let copied: Vec<usize> = (0..args.copies).flat_map(|_| 0..train.rows()).collect();
    let train = train.select(&copied)?;
    let network = Mlp::new(&[4, args.hidden, 3], Activation::Tanh)?;
    let priors = Priors::all(Normal::new(0.0, 1.0)?);
    let posterior = Posterior::new(network, Categorical, &train, priors)?;
    let ladder = Ladder::Power { rungs: args.rungs, exponent: 5.0 };
    let algorithm = PowerPosteriors { ladder, ..PowerPosteriors::new(Mala::default()) };
    let draws = algorithm.on_ranks(&world.ranks(), &posterior, |algorithm| {
        args.run.sample(Sampler::new(&posterior, algorithm), &stop)
    });
    // On rank 0.
    if let Some(draws) = draws {
        let draws = draws?;
        if args.run.report(&draws, world.size())? {
            println!("{}", Evidence::of(&draws)?);
        }
    }
    Ok(())
}

//! Chains on ranks: the network of the iris study, each rank with some of the chains, in a folder and with a checkpoint of its own.
//!
//! ```text
//! mpirun -n 4 cargo run --release --example chains -- --chains 8 --folder run --out draws.csv
//! ```

mod shared;

use std::path::PathBuf;

use bnn_mcmc::data::{Standardise, bundled};
use bnn_mcmc::draws::Draws;
use bnn_mcmc::prelude::*;
use bnn_mcmc_mpi::World;
use clap::Parser;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    run: shared::Run,
    /// The folder of the parts, which all ranks can write to.
    #[arg(long)]
    folder: PathBuf,
}

fn main() -> Result<(), Error> {
    let args = Args::parse();
    World::run(|world| chains(&args, world))
}

fn chains(args: &Args, world: &World) -> Result<(), Box<dyn std::error::Error>> {
    let stop = shared::listen()?;
    let (train, test) = bundled::iris().stratified_split(0.3, 1)?;
    let scaler = Standardise::new().fit_features(&train)?;
    let (train, test) = (scaler.scale_features(&train)?, scaler.scale_features(&test)?);
    let network = Mlp::new(&[4, 10, 3], Activation::Tanh)?;
    let priors = Priors::all(Normal::new(0.0, 1.0)?);
    let posterior = Posterior::new(network, Categorical, &train, priors)?;
    let own = world.chains(args.run.chains);
    std::fs::create_dir_all(&args.folder)?;
    let part = |first: usize| args.folder.join(format!("from-chain-{first}"));
    let mut is_whole = true;
    if !own.is_empty() {
        let checkpoint = part(own.start).with_extension("checkpoint");
        let run = shared::Run { checkpoint: Some(checkpoint), ..args.run.clone() };
        let sampler = Sampler::new(&posterior, Nuts::default()).only_chains(own.clone());
        is_whole = shared::save_part(&run.sample(sampler, &stop)?, &part(own.start))?;
    }
    if !world.all(is_whole) {
        return Ok(()); // asked to end: the same command goes on
    }
    if world.rank() == 0 {
        let firsts = (0..world.size()).map(|rank| rank * args.run.chains / world.size());
        let mut firsts: Vec<usize> = firsts.collect();
        firsts.dedup();
        let parts: Result<Vec<Draws>, Error> =
            firsts.into_iter().map(|first| Draws::from_zarr(part(first))).collect();
        let draws = Draws::merge(parts?)?;
        args.run.report(&draws, world.size())?;
        println!("{}", posterior.predict(&draws, &test)?.scores()?);
    }
    Ok(())
}

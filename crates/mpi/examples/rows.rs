//! A network on many rows, of which each rank has some.
//!
//! ```text
//! mpirun -n 4 cargo run --release --example rows -- --rows 1000000 --file rows --out draws.csv
//! ```
//!
//! Rank 0 simulates the table into a file, block by block, unless it is there; every rank reads its own rows of it.

mod shared;

use std::path::PathBuf;
use std::time::Instant;

use bnn_mcmc::data::simulate::Regression;
use bnn_mcmc::data::{RowFile, Stored};
use bnn_mcmc::prelude::*;
use bnn_mcmc_mpi::World;
use clap::Parser;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    run: shared::Run,
    #[arg(long, default_value_t = 200_000)]
    rows: usize,
    #[arg(long, default_value_t = 20)]
    features: usize,
    /// Hidden units of each of two layers.
    #[arg(long, default_value_t = 50)]
    hidden: usize,
    /// The file of the rows, which all ranks can read.
    #[arg(long)]
    file: PathBuf,
    /// Only the time of a gradient, of so many.
    #[arg(long)]
    gradients: Option<usize>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let (world, stop) = (World::new()?, shared::listen()?);
    if world.rank() == 0 && !args.file.exists() {
        let Args { rows, features, .. } = args;
        let mut writer = RowFile::create(&args.file, Stored::F32)?;
        for block in (Regression { rows, features, ..Regression::default() }).blocks(1, 10_000)? {
            writer.push(&block?)?;
        }
        writer.finish()?;
    }
    world.wait_for_all();
    let rows = RowFile::open(&args.file)?;
    let network = Mlp::new(&[args.features, args.hidden, args.hidden, 1], Activation::Tanh)?;
    let priors =
        Priors::by_fan_in(&network).with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
    let posterior = Posterior::on_file(network, Gaussian::sampled(), &rows, priors)?;
    let hmc = Hmc { step_size: 1e-3, path_length: 0.02, ..Hmc::default() };
    let done = posterior.on_ranks(world.ranks(), |target| {
        let Some(n) = args.gradients else {
            return args.run.sample(Sampler::new(target, hmc), &stop).map(Some);
        };
        let (mut q, mut grad) = (vec![0.01; target.dim()], vec![0.0; target.dim()]);
        let mut ws = target.workspace();
        let mut seconds: Vec<f64> = (0..n)
            .map(|i| {
                q[0] = i as f64;
                let begun = Instant::now();
                let _ = target.log_density_grad(&q, &mut grad, &mut ws);
                begun.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        println!(
            "{} ranks: {:.2} ms a gradient (median of {n})",
            world.size(),
            1e3 * seconds[n / 2]
        );
        Ok(None)
    });
    // On rank 0.
    if let Some(draws) = done.transpose()?.flatten() {
        args.run.report(&draws, world.size())?;
    }
    Ok(())
}

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
use bnn_mcmc::targets::GradTarget;
use bnn_mcmc_mpi::{World, part_of};
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
    /// Teams of ranks, each with some of the chains.
    #[arg(long, default_value_t = 1)]
    teams: usize,
    /// Only the time of a gradient, of so many.
    #[arg(long)]
    gradients: Option<usize>,
    /// Threads in the place of ranks, for the time of a gradient.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> Result<(), Error> {
    let args = Args::parse();
    World::run(|world| rows(&args, world))
}

fn rows(args: &Args, world: &World) -> Result<(), Box<dyn std::error::Error>> {
    let stop = shared::listen()?;
    if world.rank() == 0 && !args.file.exists() {
        let Args { rows, features, .. } = *args;
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
    let (team, ranks) = world.teams(args.teams)?;
    let own = part_of(args.run.chains, team, args.teams);
    let part = |team: usize| args.file.with_extension(format!("team-{team}"));
    let mut is_whole = true;
    let done = posterior.on_ranks(&ranks, |target| -> Result<_, Box<dyn std::error::Error>> {
        let Some(n) = args.gradients else {
            let sampler = Sampler::new(target, hmc);
            if args.teams == 1 {
                return Ok(Some(args.run.sample(sampler, &stop)?));
            }
            let checkpoint = args.run.checkpoint.clone();
            let checkpoint = checkpoint.map(|path| path.with_extension(format!("team-{team}")));
            let run = shared::Run { checkpoint, ..args.run.clone() };
            is_whole =
                shared::save_part(&run.sample(sampler.only_chains(own), &stop)?, &part(team))?;
            return Ok(None);
        };
        match args.threads {
            None => timed(target, n, &format!("{} ranks", world.size())),
            Some(threads) => {
                let pool =
                    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                pool.install(|| timed(&posterior, n, &format!("{threads} threads")));
            }
        }
        Ok(None)
    });
    let mut draws = done.transpose()?.flatten();
    if args.teams > 1 && args.gradients.is_none() {
        if !world.all(is_whole) {
            return Ok(()); // asked to end: the same command goes on
        }
        if world.rank() == 0 {
            let parts: Result<Vec<Draws>, _> =
                (0..args.teams).map(|team| Draws::from_zarr(part(team))).collect();
            draws = Some(Draws::merge(parts?)?);
        }
    }
    // On rank 0.
    if let Some(draws) = draws {
        args.run.report(&draws, world.size())?;
    }
    Ok(())
}

/// Prints the time of `n` gradients.
fn timed<T: GradTarget>(target: &T, n: usize, what: &str) {
    let (mut q, mut grad) = (vec![0.01; target.dim()], vec![0.0; target.dim()]);
    let mut ws = target.workspace();
    let gradient = |i: usize| {
        q[0] = i as f64;
        let begun = Instant::now();
        let _ = target.log_density_grad(&q, &mut grad, &mut ws);
        begun.elapsed().as_secs_f64()
    };
    let mut seconds: Vec<f64> = (0..n).map(gradient).collect();
    seconds.sort_by(f64::total_cmp);
    println!("{what}: {:.2} ms a gradient (median of {n})", 1e3 * seconds[n / 2]);
}

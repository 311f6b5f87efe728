//! From which size do ranks pay? A model of the cost of a step, beside what these ranks measure.
//!
//! ```text
//! mpirun -n 4 target/release/examples/plan
//! mpirun -n 4 target/release/examples/plan --rows 500000000 --latency 2e-6 --bandwidth 1.2e9 --cores 1000
//! ```
//!
//! With g the seconds of a gradient on one core, d coordinates, S shares of the rows (at most 64), K rungs, R ranks, l seconds for a
//! message and B bytes a second between two ranks:
//!
//! ```text
//! rows     g ceil(S/R)/S + (l + 8 d/B) ceil(log2 R) + (R - 1) (l + 8 (d + 1) S/(R B))
//! rungs    g ceil(K/R) + 2 (R - 1) (l + 18 d K/(R B))
//! chains   g, of each rank its own
//! ```
//!
//! A gradient sends q on by a tree, and the sums of every share to rank 0; a rung sends its position and gradient there and back, at 9
//! bytes a number. g is measured on this core, and l and B between ranks 0 and 1, unless they are given. Cores that share caches and
//! memory are slower together, which the model does not know, and more ranks than cores share these.

use std::time::Instant;

use bnn_mcmc::data::simulate::Regression;
use bnn_mcmc::prelude::*;
use bnn_mcmc::ranks::Ranks;
use bnn_mcmc::targets::GradTarget;
use bnn_mcmc_mpi::World;
use clap::Parser;

#[derive(Parser)]
struct Args {
    /// Rows that are planned for.
    #[arg(long, default_value_t = 500_000_000)]
    rows: usize,
    /// Rows that are measured.
    #[arg(long, default_value_t = 40_000)]
    measured: usize,
    #[arg(long, default_value_t = 50)]
    hidden: usize,
    #[arg(long, default_value_t = 32)]
    rungs: usize,
    #[arg(long, default_value_t = 1000)]
    cores: usize,
    /// Seconds of a message.
    #[arg(long)]
    latency: Option<f64>,
    /// Bytes a second.
    #[arg(long)]
    bandwidth: Option<f64>,
}

/// The seconds of messages.
#[derive(Clone, Copy)]
struct Network {
    latency: f64,
    bandwidth: f64,
}

/// Seconds of a gradient, with its coordinates and shares.
#[derive(Clone, Copy)]
struct Gradient {
    seconds: f64,
    dim: f64,
    shares: f64,
}

impl Network {
    fn of_rows(self, g: Gradient, ranks: f64) -> f64 {
        let to_all = (self.latency + 8.0 * g.dim / self.bandwidth) * ranks.log2().ceil();
        let bytes = 8.0 * (g.dim + 1.0) * g.shares / ranks;
        let back = (ranks - 1.0) * (self.latency + bytes / self.bandwidth);
        g.seconds * (g.shares / ranks).ceil() / g.shares + to_all + back
    }

    fn of_rungs(self, g: Gradient, rungs: f64, ranks: f64) -> f64 {
        let bytes = 18.0 * g.dim * rungs / ranks;
        g.seconds * (rungs / ranks).ceil()
            + 2.0 * (ranks - 1.0) * (self.latency + bytes / self.bandwidth)
    }
}

/// The median of so many times.
fn median(n: usize, mut time: impl FnMut() -> f64) -> f64 {
    let mut seconds: Vec<f64> = (0..n).map(|_| time()).collect();
    seconds.sort_by(f64::total_cmp);
    seconds[n / 2]
}

/// Seconds of a message of so many bytes, by messages there and back between ranks 0 and 1.
fn message(ranks: &dyn Ranks, bytes: usize) -> f64 {
    const THERE: u32 = 30_000;
    let text = vec![1; bytes];
    let other = 1 - ranks.rank();
    median(50, || {
        let begun = Instant::now();
        if ranks.rank() == 0 {
            ranks.send(other, THERE, &text);
            ranks.receive(other, THERE);
        } else {
            let back = ranks.receive(other, THERE);
            ranks.send(other, THERE, &back);
        }
        begun.elapsed().as_secs_f64() / 2.0
    })
}

fn gradient<T: GradTarget>(target: &T) -> f64 {
    let (mut q, mut grad) = (vec![0.01; target.dim()], vec![0.0; target.dim()]);
    let mut ws = target.workspace();
    median(15, || {
        q[0] += 1e-3;
        let begun = Instant::now();
        let _ = target.log_density_grad(&q, &mut grad, &mut ws);
        begun.elapsed().as_secs_f64()
    })
}

fn main() -> Result<(), Error> {
    let args = Args::parse();
    World::run(|world| plan(&args, world))
}

fn plan(args: &Args, world: &World) -> Result<(), Box<dyn std::error::Error>> {
    let (ranks, size) = (world.ranks(), world.size() as f64);
    let table = Regression { rows: args.measured, features: 20, ..Regression::default() };
    let table = table.draw(1)?;
    let network = Mlp::new(&[20, args.hidden, args.hidden, 1], Activation::Tanh)?;
    let priors = Priors::all(Normal::new(0.0, 0.3)?);
    let posterior = Posterior::new(network, Gaussian::fixed(0.5)?, &table, priors)?;
    let measured = if size > 1.0 && world.rank() < 2 {
        let (few, many) = (message(&*ranks, 8), message(&*ranks, 1 << 22));
        Network { latency: few, bandwidth: (1 << 22) as f64 / (many - few) }
    } else {
        Network { latency: 0.0, bandwidth: f64::INFINITY }
    };
    world.wait_for_all();
    let one = if world.rank() == 0 { gradient(&posterior) } else { 0.0 };
    let together = posterior.on_ranks(&ranks, |target| gradient(target));
    let Some(together) = together else { return Ok(()) };
    let dim = posterior.dim() as f64;
    let of = |rows: usize| {
        let work = 3.0 * rows as f64 * dim / (1 << 22) as f64;
        let shares = 2f64.powf(work.clamp(1.0, 64.0).log2().floor());
        Gradient { seconds: one * rows as f64 / args.measured as f64, dim, shares }
    };
    let here = of(args.measured);
    println!(
        "{} rows x {dim} weights: a gradient takes {:.2} ms on one core; a message {:.1} us, {:.2} GB/s",
        args.measured,
        1e3 * one,
        1e6 * measured.latency,
        measured.bandwidth / 1e9
    );
    println!(
        "rows on {size} ranks: {:.2} ms, by the model {:.2}",
        1e3 * together,
        1e3 * measured.of_rows(here, size)
    );

    let given = Network {
        latency: args.latency.unwrap_or(measured.latency),
        bandwidth: args.bandwidth.unwrap_or(measured.bandwidth),
    };
    println!(
        "\nmessages of {:.1} us, {:.2} GB/s; the model, in ms",
        1e6 * given.latency,
        given.bandwidth / 1e9
    );
    println!(
        "{:>12} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "rows", "1 core", "2 ranks", "8", "64", "32 rungs"
    );
    for rows in [1_000, 10_000, 100_000, 1_000_000, 10_000_000, args.rows] {
        let g = of(rows);
        let [two, eight, most] = [2.0, 8.0, 64.0].map(|ranks| 1e3 * given.of_rows(g, ranks));
        let rungs = 1e3 * given.of_rungs(g, args.rungs as f64, 32.0);
        let alone = 1e3 * g.seconds;
        println!("{rows:>12} {alone:>10.3} {two:>10.3} {eight:>10.3} {most:>10.3} {rungs:>10.3}");
    }
    let first = (0..60).map(|i| 1000.0 * 1.25f64.powi(i)).find(|rows| {
        let g = of(*rows as usize);
        given.of_rows(g, 2.0) < 0.6 * g.seconds
    });
    if let Some(rows) = first {
        let g = of(rows as usize).seconds;
        println!(
            "two ranks are at least 1.67 times as fast from {rows:.0} rows on, {:.2} ms a gradient",
            1e3 * g
        );
    }
    let g = of(args.rows);
    let of_team = args.cores.clamp(1, 64);
    println!(
        "{} cores, {} rows: {} chains, each on {of_team} ranks: {:.2} s a gradient, in place of {:.0} s on one core",
        args.cores,
        args.rows,
        args.cores / of_team,
        given.of_rows(g, of_team as f64),
        g.seconds
    );
    Ok(())
}

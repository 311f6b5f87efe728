//! The bias of Langevin integrators, without Monte Carlo noise, and its order.
//!
//!     cargo run --release -p bnn-mcmc-studies -- langevin_1d
//!
//! The potential U = q^2 (0.1 + sin^2 q) at B = 1, which the dissertation *Bayesian uncertainty reduction
//! analysis by Langevin dynamics sampling* uses, has wells at 0 and near +-pi, and further ones that lie 24
//! kT behind barriers: no run reaches them, and averages are those over |q| < 3 pi/2. The stationary averages
//! of q^2 and U under each integrator come from its transition operator, discretised
//! (`shared/transition.rs` says how, and how well); the chain reflects at the ends of the interval, whose
//! probability is of order e^-24. At the largest step size of each table the crate's own kernel is run, without
//! an interval, and compared. A bias that is proportional to h^r lies on a line of slope r in logarithms: r is
//! printed as the observed order. With `--out`, the biases, and chains of BAOAB in the setting of the
//! dissertation's figure 1 (10,000 steps of 0.1 at friction 1 from q = -1.094) are written as CSV.

use std::path::{Path, PathBuf};

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use ndarray::ArrayView2;

use crate::shared::AnyError;
use crate::shared::transition::{Integrator, THREE_WELLS, exact, order, stationary};

#[derive(clap::Args)]
pub struct Args {
    /// Shorter simulations, for a quick check
    #[arg(long)]
    quick: bool,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder to write bias.csv and draws.csv to
    #[arg(long)]
    out: Option<PathBuf>,
}

/// log pi = -U.
struct Wells;

impl Target for Wells {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-(THREE_WELLS.u)(q[0]))
    }
}

impl GradTarget for Wells {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad[0] = -(THREE_WELLS.du)(q[0]);
        self.log_density(q, ws)
    }
}

/// The averages that are compared.
const AVERAGES: [fn(f64) -> f64; 2] = [|q| q * q, THREE_WELLS.u];

pub fn run(args: Args) -> Result<(), AnyError> {
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|e| Error::io(out, e))?;
    }
    let mut biases = Vec::new();
    let truth = exact(THREE_WELLS, AVERAGES);
    println!("U = q^2 (0.1 + sin^2 q), |q| < 3 pi/2, B = 1");
    println!("exact averages: q^2 {:.6}, U {:.6}", truth[0], truth[1]);

    let em = [0.004, 0.006, 0.009, 0.0135, 0.02];
    let found = table("Euler-Maruyama", Integrator::EulerMaruyama, &em, "1 +- 0.2", |h| {
        simulate(&args, 0, EulerMaruyama { step_size: h, ..EulerMaruyama::default() })
    })?;
    biases.extend(found);
    let lm = [0.004, 0.0075, 0.014, 0.027, 0.05];
    let found =
        table("Leimkuhler-Matthews", Integrator::LeimkuhlerMatthews, &lm, "2 +- 0.3", |h| {
            let kept = LeimkuhlerMatthews::new(FullGrad);
            simulate(&args, 1, LeimkuhlerMatthews { step_size: h, ..kept })
        })?;
    biases.extend(found);
    let steps = [0.1, 0.15, 0.2, 0.25, 0.3];
    for (stream, friction, hermite, expected) in
        [(2, 1.0, 16, "at least 1.8"), (3, 50.0, 6, "4 +- 0.4")]
    {
        let name = format!("BAOAB, friction {friction}");
        let integrator = Integrator::Baoab { friction, hermite };
        let found = table(&name, integrator, &steps, expected, |h| {
            simulate(&args, stream, Baoab { step_size: h, friction, ..Baoab::new(FullGrad) })
        })?;
        biases.extend(found);
    }
    println!(
        "\nAt friction 50 a step of BAOAB is one of Leimkuhler-Matthews with h^2/2: 0.3 there is 0.045."
    );
    match &args.out {
        Some(out) => write(out, &biases, &args),
        None => Ok(()),
    }
}

/// The bias of both averages by an integrator with a step size.
struct Bias {
    integrator: String,
    h: f64,
    bias: [f64; 2],
}

/// Writes the biases, and chains in the setting of the dissertation's figure 1.
fn write(out: &Path, biases: &[Bias], args: &Args) -> Result<(), AnyError> {
    let mut csv = csv::Writer::from_path(out.join("bias.csv"))?;
    csv.write_record(["integrator", "h", "bias_q2", "bias_u"])?;
    for Bias { integrator, h, bias } in biases {
        csv.serialize((integrator, h, bias[0], bias[1]))?;
    }
    csv.flush()?;

    let chains = 4;
    let baoab = Baoab { step_size: 0.1, friction: 1.0, ..Baoab::new(FullGrad) };
    let draws = Sampler::new(&Wells, baoab)
        .chains(chains)
        .warmup(0)
        .draws(10_000)
        .seed(args.seed)
        .init(Init::Points(vec![vec![-1.09441427]; chains]))
        .run()?;
    // With m = B = 1 it is p^2.
    let temperature = draws.stat("kinetic_temperature")?;
    let mut csv = csv::Writer::from_path(out.join("draws.csv"))?;
    csv.write_record(["chain", "draw", "q", "size_of_p"])?;
    for ((chain, draw), q) in draws.parameter("q[0]")?.indexed_iter() {
        csv.serialize((chain, draw, q, temperature[(chain, draw)].sqrt()))?;
    }
    csv.flush()?;
    Ok(())
}

/// Prints the biases for all step sizes, their orders, and the simulation at the largest.
fn table(
    name: &str,
    integrator: Integrator,
    steps: &[f64],
    expected: &str,
    simulate: impl Fn(f64) -> Result<[[f64; 2]; 2], Error>,
) -> Result<Vec<Bias>, Error> {
    let truth = exact(THREE_WELLS, AVERAGES);
    let points = if matches!(integrator, Integrator::Baoab { .. }) { 100 } else { 200 };
    println!("\n{name}\n{:>10} {:>14} {:>14}", "h", "bias of q^2", "bias of U");
    let mut biases = [const { Vec::new() }; 2];
    for h in steps {
        let averages = stationary(THREE_WELLS, integrator, *h, points, AVERAGES);
        for k in 0..2 {
            biases[k].push(averages[k] - truth[k]);
        }
        println!("{h:10} {:+14.7} {:+14.7}", averages[0] - truth[0], averages[1] - truth[1]);
    }
    let of = |k: usize| order(steps, &biases[k].iter().map(|b: &f64| b.abs()).collect::<Vec<_>>());
    println!("{:>10} {:14.2} {:14.2}   (theory: {expected})", "order", of(0), of(1));
    let [means, errors] = simulate(steps[steps.len() - 1])?;
    let bias = |k: usize| means[k] - truth[k];
    println!("{:>10} {:+14.4} {:+14.4}   at the largest h", "simulated", bias(0), bias(1));
    println!("{:>10} {:14.4} {:14.4}", "+-", errors[0], errors[1]);
    let last = |k: usize| biases[k][biases[k].len() - 1];
    let z = |k: usize| (bias(k) - last(k)) / errors[k];
    println!("{:>10} {:+14.1} {:+14.1}   standard errors", "off by", z(0), z(1));
    let of_step = |(k, h): (usize, &f64)| {
        let bias = [biases[0][k], biases[1][k]];
        Bias { integrator: name.into(), h: *h, bias }
    };
    Ok(steps.iter().enumerate().map(of_step).collect())
}

/// Simulated averages, and their standard errors from the differences between chains.
fn simulate<A>(args: &Args, stream: u64, algorithm: A) -> Result<[[f64; 2]; 2], Error>
where
    A: for<'t> Algorithm<&'t Wells>,
{
    let chains = 32;
    let draws = Sampler::new(&Wells, algorithm)
        .chains(chains)
        .warmup(20_000)
        .draws(if args.quick { 2_000 } else { 12_500 })
        .thin(40)
        .seed(args.seed.wrapping_mul(4).wrapping_add(stream))
        .init(Init::Around { centre: vec![0.0], sd: 0.3 })
        .run()?;
    let of = AVERAGES.map(|f| {
        let of_chain = |c: ArrayView2<f64>| c.iter().map(|q| f(*q)).sum::<f64>() / c.len() as f64;
        let means: Vec<f64> = draws.values().outer_iter().map(of_chain).collect();
        let mean = means.iter().sum::<f64>() / chains as f64;
        let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (chains - 1) as f64;
        [mean, (variance / chains as f64).sqrt()]
    });
    Ok([[of[0][0], of[1][0]], [of[0][1], of[1][1]]])
}

//! Where is the uncertainty of each method wrong? One input with a gap in it, the exact posterior
//! beside each method that is used instead of sampling.
//!
//!     cargo run --release -p bnn-mcmc-studies -- gap_1d
//!     cargo run --release -p bnn-mcmc-studies -- gap_1d --out gap.csv
//!
//! A network with one layer of tanh units, priors by fan-in, normal noise of known standard
//! deviation; 40 rows with inputs from (-2, -0.7) and (0.7, 2). The exact posterior is from MAMS
//! with the output layer integrated out. For each method the table has, over inputs near the data,
//! in the gap, and beyond the data (from 2 to 3 and -3 to -2), the mean of its standard deviation
//! of the mean function over the exact one, and how far its mean is from the exact one in exact
//! standard deviations. `--out` writes mean and standard deviation of every method at every input.

use std::time::Instant;

use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Axis};

use crate::shared::AnyError;
use crate::shared::distance::{distance, moments};
use crate::shared::rivals::{Rival, Settings, rivals};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    settings: Settings,
    /// Hidden units.
    #[arg(long, default_value_t = 50)]
    hidden: usize,
    /// Rows.
    #[arg(long, default_value_t = 40)]
    rows: usize,
    /// The standard deviation of the noise.
    #[arg(long, default_value_t = 0.1)]
    noise: f64,
    /// Draws of each of four chains of the exact posterior, after as many of warm-up.
    #[arg(long, default_value_t = 1000)]
    exact: usize,
    /// A CSV file for the mean and the standard deviation of every method at every input.
    #[arg(long)]
    out: Option<String>,
    /// Short trainings and chains: to see that it works.
    #[arg(long)]
    quick: bool,
}

const EDGES: [f64; 2] = [0.7, 2.0];
/// The inputs of the table: to here on both sides.
const END: f64 = 3.0;

fn data(rows: usize, noise: f64, seed: u64) -> Result<Dataset, bnn_mcmc::Error> {
    let mut rng = ChainRng::new(seed, 0);
    let input = |(i, _)| {
        let x = EDGES[0] + (EDGES[1] - EDGES[0]) * rng.uniform();
        if i % 2 == 0 { x } else { -x }
    };
    let x = Array2::from_shape_fn((rows, 1), input);
    let y = x.column(0).mapv(|x| (2.0 * x).sin() + 0.5 * x + noise * rng.normal());
    Dataset::regression(x, y)
}

pub fn run(mut args: Args) -> Result<(), AnyError> {
    if args.quick {
        (args.settings.steps, args.settings.noisy_steps) = (300, 400);
        (args.settings.members, args.exact, args.hidden) = (3, 100, 8);
    }
    let settings = &args.settings;
    let train = data(args.rows, args.noise, settings.seed)?;
    let chosen_on = data(args.rows, args.noise, settings.seed + 1)?;
    let network = Mlp::new(&[1, args.hidden, 1], Activation::Tanh)?;
    let priors = Priors::by_fan_in(&network);
    let posterior = Posterior::new(network, Gaussian::fixed(args.noise)?, &train, priors)?;
    // Other rows of the same curve.
    let mut methods = rivals(&posterior, (&posterior, &chosen_on), settings)?;
    let began = Instant::now();
    let exact = Sampler::new(&posterior, Collapsed::new(Mams::default()))
        .warmup(args.exact)
        .draws(args.exact)
        .seed(settings.seed)
        .init(Init::Around { centre: vec![0.0; posterior.layout().dim()], sd: 0.1 })
        .run()?;
    methods.push(Rival::new("exact", exact, began.elapsed().as_secs_f64()));

    let grid = Array1::linspace(-END, END, 121);
    // The response plays no part in the mean function.
    let at = Dataset::regression(grid.clone().insert_axis(Axis(1)), Array1::zeros(121))?;
    let all: Result<Vec<Array2<f64>>, bnn_mcmc::Error> = methods
        .iter()
        .map(|method| Ok(moments(method.predict(&posterior, &at)?.quantities())))
        .collect();
    let all = all?;
    let (exact, last) = (all.last().ok_or("no method")?, methods.len() - 1);
    println!("{} rows; network 1-{}-1, noise {}", args.rows, args.hidden, args.noise);
    println!(
        "{:26} {:>8}   {:^23}   {:^23}",
        "", "", "sd over the exact sd", "distance of the mean"
    );
    println!(
        "{:26} {:>8}   {:>7} {:>7} {:>7}   {:>7} {:>7} {:>7}",
        "", "seconds", "data", "gap", "beyond", "data", "gap", "beyond"
    );
    let regions: [&dyn Fn(f64) -> bool; 3] =
        [&|x| (EDGES[0]..=EDGES[1]).contains(&x.abs()), &|x| x.abs() < EDGES[0], &|x| {
            x.abs() > EDGES[1]
        }];
    for (method, own) in methods.iter().zip(&all) {
        let of = |region: &dyn Fn(f64) -> bool| {
            let columns: Vec<usize> = (0..grid.len()).filter(|i| region(grid[*i])).collect();
            distance(&own.select(Axis(1), &columns), &exact.select(Axis(1), &columns))
        };
        let [data, gap, beyond] = regions.map(of);
        println!(
            "{:26} {:8.2}   {:7.2} {:7.2} {:7.2}   {:7.2} {:7.2} {:7.2}",
            method.name, method.seconds, data[1], gap[1], beyond[1], data[0], gap[0], beyond[0]
        );
    }
    println!("exact: {}", posterior.predict(&methods[last].draws, &at)?.verdict()?);
    if let Some(path) = &args.out {
        let mut writer = csv::Writer::from_path(path)?;
        writer.write_record(["method", "x", "mean", "sd"])?;
        for (method, own) in methods.iter().zip(&all) {
            for (i, x) in grid.iter().enumerate() {
                let numbers = [*x, own[[0, i]], own[[1, i]]].map(|number| number.to_string());
                writer.write_record([method.name.clone()].iter().chain(&numbers))?;
            }
        }
        writer.flush()?;
    }
    Ok(())
}

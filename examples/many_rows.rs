//! What is right for many rows? Methods for large tables, beside the posterior by gradients of all rows.
//!
//! ```text
//! cargo run --release --example many_rows -- --rows 100000 --hidden 20
//! ```
//!
//! A simulated table (Friedman's first function, ten features of which five matter, a fifth of the variance noise), a network with one
//! hidden layer, and four chains from four modes, found by minibatches. The reference is the longest run: MAMS with the
//! output layer integrated out. SGHMC has plain minibatches; BAOAB has differences to the gradient at the mode of each chain (control
//! variates) and masses by a Laplace approximation. For each method: seconds with the search of the modes, gradients as passes over the rows, and at new points the
//! distance to the reference: `mean`, the root mean square difference of predictive means, in standard deviations of the
//! reference; `sd`, the mean ratio of standard deviations of the mean function, and its least and greatest tenth; `lpd`, the
//! difference of the log predictive density of new rows; `R-hat` of predictions, the largest.

#[path = "shared/distance.rs"]
mod distance;

use std::f64::consts::PI;
use std::time::Instant;

use bnn_mcmc::approximate::{LaplaceApproximation, Swag, ensemble};
use bnn_mcmc::data::Standardise;
use bnn_mcmc::optimise::{Adam, Optimiser, Sgd};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{ControlVariates, Mass};
use bnn_mcmc::targets::{Curvature, GradTarget};
use clap::Parser;
use distance::{distance, moments};
use ndarray::{Array1, Array2, Axis};

#[derive(Parser)]
struct Args {
    #[arg(long, default_value_t = 10_000)]
    rows: usize,
    /// Hidden units.
    #[arg(long, default_value_t = 20)]
    hidden: usize,
    /// Rows of a minibatch.
    #[arg(long, default_value_t = 500)]
    batch: usize,
    /// Steps of Adam to each mode.
    #[arg(long, default_value_t = 10_000)]
    steps: usize,
    /// The passes over the rows that each chain of a method without a Metropolis test has.
    #[arg(long, default_value_t = 2000)]
    passes: usize,
    /// Iterations of warm-up of the reference, and half as many draws as there are of it.
    #[arg(long, default_value_t = 500)]
    warmup: usize,
    #[arg(long, default_value_t = 1000)]
    draws: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A small table and short chains, to see that it works.
    #[arg(long)]
    quick: bool,
}

/// The chains of every method, each from a mode of its own.
const CHAINS: usize = 4;

/// Rows of Friedman's first function.
fn table(rows: usize, seed: u64) -> Result<Dataset, Error> {
    let mut rng = ChainRng::new(seed, 0);
    let x = Array2::from_shape_simple_fn((rows, 10), || rng.uniform());
    let mut noise = vec![0.0; rows];
    rng.fill_normal(&mut noise);
    let f = x.rows().into_iter().map(|x| {
        10.0 * (PI * x[0] * x[1]).sin() + 20.0 * (x[2] - 0.5).powi(2) + 10.0 * x[3] + 5.0 * x[4]
    });
    let y: Array1<f64> = f.zip(noise).map(|(f, e)| f + 2.4 * e).collect();
    Dataset::regression(x, y)
}

/// The largest curvature of -log density at `q`, with coordinates in units of `scale`: power iteration on differences of gradients.
fn largest_curvature<T: GradTarget>(target: &T, q: &[f64], scale: &[f64]) -> f64 {
    let (mut ws, d) = (target.workspace(), q.len());
    let mut rng = ChainRng::new(0, 0);
    let mut v = vec![0.0; d];
    rng.fill_normal(&mut v);
    let mut gradient = |at: &[f64]| {
        let mut grad = vec![0.0; d];
        target.log_density_grad(at, &mut grad, &mut ws);
        grad
    };
    let at_q = gradient(q);
    let mut curvature = 0.0;
    for _ in 0..30 {
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        v.iter_mut().for_each(|v| *v /= norm);
        let step = 1e-3;
        let moved: Vec<f64> = (0..d).map(|i| q[i] + step * scale[i] * v[i]).collect();
        let there = gradient(&moved);
        let image: Vec<f64> = (0..d).map(|i| scale[i] * (at_q[i] - there[i]) / step).collect();
        curvature = image.iter().map(|x| x * x).sum::<f64>().sqrt();
        v = image;
    }
    curvature
}

/// Predictions of a method at the points of the reference, and of new rows.
struct Method {
    name: String,
    seconds: f64,
    passes: f64,
    at_points: Predictions,
    of_rows: Predictions,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = Args::parse();
    if args.quick {
        (args.rows, args.hidden, args.steps) = (1000, 4, 300);
        (args.passes, args.warmup, args.draws) = (20, 30, 40);
    }
    let (train, test) = (table(args.rows, args.seed)?, table(5000, args.seed + 1000)?);
    let of_y = Standardise::new().fit(train.real()?.view())?;
    let of_x = Standardise::new().fit_features(&train)?;
    let scaled = |data: &Dataset| {
        let y = of_y.transform(data.real()?.view())?;
        of_x.scale_features(data)?.with_real_response(y)
    };
    let (train, test) = (scaled(&train)?, scaled(&test)?);
    let points = test.select(&(0..300).collect::<Vec<_>>())?;
    let network = Mlp::new(&[10, args.hidden, 1], Activation::Tanh)?;
    let priors = || {
        Ok::<_, Error>(
            Priors::by_fan_in(&network).with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?),
        )
    };
    let exact = Posterior::new(network.clone(), Gaussian::sampled(), &train, priors()?)?;
    let single = Posterior::new(network.clone().in_f32(), Gaussian::sampled(), &train, priors()?)?;
    let (n, d) = (args.rows as f64, exact.layout().dim());
    println!("{} rows, 10-{}-1, {d} parameters, {CHAINS} chains", args.rows, args.hidden);

    let minibatch = Minibatch { size: args.batch.min(args.rows) };
    let began = Instant::now();
    let adam = Adam { learning_rate: 0.01, steps: args.steps, ..Adam::new(minibatch.clone()) };
    let modes = Optimiser::new(&single, adam).seed(args.seed).run_each(&Init::Random, CHAINS)?;
    let to_modes = began.elapsed().as_secs_f64();
    let of_adam = (args.steps * minibatch.size) as f64 / n;
    let starts = || Init::Points(modes.iter().map(|mode| mode.q.clone()).collect());

    let mut found: Vec<Method> = Vec::new();
    // `gradients` is of all chains, in passes over the rows.
    let mut add =
        |name: &str, draws: &Draws, began: Instant, gradients: f64, linear: Option<&[f64]>| {
            let seconds = to_modes + began.elapsed().as_secs_f64();
            let passes = of_adam + gradients / CHAINS as f64;
            let predict = |data: &Dataset| match linear {
                None => exact.predict(draws, data),
                Some(at) => exact.linearised(at)?.predict(draws, data),
            };
            let (at_points, of_rows) = (predict(&points)?, predict(&test)?);
            eprintln!("{name}: {seconds:.1} s");
            found.push(Method { name: name.into(), seconds, passes, at_points, of_rows });
            Ok::<(), Error>(())
        };

    add("ensemble of modes", &ensemble(&exact, &modes, 1)?, Instant::now(), 0.0, None)?;
    // One mode alone, with its curvature.
    let mode = &modes[0].q;
    let began = Instant::now();
    let kronecker = LaplaceApproximation::kronecker(&exact, mode)?;
    let draws = kronecker.draws(1000, args.seed)?;
    add("Laplace, Kronecker, linear", &draws, began, 1.0, Some(mode))?;
    let began = Instant::now();
    let last = LaplaceApproximation::last_layer(&exact, mode, Curvature::Expected)?;
    add("last layer exact", &last.draws(1000, args.seed)?, began, 1.0, None)?;
    if d <= 1500 {
        let began = Instant::now();
        let full = LaplaceApproximation::full(&exact, mode, Curvature::Expected)?;
        add("Laplace, full, linear", &full.draws(1000, args.seed)?, began, d as f64, Some(mode))?;
    }
    let began = Instant::now();
    let sgd = Sgd { learning_rate: 0.01 / n, steps: args.steps, ..Sgd::new(minibatch.clone()) };
    let swag = Swag { burn_in: args.steps / 4, ..Swag::new(sgd) };
    let draws = swag.fit(&single, &starts(), CHAINS, args.seed)?.draws(250, args.seed)?;
    add("multi-SWAG", &draws, began, of_adam * CHAINS as f64, None)?;

    // Step sizes h are shares of 1 / sqrt(k) for the largest curvature k: at 2 a step is no longer stable. Friction is given for a step.
    let of_all = args.passes as f64 * CHAINS as f64;
    let steps = (args.passes as f64 * n / minibatch.size as f64) as usize;
    let thin = (steps / 400).max(1);
    let longest = 1.0 / largest_curvature(&single, mode, &vec![1.0; d]).sqrt();
    for (name, temperature) in [("SGHMC", 1.0), ("SGHMC, temperature 0.1", 0.1)] {
        let began = Instant::now();
        let step_size = 0.7 * longest;
        let sghmc = Sghmc {
            step_size,
            friction: 0.3 / step_size,
            inverse_temperature: 1.0 / temperature,
            ..Sghmc::new(minibatch.clone())
        };
        let run = Sampler::new(&single, sghmc).chains(CHAINS).seed(args.seed).thin(thin);
        let draws = run.warmup(steps / 5).draws(steps / thin).init(starts()).run()?;
        add(name, &draws, began, of_all * 1.2, None)?;
    }
    // Each chain has differences to the gradient at its own mode, and coordinates in units of its Laplace approximation.
    for (share, friction) in [(0.7, 0.3), (0.7, 0.03), (0.3, 0.1)] {
        let began = Instant::now();
        let mut chains = Vec::new();
        for (chain, mode) in modes.iter().enumerate() {
            let sds = LaplaceApproximation::kronecker(&exact, &mode.q)?.sds();
            let step_size = share / largest_curvature(&single, &mode.q, &sds).sqrt();
            let baoab = Baoab {
                step_size,
                friction: friction / step_size,
                mass: Mass::Diagonal(sds.iter().map(|sd| sd.powi(-2)).collect()),
                ..Baoab::new(ControlVariates { size: minibatch.size, mode: mode.q.clone() })
            };
            let run = Sampler::new(&single, baoab).chains(1).seed(args.seed + chain as u64);
            let run = run.thin(thin).warmup(steps / 10).draws(steps / 2 / thin);
            chains.push(run.init(Init::Points(vec![mode.q.clone()])).run()?);
        }
        let temperatures: Vec<f64> = chains
            .iter()
            .filter_map(|chain| chain.stat("kinetic_temperature").ok()?.mean())
            .collect();
        eprintln!("kinetic temperatures {temperatures:.3?}");
        let values: Vec<_> = chains.iter().map(Draws::values).collect();
        let draws = Draws::new(exact.layout().clone(), ndarray::concatenate(Axis(0), &values)?)?;
        add(&format!("BAOAB, h {share}, friction {friction}"), &draws, began, of_all * 1.2, None)?;
    }

    // The posterior of a tenth of the rows.
    let began = Instant::now();
    let tenth = train.select(&(0..train.rows()).step_by(10).collect::<Vec<_>>())?;
    let fewer = exact.given(&tenth)?;
    let collapsed = Sampler::new(&fewer, Collapsed::new(Mams::default())).chains(CHAINS);
    let run = collapsed.seed(args.seed).warmup(args.warmup).draws(args.draws).init(starts());
    let drawn = run.run()?;
    let gradients = drawn.gradient_evals() as f64 / 10.0;
    let draws = Draws::new(exact.layout().clone(), drawn.values().to_owned())?;
    add("MAMS, a tenth of the rows", &draws, began, gradients, None)?;
    let began = Instant::now();
    let mams = Sampler::new(&single, Mams::default()).chains(CHAINS).seed(args.seed);
    let draws = mams.warmup(args.warmup).draws(args.draws / 2).init(starts()).run()?;
    add("MAMS in f32", &draws, began, draws.gradient_evals() as f64, None)?;
    let began = Instant::now();
    let collapsed = Sampler::new(&exact, Collapsed::new(Mams::default())).chains(CHAINS);
    let run = collapsed.seed(args.seed).warmup(args.warmup).draws(args.draws).init(starts());
    let draws = run.run()?;
    add("MAMS, collapsed", &draws, began, draws.gradient_evals() as f64, None)?;

    let reference = found.last().ok_or("no method")?;
    let exact_moments = moments(reference.at_points.quantities());
    let of_reference = reference.of_rows.log_predictive_densities()?.mean().unwrap_or(f64::NAN);
    println!(
        "{:28} {:>8} {:>8} | {:>6} {:>6} {:>13} {:>8} {:>6}",
        "", "seconds", "passes", "mean", "sd", "tenths", "lpd", "R-hat"
    );
    for method in &found {
        let own = moments(method.at_points.quantities());
        let [shift, ratio] = distance(&own, &exact_moments);
        let mut ratios: Vec<f64> =
            (0..own.ncols()).map(|i| own[[1, i]] / exact_moments[[1, i]]).collect();
        ratios.sort_by(f64::total_cmp);
        let tenth = ratios.len() / 10;
        let lpd = method.of_rows.log_predictive_densities()?.mean().unwrap_or(f64::NAN);
        let r_hat = match method.at_points.quantities().len_of(Axis(0)) {
            CHAINS => method.at_points.summary()?.max_rhat(),
            _ => f64::NAN,
        };
        println!(
            "{:28} {:8.1} {:8.0} | {shift:6.2} {ratio:6.2} {:6.2} {:6.2} {:8.4} {r_hat:6.3}",
            method.name,
            method.seconds,
            method.passes,
            ratios[tenth],
            ratios[ratios.len() - 1 - tenth],
            lpd - of_reference
        );
    }
    println!("reference: {}", reference.at_points.verdict()?);
    Ok(())
}

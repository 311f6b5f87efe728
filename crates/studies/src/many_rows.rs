//! What is right for many rows? Methods for large tables, beside the posterior by gradients of all rows.
//!
//! ```text
//! cargo run --release -p bnn-mcmc-studies -- many_rows --rows 100000 --hidden 20
//! ```
//!
//! A simulated table (Friedman's first function, ten features of which five matter, a fifth of the variance noise), a network with one
//! hidden layer or more, and four chains from four modes, found by minibatches. The reference is the longest run: MAMS with the
//! output layer integrated out. SGHMC has plain minibatches; BAOAB has differences to the gradient at the mode of each chain (control
//! variates) and masses by a Laplace approximation. For each method: seconds with the search of the modes, gradients as passes over the rows, and at new points the
//! distance to the reference: `mean`, the root mean square difference of predictive means, in standard deviations of the
//! reference; `sd`, the mean ratio of standard deviations of the mean function, and its least and greatest tenth; `lpd`, the
//! difference of the log predictive density of new rows; `R-hat` of predictions, the largest.

use std::f64::consts::PI;
use std::time::{Duration, Instant};

use bnn_mcmc::approximate::{LaplaceApproximation, Swag, ensemble};
use bnn_mcmc::data::Standardise;
use bnn_mcmc::model::MlpF32;
use bnn_mcmc::optimise::{Adam, Optimiser, Optimum, Sgd};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{ControlVariates, Mass, progress_report};
use bnn_mcmc::targets::{Curvature, GradTarget};
use ndarray::{Array1, Array2, Axis, concatenate};

use crate::shared::AnyError;
use crate::shared::distance::{distance, moments};

#[derive(clap::Args)]
pub struct Args {
    #[arg(long, default_value_t = 10_000)]
    rows: usize,
    /// Features, of which the first five matter.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(5..))]
    features: u16,
    /// Units of the hidden layers.
    #[arg(long, value_delimiter = ',', default_value = "20")]
    hidden: Vec<usize>,
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
    /// Steps of a trajectory of MAMS at most.
    #[arg(long, default_value_t = 256)]
    max_steps: u32,
    /// The reference alone, until the R-hat of its predictions is at most 1.05 or so many minutes are over.
    #[arg(long)]
    minutes: Option<f64>,
    /// A file from which that run goes on if it exists, written every 30 seconds.
    #[arg(long, requires = "minutes")]
    checkpoint: Option<String>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A small table and short chains, to see that it works.
    #[arg(long)]
    quick: bool,
}

/// The chains of every method, each from a mode of its own.
const CHAINS: usize = 4;

/// Rows of Friedman's first function.
fn table(rows: usize, features: usize, seed: u64) -> Result<Dataset, Error> {
    let mut rng = ChainRng::new(seed, 0);
    let x = Array2::from_shape_simple_fn((rows, features), || rng.uniform());
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

/// The table, the posterior in both precisions, and four modes.
struct Study<'a> {
    args: &'a Args,
    exact: &'a Posterior<Mlp, Gaussian>,
    single: &'a Posterior<MlpF32, Gaussian>,
    train: &'a Dataset,
    test: Dataset,
    points: Dataset,
    minibatch: Minibatch,
    modes: Vec<Optimum>,
    /// Seconds and passes over the rows that led to the modes.
    to_modes: f64,
    of_adam: f64,
    found: Vec<Method>,
}

impl Study<'_> {
    /// Predictions by `draws`; `gradients` is of all chains, in passes over the rows. At a point in `linear` the network is its
    /// tangent there.
    fn add(
        &mut self,
        name: &str,
        draws: &Draws,
        began: Instant,
        gradients: f64,
        linear: Option<&[f64]>,
    ) -> Result<(), Error> {
        let seconds = self.to_modes + began.elapsed().as_secs_f64();
        let passes = self.of_adam + gradients / CHAINS as f64;
        let predict = |data: &Dataset| match linear {
            None => self.exact.predict(draws, data),
            Some(at) => self.exact.linearised(at)?.predict(draws, data),
        };
        let (at_points, of_rows) = (predict(&self.points)?, predict(&self.test)?);
        eprintln!("{name}: {seconds:.1} s");
        self.found.push(Method { name: name.into(), seconds, passes, at_points, of_rows });
        Ok(())
    }

    fn starts(&self) -> Init {
        Init::Points(self.modes.iter().map(|mode| mode.q.clone()).collect())
    }

    /// The modes themselves, their curvature, and what SGD does around them.
    fn approximations(&mut self) -> Result<(), Error> {
        let (exact, seed) = (self.exact, self.args.seed);
        let modes = ensemble(exact, &self.modes, 1)?;
        self.add("ensemble of modes", &modes, Instant::now(), 0.0, None)?;
        // One mode alone, with its curvature.
        let mode = self.modes[0].q.clone();
        let began = Instant::now();
        let draws = LaplaceApproximation::kronecker(exact, &mode)?.draws(1000, seed)?;
        self.add("Laplace, Kronecker, linear", &draws, began, 1.0, Some(&mode))?;
        let began = Instant::now();
        let last = LaplaceApproximation::last_layer(exact, &mode, Curvature::Expected)?;
        self.add("last layer exact", &last.draws(1000, seed)?, began, 1.0, None)?;
        if mode.len() <= 1500 {
            let began = Instant::now();
            let full = LaplaceApproximation::full(exact, &mode, Curvature::Expected)?;
            let draws = full.draws(1000, seed)?;
            self.add("Laplace, full, linear", &draws, began, mode.len() as f64, Some(&mode))?;
        }
        let began = Instant::now();
        let (learning_rate, steps) = (0.01 / self.args.rows as f64, self.args.steps);
        let sgd = Sgd { learning_rate, steps, ..Sgd::new(self.minibatch.clone()) };
        let swag = Swag { burn_in: steps / 4, ..Swag::new(sgd) };
        let swag = swag.fit(self.single, &self.starts(), CHAINS, seed)?;
        let gradients = self.of_adam * CHAINS as f64;
        self.add("multi-SWAG", &swag.draws(250, seed)?, began, gradients, None)
    }

    /// Chains on minibatches, without a Metropolis test. Step sizes h are shares of 1 / sqrt(k) for the largest curvature k: at 2 a step
    /// is no longer stable. Friction is given for a step.
    fn on_minibatches(&mut self) -> Result<(), AnyError> {
        let Args { rows, passes, seed, .. } = *self.args;
        let of_all = (passes * CHAINS) as f64 * 1.2;
        let steps = passes * rows / self.minibatch.size;
        let thin = (steps / 400).max(1);
        let mode = &self.modes[0].q;
        let step_size = 0.7 / largest_curvature(self.single, mode, &vec![1.0; mode.len()]).sqrt();
        for (name, temperature) in [("SGHMC", 1.0), ("SGHMC, temperature 0.1", 0.1)] {
            let began = Instant::now();
            let sghmc = Sghmc {
                step_size,
                friction: 0.3 / step_size,
                inverse_temperature: 1.0 / temperature,
                ..Sghmc::new(self.minibatch.clone())
            };
            let run = Sampler::new(self.single, sghmc).chains(CHAINS).seed(seed).thin(thin);
            let run = run.warmup(steps / 5).draws(steps / thin).init(self.starts());
            self.add(name, &run.run()?, began, of_all, None)?;
        }
        for (share, friction) in [(0.7, 0.3), (0.7, 0.03), (0.3, 0.1)] {
            let began = Instant::now();
            let draws = self.baoab(share, friction, steps, thin)?;
            self.add(
                &format!("BAOAB, h {share}, friction {friction}"),
                &draws,
                began,
                of_all,
                None,
            )?;
        }
        Ok(())
    }

    /// BAOAB, each chain with differences to the gradient at its own mode and coordinates in units of its Laplace approximation.
    fn baoab(
        &self,
        share: f64,
        friction: f64,
        steps: usize,
        thin: usize,
    ) -> Result<Draws, AnyError> {
        let mut chains = Vec::new();
        for (chain, mode) in self.modes.iter().enumerate() {
            let sds = LaplaceApproximation::kronecker(self.exact, &mode.q)?.sds();
            let step_size = share / largest_curvature(self.single, &mode.q, &sds).sqrt();
            let control = ControlVariates { size: self.minibatch.size, mode: mode.q.clone() };
            let baoab = Baoab {
                step_size,
                friction: friction / step_size,
                mass: Mass::Diagonal(sds.iter().map(|sd| sd.powi(-2)).collect()),
                ..Baoab::new(control)
            };
            let run =
                Sampler::new(self.single, baoab).chains(1).seed(self.args.seed + chain as u64);
            let run = run.thin(thin).warmup(steps / 10).draws(steps / 2 / thin);
            chains.push(run.init(Init::Points(vec![mode.q.clone()])).run()?);
        }
        let temperatures: Vec<f64> = chains
            .iter()
            .filter_map(|chain| chain.stat("kinetic_temperature").ok()?.mean())
            .collect();
        eprintln!("kinetic temperatures {temperatures:.3?}");
        let values: Vec<_> = chains.iter().map(Draws::values).collect();
        Ok(Draws::new(self.exact.layout().clone(), concatenate(Axis(0), &values)?)?)
    }

    /// MAMS on a tenth of the rows, on all in `f32`, and, the reference, on all with the output layer integrated out.
    fn on_all_rows(&mut self) -> Result<(), Error> {
        let Args { warmup, draws, seed, max_steps, .. } = *self.args;
        let mams = || Mams { max_steps, ..Mams::default() };
        let began = Instant::now();
        let rows = self.train.rows();
        let tenth = self.train.select(&(0..rows).step_by(10).collect::<Vec<_>>())?;
        let fewer = self.exact.given(&tenth)?;
        let run = Sampler::new(&fewer, Collapsed::new(mams())).chains(CHAINS).seed(seed);
        let drawn = run.warmup(warmup).draws(draws).init(self.starts()).run()?;
        let of_all = Draws::new(self.exact.layout().clone(), drawn.values().to_owned())?;
        let gradients = drawn.gradient_evals() as f64 / 10.0;
        self.add("MAMS, a tenth of the rows", &of_all, began, gradients, None)?;
        let began = Instant::now();
        let run = Sampler::new(self.single, mams()).chains(CHAINS).seed(seed);
        let drawn = run.warmup(warmup).draws(draws / 2).init(self.starts()).run()?;
        self.add("MAMS in f32", &drawn, began, drawn.gradient_evals() as f64, None)?;
        let began = Instant::now();
        let run = Sampler::new(self.exact, Collapsed::new(mams())).chains(CHAINS).seed(seed);
        let drawn = run.warmup(warmup).draws(draws).init(self.starts()).run()?;
        self.add("MAMS, collapsed", &drawn, began, drawn.gradient_evals() as f64, None)
    }

    /// The reference alone.
    fn reference_in(&mut self, minutes: f64) -> Result<(), AnyError> {
        let Args { warmup, draws, seed, max_steps, .. } = *self.args;
        let began = Instant::now();
        let mams = Mams { max_steps, ..Mams::default() };
        let converged = |draws: &Draws| {
            let predictions = self.exact.predict(draws, &self.points);
            predictions.and_then(|p| p.summary()).is_ok_and(|s| s.max_rhat() <= 1.05)
        };
        let run = Sampler::new(self.exact, Collapsed::new(mams)).chains(CHAINS).seed(seed);
        let run = run.within(Duration::from_secs_f64(60.0 * minutes), 10).until(25, converged);
        let run = run.on_progress(progress_report());
        let run = match &self.args.checkpoint {
            Some(path) => run.checkpoint(path, Every::default()),
            None => run,
        };
        let drawn = run.warmup(warmup).draws(draws).init(self.starts()).run()?;
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{} + {} draws of each chain, {} gradients of all rows, {seconds:.0} s after {:.0} s to the modes",
            warmup,
            drawn.n_draws(),
            drawn.gradient_evals(),
            self.to_modes
        );
        for (what, data) in [("points", &self.points), ("new rows", &self.test)] {
            let predictions = self.exact.predict(&drawn, data)?;
            println!("{what}: {}\n{}", predictions.verdict()?, predictions.scores()?);
        }
        println!(
            "modes: {}",
            self.exact.predict(&ensemble(self.exact, &self.modes, 1)?, &self.test)?.scores()?
        );
        Ok(())
    }

    /// The table of all methods, beside the last.
    fn print(&self) -> Result<(), AnyError> {
        let lpd = |method: &Method| {
            let of_rows = method.of_rows.log_predictive_densities()?;
            Ok::<f64, Error>(of_rows.mean().unwrap_or(f64::NAN))
        };
        let reference = self.found.last().ok_or("no method")?;
        let exact = moments(reference.at_points.quantities());
        println!(
            "{:28} {:>8} {:>8} | {:>6} {:>6} {:>13} {:>8} {:>6}",
            "", "seconds", "passes", "mean", "sd", "tenths", "lpd", "R-hat"
        );
        for method in &self.found {
            let own = moments(method.at_points.quantities());
            let [shift, ratio] = distance(&own, &exact);
            let mut ratios: Vec<f64> =
                (0..own.ncols()).map(|i| own[[1, i]] / exact[[1, i]]).collect();
            ratios.sort_by(f64::total_cmp);
            let tenth = ratios.len() / 10;
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
                lpd(method)? - lpd(reference)?
            );
        }
        println!("reference: {}", reference.at_points.verdict()?);
        Ok(())
    }
}

pub fn run(mut args: Args) -> Result<(), AnyError> {
    if args.quick {
        (args.rows, args.hidden, args.steps) = (1000, vec![4], 300);
        (args.passes, args.warmup, args.draws) = (20, 30, 40);
    }
    let features = usize::from(args.features);
    let (train, test) =
        (table(args.rows, features, args.seed)?, table(5000, features, args.seed + 1000)?);
    let of_y = Standardise::new().fit(train.real()?.view())?;
    let of_x = Standardise::new().fit_features(&train)?;
    let scaled = |data: &Dataset| {
        let y = of_y.transform(data.real()?.view())?;
        of_x.scale_features(data)?.with_real_response(y)
    };
    let (train, test) = (scaled(&train)?, scaled(&test)?);
    let points = test.select(&(0..300).collect::<Vec<_>>())?;
    let layers = [&[features], &args.hidden[..], &[1]].concat();
    let network = Mlp::new(&layers, Activation::Tanh)?;
    let priors = || {
        Ok::<_, Error>(
            Priors::by_fan_in(&network).with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?),
        )
    };
    let exact = Posterior::new(network.clone(), Gaussian::sampled(), &train, priors()?)?;
    let single = Posterior::new(network.clone().in_f32(), Gaussian::sampled(), &train, priors()?)?;
    let d = exact.layout().dim();
    let layers: Vec<String> = layers.iter().map(usize::to_string).collect();
    println!("{} rows, {}, {d} parameters, {CHAINS} chains", args.rows, layers.join("-"));

    let minibatch = Minibatch { size: args.batch.min(args.rows) };
    let began = Instant::now();
    let adam = Adam { learning_rate: 0.01, steps: args.steps, ..Adam::new(minibatch.clone()) };
    let modes = Optimiser::new(&single, adam).seed(args.seed).run_each(&Init::Random, CHAINS)?;
    let mut study = Study {
        args: &args,
        exact: &exact,
        single: &single,
        train: &train,
        test,
        points,
        modes,
        to_modes: began.elapsed().as_secs_f64(),
        of_adam: (args.steps * minibatch.size) as f64 / args.rows as f64,
        minibatch,
        found: Vec::new(),
    };
    if let Some(minutes) = args.minutes {
        return study.reference_in(minutes);
    }
    study.approximations()?;
    study.on_minibatches()?;
    study.on_all_rows()?;
    study.print()
}

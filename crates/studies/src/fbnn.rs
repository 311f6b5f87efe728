//! Calibrate, emulate, sample: Bayesian networks by emulators, beside the exact posterior.
//!
//!     cargo run --release -p bnn-mcmc-studies -- fbnn --data boston
//!
//! The methods of Moslemi, Meng, Lan and Shahbaba, *Scaling up Bayesian neural networks with neural
//! networks* (FBNN, arXiv:2312.11799), and what the paper lacks: each emulator under delayed
//! acceptance, which is exact; a part of the rows as the surrogate; and the exact posterior by NUTS
//! as the last row, with the distance of every other row from it.
//!
//! A network with one hidden layer of tanh units (`--hidden`; 0 for a linear model), features and a
//! real response standardised by the training rows; priors N(0, 1/inputs) for the weights of a
//! layer, N(0, 1) for biases; for a real response normal noise of a known standard deviation
//! (`--noise`), since the paper's pCN needs all priors to be normal. Four chains share the draws;
//! those that are not said to start elsewhere start from small weights. The paper has one chain, and
//! one recorded draw for each pass over the rows, which is kept here.
//!
//! - `BNN-SGHMC`: minibatches, one draw an epoch; `first 200` are its first draws alone. Biased.
//! - `BNN-pCN`: one density over all rows a draw.
//! - `RNS-HMC`: random features fitted to the 200 draws; trajectories on them, accepted by the true
//!   density. Exact.
//! - `FBNN (a-b)`: 200 draws of a, a network that predicts the outputs of all rows (or their
//!   principal components, or the log likelihood: `--emulate`), draws of b on it. **Samples the
//!   emulator.**
//! - `delayed (a-b)`: the same emulator under delayed acceptance. Exact. SGHMC has no reversible
//!   step, so that HMC is in its place.
//! - `again`: a network and random features that are trained again, `--rounds` times, on all that their chains have visited under delayed
//!   acceptance (`--methods again`). Then they stay as they are, and what is recorded is exact: the outlook of the paper.
//! - `rows`: a tenth of the rows with control variates of the second order at a mode, HMC, under
//!   delayed acceptance. Exact. `HMC from there` is the same kernel on all rows. Both start at that
//!   mode, and may stay near it.
//! - `NUTS`: the reference, of 3,000 weights and more `MAMS`. Its verdict is printed; if it is not `converged`, the distances mean
//!   little.
//!
//! `--data regression` and `classification` simulate tables of `--rows` rows and `--features` features;
//! `year-prediction`, `alzheimer`, `simulation`, `adult`, `mnist`, `celeb-a` and `svhn` a `--share` of the rows of the paper's large
//! tables, with networks of about as many weights.

use std::time::Instant;

use bnn_mcmc::likelihood::SecondOrderLikelihood;
use bnn_mcmc::model::Model;
use bnn_mcmc::predict::Predictions;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, DelayedAcceptance, Sghmc, SurrogateHmc};
use bnn_mcmc::surrogate::{Emulator, RowSubset, Surrogate, SurrogateError};
use bnn_mcmc_emulate::{Emulated, NetworkEmulator, RandomFeatures};
use clap::ValueEnum;
use ndarray::{Array1, Array2, Axis};

use crate::shared::AnyError;
use crate::shared::distance::{distance, moments};
use crate::shared::reference::reference;
use crate::shared::tables::{Tables, network};

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Method {
    /// SGHMC, and its first draws.
    Sghmc,
    Pcn,
    Rns,
    /// Networks that learn from SGHMC's first draws, alone and under delayed acceptance.
    FbnnSghmc,
    /// Networks that learn from pCN's.
    FbnnPcn,
    /// Emulators that learn from SGHMC's first draws, and again from what their chains visit.
    Again,
    /// A part of the rows under delayed acceptance, and the same kernel on all rows.
    Rows,
    /// The reference.
    Nuts,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Emulate {
    Outputs,
    Reduced,
    Likelihood,
}

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    tables: Tables,
    /// Only these methods, comma-separated [default: all but again, which takes longest].
    #[arg(long, value_delimiter = ',')]
    methods: Vec<Method>,
    /// What networks emulate [default: outputs, of up to 5000 numbers; else likelihood].
    #[arg(long)]
    emulate: Option<Emulate>,
    /// Units of the hidden layers; 0 for a linear model.
    #[arg(long, value_delimiter = ',', default_values_t = [20])]
    hidden: Vec<usize>,
    /// The standard deviation of the noise, relative to that of the response.
    #[arg(long, default_value_t = 0.4)]
    noise: f64,
    /// Recorded draws of every method but the reference, all chains together.
    #[arg(long, default_value_t = 2000)]
    draws: usize,
    /// Draws for calibration, all chains together.
    #[arg(long, default_value_t = 200)]
    calibration: usize,
    /// Draws of the reference after as many of warm-up, for each chain.
    #[arg(long, default_value_t = 2000)]
    reference: usize,
    /// The time step of SGHMC; several, comma-separated, to see its bias: calibration takes the first.
    #[arg(long, value_delimiter = ',', default_value = "0.003")]
    step: Vec<f64>,
    /// Rows of the subset that serves as a surrogate [default: a tenth].
    #[arg(long)]
    subset: Option<usize>,
    /// The order of that subset's control variates: 0 (none), 1 or 2.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=2))]
    order: u8,
    /// Inner steps of delayed acceptance.
    #[arg(long, default_value_t = 1)]
    inner: usize,
    /// How many times an emulator is trained again.
    #[arg(long, default_value_t = 4)]
    rounds: usize,
    /// Few draws and rows: to see that it works.
    #[arg(long)]
    quick: bool,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A CSV file for the true and the emulated log likelihood along the first two principal
    /// components of the draws.
    #[arg(long)]
    out: Option<String>,
    /// A CSV file for what each method says of each test row: the mean and 95 % intervals of the mean
    /// function, beside the row's first principal component.
    #[arg(long)]
    predictions: Option<String>,
}

const CHAINS: usize = 4;
/// Rows of a minibatch.
const BATCH: usize = 64;

pub fn run(mut args: Args) -> Result<(), AnyError> {
    if args.quick {
        (args.draws, args.calibration, args.reference) = (120, 80, 60);
        args.tables.rows = args.tables.rows.min(600);
        args.hidden.iter_mut().for_each(|units| *units = 4.min(*units));
    }
    let (train, test) = args.tables.scaled(args.seed)?;
    let (network, priors) = network(&train, &args.tables.hidden(&args.hidden))?;
    if train.response().class_names().is_none() {
        let noise = Gaussian::fixed(args.noise)?;
        compare(&Posterior::new(network, noise, &train, priors)?, &test, &args)
    } else if network.n_outputs() == 1 {
        compare(&Posterior::new(network, Bernoulli, &train, priors)?, &test, &args)
    } else {
        compare(&Posterior::new(network, Categorical, &train, priors)?, &test, &args)
    }
}

/// A method's draws and what they took.
struct Row {
    name: String,
    draws: Draws,
    seconds: f64,
    /// The share of accepted proposals, or of the second stage.
    accepted: f64,
}

/// All methods on one posterior.
struct Methods<'a, L> {
    posterior: &'a Posterior<Mlp, L>,
    args: &'a Args,
    seed: u64,
    /// Small weights.
    start: Init,
}

impl<L: SecondOrderLikelihood + Clone> Methods<'_, L> {
    fn small(&self) -> Hmc {
        Hmc { path_length: 0.5, max_steps: 64, ..Hmc::default() }
    }

    /// Delayed acceptance whose steps shrink until the second stage takes them: an emulator is far from
    /// the truth.
    fn delayed<S, A>(&self, surrogate: S, algorithm: A) -> DelayedAcceptance<S, A> {
        let delayed = DelayedAcceptance::new(surrogate, algorithm, self.args.inner);
        DelayedAcceptance { adapt_to_both: true, ..delayed }
    }

    /// SGHMC with minibatches of `BATCH` rows.
    fn sghmc(&self, step_size: f64) -> Sghmc {
        let size = BATCH.min(self.posterior.n_obs());
        Sghmc { step_size, friction: 50.0, ..Sghmc::new(Minibatch { size }) }
    }

    /// `draws` draws of all chains together, and the seconds that they took.
    fn sample<T: Target, A: for<'t> Algorithm<&'t T>>(
        &self,
        target: &T,
        algorithm: A,
        start: &Init,
        (draws, warmup, thin): (usize, usize, usize),
    ) -> Result<(Draws, f64), AnyError> {
        let began = Instant::now();
        let sampler = Sampler::new(target, algorithm).chains(CHAINS).seed(self.seed);
        let sampler = sampler.init(start.clone()).warmup(warmup).thin(thin);
        let draws = sampler.draws(draws.div_ceil(CHAINS)).run()?;
        Ok((draws, began.elapsed().as_secs_f64()))
    }

    /// The settings of the emulators.
    fn emulator(&self) -> NetworkEmulator {
        let (args, posterior) = (self.args, self.posterior);
        let numbers = posterior.n_obs() * posterior.model().n_outputs();
        let default = if numbers <= 5000 { Emulate::Outputs } else { Emulate::Likelihood };
        let emulated = match args.emulate.unwrap_or(default) {
            Emulate::Outputs => Emulated::Outputs,
            Emulate::Reduced => Emulated::ReducedOutputs { share: 0.99 },
            Emulate::Likelihood => Emulated::LogLikelihood,
        };
        let steps = if args.quick { 200 } else { 2000 };
        NetworkEmulator { seed: args.seed, steps, ..NetworkEmulator::new(emulated) }
    }

    /// An emulator that `fit` trains again on what its chains have visited under delayed acceptance, and that is then used as it is.
    fn again<E: Emulator>(
        &self,
        name: &str,
        fit: impl Fn(&[&Draws]) -> Result<E, bnn_mcmc::Error>,
        calibrated: &Draws,
        seconds: f64,
        rows: &mut Vec<Row>,
    ) -> Result<(), AnyError> {
        let (args, posterior) = (self.args, self.posterior);
        let began = Instant::now();
        let mut ends = Init::ends_of(calibrated);
        let mut runs: Vec<Draws> = Vec::new();
        let mut emulator = fit(&[calibrated])?;
        let size = (args.calibration, args.calibration / CHAINS / 2, 1);
        for round in 1..=args.rounds {
            let surrogate = Surrogate::new(posterior, emulator);
            let seed = args.seed + round as u64;
            let of_round = Methods { posterior, args, seed, start: self.start.clone() };
            let delayed = self.delayed(&surrogate, self.small());
            let (visited, _) = of_round.sample(posterior, delayed, &ends, size)?;
            let pairs = args.calibration.min(50);
            let error = SurrogateError::measure(&surrogate, posterior, &visited, pairs)?;
            println!("{name}, round {round}: {error}");
            ends = Init::ends_of(&visited);
            runs.push(visited);
            emulator = fit(&runs.iter().collect::<Vec<_>>())?;
        }
        let surrogate = Surrogate::new(posterior, emulator);
        let learnt = seconds + began.elapsed().as_secs_f64();
        let size = (args.draws, args.draws / CHAINS / 4, 1);
        let delayed = self.delayed(&surrogate, self.small());
        let (draws, took) = self.sample(posterior, delayed, &ends, size)?;
        let error = SurrogateError::measure(&surrogate, posterior, &draws, args.draws.min(50))?;
        println!("{name}: {error}");
        rows.push(Row::new(format!("{name} (HMC)"), draws, learnt + took));
        Ok(())
    }

    /// The rows of one way to calibrate: draws `calibrated`, which took `seconds`.
    fn emulate(
        &self,
        from: &str,
        calibrated: &Draws,
        seconds: f64,
        rows: &mut Vec<Row>,
    ) -> Result<(), AnyError> {
        let (args, posterior) = (self.args, self.posterior);
        let ends = Init::ends_of(calibrated);
        let began = Instant::now();
        let emulator = self.emulator().fit(posterior, calibrated)?;
        let seconds = seconds + began.elapsed().as_secs_f64();
        println!("{from}: {}, {:?}", emulator.description(), emulator.activation());
        let surrogate = Surrogate::new(posterior, emulator);
        let size = (args.draws, args.draws / CHAINS / 4, 1);

        let (draws, took) = self.sample(&surrogate, Pcn::default(), &ends, size)?;
        println!(
            "  {}",
            SurrogateError::measure(&surrogate, posterior, &draws, args.draws.min(50))?
        );
        if let Some(path) = args.out.as_ref().filter(|_| from == "SGHMC") {
            components(path, posterior, &surrogate, &draws)?;
        }
        rows.push(Row::new(format!("FBNN ({from}-pCN)"), draws, seconds + took));
        let full = Sghmc { step_size: args.step[0], friction: 50.0, ..Sghmc::new(FullGrad) };
        let (draws, took) = self.sample(&surrogate, full, &ends, size)?;
        rows.push(Row::new(format!("FBNN ({from}-SGHMC)"), draws, seconds + took));

        let delayed = self.delayed(&surrogate, Pcn::default());
        let (draws, took) = self.sample(posterior, delayed, &ends, size)?;
        rows.push(Row::new(format!("delayed ({from}-pCN)"), draws, seconds + took));
        let delayed = self.delayed(&surrogate, self.small());
        let (draws, took) = self.sample(posterior, delayed, &ends, size)?;
        rows.push(Row::new(format!("delayed ({from}-HMC)"), draws, seconds + took));
        Ok(())
    }

    /// A part of the rows under delayed acceptance, and the same kernel on all of them.
    fn subset(&self, rows: &mut Vec<Row>) -> Result<(), AnyError> {
        let (args, posterior) = (self.args, self.posterior);
        let began = Instant::now();
        let (start, _) = self.sample(posterior, Pcn::default(), &self.start, (CHAINS, 0, 1))?;
        let mut mode = start.draw(0, 0).ok_or("no draws")?.to_vec();
        Adam { steps: if args.quick { 100 } else { 2000 }, ..Adam::default() }
            .maximise(posterior, &mut mode)?;
        let tenth = (posterior.n_obs() / 10).max(BATCH.min(posterior.n_obs()));
        let n = args.subset.unwrap_or(tenth);
        let subset = RowSubset::new(posterior, n, args.seed)?;
        let subset = match args.order {
            0 => subset,
            1 => subset.first_order(posterior, &mode)?,
            _ => subset.second_order(posterior, &mode)?,
        };
        let subset = Surrogate::new(posterior, subset);
        let inner = Hmc { max_steps: 64, ..Hmc::default() };
        let delayed = DelayedAcceptance::new(&subset, inner.clone(), args.inner);
        let from_mode = Init::Around { centre: mode, sd: 0.01 };
        let found = began.elapsed().as_secs_f64();
        let size = (args.draws, args.draws / CHAINS / 4, 1);
        let (draws, took) = self.sample(posterior, delayed, &from_mode, size)?;
        rows.push(Row::new(format!("rows ({n})"), draws, found + took));
        let (draws, took) = self.sample(posterior, inner, &from_mode, size)?;
        // At draws that reached the posterior: those of delayed acceptance may never have left the mode, where the subset is exact.
        let error = SurrogateError::measure(&subset, posterior, &draws, args.draws.min(50))?;
        println!("rows: {error}");
        rows.push(Row::new("HMC from there", draws, found + took));
        Ok(())
    }
}

impl Row {
    fn new(name: impl Into<String>, draws: Draws, seconds: f64) -> Self {
        let second = draws.stat("second_stage_accept").ok().map(|stage| {
            let proposed: Vec<f64> = stage.iter().copied().filter(|a| !a.is_nan()).collect();
            proposed.iter().sum::<f64>() / proposed.len() as f64
        });
        let all = draws.accept_rate();
        let accepted = second.unwrap_or(all.iter().sum::<f64>() / all.len() as f64);
        Self { name: name.into(), draws, seconds, accepted }
    }
}

fn compare<L: SecondOrderLikelihood + Clone>(
    posterior: &Posterior<Mlp, L>,
    test: &Dataset,
    args: &Args,
) -> Result<(), AnyError> {
    let start = Init::Around { centre: vec![0.0; posterior.layout().dim()], sd: 0.1 };
    let methods = Methods { posterior, args, seed: args.seed, start };
    let start = &methods.start;
    let wants = |method: Method| {
        args.methods.contains(&method) || (args.methods.is_empty() && method != Method::Again)
    };
    let mut rows = Vec::new();
    let epoch = posterior.n_obs().div_ceil(BATCH);
    let short = (args.calibration, 0, epoch);
    let first = *args.step.first().ok_or("--step: at least one number")?;
    let size = (args.draws, args.draws / CHAINS / 4, 1);
    if wants(Method::Sghmc) {
        let long = (args.draws, 0, epoch);
        for step in &args.step {
            let sghmc = methods.sghmc(*step);
            let (draws, seconds) = methods.sample(posterior, sghmc, start, long)?;
            let name = if *step == first { String::new() } else { format!(", {step}") };
            rows.push(Row::new(format!("BNN-SGHMC{name}"), draws, seconds));
        }
        let (draws, seconds) = methods.sample(posterior, methods.sghmc(first), start, short)?;
        rows.push(Row::new(format!("its first {}", args.calibration), draws, seconds));
    }
    if wants(Method::Pcn) {
        let (draws, took) = methods.sample(posterior, Pcn::default(), start, size)?;
        rows.push(Row::new("BNN-pCN", draws, took));
    }
    if [Method::Rns, Method::FbnnSghmc, Method::Again].into_iter().any(wants) {
        let sghmc = methods.sghmc(first);
        let (calibrated, seconds) = methods.sample(posterior, sghmc, start, short)?;
        if wants(Method::Rns) {
            let began = Instant::now();
            let features = RandomFeatures { seed: args.seed, ..RandomFeatures::default() };
            let fitted = Surrogate::new(posterior, features.fit(posterior, &calibrated)?);
            println!("RNS-HMC: {}", fitted.emulator().description());
            let learnt = seconds + began.elapsed().as_secs_f64();
            let rns = SurrogateHmc { surrogate: &fitted, hmc: methods.small() };
            let (draws, took) =
                methods.sample(posterior, rns, &Init::ends_of(&calibrated), size)?;
            rows.push(Row::new("RNS-HMC", draws, learnt + took));
        }
        if wants(Method::FbnnSghmc) {
            methods.emulate("SGHMC", &calibrated, seconds, &mut rows)?;
        }
        if wants(Method::Again) {
            let network = |runs: &[&Draws]| methods.emulator().fit_runs(posterior, runs);
            methods.again("again, network", network, &calibrated, seconds, &mut rows)?;
            let features = RandomFeatures { seed: args.seed, ..RandomFeatures::default() };
            let features = |runs: &[&Draws]| features.fit_runs(posterior, runs);
            methods.again("again, features", features, &calibrated, seconds, &mut rows)?;
        }
    }
    if wants(Method::FbnnPcn) {
        let of_pcn = (args.calibration, args.calibration / CHAINS, 1);
        let (calibrated, seconds) = methods.sample(posterior, Pcn::default(), start, of_pcn)?;
        methods.emulate("pCN", &calibrated, seconds, &mut rows)?;
    }
    if wants(Method::Rows) {
        methods.subset(&mut rows)?;
    }
    if wants(Method::Nuts) {
        let began = Instant::now();
        let (name, draws) = reference(posterior, Nuts::default(), args.reference, args.seed)?;
        rows.push(Row::new(name, draws, began.elapsed().as_secs_f64()));
    }
    print(posterior, test, &rows, args.predictions.as_deref())
}

fn print<L: Likelihood + Clone>(
    posterior: &Posterior<Mlp, L>,
    test: &Dataset,
    rows: &[Row],
    path: Option<&str>,
) -> Result<(), AnyError> {
    let predictions: Result<Vec<Predictions>, _> =
        rows.iter().map(|row| posterior.predict(&row.draws, test)).collect();
    let predictions = predictions?;
    let is_real = test.response().class_names().is_none();
    let score = |p: &Predictions, name: &str| -> Result<f64, AnyError> {
        Ok(p.scores()?.get(name).map_or(f64::NAN, |score| score.posterior))
    };
    let last = predictions.last().ok_or("no method")?;
    let exact = rows.last().filter(|row| ["NUTS", "MAMS"].contains(&&row.name[..])).map(|_| last);
    let exact_density = exact.map_or(Ok(f64::NAN), |p| score(p, "log_predictive_density"))?;
    let reference = exact.map_or_else(
        || moments(last.quantities()).mapv(|_| f64::NAN),
        |exact| moments(exact.quantities()),
    );
    let quality =
        if is_real { ["rmse", "coverage_95", "of the mean"] } else { ["accuracy", "ece", "-"] };
    println!(
        "\n{:21} {:>8} {:>11} {:>11} {:>7} {:>8} {:>17} {:>8} {:>9} {:>8} {:>8} | {:>6} {:>6} {:>7}",
        "",
        quality[0],
        quality[1],
        quality[2],
        "accept",
        "seconds",
        "ESS of weights",
        "ESS/s",
        "speed-up",
        "ESS of f",
        "ESS/s",
        "mean",
        "sd",
        "lpd"
    );
    let mut base = f64::NAN;
    for (row, p) in rows.iter().zip(&predictions) {
        let mut ess: Vec<f64> = row.draws.summary()?.rows.iter().map(|row| row.ess_bulk).collect();
        ess.sort_by(f64::total_cmp);
        let [least, middle, most] = [ess[0], ess[ess.len() / 2], ess[ess.len() - 1]];
        let rate = least / row.seconds;
        if base.is_nan() {
            base = rate;
        }
        let of_mean = if is_real {
            let interval = p.mean_interval(0.95)?;
            interval.coverage(test.real()?.view())?
        } else {
            f64::NAN
        };
        let function = p.summary()?.min_ess_bulk();
        let [shift, spread] = distance(&moments(p.quantities()), &reference);
        println!(
            "{:21} {:8.3} {:11.3} {:11.3} {:7.3} {:8.2} {:5.0} {:5.0} {:5.0} {:8.2} {:9.2} {:8.0} {:8.2} | {:6.2} {:6.2} {:7.3}",
            row.name,
            score(p, quality[0])?,
            score(p, quality[1])?,
            of_mean,
            row.accepted,
            row.seconds,
            least,
            middle,
            most,
            rate,
            rate / base,
            function,
            function / row.seconds,
            shift,
            spread,
            score(p, "log_predictive_density")? - exact_density
        );
    }
    println!(
        "\nRight of the bar, the distance to the last row at the test rows: of predictive means, in the exact standard deviations of the \
         mean function (root mean square); the mean ratio of those deviations; the difference of the log predictive densities."
    );
    if let Some(exact) = exact {
        println!("{}: {}", rows[rows.len() - 1].name, exact.verdict()?);
    }
    match path {
        Some(path) => write_predictions(path, rows, &predictions, test),
        None => Ok(()),
    }
}

/// Writes what each method says of each test row; of classes, of each but the first of two.
fn write_predictions(
    path: &str,
    rows: &[Row],
    predictions: &[Predictions],
    test: &Dataset,
) -> Result<(), AnyError> {
    let centred = test.x() - &test.x().mean_axis(Axis(0)).ok_or("no rows")?;
    let component = centred.dot(&principal(&centred, 1)[0]);
    let real = match test.response().class_names() {
        None => Some(test.real()?),
        Some(_) => None,
    };
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record([
        "method",
        "row",
        "column",
        "component_1",
        "observed",
        "mean",
        "low",
        "high",
    ])?;
    for (method, of_method) in rows.iter().zip(predictions) {
        let (mean, interval) = (of_method.posterior_mean()?, of_method.mean_interval(0.95)?);
        for ((row, column), mean) in mean.indexed_iter() {
            let observed = match real {
                Some(real) => real[(row, column)],
                // A single column is the probability of the second class.
                None if interval.lower.ncols() == 1 => test.classes()?[row] as f64,
                None => f64::from(test.classes()?[row] == column),
            };
            let (low, high) = (interval.lower[(row, column)], interval.upper[(row, column)]);
            let at = component[row];
            csv.serialize((&method.name, row, column, at, observed, mean, low, high))?;
        }
    }
    csv.flush()?;
    Ok(())
}

/// The first principal directions of centred rows, by the power method on their covariance.
fn principal(centred: &Array2<f64>, count: usize) -> Vec<Array1<f64>> {
    let mut directions: Vec<Array1<f64>> = Vec::new();
    for k in 0..count {
        let mut v = Array1::from_shape_fn(centred.ncols(), |i| ((i + k) as f64 + 0.5).sin());
        for _ in 0..200 {
            v = centred.t().dot(&centred.dot(&v));
            for u in &directions {
                let along = u.dot(&v);
                v.scaled_add(-along, u);
            }
            let length = v.dot(&v).sqrt();
            v.mapv_inplace(|x| if length > 0.0 { x / length } else { 0.0 });
        }
        directions.push(v);
    }
    directions
}

/// Writes the true and the emulated log likelihood of each draw, with its first two principal
/// components.
fn components<T: Target, S: Target>(
    path: &str,
    target: &T,
    surrogate: &S,
    draws: &Draws,
) -> Result<(), AnyError> {
    let flat = draws
        .values()
        .to_owned()
        .into_shape_with_order((draws.n_chains() * draws.n_draws(), draws.layout().dim()))?;
    let centred = &flat - &flat.mean_axis(Axis(0)).ok_or("no draws")?;
    let directions = principal(&centred, 2);
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record(["component_1", "component_2", "log_likelihood", "emulated"])?;
    let (mut of_target, mut of_surrogate) = (target.workspace(), surrogate.workspace());
    for (q, z) in flat.rows().into_iter().zip(centred.rows()) {
        let q = q.to_vec();
        let truth = target.log_density(&q, &mut of_target).likelihood;
        let emulated = surrogate.log_density(&q, &mut of_surrogate).likelihood;
        let record = [z.dot(&directions[0]), z.dot(&directions[1]), truth, emulated];
        writer.write_record(record.map(|x| x.to_string()))?;
    }
    writer.flush()?;
    Ok(())
}

//! Counts for a figure: what SGHMC and pCN find of a mixture of 25 normals in 200,000 draws.
//!
//!     cargo run --release -p bnn-mcmc-studies -- mixture25_sghmc
//!
//! Figure 1 of Moslemi, Meng, Lan and Shahbaba, *Scaling Up Bayesian Neural Networks with Neural Networks*,
//! shows draws of stochastic gradient Hamiltonian Monte Carlo (SGHMC) and of preconditioned Crank-Nicolson
//! (pCN); the paper's text has no counts of them. It says that SGHMC explores broadly but is less concentrated
//! around the modes, that pCN is the more effective one around the modes, and that the two complement each
//! other: SGHMC to calibrate, pCN to sample.
//!
//! The paper says that the target is a mixture of 25 Gaussians and that 200,000 samples were drawn. It does not
//! say where the means are, what the variance is, how SGHMC's gradients get their noise, or which step sizes,
//! friction, Gaussian reference and starts were used. The choices here:
//!
//! - Target: equal weights, means on {-4, -2, 0, 2, 4} x {-4, -2, 0, 2, 4}, covariance 0.03 I, and gradients with
//!   independent N(0, 1) noise in each coordinate, as in the program of Zhang et al., *Cyclical stochastic
//!   gradient MCMC*, ICLR 2020, arXiv:1902.03932. Neighbouring means are 11.5 standard deviations apart.
//! - SGHMC: several step sizes h, and friction 5, which serves it better than the crate's default of 1: where the
//!   variance within modes is three times the exact one, the total variation below is 0.21 and not 0.50. On one
//!   normal the variance, as a multiple of the exact one, is (1 + h V/(2 C)) / (1 - h^2 k/(4 - 2 h C)), with the
//!   variance V of the gradient's noise, the friction C and the curvature k = 1/0.03. The column `theory` has
//!   it, and a dash where h is too long for that curvature.
//! - pCN: the reference N(0, 8.03 I), which has the target's own mean and variance, and several step sizes b.
//!   In the row `adapted` warm-up adapts b to an acceptance rate of 0.234, as the crate does by default. With
//!   b = 1 proposals are independent draws of the reference.
//! - Four chains share the 200,000 draws equally, after a tenth as many steps of warm-up each. They start at
//!   draws of the reference, the same in every row. A draw costs SGHMC one noisy gradient and pCN one density.
//!
//! A draw belongs to the mode whose mean is nearest, and to its core if it is within 3 standard deviations of that
//! mean. Columns:
//!
//! - `modes`, `fewest`: modes that all chains together visited, and the fewest that one chain did.
//! - `rarest`, `commonest`: draws in the modes with the fewest and the most.
//! - `TV`: the total variation distance of the 25 shares from 1/25 each, from 0 to 0.96 for a single mode.
//! - `chi2`, `worth`: chi-squared of the 25 counts against equal ones, whose mean is 24 for independent draws, and
//!   the number of independent draws whose counts would be as uneven on average.
//! - `jumps`: how often a chain went from the core of one mode to the core of another.
//! - `core %`, `width`: the share of draws in cores, and the variance about the nearest mean as a multiple of the
//!   exact one.
//! - `accept`, `temp`: the acceptance rate of pCN, and the kinetic temperature of SGHMC, which should be 1.
//! - `R-hat`, `ESS`: the larger R-hat and the smaller bulk effective sample size of the two coordinates.
//!
//! What the counts say, with these choices and seed 1: both observations hold, and the paper's conclusion does not
//! follow from them.
//!
//! - SGHMC explores by its error. With h up to 0.15 no chain leaves the mode in which it is after warm-up. With
//!   h = 0.22 every chain visits all modes, but the variance within modes is 6.9 times the exact one, and 44 % of
//!   the draws are in cores instead of 98.9 %. Exact dynamics would hardly ever cross; the error of a long step
//!   heats them. R-hat is 1.004 there: among the usual diagnostics only the kinetic temperature shows the error.
//! - pCN has a Metropolis test, and the right width with every b. How many modes it visits depends on b: 4 with
//!   0.05, 20 with the adapted one, all from 0.3. With b = 1 the counts of modes are worth 4,250 independent draws,
//!   with SGHMC at its best 279.
//!
//! So this mixture does not show that SGHMC is the one to explore with. Nor does it show that pCN explores well in
//! general: it has two dimensions and a reference made for the target, and independent proposals would hardly ever
//! be accepted where a posterior is much narrower than its prior.

use std::fs::File;
use std::path::PathBuf;
use std::time::Instant;

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, GradSource, GradStream, Step};
use bnn_mcmc::targets::{Cached, Point};
use ndarray::Array3;

use crate::shared::AnyError;
use crate::shared::grid::Grid;

type Mixture25 = WithReference<Grid, Normal>;

/// The variance of each normal, in both coordinates.
const VARIANCE: f64 = 0.03;
/// The distance between neighbouring means.
const SPACING: f64 = 2.0;
/// The variance of the mixture, in both coordinates: within and between modes.
const TOTAL_VARIANCE: f64 = VARIANCE + 2.0 * SPACING * SPACING;
/// Draws within so many standard deviations of a mean belong to its core.
const CORE: f64 = 3.0;
/// The most draws of a row that are written to the CSV file.
const WRITTEN: usize = 5_000;

#[derive(clap::Args)]
pub struct Args {
    /// Fewer draws, for a quick check
    #[arg(long)]
    quick: bool,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draws of each row, all chains together [default: 200000, with --quick 8000]
    #[arg(long)]
    draws: Option<usize>,
    /// Chains of each row
    #[arg(long, default_value_t = 4)]
    chains: usize,
    /// Standard deviation of the noise in each coordinate of SGHMC's gradients
    #[arg(long, default_value_t = 1.0)]
    noise: f64,
    /// Friction of SGHMC
    #[arg(long, default_value_t = 5.0)]
    friction: f64,
    /// File to write draws to, as CSV: at most 5,000 of each row, evenly spaced
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<(), AnyError> {
    if args.chains == 0 {
        return Err(Error::argument("chains", 0, "at least 1").into());
    }
    let total = args.draws.unwrap_or(if args.quick { 8_000 } else { 200_000 });
    if total < args.chains {
        let allowed = format!("at least {}, the number of chains", args.chains);
        return Err(Error::argument("draws", total, allowed).into());
    }
    let create = |path: &PathBuf| File::create(path).map_err(|e| Error::io(path, e));
    let grid = Grid { spacing: SPACING, sd: VARIANCE.sqrt() };
    let mut study = Study {
        target: WithReference::new(grid, Normal::new(0.0, TOTAL_VARIANCE.sqrt())?),
        draws: total / args.chains,
        args: &args,
        csv: args.out.as_ref().map(create).transpose()?.map(csv::Writer::from_writer),
        rows: Vec::new(),
    };
    if let Some(csv) = &mut study.csv {
        csv.write_record(["method", "setting", "chain", "draw", "x", "y"])?;
    }
    println!(
        "{} chains of {} draws; SGHMC with friction {}, noise of its gradients N(0, {}^2)",
        args.chains, study.draws, args.friction, args.noise
    );
    if args.quick {
        println!("quick: chains too short to be believed");
    }
    println!("\n{}", Row::COUNTS);
    for h in [0.05, 0.1, 0.15, 0.2, 0.22, 0.25] {
        let sghmc = Sghmc { step_size: h, ..Sghmc::new(NoisyGrad { sd: args.noise }) };
        study.sample(SGHMC, Sghmc { friction: args.friction, ..sghmc }, Some(h))?;
    }
    for b in [None, Some(0.05), Some(0.3), Some(0.5), Some(1.0)] {
        let adapted = Pcn::default();
        let step_size = b.unwrap_or(adapted.step_size);
        let pcn = Pcn { step_size, adapt_step_size: b.is_none(), ..adapted };
        study.sample(PCN, pcn, b)?;
    }
    study.draw_exactly()?;
    println!("\nexact: variance {TOTAL_VARIANCE:.2}, mean 0\n{}", Row::MOMENTS);
    study.rows.iter().for_each(Row::print_moments);
    println!();
    for row in &study.rows {
        println!("{}: {}", row.name(), row.verdict);
    }
    println!();
    study.conclude();
    if let Some(csv) = &mut study.csv {
        csv.flush()?;
    }
    Ok(())
}

const SGHMC: &str = "SGHMC";
const PCN: &str = "pCN";
const EXACT: &str = "independent draws";

/// The target, and the rows so far.
struct Study<'a> {
    target: Mixture25,
    /// Draws of each chain.
    draws: usize,
    args: &'a Args,
    csv: Option<csv::Writer<File>>,
    rows: Vec<Row>,
}

impl Study<'_> {
    /// Runs a sampler with the step size `step`, or with an adapted one, and prints its counts.
    fn sample<A: for<'t> Algorithm<&'t Mixture25>>(
        &mut self,
        method: &'static str,
        algorithm: A,
        step: Option<f64>,
    ) -> Result<(), AnyError> {
        let sampler = Sampler::new(&self.target, algorithm).chains(self.args.chains);
        let sampler = sampler.warmup((self.draws / 10).max(1_000)).draws(self.draws);
        let draws = sampler.seed(self.args.seed).run()?;
        let seconds = draws.info().warmup_seconds + draws.info().sampling_seconds;
        let letter = if method == SGHMC { "h" } else { "b" };
        let setting = match step {
            Some(step) => format!("{letter} = {step}"),
            None => {
                let steps = draws.stat("step_size")?;
                format!("{letter} = {:.3} (adapted)", steps.mean().unwrap_or(f64::NAN))
            }
        };
        let theory = step.filter(|_| method == SGHMC).map(|h| self.theory(h));
        self.add(method, setting, theory.unwrap_or(f64::NAN), &draws, seconds)
    }

    /// The stationary variance of SGHMC on one of the normals, as a multiple of the exact one; NaN if there
    /// is none.
    fn theory(&self, h: f64) -> f64 {
        let Args { friction, noise, .. } = self.args;
        let temperature = 1.0 + h * noise * noise / (2.0 * friction);
        let discretised = 1.0 - h * h / VARIANCE / (4.0 - 2.0 * h * friction);
        if discretised > 0.0 { temperature / discretised } else { f64::NAN }
    }

    /// Independent draws of the target itself.
    fn draw_exactly(&mut self) -> Result<(), AnyError> {
        let (start, grid) = (Instant::now(), self.target.target());
        let mut values = Array3::zeros((self.args.chains, self.draws, 2));
        for (chain, mut values) in values.outer_iter_mut().enumerate() {
            let mut rng = ChainRng::new(self.args.seed, chain as u64);
            for mut q in values.rows_mut() {
                let mode = (rng.uniform() * Grid::MODES as f64) as usize;
                for (q, mean) in q.iter_mut().zip(grid.mean(mode)) {
                    *q = mean + grid.sd * rng.normal();
                }
            }
        }
        let draws = Draws::new(self.target.layout(), values)?;
        self.add(EXACT, String::new(), f64::NAN, &draws, start.elapsed().as_secs_f64())
    }

    /// Counts, prints and writes the draws of one row.
    fn add(
        &mut self,
        method: &'static str,
        setting: String,
        theory: f64,
        draws: &Draws,
        seconds: f64,
    ) -> Result<(), AnyError> {
        if let Some(csv) = &mut self.csv {
            let all = draws.n_chains() * draws.n_draws();
            let every = all.div_ceil(WRITTEN).clamp(1, draws.n_draws().max(1));
            for ((chain, draw), x) in draws.thinned(every)?.parameter("q[0]")?.indexed_iter() {
                let draw = (draw + 1) * every - 1;
                let y = draws.draw(chain, draw).map_or(f64::NAN, |q| q[1]);
                csv.serialize((method, &setting, chain, draw, x, y))?;
            }
        }
        let counts = Counts::of(draws, self.target.target());
        let row = Row::new(method, setting, theory, counts, draws, seconds)?;
        row.print_counts();
        self.rows.push(row);
        Ok(())
    }

    /// What the paper claims, and what the counts say of it.
    fn conclude(&self) {
        let of = |method| self.rows.iter().filter(move |row: &&Row| row.method == method);
        println!(
            "The paper: SGHMC explores broadly, less concentrated around the modes than the target."
        );
        let narrow = of(SGHMC).filter(|row| row.counts.width <= 1.5).map(|row| row.counts.jumps);
        if let Some(jumps) = narrow.max() {
            println!(
                "Counted: step sizes with at most 1.5 times the exact variance within modes make at most \
                 {jumps} jumps."
            );
        }
        match of(SGHMC).find(|row| row.counts.fewest == Grid::MODES) {
            Some(row) => println!(
                "Counted: every chain visits all modes with {}, which has {:.1} times the exact \
                 variance within modes.",
                row.setting, row.counts.width
            ),
            None => println!("Counted: with none of the step sizes every chain visits all modes."),
        }
        println!("The paper: pCN is more concentrated around the modes.");
        let [mut widths, mut visited] = [(); 2].map(|()| (f64::INFINITY, f64::NEG_INFINITY));
        let extend = |range: &mut (f64, f64), x: f64| *range = (range.0.min(x), range.1.max(x));
        for row in of(PCN) {
            extend(&mut widths, row.counts.width);
            extend(&mut visited, row.counts.visited() as f64);
        }
        println!(
            "Counted: it has {:.2} to {:.2} times the exact variance within modes, and visits {} to {} \
             modes, depending on b.",
            widths.0, widths.1, visited.0, visited.1
        );
        let worth = |row: &&Row| row.counts.worth();
        let best = |method| of(method).max_by(|a, b| worth(a).total_cmp(&worth(b)));
        if let (Some(sghmc), Some(pcn)) = (best(SGHMC), best(PCN)) {
            println!(
                "Most even counts of modes: SGHMC with {}, worth {:.0} independent draws; pCN with {}, \
                 worth {:.0}.",
                sghmc.setting,
                sghmc.counts.worth(),
                pcn.setting,
                pcn.counts.worth()
            );
        }
    }
}

/// Where the draws of one row are.
struct Counts {
    /// Draws of each mode.
    modes: [usize; Grid::MODES],
    /// The fewest modes that a chain visited.
    fewest: usize,
    /// How often a chain went from one core to another.
    jumps: usize,
    /// The share of draws in cores.
    core: f64,
    /// The variance about the nearest mean, as a multiple of the exact one.
    width: f64,
}

impl Counts {
    fn of(draws: &Draws, grid: &Grid) -> Self {
        let mut modes = [0; Grid::MODES];
        let (mut fewest, mut jumps, mut in_core, mut squares) = (Grid::MODES, 0, 0usize, 0.0);
        for chain in draws.values().outer_iter() {
            let (mut visited, mut last) = ([false; Grid::MODES], None);
            for q in chain.rows() {
                let (mode, distance) = grid.nearest(&[q[0], q[1]]);
                modes[mode] += 1;
                visited[mode] = true;
                squares += distance;
                if distance <= CORE * CORE {
                    in_core += 1;
                    jumps += usize::from(last.is_some_and(|last| last != mode));
                    last = Some(mode);
                }
            }
            fewest = fewest.min(visited.iter().filter(|visited| **visited).count());
        }
        let n = draws.flat().nrows() as f64;
        Self { modes, fewest, jumps, core: in_core as f64 / n, width: squares / (2.0 * n) }
    }

    fn draws(&self) -> usize {
        self.modes.iter().sum()
    }

    fn visited(&self) -> usize {
        self.modes.iter().filter(|count| **count > 0).count()
    }

    /// The sum of `term` of each count and its expectation.
    fn sum(&self, term: fn(f64, f64) -> f64) -> f64 {
        let expected = self.draws() as f64 / Grid::MODES as f64;
        self.modes.iter().map(|count| term(*count as f64, expected)).sum()
    }

    fn total_variation(&self) -> f64 {
        0.5 * self.sum(|count, expected| (count - expected).abs()) / self.draws() as f64
    }

    fn chi_squared(&self) -> f64 {
        self.sum(|count, expected| (count - expected).powi(2) / expected)
    }

    /// The number of independent draws whose counts are as uneven on average.
    fn worth(&self) -> f64 {
        self.draws() as f64 * (Grid::MODES - 1) as f64 / self.chi_squared()
    }
}

/// What is known about one row.
struct Row {
    method: &'static str,
    setting: String,
    /// What `counts.width` should be in theory.
    theory: f64,
    counts: Counts,
    mean: Vec<f64>,
    variance: Vec<f64>,
    rhat: f64,
    ess: f64,
    accept: f64,
    temperature: f64,
    seconds: f64,
    verdict: Verdict,
}

impl Row {
    const COUNTS: &str = "                          modes fewest  rarest commonest     TV       chi2    \
         worth   jumps  core %   width  theory";
    const MOMENTS: &str = "                           mean x   mean y    var x    var y   R-hat      ESS  \
         accept    temp  seconds";

    fn new(
        method: &'static str,
        setting: String,
        theory: f64,
        counts: Counts,
        draws: &Draws,
        seconds: f64,
    ) -> Result<Self, Error> {
        let summary = draws.summary()?;
        let over_chains = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        Ok(Self {
            method,
            setting,
            theory,
            counts,
            mean: draws.mean(),
            variance: draws.covariance().diag().to_vec(),
            rhat: summary.max_rhat(),
            ess: summary.min_ess_bulk(),
            accept: over_chains(&draws.accept_rate()),
            temperature: draws.unadjusted().map_or(f64::NAN, |chains| over_chains(&chains)),
            seconds,
            verdict: draws.verdict()?,
        })
    }

    fn name(&self) -> String {
        format!("{} {}", self.method, self.setting).trim_end().to_string()
    }

    fn print_counts(&self) {
        let Counts { modes, fewest, jumps, core, width } = &self.counts;
        let extreme = |count: Option<&usize>| count.copied().unwrap_or(0);
        println!(
            "{:<24} {:>6} {fewest:>6} {:>7} {:>9} {:>6.3} {:>10.0} {:>8} {jumps:>7} {:>7.1} {:>7} {:>7}",
            self.name(),
            self.counts.visited(),
            extreme(modes.iter().min()),
            extreme(modes.iter().max()),
            self.counts.total_variation(),
            self.counts.chi_squared(),
            number(self.counts.worth(), 0),
            100.0 * core,
            number(*width, 2),
            number(self.theory, 2)
        );
    }

    fn print_moments(&self) {
        print!("{:<24}", self.name());
        for moment in self.mean.iter().chain(&self.variance) {
            print!(" {:>8}", number(*moment, 3));
        }
        println!(
            " {:>7} {:>8.0} {:>7} {:>7} {:>8.2}",
            number(self.rhat, 3),
            self.ess,
            number(self.accept, 3),
            number(self.temperature, 2),
            self.seconds
        );
    }
}

/// A dash for what is not defined, and powers of ten where digits would not fit.
fn number(x: f64, decimals: usize) -> String {
    match x.abs() {
        size if size.is_nan() => "-".into(),
        size if size >= 1e7 => format!("{x:.1e}"),
        _ => format!("{x:.decimals$}"),
    }
}

/// The full gradient with independent normal noise, drawn anew for every position.
#[derive(Clone, Debug)]
struct NoisyGrad {
    sd: f64,
}

/// The noisy gradient where the chain is: it must not be drawn twice there.
struct NoisyStream {
    sd: f64,
    held: Cached<Vec<f64>>,
    estimate: LogDensity,
}

impl<T: GradTarget> GradSource<T> for NoisyGrad {
    type Stream = NoisyStream;

    fn name(&self) -> String {
        "NoisyGrad".into()
    }

    fn stream(&self, target: &T) -> Result<NoisyStream, Error> {
        if !(self.sd >= 0.0 && self.sd.is_finite()) {
            return Err(Error::argument("noise", self.sd, "finite and at least 0"));
        }
        let held = Cached::new(vec![0.0; target.dim()]);
        Ok(NoisyStream { sd: self.sd, held, estimate: LogDensity::new(f64::NAN, f64::NAN) })
    }
}

impl<T: GradTarget> GradStream<T> for NoisyStream {
    type State = Cached<Vec<f64>>;

    const IS_EXACT: bool = false;

    fn state(&self) -> Self::State {
        self.held.clone()
    }

    fn restore(&mut self, state: Self::State) {
        self.held = state;
        self.estimate = LogDensity::new(f64::NAN, f64::NAN);
    }

    fn eval(
        &mut self,
        target: &T,
        point: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        if self.held.is_of(point) {
            return Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 0 };
        }
        self.estimate = point.eval_grad(target, ws);
        let fine = self.estimate.is_finite() && point.grad().iter().all(|g| g.is_finite());
        if fine {
            let sd = self.sd;
            self.held.set(point, |held| {
                for (held, g) in held.iter_mut().zip(point.grad()) {
                    *held = g + sd * rng.normal();
                }
            });
        }
        Step { accept_prob: None, accepted: fine, divergent: !fine, gradient_evals: 1 }
    }

    fn grad<'a>(&'a self, point: &'a Point) -> &'a [f64] {
        self.held.at(point)
    }

    fn estimate(&self, _: &Point) -> LogDensity {
        self.estimate
    }
}

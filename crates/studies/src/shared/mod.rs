//! What the studies have in common. Here: flags, models, sampling, a table of results and files of those on data sets.

pub mod classification;
pub mod distance;
pub mod figures;
pub mod geometry;
pub mod grid;
pub mod reference;
pub mod regression;
pub mod rivals;
pub mod tables;
pub mod transition;

use std::fs;
use std::path::{Path, PathBuf};

use bnn_mcmc::data::{Columns, CsvReader, Scaler};
use bnn_mcmc::predict::Scores;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, LangevinGradient};
use bnn_mcmc::targets::{DescentRule, Objective, Pass};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value};

pub type AnyError = Box<dyn std::error::Error>;

/// The flags of a study of one run.
#[derive(clap::Args)]
pub struct Flags {
    /// Fewer draws, for a quick check
    #[arg(long)]
    pub quick: bool,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Folder to write draws.csv and summary.csv to
    #[arg(long)]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Random-walk Metropolis
    Rwm,
    /// Metropolis-adjusted Langevin algorithm
    Mala,
    /// Hamiltonian Monte Carlo
    Hmc,
    /// The no-U-turn sampler
    Nuts,
    /// The Metropolis-adjusted microcanonical sampler
    Mams,
    /// Preconditioned Crank-Nicolson; a sampled noise variance is drawn from its conditional
    Pcn,
    /// The tutorial's: gradient descent with noise in half of the steps, else a random walk
    LangevinGradient,
}

#[derive(clap::Args, Clone, Debug, Default, Serialize)]
pub struct Options {
    /// The tutorial's models, priors, step sizes and length of run (Chandra and Simmons 2024)
    /// rather than ours
    #[arg(long)]
    pub paper: bool,
    /// Sampler [default: mala, with --paper langevin-gradient]
    #[arg(long, value_enum)]
    pub sampler: Option<Kind>,
    /// Number of chains [default: 4, with --paper 5]
    #[arg(long)]
    pub chains: Option<usize>,
    /// Iterations of warm-up per chain [default: 20000, hmc and nuts 1000, with --paper 5000; with
    /// --quick a tenth]
    #[arg(long)]
    pub warmup: Option<usize>,
    /// Draws to keep per chain [default: 2000, hmc and nuts and with --paper 1000; with --quick a
    /// quarter]
    #[arg(long)]
    pub draws: Option<usize>,
    /// Steps per kept draw [default: 50, hmc and nuts 1, with --paper 5]
    #[arg(long)]
    pub thin: Option<usize>,
    /// Acceptance probability to adapt to [default: mala 0.574; hmc and nuts 0.8, networks with a
    /// real response 0.95]
    #[arg(long, value_name = "P")]
    pub target_accept: Option<f64>,
    /// Doublings of a trajectory, nuts [default: 10, networks with a real response 12, with --quick
    /// at most 8]
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u32>,
    /// Seed of the split and of all random streams
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// A short run, to see that everything works
    #[arg(long)]
    pub quick: bool,
    /// Folder to write linear/ and mlp/ to, each with draws.csv, summary.csv, predictions.csv and
    /// run.json
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Training rows: blanks or commas, no header, response last; needs --test
    #[arg(long, value_name = "FILE", requires = "test")]
    pub train: Option<PathBuf>,
    /// Test rows, in the same form; needs --train
    #[arg(long, value_name = "FILE", requires = "train")]
    pub test: Option<PathBuf>,
}

impl Options {
    pub fn sampler(&self) -> Kind {
        self.sampler.unwrap_or(if self.paper { Kind::LangevinGradient } else { Kind::Mala })
    }

    pub fn chains(&self) -> usize {
        self.chains.unwrap_or(if self.paper { 5 } else { 4 })
    }

    pub fn is_hamiltonian(&self) -> bool {
        matches!(self.sampler(), Kind::Hmc | Kind::Nuts | Kind::Mams)
    }

    pub fn warmup(&self) -> usize {
        let default = match self.paper {
            _ if self.is_hamiltonian() => 1_000,
            true => 5_000,
            false => 20_000,
        };
        self.warmup.unwrap_or(if self.quick { default / 10 } else { default })
    }

    pub fn draws(&self) -> usize {
        let default = if self.paper || self.is_hamiltonian() { 1_000 } else { 2_000 };
        self.draws.unwrap_or(if self.quick { default / 4 } else { default })
    }

    pub fn thin(&self) -> usize {
        self.thin.unwrap_or(match self.paper {
            _ if self.is_hamiltonian() => 1,
            true => 5,
            false => 50,
        })
    }

    /// What can be refused before any work is done.
    pub fn check(&self) -> Result<(), Error> {
        if self.draws == Some(0) {
            return Err(Error::argument("--draws", 0, "at least 1"));
        }
        let adapts = self.is_hamiltonian() || matches!(self.sampler(), Kind::Mala);
        if let (Some(p), false) = (self.target_accept, adapts) {
            return Err(Error::argument(
                "--target-accept",
                p,
                "left out: it is for mala, hmc and nuts",
            ));
        }
        if let (Some(n), false) = (self.max_depth, matches!(self.sampler(), Kind::Nuts)) {
            return Err(Error::argument("--max-depth", n, "left out: it is for nuts"));
        }
        match &self.out {
            Some(out) => fs::create_dir_all(out).map_err(|e| Error::io(out, e)),
            None => Ok(()),
        }
    }

    /// The rows of --train and --test, if given, else those of `bundled`; `reader` makes a reader
    /// for the response column.
    pub fn data(
        &self,
        reader: impl FnOnce(Columns) -> CsvReader,
        bundled: impl FnOnce() -> Result<(Dataset, Dataset), Error>,
    ) -> Result<(Dataset, Dataset), Error> {
        let (Some(train), Some(test)) = (&self.train, &self.test) else { return bundled() };
        let train = reader(Columns::Last).no_header().detect_delimiter().read_path(train)?;
        Ok((train.dataset, train.schema.read_path(test)?.dataset))
    }
}

/// A likelihood, with how to run pCN.
pub trait Task: Likelihood + Sized {
    fn pcn<M: Model>(
        posterior: &Posterior<M, Self>,
        start: Init,
        options: &Options,
    ) -> Result<(Draws, Value), AnyError> {
        sample(posterior, Pcn::default(), start, options)
    }
}

/// What both models of a study have in common.
pub struct Setup {
    pub train: Dataset,
    pub test: Dataset,
    /// How the data were scaled, in words.
    pub scaling: String,
    /// How the response was scaled; scores and predictions are reported in its own units.
    pub units: Option<Scaler>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kin {
    Linear,
    /// One hidden layer of ten units.
    Mlp,
}

impl Kin {
    fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Mlp => "mlp",
        }
    }
}

/// A model with its priors, and how it is sampled.
pub struct Plan {
    pub kin: Kin,
    pub priors: Priors,
    /// The priors in words.
    pub prior: String,
    /// If MALA is what was asked for.
    pub mala: Mala,
    /// If NUTS is what was asked for.
    pub nuts: Nuts,
    /// If the Langevin-gradient sampler is what was asked for.
    pub langevin: LangevinGradient,
    /// Chains start at normal coordinates with this standard deviation; at draws of the prior if
    /// there is none.
    pub start_sd: Option<f64>,
}

impl Plan {
    /// The tutorial's settings: a normal prior with variance 5 or 25, fixed step sizes, a random walk
    /// for the linear model, one pass of gradient descent row by row in half of the network's steps.
    /// (Of a noise variance the tutorial's code samples the logarithm, without the Jacobian; here it
    /// is in the prior.)
    pub fn paper(kin: Kin, objective: Objective) -> Result<Self, Error> {
        let (variance, step_size, other_step_size, langevin_rate) = match kin {
            Kin::Linear => (5.0f64, 0.02, 0.01, 0.0),
            Kin::Mlp => (25.0, 0.025, 0.2, 0.5),
        };
        let descent = DescentRule { objective, pass: Pass::PerRow, learning_rate: 0.01, depth: 1 };
        Ok(Self {
            kin,
            priors: Priors::all(Normal::new(0.0, variance.sqrt())?),
            prior: format!("N(0, {variance}), a variance, on every weight"),
            mala: Mala::default(),
            nuts: Nuts::default(),
            langevin: LangevinGradient {
                step_size,
                other_step_size,
                langevin_rate,
                descent,
                adapt_step_size: false,
                ..LangevinGradient::default()
            },
            start_sd: Some(1.0),
        })
    }

    fn mala(&self, options: &Options) -> Mala {
        let target_accept = options.target_accept.unwrap_or(self.mala.target_accept);
        Mala { target_accept, ..self.mala.clone() }
    }

    fn nuts(&self, options: &Options) -> Nuts {
        let deepest = if options.quick { 8 } else { self.nuts.max_depth };
        Nuts {
            target_accept: options.target_accept.unwrap_or(self.nuts.target_accept),
            max_depth: options.max_depth.unwrap_or(self.nuts.max_depth.min(deepest)),
            ..self.nuts.clone()
        }
    }

    /// With the settings that NUTS would have.
    fn hmc(&self, options: &Options) -> Hmc {
        let Nuts { target_accept, preconditioner, .. } = self.nuts(options);
        Hmc { target_accept, preconditioner, ..Hmc::default() }
    }

    /// With the preconditioner that NUTS would have.
    fn mams(&self, options: &Options) -> Mams {
        let target_accept = options.target_accept.unwrap_or(Mams::default().target_accept);
        let preconditioner = self.nuts.preconditioner;
        Mams { target_accept, preconditioner, ..Mams::default() }
    }

    /// The priors, and the tutorial's sampler if that is what was asked for.
    fn words(&self, setup: &Setup, options: &Options) -> String {
        let LangevinGradient { step_size, other_step_size, langevin_rate, descent, .. } =
            &self.langevin;
        let prior = &self.prior;
        if !matches!(options.sampler(), Kind::LangevinGradient) {
            return prior.clone();
        }
        let steps = match self.langevin.adapt_step_size {
            true => "adapted in warm-up".into(),
            false if setup.train.response().real().is_none() => step_size.to_string(),
            false => format!("{step_size} for weights, {other_step_size} for the noise"),
        };
        if *langevin_rate == 0.0 {
            return format!("{prior}; random walk, steps {steps}");
        }
        let DescentRule { objective, pass, learning_rate, .. } = descent;
        format!(
            "{prior}; steps {steps}; in {:.0} % of them descent ({objective:?}, {pass:?}) at rate \
             {learning_rate:.3e}",
            100.0 * langevin_rate
        )
    }
}

/// What is about to be run.
pub fn print_setup(setup: &Setup, plans: &[Plan], options: &Options) {
    let Setup { train, test, scaling, .. } = setup;
    let classes = train.response().class_names().map(|names| format!(", {} classes", names.len()));
    println!(
        "{} training rows, {} test rows, {} features{}; sampler: {:?}\n{scaling}",
        train.rows(),
        test.rows(),
        train.n_features(),
        classes.unwrap_or_default(),
        options.sampler()
    );
    let words: Vec<String> = plans.iter().map(|p| p.words(setup, options)).collect();
    if words.iter().all(|w| *w == words[0]) {
        println!("priors: {}", words[0]);
    } else {
        plans.iter().zip(words).for_each(|(p, words)| println!("{}: {words}", p.kin.name()));
    }
    if options.paper {
        println!(
            "{} chains of {} + {} steps, thinned by {}, starting at N(0, 1)",
            options.chains(),
            options.warmup(),
            options.draws().saturating_mul(options.thin()),
            options.thin()
        );
    }
}

/// One model's run.
pub struct Run {
    pub draws: Draws,
    pub summary: Summary,
    pub predictions: Predictions,
    pub report: Report,
}

/// What is reported of one model, and written to run.json.
#[derive(Serialize)]
pub struct Report {
    pub model: String,
    pub parameters: usize,
    pub settings: Value,
    pub version: &'static str,
    pub seconds_warmup: f64,
    pub seconds_sampling: f64,
    pub gradient_evals: u64,
    pub accept_rate: Vec<f64>,
    pub divergences: u64,
    pub train: Scores,
    pub test: Scores,
    pub weight_space: Convergence,
    pub function_space: Convergence,
    /// Of posterior predictive draws, function plus noise; for real responses.
    pub predictive_draws: Option<Convergence>,
    pub verdict: String,
    /// What only some studies report.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The worst R-hat and effective sample sizes over a set of quantities.
#[derive(Serialize)]
pub struct Convergence {
    pub quantities: usize,
    pub rhat: f64,
    pub ess_bulk: f64,
    pub ess_tail: f64,
}

impl Convergence {
    fn of(summary: &Summary) -> Self {
        Self {
            quantities: summary.rows.len(),
            rhat: summary.max_rhat(),
            ess_bulk: summary.min_ess_bulk(),
            ess_tail: summary.min_ess_tail(),
        }
    }
}

/// Samples the model of `plan`, which has `outputs` outputs.
pub fn fit<L: Task>(
    likelihood: L,
    outputs: usize,
    plan: &Plan,
    setup: &Setup,
    options: &Options,
) -> Result<Run, AnyError> {
    let features = setup.train.n_features();
    if plan.kin == Kin::Linear {
        let linear = Linear::new(features, outputs)?;
        return fit_model(plan.kin.name().into(), linear, likelihood, plan, setup, options);
    }
    let (hidden, output) = match options.paper {
        true => (Activation::Sigmoid, Activation::Sigmoid),
        false => (Activation::Tanh, Activation::Identity),
    };
    let sizes = [features, 10, outputs];
    let mlp = Mlp::new(&sizes, hidden)?.output_activation(output);
    let name = format!("{} {features}-10-{outputs} {hidden}", plan.kin.name());
    fit_model(name, mlp, likelihood, plan, setup, options)
}

fn fit_model<M: Model, L: Task>(
    name: String,
    model: M,
    likelihood: L,
    plan: &Plan,
    setup: &Setup,
    options: &Options,
) -> Result<Run, AnyError> {
    let Setup { train, test, units, .. } = setup;
    let posterior = Posterior::new(model, likelihood, train, plan.priors.clone())?;
    let start = plan
        .start_sd
        .map_or(Init::Random, |sd| Init::Around { centre: vec![0.0; posterior.dim()], sd });
    let (draws, algorithm) = match options.sampler() {
        Kind::Rwm => sample(&posterior, Rwm::default(), start, options)?,
        Kind::Mala => sample(&posterior, plan.mala(options), start, options)?,
        Kind::Hmc => sample(&posterior, plan.hmc(options), start, options)?,
        Kind::Nuts => sample(&posterior, plan.nuts(options), start, options)?,
        Kind::Mams => sample(&posterior, plan.mams(options), start, options)?,
        Kind::Pcn => L::pcn(&posterior, start, options)?,
        Kind::LangevinGradient => sample(&posterior, plan.langevin.clone(), start, options)?,
    };
    let in_units = |predictions: Predictions| match units {
        Some(scaler) => predictions.unscaled(scaler),
        None => Ok(predictions),
    };
    let train = in_units(posterior.predict(&draws, train)?)?.scores()?;
    let predictions = posterior.predict(&draws, test)?;
    let function_space = Convergence::of(&predictions.summary()?);
    let verdict = predictions.verdict()?.to_string();
    let predictions = in_units(predictions)?;
    let summary = draws.summary()?;
    let mut settings = serde_json::to_value(options)?;
    settings["sampler"] = serde_json::to_value(options.sampler())?;
    settings["algorithm"] = algorithm;
    settings["prior"] = plan.prior.clone().into();
    settings["scaling"] = setup.scaling.clone().into();
    settings["start_sd"] = plan.start_sd.into();
    settings["chains"] = draws.n_chains().into();
    settings["warmup"] = draws.info().warmup.into();
    settings["draws"] = draws.n_draws().into();
    settings["thin"] = draws.info().thin.into();
    let predictive_draws = match test.response().real() {
        Some(_) => Some(Convergence::of(&predictions.predictive_summary()?)),
        None => None,
    };
    let report = Report {
        model: name,
        parameters: posterior.dim(),
        settings,
        version: env!("CARGO_PKG_VERSION"),
        seconds_warmup: draws.info().warmup_seconds,
        seconds_sampling: draws.info().sampling_seconds,
        gradient_evals: draws.gradient_evals(),
        accept_rate: accept_rate(&draws),
        divergences: draws.divergences(),
        train,
        test: predictions.scores()?,
        weight_space: Convergence::of(&summary),
        function_space,
        predictive_draws,
        verdict,
        more: Map::new(),
    };
    Ok(Run { draws, summary, predictions, report })
}

/// The mean acceptance probability of each chain; in a cycle with a Gibbs update, which accepts always,
/// that of the first kernel.
fn accept_rate(draws: &Draws) -> Vec<f64> {
    match draws.stat("first.accept_prob").or_else(|_| draws.stat("accept_prob")) {
        Ok(p) => p.rows().into_iter().map(|r| r.mean().unwrap_or(f64::NAN)).collect(),
        Err(_) => draws.accept_rate(),
    }
}

/// Runs `algorithm`, and says what it was.
pub fn sample<T: Target, A: for<'t> Algorithm<&'t T> + Serialize>(
    target: &T,
    algorithm: A,
    start: Init,
    options: &Options,
) -> Result<(Draws, Value), AnyError> {
    let config = serde_json::to_value(&algorithm)?;
    let draws = Sampler::new(target, algorithm)
        .chains(options.chains())
        .warmup(options.warmup())
        .draws(options.draws())
        .thin(options.thin())
        .seed(options.seed)
        .init(start)
        .run()?;
    Ok((draws, config))
}

/// Writes a folder for each model, if there is a folder to write to.
pub fn write(options: &Options, runs: &[Run]) -> Result<(), AnyError> {
    let Some(out) = &options.out else { return Ok(()) };
    for run in runs {
        write_run(&out.join(run.report.model.split(' ').next().unwrap_or("model")), run)?;
    }
    Ok(())
}

fn write_run(folder: &Path, run: &Run) -> Result<(), AnyError> {
    let Run { draws, summary, predictions, report } = run;
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    draws.to_csv(folder.join("draws.csv"))?;
    summary.to_csv(folder.join("summary.csv"))?;
    predictions.to_csv(folder.join("predictions.csv"))?;
    let json = serde_json::to_string_pretty(report)? + "\n";
    fs::write(folder.join("run.json"), json).map_err(|e| Error::io(folder.join("run.json"), e))?;
    Ok(())
}

/// One line of the table for each of training and test rows.
pub struct Line {
    pub label: &'static str,
    /// The name of the score.
    pub score: &'static str,
    /// Multiplied by, 100 for percentages.
    pub scale: f64,
    pub digits: usize,
    /// Mean and standard deviation of single draws, rather than the score of the posterior.
    pub single_draws: bool,
}

impl Line {
    pub const fn new(label: &'static str, score: &'static str, scale: f64, digits: usize) -> Self {
        Self { label, score, scale, digits, single_draws: false }
    }

    pub const fn single_draws(self) -> Self {
        Self { single_draws: true, ..self }
    }

    fn text(&self, scores: &Scores) -> String {
        let Some(score) = scores.get(self.score) else { return "-".into() };
        let (scale, digits) = (self.scale, self.digits);
        if self.single_draws {
            format!("{:.digits$} +- {:.digits$}", scale * score.draws_mean, scale * score.draws_sd)
        } else {
            format!("{:.digits$}", scale * score.posterior)
        }
    }
}

/// The table, with `more` numbers (label, key, digits) after the scores, and the verdicts.
pub fn print_runs(runs: &[Run], lines: &[Line], more: &[(&str, &str, usize)]) {
    let line = |label: &str, value: &dyn Fn(&Report) -> String| {
        print!("{label:34}");
        for run in runs {
            print!(" {:>24}", value(&run.report));
        }
        println!();
    };
    println!();
    line("", &|r| r.model.clone());
    line("parameters", &|r| r.parameters.to_string());
    for (set, scores) in
        [("train", (|r| &r.train) as fn(&Report) -> &Scores), ("test", |r| &r.test)]
    {
        for l in lines {
            line(&format!("{set} {}", l.label), &|r| l.text(scores(r)));
        }
    }
    for (label, key, digits) in more {
        line(label, &|r| match r.more.get(*key).and_then(Value::as_f64) {
            Some(value) => format!("{value:.digits$}"),
            None => "-".into(),
        });
    }
    line("acceptance, %", &|r| {
        let rates: Vec<String> =
            r.accept_rate.iter().map(|a| format!("{:.0}", 100.0 * a)).collect();
        rates.join(" ")
    });
    line("divergent transitions", &|r| r.divergences.to_string());
    for (space, convergence) in [
        ("function space", (|r| &r.function_space) as fn(&Report) -> &Convergence),
        ("weight space", |r| &r.weight_space),
    ] {
        line(&format!("R-hat, {space}, max"), &|r| format!("{:.3}", convergence(r).rhat));
        // Beside that of functions, never instead: noise hides disagreement. Draws of classes are
        // names, of which there is no R-hat.
        if space == "function space" && runs.iter().any(|r| r.report.predictive_draws.is_some()) {
            line("R-hat, function plus noise, max", &|r| {
                r.predictive_draws.as_ref().map_or("-".into(), |c| format!("{:.3}", c.rhat))
            });
        }
        line(&format!("bulk ESS, {space}, min"), &|r| {
            format!("{:.0}", convergence(r).ess_bulk.floor())
        });
        line(&format!("tail ESS, {space}, min"), &|r| {
            format!("{:.0}", convergence(r).ess_tail.floor())
        });
    }
    line("gradient evaluations", &|r| r.gradient_evals.to_string());
    line("seconds, warm-up + sampling", &|r| {
        format!("{:.2} + {:.2}", r.seconds_warmup, r.seconds_sampling)
    });
    println!();
    for run in runs {
        println!("{}: {}", run.report.model, run.report.verdict);
    }
}

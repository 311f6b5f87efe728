//! The acceptance rate that samplers of networks should aim at, and ensembles of linear models beside networks.
//!
//!     cargo run --release -p bnn-mcmc-studies -- acceptance
//!
//! The tutorial of Chandra and others (2024, arXiv:2304.02595) asks for a study of acceptance rates for neural networks, since the rates that theory
//! gives (0.234 for random walks, 0.574 for MALA, 0.651 for Hamiltonian trajectories) are of products of many equal densities. Here each
//! sampler adapts its step size to several rates, on the posteriors that `Fit` builds by default for three sets:
//!
//! ```text
//! effective draws of a prediction for 1,000 gradients of sampling, the least and the median of 50 rows, and of the log likelihood
//! ```
//!
//! with R-hat of the predictions, since effective draws of chains that disagree say nothing. Each run has about the same number of gradients, so that
//! slow ones are not cut short. The output is the table behind `benches/comparison/README.md` in Markdown.
//!
//! The tutorial's discussion suggests ensembles of linear models, which converge, in the place of networks: with --linear each set is fitted by one linear model, by 20 of them, each on a
//! bootstrap sample of the rows, and by a network, and the log density of held-out rows is compared.

use bnn_mcmc::data::bundled;
use bnn_mcmc::diagnostics::{ess_bulk, rhat};
use bnn_mcmc::fit::{AnyLikelihood, Fit, Method, Network, Recipe};
use bnn_mcmc::ndarray::{Array1, ArrayView1, s};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Collapsed, Mams};

use crate::shared::AnyError;

#[derive(clap::Args)]
pub struct Args {
    /// Gradients of each chain
    #[arg(long, default_value_t = 300_000)]
    gradients: usize,
    /// Seed of the splits and of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Ensembles of linear models beside networks instead
    #[arg(long)]
    linear: bool,
    /// Short runs, to see that everything works
    #[arg(long)]
    quick: bool,
}

type Target<'f> = &'f Posterior<Network, AnyLikelihood>;

/// The rows whose predictions are looked at, at most.
const ROWS: usize = 50;
const CHAINS: usize = 4;

fn sets() -> [(&'static str, Recipe, Dataset); 3] {
    let network = |recipe: Recipe| recipe.hidden(&[10]);
    [
        ("boston, 13-10-1", network(Fit::regression("medv")), bundled::boston()),
        ("sunspot, 4-10-1", network(Fit::regression("y1")), bundled::sunspot_windows().0),
        ("iris, 4-10-3", network(Fit::classification("species")), bundled::iris()),
    ]
}

/// One cell of the table.
struct Cell {
    accept: f64,
    rhat: f64,
    /// Effective draws for 1,000 gradients: the least and the median of the predictions, and the log likelihood's.
    ess: [f64; 3],
}

pub fn run(args: Args) -> Result<(), AnyError> {
    if args.linear {
        return Ok(linear_beside_networks(&args)?);
    }
    println!("| set | sampler | aimed at | accepted | R-hat | least | median | log likelihood |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, recipe, data) in sets() {
        // What `Fit` samples, with its scalings and priors.
        let fit = recipe.chains(1).warmup(1).draws(1).method(Method::Nuts).fit(&data)?;
        let (posterior, rows) = (fit.posterior(), scaled_rows(&fit)?);
        let is_regression = data.response().real().is_some();
        let rates: &[f64] =
            if args.quick { &[0.8] } else { &[0.4, 0.574, 0.651, 0.8, 0.9, 0.95, 0.98] };
        for &rate in rates {
            let budget = if args.quick { 2_000 } else { args.gradients };
            let run = Run { posterior, rows: &rows, budget, seed: args.seed };
            let mala = Mala { target_accept: rate, ..Mala::default() };
            run.row(name, "MALA", rate, mala)?;
            let hmc = Hmc {
                target_accept: rate,
                adapt_path_length: true,
                max_first_steps: 100,
                ..Hmc::default()
            };
            run.row(name, "HMC", rate, hmc)?;
            let nuts = Nuts { target_accept: rate, ..Nuts::default() };
            run.row(name, "NUTS", rate, nuts.clone())?;
            let mams = Mams { target_accept: rate, ..Mams::default() };
            run.row(name, "MAMS", rate, mams.clone())?;
            if is_regression {
                run.row(name, "collapsed NUTS", rate, Collapsed::new(nuts))?;
                run.row(name, "collapsed MAMS", rate, Collapsed::new(mams))?;
            }
        }
    }
    Ok(())
}

/// Some training rows as the posterior has them.
fn scaled_rows(fit: &Fit) -> Result<Dataset, Error> {
    let n = fit.data().rows();
    let rows: Vec<usize> = (0..n.min(ROWS)).map(|i| i * n / n.min(ROWS)).collect();
    fit.feature_scaler().scale_features(&fit.data().select(&rows)?)
}

/// The runs on one posterior.
struct Run<'f> {
    posterior: Target<'f>,
    rows: &'f Dataset,
    budget: usize,
    seed: u64,
}

impl<'f> Run<'f> {
    fn row<A>(&self, set: &str, sampler: &str, rate: f64, algorithm: A) -> Result<(), Error>
    where
        A: Algorithm<Target<'f>> + Clone + serde::Serialize,
    {
        let Cell { accept, rhat, ess: [least, median, log_lik] } = self.cell(algorithm)?;
        println!(
            "| {set} | {sampler} | {rate} | {accept:.2} | {rhat:.3} | {least:.2} | {median:.2} | {log_lik:.2} |"
        );
        Ok(())
    }

    fn cell<A>(&self, algorithm: A) -> Result<Cell, Error>
    where
        A: Algorithm<Target<'f>> + Clone + serde::Serialize,
    {
        let sampler = |warmup: usize| {
            let sampler =
                Sampler::new(self.posterior, algorithm.clone()).chains(CHAINS).seed(self.seed);
            let centre = vec![0.0; self.posterior.layout().dim()];
            sampler.warmup(warmup).init(bnn_mcmc::sampler::Init::Around { centre, sd: 0.1 })
        };
        // Samplers of one gradient a step need longer warm-ups; how many gradients a draw takes is seen in a short run.
        let pilot = sampler(200).draws(50).run()?;
        let per_draw = pilot.gradient_evals() as f64 / (50 * CHAINS) as f64;
        let draws = ((self.budget as f64 / per_draw) as usize).clamp(100, 1_000_000);
        let warmup = draws.clamp(200, if per_draw < 2.0 { 20_000 } else { 1_000 });
        let thin = draws.div_ceil(4_000);
        let draws = sampler(warmup).draws(draws.div_ceil(thin)).thin(thin).run()?;

        let mean = self.posterior.predict_mean(&draws, self.rows.x().view())?;
        let of_row = |row: usize| mean.slice(s![.., .., row, 0]);
        let thousands = draws.gradient_evals() as f64 / 1000.0;
        let mut ess: Vec<f64> = (0..self.rows.rows()).map(|row| ess_bulk(of_row(row))).collect();
        ess.sort_by(f64::total_cmp);
        let rhat = (0..self.rows.rows()).map(|row| rhat(of_row(row))).fold(f64::NAN, f64::max);
        let accept = draws.stat("accept_prob")?.mean().unwrap_or(f64::NAN);
        let log_lik = ess_bulk(draws.stat("log_likelihood")?);
        let ess = [ess[0], ess[ess.len() / 2], log_lik].map(|ess| ess / thousands);
        Ok(Cell { accept, rhat, ess })
    }
}

/// The members of an ensemble of linear models.
const MEMBERS: usize = 20;

fn linear_beside_networks(args: &Args) -> Result<(), Error> {
    println!("| set | model | log density of a held-out row | R-hat | gradients |");
    println!("| --- | --- | --- | --- | --- |");
    for (name, network, data) in sets() {
        let set = name.split(',').next().unwrap_or(name);
        let (train, test) = data.train_test_split(0.3, args.seed)?;
        let sized = |recipe: Recipe| match args.quick {
            true => recipe.chains(2).warmup(50).draws(50),
            false => recipe.chains(4).warmup(1000).draws(1000),
        };
        let linear = sized(network.clone().hidden(&[]));
        for (model, recipe) in [("linear", linear.clone()), ("network", sized(network))] {
            let fit = recipe.fit(&train)?;
            let densities = fit.predict(&test)?.log_predictive_densities()?;
            let info = fit.draws().info();
            let warmup: u64 = info.warmup_gradient_evals.iter().sum();
            line(
                set,
                model,
                densities.view(),
                fit.verdict()?.max_rhat(),
                warmup + fit.draws().gradient_evals(),
            );
        }
        let members = if args.quick { 3 } else { MEMBERS };
        let mut rng = ChainRng::new(args.seed, 0);
        let (mut all, mut worst, mut gradients) = (Vec::new(), f64::NAN, 0);
        for _ in 0..members {
            let n = train.rows();
            let rows: Vec<usize> = (0..n).map(|_| (rng.uniform() * n as f64) as usize).collect();
            let fit = linear.clone().fit(&train.select(&rows)?)?;
            all.push(fit.predict(&test)?.log_predictive_densities()?);
            worst = fit.verdict()?.max_rhat().max(worst);
            let warmup: u64 = fit.draws().info().warmup_gradient_evals.iter().sum();
            gradients += warmup + fit.draws().gradient_evals();
        }
        line(set, &format!("{members} linear, bagged"), mixed(&all).view(), worst, gradients);
    }
    Ok(())
}

fn line(set: &str, model: &str, densities: ArrayView1<f64>, rhat: f64, gradients: u64) {
    let mean = densities.mean().unwrap_or(f64::NAN);
    println!("| {set} | {model} | {mean:.3} | {rhat:.3} | {gradients} |");
}

/// The log densities of the mixture of models with equal weights.
fn mixed(all: &[Array1<f64>]) -> Array1<f64> {
    let of_row = |row: usize| {
        let most = all.iter().map(|of| of[row]).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = all.iter().map(|of| (of[row] - most).exp()).sum();
        most + (sum / all.len() as f64).ln()
    };
    (0..all[0].len()).map(of_row).collect()
}

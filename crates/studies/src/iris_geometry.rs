//! The posterior of a small network on the iris data: which sampler gets through, and do they agree?
//!
//!     cargo run --release -p bnn-mcmc-studies -- iris_geometry
//!
//! MLP(4, 3, 3) with sigmoids, 27 weights, as in section 6.2 of Papamarkou, Hinkle, Young and Womble,
//! Statist. Sci. 37, 2022, arXiv:1910.06539, with N(0, 10) priors (a variance) on standardised
//! features. Every sampler runs four chains from draws of the prior, for about the same time (the
//! numbers of draws were set by trial). The columns are those of `xor`: R-hat and ESS of the weights,
//! copies of modes visited (of 3! = 6), and, decisive, R-hat and ESS of the predicted probabilities.
//!
//! Then the posterior covariance: the draws of every sampler are brought to the canonical form of one
//! reference, and their covariances and correlations compared with those of the best sampler, by
//! Monte Carlo standard errors. A sampler that has not converged may well differ.

use bnn_mcmc::data::{Standardise, bundled};
use bnn_mcmc::diagnostics::{Agreement, CovarianceComparison};
use bnn_mcmc::draws::LadderReport;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::sampler::Ladder;

use crate::shared::AnyError;
use crate::shared::geometry::{self, Row};

type Network = Posterior<Mlp, Categorical>;

#[derive(clap::Args)]
pub struct Args {
    /// Short chains, for a quick check
    #[arg(long)]
    quick: bool,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draws of each chain are multiplied by this
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Variance of the normal prior of all weights
    #[arg(long, default_value_t = 10.0)]
    prior_variance: f64,
    /// Rungs of the ladder
    #[arg(long, default_value_t = 17)]
    rungs: usize,
    /// Only samplers whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// File to write the table to, as CSV
    #[arg(long)]
    out: Option<std::path::PathBuf>,
}

/// The runs so far.
struct Runs<'a> {
    args: &'a Args,
    posterior: &'a Network,
    data: &'a Dataset,
    done: Vec<(Row, Draws)>,
}

pub fn run(args: Args) -> Result<(), AnyError> {
    let data = bundled::iris();
    let data = Standardise::new().fit_features(&data)?.scale_features(&data)?;
    let priors = Priors::all(Normal::new(0.0, args.prior_variance.sqrt())?);
    let mlp = Mlp::new(&[4, 3, 3], Activation::Sigmoid)?;
    let posterior = Posterior::new(mlp, Categorical, &data, priors)?;
    let mut runs = Runs { args: &args, posterior: &posterior, data: &data, done: Vec::new() };

    println!("{}\n", geometry::LEGEND);
    if args.quick {
        println!("quick: chains too short to be believed\n");
    }
    println!("{}", Row::HEADER);
    let ladder = Ladder::Power { rungs: args.rungs, exponent: 5.0 };
    let power = PowerPosteriors { ladder: ladder.clone(), ..PowerPosteriors::new(Mala::default()) };
    let power_nuts = PowerPosteriors { ladder, ..PowerPosteriors::new(Nuts::default()) };
    runs.sample("RWM", Rwm::default(), 20_000, 50)?;
    runs.sample("pCN", Pcn::default(), 20_000, 50)?;
    runs.sample("MALA", Mala::default(), 20_000, 25)?;
    runs.sample("SMMALA SoftAbs", Smmala::new(SoftAbs { alpha: 1.0 }), 20_000, 2)?;
    runs.sample("SMMALA Fisher", Smmala::new(Fisher), 20_000, 3)?;
    runs.sample("HMC", Hmc::default(), 20_000, 3)?;
    runs.sample("NUTS", Nuts::default(), 20_000, 2)?;
    runs.sample("power, MALA", power, 20_000, 2)?;
    runs.sample("power, NUTS", power_nuts, 4_000, 1)?;
    runs.finish()
}

impl Runs<'_> {
    fn sample<A: for<'t> Algorithm<&'t Network>>(
        &mut self,
        name: &str,
        algorithm: A,
        draws: usize,
        thin: usize,
    ) -> Result<(), AnyError> {
        if !name.contains(&self.args.only) {
            return Ok(());
        }
        let scale = if self.args.quick { 0.01 } else { self.args.scale };
        let draws = ((draws as f64 * scale) as usize).max(100);
        let sampler = Sampler::new(self.posterior, algorithm).seed(self.args.seed);
        let draws = sampler.warmup((draws * thin / 4).max(500)).draws(draws).thin(thin).run()?;
        let prior = format!("N(0, {})", self.args.prior_variance);
        let row = Row::new(name, &prior, self.posterior, self.data, &draws)?;
        row.print();
        self.done.push((row, geometry::kept(&draws)?));
        Ok(())
    }

    /// Says which sampler is best, compares the covariances of those that converged with its.
    fn finish(self) -> Result<(), AnyError> {
        if let Some(path) = &self.args.out {
            let mut csv = csv::WriterBuilder::new().has_headers(false).from_path(path)?;
            csv.write_record(Row::FIELDS)?;
            for (row, _) in &self.done {
                csv.serialize(row)?;
            }
            csv.flush()?;
        }
        if let Some((_, draws)) = self.done.iter().find(|(row, _)| row.sampler == "power, MALA") {
            println!("\nthe ladder of the first chain:\n{}", LadderReport::of(draws)?[0]);
        }
        if self.done.is_empty() {
            return Err(
                Error::argument("only", &self.args.only, "a part of a sampler's name").into()
            );
        }
        let rate = |row: &Row| row.ess_function / row.seconds;
        let converged = || self.done.iter().filter(|(row, _)| row.rhat_function <= 1.01);
        let best = converged().max_by(|(a, _), (b, _)| rate(a).total_cmp(&rate(b)));
        let Some((best, best_draws)) = best else {
            println!("no sampler reaches R-hat 1.01 in function space");
            return Ok(());
        };
        println!("most effective predictions per second: {}", best.sampler);
        for (row, _) in converged().filter(|(row, _)| row.sampler != best.sampler) {
            println!("  {:.1} times as many as {}", rate(best) / rate(row), row.sampler);
        }
        let symmetries = geometry::symmetries(self.posterior)?;
        let reference = symmetries.canonical(best_draws, None)?;
        println!("\ncovariance of the canonical weights, against {}:", best.sampler);
        for (row, draws) in self.done.iter().filter(|(row, _)| row.sampler != best.sampler) {
            let canonical = symmetries.canonical(draws, Some(&reference.reference))?;
            let comparison = CovarianceComparison::new(&reference.draws, &canonical.draws)?;
            let verdict = match comparison.agreement() {
                Agreement::Agree => "agree",
                Agreement::Differ => "differ",
                Agreement::TooFewDraws => "too few effective draws to say",
            };
            println!(
                "  {:<17} {verdict}: largest difference {:.1} standard errors (limit {:.1}), smallest \
                 ESS {:.0}, Frobenius {:.2} ({:.2} from noise alone)",
                row.sampler,
                comparison.max_z(),
                comparison.limit,
                comparison.min_ess,
                comparison.frobenius,
                comparison.frobenius_noise
            );
        }
        Ok(())
    }
}

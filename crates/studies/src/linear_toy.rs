//! Bayesian linear regression on toy data, against its exact posterior.
//!
//!     cargo run --release -p bnn-mcmc-studies -- linear_toy
//!
//! Listing 7 of Chandra and Simmons, IEEE Access 12 (2024), arXiv:2304.02595: 100 points of
//! y = 3 x + 4 + noise with standard deviation 0.5, x on [0, 1]; prior N(0, 5) (a variance) on
//! slope and intercept, and 1/tau^2 on the noise variance, which is improper but harmless here: a
//! line cannot go through 100 noisy points. 20,000 draws per chain after 5,000 of warm-up.

use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance};
use ndarray::{Array1, Array2, Array3, Axis};
use ndarray_rand::RandomExt;
use ndarray_rand::rand_distr::StandardNormal;

use crate::shared::AnyError;

#[derive(clap::Args)]
pub struct Args {
    /// Fewer draws, for a quick check
    #[arg(long)]
    quick: bool,
    /// Seed of the toy data and of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder to write draws.csv and summary.csv of the MALA run to, and exact.csv: as many
    /// independent draws of the exact posterior as a chain has
    #[arg(long)]
    out: Option<std::path::PathBuf>,
}

pub fn run(args: Args) -> Result<(), AnyError> {
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|e| Error::io(out, e))?;
    }
    let mut rng = ChainRng::new(args.seed, 1_000);
    let x: Array2<f64> = Array1::linspace(0.0, 1.0, 100).insert_axis(Axis(1));
    let noise = Array1::random_using(100, StandardNormal, &mut rng);
    let y: Array1<f64> = 3.0 * &x.column(0) + 4.0 + 0.5 * noise;

    let prior_sd = 5f64.sqrt();
    let noise = NoiseVariance::InverseGamma { shape: 0.0, scale: 0.0 };
    let exact = ConjugateRegression::new(x.view(), y.view(), prior_sd, noise)?;

    let data = Dataset::regression(x, y)?;
    let priors = Priors::all(Normal::new(0.0, prior_sd)?)
        .with("log_noise_variance", LogInverseGamma::new(0.0, 0.0)?);
    let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::sampled(), &data, priors)?;

    // An improper prior cannot be drawn from: start around the origin instead.
    let init = Init::Around { centre: vec![0.0; posterior.dim()], sd: 1.0 };
    let draws = if args.quick { 4_000 } else { 20_000 };
    // Slope and intercept are correlated: learn their covariance, not only their variances.
    let preconditioner = Preconditioner::Dense;
    let mala = Sampler::new(&posterior, Mala { preconditioner, ..Mala::default() })
        .warmup(5_000)
        .draws(draws)
        .seed(args.seed)
        .init(init.clone())
        .run()?;
    let rwm = Sampler::new(&posterior, Rwm { preconditioner, ..Rwm::default() })
        .warmup(5_000)
        .draws(draws)
        .seed(args.seed)
        .init(init)
        .run()?;

    println!("y = 3 x + 4 + N(0, 0.5^2), 100 points; {draws} draws in each of 4 chains\n");
    println!(
        "{:20} {:>8} {:>8} | {:>8} {:>8} {:>8} {:>6} | {:>8} {:>8} {:>8} {:>6}",
        "", "exact", "", "MALA", "", "", "", "RWM", "", "", ""
    );
    println!(
        "{:20} {:>8} {:>8} | {:>8} {:>8} {:>8} {:>6} | {:>8} {:>8} {:>8} {:>6}",
        "", "mean", "sd", "mean", "MCSE", "sd", "ESS", "mean", "MCSE", "sd", "ESS"
    );
    let (mean, covariance) = (exact.mean(), exact.covariance());
    let (mala_rows, rwm_rows) = (mala.summary()?.rows, rwm.summary()?.rows);
    for (i, (a, b)) in mala_rows.iter().zip(&rwm_rows).enumerate() {
        println!(
            "{:20} {:8.4} {:8.4} | {:8.4} {:8.4} {:8.4} {:6.0} | {:8.4} {:8.4} {:8.4} {:6.0}",
            a.name,
            mean[i],
            covariance[(i, i)].sqrt(),
            a.mean,
            a.mcse_mean,
            a.sd,
            a.ess_bulk,
            b.mean,
            b.mcse_mean,
            b.sd,
            b.ess_bulk
        );
    }
    println!("\nslope-intercept correlation");
    let correlation = |c: &Array2<f64>| c[(0, 1)] / (c[(0, 0)] * c[(1, 1)]).sqrt();
    println!(
        "exact {:.4}, MALA {:.4}, RWM {:.4}",
        correlation(&covariance),
        correlation(&mala.covariance()),
        correlation(&rwm.covariance())
    );
    if let Some(out) = &args.out {
        mala.to_csv(out.join("draws.csv"))?;
        mala.summary()?.to_csv(out.join("summary.csv"))?;
        let mut independent = Array3::zeros((1, draws, exact.dim()));
        let mut q = vec![0.0; exact.dim()];
        for mut row in independent.rows_mut() {
            exact.draw(&mut rng, &mut q);
            row.assign(&ndarray::aview1(&q));
        }
        Draws::new(mala.layout().clone(), independent)?.to_csv(out.join("exact.csv"))?;
    }
    Ok(())
}

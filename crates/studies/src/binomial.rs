//! The chance of success from 50 successes in 100 trials, against the exact posterior.
//!
//!     cargo run --release -p bnn-mcmc-studies -- binomial
//!
//! Listing 2 of Chandra and Simmons, IEEE Access 12 (2024), arXiv:2304.02595: a flat prior on p,
//! proposals drawn uniformly from [0, 1] whatever the chain's position, 10,000 steps of which the
//! first 2,500 are discarded; here with 4 chains. With a flat prior the posterior is
//! Beta(k + 1, n - k + 1).

use bnn_mcmc::prelude::*;
use statrs::distribution::{Beta, ContinuousCDF};
use statrs::statistics::Distribution;

use crate::shared::{AnyError, Flags};

/// p given k successes in n trials, with a flat prior on [0, 1].
struct Binomial {
    k: f64,
    n: f64,
}

impl Target for Binomial {
    type Workspace = ();

    fn dim(&self) -> usize {
        1
    }

    fn workspace(&self) {}

    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let p = q[0];
        if !(0.0..=1.0).contains(&p) {
            return LogDensity::OUTSIDE;
        }
        LogDensity::from(self.k * p.ln() + (self.n - self.k) * (-p).ln_1p())
    }

    fn layout(&self) -> bnn_mcmc::layout::Layout {
        bnn_mcmc::layout::Layout::new().with("p", &[])
    }

    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        q[0] = rng.uniform();
        Ok(())
    }
}

pub type Args = Flags;

pub fn run(args: Args) -> Result<(), AnyError> {
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|e| Error::io(out, e))?;
    }
    let (k, n) = (50.0, 100.0);
    let target = Binomial { k, n };
    let draws = Sampler::new(&target, Independence { proposal: Uniform::new(0.0, 1.0)? })
        .warmup(2_500)
        .draws(if args.quick { 1_500 } else { 7_500 })
        .seed(args.seed)
        .run()?;
    let summary = draws.summary()?;
    let row = &summary.rows[0];
    let exact = Beta::new(k + 1.0, n - k + 1.0)?;
    println!("p from {k} successes in {n} trials\n");
    println!("        {:>10} {:>10} {:>10}", "sampled", "+- MCSE", "exact");
    let mean = exact.mean().ok_or("the beta distribution has a mean")?;
    let sd = exact.std_dev().ok_or("the beta distribution has a standard deviation")?;
    println!("mean    {:10.4} {:10.4} {mean:10.4}", row.mean, row.mcse_mean);
    println!("sd      {:10.4} {:>10} {sd:10.4}", row.sd, "");
    for (name, value, p) in
        [("5 %", row.q05, 0.05), ("50 %", row.q50, 0.5), ("95 %", row.q95, 0.95)]
    {
        println!("{name:6}  {value:10.4} {:>10} {:10.4}", "", exact.inverse_cdf(p));
    }
    println!(
        "\nacceptance {:.1} %, R-hat {:.4}, bulk ESS {:.0}",
        100.0 * draws.accept_rate().iter().sum::<f64>() / draws.n_chains() as f64,
        row.rhat,
        row.ess_bulk
    );
    if let Some(out) = &args.out {
        draws.to_csv(out.join("draws.csv"))?;
        summary.to_csv(out.join("summary.csv"))?;
    }
    Ok(())
}

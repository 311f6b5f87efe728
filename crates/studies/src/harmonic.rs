//! Stationary variances of Langevin integrators in a harmonic potential: simulated, against the exact ones
//! of the discretised dynamics.
//!
//!     cargo run --release -p bnn-mcmc-studies -- harmonic
//!
//! For U = k q^2/2 the integrators are linear recursions, whose stationary variances are known in closed form.
//! With w^2 = k/m, for an inverse temperature B and mass m:
//!
//! ```text
//!                        Var q                          Var p
//! posterior              1/(B k)                        m/B
//! Euler-Maruyama         2/(B k (2 - h k))
//! Leimkuhler-Matthews    1/(B k)
//!   two fresh normals    1/(B k (2 - h k))              (an error that is seen in print)
//! BAOAB                  1/(B k)                        (m/B) (1 - h^2 w^2/4)
//! OBABO                  1/(B k (1 - h^2 w^2/4))        m/B
//! SGHMC, full gradient   1/(B k (1 - h^2 k/(4 - 2 h C)))  (1/B)/(1 - h C/2 - h^2 k/4)
//! ```

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::testing::GaussianTarget;

use crate::shared::AnyError;

#[derive(clap::Args)]
pub struct Args {
    /// Fewer draws, for a quick check
    #[arg(long)]
    quick: bool,
    /// Seed of all random streams; each row has its own
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(args: Args) -> Result<(), AnyError> {
    let mut last = args.seed.wrapping_mul(100);
    let mut seed = || {
        last = last.wrapping_add(1);
        last
    };
    println!(
        "U = k q^2/2; exact: of the discretised dynamics; z: standard errors between the two\n"
    );
    println!(
        "{:20} {:>4} {:>4} {:>5} {:>4} {:>5} | {:>8} {:>8} {:>8} {:>5} | {:>8} {:>8} {:>5}",
        "", "k", "B", "h", "m", "gamma", "1/(B k)", "exact", "Var q", "z", "exact", "Var p", "z"
    );
    for (k, beta, h) in [(1.0, 1.0, 0.1), (1.0, 1.0, 0.3), (3.0, 4.0, 0.1)] {
        let row = Row { k, beta, h, m: None, gamma: None };
        let em = EulerMaruyama { step_size: h, inverse_temperature: beta, ..Default::default() };
        row.print(&args, seed(), "Euler-Maruyama", em, 2.0 / (beta * k * (2.0 - h * k)), f64::NAN)?;
        let lm = LeimkuhlerMatthews { step_size: h, ..LeimkuhlerMatthews::new(FullGrad) };
        let lm = LeimkuhlerMatthews { inverse_temperature: beta, ..lm };
        row.print(&args, seed(), "Leimkuhler-Matthews", lm, 1.0 / (beta * k), f64::NAN)?;
    }
    for (k, beta, h, m, gamma) in
        [(1.0, 1.0, 0.3, 0.2, 1.0), (1.0, 1.0, 0.3, 1.0, 5.0), (3.0, 4.0, 0.1, 0.05, 2.0)]
    {
        let row = Row { k, beta, h, m: Some(m), gamma: Some(gamma) };
        let (mass, w) = (Mass::Diagonal(vec![m]), h * h * k / m / 4.0);
        let baoab = Baoab {
            step_size: h,
            friction: gamma,
            inverse_temperature: beta,
            mass: mass.clone(),
            ..Baoab::new(FullGrad)
        };
        row.print(&args, seed(), "BAOAB", baoab, 1.0 / (beta * k), m / beta * (1.0 - w))?;
        let obabo = Obabo {
            step_size: h,
            friction: gamma,
            inverse_temperature: beta,
            mass,
            ..Obabo::new(FullGrad)
        };
        row.print(&args, seed(), "OBABO", obabo, 1.0 / (beta * k * (1.0 - w)), m / beta)?;
    }
    for (k, beta, h, gamma) in [(1.0, 1.0, 0.3, 1.0), (1.5, 2.0, 0.2, 3.0)] {
        let row = Row { k, beta, h, m: Some(1.0), gamma: Some(gamma) };
        let sghmc = Sghmc {
            step_size: h,
            friction: gamma,
            inverse_temperature: beta,
            ..Sghmc::new(FullGrad)
        };
        let (hc, hk) = (h * gamma, h * h * k);
        let var_q = 1.0 / (beta * k * (1.0 - hk / (4.0 - 2.0 * hc)));
        let var_v = 1.0 / (beta * (1.0 - hc / 2.0 - hk / 4.0));
        row.print(&args, seed(), "SGHMC, full gradient", sghmc, var_q, var_v)?;
    }
    Ok(())
}

/// One setting.
struct Row {
    k: f64,
    beta: f64,
    h: f64,
    m: Option<f64>,
    gamma: Option<f64>,
}

impl Row {
    /// Simulates and prints; Var p is NaN where there is no momentum.
    fn print<A>(
        &self,
        args: &Args,
        seed: u64,
        name: &str,
        algorithm: A,
        var_q: f64,
        var_p: f64,
    ) -> Result<(), Error>
    where
        A: for<'t> Algorithm<&'t GaussianTarget>,
    {
        let target = GaussianTarget::new(vec![0.0], &[1.0 / self.k])?;
        let draws = Sampler::new(&target, algorithm)
            .chains(32)
            .warmup(1_000)
            .draws(if args.quick { 5_000 } else { 50_000 })
            .thin(2)
            .seed(seed)
            .init(Init::Around { centre: vec![0.0], sd: 0.5 })
            .run()?;
        let n = draws.n_draws() as f64;
        let squares = draws.values().rows().into_iter().map(|q| q[0] * q[0]).collect::<Vec<_>>();
        let chains = squares.chunks(draws.n_draws()).map(|c| c.iter().sum::<f64>() / n);
        let (q, q_error) = mean_and_error(chains.collect());
        let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        print!(
            "{name:20} {:4} {:4} {:5} {:>4} {:>5} | {:8.4} {var_q:8.4} {q:8.4} {:+5.1} |",
            self.k,
            self.beta,
            self.h,
            number(self.m),
            number(self.gamma),
            1.0 / (self.beta * self.k),
            (q - var_q) / q_error
        );
        if let Some(m) = self.m {
            // The mean of B p^2/m.
            let temperatures = draws.stat("kinetic_temperature")?;
            let chains = temperatures.rows().into_iter().map(|c| m * c.sum() / n / self.beta);
            let (p, p_error) = mean_and_error(chains.collect());
            print!(" {var_p:8.4} {p:8.4} {:+5.1}", (p - var_p) / p_error);
        }
        println!();
        Ok(())
    }
}

/// The mean over chains, and its standard error.
fn mean_and_error(chains: Vec<f64>) -> (f64, f64) {
    let n = chains.len() as f64;
    let mean = chains.iter().sum::<f64>() / n;
    let variance = chains.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

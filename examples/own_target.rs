//! A target of your own: three methods for a log density, one more for its gradient.
//!
//!     cargo run --release --example own_target
//!     cargo run --release --example own_target -- --quick
//!
//! The target is a banana: q0 ~ N(0, 1) and q1 | q0 ~ N(q0^2 / 2, 1), whose moments are known:
//! E q0 = 0, Var q0 = 1, E q1 = 1/2, Var q1 = 1 + Var(q0^2) / 4 = 3/2.

use bnn_mcmc::diagnostics::mcse_sd;
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::gradient_error;

struct Banana;

impl Target for Banana {
    /// Scratch memory of a chain; this target needs none.
    type Workspace = ();

    fn dim(&self) -> usize {
        2
    }

    fn workspace(&self) {}

    /// log p(q) up to a constant. Return `LogDensity::OUTSIDE` where the density is zero.
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let residual = q[1] - q[0] * q[0] / 2.0;
        LogDensity::from(-0.5 * (q[0] * q[0] + residual * residual))
    }
}

impl GradTarget for Banana {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        let residual = q[1] - q[0] * q[0] / 2.0;
        grad[0] = -q[0] + residual * q[0];
        grad[1] = -residual;
        self.log_density(q, ws)
    }
}

fn main() {
    let mut is_quick = false;
    for argument in std::env::args().skip(1) {
        if argument != "--quick" {
            eprintln!("error: unknown argument `{argument}`; the only one is `--quick`");
            std::process::exit(2);
        }
        is_quick = true;
    }
    if let Err(error) = run(is_quick) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run(is_quick: bool) -> Result<(), Box<dyn std::error::Error>> {
    // A wrong gradient shows here as an error of 1e-2 or more.
    println!("gradient error at (1, -2): {:.0e}\n", gradient_error(&Banana, &[1.0, -2.0]));

    // The gradient grows faster than linearly: small steps, so that the tails are reached.
    let mala = Mala { target_accept: 0.9, ..Mala::default() };
    let draws = Sampler::new(&Banana, mala)
        .warmup(2_000)
        .draws(if is_quick { 5_000 } else { 50_000 })
        .seed(1)
        .run()?;
    let summary = draws.summary()?;
    println!("{summary}");
    for (row, (mean, sd)) in summary.rows.iter().zip([(0.0, 1.0), (0.5, 1.5f64.sqrt())]) {
        let mcse_sd = mcse_sd(draws.parameter(&row.name)?);
        println!(
            "{}: mean {:6.3} +- {:.3} (exact {mean}), sd {:.3} +- {mcse_sd:.3} (exact {sd:.3})",
            row.name, row.mean, row.mcse_mean, row.sd
        );
    }
    Ok(())
}

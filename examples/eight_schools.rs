//! A hierarchical model of your own, in a form that NUTS cannot sample and in one that it can.
//!
//!     cargo run --release --example eight_schools
//!     cargo run --release --example eight_schools -- --quick
//!
//! Eight schools gave a course; y_j is its estimated effect in school j, sigma_j the standard error of
//! that estimate (Rubin, Journal of Educational Statistics 6, 1981, doi:10.3102/10769986006004377):
//!
//! ```text
//! y_j ~ N(theta_j, sigma_j^2),  theta_j ~ N(mu, tau^2),  mu ~ N(0, 5^2),  tau ~ half-Cauchy(0, 5)
//! ```
//!
//! Where tau is small the theta_j must lie close together: a funnel, whose neck is too narrow for a
//! step size that suits its mouth. With z_j = (theta_j - mu) / tau, the non-centred form, the data say
//! little about z given tau, and the funnel is gone. Where the centred form diverges tau is small, and its
//! chains stop short of there: tau comes out too large. A step size for a higher acceptance probability
//! moves the border, and does not remove it.
//!
//! tau > 0 is sampled as log tau, which adds log tau (the Jacobian) to the log density.

use bnn_mcmc::diagnostics::{Judge, SummaryRow};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::ndarray::{Array3, Axis};
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::gradient_error;

const Y: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const SIGMA: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
/// The standard deviation of mu, and the scale of tau.
const PRIOR_SCALE: f64 = 5.0;

/// What q holds after mu and log tau.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// theta_1 .. theta_8.
    Centred,
    /// z_1 .. z_8, with theta_j = mu + tau z_j.
    NonCentred,
}

pub struct EightSchools(pub Form);

impl EightSchools {
    /// What is asked of the model, whatever its form: mu, tau, log tau and theta.
    pub const QUANTITIES: [&str; 11] = [
        "mu", "tau", "log_tau", "theta[0]", "theta[1]", "theta[2]", "theta[3]", "theta[4]",
        "theta[5]", "theta[6]", "theta[7]",
    ];

    /// Those quantities of all draws, `[chain, draw, quantity]`.
    pub fn quantities(&self, draws: &Draws) -> Array3<f64> {
        let shape = (draws.n_chains(), draws.n_draws(), Self::QUANTITIES.len());
        let mut quantities = Array3::zeros(shape);
        for (mut out, q) in quantities.rows_mut().into_iter().zip(draws.values().rows()) {
            let (mu, tau) = (q[0], q[1].exp());
            (out[0], out[1], out[2]) = (mu, tau, q[1]);
            for j in 0..8 {
                out[3 + j] = self.theta(mu, tau, q[2 + j]);
            }
        }
        quantities
    }

    fn theta(&self, mu: f64, tau: f64, x: f64) -> f64 {
        match self.0 {
            Form::Centred => x,
            Form::NonCentred => mu + tau * x,
        }
    }
}

impl Target for EightSchools {
    type Workspace = ();

    fn dim(&self) -> usize {
        10
    }

    fn workspace(&self) {}

    /// Names for the coordinates of q, which summaries and files then show.
    fn layout(&self) -> Layout {
        let name = if self.0 == Form::Centred { "theta" } else { "z" };
        Layout::new().with("mu", &[]).with("log_tau", &[]).with(name, &[8])
    }

    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let (mu, log_tau, tau) = (q[0], q[1], q[1].exp());
        let mut prior = log_tau // the Jacobian
            - 0.5 * (mu / PRIOR_SCALE).powi(2)
            - (tau / PRIOR_SCALE).powi(2).ln_1p();
        let mut likelihood = 0.0;
        for (x, (y, sigma)) in q[2..].iter().zip(Y.iter().zip(SIGMA)) {
            prior -= match self.0 {
                Form::Centred => 0.5 * ((x - mu) / tau).powi(2) + log_tau,
                Form::NonCentred => 0.5 * x * x,
            };
            likelihood -= 0.5 * ((y - self.theta(mu, tau, *x)) / sigma).powi(2);
        }
        LogDensity::new(likelihood, prior)
    }
}

impl GradTarget for EightSchools {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        let (mu, tau) = (q[0], q[1].exp());
        let ratio = (tau / PRIOR_SCALE).powi(2);
        let (mut d_mu, mut d_log_tau) =
            (-mu / PRIOR_SCALE.powi(2), 1.0 - 2.0 * ratio / (1.0 + ratio));
        for j in 0..8 {
            let x = q[2 + j];
            let d_theta = (Y[j] - self.theta(mu, tau, x)) / SIGMA[j].powi(2);
            match self.0 {
                Form::Centred => {
                    let z = (x - mu) / tau;
                    d_mu += z / tau;
                    d_log_tau += z * z - 1.0;
                    grad[2 + j] = d_theta - z / tau;
                }
                Form::NonCentred => {
                    d_mu += d_theta;
                    d_log_tau += d_theta * tau * x;
                    grad[2 + j] = d_theta * tau - x;
                }
            }
        }
        (grad[0], grad[1]) = (d_mu, d_log_tau);
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

/// One form's run: its draws, the quantities with their summaries, and the verdict on them.
struct Run {
    draws: Draws,
    rows: Vec<SummaryRow>,
    verdict: Verdict,
}

fn sample(form: Form, is_quick: bool) -> Result<Run, Error> {
    let target = EightSchools(form);
    let nuts = Nuts { target_accept: 0.95, ..Nuts::default() };
    let draws =
        Sampler::new(&target, nuts).draws(if is_quick { 1_000 } else { 5_000 }).seed(1).run()?;
    let quantities = target.quantities(&draws);
    // The quantities, and not z: both forms are asked the same.
    let verdict = Judge::new()
        .quantities("mu, tau and theta", quantities.view())
        .divergences(draws.divergences(), (draws.n_chains() * draws.n_draws()) as u64)
        .trajectories(draws.trajectories())
        .judge()?;
    let row = |(i, name): (usize, &&str)| SummaryRow::new(*name, quantities.index_axis(Axis(2), i));
    let rows = EightSchools::QUANTITIES.iter().enumerate().map(row).collect();
    Ok(Run { draws, rows, verdict })
}

/// The mean of log tau over the draws whose transition diverged, which are not far from where it did.
fn mean_where_divergent(draws: &Draws) -> String {
    let (Ok(log_tau), Ok(divergent)) = (draws.parameter("log_tau"), draws.stat("divergent")) else {
        return "-".into();
    };
    match divergent.sum() {
        0.0 => "-".into(),
        n => format!("{:.2}", (&log_tau * &divergent).sum() / n),
    }
}

fn run(is_quick: bool) -> Result<(), Box<dyn std::error::Error>> {
    // A wrong gradient shows here as an error of 1e-2 or more.
    let at = [4.0, 0.5, 3.0, -2.0, 1.0, 0.5, -1.0, 0.0, 2.0, 1.5];
    let errors =
        [Form::Centred, Form::NonCentred].map(|form| gradient_error(&EightSchools(form), &at));
    println!("gradient error: centred {:.0e}, non-centred {:.0e}", errors[0], errors[1]);

    let runs = [sample(Form::Centred, is_quick)?, sample(Form::NonCentred, is_quick)?];
    let (chains, n) = (runs[0].draws.n_chains(), runs[0].draws.n_draws());
    println!("NUTS, {chains} chains of {} + {n} draws\n", runs[0].draws.info().warmup);
    println!("{:9} | {:41} | non-centred", "", "centred");
    let columns = format!("{:>8} {:>7} {:>7} {:>8} {:>7}", "mean", "MCSE", "sd", "ESS", "R-hat");
    println!("{:9} | {columns} | {columns}", "");
    for (a, b) in runs[0].rows.iter().zip(&runs[1].rows) {
        let numbers = |r: &SummaryRow| {
            format!(
                "{:8.3} {:7.3} {:7.3} {:8.0} {:7.3}",
                r.mean, r.mcse_mean, r.sd, r.ess_bulk, r.rhat
            )
        };
        println!("{:9} | {} | {}", a.name, numbers(a), numbers(b));
    }
    println!("\n{:42} {:>12} {:>12}", "", "centred", "non-centred");
    let line = |name: &str, of: &dyn Fn(&Run) -> String| {
        println!("{name:42} {:>12} {:>12}", of(&runs[0]), of(&runs[1]));
    };
    line("divergent transitions", &|r| r.draws.divergences().to_string());
    line("log tau, mean of all draws", &|r| format!("{:.2}", r.rows[2].mean));
    line("log tau, mean of divergent draws", &|r| mean_where_divergent(&r.draws));
    line("log tau, smallest", &|r| {
        format!("{:.2}", r.draws.flat().column(1).fold(f64::INFINITY, |a, b| a.min(*b)))
    });
    line("E-BFMI, lowest of the chains", &|r| {
        let ebfmi = r.draws.ebfmi().unwrap_or_default();
        format!("{:.2}", ebfmi.into_iter().fold(f64::INFINITY, f64::min))
    });
    line("gradients, warm-up and sampling", &|r| r.draws.gradient_evals().to_string());
    println!("\ncentred: {}\nnon-centred: {}", runs[0].verdict, runs[1].verdict);

    Ok(())
}

//! 46 posteriors of posteriordb, of which 10,000 reference draws have summaries (`tests/reference`): 34 regressions as
//! [`Posterior`]s, 12 others as densities of one's own, whose gradients are dual numbers' and whose constraints are
//! [`Constrained`]'s.
//!
//! The means of each parameter and of its square are compared, in standard errors of the difference of both sides. What the test
//! prints is a table by posterior:
//!
//!     cargo test --release -p bnn-mcmc-tests --test inference reference:: -- --ignored --nocapture

mod gaussian_process;
mod hidden_markov;
mod mixture;
mod ode;
mod regressions;
mod schools;
mod series;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use bnn_mcmc::diagnostics::ess_mean;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Autodiff, Density, Number};
use ndarray::{Array3, ArrayView2, Axis};
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "reference"].iter().collect()
}

/// Mean, sd, mean of squares and its sd, and the quantiles at 5, 50 and 95 % of the draws of one parameter.
#[derive(Deserialize)]
struct Summary(String, f64, f64, f64, f64, [f64; 3]);

/// What `tests/reference/reference.json` says of one posterior.
#[derive(Deserialize)]
pub struct Reference {
    draws: f64,
    parameters: Vec<Summary>,
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    intercept: bool,
    #[serde(default)]
    prior_coefficients: String,
    #[serde(default)]
    prior_sigma: String,
}

impl Reference {
    /// The data of a density of one's own.
    pub fn data<D: DeserializeOwned>(&self) -> D {
        let name = self.data.as_ref().expect("the reference names its data");
        let path = folder().join("data").join(format!("{name}.json"));
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }
}

/// Draws of what a reference reports, `[chain, draw, parameter]`, and what they took.
pub struct Run {
    values: Array3<f64>,
    gradients: u64,
    divergences: u64,
    heavy_tailed: &'static [&'static str],
}

impl Run {
    /// `reported` gives of each draw the parameters of the reference, in its order.
    pub fn new(draws: &Draws, reported: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let n = reported(draws.draw(0, 0).unwrap()).len();
        let mut values = Array3::zeros((draws.n_chains(), draws.n_draws(), n));
        for (mut to, theta) in values.rows_mut().into_iter().zip(draws.values().rows()) {
            let values = reported(&theta.to_vec());
            to.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        }
        let (gradients, divergences) = (draws.gradient_evals(), draws.divergences());
        Self { values, gradients, divergences, heavy_tailed: &[] }
    }
}

/// A density of one's own among the references.
pub trait Own: Density {
    /// The blocks with constraints.
    fn constraints(&self) -> Vec<(&'static str, Constraint)>;

    /// The parameters of the reference; those of the density by default.
    fn reported(&self, theta: &[f64]) -> Vec<f64> {
        theta.to_vec()
    }

    /// Draws of each of the four chains.
    const DRAWS: usize = 2_500;

    /// Parameters whose squares have no variance, so that their means say nothing: compared by quantiles.
    const HEAVY_TAILED: &[&str] = &[];
}

fn run_own<D: Own>(density: D) -> Run {
    let constraints = density.constraints();
    let target = Constrained::new(Autodiff::new(density), &constraints).unwrap();
    let preconditioner = Preconditioner::Dense;
    let nuts = Nuts { target_accept: 0.98, preconditioner, ..Nuts::default() };
    let draws = Sampler::new(&target, nuts).warmup(1_000).draws(D::DRAWS).seed(1).run().unwrap();
    let draws = draws.constrained(&target).unwrap();
    let run = Run::new(&draws, |theta| target.target().density().reported(theta));
    Run { heavy_tailed: D::HEAVY_TAILED, ..run }
}

/// log(e^a + e^b).
fn log_sum<N: Number>(a: N, b: N) -> N {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    large + (small - large).exp().ln_1p()
}

/// log N(x; mean, sd^2) without -log(2 pi) / 2.
fn normal<N: Number>(x: N, mean: N, sd: N) -> N {
    ((x - mean) / sd).powi(2) * -0.5 - sd.ln()
}

/// The difference of a mean to the reference's in its standard error, and the effective draws behind it.
fn z(ours: ArrayView2<f64>, mean: f64, sd: f64, reference_draws: f64) -> (f64, f64) {
    let ess = ess_mean(ours);
    let error = (ours.var(1.0) / ess + sd * sd / reference_draws).sqrt();
    ((ours.mean().unwrap() - mean) / error, ess)
}

/// Densities that take over a second: solved equations, long hidden chains, processes of many points.
const LONG: [&str; 10] = [
    "arma11",
    "diamonds",
    "garch11",
    "hmm_example",
    "hmm_drive_0",
    "hmm_drive_1",
    "gp_pois_regr",
    "low_dim_gauss_mix",
    "lotka_volterra",
    "one_comp_mm_elim_abs",
];

#[test]
fn means_and_mean_squares_of_36_reference_posteriors() {
    compare(&LONG);
}

#[test]
#[ignore = "long"]
fn means_and_mean_squares_of_46_reference_posteriors_long() {
    compare(&[]);
}

fn compare(left_out: &[&str]) {
    let text = std::fs::read(folder().join("reference.json")).unwrap();
    let references: BTreeMap<String, Reference> = serde_json::from_slice(&text).unwrap();
    assert_eq!(references.len(), 46);
    println!(
        "{:45} {:>3} {:>7} {:>7} {:>10} {:>9} {:>8} {:>6}",
        "posterior", "d", "rms z", "max z", "least ESS", "per 1,000", "diverged", "s"
    );
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    for (name, reference) in &references {
        let start = Instant::now();
        let model = name.split_once('-').unwrap().1;
        if left_out.contains(&model) {
            continue;
        }
        let run = match model {
            "arma11" => run_own(series::Arma::new(reference)),
            "garch11" => run_own(series::Garch::new(reference)),
            "eight_schools_centered" | "eight_schools_noncentered" => {
                run_own(schools::Schools::new(reference))
            }
            "gp_regr" => run_own(gaussian_process::Regression::new(reference)),
            "gp_pois_regr" => run_own(gaussian_process::Counts::new(reference)),
            "low_dim_gauss_mix" => run_own(mixture::TwoNormals::new(reference)),
            "hmm_example" => run_own(hidden_markov::Normals::new(reference)),
            "hmm_drive_0" => run_own(hidden_markov::Drive::exponential(reference)),
            "hmm_drive_1" => run_own(hidden_markov::Drive::normal(reference)),
            "lotka_volterra" => run_own(ode::LotkaVolterra::new(reference)),
            "one_comp_mm_elim_abs" => run_own(ode::Elimination::new(reference)),
            _ => regressions::run(name, reference),
        };
        assert_eq!(run.values.dim().2, reference.parameters.len(), "{name}");
        let (mut scores, mut least) = (Vec::new(), f64::INFINITY);
        for (i, Summary(parameter, mean, sd, mean_square, sd_square, quantiles)) in
            reference.parameters.iter().enumerate()
        {
            let ours = run.values.index_axis(Axis(2), i);
            let squares = ours.mapv(|x| x * x);
            let compared = match run.heavy_tailed.contains(&&parameter[..]) {
                false => vec![
                    ("", ours.to_owned(), *mean, *sd),
                    ("^2", squares, *mean_square, *sd_square),
                ],
                true => {
                    assert!(tail_index(ours) < 4.0, "the square of {parameter} has a variance");
                    let below = |(at, p): (&f64, f64)| {
                        let share = ours.mapv(|x| f64::from(x < *at));
                        (" below a quantile", share, p, (p * (1.0 - p)).sqrt())
                    };
                    quantiles.iter().zip([0.05, 0.5, 0.95]).map(below).collect()
                }
            };
            for (what, ours, mean, sd) in compared {
                let (z, ess) = z(ours.view(), mean, sd, reference.draws);
                if !(z.abs() <= 4.0 && ess >= 400.0) {
                    wrong.push(format!("{name}: {parameter}{what}: z = {z:.2}, ESS {ess:.0}"));
                }
                scores.push(z);
                least = least.min(ess);
            }
        }
        println!(
            "{name:45} {:3} {:7.2} {:7.2} {least:10.0} {:9.1} {:8} {:6.1}",
            reference.parameters.len(),
            rms(&scores),
            scores.iter().fold(0.0f64, |m, z| m.max(z.abs())),
            1e3 * least / run.gradients as f64,
            run.divergences,
            start.elapsed().as_secs_f64(),
        );
        all.extend(scores);
    }
    println!("{} z-scores, rms {:.3}", all.len(), rms(&all));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!((0.9..=1.1).contains(&rms(&all)), "rms {}", rms(&all));
}

/// Hill's estimate of alpha, of a tail P(X > x) that falls as x^-alpha, by the largest hundredth: moments above alpha are infinite.
fn tail_index(x: ArrayView2<f64>) -> f64 {
    let mut x: Vec<f64> = x.iter().copied().collect();
    x.sort_by(|a, b| b.total_cmp(a));
    let k = x.len() / 100;
    k as f64 / x[..k].iter().map(|largest| (largest / x[k]).ln()).sum::<f64>()
}

fn rms(z: &[f64]) -> f64 {
    (z.iter().map(|z| z * z).sum::<f64>() / z.len() as f64).sqrt()
}

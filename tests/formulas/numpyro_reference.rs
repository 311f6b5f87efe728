//! NUTS and HMC against NumPyro's NUTS (tests/golden/numpyro_reference.py): means and standard
//! deviations of logistic regression and of a hierarchical model, and posteriors that are a little
//! wrong, which must not agree.

use bnn_mcmc::data::{Standardise, bundled};
use bnn_mcmc::diagnostics::{SummaryRow, mcse_sd};
use bnn_mcmc::model::logistic;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::testing::gradient_error;
use ndarray::{Array3, Axis};
use serde_json::Value;

#[allow(dead_code)]
#[path = "../../examples/eight_schools.rs"]
mod eight_schools;

use eight_schools::{EightSchools, Form};

/// The difference that is allowed, in combined Monte Carlo standard errors.
const LIMIT: f64 = 5.0;
/// The largest combined standard error, in posterior standard deviations: what the test can notice.
const PRECISION: f64 = 0.02;

fn reference(problem: &str) -> Value {
    let text = include_str!("../golden/numpyro_reference.json");
    serde_json::from_str::<Value>(text).unwrap()[problem]["quantities"].take()
}

/// What disagrees with NumPyro among the quantities `[chain, draw, quantity]`, and by how many standard
/// errors; or that the chains have not converged, or are too short to say.
fn disagreements(problem: &str, names: &[String], quantities: &Array3<f64>) -> Vec<String> {
    let reference = reference(problem);
    assert_eq!(names.len(), reference.as_object().unwrap().len(), "{problem}");
    let (mut found, mut worst, mut least_precise) = (Vec::new(), 0.0f64, 0.0f64);
    for (i, name) in names.iter().enumerate() {
        let chains = quantities.index_axis(Axis(2), i);
        let row = SummaryRow::new(name, chains);
        if row.rhat.is_nan() || row.rhat > 1.01 {
            found.push(format!("R-hat of {name} is {}", row.rhat));
        }
        let theirs = |key: &str| reference[name][key].as_f64().unwrap();
        for (what, ours, mcse) in
            [("mean", row.mean, row.mcse_mean), ("sd", row.sd, mcse_sd(chains))]
        {
            let their_mcse = theirs(&format!("mcse_{what}"));
            let mcse = mcse.hypot(their_mcse);
            let relative = mcse / theirs("sd");
            if relative.is_nan() || relative > PRECISION {
                found.push(format!("{what} of {name} is known to {relative:.3} sd only"));
            }
            let errors = ((ours - theirs(what)) / mcse).abs();
            if errors.is_nan() || errors > LIMIT {
                found.push(format!("{what} of {name} differs by {errors:.1} standard errors"));
            }
            (worst, least_precise) = (worst.max(errors), least_precise.max(relative));
        }
    }
    println!("{problem}: up to {worst:.1} standard errors, which are up to {least_precise:.3} sd");
    found
}

/// The posterior of all rows of ionosphere with N(0, `prior_sd`^2) weights.
fn ionosphere(prior_sd: f64) -> Posterior<Linear, Bernoulli> {
    let data = bundled::ionosphere();
    let scaler = Standardise::new().allow_constant().fit_features(&data).unwrap();
    let priors = Priors::all(Normal::new(0.0, prior_sd).unwrap());
    let model = logistic::binary(data.n_features()).unwrap();
    Posterior::new(model, Bernoulli, &scaler.scale_features(&data).unwrap(), priors).unwrap()
}

fn of_logistic<A>(prior_sd: f64, algorithm: A) -> Vec<String>
where
    A: for<'t> Algorithm<&'t Posterior<Linear, Bernoulli>>,
{
    let posterior = ionosphere(prior_sd);
    let draws = Sampler::new(&posterior, algorithm).draws(5_000).seed(3).run().unwrap();
    assert_eq!(draws.divergences(), 0);
    disagreements("logistic", &draws.layout().parameter_names(), &draws.values().to_owned())
}

/// Draws of `target`, whose coordinates are those of the non-centred form.
fn of_schools<T, A>(target: &T, algorithm: A) -> Vec<String>
where
    T: Target,
    A: for<'t> Algorithm<&'t T>,
{
    let draws = Sampler::new(target, algorithm).draws(10_000).seed(3).run().unwrap();
    let names = EightSchools::QUANTITIES.map(String::from);
    disagreements("eight_schools", &names, &EightSchools(Form::NonCentred).quantities(&draws))
}

/// The model with the Jacobian of log tau counted 1 + `self.extra` times.
struct OtherJacobian {
    model: EightSchools,
    extra: f64,
}

impl Target for OtherJacobian {
    type Workspace = ();
    fn dim(&self) -> usize {
        self.model.dim()
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], ws: &mut ()) -> LogDensity {
        let right = self.model.log_density(q, ws);
        LogDensity { prior: right.prior + self.extra * q[1], ..right }
    }
}

impl GradTarget for OtherJacobian {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        self.model.log_density_grad(q, grad, ws);
        grad[1] += self.extra;
        self.log_density(q, ws)
    }
}

/// A step size that the wide end of the hierarchical model allows, too.
fn careful() -> Nuts {
    Nuts { target_accept: 0.95, ..Nuts::default() }
}

#[test]
fn logistic_regression_agrees() {
    assert_eq!(of_logistic(1.0, Nuts::default()), [""; 0]);
    assert_eq!(of_logistic(1.0, Hmc::default()), [""; 0]);
}

#[test]
fn eight_schools_agree() {
    let target = EightSchools(Form::NonCentred);
    assert_eq!(of_schools(&target, careful()), [""; 0]);
    assert_eq!(of_schools(&target, Hmc { target_accept: 0.95, ..Hmc::default() }), [""; 0]);
}

#[test]
fn a_wider_prior_and_a_wrong_jacobian_are_noticed() {
    let differ = |found: &[String]| found.iter().filter(|f| f.contains("differs")).count();
    let found = of_logistic(1.2, Nuts::default());
    assert!(differ(&found) > 10, "prior of sd 1.2 rather than 1: {found:?}");
    // Counted twice; left out (which leaves tau without a proper posterior); a tenth left out.
    for extra in [1.0, -1.0, -0.1] {
        let target = OtherJacobian { model: EightSchools(Form::NonCentred), extra };
        let found = of_schools(&target, careful());
        assert!(differ(&found) > 10, "Jacobian and {extra} of it: {found:?}");
    }
}

#[test]
fn both_forms_are_the_same_model_with_right_gradients() {
    let (centred, other) = (EightSchools(Form::Centred), EightSchools(Form::NonCentred));
    let mut rng = ChainRng::new(5, 0);
    let mut differences = Vec::new();
    for _ in 0..20 {
        let mut z: Vec<f64> = (0..10).map(|_| rng.normal()).collect();
        z[0] *= 5.0;
        assert!(gradient_error(&other, &z) < 1e-8);
        let (mu, log_tau) = (z[0], z[1]);
        let mut theta = z.clone();
        theta[2..].iter_mut().for_each(|x| *x = mu + log_tau.exp() * *x);
        assert!(gradient_error(&centred, &theta) < 1e-6);
        // p(mu, tau, z) = p(mu, tau, theta) tau^8.
        let change = 8.0 * log_tau;
        let density = centred.log_density(&theta, &mut ()).total() + change;
        differences.push(density - other.log_density(&z, &mut ()).total());
    }
    for difference in differences {
        approx::assert_abs_diff_eq!(difference, 0.0, epsilon = 1e-9);
    }
}

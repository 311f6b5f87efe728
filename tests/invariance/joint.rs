//! Geweke's joint test of posteriors without exact draws, by `Invariance::run_joint`.

use bnn_mcmc::prelude::*;
use bnn_mcmc::prior::Prior;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::testing::{Invariance, InvarianceReport};
use ndarray::{Array, Array2};

const TEST: Invariance = Invariance { replicates: 2_000, steps: 8, alpha: 1e-6, seed: 2 };

/// log v for v ~ IG(3, 1); without the Jacobian the density is that of v at e^x, and draws are right.
#[derive(Debug)]
struct LogVariance {
    has_jacobian: bool,
}

impl Prior for LogVariance {
    fn log_density(&self, x: &[f64]) -> f64 {
        let power = if self.has_jacobian { 3.0 } else { 4.0 };
        x.iter().map(|x| -power * x - (-x).exp()).sum()
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        let power = if self.has_jacobian { 3.0 } else { 4.0 };
        grad.iter_mut().zip(x).for_each(|(grad, x)| *grad += (-x).exp() - power);
        self.log_density(x)
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        x.fill_with(|| -rng.gamma(3.0).ln());
        Ok(())
    }
}

fn regression<A>(has_jacobian: bool, algorithm: &A) -> InvarianceReport
where
    A: for<'t> Algorithm<&'t Posterior<Linear, Gaussian>>,
{
    let x = Array2::from_shape_fn((6, 1), |(i, _)| i as f64 / 2.0 - 1.25);
    let data = Dataset::regression(x, Array::zeros(6)).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogVariance { has_jacobian });
    let model = Linear::new(1, 1).unwrap();
    let posterior = Posterior::new(model, Gaussian::sampled(), &data, priors).unwrap();
    TEST.run_joint(&posterior, &data, algorithm).unwrap()
}

#[test]
fn right_priors_pass_and_a_dropped_jacobian_fails() {
    let nuts = Nuts { step_size: 0.4, ..Nuts::default() };
    let mala = Mala { step_size: 0.5, ..Mala::default() };
    let walk = Rwm { step_size: 0.5, ..Rwm::default() };
    for (report, wrong) in [
        (regression(true, &nuts), regression(false, &nuts)),
        (regression(true, &mala), regression(false, &mala)),
        (regression(true, &walk), regression(false, &walk)),
    ] {
        assert!(report.passes(), "{report}");
        assert!(!wrong.passes(), "{wrong}");
    }
}

#[test]
fn networks_of_classes_and_counts_pass() {
    let x = Array2::from_shape_fn((5, 1), |(i, _)| i as f64 / 2.0 - 1.0);
    let nuts = Nuts { step_size: 0.4, ..Nuts::default() };
    let normal = Normal::new(0.0, 0.8).unwrap();
    let classes = (0..5).map(|i| i % 2).collect();
    let data = Dataset::classification(x.clone(), classes, ["no", "yes"]).unwrap();
    let network = Mlp::new(&[1, 2, 1], Activation::Tanh).unwrap();
    let posterior = Posterior::new(network, Bernoulli, &data, Priors::all(normal)).unwrap();
    let report = TEST.run_joint(&posterior, &data, &nuts).unwrap();
    assert!(report.passes(), "{report}");

    let data = Dataset::counts(x, Array::zeros(5)).unwrap();
    let model = Linear::new(1, 1).unwrap();
    let posterior = Posterior::new(model, Poisson, &data, Priors::all(normal)).unwrap();
    let report = TEST.run_joint(&posterior, &data, &nuts).unwrap();
    assert!(report.passes(), "{report}");
}

//! Kernels leave the target unchanged with an emulator that has learnt next to nothing.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, DelayedAcceptance, SurrogateHmc};
use bnn_mcmc::surrogate::Surrogate;
use bnn_mcmc::testing::{ConjugateRegression, Invariance, InvarianceReport, NoiseVariance};
use bnn_mcmc_emulate::{Emulated, NetworkEmulator, RandomFeatures};
use ndarray::{Array1, Array2};

type Regression = Posterior<Linear, Gaussian>;

/// A regression on 70 rows with sampled noise, and its exact posterior.
fn regression() -> (ConjugateRegression, Regression) {
    let x = Array2::from_shape_fn((70, 2), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
    let y = Array1::from_shape_fn(70, |i| x[(i, 0)] - 0.5 + 0.4 * (i as f64 * 2.3).cos());
    let noise = NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 };
    let exact = ConjugateRegression::new(x.view(), y.view(), 0.5, noise).unwrap();
    let priors = Priors::all(Normal::new(0.0, 0.5).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let data = Dataset::regression(x, y).unwrap();
    let linear = Linear::new(2, 1).unwrap();
    (exact, Posterior::new(linear, Gaussian::sampled(), &data, priors).unwrap())
}

/// 15 steps from each of 10,000 exact draws.
fn run<'t>(
    algorithm: &impl Algorithm<&'t Regression>,
    target: &'t Regression,
    exact: &ConjugateRegression,
) -> InvarianceReport {
    let setup = Invariance { replicates: 10_000, steps: 15, ..Invariance::default() };
    setup.run(target, algorithm, |rng, q| exact.draw(rng, q)).unwrap()
}

/// 2 features from 12 draws, and a network that has made 1 step.
#[test]
fn fits_to_next_to_nothing() {
    let (exact, posterior) = regression();
    let short = Sampler::new(&posterior, Rwm::default()).warmup(50).draws(3).run().unwrap();
    let features = RandomFeatures { features: 2, ..RandomFeatures::default() };
    let hardly = Surrogate::new(&posterior, features.fit(&posterior, &short).unwrap());
    for step_size in [0.01, 0.04] {
        let hmc = Hmc { step_size, path_length: 0.08, ..Hmc::default() };
        let on_surrogate = SurrogateHmc { surrogate: &hardly, hmc: hmc.clone() };
        let report = run(&on_surrogate, &posterior, &exact);
        assert!(report.passes() && report.accept_rate > 0.02, "RNS {step_size}: {report}");
        let report = run(&DelayedAcceptance::new(&hardly, hmc, 1), &posterior, &exact);
        assert!(report.passes() && report.accept_rate > 0.02, "delayed RNS {step_size}: {report}");
    }
    let untrained = NetworkEmulator { steps: 1, ..NetworkEmulator::new(Emulated::Outputs) };
    let untrained = Surrogate::new(&posterior, untrained.fit(&posterior, &short).unwrap());
    // pCN on the weights; the noise is moved by a kernel that knows nothing of the surrogate.
    for (step_size, steps) in [(0.1, 2), (0.4, 1)] {
        let pcn = OnBlocks::new(&["w", "b"], Pcn { step_size, ..Pcn::default() });
        let delayed = DelayedAcceptance::new(&untrained, pcn, steps);
        let report = run(&Cycle(delayed, GibbsNoise), &posterior, &exact);
        assert!(report.passes() && report.accept_rate > 0.01, "untrained {step_size}: {report}");
    }
}

//! Kernels with a surrogate leave the target unchanged, whatever the surrogate; a surrogate that changes
//! while the chain runs does not.

use std::sync::Mutex;

use bnn_mcmc::optimise::{Adam, Ascent};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, DelayedAcceptance, SurrogateHmc};
use bnn_mcmc::surrogate::{Emulated, NetworkEmulator, RandomFeatures, RowSubset, Surrogate};
use bnn_mcmc::testing::{GaussianTarget, Invariance, InvarianceReport};

use crate::fixtures::{Regression, correlated, regression};

/// Another mean, other variances, correlations of another sign.
fn wrong() -> GaussianTarget {
    let covariance = [0.7, -0.3, 0.1, -0.3, 1.2, 0.3, 0.1, 0.3, 0.9];
    GaussianTarget::new(vec![0.6, 0.1, 0.3], &covariance).unwrap()
}

fn test<'t>(algorithm: &impl Algorithm<&'t GaussianTarget>, target: &'t GaussianTarget) {
    let setup = Invariance { replicates: 10_000, ..Invariance::default() };
    let report = setup.run(target, algorithm, |rng, q| target.draw(rng, q));
    let report = report.unwrap();
    assert!(report.passes() && report.accept_rate > 0.05, "{report}");
}

#[test]
fn delayed_acceptance_on_a_wrong_surrogate() {
    let (target, wrong) = (correlated(), wrong());
    fn on<A>(
        inner: A,
        steps: usize,
        wrong: &GaussianTarget,
    ) -> DelayedAcceptance<&GaussianTarget, A> {
        DelayedAcceptance::new(wrong, inner, steps)
    }
    for (step_size, steps) in [(0.3, 4), (1.2, 1), (0.8, 10)] {
        test(&on(Rwm { step_size, ..Rwm::default() }, steps, &wrong), &target);
    }
    for (step_size, steps) in [(0.4, 3), (0.9, 1), (0.8, 10)] {
        test(&on(Mala { step_size, ..Mala::default() }, steps, &wrong), &target);
    }
    for (step_size, steps) in [(0.2, 1), (0.9, 2)] {
        test(&on(Hmc { step_size, ..Hmc::default() }, steps, &wrong), &target);
        test(&on(Nuts { step_size, ..Nuts::default() }, steps, &wrong), &target);
    }
    let mixture = Mixture { first: Rwm::default(), second: Hmc::default(), probability: 0.5 };
    test(&on(mixture, 3, &wrong), &target);
    // One within the other: the inner one samples the surrogate by another surrogate.
    let flat =
        GaussianTarget::new(vec![0.0; 3], &[2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0]).unwrap();
    let inner = on(Hmc { step_size: 0.5, ..Hmc::default() }, 1, &flat);
    test(&on_nested(inner, &wrong), &target);
    // Two with other settings, and a third kernel that moves the chain behind their backs.
    let first = on(Hmc { step_size: 0.5, ..Hmc::default() }, 1, &wrong);
    let second = on(Rwm { step_size: 0.7, ..Rwm::default() }, 2, &flat);
    test(&Cycle(first, Cycle(second, Mala { step_size: 0.5, ..Mala::default() })), &target);
}

fn on_nested<A>(inner: A, wrong: &GaussianTarget) -> DelayedAcceptance<&GaussianTarget, A> {
    DelayedAcceptance::new(wrong, inner, 2)
}

#[test]
fn trajectories_on_a_wrong_surrogate() {
    let (target, wrong) = (correlated(), wrong());
    let of = |step_size, path_length| SurrogateHmc {
        surrogate: &wrong,
        hmc: Hmc { step_size, path_length, ..Hmc::default() },
    };
    for (step_size, path_length) in [(0.05, 0.5), (0.3, 1.5), (1.0, 2.0)] {
        test(&of(step_size, path_length), &target);
    }
    let between = Rwm { step_size: 0.6, ..Rwm::default() };
    test(&Cycle(of(0.2, 1.0), Cycle(between, of(0.6, 0.6))), &target);
}

/// 15 steps from each of 10,000 exact draws of the regression's posterior.
fn on_regression<'t>(
    algorithm: &impl Algorithm<&'t Regression>,
    target: &'t Regression,
) -> InvarianceReport {
    let (exact, _) = regression(70);
    let setup = Invariance { replicates: 10_000, steps: 15, ..Invariance::default() };
    setup.run(target, algorithm, |rng, q| exact.draw(rng, q)).unwrap()
}

#[test]
fn a_part_of_the_rows_and_few_random_features() {
    let (_, posterior) = regression(70);
    let few = Surrogate::new(&posterior, RowSubset::new(&posterior, 25, 3).unwrap());
    let mut centre = [0.0; 4];
    Adam { learning_rate: 0.05, ..Adam::default() }.maximise(&posterior, &mut centre).unwrap();
    let rows = RowSubset::new(&posterior, 20, 1).unwrap();
    let corrected = Surrogate::new(&posterior, rows.second_order(&posterior, &centre).unwrap());
    // pCN, on the weights, with the noise moved by a kernel that knows nothing of the surrogate.
    let pcn = |step_size| OnBlocks::new(&["w", "b"], Pcn { step_size, ..Pcn::default() });
    for (step_size, steps) in [(0.2, 3), (0.6, 1)] {
        let delayed = DelayedAcceptance::new(&few, pcn(step_size), steps);
        let report = on_regression(&Cycle(delayed, GibbsNoise), &posterior);
        assert!(report.passes() && report.accept_rate > 0.03, "pCN {step_size}: {report}");
    }
    for step_size in [0.02, 0.08] {
        let inner = Hmc { step_size, path_length: 0.16, ..Hmc::default() };
        let delayed = DelayedAcceptance::new(&corrected, inner, 2);
        let report = on_regression(&delayed, &posterior);
        assert!(report.passes() && report.accept_rate > 0.1, "rows, HMC {step_size}: {report}");
    }
    // Fitted to next to nothing, 12 draws: 2 features, a network that has made 1 step.
    let short = Sampler::new(&posterior, Rwm::default()).warmup(50).draws(3).run().unwrap();
    let features = RandomFeatures { features: 2, ..RandomFeatures::default() };
    let hardly = Surrogate::new(&posterior, features.fit(&posterior, &short).unwrap());
    for step_size in [0.01, 0.04] {
        let hmc = Hmc { step_size, path_length: 0.08, ..Hmc::default() };
        let report =
            on_regression(&SurrogateHmc { surrogate: &hardly, hmc: hmc.clone() }, &posterior);
        assert!(report.passes() && report.accept_rate > 0.02, "RNS {step_size}: {report}");
        let delayed = DelayedAcceptance::new(&hardly, hmc, 1);
        let report = on_regression(&delayed, &posterior);
        assert!(report.passes() && report.accept_rate > 0.02, "delayed RNS {step_size}: {report}");
    }
    let untrained = NetworkEmulator { steps: 1, ..NetworkEmulator::new(Emulated::Outputs) };
    let untrained = Surrogate::new(&posterior, untrained.fit(&posterior, &short).unwrap());
    for (step_size, steps) in [(0.1, 2), (0.4, 1)] {
        let delayed = DelayedAcceptance::new(&untrained, pcn(step_size), steps);
        let report = on_regression(&Cycle(delayed, GibbsNoise), &posterior);
        assert!(report.passes() && report.accept_rate > 0.01, "untrained {step_size}: {report}");
    }
}

/// A normal density around the place where it was evaluated last, as a surrogate that learns while it is used.
struct Learning(Mutex<Vec<f64>>);

impl Target for Learning {
    type Workspace = ();
    fn dim(&self) -> usize {
        3
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let mut centre = self.0.lock().unwrap();
        let squares: f64 = q.iter().zip(&*centre).map(|(q, c)| (q - c).powi(2)).sum();
        centre.copy_from_slice(q);
        LogDensity::from(-squares)
    }
}

#[test]
fn a_surrogate_that_learns_while_sampling_is_noticed() {
    let target = correlated();
    let learning = Learning(Mutex::new(vec![0.0; 3]));
    let inner = Rwm { step_size: 0.5, ..Rwm::default() };
    let algorithm = DelayedAcceptance::new(&learning, inner, 3);
    let report =
        Invariance::default().run(&target, &algorithm, |rng, q| target.draw(rng, q)).unwrap();
    assert!(!report.passes() && report.accept_rate > 0.05, "{report}");
}

#[test]
fn what_would_not_be_exact_is_refused() {
    let (target, wrong) = (correlated(), wrong());
    let refused = |algorithm: &dyn Fn() -> Result<Draws, bnn_mcmc::Error>, expected: &str| {
        let error = algorithm().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let cycle = Cycle(Rwm::default(), Mala::default());
    let of_cycle = DelayedAcceptance::new(&wrong, cycle, 1);
    refused(&|| Sampler::new(&target, of_cycle.clone()).run(), "`inner` is Cycle(Rwm, Mala)");
    let baoab = DelayedAcceptance::new(&wrong, Baoab::default(), 1);
    refused(&|| Sampler::new(&target, baoab.clone()).run(), "a reversible algorithm");
    let none = DelayedAcceptance::new(&wrong, Rwm::default(), 0);
    refused(&|| Sampler::new(&target, none.clone()).run(), "`steps` is 0");
    let other = GaussianTarget::standard(2).unwrap();
    let small = DelayedAcceptance::new(&other, Rwm::default(), 1);
    refused(&|| Sampler::new(&target, small.clone()).run(), "of 2 coordinates");
    let small = SurrogateHmc { surrogate: &other, hmc: Hmc::default() };
    refused(&|| Sampler::new(&target, small.clone()).run(), "`surrogate`");
}

//! Kernels with a surrogate leave the target unchanged, whatever the surrogate; a surrogate that changes
//! while the chain runs does not.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bnn_mcmc::optimise::{Adam, Ascent};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, DelayedAcceptance, Kernel, SurrogateHmc};
use bnn_mcmc::surrogate::{RowSubset, Surrogate};
use bnn_mcmc::targets::Point;
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
fn a_part_of_the_rows() {
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

/// A normal density that counts how often it, and its gradient, are evaluated.
struct Counting {
    density: GaussianTarget,
    values: AtomicU64,
    gradients: AtomicU64,
}

impl Counting {
    fn of(density: GaussianTarget) -> Self {
        Self { density, values: AtomicU64::new(0), gradients: AtomicU64::new(0) }
    }

    /// log pi(q), which is not counted.
    fn at(&self, q: &[f64]) -> f64 {
        self.density.log_density(q, &mut self.density.workspace()).total()
    }

    fn counts(&self) -> [f64; 2] {
        [&self.values, &self.gradients].map(|count| count.load(Ordering::Relaxed) as f64)
    }
}

impl Target for Counting {
    type Workspace = <GaussianTarget as Target>::Workspace;
    fn dim(&self) -> usize {
        self.density.dim()
    }
    fn workspace(&self) -> Self::Workspace {
        self.density.workspace()
    }
    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        self.values.fetch_add(1, Ordering::Relaxed);
        self.density.log_density(q, ws)
    }
}

impl GradTarget for Counting {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.gradients.fetch_add(1, Ordering::Relaxed);
        self.density.log_density_grad(q, grad, ws)
    }
}

/// The statistics of the latest step, by name.
fn statistic<'t, K: Kernel<&'t Counting>>(kernel: &K, name: &str) -> f64 {
    let names = kernel.stat_names();
    let mut stats = vec![f64::INFINITY; names.len()];
    kernel.stats(&mut stats);
    stats[names.iter().position(|n| n == name).unwrap_or_else(|| panic!("{name}: {names:?}"))]
}

fn freeze<'t, K: Kernel<&'t Counting>>(kernel: &mut K) {
    kernel.freeze();
}

fn close(what: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-10, "{what}: {found}, not {expected}");
}

/// Each statistic of each step of delayed acceptance, against the walk of the inner kernel made apart with the same
/// random numbers, densities evaluated anew and evaluations counted by the densities themselves.
fn check_stages<A: for<'t> Algorithm<&'t Counting> + Clone>(inner: A, steps: usize) {
    let (target, surrogate) = (Counting::of(correlated()), Counting::of(wrong()));
    let apart = Counting::of(wrong());
    let (target_ref, apart_ref) = (&target, &apart);
    let algorithm = DelayedAcceptance::new(&surrogate, inner.clone(), steps);
    let mut rng = ChainRng::new(5, 0);
    let mut kernel = algorithm.kernel(&target_ref, &rng).unwrap();
    let mut inner = inner.kernel(&apart_ref, &rng).unwrap();
    freeze(&mut kernel);
    Kernel::<&Counting>::freeze(&mut inner);
    let (mut ws, mut apart_ws) = (target.workspace(), apart.workspace());
    let mut chain = Point::new(3);
    chain.eval(&target_ref, &mut ws);
    let (mut unmoved, mut rejected) = (0, 0);
    for _ in 0..400 {
        let x = chain.q().to_vec();
        let (mut walker, mut moves, mut apart_rng) = (Point::new(3), 0, rng.clone());
        walker.set(|q| q.copy_from_slice(&x));
        for _ in 0..steps {
            let step = inner.step(&apart_ref, &mut walker, &mut apart_ws, &mut apart_rng);
            moves += usize::from(step.accepted);
        }
        let y = walker.q().to_vec();

        let [values, _] = target.counts();
        let [_, gradients] = surrogate.counts();
        let step = kernel.step(&target_ref, &mut chain, &mut ws, &mut rng);
        assert!(!step.divergent && step.gradient_evals == 0);
        assert_eq!(chain.q(), if step.accepted { &y } else { &x }.as_slice());
        let of = |name: &str| statistic(&kernel, name);
        close("first stage", of("first_stage_accept"), moves as f64 / steps as f64);
        close("densities", of("target_evals"), target.counts()[0] - values);
        close("gradients", of("surrogate_gradient_evals"), surrogate.counts()[1] - gradients);
        let error = |q: &[f64]| target.at(q) - surrogate.at(q);
        close("error", of("log_density_error"), error(chain.q()));
        if moves == 0 {
            unmoved += 1;
            assert!(of("second_stage_accept").is_nan() && of("target_evals") == 0.0);
            assert_eq!((step.accept_prob, step.accepted), (Some(0.0), false));
        } else {
            rejected += usize::from(!step.accepted);
            let second = (error(&y) - error(&x)).exp().min(1.0);
            close("second stage", of("second_stage_accept"), second);
            close("acceptance", step.accept_prob.unwrap(), second);
            assert_eq!(of("target_evals"), 1.0);
        }
    }
    assert!(unmoved > 10 && rejected > 10, "{unmoved} steps without a move, {rejected} rejected");
}

#[test]
fn the_statistics_of_delayed_acceptance_are_counted_apart() {
    check_stages(Rwm { step_size: 1.5, ..Rwm::default() }, 1);
    check_stages(Rwm { step_size: 3.0, ..Rwm::default() }, 3);
    check_stages(Mala { step_size: 1.9, ..Mala::default() }, 2);
    // Steps so large that the surrogate itself rejects many trajectories.
    check_stages(Hmc { step_size: 1.25, path_length: 2.5, ..Hmc::default() }, 2);
}

/// The same of trajectories on a surrogate, in steps of which every fifth begins where something else has moved the
/// chain, so that what is known of the surrogate there is known no more.
#[test]
fn the_statistics_of_trajectories_on_a_surrogate_are_counted_apart() {
    let (target, surrogate) = (Counting::of(correlated()), Counting::of(wrong()));
    let target_ref = &target;
    let hmc = Hmc { step_size: 0.6, path_length: 1.8, ..Hmc::default() };
    let algorithm = SurrogateHmc { surrogate: &surrogate, hmc };
    let mut rng = ChainRng::new(6, 0);
    let mut kernel = algorithm.kernel(&target_ref, &rng).unwrap();
    freeze(&mut kernel);
    let (mut chain, mut ws) = (Point::new(3), target.workspace());
    let (mut accepted, mut fresh) = (0, 0);
    for i in 0..400 {
        if i % 5 == 0 {
            chain.set(|q| q[1] += 0.1);
        }
        chain.eval(&target_ref, &mut ws);
        let (x, [values, none], [_, gradients]) =
            (chain.q().to_vec(), target.counts(), surrogate.counts());
        let step = kernel.step(&target_ref, &mut chain, &mut ws, &mut rng);
        accepted += usize::from(step.accepted);
        assert_eq!(step.accepted, chain.q() != x);
        assert_eq!(target.counts(), [values + 1.0, none], "one density of the target, no gradient");
        let of = |name: &str| statistic(&kernel, name);
        let taken = surrogate.counts()[1] - gradients;
        close("gradients", of("surrogate_gradient_evals"), taken);
        fresh += usize::from(taken > of("leapfrog_steps"));
        let error = target.at(chain.q()) - surrogate.at(chain.q());
        close("error", of("log_density_error"), error);
    }
    assert_eq!(fresh, 80, "a gradient more where the chain was moved");
    assert!((20..380).contains(&accepted), "{accepted}");
}

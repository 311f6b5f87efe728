//! Steps that take long are cut when a run is asked to end, and made again when it goes on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bnn_mcmc::draws::checkpoint::Every;
use bnn_mcmc::prelude::*;
use bnn_mcmc::prior::Family;
use bnn_mcmc::sampler::{Algorithm, Collapsed, Hmc, Ladder, Mams, PowerPosteriors};
use ndarray::Array2;
use serde::Serialize;

use crate::fixtures::{assert_same, watched};

/// Takes so long that the next step can be cut: the library tells by the clock.
fn slow() {
    std::thread::sleep(Duration::from_millis(3));
}

#[test]
fn a_trajectory_of_minutes_ends_at_the_next_gradient() {
    // Of 400 gradients for a step, each of which could take a second.
    let (stop, folder) = (StopHandle::new(), tempfile::tempdir().unwrap());
    let stopper = stop.clone();
    // The other chain goes on while the one that is to end the run waits for a processor.
    let (begun, at_stop) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let target = watched(3, |n| {
        begun.fetch_max(n, Ordering::SeqCst);
        if n <= 4 {
            slow(); // where two chains find their starts and write their first checkpoint
        }
        if n == 50 {
            stopper.stop();
            at_stop.store(begun.load(Ordering::SeqCst), Ordering::SeqCst);
        }
    });
    let long = Hmc { step_size: 0.001, max_steps: 400, path_length: 0.4, ..Hmc::default() };
    let run = Sampler::new(&target, long).chains(2).warmup(0).draws(5).threads(2);
    let path = folder.path().join("run");
    let draws = run.stop_handle(&stop).checkpoint(&path, Every::Seconds(1e9)).run().unwrap();
    assert!(draws.info().stopped_early && draws.n_draws() == 0);
    // Each chain finishes its gradient, and may begin one that asked just before.
    let at_stop = at_stop.load(Ordering::SeqCst);
    assert!(at_stop >= 50 && target.count() <= at_stop + 4, "{at_stop} {}", target.count());
    assert_eq!(draws.info().panic, None);
    assert_eq!(draws.info().checkpoint_error, None);
}

/// A prior that takes long where two chains find their starts and write their first checkpoint: the first step
/// can then be cut. It asks its run to end at an evaluation.
#[derive(Debug)]
struct SlowAtFirst {
    normal: Normal,
    /// How often its log density, and this or its gradient, were asked for since the run began.
    densities: AtomicUsize,
    all: AtomicUsize,
    ends: Mutex<Option<(usize, StopHandle)>>,
}

/// The prior as a posterior has it, and as a test does.
#[derive(Clone, Debug)]
struct Shared(Arc<SlowAtFirst>);

impl Shared {
    fn begin(&self, ends: Option<(usize, StopHandle)>) {
        self.0.densities.store(0, Ordering::Relaxed);
        self.0.all.store(0, Ordering::Relaxed);
        *self.0.ends.lock().unwrap() = ends;
    }

    fn count(&self) {
        let n = self.0.all.fetch_add(1, Ordering::Relaxed) + 1;
        match &*self.0.ends.lock().unwrap() {
            Some((at, stop)) if n == *at => stop.stop(),
            _ => {}
        }
    }
}

impl Prior for Shared {
    fn log_density(&self, x: &[f64]) -> f64 {
        if self.0.densities.fetch_add(1, Ordering::Relaxed) < 4 {
            slow();
        }
        self.count();
        self.0.normal.log_density(x)
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        self.count();
        self.0.normal.add_grad(x, grad)
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        self.0.normal.draw(rng, x)
    }

    fn family(&self) -> Family {
        self.0.normal.family()
    }
}

/// Runs that are asked to end within their first steps, which can be cut, and go on from there.
fn goes_on<A>(algorithm: A)
where
    A: Clone + Serialize + for<'t> Algorithm<&'t Posterior<Mlp, Gaussian>>,
{
    let x = Array2::from_shape_fn((30, 2), |(i, j)| ((i * (j + 2)) as f64 * 0.37).sin());
    let y = Array2::from_shape_fn((30, 1), |(i, _)| (i as f64 * 0.5).cos());
    let data = Dataset::regression(x, y).unwrap();
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let prior = Shared(Arc::new(SlowAtFirst {
        normal: Normal::new(0.0, 1.0).unwrap(),
        densities: AtomicUsize::new(0),
        all: AtomicUsize::new(0),
        ends: Mutex::new(None),
    }));
    let priors = Priors::by_fan_in(&network)
        .with("b0", prior.clone())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.1).unwrap());
    let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
    let run = |ends| {
        prior.begin(ends);
        let run = Sampler::new(&posterior, algorithm.clone()).chains(2).warmup(25).draws(12);
        run.seed(7).threads(2)
    };
    let whole = run(None).run().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut parts = 0;
    let draws = loop {
        parts += 1;
        // After ever more evaluations: while it begins, within the first step, after some.
        let stop = StopHandle::new();
        let stopped = run(Some((2 + 3 * parts, stop.clone())));
        let stopped = stopped.stop_handle(&stop).checkpoint(&path, Every::Seconds(1e9));
        let draws = stopped.run().unwrap();
        assert_eq!((&draws.info().panic, &draws.info().checkpoint_error), (&None, &None));
        if !draws.info().stopped_early {
            break draws;
        }
        assert!(parts < 2000);
    };
    assert!(parts > 10, "{parts}");
    assert_same(&draws, &whole);
}

#[test]
fn runs_that_are_cut_anywhere_go_on_bit_for_bit() {
    goes_on(Nuts::default());
    goes_on(Mams::default());
    goes_on(Hmc::default());
    goes_on(Collapsed::new(Mams::default()));
    goes_on(Cycle(Mala::default(), Nuts::default()));
    let ladder = Ladder::Given(vec![0.0, 0.3, 1.0]);
    goes_on(PowerPosteriors { ladder, ..PowerPosteriors::new(Hmc::default()) });
}

/// Cut at one evaluation after the other of the first step of a process, in warm-up and in sampling.
#[test]
fn a_step_that_was_cut_is_made_again() {
    let quiet = watched(3, |_| {});
    fn run<T: GradTarget>(target: &T) -> Sampler<'_, T, Nuts> {
        Sampler::new(target, Nuts::default()).chains(1).warmup(20).draws(15).seed(3).threads(1)
    }
    let whole = run(&quiet).run().unwrap();
    let mut cut = 0;
    for begun in [0, 7, 30] {
        for n in 3..40 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run");
            // So many evaluations, then so many more in a process of its own.
            for n in [begun, n] {
                let stop = StopHandle::new();
                let stopper = stop.clone();
                let at = move |i: usize| {
                    if i == 2 {
                        // The evaluation of the first checkpoint, or of the one that is gone on from.
                        slow();
                    }
                    if i >= n {
                        stopper.stop();
                    }
                };
                let target = watched(3, at);
                let stopped =
                    run(&target).stop_handle(&stop).checkpoint(&path, Every::Seconds(1e9));
                let draws = stopped.run().unwrap();
                assert_eq!(draws.info().checkpoint_error, None);
                let made = target.count();
                cut += usize::from(made <= n + 2);
            }
            let resumed = run(&quiet).checkpoint(&path, Every::Seconds(1e9)).run().unwrap();
            assert_same(&resumed, &whole);
        }
    }
    assert!(cut > 20, "{cut}");
}

//! Steps that take long are cut when a run is asked to end, and made again when it goes on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bnn_mcmc::draws::checkpoint::Every;
use bnn_mcmc::prelude::*;
use bnn_mcmc::prior::Family;
use bnn_mcmc::sampler::{Algorithm, Collapsed, Hmc, Ladder, Mams, PowerPosteriors};
use bnn_mcmc::targets::{GradTarget, LogDensity, Target};
use ndarray::Array2;
use serde::Serialize;

/// A posterior that sees every evaluation: a call of `at` with its number.
struct Watched<F> {
    count: AtomicUsize,
    at: F,
}

impl<F: Fn(usize) + Sync> Watched<F> {
    fn seen(&self) {
        (self.at)(self.count.fetch_add(1, Ordering::Relaxed) + 1);
    }
}

impl<F: Fn(usize) + Sync> Target for Watched<F> {
    type Workspace = ();
    fn dim(&self) -> usize {
        3
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        self.seen();
        LogDensity::from(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
    }
}

impl<F: Fn(usize) + Sync> GradTarget for Watched<F> {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.iter_mut().zip(q).for_each(|(g, q)| *g = -q);
        self.log_density(q, ws)
    }
}

fn same(a: &Draws, b: &Draws) {
    let bits = |draws: &Draws| {
        let stats = draws.stat_names().iter().map(|s| draws.stat(s).unwrap().to_owned());
        let stats: Vec<Array2<f64>> = stats.collect();
        let values = draws.values();
        let all = values.iter().chain(stats.iter().flatten()).copied();
        all.map(f64::to_bits).collect::<Vec<_>>()
    };
    assert!(bits(a) == bits(b));
}

#[test]
fn a_trajectory_of_minutes_ends_at_the_next_gradient() {
    // 400 gradients of 50 ms: 20 s for a step.
    let target = Watched {
        count: AtomicUsize::new(0),
        at: |_| std::thread::sleep(Duration::from_millis(50)),
    };
    let stop = StopHandle::new();
    let stopper = stop.clone();
    let (folder, began) = (tempfile::tempdir().unwrap(), Instant::now());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        stopper.stop();
    });
    let long = Hmc { step_size: 0.001, max_steps: 400, path_length: 0.4, ..Hmc::default() };
    let run = Sampler::new(&target, long).chains(2).warmup(0).draws(5).threads(2);
    let path = folder.path().join("run");
    let draws = run.stop_handle(&stop).checkpoint(&path, Every::Seconds(1e9)).run().unwrap();
    let seconds = began.elapsed().as_secs_f64();
    assert!(draws.info().stopped_early && draws.n_draws() == 0);
    assert!(seconds < 5.0, "{seconds} s");
    assert_eq!(draws.info().panic, None);
    assert_eq!(draws.info().checkpoint_error, None);
}

/// How often the log density of [`SlowAtFirst`] was asked for since the run began.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A prior that takes long where two chains find their starts and write their first checkpoint: the first step
/// can then be cut.
#[derive(Debug)]
struct SlowAtFirst(Normal);

impl Prior for SlowAtFirst {
    fn log_density(&self, x: &[f64]) -> f64 {
        if CALLS.fetch_add(1, Ordering::Relaxed) < 4 {
            std::thread::sleep(Duration::from_millis(3));
        }
        self.0.log_density(x)
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        self.0.add_grad(x, grad)
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        self.0.draw(rng, x)
    }

    fn family(&self) -> Family {
        self.0.family()
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
    let priors = Priors::by_fan_in(&network)
        .with("b0", SlowAtFirst(Normal::new(0.0, 1.0).unwrap()))
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.1).unwrap());
    let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
    let run = || {
        CALLS.store(0, Ordering::Relaxed);
        let run = Sampler::new(&posterior, algorithm.clone()).chains(2).warmup(25).draws(12);
        run.seed(7).threads(2)
    };
    let whole = run().run().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut parts = 0;
    let draws = loop {
        parts += 1;
        // After ever other times: while it begins, within the first step, after some.
        let stop = StopHandle::new();
        let (stopper, wait) = (stop.clone(), Duration::from_micros(5000 + 150 * parts));
        std::thread::spawn(move || {
            std::thread::sleep(wait);
            stopper.stop();
        });
        let stopped = run().stop_handle(&stop).checkpoint(&path, Every::Seconds(1e9));
        let draws = stopped.run().unwrap();
        assert_eq!((&draws.info().panic, &draws.info().checkpoint_error), (&None, &None));
        if !draws.info().stopped_early {
            break draws;
        }
        assert!(parts < 2000);
    };
    same(&draws, &whole);
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
    let quiet = Watched { count: AtomicUsize::new(0), at: |_| {} };
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
                        std::thread::sleep(Duration::from_millis(3));
                    }
                    if i >= n {
                        stopper.stop();
                    }
                };
                let target = Watched { count: AtomicUsize::new(0), at };
                let stopped =
                    run(&target).stop_handle(&stop).checkpoint(&path, Every::Seconds(1e9));
                let draws = stopped.run().unwrap();
                assert_eq!(draws.info().checkpoint_error, None);
                let made = target.count.load(Ordering::Relaxed);
                cut += usize::from(made <= n + 2);
            }
            let resumed = run(&quiet).checkpoint(&path, Every::Seconds(1e9)).run().unwrap();
            same(&resumed, &whole);
        }
    }
    assert!(cut > 20, "{cut}");
}

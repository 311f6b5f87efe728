//! The loop: reproducible for any number of threads, resumable, stoppable, clear about bad input.

use std::sync::atomic::{AtomicUsize, Ordering};

use bnn_mcmc::likelihood::StudentTNoise;
use bnn_mcmc::model::LogSd;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{
    Algorithm, DelayedAcceptance, Kernel, LangevinGradient, Phase, SurrogateHmc, WarmupProgress,
};
use bnn_mcmc::surrogate::{RowSubset, Surrogate};
use bnn_mcmc::targets::{Forces, Point};
use bnn_mcmc::testing::GaussianTarget;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::{failed, refused};

use crate::fixtures::gaussian;

#[test]
fn draws_do_not_depend_on_the_number_of_threads() {
    let target = gaussian();
    for preconditioner in
        [Preconditioner::Identity, Preconditioner::Diagonal, Preconditioner::Dense]
    {
        let run = |threads| {
            Sampler::new(&target, Mala { preconditioner, ..Mala::default() })
                .chains(5)
                .warmup(300)
                .draws(200)
                .seed(3)
                .threads(threads)
                .run()
                .unwrap()
        };
        let (one, four) = (run(1), run(4));
        assert_eq!(one.values(), four.values());
        for stat in one.stat_names() {
            assert_eq!(one.stat(stat).unwrap(), four.stat(stat).unwrap(), "{stat}");
        }
        let chains: Vec<_> = (0..5).map(|c| one.draw(c, 0).unwrap()).collect();
        assert!((1..5).all(|c| chains[c] != chains[0]), "chains must not share random numbers");
    }
}

/// On a box, where rejections take as many random numbers as they need.
#[test]
fn draws_on_a_box_do_not_depend_on_the_number_of_threads() {
    let x = ndarray::Array2::from_shape_fn((20, 2), |(i, j)| ((i + 3 * j) as f64).sin());
    let y = x.column(0).mapv(|x| 1.2 * x + 0.3 * (7.0 * x).cos());
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Uniform::new(-1.0, 1.0).unwrap());
    let noise = Gaussian::fixed(0.3).unwrap();
    let posterior = Posterior::new(Linear::new(2, 1).unwrap(), noise, &data, priors).unwrap();
    let run = |threads| {
        let sampler = Sampler::new(&posterior, TruncatedMala::default()).chains(5).seed(3);
        sampler.warmup(300).draws(200).threads(threads).run().unwrap()
    };
    let (one, four) = (run(1), run(4));
    assert_eq!(one.values(), four.values());
    let step_sizes = |d: &Draws| d.stat("step_size").unwrap().to_owned();
    assert_eq!(step_sizes(&one), step_sizes(&four));
    assert!(one.draw(0, 0) != one.draw(1, 0));
}

#[test]
fn another_seed_gives_other_draws() {
    let target = gaussian();
    let run = |seed| Sampler::new(&target, Rwm::default()).seed(seed).draws(10).run().unwrap();
    assert_eq!(run(1).values(), run(1).values());
    assert_ne!(run(1).values(), run(2).values());
}

/// Stops a chain in the middle of warm-up, writes kernel, position and random stream to JSON, and
/// goes on with new objects.
fn resume_equals_uninterrupted<A>(algorithm: A)
where
    A: for<'t> Algorithm<&'t GaussianTarget>,
    for<'t> <A as Algorithm<&'t GaussianTarget>>::Kernel: Kernel<&'t GaussianTarget>,
{
    let target = gaussian();
    let target = &target;
    let run = |break_at: Option<usize>| {
        let mut rng = ChainRng::new(9, 0);
        let mut kernel = algorithm.kernel(&target, &rng).unwrap();
        let mut ws = target.workspace();
        let mut point = Point::new(2);
        point.eval(&target, &mut ws);
        for iteration in 0..400 {
            if Some(iteration) == break_at {
                let state = through_json(&kernel.state());
                rng = through_json(&rng);
                let q: Vec<f64> = through_json(&point.q().to_vec());
                kernel = algorithm.kernel(&target, &ChainRng::new(0, 0)).unwrap();
                kernel.restore(state);
                point = Point::new(2);
                point.set(|old| old.copy_from_slice(&q));
                point.eval(&target, &mut ws);
            }
            let step = kernel.step(&target, &mut point, &mut ws, &mut rng);
            if iteration < 300 {
                kernel.adapt(&step, &point, WarmupProgress { iteration, total: 300 });
            } else if iteration == 300 {
                kernel.freeze();
            }
        }
        point.q().to_vec()
    };
    let whole = run(None);
    for break_at in [1, 60, 200, 299, 300, 301, 399] {
        assert_eq!(run(Some(break_at)), whole, "broken at {break_at}");
    }
}

fn through_json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

#[test]
fn a_restored_kernel_goes_on_as_if_it_had_not_been_stopped() {
    for preconditioner in
        [Preconditioner::Identity, Preconditioner::Diagonal, Preconditioner::Dense]
    {
        resume_equals_uninterrupted(Mala { preconditioner, ..Mala::default() });
        resume_equals_uninterrupted(Rwm { preconditioner, ..Rwm::default() });
    }
    for preconditioner in [Preconditioner::Diagonal, Preconditioner::DiagonalFromGradients] {
        resume_equals_uninterrupted(TruncatedMala { preconditioner, ..TruncatedMala::default() });
    }
    resume_equals_uninterrupted(Independence { proposal: Normal::new(0.0, 3.0).unwrap() });
}

/// A regression by a network, with a hierarchical prior and sampled noise.
fn network() -> Posterior<Mlp, Gaussian> {
    let x = ndarray::Array2::from_shape_fn((20, 2), |(i, j)| ((i + 3 * j) as f64).sin());
    let y = x.column(0).mapv(|x| x + 0.3 * (7.0 * x).cos());
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .hierarchical("w0", "log_variance", LogInverseGamma::new(2.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap()
}

/// As above through checkpoint files, for kernels on a posterior.
fn goes_on_from_files<M, L, A>(posterior: &Posterior<M, L>, algorithm: impl Fn() -> A)
where
    M: Model,
    L: Likelihood,
    A: for<'t> Algorithm<&'t Posterior<M, L>> + Serialize,
{
    let run = |threads| {
        Sampler::new(posterior, algorithm()).warmup(300).draws(200).seed(4).threads(threads)
    };
    let whole = run(1).run().unwrap();
    assert_eq!(whole.values(), run(4).run().unwrap().values());
    let folder = tempfile::tempdir().unwrap();
    for (phase, done) in [(Phase::Warmup, 40), (Phase::Warmup, 250), (Phase::Sampling, 60)] {
        let path = folder.path().join(format!("{phase:?}{done}"));
        let stop = StopHandle::new();
        let stopping = run(2).stop_handle(&stop).checkpoint(&path, Every::Draws(10));
        let stopping = stopping.on_progress(|p| {
            if p.phase == phase && p.done >= done {
                stop.stop();
            }
        });
        stopping.run().unwrap();
        let resumed = run(2).checkpoint(&path, Every::Draws(10)).run().unwrap();
        assert_eq!(resumed.values(), whole.values(), "stopped in {phase:?}");
        for stat in whole.stat_names() {
            let bits = |d: &Draws| d.stat(stat).unwrap().mapv(f64::to_bits);
            assert_eq!(bits(&resumed), bits(&whole), "{stat}, stopped in {phase:?}");
        }
    }
}

/// Blocks, Gibbs, pCN, mixtures.
#[test]
fn combined_kernels_on_a_posterior_go_on_too() {
    let posterior = network();
    goes_on_from_files(&posterior, || {
        let weights = Mixture {
            first: OnBlocks::new(&["w*", "b*"], Mala::default()),
            second: OnBlocks::new(&["w0", "b0"], Pcn::default()),
            probability: 0.6,
        };
        let langevin = OnBlocks::new(&["w1", "log_noise*"], LangevinGradient::default());
        let noise = Cycle(GibbsNoise, OnBlocks::new(&["log_variance"], Rwm::default()));
        Cycle(weights, Cycle(noise, langevin))
    });
}

/// What is known of the marginal density at the chain's position is part of a state: so are the gradients that
/// it saves.
#[test]
fn collapsed_kernels_go_on_too() {
    let posterior = network();
    goes_on_from_files(&posterior, || Collapsed::new(Nuts { max_depth: 5, ..Nuts::default() }));
    goes_on_from_files(&posterior, || {
        let hmc = Hmc { max_steps: 10, ..Hmc::default() };
        Cycle(Cycle(Collapsed::new(hmc), GibbsNoise), Collapsed::new(Mala::default()))
    });
    goes_on_from_files(&posterior, || PowerPosteriors::new(Collapsed::new(Mala::default())));
    // With forces of their own, which share the point with gradients.
    goes_on_from_files(&posterior, || {
        let hmc = Hmc { max_steps: 10, ..Hmc::default() };
        Collapsed::new(Cycle(hmc, Mala::default())).with_forces(Forces::F32)
    });
    goes_on_from_files(&posterior, || {
        let hmc = Hmc { max_steps: 10, ..Hmc::default() };
        PowerPosteriors::new(Collapsed::new(hmc).with_forces(Forces::F32))
    });
}

/// Weights of rows are drawn anew in each step, and are no part of a state.
#[test]
fn collapsed_kernels_with_student_t_noise_go_on_too() {
    let mut rng = ChainRng::new(5, 0);
    let x = ndarray::Array2::from_shape_fn((30, 2), |_| rng.normal());
    let y = x.column(0).mapv(|x| (2.0 * x).sin() + 0.3 * rng.normal().powi(3));
    let data = Dataset::regression(x, y).unwrap();
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let priors =
        Priors::by_fan_in(&network).with("log_degrees_of_freedom", Normal::new(2.0, 1.0).unwrap());
    let (model, noise) = (LogSd::new(network).unwrap(), StudentTNoise::heteroscedastic());
    let posterior = Posterior::new(model, noise, &data, priors).unwrap();
    let hmc = || Collapsed::new(Hmc { max_steps: 10, ..Hmc::default() });
    goes_on_from_files(&posterior, || Cycle(hmc(), Collapsed::new(Mala::default())));
    goes_on_from_files(&posterior, || PowerPosteriors::new(hmc()));
}

/// A surrogate is no part of a state; another one is noticed.
#[test]
fn kernels_with_a_surrogate_go_on_too() {
    let posterior = network();
    let rows = |seed| Surrogate::new(&posterior, RowSubset::new(&posterior, 12, seed).unwrap());
    let (surrogate, other) = (rows(1), rows(2));
    goes_on_from_files(&posterior, || {
        let rwm = Rwm { step_size: 0.05, ..Rwm::default() };
        let delayed =
            DelayedAcceptance { adapt_to_both: true, ..DelayedAcceptance::new(&surrogate, rwm, 3) };
        let hmc = Hmc { path_length: 0.2, ..Hmc::default() };
        Cycle(Cycle(delayed, GibbsNoise), SurrogateHmc { surrogate: &surrogate, hmc })
    });
    let folder = tempfile::tempdir().unwrap();
    let run = |surrogate| {
        let delayed = DelayedAcceptance::new(surrogate, Rwm::default(), 3);
        let sampler = Sampler::new(&posterior, delayed).warmup(20).draws(20).seed(4);
        sampler.checkpoint(folder.path().join("run"), Every::Draws(10)).run()
    };
    assert!(run(&surrogate).is_ok() && run(&surrogate).is_ok());
    // The values of a surrogate are not the same on every processor.
    let Error::Checkpoint { problem, .. } = failed!(run(&other), Checkpoint {}) else {
        unreachable!()
    };
    assert!(problem.contains("`algorithm.surrogate[1][0]` is "), "{problem}");
}

#[test]
fn thinning_keeps_every_kth_state() {
    let target = gaussian();
    let run = |draws, thin| {
        Sampler::new(&target, Rwm::default()).warmup(50).draws(draws).thin(thin).run().unwrap()
    };
    let (all, thinned) = (run(60, 1), run(20, 3));
    assert_eq!(all.thinned(3).unwrap().values(), thinned.values());
    let again = all.thinned(3).unwrap();
    assert_eq!(again.info().thin, 3);
    for stat in thinned.stat_names() {
        let (a, b) = (again.stat(stat).unwrap(), thinned.stat(stat).unwrap());
        assert!(a.iter().zip(b.iter()).all(|(a, b)| (a - b).abs() < 1e-12), "{stat}");
    }
    assert!(all.thinned(0).unwrap_err().is_argument());
    assert!(all.thinned(61).unwrap_err().is_argument());
}

#[test]
fn statistics_are_those_of_the_stored_states() {
    let target = gaussian();
    let draws = Sampler::new(&target, Mala::default()).draws(100).run().unwrap();
    for chain in 0..4 {
        for d in 0..100 {
            let q = draws.draw(chain, d).unwrap();
            let expected = target.log_density(q, &mut target.workspace()).total();
            let stored = draws.stat("log_likelihood").unwrap()[(chain, d)]
                + draws.stat("log_prior").unwrap()[(chain, d)];
            assert_eq!(stored, expected);
        }
    }
    assert_eq!(draws.stat("gradient_evals").unwrap().sum(), 400.0);
    // One more gradient per chain, at its starting point.
    assert_eq!(draws.gradient_evals(), 4 * (1 + 1000 + 100));
    assert_eq!(draws.stat_names().last().unwrap(), "step_size");
    let steps = draws.stat("step_size").unwrap();
    assert!(steps.row(0).iter().all(|s| *s == steps[(0, 0)]), "frozen after warm-up");
    assert_eq!(draws.info().warmup_divergences, [0; 4]);
    let summary = draws.density_summary().unwrap();
    let mean = draws.stat("log_likelihood").unwrap().mean().unwrap();
    approx::assert_relative_eq!(summary.rows[0].mean, mean, max_relative = 1e-14);
    assert_eq!(summary.rows[1].name, "log_prior");
    refused!(draws.stat("energy"), UnknownName { name: "energy" });
}

#[test]
fn a_stopped_run_returns_what_is_there() {
    let target = gaussian();
    let full = Sampler::new(&target, Rwm::default()).warmup(10).draws(50_000).run().unwrap();
    let stop = StopHandle::new();
    let cut = Sampler::new(&target, Rwm::default())
        .warmup(10)
        .draws(50_000)
        .stop_handle(&stop)
        .on_progress(|p| {
            if p.phase == Phase::Sampling && p.done >= 5 {
                stop.stop();
            }
        })
        .run()
        .unwrap();
    let n = cut.n_draws();
    assert!(cut.info().stopped_early && (5..50_000).contains(&n), "{n}");
    assert_eq!(cut.values(), full.values().slice(ndarray::s![.., ..n, ..]));
    assert!(!full.info().stopped_early);

    stop.stop();
    let none = Sampler::new(&target, Rwm::default()).stop_handle(&stop).run().unwrap();
    assert_eq!(none.n_draws(), 0);
    assert!(none.accept_rate().iter().all(|a| a.is_nan()));
}

#[test]
fn progress_is_reported_to_the_end_of_both_phases() {
    let target = gaussian();
    let mut reports = Vec::new();
    Sampler::new(&target, Rwm::default())
        .warmup(100)
        .draws(70)
        .on_progress(|p| reports.push((p.phase, p.done, p.total)))
        .run()
        .unwrap();
    assert!(reports.contains(&(Phase::Warmup, 100, 100)));
    assert_eq!(*reports.last().unwrap(), (Phase::Sampling, 70, 70));
}

#[test]
fn progress_has_the_step_size_and_the_divergences_of_each_chain() {
    let target = gaussian();
    let mut last = None;
    let sampler = Sampler::new(&target, Nuts::default()).chains(3).warmup(100).draws(70);
    let draws = sampler.on_progress(|p| last = Some(p.clone())).run().unwrap();
    let last = last.unwrap();
    for (c, chain) in last.chains.iter().enumerate() {
        assert_eq!(
            (chain.chain, chain.step_size),
            (c, Some(draws.stat("step_size").unwrap()[(c, 69)]))
        );
        assert_eq!(chain.divergences as f64, draws.stat("divergent").unwrap().row(c).sum());
    }
    assert_eq!((last.chains.len(), last.divergences()), (3, draws.divergences()));
    // Of kernels made of others the first one's.
    let mut steps = Vec::new();
    let both = Cycle(Rwm { step_size: 0.25, ..Rwm::default() }, Mala::default());
    let sampler = Sampler::new(&target, both).chains(1).warmup(0).draws(5);
    sampler.on_progress(|p| steps.push(p.chains[0].step_size)).run().unwrap();
    assert_eq!(steps.last(), Some(&Some(0.25)));
}

#[test]
fn warm_up_of_any_length_works() {
    let target = gaussian();
    for warmup in [0, 1, 2, 10, 40, 99, 150] {
        for preconditioner in [Preconditioner::Diagonal, Preconditioner::Dense] {
            let draws = Sampler::new(&target, Mala { preconditioner, ..Mala::default() })
                .warmup(warmup)
                .draws(5)
                .run()
                .unwrap();
            assert!(draws.values().iter().all(|x| x.is_finite()));
            if warmup == 0 {
                assert_eq!(draws.stat("step_size").unwrap()[(0, 0)], 0.1);
            }
        }
    }
}

#[test]
fn starting_points_are_used_and_checked() {
    let target = gaussian();
    let with = |init| {
        Sampler::new(&target, Rwm { step_size: 1e-9, ..Rwm::default() })
            .chains(2)
            .warmup(0)
            .draws(1)
            .init(init)
            .run()
    };
    let draws = with(Init::Points(vec![vec![1.0, 2.0], vec![3.0, 4.0]])).unwrap();
    approx::assert_abs_diff_eq!(draws.draw(1, 0).unwrap()[0], 3.0, epsilon = 1e-7);
    let around = |sd| Init::Around { centre: vec![5.0, -5.0], sd };
    let draws = with(around(0.01)).unwrap();
    assert!((draws.draw(0, 0).unwrap()[1] + 5.0).abs() < 0.1);
    assert_ne!(draws.draw(0, 0), draws.draw(1, 0));

    let one = with(Init::Points(vec![vec![0.0, 0.0]]));
    refused!(one, Shape { what: "number of starting points", found: 1, expected: 2 });
    let what = "length of the starting point of chain 0";
    refused!(with(Init::Points(vec![vec![0.0]; 2])), Shape { what: what, found: 1 });
    let name = "coordinate 1 of the starting point of chain 0";
    let nan = with(Init::Points(vec![vec![0.0, f64::NAN]; 2]));
    refused!(nan, Argument { name: name, value: "NaN" });
    refused!(with(around(0.0)), Argument { name: "sd of the starting points", value: 0 });
    let short = with(Init::Around { centre: vec![0.0], sd: 1.0 });
    refused!(short, Shape { what: "length of the centre of the starting points" });
}

#[test]
fn bad_settings_are_refused_by_name() {
    let target = gaussian();
    let new = || Sampler::new(&target, Mala::default());
    refused!(new().chains(0).run(), Argument { name: "chains", value: 0 });
    refused!(new().thin(0).run(), Argument { name: "thin", value: 0 });
    refused!(new().threads(0).run(), Argument { name: "threads", value: 0 });
    failed!(new().draws(usize::MAX).run(), Memory { name: "draws" });
    for size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mala = Mala { step_size: size, ..Mala::default() };
        let run = Sampler::new(&target, mala).run();
        refused!(run, Argument { name: "step_size", value: size });
    }
    for accept in [0.0, 1.0, f64::NAN] {
        let mala = Mala { target_accept: accept, ..Mala::default() };
        let run = Sampler::new(&target, mala).run();
        refused!(run, Argument { name: "target_accept", value: accept });
    }
}

/// The acceptance of 200 chains: its quantiles at 1 %, 5 % and 50 %, in comments those with the gain of the
/// other maps, which freezes step sizes that are too large.
#[test]
fn a_random_walk_with_a_dense_map_accepts_as_it_should_in_nearly_every_chain() {
    fn accepts<T: Target>(target: &T, warmup: usize) -> [f64; 3] {
        let run = |seed| {
            let rwm = Rwm { preconditioner: Preconditioner::Dense, ..Rwm::default() };
            let sampler = Sampler::new(target, rwm).warmup(warmup).draws(500).seed(seed);
            sampler.run().unwrap().accept_rate()
        };
        let mut rates: Vec<f64> = (0..50).flat_map(run).collect();
        rates.sort_by(f64::total_cmp);
        println!("{:.3} {:.3} {:.3}", rates[2], rates[10], rates[100]);
        [rates[2], rates[10], rates[100]]
    }
    let gaussian = GaussianTarget::standard(2).unwrap();
    let [_, low, median] = accepts(&gaussian, 500); // (0.094), 0.124, 0.190
    assert!(low > 0.145 && (0.215..0.26).contains(&median), "{low} {median}");

    let mut rng = ChainRng::new(1, 0);
    let x = ndarray::Array2::from_shape_fn((100, 2), |_| rng.normal());
    let y = x.map_axis(ndarray::Axis(1), |row| row.sum() + 0.1 * rng.normal());
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 5.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let linear = Linear::new(2, 1).unwrap();
    let posterior = Posterior::new(linear, Gaussian::sampled(), &data, priors).unwrap();
    let [worst, low, median] = accepts(&posterior, 1000); // 0.028, 0.060, 0.172
    assert!(worst > 0.04, "{worst}");
    assert!(low > 0.11 && (0.21..0.26).contains(&median), "{low} {median}");
}

/// A target with every kind of trouble, by where q lies.
struct Hostile(f64);

impl Target for Hostile {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        if q[0] < 0.0 {
            return LogDensity::OUTSIDE;
        }
        let likelihood = if q[0] > 1.0 { self.0 } else { 0.0 };
        LogDensity::new(likelihood, 0.0)
    }
}

/// Adaptation ends with the warm-up: a chain that goes on learning from its past is no Markov chain.
#[test]
fn nothing_is_adapted_after_warm_up() {
    fn check<A>(algorithm: A)
    where
        A: for<'t> Algorithm<&'t GaussianTarget>,
    {
        let target = gaussian();
        let draws = Sampler::new(&target, algorithm).warmup(200).draws(300).seed(2).run().unwrap();
        for steps in draws.stat("step_size").unwrap().rows() {
            assert!(steps[0] != 0.37 && steps.iter().all(|s| *s == steps[0]), "{steps}");
        }
    }
    check(Rwm { step_size: 0.37, ..Rwm::default() });
    check(Mala { step_size: 0.37, ..Mala::default() });
    check(Nuts { step_size: 0.37, ..Nuts::default() });
    check(Mams { step_size: 0.37, ..Mams::default() });
    check(Mclmc { step_size: 0.37, ..Mclmc::default() });
}

#[test]
fn bad_densities_are_rejected_and_counted_apart_from_the_support() {
    for (value, divergent) in
        [(f64::NAN, true), (f64::INFINITY, true), (f64::NEG_INFINITY, true), (0.0, false)]
    {
        let target = Hostile(value);
        let draws = Sampler::new(&target, Rwm { step_size: 1.0, ..Rwm::default() })
            .warmup(0)
            .draws(500)
            .init(Init::Points(vec![vec![0.5]; 4]))
            .run()
            .unwrap();
        assert_eq!(draws.divergences() > 0, divergent, "{value}");
        assert!(draws.values().iter().all(|q| *q >= 0.0));
        if divergent {
            assert!(draws.values().iter().all(|q| *q <= 1.0));
        }
    }
}

#[test]
fn positions_that_overflow_are_rejected_even_where_the_density_is_finite() {
    let target = Hostile(0.0);
    let draws = Sampler::new(&target, Rwm { step_size: 1.7e308, ..Rwm::default() })
        .warmup(0)
        .draws(200)
        .init(Init::Points(vec![vec![0.5]; 4]))
        .run()
        .unwrap();
    assert!(draws.values().iter().all(|q| q.is_finite()) && draws.divergences() > 0);
}

#[test]
fn a_chain_that_cannot_start_says_why() {
    struct Nowhere(AtomicUsize);
    impl Target for Nowhere {
        type Workspace = ();
        fn dim(&self) -> usize {
            1
        }
        fn workspace(&self) {}
        fn log_density(&self, _: &[f64], _: &mut ()) -> LogDensity {
            self.0.fetch_add(1, Ordering::Relaxed);
            LogDensity::from(f64::NAN)
        }
    }
    let target = Nowhere(AtomicUsize::new(0));
    let run = Sampler::new(&target, Rwm::default()).run();
    refused!(run, Start { tries: Init::TRIES });
    assert_eq!(target.0.load(Ordering::Relaxed), Init::TRIES);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever the settings, a run ends in draws or in an error, never in a panic.
    #[test]
    fn no_setting_panics(
        step_size in prop_oneof![any::<f64>(), 1e-300..1e300f64],
        accept in prop_oneof![any::<f64>(), 0.01..0.99f64],
        (chains, warmup, draws, thin) in (0..3usize, 0..120usize, 0..30usize, 0..3usize),
        start in prop::collection::vec(any::<f64>(), 0..4),
        value in any::<f64>(),
        kind in 0..4usize,
    ) {
        let preconditioner = [
            Preconditioner::Identity,
            Preconditioner::Diagonal,
            Preconditioner::Dense,
            Preconditioner::DenseFromGradients,
        ][kind];
        let gaussian = gaussian();
        let init = Init::Points(vec![start; chains]);
        let mala = Mala { step_size, target_accept: accept, preconditioner, ..Mala::default() };
        let run = Sampler::new(&gaussian, mala)
            .chains(chains).warmup(warmup).draws(draws).thin(thin).init(init).run();
        if let Ok(draws) = run {
            prop_assert!(draws.values().iter().all(|x| x.is_finite()));
        }
        let hostile = Hostile(value);
        let rwm = Rwm { step_size, target_accept: Some(accept), preconditioner, ..Rwm::default() };
        let run = Sampler::new(&hostile, rwm).chains(chains).warmup(warmup).draws(draws).run();
        if let Ok(draws) = run {
            prop_assert!(draws.values().iter().all(|x| x.is_finite()));
        }
    }
}

//! Runs of power posteriors: the same for any number of threads and after a resume; ladders adapt.

use bnn_mcmc::draws::LadderReport;
use bnn_mcmc::draws::checkpoint::Every;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Ladder, Swaps};
use bnn_mcmc::targets::{BoxSupport, Tempered, WithReference};
use bnn_mcmc::testing::GaussianTarget;
use ndarray::{Array1, Array2};
use shared::refused;

pub fn regression(rows: usize, features: usize) -> (Array2<f64>, Array1<f64>) {
    let mut rng = ChainRng::new(8, 0);
    let x = Array2::from_shape_fn((rows, features), |_| rng.normal());
    let y = Array1::from_shape_fn(rows, |i| 0.8 * x[(i, 0)] - 0.5 + 0.6 * rng.normal());
    (x, y)
}

fn network() -> Posterior<Mlp, Gaussian> {
    let (x, y) = regression(20, 2);
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let mlp = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    Posterior::new(mlp, Gaussian::sampled(), &data, priors).unwrap()
}

#[test]
fn draws_do_not_depend_on_threads() {
    let posterior = network();
    let run = |threads| {
        let algorithm = PowerPosteriors::new(Mala::default());
        let sampler = Sampler::new(&posterior, algorithm).chains(2).warmup(120).draws(50);
        sampler.seed(3).threads(threads).run().unwrap()
    };
    let (one, four) = (run(1), run(4));
    assert_eq!(one.values(), four.values());
    for name in one.stat_names() {
        assert_eq!(one.stat(name).unwrap(), four.stat(name).unwrap(), "{name}");
    }
    // As text: a rung of exact draws has NaN for its acceptance.
    assert_eq!(format!("{:?}", one.info().reports), format!("{:?}", four.info().reports));
}

/// Stopped in warm-up (before and after the ladder has moved) and while sampling.
#[test]
fn a_resumed_population_goes_on_exactly() {
    let posterior = network();
    for stop_after in [10, 70, 130, 190] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let algorithm = || PowerPosteriors::new(Nuts { max_depth: 4, ..Nuts::default() });
        let sampler =
            || Sampler::new(&posterior, algorithm()).chains(2).warmup(160).draws(60).seed(5);
        let whole = sampler().run().unwrap();
        let stop = StopHandle::new();
        let handle = stop.clone();
        let stopped = sampler()
            .checkpoint(&path, Every::Draws(7))
            .stop_handle(&stop)
            .on_progress(move |progress| {
                let warmed =
                    if progress.phase == bnn_mcmc::sampler::Phase::Warmup { 0 } else { 160 };
                if progress.done + warmed >= stop_after {
                    handle.stop();
                }
            })
            .run()
            .unwrap();
        assert!(stopped.info().stopped_early);
        let resumed = sampler().checkpoint(&path, Every::Draws(7)).run().unwrap();
        assert_eq!(whole.values(), resumed.values(), "stopped after {stop_after}");
        for name in whole.stat_names() {
            let (a, b) = (whole.stat(name).unwrap(), resumed.stat(name).unwrap());
            assert!(a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}");
        }
        assert_eq!(format!("{:?}", whole.info().reports), format!("{:?}", resumed.info().reports));
    }
}

#[test]
fn the_ladder_adapts_to_equal_rejection_rates() {
    let (x, y) = regression(40, 4);
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let (linear, noise) = (Linear::new(4, 1).unwrap(), Gaussian::fixed(0.5).unwrap());
    let data = Dataset::regression(x, y).unwrap();
    let posterior = Posterior::new(linear, noise, &data, priors).unwrap();
    let algorithm = PowerPosteriors {
        // Far from equal: nearly all of the barrier lies below 0.5.
        ladder: Ladder::Given(vec![0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ..PowerPosteriors::new(Mala::default())
    };
    let run = |algorithm| {
        let sampler = Sampler::new(&posterior, algorithm).warmup(12_000).draws(20_000).seed(2);
        LadderReport::of(&sampler.run().unwrap()).unwrap()
    };
    let spread = |report: &LadderReport| {
        let all = || report.swap_accept.iter().copied();
        all().fold(0.0, f64::max) - all().fold(1.0, f64::min)
    };
    for report in run(algorithm.clone()) {
        assert!(spread(&report) < 0.1, "{report}");
        assert!((report.betas[0], report.betas[6]) == (0.0, 1.0), "{report}");
        assert!(report.restarts > 15 && report.round_trips > 15, "{report}");
        assert!(report.restarts >= report.round_trips, "{report}");
    }
    for report in run(PowerPosteriors { adapt_ladder: false, ..algorithm }) {
        assert_eq!(report.betas, [0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
        assert!(spread(&report) > 0.4, "{report}");
    }
}

#[test]
fn what_is_accepted_moved() {
    let posterior = network();
    let draws =
        Sampler::new(&posterior, PowerPosteriors::new(Rwm::default())).draws(300).run().unwrap();
    let (values, accepted) = (draws.values(), draws.stat("accepted").unwrap());
    let mut still = 0;
    for chain in 0..draws.n_chains() {
        for t in 1..draws.n_draws() {
            let moved = values.slice(ndarray::s![chain, t, ..])
                != values.slice(ndarray::s![chain, t - 1, ..]);
            assert_eq!(moved, accepted[(chain, t)] == 1.0);
            still += usize::from(!moved);
        }
    }
    assert!(still > 0);
    // Each rung's own statistics are those of its tempered target: likelihoods rise with beta.
    let mean = |name: &str| draws.stat(name).unwrap().mean().unwrap();
    assert!(mean("rung_0.log_likelihood") < mean("rung_5.log_likelihood"));
    assert!(mean("rung_5.log_likelihood") < mean("log_likelihood"));
}

#[test]
fn what_cannot_be_tempered_is_refused_by_name() {
    let (x, y) = regression(6, 1);
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(0.0, 0.0).unwrap());
    let posterior =
        Posterior::new(Linear::new(1, 1).unwrap(), Gaussian::sampled(), &data, priors).unwrap();
    let run = |ladder| {
        let algorithm = PowerPosteriors { ladder, ..PowerPosteriors::new(Mala::default()) };
        let init = Init::Around { centre: vec![0.0; 3], sd: 0.1 };
        Sampler::new(&posterior, algorithm).warmup(200).draws(200).init(init).run()
    };
    // The words name `log_noise_variance`.
    refused!(run(Ladder::default()), Argument { name: "beta_0 of the ladder", value: 0 });
    // Without a rung at 0 nothing is drawn from the prior.
    let draws = run(Ladder::Given(vec![0.5, 0.7, 1.0])).unwrap();
    assert_eq!(LadderReport::of(&draws).unwrap()[0].betas.len(), 3);

    let algorithm = PowerPosteriors {
        swaps: Swaps::Categorical { decay: 0.0 },
        ..PowerPosteriors::new(Mala::default())
    };
    let network = network();
    let run = Sampler::new(&network, algorithm).run();
    refused!(run, Argument { name: "decay of the swaps", value: 0 });
    let plain = Sampler::new(&network, Rwm::default()).draws(10).run().unwrap();
    let value = "without the report of a ladder";
    refused!(LadderReport::of(&plain), Argument { name: "draws", value: value });
}

/// A user's density, with its gradient, relative to a normal reference.
#[test]
fn a_density_of_ones_own_is_tempered_towards_a_reference() {
    let gaussian = GaussianTarget::new(vec![1.0, -1.0], &[0.5, 0.2, 0.2, 0.4]).unwrap();
    let target = WithReference::new(&gaussian, Normal::new(0.0, 3.0).unwrap());
    for beta in [0.0, 0.3, 1.0] {
        let tempered = Tempered::new(&target, beta).unwrap();
        let error = bnn_mcmc::testing::gradient_error(&tempered, &[0.4, 0.7]);
        assert!(error < 1e-8, "{beta}: {error}");
        let error = bnn_mcmc::testing::hessian_error(&tempered, &[0.4, 0.7]);
        assert!(error < 1e-6, "{beta}: {error}");
    }
    let mut ws = target.workspace();
    let density = target.log_density(&[0.4, 0.7], &mut ws);
    let own = gaussian.log_density(&[0.4, 0.7], &mut gaussian.workspace()).total();
    assert!((density.total() - own).abs() < 1e-12);
    let draws =
        Sampler::new(&target, PowerPosteriors::new(Mala::default())).draws(4000).run().unwrap();
    let (mean, covariance) = (draws.mean(), draws.covariance());
    assert!((mean[0] - 1.0).abs() < 0.05 && (mean[1] + 1.0).abs() < 0.05, "{mean:?}");
    assert!((covariance[(0, 1)] - 0.2).abs() < 0.04, "{covariance}");
    // Outside the reference's support there is nothing; where the density is zero, ell is -inf.
    let boxed = WithReference::new(&gaussian, Uniform::new(-1.0, 1.0).unwrap());
    let outside = boxed.log_density(&[2.0, 0.0], &mut boxed.workspace());
    assert!(outside.is_outside_support());
    let (mut lower, mut upper) = ([0.0; 2], [0.0; 2]);
    boxed.bounds(&mut lower, &mut upper).unwrap();
    assert_eq!((lower, upper), ([-1.0; 2], [1.0; 2]));
    let soft = PowerPosteriors::new(Smmala::new(SoftAbs { alpha: 1.0 }));
    let draws = Sampler::new(&target, soft).draws(2000).run().unwrap();
    assert!((draws.mean()[0] - 1.0).abs() < 0.05, "{:?}", draws.mean());
}

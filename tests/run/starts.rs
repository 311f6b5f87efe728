//! Starts of which warm-up could make nothing are left by a short ascent; all others stay.

use bnn_mcmc::prelude::*;
use ndarray::Array2;

/// Noise by row, whose log standard deviation has a wide prior: draws of it give log likelihoods of -1e15.
fn wide() -> Posterior<Mlp, HeteroscedasticGaussian> {
    let x = Array2::from_shape_fn((200, 4), |(i, j)| ((7 * i + 3 * j) % 23) as f64 / 7.0 - 1.5);
    let y = Array2::from_shape_fn((200, 1), |(i, _)| (1.7 * i as f64).sin() + 0.5 * x[[i, 0]]);
    let data = Dataset::regression(x, y).unwrap();
    let network = Mlp::new(&[4, 40, 2], Activation::Tanh).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.5).unwrap());
    Posterior::new(network, HeteroscedasticGaussian, &data, priors).unwrap()
}

fn lowest(draws: &Draws) -> f64 {
    let levels = draws.stat("log_likelihood").unwrap();
    levels.column(levels.ncols() - 1).iter().copied().fold(f64::INFINITY, f64::min)
}

#[test]
fn chains_leave_starts_where_no_step_could_begin() {
    let posterior = wide();
    let (mut ws, mut q, mut rng) =
        (posterior.workspace(), vec![0.0; posterior.dim()], ChainRng::new(1, 0));
    let mut hopeless = 0;
    for _ in 0..20 {
        posterior.draw_prior(&mut rng, &mut q).unwrap();
        hopeless += usize::from(posterior.log_density(&q, &mut ws).likelihood < -1e8);
    }
    assert!(hopeless > 10, "{hopeless} of 20: the problem is too easy");
    let nuts = Sampler::new(&posterior, Nuts::default()).warmup(60).draws(5).seed(2).run().unwrap();
    assert!(
        nuts.info().climbed.iter().any(|gradients| *gradients > 0),
        "{:?}",
        nuts.info().climbed
    );
    assert!(nuts.info().climbed.iter().all(|gradients| *gradients <= 200));
    assert!(lowest(&nuts) > -1e4, "{}", lowest(&nuts));
    let collapsed = Sampler::new(&posterior, Collapsed::new(Mams::default())).warmup(60).draws(5);
    let collapsed = collapsed.seed(2).run().unwrap();
    assert!(collapsed.info().climbed.iter().any(|gradients| *gradients > 0));
    assert!(lowest(&collapsed) > -1e4, "{}", lowest(&collapsed));
    // As part of another kernel, and from points that were given.
    let start = vec![vec![3.0; posterior.dim()]; 2];
    let cycle = Cycle(Nuts::default(), Rwm::default());
    let cycle = Sampler::new(&posterior, cycle).chains(2).init(Init::Points(start));
    let cycle = cycle.warmup(60).draws(5).run().unwrap();
    assert!(lowest(&cycle) > -1e4, "{}", lowest(&cycle));
}

#[test]
fn ordinary_starts_stay_where_they_are() {
    let posterior = wide();
    let start = Init::Around { centre: vec![0.0; posterior.dim()], sd: 0.1 };
    let draws = Sampler::new(&posterior, Nuts::default()).chains(3).init(start).warmup(3).draws(2);
    assert_eq!(draws.run().unwrap().info().climbed, [0, 0, 0]);
    // A kernel without a gradient stays anywhere.
    let draws = Sampler::new(&posterior, Rwm::default()).chains(4).warmup(3).draws(2).seed(2);
    assert_eq!(draws.run().unwrap().info().climbed, [0; 4]);
}

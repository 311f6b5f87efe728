//! Mixtures of chains by weights: what they predict, and what is said of them.

use approx::assert_abs_diff_eq;
use bnn_mcmc::diagnostics::Outcome;
use bnn_mcmc::draws::Approximation;
use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Array3};
use shared::{refused, said};

const NOISE: f64 = 0.5;

/// y = slope x + noise, and three chains of 40 draws around a slope each.
fn three_chains() -> (Dataset, Posterior<Linear, Gaussian>, Draws) {
    let mut rng = ChainRng::new(1, 0);
    let x = Array2::from_shape_simple_fn((30, 1), || rng.normal());
    // More rows of the third slope than of the second, none of the first.
    let slope = |i: usize| if i.is_multiple_of(3) { 0.5 } else { 2.0 };
    let y = Array1::from_shape_fn(30, |i| slope(i) * x[(i, 0)] + NOISE * rng.normal());
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let likelihood = Gaussian::fixed(NOISE).unwrap();
    let model = Linear::new(1, 1).unwrap();
    let posterior = Posterior::new(model, likelihood, &data, priors).unwrap();
    let q = Array3::from_shape_fn((3, 40, 2), |(chain, _, k)| {
        [-3.0, 0.5, 2.0][chain] * f64::from(k == 0) + 0.01 * rng.normal()
    });
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    (data, posterior, draws)
}

/// log N(y | slope x + bias, NOISE^2), by itself.
fn density(q: &[f64], x: f64, y: f64) -> f64 {
    let z = (y - q[0] * x - q[1]) / NOISE;
    (-0.5 * z * z).exp() / (NOISE * (2.0 * std::f64::consts::PI).sqrt())
}

#[test]
fn a_mixture_predicts_with_the_weights() {
    let (data, posterior, draws) = three_chains();
    let weights = [0.0, 0.25, 0.75];
    let mixture = draws.mixture(&weights).unwrap();
    assert_eq!(mixture.values().dim(), (1, 120, 2));
    // 30 of the 40 draws of chain 1, and 90 of those of chain 2: each twice, and ten three times.
    let predicted = posterior.predict(&mixture, &data).unwrap();
    let y = data.response().real().unwrap();
    let slopes: Vec<f64> = (0..120).map(|s| mixture.draw(0, s).unwrap()[0]).collect();
    assert_eq!(slopes.iter().filter(|slope| **slope < 1.0).count(), 30);
    assert!(slopes.iter().all(|slope| *slope > 0.0), "the first chain has the weight 0");
    let mut distinct = slopes.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    assert_eq!(distinct.len(), 70);

    // A share is spread over its whole chain.
    assert_eq!(mixture.draw(0, 29), draws.draw(1, 39));

    // Chains are narrow: the mixture of their densities is nearly that of all their draws.
    let own = |chain: usize, i: usize| {
        let q = |s| draws.draw(chain, s).unwrap();
        (0..40).map(|s| density(q(s), data.x()[(i, 0)], y[(i, 0)])).sum::<f64>() / 40.0
    };
    let expected: f64 = (0..30)
        .map(|i| (0..3).map(|chain| weights[chain] * own(chain, i)).sum::<f64>().ln())
        .sum::<f64>()
        / 30.0;
    let scores = predicted.scores().unwrap();
    let lppd = scores.get("log_predictive_density").unwrap().posterior;
    assert_abs_diff_eq!(lppd, expected, epsilon = 0.01);
    let equal = posterior.predict(&draws, &data).unwrap().scores().unwrap();
    assert!(lppd > equal.get("log_predictive_density").unwrap().posterior + 0.1);
}

#[test]
fn weights_by_stacking_are_those_that_predict_best() {
    let (data, posterior, draws) = three_chains();
    let stacking = posterior.predict(&draws, &data).unwrap().stacking().unwrap();
    assert!(stacking.weights[0] < 0.01 && stacking.weights[2] > stacking.weights[1]);
    let lppd = |weights: &[f64]| {
        let mixture = draws.mixture(weights).unwrap();
        let scores = posterior.predict(&mixture, &data).unwrap().scores().unwrap();
        scores.get("log_predictive_density").unwrap().posterior
    };
    let best = lppd(&stacking.weights);
    assert_abs_diff_eq!(30.0 * best, stacking.elpd, epsilon = 0.3);
    assert!(best > lppd(&[0.2, 0.4, 0.4]) && best > lppd(&[0.0, 0.9, 0.1]));
}

#[test]
fn a_mixture_is_never_said_to_have_converged() {
    let (data, posterior, draws) = three_chains();
    // Even of chains that agree.
    let one = Array3::from_shape_fn((3, 40, 2), |(_, s, k)| draws.values()[(2, s, k)]);
    let same = Draws::new(posterior.layout().clone(), one).unwrap();
    let mixture = same.mixture(&[0.5, 0.25, 0.25]).unwrap();
    let verdict = posterior.predict(&mixture, &data).unwrap().verdict().unwrap();
    assert_eq!(verdict.outcome, Outcome::Mixture { chains: 3 });
    assert!(!verdict.is_converged());
    said!(verdict);
    assert_eq!(mixture.verdict().unwrap().outcome, Outcome::Mixture { chains: 3 });
    let value = "a mixture of chains by weights";
    refused!(posterior.loo(&mixture), Argument { name: "draws", value: value });

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixture.zarr");
    mixture.to_zarr(&path).unwrap();
    let read = Draws::from_zarr(&path).unwrap();
    let weights = vec![0.5, 0.25, 0.25];
    assert_eq!(read.info().approximation, Some(Approximation::Mixture { weights }));
    assert_eq!(read.values(), mixture.values());
}

#[test]
fn bad_weights_are_refused_by_name() {
    let (_, _, draws) = three_chains();
    let of = |weights: &[f64]| draws.mixture(weights);
    refused!(of(&[0.5, 0.5]), Shape { what: "weights of the chains", found: 2, expected: 3 });
    refused!(of(&[0.5, -0.5, 1.0]), Argument { name: "weight of chain 1", value: -0.5 });
    refused!(of(&[f64::NAN, 0.5, 0.5]), Argument { name: "weight of chain 0", value: "NaN" });
    let name = "sum of the weights";
    refused!(of(&[0.5, 0.5, 0.5]), Argument { name: name, value: 1.5, allowed: 1 });
    let one = Draws::new(Layout::new().with("a", &[2]), Array3::zeros((1, 5, 2))).unwrap();
    refused!(one.mixture(&[1.0]), Shape { what: "chains to be mixed", found: 1 });
    let twice = of(&[0.5, 0.5, 0.0]).unwrap().mixture(&[1.0]);
    refused!(twice, Argument { name: "draws", value: "of an approximation already" });
    let none = Draws::new(Layout::new().with("a", &[2]), Array3::zeros((2, 0, 2))).unwrap();
    refused!(none.mixture(&[0.5, 0.5]), Shape { what: "draws of each chain", found: 0 });
}

//! What Monte Carlo error leaves open of predictions.

use bnn_mcmc::diagnostics::{MonteCarloError, Outcome, SETTLED_LOG_DENSITY, SETTLED_MEAN};
use bnn_mcmc::predict::Predictions;
use bnn_mcmc::prelude::*;
use ndarray::{Array2, Array3, array};

use crate::fixtures::{ar1, in_modes};

const SD: f64 = 0.3;
const NOISE: f64 = 0.5;

/// Rows y = x + noise, and a posterior of the slope whose draws are N(1, [`SD`]^2) by assumption.
fn rows() -> Dataset {
    let mut rng = ChainRng::new(1, 0);
    let x = Array2::from_shape_fn((30, 1), |(i, _)| (i as f64 - 14.5) / 8.0);
    let y = x.mapv(|x| x + NOISE * rng.normal());
    Dataset::regression(x, y).unwrap()
}

fn predictions(slopes: &Array2<f64>) -> Predictions {
    let data = rows();
    let model = Linear::new(1, 1).unwrap().without_bias();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(model, Gaussian::fixed(NOISE).unwrap(), &data, priors).unwrap();
    let (chains, draws) = slopes.dim();
    let q = Array3::from_shape_fn((chains, draws, 1), |(c, s, _)| 1.0 + SD * slopes[(c, s)]);
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    posterior.predict(&draws, &data).unwrap()
}

/// The mean log density of the rows if the slope is N(1, SD^2): each is normal.
fn exact() -> f64 {
    let data = rows();
    let (x, y) = (data.x(), data.real().unwrap());
    let of_row = |i: usize| {
        let variance = NOISE * NOISE + (SD * x[[i, 0]]).powi(2);
        let off = y[[i, 0]] - x[[i, 0]];
        -0.5 * ((std::f64::consts::TAU * variance).ln() + off * off / variance)
    };
    (0..30).map(of_row).sum::<f64>() / 30.0
}

/// Of independent and of correlated draws the error is the distance from the exact value, over 200 sets of draws; the mean
/// of a cell as far.
#[test]
fn errors_are_as_large_as_they_say() {
    for phi in [0.0, 0.8] {
        let (mut squares, mut said, mut of_mean, mut said_mean) = (0.0, 0.0, 0.0, 0.0);
        for seed in 0..200 {
            let slopes = ar1(4, 200, phi, seed);
            let predictions = predictions(&slopes);
            let densities = predictions.log_predictive_densities().unwrap();
            squares += (densities.mean().unwrap() - exact()).powi(2);
            let error = predictions.monte_carlo_error().unwrap();
            said += error.log_density.powi(2);
            // The largest errors are of the rows at the ends: 29 of 30 is the one at 95 % or above.
            let x: f64 = 14.5 / 8.0;
            let sd = (NOISE * NOISE + (SD * x).powi(2)).sqrt();
            of_mean += (slopes.mean().unwrap() * SD * x / sd).powi(2);
            said_mean += error.mean.powi(2);
        }
        let [ratio, ratio_of_mean] = [said / squares, said_mean / of_mean];
        assert!((0.7..1.4).contains(&ratio), "{phi}: {ratio}");
        assert!((0.6..1.4).contains(&ratio_of_mean), "{phi}: {ratio_of_mean}");
    }
}

/// Chains that differ leave more open than their length says.
#[test]
fn the_differences_between_chains_count() {
    let together = predictions(&ar1(4, 2000, 0.0, 1)).monte_carlo_error().unwrap();
    let apart = predictions(&(0.3 * in_modes(2000, 0.0, 1))).monte_carlo_error().unwrap();
    assert!(together.is_settled(), "{together:?}");
    assert!(apart.log_density > 10.0 * together.log_density, "{apart:?}");
    assert!(apart.mean > 5.0 * together.mean && !apart.is_settled(), "{apart:?}");
}

#[test]
fn a_row_of_weight_two_is_two_rows_and_constants_have_no_error() {
    let slopes = ar1(2, 100, 0.0, 3);
    let data = rows();
    let error = |data: &Dataset| {
        let model = Linear::new(1, 1).unwrap().without_bias();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let noise = Gaussian::fixed(NOISE).unwrap();
        let posterior = Posterior::new(model, noise, &rows(), priors).unwrap();
        let q = Array3::from_shape_fn((2, 100, 1), |(c, s, _)| 1.0 + SD * slopes[(c, s)]);
        let draws = Draws::new(posterior.layout().clone(), q).unwrap();
        posterior.predict(&draws, data).unwrap().monte_carlo_error().unwrap().log_density
    };
    let twice = data.select(&[0, 0, 5]).unwrap();
    let weighted = data.select(&[0, 5]).unwrap().with_weights([2.0, 1.0]).unwrap();
    assert!((error(&twice) - error(&weighted)).abs() < 1e-12);
    let still = predictions(&Array2::zeros((2, 100))).monte_carlo_error().unwrap();
    assert_eq!(still, MonteCarloError { log_density: 0.0, mean: 0.0 });
    for (log_density, mean, is_settled) in
        [(0.002, 0.05, true), (0.0021, 0.01, false), (0.001, 0.051, false), (f64::NAN, 0.0, false)]
    {
        assert_eq!(MonteCarloError { log_density, mean }.is_settled(), is_settled);
    }
}

/// Probabilities: two classes, of which the log odds vary.
#[test]
fn classes_have_the_standard_deviation_of_an_indicator() {
    let names = ["a", "b"].map(String::from);
    let data = Dataset::classification(array![[1.0]], vec![1], names).unwrap();
    let model = Linear::new(1, 1).unwrap().without_bias();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(model, Bernoulli, &data, priors).unwrap();
    let odds = ar1(4, 2500, 0.0, 5);
    let q = odds.clone().insert_axis(ndarray::Axis(2));
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    let error = posterior.predict(&draws, &data).unwrap().monte_carlo_error().unwrap();
    let p = odds.mapv(|z| 1.0 / (1.0 + (-z).exp()));
    let (mean, sd) = (p.mean().unwrap(), p.std(1.0));
    let expected = sd / 100.0 / (mean * (1.0 - mean)).sqrt();
    assert!((error.mean / expected - 1.0).abs() < 0.1, "{error:?} {expected}");
}

#[test]
fn a_verdict_has_three_words() {
    let said = |slopes: &Array2<f64>| predictions(slopes).verdict().unwrap();
    let settled = said(&(0.1 * ar1(4, 60, 0.0, 1)));
    let error = settled.monte_carlo.unwrap();
    assert!(error.log_density <= SETTLED_LOG_DENSITY && error.mean <= SETTLED_MEAN, "{error:?}");
    assert!(matches!(settled.outcome, Outcome::Settled { .. }), "{settled}");
    assert!(settled.is_settled() && !settled.is_converged());
    let text = settled.to_string();
    assert!(text.starts_with("settled: a longer run would predict the same"), "{text}");
    assert!(text.contains("run until it has converged (`run_until`)"), "{text}");

    let converged = said(&(0.1 * ar1(4, 1000, 0.0, 1)));
    assert!(converged.is_converged() && converged.is_settled(), "{converged}");
    let open = said(&ar1(4, 60, 0.97, 1));
    assert!(!open.is_settled(), "{open}");
    assert!(open.to_string().contains("predictions have not settled (Monte Carlo error: 0.0"));
    // One chain cannot be compared with another.
    let one = said(&ar1(1, 500, 0.0, 1));
    assert!(matches!(one.outcome, Outcome::OneChain { .. }) && !one.is_settled(), "{one}");
}

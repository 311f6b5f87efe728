//! The wide limit against what it is the limit of: the covariance of random networks, and plain elimination.

use bnn_mcmc::approximate::WideLimit;
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::gradient_error;
use ndarray::{Array1, Array2, Axis};
use shared::refused;
use statrs::function::erf::erf;

use crate::fixtures::inverse;

const SCALES: [f64; 6] = [0.3, -0.7, 0.2, 0.4, -0.5, -1.1];

fn table(rows: usize) -> (Array2<f64>, Array1<f64>) {
    let x = Array2::from_shape_fn((rows, 2), |(i, j)| ((5 * i + 3 * j) % 17) as f64 / 6.0 - 1.4);
    let y = x.rows().into_iter().map(|x| (2.0 * x[0]).sin() + 0.3 * x[1]).collect();
    (x, y)
}

/// K by the formula of the documentation, entry by entry.
fn covariance(x: &Array2<f64>) -> Array2<f64> {
    let [w0, w1, b, o, v, _] = SCALES.map(f64::exp);
    let n = x.nrows();
    let c = std::f64::consts::FRAC_PI_2;
    let s = |i: usize, j: usize| {
        b * b + w0 * w0 * x[[i, 0]] * x[[j, 0]] + w1 * w1 * x[[i, 1]] * x[[j, 1]]
    };
    Array2::from_shape_fn((n, n), |(i, j)| {
        let t = c * s(i, j) / ((1.0 + c * s(i, i)) * (1.0 + c * s(j, j))).sqrt();
        let linear = v * v * x.row(i).dot(&x.row(j)) / 2.0;
        o * o * t.asin() / c + linear + 1.0
    })
}

#[test]
fn the_covariance_is_that_of_random_networks() {
    let [w0, w1, b, o, v, _] = SCALES.map(f64::exp);
    let (x, _) = table(6);
    let (mut rng, n) = (ChainRng::new(4, 0), 400_000);
    let (mut sums, mut squares) = (Array2::<f64>::zeros((6, 6)), Array2::<f64>::zeros((6, 6)));
    for _ in 0..n {
        let mut z = || rng.normal();
        let (w, c) = ([w0 * z(), w1 * z()], b * z());
        let (out, linear, bias) = (o * z(), [z(), z()].map(|z| v * z / 2f64.sqrt()), z());
        let unit = |x: f64| erf(0.5 * std::f64::consts::PI.sqrt() * x);
        let f: Array1<f64> = x
            .rows()
            .into_iter()
            .map(|x| {
                out * unit(w[0] * x[0] + w[1] * x[1] + c)
                    + linear[0] * x[0]
                    + linear[1] * x[1]
                    + bias
            })
            .collect();
        let column = f.view().insert_axis(Axis(1));
        let product = column.dot(&column.t());
        squares += &product.mapv(|p| p * p);
        sums += &product;
    }
    let expected = covariance(&x);
    for ((at, sum), square) in sums.indexed_iter().zip(&squares) {
        let (mean, square) = (sum / n as f64, square / n as f64);
        let error = ((square - mean * mean) / n as f64).sqrt();
        assert!((mean - expected[at]).abs() < 4.5 * error, "{at:?}: {mean} {}", expected[at]);
    }
}

#[test]
fn evidence_and_predictions_are_those_of_a_normal_distribution() {
    let (x, y) = table(20);
    let limit = WideLimit::new(&Dataset::regression(x.clone(), y.clone()).unwrap()).unwrap();
    let noise = (2.0 * SCALES[5]).exp();
    let (new, _) = table(23);
    let all = covariance(&new);
    let a = &covariance(&x) + &(noise * Array2::eye(20));
    let (precision, log_det) = inverse(&a);
    let alpha = precision.dot(&y);
    let expected = -0.5 * (20.0 * (2.0 * std::f64::consts::PI).ln() + log_det + y.dot(&alpha));
    let found = limit.log_density(&SCALES, &mut limit.workspace());
    approx::assert_relative_eq!(found.likelihood, expected, max_relative = 1e-12);
    let squares: f64 = SCALES[..5].iter().map(|x| x * x).sum::<f64>() + (SCALES[5] + 2.0).powi(2);
    let prior = -0.5 * squares - 3.0 * (2.0 * std::f64::consts::PI).ln();
    approx::assert_relative_eq!(found.prior, prior, max_relative = 1e-12);
    let (mean, sd) = limit.predict(&SCALES, new.view()).unwrap();
    for i in 0..23 {
        let k = all.row(i).slice(ndarray::s![..20]).to_owned();
        approx::assert_relative_eq!(mean[i], k.dot(&alpha), max_relative = 1e-10);
        let variance = all[[i, i]] + noise - k.dot(&precision.dot(&k));
        approx::assert_relative_eq!(sd[i], variance.sqrt(), max_relative = 1e-10);
    }
}

#[test]
fn gradients_match_finite_differences() {
    let (x, y) = table(30);
    let limit = WideLimit::new(&Dataset::regression(x, y).unwrap()).unwrap();
    for q in [SCALES, [-1.0, 1.2, 0.0, 0.5, 0.1, -0.4], limit.start().try_into().unwrap()] {
        let error = gradient_error(&limit, &q);
        assert!(error < 1e-8, "{error}");
    }
}

/// The marginal of a wide network given its first layer, averaged over the layer, is the evidence of the limit.
#[test]
fn wide_networks_have_about_the_evidence_of_the_limit() {
    let (x, y) = table(8);
    let data = Dataset::regression(x, y).unwrap();
    let limit = WideLimit::new(&data).unwrap();
    let units = 400;
    let network = bnn_mcmc::model::Skip::new(Mlp::new(&[2, units, 1], Activation::Tanh).unwrap());
    let priors = Priors::by_fan_in(network.as_ref().unwrap());
    let noise = Gaussian::fixed((-2.0f64).exp()).unwrap();
    let posterior = Posterior::new(network.unwrap(), noise, &data, priors).unwrap();
    let marginal = posterior.collapsed().unwrap();
    let (mut ws, mut rng) = (marginal.workspace(), ChainRng::new(5, 0));
    let mut q = vec![0.0; posterior.dim()];
    let mut v = vec![0.0; marginal.dim()];
    let evidence: f64 = (0..400)
        .map(|_| {
            posterior.draw_prior(&mut rng, &mut q).unwrap();
            marginal.gather(&q, &mut v);
            marginal.log_density(&v, &mut ws).likelihood.exp()
        })
        .sum();
    let scales = [0.0, 0.0, 0.0, 0.0, 0.0, -1.0];
    let expected = limit.log_density(&scales, &mut limit.workspace()).likelihood;
    // tanh is not erf, and 400 units are not all.
    assert!(((evidence / 400.0).ln() - expected).abs() < 0.15, "{} {expected}", evidence.ln());
}

#[test]
fn what_the_limit_cannot_be_made_for_is_refused() {
    let (x, _) = table(4);
    let classes = Dataset::classification(x.clone(), vec![0, 1, 0, 1], ["a", "b"]).unwrap();
    refused!(WideLimit::new(&classes), Shape { what: "response for the wide limit" });
    let two = Dataset::regression(x.clone(), Array2::zeros((4, 2))).unwrap();
    refused!(WideLimit::new(&two), Shape { found: 2 });
    let one = WideLimit::new(&Dataset::regression(x.clone(), Array1::zeros(4)).unwrap()).unwrap();
    refused!(one.predict(&[0.0; 5], x.view()), Shape { found: 5 });
    refused!(one.predict(&[0.0; 6], Array2::zeros((1, 3)).view()), Shape { found: 3 });
    refused!(one.predict(&[f64::NAN; 6], x.view()), Argument {});
}

//! The Laplace approximation and linearised models, against exact posteriors and numbers from
//! elsewhere (tests/golden/laplace.py).

use std::process::Command;

use bnn_mcmc::approximate::{LaplaceApproximation, prior_by_evidence};
use bnn_mcmc::draws::Approximation;
use bnn_mcmc::model::{Linearised, NonCentred, SecondOrderModel, Skip};
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Curvature, FisherTarget, HessTarget};
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance, gradient_error, hessian_error};
use ndarray::{Array1, Array2, Array3, Axis, s};
use serde_json::Value;
use shared::{failed, refused, said};

use super::fixtures::correlated_features;

const BOTH: [Curvature; 2] = [Curvature::Observed, Curvature::Expected];

fn golden(model: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../golden/laplace.json")).unwrap();
    all[model].clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Array2<f64> {
    let rows: Vec<_> = value.as_array().unwrap().iter().map(numbers).collect();
    let shape = (rows.len(), rows[0].len());
    Array2::from_shape_vec(shape, rows.concat()).unwrap()
}

fn classes(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

fn normal(sd: f64) -> Normal {
    Normal::new(0.0, sd).unwrap()
}

fn random(n: usize, seed: u64) -> Vec<f64> {
    let mut q = vec![0.0; n];
    ChainRng::new(seed, 3).fill_normal(&mut q);
    q
}

#[track_caller]
fn assert_close(found: f64, expected: f64, relative: f64) {
    let error = (found - expected).abs() / (1.0 + expected.abs());
    assert!(error <= relative, "{found} is not {expected}: off by {error}");
}

#[track_caller]
fn assert_all_close<'a>(
    found: impl IntoIterator<Item = &'a f64>,
    expected: impl IntoIterator<Item = &'a f64>,
    relative: f64,
) {
    let (found, expected): (Vec<_>, Vec<_>) =
        (found.into_iter().collect(), expected.into_iter().collect());
    assert_eq!(found.len(), expected.len());
    found.into_iter().zip(expected).for_each(|(f, e)| assert_close(*f, *e, relative));
}

fn regression_of<M: Model>(model: M, priors: Priors) -> Posterior<M, Gaussian> {
    let (x, y) = correlated_features();
    let data = Dataset::regression(x, y).unwrap();
    Posterior::new(model, Gaussian::fixed(0.5).unwrap(), &data, priors).unwrap()
}

fn exact_regression(prior_sd: f64) -> ConjugateRegression {
    let (x, y) = correlated_features();
    ConjugateRegression::new(x.view(), y.view(), prior_sd, NoiseVariance::Fixed(0.5)).unwrap()
}

/// Mean, covariance and evidence, wherever it is made: the log density is quadratic.
#[test]
fn linear_regression_with_known_noise_is_exact() {
    let exact = exact_regression(1.5);
    let linear = regression_of(Linear::new(3, 1).unwrap(), Priors::all(normal(1.5)));
    let layer = Mlp::new(&[3, 1], Activation::Tanh).unwrap();
    let layer = regression_of(layer, Priors::all(normal(1.5)));
    for q in [exact.mean(), vec![3.0, -2.0, 0.5, 7.0]] {
        let mut fits = vec![LaplaceApproximation::kronecker(&layer, &q).unwrap()];
        for curvature in BOTH {
            fits.push(LaplaceApproximation::full(&linear, &q, curvature).unwrap());
            fits.push(LaplaceApproximation::last_layer(&linear, &q, curvature).unwrap());
        }
        for fit in fits {
            assert_eq!(fit.mean(), q);
            assert_all_close(fit.newton_point(), &exact.mean(), 1e-11);
            let covariance = fit.covariance().unwrap();
            assert_all_close(&covariance, &exact.covariance(), 1e-11);
            let sds: Vec<f64> = exact.covariance().diag().iter().map(|v| v.sqrt()).collect();
            assert_all_close(&fit.sds(), &sds, 1e-11);
            let evidence = fit.log_evidence().unwrap() + 0.5 * fit.newton_decrement();
            assert_close(evidence, exact.log_evidence().unwrap(), 1e-10);
            let is_mode = q == exact.mean();
            assert_eq!(fit.newton_decrement() < 1e-20, is_mode, "{}", fit.newton_decrement());
        }
    }
}

#[test]
fn logistic_regression_is_that_of_mpmath() {
    let golden = golden("logistic");
    let data = Dataset::classification(matrix(&golden["x"]), classes(&golden["y"]), ["no", "yes"])
        .unwrap();
    let sds = numbers(&golden["sds"]);
    let priors = Priors::new().with("w", normal(sds[0])).with("b", normal(sds[2]));
    let posterior = Posterior::new(Linear::new(2, 1).unwrap(), Bernoulli, &data, priors).unwrap();
    let covariance = matrix(&golden["covariance"]);
    let mode = numbers(&golden["mode"]);
    for curvature in BOTH {
        let fit = LaplaceApproximation::full(&posterior, &mode, curvature).unwrap();
        assert!(fit.newton_decrement() < 1e-25);
        assert_all_close(&fit.covariance().unwrap(), &covariance, 1e-12);
        assert_close(fit.log_evidence().unwrap(), golden["log_evidence"].as_f64().unwrap(), 1e-12);

        // H_ii = (its cofactor in the inverse) / det: of the Schur complement's other two.
        let fit = LaplaceApproximation::diagonal(&posterior, &mode, curvature).unwrap();
        let minor = |i: usize| {
            let [j, k] = [[1, 2], [0, 2], [0, 1]][i];
            covariance[(j, j)] * covariance[(k, k)] - covariance[(j, k)].powi(2)
        };
        let det = {
            let c = |i, j| covariance[(i, j)];
            c(0, 0) * minor(0) - c(0, 1) * (c(1, 0) * c(2, 2) - c(1, 2) * c(2, 0))
                + c(0, 2) * (c(1, 0) * c(2, 1) - c(1, 1) * c(2, 0))
        };
        let variances: Vec<f64> = (0..3).map(|i| det / minor(i)).collect();
        let sds: Vec<f64> = variances.iter().map(|v| v.sqrt()).collect();
        assert_all_close(&fit.sds(), &sds, 1e-12);
        assert_eq!(fit.covariance().unwrap()[(0, 1)], 0.0);
        let full = LaplaceApproximation::full(&posterior, &mode, curvature).unwrap();
        // -1/2 log det of diag(H) less that of H.
        let product: f64 = variances.iter().product();
        let gap = full.log_evidence().unwrap() - fit.log_evidence().unwrap();
        assert_close(gap, 0.5 * (det / product).ln(), 1e-12);
    }
}

fn golden_network() -> (Posterior<Mlp, Categorical>, Vec<f64>, Value) {
    let golden = golden("kronecker");
    let data =
        Dataset::classification(matrix(&golden["x"]), classes(&golden["y"]), ["a", "b", "c"]);
    let network = Mlp::new(&[2, 4, 3], Activation::Tanh).unwrap();
    let mut priors = Priors::new();
    for block in ["w0", "b0", "w1", "b1"] {
        priors = priors.with(block, normal(golden["sds"][block].as_f64().unwrap()));
    }
    let posterior = Posterior::new(network, Categorical, &data.unwrap(), priors).unwrap();
    let q = numbers(&golden["q"]);
    (posterior, q, golden)
}

#[test]
fn kronecker_factors_are_those_of_numpy() {
    let (posterior, q, golden) = golden_network();
    let fit = LaplaceApproximation::kronecker(&posterior, &q).unwrap();
    let covariance = matrix(&golden["covariance"]);
    assert_all_close(&fit.covariance().unwrap(), &covariance, 1e-12);
    let sds: Vec<f64> = covariance.diag().iter().map(|v| v.sqrt()).collect();
    assert_all_close(&fit.sds(), &sds, 1e-12);
    assert_close(fit.log_evidence().unwrap(), golden["log_evidence"].as_f64().unwrap(), 1e-12);
}

/// One row, and equal rows, of one layer: the mean of the product is the product of the means.
///
/// In portable mode, in a process of its own: a sum of 300 equal rows is rounded differently by each kind of
/// processor, by up to 1.2e-13 where there is AVX2 alone.
#[test]
fn kronecker_is_full_for_one_layer_and_one_row() {
    if !bnn_mcmc::portable::is_on() {
        let name = "approximate_laplace::kronecker_is_full_for_one_layer_and_one_row";
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args([name, "--exact"]).env("BNN_MCMC_PORTABLE", "1").output().unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        let passed = said.split_once(" passed").map(|(before, _)| before.ends_with(" 1"));
        assert!(child.status.success() && passed == Some(true), "{said}");
        return;
    }
    let of = |x: Array2<f64>| {
        let labels = (0..x.nrows()).map(|i| i % 3).collect();
        let data = Dataset::classification(x, labels, ["a", "b", "c"]).unwrap();
        let priors = Priors::new().with("w0", normal(1.5)).with("b0", normal(0.6));
        let network = Mlp::new(&[2, 3], Activation::Tanh).unwrap();
        let network = network.output_activation(Activation::Tanh);
        let posterior = Posterior::new(network, Categorical, &data, priors).unwrap();
        let q = random(9, 1);
        let full = LaplaceApproximation::full(&posterior, &q, Curvature::Expected).unwrap();
        let kronecker = LaplaceApproximation::kronecker(&posterior, &q).unwrap();
        let evidences = [&full, &kronecker].map(|fit| fit.log_evidence().unwrap());
        let gap = full.covariance().unwrap() - kronecker.covariance().unwrap();
        (gap.iter().fold(0.0, |m: f64, g| m.max(g.abs())), evidences)
    };
    for rows in [1, 5, 300] {
        let x = Array2::from_shape_fn((rows, 2), |(_, j)| [0.7, -1.2][j]);
        let (gap, [full, kronecker]) = of(x);
        assert!(gap < 1e-13, "{rows}: {gap}");
        assert_close(kronecker, full, 1e-13);
    }
    let (gap, _) = of(ndarray::array![[0.7, -1.2], [-2.0, 0.3]]);
    assert!(gap > 1e-3, "{gap}");
}

/// The noise variance and the variance of a hierarchical prior are as in the full Gauss-Newton
/// matrix, where they are independent of the weights.
#[test]
fn parameters_that_are_no_weights_have_their_own_information() {
    let (x, y) = correlated_features();
    let priors = Priors::all(normal(1.0))
        .hierarchical("w0", "log_variance", LogInverseGamma::new(2.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(3.0, 0.5).unwrap());
    let network = Mlp::new(&[3, 4, 1], Activation::Tanh).unwrap();
    let data = Dataset::regression(x, y).unwrap();
    let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
    let q = random(23, 2);
    let kronecker = LaplaceApproximation::kronecker(&posterior, &q).unwrap();
    let full = LaplaceApproximation::full(&posterior, &q, Curvature::Expected).unwrap();
    assert_all_close(&kronecker.sds()[21..], &full.sds()[21..], 1e-13);
    // 40 / 2 responses and the shape of the prior; 12 / 2 weights and the shape.
    let expected = [1.0 / 23.0f64.sqrt(), 1.0 / 8.0f64.sqrt()];
    assert_all_close(&kronecker.sds()[21..], &expected, 1e-13);
}

#[test]
fn draws_have_the_stated_covariance() {
    let (posterior, q, _) = golden_network();
    let n = 20_000;
    for (fit, method) in [
        (LaplaceApproximation::kronecker(&posterior, &q).unwrap(), "Kronecker"),
        (LaplaceApproximation::full(&posterior, &q, Curvature::Expected).unwrap(), "full"),
        (LaplaceApproximation::diagonal(&posterior, &q, Curvature::Expected).unwrap(), "diagonal"),
        (
            LaplaceApproximation::last_layer(&posterior, &q, Curvature::Observed).unwrap(),
            "last layer",
        ),
    ] {
        let draws = fit.draws(n, 4).unwrap();
        let values = draws.values().index_axis(Axis(0), 0).to_owned();
        let centred = values - &Array1::from(q.clone());
        let expected = fit.covariance().unwrap();
        let found = centred.t().dot(&centred) / n as f64;
        for ((i, j), expected_ij) in expected.indexed_iter() {
            let variance = expected[(i, i)] * expected[(j, j)] + expected_ij * expected_ij;
            let error = (found[(i, j)] - expected_ij).abs();
            assert!(error <= 5.0 * (variance / n as f64).sqrt(), "{method} ({i}, {j}): {error}");
        }
        let means = centred.mean_axis(Axis(0)).unwrap();
        for (mean, sd) in means.iter().zip(fit.sds()) {
            assert!(mean.abs() <= 5.0 * sd / (n as f64).sqrt(), "{method}: {mean}");
        }
        let Some(Approximation::Fitted { method: said }) = &draws.info().approximation else {
            panic!("not said to be an approximation");
        };
        // Without the Newton decrement of a point that is no mode.
        said!(said.split(" (").next().unwrap_or_default());
        assert_eq!(fit.draws(3, 4).unwrap().values(), &draws.values().slice(s![.., ..3, ..]));
    }
}

/// Given the hidden layer, a network with normal noise is a linear regression on its units.
#[test]
fn the_last_layer_is_the_exact_conditional_distribution() {
    let network = Mlp::new(&[3, 4, 1], Activation::Tanh).unwrap();
    let posterior = regression_of(network, Priors::all(normal(1.5)));
    let (x, y) = correlated_features();
    let q = random(21, 5);
    let (w, b) = (Array2::from_shape_vec((4, 3), q[..12].to_vec()).unwrap(), &q[12..16]);
    let hidden = (x.dot(&w.t()) + &Array1::from(b.to_vec())).mapv(f64::tanh);
    let exact =
        ConjugateRegression::new(hidden.view(), y.view(), 1.5, NoiseVariance::Fixed(0.5)).unwrap();
    for curvature in BOTH {
        let fit = LaplaceApproximation::last_layer(&posterior, &q, curvature).unwrap();
        assert_eq!(fit.newton_point()[..16], q[..16]);
        assert_all_close(&fit.newton_point()[16..], &exact.mean(), 1e-10);
        let covariance = fit.covariance().unwrap();
        assert_all_close(covariance.slice(s![16.., 16..]), &exact.covariance(), 1e-10);
        assert!(covariance.slice(s![..16, ..]).iter().all(|c| *c == 0.0));
        let name = "Laplace approximation";
        refused!(fit.log_evidence(), Argument { name: name, value: "of the last layer" });
    }
}

/// In one pass over the rows, and with skip-layer connections by products, of which there are more than are computed at a time.
#[test]
fn the_last_layer_is_a_part_of_the_whole_matrix() {
    let network = || Mlp::new(&[2, 30, 3], Activation::Tanh).unwrap();
    last_layer_from(network(), 90);
    last_layer_from(NonCentred::new(network()), 90);
    last_layer_from(Skip::new(network()).unwrap(), 90);
    last_layer_from(network().output_activation(Activation::Tanh), 90);
    last_layer_from(Linear::new(2, 3).unwrap(), 0);
    last_layer_from(Linear::new(2, 3).unwrap().without_bias(), 0);
}

/// The weights of the last layer are the coordinates from `first` on.
fn last_layer_from<M: SecondOrderModel>(model: M, first: usize) {
    let (golden, _, _) = golden_network();
    let data = Dataset::classification(
        Array2::from_shape_fn((9, 2), |(i, j)| ((3 * i + 5 * j) as f64).sin()),
        (0..9).map(|i| i % 3).collect(),
        ["a", "b", "c"],
    );
    let data = data
        .unwrap()
        .with_weights((0..9).map(|i| 0.5 + 0.25 * i as f64).collect::<Vec<_>>())
        .unwrap();
    let priors = Priors::all(StudentT::new(4.0, 0.0, 0.5).unwrap());
    let posterior = Posterior::new(model, *golden.likelihood(), &data, priors).unwrap();
    let d = posterior.dim();
    let q: Vec<f64> = random(d, 6).iter().map(|q| 0.1 * q).collect();
    for curvature in BOTH {
        let mut h = vec![0.0; d * d];
        let mut ws = posterior.workspace();
        match curvature {
            Curvature::Observed => posterior.neg_hessian_at(1.0, &q, &mut h, &mut ws),
            Curvature::Expected => posterior.fisher_at(1.0, &q, &mut h, &mut ws),
        }
        let h = Array2::from_shape_vec((d, d), h).unwrap();
        let fit = LaplaceApproximation::last_layer(&posterior, &q, curvature).unwrap();
        let covariance = fit.covariance().unwrap();
        let product = covariance.slice(s![first.., first..]).dot(&h.slice(s![first.., first..]));
        assert_all_close(&product, &Array2::<f64>::eye(d - first), 1e-11);
    }
}

fn outputs<M: Model>(
    posterior: &Posterior<M, Gaussian>,
    q: &[f64],
    x: &Array2<f64>,
) -> Array2<f64> {
    let q = Array3::from_shape_vec((1, 1, q.len()), q.to_vec()).unwrap();
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    posterior.predict_mean(&draws, x.view()).unwrap().slice(s![0, 0, .., ..]).to_owned()
}

/// d f / d q at q `[row, coordinate]` by central differences of fourth order, of one output.
fn jacobian<M: Model>(
    posterior: &Posterior<M, Gaussian>,
    q: &[f64],
    x: &Array2<f64>,
) -> Array2<f64> {
    let (h, mut jacobian) = (1e-3, Array2::zeros((x.nrows(), q.len())));
    for (j, mut column) in jacobian.columns_mut().into_iter().enumerate() {
        let [up, down, far_up, far_down] = [h, -h, 2.0 * h, -2.0 * h].map(|step| {
            let mut q = q.to_vec();
            q[j] += step;
            outputs(posterior, &q, x)
        });
        let derivative = (8.0 * (up - down) - (far_up - far_down)) / (12.0 * h);
        column.assign(&derivative.column(0));
    }
    jacobian
}

#[test]
fn a_linearised_network_is_the_expansion_of_its_outputs() {
    let network = Mlp::new(&[3, 5, 4, 1], Activation::Tanh).unwrap();
    let posterior = regression_of(network, Priors::all(normal(1.0)));
    let (x, _) = correlated_features();
    let (q, other) = (random(posterior.dim(), 7), random(posterior.dim(), 8));
    let linearised = posterior.linearised(&q).unwrap();
    let f = outputs(&posterior, &q, &x);
    assert_all_close(&outputs(&linearised, &q, &x), &f, 1e-14);
    let v = Array1::from(other.clone()) - Array1::from(q.clone());
    let expansion = &f.column(0) + &jacobian(&posterior, &q, &x).dot(&v);
    assert_all_close(&outputs(&linearised, &other, &x), &expansion, 1e-9);
    let bent = outputs(&posterior, &other, &x);
    assert!((&bent.column(0) - &expansion).iter().any(|gap| gap.abs() > 0.1));

    // A target like any other: derivatives, and the Hessian of a quadratic.
    assert!(gradient_error(&linearised, &other) < 1e-8);
    assert!(hessian_error(&linearised, &other) < 1e-8);
    let d = posterior.dim();
    let (mut h, mut fisher) = (vec![0.0; d * d], vec![0.0; d * d]);
    linearised.neg_hessian_at(1.0, &other, &mut h, &mut linearised.workspace());
    posterior.fisher_at(1.0, &q, &mut fisher, &mut posterior.workspace());
    assert_all_close(&h, &fisher, 1e-12);
}

/// Exact for linear models, also where several tiles and outputs are predicted by draws.
#[test]
fn linearised_predictions_of_a_linear_model_are_its_own() {
    let x = Array2::from_shape_fn((500, 3), |(i, j)| ((7 * i + 3 * j) as f64).sin());
    let y = Array2::from_shape_fn((500, 2), |(i, j)| ((5 * i + j) as f64).cos());
    let data = Dataset::regression(x, y).unwrap();
    let noise = Gaussian::fixed(0.5).unwrap();
    let linear = Linear::new(3, 2).unwrap();
    let posterior = Posterior::new(linear, noise, &data, Priors::all(normal(2.0))).unwrap();
    let q = random(8, 9);
    let fit = LaplaceApproximation::full(&posterior, &q, Curvature::Observed).unwrap();
    let draws = fit.draws(50, 1).unwrap();
    let own = posterior.predict(&draws, &data).unwrap();
    let linearised = posterior.linearised(&q).unwrap().predict(&draws, &data).unwrap();
    assert_all_close(linearised.mean(), own.mean(), 1e-13);
    assert_all_close(linearised.log_density().unwrap(), own.log_density().unwrap(), 1e-12);
}

/// The Gauss-Newton Laplace approximation of a network is the exact posterior of the regression on
/// the Jacobian.
#[test]
fn the_linearised_predictive_is_that_of_the_exact_linear_model() {
    let network = Mlp::new(&[3, 4, 1], Activation::Tanh).unwrap();
    let posterior = regression_of(network, Priors::all(normal(1.5)));
    let (x, y) = correlated_features();
    let (d, q) = (posterior.dim(), random(21, 10));
    let jacobian_at_q = jacobian(&posterior, &q, &x);
    // The last column is that of the output's bias: ones.
    let features = jacobian_at_q.slice(s![.., ..d - 1]);
    let response =
        y - outputs(&posterior, &q, &x).column(0) + jacobian_at_q.dot(&Array1::from(q.clone()));
    let exact = ConjugateRegression::new(features, response.view(), 1.5, NoiseVariance::Fixed(0.5))
        .unwrap();

    let fit = LaplaceApproximation::full(&posterior, &q, Curvature::Expected).unwrap();
    assert_all_close(&fit.covariance().unwrap(), &exact.covariance(), 1e-7);
    assert_all_close(fit.newton_point(), &exact.mean(), 1e-7);
    let linearised = posterior.linearised(&q).unwrap();
    for at in [fit.newton_point().to_vec(), random(21, 11)] {
        let fit = LaplaceApproximation::full(&linearised, &at, Curvature::Observed).unwrap();
        assert_all_close(fit.newton_point(), &exact.mean(), 1e-7);
        let evidence = fit.log_evidence().unwrap() + 0.5 * fit.newton_decrement();
        assert_close(evidence, exact.log_evidence().unwrap(), 1e-7);
    }

    // Mean and variance of what draws predict for new rows: J m and J Sigma J^T.
    let x_new = Array2::from_shape_fn((6, 3), |(i, j)| ((2 * i + 3 * j) as f64).cos());
    let n = 20_000;
    let at_mode =
        LaplaceApproximation::full(&linearised, fit.newton_point(), Curvature::Expected).unwrap();
    let draws = at_mode.draws(n, 2).unwrap();
    let predicted = linearised.predict_mean(&draws, x_new.view()).unwrap();
    let predicted = predicted.slice(s![0, .., .., 0]);
    let new = jacobian(&posterior, &q, &x_new);
    let shift = Array1::from(exact.mean()) - Array1::from(q.clone());
    let mean = &outputs(&posterior, &q, &x_new).column(0) + &new.dot(&shift);
    for (i, row) in new.rows().into_iter().enumerate() {
        let variance = row.dot(&exact.covariance().dot(&row));
        let found = predicted.column(i);
        let error = (found.mean().unwrap() - mean[i]).abs();
        assert!(error < 5.0 * (variance / n as f64).sqrt(), "row {i}: {error}");
        let ratio = found.var(1.0) / variance;
        assert!((ratio - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt(), "row {i}: {ratio}");
    }
}

#[test]
fn draws_of_a_linearised_network_are_told_from_those_of_the_network() {
    let of = |units: usize| {
        let network = Mlp::new(&[3, units, 1], Activation::Tanh).unwrap();
        regression_of(network, Priors::all(normal(1.0)))
    };
    let (posterior, q) = (of(2), random(11, 12));
    let linearised = posterior.linearised(&q).unwrap();
    let (x, _) = correlated_features();
    let own = LaplaceApproximation::full(&posterior, &q, Curvature::Expected)
        .unwrap()
        .draws(2, 1)
        .unwrap();
    assert!(linearised.predict_mean(&own, x.view()).is_ok());
    let lin = LaplaceApproximation::full(&linearised, &q, Curvature::Expected)
        .unwrap()
        .draws(2, 1)
        .unwrap();
    assert!(linearised.predict_mean(&lin, x.view()).is_ok());
    let mean = posterior.predict_mean(&lin, x.view());
    let error = failed!(mean, Shape { what: "model of the draws", expected: "Mlp 3-2-1, tanh" });
    let Error::Shape { found, .. } = &error else { unreachable!() };
    assert!(found.starts_with("Mlp 3-2-1, tanh, linearised at "), "{error}");
    let elsewhere = posterior.linearised(&random(11, 13)).unwrap();
    assert!(elsewhere.predict_mean(&lin, x.view()).is_err());
    // 3-1-1 is no beginning of 3-11-1, and an activation is part of the description.
    let relu = Mlp::new(&[3, 2, 1], Activation::Relu).unwrap();
    let relu = regression_of(relu, Priors::all(normal(1.0)));
    assert!(relu.linearised(&q).unwrap().predict_mean(&own, x.view()).is_err());
}

#[test]
fn the_prior_of_largest_evidence_is_that_of_the_exact_evidence() {
    let fit = |sd: f64| {
        let posterior =
            regression_of(Linear::new(3, 1).unwrap(), Priors::all(Normal::new(0.0, sd)?));
        let start = LaplaceApproximation::full(&posterior, &[0.0; 4], Curvature::Observed)?;
        LaplaceApproximation::full(&posterior, start.newton_point(), Curvature::Observed)
    };
    let search = prior_by_evidence(0.01..=100.0, fit).unwrap();
    assert!(search.tried.len() < 30 && search.tried.is_sorted_by(|a, b| a.0 < b.0));
    for (sd, evidence) in &search.tried {
        assert_close(*evidence, exact_regression(*sd).log_evidence().unwrap(), 1e-9);
    }
    let grid = (-4000..4000).map(|i| (f64::from(i) * 0.001).exp());
    let of = |sd: f64| exact_regression(sd).log_evidence().unwrap();
    let best = grid.max_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap();
    assert!((search.sd / best).ln().abs() < 0.01, "{} is not {best}", search.sd);
    // MacKay's fixed point: alpha |w|^2 = gamma, the number of parameters that the data determine.
    let alpha = search.sd.powi(-2);
    let squares: f64 = search.fit.mean().iter().map(|w| w * w).sum();
    let gamma = 4.0 - alpha * search.fit.covariance().unwrap().diag().sum();
    assert!((alpha * squares / gamma - 1.0).abs() < 0.03, "{}", alpha * squares / gamma);

    let search = |sds| prior_by_evidence(sds, fit).map(drop);
    let allowed = "above the smallest, 2";
    refused!(search(2.0..=1.0), Argument { name: "largest sd", value: 1, allowed: allowed });
    refused!(search(0.0..=1.0), Argument { name: "smallest sd", value: 0 });
    refused!(search(1.0..=f64::NAN), Argument { name: "largest sd", value: "NaN" });
}

#[test]
fn what_cannot_be_approximated_is_named() {
    let network = Mlp::new(&[3, 4, 1], Activation::Tanh).unwrap();
    let posterior = regression_of(network.clone(), Priors::all(normal(3.0)));
    let q = random(21, 14);
    for curvature in BOTH {
        let short = LaplaceApproximation::full(&posterior, &q[1..], curvature);
        refused!(short, Shape { what: "length of q", found: 20, expected: 21 });
    }
    let mut bad = q.clone();
    bad[13] = f64::INFINITY;
    for fit in [
        LaplaceApproximation::diagonal(&posterior, &bad, Curvature::Observed),
        LaplaceApproximation::last_layer(&posterior, &bad, Curvature::Observed),
        LaplaceApproximation::kronecker(&posterior, &bad),
    ] {
        refused!(fit, Argument { name: "`b0[1]` of q", value: "inf" });
    }
    let name = "weight 13 to linearise around";
    refused!(posterior.linearised(&bad), Argument { name: name, value: "inf" });
    let what = "number of weights to linearise around";
    let few = Linearised::new(network, vec![0.0; 3]);
    refused!(few, Shape { what: what, found: 3, expected: 21 });
    bad[13] = 1e200;
    bad[20] = 1e200;
    let far = LaplaceApproximation::kronecker(&posterior, &bad);
    refused!(far, Argument { name: "log density at q", value: "-inf" });

    // Far from a mode.
    let full = LaplaceApproximation::full(&posterior, &q, Curvature::Observed);
    let error = failed!(full, Argument { name: "H at q" });
    let Error::Argument { value, .. } = &error else { unreachable!() };
    // Which pivot is the first is a matter of rounding.
    said!(error.to_string().replace(value, value.split(" (").next().unwrap()));
    assert!(LaplaceApproximation::full(&posterior, &q, Curvature::Expected).is_ok());
    let error = LaplaceApproximation::diagonal(&posterior, &q, Curvature::Observed).unwrap_err();
    let Error::Argument { name, value, .. } = &error else { panic!("{error:?}") };
    assert!(name.starts_with("curvature of `w0["), "{error}");
    assert!(value.parse::<f64>().unwrap() <= 0.0, "{error}");

    let heavy = Priors::all(normal(1.0)).with("w1", StudentT::new(3.0, 0.0, 1.0).unwrap());
    let heavy = regression_of(posterior.model().clone(), heavy);
    refused!(LaplaceApproximation::kronecker(&heavy, &q), Prior {});
    assert!(LaplaceApproximation::full(&heavy, &q, Curvature::Expected).is_ok());

    let fit = LaplaceApproximation::kronecker(&posterior, &q).unwrap();
    refused!(fit.draws(0, 1), Argument { name: "number of draws", value: 0 });

    let x = Array2::from_shape_fn((1, 9000), |(_, j)| (j as f64).sin());
    let wide = Dataset::regression(x, ndarray::array![1.0]).unwrap();
    let noise = Gaussian::fixed(1.0).unwrap();
    let linear = Linear::new(9000, 1).unwrap();
    let wide = Posterior::new(linear, noise, &wide, Priors::all(normal(1.0))).unwrap();
    let wide = LaplaceApproximation::full(&wide, &vec![0.0; 9001], Curvature::Expected);
    let (name, allowed) = ("dimension of the target", "at most 8192");
    refused!(wide, Argument { name: name, value: 9001, allowed: allowed });
}

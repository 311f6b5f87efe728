//! Intercepts of groups: outputs by plain loops, derivatives by differences, and the output layer integrated out against
//! the covariance matrix of the response, sigma^2 I + Phi S Phi^T, of which the crate computes nothing.

use bnn_mcmc::layout::Layout;
use bnn_mcmc::likelihood::SecondOrderLikelihood;
use bnn_mcmc::model::{LogSd, SecondOrderModel, Skip};
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Forces, Marginal};
use bnn_mcmc::testing::{gradient_error, hessian_error};
use ndarray::{Array1, Array2};

use crate::fixtures::inverse;

const ROWS: usize = 23;
/// Schools, of which no row is in the last, and districts.
const SCHOOLS: usize = 4;
const DISTRICTS: usize = 2;
const INPUTS: usize = 3 + SCHOOLS + DISTRICTS;

/// Three features, then the indicators of both groupings.
fn inputs() -> Array2<f64> {
    Array2::from_shape_fn((ROWS, INPUTS), |(i, j)| match j {
        0..3 => ((5 * i + 3 * j) % 17) as f64 / 6.0 - 1.4,
        3..7 => f64::from(u8::from(i % (SCHOOLS - 1) == j - 3)),
        _ => f64::from(u8::from((i / 4) % DISTRICTS == j - 7)),
    })
}

fn responses(columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((ROWS, columns), |(i, k)| {
        (1.3 * (i + 2 * k) as f64).sin() + 0.1 * i as f64
    })
}

fn data(columns: usize) -> Dataset {
    Dataset::regression(inputs(), responses(columns)).unwrap()
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|i| i.to_string()).collect()
}

fn grouped<M: Model>(model: Skip<M>) -> Skip<M> {
    let model = model.intercepts("school", names(SCHOOLS)).unwrap();
    model.intercepts("district", names(DISTRICTS)).unwrap()
}

/// 3-5-k, with a linear part and both groupings.
fn network(outputs: usize) -> Skip<Mlp> {
    grouped(Skip::new(Mlp::new(&[3, 5, outputs], Activation::Tanh).unwrap()).unwrap())
}

fn priors() -> Priors {
    of_weights().with("log_noise_variance", Normal::new(-1.0, 0.5).unwrap())
}

fn of_weights() -> Priors {
    let half_t = || LogHalfT::new(3.0, 0.8).unwrap();
    Priors::all(Normal::new(0.1, 0.9).unwrap())
        .hierarchical("group_school", "log_variance_school", half_t())
        .hierarchical("group_district", "log_variance_district", half_t())
}

fn random(dim: usize, seed: u64) -> Vec<f64> {
    let mut q = vec![0.0; dim];
    ChainRng::new(seed, 0).fill_normal(&mut q);
    q.iter_mut().for_each(|q| *q *= 0.6);
    q
}

/// W x for the row-major matrix in a block of q.
fn times(q: &[f64], layout: &Layout, block: &str, x: &[f64]) -> Vec<f64> {
    let rows = q[layout.range(block).unwrap()].chunks(x.len());
    rows.map(|w| w.iter().zip(x).map(|(w, x)| w * x).sum()).collect()
}

/// The hidden units at one row.
fn hidden(q: &[f64], layout: &Layout, x: &[f64]) -> Vec<f64> {
    let b = &q[layout.range("b0").unwrap()];
    times(q, layout, "w0", &x[..3]).iter().zip(b).map(|(z, b)| (z + b).tanh()).collect()
}

#[test]
fn outputs_are_those_of_plain_loops() {
    let posterior = posterior(network(2), Gaussian::sampled(), 2);
    let layout = posterior.layout().clone();
    let q = random(posterior.dim(), 3);
    let found = posterior.predict_at(&q, inputs().view()).unwrap();
    for (i, x) in inputs().rows().into_iter().enumerate() {
        let x = x.to_vec();
        let network = times(&q, &layout, "w1", &hidden(&q, &layout, &x));
        let skip = times(&q, &layout, "skip", &x[..3]);
        let school = times(&q, &layout, "group_school", &x[3..7]);
        let district = times(&q, &layout, "group_district", &x[7..]);
        let bias = &q[layout.range("b1").unwrap()];
        for k in 0..2 {
            let expected = network[k] + skip[k] + school[k] + district[k] + bias[k];
            approx::assert_relative_eq!(found[[i, k]], expected, epsilon = 1e-12);
        }
    }
}

fn posterior<M: Model, L: Likelihood>(model: M, likelihood: L, columns: usize) -> Posterior<M, L> {
    Posterior::new(model, likelihood, &data(columns), priors()).unwrap()
}

#[test]
fn gradients_and_hessians_match_finite_differences() {
    fn check(model: impl SecondOrderModel, likelihood: impl SecondOrderLikelihood, columns: usize) {
        let posterior = posterior(model, likelihood, columns);
        for seed in 1..4 {
            let q = random(posterior.dim(), seed);
            let error = gradient_error(&posterior, &q);
            assert!(error < 1e-7, "gradient: {error}");
            let error = hessian_error(&posterior, &q);
            assert!(error < 1e-6, "Hessian: {error}");
        }
    }
    check(network(1), Gaussian::sampled(), 1);
    check(network(2), Gaussian::sampled(), 2);
    let line = Linear::new(3, 2).unwrap();
    check(grouped(Skip::without(line)), Gaussian::sampled(), 2);
}

/// The columns of Phi at one row, and for each its prior mean and variance, with the ones at the end.
fn columns_of_phi(q: &[f64], layout: &Layout, x: &[f64]) -> Vec<[f64; 3]> {
    let of = |name: &str| q[layout.range(name).unwrap().start].exp();
    let has = |name: &str| layout.range(name).is_some();
    let own = |phi| [phi, 0.1, 0.81];
    let mut columns = Vec::new();
    if has("w1") {
        columns.extend(hidden(q, layout, x).into_iter().map(own));
    }
    if has("skip") || !has("w1") {
        columns.extend(x[..3].iter().copied().map(own));
    }
    columns.extend(x[3..7].iter().map(|z| [*z, 0.0, of("log_variance_school")]));
    columns.extend(x[7..].iter().map(|z| [*z, 0.0, of("log_variance_district")]));
    columns.push(own(1.0));
    columns
}

/// log p(y | v), with sd_i of the noise of row i: each response column is N(Phi m, Phi S Phi^T + diag sd^2).
fn log_evidence(phi: &[Vec<[f64; 3]>], sd: &[f64], y: &Array2<f64>) -> f64 {
    let covariance = Array2::from_shape_fn((ROWS, ROWS), |(i, j)| {
        let both = phi[i].iter().zip(&phi[j]).map(|(a, b)| a[0] * a[2] * b[0]).sum::<f64>();
        both + if i == j { sd[i] * sd[i] } else { 0.0 }
    });
    let mean_of = |row: &Vec<[f64; 3]>| row.iter().map(|[phi, m, _]| phi * m).sum::<f64>();
    let mean: Array1<f64> = phi.iter().map(mean_of).collect();
    let (precision, log_det) = inverse(&covariance);
    let column = |y: ndarray::ArrayView1<f64>| {
        let residual = &y - &mean;
        let squares = residual.dot(&precision.dot(&residual));
        -0.5 * (ROWS as f64 * (2.0 * std::f64::consts::PI).ln() + log_det + squares)
    };
    y.columns().into_iter().map(column).sum()
}

fn check_marginal<M: Model, L: Likelihood>(
    posterior: &Posterior<M, L>,
    seed: u64,
    columns: usize,
    sd: impl Fn(&[f64], &Layout, &[f64]) -> f64,
) {
    let (q, layout) = (random(posterior.dim(), seed), posterior.layout().clone());
    let rows: Vec<Vec<f64>> = inputs().rows().into_iter().map(|x| x.to_vec()).collect();
    let phi: Vec<_> = rows.iter().map(|x| columns_of_phi(&q, &layout, x)).collect();
    let sd: Vec<f64> = rows.iter().map(|x| sd(&q, &layout, x)).collect();
    let expected = log_evidence(&phi, &sd, &responses(columns));
    let marginal = posterior.collapsed().unwrap();
    let (mut ws, mut v) = (marginal.workspace(), vec![0.0; marginal.dim()]);
    marginal.gather(&q, &mut v);
    let found = marginal.log_density(&v, &mut ws);
    approx::assert_relative_eq!(found.likelihood, expected, max_relative = 1e-11);
    let error = gradient_error(&marginal, &v);
    assert!(error < 1e-7, "gradient: {error}");
}

fn noise(q: &[f64], layout: &Layout, _: &[f64]) -> f64 {
    (0.5 * q[layout.range("log_noise_variance").unwrap().start]).exp()
}

#[test]
fn intercepts_are_integrated_out_with_the_output_layer() {
    for seed in 1..4 {
        for columns in [1, 2] {
            let posterior = posterior(network(columns), Gaussian::sampled(), columns);
            check_marginal(&posterior, seed, columns, noise);
            let network = Mlp::new(&[3, 5, columns], Activation::Tanh).unwrap();
            let without_skip = grouped(Skip::without(network));
            let posterior = self::posterior(without_skip, Gaussian::sampled(), columns);
            check_marginal(&posterior, seed, columns, noise);
            let line = grouped(Skip::without(Linear::new(3, columns).unwrap()));
            check_marginal(
                &self::posterior(line, Gaussian::sampled(), columns),
                seed,
                columns,
                noise,
            );
        }
        let by_row = LogSd::new(network(1)).unwrap();
        let by_row = Posterior::new(by_row, HeteroscedasticGaussian, &data(1), of_weights());
        check_marginal(&by_row.unwrap(), seed, 1, |q, layout, x| {
            let bias = q[layout.range("log_sd_bias").unwrap().start];
            (times(q, layout, "log_sd", x)[0] + bias).exp()
        });
    }
}

#[test]
fn forces_have_intercepts() {
    let posterior = posterior(network(1), Gaussian::sampled(), 1);
    let marginal = Marginal::new(&posterior).unwrap().with_forces(Forces::F32);
    assert!(marginal.has_own_force());
    for seed in 1..4 {
        let v = random(marginal.dim(), seed);
        let (mut force, mut gradient) = (v.clone(), v.clone());
        let mut ws = marginal.workspace();
        marginal.force(&v, &mut force, &mut ws);
        marginal.log_density_grad(&v, &mut gradient, &mut ws);
        let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let difference: Vec<f64> = force.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let error = norm(&difference) / norm(&gradient);
        assert!(error > 0.0 && error < 1e-5, "{error}");
    }
}

/// No row has the last school: given its variance, its intercept is drawn from the prior; the others are not.
#[test]
fn intercepts_of_new_groups_are_drawn_from_their_distribution() {
    let posterior = posterior(network(1), Gaussian::sampled(), 1);
    let marginal = posterior.collapsed().unwrap();
    let (mut q, layout) = (random(posterior.dim(), 5), posterior.layout());
    let variance = q[layout.range("log_variance_school").unwrap().start].exp();
    let schools = layout.range("group_school").unwrap();
    let (n, mut rng, mut ws) = (20_000, ChainRng::new(4, 0), marginal.workspace());
    let mut sums = [[0.0; 2]; SCHOOLS];
    for _ in 0..n {
        assert!(marginal.draw_conditional(&mut rng, &mut q, &mut ws));
        for ([sum, squares], u) in sums.iter_mut().zip(&q[schools.clone()]) {
            *sum += u;
            *squares += u * u;
        }
    }
    let n = n as f64;
    let [sum, squares] = sums[SCHOOLS - 1];
    assert!((sum / n).abs() < 4.5 * (variance / n).sqrt(), "{}", sum / n);
    let ratio = squares / n / variance;
    assert!((ratio - 1.0).abs() < 4.5 * (2.0 / n).sqrt(), "{ratio}");
    for [sum, squares] in &sums[..SCHOOLS - 1] {
        let spread = squares / n - (sum / n) * (sum / n);
        assert!(spread < 0.8 * variance, "{spread} {variance}");
    }
}

#[test]
fn groupings_that_do_not_fit_are_refused_by_name() {
    let model = || Skip::new(Mlp::new(&[3, 5, 1], Activation::Tanh).unwrap()).unwrap();
    let value = |result: Result<Skip<Mlp>, Error>| match result.unwrap_err() {
        Error::Argument { name, value, .. } => format!("{name}: {value}"),
        other => panic!("{other:?}"),
    };
    assert_eq!(value(model().intercepts("a", vec![])), "groups of `a`: 0");
    let twice = model().intercepts("a", names(2)).unwrap().intercepts("a", names(3));
    assert_eq!(value(twice), "grouping: `a`");
    // Intercepts that are scaled by no block have no prior.
    let model = model().intercepts("a", names(2)).unwrap();
    let x = Array2::from_shape_fn((ROWS, 5), |(i, j)| (i + j) as f64);
    let data = Dataset::regression(x, responses(1)).unwrap();
    let priors = Priors::by_fan_in(&model);
    let posterior = Posterior::new(model, Gaussian::fixed(1.0).unwrap(), &data, priors).unwrap();
    assert_eq!(posterior.dim(), 3 * 5 + 5 + 5 + 1 + 3 + 2);
    assert!(posterior.model().description().unwrap().ends_with(", 2 intercepts of `a`"));
}

//! Posteriors whose output layer is integrated out: against n x n covariances from elsewhere
//! (tests/golden/collapsed.py), against the joint density less the conditional one, and by finite differences.

use bnn_mcmc::fit::AnyLikelihood;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{ConditionallyGaussian, Marginal, Tempered};
use ndarray::{Array1, Array2, aview1, s};
use serde::Deserialize;
use shared::refused;

#[derive(Deserialize)]
struct Case {
    name: String,
    sizes: Vec<usize>,
    x: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
    beta: f64,
    fixed_sd: Option<f64>,
    hierarchical: bool,
    ard: bool,
    by_row: bool,
    q: Vec<f64>,
    log_likelihood: f64,
    log_prior: f64,
    means: Vec<Vec<f64>>,
    covariance: Vec<Vec<f64>>,
}

fn matrix(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap()
}

/// Log density of the marginal at `q`, all coordinates, and draws of the output layer given the others.
struct Found {
    density: LogDensity,
    draws: Vec<Vec<f64>>,
    gradient_error: f64,
}

fn integrated<T: ConditionallyGaussian>(marginal: &Marginal<T>, q: &[f64]) -> Vec<f64> {
    marginal.integrated().iter().flat_map(|range| q[range.clone()].to_vec()).collect()
}

fn find<T: ConditionallyGaussian>(target: T, q: &[f64], n_draws: usize) -> Found {
    let marginal = Marginal::new(target).unwrap();
    let (mut ws, mut v) = (marginal.workspace(), vec![0.0; marginal.dim()]);
    marginal.gather(q, &mut v);
    let density = marginal.log_density(&v, &mut ws);
    let mut grad = v.clone();
    let with_gradient = marginal.log_density_grad(&v, &mut grad, &mut ws);
    assert_eq!(density.likelihood, with_gradient.likelihood);
    approx::assert_relative_eq!(density.prior, with_gradient.prior, max_relative = 1e-14);
    let (mut rng, mut full) = (ChainRng::new(1, 0), vec![f64::NAN; q.len()]);
    let draw = |_| {
        marginal.scatter(&v, &mut full);
        assert!(marginal.draw_conditional(&mut rng, &mut full, &mut ws));
        integrated(&marginal, &full)
    };
    let draws = (0..n_draws).map(draw).collect();
    Found { density, draws, gradient_error: error_at_best_step(&marginal, &v) }
}

fn find_case(case: &Case) -> Found {
    let data = Dataset::regression(matrix(&case.x), matrix(&case.y)).unwrap();
    let likelihood = match case.fixed_sd {
        _ if case.by_row => AnyLikelihood::HeteroscedasticGaussian(HeteroscedasticGaussian),
        Some(sd) => AnyLikelihood::Gaussian(Gaussian::fixed(sd).unwrap()),
        None => AnyLikelihood::Gaussian(Gaussian::sampled()),
    };
    let hyper = || LogInverseGamma::new(2.5, 1.5).unwrap();
    let mut priors = Priors::new().with("b*", Normal::new(0.2, 0.9).unwrap());
    priors = match (case.hierarchical, case.ard) {
        (true, _) => priors.hierarchical("w*", "s", hyper()),
        (_, true) => priors.ard("w", "s", hyper()),
        _ => priors.with("w*", Normal::new(0.3, 0.7).unwrap()),
    };
    if case.fixed_sd.is_none() && !case.by_row {
        priors = priors.with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    }
    if let [inputs, outputs] = case.sizes[..] {
        let model = Linear::new(inputs, outputs).unwrap();
        let posterior = Posterior::new(model, likelihood, &data, priors).unwrap();
        find(Tempered::new(&posterior, case.beta).unwrap(), &case.q, 20_000)
    } else {
        let model = Mlp::new(&case.sizes, Activation::Tanh).unwrap();
        let posterior = Posterior::new(model, likelihood, &data, priors).unwrap();
        find(Tempered::new(&posterior, case.beta).unwrap(), &case.q, 20_000)
    }
}

#[test]
fn densities_and_conditional_draws_are_those_of_normal_distributions_from_elsewhere() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../golden/collapsed.json")).unwrap();
    assert_eq!(cases.len(), 11);
    for case in &cases {
        let found = find_case(case);
        let (name, density) = (&case.name, found.density);
        assert_eq!(density.beta, 1.0);
        approx::assert_relative_eq!(density.prior, case.log_prior, max_relative = 1e-12);
        let tolerance = if name.contains("1e-3") { 1e-9 } else { 1e-12 };
        approx::assert_relative_eq!(
            density.likelihood,
            case.log_likelihood,
            max_relative = tolerance
        );
        assert!(found.gradient_error < 1e-7, "{name}: {}", found.gradient_error);
        // Means, variances and covariances of the draws within their Monte Carlo errors.
        let (outputs, m) = (case.means.len(), case.covariance.len());
        let at =
            |k: usize, j: usize| if j + 1 < m { k * (m - 1) + j } else { outputs * (m - 1) + k };
        let n = found.draws.len() as f64;
        for (k, mean) in case.means.iter().enumerate() {
            for i in 0..m {
                let deviation = |b: &Vec<f64>, i: usize| b[at(k, i)] - mean[i];
                let shift = found.draws.iter().map(|b| deviation(b, i)).sum::<f64>() / n;
                let variance = case.covariance[i][i];
                assert!(shift.abs() < 4.5 * (variance / n).sqrt(), "{name}: mean {k}, {i}");
                for j in 0..=i {
                    let products = found.draws.iter().map(|b| deviation(b, i) * deviation(b, j));
                    let (found, expected) = (products.sum::<f64>() / n, case.covariance[i][j]);
                    let error = (variance * case.covariance[j][j] + expected * expected) / n;
                    assert!((found - expected).abs() < 4.5 * error.sqrt(), "{name}: {k}, {i}, {j}");
                }
            }
        }
        // Independent between responses.
        if outputs == 2 {
            for i in 0..m {
                let product = |b: &Vec<f64>| {
                    (b[at(0, i)] - case.means[0][i]) * (b[at(1, i)] - case.means[1][i])
                };
                let mean = found.draws.iter().map(product).sum::<f64>() / n;
                assert!(mean.abs() < 4.5 * case.covariance[i][i] / n.sqrt(), "{name}: {i}");
            }
        }
    }
}

/// `a` to the power -1 and its log determinant, by elimination with pivots on the diagonal.
fn inverse(a: &Array2<f64>) -> (Array2<f64>, f64) {
    let m = a.nrows();
    let mut work = ndarray::concatenate![ndarray::Axis(1), a.view(), Array2::eye(m).view()];
    let mut log_det = 0.0;
    for i in 0..m {
        let pivot = work[(i, i)];
        log_det += pivot.ln();
        work.row_mut(i).mapv_inplace(|x| x / pivot);
        let row = work.row(i).to_owned();
        for k in (0..m).filter(|k| *k != i) {
            let factor = work[(k, i)];
            work.row_mut(k).scaled_add(-factor, &row);
        }
    }
    (work.slice(s![.., m..]).to_owned(), log_det)
}

fn table(rows: usize, features: usize, outputs: usize) -> (Array2<f64>, Array2<f64>) {
    let mut rng = ChainRng::new(31, 0);
    let x = Array2::from_shape_fn((rows, features), |_| rng.normal());
    let y = Array2::from_shape_fn((rows, outputs), |(i, k)| {
        (1.5 * x[(i, k % features)]).sin() + 0.3 * rng.normal()
    });
    (x, y)
}

/// The marginal is the joint density over the conditional one, at any output weights: the latter in the form with A,
/// written out.
#[test]
fn the_marginal_is_the_joint_density_less_the_conditional_one() {
    let mut rng = ChainRng::new(2, 0);
    // The fourth has several tiles, the fifth products that are blocked for the cache, the last several shares of the rows.
    for (rows, units, outputs) in
        [(20, 5, 1), (30, 4, 3), (7, 12, 2), (500, 9, 2), (300, 120, 1), (6_000, 60, 1)]
    {
        let (x, y) = table(rows, 2, outputs);
        let data = Dataset::regression(x.clone(), y.clone()).unwrap();
        let network = Mlp::new(&[2, units, outputs], Activation::Tanh).unwrap();
        let priors = Priors::all(Normal::new(0.1, 1.2).unwrap())
            .with("w1", Normal::new(-0.2, 0.6).unwrap())
            .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
        let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
        let marginal = posterior.collapsed().unwrap();
        let m = units + 1;
        let layer = 3 * units..3 * units + outputs * m;
        let biases = layer.start + outputs * units..layer.end;
        assert_eq!(marginal.integrated(), [layer.start..biases.start, biases]);
        for _ in 0..3 {
            let mut q: Vec<f64> = (0..posterior.dim()).map(|_| 0.7 * rng.normal()).collect();
            let (w0, b0) = (aview1(&q[..2 * units]), aview1(&q[2 * units..3 * units]));
            let h = (x.dot(&w0.to_shape((units, 2)).unwrap().t()) + b0).mapv(f64::tanh);
            let phi = ndarray::concatenate![ndarray::Axis(1), h, Array2::ones((rows, 1))];
            let precision = (-q[layer.end]).exp();
            let prior_mean = Array1::from_shape_fn(m, |j| if j < units { -0.2 } else { 0.1 });
            let prior_sd = Array1::from_shape_fn(m, |j| if j < units { 0.6 } else { 1.2 });
            let a = Array2::from_diag(&prior_sd.mapv(|s: f64| 1.0 / (s * s)))
                + phi.t().dot(&phi) * precision;
            let (covariance, log_det) = inverse(&a);
            for weight in &mut q[layer.clone()] {
                *weight = 0.5 * rng.normal();
            }
            let mut conditional = 0.0;
            for k in 0..outputs {
                let centred = &y.column(k) - &phi.dot(&prior_mean);
                let mean = &prior_mean + &covariance.dot(&phi.t().dot(&centred)) * precision;
                let weights = &q[layer.clone()];
                let own = Array1::from_shape_fn(m, |j| match j {
                    _ if j < units => weights[k * units + j],
                    _ => weights[outputs * units + k],
                });
                let d = own - mean;
                let tau: f64 = std::f64::consts::TAU;
                conditional += 0.5 * (log_det - m as f64 * tau.ln() - d.dot(&a.dot(&d)));
            }
            let joint = posterior.log_density(&q, &mut posterior.workspace()).total();
            let mut v = vec![0.0; marginal.dim()];
            marginal.gather(&q, &mut v);
            let found = marginal.log_density(&v, &mut marginal.workspace()).total();
            let error = (found - (joint - conditional)).abs() / (1.0 + joint.abs());
            assert!(error < 1e-10, "{rows} {units} {outputs}: {found}, {joint}, {conditional}");
        }
    }
}

/// The same with noise that differs between rows.
#[test]
fn with_noise_by_row_the_marginal_is_the_joint_density_less_the_conditional_one() {
    let mut rng = ChainRng::new(12, 0);
    for (rows, units, beta) in
        [(20, 5, 1.0), (30, 4, 0.3), (7, 12, 1.0), (500, 9, 0.7), (300, 120, 1.0), (6_000, 60, 1.0)]
    {
        let (x, y) = table(rows, 2, 1);
        let data = Dataset::regression(x.clone(), y.clone()).unwrap();
        let network = Mlp::new(&[2, units, 2], Activation::Tanh).unwrap();
        let priors = Priors::all(Normal::new(0.1, 1.2).unwrap())
            .with("w1", Normal::new(-0.05, 0.3).unwrap());
        let posterior = Posterior::new(network, HeteroscedasticGaussian, &data, priors).unwrap();
        let tempered = Tempered::new(&posterior, beta).unwrap();
        let marginal = Marginal::new(tempered).unwrap();
        let (m, w) = (units + 1, 3 * units);
        let b = w + 2 * units;
        assert_eq!(marginal.integrated(), [w..w + units, b..b + 1]);
        let layout = marginal.layout();
        assert_eq!(layout.block_names(), ["w0", "b0", "w1", "b1"]);
        assert_eq!(layout.range("w1"), Some(w..w + units));
        for _ in 0..3 {
            let mut q: Vec<f64> = (0..posterior.dim()).map(|_| 0.7 * rng.normal()).collect();
            q[w..b].iter_mut().for_each(|w| *w *= 0.3);
            let (w0, b0) = (aview1(&q[..2 * units]), aview1(&q[2 * units..w]));
            let h = (x.dot(&w0.to_shape((units, 2)).unwrap().t()) + b0).mapv(f64::tanh);
            let phi = ndarray::concatenate![ndarray::Axis(1), h, Array2::ones((rows, 1))];
            let of_output = |k: usize| {
                let bias = [q[b + k]];
                Array1::from_iter(
                    q[w + k * units..w + (k + 1) * units].iter().chain(&bias).copied(),
                )
            };
            let precision = phi.dot(&of_output(1)).mapv(|s| beta * (-2.0 * s).exp());
            let prior_mean = Array1::from_shape_fn(m, |j| if j < units { -0.05 } else { 0.1 });
            let prior_sd = Array1::from_shape_fn(m, |j| if j < units { 0.3 } else { 1.2 });
            let weighted = &phi * &precision.to_shape((rows, 1)).unwrap();
            let a =
                Array2::from_diag(&prior_sd.mapv(|s: f64| 1.0 / (s * s))) + phi.t().dot(&weighted);
            let (covariance, log_det) = inverse(&a);
            let centred = &y.column(0) - &phi.dot(&prior_mean);
            let mean = &prior_mean + &covariance.dot(&weighted.t().dot(&centred));
            let d = of_output(0) - mean;
            let tau: f64 = std::f64::consts::TAU;
            let conditional = 0.5 * (log_det - m as f64 * tau.ln() - d.dot(&a.dot(&d)));
            let joint = posterior.log_density(&q, &mut posterior.workspace());
            let joint = beta * joint.likelihood + joint.prior;
            let mut v = vec![0.0; marginal.dim()];
            marginal.gather(&q, &mut v);
            let found = marginal.log_density(&v, &mut marginal.workspace()).total();
            let error = (found - (joint - conditional)).abs() / (1.0 + joint.abs());
            assert!(error < 1e-10, "{rows} {units}: {found}, {joint}, {conditional}");
        }
    }
}

/// The error of the gradient, by differences of the step that suits the curvature at `v` best: no wrong gradient would be
/// right at any of them.
fn error_at_best_step<T: GradTarget>(target: &T, v: &[f64]) -> f64 {
    let mut ws = target.workspace();
    let (mut grad, mut at) = (v.to_vec(), v.to_vec());
    target.log_density_grad(v, &mut grad, &mut ws);
    let largest = grad.iter().fold(1.0f64, |m, g| m.max(g.abs()));
    let mut value = |i: usize, h: f64| {
        at[i] = v[i] + h;
        let value = target.log_density(&at, &mut ws).total();
        at[i] = v[i];
        value
    };
    let mut error = |h: f64, i: usize| {
        let (near, far) = (value(i, h) - value(i, -h), value(i, 2.0 * h) - value(i, -2.0 * h));
        ((8.0 * near - far) / (12.0 * h) - grad[i]).abs() / largest
    };
    let mut worst = |h: f64| (0..v.len()).map(|i| error(h, i)).fold(0.0, f64::max);
    worst(1e-3).min(worst(1e-4)).min(worst(1e-5))
}

/// The largest error of the gradient at three points, with noise around e^eta where it is sampled.
fn worst_error<M: Model, L: Likelihood>(posterior: &Posterior<M, L>, beta: f64, eta: f64) -> f64 {
    let tempered = Tempered::new(posterior, beta).unwrap();
    let marginal = Marginal::new(tempered).unwrap();
    let noise = marginal.layout().range("log_noise_variance");
    let mut rng = ChainRng::new(6, 0);
    let mut error = || {
        let mut v: Vec<f64> = (0..marginal.dim()).map(|_| 0.6 * rng.normal()).collect();
        if let Some(noise) = noise.clone() {
            v[noise.start] += eta;
        }
        error_at_best_step(&marginal, &v)
    };
    error().max(error()).max(error())
}

#[test]
fn gradients_match_finite_differences() {
    let hyper = || LogInverseGamma::new(2.5, 1.5).unwrap();
    let noise =
        |priors: Priors| priors.with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let normal = || Priors::all(Normal::new(0.2, 0.8).unwrap());
    for outputs in [1, 2] {
        let (x, y) = table(40, 3, outputs);
        let data = Dataset::regression(x, y).unwrap();
        let mlp = |sizes: &[usize]| {
            let sizes = [&[3], sizes, &[outputs]].concat();
            Mlp::new(&sizes, Activation::Tanh).unwrap()
        };
        // A scale of hidden and output weights together, of the output weights alone, of every unit; and a horseshoe.
        let all = [
            normal(),
            normal().hierarchical("w*", "s", hyper()),
            normal().hierarchical("w1", "s", hyper()).hierarchical("b1", "t", hyper()),
            normal().ard("w1", "s", hyper()),
            normal().horseshoe("w1", "s", "t", LogHalfCauchy::new(0.7).unwrap()),
        ];
        for priors in all {
            let sampled = noise(priors.clone());
            let posterior = Posterior::new(mlp(&[5]), Gaussian::sampled(), &data, sampled).unwrap();
            for (beta, eta) in [(1.0, 0.0), (0.3, 0.0), (1.0, -6.0)] {
                let error = worst_error(&posterior, beta, eta);
                assert!(error < 1e-7, "{outputs} outputs, beta {beta}, {eta}: {error}");
            }
            let known = Gaussian::fixed(0.4).unwrap();
            let posterior = Posterior::new(mlp(&[5]), known, &data, priors).unwrap();
            assert!(worst_error(&posterior, 0.3, 0.0) < 1e-7);
        }
        let priors = || noise(normal());
        for activation in [Activation::Sigmoid, Activation::Silu, Activation::Identity] {
            let network = Mlp::new(&[3, 4, outputs], activation).unwrap();
            let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors()).unwrap();
            assert!(worst_error(&posterior, 1.0, 0.0) < 1e-7, "{activation}");
        }
        let deep = Posterior::new(mlp(&[4, 6]), Gaussian::sampled(), &data, priors()).unwrap();
        assert!(worst_error(&deep, 0.3, 0.0) < 1e-7);
        for model in
            [Linear::new(3, outputs).unwrap(), Linear::new(3, outputs).unwrap().without_bias()]
        {
            let priors = priors().hierarchical("w", "s", hyper());
            let posterior = Posterior::new(model, Gaussian::sampled(), &data, priors).unwrap();
            assert!(worst_error(&posterior, 0.3, 0.0) < 1e-7);
        }
    }
    // Several tiles, and products that are blocked for the cache.
    for (rows, units) in [(700, 7), (400, 110)] {
        let (x, y) = table(rows, 3, 1);
        let data = Dataset::regression(x, y).unwrap();
        let network = Mlp::new(&[3, units, 1], Activation::Tanh).unwrap();
        let priors = noise(Priors::by_fan_in(&network));
        let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
        let marginal = posterior.collapsed().unwrap();
        let mut v: Vec<f64> = (0..marginal.dim()).map(|i| (i as f64).sin()).collect();
        *v.last_mut().unwrap() = -1.0;
        let error = error_at_best_step(&marginal, &v);
        assert!(error < 1e-7, "{rows} rows, {units} units: {error}");
    }
}

#[test]
fn with_noise_by_row_gradients_match_finite_differences() {
    let hyper = || LogInverseGamma::new(2.5, 1.5).unwrap();
    let normal = || Priors::all(Normal::new(0.2, 0.8).unwrap());
    let (x, y) = table(40, 3, 1);
    let data = Dataset::regression(x, y).unwrap();
    let mlp =
        |sizes: &[usize], activation| Mlp::new(&[&[3], sizes, &[2]].concat(), activation).unwrap();
    // A scale of hidden weights and both outputs', of the outputs' alone, of every unit; and a
    // horseshoe.
    let all = [
        normal(),
        normal().hierarchical("w*", "s", hyper()),
        normal().hierarchical("w1", "s", hyper()).hierarchical("b1", "t", hyper()),
        normal().ard("w1", "s", hyper()),
        normal().horseshoe("w1", "s", "t", LogHalfCauchy::new(0.7).unwrap()),
    ];
    for priors in all {
        let network = mlp(&[5], Activation::Tanh);
        let posterior = Posterior::new(network, HeteroscedasticGaussian, &data, priors).unwrap();
        for beta in [1.0, 0.3] {
            let error = worst_error(&posterior, beta, 0.0);
            assert!(error < 1e-7, "beta {beta}: {error}");
        }
    }
    for (sizes, activation) in
        [(&[4][..], Activation::Sigmoid), (&[4], Activation::Silu), (&[4, 6], Activation::Tanh)]
    {
        let network = mlp(sizes, activation);
        let posterior = Posterior::new(network, HeteroscedasticGaussian, &data, normal()).unwrap();
        let error = worst_error(&posterior, 0.3, 0.0);
        assert!(error < 1e-7, "{activation}: {error}");
    }
    for model in [Linear::new(3, 2).unwrap(), Linear::new(3, 2).unwrap().without_bias()] {
        let priors = normal().hierarchical("w", "s", hyper());
        let posterior = Posterior::new(model, HeteroscedasticGaussian, &data, priors).unwrap();
        let error = worst_error(&posterior, 0.3, 0.0);
        assert!(error < 1e-7, "linear: {error}");
    }
    // Several tiles, and products that are blocked for the cache.
    for (rows, units) in [(700, 7), (400, 110)] {
        let (x, y) = table(rows, 3, 1);
        let data = Dataset::regression(x, y).unwrap();
        let network = Mlp::new(&[3, units, 2], Activation::Tanh).unwrap();
        let priors = Priors::by_fan_in(&network);
        let posterior = Posterior::new(network, HeteroscedasticGaussian, &data, priors).unwrap();
        let marginal = posterior.collapsed().unwrap();
        let last = marginal.dim() - units - 1;
        let v: Vec<f64> = (0..marginal.dim())
            .map(|i| (i as f64).sin() * if i < last { 1.0 } else { 0.02 })
            .collect();
        let error = error_at_best_step(&marginal, &v);
        assert!(error < 1e-7, "{rows} rows, {units} units: {error}");
    }
}

/// With two responses, along one direction: a whole gradient by differences would take a thousand evaluations.
#[test]
fn shares_of_the_rows_give_the_same_bits_on_any_number_of_threads() {
    let network = || Mlp::new(&[3, 60, 2], Activation::Tanh).unwrap();
    let priors = || Priors::by_fan_in(&network());
    let (x, y) = table(6_000, 3, 2);
    let one = y.slice(s![.., ..1]).to_owned();
    let data = Dataset::regression(x.clone(), y).unwrap();
    let noise = LogInverseGamma::new(2.0, 0.5).unwrap();
    let sampled = priors().with("log_noise_variance", noise);
    let equal = Posterior::new(network(), Gaussian::sampled(), &data, sampled).unwrap();
    check_shares(&equal.collapsed().unwrap());
    let data = Dataset::regression(x, one).unwrap();
    let by_row = Posterior::new(network(), HeteroscedasticGaussian, &data, priors()).unwrap();
    check_shares(&by_row.collapsed().unwrap());
}

fn check_shares<T: ConditionallyGaussian + Sync>(marginal: &Marginal<T>) {
    let mut rng = ChainRng::new(8, 0);
    let v: Vec<f64> = (0..marginal.dim()).map(|_| 0.5 * rng.normal()).collect();
    let direction: Vec<f64> = v.iter().map(|_| rng.normal()).collect();
    let at = |v: &[f64]| {
        let mut grad = vec![0.0; v.len()];
        let density = marginal.log_density_grad(v, &mut grad, &mut marginal.workspace());
        (density, grad)
    };
    let outside = at(&v);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| at(&v)), outside);
    }
    let value = |h: f64| {
        let moved: Vec<f64> = v.iter().zip(&direction).map(|(v, d)| v + h * d).collect();
        marginal.log_density(&moved, &mut marginal.workspace()).total()
    };
    let h = 1e-4;
    let found = (8.0 * (value(h) - value(-h)) - value(2.0 * h) + value(-2.0 * h)) / (12.0 * h);
    let expected: f64 = outside.1.iter().zip(&direction).map(|(g, d)| g * d).sum();
    assert!((found / expected - 1.0).abs() < 1e-7, "{found} and {expected}");
}

/// Noise of standard deviation 1e-3 and less, and hidden units that are alike.
#[test]
fn little_noise_and_equal_units_are_no_trouble_and_overflow_is_no_number() {
    let (x, _) = table(60, 2, 1);
    let y = x.column(0).mapv(|x| (2.0 * x).tanh());
    let data = Dataset::regression(x, y).unwrap();
    let network = Mlp::new(&[2, 10, 1], Activation::Tanh).unwrap();
    let priors =
        Priors::by_fan_in(&network).with("log_noise_variance", Normal::new(0.0, 1e3).unwrap());
    let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
    let marginal = posterior.collapsed().unwrap();
    let (mut ws, dim) = (marginal.workspace(), marginal.dim());
    let at = |sd: f64, scale: f64| {
        let mut v: Vec<f64> = (0..dim).map(|i| scale * (i as f64 * 1.7).sin()).collect();
        for unit in 1..10 {
            v.copy_within(0..2, 2 * unit);
            v[20 + unit] = v[20];
        }
        v[dim - 1] = 2.0 * sd.ln();
        v
    };
    for sd in [1e-3, 1e-5] {
        let v = at(sd, 1.0);
        let mut grad = v.clone();
        let density = marginal.log_density_grad(&v, &mut grad, &mut ws);
        assert!(density.is_finite() && grad.iter().all(|g| g.is_finite()), "{sd}: {density:?}");
        let mut q = vec![0.0; posterior.dim()];
        marginal.scatter(&v, &mut q);
        assert!(marginal.draw_conditional(&mut ChainRng::new(1, 0), &mut q, &mut ws));
        assert!(q.iter().all(|q| q.is_finite()));
    }
    let error = error_at_best_step(&marginal, &at(1e-3, 1.0));
    assert!(error < 1e-6, "{error}");
    // Ten equal units are not told from one any more; exp(-eta) overflows; weights are no numbers.
    for v in [at(1e-7, 1.0), at(1e-200, 1.0), at(1.0, f64::NAN)] {
        let mut grad = vec![0.0; dim];
        let density = marginal.log_density_grad(&v, &mut grad, &mut ws);
        assert!(!density.is_finite() && !density.is_outside_support(), "{density:?}");
        assert!(!marginal.log_density(&v, &mut ws).is_finite());
        let mut q = vec![0.25; posterior.dim()];
        marginal.scatter(&v, &mut q);
        assert!(!marginal.draw_conditional(&mut ChainRng::new(1, 0), &mut q, &mut ws));
        assert!(integrated(&marginal, &q).iter().all(|q| *q == 0.25));
    }
    // What was no number leaves nothing behind.
    let v = at(1e-3, 1.0);
    assert_eq!(
        marginal.log_density(&v, &mut ws),
        marginal.log_density(&v, &mut marginal.workspace())
    );
}

/// As above, with noise that differs between rows: of b_s = -7, and of rows far apart.
#[test]
fn little_noise_of_some_rows_is_no_trouble_and_overflow_is_no_number() {
    let (x, y) = table(60, 2, 1);
    let data = Dataset::regression(x, y).unwrap();
    let network = Mlp::new(&[2, 10, 2], Activation::Tanh).unwrap();
    let priors = Priors::by_fan_in(&network);
    let posterior = Posterior::new(network, HeteroscedasticGaussian, &data, priors).unwrap();
    let marginal = posterior.collapsed().unwrap();
    let (mut ws, dim) = (marginal.workspace(), marginal.dim());
    // The last coordinates are w_s and b_s.
    let at = |log_sd: f64, range: f64| {
        let mut v: Vec<f64> = (0..dim).map(|i| (i as f64 * 1.7).sin()).collect();
        v[dim - 11..dim - 1].iter_mut().for_each(|w| *w *= range);
        v[dim - 1] = log_sd;
        v
    };
    for v in [at(-7.0, 0.1), at(-3.0, 2.0), at(5.0, 2.0)] {
        let mut grad = v.clone();
        let density = marginal.log_density_grad(&v, &mut grad, &mut ws);
        assert!(density.is_finite() && grad.iter().all(|g| g.is_finite()), "{density:?}");
        let error = error_at_best_step(&marginal, &v);
        assert!(error < 1e-6, "{error}");
    }
    for v in
        [at(-17.0, 0.0), at(-200.0, 1.0), at(-800.0, 1.0), at(f64::NAN, 1.0), at(0.0, f64::NAN)]
    {
        let mut grad = vec![0.0; dim];
        let density = marginal.log_density_grad(&v, &mut grad, &mut ws);
        assert!(!density.is_finite() && !density.is_outside_support(), "{density:?}");
        assert!(!marginal.log_density(&v, &mut ws).is_finite());
        let mut q = vec![0.25; posterior.dim()];
        marginal.scatter(&v, &mut q);
        assert!(!marginal.draw_conditional(&mut ChainRng::new(1, 0), &mut q, &mut ws));
        assert!(integrated(&marginal, &q).iter().all(|q| *q == 0.25));
    }
    let v = at(-1.0, 1.0);
    assert_eq!(
        marginal.log_density(&v, &mut ws),
        marginal.log_density(&v, &mut marginal.workspace())
    );
}

#[test]
fn at_beta_zero_the_prior_is_left() {
    let (x, y) = table(10, 2, 1);
    let data = Dataset::regression(x, y).unwrap();
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let priors = Priors::all(Normal::new(0.3, 0.8).unwrap());
    let posterior = Posterior::new(network, Gaussian::fixed(0.1).unwrap(), &data, priors).unwrap();
    let q: Vec<f64> = (0..13).map(|i| (i as f64).cos()).collect();
    let found = find(Tempered::new(&posterior, 0.0).unwrap(), &q, 20_000);
    let expected: f64 = q[..9]
        .iter()
        .map(|q| -0.5 * ((q - 0.3) / 0.8).powi(2) - (0.8 * (std::f64::consts::TAU).sqrt()).ln())
        .sum();
    approx::assert_relative_eq!(found.density.total(), expected, max_relative = 1e-13);
    assert!(found.gradient_error < 1e-9);
    for j in 0..4 {
        let mean = found.draws.iter().map(|b| b[j]).sum::<f64>() / 20_000.0;
        let square = found.draws.iter().map(|b| (b[j] - 0.3).powi(2)).sum::<f64>() / 20_000.0;
        assert!((mean - 0.3).abs() < 4.5 * 0.8 / 20_000f64.sqrt(), "{mean}");
        assert!((square / 0.64 - 1.0).abs() < 4.5 * (2.0 / 20_000f64).sqrt(), "{square}");
    }
}

#[test]
fn what_cannot_be_integrated_out_is_refused_with_the_reason() {
    let (x, y) = table(10, 2, 1);
    let data = Dataset::regression(x, y).unwrap();
    let normal = || Priors::all(Normal::new(0.0, 1.0).unwrap());
    let fixed = || Gaussian::fixed(1.0).unwrap();
    let mlp = || Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    macro_rules! check {
        ($model:expr, $likelihood:expr, $priors:expr, $kind:ident { $($fields:tt)* }) => {{
            let posterior = Posterior::new($model, $likelihood, &data, $priors).unwrap();
            refused!(posterior.collapsed(), $kind { $($fields)* });
            let run = Sampler::new(&posterior, Collapsed::new(Rwm::default())).run();
            refused!(run, $kind { $($fields)* });
        }};
    }
    let squashed = mlp().output_activation(Activation::Sigmoid);
    let value = "Mlp 2-3-1, tanh, outputs sigmoid";
    check!(squashed, fixed(), normal(), Argument { name: "model", value: value });
    let value = "Mlp 2-3-1, tanh in f32";
    check!(mlp().in_f32(), fixed(), normal(), Argument { name: "model", value: value });
    let counts = ndarray::Array2::from_elem((10, 1), 2.0);
    let counts = Dataset::counts(data.x().clone(), counts).unwrap();
    let posterior = Posterior::new(mlp(), Poisson, &counts, normal()).unwrap();
    refused!(posterior.collapsed(), Argument { name: "likelihood" });
    let two = || Mlp::new(&[2, 3, 2], Activation::Tanh).unwrap();
    for block in ["w1", "b1"] {
        let laplace = || normal().with(block, Laplace::new(0.0, 1.0).unwrap());
        check!(mlp(), fixed(), laplace(), Prior {});
        check!(two(), HeteroscedasticGaussian, laplace(), Prior {});
    }
    let squashed = two().output_activation(Activation::Sigmoid);
    check!(squashed, HeteroscedasticGaussian, normal(), Argument { name: "model" });
    check!(Linear::new(2, 1).unwrap(), fixed(), normal(), Argument { value: "w, b" });
    // The prior of hidden weights may be any, and a likelihood that was chosen at run time is taken.
    let laplace = normal().with("w0", Laplace::new(0.0, 1.0).unwrap());
    let any = AnyLikelihood::Gaussian(fixed());
    let posterior = Posterior::new(mlp(), any, &data, laplace).unwrap();
    assert_eq!(posterior.collapsed().unwrap().layout().block_names(), ["w0", "b0"]);
    let any = AnyLikelihood::HeteroscedasticGaussian(HeteroscedasticGaussian);
    let posterior = Posterior::new(two(), any, &data, normal()).unwrap();
    assert_eq!(posterior.collapsed().unwrap().layout().block_names(), ["w0", "b0", "w1", "b1"]);
    let (x, y) = table(10, 2, 2);
    let data = Dataset::regression(x, y).unwrap();
    let four = Mlp::new(&[2, 3, 4], Activation::Tanh).unwrap();
    let posterior = Posterior::new(four, HeteroscedasticGaussian, &data, normal()).unwrap();
    refused!(posterior.collapsed(), Argument { name: "response columns", value: 2 });
    let t = StudentTNoise::sampled().with_degrees_of_freedom(4.0).unwrap();
    let t = t.with_scale(1.0).unwrap();
    let posterior = Posterior::new(two(), t, &data, normal()).unwrap();
    let run = Sampler::new(&posterior, Collapsed::new(Rwm::default())).run();
    refused!(run, Argument { name: "response columns", value: 2 });
}

//! Mean-field variational inference: against closed forms, finite differences and itself.

use std::f64::consts::TAU;

use bnn_mcmc::approximate::{Elbo, Expectation, MeanField};
use bnn_mcmc::draws::Approximation;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Epoch;
use bnn_mcmc::targets::MinibatchTarget;
use bnn_mcmc::testing::{ConjugateRegression, GaussianTarget, NoiseVariance};
use ndarray::{Array1, Array2};
use shared::{failed, refused, said};

use super::fixtures::without_numbers;

fn adam(learning_rate: f64, steps: usize, size: usize) -> Adam<Minibatch> {
    Adam { learning_rate, steps, ..Adam::new(Minibatch { size }) }
}

/// Means and variances of independent normals as means and log standard deviations.
fn v_of(mean: &[f64], variance: impl IntoIterator<Item = f64>) -> Vec<f64> {
    mean.iter().copied().chain(variance.into_iter().map(|v| 0.5 * v.ln())).collect()
}

#[test]
fn a_correlated_gaussian_gives_the_factorised_optimum() {
    // sds_i sds_j rho^|i - j|: the precision is tridiagonal.
    let (rho, sds) = (0.8_f64, [0.3, 1.0, 3.0, 0.5, 2.0]);
    let mean = [1.0, -2.0, 0.0, 10.0, 5.0];
    let d = sds.len();
    let covariance: Vec<f64> = (0..d * d)
        .map(|k| sds[k / d] * sds[k % d] * rho.powi((k / d).abs_diff(k % d) as i32))
        .collect();
    let precision = |i: usize| {
        let at_an_end = i == 0 || i == d - 1;
        (1.0 + if at_an_end { 0.0 } else { rho * rho }) / ((1.0 - rho * rho) * sds[i] * sds[i])
    };
    let log_det =
        (d - 1) as f64 * (1.0 - rho * rho).ln() + sds.iter().map(|sd| 2.0 * sd.ln()).sum::<f64>();
    // From q to p: the trace is d, and the means are equal.
    let kl = 0.5 * (log_det + (0..d).map(|i| precision(i).ln()).sum::<f64>());
    assert!(kl > 1.0);

    let target = GaussianTarget::new(mean.to_vec(), &covariance).unwrap();
    let elbo = Elbo::of_density(&target).seed(3);
    let optimum = v_of(&mean, (0..d).map(|i| 1.0 / precision(i)));
    let (exact, error) = elbo.estimate(&optimum, 4000).unwrap();
    assert!((exact + kl).abs() < 4.0 * error && error < 0.05, "{exact} +- {error}, {}", -kl);

    let config = MeanField { elbo_samples: 4000, ..MeanField::new(adam(0.002, 1_000_000, 1)) };
    let fit = config.fit(&elbo, &[0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
    for i in 0..d {
        let (mean_off, variance) =
            ((fit.mean()[i] - mean[i]) / sds[i], fit.sd()[i].powi(2) * precision(i));
        assert!(mean_off.abs() < 0.02, "mean {i}: off by {mean_off} standard deviations");
        assert!((variance - 1.0).abs() < 0.02, "variance {i}: {variance} of 1 / precision");
    }
    let (bound, error) = fit.elbo();
    assert!(bound < 0.0, "beyond the evidence: {bound} +- {error}");
    assert!((bound + kl).abs() < 4.0 * error, "{bound} +- {error}, not {}", -kl);
    assert_eq!((fit.steps, fit.taken_back), (1_000_000, 0));
}

/// y = X w + b + noise, and all that is known in closed form about it.
struct Regression {
    posterior: Posterior<Mlp, Gaussian>,
    log_evidence: f64,
    mean: Vec<f64>,
    /// The posterior's precision.
    precision: Array2<f64>,
}

const ROWS: usize = 24;

fn regression() -> Regression {
    let (noise, prior_sd) = (0.7, 1.5_f64);
    let mut rng = ChainRng::new(5, 0);
    // Correlated columns, far from their mean: so are the weights.
    let x = Array2::from_shape_fn((ROWS, 2), |_| rng.normal());
    let x = Array2::from_shape_fn((ROWS, 2), |(i, j)| 0.7 + x[(i, 0)] + 0.5 * j as f64 * x[(i, 1)]);
    let y =
        Array1::from_shape_fn(ROWS, |i| 0.5 - x[(i, 0)] + 2.0 * x[(i, 1)] + noise * rng.normal());
    let design = Array2::from_shape_fn((ROWS, 3), |(i, j)| if j < 2 { x[(i, j)] } else { 1.0 });
    let precision =
        design.t().dot(&design) / (noise * noise) + Array2::<f64>::eye(3) / (prior_sd * prior_sd);
    let exact = ConjugateRegression::new(x.view(), y.view(), prior_sd, NoiseVariance::Fixed(noise))
        .unwrap();
    let posterior = Posterior::new(
        Mlp::new(&[2, 1], Activation::Tanh).unwrap(),
        Gaussian::fixed(noise).unwrap(),
        &Dataset::regression(x, y).unwrap(),
        Priors::all(Normal::new(0.0, prior_sd).unwrap()),
    );
    Regression {
        posterior: posterior.unwrap(),
        log_evidence: exact.log_evidence().unwrap(),
        mean: exact.mean(),
        precision,
    }
}

impl Regression {
    /// KL(q, posterior) of two normals.
    fn kl(&self, v: &[f64]) -> f64 {
        let a = &self.precision;
        let off = Array1::from_shape_fn(3, |i| v[i] - self.mean[i]);
        let det = a[(0, 0)] * (a[(1, 1)] * a[(2, 2)] - a[(1, 2)] * a[(2, 1)])
            - a[(0, 1)] * (a[(1, 0)] * a[(2, 2)] - a[(1, 2)] * a[(2, 0)])
            + a[(0, 2)] * (a[(1, 0)] * a[(2, 1)] - a[(1, 1)] * a[(2, 0)]);
        let trace: f64 = (0..3).map(|i| a[(i, i)] * (2.0 * v[3 + i]).exp()).sum();
        let log_dets = -det.ln() - 2.0 * v[3..].iter().sum::<f64>();
        0.5 * (trace + off.dot(&a.dot(&off)) - 3.0 + log_dets)
    }

    /// The gradient of the bound.
    fn grad(&self, v: &[f64]) -> Vec<f64> {
        let off = Array1::from_shape_fn(3, |i| v[i] - self.mean[i]);
        let d_mean = -self.precision.dot(&off);
        let d_log_sd = (0..3).map(|i| 1.0 - self.precision[(i, i)] * (2.0 * v[3 + i]).exp());
        d_mean.iter().copied().chain(d_log_sd).collect()
    }

    fn check_bound<E: Expectation>(&self, elbo: &Elbo<E>, what: &str) {
        for v in [
            v_of(&self.mean, (0..3).map(|i| 1.0 / self.precision[(i, i)])),
            v_of(&[1.0, 0.5, -0.4], [0.3, 0.01, 1.2]),
        ] {
            let (bound, error) = elbo.estimate(&v, 4000).unwrap();
            let exact = self.log_evidence - self.kl(&v);
            let off = (bound - exact) / error;
            assert!(off.abs() < 4.0, "{what}: {bound} +- {error}, not {exact}");
            assert!(bound - 4.0 * error < self.log_evidence, "{what}: {bound}");
        }
    }

    fn check_fit<E: Expectation>(&self, elbo: &Elbo<E>, what: &str) {
        let config = MeanField { elbo_samples: 1000, ..MeanField::new(adam(0.001, 400_000, ROWS)) };
        let fit = config.fit(elbo, &[0.0; 3]).unwrap();
        for i in 0..3 {
            let sd = (1.0 / self.precision[(i, i)]).sqrt();
            let off = (fit.mean()[i] - self.mean[i]) / sd;
            let variance = (fit.sd()[i] / sd).powi(2);
            assert!(
                off.abs() < 0.04 && (variance - 1.0).abs() < 0.03,
                "{what} {i}: {off} {variance}"
            );
        }
        let gap = self.kl(&v_of(&self.mean, (0..3).map(|i| 1.0 / self.precision[(i, i)])));
        let (bound, error) = fit.elbo();
        let off = self.log_evidence - bound - gap;
        // Beside the noise of the estimate, what the ascent has not reached.
        assert!(off.abs() < 4.0 * error + 0.01, "{what}: {bound} +- {error}, gap {gap}");
        assert_eq!(fit.history.len(), 1001);
        assert_eq!(fit.history.last().unwrap().0, 400_000);
        let last = fit.history[976..].iter().map(|(_, bound)| bound / 25.0).sum::<f64>();
        assert!((last - bound).abs() < 0.15, "{what}: {last} along the way, {bound} at the end");
    }

    /// Means of many estimates of the gradient against the exact one.
    fn check_gradient<E: Expectation>(&self, elbo: &Elbo<E>, size: usize, what: &str) {
        let v = v_of(&[1.0, 0.5, -0.4], [0.3, 0.02, 0.2]);
        let (found, errors) = mean_gradient(elbo, &v, size, 20_000);
        for (k, exact) in self.grad(&v).into_iter().enumerate() {
            let off = (found[k] - exact) / errors[k];
            assert!(
                off.abs() < 4.5,
                "{what}, batches of {size}, {k}: {} +- {}, not {exact}",
                found[k],
                errors[k]
            );
        }
    }
}

/// The mean of `n` estimates of the gradient by random batches, and their standard errors.
fn mean_gradient<E: Expectation>(
    elbo: &Elbo<E>,
    v: &[f64],
    size: usize,
    n: usize,
) -> (Vec<f64>, Vec<f64>) {
    let (mut ws, mut grad) = (elbo.workspace(), vec![0.0; v.len()]);
    let (mut sums, mut squares) = (vec![0.0; v.len()], vec![0.0; v.len()]);
    let (mut epoch, mut rng) = (Epoch::new(elbo.n_obs(), size).unwrap(), ChainRng::new(17, 0));
    for _ in 0..n {
        elbo.minibatch_grad_at(1.0, epoch.next_batch(&mut rng), v, &mut grad, &mut ws);
        for (k, g) in grad.iter().enumerate() {
            sums[k] += g;
            squares[k] += g * g;
        }
    }
    let n = n as f64;
    let errors = sums.iter().zip(&squares).map(|(s, q)| ((q / n - (s / n).powi(2)) / n).sqrt());
    let errors = errors.collect();
    (sums.into_iter().map(|s| s / n).collect(), errors)
}

#[test]
fn bound_of_a_linear_regression_misses_the_evidence_by_the_exact_kl_divergence() {
    let problem = regression();
    problem.check_bound(&Elbo::new(&problem.posterior).unwrap().seed(1), "weight samples");
    problem.check_bound(&Elbo::local(&problem.posterior).unwrap().seed(1), "local noise");
    problem.check_bound(&Elbo::of_rows(&problem.posterior).seed(1), "prior sampled");
}

#[test]
fn fits_of_a_linear_regression_reach_the_factorised_optimum() {
    let problem = regression();
    problem.check_fit(&Elbo::new(&problem.posterior).unwrap().seed(2), "weight samples");
    problem.check_fit(&Elbo::local(&problem.posterior).unwrap().seed(2), "local noise");
}

#[test]
fn gradients_of_minibatches_are_unbiased() {
    let problem = regression();
    for size in [5, ROWS] {
        let elbo = Elbo::new(&problem.posterior).unwrap();
        problem.check_gradient(&elbo, size, "weight samples");
        problem.check_gradient(&Elbo::local(&problem.posterior).unwrap(), size, "local noise");
        problem.check_gradient(&Elbo::of_rows(&problem.posterior), size, "prior sampled");
    }
}

/// Two outputs, and priors of which one is normal.
fn priors() -> Priors {
    Priors::new()
        .with("w0", Normal::new(0.3, 1.2).unwrap())
        .hierarchical("b*", "log_variance", LogInverseGamma::new(2.0, 0.5).unwrap())
        .with("w1", Laplace::new(0.0, 0.7).unwrap())
        .with("w2", StudentT::new(4.0, 0.0, 1.0).unwrap())
}

fn features(rows: usize) -> (Array2<f64>, ChainRng) {
    let mut rng = ChainRng::new(8, 0);
    (Array2::from_shape_simple_fn((rows, 3), || rng.normal()), rng)
}

fn network(activation: Activation, output: Activation) -> Mlp {
    Mlp::new(&[3, 4, 3, 2], activation).unwrap().output_activation(output)
}

fn regression_network(activation: Activation) -> Posterior<Mlp, Gaussian> {
    let (x, mut rng) = features(30);
    let y = Array2::from_shape_fn((30, 2), |(i, k)| x[(i, k)] + 0.3 * rng.normal());
    let data = Dataset::regression(x, y).unwrap();
    let priors = priors().with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    Posterior::new(network(activation, activation), Gaussian::sampled(), &data, priors).unwrap()
}

fn classifying_network(activation: Activation) -> Posterior<Mlp, Categorical> {
    let (x, mut rng) = features(30);
    let classes = (0..30).map(|i| usize::from(x[(i, 0)] + rng.normal() > 0.0)).collect();
    let data = Dataset::classification(x, classes, vec!["a", "b"]).unwrap();
    let model = network(activation, Activation::Identity);
    Posterior::new(model, Categorical, &data, priors()).unwrap()
}

/// A point of no symmetry, with standard deviations from 0.05 to 0.6.
fn somewhere(dim: usize) -> Vec<f64> {
    let mut rng = ChainRng::new(21, 0);
    let means: Vec<f64> = (0..dim).map(|_| 0.6 * rng.normal()).collect();
    let variances: Vec<f64> = (0..dim).map(|_| (0.05 + 0.55 * rng.uniform()).powi(2)).collect();
    v_of(&means, variances)
}

/// Every derivative against central differences with the same noise.
fn check_derivatives<E: Expectation>(elbo: &Elbo<E>, what: &str) {
    let v = somewhere(elbo.dim() / 2);
    let rows = [3, 0, 29, 11, 7, 8, 15, 2, 21, 5];
    let estimate = |v: &[f64], grad: &mut [f64]| {
        elbo.minibatch_grad_at(1.0, &rows, v, grad, &mut elbo.workspace()).total()
    };
    let [mut grad, mut unused] = [(); 2].map(|()| vec![0.0; v.len()]);
    estimate(&v, &mut grad);
    for k in 0..v.len() {
        let mut shifted = |by: f64| {
            let mut v = v.clone();
            v[k] += by;
            estimate(&v, &mut unused)
        };
        let h = 1e-5;
        let numeric = (8.0 * (shifted(h) - shifted(-h)) - (shifted(2.0 * h) - shifted(-2.0 * h)))
            / (12.0 * h);
        let off = (grad[k] - numeric).abs();
        assert!(off < 2e-6 * (1.0 + numeric.abs()), "{what}, {k}: {} and {numeric}", grad[k]);
    }
}

#[test]
fn gradients_are_the_derivatives_of_the_estimates_with_their_noise() {
    for &activation in Activation::ALL {
        let posterior = regression_network(activation);
        check_derivatives(
            &Elbo::local(&posterior).unwrap(),
            &format!("local, Gaussian, {activation}"),
        );
        check_derivatives(
            &Elbo::new(&posterior).unwrap(),
            &format!("weights, Gaussian, {activation}"),
        );
        let posterior = classifying_network(activation);
        check_derivatives(
            &Elbo::local(&posterior).unwrap(),
            &format!("local, classes, {activation}"),
        );
    }
}

/// The largest of |a - b| over its standard error.
fn worst(a: &(Vec<f64>, Vec<f64>), b: &(Vec<f64>, Vec<f64>)) -> f64 {
    let off = |k: usize| (a.0[k] - b.0[k]).abs() / a.1[k].hypot(b.1[k]);
    (0..a.0.len()).map(off).fold(0.0, f64::max)
}

#[test]
fn local_noise_and_weight_samples_estimate_the_same_and_local_noise_varies_less() {
    for activation in [Activation::Tanh, Activation::Relu] {
        let posterior = classifying_network(activation);
        let v = somewhere(posterior.layout().dim());
        let local = Elbo::local(&posterior).unwrap().seed(1);
        let weights = Elbo::new(&posterior).unwrap().seed(2);
        let sampled = Elbo::of_rows(&posterior).seed(3);
        let bounds = [
            local.estimate(&v, 20_000).unwrap(),
            weights.estimate(&v, 20_000).unwrap(),
            sampled.estimate(&v, 20_000).unwrap(),
        ];
        println!("{activation}: {bounds:?}");
        for (other, error) in &bounds[1..] {
            let (bound, own) = bounds[0];
            assert!((bound - other).abs() < 4.0 * own.hypot(*error), "{bounds:?}");
        }

        let local = mean_gradient(&local, &v, 10, 20_000);
        let weights = mean_gradient(&weights, &v, 10, 20_000);
        let sampled = mean_gradient(&sampled, &v, 10, 20_000);
        // The largest of 100 or so standard normals is below 4.5 in 999 of 1,000 cases.
        assert!(worst(&local, &weights) < 4.5, "{}", worst(&local, &weights));
        assert!(worst(&weights, &sampled) < 4.5, "{}", worst(&weights, &sampled));
        let n_weights = posterior.model().layout().dim();
        let total = |of: &[f64]| of[..n_weights].iter().map(|e| e * e).sum::<f64>();
        let ratio = total(&weights.1) / total(&local.1);
        println!("{activation}: variance of the gradient by weight samples / local: {ratio}");
        assert!(ratio > 1.3, "{ratio}");
    }
}

#[test]
fn draws_are_the_fitted_normals() {
    let problem = regression();
    let elbo = Elbo::local(&problem.posterior).unwrap();
    let fit = MeanField::new(adam(0.03, 300, 8)).fit(&elbo, &[0.0; 3]).unwrap();
    let draws = fit.draws(20_000, 4).unwrap();
    assert_eq!(draws.values().dim(), (1, 20_000, 3));
    for i in 0..3 {
        let values = draws.values().slice(ndarray::s![0, .., i]).to_owned();
        let off = (values.mean().unwrap() - fit.mean()[i]) / fit.sd()[i];
        let ratio = values.std(1.0) / fit.sd()[i];
        assert!(off.abs() < 0.03 && (ratio - 1.0).abs() < 0.02, "{i}: {off} {ratio}");
    }
    let Some(Approximation::Fitted { method }) = &draws.info().approximation else {
        panic!("{:?}", draws.info().approximation);
    };
    assert_eq!(method, "mean-field variational inference");
    assert_eq!(fit.draws(20_000, 4).unwrap().values(), draws.values());
    refused!(fit.draws(0, 4), Argument { name: "number of draws", value: 0 });
}

#[test]
fn a_fit_depends_on_the_seed_and_not_on_the_threads() {
    let posterior = classifying_network(Activation::Tanh);
    let start = vec![0.1; posterior.layout().dim()];
    let fit = |seed: u64, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let config = MeanField::new(adam(0.01, 100, 10));
        let fits = pool.install(|| {
            let local = config.fit(&Elbo::local(&posterior).unwrap().seed(seed), &start).unwrap();
            let weights = config.fit(&Elbo::new(&posterior).unwrap().seed(seed), &start).unwrap();
            [local, weights]
        });
        fits.map(|fit| (fit.mean().to_vec(), fit.sd().to_vec(), fit.elbo(), fit.history))
    };
    assert_eq!(fit(1, 1), fit(1, 3));
    assert_ne!(fit(1, 1)[0], fit(2, 1)[0]);
    // The noise by itself: one stream for each seed, begun by each workspace.
    let grad = |seed: u64| {
        let elbo = Elbo::local(&posterior).unwrap().seed(seed);
        let mut grad = vec![0.0; elbo.dim()];
        let v = elbo.start(&start, 0.1).unwrap();
        elbo.minibatch_grad_at(1.0, &[0, 1], &v, &mut grad, &mut elbo.workspace());
        grad
    };
    assert_eq!(grad(1), grad(1));
    assert_ne!(grad(1), grad(2));
    // Start, and the end of each epoch of three batches, and of the last one.
    let [(.., history), _] = fit(1, 1);
    assert_eq!(history.iter().map(|(step, _)| *step).take(3).collect::<Vec<_>>(), [0, 3, 6]);
    assert_eq!(history.last().unwrap().0, 100);
}

#[test]
fn a_training_that_diverges_goes_back_and_says_so() {
    let problem = regression();
    let elbo = Elbo::local(&problem.posterior).unwrap();
    // Standard deviations of e^1000, at first.
    let fit = MeanField::new(adam(1000.0, 60, 8)).fit(&elbo, &[0.0; 3]).unwrap();
    assert!(fit.taken_back > 0 && fit.taken_back < 60, "{}", fit.taken_back);
    let all = fit.mean().iter().chain(fit.sd());
    assert!(all.clone().all(|x| x.is_finite()) && fit.elbo().0.is_finite(), "{fit:?}");
    let draws = fit.draws(3, 1).unwrap();
    let Some(Approximation::Fitted { method }) = &draws.info().approximation else {
        panic!("{:?}", draws.info().approximation);
    };
    said!(without_numbers(method));
}

#[test]
fn what_cannot_be_fitted_is_refused_by_name() {
    let (x, _) = features(10);
    let data = Dataset::regression(x, Array1::zeros(10)).unwrap();
    let posterior = |noise: LogInverseGamma, bias: Option<Uniform>| {
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap()).with("log_noise_variance", noise);
        let priors = match bias {
            Some(uniform) => priors.with("b0", uniform),
            None => priors,
        };
        let model = Mlp::new(&[3, 2, 1], Activation::Tanh).unwrap();
        Posterior::new(model, Gaussian::sampled(), &data, priors).unwrap()
    };
    let proper = LogInverseGamma::new(2.0, 0.5).unwrap();
    let boxed = posterior(proper, Some(Uniform::new(-1.0, 1.0).unwrap()));
    let improper = posterior(LogInverseGamma::new(0.0, 0.0).unwrap(), None);
    for posterior in [&boxed, &improper] {
        refused!(Elbo::local(posterior), Prior {});
        refused!(Elbo::new(posterior), Prior {});
    }

    let posterior = posterior(proper, None);
    let elbo = Elbo::local(&posterior).unwrap();
    let good = || MeanField::new(adam(0.01, 10, 5));
    let start = vec![0.0; posterior.layout().dim()];
    let mut far = start.clone();
    far[11] = -1e6; // a noise variance of 0
    for (config, start, name, value) in [
        (MeanField { initial_sd: 0.0, ..good() }, &start[..], "initial standard deviation", "0"),
        (MeanField { initial_sd: f64::NAN, ..good() }, &start, "initial standard deviation", "NaN"),
        (MeanField { elbo_samples: 1, ..good() }, &start, "elbo_samples", "1"),
        (MeanField::new(adam(0.01, 10, 0)), &start, "size of a minibatch", "0"),
        (MeanField::new(adam(0.01, 10, 11)), &start, "size of a minibatch", "11"),
        (MeanField::new(adam(-1.0, 10, 5)), &start, "learning_rate", "-1"),
        (good(), &[f64::NAN; 12], "coordinate 0 of the start", "NaN"),
    ] {
        refused!(config.fit(&elbo, start), Argument { name: name, value: value });
    }
    refused!(good().fit(&elbo, &start[1..]), Shape { what: "length of the start" });
    failed!(good().fit(&elbo, &far), Argument { name: "log density at the start of the ascent" });
    let v = elbo.start(&start, 0.1).unwrap();
    refused!(elbo.estimate(&v[1..], 5), Shape { what: "length of v" });
    refused!(elbo.estimate(&v, 1), Argument { name: "samples of the ELBO", value: 1 });
}

#[test]
fn the_entropy_of_the_normals_is_in_the_bound() {
    // A target that is its own approximation: the bound is its log evidence, 0.
    let target = GaussianTarget::standard(3).unwrap();
    let (bound, error) = Elbo::of_density(&target).estimate(&[0.0; 6], 10_000).unwrap();
    assert!(bound.abs() < 4.0 * error, "{bound} +- {error}");
    // Narrower by e in each of three coordinates, in closed form.
    let v = [0.0, 0.0, 0.0, -1.0, -1.0, -1.0];
    let (bound, error) = Elbo::of_density(&target).estimate(&v, 10_000).unwrap();
    let entropy = 3.0 * (0.5 * (1.0 + TAU.ln()) - 1.0);
    let exact = entropy - 1.5 * (TAU.ln() + (-2.0_f64).exp());
    assert!((bound - exact).abs() < 4.0 * error, "{bound} +- {error}, not {exact}");
}

#[test]
fn settings_are_data() {
    let config = MeanField { initial_sd: 0.1, ..MeanField::default() };
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<MeanField>(&json).unwrap(), config);
    let sgd = MeanField::new(Sgd::new(Minibatch { size: 4 }));
    let elbo_of = regression();
    assert!(sgd.fit(&Elbo::new(&elbo_of.posterior).unwrap(), &[0.0; 3]).is_ok());
}

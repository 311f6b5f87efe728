//! Minibatch gradients of posteriors: against the full gradient and finite differences.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::GradSource;
use bnn_mcmc::targets::{Conditioned, MinibatchTarget, Tempered};
use bnn_mcmc::testing::gradient_error;
use ndarray::Array2;
use shared::refused;

type Estimate<'a> = dyn Fn(&[usize], &[f64], &mut [f64]) -> LogDensity + 'a;

/// 150 rows (three tiles) with a hierarchical prior, and sampled noise if the response is real. Checks
/// the posterior, its likelihood, and its tempered and conditioned views.
fn with_posteriors(check: impl Fn(&Estimate, &Full)) {
    let mut rng = ChainRng::new(3, 0);
    let x = Array2::from_shape_fn((150, 3), |_| rng.normal());
    let y = Array2::from_shape_fn((150, 2), |_| rng.normal());
    let classes = (0..150).map(|i| (i * 7 + i / 5) % 3).collect();
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let priors = || {
        Priors::all(Normal::new(0.1, 0.8).unwrap()).hierarchical(
            "w0",
            "log_variance",
            LogInverseGamma::new(2.0, 1.0).unwrap(),
        )
    };
    let data = Dataset::regression(x.clone(), y).unwrap();
    let network = Mlp::new(&[3, 4, 2], Activation::Tanh).unwrap();
    let priors_with_noise =
        priors().with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let regression =
        Posterior::new(network, Gaussian::sampled(), &data, priors_with_noise).unwrap();
    with_views(&regression, &["b*", "log_noise_variance"], &check);
    let data = Dataset::classification(x, classes, names).unwrap();
    let network = Mlp::new(&[3, 4, 3], Activation::Softplus).unwrap();
    let classification = Posterior::new(network, Categorical, &data, priors()).unwrap();
    with_views(&classification, &["w1", "log_variance"], &check);
}

fn with_views<M: Model, L: Likelihood>(
    posterior: &Posterior<M, L>,
    blocks: &[&str],
    check: &impl Fn(&Estimate, &Full),
) {
    with_target(posterior, check);
    with_target(&posterior.log_likelihood(), check);
    for beta in [0.0, 0.3, 1.0] {
        with_target(&Tempered::new(posterior, beta).unwrap(), check);
    }
    let mut rng = ChainRng::new(6, 0);
    let full: Vec<f64> = (0..posterior.dim()).map(|_| 0.7 * rng.normal()).collect();
    let view = Conditioned::new(posterior, blocks).unwrap();
    with_workspaces(&view, check, &|| {
        let mut ws = view.workspace();
        ws.q.copy_from_slice(&full);
        ws
    });
    let view = Conditioned::new(Tempered::new(posterior, 0.3).unwrap(), blocks).unwrap();
    with_workspaces(&view, check, &|| {
        let mut ws = view.workspace();
        ws.q.copy_from_slice(&full);
        ws
    });
}

fn with_target<T: MinibatchTarget>(target: &T, check: &impl Fn(&Estimate, &Full)) {
    with_workspaces(target, check, &|| target.workspace());
}

fn with_workspaces<T: MinibatchTarget>(
    target: &T,
    check: &impl Fn(&Estimate, &Full),
    workspace: &dyn Fn() -> T::Workspace,
) {
    assert_eq!(target.n_obs(), 150);
    let mut rng = ChainRng::new(5, 0);
    let q: Vec<f64> = (0..target.dim()).map(|_| 0.7 * rng.normal()).collect();
    let mut grad = vec![0.0; q.len()];
    let density = target.log_density_grad(&q, &mut grad, &mut workspace());
    check(
        &|rows, q, grad| target.minibatch_grad_at(1.0, rows, q, grad, &mut workspace()),
        &Full { q, density, grad },
    );
}

/// A position with the full log density and gradient there.
struct Full {
    q: Vec<f64>,
    density: LogDensity,
    grad: Vec<f64>,
}

#[track_caller]
fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    let scale = b.iter().fold(1.0f64, |m, b| m.max(b.abs()));
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * scale, "coordinate {i}: {a} and {b}");
    }
}

#[test]
fn all_rows_give_the_full_gradient() {
    with_posteriors(|minibatch, full| {
        let mut grad = vec![f64::NAN; full.q.len()];
        let rows: Vec<usize> = (0..150).collect();
        assert_eq!(minibatch(&rows, &full.q, &mut grad), full.density);
        assert_eq!(grad, full.grad, "bit for bit");
        let shuffled: Vec<usize> = (0..150).map(|i| (i * 77 + 13) % 150).collect();
        let density = minibatch(&shuffled, &full.q, &mut grad);
        assert_close(&grad, &full.grad, 1e-12);
        assert_close(&[density.likelihood], &[full.density.likelihood], 1e-12);
    });
}

#[test]
fn the_mean_over_an_epoch_is_the_full_gradient() {
    with_posteriors(|minibatch, full| {
        for size in [1, 3, 50, 75] {
            let shuffled: Vec<usize> = (0..150).map(|i| (i * 77 + 13) % 150).collect();
            let (mut grad, mut sum) = (vec![f64::NAN; full.q.len()], vec![0.0; full.q.len()]);
            let (mut likelihood, batches) = (0.0, (150 / size) as f64);
            for rows in shuffled.chunks(size) {
                let estimate = minibatch(rows, &full.q, &mut grad);
                assert_eq!(
                    (estimate.prior, estimate.beta),
                    (full.density.prior, full.density.beta)
                );
                likelihood += estimate.likelihood / batches;
                sum.iter_mut().zip(&grad).for_each(|(s, g)| *s += g / batches);
            }
            assert_close(&sum, &full.grad, 1e-12);
            assert_close(&[likelihood], &[full.density.likelihood], 1e-12);
        }
    });
}

/// Steps without noise, so short that the chain stays where it is: over an epoch they follow the mean of
/// its batches' gradients, which is the full gradient, with control variates around any point too. At that
/// point itself each batch has the full gradient.
#[test]
fn the_steps_of_an_epoch_follow_the_full_gradient() {
    let mut rng = ChainRng::new(9, 0);
    let x = Array2::from_shape_fn((150, 3), |_| rng.normal());
    let y = Array2::from_shape_fn((150, 2), |_| rng.normal());
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.1, 0.8).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let network = Mlp::new(&[3, 4, 2], Activation::Tanh).unwrap();
    let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
    let dim = posterior.dim();
    let [start, mode] = [0, 1].map(|_| (0..dim).map(|_| 0.5 * rng.normal()).collect::<Vec<_>>());
    let full = |q: &[f64]| {
        let mut grad = vec![0.0; dim];
        posterior.log_density_grad(q, &mut grad, &mut posterior.workspace());
        grad
    };
    let minibatch = Minibatch { size: 15 };
    assert_close(&mean_step(&posterior, &start, minibatch, 10), &full(&start), 1e-5);
    let variates = ControlVariates { size: 15, mode: mode.clone() };
    assert_close(&mean_step(&posterior, &start, variates.clone(), 10), &full(&start), 1e-5);
    for steps in 1..4 {
        let found = mean_step(&posterior, &mode, variates.clone(), steps);
        assert_close(&found, &full(&mode), 1e-5);
    }
}

/// The mean of the first steps of SGLD, in units of h.
fn mean_step<T, S>(target: &T, start: &[f64], gradient: S, steps: usize) -> Vec<f64>
where
    T: MinibatchTarget,
    S: for<'t> GradSource<&'t T>,
{
    let h = 1e-9;
    let sgld = Sgld { step_size: h, inverse_temperature: 1e300, ..Sgld::new(gradient) };
    let sampler = Sampler::new(target, sgld).chains(1).warmup(0).draws(steps);
    let draws = sampler.init(Init::Points(vec![start.to_vec()])).run().unwrap();
    let end = draws.draw(0, steps - 1).unwrap();
    end.iter().zip(start).map(|(end, start)| (end - start) / (steps as f64 * h)).collect()
}

#[test]
fn the_gradient_is_that_of_the_estimate() {
    with_posteriors(|minibatch, full| {
        let rows: Vec<usize> = (0..70).map(|i| (i * 77 + 13) % 150).collect();
        let mut grad = vec![f64::NAN; full.q.len()];
        minibatch(&rows, &full.q, &mut grad);
        let (mut at, mut ignored) = (full.q.clone(), grad.clone());
        let mut value = |i: usize, h: f64| {
            at[i] = full.q[i] + h;
            let value = minibatch(&rows, &at, &mut ignored).total();
            at[i] = full.q[i];
            value
        };
        let h = 1e-3;
        let differences: Vec<f64> = (0..full.q.len())
            .map(|i| {
                let (near, far) =
                    (value(i, h) - value(i, -h), value(i, 2.0 * h) - value(i, -2.0 * h));
                (8.0 * near - far) / (12.0 * h)
            })
            .collect();
        assert_close(&grad, &differences, 1e-8);
    });
}

#[test]
fn a_pair_is_two_gradients() {
    let data = Dataset::regression(
        Array2::from_shape_fn((100, 2), |(i, j)| ((7 * i + 3 * j) as f64).sin()),
        Array2::from_shape_fn((100, 1), |(i, _)| (i as f64).cos()),
    )
    .unwrap();
    // A box, out of which one of the two positions lies.
    let priors = Priors::all(Uniform::new(-1.0, 1.0).unwrap());
    let (model, noise) = (Linear::new(2, 1).unwrap(), Gaussian::fixed(0.5).unwrap());
    let posterior = Posterior::new(model, noise, &data, priors).unwrap();
    let (inside, other, outside) = ([0.1, -0.4, 0.6], [0.3, 0.2, -0.9], [2.0, 0.0, 0.0]);
    let rows = [3, 99, 64, 63, 0, 17];
    let positions = [[inside, other], [other, inside], [inside, outside], [outside, outside]];
    let check = |pair: &Pair, single: &Estimate| {
        for q in positions {
            let mut grads = [[f64::NAN; 3]; 2];
            let estimates = pair(&rows, [&q[0], &q[1]], grads.each_mut().map(|g| &mut g[..]));
            for k in 0..2 {
                let mut grad = [f64::NAN; 3];
                let single = single(&rows, &q[k], &mut grad);
                assert_eq!(single, estimates[k]);
                assert_eq!(single.is_outside_support(), q[k] == outside);
                if q[k] != outside {
                    assert_eq!(grad, grads[k]);
                }
            }
        }
    };
    check(
        &|rows, q, grad| {
            posterior.minibatch_grad_pair_at(1.0, rows, q, grad, &mut posterior.workspace())
        },
        &|rows, q, grad| {
            posterior.minibatch_grad_at(1.0, rows, q, grad, &mut posterior.workspace())
        },
    );
    for beta in [0.0, 0.3] {
        let view = Tempered::new(&posterior, beta).unwrap();
        check(
            &|rows, q, grad| view.minibatch_grad_pair_at(1.0, rows, q, grad, &mut view.workspace()),
            &|rows, q, grad| view.minibatch_grad_at(1.0, rows, q, grad, &mut view.workspace()),
        );
    }
    // The likelihood knows no box.
    let likelihood = posterior.log_likelihood();
    let mut ws = likelihood.workspace();
    for q in positions {
        let mut grads = [[f64::NAN; 3]; 2];
        let both = grads.each_mut().map(|g| &mut g[..]);
        let estimates =
            likelihood.minibatch_grad_pair_at(1.0, &rows, [&q[0], &q[1]], both, &mut ws);
        for k in 0..2 {
            let mut grad = [f64::NAN; 3];
            let single = likelihood.minibatch_grad_at(1.0, &rows, &q[k], &mut grad, &mut ws);
            assert_eq!((single, grad), (estimates[k], grads[k]));
            assert!(single.is_finite());
        }
    }
    // The powers of views multiply, and at beta = 0 no likelihood is left.
    let gradient = |beta, by: &dyn Fn(f64, &mut [f64]) -> LogDensity| {
        let mut grad = [f64::NAN; 3];
        (by(beta, &mut grad).likelihood, grad)
    };
    let (hot, q) = (Tempered::new(&posterior, 0.5).unwrap(), [0.3, -0.2, 0.1]);
    let by_view = gradient(0.25, &|beta, grad| {
        hot.minibatch_grad_at(beta, &rows, &q, grad, &mut hot.workspace())
    });
    let by_base = gradient(0.125, &|beta, grad| {
        posterior.minibatch_grad_at(beta, &rows, &q, grad, &mut posterior.workspace())
    });
    assert_eq!(by_view, by_base);
    let none = gradient(0.0, &|beta, grad| {
        likelihood.minibatch_grad_at(beta, &rows, &q, grad, &mut likelihood.workspace())
    });
    assert_eq!(none.1, [0.0; 3]);
}

type Pair<'a> = dyn Fn(&[usize], [&[f64]; 2], [&mut [f64]; 2]) -> [LogDensity; 2] + 'a;

#[test]
fn the_log_likelihood_is_the_posterior_without_its_prior() {
    let mut rng = ChainRng::new(3, 0);
    let x = Array2::from_shape_fn((150, 3), |_| rng.normal());
    let y = Array2::from_shape_fn((150, 2), |_| rng.normal());
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.1, 0.8).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap())
        .hierarchical("w0", "log_variance", LogInverseGamma::new(2.0, 1.0).unwrap());
    let network = Mlp::new(&[3, 4, 2], Activation::Tanh).unwrap();
    let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
    let likelihood = posterior.log_likelihood();
    assert_eq!(Target::layout(&likelihood), Target::layout(&posterior));
    let (mut q, mut start) = (vec![0.0; posterior.dim()], vec![0.0; posterior.dim()]);
    likelihood.draw_start(&mut ChainRng::new(1, 0), &mut q).unwrap();
    posterior.draw_start(&mut ChainRng::new(1, 0), &mut start).unwrap();
    assert_eq!(q, start);

    let mut ws = posterior.workspace();
    let whole = posterior.log_density(&q, &mut ws);
    let alone = likelihood.log_density(&q, &mut ws);
    assert_eq!(alone, LogDensity::new(whole.likelihood, 0.0));
    assert!(gradient_error(&likelihood, &q) < 1e-8, "{}", gradient_error(&likelihood, &q));
    let zeros = || vec![0.0; posterior.dim()];
    let (mut grad, mut all, mut prior) = (zeros(), zeros(), zeros());
    likelihood.log_density_grad(&q, &mut grad, &mut ws);
    posterior.log_density_grad(&q, &mut all, &mut ws);
    Tempered::new(&posterior, 0.0).unwrap().log_density_grad(&q, &mut prior, &mut ws);
    let difference: Vec<f64> = all.iter().zip(&prior).map(|(all, prior)| all - prior).collect();
    assert_close(&grad, &difference, 1e-12);
    // The scale of the hierarchical prior is no part of the likelihood; the noise is.
    let coordinate = |name| posterior.layout().try_range(name).unwrap().start;
    assert_eq!(grad[coordinate("log_variance")], 0.0);
    assert!(grad[coordinate("log_noise_variance")].abs() > 1.0);
}

/// 60 points on a line, its posterior, and the exact means and variances of slope and intercept if the
/// likelihood is taken to the power `beta`.
fn line(beta: f64) -> (Posterior<Linear, Gaussian>, [f64; 2], [f64; 2]) {
    let x = Array2::from_shape_fn((60, 1), |(i, _)| 0.5 + i as f64 / 30.0);
    let y = x.mapv(|x| 1.0 - 0.7 * x + 0.4 * (37.0 * x).sin());
    let (sd, prior_sd) = (0.5, 2.0);
    let precision = |f: &dyn Fn(f64) -> f64| beta * x.iter().map(|x| f(*x)).sum::<f64>() / sd / sd;
    let (a, b, c) = (precision(&|x| x * x), precision(&|x| x), precision(&|_| 1.0));
    let (a, c) = (a + 1.0 / prior_sd / prior_sd, c + 1.0 / prior_sd / prior_sd);
    let rhs = |f: &dyn Fn(f64) -> f64| {
        beta * x.iter().zip(&y).map(|(x, y)| f(*x) * y).sum::<f64>() / sd / sd
    };
    let (r, s) = (rhs(&|x| x), rhs(&|_| 1.0));
    let det = a * c - b * b;
    let mean = [(c * r - b * s) / det, (a * s - b * r) / det];
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, prior_sd).unwrap());
    let (model, noise) = (Linear::new(1, 1).unwrap(), Gaussian::fixed(sd).unwrap());
    (Posterior::new(model, noise, &data, priors).unwrap(), mean, [c / det, a / det])
}

#[track_caller]
fn assert_moments(draws: &Draws, mean: [f64; 2], variance: [f64; 2], tolerance: f64) {
    for j in 0..2 {
        let all: Vec<f64> = draws.flat().column(j).to_vec();
        let n = all.len() as f64;
        let m = all.iter().sum::<f64>() / n;
        let v = all.iter().map(|q| (q - m).powi(2)).sum::<f64>() / n;
        let sd = variance[j].sqrt();
        assert!((m - mean[j]).abs() < tolerance * sd, "mean {j}: {m}, exact {}", mean[j]);
        assert!((v / variance[j] - 1.0).abs() < tolerance, "variance {j}: {v}, {}", variance[j]);
    }
}

#[test]
fn sgld_samples_a_tempered_posterior() {
    let (posterior, mean, variance) = line(0.1);
    let hot = Tempered::new(&posterior, 0.1).unwrap();
    let sgld = Sgld { step_size: 1e-3, ..Sgld::new(Minibatch { size: 20 }) };
    let draws = Sampler::new(&hot, sgld).draws(40_000).thin(2).seed(1).run().unwrap();
    assert_moments(&draws, mean, variance, 0.12);
    let sgld =
        Sgld { step_size: 1e-3, ..Sgld::new(ControlVariates { size: 20, mode: mean.to_vec() }) };
    let draws = Sampler::new(&hot, sgld).draws(40_000).thin(2).seed(1).run().unwrap();
    assert_moments(&draws, mean, variance, 0.12);
}

#[test]
fn sgld_samples_one_block_given_another() {
    let (posterior, mean, variance) = line(1.0);
    let sgld = Sgld { step_size: 2e-4, ..Sgld::new(Minibatch { size: 20 }) };
    let both = Cycle(OnBlocks::new(&["w"], sgld), OnBlocks::new(&["b"], Rwm::default()));
    let draws = Sampler::new(&posterior, both).draws(60_000).thin(4).seed(2).run().unwrap();
    assert_moments(&draws, mean, variance, 0.12);
}

#[test]
fn control_variates_on_a_block_are_refused() {
    let (posterior, mean, _) = line(1.0);
    let sgld = Sgld::new(ControlVariates { size: 20, mode: vec![mean[0]] });
    let run = Sampler::new(&posterior, OnBlocks::new(&["w"], sgld)).run();
    refused!(run, Argument { name: "gradient", value: "ControlVariates" });
}

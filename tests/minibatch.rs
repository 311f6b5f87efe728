//! Minibatch gradients of posteriors: against the full gradient and finite differences.

use bnn_mcmc::prelude::*;
use bnn_mcmc::target::MinibatchTarget;
use ndarray::Array2;

/// 150 rows (three tiles) with a hierarchical prior, and sampled noise if the response is real.
fn with_posteriors(check: impl Fn(&dyn Fn(&[usize], &[f64], &mut [f64]) -> LogDensity, &Full)) {
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
    check(
        &|rows, q, grad| regression.minibatch_grad(rows, q, grad, &mut regression.workspace()),
        &Full::of(&regression),
    );
    let data = Dataset::classification(x, classes, names).unwrap();
    let network = Mlp::new(&[3, 4, 3], Activation::Softplus).unwrap();
    let classification = Posterior::new(network, Categorical, &data, priors()).unwrap();
    check(
        &|rows, q, grad| {
            classification.minibatch_grad(rows, q, grad, &mut classification.workspace())
        },
        &Full::of(&classification),
    );
}

/// A position with the full log density and gradient there.
struct Full {
    q: Vec<f64>,
    density: LogDensity,
    grad: Vec<f64>,
}

impl Full {
    fn of(posterior: &impl GradTarget) -> Self {
        let mut rng = ChainRng::new(5, 0);
        let q: Vec<f64> = (0..posterior.dim()).map(|_| 0.7 * rng.normal()).collect();
        let mut grad = vec![0.0; q.len()];
        let density = posterior.log_density_grad(&q, &mut grad, &mut posterior.workspace());
        Self { q, density, grad }
    }
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
                assert_eq!((estimate.prior, estimate.beta), (full.density.prior, 1.0));
                likelihood += estimate.likelihood / batches;
                sum.iter_mut().zip(&grad).for_each(|(s, g)| *s += g / batches);
            }
            assert_close(&sum, &full.grad, 1e-12);
            assert_close(&[likelihood], &[full.density.likelihood], 1e-12);
        }
    });
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
    let mut ws = posterior.workspace();
    for q in [[inside, other], [other, inside], [inside, outside], [outside, outside]] {
        let mut pair = [[f64::NAN; 3]; 2];
        let [first, second] = &mut pair;
        let estimates =
            posterior.minibatch_grad_pair(&rows, [&q[0], &q[1]], [first, second], &mut ws);
        for k in 0..2 {
            let mut grad = [f64::NAN; 3];
            let single = posterior.minibatch_grad(&rows, &q[k], &mut grad, &mut ws);
            assert_eq!(single, estimates[k]);
            assert_eq!(single.is_outside_support(), q[k] == outside);
            if q[k] != outside {
                assert_eq!(grad, pair[k]);
            }
        }
    }
}

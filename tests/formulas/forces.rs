//! Forces in f32 of posteriors whose output layer is integrated out: close to the gradient, functions of the position
//! alone, and the gradient itself where f32 does not suffice.

use std::sync::atomic::{AtomicBool, Ordering};

use bnn_mcmc::model::{NonCentred, Skip};
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{ConditionallyGaussian, Forces, Marginal, Tempered};
use ndarray::Array2;

fn data(rows: usize, outputs: usize) -> Dataset {
    let mut rng = ChainRng::new(17, 0);
    let x = Array2::from_shape_fn((rows, 3), |_| rng.normal());
    let y = Array2::from_shape_fn((rows, outputs), |(i, k)| {
        (1.5 * x[(i, k)]).sin() + 0.5 * x[(i, 2)] + 0.3 * rng.normal()
    });
    Dataset::regression(x, y).unwrap()
}

fn noise() -> LogInverseGamma {
    LogInverseGamma::new(2.0, 0.5).unwrap()
}

fn forced<T: ConditionallyGaussian>(target: T) -> Marginal<T> {
    let marginal = Marginal::new(target).unwrap().with_forces(Forces::F32);
    assert!(marginal.has_own_force());
    marginal
}

fn force<T: ConditionallyGaussian>(
    marginal: &Marginal<T>,
    v: &[f64],
    ws: &mut <Marginal<T> as Target>::Workspace,
) -> (LogDensity, Vec<f64>) {
    let mut force = vec![f64::NAN; v.len()];
    (marginal.force(v, &mut force, ws), force)
}

fn gradient<T: ConditionallyGaussian>(marginal: &Marginal<T>, v: &[f64]) -> (LogDensity, Vec<f64>) {
    let mut grad = vec![f64::NAN; v.len()];
    (marginal.log_density_grad(v, &mut grad, &mut marginal.workspace()), grad)
}

fn norm(x: impl Iterator<Item = f64>) -> f64 {
    x.map(|x| x * x).sum::<f64>().sqrt()
}

/// The errors of the force, relative, and of the density.
fn errors<T: ConditionallyGaussian>(marginal: &Marginal<T>, v: &[f64]) -> [f64; 2] {
    let (rough, force) = force(marginal, v, &mut marginal.workspace());
    let (density, grad) = gradient(marginal, v);
    let error = norm(force.iter().zip(&grad).map(|(f, g)| f - g)) / norm(grad.iter().copied());
    [error, (rough.total() - density.total()).abs()]
}

#[test]
fn forces_are_gradients_to_the_digits_of_f32() {
    // More rows than are summed in f32 at a time, wide layers with sums in lanes and as products, two hidden layers.
    for (rows, hidden, outputs) in [
        (40, &[5][..], 1),
        (500, &[9], 2),
        (9_001, &[20], 1),
        (700, &[110], 1),
        (700, &[170], 2),
        (300, &[8, 12], 1),
    ] {
        let sizes = [&[3][..], hidden, &[outputs]].concat();
        for activation in [Activation::Tanh, Activation::Silu, Activation::Relu] {
            let network = Mlp::new(&sizes, activation).unwrap();
            let priors = Priors::by_fan_in(&network).with("log_noise_variance", noise());
            let data = data(rows, outputs);
            let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
            check(&format!("{activation} {sizes:?}"), &posterior, rows);
        }
    }
    // With scales of columns, a hierarchical prior of the output layer, and the features beside it.
    let network = Skip::new(Mlp::new(&[3, 7, 1], Activation::Sigmoid).unwrap()).unwrap();
    let network = NonCentred::new(network).by_column("w0", "scales", &["a", "b", "a"]).unwrap();
    let priors = Priors::all(Normal::new(0.1, 0.8).unwrap())
        .hierarchical("w1", "log_variance", noise())
        .with("log_noise_variance", noise());
    let posterior = Posterior::new(network, Gaussian::sampled(), &data(200, 1), priors).unwrap();
    check("scales and features", &posterior, 200);
}

fn check<M: Model>(what: &str, posterior: &Posterior<M, Gaussian>, rows: usize) {
    let mut rng = ChainRng::new(3, 0);
    for beta in [1.0, 0.3] {
        let marginal = forced(Tempered::new(posterior, beta).unwrap());
        for _ in 0..3 {
            let v: Vec<f64> = (0..marginal.dim()).map(|_| 0.5 * rng.normal()).collect();
            let [force, density] = errors(&marginal, &v);
            assert!(
                force < 2e-5 && density < 1e-6 * rows as f64,
                "{what}: {force:.1e} {density:.1e}"
            );
            assert!(force > 1e-9, "{what}: not by computing in f64: {force:.1e}");
        }
    }
    let marginal = forced(Tempered::new(posterior, 0.0).unwrap());
    let v = vec![0.1; marginal.dim()];
    assert_eq!(force(&marginal, &v, &mut marginal.workspace()), gradient(&marginal, &v));
}

/// With several shares of the rows, after whatever was evaluated before, and on any number of threads.
#[test]
fn forces_are_functions_of_the_position_alone() {
    let network = Mlp::new(&[3, 60, 2], Activation::Tanh).unwrap();
    let priors = Priors::by_fan_in(&network).with("log_noise_variance", noise());
    let posterior = Posterior::new(network, Gaussian::sampled(), &data(6_000, 2), priors).unwrap();
    let marginal = forced(&posterior);
    let mut rng = ChainRng::new(8, 0);
    let mut at = || -> Vec<f64> { (0..marginal.dim()).map(|_| 0.5 * rng.normal()).collect() };
    let (v, other) = (at(), at());
    let (expected, gradient_there) =
        (force(&marginal, &v, &mut marginal.workspace()), gradient(&marginal, &v));
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| force(&marginal, &v, &mut marginal.workspace()));
        assert_eq!(found, expected);
        let mut ws = marginal.workspace();
        let mut grad = vec![0.0; v.len()];
        pool.install(|| {
            force(&marginal, &other, &mut ws);
            assert_eq!(force(&marginal, &v, &mut ws), expected);
            // The gradient in between, and the draw of the output layer, which has the same scratch memory.
            let density = marginal.log_density_grad(&v, &mut grad, &mut ws);
            assert_eq!((density, grad.clone()), gradient_there);
            assert_eq!(force(&marginal, &v, &mut ws), expected);
            let mut q = vec![0.0; posterior.dim()];
            marginal.scatter(&v, &mut q);
            assert!(marginal.draw_conditional(&mut ChainRng::new(1, 0), &mut q, &mut ws));
            assert_eq!(force(&marginal, &v, &mut ws), expected);
            assert_eq!(
                marginal.log_density(&v, &mut ws),
                marginal.log_density(&v, &mut marginal.workspace())
            );
        });
    }
}

/// With a thread that takes a share in the second pass and had none in the first: fresh workspaces, on a machine
/// with more to do than it has cores.
#[test]
fn forces_do_not_depend_on_which_threads_are_busy() {
    let network = Mlp::new(&[3, 60, 2], Activation::Tanh).unwrap();
    let priors = Priors::by_fan_in(&network).with("log_noise_variance", noise());
    let posterior = Posterior::new(network, Gaussian::sampled(), &data(6_000, 2), priors).unwrap();
    let marginal = forced(&posterior);
    let v: Vec<f64> = (0..marginal.dim()).map(|i| (1.3 * i as f64).sin()).collect();
    let expected = force(&marginal, &v, &mut marginal.workspace());
    let is_over = AtomicBool::new(false);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let same = |_| force(&marginal, &v, &mut marginal.workspace()) == expected;
        let found = pool.install(|| (0..200).all(same));
        is_over.store(true, Ordering::Relaxed);
        assert!(found);
    });
}

/// Where the noise is so small that B has no digits in f32, and where weights are infinite in f32.
#[test]
fn forces_are_gradients_where_f32_does_not_suffice() {
    let network = Mlp::new(&[3, 6, 1], Activation::Relu).unwrap();
    let priors =
        Priors::by_fan_in(&network).with("log_noise_variance", Normal::new(0.0, 1e3).unwrap());
    let posterior = Posterior::new(network, Gaussian::sampled(), &data(100, 1), priors).unwrap();
    let marginal = forced(&posterior);
    let mut v: Vec<f64> = (0..marginal.dim()).map(|i| (1.7 * i as f64).sin()).collect();
    let noise = marginal.layout().range("log_noise_variance").unwrap().start;
    for (log_variance, is_gradient) in [(-2.0, false), (-18.0, true), (-20.0, true)] {
        v[noise] = log_variance;
        let found = force(&marginal, &v, &mut marginal.workspace());
        assert!(found.1.iter().all(|f| f.is_finite()), "{log_variance}: {found:?}");
        assert_eq!(found == gradient(&marginal, &v), is_gradient, "{log_variance}");
    }
    v[noise] = 176.0;
    v[0] = 1e38;
    v[1] = 4e38;
    let found = force(&marginal, &v, &mut marginal.workspace());
    let expected = gradient(&marginal, &v);
    assert!(expected.0.is_finite() && found == expected, "{found:?} {expected:?}");
}

/// By the size of the problem, unless it is asked for, and where there is one.
#[test]
fn which_targets_have_forces_of_their_own() {
    let of = |rows: usize, units: usize| {
        let network = Mlp::new(&[3, units, 1], Activation::Tanh).unwrap();
        let priors = Priors::by_fan_in(&network).with("log_noise_variance", noise());
        Posterior::new(network, Gaussian::sampled(), &data(rows, 1), priors).unwrap()
    };
    for (rows, units, expected) in [(1_650, 100, true), (1_600, 100, false), (6_600, 49, false)] {
        let posterior = of(rows, units);
        assert_eq!(posterior.collapsed().unwrap().has_own_force(), expected, "{rows} {units}");
        let asked = |forces| posterior.collapsed().unwrap().with_forces(forces).has_own_force();
        assert_eq!([Forces::Auto, Forces::F64, Forces::F32].map(asked), [expected, false, true]);
    }
    assert!(!of(1_650, 100).has_own_force(), "the joint density has none");
    let network = Mlp::new(&[3, 100, 2], Activation::Tanh).unwrap();
    let priors = Priors::by_fan_in(&network);
    let by_row = Posterior::new(network, HeteroscedasticGaussian, &data(1_700, 1), priors).unwrap();
    assert!(!by_row.collapsed().unwrap().with_forces(Forces::F32).has_own_force());
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap()).with("log_noise_variance", noise());
    let linear = Linear::new(3, 1).unwrap();
    let linear = Posterior::new(linear, Gaussian::sampled(), &data(50, 1), priors).unwrap();
    assert!(!linear.collapsed().unwrap().with_forces(Forces::F32).has_own_force());
}

/// The response is a network's, plus noise of standard deviation `sd`; v has its hidden weights.
#[test]
#[ignore = "figures for the documentation: cargo test --release -p bnn-mcmc-tests --test formulas force_error_table -- --ignored --nocapture"]
fn force_error_table() {
    println!("| noise | n / noise^2 | error of the force | of the log density |");
    for sd in [1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4] {
        let mut worst = [0.0f64; 2];
        for seed in 0..3 {
            let (rows, units) = (5_000, 100);
            let mut rng = ChainRng::new(seed, 0);
            let x = Array2::from_shape_fn((rows, 8), |_| rng.normal());
            let network = Mlp::new(&[8, units, 1], Activation::Tanh).unwrap();
            let priors = Priors::by_fan_in(&network).with("log_noise_variance", noise());
            let any = Dataset::regression(x.clone(), Array2::zeros((rows, 1))).unwrap();
            let any = Posterior::new(network.clone(), Gaussian::sampled(), &any, priors.clone());
            let any = any.unwrap();
            let mut q = vec![0.0; any.dim()];
            any.draw_prior(&mut rng, &mut q).unwrap();
            let y = any.predict_at(&q, x.view()).unwrap().mapv(|f| f + sd * rng.normal());
            let data = Dataset::regression(x, y).unwrap();
            let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
            let marginal = forced(&posterior);
            q[any.dim() - 1] = 2.0 * sd.ln();
            let mut v = vec![0.0; marginal.dim()];
            marginal.gather(&q, &mut v);
            let found = errors(&marginal, &v);
            worst = [worst[0].max(found[0]), worst[1].max(found[1])];
        }
        println!("| {sd} | {:.1e} | {:.1e} | {:.1e} |", 5_000.0 / (sd * sd), worst[0], worst[1]);
    }
}

//! Memory: evaluations do not allocate, and emulators say how large they are before they learn.

#[allow(dead_code)]
#[path = "../../../../tests/memory/allocator.rs"]
mod allocator;

use allocator::{allocations_of_thread as allocations, alone};
use bnn_mcmc::memory::set_limit;
use bnn_mcmc::prelude::*;
use bnn_mcmc::surrogate::Emulator;
use bnn_mcmc_emulate::{Emulated, NetworkEmulator, RandomFeatures};
use ndarray::{Array2, Array3};

/// A network 3-4-2 on 300 rows, and 50 positions around 0.
fn network() -> (Posterior<Mlp, Gaussian>, Draws) {
    let x = Array2::from_shape_fn((300, 3), |(i, j)| ((7 * i + 3 * j) as f64).sin());
    let y = Array2::from_shape_fn((300, 2), |(i, j)| ((3 * i + j) as f64).cos());
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let network = Mlp::new(&[3, 4, 2], Activation::Tanh).unwrap();
    let data = Dataset::regression(x, y).unwrap();
    let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
    let draws = positions(&posterior, 50);
    (posterior, draws)
}

fn positions<M: Model>(posterior: &Posterior<M, Gaussian>, n: usize) -> Draws {
    let value = |(_, n, i): (_, usize, usize)| (n as f64 * 0.7 + i as f64 * (n + 1) as f64).sin();
    let values = Array3::from_shape_fn((1, n, posterior.dim()), value);
    Draws::new(posterior.layout().clone(), values).unwrap()
}

fn check(emulator: &impl Emulator, draws: &Draws) {
    let (mut ws, mut sum) = (emulator.workspace(), 0.0);
    let mut grad = vec![0.0; draws.layout().dim()];
    let mut evaluate = |n: usize| {
        let q = draws.draw(0, n).unwrap();
        sum += emulator.add_grad(0.5, q, &mut grad, &mut ws);
        sum += emulator.log_likelihood(q, &mut ws);
        sum += f64::from(u8::from(emulator.is_extrapolating(q)));
    };
    // The dispatch on processor features sets itself up once.
    evaluate(0);
    let count = allocations(|| (1..50).for_each(evaluate));
    assert!(sum.is_finite());
    assert_eq!(count, 0, "{}", emulator.description());
}

#[test]
fn no_evaluation_allocates() {
    alone(|| {
        let (posterior, draws) = network();
        check(&RandomFeatures::default().fit(&posterior, &draws).unwrap(), &draws);
        let reduced = Emulated::ReducedOutputs { share: 0.9 };
        for emulated in [Emulated::LogLikelihood, Emulated::Outputs, reduced] {
            for input_share in [None, Some(0.9)] {
                let settings = NetworkEmulator::new(emulated);
                let settings = NetworkEmulator { steps: 5, input_share, ..settings };
                check(&settings.fit(&posterior, &draws).unwrap(), &draws);
            }
        }
    });
}

#[test]
fn emulators_larger_than_memory_are_refused() {
    fn refused<R>(result: Result<R, Error>, message: &str) {
        let error = result.map(drop).unwrap_err();
        assert!(error.is_argument() && error.to_string().contains(message), "{error}");
    }
    alone(|| {
        let data = Dataset::regression(Array2::zeros((3, 1)), Array2::zeros((3, 1))).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let linear = Linear::new(1, 1).unwrap();
        let posterior =
            Posterior::new(linear, Gaussian::fixed(1.0).unwrap(), &data, priors).unwrap();
        let draws = positions(&posterior, 30);
        let fit = |settings: NetworkEmulator| settings.fit(&posterior, &draws);
        let all = || NetworkEmulator { steps: 1, ..NetworkEmulator::new(Emulated::Outputs) };
        set_limit(Some(6_000));
        refused(
            fit(all()),
            "`emulator of all outputs` is too large: 3 rows x 1 output x 282 pairs and units, thrice x 8 bytes",
        );
        set_limit(Some(1 << 20));
        let wide = NetworkEmulator { hidden: vec![1 << 20, 1 << 20], ..all() };
        refused(fit(wide), "more than the 1.0 MB");
        let features = |features| RandomFeatures { features, ..RandomFeatures::default() };
        refused(
            features(1 << 40).fit(&posterior, &draws),
            "`random features` is too large: 1099511627776 features",
        );
        set_limit(None);
        assert!(fit(all()).is_ok() && features(20).fit(&posterior, &draws).is_ok());
    });
}

//! Gradients of emulators, what they learn, and what is refused.

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::surrogate::{Emulator, Surrogate, SurrogateError};
use bnn_mcmc_emulate::{Emulated, NetworkEmulator, RandomFeatures};
use ndarray::{Array2, Array3};

type Network = Posterior<Mlp, Gaussian>;

/// A regression by a network 2-3-1 on 200 rows, with sampled noise.
fn posterior() -> Network {
    let x = Array2::from_shape_fn((200, 2), |(i, j)| ((7 * i + 3 * j) % 23) as f64 / 11.0 - 1.0);
    let y =
        Array2::from_shape_fn((200, 1), |(i, _)| (2.0 * x[[i, 0]]).sin() + 0.3 * (i as f64).cos());
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap()
}

fn short_run(posterior: &Network) -> Draws {
    let sampler = Sampler::new(posterior, Mala::default()).chains(2).warmup(500).draws(150);
    sampler.seed(3).run().unwrap()
}

/// ell* is the likelihood part, and its gradient that of finite differences, at three places.
fn check_gradient<E: Emulator>(what: &str, surrogate: &Surrogate<&Network, E>, draws: &Draws) {
    let (dim, mut ws) = (surrogate.dim(), surrogate.workspace());
    for (place, q) in
        [(0, 5), (0, 149), (1, 70)].map(|(c, n)| draws.draw(c, n).unwrap()).iter().enumerate()
    {
        let mut grad = vec![0.0; dim];
        let value = surrogate.log_density_grad(q, &mut grad, &mut ws);
        let again = surrogate.log_density(q, &mut ws);
        assert!(
            (value.likelihood - again.likelihood).abs() <= 1e-9 * value.likelihood.abs().max(1.0)
        );
        assert_eq!(value.prior.to_bits(), again.prior.to_bits(), "{what}");
        for i in 0..dim {
            let h = 1e-5;
            let mut at = |step: f64| {
                let mut q = q.to_vec();
                q[i] += step;
                surrogate.log_density(&q, &mut ws).total()
            };
            // Of fourth order.
            let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            let scale = grad.iter().fold(1.0, |most: f64, g| most.max(g.abs()));
            let error = (grad[i] - difference).abs();
            assert!(error < 2e-6 * scale, "{what}, place {place}, {i}: {} {difference}", grad[i]);
        }
    }
}

#[test]
fn gradients_of_emulators_are_exact() {
    let posterior = posterior();
    let draws = short_run(&posterior);
    for gradients in [false, true] {
        let features = RandomFeatures { features: 37, gradients, ..RandomFeatures::default() };
        let fitted = features.fit(&posterior, &draws).unwrap();
        check_gradient("features", &Surrogate::new(&posterior, fitted), &draws);
    }
    let kinds =
        [Emulated::LogLikelihood, Emulated::Outputs, Emulated::ReducedOutputs { share: 0.99 }];
    for emulated in kinds {
        for (input_share, activation) in [
            (None, Activation::Tanh),
            (Some(0.9), Activation::Silu),
            (Some(1.0), Activation::Softplus),
        ] {
            let settings = NetworkEmulator {
                hidden: vec![13, 6],
                activations: vec![activation],
                input_share,
                steps: 60,
                ..NetworkEmulator::new(emulated)
            };
            let fitted = settings.fit(&posterior, &draws).unwrap();
            let (inputs, outputs) = fitted.sizes();
            assert_eq!(inputs < posterior.dim(), input_share == Some(0.9));
            assert_eq!(
                outputs,
                match emulated {
                    Emulated::LogLikelihood => 1,
                    Emulated::Outputs => 200,
                    Emulated::ReducedOutputs { .. } => outputs.min(20),
                }
            );
            let what = format!("{emulated:?} {activation:?}");
            check_gradient(&what, &Surrogate::new(&posterior, fitted), &draws);
        }
    }
}

/// The largest difference of ell* - ell between two draws, in nats.
fn spread<E: Emulator>(emulator: &E, posterior: &Network, draws: &Draws) -> f64 {
    let (mut own, mut ws) = (emulator.workspace(), posterior.workspace());
    let errors: Vec<f64> = (0..150)
        .map(|n| draws.draw(0, n).unwrap())
        .map(|q| {
            emulator.log_likelihood(q, &mut own) - posterior.log_density(q, &mut ws).likelihood
        })
        .collect();
    let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
    errors.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least
}

#[test]
fn emulators_learn() {
    let posterior = posterior();
    let draws = short_run(&posterior);
    let sd = draws.stat("log_likelihood").unwrap().std(1.0);
    let features = RandomFeatures::default().fit(&posterior, &draws).unwrap();
    assert!(features.held_out_error() < 0.5 * sd, "{} of {sd}", features.held_out_error());
    assert!(spread(&features, &posterior, &draws) < 3.0 * sd);
    let settings = NetworkEmulator { dropout: 0.0, ..NetworkEmulator::new(Emulated::Outputs) };
    let network = settings.fit(&posterior, &draws).unwrap();
    assert!(network.held_out_error() < sd, "{} of {sd}", network.held_out_error());
    // As many components as there are change nothing but rounding.
    let all = NetworkEmulator { emulated: Emulated::ReducedOutputs { share: 0.999 }, ..settings };
    assert!(all.fit(&posterior, &draws).unwrap().held_out_error() < sd);
}

/// Two runs at two places: an emulator that knows both is far better at the second one than that of the first alone.
#[test]
fn emulators_learn_from_several_runs() {
    let posterior = posterior();
    let draws = short_run(&posterior);
    let away = draws.values().mapv(|q| q + 0.7);
    let away = Draws::new(posterior.layout().clone(), away).unwrap();
    let features = RandomFeatures::default();
    let alone = features.fit(&posterior, &draws).unwrap();
    let both = features.fit_runs(&posterior, &[&draws, &away]).unwrap();
    let [of_alone, of_both] = [&alone, &both].map(|fitted| spread(fitted, &posterior, &away));
    assert!(of_both < 0.2 * of_alone, "features: {of_both} of {of_alone} nats");
    assert!(both.description().contains("600 "), "{}", both.description());
    let settings = NetworkEmulator { dropout: 0.0, ..NetworkEmulator::new(Emulated::Outputs) };
    let alone = settings.fit(&posterior, &draws).unwrap();
    let both = settings.fit_runs(&posterior, &[&draws, &away]).unwrap();
    let [of_alone, of_both] = [&alone, &both].map(|fitted| spread(fitted, &posterior, &away));
    assert!(of_both < 0.5 * of_alone, "network: {of_both} of {of_alone} nats");
    // `pairs` are of each run, and one run is what `fit` learns from.
    let some = RandomFeatures { pairs: Some(40), ..RandomFeatures::default() };
    let of = |runs: &[&Draws]| some.fit_runs(&posterior, runs).unwrap();
    assert!(of(&[&draws, &away]).description().contains("80 "));
    let one = some.fit(&posterior, &draws).unwrap().held_out_error();
    assert_eq!(of(&[&draws]).held_out_error().to_bits(), one.to_bits());
    let error = some.fit_runs(&posterior, &[]).unwrap_err().to_string();
    assert!(error.contains("`runs to learn from` is 0"), "{error}");
    let error = settings.fit_runs(&posterior, &[]).unwrap_err().to_string();
    assert!(error.contains("`runs to learn from` is 0"), "{error}");
}

#[test]
fn draws_outside_what_an_emulator_learnt_from_are_counted() {
    let posterior = posterior();
    let sampler = Sampler::new(&posterior, Mala::default()).chains(2).warmup(300);
    let draws = sampler.draws(50).run().unwrap();
    let features = RandomFeatures { features: 20, ..RandomFeatures::default() };
    let surrogate = Surrogate::new(&posterior, features.fit(&posterior, &draws).unwrap());
    let error = SurrogateError::measure(&surrogate, &posterior, &draws, 100).unwrap();
    assert_eq!(error.extrapolated, 0, "{error}");
    assert!(!error.to_string().contains("outside"));
    // A tenth of the draws, a hundred times as far away.
    let far = Array3::from_shape_fn(draws.values().dim(), |(chain, n, i)| {
        let factor = if n % 10 == 3 { 100.0 } else { 0.9 };
        let value = |chain: usize, n: usize| draws.values()[[chain, n, i]];
        let all = draws.values().len() / posterior.dim();
        let mean = draws.values().index_axis(ndarray::Axis(2), i).sum() / all as f64;
        mean + factor * (value(chain, n) - mean)
    });
    let far = Draws::new(posterior.layout().clone(), far).unwrap();
    let error = SurrogateError::measure(&surrogate, &posterior, &far, 100).unwrap();
    assert_eq!(error.extrapolated, 10, "{error}");
    assert!(
        error.to_string().contains("10 of 100 lie outside the cloud of points that it learnt from"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_learnt_from_is_refused() {
    let posterior = posterior();
    let dim = posterior.dim();
    let draws = |value: &dyn Fn(usize, usize) -> f64| {
        let values = Array3::from_shape_fn((1, 30, dim), |(_, n, i)| value(n, i));
        Draws::new(posterior.layout().clone(), values).unwrap()
    };
    let features = |draws: &Draws, settings: RandomFeatures| settings.fit(&posterior, draws);
    let network = |draws: &Draws, settings: NetworkEmulator| settings.fit(&posterior, draws);
    let refused = |errors: [Option<bnn_mcmc::Error>; 2], expected: &str| {
        for error in errors {
            let error = error.expect("an error").to_string();
            assert!(error.contains(expected), "{error}");
        }
    };
    let both = |draws: &Draws, pairs| {
        let of_features = RandomFeatures { pairs, ..RandomFeatures::default() };
        let of_network = NetworkEmulator { pairs, ..NetworkEmulator::new(Emulated::LogLikelihood) };
        [features(draws, of_features).err(), network(draws, of_network).err()]
    };
    let fine = draws(&|n, i| 0.1 * ((n * (i + 2)) as f64).sin());
    refused(both(&draws(&|_, _| 0.2), None), "at all 30 pairs");
    refused(
        both(&draws(&|n, i| if n == 7 && i == 1 { f64::NAN } else { n as f64 * 0.01 }), None),
        "at pair 7",
    );
    refused(both(&fine, Some(31)), "`pairs` is 31, but must be from 10 to the 30 draws");
    refused(both(&fine, Some(3)), "`pairs` is 3");
    let other = Draws::new(Layout::vector("q", 3), Array3::zeros((1, 30, 3))).unwrap();
    refused(both(&other, None), "`draws to learn from`");

    let settings = |change: &dyn Fn(&mut NetworkEmulator)| {
        let mut settings = NetworkEmulator::new(Emulated::Outputs);
        change(&mut settings);
        network(&fine, settings).unwrap_err().to_string()
    };
    assert!(settings(&|s| s.hidden.clear()).contains("`hidden`"));
    assert!(settings(&|s| s.activations.clear()).contains("`activations`"));
    assert!(settings(&|s| s.dropout = 1.0).contains("`dropout` is 1"));
    assert!(settings(&|s| s.held_out = 0.9).contains("`held_out` is 0.9"));
    assert!(settings(&|s| s.input_share = Some(0.0)).contains("`input_share` is 0"));
    assert!(settings(&|s| s.learning_rate = f64::NAN).contains("`learning_rate`"));
    // Steps that overflow and are taken back, and steps that lead far away.
    for (learning_rate, shown) in [(1e300, "1e300"), (1e5, "1e5")] {
        let error = settings(&|s| s.learning_rate = learning_rate);
        let message = format!("`learning_rate` is {shown}, but must be smaller: training diverged");
        assert!(error.contains(&message), "{error}");
    }
    assert!(features(&fine, RandomFeatures { features: 0, ..RandomFeatures::default() }).is_err());
}

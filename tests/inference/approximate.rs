//! Methods that are used instead of sampling: ensembles, moments of iterates, dropout.

use bnn_mcmc::approximate::{Distil, Dropout, Swag, ensemble};
use bnn_mcmc::diagnostics::Outcome;
use bnn_mcmc::draws::Approximation;
use bnn_mcmc::optimise::Schedule;
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::GaussianTarget;
use ndarray::{Array1, Array2, Axis};
use shared::{failed, refused, said};

use super::fixtures::without_numbers;

/// y = sin(2 x) + noise.
fn curve(n: usize, seed: u64) -> Dataset {
    let mut rng = ChainRng::new(seed, 0);
    let x = Array2::from_shape_fn((n, 1), |_| 2.0 * rng.normal());
    let y = x.column(0).mapv(|x| (2.0 * x).sin() + 0.1 * rng.normal());
    Dataset::regression(x, y).unwrap()
}

fn posterior(data: &Dataset, hidden: usize) -> Posterior<Mlp, Gaussian> {
    let network = Mlp::new(&[1, hidden, 1], Activation::Tanh).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    Posterior::new(network, Gaussian::fixed(0.3).unwrap(), data, priors).unwrap()
}

fn adam(steps: usize) -> Adam {
    Adam { learning_rate: 0.02, steps, ..Adam::default() }
}

#[test]
fn an_ensemble_is_its_members_and_no_posterior() {
    let data = curve(40, 1);
    let posterior = posterior(&data, 5);
    let fits = Optimiser::new(&posterior, adam(100)).seed(1).run_each(&Init::Random, 4).unwrap();
    let draws = ensemble(&posterior, &fits, 3).unwrap();
    for (k, fit) in fits.iter().enumerate() {
        assert!((0..3).all(|i| draws.draw(k, i) == Some(&fit.q[..])));
    }
    assert_eq!((draws.n_chains(), draws.n_draws()), (4, 3));
    let predictions = posterior.predict(&draws, &data).unwrap();
    let verdict = predictions.verdict().unwrap();
    let method = "a deep ensemble of 4 members".to_string();
    assert_eq!(verdict.outcome, Outcome::Approximation { method: method.clone() });
    assert!(!verdict.is_converged());
    said!(verdict);
    assert!(matches!(draws.verdict().unwrap().outcome, Outcome::Approximation { .. }));
    refused!(posterior.loo(&draws), Argument { name: "draws", value: method });
    refused!(posterior.loo_pit(&draws, &data, 1), Argument { name: "draws", value: method });

    // It says what it is after a file, and belongs to its posterior.
    let folder = tempfile::tempdir().unwrap();
    draws.to_zarr(folder.path().join("run")).unwrap();
    let read = Draws::from_zarr(folder.path().join("run")).unwrap();
    assert_eq!(read.info().approximation, Some(Approximation::Fitted { method }));
    let other = self::posterior(&curve(40, 2), 5);
    let error = other.predict(&draws, &data).map(drop).unwrap_err();
    let Error::Shape { what, .. } = &error else { panic!("{error:?}") };
    assert!(what.starts_with("data of the draws"), "{error}");

    // One fit is a mode.
    let map = ensemble(&posterior, &fits[..1], 1).unwrap();
    said!(map.verdict().unwrap());
    refused!(ensemble(&posterior, &[], 1), Argument { name: "number of fits", value: 0 });
    refused!(ensemble(&posterior, &fits, 0), Argument { name: "repeated", value: 0 });
    // With some hundred repetitions a mode has intervals of new observations.
    let map = ensemble(&posterior, &fits[..1], 2000).unwrap();
    let interval = posterior.predict(&map, &data).unwrap().predictive_interval(0.95).unwrap();
    assert!((interval.mean_width() / (2.0 * 1.96 * 0.3) - 1.0).abs() < 0.02);
    let mut bad = fits.clone();
    bad[2].q[3] = f64::NAN;
    let of_bad = ensemble(&posterior, &bad, 1);
    refused!(of_bad, Argument { name: "coordinate 3 of member 2", value: "NaN" });
    bad[2].q.pop();
    refused!(ensemble(&posterior, &bad, 1), Shape { what: "length of q of member 2" });
}

/// A rate that is too large leaves the last point that was finite, and every method says so.
#[test]
fn trainings_that_fail_are_said() {
    let data = curve(40, 11);
    let posterior = posterior(&data, 5);
    let batch = Minibatch { size: 10 };
    let wild = |rate| Sgd { learning_rate: rate, steps: 200, ..Sgd::new(batch.clone()) };
    for rate in [1.0, 1e200] {
        let fits = Optimiser::new(&posterior, wild(rate)).run_each(&Init::Random, 2).unwrap();
        assert!(fits.iter().all(|fit| fit.q.iter().all(|q| q.is_finite())));
        println!("{rate}: {:?}", fits[0].problem());
        assert!(fits[0].problem().is_some(), "{:?}", fits[0]);
        let method = |draws: Draws| match &draws.info().approximation {
            Some(Approximation::Fitted { method }) => without_numbers(method),
            other => panic!("{other:?}"),
        };
        said!(method(ensemble(&posterior, &fits, 1).unwrap()));
        let dropout = Dropout::new(wild(rate)).fit(&posterior, &Init::Random, 1).unwrap();
        said!(method(dropout.draws(2, 1).unwrap()));
    }
    let good = Optimiser::new(&posterior, adam(500)).run_each(&Init::Random, 2).unwrap();
    assert!(good.iter().all(|fit| fit.problem().is_none()));
    assert!(good[0].log_density.total() > good[0].log_density_at_start.total());
}

#[test]
fn members_are_weighed_by_held_out_rows() {
    let (train, held_out) = (curve(60, 3), curve(200, 4));
    let posterior = posterior(&train, 8);
    let optimiser = |steps| Optimiser::new(&posterior, adam(steps)).seed(1);
    let mut fits = optimiser(2000).run_each(&Init::Random, 2).unwrap();
    fits.extend(optimiser(1).run_each(&Init::Random, 1).unwrap()); // hardly trained
    let draws = ensemble(&posterior, &fits, 500).unwrap();
    let stacking = posterior.predict(&draws, &held_out).unwrap().stacking().unwrap();
    assert!(stacking.weights[2] < 0.05, "{:?}", stacking.weights);
    let mixture = draws.mixture(&stacking.weights).unwrap();
    assert_eq!(mixture.values().dim(), (1, 1500, 25));
    for (k, fit) in fits.iter().enumerate() {
        let flat = mixture.flat();
        let share = flat.rows().into_iter().filter(|q| q.to_slice() == Some(&fit.q)).count();
        assert!((share as f64 / 1500.0 - stacking.weights[k]).abs() <= 1e-3);
    }
    let score = |draws: &Draws| {
        let scores = posterior.predict(draws, &held_out).unwrap().scores().unwrap();
        scores.get("log_predictive_density").unwrap().posterior
    };
    assert!((score(&mixture) - stacking.elpd / 200.0).abs() < 0.01);
    assert!(score(&mixture) > score(&draws));
    let method = "a mixture by weights of a deep ensemble of 3 members".to_string();
    assert_eq!(mixture.verdict().unwrap().outcome, Outcome::Approximation { method });
}

/// With plain gradient ascent on a normal density of precision p, q_t = (1 - r p)^t q_0.
#[test]
fn swags_moments_are_those_of_the_iterates() {
    let precision = [1.0, 4.0, 0.25];
    let covariance = Array2::from_diag(&Array1::from(precision.map(|p| 1.0 / p).to_vec()));
    let target = GaussianTarget::new(vec![0.0; 3], covariance.as_slice().unwrap()).unwrap();
    let (rate, start) = (0.02, [3.0, -2.0, 1.0]);
    let sgd = Sgd { learning_rate: rate, steps: 205, momentum: 0.0, ..Sgd::default() };
    let swag = Swag { burn_in: 40, every: 8, rank: 5, ..Swag::new(sgd) };
    let init = Init::Points(vec![start.to_vec(), start.map(|q| 2.0 * q).to_vec()]);
    let fit = swag.fit(&target, &init, 2, 1).unwrap();
    let position = |t: i32, j: usize| start[j] * (1.0 - rate * precision[j]).powi(t);
    let iterates: Vec<Vec<f64>> =
        (1..=20).map(|i| (0..3).map(|j| position(40 + 8 * i, j)).collect()).collect();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    let mean_of = |n: usize, j: usize| iterates[..n].iter().map(|q| q[j]).sum::<f64>() / n as f64;
    let mut wanted = Array2::<f64>::zeros((3, 3));
    for j in 0..3 {
        let mean = mean_of(20, j);
        close(fit.mean(0).unwrap()[j], mean);
        close(fit.mean(1).unwrap()[j], 2.0 * mean);
        let variance = iterates.iter().map(|q| q[j] * q[j]).sum::<f64>() / 20.0 - mean * mean;
        close(fit.variance(0).unwrap()[j], variance);
        close(fit.variance(1).unwrap()[j], 4.0 * variance);
        wanted[(j, j)] += 0.5 * variance;
        for k in 0..5 {
            let n = 16 + k;
            close(fit.deviations(0).unwrap()[k][j], iterates[n - 1][j] - mean_of(n, j));
        }
    }
    for deviation in fit.deviations(0).unwrap() {
        for ((i, j), c) in wanted.indexed_iter_mut() {
            *c += 0.5 * deviation[i] * deviation[j] / 4.0;
        }
    }
    // The draws have these moments.
    let n = 200_000;
    let draws = fit.draws(n, 3).unwrap();
    assert_eq!(draws.values().dim(), (2, n, 3));
    let first = draws.values().index_axis(Axis(0), 0).to_owned();
    let mean = first.mean_axis(Axis(0)).unwrap();
    let centred = &first - &mean;
    let found = centred.t().dot(&centred) / n as f64;
    for ((i, j), c) in wanted.indexed_iter() {
        let error = (2.0 * wanted[(i, i)] * wanted[(j, j)] / n as f64).sqrt();
        assert!((found[(i, j)] - c).abs() < 5.0 * error, "{found} {wanted}");
        assert!((mean[j] - mean_of(20, j)).abs() < 5.0 * (wanted[(j, j)] / n as f64).sqrt());
    }
    let one = Init::Points(vec![start.to_vec()]);
    // Without a low-rank part the variances are v.
    let diagonal = Swag { rank: 0, ..swag.clone() }.fit(&target, &one, 1, 1).unwrap();
    let draws = diagonal.draws(n, 3).unwrap();
    for j in 0..3 {
        let v = fit.variance(0).unwrap()[j];
        assert!((draws.covariance()[(j, j)] / v - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt());
    }
    assert_eq!(fit.draws(5, 3).unwrap(), fit.draws(5, 3).unwrap());
    assert_ne!(fit.draws(5, 3).unwrap().values(), fit.draws(5, 4).unwrap().values());
}

#[test]
fn cyclical_rates_fall_and_rise_again() {
    let target = GaussianTarget::standard(1).unwrap();
    let sgd = Sgd { learning_rate: 0.3, steps: 12, momentum: 0.0, ..Sgd::default() };
    let swag = Swag { every: 4, rank: 0, cyclical: true, ..Swag::new(sgd.clone()) };
    let fit = swag.fit(&target, &Init::Points(vec![vec![1.0]]), 1, 1).unwrap();
    let cosine = |t: usize, of: f64| 0.5 * (1.0 + (std::f64::consts::PI * t as f64 / of).cos());
    let of_cycle: f64 = (0..4).map(|t| 1.0 - 0.3 * cosine(t, 4.0)).product();
    let mean = (of_cycle + of_cycle.powi(2) + of_cycle.powi(3)) / 3.0;
    assert!((fit.mean(0).unwrap()[0] - mean).abs() < 1e-14);
    // Whole cycles before the first iterate.
    let start = Init::Points(vec![vec![1.0]]);
    let late = |burn_in| Swag { burn_in, ..swag.clone() }.fit(&target, &start, 1, 1);
    let mean = (of_cycle.powi(2) + of_cycle.powi(3)) / 2.0;
    assert!((late(4).unwrap().mean(0).unwrap()[0] - mean).abs() < 1e-14);
    refused!(late(3), Argument { name: "burn_in", value: 3 });
    // The schedules of an ascent.
    let end = |schedule| {
        let optimiser = Optimiser::new(&target, sgd.clone()).schedule(schedule);
        optimiser.run(&[1.0]).unwrap().q[0]
    };
    let half: f64 = (0..12).map(|t| 1.0 - 0.3 * cosine(t, 12.0)).product();
    assert!((end(Schedule::Cosine) - half).abs() < 1e-14);
    assert!((end(Schedule::Constant) - 0.7f64.powi(12)).abs() < 1e-14);
    assert!((end(Schedule::Cycles { steps: 4 }) - of_cycle.powi(3)).abs() < 1e-14);
    let none = Optimiser::new(&target, sgd).schedule(Schedule::Cycles { steps: 0 });
    refused!(none.run(&[1.0]), Argument { name: "steps of a cycle", value: 0 });
}

#[test]
fn swags_settings_are_checked() {
    let target = GaussianTarget::standard(2).unwrap();
    let swag = Swag::new(Sgd { steps: 100, ..Sgd::default() }); // 10 iterates
    let fit = |swag: &Swag<Sgd>| swag.fit(&target, &Init::Random, 1, 1);
    let allowed = "0, or from 2 to the 10 iterates";
    refused!(fit(&swag), Argument { name: "rank", value: 20, allowed: allowed });
    let one = Swag { rank: 1, ..swag.clone() };
    refused!(fit(&one), Argument { name: "rank", value: 1, allowed: allowed });
    refused!(fit(&Swag { every: 0, ..swag.clone() }), Argument { name: "every", value: 0 });
    let few = Swag { burn_in: 85, rank: 0, ..swag.clone() };
    let value = "1 (100 steps, burn_in 85, every 10)";
    refused!(fit(&few), Argument { name: "number of iterates", value: value });
    let good = fit(&Swag { rank: 10, ..swag }).unwrap();
    refused!(good.draws(0, 1), Argument { name: "number of draws", value: 0 });
    // Hardly any step of such a rate leads to where something is finite.
    let wild = Sgd { learning_rate: 1e200, steps: 100, ..Sgd::default() };
    let wild = fit(&Swag { rank: 0, ..Swag::new(wild) });
    let (name, allowed) =
        ("iterates of member 0 that were not taken back", "at least 5: take a lower learning rate");
    failed!(wild, Argument { name: name, allowed: allowed });
    // Of this one all are finite, and far away: |1 - r| = 2, 100 times.
    let wild = Sgd { learning_rate: 3.0, momentum: 0.0, steps: 100, ..Sgd::default() };
    let wild = fit(&Swag { rank: 0, ..Swag::new(wild) });
    let name = "log density at the last iterate of member 0";
    said!(without_numbers(&failed!(wild, Argument { name: name }).to_string()));
}

fn dropout(steps: usize, rows: usize, rate: f64) -> Dropout<Adam<Minibatch>> {
    let adam = Adam { learning_rate: 0.02, steps, ..Adam::new(Minibatch { size: rows }) };
    Dropout { rate, ..Dropout::new(adam) }
}

#[test]
fn a_masked_draw_predicts_what_the_masked_network_predicts() {
    let (data, rate) = (curve(30, 5), 0.3);
    let posterior = posterior(&data, 12);
    let fit = dropout(300, 30, rate).fit(&posterior, &Init::Random, 1).unwrap();
    let draws = fit.draws(4000, 2).unwrap();
    let predictions = posterior.predict(&draws, &data).unwrap();
    let (q, mut kept) = (&fit.fit.q, 0);
    for (s, draw) in draws.flat().rows().into_iter().enumerate() {
        // w0 [12, 1], b0 [12], w1 [1, 12], b1: the hidden units alone are left out.
        let is_kept: Vec<bool> = (24..36).map(|i| draw[i] != 0.0).collect();
        kept += is_kept.iter().filter(|kept| **kept).count();
        for i in 0..37 {
            let factor = match i {
                24..36 => {
                    if is_kept[i - 24] {
                        1.0 / (1.0 - rate)
                    } else {
                        0.0
                    }
                }
                _ => 1.0,
            };
            assert_eq!(draw[i], q[i] * factor);
        }
        if s < 20 {
            let x = data.x()[(s, 0)];
            let unit = |j: usize| match is_kept[j] {
                true => q[24 + j] * (q[j] * x + q[12 + j]).tanh() / (1.0 - rate),
                false => 0.0,
            };
            let by_hand = q[36] + (0..12).map(unit).sum::<f64>();
            assert!((predictions.mean()[[0, s, s, 0]] - by_hand).abs() < 1e-13);
        }
    }
    let (n, share) = (4000.0 * 12.0, kept as f64 / (4000.0 * 12.0));
    assert!((share - (1.0 - rate)).abs() < 5.0 * (rate * (1.0 - rate) / n).sqrt(), "{share}");
    said!(draws.verdict().unwrap());
}

/// Masks of the units before a linear output layer have the expected loss
/// sum_i [(y_i - f_i)^2 + p/(1 - p) sum_j w_j^2 h_ij^2]/(2 s^2) - log p(w): its minimum is what the training
/// finds.
#[test]
fn dropout_minimises_the_expected_loss() {
    let (data, rate, hidden) = (curve(50, 6), 0.4, 3);
    let posterior = posterior(&data, hidden);
    let loss = |q: &[f64]| {
        let mut loss = q.iter().map(|q| 0.5 * q * q).sum::<f64>();
        let Response::Real(y) = data.response() else { panic!() };
        for (x, y) in data.x().rows().into_iter().zip(y.rows()) {
            let h: Vec<f64> = (0..hidden).map(|j| (q[j] * x[0] + q[hidden + j]).tanh()).collect();
            let w = &q[2 * hidden..3 * hidden];
            let f = q[3 * hidden] + h.iter().zip(w).map(|(h, w)| h * w).sum::<f64>();
            let spread: f64 = h.iter().zip(w).map(|(h, w)| (h * w).powi(2)).sum();
            loss += 0.5 * ((y[0] - f).powi(2) + rate / (1.0 - rate) * spread) / 0.09;
        }
        loss
    };
    let start = Init::Around { centre: vec![0.0; 3 * hidden + 1], sd: 0.5 };
    let fit = dropout(60_000, 50, rate).fit(&posterior, &start, 1).unwrap();
    let (q, here) = (fit.fit.q.clone(), loss(&fit.fit.q));
    for i in 0..q.len() {
        let moved = |by: f64| {
            let mut q = q.clone();
            q[i] += by;
            loss(&q)
        };
        // The Newton step to the minimum along this coordinate is short.
        let (up, down, h) = (moved(1e-4), moved(-1e-4), 1e-4);
        let (slope, bend) = ((up - down) / (2.0 * h), (up - 2.0 * here + down) / (h * h));
        println!("{i}: {:.4} curvature {bend:.3}", slope / bend);
        assert!(bend > 0.0 && (slope / bend).abs() < 0.02, "{i}: slope {slope}, curvature {bend}");
    }
}

#[test]
fn rates_of_dropout_are_chosen_and_checked() {
    let (train, held_out) = (curve(60, 7), curve(100, 8));
    let posterior = posterior(&train, 10);
    let start = Init::Random;
    let rates = [0.05, 0.9];
    let of = dropout(800, 60, 0.5);
    let (fit, scores) = of.choose_rate(&posterior, &held_out, &rates, &start, 1).unwrap();
    assert_eq!(fit.rate, 0.05);
    assert!(scores[0] > scores[1], "{scores:?}");
    let again = dropout(800, 60, 0.05).fit(&posterior, &start, 1).unwrap();
    assert_eq!(again.fit, fit.fit);
    assert!(of.choose_rate(&posterior, &held_out, &[], &start, 1).is_err());
    for rate in [1.0, -0.1, f64::NAN] {
        let fit = dropout(10, 60, rate).fit(&posterior, &start, 1);
        refused!(fit, Argument { name: "rate of dropout", value: rate });
    }
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let linear =
        Posterior::new(Linear::new(1, 1).unwrap(), Gaussian::fixed(0.3).unwrap(), &train, priors)
            .unwrap();
    refused!(dropout(10, 60, 0.1).fit(&linear, &start, 1), Argument { name: "model" });
    // Nothing is left out at rate 0.
    let whole = dropout(50, 60, 0.0).fit(&posterior, &start, 1).unwrap();
    assert_eq!(whole.draws(1, 1).unwrap().draw(0, 0).unwrap(), whole.fit.q);
}

/// Draws of a linear model say m(x) = mean(w) x + mean(b): a linear student is that model.
#[test]
fn a_linear_student_is_the_mean_of_linear_draws() {
    let train = curve(30, 9);
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let linear =
        Posterior::new(Linear::new(1, 1).unwrap(), Gaussian::fixed(0.3).unwrap(), &train, priors)
            .unwrap();
    let draws = Sampler::new(&linear, Hmc::default()).warmup(100).draws(50).seed(1).run().unwrap();
    let adam = Adam { learning_rate: 0.05, steps: 3000, ..Adam::new(Minibatch { size: 30 }) };
    let x = train.x().view();
    let student = Distil::new(&[], adam.clone()).fit(&linear, &draws, x, 1).unwrap();
    let mean = draws.mean();
    let inputs = ndarray::array![[-1.0], [0.0], [2.0]];
    let said = student.predict(inputs.view()).unwrap();
    for (x, m) in inputs.iter().zip(&said.mean) {
        assert!((mean[0] * x + mean[1] - m).abs() < 1e-6, "{m}");
    }
    assert_eq!(said.expected_entropy, None);
    let loss = student.loss(&linear, &draws, inputs.view()).unwrap();
    assert!(loss.rmse < 1e-6 && loss.divergence.is_none());

    // One step from a random start is far off, by as much as the loss says.
    let one = Adam { steps: 1, ..adam };
    let student = Distil::new(&[3], one.clone()).fit(&linear, &draws, x, 1).unwrap();
    let said = student.predict(inputs.view()).unwrap().mean;
    let apart = inputs.iter().zip(&said).map(|(x, m)| (mean[0] * x + mean[1] - m).powi(2));
    let rmse = (apart.sum::<f64>() / 3.0).sqrt();
    assert!((student.loss(&linear, &draws, inputs.view()).unwrap().rmse / rmse - 1.0).abs() < 1e-9);

    // It is saved, and needs neither draws nor data.
    let text = serde_json::to_string(&student).unwrap();
    let read: bnn_mcmc::approximate::Student = serde_json::from_str(&text).unwrap();
    assert_eq!(read.predict(inputs.view()).unwrap().mean, said);
    let broken = text.replace("\"classes\":0", "\"classes\":9");
    let broken: bnn_mcmc::approximate::Student = serde_json::from_str(&broken).unwrap();
    refused!(broken.predict(inputs.view()), Shape { what: "classes of the student", found: 9 });

    let fit = |x: Array2<f64>| Distil::new(&[3], one.clone()).fit(&linear, &draws, x.view(), 1);
    refused!(fit(Array2::zeros((0, 1))), Shape { what: "rows of the inputs", found: 0 });
    refused!(fit(Array2::zeros((40, 2))), Shape { found: 2, expected: 1 });
    refused!(fit(Array2::from_elem((40, 1), f64::NAN)), Cell { row: "row 1", column: "#1" });
    assert!(Distil::new(&[0], one.clone()).fit(&linear, &draws, x, 1).is_err());
}

/// Of two draws with logits known by hand.
#[test]
fn a_students_probabilities_and_entropy_are_those_of_the_draws() {
    let mut rng = ChainRng::new(3, 0);
    let x = Array2::from_shape_fn((200, 1), |_| 4.0 * rng.uniform() - 2.0);
    let labels: Vec<usize> = (0..200).map(|i| i % 2).collect();
    let data = Dataset::classification(x.clone(), labels, ["no", "yes"]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(Linear::new(1, 1).unwrap(), Bernoulli, &data, priors).unwrap();
    let q = ndarray::Array3::from_shape_vec((1, 2, 2), vec![3.0, 1.0, -1.0, 0.5]).unwrap();
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    let adam = Adam { learning_rate: 0.02, steps: 20_000, ..Adam::new(Minibatch { size: 200 }) };
    let student = Distil::new(&[20], adam).fit(&posterior, &draws, x.view(), 1).unwrap();

    let inputs = Array2::from_shape_fn((21, 1), |(i, _)| -1.9 + 0.19 * i as f64);
    let said = student.predict(inputs.view()).unwrap();
    let entropy = said.expected_entropy.unwrap();
    let (mut divergence, mut of_entropy, mut of_mean) = (0.0, 0.0, 0.0);
    for (i, x) in inputs.iter().enumerate() {
        let p = [3.0 * x + 1.0, -x + 0.5].map(|z: f64| 1.0 / (1.0 + (-z).exp()));
        let mean = 0.5 * (p[0] + p[1]);
        let h = p.map(|p| -p * p.ln() - (1.0 - p) * (1.0 - p).ln());
        let e = 0.5 * (h[0] + h[1]);
        assert!((said.mean[(i, 1)] - mean).abs() < 0.01, "{x}: {} {mean}", said.mean[(i, 1)]);
        assert!((said.mean[(i, 0)] + said.mean[(i, 1)] - 1.0).abs() < 1e-12);
        assert!((entropy[i] - e).abs() < 0.01, "{x}: {} {e}", entropy[i]);
        let (s, t) = (said.mean[(i, 1)], mean);
        divergence += t * (t / s).ln() + (1.0 - t) * ((1.0 - t) / (1.0 - s)).ln();
        of_entropy += (entropy[i] - e).powi(2);
        of_mean += (s - t).powi(2);
    }
    let loss = student.loss(&posterior, &draws, inputs.view()).unwrap();
    assert!((loss.divergence.unwrap() - divergence / 21.0).abs() < 1e-12);
    assert!((loss.entropy_rmse.unwrap() - (of_entropy / 21.0).sqrt()).abs() < 1e-12);
    assert!((loss.rmse - (of_mean / 21.0).sqrt()).abs() < 1e-12);
    assert_eq!(loss.disagreement, Some(0.0));
}

/// A linearised posterior predicts with draws of chains of its network, whose recorded densities are others, and does
/// not weigh them by importance.
#[test]
fn draws_of_a_network_predict_and_are_no_draws_of_its_linearisation() {
    let data = curve(40, 12);
    let posterior = posterior(&data, 3);
    let draws = Sampler::new(&posterior, Hmc::default()).warmup(200).draws(50).run().unwrap();
    let linearised = posterior.linearised(&draws.mean()).unwrap();
    let predictions = linearised.predict(&draws, &data).unwrap();
    let mean = linearised.predict_mean(&draws, data.x().view()).unwrap();
    assert_eq!(predictions.mean(), mean);
    refused!(linearised.loo(&draws), Argument { name: "draws", value: "Mlp 1-3-1, tanh" });
    assert!(linearised.loo_pit(&draws, &data, 1).is_err());
    assert!(posterior.loo(&draws).is_ok());
    let own = Sampler::new(&linearised, Hmc::default()).warmup(200).draws(50).run().unwrap();
    assert!(linearised.loo(&own).is_ok());
    assert!(posterior.predict(&own, &data).is_err());
}

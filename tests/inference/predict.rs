//! Posterior predictive draws, and scores against hand-computed values, closed forms and models
//! that are known to be calibrated, or known not to be.

use approx::assert_relative_eq;
use bnn_mcmc::engine::{Tile, TileMut};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::predict::{Bins, Predictions, Score, Scores, crps, persistence};
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance};
use ndarray::{Array1, Array2, Array3, Array4, ArrayView1, Axis, array, s};
use proptest::prelude::{ProptestConfig, any, proptest};

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

fn normals(seed: u64, shape: (usize, usize)) -> Array2<f64> {
    let mut rng = ChainRng::new(seed, 0);
    Array2::from_shape_fn(shape, |_| rng.normal())
}

/// A linear posterior on `data`, and `values` `[chain, draw, parameter]` as its draws.
fn linear<L: Likelihood>(
    likelihood: L,
    data: &Dataset,
    outputs: usize,
    values: Array3<f64>,
) -> (Posterior<Linear, L>, Draws) {
    let mut priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    for block in likelihood.layout().blocks() {
        priors = priors.with(&block.name, Normal::new(0.0, 1.0).unwrap());
    }
    let model = Linear::new(data.n_features(), outputs).unwrap();
    let posterior = Posterior::new(model, likelihood, data, priors).unwrap();
    let draws = Draws::new(posterior.layout().clone(), values).unwrap();
    (posterior, draws)
}

/// The same q in each of `n` draws of one chain.
fn same(q: &[f64], n: usize) -> Array3<f64> {
    Array3::from_shape_fn((1, n, q.len()), |(_, _, k)| q[k])
}

/// Predictions by a linear model that knows q.
fn known<L: Likelihood>(
    likelihood: L,
    data: &Dataset,
    outputs: usize,
    q: &[f64],
    n: usize,
) -> Predictions {
    let (posterior, draws) = linear(likelihood, data, outputs, same(q, n));
    posterior.predict(&draws, data).unwrap()
}

/// One real response, whose posterior predictive draws are `values` but for 1e-13.
fn with_draws(values: &[f64], observed: &[f64]) -> Predictions {
    let y = Array1::from(observed.to_vec());
    let data = Dataset::regression(Array2::zeros((y.len(), 1)), y).unwrap();
    let q = Array3::from_shape_fn((1, values.len(), 2), |(_, s, k)| [0.0, values[s]][k]);
    let (posterior, draws) = linear(Gaussian::fixed(1e-14).unwrap(), &data, 1, q);
    posterior.predict(&draws, &data).unwrap()
}

/// Two classes with these probabilities of the second: as one column (Bernoulli) and as two.
fn binary(probabilities: &[f64], classes: &[usize]) -> [Predictions; 2] {
    let logit = |p: f64| (p / (1.0 - p)).ln().min(800.0);
    let x = Array2::from_shape_fn((classes.len(), 1), |(i, _)| logit(probabilities[i]));
    let data = Dataset::classification(x, classes.to_vec(), ["no", "yes"]).unwrap();
    let two = known(Categorical, &data, 2, &[0.0, 1.0, 0.0, 0.0], 2);
    [known(Bernoulli, &data, 1, &[1.0, 0.0], 2), two]
}

/// Three classes with these probabilities.
fn ternary(probabilities: &[[f64; 3]], classes: &[usize]) -> Predictions {
    let x = Array2::from_shape_fn((classes.len(), 3), |(i, k)| probabilities[i][k].ln());
    let data = Dataset::classification(x, classes.to_vec(), ["a", "b", "long name"]).unwrap();
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    known(Categorical, &data, 3, &identity, 2)
}

// ---------------------------------------------------------------------------------------------
// Posterior predictive draws

const N: usize = 40_000;

/// Whether mean and variance of draws are the given ones, within 5 standard errors.
fn has_moments(draws: ArrayView1<f64>, mean: f64, variance: f64) -> bool {
    let n = draws.len() as f64;
    let squares = draws.mapv(|x| (x - mean).powi(2));
    let (error, spread) = (draws.mean().unwrap() - mean, squares.mean().unwrap() - variance);
    error.abs() <= 5.0 * (variance / n).sqrt()
        && spread.abs() <= 5.0 * squares.std(1.0) / n.sqrt() + 1e-9 * variance
}

/// Checks draws of every row and column: `moments(row, column)` is (mean, variance).
fn assert_moments(predictions: &Predictions, moments: impl Fn(usize, usize) -> (f64, f64)) {
    let (_, _, rows, columns) = predictions.predictive_draws().dim();
    for i in 0..rows {
        for j in 0..columns {
            let draws = predictions.predictive_draws();
            let (mean, variance) = moments(i, j);
            assert!(has_moments(draws.slice(s![0, .., i, j]), mean, variance), "({i}, {j})");
        }
    }
}

#[test]
fn real_responses_have_the_noise_sd_tau_not_its_square() {
    let x = normals(1, (70, 1));
    let y = Array2::zeros((70, 2));
    let data =
        Dataset::regression(x.slice(s![..3, ..]).to_owned(), y.slice(s![..3, ..]).to_owned());
    let data = data.unwrap();
    // w = (2, -1), b = (0.5, 0), tau = 0.3.
    let q = [2.0, -1.0, 0.5, 0.0, 0.09f64.ln()];
    let moments = |i: usize, j: usize| ([2.0, -1.0][j] * x[(i, 0)] + [0.5, 0.0][j], 0.09);
    let sampled = known(Gaussian::sampled(), &data, 2, &q, N);
    assert_moments(&sampled, moments);
    assert_moments(&known(Gaussian::fixed(0.3).unwrap(), &data, 2, &q[..4], N), moments);
    // The check would notice the mistake of the tutorial, and less.
    let draws = sampled.predictive_draws();
    let (mean, _) = moments(0, 0);
    let one = draws.slice(s![0, .., 0, 0]);
    assert!(has_moments(one, mean, 0.09));
    assert!(!has_moments(one, mean, 0.09 * 0.09) && !has_moments(one, mean, 0.09 * 1.06));
    assert!(!has_moments(one, mean + 0.01, 0.09));
    // Noise of rows and columns is independent.
    let other = draws.slice(s![0, .., 1, 0]);
    let product = (&one - mean) * (&other - moments(1, 0).0);
    assert!(product.mean().unwrap().abs() < 5.0 * 0.09 / (N as f64).sqrt());
    // All rows of more than one tile are drawn.
    let data = Dataset::regression(x.clone(), y).unwrap();
    let draws = known(Gaussian::sampled(), &data, 2, &q, 400).predictive_draws().to_owned();
    for i in 0..70 {
        let mean = draws.slice(s![0, .., i, 0]).mean().unwrap();
        assert!((mean - moments(i, 0).0).abs() < 6.0 * 0.3 / 20.0, "row {i}");
    }
}

#[test]
fn classes_are_drawn_with_their_probabilities() {
    let x = array![[-3.0], [-0.2], [1.7], [1e4], [-1e4]];
    let data = Dataset::classification(x.clone(), vec![0; 5], ["a", "b"]).unwrap();
    let p = x.mapv(sigmoid);
    let predictions = known(Bernoulli, &data, 1, &[1.0, 0.0], N);
    assert_moments(&predictions, |i, _| (p[(i, 0)], p[(i, 0)] * (1.0 - p[(i, 0)])));

    let data = Dataset::classification(x.clone(), vec![0; 5], ["a", "b", "c"]).unwrap();
    let w = [0.3, -1.0, 2.0];
    let predictions = known(Categorical, &data, 3, &[0.3, -1.0, 2.0, 0.0, 0.0, 0.0], N);
    assert_eq!(predictions.predictive_draws().dim().3, 1);
    for i in 0..5 {
        let draws = predictions.predictive_draws();
        let draws = draws.slice(s![0, .., i, 0]);
        let top = w.map(|w| w * x[(i, 0)]).into_iter().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = w.iter().map(|w| (w * x[(i, 0)] - top).exp()).sum();
        for (k, w) in w.iter().enumerate() {
            let p = (w * x[(i, 0)] - top).exp() / total;
            let is_k = draws.mapv(|c| f64::from(u8::from(c == k as f64)));
            assert!(has_moments(is_k.view(), p, p * (1.0 - p)), "row {i}, class {k}");
        }
    }
}

#[test]
fn counts_are_drawn_in_as_many_trials_as_were_observed() {
    let x = array![[-2.0], [0.4], [0.1], [1e4], [-1e4]];
    let n = [7.0, 50.0, 1e6, 30.0, 3.0];
    let data = Dataset::counts(x.clone(), Array2::from_shape_fn((5, 2), |(i, j)| [0.0, n[i]][j]));
    let predictions = known(Binomial, &data.unwrap(), 1, &[1.0, 0.0], N);
    let p = x.mapv(sigmoid);
    assert_moments(&predictions, |i, j| {
        let p = [p[(i, 0)], 1.0 - p[(i, 0)]];
        (n[i] * p[j], n[i] * p[0] * p[1])
    });

    let observed = Array2::from_shape_fn((5, 4), |(i, j)| [0.0, n[i], 0.0, 0.0][j]);
    let data = Dataset::counts(x.clone(), observed).unwrap();
    let w = [0.3, -1.0, 2.0, 0.0];
    let predictions = known(Multinomial, &data, 4, &[0.3, -1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0], N);
    let p = Array2::from_shape_fn((5, 4), |(i, j)| {
        1.0 / w.iter().map(|w_k| ((w_k - w[j]) * x[(i, 0)]).exp()).sum::<f64>()
    });
    assert_moments(&predictions, |i, j| (n[i] * p[(i, j)], n[i] * p[(i, j)] * (1.0 - p[(i, j)])));
    let draws = predictions.predictive_draws();
    for (i, n) in n.iter().enumerate() {
        let rows = draws.slice(s![0, .., i, ..]);
        assert!(rows.rows().into_iter().all(|r| r.sum() == *n), "row {i}");
        // cov(c_0, c_3) = -n p_0 p_3, by the variance of the sum.
        let sum = &rows.column(0) + &rows.column(3);
        let p = p[(i, 0)] + p[(i, 3)];
        assert!(has_moments(sum.view(), n * p, n * p * (1.0 - p)), "row {i}");
    }
}

#[test]
fn draws_depend_on_the_seed_and_not_on_the_threads() {
    let x = normals(3, (130, 2));
    let data = Dataset::regression(x, normals(4, (130, 1))).unwrap();
    let q = normals(5, (60, 4)).into_shape_with_order((3, 20, 4)).unwrap();
    let (posterior, draws) = linear(Gaussian::sampled(), &data, 1, q);
    let with = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let p = posterior.predict_seeded(&draws, &data, seed).unwrap();
            let all = (p.crps().unwrap(), p.pit(7).unwrap(), p.predictive_interval(0.9).unwrap());
            (p.predictive_draws().to_owned(), all, p.scores().unwrap().to_string())
        })
    };
    let (one, four) = (with(1, 9), with(4, 9));
    assert!(one == four);
    assert!(one.0 != with(4, 10).0);
    // The default is the run's own seed: 0 for draws from elsewhere.
    let default = posterior.predict(&draws, &data).unwrap();
    assert_eq!(default.predictive_draws(), with(2, 0).0);
    // Chains and draws have noise of their own.
    let noise: Array4<f64> = &one.0 - &default.mean();
    let tau = draws.values().index_axis(Axis(2), 3).mapv(|eta| (0.5 * eta).exp());
    let z = |c: usize, d: usize| noise[(c, d, 0, 0)] / tau[(c, d)];
    assert!((z(0, 0) - z(1, 0)).abs() > 1e-6 && (z(0, 0) - z(0, 1)).abs() > 1e-6);
    // It is not the noise that the chain itself was driven by.
    assert!((z(0, 0) - ChainRng::new(9, 0).normal()).abs() > 1e-6);
}

/// Predictions and held-out scores go by position: other names, or the same in another order, are refused
/// with what mends them, which then gives the same numbers.
#[test]
fn names_of_columns_and_classes_are_those_of_the_training_data() {
    let x = normals(6, (40, 3));
    let y = Array2::from_shape_fn((40, 2), |(i, j)| x[(i, j)] - x[(i, 2)]);
    let unnamed = Dataset::regression(x.clone(), y.clone()).unwrap();
    let features = |names: [&str; 3]| unnamed.clone().with_feature_names(names).unwrap();
    let train = features(["a", "b", "c"]).with_response_names(["u", "v"]).unwrap();
    let q = normals(7, (20, 8)).into_shape_with_order((2, 10, 8)).unwrap();
    let (posterior, draws) = linear(Gaussian::fixed(0.5).unwrap(), &train, 2, q.clone());
    assert_eq!(posterior.feature_names(), ["a", "b", "c"]);
    assert_eq!(posterior.response_names(), ["u", "v"]);

    let turned = train.select_features(["c", "b", "a"]).unwrap();
    let refused = |data: &Dataset, message: &str| {
        let error = posterior.predict(&draws, data).map(drop).unwrap_err();
        assert!(error.is_argument() && error.to_string().contains(message), "{error}");
        let held_out = posterior.held_out(data).map(drop).unwrap_err();
        assert_eq!(error.to_string(), held_out.to_string());
    };
    let message = "`features of the data, column 1` is `c`, but must be `a`, as in the training data; \
                   all names are there, in another order: select them by `Dataset::select_features`";
    refused(&turned, message);
    let mended = turned.select_features(posterior.feature_names()).unwrap();
    let expected = posterior.predict(&draws, &train).unwrap();
    assert_eq!(posterior.predict(&draws, &mended).unwrap().mean(), expected.mean());
    let other = features(["a", "d", "c"]).with_response_names(["u", "v"]).unwrap();
    refused(
        &other,
        "column 2` is `d`, but must be `b`, as in the training data: if it is the same",
    );
    refused(&other, "rename it by `Dataset::with_feature_names`");
    refused(&unnamed, "column 1` is `x1`, but must be `a`");
    refused(
        &features(["a", "b", "c"]),
        "`response of the data, column 1` is `y1`, but must be `u`",
    );
    let y = train.clone().with_response_names(["v", "u"]).unwrap();
    refused(&y, "column 1` is `v`, but must be `u`");

    // Plain arrays fit each other by their default names.
    let (posterior, draws) = linear(Gaussian::fixed(0.5).unwrap(), &unnamed, 2, q);
    assert!(posterior.predict(&draws, &unnamed.select(&[3, 1]).unwrap()).is_ok());
    assert!(posterior.predict(&draws, &train).is_err());

    let classes = |names: [&str; 2]| {
        let classes = (0..40).map(|i| i % 2).collect();
        Dataset::classification(x.clone(), classes, names).unwrap()
    };
    let (posterior, draws) = linear(Bernoulli, &classes(["no", "yes"]), 1, Array3::ones((1, 5, 4)));
    let error = |data: &Dataset| posterior.predict(&draws, data).map(drop).unwrap_err().to_string();
    let turned = error(&classes(["yes", "no"]));
    assert!(
        turned.contains("`classes of the data, name 1` is `yes`, but must be `no`"),
        "{turned}"
    );
    assert!(turned.contains("select them by `Dataset::select_classes`"), "{turned}");
    let other = error(&classes(["no", "maybe"]));
    assert!(other.contains("name 2` is `maybe`, but must be `yes`"), "{other}");
    let column = classes(["no", "yes"]).with_response_names(["survived"]).unwrap();
    assert!(error(&column).contains("`response of the data, column 1` is `survived`"));
}

#[test]
fn a_chain_by_itself_is_what_its_draws_alone_predict() {
    let data = Dataset::regression(normals(3, (30, 2)), normals(4, (30, 1))).unwrap();
    let q = normals(5, (60, 4)).into_shape_with_order((3, 20, 4)).unwrap();
    let (posterior, draws) = linear(Gaussian::sampled(), &data, 1, q.clone());
    let all = posterior.predict(&draws, &data).unwrap();
    for c in 0..3 {
        let alone = Draws::new(draws.layout().clone(), q.slice(s![c..=c, .., ..]).to_owned());
        let alone = posterior.predict(&alone.unwrap(), &data).unwrap();
        let chain = all.chain(c).unwrap();
        assert_eq!(chain.mean(), alone.mean());
        assert_eq!(chain.log_density(), alone.log_density());
        assert_eq!(chain.predictive_draws(), all.predictive_draws().slice(s![c..=c, .., .., ..]));
        assert_eq!(chain.posterior_mean().unwrap(), alone.posterior_mean().unwrap());
        assert_eq!(chain.verdict().unwrap().outcome, alone.verdict().unwrap().outcome);
    }
    let error = all.chain(3).unwrap_err();
    assert!(error.is_argument() && error.to_string().contains("`chain` is 3"), "{error}");
}

#[test]
fn divergences_are_counted_for_each_chain() {
    // Steps so large that the linear predictor overflows.
    let data = Dataset::regression(array![[1e300], [-1e300]], array![0.0, 0.0]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1e10).unwrap());
    let model = Linear::new(1, 1).unwrap().without_bias();
    let posterior = Posterior::new(model, Gaussian::fixed(1.0).unwrap(), &data, priors).unwrap();
    let rwm = Rwm { step_size: 1e10, adapt_step_size: false, ..Rwm::default() };
    let init = Init::Points(vec![vec![0.0]; 2]);
    let sampler = Sampler::new(&posterior, rwm).chains(2).warmup(0).draws(50).init(init);
    let draws = sampler.run().unwrap();
    let all = posterior.predict(&draws, &data).unwrap();
    let of = |p: Predictions| p.verdict().unwrap().divergences;
    assert_eq!(of(all.clone()), draws.divergences());
    let each = [0, 1].map(|c| of(all.chain(c).unwrap()));
    assert!(each.iter().all(|d| *d > 0) && each.iter().sum::<u64>() == draws.divergences());
}

#[test]
fn noise_hides_disagreement_and_is_summarised_apart() {
    // Two chains that are each sure of their own constant, 0 and 0.5, under noise of sd 1.
    let data = Dataset::regression(Array2::zeros((3, 1)), array![0.0, 0.0, 0.0]).unwrap();
    let mut rng = ChainRng::new(6, 0);
    let q = Array3::from_shape_fn((2, 500, 2), |(c, _, k)| {
        if k == 0 { 0.0 } else { 0.5 * c as f64 + 0.01 * rng.normal() }
    });
    let (posterior, draws) = linear(Gaussian::fixed(1.0).unwrap(), &data, 1, q);
    let predictions = posterior.predict(&draws, &data).unwrap();
    let (function, noisy) = (predictions.summary().unwrap(), predictions.predictive_summary());
    let noisy = noisy.unwrap();
    let names = |s: &Summary| s.rows.iter().map(|r| r.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&function), names(&noisy));
    assert!(function.max_rhat() > 1.7, "{}", function.max_rhat());
    assert!(noisy.max_rhat() < 1.1, "{}", noisy.max_rhat());
    let [classes, _] = binary(&[0.9, 0.2], &[1, 1]);
    let message = classes.predictive_summary().unwrap_err().to_string();
    assert!(message.contains("real numbers or counts"), "{message}");
}

// ---------------------------------------------------------------------------------------------
// Real responses

#[test]
fn how_far_chains_are_apart_is_hand_computed() {
    // The chains expect 0, 1, 2 and 3 at x = 1, twice that at x = 2, and all 0 at x = 0; every other
    // draw is 1/2 more, the others 1/2 less. Neighbouring chains end on different sides of their means, so
    // that their last draws scatter more than their means.
    let data =
        Dataset::regression(array![[0.0], [1.0], [2.0]], array![[0.0], [0.0], [0.0]]).unwrap();
    let off = |c: usize, s: usize| if (s + c).is_multiple_of(2) { 0.5 } else { -0.5 };
    let q = Array3::from_shape_fn((4, 500, 2), |(c, s, k)| [c as f64 + off(c, s), 0.0][k]);
    let (posterior, draws) = linear(Gaussian::fixed(1.0).unwrap(), &data, 1, q.clone());
    let predictions = posterior.predict(&draws, &data).unwrap();
    let y: Vec<f64> =
        predictions.predictive_draws().slice(s![.., .., 2, 0]).iter().copied().collect();
    let mean = y.iter().sum::<f64>() / 2000.0;
    let variance = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 1999.0;
    let apart = predictions.chains_apart().unwrap();
    // Of 0, 2, 4, 6 the variance is (9 + 1 + 1 + 9) / 3.
    assert_relative_eq!(apart, (20.0 / 3.0 / variance).sqrt(), max_relative = 1e-12);
    // The predictive variance is 5 + 1 + 1.
    assert!((apart - (20.0 / 21.0_f64).sqrt()).abs() < 0.05, "{apart}");
    let verdict = predictions.verdict().unwrap();
    assert_eq!(verdict.apart, Some(apart));

    // A draw that is not a number is not smaller than others.
    let mut bad = q.clone();
    bad[(1, 7, 0)] = f64::NAN;
    let bad = Draws::new(posterior.layout().clone(), bad).unwrap();
    assert!(posterior.predict(&bad, &data).unwrap().chains_apart().unwrap().is_nan());
    // One chain alone; no draws.
    let one = predictions.chain(2).unwrap();
    assert!(one.chains_apart().unwrap().is_nan() && one.verdict().unwrap().apart.is_none());
    let none = Draws::new(posterior.layout().clone(), Array3::zeros((4, 0, 2))).unwrap();
    assert!(posterior.predict(&none, &data).unwrap().chains_apart().is_err());

    // Counts: the rate is exp(0.2 c) at x = 0, and so small at x = -1000 that all draws are 0.
    let data = Dataset::counts(array![[0.0], [-1e3]], array![0.0, 0.0]).unwrap();
    let q = Array3::from_shape_fn((4, 2000, 2), |(c, _, k)| [1.0, 0.2 * c as f64][k]);
    let (posterior, draws) = linear(Poisson, &data, 1, q);
    let rates = [0.0, 0.2, 0.4, 0.6_f64].map(f64::exp);
    let mean = rates.iter().sum::<f64>() / 4.0;
    let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    let expected = (squares / 3.0 / (squares / 4.0 + mean)).sqrt();
    let apart = posterior.predict(&draws, &data).unwrap().chains_apart().unwrap();
    assert!((apart / expected - 1.0).abs() < 0.05, "{apart} {expected}");
    let only = data.select(&[1]).unwrap();
    assert!(posterior.predict(&draws, &only).unwrap().chains_apart().unwrap().is_nan());
    // Proportions and classes have another scale than their draws.
    let data = Dataset::counts(array![[0.0]], array![[1.0, 2.0]]).unwrap();
    let error = known(Binomial, &data, 1, &[1.0, 0.0], 2).chains_apart().unwrap_err();
    assert!(error.to_string().contains("counts in one column"), "{error}");
    let [classes, _] = binary(&[0.2, 0.7], &[0, 1]);
    let error = classes.chains_apart().unwrap_err();
    assert!(error.is_argument() && error.to_string().contains("classes"), "{error}");
}

#[test]
fn crps_is_its_closed_form_for_a_normal_and_hand_computed_for_few_draws() {
    use statrs::distribution::{Continuous, ContinuousCDF, Normal};
    let normal = Normal::new(0.0, 1.0).unwrap();
    let n = 100_000;
    let quantiles: Vec<f64> =
        (0..n).map(|i| normal.inverse_cdf((f64::from(i) + 0.5) / f64::from(n))).collect();
    for (mean, sd) in [(0.0, 1.0), (3.0, 0.2), (1e6, 1.0)] {
        let draws: Vec<f64> = quantiles.iter().map(|z| mean + sd * z).collect();
        for z in [-2.5, -0.3, 0.0, 1.0, 4.0] {
            let exact = z * (2.0 * normal.cdf(z) - 1.0) + 2.0 * normal.pdf(z)
                - 1.0 / std::f64::consts::PI.sqrt();
            assert_relative_eq!(crps(&draws, mean + sd * z), sd * exact, max_relative = 1e-4);
        }
    }
    // By the definition with two sums.
    let draws = [1.5f64, -0.5, 2.0, 2.0, 7.0];
    let pairs: f64 = draws.iter().flat_map(|a| draws.map(|b| (a - b).abs())).sum();
    let single: f64 = draws.iter().map(|a| (a - 1.0f64).abs()).sum();
    assert_relative_eq!(crps(&draws, 1.0), single / 5.0 - pairs / 50.0, max_relative = 1e-14);
    assert!(crps(&[], 1.0).is_nan() && crps(&[1.0, f64::NAN], 1.0).is_nan());

    let predictions = with_draws(&draws, &[1.0, 9.0]);
    let rows = predictions.crps().unwrap();
    assert_relative_eq!(rows[(0, 0)], crps(&draws, 1.0), max_relative = 1e-10);
    assert_relative_eq!(rows[(1, 0)], crps(&draws, 9.0), max_relative = 1e-10);
    let score = predictions.scores().unwrap().get("crps").unwrap().posterior;
    assert_relative_eq!(score, rows.mean().unwrap(), max_relative = 1e-12);
}

#[test]
fn intervals_and_coverage_are_hand_computed() {
    // Draws 0, 1, ..., 20 in scrambled order: the quantile p is 20 p.
    let draws: Vec<f64> = (0..21).map(|i| f64::from((i * 8) % 21)).collect();
    let observed = [2.9, 3.1, 10.0, 16.9, 17.1, -5.0];
    let predictions = with_draws(&draws, &observed);
    for interval in
        [predictions.predictive_interval(0.7).unwrap(), predictions.mean_interval(0.7).unwrap()]
    {
        assert_eq!((interval.level, interval.lower.dim()), (0.7, (6, 1)));
        for i in 0..6 {
            assert_relative_eq!(interval.lower[(i, 0)], 3.0, max_relative = 1e-10);
            assert_relative_eq!(interval.upper[(i, 0)], 17.0, max_relative = 1e-10);
        }
    }
    let coverage = predictions.coverage(0.7).unwrap();
    assert_eq!((coverage.level, coverage.share), (0.7, 0.5));
    assert_relative_eq!(coverage.mean_width, 14.0, max_relative = 1e-10);
    // Several levels at once, in any order: the quantile p is 20 p here, too.
    let coverages = predictions.coverages(&[0.95, 0.7, 0.3]).unwrap();
    assert_eq!(coverages[1], coverage);
    for (coverage, (level, inside, width)) in
        coverages.iter().zip([(0.95, 5.0, 19.0), (0.7, 3.0, 14.0), (0.3, 1.0, 6.0)])
    {
        assert_eq!(coverage.level, level);
        assert_relative_eq!(coverage.share, inside / 6.0, max_relative = 1e-12);
        assert_relative_eq!(coverage.mean_width, width, max_relative = 1e-10);
    }
    assert!(predictions.coverages(&[]).unwrap().is_empty());
    let error = predictions.coverages(&[0.5, 1.0]).unwrap_err().to_string();
    assert!(error.contains("`level` is 1"), "{error}");
    let scores = predictions.scores().unwrap();
    let value = |name: &str| scores.get(name).unwrap().posterior;
    assert_relative_eq!(value("width_95"), 19.0, max_relative = 1e-10);
    assert_relative_eq!(value("coverage_95"), 5.0 / 6.0, max_relative = 1e-12);
    // A bound belongs to its interval; the shape is checked.
    let interval = predictions.mean_interval(0.7).unwrap();
    assert_eq!(interval.coverage(interval.upper.view()).unwrap(), 1.0);
    let error = interval.coverage(array![[1.0]].view()).unwrap_err().to_string();
    assert!(error.contains("found 1 row of 1 column, expected 6 rows of 1"), "{error}");
}

#[test]
fn skill_compares_with_persistence() {
    let series = [1.0, 3.0, 2.0, 5.0];
    let data = bnn_mcmc::data::Takens::new(2).embed(&series).unwrap();
    let reference = persistence(&data).unwrap();
    assert_eq!(reference, array![[3.0], [2.0]]);
    // The model predicts t + 0.5: errors 2 - 3.5 and 5 - 2.5 against 2 - 3 and 5 - 2.
    let predictions = known(Gaussian::fixed(0.1).unwrap(), &data, 1, &[0.0, 1.0, 0.5], 3);
    let skill = predictions.skill(reference.view()).unwrap();
    assert_relative_eq!(skill, 1.0 - (2.25 + 6.25) / (1.0 + 9.0), max_relative = 1e-12);
    let itself = predictions.posterior_mean().unwrap();
    assert_relative_eq!(predictions.skill(itself.view()).unwrap(), 0.0);
    let perfect = data.real().unwrap();
    assert_eq!(predictions.skill(perfect.view()).unwrap(), f64::NEG_INFINITY);

    let short = predictions.skill(array![[1.0]].view()).unwrap_err().to_string();
    assert!(short.contains("reference predictions: found 1 row "), "{short}");
    let nan = predictions.skill(array![[1.0], [f64::NAN]].view()).unwrap_err().to_string();
    assert!(nan.contains("`reference` is NaN"), "{nan}");
    let classes = Dataset::classification(array![[1.0]], vec![0], ["a", "b"]).unwrap();
    assert!(persistence(&classes).is_err());
}

#[test]
fn pit_is_the_rank_of_the_observation() {
    let predictions = with_draws(&[4.0, 1.0, 3.0, 2.0], &[2.5, 0.0, 9.0]);
    for seed in 0..20 {
        let u = predictions.pit(seed).unwrap().values;
        assert!((0.4..0.6).contains(&u[(0, 0)]), "{u}");
        assert!((0.0..0.2).contains(&u[(1, 0)]) && (0.8..1.0).contains(&u[(2, 0)]), "{u}");
    }
    assert_ne!(predictions.pit(1).unwrap(), predictions.pit(2).unwrap());
    let pit = bnn_mcmc::predict::Pit { values: array![[0.1], [0.9], [0.5], [1.0]] };
    // F_n is 0, 1/4 from 0.1, 2/4 from 0.5, 3/4 from 0.9, 1 from 1.0: farthest just below 0.9.
    assert_relative_eq!(pit.ks_distance(), 0.4, max_relative = 1e-12);
    assert_eq!(pit.histogram(2).unwrap(), [1, 3]);
    assert_eq!(pit.histogram(4).unwrap(), [1, 0, 1, 2]);
    let mut csv = Vec::new();
    pit.write_csv(&mut csv).unwrap();
    assert!(csv.starts_with(b"row,column,pit\n0,0,0.1\n1,0,0.9\n"));
}

/// Rows whose responses come from the very distribution that is predicted, unless `noise` or
/// `shift` say otherwise.
fn simulated(noise: f64, shift: f64) -> Predictions {
    let x = normals(31, (4_000, 1));
    let z = normals(32, (4_000, 1));
    let y = 2.0 * &x + 0.3 * &z;
    let data = Dataset::regression(x, y).unwrap();
    known(Gaussian::fixed(noise).unwrap(), &data, 1, &[2.0, shift], 500)
}

#[test]
fn a_right_model_is_calibrated_and_wrong_ones_are_not() {
    // 4,000 rows: the standard error of the coverage is 0.0034, and 99.9 % of Kolmogorov distances
    // lie below 1.95 / sqrt(4000) = 0.031.
    let right = simulated(0.3, 0.0);
    let coverage = right.coverage(0.95).unwrap();
    assert!((coverage.share - 0.95).abs() < 0.015, "{coverage:?}");
    assert!((coverage.mean_width - 2.0 * 1.96 * 0.3).abs() < 0.02, "{coverage:?}");
    assert!((right.coverage(0.5).unwrap().share - 0.5).abs() < 0.04);
    let ks = right.pit(1).unwrap().ks_distance();
    assert!(ks < 0.031, "{ks}");
    let best = right.crps().unwrap().mean().unwrap();
    assert!((best - 0.3 / std::f64::consts::PI.sqrt()).abs() < 0.01, "{best}");
    // tau^2 in place of tau; too wide by half; shifted by a third of tau.
    for (noise, shift) in [(0.09, 0.0), (0.45, 0.0), (0.3, 0.1)] {
        let wrong = simulated(noise, shift);
        assert!(wrong.pit(1).unwrap().ks_distance() > 0.08, "{noise}, {shift}");
        assert!(wrong.crps().unwrap().mean().unwrap() > best + 0.002, "{noise}, {shift}");
    }
    let narrow = simulated(0.09, 0.0);
    assert!(narrow.coverage(0.95).unwrap().share < 0.5);
    let histogram = narrow.pit(1).unwrap().histogram(10).unwrap();
    assert!(histogram[0] > 3 * histogram[5] && histogram[9] > 3 * histogram[5], "{histogram:?}");
    assert!(simulated(0.45, 0.0).coverage(0.95).unwrap().share > 0.99);
}

/// Gaussian noise that is drawn with variance tau^4: the tutorial's mistake, sd tau^2.
#[derive(Clone, Copy)]
struct SquaredNoise(Gaussian);

impl Likelihood for SquaredNoise {
    fn layout(&self) -> Layout {
        self.0.layout()
    }
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        self.0.encode(response, n_outputs)
    }
    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        self.0.log_lik_rows(phi, out, y, rows)
    }
    fn log_lik_grad(&self, phi: &[f64], out: Tile, y: Tile, d: TileMut, d_phi: &mut [f64]) -> f64 {
        self.0.log_lik_grad(phi, out, y, d, d_phi)
    }
    fn mean(&self, phi: &[f64], out: Tile, mean: TileMut) {
        self.0.mean(phi, out, mean)
    }
    fn draw(&self, phi: &[f64], out: TileMut, y: Tile, rng: &mut ChainRng, drawn: TileMut) {
        self.0.draw(&[2.0 * phi[0]], out, y, rng, drawn)
    }
}

/// Coverage at 95 % of new observations and of the true mean function, over many data sets with
/// parameters from the prior and exact posterior draws, where it must be right on average; the share of
/// new observations in the intervals of the mean function; and the mean widths of both intervals.
fn conjugate_coverage<L: Likelihood + Copy>(likelihood: L) -> ([f64; 3], [f64; 2]) {
    let (prior_sd, rows, new_rows, n, sets) = (1.5, 8, 10, 400, 300);
    let (mut share, mut width) = ([0.0; 3], [0.0; 2]);
    for set in 0..sets {
        let mut rng = ChainRng::new(77, set);
        let x = Array2::from_shape_fn((rows + new_rows, 2), |_| rng.normal());
        let w = [0; 3].map(|_| prior_sd * rng.normal());
        let f = x.dot(&array![w[0], w[1]]) + w[2];
        let tau = 0.4;
        let y = f.mapv(|f| f + tau * rng.normal());
        let (old, new) = (s![..rows], s![rows.., ..]);
        let exact = ConjugateRegression::new(
            x.slice(s![..rows, ..]),
            y.slice(old),
            prior_sd,
            NoiseVariance::Fixed(tau),
        )
        .unwrap();
        let mut values = Array3::zeros((1, n, 4));
        for mut draw in values.index_axis_mut(Axis(0), 0).rows_mut() {
            let mut q = [0.0; 3];
            exact.draw(&mut rng, &mut q);
            draw.assign(&array![q[0], q[1], q[2], (tau * tau).ln()]);
        }
        let y = y.insert_axis(Axis(1));
        let data = Dataset::regression(x.slice(new).to_owned(), y.slice(new).to_owned()).unwrap();
        let (posterior, draws) = linear(likelihood, &data, 1, values);
        let predictions = posterior.predict_seeded(&draws, &data, set).unwrap();
        let coverage = predictions.coverage(0.95).unwrap();
        let [mean, interval] =
            [predictions.mean_interval(0.95), predictions.predictive_interval(0.95)]
                .map(Result::unwrap);
        // The intervals that users ask for are those whose coverage is counted.
        assert_eq!(interval.mean_width(), coverage.mean_width);
        assert_eq!(interval.coverage(y.slice(new)).unwrap(), coverage.share);
        let f = f.insert_axis(Axis(1));
        share[0] += coverage.share / sets as f64;
        share[1] += mean.coverage(f.slice(new)).unwrap() / sets as f64;
        share[2] += mean.coverage(y.slice(new)).unwrap() / sets as f64;
        width[0] += coverage.mean_width / sets as f64;
        width[1] += mean.mean_width() / sets as f64;
    }
    (share, width)
}

#[test]
fn exact_posteriors_cover_what_they_should() {
    // 300 data sets: the standard errors are about 0.006 (y) and 0.011 (f); and 400 draws cover
    // 0.945 of y.
    let (share, width) = conjugate_coverage(Gaussian::sampled());
    assert!((share[0] - 0.945).abs() < 0.02, "{share:?}");
    assert!((share[1] - 0.945).abs() < 0.035, "{share:?}");
    assert!(width[0] > 2.0 * 1.96 * 0.4 && width[1] < width[0], "{width:?}");
    // Where the noise dominates, the interval of the mean misses most observations.
    assert!(share[2] < 0.75, "{share:?}");
    let (share, _) = conjugate_coverage(SquaredNoise(Gaussian::sampled()));
    assert!(share[0] < 0.85, "the mistake of sd tau^2 goes unnoticed: {share:?}");
}

#[test]
fn discrete_responses_have_a_uniform_randomised_pit() {
    let x = normals(41, (3_000, 1));
    let mut rng = ChainRng::new(42, 0);
    let trials = 5;
    let counts = Array2::from_shape_fn((3_000, 2), |(_, j)| [0.0, f64::from(trials)][j]);
    let mut counts = counts;
    for (mut row, x) in counts.rows_mut().into_iter().zip(&x) {
        let k = (0..trials).filter(|_| rng.uniform() < sigmoid(*x)).count() as f64;
        row.assign(&array![k, f64::from(trials) - k]);
    }
    let data = Dataset::counts(x, counts).unwrap();
    let first = |bias: f64| {
        let predictions = known(Binomial, &data, 1, &[1.0, bias], 400);
        let mut pit = predictions.pit(3).unwrap();
        pit.values = pit.values.slice(s![.., ..1]).to_owned();
        (pit.ks_distance(), predictions)
    };
    let (ks, predictions) = first(0.0);
    assert!(ks < 1.95 / 3_000f64.sqrt(), "{ks}");
    assert!(first(0.3).0 > 0.06);
    // Counts are covered more often than the level says; CRPS is that of counts.
    assert!(predictions.coverage(0.8).unwrap().share > 0.8);
    assert_eq!(predictions.crps().unwrap().dim(), (3_000, 2));
    assert!(predictions.scores().unwrap().get("crps").is_none());
}

// ---------------------------------------------------------------------------------------------
// Classes

#[test]
fn confusion_and_brier_are_hand_computed() {
    let p = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.5, 0.2], [0.2, 0.2, 0.6]];
    let predictions = ternary(&p, &[0, 1, 2, 2]);
    let confusion = predictions.confusion().unwrap();
    assert_eq!(confusion.counts, array![[1, 0, 0], [0, 1, 0], [0, 1, 1]]);
    assert_eq!(confusion.accuracy(), 0.75);
    assert_eq!(confusion.recall(), [1.0, 1.0, 0.5]);
    assert_eq!(confusion.precision(), [1.0, 0.5, 1.0]);
    assert_eq!(
        confusion.to_string(),
        "observed \\ predicted a b long name\n\
         a                    1 0         0\n\
         b                    0 1         0\n\
         long name            0 1         1\n"
    );
    let brier = (0.14 + 0.26 + (0.09 + 0.25 + 0.64) + 0.24) / 4.0;
    assert_relative_eq!(predictions.brier().unwrap(), brier, max_relative = 1e-12);
    let error = predictions.brier_binary().unwrap_err().to_string();
    assert!(error.contains("found 3, expected 2"), "{error}");

    let classes = [1, 0, 1, 0];
    for predictions in binary(&[0.9, 0.2, 0.4, 0.5], &classes) {
        let halves = (0.01 + 0.04 + 0.36 + 0.25) / 4.0;
        assert_relative_eq!(predictions.brier_binary().unwrap(), halves, max_relative = 1e-12);
        assert_relative_eq!(predictions.brier().unwrap(), 2.0 * halves, max_relative = 1e-12);
        assert_eq!(predictions.confusion().unwrap().counts, array![[2, 0], [1, 1]]);
    }
}

#[test]
fn reliability_and_ece_are_hand_computed() {
    // Confidences .9 (hit), .8 (hit), .6 (miss), .55 (hit), .9 (miss).
    let p = [0.9, 0.2, 0.4, 0.55, 0.1];
    let classes = [1, 0, 1, 1, 1];
    for predictions in binary(&p, &classes) {
        let width = predictions.reliability(Bins::EqualWidth(4)).unwrap();
        // (1/2, 3/4] holds .6 and .55, (3/4, 1] the others.
        let rows: Vec<usize> = width.bins.iter().map(|b| b.rows).collect();
        assert_eq!(rows, [2, 3]);
        let (a, b) = (&width.bins[0], &width.bins[1]);
        assert_eq!((a.lower, a.upper, b.lower, b.upper), (0.5, 0.75, 0.75, 1.0));
        assert_relative_eq!(a.confidence, 0.575, max_relative = 1e-12);
        assert_relative_eq!(b.confidence, 2.6 / 3.0, max_relative = 1e-12);
        assert_eq!((a.accuracy, b.accuracy), (0.5, 2.0 / 3.0));
        let ece = (2.0 * 0.075 + 3.0 * 0.2) / 5.0;
        assert_relative_eq!(width.ece(), ece, max_relative = 1e-12);

        let count = predictions.reliability(Bins::EqualCount(2)).unwrap();
        let rows: Vec<usize> = count.bins.iter().map(|b| b.rows).collect();
        assert_eq!(rows, [2, 3]);
        assert_relative_eq!(count.bins[1].lower, 0.8, max_relative = 1e-12);
        let mut csv = Vec::new();
        width.write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert!(csv.starts_with("lower,upper,rows,confidence,accuracy\n0.5,0.75,2,0.57"), "{csv}");
        assert_eq!(csv.lines().count(), 3);
        // The default of the table of scores: 15 bins.
        let score = predictions.scores().unwrap().get("ece").unwrap().clone();
        let fifteen = predictions.reliability(Bins::default()).unwrap().ece();
        assert_eq!(Bins::default(), Bins::EqualWidth(15));
        assert_relative_eq!(score.posterior, fifteen, max_relative = 1e-12);
        assert_relative_eq!(score.draws_mean, fifteen, max_relative = 1e-12);
    }
    // Rows of equal confidence share a bin, whatever their order; empty bins vanish.
    for classes in [[1, 1, 0, 0], [0, 1, 0, 1]] {
        let [one, _] = binary(&[0.75; 4], &classes);
        let bins = one.reliability(Bins::EqualCount(3)).unwrap().bins;
        assert_eq!((bins.len(), bins[0].rows, bins[0].accuracy), (1, 4, 0.5));
    }
    // Edges: a confidence of exactly 1 belongs to the last bin, one of 1/2 to (1/4, 1/2].
    let [one, _] = binary(&[1.0, 0.5], &[1, 0]);
    let bins = one.reliability(Bins::EqualWidth(4)).unwrap().bins;
    assert_eq!((bins[0].upper, bins[1].upper), (0.5, 1.0));
}

#[test]
fn right_probabilities_have_a_small_ece_and_overconfident_ones_a_large_one() {
    let n = 20_000;
    let z = normals(51, (n, 1)).mapv(|z| 1.5 * z);
    let mut rng = ChainRng::new(52, 0);
    let classes: Vec<usize> = z.iter().map(|z| usize::from(rng.uniform() < sigmoid(*z))).collect();
    let data = Dataset::classification(z, classes, ["a", "b"]).unwrap();
    let ece = |slope: f64, bins: Bins| {
        let predictions = known(Bernoulli, &data, 1, &[slope, 0.0], 2);
        predictions.reliability(bins).unwrap().ece()
    };
    for bins in [Bins::EqualWidth(15), Bins::EqualCount(15)] {
        // About sqrt(2 * 0.2 / (pi n / 8)) = 0.007 by chance alone.
        assert!(ece(1.0, bins) < 0.02, "{bins:?}: {}", ece(1.0, bins));
        assert!(ece(3.0, bins) > 0.1 && ece(0.3, bins) > 0.1, "{bins:?}");
    }
    let brier = |slope: f64| known(Bernoulli, &data, 1, &[slope, 0.0], 2).brier().unwrap();
    assert!(brier(1.0) < brier(1.5) && brier(1.0) < brier(0.7), "the Brier score is proper");
}

// ---------------------------------------------------------------------------------------------
// The table of scores, and errors

#[test]
fn the_table_of_scores_leaves_out_what_single_draws_do_not_have() {
    let scores = simulated(0.3, 0.0).scores().unwrap();
    let names: Vec<&str> = scores.scores.iter().map(|s| s.name.as_str()).collect();
    let expected = ["rmse", "mae", "crps", "coverage_95", "width_95", "log_predictive_density"];
    assert_eq!(names, expected);
    for s in &scores.scores {
        let predictive = ["crps", "coverage_95", "width_95"].contains(&s.name.as_str());
        assert_eq!(s.draws_mean.is_nan(), predictive, "{}", s.name);
    }
    let table = scores.to_string();
    let line = table.lines().find(|l| l.starts_with("95 % interval, coverage")).unwrap();
    let cells: Vec<&str> = line[24..].split_whitespace().collect();
    assert!(cells[0].starts_with("0.9") && cells[1..] == ["-", "-"], "{line}");
    assert!(table.lines().all(|l| l.chars().count() == 72), "{table}");

    let json = serde_json::to_string(&scores).unwrap();
    let back: Scores = serde_json::from_str(&json).unwrap();
    let numbers = |s: &Score| (s.posterior, s.draws_mean.is_nan(), s.draws_sd.is_nan());
    for (a, b) in scores.scores.iter().zip(&back.scores) {
        assert_eq!(numbers(a), numbers(b));
    }
    let [one, _] = binary(&[0.9, 0.2], &[1, 1]);
    let scores = one.scores().unwrap();
    let names: Vec<&str> = scores.scores.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["accuracy", "brier", "ece", "log_predictive_density"]);
    assert_relative_eq!(scores.get("brier").unwrap().draws_mean, 0.65, max_relative = 1e-12);
}

#[test]
fn the_wrong_question_is_an_error() {
    let real = with_draws(&[0.0, 1.0], &[0.5]);
    let [classes, _] = binary(&[0.9, 0.2], &[1, 1]);
    for level in [0.0, 1.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        for error in [
            real.predictive_interval(level).unwrap_err(),
            real.mean_interval(level).unwrap_err(),
            real.coverage(level).unwrap_err(),
        ] {
            let message = error.to_string();
            assert!(error.is_argument() && message.contains("`level` is"), "{message}");
        }
    }
    let wanted = |error: Error, wanted: &str| {
        let message = error.to_string();
        let expected = format!("but must be {wanted}");
        assert!(error.is_argument() && message.contains(&expected), "{message}");
    };
    wanted(classes.predictive_interval(0.9).unwrap_err(), "real numbers or counts");
    wanted(classes.coverage(0.9).unwrap_err(), "real numbers or counts");
    wanted(classes.crps().unwrap_err(), "real numbers or counts");
    wanted(classes.pit(1).unwrap_err(), "real numbers or counts");
    wanted(classes.skill(array![[0.0], [0.0]].view()).unwrap_err(), "real numbers");
    wanted(real.confusion().unwrap_err(), "classes");
    wanted(real.brier().unwrap_err(), "classes");
    wanted(real.brier_binary().unwrap_err(), "classes");
    wanted(real.reliability(Bins::default()).unwrap_err(), "classes");
    assert!(classes.mean_interval(0.9).is_ok());
    for bins in [0, 10_001, usize::MAX] {
        wanted(classes.reliability(Bins::EqualWidth(bins)).unwrap_err(), "1 to 10000");
        wanted(classes.reliability(Bins::EqualCount(bins)).unwrap_err(), "1 to 10000");
        wanted(real.pit(1).unwrap().histogram(bins).unwrap_err(), "1 to 10000");
    }
    // No draws.
    let none = with_draws(&[], &[0.5]);
    let [no_classes, _] = binary(&[0.9], &[1]);
    assert_eq!(no_classes.predictive_draws().dim(), (1, 2, 1, 1));
    for error in [
        none.predictive_interval(0.9).unwrap_err(),
        none.mean_interval(0.9).unwrap_err(),
        none.coverage(0.9).unwrap_err(),
        none.crps().unwrap_err(),
        none.pit(1).unwrap_err(),
        none.skill(array![[0.0]].view()).unwrap_err(),
        none.posterior_mean().unwrap_err(),
        none.scores().unwrap_err(),
    ] {
        assert!(error.is_argument() && error.to_string().contains("0 draws"), "{error}");
    }
    // Data of another kind or width, and files that cannot be written.
    let data = Dataset::regression(array![[0.0]], array![0.0]).unwrap();
    let (posterior, draws) = linear(Gaussian::fixed(1.0).unwrap(), &data, 1, same(&[1.0, 0.0], 2));
    let wide = Dataset::regression(array![[0.0, 1.0]], array![0.0]).unwrap();
    assert!(posterior.predict(&draws, &wide).unwrap_err().is_argument());
    let other = Dataset::classification(array![[0.0]], vec![0], ["a", "b"]).unwrap();
    assert!(posterior.predict_seeded(&draws, &other, 1).unwrap_err().is_argument());
    assert!(real.pit(1).unwrap().to_csv("/no/such/folder/pit.csv").unwrap_err().is_io());
    let curve = classes.reliability(Bins::default()).unwrap();
    assert!(curve.to_csv("/no/such/folder/curve.csv").unwrap_err().is_io());
    let folder = tempfile::tempdir().unwrap();
    curve.to_csv(folder.path().join("curve.csv")).unwrap();
    assert!(std::fs::read_to_string(folder.path().join("curve.csv")).unwrap().contains("rows"));
}

#[test]
fn a_draw_that_is_not_a_number_shows() {
    let real = with_draws(&[0.0, f64::NAN, 1.0], &[0.5]);
    assert!(real.crps().unwrap()[(0, 0)].is_nan());
    assert!(real.coverage(0.9).unwrap().share.is_nan());
    assert!(real.pit(1).unwrap().values[(0, 0)].is_nan());
    assert!(real.pit(1).unwrap().ks_distance().is_nan());
    assert!(real.scores().unwrap().get("crps").unwrap().posterior.is_nan());
    let x = array![[1.0]];
    let q = [f64::NAN, 0.0, 0.0, 0.0, 0.0, 0.0];
    let data = Dataset::classification(x.clone(), vec![0], ["a", "b", "c"]).unwrap();
    let nan = |p: Predictions| p.predictive_draws().iter().all(|y| y.is_nan());
    assert!(nan(known(Categorical, &data, 3, &q, 2)));
    let data = Dataset::counts(x.clone(), array![[1.0, 2.0]]).unwrap();
    assert!(nan(known(Binomial, &data, 1, &q[..2], 2)));
    assert!(nan(known(Multinomial, &data, 2, &q[..4], 2)));
    let data = Dataset::classification(x, vec![0], ["a", "b"]).unwrap();
    assert!(nan(known(Bernoulli, &data, 1, &q[..2], 2)));
}

/// Asks everything, whatever the answer.
fn ask_everything(p: &Predictions, level: f64, bins: usize) {
    let _ = (p.scores().map(|s| s.to_string()), p.posterior_mean(), p.mean_interval(level));
    let _ = (p.coverage(level), p.crps(), p.brier(), p.brier_binary());
    let _ = p.confusion().map(|c| (c.to_string(), c.recall(), c.precision(), c.accuracy()));
    let _ = p.pit(1).map(|pit| (pit.ks_distance(), pit.histogram(bins)));
    for bins in [Bins::EqualWidth(bins), Bins::EqualCount(bins)] {
        let _ = p.reliability(bins).map(|r| (r.ece(), r.write_csv(Vec::new())));
    }
    let reference = Array2::zeros((p.mean().dim().2, 1));
    let _ = (p.skill(reference.view()), p.write_csv(Vec::new()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn nothing_panics(
        rows in 1usize..70,
        chains in 0usize..3,
        n in 0usize..4,
        seed in any::<u64>(),
        odd in any::<f64>(),
        scale in -10.0..300.0f64,
        level in any::<f64>(),
        bins in any::<usize>(),
        few_bins in 0usize..20,
    ) {
        let mut rng = ChainRng::new(seed, 0);
        let x = Array2::from_shape_fn((rows, 1), |_| rng.normal());
        let mut q = |outputs: usize, phi: usize| {
            Array3::from_shape_fn((chains, n, 2 * outputs + phi), |_| {
                let u = rng.uniform();
                if u < 0.1 { odd } else { 10f64.powf(scale * u) * rng.normal() }
            })
        };
        let classes: Vec<usize> = (0..rows).map(|i| i % 3).collect();
        let counts = Array2::from_shape_fn((rows, 3), |(i, j)| 10f64.powi((i % 16) as i32) + j as f64);
        let y = x.mapv(|x| x * 10f64.powf(scale));
        let two = counts.slice(s![.., ..2]).to_owned();
        let one_count = Dataset::counts(x.clone(), counts.column(0).to_owned()).unwrap();
        let real = Dataset::regression(x.clone(), y).unwrap();
        let three = Dataset::classification(x.clone(), classes, ["a", "b", "c"]).unwrap();
        let binary = (0..rows).map(|i| i % 2).collect();
        let binary = Dataset::classification(x.clone(), binary, ["a", "b"]).unwrap();
        let three_counts = Dataset::counts(x.clone(), counts).unwrap();
        let two_counts = Dataset::counts(x, two).unwrap();
        for bins in [bins, few_bins] {
            let (posterior, draws) = linear(Gaussian::sampled(), &real, 1, q(1, 1));
            ask_everything(&posterior.predict(&draws, &real).unwrap(), level, bins);
            let (posterior, draws) = linear(Categorical, &three, 3, q(3, 0));
            ask_everything(&posterior.predict(&draws, &three).unwrap(), level, bins);
            let (posterior, draws) = linear(Bernoulli, &binary, 1, q(1, 0));
            ask_everything(&posterior.predict(&draws, &binary).unwrap(), level, bins);
            let (posterior, draws) = linear(Binomial, &two_counts, 1, q(1, 0));
            ask_everything(&posterior.predict(&draws, &two_counts).unwrap(), level, bins);
            let (posterior, draws) = linear(Multinomial, &three_counts, 3, q(3, 0));
            ask_everything(&posterior.predict(&draws, &three_counts).unwrap(), level, bins);
            let (posterior, draws) = linear(HeteroscedasticGaussian, &real, 2, q(2, 0));
            ask_everything(&posterior.predict(&draws, &real).unwrap(), level, bins);
            let (posterior, draws) = linear(StudentTNoise::sampled(), &real, 1, q(1, 2));
            ask_everything(&posterior.predict(&draws, &real).unwrap(), level, bins);
            let (posterior, draws) = linear(Poisson, &one_count, 1, q(1, 0));
            ask_everything(&posterior.predict(&draws, &one_count).unwrap(), level, bins);
            let (posterior, draws) = linear(NegativeBinomial::sampled(), &one_count, 1, q(1, 1));
            ask_everything(&posterior.predict(&draws, &one_count).unwrap(), level, bins);
        }
    }
}

/// Ends of intervals of counts are counts: the smallest ones that at least the share of the tail, and of
/// all but the tail, does not exceed. Real numbers are interpolated.
#[test]
fn intervals_of_counts_end_at_counts() {
    let data = Dataset::counts(array![[0.0], [1.0]], array![0.0, 0.0]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(Linear::new(1, 1).unwrap(), Poisson, &data, priors).unwrap();
    let draws = Draws::new(posterior.layout().clone(), Array3::zeros((1, 40, 2))).unwrap();
    let predictions = posterior.predict(&draws, &data).unwrap();
    let drawn = predictions.predictive_draws();
    let coverages = predictions.coverages(&[0.5, 0.9]).unwrap();
    for (level, coverage) in [0.5, 0.9].into_iter().zip(coverages) {
        let interval = predictions.predictive_interval(level).unwrap();
        for row in 0..2 {
            let mut sorted = drawn.slice(s![0, .., row, 0]).to_vec();
            sorted.sort_by(f64::total_cmp);
            // Of 40 draws, tails of 25 % and 5 % are 10 and 2 draws.
            let tail = if level == 0.5 { 10 } else { 2 };
            assert_eq!(interval.lower[(row, 0)], sorted[tail - 1]);
            assert_eq!(interval.upper[(row, 0)], sorted[40 - tail - 1]);
        }
        assert_eq!(coverage.mean_width, interval.mean_width());
    }
    let mut csv = Vec::new();
    predictions.write_csv(&mut csv).unwrap();
    for line in String::from_utf8(csv).unwrap().lines().skip(1) {
        let new = line.split(',').rev().take(3).map(|cell| cell.parse::<f64>().unwrap());
        assert!(new.into_iter().all(|end| end.fract() == 0.0), "{line}");
    }
}

//! Posterior predictive draws, the table of scores, and what is refused.

use approx::assert_relative_eq;
use bnn_mcmc::predict::{Bins, Predictions, Score, Scores};
use bnn_mcmc::prelude::*;
use ndarray::{Array2, Array3, Array4, ArrayView1, Axis, array, s};
use proptest::prelude::{ProptestConfig, any, proptest};
use shared::{failed, refused, said};

use super::fixtures::{binary, known, linear, normals, same, sigmoid, simulated, with_draws};

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
    let check = |data: &Dataset, name: &str, [found, expected]: [&str; 2]| {
        let value = format!("`{found}`");
        refused!(posterior.predict(&draws, data), Argument { name: name, value: value });
        let error = failed!(posterior.held_out(data), Argument { name: name, value: value });
        said!(error);
        let Error::Argument { allowed, .. } = &error else { unreachable!() };
        assert_eq!(allowed.split('`').nth(1), Some(expected), "{error}");
    };
    let first = "features of the data, column 1";
    check(&turned, first, ["c", "a"]);
    let mended = turned.select_features(posterior.feature_names()).unwrap();
    let expected = posterior.predict(&draws, &train).unwrap();
    assert_eq!(posterior.predict(&draws, &mended).unwrap().mean(), expected.mean());
    let other = features(["a", "d", "c"]).with_response_names(["u", "v"]).unwrap();
    check(&other, "features of the data, column 2", ["d", "b"]);
    check(&unnamed, first, ["x1", "a"]);
    let first = "response of the data, column 1";
    check(&features(["a", "b", "c"]), first, ["y1", "u"]);
    check(&train.clone().with_response_names(["v", "u"]).unwrap(), first, ["v", "u"]);

    // Plain arrays fit each other by their default names.
    let (posterior, draws) = linear(Gaussian::fixed(0.5).unwrap(), &unnamed, 2, q);
    assert!(posterior.predict(&draws, &unnamed.select(&[3, 1]).unwrap()).is_ok());
    assert!(posterior.predict(&draws, &train).is_err());

    let classes = |names: [&str; 2]| {
        let classes = (0..40).map(|i| i % 2).collect();
        Dataset::classification(x.clone(), classes, names).unwrap()
    };
    let (posterior, draws) = linear(Bernoulli, &classes(["no", "yes"]), 1, Array3::ones((1, 5, 4)));
    let of = |data: &Dataset| posterior.predict(&draws, data).map(drop);
    let name = "classes of the data, name 1";
    refused!(of(&classes(["yes", "no"])), Argument { name: name, value: "`yes`" });
    let name = "classes of the data, name 2";
    refused!(of(&classes(["no", "maybe"])), Argument { name: name, value: "`maybe`" });
    let column = classes(["no", "yes"]).with_response_names(["survived"]).unwrap();
    refused!(of(&column), Argument { name: first, value: "`survived`" });
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
    refused!(all.chain(3), Argument { name: "chain", value: 3 });
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
    refused!(classes.predictive_summary(), Argument { allowed: "real numbers or counts" });
}

#[test]
fn the_table_of_scores_leaves_out_what_single_draws_do_not_have() {
    let scores = simulated(0.3, 0.0).scores().unwrap();
    let names: Vec<&str> = scores.scores.iter().map(|s| s.name.as_str()).collect();
    let expected =
        ["rmse", "mae", "mae_median", "crps", "coverage_95", "width_95", "log_predictive_density"];
    assert_eq!(names, expected);
    for s in &scores.scores {
        let predictive =
            ["mae_median", "crps", "coverage_95", "width_95"].contains(&s.name.as_str());
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
        for result in [
            real.predictive_interval(level).map(drop),
            real.mean_interval(level).map(drop),
            real.coverage(level).map(drop),
        ] {
            refused!(result, Argument { name: "level", value: level });
        }
    }
    let name = "response of the predictions";
    for (result, wanted) in [
        (classes.predictive_interval(0.9).map(drop), "real numbers or counts"),
        (classes.coverage(0.9).map(drop), "real numbers or counts"),
        (classes.crps().map(drop), "real numbers or counts"),
        (classes.pit(1).map(drop), "real numbers or counts"),
        (classes.skill(array![[0.0], [0.0]].view()).map(drop), "real numbers"),
        (real.confusion().map(drop), "classes"),
        (real.brier().map(drop), "classes"),
        (real.brier_binary().map(drop), "classes"),
        (real.reliability(Bins::default()).map(drop), "classes"),
    ] {
        refused!(result, Argument { name: name, allowed: wanted });
    }
    assert!(classes.mean_interval(0.9).is_ok());
    for bins in [0, 10_001, usize::MAX] {
        for result in [
            classes.reliability(Bins::EqualWidth(bins)).map(drop),
            classes.reliability(Bins::EqualCount(bins)).map(drop),
            real.pit(1).unwrap().histogram(bins).map(drop),
        ] {
            refused!(result, Argument { value: bins, allowed: "1 to 10000" });
        }
    }
    // No draws.
    let none = with_draws(&[], &[0.5]);
    let [no_classes, _] = binary(&[0.9], &[1]);
    assert_eq!(no_classes.predictive_draws().dim(), (1, 2, 1, 1));
    for result in [
        none.predictive_interval(0.9).map(drop),
        none.mean_interval(0.9).map(drop),
        none.coverage(0.9).map(drop),
        none.crps().map(drop),
        none.pit(1).map(drop),
        none.skill(array![[0.0]].view()).map(drop),
        none.posterior_mean().map(drop),
        none.scores().map(drop),
    ] {
        refused!(result, Shape { found: "0 draws of 1 row" });
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
    let csv = std::fs::read_to_string(folder.path().join("curve.csv")).unwrap();
    assert_eq!(csv.lines().next(), Some("lower,upper,rows,confidence,accuracy"));
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
        let shares = Dataset::regression(x.clone(), x.mapv(|x| 0.5 + x.atan() / 4.0)).unwrap();
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
            let (posterior, draws) = linear(Ordinal::new(3).unwrap(), &three, 1, q(1, 2));
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
            let likelihood = ZeroInflated::negative_binomial();
            let (posterior, draws) = linear(likelihood, &one_count, 1, q(1, 2));
            ask_everything(&posterior.predict(&draws, &one_count).unwrap(), level, bins);
            let likelihood = Hurdle::negative_binomial();
            let (posterior, draws) = linear(likelihood, &one_count, 1, q(1, 2));
            ask_everything(&posterior.predict(&draws, &one_count).unwrap(), level, bins);
            let (posterior, draws) = linear(Beta, &shares, 1, q(1, 1));
            ask_everything(&posterior.predict(&draws, &shares).unwrap(), level, bins);
        }
    }
}

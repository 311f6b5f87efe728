//! PSIS-LOO against ArviZ, closed forms, and hand computation; what a model expects before it sees data.

use approx::assert_relative_eq;
use bnn_mcmc::predict::{LooRow, Predictions};
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance};
use ndarray::{Array1, Array2, Array3, Axis, array, s};
use shared::{failed, refused, said};
use statrs::distribution::{ContinuousCDF, Normal as StandardNormal};

use crate::fixtures::Congruential;

const GOLDEN: &str = include_str!("../golden/loo.json");

// ---------------------------------------------------------------------------------------------
// The log likelihoods of tests/golden/loo.py

fn chains(phi: f64) -> Array2<f64> {
    let mut random = Congruential(17);
    let mut q = Array2::zeros((4, 250));
    for mut chain in q.rows_mut() {
        let mut z = random.normal();
        for q in &mut chain {
            z = phi * z + (1.0 - phi * phi).sqrt() * random.normal();
            *q = z;
        }
    }
    q
}

fn normal(y: f64, mean: f64, sd: f64) -> f64 {
    -0.5 * ((y - mean) / sd).powi(2) - sd.ln() - 0.5 * std::f64::consts::TAU.ln()
}

fn log_likelihood(model: &str) -> Array3<f64> {
    let q = chains(0.5);
    Array3::from_shape_fn((4, 250, 12), |(chain, draw, i)| {
        let (y, z) = (0.4 * (i as f64 - 5.5), q[(chain, draw)]);
        match model {
            "well specified" => normal(y, 0.3 * z, 1.0),
            "outliers" => normal(1.5 * y, 0.5 * z, 0.7),
            _ => -std::f64::consts::PI.ln() - (1.0 + (y - z * z * z).powi(2)).ln(),
        }
    })
}

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    let difference = (found - expected).abs();
    assert!(difference <= 1e-10 * (1.0 + expected.abs()), "{what}: {found}, ArviZ {expected}");
}

#[test]
fn golden_values_of_arviz() {
    let golden: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    let mut largest_k = f64::NEG_INFINITY;
    for model in golden["models"].as_array().unwrap() {
        let name = model["name"].as_str().unwrap();
        let log_lik = log_likelihood(name);
        assert_relative_eq!(log_lik.sum(), model["sum"].as_f64().unwrap(), max_relative = 1e-13);
        for (reff, given) in [("1.0", Some(1.0)), ("0.6", Some(0.6)), ("rows", None)] {
            let loo = Loo::from_log_likelihood(log_lik.view(), given).unwrap();
            let values = &model["values"][reff];
            let what = |what: &str| format!("{name}, r_eff {reff}, {what}");
            for (found, of) in [(loo.elpd, "elpd"), (loo.se, "se"), (loo.p_loo, "p")] {
                assert_close(found, values[of].as_f64().unwrap(), &what(of));
            }
            let (k, elpd) = (numbers(&values["k"]), numbers(&values["elpd_i"]));
            for (i, row) in loo.rows.iter().enumerate() {
                assert_close(row.k, k[i], &what(&format!("k of row {i}")));
                assert_close(row.elpd, elpd[i], &what(&format!("elpd of row {i}")));
                largest_k = largest_k.max(row.k);
            }
            if given.is_none() {
                for (row, reff) in loo.rows.iter().zip(numbers(&values["reff"])) {
                    assert_close(row.relative_efficiency, reff, &what("relative efficiency"));
                }
            }
            assert_close(loo.threshold(), model["good_k"].as_f64().unwrap(), &what("threshold"));
        }
    }
    assert!(largest_k > 0.7, "{largest_k}: no row is hard");
}

/// A fifth of 200 draws is smoothed, and not 3 sqrt(200) = 42; with many draws k up to 0.7 is good.
#[test]
fn tails_and_thresholds_of_few_and_many_draws() {
    let golden: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    let few = log_likelihood("outliers").slice(s![.., ..50, ..]).to_owned();
    let loo = Loo::from_log_likelihood(few.view(), Some(1.0)).unwrap();
    let values = &golden["short"];
    assert_close(loo.elpd, values["elpd"].as_f64().unwrap(), "elpd");
    assert_close(loo.threshold(), values["good_k"].as_f64().unwrap(), "threshold");
    let (k, elpd) = (numbers(&values["k"]), numbers(&values["elpd_i"]));
    for (i, row) in loo.rows.iter().enumerate() {
        assert_close(row.k, k[i], &format!("k of row {i}"));
        assert_close(row.elpd, elpd[i], &format!("elpd of row {i}"));
    }
    let mut random = Congruential(5);
    let many = Array3::from_shape_simple_fn((4, 2_500, 2), || -random.normal().powi(2));
    assert_eq!(Loo::from_log_likelihood(many.view(), Some(1.0)).unwrap().threshold(), 0.7);
}

/// Classes that are certain: log p = log(1 - e^-45) and the like, different at all draws.
#[test]
fn saturated_rows_count_as_constant() {
    let mut random = Congruential(5);
    let log_lik =
        Array3::from_shape_simple_fn((4, 250, 2), || -(-45.0 + 2.0 * random.normal()).exp());
    let loo = Loo::from_log_likelihood(log_lik.view(), None).unwrap();
    for row in &loo.rows {
        assert!(row.k.is_nan() && row.p_loo == 0.0 && row.elpd.abs() < 1e-12, "{row:?}");
    }
    assert!(loo.unreliable().is_empty());
    // Ten million times as large, they are not constant any more, and smoothed.
    let loo = Loo::from_log_likelihood((log_lik * 1e7).view(), None).unwrap();
    assert!(loo.rows.iter().all(|row| row.k.is_finite()), "{loo}");
}

#[test]
fn comparisons_are_those_of_arviz() {
    let golden: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    let names = ["outliers", "well specified", "cauchy"];
    let loos = names.map(|name| Loo::from_log_likelihood(log_likelihood(name).view(), Some(1.0)));
    let loos = loos.map(Result::unwrap);
    let models: Vec<_> = names.into_iter().zip(&loos).collect();
    let comparison = Loo::compare(&models).unwrap();
    let expected = golden["compare"].as_array().unwrap();
    assert_eq!(comparison.models.len(), expected.len());
    for (model, expected) in comparison.models.iter().zip(expected) {
        assert_eq!(model.name, expected["name"].as_str().unwrap());
        assert_close(model.difference, expected["elpd_diff"].as_f64().unwrap(), &model.name);
        assert_close(model.se_difference, expected["dse"].as_f64().unwrap(), &model.name);
    }
}

// ---------------------------------------------------------------------------------------------
// Linear regression, whose predictions without a row are known

/// y = 1.5 x - 0.5 + N(0, 0.6^2), and draws of the exact posterior with prior N(0, 2^2).
struct Line {
    x: Array2<f64>,
    y: Array1<f64>,
    data: Dataset,
    posterior: Posterior<Linear, Gaussian>,
    draws: Draws,
}

const NOISE: f64 = 0.6;

fn line(rows: usize, draws: usize) -> Line {
    let mut rng = ChainRng::new(3, 0);
    let x = Array2::from_shape_simple_fn((rows, 1), || rng.normal());
    let y = x.column(0).mapv(|x| 1.5 * x - 0.5 + NOISE * rng.normal());
    let data = Dataset::regression(x.clone(), y.clone()).unwrap();
    let priors = Priors::all(Normal::new(0.0, 2.0).unwrap());
    let likelihood = Gaussian::fixed(NOISE).unwrap();
    let posterior = Posterior::new(Linear::new(1, 1).unwrap(), likelihood, &data, priors).unwrap();
    let exact =
        ConjugateRegression::new(x.view(), y.view(), 2.0, NoiseVariance::Fixed(NOISE)).unwrap();
    let mut values = Array3::zeros((4, draws / 4, 2));
    for mut q in values.rows_mut() {
        exact.draw(&mut rng, q.as_slice_mut().unwrap());
    }
    let draws = Draws::new(posterior.layout().clone(), values).unwrap();
    Line { x, y, data, posterior, draws }
}

impl Line {
    /// Mean and sd of y_i given the other rows.
    fn without(&self, i: usize) -> (f64, f64) {
        let others: Vec<usize> = (0..self.y.len()).filter(|j| *j != i).collect();
        let (x, y) = (self.x.select(Axis(0), &others), self.y.select(Axis(0), &others));
        let exact =
            ConjugateRegression::new(x.view(), y.view(), 2.0, NoiseVariance::Fixed(NOISE)).unwrap();
        let at = Array1::from(vec![self.x[(i, 0)], 1.0]);
        let mean = at.dot(&Array1::from(exact.mean().to_vec()));
        (mean, (at.dot(&exact.covariance().dot(&at)) + NOISE * NOISE).sqrt())
    }
}

#[test]
fn rows_are_predicted_as_by_the_exact_posterior_without_them() {
    let line = line(30, 40_000);
    let loo = line.posterior.loo(&line.draws).unwrap();
    let mut known = 0.0;
    for (i, row) in loo.rows.iter().enumerate() {
        let (mean, sd) = line.without(i);
        let exact = normal(line.y[i], mean, sd);
        assert!((row.elpd - exact).abs() < 0.01, "row {i}: {}, exactly {exact}", row.elpd);
        assert!(row.k < 0.5 && (row.relative_efficiency - 1.0).abs() < 0.1, "{row:?}");
        known += exact;
    }
    assert!((loo.elpd - known).abs() < 0.05, "{} {known}", loo.elpd);
    // Two parameters, of which the prior leaves nearly all to the data.
    assert!((1.0..3.0).contains(&loo.p_loo), "{}", loo.p_loo);
    assert!(loo.unreliable().is_empty() && loo.warnings().is_empty(), "{loo}");
}

#[test]
fn a_row_left_out_has_its_exact_transform() {
    let line = line(30, 40_000);
    let pit = line.posterior.loo_pit(&line.draws, &line.data, 5).unwrap();
    let all = line.posterior.predict(&line.draws, &line.data).unwrap().pit(5).unwrap();
    let standard = StandardNormal::new(0.0, 1.0).unwrap();
    let (mut error, mut of_all) = (0.0f64, 0.0f64);
    for (i, y) in line.y.iter().enumerate() {
        let (mean, sd) = line.without(i);
        let exact = standard.cdf((y - mean) / sd);
        error = error.max((pit.values[(i, 0)] - exact).abs());
        of_all = of_all.max((all.values[(i, 0)] - exact).abs());
    }
    // Five standard errors of a share of 40,000 draws; the posterior with the row is further off.
    assert!(error < 0.0125 && of_all > 0.02, "{error} {of_all}");
}

/// All draws equal: weights too, and the transform is uniform for counts, by its random part.
#[test]
fn counts_left_out_have_a_uniform_transform() {
    let mut rng = ChainRng::new(2, 0);
    let rows = 3_000;
    let x = Array2::from_shape_simple_fn((rows, 1), || rng.normal());
    let successes =
        |rng: &mut ChainRng, p: f64| (0..3).filter(|_| rng.uniform() < p).count() as f64;
    let counts = Array2::from_shape_fn((rows, 2), |(i, j)| {
        if j == 1 { f64::NAN } else { successes(&mut rng, 1.0 / (1.0 + (-x[(i, 0)]).exp())) }
    });
    let counts =
        Array2::from_shape_fn((rows, 2), |(i, j)| [counts[(i, 0)], 3.0 - counts[(i, 0)]][j]);
    let data = Dataset::counts(x, counts).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(Linear::new(1, 1).unwrap(), Binomial, &data, priors).unwrap();
    let q = Array3::from_shape_fn((2, 50, 2), |(_, _, k)| [1.0, 0.0][k]);
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    let pit = posterior.loo_pit(&draws, &data, 1).unwrap();
    assert_eq!(pit.values.dim(), (rows, 2));
    for column in 0..2 {
        let mut u = pit.values.column(column).to_vec();
        u.sort_by(f64::total_cmp);
        let steps = u.iter().enumerate().map(|(i, u)| (u - (i as f64 + 0.5) / rows as f64).abs());
        let distance = steps.fold(0.0, f64::max);
        assert!(distance < 1.6 / (rows as f64).sqrt(), "{distance}");
    }
}

// ---------------------------------------------------------------------------------------------
// Blocks, threads, and matrices

#[test]
fn blocks_of_rows_give_the_bits_of_the_whole_matrix_on_any_threads() {
    // 4,000 draws are taken with 1,024 rows at a time.
    let line = line(1_100, 4_000);
    let predictions = line.posterior.predict(&line.draws, &line.data).unwrap();
    let whole = Loo::from_log_likelihood(predictions.log_density().unwrap(), None).unwrap();
    let given = Loo::from_log_likelihood(predictions.log_density().unwrap(), Some(0.6)).unwrap();
    let mut pits = Vec::new();
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let blocks = pool.install(|| line.posterior.loo(&line.draws)).unwrap();
        assert_eq!(blocks.rows, whole.rows);
        assert_eq!((blocks.elpd, blocks.se, blocks.p_loo), (whole.elpd, whole.se, whole.p_loo));
        let with = pool.install(|| line.posterior.loo_with(&line.draws, 0.6)).unwrap();
        assert_eq!(with.rows, given.rows);
        assert!(with.rows[0].relative_efficiency == 0.6 && with.rows != blocks.rows);
        pits.push(pool.install(|| line.posterior.loo_pit(&line.draws, &line.data, 1)).unwrap());
    }
    assert!(pits[0] == pits[1] && pits[0] == pits[2]);
    // More draws than leave room for a whole tile.
    let line = self::line(300, 40_000);
    let predictions = line.posterior.predict(&line.draws, &line.data).unwrap();
    let whole = Loo::from_log_likelihood(predictions.log_density().unwrap(), None).unwrap();
    let blocks = line.posterior.loo(&line.draws).unwrap();
    for (a, b) in blocks.rows.iter().zip(&whole.rows) {
        assert_relative_eq!(a.elpd, b.elpd, max_relative = 1e-12);
        assert_relative_eq!(a.k, b.k, max_relative = 1e-9);
    }
}

#[test]
fn a_matrix_in_another_order_of_memory_is_the_same() {
    let log_lik = log_likelihood("outliers");
    let loo = Loo::from_log_likelihood(log_lik.view(), None).unwrap();
    let rows_first = log_lik.clone().permuted_axes([2, 0, 1]).as_standard_layout().into_owned();
    let turned = rows_first.view().permuted_axes([1, 2, 0]);
    assert_eq!(loo, Loo::from_log_likelihood(turned, None).unwrap());
}

// ---------------------------------------------------------------------------------------------
// Rows that are hard, constant, or no numbers

#[test]
fn unreliable_rows_are_named() {
    let loo = Loo::from_log_likelihood(log_likelihood("outliers").view(), None).unwrap();
    let expected: Vec<usize> =
        (0..12).filter(|i| loo.rows[*i].k > 1.0 - 1.0 / 1000f64.log10()).collect();
    assert!(!expected.is_empty() && expected.len() < 12);
    assert_eq!(loo.unreliable(), expected);
    assert!(loo.to_string().ends_with(&format!("warning: {}\n", loo.warnings()[0])), "{loo}");
    // In words, with the same k on any processor.
    let mut same = loo;
    expected.iter().for_each(|row| same.rows[*row].k = 0.875);
    said!(same.warnings().join("\n"));
}

/// Rows without a tail to fit: the same everywhere, a chain that stood still, and ratios beyond f64.
#[test]
fn rows_without_a_k_say_why() {
    let mut log_lik = log_likelihood("well specified");
    log_lik.slice_mut(s![.., .., 0]).fill(-1.3);
    log_lik.slice_mut(s![1, .., 1]).fill(-9.0);
    log_lik.slice_mut(s![.., .., 2]).mapv_inplace(|l| 1e5 * l);
    let loo = Loo::from_log_likelihood(log_lik.view(), None).unwrap();
    let LooRow { elpd, p_loo, k, .. } = loo.rows[0];
    assert!(elpd == -1.3 && p_loo == 0.0 && k.is_nan());
    assert!(loo.rows[1].k.is_nan() && loo.rows[2].k.is_nan());
    assert_eq!(loo.unreliable(), [1, 2]);
    // The ratios themselves: the harmonic mean of the likelihood.
    let inverse = log_lik.slice(s![.., .., 1]).mapv(|l| (-l).exp());
    assert_relative_eq!(loo.rows[1].elpd, -inverse.mean().unwrap().ln(), max_relative = 1e-12);
    assert!(loo.rows[2].elpd.is_finite());
    said!(loo.warnings().join("\n"));

    let json = serde_json::to_string(&loo).unwrap();
    let back: Loo = serde_json::from_str(&json).unwrap();
    assert!(back.rows[0].k.is_nan());
    assert_eq!((back.rows[5], back.elpd, back.se), (loo.rows[5], loo.elpd, loo.se));
    assert_eq!(back.unreliable(), [1, 2]);
}

/// One row says nothing of how rows differ, so that there is no standard error: refused, also of a posterior.
#[test]
fn a_single_row_is_refused() {
    let log_lik = log_likelihood("well specified");
    let of = |rows| Loo::from_log_likelihood(log_lik.slice(s![.., .., ..rows]), None);
    let rows = "rows of the log likelihood";
    refused!(of(1), Shape { what: rows, found: 1, expected: "at least 2" });
    assert!(of(2).unwrap().se.is_finite());

    let data = Dataset::regression(array![[1.0]], array![2.0]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let likelihood = Gaussian::fixed(1.0).unwrap();
    let posterior = Posterior::new(Linear::new(1, 1).unwrap(), likelihood, &data, priors).unwrap();
    let draws = posterior.prior_draws(100, 1).unwrap();
    refused!(posterior.loo(&draws), Shape { what: rows, found: 1, expected: "at least 2" });
    let given = posterior.loo_with(&draws, 1.0);
    refused!(given, Shape { what: rows, found: 1, expected: "at least 2" });
}

#[test]
fn bad_log_likelihoods_are_refused_by_row_and_draw() {
    let of = |log_lik: &Array3<f64>, given| Loo::from_log_likelihood(log_lik.view(), given);
    for bad in [f64::NAN, f64::NEG_INFINITY, f64::INFINITY] {
        let mut log_lik = log_likelihood("well specified");
        log_lik[(2, 17, 9)] = bad;
        log_lik[(3, 0, 11)] = bad;
        let name = "log likelihood of row 9 at chain 2, draw 17";
        refused!(of(&log_lik, None), Argument { name: name, value: bad });
    }
    let log_lik = log_likelihood("well specified");
    let few = |chains, draws, rows| log_lik.slice(s![..chains, ..draws, ..rows]).to_owned();
    let (name, allowed) = ("number of draws of all chains", "at least 25");
    refused!(of(&few(4, 6, 12), None), Argument { name: name, value: 24, allowed: allowed });
    assert!(of(&few(1, 25, 12), None).is_ok());
    refused!(of(&few(0, 0, 12), None), Argument { name: name, value: 0, allowed: allowed });
    refused!(of(&few(4, 250, 0), None), Shape { what: "rows of the log likelihood", found: 0 });
    let wide = Array3::from_shape_fn((30, 3, 2), |(c, s, i)| log_lik[(s, c, i)]);
    refused!(of(&wide, None), Argument { name: "draws per chain", value: 3 });
    assert!(of(&wide, Some(1.0)).is_ok());
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused!(of(&log_lik, Some(bad)), Argument { name: "relative_efficiency", value: bad });
    }
    // A density that underflows, in a run.
    let mut line = line(20, 400);
    let mut q = line.draws.values().to_owned();
    q[(1, 7, 0)] = 1e200;
    line.draws = Draws::new(line.posterior.layout().clone(), q).unwrap();
    let name = "log likelihood of row 0 at chain 1, draw 7";
    refused!(line.posterior.loo(&line.draws), Argument { name: name, value: "-inf" });
}

#[test]
fn transforms_of_other_data_are_refused() {
    let line = line(20, 400);
    let others = self::line(21, 400);
    let pit = line.posterior.loo_pit(&line.draws, &others.data, 1);
    failed!(pit, Shape { what: "response of the data" });
    let x = Array2::from_shape_fn((30, 1), |(i, _)| i as f64);
    let classes = (0..30).map(|i| i % 2).collect();
    let data = Dataset::classification(x, classes, ["a", "b"]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(Linear::new(1, 1).unwrap(), Bernoulli, &data, priors).unwrap();
    let draws = posterior.prior_draws(100, 1).unwrap();
    let pit = posterior.loo_pit(&draws, &data, 1);
    refused!(pit, Argument { value: "classes", allowed: "real numbers or counts" });
    assert!(posterior.loo(&draws).is_ok());
}

// ---------------------------------------------------------------------------------------------
// Comparison

#[test]
fn comparisons_refuse_other_rows_and_warn() {
    let line = line(120, 400);
    let loo = line.posterior.loo(&line.draws).unwrap();
    let alike = line.posterior.loo_with(&line.draws, 0.9).unwrap();
    let comparison = Loo::compare(&[("a", &loo), ("b", &alike)]).unwrap();
    assert_eq!((comparison.rows, comparison.models[0].difference), (120, 0.0));
    assert_eq!(comparison.models[0].se_difference, 0.0);
    // That they are close, and not that rows are few.
    said!(comparison.warnings().join("\n"));
    assert!(comparison.to_string().ends_with(&format!("warning: {}\n", comparison.warnings()[0])));

    // The same rows by another model: tiles of another height, another encoding.
    let network = Mlp::new(&[1, 3, 1], Activation::Tanh).unwrap();
    let priors = || Priors::all(Normal::new(0.0, 1.0).unwrap());
    let likelihood = Gaussian::fixed(NOISE).unwrap();
    let posterior = Posterior::new(network, likelihood, &line.data, priors()).unwrap();
    let of_network = posterior.loo(&posterior.prior_draws(400, 1).unwrap()).unwrap();
    let comparison = Loo::compare(&[("network", &of_network), ("line", &loo)]).unwrap();
    assert_eq!(comparison.models[0].name, "line");
    let worse = &comparison.models[1];
    assert_relative_eq!(worse.difference, of_network.elpd - loo.elpd, max_relative = 1e-12);
    let each: Array1<f64> =
        loo.rows.iter().zip(&of_network.rows).map(|(a, b)| a.elpd - b.elpd).collect();
    assert_relative_eq!(worse.se_difference, 120f64.sqrt() * each.std(1.0), max_relative = 1e-12);
    assert_eq!(worse.unreliable, of_network.unreliable().len());

    let order: Vec<usize> = (0..120).rev().collect();
    let reversed = line.data.select(&order).unwrap();
    let model = Linear::new(1, 1).unwrap();
    let posterior = Posterior::new(model, likelihood, &reversed, priors()).unwrap();
    let turned = posterior.loo(&posterior.prior_draws(400, 1).unwrap()).unwrap();
    let differs = |models: &[(&str, &Loo)]| {
        let error = failed!(Loo::compare(models), Shape { what: "response of `turned`" });
        let Error::Shape { expected, .. } = &error else { unreachable!() };
        assert_eq!(expected.split('`').nth(1), Some("line"), "{error}");
    };
    differs(&[("line", &loo), ("turned", &turned)]);
    let fewer = self::line(119, 400);
    let fewer = fewer.posterior.loo(&fewer.draws).unwrap();
    let models = [("line", &loo), ("fewer", &fewer), ("line", &alike)];
    let expected = "120, as of `line`";
    let rows = Loo::compare(&models[..2]);
    refused!(rows, Shape { what: "rows of `fewer`", found: 119, expected: expected });
    refused!(Loo::compare(&models[..1]), Argument { name: "number of models", value: 1 });
    let twice = Loo::compare(&[models[0], models[2]]);
    refused!(twice, Argument { name: "name of a model", value: "`line` twice" });
    // From a matrix, nothing is known of the response.
    let predictions: Predictions = line.posterior.predict(&line.draws, &line.data).unwrap();
    let matrix = Loo::from_log_likelihood(predictions.log_density().unwrap(), None).unwrap();
    assert!(Loo::compare(&[("matrix", &matrix), ("turned", &turned)]).is_ok());
    differs(&[("matrix", &matrix), ("line", &loo), ("turned", &turned)]);
}

// ---------------------------------------------------------------------------------------------
// Before the data

/// y = w x + b + noise: mean 0, variance s^2 (x^2 + 1) + noise^2, covariance s^2 (x x' + 1) between rows.
#[test]
fn prior_predictive_moments_are_those_of_the_closed_form() {
    let line = line(5, 400);
    let n = 40_000;
    let prior = line.posterior.prior_predictive(n, &line.data, 1).unwrap();
    let drawn = prior.predictive_draws();
    let at = |i: usize| drawn.slice(s![0, .., i, 0]);
    for i in 0..5 {
        let x = line.x[(i, 0)];
        let variance = 4.0 * (x * x + 1.0) + NOISE * NOISE;
        assert!(at(i).mean().unwrap().abs() < 5.0 * (variance / n as f64).sqrt());
        // The sd of a normal's sample variance is variance * sqrt(2 / n).
        let error = 5.0 * variance * (2.0 / n as f64).sqrt();
        assert!((at(i).var(1.0) - variance).abs() < error, "row {i}");
        let covariance = 4.0 * (x * line.x[(0, 0)] + 1.0);
        if i > 0 {
            let found = (&at(0) * &at(i)).mean().unwrap();
            let first = 4.0 * (line.x[(0, 0)].powi(2) + 1.0) + NOISE * NOISE;
            let error = 5.0 * ((variance * first + covariance.powi(2)) / n as f64).sqrt();
            assert!((found - covariance).abs() < error, "row {i}: {found}, {covariance}");
        }
    }
    let again = line.posterior.prior_predictive(n, &line.data, 1).unwrap();
    assert_eq!(again.predictive_draws(), drawn);
    let other = line.posterior.prior_predictive(n, &line.data, 2).unwrap();
    assert_ne!(other.predictive_draws(), drawn);
    assert_eq!(line.posterior.prior_draws(7, 1).unwrap().values().dim(), (1, 7, 2));
}

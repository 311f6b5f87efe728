//! Predictions under noise that differs from row to row, heavy tails and counts: moments of draws, calibration, and
//! a standard deviation that is learnt as a function.

use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Array3, Axis, s};
use shared::refused;

/// `n` draws of one chain that all are q, of a linear model with one feature.
fn known<L: Likelihood>(
    likelihood: L,
    data: &Dataset,
    q: &[f64],
    n: usize,
) -> (Posterior<Linear, L>, Draws) {
    let outputs = (q.len() - likelihood.layout().dim()) / 2;
    let mut priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    for block in likelihood.layout().blocks() {
        priors = priors.with(&block.name, Normal::new(0.0, 1.0).unwrap());
    }
    let model = Linear::new(1, outputs).unwrap();
    let posterior = Posterior::new(model, likelihood, data, priors).unwrap();
    let values = Array3::from_shape_fn((1, n, q.len()), |(_, _, k)| q[k]);
    let draws = Draws::new(posterior.layout().clone(), values).unwrap();
    (posterior, draws)
}

fn features(rows: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, 1), |(i, _)| 2.0 * (i as f64 + 0.5) / rows as f64 - 1.0)
}

fn of_kind(x: Array2<f64>, y: Array1<f64>, is_count: bool) -> Dataset {
    if is_count { Dataset::counts(x, y).unwrap() } else { Dataset::regression(x, y).unwrap() }
}

/// A response that every likelihood of its kind takes.
fn any(rows: usize, is_count: bool) -> Array1<f64> {
    Array1::from_elem(rows, if is_count { 0.0 } else { 0.5 })
}

/// Mean and variance of predictive draws of four rows are `moments(x)`, within 5 standard errors, and so are the mean
/// and the noise that are predicted, but for rounding.
fn check_moments<L: Likelihood>(
    likelihood: L,
    q: &[f64],
    is_count: bool,
    moments: impl Fn(f64) -> (f64, f64),
) {
    let (n, x) = (40_000, features(4));
    let data = of_kind(x.clone(), any(4, is_count), is_count);
    let (posterior, draws) = known(likelihood, &data, q, n);
    let predictions = posterior.predict(&draws, &data).unwrap();
    assert_eq!(predictions.mean().dim(), (1, n, 4, 1));
    let sd = posterior.predict_noise_sd(&draws, x.view()).unwrap();
    for (i, x) in x.iter().enumerate() {
        let (mean, variance) = moments(*x);
        assert!((predictions.mean()[(0, 0, i, 0)] - mean).abs() < 1e-13 * (1.0 + mean.abs()));
        assert!((sd[(0, 7, i, 0)].powi(2) / variance - 1.0).abs() < 1e-13);
        let y = predictions.predictive_draws().slice_move(s![0, .., i, 0]).to_owned();
        let squares = y.mapv(|y| (y - mean).powi(2));
        let error = y.mean().unwrap() - mean;
        assert!(error.abs() < 5.0 * (variance / n as f64).sqrt(), "row {i}: mean off by {error}");
        let error = squares.mean().unwrap() - variance;
        let limit = 5.0 * squares.std(1.0) / (n as f64).sqrt();
        assert!(error.abs() < limit, "row {i}: variance off by {error}, allowed {limit}");
        let whole = y.iter().all(|y| y.fract() == 0.0 && *y >= 0.0);
        assert_eq!(whole, is_count);
    }
}

#[test]
fn draws_have_the_mean_and_variance_of_their_row() {
    // mu = 2 x + 0.5, s = 0.8 x - 1.
    let q = [2.0, 0.8, 0.5, -1.0];
    let moments = |x: f64| (2.0 * x + 0.5, (2.0 * (0.8 * x - 1.0)).exp());
    check_moments(HeteroscedasticGaussian, &q, false, moments);
    // f = 2 x + 0.5, tau = 0.4, nu = 9.
    let (eta, lambda) = (2.0 * 0.4f64.ln(), 9f64.ln());
    let moments = |x: f64| (2.0 * x + 0.5, 0.16 * 9.0 / 7.0);
    let t = StudentTNoise::sampled();
    check_moments(t, &[2.0, 0.5, eta, lambda], false, moments);
    check_moments(t.with_scale(0.4).unwrap(), &[2.0, 0.5, lambda], false, moments);
    check_moments(t.with_degrees_of_freedom(9.0).unwrap(), &[2.0, 0.5, eta], false, moments);
    let moments = |x: f64| (2.0 * x + 0.5, (2.0 * (0.8 * x - 1.0)).exp() * 9.0 / 7.0);
    check_moments(StudentTNoise::heteroscedastic(), &[2.0, 0.8, 0.5, -1.0, lambda], false, moments);
    let mu = |x: f64| (1.5 * x + 0.7).exp();
    check_moments(Poisson, &[1.5, 0.7], true, |x| (mu(x), mu(x)));
    let moments = |x: f64| (mu(x), mu(x) + mu(x).powi(2) / 2.5);
    check_moments(NegativeBinomial::sampled(), &[1.5, 0.7, 2.5f64.ln()], true, moments);
    check_moments(NegativeBinomial::fixed(2.5).unwrap(), &[1.5, 0.7], true, moments);
    // The share of extra zeros is 0.3.
    let (omega, with_zeros) = ((0.3f64 / 0.7).ln(), |mu: f64, squares: f64| {
        (0.7 * mu, 0.7 * (mu + squares * mu * mu) - (0.7 * mu).powi(2))
    });
    let moments = |x: f64| with_zeros(mu(x), 1.0);
    check_moments(ZeroInflated::poisson(), &[1.5, 0.7, omega], true, moments);
    let moments = |x: f64| with_zeros(mu(x), 1.0 + 1.0 / 2.5);
    let q = [1.5, 0.7, 2.5f64.ln(), omega];
    check_moments(ZeroInflated::negative_binomial(), &q, true, moments);
    let above = |mu: f64, zero: f64, squares: f64| {
        let first = 0.7 * mu / (1.0 - zero);
        (first, 0.7 * (mu + squares * mu * mu) / (1.0 - zero) - first * first)
    };
    for low in [0.0, 3.0] {
        let moments = |x: f64| above(mu(x - low), (-mu(x - low)).exp(), 1.0);
        check_moments(Hurdle::poisson(), &[1.5, 0.7 - 1.5 * low, omega], true, moments);
        let moments =
            |x: f64| above(mu(x - low), (1.0 + mu(x - low) / 0.8).powf(-0.8), 1.0 + 1.0 / 0.8);
        let q = [1.5, 0.7 - 1.5 * low, 0.8f64.ln(), omega];
        check_moments(Hurdle::negative_binomial(), &q, true, moments);
    }
    let m = |x: f64| 1.0 / (1.0 + (-1.5 * x - 0.7).exp());
    let moments = |x: f64| (m(x), m(x) * (1.0 - m(x)) / 4.5);
    check_moments(Beta, &[1.5, 0.7, 3.5f64.ln()], false, moments);
    // Both shapes are so small that most draws are rounded to 0 or 1, if not to the nearest number between.
    let moments = |x: f64| (m(x), m(x) * (1.0 - m(x)) / (1.0 + 1e-3));
    check_moments(Beta, &[1.5, 0.7, 1e-3f64.ln()], false, moments);
}

/// The frequencies of classes among predictive draws are the probabilities that are predicted, which are the
/// differences of sigmoids of the cutpoints -0.4, 0.6 and 2.6 around f = 2 x + 0.5.
#[test]
fn classes_in_order_are_drawn_with_their_probabilities() {
    let (n, x) = (40_000, features(4));
    let names = ["poor", "fair", "good", "best"];
    let data = Dataset::classification(x.clone(), vec![0, 1, 2, 3], names).unwrap();
    let q = [2.0, 0.5, -0.4, 0.0, 2f64.ln()];
    let (posterior, draws) = known(Ordinal::new(4).unwrap(), &data, &q, n);
    let predictions = posterior.predict(&draws, &data).unwrap();
    assert_eq!(predictions.mean().dim(), (1, n, 4, 4));
    for (i, x) in x.iter().enumerate() {
        let up_to = |c: f64| 1.0 / (1.0 + (2.0 * x + 0.5 - c).exp());
        let cuts = [0.0, up_to(-0.4), up_to(0.6), up_to(2.6), 1.0];
        for k in 0..4 {
            let p = cuts[k + 1] - cuts[k];
            assert!((predictions.mean()[(0, 0, i, k)] - p).abs() < 1e-14);
            let drawn = predictions.predictive_draws().slice_move(s![0, .., i, 0]);
            let share = drawn.iter().filter(|y| **y == k as f64).count() as f64 / n as f64;
            let error = (p * (1.0 - p) / n as f64).sqrt();
            assert!((share - p).abs() < 5.0 * error, "row {i}, class {k}: {share}, not {p}");
        }
    }
}

#[test]
fn noise_that_has_no_sd_is_infinite_or_refused() {
    let data = of_kind(features(3), Array1::zeros(3), false);
    let (posterior, draws) = known(StudentTNoise::sampled(), &data, &[1.0, 0.0, 0.0, 0.5], 2);
    let sd = posterior.predict_noise_sd(&draws, data.x().view()).unwrap();
    assert!(sd.iter().all(|sd| *sd == f64::INFINITY), "nu = e^0.5 < 2");
    let data = Dataset::classification(features(2), vec![0, 1], ["a", "b"]).unwrap();
    let (posterior, draws) = known(Bernoulli, &data, &[1.0, 0.0], 2);
    let sd = posterior.predict_noise_sd(&draws, data.x().view());
    refused!(sd, Argument { allowed: "real numbers or counts in one column" });
}

/// Of plain counts, errors are those of the expected count, and what is observed is the count.
#[test]
fn errors_of_counts_are_in_counts() {
    let data = of_kind(features(2), Array1::from(vec![3.0, 0.0]), true);
    let (posterior, draws) = known(Poisson, &data, &[0.0, 2f64.ln()], 3);
    let predictions = posterior.predict(&draws, &data).unwrap();
    let scores = predictions.scores().unwrap();
    let score = |name| scores.get(name).unwrap().posterior;
    assert!((score("rmse") - 2.5f64.sqrt()).abs() < 1e-13 && (score("mae") - 1.5).abs() < 1e-13);
    let density = 3.0 * 2f64.ln() - 2.0 - 6f64.ln() - 2.0;
    assert!((score("log_predictive_density") - density / 2.0).abs() < 1e-13);
    let mut csv = Vec::new();
    predictions.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.lines().nth(1).unwrap().starts_with("0,y1,3,"), "observed 3: {csv}");
}

/// 4,000 responses from the distribution that is predicted, by the parameters `q`, are calibrated: 99.9 % of
/// Kolmogorov's distances lie below 1.95 / sqrt(4000) = 0.031, and the standard error of the coverage is 0.0034. By the
/// parameters `wrong` they are not.
fn check_calibration<L: Likelihood + Copy>(
    likelihood: L,
    q: &[f64],
    wrong: &[f64],
    is_count: bool,
) {
    let (rows, n) = (4_000, 500);
    let x = features(rows);
    let simulated = |seed: u64| {
        let data = of_kind(x.clone(), any(rows, is_count), is_count);
        let (posterior, one) = known(likelihood, &data, q, 1);
        let drawn = posterior.predict_seeded(&one, &data, seed).unwrap();
        drawn.predictive_draws().slice_move(s![0, 0, .., 0]).to_owned()
    };
    let data = of_kind(x.clone(), simulated(99), is_count);
    let predictions = |q: &[f64]| {
        let (posterior, draws) = known(likelihood, &data, q, n);
        posterior.predict_seeded(&draws, &data, 1).unwrap()
    };
    let right = predictions(q);
    let ks = right.pit(1).unwrap().ks_distance();
    assert!(ks < 0.031, "{ks}");
    let coverage = right.coverage(0.95).unwrap().share;
    match is_count {
        false => assert!((coverage - 0.947).abs() < 0.015, "{coverage}"),
        true => assert!(coverage > 0.94, "{coverage}"),
    }
    let scores = right.scores().unwrap();
    let names: Vec<&str> = scores.scores.iter().map(|s| s.name.as_str()).collect();
    let expected =
        ["rmse", "mae", "mae_median", "crps", "coverage_95", "width_95", "log_predictive_density"];
    assert_eq!(names, expected);
    let wrong = predictions(wrong);
    let ks = wrong.pit(1).unwrap().ks_distance();
    assert!(ks > 0.05, "{ks}");
    let worse = wrong.scores().unwrap();
    for (name, sign) in [("crps", 1.0), ("log_predictive_density", -1.0)] {
        let [a, b] = [&scores, &worse].map(|scores| scores.get(name).unwrap().posterior);
        assert!(sign * (b - a) > 0.0, "{name}: {a} and {b}");
    }
}

#[test]
fn right_models_are_calibrated_and_wrong_ones_are_not() {
    let q = [2.0, 0.8, 0.5, -1.0];
    check_calibration(HeteroscedasticGaussian, &q, &[2.0, 0.8, 0.5, -0.5], false);
    let q = [2.0, 0.5, 0.3, 0.8];
    check_calibration(StudentTNoise::sampled(), &q, &[2.0, 0.5, 0.3, -0.5], false);
    let [right, wrong] = [-1.0, -0.5].map(|c| [2.0, 0.8, 0.5, c, 1.5]);
    check_calibration(StudentTNoise::heteroscedastic(), &right, &wrong, false);
    check_calibration(Poisson, &[1.5, 1.4], &[1.5, 1.7], true);
    let q = [1.5, 1.4, 0.7];
    check_calibration(NegativeBinomial::sampled(), &q, &[1.5, 1.4, 6.0], true);
    check_calibration(ZeroInflated::poisson(), &[1.5, 1.4, -1.0], &[1.5, 1.4, 0.5], true);
    let q = [1.5, 1.4, 0.7, -1.0];
    check_calibration(ZeroInflated::negative_binomial(), &q, &[1.5, 1.4, 0.7, 0.5], true);
    check_calibration(Hurdle::negative_binomial(), &q, &[1.5, 1.4, 0.7, 0.5], true);
    check_calibration(Beta, &[1.5, 0.3, 1.0], &[1.5, 0.3, 2.5], false);
}

/// The mean noise variance of each row, by sums while a chain runs, is that of the stored draws.
#[test]
fn streamed_noise_is_that_of_the_draws() {
    let x = features(30);
    let data = of_kind(x.clone(), x.column(0).mapv(|x| (5.0 * x).sin()), false);
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let model = Linear::new(1, 2).unwrap();
    let posterior = Posterior::new(model, HeteroscedasticGaussian, &data, priors).unwrap();
    let streamed = StreamedMoments::new(&posterior, x.view()).unwrap();
    let sampler = Sampler::new(&posterior, Hmc::default()).chains(2).warmup(50).draws(60);
    let (draws, records) = sampler.run_with(&streamed).unwrap();
    let moments = streamed.moments(&records).unwrap();
    let sd = posterior.predict_noise_sd(&draws, x.view()).unwrap();
    let variances = sd.mapv(|sd| sd * sd).into_shape_with_order((120, 30, 1)).unwrap();
    let mean = variances.mean_axis(Axis(0)).unwrap();
    let noise = moments.noise_variance.as_ref().unwrap();
    assert!((noise / &mean - 1.0).iter().all(|error| error.abs() < 1e-12));
    let total = (moments.sd.mapv(|sd| sd * sd) + mean).mapv(f64::sqrt);
    assert!((moments.total_sd().unwrap() / total - 1.0).iter().all(|error| error.abs() < 1e-12));
}

/// One draw with nu <= 2, and the mean variance of the noise is infinite, however the chains are merged.
#[test]
fn streamed_noise_without_a_variance_is_infinite() {
    use bnn_mcmc::draws::recorder::{ChainPlan, OneDraw, Recorder};
    let data = of_kind(features(3), Array1::zeros(3), false);
    let t = StudentTNoise::sampled().with_scale(0.5).unwrap();
    let (posterior, _) = known(t, &data, &[1.0, 0.0, 1.0], 1);
    let streamed = StreamedMoments::new(&posterior, data.x().view()).unwrap();
    let mut ws = posterior.workspace();
    let mut record = |nus: &[f64]| {
        let plan = ChainPlan { chain: 0, chains: 1, chains_here: 1, draws: nus.len(), run: 0 };
        let mut record = streamed.begin(&posterior, plan, None).unwrap();
        for (index, nu) in nus.iter().enumerate() {
            let q = [1.0, 0.0, nu.ln()];
            let log_density = posterior.log_density(&q, &mut ws);
            let draw = OneDraw { index, q: &q, log_density };
            streamed.record(&mut record, &posterior, draw, &mut ws).unwrap();
        }
        // As a chain that goes on from a checkpoint.
        let state =
            Recorder::<Posterior<Linear, StudentTNoise>>::state(&streamed, &record).unwrap();
        streamed.begin(&posterior, plan, Some(state)).unwrap()
    };
    let (finite, infinite) = (record(&[4.0, 6.0]), record(&[4.0, 1.5, 1.5, 6.0]));
    let noise = |records: &[_]| streamed.moments(records).unwrap().noise_variance.unwrap();
    let expected = 0.25 * (2.0 + 1.5) / 2.0;
    assert!(noise(&[finite]).iter().all(|v| (v - expected).abs() < 1e-14));
    let moments = streamed.moments(&[record(&[4.0, 6.0]), infinite, record(&[5.0])]).unwrap();
    assert!(moments.noise_variance.as_ref().unwrap().iter().all(|v| *v == f64::INFINITY));
    assert!(moments.total_sd().unwrap().iter().all(|sd| *sd == f64::INFINITY));
    assert!(moments.draws == 7 && moments.sd.iter().all(|sd| *sd == 0.0));
}

/// A model without heteroscedasticity gets the coverage right on average, and wrong in each half.
#[test]
fn noise_that_differs_between_rows_is_seen_row_by_row() {
    let (rows, x) = (4_000, features(4_000));
    let mut rng = ChainRng::new(3, 0);
    let y = x.column(0).mapv(|x| 2.0 * x + (0.8 * x - 1.0f64).exp() * rng.normal());
    let data = Dataset::regression(x.clone(), y).unwrap();
    let sd = x.mapv(|x| (2.0 * (0.8 * x - 1.0)).exp()).mean().unwrap().sqrt();
    let halves = |predictions: Predictions| {
        let interval = predictions.predictive_interval(0.9).unwrap();
        let y = data.real().unwrap();
        let inside = |i: usize| {
            f64::from(u8::from(
                interval.lower[(i, 0)] <= y[(i, 0)] && y[(i, 0)] <= interval.upper[(i, 0)],
            ))
        };
        let share =
            |from: usize| (from..from + rows / 2).map(inside).sum::<f64>() / (rows / 2) as f64;
        [share(0), share(rows / 2)]
    };
    let (posterior, draws) = known(HeteroscedasticGaussian, &data, &[2.0, 0.8, 0.0, -1.0], 400);
    for share in halves(posterior.predict(&draws, &data).unwrap()) {
        assert!((share - 0.895).abs() < 0.025, "{share}");
    }
    let (posterior, draws) = known(Gaussian::fixed(sd).unwrap(), &data, &[2.0, 0.0], 400);
    let [low, high] = halves(posterior.predict(&draws, &data).unwrap());
    assert!(low > 0.95 && high < 0.87, "{low} {high}");
}

/// The share of rows whose sd e^s(x) lies within the 95 % interval of its posterior, for 100 responses with
/// sd(x) = exp(-1 + 0.8 x) around a parabola, by a model that is linear in x and x^2.
fn share_of_recovered_sds(seed: u64) -> f64 {
    let x = features(100) * 1.7;
    let mut rng = ChainRng::new(seed, 0);
    let sd = x.mapv(|x| (0.8 * x - 1.0f64).exp());
    let y = Array2::from_shape_fn((100, 1), |(i, _)| {
        let x = x[(i, 0)];
        0.5 * x - 0.3 * x * x + sd[(i, 0)] * rng.normal()
    });
    let x = Array2::from_shape_fn((100, 2), |(i, j)| x[(i, 0)].powi(j as i32 + 1));
    let data = Dataset::regression(x.clone(), y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 2.0).unwrap());
    let model = Linear::new(2, 2).unwrap();
    let posterior = Posterior::new(model, HeteroscedasticGaussian, &data, priors).unwrap();
    let sampler = Sampler::new(&posterior, Nuts::default()).chains(2).warmup(300).draws(300);
    let draws = sampler.seed(seed).run().unwrap();
    let sds = posterior.predict_noise_sd(&draws, x.view()).unwrap();
    let flat = sds.into_shape_with_order((600, 100)).unwrap();
    let covered = |i: usize| {
        let mut of_row = flat.index_axis(Axis(1), i).to_vec();
        of_row.sort_by(f64::total_cmp);
        f64::from(u8::from(of_row[15] <= sd[(i, 0)] && sd[(i, 0)] <= of_row[584]))
    };
    (0..100).map(covered).sum::<f64>() / 100.0
}

#[test]
fn the_sd_function_is_recovered_within_its_intervals() {
    let shares = Array1::from_iter((0..100).map(share_of_recovered_sds));
    let mean = shares.mean().unwrap();
    // Rows of one data set are right or wrong together: the error is that of the mean of 100 shares.
    let error = shares.std(1.0) / 100f64.sqrt();
    println!("{mean:.3} +- {error:.3}: {shares:.2}");
    assert!(error < 0.02 && (mean - 0.95).abs() < 3.0 * error, "{mean:.3} +- {error:.3}");
}

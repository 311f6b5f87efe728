//! Intervals, CRPS, skill and PIT of numbers, against hand-computed values and closed forms.

use approx::assert_relative_eq;
use bnn_mcmc::predict::{crps, persistence};
use bnn_mcmc::prelude::*;
use ndarray::{Array3, Array4, array, s};
use shared::refused;

use super::fixtures::{binary, known, linear, with_draws};

#[test]
fn the_uncertainty_of_a_new_observation_has_two_parts() {
    // Means x, -x, 3 x and -3 x: variance 5 x^2; noise of variance 1/4.
    let data = Dataset::regression(array![[0.0], [1.0], [2.0]], array![0.0, 0.0, 0.0]).unwrap();
    let q = Array3::from_shape_fn((2, 2, 2), |(c, s, k)| {
        [(2 * c + 1) as f64 * if s == 0 { 1.0 } else { -1.0 }, 0.0][k]
    });
    let (posterior, draws) = linear(Gaussian::fixed(0.5).unwrap(), &data, 1, q.clone());
    let predictions = posterior.predict(&draws, &data).unwrap();
    let noise = || posterior.predict_noise_sd(&draws, data.x().view());
    let parts = predictions.decompose(noise).unwrap();
    assert_eq!(parts.of_mean, array![[0.0], [5.0], [20.0]]);
    assert_eq!(parts.noise, array![[0.25], [0.25], [0.25]]);
    assert_eq!(parts.total, array![[0.25], [5.25], [20.25]]);
    assert_eq!(parts.removable()[(1, 0)], 5.0 / 5.25);
    assert_eq!(parts.ranking(), [2, 1, 0]);
    assert!(!parts.are_entropies);
    let other = || Ok(Array4::zeros((2, 2, 2, 1)));
    refused!(
        predictions.decompose(other),
        Shape { what: "noise of each draw", found: "(2, 2, 2, 1)", expected: "(2, 2, 3, 1)" }
    );
    // Quantiles of the draws, the ends included.
    let quantiles = predictions.predictive_quantiles(&[0.0, 0.5, 1.0]).unwrap();
    for row in 0..3 {
        let drawn = predictions.predictive_draws();
        let drawn = drawn.slice(s![.., .., row, 0]);
        let end = |f: fn(f64, f64) -> f64, from| drawn.iter().copied().fold(from, f);
        assert_eq!(quantiles[(row, 0, 0)], end(f64::min, f64::INFINITY));
        assert_eq!(quantiles[(row, 0, 2)], end(f64::max, f64::NEG_INFINITY));
        assert!(quantiles[(row, 0, 0)] <= quantiles[(row, 0, 1)]);
    }
    let refused = predictions.predictive_quantiles(&[0.5, 1.5]);
    refused!(refused, Argument { name: "probabilities", value: "1.5" });
    // Two classes whose probabilities are 1/2 by all draws, or 0.1 and 0.9: entropies of Bernoulli variables.
    let classes = Dataset::classification(array![[0.0], [1.0]], vec![0, 1], ["a", "b"]).unwrap();
    let logit = (0.9_f64 / 0.1).ln();
    let q =
        Array3::from_shape_fn((1, 2, 2), |(_, s, k)| [if s == 0 { logit } else { -logit }, 0.0][k]);
    let (posterior, draws) = linear(Bernoulli, &classes, 1, q);
    let parts = posterior
        .predict(&draws, &classes)
        .unwrap()
        .decompose(|| unreachable!("classes have no noise"))
        .unwrap();
    let entropy = -(0.9_f64 * 0.9_f64.ln() + 0.1 * 0.1_f64.ln());
    for (row, [total, noise]) in
        [[2.0_f64.ln(), 2.0_f64.ln()], [2.0_f64.ln(), entropy]].iter().enumerate()
    {
        assert_relative_eq!(parts.total[(row, 0)], total, max_relative = 1e-12);
        assert_relative_eq!(parts.noise[(row, 0)], noise, max_relative = 1e-12);
        assert!((parts.of_mean[(row, 0)] - (total - noise)).abs() < 1e-12);
    }
    assert!(parts.are_entropies);
}

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
    let counts = known(Binomial, &data, 1, &[1.0, 0.0], 2);
    let name = "response of the predictions";
    refused!(counts.chains_apart(), Argument { name: name });
    let [classes, _] = binary(&[0.2, 0.7], &[0, 1]);
    refused!(classes.chains_apart(), Argument { name: name, value: "classes" });
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
    refused!(predictions.coverages(&[0.5, 1.0]), Argument { name: "level", value: 1 });
    let scores = predictions.scores().unwrap();
    let value = |name: &str| scores.get(name).unwrap().posterior;
    assert_relative_eq!(value("width_95"), 19.0, max_relative = 1e-10);
    assert_relative_eq!(value("coverage_95"), 5.0 / 6.0, max_relative = 1e-12);
    // A bound belongs to its interval; the shape is checked.
    let interval = predictions.mean_interval(0.7).unwrap();
    assert_eq!(interval.coverage(interval.upper.view()).unwrap(), 1.0);
    let (found, expected) = ("1 row of 1 column", "6 rows of 1 column");
    let short = interval.coverage(array![[1.0]].view());
    refused!(short, Shape { found: found, expected: expected });
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

    let short = predictions.skill(array![[1.0]].view());
    refused!(short, Shape { what: "reference predictions", found: "1 row of 1 column" });
    let nan = predictions.skill(array![[1.0], [f64::NAN]].view());
    refused!(nan, Argument { name: "reference", value: "NaN" });
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

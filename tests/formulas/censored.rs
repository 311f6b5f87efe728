//! Numbers with bounds against numbers from elsewhere (tests/golden/censored.py, tests/golden/survival_scores.py), far out in
//! the tails, and with wrong bounds.

use bnn_mcmc::engine::{Tile, TileMut};
use bnn_mcmc::likelihood::{SecondOrderLikelihood, Tangent, TimeDistribution, TimeFamily, Weights};
use bnn_mcmc::predict::{concordance, integrated_brier};
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::Curvature;
use ndarray::{Array1, Array2, array};
use serde::Deserialize;
use shared::refused;

const INF: f64 = f64::INFINITY;

#[derive(Deserialize)]
struct Row {
    family: String,
    lower: Option<f64>,
    upper: Option<f64>,
    f: f64,
    log_scale: f64,
    centre: f64,
    spread: f64,
    value: f64,
    gradient: [f64; 2],
    hessian: [[f64; 2]; 2],
}

#[derive(Deserialize)]
struct Time {
    family: String,
    location: f64,
    scale: f64,
    t: f64,
    p: f64,
    survival: f64,
    log_survival: f64,
    quantile: f64,
    mean: f64,
    variance: f64,
    restricted_mean: f64,
}

#[derive(Deserialize)]
struct Golden {
    rows: Vec<Row>,
    times: Vec<Time>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../golden/censored.json")).unwrap()
}

fn family(name: &str) -> TimeFamily {
    match name {
        "normal" => TimeFamily::Normal,
        "lognormal" => TimeFamily::LogNormal,
        "weibull" => TimeFamily::Weibull,
        name => panic!("{name}"),
    }
}

fn between(lower: f64, upper: f64) -> Response {
    Response::Censored { lower: array![lower], upper: array![upper] }
}

fn padded(value: f64) -> [f64; 8] {
    let mut column = [0.0; 8];
    column[0] = value;
    column
}

/// Value, gradient and the matrix of second derivatives in (f, log scale).
fn at(
    likelihood: &Censored,
    response: &Response,
    f: f64,
    s: f64,
    kind: Curvature,
) -> (f64, [f64; 2], [[f64; 2]; 2]) {
    let encoded = likelihood.encode(response, 1).unwrap();
    let y: Vec<f64> = encoded.iter().flat_map(|y| padded(*y)).collect();
    let (y, out) = (Tile::new(&y, 1), padded(f));
    let (mut d_out, mut d_phi, mut rows, mut copy) = (padded(0.0), [0.5], [0.0], out);
    let out = Tile::new(&out, 1);
    let value = likelihood.log_lik_grad(
        &[s],
        out,
        y,
        Weights::ones(1),
        TileMut::new(&mut d_out, 1),
        &mut d_phi,
    );
    likelihood.log_lik_rows(&[s], TileMut::new(&mut copy, 1), y, &mut rows);
    assert_eq!(rows[0], value);
    let column = |direction: [f64; 2]| {
        let (r_out, mut r_d_out, mut r_d_phi) = (padded(direction[0]), padded(0.0), [0.25]);
        let (to, r_out) = (TileMut::new(&mut r_d_out, 1), Tile::new(&r_out, 1));
        let (weights, r_phi) = (Weights::ones(1), &direction[1..]);
        let at = Tangent { phi: &[s], out, mean: out, y, weights, r_out, r_phi };
        likelihood.log_lik_tangent(kind, at, to, &mut r_d_phi);
        [r_d_out[0], r_d_phi[0] - 0.25]
    };
    (value, [d_out[0], d_phi[0] - 0.5], [column([1.0, 0.0]), column([0.0, 1.0])])
}

#[test]
fn log_likelihoods_and_derivatives_are_those_of_80_digits() {
    let mut worst = [0.0f64; 3];
    for row in golden().rows {
        let likelihood =
            Censored::of(family(&row.family)).in_units(row.centre, row.spread).unwrap();
        let floor = -INF;
        let response = between(row.lower.unwrap_or(floor), row.upper.unwrap_or(INF));
        let (value, gradient, hessian) =
            at(&likelihood, &response, row.f, row.log_scale, Curvature::Observed);
        let label = format!("{} {:?}..{:?} f {}", row.family, row.lower, row.upper, row.f);
        let mut close = |k: usize, found: f64, golden: f64, what: &str| {
            let error = (found - golden).abs() / golden.abs().max(1.0);
            worst[k] = worst[k].max(error);
            assert!(error < [1e-12, 1e-12, 1e-11][k], "{label}: {what} is {found}, not {golden}");
        };
        close(0, value, row.value, "the log likelihood");
        for (found, golden) in gradient.iter().zip(row.gradient) {
            close(1, *found, golden, "the gradient");
        }
        for (found, golden) in hessian.as_flattened().iter().zip(row.hessian.as_flattened()) {
            close(2, *found, *golden, "a second derivative");
        }
    }
    println!("largest errors of values, gradients, second derivatives: {worst:?}");
}

#[test]
fn distributions_of_times_are_those_of_80_digits() {
    for row in golden().times {
        let (family, location, scale) = (family(&row.family), row.location, row.scale);
        let time = TimeDistribution { family, location, scale };
        for (found, golden, what) in [
            (time.survival(row.t), row.survival, "survival"),
            (time.log_survival(row.t), row.log_survival, "log survival"),
            (time.quantile(row.p), row.quantile, "quantile"),
            (time.mean(), row.mean, "mean"),
            (time.variance(), row.variance, "variance"),
            (time.restricted_mean(row.t), row.restricted_mean, "restricted mean"),
        ] {
            let error = (found - golden).abs() / golden.abs().max(1e-300);
            let allowed = if what == "variance" { 1e-10 } else { 1e-12 };
            assert!(error < allowed, "{family:?} {location} {scale}: {what} {found}, not {golden}");
        }
    }
}

/// Restricted means rise to the mean, and are areas below the survival function.
#[test]
fn restricted_means_are_areas() {
    for family in [TimeFamily::LogNormal, TimeFamily::Weibull] {
        for scale in [0.05, 0.7, 3.0] {
            let time = TimeDistribution { family, location: 0.4, scale };
            let until = 2.5;
            let n = 200_000;
            // By t = until v^12, which is smooth where the survival function is steep at 0.
            let part = |i: i32| {
                let v = (f64::from(i) + 0.5) / f64::from(n);
                time.survival(until * v.powi(12)) * 12.0 * until * v.powi(11) / f64::from(n)
            };
            let area: f64 = (0..n).map(part).sum();
            let found = time.restricted_mean(until);
            assert!((found - area).abs() < 1e-8, "{family:?} {scale}: {found} {area}");
            let far = time.restricted_mean(time.quantile(1.0 - 1e-16).max(1e12));
            let mean = time.mean();
            assert!((far - mean).abs() < 1e-3 * mean || scale > 1.0, "{far} {mean}");
            assert!(time.quantile(0.0).is_nan() && time.quantile(1.5).is_nan());
        }
    }
    let time = TimeDistribution { family: TimeFamily::Weibull, location: 0.4, scale: 0.7 };
    assert_eq!(time.restricted_mean(0.0), 0.0);
}

/// Far out, log likelihoods and gradients are finite numbers, or the log likelihood is -inf.
#[test]
fn tails_are_finite() {
    for family in [TimeFamily::Normal, TimeFamily::LogNormal, TimeFamily::Weibull] {
        let likelihood = Censored::of(family);
        for distance in [40.0, 1e3, 1e8, 1e150] {
            for (lower, upper) in [(2.0, 2.0), (2.0, INF), (-INF, 2.0), (2.0, 2.1), (2.0, 1e9)] {
                for f in [-distance, distance] {
                    let response = between(lower, upper);
                    let (value, gradient, _) =
                        at(&likelihood, &response, f, 0.0, Curvature::Observed);
                    let is_fine = value == -INF
                        || (value.is_finite() && gradient.iter().all(|g| g.is_finite()));
                    assert!(is_fine, "{family:?} {lower} {upper} {f}: {value} {gradient:?}");
                    let is_normal = family != TimeFamily::Weibull;
                    assert!(value > -INF || (!is_normal && f < 0.0), "{family:?} {f}: {value}");
                }
            }
        }
        for s in [-231.0, 231.0, f64::NAN] {
            let (value, ..) = at(&likelihood, &between(1.0, 1.0), 0.0, s, Curvature::Observed);
            assert_eq!(value, -INF);
        }
    }
}

/// Row probabilities of a partition of the real line are 1 in sum, and densities integrate to the probability of bounds.
#[test]
fn probabilities_add_up() {
    let cuts = [-INF, 0.01, 0.4, 0.41, 2.0, 30.0, INF];
    for family in [TimeFamily::Normal, TimeFamily::LogNormal, TimeFamily::Weibull] {
        let likelihood = Censored::of(family).in_units(0.6, 1.4).unwrap();
        for (f, s) in [(0.2, -0.4), (-1.5, 0.9)] {
            let of = |lower, upper| {
                at(&likelihood, &between(lower, upper), f, s, Curvature::Observed).0.exp()
            };
            let sum: f64 = cuts.windows(2).map(|ends| of(ends[0], ends[1])).sum();
            assert!((sum - 1.0).abs() < 1e-14, "{family:?} {sum}");
            let n = 4_000;
            let width = (30.0 - 2.0) / f64::from(n);
            let middle = |i: i32| 2.0 + (f64::from(i) + 0.5) * width;
            let area: f64 = (0..n).map(|i| width * of(middle(i), middle(i))).sum();
            assert!((area / of(2.0, 30.0) - 1.0).abs() < 1e-4, "{family:?}: {area}");
        }
    }
}

/// Minus the expected second derivatives are the mean of squared gradients: over T of a row that is observed, over the two
/// outcomes of a row with bounds.
#[test]
fn expected_curvatures_are_fisher_informations() {
    for family in [TimeFamily::Normal, TimeFamily::LogNormal, TimeFamily::Weibull] {
        let (likelihood, f, s) = (Censored::of(family), 0.3, -0.4);
        let information = |parts: &[(f64, [f64; 2])]| {
            let mut sum = [[0.0; 2]; 2];
            for (weight, g) in parts {
                for (k, sum) in sum.as_flattened_mut().iter_mut().enumerate() {
                    *sum += weight * g[k / 2] * g[k % 2];
                }
            }
            sum
        };
        let check = |response: &Response, parts: &[(f64, [f64; 2])]| {
            let (_, _, expected) = at(&likelihood, response, f, s, Curvature::Expected);
            let found = information(parts);
            for (expected, found) in expected.as_flattened().iter().zip(found.as_flattened()) {
                let error = (expected + found).abs();
                assert!(error < 1e-6, "{family:?}: {expected} {found}");
            }
        };
        let time = likelihood.distribution(&[s], f);
        let n = 200_000;
        let share = |i: i32| (f64::from(i) + 0.5) / f64::from(n);
        // Evenly spaced z, weighted with their density.
        let (scale, width) = (s.exp(), 60.0 / f64::from(n));
        let observed: Vec<_> = (0..n)
            .map(|i| {
                let y = f + scale
                    * (-40.0 + 60.0 * share(i))
                        .clamp(-40.0, if family == TimeFamily::Weibull { 5.0 } else { 20.0 });
                let t = if family.is_of_logs() { y.exp() } else { y };
                let (value, g, _) = at(&likelihood, &between(t, t), f, s, Curvature::Observed);
                let jacobian = if family.is_of_logs() { t.ln() } else { 0.0 };
                let inside = family != TimeFamily::Weibull || -40.0 + 60.0 * share(i) < 5.0;
                ((value + jacobian).exp() * scale * width * f64::from(u8::from(inside)), g)
            })
            .collect();
        check(&between(1.0, 1.0), &observed);
        for (lower, upper) in [(time.quantile(0.3), INF), (time.quantile(0.2), time.quantile(0.7))]
        {
            let (value, g, _) = at(&likelihood, &between(lower, upper), f, s, Curvature::Observed);
            let p = value.exp();
            let other = g.map(|g| -g * p / (1.0 - p));
            check(&between(lower, upper), &[(p, g), (1.0 - p, other)]);
        }
    }
}

#[derive(Deserialize)]
struct Scored {
    time: Array1Json,
    event: Vec<bool>,
    scale: Array1Json,
    shape: f64,
    concordance: f64,
    integrated_brier: f64,
    tied: Tied,
}

#[derive(Deserialize)]
struct Tied {
    time: Array1Json,
    predicted: Array1Json,
    concordance: f64,
}

type Array1Json = Vec<f64>;

#[test]
fn scores_are_those_of_scikit_survival() {
    let golden: Scored =
        serde_json::from_str(include_str!("../golden/survival_scores.json")).unwrap();
    let [time, scale] = [golden.time, golden.scale].map(Array1::from);
    let found = concordance(scale.view(), time.view(), &golden.event).unwrap();
    assert!((found - golden.concordance).abs() < 1e-12, "{found} {}", golden.concordance);
    let survival = |t: f64| scale.mapv(|scale| (-(t / scale).powf(golden.shape)).exp());
    let found = integrated_brier(time.view(), &golden.event, survival).unwrap();
    assert!((found - golden.integrated_brier).abs() < 1e-12, "{found} {}", golden.integrated_brier);
    let [time, predicted] = [golden.tied.time, golden.tied.predicted].map(Array1::from);
    let found = concordance(predicted.view(), time.view(), &golden.event).unwrap();
    assert!((found - golden.tied.concordance).abs() < 1e-12, "{found}");
    // Without censoring it is the mean squared error of the indicators.
    let time = array![1.0, 2.0, 4.0];
    let found = integrated_brier(time.view(), &[true; 3], |_| array![0.5, 0.5, 0.5]).unwrap();
    assert!((found - 0.25).abs() < 1e-14);
    assert!(integrated_brier(time.view(), &[false; 3], |_| array![0.5]).unwrap().is_nan());
    refused!(integrated_brier(time.view(), &[true; 3], |_| array![0.5]), Shape { found: 1 });
    assert!(concordance(time.view(), time.view(), &[false; 3]).unwrap().is_nan());
    refused!(concordance(time.view(), time.view(), &[true; 2]), Shape { what: "events" });
}

#[test]
fn wrong_bounds_are_named() {
    let x = || Array2::<f64>::zeros((2, 1));
    let of = |lower, upper| Dataset::censored(x(), lower, upper);
    let cell = "bounds must be in order, and one of them finite";
    for (lower, upper) in [
        (array![1.0, 3.0], array![1.0, 2.0]),
        (array![1.0, -INF], array![1.0, INF]),
        (array![1.0, INF], array![1.0, INF]),
        (array![1.0, f64::NAN], array![1.0, 2.0]),
    ] {
        let error = of(lower, upper).unwrap_err().to_string();
        assert!(error.starts_with("response, row 2, column `time`"), "{error}");
        assert!(error.ends_with(cell), "{error}");
    }
    refused!(of(array![1.0, 2.0], array![1.0]), Shape { what: "upper bounds of the response" });
    refused!(Dataset::survival(x(), array![1.0, 2.0], &[true]), Shape { what: "events" });
    for (lower, upper) in [(0.0, 0.0), (-1.0, 2.0), (-2.0, -1.0), (-INF, 0.0), (-2.0, INF)] {
        for likelihood in [Censored::log_normal(), Censored::weibull()] {
            let result = likelihood.encode(&between(lower, upper), 1);
            assert!(result.unwrap_err().to_string().contains("row 1 is"), "{lower} {upper}");
        }
        assert!(Censored::normal().encode(&between(lower, upper), 1).is_ok());
    }
    // A time that is censored at 0 says nothing.
    let nothing = between(0.0, INF);
    let found = at(&Censored::weibull(), &nothing, 0.3, 0.1, Curvature::Observed);
    assert_eq!((found.0, found.1), (0.0, [0.0; 2]));
    refused!(
        Censored::normal().encode(&Response::Real(array![[1.0]]), 1),
        Shape { expected: "numbers with bounds" }
    );
    refused!(Gaussian::sampled().encode(&nothing, 1), Shape { found: "numbers with bounds" });
    refused!(Censored::normal().encode(&nothing, 2), Shape { found: 2, expected: 1 });
    refused!(Censored::normal().with_scale(0.0), Argument { allowed: "from 1e-100 to 1e100" });
    refused!(Censored::normal().in_units(f64::NAN, 1.0), Argument { allowed: "a finite number" });
    refused!(Censored::normal().in_units(0.0, -1.0), Argument { value: -1 });
}

/// By all pairs of rows, among them equal times and equal predictions.
#[test]
fn concordance_is_that_of_all_pairs() {
    let mut rng = ChainRng::new(3, 0);
    let mut below = |n: f64| (n * rng.uniform()).floor();
    for n in [1, 2, 7, 100, 300] {
        let time: Array1<f64> = (0..n).map(|_| below(40.0)).collect();
        let predicted: Array1<f64> = (0..n).map(|_| below(30.0)).collect();
        let event: Vec<bool> = (0..n).map(|_| below(3.0) > 0.0).collect();
        let (mut pairs, mut right) = (0.0, 0.0);
        for i in (0..n).filter(|i| event[*i]) {
            for j in (0..n).filter(|j| time[i] < time[*j] || (time[i] == time[*j] && !event[*j])) {
                pairs += 1.0;
                right += match predicted[i].total_cmp(&predicted[j]) {
                    std::cmp::Ordering::Less => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Greater => 0.0,
                };
            }
        }
        let found = concordance(predicted.view(), time.view(), &event).unwrap();
        assert!(found == right / pairs || (pairs == 0.0 && found.is_nan()), "{n}: {found}");
    }
    // Rows as many as a register has.
    let n = 300_000;
    let time: Array1<f64> = (0..n).map(|_| below(1e9)).collect();
    assert_eq!(concordance(time.view(), time.view(), &vec![true; n]).unwrap(), 1.0);
}

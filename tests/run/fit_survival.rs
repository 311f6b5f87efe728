//! Times with bounds: from a table to survival functions.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use bnn_mcmc::data::Transform;
use bnn_mcmc::fit::{Fit, Noise, Recipe};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, ArrayView1, array};
use shared::refused;
use statrs::distribution::{ContinuousCDF, Normal as Gauss};
use tempfile::TempDir;

const ROWS: usize = 200;

fn x(i: usize) -> f64 {
    ((7 * i) % 41) as f64 / 20.0 - 1.0
}

/// Quantiles of a log-normal time with the median e^(1 + x) and sigma 1/2.
fn time(i: usize) -> f64 {
    let u = (i as f64 * 0.618_033_988_749_894_9).fract();
    let z = Gauss::new(0.0, 1.0).unwrap().inverse_cdf(0.001 + 0.998 * u);
    (1.0 + x(i) + 0.5 * z).exp()
}

fn end(i: usize) -> f64 {
    1.0 + ((11 * i) % 17) as f64 / 3.0
}

/// Times in units of 1/`unit`, with the event before them.
fn table(folder: &TempDir, unit: f64) -> PathBuf {
    let mut text = String::from("died,x,days\n");
    for i in 0..ROWS {
        let event = time(i) <= end(i);
        let days = unit * time(i).min(end(i));
        writeln!(text, "{},{},{days}", ["false", "True"][usize::from(event)], x(i)).unwrap();
    }
    let path = folder.path().join(format!("patients{unit}.csv"));
    fs::write(&path, text).unwrap();
    path
}

fn linear() -> Recipe {
    let recipe = Fit::survival("days").event("died").hidden(&[]);
    recipe.chains(4).warmup(500).draws(1500).seed(3)
}

/// A chance of 0.02 each that the 98 % intervals of the medians miss the truth.
#[test]
fn medians_and_survival_functions_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let fit = linear().read_csv(table(&folder, 1.0)).unwrap();
    assert!(fit.verdict().unwrap().is_converged(), "{}", fit.verdict().unwrap());
    let censored = (0..ROWS).filter(|i| time(*i) > end(*i)).count();
    assert!((40..140).contains(&censored), "{censored}");
    let words = fit.data().to_string();
    assert!(
        words.ends_with(&format!("days: {} observed, {censored} right-censored", ROWS - censored))
    );
    let predicted = fit.predict_new(array![[-0.5], [0.0], [0.7]].view()).unwrap().predictions;
    let survival = predicted.survival().unwrap();
    let interval = survival.interval(survival.medians().view(), 0.98).unwrap();
    let medians = survival.predictive_medians();
    for (row, x) in [-0.5f64, 0.0, 0.7].into_iter().enumerate() {
        let truth = (1.0 + x).exp();
        let (lower, upper) = (interval.lower[(row, 0)], interval.upper[(row, 0)]);
        assert!(lower < truth && truth < upper && upper / lower < 1.5, "{lower} {truth} {upper}");
        assert!(lower < medians[row] && medians[row] < upper);
        let half = survival.predictive(medians[row])[row];
        assert!((half - 0.5).abs() < 1e-10, "{half}");
        let means = survival.restricted_means(3.0).unwrap();
        assert!(means.iter().all(|mean| 0.0 < *mean && *mean < 3.0));
    }
    // Draws of new times have the predictive distribution.
    let draws = predicted.predictive_draws();
    let beyond = draws.slice(ndarray::s![.., .., 1, 0]).mapv(|t| f64::from(u8::from(t > 4.0)));
    let error = (beyond.mean().unwrap() - survival.predictive(4.0)[1]).abs();
    assert!(error < 5.0 * (0.25f64 / 6000.0).sqrt(), "{error}");
    refused!(survival.quantiles(1.0), Argument { name: "p" });
    refused!(survival.interval(survival.medians().view(), 0.0), Argument { name: "level" });
    refused!(survival.restricted_means(f64::INFINITY), Argument { name: "until" });
    refused!(
        predicted.to_csv_at(folder.path().join("p.csv"), &[f64::NAN]),
        Argument { name: "times" }
    );
    predicted.to_csv_at(folder.path().join("p.csv"), &[2.0]).unwrap();
    let text = fs::read_to_string(folder.path().join("p.csv")).unwrap();
    let header = "row,response,mean,mean_sd,mean_q05,mean_q50,mean_q95,new_q05,new_q50,new_q95,\
                  median,median_q05,median_q95,survival_2,survival_2_q05,survival_2_q95\n";
    assert!(text.starts_with(header), "{text}");
    let scores = fit.scores(fit.data()).unwrap();
    let score = |name: &str| scores.get(name).unwrap().posterior;
    assert!((0.7..0.95).contains(&score("concordance")), "{scores}");
    assert!((0.05..0.2).contains(&score("integrated_brier")), "{scores}");
    let loo = fit.loo().unwrap();
    let mean = loo.elpd / ROWS as f64;
    assert!((mean - score("log_predictive_density")).abs() < 0.05, "{mean} {scores}");
    refused!(fit.loo_pit(1), Argument { value: "numbers with bounds" });
    let real = fit.predict_new(array![[0.0]].view()).unwrap().predictions;
    refused!(real.scores(), Argument { name: "response of the predicted rows" });
}

/// The posterior is known in the units of the rows: by days instead of years nothing changes but the unit, and the log
/// density of each event is less by its logarithm.
#[test]
fn a_unit_of_time_changes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for noise in [Noise::LogNormal, Noise::Weibull, Noise::Normal] {
        let recipe = linear().noise(noise).chains(2).warmup(200).draws(200);
        let [years, days] =
            [1.0, 365.25].map(|unit| recipe.read_csv(table(&folder, unit)).unwrap());
        let [a, b] = [&years, &days].map(|fit| fit.predict(fit.data()).unwrap());
        let [m, n] = [&a, &b].map(|p| p.survival().unwrap().predictive_medians());
        let close = |a: f64, b: f64| (a - b).abs() < 1e-5 * (1.0 + a.abs());
        assert!(m.iter().zip(&n).all(|(m, n)| close(365.25 * m, *n)), "{noise:?} {m} {n}");
        let (lower, upper) = years.data().response().bounds().unwrap();
        let log = 365.25f64.ln();
        let [a, b] = [&a, &b].map(|p| {
            p.log_density().unwrap().sum_axis(ndarray::Axis(0)).sum_axis(ndarray::Axis(0))
        });
        for i in 0..ROWS {
            let less = if lower[i] == upper[i] { 400.0 * log } else { 0.0 };
            assert!(close(a[i] - less, b[i]), "{noise:?} row {i}: {} {}", a[i], b[i]);
        }
    }
}

/// Weights, bias and log scale have the priors that the recipe says, in units of a normal distribution of log times by
/// maximum likelihood with half a row more at each of two places.
#[test]
fn priors_are_of_the_spread_of_the_times() {
    let folder = tempfile::tempdir().unwrap();
    let fit = linear().chains(1).warmup(20).draws(5).read_csv(table(&folder, 1.0)).unwrap();
    let (q, posterior) = ([0.3, -0.7, 0.4], fit.posterior());
    assert_eq!(posterior.layout().block_names(), ["w0", "b0", "log_scale"]);
    let prior = posterior.log_density(&q, &mut posterior.workspace()).prior;
    let of = |x: f64| -0.5 * x * x - 0.5 * std::f64::consts::TAU.ln();
    assert!((prior - (of(0.3) + of(-0.7) + of(0.4 + 0.5))).abs() < 1e-12, "{prior}");
    // The stationary point of the likelihood, by differences.
    let words = posterior.likelihood().description().unwrap();
    let units = words.split("in units of ").nth(1).unwrap();
    let units: Vec<f64> = units.split(" around ").map(|number| number.parse().unwrap()).collect();
    let logs = Array1::from_iter((0..ROWS).map(|i| time(i).min(end(i)).ln()));
    let (mean, sd) = (logs.mean().unwrap(), logs.std(0.0));
    let normal = Gauss::new(0.0, 1.0).unwrap();
    let ell = |centre: f64, spread: f64| -> f64 {
        let density = |y: f64| -0.5 * ((y - centre) / spread).powi(2) - spread.ln();
        let rows = (0..ROWS).map(|i| match time(i) <= end(i) {
            true => density(logs[i]),
            false => normal.cdf((centre - logs[i]) / spread).ln(),
        });
        rows.sum::<f64>() + 0.5 * (density(mean - sd) + density(mean + sd))
    };
    let (spread, centre) = (units[0], units[1]);
    for (dc, ds) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)] {
        assert!(ell(centre + dc, spread + ds) < ell(centre, spread), "{units:?} {dc} {ds}");
    }
    assert!(centre > mean + 0.1, "censored times are taken for short ones: {centre} {mean}");
    assert!(linear().to_string().contains("log-normal times with bounds"), "{}", linear());
}

/// A folder holds the bounds; upper bounds in a column of their own say the same.
#[test]
fn bounds_are_read_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("until.csv");
    let mut text = String::from("until,x,days\n");
    for i in 0..ROWS {
        let (t, c) = (time(i), end(i));
        let (lower, upper) = match i % 4 {
            0 if t > c => (c, String::new()),
            1 if t > c => (c, "inf".into()),
            2 => (0.0, (t + 0.5).to_string()),
            3 => (0.8 * t, (1.2 * t).to_string()),
            _ => (t, t.to_string()),
        };
        writeln!(text, "{upper},{},{lower}", x(i)).unwrap();
    }
    fs::write(&path, &text).unwrap();
    let recipe = Fit::survival("days").until("until").hidden(&[2]).chains(2).warmup(100).draws(50);
    let fit = recipe.clone().in_folder(folder.path().join("run")).read_csv(&path).unwrap();
    let (lower, upper) = fit.data().response().bounds().unwrap();
    assert_eq!((lower[2], upper[2]), (0.0, time(2) + 0.5));
    assert_eq!((lower[3], upper[3]), (0.8 * time(3), 1.2 * time(3)));
    assert!((0..ROWS).any(|i| i % 4 == 0 && upper[i] == f64::INFINITY));
    let loaded = Fit::load(folder.path().join("run")).unwrap();
    assert_eq!(loaded.data(), fit.data());
    assert_eq!(loaded.draws().flat(), fit.draws().flat());
    // Concordance and Brier score are not known of such rows.
    let scores = loaded.scores(loaded.data()).unwrap();
    assert!(scores.get("concordance").is_none() && scores.get("log_predictive_density").is_some());
    let new = folder.path().join("new.csv");
    fs::write(&new, "x\n0.5\n").unwrap();
    assert_eq!(loaded.predict_csv(&new).unwrap().predictions.mean().dim(), (2, 50, 1, 1));
    loaded.predict(loaded.data()).unwrap().to_csv(folder.path().join("p.csv")).unwrap();
    let written = fs::read_to_string(folder.path().join("p.csv")).unwrap();
    assert!(written.starts_with("row,response,observed_from,observed_to,mean,"), "{written}");
    // The same rows without a file.
    let data = Dataset::censored(fit.data().x().clone(), lower.clone(), upper.clone()).unwrap();
    let data = data.with_feature_names(["x"]).unwrap().with_response_names(["days"]).unwrap();
    assert_eq!(recipe.fit(&data).unwrap().draws().flat(), fit.draws().flat());
    // Of numbers of any sign a lower bound may be -inf.
    fs::write(&path, text.replace(",0\n", ",-inf\n")).unwrap();
    let normal = recipe.clone().noise(Noise::Normal).in_folder(folder.path().join("normal"));
    let fit = normal.read_csv(&path).unwrap();
    let (lower, upper) = fit.data().response().bounds().unwrap();
    assert_eq!((lower[2], upper[2]), (f64::NEG_INFINITY, time(2) + 0.5));
    assert_eq!(Fit::load(folder.path().join("normal")).unwrap().data(), fit.data());
    let nothing = "until,x,days\n1,1,1\n,2,-inf\n2,3,1\n";
    fs::write(&path, nothing).unwrap();
    refused!(normal.read_csv(&path), Cell { row: "line 3", column: "until" });
    fs::write(&path, text.replacen(&format!("{},", 1.2 * time(3)), "0.01,", 1)).unwrap();
    refused!(recipe.read_csv(&path), Cell { row: "line 5", column: "until" });
}

#[test]
fn wrong_times_and_events_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let read = |recipe: Recipe, rows: &[&str]| {
        fs::write(&path, format!("x,days,died\n{}\n", rows.join("\n"))).unwrap();
        recipe.hidden(&[]).chains(1).warmup(5).draws(5).read_csv(&path)
    };
    let recipe = || Fit::survival("days").event("died");
    let fine = ["1,2,1", "2,3,0", "3,1,1", "4,9,1"];
    assert!(read(recipe(), &fine).is_ok());
    // A row without its event or its time is left out.
    let fit = read(recipe(), &["1,2,1", "2,3,", "3,1,1", "4,9,1", "5,NA,1"]).unwrap();
    assert_eq!(fit.data().rows(), 3);
    let event = "`2` is neither true (1) nor false (0)";
    refused!(
        read(recipe(), &["1,2,1", "2,3,2"]),
        Cell { row: "line 3", column: "died", problem: event }
    );
    refused!(read(recipe(), &["1,2,1", "2,3,dead"]), Cell { row: "line 3", column: "died" });
    refused!(read(recipe(), &["1,2,1", "2,0,1", "3,1,0"]), Cell { row: "line 3", column: "days" });
    refused!(read(recipe(), &["1,2,1", "2,-1,0", "3,1,1"]), Cell { row: "line 3", column: "days" });
    let none = "every row is right-censored: no event happened";
    refused!(read(recipe(), &["1,2,0", "2,3,0", "3,1,0"]), Table { problem: none });
    let same = "the same time in every row";
    refused!(read(recipe(), &["1,2,1", "2,2,1", "3,2,0"]), Table { problem: same });
    refused!(read(Fit::survival("days"), &fine), Argument { name: "event", value: "not named" });
    refused!(read(recipe().until("x"), &fine), Argument { name: "event" });
    refused!(read(Fit::survival("days").event("days"), &fine), Argument { name: "event" });
    refused!(read(Fit::regression("days").event("died"), &fine), Argument { name: "event" });
    refused!(read(Fit::counts("days").until("died"), &fine), Argument { name: "until" });
    refused!(
        read(Fit::survival(["days", "x"]).event("died"), &fine),
        Argument { name: "response" }
    );
    refused!(read(Fit::survival("days").event("dead"), &fine), UnknownName { name: "dead" });
    refused!(read(recipe().transform(Transform::Log), &fine), Argument { name: "transform" });
    // All events: every time is observed.
    assert!(read(recipe().noise(Noise::Weibull), &["1,2,1", "2,3,1", "3,1,1", "4,9,1"]).is_ok());
    // Normal numbers may have any sign.
    assert!(read(recipe().noise(Noise::Normal), &["1,-2,1", "2,0,1", "3,1,0", "4,9,1"]).is_ok());
    let x = Array2::from_shape_fn((3, 1), |(i, _)| i as f64);
    let left = Dataset::censored(x, array![0.0, 0.0, 0.0], array![1.0, 2.0, 3.0]).unwrap();
    refused!(Fit::survival("time").fit(&left), Table { table: "column `time`" });
    let counts = Fit::counts("n").hidden(&[]).chains(1).warmup(5).draws(5);
    refused!(counts.fit(&left), Shape { found: "numbers with bounds" });
}

/// Rows of a simulated set, and new rows at which medians are judged.
const SET: (usize, usize) = (200, 20);
/// log T = 1 + 0.8 x_1 - 0.5 x_2 + 0.6 Z.
const SIGMA: f64 = 0.6;

fn location(x: ArrayView1<f64>) -> f64 {
    1.0 + 0.8 * x[0] - 0.5 * x[1]
}

fn log_time(x: ArrayView1<f64>, noise: Noise, rng: &mut ChainRng) -> f64 {
    let z = match noise {
        Noise::Weibull => (-(1.0 - rng.uniform()).ln()).ln(),
        _ => rng.normal(),
    };
    location(x) + SIGMA * z
}

/// The time c at which the share of the times is censored, if censoring is at c U(0.5, 1.5).
fn end_of_study(noise: Noise, share: f64) -> f64 {
    let mut rng = ChainRng::new(7, 0);
    let mut ratios: Vec<f64> = (0..200_000)
        .map(|_| {
            let x = array![rng.normal(), rng.normal()];
            log_time(x.view(), noise, &mut rng).exp() / (0.5 + rng.uniform())
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[((1.0 - share) * ratios.len() as f64) as usize]
}

/// The share of new rows whose 90 % interval of the median holds the true one, in one set; and the share censored.
fn covered_in_set(noise: Noise, end: f64, set: u64) -> (f64, f64) {
    let mut rng = ChainRng::new(set + 1, 0);
    let mut normals = |rows| Array2::from_shape_simple_fn((rows, 2), || rng.normal());
    let (x, new) = (normals(SET.0), normals(SET.1));
    let mut rng = ChainRng::new(set + 1, 1);
    let rows: Vec<(f64, bool)> = x
        .rows()
        .into_iter()
        .map(|x| {
            let (t, c) = (log_time(x, noise, &mut rng).exp(), end * (0.5 + rng.uniform()));
            (t.min(c), t <= c)
        })
        .collect();
    let event: Vec<bool> = rows.iter().map(|row| row.1).collect();
    let data = Dataset::survival(x, rows.iter().map(|row| row.0).collect(), &event).unwrap();
    let recipe = Fit::survival("time").noise(noise).hidden(&[]).seed(set);
    let fit = recipe.chains(2).warmup(300).draws(1000).fit(&data).unwrap();
    let predicted = fit.predict_new(new.view()).unwrap().predictions;
    let survival = predicted.survival().unwrap();
    let interval = survival.interval(survival.medians().view(), 0.9).unwrap();
    let z = if noise == Noise::Weibull { 2f64.ln().ln() } else { 0.0 };
    let is_inside = |row: &usize| {
        let truth = (location(new.row(*row)) + SIGMA * z).exp();
        interval.lower[(*row, 0)] <= truth && truth <= interval.upper[(*row, 0)]
    };
    let hits = (0..SET.1).filter(is_inside).count();
    let censored = event.iter().filter(|event| !**event).count();
    (hits as f64 / SET.1 as f64, censored as f64 / SET.0 as f64)
}

/// The coverage of 90 % intervals of medians in simulated sets, as many as SETS says, by default 100. It is within 0.02
/// of 0.90, give or take two standard errors between sets.
#[test]
#[ignore = "a minute: cargo test --release -p bnn-mcmc-tests --test run -- --ignored --nocapture intervals_of_medians"]
fn intervals_of_medians_hold_the_truth() {
    let sets = std::env::var("SETS").ok().and_then(|n| n.parse().ok()).unwrap_or(100u64);
    println!("{sets} sets of {} rows, medians of {} new rows of each", SET.0, SET.1);
    for noise in [Noise::LogNormal, Noise::Weibull] {
        for share in [0.3, 0.7] {
            let end = end_of_study(noise, share);
            let (covered, censored): (Vec<f64>, Vec<f64>) =
                (0..sets).map(|set| covered_in_set(noise, end, set)).unzip();
            let (covered, censored) = (Array1::from(covered), Array1::from(censored));
            let error = covered.std(1.0) / (sets as f64).sqrt();
            let (mean, share) = (covered.mean().unwrap(), 100.0 * censored.mean().unwrap());
            println!(
                "{noise}, {share:.0} % censored: coverage {mean:.3}, standard error {error:.3}"
            );
            assert!((mean - 0.9).abs() < 0.02 + 2.0 * error, "{noise} {share}: {mean} {error}");
        }
    }
}

//! Intercepts of groups, by a fit of a file.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use bnn_mcmc::data::StandIn;
use bnn_mcmc::fit::{Fit, Method, Noise, Recipe, WeightPrior};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Axis};
use shared::refused;
use tempfile::TempDir;

const ROWS: usize = 36;
const SCHOOLS: usize = 5;

/// Rows of uneven groups: school 0 has a third of them, and the last few.
fn school(i: usize) -> usize {
    [0, 1, 0, 2, 3, 0, 1, 2, 0, 4, 0, 2][i % 12]
}

fn x(i: usize) -> f64 {
    ((7 * i) % 31) as f64 / 10.0
}

fn y(i: usize) -> f64 {
    let intercept = [1.0, -0.6, 0.3, 2.0, -1.4][school(i)];
    5.0 + intercept + 0.5 * x(i) + 0.4 * (3.7 * i as f64).sin() * (1.0 + 0.4 * (i as f64).cos())
}

/// A table with the group in the middle.
fn table(folder: &TempDir) -> PathBuf {
    let mut text = String::from("x,school,score\n");
    for i in 0..ROWS {
        writeln!(text, "{},S{},{}", x(i), school(i), y(i)).unwrap();
    }
    let path = folder.path().join("schools.csv");
    fs::write(&path, text).unwrap();
    path
}

fn linear() -> Recipe {
    let recipe = Fit::regression("score").group("school").hidden(&[]);
    recipe.chains(4).warmup(500).draws(1000).seed(2)
}

/// log N(y; 0, C) for C = Phi S Phi^T + noise I, and E[w | y] for w ~ N(0, S), by Cholesky's factors of C.
fn normal(phi: &Array2<f64>, s: &[f64], noise: f64, y: &Array1<f64>) -> (f64, Array1<f64>) {
    let n = y.len();
    let scaled = phi * &Array1::from(s.to_vec());
    let mut c = scaled.dot(&phi.t());
    (0..n).for_each(|i| c[[i, i]] += noise);
    let mut l: Array2<f64> = Array2::zeros((n, n));
    for i in 0..n {
        for j in 0..=i {
            let dot = (0..j).map(|k| l[[i, k]] * l[[j, k]]).sum::<f64>();
            l[[i, j]] =
                if i == j { (c[[i, i]] - dot).sqrt() } else { (c[[i, j]] - dot) / l[[j, j]] };
        }
    }
    let mut z = y.clone();
    for i in 0..n {
        z[i] = (z[i] - (0..i).map(|k| l[[i, k]] * z[k]).sum::<f64>()) / l[[i, i]];
    }
    let log_det: f64 = 2.0 * (0..n).map(|i| l[[i, i]].ln()).sum::<f64>();
    let density = -0.5 * (z.dot(&z) + log_det);
    let mut a = z;
    for i in (0..n).rev() {
        a[i] = (a[i] - (i + 1..n).map(|k| l[[k, i]] * a[k]).sum::<f64>()) / l[[i, i]];
    }
    (density, scaled.t().dot(&a))
}

/// The posterior on a grid of log tau^2 and log sigma^2, by covariance matrices of the response: E[tau], E[sigma], and
/// E[slope], E[bias], E[u_1], .., E[u_5], of the standardised table.
fn exact() -> Vec<f64> {
    let standardised = |of: &dyn Fn(usize) -> f64| {
        let values = Array1::from_iter((0..ROWS).map(of));
        (&values - values.mean().unwrap()) / values.std(0.0)
    };
    let (x, y) = (standardised(&x), standardised(&y));
    let phi = Array2::from_shape_fn((ROWS, 2 + SCHOOLS), |(i, j)| match j {
        0 => x[i],
        1 => 1.0,
        _ => f64::from(u8::from(school(i) == j - 2)),
    });
    let mut points = Vec::new();
    for a in 0..90 {
        for b in 0..40 {
            let (log_tau2, log_sigma2) = (-6.0 + 0.125 * a as f64, -5.5 + 0.1 * b as f64);
            let (tau, sigma2) = ((0.5 * log_tau2).exp(), log_sigma2.exp());
            // tau is half-t with 3 degrees of freedom, sigma^2 inverse gamma of shape 1/2 and scale 1/200.
            let prior = 0.5 * log_tau2
                - 2.0 * (1.0 + tau * tau / 3.0).ln()
                - 0.5 * log_sigma2
                - 0.005 / sigma2;
            let mut s = vec![1.0; 2];
            s.extend([tau * tau; SCHOOLS]);
            let (density, means) = normal(&phi, &s, sigma2, &y);
            let values: Vec<f64> = [tau, sigma2.sqrt()].into_iter().chain(means).collect();
            points.push((prior + density, values));
        }
    }
    let most = points.iter().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = points.iter().map(|point| (point.0 - most).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mean = |k: usize| {
        weights.iter().zip(&points).map(|(w, point)| w * point.1[k]).sum::<f64>() / total
    };
    (0..4 + SCHOOLS).map(mean).collect()
}

/// Where the output layer is integrated out, with the scales of groups and noise left, and in all coordinates.
#[test]
fn a_linear_model_with_intercepts_is_the_exact_one() {
    let (folder, exact) = (TempDir::new().unwrap(), exact());
    for method in [Method::Collapsed, Method::Nuts] {
        let recipe = linear();
        let recipe = if method == Method::Nuts { recipe.method(method) } else { recipe };
        let fit = recipe.read_csv(table(&folder)).unwrap();
        assert_eq!(
            fit.recipe().to_string().contains("integrated out"),
            method == Method::Collapsed
        );
        assert_eq!(fit.data().feature_names()[..2], ["x", "school=S0"]);
        assert_eq!(fit.data().feature_names()[6], "school is new");
        assert_eq!(fit.network().sizes(), [1, 1]);
        assert_eq!(fit.ranges().len(), 1);
        let draws = fit.draws();
        let coordinate =
            |block: &str, j: usize| draws.block(block).unwrap().index_axis(Axis(2), j).to_owned();
        let sd = |block: &str| coordinate(block, 0).mapv(|s| (0.5 * s).exp());
        let mut found = vec![sd("log_variance_school"), sd("log_noise_variance")];
        found.extend([coordinate("w0", 0), coordinate("b0", 0)]);
        found.extend((0..SCHOOLS).map(|j| coordinate("group_school", j)));
        for (k, (found, expected)) in found.iter().zip(&exact).enumerate() {
            let effective = bnn_mcmc::diagnostics::ess_mean(found.view());
            let z = (found.mean().unwrap() - expected) / (found.std(0.0) / effective.sqrt());
            assert!(z.abs() < 4.0, "{method} {k}: {z}, {} and {expected}", found.mean().unwrap());
        }
        // The intercept of a new group is N(0, tau^2) for each draw of tau.
        let (new, tau) = (coordinate("group_school", SCHOOLS), &found[0]);
        let z = &new / tau;
        let effective = bnn_mcmc::diagnostics::ess_mean(z.mapv(|z| z * z).view());
        let squares = z.mapv(|z| z * z).mean().unwrap();
        assert!((squares - 1.0).abs() < 4.5 * (2.0 / effective).sqrt(), "{method}: {squares}");
    }
}

#[test]
fn new_groups_and_rows_without_one_have_the_intercept_of_a_new_group() {
    let folder = TempDir::new().unwrap();
    let fit = linear().draws(500).read_csv(table(&folder)).unwrap();
    let new = folder.path().join("new.csv");
    fs::write(&new, "school,x\nS0,1.5\nT9,1.5\n,1.5\nT7,1.5\n").unwrap();
    let predicted = fit.predict_csv(&new).unwrap();
    let groups = vec!["T9".to_string(), "no value".into(), "T7".into()];
    let expected = StandIn::NewGroup { column: "school".into(), groups, rows: 3 };
    assert_eq!(predicted.stand_ins, [expected]);
    let interval = predicted.predictions.mean_interval(0.9).unwrap();
    let width = |i: usize| interval.upper[[i, 0]] - interval.lower[[i, 0]];
    assert!(width(1) > 4.0 * width(0), "{} {}", width(1), width(0));
    assert_eq!((width(1), width(1)), (width(2), width(3)));
    // A file with the response is read as well; a fit is the same after it is saved.
    let (with, saved) = (folder.path().join("with.csv"), folder.path().join("fit"));
    fs::write(&with, "school,x,score\nS0,1.5,6\nT9,1.5,6\n").unwrap();
    assert_eq!(fit.read(&with).unwrap().rows(), 2);
    fit.save(&saved).unwrap();
    let loaded = Fit::load(&saved).unwrap();
    assert_eq!(loaded.data().feature_names(), fit.data().feature_names());
    let again = loaded.predict_csv(&new).unwrap().predictions.mean_interval(0.9).unwrap();
    assert_eq!(again.upper, interval.upper);
    assert!(fit.loo().is_ok());
}

/// 90 % intervals of rows of groups, known and new, cover so many responses.
#[test]
#[ignore = "figures: cargo test --release -p bnn-mcmc-tests --test run coverage_of_groups -- --ignored --nocapture"]
fn coverage_of_groups() {
    const TABLES: usize = 400;
    const GROUPS: usize = 20;
    const NEW: usize = 20;
    let mut rng = ChainRng::new(21, 0);
    let (mut covered, mut rows) = ([0; 2], [0; 2]);
    for table in 0..TABLES {
        let intercepts: Vec<f64> = (0..GROUPS + NEW).map(|_| 0.8 * rng.normal()).collect();
        let mut row = |group: usize| {
            let x = rng.normal();
            (x, 2.0 + 0.7 * x + intercepts[group] + 0.5 * rng.normal())
        };
        let mut text = String::from("x,g,y\n");
        for i in 0..5 * GROUPS {
            let (x, y) = row(i % GROUPS);
            writeln!(text, "{x},{},{y}", i % GROUPS).unwrap();
        }
        let mut new = String::from("x,g,y\n");
        for group in 0..GROUPS + NEW {
            let (x, y) = row(group);
            writeln!(new, "{x},{group},{y}").unwrap();
        }
        let folder = TempDir::new().unwrap();
        let paths = ["table.csv", "new.csv"].map(|name| folder.path().join(name));
        fs::write(&paths[0], text).unwrap();
        fs::write(&paths[1], new).unwrap();
        let recipe = Fit::regression("y").group("g").hidden(&[]).chains(2).seed(table as u64);
        let fit = recipe.warmup(300).draws(500).read_csv(&paths[0]).unwrap();
        let new = fit.read(&paths[1]).unwrap();
        let interval = fit.predict(&new).unwrap().predictive_interval(0.9).unwrap();
        for (i, y) in new.real().unwrap().column(0).iter().enumerate() {
            let is_new = usize::from(i >= GROUPS);
            rows[is_new] += 1;
            let inside = (interval.lower[[i, 0]]..=interval.upper[[i, 0]]).contains(y);
            covered[is_new] += usize::from(inside);
        }
    }
    for (what, k) in [("known", 0), ("new", 1)] {
        let share = covered[k] as f64 / rows[k] as f64;
        println!("{what} groups: {share:.4} of {}", rows[k]);
        assert!((share - 0.9).abs() < 0.01, "{what}: {share}");
    }
}

/// Networks, several groupings, classes and counts with an exposure as well.
#[test]
fn groupings_go_with_networks_classes_counts_and_exposures() {
    let folder = TempDir::new().unwrap();
    let mut text = String::from("area,x,school,years,hits,kind,z\n");
    for i in 0..60 {
        let (area, years) = (["n", "s", "e"][(i / 3) % 3], [0.5, 1.0][i % 2]);
        let hits = (school(i) + i % 3) / 2;
        let kind = ["p", "q", "r"][(school(i) + i / 7) % 3];
        writeln!(text, "{area},{},S{},{years},{hits},{kind},{}", x(i), school(i), i % 5).unwrap();
    }
    let path = folder.path().join("table.csv");
    fs::write(&path, text).unwrap();
    let short = |recipe: Recipe| recipe.hidden(&[3]).chains(2).warmup(30).draws(30).seed(1);
    let both = |recipe: Recipe| short(recipe).group("school").group("area");
    let counts = both(Fit::counts("hits").exposure("years"));
    let counts = counts.reader(|r| r.ignore(["kind"])).read_csv(&path).unwrap();
    let names = counts.data().feature_names();
    assert_eq!(names[..2], ["x", "z"]);
    assert_eq!(names[8..], ["area=e", "area=n", "area=s", "area is new", "log years"]);
    let layout = counts.draws().layout().clone();
    let len = |block: &str| layout.range(block).unwrap().len();
    assert_eq!([len("w0"), len("group_school"), len("group_area")], [2 * 3, 6, 4]);
    let classes = both(Fit::classification("kind")).skip(true).read_csv(&path).unwrap();
    assert_eq!(classes.draws().layout().range("group_area").unwrap().len(), 3 * 4);
    for weights in [WeightPrior::Scales, WeightPrior::Ard, WeightPrior::Horseshoe] {
        let recipe = both(Fit::regression("z").weights(weights)).skip(true);
        let fit = recipe.reader(|r| r.ignore(["kind", "hits", "years"])).read_csv(&path).unwrap();
        assert!(fit.draws().layout().range("log_variance_area").is_some());
    }
    let ensemble = both(Fit::regression("z")).method(Method::Ensemble).warmup(200).draws(5);
    assert!(ensemble.reader(|r| r.ignore(["kind", "hits"])).read_csv(&path).is_ok());
    for noise in [Noise::Heteroscedastic, Noise::StudentT] {
        let recipe = both(Fit::regression("z").noise(noise));
        assert!(recipe.reader(|r| r.ignore(["kind", "hits"])).read_csv(&path).is_ok());
    }
}

#[test]
fn wrong_groups_are_named() {
    let folder = TempDir::new().unwrap();
    let read = |recipe: Recipe, cells: [&str; 4]| {
        let rows = cells.iter().zip(["1", "4", "2", "3"]);
        let rows: String = rows.map(|(g, y)| format!("{g},{y}.5,{y}\n")).collect();
        let path = folder.path().join("table.csv");
        fs::write(&path, format!("g,x,y\n{rows}")).unwrap();
        recipe.group("g").hidden(&[]).chains(1).warmup(5).draws(5).read_csv(&path)
    };
    // One group, and as many groups as rows.
    for cells in [["a"; 4], ["a", "b", "c", "d"]] {
        refused!(read(Fit::regression("y"), cells), Table {});
    }
    assert!(read(Fit::regression("y"), ["1", "2", "", "1"]).unwrap().dropped().len() == 1);
    refused!(read(Fit::regression("g"), ["1", "2", "3", "1"]), Argument { name: "group" });
    refused!(
        read(Fit::regression("y").group("g"), ["a", "b", "b", "a"]),
        Argument { name: "group" }
    );
    let ignored = Fit::regression("y").reader(|r| r.ignore(["g"]));
    refused!(read(ignored, ["a", "b", "b", "a"]), Argument { name: "group" });
    let no_features = Fit::regression("y").reader(|r| r.ignore(["x"]));
    refused!(read(no_features, ["a", "b", "b", "a"]), Table {});
    // Of a data set, the last columns are indicators.
    let data = Dataset::regression(
        Array2::from_shape_fn((4, 2), |(i, j)| (i * j) as f64),
        Array1::from_iter([1.0, 2.0, 0.0, 4.0]),
    );
    let recipe = Fit::regression("y").group("g").hidden(&[]).chains(1).warmup(5).draws(5);
    refused!(recipe.fit(&data.unwrap()), Argument { name: "group" });
}

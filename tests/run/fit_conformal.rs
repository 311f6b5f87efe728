//! Conformal intervals and sets of fits: the rows they are calibrated on, and, on demand, their coverage and width.

use std::path::PathBuf;

use bnn_mcmc::data::bundled;
use bnn_mcmc::fit::{Fit, Method, Noise, Recipe};
use bnn_mcmc::predict::{Conformal, ConformalScore, SplitConformal};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Axis, array};
use serde_json::json;
use shared::{failed, refused, said};

fn data(rows: usize, seed: u64) -> Dataset {
    let mut rng = ChainRng::new(seed, 0);
    let x = Array2::from_shape_simple_fn((rows, 2), || rng.normal());
    let y: Array1<f64> = x
        .rows()
        .into_iter()
        .map(|r| 50.0 + 10.0 * r[0] - 3.0 * r[1] + 4.0 * rng.normal())
        .collect();
    Dataset::regression(x, y).unwrap()
}

fn line() -> Recipe {
    Fit::regression("y").hidden(&[]).chains(2).warmup(200).draws(600).seed(3)
}

#[test]
fn a_fit_is_calibrated_on_the_rows_that_it_has_not_seen() {
    let data = data(120, 1);
    let fit = line().warmup(8).draws(20).validation(0.5).fit(&data).unwrap();
    let Conformal::Split(split) = fit.conformal(0.9).unwrap() else { panic!("no split") };
    assert_eq!((split.rows(), split.level()), (60, 0.9));
    assert_eq!(split.score(), ConformalScore::Quantiles);

    // By hand, with noise of another seed in the predictive draws: there the quantile is another one.
    let rows = fit.validation().unwrap();
    let seed = fit.draws().info().seed ^ u64::from_le_bytes(*b"conforml");
    let scaled = fit.feature_scaler().scale_features(rows).unwrap();
    let scaler = fit.response_scaler().unwrap();
    let scaled = scaler.scale_response(&scaled).unwrap();
    let by_hand = |seed| {
        let seen = fit.posterior().predict_seeded(fit.draws(), &scaled, seed).unwrap();
        let seen = seen.unscaled(scaler).unwrap();
        SplitConformal::new(&seen, ConformalScore::Quantiles, 0.9).unwrap().quantile()
    };
    assert!((split.quantile() - by_hand(seed)).abs() < 1e-9, "{}", split.quantile());
    assert!((split.quantile() - by_hand(fit.draws().info().seed)).abs() > 1e-6);

    // Rows from elsewhere.
    let other = fit.conformal_on(&self::data(50, 2), 0.8).unwrap();
    let Conformal::Split(split) = &other else { panic!("no split") };
    assert_eq!(split.rows(), 50);
    let interval = other.interval(&fit.predict(&self::data(400, 3)).unwrap()).unwrap();
    let covered = interval.coverage(self::data(400, 3).real().unwrap().view()).unwrap();
    assert!((covered - 0.8).abs() < 0.15, "{covered}");
}

#[test]
fn without_such_rows_it_takes_chains_that_have_converged() {
    let data = data(80, 1);
    let fit = line().fit(&data).unwrap();
    assert!(fit.verdict().unwrap().is_converged());
    let conformal = fit.conformal(0.9).unwrap();
    let Conformal::JackknifePlus(jackknife) = &conformal else { panic!("no jackknife+") };
    assert!(jackknife.loo().unreliable().is_empty());
    let new = self::data(500, 2);
    let interval = conformal.interval(&fit.predict(&new).unwrap()).unwrap();
    let covered = interval.coverage(new.real().unwrap().view()).unwrap();
    // Noise of sd 4.
    let width = interval.mean_width();
    assert!((covered - 0.9).abs() < 0.06 && (width - 13.2).abs() < 2.5, "{covered} {width}");

    let name = "rows to calibrate on";
    refused!(
        line().warmup(1).draws(30).hidden(&[9]).fit(&data).unwrap().conformal(0.9),
        Argument { name: name }
    );
    let ensemble = line().method(Method::Ensemble).hidden(&[3]).warmup(60).draws(20);
    let ensemble = ensemble.chains(3).fit(&data).unwrap();
    failed!(ensemble.conformal(0.9), Argument { name: "draws" });
    said!(ensemble.conformal(0.9).unwrap_err());
    assert!(ensemble.conformal_on(&self::data(30, 2), 0.9).is_ok());
}

#[test]
fn add_one_in_has_intervals_of_the_noise_and_sets_of_likely_classes() {
    let data = data(60, 1);
    let fit = line().fit(&data).unwrap();
    let x = array![[0.0, 0.0], [1.0, -1.0]];
    let interval = fit.add_one_in(x.view(), 0.8).unwrap();
    for (row, mean) in [50.0, 63.0].into_iter().enumerate() {
        let (lower, upper) = (interval.lower[(row, 0)], interval.upper[(row, 0)]);
        println!("{mean}: {lower} {upper}");
        assert!((0.5 * (lower + upper) - mean).abs() < 2.5);
        // 1.28 sds of 4 on either side.
        assert!((upper - lower - 10.3).abs() < 3.5);
    }
    // The ends are those of the region: inside there p exceeds 0.2, and outside it does not.
    let known = bnn_mcmc::predict::AddOneIn::new(&fit.predict(fit.training()).unwrap()).unwrap();
    let ends = [interval.lower[(0, 0)], interval.upper[(0, 0)]];
    let beside = [ends[0] - 0.01, ends[0] + 0.5, ends[1] - 0.5, ends[1] + 0.01];
    let rows = Dataset::regression(Array2::zeros((4, 2)), Array1::from(beside.to_vec())).unwrap();
    let p = known.p_values(&fit.predict(&rows).unwrap()).unwrap();
    assert!(p[0] <= 0.2 && p[1] > 0.2 && p[2] > 0.2 && p[3] <= 0.2, "{p:?}");
    failed!(fit.add_one_in_sets(x.view(), 0.8), Argument { name: "response of the fit" });

    let iris = bundled::iris();
    let fit = Fit::classification("species").hidden(&[]).chains(2).warmup(300).draws(1000).seed(1);
    let fit = fit.fit(&iris).unwrap();
    let sets = fit.add_one_in_sets(iris.x().view(), 0.9).unwrap();
    let covered = sets.coverage(iris.response().classes().unwrap()).unwrap();
    println!("{covered} {}", sets.mean_size());
    assert!((0.85..=0.97).contains(&covered) && sets.mean_size() < 1.2, "{covered}");
    failed!(fit.add_one_in(iris.x().view(), 0.9), Argument { name: "response of the fit" });
}

#[test]
fn imputed_tables_are_calibrated_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let mut text = String::from("a,b,y\n");
    let data = data(90, 1);
    for (i, (x, y)) in data.x().rows().into_iter().zip(data.real().unwrap()).enumerate() {
        let b = if i % 5 == 0 { String::new() } else { x[1].to_string() };
        text.push_str(&format!("{},{b},{y}\n", x[0]));
    }
    std::fs::write(&path, text).unwrap();
    let recipe = line().warmup(50).draws(50);
    let fits = recipe.clone().validation(0.3).impute(2).read_csv(&path).unwrap();
    let conformal = fits.conformal(0.9).unwrap();
    let Conformal::Split(split) = &conformal else { panic!("no split") };
    assert_eq!(split.rows(), 27);
    let rows = fits.tables()[0].validation().unwrap();
    let interval = conformal.interval(&fits.predict(rows).unwrap()).unwrap();
    assert!(interval.coverage(rows.real().unwrap().view()).unwrap() > 0.85);
    let fits = recipe.impute(2).read_csv(&path).unwrap();
    refused!(fits.conformal(0.9), Argument { name: "rows to calibrate on" });
}

/// A table of the study: its rows, and how many of them are to learn from, to calibrate on and to be predicted.
struct Study {
    name: &'static str,
    data: Dataset,
    rows: [usize; 3],
}

/// The rows of a split, in an order of its own.
fn permuted(rows: usize, seed: u64) -> Vec<usize> {
    let mut rng = ChainRng::new(seed, 77);
    let mut keys: Vec<(f64, usize)> = (0..rows).map(|row| (rng.uniform(), row)).collect();
    keys.sort_by(|a, b| a.0.total_cmp(&b.0));
    keys.into_iter().map(|(_, row)| row).collect()
}

/// Without its second feature, which is 0 in all rows.
fn ionosphere() -> Dataset {
    let all = bundled::ionosphere();
    let kept: Vec<usize> = (0..all.n_features()).filter(|j| *j != 1).collect();
    let x = all.x().select(Axis(1), &kept);
    let classes = all.response().classes().unwrap().to_vec();
    Dataset::classification(x, classes, all.response().class_names().unwrap().to_vec()).unwrap()
}

/// The study of the guide on predictions: coverage of new rows at 0.9 over 100 splits of four tables, by a fit that has
/// converged and by one that has not. The numbers of calibration rows are such that 0.9 (n + 1) is whole: the coverage should
/// be 0.9 and not more.
///
/// ```sh
/// cargo test --release -p bnn-mcmc-tests --test run fit_conformal::study -- --ignored --nocapture
/// ```
///
/// `SPLITS=10` takes fewer, `TABLES=boston,ionosphere` some of the tables; `CONFORMAL=folder` writes what `benches/peers/conformal.py` reads.
#[test]
#[ignore = "20 minutes: 800 fits"]
fn study() {
    let of = |name: &str| std::env::var(name).ok();
    let splits: u64 = of("SPLITS").map_or(100, |n| n.parse().unwrap());
    let folder = of("CONFORMAL").map(PathBuf::from);
    let tables = [
        Study { name: "boston", data: bundled::boston(), rows: [200, 99, 207] },
        Study { name: "wine_red", data: bundled::wine_red(), rows: [300, 199, 300] },
        Study { name: "abalone", data: bundled::abalone(), rows: [300, 199, 300] },
        Study { name: "ionosphere", data: ionosphere(), rows: [150, 99, 102] },
    ];
    let only = of("TABLES");
    let is_asked = |table: &&Study| {
        only.as_ref().is_none_or(|only| only.split(',').any(|own| own == table.name))
    };
    for Study { name, data, rows: [train, calibration, new] } in tables.iter().filter(is_asked) {
        for converges in [true, false] {
            let is_real = data.real().is_ok();
            let response = data.response_names()[0].clone();
            let recipe = match is_real {
                true => Fit::regression(response),
                false => Fit::classification(response),
            };
            let recipe = match (is_real, converges) {
                (true, true) => recipe.hidden(&[]).noise(Noise::Heteroscedastic),
                (false, true) => recipe.hidden(&[]),
                (_, false) => recipe.hidden(&[10]),
            };
            let recipe = match converges {
                true => recipe.chains(4).warmup(300).draws(600),
                false => recipe.chains(2).warmup(5).draws(10),
            };
            // Coverage and width, or size, of each method and split.
            let mut found: Vec<(&str, Vec<[f64; 2]>)> = Vec::new();
            let mut put =
                |method, values: [f64; 2]| match found.iter_mut().find(|(name, _)| *name == method)
                {
                    Some((_, all)) => all.push(values),
                    None => found.push((method, vec![values])),
                };
            let (mut agree, mut written) = (0, Vec::new());
            for split in 0..splits {
                let order = permuted(data.rows(), split);
                let part = |from: usize, n: usize| data.select(&order[from..from + n]).unwrap();
                let fit = recipe.clone().seed(split).fit(&part(0, *train)).unwrap();
                agree += usize::from(fit.verdict().unwrap().is_converged());
                let kept = part(*train, *calibration);
                let rows = part(train + calibration, *new);
                let predicted = fit.predict(&rows).unwrap();
                let conformal = fit.conformal_on(&kept, 0.9).unwrap();
                let Ok(y) = rows.real() else {
                    let index = rows.response().classes().unwrap();
                    let sets = conformal.sets(&predicted).unwrap();
                    put("split, 1 - p", [sets.coverage(index).unwrap(), sets.mean_size()]);
                    if let (true, Ok(jackknife)) = (converges, fit.conformal(0.9)) {
                        let sets = jackknife.sets(&predicted).unwrap();
                        put("jackknife+", [sets.coverage(index).unwrap(), sets.mean_size()]);
                    }
                    continue;
                };
                let mut of = |method, interval: &bnn_mcmc::predict::Interval| {
                    put(method, [interval.coverage(y.view()).unwrap(), interval.mean_width()]);
                };
                of("predictive", &predicted.predictive_interval(0.9).unwrap());
                of("split, quantiles", &conformal.interval(&predicted).unwrap());
                let seen = fit.predict(&kept).unwrap();
                for (method, score) in [
                    ("split, absolute", ConformalScore::Absolute),
                    ("split, normalised", ConformalScore::Normalised),
                ] {
                    let split = SplitConformal::new(&seen, score, 0.9).unwrap();
                    of(method, &split.interval(&predicted).unwrap());
                }
                if let (true, Ok(jackknife)) = (converges, fit.conformal(0.9)) {
                    of("jackknife+", &jackknife.interval(&predicted).unwrap());
                }
                let given = |predicted: &Predictions, y: &Array2<f64>| {
                    let ends = predicted.predictive_interval(0.9).unwrap();
                    let drawn = predicted.predictive_draws();
                    let (chains, draws, n, _) = drawn.dim();
                    let drawn = drawn.to_shape((chains * draws, n)).unwrap();
                    json!({
                        "y": y.column(0).to_vec(),
                        "mean": predicted.posterior_mean().unwrap().column(0).to_vec(),
                        "sd": drawn.std_axis(Axis(0), 0.0).to_vec(),
                        "lower": ends.lower.column(0).to_vec(),
                        "upper": ends.upper.column(0).to_vec(),
                    })
                };
                if folder.is_some() && converges {
                    written.push(json!({
                        "train": order[..*train], "calibration": order[*train..train + calibration],
                        "new": order[train + calibration..train + calibration + new],
                        "seen": given(&seen, kept.real().unwrap()), "predicted": given(&predicted, y),
                    }));
                }
            }
            println!("\n{name}, {agree} of {splits} converged: coverage (standard error), size");
            for (method, all) in found {
                let n = all.len() as f64;
                let column = |k: usize| all.iter().map(|v| v[k]).collect::<Array1<f64>>();
                let (covered, size) = (column(0), column(1));
                let (mean, error) = (covered.mean().unwrap(), covered.std(1.0) / n.sqrt());
                let size = size.mean().unwrap();
                println!("  {method:18} {mean:.3} ({error:.3}) {size:8.3}  {n} splits");
                let holds = (mean - 0.9).abs() <= 0.01;
                assert!(!method.starts_with("split") || splits < 100 || holds, "{method}: {mean}");
            }
            if let (Some(folder), false) = (&folder, written.is_empty()) {
                let text = serde_json::to_string(&written).unwrap();
                std::fs::write(folder.join(format!("{name}.json")), text).unwrap();
            }
        }
    }
}

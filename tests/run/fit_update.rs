//! New rows for a fit, beside new fits of all rows.

use bnn_mcmc::diagnostics::mcse_mean;
use bnn_mcmc::fit::{Fit, Method, Noise, Recipe, UpdatedFit, WeightPrior};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, s};
use shared::refused;

fn x(rows: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, 2), |(i, j)| ((3 * i + 7 * j + i * j) as f64).sin())
}

/// Rows of a sequence, with a response of this kind.
fn rows(n: usize, response: &str, seed: u64) -> Dataset {
    let (x, mut rng) = (x(n), ChainRng::new(seed, 0));
    let mean = x.map_axis(ndarray::Axis(1), |x| (2.0 * x[0]).sin() + 0.5 * x[1]);
    match response {
        "real" => {
            Dataset::regression(x, mean.mapv(|mean| 10.0 + 3.0 * (mean + 0.3 * rng.normal())))
        }
        "positive" => Dataset::regression(x, mean.mapv(|mean| (mean + 0.3 * rng.normal()).exp())),
        "counts" => {
            let count = |mean: f64| {
                let (rate, mut sum) = (2.0 * (0.7 * mean).exp(), 0.0);
                (0..)
                    .take_while(|_| {
                        sum += rng.gamma(1.0) / rate;
                        sum < 1.0
                    })
                    .count() as f64
            };
            Dataset::counts(x, mean.mapv(count))
        }
        _ => {
            let class = |mean: &f64| {
                if *mean + 0.5 * rng.normal() > 0.3 { 2 } else { usize::from(rng.uniform() < 0.3) }
            };
            Dataset::classification(x, mean.iter().map(class).collect(), ["a", "b", "c"])
        }
    }
    .unwrap()
}

fn split(all: &Dataset, first: usize) -> (Dataset, Dataset) {
    let some = |range: std::ops::Range<usize>| all.select(&range.collect::<Vec<_>>()).unwrap();
    (some(0..first), some(first..all.rows()))
}

/// z-scores of the mean of five rows and of the log likelihood, and the share of the gradients of the new fit, its warm-up
/// included.
fn beside_a_new_fit(updated: &UpdatedFit) -> (Vec<f64>, f64) {
    let fit = &updated.fit;
    let again = fit.recipe().clone().seed(77).warmup(1000).draws(1000).fit(fit.data()).unwrap();
    let of = |fit: &Fit| {
        let mean = fit.posterior().predict_mean(fit.draws(), x(5).view()).unwrap();
        let mut all: Vec<Array2<f64>> =
            (0..5).map(|row| mean.slice(s![.., .., row, 0]).to_owned()).collect();
        all.push(fit.draws().stat("log_likelihood").unwrap().to_owned());
        all
    };
    let z = |(a, b): (Array2<f64>, Array2<f64>)| {
        let error = mcse_mean(a.view()).hypot(mcse_mean(b.view()));
        (a.mean().unwrap() - b.mean().unwrap()) / error
    };
    let z = of(fit).into_iter().zip(of(&again)).map(z).collect();
    (z, updated.gradient_evals as f64 / again.draws().gradient_evals() as f64)
}

fn sequences() -> Vec<(&'static str, Recipe, &'static str)> {
    let real = || Fit::regression("y");
    let network = |recipe: Recipe| recipe.hidden(&[2]).skip(true).weights(WeightPrior::Scales);
    vec![
        ("linear", real().hidden(&[]), "real"),
        ("linear, Student's t", real().hidden(&[]).noise(Noise::StudentT), "real"),
        ("linear, by MAMS", real().hidden(&[]).method(Method::Mams), "real"),
        ("linear counts", Fit::counts("y").hidden(&[]), "counts"),
        ("linear classes", Fit::classification("y").hidden(&[]), "classes"),
        (
            "log of the response",
            real().hidden(&[]).transform(bnn_mcmc::data::Transform::Log),
            "positive",
        ),
        ("network, collapsed", network(real()), "real"),
        ("network, by NUTS", network(real()).method(Method::Nuts), "real"),
        // By NUTS a chain of this one stands still for 200 of 1,000 draws (2.4 % of all transitions diverge).
        ("network of counts", network(Fit::counts("y")).method(Method::Mams), "counts"),
        ("network of classes", network(Fit::classification("y")).method(Method::Mams), "classes"),
    ]
}

/// Every third of ten sequences, each with 5 % more rows, and with half as many more.
#[test]
fn updates_are_of_the_posterior_of_a_new_fit() {
    updates_are_right(3);
}

#[test]
#[ignore = "long"]
fn updates_are_of_the_posterior_of_a_new_fit_long() {
    updates_are_right(1);
}

fn updates_are_right(step: usize) {
    let mut all = Vec::new();
    for (i, (name, recipe, response)) in sequences().into_iter().enumerate().step_by(step) {
        for (first, more) in [(200, 10), (100, 50)] {
            let (first, new) = split(&rows(first + more, response, i as u64), first);
            let fit = recipe.fit(&first).unwrap();
            let verdict = fit.verdict().unwrap();
            assert!(verdict.max_rhat() < 1.05, "{name}: {verdict}");
            let updated = fit.update(&new).unwrap();
            let (z, share) = beside_a_new_fit(&updated);
            println!(
                "{name}, {} and {more}: k {:.2}, powers {:.2?}, {:.3} of the gradients, z {z:.1?}",
                first.rows(),
                updated.pareto_k,
                updated.powers,
                share
            );
            assert!(z.iter().all(|z| z.abs() <= 4.0), "{name}: {z:?}");
            assert!(!updated.has_drifted(), "{name}: {updated}");
            assert!(share <= if more == 10 { 0.1 } else { 0.4 }, "{name}: {share}");
            all.extend(z);
        }
    }
    let rms = (all.iter().map(|z| z * z).sum::<f64>() / all.len() as f64).sqrt();
    println!("{} z-scores, rms {rms:.2}", all.len());
    assert!((0.7..1.3).contains(&rms), "{rms}");
}

/// Of 25 streams each, of 60 rows and 40 more.
#[test]
fn a_stream_that_drifts_is_noticed() {
    drifts_are_noticed(25);
}

#[test]
#[ignore = "long"]
fn a_stream_that_drifts_is_noticed_long() {
    drifts_are_noticed(100);
}

fn drifts_are_noticed(streams: usize) {
    let noticed = |response: &str, change: &(dyn Fn(Dataset) -> Dataset + Sync)| {
        let recipe = match response {
            "classes" => Fit::classification("y"),
            _ => Fit::regression("y"),
        };
        let recipe = recipe.hidden(&[]).chains(2).warmup(200).draws(200).threads(1);
        let has_drifted = |seed: u64| {
            let (first, new) = split(&rows(100, response, seed), 60);
            recipe.clone().fit(&first).unwrap().update(&change(new)).unwrap().has_drifted()
        };
        (0..streams as u64).filter(|seed| has_drifted(*seed)).count()
    };
    let with = |data: Dataset, y: Array1<f64>| {
        data.with_real_response(y.insert_axis(ndarray::Axis(1))).unwrap()
    };
    let shifted = |data: Dataset| {
        let y = data.real().unwrap().column(0).mapv(|y| y + 2.5);
        with(data, y)
    };
    let scattered = |data: Dataset| {
        let y = data.real().unwrap().column(0).to_owned();
        let mean = y.mean().unwrap();
        with(data, y.mapv(|y| mean + 5.0 * (y - mean)))
    };
    let relabelled = |data: Dataset| {
        let classes = data.classes().unwrap().iter().map(|class| (class + 1) % 3).collect();
        let (names, columns) = (["a", "b", "c"], data.feature_names().to_vec());
        Dataset::classification(data.x().clone(), classes, names)
            .unwrap()
            .with_feature_names(columns)
            .unwrap()
    };
    let found = [
        noticed("real", &|data| data),
        noticed("classes", &|data| data),
        noticed("real", &shifted),
        noticed("real", &scattered),
        noticed("classes", &relabelled),
    ];
    println!("of {streams} streams: stationary {:?}, drifted {:?}", &found[..2], &found[2..]);
    assert_eq!(found, [0, 0, streams, streams, streams]);
}

/// In sequence, each moved: there are enough draws for a verdict, and they are of the posterior.
#[test]
fn moved_fits_are_moved_again() {
    let part = |all: &Dataset, rows: std::ops::Range<usize>| {
        all.select(&rows.collect::<Vec<_>>()).unwrap()
    };
    let all = rows(400, "real", 3);
    let recipe = Fit::regression("y").hidden(&[]).noise(Noise::StudentT);
    let mut fit = recipe.fit(&part(&all, 0..40)).unwrap();
    for (first, end) in [(40, 120), (120, 400)] {
        let updated = fit.update(&part(&all, first..end)).unwrap();
        assert!(updated.powers.len() > 1, "{updated}");
        let verdict = updated.fit.verdict().unwrap();
        assert!(verdict.is_converged(), "{end}: {verdict}");
        assert_eq!(updated.fit.draws().n_draws(), 200);
        let (z, _) = beside_a_new_fit(&updated);
        assert!(z.iter().all(|z| z.abs() <= 4.0), "{end}: {z:.1?}");
        fit = updated.fit;
    }
    assert!(fit.recipe().to_string().contains("over those of the first 40 rows"));
}

/// Of right models the chance is uniform, also for a few rows and rare classes: it is seldom below 0.05.
#[test]
fn a_drift_has_the_chance_that_it_says() {
    let few = |response: &str, new: usize| {
        let recipe = match response {
            "classes" => Fit::classification("y"),
            _ => Fit::counts("y"),
        };
        let recipe = recipe.hidden(&[]).chains(2).warmup(200).draws(200).threads(1);
        let chances = (0..50).map(|seed| {
            let (first, new) = split(&rows(60 + new, response, 1000 + seed), 60);
            recipe.clone().fit(&first).unwrap().update(&new).unwrap().drift.unwrap()
        });
        chances.filter(|chance| *chance < 0.05).count()
    };
    // Up to 8 of 50 with a probability of 0.999 if each has 0.05.
    for (response, new) in [("counts", 5), ("classes", 5), ("counts", 30)] {
        let found = few(response, new);
        println!("{response}, {new} rows: below 0.05 in {found} of 50");
        assert!(found <= 8, "{response}, {new}: {found}");
    }
    let (first, new) = split(&rows(44, "counts", 5), 40);
    let fit = Fit::counts("y").hidden(&[]).chains(2).warmup(100).draws(100).fit(&first).unwrap();
    assert_eq!(fit.update(&new).unwrap().drift, None);
}

#[test]
fn an_updated_fit_is_a_fit() {
    let all = rows(110, "real", 5);
    let (first, new) = split(&all, 100);
    let recipe = || Fit::regression("y").hidden(&[]).chains(2).warmup(200).draws(200);
    for recipe in [recipe(), recipe().validation(0.2)] {
        let fit = recipe.clone().fit(&first).unwrap();
        let updated = fit.update(&new).unwrap();
        let own = &updated.fit;
        assert_eq!(own.data(), &all);
        let kept = fit.validation().map_or(0, Dataset::rows);
        assert_eq!(own.training().rows(), 110 - kept);
        assert_eq!(own.validation(), fit.validation());
        // Scalings stay.
        assert_eq!(own.feature_scaler(), fit.feature_scaler());
        assert_eq!(own.response_scaler(), fit.response_scaler());
        assert_eq!(own.posterior().n_obs(), own.training().rows());
        // The draws are of the posterior that the fit has, which says so of others.
        let density = own.draws().stat("log_likelihood").unwrap()[[1, 9]];
        let mut ws = own.posterior().workspace();
        let q = own.draws().draw(1, 9).unwrap();
        let found = own.posterior().log_density(q, &mut ws).likelihood;
        assert!((found - density).abs() < 1e-9 * density.abs());
        assert!(own.verdict().unwrap().max_rhat() < 1.1);
        assert!(own.loo().is_ok());

        let folder = tempfile::tempdir().unwrap();
        own.save(folder.path().join("run")).unwrap();
        let loaded = Fit::load(folder.path().join("run")).unwrap();
        assert_eq!(loaded.draws().values(), own.draws().values());
        assert_eq!(loaded.feature_scaler(), fit.feature_scaler());
        let mean = |fit: &Fit| fit.predict(&new).unwrap().posterior_mean().unwrap();
        assert_eq!(mean(&loaded), mean(own));
        assert_ne!(mean(&loaded), mean(&fit));
        // Again, from where it is.
        let (_, more) = split(&rows(115, "real", 5), 110);
        let twice = loaded.update(&more).unwrap();
        assert_eq!(twice.fit.data().rows(), 115);
        assert_eq!(twice.fit.feature_scaler(), fit.feature_scaler());
    }
    // Same seed, same draws, for any number of threads.
    let fit = recipe().hidden(&[2]).fit(&split(&rows(150, "real", 5), 50).0).unwrap();
    let (_, many) = split(&rows(150, "real", 5), 50);
    let draws = || fit.update(&many).unwrap().fit.draws().values().to_owned();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.install(draws), draws());
}

#[test]
fn what_cannot_be_updated_is_refused() {
    let (first, new) = split(&rows(44, "real", 5), 40);
    let recipe = || Fit::regression("y").hidden(&[]).chains(2).warmup(100).draws(100);
    let fit = recipe().fit(&first).unwrap();
    refused!(fit.update(&new.clone().with_feature_names(["a", "b"]).unwrap()), Shape {});
    refused!(fit.update(&new.clone().with_weights(vec![1.0; 4]).unwrap()), Shape {});
    refused!(fit.thinned(2).unwrap().update(&new), Argument {});
    refused!(recipe().draws(30).fit(&first).unwrap().update(&new), Argument {});
    refused!(
        recipe().method(Method::Ensemble).hidden(&[2]).warmup(50).fit(&first).unwrap().update(&new),
        Argument {}
    );
    let far = new.clone().with_real_response(Array2::from_elem((4, 1), 1e300)).unwrap();
    assert!(fit.update(&far).is_err());
    let said = fit.update(&new).unwrap().to_string();
    assert!(said.starts_with("4 new rows: the draws were weighted (Pareto k "), "{said}");
}

/// A column that is constant in the first rows, beside others of its column, keeps its unit when more rows vary in it.
#[test]
fn the_scale_of_a_column_that_was_constant_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let write = |hours: &[usize]| {
        let row = |i: usize| format!("{:02}:00,{}\n", hours[i % hours.len()], (i * 7) % 11);
        std::fs::write(&path, format!("at,y\n{}", (0..40).map(row).collect::<String>())).unwrap();
    };
    write(&[8, 16]);
    let recipe = Fit::regression("y").hidden(&[]).chains(2).warmup(200).draws(200);
    let fit = recipe.read_csv(&path).unwrap();
    write(&[8, 12]);
    let updated = fit.update(&fit.read(&path).unwrap()).unwrap().fit;
    assert_eq!(updated.feature_scaler(), fit.feature_scaler());
    assert!(updated.predict(&fit.read(&path).unwrap()).is_ok());
}

/// What would take more gradients than the run took is told before they are spent.
#[test]
fn rows_that_a_new_fit_is_better_for_are_refused() {
    let (first, new) = split(&rows(100, "real", 5), 60);
    let recipe = Fit::regression("y").hidden(&[2]).method(Method::Nuts).chains(2);
    let fit = recipe.warmup(200).draws(200).fit(&first).unwrap();
    let y = new.real().unwrap().mapv(|y| y + 60.0);
    let far = new.clone().with_real_response(y).unwrap();
    refused!(fit.update(&far), Argument { name: "gradients that the new rows need" });
    // An update of an update has no run to compare with.
    let near = fit.update(&new.select(&[0, 1]).unwrap()).unwrap();
    assert!(near.fit.draws().info().warmup_gradient_evals.is_empty());
}

/// Rows that are known are counted, whatever their place, by their features and their response.
#[test]
fn rows_that_were_learnt_from_are_told() {
    for response in ["real", "counts", "classes"] {
        let (first, new) = split(&rows(64, response, 5), 60);
        let recipe = match response {
            "real" => Fit::regression("y"),
            "counts" => Fit::counts("y"),
            _ => Fit::classification("y"),
        };
        let fit = recipe.hidden(&[]).chains(2).warmup(200).draws(200).fit(&first).unwrap();
        let known = first.select(&[59, 3]).unwrap();
        let updated = fit.update(&known.with_rows(&new).unwrap()).unwrap();
        assert_eq!(updated.repeated, 2, "{response}");
        let said = updated.to_string();
        assert!(said.contains("; learnt from before, and counted once more: 2 rows"), "{said}");
        let updated = fit.update(&new).unwrap();
        assert_eq!(updated.repeated, 0, "{response}");
        assert!(!updated.to_string().contains("counted once more"), "{updated}");
    }
}

/// Rows that count for nothing make no drift, and rows that count twice are two.
#[test]
fn a_drift_counts_rows_by_their_weights() {
    let (first, new) = split(&rows(100, "real", 5), 60);
    let recipe = || Fit::regression("y").hidden(&[]).chains(2).warmup(200).draws(200);
    let fit = recipe().fit(&first.with_weights(vec![1.0; 60]).unwrap()).unwrap();
    let y = new.real().unwrap().clone();
    let far = Array2::from_shape_fn((40, 1), |(i, _)| y[[i, 0]] + if i < 20 { 8.0 } else { 0.0 });
    let far = new.with_real_response(far).unwrap();
    let drift = |weight: f64| {
        let weights = (0..40).map(|i| if i < 20 { weight } else { 1.0 }).collect::<Vec<f64>>();
        fit.update(&far.clone().with_weights(weights).unwrap()).unwrap().has_drifted()
    };
    assert!(!drift(0.0) && drift(1.0));
}

//! The choice of a model by the data.

use std::fmt::Write;
use std::time::Duration;

use bnn_mcmc::data::{Dataset, Transform};
use bnn_mcmc::fit::{Candidate, Fit, Method, Noise, Recipe, RunUntil, Search, Trial, WeightPrior};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::StopHandle;
use ndarray::{Array1, Array2, s};
use shared::refused;

/// Rows of two features, one of which matters, with normal noise of standard deviation 0.2.
fn rows(n: usize, f: impl Fn(f64) -> f64) -> Dataset {
    let mut rng = ChainRng::new(3, 0);
    let x = Array2::from_shape_simple_fn((n, 2), || rng.normal());
    let y = x.column(0).mapv(f) + Array1::from_shape_simple_fn(n, || 0.2 * rng.normal());
    Dataset::regression(x, y).unwrap()
}

/// Rows whose two features act together, so that no sum of curves predicts them.
fn interacting(n: usize) -> Dataset {
    let data = rows(n, |_| 0.0);
    let y = data.x().column(0).to_owned() * data.x().column(1) + data.real().unwrap().column(0);
    Dataset::regression(data.x().to_owned(), y).unwrap()
}

fn short(recipe: Recipe) -> Recipe {
    recipe.chains(2).warmup(40).draws(20).seed(5)
}

/// The scores of a candidate: mean log density, difference, standard error.
fn scores(search: &Search, candidate: Candidate) -> (f64, f64, f64) {
    match search.of(candidate) {
        Some(Trial::Scored { log_density, difference, se_difference, .. }) => {
            (*log_density, *difference, *se_difference)
        }
        other => panic!("{candidate}: {other:?}"),
    }
}

#[test]
fn a_line_is_found_linear_and_a_curve_is_not() {
    let line = short(Fit::regression("y")).fit(&rows(120, |x| 0.7 * x)).unwrap();
    let search = line.search().unwrap();
    assert_eq!((search.chosen, search.rows), (Candidate::Linear, 120), "{search}");
    assert!(line.network().sizes() == [2, 1]);
    assert!(search.in_words()[0].starts_with("the linear model: no other predicts 120 rows"));

    let curve = short(Fit::regression("y")).fit(&rows(120, |x| (2.0 * x).sin())).unwrap();
    let search = curve.search().unwrap();
    assert_eq!(search.chosen, Candidate::Additive, "{search}");
    let (_, difference, error) = scores(search, Candidate::Linear);
    assert!(difference < -0.5 && difference < -5.0 * error, "{search}");
    assert!(search.in_words()[0].contains("more, by cross-validation of 120 rows"));
    for (level, share) in &search.coverage {
        let error = (level * (1.0 - level) / 120.0).sqrt();
        assert!((share - level).abs() < 4.0 * error, "{level}: {share}");
    }
    assert_eq!(search.coverage.len(), 3);
    assert!(curve.verdict().is_ok());
}

/// The log density of row i under the linear model with a flat prior on coefficients and on the log of the noise, given the
/// rows of other folds: Student's t with n - p degrees of freedom.
fn by_least_squares(data: &Dataset) -> f64 {
    use statrs::distribution::{Continuous, StudentsT};
    let (x, y) = (data.x(), data.real().unwrap());
    let mut sum = 0.0;
    for fold in data.k_folds(5, 5).unwrap() {
        let row = |i: usize| [1.0, x[[i, 0]], x[[i, 1]]];
        let mut a = [[0.0; 3]; 3];
        let mut b = [0.0; 3];
        for &i in &fold.train {
            for j in 0..3 {
                (0..3).for_each(|k| a[j][k] += row(i)[j] * row(i)[k]);
                b[j] += row(i)[j] * y[[i, 0]];
            }
        }
        let solve = |mut a: [[f64; 3]; 3], mut b: [f64; 3]| {
            for p in 0..3 {
                for q in p + 1..3 {
                    let f = a[q][p] / a[p][p];
                    (p..3).for_each(|k| a[q][k] -= f * a[p][k]);
                    b[q] -= f * b[p];
                }
            }
            for p in (0..3).rev() {
                for k in p + 1..3 {
                    b[p] -= a[p][k] * b[k];
                }
                b[p] /= a[p][p];
            }
            b
        };
        let dot = |u: [f64; 3], v: [f64; 3]| u.iter().zip(v).map(|(u, v)| u * v).sum::<f64>();
        let beta = solve(a, b);
        let squares: f64 =
            fold.train.iter().map(|&i| (y[[i, 0]] - dot(row(i), beta)).powi(2)).sum();
        let degrees = fold.train.len() as f64 - 3.0;
        for &i in &fold.test {
            let leverage = dot(row(i), solve(a, row(i)));
            let scale = (squares / degrees * (1.0 + leverage)).sqrt();
            let t = StudentsT::new(dot(row(i), beta), scale, degrees).unwrap();
            sum += t.ln_pdf(y[[i, 0]]);
        }
    }
    sum / data.rows() as f64
}

#[test]
fn log_densities_of_folds_are_those_of_least_squares() {
    let data = rows(200, |x| 100.0 + 0.7 * x);
    let fit = short(Fit::regression("y")).fit(&data).unwrap();
    let (log_density, ..) = scores(fit.search().unwrap(), Candidate::Linear);
    let expected = by_least_squares(&data);
    // 100 draws, and priors that are not flat.
    assert!((log_density - expected).abs() < 0.02, "{log_density} {expected}");
}

#[test]
fn a_search_and_its_settings_make_the_same_draws_for_any_number_of_threads() {
    let data = interacting(60);
    let fit = short(Fit::regression("y")).threads(1).fit(&data).unwrap();
    let two = short(Fit::regression("y")).threads(2).fit(&data).unwrap();
    assert_eq!(fit.search(), two.search());
    assert_eq!(fit.draws().values(), two.draws().values());

    // The same candidate by name, and all of its settings one by one.
    let chosen = fit.search().unwrap().chosen;
    let named = short(Fit::regression("y")).model(chosen).fit(&data).unwrap();
    assert_eq!(named.draws().values(), fit.draws().values());
    assert!(named.search().is_none());
    let (noise, transform) = match chosen {
        Candidate::Network => (Noise::StudentT, Transform::None),
        Candidate::NetworkTransformed => (Noise::StudentT, Transform::YeoJohnson),
        Candidate::NetworkHeteroscedastic => {
            (Noise::HeteroscedasticStudentT, Transform::YeoJohnson)
        }
        other => panic!("{other}"),
    };
    let by_hand = Fit::regression("y").hidden(&[20]).skip(true).weights(WeightPrior::Scales);
    let by_hand = by_hand.noise(noise).transform(transform).power_features(true);
    let by_hand = by_hand.method(Method::Mams);
    let by_hand = short(by_hand).fit(&data).unwrap();
    assert_eq!(by_hand.draws().values(), fit.draws().values());
}

#[test]
fn a_run_goes_on_with_the_model_of_its_folder_and_does_not_look_at_the_clock_again() {
    let data = interacting(60);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let recipe = || Fit::regression("y").chains(2).draws(20).seed(5).within(Duration::MAX);
    let whole = recipe().fit(&data).unwrap();
    assert_eq!(whole.draws().info().warmup, 300);

    // The run is ended while it samples, where `fit.json` has the model and the numbers of iterations.
    let (stop, at) = (StopHandle::new(), path.join("fit.json"));
    let watched = stop.clone();
    let watch = std::thread::spawn(move || {
        while !at.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        watched.stop();
    });
    let ended = recipe().in_folder(&path).stop_handle(&stop).fit(&data).unwrap();
    watch.join().unwrap();
    assert!(ended.draws().info().stopped_early);
    // Without the folder there would be 150 iterations of warm-up of a linear model.
    let gone_on = recipe().in_folder(&path).within(Duration::ZERO).fit(&data).unwrap();
    assert_eq!(gone_on.draws().values(), whole.draws().values());
    assert_eq!(gone_on.search(), whole.search());
    let loaded = Fit::load(&path).unwrap();
    assert_eq!(loaded.search(), whole.search());

    // The same settings, said by hand, are the same fit; others are not.
    let chosen = whole.search().unwrap().chosen;
    let same = recipe().model(chosen).warmup(300).in_folder(&path).fit(&data).unwrap();
    assert_eq!(same.draws().values(), whole.draws().values());
    refused!(recipe().hidden(&[7]).in_folder(&path).fit(&data), OtherFit {});
    refused!(recipe().seed(6).in_folder(&path).fit(&data), OtherFit {});
    refused!(recipe().noise(Noise::Gaussian).in_folder(&path).fit(&data), OtherFit {});
    let counts = Dataset::counts(data.x().clone(), Array2::ones((60, 1))).unwrap();
    refused!(Fit::counts("y").in_folder(&path).fit(&counts), OtherFit {});
    // Without its file nobody knows the model.
    std::fs::write(path.join("fit.json"), "{").unwrap();
    refused!(recipe().in_folder(&path).fit(&data), Table {});
    std::fs::remove_file(path.join("fit.json")).unwrap();
    refused!(recipe().in_folder(&path).fit(&data), Table {});
    let rebuilt = recipe().model(chosen).warmup(300).in_folder(&path).fit(&data).unwrap();
    assert_eq!(rebuilt.draws().values(), whole.draws().values());
}

/// With so short a warm-up they do not converge at once.
#[test]
fn chains_run_until_they_have_converged() {
    let data = rows(60, |x| x);
    let recipe = || {
        let recipe = Fit::regression("y").chains(2).warmup(4).seed(5).within(Duration::MAX);
        recipe.run_until(RunUntil::Converged)
    };
    let whole = recipe().fit(&data).unwrap();
    let n = whole.draws().n_draws();
    assert!([2000, 4000, 8000, 16_000, 32_000].contains(&n), "{n}");
    // Without a limit of the time they end after 16 times the first draws, or once more if that may be enough.
    assert!(whole.verdict().unwrap().is_converged() || n >= 16_000);
    // The number is a setting like another one.
    let named = Fit::regression("y").model(whole.search().unwrap().chosen);
    let named = |draws| named.clone().chains(2).warmup(4).seed(5).draws(draws);
    let of = |draws| named(draws).fit(&data).unwrap();
    assert!(!of(n / 2).verdict().unwrap().is_converged());
    assert_eq!(of(n).draws().values(), whole.draws().values());

    // A run that was stopped goes on to the same end.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    for moment in [5, 300] {
        let stop = StopHandle::new();
        let (watched, at) = (stop.clone(), path.join("fit.json"));
        let watch = std::thread::spawn(move || {
            while !at.exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(moment));
            watched.stop();
        });
        recipe().in_folder(&path).stop_handle(&stop).fit(&data).unwrap();
        watch.join().unwrap();
    }
    let gone_on = recipe().in_folder(&path).within(Duration::ZERO).fit(&data).unwrap();
    assert_eq!(gone_on.draws().values(), whole.draws().values());
    let loaded = recipe().in_folder(&path).fit(&data).unwrap();
    assert_eq!(loaded.draws().values(), whole.draws().values());
    assert_eq!(loaded.recipe().to_string(), whole.recipe().to_string());
    let same = named(n).in_folder(&path).fit(&data).unwrap();
    assert_eq!(same.draws().values(), whole.draws().values());
}

/// A run that has settled goes on until it has converged, in its folder, and keeps its draws; then it stays as it is.
#[test]
fn a_run_that_has_settled_goes_on_until_it_has_converged() {
    let data = rows(60, |x| x);
    let folder = tempfile::tempdir().unwrap();
    let recipe = || {
        let recipe = Fit::regression("y").chains(2).seed(5).within(Duration::MAX);
        recipe.in_folder(folder.path().join("run"))
    };
    let settled = recipe().fit(&data).unwrap();
    let verdict = settled.verdict().unwrap();
    assert!(verdict.is_settled() && !verdict.is_converged(), "{verdict}");
    let n = settled.draws().n_draws();
    assert!(n <= 400 && settled.draws().info().warmup == 300, "{n}");
    let again = recipe().run_until(RunUntil::Settled).fit(&data).unwrap();
    assert_eq!(again.draws().values(), settled.draws().values());

    let converged = recipe().run_until(RunUntil::Converged).fit(&data).unwrap();
    assert!(converged.verdict().unwrap().is_converged());
    assert_eq!(converged.draws().values().slice(s![.., ..n, ..]), settled.draws().values());
    let stays = recipe().run_until(RunUntil::Converged).fit(&data).unwrap();
    assert_eq!(stays.draws().values(), converged.draws().values());

    // The same of a model that is given.
    let given = || Fit::regression("y").hidden(&[]).chains(2).warmup(100).seed(5);
    let short = given().run_until(RunUntil::Settled).fit(&data).unwrap();
    let long = given().run_until(RunUntil::Converged).fit(&data).unwrap();
    assert!(short.verdict().unwrap().is_settled() && long.verdict().unwrap().is_converged());
    assert!(short.draws().n_draws() < long.draws().n_draws());
    // In a folder the same call loads it, whatever number of draws it has come to, and the other one goes on.
    let path = folder.path().join("given");
    let in_folder = |end| given().run_until(end).in_folder(&path).fit(&data).unwrap();
    let first = in_folder(RunUntil::Settled);
    let again = in_folder(RunUntil::Settled);
    assert_eq!(again.draws().values(), first.draws().values());
    let n = first.draws().n_draws();
    let more = in_folder(RunUntil::Converged);
    assert!(more.verdict().unwrap().is_converged());
    assert_eq!(more.draws().values().slice(s![.., ..n, ..]), first.draws().values());
    assert_eq!(in_folder(RunUntil::Converged).draws().values(), more.draws().values());
    let job = given().run_until(RunUntil::Settled).chains(4).only_chains(0..2).fit(&data);
    refused!(job, Argument { name: "draws" });
}

/// A positive response whose logarithm is linear is taken in logarithms; one that is so as it is, is not.
#[test]
fn the_logarithm_is_chosen_where_it_predicts_better() {
    let data = rows(200, |x| 0.5 * x);
    let positive = |f: fn(f64) -> f64| {
        let y = data.real().unwrap().mapv(f);
        Dataset::regression(data.x().to_owned(), y).unwrap()
    };
    let wide = short(Fit::regression("y")).fit(&positive(|y| (3.0 * y).exp())).unwrap();
    assert!(wide.recipe().to_string().contains("log of the response"), "{}", wide.recipe());
    // The logarithm of small squares has a long tail.
    let square = short(Fit::regression("y")).fit(&positive(|y| (2.0 * y + 4.0).powi(2))).unwrap();
    let text = square.recipe().to_string();
    assert!(text.contains("response by Yeo-Johnson"), "{text}");
}

/// What is a sum of curves is found additive, and the fit is the same after it was saved.
#[test]
fn an_additive_function_is_found_and_saved() {
    let mut rng = ChainRng::new(8, 0);
    let x = Array2::from_shape_simple_fn((300, 2), || 3.0 * rng.uniform() - 1.5);
    let y = Array1::from_shape_fn(300, |i| {
        (3.0 * x[[i, 0]]).sin() + x[[i, 1]].powi(2) + 0.3 * rng.normal()
    });
    let data = Dataset::regression(x, y).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let recipe = |model| Fit::regression("y").model(model).chains(2).warmup(300).draws(100);
    let additive = recipe(Candidate::Additive).in_folder(&path).fit(&data).unwrap();
    let linear = recipe(Candidate::LinearTransformed).fit(&data).unwrap();
    let new = {
        let x = Array2::from_shape_simple_fn((200, 2), || 3.0 * rng.uniform() - 1.5);
        let y = Array1::from_shape_fn(200, |i| {
            (3.0 * x[[i, 0]]).sin() + x[[i, 1]].powi(2) + 0.3 * rng.normal()
        });
        Dataset::regression(x, y).unwrap()
    };
    let density =
        |fit: &Fit| fit.predict(&new).unwrap().log_predictive_densities().unwrap().mean().unwrap();
    // Of the true function, whose noise has the standard deviation 0.3.
    let best = -0.5 * (std::f64::consts::TAU * 0.09).ln() - 0.5;
    let found = density(&additive);
    assert!(found > best - 0.12 && density(&linear) < best - 0.5, "{found} {best}");

    let loaded = Fit::load(&path).unwrap();
    assert_eq!(density(&loaded), found);
    // The data would choose it: a fit without a model goes on with the folder's.
    let same = Fit::regression("y").chains(2).warmup(300).draws(100).in_folder(&path).fit(&data);
    assert_eq!(same.unwrap().draws().values(), additive.draws().values());
    let [a, b] = [&additive, &loaded].map(|fit| {
        let predicted = fit.predict_new(new.x().view()).unwrap();
        predicted.predictions.posterior_mean().unwrap()
    });
    assert_eq!(a, b);
    assert!(loaded.recipe().to_string().contains("a line and a curve of each feature"));
    // A feature beyond the training rows goes on as a line.
    let far = |x: f64| {
        let rows = ndarray::array![[x, 0.0]];
        let predicted = loaded.predict_new(rows.view()).unwrap();
        predicted.predictions.mean()[[0, 0, 0, 0]]
    };
    assert!(far(3.0).is_finite() && far(30.0).is_finite());
}

/// A step of a sum of waves, which is no sum of curves and takes one layer of many units, is learnt by a network of curves, and the
/// fit is the same after it was saved.
#[test]
fn a_network_of_curves_learns_waves_and_is_saved() {
    let mut rng = ChainRng::new(8, 0);
    let mut rows = |n: usize| {
        let x = Array2::from_shape_simple_fn((n, 4), || 3.0 * rng.uniform() - 1.5);
        let waves = |i: usize| x.row(i).iter().map(|x| (5.0 * x).sin()).sum::<f64>();
        let y = Array1::from_shape_fn(n, |i| (1.5 * waves(i)).tanh() + 0.1 * rng.normal());
        Dataset::regression(x, y).unwrap()
    };
    let (data, new) = (rows(300), rows(200));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let recipe = |model| Fit::regression("y").model(model).chains(2).warmup(200).draws(100);
    let of_curves = recipe(Candidate::NetworkCurves).in_folder(&path).fit(&data).unwrap();
    let network = recipe(Candidate::NetworkTransformed).fit(&data).unwrap();
    let density =
        |fit: &Fit| fit.predict(&new).unwrap().log_predictive_densities().unwrap().mean().unwrap();
    let (found, without) = (density(&of_curves), density(&network));
    assert!(found > without + 0.3, "{found} {without}");

    let words = of_curves.recipe().to_string();
    assert!(words.contains(
        "one hidden layer of 20 units, tanh, and a linear part, of features and their curves"
    ));
    let loaded = Fit::load(&path).unwrap();
    assert_eq!(density(&loaded), found);
    assert_eq!(loaded.recipe().model_of_curves(), Some(Candidate::NetworkCurves));
    let again = Fit::regression("y").chains(2).warmup(200).draws(100).in_folder(&path).fit(&data);
    assert_eq!(again.unwrap().draws().values(), of_curves.draws().values());
}

/// A response that oscillates along one feature as fast as the other one says, which one layer of 20 units does not follow.
#[test]
#[ignore = "long"]
fn a_deep_network_is_tried_on_many_rows_where_a_network_is_best_long() {
    let mut rng = ChainRng::new(3, 0);
    let of = |data: &Dataset| {
        let recipe = short(Fit::regression("y")).within(Duration::MAX);
        recipe.fit(data).unwrap().search().unwrap().clone()
    };
    let x = Array2::from_shape_simple_fn((250, 2), || rng.normal());
    let y = Array1::from_shape_fn(250, |i| (3.0 * x[[i, 0]] * x[[i, 1]]).sin());
    let search = of(&Dataset::regression(x.clone(), y.insert_axis(ndarray::Axis(1))).unwrap());
    let last = search.tried.last().unwrap().candidate;
    assert_eq!((search.tried.len(), last), (8, Candidate::NetworkDeep), "{search}");
    scores(&search, Candidate::NetworkDeep);

    // Neither of fewer rows nor where a linear model is best.
    let search = of(&interacting(249));
    assert!(!search.chosen.is_linear() && search.of(Candidate::NetworkDeep).is_none(), "{search}");
    let search = of(&rows(250, |x| x));
    assert!(search.chosen.is_linear() && search.of(Candidate::NetworkDeep).is_none(), "{search}");
}

#[test]
fn without_time_the_linear_model_runs_for_a_moment() {
    let data = rows(60, |x| (2.0 * x).sin());
    let recipe = Fit::regression("y").chains(1).seed(5);
    let fit = recipe.clone().within(Duration::ZERO).fit(&data).unwrap();
    let search = fit.search().unwrap();
    assert_eq!(search.chosen, Candidate::Linear);
    let late = Trial::Failed("ended before it had predicted any rows".into());
    assert_eq!(search.of(Candidate::NetworkHeteroscedastic), Some(&late), "{search}");
    assert_eq!((fit.draws().info().warmup, fit.draws().n_draws()), (150, 100));
    // Numbers that are asked for stay.
    let fit = recipe.warmup(30).draws(7).within(Duration::ZERO).fit(&data).unwrap();
    assert_eq!((fit.draws().info().warmup, fit.draws().n_draws()), (30, 7));
}

#[test]
fn the_time_of_a_fit_is_foreseen() {
    let data = rows(60, |x| (2.0 * x).sin());
    let recipe = Fit::regression("y").chains(2).seed(5);
    let forecast = |recipe: &Recipe| recipe.forecast(&data, None).unwrap();
    let open = forecast(&recipe);
    assert!(open.search.unwrap() > Duration::ZERO);
    assert_eq!(open.at_most, Some(Duration::from_secs(54)));
    let names: Vec<_> = open.runs.iter().map(|run| run.candidate.unwrap()).collect();
    assert_eq!(names.len(), 7);
    assert_eq!((names[0], names[6]), (Candidate::Linear, Candidate::NetworkHeteroscedastic));
    assert!(open.runs.iter().all(|run| run.chains == 2 && run.time > Duration::ZERO));
    let said = open.to_string();
    assert!(
        said.contains(" to choose a model, then about ") && said.contains(", up to "),
        "{said}"
    );
    for (recipe, sizes) in [
        (recipe.clone().model(Candidate::Linear), [2, 1000, 1000]),
        (recipe.clone().hidden(&[3]).warmup(30).draws(7), [2, 30, 7]),
    ] {
        let named = forecast(&recipe);
        assert_eq!((named.search, named.at_most, named.runs.len()), (None, None, 1));
        let run = named.runs[0];
        assert_eq!((run.candidate, [run.chains, run.warmup, run.draws]), (None, sizes));
    }
    // Ten times as many draws take longer, whatever the machine.
    let draws = |draws| recipe.clone().hidden(&[8]).warmup(10).draws(draws);
    assert!(forecast(&draws(10_000)).runs[0].time > forecast(&draws(100)).runs[0].time);
    let ensemble = recipe.clone().method(Method::Ensemble);
    assert_eq!(forecast(&ensemble).to_string(), "it cannot be foreseen");
    let x = ndarray::Array2::from_shape_fn((60, 2), |(i, j)| if j == 0 { i as f64 } else { 1.0 });
    let constant =
        Dataset::regression(x.clone(), x.slice(ndarray::s![.., ..1]).to_owned()).unwrap();
    refused!(recipe.forecast(&constant, None), Table {});
}

#[test]
fn settings_are_checked_before_a_search() {
    let data = rows(60, |x| x);
    for (recipe, name) in [
        (Fit::regression("y").chains(0), "chains"),
        (Fit::regression("y").threads(0), "threads"),
        (Fit::regression("y").validation(2.0), "validation"),
    ] {
        let error = recipe.within(Duration::ZERO).fit(&data).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letter.txt"), "").unwrap();
    refused!(Fit::regression("y").in_folder(folder.path()).fit(&data), Table {});
}

#[test]
fn a_search_can_be_ended_and_leaves_nothing() {
    let data = rows(60, |x| (2.0 * x).sin());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let stop = StopHandle::new();
    stop.stop();
    let ended = short(Fit::regression("y")).in_folder(&path).stop_handle(&stop).fit(&data);
    let error = ended.unwrap_err();
    assert!(error.is_stopped());
    assert_eq!(error.to_string(), "ended before a model was chosen");
    assert!(!path.exists());
}

#[test]
fn every_task_has_candidates_and_other_names_are_refused() {
    let x = Array2::from_shape_fn((40, 1), |(i, _)| (i as f64 / 4.0).sin());
    let times: Array1<f64> = (0..40).map(|i| 1.0 + (i % 7) as f64).collect();
    let ends = times.mapv(|t| if t > 5.0 { f64::INFINITY } else { t });
    let counts = Array2::from_shape_fn((40, 1), |(i, _)| (i % 4) as f64);
    let class = (0..40).map(|i| i % 3).collect::<Vec<_>>();
    let two = Array2::from_shape_fn((40, 2), |(i, j)| ((i + j) as f64).cos());
    let of = |recipe: Recipe, data: Dataset| {
        let fit = short(recipe).fit(&data).unwrap();
        let names = fit.search().unwrap().tried.iter().map(|tried| tried.candidate.to_string());
        (names.collect::<Vec<_>>().join(" "), fit)
    };
    let classes = Dataset::classification(x.clone(), class, ["a", "b", "c"]).unwrap();
    let (names, fit) = of(Fit::classification("y"), classes);
    assert_eq!(names, "linear linear_transformed additive network network_curves");
    assert!(fit.search().unwrap().coverage.is_empty());
    let counts = Dataset::counts(x.clone(), counts).unwrap();
    let (names, _) = of(Fit::counts("y"), counts.clone());
    assert_eq!(
        names,
        "linear linear_transformed linear_hurdle additive network network_curves network_hurdle"
    );
    let (names, _) = of(Fit::counts("y").noise(Noise::Poisson), counts.clone());
    assert_eq!(names, "linear linear_transformed additive network network_curves");
    let (names, _) = of(Fit::counts("y").power_features(true), counts.clone());
    assert_eq!(names, "linear linear_hurdle additive network network_curves network_hurdle");
    let survival = Dataset::censored(x.clone(), times, ends).unwrap();
    let (names, _) = of(Fit::survival("y"), survival);
    assert_eq!(
        names,
        "linear linear_transformed linear_weibull additive network network_curves network_weibull"
    );
    let (names, fit) = of(Fit::regression(["y", "z"]), Dataset::regression(x, two).unwrap());
    assert_eq!(
        (names, fit.search().unwrap().coverage.len()),
        ("linear additive network".into(), 3)
    );

    // Networks of classes and counts are sampled by Mams.
    let fit = short(Fit::counts("y").model(Candidate::Network)).fit(&counts).unwrap();
    assert_eq!(fit.draws().info().algorithm.as_deref(), Some("Mams"));
    let nuts = Fit::counts("y").model(Candidate::Network).method(Method::Nuts);
    let fit = short(nuts).fit(&counts).unwrap();
    assert_eq!(fit.draws().info().algorithm.as_deref(), Some("Nuts"));

    let other = Fit::counts("y").model(Candidate::NetworkTransformed).fit(&counts);
    assert_eq!(
        other.unwrap_err().to_string(),
        "`model` is network_transformed, but must be one of linear, linear_transformed, linear_hurdle, additive, network, network_curves \
         and network_hurdle for this response"
    );
    let job = Fit::counts("y").chains(4).only_chains(0..1).fit(&counts);
    assert_eq!(
        job.unwrap_err().to_string(),
        "`model` is left to the data, but must be given where a job runs some of the chains: name the model \
         (`Candidate::Network`)"
    );
}

#[test]
fn rows_for_validation_are_not_seen_by_a_search() {
    let mut data = rows(80, |x| (2.0 * x).sin());
    let recipe = || short(Fit::regression("y")).validation(0.25);
    let search = recipe().fit(&data).unwrap().search().unwrap().clone();
    assert_eq!(search.rows, 60);
    let fit = recipe().hidden(&[]).fit(&data).unwrap();
    let kept = fit.validation().unwrap().x().clone();
    // Other responses of these rows make no difference to it.
    let (x, mut y) = (data.x().clone(), data.real().unwrap().clone());
    for (row, mut y) in x.rows().into_iter().zip(y.rows_mut()) {
        if kept.rows().into_iter().any(|kept| kept == row) {
            y.fill(1e3);
        }
    }
    data = Dataset::regression(x, y).unwrap();
    assert_eq!(*recipe().fit(&data).unwrap().search().unwrap(), search);
}

#[test]
fn a_response_that_differs_in_one_fold_alone_gets_the_linear_model() {
    let data = rows(60, |_| 0.0);
    let mut y = Array2::zeros((60, 1));
    y[[7, 0]] = 1.0;
    let data = Dataset::regression(data.x().clone(), y).unwrap();
    let fit = Fit::regression("y").chains(1).seed(5).fit(&data).unwrap();
    let search = fit.search().unwrap();
    assert_eq!((search.chosen, search.rows), (Candidate::Linear, 0));
    assert_eq!(search.in_words(), ["no candidate could be compared with another"]);
    // Its time cannot be foreseen.
    assert_eq!((fit.draws().info().warmup, fit.draws().n_draws()), (150, 100));
    assert!(matches!(search.of(Candidate::Network), Some(Trial::Failed(_))), "{search}");
}

#[test]
fn imputed_tables_have_the_model_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let data = rows(60, |x| (2.0 * x).sin());
    let mut text = String::from("a,b,y\n");
    for (i, (x, y)) in data.x().rows().into_iter().zip(data.real().unwrap()).enumerate() {
        let b = if i % 6 == 0 { String::new() } else { x[1].to_string() };
        text += &format!("{},{b},{y}\n", x[0]);
    }
    std::fs::write(&path, text).unwrap();
    let fits = short(Fit::regression("y")).impute(2).read_csv(&path).unwrap();
    let [first, second] = fits.tables() else { panic!("two tables") };
    assert!(first.search().is_some());
    assert_eq!(first.search(), second.search());
    assert_eq!(first.network().sizes(), second.network().sizes());
}

#[test]
fn a_large_table_is_searched_by_some_of_its_rows() {
    let data = rows(2_300, |x| 0.7 * x);
    let recipe = Fit::regression("y").noise(Noise::Gaussian).chains(1).warmup(20).draws(5);
    let fit = recipe.fit(&data).unwrap();
    assert_eq!(fit.search().unwrap().rows, 2_000);
    assert_eq!(fit.draws().values().slice(s![0, .., 0]).len(), 5);
}

/// The text of a table of two features.
fn text_of(data: &Dataset) -> String {
    let mut text = String::from("x1,x2,y\n");
    for (x, y) in data.x().rows().into_iter().zip(data.real().unwrap()) {
        writeln!(text, "{},{},{y}", x[0], x[1]).unwrap();
    }
    text
}

/// A fit of some rows of a table is that of a table of these rows, whose lines are known, and goes on in its folder.
#[test]
fn some_rows_of_a_table_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let (file, path) = (folder.path().join("t.csv"), folder.path().join("run"));
    let data = rows(300, |x| 0.7 * x);
    std::fs::write(&file, text_of(&data)).unwrap();
    let recipe = || short(Fit::regression("y")).noise(Noise::Gaussian);
    let fit = recipe().most_rows(120).in_folder(&path).read_csv(&file).unwrap();
    let drawn = fit.drawn_rows().unwrap();
    assert_eq!((drawn.rows, drawn.of, fit.training().rows()), (120, 300, 120));
    assert_eq!(drawn.to_string(), "120 of 300 rows, drawn at random");
    assert_eq!(fit.search().unwrap().rows, 120);
    // The rows are those of their lines, in order, spread over the table, and others with another seed.
    let lines: Vec<usize> = fit.lines().unwrap().iter().collect();
    for (row, line) in lines.iter().enumerate() {
        assert_eq!(fit.data().x().row(row), data.x().row(line - 2));
        assert_eq!(fit.training_row_name(row), format!("line {line}"));
    }
    let first = lines.iter().filter(|line| **line < 152).count();
    assert!(lines.is_sorted() && (40..80).contains(&first), "{first}");
    let other = recipe().seed(6).most_rows(120).read_csv(&file).unwrap();
    assert_ne!(other.data(), fit.data());

    // Without being asked again, the fit in the folder is known, and its draws are those of a table of these rows.
    let known = recipe().in_folder(&path).read_csv(&file).unwrap();
    assert_eq!(known.draws().values(), fit.draws().values());
    let loaded = Fit::load(&path).unwrap();
    assert_eq!((loaded.drawn_rows(), loaded.data()), (Some(drawn), fit.data()));
    assert_eq!(loaded.lines(), fit.lines());
    let alone = recipe().fit(fit.data()).unwrap();
    assert_eq!(alone.draws().values(), fit.draws().values());
    assert_eq!(alone.drawn_rows(), None);
    refused!(recipe().most_rows(130).in_folder(&path).read_csv(&file), OtherFit {});
    let said = recipe().most_rows(1).read_csv(&file).unwrap_err();
    assert_eq!(said.to_string(), "`most_rows` is 1, but must be at least 2");
    assert_eq!(recipe().most_rows(300).read_csv(&file).unwrap().drawn_rows(), None);
}

/// Of a file that is longer than the limit rows are drawn as it is read, and the fit is that of a table of these.
#[test]
fn rows_of_a_long_file_are_drawn_as_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (file, path) = (folder.path().join("t.csv"), folder.path().join("run"));
    let data = rows(600, |x| 0.7 * x);
    let text = text_of(&data);
    std::fs::write(&file, &text).unwrap();
    let recipe = || {
        let recipe = short(Fit::regression("y")).noise(Noise::Gaussian);
        recipe.reader(|reader| reader.limit(text.len() as u64 / 3)).in_folder(&path)
    };
    let refused = recipe().read_csv(&file).unwrap_err().to_string();
    assert!(refused.contains("or draw some of its rows (`most_rows`)"), "{refused}");
    let fit = recipe().most_rows(120).read_csv(&file).unwrap();
    let drawn = fit.drawn_rows().unwrap();
    assert_eq!((drawn.rows, drawn.of, fit.training().rows()), (120, 600, 120));
    for (row, line) in fit.lines().unwrap().iter().enumerate() {
        assert_eq!(fit.data().x().row(row), data.x().row(line - 2));
    }
    let again = recipe().most_rows(120).read_csv(&file).unwrap();
    assert_eq!(again.draws().values(), fit.draws().values());
    let loaded = Fit::load(&path).unwrap();
    assert_eq!((loaded.drawn_rows(), loaded.data()), (Some(drawn), fit.data()));
    refused!(recipe().most_rows(130).read_csv(&file), OtherFit {});
    let said = recipe().most_rows(1).read_csv(&file).unwrap_err();
    assert_eq!(said.to_string(), "`most_rows` is 1, but must be at least 2");
    let all = recipe().most_rows(usize::MAX).read_csv(&file).unwrap_err().to_string();
    assert!(all.contains("which is the limit"), "{all}");
    let few = recipe().most_rows(500).read_csv(&file).unwrap_err().to_string();
    assert!(few.contains("500 of its rows are longer"), "{few}");
}

/// A level that no drawn row has is a feature that is 0 in all of them, not an error.
#[test]
fn a_rare_level_need_not_be_drawn() {
    let mut data = rows(300, |x| 0.7 * x);
    let mut x = data.x().clone();
    x.column_mut(1).fill(0.0);
    x[[17, 1]] = 1.0;
    data = data.with_x(x.clone()).unwrap();
    let recipe = short(Fit::regression("y")).model(Candidate::Linear).most_rows(10);
    let fit = recipe.fit(&data).unwrap();
    assert!(fit.data().x().column(1).iter().all(|x| *x == 0.0));
    assert!(fit.predict(&data).is_ok());
    // A feature that no row of the table has is one, as it is without drawing.
    x.column_mut(1).fill(0.0);
    let constant = data.with_x(x).unwrap();
    let recipe = || short(Fit::regression("y")).model(Candidate::Linear);
    let whole = recipe().fit(&constant).unwrap_err().to_string();
    assert!(whole.contains("constant (0) over all 300 rows"), "{whole}");
    assert_eq!(recipe().most_rows(10).fit(&constant).unwrap_err().to_string(), whole);
}

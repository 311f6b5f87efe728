//! Fits: from a file to predictions of new rows, saved, loaded, killed and resumed.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use bnn_mcmc::data::Transform;
use bnn_mcmc::draws::checkpoint::Every;
use bnn_mcmc::fit::{Candidate, Fit, Method, Noise, Recipe, Told, WeightPrior};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Phase;
use ndarray::{Array1, Array2, array};
use shared::wait::wait_until;
use shared::{refused, said};

/// A file with a header, labels and missing values. The strength is about 500 + 40 (age - 1) + 30 if wet.
pub fn training_file(folder: &Path) -> std::path::PathBuf {
    let mut rng = ChainRng::new(7, 0);
    let mut text = String::from("id,age,surface,strength\n");
    for i in 0..60 {
        let (age, wet) = (2.0 * rng.uniform(), i % 3 == 0);
        let strength =
            500.0 + 40.0 * (age - 1.0) + f64::from(30 * u8::from(wet)) + 3.0 * rng.normal();
        let age = if i % 20 == 7 { "NA".to_string() } else { age.to_string() };
        let surface = if wet { "wet" } else { "dry" };
        writeln!(text, "{i},{age},{surface},{strength}").unwrap();
    }
    let path = folder.join("train.csv");
    fs::write(&path, text).unwrap();
    path
}

fn new_file(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("new.csv");
    fs::write(&path, "surface,age\nwet,0.5\ndry,1.5\ndry,?\nwet,7.25\n").unwrap();
    path
}

pub fn recipe() -> Recipe {
    Fit::regression("strength")
        .reader(|reader| reader.ignore(["id"]).drop_missing_rows())
        .hidden(&[4])
        .chains(2)
        .warmup(150)
        .draws(150)
        .seed(3)
        .checkpoint_every(Every::Draws(5))
}

/// The predictions of the new file, as text.
fn predictions(fit: &Fit, folder: &Path) -> String {
    let mut csv = Vec::new();
    let new = fit.predict_csv(new_file(folder)).unwrap();
    new.predictions.write_csv(&mut csv).unwrap();
    String::from_utf8(csv).unwrap()
}

const CHILD: &str = "BNN_MCMC_FIT_CHILD";

/// Not a test of its own: what other processes do in the folder that the variable names.
#[test]
fn child_process() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let folder = Path::new(&folder);
    match folder.join("train.csv") {
        train if train.exists() => {
            drop(recipe().in_folder(folder.join("run")).read_csv(train).unwrap())
        }
        _ => {
            let text = predictions(&Fit::load(folder.join("run")).unwrap(), folder);
            fs::write(folder.join("predictions.csv"), text).unwrap();
        }
    }
}

fn spawn(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "fit::child_process"])
        .env(CHILD, folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn three_processes_come_to_the_numbers_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, train) = (folder.path(), training_file(folder.path()));
    let whole = predictions(&recipe().read_csv(&train).unwrap(), folder);

    // One is killed while it samples.
    let mut first = spawn(folder);
    let draws = folder.join("run").join("checkpoint.draws");
    wait_until("the first draws", || {
        assert!(first.try_wait().unwrap().is_none(), "it ended before it could be killed");
        fs::metadata(&draws).is_ok_and(|file| file.len() > 0)
    });
    first.kill().unwrap();
    assert!(!first.wait().unwrap().success());
    refused!(Fit::load(folder.join("run")), Table {});
    // The next one goes on; the third one has no training file.
    assert!(spawn(folder).wait().unwrap().success());
    fs::remove_file(train).unwrap();
    assert!(spawn(folder).wait().unwrap().success());
    assert_eq!(fs::read_to_string(folder.join("predictions.csv")).unwrap(), whole);
}

#[test]
fn predictions_are_in_the_units_of_the_file_and_name_what_lies_outside() {
    let folder = tempfile::tempdir().unwrap();
    let fit = recipe().read_csv(training_file(folder.path())).unwrap();
    assert_eq!(fit.dropped(), [9, 29, 49]);
    assert_eq!(fit.data().feature_names(), ["age", "surface=dry", "surface=wet"]);
    let new = fit.predict_csv(new_file(folder.path())).unwrap();
    assert_eq!(new.dropped, [4]);
    let mean = new.predictions.posterior_mean().unwrap();
    let interval = new.predictions.predictive_interval(0.95).unwrap();
    for (row, truth) in [(0, 510.0), (1, 520.0)] {
        assert!((mean[[row, 0]] - truth).abs() < 5.0, "{mean}");
        assert!(interval.lower[[row, 0]] < truth && truth < interval.upper[[row, 0]]);
        assert!(interval.width()[[row, 0]] < 25.0);
    }
    assert_eq!(new.outside.len(), 1);
    assert_eq!((new.outside[0].row, new.outside[0].value), (2, 7.25));
    assert_eq!(new.outside[0].range.feature, "age");
    said!(new);
    let csv = predictions(&fit, folder.path());
    assert!(csv.lines().any(|line| line.starts_with("0,strength,")), "{csv}");
    let scores = fit.scores(fit.data()).unwrap();
    let rmse = scores.get("rmse").unwrap().posterior;
    assert!((2.0..4.0).contains(&rmse), "{scores}"); // the noise is 3
    assert!(fit.verdict().is_ok());
}

#[test]
fn what_is_saved_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let fit = recipe().validation(0.25).read_csv(training_file(folder.path())).unwrap();
    let saved = folder.path().join("saved");
    fit.save(&saved).unwrap();
    refused!(fit.save(&saved), Table {});
    let loaded = Fit::load(&saved).unwrap();
    assert_eq!(loaded.draws(), fit.draws());
    assert_eq!((loaded.data(), loaded.dropped()), (fit.data(), fit.dropped()));
    assert_eq!((loaded.ranges(), loaded.feature_scaler()), (fit.ranges(), fit.feature_scaler()));
    assert_eq!(predictions(&loaded, folder.path()), predictions(&fit, folder.path()));
    let validation = fit.validation().unwrap();
    assert_eq!(validation.rows(), 14);
    let scores = [&loaded, &fit].map(|fit| fit.scores(validation).unwrap().to_string());
    assert_eq!(scores[0], scores[1]);
    assert_eq!(loaded.validation().unwrap(), validation);
    let verdict = fs::read_to_string(saved.join("verdict.txt")).unwrap();
    assert_eq!(verdict.trim(), fit.verdict().unwrap().in_words(&bnn_mcmc::message::Plain));
}

#[test]
fn classes_keep_their_names() {
    let mut text = String::from("width;kind\n");
    let mut rng = ChainRng::new(1, 0);
    for i in 0..45 {
        let kind = ["a, b", "moth", "bee"][i % 3];
        writeln!(text, "{};\"{kind}\"", (i % 3) as f64 + 0.2 * rng.normal()).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("insects.csv");
    fs::write(&path, text).unwrap();
    let recipe = Fit::classification("kind").reader(|reader| reader.delimiter(b';')).hidden(&[]);
    let recipe = recipe.weights(WeightPrior::Normal { sd: 5.0 }).chains(2).warmup(200).draws(200);
    let fit = recipe.read_csv(&path).unwrap();
    let saved = folder.path().join("saved");
    fit.save(&saved).unwrap();
    let fit = Fit::load(&saved).unwrap();
    let predictions = fit.predict_new(array![[0.0], [1.0], [2.0]].view()).unwrap().predictions;
    let p = predictions.posterior_mean().unwrap();
    assert_eq!(predictions.response_names(), ["kind"]);
    // In the order of Unicode: `a, b`, bee, moth.
    for (row, class) in [(0, 0), (1, 2), (2, 1)] {
        assert!(p[[row, class]] > 0.8, "{p}");
    }
    assert!(fit.scores(fit.data()).unwrap().get("accuracy").unwrap().posterior > 0.95);
    let mut csv = Vec::new();
    predictions.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.lines().any(|line| line.starts_with("0,\"a, b\",")), "{csv}");
}

#[test]
fn a_data_set_is_fitted_as_its_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let from_file = recipe().read_csv(training_file(folder.path())).unwrap();
    let fit = recipe().fit(from_file.data()).unwrap();
    assert_eq!(fit.draws().values(), from_file.draws().values());
    refused!(fit.predict_csv("new.csv"), Argument { name: "fit" });
    let tempered =
        recipe().method(Method::Tempered).warmup(40).draws(40).fit(from_file.data()).unwrap();
    assert!(!tempered.draws().info().reports.is_empty());
    let collapsed = recipe().method(Method::Collapsed).warmup(40).draws(40);
    let draws = collapsed.fit(from_file.data()).unwrap();
    let (posterior, draws) = (draws.posterior(), draws.draws());
    assert_eq!(draws.layout(), posterior.layout());
    assert!(draws.stat("path_length").is_ok());
    let linear = collapsed.clone().hidden(&[]).fit(from_file.data());
    refused!(linear, Argument { name: "hidden layers", value: 0 });
    // Of noise that differs between rows the weights of the mean are integrated out, also in a linear model.
    for noise in [Noise::Heteroscedastic, Noise::StudentT, Noise::HeteroscedasticStudentT] {
        let by_row = collapsed.clone().noise(noise);
        said!(by_row);
        let has_slopes = noise != Noise::StudentT;
        let linear = by_row.clone().hidden(&[]);
        for by_row in [by_row].into_iter().chain(has_slopes.then_some(linear)) {
            let fit = by_row.fit(from_file.data()).unwrap();
            assert_eq!(fit.draws().layout(), fit.posterior().layout());
            assert!(fit.draws().stat("path_length").is_ok());
        }
    }
}

#[test]
fn counts_and_other_noise_are_fitted_saved_and_loaded() {
    let mut rng = ChainRng::new(2, 0);
    let (mut calls, mut sizes) = (String::from("hour,calls\n"), String::from("hour,size\n"));
    for i in 0..80 {
        let hour = f64::from(i % 8);
        let rate = (2.0 + 0.3 * hour).exp();
        let count = (rate + rate.sqrt() * rng.normal()).max(0.0).round();
        writeln!(calls, "{hour},{count}").unwrap();
        let sd = (0.4 * hour - 2.0).exp();
        writeln!(sizes, "{hour},{}", 3.0 * hour + sd * rng.normal()).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.csv");
    fs::write(&path, calls).unwrap();
    let short = |recipe: Recipe| recipe.hidden(&[3]).chains(2).warmup(300).draws(200);
    for (name, recipe) in [
        ("negative", Fit::counts("calls")),
        ("poisson", Fit::counts("calls").noise(Noise::Poisson).weights(WeightPrior::Ard)),
    ] {
        let fit = short(recipe).read_csv(&path).unwrap();
        fit.save(folder.path().join(name)).unwrap();
        let fit = Fit::load(folder.path().join(name)).unwrap();
        let new = fit.predict_new(array![[0.0], [7.0]].view()).unwrap().predictions;
        let mean = new.posterior_mean().unwrap();
        for (row, hour) in [(0, 0.0), (1, 7.0)] {
            let rate = (2.0_f64 + 0.3 * hour).exp();
            assert!((mean[[row, 0]] / rate - 1.0).abs() < 0.25, "{name}: {mean}");
        }
        let drawn = new.predictive_draws();
        assert!(drawn.iter().all(|count| count.fract() == 0.0 && *count >= 0.0));
        assert!(fit.scores(fit.data()).unwrap().get("crps").is_some());
    }
    fs::write(&path, sizes).unwrap();
    let widths = |noise: Noise| {
        let fit = short(Fit::regression("size").noise(noise)).read_csv(&path).unwrap();
        let saved = folder.path().join(format!("{noise:?}"));
        fit.save(&saved).unwrap();
        let fit = Fit::load(saved).unwrap();
        let new = fit.predict_new(array![[0.0], [7.0]].view()).unwrap().predictions;
        new.predictive_interval(0.9).unwrap().width().column(0).to_vec()
    };
    // The standard deviations are 0.14 and 2.2.
    for noise in [Noise::Heteroscedastic, Noise::HeteroscedasticStudentT] {
        let of = widths(noise);
        assert!(of[1] > 4.0 * of[0] && of[1] > 4.0 && of[0] < 2.0, "{noise:?}: {of:?}");
    }
    let of = widths(Noise::StudentT);
    assert!(of[1] < 3.0 * of[0], "{of:?}");
    let data = Dataset::regression(array![[0.0], [1.0]], array![0.5, 2.0]).unwrap();
    let what = "response for the negative binomial likelihood";
    refused!(Fit::counts("y").fit(&data), Shape { what: what });
    let classes = Fit::classification("y").noise(Noise::Poisson).fit(&data);
    refused!(classes, Argument { name: "noise", value: "chosen for classes" });
    let real = Fit::regression("y").noise(Noise::Poisson).fit(&data);
    refused!(real, Shape { what: "response for the Poisson likelihood" });
    let real = Fit::regression("y").noise(Noise::Ordinal).fit(&data);
    refused!(real, Argument { name: "noise", value: "ordinal" });
    let shares = Fit::regression("y").noise(Noise::Beta);
    refused!(shares.fit(&data), Cell { row: "row 2", column: "y1" });
    refused!(shares.transform(Transform::Log).fit(&data), Argument { name: "transform" });
}

/// Rows of three regimes of x: what a fit says of shares, grades and counts is theirs, also once it was saved.
#[test]
fn shares_grades_and_counts_with_extra_zeros_are_fitted_and_predicted() {
    let x = Array2::from_shape_fn((120, 1), |(i, _)| (i % 3) as f64);
    let part = |i: usize| (i / 3 % 10) as f64 / 10.0;
    let short = |recipe: Recipe| recipe.hidden(&[4]).chains(2).warmup(300).draws(200).seed(4);
    let folder = tempfile::tempdir().unwrap();
    let again = |fit: Fit| {
        let to = folder.path().join(fit.recipe().to_string().len().to_string());
        fit.save(&to).unwrap();
        Fit::load(to).unwrap()
    };
    let new = array![[0.0], [1.0], [2.0]];

    let y = Array1::from_shape_fn(120, |i| 0.1 + 0.3 * (i % 3) as f64 + 0.1 * part(i));
    let data = Dataset::regression(x.clone(), y).unwrap();
    let fit = again(short(Fit::regression("y").noise(Noise::Beta)).fit(&data).unwrap());
    let predictions = fit.predict_new(new.view()).unwrap().predictions;
    let mean = predictions.posterior_mean().unwrap();
    for (i, mean) in mean.iter().enumerate() {
        assert!((mean - 0.145 - 0.3 * i as f64).abs() < 0.03, "{mean}");
    }
    let interval = predictions.predictive_interval(0.9).unwrap();
    assert!(interval.lower.iter().all(|y| *y > 0.0) && interval.upper.iter().all(|y| *y < 1.0));
    assert!(fit.loo().unwrap().elpd > 0.0 && fit.scores(&data).unwrap().get("crps").is_some());

    let grade = (0..120).map(|i| (i % 3 + usize::from(part(i) > 0.75)).min(2)).collect();
    let data = Dataset::classification(x.clone(), grade, ["1", "2", "3"]).unwrap();
    let fit = again(short(Fit::classification("y").noise(Noise::Ordinal)).fit(&data).unwrap());
    let mean = fit.predict_new(new.view()).unwrap().predictions.posterior_mean().unwrap();
    assert!(mean[(0, 0)] > 0.6 && mean[(0, 2)] < 0.1 && mean[(1, 1)] > 0.5 && mean[(2, 2)] > 0.8);
    let scores = fit.scores(&data).unwrap();
    assert!(scores.get("accuracy").unwrap().posterior > 0.8, "{scores}");

    let y = Array1::from_shape_fn(120, |i| match part(i) < 0.45 {
        true => 0.0,
        false => (8.0 * (1.0 + (i % 3) as f64) + 4.0 * part(i)).round(),
    });
    let data = Dataset::counts(x, y.clone()).unwrap();
    let fit = again(short(Fit::counts("y").noise(Noise::ZeroInflatedPoisson)).fit(&data).unwrap());
    let zeros = fit.draws().block("logit_extra_zeros").unwrap().mean().unwrap();
    assert!(zeros.abs() < 0.3, "half of the rows are zeros: {zeros}");
    let mean = fit.predict_new(new.view()).unwrap().predictions.posterior_mean().unwrap();
    let observed = |k: usize| y.iter().skip(k).step_by(3).sum::<f64>() / 40.0;
    for (k, mean) in mean.iter().enumerate() {
        assert!((mean / observed(k) - 1.0).abs() < 0.25, "{mean}, observed {}", observed(k));
    }
    let plain = short(Fit::counts("y").noise(Noise::Poisson)).fit(&data).unwrap();
    assert!(fit.loo().unwrap().elpd > plain.loo().unwrap().elpd + 100.0);
}

#[test]
fn the_linear_model_is_that_of_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = training_file(folder.path());
    let fit = recipe().validation(0.25).seed(4).read_csv(&path).unwrap();
    let linear = fit.linear_model().unwrap();
    assert_eq!(linear.network().sizes().len(), 2);
    assert_eq!(linear.validation().unwrap().x(), fit.validation().unwrap().x());
    assert_eq!(linear.feature_scaler(), fit.feature_scaler());
    // Saved, it is the same.
    linear.save(folder.path().join("linear")).unwrap();
    let loaded = Fit::load(folder.path().join("linear")).unwrap();
    assert_eq!(loaded.validation(), fit.validation());
    assert_eq!(loaded.draws(), linear.draws());
    // It is the candidate by its name.
    let by_name = Fit::regression("strength").reader(|r| r.ignore(["id"]).drop_missing_rows());
    let by_name = by_name.model(Candidate::Linear).validation(0.25).seed(4);
    let by_name = by_name.chains(2).warmup(500).draws(500).read_csv(&path).unwrap();
    assert_eq!(linear.draws().values(), by_name.draws().values());
    // Of counts the scale of weights is sampled.
    let x = Array2::from_shape_fn((40, 2), |(i, j)| ((i * 7 + j * 3) % 11) as f64);
    let counts = Dataset::counts(x.clone(), x.column(0).mapv(|x| (x / 2.0).floor())).unwrap();
    let fit = Fit::counts("y").hidden(&[2]).chains(1).warmup(50).draws(50).fit(&counts).unwrap();
    let linear = fit.linear_model().unwrap();
    assert!(linear.recipe().to_string().contains("half-t"), "{}", linear.recipe());
    // And so it is where it is a candidate.
    let of_data = Fit::counts("y").model(Candidate::Linear).chains(2).warmup(500).draws(500);
    let by_name = of_data.fit(&counts).unwrap();
    assert_eq!(linear.draws().values(), by_name.draws().values());
}

/// Of classes that a line tells apart the linear model is no straw man: no prior of a fixed width holds its weights back.
#[test]
fn the_linear_model_of_classes_follows_the_data() {
    let x = Array2::from_shape_fn((60, 2), |(i, j)| ((7 * i + 3 * j * i) % 60) as f64);
    let class = x.rows().into_iter().map(|x| usize::from(x[0] + 0.5 * x[1] > 45.0)).collect();
    let data = Dataset::classification(x, class, ["a", "b"]).unwrap();
    let of = |recipe: Recipe| {
        recipe.chains(2).warmup(500).draws(500).fit(&data).unwrap().loo().unwrap().elpd
    };
    let linear = of(Fit::classification("y").model(Candidate::Linear));
    let fixed = of(Fit::classification("y").hidden(&[]).weights(WeightPrior::FanIn));
    println!("{linear}, with a fixed width {fixed}");
    assert!(linear > 0.7 * fixed, "{linear} {fixed}");
}

#[test]
fn a_listener_hears_what_the_terminal_would_show() {
    let folder = tempfile::tempdir().unwrap();
    let path = training_file(folder.path());
    let heard = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let told = heard.clone();
    let fit = recipe().on_progress(move |event| {
        let mut heard = told.lock().unwrap();
        match event {
            Told::Line(line) => heard.0.push(line.to_owned()),
            Told::Sampling(progress) => {
                heard.1.push((progress.phase, progress.done, progress.total))
            }
            _ => {}
        }
    });
    let fit = fit.read_csv(&path).unwrap();
    assert_eq!(fit.draws().values(), recipe().read_csv(&path).unwrap().draws().values());
    let progress = heard.lock().unwrap().1.clone();
    let draws = fit.draws().n_draws();
    assert_eq!(*progress.last().unwrap(), (Phase::Sampling, draws, draws));
    assert!(progress.iter().any(|(phase, ..)| *phase == Phase::Warmup));
    // Where the data choose the model, each that was tried is a line.
    let open = Fit::regression("strength").reader(|reader| reader.ignore(["id"]));
    let told = heard.clone();
    let open = open.chains(1).warmup(20).draws(20).on_progress(move |event| {
        if let Told::Line(line) = event {
            told.lock().unwrap().0.push(line.to_owned());
        }
    });
    open.read_csv(&path).unwrap();
    let lines = heard.lock().unwrap().0.clone();
    assert!(lines.iter().any(|line| line.contains("linear")), "{lines:?}");
}

/// Chains of a network on many rows begin where ascents on minibatches end: two short iterations do not get there from a random start.
#[test]
fn chains_on_many_rows_begin_near_a_mode() {
    let rmse = |rows: usize, method: Method| {
        let x = Array2::from_shape_fn((rows, 1), |(i, _)| (i as f64 * 0.618).fract() * 4.0 - 2.0);
        let mut rng = ChainRng::new(1, 0);
        let y = x.column(0).mapv(|x| (2.0 * x).sin() + 0.1 * rng.normal());
        let data = Dataset::regression(x, y).unwrap();
        let recipe = Fit::regression("y").hidden(&[6]).method(method).chains(2).seed(1);
        let recipe = recipe.warmup(2).draws(2).validation(0.1);
        let fit = recipe.fit(&data).unwrap();
        let is_said = fit.recipe().to_string().contains("5000 steps of Adam on 256 rows each");
        let validation = fit.validation().unwrap();
        let scores = fit.predict(validation).unwrap().scores().unwrap();
        (scores.get("rmse").unwrap().posterior, is_said)
    };
    for method in [Method::Mams, Method::Nuts] {
        let (few, few_said) = rmse(9999, method);
        let (many, many_said) = rmse(10_000, method);
        assert!(many < 0.2 && few > 0.3, "{method:?}: {few}, {many}");
        assert_eq!((few_said, many_said), (false, true));
    }
}

//! Fits: from a file to predictions of new rows, saved, loaded, killed and resumed.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bnn_mcmc::data::{Cells, CsvReader, Schema};
use bnn_mcmc::draws::checkpoint::Every;
use bnn_mcmc::fit::{Fit, Method, Noise, Recipe, WeightPrior};
use bnn_mcmc::prelude::*;
use ndarray::{Array2, array};
use tempfile::TempDir;

/// A file with a header, labels and missing values. The strength is about 500 + 40 (age - 1) + 30 if wet.
fn training_file(folder: &Path) -> std::path::PathBuf {
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

fn recipe() -> Recipe {
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
    while !fs::metadata(&draws).is_ok_and(|file| file.len() > 0) {
        assert!(first.try_wait().unwrap().is_none(), "it ended before it could be killed");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    first.kill().unwrap();
    assert!(!first.wait().unwrap().success());
    let unfinished = Fit::load(folder.join("run")).unwrap_err().to_string();
    assert!(unfinished.contains("the run is not finished"), "{unfinished}");
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
    let text = new.to_string();
    assert!(
        text.starts_with("3 rows predicted, 1 left out because of missing values; 1 outside"),
        "{text}"
    );
    assert!(text.contains("row 2: `age` is 7.25, above 1.8"), "{text}");
    assert!(predictions(&fit, folder.path()).contains("\n0,strength,"));
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
    let error = fit.save(&saved).unwrap_err().to_string();
    assert!(error.contains("it is not empty"), "{error}");
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
    assert!(String::from_utf8(csv).unwrap().contains("\n0,\"a, b\","));
}

#[test]
fn a_data_set_is_fitted_as_its_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let from_file = recipe().read_csv(training_file(folder.path())).unwrap();
    let fit = recipe().fit(from_file.data()).unwrap();
    assert_eq!(fit.draws().values(), from_file.draws().values());
    let error = fit.predict_csv("new.csv").unwrap_err().to_string();
    assert!(error.contains("not read from a file"), "{error}");
    let tempered =
        recipe().method(Method::Tempered).warmup(40).draws(40).fit(from_file.data()).unwrap();
    assert!(!tempered.draws().info().reports.is_empty());
    let collapsed = recipe().method(Method::Collapsed).warmup(40).draws(40);
    let draws = collapsed.fit(from_file.data()).unwrap();
    let (posterior, draws) = (draws.posterior(), draws.draws());
    assert_eq!(draws.layout(), posterior.layout());
    assert!(draws.stat("path_length").is_ok());
    let linear = collapsed.clone().hidden(&[]).fit(from_file.data()).unwrap_err().to_string();
    assert!(
        linear.contains("`hidden layers` is 0, but must be 1 or more to be integrated out"),
        "{linear}"
    );
    // Of the noise that is an output of the network the weights of the mean are integrated out,
    // also in a linear model.
    let by_row = collapsed.clone().noise(Noise::Heteroscedastic);
    assert!(by_row.to_string().contains("output weights of the mean integrated out, Mams"));
    for by_row in [by_row.clone(), by_row.hidden(&[])] {
        let fit = by_row.fit(from_file.data()).unwrap();
        assert_eq!(fit.draws().layout(), fit.posterior().layout());
        assert!(fit.draws().stat("path_length").is_ok());
    }
    let refused = collapsed.noise(Noise::StudentT).fit(from_file.data()).unwrap_err().to_string();
    assert!(refused.contains("likelihood") && refused.contains("Gaussian"), "{refused}");
}

#[test]
fn a_folder_holds_one_fit() {
    let folder = tempfile::tempdir().unwrap();
    let train = training_file(folder.path());
    let run = folder.path().join("run");
    let short = || recipe().warmup(20).draws(20).in_folder(&run);
    let fit = short().read_csv(&train).unwrap();
    // Finished, the same call loads it; threads change nothing.
    assert_eq!(short().threads(1).read_csv(&train).unwrap().draws(), fit.draws());
    for (other, difference) in [
        (short().seed(4), "`recipe.seed` is 3, not 4"),
        (short().draws(10), "`recipe.draws` is 20, not 10"),
        (short().hidden(&[2]), "`recipe.hidden` is [4], not [2]"),
        (
            short().reader(|reader| reader.ignore(Vec::<String>::new())),
            "`recipe.reader.ignored` is [\"id\"], not []",
        ),
    ] {
        let error = other.read_csv(&train).unwrap_err().to_string();
        assert!(error.contains("the folder holds another fit"), "{error}");
        assert!(error.contains(difference), "{error}");
    }
    let mut rows = fs::read_to_string(&train).unwrap();
    rows.push_str("99,1.0,wet,520\n");
    fs::write(&train, rows).unwrap();
    let error = short().read_csv(&train).unwrap_err().to_string();
    assert!(error.contains("the rows or columns of the table are others"), "{error}");
    // A folder with something else in it is left alone.
    let error = recipe().in_folder(folder.path()).read_csv(&train).unwrap_err().to_string();
    assert!(error.contains("it is not empty"), "{error}");
}

#[test]
fn a_stopped_run_keeps_what_it_has_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let train = training_file(folder.path());
    let whole = recipe().read_csv(&train).unwrap();
    let run = folder.path().join("run");
    let part = stopped(&train, &run);
    let n = part.draws().n_draws();
    assert!(n > 0);
    assert_eq!(part.draws().draw(1, n - 1), whole.draws().draw(1, n - 1));
    assert!(Fit::load(&run).is_err());
    // With fewer draws than were asked for it is finished, and goes on to all of them later.
    let few = recipe().draws(n).in_folder(&run).read_csv(&train).unwrap();
    assert_eq!(few.draws().values(), part.draws().values());
    assert_eq!(Fit::load(&run).unwrap().draws(), few.draws());
    let rest = recipe().in_folder(&run).read_csv(&train).unwrap();
    assert_eq!(rest.draws().values(), whole.draws().values());
    assert!(Fit::load(&run).is_ok());
}

/// A finished fit in a folder of its own.
fn saved() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let fit = recipe().warmup(30).draws(10).read_csv(training_file(folder.path())).unwrap();
    let saved = folder.path().join("saved");
    fit.save(&saved).unwrap();
    (folder, saved)
}

#[test]
fn damaged_and_edited_folders_are_refused_with_what_differs() {
    let (folder, saved) = saved();
    let json = fs::read_to_string(saved.join("fit.json")).unwrap();
    let refused = |problem: &str| {
        let error = Fit::load(&saved).unwrap_err().to_string();
        assert!(error.contains(problem), "{problem}: {error}");
    };
    for (text, problem) in [
        (json.replace("\"format\": 1", "\"format\": 7"), "it has format 7, of bnn-mcmc"),
        (json.replace("\"format\": 1", "\"format\": null"), "it is not of a fit"),
        (json[..json.len() / 2].to_string(), "it is not JSON"),
        (json.replace("\"tanh\"", "\"relu\""), "it was edited or damaged"),
        (json.replace("\"seed\": 3", "\"seed\": 4"), "it was edited or damaged"),
        (json.replace("\"shift\": 0", "\"shift\": 1"), "it was edited or damaged"),
        (json.replace("\"dry\"", "\"wry\""), "it was edited or damaged"),
        (json.replace("\"finished\": true", "\"finished\": false"), "it was edited or damaged"),
        (json.replace("\"crc32\"", "\"more\": 1, \"crc32\""), "`more`"),
    ] {
        assert_ne!(text, json, "{problem}");
        fs::write(saved.join("fit.json"), text).unwrap();
        refused(problem);
    }
    fs::write(saved.join("fit.json"), &json).unwrap();
    assert!(Fit::load(&saved).is_ok());
    let data = fs::read_to_string(saved.join("data.csv")).unwrap();
    fs::write(saved.join("data.csv"), data.replacen('5', "6", 1)).unwrap();
    refused("its checksum differs");
    fs::write(saved.join("data.csv"), data).unwrap();
    fs::remove_file(saved.join("fit.json")).unwrap();
    refused("it is not the folder of a fit");
    fs::write(saved.join("fit.json"), &json).unwrap();
    let draws = saved.join("draws.zarr");
    fs::remove_dir_all(&draws).unwrap();
    refused("draws.zarr");
    // Draws of other runs.
    let train = training_file(folder.path());
    let short = || recipe().warmup(30).draws(10);
    for (other, problem) in [
        (short().seed(9), "`seed` is 9, but must be 3"),
        (short().draws(11), "`draws` is 11, but must be 10"),
        (short().activation(Activation::Relu), "model of the draws"),
        (short().weights(WeightPrior::Normal { sd: 2.0 }), "log prior of the first draw"),
    ] {
        other.read_csv(&train).unwrap().draws().to_zarr(&draws).unwrap();
        refused(problem);
        fs::remove_dir_all(&draws).unwrap();
    }
    short().read_csv(&train).unwrap().draws().to_zarr(&draws).unwrap();
    assert!(Fit::load(&saved).is_ok());
}

/// A run in `run` that was stopped while it sampled.
fn stopped(train: &Path, run: &Path) -> Fit {
    let stop = StopHandle::new();
    let (stopper, checkpoint) = (stop.clone(), run.join("checkpoint.draws"));
    let watch = std::thread::spawn(move || {
        while !fs::metadata(&checkpoint).is_ok_and(|file| file.len() > 0) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        stopper.stop();
    });
    let fit = recipe().stop_handle(&stop).in_folder(run).read_csv(train).unwrap();
    watch.join().unwrap();
    assert!(fit.draws().info().stopped_early);
    fit
}

#[test]
fn what_a_killed_process_leaves_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let (train, run) = (training_file(folder.path()), folder.path().join("run"));
    let whole = recipe().read_csv(&train).unwrap();
    stopped(&train, &run);
    // Killed while the end was written, and while `fit.json` was.
    whole.draws().thinned(2).unwrap().to_zarr(run.join("draws.zarr")).unwrap();
    fs::write(run.join("fit.json.tmp"), "{").unwrap();
    fs::write(run.join("data.csv"), "damaged").unwrap();
    let fit = recipe().in_folder(&run).read_csv(&train).unwrap();
    assert!(fit.save_error().is_none());
    assert_eq!(Fit::load(&run).unwrap().draws().values(), whole.draws().values());
    assert!(!run.join(".bnn-mcmc.lock").exists() && !run.join("fit.json.tmp").exists());

    // Killed before `fit.json` was there.
    let begun = folder.path().join("begun");
    fs::create_dir(&begun).unwrap();
    fs::copy(run.join("data.csv"), begun.join("data.csv")).unwrap();
    for name in ["data.csv.tmp", "fit.json.tmp", ".bnn-mcmc.lock"] {
        fs::write(begun.join(name), "").unwrap();
    }
    assert!(recipe().warmup(5).draws(5).in_folder(&begun).read_csv(&train).is_ok());

    // A file of somebody else is neither deleted nor overwritten, whatever it holds.
    let alone = folder.path().join("alone");
    fs::create_dir(&alone).unwrap();
    fs::copy(run.join("data.csv"), alone.join("data.csv")).unwrap();
    assert!(recipe().chains(0).in_folder(&alone).read_csv(&train).is_err());
    assert!(alone.join("data.csv").exists());
    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::copy(run.join("data.csv"), theirs.join("data.csv")).unwrap();
    fs::write(theirs.join("main.rs"), "").unwrap();
    let error = recipe().in_folder(&theirs).read_csv(&train).unwrap_err().to_string();
    assert!(error.contains("it is not empty: there is `main.rs`"), "{error}");
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 2);
}

#[test]
fn draws_that_cannot_be_saved_are_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (train, run) = (training_file(folder.path()), folder.path().join("run"));
    let part = stopped(&train, &run);
    // Saved as it is, it is no finished run.
    let saved = folder.path().join("part");
    part.save(&saved).unwrap();
    assert_eq!(Fit::load(&saved).unwrap().draws(), part.draws());
    let error = recipe().in_folder(&saved).read_csv(&train).unwrap_err().to_string();
    assert!(error.contains("stopped early"), "{error}");

    fs::write(run.join("draws.zarr"), "in the way").unwrap();
    let fit = recipe().in_folder(&run).read_csv(&train).unwrap();
    assert!(fit.save_error().unwrap().to_string().contains("draws.zarr"));
    assert_eq!(fit.draws().n_draws(), 150);
    fs::remove_file(run.join("draws.zarr")).unwrap();
    let again = recipe().in_folder(&run).read_csv(&train).unwrap();
    assert!(again.save_error().is_none());
    assert_eq!(Fit::load(&run).unwrap().draws().values(), fit.draws().values());
}

#[test]
fn one_process_at_a_time_and_a_refused_setting_claims_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (train, run) = (training_file(folder.path()), folder.path().join("run"));
    for bad in [recipe().chains(0), recipe().threads(100_000), recipe().hidden(&[0])] {
        assert!(bad.in_folder(&run).read_csv(&train).is_err());
        assert!(!run.exists());
    }
    let stop = StopHandle::new();
    let long = recipe().draws(100_000).stop_handle(&stop).in_folder(&run);
    let (in_thread, path) = (long.clone(), train.clone());
    let running =
        std::thread::spawn(move || in_thread.read_csv(path).map(|fit| fit.draws().n_draws()));
    while !run.join("checkpoint").exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let error = long.read_csv(&train).unwrap_err().to_string();
    assert!(error.contains("another process is running in this folder"), "{error}");
    stop.stop();
    assert!(running.join().unwrap().is_ok());
}

#[test]
fn a_wrong_table_is_an_error_that_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    for (text, problem) in [
        ("", "table.csv"),
        ("age,strength\n", "no row below"),
        ("age,weight\n1,2\n", "strength"),
        ("age,strength\n1,2\n1,3\n", "column `age`: constant (1) over all 2 rows"),
        ("age,strength\n1,2\n2,2\n", "column `strength`: constant (2)"),
        ("age,strength\n1,2\n2,\n", "missing value"),
        ("age,strength\n1,2\nx,3\n", "`x`"),
        ("age,strength\n1,2\n2,inf\n", "not a finite number"),
    ] {
        fs::write(&path, text).unwrap();
        let error = Fit::regression("strength").read_csv(&path).unwrap_err().to_string();
        assert!(error.contains(problem), "{problem}: {error}");
    }
    let data = Dataset::regression(array![[0.0], [1.0], [2.0]], array![0.0, 2.0, 1.0]).unwrap();
    for (recipe, problem) in [
        (Fit::regression("y").validation(1.0), "`validation` is 1"),
        (Fit::regression("y").validation(f64::NAN), "`validation` is NaN"),
        (Fit::regression("y").chains(0), "`chains` is 0"),
        (Fit::regression("y").hidden(&[0]), "0"),
        (Fit::regression("y").weights(WeightPrior::Normal { sd: -1.0 }), "-1"),
        (Fit::classification("y"), "Bernoulli"),
    ] {
        let error = recipe.fit(&data).unwrap_err().to_string();
        assert!(error.contains(problem), "{problem}: {error}");
    }
    let fit = Fit::regression("y").hidden(&[]).warmup(20).draws(20).fit(&data).unwrap();
    assert!(fit.predict_new(Array2::zeros((2, 3)).view()).is_err());
    assert!(fit.predict_new(array![[f64::NAN]].view()).is_err());
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
    let of = widths(Noise::Heteroscedastic);
    assert!(of[1] > 4.0 * of[0] && of[1] > 4.0 && of[0] < 2.0, "{of:?}");
    let of = widths(Noise::StudentT);
    assert!(of[1] < 3.0 * of[0], "{of:?}");
    let data = Dataset::regression(array![[0.0], [1.0]], array![0.5, 2.0]).unwrap();
    for (recipe, problem) in [
        (Fit::counts("y"), "count"),
        (Fit::classification("y").noise(Noise::Poisson), "classes have no noise"),
        (Fit::regression("y").noise(Noise::Poisson), "Poisson"),
    ] {
        let error = recipe.fit(&data).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

/// Rows are named by their line in the file, also after a split, a blank line, rows left out, and loading.
#[test]
fn rows_of_a_fit_know_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = training_file(folder.path());
    let text = fs::read_to_string(&path).unwrap().replacen("\n5,", "\n\n5,", 1);
    fs::write(&path, &text).unwrap();
    let run = folder.path().join("run");
    let recipe = recipe().validation(0.25).chains(1).warmup(20).draws(10).in_folder(&run);
    let fit = recipe.read_csv(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for fit in [&fit, &Fit::load(&run).unwrap()] {
        let (train, kept) = (fit.training(), fit.validation().unwrap());
        let named = (0..train.rows()).map(|row| (train, row, fit.training_row_name(row)));
        let kept = (0..kept.rows()).map(|row| (kept, row, fit.validation_row_name(row)));
        let all: Vec<_> = named.chain(kept).collect();
        assert_eq!(all.len(), 57);
        for (rows, row, name) in all {
            let line: usize = name.strip_prefix("line ").unwrap().parse().unwrap();
            let strength = rows.real().unwrap()[(row, 0)];
            assert!(lines[line - 1].ends_with(&format!(",{strength}")), "{name}: {strength}");
        }
    }
    // A folder of an earlier version, which did not keep them: the checksum is of what stands there.
    let json = run.join("fit.json");
    let text = fs::read_to_string(&json).unwrap();
    let start = text.find("\n  \"lines\": {").unwrap();
    let end = start + text[start..].find("\n  },").unwrap() + "\n  },".len();
    let without = format!("{}{}", &text[..start], &text[end..]);
    let mut is_inside = false;
    let compact: String = without
        .chars()
        .filter(|c| {
            is_inside ^= *c == '"';
            is_inside || !c.is_whitespace()
        })
        .collect();
    let (rest, _) = compact.rsplit_once(':').unwrap();
    let crc32 = crc32fast::hash(format!("{rest}:0}}").as_bytes());
    let (rest, _) = without.rsplit_once(':').unwrap();
    fs::write(&json, format!("{rest}: {crc32}\n}}\n")).unwrap();
    let old = Fit::load(&run).unwrap();
    assert!(old.lines().is_none() && old.draws() == fit.draws());
    assert_eq!(old.training_row_name(3), format!("row {}", fit.split().unwrap().train[3]));
    // Of a data set that is of no file: places in it.
    let given = fit.data().clone();
    let fit = self::recipe().validation(0.25).chains(1).warmup(20).draws(10).fit(&given).unwrap();
    let place = fit.split().unwrap().train[3];
    assert_eq!(fit.training_row_name(3), format!("row {place}"));
    assert_eq!(fit.training().x().row(3), given.x().row(place));
}

/// Names of classes and columns that a spreadsheet takes for formulas are guarded wherever they are written,
/// and read as they were.
#[test]
fn names_that_begin_as_formulas_are_guarded() {
    let folder = tempfile::tempdir().unwrap();
    let x = Array2::from_shape_fn((30, 2), |(i, j)| ((i * 7 + j * 5) % 11) as f64);
    let classes = ["=HYPERLINK(\"x\")", "-1", "+a", "\tb", "plain"];
    let data = Dataset::classification(x, (0..30).map(|i| i % 5).collect(), classes).unwrap();
    let data = data.with_feature_names(["=a", "@b"]).unwrap();
    let run = folder.path().join("run");
    let fit = Fit::classification("class").hidden(&[2]).chains(1).warmup(10).draws(5);
    let fit = fit.in_folder(&run).fit(&data).unwrap();
    let mut bytes = Vec::new();
    fit.predict(&data).unwrap().write_csv(&mut bytes).unwrap();
    fit.draws().summary().unwrap().write_csv(&mut Vec::new()).unwrap();
    let rows = fs::read(run.join("data.csv")).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for (file, column) in [(&bytes, 1), (&rows, 2)] {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&file[..]);
        for record in reader.records() {
            let record = record.unwrap();
            for cell in &record {
                let is_number = cell.parse::<f64>().is_ok();
                assert!(is_number || !cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell}");
            }
            names.insert(bnn_mcmc::data::unguarded(&record[column]).to_owned());
        }
    }
    assert!(classes.iter().all(|class| names.contains(*class)), "{names:?}");
    let loaded = Fit::load(&run).unwrap();
    assert_eq!(loaded.data(), &data);
    // Draws whose parameters have such names.
    let layout = bnn_mcmc::layout::Layout::new().with("=q", &[]).with("'=q", &[]);
    let draws = Draws::new(layout, ndarray::Array3::ones((1, 2, 2))).unwrap();
    let mut bytes = Vec::new();
    draws.write_csv(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"chain,draw,'=q,''=q\n"));
    let back = Draws::read_csv(&bytes[..], "draws").unwrap();
    assert_eq!(back.layout().parameter_names(), ["=q", "'=q"]);
}

/// A table that was no file, with the schema that says how files are read like it, is the fit of the file
/// that holds the same rows; written without flushing, it is the same folder.
#[test]
fn a_fit_of_a_table_reads_files_like_it() {
    let folder = TempDir::new().unwrap();
    let recipe = Fit::regression("y").hidden(&[3]).chains(2).warmup(20).draws(10).seed(1);
    let mut text = String::from("kind,x,y\n");
    for i in 0..30 {
        writeln!(text, "{},{},{}", ["b", "a"][i % 2], i % 7, i * i % 11).unwrap();
    }
    let file = folder.path().join("table.csv");
    fs::write(&file, text).unwrap();
    let read = CsvReader::regression("y").header().read_path(&file).unwrap();
    let of_file = recipe.fit_like(&read.dataset, &read.schema).unwrap();
    let columns = [
        ("kind".to_string(), Cells::Labels(vec!["a".into(), "b".into()])),
        ("x".into(), Cells::Numbers),
    ];
    let schema = Schema::of_table(CsvReader::regression("y"), columns, None).unwrap();
    let of_table = recipe.fit_like(&read.dataset, &schema).unwrap();
    let predicted =
        |fit: &Fit| fit.predict_csv(&file).unwrap().predictions.posterior_mean().unwrap();
    assert_eq!(predicted(&of_table), predicted(&of_file));
    of_table.save(folder.path().join("saved")).unwrap();
    of_table.save_unflushed(folder.path().join("unflushed")).unwrap();
    for name in ["fit.json", "data.csv", "verdict.txt"] {
        let bytes = |parent: &str| fs::read(folder.path().join(parent).join(name)).unwrap();
        assert_eq!(bytes("saved"), bytes("unflushed"), "{name}");
    }
    let loaded = Fit::load(folder.path().join("unflushed")).unwrap();
    assert_eq!(predicted(&loaded), predicted(&of_table));
    assert_eq!(loaded.schema(), Some(&schema));
    assert!(of_table.save_unflushed(folder.path().join("unflushed")).is_err(), "it is not empty");
    // Features of another name, and too few of them.
    let other = read.dataset.clone().with_feature_names(["kind=a", "kind=c", "x"]).unwrap();
    assert!(matches!(recipe.fit_like(&other, &schema), Err(Error::Argument { .. })));
    let few = Dataset::regression(array![[1.0], [0.0]], array![1.0, 2.0]).unwrap();
    let few = few.with_feature_names(["kind=a"]).unwrap();
    assert!(matches!(recipe.fit_like(&few, &schema), Err(Error::Shape { .. })));
}

//! Runs in folders: equal bytes, ended and resumed, in several jobs.

use std::process::Child;

use shared::said;
use shared::wait::wait_until;

use super::*;

/// The files of a run that hold times of the clock, and so differ between equal runs.
const TIMED: [&str; 2] = ["checkpoint", "draws.zarr/zarr.json"];

#[test]
fn equal_settings_give_equal_bytes() {
    let place = Place::new();
    place.fit("a", "--seed 5 --validation 0.2").well();
    place.run("fit --config a/config.toml --out b --quiet").well();
    let differing = place.differing("a", "b");
    assert!(differing.iter().all(|name| TIMED.contains(&&name[..])), "{differing:?}");
    assert!(place.files("a").len() > 12, "draws and statistics were compared");
    assert_eq!(place.run("predict a iris.csv").well(), place.run("predict b iris.csv").well());
    // The number of threads and the checkpoints are settings that no result depends on.
    place
        .run("fit --config a/config.toml --out c --quiet --threads 1 --checkpoint-every 7draws")
        .well();
    let mut differing = place.differing("a", "c");
    differing.retain(|name| !TIMED.contains(&&name[..]));
    assert_eq!(differing, ["config.toml"]);
    // The seed is one.
    place.run("fit --config a/config.toml --out d --quiet --seed 6").well();
    assert!(place.differing("a", "d").contains(&"fit.json".to_string()));
    assert_ne!(place.run("predict a iris.csv").well(), place.run("predict d iris.csv").well());
}

#[test]
fn all_settings_are_written_and_read() {
    let place = Place::new();
    place.fit("a", "").well();
    let text = place.read("a/config.toml");
    for line in [
        "data = \"iris.csv\"",
        "task = \"classification\"",
        "hidden = [3]",
        "activation = \"tanh\"",
        "weights = \"fan-in\"",
        "method = \"nuts\"",
        "chains = 2",
        "seed = 0",
        "missing = [\"\", \"NA\", \"N/A\", \"NaN\", \"null\", \"?\"]",
        "checkpoint_every = \"30s\"",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    // Every setting once away from its default, then back from the file.
    place.write("t.csv", "5;1;3.5;0\n4;2;1.5;1\n3;2;-;3\n2;1;1;2\n8;3;2;5\n2;4;9;1\n7;1;4;0\n");
    let flags = "--task counts --features #1,#2,#3 --categorical #2 --encoding codes --header no --delimiter ; \
                 --missing - --drop-missing --validation 0.3 --limit 5000 --hidden 2,3 --activation relu \
                 --weights normal --weights-sd 0.5 --noise poisson --method tempered --target-accept 0.7 --chains 2 --warmup 30 \
                 --draws 20 --seed 9 --threads 1 --checkpoint-every 3draws";
    place.run(&format!("fit t.csv --target #4 --out s --quiet {flags}")).well();
    place.run("fit --config s/config.toml --out s2 --quiet").well();
    let differing = place.differing("s", "s2");
    assert!(differing.iter().all(|name| TIMED.contains(&&name[..])), "{differing:?}");
    let recipe = &json(&place.read("s/fit.json"))["recipe"];
    for (key, value) in [
        ("task", "\"counts\""),
        ("hidden", "[2,3]"),
        ("activation", "\"relu\""),
        ("weights", "{\"normal\":{\"sd\":0.5}}"),
        ("noise", "\"poisson\""),
        ("method", "\"tempered\""),
        ("target_accept", "0.7"),
        ("chains", "2"),
        ("warmup", "30"),
        ("draws", "20"),
        ("seed", "9"),
        ("validation", "0.3"),
    ] {
        assert_eq!(recipe[key].to_string(), value, "{key}");
    }
    let reader = &recipe["reader"];
    for (key, value) in [
        ("response", "{\"Named\":[\"#4\"]}"),
        ("header", "\"None\""),
        ("delimiter", "{\"Byte\":59}"),
        ("categorical", "[\"#2\"]"),
        ("encoding", "\"Codes\""),
        ("missing", "[\"-\"]"),
        ("drop_missing_rows", "true"),
        ("limit", "5000"),
    ] {
        assert_eq!(reader[key].to_string(), value, "{key}");
    }
}

/// A response that is transformed is told of in its own unit.
#[test]
fn a_transform_is_written_and_said() {
    let place = Place::new();
    let mut table = "x,price\n".to_string();
    for i in 0..40 {
        let x = f64::from(i) / 10.0;
        table += &format!("{x},{:.3}\n", (x + 0.4 * (7.0 * x).sin()).exp());
    }
    place.write("t.csv", &table);
    let fit = |out: &str, flags: &str| {
        place.run(&format!("fit t.csv --target price --out {out} --quiet {SMALL} {flags}"))
    };
    let said = fit("r", "--transform box-cox").well();
    assert!(has_line(&said, "transform `price`: Box-Cox with lambda = 0"), "{said}");
    assert!(has_line(&place.read("r/config.toml"), "transform = \"box-cox\""));
    let saved = json(&place.read("r/fit.json"));
    assert_eq!(saved["recipe"]["transform"], "box_cox");
    place.run("fit --config r/config.toml --out again --quiet").well();
    let differing = place.differing("r", "again");
    assert!(differing.iter().all(|name| TIMED.contains(&&name[..])), "{differing:?}");
    // Runs of the same rows are compared, whatever the transform.
    assert!(!has_line(&fit("plain", "").well(), "transform"));
    place.run("compare r plain").well();
    for (transform, bad) in [("log", "0"), ("box-cox", "-3.5")] {
        place.write("bad.csv", &format!("{table}4,{bad}\n"));
        let error = place.run(&format!(
            "fit bad.csv --target price --out bad --quiet {SMALL} --transform {transform}"
        ));
        said!(error.error(1));
        said!(place.fit("bad", &format!("--transform {transform}")).error(1));
        place.write("new.csv", &format!("price,x\n2,1\n{bad},1\n"));
        let error = place.run("predict r new.csv --scores").error(1);
        assert!(!error.contains("--"), "{error}");
        said!(error);
    }
    assert!(place.run("predict r new.csv").well().lines().count() == 3);
    // Student's t has no mean after a logarithm, and no column of that name.
    let told = fit("t", "--transform log --noise student-t").well();
    assert!(has_line(&told, "transform `price`: the logarithm; predictions are medians"), "{told}");
    let predicted = place.run("predict t new.csv --uncertainty");
    assert!(predicted.err.contains("medians, and no means"), "{predicted:?}");
    let header = predicted.well();
    assert!(header.contains(",median,") && !header.contains("mean"), "{header}");
    assert!(place.run("explain t").err.contains("effects are on medians"));
    let report = place.run("report r");
    report.well();
    assert!(place.read("r/report.html").contains("Box-Cox with lambda = 0"));
}

#[test]
fn the_data_choose_a_model_unless_one_is_given() {
    let place = Place::new();
    let row = |i: usize| {
        let x = i as f64 / 10.0;
        let z = (i % 7) as f64;
        format!("{x},{z},{}\n", (z - 3.0) * (x - 3.0) + 0.01 * (i * 7 % 11) as f64)
    };
    place.write("t.csv", &("x,z,y\n".to_string() + &(0..60).map(row).collect::<String>()));
    let flags = "--target y --chains 2 --warmup 30 --draws 20 --seed 1";
    let fitted = place.run(&format!("fit t.csv --out r {flags}"));
    for said in [
        "model       chosen by the data among linear, linear_transformed, additive, network,",
        "  chosen\n",
        "time        about ",
    ] {
        assert!(fitted.err.contains(said), "{said}: {}", fitted.err);
    }
    assert!(
        fitted.out.contains("held out  log density of a row that it has not seen "),
        "{}",
        fitted.out
    );
    let text = place.read("r/config.toml");
    let parts = ["hidden = [20]", "skip = true", "weights = \"scales\"", "power_features = true"];
    for line in parts.into_iter().chain(["method = \"mams\""]) {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    let search = &json(&place.read("r/fit.json"))["recipe"]["search"];
    assert_eq!((&search["rows"], search["tried"].as_array().map(Vec::len)), (&60.into(), Some(7)));
    place.run("report r").well();
    assert!(place.read("r/report.html").contains("The choice of the model"));

    // The settings that were written make the same draws without a search; so does the same command.
    place.run("fit --config r/config.toml --out s --quiet").well();
    let mut differing = place.differing("r", "s");
    differing.retain(|name| !TIMED.contains(&&name[..]));
    assert_eq!(differing, ["fit.json", "report.html"]);
    let again = place.run(&format!("fit t.csv --out r {flags}"));
    assert!(!again.err.contains("  chosen\n") && again.out.contains("held out  "), "{again:?}");

    // So does a model with curves, which is named beside its settings.
    for model in ["additive", "network-curves"] {
        let [out, again] = ["of", "again"].map(|name| format!("{name}-{model}"));
        place.run(&format!("fit t.csv --out {out} --model {model} --quiet {flags}")).well();
        assert!(
            place.read(&format!("{out}/config.toml")).contains(&format!("model = \"{model}\""))
        );
        place.run(&format!("fit --config {out}/config.toml --out {again} --quiet")).well();
        let mut differing = place.differing(&out, &again);
        differing.retain(|name| !TIMED.contains(&&name[..]));
        assert!(differing.is_empty(), "{differing:?}");
    }

    place.run(&format!("fit t.csv --out n --model linear-transformed --quiet {flags}")).well();
    assert!(place.read("n/config.toml").contains("transform = \"yeo-johnson\""));
    for (wrong, code) in [("--model network-hurdle", 1), ("--minutes -1", 2)] {
        let fitted = place.run(&format!("fit t.csv --out w {wrong} {flags} --quiet"));
        said!(format!("{wrong}: {}", fitted.error(code)));
    }
}

/// A run that is long enough to be ended midway.
const LONG: &str = "fit iris.csv --target species --out r --quiet --hidden 4 --chains 2 --warmup 200 --draws 6000 \
                    --checkpoint-every 50draws";

/// Begins the long run, and returns when it has saved some draws.
fn begun(place: &Place) -> Child {
    let mut child =
        place.command(LONG).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("saved draws", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was to be ended");
        place.size("r/checkpoint.draws") >= 10_000
    });
    child
}

/// What the run is without an interruption: its files but for those with times, and predictions.
fn results(place: &Place, folder: &str) -> (BTreeMap<String, Vec<u8>>, String) {
    let mut files = place.files(folder);
    TIMED.iter().for_each(|name| drop(files.remove(*name)));
    (files, place.run(&format!("predict {folder} iris.csv")).well())
}

#[test]
#[cfg(unix)]
fn a_run_that_was_killed_or_ended_by_ctrl_c_goes_on_to_the_same_draws() {
    let whole = Place::new();
    whole.run(LONG).well();
    let expected = results(&whole, "r");

    let killed = Place::new();
    let mut child = begun(&killed);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), None, "ended by a signal, not by itself");
    assert_eq!(is_finished(&killed.path("r")), Some(false));
    said!(killed.run("diagnose r").error(1));
    // With fewer draws it is finished, and goes on from there all the same.
    killed.run(&LONG.replace("6000", "20")).well();
    assert_eq!(is_finished(&killed.path("r")), Some(true));
    assert_eq!(json(&killed.read("r/fit.json"))["recipe"]["draws"], 20);
    killed.run("diagnose r").well();
    killed.run("report r").well();
    said!(killed.run(LONG).err);
    fs::remove_file(killed.path("r/report.html")).unwrap();
    assert_eq!(results(&killed, "r"), expected);

    let stopped = Place::new();
    let child = begun(&stopped);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    said!(without_numbers(&err));
    assert_eq!(is_finished(&stopped.path("r")), Some(false));
    stopped.run(LONG).well();
    assert_eq!(results(&stopped, "r"), expected);
    // Finished, it is loaded; with other settings it is refused, which says what differs.
    let files = stopped.files("r");
    stopped.run(LONG).well();
    assert!(stopped.files("r") == files, "nothing is written again");
    said!(stopped.run(&format!("{LONG} --activation relu")).error(1));
    // More draws go on where it ended.
    stopped.run(&LONG.replace("6000", "6100")).well();
    assert!(has_line(&stopped.read("r/config.toml"), "draws = 6100"));
    said!(stopped.run(LONG).error(1));
}

/// An ensemble has sizes of its own, is never said to have converged, and is not compared by leave-one-out.
#[test]
fn an_ensemble_is_a_method_of_fit() {
    let place = Place::new();
    let ensemble = "--method ensemble --warmup 80 --draws 10 --validation 0.2 --hidden 3 --quiet";
    let said = place.run(&format!("fit iris.csv --target species --out e {ensemble}")).well();
    assert!(said.contains("an ensemble of 8 members"), "{said}");
    let config = place.read("e/config.toml");
    for line in ["method = \"ensemble\"", "chains = 8", "warmup = 80", "draws = 10"] {
        assert!(has_line(&config, line), "{line}: {config}");
    }
    assert_eq!(place.run("diagnose e --strict").code, Some(3));
    place.run("report e").well();
    place.run("predict e iris.csv --out p.csv").well();
    said!(place.run("compare e e").error(1));
}

#[test]
fn an_array_of_jobs_makes_the_run_of_one() {
    let place = Place::new();
    let job = |range: &str, more: &str| {
        place.run(&format!(
            "fit iris.csv --target species --out jobs --quiet --hidden 3 --warmup 80 --draws 80 --chains {range} {more}"
        ))
    };
    said!(job("0..1", "--of 3").well());
    // The number of chains may stand in a file.
    said!(place.run("merge jobs").error(1));
    job("1..3", "--config jobs/chains-0..1/config.toml").well();
    place.run("merge jobs").well();
    assert_eq!(is_finished(&place.path("jobs")), Some(true));
    assert_eq!(json(&place.read("jobs/fit.json"))["recipe"]["chains"], 3);
    place.fit("one", "--chains 3").well();
    for name in ["fit.json", "data.csv", "verdict.txt", "config.toml"] {
        assert_eq!(
            place.read(&format!("jobs/{name}")),
            place.read(&format!("one/{name}")),
            "{name}"
        );
    }
    let [jobs, one] = ["jobs", "one"].map(|folder| {
        let mut files = place.files(&format!("{folder}/draws.zarr"));
        files.remove("zarr.json");
        (files, place.run(&format!("predict {folder} iris.csv")).well())
    });
    assert_eq!(jobs, one);
    place.run("merge jobs").well();
}

#[test]
fn other_files_in_the_folder_are_left_alone() {
    let place = Place::new();
    fs::create_dir(place.path("r")).unwrap();
    place.write("r/notes.txt", "mine");
    said!(place.fit("r", "").error(1));
    assert_eq!(place.files("r").len(), 1);
    // A file of settings of one's own is no exception.
    fs::rename(place.path("r/notes.txt"), place.path("r/config.toml")).unwrap();
    said!(place.fit("r", "").error(1));
    assert_eq!(place.read("r/config.toml"), "mine");
}

#[test]
fn shares_and_classes_in_order_are_fitted_and_predicted() {
    let place = Place::new();
    let row = |i: usize| format!("{i},{:.3},{}\n", (i as f64 + 0.5) / 41.0, 8 + i / 14);
    let rows: String = (0..40).map(row).collect();
    place.write("t.csv", &format!("size,share,grade\n{rows}"));
    let grades = "--target grade --ignore share --task classification --noise ordinal --out grades";
    let ended = place.run(&format!("fit t.csv {grades} {SMALL}"));
    assert!(ended.err.lines().any(|line| line == "classes in order: 8 < 9 < 10"), "{ended:?}");
    ended.well();
    let shares = "--target share --ignore grade --noise beta --out shares --quiet";
    place.run(&format!("fit t.csv {shares} {SMALL}")).well();
    for (folder, expected) in [("grades", "10"), ("shares", "share")] {
        place.run(&format!("predict {folder} t.csv --out {folder}.csv")).well();
        let predicted = place.read(&format!("{folder}.csv"));
        assert!(predicted.contains(expected), "{predicted}");
        place.run(&format!("report {folder}")).well();
    }
    place.write("whole.csv", "size,share\n1,0.5\n2,1\n3,0.2\n");
    said!(
        place.run(&format!("fit whole.csv --target share --noise beta --out w {SMALL}")).error(1)
    );
}

#[test]
fn missing_values_are_drawn_in_copies_of_the_table() {
    let place = Place::new();
    let x = |i: usize| if i % 4 == 1 { String::new() } else { ((5 * i) % 37).to_string() };
    let row = |i: usize| format!("{},{},{}\n", i % 9, x(i), (i % 9) + (5 * i) % 37);
    let rows: String = (0..60).map(row).collect();
    place.write("t.csv", &format!("a,x,y\n{rows}"));
    let flags = format!("fit t.csv --target y --impute 3 --out r {SMALL}");
    let ended = place.run(&flags);
    assert!(ended.err.contains("a missing one is drawn from rows that are like it"), "{ended:?}");
    let printed = ended.well();
    assert!(printed.contains("tables    3, with missing values drawn in each"), "{printed}");
    assert!(printed.contains("gaps      make 0."), "{printed}");
    // The same command loads them, and each is a run of its own.
    assert_eq!(place.run(&flags).well(), printed);
    place.run("diagnose r/table-2").well();
    said!(place.run("diagnose r").error(1));
    assert!(place.read("r/config.toml").contains("impute = 3"));
    let again = "fit t.csv --config r/config.toml --out s --quiet";
    place.run(again).well();
    place.write("new.csv", "a,x\n3,\n4,7\n");
    for folder in ["r", "s"] {
        let ended = place.run(&format!("predict {folder} new.csv --out {folder}.csv"));
        assert!(ended.err.contains("values are drawn from rows that are like them"), "{ended:?}");
        ended.well();
    }
    assert_eq!(place.read("r.csv"), place.read("s.csv"));
    let scores = place.run("predict r t.csv --scores --out scored.csv").well();
    assert!(scores.contains("log predictive density"), "{scores}");
    said!(place.run("predict r new.csv --out r/table-0").error(1));
    said!(place.run("fit t.csv --target y --impute 3 --chains 0..1 --of 2 --out n").error(2));
    said!(place.run(&format!("fit t.csv --target y --impute 1 --out n {SMALL}")).error(1));
    said!(place.run(&format!("fit t.csv --target y --impute 4 --out r {SMALL}")).error(1));
    said!(place.run(&format!("fit iris.csv --target species --impute 3 --out n {SMALL}")).error(1));
}

#[test]
fn survival_times_are_fitted_and_predicted() {
    let place = Place::new();
    let time = |i: usize| 1.0 + ((7 * i) % 23) as f64 / 4.0 + i as f64 / 10.0;
    let row = |i: usize| format!("{i},{:.2},{}\n", time(i), u8::from(!i.is_multiple_of(3)));
    let rows: String = (0..40).map(row).collect();
    place.write("t.csv", &format!("size,years,died\n{rows}"));
    let flags = "--target years --event died --features size --noise weibull --out r";
    let ended = place.run(&format!("fit t.csv {flags} {SMALL}"));
    assert!(ended.err.contains("survival, since `--event` is of these"), "{ended:?}");
    assert!(ended.err.contains("died") && ended.err.contains("whether the event"), "{ended:?}");
    ended.well();
    let config = place.read("r/config.toml");
    assert!(config.contains("task = \"survival\"") && config.contains("event = \"died\""));
    let printed = place.run("predict r t.csv --scores --times 2,4.5 --out p.csv").well();
    for score in ["concordance", "integrated Brier score", "log predictive density"] {
        assert!(printed.contains(score), "{printed}");
    }
    let predicted = place.read("p.csv");
    let header = predicted.lines().next().unwrap();
    for column in ["observed_from,observed_to", "median,median_q05,median_q95", "survival_4.5_q95"]
    {
        assert!(header.contains(column), "{header}");
    }
    assert_eq!(predicted.lines().count(), 41);
    place.run("report r").well();
    place.write("u.csv", "size,from,to\n1,1,2\n2,2,2\n3,0,4\n4,3,\n5,2,6\n");
    place.run(&format!("fit u.csv --target from --until to --out u --quiet {SMALL}")).well();
    place.run("predict u u.csv --out q.csv").well();
    place.write("n.csv", "size,years,died\n1,2,0\n2,3,0\n");
    said!(place.run(&format!("fit n.csv --target years --event died --out n {SMALL}")).error(1));
    said!(place.run(&format!("fit t.csv --target years --task survival --out n {SMALL}")).error(1));
    said!(
        place
            .run(&format!("fit t.csv --target years --event died --noise poisson --out n {SMALL}"))
            .error(2)
    );
    let weibull = "--target years --ignore died --noise weibull --out n";
    said!(place.run(&format!("fit t.csv {weibull} --task regression {SMALL}")).error(2));
    said!(place.run("predict r t.csv --times inf").error(1));
    place.fit("iris", "").well();
    said!(place.run("predict iris iris.csv --times 3").error(1));
}

/// Weights of rows by a flag and from a file of settings, in the report and in scores.
#[test]
fn rows_with_weights_are_fitted_and_scored() {
    let place = Place::new();
    let y = |i: usize| 0.1 * i as f64 + ((7 * i) % 11) as f64 / 5.0;
    let row = |i: usize| format!("{i},{},{:.2},note {i}\n", [2.0, 0.5, 0.0, 3.0][i % 4], y(i));
    let rows: String = (0..40).map(row).collect();
    place.write("t.csv", &format!("size,days,y,note\n{rows}"));
    let flags = format!("--target y --row-weights days --features size {SMALL}");
    let ended = place.run(&format!("fit t.csv {flags} --out r"));
    assert!(ended.err.contains("days    weights of the rows"), "{ended:?}");
    ended.well();
    let config = place.read("r/config.toml");
    assert!(config.contains("row_weights = \"days\""), "{config}");
    assert!(place.read("r/data.csv").starts_with("size,y,days\n0,0,2\n"));
    place.run("fit --config r/config.toml --out s --quiet").well();
    assert_eq!(place.read("r/data.csv"), place.read("s/data.csv"));
    let printed = place.run("predict r t.csv --scores --out p.csv").well();
    assert!(printed.ends_with("by the weights of the rows, whose sum is 55\n"), "{printed}");
    place.write("new.csv", "size,y,note\n3,1,no\n5,2,no\n");
    let printed = place.run("predict r new.csv --scores --out q.csv").well();
    assert!(!printed.contains("weights"), "{printed}");
    place.run("report r").well();
    let report = place.read("r/report.html");
    assert!(report.contains("40 rows, which stand for 55 by their weights"));
    assert!(
        place
            .run("check t.csv --target y --row-weights days --ignore note")
            .well()
            .contains("accepts it")
    );
    place.write("bad.csv", "size,days,y\n1,1,2\n2,-3,3\n4,,5\n");
    said!(
        place.run(&format!("fit bad.csv --target y --row-weights days --out n {SMALL}")).error(1)
    );
    place.write("gap.csv", "size,days,y\n1,1,2\n2,3,3\n4,,5\n");
    said!(
        place.run(&format!("fit gap.csv --target y --row-weights days --out n {SMALL}")).error(1)
    );
    place.write("none.csv", "size,days,y\n1,0,2\n2,0,3\n4,0,5\n");
    said!(
        place.run(&format!("fit none.csv --target y --row-weights days --out n {SMALL}")).error(1)
    );
    said!(place.run("export r --zarr z").error(1));
}

//! What is refused, with which words and which exit code.

use shared::said;

use super::*;

#[test]
fn a_wrong_column_lists_those_that_there_are() {
    let place = Place::new();
    for flags in [
        "--target specis",
        "--target specis --task classification",
        "--target species --ignore specis",
        "--target species --features specis",
        "--target species --categorical specis",
    ] {
        let error = place.run(&format!("fit iris.csv --out r {flags}")).error(1);
        said!(format!("{flags}: {error}"));
        assert!(!place.path("r").exists(), "{flags}: nothing was begun");
    }
    said!(place.run("check iris.csv --target specis").error(1));
}

#[test]
fn wrong_usage_is_told_from_errors() {
    let place = Place::new();
    for arguments in [
        "frobnicate",
        "fit iris.csv --target species",
        "fit iris.csv --out r",
        "fit --target y --out r",
        "fit iris.csv --target species --out r --hiden 3",
        "fit iris.csv --target species --out r --task clasification",
        "fit iris.csv --target species --out r --seed -1",
        "fit iris.csv --target species --out r --draws -5",
        "fit iris.csv --target species --out r --draws 18446744073709551615",
        "fit iris.csv --target species --out r --hidden -4,8",
        "fit iris.csv --target species --out r --hidden 4 --hidden 8",
        "fit iris.csv --target species --out r --chains -2",
        "fit iris.csv --target petal_width --out r --noise poisson",
        "fit iris.csv --target petal_width --task counts --out r --noise gaussian",
        "fit iris.csv --target petal_width --task regression --out r --noise ordinal",
        "fit iris.csv --target species --out r --chains 3..4",
        "fit iris.csv --target species --out r --chains 3 --of 4",
        "fit iris.csv --target species --out r --chains 4..5 --of 4",
        "fit iris.csv --target species --out r --of 4",
        "fit iris.csv --target species --out r --chains 0..1 --of 2 --strict",
        "fit iris.csv --target species --out r --weights-sd 2",
        "fit iris.csv --target species --out r --delimiter ab",
        "fit iris.csv --target species --out r --checkpoint-every 3",
        "fit iris.csv --target species --out r --ignore species",
        "fit iris.csv --target species --out r --config none.toml",
        "compare r",
    ] {
        said!(format!("{arguments}: {}", place.run(arguments).error(2)));
        assert!(!place.path("r").exists(), "{arguments}");
    }
}

#[test]
fn an_unknown_key_of_a_file_is_named_and_the_known_ones_are_listed() {
    let place = Place::new();
    for text in [
        "[model]\nhiden = [3]\n",
        "[modell]\n",
        "[sampler]\nchain = 3\n",
        "[table]\ntask = \"clasification\"\n",
        "[sampler]\ndraws = \"many\"\n",
        "[sampler]\ndraws = -3\n",
        "[table]\nignore = 3\n",
        "[sampler\n",
    ] {
        place.write("c.toml", text);
        let error = place.run("fit iris.csv --target species --out r --config c.toml").error(2);
        said!(format!("{text}: {error}"));
    }
}

#[test]
fn strict_runs_that_have_not_converged_have_an_exit_code_of_their_own() {
    let place = Place::new();
    let few = "--warmup 5 --draws 20 --strict";
    let fitted = place.fit("r", few);
    assert_eq!(fitted.code, Some(3), "{fitted:?}");
    assert_eq!(is_finished(&place.path("r")), Some(true), "it is saved all the same");
    assert_eq!(place.run("diagnose r --strict").code, Some(3));
    assert_eq!(place.run("diagnose r --strict --json").code, Some(3));
    place.run("diagnose r").well();
    place.fit("s", "--warmup 5 --draws 20 --hidden 0").well();
    assert_eq!(place.run("compare r s --strict").code, Some(3));
    place.run("compare r s").well();
}

#[test]
fn bad_tables_are_refused_by_name() {
    let place = Place::new();
    place.write("empty.csv", "");
    place.write("header.csv", "a,y\n");
    place.write("one.csv", "a\n1\n2\n");
    place.write("dates.csv", "a,y\n1/2/2024,2\n2/2/2024,3\n3/3/2024,4\n");
    place.write("inf.csv", "a,y\n1,2\ninf,3\n4,5\n");
    place.write("ragged.csv", "a,y\n1,2\n3\n");
    place.write("constant.csv", "a,b,y\n1,2,3.5\n1,4,5\n1,5,7\n");
    place.write("same.csv", "a,y\n1,3.5\n2,3.5\n5,3.5\n");
    fs::write(place.path("bytes.csv"), b"a,y\n1,\xff\n").unwrap();
    for file in [
        "empty.csv",
        "missing.csv",
        ".",
        "/dev/stdin",
        "header.csv",
        "one.csv",
        "dates.csv",
        "inf.csv",
        "ragged.csv",
        "constant.csv",
        "same.csv",
        "bytes.csv",
    ] {
        let error = place.run(&format!("fit {file} --target y --out r --quiet {SMALL}")).error(1);
        said!(format!("{file}: {error}"));
        assert!(!place.path("r").join("fit.json").exists(), "{file}: nothing was begun");
        // To be checked, they do no harm either.
        let checked = place.run(&format!("check {file} --target y"));
        assert_eq!(checked.code, Some(1), "{file}: {checked:?}");
        assert!(!checked.err.contains("panicked"), "{file}: {checked:?}");
    }
    for flags in [
        "--validation 1.5",
        "--validation NaN",
        "--weights normal --weights-sd -1",
        "--chains 0",
        "--draws 0",
        "--hidden 3,0",
        "--method collapsed",
        "--noise gaussian",
        "--threads 99999999",
        "--target-accept 1.5",
        "--checkpoint-every -1s",
        "--limit 100",
    ] {
        said!(format!("{flags}: {}", place.fit("r", flags).error(1)));
    }
    // These name the memory of the machine.
    for (flags, begin) in [
        ("--draws 99999999999999", "error: `--draws` is too large: "),
        ("--hidden 1000000,1000000", "error: `--hidden` is too large: "),
    ] {
        let error = place.fit("r", flags).error(1);
        assert!(has_line(&error, begin), "{error}");
        said!(error.rsplit("is allowed").next().unwrap());
    }
}

#[test]
fn what_is_no_run_or_does_not_belong_to_it_is_refused() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).unwrap();
    for command in
        ["diagnose folder", "predict folder iris.csv", "compare folder folder", "merge folder"]
    {
        place.run(command).error(1);
    }
    for path in ["folder", "nothing", "iris.csv"] {
        said!(place.run(&format!("diagnose {path}")).error(1));
    }

    place.fit("r", "").well();
    place.write("other.csv", "sepal_length,width\n5,1\n");
    said!(place.run("predict r other.csv").error(1));
    place.write("text.csv", "sepal_length,sepal_width,petal_length,petal_width\n5,1,2,x\n");
    said!(place.run("predict r text.csv").error(1));
    // The table itself is not written over.
    let before = place.read("iris.csv");
    said!(place.run("predict r iris.csv --out iris.csv").error(1));
    assert_eq!(place.read("iris.csv"), before);
    // What follows names the file that was to be written first.
    let lost = place.run("predict r iris.csv --out no/p.csv").error(1);
    assert!(lost.starts_with("error: no/p.csv: "), "{lost}");

    // Runs on other rows cannot be compared.
    let fewer: Vec<&str> = before.lines().take(140).collect();
    place.write("fewer.csv", &fewer.join("\n"));
    place.run(&format!("fit fewer.csv --target species --out s --quiet {SMALL}")).well();
    said!(place.run("compare r s").error(1));
    said!(place.run("compare r r").error(1));
    // Damage is noticed.
    let text = place.read("r/fit.json").replace("\"seed\": 0", "\"seed\": 1");
    place.write("r/fit.json", &text);
    said!(place.run("diagnose r").error(1));
}

/// Runs whose responses are equal, but not their rows: classes that are sorted, split by other seeds.
#[test]
fn runs_on_other_rows_are_not_compared() {
    let place = Place::new();
    for (out, flags) in [
        ("a", "--validation 0.2 --seed 1"),
        ("b", "--validation 0.2 --seed 2"),
        ("a2", "--validation 0.2 --seed 1 --features petal_width"),
        ("b3", "--validation 0.2 --seed 2 --ignore petal_width"),
    ] {
        place.fit(out, flags).well();
    }
    // By all features, by some in common, by none; and runs that can be compared.
    for runs in ["a b", "b a2", "a2 b3"] {
        said!(place.run(&format!("compare {runs}")).error(1));
    }
    place.run("compare a a2").well();
    place.fit("a3", "--validation 0.2 --seed 1 --ignore petal_width").well();
    place.run("compare a2 a3").well();
}

#[test]
fn the_files_of_a_run_are_not_written_over() {
    let place = Place::new();
    place.fit("r", "").well();
    place.fit("s", "").well();
    let before = place.files("r");
    for out in
        ["r/fit.json", "r/data.csv", "r/draws.zarr/zarr.json", "r/../r/config.toml", "r/checkpoint"]
    {
        for command in ["predict s iris.csv", "report s"] {
            let error = place.run(&format!("{command} --out {out}")).error(1);
            said!(error);
        }
    }
    #[cfg(unix)]
    for (link, file) in [("f", "r/fit.json"), ("d", "r/data.csv")] {
        std::os::unix::fs::symlink(place.path(file), place.path(link)).unwrap();
        for command in ["predict s iris.csv", "report s", "explain s"] {
            let error = place.run(&format!("{command} --out {link}")).error(1);
            assert!(error.contains("another name than those of the files"), "{error}");
        }
    }
    assert!(place.files("r") == before);
    // Nor is any table that is read.
    place.write("c.csv", &place.read("iris.csv"));
    let calibrated = "predict r iris.csv --conformal --calibration c.csv";
    let error = place.run(&format!("{calibrated} --out c.csv")).error(1);
    assert!(error.contains("another file than c.csv, which is read"), "{error}");
    assert_eq!(place.read("c.csv"), place.read("iris.csv"));
    place.run("predict r iris.csv --out r/p.csv").well();
    place.run("predict r iris.csv --out r/p.csv").well();
    place.run("report r --out r/report.html").well();
    place.fit("r", "").well();
}

#[test]
fn a_job_that_does_not_fit_to_the_others_is_refused_before_it_begins() {
    let place = Place::new();
    let job = |flags: &str| {
        place.run(&format!(
            "fit iris.csv --target species --out j --quiet --hidden 3 --warmup 80 --draws 80 {flags}"
        ))
    };
    job("--chains 0..2 --of 4").well();
    for flags in
        ["--chains 1..3 --of 4", "--chains 2..3 --of 5", "--chains 2..4 --of 4 --activation relu"]
    {
        said!(format!("{flags}: {}", job(flags).error(1)));
    }
    assert_eq!(fs::read_dir(place.path("j")).unwrap().count(), 1, "nothing was begun");
    job("--chains 2..4 --of 4").well();
    // Made elsewhere, it is found by `merge`, which names both.
    place.run("fit iris.csv --target species --out k --quiet --hidden 3 --warmup 80 --draws 80 --chains 1..3 --of 4").well();
    fs::rename(place.path("k/chains-1..3"), place.path("j/chains-1..3")).unwrap();
    said!(place.run("merge j").error(1));
}

#[test]
fn errors_about_new_rows_name_no_flag_that_is_not_there() {
    let place = Place::new();
    place.fit("r", "").well();
    let header = "sepal_length,sepal_width,petal_length,petal_width";
    place.write("new.csv", &format!("{header}\n5,1,2,x\n"));
    let error = place.run("predict r new.csv").error(1);
    assert!(!error.contains("--"), "{error}");
    said!(error);
}

//! What is refused, with which words and which exit code.

use super::*;

#[test]
fn a_wrong_column_lists_those_that_there_are() {
    let place = Place::new();
    let columns =
        "there are: `sepal_length`, `sepal_width`, `petal_length`, `petal_width`, `species`";
    for flags in [
        "--target specis",
        "--target specis --task classification",
        "--target species --ignore specis",
        "--target species --features specis",
        "--target species --categorical specis",
    ] {
        let error = place.run(&format!("fit iris.csv --out r {flags}")).refused(1);
        assert!(error.contains("`specis`") && error.contains(columns), "{flags}: {error}");
        assert!(!place.path("r").exists(), "{flags}: nothing was begun");
    }
    let error = place.run("check iris.csv --target specis").refused(1);
    assert!(error.contains(columns), "{error}");
}

#[test]
fn wrong_usage_is_told_from_errors() {
    let place = Place::new();
    for (arguments, message) in [
        ("frobnicate", "unrecognized subcommand"),
        ("fit iris.csv --target species", "--out"),
        ("fit iris.csv --out r", "the column to predict is missing"),
        ("fit --target y --out r", "the table is missing"),
        ("fit iris.csv --target species --out r --hiden 3", "--hiden"),
        ("fit iris.csv --target species --out r --task clasification", "classification"),
        (
            "fit iris.csv --target species --out r --seed -1",
            "'-1' for '--seed <N>': it must be a whole number",
        ),
        (
            "fit iris.csv --target species --out r --draws -5",
            "'--draws <N>': it must be a whole number",
        ),
        (
            "fit iris.csv --target species --out r --draws 18446744073709551615",
            "'--draws <N>': it must be",
        ),
        ("fit iris.csv --target species --out r --hidden -4,8", "'--hidden <UNITS>': it must be"),
        (
            "fit iris.csv --target species --out r --hidden 4 --hidden 8",
            "cannot be used multiple times",
        ),
        (
            "fit iris.csv --target species --out r --chains -2",
            "neither a number, as 4, nor a range",
        ),
        ("fit iris.csv --target petal_width --out r --noise poisson", "say `--task counts`"),
        (
            "fit iris.csv --target petal_width --task counts --out r --noise gaussian",
            "say `--task regression`",
        ),
        ("fit iris.csv --target species --out r --chains 3..4", "add `--of N`"),
        ("fit iris.csv --target species --out r --chains 3 --of 4", "`--chains 3..4 --of 4`"),
        ("fit iris.csv --target species --out r --chains 4..5 --of 4", "0..4"),
        ("fit iris.csv --target species --out r --of 4", "--chains"),
        (
            "fit iris.csv --target species --out r --chains 0..1 --of 2 --strict",
            "say it to `merge`",
        ),
        ("fit iris.csv --target species --out r --weights-sd 2", "`--weights normal` alone"),
        ("fit iris.csv --target species --out r --delimiter ab", "one ASCII character"),
        ("fit iris.csv --target species --out r --checkpoint-every 3", "100draws"),
        ("fit iris.csv --target species --out r --ignore species", "is the target"),
        ("fit iris.csv --target species --out r --config none.toml", "none.toml"),
        ("compare r", "2"),
    ] {
        let error = place.run(arguments).refused(2);
        assert!(error.contains(message), "{arguments}: {error}");
        assert!(!place.path("r").exists(), "{arguments}");
    }
}

#[test]
fn an_unknown_key_of_a_file_is_named_and_the_known_ones_are_listed() {
    let place = Place::new();
    for (text, key, known) in [
        (
            "[model]\nhiden = [3]\n",
            "`hiden`",
            "`hidden`, `activation`, `skip`, `weights`, `weights_sd`, `noise`",
        ),
        ("[modell]\n", "`modell`", "`data`, `table`, `model`, `sampler`"),
        ("[sampler]\nchain = 3\n", "`chain`", "`chains`"),
        ("[table]\ntask = \"clasification\"\n", "`clasification`", "`classification`"),
        ("[sampler]\ndraws = \"many\"\n", "many", "expected a whole number, 0 or more"),
        ("[sampler]\ndraws = -3\n", "`-3`", "expected a whole number, 0 or more"),
        ("[table]\nignore = 3\n", "ignore", "expected an entry or a list of entries"),
        ("[sampler\n", "sampler", "line 1"),
    ] {
        place.write("c.toml", text);
        let error = place.run("fit iris.csv --target species --out r --config c.toml").refused(2);
        assert!(error.contains(key) && error.contains(known), "{text}: {error}");
        assert!(error.contains("c.toml"), "{error}");
    }
}

#[test]
fn strict_runs_that_have_not_converged_have_an_exit_code_of_their_own() {
    let place = Place::new();
    let few = "--warmup 5 --draws 20 --strict";
    let fitted = place.fit("r", few);
    assert_eq!(fitted.code, Some(3), "{fitted:?}");
    assert!(fitted.out.contains("saved in  r"), "it is saved all the same");
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
    place.write("nan.csv", "a,y\n1,2\nNaN,3\n4,5\n");
    place.write("inf.csv", "a,y\n1,2\ninf,3\n4,5\n");
    place.write("ragged.csv", "a,y\n1,2\n3\n");
    place.write("constant.csv", "a,b,y\n1,2,3.5\n1,4,5\n1,5,7\n");
    place.write("same.csv", "a,y\n1,3.5\n2,3.5\n5,3.5\n");
    fs::write(place.path("bytes.csv"), b"a,y\n1,\xff\n").unwrap();
    for (file, message) in [
        ("empty.csv", "empty.csv: the file is empty"),
        ("missing.csv", "missing.csv: No such file"),
        (".", "Is a directory"),
        ("/dev/stdin", "it can be read only once"),
        ("header.csv", "header.csv: there is a header, but no row below it"),
        ("one.csv", "there is no column of one.csv named `y`; there are: `a`"),
        ("nan.csv", "nan.csv, line 3, column `a`: missing value (`NaN`)"),
        ("nan.csv", "leave these rows out by `--drop-missing`"),
        ("inf.csv", "`inf` is not a finite number"),
        ("ragged.csv", "line 3 has 1 cell, but the header has 2"),
        ("constant.csv", "column `a`: constant (1) over all 3 rows: leave it out by `--ignore a`"),
        ("same.csv", "there is nothing to learn of this response"),
        ("bytes.csv", "not UTF-8"),
    ] {
        let error = place.run(&format!("fit {file} --target y --out r --quiet {SMALL}")).refused(1);
        assert!(error.contains(message), "{file}: {error}");
        assert!(!place.path("r").join("fit.json").exists(), "{file}: nothing was begun");
        // To be checked, they do no harm either.
        let checked = place.run(&format!("check {file} --target y"));
        assert_eq!(checked.code, Some(1), "{file}: {checked:?}");
        assert!(!checked.err.contains("panicked"), "{file}: {checked:?}");
    }
    for (flags, message) in [
        ("--validation 1.5", "`--validation` is 1.5, but must be from 0 to below 1"),
        ("--validation NaN", "`--validation` is NaN"),
        ("--weights normal --weights-sd -1", "`--weights-sd` is -1"),
        ("--chains 0", "`--chains` (or `--of`) is 0"),
        ("--draws 99999999999999", "is allowed: take fewer draws\n"),
        ("--draws 99999999999999", "`--draws` is too large: "),
        ("--draws 0", "`--draws` is 0, but must be at least 1"),
        ("--hidden 1000000,1000000", "`--hidden` is too large: "),
        ("--hidden 3,0", "`--hidden` is [3, 0], but every hidden layer has at least 1 unit"),
        ("--method collapsed", "for the output layer to be integrated out"),
        ("--method collapsed", "sample by NUTS (`--method nuts`)"),
        ("--noise gaussian", "classes have no noise"),
        ("--threads 99999999", "`--threads` is 99999999, but must be 1 to 4096"),
        ("--target-accept 1.5", "`--target-accept` is 1.5"),
        ("--checkpoint-every -1s", "`--checkpoint-every` is -1 seconds"),
        ("--limit 100", "raise the limit by `--limit`"),
    ] {
        let error = place.fit("r", flags).refused(1).to_lowercase();
        assert!(error.contains(&message.to_lowercase()), "{flags}: {error}");
    }
}

#[test]
fn what_is_no_run_or_does_not_belong_to_it_is_refused() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).unwrap();
    for command in
        ["diagnose folder", "predict folder iris.csv", "compare folder folder", "merge folder"]
    {
        place.run(command).refused(1);
    }
    assert!(place.run("diagnose folder").refused(1).contains("there is no `fit.json`"));
    assert!(place.run("diagnose nothing").refused(1).contains("nothing"));
    assert!(place.run("diagnose iris.csv").refused(1).contains("`setosa` is not a number"));

    place.fit("r", "").well();
    place.write("other.csv", "sepal_length,width\n5,1\n");
    let error = place.run("predict r other.csv").refused(1);
    assert!(error.contains("there are: `sepal_length`, `width`"), "{error}");
    place.write("text.csv", "sepal_length,sepal_width,petal_length,petal_width\n5,1,2,x\n");
    let error = place.run("predict r text.csv").refused(1);
    assert!(
        error.contains("text.csv, line 2, column `petal_width`: `x` is not a number"),
        "{error}"
    );
    // The table itself is not written over.
    let before = place.read("iris.csv");
    let error = place.run("predict r iris.csv --out iris.csv").refused(1);
    assert!(error.contains("another file"), "{error}");
    assert_eq!(place.read("iris.csv"), before);
    assert!(place.run("predict r iris.csv --out no/p.csv").refused(1).contains("no/p.csv"));

    // Runs on other rows cannot be compared.
    let fewer: Vec<&str> = before.lines().take(140).collect();
    place.write("fewer.csv", &fewer.join("\n"));
    place.run(&format!("fit fewer.csv --target species --out s --quiet {SMALL}")).well();
    let error = place.run("compare r s").refused(1);
    assert!(error.contains("rows of `s`: found 139, expected 150, as of `r`"), "{error}");
    assert!(place.run("compare r r").refused(1).contains("twice"));
    // Damage is noticed.
    let text = place.read("r/fit.json").replace("\"seed\": 0", "\"seed\": 1");
    place.write("r/fit.json", &text);
    assert!(place.run("diagnose r").refused(1).contains("edited or damaged"));
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
    let error = place.run("compare a b").refused(1);
    for part in [
        "`a` and `b` have not learnt from the same rows",
        "`a` of 150 rows (--validation 0.2 --seed 1), `b` of 150 rows (--validation 0.2 --seed 2)",
        "in line ",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // By some features in common, by none, and runs that can be compared.
    assert!(place.run("compare b a2").refused(1).contains("`petal_width` is "));
    assert!(place.run("compare a2 b3").refused(1).contains("chosen in different ways"));
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
            let error = place.run(&format!("{command} --out {out}")).refused(1);
            assert!(error.contains(&format!("`--out` is {out}")), "{error}");
        }
    }
    assert!(place.files("r") == before);
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
    for (flags, parts) in [
        ("--chains 1..3 --of 4", ["j/chains-1..3: chain 1 would be there twice", "j/chains-0..2"]),
        ("--chains 2..3 --of 5", ["`--chains` (or `--of`) is 4, not 5", "j/chains-0..2"]),
        ("--chains 2..4 --of 4 --activation relu", ["`--activation` is \"tanh\"", "j/chains-0..2"]),
    ] {
        let error = job(flags).refused(1);
        assert!(parts.iter().all(|part| error.contains(part)), "{flags}: {error}");
    }
    assert_eq!(fs::read_dir(place.path("j")).unwrap().count(), 1, "nothing was begun");
    job("--chains 2..4 --of 4").well();
    // Made elsewhere, it is found by `merge`, which names both.
    place.run("fit iris.csv --target species --out k --quiet --hidden 3 --warmup 80 --draws 80 --chains 1..3 --of 4").well();
    fs::rename(place.path("k/chains-1..3"), place.path("j/chains-1..3")).unwrap();
    let error = place.run("merge j").refused(1);
    assert!(error.contains("j/chains-1..3") && error.contains("in j/chains-0..2"), "{error}");
}

#[test]
fn errors_about_new_rows_name_no_flag_that_is_not_there() {
    let place = Place::new();
    place.fit("r", "").well();
    let header = "sepal_length,sepal_width,petal_length,petal_width";
    for (row, message) in
        [("5,,2,1", "or take these rows out of the table"), ("5,1,2,x", "`x` is not a number")]
    {
        place.write("new.csv", &format!("{header}\n{row}\n"));
        let error = place.run("predict r new.csv").refused(1);
        assert!(error.contains(message) && !error.contains("--"), "{error}");
    }
}

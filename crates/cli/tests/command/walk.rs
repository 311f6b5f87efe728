//! What a new user does, one command after the other.

use shared::said;

use super::*;

/// The fields of the lines of a CSV text.
fn cells(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn from_a_table_to_predictions_and_a_comparison() {
    let place = Place::new();
    said!(place.run("check iris.csv --target species").well());
    let timed = place.run("check iris.csv --target species --time").well();
    assert!(
        has_line(&timed, "time      about ") && timed.contains(" to choose a model, then "),
        "{timed}"
    );

    let fitted = place.run(&format!("fit iris.csv --target species --out r {SMALL}"));
    // All but its progress, with times and step sizes.
    said!(fitted.err.split("\nwarm-up ").next().unwrap());
    assert!(has_line(&fitted.err, "sampling 80 of 80 (100 %)"), "{fitted:?}");
    let out = fitted.well();
    said!(out.lines().next().unwrap());
    assert!(has_line(&out, "verdict ") && has_line(&out, "saved in  r"), "{out}");
    place.fit("r2", "--hidden 0").well();

    // New rows without the response, in another order of columns, one of them far away.
    place.write(
        "new.csv",
        "petal_width,petal_length,sepal_width,sepal_length,note\n0.2,1.4,3.5,5.1,a\n2.4,99,3,7,b\n",
    );
    let predicted = place.run("predict r new.csv");
    said!(predicted.err);
    let text = predicted.well();
    let lines = cells(&text);
    assert_eq!(lines[0][..4], ["row", "line", "class", "probability"]);
    assert_eq!(lines.len(), 1 + 2 * 3);
    let probability = |line: &[&str]| line[3].parse::<f64>().unwrap();
    let sum: f64 = lines[1..4].iter().map(|line| probability(line)).sum();
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    assert!(lines[1][2] == "setosa" && probability(&lines[1]) > 0.8, "{text}");
    assert!(lines[6][2] == "virginica" && probability(&lines[6]) > 0.5, "{text}");

    // To a file: the same bytes; with the response: scores.
    assert_eq!(place.run("predict r new.csv --out p.csv").well(), "");
    assert_eq!(place.read("p.csv"), text);
    let scores = place.run("predict r iris.csv --scores --out p.csv").well();
    assert!(scores.starts_with("150 rows"), "{scores}");
    assert!(place.read("p.csv").starts_with("row,line,class,observed,probability"));
    let accuracy = scores.lines().find(|line| line.starts_with("accuracy")).unwrap();
    let accuracy: f64 = accuracy.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(accuracy > 0.9, "{scores}");

    let diagnosed = place.run("diagnose r").well();
    for begin in ["verdict ", "predictions        450 ", "log likelihood ", "w0 ", "b1 "] {
        assert!(has_line(&diagnosed, begin), "{begin}: {diagnosed}");
    }
    let found = json(&place.run("diagnose r --json").well());
    assert_eq!(found["run"], "r");
    assert_eq!(found["verdict"]["groups"][0]["quantities"], 450);
    assert_eq!(found["blocks"]["rows"].as_array().unwrap().len(), 4);

    // The report is a page by itself, in the folder of the run, which stays one.
    let reported = place.run("report r");
    said!(reported.err);
    reported.well();
    let page = place.read("r/report.html");
    assert!(page.contains("<html") && page.trim_end().ends_with("</html>"), "{}", page.len());
    assert!(page.contains("species") && !page.contains("src=\"http"));
    place.run("report r --out elsewhere.html").well();
    assert_eq!(place.read("elsewhere.html"), page);
    place.run(&format!("fit iris.csv --target species --out r --quiet {SMALL}")).well();

    let compared = place.run("compare r r2/").well();
    said!(compared.lines().next().unwrap());
    assert!(has_line(&compared, "r: ") && has_line(&compared, "r2: "), "{compared}");
    let found = json(&place.run("compare r r2 --json").well());
    let models = found["comparison"]["models"].as_array().unwrap();
    assert_eq!(models.len(), 2);
    assert_eq!(models[0]["difference"], 0.0);
    assert!(models[1]["difference"].as_f64().unwrap() < 0.0);
    assert_eq!(found["runs"][1]["run"], "r2");
}

#[test]
fn a_model_is_tested_by_simulation() {
    let place = Place::new();
    let of = |settings: &str| format!("check iris.csv --target species --chains 1 {settings}");
    let command =
        of("--hidden 0 --warmup 200 --draws 600 --calibrate=20 --ranks r.jsonl --figure r.svg");
    let found = place.run(&command).well();
    let calibration = &found[found.find("calibration by simulation").unwrap()..];
    assert!(calibration.starts_with(
        "calibration by simulation: calibrated; 20 simulations, ranks among 99 draws\n"
    ));
    assert!(calibration.contains("with a probability of 0.99 this finds a posterior that is "));
    let figure = fs::read_to_string(place.path("r.svg")).unwrap();
    assert!(figure.starts_with("<svg") && figure.contains("log likelihood, p = "));
    // From its file it goes on, with more simulations, too.
    let before = place.size("r.jsonl");
    assert_eq!(place.run(&command).well(), found);
    assert_eq!(place.size("r.jsonl"), before);
    place.run(&command.replace("=20", "=25")).well();
    assert!(place.size("r.jsonl") > before);

    let short = place.run(&of("--hidden 8 --warmup 3 --draws 99 --calibrate=20"));
    assert_eq!(short.code, Some(3), "{short:?}");
    assert!(short.out.contains("NOT TESTED, chains are too short"), "{short:?}");
    said!(place.run(&of("--hidden 0 --ranks r.jsonl")).error(2));
    let ensemble =
        place.run(&of("--chains 2 --method ensemble --calibrate").replace("--chains 1 ", ""));
    assert_eq!(ensemble.code, Some(1), "{ensemble:?}");
    said!(&ensemble.err[ensemble.err.find("error:").unwrap()..]);
}

#[test]
fn new_rows_are_learnt_without_a_new_fit() {
    let place = Place::new();
    let iris = fs::read_to_string(place.path("iris.csv")).unwrap();
    let mut lines = iris.lines();
    let header = lines.next().unwrap();
    let (new, old): (Vec<_>, Vec<_>) = lines.enumerate().partition(|(i, _)| i % 10 == 0);
    let table = |rows: &[(usize, &str)]| {
        let rows: String = rows.iter().map(|(_, line)| format!("{line}\n")).collect();
        format!("{header}\n{rows}")
    };
    place.write("old.csv", &table(&old));
    place.write("new.csv", &table(&new));
    let drifted = table(&new).replace("setosa", "virginica");
    place.write("drifted.csv", &drifted);
    place.run(&format!("fit old.csv --target species --out r {SMALL}")).well();

    let updated = place.run("update r new.csv --out r2");
    assert!(updated.err.contains("15 rows learnt from"), "{updated:?}");
    assert!(updated.err.contains("; they are like what was predicted (p = "), "{updated:?}");
    let out = updated.well();
    assert!(has_line(&out, "verdict ") && has_line(&out, "saved in  r2"), "{out}");
    assert!(has_line(&out, "data      `species` (3 classes) by 4 features; 150 rows"), "{out}");
    let scores = place.run("predict r2 new.csv --scores");
    assert!(scores.err.contains("log predictive density"), "{scores:?}");
    let other = place.run("update r drifted.csv --out r3");
    assert!(other.err.contains("they have drifted"), "{other:?}");
    let again = place.run("update r2 old.csv --out r5");
    assert!(
        again.err.contains("; learnt from before, and counted once more: 135 rows"),
        "{again:?}"
    );

    said!(place.run("update r new.csv --out r2").error(1));
    said!(place.run("update r iris.csv").error(2));
    place.write("two.csv", "sepal_length,species\n5.1,setosa\n");
    said!(place.run("update r two.csv --out r4").error(1));
}

#[test]
fn a_run_says_what_it_has_found() {
    let place = Place::new();
    place.fit("r", "").well();
    let all = place.run("explain r --out effects.csv --figures figures").well();
    assert!(has_line(&all, "importance ") && has_line(&all, "effect "), "{all}");
    let petals = all.lines().filter(|line| line.starts_with("petal_length ")).count();
    assert_eq!(petals, 1 + 3, "importance, and a difference for each of three species: {all}");
    let csv = place.read("effects.csv");
    assert_eq!(csv.lines().next(), Some("column,value,output,effect,q05,q95"));
    let probability = |line: &str| line.split(',').nth(3).unwrap().parse::<f64>().unwrap();
    let of = |column: &str, class: &str| -> Vec<f64> {
        let is_own = |line: &&str| {
            line.starts_with(&format!("{column},")) && line.contains(&format!(",{class},"))
        };
        csv.lines().filter(is_own).map(probability).collect()
    };
    let setosa = of("petal_length", "setosa");
    // Of twenty quantiles two are the same.
    assert!(setosa.len() == 19 && setosa[0] > setosa[18] + 0.2, "{setosa:?}");
    let sums =
        setosa.iter().zip(of("petal_length", "versicolor")).zip(of("petal_length", "virginica"));
    sums.for_each(|((a, b), c)| assert!((a + b + c - 1.0).abs() < 1e-9));
    assert_eq!(place.files("figures").len(), 1 + 4);
    assert!(place.read("figures/importance.svg").contains("petal_length"));

    let one = place.run("explain r --column petal_width --from 0.2 --to 2").well();
    assert!(
        !has_line(&one, "importance") && one.contains("0.2") && one.lines().count() == 4,
        "{one}"
    );
    let two = place.run("explain r --column petal_width --with petal_length --accumulated").well();
    assert!(has_line(&two, "setosa: petal_width by petal_length"), "{two}");
    let shares = place.run("explain r --column petal_width,petal_length --sobol").well();
    assert!(has_line(&shares, "share of the variance"), "{shares}");
    assert_eq!(shares, place.run("explain r --column petal_width,petal_length --sobol").well());

    assert!(!has_line(&all, "scale of the weights"), "{all}");
    place.fit("s", "--weights scales").well();
    let scales = place.run("explain s --column petal_width").well();
    assert!(has_line(&scales, "scale of the weights "), "{scales}");
    // Importance, the scale, and a difference for each of three species.
    let lines = scales.lines().filter(|line| line.starts_with("petal_width ")).count();
    assert_eq!(lines, 2 + 3, "{scales}");

    // Before anything is computed.
    said!(place.run("explain r --out none/effects.csv").error(1));
    said!(place.run("report r --out none/page.html").error(1));
    said!(place.run("explain none").error(1));
    said!(place.run("explain r --column colour").error(1));
    said!(place.run("explain r --accumulated").error(2));
    said!(place.run("explain r --from 1 --to 2").error(2));
    said!(place.run("explain r --column petal_width,petal_length --from 1 --to 2").error(2));
    said!(place.run("explain r --column petal_width --from wide --to 2").error(1));
    said!(place.run("explain r --out r/fit.json").error(1));
}

#[test]
fn uncertainty_comes_in_two_parts() {
    let place = Place::new();
    place.fit("r", "").well();
    let predicted = place.run("predict r iris.csv --uncertainty");
    assert!(predicted.err.contains("the mean is least known in lines "), "{predicted:?}");
    let out = predicted.well();
    let header = out.lines().next().unwrap();
    assert!(header.ends_with(",entropy,expected_entropy,mutual_information"), "{header}");
    for line in out.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').rev().take(3).map(|x| x.parse().unwrap()).collect();
        assert!((cells[2] - cells[1] - cells[0]).abs() < 1e-12 && cells[0] >= 0.0, "{line}");
    }
    let small = "--target sepal_length --ignore species --task regression --out s --quiet";
    place.run(&format!("fit iris.csv {small} {SMALL}")).well();
    let out = place.run("predict s iris.csv --uncertainty").well();
    let header: Vec<&str> = out.lines().next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|own| *own == name).unwrap();
    for line in out.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [new, noise, mean] =
            ["new_sd", "noise_sd", "mean_sd"].map(|name| cells[at(name)].parse::<f64>().unwrap());
        // `mean_sd` has the divisor n - 1.
        assert!((new.hypot(0.0) - noise.hypot(mean)).abs() < 0.01 * mean, "{line}");
    }
}

#[test]
fn draws_of_other_programs_are_judged() {
    let place = Place::new();
    let mut text = String::from("chain,draw,mu,sigma\n");
    // Two chains that move by themselves and agree; then one that is elsewhere.
    let value = |i: usize, k: usize| ((i * 7919 + k * 104_729) % 1009) as f64 / 1009.0;
    for (name, shift) in [("good.csv", 0.0), ("bad.csv", 3.0)] {
        text.truncate("chain,draw,mu,sigma\n".len());
        for chain in 0..4 {
            for draw in 0..250 {
                let i = chain * 250 + draw;
                let mu = value(i * i + 3 * i, 1) + if chain == 3 { shift } else { 0.0 };
                text.push_str(&format!("{chain},{draw},{mu},{}\n", value(i * i + 5 * i, 2)));
            }
        }
        place.write(name, &text);
    }
    let good = place.run("diagnose good.csv --strict").well();
    said!(good.lines().next().unwrap());
    assert!(has_line(&good, "mu ") && has_line(&good, "sigma "), "{good}");
    assert_eq!(json(&place.run("diagnose good.csv --json").well())["converged"], true);
    let bad = place.run("diagnose bad.csv --strict");
    assert_eq!(bad.code, Some(3), "{bad:?}");
    assert_eq!(place.run("diagnose bad.csv").well(), bad.out, "told, without --strict");
    let found = json(&place.run("diagnose bad.csv --json").well());
    assert_eq!(found["converged"], false);
    assert_eq!(found["verdict"]["outcome"]["OneChainDisagrees"]["chain"], 3);
    assert_eq!(found["parameters"]["rows"][0]["name"], "mu");
    let one = place.run("diagnose good.csv --rows 1").well();
    assert!(has_line(&one, "... and 1 more parameter "), "{one}");
    // The draws of a run, as Zarr.
    place.fit("r", "").well();
    said!(place.run("diagnose r/draws.zarr").well().lines().next().unwrap());
}

/// What is suggested for a table that is refused makes `fit` accept it.
#[test]
fn a_table_is_checked_and_mended() {
    let place = Place::new();
    let mut text = String::from("id,size,name,part,same,none,y\n");
    for i in 0..60 {
        let size = if i == 4 { "NA".to_string() } else { format!("{}.5", i * i % 17) };
        text.push_str(&format!("{i},{size},name{i},{},3,,{}.25\n", ["a", "b"][i % 2], i % 13));
    }
    place.write("t.csv", &text);
    let checked = place.run("check t.csv --target y");
    assert_eq!(checked.code, Some(1), "{checked:?}");
    said!(checked.out);
    // Without the only feature there is nothing to go on with.
    let only = place.run("check t.csv --target y --features name");
    assert_eq!(only.code, Some(1), "{only:?}");
    assert!(!only.out.contains("accepts it with"), "{only:?}");
    let flags = "--target y --ignore name,same,none --drop-missing";
    place.run(&format!("check t.csv {flags}")).well();
    place.run(&format!("fit t.csv --out r {flags} {SMALL} --quiet")).well();
    // Chosen the other way round, the same columns make the same fit.
    let features = "--target y --features id,size,part --drop-missing";
    place.run(&format!("fit t.csv --out s {features} {SMALL} --quiet")).well();
    assert_eq!(place.read("r/data.csv"), place.read("s/data.csv"));
    // Lines that were left out are said.
    let predicted = place.run("predict r t.csv --out p.csv");
    said!(predicted.err);
    // Gaps are filled in unless they are to be left out, and new labels and gaps are named.
    let gaps = "--target y --ignore name,same,none";
    place.run(&format!("fit t.csv --out g {gaps} {SMALL} --quiet")).well();
    place.write("new.csv", "id,size,part\n1,,c\n,2.5,?\n");
    said!(place.run("predict g new.csv --out p.csv").err);
    said!(place.run("diagnose g").well().lines().take(2).collect::<Vec<_>>().join("\n"));
    // Dates, whose order is asked for where no cell tells it.
    let mut text = String::from("day,y\n");
    for i in 0..60 {
        text.push_str(&format!("{}/{}/2024,{}.25\n", 1 + i % 12, 1 + i % 11, i % 13));
    }
    place.write("d.csv", &text);
    place.run("check d.csv --target y").code.filter(|code| *code == 1).unwrap();
    said!(place.run("check d.csv --target y --date-order day-first").well());
    // Decimal commas, Latin-1, classes in the order in which they are named.
    let mut text = b"g;x;y\n".to_vec();
    for i in 0..60 {
        let grade: &[u8] = [&b"pass"[..], b"fail", b"tr\xE8s"][i % 3];
        text.extend([grade, format!(";{},5;1.{i:03},25\n", i % 7).as_bytes()].concat());
    }
    fs::write(place.path("l.csv"), text).unwrap();
    place.run("check l.csv --target g").error(1);
    let flags = "--charset latin-1 --decimal comma";
    said!(place.run(&format!("check l.csv --target y {flags} --ignore g")).well());
    let ordinal = format!("{flags} --noise ordinal --classes fail,pass,tr\u{e8}s {SMALL}");
    let told = place.run(&format!("fit l.csv --target g --out o --quiet {ordinal}")).well();
    assert!(told.contains("(3 classes in order: fail < pass < tr\u{e8}s)"), "{told}");
    let predicted = place.run("predict o l.csv").well();
    let classes: Vec<&str> =
        predicted.lines().skip(1).take(3).map(|line| line.split(',').nth(2).unwrap()).collect();
    assert_eq!(classes, ["fail", "pass", "tr\u{e8}s"]);
    let wrong = flags.to_string() + " --classes fail,pass";
    said!(place.run(&format!("fit l.csv --target g --out w {wrong}")).error(1));
    // Cells that are no numbers, each with its place.
    place.write("m.csv", "a,b,y\n1,x,1.5\n2,y,2\nbad,x,3.5\n");
    let mixed = place.run("check m.csv --target y");
    assert_eq!(mixed.code, Some(1));
    said!(mixed.out);
    place.run("check m.csv --target y --categorical a").well();
    place.run("check m.csv --target y --missing bad --drop-missing").well();
}

#[test]
fn the_kind_of_response_is_chosen_and_said_where_it_can_be_told() {
    let place = Place::new();
    place.write("t.csv", "a,real,count,bit,text\n1,0.5,3,0,x\n2,1.5,0,1,y\n4,1,7,0,x\n3,2,1,1,y\n");
    let checked = |arguments: &str| place.run(&format!("check t.csv --target {arguments}"));
    for arguments in
        ["real", "text", "count", "count --task counts", "real,count", "bit --task classification"]
    {
        said!(format!("{arguments}: {}", checked(arguments).well()));
    }
    let bit = checked("bit");
    assert_eq!(bit.code, Some(1));
    said!(bit.out);
}

/// Nor is text of nearly as many kinds as rows, unless it is said to be.
#[test]
fn numbers_with_a_unit_are_no_classes() {
    let place = Place::new();
    let with_unit = "holds numbers with a unit, such as";
    for (cell, words) in [
        (&(|i: usize| format!("-{}.{}%", i % 3, i % 2)) as &dyn Fn(usize) -> String, with_unit),
        (&|i| format!("{}kg", i % 3), with_unit),
        (&|i| format!("${}.25", i % 3), with_unit),
        (&|i| format!("name{}", i % 21), "holds text of 21 kinds in 60 rows, such as `name0`"),
    ] {
        let rows: String = (0..60).map(|i| format!("{i}.5,{}\n", cell(i))).collect();
        place.write("t.csv", &format!("x,y\n{rows}"));
        let error = place.run("fit t.csv --target y --out r").error(1);
        assert!(error.contains(words), "{error}");
        said!(error);
        place.run("check t.csv --target y --task classification").well();
    }
    let rows: String = (0..60).map(|i| format!("{i}.5,name{}\n", i % 20)).collect();
    place.write("t.csv", &format!("x,y\n{rows}"));
    place.run("check t.csv --target y").well();
}

/// Kinds of several rows have an intercept each; text of which nearly every row has its own is no feature.
#[test]
fn text_of_many_kinds_is_grouped_or_left_out() {
    let place = Place::new();
    let row = |i: usize| format!("{}.5,S{},name{i},{}\n", i % 7, i % 51, (i * i) % 13);
    let rows: String = (0..204).map(row).collect();
    place.write("t.csv", &format!("x,state,name,y\n{rows}"));
    let said = place.run("check t.csv --target y --task regression").well();
    for words in ["`fit` accepts it", "groups: an intercept for each of 51", "name    left out"] {
        assert!(said.contains(words), "{said}");
    }
    let ended = place.run(&format!("fit t.csv --target y --task regression --out r {SMALL}"));
    for words in [
        "`state`, text of 51 kinds in 204 rows, has an intercept for each kind, as by `--group`",
        "`name`, text of 204 kinds in 204 rows, is left out, since nearly every row has its own",
    ] {
        assert!(ended.err.contains(words), "{}", ended.err);
    }
    ended.well();
    place.run("predict r t.csv --out p.csv").well();
    // What is asked for stays.
    place.run("check t.csv --target y --task regression --ignore state --categorical name").well();
}

#[test]
fn colours_are_for_terminals() {
    let place = Place::new();
    place.fit("r", "").well();
    let diagnose = |variables: &[&str]| {
        let mut command = place.command("diagnose r");
        command.envs(variables.iter().map(|name| (name, "1")));
        ended(&mut command).well()
    };
    assert!(!diagnose(&[]).contains('\x1b'), "into a pipe");
    assert!(diagnose(&["CLICOLOR_FORCE"]).contains("\x1b["), "where it is asked for");
    assert!(!diagnose(&["CLICOLOR_FORCE", "NO_COLOR"]).contains('\x1b'));
    let stripped = diagnose(&["CLICOLOR_FORCE"]);
    let stripped = anstream::adapter::strip_str(&stripped).to_string();
    assert_eq!(stripped, diagnose(&[]), "nothing but the colours differs");
}

#[test]
fn shells_complete_the_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&format!("completions {shell}")).well();
        assert!(script.contains("bnn-mcmc") && script.contains("checkpoint-every"), "{shell}");
    }
}

/// `bnn-mcmc diagnose run | head -1`, where nobody reads what is printed.
#[test]
fn a_broken_pipe_ends_the_command_quietly() {
    let place = Place::new();
    place.fit("r", "").well();
    for arguments in
        ["diagnose r", "predict r iris.csv", "check iris.csv", "compare r r/", "--help"]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = ended_into(place.command(arguments), writer);
        assert!(!ended.err.contains("panicked"), "{arguments}: {ended:?}");
        if !arguments.starts_with("compare") {
            assert_eq!(ended.code, Some(0), "{arguments}: {ended:?}");
            assert!(!ended.err.contains("error"), "{arguments}: {ended:?}");
        }
    }
}

fn ended_into(mut command: Command, writer: std::io::PipeWriter) -> Ended {
    let child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    drop(command);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    Ended { code: output.status.code(), out: String::new(), err }
}

/// What README.md shows of `check` is what it prints, and every command is in its table.
#[test]
fn the_readme_is_true() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let place = Place::new();
    let checked = place.run("check iris.csv --target species").well();
    assert!(readme.contains(&format!("$ bnn-mcmc check iris.csv --target species\n{checked}```")));
    let help = place.run("--help").well();
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in names.filter(|name| !["", "help"].contains(name)) {
        assert!(readme.contains(&format!("bnn-mcmc {name} ")), "{name}");
    }
    // The settings that it shows are read, and are of a run that could begin.
    let toml = readme.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    place.write("c.toml", &toml.replace("\"id\"", "\"sepal_width\""));
    let checked = place.run("check --config c.toml").well();
    said!(checked);
}

/// A table of more rows than a block has: rows are numbered through, and equal rows predicted alike.
#[test]
fn a_large_table_is_predicted_in_blocks() {
    let place = Place::new();
    place.fit("r", "").well();
    let iris = place.read("iris.csv");
    let (header, rows) = iris.split_once('\n').unwrap();
    // A block has 2^25 / (160 draws x 4 x 3 classes) rows.
    let (copies, block) = (118, (1 << 25) / (160 * 4 * 3));
    assert!(150 * copies > block + 150);
    place.write("large.csv", &format!("{header}\n{}", rows.repeat(copies)));
    let predicted = place.run("predict r large.csv --out p.csv");
    said!(predicted.err);
    let (text, small) = (place.read("p.csv"), place.run("predict r iris.csv").well());
    let (large, small) = (cells(&text), cells(&small));
    assert_eq!((large.len(), small.len()), (1 + 3 * 150 * copies, 1 + 3 * 150));
    for (i, line) in large.iter().enumerate().skip(1) {
        let row = (i - 1) / 3;
        assert_eq!(line[..2], [row.to_string(), (row + 2).to_string()]);
        assert_eq!(line[2..], small[(i - 1) % 450 + 1][2..]);
    }
    assert!(!place.path("p.csv.tmp").exists());
}

/// Which lines were left out, or lie outside, is said with scores and without.
#[test]
fn predictions_name_the_lines_of_the_table() {
    let place = Place::new();
    place.fit("r", "--drop-missing").well();
    let header = "sepal_length,sepal_width,petal_length,petal_width,species";
    let rows = "5,3.5,1.5,0.2,setosa\n\n,3,5,2,virginica\n9,3,5e300,2,virginica\n";
    place.write("new.csv", &format!("{header}\n{rows}"));
    for flags in ["", "--scores"] {
        let predicted = place.run(&format!("predict r new.csv {flags}"));
        // With scores more lines follow.
        said!(predicted.err.lines().next().unwrap());
        let text = predicted.well();
        let lines: Vec<[&str; 2]> = cells(&text).iter().map(|line| [line[0], line[1]]).collect();
        assert_eq!((lines[1], lines[4]), (["0", "2"], ["1", "5"]));
    }
    place.write("one.csv", &format!("{header}\n5,3.5,1.5,0.2,setosa\n"));
    said!(place.run("predict r one.csv").err);
}

#[test]
fn names_may_hold_commas_and_are_shown_without_control_characters() {
    let place = Place::new();
    let mut text = String::from("a,\"b,c\",\"d\x1b[2J\",huge,y\n");
    for i in 0..20 {
        text.push_str(&format!("{},2,{},{}e100,{}.5\n", i * i % 7, i % 3, 1 + i % 5, i % 11));
    }
    place.write("t.csv", &text);
    let checked = place.run("check t.csv --target y");
    assert_eq!(checked.code, Some(1));
    assert!(!checked.out.contains('\x1b'), "{checked:?}");
    said!(checked.out);
    place.run("check t.csv --target y --ignore b,c").well();
    said!(place.run("check t.csv --target y --ignore b,c --ignore a,huge").well());
    said!(place.run("check t.csv --target b").refused(1));
    // In a file one name may stand by itself.
    place.write("c.toml", "[table]\ntarget = \"y\"\nignore = \"b,c\"\n[model]\nhidden = 4\n");
    said!(place.run("check t.csv --config c.toml").well());
    // A negative number stands for a missing value.
    place.write("m.csv", "a,y\n1,2.5\n2,-999\n3,1.5\n5,4.5\n");
    said!(place.run("check m.csv --target y --missing -999 --drop-missing").well());
}

#[test]
fn predictions_of_classes_with_commas_stay_one_record_each() {
    let place = Place::new();
    let mut text = String::from("x,z,kind\n");
    for i in 0..40 {
        let kind = ["\"a, b\"", "c", "d"][i % 3];
        text += &format!("{},{},{kind}\n", i % 3 * 3 + i % 5, i % 7);
        // A blank line, which is no row.
        text += if i == 0 { "\n" } else { "" };
    }
    place.write("kinds.csv", &text);
    place.run(&format!("fit kinds.csv --target kind --out k --quiet {SMALL}")).well();
    place.run("predict k kinds.csv --out p.csv").well();
    let text = place.read("p.csv");
    assert!(text.starts_with("row,line,class,"), "{text}");
    for begin in ["0,2,\"a, b\",", "0,2,c,", "1,4,\"a, b\","] {
        assert!(has_line(&text, begin), "{begin}: {text}");
    }
    assert!(text.lines().all(|line| line.split("\"a, b\"").count() <= 2), "{text}");
}

/// What `check` says of a table, `fit` says before it samples.
#[test]
fn fit_says_what_check_says() {
    let place = Place::new();
    let mut text = String::from("id,day,size,copy,leak,big,y\n");
    for i in 0..40 {
        let (size, y) = (i * i % 17, i * 7 % 36);
        let day = format!("2024-{:02}-{:02}", 1 + i / 28, 1 + i % 28);
        let big = 9_007_199_254_740_993_u64 + 2 * (i * i % 11);
        text.push_str(&format!("{i},{day},{size},{size}.0,{y},{big},{y}\n"));
    }
    place.write("t.csv", &text);
    let said = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("- ")).map(String::from).collect()
    };
    let flags = "--target y --task classification --categorical day";
    let checked = place.run(&format!("check t.csv {flags}")).well();
    let found = said(&checked);
    said!(found.join("\n"));
    let fitted = place.run(&format!("fit t.csv {flags} --out r --quiet {SMALL}"));
    assert_eq!(said(&fitted.err), found, "{fitted:?}");
    fitted.well();
    // Also where the table is refused: nothing advises to take dates for labels.
    let refused = place.run("fit t.csv --target day --out s").refused(1);
    assert!(!refused.contains("--categorical"), "{refused}");
    said!(refused);
    // A column that is left out is no matter.
    let few = place.run("check t.csv --target y --features size").well();
    assert_eq!(said(&few), [""; 0], "{few}");
}

/// Names that a spreadsheet would take for formulas, and such that turn the text around them.
#[test]
fn names_of_classes_are_no_formulas() {
    let place = Place::new();
    let mut text = String::from("x,z,kind\n");
    for i in 0..60 {
        let kind = ["=1+1", "-x", "@a;=b", "'=c", "\u{202E}d"][i % 5];
        text += &format!("{},{},{kind}\n", i % 5 * 3 + i % 7, i % 4);
    }
    place.write("k.csv", &text);
    place.run(&format!("fit k.csv --target kind --out k --quiet {SMALL}")).well();
    let cell = |line: &str| line.split(',').nth(2).unwrap().to_owned();
    let classes = |flags: &str| -> Vec<String> {
        let text = place.run(&format!("predict k k.csv {flags}")).well();
        text.lines().skip(1).take(5).map(cell).collect()
    };
    assert_eq!(classes(""), ["''=c", "'-x", "'=1+1", "\"'@a;=b\"", "\u{202E}d"]);
    assert_eq!(classes("--raw-names"), ["'=c", "-x", "=1+1", "\"@a;=b\"", "\u{202E}d"]);
    // The rows of the folder are guarded, and read as they were.
    assert!(
        place.read("k/data.csv").contains("'=1+1") && place.read("k/data.csv").contains("''=c")
    );
    let scored = place.run("predict k k.csv --scores --out p.csv").well();
    assert!(scored.starts_with("60 rows"), "{scored}");
    // On the terminal nothing turns what follows, and JSON stays JSON.
    let checked = place.run("check k.csv --target kind").well();
    assert!(!checked.contains('\u{202E}'), "{checked}");
    said!(checked);
    json(&place.run("diagnose k --json").well());
}

/// The run for ArviZ: all groups, as a whole, and nothing that exists is written over.
#[test]
fn a_run_is_exported() {
    let place = Place::new();
    place.fit("r", "").well();
    let exported = place.run("export r --zarr r.zarr");
    said!(exported.err);
    exported.well();
    for array in [
        "posterior/w0",
        "sample_stats/joint_log_likelihood",
        "posterior_predictive/species",
        "log_likelihood/species",
        "observed_data/species",
        "constant_data/x",
    ] {
        assert!(place.path("r.zarr").join(array).join("zarr.json").is_file(), "{array}");
    }
    // What ArviZ would take for the log likelihood of single rows is not in either folder.
    for folder in ["r.zarr", "r/draws.zarr"] {
        assert!(!place.path(folder).join("sample_stats/log_likelihood").exists(), "{folder}");
    }
    let before = place.files(".");
    for place_of_it in ["r.zarr", "r/draws.zarr"] {
        said!(place.run(&format!("export r --zarr {place_of_it}")).refused(1));
    }
    place.run("export r --zarr no/r.zarr").refused(1);
    assert_eq!(place.files("."), before, "nothing is left behind");
    said!(place.run("diagnose r.zarr").well().lines().next().unwrap());
}

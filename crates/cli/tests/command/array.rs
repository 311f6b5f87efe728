//! `array`: the scripts that it writes are the files of `examples/clusters`, which the guide shows, and run what is typed.
//! Under the engines themselves they are run by `examples/clusters/test.sh`.

use std::os::unix::fs::PermissionsExt;

use shared::said;

use super::*;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/clusters");
const ARRAY: &str = "array data.csv --target y --model network --out run --chains 4 --engine";

/// A folder that holds `data.csv`.
fn with_table() -> Place {
    let place = Place::new();
    let rows = (0..20).map(|i| format!("{},{:.4}\n", i, (f64::from(i) / 3.0).sin()));
    place.write("data.csv", &format!("x,y\n{}", rows.collect::<String>()));
    place
}

/// The text with `#` for memory and time, which are measured.
fn without_limits(text: &str) -> String {
    let mut text = text.to_string();
    for name in ["--mem=", "--time=", "--memfree ", "memory: "] {
        let mut rest = std::mem::take(&mut text);
        while let Some(at) = rest.find(name) {
            let (before, after) = rest.split_at(at + name.len());
            let end = after.find([' ', '}', '\n']).unwrap_or(after.len());
            text += &format!("{before}#");
            rest = after[end..].to_string();
        }
        text += &rest;
    }
    text
}

#[test]
fn the_scripts_of_the_examples_are_those_of_array() {
    let place = with_table();
    for engine in ["slurm", "parallel", "kubernetes"] {
        let out = place.run(&format!("{ARRAY} {engine}")).well();
        assert!(has_line(&out, "begin by  ") && has_line(&out, "memory    "), "{out}");
    }
    for name in ["run.sbatch", "run.parallel.sh", "run.yaml", "run.merge.yaml"] {
        let example = fs::read_to_string(format!("{EXAMPLES}/{name}")).unwrap();
        let written = place.read(name);
        assert_eq!(
            without_limits(&written),
            without_limits(&example),
            "{name} of examples/clusters is no more what `bnn-mcmc {ARRAY} ..` writes"
        );
        assert_eq!(
            without_limits(&written) != written,
            name != "run.merge.yaml" || cfg!(target_os = "linux")
        );
    }
    // Scripts that may have been edited stay.
    said!(place.run(&format!("{ARRAY} slurm")).error(1));
}

#[test]
fn the_guide_shows_the_scripts() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../src/guide/clusters.md");
    let guide = fs::read_to_string(guide).unwrap();
    for name in ["run.sbatch", "run.parallel.sh", "run.yaml", "run.dask.py"] {
        let text = fs::read_to_string(format!("{EXAMPLES}/{name}")).unwrap();
        assert!(guide.contains(&format!("\n{text}```\n")), "{name}: the guide shows another text");
    }
}

#[test]
fn jobs_that_could_not_run_are_refused_with_what_to_do() {
    let place = with_table();
    for flags in [
        "--target y --chains 4",
        "--target y --chains 4 --model network --threads 2",
        "--target y --chains 4 --model network --impute 3",
        "--target y --chains 0 --model network",
        "--target z --chains 4 --model network",
    ] {
        let ended = place.run(&format!("array data.csv --out run --engine slurm {flags}"));
        let code = ended.code.unwrap();
        assert!([1, 2].contains(&code), "{ended:?}");
        said!(format!("{flags}: {}", ended.error(code)));
    }
    said!(
        place
            .run("array data.csv --target y --model network --chains 4 --engine slurm -qo run")
            .error(2)
    );
    assert!(!place.path("run.sbatch").exists());
}

/// The model that one chain has chosen is the model of all jobs.
#[test]
fn one_chain_chooses_the_model_of_all() {
    let place = with_table();
    place.run("fit data.csv --target y --chains 1 --out chosen --minutes 0 --quiet").well();
    let array = "array --config chosen/config.toml --chains 2 --out run --engine slurm";
    place.run(array).well();
    let script = place.read("run.sbatch");
    let fit =
        "fit --config chosen/config.toml --out run --chains \"$i..$((i + 1))\" --of 2 --threads 1";
    assert!(script.contains(fit), "{script}");
    for i in 0..2 {
        let range = format!("--chains {i}..{} --of 2 --threads 1", i + 1);
        place.run(&format!("fit --config chosen/config.toml --out run {range}")).well();
    }
    place.run("merge run").well();
    let [chosen, run] =
        ["chosen", "run"].map(|name| json(&place.read(&format!("{name}/fit.json"))));
    assert_eq!(chosen["recipe"]["hidden"], run["recipe"]["hidden"]);
    assert_eq!(run["recipe"]["chains"], 2);
}

/// What is typed reaches `fit`, whatever a shell, YAML and Kubernetes would make of it.
#[test]
fn names_that_shells_would_change_are_kept() {
    let place = with_table();
    let name = "it's \"$HOME\" $$ {} \\ `y`";
    let table = place.read("data.csv");
    place.write("my data.csv", &table.replace("x,y", &format!("x,{}", csv_cell(name))));
    for engine in ["slurm", "kubernetes"] {
        let mut array = place.command("array");
        array.args(["my data.csv", "--target", name, "--out", "my run", "--model", "linear"]);
        array.args(["--draws", "30", "--warmup", "30", "--chains", "2", "--engine", engine]);
        ended(&mut array).well();
    }
    // Slurm's own programs, as far as the script needs them.
    fs::create_dir(place.path("bin")).unwrap();
    let program = env!("CARGO_BIN_EXE_bnn-mcmc");
    for (name, text) in [
        ("srun", "#!/bin/sh\nexec \"$@\"\n".to_string()),
        ("sbatch", "#!/bin/sh\necho \"$@\" >> submitted\necho 7\n".to_string()),
        ("bnn-mcmc", format!("#!/bin/sh\nexec '{program}' \"$@\"\n")),
    ] {
        place.write(&format!("bin/{name}"), &text);
        let path = place.path(&format!("bin/{name}"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let in_folder = |words: &[String], variables: &[(&str, &str)]| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(place.path("")).env("PATH", &path);
        command.env_remove("SLURM_ARRAY_TASK_ID").envs(variables.iter().copied());
        ended(command.stdin(Stdio::null())).well()
    };
    let script = ["bash", "my run.sbatch"].map(String::from);
    in_folder(&script, &[("SLURM_ARRAY_TASK_ID", "0"), ("SLURM_ARRAY_JOB_ID", "7")]);
    in_folder(&script, &[]);
    let submitted = place.read("submitted");
    assert!(has_line(&submitted, "--parsable my run.sbatch"), "{submitted}");
    let second = submitted.lines().nth(1).unwrap();
    assert!(second.starts_with("--dependency=afterok:7 "), "{submitted}");
    assert!(second.ends_with(" --wrap=bnn-mcmc merge 'my run'"), "{submitted}");

    let command = |file: &str| -> Vec<String> {
        let text = place.read(file);
        let line = text.lines().find_map(|line| line.trim().strip_prefix("command: ")).unwrap();
        let words: Vec<String> = serde_json::from_str(line).unwrap();
        words.iter().map(|word| word.replace("$$", "$")).collect()
    };
    in_folder(&command("my run.yaml"), &[("JOB_COMPLETION_INDEX", "1")]);
    in_folder(&command("my run.merge.yaml"), &[]);
    assert_eq!(is_finished(&place.path("my run")), Some(true));
    let config: toml::Table = place.read("my run/config.toml").parse().unwrap();
    assert_eq!(config["table"]["target"][0].as_str(), Some(name));
}

fn csv_cell(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A job of a chain and the merge of two stay within the memory that the scripts ask for, which is not beyond reason.
#[test]
#[cfg(target_os = "linux")]
fn the_memory_of_the_scripts_is_enough() {
    let place = with_table();
    for (table, settings) in [
        ("data.csv --target y", "--model linear --draws 60000 --warmup 100"),
        ("iris.csv --target species", "--model linear --draws 8000 --warmup 100"),
    ] {
        let out = table.split('.').next().unwrap();
        let array = format!("array {table} {settings} --out {out} --chains 2 --engine slurm");
        place.run(&array).well();
        let script = place.read(&format!("{out}.sbatch"));
        let asked: Vec<f64> = script
            .split("--mem=")
            .skip(1)
            .map(|rest| rest.split_once('M').unwrap().0.parse().unwrap())
            .collect();
        let fit = |range: &str| {
            format!(
                "fit {table} {settings} --out {out} --chains {range} --of 2 --threads 1 --quiet"
            )
        };
        place.run(&fit("1..2")).well();
        let taken = [fit("0..1"), format!("merge {out}")].map(|line| peak(&place, &line));
        println!("{table} {settings}: asked for {asked:?} MiB, taken {taken:.0?} MiB");
        for (asked, taken) in asked.into_iter().zip(taken) {
            assert!(taken < asked && (taken > asked / 8.0 || asked <= 512.0), "{asked} {taken}");
        }
    }
}

/// The most memory that the command uses, in MiB.
#[cfg(target_os = "linux")]
fn peak(place: &Place, arguments: &str) -> f64 {
    let mut child =
        place.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most: f64 = 0.0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
        most = most.max(kib.unwrap_or(0.0) / 1024.0);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success(), "{arguments}");
    most
}

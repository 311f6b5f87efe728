//! Mutants: deliberate mistakes in the library, each with the test of the distribution or formula that it
//! breaks, which must fail.
//!
//! ```text
//! cargo test --release --test mutants -- --ignored --nocapture               # all: minutes
//! MUTANTS=hmc cargo test --release --test mutants -- --ignored --nocapture   # those of such a file or name
//! ```
//!
//! The package is copied to `target/mutants`. Each piece of source text in the table becomes
//! `(if crate::mutant(K) { mutated } else { original })`, with K the mutant's place in the table, so that
//! one build holds all mutants; the environment variable BNN_MUTANT switches one of them on. The tests
//! named in the table must pass without a mutant, and each must fail with its own: by a panic in its
//! own file, not by a signal, a panic of the library or a timeout. The outcome is printed and written to
//! `target/mutants.md`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

mod table;

use table::{MUTANTS, Mutant};

/// What the build needs, besides what is in these folders.
const COPIED: [&str; 10] = [
    "src",
    "tests",
    "examples",
    "benches",
    "data",
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "CHANGELOG.md",
    "DESIGN.md",
];

/// A test that takes longer has failed, but not by an assertion.
const TIMEOUT: Duration = Duration::from_secs(1200);

/// What switches a mutant on, in the copy's `lib.rs`.
const SWITCH: &str = "
/// Whether mutant `k` is switched on.
pub(crate) fn mutant(k: usize) -> bool {
    static ON: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var(\"BNN_MUTANT\").ok()?.parse().ok());
    *ON == Some(k)
}
";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Mutant {
    fn place(&self) -> (&'static str, &'static str) {
        (self.binary, self.test)
    }

    /// The source file of a test, which its path names.
    fn test_file(&self) -> String {
        match self.binary {
            "lib" => {
                let module = self.test.split("::tests::").next().unwrap_or_default();
                let file = format!("src/{}", module.replace("::", "/"));
                let folder = root().join(&file).join("mod.rs").exists();
                if folder { format!("{file}/mod.rs") } else { format!("{file}.rs") }
            }
            binary => {
                let module = self.test.split("::").next().unwrap_or_default();
                format!("tests/{binary}/{module}.rs")
            }
        }
    }
}

/// Where the text of a mutant is in its file, the mutant's number, and what the text becomes.
type Edit = (Range<usize>, usize, &'static str);

/// The edits of each file, in order; panics with all that is wrong.
fn edits() -> BTreeMap<&'static str, Vec<Edit>> {
    let mut edits: BTreeMap<_, Vec<Edit>> = BTreeMap::new();
    let mut problems = Vec::new();
    for (k, mutant) in MUTANTS.iter().enumerate() {
        let source = fs::read_to_string(root().join(mutant.file)).unwrap_or_default();
        for (original, mutated) in mutant.edits {
            let places: Vec<_> = source.match_indices(original).map(|m| m.0).collect();
            match places[..] {
                [start] => {
                    let edit = (start..start + original.len(), k, *mutated);
                    edits.entry(mutant.file).or_default().push(edit);
                }
                _ => problems.push(format!(
                    "{}: `{original}` occurs {} times in {}, not once",
                    mutant.name,
                    places.len(),
                    mutant.file
                )),
            }
        }
    }
    for (file, edits) in &mut edits {
        edits.sort_by_key(|(range, k, _)| (range.start, range.end, *k));
        for pair in edits.windows(2) {
            let [(a, i, _), (b, j, _)] = pair else { continue };
            if a != b && a.end > b.start {
                let (a, b) = (MUTANTS[*i].name, MUTANTS[*j].name);
                problems.push(format!("{file}: the texts of `{a}` and `{b}` overlap"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    edits
}

/// `source` with all its mutants, switched off.
fn mutated(source: &str, edits: &[Edit]) -> String {
    let (mut text, mut end) = (String::new(), 0);
    for group in edits.chunk_by(|a, b| a.0 == b.0) {
        let range = group[0].0.clone();
        text += &source[end..range.start];
        text += "(";
        for (_, k, mutated) in group {
            text += &format!("if crate::mutant({k}) {{ {mutated} }} else ");
        }
        text += &format!("{{ {} }})", &source[range.clone()]);
        end = range.end;
    }
    text + &source[end..]
}

#[test]
fn every_mutant_has_its_text_and_its_test() {
    edits();
    let mut names = BTreeSet::new();
    for mutant in MUTANTS {
        assert!(names.insert(mutant.name), "`{}` is there twice", mutant.name);
        let source = fs::read_to_string(root().join(mutant.test_file())).unwrap_or_default();
        let name = mutant.test.rsplit("::").next().unwrap_or_default();
        let found = source.contains(&format!("fn {name}()"));
        assert!(found, "{}: no test `{}` in {}", mutant.name, mutant.test, mutant.test_file());
    }
    let edits: [Edit; 3] = [(4..9, 1, "b + a"), (4..9, 3, "0"), (11..12, 2, "c")];
    assert_eq!(
        mutated("x = a + b; d", &edits),
        "x = (if crate::mutant(1) { b + a } else if crate::mutant(3) { 0 } else { a + b }); \
         (if crate::mutant(2) { c } else { d })"
    );
}

/// Writes `text` unless the file has it already: what has not changed is not built again.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, text)
}

/// Copies a file or folder of the package, with all mutants.
fn copy(from: &Path, to: &Path, edits: &BTreeMap<&str, Vec<Edit>>) -> io::Result<()> {
    if from.is_dir() {
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name), edits)?;
        }
        return Ok(());
    }
    let file = from.strip_prefix(root()).unwrap_or(from);
    if file == Path::new("src/lib.rs") {
        return write(to, (fs::read_to_string(from)? + SWITCH).as_bytes());
    }
    match file.to_str().and_then(|file| edits.get(file)) {
        Some(edits) => write(to, mutated(&fs::read_to_string(from)?, edits).as_bytes()),
        None => write(to, &fs::read(from)?),
    }
}

/// Builds the test binaries of `mutants` in `package`: name and path of each.
fn build(package: &Path, target: &Path, mutants: &[(usize, &Mutant)]) -> HashMap<String, PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--no-run", "--release", "--offline", "--message-format=json"]);
    // Most tests run for about as long as they take to compile.
    command.args(["--config", "profile.release.package.bnn-mcmc.opt-level=1"]);
    command.arg("--target-dir").arg(target).current_dir(package).stderr(Stdio::inherit());
    for binary in mutants.iter().map(|m| m.1.binary).collect::<BTreeSet<_>>() {
        match binary {
            "lib" => command.arg("--lib"),
            name => command.args(["--test", name]),
        };
    }
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "the mutants do not compile");
    let mut binaries = HashMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        if let (Some(path), Some(true)) =
            (message["executable"].as_str(), message["profile"]["test"].as_bool())
        {
            let is_test = message["target"]["kind"][0] == "test";
            let name = message["target"]["name"].as_str().filter(|_| is_test).unwrap_or("lib");
            binaries.insert(name.to_string(), PathBuf::from(path));
        }
    }
    binaries
}

/// How a run of one test ended.
#[derive(Debug, PartialEq)]
enum Outcome {
    Passed,
    /// A panic in the test's own file.
    Failed,
    /// Anything else, in words.
    Else(String),
}

/// Runs one test of a binary, with or without a mutant, with its output in the file `log`.
fn run(
    binary: &Path,
    package: &Path,
    (mutant, k): (&Mutant, Option<usize>),
    log: &Path,
) -> io::Result<(Outcome, f64)> {
    let (began, file) = (Instant::now(), File::create(log)?);
    let mut command = Command::new(binary);
    command.args(["--exact", mutant.test]).current_dir(package).stdin(Stdio::null());
    command.env_remove("BNN_MUTANT").stdout(file.try_clone()?).stderr(file);
    if let Some(k) = k {
        command.env("BNN_MUTANT", k.to_string());
    }
    let mut child = command.spawn()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > TIMEOUT {
            child.kill()?;
            child.wait()?;
            let outcome = Outcome::Else(format!("no end after {TIMEOUT:?}"));
            return Ok((outcome, began.elapsed().as_secs_f64()));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let output = fs::read_to_string(log)?;
    let in_test = output.contains(&format!("panicked at {}:", mutant.test_file()));
    let outcome = if output.contains("1 passed; 0 failed") && status.success() {
        Outcome::Passed
    } else if output.contains("0 passed; 1 failed") && status.code() == Some(101) && in_test {
        Outcome::Failed
    } else {
        Outcome::Else(format!("{status}, see {}", log.display()))
    };
    Ok((outcome, began.elapsed().as_secs_f64()))
}

/// Calls `task` for each item, on all processors, and returns the results in order.
fn on_all_processors<T: Sync, R: Send>(items: &[T], task: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let (i, Some(item)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    (i, items.get(i))
                } {
                    let result = task(item);
                    results.lock().expect("no task panics").push((i, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no task panics");
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}

#[test]
#[ignore = "minutes: cargo test --release --test mutants -- --ignored --nocapture"]
fn every_mutant_is_caught_by_its_test() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    let (package, report) = (target.join("mutants/package"), target.join("mutants.md"));
    let filter = std::env::var("MUTANTS").unwrap_or_default();
    let chosen = |m: &Mutant| m.name.contains(&filter) || m.file.contains(&filter);
    let mutants: Vec<_> = MUTANTS.iter().enumerate().filter(|m| chosen(m.1)).collect();
    assert!(!mutants.is_empty(), "no mutant has `{filter}` in its name or file");
    let edits = edits();
    for name in COPIED {
        copy(&root().join(name), &package.join(name), &edits).expect(name);
    }
    let binaries = build(&package, &target.join("mutants/build"), &mutants);
    let log = |name: String| target.join("mutants").join(name);

    let mut tests: Vec<&Mutant> = mutants.iter().map(|m| m.1).collect();
    tests.sort_by_key(|m| m.place());
    tests.dedup_by_key(|m| m.place());
    let sound = on_all_processors(&tests, |mutant| {
        let log = log(format!("{}-{}.log", mutant.binary, mutant.test.replace("::", "-")));
        let (outcome, _) = run(&binaries[mutant.binary], &package, (mutant, None), &log).unwrap();
        let passed = outcome == Outcome::Passed;
        if !passed {
            println!("without a mutant, {}::{}: {outcome:?}", mutant.binary, mutant.test);
        }
        passed
    });
    assert!(sound.iter().all(|passed| *passed), "tests fail without a mutant");

    let rows = on_all_processors(&mutants, |(k, mutant)| {
        let (binary, log) = (&binaries[mutant.binary], log(format!("mutant-{k}.log")));
        let (outcome, seconds) = run(binary, &package, (mutant, Some(*k)), &log).unwrap();
        let (caught, verdict) = match outcome {
            Outcome::Failed => (true, "caught".to_string()),
            Outcome::Passed => (false, "**survived**".to_string()),
            Outcome::Else(what) => (false, format!("**not caught by an assertion**: {what}")),
        };
        let (name, file) = (mutant.name, mutant.file.trim_start_matches("src/"));
        let test = format!("{}::{}", mutant.binary, mutant.test);
        let row = format!("| {name} | `{file}` | `{test}` | {verdict} | {seconds:.1} |");
        println!("{row}");
        (caught, row)
    });
    let caught = rows.iter().filter(|row| row.0).count();
    let lines: Vec<_> = rows.iter().map(|row| row.1.as_str()).collect();
    let text = format!(
        "{caught} of {} mutants are caught, each by its test.\n\n\
         | mutant | file | caught by | outcome | seconds |\n| --- | --- | --- | --- | --- |\n{}\n",
        rows.len(),
        lines.join("\n")
    );
    fs::write(&report, text).unwrap();
    println!("{caught} of {} caught; the table is in {}", rows.len(), report.display());
    assert_eq!(caught, rows.len());
}

//! Mutants: deliberate mistakes in the library and in the workspace's members, each with the test of the
//! distribution, formula or rule that it breaks, which must fail.
//!
//! ```text
//! cargo test -p bnn-mcmc-tests --test mutants -- --ignored --nocapture                # all: minutes
//! MUTANTS=hmc cargo test -p bnn-mcmc-tests --test mutants -- --ignored --nocapture    # all of such a file or name
//! MUTANTS_TURN=7 cargo test -p bnn-mcmc-tests --test mutants -- --ignored --nocapture # ten of them, as .ci/run does
//! ```
//!
//! A comment `//~ name` in the source, a marker, shows the table where a line is: it marks the line at whose end it
//! stands, or the line below if it stands alone. No file is named, so that code may move with its markers.
//!
//! The workspace is copied to `target/mutants`. Each piece of a marked line in the table becomes
//! `(if crate::mutant(K) { mutated } else { original })`, with K the mutant's place in the table, so that
//! one build holds all mutants; the environment variable BNN_MUTANT switches one of them on. The tests
//! named in the table must pass without a mutant, and each must fail with its own: by a panic in its
//! own file, not by a signal, a panic of the library or a timeout. The outcome is printed and written to
//! `target/mutants.md`.
//!
//! The turns: the mutants in the order of their test binaries, ten at a time, so that a turn builds one
//! binary or two. Turn t of n is the (t mod n)-th ten: any number that moves, such as the number of commits,
//! comes to all mutants.

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

use table::{Change, MUTANTS, Mutant};

/// The start of a marker.
const MARKER: &str = "//~";

/// What the build needs, besides what is in these folders.
const COPIED: [&str; 11] = [
    "src",
    "tests",
    "examples",
    "benches",
    "data",
    "crates",
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "CHANGELOG.md",
    "DESIGN.md",
];

/// Folders within those that no build needs.
const LEFT_OUT: [&str; 4] = ["node_modules", "target", "__pycache__", ".pytest_cache"];

/// The package of the tests in `tests`, whose own sources have no mutants.
const TESTS: &str = "bnn-mcmc-tests";

/// A package of the workspace whose sources may have mutants.
struct Package {
    /// What the table calls it, before a colon and the test binary; the library has no name there.
    short: &'static str,
    name: &'static str,
    folder: &'static str,
    /// Where the switch goes.
    root: &'static str,
}

const PACKAGES: [Package; 4] = [
    Package { short: "", name: "bnn-mcmc", folder: "", root: "src/lib.rs" },
    Package {
        short: "emulate",
        name: "bnn-mcmc-emulate",
        folder: "crates/emulate/",
        root: "crates/emulate/src/lib.rs",
    },
    Package {
        short: "report",
        name: "bnn-mcmc-report",
        folder: "crates/report/",
        root: "crates/report/src/lib.rs",
    },
    Package {
        short: "cli",
        name: "bnn-mcmc-cli",
        folder: "crates/cli/",
        root: "crates/cli/src/main.rs",
    },
];

/// A test that takes longer has failed, but not by an assertion.
const TIMEOUT: Duration = Duration::from_secs(1200);

/// How many mutants a turn has.
const TURN: usize = 10;

/// What switches a mutant on, in the copy of each package.
const SWITCH: &str = "
/// Whether mutant `k` is switched on.
#[allow(dead_code)]
pub(crate) fn mutant(k: usize) -> bool {
    static ON: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var(\"BNN_MUTANT\").ok()?.parse().ok());
    *ON == Some(k)
}
";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root of the workspace")
}

impl Mutant {
    fn place(&self) -> (&'static str, &'static str) {
        (self.binary, self.test)
    }

    /// The package of the test, and the name of its binary within the package.
    fn binary(&self) -> (&'static Package, &'static str) {
        let (short, binary) = self.binary.split_once(':').unwrap_or(("", self.binary));
        let package = PACKAGES.iter().find(|package| package.short == short);
        (package.unwrap_or_else(|| panic!("{}: no package `{short}`", self.name)), binary)
    }

    /// The source file of a test, which its path names.
    fn test_file(&self) -> String {
        let (Package { folder: package, .. }, binary) = self.binary();
        match binary {
            "lib" => {
                let module = self.test.split("::tests::").next().unwrap_or_default();
                let file = format!("{package}src/{}", module.replace("::", "/"));
                let is_there = |name: &str| root().join(&file).join(name).exists();
                match ["tests.rs", "mod.rs"].into_iter().find(|name| is_there(name)) {
                    Some(name) => format!("{file}/{name}"),
                    None => format!("{file}.rs"),
                }
            }
            binary => {
                let module = self.test.split_once("::").map_or("main", |(module, _)| module);
                format!("{package}tests/{binary}/{module}.rs")
            }
        }
    }
}

/// The sources of the packages, by their paths from the root of the workspace.
fn sources() -> BTreeMap<String, String> {
    fn add(folder: &Path, sources: &mut BTreeMap<String, String>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                add(&path, sources)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.strip_prefix(root()).unwrap_or(&path);
                sources.insert(file.display().to_string(), fs::read_to_string(&path)?);
            }
        }
        Ok(())
    }
    let mut sources = BTreeMap::new();
    for Package { folder, .. } in &PACKAGES {
        add(&root().join(folder).join("src"), &mut sources).expect("sources can be read");
    }
    sources
}

/// The marked lines of a source: the name of the marker and where the code of the line is.
fn marked_lines(source: &str) -> Vec<(&str, Range<usize>)> {
    let (mut marked, mut above, mut start) = (Vec::new(), Vec::new(), 0);
    for line in source.split_inclusive('\n') {
        let (code, name) = match line.split_once(MARKER) {
            Some((code, name)) => (code, Some(name.trim())),
            None => (line, None),
        };
        if code.trim().is_empty() && name.is_some() {
            above.extend(name);
        } else {
            let code = start..start + code.trim_end().len();
            marked.extend(above.drain(..).chain(name).map(|name| (name, code.clone())));
        }
        start += line.len();
    }
    marked
}

/// Where the text of a mutant is in its file, the mutant's number, and what the text becomes.
type Edit = (Range<usize>, usize, &'static str);

/// The places of the mutants in the sources.
struct Places {
    /// The edits of each file, in order.
    edits: BTreeMap<String, Vec<Edit>>,
    /// The file of each mutant, by its number: the one of its first change.
    files: Vec<String>,
}

/// Finds the places of mutants by the markers of the sources, or describes all that is wrong.
fn find(sources: &BTreeMap<String, String>, mutants: &[Mutant]) -> Result<Places, String> {
    let mut lines: BTreeMap<&str, Vec<(&String, Range<usize>)>> = BTreeMap::new();
    for (file, source) in sources {
        for (name, code) in marked_lines(source) {
            lines.entry(name).or_default().push((file, code));
        }
    }
    let at = |(file, code): &(&String, Range<usize>)| {
        let number = sources[*file][..code.start].matches('\n').count() + 1;
        format!("{file}:{number}")
    };
    let (mut problems, mut used) = (Vec::new(), BTreeSet::new());
    let mut edits: BTreeMap<String, Vec<Edit>> = BTreeMap::new();
    let mut files = vec![String::new(); mutants.len()];
    for (k, mutant) in mutants.iter().enumerate() {
        for change in mutant.changes {
            let (name, marker, original) = (mutant.name, change.marker, change.original);
            used.insert(marker);
            let line = match lines.get(marker).map(Vec::as_slice) {
                Some([line]) => line,
                // A marker with several lines is told below, once.
                Some(_) => continue,
                None => {
                    problems.push(format!("{name}: no source has the marker `{MARKER} {marker}`"));
                    continue;
                }
            };
            let (file, code) = line;
            let text = &sources[*file][code.clone()];
            match text.match_indices(original).collect::<Vec<_>>()[..] {
                [(start, _)] => {
                    let start = code.start + start;
                    let edit = (start..start + original.len(), k, change.mutated);
                    edits.entry(file.to_string()).or_default().push(edit);
                    if files[k].is_empty() {
                        files[k] = file.to_string();
                    }
                }
                ref found => problems.push(format!(
                    "{name}: `{original}` occurs {} times, not once, in {}, the line of \
                     `{MARKER} {marker}`: `{}`",
                    found.len(),
                    at(line),
                    text.trim()
                )),
            }
        }
    }
    for (marker, lines) in &lines {
        let places = lines.iter().map(at).collect::<Vec<_>>().join(" and ");
        if lines.len() > 1 {
            problems.push(format!("the marker `{MARKER} {marker}` marks several lines: {places}"));
        }
        if !used.contains(marker) {
            problems.push(format!("no mutant uses the marker `{MARKER} {marker}` of {places}"));
        }
    }
    for (file, edits) in &mut edits {
        edits.sort_by_key(|(range, k, _)| (range.start, range.end, *k));
        for pair in edits.windows(2) {
            let [(a, i, _), (b, j, _)] = pair else { continue };
            if a != b && a.end > b.start {
                let (a, b) = (mutants[*i].name, mutants[*j].name);
                problems.push(format!("{file}: the texts of `{a}` and `{b}` overlap"));
            }
        }
    }
    if problems.is_empty() { Ok(Places { edits, files }) } else { Err(problems.join("\n")) }
}

/// The places of all mutants of the table; panics with all that is wrong.
fn places() -> Places {
    find(&sources(), MUTANTS).unwrap_or_else(|problems| panic!("{problems}"))
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
fn every_mutant_has_its_place_and_its_test() {
    places();
    let mut names = BTreeSet::new();
    for mutant in MUTANTS {
        assert!(names.insert(mutant.name), "`{}` is there twice", mutant.name);
        let source = fs::read_to_string(root().join(mutant.test_file())).unwrap_or_default();
        let name = mutant.test.rsplit("::").next().unwrap_or_default();
        let found = source.contains(&format!("fn {name}()"));
        assert!(found, "{}: no test `{}` in {}", mutant.name, mutant.test, mutant.test_file());
    }
    for package in &PACKAGES {
        assert!(root().join(package.root).exists(), "{}", package.root);
    }
    let edits: [Edit; 3] = [(4..9, 1, "b + a"), (4..9, 3, "0"), (11..12, 2, "c")];
    assert_eq!(
        mutated("x = a + b; d", &edits),
        "x = (if crate::mutant(1) { b + a } else if crate::mutant(3) { 0 } else { a + b }); \
         (if crate::mutant(2) { c } else { d })"
    );
}

/// A change for the test below.
const SUM: Change = Change { marker: "sum", original: "a + a", mutated: "a" };

#[test]
fn markers_are_found_and_what_is_wrong_with_them_is_said() {
    let source = "fn f() {\n    a + b //~ sum\n    //~ loop\n    for x in y {\n    }\n}\n";
    let lines = marked_lines(source).into_iter().map(|(name, code)| (name, &source[code]));
    assert_eq!(lines.collect::<Vec<_>>(), [("sum", "    a + b"), ("loop", "    for x in y {")]);

    let found = |sources: &[(&str, &str)], changes: &'static [Change]| {
        let sources = sources.iter().map(|(file, text)| (file.to_string(), text.to_string()));
        let mutant = Mutant { name: "wrong", changes, binary: "lib", test: "f::tests::f" };
        find(&sources.collect(), &[mutant])
    };
    let places = found(&[("a.rs", "c;\na + a; //~ sum\n"), ("b.rs", "c")], &[SUM]).unwrap();
    assert_eq!(places.edits, BTreeMap::from([("a.rs".to_string(), vec![(3..8, 0, "a")])]));
    assert_eq!(places.files, ["a.rs"]);

    for (sources, changes, problem) in [
        (&[("a.rs", "a + a;\n")][..], &[SUM][..], "wrong: no source has the marker `//~ sum`"),
        (
            &[("a.rs", "a + a; //~ sum\n"), ("b.rs", "b;\n//~ sum\na + a;\n")],
            &[SUM],
            "the marker `//~ sum` marks several lines: a.rs:1 and b.rs:3",
        ),
        (
            &[("a.rs", "a + a; //~ sum\n\n//~ rest\nb;\n")],
            &[SUM],
            "no mutant uses the marker `//~ rest` of a.rs:4",
        ),
        (
            &[("a.rs", "    a + b; //~ sum\na + a;\n")],
            &[SUM],
            "wrong: `a + a` occurs 0 times, not once, in a.rs:1, the line of `//~ sum`: `a + b;`",
        ),
        (
            &[("a.rs", "//~ sum\na + a; a + a;\n")],
            &[SUM],
            "wrong: `a + a` occurs 2 times, not once, in a.rs:2, the line of `//~ sum`: \
             `a + a; a + a;`",
        ),
        (
            &[("a.rs", "a + a; //~ sum\n")],
            &[SUM, Change { marker: "sum", original: "a;", mutated: "b;" }],
            "a.rs: the texts of `wrong` and `wrong` overlap",
        ),
    ] {
        assert_eq!(found(sources, changes).err().as_deref(), Some(problem));
    }
}

/// The mutants in the order of their test binaries, unit tests of all packages together, ten at a time.
fn turns() -> Vec<Vec<usize>> {
    let mut all: Vec<usize> = (0..MUTANTS.len()).collect();
    all.sort_by_key(|k| (MUTANTS[*k].binary().1, MUTANTS[*k].place(), *k));
    all.chunks(TURN).map(<[usize]>::to_vec).collect()
}

#[test]
fn the_turns_have_every_mutant_once_and_need_two_binaries_at_most() {
    let turns = turns();
    let mut all: Vec<usize> = turns.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..MUTANTS.len()));
    for (t, turn) in turns.iter().enumerate() {
        assert!(turn.len() == TURN || t + 1 == turns.len());
        let binaries: BTreeSet<_> = turn.iter().map(|k| MUTANTS[*k].binary().1).collect();
        assert!(binaries.len() <= 2, "turn {t} builds {binaries:?}");
    }
}

/// The mutants that the environment asks for, in words and by their numbers; `files` are those of all mutants.
fn chosen(files: &[String]) -> (String, Vec<usize>) {
    if let Ok(turn) = std::env::var("MUTANTS_TURN") {
        let number: usize = turn.parse().expect("MUTANTS_TURN is a number");
        let (mut turns, count) = (turns(), turns().len());
        let turn = number % count;
        let what = format!("turn {turn} of 0 to {} (again: MUTANTS_TURN={turn})", count - 1);
        return (what, turns.swap_remove(turn));
    }
    let filter = std::env::var("MUTANTS").unwrap_or_default();
    let has = |k: &usize| MUTANTS[*k].name.contains(&filter) || files[*k].contains(&filter);
    let found: Vec<usize> = (0..MUTANTS.len()).filter(has).collect();
    assert!(!found.is_empty(), "no mutant has `{filter}` in its name or file");
    let what = if filter.is_empty() { "all".into() } else { format!("those with `{filter}`") };
    (what, found)
}

/// Writes `text` unless the file has it already: what has not changed is not built again.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, text)
}

/// Copies a file or folder of the workspace, with all mutants.
fn copy(from: &Path, to: &Path, edits: &BTreeMap<String, Vec<Edit>>) -> io::Result<()> {
    if from.is_dir() {
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            if !LEFT_OUT.iter().any(|left_out| name == *left_out) {
                copy(&from.join(&name), &to.join(&name), edits)?;
            }
        }
        // Nothing stays of a file that was moved.
        for entry in fs::read_dir(to).into_iter().flatten() {
            let entry = entry?;
            match (from.join(entry.file_name()).exists(), entry.file_type()?.is_dir()) {
                (true, _) => {}
                (false, true) => fs::remove_dir_all(entry.path())?,
                (false, false) => fs::remove_file(entry.path())?,
            }
        }
        return Ok(());
    }
    let file = from.strip_prefix(root()).unwrap_or(from).to_str().unwrap_or_default();
    let is_root = PACKAGES.iter().any(|package| package.root == file);
    if !is_root && !edits.contains_key(file) {
        return write(to, &fs::read(from)?);
    }
    let text = mutated(&fs::read_to_string(from)?, edits.get(file).map_or(&[][..], Vec::as_slice));
    write(to, (text + if is_root { SWITCH } else { "" }).as_bytes())
}

/// Builds the test binaries of `mutants` in the workspace `copied`: the path of each by its name in the table.
///
/// What the workspace depends on is taken from the build of the workspace itself (`build-dir`, which Cargo knows
/// since 1.91), with the same packages selected, so that their features are the same.
fn build(copied: &Path, target: &Path, mutants: &[(usize, &Mutant)]) -> HashMap<String, PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "test",
        "--no-run",
        "--offline",
        "--message-format=json-render-diagnostics",
        "-p",
        TESTS,
    ]);
    for Package { name, .. } in &PACKAGES {
        command.args(["-p", name]);
    }
    command.arg("--config").arg(format!("build.build-dir={target:?}"));
    command.arg("--target-dir").arg(target.join("mutants/build"));
    command.current_dir(copied).stderr(Stdio::inherit());
    for binary in mutants.iter().map(|m| m.1.binary().1).collect::<BTreeSet<_>>() {
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
            let source = Path::new(message["target"]["src_path"].as_str().unwrap_or_default());
            let source = source.strip_prefix(copied).unwrap_or(source);
            // What the tests share is a library, too, and has none.
            if !is_test && source.starts_with("tests") {
                continue;
            }
            let of = PACKAGES.iter().rfind(|package| source.starts_with(package.folder));
            let short = of.map_or("", |package| package.short);
            let colon = if short.is_empty() { "" } else { ":" };
            binaries.insert(format!("{short}{colon}{name}"), PathBuf::from(path));
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
    copied: &Path,
    (mutant, k): (&Mutant, Option<usize>),
    log: &Path,
) -> io::Result<(Outcome, f64)> {
    let (began, file) = (Instant::now(), File::create(log)?);
    let mut command = Command::new(binary);
    command.args(["--exact", mutant.test]).stdin(Stdio::null());
    command.current_dir(copied.join(mutant.binary().0.folder));
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
#[ignore = "minutes: cargo test -p bnn-mcmc-tests --test mutants -- --ignored --nocapture"]
fn every_mutant_is_caught_by_its_test() {
    let began = Instant::now();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    let (copied, report) = (target.join("mutants/package"), target.join("mutants.md"));
    let Places { edits, files } = places();
    let (what, numbers) = chosen(&files);
    println!("{} of {} mutants: {what}", numbers.len(), MUTANTS.len());
    let mutants: Vec<_> = numbers.into_iter().map(|k| (k, &MUTANTS[k])).collect();
    for name in COPIED {
        copy(&root().join(name), &copied.join(name), &edits).expect(name);
    }
    let binaries = build(&copied, target, &mutants);
    println!("copied and built after {:.0} s", began.elapsed().as_secs_f64());
    let log = |name: String| target.join("mutants").join(name);

    let mut tests: Vec<&Mutant> = mutants.iter().map(|m| m.1).collect();
    tests.sort_by_key(|m| m.place());
    tests.dedup_by_key(|m| m.place());
    let sound = on_all_processors(&tests, |mutant| {
        let log = log(format!(
            "{}-{}.log",
            mutant.binary.replace(':', "-"),
            mutant.test.replace("::", "-")
        ));
        let (outcome, _) = run(&binaries[mutant.binary], &copied, (mutant, None), &log).unwrap();
        let passed = outcome == Outcome::Passed;
        if !passed {
            println!("without a mutant, {}::{}: {outcome:?}", mutant.binary, mutant.test);
        }
        passed
    });
    assert!(sound.iter().all(|passed| *passed), "tests fail without a mutant");

    let rows = on_all_processors(&mutants, |(k, mutant)| {
        let (binary, log) = (&binaries[mutant.binary], log(format!("mutant-{k}.log")));
        let (outcome, seconds) = run(binary, &copied, (mutant, Some(*k)), &log).unwrap();
        let (caught, verdict) = match outcome {
            Outcome::Failed => (true, "caught".to_string()),
            Outcome::Passed => (false, "**survived**".to_string()),
            Outcome::Else(what) => (false, format!("**not caught by an assertion**: {what}")),
        };
        let (name, file) = (mutant.name, files[*k].trim_start_matches("src/"));
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
    let seconds = began.elapsed().as_secs_f64();
    let table = report.display();
    println!("{caught} of {} caught in {seconds:.0} s; the table is in {table}", rows.len());
    assert_eq!(caught, rows.len());
}

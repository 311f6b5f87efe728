//! The command as a user has it: the program itself, run in a folder of its own, judged by what it
//! prints, writes and returns.

#[cfg(unix)]
mod array;
mod conformal;
mod refusals;
mod runs;
#[cfg(unix)]
mod signals;
mod typed;
mod walk;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Settings of a run of a fraction of a second.
const SMALL: &str = "--hidden 3 --chains 2 --warmup 80 --draws 80";

/// A folder to run the command in.
struct Place(TempDir);

/// How a command has ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    /// The standard output of a command that went well.
    #[track_caller]
    fn well(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        names_no_code(&self.err);
        self.out
    }

    /// The standard error of a command with this exit code, which has said nothing else.
    #[track_caller]
    fn refused(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert!(self.err.lines().any(|line| line.starts_with("error:")), "{self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
        names_no_code(&self.err);
        self.err
    }

    /// The error of such a command, without what was said before.
    #[track_caller]
    fn error(self, code: i32) -> String {
        let err = self.refused(code);
        err[err.find("error:").unwrap()..].to_string()
    }
}

impl Place {
    /// A folder that holds `iris.csv`.
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let iris = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/iris.csv");
        fs::copy(iris, place.path("iris.csv")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The command with these arguments, which are apart by blanks.
    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bnn-mcmc"));
        command.current_dir(self.0.path()).args(arguments.split_whitespace());
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &str) -> Ended {
        ended(&mut self.command(arguments))
    }

    /// A small run of iris in the folder `out`, with flags that come before those of [`SMALL`].
    fn fit(&self, out: &str, flags: &str) -> Ended {
        let mut all = format!("fit iris.csv --target species --out {out} --quiet {flags}");
        for small in SMALL.split(" --") {
            let (name, value) = small.trim_start_matches("--").split_once(' ').unwrap();
            if !format!("{flags} ").contains(&format!("--{name} ")) {
                all.push_str(&format!(" --{name} {value}"));
            }
        }
        self.run(&all)
    }

    /// The size of a file, 0 if it is not there.
    fn size(&self, name: &str) -> u64 {
        fs::metadata(self.path(name)).map_or(0, |file| file.len())
    }

    /// The bytes of all files below a folder, by their paths within it.
    fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let (mut files, mut folders) = (BTreeMap::new(), vec![self.path(folder)]);
        while let Some(folder_of_some) = folders.pop() {
            for entry in fs::read_dir(folder_of_some).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.path(folder)).unwrap();
                    files.insert(name.display().to_string(), fs::read(&path).unwrap());
                }
            }
        }
        files
    }

    /// The names of files that differ between two folders, or are in one of them only.
    fn differing(&self, a: &str, b: &str) -> Vec<String> {
        let (a, b) = (self.files(a), self.files(b));
        let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        names.into_iter().filter(|name| a.get(*name) != b.get(*name)).cloned().collect()
    }
}

/// Every message names only what users of the command know: no path of Rust, and in backticks no name in
/// snake case but the columns and keys of these tests.
#[track_caller]
fn names_no_code(message: &str) {
    const KNOWN: [&str; 11] = [
        "sepal_length",
        "sepal_width",
        "petal_length",
        "petal_width",
        "weights_sd",
        "power_features",
        "drop_missing",
        "target_accept",
        "most_rows",
        "checkpoint_every",
        "run_until",
    ];
    assert!(!message.contains("::"), "{message}");
    for named in message.split('`').skip(1).step_by(2) {
        let is_snake = named.contains('_') && named.chars().all(|c| c.is_lowercase() || c == '_');
        assert!(!is_snake || KNOWN.contains(&named), "`{named}`: {message}");
        assert!(!named.contains('('), "`{named}`: {message}");
    }
}

fn ended(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Whether a text has a line that begins with this.
fn has_line(text: &str, begin: &str) -> bool {
    text.lines().any(|line| line.starts_with(begin))
}

/// The text with `#` for each number.
fn without_numbers(text: &str) -> String {
    let mut all = String::new();
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if all.ends_with('#') => {}
            true => all.push('#'),
            false => all.push(c),
        }
    }
    all
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Whether the fit in a folder says that it is finished; `None` if there is none yet.
fn is_finished(folder: &Path) -> Option<bool> {
    let text = fs::read_to_string(folder.join("fit.json")).ok()?;
    json(&text)["finished"].as_bool()
}

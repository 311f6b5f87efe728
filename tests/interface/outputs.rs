//! The outputs in `examples/README.md` and `crates/studies/README.md` are what the examples and the studies print: made, or
//! compared, on demand. The programs are built before:
//!
//! ```sh
//! cargo build --release --examples && cargo build --release -p bnn-mcmc-studies
//! cargo test --release -p bnn-mcmc-tests --test interface outputs -- --ignored --nocapture
//! OUTPUTS=write cargo test --release -p bnn-mcmc-tests --test interface outputs -- --ignored --nocapture
//! OUTPUTS=write ONLY=iris,xor cargo test ...
//! ```
//!
//! A block of output stands below a comment with its command, `<!-- iris --quick -->`. Its lines are found again, in
//! order, in what the command prints, by everything in them that is no number; `...` stands for lines left out.
//! Seconds, and what is per second, stay as they were: measure them on a quiet machine.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether a word is a number, perhaps in brackets or with a unit, or stands for one that is missing.
fn is_number(word: &str) -> bool {
    if word.contains('(') != word.contains(')') {
        return false; // a part of a name, as in N(0, 10)
    }
    let word = word.trim_matches(|c: char| "()%,;:".contains(c));
    word == "-" || word.replace(',', "").parse::<f64>().is_ok()
}

/// The words of a line, numbers apart.
fn shape(line: &str) -> Vec<&str> {
    line.split_whitespace().map(|word| if is_number(word) { "#" } else { word }).collect()
}

/// The words of a line with their places.
fn words(line: &str) -> impl Iterator<Item = (std::ops::Range<usize>, &str)> {
    line.split_whitespace().map(move |word| {
        let start = word.as_ptr() as usize - line.as_ptr() as usize;
        (start..start + word.len(), word)
    })
}

/// The headings over columns that depend on the clock.
#[derive(Default)]
struct Clock(Vec<std::ops::Range<usize>>);

impl Clock {
    /// Whether all of a line depends on the clock.
    fn rules(line: &str) -> bool {
        line.starts_with("seconds")
            || line.contains("times as many as")
            || line.contains("per second")
    }

    /// Takes the headings of a line that has any. Then: whether all of it depends on the clock, and which words.
    fn read(&mut self, line: &str) -> (bool, Vec<bool>) {
        let is_heading = |word: &str| ["seconds", "s", "ESS/s", "speed-up"].contains(&word);
        if !words(line).any(|(_, word)| is_number(word))
            && words(line).any(|(_, word)| is_heading(word))
        {
            self.0 = words(line).filter(|(_, word)| is_heading(word)).map(|(at, _)| at).collect();
        }
        let below = |at: &std::ops::Range<usize>| {
            self.0.iter().any(|c| at.start < c.end && c.start < at.end)
        };
        (Self::rules(line), words(line).map(|(at, word)| is_number(word) && below(&at)).collect())
    }
}

/// `new` with what depends on the clock as it was in `old`, a line of the same shape.
fn at_old_times(old: &str, new: &str, clock: &mut Clock) -> String {
    let (whole, timed) = clock.read(old);
    if whole {
        return old.to_string();
    }
    let mut line = String::new();
    let mut old_words = words(old).map(|(_, word)| word);
    for (i, (at, word)) in words(new).enumerate() {
        let old_word = old_words.next().unwrap_or(word);
        let word = if timed.get(i) == Some(&true) { old_word } else { word };
        // Numbers are aligned on the right.
        let gap = if is_number(word) { at.end.saturating_sub(word.len()) } else { at.start };
        let gap = gap.saturating_sub(line.chars().count()).max(usize::from(i > 0));
        line.push_str(&" ".repeat(gap));
        line.push_str(word);
    }
    line
}

/// The block with its lines as they are in `output`.
fn renewed(block: &[&str], output: &str) -> Result<Vec<String>, String> {
    let (mut lines, mut clock) = (output.lines(), Clock::default());
    let renew = |line: &&str| {
        if line.is_empty() || line.trim() == "..." || Clock::rules(line) {
            return Ok(line.to_string());
        }
        // A line that is cut short ends in `...`.
        let cut = line.strip_suffix("...");
        let wanted = shape(cut.unwrap_or(line));
        let found = lines.find(|l| match cut {
            Some(_) => shape(l).starts_with(&wanted),
            None => shape(l) == wanted,
        });
        let found = found.ok_or_else(|| format!("no such line any more: {line}"))?.trim_end();
        let end = |(at, _): (std::ops::Range<usize>, &str)| at.end;
        Ok(match cut {
            Some(_) => {
                format!("{} ...", &found[..words(found).nth(wanted.len() - 1).map_or(0, end)])
            }
            None => at_old_times(line, found, &mut clock),
        })
    };
    block.iter().map(renew).collect()
}

/// Runs the commands of a README by `program` and compares, or with `OUTPUTS=write` renews, what stands below them. Of
/// commands that `ONLY` does not name the blocks stay.
fn check(readme: &str, program: impl Fn(&str) -> Command) {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(readme);
    let text = std::fs::read_to_string(&readme).unwrap();
    let writes = std::env::var("OUTPUTS").is_ok_and(|v| v == "write");
    let only = std::env::var("ONLY").ok();
    let (mut lines, mut out, mut differences) = (text.lines(), Vec::new(), Vec::new());
    while let Some(line) = lines.next() {
        out.push(line.to_string());
        let Some(command) = line.strip_prefix("<!-- ").and_then(|l| l.strip_suffix(" -->")) else {
            continue;
        };
        assert_eq!(lines.next(), Some("```text"), "below {line}");
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let name = command.split(' ').next().unwrap();
        let new = if only.as_ref().is_none_or(|only| only.split(',').any(|o| o == name)) {
            println!("{command}");
            let ran = program(name).args(command.split(' ').skip(1)).output();
            let ran = ran
                .unwrap_or_else(|e| panic!("{name}: {e}; this file begins with how to build it"));
            assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
            renewed(&block, &String::from_utf8(ran.stdout).unwrap())
        } else {
            Ok(block.iter().map(|line| line.to_string()).collect())
        };
        let new = new.unwrap_or_else(|problem| {
            differences.push(format!("{command}: {problem}"));
            block.iter().map(|line| line.to_string()).collect()
        });
        for (old, new) in block.iter().zip(&new) {
            if *old != new {
                differences.push(format!("{command}\n  - {old}\n  + {new}"));
            }
        }
        out.push("```text".into());
        out.extend(new);
        out.push("```".into());
    }
    for difference in &differences {
        println!("{difference}");
    }
    if writes {
        std::fs::write(&readme, out.join("\n") + "\n").unwrap();
    } else {
        assert!(
            differences.is_empty(),
            "{} lines differ; OUTPUTS=write renews them",
            differences.len()
        );
    }
}

/// The folder of the programs of this profile.
fn programs() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().into()
}

#[test]
#[ignore = "runs the examples; see the file's beginning"]
fn the_readme_shows_what_the_examples_print() {
    check("examples/README.md", |name| Command::new(programs().join("examples").join(name)));
}

#[test]
#[ignore = "runs the studies, about ten minutes; see the file's beginning"]
fn the_readme_shows_what_the_studies_print() {
    check("crates/studies/README.md", |name| {
        let mut studies = Command::new(programs().join("studies"));
        studies.arg(name);
        studies
    });
}

#[test]
fn lines_are_found_again_by_what_is_no_number() {
    let block =
        ["sampler  R-hat  seconds", "MALA     1.001      0.4", "...", "NUTS  agree: 3.6 of ..."];
    let output = "noise\nsampler  R-hat  seconds\nRWM  1.2  9.0\nMALA     1.004      0.7\nNUTS  agree: 2.1 of 4.3, or so\n";
    let new = renewed(&block, output).unwrap();
    let expected =
        ["sampler  R-hat  seconds", "MALA     1.004      0.4", "...", "NUTS  agree: 2.1 of ..."];
    assert_eq!(new, expected);
    assert!(renewed(&["HMC  1.0  1.0"], output).unwrap_err().contains("HMC"));
    let mut clock = Clock::default();
    clock.read(block[0]);
    let line = at_old_times("MALA     1.001     12.25", "MALA     1.004      0.75", &mut clock);
    assert_eq!(line, "MALA     1.004     12.25");
    assert_eq!(
        at_old_times("seconds, warm-up  3", "seconds, warm-up  5", &mut clock),
        "seconds, warm-up  3"
    );
}

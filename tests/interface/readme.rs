//! The programs of the READMEs can be copied as they stand: rustdoc compiles them (`src/lib.rs`), and
//! what it compiles is what a reader sees. Those of the documentation compile without features, too.

use std::path::Path;

/// The fenced blocks of `text`: what stands behind the opening fence, and the lines.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            blocks.push((info, lines.by_ref().take_while(|line| *line != "```").collect()));
        }
    }
    blocks
}

#[test]
fn programs_are_whole_and_show_every_line() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pages = root.join("src/guide").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let files: Vec<_> = std::iter::once(root.join("README.md")).chain(pages).collect();
    let mut counts = Vec::new();
    for path in &files {
        let (file, text) = (path.display(), std::fs::read_to_string(path).unwrap());
        let mut programs = 0;
        for (info, lines) in blocks(&text) {
            match info {
                "rust" | "rust,no_run" => programs += 1,
                "sh" | "text" | "toml" | "yaml" | "python" => continue,
                _ => panic!("{file}: a block of '{info}', of which rustdoc may compile nothing"),
            }
            let shown = lines.join("\n");
            assert!(shown.contains("\nfn main() -> "), "{file}: not a whole program:\n{shown}");
            for line in lines {
                let hidden = line.trim_start().strip_prefix('#');
                assert!(
                    !hidden.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
                    "{file}: rustdoc compiles a line that no reader sees: {line}"
                );
                let package = line.strip_prefix("use ").map(|path| path.split("::").next());
                assert!(
                    matches!(package, None | Some(Some("std" | "bnn_mcmc"))),
                    "{file}: a package that depends on this crate alone has no such crate: {line}"
                );
            }
        }
        counts.push(programs);
    }
    let guide: usize = counts[1..].iter().sum();
    assert!(counts[0] >= 2 && guide >= 4, "{counts:?} programs in {files:?}");
}

/// `cargo test --doc --no-default-features` compiles the library and every program once more. What is
/// behind a feature are two names only, and it is enough to look for them.
#[test]
fn programs_that_need_a_feature_ask_for_it() {
    let mut guarded = 0;
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../src")];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.ends_with("src/data/bundled.rs") {
                continue; // is itself behind the feature
            }
            let code = std::fs::read_to_string(&path).unwrap();
            let documentation = |line: &str| {
                let line = line.trim_start();
                let text = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
                text.map_or(String::new(), |text| text.strip_prefix(' ').unwrap_or(text).into())
            };
            let text = code.lines().map(documentation).collect::<Vec<String>>().join("\n");
            for (_, lines) in blocks(&text) {
                let program = lines.join("\n");
                for (name, feature) in [("bundled::", "datasets"), ("progress_bar", "progress")] {
                    if program.contains(name) {
                        guarded += 1;
                        let guard = format!("#[cfg(feature = \"{feature}\")]");
                        assert!(program.contains(&guard), "{}:\n{program}", path.display());
                    }
                }
            }
        }
    }
    assert!(guarded >= 4, "{guarded} programs that need a feature");
}

/// The front page of the documentation tells the story in the order of the README: the fit of a table, the
/// guide, then the parts.
#[test]
fn the_front_page_begins_with_fit_and_guide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let code = std::fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let page: Vec<&str> = code.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let page = page.join("\n");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text} in\n{page}"));
    let order = ["[`fit`]", "Fit::regression(", "[`guide`]", "Posterior::new("].map(place);
    assert!(order.is_sorted(), "{order:?}");
    // Every public module has a line in the table, these two first.
    let table = &page[place("| module | what it holds |")..];
    let named = |module: &str| table.find(&format!("[`{module}`]"));
    let modules = code.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    for module in modules.filter(|module| !["portable", "prelude"].contains(module)) {
        let at = named(module).unwrap_or_else(|| panic!("no line of {module}"));
        assert!(["fit", "guide"].contains(&module) || named("guide").unwrap() < at, "{module}");
    }
}

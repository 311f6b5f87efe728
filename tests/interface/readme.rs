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
    for (file, text) in [
        ("README.md", include_str!("../../README.md")),
        ("guide/regression_networks.md", include_str!("../../src/guide/regression_networks.md")),
        ("guide/large_networks.md", include_str!("../../src/guide/large_networks.md")),
        ("guide/modes_and_evidence.md", include_str!("../../src/guide/modes_and_evidence.md")),
        ("guide/symmetries.md", include_str!("../../src/guide/symmetries.md")),
    ] {
        let mut programs = 0;
        for (info, lines) in blocks(text) {
            match info {
                "rust" | "rust,no_run" => programs += 1,
                "sh" | "text" | "toml" => continue,
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
        assert!(programs >= 1, "{file}: {programs} programs");
    }
}

/// `cargo test --doc --no-default-features` compiles the library and every program once more. What is
/// behind a feature are two names only, and it is enough to look for them.
#[test]
fn programs_that_need_a_feature_ask_for_it() {
    let mut guarded = 0;
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
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

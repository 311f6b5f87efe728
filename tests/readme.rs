//! The programs of the READMEs can be copied as they stand: rustdoc compiles them (`src/lib.rs`), and
//! what it compiles is what a reader sees.

const READMES: [(&str, &str); 2] = [
    ("README.md", include_str!("../README.md")),
    ("examples/README.md", include_str!("../examples/README.md")),
];

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
    for (file, text) in READMES {
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
        assert!(programs >= 2, "{file}: {programs} programs");
    }
}

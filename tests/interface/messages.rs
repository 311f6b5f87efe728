//! Texts of errors name no item of the library: advice does, which users of other faces are not shown.

use std::fs;
use std::path::Path;

/// The files below a folder.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Whether a line of code has a path such as `Draws::thinned` in backticks.
fn names_an_item(line: &str) -> bool {
    let within = line.split('`').skip(1).step_by(2);
    within.into_iter().any(|name| {
        let parts: Vec<&str> = name.split("::").collect();
        let is_name =
            |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
        parts.len() > 1 && parts.iter().all(is_name)
    })
}

/// Counted in the sources: no literal has an item of the library in backticks but what is handed to
/// `Advice::in_rust` or `Advice::InRust` a few lines above, or a constant for it.
#[test]
fn no_text_but_advice_names_items_of_the_library() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../src"), &mut found);
    let (mut lines, mut items, mut wrong) = (0, 0, Vec::new());
    for path in
        found.iter().filter(|path| !path.ends_with("setting.rs") && !path.ends_with("tests.rs"))
    {
        let text = fs::read_to_string(path).unwrap();
        let code: Vec<&str> = text.split("#[cfg(test)]").next().unwrap().lines().collect();
        for (i, line) in code.iter().enumerate() {
            if line.trim_start().starts_with("//") || line.contains("must_use") {
                continue;
            }
            lines += 1;
            if names_an_item(line) {
                items += 1;
                let above = code[i.saturating_sub(8)..=i].join("\n");
                let is_advice =
                    ["in_rust", "InRust", "INSTEAD", "THIN", "let rust", "check_matrix"];
                if !is_advice.iter().any(|name| above.contains(name)) {
                    wrong.push(format!("{}:{}: {}", path.display(), i + 1, line.trim()));
                }
            }
        }
    }
    println!("{items} items in {lines} lines of code");
    assert!(lines > 20_000 && items >= 10, "{lines} {items}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(names_an_item("\"`Draws::thinned`\"") && !names_an_item("\"`a.b`, `c` :: d\""));
}

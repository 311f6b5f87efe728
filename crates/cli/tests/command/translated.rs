//! The words of the command for what the library says.

use std::path::Path;

use super::*;

/// A message of the library that is written anew must be found anew.
#[test]
fn the_library_still_says_so() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src");
    if !sources.join("fit/mod.rs").is_file() {
        println!("skipped: the sources of the library are not beside those of the command");
        return;
    }
    let files = [
        "fit/mod.rs",
        "fit/folder.rs",
        "fit/parts.rs",
        "fit/recipe.rs",
        "data/csv/mod.rs",
        "data/csv/table.rs",
        "data/csv/schema.rs",
        "diagnostics/verdict/words.rs",
        "predict/per_draw.rs",
        "predict/regression.rs",
        "predict/loo/mod.rs",
        "predict/loo/comparison.rs",
        "run/sampler.rs",
    ];
    // Without the breaks of lines within literals.
    let of_file = |file: &&str| {
        let source = fs::read_to_string(sources.join(file)).unwrap();
        let words: Vec<&str> = source.split_whitespace().collect();
        words.join(" ").replace("\\ ", "").replace("\\\"", "\"")
    };
    let text: String = files.iter().map(of_file).collect();
    for (theirs, _) in words::WORDS {
        assert!(text.contains(theirs), "{theirs}");
    }
    let text = words::in_flags(&text);
    for (theirs, _) in words::OF_NEW_ROWS {
        assert!(text.contains(theirs), "{theirs}");
    }
    // What the verdict advises is something that the command can do.
    let verdict = words::in_flags(&of_file(&"diagnostics/verdict/words.rs"));
    for name in ["LadderReport", "path_length", "`max_depth`", "`target_accept`", "PowerPosteriors"]
    {
        assert!(!verdict.contains(name), "{name}");
    }
}

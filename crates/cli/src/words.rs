//! Messages of the library in the words of the command.

/// What the library says to callers of its functions, and what the command calls it.
const WORDS: [(&str, &str); 19] = [
    ("leave it out, as by `.reader(|reader| reader.ignore([..]))`", "leave it out by `--ignore`"),
    (
        "fill them in, or leave these rows out by `drop_missing_rows`",
        "fill them in, or leave these rows out by `--drop-missing`",
    ),
    (
        "call `no_header` if there is no header, or `header` if this is a name",
        "say `--header no` if there is no header, or `--header yes` if this is a name",
    ),
    ("`ignore([\"", "`--ignore '"),
    ("\"])`", "'`"),
    ("by `ignore` if", "by `--ignore` if"),
    ("in `categorical`", "in `--categorical`"),
    (
        "classes are read by `CsvReader::classification`",
        "if these are classes, say `--task classification`",
    ),
    (
        "raise it by `CsvReader::limit`, or see `Encoding::Codes`",
        "raise it by `--limit`, or see `--encoding codes`",
    ),
    ("`CsvReader::limit`", "`--limit`"),
    ("see `CsvReader::ignore` and `Encoding::Codes`", "see `--ignore` and `--encoding codes`"),
    (
        "(where the response is not asked for, `read_features` does so)",
        "(without `--scores` it is not looked at)",
    ),
    (
        "one or more for `Method::Collapsed`: `Method::Nuts` samples linear models",
        "one or more for `--method collapsed`: `--method nuts` samples linear models",
    ),
    ("repeat the call that began it", "repeat the command that began it"),
    ("temper the posterior (`PowerPosteriors`)", "temper the posterior (`--method tempered`)"),
    (
        "integrate the output layer out (`Collapsed`)",
        "integrate the output layer out (`--method collapsed`)",
    ),
    (
        "output weights N(0, 1/H): `Priors::by_fan_in`",
        "output weights N(0, 1/H): `--weights fan-in`",
    ),
    ("see the LOO of the model itself", "they are listed below"),
    (
        "take fewer draws, `Sampler::thin` them, or `Sampler::keep` fewer parameters and hand them to a recorder",
        "take fewer draws",
    ),
];

/// The message with the command's flags in place of the library's functions.
pub fn in_flags(message: &str) -> String {
    WORDS.iter().fold(message.to_string(), |text, (theirs, ours)| text.replace(theirs, ours))
}

#[cfg(test)]
mod tests {
    /// A message of the library that is written anew must be found anew here.
    #[test]
    fn the_library_still_says_so() {
        let sources = [
            include_str!("../../../src/fit/mod.rs"),
            include_str!("../../../src/fit/folder.rs"),
            include_str!("../../../src/fit/parts.rs"),
            include_str!("../../../src/fit/recipe.rs"),
            include_str!("../../../src/data/csv/mod.rs"),
            include_str!("../../../src/data/csv/table.rs"),
            include_str!("../../../src/data/csv/schema.rs"),
            include_str!("../../../src/diagnostics/verdict/words.rs"),
            include_str!("../../../src/predict/loo/comparison.rs"),
            include_str!("../../../src/run/sampler.rs"),
        ];
        // Without the breaks of lines within literals.
        let text: Vec<&str> = sources.iter().flat_map(|s| s.split_whitespace()).collect();
        let text = text.join(" ").replace("\\ ", "").replace("\\\"", "\"");
        for (theirs, _) in super::WORDS {
            assert!(text.contains(theirs), "{theirs}");
        }
    }
}

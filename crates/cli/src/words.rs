//! Messages of the library in the words of the command.

/// What the library says to callers of its functions, and what the command calls it. What the command
/// has no setting for is left out, or stands for what it does have.
pub const WORDS: [(&str, &str); 35] = [
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
    ("with fewer draws it ends there", "with fewer `--draws` it ends there"),
    (
        "the folder holds another fit, in which",
        "the folder holds another fit (choose another `--out`), in which",
    ),
    ("temper the posterior", "temper the posterior by `--method tempered`"),
    (" (`PowerPosteriors`)", ""),
    (
        "let the ladder be longer (`LadderReport` says how states travel)",
        "let the ladder settle by more `--warmup`",
    ),
    (", or let trajectories be longer (a larger `max_depth`)", ""),
    (", or use NUTS (or a longer `path_length`)", ", or use NUTS by `--method nuts`"),
    (
        ", or use NUTS (or a dense preconditioner, if the model is linear)",
        ", or use NUTS by `--method nuts`",
    ),
    (
        "integrate the output layer out (`Collapsed`)",
        "integrate the output layer out (`--method collapsed`)",
    ),
    (
        "output weights N(0, 1/H): `Priors::by_fan_in`",
        "output weights N(0, 1/H): `--weights fan-in`",
    ),
    (
        "raise `target_accept`, reparameterise, look for overflow in the model, or rescale the data",
        "raise `--target-accept`, or take another `--method` or `--weights`",
    ),
    ("maximal depth: raise it, or reparameterise", "maximal depth, and are cut off there"),
    (
        "explored slowly: reparameterise, or run longer",
        "explored slowly: run longer, or take other `--weights`",
    ),
    ("reduce the step size or start elsewhere", "warm up longer, or start elsewhere by `--seed`"),
    ("look for divergences; reduce the step size", "raise `--target-accept`"),
    ("see the LOO of the model itself", "they are listed below"),
    (
        "take fewer draws, `Sampler::thin` them, or `Sampler::keep` fewer parameters and hand them to a recorder",
        "take fewer draws",
    ),
    ("take fewer dimensions", "take fewer units or fewer features"),
    (
        "take fewer rows at a time or thin the draws (`Draws::thinned`); or predict while the run goes on, by a \
         recorder (`StreamedMoments`, `StreamedUncertainty`) whose memory does not grow with the draws",
        "take fewer rows, or a run of fewer draws",
    ),
    (
        "predict fewer rows at a time, or thin the draws (`Draws::thinned`)",
        "take fewer rows, or a run of fewer draws",
    ),
    ("thin the draws (`Draws::thinned`)", "take a run of fewer rows or draws"),
];

/// What an error about the rows of a new table says in place of the flags of `fit`.
pub const OF_NEW_ROWS: [(&str, &str); 5] = [
    ("or leave these rows out by `--drop-missing`", "or take these rows out of the table"),
    (
        ": name the column in `--categorical` if it holds labels",
        ", as all values of this column are in the training table",
    ),
    (
        ": if these are classes, say `--task classification`",
        ", as all values of this column are in the training table",
    ),
    (
        "say `--header no` if there is no header, or `--header yes` if this is a name",
        "the training table has a header",
    ),
    ("raise it by `--limit`", "predict fewer rows at a time"),
];

/// What the library calls a setting, in `fit.json` and in its errors, and the flag.
const FLAGS: [(&str, &str); 34] = [
    ("recipe.reader.response.Named", "`--target`"),
    ("recipe.reader.header", "`--header`"),
    ("recipe.reader.delimiter", "`--delimiter`"),
    ("recipe.reader.categorical", "`--categorical`"),
    ("recipe.reader.ignored", "`--ignore` (all columns but the `--features`)"),
    ("recipe.reader.encoding", "`--encoding`"),
    ("recipe.reader.missing", "`--missing`"),
    ("recipe.reader.drop_missing_rows", "`--drop-missing`"),
    ("recipe.reader.limit", "`--limit`"),
    ("recipe.task", "`--task`"),
    ("recipe.hidden", "`--hidden`"),
    ("recipe.activation", "`--activation`"),
    ("recipe.weights", "`--weights`"),
    ("recipe.weights.normal.sd", "`--weights-sd`"),
    ("recipe.noise", "`--noise`"),
    ("recipe.method", "`--method`"),
    ("recipe.target_accept", "`--target-accept`"),
    ("recipe.chains", "`--chains` (`--of` in an array of jobs)"),
    ("recipe.warmup", "`--warmup`"),
    ("recipe.draws", "`--draws`"),
    ("recipe.seed", "`--seed`"),
    ("recipe.validation", "`--validation`"),
    ("sizes", "the network (`--hidden`)"),
    ("dim of the target", "the network (`--hidden`)"),
    ("hidden layers", "the number of hidden layers (`--hidden`)"),
    ("sd of the normal prior", "`--weights-sd`"),
    ("noise", "`--noise`"),
    ("likelihood", "with `--method collapsed` the likelihood"),
    ("target_accept", "`--target-accept`"),
    ("validation", "`--validation`"),
    ("chains", "`--chains`"),
    ("draws", "`--draws`"),
    ("threads", "`--threads`"),
    ("every", "`--checkpoint-every`"),
];

/// The message with the command's flags in place of the library's functions and settings.
pub fn in_flags(message: &str) -> String {
    let text = replaced(message.into(), &WORDS);
    let settings = FLAGS.iter().filter(|(theirs, _)| theirs.starts_with("recipe."));
    settings.fold(text, |text, (theirs, ours)| text.replace(&format!("`{theirs}`"), ours))
}

/// The message of an error about the table of new rows.
pub fn of_new_rows(message: &str) -> String {
    replaced(in_flags(message), &OF_NEW_ROWS)
}

fn replaced(message: String, words: &[(&str, &str)]) -> String {
    words.iter().fold(message, |text, (theirs, ours)| text.replace(theirs, ours))
}

/// The argument of a function as the command calls it.
pub fn argument(name: &str) -> String {
    let flag = FLAGS.iter().find(|(theirs, _)| *theirs == name);
    flag.map_or_else(|| format!("`{name}`"), |(_, flag)| flag.to_string())
}

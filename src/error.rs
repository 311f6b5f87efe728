//! The crate's one error type.
//!
//! Every message names the thing that was wrong, the value that was found and what is allowed.
//! Match on the predicates ([`Error::is_data`], ...) rather than on the variants: variants may be
//! added.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

use crate::cut;
use crate::message::{Advice, InRust, Setting, Vocabulary, advised, short};

/// An error, before a run starts, or while files are read and written.
///
/// Texts of an error name no setting and no item of the library: what can be done about it is
/// [`Advice`], which each face spells by its [`Vocabulary`]. `Display` uses the library's own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument lies outside its allowed range.
    Argument {
        /// The argument, as the caller knows it.
        name: String,
        /// The setting that the argument comes from, if users of other faces know it by that.
        setting: Option<Setting>,
        /// The value that was given.
        value: String,
        /// The values that would have been accepted.
        allowed: String,
        /// The advice on what can be done.
        advice: Vec<Advice>,
    },
    /// A result, or the memory to compute it, would be larger than the [memory](crate::memory) that
    /// is left.
    Memory {
        /// The name of the result that would be too large.
        name: String,
        /// The setting that makes it so large, if there is one.
        setting: Option<Setting>,
        /// The size of the result, as a product, and the memory that is left.
        size: String,
        /// The advice on what takes less memory.
        advice: Vec<Advice>,
    },
    /// Two things that belong together have different sizes.
    Shape {
        /// The name of the size.
        what: String,
        /// The size it has.
        found: String,
        /// The size it should have.
        expected: String,
    },
    /// A name that is not among those that exist.
    UnknownName {
        /// The kind of thing that was looked up.
        what: String,
        /// The name that was given.
        name: String,
        /// All names that exist.
        known: Vec<String>,
    },
    /// The prior leaves blocks of the parameter vector uncovered, or covers one twice.
    Prior {
        /// The problem, in words.
        problem: String,
        /// All blocks of the posterior.
        known: Vec<String>,
        /// The advice on what can be done.
        advice: Vec<Advice>,
    },
    /// One cell of a table cannot be used.
    Cell {
        /// The name of the file, or of the source that was read.
        table: String,
        /// The line of a file, or the row of an array.
        row: Row,
        /// The column's name, or `#n` counted from 1 where there is no header.
        column: String,
        /// The problem, with the value that was found.
        problem: String,
        /// The advice on what can be done.
        advice: Vec<Advice>,
    },
    /// A table, or the folder of a fit, as a whole cannot be used.
    Table {
        /// The name of the file, or of the source that was read.
        table: String,
        /// The problem, in words.
        problem: String,
        /// The advice on what can be done.
        advice: Vec<Advice>,
    },
    /// A folder holds another fit than the one that was asked for.
    OtherFit {
        /// The file or folder.
        path: PathBuf,
        /// The finding about the file or folder.
        problem: String,
        /// The first thing by which the two differ.
        difference: Box<Difference>,
        /// The advice on what can be done.
        advice: Vec<Advice>,
    },
    /// A chain found no starting point with a finite log density.
    Start {
        /// The chain, counted from 0.
        chain: usize,
        /// The number of points that were tried.
        tries: usize,
        /// The problem with the last of them.
        last: String,
    },
    /// A checkpoint is damaged, foreign, or of another run.
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// The problem, with the found and the expected value.
        problem: String,
    },
    /// Code that the run called panicked: a density, a kernel, a recorder or a progress report.
    Panic {
        /// The chain and its progress, or the name of the code that was called.
        place: String,
        /// The message of the panic.
        message: String,
    },
    /// The run was asked to end, by a [`StopHandle`](crate::sampler::StopHandle), before there was anything to return.
    Stopped {
        /// The event that it did not come to.
        before: String,
    },
    /// The operating system refused to read or write a file.
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
}

/// The place of a cell in a table, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The line of a file. A header is line 1.
    Line(usize),
    /// The row of an array.
    Number(usize),
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Line(n) => write!(f, "line {n}"),
            Self::Number(n) => write!(f, "row {n}"),
        }
    }
}

/// The first thing by which two fits differ.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// A setting.
    Setting {
        /// Its name in `fit.json`.
        name: String,
        /// The setting; `None` if messages have no name for it.
        setting: Option<Setting>,
        /// Its value there.
        there: String,
        /// The value that was asked for.
        asked: String,
    },
    /// The rows or columns of the table.
    Rows,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.in_words(&InRust))
    }
}

impl Error {
    /// `name` has the value `value`, but must be `allowed`.
    pub fn argument(
        name: impl Into<String>,
        value: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self::of_argument(name.into(), value.to_string(), allowed.into())
    }

    #[cold]
    fn of_argument(name: String, value: String, allowed: String) -> Self {
        let (value, advice) = (short(value), Vec::new());
        Self::Argument { name, setting: None, value, allowed, advice }
    }

    /// `what` has the size `found`, but should have `expected`.
    pub fn shape(
        what: impl Into<String>,
        found: impl std::fmt::Display,
        expected: impl std::fmt::Display,
    ) -> Self {
        Self::Shape { what: what.into(), found: found.to_string(), expected: expected.to_string() }
    }

    /// The table or file `table` cannot be used because of `problem`.
    pub(crate) fn table(table: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Table { table: table.into(), problem: problem.into(), advice: Vec::new() }
    }

    /// The prior cannot be used because of `problem`; `known` are all blocks.
    pub(crate) fn prior(problem: impl Into<String>, known: Vec<String>) -> Self {
        Self::Prior { problem: problem.into(), known, advice: Vec::new() }
    }

    /// Adds the advice on what can be done about the error.
    pub(crate) fn advise(mut self, advised: impl IntoIterator<Item = Advice>) -> Self {
        match &mut self {
            Self::Argument { advice, .. }
            | Self::Memory { advice, .. }
            | Self::Prior { advice, .. }
            | Self::Cell { advice, .. }
            | Self::Table { advice, .. }
            | Self::OtherFit { advice, .. } => advice.extend(advised),
            Self::Shape { .. }
            | Self::UnknownName { .. }
            | Self::Start { .. }
            | Self::Checkpoint { .. }
            | Self::Panic { .. }
            | Self::Stopped { .. }
            | Self::Io { .. } => {}
        }
        self
    }

    /// Adds the setting that the argument or the size comes from.
    pub(crate) fn of(mut self, of: Setting) -> Self {
        if let Self::Argument { setting, .. } | Self::Memory { setting, .. } = &mut self {
            *setting = Some(of);
        }
        self
    }

    /// The message, with settings and advice as users of one face know them.
    pub fn in_words(&self, words: &dyn Vocabulary) -> String {
        // Users of the library know an argument by its name.
        let argument = |name: &str, setting: &Option<Setting>| {
            let spelled = setting.filter(|_| !words.is_rust()).and_then(|s| words.setting(s, None));
            spelled.unwrap_or_else(|| format!("`{name}`"))
        };
        match self {
            Self::Argument { name, setting, value, allowed, advice } => {
                let name = argument(name, setting);
                advised(&format!("{name} is {value}, but must be {allowed}"), advice, words)
            }
            Self::Memory { name, setting, size, advice } => {
                let name = argument(name, setting);
                advised(&format!("{name} is too large: {size}"), advice, words)
            }
            Self::Shape { what, found, expected } => {
                format!("{what}: found {found}, expected {expected}")
            }
            Self::UnknownName { what, name, known } => {
                format!("there is no {what} named `{name}`; there are: {}", quoted(known))
            }
            Self::Prior { problem, known, advice } => {
                let known = known.join(", ");
                let problem =
                    format!("prior: {problem}; the blocks of this posterior are: {known}");
                advised(&problem, advice, words)
            }
            Self::Cell { table, row, column, problem, advice } => {
                let problem = format!("{table}, {row}, column `{column}`: {problem}");
                advised(&problem, advice, words)
            }
            Self::Table { table, problem, advice } => {
                advised(&format!("{table}: {problem}"), advice, words)
            }
            Self::OtherFit { path, problem, difference, advice } => {
                let difference = match &**difference {
                    Difference::Rows => "the rows or columns of the table are others".to_string(),
                    Difference::Setting { name, setting, there, asked } => {
                        let name = argument(name, setting);
                        format!("{name} is {there}, not {asked}")
                    }
                };
                let path = path.display();
                advised(&format!("{path}: {problem}, in which {difference}"), advice, words)
            }
            Self::Start { chain, tries, last } => format!(
                "chain {chain} found no starting point with a finite log density in {tries} tries: {last}"
            ),
            Self::Checkpoint { path, problem } => format!("{}: {problem}", path.display()),
            Self::Panic { place, message } => format!("{place} panicked: {message}"),
            Self::Stopped { before } => format!("ended before {before}"),
            Self::Io { path, source } => format!("{}: {source}", path.display()),
        }
    }

    /// `path` could not be read or written.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// The checkpoint `path` cannot be used because of `problem`.
    pub(crate) fn checkpoint(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self::Checkpoint { path: path.into(), problem: problem.into() }
    }

    /// An argument, a shape or a name was wrong: the calling code is at fault.
    pub fn is_argument(&self) -> bool {
        matches!(
            self,
            Self::Argument { .. }
                | Self::Shape { .. }
                | Self::Memory { .. }
                | Self::UnknownName { .. }
                | Self::Prior { .. }
        )
    }

    /// The contents of a table or file were wrong.
    pub fn is_data(&self) -> bool {
        matches!(self, Self::Cell { .. } | Self::Table { .. } | Self::OtherFit { .. })
    }

    /// A chain could not be started.
    pub fn is_start(&self) -> bool {
        matches!(self, Self::Start { .. })
    }

    /// A checkpoint was damaged, foreign, or of another run.
    pub fn is_checkpoint(&self) -> bool {
        matches!(self, Self::Checkpoint { .. })
    }

    /// Code that the run called panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self, Self::Panic { .. })
    }

    /// The run was asked to end before there was anything to return.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped { .. })
    }

    /// The operating system refused to read or write.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}

/// The payload with which work has unwound.
pub(crate) struct Unwound(Box<dyn Any + Send>);

impl Unwound {
    /// The error with which the work [unwound](unwind), or else that it panicked at `place`.
    pub(crate) fn at(self, place: impl Into<String>) -> Error {
        let payload = match self.0.downcast::<Error>() {
            Ok(error) => return *error,
            Err(payload) => payload,
        };
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let message = text.unwrap_or_else(|| "(a value that is no text)".into());
        Error::Panic { place: place.into(), message }
    }
}

/// Runs `work` and returns its result, or the payload with which it panicked.
pub(crate) fn unwound<R>(work: impl FnOnce() -> R) -> Result<R, Unwound> {
    catch_unwind(AssertUnwindSafe(|| cut::catching(work))).map_err(Unwound)
}

/// Runs `work` and returns its result, or the error with which it [unwound](unwind), or that it panicked at `place`.
pub(crate) fn caught<R>(place: impl Into<String>, work: impl FnOnce() -> R) -> Result<R, Error> {
    unwound(work).map_err(|unwound| unwound.at(place))
}

/// Leaves an evaluation, which has no other way to fail, with an error as the payload, which runs [catch](caught). Where nothing
/// would catch it, it panics with the error's message.
pub(crate) fn unwind(error: Error) -> ! {
    if !cut::catches() || cfg!(panic = "abort") {
        panic!("{error}");
    }
    // Unlike a panic it says nothing by itself.
    resume_unwind(Box::new(error))
}

/// Names in a message, of which there may be very many.
fn quoted(names: &[String]) -> String {
    const MOST: usize = 100;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    match names.len() - shown.len() {
        _ if names.is_empty() => "none".into(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Checks that `value` is finite and positive.
pub(crate) fn positive(name: &str, value: f64) -> Result<f64, Error> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(Error::argument(name, value, "a finite number above 0"))
    }
}

/// Checks that `sd` is a standard deviation whose square is an ordinary number.
pub(crate) fn ordinary_sd(name: &str, sd: f64) -> Result<f64, Error> {
    if (1e-150..=1e150).contains(&sd) {
        Ok(sd)
    } else {
        Err(Error::argument(name, sd, "from 1e-150 to 1e150"))
    }
}

/// Checks that `value` is finite.
pub(crate) fn finite(name: &str, value: f64) -> Result<f64, Error> {
    if value.is_finite() { Ok(value) } else { Err(Error::argument(name, value, "a finite number")) }
}

#[cfg(test)]
pub(crate) mod checks {
    /// Asserts that a result is an error of this kind with these fields, as they are printed.
    macro_rules! fails {
        ($result:expr, $kind:ident { $($field:ident: $value:expr),* $(,)? }) => {{
            // Before the fields are bound: variables of the test may have their names.
            let expected: Vec<String> = vec![$($value.to_string()),*];
            let error = match $result {
                Ok(_) => panic!("accepted: {}", stringify!($result)),
                Err(error) => error,
            };
            let $crate::Error::$kind { $($field,)* .. } = &error else {
                panic!("another kind of error: {error:?}")
            };
            let found: Vec<String> = vec![$($field.to_string()),*];
            assert_eq!(found, expected, "{error}");
        }};
    }

    pub(crate) use fails;
}

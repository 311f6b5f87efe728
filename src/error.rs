//! The crate's one error type.
//!
//! Every message names the thing that was wrong, the value that was found and what is allowed.
//! Match on the predicates ([`Error::is_data`], ...) rather than on the variants: variants may be
//! added.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// What can go wrong before a run starts, or while files are read and written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument lies outside what is allowed.
    #[error("`{name}` is {value}, but must be {allowed}")]
    Argument {
        /// The argument, as the caller knows it.
        name: String,
        /// What was given.
        value: String,
        /// What would have been accepted.
        allowed: String,
    },
    /// Two things that belong together have different sizes.
    #[error("{what}: found {found}, expected {expected}")]
    Shape {
        /// What was measured.
        what: String,
        /// The size it has.
        found: String,
        /// The size it should have.
        expected: String,
    },
    /// A name that is not among those that exist.
    #[error("there is no {what} named `{name}`; there are: {}", listed(known))]
    UnknownName {
        /// The kind of thing that was looked up.
        what: String,
        /// The name that was given.
        name: String,
        /// All names that exist.
        known: Vec<String>,
    },
    /// The prior leaves blocks of the parameter vector uncovered, or covers one twice.
    #[error("prior: {problem}; the blocks of this posterior are: {}", known.join(", "))]
    Prior {
        /// What is wrong.
        problem: String,
        /// All blocks of the posterior.
        known: Vec<String>,
    },
    /// One cell of a table cannot be used.
    #[error("{table}, row {row}, column `{column}`: {problem}")]
    Cell {
        /// The file, or what was read.
        table: String,
        /// The line of a file, or the row of an array, counted from 1; a header is line 1.
        row: usize,
        /// The column's name, or `#n` counted from 1 where there is no header.
        column: String,
        /// What is wrong, with the value that was found.
        problem: String,
    },
    /// A table as a whole cannot be used.
    #[error("{table}: {problem}")]
    Table {
        /// The file, or what was read.
        table: String,
        /// What is wrong.
        problem: String,
    },
    /// A chain found no starting point with a finite log density.
    #[error(
        "chain {chain} found no starting point with a finite log density in {tries} tries: {last}"
    )]
    Start {
        /// The chain, counted from 0.
        chain: usize,
        /// How many points were tried.
        tries: usize,
        /// What was wrong with the last of them.
        last: String,
    },
    /// A checkpoint is damaged, foreign, or of another run.
    #[error("{}: {problem}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong, with what was found and what was expected.
        problem: String,
    },
    /// Code that the run called panicked: a density, a kernel, a recorder or a progress report.
    #[error("{place} panicked: {message}")]
    Panic {
        /// The chain and how far it was, or what was called.
        place: String,
        /// What the panic said.
        message: String,
    },
    /// The operating system refused to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
}

impl Error {
    /// `name` has the value `value`, but must be `allowed`.
    pub fn argument(
        name: impl Into<String>,
        value: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Argument { name: name.into(), value: value.to_string(), allowed: allowed.into() }
    }

    /// `what` has the size `found`, but should have `expected`.
    pub fn shape(
        what: impl Into<String>,
        found: impl std::fmt::Display,
        expected: impl std::fmt::Display,
    ) -> Self {
        Self::Shape { what: what.into(), found: found.to_string(), expected: expected.to_string() }
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
                | Self::UnknownName { .. }
                | Self::Prior { .. }
        )
    }

    /// The contents of a table or file were wrong.
    pub fn is_data(&self) -> bool {
        matches!(self, Self::Cell { .. } | Self::Table { .. })
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

    /// The operating system refused to read or write.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}

/// What `work` returns, or the message with which it panicked.
pub(crate) fn unwound<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "(a value that is no text)".into())
    })
}

/// What `work` returns, or an error if it panicked at `place`.
pub(crate) fn caught<R>(place: impl Into<String>, work: impl FnOnce() -> R) -> Result<R, Error> {
    unwound(work).map_err(|message| Error::Panic { place: place.into(), message })
}

/// Names for a message.
fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
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

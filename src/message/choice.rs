//! Settings that take one of a few values.

use serde::{Deserialize, Deserializer, Serializer};

/// A setting that takes one of a few values, each with a name and a line of help.
///
/// Every face lists and reads the values by this list: flags and files of settings, parameters of Python, pages.
/// `Display` writes the name, `FromStr` reads it, with `-` for `_` and in capitals or small letters; the error lists
/// all names.
///
/// ```
/// use bnn_mcmc::fit::Noise;
/// use bnn_mcmc::message::Choice;
/// let names: Vec<&str> = Noise::ALL.iter().map(|noise| noise.name()).collect();
/// assert_eq!(names[2], "student_t");
/// assert_eq!("student-t".parse::<Noise>()?, Noise::StudentT);
/// assert!("cauchy".parse::<Noise>().unwrap_err().to_string().contains("`gaussian`"));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
pub trait Choice: Copy + 'static {
    /// What is chosen, in words: errors say that there is none of a name.
    const KIND: &'static str;

    /// All values, in the order in which they are listed. A value with a number in it has its default number.
    const ALL: &'static [Self];

    /// The name, as in `fit.json`: words in small letters, with `_` between them.
    fn name(self) -> &'static str;

    /// What it is, in one line without a full stop.
    fn help(self) -> &'static str;

    /// The value of this name.
    fn named(name: &str) -> Option<Self> {
        let name = name.replace('-', "_").to_lowercase();
        Self::ALL.iter().copied().find(|choice| choice.name() == name)
    }

    /// The names of all values.
    fn names() -> Vec<String> {
        Self::ALL.iter().map(|choice| choice.name().to_string()).collect()
    }
}

/// Declares the names and the help of the values of a setting, and reads and writes them by name. Every value must
/// have a row.
macro_rules! choice {
    ($kind:literal, $choice:ty { $($value:expr, $pattern:pat, $name:literal, $help:literal;)* }) => {
        impl $crate::message::Choice for $choice {
            const KIND: &'static str = $kind;
            const ALL: &'static [Self] = &[$($value,)*];

            fn name(self) -> &'static str {
                match self {
                    $($pattern => $name,)*
                }
            }

            fn help(self) -> &'static str {
                match self {
                    $($pattern => $help,)*
                }
            }
        }

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad($crate::message::Choice::name(*self))
            }
        }

        impl std::str::FromStr for $choice {
            type Err = $crate::Error;

            /// Reads a name, with `-` for `_` and in capitals or small letters. The error lists all names.
            fn from_str(name: &str) -> Result<Self, $crate::Error> {
                use $crate::message::Choice;
                Self::named(name).ok_or_else(|| $crate::Error::UnknownName {
                    what: Self::KIND.into(),
                    name: name.into(),
                    known: Self::names(),
                })
            }
        }
    };
}
pub(crate) use choice;

/// Writes and reads a [`Choice`] by its name: `#[serde(with = "by_name")]`.
pub(crate) mod by_name {
    use super::*;

    pub fn serialize<C: Choice, S: Serializer>(choice: &C, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(choice.name())
    }

    pub fn deserialize<'de, C: Choice, D: Deserializer<'de>>(from: D) -> Result<C, D::Error> {
        let name = String::deserialize(from)?;
        C::named(&name).ok_or_else(|| {
            let known = C::names().join("`, `");
            serde::de::Error::custom(format!("`{name}` is none of `{known}`"))
        })
    }
}

//! Declares settings that take one of a few values.

use serde::{Deserialize, Deserializer, Serializer};

use crate::message::Choice;

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
    use super::{Choice, Deserialize, Deserializer, Serializer};

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

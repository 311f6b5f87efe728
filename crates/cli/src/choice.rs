//! The library's choices as values of flags and of `config.toml`, with hyphens between the words of a name.

use bnn_mcmc::message::Choice;
use clap::builder::{
    PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser, ValueParserFactory,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value of a [`Choice`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen<C>(pub C);

/// The name of a value as it is typed.
pub fn typed(choice: impl Choice) -> String {
    choice.name().replace('_', "-")
}

impl<C: Choice + Send + Sync> ValueParserFactory for Chosen<C> {
    type Parser = ValueParser;

    fn value_parser() -> ValueParser {
        let shown = |choice: &C| PossibleValue::new(typed(*choice)).help(choice.help());
        let names = PossibleValuesParser::new(C::ALL.iter().map(shown));
        names.try_map(|name| C::named(&name).map(Self).ok_or("not a name")).into()
    }
}

impl<C: Choice> Serialize for Chosen<C> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&typed(self.0))
    }
}

impl<'de, C: Choice> Deserialize<'de> for Chosen<C> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        C::named(&name).map(Self).ok_or_else(|| {
            let known: Vec<String> = C::ALL.iter().map(|choice| typed(*choice)).collect();
            let last = known.last().cloned().unwrap_or_default();
            let others = known[..known.len() - 1].join("`, `");
            D::Error::custom(format!("`{name}` must be `{others}` or `{last}`"))
        })
    }
}

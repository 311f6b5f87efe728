//! Messages as data: what was found, in plain words, and what can be done about it, as [`Advice`].
//!
//! An [`Error`](crate::Error) and a [`Verdict`](crate::diagnostics::Verdict) hold their findings as text that
//! names no setting, and their advice as values. The same advice reads differently to people who use the
//! library, the command or the Python package: each of these faces has one [`Vocabulary`], which spells a
//! [`Setting`] as its users type it, and prints messages with it. Advice that needs a setting which a face
//! does not have is left out there.
//!
//! ```
//! use bnn_mcmc::message::{Advice, Setting, Vocabulary, advised};
//! struct Flags;
//! impl Vocabulary for Flags {
//!     fn setting(&self, setting: Setting, value: Option<&str>) -> Option<String> {
//!         let value = value.map_or(String::new(), |value| format!(" {value}"));
//!         (setting == Setting::Hidden).then(|| format!("`--{}{value}`", setting.name()))
//!     }
//! }
//! let advice = [Advice::RunLonger, Advice::Widen { units: 100 }, Advice::Temper];
//! assert_eq!(
//!     advised("the chains disagree", &advice, &Flags),
//!     "the chains disagree: run longer, or take a wider network (`--hidden 100`)"
//! );
//! ```

mod advice;
mod choice;
mod setting;
mod text;

pub use advice::{Advice, advised};
pub use choice::Choice;
pub use setting::{InRust, Plain, Setting, Vocabulary};
pub(crate) use text::{count, listed, short, thousands};
pub use text::{duration, number};

//! Advice: what can be done about a finding.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Setting, Vocabulary, number, thousands};

/// An action that can be taken about a finding: of a run, by
/// [`Verdict::advice`](crate::diagnostics::Verdict::advice), and about an [`Error`](crate::Error).
/// In words it is [`clause`](Self::clause), which is written here once, with the setting as a face
/// spells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Advice {
    /// Run longer.
    RunLonger,
    /// Run longer by a factor.
    RunTimesAsLong {
        /// The factor, at least 2.
        times: f64,
    },
    /// Go on until the run has converged.
    RunUntilConverged,
    /// Warm up longer, and run longer.
    WarmUpAndRunLonger,
    /// Take a network with more units in its hidden layer.
    Widen {
        /// The units that are advised.
        units: usize,
    },
    /// Give the output weights of H units the prior N(0, 1/H).
    PriorByFanIn,
    /// Take another prior of the weights.
    OtherPrior,
    /// Temper the posterior.
    Temper,
    /// Let the ladder of a tempered posterior adapt for longer.
    AdaptLadderLonger,
    /// Integrate the output layer out.
    IntegrateOut,
    /// Sample by NUTS.
    UseNuts,
    /// Raise the acceptance that warm-up aims at, which makes the steps smaller.
    RaiseTargetAccept {
        /// The acceptance that is advised, if the one in use is known.
        to: Option<f64>,
    },
    /// Let trajectories of NUTS be longer.
    RaiseMaxDepth,
    /// Start the chains elsewhere.
    StartElsewhere,
    /// Run more chains.
    MoreChains {
        /// The fewest chains.
        at_least: usize,
    },
    /// Take a transform for responses of any sign.
    AnySign,
    /// Keep rows from the model, to score its predictions.
    KeepRows,
    /// Keep rows from the model, to calibrate intervals on.
    Calibrate,
    /// Fill missing values in.
    FillIn,
    /// Leave rows with missing values out.
    DropMissing,
    /// Leave a column out.
    Ignore {
        /// The name of the column.
        column: String,
        /// Whether the advice is for the case that the column is an identifier.
        if_identifier: bool,
    },
    /// Take the values of a column for labels.
    Categorical {
        /// The name of the column.
        column: String,
        /// Whether the advice is for the case that the column holds labels.
        if_labels: bool,
    },
    /// Take the labels of a column for groups with an intercept each.
    Group {
        /// The name of the column.
        column: String,
    },
    /// Say that the response is classes.
    ReadClasses,
    /// Take the response for numbers or counts.
    ReadNumbers,
    /// Say that a cell stands for a missing value.
    MarkMissing,
    /// Say whether the day or the month comes first in dates.
    DateOrder,
    /// Say how numbers are written.
    DecimalMark,
    /// Say that the text is Latin-1.
    Latin1,
    /// Say that there is no header.
    NoHeader,
    /// Say that the first line is a header.
    Header,
    /// Allow more text and numbers.
    RaiseLimit {
        /// Whether that depends on trust in the file.
        if_trusted: bool,
    },
    /// Take some rows of a text that is too long.
    SampleRows,
    /// Make one column of the labels of each column.
    EncodeAsCodes,
    /// Name the model, which the data would choose.
    NameModel,
    /// Choose another folder.
    OtherFolder,
    /// Begin a run that was ended again, which goes on.
    GoOn,
    /// Ask for as many draws as there are.
    EndWithFewerDraws,
    /// Something else that everybody can do, in plain words.
    Do(Cow<'static, str>),
    /// Something that takes a program in Rust, with items of the library in backticks.
    InRust(Cow<'static, str>),
}

/// Plain words, for everybody.
impl From<&'static str> for Advice {
    fn from(text: &'static str) -> Self {
        Self::Do(text.into())
    }
}

impl Advice {
    /// Words for users of the library in Rust.
    pub(crate) fn in_rust(text: &'static str) -> Self {
        Self::InRust(text.into())
    }

    /// The advice as a clause in the imperative, with settings as `words` spells them; `None` where
    /// `words` has no such setting.
    pub fn clause(&self, words: &dyn Vocabulary) -> Option<String> {
        use Setting as S;
        let set = |setting, value: Option<&str>| words.setting(setting, value);
        // `take a wider network (--hidden 100)`
        let by = |text: &str, setting: Setting, value: Option<&str>| {
            set(setting, value).map(|name| match &name[..] {
                "" => text.to_string(),
                name => format!("{text} ({name})"),
            })
        };
        let plain = |text: &str| Some(text.to_string());
        match self {
            Self::RunLonger => plain("run longer"),
            Self::RunTimesAsLong { times } => {
                Some(format!("run {} times as long", thousands(*times)))
            }
            Self::RunUntilConverged => {
                by("run until it has converged", S::RunUntil, Some("converged"))
            }
            Self::WarmUpAndRunLonger => plain("warm up and run longer"),
            Self::Widen { units } => {
                by("take a wider network", S::Hidden, Some(&units.to_string()))
            }
            Self::PriorByFanIn => by(
                "give the output weights of H units the prior N(0, 1/H)",
                S::Weights,
                Some("fan_in"),
            ),
            Self::OtherPrior => by("take another prior of the weights", S::Weights, None),
            Self::Temper => by("temper the posterior", S::Method, Some("tempered")),
            Self::AdaptLadderLonger => by("let the ladder adapt for longer", S::Warmup, None),
            Self::IntegrateOut => {
                by("integrate the output layer out", S::Method, Some("collapsed"))
            }
            Self::UseNuts => by("sample by NUTS", S::Method, Some("nuts")),
            Self::RaiseTargetAccept { to } => {
                let to = to.map(number);
                by("raise the target of acceptance", S::TargetAccept, to.as_deref())
            }
            Self::RaiseMaxDepth => by("let trajectories be longer", S::MaxDepth, None),
            Self::StartElsewhere => by("start elsewhere", S::Seed, None),
            Self::MoreChains { at_least } => {
                by(&format!("run at least {at_least} chains"), S::Chains, None)
            }
            Self::AnySign => by(
                "take the transform of Yeo and Johnson, which takes any number",
                S::Transform,
                Some("yeo_johnson"),
            ),
            Self::KeepRows => {
                let text = "score its predictions of rows that it has not seen";
                by(text, S::Validation, Some("0.2")).or_else(|| plain(text))
            }
            Self::Calibrate => {
                let text = "keep rows from the model to calibrate intervals on";
                by(text, S::Validation, Some("0.2")).or_else(|| plain(text))
            }
            Self::FillIn => plain("fill them in"),
            Self::DropMissing => Some(match set(S::DropMissing, None) {
                Some(name) => format!("leave these rows out by {name}"),
                None => "take these rows out of the table".into(),
            }),
            Self::Ignore { column, if_identifier } => {
                let text = match set(S::Ignore, Some(column)) {
                    Some(name) => format!("leave it out by {name}"),
                    None => "leave it out".into(),
                };
                Some(if *if_identifier { text + " if it is an identifier" } else { text })
            }
            Self::Categorical { column, if_labels } => {
                let text = format!("take it for labels by {}", set(S::Categorical, Some(column))?);
                Some(if *if_labels { text + " if it holds labels" } else { text })
            }
            Self::Group { column } => {
                Some(format!("give each label an intercept by {}", set(S::Group, Some(column))?))
            }
            Self::ReadClasses => {
                Some(format!("say {} if these are classes", set(S::Task, Some("classification"))?))
            }
            Self::ReadNumbers => Some(format!(
                "take it for numbers by {} or {}",
                set(S::Task, Some("regression"))?,
                set(S::Task, Some("counts"))?
            )),
            Self::MarkMissing => Some(format!(
                "say that it stands for a missing value by {}",
                set(S::Missing, None)?
            )),
            Self::Latin1 => {
                Some(format!("say {} if it is Latin-1", set(S::Charset, Some("latin_1"))?))
            }
            Self::DecimalMark => Some(format!(
                "say by {} how numbers are written, if it is one",
                set(S::Decimal, None)?
            )),
            Self::DateOrder => Some(format!("say which by {}", set(S::DateOrder, None)?)),
            Self::NoHeader => {
                Some(format!("say {} if there is no header", set(S::Header, Some("no"))?))
            }
            Self::Header => Some(format!("say {} if this is a name", set(S::Header, Some("yes"))?)),
            Self::RaiseLimit { if_trusted } => {
                let text = format!("raise the limit by {}", set(S::Limit, None)?);
                Some(if *if_trusted { text + " if the file is to be trusted" } else { text })
            }
            Self::SampleRows => by("draw some of its rows", S::MostRows, None),
            Self::EncodeAsCodes => Some(format!(
                "make one column of all labels of a column by {}",
                set(S::Encoding, Some("codes"))?
            )),
            Self::NameModel => by("name the model", S::Model, Some("network")),
            Self::OtherFolder => by("choose another folder", S::Folder, None),
            Self::GoOn => plain("begin it again in the same way, and it goes on"),
            Self::EndWithFewerDraws => {
                by("let it end where it is, with fewer draws", S::Draws, None)
            }
            Self::Do(text) => plain(text),
            Self::InRust(text) => words.is_rust().then(|| text.to_string()),
        }
    }

    /// One advice of each kind: the tests of each face print them with its vocabulary.
    pub fn examples() -> Vec<Self> {
        let column = || "a column".to_string();
        vec![
            Self::RunLonger,
            Self::RunTimesAsLong { times: 3.0 },
            Self::RunUntilConverged,
            Self::WarmUpAndRunLonger,
            Self::Widen { units: 100 },
            Self::PriorByFanIn,
            Self::OtherPrior,
            Self::Temper,
            Self::AdaptLadderLonger,
            Self::IntegrateOut,
            Self::UseNuts,
            Self::RaiseTargetAccept { to: Some(0.95) },
            Self::RaiseTargetAccept { to: None },
            Self::RaiseMaxDepth,
            Self::StartElsewhere,
            Self::MoreChains { at_least: 4 },
            Self::AnySign,
            Self::KeepRows,
            Self::Calibrate,
            Self::FillIn,
            Self::DropMissing,
            Self::Ignore { column: column(), if_identifier: false },
            Self::Ignore { column: column(), if_identifier: true },
            Self::Categorical { column: column(), if_labels: false },
            Self::Categorical { column: column(), if_labels: true },
            Self::Group { column: column() },
            Self::ReadClasses,
            Self::ReadNumbers,
            Self::MarkMissing,
            Self::DateOrder,
            Self::DecimalMark,
            Self::Latin1,
            Self::NoHeader,
            Self::Header,
            Self::RaiseLimit { if_trusted: false },
            Self::RaiseLimit { if_trusted: true },
            Self::SampleRows,
            Self::EncodeAsCodes,
            Self::NameModel,
            Self::OtherFolder,
            Self::GoOn,
            Self::EndWithFewerDraws,
            "take fewer rows".into(),
            Self::in_rust("thin the draws (`Draws::thinned`)"),
        ]
    }
}

/// A finding and what can be done about it: `finding: do this, or do that`. Advice that a face has
/// no setting for is left out.
pub fn advised(finding: &str, advice: &[Advice], words: &dyn Vocabulary) -> String {
    let clauses: Vec<String> = advice.iter().filter_map(|advice| advice.clause(words)).collect();
    match clauses.is_empty() {
        true => finding.into(),
        false => format!("{finding}: {}", clauses.join(", or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{InRust, Plain};

    /// A face that has no setting at all.
    struct Nothing;

    impl Vocabulary for Nothing {
        fn setting(&self, _: Setting, _: Option<&str>) -> Option<String> {
            None
        }
    }

    #[test]
    fn what_a_face_cannot_set_is_left_out_with_its_conjunction() {
        let advice = [Advice::RaiseMaxDepth, Advice::RunLonger, Advice::in_rust("call `f`")];
        let said = |words: &dyn Vocabulary| advised("slow", &advice, words);
        assert_eq!(said(&Nothing), "slow: run longer");
        assert_eq!(said(&Plain), "slow: run longer");
        assert_eq!(
            said(&InRust),
            "slow: let trajectories be longer (`max_depth`), or run longer, or call `f`"
        );
        assert_eq!(advised("slow", &advice[..1], &Nothing), "slow");
    }

    /// Plain words hold no name in backticks, and the library can spell everything.
    #[test]
    fn every_advice_is_spelled() {
        for advice in Advice::examples() {
            let rust = advice.clause(&InRust).unwrap();
            println!("{advice:?}: {rust}");
            let plain = advice.clause(&Plain).unwrap_or_default();
            assert!(!plain.contains('`'), "{plain}");
            let json = serde_json::to_string(&advice).unwrap();
            assert_eq!(serde_json::from_str::<Advice>(&json).unwrap(), advice);
        }
        for setting in Setting::ALL {
            assert!(InRust.setting(*setting, None).is_some());
        }
        // Every kind has an example: serde lists all that there are.
        let kinds = serde_json::from_str::<Advice>("\"?\"").unwrap_err().to_string();
        let kinds = kinds.split("expected one of ").last().unwrap();
        for kind in kinds.split('`').skip(1).step_by(2) {
            let is_kind = |advice: &Advice| format!("{advice:?}").starts_with(kind);
            assert!(Advice::examples().iter().any(is_kind), "{kind}");
        }
    }
}

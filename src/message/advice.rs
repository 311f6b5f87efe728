//! Advice: what can be done about a finding.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Setting as S, Vocabulary, number, thousands};

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
        if let Some((_, text, by)) = ROWS.iter().find(|(advice, ..)| advice == self) {
            return by.said(text, words);
        }
        let named =
            |text: &str, setting, value| By::Named(setting, Some(value), "").said(text, words);
        match self {
            Self::RunTimesAsLong { times } => {
                Some(format!("run {} times as long", thousands(*times)))
            }
            Self::Widen { units } => {
                By::Aside(S::Hidden, Some(&units.to_string())).said("take a wider network", words)
            }
            Self::RaiseTargetAccept { to } => {
                let to = to.map(number);
                By::Aside(S::TargetAccept, to.as_deref())
                    .said("raise the target of acceptance", words)
            }
            Self::MoreChains { at_least } => {
                By::Aside(S::Chains, None).said(&format!("run at least {at_least} chains"), words)
            }
            Self::Ignore { column, if_identifier } => {
                let text = named("leave it out by", S::Ignore, column);
                let text = text.unwrap_or_else(|| "leave it out".into());
                Some(if *if_identifier { text + " if it is an identifier" } else { text })
            }
            Self::Categorical { column, if_labels } => {
                let text = named("take it for labels by", S::Categorical, column)?;
                Some(if *if_labels { text + " if it holds labels" } else { text })
            }
            Self::RaiseLimit { if_trusted } => {
                let end = if *if_trusted { " if the file is to be trusted" } else { "" };
                By::Named(S::Limit, None, end).said("raise the limit by", words)
            }
            Self::Group { column } => named("give each label an intercept by", S::Group, column),
            Self::ReadNumbers => {
                let text = named("take it for numbers by", S::Task, "regression")?;
                named(&(text + " or"), S::Task, "counts")
            }
            Self::Do(text) => Some(text.to_string()),
            Self::InRust(text) => words.is_rust().then(|| text.to_string()),
            // The others have rows.
            _ => None,
        }
    }

    /// One advice of each kind: the tests of each face print them with its vocabulary.
    pub fn examples() -> Vec<Self> {
        let column = || "a column".to_string();
        let with_fields = [
            Self::RunTimesAsLong { times: 3.0 },
            Self::Widen { units: 100 },
            Self::RaiseTargetAccept { to: Some(0.95) },
            Self::RaiseTargetAccept { to: None },
            Self::MoreChains { at_least: 4 },
            Self::Ignore { column: column(), if_identifier: false },
            Self::Ignore { column: column(), if_identifier: true },
            Self::Categorical { column: column(), if_labels: false },
            Self::Categorical { column: column(), if_labels: true },
            Self::Group { column: column() },
            Self::ReadNumbers,
            Self::RaiseLimit { if_trusted: false },
            Self::RaiseLimit { if_trusted: true },
            "take fewer rows".into(),
            Self::in_rust("thin the draws (`Draws::thinned`)"),
        ];
        ROWS.iter().map(|(advice, ..)| advice.clone()).chain(with_fields).collect()
    }
}

/// How an advice names the setting that it is about, with a value: `None` is no value in particular.
enum By<'a> {
    /// None.
    Nothing,
    /// In parentheses, as in `take a wider network (--hidden 100)`.
    Aside(S, Option<&'a str>),
    /// In parentheses; the text alone where a face has no such setting.
    AsideIfAny(S, Option<&'a str>),
    /// Behind the text, and before the end of the clause.
    Named(S, Option<&'a str>, &'static str),
    /// Behind the text; another text where a face has no such setting.
    NamedOr(S, &'static str),
}

impl By<'_> {
    fn said(&self, text: &str, words: &dyn Vocabulary) -> Option<String> {
        match *self {
            Self::Nothing => Some(text.into()),
            Self::Aside(setting, value) => {
                words.setting(setting, value).map(|name| match &name[..] {
                    "" => text.into(),
                    name => format!("{text} ({name})"),
                })
            }
            Self::AsideIfAny(setting, value) => {
                Self::Aside(setting, value).said(text, words).or_else(|| Some(text.into()))
            }
            Self::Named(setting, value, end) => {
                words.setting(setting, value).map(|name| format!("{text} {name}{end}"))
            }
            Self::NamedOr(setting, other) => {
                Self::Named(setting, None, "").said(text, words).or_else(|| Some(other.into()))
            }
        }
    }
}

/// The words of each advice whose words are always the same.
const ROWS: &[(Advice, &str, By)] = {
    use Advice as A;
    use By::{Aside, AsideIfAny, Named, NamedOr, Nothing};
    &[
        (A::RunLonger, "run longer", Nothing),
        (A::RunUntilConverged, "run until it has converged", Aside(S::RunUntil, Some("converged"))),
        (A::WarmUpAndRunLonger, "warm up and run longer", Nothing),
        (
            A::PriorByFanIn,
            "give the output weights of H units the prior N(0, 1/H)",
            Aside(S::Weights, Some("fan_in")),
        ),
        (A::OtherPrior, "take another prior of the weights", Aside(S::Weights, None)),
        (A::Temper, "temper the posterior", Aside(S::Method, Some("tempered"))),
        (A::AdaptLadderLonger, "let the ladder adapt for longer", Aside(S::Warmup, None)),
        (A::IntegrateOut, "integrate the output layer out", Aside(S::Method, Some("collapsed"))),
        (A::UseNuts, "sample by NUTS", Aside(S::Method, Some("nuts"))),
        (A::RaiseMaxDepth, "let trajectories be longer", Aside(S::MaxDepth, None)),
        (A::StartElsewhere, "start elsewhere", Aside(S::Seed, None)),
        (
            A::AnySign,
            "take the transform of Yeo and Johnson, which takes any number",
            Aside(S::Transform, Some("yeo_johnson")),
        ),
        (
            A::KeepRows,
            "score its predictions of rows that it has not seen",
            AsideIfAny(S::Validation, Some("0.2")),
        ),
        (
            A::Calibrate,
            "keep rows from the model to calibrate intervals on",
            AsideIfAny(S::Validation, Some("0.2")),
        ),
        (A::FillIn, "fill them in", Nothing),
        (
            A::DropMissing,
            "leave these rows out by",
            NamedOr(S::DropMissing, "take these rows out of the table"),
        ),
        (A::ReadClasses, "say", Named(S::Task, Some("classification"), " if these are classes")),
        (A::MarkMissing, "say that it stands for a missing value by", Named(S::Missing, None, "")),
        (A::DateOrder, "say which by", Named(S::DateOrder, None, "")),
        (
            A::DecimalMark,
            "say by",
            Named(S::Decimal, None, " how numbers are written, if it is one"),
        ),
        (A::Latin1, "say", Named(S::Charset, Some("latin_1"), " if it is Latin-1")),
        (A::NoHeader, "say", Named(S::Header, Some("no"), " if there is no header")),
        (A::Header, "say", Named(S::Header, Some("yes"), " if this is a name")),
        (A::SampleRows, "draw some of its rows", Aside(S::MostRows, None)),
        (
            A::EncodeAsCodes,
            "make one column of all labels of a column by",
            Named(S::Encoding, Some("codes"), ""),
        ),
        (A::NameModel, "name the model", Aside(S::Model, Some("network"))),
        (A::OtherFolder, "choose another folder", Aside(S::Folder, None)),
        (A::GoOn, "begin it again in the same way, and it goes on", Nothing),
        (A::EndWithFewerDraws, "let it end where it is, with fewer draws", Aside(S::Draws, None)),
    ]
};

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
    use crate::message::{InRust, Plain, Setting};

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
